#include "np_aggregate.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WINDOW_SEC 1.0

/* What the record's totals need to know of each probe process. */
struct rank {
	char leaf[NP_REPORT_WORD];
	bool known;
	double cpu_sec, elapsed_sec;
};

struct np_aggregate {
	struct np_record *r;
	struct rank *rank;
	uint32_t n_ranks, hellos, byes;
};

struct np_aggregate *np_aggregate_new(struct np_record *r)
{
	struct np_aggregate *f = calloc(1, sizeof(*f));

	if (f)
		f->r = r;
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
	f->hellos++;
	f->r->probe.n_processes = f->hellos;
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

uint32_t np_aggregate_hellos(const struct np_aggregate *f)
{
	return f->hellos;
}

uint32_t np_aggregate_byes(const struct np_aggregate *f)
{
	return f->byes;
}

bool np_aggregate_impact_is_up(const struct np_aggregate *f)
{
	return f->n_ranks && f->hellos == f->n_ranks;
}
