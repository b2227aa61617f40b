#include "np_arrivals.h"

#include <stdlib.h>

static int by_owner(const void *a, const void *b)
{
	uint32_t x = ((const struct np_arrival *)a)->owner;
	uint32_t y = ((const struct np_arrival *)b)->owner;

	return x < y ? -1 : x > y;
}

void np_arrivals_init(struct np_arrivals *a, int64_t since_sec,
		      struct np_arrival *of, size_t n)
{
	*a = (struct np_arrivals){ .since_sec = since_sec, .of = of };
	if (n)
		qsort(of, n, sizeof(*of), by_owner);
	for (size_t i = 0; i < n; i++)
		if (a->n && of[a->n - 1].owner == of[i].owner)
			of[a->n - 1].n += of[i].n;
		else
			of[a->n++] = of[i];
}

bool np_arrivals_take(struct np_arrivals *a, uint32_t owner)
{
	const struct np_arrival key = { .owner = owner };
	struct np_arrival *of = a->n ? bsearch(&key, a->of, a->n, sizeof(key),
					       by_owner) : NULL;

	if (!of || !of->n)
		return false;
	of->n--;
	return true;
}
