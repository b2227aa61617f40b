/*
 * netprof-attend: stays beside one flagged step.
 *
 * Started by the SPANK plugin in srun, as the user, with a pipe each way
 * (np_attach.h).  It starts the probes, and the interference level if one was
 * asked for, as steps of their own, folds what they report into the run
 * record, saves that as it goes, and ends them when srun ends, however it
 * ends.  It always ends itself, and it never speaks to the user.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "np_choose.h"
#include "np_conf.h"
#include "np_describe.h"
#include "np_fold.h"
#include "np_fold_level.h"
#include "np_keeper.h"
#include "np_level.h"
#include "np_log.h"
#include "np_order.h"
#include "np_sidecmd.h"
#include "np_sideenv.h"
#include "np_slurm_compat.h"
#include "np_store.h"
#include "np_survey.h"

#define SAVE_EVERY_SEC 10.0
#define NEIGHBOURS_FIRST_SEC 3.0
#define NEIGHBOURS_EVERY_SEC 60.0 /* below Slurm's MinJobAge of 300 */
#define LATE_PATIENCE_SEC 3.0	  /* for sides that are still starting */
#define USR1_PATIENCE_SEC 2.0	  /* then SIGTERM */
#define TERM_PATIENCE_SEC 4.0	  /* then SIGKILL */
#define KILL_PATIENCE_SEC 6.0	  /* then leave them to slurmd */
#define RETRY_SEC 0.1
#define UP_PATIENCE_SEC 5.0	  /* for probes to come up ... */
#define UP_PER_NODE_SEC 0.05	  /* ... longer in a large step */

struct attend {
	struct np_order order;
	struct np_conf conf;
	struct np_level level;
	struct np_choice choice;
	struct np_store *store;
	struct np_record *r;
	struct np_fold *fold;
	struct np_fold_level *level_fold;
	struct np_survey where;
	struct np_keeper impact, press; /* the probes; the level */
	char **side_env;
	double program_start_sec, program_end_sec; /* monotonic; NaN: not yet */
	double next_save_sec, next_neighbours_sec;
	bool ready_said, srun_gone, told; /* told: one log line is enough */
};

static volatile sig_atomic_t stop_asked;

static void on_signal(int sig)
{
	(void)sig;
	stop_asked = 1;
}

