/*
 * The callbacks job_submit and job_modify: what they write into the job
 * description that Slurm hands them. They use no RPC and no file.
 */
#ifndef NP_SUBMIT_H
#define NP_SUBMIT_H

#include <stdint.h>

#include "np_shared.h"
#include "np_slurm_compat.h"

/*
 * The application that a submission names: --netprofile=APP, else NETPROF_APP;
 * --netprofile without a value means the job's name. Returns whether there is
 * one. Exported for the tests.
 */
bool np_submit_app(const job_desc_msg_t *d, char app[NP_APP_MAX + 1]);

/*
 * Decide about a submission and write the decision into its description.
 * starting: slurmctld has just started, so that no decision was made yet.
 */
void np_submit(struct np_shared *shared, job_desc_msg_t *d, int64_t now_sec,
	       bool starting);

/*
 * A user, an administrator or the placement thread changes a job. Returns 0; or
 * EAGAIN, to refuse an update of the thread because somebody changed the job
 * after the thread had read it.
 */
int np_modify(struct np_shared *shared, job_desc_msg_t *d, uint32_t uid);

#endif
