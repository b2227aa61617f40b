/*
 * Placement within a simulation: snapshots of it for np_placement_decide(), and
 * what the decisions do to pending jobs.
 *
 * Nothing is decided while no pending job can slow or be slowed, as nothing
 * would be written then.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "np_simulate_impl.h"

struct np_sim_placing {
	const struct np_sim_policy *p;
	struct np_placement *placement; /* the last decision, or NULL */
	uint32_t handle[NP_SIM_MAX_PARTITIONS]; /* of its snapshot's sets */
	int64_t last_sec;
	bool changed;	   /* since the last decision */
	bool binds;	   /* it closes leaves to a job, or holds one */
	size_t concerned; /* pending jobs that slow or are slowed */
};

int np_sim_placing_new(struct np_sim *s)
{
	struct np_sim_placing *g = calloc(1, sizeof(*g));

	s->hold = calloc(s->ask->n + 1, sizeof(*s->hold));
	s->placing = g;
	if (!g || !s->hold)
		return -ENOMEM;
	g->p = s->ask->policy;
	return 0;
}

void np_sim_placing_free(struct np_sim *s)
{
	for (size_t i = 0; s->hold && i < s->ask->n; i++)
		free(s->hold[i]);
	free(s->hold);
	if (s->placing)
		np_placement_free(s->placing->placement);
	free(s->placing);
}

void np_sim_placing_changed(struct np_sim *s)
{
	if (s->placing)
		s->placing->changed = true;
}

void np_sim_placing_pends(struct np_sim *s, uint32_t job, bool pends)
{
	if (!s->placing)
		return;
	if (!np_sim_inert(s, job))
		s->placing->concerned += pends ? 1 : (size_t)-1;
	if (!pends) {
		free(s->hold[job]);
		s->hold[job] = NULL;
	}
}

/* A decision that binds a job is renewed, and its clocks are read. */
static int64_t renew_sec(const struct np_sim_policy *p)
{
	int64_t sec = (int64_t)(p->policy.defer_step_sec / 2);

	if (p->mode == NP_MODE_PREFER && sec > NP_PLACEMENT_PATIENCE_SEC / 2)
		sec = NP_PLACEMENT_PATIENCE_SEC / 2;
	if (sec > p->policy.max_defer_sec / 10)
		sec = (int64_t)(p->policy.max_defer_sec / 10);
	return sec > p->interval_sec ? sec : p->interval_sec;
}

int64_t np_sim_placing_due(const struct np_sim *s)
{
	const struct np_sim_placing *g = s->placing;

	if (!g || !g->concerned)
		return INT64_MAX;
	if (!g->placement)
		return s->now;
	if (g->changed)
		return g->last_sec + g->p->interval_sec;
	return g->binds ? g->last_sec + renew_sec(g->p) : INT64_MAX;
}

static struct np_job describe(const struct np_sim *s, uint32_t job)
{
	const struct np_sim_job *from = &s->job[job];
	const struct np_sim_hold *h = s->hold[job];
	struct np_job j = {
		.id = job + 1, .owner = from->user, .state = NP_JOB_READY,
		.mode = s->placing->p->mode, .partition = from->partition,
		.flags = from->cpus ? NP_JOB_SHARES_NODES : 0,
		.profile = from->profile, .tasks = 1,
		.nodes_min = from->nodes, .priority = from->priority,
		.submit_sec = from->submit_sec,
		.candidates = s->placing->handle[from->partition],
	};

	if (h) {
		j.prior = h->prior;
		j.prior_leaves = h->leaves;
		j.prior_until_sec = h->until_sec;
		j.held_sec = h->held_sec;
	}
	return j;
}

static enum np_node_state state_of(const struct np_sim *s, size_t place)
{
	if (np_bits_test(s->idle, place))
		return NP_NODE_IDLE;
	return s->cpus && s->cpus[place] ? NP_NODE_MIXED : NP_NODE_FULL;
}

static int add_running(const struct np_sim *s, struct np_snapshot *snapshot,
		       struct np_err *err)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < s->n_expected; i++) {
		const struct np_running *r = s->running[s->expected[i]];
		struct np_job j = describe(s, s->expected[i]);

		for (uint32_t k = 0; k < r->n_places; k++)
			s->chosen[k] = s->leaves->node[r->place[k]];
		j.state = NP_JOB_RUNNING;
		j.start_sec = s->fate[s->expected[i]].start_sec;
		j.node = s->chosen;
		j.n_nodes = r->n_places;
		rc = np_snapshot_job(snapshot, &j, err);
	}
	return rc;
}

static int fill(struct np_sim *s, struct np_snapshot *snapshot,
		struct np_err *err)
{
	const struct np_sim_cluster *c = s->ask->cluster;
	int rc = 0;

