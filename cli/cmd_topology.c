/*
 * netprof topology: which node is on which leaf switch, compared with Slurm's
 * topology.
 *
 * The places come from ibnetdiscover, LLDP, latencies in a file, or latencies
 * that are measured here. To measure, netprof-impactb runs as a step with one
 * process on each node and exchanges messages between every two nodes, one pair
 * after the other so that pairs do not disturb each other. Of several
 * measurements the smallest value counts, and clustering (np_linkage.h) finds
 * groups of nodes that are close to each other.
 *
 * The exit status is 1 if Slurm's topology differs, so that a script can check
 * it.
 */
#include "cmd_topology.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "cli_alloc.h"
#include "cli_check.h"
#include "cli_print.h"
#include "cli_text.h"
#include "np_array.h"
#include "np_clock.h"
#include "np_helper.h"
#include "np_hostlist.h"
#include "np_linkage.h"
#include "np_option.h"
#include "np_read.h"

#define MAX_NAME 128		/* bytes of a leaf's name */
#define MAX_LLDP (1u << 20)	/* output of lldpctl, bytes */
#define MAX_TOPOLOGY (4u << 20) /* output of scontrol, bytes */
#define START_SEC 90.0		/* until all probes have started */
#define POLL_SEC 0.25

struct options {
	const char *ib, *lldp, *latencies, *slurm, *save, *write;
	uint32_t times, repeats;
};

/* ---- places of nodes ---- */

void cli_places_free(struct cli_places *places)
{
	for (size_t i = 0; i < places->n; i++) {
		free(places->place[i].node);
		free(places->place[i].adapter);
	}
	free(places->place);
	np_names_free(places->leaf, places->n_leaves);
	np_names_free(places->alone, places->n_alone);
	*places = (struct cli_places){ NULL };
}

/* Whether Slurm allows a character in names. */
static bool is_name_character(char c)
{
	return isalnum((unsigned char)c) || (c && strchr("._-", c));
}

static bool is_node_name(const char *name)
{
	size_t n = 0;

	while (is_name_character(name[n]))
		n++;
	return n && !name[n] && n < MAX_NAME;
}

/* Replace characters that Slurm does not allow in names by '-'. */
static void copy_name(char to[MAX_NAME], const char *from, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len && n + 1 < MAX_NAME; i++)
		to[n++] = is_name_character(from[i]) ? from[i] : '-';
	to[n] = '\0';
}

/* Add a key to an index. Returns whether it is new. */
static bool add_key(struct np_index *index, const char *key, size_t len)
{
	size_t n = index->n;

	if (np_index_add(index, key, len) == NP_NO_INDEX)
		cli_no_memory();
	return index->n > n;
}

/*
 * Find the index of a name, which is added if it is new. Returns 0 or -E2BIG:
 * there are too many.
 */
static int find_or_add(char ***names, size_t *n, size_t most, const char *name,
		       uint32_t *out)
{
	uint32_t i = 0;

	while (i < *n && strcmp((*names)[i], name))
		i++;
	if (i == most)
		return -E2BIG;
	*out = i;
	return i == *n ? cli_check_memory(np_names_add(names, n, name)) : 0;
}

/* Add the leaf of a further adapter of a node, unless the node has it. */
static void add_other(struct cli_place *place, uint32_t leaf)
{
	if (leaf == place->leaf || place->n_others == CLI_PLACE_OTHERS)
		return;
	for (size_t i = 0; i < place->n_others; i++)
		if (place->other[i] == leaf)
			return;
	place->other[place->n_others++] = leaf;
}

/*
 * Add a further adapter of a node that was found before. The node is on the leaf
 * of the adapter whose name comes first, whatever their order in the file.
 */
static void add_adapter(struct cli_place *place, uint32_t leaf,
			const char *adapter)
{
	uint32_t former = place->leaf;

	if (strverscmp(adapter, place->adapter) >= 0) {
		add_other(place, leaf);
		return;
	}
	free(place->adapter);
	place->adapter = cli_strdup(adapter);
	place->leaf = leaf;
	for (size_t i = 0; i < place->n_others; i++)
		if (place->other[i] == leaf)
			place->other[i] = place->other[--place->n_others];
	add_other(place, former);
}

/* Add a node, or a further adapter of one. */
static void add_place(struct cli_places *places, const char *node,
		      const char *leaf_name, const char *adapter)
{
	struct cli_place *place = places->place;
	uint32_t leaf;

	find_or_add(&places->leaf, &places->n_leaves, SIZE_MAX, leaf_name,
		    &leaf);
	while (place < places->place + places->n && strcmp(place->node, node))
		place++;
	if (place < places->place + places->n) {
		add_adapter(place, leaf, adapter);
		return;
	}
	cli_array_grow(&places->place, places->n, sizeof(*places->place));
	places->place[places->n++] = (struct cli_place){ cli_strdup(node),
							 cli_strdup(adapter),
							 leaf };
}

/* ---- InfiniBand ---- */

/* Find the description of a node: the quoted text in a line's comment. */
static bool find_description(const char *line, const char **text, size_t *len)
{
	const char *hash = strchr(line, '#');

	hash = hash ? strchr(hash, '"') : NULL;
	if (!hash)
		return false;
	*text = hash + 1;
	*len = strcspn(*text, "\"");
	return (*text)[*len] == '"';
}

/* Copy a switch's name from its description: sw1 of "MF0;sw1:MQM8700/U1". */
static void copy_switch_name(const char *text, size_t len, char name[MAX_NAME])
{
	const char *semi = memchr(text, ';', len);
	size_t colon;

	if (semi) {
		len -= (size_t)(semi + 1 - text);
		text = semi + 1;
		colon = strcspn(text, ":");
		len = colon < len ? colon : len;
	}
	copy_name(name, text, len);
}

/* The description of an adapter inside a switch, which belongs to no node. */
#define AGGREGATION "Mellanox Technologies Aggregation Node"

/* The switches read so far, and the one whose ports are being read. */
struct ib_reader {
	struct cli_places *places;
	const char *path;
	unsigned number; /* of the current line */
	struct np_err *err;
	struct np_index described; /* switches with nodes, by description */
	struct np_index named;	   /* the same, by name in the output */
	struct np_index adapters;  /* of nodes, by their GUIDs */
	struct np_index nodes;	   /* by the descriptions of adapters */
	/* The current switch: */
	char name[MAX_NAME]; /* "": none */
	const char *description;
	size_t len; /* of the description */
	unsigned line;
	bool has_nodes;
};

/* Begin a switch. If its description is empty, its GUID is its name. */
static int begin_switch(struct ib_reader *ib, const char *text)
{
	const char *guid = strstr(text, "\"S-");

	if (!find_description(text, &ib->description, &ib->len))
		ib->len = 0;
	else if (!ib->len && guid) {
		ib->description = guid + 1;
		ib->len = strcspn(guid + 1, "\"");
	}
	if (!ib->len)
		return np_errf(ib->err, -EINVAL,
			       "%s:%u: a switch without a description, "
			       "expected the output of ibnetdiscover",
			       ib->path, ib->number);
	copy_switch_name(ib->description, ib->len, ib->name);
	ib->line = ib->number;
	ib->has_nodes = false;
	return 0;
}

