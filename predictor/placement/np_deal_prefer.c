/*
 * Mode prefer: keep a job apart only where that cannot delay it.
 *
 * Jobs are looked at in Slurm's order.  A job is confined to leaves on which
 * so many nodes are free that it can start now even if every job before it
 * took all it wants right there.  Where that is not sure it may go anywhere,
 * also beside a job it conflicts with.
 */
#include <errno.h>
#include <string.h>

#include "np_deal_impl.h"

static uint64_t nodes_of(const struct np_job *j)
{
	return (uint64_t)j->nodes_min * j->tasks;
}

/* Free nodes for a job on a leaf that jobs before it cannot have taken. */
static uint32_t sure(const struct np_deal *p, const struct np_job *j,
		     const struct np_counts *c, uint32_t leaf)
{
	uint32_t n = j->flags & NP_JOB_SHARES_NODES ? c->free_shared[leaf] :
		     c->free_alone[leaf];

	return n > p->spoken[leaf] ? n - p->spoken[leaf] : 0;
}

/* What may be taken anywhere among a job's leaves by those before it. */
static uint64_t wanted_before(const struct np_deal *p,
			      const struct np_counts *c)
{
	uint64_t n = 0;

	for (size_t i = 0; i < p->n_partitions; i++)
		if (np_bits_meet(p->wants_reach + i * p->lw, c->reach, p->lw))
			n += p->wants[i];
	return n;
}

static bool kept_apart_on(const struct np_deal *p, const struct np_job *j,
			  uint32_t kind, uint32_t leaf)
{
	const struct np_kind *k = &p->kind[kind];

	if (np_bits_test(k->self_apart, leaf) &&
	    (k->holders[leaf] || j->tasks > 1))
		return false;
	return !np_deal_blocked(p, kind, leaf);
}

/* The tightest leaf that is enough, or the largest. */
static uint32_t pick(const struct np_deal *p, const struct np_job *j,
		     uint32_t kind, const struct np_counts *c,
		     const uint64_t *set, uint64_t missing)
{
	uint32_t best = NP_NONE, most = 0;

	NP_BITS_EACH(at, c->reach, p->lw) {
		uint32_t leaf = (uint32_t)at, n = sure(p, j, c, leaf);

		if (!n || np_bits_test(set, leaf) ||
		    (best != NP_NONE && most >= missing &&
		     (n < missing || n >= most)) ||
		    (best != NP_NONE && most < missing && n <= most) ||
		    !kept_apart_on(p, j, kind, leaf))
			continue;
		best = leaf;
		most = n;
	}
	return best;
}

int np_deal_prefer_set(const struct np_deal *p, const struct np_job *j,
		       uint32_t kind, const struct np_counts *c, uint64_t *set)
{
	uint64_t need = nodes_of(j) + wanted_before(p, c), have = 0;
	uint64_t all = 0;
	uint32_t leaves = 0;

	if (!(p->policy.modes & 1u << NP_MODE_PREFER))
		return 0; /* what others want was not counted */
	memset(set, 0, p->lw * sizeof(*set));
	NP_BITS_EACH(leaf, c->reach, p->lw)
		all += sure(p, j, c, (uint32_t)leaf);
	if (all < need)
		return 0;
	while (have < need) {
		uint32_t leaf = pick(p, j, kind, c, set, need - have);

		if (leaf == NP_NONE || (j->switches && leaves == j->switches))
			return 0;
		np_bits_set(set, leaf);
		have += sure(p, j, c, leaf);
		leaves++;
	}
	return 1;
}

/* A confined job may take all it wants on any of its leaves. */
static void speak(struct np_deal *p, const struct np_job *j,
		  const uint64_t *set)
{
	NP_BITS_EACH(leaf, set, p->lw) {
		uint64_t n = p->spoken[leaf] + nodes_of(j);

		p->spoken[leaf] = n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
	}
}

static int try_job(struct np_deal *p, uint32_t job, uint64_t *scratch)
{
	const struct np_job *j = &np_snapshot_jobs(p->s)[job].in;
	const struct np_counts *c = p->counts[j->candidates];
	uint32_t kind = p->job_kind[job];
	uint64_t *set;

	if (!np_deal_prefer_set(p, j, kind, c, scratch))
		return 0;
	set = np_deal_alloc(p, p->lw, sizeof(*set));
	if (!set)
		return -ENOMEM;
	memcpy(set, scratch, p->lw * sizeof(*set));
	NP_BITS_EACH(leaf, set, p->lw)
		np_deal_kind_hold(p, kind, (uint32_t)leaf);
	speak(p, j, set);
	p->prefer_set[job] = set;
	return 0;
}

