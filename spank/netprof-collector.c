/*
 * netprof-collector: the step collector, which accompanies one flagged step.
 *
 * It is started by the SPANK plugin in srun, as the user, with a socket to srun
 * (np_launch.h) and the socket at which probe agents reach it (np_agents.h).
 * It does nothing until the step has reached a certain age. Then it finds out
 * where the step runs, has a few pairs of its nodes measure, aggregates their
 * reports into the run record, and saves that from time to time. A load level,
 * if one was requested, is started before the step. The collector ends when
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

/* Longest waits for a reply of the saver. */
#define FIRST_SAVE_MS 1000 /* for the store to refuse records */
#define SELECT_MS 3000	   /* for the choice of a level, with srun waiting */
#define LAST_SAVE_MS 200   /* less than srun waits for "saved" */
/* A saver may end just as the collector connects; then there is another one. */
#define SAVER_ATTEMPTS 2

#define SAVE_EVERY_SEC 10.0
#define SILENT_SEC 30.0		 /* a store that is silent longer is logged */
#define NEIGHBOURS_FIRST_SEC 3.0 /* after which neighbours are queried first */
/*
 * Least and most memory for the list of all jobs, in bytes. If less than the
 * least is available, the list is not requested. 10,000 jobs, slurmctld's
 * default limit, take 2 to 3 KB each; a site may have more jobs, and jobs with
 * long texts.
 */
#define NEIGHBOURS_BYTES (32.0 * (1 << 20))
#define NEIGHBOURS_MAX_BYTES (1024.0 * (1 << 20))
/* Longest wait for the last reports of probes, which end with the tasks. */
#define LAST_REPORT_SEC 0.2
#define TICK_SEC 0.1 /* while something is due that no descriptor announces */

/* The connection to netprof-saver. */
struct saver {
	const struct np_conf *conf; /* Store, LibexecDir, MaxRuns; borrowed */
	int fd;			/* to poll(2) for POLLIN; -1: not connected */
	uint32_t request_seq;	/* number of the last request */
	uint32_t reply_seq;	/* number of the last request with a reply */
	int result;		/* in that reply: 0 or -errno */
	char cause[NP_ERR_LEN]; /* the text of that reply */
	struct np_selection selection; /* in the reply to saver_select() */
	struct np_saver_header head;   /* of a reply being read */
	size_t n_read;		       /* bytes of head, then of text */
	char *text; /* fields of that reply; NULL: none yet */
};

struct collector {
	struct np_launch_request request;
	struct np_conf conf;
	struct saver saver;
	struct np_record *record;
	struct np_step_nodes nodes;
	struct np_agents agents;
	struct np_script script;
	/* Times of CLOCK_MONOTONIC. */
	double start_sec, next_save_sec, next_neighbours_sec;
	double unanswered_sec; /* of the first request without a reply */
	struct np_memory memory;
	char memory_cause[NP_MEMORY_TEXT]; /* "": memory is not short */
	bool neighbours_known;		   /* the last query succeeded */
	bool ready_sent;    /* to srun, which then starts the program */
	bool program_ended; /* or srun, or the batch script */
	bool logged;	    /* log_once() has written its line */
};

static volatile sig_atomic_t stop_requested;

static void on_signal(int sig)
{
	(void)sig;
	stop_requested = 1;
}

/* Log why the step is not measured or saved. The first line is enough. */
static void log_once(struct collector *collector, const char *what,
		     const char *cause)
{
	if (collector->logged)
		return;
	collector->logged = true;
	np_notice(collector->conf.store, "step %u.%u (%s) %s: %s",
		  collector->request.job_id, collector->request.step_id,
		  collector->request.app, what, cause);
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
 * Runs in a child. Executes a saver for this user alone in a grandchild, so
 * that it outlives the collector.
 */
static void exec_saver(const struct np_conf *conf, int fd)
{
	const int keep[] = { fd, -1, -1 };
	char path[PATH_MAX + 32];
	char *argv[] = { path, "--own", NULL };

	snprintf(path, sizeof(path), "%s/netprof-saver", conf->libexecdir);
	np_exec_detached(keep, NP_ARRAY_SIZE(keep), argv, environ, NULL);
}

/* Start a saver of the user's own. Returns a socket, or -errno with err. */
static int start_own_saver(const struct np_conf *conf, struct np_err *err)
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
		return np_errf(err, -EAGAIN,
			       "netprof-saver could not be started");
	}
	fcntl(pair[0], F_SETFL, O_NONBLOCK);
	return pair[0];
}

