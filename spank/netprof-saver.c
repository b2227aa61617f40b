/*
 * netprof-saver: writes to the store for the flagged steps of a node.
 *
 * The store may be on a file system whose server is lost; who touches it then
 * sleeps, cannot be killed, and keeps a job from ending if it belongs to one.
 * So nothing that a job waits for touches it: srun and netprof-attend hand what
 * they have to this process (np_saver_msg.h), which belongs to no job.  The
 * SPANK plugin starts one in slurmd, as root, for every user of the node; on
 * hosts without slurmd, netprof-attend starts one for its own user.
 *
 * Nor does this process touch the store: it forks one for each request, which
 * does so as the user who asked, and answers when that ends.  Requests wait
 * meanwhile (np_saver_queue.h), also when those who made them are gone.
 *
 *	netprof-saver		of root; standard input is a pipe that closes
 *				when slurmd ends
 *	netprof-saver --own	of one user; standard input is the first
 *				connection
 *
 * It ends when slurmd has, or the last connection, and nothing waits any more.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "np_clock.h"
#include "np_log.h"
#include "np_saver_child.h"
#include "np_saver_find.h"
#include "np_saver_queue.h"
#include "np_text.h"

#define CONNECTIONS 1024     /* of all users ... */
#define CONNECTIONS_USER 128 /* ... and of one */
#define READ_BYTES (64u << 20) /* of requests that are read, of all users ... */
#define READ_BYTES_USER (16u << 20) /* ... and of one */
#define REPLY_BYTES (1u << 20)	    /* that one leaves unread */
#define MAX_GROUPS 4096
#define ADMIT_NS 10000000 /* until there may be descriptors again */
#define ANSWER_SEC 30.0 /* the store takes longer: said in the system's log */
#define POLL_MS 1000	/* for workers that are late */

struct connection {
	int fd;
	uint64_t number;
	struct np_saver_who *who;
	struct np_saver_head head;
	size_t got; /* bytes of head, then of text */
	char *text; /* fields of a request that is still read; NULL: none yet */
	char *out;  /* replies that are not sent yet */
	size_t out_len;
};

