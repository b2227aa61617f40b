#include "np_placement.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "np_placement_impl.h"

void np_policy_init(struct np_policy *p)
{
	*p = (struct np_policy){
		.max_slowdown = 0.10,
		.max_defer_sec = 3600,
		.defer_step_sec = 60,
		.modes = 1u << NP_MODE_OFF | 1u << NP_MODE_ADVISE |
			 1u << NP_MODE_PREFER | 1u << NP_MODE_ENFORCE,
		.unknown_as = NP_PROFILE_UNKNOWN,
	};
}

static int check_time(const char *what, double sec, struct np_err *err)
{
	if (sec >= 1 && sec <= 1e9)
		return 0;
	return np_errf(err, -EINVAL, "policy: %s %g s; expected 1 to 1e9",
		       what, sec);
}

static int np_policy_check(const struct np_policy *p, const struct np_press *t,
			   struct np_err *err)
{
	int rc;

	if (!(p->max_slowdown >= 0 && p->max_slowdown <= 100))
		return np_errf(err, -EINVAL,
			       "policy: MaxSlowdown %g; expected 0 to 100",
			       p->max_slowdown);
	rc = check_time("MaxDefer", p->max_defer_sec, err);
	if (!rc)
		rc = check_time("one deferral", p->defer_step_sec, err);
	if (!rc && (p->unknown_as < NP_PROFILE_UNKNOWN ||
		    (p->unknown_as >= 0 &&
		     (size_t)p->unknown_as >= t->n)))
		return np_errf(err, -EINVAL,
			       "policy: unknown jobs count as profile %d, which"
			       " is not there", p->unknown_as);
	return rc;
}

static int check(const struct np_snapshot *s, const struct np_press *t,
		 const struct np_policy *policy, struct np_err *err)
{
	const struct np_job *job = s->job;

	if (!s->sealed)
		return np_errf(err, -EINVAL, "placement: unsealed snapshot");
	for (size_t i = 0; i < s->n_jobs; i++)
		if (job[i].profile != NP_PROFILE_UNKNOWN &&
		    (size_t)job[i].profile >= t->n)
			return np_errf(err, -EINVAL,
				       "job %u: profile %d of %zu",
				       job[i].id, job[i].profile, t->n);
	return np_policy_check(policy, t, err);
}

static int make_allocations(struct np_placement *p)
{
	const struct np_job *job = p->s->job;
	const unsigned act = 1u << NP_MODE_PREFER | 1u << NP_MODE_ENFORCE;
	unsigned *modes = &p->policy.modes;
	bool both;
	int rc;

	for (size_t i = 0; i < p->s->n_jobs; i++)
		*modes |= 1u << job[i].mode;
	both = *modes & 1u << NP_MODE_ADVISE && *modes & act;
	rc = np_allocation_new(p->s, p->t, &p->policy, p->outcome,
			       !(*modes & act), NULL, &p->real);
	p->advised = p->real;
	if (!rc && both) {
		p->advised = NULL;
		rc = np_allocation_new(p->s, p->t, &p->policy, p->outcome,
				       true, p->real, &p->advised);
	}
	return rc;
}

static int fill(struct np_placement *p)
{
	size_t n = p->s->n_jobs;
	int rc;

	p->outcome = calloc(n + 1, sizeof(*p->outcome));
	p->scratch_set = calloc(p->s->leaves->node_words, sizeof(uint64_t));
	p->scratch_leaves = calloc(p->s->leaves->words + 1, sizeof(uint64_t));
	if (!p->outcome || !p->scratch_set || !p->scratch_leaves)
		return -ENOMEM;
	rc = np_held_back(p->s, p->outcome);
	if (!rc)
		rc = make_allocations(p);
	if (rc)
		return rc;
	p->scratch = np_problem_counts_new(&p->real->problem);
	return p->scratch ? np_placement_judge(p) : -ENOMEM;
}

int np_placement_decide(struct np_snapshot *s, struct np_press *t,
			const struct np_policy *policy,
			struct np_placement **out, struct np_err *err)
{
	struct np_placement *p;
	int rc = check(s, t, policy, err);

	if (rc)
		return rc;
	p = calloc(1, sizeof(*p));
	if (!p)
		return np_errf(err, -ENOMEM, "placement: out of memory");
	p->s = np_snapshot_ref(s);
	p->t = np_press_ref(t);
	p->policy = *policy;
	p->admitted.limit = NP_PLACEMENT_MAX_ADMITTED;
	rc = fill(p);
	if (rc) {
		np_placement_free(p);
		return np_errf(err, rc, "placement: out of memory");
	}
	*out = p;
	return 0;
}

void np_placement_free(struct np_placement *p)
{
	if (!p)
		return;
	if (p->advised != p->real)
		np_allocation_free(p->advised);
	np_allocation_free(p->real);
	np_snapshot_unref(p->s);
	np_press_unref(p->t);
	free(p->outcome);
	free(p->journal);
	np_shares_free(&p->admitted);
	free(p->loose);
	free(p->scratch_set);
	free(p->scratch_leaves);
	free(p);
}

const struct np_outcome *np_placement_at(const struct np_placement *p,
					 size_t i)
{
	return &p->outcome[i];
}

double np_placement_strain(const struct np_placement *p, size_t leaf)
{
	return np_press_fraction(np_leaf_load_worst(&p->real->loads, leaf));
}
