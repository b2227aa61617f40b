/* Answers of netprof qn: one network at one or several populations. */
#ifndef CLI_QN_H
#define CLI_QN_H

#include "cli_options.h"
#include "np_network.h"

#define CLI_QN_SHARES 8

/* The network at one population. */
struct cli_qn_row {
	uint64_t customers; /* of the class that changes */
	struct np_qn_solution s;
	double least, most; /* bounds of throughput; most 0: there are none */
	double *percentile; /* of each class, of each of its shares */
};

struct cli_qn {
	const char *path;
	struct np_network n; /* its customers are those of the last row */
	const char *method;  /* "exact", "linearizer", ... */
	const char *how;     /* "exact, by convolution" */
	size_t changes;	     /* class whose customers change */
	double share[CLI_QN_SHARES]; /* percentiles, 0 .. 1 */
	size_t n_shares;
	struct cli_qn_row *row;
	size_t n_rows;
};

/* Each prints all and returns the exit status. */
int cli_qn_text(const struct cli_qn *q);
int cli_qn_data(const struct cli_qn *q, enum cli_format format);
int cli_qn_plot(const struct cli_qn *q, const char *path);

/* How busy a station is made by all classes. */
double cli_qn_busy(const struct cli_qn *q, size_t row, size_t station);

#endif