/*
 * Give a switch with nodes a unique name. All modules of a director have its
 * name, as in "MF0;dir1:CS7500/L01/U1", so the second and further ones are named
 * by their whole description.
 */
static int name_switch(struct ib_reader *ib)
{
	const char *semi = memchr(ib->description, ';', ib->len);
	const char *text = semi ? semi + 1 : ib->description;
	size_t len = ib->len - (size_t)(text - ib->description);

	if (np_index_find(&ib->named, ib->name, strlen(ib->name)) !=
	    NP_NO_INDEX)
		copy_name(ib->name, text, len);
	return add_key(&ib->named, ib->name, strlen(ib->name)) ?
		       0 :
		       np_errf(ib->err, -EINVAL,
			       "%s:%u: a second switch with nodes is called "
			       "%.60s: expected a name for each, as by "
			       "ibnetdiscover --node-name-map",
			       ib->path, ib->line, ib->name);
}

/*
 * Check that an adapter is described by the name of its host, alone or followed
 * by the name of the adapter. If nobody has set descriptions, those of all hosts
 * are the adapter's model, and all hosts would become one node.
 */
static int check_adapter(struct ib_reader *ib, const char *line,
			 const char *text, size_t len)
{
	const char *guid = strstr(line, "\"H-") + 1;
	bool is_new = add_key(&ib->adapters, guid, strcspn(guid, "\""));

	if (add_key(&ib->nodes, text, len) || !is_new ||
	    !memchr(text, ' ', len))
		return 0;
	return np_errf(
		ib->err, -EINVAL,
		"%s:%u: a second adapter is described as \"%.*s\": expected "
		"the name of its host, as by ibnetdiscover --node-name-map",
		ib->path, ib->number, len > 60 ? 60 : (int)len, text);
}

/*
 * Add the node of a port of the current switch:
 *
 *	[1] "H-0002..."[1](...)  # "n1 mlx5_0" lid 4
 *
 * If nobody has set descriptions, those of all switches are their model, and all
 * would become one switch, so this is an error.
 */
static int add_ib_node(struct ib_reader *ib, const char *line)
{
	char node[MAX_NAME], adapter[MAX_NAME];
	const char *text, *port;
	size_t len;
	int rc;

	if (!find_description(line, &text, &len) ||
	    (len == strlen(AGGREGATION) && !strncmp(text, AGGREGATION, len)))
		return 0;
	if (!ib->has_nodes) {
		if (!add_key(&ib->described, ib->description, ib->len))
			return np_errf(
				ib->err, -EINVAL,
				"%s:%u: a second switch with nodes is "
				"described as \"%.*s\": expected a name for "
				"each, as by ibnetdiscover --node-name-map",
				ib->path, ib->line,
				ib->len > 60 ? 60 : (int)ib->len,
				ib->description);
		ib->has_nodes = true;
		rc = name_switch(ib);
		if (rc)
			return rc;
	}
	rc = check_adapter(ib, line, text, len);
	if (rc)
		return rc;
	copy_name(node, text, strcspn(text, " \""));
	port = strchr(strstr(line, "\"H-"), '[');
	snprintf(adapter, sizeof(adapter), "%.*s %.*s", (int)len, text,
		 port ? (int)strcspn(port, "]") : 0, port ? port : "");
	if (*node)
		add_place(ib->places, node, ib->name, adapter);
	return 0;
}

/*
 * A switch is a block of lines, one for each port. Blocks of adapters (Ca) and
 * routers (Rt) are skipped.
 */
int cli_places_ib(const char *path, struct cli_places *places,
		  struct np_err *err)
{
	struct ib_reader ib = { .places = places, .path = path, .err = err };
	char *text, *rest, *line;
	size_t len;
	int rc = np_read_file(path, CLI_TOPOLOGY_MAX_FILE, &text, &len, err);

	if (rc)
		return rc;
	for (rest = text; !rc && (line = strsep(&rest, "\n"));) {
		ib.number++;
		if (!strncmp(line, "Switch", 6))
			rc = begin_switch(&ib, line);
		else if (!strncmp(line, "Ca", 2) || !strncmp(line, "Rt", 2))
			ib.name[0] = '\0';
		else if (*ib.name && *line == '[' && strstr(line, "\"H-"))
			rc = add_ib_node(&ib, line);
	}
	np_index_free(&ib.described);
	np_index_free(&ib.named);
	np_index_free(&ib.adapters);
	np_index_free(&ib.nodes);
	free(text);
	if (!rc && !places->n)
		return np_errf(err, -EINVAL,
			       "%s: no node below a switch, expected the "
			       "output of ibnetdiscover",
			       path);
	return rc;
}

/* ---- LLDP ---- */

/*
 * Two formats of lldpctl are read. In "json" a named item is a member with that
 * name, and several items of a kind are an array of such members. In "json0"
 * everything is an array of objects, each with its name as a member.
 */

/* The first element of an array; any other value itself. */
static json_object *first_of(json_object *list)
{
	return json_object_is_type(list, json_type_array) ?
		       json_object_array_get_idx(list, 0) :
		       list;
}

/* A member of an object, or of the first of several; NULL: none. */
static json_object *member_of(json_object *object, const char *key)
{
	json_object *member;

	object = first_of(object);
	return json_object_is_type(object, json_type_object) &&
			       json_object_object_get_ex(object, key, &member) ?
		       member :
		       NULL;
}

/*
 * Whether a neighbour is a switch. If it has enabled capabilities and none of
 * them is Bridge or Router, it is another host or the agent of an adapter.
 */
static bool is_switch(json_object *chassis)
{
	json_object *list = member_of(chassis, "capability"), *one;
	bool has_other = false;
	const char *type;

	for (size_t i = 0; list; i++) {
		one = json_object_is_type(list, json_type_array) ?
			      json_object_array_get_idx(list, i) :
		      i ? NULL :
			  list;
		if (!one)
			break;
		type = json_object_get_string(member_of(one, "type"));
		if (!type ||
		    !json_object_get_boolean(member_of(one, "enabled")))
			continue;
		if (!strcmp(type, "Bridge") || !strcmp(type, "Router"))
			return true;
		has_other = true;
	}
	return !has_other;
}

/*
 * Return the name of the switch, from "chassis": {"leaf0": {...}} or "chassis":
 * [{"name": [{"value": "leaf0"}], ...}], or else its id. Returns NULL if it has
 * neither or is not a switch.
 */