	for (size_t i = 0; !rc && i < s->leaves->n_nodes; i++)
		rc = np_snapshot_node(snapshot, s->leaves->node[i],
				      state_of(s, i), err);
	for (size_t i = 0; !rc && i < c->n_partitions; i++)
		rc = np_snapshot_nodes(snapshot, c->partition[i],
				       &s->placing->handle[i], err);
	if (!rc)
		rc = add_running(s, snapshot, err);
	for (size_t i = 0; !rc && i < s->n_queue; i++) {
		struct np_job j = describe(s, s->queue[i]);

		rc = np_snapshot_job(snapshot, &j, err);
	}
	np_snapshot_seal(snapshot);
	return rc;
}

/* Its nodes on those leaves, and those without a leaf. */
static void open_leaves(const struct np_sim *s, struct np_sim_hold *h,
			const uint64_t *leaves)
{
	const struct np_leaves *l = s->leaves;

	memcpy(h->leaves, leaves, l->words * sizeof(*leaves));
	memset(h->places, 0, s->words * sizeof(*h->places));
	NP_BITS_EACH(i, leaves, l->words)
		for (uint32_t p = l->first[i]; p < l->first[i + 1]; p++)
			np_bits_set(h->places, p);
	for (size_t p = l->first[l->n]; p < l->n_nodes; p++)
		np_bits_set(h->places, p);
}

static struct np_sim_hold *hold_of(struct np_sim *s, uint32_t job)
{
	size_t words = s->leaves->words + s->words;
	struct np_sim_hold *h = s->hold[job];

	if (h)
		return h;
	h = calloc(1, sizeof(*h) + words * sizeof(uint64_t));
	if (!h)
		return NULL;
	h->leaves = (uint64_t *)(h + 1);
	h->places = h->leaves + s->leaves->words;
	s->hold[job] = h;
	return h;
}

/* What advice says is noted, and nothing else. */
static int apply(struct np_sim *s, uint32_t job, const struct np_outcome *v)
{
	static const enum np_prior prior[] = {
		[NP_ACT_NONE] = NP_PRIOR_NONE,
		[NP_ACT_ANYWHERE] = NP_PRIOR_ANYWHERE,
		[NP_ACT_CONFINE] = NP_PRIOR_LEAVES,
		[NP_ACT_DEFER] = NP_PRIOR_DEFERRED,
	};
	struct np_sim_fate *f = &s->fate[job];
	struct np_sim_hold *h;

	f->confined |= v->action == NP_ACT_CONFINE;
	f->deferred |= v->action == NP_ACT_DEFER;
	if (s->placing->p->mode == NP_MODE_ADVISE)
		return 0;
	if (v->action < NP_ACT_CONFINE && v->held_sec <= 0 && !s->hold[job])
		return 0;
	h = hold_of(s, job);
	if (!h)
		return -ENOMEM;
	f->let_go |= v->cause.why == NP_WHY_HELD_LONG_ENOUGH;
	f->held_sec = (uint32_t)(v->held_sec + .5);
	h->prior = prior[v->action];
	h->held_sec = v->held_sec;
	h->until_sec = v->until_sec;
	if (v->action == NP_ACT_CONFINE)
		open_leaves(s, h, v->leaves);
	s->placing->binds |= v->action >= NP_ACT_CONFINE;
	s->backfill_changed |= v->changed;
	return 0;
}

static int decide(struct np_sim *s, struct np_snapshot *snapshot,
		  struct np_err *err)
{
	struct np_sim_placing *g = s->placing;
	struct np_placement *placement;
	int rc = fill(s, snapshot, err);

	if (!rc)
		rc = np_placement_decide(snapshot, s->ask->press,
					 &g->p->policy, &placement, err);
	if (rc)
		return rc;
	np_placement_free(g->placement);
	g->placement = placement;
	g->last_sec = s->now;
	g->changed = false;
	g->binds = false;
	s->counts->decisions++;
	for (size_t i = 0; !rc && i < s->n_queue; i++)
		rc = apply(s, s->queue[i],
			   np_placement_at(placement, s->n_expected + i));
	return rc;
}

int np_sim_placing_decide(struct np_sim *s, struct np_err *err)
{
	struct np_snapshot *snapshot;
	int rc;

	if (np_sim_placing_due(s) > s->now)
		return 0;
	rc = np_snapshot_new((struct np_leaves *)s->leaves, s->now,
			     s->placing->last_sec, &snapshot, err);
	if (rc)
		return rc;
	rc = decide(s, snapshot, err);
	np_snapshot_unref(snapshot);
	return rc;
}

int np_sim_placing_submit(struct np_sim *s, uint32_t job, struct np_err *err)
{
	struct np_sim_placing *g = s->placing;
	struct np_outcome v;
	struct np_job j;
	int rc;

	/* If a decision is due now, it sees the job. */
	if (!g || np_sim_inert(s, job) || np_sim_placing_due(s) <= s->now)
		return 0;
	j = describe(s, job);
	rc = np_placement_one(g->placement, &j, NULL, s->now, &v, err);
	if (!rc)
		rc = apply(s, job, &v);
	s->counts->submissions++;
	return rc;
}
