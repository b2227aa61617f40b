/* Answers of netprof qn: one network at one or several populations. */
#ifndef CLI_QN_H
#define CLI_QN_H

#include "cli.h"
#include "np_network.h"

/* The network at one population. */
struct cli_qn_row {
	uint64_t customers; /* of the class that changes */
	struct np_qn_solution s;
	double least, most; /* bounds of throughput; most 0: there are none */
};

struct cli_qn {
	const char *path;
	struct np_network n; /* its customers are those of the last row */
	const char *method;  /* "exact", "linearizer", ... */
	const char *how;     /* "exact, by convolution" */
	size_t changes;	     /* class whose customers change */
	struct cli_qn_row *row;
	size_t n_rows;
};

/* Each prints all and returns the exit status. */
int cli_qn_text(const struct cli_qn *q);
int cli_qn_data(const struct cli_qn *q, enum cli_format format);

#endif
