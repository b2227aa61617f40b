/* The work of `netprof tolerance`, and its pages. */
#ifndef CLI_TOLERANCE_H
#define CLI_TOLERANCE_H

#include "cli_options.h"
#include "np_collective.h"
#include "np_place_ranks.h"
#include "np_tolerance.h"
#include "np_topology_conf.h"

#define TOLERANCE_ZONES 3
#define TOLERANCE_POINTS 11

/* What was asked. */
struct cli_tolerance_ask {
	struct np_loggps net;
	double up_to_ns; /* added latency; NAN: as far as the zones go */
	/* Of --latency and --gap, which go into net; NAN: not said. */
	double latency_ns, gap_ns;
	bool critical;
	bool serial, shared_links; /* np_tolerance_opt's one_cpu, one_link */
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
	struct cli_tolerance_zone zone[TOLERANCE_ZONES];
};

struct cli_tolerance_point {
	double added_ns;
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
	struct np_critical *critical; /* if it was asked for */
	size_t n_critical;
};

/* The network where nothing is known of it. */
#define CLI_TOLERANCE_NET { .L_ns = 3000, .G_ns = 0.1, \
	.S = NP_LOGGPS_NO_RENDEZVOUS }

/* How far the parameter that t lets go can go from base. */
void cli_tolerance_zones(struct np_tolerance *t, double base,
			 struct cli_tolerance_zone zone[TOLERANCE_ZONES]);

/* -1 to go on, or the exit status.  Free *out with cli_tolerance_free(). */
int cli_tolerance_read(const char *file, const struct cli_tolerance_ask *ask,
		       struct cli_tolerance *out);
void cli_tolerance_free(struct cli_tolerance *t);

/* How many of the zones L + added is within: 3 of the first, 0 of none. */
int cli_tolerance_zone_of(const struct cli_tolerance *t, double added_ns);

/* "wire" or "latency" */
const char *cli_tolerance_latency(const struct cli_tolerance_ask *ask);

/* The part of the run time that a parameter makes up. */
double cli_tolerance_ratio(double x, const struct np_runtime *r);

void cli_tolerance_text(const struct cli_tolerance *t,
			const struct cli_tolerance_ask *ask);
int cli_tolerance_plot(const struct cli_tolerance *t, size_t n,
		       const struct cli_tolerance_ask *ask, const char *path);
int cli_tolerance_data(const struct cli_tolerance *t, size_t n,
		       const struct cli_tolerance_ask *ask,
		       enum cli_format format);

#endif
