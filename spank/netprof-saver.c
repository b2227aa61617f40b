/*
 * netprof-saver: writes to the store for the flagged steps of a node.
 *
 * The store may be on a file system whose server is lost.  A process that
 * touches it then sleeps, cannot be killed, and keeps its job from ending.
 * Therefore nothing that a job waits for touches the store: srun and
 * netprof-collector send what they have to this process (np_saver_proto.h),
 * which belongs to no job.  The SPANK plugin starts one in slurmd, as root, for
 * every user of the node; on hosts without slurmd, netprof-collector starts one
 * for its own user.
 *
 * This process does not touch the store either.  It forks a worker for each
 * request, which does so as the user who asked, and replies when the worker
 * ends.  A traced program hands its trace to a worker of its own, which ends
 * after the program has ended (np_trace_ring.h).  Meanwhile further requests
 * wait in a queue (np_saver_queue.h), also when the processes that made them
 * have ended.
 *
 *	netprof-saver		of root; standard input is a pipe that closes
 *				when slurmd ends
 *	netprof-saver --own	of one user; standard input is the first
 *				connection
 *
 * It ends when slurmd, or the last connection, has ended and nothing waits any
 * more.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "np_clock.h"
#include "np_detach.h"
#include "np_elf.h"
#include "np_log.h"
#include "np_profile.h"
#include "np_read.h"
#include "np_saver_proto.h"
#include "np_saver_queue.h"
#include "np_select_level.h"
#include "np_store.h"
#include "np_text.h"
#include "np_trace_dir.h"
#include "np_trace_ring.h"

/* ---- the worker of one request ---- */

#define RETRY_SEC 5 /* between attempts while the store's server is lost */
#define TRIES 60

enum { F_STORE, F_RUN, F_MAX_RUNS, F_RECORD, N_SAVE_FIELDS };
enum {
	F_SCOPE = F_RECORD,
	F_NODES,
	F_SHARE,
	F_NOW,
	F_SELECT_RECORD,
	N_SELECT_FIELDS,
};

/*
 * Errors of a file system that has lost its server, or has just found it again.
 * Nobody waits for this process, so it retries until the answer is another one.
 */
static bool is_lost(int rc)
{
	switch (-rc) {
	case EIO: case ESTALE: case ENOTCONN: case ETIMEDOUT: case ESHUTDOWN:
	case EHOSTDOWN: case EHOSTUNREACH: case EREMOTEIO:
		return true;
	default:
		return false;
	}
}

static void append_log(const char *store, char *line)
{
	int rc = 0;

	for (int i = 0; i < TRIES && (!i || is_lost(rc)); i++) {
		sleep(i ? RETRY_SEC : 0);
		if (!np_log_append(store, line))
			return;
		rc = -errno;
	}
	line[strcspn(line, "\n")] = '\0';
	np_log_system(line);
}

static int open_store(char *const field[], struct np_store **s,
		      struct np_err *err)
{
	int rc = np_store_open(field[F_STORE], s, err);

	if (!rc)
		np_store_set_max_runs(*s, (uint32_t)strtoul(field[F_MAX_RUNS],
							    NULL, 10));
	return rc;
}

static int read_record(const char *text, struct np_record **r,
		       struct np_err *err)
{
	return np_record_from_json(text, strlen(text), "record", r, err);
}

/*
 * A record of the idle network that was made automatically is kept only if it
 * adds anything.
 */
static bool is_wanted(struct np_store *s, const struct np_record *r)
{
	struct np_runs idle = { .n = 0 };
	bool wanted;

	if (!r->source)
		return true;
	np_store_load(s, NP_STORE_USER, geteuid(), NP_IDLE_APP, NULL, NULL,
		      &idle, NULL);
	wanted = np_idle_is_wanted(&idle, r, np_date_sec());
	np_runs_free(&idle);
	return wanted;
}

static int save_once(char *const field[], const struct np_record *r,
		     struct np_err *err)
{
	struct np_store *s = NULL;
	int rc = open_store(field, &s, err);

	if (!rc && is_wanted(s, r))
		rc = np_store_save(s, r, err);
	np_store_close(s);
	return rc;
}

static int save(char *const field[], struct np_err *err)
{
	struct np_record *r = NULL;
	int rc = read_record(field[F_RECORD], &r, err), tries = TRIES;

	if (rc)
		return rc;
	while ((rc = save_once(field, r, err)) && is_lost(rc) && --tries)
		sleep(RETRY_SEC);
	np_record_free(r);
	return rc;
}

