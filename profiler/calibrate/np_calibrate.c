#include "np_calibrate.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "np_fabric_store.h"

/* What the measurements of a calibration say; declared in np_calibrate.h. */

static double slowdown(const struct np_cal_result *r)
{
	if (!r || !r->alone.sec.n || !r->beside.sec.n ||
	    !(r->alone.sec.mean > 0) || !(r->beside.sec.mean > 0))
		return NAN;
	return r->beside.sec.mean / r->alone.sec.mean - 1;
}

/* NULL: not measured. */
static const struct np_cal_result *result_of(const struct np_calibrate *c,
					     const struct np_cal_task *t)
{
	char key[NP_CAL_KEY];

	np_cal_key(&c->setup, t, key);
	return np_cal_state_find(c->state, key);
}

struct np_mean np_cal_matrix(const struct np_calibrate *c, enum np_scope scope,
			     size_t victim, size_t aggressor)
{
	struct np_cal_task t = { NP_CAL_BESIDE, scope, victim, aggressor, 0 };
	struct np_moments m = { 0 };

	for (; t.repeat < c->setup.repeats; t.repeat++) {
		double d = slowdown(result_of(c, &t));

		if (!isnan(d))
			np_moments_add(&m, d);
	}
	return np_mean_of(&m);
}

/* NaN: not measured. */
static double loss(const struct np_calibrate *c, enum np_scope scope,
		   unsigned repeat)
{
	const struct np_cal_task t = {
		NP_CAL_COUPLE, scope, np_cal_middle(&c->setup),
		np_cal_strongest(&c->setup), repeat,
	};

	return 1 - 1 / (1 + slowdown(result_of(c, &t)));
}

struct np_mean np_cal_loss(const struct np_calibrate *c, enum np_scope scope)
{
	struct np_moments m = { 0 };

	for (unsigned r = 0; r < NP_CAL_MAX_REPEATS; r++) {
		double l = loss(c, scope, r);

		if (!isnan(l))
			np_moments_add(&m, l);
	}
	return np_mean_of(&m);
}

/* By how many standard errors is more felt than NP_CAL_FELT?  Negative: less. */
static double felt_for_certain(struct np_mean loss)
{
	return (loss.mean - NP_CAL_FELT) / (loss.sd / sqrt(loss.n));
}

static unsigned cal_couple_repeats(const struct np_calibrate *c)
{
	unsigned least = c->setup.repeats > NP_CAL_COUPLE_LEAST ?
			 c->setup.repeats : NP_CAL_COUPLE_LEAST;
	struct np_mean leaf = np_cal_loss(c, NP_SCOPE_LEAF);

	if (leaf.n < least)
		return least;
	if (leaf.n < NP_CAL_COUPLE_MOST &&
	    fabs(felt_for_certain(leaf)) < NP_CAL_CERTAIN)
		return leaf.n + 1;
	return leaf.n;
}

struct np_mean np_cal_coupling(const struct np_calibrate *c,
			       enum np_scope reference, enum np_scope scope)
{
	struct np_mean ref = np_cal_loss(c, reference);
	struct np_moments m = { 0 };

	if (!ref.n || ref.mean < NP_CAL_FELT)
		return (struct np_mean){ 0 };
	for (unsigned r = 0; r < NP_CAL_MAX_REPEATS; r++) {
		double k = loss(c, scope, r) / loss(c, reference, r);

		if (isfinite(k))
			np_moments_add(&m, fmin(fmax(k, 0), NP_COUPLING_MAX));
	}
	return np_mean_of(&m);
}

/*
 * The scope at which levels are to be measured: on other nodes of the leaf,
 * where there are some and their interference is felt for certain; else on the
 * same nodes.  What is not certain after all repeats is so little that levels on
 * other nodes would show the machine's other work rather than themselves.
 */
static enum np_scope cal_best_scope(const struct np_calibrate *c)
{
	struct np_mean leaf = np_cal_loss(c, NP_SCOPE_LEAF);

