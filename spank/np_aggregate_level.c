#include "np_aggregate_level.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WINDOW_SEC 1.0
/* A program that starts up or winds up does not press: leave that out. */
#define START_UP_SEC 1.0
#define WIND_UP_SEC 0.5

/* Rounds of one window beside the program, until it has outlived them. */
struct held {
	double to_sec;
	bool settled;
	struct np_moments sec;
};
#define N_HELD 4

struct np_aggregate_level {
	struct np_record *r;
	double zero_sec; /* the level's common start; NaN: not yet */
	bool settled;	 /* rounds beside are of after the start-up */
	struct held held[N_HELD];
};

struct np_aggregate_level *np_aggregate_level_new(struct np_record *r)
{
	struct np_aggregate_level *f = calloc(1, sizeof(*f));

	if (f) {
		f->r = r;
		f->zero_sec = NAN;
	}
	return f;
}

void np_aggregate_level_free(struct np_aggregate_level *f)
{
	free(f);
}

/*
 * Beside a program that is over before it has settled there is nothing but
 * its start-up to go by.
 */
static void add_beside(struct np_aggregate_level *f, struct held *h)
{
	struct np_moments *beside = &f->r->level->beside_round_sec;

	if (h->settled && !f->settled) {
		memset(beside, 0, sizeof(*beside));
		f->settled = true;
	}
	if (h->settled || !f->settled)
		np_moments_merge(beside, &h->sec);
	h->sec.n = 0;
}

/* Windows that ended well before until_sec are beside a program at work. */
static void add_outlived(struct np_aggregate_level *f, double until_sec)
{
	for (size_t i = 0; i < N_HELD; i++)
		if (f->held[i].sec.n &&
		    f->held[i].to_sec + WIND_UP_SEC <= until_sec)
			add_beside(f, &f->held[i]);
}

void np_aggregate_level_done(struct np_aggregate_level *f,
			     double program_end_sec)
{
	add_outlived(f, program_end_sec);
	for (size_t i = 0; i < N_HELD; i++) {
		struct held *h = &f->held[i];

		if (h->sec.n && !f->r->level->beside_round_sec.n)
			add_beside(f, h);
		h->sec.n = 0;
	}
}

/* Processes report the same window one after the other. */
static void hold(struct np_aggregate_level *f, double to_sec, bool settled,
		 const struct np_moments *sec)
{
	struct held *h = &f->held[(size_t)(to_sec - f->zero_sec + 0.5) %
				  N_HELD];

	if (h->sec.n && h->to_sec != to_sec)
		add_beside(f, h); /* several windows ago */
	if (!h->sec.n)
		*h = (struct held){ to_sec, settled, { 0 } };
	np_moments_merge(&h->sec, sec);
}

static int add_rounds(struct np_aggregate_level *f, const struct np_report *rep,
		      double start_sec, double end_sec)
{
	double from = f->zero_sec + rep->window.at_sec;
	double to = from + WINDOW_SEC;

	if (!np_moments_valid(&rep->window.sec))
		return -EINVAL;
	if (isnan(start_sec) || to <= start_sec)
		np_moments_merge(&f->r->level->alone_round_sec,
				 &rep->window.sec);
	else if (from >= start_sec && (isnan(end_sec) || to <= end_sec))
		hold(f, to, from >= start_sec + START_UP_SEC, &rep->window.sec);
	return 0;
}

int np_aggregate_level_report(struct np_aggregate_level *f,
			      const struct np_report *rep,
			      double now_sec, double program_start_sec,
			      double program_end_sec)
{
	switch (rep->kind) {
	case NP_REPORT_HELLO:
		if (isnan(f->zero_sec))
			f->zero_sec = now_sec;
		f->r->level->n_processes++;
		return 0;
	case NP_REPORT_ROUND:
		if (isnan(f->zero_sec))
			return -EINVAL;
		add_outlived(f, isnan(program_end_sec) ? now_sec :
						program_end_sec);
		return add_rounds(f, rep, program_start_sec, program_end_sec);
	case NP_REPORT_NOTE:
		np_record_note(f->r, "level %u: %s", rep->rank, rep->note);
		return 0;
	default:
		return 0; /* its cost is its purpose */
	}
}

double np_aggregate_level_age(const struct np_aggregate_level *f,
			      double now_sec)
{
	return isnan(f->zero_sec) ? 0 : now_sec - f->zero_sec;
}
