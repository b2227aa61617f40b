/*
 * Readers of topologies, each from another source, and their comparison with
 * Slurm's topology.
 */
#include "cli_topology.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "np_array.h"
#include "np_hostlist.h"
#include "np_linkage.h"
#include "np_read.h"

#define MAX_NAME 128
#define MAX_LLDP (1u << 20)

void cli_places_free(struct cli_places *p)
{
	for (size_t i = 0; i < p->n; i++)
		free(p->place[i].node);
	free(p->place);
	np_names_free(p->leaf, p->n_leaves);
	*p = (struct cli_places){ NULL };
}

/* Replace characters that Slurm does not allow in names by '-'. */
static void copy_name(char to[MAX_NAME], const char *from, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len && n + 1 < MAX_NAME; i++)
		to[n++] = isalnum((unsigned char)from[i]) ||
			  strchr("._-", from[i]) ? from[i] : '-';
	to[n] = '\0';
}

/* Number of the leaf of that name, which is added if it is new. */
static int leaf_of(struct cli_places *p, const char *name, uint32_t *out)
{
	size_t i = 0;

	while (i < p->n_leaves && strcmp(p->leaf[i], name))
		i++;
	if (i == p->n_leaves && np_names_add(&p->leaf, &p->n_leaves, name))
		return -ENOMEM;
	*out = (uint32_t)i;
	return 0;
}

/* A node that was already found keeps its leaf; a second leaf is noted. */
static int add_place(struct cli_places *p, const char *node, uint32_t leaf)
{
	struct cli_place *at = p->place;

	while (at < p->place + p->n && strcmp(at->node, node))
		at++;
	if (at < p->place + p->n) {
		if (at->leaf != leaf && at->other == CLI_TOPOLOGY_NONE)
			at->other = leaf;
		return 0;
	}
	if (np_array_grow(&p->place, p->n, sizeof(*p->place)))
		return -ENOMEM;
	at = &p->place[p->n];
	*at = (struct cli_place){ strdup(node), leaf, CLI_TOPOLOGY_NONE };
	if (!at->node)
		return -ENOMEM;
	p->n++;
	return 0;
}

/* An error with file and line; returns -EINVAL. */
static int wrong(struct np_err *err, const char *path, unsigned line,
		 const char *what)
{
	return np_errf(err, -EINVAL, "%s:%u: %s", path, line, what);
}

/* ---- InfiniBand ---- */

/* The description of a node: quoted text in the comment of a line. */
static bool description(const char *line, const char **text, size_t *len)
{
	const char *hash = strchr(line, '#');

	hash = hash ? strchr(hash, '"') : NULL;
	if (!hash)
		return false;
	*text = hash + 1;
	*len = strcspn(*text, "\"");
	return (*text)[*len] == '"';
}

/* "MF0;sw1:MQM8700/U1" is sw1. */
static void switch_name(const char *text, size_t len, char name[MAX_NAME])
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

/* A port of a switch: "[1] "H-0002..."[1](...)  # "n1 mlx5_0" lid 4" */
static int add_host(struct cli_places *p, const char *name, const char *line)
{
	char node[MAX_NAME];
	const char *text;
	uint32_t leaf;
	size_t len;

	if (!description(line, &text, &len))
		return 0;
	copy_name(node, text, strcspn(text, " \"") < len ?
			      strcspn(text, " \"") : len);
	if (!*node)
		return 0;
	return leaf_of(p, name, &leaf) || add_place(p, node, leaf) ? -ENOMEM :
								     0;
}

/*
 * Switches and their ports are blocks of lines; adapters (Ca) and routers (Rt)
 * begin blocks that do not matter.
 */
