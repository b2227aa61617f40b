#include "np_calibrate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Before so much is measured its time says little about the rest. */
#define PACE_SEC 5.0

struct course {
	struct np_calibrate *c;
	double begun_sec;   /* when this call began */
	double planned_sec; /* of what it has measured */
	unsigned measured;
};

/* The levels of the matrix, by what is known now. */
static void choose(struct np_calibrate *c)
{
	const struct np_cal_setup *s = &c->setup;
	struct np_calibrate once = *c;
	double pressure[NP_CAL_MAX_LEVELS];

	once.setup.repeats = 1; /* so that repeats do not change the choice */
	for (size_t i = 0; i < s->n_levels; i++) {
		struct np_mean m = np_cal_matrix(&once, c->scope,
						 np_cal_middle(s), i);

		pressure[i] = m.n ? m.mean : NAN;
	}
	c->n_chosen = np_cal_choose(pressure, s->n_levels, s->keep, c->chosen);
}

/* What this stage rests on. */
static void decide(struct np_calibrate *c, int stage)
{
	if (stage == NP_CAL_SECOND && !c->scope_given)
		c->scope = np_cal_best_scope(c);
	if (stage == NP_CAL_THIRD)
		choose(c);
}

static bool is_done(const struct np_calibrate *c, const struct np_cal_task *t)
{
	char key[NP_CAL_KEY];

	np_cal_key(&c->setup, t, key);
	return np_cal_state_find(c->state, key) != NULL;
}

/* What is to be measured in this stage, as far as is known now. */
static int plan(const struct np_calibrate *c, int stage,
		struct np_cal_task **task, size_t *n)
{
	struct np_cal_setup s = c->setup;

	if (stage == NP_CAL_FIRST)
		s.repeats = np_cal_couple_repeats(c);
	return np_cal_plan(&s, (enum np_cal_stage)stage, c->scope, c->chosen,
			   c->n_chosen, task, n);
}

static int count_stage(const struct np_calibrate *c, int stage,
		       struct np_cal_estimate *e)
{
	const struct np_cal_task *left = NULL;
	struct np_cal_task *task;
	size_t n;
	int rc = plan(c, stage, &task, &n);

	for (size_t i = 0; !rc && i < n; i++) {
		e->n++;
		e->sec += np_cal_cost_sec(&c->setup, &task[i],
					  i ? &task[i - 1] : NULL);
		if (is_done(c, &task[i])) {
			e->n_done++;
			continue;
		}
		e->left_sec += np_cal_cost_sec(&c->setup, &task[i], left);
		left = &task[i];
	}
	if (!rc)
		free(task);
	return rc;
}

int np_calibrate_estimate(const struct np_calibrate *c,
			  struct np_cal_estimate *out)
{
	struct np_cal_estimate e = { 0 };
	struct np_calibrate as_known = *c;
	int rc = 0;

	for (int stage = 0; !rc && stage < NP_CAL_STAGES; stage++) {
		decide(&as_known, stage);
		rc = count_stage(&as_known, stage, &e);
	}
	if (!rc)
		*out = e;
	return rc;
}

static void tell(struct course *k, const struct np_cal_task *next)
{
	struct np_calibrate *c = k->c;
	struct np_cal_estimate e;
	struct np_cal_progress p;
	char key[NP_CAL_KEY];
	double pace = 1;

	if (np_calibrate_estimate(c, &e))
		return;
	if (k->planned_sec > PACE_SEC)
		pace = (np_cal_run_now_sec(c->run) - k->begun_sec) / k->planned_sec;
	if (next)
		np_cal_key(&c->setup, next, key);
	p = (struct np_cal_progress){ e.n_done, e.n, e.left_sec * pace,
				      next ? key : NULL };
	c->progress(c->arg, &p);
}

static int run_stage(struct course *k, int stage, struct np_err *err)
{
	struct np_calibrate *c = k->c;
	const struct np_cal_task *previous = NULL;
	struct np_cal_task *task;
	size_t n;
	int rc;

	decide(c, stage);
	rc = plan(c, stage, &task, &n);
	if (rc)
		return np_errf(err, rc, "out of memory");
	for (size_t i = 0; !rc && i < n; i++) {
		if (is_done(c, &task[i]))
			continue;
		tell(k, &task[i]);
		rc = np_cal_run_task(c->run, &task[i], c->state, err);
		if (!rc)
			rc = c->save(c->arg, c->state, err);
		k->planned_sec += np_cal_cost_sec(&c->setup, &task[i],
						  previous);
		previous = &task[i];
		k->measured++;
	}
	free(task);
	return rc;
}

int np_calibrate_go(struct np_calibrate *c, struct np_err *err)
{
	struct course k = { c, np_cal_run_now_sec(c->run), 0, 0 };
	int rc = 0;

	for (int stage = 0; !rc && stage < NP_CAL_STAGES;) {
		unsigned before = k.measured;

		rc = run_stage(&k, stage, err);
		/* The first one says itself whether it is enough. */
		stage += stage != NP_CAL_FIRST || k.measured == before;
	}
	if (!rc)
		tell(&k, NULL);
	return rc;
}