static int connect_saver(struct saver *saver, struct np_err *err)
{
	uid_t holder = geteuid();

	if (saver->fd >= 0)
		return 0;
	saver->fd = np_saver_connect(&holder);
	if (saver->fd < 0 && !np_process_is_in_job())
		saver->fd = start_own_saver(saver->conf, err);
	else if (saver->fd < 0 && holder != geteuid())
		np_errf(err, saver->fd,
			"uid %u holds the sockets of netprof-saver on this "
			"node",
			(unsigned)holder);
	else if (saver->fd < 0)
		np_errf(err, saver->fd,
			"no netprof-saver runs on this node: it starts with "
			"slurmd");
	return saver->fd < 0 ? saver->fd : 0;
}

static void close_saver(struct saver *saver)
{
	if (saver->fd >= 0)
		close(saver->fd);
	free(saver->text);
	saver->fd = -1;
	saver->text = NULL;
	saver->n_read = 0;
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

/* Send a message; send it once more if the saver was replaced meanwhile. */
static int deliver(struct saver *saver, const char *msg, size_t len,
		   struct np_err *err)
{
	int rc, attempts = saver->fd >= 0 ? 2 : 1;

	do {
		rc = connect_saver(saver, err);
		if (rc)
			return rc;
		rc = send_all(saver->fd, msg, len);
		if (rc)
			close_saver(saver);
	} while (rc && rc != -ETIMEDOUT && --attempts);
	return rc ? np_errf(err, rc, "netprof-saver does not answer: %s",
			    strerror(-rc)) :
		    0;
}

static int send_request(struct saver *saver, enum np_saver_kind kind,
			const char *const field[], size_t n, struct np_err *err)
{
	char *msg = NULL;
	long len = np_saver_pack(kind, ++saver->request_seq, field, n, &msg);
	int rc;

	if (len < 0)
		return np_errf(err, (int)len, "the record is not sent: %s",
			       strerror((int)-len));
	rc = deliver(saver, msg, (size_t)len, err);
	free(msg);
	return rc;
}

/*
 * Request that the saver writes a record, or replaces it by this one. Returns
 * 0 once the saver has the request; or -errno with err, such as -ENOENT: no
 * saver runs on this node.
 */
static int saver_save(struct saver *saver, const struct np_record *record,
		      struct np_err *err)
{
	char run[NP_APP_MAX + NAME_MAX + 2], name[NAME_MAX + 1];
	char max_runs[16], *text = NULL;
	int rc = np_record_write(record, "record", &text, err);

	if (rc)
		return rc;
	np_store_run_name(record, name, sizeof(name));
	snprintf(run, sizeof(run), "%s/%s", record->app, name);
	snprintf(max_runs, sizeof(max_runs), "%u", saver->conf->max_runs);
	rc = send_request(saver, NP_SAVER_SAVE,
			  (const char *[]){ saver->conf->store, run, max_runs,
					    text },
			  4, err);
	free(text);
	return rc;
}

/*
 * Request that the saver selects a level for a run by np_select_level(), to run
 * on nodes, and writes the record with it. Returns as saver_save().
 */
static int saver_select(struct saver *saver, const struct np_record *record,
			const char *scope, const char *nodes, double share,
			double now, struct np_err *err)
{
	char max_runs[16], share_text[32], now_text[32], *text = NULL;
	int rc = np_record_write(record, "record", &text, err);

	if (rc)
		return rc;
	snprintf(max_runs, sizeof(max_runs), "%u", saver->conf->max_runs);
	snprintf(share_text, sizeof(share_text), "%.17g", share);
	snprintf(now_text, sizeof(now_text), "%.17g", now);
	rc = send_request(saver, NP_SAVER_SELECT,
			  (const char *[]){ saver->conf->store, "", max_runs,
					    scope, nodes, share_text, now_text,
					    text },
			  8, err);
	free(text);
	return rc;
}

/* Read "ERRNO TEXT SELECTION"; replies to earlier requests are ignored. */
static void take_reply(struct saver *saver)
{
	char *field[NP_SAVER_MAX_FIELDS];
	size_t n = np_saver_unpack(saver->text, saver->head.len, field);

	if (n == 3 && saver->head.seq == saver->request_seq) {
		saver->reply_seq = saver->request_seq;
		saver->result = (int)strtol(field[0], NULL, 10);
		snprintf(saver->cause, sizeof(saver->cause), "%s", field[1]);
		if (!saver->result && *field[2])
			saver->result =
				np_selection_parse(field[2], &saver->selection);
		if (saver->result && !*field[1])
			snprintf(saver->cause, sizeof(saver->cause),
				 "the selected level cannot be read: %s",
				 strerror(-saver->result));
	}
	free(saver->text);
	saver->text = NULL;
	saver->n_read = 0;
}

/*
 * Return where the next bytes of a reply belong, and how many these are. NULL:
 * the reply is malformed, or out of memory.
 */
static char *room_for_reply(struct saver *saver, size_t *left)
{
	if (!saver->text && saver->n_read < sizeof(saver->head)) {
		*left = sizeof(saver->head) - saver->n_read;
		return (char *)&saver->head + saver->n_read;
	}
	if (!saver->text) {
		if (np_saver_header_is_valid(&saver->head) &&
		    saver->head.kind == NP_SAVER_REPLY)
			saver->text = malloc(saver->head.len);
		saver->n_read = 0;
	}
	*left = saver->text ? saver->head.len - saver->n_read : 0;
	return saver->text ? saver->text + saver->n_read : NULL;
}

/* Read what has arrived. If that is malformed, close the connection. */
static void saver_read(struct saver *saver)
{
	size_t left;
	char *to;

	while (saver->fd >= 0 && (to = room_for_reply(saver, &left))) {
		ssize_t got = recv(saver->fd, to, left, MSG_DONTWAIT);

		if (got < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (got <= 0)
			break;
		saver->n_read += (size_t)got;
		if (saver->text && saver->n_read == saver->head.len)
			take_reply(saver);
	}
	close_saver(saver);
}

/*
 * Wait for the reply to the last request, at most timeout_ms. Returns its
 * result, 0 or -errno with err; -ETIMEDOUT: there is no reply yet; -EPIPE: the
 * saver has ended, and the request may be lost.
 */
static int saver_wait(struct saver *saver, int timeout_ms, struct np_err *err)
{
	double until_sec = np_mono_sec() + 1e-3 * timeout_ms;

	while (saver->reply_seq != saver->request_seq && saver->fd >= 0)
		if (np_fd_wait(saver->fd, POLLIN, until_sec))
			saver_read(saver);
		else
			return np_errf(err, -ETIMEDOUT, "%s does not answer",
				       saver->conf->store);
	if (saver->reply_seq != saver->request_seq)
		return np_errf(err, -EPIPE, "netprof-saver has ended");
	return saver->result ? np_errf(err, saver->result, "%s", saver->cause) :
			       0;
}

/* ---- the record ---- */

/*
 * Note until when the step is known to have run. Its end is dated by its start
 * and CLOCK_MONOTONIC, so that setting the clock does not change the run time.
 */
static void note_end(struct collector *collector)
{
	struct np_record *record = collector->record;
	double end_sec = collector->agents.reports.program_end_sec;

	record->end = isnan(end_sec) ?
			      fmax(np_date_sec(), record->start) :
			      record->start + (end_sec - collector->start_sec);
}

/* Send the record to the saver; the reply is read later. */
static int save(struct collector *collector)
{
	struct np_err err = NP_ERR_INIT;
	int rc;

	note_end(collector);
	if (collector->saver.reply_seq == collector->saver.request_seq)
		collector->unanswered_sec = np_mono_sec();
	rc = saver_save(&collector->saver, collector->record, &err);
	if (rc)
		log_once(collector, "is not saved", err.text);
	collector->next_save_sec = np_mono_sec() + SAVE_EVERY_SEC;
	return rc;
}

/* Log if the store refuses records or is silent. */
static void check_saver(struct collector *collector)
{
	const struct saver *saver = &collector->saver;
	bool answered = saver->reply_seq == saver->request_seq;
	char why[PATH_MAX + 64];

	if (answered && saver->result) {
		log_once(collector, "is not saved", saver->cause);
	} else if (!answered &&
		   np_mono_sec() - collector->unanswered_sec > SILENT_SEC) {
		snprintf(why, sizeof(why), "%s has not answered for %.0f s",
			 collector->conf.store, SILENT_SEC);
		log_once(collector, "is not saved yet", why);
	}
}

/*
 * Save the record, and wait for the store a little less than srun waits for
 * "saved". If the store does not answer in time, the saver writes the record
 * later.
 */
static void save_at_last(struct collector *collector)
{
	struct np_err err = NP_ERR_INIT;
	int rc = save(collector);

	if (!rc)
		rc = saver_wait(&collector->saver, LAST_SAVE_MS, &err);
	if (rc == -EPIPE && !save(collector))
		rc = saver_wait(&collector->saver, LAST_SAVE_MS, &err);
	if (rc && rc != -ETIMEDOUT)
		log_once(collector, "is not saved", err.text);
}

/* ---- srun ---- */

/* Record that the program, or the process that started it, has ended. */
static void on_program_end(struct collector *collector, double end_sec)
{
	if (isnan(collector->agents.reports.program_end_sec))
		collector->agents.reports.program_end_sec = end_sec;
	collector->program_ended = true;
}

/*
 * Record the exit code. In a step that runs the daemons of mpirun, an error of
 * a daemon says nothing about the program: a daemon for which mpirun did not
 * wait fails because it has lost mpirun, long after the program has succeeded.
 * A code of 128 or more is that of a signal, and means that the job was ended.
 */
static void set_exit_code(struct collector *collector, long code)
{
	collector->record->exit_code =
		collector->request.launcher && code < 128 ? 0 : code;
}

/*
 * Lines may be read late, during a query of the neighbours. Therefore "exit"
 * contains the time of the end.
 */
static void on_srun_line(struct collector *collector, char *line)
{
	double now_sec = np_mono_sec(), end_sec;
	char *end;

	if (!strcmp(line, "start")) { /* srun starts the program */
		collector->agents.reports.program_start_sec = now_sec;
		collector->record->alone_sec = now_sec - collector->start_sec;
	} else if (!strncmp(line, "exit ", 5)) {
		set_exit_code(collector, strtol(line + 5, &end, 10));
		end_sec = strtod(end, NULL);
		on_program_end(collector,
			       end_sec > 0 ? fmin(end_sec, now_sec) : now_sec);
	}
}

static void read_srun(struct collector *collector)
{
	char buf[128];
	ssize_t got = read(STDIN_FILENO, buf, sizeof(buf) - 1);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got <= 0) {
		on_program_end(collector, np_mono_sec());
		return;
	}
	buf[got] = '\0';
	for (char *save_ptr, *line = strtok_r(buf, "\n", &save_ptr); line;
	     line = strtok_r(NULL, "\n", &save_ptr))
		on_srun_line(collector, line);
}

/* ---- the batch script ---- */

/*
 * Listen for the end of the batch script. Any user can bind these socket
 * names, and it is not known who did.
 */
static void listen_for_script(struct collector *collector)
{
	uint32_t job_id = collector->request.het_job_id ?
				  collector->request.het_job_id :
				  collector->request.job_id;
	int rc = np_script_listen(&collector->script, job_id);

	if (!rc)
		return;
	np_record_note(collector->record,
		       "the end of the batch script will not be noticed: %s",
		       strerror(-rc));
	np_notice(collector->conf.store,
		  "step %u.%u (%s): the last part of the record is lost if the "
		  "batch script ends first, because all %d sockets "
		  "netprof/%u/* are in use by other steps of the job or by "
		  "another user: %s",
		  collector->request.job_id, collector->request.step_id,
		  collector->request.app, NP_SCRIPT_SLOTS, job_id,
		  strerror(-rc));
}

/* The batch script has ended, and what still runs is killed along with it. */
static void on_script_end(struct collector *collector, int code)
{
	bool program_runs = collector->request.runner &&
			    !kill((pid_t)collector->request.runner, 0);

	if (collector->program_ended)
		return;
	set_exit_code(collector, program_runs ? 128 + SIGKILL : code);
	on_program_end(collector, np_mono_sec());
}

/* ---- the measurement of a step ---- */

/* Wait for events until a time, but at most a second, and handle them. */
static void wait_for_events(struct collector *collector, double until_sec)
{
	struct pollfd p[3 + NP_REGISTRY_FDS];
	double now_sec = np_mono_sec(), left_sec = until_sec - now_sec;
	int script_fd = np_script_fd(&collector->script, now_sec);
	size_t n = 3;
	int code;

	p[0] = (struct pollfd){ .fd = collector->program_ended ? -1 :
								 STDIN_FILENO,
				.events = POLLIN };
	p[1] = (struct pollfd){ .fd = script_fd, .events = POLLIN };
	if (script_fd != collector->script.fd)
		left_sec = fmin(left_sec, TICK_SEC);
	p[2] = (struct pollfd){ .fd = collector->saver.fd, .events = POLLIN };
	n += np_registry_poll(collector->agents.registry, p + n);
	/* No descriptor reports the end of a process, so wake up for that. */
	poll(p, n, left_sec <= 0 ? 0 : (int)ceil(fmin(left_sec, 1.0) * 1000));
	if (p[0].revents)
		read_srun(collector);
	if (p[1].revents && np_script_read(&collector->script, &code))
		on_script_end(collector, code);
	if (p[2].revents)
		saver_read(&collector->saver);
	np_agents_serve(&collector->agents, np_mono_sec());
}

/*
 * Wait until the step is old enough to be measured; returns true if it has
 * ended before. Until then neither collector nor agents do anything: agents
 * that connect wait in the listen backlog.
 */
static bool is_too_short(struct collector *collector)
{
	double begin_sec = collector->start_sec + collector->agents.after_sec;
	double left_sec;

	while (!collector->program_ended && !stop_requested &&
	       (left_sec = begin_sec - np_mono_sec()) > 0) {
		struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };

		if (poll(&p, 1, (int)(fmin(left_sec, 60) * 1000) + 1) > 0)
			read_srun(collector);
	}
	return collector->program_ended || stop_requested;
}

