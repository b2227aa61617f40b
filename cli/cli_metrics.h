/* What `netprof metrics` tells, and its text. */
#ifndef CLI_METRICS_H
#define CLI_METRICS_H

#include "cli_check.h"
#include "cli_state.h"

#define CLI_RESULTS (CLI_PROBLEM + 1)

struct cli_metrics {
	double now;
	bool have_state;
	struct np_state state;
	/* Of the run records that were saved within NP_EVIDENCE_RUNNING_SEC. */
	size_t n_probed_steps, n_probes;
	size_t n_users, n_closed; /* with records; that cannot be read */
	size_t n_findings[CLI_RESULTS]; /* of netprof check, by result */
};

/*
 * OpenMetrics text, of gauges alone, so that readers of the older text format
 * of Prometheus take it, too.  *text: free() it.  Returns 0 or -ENOMEM.
 */
int cli_metrics_text(const struct cli_metrics *m, char **text);

#endif