static const char *chassis_name(json_object *interface)
{
	json_object *chassis = first_of(member_of(interface, "chassis"));
	json_object *id = member_of(member_of(chassis, "id"), "value");
	json_object *value = member_of(member_of(chassis, "name"), "value");

	if (id)
		return is_switch(chassis) ?
			       json_object_get_string(value ? value : id) :
			       NULL;
	if (!json_object_is_type(chassis, json_type_object))
		return NULL;
	json_object_object_foreach(chassis, name, inner) {
		return is_switch(inner) ? name : NULL;
	}
	return NULL;
}

/* Add the node, on the switch that one of its interfaces is connected to. */
static void add_chassis(struct cli_places *places, const char *node,
			const char *device, json_object *interface)
{
	const char *chassis = chassis_name(interface);
	char name[MAX_NAME];

	if (!chassis || !*chassis)
		return;
	copy_name(name, chassis, strlen(chassis));
	add_place(places, node, name, device);
}

/* Add all interfaces: an array of them, an object under each name, or one. */
static void add_interfaces(struct cli_places *places, const char *node,
			   json_object *list)
{
	const char *name = json_object_get_string(member_of(list, "name"));

	if (json_object_is_type(list, json_type_array)) {
		for (size_t i = 0; i < json_object_array_length(list); i++)
			add_interfaces(places, node,
				       json_object_array_get_idx(list, i));
	} else if (json_object_is_type(list, json_type_object) &&
		   member_of(list, "chassis")) {
		add_chassis(places, node, name ? name : "", list);
	} else if (json_object_is_type(list, json_type_object)) {
		json_object_object_foreach(list, device, interface)
			add_chassis(places, node, device, interface);
	}
}

/* Read the file of one node, DIR/NODE.json. */
static int read_lldp_file(struct cli_places *places, const char *path,
			  const char *node, struct np_err *err)
{
	json_object *all, *lldp;
	size_t n = places->n;
	int rc;

	if (!is_node_name(node))
		return np_errf(err, -EINVAL,
			       "%s: expected the name of a node before .json",
			       path);
	rc = cli_json_read(path, MAX_LLDP, &all, err);
	if (rc)
		return rc;
	lldp = member_of(all, "lldp");
	if (!lldp)
		rc = np_errf(err, -EINVAL,
			     "%s: no \"lldp\", expected the output of "
			     "\"lldpctl -f json\"",
			     path);
	else
		add_interfaces(places, node, member_of(lldp, "interface"));
	if (!rc && places->n == n)
		cli_check_memory(
			np_names_add(&places->alone, &places->n_alone, node));
	json_object_put(all);
	return rc;
}

/*
 * Files are read in Slurm's order of names, so that the result is the same
 * each time.
 */
int cli_places_lldp(const char *dir, struct cli_places *places,
		    struct np_err *err)
{
	struct dirent **list;
	int rc = 0, n = scandir(dir, &list, NULL, versionsort);

	if (n < 0)
		return np_errf(err, -errno, "%s: %s", dir, strerror(errno));
	for (int i = 0; i < n; i++) {
		char *end = strrchr(list[i]->d_name, '.');
		char path[PATH_MAX];

		if (!rc && end && end > list[i]->d_name &&
		    !strcmp(end, ".json")) {
			snprintf(path, sizeof(path), "%s/%s", dir,
				 list[i]->d_name);
			*end = '\0';
			rc = read_lldp_file(places, path, list[i]->d_name, err);
		}
		free(list[i]);
	}
	free(list);
	if (!rc && !places->n)
		return np_errf(err, -EINVAL,
			       "%s: no switch in any NODE.json, expected the "
			       "output of \"lldpctl -f json\"",
			       dir);
	return rc;
}

/* ---- latencies ---- */

/*
 * The groups are named found0, found1 and so on, until Slurm's names are
 * known.
 */
int cli_places_measured(char *const node[], const double *sec, size_t n,
			struct cli_places *places, struct np_err *err)
{
	uint32_t *group = cli_calloc(n, sizeof(*group));
	struct np_linkage found;
	int rc = cli_check_memory(np_linkage(sec, n, group, &found));

	for (size_t i = 0; !rc && i < n; i++)
		add_place(places, node[i], cli_text("found%u", group[i]), "");
	free(group);
	for (size_t i = 0; rc && n <= NP_LINKAGE_MAX && i < n; i++) {
		size_t k = 0;

		while (k < n && !(sec[i * n + k] > 0))
			k++;
		if (k == n)
			return np_errf(err, rc,
				       "%.100s has no latency to another node",
				       node[i]);
	}
	if (rc)
		return np_errf(err, rc,
			       "%zu nodes: expected 1 to %d, each with a "
			       "latency to another",
			       n, NP_LINKAGE_MAX);
	places->within = found.within;
	places->between = found.between;
	return 0;
}

struct latencies {
	char **node;
	size_t n;
	double *sec; /* rows of NP_LINKAGE_MAX, and of n when all are read */
};

/*
 * Store a line "NODE NODE SECONDS", for both directions. Returns 0, -EINVAL
 * (another line) or -E2BIG (too many nodes).
 */
static int add_latency(struct latencies *table, const char *line)
{
	char a[MAX_NAME], b[MAX_NAME], number[64], more;
	const char *end;
	uint32_t i, j;
	double sec;
	int rc;

	line += strspn(line, " \t\r");
	if (!*line || *line == '#')
		return 0;
	if (sscanf(line, "%127s %127s %63s %c", a, b, number, &more) != 3)
		return -EINVAL;
	end = np_decimal_parse(number, &sec);
	if (!end || *end || !(sec > 0 && sec < 1e3) || !strcmp(a, b) ||
	    !is_node_name(a) || !is_node_name(b))
		return -EINVAL;
	rc = find_or_add(&table->node, &table->n, NP_LINKAGE_MAX, a, &i);
	if (!rc)
		rc = find_or_add(&table->node, &table->n, NP_LINKAGE_MAX, b,
				 &j);
	if (rc)
		return rc;
	/* Files of several measurements may follow each other. */
	sec = fmin(sec, table->sec[i * NP_LINKAGE_MAX + j]);
	table->sec[i * NP_LINKAGE_MAX + j] = sec;
	table->sec[j * NP_LINKAGE_MAX + i] = sec;
	return 0;
}

/*
 * The matrix is allocated for the largest number of nodes, as a file does not
 * say how many it has.
 */
int cli_places_latencies(const char *path, struct cli_places *places,
			 struct np_err *err)
{
	const size_t all = (size_t)NP_LINKAGE_MAX * NP_LINKAGE_MAX;
	struct latencies table = { .sec = cli_calloc(all, sizeof(double)) };
	struct np_err why = NP_ERR_INIT;
	char *text = NULL, *rest, *line;
	unsigned line_no = 0;
	size_t len;
	int rc = np_read_file(path, CLI_TOPOLOGY_MAX_FILE, &text, &len, err);

