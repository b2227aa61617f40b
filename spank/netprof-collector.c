/*
 * netprof-collector: the step collector, which accompanies one flagged step.
 *
 * It is started by the SPANK plugin in srun, as the user, with a socket to srun
 * (np_launch.h) and the socket at which probe agents reach it (np_agents.h).
 * It does nothing until the step has reached a certain age.  Then it finds out
 * where the step runs, has a few pairs of its nodes measure, aggregates their
 * reports into the run record, and saves that from time to time.  A load level,
 * if one was requested, is started before the step.  The collector ends when
 * srun does, however that ends, or when the batch script does (np_script.h),
 * and never writes to the user's terminal.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "np_agents.h"
#include "np_alloc_query.h"
#include "np_clock.h"
#include "np_conf.h"
#include "np_detach.h"
#include "np_launch.h"
#include "np_memory.h"
#include "np_notice.h"
#include "np_record.h"
#include "np_rendezvous.h"
#include "np_reports.h"
#include "np_run_summary.h"
#include "np_saver_proto.h"
#include "np_script.h"
#include "np_select_level.h"
#include "np_slurm_compat.h"

#define SAVE_EVERY_SEC 10.0
#define FIRST_SAVE_MS 1000  /* for the store to refuse records */
#define SELECT_MS 3000	    /* for the choice of a level; srun waits for it */
#define LAST_SAVE_MS 200    /* less than srun waits for "saved" */
#define SILENT_SEC 30.0	    /* of the store, after which the log has a line */
#define NEIGHBOURS_FIRST_SEC 3.0
#define NEIGHBOURS_EVERY_SEC 60.0 /* less than Slurm's MinJobAge of 300 */
/* Later, queries are repeated after each such part of the run so far. */
#define NEIGHBOURS_PART 0.25
/*
 * Memory for the list of jobs: 10,000, which is slurmctld's default limit, of 2
 * to 3 KB each.
 */
#define NEIGHBOURS_BYTES (32.0 * (1 << 20))
/* For the last reports of probes that end with the step's tasks. */
#define LAST_REPORT_SEC 0.2
#define TICK_SEC 0.1

/* The connection to netprof-saver. */
struct saver {
	const struct np_conf *conf; /* Store, LibexecDir, MaxRuns; borrowed */
	int fd; /* to poll(2) for POLLIN; -1: not connected */
	uint32_t seq, replied; /* of the last request and of the last reply */
	int rc;			/* result in that reply */
	char why[NP_ERR_LEN];	/* its text */
	struct np_selection choice; /* its choice, if saver_select() asked */
	struct np_saver_head head; /* of a reply being read */
	size_t got; /* bytes of head read, then of text */
	char *text; /* fields of that reply; NULL: none yet */
};

#define SAVER_INIT                                    \
	{                                             \
		.fd = -1, .choice = NP_SELECTION_INIT \
	}

struct collector {
	struct np_launch_request request;
	struct np_conf conf;
	struct saver saver;
	struct np_record *r;
	struct np_step_nodes nodes;
	struct np_agents agents;
	struct np_script script;
	/* CLOCK_MONOTONIC */
	double start_sec, next_save_sec, next_neighbours_sec;
	double request_sec; /* time of the first request that the saver has not
			   * replied */
	struct np_memory memory;
	char short_why[NP_MEMORY_TEXT]; /* "": memory is not short */
	bool neighbours_known; /* the last query succeeded */
	bool ready_sent, srun_gone, logged; /* logged: one line is enough */
};

static volatile sig_atomic_t stop_requested;

static void on_signal(int sig)
{
	(void)sig;
	stop_requested = 1;
}

static void log_once(struct collector *c, const char *what, const char *cause)
{
	if (c->logged)
		return;
	c->logged = true;
	np_notice(c->conf.store, "step %u.%u (%s) %s: %s", c->request.job_id,
		  c->request.step_id, c->request.app, what, cause);
}

static void say_to_srun(const char *line)
{
	if (write(STDOUT_FILENO, line, strlen(line)) < 0)
		return; /* srun has ended, so nobody waits for it */
}

/*
 * ---- connection to netprof-saver ----
 *
 * The saver writes to the store on the collector's behalf and replies. Nothing
 * here touches a file of the store or waits longer than its caller allows. What
 * was sent is written even if the collector has ended, as soon as the store
 * answers.
 */