int cli_places_ib(const char *path, struct cli_places *p, struct np_err *err)
{
	char *text, *rest, *line, name[MAX_NAME] = "";
	unsigned line_no = 0;
	const char *what;
	size_t len;
	int rc = np_read_file(path, CLI_TOPOLOGY_MAX_FILE, &text, &len, err);

	if (rc)
		return rc;
	for (rest = text; !rc && (line = strsep(&rest, "\n")); ) {
		line_no++;
		if (!strncmp(line, "Switch", 6)) {
			if (!description(line, &what, &len) || !len) {
				rc = wrong(err, path, line_no, "a switch "
					   "without a description, expected "
					   "the output of ibnetdiscover");
				break;
			}
			switch_name(what, len, name);
		} else if (!strncmp(line, "Ca", 2) || !strncmp(line, "Rt", 2)) {
			name[0] = '\0';
		} else if (*name && *line == '[' && strstr(line, "\"H-")) {
			rc = add_host(p, name, line);
		}
	}
	free(text);
	if (!rc && !p->n)
		return np_errf(err, -EINVAL, "%s: no node below a switch, "
			       "expected the output of ibnetdiscover", path);
	return rc == -ENOMEM ? np_errf(err, rc, "out of memory") : rc;
}

/* ---- LLDP ---- */

/* Name of the switch, from "chassis": {"leaf0": {...}}, or else its id. */
static const char *chassis_name(json_object *interface)
{
	json_object *chassis, *id, *value;

	if (!json_object_object_get_ex(interface, "chassis", &chassis) ||
	    !json_object_is_type(chassis, json_type_object))
		return NULL;
	if (json_object_object_get_ex(chassis, "id", &id))
		return json_object_object_get_ex(id, "value", &value) ?
			       json_object_get_string(value) : NULL;
	json_object_object_foreach(chassis, name, inner) {
		(void)inner;
		return name;
	}
	return NULL;
}

/* Put the node on the switch that one of its interfaces is connected to. */
static int add_chassis(struct cli_places *p, const char *node,
		       json_object *interface)
{
	const char *chassis = chassis_name(interface);
	char name[MAX_NAME];
	uint32_t leaf;

	if (!chassis)
		return 0;
	copy_name(name, chassis, strlen(chassis));
	return leaf_of(p, name, &leaf) || add_place(p, node, leaf) ? -ENOMEM :
								     0;
}

/* One interface is an object under its name; several are a list of those. */
static int add_interfaces(struct cli_places *p, const char *node,
			  json_object *list)
{
	int rc = 0;

	if (json_object_is_type(list, json_type_array)) {
		for (size_t i = 0; !rc && i < json_object_array_length(list);
		     i++)
			rc = add_interfaces(p, node,
					json_object_array_get_idx(list, i));
		return rc;
	}
	if (!json_object_is_type(list, json_type_object))
		return 0;
	json_object_object_foreach(list, device, interface) {
		(void)device;
		if (!rc)
			rc = add_chassis(p, node, interface);
	}
	return rc;
}

/* Read the file of one node. */
static int add_neighbours(struct cli_places *p, const char *path,
			  const char *node, struct np_err *err)
{
	json_object *all, *lldp, *list;
	size_t len;
	char *text;
	int rc = np_read_file(path, MAX_LLDP, &text, &len, err);

	if (rc)
		return rc;
	all = json_tokener_parse(text);
	free(text);
	if (!json_object_object_get_ex(all, "lldp", &lldp))
		rc = np_errf(err, -EINVAL, "%s: no \"lldp\", expected the "
			     "output of \"lldpctl -f json\"", path);
	else if (json_object_object_get_ex(lldp, "interface", &list))
		rc = add_interfaces(p, node, list);
	json_object_put(all);
	return rc;
}

/*
 * Files are read in Slurm's order of names, so that the result is the same
 * each time.
 */
int cli_places_lldp(const char *dir, struct cli_places *p, struct np_err *err)
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
			rc = add_neighbours(p, path, list[i]->d_name, err);
		}
		free(list[i]);
	}
	free(list);
	if (!rc && !p->n)
		return np_errf(err, -EINVAL, "%s: no switch in any NODE.json, "
			       "expected the output of \"lldpctl -f json\"",
			       dir);
	return rc == -ENOMEM ? np_errf(err, rc, "out of memory") : rc;
}

/* ---- latencies ---- */

/*
 * The groups are named found0, found1 and so on, until Slurm's names are
 * known.
 */
int cli_places_measured(char *const node[], const double *sec, size_t n,
			struct cli_places *p, struct np_err *err)
{
	uint32_t *group = calloc(n ? n : 1, sizeof(*group));
	struct np_linkage found;
	int rc = group ? np_linkage(sec, n, group, &found) : -ENOMEM;