static double clock_sec(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double now_sec(void)
{
	return clock_sec(CLOCK_MONOTONIC);
}

static void tell(struct attend *a, const char *what, const char *cause)
{
	if (a->told)
		return;
	a->told = true;
	np_log(a->conf.store, "step %u.%u (%s) %s: %s", a->order.job_id,
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
	double now = clock_sec(CLOCK_REALTIME);

	return isnan(a->program_end_sec) ? now :
	       now - (now_sec() - a->program_end_sec);
}

static int save(struct attend *a)
{
	struct np_err err = NP_ERR_INIT;
	int rc;

	a->r->end = seen_until(a);
	rc = np_store_save(a->store, a->r, &err);
	if (rc)
		tell(a, "is not saved", err.text);
	a->next_save_sec = now_sec() + SAVE_EVERY_SEC;
	return rc;
}

/* ---- the steps beside the user's ---- */

static int start_side(struct attend *a, struct np_keeper *k,
		      struct np_sidecmd *cmd, struct np_err *err)
{
	double patience = UP_PATIENCE_SEC + UP_PER_NODE_SEC * a->r->n_nodes;

	return np_keeper_start(k, cmd, a->side_env, patience, now_sec(), err);
}

static struct np_sidejob side_job(const struct np_order *o)
{
	return (struct np_sidejob){ o->srun, o->job_id, o->het_component,
				    o->het_job_id };
}

static int start_impact(struct attend *a, struct np_err *err)
{
	char *nodes = np_hosts_compress(&a->where.probes);
	struct np_sidejob job = side_job(&a->order);
	struct np_sidecmd cmd;
	int rc;

	rc = nodes ? np_sidecmd_impact(&cmd, &job, &a->conf, nodes,
				       a->where.probes.n) : -ENOMEM;
	free(nodes);
	return rc ? rc : start_side(a, &a->impact, &cmd, err);
}

static int start_level(struct attend *a, struct np_err *err)
{
	struct np_sidejob job = side_job(&a->order);
	struct np_sidecmd cmd;
	int rc;

	rc = np_sidecmd_level(&cmd, &job, &a->conf, a->order.level,
			      a->r->level->nodes, a->where.level.n);
	return rc ? rc : start_side(a, &a->press, &cmd, err);
}

static void impact_line(const char *line, void *arg)
{
	struct attend *a = arg;
	struct np_report rep;

	if (!np_report_parse(line, &rep, NULL))
		np_fold_impact(a->fold, &rep);
}

static void level_line(const char *line, void *arg)
{
	struct attend *a = arg;
	struct np_report rep;

	if (!np_report_parse(line, &rep, NULL))
		np_fold_level_report(a->level_fold, &rep, now_sec(),
				     a->program_start_sec, a->program_end_sec);
}

static void read_sides(struct attend *a)
{
	np_sidestep_read(&a->impact.step, impact_line, a);
	np_sidestep_read(&a->press.step, level_line, a);
}

static bool all_said_bye(const struct attend *a)
{
	uint32_t hellos = np_fold_hellos(a->fold);

	return hellos && np_fold_byes(a->fold) == hellos;
}

/*
 * A side step that ended before the program did: keep what there is.  Where
 * Slurm ends the job, the probes say goodbye some milliseconds before srun.
 */
static void watch_side(struct attend *a, struct np_keeper *k, bool up,
		       const char *what)
{
	char cause[NP_ERR_LEN + 32];

	switch (np_keeper_tick(k, up, now_sec())) {
	case NP_KEEPER_QUIET:
		return;
	case NP_KEEPER_AGAIN:
		np_record_note(a->r, "%s did not come up and were started "
			       "again", what);
		return;
	case NP_KEEPER_LOST:
		break;
	}
	read_sides(a);
	if (a->srun_gone || (k == &a->impact && all_said_bye(a)))
		return;
	np_sidestep_cause(&k->step, cause, sizeof(cause));
	np_record_note(a->r, "%s ended before the step: %s", what, cause);
	tell(a, what, cause);
}

/* ---- srun ---- */

static void program_starts(struct attend *a)
{
	a->program_start_sec = now_sec();
	a->r->alone_sec = clock_sec(CLOCK_REALTIME) - a->r->start;
}

static void program_ends(struct attend *a)
{
	if (isnan(a->program_end_sec))
		a->program_end_sec = now_sec();
	a->srun_gone = true;
}

static void hear(struct attend *a, char *line)
{
	if (!strcmp(line, "start")) {
		program_starts(a);
	} else if (!strncmp(line, "exit ", 5)) {
		a->r->exit_code = strtol(line + 5, NULL, 10);
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

/* ---- the course of a step ---- */

/*
 * The level that the curve needs most.  If it needs none, or that cannot be
 * told, srun need not wait and the program runs alone.
 */
static void choose_level(struct attend *a)
{
	struct np_err err = NP_ERR_INIT;

	a->order.level[0] = '\0';
	if (np_choose(a->store, a->r, np_describe_scope(&a->where),
		      clock_sec(CLOCK_REALTIME), &a->choice, &err))
		np_record_note(a->r, "no level was chosen: %s", err.text);
	else if (a->choice.level[0] &&
		 !np_level_parse(a->choice.level, &a->level, NULL))
		strcpy(a->order.level, a->choice.level);
	if (a->choice.complete)
		np_record_note(a->r, "the curve was complete: no level");
	if (!a->order.level[0]) {
		say("ready\n");
		a->ready_said = true;
	}
}

static int begin(struct attend *a, struct np_err *err)
{
	int rc;

	a->side_env = np_sideenv_make(environ, &a->conf);
	if (!a->side_env)
		return -ENOMEM;
	rc = np_store_open(a->conf.store, &a->store, err);
	if (!rc) {
		np_store_set_max_runs(a->store, a->conf.max_runs);
		rc = np_describe_step(a->r, &a->order, &a->conf,
				      clock_sec(CLOCK_REALTIME), err);
	}
	if (!rc)
		rc = np_survey_make(&a->order, a->r, &a->where, err);
	if (!rc && !strcmp(a->order.level, NP_ORDER_AUTO))
		choose_level(a);
	if (!rc && a->order.level[0])
		rc = np_describe_level(a->r, &a->level, &a->where);
	if (!rc)
		rc = save(a); /* no use in measuring what cannot be kept */
	np_choice_end(&a->choice); /* by now others see the record */
	if (!rc && a->order.level[0])
		rc = start_level(a, err);
	if (!rc)
		rc = start_impact(a, err);
	return rc;
}

static double next_wake_sec(const struct attend *a)
{
	double at = fmin(a->next_save_sec, a->next_neighbours_sec);

	if (a->order.level[0] && !a->ready_said)
		return fmin(at, now_sec() + RETRY_SEC);
	return at;
}

static void wait_for_news(struct attend *a, double until_sec)
{
	struct pollfd p[] = {
		{ .fd = a->srun_gone ? -1 : STDIN_FILENO, .events = POLLIN },
		{ .fd = a->impact.step.fd, .events = POLLIN },
		{ .fd = a->press.step.fd, .events = POLLIN },
	};
	double left = until_sec - now_sec();

	/* At most a second, so that an ended side step is noticed. */
	poll(p, NP_ARRAY_SIZE(p), left <= 0 ? 0 :
	     (int)ceil(fmin(left, 1.0) * 1000));
	if (p[0].revents)
		read_srun(a);
	read_sides(a);
}

static void look_for_neighbours(struct attend *a)
{
	struct np_err err = NP_ERR_INIT;

	if (np_cluster_neighbours(a->where.leaves, &a->where.step,
				  seen_until(a), a->order.het_job_id, a->r,
				  &err))
		np_record_note(a->r, "neighbours are not known: %s", err.text);
	a->next_neighbours_sec = now_sec() + NEIGHBOURS_EVERY_SEC;
}

static void level_is_ready(struct attend *a)
{
	if (a->ready_said || !a->order.level[0])
		return;
	if (np_fold_level_age(a->level_fold, now_sec()) >= a->conf.lead_in_sec) {
		say("ready\n");
		a->ready_said = true;
	}
}

static void attend_step(struct attend *a)
{
	while (!a->srun_gone && !stop_asked) {
		wait_for_news(a, next_wake_sec(a));
		watch_side(a, &a->impact, np_fold_hellos(a->fold) > 0,
			   "the probes");
		watch_side(a, &a->press,
			   np_fold_level_age(a->level_fold, now_sec()) > 0,
			   "the level");
		level_is_ready(a);
		if (now_sec() >= a->next_neighbours_sec)
			look_for_neighbours(a);
		if (now_sec() >= a->next_save_sec)
			save(a);
	}
	program_ends(a);
}

static bool sides_ended(struct attend *a)
{
	bool impact = np_sidestep_reap(&a->impact.step);

	return np_sidestep_reap(&a->press.step) && impact;
}

static void signal_sides(struct attend *a, int sig)
{
	np_sidestep_signal(&a->impact.step, sig);
	np_sidestep_signal(&a->press.step, sig);
}

static bool sides_settled(struct attend *a)
{
	bool impact = np_sidestep_reap(&a->impact.step);
	bool press = np_sidestep_reap(&a->press.step);

	return (impact || np_fold_impact_is_up(a->fold)) &&
	       (press || np_fold_level_is_up(a->level_fold));
}

/*
 * slurmstepd wakes one of those that wait for its step to start (seen in
 * 22.05, state_cond).  If our signal is one and the end of the job another,
 * the node is "completing" for a minute: signal only what has started.
 */
static void let_sides_come_up(struct attend *a)
{
	double until = now_sec() + LATE_PATIENCE_SEC;

	while (!sides_settled(a) && now_sec() < until)
		wait_for_news(a, fmin(until, now_sec() + RETRY_SEC));
}

/* SIGUSR1 lets the probes say their last; the others are for the stubborn. */
static void end_sides(struct attend *a)
{
	static const struct {
		int sig;
		double until_sec;
	} steps[] = {
		{ SIGUSR1, USR1_PATIENCE_SEC },
		{ SIGTERM, TERM_PATIENCE_SEC },
		{ SIGKILL, KILL_PATIENCE_SEC },
	};
	double zero;

	let_sides_come_up(a);
	zero = now_sec();
	for (size_t i = 0; i < NP_ARRAY_SIZE(steps); i++) {
		double until = zero + steps[i].until_sec;

		signal_sides(a, steps[i].sig);
		while (!sides_ended(a) && now_sec() < until)
			wait_for_news(a, fmin(until, now_sec() + RETRY_SEC));
		if (sides_ended(a))
			break;
	}
	read_sides(a);
}

static void finish(struct attend *a)
{
	read_sides(a);
	a->r->state = NP_RUN_CUT;
	save(a);
	say("saved\n");
	end_sides(a);
	if (a->r->level)
		np_fold_level_done(a->level_fold, a->program_end_sec);
	if (!np_fold_hellos(a->fold) && !a->told)
		np_record_note(a->r, "the step ended before the probes began");
	if (all_said_bye(a))
		a->r->state = NP_RUN_COMPLETE;
	look_for_neighbours(a);
	save(a);
}

static int prepare(struct attend *a, int argc, char **argv, struct np_err *err)
{
	if (np_order_from_argv(argc, argv, &a->order, err) ||
	    np_conf_from_environment(&a->conf, err))
		return -EINVAL;
	for (size_t i = 0; i < a->order.n_settings; i++)
		if (np_conf_set(&a->conf, a->order.setting[i], err))
			return -EINVAL;
	if (a->order.level[0] && strcmp(a->order.level, NP_ORDER_AUTO) &&
	    np_level_parse(a->order.level, &a->level, err))
		return -EINVAL;
	a->r = np_record_new();
	a->fold = a->r ? np_fold_new(a->r) : NULL;
	a->level_fold = a->r ? np_fold_level_new(a->r) : NULL;
	return a->fold && a->level_fold ? 0 : -ENOMEM;
}

static void catch_signals(void)
{
	struct sigaction act = { .sa_handler = on_signal };

	sigaction(SIGTERM, &act, NULL);
	sigaction(SIGINT, &act, NULL);
	sigaction(SIGHUP, &act, NULL);
	signal(SIGPIPE, SIG_IGN);
}

int main(int argc, char **argv)
{
	static struct attend a = {
		.impact = NP_KEEPER_INIT, .press = NP_KEEPER_INIT,
		.choice = NP_CHOICE_INIT,
	};
	struct np_err err = NP_ERR_INIT;
	int rc;

	catch_signals();
	fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK);
	np_conf_init(&a.conf);
	if (prepare(&a, argc, argv, &err)) {
		tell(&a, "is not measured", err.text);
		return 1;
	}
	slurm_init(NULL);
	a.program_start_sec = a.order.level[0] ? NAN : now_sec();
	a.program_end_sec = NAN;
	a.next_neighbours_sec = now_sec() + NEIGHBOURS_FIRST_SEC;
	rc = begin(&a, &err);
	if (rc == -ESRCH && a.order.het_component >= 0)
		return 0; /* the step has no part in this component */
	if (rc) {
		tell(&a, "is not measured", err.text);
		signal_sides(&a, SIGTERM);
		return 1;
	}
	attend_step(&a);
	finish(&a);
	return 0;
}
