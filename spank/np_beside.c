#include "np_beside.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "np_array.h"

/* Slurm's times are whole seconds: less than that may be no overlap at all. */
#define LEAST_OVERLAP_SEC 1.0

static struct np_neighbour *find(struct np_record *r,
				 const struct np_candidate *c, const char *leaf)
{
	for (size_t i = 0; i < r->n_neighbours; i++) {
		struct np_neighbour *n = &r->neighbours[i];

		if (n->job_id == c->job_id && n->step_id == c->step_id &&
		    !strcmp(n->leaf, leaf))
			return n;
	}
	return NULL;
}

static struct np_neighbour *add(struct np_record *r,
				const struct np_candidate *c, const char *leaf)
{
	struct np_neighbour *n;

	if (np_array_resize(&r->neighbours, r->n_neighbours + 1, sizeof(*n)))
		return NULL;
	n = &r->neighbours[r->n_neighbours];
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

static bool is_own(const struct np_beside *b, const char *leaf)
{
	return np_numbers_find(&b->own, leaf, strlen(leaf)) != NP_NO_NUMBER;
}

/* spot[n]: the candidate's nodes on one leaf. */
static int merge_leaf(struct np_beside *b, const struct np_candidate *c,
		      const struct spot *spot, size_t n_spots)
{
	struct np_neighbour *n = find(b->r, c, spot[0].leaf);
	struct np_hosts here = { NULL, 0 };
	int rc = 0;

	if (!n && b->r->n_neighbours == NP_RECORD_MAX_NEIGHBOURS) {
		np_record_note(b->r, "more than %d neighbours: the rest is "
			       "left out", NP_RECORD_MAX_NEIGHBOURS);
		return NP_BESIDE_FULL;
	}
	if (!n)
		n = add(b->r, c, spot[0].leaf);
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

static int merge_hosts(struct np_beside *b, const struct np_candidate *c,
		       const struct np_hosts *hosts)
{
	struct spot *spot = calloc(hosts->n + 1, sizeof(*spot));
	size_t n = 0;
	int rc = spot ? 0 : -ENOMEM;

	for (size_t i = 0; !rc && i < hosts->n; i++) {
		const char *leaf = np_leafmap_find(b->leaves, hosts->name[i]);

		if (is_own(b, leaf))
			spot[n++] = (struct spot){ leaf, hosts->name[i] };
	}
	if (n)
		qsort(spot, n, sizeof(*spot), by_leaf);
	for (size_t i = 0, end; !rc && i < n; i = end) {
		for (end = i + 1; end < n && !by_leaf(&spot[i], &spot[end]);
		     end++)
			;
		rc = merge_leaf(b, c, &spot[i], end - i);
	}
	free(spot);
	return rc;
}

int np_beside_add(struct np_beside *b, const struct np_candidate *c,
		  struct np_err *err)
{
	struct np_hosts hosts = { NULL, 0 };
	int rc;

	if (!(c->overlap_sec > LEAST_OVERLAP_SEC))
		return 0;
	rc = np_hosts_expand(c->nodes, &hosts);
	if (!rc)
		rc = merge_hosts(b, c, &hosts);
	np_hosts_free(&hosts);
	return rc < 0 ? np_errf(err, rc, "job %u on %.80s: %s", c->job_id,
				c->nodes, strerror(-rc)) : rc;
}

int np_beside_init(struct np_beside *b, const struct np_leafmap *leaves,
		   const struct np_hosts *nodes, struct np_record *r,
		   struct np_err *err)
{
	*b = (struct np_beside){ .leaves = leaves, .r = r };
	for (size_t i = 0; i < nodes->n; i++) {
		const char *leaf = np_leafmap_find(leaves, nodes->name[i]);

		if (np_numbers_get(&b->own, leaf, strlen(leaf)) ==
		    NP_NO_NUMBER) {
			np_beside_free(b);
			return np_errf(err, -ENOMEM, "out of memory");
		}
	}
	return 0;
}

void np_beside_free(struct np_beside *b)
{
	np_numbers_free(&b->own);
}

/* ---- what slurmctld knows of ---- */

/*
 * Seconds that [start, end), end 0: still going, and the run until then have in
 * common.
 */
static double overlap(const struct np_record *r, double until, time_t start,
		      time_t end)
{
	double to = end && end < until ? (double)end : until;

	return to - fmax((double)start, r->start);
}

/* Slurm says when a job was last suspended or resumed. */
static void see_own(const job_info_msg_t *msg, struct np_record *r)
{
	for (uint32_t i = 0; i < msg->record_count; i++) {
		const slurm_job_info_t *j = &msg->job_array[i];

		if (j->job_id == r->job_id &&
		    (double)j->suspend_time > r->start)
			r->suspended = true;
	}
}

static int merge_jobs(struct np_beside *b, double until, uint32_t het_job_id,
		      struct np_err *err)
{
	job_info_msg_t *msg = NULL;
	int rc = 0;

	if (slurm_load_jobs(0, &msg, SHOW_ALL))
		return np_errf(err, -EIO, "slurmctld does not tell the jobs: "
			       "%s", slurm_strerror(errno));
	see_own(msg, b->r);
	for (uint32_t i = 0; !rc && i < msg->record_count; i++) {
		const slurm_job_info_t *j = &msg->job_array[i];
		int base = j->job_state & JOB_STATE_BASE;
		struct np_candidate c = { j->job_id, NP_NO_VALUE, j->nodes, 0 };

		/* A pending job has a start time, too: the expected one. */
		if (base == JOB_PENDING || !j->nodes ||
		    j->job_id == b->r->job_id ||
		    (het_job_id && j->het_job_id == het_job_id))
			continue;
		c.overlap_sec = overlap(b->r, until, j->start_time,
					base == JOB_RUNNING ? 0 : j->end_time);
		rc = np_beside_add(b, &c, err);
	}
	np_free_jobs(msg);
	return rc;
}

static int merge_steps(struct np_beside *b, double until, struct np_err *err)
{
	job_step_info_response_msg_t *msg;
	int rc = np_cluster_load_steps(b->r->job_id, &msg, err);

	if (rc)
		return rc;
	for (uint32_t i = 0; !rc && i < msg->job_step_count; i++) {
		const job_step_info_t *t = &msg->job_steps[i];
		struct np_candidate c = {
			t->step_id.job_id, t->step_id.step_id, t->nodes,
			overlap(b->r, until, t->start_time, 0),
		};

		if (np_cluster_is_program(t) &&
		    t->step_id.step_id != b->r->step_id)
			rc = np_beside_add(b, &c, err);
	}
	slurm_free_job_step_info_response_msg(msg);
	return rc;
}

int np_beside_look(const struct np_leafmap *l, const struct np_hosts *nodes,
		   double until, uint32_t het_job_id, struct np_record *r,
		   struct np_err *err)
{
	struct np_beside b;
	int rc = np_beside_init(&b, l, nodes, r, err);

	if (rc)
		return rc;
	rc = merge_jobs(&b, until, het_job_id, err);
	if (!rc)
		rc = merge_steps(&b, until, err);
	np_beside_free(&b);
	return rc == NP_BESIDE_FULL ? 0 : rc;
}