/* Prepare measurement intervals within the run. */
static void begin_schedule(struct collector *collector)
{
	struct np_reports *reports = &collector->agents.reports;
	struct np_record *record = collector->record;

	reports->intervals =
		np_intervals_new(record, &collector->saver.selection.earlier);
	record->intervals_scope =
		strdup(np_step_nodes_scope(&collector->nodes));
	if (!reports->intervals || !record->intervals_scope)
		np_record_note(record,
			       "no measurement intervals: out of memory");
}

/* Ask the saver to select a level, because only the saver reads the store. */
static int request_level(struct collector *collector, struct np_err *err)
{
	double share = collector->nodes.scope == NP_SCOPE_LEAF ?
			       collector->conf.calibrate_share :
			       0;
	int rc, attempts = SAVER_ATTEMPTS;

	note_end(collector);
	collector->record->intervals_nodes = (uint32_t)collector->nodes.level.n;
	do {
		rc = saver_select(&collector->saver, collector->record,
				  np_step_nodes_scope(&collector->nodes),
				  collector->nodes.level_nodes, share,
				  np_date_sec(), err);
		if (!rc)
			rc = saver_wait(&collector->saver, SELECT_MS, err);
	} while (rc == -EPIPE && --attempts);
	return rc;
}

/*
 * Use the level that the sensitivity curve needs most. If it needs none, or
 * the choice fails, srun need not wait and the program runs alone.
 */
