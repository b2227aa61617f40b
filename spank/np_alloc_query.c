/*
 * What slurmctld reports about a step. The sections: host lists, leaf switches
 * and task layouts; the RPCs about the step; the decisions that follow from
 * them, which are the nodes to measure and those of the load level; and the
 * neighbours.
 */
#include "np_alloc_query.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "np_detach.h"
#include "np_hostlist.h"
#include "np_rendezvous.h"
#include "np_text.h"

/* ---- host lists, by Slurm's own functions ---- */

int np_hosts_add(struct np_hosts *hosts, const char *name)
{
	return np_names_add(&hosts->name, &hosts->n, name);
}

int np_hosts_expand(const char *expression, struct np_hosts *hosts)
{
	np_hostlist_t list = slurm_hostlist_create(expression);
	size_t most = hosts->n + NP_RECORD_MAX_NODES;
	char *name;
	int rc = 0;

	if (!list)
		return -EINVAL;
	while (!rc && (name = slurm_hostlist_shift(list))) {
		rc = hosts->n < most ? np_hosts_add(hosts, name) : -EINVAL;
		free(name);
	}
	slurm_hostlist_destroy(list);
	return rc;
}

int np_hosts_has(const struct np_hosts *hosts, const char *name)
{
	for (size_t i = 0; i < hosts->n; i++)
		if (!strcmp(hosts->name[i], name))
			return 1;
	return 0;
}

char *np_hosts_compress(const struct np_hosts *hosts)
{
	np_hostlist_t list = slurm_hostlist_create(NULL);
	char *text;

	if (!list)
		return NULL;
	for (size_t i = 0; i < hosts->n; i++)
		slurm_hostlist_push_host(list, hosts->name[i]);
	slurm_hostlist_uniq(list);
	text = np_ranged_string(list);
	slurm_hostlist_destroy(list);
	return text;
}

void np_hosts_free(struct np_hosts *hosts)
{
	np_names_free(hosts->name, hosts->n);
	*hosts = (struct np_hosts){ NULL, 0 };
}

/* ---- leaf switches ---- */

/* A leaf switch of a node, in a list of all leaf switches of that node. */
struct leaf_of_node {
	const struct np_topo_leaf *leaf;
	uint32_t next; /* in further_leaf[], or NP_NO_INDEX */
};

struct np_leaf_index {
	struct np_topo topo;		   /* as slurmctld reports it */
	struct np_topo rails;		   /* of the site's file */
	struct np_index nodes;		   /* by name */
	struct leaf_of_node *first_leaf;   /* of each node */
	size_t room;			   /* capacity of first_leaf[] */
	struct leaf_of_node *further_leaf; /* of nodes on several rails */
	size_t n_further;
	char *devices; /* holds the words below */
	const char *device[NP_RAILS_MAX];
	size_t n_devices; /* may be more than NP_RAILS_MAX */
};

/*
 * Add a further leaf switch of a node. The site's rails replace what Slurm
 * says. Returns 0 or -ENOMEM.
 */
static int add_further_leaf(struct np_leaf_index *index, uint32_t node,
			    const struct np_topo_leaf *leaf)
{
	struct leaf_of_node *first = &index->first_leaf[node];
	uint32_t last = NP_NO_INDEX, n = 1;

	if (leaf->rail && !first->leaf->rail) {
		*first = (struct leaf_of_node){ leaf, NP_NO_INDEX };
		return 0;
	}
	for (uint32_t i = first->next; i != NP_NO_INDEX;
	     i = index->further_leaf[i].next) {
		last = i;
		n++;
	}
	if (n >= NP_RAILS_MAX)
		return 0;
	if (np_array_grow(&index->further_leaf, index->n_further,
			  sizeof(*index->further_leaf)))
		return -ENOMEM;
	if (last == NP_NO_INDEX)
		first->next = (uint32_t)index->n_further;
	else
		index->further_leaf[last].next = (uint32_t)index->n_further;
	index->further_leaf[index->n_further++] =
		(struct leaf_of_node){ leaf, NP_NO_INDEX };
	return 0;
}

/* Enter a leaf switch for all of its nodes. Returns 0, -EINVAL or -ENOMEM. */
static int add_leaf(struct np_leaf_index *index,
		    const struct np_topo_leaf *leaf)
{
	struct np_hosts hosts = { NULL, 0 };
	int rc = np_hosts_expand(leaf->nodes, &hosts);

	if (!rc)
		rc = np_array_reserve(&index->first_leaf, &index->room,
				      index->nodes.n + hosts.n,
				      sizeof(*index->first_leaf));
	for (size_t i = 0; !rc && i < hosts.n; i++) {
		size_t n_before = index->nodes.n;
		uint32_t node = np_index_add(&index->nodes, hosts.name[i],
					     strlen(hosts.name[i]));

		if (node == NP_NO_INDEX)
			rc = -ENOMEM;
		else if (node == n_before)
			index->first_leaf[node] =
				(struct leaf_of_node){ leaf, NP_NO_INDEX };
		else
			rc = add_further_leaf(index, node, leaf);
	}
	np_hosts_free(&hosts);
	return rc;
}

/*
 * Return the name of a partition's topology, malloc'ed. NULL: it has that of
 * the cluster.
 */
static char *partition_topology(const partition_info_msg_t *parts,
				const char *name)
{
	for (uint32_t i = 0; i < parts->record_count; i++) {
		const partition_info_t *part = &parts->partition_array[i];
		const char *topology = np_partition_topology(part);

		if (topology && part->name && !strcmp(part->name, name))
			return strdup(topology);
	}
	return NULL;
}

