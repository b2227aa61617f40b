#include <stdlib.h>

#include "np_press_impl.h"

struct np_press *np_press_ref(struct np_press *t)
{
	__atomic_add_fetch(&t->refs, 1, __ATOMIC_RELAXED);
	return t;
}

void np_press_unref(struct np_press *t)
{
	if (!t || __atomic_sub_fetch(&t->refs, 1, __ATOMIC_ACQ_REL))
		return;
	for (size_t i = 0; t->profile && i < t->n; i++)
		free(t->profile[i].name);
	free(t->profile);
	free(t->feels);
	free(t->pushes);
	free(t->most);
	free(t);
}

size_t np_press_n(const struct np_press *t)
{
	return t->n;
}

const char *np_press_name(const struct np_press *t, uint32_t profile)
{
	return profile < t->n ? t->profile[profile].name : "unknown";
}

bool np_press_trusted(const struct np_press *t, uint32_t profile)
{
	return profile < t->n && t->profile[profile].trusted;
}

bool np_press_complete(const struct np_press *t, uint32_t profile)
{
	return profile < t->n && t->profile[profile].complete;
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

size_t np_press_bytes(const struct np_press *t)
{
	return sizeof(*t) + t->n * (sizeof(*t->profile) + sizeof(*t->most)) +
	       2 * t->n * t->n * NP_N_TOUCH * sizeof(*t->feels);
}
