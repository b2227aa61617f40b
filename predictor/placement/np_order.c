/* The order in which Slurm looks at pending jobs. */
#include <stdlib.h>

#include "np_snapshot.h"

static uint32_t number(const struct np_job *j)
{
	return j->array ? j->array : j->id;
}

int np_order_precedence(const struct np_job *x, const struct np_job *y)
{
	if (x->priority != y->priority)
		return x->priority > y->priority ? -1 : 1;
	if (x->submit_sec != y->submit_sec)
		return x->submit_sec < y->submit_sec ? -1 : 1;
	if (number(x) != number(y))
		return number(x) < number(y) ? -1 : 1;
	/* A task that was split off has a newer id than the rest, which would
	   otherwise come first and take its leaves. */
	if (x->task != y->task)
		return x->task < y->task ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

static int by_precedence(const void *a, const void *b, void *arg)
{
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	const struct np_job *job = arg;
	int way = np_order_precedence(&job[i], &job[k]);

	return way ? way : i < k ? -1 : i > k;
}

void np_order_jobs(const struct np_snapshot *s, uint32_t *job, size_t n)
{
	qsort_r(job, n, sizeof(*job), by_precedence, s->job);
}

bool np_order_ready(const struct np_snapshot *s, const struct np_job *j)
{
	return j->state == NP_JOB_READY && j->eligible_sec <= s->now_sec;
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

size_t np_order_unique(uint32_t *number, size_t n)
{
	size_t to = 0;

	if (n > 1)
		qsort(number, n, sizeof(*number), by_number);
	for (size_t i = 0; i < n; i++)
		if (!i || number[i] != number[to - 1])
			number[to++] = number[i];
	return to;
}

size_t np_order_find(const uint32_t *number, size_t n, uint32_t key)
{
	const uint32_t *at = n ? bsearch(&key, number, n, sizeof(key),
					 by_number) : NULL;

	return at ? (size_t)(at - number) : n;
}