static void select_level(struct collector *collector)
{
	const struct np_selection *selection = &collector->saver.selection;
	struct np_err err = NP_ERR_INIT;

	collector->request.level[0] = '\0';
	if (request_level(collector, &err))
		np_record_note(collector->record, "no level was chosen: %s",
			       err.text);
	else
		strcpy(collector->request.level, selection->level);
	if (selection->earlier.n_levels)
		begin_schedule(collector);
	else if (selection->complete)
		np_record_note(
			collector->record,
			"no load level: the sensitivity curve is complete");
	if (!collector->agents.reports.intervals)
		collector->record->intervals_nodes = 0;
	if (!collector->request.level[0] &&
	    !collector->agents.reports.intervals) {
		say_to_srun("ready\n");
		collector->ready_sent = true;
		collector->agents.reports.program_start_sec = np_mono_sec();
	}
}

/* Save the record for the first time. If that fails, nothing is measured. */
static int save_first(struct collector *collector, struct np_err *err)
{
	int rc, attempts = SAVER_ATTEMPTS;

	note_end(collector);
	collector->unanswered_sec = np_mono_sec();
	collector->next_save_sec = collector->unanswered_sec + SAVE_EVERY_SEC;
	do {
		rc = saver_save(&collector->saver, collector->record, err);
		if (!rc)
			rc = saver_wait(&collector->saver, FIRST_SAVE_MS, err);
	} while (rc == -EPIPE && --attempts);
	return rc == -ETIMEDOUT ? 0 : rc; /* the store may only be slow */
}

