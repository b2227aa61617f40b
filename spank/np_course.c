#include "np_course.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "np_order.h"
#include "np_traffic.h"

#define SET_UP_SEC 3.0	/* after the first report the program still starts */
#define SETTLE_SEC 0.5	/* until queues are full, or empty */
#define MEASURE_SEC 2.0
#define LATE_SEC 0.4	/* what is reported a little later; and queues empty */
#define LATEST_SEC 3.0	/* then what was not reported is not waited for */
#define UP_SEC 5.0	/* for a level to come up */
#define FAILURES 3	/* levels that do not: then no more is tried */
#define BLOCK_SEC (SETTLE_SEC + MEASURE_SEC)
/*
 * A level runs on, as that it is up is heard a little later, and as counters
 * tell of pieces of time, of which the last is to be beside it, too.
 */
#define LOADED_SEC (BLOCK_SEC + LATE_SEC)
#define LEAD_SETTLE_SEC 0.25
#define LEAD_SEC (LEAD_SETTLE_SEC + 0.5)

enum state {
	LEAD_BEGINS,
	LEAD_COMES_UP, /* a level, before the program starts */
	LEADS,
	NOBODY, /* until the step's nodes say what they move */
	SETS_UP,
	COMES_UP,
	MEASURES,
	OVER,
};

struct np_course {
	struct np_record *r;
	const struct np_course_history *history;
	struct np_block *block; /* of all runs; those of this one last */
	size_t n, n_here;
	enum state state;
	size_t level; /* of the present block */
	double from_sec, to_sec, due_sec; /* of its measuring */
	double lead_end_sec;  /* when no more may lead in */
	double alone_sec;     /* from when on no level runs */
	struct np_moments round_sec;
	unsigned failures;
	struct np_traffic traffic, calls;
};

void np_course_history_free(struct np_course_history *p)
{
	for (size_t i = 0; i < p->n_levels; i++)
		free(p->name[i]);
	free(p->name);
	free(p->is_led);
	free(p->block);
	*p = (struct np_course_history){ .n_levels = 0 };
}

struct np_course *np_course_new(struct np_record *r,
				const struct np_course_history *history)
{
	struct np_course *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	*c = (struct np_course){ .r = r, .history = history,
				 .lead_end_sec = INFINITY };
	c->block = calloc(history->n_blocks + NP_RECORD_MAX_BLOCKS,
			  sizeof(*c->block));
	r->blocks = calloc(NP_RECORD_MAX_BLOCKS, sizeof(*r->blocks));
	r->blocks_alone = calloc(history->n_levels + 1,
				 sizeof(*r->blocks_alone));
	if (!c->block || !r->blocks || !r->blocks_alone) {
		np_course_free(c);
		return NULL;
	}
	if (history->n_blocks)
		memcpy(c->block, history->block,
		       history->n_blocks * sizeof(*c->block));
	c->n = history->n_blocks;
	return c;
}

void np_course_free(struct np_course *c)
{
	if (c)
		free(c->block);
	free(c);
}

/* ---- what is heard ---- */

void np_course_moved(struct np_course *c, size_t node, double now_sec,
		     double elapsed_sec, double bytes)
{
	np_traffic_add(&c->traffic, node, now_sec, elapsed_sec, bytes);
	if (c->state == NOBODY) {
		c->state = SETS_UP;
		c->due_sec = now_sec + SET_UP_SEC;
	}
}

void np_course_called(struct np_course *c, size_t node, double now_sec,
		      double elapsed_sec, double calls)
{
	np_traffic_add(&c->calls, node, now_sec, elapsed_sec, calls);
}

static void measure(struct np_course *c, double now_sec)
{
	c->state = MEASURES;
	c->from_sec = now_sec + SETTLE_SEC;
	c->to_sec = c->from_sec + MEASURE_SEC;
	c->due_sec = c->to_sec + LATE_SEC;
	c->round_sec = (struct np_moments){ 0 };
}

void np_course_level_up(struct np_course *c, double now_sec)
{
	if (c->state == LEAD_COMES_UP) {
		c->state = LEADS;
		c->from_sec = now_sec + LEAD_SETTLE_SEC;
		c->due_sec = now_sec + LEAD_SEC + LATE_SEC / 2;
	} else if (c->state == COMES_UP) {
		measure(c, now_sec);
		c->alone_sec = c->due_sec;
	} else if (c->state == MEASURES && c->level == NP_BLOCKS_NO_LEVEL) {
		/* One that was given up: the block without begins anew. */
		measure(c, now_sec + BLOCK_SEC + LATE_SEC);
		c->alone_sec = c->from_sec;
	}
}

void np_course_rounds(struct np_course *c, double now_sec,
		      const struct np_moments *sec)
{
	bool counts = c->state == LEADS ||
		      (c->state == MEASURES && c->level != NP_BLOCKS_NO_LEVEL);

	if (counts && now_sec - NP_COURSE_WINDOW_SEC >= c->from_sec &&
	    np_moments_valid(sec))
		np_moments_merge(&c->round_sec, sec);
}

bool np_course_is_led_in(const struct np_course *c)
{
	return c->state >= NOBODY;
}

bool np_course_wants_level(const struct np_course *c)
{
	return c->state == LEAD_COMES_UP || c->state == COMES_UP;
}

bool np_course_is_alone(const struct np_course *c, double now_sec)
{
	return np_course_is_led_in(c) && c->state != COMES_UP &&
	       now_sec - NP_COURSE_WINDOW_SEC >= c->alone_sec;
}