	for (size_t i = 0; !rc && i < all; i++)
		table.sec[i] = NAN;
	for (rest = text; !rc && (line = strsep(&rest, "\n"));) {
		line_no++;
		rc = add_latency(&table, line);
		if (rc == -EINVAL)
			np_errf(err, rc,
				"%s:%u: \"%.60s\": expected \"NODE NODE "
				"SECONDS\", two nodes and a number above 0 and "
				"below 1000",
				path, line_no, line);
		else if (rc)
			np_errf(err, rc, "%s:%u: expected at most %d nodes",
				path, line_no, NP_LINKAGE_MAX);
	}
	free(text);
	if (!rc) {
		/* Remove the unused columns, so that rows have table.n. */
		for (size_t i = 0; i < table.n; i++)
			memmove(&table.sec[i * table.n],
				&table.sec[i * NP_LINKAGE_MAX],
				table.n * sizeof(*table.sec));
		rc = cli_places_measured(table.node, table.sec, table.n, places,
					 &why);
		if (rc)
			np_errf(err, rc, "%s: %s", path, why.text);
	}
	np_names_free(table.node, table.n);
	free(table.sec);
	return rc;
}

/* ---- comparison with Slurm's topology ---- */

/* Slurm's order of names: n2 before n10. */
static int by_node(const void *a, const void *b)
{
	return strverscmp(((const struct cli_place *)a)->node,
			  ((const struct cli_place *)b)->node);
}

void cli_places_sort(struct cli_places *places)
{
	if (places->n)
		qsort(places->place, places->n, sizeof(*places->place),
		      by_node);
}

#define MAX_NAMES (16u * NP_HOSTLIST_MAX) /* of nodes in Slurm's topology */

/* Arguments of assign_leaf(): the leaf switch of Slurm whose nodes are read. */
struct node_search {
	const struct cli_places *places;
	uint32_t leaf, *slurm_leaf;
	struct np_index *missing; /* nodes that were not found */
	size_t n_names;		  /* so far */
};

/* A node that Slurm lists on two leaf switches counts for the first. */
static int assign_leaf(void *arg, const char *name)
{
	struct node_search *search = arg;
	const struct cli_places *places = search->places;
	const struct cli_place key = { .node = (char *)name }, *place = NULL;

	if (places->n) /* sorted by node */
		place = bsearch(&key, places->place, places->n, sizeof(key),
				by_node);
	if (!place)
		add_key(search->missing, name, strlen(name));
	else if (search->slurm_leaf[place - places->place] == CLI_TOPOLOGY_NONE)
		search->slurm_leaf[place - places->place] = search->leaf;
	return search->n_names++ < MAX_NAMES ? 0 : -E2BIG;
}

/* Find the leaf switch that Slurm has each place on; places are sorted. */
static void find_slurm_leaves(const struct cli_places *places,
			      const struct np_topo *topo, uint32_t *slurm_leaf,
			      struct np_index *missing)
{
	struct node_search search = { .places = places,
				      .slurm_leaf = slurm_leaf,
				      .missing = missing };

	for (size_t i = 0; i < places->n; i++)
		slurm_leaf[i] = CLI_TOPOLOGY_NONE;
	for (; search.leaf < topo->n; search.leaf++)
		np_hostlist_each(topo->leaf[search.leaf].nodes, assign_leaf,
				 &search);
}

/* How many nodes a leaf that was found has in common with one of Slurm's. */
struct overlap {
	uint32_t found, slurm; /* indices of the two leaves */
	size_t n;
};

/* Order overlaps by their pair of leaves, so that equal ones are adjacent. */
static int by_leaves(const void *a, const void *b)
{
	const struct overlap *x = a, *y = b;

	return x->found != y->found ?
		       (x->found > y->found) - (x->found < y->found) :
		       (x->slurm > y->slurm) - (x->slurm < y->slurm);
}

/*
 * Order overlaps by size, the largest first; equal ones by leaves, so that the
 * result is the same each time.
 */
static int by_size(const void *a, const void *b)
{
	const struct overlap *x = a, *y = b;

	return x->n != y->n ? (x->n < y->n) - (x->n > y->n) : by_leaves(a, b);
}

/* List the overlaps, one for each pair of leaves. Returns their number. */
static size_t list_overlaps(const struct cli_places *places,
			    const uint32_t *slurm_leaf, struct overlap *list)
{
	size_t n = 0, pairs = 0;

	for (size_t i = 0; i < places->n; i++)
		if (slurm_leaf[i] != CLI_TOPOLOGY_NONE)
			list[n++] = (struct overlap){ places->place[i].leaf,
						      slurm_leaf[i], 1 };
	if (n)
		qsort(list, n, sizeof(*list), by_leaves);
	for (size_t i = 0; i < n; i++)
		if (pairs && !by_leaves(&list[pairs - 1], &list[i]))
			list[pairs - 1].n++;
		else
			list[pairs++] = list[i];
	return pairs;
}

/*
 * Match the leaves greedily: the pair with most nodes in common comes first.
 * match[]: Slurm's leaf for each leaf that was found.
 */
static void match_leaves(const struct cli_places *places,
			 const struct np_topo *topo, const uint32_t *slurm_leaf,
			 uint32_t *match)
{
	struct overlap *list = cli_calloc(places->n, sizeof(*list));
	bool *taken = cli_calloc(topo->n, sizeof(*taken));
	size_t n = list_overlaps(places, slurm_leaf, list);

	for (uint32_t leaf = 0; leaf < places->n_leaves; leaf++)
		match[leaf] = CLI_TOPOLOGY_NONE;
	if (n)
		qsort(list, n, sizeof(*list), by_size);
	for (size_t i = 0; i < n; i++)
		if (match[list[i].found] == CLI_TOPOLOGY_NONE &&
		    !taken[list[i].slurm]) {
			match[list[i].found] = list[i].slurm;
			taken[list[i].slurm] = true;
		}
	free(list);
	free(taken);
}

bool cli_place_agrees(const struct cli_place *place, uint32_t slurm_leaf,
		      const uint32_t *match)
{
	for (size_t i = 0; i < place->n_others; i++)
		if (match[place->other[i]] == slurm_leaf)
			return true;
	return match[place->leaf] == slurm_leaf;
}

/* Nodes that Slurm does not have on any leaf are not counted as misplaced. */
long cli_places_compare(const struct cli_places *places,
			const struct np_topo *topo, uint32_t *slurm_leaf,
			uint32_t *match, struct np_index *missing)
{
	long n = 0;

	find_slurm_leaves(places, topo, slurm_leaf, missing);
	match_leaves(places, topo, slurm_leaf, match);
	for (size_t i = 0; i < places->n; i++)
		n += slurm_leaf[i] != CLI_TOPOLOGY_NONE &&
		     !cli_place_agrees(&places->place[i], slurm_leaf[i], match);
	return n;
}

/* ---- measuring ---- */

struct matrix {
	char **node; /* by rank; NULL: its probe has not reported yet */
	double *sec; /* n * n latencies, seconds; NaN: not measured */
	size_t n, handshakes, n_finished;
	bool no_memory;
	char note[NP_REPORT_TEXT];
};