static int begin(struct collector *collector, struct np_err *err)
{
	int rc;

	slurm_init(NULL);
	rc = np_step_nodes_load(&collector->request, &collector->conf,
				np_date_sec() -
					(np_mono_sec() - collector->start_sec),
				collector->record, &collector->nodes, err);
	if (!rc && !strcmp(collector->request.level, NP_LAUNCH_LEVEL_AUTO))
		select_level(collector);
	if (!rc && collector->request.level[0])
		rc = np_record_note_level(
			collector->record, collector->request.level,
			np_step_nodes_scope(&collector->nodes),
			collector->nodes.level_nodes, err);
	if (!rc)
		rc = save_first(collector, err);
	if (!rc)
		rc = np_agents_begin(&collector->agents, err);
	return rc;
}

/* Query the neighbours, with as much memory for the list of jobs as is left. */
static void query_neighbours(struct collector *collector)
{
	struct np_err err = NP_ERR_INIT;
	double begin_sec = np_mono_sec(), end_sec;
	double program_end_sec = collector->agents.reports.program_end_sec;
	double since_sec = isnan(program_end_sec) ? 0 :
						    begin_sec - program_end_sec;
	double bytes = NEIGHBOURS_MAX_BYTES;

	collector->neighbours_known = false;
	while (bytes > NEIGHBOURS_BYTES &&
	       np_memory_short(&collector->memory, bytes, err.text))
		bytes /= 2;
	if (np_memory_short(&collector->memory, NEIGHBOURS_BYTES, err.text))
		np_record_note(collector->record,
			       "neighbours are not known: %s", err.text);
	else if (np_neighbours_query(collector->nodes.leaves,
				     &collector->nodes.step,
				     np_date_sec() - since_sec,
				     collector->request.het_job_id, bytes,
				     collector->record, &err))
		np_record_note(collector->record,
			       "neighbours are not known: %s", err.text);
	else
		collector->neighbours_known = true;
	end_sec = np_mono_sec();
	collector->next_neighbours_sec =
		end_sec +
		np_neighbours_pause_sec(begin_sec - collector->start_sec,
					end_sec - begin_sec);
}

