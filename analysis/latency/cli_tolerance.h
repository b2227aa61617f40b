/* Computations and reports of `netprof tolerance`. */
#ifndef CLI_TOLERANCE_H
#define CLI_TOLERANCE_H

#include "cli_options.h"
#include "np_collective.h"
#include "np_place_ranks.h"
#include "np_tolerance.h"
#include "np_topology_conf.h"

#define TOLERANCE_ZONES 3     /* number of default thresholds */
#define TOLERANCE_MAX_ZONES 8
#define TOLERANCE_DRAWS 20    /* simulations with different detours */
#define TOLERANCE_POINTS 11

/* The request, from the command line. */
struct cli_tolerance_ask {
	struct np_loggps net;
	double up_to_ns; /* maximum added; NAN: determined by the thresholds */
	/* --latency and --gap, to be copied into net; NAN: not given */
	double latency_ns, gap_ns;
	bool critical;
	/* one_cpu, one_link and overlap of np_tolerance_opt */
	bool serial, shared_links, overlap;
	double share[TOLERANCE_MAX_ZONES]; /* thresholds, ascending */
	size_t n_shares;
	int sweep; /* parameter of the points and of --critical */
	bool pairs; /* pairs of ranks on the critical path */
	const char *noise; /* argument of --noise, or NULL */
	struct np_detours detours;
	/* name of the topology; NULL: the same latency everywhere */
	const char *where;
	const struct np_topology *topology;
	/* topology from a file, with names of nodes */
	struct np_topology_conf read;
	double wire_ns, switch_ns; /* NAN while parsing: not given */
	uint32_t per_node; /* ranks; 0 while parsing: not given */
	/* algorithms for the collectives of a trace */
	struct np_choices choices;
	uint32_t trials;   /* number of other placements to try; 0: none */
};

/* Parameters. With a topology, the latency is that of a wire. */
enum { TOLERANCE_SWITCH = NP_LOGGPS_G + 1, TOLERANCE_PARAMS };

/* The value of a parameter at which the run takes a certain share longer. */
struct cli_tolerance_zone {
	double share; /* 0.01: 1 % longer */
	double limit; /* value of the parameter; INFINITY: no limit */
};

/* Results for one parameter, with the others unchanged. */
struct cli_tolerance_of {
	double base; /* its value in the network, in ns or ns per byte */
	double slope;
	struct cli_tolerance_zone zone[TOLERANCE_MAX_ZONES];
};

struct cli_tolerance_point {
	double added; /* ns, or ns per byte */
	struct np_runtime run;
};

/* All results for one program. */
struct cli_tolerance {
	const char *file;
	uint32_t ranks;
	size_t ops, messages;
	struct cli_tolerance_of of[TOLERANCE_PARAMS];
	double ns; /* run time */
	struct cli_tolerance_point point[TOLERANCE_POINTS];
	uint32_t *node; /* by rank, with a topology */
	struct np_place_result placed; /* if other placements were tried */
	struct np_critical *critical; /* if requested or plotted */
	size_t n_critical;
	struct np_pair *pair; /* if requested */
	/* latency of one pair alone that reaches the first threshold */
	double *pair_limit;
	size_t n_pairs;
	/* run times with detours, ascending */
	double noise_ns[TOLERANCE_DRAWS];
};

/* Network parameters used if nothing was measured. */
#define CLI_TOLERANCE_NET { .L_ns = 3000, .G_ns = 0.1, \
	.S = NP_LOGGPS_NO_RENDEZVOUS }

/* 1, 2 and 5 %. */
extern const double cli_tolerance_shares[TOLERANCE_ZONES];

/* Computes the thresholds of t's parameter, which is base in the network. */
void cli_tolerance_zones(struct np_tolerance *t, double base,
			 const double *share, size_t n,
			 struct cli_tolerance_zone *zone);

/*
 * Returns -1 to continue, or the exit status. Free with cli_tolerance_free().
 */
int cli_tolerance_read(const char *file, const struct cli_tolerance_ask *ask,
		       struct cli_tolerance *out);
void cli_tolerance_free(struct cli_tolerance *t);

/*
 * How many thresholds are not exceeded when the swept parameter increases by
 * added: all of them in the first zone, 0 beyond the last.
 */
size_t cli_tolerance_zone_of(const struct cli_tolerance *t,
			     const struct cli_tolerance_ask *ask, double added);

/* "wire" or "latency" */
const char *cli_tolerance_latency(const struct cli_tolerance_ask *ask);

/* What slopes count: "wires", "messages", "overheads" or "bytes". */
const char *cli_tolerance_unit(const struct cli_tolerance_ask *ask);

/* The share of the run time that a parameter causes. */
double cli_tolerance_ratio(double x, const struct np_runtime *r);

void cli_tolerance_text(const struct cli_tolerance *t,
			const struct cli_tolerance_ask *ask);
int cli_tolerance_plot(const struct cli_tolerance *t, size_t n,
		       const struct cli_tolerance_ask *ask, const char *path);
int cli_tolerance_data(const struct cli_tolerance *t, size_t n,
		       const struct cli_tolerance_ask *ask,
		       enum cli_format format);


/*
 * In cmd_curve.c: stores the complete record beside a trace in the user's own
 * store. Failures are ignored; netprof computes the record again when it needs
 * it.
 */
void cli_curve_store(const char *path, const struct np_loggps *net);

#endif
