/* netprof qn: solutions of a network at one or several populations. */
#ifndef CLI_QN_H
#define CLI_QN_H

#include "cli_options.h"
#include "np_network.h"

#define CLI_QN_SHARES 8

/* Solution at one population. */
struct cli_qn_row {
	uint64_t customers; /* of the class that varies */
	struct np_qn_solution s;
	double least, most; /* bounds of throughput; most 0: none */
	double *percentile; /* by class and share */
};

struct cli_qn {
	const char *path;
	struct np_network n; /* its customers are those of the last row */
	const char *method;  /* "exact", "linearizer", ... */
	const char *how;     /* description, such as "exact, by convolution" */
	size_t changes;	     /* class whose customers vary */
	double share[CLI_QN_SHARES]; /* percentiles requested, 0 .. 1 */
	size_t n_shares;
	struct cli_qn_row *row;
	size_t n_rows;
};

/* Each prints the complete report and returns the exit status. */
int cli_qn_text(const struct cli_qn *q);
int cli_qn_data(const struct cli_qn *q, enum cli_format format);
int cli_qn_plot(const struct cli_qn *q, const char *path);

/* Utilisation of a station by all classes. */
double cli_qn_busy(const struct cli_qn *q, size_t row, size_t station);

#endif
