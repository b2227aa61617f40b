#include "np_survey.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "np_level.h"
#include "np_numbers.h"

/* A node of the step, or another one of its allocation. */
struct node {
	const char *name, *leaf; /* leaf "": no topology, one leaf for all */
	size_t index;		 /* where it stood */
	bool in_step;		 /* the measured step runs here */
	bool busy;		 /* another step of the job runs here */
	bool level;		 /* the interference level runs here */
};

struct nodes {
	struct node *node; /* by leaf, and by index within one */
	size_t n;
};

/* ---- which there are ---- */

static int add(struct nodes *all, struct np_numbers *seen,
	       const struct np_survey *s, const struct np_hosts *hosts,
	       bool in_step)
{
	for (size_t i = 0; i < hosts->n; i++) {
		const char *name = hosts->name[i];
		uint32_t at = np_numbers_get(seen, name, strlen(name));

		if (at == NP_NO_NUMBER)
			return -ENOMEM;
		if (at == all->n)
			all->node[all->n++] = (struct node){
				.name = name, .index = at, .in_step = in_step,
				.leaf = np_leafmap_find(s->leaves, name),
			};
	}
	return 0;
}

static int by_leaf(const void *a, const void *b)
{
	const struct node *x = a, *y = b;
	int c = strcmp(x->leaf, y->leaf);

	return c ? c : (x->index > y->index) - (x->index < y->index);
}

static int list_nodes(const struct np_survey *s, const struct np_hosts *job,
		      const struct np_hosts *busy, struct nodes *all)
{
	struct np_numbers seen = { .n = 0 };
	int rc;

	all->n = 0;
	all->node = calloc(s->step.n + job->n + 1, sizeof(*all->node));
	rc = all->node ? add(all, &seen, s, &s->step, true) : -ENOMEM;
	if (!rc)
		rc = add(all, &seen, s, job, false);
	for (size_t i = 0; !rc && i < busy->n; i++) {
		uint32_t at = np_numbers_find(&seen, busy->name[i],
					      strlen(busy->name[i]));

		if (at != NP_NO_NUMBER)
			all->node[at].busy = true;
	}
	np_numbers_free(&seen);
	if (!rc && all->n)
		qsort(all->node, all->n, sizeof(*all->node), by_leaf);
	return rc;
}

/* The end of the leaf that begins at first. */
static size_t leaf_end(const struct nodes *all, size_t first)
{
	size_t end = first + 1;

	while (end < all->n &&
	       !strcmp(all->node[first].leaf, all->node[end].leaf))
		end++;
	return end;
}

/* ---- where the level goes ---- */

static bool is_idle(const struct node *n)
{
	return !n->in_step && !n->busy;
}

static size_t count_level(const struct node *node, size_t n)
{
	size_t found = 0;

	for (size_t i = 0; i < n; i++)
		found += node[i].level;
	return found;
}

/* On nodes of the step, or on idle ones beside it. */
static size_t place_on_leaf(struct node *node, size_t n, enum np_scope scope)
{
	size_t step = 0, idle = 0;

	for (size_t i = 0; i < n; i++) {
		step += node[i].in_step;
		idle += is_idle(&node[i]);
	}
	for (size_t i = 0; i < n; i++)
		node[i].level = step > 1 && (scope == NP_SCOPE_LEAF ?
			idle > 1 && is_idle(&node[i]) : node[i].in_step);
	return count_level(node, n);
}

/* The number of nodes that it takes. */
static size_t place(struct nodes *all, enum np_scope scope)
{
	size_t n = 0;

	for (size_t i = 0, end; i < all->n; i = end) {
		end = leaf_end(all, i);
		n += place_on_leaf(&all->node[i], end - i, scope);
	}
	return n;
}

/* Keep two and two of the leaf: of all pairs, evenly, keep of each `of`. */
static void thin_leaf(struct node *node, size_t n, size_t keep, size_t of,
		      size_t *seen)
{
	size_t left = count_level(node, n) / 2 * 2;

	for (size_t i = 0; i < n; i++) {
		if (!node[i].level)
			continue;
		node[i].level = left && *seen * keep / of !=
					(*seen + 1) * keep / of;
		if (left && --left % 2 == 0)
			++*seen;
	}
}

static void thin(struct nodes *all, size_t most)
{
	size_t pairs = 0, seen = 0;

	for (size_t i = 0, end; i < all->n; i = end) {
		end = leaf_end(all, i);
		pairs += count_level(&all->node[i], end - i) / 2;
	}
	for (size_t i = 0, end; i < all->n; i = end) {
		end = leaf_end(all, i);
		thin_leaf(&all->node[i], end - i, most / 2, pairs, &seen);
	}
}

/* ---- the plan ---- */

/* node[n]: a leaf and all of the allocation on it. */
static int note_leaf(struct np_record *r, const struct node *node, size_t n)
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

static int plan(struct np_survey *s, struct nodes *all, size_t max_level,
		struct np_err *err)
{
	size_t taken;

	s->scope = NP_SCOPE_LEAF;
	taken = place(all, s->scope);
	if (!taken) {
		s->scope = NP_SCOPE_NODE;
		taken = place(all, s->scope);
	}
	if (!taken)
		return np_errf(err, -ENODEV, "no two nodes of the step share a "
			       "leaf switch");
	if (taken > max_level)
		thin(all, max_level);
	return 0;
}

int np_survey_plan(struct np_survey *s, const struct np_hosts *job,
		   const struct np_hosts *busy, uint32_t max_level,
		   struct np_record *r, struct np_err *err)
{
	struct nodes all;
	int rc = list_nodes(s, job, busy, &all);

	if (!rc)
		rc = plan(s, &all, max_level, err);
	for (size_t i = 0, end; !rc && i < all.n; i = end) {
		end = leaf_end(&all, i);
		rc = note_leaf(r, &all.node[i], end - i);
	}
	for (size_t i = 0; !rc && job->n && i < all.n; i++)
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
	rc = np_cluster_step_nodes(o->job_id, o->step_id, &s->step,
				   level ? &busy : NULL, err);
	if (!rc)
		rc = np_cluster_step_layout(o->job_id, o->step_id, r);
	if (!rc && o->launcher)
		rc = add_this_host(&s->step);
	if (!rc)
		rc = np_leafmap_load(o->job_id, &s->leaves, err);
	if (!rc && level)
		rc = np_cluster_job_nodes(o->job_id, &job, err);
	if (!rc)
		rc = np_survey_plan(s, &job, &busy, max_level, r, err);
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
	r->cpus_per_task = o->cpus_per_task;
	if (o->cpu_bind[0]) {
		r->cpu_bind = strdup(o->cpu_bind);
		if (!r->cpu_bind)
			return -ENOMEM;
	}
	if (!r->executable || !r->fingerprint || !r->netprof_version ||
	    !r->host)
		return -ENOMEM;
	return np_cluster_identity(r, err);
}
