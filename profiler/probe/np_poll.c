#include "np_poll.h"

#include <math.h>

#define MARGIN 1.5
#define FIRST_TRIES 4
#define TRY_EVERY 16

double np_poll_sec(const struct np_poll *p)
{
	return fmin(fmax(MARGIN * p->fastest_sec, NP_POLL_LEAST_SEC),
		    NP_POLL_MOST_SEC);
}

double np_poll_try_sec(struct np_poll *p)
{
	uint32_t try = p->tries++;

	return try < FIRST_TRIES || try % TRY_EVERY == 0 ? NP_POLL_MOST_SEC :
							   np_poll_sec(p);
}

void np_poll_caught(struct np_poll *p, double answer_sec)
{
	if (!p->fastest_sec || answer_sec < p->fastest_sec)
		p->fastest_sec = answer_sec;
}
