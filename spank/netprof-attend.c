/*
 * netprof-attend: stays beside one flagged step.
 *
 * Started by the SPANK plugin in srun, as the user, with a socket to that
 * (np_attach.h) and the one at which the processes of ours on the step's
 * nodes join it (np_membership.h).  It does nothing until the step has lived
 * for a while; then it finds out where the step runs, has a few pairs of its
 * nodes measure, aggregates what they report into the run record and saves that
 * as it goes.  An interference level, if one was asked for, it starts before the
 * step.  It ends when srun does, however that ends, or the batch script
 * (np_script.h), and never speaks to the user.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "np_attach.h"
#include "np_beside.h"
#include "np_clock.h"
#include "np_conf.h"
#include "np_evidence.h"
#include "np_level_run.h"
#include "np_measure.h"
#include "np_memory.h"
#include "np_order.h"
#include "np_saver.h"
#include "np_notice.h"
#include "np_script.h"
#include "np_slurm_compat.h"
#include "np_survey.h"

#define SAVE_EVERY_SEC 10.0
#define FIRST_SAVE_MS 1000  /* for the store to say that it takes no records */
#define CHOOSE_MS 3000	    /* for a choice of levels: srun waits for it */
#define LAST_SAVE_MS 200    /* below what srun waits for "saved" */
#define SILENT_SEC 30.0	    /* the store does not answer: one line says so */
#define NEIGHBOURS_FIRST_SEC 3.0
#define NEIGHBOURS_EVERY_SEC 60.0 /* below Slurm's MinJobAge of 300 */
#define NEIGHBOURS_PART 0.25	  /* later, once in so much of the run so far */
/* 10,000 jobs, as many as slurmctld has by default, of 2 to 3 KB each */
#define NEIGHBOURS_BYTES (32.0 * (1 << 20))
#define LAST_WORDS_SEC 0.2	  /* of probes that end with the step's tasks */
#define TICK_SEC 0.1

struct attend {
	struct np_order order;
	struct np_conf conf;
	struct np_saver saver;
	struct np_record *r;
	struct np_survey where;
	struct np_measure m;
	struct np_script script;
	double born_sec, next_save_sec, next_neighbours_sec; /* monotonic */
	double asked_sec; /* when the first request was made that the saver has
			   * not answered */
	struct np_memory memory;
	char short_why[NP_MEMORY_TEXT]; /* "": there is memory enough */
	bool neighbours_known; /* since the last look */
	bool ready_said, srun_gone, told; /* told: one log line is enough */
};

static volatile sig_atomic_t stop_asked;

static void on_signal(int sig)
{
	(void)sig;
	stop_asked = 1;
}

static void tell(struct attend *a, const char *what, const char *cause)
{
	if (a->told)
		return;
	a->told = true;
	np_notice(a->conf.store, "step %u.%u (%s) %s: %s", a->order.job_id,
	       a->order.step_id, a->order.app, what, cause);
}

static void say(const char *line)
{
	if (write(STDOUT_FILENO, line, strlen(line)) < 0)
		return; /* srun is gone: nobody waits for it */
}

/* ---- the record ---- */

/* The date up to which the step has been seen to run. */
static double seen_until(const struct attend *a)
{
	double now = np_date_sec();

	return isnan(a->m.program_end_sec) ? now :
	       now - (np_mono_sec() - a->m.program_end_sec);
}

/* With the saver; what becomes of it is heard later. */
static int save(struct attend *a)
{
	struct np_err err = NP_ERR_INIT;
	int rc;

	a->r->end = seen_until(a);
	if (a->saver.answered == a->saver.seq)
		a->asked_sec = np_mono_sec();
	rc = np_saver_save(&a->saver, a->r, &err);
	if (rc)
		tell(a, "is not saved", err.text);
	a->next_save_sec = np_mono_sec() + SAVE_EVERY_SEC;
	return rc;
}

/* The saver keeps what it has until the store answers. */
static void check_saver(struct attend *a)
{
	char why[PATH_MAX + 64];

	if (a->saver.answered == a->saver.seq && a->saver.rc) {
		tell(a, "is not saved", a->saver.why);
	} else if (a->saver.answered != a->saver.seq &&
		   np_mono_sec() - a->asked_sec > SILENT_SEC) {
		snprintf(why, sizeof(why), "%s has not answered for %.0f s",
			 a->conf.store, SILENT_SEC);
		tell(a, "is not saved yet", why);
	}
}

