#include "spank_script.h"

#include <sys/wait.h>

#include <slurm/slurm.h>

#include "np_script.h"

#define WAIT_MS 1000 /* for records, before Slurm kills */

void spank_script_ends(spank_t sp)
{
	uint32_t job_id, step_id;
	uid_t user;
	int status;

	if (spank_get_item(sp, S_JOB_STEPID, &step_id) != ESPANK_SUCCESS ||
	    step_id != SLURM_BATCH_SCRIPT ||
	    spank_get_item(sp, S_JOB_ID, &job_id) != ESPANK_SUCCESS ||
	    spank_get_item(sp, S_JOB_UID, &user) != ESPANK_SUCCESS ||
	    spank_get_item(sp, S_TASK_EXIT_STATUS, &status) != ESPANK_SUCCESS)
		return;
	np_script_tell(job_id, user, WIFSIGNALED(status) ?
		       128 + WTERMSIG(status) : WEXITSTATUS(status), WAIT_MS);
}
