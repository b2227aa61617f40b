/*
 * The result of analysing a program's trace, for predictions and reports: its
 * run time on slower networks, how much added latency it tolerates, and for
 * which network that was computed. netprof-analysis writes it as one JSON
 * object next to the trace,
 *
 *	STORE/users/UID/APP/JOB.STEP.curve	(of JOB.STEP.trace)
 *
 * A file is hostile input: its size and every number are bounded, and an error
 * names the member that is wrong.
 */
#ifndef NP_TRACE_ANALYSIS_H
#define NP_TRACE_ANALYSIS_H

#include <stdbool.h>
#include <sys/types.h>

#include "np_err.h"
#include "np_loggps.h"

#define NP_TRACE_ANALYSIS_SCHEMA 1
#define NP_TRACE_ANALYSIS_MAX_BYTES 65536
#define NP_TRACE_THRESHOLDS 3

/*
 * A tolerance threshold: the added latency that makes the run longer by a
 * share.
 */
struct np_trace_threshold {
	double longer;	  /* that share, 0.01: 1 % */
	double added_sec; /* NaN: no latency does */
};

struct np_trace_analysis {
	double date; /* of the analysis, seconds since 1970 */
	char *netprof_version;
	char *why;	    /* why the trace could not be analysed, or "" */
	double trace_bytes; /* size of the trace, np_trace_bytes() */
	struct np_loggps net;
	struct np_trace_threshold
		*threshold; /* owned; NP_TRACE_THRESHOLDS or NULL */
	size_t n_thresholds;
	double *times; /* as in np_response; owned, or NULL */
	size_t n_times;
};

/* Bytes of a file, or of the regular files in a directory; 0: unreadable. */
double np_trace_bytes(const char *path);

/* Was it computed from a trace of this size and for this network? */
bool np_trace_analysis_fits(const struct np_trace_analysis *t,
			    double trace_bytes, const struct np_loggps *net);

/* Fill out from t->times; false: there are none. */
bool np_trace_analysis_response(const struct np_trace_analysis *t,
				struct np_response *out);

/* *out: one line, malloc'ed. Returns 0, or -EINVAL or -ENOMEM with err. */
int np_trace_analysis_put(const struct np_trace_analysis *t, char **out,
			  struct np_err *err);

/*
 * where: source, for messages. Returns 0 (free with np_trace_analysis_free()), or with
 * err -EINVAL, -EPROTONOSUPPORT (a newer schema) or -ENOMEM.
 */
int np_trace_analysis_get(const char *text, size_t len, const char *where,
			  struct np_trace_analysis *out, struct np_err *err);
void np_trace_analysis_free(struct np_trace_analysis *t);

/*
 * Load or save the record next to a trace. It is loaded only if uid owns it,
 * and saved only if the caller owns the trace and its directory, so that
 * another user's link cannot redirect the write. Returns 0 or -errno: -ENOENT
 * (no record, or the path does not end like a trace), -EACCES (another owner).
 */
int np_trace_analysis_load(const char *trace, uid_t uid,
			   struct np_trace_analysis *out);
bool np_trace_is_own(const char *trace); /* would a save be allowed? */
int np_trace_analysis_save(const char *trace,
			   const struct np_trace_analysis *t);

#endif