/* With the store, or for the saver to finish; srun does not wait for more. */
static void save_at_last(struct attend *a)
{
	struct np_err err = NP_ERR_INIT;
	int rc = save(a);

	if (!rc)
		rc = np_saver_wait(&a->saver, LAST_SAVE_MS, &err);
	if (rc == -EPIPE && !save(a))
		rc = np_saver_wait(&a->saver, LAST_SAVE_MS, &err);
	if (rc && rc != -ETIMEDOUT)
		tell(a, "is not saved", err.text);
}

/* ---- srun ---- */

static void program_starts(struct attend *a)
{
	a->m.program_start_sec = np_mono_sec();
	a->r->alone_sec = np_date_sec() - a->r->start;
}

static void program_ends(struct attend *a)
{
	if (isnan(a->m.program_end_sec))
		a->m.program_end_sec = np_mono_sec();
	a->srun_gone = true;
}

/*
 * An MPI's daemon that mpirun did not wait for ends in error, for want of it,
 * when the program has long ended well.  A signal tells of a job's end.
 */
static void keep_exit_code(struct attend *a, long code)
{
	a->r->exit_code = a->order.launcher && code < 128 ? 0 : code;
}

static void hear(struct attend *a, char *line)
{
	if (!strcmp(line, "start")) {
		program_starts(a);
	} else if (!strncmp(line, "exit ", 5)) {
		keep_exit_code(a, strtol(line + 5, NULL, 10));
		program_ends(a);
	}
}

static void read_srun(struct attend *a)
{
	char buf[128];
	ssize_t got = read(STDIN_FILENO, buf, sizeof(buf) - 1);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got <= 0) {
		program_ends(a);
		return;
	}
	buf[got] = '\0';
	for (char *save_ptr, *line = strtok_r(buf, "\n", &save_ptr); line;
	     line = strtok_r(NULL, "\n", &save_ptr))
		hear(a, line);
}

/* ---- the batch script ---- */

/* Anybody can take the names of its sockets; whoever does is not known. */
static void listen_for_script(struct attend *a)
{
	uint32_t job_id = a->order.het_job_id ? a->order.het_job_id :
						a->order.job_id;
	int rc = np_script_listen(&a->script, job_id);

	if (!rc)
		return;
	np_record_note(a->r, "the end of the batch script is not heard: %s",
		       strerror(-rc));
	np_notice(a->conf.store, "step %u.%u (%s): if the batch script ends "
		  "first, the record stays as it is then: all %d sockets "
		  "netprof/%u/* are taken by other steps of the job or by "
		  "another user: %s", a->order.job_id, a->order.step_id,
		  a->order.app, NP_SCRIPT_SLOTS, job_id, strerror(-rc));
}

/* What still runs is killed with it. */
static void script_ends(struct attend *a, int code)
{
	bool runs = a->order.runner && !kill((pid_t)a->order.runner, 0);

	if (a->srun_gone)
		return;
	keep_exit_code(a, runs ? 128 + SIGKILL : code);
	program_ends(a);
}

/* ---- the course of a step ---- */

static void wait_for_news(struct attend *a, double until_sec)
{
	struct pollfd p[3 + NP_MEMBERSHIP_FDS];
	double left = until_sec - np_mono_sec();
	size_t n = 3;
	int code;

	p[0] = (struct pollfd){ .fd = a->srun_gone ? -1 : STDIN_FILENO,
				.events = POLLIN };
	p[1] = (struct pollfd){ .fd = a->script.fd, .events = POLLIN };
	p[2] = (struct pollfd){ .fd = a->saver.fd, .events = POLLIN };
	n += np_membership_poll(a->m.members, p + n);
	/* At most a second, so that what has ended is noticed. */
	poll(p, n, left <= 0 ? 0 : (int)ceil(fmin(left, 1.0) * 1000));
	if (p[0].revents)
		read_srun(a);
	if (p[1].revents && np_script_hear(&a->script, &code))
		script_ends(a, code);
	if (p[2].revents)
		np_saver_hear(&a->saver);
	np_measure_serve(&a->m, np_mono_sec());
}

