#include "np_window.h"

#include <string.h>

/* So many bins, with counts of any size, fit into one line for sure. */
#define BINS 44

void np_window_init(struct np_window *w, enum np_report_kind kind,
		    uint32_t rank, double width_sec, np_window_emit_f *emit,
		    void *arg)
{
	memset(w, 0, sizeof(*w));
	w->report.kind = kind;
	w->report.rank = rank;
	w->width_sec = width_sec;
	w->emit = emit;
	w->arg = arg;
}

void np_window_flush(struct np_window *w)
{
	struct np_report *r = &w->report;

	if (r->window.sec.n) {
		r->window.at_sec = (double)w->index * w->width_sec;
		w->emit(r, w->arg);
	}
	memset(&r->window, 0, sizeof(r->window));
}

void np_window_tick(struct np_window *w, double now_sec)
{
	uint64_t index = now_sec > 0 ? (uint64_t)(now_sec / w->width_sec) : 0;

	if (index <= w->index)
		return;
	np_window_flush(w);
	w->index = index;
}

/* Where bin is or belongs among the sorted bins. */
static size_t place_of(const struct np_report *r, uint16_t bin)
{
	size_t i = 0;

	while (i < r->window.n_bins && r->window.bins[i].bin < bin)
		i++;
	return i;
}

static int has(const struct np_report *r, size_t i, uint16_t bin)
{
	return i < r->window.n_bins && r->window.bins[i].bin == bin;
}

static void count_bin(struct np_window *w, uint16_t bin)
{
	struct np_report *r = &w->report;
	size_t i = place_of(r, bin);

	if (has(r, i, bin) ? r->window.bins[i].count == UINT32_MAX :
			     r->window.n_bins == BINS) {
		np_window_flush(w);
		i = 0;
	}
	if (!has(r, i, bin)) {
		memmove(&r->window.bins[i + 1], &r->window.bins[i],
			(r->window.n_bins - i) * sizeof(r->window.bins[0]));
		r->window.bins[i].bin = bin;
		r->window.bins[i].count = 0;
		r->window.n_bins++;
	}
	r->window.bins[i].count++;
}

void np_window_add(struct np_window *w, double at_sec, double value_sec)
{
	np_window_tick(w, at_sec);
	if (w->report.kind == NP_REPORT_LATENCY)
		count_bin(w, (uint16_t)np_hist_bin_of(value_sec));
	np_moments_add(&w->report.window.sec, value_sec);
}
