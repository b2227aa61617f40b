/* The work of `netprof tolerance`, and its pages. */
#ifndef CLI_TOLERANCE_H
#define CLI_TOLERANCE_H

#include "cli_options.h"
#include "np_collective.h"
#include "np_place_ranks.h"
#include "np_tolerance.h"
#include "np_topology_conf.h"

#define TOLERANCE_ZONES 3     /* if nobody says which */
#define TOLERANCE_MAX_ZONES 8
#define TOLERANCE_DRAWS 20    /* of where detours are */
#define TOLERANCE_POINTS 11

/* What was asked. */
struct cli_tolerance_ask {
	struct np_loggps net;
	double up_to_ns; /* added latency; NAN: as far as the zones go */
	/* Of --latency and --gap, which go into net; NAN: not said. */
	double latency_ns, gap_ns;
	bool critical;
	/* np_tolerance_opt's one_cpu, one_link and overlap */
	bool serial, shared_links, overlap;
	double share[TOLERANCE_MAX_ZONES]; /* of the zones, in order */
	size_t n_shares;
	int sweep; /* the parameter of points and of --critical */
	bool pairs; /* of ranks, on the critical path */
	const char *noise; /* as it was given; NULL: none */
	struct np_detours detours;
	const char *where; /* the topology's name; NULL: all ranks are alike */
	const struct np_topology *topology;
	struct np_topology_conf read; /* of a file; names of nodes */
	double wire_ns, switch_ns; /* NAN: not said, until all is read */
	uint32_t per_node; /* ranks; 0: the same */
	struct np_choices choices; /* of a trace's collectives */
	uint32_t trials;   /* of other placements; 0: as they are */
};

/* Parameters; with a topology the latency is that of a wire. */
enum { TOLERANCE_SWITCH = NP_LOGGPS_G + 1, TOLERANCE_PARAMS };

/* How far a parameter can go before the run takes so much longer. */
struct cli_tolerance_zone {
	double share; /* 0.01: 1 % longer */
	double limit; /* of the parameter; INFINITY: it never does */
};

/* One parameter of the network, the others as they are. */
struct cli_tolerance_of {
	double base; /* where it is, in ns or ns per byte */
	double slope;
	struct cli_tolerance_zone zone[TOLERANCE_MAX_ZONES];
};

struct cli_tolerance_point {
	double added; /* in ns, or ns per byte */
	struct np_runtime run;
};

/* What is known of one program. */
struct cli_tolerance {
	const char *file;
	uint32_t ranks;
	size_t ops, messages;
	struct cli_tolerance_of of[TOLERANCE_PARAMS];
	double ns; /* its run time */
	struct cli_tolerance_point point[TOLERANCE_POINTS];
	uint32_t *node; /* of each rank, if there is a topology */
	struct np_place_result placed; /* if other placements were tried */
	struct np_critical *critical; /* if it was asked for, or is drawn */
	size_t n_critical;
	struct np_pair *pair; /* the same */
	double *pair_limit; /* latency that one may have for the first zone */
	size_t n_pairs;
	double noise_ns[TOLERANCE_DRAWS]; /* run times with detours, sorted */
};

/* The network where nothing is known of it. */
#define CLI_TOLERANCE_NET { .L_ns = 3000, .G_ns = 0.1, \
	.S = NP_LOGGPS_NO_RENDEZVOUS }

/* 1, 2 and 5 %. */
extern const double cli_tolerance_shares[TOLERANCE_ZONES];

/* How far the parameter that t lets go can go from base. */
void cli_tolerance_zones(struct np_tolerance *t, double base,
			 const double *share, size_t n,
			 struct cli_tolerance_zone *zone);

/* -1 to go on, or the exit status.  Free *out with cli_tolerance_free(). */
int cli_tolerance_read(const char *file, const struct cli_tolerance_ask *ask,
		       struct cli_tolerance *out);
void cli_tolerance_free(struct cli_tolerance *t);

/* How many of the zones the swept one is within: all of the first, 0 of none. */
size_t cli_tolerance_zone_of(const struct cli_tolerance *t,
			     const struct cli_tolerance_ask *ask, double added);

/* "wire" or "latency" */
const char *cli_tolerance_latency(const struct cli_tolerance_ask *ask);

/* Of what points are; "wires" or "messages", "overheads", "bytes". */
const char *cli_tolerance_unit(const struct cli_tolerance_ask *ask);

/* The part of the run time that a parameter makes up. */
double cli_tolerance_ratio(double x, const struct np_runtime *r);

void cli_tolerance_text(const struct cli_tolerance *t,
			const struct cli_tolerance_ask *ask);
int cli_tolerance_plot(const struct cli_tolerance *t, size_t n,
		       const struct cli_tolerance_ask *ask, const char *path);
int cli_tolerance_data(const struct cli_tolerance *t, size_t n,
		       const struct cli_tolerance_ask *ask,
		       enum cli_format format);

/* cmd_curve.c */

/*
 * Beside a trace of the store that is one's own: the whole record.  What cannot
 * be written, or computed, is passed over: netprof asks again.
 */
void cli_curve_leave(const char *path, const struct np_loggps *net);

#endif