/* ---- what is due ---- */

static void end_lead(struct np_course *c, double now_sec)
{
	c->state = NOBODY;
	c->due_sec = INFINITY;
	c->alone_sec = now_sec;
}

/* The next level whose rounds alone are not known, or NULL. */
static const char *lead_on(struct np_course *c, double now_sec, double *sec)
{
	while (c->level < c->history->n_levels && c->history->is_led[c->level])
		c->level++;
	if (c->level == c->history->n_levels || now_sec >= c->lead_end_sec) {
		end_lead(c, now_sec);
		return NULL;
	}
	c->state = LEAD_COMES_UP;
	c->due_sec = now_sec + UP_SEC;
	c->round_sec = (struct np_moments){ 0 };
	*sec = LEAD_SEC;
	return c->history->name[c->level];
}

/* The level's rounds alone; then the next. */
static const char *keep_lead(struct np_course *c, double now_sec, double *sec)
{
	char *name = strdup(c->history->name[c->level++]);

	if (name)
		c->r->blocks_alone[c->r->n_blocks_alone++] =
			(struct np_block_run){ .level = name, .sec = LEAD_SEC,
					       .calls = NAN,
					       .round_sec = c->round_sec };
	return lead_on(c, now_sec, sec);
}

static void keep(struct np_course *c, double start_sec)
{
	bool none = c->level == NP_BLOCKS_NO_LEVEL;
	double rate = np_traffic_rate(&c->traffic, c->from_sec, c->to_sec);
	double calls = np_traffic_rate(&c->calls, c->from_sec, c->to_sec);
	double sec = none ? BLOCK_SEC : LOADED_SEC;
	uint32_t run = c->history->n_blocks ?
		       c->history->block[c->history->n_blocks - 1].run + 1 : 0;
	char *name;

	if (isnan(rate)) {
		c->failures += !none;
		np_record_note(c->r, "the nodes' counters came too late for a "
			       "block");
		return;
	}
	name = none ? NULL : strdup(c->history->name[c->level]);
	if (!none && !name)
		return;
	c->block[c->n++] = (struct np_block){ run, c->level, sec, rate, calls };
	c->n_here++;
	c->r->blocks[c->r->n_blocks++] = (struct np_block_run){
		.level = name, .sec = sec, .rate = rate,
		.calls = calls,
		.at_sec = fmax(c->from_sec - SETTLE_SEC - start_sec, 0),
		.round_sec = c->round_sec,
	};
}

/* why NULL: every level is known well enough. */
static void end_course(struct np_course *c, const char *why)
{
	if (why)
		np_record_note(c->r, "no more blocks: %s", why);
	c->state = OVER;
	c->due_sec = INFINITY;
}

static const char *begin_next(struct np_course *c, double now_sec,
			      double start_sec, double *sec)
{
	const struct np_blocks_plan plan = {
		c->history->n_levels, LOADED_SEC, c->history->share,
	};
	struct np_blocks_next next;

	if (c->n_here == NP_RECORD_MAX_BLOCKS) {
		end_course(c, "there are as many as a record holds");
		return NULL;
	}
	if (np_blocks_plan_next(&plan, c->block, c->n, c->n_here,
				now_sec - start_sec, &next)) {
		end_course(c, "out of memory");
		return NULL;
	}
	if (next.complete) {
		end_course(c, NULL);
		return NULL;
	}
	c->level = c->failures < FAILURES ? next.level : NP_BLOCKS_NO_LEVEL;
	if (c->level == NP_BLOCKS_NO_LEVEL) {
		measure(c, now_sec);
		return NULL;
	}
	c->state = COMES_UP;
	c->due_sec = now_sec + UP_SEC;
	*sec = LOADED_SEC;
	return c->history->name[c->level];
}

static void did_not_come(struct np_course *c)
{
	c->failures++;
	np_record_note(c->r, "level %s did not come up for its block",
		       c->history->name[c->level]);
}

/* Nodes may still tell of the block: in a moment, then. */
static bool is_awaited(struct np_course *c, double now_sec)
{
	double rate = np_traffic_rate(&c->traffic, c->from_sec, c->to_sec);

	if (!isnan(rate) || now_sec >= c->to_sec + LATEST_SEC)
		return false;
	c->due_sec = now_sec + NP_COURSE_WINDOW_SEC;
	return true;
}

const char *np_course_tick(struct np_course *c, double now_sec,
			   double start_sec, double *sec)
{
	if (!np_course_is_led_in(c) && !isnan(start_sec))
		end_lead(c, now_sec); /* srun did not wait any longer */
	if (now_sec < c->due_sec)
		return NULL;
	switch (c->state) {
	case LEAD_BEGINS:
		c->lead_end_sec = now_sec + NP_ORDER_AUTO_SEC - UP_SEC;
		return lead_on(c, now_sec, sec);
	case LEAD_COMES_UP:
		did_not_come(c);
		end_lead(c, now_sec);
		return NULL;
	case LEADS:
		return keep_lead(c, now_sec, sec);
	case MEASURES:
		if (is_awaited(c, now_sec))
			return NULL;
		keep(c, start_sec);
		break;
	case COMES_UP:
		did_not_come(c);
		break;
	default:
		break;
	}
	return begin_next(c, now_sec, start_sec, sec);
}

double np_course_due_sec(const struct np_course *c)
{
	return c->due_sec;
}