/* Return whether srun waits for the load level. */
static bool srun_waits(const struct collector *collector)
{
	return !collector->ready_sent && (collector->request.level[0] ||
					  collector->agents.reports.intervals);
}

/* Let srun start the program once the level has run alone. */
static void end_lead_in(struct collector *collector)
{
	if (!srun_waits(collector) ||
	    !np_reports_lead_in_done(&collector->agents.reports, np_mono_sec()))
		return;
	say_to_srun("ready\n");
	collector->ready_sent = true;
}

static void tick(struct collector *collector)
{
	char cause[NP_ERR_LEN + NP_REGISTRY_TEXT], lost[32];
	const char *what;

	if (np_agents_tick(&collector->agents, np_mono_sec(), &what, cause,
			   sizeof(cause)) &&
	    !collector->program_ended) {
		np_record_note(collector->record,
			       "%s ended before the step: %s", what, cause);
		snprintf(lost, sizeof(lost), "lost %s", what);
		log_once(collector, lost, cause);
	}
	end_lead_in(collector);
	if (np_mono_sec() >= collector->next_neighbours_sec)
		query_neighbours(collector);
	if (np_mono_sec() >= collector->next_save_sec)
		save(collector);
	check_saver(collector);
}

static double next_wake_sec(const struct collector *collector)
{
	const struct np_agents *agents = &collector->agents;
	const struct np_intervals *intervals = agents->reports.intervals;
	double next =
		fmin(collector->next_save_sec, collector->next_neighbours_sec);

	if (!agents->probes_dispatched || agents->next_level ||
	    srun_waits(collector))
		return np_mono_sec() + TICK_SEC;
	return intervals ? fmin(next, np_intervals_due_sec(intervals)) : next;
}

