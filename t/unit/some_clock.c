#include "some_clock.h"

#include <time.h>

long t_ahead_sec;

/* In place of the C library's. */
time_t time(time_t *out)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_sec += t_ahead_sec;
	if (out)
		*out = t.tv_sec;
	return t.tv_sec;
}