	if (!c->setup.has[NP_SCOPE_LEAF])
		return NP_SCOPE_NODE;
	/* Before it is measured, the more likely one. */
	return leaf.n && !(felt_for_certain(leaf) >= NP_CAL_CERTAIN) ?
	       NP_SCOPE_NODE : NP_SCOPE_LEAF;
}

/* ---- as it is kept ---- */

static int text(const char *s, char **out)
{
	*out = strdup(s ? s : "");
	return *out ? 0 : -ENOMEM;
}

/* Zeroed; there is always one more. */
static void *list(size_t n, size_t size)
{
	return calloc(n + 1, size);
}

static int latency(const struct np_cal_sample *s, struct np_latency *out)
{
	double *count = s->bins ? list(NP_HIST_BINS, sizeof(*count)) : NULL;

	if (s->bins && !count)
		return -ENOMEM;
	for (size_t i = 0; count && i < NP_HIST_BINS; i++)
		count[i] = (double)s->bins[i];
	*out = (struct np_latency){ s->sec, count };
	return 0;
}

static int facts(const struct np_calibration_facts *f,
		 struct np_calibration *out)
{
	const struct np_cal_hosts *level = f->c->scope == NP_SCOPE_LEAF ?
					   &f->sites->aggressor :
					   &f->sites->victim;

	out->date = (double)(uint64_t)f->date;
	out->message_bytes = f->message_bytes;
	out->period_sec = f->period_sec;
	out->scope = f->c->scope;
	out->seconds = f->c->setup.seconds;
	out->repeats = f->c->setup.repeats;
	return text(f->cluster, &out->cluster) ||
	       text(NP_VERSION, &out->netprof_version) ||
	       text(f->ucx_version, &out->ucx_version) ||
	       text(f->transport, &out->transport) ||
	       text(f->sites->leaf, &out->leaf_name) ||
	       text(f->sites->victim.list, &out->victim_nodes) ||
	       text(level->list, &out->level_nodes) ? -ENOMEM : 0;
}

static void couplings(const struct np_calibrate *c, struct np_calibration *out)
{
	struct np_mean *k = out->measured.set->fabric.coupling;

	for (int i = 0; i < NP_N_SCOPES; i++) {
		k[i] = np_cal_coupling(c, c->scope, (enum np_scope)i);
		out->loss[i] = np_cal_loss(c, (enum np_scope)i);
	}
	/* by definition */
	k[c->scope] = (struct np_mean){ k[c->scope].n ? k[c->scope].n : 1, 1,
					0 };
}

static const struct np_cal_result *probed(const struct np_calibrate *c,
					  size_t level)
{
	const struct np_cal_task t = { NP_CAL_PROBE, c->scope, NP_CAL_NONE,
				       level, 0 };

	return result_of(c, &t);
}

static int chosen(const struct np_calibrate *c, struct np_calibration *out)
{
	struct np_measured_set *s = out->measured.set;
	size_t n = c->n_chosen;
	struct np_mean *beside = list(n * n, sizeof(*beside));

	s->fabric.beside = beside;
	s->level = list(n, sizeof(*s->level));
	out->level = list(n, sizeof(*out->level));
	if (!beside || !s->level || !out->level)
		return -ENOMEM;
	s->fabric.n_levels = out->n_levels = n;
	for (size_t v = 0; v < n; v++) {
		const struct np_cal_result *r = probed(c, c->chosen[v]);

		out->level[v] = c->setup.level[c->chosen[v]];
		s->level[v].name = out->level[v].name;
		for (size_t p = 0; p < n; p++)
			beside[v * n + p] = np_cal_matrix(c, c->scope,
				c->chosen[v], c->chosen[p]);
		if (r && latency(&r->beside, &s->level[v].latency))
			return -ENOMEM;
	}
	return 0;
}

