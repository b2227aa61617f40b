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

/* All that a class is at one population, and at one station. */
struct cli_qn_class {
	const char *name;
	uint64_t customers;
	double x_per_sec, response_sec, think_sec;
};

struct cli_qn_place {
	const char *station, *class;
	double present, utilisation, x_per_sec, residence_sec;
	double per_visit_sec; /* NaN: never visited */
};

struct cli_qn_class cli_qn_class(const struct cli_qn *q, size_t row, size_t c);
struct cli_qn_place cli_qn_place(const struct cli_qn *q, size_t row, size_t c,
				 size_t k);

/* "queueing", "multi-server", "delay", "load-dependent" */
const char *cli_qn_kind(const struct np_qn_station *st);

/* Of all classes at a station; and the station that is busiest, but delays. */
double cli_qn_busy(const struct cli_qn *q, size_t row, size_t k);
/* n_stations: none */
size_t cli_qn_busiest(const struct cli_qn *q, size_t row);

/* Each prints all and returns the exit status. */
int cli_qn_text(const struct cli_qn *q);
int cli_qn_parsable(const struct cli_qn *q);
int cli_qn_json(const struct cli_qn *q);

#endif
