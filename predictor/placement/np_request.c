#include "np_request.h"

#include <errno.h>

/* Of all tasks of all arrays, so many have requests beyond the first. */
#define EXTRA 4096

/* The first request of a job, and one for each further task. */
static void add(struct np_requests *r, const struct np_problem *p,
		uint32_t job, size_t *extra)
{
	const struct np_job *j = &p->s->job[job];
	uint32_t n = j->tasks;

	if (n > NP_PLACEMENT_MAX_TASKS)
		n = NP_PLACEMENT_MAX_TASKS;
	if (n - 1 > *extra)
		n = (uint32_t)*extra + 1;
	*extra -= n - 1;
	r->of_job[job] = (uint32_t)r->n;
	for (uint32_t k = 0; k < n; k++)
		r->at[r->n++] = (struct np_request){
			.job = job, .class = r->class[job],
			.group = NP_NONE, .subgroup = NP_NONE, .task = k,
			.need = j->nodes_min, .ready = np_order_ready(p->s, j),
		};
}

/* Pending jobs that are ours. */
static bool ours(const struct np_problem *p, uint32_t i)
{
	const struct np_job *j = &p->s->job[i];

	return j->state != NP_JOB_RUNNING &&
	       !np_problem_aside(p, j, p->s->now_sec) &&
	       !np_problem_held_enough(p, j, p->outcome[i].held_sec) &&
	       (np_problem_enforced(p, j) || j->mode == NP_MODE_PREFER);
}

/* Jobs that may start before those that cannot by themselves. */
static int gather_order(struct np_requests *r, struct np_problem *p)
{
	size_t n = p->s->n_jobs, pass[2] = { 0 };
	uint32_t *all = np_problem_alloc(p, n, sizeof(*all));

	r->order = np_problem_alloc(p, n, sizeof(*r->order));
	r->class = np_problem_alloc(p, n, sizeof(*r->class));
	r->of_job = np_problem_alloc(p, n, sizeof(*r->of_job));
	if (!all || !r->order || !r->class || !r->of_job)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		r->class[i] = r->of_job[i] = NP_NONE;
		if (!ours(p, i))
			continue;
		all[r->n_order++] = i;
		pass[1] += np_order_ready(p->s, &p->s->job[i]);
	}
	np_order_jobs(p->s, all, r->n_order);
	for (size_t i = 0; i < r->n_order; i++) {
		bool ready = np_order_ready(p->s, &p->s->job[all[i]]);

		r->order[pass[!ready]++] = all[i];
	}
	return 0;
}

static int find_classes(struct np_requests *r, struct np_problem *p,
			struct np_classes *c)
{
	for (size_t i = 0; i < r->n_order; i++) {
		uint32_t job = r->order[i];
		const struct np_job *j = &p->s->job[job];
		const struct np_counts *n = np_problem_counts(p, j->candidates);

		if (!n)
			return -ENOMEM;
		if (!np_bits_any(n->reach, p->lw) ||
		    !np_problem_enough(p, j, n))
			continue;
		r->class[job] = np_class_of(c, j);
	}
	return 0;
}

int np_requests_init(struct np_requests *r, struct np_problem *p,
		     struct np_classes *c)
{
	size_t extra = EXTRA;
	const uint32_t *to;

	if (gather_order(r, p) || find_classes(r, p, c))
		return -ENOMEM;
	to = np_classes_renumber(c);
	r->at = np_problem_alloc(p, r->n_order + EXTRA, sizeof(*r->at));
	if (!to || !r->at)
		return -ENOMEM;
	for (size_t i = 0; i < r->n_order; i++) {
		uint32_t job = r->order[i];
		const struct np_job *j = &p->s->job[job];

		if (r->class[job] == NP_NONE)
			continue;
		r->class[job] = to[r->class[job]];
		c->at[r->class[job]].n += j->tasks;
		if (np_problem_enforced(p, j))
			add(r, p, job, &extra);
	}
	return 0;
}
