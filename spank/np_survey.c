#include "np_survey.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Sorted copies of the pointers, for has(). */
static char **index_names(const struct np_hosts *h)
{
	char **sorted = malloc((h->n + 1) * sizeof(*sorted));

	if (sorted && h->n) {
		memcpy(sorted, h->name, h->n * sizeof(*sorted));
		qsort(sorted, h->n, sizeof(*sorted), by_name);
	}
	return sorted;
}

static bool has(char *const *sorted, size_t n, const char *name)
{
	return n && bsearch(&name, sorted, n, sizeof(*sorted), by_name);
}

struct nodes {
	struct np_place_node *node;
	size_t n;
};

static void add(struct nodes *all, const struct np_survey *s, const char *name,
		bool in_step, bool busy)
{
	all->node[all->n++] = (struct np_place_node){
		.name = name, .leaf = np_leafmap_find(s->leaves, name),
		.in_step = in_step, .busy = busy,
	};
}

/* The step's nodes, and the other ones of the allocation. */
static int list_nodes(const struct np_survey *s, const struct np_hosts *job,
		      const struct np_hosts *busy, struct nodes *all)
{
	char **step = index_names(&s->step);
	char **others = busy ? index_names(busy) : NULL;
	size_t room = s->step.n + (job ? job->n : 0);

	all->n = 0;
	all->node = calloc(room ? room : 1, sizeof(*all->node));
	if (all->node && step && (others || !busy)) {
		for (size_t i = 0; i < s->step.n; i++)
			add(all, s, s->step.name[i], true, false);
		for (size_t i = 0; job && i < job->n; i++)
			if (!has(step, s->step.n, job->name[i]))
				add(all, s, job->name[i], false, busy &&
				    has(others, busy->n, job->name[i]));
	}
	free(step);
	free(others);
	return all->n ? 0 : -ENOMEM;
}

/* node[n]: a leaf and all of the allocation on it. */
static int note_leaf(struct np_record *r, const struct np_place_node *node,
		     size_t n)
{
	struct np_hosts here = { NULL, 0 };
	struct np_leaf_run *run;
	int rc = 0;

	for (size_t i = 0; !rc && i < n; i++)
		if (node[i].in_step)
			rc = np_hosts_add(&here, node[i].name);
	if (rc || !here.n)
		goto out;
	run = np_record_leaf(r, node[0].leaf);
	if (!run) {
		rc = -ENOMEM;
		goto out;
	}
	run->n_nodes = (uint32_t)here.n;
	run->nodes = np_hosts_compress(&here);
	if (here.n < 2)
		run->skipped = strdup("one node of the step on this leaf: no "
				      "partner");
out:
	np_hosts_free(&here);
	return rc;
}

int np_survey_plan(struct np_survey *s, const struct np_hosts *job,
		   const struct np_hosts *busy, uint32_t max_level,
		   struct np_record *r, struct np_err *err)
{
	struct nodes all;
	int rc = list_nodes(s, job, busy, &all);

	if (!rc && !np_place(all.node, all.n, max_level, &s->scope, err))
		rc = -ENODEV;
	for (size_t i = 0, end; !rc && i < all.n; i = end) {
		end = np_place_leaf_end(all.node, all.n, i);
		rc = note_leaf(r, &all.node[i], end - i);
	}
	for (size_t i = 0; !rc && job && i < all.n; i++)
		if (all.node[i].level)
			rc = np_hosts_add(&s->level, all.node[i].name);
	free(all.node);
	if (rc)
		return rc;
	r->n_nodes = (uint32_t)s->step.n;
	r->nodes = np_hosts_compress(&s->step);
	return r->nodes ? 0 : -ENOMEM;
}

/* mpirun itself, and its first ranks, run where it called srun. */
static int add_this_host(struct np_hosts *step)
{
	const char *node = getenv("SLURMD_NODENAME");

	return node && !np_hosts_has(step, node) ? np_hosts_add(step, node) : 0;
}

int np_survey_make(const struct np_order *o, uint32_t max_level,
		   struct np_record *r, struct np_survey *s,
		   struct np_err *err)
{
	struct np_hosts job = { NULL, 0 }, busy = { NULL, 0 };
	bool level = o->level[0];
	int rc;

	*s = (struct np_survey){ .leaves = NULL };
	rc = np_cluster_step_nodes(o->job_id, o->step_id, &s->step, err);
	if (!rc && o->launcher)
		rc = add_this_host(&s->step);
	if (!rc)
		rc = np_leafmap_load(&s->leaves, err);
	if (!rc && level)
		rc = np_cluster_job_nodes(o->job_id, &job, err);
	if (!rc && level)
		rc = np_cluster_busy_nodes(o->job_id, o->step_id, &busy, err);
	if (!rc)
		rc = np_survey_plan(s, level ? &job : NULL,
				    level ? &busy : NULL, max_level, r, err);
	np_hosts_free(&job);
	np_hosts_free(&busy);
	if (rc)
		np_survey_free(s);
	return rc;
}

void np_survey_free(struct np_survey *s)
{
	np_leafmap_free(s->leaves);
	np_hosts_free(&s->step);
	np_hosts_free(&s->level);
	*s = (struct np_survey){ .leaves = NULL };
}

/* ---- what the record says of it from the start ---- */

const char *np_describe_scope(const struct np_survey *where)
{
	return where->scope == NP_SCOPE_LEAF ? "leaf" : "node";
}

int np_describe_level(struct np_record *r, const struct np_level *level,
		      const struct np_survey *where)
{
	struct np_level_run *l = calloc(1, sizeof(*l));

	if (!l)
		return -ENOMEM;
	r->level = l;
	l->name = strdup(level->name);
	l->partners = level->partners;
	l->messages = level->messages;
	l->bytes = level->bytes;
	l->pause_sec = level->pause_sec;
	l->scope = strdup(np_describe_scope(where));
	l->nodes = np_hosts_compress(&where->level);
	return l->name && l->scope && l->nodes ? 0 : -ENOMEM;
}

int np_describe_step(struct np_record *r, const struct np_order *o,
		     const struct np_conf *conf, double start_date,
		     struct np_err *err)
{
	char host[65] = "";

	gethostname(host, sizeof(host) - 1);
	strcpy(r->app, o->app);
	r->uid = geteuid();
	r->job_id = o->job_id;
	r->step_id = o->step_id;
	r->array_job_id = o->array_job_id;
	r->array_task_id = o->array_task_id;
	r->het_component = o->het_component;
	r->n_tasks = o->n_tasks;
	r->executable = strdup(o->executable);
	r->fingerprint = strdup(o->fingerprint);
	r->netprof_version = strdup(NP_VERSION);
	r->host = strdup(host);
	r->start = start_date;
	r->probe.message_bytes = conf->message_bytes;
	r->probe.period_sec = conf->period_sec;
	r->probe.per_node = 1;
	if (!r->executable || !r->fingerprint || !r->netprof_version ||
	    !r->host)
		return -ENOMEM;
	return np_cluster_identity(r, err);
}
