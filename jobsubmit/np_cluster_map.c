/*
 * The cluster map. The sections are:
 *
 *	Queries			lists of names; which nodes match a job
 *	Making the map		nodes and partitions; leaf switches; the whole
 */
#include "np_cluster_map.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "np_array.h"
#include "np_bits.h"
#include "np_hostlist.h"
#include "np_text.h"
#include "np_topo.h"

/* ---- Queries: references, and lists of names ---- */

struct np_cluster_map *np_cluster_map_ref(struct np_cluster_map *map)
{
	if (map)
		atomic_fetch_add(&map->refs, 1);
	return map;
}

void np_cluster_map_unref(struct np_cluster_map *map)
{
	if (!map || atomic_fetch_sub(&map->refs, 1) > 1)
		return;
	np_node_index_free(map->node_index);
	np_node_index_free(map->host_index);
	np_leaves_unref(map->leaves);
	np_names_free(map->name, map->name ? map->n_nodes : 0);
	np_names_free(map->host, map->host ? map->n_nodes : 0);
	for (size_t i = 0; i < map->n_kinds; i++) {
		free(map->kind[i].features);
		free(map->kind[i].nodes);
	}
	for (size_t i = 0; i < map->n_parts; i++) {
		free(map->part[i].name);
		free(map->part[i].nodes);
	}
	free(map->kind);
	free(map->part);
	free(map);
}

int np_cluster_map_partition(const struct np_cluster_map *map,
			     const char *names)
{
	size_t len = names ? strcspn(names, ",") : 0;

	for (size_t i = 0; i < map->n_parts; i++)
		if (names ? !strncmp(map->part[i].name, names, len) &&
				    !map->part[i].name[len] :
			    map->part[i].is_default)
			return (int)i;
	return -1;
}

/* State of reading a host list name by name. */
struct name_reader {
	const struct np_node_index *index;
	uint64_t *nodes;      /* bitmap, in which the bits are set */
	size_t names_left;    /* that are still allowed */
	size_t expanded_left; /* of these, in items with brackets */
};

/* Callback of np_hostlist_walk(). */
static int set_named_node(void *arg, const char *name)
{
	struct name_reader *reader = arg;

	if (!reader->names_left--)
		return -EINVAL;
	np_node_index_find(reader->index, name, reader->nodes);
	return 0;
}

/* The same for a name of an item with brackets. */
static int set_expanded_node(void *arg, const char *name)
{
	struct name_reader *reader = arg;

	return reader->expanded_left-- ? set_named_node(arg, name) : -EINVAL;
}

/*
 * Set the nodes of a host list with at most max_names names, where a span
 * counts as one. Items that the index cannot read are read name by name; those
 * of them that have brackets have at most max_expanded names, because a few
 * bytes can stand for very many. Slurm's parser is not used, because it
 * allocates every name and leaks some of them. Returns 0 or -EINVAL.
 */
static int set_nodes(const struct np_node_index *index, const char *hosts,
		     size_t max_names, size_t max_expanded, uint64_t *nodes)
{
	struct name_reader reader = { index, nodes, max_names, max_expanded };
	int rc = 0;

	for (size_t len; !rc && hosts && (len = np_hostlist_word(&hosts));
	     hosts += len) {
		rc = np_node_index_parse(index, hosts, len, nodes,
					 &reader.names_left);
		if (rc == -ENOENT)
			rc = np_hostlist_walk(hosts, len,
					      memchr(hosts, '[', len) ?
						      set_expanded_node :
						      set_named_node,
					      &reader);
	}
	return rc ? -EINVAL : 0;
}

/* Read a host list, in which Slurm takes names of hosts for those of nodes. */
static int parse_list(const struct np_cluster_map *map, const char *hosts,
		      size_t max_names, size_t max_expanded, uint64_t *nodes)
{
	int rc;

	memset(nodes, 0, map->words * sizeof(*nodes));
	rc = set_nodes(map->node_index, hosts, max_names, max_expanded, nodes);
	return rc || !map->host_index ?
		       rc :
		       set_nodes(map->host_index, hosts, max_names,
				 max_expanded, nodes);
}

int np_cluster_map_parse_hostlist(const struct np_cluster_map *map,
				  const char *hosts, uint64_t *nodes)
{
	if (hosts && strpbrk(hosts, "{}"))
		return -EINVAL;
	return parse_list(map, hosts, 4 * map->n_nodes,
			  NP_CLUSTER_MAP_MAX_EXPANDED, nodes);
}

