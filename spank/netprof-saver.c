/*
 * netprof-saver: writes to the store for the flagged steps of a node.
 *
 * The store may be on a file system whose server is lost. A process that
 * touches it then sleeps, cannot be killed, and keeps its job from ending.
 * Therefore nothing that a job waits for touches the store: srun and
 * netprof-collector send what they have to this process (np_saver_proto.h),
 * which belongs to no job. The SPANK plugin starts one in slurmd, as root, for
 * every user of the node; on hosts without slurmd, netprof-collector starts one
 * for its own user.
 *
 * This process does not touch the store either. For each request it forks a
 * worker, which runs as the requesting user, and replies when the worker ends.
 * A traced program hands its trace to a worker of its own, which ends after the
 * program (np_trace_ring.h). Further requests wait in a queue
 * (np_saver_queue.h), even after the processes that sent them have ended.
 *
 *	netprof-saver		of root; standard input is a pipe that closes
 *				when slurmd ends
 *	netprof-saver --own	of one user; standard input is the first
 *				connection
 *
 * It ends when no request is left, after slurmd or (--own) the last connection
 * has ended.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
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

#include "np_array.h"
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

/* Attempts while the store's server is lost, and the pause between them. */
#define TRIES 60
#define RETRY_SEC 5

/* Fields of requests (np_saver_proto.h): to save, and to select a level. */
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
 * Return whether a file system has lost its server, or has just found it again.
 * Nobody waits for this process, so it retries until the error is another one.
 */
static bool is_lost(int rc)
{
	switch (-rc) {
	case EIO:
	case ESTALE:
	case ENOTCONN:
	case ETIMEDOUT:
	case ESHUTDOWN:
	case EHOSTDOWN:
	case EHOSTUNREACH:
	case EREMOTEIO:
		return true;
	default:
		return false;
	}
}

/* Append a line to the store's log; if that fails, to the system's log. */
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

static int open_store(char *const field[], struct np_store **store,
		      struct np_err *err)
{
	int rc = np_store_open(field[F_STORE], store, err);

	if (!rc)
		np_store_set_max_runs(
			*store, (uint32_t)strtoul(field[F_MAX_RUNS], NULL, 10));
	return rc;
}

static int read_record(const char *text, struct np_record **record,
		       struct np_err *err)
{
	return np_record_from_json(text, strlen(text), "record", record, err);
}

/*
 * Return whether a record is to be saved. A record of the idle network that was
 * made automatically is saved only if it adds anything.
 */
static bool is_wanted(struct np_store *store, const struct np_record *record)
{
	struct np_runs idle = { .n = 0 };
	bool wanted;

	if (!record->source)
		return true;
	np_store_load(store, NP_STORE_USER, geteuid(), NP_IDLE_APP, NULL, NULL,
		      &idle, NULL);
	wanted = np_idle_is_wanted(&idle, record, np_date_sec());
	np_runs_free(&idle);
	return wanted;
}

static int save_once(char *const field[], const struct np_record *record,
		     struct np_err *err)
{
	struct np_store *store = NULL;
	int rc = open_store(field, &store, err);

	if (!rc && is_wanted(store, record))
		rc = np_store_save(store, NP_STORE_USER, record, err);
	np_store_close(store);
	return rc;
}

static int save(char *const field[], struct np_err *err)
{
	struct np_record *record = NULL;
	int rc = read_record(field[F_RECORD], &record, err), tries = TRIES;

	if (rc)
		return rc;
	while ((rc = save_once(field, record, err)) && is_lost(rc) && --tries)
		sleep(RETRY_SEC);
	np_record_free(record);
	return rc;
}

/* Select a level; *selection is malloc'ed. Returns 0, or -errno with err. */
static int select_level(char *const field[], char **selection,
			struct np_err *err)
{
	struct np_record *record = NULL;
	struct np_store *store = NULL;
	int rc = read_record(field[F_SELECT_RECORD], &record, err);

	if (!rc)
		rc = open_store(field, &store, err);
	if (!rc)
		rc = np_select_level(store, record, field[F_SCOPE],
				     field[F_NODES],
				     strtod(field[F_SHARE], NULL),
				     strtod(field[F_NOW], NULL), selection,
				     err);
	np_store_close(store);
	np_record_free(record);
	return rc;
}