	for (size_t i = 0; !rc && i < n; i++) {
		char name[32];
		uint32_t leaf;

		snprintf(name, sizeof(name), "found%u", group[i]);
		rc = leaf_of(p, name, &leaf);
		if (!rc)
			rc = add_place(p, node[i], leaf);
	}
	free(group);
	if (rc == -EINVAL)
		return np_errf(err, rc, "%zu nodes: expected 1 to %d, each "
			       "with a latency to another", n, NP_LINKAGE_MAX);
	if (rc)
		return np_errf(err, rc, "out of memory");
	p->within = found.within;
	p->between = found.between;
	return 0;
}

struct latencies {
	char **node;
	size_t n;
	double *sec; /* rows of NP_LINKAGE_MAX; pack() makes them l->n long */
};

/* Index of a node, which is added if it is new; at most NP_LINKAGE_MAX. */
static int find_node(struct latencies *l, const char *name, size_t *out)
{
	size_t i = 0;

	while (i < l->n && strcmp(l->node[i], name))
		i++;
	if (i == NP_LINKAGE_MAX)
		return -E2BIG;
	if (i == l->n && np_names_add(&l->node, &l->n, name))
		return -ENOMEM;
	*out = i;
	return 0;
}

/* Parse "NODE NODE SECONDS"; a latency is the same in both directions. */
static int add_line(struct latencies *l, const char *line)
{
	char a[MAX_NAME], b[MAX_NAME], more;
	size_t i, j;
	double sec;
	int rc;

	line += strspn(line, " \t");
	if (!*line || *line == '#')
		return 0;
	if (sscanf(line, "%127s %127s %lf %c", a, b, &sec, &more) != 3 ||
	    !(sec > 0 && sec < 1e3) || !strcmp(a, b))
		return -EINVAL;
	rc = find_node(l, a, &i);
	if (!rc)
		rc = find_node(l, b, &j);
	if (rc)
		return rc;
	l->sec[i * NP_LINKAGE_MAX + j] = sec;
	l->sec[j * NP_LINKAGE_MAX + i] = sec;
	return 0;
}

/* Move the rows together, without the columns of nodes that do not exist. */
static void pack(struct latencies *l)
{
	for (size_t i = 0; i < l->n; i++)
		memmove(&l->sec[i * l->n], &l->sec[i * NP_LINKAGE_MAX],
			l->n * sizeof(*l->sec));
}

/*
 * The matrix is allocated for the largest number of nodes, as a file does not
 * say how many it has.
 */
int cli_places_latencies(const char *path, struct cli_places *p,
			 struct np_err *err)
{
	const size_t all = (size_t)NP_LINKAGE_MAX * NP_LINKAGE_MAX;
	struct latencies l = { .sec = malloc(all * sizeof(double)) };
	char *text = NULL, *rest, *line;
	unsigned line_no = 0;
	size_t len;
	int rc = l.sec ? np_read_file(path, CLI_TOPOLOGY_MAX_FILE, &text, &len,
				      err) :
			 np_errf(err, -ENOMEM, "out of memory");

	for (size_t i = 0; !rc && i < all; i++)
		l.sec[i] = NAN;
	for (rest = text; !rc && (line = strsep(&rest, "\n")); ) {
		line_no++;
		rc = add_line(&l, line);
		if (rc == -EINVAL)
			wrong(err, path, line_no, "expected \"NODE NODE "
			      "SECONDS\"");
		else if (rc == -E2BIG)
			wrong(err, path, line_no, "expected at most 1024 "
			      "nodes");
		else if (rc)
			np_errf(err, rc, "out of memory");
	}
	free(text);
	if (!rc) {
		pack(&l);
		rc = cli_places_measured(l.node, l.sec, l.n, p, err);
	}
	np_names_free(l.node, l.n);
	free(l.sec);
	return rc;
}

/* ---- comparison with Slurm's topology ---- */

/* Slurm's order of names: n2 before n10. */
static int by_node(const void *a, const void *b)
{
	return strverscmp(((const struct cli_place *)a)->node,
			  ((const struct cli_place *)b)->node);
}