/* Store the smallest value, because other work only adds to a latency. */
static void store_pair(struct matrix *matrix, const struct np_report *report)
{
	double *sec;

	/* Reports are checked, because any process could have sent them. */
	if (report->rank >= matrix->n || report->pair.peer >= matrix->n)
		return;
	sec = &matrix->sec[report->rank * matrix->n + report->pair.peer];
	*sec = fmin(*sec, report->pair.sec); /* fmin() ignores a NaN */
	matrix->sec[report->pair.peer * matrix->n + report->rank] = *sec;
}

/* Handle a report of a probe. */
static void on_report(const struct np_report *report, void *arg)
{
	struct matrix *matrix = arg;

	switch (report->kind) {
	case NP_REPORT_HANDSHAKE:
		matrix->handshakes++;
		if (report->rank >= matrix->n || matrix->node[report->rank])
			break;
		matrix->node[report->rank] = strdup(report->handshake.node);
		matrix->no_memory |= !matrix->node[report->rank];
		break;
	case NP_REPORT_PAIR:
		store_pair(matrix, report);
		break;
	case NP_REPORT_NOTE:
		strcpy(matrix->note, report->note);
		break;
	case NP_REPORT_BYE:
		matrix->n_finished++;
		break;
	default:
		break;
	}
}

/*
 * Read reports until the step has ended. Returns 0, -EINTR if the user stops
 * it, -ETIMEDOUT if not all probes start, or another -errno.
 */
static int wait_for_step(struct np_helper_step *step, struct matrix *matrix,
			 const volatile sig_atomic_t *stop, struct np_err *err)
{
	double start_sec = np_mono_sec();
	char cause[NP_ERR_LEN + 32];

	while (!np_helper_reap(step)) {
		np_helper_wait(step, POLL_SEC, on_report, matrix);
		/* The other probes would wait for a message of that one. */
		if (matrix->note[0])
			return np_errf(err, -EPIPE,
				       "the measurement ended early: %s",
				       matrix->note);
		/* Only a step whose probes have all started ends in order. */
		if (*stop && matrix->handshakes == matrix->n)
			return np_errf(err, -EINTR, "stopped");
		if (matrix->handshakes < matrix->n &&
		    np_mono_sec() > start_sec + START_SEC)
			return np_errf(
				err, -ETIMEDOUT,
				"only %zu of %zu probes started within %g s",
				matrix->handshakes, matrix->n, START_SEC);
	}
	while (step->fd >= 0)
		np_helper_wait(step, POLL_SEC, on_report, matrix);
	if (matrix->no_memory)
		return np_errf(err, -ENOMEM, "out of memory");
	if (matrix->n_finished == matrix->n && !matrix->note[0])
		return 0;
	np_helper_cause(step, cause, sizeof(cause));
	return np_errf(err, -EPIPE, "the measurement ended early: %s",
		       matrix->note[0] ? matrix->note : cause);
}

/* Measure all pairs once. */
static int run_step(struct cli_alloc *alloc, const struct options *opt,
		    struct matrix *matrix, struct np_err *err)
{
	struct np_helper_step step = NP_HELPER_INIT;
	struct np_args args;
	int rc;

	matrix->handshakes = matrix->n_finished = 0;
	alloc->conf.per_node = 1;
	np_helper_cmd_impact(&args, &alloc->job, &alloc->conf, alloc->nodes,
			     alloc->n_nodes);
	np_args_add(&args, "--matrix=%u", opt->times);
	rc = np_helper_start(&step, &args, alloc->env, (uint32_t)alloc->n_nodes,
			     err);
	np_args_free(&args);
	if (rc)
		return rc;
	rc = wait_for_step(&step, matrix, cli_alloc_catch_signals(), err);
	np_helper_stop(&step, SIGUSR1, on_report, matrix);
	return rc;
}

/* Write a line for each pair, in the format that --latencies reads. */
static int save_latencies(const struct matrix *matrix, const char *path,
			  struct np_err *err)
{
	FILE *file = fopen(path, "we");
	bool bad;

	if (!file)
		return np_errf(err, -errno, "%s: %s", path, strerror(errno));
	for (size_t i = 0; i < matrix->n; i++)
		for (size_t j = i + 1; j < matrix->n; j++)
			if (matrix->sec[i * matrix->n + j] > 0)
				fprintf(file, "%s %s %.9f\n", matrix->node[i],
					matrix->node[j],
					matrix->sec[i * matrix->n + j]);
	bad = ferror(file);
	return fclose(file) || bad ?
		       np_errf(err, -EIO, "cannot write %s", path) :
		       0;
}

/*
 * Measure in this allocation, several times, and group the nodes. *topology: the
 * text of the topology of the allocation's partition, if it has one of its own.
 */
static int measure_places(const struct options *opt, struct cli_places *places,
			  char **topology, struct np_err *err)
{
	static struct cli_alloc alloc; /* static, as it points into itself */
	struct matrix matrix = { .n = 0 };
	int rc = cli_alloc_find(&alloc, 64, "topology", err);

	if (!rc)
		rc = cli_alloc_env(&alloc, err);
	if (rc)
		return rc;
	if (alloc.leaves)
		*topology = cli_strdup(strchr(alloc.leaves, '=') + 1);
	matrix.n = alloc.n_nodes;
	matrix.node = cli_calloc(matrix.n, sizeof(*matrix.node));
	matrix.sec = cli_calloc(matrix.n * matrix.n, sizeof(*matrix.sec));
	for (size_t i = 0; i < matrix.n * matrix.n; i++)
		matrix.sec[i] = NAN;
	/* srun always orders the nodes in the same way, so ranks agree. */
	for (uint32_t i = 0; !rc && i < opt->repeats; i++)
		rc = run_step(&alloc, opt, &matrix, err);
	if (!rc && opt->save)
		rc = save_latencies(&matrix, opt->save, err);
	if (!rc)
		rc = cli_places_measured(matrix.node, matrix.sec, matrix.n,
					 places, err);
	np_names_free(matrix.node, matrix.n);
	free(matrix.sec);
	cli_alloc_free(&alloc);
	return rc;
}

/* ---- Slurm's topology ---- */

/*
 * Check that a file has leaf switches, and their lists of nodes; slurmctld
 * ignores invalid ones.
 */
static int check_nodes(const struct np_topo *topo, const char *path,
		       struct np_err *err)
{
	if (!topo->n)
		return np_errf(
			err, -EINVAL,
			"%s: no leaf switch: expected what scontrol show "
			"topology prints",
			path);
	for (size_t i = 0; i < topo->n; i++) {
		const char *nodes = topo->leaf[i].nodes;
		int rc = np_hostlist_each(nodes, NULL, NULL);

		if (rc)
			return np_errf(err, rc,
				       "%.100s: leaf switch %.64s: \"%.40s\": "
				       "expected a list of nodes",
				       path, topo->leaf[i].name, nodes);
	}
	return 0;
}

/*
 * Whether slurmctld answers. In Slurm 22.05, scontrol show topology prints
 * nothing and succeeds even if it does not.
 */