/* Means of a level's rounds alone, before each measurement of it pressed. */
static struct np_mean alone_round_sec(const struct np_calibrate *c,
				      size_t level)
{
	struct np_moments m = { 0 };

	for (unsigned r = 0; r < c->setup.repeats; r++)
		for (size_t k = 0; k < c->n_chosen; k++) {
			const struct np_cal_task t = { NP_CAL_BESIDE, c->scope,
				level, c->chosen[k], r };
			const struct np_cal_result *res = result_of(c, &t);

			if (res && res->alone.sec.n)
				np_moments_add(&m, res->alone.sec.mean);
		}
	return np_mean_of(&m);
}

static int alone_rounds(const struct np_calibrate *c,
			struct np_calibration *out)
{
	out->alone_round_sec = list(c->n_chosen, sizeof(struct np_mean));
	for (size_t i = 0; out->alone_round_sec && i < c->n_chosen; i++)
		out->alone_round_sec[i] = alone_round_sec(c, c->chosen[i]);
	return out->alone_round_sec ? 0 : -ENOMEM;
}

/* What the same probes saw between the levels: like is compared with like. */
static int idle(const struct np_calibrate *c, struct np_calibration *out)
{
	struct np_cal_sample all = { .bins = NULL };
	int rc = 0;

	for (size_t i = 0; !rc && i < c->setup.n_levels; i++) {
		const struct np_cal_result *r = probed(c, i);

		if (r)
			rc = np_cal_sample_merge(&all, &r->alone);
	}
	if (!rc)
		rc = latency(&all, &out->measured.set->fabric.idle);
	np_cal_sample_free(&all);
	return rc;
}

static int leaves(const struct np_calibrate *c, struct np_calibration *out)
{
	int rc = 0;

	out->leaf = list(c->state->n, sizeof(*out->leaf));
	if (!out->leaf)
		return -ENOMEM;
	for (size_t i = 0; !rc && i < c->state->n; i++) {
		const struct np_cal_result *r = &c->state->result[i];
		struct np_calibration_leaf *l = &out->leaf[out->n_leaves];

		if (strncmp(r->key, "idle ", 5))
			continue;
		out->n_leaves++;
		rc = text(strcmp(r->key, "idle -") ? r->key + 5 : "",
			  (char **)&l->name);
		if (!rc)
			rc = latency(&r->alone, &l->idle);
	}
	return rc;
}

static int others(const struct np_calibrate *c, struct np_calibration *out)
{
	int rc = 0;

	out->other = list(c->setup.n_levels, sizeof(*out->other));
	if (!out->other)
		return -ENOMEM;
	for (size_t i = 0, k = 0; !rc && i < c->setup.n_levels; i++) {
		const struct np_cal_result *r = probed(c, i);
		struct np_calibration_other *o = &out->other[out->n_others];

		if (k < c->n_chosen && c->chosen[k] == i) {
			k++; /* they ascend */
			continue;
		}
		out->n_others++;
		o->slows_by = np_cal_matrix(c, c->scope,
					    np_cal_middle(&c->setup), i);
		rc = text(c->setup.level[i].name, (char **)&o->name);
		if (!rc && r)
			rc = latency(&r->beside, &o->probes);
	}
	return rc;
}

int np_calibrate_result(const struct np_calibration_facts *f, char **out,
			struct np_err *err)
{
	struct np_calibration c;
	int rc;

	if (f->c->n_chosen < 2)
		return np_errf(err, -ENODATA, "calibration: %zu levels were "
			       "measured, expected two or more",
			       f->c->n_chosen);
	rc = np_calibration_init(&c, "");
	if (rc)
		return np_errf(err, rc, "out of memory");
	couplings(f->c, &c);
	if (facts(f, &c) || chosen(f->c, &c) || alone_rounds(f->c, &c) ||
	    idle(f->c, &c) ||
	    leaves(f->c, &c) || others(f->c, &c))
		rc = np_errf(err, -ENOMEM, "out of memory");
	if (!rc)
		rc = np_calibration_write(&c, out, err);
	np_calibration_free(&c);
	return rc;
}

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
		c->scope = cal_best_scope(c);
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
		s.repeats = cal_couple_repeats(c);
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