static int choose(char *const field[], char **choice, struct np_err *err)
{
	struct np_record *r = NULL;
	struct np_store *s = NULL;
	int rc = read_record(field[F_SELECT_RECORD], &r, err);

	if (!rc)
		rc = open_store(field, &s, err);
	if (!rc)
		rc = np_select_level(s, r, field[F_SCOPE], field[F_NODES],
				     strtod(field[F_SHARE], NULL),
				     strtod(field[F_NOW], NULL), choice, err);
	np_store_close(s);
	np_record_free(r);
	return rc;
}

/* A directory that refuses access does answer. */
static int check_directory(const char *dir)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 && is_lost(-errno) ? -errno : 0;
}

static int identify_mpi(const char *file, struct np_err *err)
{
	char mpi[NP_MPI_TEXT];

	if (!np_mpi_of_file(file, mpi))
		return -ENODATA;
	np_errf(err, 0, "%s", mpi);
	return 0;
}

static void write_reply(int fd, int rc, const char *why, const char *choice)
{
	char number[16];
	const char *field[] = { number, why, choice };

	snprintf(number, sizeof(number), "%d", rc);
	for (size_t i = 0; i < NP_ARRAY_SIZE(field); i++)
		if (np_write_all(fd, field[i], strlen(field[i]) + 1))
			return;
}

/*
 * As the calling user: do what the fields of a message, text[len], say, and
 * write the fields of the reply to fd.  Changes text.  The request may be
 * hostile.
 */
static void do_request(enum np_saver_kind kind, char *text, size_t len, int fd)
{
	char *field[NP_SAVER_MAX_FIELDS], *choice = NULL;
	size_t n = np_saver_fields(text, len, field);
	struct np_err err = NP_ERR_INIT;
	int rc = -EPROTO;

	if (kind == NP_SAVER_LOG && n == 2) {
		append_log(field[0], field[1]);
		return;
	}
	if (kind == NP_SAVER_SAVE && n == N_SAVE_FIELDS)
		rc = save(field, &err);
	else if (kind == NP_SAVER_SELECT && n == N_SELECT_FIELDS)
		rc = choose(field, &choice, &err);
	else if (kind == NP_SAVER_CHECK && n == 1)
		rc = check_directory(field[0]);
	else if (kind == NP_SAVER_MPI && n == 1)
		rc = identify_mpi(field[0], &err);
	write_reply(fd, rc, rc && !err.text[0] ? strerror(-rc) : err.text,
		    choice ? choice : "");
	free(choice);
}

static void become(const struct np_saver_who *w)
{
	if (setgroups(w->n_groups, w->group) ||
	    setresgid(w->gid, w->gid, w->gid) ||
	    setresuid(w->uid, w->uid, w->uid))
		_exit(1);
}

/*
 * The limits of the shell that srun was started in are not meant for the store.
 */
static void lift_limits(void)
{
	struct rlimit l;

	signal(SIGXFSZ, SIG_IGN);
	if (getrlimit(RLIMIT_FSIZE, &l))
		return;
	l.rlim_cur = l.rlim_max;
	setrlimit(RLIMIT_FSIZE, &l);
}

/* The child holds no connection, however long it may take. */
static void run_child(const struct np_saver_request *r, bool as_user, int out)
{
	const int keep[] = { -1, -1, -1, out };

	if (np_detach(keep, NP_ARRAY_SIZE(keep)))
		_exit(1);
	signal(SIGCHLD, SIG_DFL);
	if (as_user)
		become(r->who);
	lift_limits();
	do_request(r->kind, r->text, r->len, NP_ARRAY_SIZE(keep) - 1);
	_exit(0);
}

/*
 * A pipe numbered above the descriptors of the child; reading does not block.
 */
static int open_pipe(int fd[2])
{
	int rc = pipe2(fd, O_CLOEXEC | O_NONBLOCK) ? -errno : np_fds_above(fd);

	if (!rc)
		fcntl(fd[1], F_SETFL, 0);
	return rc;
}

/*
 * Start a child that does what r asks, as r->who if as_user, which takes root.
 * It writes the fields of a reply to the pipe whose reading end is *fd, and
 * ends.  SIGCHLD is ignored, so nobody waits for it.  Returns 0 or -errno.
 */
