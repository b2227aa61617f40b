#include "np_prefer.h"

#include <errno.h>
#include <string.h>

static uint64_t nodes_of(const struct np_job *j)
{
	return (uint64_t)j->nodes_min * j->tasks;
}

/* Free nodes for a job on a leaf that jobs before it cannot have taken. */
static uint32_t sure(const struct np_prefer *f, const struct np_job *j,
		     const struct np_counts *c, uint32_t leaf)
{
	uint32_t n = j->flags & NP_JOB_SHARES_NODES ? c->free_shared[leaf] :
		     c->free_alone[leaf];

	return n > f->reserved[leaf] ? n - f->reserved[leaf] : 0;
}

/* What may be taken anywhere among a job's leaves by those before it. */
static uint64_t wanted_before(const struct np_prefer *f,
			      const struct np_counts *c)
{
	uint64_t n = 0;

	for (size_t i = 0; i < f->n_partitions; i++)
		if (np_bits_meet(f->reach + i * f->p->lw, c->reach, f->p->lw))
			n += f->wanted[i];
	return n;
}

/* The tightest leaf that is enough, or the largest. */
static uint32_t pick(const struct np_prefer *f, const struct np_job *j,
		     uint32_t class, const struct np_counts *c,
		     const uint64_t *set, uint64_t missing)
{
	uint32_t best = NP_NONE, most = 0;

	NP_BITS_EACH(at, c->reach, f->p->lw) {
		uint32_t leaf = (uint32_t)at, n = sure(f, j, c, leaf);

		if (!n || np_bits_test(set, leaf) ||
		    (best != NP_NONE && most >= missing &&
		     (n < missing || n >= most)) ||
		    (best != NP_NONE && most < missing && n <= most) ||
		    !np_class_can_take(f->classes, class, j, leaf))
			continue;
		best = leaf;
		most = n;
	}
	return best;
}

bool np_prefer_set(const struct np_prefer *f, const struct np_job *j,
		   uint32_t class, const struct np_counts *c, uint64_t *set)
{
	uint64_t need = nodes_of(j) + wanted_before(f, c), have = 0;
	uint64_t all = 0;
	uint32_t leaves = 0;

	if (!(f->p->policy.modes & 1u << NP_MODE_PREFER))
		return false; /* what others want was not counted */
	memset(set, 0, f->p->lw * sizeof(*set));
	NP_BITS_EACH(leaf, c->reach, f->p->lw)
		all += sure(f, j, c, (uint32_t)leaf);
	if (all < need)
		return false;
	while (have < need) {
		uint32_t leaf = pick(f, j, class, c, set, need - have);

		if (leaf == NP_NONE || (j->switches && leaves == j->switches))
			return false;
		np_bits_set(set, leaf);
		have += sure(f, j, c, leaf);
		leaves++;
	}
	return true;
}

/* A confined job may take all it wants on any of its leaves. */
static void reserve(struct np_prefer *f, const struct np_job *j,
		    const uint64_t *set)
{
	NP_BITS_EACH(leaf, set, f->p->lw) {
		uint64_t n = f->reserved[leaf] + nodes_of(j);

		f->reserved[leaf] = n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
	}
}

static int try_job(struct np_prefer *f, uint32_t job, uint64_t *scratch)
{
	const struct np_job *j = &f->p->s->job[job];
	const struct np_counts *c = f->p->counts[j->candidates];
	uint32_t class = f->requests->class[job];
	uint64_t *set;

	if (!np_prefer_set(f, j, class, c, scratch))
		return 0;
	set = np_problem_alloc(f->p, f->p->lw, sizeof(*set));
	if (!set)
		return -ENOMEM;
	memcpy(set, scratch, f->p->lw * sizeof(*set));
	NP_BITS_EACH(leaf, set, f->p->lw)
		np_class_hold(f->classes, class, (uint32_t)leaf);
	reserve(f, j, set);
	f->set[job] = set;
	return 0;
}