/*
 * Read a host list from Slurm's configuration. Unlike a user's list, it may
 * contain up to NP_HOSTLIST_MAX names, because it may name nodes that do not
 * exist yet.
 */
static int parse_conf_list(const struct np_cluster_map *map, const char *hosts,
			   uint64_t *nodes)
{
	return parse_list(map, hosts, NP_HOSTLIST_MAX, NP_HOSTLIST_MAX, nodes);
}

/* Return the text, or if it is empty, free it and return NULL. */
static char *null_if_empty(char *text)
{
	if (text && *text)
		return text;
	free(text);
	return NULL;
}

char *np_cluster_map_format_hostlist(const struct np_cluster_map *map,
				     const uint64_t *nodes)
{
	return null_if_empty(np_node_index_format(map->node_index, nodes));
}

char *np_cluster_map_format_closed(const struct np_cluster_map *map,
				   const uint64_t *open)
{
	uint64_t *closed = calloc(map->words, sizeof(*closed));
	char *text = NULL;

	if (closed) {
		np_leaves_excluded(map->leaves, open, closed);
		text = np_cluster_map_format_hostlist(map, closed);
	}
	free(closed);
	return text;
}

/* Return the text of a Slurm hostlist, and destroy the list. */
static char *finish_hostlist(np_hostlist_t list)
{
	char *text = np_ranged_string(list);

	slurm_hostlist_destroy(list);
	return text;
}

char *np_cluster_map_leaf_names(const struct np_cluster_map *map,
				const uint64_t *leaves)
{
	np_hostlist_t list = slurm_hostlist_create(NULL);

	NP_BITS_EACH(i, leaves, map->leaves->words)
		slurm_hostlist_push_host(list, map->leaves->name[i]);
	return finish_hostlist(list);
}

char *np_cluster_map_switch_names(const struct np_cluster_map *map,
				  const uint32_t *number, size_t n)
{
	np_hostlist_t list = slurm_hostlist_create(NULL);

	for (size_t i = 0; i < n; i++)
		slurm_hostlist_push_host(list,
					 map->leaves->switch_name[number[i]]);
	return finish_hostlist(list);
}

void np_cluster_map_from_ranges(const struct np_cluster_map *map,
				const int32_t *ranges, uint64_t *nodes)
{
	memset(nodes, 0, map->words * sizeof(*nodes));
	for (; ranges && ranges[0] >= 0 && ranges[1] >= ranges[0]; ranges += 2)
		for (int32_t i = ranges[0]; i <= ranges[1]; i++)
			if ((size_t)i < map->n_nodes && map->name[i][0])
				np_bits_set(nodes, (size_t)i);
}

/* ---- Queries: which nodes match a job, and how many it needs ---- */

void np_job_requirements_set_memory(struct np_job_requirements *required,
				    uint64_t memory)
{
	if (memory == NO_VAL64 || memory == INFINITE64)
		return;
	if (memory & MEM_PER_CPU)
		required->memory_per_cpu_mb = memory & ~MEM_PER_CPU;
	else
		required->memory_mb = memory;
}

/* Whether an expression only combines features by "and". */
static bool is_plain_and(const char *features)
{
	return !strpbrk(features, "|()[]*!");
}

/*
 * Whether a list has all features of an expression that is_plain_and() accepts.
 */
static bool has_all_features(const char *list, const char *features)
{
	while (*features) {
		size_t n = strcspn(features, "&,");

		if (n && !np_list_has(list, features, n))
			return false;
		features += n + (features[n] != '\0');
	}
	return true;
}

/*
 * Whether a kind of node has what a job needs of each node. An expression of
 * features that cannot be evaluated counts as met: np_cluster_map_fit() reports
 * where the result depends on it.
 */
static bool kind_matches(const struct np_node_kind *kind,
			 const struct np_job_requirements *required)
{
	uint64_t cpus = required->cpus_per_node ? required->cpus_per_node : 1;

	return kind->cpus >= cpus && kind->memory_mb >= required->memory_mb &&
	       kind->memory_mb >= cpus * required->memory_per_cpu_mb &&
	       (!required->features || !is_plain_and(required->features) ||
		has_all_features(kind->features, required->features));
}

