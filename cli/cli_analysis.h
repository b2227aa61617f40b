/*
 * Interface to the optional package netprof-analysis, which analyses traces and
 * execution graphs of applications. Its results are records in the store
 * (np_trace_analysis.h). A record that was made for the same trace and network
 * is read from there; otherwise the program netprof-analysis is run.
 */
#ifndef CLI_ANALYSIS_H
#define CLI_ANALYSIS_H

#include "cli_known.h"
#include "np_loggps.h"
#include "np_trace_analysis.h"

/*
 * Replace this process by netprof-analysis; argv[0] is the name of its command.
 * Returns only on failure, for example if the package is not installed: the
 * exit status, after printing the error.
 */
int cli_analysis_run(char **argv);

/* Results: thresholds of latency tolerance, or run time over latency. */
enum cli_traced_result { CLI_TRACED_THRESHOLDS, CLI_TRACED_RUN_TIMES };

/*
 * Get a result for the trace or graph at path on that network: from the record
 * next to it, whose owner must be uid, or else from netprof-analysis.
 * max_bytes: larger traces are not analysed.
 * Returns 0, and the caller frees *out with np_trace_analysis_free(), or with
 * err: -E2BIG, -ENODATA (the trace has no such result), -ENOENT
 * (netprof-analysis is not installed) or another -errno.
 */
int cli_traced_get(const char *path, uid_t uid, enum cli_traced_result result,
		   const struct np_loggps *network, double max_bytes,
		   struct np_trace_analysis *out, struct np_err *err);

struct cli_traced {
	struct np_response response; /* run time over latency */
	struct np_err why;	     /* why there is no response, or "" */
};

/*
 * Attach the response of the trace at path to a program, or why there is none.
 * network: where the program ran; NULL: not known. *traced is filled in and
 * must outlive the program.
 */
void cli_traced_attach(const char *path, uid_t uid,
		       const struct np_loggps *network,
		       struct cli_traced *traced, struct np_program *program);

/*
 * If the model needs traces, attach the newest trace of each application. The
 * network is that of the calibration's cluster, as netprof loggps measured it.
 * A missing trace is no error here: predictions of that application report it.
 */
void cli_known_attach_traces(struct cli_known *known, struct cli_store *store,
			     const struct np_model *model);

#endif
