/*
 * Measured values, gathered into windows of time and handed on as reports.
 */
#ifndef NP_WINDOW_H
#define NP_WINDOW_H

#include <stdint.h>

#include "np_report.h"

/* Takes a report; it is valid during the call only. */
typedef void np_window_emit_f(const struct np_report *r, void *arg);

struct np_window {
	double width_sec;
	uint64_t index; /* the window covers index * width_sec and on */
	struct np_report report; /* NP_REPORT_LATENCY or NP_REPORT_ROUND */
	np_window_emit_f *emit;
	void *arg;
};

/*
 * kind: NP_REPORT_LATENCY (with histogram) or NP_REPORT_ROUND.  Times given
 * to the functions below are seconds since the common start.
 */
void np_window_init(struct np_window *w, enum np_report_kind kind,
		    uint32_t rank, double width_sec, np_window_emit_f *emit,
		    void *arg);

/*
 * Count a value (seconds, >= 0) seen at at_sec.  A window that is over, or
 * has no room for one more bin, is handed on first.
 */
void np_window_add(struct np_window *w, double at_sec, double value_sec);

/* Hand on the window if it is over by now_sec and not empty. */
void np_window_tick(struct np_window *w, double now_sec);

/* Hand on what there is. */
void np_window_flush(struct np_window *w);

#endif