static bool does_slurm_answer(void)
{
	static char *const show_config[] = { "scontrol", "show", "config",
					     NULL };
	char start[16]; /* of what it prints */

	return !cli_spawn(show_config, 10, start, sizeof(start));
}

/*
 * Read Slurm's topology: from the file of --slurm, from the text of a partition
 * (NULL: it has no topology of its own), or from scontrol. The cluster may have
 * none. *failed is set if it is not known, because slurmctld does not answer.
 */
static int read_slurm(const struct options *opt, const char *partition,
		      struct np_topo *topo, bool *failed, struct np_err *err)
{
	static char *const show_topology[] = { "scontrol", "show", "topology",
					       NULL };
	char *text = NULL;
	size_t len;
	int rc;

	if (partition && !opt->slurm)
		return np_topo_parse(partition, topo, err);
	if (opt->slurm) {
		rc = np_read_file(opt->slurm, MAX_TOPOLOGY, &text, &len, err);
		if (!rc)
			rc = np_topo_parse(text, topo, err);
		if (!rc)
			rc = check_nodes(topo, opt->slurm, err);
	} else {
		text = cli_calloc(MAX_TOPOLOGY, 1);
		*failed = cli_spawn(show_topology, 10, text, MAX_TOPOLOGY);
		/* Without a topology there is nothing to compare with. */
		rc = np_topo_parse(*failed ? "" : text, topo, err);
		if (!rc && !topo->n)
			*failed = *failed || !does_slurm_answer();
	}
	if (rc)
		np_topo_free(topo);
	free(text);
	return rc;
}

/* ---- hosts that are not nodes of Slurm ---- */

/* Add a name to an index of names. */
static int add_known(void *known, const char *name)
{
	add_key(known, name, strlen(name));
	return 0;
}

static void read_nodes(struct np_index *known)
{
	static char *const all_nodes[] = { "sinfo", "--all", "-h",
					   "-o",    "%N",    NULL };
	char *text = cli_calloc(MAX_TOPOLOGY, 1);

	/* If Slurm's nodes are not all known, no host is excluded. */
	if (!cli_spawn(all_nodes, 10, text, MAX_TOPOLOGY) &&
	    (strlen(text) + 1 == MAX_TOPOLOGY ||
	     np_hostlist_each(text, add_known, known)))
		np_index_clear(known);
	free(text);
}

static bool is_known(const struct np_index *known, const char *name)
{
	return np_index_find(known, name, strlen(name)) != NP_NO_INDEX;
}

/*
 * Remove the hosts that are not nodes of Slurm, such as file servers on the same
 * network. If none is a node of Slurm, nodes have other names in Slurm, and no
 * host is removed. Sets *n to the number of hosts removed, and one to the name
 * of the first.
 */
static void remove_others(struct cli_places *places, size_t *n,
			  char one[MAX_NAME])
{
	struct np_index known = { .n = 0 };
	size_t n_known = 0, kept = 0;

	*n = 0;
	read_nodes(&known);
	for (size_t i = 0; i < places->n; i++)
		n_known += is_known(&known, places->place[i].node);
	for (size_t i = 0; n_known && i < places->n; i++) {
		struct cli_place *place = &places->place[i];

		if (is_known(&known, place->node)) {
			places->place[kept++] = *place;
			continue;
		}
		if (!(*n)++)
			snprintf(one, MAX_NAME, "%s", place->node);
		free(place->node);
		free(place->adapter);
	}
	places->n -= *n;
	np_index_free(&known);
}

/* ---- lists of nodes, as Slurm writes them ---- */

/* Length of a name without the number at its end. */
static size_t stem_length(const char *name)
{
	size_t at = strlen(name);

	while (at && isdigit((unsigned char)name[at - 1]))
		at--;
	return at;
}

/* Whether the number at the end of b is one more than that of a. */
static bool is_next_name(const char *a, const char *b)
{
	size_t at = stem_length(a);

	/* Leading zeros: "n09" is followed by "n10", not by "n010". */
	return a[at] && at == stem_length(b) && !strncmp(a, b, at) &&
	       (strlen(a) == strlen(b) || a[at] != '0') &&
	       strlen(a + at) < 10 && atol(a + at) + 1 == atol(b + at);
}

/* Print the nodes of a leaf, as in "n[0-3],x7"; places are sorted. */
static void print_nodes(const struct cli_places *places, uint32_t leaf)
{
	const char *comma = "";

	for (size_t i = 0; i < places->n; i++) {
		const char *first = places->place[i].node, *last = first;

		if (places->place[i].leaf != leaf)
			continue;
		for (size_t k = i + 1; k < places->n; k++)
			if (places->place[k].leaf == leaf &&
			    is_next_name(last, places->place[k].node)) {
				last = places->place[k].node;
				i = k;
			} else if (places->place[k].leaf == leaf) {
				break;
			}
		if (first == last)
			printf("%s%s", comma, first);
		else
			printf("%s%.*s[%s-%s]", comma, (int)stem_length(first),
			       first, first + stem_length(first),
			       last + stem_length(last));
		comma = ",";
	}
}

/* ---- output ---- */

struct comparison {
	const struct cli_places *found;
	const struct np_topo *slurm;
	uint32_t *slurm_leaf, *match; /* from cli_places_compare() */
	/* Name of each leaf that was found: Slurm's, or else the one found. */
	char **name;
	size_t n_names;
	bool slurm_failed;	 /* it did not answer */
	size_t n_others;	 /* excluded hosts: not nodes of Slurm */
	char other[MAX_NAME];	 /* one of them */
	struct np_index missing; /* nodes of Slurm's topology not found */
};

/* Print the missing nodes; those that are down are missing, too. */
static void print_missing(const struct comparison *cmp, const char *before)
{
	size_t n = cmp->missing.n, n_alone = cmp->found->n_alone;

	if (n_alone)
		printf("%s%zu node%s without a switch in %s: %s%s\n", before,
		       n_alone, cli_plural_s(n_alone),
		       n_alone == 1 ? "its file" : "their files",
		       cmp->found->alone[0], n_alone == 1 ? "" : " and others");
	if (n)
		printf("%s%zu node%s of Slurm's topology not found: %.*s%s\n",
		       before, n, cli_plural_s(n), (int)cmp->missing.end[0],
		       cmp->missing.bytes, n == 1 ? "" : " and others");
}

#define MAX_LEAF_NAME 256

/* Whether an earlier leaf has this name, or Slurm has it for any leaf. */
static bool is_taken(const struct comparison *cmp, const char *name)
{
	for (size_t i = 0; i < cmp->n_names; i++)
		if (!strcmp(cmp->name[i], name))
			return true;
	for (uint32_t leaf = 0; leaf < cmp->found->n_leaves; leaf++)
		if (cmp->match[leaf] != CLI_TOPOLOGY_NONE &&
		    !strcmp(cmp->slurm->leaf[cmp->match[leaf]].name, name))
			return true;
	return false;
}

