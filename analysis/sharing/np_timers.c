/*
 * A binary heap in an array: no timer is due before its parent, which is at
 * index (i - 1) / 2. Timers for the same time are due in the order in which
 * they were set, so that a simulation always gives the same result.
 */
#include "np_timers.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "np_array.h"

/* Whether timer a is due before timer b. */
static bool is_before(const struct np_timer *a, const struct np_timer *b)
{
	return a->at_sec != b->at_sec ? a->at_sec < b->at_sec :
					a->order < b->order;
}

int np_timers_set(struct np_timers *timers, double at_sec, size_t id)
{
	struct np_timer new = { at_sec, timers->n_set++, id };
	size_t i = timers->n;

	if (np_array_reserve(&timers->timer, &timers->capacity, timers->n + 1,
			     sizeof(*timers->timer)))
		return -ENOMEM;
	timers->n++;
	/* Instead of swapping, shift ancestors that are due later down. */
	for (; i; i = (i - 1) / 2) {
		const struct np_timer *parent = &timers->timer[(i - 1) / 2];

		if (!is_before(&new, parent))
			break;
		timers->timer[i] = *parent;
	}
	timers->timer[i] = new;
	return 0;
}

double np_timers_next(const struct np_timers *timers)
{
	return timers->n ? timers->timer[0].at_sec : INFINITY;
}

/* Remove the first timer. The last one takes its place, and sinks from there. */
static void remove_first(struct np_timers *timers)
{
	struct np_timer *timer = timers->timer;
	struct np_timer last = timer[--timers->n];
	size_t i = 0, child;

	for (; (child = 2 * i + 1) < timers->n; i = child) {
		if (child + 1 < timers->n &&
		    is_before(&timer[child + 1], &timer[child]))
			child++;
		if (!is_before(&timer[child], &last))
			break;
		timer[i] = timer[child];
	}
	timer[i] = last;
}

bool np_timers_due(struct np_timers *timers, double now_sec, size_t *id)
{
	if (!timers->n || timers->timer[0].at_sec > now_sec)
		return false;
	*id = timers->timer[0].id;
	remove_first(timers);
	return true;
}

void np_timers_free(struct np_timers *timers)
{
	free(timers->timer);
	memset(timers, 0, sizeof(*timers));
}
