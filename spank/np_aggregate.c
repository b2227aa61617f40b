#include "np_aggregate.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WINDOW_SEC 1.0
/* A program that starts up or winds up does not press: leave that out. */
#define START_UP_SEC 1.0
#define WIND_UP_SEC 0.5

/* What the record's totals need to know of each probe process. */
struct rank {
	char leaf[NP_REPORT_WORD];
	bool known;
	double cpu_sec, elapsed_sec;
};

/* Rounds of one window beside the program, until it has outlived them. */
struct held {
	double to_sec;
	bool settled;
	struct np_moments sec;
};
#define N_HELD 4

struct np_aggregate {
	struct np_record *r;
	struct rank *rank; /* of the probes */
	uint32_t n_ranks, byes;

	double zero_sec; /* the level's common start; NaN: not yet */
	bool settled;	 /* rounds beside are of after the start-up */
	struct held held[N_HELD];
};

struct np_aggregate *np_aggregate_new(struct np_record *r)
{
	struct np_aggregate *f = calloc(1, sizeof(*f));

	if (f) {
		f->r = r;
		f->zero_sec = NAN;
	}
	return f;
}

void np_aggregate_free(struct np_aggregate *f)
{
	if (f)
		free(f->rank);
	free(f);
}

/* The first who knows says it. */
static int set_text(char **at, const char *text)
{
	char *copy;

	if (*at || !*text)
		return 0;
	copy = strdup(text);
	if (!copy)
		return -ENOMEM;
	*at = copy;
	return 0;
}

static int add_hello(struct np_aggregate *f, const struct np_report *rep)
{
	const char *leaf = rep->hello.leaf;
	struct np_leaf_run *run;

	if (!f->rank) {
		if (!rep->hello.n_ranks ||
		    rep->hello.n_ranks > 2 * NP_RECORD_MAX_NODES)
			return -ERANGE;
		f->rank = calloc(rep->hello.n_ranks, sizeof(*f->rank));
		if (!f->rank)
			return -ENOMEM;
		f->n_ranks = rep->hello.n_ranks;
	}
	if (rep->rank >= f->n_ranks || f->rank[rep->rank].known)
		return -EINVAL;
	run = np_record_leaf(f->r, leaf);
	if (!run)
		return -ENOMEM;
	if (rep->hello.partner[0])
		run->n_pairs++;
	f->rank[rep->rank].known = true;
	strcpy(f->rank[rep->rank].leaf, leaf);
	f->r->probe.n_processes++;
	if (set_text(&f->r->probe.transport, rep->hello.transport))
		return -ENOMEM;
	return set_text(&f->r->ucx_version, rep->hello.version);
}

static int add_latency(struct np_aggregate *f, const struct np_report *rep)
{
	struct np_leaf_run *run;
	uint64_t n = 0;

	run = np_record_leaf(f->r, f->rank[rep->rank].leaf);
	if (!run)
		return -ENOMEM;
	if (!run->hist)
		run->hist = np_hist_new();
	if (!run->windows) {
		run->windows = malloc(sizeof(*run->windows));
		if (run->windows)
			np_series_init(run->windows, WINDOW_SEC);
	}
	if (!run->hist || !run->windows)
		return -ENOMEM;
	for (size_t i = 0; i < rep->window.n_bins; i++)
		n += rep->window.bins[i].count;
	if (n != rep->window.sec.n || !np_moments_valid(&rep->window.sec) ||
	    np_series_add(run->windows, rep->window.at_sec, &rep->window.sec))
		return -EINVAL;
	for (size_t i = 0; i < rep->window.n_bins; i++)
		np_hist_add_bin(run->hist, rep->window.bins[i].bin,
				rep->window.bins[i].count);
	np_moments_merge(&run->latency, &rep->window.sec);
	return 0;
}

/* Like all reports, costs are what came since the last one. */
static void add_cost(struct np_aggregate *f, const struct np_report *rep)
{
	struct np_probe_run *p = &f->r->probe;
	struct rank *k = &f->rank[rep->rank];

	k->cpu_sec += rep->cost.cpu_sec;
	k->elapsed_sec += rep->cost.elapsed_sec;
	p->cpu_sec_sum += rep->cost.cpu_sec;
	p->messages += rep->cost.messages;
	p->cpu_sec_max = fmax(p->cpu_sec_max, k->cpu_sec);
	p->elapsed_sec = fmax(p->elapsed_sec, k->elapsed_sec);
	if (rep->cost.rss_bytes > p->rss_bytes_max)
		p->rss_bytes_max = rep->cost.rss_bytes;
}

static int add_skip(struct np_aggregate *f, const struct np_report *rep)
{
	struct np_leaf_run *run = np_record_leaf(f->r, rep->skip.leaf);

	return run ? set_text(&run->skipped, rep->skip.reason) : -ENOMEM;
}

int np_aggregate_impact(struct np_aggregate *f, const struct np_report *rep)
{
	if (rep->kind == NP_REPORT_HELLO)
		return add_hello(f, rep);
	if (rep->rank >= f->n_ranks || !f->rank[rep->rank].known)
		return -EINVAL; /* nobody that said hello */
	switch (rep->kind) {
	case NP_REPORT_LATENCY:
		return add_latency(f, rep);
	case NP_REPORT_COST:
		add_cost(f, rep);
		return 0;
	case NP_REPORT_SKIP:
		return add_skip(f, rep);
	case NP_REPORT_NOTE:
		np_record_note(f->r, "probe %u: %s", rep->rank, rep->note);
		return 0;
	case NP_REPORT_BYE:
		f->byes++;
		return 0;
	default:
		return -EINVAL;
	}
}

uint32_t np_aggregate_byes(const struct np_aggregate *f)
{
	return f->byes;
}

bool np_aggregate_impact_is_up(const struct np_aggregate *f)
{
	return f->n_ranks && f->r->probe.n_processes == f->n_ranks;
}

/* ---- interference levels ---- */

/*
 * Beside a program that is over before it has settled there is nothing but
 * its start-up to go by.
 */
static void add_beside(struct np_aggregate *f, struct held *h)
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
static void add_outlived(struct np_aggregate *f, double until_sec)
{
	for (size_t i = 0; i < N_HELD; i++)
		if (f->held[i].sec.n &&
		    f->held[i].to_sec + WIND_UP_SEC <= until_sec)
			add_beside(f, &f->held[i]);
}

void np_aggregate_level_done(struct np_aggregate *f, double program_end_sec)
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
static void hold(struct np_aggregate *f, double to_sec, bool settled,
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

static int add_rounds(struct np_aggregate *f, const struct np_report *rep,
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

int np_aggregate_level_report(struct np_aggregate *f,
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

double np_aggregate_level_age(const struct np_aggregate *f, double now_sec)
{
	return isnan(f->zero_sec) ? 0 : now_sec - f->zero_sec;
}
