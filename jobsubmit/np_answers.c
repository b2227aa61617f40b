/* What Slurm tells of nodes, partitions, switches and jobs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "np_view.h"

static int load_topology(char **text, struct np_err *err)
{
	topo_info_response_msg_t *msg = NULL;
	size_t len;
	FILE *out;
	int failed = 1;

	if (np_load_topo(&msg))
		return np_errf(err, -EIO, "slurm_load_topo: %s",
			       slurm_strerror(errno));
	out = open_memstream(text, &len);
	if (out) {
		np_print_topo(out, msg);
		failed = fclose(out);
	}
	slurm_free_topo_info_msg(msg);
	return failed ? np_errf(err, -ENOMEM, "out of memory") : 0;
}

int np_answers_load(struct np_answers *a, struct np_err *err)
{
	int rc;

	a->nodes = NULL;
	a->parts = NULL;
	a->jobs = NULL;
	a->topology = NULL;
	/* Jobs first: nodes that change meanwhile are better known as late as
	   possible, and a job that is missing was admitted by job_submit. */
	if (slurm_load_jobs(0, &a->jobs, SHOW_ALL))
		return np_errf(err, -EIO, "slurm_load_jobs: %s",
			       slurm_strerror(errno));
	if (slurm_load_node(0, &a->nodes, SHOW_ALL | SHOW_MIXED))
		rc = np_errf(err, -EIO, "slurm_load_node: %s",
			     slurm_strerror(errno));
	else if (slurm_load_partitions(0, &a->parts, SHOW_ALL))
		rc = np_errf(err, -EIO, "slurm_load_partitions: %s",
			     slurm_strerror(errno));
	else
		rc = load_topology(&a->topology, err);
	if (rc)
		np_answers_free(a);
	return rc;
}

void np_answers_free(struct np_answers *a)
{
	np_free_jobs(a->jobs);
	slurm_free_node_info_msg(a->nodes);
	slurm_free_partition_info_msg(a->parts);
	free(a->topology);
	a->jobs = NULL;
	a->nodes = NULL;
	a->parts = NULL;
	a->topology = NULL;
}