/* Append a number to a name until no leaf has it. */
static void make_unique(const struct comparison *cmp, const char *base,
			char name[MAX_LEAF_NAME])
{
	snprintf(name, MAX_LEAF_NAME, "%s", base);
	for (unsigned i = 2; is_taken(cmp, name); i++)
		snprintf(name, MAX_LEAF_NAME, "%.200s-%u", base, i);
}

/*
 * Set the names of the leaves. Slurm may use the name of one for another one,
 * for example if two are swapped.
 */
static void set_names(struct comparison *cmp)
{
	for (uint32_t leaf = 0; leaf < cmp->found->n_leaves; leaf++) {
		char name[MAX_LEAF_NAME];

		if (cmp->match[leaf] == CLI_TOPOLOGY_NONE)
			make_unique(cmp, cmp->found->leaf[leaf], name);
		else
			snprintf(name, sizeof(name), "%s",
				 cmp->slurm->leaf[cmp->match[leaf]].name);
		cli_check_memory(np_names_add(&cmp->name, &cmp->n_names, name));
	}
}

/* Whether any node is on this leaf, not only a further adapter of one. */
static bool has_nodes(const struct cli_places *places, uint32_t leaf)
{
	for (size_t i = 0; i < places->n; i++)
		if (places->place[i].leaf == leaf)
			return true;
	return false;
}

/* Number of leaf switches with nodes. */
static size_t count_leaves(const struct cli_places *places)
{
	size_t n = 0;

	for (uint32_t leaf = 0; leaf < places->n_leaves; leaf++)
		n += has_nodes(places, leaf);
	return n;
}

/* The formats of --write: what is printed around names and nodes. */
static const struct format {
	const char *name; /* in --write */
	const char *begin, *leaf, *nodes, *children, *end;
} formats[] = {
	{ "conf", "", "SwitchName=", " Nodes=", " Switches=", "" },
	/* Slurm 25.05 introduced topology.yaml. */
	{ "yaml",
	  "- topology: default\n  cluster_default: true\n  tree:\n"
	  "    switches:\n",
	  "      - switch: \"", "\"\n        nodes: \"",
	  "\"\n        children: \"", "\"" },
};

/* Find a format by its name; NULL: there is none. */
static const struct format *find_format(const char *name)
{
	for (size_t i = 0; i < NP_ARRAY_SIZE(formats); i++)
		if (!strcmp(formats[i].name, name))
			return &formats[i];
	return NULL;
}

/* Print a topology, with the leaves below one top switch. */
static void print_topology(const struct comparison *cmp,
			   const struct format *format)
{
	const struct cli_places *places = cmp->found;
	const char *comma = "";
	char top[MAX_LEAF_NAME];

	print_missing(cmp, "# ");
	printf("%s", format->begin);
	for (uint32_t leaf = 0; leaf < places->n_leaves; leaf++) {
		if (!has_nodes(places, leaf))
			continue;
		printf("%s%s%s", format->leaf, cmp->name[leaf], format->nodes);
		print_nodes(places, leaf);
		puts(format->end);
	}
	if (count_leaves(places) < 2)
		return;
	make_unique(cmp, "top", top);
	printf("%s%s%s", format->leaf, top, format->children);
	for (uint32_t leaf = 0; leaf < places->n_leaves; leaf++)
		if (has_nodes(places, leaf)) {
			printf("%s%s", comma, cmp->name[leaf]);
			comma = ",";
		}
	puts(format->end);
}

/* Print the leaf switches that were found, with their nodes. */
static void print_found_leaves(const struct comparison *cmp)
{
	const struct cli_places *places = cmp->found;
	size_t n = count_leaves(places);

	printf("%zu node%s on %zu leaf switch%s", places->n,
	       cli_plural_s(places->n), n, n == 1 ? "" : "es");
	if (places->within > 0)
		printf(" by their latencies: %s within",
		       cli_sec(places->within));
	if (places->within > 0 && places->between > 0)
		printf(", %s between", cli_sec(places->between));
	puts("");
	for (uint32_t leaf = 0; leaf < places->n_leaves; leaf++) {
		if (!has_nodes(places, leaf))
			continue;
		printf("  %-20s ", cmp->name[leaf]);
		print_nodes(places, leaf);
		puts(cmp->slurm->n && cmp->match[leaf] == CLI_TOPOLOGY_NONE ?
			     "  (not in Slurm's topology)" :
			     "");
	}
}

/* Print the nodes whose adapters are on several leaf switches. */
static void print_second_leaves(const struct comparison *cmp)
{
	const struct cli_places *places = cmp->found;

	for (size_t i = 0; i < places->n; i++) {
		const struct cli_place *place = &places->place[i];

		if (!place->n_others)
			continue;
		printf("%s is also connected to ", place->node);
		for (size_t k = 0; k < place->n_others; k++)
			printf("%s%s", k ? ", " : "",
			       cmp->name[place->other[k]]);
		putchar('\n');
	}
}

/* Print a line for each node that is elsewhere in Slurm's topology. */
static void print_differences(const struct comparison *cmp)
{
	const struct cli_places *places = cmp->found;

	for (size_t i = 0; i < places->n; i++) {
		uint32_t leaf = cmp->slurm_leaf[i];

		if (leaf == CLI_TOPOLOGY_NONE)
			printf("%s is on no leaf switch of Slurm's topology; "
			       "found on %s\n",
			       places->place[i].node,
			       cmp->name[places->place[i].leaf]);
		else if (!cli_place_agrees(&places->place[i], leaf, cmp->match))
			printf("%s is on %s in Slurm's topology; found on %s\n",
			       places->place[i].node,
			       cmp->slurm->leaf[leaf].name,
			       cmp->name[places->place[i].leaf]);
	}
}

/* Number of leaf switches that Slurm has the nodes on. */
static size_t count_slurm_leaves(const struct comparison *cmp)
{
	size_t n = 0;

	for (uint32_t leaf = 0; leaf < cmp->slurm->n; leaf++)
		for (size_t i = 0; i < cmp->found->n; i++)
			if (cmp->slurm_leaf[i] == leaf) {
				n++;
				break;
			}
	return n;
}

/* Print the places and what differs in Slurm. Returns the exit status. */
static int print_comparison(const struct comparison *cmp, long misplaced)
{
	size_t missing = 0;

	for (size_t i = 0; i < cmp->found->n; i++)
		missing += cmp->slurm_leaf[i] == CLI_TOPOLOGY_NONE;
	print_found_leaves(cmp);
	print_second_leaves(cmp);
	if (cmp->n_others)
		printf("%zu host%s excluded, because Slurm does not have %s: "
		       "%s%s\n",
		       cmp->n_others, cli_plural_s(cmp->n_others),
		       cmp->n_others == 1 ? "it" : "them", cmp->other,
		       cmp->n_others == 1 ? "" : " and others");
	/* By latencies, only the nodes of an allocation are found. */
	if (!(cmp->found->within > 0))
		print_missing(cmp, "");
	if (cmp->slurm_failed)
		return cli_fail("scontrol failed, so there is no topology of "
				"Slurm to compare with");
	if (!cmp->slurm->n) {
		puts("Slurm has no topology; netprof topology --write=conf "
		     "prints a topology.conf.");
		return CLI_FAILED;
	}
	print_differences(cmp);
	if (!misplaced && !missing) {
		puts("Slurm's topology agrees.");
		return CLI_DONE;
	}
	printf("%ld node%s on another leaf switch than Slurm says, %zu on "
	       "none; netprof topology --write=conf prints a corrected "
	       "topology.conf.\n",
	       misplaced, misplaced == 1 ? " is" : "s are", missing);
	return CLI_FAILED;
}

