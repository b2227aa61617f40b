#include "np_cluster.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "np_array.h"
#include "np_layout.h"

/* Host names, by Slurm's own hostlists. */

int np_hosts_add(struct np_hosts *h, const char *name)
{
	char *copy = strdup(name);

	if (!copy)
		return -ENOMEM;
	if (np_array_more(&h->name, h->n, sizeof(*h->name))) {
		free(copy);
		return -ENOMEM;
	}
	h->name[h->n++] = copy;
	return 0;
}

int np_hosts_expand(const char *expression, struct np_hosts *h)
{
	np_hostlist_t list = slurm_hostlist_create(expression);
	size_t most = h->n + NP_RECORD_MAX_NODES;
	char *name;
	int rc = 0;

	if (!list)
		return -EINVAL;
	while (!rc && (name = slurm_hostlist_shift(list))) {
		rc = h->n < most ? np_hosts_add(h, name) : -EINVAL;
		free(name);
	}
	slurm_hostlist_destroy(list);
	return rc;
}

int np_hosts_has(const struct np_hosts *h, const char *name)
{
	for (size_t i = 0; i < h->n; i++)
		if (!strcmp(h->name[i], name))
			return 1;
	return 0;
}

char *np_hosts_compress(const struct np_hosts *h)
{
	np_hostlist_t list = slurm_hostlist_create(NULL);
	char *text;

	if (!list)
		return NULL;
	for (size_t i = 0; i < h->n; i++)
		slurm_hostlist_push_host(list, h->name[i]);
	slurm_hostlist_uniq(list);
	text = np_ranged_string(list);
	slurm_hostlist_destroy(list);
	return text;
}

void np_hosts_free(struct np_hosts *h)
{
	for (size_t i = 0; i < h->n; i++)
		free(h->name[i]);
	free(h->name);
	*h = (struct np_hosts){ NULL, 0 };
}

int np_cluster_load_steps(uint32_t job_id, job_step_info_response_msg_t **out,
			  struct np_err *err)
{
	*out = NULL;
	return np_load_job_steps(job_id, out) ?
	       np_errf(err, -EIO, "slurmctld does not tell the steps of job "
		       "%u: %s", job_id, slurm_strerror(errno)) : 0;
}

bool np_cluster_is_program(const job_step_info_t *s)
{
	return s->step_id.step_id < SLURM_MAX_NORMAL_STEP_ID && s->nodes &&
	       !(s->name && !strcmp(s->name, NP_SIDE_NAME));
}

int np_cluster_step_nodes(uint32_t job_id, uint32_t step_id,
			  struct np_hosts *step, struct np_hosts *busy,
			  struct np_err *err)
{
	job_step_info_response_msg_t *msg;
	int rc = np_cluster_load_steps(job_id, &msg, err);

	if (rc)
		return rc;
	for (uint32_t i = 0; !rc && i < msg->job_step_count; i++) {
		const job_step_info_t *s = &msg->job_steps[i];

		if (s->step_id.step_id != step_id && busy &&
		    np_cluster_is_program(s))
			rc = np_hosts_expand(s->nodes, busy);
		else if (s->step_id.step_id == step_id && s->nodes && !step->n)
			rc = np_hosts_expand(s->nodes, step);
	}
	slurm_free_job_step_info_response_msg(msg);
	if (rc)
		return np_errf(err, rc, "nodes of the steps of job %u: %s",
			       job_id, strerror(-rc));
	return step->n ? 0 : np_errf(err, -ESRCH, "step %u.%u is not among the "
				     "job's steps", job_id, step_id);
}

static int take_layout(const slurm_step_layout_t *from, struct np_record *r)
{
	struct np_layout l;
	char hex[20];

	if (!from->tasks || !from->tids ||
	    np_layout_of(from->tasks, from->tids, from->node_cnt, &l))
		return -ENOMEM;
	r->tasks_per_node = l.tasks_per_node;
	r->task_order = strdup(l.order);
	if (!r->task_order || !r->fingerprint ||
	    strlen(r->fingerprint) >= sizeof(hex))
		return -ENOMEM;
	strcpy(hex, r->fingerprint);
	np_layout_fingerprint(&l, hex);
	strcpy(r->fingerprint, hex);
	return 0;
}

int np_cluster_step_layout(uint32_t job_id, uint32_t step_id,
			   struct np_record *r)
{
	slurm_step_layout_t *layout = np_load_step_layout(job_id, step_id);
	int rc = layout ? take_layout(layout, r) : 0;

	slurm_job_step_layout_free(layout);
	return rc;
}

int np_cluster_job_nodes(uint32_t job_id, struct np_hosts *out,
			 struct np_err *err)
{
	job_info_msg_t *msg = NULL;
	int rc = -ENOENT;

	if (np_load_job(&msg, job_id))
		return np_errf(err, -EIO, "slurmctld does not tell the nodes "
			       "of job %u: %s", job_id, slurm_strerror(errno));
	for (uint32_t i = 0; i < msg->record_count; i++)
		if (msg->job_array[i].job_id == job_id &&
		    msg->job_array[i].nodes) {
			rc = np_hosts_expand(msg->job_array[i].nodes, out);
			break;
		}
	np_free_jobs(msg);
	return rc ? np_errf(err, rc, "job %u: no node list", job_id) : 0;
}

int np_cluster_identity(struct np_record *r, struct np_err *err)
{
	slurm_conf_t *conf = NULL;

	if (slurm_load_ctl_conf(0, &conf))
		return np_errf(err, -EIO, "slurmctld does not answer: %s",
			       slurm_strerror(errno));
	r->cluster = strdup(conf->cluster_name ? conf->cluster_name : "");
	r->slurm_version = strdup(conf->version ? conf->version : "");
	np_free_conf(conf);
	return r->cluster && r->slurm_version ? 0 : -ENOMEM;
}