static int start_child(const struct np_saver_request *r, bool as_user, int *fd)
{
	int end[2] = { -1, -1 }, rc = open_pipe(end);
	pid_t pid;

	if (rc)
		return rc;
	pid = fork();
	if (!pid)
		run_child(r, as_user, end[1]);
	rc = pid < 0 ? -errno : 0;
	close(end[1]);
	if (rc)
		close(end[0]);
	*fd = end[0];
	return rc;
}

/* ---- the writer of one trace ---- */

/* Traces kept per user, as a multiple of those per application. */
#define USER_KEEPS 4

enum { F_DIR, F_SUB, F_RANK, F_KEEP, F_UMASK, N_TRACE_FIELDS };

/* Remove old traces of this application, and of all of the user. */
static void prune_traces(int dir, unsigned keep)
{
	int app = openat(dir, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char line[256];
	size_t n;

	if (app >= 0) {
		np_trace_dir_prune(app, keep);
		close(app);
	}
	n = np_trace_dir_prune_user(dir, USER_KEEPS * keep);
	if (!n)
		return;
	snprintf(line, sizeof(line), "uid %u: %zu older trace%s removed from "
		 "the store, as %u are kept of a user (4 times MaxTraces)",
		 (unsigned)geteuid(), n, n == 1 ? "" : "s", USER_KEEPS * keep);
	np_log_system(line);
}

/*
 * The program may have a /tmp of its own.  It waits for us, so it is still the
 * one that connected.
 */
static void path_of_peer(int conn, const char *dir, char path[PATH_MAX])
{
	char link[64], own[64] = "", its[64] = "";
	struct ucred peer = { 0 };
	socklen_t len = sizeof(peer);
	bool same;

	getsockopt(conn, SOL_SOCKET, SO_PEERCRED, &peer, &len);
	snprintf(link, sizeof(link), "/proc/%ld/ns/mnt", (long)peer.pid);
	same = readlink("/proc/self/ns/mnt", own, sizeof(own) - 1) <= 0 ||
	       readlink(link, its, sizeof(its) - 1) <= 0 || !strcmp(own, its);
	if (same)
		snprintf(path, PATH_MAX, "%s", dir);
	else
		snprintf(path, PATH_MAX, "/proc/%ld/root%s", (long)peer.pid,
			 dir);
}

/* Create the file.  Returns a descriptor or -errno. */
static int open_trace(int conn, char *const field[])
{
	const char *sub = field[F_SUB][0] ? field[F_SUB] : NULL;
	unsigned rank = (unsigned)strtoul(field[F_RANK], NULL, 10);
	unsigned keep = (unsigned)strtoul(field[F_KEEP], NULL, 10);
	char path[PATH_MAX];
	int dir, fd;

	path_of_peer(conn, field[F_DIR], path);
	umask((mode_t)strtoul(field[F_UMASK], NULL, 8) & 0777);
	dir = np_trace_dir_open(path, sub);
	if (dir < 0)
		return dir;
	fd = np_trace_dir_create(dir, rank);
	if (fd >= 0 && !rank && sub && keep)
		prune_traces(dir, keep);
	close(dir);
	return fd;
}

/* Copy the ring from *done to end.  Returns 0 or -errno. */
static int copy_ring(int ring, int fd, uint64_t *done, uint64_t end)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	static char buf[65536];
	int rc = end < *done || end - *done > NP_TRACE_RING_BYTES ? -EPROTO : 0;

	while (!rc && *done < end) {
		uint64_t at = *done % NP_TRACE_RING_BYTES, n = end - *done;
		ssize_t got;

		if (n > NP_TRACE_RING_BYTES - at)
			n = NP_TRACE_RING_BYTES - at;
		got = pread(ring, buf, n < sizeof(buf) ? n : sizeof(buf),
			    (off_t)(page + at));
		rc = got > 0 ? np_write_all(fd, buf, (size_t)got) : -EPROTO;
		*done += rc ? 0 : (uint64_t)got;
	}
	return rc;
}

static bool send_number(int conn, int64_t n)
{
	return send(conn, &n, sizeof(n), MSG_NOSIGNAL) == sizeof(n);
}

/*
 * As the user: write the trace that a program hands over (np_trace_ring.h),
 * until the program ends.  The request and the ring may be hostile.
 */