void cli_places_sort(struct cli_places *p)
{
	if (p->n)
		qsort(p->place, p->n, sizeof(*p->place), by_node);
}

/* The leaf that Slurm has each place on; places are sorted. */
static void find_slurm_leaves(const struct cli_places *p,
			      const struct np_topo *t, uint32_t *slurm)
{
	for (size_t i = 0; i < p->n; i++)
		slurm[i] = CLI_TOPOLOGY_NONE;
	for (size_t l = 0; l < t->n; l++) {
		char **name = NULL;
		size_t n = 0;

		if (np_hostlist_expand(t->leaf[l].nodes, &name, &n, NULL))
			continue;
		for (size_t k = 0; k < n; k++) {
			const struct cli_place key = { .node = name[k] };
			const struct cli_place *at = p->n ?
				bsearch(&key, p->place, p->n,
					sizeof(*p->place), by_node) : NULL;

			if (at)
				slurm[at - p->place] = (uint32_t)l;
		}
		np_names_free(name, n);
	}
}

/* Number of nodes that found leaf l and Slurm's leaf s have in common. */
struct overlap {
	uint32_t l, s;
	size_t n;
};

/*
 * Order of overlaps by their pair of leaves, so that equal ones are adjacent.
 */
static int by_leaves(const void *a, const void *b)
{
	const struct overlap *x = a, *y = b;

	return x->l != y->l ? (x->l > y->l) - (x->l < y->l) :
			      (x->s > y->s) - (x->s < y->s);
}

/*
 * Order of overlaps by size; ties by leaves, so that the result is the same
 * each time.
 */
static int most_first(const void *a, const void *b)
{
	const struct overlap *x = a, *y = b;

	return x->n != y->n ? (x->n < y->n) - (x->n > y->n) : by_leaves(a, b);
}

/* One overlap for each pair of leaves with common nodes; returns how many. */
static size_t count_overlaps(const struct cli_places *p, const uint32_t *slurm,
			     struct overlap *list)
{
	size_t n = 0, pairs = 0;

	for (size_t i = 0; i < p->n; i++)
		if (slurm[i] != CLI_TOPOLOGY_NONE)
			list[n++] = (struct overlap){ p->place[i].leaf,
						      slurm[i], 1 };
	if (n)
		qsort(list, n, sizeof(*list), by_leaves);
	for (size_t i = 0; i < n; i++)
		if (pairs && !by_leaves(&list[pairs - 1], &list[i]))
			list[pairs - 1].n++;
		else
			list[pairs++] = list[i];
	return pairs;
}

/* Match leaves greedily, the pair with most common nodes first. */
static int match(const struct cli_places *p, const struct np_topo *t,
		 const uint32_t *slurm, uint32_t *as)
{
	struct overlap *list = calloc(p->n + 1, sizeof(*list));
	bool *taken = calloc(t->n + 1, sizeof(*taken));
	size_t n = list && taken ? count_overlaps(p, slurm, list) : 0;
	int rc = list && taken ? 0 : -ENOMEM;

	for (uint32_t l = 0; l < p->n_leaves; l++)
		as[l] = CLI_TOPOLOGY_NONE;
	if (n)
		qsort(list, n, sizeof(*list), most_first);
	for (size_t i = 0; i < n; i++)
		if (as[list[i].l] == CLI_TOPOLOGY_NONE && !taken[list[i].s]) {
			as[list[i].l] = list[i].s;
			taken[list[i].s] = true;
		}
	free(list);
	free(taken);
	return rc;
}

/* Nodes that Slurm does not have on any leaf are not counted as misplaced. */
long cli_places_compare(const struct cli_places *p, const struct np_topo *t,
			uint32_t *slurm, uint32_t *as)
{
	long n = 0;

	find_slurm_leaves(p, t, slurm);
	if (match(p, t, slurm, as))
		return -ENOMEM;
	for (size_t i = 0; i < p->n; i++)
		n += slurm[i] != CLI_TOPOLOGY_NONE &&
		     as[p->place[i].leaf] != slurm[i];
	return n;
}