/*
 * Return the name of the topology of the job's partition, malloc'ed. NULL: the
 * cluster's topology is used, also if slurmctld does not answer.
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
				name = partition_topology(
					parts, msg->job_array[i].partition);
	slurm_free_partition_info_msg(parts);
	np_free_jobs(msg);
	return name;
}

/* Runs in a child: execute scontrol to print a topology. */
static void exec_scontrol(const char *srun, const char *name, int out)
{
	const int keep[] = { -1, out, -1 };
	const char *slash = strrchr(srun, '/');
	char path[NP_LAUNCH_TEXT + sizeof("/scontrol")];
	char *argv[] = { path, "show", "topology", (char *)name, NULL };

	snprintf(path, sizeof(path), "%.*s/scontrol",
		 slash ? (int)(slash - srun) : 0, srun);
	if (!np_detach(keep, NP_ARRAY_SIZE(keep)))
		execv(path, argv);
	_exit(127);
}

/*
 * Get the text of a topology from scontrol; it is empty for a flat network.
 * From 25.11 on, the plugin that reads a block topology cannot be loaded into
 * programs other than Slurm's own, because it needs more symbols than libslurm
 * exports. scontrol is where srun is; a shell would look for it in PATH, and
 * look at PWD, where the user's file server may be lost.
 */
static int run_scontrol(const char *srun, const char *name, char **text)
{
	int fd[2], status = -1;
	size_t size = 0;
	pid_t pid;
	FILE *in;

	if (pipe2(fd, O_CLOEXEC) || np_fds_above(fd))
		return -errno;
	pid = fork();
	if (!pid)
		exec_scontrol(srun, name, fd[1]);
	close(fd[1]);
	in = fdopen(fd[0], "r");
	if (in && getdelim(text, &size, '\0', in) < 0 && *text)
		**text = '\0';
	if (in)
		fclose(in);
	else
		close(fd[0]);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status == 0 && *text ? 0 : -EIO;
}

/* Get the text of a topology; name NULL: that of the cluster. */
static int load_text(const char *srun, const char *name, char **text,
		     struct np_err *err)
{
	topo_info_response_msg_t *msg = NULL;

	/* Users may set this; Slurm then cuts the lines at that length. */
	unsetenv("SLURM_TOPO_LEN");
	errno = ELIBACC;
	if (NP_TOPO_ENDS_CLIENTS || np_load_topo(&msg, name)) {
		int error = errno;

		return !run_scontrol(srun, name, text) ?
			       0 :
			       np_errf(err, -EIO,
				       "slurmctld did not report the topology: "
				       "%s",
				       slurm_strerror(error));
	}
	return np_topo_text(msg, text);
}

int np_leaf_index_parse(const char *text, struct np_leaf_index **out,
			struct np_err *err)
{
	struct np_leaf_index *index = calloc(1, sizeof(*index));
	int rc;

	if (!index)
		return -ENOMEM;
	rc = np_topo_parse(text, &index->topo, err);
	for (size_t i = 0; !rc && i < index->topo.n; i++)
		rc = add_leaf(index, &index->topo.leaf[i]);
	if (rc) {
		np_leaf_index_free(index);
		return rc;
	}
	*out = index;
	return 0;
}

void np_leaf_index_free(struct np_leaf_index *index)
{
	if (!index)
		return;
	np_index_free(&index->nodes);
	free(index->first_leaf);
	free(index->further_leaf);
	free(index->devices);
	np_topo_free(&index->topo);
	np_topo_free(&index->rails);
	free(index);
}

int np_leaf_index_add_rails(struct np_leaf_index *index, struct np_topo *rails)
{
	int rc = 0;

	index->rails = *rails;
	*rails = (struct np_topo){ .n = 0 };
	for (size_t i = 0; !rc && i < index->rails.n; i++)
		rc = add_leaf(index, &index->rails.leaf[i]);
	return rc;
}

int np_leaf_index_set_devices(struct np_leaf_index *index, const char *devices)
{
	char *rest, *word;

	rest = index->devices = strdup(devices);
	if (!rest)
		return -ENOMEM;
	while ((word = strsep(&rest, ",")))
		if (*word && index->n_devices++ < NP_RAILS_MAX)
			index->device[index->n_devices - 1] = word;
	return 0;
}

const char *np_leaf_index_find(const struct np_leaf_index *index,
			       const char *node)
{
	uint32_t at = np_index_find(&index->nodes, node, strlen(node));

	return at == NP_NO_INDEX ? "" : index->first_leaf[at].leaf->name;
}

size_t np_leaf_index_rails(const struct np_leaf_index *index, const char *node,
			   struct np_rail out[NP_RAILS_MAX])
{
	uint32_t at = np_index_find(&index->nodes, node, strlen(node));
	const struct leaf_of_node *next = NULL;
	size_t n = 0;

	out[0] = (struct np_rail){ .leaf = "" };
	if (at != NP_NO_INDEX)
		next = &index->first_leaf[at];
	while (next) {
		const struct np_topo_leaf *leaf = next->leaf;

		out[n++] =
			(struct np_rail){ leaf->name, leaf->rail, leaf->nic };
		next = next->next == NP_NO_INDEX ?
			       NULL :
			       &index->further_leaf[next->next];
	}
	if (n < 2 || out[0].name)
		return n ? n : 1;
	/* Without a device for each, only the first leaf switch counts. */
	if (n != index->n_devices)
		return 1;
	for (size_t i = 0; i < n; i++)
		out[i].name = out[i].nic = index->device[i];
	return n;
}

/*
 * Add the site's rails and devices. A file of rails that cannot be read is
 * noted and ignored. Returns 0 or -ENOMEM.
 */
static int load_rails(const struct np_conf *conf, struct np_leaf_index *index,
		      struct np_record *record)
{
	struct np_err why = NP_ERR_INIT;
	struct np_topo rails;