static void write_trace(int conn, int ring, char *const field[])
{
	int fd = open_trace(conn, field), rc = fd < 0 ? fd : 0;
	uint64_t done = 0, end;

	while (send_number(conn, rc ? rc : (int64_t)done) && !rc &&
	       recv(conn, &end, sizeof(end), MSG_WAITALL) == sizeof(end))
		rc = copy_ring(ring, fd, &done, end);
	if (!rc && pread(ring, &end, sizeof(end), 0) == sizeof(end))
		copy_ring(ring, fd, &done, end);
}

/* The child has no other connection. */
static void run_writer(const struct np_saver_who *as_user, char *const field[],
		       int conn, int ring, int out)
{
	const int keep[] = {
		-1, -1, -1, fcntl(out, F_DUPFD_CLOEXEC, 10),
		fcntl(conn, F_DUPFD_CLOEXEC, 10),
		fcntl(ring, F_DUPFD_CLOEXEC, 10),
	};

	if (keep[3] < 0 || keep[4] < 0 || keep[5] < 0 ||
	    np_detach(keep, NP_ARRAY_SIZE(keep)))
		_exit(1);
	if (as_user)
		become(as_user);
	lift_limits();
	fcntl(4, F_SETFL, 0);
	write_trace(4, 5, field);
	_exit(0);
}

/* ---- the saver ---- */

/* Connections, and traces that are being written. */
#define CONNECTIONS 2048	/* most of all users ... */
#define CONNECTIONS_USER 512	/* ... and of one */
#define READ_BYTES (64u << 20)	/* of requests being read, of all users ... */
#define READ_BYTES_USER (16u << 20) /* ... and of one */
#define REPLY_BYTES (1u << 20)	/* most that a client may leave unread */
#define MAX_GROUPS 4096
#define ADMIT_NS 10000000 /* pause when there are no descriptors left */
#define REPLY_SEC 30.0 /* of the store, after which syslog gets a line */
#define POLL_MS 1000 /* to check for slow workers */

struct connection {
	int fd;	  /* a pipe until a trace is written */
	int ring; /* descriptor that came with a request; -1: none */
	uint64_t number;
	struct np_saver_who *who;
	struct np_saver_head head;
	size_t got; /* bytes of head, then of text */
	char *text; /* fields of a request being read; NULL: none yet */
	char *out;  /* replies not sent yet */
	size_t out_len;
};

struct worker {
	struct np_saver_request *request; /* NULL: unused */
	int fd; /* pipe with its reply, until it ends */
	char *text;
	size_t len;
	double since_sec;
	bool reported; /* reported in the system's log */
};

struct saver {
	bool own;
	int control, listen; /* -1: closed */
	uint64_t n_accepted;
	struct connection *connection[CONNECTIONS];
	size_t n;
	struct np_saver_queue queue;
	struct worker worker[NP_SAVER_WORKERS];
};

__attribute__((format(printf, 1, 2)))
static void report(const char *fmt, ...)
{
	char text[512] = "netprof-saver: ";
	size_t used = strlen(text);
	va_list ap;

	va_start(ap, fmt);
	np_text_print(text + used, sizeof(text) - used, fmt, ap);
	va_end(ap);
	np_log_system(text);
}

/* ---- connections ---- */

static void disconnect(struct connection *c)
{
	if (c->fd >= 0)
		close(c->fd);
	if (c->ring >= 0)
		close(c->ring);
	c->fd = c->ring = -1;
	free(c->text);
	free(c->out);
	c->text = c->out = NULL;
	np_saver_who_put(c->who);
	c->who = NULL;
}

static void remove_closed(struct saver *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++)
		if (s->connection[i]->fd < 0)
			free(s->connection[i]);
		else
			s->connection[n++] = s->connection[i];
	s->n = n;
}

static size_t count_of(const struct saver *s, uid_t uid)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++)
		n += s->connection[i]->who->uid == uid;
	return n;
}

/* The user at the other end, with the groups of its process.  NULL: unknown. */
static struct np_saver_who *identify(int fd)
{
	static gid_t group[MAX_GROUPS];
	socklen_t len = sizeof(struct ucred), size = sizeof(group);
	struct np_saver_who *w;
	struct ucred peer;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len))
		return NULL;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, group, &size))
		size = 0; /* before Linux 4.13 */
	w = malloc(sizeof(*w) + size);
	if (!w)
		return NULL;
	*w = (struct np_saver_who){ .users = 1, .uid = peer.uid,
				    .gid = peer.gid,
				    .n_groups = size / sizeof(*group) };
	memcpy(w->group, group, size);
	return w;
}

