/*
 * netprof-analysis curve: prints the results that netprof needs of a trace, as
 * a record. Not for users; netprof runs it (cli_analysis.h).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli_curve.h"
#include "cli_graph.h"
#include "cli_options.h"
#include "np_trace_analysis.h"

enum { THRESHOLDS = 1, TIMES = 2 };

/* Results, and what the record borrows. */
struct curve {
	struct np_trace_analysis t;
	struct np_trace_threshold threshold[NP_TRACE_THRESHOLDS];
	struct np_response response;
};

const double cli_threshold_shares[CLI_THRESHOLDS] = { 0.01, 0.02, 0.05 };

void cli_thresholds(struct np_tolerance *t, double base, const double *share,
		    size_t n, struct cli_threshold *out)
{
	for (size_t i = 0; i < n; i++) {
		out[i].share = share[i];
		out[i].limit = np_tolerance_limit(t, base, share[i]);
	}
}

/* Computes the default thresholds and puts them into the record. */
static int find_thresholds(const struct np_graph *g, struct curve *c,
			   struct np_err *err)
{
	const struct np_tolerance_opt opt = { .net = c->t.net,
					      .x = NP_LOGGPS_L };
	struct cli_threshold threshold[NP_TRACE_THRESHOLDS];
	struct np_tolerance *t;
	int rc = np_tolerance_new(g, &opt, &t, err);

	if (rc)
		return rc;
	cli_thresholds(t, c->t.net.L_ns, cli_threshold_shares,
		       NP_TRACE_THRESHOLDS, threshold);
	np_tolerance_free(t);
	for (size_t i = 0; i < NP_TRACE_THRESHOLDS; i++) {
		double sec = 1e-9 * (threshold[i].limit - c->t.net.L_ns);

		c->threshold[i].longer = threshold[i].share;
		c->threshold[i].added_sec = isfinite(sec) ? sec : NAN;
	}
	c->t.threshold = c->threshold;
	c->t.n_thresholds = NP_TRACE_THRESHOLDS;
	return 0;
}

/*
 * Fills c with what the bits in `what` ask for. err remains part of the record
 * as the reason why something is missing.
 */
static int analyse(const char *path, const struct np_loggps *net, int what,
		struct curve *c, struct np_err *err)
{
	struct np_graph *g;
	int rc;

	*c = (struct curve){ .t = {
		.date = (double)time(NULL), .netprof_version = NP_VERSION,
		.why = err->text, .trace_bytes = np_trace_bytes(path),
		.net = *net,
	} };
	rc = cli_graph_load(path, NULL, &g, err);
	if (rc)
		return rc;
	if (what & THRESHOLDS)
		rc = find_thresholds(g, c, err);
	if (!rc && what & TIMES)
		rc = np_response_make(g, net, &c->response, err);
	if (!rc && what & TIMES) {
		c->t.times = c->response.times[0];
		c->t.n_times = sizeof(c->response.times) / sizeof(double);
	}
	np_graph_free(g);
	return rc;
}

void cli_curve_store(const char *path, const struct np_loggps *net)
{
	struct np_err err = NP_ERR_INIT;
	struct np_trace_analysis was;
	struct curve c;

	if (!np_trace_analysis_load(path, geteuid(), &was, NULL)) {
		bool fits =
			was.n_times && was.n_thresholds &&
			np_trace_analysis_fits(&was, np_trace_bytes(path), net);

		np_trace_analysis_free(&was);
		if (fits)
			return;
	}
	if (np_trace_is_own(path) &&
	    !analyse(path, net, THRESHOLDS | TIMES, &c, &err))
		np_trace_analysis_save(path, &c.t, NULL);
}

/* Parses "L,o,G,S,first,g", as written by cli_analysis.c. */
static int parse_net(const char *text, struct np_loggps *net)
{
	unsigned long long S;
	int first;

	if (sscanf(text, "%lf,%lf,%lf,%llu,%d,%lf", &net->L_ns, &net->o_ns,
		   &net->G_ns, &S, &first, &net->g_ns) != 6)
		return -1;
	net->S = S;
	net->first_byte_free = first;
	return 0;
}

/* Prints the record even if the analysis fails: it then contains the reason. */
static int run_curve(const struct cli_cmd *self, int argc, char **argv)
{
	struct np_err why = NP_ERR_INIT, err = NP_ERR_INIT;
	struct np_loggps net;
	struct curve c;
	char *text;

	if (argc != 4 || parse_net(argv[2], &net))
		return cli_usage(self,
				 "expected thresholds or times, a network and "
				 "a trace");
	analyse(argv[3], &net,
		strcmp(argv[1], "thresholds") ? TIMES : THRESHOLDS, &c, &why);
	if (np_trace_analysis_put(&c.t, &text, &err))
		return cli_fail("%s", err.text);
	fputs(text, stdout);
	free(text);
	return CLI_DONE;
}

const struct cli_cmd cmd_curve = {
	.name = "curve",
	.args = "thresholds|times L,o,G,S,FIRST,g TRACE",
	.help = "what netprof asks of a trace",
	.text = "Prints a record for netprof.",
	.run = run_curve,
};
