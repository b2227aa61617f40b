/* The command lines of our own steps.  Pure. */
#ifndef NP_SIDECMD_H
#define NP_SIDECMD_H

#include <stddef.h>
#include <stdint.h>

#include "np_args.h"
#include "np_conf.h"

/* The job beside whose steps ours run. */
struct np_sidejob {
	const char *srun; /* path of the program */
	uint32_t job_id;
	long het_component;  /* -1: not heterogeneous */
	uint32_t het_job_id; /* the leader's job id, or 0 */
};

/*
 * Each fills args, to which the caller may add what is for the probe.
 * args->rc says whether there was memory; free with np_args_free().
 */

/* srun of per_node processes of ImpactB on each of n_nodes nodes. */
void np_sidecmd_impact(struct np_args *args, const struct np_sidejob *job,
		       const struct np_conf *conf, const char *nodes,
		       size_t n_nodes);

/* srun of one process of CompressionB on each of n_nodes nodes. */
void np_sidecmd_level(struct np_args *args, const struct np_sidejob *job,
		      const struct np_conf *conf, const char *level,
		      const char *nodes, size_t n_nodes);

/* srun of one process of netprof-prtt on each of n_nodes nodes. */
void np_sidecmd_prtt(struct np_args *args, const struct np_sidejob *job,
		     const struct np_conf *conf, const char *nodes,
		     size_t n_nodes);

/*
 * srun of one netprof-join on a node, to join the attendant at that port of
 * this host as a part of its interference level.  A step of one node has no
 * other node's slurmstepd to wait for when it or its job ends early.  again: it
 * joins once more whenever a probe of its has ended.
 */
void np_sidecmd_join(struct np_args *args, const struct np_sidejob *job,
		     const struct np_conf *conf, const char *node,
		     uint16_t port, bool again);

#endif
