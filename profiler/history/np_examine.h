/*
 * A run beside its comparable runs: what its nodes and its neighbours' nodes
 * did, in how far that is unusual, and what each suspect cost (np_blame.h).
 * Pure.
 */
#ifndef NP_EXAMINE_H
#define NP_EXAMINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "np_blame.h"
#include "np_metrics_conf.h"

enum np_cause {
	NP_CAUSE_NETWORK, /* other jobs on its leaf switches */
	NP_CAUSE_LINK,	  /* speed or errors of a node's own link */
	NP_CAUSE_CPU,	  /* waiting for processors, and steal */
	NP_CAUSE_CLOCK,	  /* frequency of processors */
	NP_CAUSE_MEMORY,  /* waiting for memory */
	NP_CAUSE_IO,	  /* waiting for disks and file systems */
	NP_N_CAUSES
};

/* "network", "link" ... for programs */
const char *np_cause_name(enum np_cause c);

/* A node of the leaf switches of a run, averaged over the run; NaN: no value. */
struct np_seen_node {
	uint32_t node, leaf; /* numbers of np_acct */
	bool own;	     /* of the run, else of other jobs or none */
	double value[NP_N_SIGNALS];
};

/* One run. */
struct np_seen {
	double sec; /* run time */
	/* Other jobs' node-seconds on its leaf switches over the other nodes. */
	double occupied_sec;
	struct np_seen_node *node;
	size_t n;
};

/* A signal of the run beside the comparable ones: of the worst own node. */
struct np_sign {
	bool known;	      /* of the run and of a comparable one */
	bool unusual;
	uint32_t node;
	double value, usual, most; /* of the run; median and most of the others */
};

struct np_examined {
	struct np_blame blame; /* causes as in enum np_cause */
	bool by_traffic;       /* the network's exposure; else by occupied nodes */
	uint32_t node[NP_N_CAUSES]; /* the worst, or NP_NO_NUMBER */
	bool one_node[NP_N_CAUSES]; /* it is far worse than the others */
	struct np_sign sign[NP_N_SIGNALS];
	double others, own; /* traffic on its leaf switches, bytes per second */
	double exposure[NP_N_CAUSES]; /* of the run, seconds; NaN: not known */
};

/*
 * run: n_runs comparable ones, then the one that is asked about.  Returns 0,
 * -EINVAL or -ENOMEM with err.
 */
int np_examine(const struct np_seen *run, size_t n_runs,
	       struct np_examined *out, struct np_err *err);

#endif
