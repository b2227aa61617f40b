#include "np_press.h"

#include <math.h>
#include <stdlib.h>

uint16_t np_press_load(double slowdown)
{
	double load = slowdown > 0 ? rint(NP_PRESS_UNIT * log1p(slowdown)) : 0;

	return load < NP_PRESS_MAX - 1 ? (uint16_t)load : NP_PRESS_MAX - 1;
}

double np_press_fraction(uint32_t load)
{
	return expm1(load / NP_PRESS_UNIT);
}

uint32_t np_press_limit(double max_slowdown)
{
	/* Rounded as the loads are, so that a pair at the limit is at it. */
	return (uint32_t)rint(NP_PRESS_UNIT * log1p(max_slowdown));
}

struct np_press *np_press_ref(struct np_press *t)
{
	__atomic_add_fetch(&t->refs, 1, __ATOMIC_RELAXED);
	return t;
}

void np_press_unref(struct np_press *t)
{
	if (!t || __atomic_sub_fetch(&t->refs, 1, __ATOMIC_ACQ_REL))
		return;
	free(t->profile);
	free(t->feels);
	free(t->pushes);
	free(t->most);
	free(t);
}

struct np_press *np_press_new(size_t n)
{
	struct np_press *t = calloc(1, sizeof(*t));
	size_t cells = n * n * NP_N_TOUCH + 1;

	if (!t)
		return NULL;
	t->refs = 1;
	t->n = n;
	t->profile = calloc(n + 1, sizeof(*t->profile));
	t->feels = malloc(cells * sizeof(*t->feels));
	t->pushes = malloc(cells * sizeof(*t->pushes));
	t->most = calloc(n + 1, sizeof(*t->most));
	if (t->profile && t->feels && t->pushes && t->most)
		return t;
	np_press_unref(t);
	return NULL;
}

double np_press_slowdown(const struct np_press *t, uint32_t victim,
			 uint32_t co, bool both_share_nodes, bool both_span)
{
	unsigned touch = (both_share_nodes ? NP_TOUCH_NODE : 0) |
			 (both_span ? NP_TOUCH_UPLINK : 0);

	if (victim >= t->n || co >= t->n)
		return 0;
	return np_press_fraction(
		np_press_feels(t, victim)[co * NP_N_TOUCH + touch]);
}
