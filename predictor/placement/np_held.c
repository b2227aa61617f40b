/*
 * How long placement has held each job back.
 *
 * The time between two decisions counts for a job that was deferred in it, and
 * for one that was confined in it and but for that might have started: either
 * as many candidate nodes are free now as it needs, or it is at the head of
 * its partition's queue and jobs behind it started on leaves closed to it.
 * The second case bounds starvation on a full machine, where nodes go to the
 * next job in the pass that frees them and are never seen free; a job at the
 * head whom nobody overtakes finds them free in the end.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "np_placement_impl.h"

struct clock {
	const struct np_snapshot *s;
	uint32_t *last_start; /* per leaf: job that started since the last
				 decision, the one furthest behind; NP_NONE */
	uint8_t *blocked;     /* per partition: somebody ahead waits anyway */
};

static void note_starts(struct clock *c)
{
	const struct np_job *job = c->s->job;

	for (uint32_t i = 0; i < c->s->n_jobs; i++) {
		if (job[i].state != NP_JOB_RUNNING ||
		    job[i].start_sec <= c->s->last_sec)
			continue;
		for (uint32_t k = 0; k < job[i].n_leaves; k++) {
			uint32_t *last = &c->last_start[job[i].leaf[k]];

			if (*last == NP_NONE ||
			    np_order_precedence(&job[i], &job[*last]) > 0)
				*last = i;
		}
	}
}

static bool on_leaf(const struct np_snapshot *s, const uint64_t *set,
		    uint32_t leaf)
{
	const uint32_t *first = s->leaves->first;
	size_t next = np_bits_next(set, s->leaves->node_words, first[leaf]);

	return next < first[leaf + 1];
}

static bool overtaken(const struct clock *c, const struct np_job *j)
{
	const uint64_t *set = np_snapshot_set(c->s, j->candidates);

	for (uint32_t leaf = 0; leaf < c->s->leaves->n; leaf++) {
		uint32_t last = c->last_start[leaf];

		if (last != NP_NONE && !np_bits_test(j->prior_leaves, leaf) &&
		    np_order_precedence(j, &c->s->job[last]) < 0 &&
		    on_leaf(c->s, set, leaf))
			return true;
	}
	return false;
}

static bool could_start(const struct np_snapshot *s, const struct np_job *j)
{
	const uint64_t *set = np_snapshot_set(s, j->candidates);
	const uint64_t *free = j->flags & NP_JOB_SHARES_NODES ? s->room :
			       s->idle;
	size_t n = 0;

	for (size_t k = 0; k < s->leaves->node_words; k++)
		n += (size_t)__builtin_popcountll(set[k] & free[k]);
	return n >= j->nodes_min;
}

static double since(const struct np_snapshot *s, const struct np_job *j)
{
	int64_t from = s->last_sec;

	if (!from)
		return 0;
	if (j->submit_sec > from)
		from = j->submit_sec;
	if (j->eligible_sec > from)
		from = j->eligible_sec;
	return s->now_sec > from ? (double)(s->now_sec - from) : 0;
}

/* Jobs in order of precedence. */
static double held(struct clock *c, const struct np_job *j)
{
	bool back = false;

	if (j->state != NP_JOB_READY)
		return j->held_sec;
	if (j->prior == NP_PRIOR_DEFERRED)
		back = true;
	else if (j->prior == NP_PRIOR_LEAVES)
		back = could_start(c->s, j) ||
		       (!c->blocked[j->partition] && overtaken(c, j));
	else
		c->blocked[j->partition] = 1;
	return j->held_sec + (back ? since(c->s, j) : 0);
}

int np_held_back(const struct np_snapshot *s, struct np_outcome *outcome)
{
	struct clock c = { .s = s };
	uint32_t *order = malloc((s->n_jobs + 1) * sizeof(*order));
	size_t n = 0;
	int rc = -ENOMEM;

	c.last_start = malloc((s->leaves->n + 1) * sizeof(*c.last_start));
	c.blocked = calloc(UINT16_MAX + 1, sizeof(*c.blocked));
	if (!order || !c.last_start || !c.blocked)
		goto out;
	memset(c.last_start, 0xff, s->leaves->n * sizeof(*c.last_start));
	note_starts(&c);
	for (uint32_t i = 0; i < s->n_jobs; i++)
		if (s->job[i].state != NP_JOB_RUNNING)
			order[n++] = i;
	np_order_jobs(s, order, n);
	for (size_t i = 0; i < n; i++)
		outcome[order[i]].held_sec = held(&c, &s->job[order[i]]);
	rc = 0;
out:
	free(c.blocked);
	free(c.last_start);
	free(order);
	return rc;
}
