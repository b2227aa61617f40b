/*
 * What the attendant asks slurmctld.  Every function here is one or two RPCs:
 * never call one from a SPANK callback of slurmd or a step.
 */
#ifndef NP_CLUSTER_H
#define NP_CLUSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "np_err.h"
#include "np_record.h"
#include "np_slurm_compat.h"

/* Host names, expanded. */
struct np_hosts {
	char **name;
	size_t n;
};

/*
 * Add the names of a hostlist expression.  Returns 0, -EINVAL or -ENOMEM, and
 * then some may have been added.
 */
int np_hosts_expand(const char *expression, struct np_hosts *h);
/* Add one name.  Returns 0 or -ENOMEM. */
int np_hosts_add(struct np_hosts *h, const char *name);
int np_hosts_has(const struct np_hosts *h, const char *name);
/* As a hostlist expression, malloc'ed; NULL: out of memory. */
char *np_hosts_compress(const struct np_hosts *h);
void np_hosts_free(struct np_hosts *h);

/*
 * Leaf switch of every node in the topology that the job's partition has;
 * without a topology all are on "".
 */
struct np_leafmap;
int np_leafmap_load(uint32_t job_id, struct np_leafmap **out,
		    struct np_err *err);
/* The same of what slurmctld says of its topology, np_topo.h. */
int np_leafmap_parse(const char *text, struct np_leafmap **out,
		     struct np_err *err);
void np_leafmap_free(struct np_leafmap *l);
const char *np_leafmap_find(const struct np_leafmap *l, const char *node);

/* The steps of a job; to be freed as Slurm wants it.  Returns 0 or -EIO. */
int np_cluster_load_steps(uint32_t job_id, job_step_info_response_msg_t **out,
			  struct np_err *err);

/* A step that somebody's program runs in: not ours, not the script's. */
bool np_cluster_is_program(const job_step_info_t *s);

/*
 * Add the nodes of a step; and to busy, which may be NULL, those on which other
 * steps of the job run, our own (named NP_SIDE_NAME) and the batch script left
 * out.  Returns 0; -ESRCH: no such step; or -errno; with err.
 */
#define NP_SIDE_NAME "netprof"
int np_cluster_step_nodes(uint32_t job_id, uint32_t step_id,
			  struct np_hosts *step, struct np_hosts *busy,
			  struct np_err *err);

/*
 * How the step's tasks are spread over its nodes, into r; and its fingerprint
 * becomes that of the workload.  Where slurmctld does not say, r stays as it
 * is.  Returns 0 or -ENOMEM.
 */
int np_cluster_step_layout(uint32_t job_id, uint32_t step_id,
			   struct np_record *r);

/* Add the nodes of a job's allocation. */
int np_cluster_job_nodes(uint32_t job_id, struct np_hosts *out,
			 struct np_err *err);

/* The cluster's name and Slurm's version, malloc'ed, into r. */
int np_cluster_identity(struct np_record *r, struct np_err *err);

#endif
