#include "oracle.h"

#include <math.h>
#include <stdlib.h>

static int32_t profile_of(const struct world *w, size_t job)
{
	const struct np_job *j = &w->job[job].in;

	if (j->profile >= 0 && (w->app_trusted[j->profile] ||
				w->app_owner[j->profile] == j->owner))
		return j->profile;
	return j->state == NP_JOB_RUNNING ? w->policy.unknown_as :
					    NP_PROFILE_UNKNOWN;
}

static uint64_t leaves_of(const struct world *w, size_t job)
{
	uint64_t bits = 0;

	for (size_t k = 0; k < w->job[job].in.n_nodes; k++) {
		uint32_t leaf = w_leaf_of(w, w->job[job].node[k]);

		if (leaf != NP_NO_LEAF)
			bits |= UINT64_C(1) << leaf;
	}
	return bits;
}

static bool spans(const struct world *w, size_t job)
{
	const struct np_job *j = &w->job[job].in;
	uint32_t largest = 0;

	if (j->state == NP_JOB_RUNNING)
		return __builtin_popcountll(leaves_of(w, job)) > 1;
	for (size_t i = 0; i < w->n_leaves; i++)
		if (w->leaf_first[i + 1] - w->leaf_first[i] > largest)
			largest = w->leaf_first[i + 1] - w->leaf_first[i];
	return j->flags & NP_JOB_SPANS || j->nodes_min > largest;
}

/* log(1 + slowdown) of one with the other. */
static double load(const struct world *w, size_t victim, size_t co)
{
	int32_t v = profile_of(w, victim), x = profile_of(w, co);
	double d;

	if (v < 0 || x < 0)
		return 0;
	d = w->slow[NP_CONTACT_LEAF][v][x];
	if (w->job[victim].in.flags & w->job[co].in.flags & NP_JOB_SHARES_NODES)
		d = fmax(d, w->slow[NP_CONTACT_NODE][v][x]);
	if (spans(w, victim) && spans(w, co))
		d = fmax(d, w->slow[NP_CONTACT_UPLINK][v][x]);
	return d > 0.01 ? log1p(d) : 0;
}

/* May b limit a? */
static bool sees(const struct world *w, size_t a, size_t b)
{
	const struct np_job *j = &w->job[b].in;
	bool known = j->profile >= 0 && profile_of(w, b) == j->profile &&
		     (w->app_trusted[j->profile] ||
		      w->app_owner[j->profile] == j->owner);

	if (profile_of(w, b) < 0)
		return false;
	if (!known) /* the policy's word */
		return true;
	return (w->app_trusted[j->profile] && !(j->flags & NP_JOB_UNPROVED)) ||
	       w->job[a].in.owner == j->owner;
}

static bool runs_on(const struct world *w, size_t job, uint32_t leaf)
{
	return w->job[job].in.state == NP_JOB_RUNNING &&
	       leaves_of(w, job) >> leaf & 1;
}

/* Runs there, and all concerned see it. */
static bool counts(const struct world *w, size_t r, size_t a, long b,
		   uint32_t leaf)
{
	return runs_on(w, r, leaf) && sees(w, a, r) &&
	       (b < 0 || sees(w, (size_t)b, r));
}

/* Load of a job from all that runs on the leaf and counts. */
static double load_on(const struct world *w, size_t victim, size_t a, long b,
		      uint32_t leaf)
{
	double sum = 0;

	for (size_t r = 0; r < w->n_jobs; r++)
		if (r != victim && counts(w, r, a, b, leaf))
			sum += load(w, victim, r);
	return sum;
}

bool o_avoids(const struct world *w, size_t a, long b, uint32_t leaf)
{
	double limit = log1p(w->policy.max_slowdown) + 5e-5;
	size_t k = (size_t)b;

	if (b >= 0 && !sees(w, a, k))
		return false;
	if (b < 0 && load_on(w, a, a, b, leaf) > limit)
		return true;
	if (b >= 0 && load(w, a, k) > 0 &&
	    load_on(w, a, a, b, leaf) + load(w, a, k) > limit)
		return true;
	if (b >= 0 && load(w, k, a) > 0 &&
	    load_on(w, k, a, b, leaf) + load(w, k, a) > limit)
		return true;
	for (size_t r = 0; r < w->n_jobs; r++) {
		double mine = load(w, r, a);
		double its = b >= 0 ? load(w, r, k) : 0;

		if (!counts(w, r, a, b, leaf) || mine <= 0 ||
		    (b >= 0 && its <= 0))
			continue;
		if (load_on(w, r, a, b, leaf) + mine + its > limit)
			return true;
	}
	return false;
}

bool o_conflict(const struct world *w, size_t a, size_t b, uint32_t leaf)
{
	return o_avoids(w, a, (long)b, leaf) || o_avoids(w, b, (long)a, leaf);
}

bool o_ours(const struct world *w, size_t job)
{
	const struct np_job *j = &w->job[job].in;

	return j->state != NP_JOB_RUNNING && j->mode >= NP_MODE_PREFER &&
	       profile_of(w, job) >= 0 &&
	       !(j->flags &
		 (NP_JOB_NODELIST | NP_JOB_RESERVATION | NP_JOB_HETEROGENEOUS |
		  NP_JOB_CONSTRAINT | NP_JOB_CHANGING | NP_JOB_URGENT)) &&
	       j->eligible_sec - w->now_sec <= NP_PLACEMENT_HORIZON_SEC;
}

uint64_t o_reach(const struct world *w, size_t job)
{
	uint64_t bits = 0;

	for (uint32_t i = 0; i < w->leaf_first[w->n_leaves]; i++)
		if (np_bits_test(w->job[job].candidates, i))
			bits |= UINT64_C(1) << w_leaf_of(w, i);
	return bits;
}

uint64_t o_open(const struct world *w, size_t job, const struct np_outcome *v)
{
	uint64_t reach = o_reach(w, job);

	if (v->action == NP_ACT_HOLD)
		return 0;
	return v->action == NP_ACT_RESTRICT ? reach & v->leaves[0] : reach;
}

static bool is_free(const struct world *w, size_t job, uint32_t node)
{
	for (size_t i = 0; i < w->n_jobs; i++)
		for (size_t k = 0; k < w->job[i].in.n_nodes; k++)
			if (w->job[i].node[k] == node &&
			    !(w->job[i].in.flags & w->job[job].in.flags &
			      NP_JOB_SHARES_NODES))
				return false;
	return true;
}

static int downwards(const void *a, const void *b)
{
	return (int)*(const unsigned *)b - (int)*(const unsigned *)a;
}

unsigned o_nodes(const struct world *w, size_t job, uint64_t leaves,
		 bool only_free)
{
	unsigned on[W_MAX_LEAVES + 1] = { 0 }, sum = 0;
	uint32_t most = w->job[job].in.switches;

	for (uint32_t i = 0; i < w->n_nodes; i++) {
		uint32_t leaf = w_leaf_of(w, i);

		if (w->unavailable[i] ||
		    !np_bits_test(w->job[job].candidates, i) ||
		    (only_free && !is_free(w, job, i)))
			continue;
		if (leaf == NP_NO_LEAF)
			on[W_MAX_LEAVES]++;
		else if (leaves >> leaf & 1)
			on[leaf]++;
	}
	qsort(on, W_MAX_LEAVES + 1, sizeof(*on), downwards);
	for (uint32_t i = 0; i <= W_MAX_LEAVES && (!most || i < most); i++)
		sum += on[i];
	return sum;
}
