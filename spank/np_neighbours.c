/* Who else was on the step's leaves: what slurmctld knows of. */
#include "np_beside.h"
#include "np_slurm_compat.h"

#include <errno.h>
#include <math.h>
#include <string.h>

struct search {
	struct np_beside beside;
	uint32_t het_job_id;
	double until;
	const struct np_record *r;
};

/* Seconds that [start, end) and the run so far have in common; end 0: still going. */
static double overlap(const struct search *s, time_t start, time_t end)
{
	double to = end && end < s->until ? (double)end : s->until;

	return to - fmax((double)start, s->r->start);
}

static int merge_jobs(struct search *s, struct np_err *err)
{
	job_info_msg_t *msg = NULL;
	int rc = 0;

	if (slurm_load_jobs(0, &msg, SHOW_ALL))
		return np_errf(err, -EIO, "slurmctld does not tell the jobs: "
			       "%s", slurm_strerror(errno));
	for (uint32_t i = 0; !rc && i < msg->record_count; i++) {
		const slurm_job_info_t *j = &msg->job_array[i];
		int base = j->job_state & JOB_STATE_BASE;
		struct np_candidate c = { j->job_id, NP_NO_VALUE, j->nodes, 0 };

		/* A pending job has a start time, too: the expected one. */
		if (base == JOB_PENDING || !j->nodes ||
		    j->job_id == s->r->job_id ||
		    (s->het_job_id && j->het_job_id == s->het_job_id))
			continue;
		c.overlap_sec = overlap(s, j->start_time, base == JOB_RUNNING ?
					0 : j->end_time);
		rc = np_beside_add(&s->beside, &c, err);
	}
	np_free_jobs(msg);
	return rc;
}

static int merge_steps(struct search *s, struct np_err *err)
{
	job_step_info_response_msg_t *msg = NULL;
	int rc = 0;

	if (np_load_job_steps(s->r->job_id, &msg))
		return np_errf(err, -EIO, "slurmctld does not tell the steps "
			       "of job %u: %s", s->r->job_id,
			       slurm_strerror(errno));
	for (uint32_t i = 0; !rc && i < msg->job_step_count; i++) {
		const job_step_info_t *t = &msg->job_steps[i];
		struct np_candidate c = {
			t->step_id.job_id, t->step_id.step_id, t->nodes,
			overlap(s, t->start_time, 0),
		};

		if (t->step_id.step_id >= SLURM_MAX_NORMAL_STEP_ID ||
		    t->step_id.step_id == s->r->step_id || !t->nodes ||
		    (t->name && !strcmp(t->name, NP_SIDE_NAME)))
			continue;
		rc = np_beside_add(&s->beside, &c, err);
	}
	slurm_free_job_step_info_response_msg(msg);
	return rc;
}

int np_cluster_neighbours(const struct np_leafmap *l,
			  const struct np_hosts *nodes, double until,
			  uint32_t het_job_id, struct np_record *r,
			  struct np_err *err)
{
	struct search s = {
		.het_job_id = het_job_id, .until = until, .r = r,
	};
	int rc = np_beside_init(&s.beside, l, nodes, r, err);

	if (rc)
		return rc;
	rc = merge_jobs(&s, err);
	if (!rc)
		rc = merge_steps(&s, err);
	np_beside_free(&s.beside);
	return rc == NP_BESIDE_FULL ? 0 : rc;
}
