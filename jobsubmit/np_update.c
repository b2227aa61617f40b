/* One update of one job. */
#include <errno.h>

#include "np_apply.h"

int np_update_send(uint32_t job_id, const char *job_id_str,
		   const struct np_update *u)
{
	job_array_resp_msg_t *resp = NULL;
	job_desc_msg_t d;
	int rc;

	slurm_init_job_desc_msg(&d);
	d.exc_nodes = u->exc_nodes;
	d.admin_comment = u->comment;
	if (u->begin_sec)
		d.begin_time = u->begin_sec;
	if (!job_id_str) {
		np_job_desc_set_id(&d, job_id);
		return slurm_update_job(&d) ? errno : 0;
	}
	d.job_id_str = (char *)job_id_str;
	rc = slurm_update_job2(&d, &resp) ? errno : 0;
	if (!rc && resp && resp->job_array_count)
		rc = (int)resp->error_code[0];
	if (resp)
		slurm_free_job_array_resp(resp);
	return rc;
}