/*
 * Nothing of ours happens in a step's first seconds, anywhere; members that
 * come meanwhile wait at the socket.
 */
static bool is_too_short(struct attend *a)
{
	double until = a->born_sec + a->m.after_sec, left;

	while (!a->srun_gone && !stop_asked &&
	       (left = until - np_mono_sec()) > 0) {
		struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };

		if (poll(&p, 1, left > 60 ? 60000 : (int)(left * 1000) + 1) > 0)
			read_srun(a);
	}
	return a->srun_gone || stop_asked;
}

/* Blocks inside the run, beside one level after the other. */
static void begin_course(struct attend *a)
{
	a->m.course = np_course_new(a->r, &a->saver.choice.history);
	a->r->blocks_scope = strdup(np_describe_scope(&a->where));
	if (!a->m.course || !a->r->blocks_scope)
		np_record_note(a->r, "no blocks: out of memory");
}

/* The saver looks into the store, and saves the record with the choice. */
static int ask_for_level(struct attend *a, struct np_err *err)
{
	char *nodes = np_hosts_compress(&a->where.level);
	int rc = nodes ? 0 : np_errf(err, -ENOMEM, "out of memory");

	a->r->end = seen_until(a);
	a->r->blocks_nodes = (uint32_t)a->where.level.n;
	if (!rc)
		rc = np_saver_choose(&a->saver, a->r,
				     np_describe_scope(&a->where), nodes,
				     a->where.scope == NP_SCOPE_LEAF ?
					     a->conf.calibrate_share : 0,
				     np_date_sec(), err);
	if (!rc)
		rc = np_saver_wait(&a->saver, CHOOSE_MS, err);
	free(nodes);
	return rc;
}

/*
 * The level that the curve needs most.  If it needs none, or that cannot be
 * told, srun need not wait and the program runs alone.
 */
static void choose_level(struct attend *a)
{
	const struct np_choice *c = &a->saver.choice;
	struct np_err err = NP_ERR_INIT;

	a->order.level[0] = '\0';
	if (ask_for_level(a, &err))
		np_record_note(a->r, "no level was chosen: %s", err.text);
	else
		strcpy(a->order.level, c->level);
	if (c->history.n_levels)
		begin_course(a);
	else if (c->complete)
		np_record_note(a->r, "the curve was complete: no level");
	if (!a->m.course)
		a->r->blocks_nodes = 0;
	if (!a->order.level[0] && !a->m.course) {
		say("ready\n");
		a->ready_said = true;
		a->m.program_start_sec = np_mono_sec();
	}
}

static int describe_level(struct attend *a, struct np_err *err)
{
	char *nodes = np_hosts_compress(&a->where.level);
	int rc = nodes ? np_level_run_note(a->r, a->order.level,
					   np_describe_scope(&a->where), nodes,
					   err) :
			 np_errf(err, -ENOMEM, "out of memory");

	free(nodes);
	return rc;
}

/* No use in measuring what cannot be kept; but a store may be late. */
static int save_first(struct attend *a, struct np_err *err)
{
	int rc;

	a->r->end = seen_until(a);
	a->asked_sec = np_mono_sec();
	a->next_save_sec = a->asked_sec + SAVE_EVERY_SEC;
	rc = np_saver_save(&a->saver, a->r, err);
	if (!rc)
		rc = np_saver_wait(&a->saver, FIRST_SAVE_MS, err);
	return rc == -ETIMEDOUT ? 0 : rc;
}

static int begin(struct attend *a, struct np_err *err)
{
	int rc;

	slurm_init(NULL);
	rc = np_describe_step(a->r, &a->order, &a->conf, np_date_sec() -
			      (np_mono_sec() - a->born_sec), err);
	if (!rc)
		rc = np_survey_make(&a->order, a->conf.probe_nodes, a->r,
				    &a->where, err);
	if (!rc && !strcmp(a->order.level, NP_ORDER_AUTO))
		choose_level(a);
	if (!rc && a->order.level[0])
		rc = describe_level(a, err);
	if (!rc)
		rc = save_first(a, err);
	a->m.expected = np_invite_count(&a->m.invite, (uint32_t)
					a->where.step.n - a->order.launcher);
	if (!rc && a->order.launcher)
		np_measure_join_here(&a->m);
	if (!rc && (a->order.level[0] || a->m.course))
		rc = np_measure_start_level(&a->m, np_mono_sec(), err);
	return rc;
}

