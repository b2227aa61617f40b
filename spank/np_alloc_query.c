#include "np_alloc_query.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "np_text.h"

/* ---- host lists, by Slurm's own functions ---- */

int np_hosts_add(struct np_hosts *h, const char *name)
{
	char *copy = strdup(name);

	if (!copy)
		return -ENOMEM;
	if (np_array_grow(&h->name, h->n, sizeof(*h->name))) {
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

/* ---- leaf switches ---- */

/* A leaf switch of a node; next is in `more`, or NP_NO_INDEX. */
struct place {
	const struct np_topo_leaf *leaf;
	uint32_t next;
};

struct np_leaf_index {
	struct np_topo topo, rails;
	struct np_index nodes;
	struct place *first; /* of each node */
	size_t room;
	struct place *more; /* of nodes on several rails */
	size_t n_more;
	char *devices; /* holds the words below */
	const char *device[NP_RAILS_MAX];
	size_t n_devices;
};

/*
 * A further leaf switch of a node.  The site's rails replace what Slurm says.
 */
static int add_place(struct np_leaf_index *l, uint32_t at,
		     const struct np_topo_leaf *leaf)
{
	struct place *first = &l->first[at];
	uint32_t last = NP_NO_INDEX, n = 1;

	if (leaf->rail && !first->leaf->rail) {
		*first = (struct place){ leaf, NP_NO_INDEX };
		return 0;
	}
	for (uint32_t i = first->next; i != NP_NO_INDEX; i = l->more[i].next) {
		last = i;
		n++;
	}
	if (n >= NP_RAILS_MAX)
		return 0;
	if (np_array_grow(&l->more, l->n_more, sizeof(*l->more)))
		return -ENOMEM;
	if (last == NP_NO_INDEX)
		first->next = (uint32_t)l->n_more;
	else
		l->more[last].next = (uint32_t)l->n_more;
	l->more[l->n_more++] = (struct place){ leaf, NP_NO_INDEX };
	return 0;
}

static int map_leaf(struct np_leaf_index *l, const struct np_topo_leaf *leaf)
{
	struct np_hosts hosts = { NULL, 0 };
	int rc = np_hosts_expand(leaf->nodes, &hosts);

	if (!rc)
		rc = np_array_room(&l->first, &l->room, l->nodes.n + hosts.n,
				   sizeof(*l->first));
	for (size_t i = 0; !rc && i < hosts.n; i++) {
		size_t n = l->nodes.n;
		uint32_t at = np_index_add(&l->nodes, hosts.name[i],
					     strlen(hosts.name[i]));

		if (at == NP_NO_INDEX)
			rc = -ENOMEM;
		else if (at == n)
			l->first[at] = (struct place){ leaf, NP_NO_INDEX };
		else
			rc = add_place(l, at, leaf);
	}
	np_hosts_free(&hosts);
	return rc;
}

/* Topology of the partition, malloc'ed; NULL: that of the cluster. */
static char *topology_of(const partition_info_msg_t *parts, const char *name)
{
	for (uint32_t i = 0; i < parts->record_count; i++) {
		const partition_info_t *p = &parts->partition_array[i];
		const char *topology = np_partition_topology(p);

		if (topology && p->name && !strcmp(p->name, name))
			return strdup(topology);
	}
	return NULL;
}

/*
 * Topology of the job's partition.  If slurmctld does not say, the cluster's
 * topology serves.
 */
static char *job_topology(uint32_t job_id)
{
	partition_info_msg_t *parts = NULL;
	job_info_msg_t *msg = NULL;
	char *name = NULL;

	if (!NP_PARTITION_TOPOLOGIES || np_load_job(&msg, job_id))
		return NULL;
	if (!slurm_load_partitions(0, &parts, SHOW_ALL))
		for (uint32_t i = 0; !name && i < msg->record_count; i++)
			if (msg->job_array[i].job_id == job_id &&
			    msg->job_array[i].partition)
				name = topology_of(parts,
						   msg->job_array[i].partition);
	slurm_free_partition_info_msg(parts);
	np_free_jobs(msg);
	return name;
}

/*
 * The same text from scontrol; empty for a flat network.  From 25.11 on, the
 * plugin that reads a block topology cannot be loaded into programs other than
 * Slurm's own, because it needs more symbols than libslurm exports.
 */
static int run_scontrol(const char *name, char **text)
{
	size_t size = 0;
	ssize_t got;
	FILE *in;

	/* As a variable, so that the shell does not interpret it. */
	if (setenv("NETPROF_TOPOLOGY", name ? name : "", 1))
		return -errno;
	in = popen("exec scontrol show topology ${NETPROF_TOPOLOGY:+"
		   "\"$NETPROF_TOPOLOGY\"} 2>/dev/null", "r");
	if (!in)
		return -errno;
	got = getdelim(text, &size, '\0', in);
	if (got < 0 && *text)
		**text = '\0';
	return pclose(in) == 0 && *text ? 0 : -EIO;
}

static int load_text(const char *name, char **text, struct np_err *err)
{
	topo_info_response_msg_t *msg = NULL;

	errno = ELIBACC;
	if (NP_TOPO_ENDS_CLIENTS || np_load_topo(&msg, name)) {
		int error = errno;

		return !run_scontrol(name, text) ? 0 :
		       np_errf(err, -EIO, "slurmctld did not report the "
			       "topology: %s", slurm_strerror(error));
	}
	return np_topo_text(msg, text);
}

int np_leaf_index_parse(const char *text, struct np_leaf_index **out,
			struct np_err *err)
{
	struct np_leaf_index *l = calloc(1, sizeof(*l));
	int rc;

	if (!l)
		return -ENOMEM;
	rc = np_topo_parse(text, &l->topo, err);
	for (size_t i = 0; !rc && i < l->topo.n; i++)
		rc = map_leaf(l, &l->topo.leaf[i]);
	if (rc) {
		np_leaf_index_free(l);
		return rc;
	}
	*out = l;
	return 0;
}

void np_leaf_index_free(struct np_leaf_index *l)
{
	if (!l)
		return;
	np_index_free(&l->nodes);
	free(l->first);
	free(l->more);
	free(l->devices);
	np_topo_free(&l->topo);
	np_topo_free(&l->rails);
	free(l);
}

int np_leaf_index_add_rails(struct np_leaf_index *l, struct np_topo *rails)
{
	int rc = 0;

	l->rails = *rails;
	*rails = (struct np_topo){ .n = 0 };
	for (size_t i = 0; !rc && i < l->rails.n; i++)
		rc = map_leaf(l, &l->rails.leaf[i]);
	return rc;
}

int np_leaf_index_set_devices(struct np_leaf_index *l, const char *devices)
{
	char *rest, *word;

	rest = l->devices = strdup(devices);
	if (!rest)
		return -ENOMEM;
	while ((word = strsep(&rest, ",")))
		if (*word && l->n_devices++ < NP_RAILS_MAX)
			l->device[l->n_devices - 1] = word;
	return 0;
}

const char *np_leaf_index_find(const struct np_leaf_index *l, const char *node)
{
	uint32_t at = np_index_find(&l->nodes, node, strlen(node));

	return at == NP_NO_INDEX ? "" : l->first[at].leaf->name;
}

size_t np_leaf_index_rails(const struct np_leaf_index *l, const char *node,
			   struct np_rail out[NP_RAILS_MAX])
{
	uint32_t at = np_index_find(&l->nodes, node, strlen(node));
	const struct place *p = at == NP_NO_INDEX ? NULL : &l->first[at];
	size_t n = 0;

	out[0] = (struct np_rail){ .leaf = "" };
	for (; p; p = p->next == NP_NO_INDEX ? NULL : &l->more[p->next])
		out[n++] = (struct np_rail){ p->leaf->name, p->leaf->rail,
					     p->leaf->nic };
	if (n < 2 || out[0].name)
		return n ? n : 1;
	/* Without the devices a node counts for its first leaf switch. */
	if (n != l->n_devices)
		return 1;
	for (size_t i = 0; i < n; i++)
		out[i].name = out[i].nic = l->device[i];
	return n;
}

/* A file of rails that cannot be read is noted and ignored. */
static int load_rails(const struct np_conf *conf, struct np_leaf_index *l,
		      struct np_record *r)
{
	struct np_err why = NP_ERR_INIT;
	struct np_topo rails;

	if (conf->rails[0]) {
		if (np_rails_load(conf->rails, &rails, &why))
			np_record_note(r, "Rails=%s", why.text);
		else if (np_leaf_index_add_rails(l, &rails))
			return -ENOMEM;
	}
	return np_leaf_index_set_devices(l, conf->net_devices);
}

/*
 * Asks slurmctld for the topology that the job's partition has, and reads the
 * site's rails.
 */
static int load_leaf_index(uint32_t job_id, const struct np_conf *conf,
			   struct np_record *r, struct np_leaf_index **out,
			   struct np_err *err)
{
	char *name = job_topology(job_id), *text = NULL;
	int rc = load_text(name, &text, err);

	if (!rc)
		rc = np_leaf_index_parse(text, out, err);
	if (!rc && load_rails(conf, *out, r))
		rc = np_errf(err, -ENOMEM, "out of memory");
	free(text);
	free(name);
	return rc;
}

/* ---- task layout ---- */

#define MAX_TEXT 4000 /* longest text of a layout, bytes; longer ones are cut */

/* Equal numbers in a row are combined, as in SLURM_TASKS_PER_NODE. */
static int describe(const uint16_t *tasks, uint32_t n, char **out)
{
	FILE *f;
	size_t len = 0;

	*out = NULL;
	f = open_memstream(out, &len);
	if (!f)
		return -ENOMEM;
	for (uint32_t i = 0, same; i < n; i += same) {
		for (same = 1; i + same < n && tasks[i + same] == tasks[i];)
			same++;
		if (ftell(f) > MAX_TEXT) {
			fputs(",...", f);
			break;
		}
		fprintf(f, "%s%u", i ? "," : "", tasks[i]);
		if (same > 1)
			fprintf(f, "(x%u)", same);
	}
	return fclose(f) ? -ENOMEM : 0;
}

static bool is_block(const uint16_t *tasks, uint32_t *const *rank, uint32_t n)
{
	uint32_t next = 0;

	for (uint32_t i = 0; i < n; i++)
		for (uint16_t k = 0; k < tasks[i]; k++)
			if (rank[i][k] != next++)
				return false;
	return true;
}

/* One rank on each node that has room, then the next round. */
static bool is_cyclic(const uint16_t *tasks, uint32_t *const *rank, uint32_t n)
{
	uint32_t next = 0, before;
	uint16_t round = 0;

	do {
		before = next;
		for (uint32_t i = 0; i < n; i++)
			if (round < tasks[i] && rank[i][round] != next++)
				return false;
		round++;
	} while (next != before);
	return true;
}

static bool is_even(const uint16_t *tasks, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++)
		if (tasks[i] > tasks[i - 1] || tasks[i] + 1 < tasks[0])
			return false;
	return true;
}

int np_layout_of(const uint16_t *tasks, uint32_t *const *rank, uint32_t n,
		 struct np_layout *out)
{
	struct np_layout l = { .digest = NP_HASH };
	int rc = describe(tasks, n, &l.tasks_per_node);

	if (rc) {
		free(l.tasks_per_node);
		return rc;
	}
	l.order = is_block(tasks, rank, n) ? "block" :
		  is_cyclic(tasks, rank, n) ? "cyclic" : "other";
	l.usual = *l.order == 'b' && is_even(tasks, n);
	l.digest = np_hash(l.digest, tasks, n * sizeof(*tasks));
	l.digest = np_hash(l.digest, l.order, strlen(l.order));
	for (uint32_t i = 0; *l.order == 'o' && i < n; i++)
		l.digest = np_hash(l.digest, rank[i],
				   tasks[i] * sizeof(*rank[i]));
	*out = l;
	return 0;
}

void np_layout_fingerprint(const struct np_layout *l, char hex[20])
{
	uint64_t h;

	if (l->usual)
		return;
	h = np_hash(NP_HASH, hex, strlen(hex));
	h = np_hash(h, &l->digest, sizeof(l->digest));
	snprintf(hex, 20, "%016llx", (unsigned long long)h);
}

/* ---- questions to slurmctld ---- */

/* Steps of a job; to be freed as Slurm wants it. */
static int load_steps(uint32_t job_id, job_step_info_response_msg_t **out,
		      struct np_err *err)
{
	*out = NULL;
	return np_load_job_steps(job_id, out) ?
	       np_errf(err, -EIO, "slurmctld did not report the steps of job "
		       "%u: %s", job_id, slurm_strerror(errno)) : 0;
}

/* A step that runs a program: neither one of our own nor the batch script. */
static bool is_program(const job_step_info_t *s)
{
	return s->step_id.step_id < SLURM_MAX_NORMAL_STEP_ID && s->nodes &&
	       !(s->name && !strcmp(s->name, NP_HELPER_NAME));
}

/*
 * Add the nodes of a step; and to busy, which may be NULL, those on which other
 * steps of the job run, except our own and the batch script.  -ESRCH: there is
 * no such step.
 */
static int load_step_nodes(uint32_t job_id, uint32_t step_id,
			   struct np_hosts *step, struct np_hosts *busy,
			   struct np_err *err)
{
	job_step_info_response_msg_t *msg;
	int rc = load_steps(job_id, &msg, err);

	if (rc)
		return rc;
	for (uint32_t i = 0; !rc && i < msg->job_step_count; i++) {
		const job_step_info_t *s = &msg->job_steps[i];

		if (s->step_id.step_id != step_id && busy && is_program(s))
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

/* Where slurmctld did not report the layout, r stays as it is. */
static int load_layout(uint32_t job_id, uint32_t step_id, struct np_record *r)
{
	slurm_step_layout_t *layout = np_load_step_layout(job_id, step_id);
	int rc = layout ? take_layout(layout, r) : 0;

	slurm_job_step_layout_free(layout);
	return rc;
}

/* Add the nodes of a job's allocation. */
static int load_job_nodes(uint32_t job_id, struct np_hosts *out,
			  struct np_err *err)
{
	job_info_msg_t *msg = NULL;
	int rc = -ENOENT;

	if (np_load_job(&msg, job_id))
		return np_errf(err, -EIO, "slurmctld did not report the nodes "
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

/* The cluster's name and the version of Slurm. */
static int load_identity(struct np_record *r, struct np_err *err)
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

/* ---- where the step and its level run ---- */

/* A node of the step, or another node of its allocation. */
struct node {
	const char *name, *leaf; /* leaf "": no topology, so all nodes count
				  * as one leaf */
	size_t index;		 /* position in the list of all nodes */
	bool in_step;		 /* the measured step runs here */
	bool busy;		 /* another step of the job runs here */
	bool level;		 /* the load level runs here */
};

struct nodes {
	struct node *node; /* sorted by leaf, then by index */
	size_t n;
};

static int add_nodes(struct nodes *all, struct np_index *seen,
		     const struct np_step_nodes *s,
		     const struct np_hosts *hosts, bool in_step)
{
	for (size_t i = 0; i < hosts->n; i++) {
		const char *name = hosts->name[i];
		uint32_t at = np_index_add(seen, name, strlen(name));

		if (at == NP_NO_INDEX)
			return -ENOMEM;
		if (at == all->n)
			all->node[all->n++] = (struct node){
				.name = name,
				.index = at,
				.in_step = in_step,
				.leaf = np_leaf_index_find(s->leaves, name),
			};
	}
	return 0;
}

static int by_leaf_and_index(const void *a, const void *b)
{
	const struct node *x = a, *y = b;
	int c = strcmp(x->leaf, y->leaf);

	return c ? c : (x->index > y->index) - (x->index < y->index);
}

static int list_nodes(const struct np_step_nodes *s, const struct np_hosts *job,
		      const struct np_hosts *busy, struct nodes *all)
{
	struct np_index seen = { .n = 0 };
	int rc;

	all->n = 0;
	all->node = calloc(s->step.n + job->n + 1, sizeof(*all->node));
	rc = all->node ? add_nodes(all, &seen, s, &s->step, true) : -ENOMEM;
	if (!rc)
		rc = add_nodes(all, &seen, s, job, false);
	for (size_t i = 0; !rc && i < busy->n; i++) {
		uint32_t at = np_index_find(&seen, busy->name[i],
					      strlen(busy->name[i]));

		if (at != NP_NO_INDEX)
			all->node[at].busy = true;
	}
	np_index_free(&seen);
	if (!rc && all->n)
		qsort(all->node, all->n, sizeof(*all->node), by_leaf_and_index);
	return rc;
}

/* End of the leaf that begins at first. */
static size_t leaf_end(const struct nodes *all, size_t first)
{
	size_t end = first + 1;

	while (end < all->n &&
	       !strcmp(all->node[first].leaf, all->node[end].leaf))
		end++;
	return end;
}

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

/* Place the level on the step's nodes of a leaf, or on its idle nodes. */
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

/* Returns the number of nodes that the level takes. */
static size_t place_on_leaves(struct nodes *all, enum np_scope scope)
{
	size_t n = 0;

	for (size_t i = 0, end; i < all->n; i = end) {
		end = leaf_end(all, i);
		n += place_on_leaf(&all->node[i], end - i, scope);
	}
	return n;
}

/*
 * Thin out one leaf.  Its nodes are taken in pairs; of the `of` pairs on all
 * leaves, keep `keep`, evenly spread. seen counts pairs across leaves.
 */
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

/* node[n]: all nodes of the allocation on one leaf, which is on that rail. */
static int note_leaf(struct np_record *r, const struct node *node, size_t n,
		     const char *rail)
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
	run->rail = rail ? strdup(rail) : NULL;
	if (here.n < 2)
		run->skipped = strdup("only one node of the step is on this "
				      "leaf switch");
out:
	np_hosts_free(&here);
	return rc;
}

/*
 * Note the leaves of the nodes' rail of that number.  The nodes are sorted anew
 * for each rail but the first; those that have fewer rails are dropped.
 */
static int note_rail(const struct np_step_nodes *s, struct nodes *all,
		     size_t number, struct np_record *r)
{
	struct np_rail rail[NP_RAILS_MAX];
	size_t n = 0;
	int rc = 0;

	for (size_t i = 0; i < all->n; i++) {
		if (np_leaf_index_rails(s->leaves, all->node[i].name, rail) <=
		    number)
			continue;
		all->node[n] = all->node[i];
		all->node[n++].leaf = rail[number].leaf;
	}
	all->n = n;
	if (number && n)
		qsort(all->node, n, sizeof(*all->node), by_leaf_and_index);
	for (size_t i = 0, end; !rc && i < n; i = end) {
		end = leaf_end(all, i);
		np_leaf_index_rails(s->leaves, all->node[i].name, rail);
		rc = note_leaf(r, &all->node[i], end - i, rail[number].name);
	}
	return rc;
}

static int place_level(struct np_step_nodes *s, struct nodes *all,
		       size_t max_level, struct np_err *err)
{
	size_t taken;

	s->scope = NP_SCOPE_LEAF;
	taken = place_on_leaves(all, s->scope);
	if (!taken) {
		s->scope = NP_SCOPE_NODE;
		taken = place_on_leaves(all, s->scope);
	}
	if (!taken)
		return np_errf(err, -ENODEV, "no two nodes of the step share a "
			       "leaf switch");
	if (taken > max_level)
		thin(all, max_level);
	return 0;
}

int np_step_nodes_plan(struct np_step_nodes *s, const struct np_hosts *job,
		       const struct np_hosts *busy, uint32_t max_level,
		       struct np_record *r, struct np_err *err)
{
	struct nodes all;
	int rc = list_nodes(s, job, busy, &all);

	if (!rc)
		rc = place_level(s, &all, max_level, err);
	for (size_t i = 0; !rc && job->n && i < all.n; i++)
		if (all.node[i].level)
			rc = np_hosts_add(&s->level, all.node[i].name);
	for (size_t i = 0; !rc && i < NP_RAILS_MAX && all.n; i++)
		rc = note_rail(s, &all, i, r);
	free(all.node);
	if (rc)
		return rc;
	r->n_nodes = (uint32_t)s->step.n;
	r->nodes = np_hosts_compress(&s->step);
	return r->nodes ? 0 : -ENOMEM;
}

/* mpirun itself and its first ranks run on the host that called srun. */
static int add_this_host(struct np_hosts *step)
{
	const char *node = getenv("SLURMD_NODENAME");

	return node && !np_hosts_has(step, node) ? np_hosts_add(step, node) : 0;
}

/* What the launch request, the settings and slurmctld say of the step. */
static int describe_step(struct np_record *r, const struct np_launch_request *o,
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
	return load_identity(r, err);
}

int np_step_nodes_load(const struct np_launch_request *o,
		       const struct np_conf *conf, double start_date,
		       struct np_record *r, struct np_step_nodes *s,
		       struct np_err *err)
{
	struct np_hosts job = { NULL, 0 }, busy = { NULL, 0 };
	bool level = o->level[0];
	int rc;

	*s = (struct np_step_nodes){ .leaves = NULL };
	rc = describe_step(r, o, conf, start_date, err);
	if (!rc)
		rc = load_step_nodes(o->job_id, o->step_id, &s->step,
				     level ? &busy : NULL, err);
	if (!rc)
		rc = load_layout(o->job_id, o->step_id, r);
	if (!rc && o->launcher)
		rc = add_this_host(&s->step);
	if (!rc)
		rc = load_leaf_index(o->job_id, conf, r, &s->leaves, err);
	if (!rc && level)
		rc = load_job_nodes(o->job_id, &job, err);
	if (!rc)
		rc = np_step_nodes_plan(s, &job, &busy, conf->probe_nodes, r,
					err);
	if (!rc && level && !(s->level_nodes = np_hosts_compress(&s->level)))
		rc = np_errf(err, -ENOMEM, "out of memory");
	np_hosts_free(&job);
	np_hosts_free(&busy);
	if (rc)
		np_step_nodes_free(s);
	return rc;
}

void np_step_nodes_free(struct np_step_nodes *s)
{
	np_leaf_index_free(s->leaves);
	np_hosts_free(&s->step);
	np_hosts_free(&s->level);
	free(s->level_nodes);
	*s = (struct np_step_nodes){ .leaves = NULL };
}

/* ---- neighbours ---- */

/* Slurm's times are whole seconds: a shorter overlap may be none at all. */
#define LEAST_OVERLAP_SEC 1.0

static struct np_neighbour *find_neighbour(struct np_record *r,
					   const struct np_candidate *c,
					   const char *leaf)
{
	for (size_t i = 0; i < r->n_neighbours; i++) {
		struct np_neighbour *n = &r->neighbours[i];

		if (n->job_id == c->job_id && n->step_id == c->step_id &&
		    !strcmp(n->leaf, leaf))
			return n;
	}
	return NULL;
}

static struct np_neighbour *add_neighbour(struct np_record *r,
					  const struct np_candidate *c,
					  const char *leaf)
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
	const char *leaf, *node; /* leaf first: np_order_text() */
};

static bool is_step_leaf(const struct np_neighbours *b, const char *leaf)
{
	return np_index_find(&b->own, leaf, strlen(leaf)) != NP_NO_INDEX;
}

/* spot[n_spots]: the candidate's nodes on one leaf. */
static int merge_leaf(struct np_neighbours *b, const struct np_candidate *c,
		      const struct spot *spot, size_t n_spots)
{
	struct np_neighbour *n = find_neighbour(b->r, c, spot[0].leaf);
	struct np_hosts here = { NULL, 0 };
	int rc = 0;

	if (!n && b->r->n_neighbours == NP_RECORD_MAX_NEIGHBOURS) {
		np_record_note(b->r, "more than %d neighbours: the others are "
			       "not recorded", NP_RECORD_MAX_NEIGHBOURS);
		return NP_NEIGHBOURS_FULL;
	}
	if (!n)
		n = add_neighbour(b->r, c, spot[0].leaf);
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

static int merge_hosts(struct np_neighbours *b, const struct np_candidate *c,
		       const struct np_hosts *hosts)
{
	struct spot *spot = NULL;
	struct np_rail rail[NP_RAILS_MAX];
	size_t n = 0, room = 0;
	int rc = 0;

	for (size_t i = 0; !rc && i < hosts->n; i++) {
		size_t k = np_leaf_index_rails(b->leaves, hosts->name[i], rail);

		rc = np_array_room(&spot, &room, n + k, sizeof(*spot));
		while (!rc && k-- > 0)
			if (is_step_leaf(b, rail[k].leaf))
				spot[n++] = (struct spot){ rail[k].leaf,
							   hosts->name[i] };
	}
	if (n)
		qsort(spot, n, sizeof(*spot), np_order_text);
	for (size_t i = 0, end; !rc && i < n; i = end) {
		end = i + 1;
		while (end < n && !np_order_text(&spot[i], &spot[end]))
			end++;
		rc = merge_leaf(b, c, &spot[i], end - i);
	}
	free(spot);
	return rc;
}

int np_neighbours_add(struct np_neighbours *b, const struct np_candidate *c,
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

int np_neighbours_init(struct np_neighbours *b,
		       const struct np_leaf_index *leaves,
		       const struct np_hosts *nodes, struct np_record *r,
		       struct np_err *err)
{
	struct np_rail rail[NP_RAILS_MAX];
	bool full = false;

	*b = (struct np_neighbours){ .leaves = leaves, .r = r };
	for (size_t i = 0; !full && i < nodes->n; i++) {
		size_t n = np_leaf_index_rails(leaves, nodes->name[i], rail);

		for (size_t k = 0; k < n; k++)
			full |= np_index_add(&b->own, rail[k].leaf,
					     strlen(rail[k].leaf)) ==
				NP_NO_INDEX;
	}
	if (!full)
		return 0;
	np_neighbours_free(b);
	return np_errf(err, -ENOMEM, "out of memory");
}

void np_neighbours_free(struct np_neighbours *b)
{
	np_index_free(&b->own);
}

/*
 * Seconds that the run until then and [start, end) have in common; end 0: still
 * running.
 */
static double overlap(const struct np_record *r, double until, time_t start,
		      time_t end)
{
	double to = end && end < until ? (double)end : until;

	return to - fmax((double)start, r->start);
}

/* Slurm tells when a job was last suspended or resumed. */
static void note_suspension(const job_info_msg_t *msg, struct np_record *r)
{
	for (uint32_t i = 0; i < msg->record_count; i++) {
		const slurm_job_info_t *j = &msg->job_array[i];

		if (j->job_id == r->job_id &&
		    (double)j->suspend_time > r->start)
			r->suspended = true;
	}
}

static int merge_jobs(struct np_neighbours *b, double until,
		      uint32_t het_job_id, struct np_err *err)
{
	job_info_msg_t *msg = NULL;
	int rc = 0;

	if (slurm_load_jobs(0, &msg, SHOW_ALL))
		return np_errf(err, -EIO, "slurmctld did not report the jobs: "
			       "%s", slurm_strerror(errno));
	note_suspension(msg, b->r);
	for (uint32_t i = 0; !rc && i < msg->record_count; i++) {
		const slurm_job_info_t *j = &msg->job_array[i];
		int base = j->job_state & JOB_STATE_BASE;
		struct np_candidate c = { j->job_id, NP_NO_VALUE, j->nodes, 0 };

		/* A pending job has a start time as well, the expected one. */
		if (base == JOB_PENDING || !j->nodes ||
		    j->job_id == b->r->job_id ||
		    (het_job_id && j->het_job_id == het_job_id))
			continue;
		c.overlap_sec = overlap(b->r, until, j->start_time,
					base == JOB_RUNNING ? 0 : j->end_time);
		rc = np_neighbours_add(b, &c, err);
	}
	np_free_jobs(msg);
	return rc;
}

static int merge_steps(struct np_neighbours *b, double until,
		       struct np_err *err)
{
	job_step_info_response_msg_t *msg;
	int rc = load_steps(b->r->job_id, &msg, err);

	if (rc)
		return rc;
	for (uint32_t i = 0; !rc && i < msg->job_step_count; i++) {
		const job_step_info_t *t = &msg->job_steps[i];
		struct np_candidate c = {
			t->step_id.job_id, t->step_id.step_id, t->nodes,
			overlap(b->r, until, t->start_time, 0),
		};

		if (is_program(t) && t->step_id.step_id != b->r->step_id)
			rc = np_neighbours_add(b, &c, err);
	}
	slurm_free_job_step_info_response_msg(msg);
	return rc;
}

int np_neighbours_query(const struct np_leaf_index *l,
			const struct np_hosts *nodes, double until,
			uint32_t het_job_id, struct np_record *r,
			struct np_err *err)
{
	struct np_neighbours b;
	int rc = np_neighbours_init(&b, l, nodes, r, err);

	if (rc)
		return rc;
	rc = merge_jobs(&b, until, het_job_id, err);
	if (!rc)
		rc = merge_steps(&b, until, err);
	np_neighbours_free(&b);
	return rc == NP_NEIGHBOURS_FULL ? 0 : rc;
}