	if (conf->rails[0]) {
		if (np_rails_load(conf->rails, &rails, &why))
			np_record_note(record, "Rails=%s", why.text);
		else if (np_leaf_index_add_rails(index, &rails))
			return -ENOMEM;
	}
	return np_leaf_index_set_devices(index, conf->net_devices);
}

/*
 * Ask slurmctld for the topology that the job's partition has, and read the
 * site's rails.
 */
static int load_leaf_index(const struct np_launch_request *request,
			   const struct np_conf *conf, struct np_record *record,
			   struct np_leaf_index **out, struct np_err *err)
{
	char *name = job_topology(request->job_id), *text = NULL;
	int rc = load_text(request->srun, name, &text, err);

	if (!rc)
		rc = np_leaf_index_parse(text, out, err);
	if (!rc && load_rails(conf, *out, record))
		rc = np_errf(err, -ENOMEM, "out of memory");
	free(text);
	free(name);
	return rc;
}

/* ---- task layout ---- */

#define MAX_TEXT 4000 /* longest text of a layout, bytes; longer ones are cut */

/*
 * Write the numbers of tasks. Consecutive equal ones are combined, as in
 * SLURM_TASKS_PER_NODE. Returns 0 or -ENOMEM.
 */
static int print_tasks(const uint16_t *tasks, uint32_t n, char **out)
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

/* Return whether each node's ranks follow those of the node before it. */
static bool is_block(const uint16_t *tasks, uint32_t *const *rank, uint32_t n)
{
	uint32_t next = 0;

	for (uint32_t i = 0; i < n; i++)
		for (uint16_t k = 0; k < tasks[i]; k++)
			if (rank[i][k] != next++)
				return false;
	return true;
}

/* Return whether each node that has room gets one rank in turn. */
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

/* Return whether all nodes have equal numbers, or the first ones one more. */
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
	struct np_layout layout = { .digest = NP_HASH };
	int rc = print_tasks(tasks, n, &layout.tasks_per_node);

	if (rc) {
		free(layout.tasks_per_node);
		return rc;
	}
	layout.order = is_block(tasks, rank, n)	 ? "block" :
		       is_cyclic(tasks, rank, n) ? "cyclic" :
						   "other";
	layout.usual = *layout.order == 'b' && is_even(tasks, n);
	layout.digest = np_hash(layout.digest, tasks, n * sizeof(*tasks));
	layout.digest =
		np_hash(layout.digest, layout.order, strlen(layout.order));
	for (uint32_t i = 0; *layout.order == 'o' && i < n; i++)
		layout.digest = np_hash(layout.digest, rank[i],
					tasks[i] * sizeof(*rank[i]));
	*out = layout;
	return 0;
}

void np_layout_fingerprint(const struct np_layout *layout, char hex[20])
{
	uint64_t hash;

	if (layout->usual)
		return;
	hash = np_hash(NP_HASH, hex, strlen(hex));
	hash = np_hash(hash, &layout->digest, sizeof(layout->digest));
	snprintf(hex, 20, "%016llx", (unsigned long long)hash);
}

/* ---- questions to slurmctld ---- */

/* Load a job's steps, for slurm_free_job_step_info_response_msg(). */
static int load_steps(uint32_t job_id, job_step_info_response_msg_t **out,
		      struct np_err *err)
{
	*out = NULL;
	return np_load_job_steps(job_id, out) ?
		       np_errf(err, -EIO,
			       "slurmctld did not report the steps of job %u: "
			       "%s",
			       job_id, slurm_strerror(errno)) :
		       0;
}

/*
 * Return whether a step belongs to another task of the job's array. One task of
 * an array has the id of the array as its job id, for which slurmctld reports
 * the steps of all tasks.
 */
static bool is_of_other_task(const job_step_info_t *step, uint32_t job_id)
{
	return step->array_job_id && step->step_id.job_id != job_id;
}

/*
 * Record the job's place in an array. The environment is not asked, because a
 * job that was submitted from a task of an array has inherited the variables of
 * that task.
 */
static void take_array(const job_step_info_t *step, struct np_record *record)
{
	if (!step->array_job_id || step->array_task_id == NO_VAL)
		return;
	record->array_job_id = step->array_job_id;
	record->array_task_id = step->array_task_id;
}

/* Return whether a step is neither one of our own nor the batch script. */
static bool is_program(const job_step_info_t *step)
{
	return step->step_id.step_id < SLURM_MAX_NORMAL_STEP_ID &&
	       step->nodes &&
	       !(step->name && !strcmp(step->name, NP_HELPER_NAME));
}

/*
 * Return whether these are nodes of the step that are not known yet. In an
 * ordinary job, slurmctld lists each component of "srun ... : ..." on its own,
 * with the number of the step. Components have no nodes in common.
 */
static bool is_part_of_step(const job_step_info_t *info, uint32_t step_id,
			    const struct np_hosts *step)
{
	return info->step_id.step_id == step_id && info->nodes &&
	       (!step->n || info->step_id.step_het_comp != NO_VAL);
}

/*
 * Add the nodes of a step to *step, and to *busy, unless busy is NULL, those of
 * the other steps of the job, except our own and the batch script. The record
 * gets the job's place in an array. Returns -ESRCH if there is no such step.
 */
static int load_step_nodes(uint32_t job_id, uint32_t step_id,
			   struct np_record *record, struct np_hosts *step,
			   struct np_hosts *busy, struct np_err *err)
{
	job_step_info_response_msg_t *msg;
	int rc = load_steps(job_id, &msg, err);