struct worker {
	struct np_saver_request *request; /* NULL: unused */
	int fd; /* what it writes, until it ends */
	char *text;
	size_t len;
	double since_sec;
	bool late; /* said so */
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
static void say(const char *fmt, ...)
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

static void hang_up(struct connection *c)
{
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
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

/* Who is connected, with the groups that its process has.  NULL: nobody. */
static struct np_saver_who *who_is(int fd)
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

static bool is_welcome(const struct saver *s, const struct np_saver_who *w)
{
	return w && (!s->own || w->uid == geteuid()) && s->n < CONNECTIONS &&
	       count_of(s, w->uid) < CONNECTIONS_USER;
}

/* fd is taken over. */
static void connect_client(struct saver *s, int fd)
{
	struct np_saver_who *w = who_is(fd);
	struct connection *c = is_welcome(s, w) ? calloc(1, sizeof(*c)) : NULL;

	if (!c) {
		np_saver_who_put(w);
		close(fd);
		return;
	}
	c->fd = fd;
	c->who = w;
	c->number = ++s->n_accepted;
	s->connection[s->n++] = c;
}

static void send_out(struct connection *c)
{
	ssize_t put = send(c->fd, c->out, c->out_len,
			   MSG_DONTWAIT | MSG_NOSIGNAL);

	if (put < 0 && errno != EAGAIN && errno != EINTR) {
		hang_up(c);
	} else if (put > 0) {
		c->out_len -= (size_t)put;
		memmove(c->out, c->out + put, c->out_len);
	}
}

/* Who leaves too much unread is hung up on. */
static void answer(struct connection *c, uint32_t seq, const char *fields,
		   size_t len)
{
	struct np_saver_head h = { NP_SAVER_VERSION, NP_SAVER_REPLY, seq,
				   (uint32_t)len };
	size_t need = c->out_len + sizeof(h) + len;
	char *grown = need <= REPLY_BYTES ? realloc(c->out, need) : NULL;

	if (!grown) {
		hang_up(c);
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
	answer(c, seq, fields, (size_t)len);
}

static void take_request(struct saver *s, struct connection *c)
{
	struct np_saver_request r = {
		.who = c->who, .from = c->number, .kind = c->head.kind,
		.seq = c->head.seq, .text = c->text, .len = c->head.len,
	};
	int rc;

	r.text[r.len] = '\0'; /* it may not end as it should */
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

/* One request at most, so that nobody has all of our time. */
static void read_request(struct saver *s, struct connection *c)
{
	size_t left;
	char *to;

	while ((to = room_of(s, c, &left))) {
		ssize_t got = recv(c->fd, to, left, MSG_DONTWAIT);

		if (got < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (got <= 0)
			break;
		c->got += (size_t)got;
		if (c->text && c->got == c->head.len) {
			take_request(s, c);
			return;
		}
	}
	hang_up(c);
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

/* The reply goes to who still waits for it. */
static void request_ends(struct saver *s, struct np_saver_request *r,
			 const char *fields, size_t len, int rc)
{
	struct connection *c = r->kind == NP_SAVER_LOG ? NULL :
			       find_connection(s, r->from);

	if (c && len)
		answer(c, r->seq, fields, len);
	else if (c)
		refuse(c, r->seq, rc);
	np_saver_queue_done(&s->queue, r);
}

static void start_work(struct saver *s, struct np_saver_request *r)
{
	struct worker *w = s->worker;
	int fd, rc = np_saver_child(r, !s->own, &fd);

	if (rc) {
		request_ends(s, r, NULL, 0, rc);
		return;
	}
	while (w->request) /* there are as many as the queue hands out */
		w++;
	*w = (struct worker){ .request = r, .fd = fd,
			      .since_sec = np_mono_sec() };
}

static void work_ends(struct saver *s, struct worker *w)
{
	close(w->fd);
	if (w->late)
		say("%s: answered after %.0f s", w->request->text,
		    np_mono_sec() - w->since_sec);
	request_ends(s, w->request, w->text, w->len, -EIO);
	free(w->text);
	*w = (struct worker){ .request = NULL };
}

static void hear_worker(struct saver *s, struct worker *w)
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
	work_ends(s, w);
}

static void notice_late(struct saver *s)
{
	double now = np_mono_sec();

	for (size_t i = 0; i < NP_SAVER_WORKERS; i++) {
		struct worker *w = &s->worker[i];

		if (!w->request || w->late ||
		    now - w->since_sec < ANSWER_SEC)
			continue;
		w->late = true;
		say("%s has not answered for %.0f s: what is written there "
		    "for uid %u waits", w->request->text, ANSWER_SEC,
		    (unsigned)w->request->who->uid);
	}
}

/* ---- the program ---- */

/* Those for whom there is no descriptor stay in the backlog. */
static void admit(struct saver *s)
{
	const struct timespec nap = { .tv_nsec = ADMIT_NS };
	int fd = accept4(s->listen, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd >= 0)
		connect_client(s, fd);
	else if (errno == EMFILE || errno == ENFILE)
		nanosleep(&nap, NULL);
}

/* From now on another one listens. */
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
			hear_worker(s, &s->worker[i]);
	remove_closed(s);
	if (p[1].revents)
		admit(s);
	if (p[0].revents)
		retire(s);
}

/* Slurmd's restart and this one's end overlap: there are names for both. */
static void begin(struct saver *s)
{
	uid_t taken = geteuid();

	s->listen = np_saver_listen(s->own ? geteuid() : 0, &taken);
	if (s->listen < 0 && !s->own)
		say("%s: its sockets are held by uid %u: records of this node "
		    "are lost", strerror(-s->listen), (unsigned)taken);
	if (s->own) {
		int fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 10);

		if (fd >= 0) {
			fcntl(fd, F_SETFL, O_NONBLOCK);
			connect_client(s, fd);
		}
		s->control = -1;
		close(STDIN_FILENO);
		open("/dev/null", O_RDONLY | O_CLOEXEC);
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
	signal(SIGCHLD, SIG_IGN); /* nobody waits for one that cannot end */
	begin(&s);
	while (has_work(&s)) {
		while ((r = np_saver_queue_next(&s.queue)))
			start_work(&s, r);
		poll_all(&s);
		notice_late(&s);
	}
	return 0;
}