/* Check that a directory answers, even if it refuses access. */
static int check_directory(const char *dir)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 && is_lost(-errno) ? -errno : 0;
}

/* Put the MPI library of a program into err. Returns 0, or -ENODATA: none. */
static int identify_mpi(const char *file, struct np_err *err)
{
	char mpi[NP_MPI_TEXT];

	if (!np_mpi_of_file(file, mpi))
		return -ENODATA;
	np_errf(err, 0, "%s", mpi);
	return 0;
}

static void write_reply(int fd, int rc, const char *why, const char *selection)
{
	char number[16];
	const char *field[] = { number, why, selection };

	snprintf(number, sizeof(number), "%d", rc);
	for (size_t i = 0; i < NP_ARRAY_SIZE(field); i++)
		if (np_write_all(fd, field[i], strlen(field[i]) + 1))
			return;
}

/*
 * Handle a request, whose fields are text[len], as the user who sent it, and
 * write the fields of the reply to fd. Modifies text. The request may be
 * hostile.
 */
static void do_request(enum np_saver_kind kind, char *text, size_t len, int fd)
{
	char *field[NP_SAVER_MAX_FIELDS], *selection = NULL;
	size_t n = np_saver_unpack(text, len, field);
	struct np_err err = NP_ERR_INIT;
	int rc = -EPROTO;

	if (kind == NP_SAVER_LOG && n == 2) {
		append_log(field[0], field[1]);
		return;
	}
	if (kind == NP_SAVER_SAVE && n == N_SAVE_FIELDS)
		rc = save(field, &err);
	else if (kind == NP_SAVER_SELECT && n == N_SELECT_FIELDS)
		rc = select_level(field, &selection, &err);
	else if (kind == NP_SAVER_CHECK && n == 1)
		rc = check_directory(field[0]);
	else if (kind == NP_SAVER_MPI && n == 1)
		rc = identify_mpi(field[0], &err);
	write_reply(fd, rc, rc && !err.text[0] ? strerror(-rc) : err.text,
		    selection ? selection : "");
	free(selection);
}

/* Become the user who sent a request, for the rest of the process. */
static void become(const struct np_saver_client *client)
{
	if (setgroups(client->n_groups, client->group) ||
	    setresgid(client->gid, client->gid, client->gid) ||
	    setresuid(client->uid, client->uid, client->uid))
		_exit(1);
}

/*
 * Raise the limit of file sizes. That of the shell in which srun was started is
 * not meant for the store.
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

/*
 * Memory that a child may use to look into a library. Users control the size of
 * the tables in it, and the child belongs to no job that would limit its memory.
 */
#define MPI_BYTES (256ul << 20)

/*
 * Runs in a child: handle a request. The child keeps no connection open,
 * because it may take very long.
 */
static void run_child(const struct np_saver_request *request, bool as_user,
		      int out)
{
	const int keep[] = { -1, -1, -1, out };

	if (np_detach(keep, NP_ARRAY_SIZE(keep)))
		_exit(1);
	signal(SIGCHLD, SIG_DFL);
	if (as_user)
		become(request->client);
	lift_limits();
	if (request->kind == NP_SAVER_MPI && np_limit_memory(MPI_BYTES))
		_exit(1);
	do_request(request->kind, request->text, request->len,
		   NP_ARRAY_SIZE(keep) - 1);
	_exit(0);
}

/*
 * Open a pipe numbered above the descriptors of the child, from which reading
 * does not block. Returns 0 or -errno.
 */
static int open_pipe(int fd[2])
{
	int rc = pipe2(fd, O_CLOEXEC | O_NONBLOCK) ? -errno : np_fds_above(fd);

	if (!rc)
		fcntl(fd[1], F_SETFL, 0);
	return rc;
}

/*
 * Start a child that handles a request: as the user who sent it, if as_user is
 * set, which requires root. The child writes the fields of the reply to a pipe,
 * whose reading end is *fd. It need not be waited for, because SIGCHLD is
 * ignored. Returns 0 or -errno.
 */
static int start_child(const struct np_saver_request *request, bool as_user,
		       int *fd)
{
	int end[2] = { -1, -1 }, rc = open_pipe(end);
	pid_t pid;

	if (rc)
		return rc;
	pid = fork();
	if (!pid)
		run_child(request, as_user, end[1]);
	rc = pid < 0 ? -errno : 0;
	close(end[1]);
	if (rc)
		close(end[0]);
	*fd = end[0];
	return rc;
}