static bool memory_is_short(struct collector *collector)
{
	return collector->memory_cause[0] ||
	       np_memory_short(&collector->memory, 0, collector->memory_cause);
}

/* Measure until the program ends, or until the program may need the memory. */
static void measure_step(struct collector *collector)
{
	while (!collector->program_ended && !stop_requested &&
	       !memory_is_short(collector)) {
		wait_for_events(collector, next_wake_sec(collector));
		tick(collector);
	}
	if (!collector->program_ended && collector->memory_cause[0]) {
		np_record_note(collector->record, "not measured further: %s",
			       collector->memory_cause);
		log_once(collector, "is not measured further",
			 collector->memory_cause);
	}
	on_program_end(collector, np_mono_sec());
}

/* End the level. Processes that do not end when asked to get a signal. */
static void end_level(struct collector *collector)
{
	struct np_helper_end end = { .requested_sec = np_mono_sec() };
	int sig = 0;

	while (np_agents_end(&collector->agents, sig),
	       np_agents_left(&collector->agents) && sig >= 0) {
		wait_for_events(collector, np_mono_sec() + TICK_SEC / 10);
		sig = np_helper_end_due(&end, np_mono_sec());
	}
	if (collector->record->level)
		np_aggregate_level_done(
			collector->agents.reports.aggregate,
			collector->agents.reports.program_end_sec);
}

static bool is_complete(const struct collector *collector)
{
	return !collector->memory_cause[0] &&
	       np_agents_are_complete(&collector->agents);
}

/*
 * Save the latencies of quiet moments. The network is idle while the program
 * does not use it, provided that no other job used its leaf switches.
 * netprof-saver drops the record if it adds nothing.
 */
static void save_idle(struct collector *collector)
{
	struct np_record *idle =
		np_counters_idle(collector->agents.reports.counters);
	struct np_err err = NP_ERR_INIT;

	if (idle && collector->neighbours_known &&
	    !np_run_has_neighbours(collector->record) &&
	    !collector->record->suspended &&
	    strcmp(collector->record->app, NP_IDLE_APP) &&
	    saver_save(&collector->saver, idle, &err))
		log_once(collector, "does not save its idle latencies",
			 err.text);
	np_record_free(idle);
}

/*
 * End the measurement. srun waits for "saved", so what is known by now is
 * saved before the level is ended and the neighbours are queried again.
 */
