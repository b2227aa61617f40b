#include "np_saver.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "np_clock.h"
#include "np_detach.h"

#define SEND_MS 1000 /* the saver reads at once, unless it is stopped */

/* ---- the connection ---- */

/*
 * Execute a saver of the user's own, which outlives this process, in the child
 * of a child.
 */
static void exec_saver(const struct np_conf *conf, int fd)
{
	const int keep[] = { fd, -1, -1 };
	char path[PATH_MAX + 32];
	char *argv[] = { path, "--own", NULL };
	pid_t pid = fork();

	if (pid)
		_exit(pid < 0 ? errno : 0);
	snprintf(path, sizeof(path), "%s/netprof-saver", conf->libexecdir);
	if (!np_detach(keep, NP_ARRAY_SIZE(keep)))
		execv(path, argv);
	_exit(127);
}

static int start_own(const struct np_conf *conf, struct np_err *err)
{
	int pair[2], fd, status = 0;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return np_errf(err, -errno, "no socket: %s", strerror(errno));
	fd = fcntl(pair[0], F_DUPFD_CLOEXEC, 10);
	close(pair[0]);
	pair[0] = fcntl(pair[1], F_DUPFD_CLOEXEC, 10);
	close(pair[1]);
	pid = fork();
	if (!pid)
		exec_saver(conf, pair[0]);
	close(pair[0]);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (pid < 0 || status) {
		close(fd);
		return np_errf(err, -EAGAIN, "netprof-saver could not be "
			       "started");
	}
	fcntl(fd, F_SETFL, O_NONBLOCK);
	return fd;
}

static int connect_saver(struct np_saver *s, struct np_err *err)
{
	uid_t taken = geteuid();

	if (s->fd >= 0)
		return 0;
	s->fd = np_saver_find(&taken);
	if (s->fd < 0 && !np_saver_in_job())
		s->fd = start_own(s->conf, err);
	else if (s->fd < 0 && taken != geteuid())
		np_errf(err, s->fd, "uid %u holds the sockets of "
			"netprof-saver on this node", (unsigned)taken);
	else if (s->fd < 0)
		np_errf(err, s->fd, "no netprof-saver runs on this node: it "
			"starts with slurmd");
	return s->fd < 0 ? s->fd : 0;
}

static void close_saver(struct np_saver *s)
{
	if (s->fd >= 0)
		close(s->fd);
	free(s->text);
	s->fd = -1;
	s->text = NULL;
	s->got = 0;
}

/* ---- requests ---- */

static bool wait_until(int fd, short events, double until_sec)
{
	struct pollfd p = { .fd = fd, .events = events };
	double left;

	while ((left = until_sec - np_mono_sec()) > 0)
		if (poll(&p, 1, (int)(left * 1000) + 1) > 0)
			return true;
	return false;
}

