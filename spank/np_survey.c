#include "np_survey.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Nodes of the allocation as np_place() wants them. */
static struct np_place_node *list_nodes(const struct np_survey *s,
					const struct np_hosts *job,
					const struct np_hosts *busy)
{
	struct np_place_node *node = calloc(job->n, sizeof(*node));

	for (size_t i = 0; node && i < job->n; i++) {
		node[i].name = job->name[i];
		node[i].leaf = np_leafmap_find(s->leaves, job->name[i]);
		node[i].in_step = np_hosts_has(&s->step, job->name[i]);
		node[i].busy = np_hosts_has(busy, job->name[i]);
	}
	return node;
}

static int note_leaf(struct np_record *r, const struct np_survey *s,
		     const char *leaf)
{
	struct np_hosts here = { NULL, 0 };
	struct np_leaf_run *run = np_record_leaf(r, leaf);
	int rc = run ? 0 : -ENOMEM;

	if (run && run->nodes)
		return 0;
	for (size_t i = 0; !rc && i < s->step.n; i++)
		if (!strcmp(np_leafmap_find(s->leaves, s->step.name[i]), leaf))
			rc = np_hosts_add(&here, s->step.name[i]);
	if (!rc) {
		run->n_nodes = (uint32_t)here.n;
		run->nodes = np_hosts_compress(&here);
		if (here.n < 2)
			run->skipped = strdup("one node of the step on this "
					      "leaf: no partner");
	}
	np_hosts_free(&here);
	return rc;
}

static int keep_choice(struct np_survey *s, const struct np_place_node *node,
		       size_t n)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < n; i++) {
		if (node[i].probe)
			rc = np_hosts_add(&s->probes, node[i].name);
		if (!rc && node[i].level)
			rc = np_hosts_add(&s->level, node[i].name);
	}
	return rc;
}

static int choose(const struct np_order *o, struct np_survey *s,
		  struct np_err *err)
{
	struct np_hosts job = { NULL, 0 }, busy = { NULL, 0 };
	struct np_place_node *node = NULL;
	int rc;

	rc = np_cluster_job_nodes(o->job_id, &job, err);
	if (!rc)
		rc = np_cluster_busy_nodes(o->job_id, o->step_id, &busy, err);
	if (!rc) {
		node = list_nodes(s, &job, &busy);
		rc = node ? 0 : -ENOMEM;
	}
	if (!rc && !np_place(node, job.n, &s->scope, err))
		rc = -ENODEV;
	if (!rc)
		rc = keep_choice(s, node, job.n);
	free(node);
	np_hosts_free(&job);
	np_hosts_free(&busy);
	return rc;
}

/* mpirun itself, and its first ranks, run where it called srun. */
static int add_this_host(struct np_hosts *step)
{
	const char *node = getenv("SLURMD_NODENAME");

	return node && !np_hosts_has(step, node) ? np_hosts_add(step, node) : 0;
}

int np_survey_make(const struct np_order *o, struct np_record *r,
		   struct np_survey *s, struct np_err *err)
{
	int rc;

	*s = (struct np_survey){ .leaves = NULL };
	rc = np_cluster_step_nodes(o->job_id, o->step_id, &s->step, err);
	if (!rc && o->launcher)
		rc = add_this_host(&s->step);
	if (!rc)
		rc = np_leafmap_load(&s->leaves, err);
	for (size_t i = 0; !rc && i < s->step.n; i++)
		rc = note_leaf(r, s, np_leafmap_find(s->leaves,
						    s->step.name[i]));
	if (!rc)
		rc = choose(o, s, err);
	if (rc) {
		np_survey_free(s);
		return rc;
	}
	r->n_nodes = (uint32_t)s->step.n;
	r->nodes = np_hosts_compress(&s->step);
	return 0;
}

void np_survey_free(struct np_survey *s)
{
	np_leafmap_free(s->leaves);
	np_hosts_free(&s->step);
	np_hosts_free(&s->probes);
	np_hosts_free(&s->level);
	*s = (struct np_survey){ .leaves = NULL };
}