/* Number of nodes for a total of CPUs or tasks; 0 if per_node is 0. */
static uint32_t nodes_needed(uint64_t total, uint64_t per_node)
{
	uint64_t n = per_node ? (total + per_node - 1) / per_node : 0;

	return n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

static uint32_t max_u32(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

/*
 * CPUs of a node that a job can use, given the limit of its partition, the
 * memory that it needs for each and the number of threads that it uses of each
 * core.
 */
static uint64_t usable_cpus(const struct np_node_kind *kind,
			    const struct np_part *part,
			    const struct np_job_requirements *required)
{
	uint32_t threads = required->threads_per_core;
	uint64_t cpus = kind->cpus, by_memory;

	if (part->max_cpus && part->max_cpus < cpus)
		cpus = part->max_cpus;
	if (threads && threads < kind->threads)
		cpus = cpus / kind->threads * threads;
	if (!required->memory_per_cpu_mb)
		return cpus;
	by_memory = kind->memory_mb / required->memory_per_cpu_mb;
	return by_memory < cpus ? by_memory : cpus;
}

/*
 * It is not known which nodes the job will get, so min_nodes is computed for
 * the matching kind with the fewest usable CPUs: that many nodes suffice,
 * whichever they are.
 */
int np_cluster_map_fit(const struct np_cluster_map *map,
		       const struct np_job_requirements *required,
		       uint64_t *nodes, struct np_job_fit *fit)
{
	const struct np_part *part;
	uint64_t least_cpus = UINT64_MAX; /* of the kinds that match */
	size_t n_matching = 0;		  /* kinds */

	*fit = (struct np_job_fit){
		.partition = np_cluster_map_partition(map, required->partition),
		.undetermined = required->undetermined ||
				(required->partition &&
				 strchr(required->partition, ',')),
	};
	if (fit->partition < 0)
		return -ENOENT;
	part = &map->part[fit->partition];
	fit->undetermined |= part->no_leaves || part->own_leaves;
	memset(nodes, 0, map->words * sizeof(*nodes));
	for (size_t k = 0; k < map->n_kinds; k++) {
		const struct np_node_kind *kind = &map->kind[k];

		if (!np_bits_intersect(part->nodes, kind->nodes, map->words) ||
		    !kind_matches(kind, required))
			continue;
		n_matching++;
		for (size_t w = 0; w < map->words; w++)
			nodes[w] |= part->nodes[w] & kind->nodes[w];
		if (usable_cpus(kind, part, required) < least_cpus)
			least_cpus = usable_cpus(kind, part, required);
	}
	/*
	 * If all nodes of the partition are alike, devices and features that
	 * cannot be evaluated make no difference: a job that Slurm accepts can
	 * use all of these nodes.
	 */
	fit->undetermined |=
		part->n_kinds > 1 &&
		(required->wants_devices ||
		 (required->features && !is_plain_and(required->features)));
	fit->undetermined |= required->wants_devices && !part->same_devices;
	fit->min_nodes = max_u32(1, required->nodes);
	if (n_matching)
		fit->min_nodes =
			max_u32(fit->min_nodes,
				nodes_needed(required->cpus, least_cpus));
	fit->min_nodes =
		max_u32(fit->min_nodes, nodes_needed(required->tasks,
						     required->tasks_per_node));
	return 0;
}

/* ---- Making the map: nodes and partitions ---- */

/* The active features of a node, or the configured ones if it has none. */
static const char *node_features(const node_info_t *node)
{
	return node->features_act ? node->features_act :
	       node->features	  ? node->features :
				    "";
}

static int add_node_names(struct np_cluster_map *map,
			  const node_info_msg_t *nodes)
{
	map->name = calloc(map->n_nodes + 1, sizeof(*map->name));
	for (size_t i = 0; map->name && i < map->n_nodes; i++) {
		const char *name = nodes->node_array[i].name;

		map->name[i] = strdup(name ? name : "");
		if (!map->name[i])
			return -ENOMEM;
	}
	return map->name ? np_node_index_new(map->name, map->n_nodes,
					     &map->node_index) :
			   -ENOMEM;
}

/*
 * Add the names of hosts (NodeHostName) that differ from those of the nodes. A
 * node's name takes precedence, as in Slurm.
 */
static int add_host_names(struct np_cluster_map *map,
			  const node_info_msg_t *nodes)
{
	bool any = false;

	map->host = calloc(map->n_nodes + 1, sizeof(*map->host));
	for (size_t i = 0; map->host && i < map->n_nodes; i++) {
		const char *host = nodes->node_array[i].node_hostname;
		bool differs = host && *map->name[i] &&
			       !np_node_index_find(map->node_index, host, NULL);

		map->host[i] = strdup(differs ? host : "");
		if (!map->host[i])
			return -ENOMEM;
		any |= differs;
	}
	if (!map->host)
		return -ENOMEM;
	return any ? np_node_index_new(map->host, map->n_nodes,
				       &map->host_index) :
		     0;
}

/* CPUs of a node without those of CoreSpecCount or CpuSpecList. */
static uint32_t node_cpus(const node_info_t *node)
{
	return node->cpus_efctv ? node->cpus_efctv : node->cpus;
}

/* Memory of a node without MemSpecLimit. */
static uint64_t node_memory_mb(const node_info_t *node)
{
	return node->real_memory > node->mem_spec_limit ?
		       node->real_memory - node->mem_spec_limit :
		       0;
}

static bool kind_equals(const struct np_node_kind *kind,
			const node_info_t *node)
{
	return kind->cpus == node_cpus(node) &&
	       kind->threads == node->threads &&
	       kind->memory_mb == node_memory_mb(node) &&
	       !strcmp(kind->features, node_features(node));
}

static struct np_node_kind *add_kind(struct np_cluster_map *map,
				     const node_info_t *node)
{
	struct np_node_kind *kind = &map->kind[map->n_kinds];

	kind->cpus = node_cpus(node);
	kind->threads = node->threads;
	kind->memory_mb = node_memory_mb(node);
	kind->features = strdup(node_features(node));
	kind->nodes = calloc(map->words, sizeof(*kind->nodes));
	map->n_kinds++;
	return kind->features && kind->nodes ? kind : NULL;
}

/*
 * Reduce a kind so that a job that fits it also fits this node: fewer CPUs,
 * less memory, no features, and more threads per core, because a job that
 * limits its threads can use fewer CPUs there. Used when there are
 * NP_CLUSTER_MAP_MAX_KINDS kinds: the last one takes all further nodes.
 */
static void reduce_kind(struct np_node_kind *kind, const node_info_t *node)
{
	if (node_cpus(node) < kind->cpus)
		kind->cpus = node_cpus(node);
	if (node->threads > kind->threads)
		kind->threads = node->threads;
	if (node_memory_mb(node) < kind->memory_mb)
		kind->memory_mb = node_memory_mb(node);
	kind->features[0] = '\0';
}

/*
 * Divide the nodes into kinds. Adjacent nodes are often alike, so the kind of
 * the previous node is tried first.
 */
static int add_node_kinds(struct np_cluster_map *map,
			  const node_info_msg_t *nodes)
{
	struct np_node_kind *kind = NULL;

	map->kind = calloc(NP_CLUSTER_MAP_MAX_KINDS, sizeof(*map->kind));
	if (!map->kind)
		return -ENOMEM;
	for (size_t i = 0; i < map->n_nodes; i++) {
		const node_info_t *node = &nodes->node_array[i];
		size_t k = 0;

		if (!kind || !kind_equals(kind, node)) {
			while (k < map->n_kinds &&
			       !kind_equals(&map->kind[k], node))
				k++;
			if (k < map->n_kinds) {
				kind = &map->kind[k];
			} else if (k < NP_CLUSTER_MAP_MAX_KINDS) {
				kind = add_kind(map, node);
			} else {
				kind = &map->kind[k - 1];
				reduce_kind(kind, node);
			}
		}
		if (!kind)
			return -ENOMEM;
		np_bits_set(kind->nodes, i);
	}
	return 0;
}

/* Skip what Slurm adds once a node has registered, as in "gpu:4(S:0-1)". */
static const char *skip_sockets(const char *devices)
{
	const char *end = *devices == '(' ? strchr(devices, ')') : NULL;

	return end ? end + 1 : devices;
}

/* Whether two lists of a node's devices, which may be NULL, are the same. */
static bool is_same_devices(const char *a, const char *b)
{
	a = skip_sockets(a ? a : "");
	b = skip_sockets(b ? b : "");
	while (*a && *a == *b) {
		a = skip_sockets(a + 1);
		b = skip_sockets(b + 1);
	}
	return *a == *b;
}

/* Whether all nodes of a partition have the same devices. */
static bool have_same_devices(const struct np_cluster_map *map,
			      const struct np_part *part,
			      const node_info_msg_t *nodes)
{
	const node_info_t *first = NULL;

	NP_BITS_EACH(i, part->nodes, map->words) {
		const node_info_t *node = &nodes->node_array[i];

		if (!first)
			first = node;
		else if (!is_same_devices(first->gres, node->gres))
			return false;
	}
	return true;
}

/* Add the partitions, after the node kinds. Returns 0 or -ENOMEM. */
static int add_parts(struct np_cluster_map *map, const node_info_msg_t *nodes,
		     const partition_info_msg_t *parts, bool whole_nodes)
{
	map->part = calloc(parts->record_count + 1, sizeof(*map->part));
	if (!map->part)
		return -ENOMEM;
	for (uint32_t i = 0; i < parts->record_count; i++) {
		const partition_info_t *info = &parts->partition_array[i];
		struct np_part *part = &map->part[map->n_parts++];

		part->name = strdup(info->name ? info->name : "");
		part->nodes = calloc(map->words, sizeof(*part->nodes));
		if (!part->name || !part->nodes)
			return -ENOMEM;
		np_cluster_map_from_ranges(map, info->node_inx, part->nodes);
		part->is_default = info->flags & PART_FLAG_DEFAULT;
		/* max_share is 0 with OverSubscribe=EXCLUSIVE. */
		part->shares_nodes = !whole_nodes && info->max_share;
		part->own_leaves = info->flags & PART_FLAG_EXCLUSIVE_TOPO;
		part->max_cpus = np_zero_if_unset(info->max_cpus_per_node);
		part->same_devices = have_same_devices(map, part, nodes);
		for (size_t k = 0; k < map->n_kinds; k++)
			part->n_kinds += np_bits_intersect(
				part->nodes, map->kind[k].nodes, map->words);
	}
	return 0;
}

/* ---- Making the map: leaf switches ---- */

/*
 * The list of leaf switches under construction. A bitmap has map->words words.
 */
struct leaf_list {
	struct np_leaf *leaf; /* each owns its node[] */
	size_t n;
	uint64_t *bitmaps;	 /* memory of those below */
	uint64_t *current_nodes; /* bitmap: nodes of the leaf being added */
	uint64_t *nodes_on_leaf; /* a bitmap for each rail: nodes with a leaf */
	uint64_t *topology_nodes;   /* a bitmap for each topology: its nodes */
	uint64_t *rails_file_nodes; /* bitmap: nodes in the rails file */
	/* If Slurm's topology has rails: the device that leads to each. */
	const char *device[NP_RAILS_MAX];
	size_t n_devices;
	size_t n_duplicates;  /* nodes that were found on a second leaf */
	bool names_duplicate; /* map->warning names the first of these */
};

/*
 * Allocate the arrays of a leaf list. Returns 0 or -ENOMEM. Call
 * free_leaf_list() in either case.
 */
static int alloc_leaf_list(const struct np_cluster_map *map, size_t max_leaves,
			   size_t n_topologies, struct leaf_list *list)
{
	size_t words = map->words, n = 2 + NP_RAILS_MAX + n_topologies;

	*list = (struct leaf_list){
		.leaf = calloc(max_leaves + 1, sizeof(*list->leaf)),
		.bitmaps = calloc(n * words, sizeof(*list->bitmaps)),
	};
	if (!list->leaf || !list->bitmaps)
		return -ENOMEM;
	list->current_nodes = list->bitmaps;
	list->rails_file_nodes = list->current_nodes + words;
	list->nodes_on_leaf = list->rails_file_nodes + words;
	list->topology_nodes = list->nodes_on_leaf + NP_RAILS_MAX * words;
	return 0;
}

static void free_leaf_list(struct leaf_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		free((void *)list->leaf[i].node);
	free(list->bitmaps);
	free(list->leaf);
}

/*
 * Find the topology that lists a partition. Returns its index, or 0, the
 * cluster's own topology, if no other lists it.
 */
static size_t find_topology(const struct np_topo *topo, const char *partition)
{
	for (size_t i = 1; i < topo->n_topologies; i++)
		if (np_list_has(topo->partitions[i], partition,
				strlen(partition)))
			return i;
	return 0;
}

/* Whether any leaf switch belongs to this topology. */
static bool topo_has_leaves(const struct np_topo *topo, size_t topology)
{
	for (size_t i = 0; i < topo->n; i++)
		if (topo->leaf[i].topology == topology)
			return true;
	return false;
}

/* Set no_leaves of the partitions whose topology has no leaf switches. */
static void mark_parts_without_leaves(struct np_cluster_map *map,
				      const struct np_topo *topo)
{
	for (size_t i = 0; topo->n && i < map->n_parts; i++)
		map->part[i].no_leaves = !topo_has_leaves(
			topo, find_topology(topo, map->part[i].name));
}

/*
 * Set the nodes of each topology, which are those of its partitions. Nodes in
 * no partition belong to the cluster's topology.
 */
static void set_topology_nodes(const struct np_cluster_map *map,
			       const struct np_topo *topo,
			       uint64_t *topology_nodes)
{
	for (size_t i = 0; i < map->n_nodes; i++)
		np_bits_set(topology_nodes, i);
	if (topo->n_topologies == 1)
		return;
	for (size_t i = 0; i < map->n_parts; i++)
		for (size_t w = 0; w < map->words; w++)
			topology_nodes[w] &= ~map->part[i].nodes[w];
	for (size_t i = 0; i < map->n_parts; i++) {
		size_t topology = find_topology(topo, map->part[i].name);

		for (size_t w = 0; w < map->words; w++)
			topology_nodes[topology * map->words + w] |=
				map->part[i].nodes[w];
	}
}

/*
 * Parse the value of NetDevices, which lists one device for each leaf switch of
 * a node. A single device means that there are no rails. devices is modified.
 */
static void parse_devices(struct leaf_list *list, char *devices)
{
	for (char *device; (device = strsep(&devices, ","));)
		if (*device && list->n_devices < NP_RAILS_MAX)
			list->device[list->n_devices++] = device;
	if (list->n_devices < 2) {
		list->device[0] = NULL;
		list->n_devices = 0;
	}
}

/*
 * Set the nodes that the rails file lists. Invalid lists are skipped.
 * Overwrites current_nodes.
 */
static void set_rails_file_nodes(const struct np_cluster_map *map,
				 struct leaf_list *list,
				 const struct np_topo *rails)
{
	for (size_t i = 0; i < rails->n; i++)
		if (!parse_conf_list(map, rails->leaf[i].nodes,
				     list->current_nodes))
			np_bits_or(list->rails_file_nodes, list->current_nodes,
				   map->words);
}

/* Return the name of the first leaf added so far that a node is on, or "". */
static const char *find_leaf_name(const struct leaf_list *list, uint32_t node)
{
	for (size_t i = 0; i < list->n; i++)
		for (size_t k = 0; k < list->leaf[i].n_nodes; k++)
			if (list->leaf[i].node[k] == node)
				return list->leaf[i].name;
	return "";
}

/*
 * Count a node on two leaves, and warn about the first one, unless there is a
 * warning already.
 */
static void add_duplicate(struct np_cluster_map *map, struct leaf_list *list,
			  uint32_t node, const char *leaf)
{
	list->n_duplicates++;
	if (map->warning.text[0])
		return;
	np_errf(&map->warning, 0,
		"topology: node %.64s is on leaf switches %.64s and %.64s: the "
		"first is used",
		map->name[node], find_leaf_name(list, node), leaf);
	list->names_duplicate = true;
}

/* Append to a warning about a node on two leaves how many more there are. */
static void add_count_to_warning(struct np_cluster_map *map,
				 const struct leaf_list *list)
{
	size_t len = strlen(map->warning.text);

	if (list->names_duplicate && list->n_duplicates > 1)
		snprintf(map->warning.text + len,
			 sizeof(map->warning.text) - len,
			 " (and %zu more node%s)", list->n_duplicates - 1,
			 list->n_duplicates > 2 ? "s" : "");
}

/*
 * Remove from the current leaf all nodes that are on an earlier leaf. Slurm
 * accepts a node on two leaves, with a warning.
 */
static void keep_on_first_leaf(struct np_cluster_map *map,
			       struct leaf_list *list, uint64_t *nodes_on_leaf,
			       const char *leaf)
{
	for (size_t w = 0; w < map->words; w++) {
		uint64_t duplicates = list->current_nodes[w] & nodes_on_leaf[w];

		list->current_nodes[w] &= ~duplicates;
		nodes_on_leaf[w] |= list->current_nodes[w];
		NP_BITS_EACH(i, &duplicates, 1)
			add_duplicate(map, list,
				      (uint32_t)(w * NP_BITS_WORD + i), leaf);
	}
}

/* Append a leaf with the current nodes, if any. Returns 0 or -ENOMEM. */
static int append_leaf(const struct np_cluster_map *map, struct leaf_list *list,
		       const char *name, const char *rail)
{
	struct np_leaf *leaf = &list->leaf[list->n];
	uint32_t *node;

	if (!np_bits_any(list->current_nodes, map->words))
		return 0;
	node = calloc(np_bits_count(list->current_nodes, map->words),
		      sizeof(*node));
	if (!node)
		return -ENOMEM;
	*leaf = (struct np_leaf){ .name = name, .node = node, .rail = rail };
	NP_BITS_EACH(i, list->current_nodes, map->words)
		node[leaf->n_nodes++] = (uint32_t)i;
	list->n++;
	return 0;
}

/*
 * Add a leaf switch of Slurm's topology, without the nodes that the rails file
 * lists. The k-th leaf switch of nodes with several devices is on the k-th
 * rail. Returns 0 or -ENOMEM.
 */
static int add_slurm_leaf(struct np_cluster_map *map, struct leaf_list *list,
			  const struct np_topo_leaf *topo_leaf)
{
	const uint64_t *own_topology_nodes =
		list->topology_nodes + topo_leaf->topology * map->words;
	size_t rail = 0;

	if (parse_conf_list(map, topo_leaf->nodes, list->current_nodes)) {
		if (!map->warning.text[0])
			np_errf(&map->warning, 0,
				"topology: leaf switch %.64s is ignored: "
				"\"%.80s\" is not a list of nodes",
				topo_leaf->name, topo_leaf->nodes);
		return 0;
	}
	for (size_t w = 0; w < map->words; w++)
		list->current_nodes[w] &= own_topology_nodes[w] &
					  ~list->rails_file_nodes[w];
	while (rail < list->n_devices &&
	       np_bits_intersect(list->current_nodes,
				 list->nodes_on_leaf + rail * map->words,
				 map->words))
		rail++;
	if (rail >= list->n_devices)
		rail = 0;
	keep_on_first_leaf(map, list, list->nodes_on_leaf + rail * map->words,
			   topo_leaf->name);
	return append_leaf(map, list, topo_leaf->name, list->device[rail]);
}

/*
 * Add the leaf switch that a line of the rails file names, with the nodes of
 * all lines that name it, unless an earlier line has added it. Returns 0 or
 * -ENOMEM.
 */
static int add_rails_file_leaf(struct np_cluster_map *map,
			       struct leaf_list *list,
			       const struct np_topo *rails, size_t line)
{
	const struct np_topo_leaf *topo_leaf = &rails->leaf[line];
	/*
	 * Reused as scratch memory: all leaves of Slurm's topologies have been
	 * added.
	 */
	uint64_t *line_nodes = list->topology_nodes;

	memset(list->current_nodes, 0,
	       map->words * sizeof(*list->current_nodes));
	for (size_t i = 0; i < rails->n; i++) {
		if (strcmp(rails->leaf[i].name, topo_leaf->name))
			continue;
		if (i < line)
			return 0;
		if (!parse_conf_list(map, rails->leaf[i].nodes, line_nodes))
			np_bits_or(list->current_nodes, line_nodes, map->words);
	}
	return append_leaf(map, list, topo_leaf->name, topo_leaf->rail);
}

/*
 * Make the leaves from Slurm's topologies and from the rails file, which takes
 * precedence for the nodes that it lists. devices is modified. Returns 0 or
 * -errno with err.
 */
static int make_leaves(struct np_cluster_map *map, const struct np_topo *topo,
		       const struct np_topo *rails, char *devices,
		       struct np_err *err)
{
	struct leaf_list list;
	int rc = alloc_leaf_list(map, topo->n + rails->n, topo->n_topologies,
				 &list);

	if (!rc) {
		mark_parts_without_leaves(map, topo);
		set_topology_nodes(map, topo, list.topology_nodes);
		set_rails_file_nodes(map, &list, rails);
		if (topo->n_topologies == 1)
			parse_devices(&list, devices);
	}
	for (size_t i = 0; !rc && i < topo->n; i++)
		rc = add_slurm_leaf(map, &list, &topo->leaf[i]);
	for (size_t i = 0; !rc && i < rails->n; i++)
		rc = add_rails_file_leaf(map, &list, rails, i);
	add_count_to_warning(map, &list);
	if (!rc)
		rc = np_leaves_new(map->n_nodes, list.leaf, list.n,
				   &map->leaves, err);
	free_leaf_list(&list);
	return rc;
}

/* The parts of a site's topology text, whose format np_topo.h describes. */
struct topology_text {
	char *topologies;
	char *devices;	  /* value of NetDevices; NULL: none given */
	char *rails;	  /* text of the rails file; NULL: there is none */
	char *rails_path; /* of that file */
};

/* Split a topology text in place. Parts that it does not have are NULL. */
static struct topology_text split_topology_text(char *text)
{
	struct topology_text split = { .topologies = text };

	split.devices = strstr(text, NP_TOPO_RAILS);
	if (!split.devices)
		return split;
	*split.devices = '\0';
	split.devices += strlen(NP_TOPO_RAILS);
	split.rails_path = strchr(split.devices, '\n');
	split.rails = split.rails_path ? strchr(split.rails_path + 1, '\n') :
					 NULL;
	if (split.rails)
		*split.rails_path++ = *split.rails++ = '\0';
	return split;
}

/*
 * Make the leaves of the map from the topology text. Returns 0 or -errno;
 * -ENOMEM may come without err.
 */
static int add_leaves(struct np_cluster_map *map, const char *topology,
		      struct np_err *err)
{
	struct np_topo topo = { .n = 0 }, rails = { .n = 0 };
	char *copy = strdup(topology);
	struct topology_text split;
	int rc;

	if (!copy)
		return -ENOMEM;
	split = split_topology_text(copy);
	rc = np_topo_parse(split.topologies, &topo, err);
	/* A damaged rails file is ignored, as if there were none. */
	if (!rc && split.rails &&
	    np_rails_parse(split.rails, split.rails_path, &rails,
			   &map->rails_error) == -ENOMEM)
		rc = -ENOMEM;
	if (!rc)
		rc = make_leaves(map, &topo, &rails, split.devices, err);
	np_topo_free(&topo);
	np_topo_free(&rails);
	free(copy);
	return rc;
}

/* ---- Making the map ---- */

static uint64_t hash_text(uint64_t hash, const char *text)
{
	return np_hash(hash, text ? text : "", text ? strlen(text) + 1 : 1);
}

/* Compute a digest of everything from which a map is made. */
static uint64_t compute_digest(const node_info_msg_t *nodes,
			       const partition_info_msg_t *parts,
			       const char *topology, bool whole_nodes)
{
	uint64_t hash = NP_HASH;

	for (uint32_t i = 0; i < nodes->record_count; i++) {
		const node_info_t *node = &nodes->node_array[i];

		hash = hash_text(hash, node->name);
		hash = hash_text(hash, node->node_hostname);
		hash = hash_text(hash, node_features(node));
		hash = hash_text(hash, node->gres);
		hash = np_hash(hash, &node->cpus, sizeof(node->cpus));
		hash = np_hash(hash, &node->cpus_efctv,
			       sizeof(node->cpus_efctv));
		hash = np_hash(hash, &node->mem_spec_limit,
			       sizeof(node->mem_spec_limit));
		hash = np_hash(hash, &node->threads, sizeof(node->threads));
		hash = np_hash(hash, &node->real_memory,
			       sizeof(node->real_memory));
	}
	for (uint32_t i = 0; i < parts->record_count; i++) {
		const partition_info_t *part = &parts->partition_array[i];

		hash = hash_text(hash, part->name);
		hash = hash_text(hash, part->nodes);
		hash = np_hash(hash, &part->flags, sizeof(part->flags));
		hash = np_hash(hash, &part->max_share, sizeof(part->max_share));
		hash = np_hash(hash, &part->max_cpus_per_node,
			       sizeof(part->max_cpus_per_node));
	}
	hash = np_hash(hash, &whole_nodes, sizeof(whole_nodes));
	return hash_text(hash, topology);
}

int np_cluster_map_make(struct np_cluster_map *old,
			const node_info_msg_t *nodes,
			const partition_info_msg_t *parts, const char *topology,
			bool whole_nodes, struct np_cluster_map **out,
			struct np_err *err)
{
	uint64_t digest = compute_digest(nodes, parts, topology, whole_nodes);
	struct np_cluster_map *map;
	int rc;

	if (old && old->digest == digest) {
		*out = np_cluster_map_ref(old);
		return 0;
	}
	if (!nodes->record_count || nodes->record_count > NP_LEAVES_MAX_NODES)
		return np_errf(
			err, -EINVAL,
			"the cluster has %u nodes; 1 to %d are supported",
			nodes->record_count, NP_LEAVES_MAX_NODES);
	map = calloc(1, sizeof(*map));
	if (!map)
		return np_errf(err, -ENOMEM, "out of memory");
	map->refs = 1;
	map->digest = digest;
	map->n_nodes = nodes->record_count;
	map->words = np_bits_words(map->n_nodes);
	rc = add_node_names(map, nodes);
	if (!rc)
		rc = add_host_names(map, nodes);
	if (!rc)
		rc = add_node_kinds(map, nodes);
	if (!rc)
		rc = add_parts(map, nodes, parts, whole_nodes);
	if (!rc)
		rc = add_leaves(map, topology, err);
	if (rc) {
		np_cluster_map_unref(map);
		return rc == -ENOMEM ? np_errf(err, rc, "out of memory") : rc;
	}
	*out = map;
	return 0;
}
