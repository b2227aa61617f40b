/*
 * Compares a run with its comparable runs: what its nodes and its neighbours'
 * nodes did, how unusual that is, and what each suspected cause cost
 * (np_blame.h). Pure.
 */
#ifndef NP_EXAMINE_H
#define NP_EXAMINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "np_blame.h"
#include "np_conf.h"

enum np_cause {
	NP_CAUSE_NETWORK, /* other jobs on its leaf switches */
	NP_CAUSE_LINK,	  /* speed or errors of one node's link */
	NP_CAUSE_CPU,	  /* waiting for processors, and steal time */
	NP_CAUSE_CLOCK,	  /* frequency of the processors */
	NP_CAUSE_MEMORY,  /* waiting for memory */
	NP_CAUSE_IO,	  /* waiting for disks and file systems */
	NP_N_CAUSES
};

/* A node on the leaf switches of a run; values are means over the run. */
struct np_examine_node {
	uint32_t node, leaf;	    /* numbers of np_acct */
	bool own;		    /* of the run; else of other jobs or idle */
	double value[NP_N_SIGNALS]; /* NaN: no value */
};

/*
 * Share of a run's own probes that was delayed, beyond the share in undisturbed
 * runs of the same program: 0 if nothing is unusual, 1 if all were delayed.
 */
#define NP_EXAMINE_WINDOWS 48
#define NP_EXAMINE_DELAYED 0.1 /* less is as usual */

struct np_examine_probes {
	double delayed; /* in the whole run; NaN: not measured, or there is no
			   such run */
	size_t n;	/* windows; 0: not known */
	/* In parts of the run of equal length; NaN: too few probes. */
	double window[NP_EXAMINE_WINDOWS];
};

/* One run. */
struct np_examine_run {
	double sec; /* run time */
	/* Node-seconds of other jobs on its leaf switches, divided by the
	 * number of nodes there that are not its own. */
	double occupied_sec;
	struct np_examine_probes probes;
	struct np_examine_node *node;
	size_t n;
};

/* A signal of the run and of the comparable runs; of the worst own node. */
struct np_examine_signal {
	bool known; /* for the run and for a comparable one */
	bool unusual;
	uint32_t node;
	double value, usual, most; /* of the run; median and worst of others */
	double limit;		   /* smaller values are never unusual */
};

struct np_examine_result {
	struct np_blame blame; /* causes in the order of enum np_cause */
	bool by_traffic;       /* network exposure is traffic; else occupancy */
	uint32_t node[NP_N_CAUSES]; /* the worst one, or NP_NO_INDEX */
	bool one_node[NP_N_CAUSES]; /* it is far worse than the others */
	struct np_examine_signal sign[NP_N_SIGNALS];
	/*
	 * The same of the worst node of others on its leaf switches, for the
	 * signals of np_examine_is_near(). It is never unusual if it is less
	 * than on one of the run's own nodes.
	 */
	struct np_examine_signal near[NP_N_SIGNALS];
	/* Traffic of others on the leaf switch where they sent most; no node. */
	struct np_examine_signal others_traffic;
	double others, own; /* traffic on its leaf switches, bytes/s */
	double delayed;	    /* of the run, as in np_examine_probes */
	double slow_part;   /* of the run's time: windows with delayed probes */
	enum np_witness {
		NP_WITNESS_NONE,
		NP_WITNESS_AGAINST,
		NP_WITNESS_FOR
	} probes; /* do its own probes speak for the network? */
	double exposure[NP_N_CAUSES]; /* of the run, seconds; NaN: unknown */
};

/*
 * run: n_runs comparable runs, followed by the run in question. Returns 0,
 * -EINVAL or -ENOMEM with err.
 */
int np_examine(const struct np_examine_run *run, size_t n_runs,
	       struct np_examine_result *out, struct np_err *err);

/*
 * Whether a signal is also compared on the nodes of other jobs, because it
 * shows their use of what the run may need as well, such as file systems and
 * links. No cause is judged by that.
 */
bool np_examine_is_near(enum np_signal s);

/* Is a value of a node worse than another one? NaN: there is none. */
bool np_examine_is_worse(enum np_signal s, double v, double other);

/*
 * Would the value of a part of the run be unusual for a whole one? of: what is
 * known of the signal, or of the traffic of others.
 */
bool np_examine_is_unusual(enum np_signal s, const struct np_examine_signal *of,
			   double v);

#endif
