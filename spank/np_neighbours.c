/* Who else was on the step's leaves. */
#include "np_cluster.h"
#include "np_slurm_compat.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Slurm's times are whole seconds: less than that may be no overlap at all. */
#define LEAST_OVERLAP_SEC 1.0

struct search {
	const struct np_leafmap *leaves;
	uint32_t het_job_id;
	struct np_hosts own; /* leaves of the step, not nodes; sorted */
	double until;
	struct np_record *r;
};

struct candidate {
	uint32_t job_id;
	long step_id; /* NP_NO_VALUE: a whole job */
	const char *nodes;
	double overlap_sec;
};

static struct np_neighbour *find(struct np_record *r,
				 const struct candidate *c, const char *leaf)
{
	for (size_t i = 0; i < r->n_neighbours; i++) {
		struct np_neighbour *n = &r->neighbours[i];

		if (n->job_id == c->job_id && n->step_id == c->step_id &&
		    !strcmp(n->leaf, leaf))
			return n;
	}
	return NULL;
}

static struct np_neighbour *add(struct np_record *r, const struct candidate *c,
				const char *leaf)
{
	struct np_neighbour *more, *n;

	more = realloc(r->neighbours, (r->n_neighbours + 1) * sizeof(*more));
	if (!more)
		return NULL;
	r->neighbours = more;
	n = &more[r->n_neighbours];
	*n = (struct np_neighbour){ .job_id = c->job_id,
				    .step_id = c->step_id,
				    .leaf = strdup(leaf) };
	if (!n->leaf)
		return NULL;
	r->n_neighbours++;
	return n;
}

/* A node of a candidate, and its leaf. */
struct spot {
	const char *leaf, *node;
};

static int by_leaf(const void *a, const void *b)
{
	return strcmp(((const struct spot *)a)->leaf,
		      ((const struct spot *)b)->leaf);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool is_own(const struct search *s, const char *leaf)
{
	return s->own.n && bsearch(&leaf, s->own.name, s->own.n,
				   sizeof(*s->own.name), by_name);
}

/* spot[n]: the candidate's nodes on one leaf.  Beyond the bound: no more. */
static int merge_leaf(struct search *s, const struct candidate *c,
		      const struct spot *spot, size_t n_spots)
{
	struct np_neighbour *n = find(s->r, c, spot[0].leaf);
	struct np_hosts here = { NULL, 0 };
	int rc = 0;

	if (!n && s->r->n_neighbours == NP_RECORD_MAX_NEIGHBOURS)
		return 0;
	if (!n)
		n = add(s->r, c, spot[0].leaf);
	if (!n)
		return -ENOMEM;
	for (size_t i = 0; !rc && !n->nodes && i < n_spots; i++)
		rc = np_hosts_add(&here, spot[i].node);
	if (!rc && !n->nodes)
		n->nodes = np_hosts_compress(&here);
	n->overlap_sec = fmax(n->overlap_sec, c->overlap_sec);
	np_hosts_free(&here);
	return rc;
}

static int merge_hosts(struct search *s, const struct candidate *c,
		       const struct np_hosts *hosts)
{
	struct spot *spot = calloc(hosts->n + 1, sizeof(*spot));
	size_t n = 0;
	int rc = spot ? 0 : -ENOMEM;

	for (size_t i = 0; !rc && i < hosts->n; i++) {
		const char *leaf = np_leafmap_find(s->leaves, hosts->name[i]);

		if (is_own(s, leaf))
			spot[n++] = (struct spot){ leaf, hosts->name[i] };
	}
	if (n)
		qsort(spot, n, sizeof(*spot), by_leaf);
	for (size_t i = 0, end; !rc && i < n; i = end) {
		for (end = i + 1; end < n && !by_leaf(&spot[i], &spot[end]);
		     end++)
			;
		rc = merge_leaf(s, c, &spot[i], end - i);
	}
	free(spot);
	return rc;
}

static int merge(struct search *s, const struct candidate *c)
{
	struct np_hosts hosts = { NULL, 0 };
	int rc;

	if (!(c->overlap_sec > LEAST_OVERLAP_SEC))
		return 0;
	rc = np_hosts_expand(c->nodes, &hosts);
	if (!rc)
		rc = merge_hosts(s, c, &hosts);
	np_hosts_free(&hosts);
	return rc;
}

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
		struct candidate c = { j->job_id, NP_NO_VALUE, j->nodes, 0 };

		/* A pending job has a start time, too: the expected one. */
		if (base == JOB_PENDING || !j->nodes ||
		    j->job_id == s->r->job_id ||
		    (s->het_job_id && j->het_job_id == s->het_job_id))
			continue;
		c.overlap_sec = overlap(s, j->start_time, base == JOB_RUNNING ?
					0 : j->end_time);
		rc = merge(s, &c);
	}
	slurm_free_job_info_msg(msg);
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
		struct candidate c = {
			t->step_id.job_id, t->step_id.step_id, t->nodes,
			overlap(s, t->start_time, 0),
		};

		if (t->step_id.step_id >= SLURM_MAX_NORMAL_STEP_ID ||
		    t->step_id.step_id == s->r->step_id || !t->nodes ||
		    (t->name && !strcmp(t->name, NP_SIDE_NAME)))
			continue;
		rc = merge(s, &c);
	}
	slurm_free_job_step_info_response_msg(msg);
	return rc;
}

/* The step's leaves, sorted, each once. */
static int list_leaves(struct search *s, const struct np_hosts *nodes)
{
	struct np_hosts all = { calloc(nodes->n + 1, sizeof(*all.name)), 0 };
	int rc = all.name ? 0 : -ENOMEM;

	for (size_t i = 0; !rc && i < nodes->n; i++)
		all.name[all.n++] = (char *)np_leafmap_find(s->leaves,
							    nodes->name[i]);
	if (all.n)
		qsort(all.name, all.n, sizeof(*all.name), by_name);
	for (size_t i = 0; !rc && i < all.n; i++)
		if (!i || strcmp(all.name[i - 1], all.name[i]))
			rc = np_hosts_add(&s->own, all.name[i]);
	free(all.name); /* not the names */
	return rc;
}

int np_cluster_neighbours(const struct np_leafmap *l,
			  const struct np_hosts *nodes, double until,
			  uint32_t het_job_id, struct np_record *r,
			  struct np_err *err)
{
	struct search s = {
		.leaves = l, .het_job_id = het_job_id, .until = until, .r = r,
	};
	int rc = list_leaves(&s, nodes);

	if (!rc)
		rc = merge_jobs(&s, err);
	if (!rc)
		rc = merge_steps(&s, err);
	np_hosts_free(&s.own);
	return rc;
}