	if (rc)
		return rc;
	for (uint32_t i = 0; !rc && i < msg->job_step_count; i++) {
		const job_step_info_t *info = &msg->job_steps[i];

		if (is_of_other_task(info, job_id))
			continue;
		if (info->step_id.step_id == step_id)
			take_array(info, record);
		if (info->step_id.step_id != step_id && busy &&
		    is_program(info))
			rc = np_hosts_expand(info->nodes, busy);
		else if (is_part_of_step(info, step_id, step))
			rc = np_hosts_expand(info->nodes, step);
	}
	slurm_free_job_step_info_response_msg(msg);
	if (rc)
		return np_errf(err, rc, "nodes of the steps of job %u: %s",
			       job_id, strerror(-rc));
	return step->n ? 0 :
			 np_errf(err, -ESRCH,
				 "step %u.%u is not among the job's steps",
				 job_id, step_id);
}

/* Copy a layout to the record, whose fingerprint then includes it. */
static int take_layout(const slurm_step_layout_t *from,
		       struct np_record *record)
{
	struct np_layout layout;
	char hex[20];

	if (!from->tasks || !from->tids ||
	    np_layout_of(from->tasks, from->tids, from->node_cnt, &layout))
		return -ENOMEM;
	record->n_tasks = from->task_cnt; /* srun knows one component's */
	record->tasks_per_node = layout.tasks_per_node;
	record->task_order = strdup(layout.order);
	if (!record->task_order || !record->fingerprint ||
	    strlen(record->fingerprint) >= sizeof(hex))
		return -ENOMEM;
	strcpy(hex, record->fingerprint);
	np_layout_fingerprint(&layout, hex);
	strcpy(record->fingerprint, hex);
	return 0;
}

/* Load the layout. If slurmctld does not report it, the record lacks it. */
static int load_layout(uint32_t job_id, uint32_t step_id,
		       struct np_record *record)
{
	slurm_step_layout_t *layout = np_load_step_layout(job_id, step_id);
	int rc = layout ? take_layout(layout, record) : 0;

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
		return np_errf(
			err, -EIO,
			"slurmctld did not report the nodes of job %u: %s",
			job_id, slurm_strerror(errno));
	for (uint32_t i = 0; i < msg->record_count; i++)
		if (msg->job_array[i].job_id == job_id &&
		    msg->job_array[i].nodes) {
			rc = np_hosts_expand(msg->job_array[i].nodes, out);
			break;
		}
	np_free_jobs(msg);
	return rc ? np_errf(err, rc, "job %u: no node list", job_id) : 0;
}

/*
 * Load the cluster's name and the version of Slurm. The step must run on this
 * cluster, because the number of its job may be that of another job here. used:
 * name of the cluster that srun uses; "": this one.
 */
static int load_identity(struct np_record *record, const char *used,
			 struct np_err *err)
{
	slurm_conf_t *conf = NULL;

	if (slurm_load_ctl_conf(0, &conf))
		return np_errf(err, -EIO, "slurmctld does not answer: %s",
			       slurm_strerror(errno));
	record->cluster = strdup(conf->cluster_name ? conf->cluster_name : "");
	record->slurm_version = strdup(conf->version ? conf->version : "");
	np_free_conf(conf);
	if (!record->cluster || !record->slurm_version)
		return -ENOMEM;
	return *used && strcasecmp(used, record->cluster) ?
		       np_errf(err, -EXDEV,
			       "it runs on cluster %.64s, but this host "
			       "belongs to cluster %.64s",
			       used, record->cluster) :
		       0;
}

/* ---- where the step and its level run ---- */

/* A node of the step, or another node of its allocation. */
struct node {
	const char *name;
	const char *leaf; /* "": no topology, all nodes are one leaf */
	size_t index;	  /* position in the list of all nodes */
	bool in_step;	  /* the measured step runs here */
	bool busy;	  /* another step of the job runs here */
	bool level;	  /* the load level runs here */
};

struct nodes {
	struct node *node; /* sorted by leaf, then by index */
	size_t n;
};

