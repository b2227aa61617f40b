/* Jobs that could not be written as was decided. */
#include <errno.h>

#include "np_array.h"
#include "np_placement_impl.h"

int np_placement_unwritten(struct np_placement *p, size_t i)
{
	struct np_allocation *a = p->real;
	uint32_t class = a->requests.class[i];

	if (class == NP_NONE)
		return 0; /* nobody keeps away from it */
	for (size_t k = 0; k < p->n_loose; k++)
		if (p->loose[k] == class)
			return 0;
	if (np_array_more(&p->loose, p->n_loose, sizeof(*p->loose)))
		return -ENOMEM;
	p->loose[p->n_loose++] = class;
	for (uint32_t leaf = 0; leaf < a->problem.n_leaves; leaf++)
		np_class_hold(&a->classes, class, leaf);
	return 0;
}

/* Is any leaf of a set (NULL: of all it can reach) one to keep away from? */
static bool meets(const struct np_placement *p, size_t i, const uint64_t *set)
{
	const struct np_allocation *a = p->real;
	const uint64_t *open = set ? set :
		a->problem.counts[p->s->job[i].candidates]->reach;

	for (size_t k = 0; k < p->n_loose; k++)
		if (np_class_apart_on(&a->classes, a->requests.class[i],
				      p->loose[k], open))
			return true;
	return false;
}

bool np_placement_may_open(const struct np_placement *p, size_t i)
{
	const struct np_outcome *v = &p->outcome[i];

	if (!p->n_loose || !v->applied || p->real->requests.class[i] == NP_NONE)
		return true;
	for (uint32_t k = 0; k < v->tasks; k++)
		if (meets(p, i, v->task_leaves[k]))
			return false;
	return v->action == NP_ACT_DEFER ||
	       !meets(p, i, v->action == NP_ACT_CONFINE ? v->leaves : NULL);
}