/* ---- the writer of one trace ---- */

/* Traces kept of a user, as a multiple of those kept of an application. */
#define USER_KEEPS 4

/* Fields of a request to write a trace, and their longest text. */
enum { F_DIR, F_SUB, F_RANK, F_KEEP, F_UMASK, N_TRACE_FIELDS };
#define MAX_TRACE_TEXT (2 * PATH_MAX + 64)

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
	snprintf(line, sizeof(line),
		 "uid %u: %zu older trace%s removed from the store, which "
		 "keeps %u per user (4 times MaxTraces)",
		 (unsigned)geteuid(), n, n == 1 ? "" : "s", USER_KEEPS * keep);
	np_log_system(line);
}

/*
 * Find the root directory of a program, which may have a /tmp of its own. The
 * program waits for us, so its process id has not been reused.
 */
static void root_of_peer(int conn, char *root, size_t size)
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
		snprintf(root, size, "/");
	else
		snprintf(root, size, "/proc/%ld/root", (long)peer.pid);
}

/* Create the file of a trace. Returns a descriptor or -errno. */
static int open_trace(int conn, char *const field[])
{
	const char *sub = field[F_SUB][0] ? field[F_SUB] : NULL;
	unsigned rank = (unsigned)strtoul(field[F_RANK], NULL, 10);
	unsigned keep = (unsigned)strtoul(field[F_KEEP], NULL, 10);
	mode_t mask = (mode_t)strtoul(field[F_UMASK], NULL, 8) & 0077;
	char root[64];
	int dir, fd;

	root_of_peer(conn, root, sizeof(root));
	/* slurmctld's group must be able to read the store's directories. */
	umask(sub ? 0027 : mask);
	dir = np_trace_dir_open(root, field[F_DIR], sub);
	if (dir < 0)
		return dir;
	umask(mask);
	fd = np_trace_dir_create(dir, rank);
	if (fd >= 0 && !rank && sub && keep)
		prune_traces(dir, keep);
	close(dir);
	return fd;
}

/* Copy the ring from *done to end. Returns 0 or -errno. */
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

/* As recv(2), but also keep a descriptor that was passed with the data. */
static ssize_t receive_some(int conn, void *to, size_t len, int *ring)
{
	union {
		struct cmsghdr head;
		char text[CMSG_LEN(sizeof(int))];
	} control;
	struct iovec part = { to, len };
	struct msghdr m = { .msg_iov = &part,
			    .msg_iovlen = 1,
			    .msg_control = &control,
			    .msg_controllen = CMSG_LEN(sizeof(int)) };
	ssize_t got = recvmsg(conn, &m, MSG_CMSG_CLOEXEC);
	struct cmsghdr *h = got > 0 ? CMSG_FIRSTHDR(&m) : NULL;

	if (h && h->cmsg_level == SOL_SOCKET && h->cmsg_type == SCM_RIGHTS &&
	    h->cmsg_len == CMSG_LEN(sizeof(int))) {
		if (*ring >= 0)
			close(*ring);
		memcpy(ring, CMSG_DATA(h), sizeof(int));
	}
	return got;
}

static bool receive(int conn, void *to, size_t len, int *ring)
{
	for (size_t n = 0; n < len;) {
		ssize_t got = receive_some(conn, (char *)to + n, len - n, ring);

		if (got <= 0)
			return false;
		n += (size_t)got;
	}
	return true;
}

/*
 * Receive a request to write a trace. Its fields are in text, which has
 * MAX_TRACE_TEXT bytes, and *ring is the descriptor that came with it. Returns
 * 0 or -EPROTO.
 */
static int receive_trace(int conn, char *text, char *field[NP_SAVER_MAX_FIELDS],
			 int *ring)
{
	struct np_saver_header head;

	*ring = -1;
	if (!receive(conn, &head, sizeof(head), ring) ||
	    head.len > MAX_TRACE_TEXT || !receive(conn, text, head.len, ring))
		return -EPROTO;
	return np_saver_unpack(text, head.len, field) == N_TRACE_FIELDS &&
			     *ring >= 0 ?
		       0 :
		       -EPROTO;
}

