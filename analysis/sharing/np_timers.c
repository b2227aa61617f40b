/*
 * A binary heap in an array: no timer is due before t[(i - 1) / 2], its parent.
 * Timers for the same time are due in the order in which they were set, so that
 * a simulation always gives the same result.
 */
#include "np_timers.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "np_array.h"

/* By time, then by the order in which timers were set. */
static bool before(const struct np_timer *a, const struct np_timer *b)
{
	return a->at_sec != b->at_sec ? a->at_sec < b->at_sec :
					a->order < b->order;
}

int np_timers_set(struct np_timers *h, double at_sec, size_t id)
{
	struct np_timer t = { at_sec, h->set++, id };
	size_t at = h->n;

	if (np_array_reserve(&h->t, &h->room, h->n + 1, sizeof(*h->t)))
		return -ENOMEM;
	h->n++;
	/* Move up what is due later, instead of swapping at each step. */
	for (; at && before(&t, &h->t[(at - 1) / 2]); at = (at - 1) / 2)
		h->t[at] = h->t[(at - 1) / 2];
	h->t[at] = t;
	return 0;
}

double np_timers_next(const struct np_timers *h)
{
	return h->n ? h->t[0].at_sec : INFINITY;
}

bool np_timers_due(struct np_timers *h, double now_sec, size_t *id)
{
	struct np_timer last;
	size_t at = 0, child;

	if (!h->n || h->t[0].at_sec > now_sec)
		return false;
	*id = h->t[0].id;
	/* The last timer takes the place of the first, and sinks from there. */
	last = h->t[--h->n];
	for (; (child = 2 * at + 1) < h->n; at = child) {
		if (child + 1 < h->n &&
		    before(&h->t[child + 1], &h->t[child]))
			child++;
		if (!before(&h->t[child], &last))
			break;
		h->t[at] = h->t[child];
	}
	h->t[at] = last;
	return true;
}

void np_timers_free(struct np_timers *h)
{
	free(h->t);
	memset(h, 0, sizeof(*h));
}
