#include "np_calibrate_run.h"
#include "np_clock.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <time.h>

#define TICK_SEC 0.25

static double now_sec(void *ctx)
{
	(void)ctx;
	return np_mono_sec();
}

static void command(const struct np_cal_srun *s,
		    const struct np_cal_step *step, struct np_args *args)
{
	if (step->level)
		np_sidecmd_level(args, &s->job, s->conf, step->level->name,
				 step->nodes, step->n_nodes);
	else
		np_sidecmd_impact(args, &s->job, s->conf, step->nodes,
				  step->n_nodes);
	np_args_add(args, "--report-every=%gs", NP_CAL_WINDOW_SEC);
	if (step->across)
		np_args_add(args, "--across");
}

static int start(void *ctx, int slot, const struct np_cal_step *step,
		 struct np_err *err)
{
	struct np_cal_srun *s = ctx;
	uint32_t processes = (uint32_t)step->n_nodes *
			     (step->level ? 1 : s->conf->per_node);
	struct np_args args;
	int rc;

	command(s, step, &args);
	rc = np_sidestep_start(&s->step[slot], &args, s->env, processes, err);
	np_args_free(&args);
	s->running[slot] = !rc;
	return rc;
}

/* Reports of one slot on their way to the caller. */
struct carrier {
	int slot;
	np_cal_report_f *f;
	void *arg;
};

static void on_report(const struct np_report *r, void *arg)
{
	const struct carrier *c = arg;

	c->f(c->slot, r, c->arg);
}

static void read_slots(struct np_cal_srun *s, np_cal_report_f *f, void *arg)
{
	for (int i = 0; i < NP_CAL_SLOTS; i++) {
		struct carrier c = { i, f, arg };

		if (s->running[i])
			np_sidestep_read(&s->step[i], on_report, &c);
	}
}

static void poll_slots(const struct np_cal_srun *s, double sec)
{
	struct pollfd p[NP_CAL_SLOTS];

	for (int i = 0; i < NP_CAL_SLOTS; i++)
		p[i] = (struct pollfd){ s->running[i] ? s->step[i].fd : -1,
					POLLIN, 0 };
	poll(p, NP_CAL_SLOTS, (int)ceil(fmax(sec, 0) * 1000));
}

static int lost(const struct np_cal_srun *s, int slot, struct np_err *err)
{
	char cause[NP_ERR_LEN + 32];

	np_sidestep_cause(&s->step[slot], cause, sizeof(cause));
	return np_errf(err, -EPIPE, "a step of ours ended by itself: %s",
		       cause);
}

/*
 * Slurm 22.05 takes a minute for a job that ends while a step of it starts:
 * who is asked to stop lets that come up first.
 */
static bool none_is_starting(const struct np_cal_srun *s,
			     const bool up[NP_CAL_SLOTS])
{
	for (int i = 0; i < NP_CAL_SLOTS; i++)
		if (s->running[i] && !up[i])
			return false;
	return true;
}

static int wait_slots(void *ctx, double until_sec,
		      const bool up[NP_CAL_SLOTS], np_cal_report_f *f,
		      void *arg, struct np_err *err)
{
	struct np_cal_srun *s = ctx;

	poll_slots(s, fmin(until_sec - now_sec(ctx), TICK_SEC));
	read_slots(s, f, arg);
	if (*s->stop && none_is_starting(s, up))
		return np_errf(err, -EINTR, "stopped");
	for (int i = 0; i < NP_CAL_SLOTS; i++)
		if (s->running[i] && np_sidestep_reap(&s->step[i]))
			return lost(s, i, err);
	return 0;
}

static void stop(void *ctx, int slot, np_cal_report_f *f, void *arg)
{
	struct np_cal_srun *s = ctx;
	struct np_sidestep *step = &s->step[slot];
	struct np_sidestep_end end = { .asked_sec = now_sec(ctx) };
	int sig = SIGUSR1;

	while (!np_sidestep_reap(step) && sig >= 0) {
		if (sig)
			np_sidestep_signal(step, sig);
		poll_slots(s, 0.01);
		read_slots(s, f, arg);
		sig = np_sidestep_end_due(&end, now_sec(ctx));
	}
	read_slots(s, f, arg);
	np_sidestep_close(step);
	s->running[slot] = false;
}

const struct np_cal_ops np_cal_srun_ops = {
	.now_sec = now_sec, .start = start, .stop = stop, .wait = wait_slots,
};
