/*
 * One submission, between the description that Slurm hands over and what is
 * written into it.  No RPC, no file.
 */
#ifndef NP_SUBMIT_H
#define NP_SUBMIT_H

#include <stdint.h>

#include "np_shared.h"
#include "np_slurm_compat.h"

/*
 * The application that is told: --netprofile=APP, then NETPROF_APP; a bare
 * --netprofile means the job's name.  Returns whether there is one.
 */
bool np_submit_told(const job_desc_msg_t *d, char app[NP_APP_MAX + 1]);

/*
 * Decide about a job and write the decision into its description.  starting:
 * no decision was made yet, as slurmctld has just started.
 */
void np_submit(struct np_shared *shared, job_desc_msg_t *d, int64_t now_sec,
	       bool starting);

/*
 * A user, an administrator or the thread changes a job.  Returns 0; or EAGAIN
 * for the thread, as somebody changed the job since it looked: to be refused.
 */
int np_modify(struct np_shared *shared, job_desc_msg_t *d, uint32_t uid);

#endif