/* Add the hosts that are not among the nodes yet. seen: names of the nodes. */
static int add_nodes(struct nodes *all, struct np_index *seen,
		     const struct np_step_nodes *nodes,
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
				.leaf = np_leaf_index_find(nodes->leaves, name),
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

/* List the nodes of the step and the job. Free all->node, even on error. */
static int list_nodes(const struct np_step_nodes *nodes,
		      const struct np_hosts *job, const struct np_hosts *busy,
		      struct nodes *all)
{
	struct np_index seen = { .n = 0 };
	int rc;

	all->n = 0;
	all->node = calloc(nodes->step.n + job->n + 1, sizeof(*all->node));
	rc = all->node ? add_nodes(all, &seen, nodes, &nodes->step, true) :
			 -ENOMEM;
	if (!rc)
		rc = add_nodes(all, &seen, nodes, job, false);
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

/* Return the end of the leaf that begins at first. */
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

/* Return how many of n nodes the level takes. */
static size_t count_level(const struct node *node, size_t n)
{
	size_t found = 0;

	for (size_t i = 0; i < n; i++)
		found += node[i].level;
	return found;
}

/*
 * Place the level on one leaf: on idle nodes with NP_SCOPE_LEAF, otherwise on
 * the nodes of the step. Returns the number of nodes.
 */
static size_t place_on_leaf(struct node *node, size_t n, enum np_scope scope)
{
	size_t step = 0, idle = 0;

	for (size_t i = 0; i < n; i++) {
		step += node[i].in_step;
		idle += is_idle(&node[i]);
	}
	for (size_t i = 0; i < n; i++)
		node[i].level = step > 1 &&
				(scope == NP_SCOPE_LEAF ?
					 idle > 1 && is_idle(&node[i]) :
					 node[i].in_step);
	return count_level(node, n);
}

/* The same for all leaves. */
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
 * Thin out the level on one leaf. Its nodes are taken in pairs; of n_pairs on
 * all leaves, `keep` are kept, evenly spread. *seen counts pairs so far.
 */
static void thin_leaf(struct node *node, size_t n, size_t keep, size_t n_pairs,
		      size_t *seen)
{
	size_t left = count_level(node, n) / 2 * 2;

	for (size_t i = 0; i < n; i++) {
		if (!node[i].level)
			continue;
		node[i].level = left && (*seen * keep / n_pairs !=
					 (*seen + 1) * keep / n_pairs);
		if (left && --left % 2 == 0)
			++*seen;
	}
}

/* Reduce the level to at most `most` nodes. */
static void thin_level(struct nodes *all, size_t most)
{
	size_t n_pairs = 0, seen = 0;

	for (size_t i = 0, end; i < all->n; i = end) {
		end = leaf_end(all, i);
		n_pairs += count_level(&all->node[i], end - i) / 2;
	}
	for (size_t i = 0, end; i < all->n; i = end) {
		end = leaf_end(all, i);
		thin_leaf(&all->node[i], end - i, most / 2, n_pairs, &seen);
	}
}

/*
 * Add a leaf to the record. node[n]: all nodes of the allocation on it; rail:
 * that of the leaf. Leaves without nodes of the step are left out.
 */
static int record_leaf(struct np_record *record, const struct node *node,
		       size_t n, const char *rail)
{
	struct np_hosts step = { NULL, 0 };
	struct np_leaf_run *leaf;
	int rc = 0;

	for (size_t i = 0; !rc && i < n; i++)
		if (node[i].in_step)
			rc = np_hosts_add(&step, node[i].name);
	if (rc || !step.n)
		goto out;
	leaf = np_record_leaf(record, node[0].leaf);
	if (!leaf) {
		rc = -ENOMEM;
		goto out;
	}
	leaf->n_nodes = (uint32_t)step.n;
	leaf->nodes = np_hosts_compress(&step);
	leaf->rail = rail ? strdup(rail) : NULL;
	if (step.n < 2)
		leaf->skipped = strdup(
			"only one node of the step is on this leaf switch");
out:
	np_hosts_free(&step);
	return rc;
}

/*
 * Add the leaves of one rail to the record. number is the index of the rail on
 * each node, and counts up from 0 from call to call. For all rails but the
 * first, the nodes are sorted again, and nodes with fewer rails are dropped.
 */
static int record_rail(const struct np_step_nodes *nodes, struct nodes *all,
		       size_t number, struct np_record *record)
{
	struct np_rail rail[NP_RAILS_MAX];
	size_t n = 0;
	int rc = 0;

	for (size_t i = 0; i < all->n; i++) {
		if (np_leaf_index_rails(nodes->leaves, all->node[i].name,
					rail) <= number)
			continue;
		all->node[n] = all->node[i];
		all->node[n++].leaf = rail[number].leaf;
	}
	all->n = n;
	if (number && n)
		qsort(all->node, n, sizeof(*all->node), by_leaf_and_index);
	for (size_t i = 0, end; !rc && i < n; i = end) {
		end = leaf_end(all, i);
		np_leaf_index_rails(nodes->leaves, all->node[i].name, rail);
		rc = record_leaf(record, &all->node[i], end - i,
				 rail[number].name);
	}
	return rc;
}

/* Place the level where it shares as little as possible with the step. */
static int place_level(struct np_step_nodes *nodes, struct nodes *all,
		       size_t max_level, struct np_err *err)
{
	size_t taken;

	nodes->scope = NP_SCOPE_LEAF;
	taken = place_on_leaves(all, nodes->scope);
	if (!taken) {
		nodes->scope = NP_SCOPE_NODE;
		taken = place_on_leaves(all, nodes->scope);
	}
	if (!taken)
		return np_errf(err, -ENODEV,
			       "no two nodes of the step share a leaf switch");
	if (taken > max_level)
		thin_level(all, max_level);
	return 0;
}

int np_step_nodes_plan(struct np_step_nodes *nodes, const struct np_hosts *job,
		       const struct np_hosts *busy, uint32_t max_level,
		       struct np_record *record, struct np_err *err)
{
	struct nodes all;
	int rc = list_nodes(nodes, job, busy, &all);

	if (!rc)
		rc = place_level(nodes, &all, max_level, err);
	for (size_t i = 0; !rc && job->n && i < all.n; i++)
		if (all.node[i].level)
			rc = np_hosts_add(&nodes->level, all.node[i].name);
	for (size_t i = 0; !rc && i < NP_RAILS_MAX && all.n; i++)
		rc = record_rail(nodes, &all, i, record);
	free(all.node);
	if (rc)
		return rc;
	record->n_nodes = (uint32_t)nodes->step.n;
	record->nodes = np_hosts_compress(&nodes->step);
	return record->nodes ? 0 : -ENOMEM;
}

/* Add the host that called srun: mpirun and its first ranks run there. */
static int add_this_host(struct np_hosts *step)
{
	const char *node = getenv("SLURMD_NODENAME");

	return node && !np_hosts_has(step, node) ? np_hosts_add(step, node) : 0;
}

/* Fill in what the launch request, the settings and slurmctld say. */
static int describe_step(struct np_record *record,
			 const struct np_launch_request *request,
			 const struct np_conf *conf, double start_date,
			 struct np_err *err)
{
	char host[65] = "";

	gethostname(host, sizeof(host) - 1);
	strcpy(record->app, request->app);
	record->uid = geteuid();
	record->job_id = request->job_id;
	record->step_id = request->step_id;
	record->het_component = request->het_component;
	record->n_tasks = request->n_tasks;
	record->executable = strdup(request->executable);
	record->fingerprint = strdup(request->fingerprint);
	record->netprof_version = strdup(NP_VERSION);
	record->host = strdup(host);
	record->start = start_date;
	record->probe.message_bytes = conf->message_bytes;
	record->probe.period_sec = conf->period_sec;
	record->probe.per_node = 1;
	record->cpus_per_task = request->cpus_per_task;
	if (request->cpu_bind[0]) {
		record->cpu_bind = strdup(request->cpu_bind);
		if (!record->cpu_bind)
			return -ENOMEM;
	}
	if (!record->executable || !record->fingerprint ||
	    !record->netprof_version || !record->host)
		return -ENOMEM;
	return load_identity(record, request->cluster, err);
}

int np_step_nodes_load(const struct np_launch_request *request,
		       const struct np_conf *conf, double start_date,
		       struct np_record *record, struct np_step_nodes *nodes,
		       struct np_err *err)
{
	struct np_hosts job = { NULL, 0 }, busy = { NULL, 0 };
	bool level = request->level[0];
	int rc;

	*nodes = (struct np_step_nodes){ .leaves = NULL };
	rc = describe_step(record, request, conf, start_date, err);
	if (!rc)
		rc = load_step_nodes(request->job_id, request->step_id, record,
				     &nodes->step, level ? &busy : NULL, err);
	if (!rc)
		rc = load_layout(request->job_id, request->step_id, record);
	if (!rc && request->launcher)
		rc = add_this_host(&nodes->step);
	if (!rc)
		rc = load_leaf_index(request, conf, record, &nodes->leaves,
				     err);
	if (!rc && level)
		rc = load_job_nodes(request->job_id, &job, err);
	if (!rc)
		rc = np_step_nodes_plan(nodes, &job, &busy, conf->probe_nodes,
					record, err);
	if (!rc && level &&
	    !(nodes->level_nodes = np_hosts_compress(&nodes->level)))
		rc = np_errf(err, -ENOMEM, "out of memory");
	np_hosts_free(&job);
	np_hosts_free(&busy);
	if (rc)
		np_step_nodes_free(nodes);
	return rc;
}

void np_step_nodes_free(struct np_step_nodes *nodes)
{
	np_leaf_index_free(nodes->leaves);
	np_hosts_free(&nodes->step);
	np_hosts_free(&nodes->level);
	free(nodes->level_nodes);
	*nodes = (struct np_step_nodes){ .leaves = NULL };
}

/* ---- neighbours ---- */

/*
 * Pause between two queries: at least MIN_PAUSE_SEC, which is less than Slurm's
 * MinJobAge of 300 s, so that it still knows all jobs that have ended meanwhile.
 */
#define MIN_PAUSE_SEC 60.0
#define PAUSE_PER_RUN 0.25
#define PAUSE_PER_QUERY 300.0

double np_neighbours_pause_sec(double run_sec, double took_sec)
{
	return fmax(fmax(MIN_PAUSE_SEC, PAUSE_PER_RUN * run_sec),
		    PAUSE_PER_QUERY * took_sec);
}

/* Slurm's times are whole seconds: a shorter overlap may be none at all. */
#define LEAST_OVERLAP_SEC 1.0

static struct np_neighbour *find_neighbour(struct np_record *record,
					   const struct np_candidate *candidate,
					   const char *leaf)
{
	for (size_t i = 0; i < record->n_neighbours; i++) {
		struct np_neighbour *neighbour = &record->neighbours[i];

		if (neighbour->job_id == candidate->job_id &&
		    neighbour->step_id == candidate->step_id &&
		    !strcmp(neighbour->leaf, leaf))
			return neighbour;
	}
	return NULL;
}

static struct np_neighbour *add_neighbour(struct np_record *record,
					  const struct np_candidate *candidate,
					  const char *leaf)
{
	struct np_neighbour *neighbour;

	if (np_array_resize(&record->neighbours, record->n_neighbours + 1,
			    sizeof(*neighbour)))
		return NULL;
	neighbour = &record->neighbours[record->n_neighbours];
	*neighbour = (struct np_neighbour){ .job_id = candidate->job_id,
					    .step_id = candidate->step_id,
					    .leaf = strdup(leaf) };
	if (!neighbour->leaf)
		return NULL;
	record->n_neighbours++;
	return neighbour;
}

/* A node of a candidate, and its leaf. */
struct spot {
	const char *leaf, *node; /* leaf first: np_order_text() */
};

static bool is_step_leaf(const struct np_neighbours *neighbours,
			 const char *leaf)
{
	return np_index_find(&neighbours->own_leaves, leaf, strlen(leaf)) !=
	       NP_NO_INDEX;
}

/*
 * Merge a candidate on one leaf into the record. spot[n_spots]: its nodes
 * there. Returns as np_neighbours_add().
 */
static int merge_leaf(struct np_neighbours *neighbours,
		      const struct np_candidate *candidate,
		      const struct spot *spot, size_t n_spots)
{
	struct np_neighbour *neighbour =
		find_neighbour(neighbours->record, candidate, spot[0].leaf);
	struct np_hosts nodes = { NULL, 0 };
	int rc = 0;

	if (!neighbour &&
	    neighbours->record->n_neighbours == NP_RECORD_MAX_NEIGHBOURS) {
		np_record_note(
			neighbours->record,
			"more than %d neighbours: the others are not recorded",
			NP_RECORD_MAX_NEIGHBOURS);
		return NP_NEIGHBOURS_FULL;
	}
	if (!neighbour)
		neighbour = add_neighbour(neighbours->record, candidate,
					  spot[0].leaf);
	if (!neighbour)
		return -ENOMEM;
	for (size_t i = 0; !rc && !neighbour->nodes && i < n_spots; i++)
		rc = np_hosts_add(&nodes, spot[i].node);
	if (!rc && !neighbour->nodes)
		neighbour->nodes = np_hosts_compress(&nodes);
	neighbour->overlap_sec =
		fmax(neighbour->overlap_sec, candidate->overlap_sec);
	np_hosts_free(&nodes);
	return rc;
}

/* Merge a candidate on all leaves of the step. */
static int merge_hosts(struct np_neighbours *neighbours,
		       const struct np_candidate *candidate,
		       const struct np_hosts *hosts)
{
	struct spot *spot = NULL;
	struct np_rail rail[NP_RAILS_MAX];
	size_t n = 0, room = 0;
	int rc = 0;

	for (size_t i = 0; !rc && i < hosts->n; i++) {
		size_t k = np_leaf_index_rails(neighbours->leaves,
					       hosts->name[i], rail);

		rc = np_array_reserve(&spot, &room, n + k, sizeof(*spot));
		while (!rc && k-- > 0)
			if (is_step_leaf(neighbours, rail[k].leaf))
				spot[n++] = (struct spot){ rail[k].leaf,
							   hosts->name[i] };
	}
	if (n)
		qsort(spot, n, sizeof(*spot), np_order_text);
	for (size_t i = 0, end; !rc && i < n; i = end) {
		end = i + 1;
		while (end < n && !np_order_text(&spot[i], &spot[end]))
			end++;
		rc = merge_leaf(neighbours, candidate, &spot[i], end - i);
	}
	free(spot);
	return rc;
}

int np_neighbours_add(struct np_neighbours *neighbours,
		      const struct np_candidate *candidate, struct np_err *err)
{
	struct np_hosts hosts = { NULL, 0 };
	int rc;

	if (!(candidate->overlap_sec > LEAST_OVERLAP_SEC))
		return 0;
	rc = np_hosts_expand(candidate->nodes, &hosts);
	if (!rc)
		rc = merge_hosts(neighbours, candidate, &hosts);
	np_hosts_free(&hosts);
	return rc < 0 ? np_errf(err, rc, "job %u on %.80s: %s",
				candidate->job_id, candidate->nodes,
				strerror(-rc)) :
			rc;
}

int np_neighbours_init(struct np_neighbours *neighbours,
		       const struct np_leaf_index *leaves,
		       const struct np_hosts *nodes, struct np_record *record,
		       struct np_err *err)
{
	struct np_rail rail[NP_RAILS_MAX];
	bool full = false;

	*neighbours =
		(struct np_neighbours){ .leaves = leaves, .record = record };
	for (size_t i = 0; !full && i < nodes->n; i++) {
		size_t n = np_leaf_index_rails(leaves, nodes->name[i], rail);

		for (size_t k = 0; k < n; k++)
			full |= np_index_add(&neighbours->own_leaves,
					     rail[k].leaf,
					     strlen(rail[k].leaf)) ==
				NP_NO_INDEX;
	}
	if (!full)
		return 0;
	np_neighbours_free(neighbours);
	return np_errf(err, -ENOMEM, "out of memory");
}

void np_neighbours_free(struct np_neighbours *neighbours)
{
	np_index_free(&neighbours->own_leaves);
	free(neighbours->component);
}

/*
 * Return for how long this run, up to the date `until`, overlaps with a job
 * that runs from start to end, in seconds; end 0: it is still running.
 */
static double overlap_sec(const struct np_record *record, double until,
			  time_t start, time_t end)
{
	double to = end && end < until ? (double)end : until;

	return to - fmax((double)start, record->start);
}

/*
 * ---- the list of all jobs ----
 *
 * Slurm can only report all jobs at once, with all texts that their users wrote
 * into them, and the step's job may not have enough memory left for that.
 * Therefore a child with limited memory requests the list, and sends one line
 * of text for each job. It must be a child, because Slurm's library ends a
 * process that runs out of memory.
 */

/* What is needed of a job that is not pending. */
struct known_job {
	uint32_t id, het_id;
	int runs;
	long long start, end, suspend; /* dates */
	const char *nodes;	       /* hostlist expression */
};

static void print_job(const slurm_job_info_t *job, FILE *out)
{
	int base = job->job_state & JOB_STATE_BASE;

	/* A pending job has a start time as well, the expected one. */
	if (base == JOB_PENDING || !job->nodes || !*job->nodes)
		return;
	fprintf(out, "%u %u %d %lld %lld %lld %s\n", job->job_id,
		job->het_job_id, base == JOB_RUNNING,
		(long long)job->start_time, (long long)job->end_time,
		(long long)job->suspend_time, job->nodes);
}

/* Runs in a child: write a line per job, and "end"; or "error TEXT". */
static void send_jobs(int fd, np_load_jobs_f *load, double most_bytes)
{
	const int keep[] = { -1, -1, -1, fd };
	const struct rlimit none = { 0, 0 };
	job_info_msg_t *msg = NULL;
	FILE *out;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	out = np_detach(keep, NP_ARRAY_SIZE(keep)) ?
		      NULL :
		      fdopen(NP_ARRAY_SIZE(keep) - 1, "w");
	if (!out)
		_exit(1);
	setrlimit(RLIMIT_CORE, &none); /* no core file */
	np_limit_memory(most_bytes);
	if (load(&msg)) {
		fprintf(out, "error %s\n", slurm_strerror(errno));
	} else {
		for (uint32_t i = 0; i < msg->record_count; i++)
			print_job(&msg->job_array[i], out);
		fprintf(out, "end\n");
	}
	fclose(out);
	_exit(0);
}

/* Parse a line of send_jobs(), in place. Returns whether it is of a job. */
static bool parse_job(char *line, struct known_job *job)
{
	int nodes = 0;

	line[strcspn(line, "\n")] = '\0';
	if (sscanf(line, "%u %u %d %lld %lld %lld %n", &job->id, &job->het_id,
		   &job->runs, &job->start, &job->end, &job->suspend,
		   &nodes) != 6 ||
	    !nodes || !line[nodes])
		return false;
	job->nodes = line + nodes;
	return true;
}

/*
 * Remember a running component, whose steps are merged later: as many as are
 * measured, since each takes a request to slurmctld.
 */
static int add_component(struct np_neighbours *neighbours,
			 const struct known_job *job, struct np_err *err)
{
	if (!job->runs || neighbours->n_components == NP_RENDEZVOUS_COMPONENTS)
		return 0;
	if (np_array_grow(&neighbours->component, neighbours->n_components,
			  sizeof(*neighbours->component)))
		return np_errf(err, -ENOMEM, "out of memory");
	neighbours->component[neighbours->n_components++] = job->id;
	return 0;
}

/* Merge a job, or note that it is the step's own and was suspended. */
static int merge_job(struct np_neighbours *neighbours, double until,
		     uint32_t het_job_id, const struct known_job *job,
		     struct np_err *err)
{
	struct np_record *record = neighbours->record;
	const struct np_candidate candidate = {
		job->id,
		NP_NO_VALUE,
		job->nodes,
		overlap_sec(record, until, (time_t)job->start,
			    job->runs ? 0 : (time_t)job->end),
	};

	/* Suspended or resumed since the run began. */
	if (job->id == record->job_id && (double)job->suspend > record->start)
		record->suspended = true;
	if (job->id == record->job_id)
		return 0;
	if (het_job_id && job->het_id == het_job_id)
		return add_component(neighbours, job, err);
	return np_neighbours_add(neighbours, &candidate, err);
}

/* Merge what the child sends. -EPIPE: it ended too early. */
static int read_jobs(struct np_neighbours *neighbours, double until,
		     uint32_t het_job_id, FILE *in, struct np_err *err)
{
	bool complete = false;
	char *line = NULL;
	size_t size = 0;
	int rc = 0;

	while (!rc && !complete && getline(&line, &size, in) > 0) {
		struct known_job job;

		if (!strcmp(line, "end\n"))
			complete = true;
		else if (parse_job(line, &job))
			rc = merge_job(neighbours, until, het_job_id, &job,
				       err);
		else
			rc = np_errf(err, -EIO,
				     "slurmctld did not report the jobs: %s",
				     strncmp(line, "error ", 6) ?
					     "unknown line" :
					     line + 6);
	}
	if (!rc && !complete && ferror(in)) /* a signal arrived */
		rc = np_errf(err, -errno, "the list of jobs was not read: %s",
			     strerror(errno));
	free(line);
	return rc || complete ? rc : -EPIPE;
}

int np_neighbours_merge_jobs(struct np_neighbours *neighbours, double until,
			     uint32_t het_job_id, np_load_jobs_f *load,
			     double most_bytes, struct np_err *err)
{
	int fd[2], rc;
	pid_t pid;
	FILE *in;

	if (pipe2(fd, O_CLOEXEC) || np_fds_above(fd))
		return np_errf(err, -errno, "no pipe: %s", strerror(errno));
	pid = fork();
	if (!pid)
		send_jobs(fd[1], load, most_bytes);
	close(fd[1]);
	in = pid > 0 ? fdopen(fd[0], "r") : NULL;
	if (in)
		rc = read_jobs(neighbours, until, het_job_id, in, err);
	else
		rc = np_errf(err, -EAGAIN, "no process: %s", strerror(errno));
	if (in)
		fclose(in);
	else
		close(fd[0]);
	if (pid > 0) {
		kill(pid, SIGKILL);
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	return rc == -EPIPE ? np_errf(err, rc,
				      "the list of all jobs takes more than "
				      "%.0f MiB of memory",
				      most_bytes / (1 << 20)) :
			      rc;
}

/* An np_load_jobs_f: ask slurmctld. */
static int load_all_jobs(job_info_msg_t **out)
{
	return slurm_load_jobs(0, out, SHOW_ALL);
}

/*
 * Merge the other steps of the step's job, or of another component of that. The
 * numbers of steps are those of the whole heterogeneous job.
 */
static int merge_steps(struct np_neighbours *neighbours, uint32_t job_id,
		       double until, struct np_err *err)
{
	job_step_info_response_msg_t *msg;
	int rc = load_steps(job_id, &msg, err);

	if (rc)
		return rc;
	for (uint32_t i = 0; !rc && i < msg->job_step_count; i++) {
		const job_step_info_t *step = &msg->job_steps[i];
		struct np_candidate candidate = {
			step->step_id.job_id,
			step->step_id.step_id,
			step->nodes,
			overlap_sec(neighbours->record, until, step->start_time,
				    0),
		};

		if (is_program(step) && !is_of_other_task(step, job_id) &&
		    step->step_id.step_id != neighbours->record->step_id)
			rc = np_neighbours_add(neighbours, &candidate, err);
	}
	slurm_free_job_step_info_response_msg(msg);
	return rc;
}

int np_neighbours_query(const struct np_leaf_index *leaves,
			const struct np_hosts *nodes, double until,
			uint32_t het_job_id, double most_bytes,
			struct np_record *record, struct np_err *err)
{
	struct np_neighbours neighbours;
	int rc = np_neighbours_init(&neighbours, leaves, nodes, record, err);

	if (rc)
		return rc;
	rc = np_neighbours_merge_jobs(&neighbours, until, het_job_id,
				      load_all_jobs, most_bytes, err);
	if (!rc)
		rc = merge_steps(&neighbours, record->job_id, until, err);
	for (size_t i = 0; !rc && i < neighbours.n_components; i++)
		rc = merge_steps(&neighbours, neighbours.component[i], until,
				 err);
	np_neighbours_free(&neighbours);
	return rc == NP_NEIGHBOURS_FULL ? 0 : rc;
}