/*
 * Print what --write says, or the comparison. partition: as for read_slurm().
 * Returns the exit status.
 */
static int compare_and_print(const struct options *opt,
			     struct cli_places *places, const char *partition)
{
	struct np_err err = NP_ERR_INIT;
	struct np_topo topo = { NULL, 0 };
	struct comparison cmp = { .found = places, .slurm = &topo };
	int rc = read_slurm(opt, partition, &topo, &cmp.slurm_failed, &err);
	long misplaced;

	if (rc)
		return cli_fail("%s", err.text);
	if (!opt->slurm && (opt->ib || opt->lldp))
		remove_others(places, &cmp.n_others, cmp.other);
	cli_places_sort(places);
	cmp.slurm_leaf = cli_calloc(places->n, sizeof(*cmp.slurm_leaf));
	cmp.match = cli_calloc(places->n_leaves, sizeof(*cmp.match));
	misplaced = cli_places_compare(places, &topo, cmp.slurm_leaf, cmp.match,
				       &cmp.missing);
	set_names(&cmp);
	/*
	 * If all nodes form one group although Slurm has several leaf switches,
	 * the path over other switches probably takes hardly longer; that Slurm
	 * is wrong about all nodes is less likely.
	 */
	if (places->within > 0 && count_leaves(places) == 1 &&
	    count_slurm_leaves(&cmp) > 1)
		rc = cli_fail("the latencies of these %zu nodes (%s) do not "
			      "distinguish leaf switches, of which Slurm has "
			      "%zu, so they show nothing about Slurm's "
			      "topology; measure idle nodes with a larger "
			      "--repeats, or use --ibnetdiscover or --lldp",
			      places->n, cli_sec(places->within),
			      count_slurm_leaves(&cmp));
	else if (!opt->write)
		rc = print_comparison(&cmp, misplaced);
	else
		print_topology(&cmp, find_format(opt->write));
	np_index_free(&cmp.missing);
	np_names_free(cmp.name, cmp.n_names);
	free(cmp.slurm_leaf);
	free(cmp.match);
	np_topo_free(&topo);
	return rc;
}

#define AT(member) offsetof(struct options, member)

static const struct np_option options[] = {
	{ "ibnetdiscover", NP_OPTION_WORD, AT(ib) },
	{ "lldp", NP_OPTION_WORD, AT(lldp) },
	{ "latencies", NP_OPTION_WORD, AT(latencies) },
	{ "slurm", NP_OPTION_WORD, AT(slurm) },
	{ "save", NP_OPTION_WORD, AT(save) },
	{ "write", NP_OPTION_WORD, AT(write) },
	{ "times", NP_OPTION_COUNT, AT(times), 1, 10000 },
	{ "repeats", NP_OPTION_COUNT, AT(repeats), 1, 1000 },
	{ NULL },
};

/* The places come from the method of an option, or else from a measurement. */
static int run_topology(const struct cli_cmd *self, int argc, char **argv)
{
	struct options opt = { .times = 0 };
	struct cli_places places = { NULL };
	struct np_err err = NP_ERR_INIT;
	struct cli_options given;
	char *topology = NULL;
	int rc = cli_options_parse(self, argc, argv, &opt, &given);

	if (rc >= 0)
		return rc;
	if (!!opt.ib + !!opt.lldp + !!opt.latencies > 1)
		return cli_usage(self, "expected only one of --ibnetdiscover, "
				       "--lldp and --latencies");
	if ((opt.save || opt.times || opt.repeats) &&
	    (opt.ib || opt.lldp || opt.latencies))
		return cli_usage(
			self,
			"--%s: expected none of --ibnetdiscover, --lldp and "
			"--latencies, which replace the measurement",
			opt.save  ? "save" :
			opt.times ? "times" :
				    "repeats");
	if (opt.write && !find_format(opt.write))
		return cli_usage(self, "--write=%.16s: expected conf or yaml",
				 opt.write);
	opt.times = opt.times ? opt.times : 100;
	opt.repeats = opt.repeats ? opt.repeats : 3;
	rc = opt.ib   ? cli_places_ib(opt.ib, &places, &err) :
	     opt.lldp ? cli_places_lldp(opt.lldp, &places, &err) :
	     opt.latencies ?
			cli_places_latencies(opt.latencies, &places, &err) :
			measure_places(&opt, &places, &topology, &err);
	rc = rc ? cli_fail("%s", err.text) :
		  compare_and_print(&opt, &places, topology);
	cli_places_free(&places);
	free(topology);
	return rc;
}

const struct cli_cmd cmd_topology = {
	.name = "topology",
	.args = "[--ibnetdiscover=FILE | --lldp=DIR | --latencies=FILE]\n"
		"        [--times=N] [--repeats=N] [--save=FILE] [--slurm=FILE]\n"
		"        [--write=conf|yaml]",
	.help = "check Slurm's topology: which node is on which leaf switch",
	.text = "Finds which nodes share a leaf switch and compares that with Slurm's topology;\n"
		"it lists the nodes that Slurm has on another switch. Inside an allocation it\n"
		"measures the latency between every two nodes, one pair after the other, while\n"
		"the nodes should be otherwise idle (salloc -N64 --exclusive netprof topology).\n"
		"The exit status is 1 if Slurm's topology differs or is missing.\n\n"
		"  --ibnetdiscover=FILE  read the output of ibnetdiscover instead\n"
		"  --lldp=DIR            read the output of \"lldpctl -f json\" on each node, in\n"
		"                        files DIR/NODE.json\n"
		"  --latencies=FILE      read latencies of an earlier measurement, one line for\n"
		"                        each pair: NODE NODE SECONDS\n"
		"  --times=N             exchanges of a pair, of which the fastest counts (100)\n"
		"  --repeats=N           measurements of all pairs (3)\n"
		"  --save=FILE           save the latencies, for --latencies\n"
		"  --slurm=FILE          compare with this output of scontrol show topology\n"
		"  --write=conf|yaml     print a topology.conf or topology.yaml instead, with\n"
		"                        Slurm's names of switches where it has them",
	.examples =
		"  salloc -N64 --exclusive netprof topology --save=latencies\n"
		"  netprof topology --latencies=latencies --write=conf\n",
	.own = options,
	.run = run_topology,
};