static bool may_connect(const struct saver *s, const struct np_saver_who *w)
{
	return w && (!s->own || w->uid == geteuid()) && s->n < CONNECTIONS &&
	       count_of(s, w->uid) < CONNECTIONS_USER;
}

/* Takes over fd. */
static void connect_client(struct saver *s, int fd)
{
	struct np_saver_who *w = identify(fd);
	struct connection *c = may_connect(s, w) ? calloc(1, sizeof(*c)) : NULL;

	if (!c) {
		np_saver_who_put(w);
		close(fd);
		return;
	}
	c->fd = fd;
	c->ring = -1;
	c->who = w;
	c->number = ++s->n_accepted;
	s->connection[s->n++] = c;
}

static void send_out(struct connection *c)
{
	ssize_t put = send(c->fd, c->out, c->out_len,
			   MSG_DONTWAIT | MSG_NOSIGNAL);

	if (put < 0 && errno != EAGAIN && errno != EINTR) {
		disconnect(c);
	} else if (put > 0) {
		c->out_len -= (size_t)put;
		memmove(c->out, c->out + put, c->out_len);
	}
}

/* A client that leaves too much unread is disconnected. */
static void send_reply(struct connection *c, uint32_t seq, const char *fields,
		       size_t len)
{
	struct np_saver_head h = { NP_SAVER_VERSION, NP_SAVER_REPLY, seq,
				   (uint32_t)len };
	size_t need = c->out_len + sizeof(h) + len;
	char *grown = need <= REPLY_BYTES ? realloc(c->out, need) : NULL;

	if (!grown) {
		disconnect(c);
		return;
	}
	memcpy(grown + c->out_len, &h, sizeof(h));
	memcpy(grown + c->out_len + sizeof(h), fields, len);
	c->out = grown;
	c->out_len = need;
	send_out(c);
}

static void refuse(struct connection *c, uint32_t seq, int rc)
{
	char fields[128];
	int len = snprintf(fields, sizeof(fields), "%d%c%s%c", rc, 0,
			   rc == -EBUSY ? "too much waits for the store, which "
					  "does not answer" : strerror(-rc), 0);

	fields[len++] = '\0';
	send_reply(c, seq, fields, (size_t)len);
}

/*
 * A child takes over the connection.  Its pipe stands for it here, and closes
 * when it ends.  Returns 0 or -errno.
 */
static int start_writer(const struct saver *s, struct connection *c)
{
	char *field[NP_SAVER_MAX_FIELDS];
	int end[2], rc;
	pid_t pid;

	if (np_saver_fields(c->text, c->head.len, field) != N_TRACE_FIELDS ||
	    c->ring < 0)
		return -EPROTO;
	rc = open_pipe(end);
	if (rc)
		return rc;
	pid = fork();
	if (!pid)
		run_writer(s->own ? NULL : c->who, field, c->fd, c->ring,
			   end[1]);
	rc = pid < 0 ? -errno : 0;
	close(end[1]);
	if (rc) {
		close(end[0]);
		return rc;
	}
	close(c->fd);
	close(c->ring);
	c->fd = end[0];
	c->ring = -1;
	return 0;
}

static void take_trace(const struct saver *s, struct connection *c)
{
	int64_t rc = start_writer(s, c);

	free(c->text);
	c->text = NULL;
	c->got = 0;
	if (!rc)
		return;
	send(c->fd, &rc, sizeof(rc), MSG_DONTWAIT | MSG_NOSIGNAL);
	disconnect(c);
}

static void take_request(struct saver *s, struct connection *c)
{
	struct np_saver_request r = {
		.who = c->who, .from = c->number, .kind = c->head.kind,
		.seq = c->head.seq, .text = c->text, .len = c->head.len,
	};
	int rc;

	r.text[r.len] = '\0'; /* it may not end with a NUL */
	c->text = NULL;
	c->got = 0;
	rc = np_saver_queue_add(&s->queue, &r);
	if (rc && r.kind != NP_SAVER_LOG)
		refuse(c, r.seq, rc);
}