static int send_all(int fd, const char *msg, size_t len)
{
	double until_sec = np_mono_sec() + 1e-3 * SEND_MS;

	while (len) {
		ssize_t put = send(fd, msg, len, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (put < 0 && errno != EAGAIN && errno != EINTR)
			return -errno;
		if (put < 0 && !wait_until(fd, POLLOUT, until_sec))
			return -ETIMEDOUT;
		if (put > 0) {
			msg += put;
			len -= (size_t)put;
		}
	}
	return 0;
}

/* Try a second time if the saver has been replaced by another one. */
static int deliver(struct np_saver *s, const char *msg, size_t len,
		   struct np_err *err)
{
	int rc, attempts = s->fd >= 0 ? 2 : 1;

	do {
		rc = connect_saver(s, err);
		if (rc)
			return rc;
		rc = send_all(s->fd, msg, len);
		if (rc)
			close_saver(s);
	} while (rc && rc != -ETIMEDOUT && --attempts);
	return rc ? np_errf(err, rc, "netprof-saver does not answer: %s",
			    strerror(-rc)) : 0;
}

static int request(struct np_saver *s, enum np_saver_kind kind,
		   const char *const field[], size_t n, struct np_err *err)
{
	char *msg = NULL;
	long len = np_saver_pack(kind, ++s->seq, field, n, &msg);
	int rc;

	if (len < 0)
		return np_errf(err, (int)len, "the record is not sent: %s",
			       strerror((int)-len));
	rc = deliver(s, msg, (size_t)len, err);
	free(msg);
	return rc;
}

int np_saver_save(struct np_saver *s, const struct np_record *r,
		  struct np_err *err)
{
	char run[NP_APP_MAX + NAME_MAX + 2], name[NAME_MAX + 1];
	char max_runs[16], *text = NULL;
	int rc = np_record_write(r, "record", &text, err);

	if (rc)
		return rc;
	np_store_run_name(r, name, sizeof(name));
	snprintf(run, sizeof(run), "%s/%s", r->app, name);
	snprintf(max_runs, sizeof(max_runs), "%u", s->conf->max_runs);
	rc = request(s, NP_SAVER_SAVE, (const char *[]){
			s->conf->store, run, max_runs, text }, 4, err);
	free(text);
	return rc;
}

int np_saver_choose(struct np_saver *s, const struct np_record *r,
		    const char *scope, const char *nodes, double share,
		    double now, struct np_err *err)
{
	char max_runs[16], share_text[32], now_text[32], *text = NULL;
	int rc = np_record_write(r, "record", &text, err);

	if (rc)
		return rc;
	snprintf(max_runs, sizeof(max_runs), "%u", s->conf->max_runs);
	snprintf(share_text, sizeof(share_text), "%.17g", share);
	snprintf(now_text, sizeof(now_text), "%.17g", now);
	rc = request(s, NP_SAVER_CHOOSE, (const char *[]){
			s->conf->store, "", max_runs, scope, nodes, share_text,
			now_text, text }, 8, err);
	free(text);
	return rc;
}

/* ---- replies ---- */

/* A reply is "ERRNO TEXT CHOICE"; replies to earlier requests are ignored. */
static bool take_reply(struct np_saver *s)
{
	char *field[NP_SAVER_MAX_FIELDS];
	size_t n = np_saver_fields(s->text, s->head.len, field);
	bool last = n == 3 && s->head.seq == s->seq;

	if (last) {
		s->answered = s->seq;
		s->rc = (int)strtol(field[0], NULL, 10);
		snprintf(s->why, sizeof(s->why), "%s", field[1]);
		if (!s->rc && *field[2])
			s->rc = np_choice_parse(field[2], &s->choice);
	}
	free(s->text);
	s->text = NULL;
	s->got = 0;
	return last;
}

static char *room_of(struct np_saver *s, size_t *left)
{
	if (!s->text && s->got < sizeof(s->head)) {
		*left = sizeof(s->head) - s->got;
		return (char *)&s->head + s->got;
	}
	if (!s->text) {
		s->text = np_saver_head_ok(&s->head) &&
			  s->head.kind == NP_SAVER_REPLY ?
				  malloc(s->head.len) : NULL;
		s->got = 0;
	}
	*left = s->text ? s->head.len - s->got : 0;
	return s->text ? s->text + s->got : NULL;
}

bool np_saver_read(struct np_saver *s)
{
	size_t left;
	char *to;

	while (s->fd >= 0 && (to = room_of(s, &left))) {
		ssize_t got = recv(s->fd, to, left, MSG_DONTWAIT);

		if (got < 0 && (errno == EAGAIN || errno == EINTR))
			return false;
		if (got <= 0)
			break;
		s->got += (size_t)got;
		if (s->text && s->got == s->head.len && take_reply(s))
			return true;
	}
	close_saver(s);
	return false;
}

int np_saver_wait(struct np_saver *s, int timeout_ms, struct np_err *err)
{
	double until_sec = np_mono_sec() + 1e-3 * timeout_ms;

	while (s->answered != s->seq && s->fd >= 0)
		if (wait_until(s->fd, POLLIN, until_sec))
			np_saver_read(s);
		else
			return np_errf(err, -ETIMEDOUT, "%s does not answer",
				       s->conf->store);
	if (s->answered != s->seq)
		return np_errf(err, -EPIPE, "netprof-saver has ended");
	return s->rc ? np_errf(err, s->rc, "%s", s->why) : 0;
}
