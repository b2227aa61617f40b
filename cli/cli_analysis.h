/*
 * The interface to the package netprof-analysis: it analyses traces and graphs
 * of applications and leaves the results as records in the store (np_trace_analysis.h).
 * A record that matches the network is read from the store; otherwise the
 * program netprof-analysis is run.
 */
#ifndef CLI_ANALYSIS_H
#define CLI_ANALYSIS_H

#include "cli_known.h"
#include "np_loggps.h"
#include "np_trace_analysis.h"

/*
 * Replace this process by netprof-analysis; argv[0] is the name of the
 * command. Returns only on failure: the exit status, after printing why,
 * perhaps that the package has to be installed.
 */
int cli_analysis_run(char **argv);

/* Results: thresholds of latency tolerance, or run time over latency. */
enum cli_traced_what { CLI_TRACED_THRESHOLDS, CLI_TRACED_CURVE };

/*
 * Get a result for the trace or graph at path on that network: from the record
 * next to it, whose owner must be uid, or else from netprof-analysis.
 * max_bytes: a larger trace is not analysed.
 * Returns 0, and the caller frees *out with np_trace_analysis_free(), or with err:
 * -E2BIG, -ENODATA (the trace has no such result), -ENOENT (netprof-analysis is
 * not installed) or another -errno.
 */
int cli_traced_get(const char *path, uid_t uid, enum cli_traced_what what,
		   const struct np_loggps *net, double max_bytes,
		   struct np_trace_analysis *out, struct np_err *err);

struct cli_traced {
	struct np_response response;
	struct np_err why; /* why there is no response, or "" */
};

/*
 * Attach the response of a trace to a program, or why there is none.  net: the
 * network where it ran; NULL: not known.  *t is filled in and must outlive a.
 */
void cli_traced_attach(const char *path, uid_t uid, const struct np_loggps *net,
		       struct cli_traced *t, struct np_program *a);

/*
 * If model m needs traces, attach the newest trace of each application.  The
 * network is that of the calibration's cluster, as netprof loggps measured it.
 * Returns 0 or -ENOMEM; a missing trace is reported when the model is asked.
 */
int cli_known_attach_traces(struct cli_known *k, struct cli_store *s,
		    const struct np_model *m);

#endif
