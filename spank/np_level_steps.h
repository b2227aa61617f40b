/*
 * The steps that bring an interference level to its nodes: one of each node,
 * as a step of several nodes whose job ends while it starts keeps its nodes
 * for a minute (Slurm's slurmstepds then wait for those that never started).
 */
#ifndef NP_LEVEL_STEPS_H
#define NP_LEVEL_STEPS_H

#include "np_cluster.h"
#include "np_sidecmd.h"
#include "np_sidestep.h"

struct np_level_steps {
	struct np_sidestep *step;
	size_t n;
};

/*
 * On each of the hosts; again: for one level after the other.  Returns 0 or
 * -errno with err; free in any case.
 */
int np_level_steps_start(struct np_level_steps *c, const struct np_sidejob *job,
			 const struct np_conf *conf,
			 const struct np_hosts *hosts,
			 uint16_t port, bool again, char *const env[],
			 struct np_err *err);

/* Take in what they say, now and then: all of it is srun's own words. */
void np_level_steps_read(struct np_level_steps *c);

/* How many still run. */
size_t np_level_steps_running(struct np_level_steps *c);
void np_level_steps_signal(const struct np_level_steps *c, int sig);

/* How the first that failed ended, in words; buf stays as it is if none did. */
void np_level_steps_cause(const struct np_level_steps *c, char *buf,
			  size_t len);

void np_level_steps_free(struct np_level_steps *c);

#endif
