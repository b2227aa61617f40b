#include "np_view.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "np_bits.h"
#include "np_view_impl.h"

/* What Slurm tells of nodes, partitions, switches and jobs. */

static int load_topology(const char *name, char **text, struct np_err *err)
{
	topo_info_response_msg_t *msg = NULL;

	if (np_load_topo(&msg, name))
		return np_errf(err, -EIO, "slurm_load_topo: %s",
			       slurm_strerror(errno));
	return np_topo_text(msg, text) ?
	       np_errf(err, -ENOMEM, "out of memory") : 0;
}

static bool has_topology(const partition_info_t *p, const char *name)
{
	const char *its = np_partition_topology(p);

	return its && !strcmp(its, name);
}

/*
 * That of the i-th partition, if it is the first with that one, behind those
 * before.  A partition may name the cluster's own; of a name that is none,
 * Slurm takes the cluster's, too.
 */
static void add_topology(const partition_info_msg_t *parts, uint32_t i,
			 const char *cluster, FILE *out)
{
	const partition_info_t *p = parts->partition_array;
	const char *name = np_partition_topology(&p[i]);
	char *text = NULL;

	for (uint32_t k = 0; name && k < i; k++)
		if (has_topology(&p[k], name))
			return;
	if (!name || load_topology(name, &text, NULL))
		return;
	if (strcmp(text, cluster)) {
		fprintf(out, "\nPartitions=%s", p[i].name);
		for (uint32_t k = i + 1; k < parts->record_count; k++)
			if (has_topology(&p[k], name))
				fprintf(out, ",%s", p[k].name);
		fprintf(out, "\n%s", text);
	}
	free(text);
}

/* The text of the site's topologies, np_topo.h. */
static int load_topologies(const partition_info_msg_t *parts, char **text,
			   struct np_err *err)
{
	char *cluster;
	size_t len;
	FILE *out;
	int rc = load_topology(NULL, &cluster, err);

	if (rc)
		return rc;
	out = open_memstream(text, &len);
	if (out) {
		fputs(cluster, out);
		for (uint32_t i = 0; i < parts->record_count; i++)
			add_topology(parts, i, cluster, out);
	}
	free(cluster);
	return out && !fclose(out) ? 0 :
	       np_errf(err, -ENOMEM, "out of memory");
}

int np_answers_load(struct np_answers *a, struct np_err *err)
{
	int rc;

	*a = (struct np_answers){ NULL };
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
		rc = load_topologies(a->parts, &a->topology, err);
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
	*a = (struct np_answers){ NULL };
}

static bool was_admitted(const slurm_job_info_t *j)
{
	struct np_note note;
	bool admitted;

	if (np_note_read(j->admin_comment, &note))
		return false;
	admitted = !note.until_sec;
	np_note_clear(&note);
	return admitted;
}

/* Tasks of an array come with it, and get ids of their own as they start. */
static bool is_arrival(const slurm_job_info_t *j, int64_t since_sec,
		       uint32_t last_id)
{
	return j->job_id > last_id && j->submit_time >= since_sec &&
	       (!j->array_job_id || j->array_job_id == j->job_id) &&
	       was_admitted(j);
}

int np_answers_arrivals(const struct np_answers *a, int64_t since_sec,
			uint32_t *last_id, struct np_arrivals *out)
{
	struct np_arrival *of = calloc((size_t)a->jobs->record_count + 1,
				       sizeof(*of));
	uint32_t highest = 0;
	size_t n = 0;

	if (!of)
		return -ENOMEM;
	for (uint32_t i = 0; i < a->jobs->record_count; i++) {
		const slurm_job_info_t *j = &a->jobs->job_array[i];

		if (j->job_id > highest)
			highest = j->job_id;
		if (is_arrival(j, since_sec, *last_id))
			of[n++] = (struct np_arrival){ j->user_id, 1 };
	}
	*last_id = highest;
	np_arrivals_init(out, since_sec, of, n);
	return 0;
}

/*
 * A node that does not answer, or did not yet since slurmctld started, may be
 * back at any moment: were it away, all that keeps jobs apart would be taken
 * back, and they would start together as soon as it answers.
 */
static enum np_node_state node_state(const node_info_t *n)
{
	const uint32_t away = NODE_STATE_DRAIN | NODE_STATE_FAIL |
		NODE_STATE_MAINT | NODE_STATE_RES | NODE_STATE_POWERING_DOWN |
		NODE_STATE_REBOOT_ISSUED | NODE_STATE_INVALID_REG;
	uint32_t base = n->node_state & NODE_STATE_BASE;