/* An enforced job in a conflict, whose requests have leaves, or none yet. */
static bool enforced_set(struct np_prefer *f, uint32_t job)
{
	const struct np_requests *all = f->requests;
	uint32_t i = all->of_job[job];

	if (i == NP_NONE || all->at[i].group == NP_NONE)
		return false;
	for (; i < all->n && all->at[i].job == job; i++) {
		const struct np_request *r = &all->at[i];
		bool last = i + 1 == all->n || r[1].job != job ||
			    r[1].group != r->group;

		/* Deferred ones take nothing. */
		if (last && np_group_meets(f->groups, r))
			reserve(f, &f->p->s->job[job],
				f->groups->at[r->group].set);
	}
	return true;
}

/* One alone of a kind that conflicts with itself leaves room for the next. */
static bool is_to_confine(struct np_prefer *f, const struct np_job *j,
			  uint32_t class)
{
	return j->mode == NP_MODE_PREFER && class != NP_NONE &&
	       (f->classes->at[class].self ||
		np_class_meets(f->classes, class));
}

static int account(struct np_prefer *f, uint32_t job, uint64_t *scratch)
{
	const struct np_job *j = &f->p->s->job[job];
	size_t at = np_order_find(f->partition, f->n_partitions,
				  j->partition);
	int rc;

	if (enforced_set(f, job))
		return 0;
	if (is_to_confine(f, j, f->requests->class[job])) {
		rc = try_job(f, job, scratch);
		if (rc || f->set[job])
			return rc;
	}
	f->wanted[at] += nodes_of(j);
	return 0;
}

void np_prefer_admit(struct np_prefer *f, const struct np_job *j,
		     bool confined, const uint64_t *leaves)
{
	size_t at = np_order_find(f->partition, f->n_partitions, j->partition);

	if (confined || at == f->n_partitions)
		reserve(f, j, leaves);
	else
		f->wanted[at] += nodes_of(j);
}

static int gather_partitions(struct np_prefer *f, const uint32_t *order,
			     size_t n)
{
	uint32_t *part = np_problem_alloc(f->p, n, sizeof(*part));

	if (!part)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		part[i] = f->p->s->job[order[i]].partition;
	f->n_partitions = np_order_unique(part, n);
	f->partition = part;
	f->wanted = np_problem_alloc(f->p, f->n_partitions,
				     sizeof(*f->wanted));
	f->reach = np_problem_alloc(f->p, f->n_partitions * f->p->lw,
				    sizeof(*f->reach));
	return f->wanted && f->reach ? 0 : -ENOMEM;
}

static int gather_reach(struct np_prefer *f, const uint32_t *order, size_t n)
{
	size_t lw = f->p->lw;

	for (size_t i = 0; i < n; i++) {
		const struct np_job *j = &f->p->s->job[order[i]];
		size_t at = np_order_find(f->partition, f->n_partitions,
					  j->partition);
		const struct np_counts *c =
			np_problem_counts(f->p, j->candidates);

		if (!c)
			return -ENOMEM;
		np_bits_or(f->reach + at * lw, c->reach, lw);
	}
	return 0;
}

int np_prefer_init(struct np_prefer *f, struct np_problem *p,
		   struct np_classes *classes,
		   const struct np_requests *requests,
		   const struct np_groups *groups)
{
	uint32_t *order = np_problem_alloc(p, p->s->n_jobs, sizeof(*order));
	uint64_t *scratch = np_problem_alloc(p, p->lw, sizeof(*scratch));
	size_t n = 0;
	int rc;

	*f = (struct np_prefer){
		.p = p, .classes = classes, .requests = requests,
		.groups = groups,
		.reserved = np_problem_alloc(p, p->n_leaves,
					     sizeof(*f->reserved)),
		.set = np_problem_alloc(p, p->s->n_jobs, sizeof(*f->set)),
	};
	if (!order || !scratch || !f->reserved || !f->set)
		return -ENOMEM;
	if (!(p->policy.modes & 1u << NP_MODE_PREFER))
		return 0;
	for (uint32_t i = 0; i < p->s->n_jobs; i++)
		if (np_order_ready(p->s, &p->s->job[i]))
			order[n++] = i;
	np_order_jobs(p->s, order, n);
	rc = gather_partitions(f, order, n);
	if (!rc)
		rc = gather_reach(f, order, n);
	for (size_t i = 0; !rc && i < n; i++)
		rc = account(f, order[i], scratch);
	return rc;
}