/*
 * Write the trace that a program hands over (np_trace_ring.h), as its user,
 * until the program ends. The request and the ring may be hostile.
 */
static void write_trace(int conn)
{
	static char text[MAX_TRACE_TEXT];
	char *field[NP_SAVER_MAX_FIELDS];
	int ring, fd = -1, rc = receive_trace(conn, text, field, &ring);
	uint64_t done = 0, end;

	if (!rc) {
		fd = open_trace(conn, field);
		rc = fd < 0 ? fd : 0;
	}
	while (send_number(conn, rc ? rc : (int64_t)done) && !rc &&
	       recv(conn, &end, sizeof(end), MSG_WAITALL) == sizeof(end))
		rc = copy_ring(ring, fd, &done, end);
	if (!rc && pread(ring, &end, sizeof(end), 0) == sizeof(end))
		copy_ring(ring, fd, &done, end);
}

/* Runs in a child: write a trace. The child keeps no other connection open. */
static void run_writer(const struct np_saver_client *as_user, int conn, int out)
{
	const int keep[] = {
		-1,
		-1,
		-1,
		fcntl(out, F_DUPFD_CLOEXEC, 10),
		fcntl(conn, F_DUPFD_CLOEXEC, 10),
	};

	if (keep[3] < 0 || keep[4] < 0 || np_detach(keep, NP_ARRAY_SIZE(keep)))
		_exit(1);
	if (as_user)
		become(as_user);
	lift_limits();
	fcntl(4, F_SETFL, 0);
	write_trace(4);
	_exit(0);
}

/* ---- the saver ---- */

/*
 * Limits for all users together, and for a single user or client. A user whose
 * share (np_array.h) is less gets only that.
 */
#define MAX_CONNECTIONS 2048 /* and traces being written */
#define MAX_CONNECTIONS_USER 512
#define MAX_READ_BYTES (64u << 20) /* of requests being read */
#define MAX_READ_BYTES_USER (16u << 20)
#define MAX_REPLY_BYTES (16u << 20) /* of replies that clients have not read */
#define MAX_REPLY_BYTES_CLIENT (1u << 20)
/* Descriptors of workers, of sockets, and of pipes that are being opened. */
#define RESERVED_FDS (NP_SAVER_WORKERS + 32)
#define MAX_GROUPS 4096		 /* of a client */
#define ACCEPT_PAUSE_NS 10000000 /* pause when there are no descriptors left */
#define SLOW_SEC 30.0 /* a worker that takes longer is reported to syslog */
#define POLL_MS 1000  /* to check for slow workers */

struct connection {
	int fd; /* of the client; a worker's pipe while it writes a trace */
	uint64_t number; /* from 1 on, never reused */
	struct np_saver_client *client;
	struct np_saver_header head;
	size_t n_read; /* bytes of head, then of text */
	char *text;    /* fields of a request being read; NULL: none yet */
	char *out;     /* replies not sent yet */
	size_t out_len;
};

struct worker {
	struct np_saver_request *request; /* NULL: unused */
	int fd;	    /* pipe with its reply, until it ends */
	char *text; /* the reply so far, malloc'ed */
	size_t len;
	double since_sec; /* CLOCK_MONOTONIC, when it was started */
	bool reported;	  /* as slow, in the system's log */
};

struct saver {
	bool own;    /* --own */
	int control; /* standard input of root's; -1: slurmd has ended */
	int listen;  /* -1: closed */
	uint64_t n_accepted;	/* connections, ever */
	size_t max_connections; /* MAX_CONNECTIONS, or fewer */
	struct connection *connection[MAX_CONNECTIONS];
	size_t n_connections;
	struct np_saver_queue queue;
	struct worker worker[NP_SAVER_WORKERS];
};

/* Write a line to the system's log. */
__attribute__((format(printf, 1, 2))) static void report(const char *fmt, ...)
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

static void disconnect(struct connection *connection)
{
	if (connection->fd >= 0)
		close(connection->fd);
	connection->fd = -1;
	free(connection->text);
	free(connection->out);
	connection->text = connection->out = NULL;
	connection->out_len = 0;
	np_saver_client_put(connection->client);
	connection->client = NULL;
}

static void remove_closed(struct saver *saver)
{
	size_t n = 0;

	for (size_t i = 0; i < saver->n_connections; i++)
		if (saver->connection[i]->fd < 0)
			free(saver->connection[i]);
		else
			saver->connection[n++] = saver->connection[i];
	saver->n_connections = n;
}