	if (!n->name || n->node_state & away || base == NODE_STATE_DOWN)
		return NP_NODE_AWAY;
	if (n->node_state & NODE_STATE_NO_RESPOND)
		return NP_NODE_FULL;
	switch (base) {
	case NODE_STATE_UNKNOWN:
		return NP_NODE_FULL;
	case NODE_STATE_IDLE:
		return n->node_state & NODE_STATE_COMPLETING ? NP_NODE_FULL :
							      NP_NODE_IDLE;
	case NODE_STATE_MIXED:
		return NP_NODE_MIXED;
	case NODE_STATE_ALLOCATED:
		return NP_NODE_FULL;
	default:
		return NP_NODE_AWAY;
	}
}

/*
 * Where all nodes are away, as for a maintenance, they will come back together
 * and take the whole queue in one pass: it has to be kept apart before.
 */
static int add_nodes(struct np_view *v, const node_info_msg_t *nodes,
		     struct np_err *err)
{
	size_t n = v->site->n_nodes, n_away = 0;
	int rc = 0;

	v->node = calloc(n, sizeof(*v->node));
	if (!v->node)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		v->node[i] = node_state(&nodes->node_array[i]);
		n_away += v->node[i] == NP_NODE_AWAY;
	}
	for (size_t i = 0; !rc && i < n; i++)
		rc = np_snapshot_node(v->snapshot, i, n_away == n ?
				      NP_NODE_FULL : v->node[i], err);
	return rc;
}

static int add_sets(struct np_view *v, struct np_err *err)
{
	size_t n = v->site->n_parts;
	int rc = 0;

	v->set = calloc(n + 1, sizeof(*v->set));
	if (!v->set)
		return -ENOMEM;
	for (size_t i = 0; !rc && i < n; i++)
		rc = np_snapshot_nodes(v->snapshot,
				       v->site->part[i].nodes,
				       &v->set[i], err);
	return rc;
}

/* A job that the decision cannot take is left alone, and the rest goes on. */
static int add_jobs(struct np_view_make *m, const job_info_msg_t *jobs,
		    struct np_err *err)
{
	struct np_view *v = m->view;

	v->job = calloc(jobs->record_count + 1, sizeof(*v->job));
	if (!v->job)
		return -ENOMEM;
	for (uint32_t i = 0; i < jobs->record_count; i++) {
		int rc = np_view_job(m, &jobs->job_array[i],
				     &v->job[v->n_jobs], err);

		if (!rc)
			v->n_jobs++;
		else if (rc == -ENOMEM)
			return rc;
	}
	return 0;
}

int np_view_make(const struct np_answers *a, struct np_site *site,
		 const struct np_app_index *index,
		 const struct np_place_conf *conf, struct np_job_cache *cache,
		 const struct np_change *change, size_t n_changes,
		 int64_t now_sec, int64_t last_sec, struct np_view *out,
		 struct np_err *err)
{
	struct np_view v = { .site = np_site_ref(site), .now_sec = now_sec };
	struct np_view_make m = {
		.view = &v, .index = index, .conf = conf, .cache = cache,
		.change = change, .n_changes = n_changes,
	};
	int rc = np_snapshot_new(site->leaves, now_sec, last_sec,
				 &v.snapshot, err);

	m.scratch = calloc(4 * site->words + site->leaves->words,
			   sizeof(*m.scratch));
	m.lists = calloc(n_changes + 1, sizeof(*m.lists));
	v.none = calloc(site->words, sizeof(*v.none));
	m.node = calloc(site->n_nodes, sizeof(*m.node));
	if (!rc && (!m.scratch || !m.lists || !m.node || !v.none))
		rc = -ENOMEM;
	if (!rc)
		rc = add_nodes(&v, a->nodes, err);
	if (!rc)
		rc = add_sets(&v, err);
	if (!rc)
		rc = add_jobs(&m, a->jobs, err);
	for (size_t i = 0; m.lists && i < n_changes; i++)
		free(m.lists[i].put);
	free(m.lists);
	free(m.scratch);
	free(m.node);
	if (rc) {
		np_view_free(&v);
		return rc == -ENOMEM ? np_errf(err, rc, "out of memory") : rc;
	}
	np_snapshot_seal(v.snapshot);
	for (size_t i = 0; i < v.n_jobs; i++)
		v.job[i].in = &v.snapshot->job[i];
	*out = v;
	return 0;
}

void np_view_free(struct np_view *v)
{
	for (size_t i = 0; v->job && i < v->n_jobs; i++) {
		np_note_clear(&v->job[i].note);
		free(v->job[i].comment);
		free(v->job[i].bits);
		free(v->job[i].tasks);
	}
	free(v->job);
	free(v->node);
	free(v->set);
	free(v->none);
	np_snapshot_unref(v->snapshot);
	np_site_unref(v->site);
	memset(v, 0, sizeof(*v));
}