/* Is there room for the request that c has announced? */
static bool has_room(const struct saver *s, const struct connection *c)
{
	size_t all = c->head.len, own = all;

	for (size_t i = 0; i < s->n; i++) {
		const struct connection *o = s->connection[i];

		if (!o->text)
			continue;
		all += o->head.len;
		own += o->who->uid == c->who->uid ? o->head.len : 0;
	}
	return all <= READ_BYTES && own <= READ_BYTES_USER;
}

/* Where the next bytes of a request go, and how many are missing. */
static char *room_of(const struct saver *s, struct connection *c,
		     size_t *left)
{
	if (!c->text && c->got < sizeof(c->head)) {
		*left = sizeof(c->head) - c->got;
		return (char *)&c->head + c->got;
	}
	if (!c->text) {
		c->text = np_saver_head_ok(&c->head) &&
			  c->head.kind != NP_SAVER_REPLY && has_room(s, c) ?
				  malloc(c->head.len + 1) : NULL;
		c->got = 0;
	}
	*left = c->text ? c->head.len - c->got : 0;
	return c->text ? c->text + c->got : NULL;
}

/* Like recv(2), and keeps a descriptor that came along. */
static ssize_t receive(struct connection *c, void *to, size_t left)
{
	union {
		struct cmsghdr head;
		char text[CMSG_LEN(sizeof(int))];
	} control;
	struct iovec part = { to, left };
	struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1,
			    .msg_control = &control,
			    .msg_controllen = CMSG_LEN(sizeof(int)) };
	ssize_t got = recvmsg(c->fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	struct cmsghdr *h = got > 0 ? CMSG_FIRSTHDR(&m) : NULL;

	if (h && h->cmsg_level == SOL_SOCKET && h->cmsg_type == SCM_RIGHTS &&
	    h->cmsg_len == CMSG_LEN(sizeof(int))) {
		if (c->ring >= 0)
			close(c->ring);
		memcpy(&c->ring, CMSG_DATA(h), sizeof(int));
	}
	return got;
}

/* At most one request, so that no client takes all the time. */
static void read_request(struct saver *s, struct connection *c)
{
	size_t left;
	char *to;

	while ((to = room_of(s, c, &left))) {
		ssize_t got = receive(c, to, left);

		if (got < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (got <= 0)
			break;
		c->got += (size_t)got;
		if (c->text && c->got == c->head.len) {
			if (c->head.kind == NP_SAVER_TRACE)
				take_trace(s, c);
			else
				take_request(s, c);
			return;
		}
	}
	disconnect(c);
}

/* ---- workers ---- */

static struct connection *find_connection(struct saver *s, uint64_t number)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->connection[i]->number == number &&
		    s->connection[i]->fd >= 0)
			return s->connection[i];
	return NULL;
}

/* The reply goes to the client, if it is still connected. */
static void end_request(struct saver *s, struct np_saver_request *r,
			const char *fields, size_t len, int rc)
{
	struct connection *c = r->kind == NP_SAVER_LOG ? NULL :
			       find_connection(s, r->from);

	if (c && len)
		send_reply(c, r->seq, fields, len);
	else if (c)
		refuse(c, r->seq, rc);
	np_saver_queue_done(&s->queue, r);
}

static void start_work(struct saver *s, struct np_saver_request *r)
{
	struct worker *w = s->worker;
	int fd, rc = start_child(r, !s->own, &fd);

	if (rc) {
		end_request(s, r, NULL, 0, rc);
		return;
	}
	while (w->request) /* there are as many as the queue hands out */
		w++;
	*w = (struct worker){ .request = r, .fd = fd,
			      .since_sec = np_mono_sec() };
}

static void end_work(struct saver *s, struct worker *w)
{
	close(w->fd);
	if (w->reported)
		report("%s: answered after %.0f s", w->request->text,
		       np_mono_sec() - w->since_sec);
	end_request(s, w->request, w->text, w->len, -EIO);
	free(w->text);
	*w = (struct worker){ .request = NULL };
}