static void finish(struct collector *collector)
{
	double until = np_mono_sec() + LAST_REPORT_SEC;

	do
		wait_for_events(collector,
				fmin(until, np_mono_sec() + TICK_SEC / 10));
	while (np_agents_left(&collector->agents) == NP_LEFT_PROBES &&
	       np_mono_sec() < until);
	collector->record->state = is_complete(collector) ? NP_RUN_COMPLETE :
							    NP_RUN_CUT;
	if (!collector->agents.probes_dispatched && !collector->logged)
		np_record_note(collector->record,
			       "the step ended before the probes began");
	save_at_last(collector);
	say_to_srun("saved\n");
	end_level(collector);
	if (is_complete(collector))
		collector->record->state = NP_RUN_COMPLETE;
	if (!collector->memory_cause[0])
		query_neighbours(collector);
	save_at_last(collector);
	if (!collector->memory_cause[0])
		save_idle(collector);
}

static int read_rendezvous(struct collector *collector, struct np_err *err)
{
	const char *text = getenv(NP_RENDEZVOUS_ENV);

	long component = fmax(collector->request.het_component, 0);

	if (!text || np_rendezvous_find(text, (size_t)component,
					&collector->agents.rendezvous))
		return np_errf(err, -EINVAL,
			       "netprof-collector is started by the SPANK "
			       "plugin, not by hand");
	collector->agents.after_sec = np_rendezvous_after_sec(
		&collector->agents.rendezvous, collector->request.n_nodes);
	fcntl(NP_COLLECTOR_LISTEN_FD, F_SETFD, FD_CLOEXEC);
	return 0;
}

static int prepare(struct collector *collector, int argc, char **argv,
		   struct np_err *err)
{
	if (np_launch_from_argv(argc, argv, &collector->request, err) ||
	    read_rendezvous(collector, err) ||
	    np_conf_for_step(&collector->conf, err))
		return -EINVAL;
	for (size_t i = 0; i < collector->request.n_settings; i++)
		if (np_conf_set(&collector->conf, collector->request.setting[i],
				err))
			return -EINVAL;
	collector->record = np_record_new();
	collector->agents.request = &collector->request;
	collector->agents.nodes = &collector->nodes;
	collector->agents.reports.conf = &collector->conf;
	collector->agents.reports.record = collector->record;
	return collector->record ? np_agents_init(&collector->agents) : -ENOMEM;
}

static void catch_signals(void)
{
	struct sigaction act = { .sa_handler = on_signal };

	sigaction(SIGTERM, &act, NULL);
	sigaction(SIGINT, &act, NULL);
	sigaction(SIGHUP, &act, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGCHLD, SIG_DFL); /* srun may be started with it ignored */
}

/* Log that the step ended before it could be measured. */
static int skip_step(struct collector *collector)
{
	char why[96];

	say_to_srun("saved\n");
	snprintf(why, sizeof(why),
		 "too short: it ended within its first %.1f s",
		 collector->agents.after_sec);
	log_once(collector, "is not measured", why);
	return 0;
}

int main(int argc, char **argv)
{
	static struct collector collector = {
		.saver.fd = -1,
		.script = NP_SCRIPT_INIT,
	};
	struct np_err err = NP_ERR_INIT;
	int rc;

	catch_signals();
	np_memory_yield();
	fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK);
	np_conf_init(&collector.conf);
	collector.saver.conf = &collector.conf;
	collector.start_sec = np_mono_sec();
	if (prepare(&collector, argc, argv, &err)) {
		log_once(&collector, "is not measured", err.text);
		return 1;
	}
	collector.agents.reports.program_start_sec =
		collector.request.level[0] ? NAN : collector.start_sec;
	collector.agents.reports.program_end_sec = NAN;
	collector.next_neighbours_sec =
		collector.start_sec + NEIGHBOURS_FIRST_SEC;
	if (!collector.request.level[0] && is_too_short(&collector))
		return skip_step(&collector);
	listen_for_script(&collector);
	np_memory_open(&collector.memory, "/proc/self");
	rc = memory_is_short(&collector) ?
		     np_errf(&err, -ENOMEM, "%s", collector.memory_cause) :
		     begin(&collector, &err);
	if (rc == -ESRCH && collector.request.het_component >= 0)
		return 0; /* the step does not run in this component */
	if (rc) {
		log_once(&collector, "is not measured", err.text);
		return 1;
	}
	measure_step(&collector);
	finish(&collector);
	return 0;
}