/* Others come and go: rarer as the run gets longer, so that it stays few. */
static void look_for_neighbours(struct attend *a)
{
	struct np_err err = NP_ERR_INIT;
	double so_far = np_mono_sec() - a->born_sec;

	a->neighbours_known = false;
	if (np_memory_short(&a->memory, NEIGHBOURS_BYTES, err.text))
		np_record_note(a->r, "neighbours are not known: %s", err.text);
	else if (np_beside_look(a->where.leaves, &a->where.step, seen_until(a),
			   a->order.het_job_id, a->r, &err))
		np_record_note(a->r, "neighbours are not known: %s", err.text);
	else
		a->neighbours_known = true;
	a->next_neighbours_sec = np_mono_sec() + fmax(NEIGHBOURS_EVERY_SEC,
						  NEIGHBOURS_PART * so_far);
}

static bool has_led_in(const struct attend *a)
{
	if (a->m.course)
		return np_course_is_led_in(a->m.course);
	return np_aggregate_level_age(a->m.aggregate, np_mono_sec()) >=
	       a->conf.lead_in_sec;
}

static bool srun_waits(const struct attend *a)
{
	return !a->ready_said && (a->order.level[0] || a->m.course);
}

static void level_is_ready(struct attend *a)
{
	if (!srun_waits(a) || !has_led_in(a))
		return;
	say("ready\n");
	a->ready_said = true;
}

static void tick(struct attend *a)
{
	char cause[NP_ERR_LEN + NP_MEMBERSHIP_TEXT];
	const char *what;

	if (np_measure_tick(&a->m, np_mono_sec(), &what, cause,
			    sizeof(cause)) && !a->srun_gone) {
		np_record_note(a->r, "%s ended before the step: %s", what,
			       cause);
		tell(a, what, cause);
	}
	level_is_ready(a);
	if (np_mono_sec() >= a->next_neighbours_sec)
		look_for_neighbours(a);
	if (np_mono_sec() >= a->next_save_sec)
		save(a);
	check_saver(a);
}

static double next_wake_sec(const struct attend *a)
{
	double next = fmin(a->next_save_sec, a->next_neighbours_sec);

	if (!a->m.picked || srun_waits(a) || a->m.block)
		return np_mono_sec() + TICK_SEC;
	return a->m.course ? fmin(next, np_course_due_sec(a->m.course)) : next;
}

static bool memory_is_short(struct attend *a)
{
	return a->short_why[0] || np_memory_short(&a->memory, 0, a->short_why);
}

/* For want of memory we leave, and the program goes on. */
static void attend_step(struct attend *a)
{
	while (!a->srun_gone && !stop_asked && !memory_is_short(a)) {
		wait_for_news(a, next_wake_sec(a));
		tick(a);
	}
	if (!a->srun_gone && a->short_why[0]) {
		np_record_note(a->r, "not measured further: %s", a->short_why);
		tell(a, "is not measured further", a->short_why);
	}
	program_ends(a);
}

/* Nobody of the level hears a signal unless it does not leave when asked to. */
static void end_level(struct attend *a)
{
	struct np_sidestep_end end = { .asked_sec = np_mono_sec() };
	int sig = 0;

	while (np_measure_end(&a->m), !np_measure_all_gone(&a->m) && sig >= 0) {
		if (sig)
			np_level_steps_signal(&a->m.level_steps, sig);
		wait_for_news(a, np_mono_sec() + TICK_SEC / 10);
		sig = np_sidestep_end_due(&end, np_mono_sec());
	}
	if (a->r->level)
		np_aggregate_level_done(a->m.aggregate,
					a->m.program_end_sec);
}

static bool is_complete(const struct attend *a)
{
	return !a->short_why[0] && np_measure_complete(&a->m);
}

/*
 * Quiet moments of the run tell of the idle network, where nobody else's job
 * was on its leaves and nobody has measured that yet.
 */
static void keep_idle(struct attend *a)
{
	struct np_record *idle = np_counters_idle(a->m.counters);
	struct np_err err = NP_ERR_INIT;

	if (idle && a->neighbours_known && !np_run_has_neighbours(a->r) &&
	    !a->r->suspended && strcmp(a->r->app, NP_IDLE_APP) &&
	    np_saver_save(&a->saver, idle, &err))
		tell(a, "saves no idle network", err.text);
	np_record_free(idle);
}