static void read_worker(struct saver *s, struct worker *w)
{
	char *grown = realloc(w->text, w->len + 65536);
	ssize_t got;

	if (grown) {
		w->text = grown;
		got = read(w->fd, grown + w->len, 65536);
		if (got < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (got > 0 && w->len + (size_t)got <= NP_SAVER_MAX_BYTES) {
			w->len += (size_t)got;
			return;
		}
	}
	end_work(s, w);
}

static void report_slow(struct saver *s)
{
	double now = np_mono_sec();

	for (size_t i = 0; i < NP_SAVER_WORKERS; i++) {
		struct worker *w = &s->worker[i];

		if (!w->request || w->reported ||
		    now - w->since_sec < REPLY_SEC)
			continue;
		w->reported = true;
		report("%s has not answered for %.0f s: what is written there "
		       "for uid %u waits",
		       w->request->text, REPLY_SEC,
		       (unsigned)w->request->who->uid);
	}
}

/* ---- the program ---- */

/* Without a free descriptor, connections stay in the backlog. */
static void accept_client(struct saver *s)
{
	const struct timespec nap = { .tv_nsec = ADMIT_NS };
	int fd = accept4(s->listen, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd >= 0)
		connect_client(s, fd);
	else if (errno == EMFILE || errno == ENFILE)
		nanosleep(&nap, NULL);
}

/* Another saver listens from now on. */
static void retire(struct saver *s)
{
	if (s->listen >= 0)
		close(s->listen);
	close(s->control);
	s->listen = s->control = -1;
}

static bool has_work(const struct saver *s)
{
	return s->queue.first || (s->own ? s->n > 0 : s->control >= 0);
}

static void poll_all(struct saver *s)
{
	static struct pollfd p[2 + CONNECTIONS + NP_SAVER_WORKERS];
	size_t n = 2, n_connections = s->n, at;

	p[0] = (struct pollfd){ .fd = s->control, .events = POLLIN };
	p[1] = (struct pollfd){ .fd = s->listen, .events = POLLIN };
	for (size_t i = 0; i < n_connections; i++)
		p[n++] = (struct pollfd){
			.fd = s->connection[i]->fd,
			.events = s->connection[i]->out_len ? POLLIN | POLLOUT :
							      POLLIN,
		};
	for (size_t i = 0; i < NP_SAVER_WORKERS; i++)
		p[n++] = (struct pollfd){
			.fd = s->worker[i].request ? s->worker[i].fd : -1,
			.events = POLLIN,
		};
	if (poll(p, n, POLL_MS) < 0)
		return;
	for (size_t i = 0; i < n_connections; i++) {
		if (p[2 + i].revents & POLLOUT)
			send_out(s->connection[i]);
		if (p[2 + i].revents & ~POLLOUT && s->connection[i]->fd >= 0)
			read_request(s, s->connection[i]);
	}
	at = 2 + n_connections;
	for (size_t i = 0; i < NP_SAVER_WORKERS; i++)
		if (p[at + i].revents)
			read_worker(s, &s->worker[i]);
	remove_closed(s);
	if (p[1].revents)
		accept_client(s);
	if (p[0].revents)
		retire(s);
}

/*
 * When slurmd restarts, the old and the new saver overlap; there are names for
 * both.
 */
static void open_sockets(struct saver *s)
{
	uid_t taken = geteuid();

	s->listen = np_saver_listen(s->own ? geteuid() : 0, &taken);
	if (s->listen < 0 && !s->own)
		report("%s: its sockets are held by uid %u: records of this "
		       "node are lost",
		       strerror(-s->listen), (unsigned)taken);
	if (s->own) {
		int fd = np_fd_above(STDIN_FILENO);

		s->control = -1;
		open("/dev/null", O_RDONLY | O_CLOEXEC); /* as standard input */
		if (fd >= 0) {
			fcntl(fd, F_SETFL, O_NONBLOCK);
			connect_client(s, fd);
		}
	}
}

int main(int argc, char **argv)
{
	static struct saver s = { .listen = -1 };
	struct np_saver_request *r;

	s.own = argc == 2 && !strcmp(argv[1], "--own");
	if (argc != 1 + s.own || (!s.own && geteuid())) {
		fprintf(stderr, "netprof-saver is started by the SPANK plugin, "
			"not by hand\n");
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	signal(SIGCHLD, SIG_IGN); /* nobody waits for a worker that cannot
				   * end */
	open_sockets(&s);
	while (has_work(&s)) {
		while ((r = np_saver_queue_next(&s.queue)))
			start_work(&s, r);
		poll_all(&s);
		report_slow(&s);
	}
	return 0;
}