#define SEND_MS 1000 /* the saver reads at once, unless it is stopped */

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
	int pair[2], status = 0;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) ||
	    np_fds_above(pair))
		return np_errf(err, -errno, "no socket: %s", strerror(errno));
	pid = fork();
	if (!pid)
		exec_saver(conf, pair[1]);
	close(pair[1]);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (pid < 0 || status) {
		close(pair[0]);
		return np_errf(err, -EAGAIN, "netprof-saver could not be "
			       "started");
	}
	fcntl(pair[0], F_SETFL, O_NONBLOCK);
	return pair[0];
}

static int connect_saver(struct saver *s, struct np_err *err)
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

static void close_saver(struct saver *s)
{
	if (s->fd >= 0)
		close(s->fd);
	free(s->text);
	s->fd = -1;
	s->text = NULL;
	s->got = 0;
}

static int send_all(int fd, const char *msg, size_t len)
{
	double until_sec = np_mono_sec() + 1e-3 * SEND_MS;

	while (len) {
		ssize_t put = send(fd, msg, len, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (put < 0 && errno != EAGAIN && errno != EINTR)
			return -errno;
		if (put < 0 && !np_fd_wait(fd, POLLOUT, until_sec))
			return -ETIMEDOUT;
		if (put > 0) {
			msg += put;
			len -= (size_t)put;
		}
	}
	return 0;
}

/* Try a second time if the saver has been replaced by another one. */
static int deliver(struct saver *s, const char *msg, size_t len,
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

static int send_request(struct saver *s, enum np_saver_kind kind,
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

/*
 * Have a record written, or replaced by this one.  Returns 0 once the saver has
 * the request; or -errno with err, such as -ENOENT: no saver runs on this node.
 */
static int saver_save(struct saver *s, const struct np_record *r,
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
	rc = send_request(s, NP_SAVER_SAVE, (const char *[]){
			s->conf->store, run, max_runs, text }, 4, err);
	free(text);
	return rc;
}

/*
 * Have a level chosen for r by np_select_level(), to run on nodes, and the
 * record written with it.  Returns as saver_save().
 */
static int saver_select(struct saver *s, const struct np_record *r,
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
	rc = send_request(s, NP_SAVER_SELECT,
			  (const char *[]){ s->conf->store, "", max_runs, scope,
					    nodes, share_text, now_text, text },
			  8, err);
	free(text);
	return rc;
}

/* A reply is "ERRNO TEXT CHOICE"; replies to earlier requests are ignored. */
static void take_reply(struct saver *s)
{
	char *field[NP_SAVER_MAX_FIELDS];
	size_t n = np_saver_fields(s->text, s->head.len, field);

	if (n == 3 && s->head.seq == s->seq) {
		s->replied = s->seq;
		s->rc = (int)strtol(field[0], NULL, 10);
		snprintf(s->why, sizeof(s->why), "%s", field[1]);
		if (!s->rc && *field[2])
			s->rc = np_selection_parse(field[2], &s->choice);
	}
	free(s->text);
	s->text = NULL;
	s->got = 0;
}

static char *room_of(struct saver *s, size_t *left)
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

/* Read what has arrived. */
static void saver_read(struct saver *s)
{
	size_t left;
	char *to;

	while (s->fd >= 0 && (to = room_of(s, &left))) {
		ssize_t got = recv(s->fd, to, left, MSG_DONTWAIT);

		if (got < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (got <= 0)
			break;
		s->got += (size_t)got;
		if (s->text && s->got == s->head.len)
			take_reply(s);
	}
	close_saver(s);
}

/*
 * Wait for the reply to the last request, at most timeout_ms.  Returns its
 * result, 0 or -errno with err; -ETIMEDOUT: there is no reply yet; -EPIPE: the
 * saver has ended, and the request may be lost.
 */
static int saver_wait(struct saver *s, int timeout_ms, struct np_err *err)
{
	double until_sec = np_mono_sec() + 1e-3 * timeout_ms;

	while (s->replied != s->seq && s->fd >= 0)
		if (np_fd_wait(s->fd, POLLIN, until_sec))
			saver_read(s);
		else
			return np_errf(err, -ETIMEDOUT, "%s does not answer",
				       s->conf->store);
	if (s->replied != s->seq)
		return np_errf(err, -EPIPE, "netprof-saver has ended");
	return s->rc ? np_errf(err, s->rc, "%s", s->why) : 0;
}

/* ---- the record ---- */

/* Date until which the step is known to have run. */
static double observed_until(const struct collector *c)
{
	double now = np_date_sec();

	return isnan(c->agents.reports.program_end_sec) ?
		       now :
		       now - (np_mono_sec() -
			      c->agents.reports.program_end_sec);
}

/* Send the record to the saver; the reply is read later. */
static int save(struct collector *c)
{
	struct np_err err = NP_ERR_INIT;
	int rc;

	c->r->end = observed_until(c);
	if (c->saver.replied == c->saver.seq)
		c->request_sec = np_mono_sec();
	rc = saver_save(&c->saver, c->r, &err);
	if (rc)
		log_once(c, "is not saved", err.text);
	c->next_save_sec = np_mono_sec() + SAVE_EVERY_SEC;
	return rc;
}

/* The saver keeps its requests until the store answers. */
static void check_saver(struct collector *c)
{
	char why[PATH_MAX + 64];

	if (c->saver.replied == c->saver.seq && c->saver.rc) {
		log_once(c, "is not saved", c->saver.why);
	} else if (c->saver.replied != c->saver.seq &&
		   np_mono_sec() - c->request_sec > SILENT_SEC) {
		snprintf(why, sizeof(why), "%s has not answered for %.0f s",
			 c->conf.store, SILENT_SEC);
		log_once(c, "is not saved yet", why);
	}
}

/* Save to the store, or at least to the saver; srun does not wait longer. */
static void save_at_last(struct collector *c)
{
	struct np_err err = NP_ERR_INIT;
	int rc = save(c);

	if (!rc)
		rc = saver_wait(&c->saver, LAST_SAVE_MS, &err);
	if (rc == -EPIPE && !save(c))
		rc = saver_wait(&c->saver, LAST_SAVE_MS, &err);
	if (rc && rc != -ETIMEDOUT)
		log_once(c, "is not saved", err.text);
}

/* ---- srun ---- */

static void program_starts(struct collector *c)
{
	c->agents.reports.program_start_sec = np_mono_sec();
	c->r->alone_sec = np_date_sec() - c->r->start;
}

static void program_ends(struct collector *c)
{
	if (isnan(c->agents.reports.program_end_sec))
		c->agents.reports.program_end_sec = np_mono_sec();
	c->srun_gone = true;
}

/*
 * The daemon of an MPI for which mpirun did not wait ends in error, as it lost
 * mpirun, long after the program ended well.  A signal means that the
 * job ended.
 */
static void set_exit_code(struct collector *c, long code)
{
	c->r->exit_code = c->request.launcher && code < 128 ? 0 : code;
}

static void on_srun_line(struct collector *c, char *line)
{
	if (!strcmp(line, "start")) {
		program_starts(c);
	} else if (!strncmp(line, "exit ", 5)) {
		set_exit_code(c, strtol(line + 5, NULL, 10));
		program_ends(c);
	}
}

static void read_srun(struct collector *c)
{
	char buf[128];
	ssize_t got = read(STDIN_FILENO, buf, sizeof(buf) - 1);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got <= 0) {
		program_ends(c);
		return;
	}
	buf[got] = '\0';
	for (char *save_ptr, *line = strtok_r(buf, "\n", &save_ptr); line;
	     line = strtok_r(NULL, "\n", &save_ptr))
		on_srun_line(c, line);
}

/* ---- the batch script ---- */

/* Any user can bind these socket names, and it is not known who did. */
static void listen_for_script(struct collector *c)
{
	uint32_t job_id = c->request.het_job_id ? c->request.het_job_id :
						c->request.job_id;
	int rc = np_script_listen(&c->script, job_id);

	if (!rc)
		return;
	np_record_note(c->r, "the end of the batch script will go unnoticed: "
		       "%s",
		       strerror(-rc));
	np_notice(c->conf.store,
		  "step %u.%u (%s): if the batch script ends first, the record "
		  "will lack what follows: all %d sockets netprof/%u/* are "
		  "taken by other steps of the job or by another user: %s",
		  c->request.job_id, c->request.step_id, c->request.app,
		  NP_SCRIPT_SLOTS, job_id, strerror(-rc));
}

/* What still runs is killed along with the script. */
static void script_ends(struct collector *c, int code)
{
	bool runs = c->request.runner && !kill((pid_t)c->request.runner, 0);

	if (c->srun_gone)
		return;
	set_exit_code(c, runs ? 128 + SIGKILL : code);
	program_ends(c);
}

/* ---- the measurement of a step ---- */

static void wait_for_events(struct collector *c, double until_sec)
{
	struct pollfd p[3 + NP_REGISTRY_FDS];
	double left = until_sec - np_mono_sec();
	size_t n = 3;
	int code;

	p[0] = (struct pollfd){ .fd = c->srun_gone ? -1 : STDIN_FILENO,
				.events = POLLIN };
	p[1] = (struct pollfd){ .fd = c->script.fd, .events = POLLIN };
	p[2] = (struct pollfd){ .fd = c->saver.fd, .events = POLLIN };
	n += np_registry_poll(c->agents.registry, p + n);
	/* Wait at most a second, so that ended processes are noticed. */
	poll(p, n, left <= 0 ? 0 : (int)ceil(fmin(left, 1.0) * 1000));
	if (p[0].revents)
		read_srun(c);
	if (p[1].revents && np_script_read(&c->script, &code))
		script_ends(c, code);
	if (p[2].revents)
		saver_read(&c->saver);
	np_agents_serve(&c->agents, np_mono_sec());
}

/*
 * In a step's first seconds neither collector nor agents do anything.  Agents
 * that connect meanwhile wait in the listen backlog.
 */
static bool is_too_short(struct collector *c)
{
	double until = c->start_sec + c->agents.after_sec, left;

	while (!c->srun_gone && !stop_requested &&
	       (left = until - np_mono_sec()) > 0) {
		struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };

		if (poll(&p, 1, left > 60 ? 60000 : (int)(left * 1000) + 1) > 0)
			read_srun(c);
	}
	return c->srun_gone || stop_requested;
}

/* Measurement intervals within the run, under one level after the other. */
static void begin_schedule(struct collector *c)
{
	c->agents.reports.intervals =
		np_intervals_new(c->r, &c->saver.choice.earlier);
	c->r->intervals_scope = strdup(np_step_nodes_scope(&c->nodes));
	if (!c->agents.reports.intervals || !c->r->intervals_scope)
		np_record_note(c->r, "no measurement intervals: out of memory");
}

/* The saver looks into the store, and saves the record with its choice. */
static int request_level(struct collector *c, struct np_err *err)
{
	double share = c->nodes.scope == NP_SCOPE_LEAF ?
			       c->conf.calibrate_share : 0;
	int rc;

	c->r->end = observed_until(c);
	c->r->intervals_nodes = (uint32_t)c->nodes.level.n;
	rc = saver_select(&c->saver, c->r, np_step_nodes_scope(&c->nodes),
			  c->nodes.level_nodes, share, np_date_sec(), err);
	return rc ? rc : saver_wait(&c->saver, SELECT_MS, err);
}

/*
 * Use the level that the sensitivity curve needs most.  If it needs none, or
 * the choice fails, srun need not wait and the program runs alone.
 */
static void select_level(struct collector *c)
{
	const struct np_selection *choice = &c->saver.choice;
	struct np_err err = NP_ERR_INIT;

	c->request.level[0] = '\0';
	if (request_level(c, &err))
		np_record_note(c->r, "no level was chosen: %s", err.text);
	else
		strcpy(c->request.level, choice->level);
	if (choice->earlier.n_levels)
		begin_schedule(c);
	else if (choice->complete)
		np_record_note(c->r, "no load level: the sensitivity curve is "
			       "complete");
	if (!c->agents.reports.intervals)
		c->r->intervals_nodes = 0;
	if (!c->request.level[0] && !c->agents.reports.intervals) {
		say_to_srun("ready\n");
		c->ready_sent = true;
		c->agents.reports.program_start_sec = np_mono_sec();
	}
}

/*
 * Do not measure what cannot be stored, but wait for a store that is slow.
 */
static int save_first(struct collector *c, struct np_err *err)
{
	int rc;

	c->r->end = observed_until(c);
	c->request_sec = np_mono_sec();
	c->next_save_sec = c->request_sec + SAVE_EVERY_SEC;
	rc = saver_save(&c->saver, c->r, err);
	if (!rc)
		rc = saver_wait(&c->saver, FIRST_SAVE_MS, err);
	return rc == -ETIMEDOUT ? 0 : rc;
}

static int begin(struct collector *c, struct np_err *err)
{
	int rc;

	slurm_init(NULL);
	rc = np_step_nodes_load(&c->request, &c->conf,
				np_date_sec() - (np_mono_sec() - c->start_sec),
				c->r, &c->nodes, err);
	if (!rc && !strcmp(c->request.level, NP_LAUNCH_LEVEL_AUTO))
		select_level(c);
	if (!rc && c->request.level[0])
		rc = np_record_note_level(c->r, c->request.level,
					  np_step_nodes_scope(&c->nodes),
					  c->nodes.level_nodes, err);
	if (!rc)
		rc = save_first(c, err);
	if (!rc)
		rc = np_agents_begin(&c->agents, np_mono_sec(), err);
	return rc;
}

/*
 * Neighbours change.  Query them less often as the run gets longer, so that
 * there are few queries.
 */
static void query_neighbours(struct collector *c)
{
	struct np_err err = NP_ERR_INIT;
	double so_far = np_mono_sec() - c->start_sec;

	c->neighbours_known = false;
	if (np_memory_short(&c->memory, NEIGHBOURS_BYTES, err.text))
		np_record_note(c->r, "neighbours are not known: %s", err.text);
	else if (np_neighbours_query(c->nodes.leaves, &c->nodes.step,
				     observed_until(c), c->request.het_job_id,
				     c->r, &err))
		np_record_note(c->r, "neighbours are not known: %s", err.text);
	else
		c->neighbours_known = true;
	c->next_neighbours_sec = np_mono_sec() + fmax(NEIGHBOURS_EVERY_SEC,
						      NEIGHBOURS_PART * so_far);
}

static bool srun_waits(const struct collector *c)
{
	return !c->ready_sent &&
	       (c->request.level[0] || c->agents.reports.intervals);
}

static void level_is_ready(struct collector *c)
{
	if (!srun_waits(c) ||
	    !np_reports_lead_in_done(&c->agents.reports, np_mono_sec()))
		return;
	say_to_srun("ready\n");
	c->ready_sent = true;
}

static void tick(struct collector *c)
{
	char cause[NP_ERR_LEN + NP_REGISTRY_TEXT], lost[32];
	const char *what;

	if (np_agents_tick(&c->agents, np_mono_sec(), &what, cause,
			   sizeof(cause)) &&
	    !c->srun_gone) {
		np_record_note(c->r, "%s ended before the step: %s", what,
			       cause);
		snprintf(lost, sizeof(lost), "lost %s", what);
		log_once(c, lost, cause);
	}
	level_is_ready(c);
	if (np_mono_sec() >= c->next_neighbours_sec)
		query_neighbours(c);
	if (np_mono_sec() >= c->next_save_sec)
		save(c);
	check_saver(c);
}

static double next_wake_sec(const struct collector *c)
{
	double next = fmin(c->next_save_sec, c->next_neighbours_sec);

	if (!c->agents.probes_dispatched || c->agents.next_level ||
	    srun_waits(c))
		return np_mono_sec() + TICK_SEC;
	return c->agents.reports.intervals ?
		       fmin(next,
			    np_intervals_due_sec(c->agents.reports.intervals)) :
		       next;
}

static bool memory_is_short(struct collector *c)
{
	return c->short_why[0] || np_memory_short(&c->memory, 0, c->short_why);
}

/* When memory is short the collector ends, so that the program gets it. */
static void measure_step(struct collector *c)
{
	while (!c->srun_gone && !stop_requested && !memory_is_short(c)) {
		wait_for_events(c, next_wake_sec(c));
		tick(c);
	}
	if (!c->srun_gone && c->short_why[0]) {
		np_record_note(c->r, "not measured further: %s", c->short_why);
		log_once(c, "is not measured further", c->short_why);
	}
	program_ends(c);
}

/* The level's processes get no signal unless they do not end when asked to. */
static void end_level(struct collector *c)
{
	struct np_helper_end end = { .requested_sec = np_mono_sec() };
	int sig = 0;

	while (np_agents_end(&c->agents, sig),
	       np_agents_left(&c->agents) && sig >= 0) {
		wait_for_events(c, np_mono_sec() + TICK_SEC / 10);
		sig = np_helper_end_due(&end, np_mono_sec());
	}
	if (c->r->level)
		np_aggregate_level_done(c->agents.reports.aggregate,
					c->agents.reports.program_end_sec);
}

static bool is_complete(const struct collector *c)
{
	return !c->short_why[0] && np_agents_are_complete(&c->agents);
}

/*
 * The network is idle while the program does not use it, provided that no other
 * job used its leaf switches. netprof-saver drops the record if it adds nothing.
 */
static void save_idle(struct collector *c)
{
	struct np_record *idle = np_counters_idle(c->agents.reports.counters);
	struct np_err err = NP_ERR_INIT;

	if (idle && c->neighbours_known && !np_run_has_neighbours(c->r) &&
	    !c->r->suspended && strcmp(c->r->app, NP_IDLE_APP) &&
	    saver_save(&c->saver, idle, &err))
		log_once(c, "does not save its idle latencies", err.text);
	np_record_free(idle);
}

/* srun waits for "saved", so what is known by now is saved first. */
static void finish(struct collector *c)
{
	double until = np_mono_sec() + LAST_REPORT_SEC;

	do
		wait_for_events(c, fmin(until, np_mono_sec() + TICK_SEC / 10));
	while (np_agents_left(&c->agents) == NP_LEFT_PROBES &&
	       np_mono_sec() < until);
	c->r->state = is_complete(c) ? NP_RUN_COMPLETE : NP_RUN_CUT;
	if (!c->agents.probes_dispatched && !c->logged)
		np_record_note(c->r, "the step ended before the probes began");
	save_at_last(c);
	say_to_srun("saved\n");
	end_level(c);
	if (is_complete(c))
		c->r->state = NP_RUN_COMPLETE;
	if (!c->short_why[0])
		query_neighbours(c);
	save_at_last(c);
	if (!c->short_why[0])
		save_idle(c);
}

static int read_rendezvous(struct collector *c, struct np_err *err)
{
	const char *text = getenv(NP_RENDEZVOUS_ENV);

	long component = fmax(c->request.het_component, 0);

	if (!text ||
	    np_rendezvous_find(text, (size_t)component, &c->agents.rendezvous))
		return np_errf(err, -EINVAL,
			       "netprof-collector is started by the "
			       "SPANK plugin, not by hand");
	c->agents.after_sec =
		np_rendezvous_after_sec(&c->agents.rendezvous,
					c->request.n_nodes);
	fcntl(NP_COLLECTOR_LISTEN_FD, F_SETFD, FD_CLOEXEC);
	return 0;
}

static int prepare(struct collector *c, int argc, char **argv,
		   struct np_err *err)
{
	if (np_launch_from_argv(argc, argv, &c->request, err) ||
	    read_rendezvous(c, err) || np_conf_from_environment(&c->conf, err))
		return -EINVAL;
	for (size_t i = 0; i < c->request.n_settings; i++)
		if (np_conf_set(&c->conf, c->request.setting[i], err))
			return -EINVAL;
	c->r = np_record_new();
	c->agents.request = &c->request;
	c->agents.nodes = &c->nodes;
	c->agents.reports.conf = &c->conf;
	c->agents.reports.record = c->r;
	return c->r ? np_agents_init(&c->agents, NP_COLLECTOR_LISTEN_FD) :
		      -ENOMEM;
}

static void catch_signals(void)
{
	struct sigaction act = { .sa_handler = on_signal };

	sigaction(SIGTERM, &act, NULL);
	sigaction(SIGINT, &act, NULL);
	sigaction(SIGHUP, &act, NULL);
	signal(SIGPIPE, SIG_IGN);
}

/* For such a step nothing is started, queried or stored. */
static int skip_step(struct collector *c)
{
	char why[96];

	say_to_srun("saved\n");
	snprintf(why, sizeof(why),
		 "too short: it ended within its first %.1f s",
		 c->agents.after_sec);
	log_once(c, "is not measured", why);
	return 0;
}

int main(int argc, char **argv)
{
	static struct collector c = {
		.saver = SAVER_INIT, .script = NP_SCRIPT_INIT,
	};
	struct np_err err = NP_ERR_INIT;
	int rc;

	catch_signals();
	np_memory_yield();
	fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK);
	np_conf_init(&c.conf);
	c.saver.conf = &c.conf;
	c.start_sec = np_mono_sec();
	if (prepare(&c, argc, argv, &err)) {
		log_once(&c, "is not measured", err.text);
		return 1;
	}
	c.agents.reports.program_start_sec = c.request.level[0] ? NAN :
								c.start_sec;
	c.agents.reports.program_end_sec = NAN;
	c.next_neighbours_sec = c.start_sec + NEIGHBOURS_FIRST_SEC;
	if (!c.request.level[0] && is_too_short(&c))
		return skip_step(&c);
	listen_for_script(&c);
	np_memory_open(&c.memory, "/proc/self");
	rc = memory_is_short(&c) ? np_errf(&err, -ENOMEM, "%s", c.short_why) :
				   begin(&c, &err);
	if (rc == -ESRCH && c.request.het_component >= 0)
		return 0; /* the step has no part in this component */
	if (rc) {
		log_once(&c, "is not measured", err.text);
		return 1;
	}
	measure_step(&c);
	finish(&c);
	return 0;
}