/* Return how many connections a user has. */
static size_t count_of(const struct saver *saver, uid_t uid)
{
	size_t n = 0;

	for (size_t i = 0; i < saver->n_connections; i++)
		n += saver->connection[i]->client->uid == uid;
	return n;
}

/*
 * Find the user at the other end, and the groups of the process there. NULL:
 * unknown, or out of memory.
 */
static struct np_saver_client *identify(int fd)
{
	static gid_t group[MAX_GROUPS];
	socklen_t len = sizeof(struct ucred), size = sizeof(group);
	struct np_saver_client *client;
	struct ucred peer;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len))
		return NULL;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, group, &size))
		size = 0; /* before Linux 4.13 */
	client = malloc(sizeof(*client) + size);
	if (!client)
		return NULL;
	*client = (struct np_saver_client){ .refs = 1,
					    .uid = peer.uid,
					    .gid = peer.gid,
					    .n_groups = size / sizeof(*group) };
	memcpy(client->group, group, size);
	return client;
}

static bool may_connect(const struct saver *saver,
			const struct np_saver_client *client)
{
	size_t left = saver->max_connections - saver->n_connections;
	size_t held = client ? count_of(saver, client->uid) : 0;

	if (!client || !left || held >= MAX_CONNECTIONS_USER)
		return false;
	/* On a host without slurmd, a saver has only one user. */
	return saver->own ? client->uid == geteuid() :
			    np_share_allows(left, held, 1);
}

/* Add a connection, which takes over fd. */
static void connect_client(struct saver *saver, int fd)
{
	struct np_saver_client *client = identify(fd);
	struct connection *connection = may_connect(saver, client) ?
						calloc(1, sizeof(*connection)) :
						NULL;

	if (!connection) {
		np_saver_client_put(client);
		close(fd);
		return;
	}
	connection->fd = fd;
	connection->client = client;
	connection->number = ++saver->n_accepted;
	saver->connection[saver->n_connections++] = connection;
}

/* Send as much of the replies as the client's socket accepts. */
static void send_out(struct connection *connection)
{
	ssize_t put = send(connection->fd, connection->out, connection->out_len,
			   MSG_DONTWAIT | MSG_NOSIGNAL);

	if (put < 0 && errno != EAGAIN && errno != EINTR) {
		disconnect(connection);
	} else if (put > 0) {
		connection->out_len -= (size_t)put;
		memmove(connection->out, connection->out + put,
			connection->out_len);
	}
}

/* Whether a client may have len more bytes of unread replies. */
static bool may_reply(const struct saver *saver,
		      const struct connection *connection, size_t len)
{
	size_t all = 0, own = 0;

	for (size_t i = 0; i < saver->n_connections; i++) {
		const struct connection *o = saver->connection[i];

		if (!o->out_len)
			continue;
		all += o->out_len;
		own += o->client->uid == connection->client->uid ? o->out_len :
								   0;
	}
	return connection->out_len + len <= MAX_REPLY_BYTES_CLIENT &&
	       np_share_allows(MAX_REPLY_BYTES - all, own, len);
}

/* Send a reply. A client is disconnected if its user has too much unread. */
static void send_reply(const struct saver *saver, struct connection *connection,
		       uint32_t seq, const char *fields, size_t len)
{
	struct np_saver_header h = { NP_SAVER_VERSION, NP_SAVER_REPLY, seq,
				     (uint32_t)len };
	size_t need = connection->out_len + sizeof(h) + len;
	char *grown = may_reply(saver, connection, sizeof(h) + len) ?
			      realloc(connection->out, need) :
			      NULL;

	if (!grown) {
		disconnect(connection);
		return;
	}
	memcpy(grown + connection->out_len, &h, sizeof(h));
	memcpy(grown + connection->out_len + sizeof(h), fields, len);
	connection->out = grown;
	connection->out_len = need;
	send_out(connection);
}

/* Reply that a request failed. */
static void refuse(const struct saver *saver, struct connection *connection,
		   uint32_t seq, int rc)
{
	char fields[128];
	int len = snprintf(
		fields, sizeof(fields), "%d%c%s%c", rc, 0,
		rc == -EBUSY ?
			"too many requests wait: the store does not answer" :
			strerror(-rc),
		0);

	fields[len++] = '\0';
	send_reply(saver, connection, seq, fields, (size_t)len);
}