/* An enforced job in a conflict, whose seats have leaves, or none yet. */
static bool enforced_set(struct np_deal *p, uint32_t job)
{
	const struct np_job *j = &np_snapshot_jobs(p->s)[job].in;
	const struct np_seat *s = p->seat + p->seat_of[job];

	if (p->seat_of[job] == NP_NONE || s->unit == NP_NONE)
		return false;
	for (; s < p->seat + p->n_seats && s->job == job; s++) {
		const struct np_cohort *q = np_deal_cohort(p, s->cohort);
		bool last = s + 1 == p->seat + p->n_seats ||
			    s[1].job != job || s[1].unit != s->unit;

		/* Deferred ones take nothing. */
		if (last && np_deal_usable_in(p, q) >= s->need)
			speak(p, j, p->unit[q->unit].set);
	}
	return true;
}

static int account(struct np_deal *p, uint32_t job, uint64_t *scratch)
{
	const struct np_job *j = &np_snapshot_jobs(p->s)[job].in;
	size_t at = np_deal_find(p->partition, p->n_partitions,
				 j->partition);
	int rc;

	if (enforced_set(p, job))
		return 0;
	if (j->mode == NP_MODE_PREFER && p->job_kind[job] != NP_NONE &&
	    np_deal_kind_meets(p, p->job_kind[job])) {
		rc = try_job(p, job, scratch);
		if (rc || p->prefer_set[job])
			return rc;
	}
	p->wants[at] += nodes_of(j);
	return 0;
}

void np_deal_prefer_admit(struct np_deal *p, const struct np_job *j,
			  bool confined, const uint64_t *leaves)
{
	size_t at = np_deal_find(p->partition, p->n_partitions, j->partition);

	if (confined || at == p->n_partitions)
		speak(p, j, leaves);
	else
		p->wants[at] += nodes_of(j);
}

static int gather_partitions(struct np_deal *p, const uint32_t *order,
			     size_t n)
{
	const struct np_snapshot_job *job = np_snapshot_jobs(p->s);
	uint32_t *part = np_deal_alloc(p, n, sizeof(*part));

	if (!part)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		part[i] = job[order[i]].in.partition;
	p->n_partitions = np_deal_unique(part, n);
	p->partition = part;
	p->wants = np_deal_alloc(p, p->n_partitions, sizeof(*p->wants));
	p->wants_reach = np_deal_alloc(p, p->n_partitions * p->lw,
				       sizeof(*p->wants_reach));
	return p->wants && p->wants_reach ? 0 : -ENOMEM;
}

static int gather_reach(struct np_deal *p, const uint32_t *order, size_t n)
{
	const struct np_snapshot_job *job = np_snapshot_jobs(p->s);

	for (size_t i = 0; i < n; i++) {
		const struct np_job *j = &job[order[i]].in;
		const struct np_counts *c = np_deal_counts(p, j->candidates);

		if (!c)
			return -ENOMEM;
		np_bits_or(p->wants_reach +
			   np_deal_find(p->partition, p->n_partitions,
				 j->partition) * p->lw,
			   c->reach, p->lw);
	}
	return 0;
}

int np_deal_prefer(struct np_deal *p)
{
	const struct np_snapshot_job *job = np_snapshot_jobs(p->s);
	uint32_t *order = np_deal_alloc(p, p->s->job.n, sizeof(*order));
	uint64_t *scratch = np_deal_alloc(p, p->lw, sizeof(*scratch));
	size_t n = 0;
	int rc;

	p->spoken = np_deal_alloc(p, p->n_leaves, sizeof(*p->spoken));
	p->prefer_set = np_deal_alloc(p, p->s->job.n, sizeof(*p->prefer_set));
	if (!order || !scratch || !p->spoken || !p->prefer_set)
		return -ENOMEM;
	if (!(p->policy.modes & 1u << NP_MODE_PREFER))
		return 0;
	for (uint32_t i = 0; i < p->s->job.n; i++)
		if (np_deal_ready(p->s, &job[i].in))
			order[n++] = i;
	np_deal_sort(p->s, order, n);
	rc = gather_partitions(p, order, n);
	if (!rc)
		rc = gather_reach(p, order, n);
	for (size_t i = 0; !rc && i < n; i++)
		rc = account(p, order[i], scratch);
	return rc;
}