/* srun waits for "saved": first what is known by now. */
static void finish(struct attend *a)
{
	double until = np_mono_sec() + LAST_WORDS_SEC;

	do
		wait_for_news(a, fmin(until, np_mono_sec() + TICK_SEC / 10));
	while (!np_measure_probes_gone(&a->m) && np_mono_sec() < until);
	a->r->state = is_complete(a) ? NP_RUN_COMPLETE : NP_RUN_CUT;
	if (!a->m.picked && !a->told)
		np_record_note(a->r, "the step ended before the probes began");
	save_at_last(a);
	say("saved\n");
	end_level(a);
	if (is_complete(a))
		a->r->state = NP_RUN_COMPLETE;
	if (!a->short_why[0])
		look_for_neighbours(a);
	save_at_last(a);
	if (!a->short_why[0])
		keep_idle(a);
}

static int take_invite(struct attend *a, struct np_err *err)
{
	const char *text = getenv(NP_INVITE_ENV);

	long component = fmax(a->order.het_component, 0);

	if (!text || np_invite_find(text, (size_t)component, &a->m.invite))
		return np_errf(err, -EINVAL, "netprof-attend is started by the "
			       "SPANK plugin, not by hand");
	a->m.after_sec = np_invite_after_sec(&a->m.invite, a->order.n_nodes);
	fcntl(NP_ATTACH_LISTEN_FD, F_SETFD, FD_CLOEXEC);
	return 0;
}

static int prepare(struct attend *a, int argc, char **argv, struct np_err *err)
{
	if (np_order_from_argv(argc, argv, &a->order, err) ||
	    take_invite(a, err) || np_conf_from_environment(&a->conf, err))
		return -EINVAL;
	for (size_t i = 0; i < a->order.n_settings; i++)
		if (np_conf_set(&a->conf, a->order.setting[i], err))
			return -EINVAL;
	a->r = np_record_new();
	a->m.order = &a->order;
	a->m.conf = &a->conf;
	a->m.where = &a->where;
	a->m.r = a->r;
	return a->r ? np_measure_init(&a->m, NP_ATTACH_LISTEN_FD) : -ENOMEM;
}

static void catch_signals(void)
{
	struct sigaction act = { .sa_handler = on_signal };

	sigaction(SIGTERM, &act, NULL);
	sigaction(SIGINT, &act, NULL);
	sigaction(SIGHUP, &act, NULL);
	signal(SIGPIPE, SIG_IGN);
}

/* Nothing is started, asked or kept for such a step. */
static int leave_alone(struct attend *a)
{
	char why[96];

	say("saved\n");
	snprintf(why, sizeof(why), "too short: it ended within its first %.1f s",
		 a->m.after_sec);
	tell(a, "is not measured", why);
	return 0;
}

int main(int argc, char **argv)
{
	static struct attend a = {
		.saver = NP_SAVER_INIT, .script = NP_SCRIPT_INIT,
	};
	struct np_err err = NP_ERR_INIT;
	int rc;

	catch_signals();
	np_memory_yield();
	fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK);
	np_conf_init(&a.conf);
	a.saver.conf = &a.conf;
	a.born_sec = np_mono_sec();
	if (prepare(&a, argc, argv, &err)) {
		tell(&a, "is not measured", err.text);
		return 1;
	}
	a.m.program_start_sec = a.order.level[0] ? NAN : a.born_sec;
	a.m.program_end_sec = NAN;
	a.next_neighbours_sec = a.born_sec + NEIGHBOURS_FIRST_SEC;
	if (!a.order.level[0] && is_too_short(&a))
		return leave_alone(&a);
	listen_for_script(&a);
	np_memory_open(&a.memory, "/proc/self");
	rc = memory_is_short(&a) ? np_errf(&err, -ENOMEM, "%s", a.short_why) :
	     begin(&a, &err);
	if (rc == -ESRCH && a.order.het_component >= 0)
		return 0; /* the step has no part in this component */
	if (rc) {
		tell(&a, "is not measured", err.text);
		return 1;
	}
	attend_step(&a);
	finish(&a);
	return 0;
}