/*
 * Let a child take over a connection. The child's pipe takes its place here,
 * and closes when the child ends. Returns 0 or -errno.
 */
static int start_writer(const struct saver *saver,
			struct connection *connection)
{
	int end[2], rc = open_pipe(end);
	pid_t pid;

	if (rc)
		return rc;
	pid = fork();
	if (!pid)
		run_writer(saver->own ? NULL : connection->client,
			   connection->fd, end[1]);
	rc = pid < 0 ? -errno : 0;
	close(end[1]);
	if (rc) {
		close(end[0]);
		return rc;
	}
	close(connection->fd);
	connection->fd = end[0];
	return 0;
}

static void take_trace(struct saver *saver, struct connection *connection)
{
	int64_t rc = start_writer(saver, connection);

	/*
	 * Replies to earlier requests are dropped: they cannot be sent to the
	 * child's pipe, and the connection counts until the child ends.
	 */
	connection->number = ++saver->n_accepted;
	connection->out_len = 0;
	if (!rc)
		return;
	send(connection->fd, &rc, sizeof(rc), MSG_DONTWAIT | MSG_NOSIGNAL);
	disconnect(connection);
}

static void take_request(struct saver *saver, struct connection *connection)
{
	struct np_saver_request r = {
		.client = connection->client,
		.connection = connection->number,
		.kind = connection->head.kind,
		.seq = connection->head.seq,
		.text = connection->text,
		.len = connection->head.len,
	};
	int rc;

	r.text[r.len] = '\0'; /* it may not end with a NUL */
	connection->text = NULL;
	connection->n_read = 0;
	rc = np_saver_queue_add(&saver->queue, &r);
	if (rc && r.kind != NP_SAVER_LOG)
		refuse(saver, connection, r.seq, rc);
}

/* Return whether there is room for the request that a client has announced. */
static bool has_room(const struct saver *saver,
		     const struct connection *connection)
{
	size_t len = connection->head.len, all = 0, own = 0;

	for (size_t i = 0; i < saver->n_connections; i++) {
		const struct connection *o = saver->connection[i];

		if (!o->text)
			continue;
		all += o->head.len;
		own += o->client->uid == connection->client->uid ? o->head.len :
								   0;
	}
	return own + len <= MAX_READ_BYTES_USER &&
	       np_share_allows(MAX_READ_BYTES - all, own, len);
}

/*
 * Return where the next bytes of a request belong, and how many are missing.
 * NULL: the request is malformed, or there is no room for it.
 */
static char *room_for_request(const struct saver *saver,
			      struct connection *connection, size_t *left)
{
	if (!connection->text &&
	    connection->n_read < sizeof(connection->head)) {
		*left = sizeof(connection->head) - connection->n_read;
		return (char *)&connection->head + connection->n_read;
	}
	if (!connection->text) {
		connection->text =
			np_saver_header_is_valid(&connection->head) &&
					connection->head.kind !=
						NP_SAVER_REPLY &&
					connection->head.kind !=
						NP_SAVER_TRACE &&
					has_room(saver, connection) ?
				malloc(connection->head.len + 1) :
				NULL;
		connection->n_read = 0;
	}
	*left = connection->text ? connection->head.len - connection->n_read :
				   0;
	return connection->text ? connection->text + connection->n_read : NULL;
}

/*
 * Whether a client begins a request to write a trace. Its header stays in the
 * socket, as a descriptor comes with it. close() waits for the file system of
 * the descriptor, and users can mount one that never answers (FUSE). Therefore
 * only the child that writes the trace receives the descriptor.
 */
static bool begins_trace(const struct connection *connection)
{
	struct np_saver_header head;

	return !connection->text && !connection->n_read &&
	       recv(connection->fd, &head, sizeof(head),
		    MSG_DONTWAIT | MSG_PEEK) == sizeof(head) &&
	       np_saver_header_is_valid(&head) && head.kind == NP_SAVER_TRACE;
}

/* Read at most one request, so that one client cannot delay the others. */
static void read_request(struct saver *saver, struct connection *connection)
{
	size_t left;
	char *to;

	if (begins_trace(connection)) {
		take_trace(saver, connection);
		return;
	}
	while ((to = room_for_request(saver, connection, &left))) {
		/* Without recvmsg(), the kernel drops passed descriptors. */
		ssize_t got = recv(connection->fd, to, left, MSG_DONTWAIT);

		if (got < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (got <= 0)
			break;
		connection->n_read += (size_t)got;
		if (connection->text &&
		    connection->n_read == connection->head.len) {
			take_request(saver, connection);
			return;
		}
	}
	disconnect(connection);
}

/* ---- workers ---- */

static struct connection *find_connection(struct saver *saver, uint64_t number)
{
	for (size_t i = 0; i < saver->n_connections; i++)
		if (saver->connection[i]->number == number &&
		    saver->connection[i]->fd >= 0)
			return saver->connection[i];
	return NULL;
}

/* Reply to the client, if it is still connected, and forget the request. */
static void end_request(struct saver *saver, struct np_saver_request *request,
			const char *fields, size_t len, int rc)
{
	struct connection *connection =
		request->kind == NP_SAVER_LOG ?
			NULL :
			find_connection(saver, request->connection);

	if (connection && len)
		send_reply(saver, connection, request->seq, fields, len);
	else if (connection)
		refuse(saver, connection, request->seq, rc);
	np_saver_queue_done(&saver->queue, request);
}

static void start_work(struct saver *saver, struct np_saver_request *request)
{
	struct worker *worker = saver->worker;
	int fd, rc = start_child(request, !saver->own, &fd);

	if (rc) {
		end_request(saver, request, NULL, 0, rc);
		return;
	}
	while (worker->request) /* one is unused: see np_saver_queue_next() */
		worker++;
	*worker = (struct worker){ .request = request,
				   .fd = fd,
				   .since_sec = np_mono_sec() };
}

static void end_work(struct saver *saver, struct worker *worker)
{
	close(worker->fd);
	if (worker->reported)
		report("%s: answered after %.0f s", worker->request->text,
		       np_mono_sec() - worker->since_sec);
	end_request(saver, worker->request, worker->text, worker->len, -EIO);
	free(worker->text);
	*worker = (struct worker){ .request = NULL };
}

/* Read a reply; at its end, or if it is too long, the work has ended. */
static void read_worker(struct saver *saver, struct worker *worker)
{
	char *grown = realloc(worker->text, worker->len + 65536);
	ssize_t got;

	if (grown) {
		worker->text = grown;
		got = read(worker->fd, grown + worker->len, 65536);
		if (got < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (got > 0 &&
		    worker->len + (size_t)got <= NP_SAVER_MAX_BYTES) {
			worker->len += (size_t)got;
			return;
		}
	}
	end_work(saver, worker);
}

static void report_slow(struct saver *saver)
{
	double now = np_mono_sec();

	for (size_t i = 0; i < NP_SAVER_WORKERS; i++) {
		struct worker *worker = &saver->worker[i];

		if (!worker->request || worker->reported ||
		    now - worker->since_sec < SLOW_SEC)
			continue;
		worker->reported = true;
		report("%s has not answered for %.0f s: what is written there "
		       "for uid %u waits",
		       worker->request->text, SLOW_SEC,
		       (unsigned)worker->request->client->uid);
	}
}

/* ---- the program ---- */

/*
 * Accept a connection, or leave it in the backlog if no descriptor is free.
 * Returns whether one was accepted.
 */
static bool accept_client(struct saver *saver)
{
	const struct timespec nap = { .tv_nsec = ACCEPT_PAUSE_NS };
	int fd = accept4(saver->listen, NULL, NULL,
			 SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd >= 0)
		connect_client(saver, fd);
	else if (errno == EMFILE || errno == ENFILE)
		nanosleep(&nap, NULL);
	return fd >= 0;
}

/*
 * Stop listening, because nothing is left to do. Connections in the backlog are
 * still accepted. Later ones are refused, so that their clients start another
 * saver.
 */
static void stop_listening(struct saver *saver)
{
	if (saver->listen < 0)
		return;
	shutdown(saver->listen, SHUT_RD);
	while (accept_client(saver))
		;
	close(saver->listen);
	saver->listen = -1;
}

/* Stop listening: slurmd has ended, and another saver listens. */
static void retire(struct saver *saver)
{
	if (saver->listen >= 0)
		close(saver->listen);
	close(saver->control);
	saver->listen = saver->control = -1;
}

static bool has_work(const struct saver *saver)
{
	return saver->queue.first ||
	       (saver->own ? saver->n_connections > 0 : saver->control >= 0);
}

/* Whether the saver has work, perhaps of clients that have just connected. */
static bool is_needed(struct saver *saver)
{
	if (!has_work(saver))
		stop_listening(saver);
	return has_work(saver);
}

static void poll_all(struct saver *saver)
{
	static struct pollfd p[2 + MAX_CONNECTIONS + NP_SAVER_WORKERS];
	size_t n = 2, n_connections = saver->n_connections, at;

	p[0] = (struct pollfd){ .fd = saver->control, .events = POLLIN };
	p[1] = (struct pollfd){ .fd = saver->listen, .events = POLLIN };
	for (size_t i = 0; i < n_connections; i++)
		p[n++] = (struct pollfd){
			.fd = saver->connection[i]->fd,
			.events = saver->connection[i]->out_len ?
					  POLLIN | POLLOUT :
					  POLLIN,
		};
	for (size_t i = 0; i < NP_SAVER_WORKERS; i++)
		p[n++] = (struct pollfd){
			.fd = saver->worker[i].request ? saver->worker[i].fd :
							 -1,
			.events = POLLIN,
		};
	if (poll(p, n, POLL_MS) < 0)
		return;
	for (size_t i = 0; i < n_connections; i++) {
		if (p[2 + i].revents & POLLOUT)
			send_out(saver->connection[i]);
		if (p[2 + i].revents & ~POLLOUT &&
		    saver->connection[i]->fd >= 0)
			read_request(saver, saver->connection[i]);
	}
	at = 2 + n_connections;
	for (size_t i = 0; i < NP_SAVER_WORKERS; i++)
		if (p[at + i].revents)
			read_worker(saver, &saver->worker[i]);
	remove_closed(saver);
	if (p[1].revents)
		accept_client(saver);
	if (p[0].revents)
		retire(saver);
}

/*
 * Open the sockets. When slurmd restarts, the old saver and the new one
 * overlap, so there are names for both.
 */
static void open_sockets(struct saver *saver)
{
	uid_t holder = geteuid();

	saver->listen = np_saver_listen(saver->own ? geteuid() : 0, &holder);
	if (saver->listen < 0 && !saver->own)
		report("%s: its sockets are held by uid %u: records of this "
		       "node are lost",
		       strerror(-saver->listen), (unsigned)holder);
	if (saver->own) {
		int fd = np_fd_above(STDIN_FILENO);

		saver->control = -1;
		open("/dev/null", O_RDONLY | O_CLOEXEC); /* as standard input */
		if (fd >= 0) {
			fcntl(fd, F_SETFL, O_NONBLOCK);
			connect_client(saver, fd);
		}
	}
}

/*
 * Return how many connections there may be at a time: half as many as there may
 * be descriptors, so that these never run out.
 */
static size_t find_max_connections(void)
{
	struct rlimit l;

	if (getrlimit(RLIMIT_NOFILE, &l))
		return MAX_CONNECTIONS;
	l.rlim_cur = l.rlim_max;
	setrlimit(RLIMIT_NOFILE, &l);
	if (l.rlim_cur < RESERVED_FDS)
		return 0;
	return l.rlim_cur < RESERVED_FDS + 2 * MAX_CONNECTIONS ?
		       (l.rlim_cur - RESERVED_FDS) / 2 :
		       MAX_CONNECTIONS;
}

int main(int argc, char **argv)
{
	static struct saver saver = { .listen = -1 };
	struct np_saver_request *request;

	saver.own = argc == 2 && !strcmp(argv[1], "--own");
	if (argc != 1 + saver.own || (!saver.own && geteuid())) {
		fprintf(stderr, "netprof-saver is started by the SPANK plugin, "
				"not by hand\n");
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	signal(SIGCHLD, SIG_IGN); /* a worker may hang: do not wait for it */
	saver.max_connections = find_max_connections();
	open_sockets(&saver);
	while (is_needed(&saver)) {
		while ((request = np_saver_queue_next(&saver.queue)))
			start_work(&saver, request);
		poll_all(&saver);
		report_slow(&saver);
	}
	return 0;
}
