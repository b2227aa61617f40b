/*
 * netprof topology: which node is on which leaf switch, compared with Slurm's
 * topology.
 *
 * The places come from one of four sources: ibnetdiscover, LLDP, latencies in a
 * file, or latencies that are measured here.  To measure, netprof-impactb runs
 * as a step with one process on each node and exchanges messages between every
 * two nodes, one pair after the other so that pairs do not disturb each other.
 * Of several measurements the smallest value counts, and clustering
 * (np_linkage.h) finds groups of nodes that are near each other.
 *
 * The exit status is 1 if Slurm's topology differs, so that a script can check
 * it.
 */
#include "cmd_topology.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "cli_alloc.h"
#include "cli_check.h"
#include "cli_options.h"
#include "cli_text.h"
#include "np_array.h"
#include "np_clock.h"
#include "np_fields.h"
#include "np_helper.h"
#include "np_hostlist.h"
#include "np_linkage.h"
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

/* Index of a name, which is added if it is new; -E2BIG: there are too many. */
static int index_of(char ***names, size_t *n, size_t most, const char *name,
		    uint32_t *out)
{
	uint32_t i = 0;

	while (i < *n && strcmp((*names)[i], name))
		i++;
	if (i == most)
		return -E2BIG;
	*out = i;
	return i == *n ? np_names_add(names, n, name) : 0;
}

/* A node that was already found keeps its leaf; a second leaf is noted. */
static int add_place(struct cli_places *p, const char *node, const char *on)
{
	struct cli_place *at = p->place;
	uint32_t leaf;

	if (index_of(&p->leaf, &p->n_leaves, SIZE_MAX, on, &leaf))
		return -ENOMEM;
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
static int bad_line(struct np_err *err, const char *path, unsigned line,
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
	size_t len;

	if (!description(line, &text, &len))
		return 0;
	copy_name(node, text, strcspn(text, " \"") < len ?
			      strcspn(text, " \"") : len);
	return *node ? add_place(p, node, name) : 0;
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
				rc = bad_line(err, path, line_no, "a switch "
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

	if (!chassis || !*chassis)
		return 0;
	copy_name(name, chassis, strlen(chassis));
	return add_place(p, node, name);
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
	const struct np_jat at = { .where = path, .err = err };
	json_object *all, *lldp, *list;
	size_t len;
	char *text;
	int rc = np_read_file(path, MAX_LLDP, &text, &len, err);

	if (rc)
		return rc;
	rc = np_kind_check(text, len, NP_KIND_JSON, path, err);
	if (!rc)
		rc = np_jget_parse(&at, text, len, &all);
	free(text);
	if (rc)
		return rc;
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

		snprintf(name, sizeof(name), "found%u", group[i]);
		rc = add_place(p, node[i], name);
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

/* Parse "NODE NODE SECONDS"; a latency is the same in both directions. */
static int add_line(struct latencies *l, const char *line)
{
	char a[MAX_NAME], b[MAX_NAME], more;
	uint32_t i, j;
	double sec;
	int rc;

	line += strspn(line, " \t");
	if (!*line || *line == '#')
		return 0;
	if (sscanf(line, "%127s %127s %lf %c", a, b, &sec, &more) != 3 ||
	    !(sec > 0 && sec < 1e3) || !strcmp(a, b))
		return -EINVAL;
	rc = index_of(&l->node, &l->n, NP_LINKAGE_MAX, a, &i);
	if (!rc)
		rc = index_of(&l->node, &l->n, NP_LINKAGE_MAX, b, &j);
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
	struct np_err why = NP_ERR_INIT;
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
			np_errf(err, rc, "%s:%u: \"%.60s\": expected \"NODE "
				"NODE SECONDS\"", path, line_no, line);
		else if (rc == -E2BIG)
			bad_line(err, path, line_no, "expected at most 1024 "
			      "nodes");
		else if (rc)
			np_errf(err, rc, "out of memory");
	}
	free(text);
	if (!rc) {
		pack(&l);
		rc = cli_places_measured(l.node, l.sec, l.n, p, &why);
		if (rc)
			np_errf(err, rc, "%s: %s", path, why.text);
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

#define MAX_NAMES (16u * NP_HOSTLIST_MAX) /* of nodes in Slurm's topology */

struct on_leaf {
	const struct cli_places *p;
	uint32_t leaf, *slurm;
	size_t n; /* names so far */
};

/* A node on two leaf switches counts for the first, as everywhere. */
static int take_node(void *arg, const char *name)
{
	struct on_leaf *to = arg;
	const struct cli_place key = { .node = (char *)name };
	const struct cli_place *at = to->p->n ?
		bsearch(&key, to->p->place, to->p->n, sizeof(*to->p->place),
			by_node) : NULL;

	if (at && to->slurm[at - to->p->place] == CLI_TOPOLOGY_NONE)
		to->slurm[at - to->p->place] = to->leaf;
	return to->n++ < MAX_NAMES ? 0 : -E2BIG;
}

/* The leaf that Slurm has each place on; places are sorted. */
static void find_slurm_leaves(const struct cli_places *p,
			      const struct np_topo *t, uint32_t *slurm)
{
	struct on_leaf to = { .p = p, .slurm = slurm };

	for (size_t i = 0; i < p->n; i++)
		slurm[i] = CLI_TOPOLOGY_NONE;
	for (; to.leaf < t->n; to.leaf++)
		np_hostlist_each(t->leaf[to.leaf].nodes, take_node, &to);
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

/*
 * Match leaves greedily, the pair with most common nodes first.  as[]: Slurm's
 * leaf of each leaf that was found.
 */
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

/* ---- measuring ---- */

struct matrix {
	char **node; /* by rank; NULL: its probe has not reported yet */
	double *sec; /* n * n latencies, seconds; NaN: not measured */
	size_t n, handshakes, n_finished;
	bool no_memory;
	char note[NP_REPORT_TEXT];
};

/* Store the smallest value, because other work only adds to a latency. */
static void store_pair(struct matrix *m, const struct np_report *r)
{
	double *sec;

	/* Reports are checked, because any process could have sent them. */
	if (r->rank >= m->n || r->pair.peer >= m->n)
		return;
	sec = &m->sec[r->rank * m->n + r->pair.peer];
	*sec = fmin(*sec, r->pair.sec); /* fmin() ignores a NaN */
	m->sec[r->pair.peer * m->n + r->rank] = *sec;
}

/* Handle one report line of the probes. */
static void on_report(const struct np_report *r, void *arg)
{
	struct matrix *m = arg;

	switch (r->kind) {
	case NP_REPORT_HANDSHAKE:
		m->handshakes++;
		if (r->rank >= m->n || m->node[r->rank])
			break;
		m->node[r->rank] = strdup(r->handshake.node);
		m->no_memory |= !m->node[r->rank];
		break;
	case NP_REPORT_PAIR:
		store_pair(m, r);
		break;
	case NP_REPORT_NOTE:
		strcpy(m->note, r->note);
		break;
	case NP_REPORT_BYE:
		m->n_finished++;
		break;
	default:
		break;
	}
}

/* Wait up to sec seconds for reports. */
static void read_more(struct np_helper_step *step, struct matrix *m, double sec)
{
	struct pollfd p = { step->fd, POLLIN, 0 };

	poll(&p, 1, (int)(sec * 1000));
	np_helper_read(step, on_report, m);
}

/*
 * Read reports until the step has ended. Returns 0, -EINTR if the user stops
 * it, -ETIMEDOUT if not all probes start, or another -errno.
 */
static int watch(struct np_helper_step *step, struct matrix *m,
		 const volatile sig_atomic_t *stop, struct np_err *err)
{
	double begun_sec = np_mono_sec();
	char cause[NP_ERR_LEN + 32];

	while (!np_helper_reap(step)) {
		read_more(step, m, POLL_SEC);
		/*
		 * A step can only be ended in order when all probes have
		 * started.
		 */
		if (*stop && m->handshakes == m->n)
			return np_errf(err, -EINTR, "stopped");
		if (m->handshakes < m->n &&
		    np_mono_sec() > begun_sec + START_SEC)
			return np_errf(err, -ETIMEDOUT,
				       "only %zu of %zu "
				       "probes started within %g s",
				       m->handshakes, m->n, START_SEC);
	}
	while (step->fd >= 0)
		read_more(step, m, POLL_SEC);
	if (m->no_memory)
		return np_errf(err, -ENOMEM, "out of memory");
	if (m->n_finished == m->n && !m->note[0])
		return 0;
	np_helper_cause(step, cause, sizeof(cause));
	return np_errf(err, -EPIPE, "the measurement ended early: %s",
		       m->note[0] ? m->note : cause);
}

/* End the step if it still runs. */
static void stop_step(struct np_helper_step *step, struct matrix *m)
{
	struct np_helper_end end = { .requested_sec = np_mono_sec() };
	int sig = SIGUSR1;

	while (!np_helper_reap(step) && sig >= 0) {
		if (sig)
			np_helper_signal(step, sig);
		read_more(step, m, 0.01);
		/*
		 * The signal that is due now: 0 for none, negative to give up.
		 */
		sig = np_helper_end_due(&end, np_mono_sec());
	}
	np_helper_close(step);
}

/* Measure all pairs once. */
static int run_step(struct cli_alloc *at, const struct options *o,
		    struct matrix *m, struct np_err *err)
{
	struct np_helper_step step = NP_HELPER_INIT;
	struct np_args args;
	int rc;

	m->handshakes = m->n_finished = 0;
	at->conf.per_node = 1;
	np_helper_cmd_impact(&args, &at->job, &at->conf, at->nodes, at->n_nodes);
	np_args_add(&args, "--matrix=%u", o->times);
	rc = np_helper_start(&step, &args, at->env, (uint32_t)at->n_nodes,
			       err);
	np_args_free(&args);
	if (rc)
		return rc;
	rc = watch(&step, m, cli_alloc_catch_signals(), err);
	stop_step(&step, m);
	return rc;
}

/* One line for each pair, as --latencies reads them. */
static int save(const struct matrix *m, const char *path, struct np_err *err)
{
	FILE *f = fopen(path, "we");
	bool bad;

	if (!f)
		return np_errf(err, -errno, "%s: %s", path, strerror(errno));
	for (size_t i = 0; i < m->n; i++)
		for (size_t j = i + 1; j < m->n; j++)
			if (m->sec[i * m->n + j] > 0)
				fprintf(f, "%s %s %.9f\n", m->node[i],
					m->node[j], m->sec[i * m->n + j]);
	bad = ferror(f);
	return fclose(f) || bad ? np_errf(err, -EIO, "cannot write %s",
					  path) : 0;
}

/* Measure inside an allocation, several times, and group the nodes. */
static int measure(const struct options *o, struct cli_places *p,
		   struct np_err *err)
{
	static struct cli_alloc at; /* static, as it points into itself */
	struct matrix m = { .n = 0 };
	int rc = cli_alloc_find(&at, 64, "topology", err);

	if (!rc)
		rc = cli_alloc_env(&at, err);
	if (rc)
		return rc;
	m.n = at.n_nodes;
	m.node = calloc(m.n, sizeof(*m.node));
	m.sec = malloc(m.n * m.n * sizeof(*m.sec));
	if (!m.node || !m.sec)
		rc = np_errf(err, -ENOMEM, "out of memory");
	for (size_t i = 0; !rc && i < m.n * m.n; i++)
		m.sec[i] = NAN;
	/* srun lists the nodes in one order, so ranks mean the same each time. */
	for (uint32_t i = 0; !rc && i < o->repeats; i++)
		rc = run_step(&at, o, &m, err);
	if (!rc && o->save)
		rc = save(&m, o->save, err);
	if (!rc)
		rc = cli_places_measured(m.node, m.sec, m.n, p, err);
	for (size_t i = 0; m.node && i < m.n; i++)
		free(m.node[i]);
	free(m.node);
	free(m.sec);
	cli_alloc_free(&at);
	return rc;
}

/* ---- Slurm's topology ---- */

/* Slurm's topology, from a file or scontrol, which may have none. */
static int read_slurm(const struct options *o, struct np_topo *t,
		      struct np_err *err)
{
	static char *const show_topology[] = { "scontrol", "show", "topology",
					       NULL };
	char *text = NULL;
	size_t len;
	int rc = 0;

	if (o->slurm) {
		rc = np_read_file(o->slurm, MAX_TOPOLOGY, &text, &len, err);
	} else {
		text = malloc(MAX_TOPOLOGY);
		if (!text)
			return np_errf(err, -ENOMEM, "out of memory");
		/* Without a topology there is nothing to compare with. */
		if (cli_spawn(show_topology, 10, text, MAX_TOPOLOGY))
			text[0] = '\0';
	}
	if (!rc)
		rc = np_topo_parse(text, t, err);
	if (!rc && o->slurm && !t->n)
		rc = np_errf(err, -EINVAL, "%s: no leaf switch: expected what "
			     "scontrol show topology prints", o->slurm);
	free(text);
	return rc;
}

/* ---- lists of nodes, as Slurm writes them ---- */

/* Position of the number at the end of a name. */
static size_t number_at(const char *name)
{
	size_t at = strlen(name);

	while (at && isdigit((unsigned char)name[at - 1]))
		at--;
	return at;
}

/* Is b the name after a, with a number of the same width? */
static bool follows(const char *a, const char *b)
{
	size_t at = number_at(a);

	/* Leading zeros: "n09" is followed by "n10", not by "n010". */
	return a[at] && at == number_at(b) && !strncmp(a, b, at) &&
	       (strlen(a) == strlen(b) || a[at] != '0') &&
	       strlen(a + at) < 10 &&
	       atol(a + at) + 1 == atol(b + at);
}

/* The nodes of a leaf; places are sorted: "n[0-3],x7". */
static void print_nodes(FILE *f, const struct cli_places *p, uint32_t leaf)
{
	const char *comma = "";

	for (size_t i = 0; i < p->n; i++) {
		const char *first = p->place[i].node, *last = first;

		if (p->place[i].leaf != leaf)
			continue;
		for (size_t k = i + 1; k < p->n; k++)
			if (p->place[k].leaf == leaf &&
			    follows(last, p->place[k].node)) {
				last = p->place[k].node;
				i = k;
			} else if (p->place[k].leaf == leaf) {
				break;
			}
		if (first == last)
			fprintf(f, "%s%s", comma, first);
		else
			fprintf(f, "%s%.*s[%s-%s]", comma,
				(int)number_at(first), first,
				first + number_at(first),
				last + number_at(last));
		comma = ",";
	}
}

/* ---- output ---- */

struct comparison {
	const struct cli_places *p;
	const struct np_topo *t;
	uint32_t *slurm, *as; /* from cli_places_compare() */
};

/* Slurm's name of the leaf, or else the name that was found. */
static const char *leaf_name(const struct comparison *v, uint32_t l)
{
	return v->as[l] == CLI_TOPOLOGY_NONE ? v->p->leaf[l] :
					       v->t->leaf[v->as[l]].name;
}

/* A switch that only second adapters are on has no nodes of its own. */
static bool has_nodes(const struct cli_places *p, uint32_t l)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->place[i].leaf == l)
			return true;
	return false;
}

/* Number of leaf switches with nodes. */
static size_t count_leaves(const struct cli_places *p)
{
	size_t n = 0;

	for (uint32_t l = 0; l < p->n_leaves; l++)
		n += has_nodes(p, l);
	return n;
}

/* A list of all leaves with nodes. */
static void print_leaves(const struct comparison *v)
{
	const char *comma = "";

	for (uint32_t l = 0; l < v->p->n_leaves; l++)
		if (has_nodes(v->p, l)) {
			printf("%s%s", comma, leaf_name(v, l));
			comma = ",";
		}
}

/* Print a topology.conf: the leaves below one top switch. */
static void print_conf(const struct comparison *v)
{
	for (uint32_t l = 0; l < v->p->n_leaves; l++) {
		if (!has_nodes(v->p, l))
			continue;
		printf("SwitchName=%s Nodes=", leaf_name(v, l));
		print_nodes(stdout, v->p, l);
		putchar('\n');
	}
	if (count_leaves(v->p) < 2)
		return;
	printf("SwitchName=top Switches=");
	print_leaves(v);
	putchar('\n');
}

/* The same as topology.yaml of Slurm 25.05. */
static void print_yaml(const struct comparison *v)
{
	puts("- topology: default\n  cluster_default: true\n  tree:\n"
	     "    switches:");
	for (uint32_t l = 0; l < v->p->n_leaves; l++) {
		if (!has_nodes(v->p, l))
			continue;
		printf("      - switch: \"%s\"\n        nodes: \"",
		       leaf_name(v, l));
		print_nodes(stdout, v->p, l);
		puts("\"");
	}
	if (count_leaves(v->p) < 2)
		return;
	printf("      - switch: \"top\"\n        children: \"");
	print_leaves(v);
	puts("\"");
}

/* The leaf switches that were found, with their nodes. */
static void list_leaves(const struct comparison *v)
{
	const struct cli_places *p = v->p;
	char within[CLI_NUMBER], between[CLI_NUMBER];
	size_t n = count_leaves(p);

	printf("%zu node%s on %zu leaf switch%s", p->n, cli_s(p->n),
	       n, n == 1 ? "" : "es");
	if (p->within > 0)
		printf(" by their latencies: %s within",
		       cli_sec(p->within, within));
	if (p->within > 0 && p->between > 0)
		printf(", %s between", cli_sec(p->between, between));
	puts("");
	for (uint32_t l = 0; l < p->n_leaves; l++) {
		if (!has_nodes(p, l))
			continue;
		printf("  %-20s ", leaf_name(v, l));
		print_nodes(stdout, p, l);
		puts(v->t->n && v->as[l] == CLI_TOPOLOGY_NONE ?
		     "  (not in Slurm's topology)" : "");
	}
}

/* Nodes with adapters on several leaf switches. */
static void list_rails(const struct comparison *v)
{
	const struct cli_places *p = v->p;

	for (size_t i = 0; i < p->n; i++)
		if (p->place[i].other != CLI_TOPOLOGY_NONE)
			printf("%s is also connected to %s, which Slurm's "
			       "topology cannot express\n", p->place[i].node,
			       leaf_name(v, p->place[i].other));
}

/* One line for each node that is elsewhere in Slurm's topology. */
static void list_differences(const struct comparison *v)
{
	const struct cli_places *p = v->p;

	for (size_t i = 0; i < p->n; i++) {
		uint32_t s = v->slurm[i];

		if (s == CLI_TOPOLOGY_NONE)
			printf("%s is on no leaf switch of Slurm's topology; "
			       "found on %s\n", p->place[i].node,
			       leaf_name(v, p->place[i].leaf));
		else if (v->as[p->place[i].leaf] != s)
			printf("%s is on %s in Slurm's topology; found on %s\n",
			       p->place[i].node, v->t->leaf[s].name,
			       leaf_name(v, p->place[i].leaf));
	}
}

/* Number of leaf switches that Slurm has the nodes on. */
static size_t count_slurm_leaves(const struct comparison *v)
{
	size_t n = 0;

	for (uint32_t l = 0; l < v->t->n; l++)
		for (size_t i = 0; i < v->p->n; i++)
			if (v->slurm[i] == l) {
				n++;
				break;
			}
	return n;
}

/*
 * One group of latencies where Slurm has several leaf switches: more probably
 * the way over other switches takes hardly longer than that all are wrong.
 */
static bool is_undecided(const struct comparison *v)
{
	return v->p->within > 0 && count_leaves(v->p) == 1 &&
	       count_slurm_leaves(v) > 1;
}

/* Returns the exit status. */
static int print_undecided(const struct comparison *v)
{
	char within[CLI_NUMBER];

	return cli_fail("the latencies of these %zu nodes (%s) do not tell "
			"leaf switches apart, of which Slurm has %zu: nothing "
			"is known about Slurm's topology; measure idle nodes "
			"with a larger --repeats, or use --ibnetdiscover or "
			"--lldp", v->p->n, cli_sec(v->p->within, within),
			count_slurm_leaves(v));
}

/* Returns the exit status. */
static int print_comparison(const struct comparison *v, long misplaced)
{
	size_t missing = 0;

	for (size_t i = 0; i < v->p->n; i++)
		missing += v->slurm[i] == CLI_TOPOLOGY_NONE;
	list_leaves(v);
	list_rails(v);
	if (!v->t->n) {
		puts("Slurm has no topology; netprof topology --write=conf "
		     "prints a topology.conf.");
		return CLI_FAILED;
	}
	list_differences(v);
	if (!misplaced && !missing) {
		puts("Slurm's topology agrees.");
		return CLI_DONE;
	}
	printf("%ld node%s on another leaf switch than Slurm says, %zu on "
	       "none; netprof topology --write=conf prints a corrected "
	       "topology.conf.\n", misplaced, misplaced == 1 ? " is" :
	       "s are", missing);
	return CLI_FAILED;
}

/*
 * Compare with Slurm's topology and print the result. Returns the exit status.
 */
static int show(const struct options *o, struct cli_places *p)
{
	struct np_err err = NP_ERR_INIT;
	struct np_topo t = { NULL, 0 };
	struct comparison v = { .p = p, .t = &t };
	int rc = read_slurm(o, &t, &err);
	long misplaced = -1;

	if (rc)
		return cli_fail("%s", err.text);
	cli_places_sort(p);
	v.slurm = calloc(p->n + 1, sizeof(*v.slurm));
	v.as = calloc(p->n_leaves + 1, sizeof(*v.as));
	if (v.slurm && v.as)
		misplaced = cli_places_compare(p, &t, v.slurm, v.as);
	if (misplaced < 0)
		rc = cli_fail("out of memory");
	else if (is_undecided(&v))
		rc = print_undecided(&v);
	else if (!o->write)
		rc = print_comparison(&v, misplaced);
	else if (!strcmp(o->write, "yaml"))
		print_yaml(&v);
	else
		print_conf(&v);
	free(v.slurm);
	free(v.as);
	np_topo_free(&t);
	return rc;
}

/* Find the places from the source that the options name. */
static int find(const struct options *o, struct cli_places *p,
		struct np_err *err)
{
	if (o->ib)
		return cli_places_ib(o->ib, p, err);
	if (o->lldp)
		return cli_places_lldp(o->lldp, p, err);
	if (o->latencies)
		return cli_places_latencies(o->latencies, p, err);
	return measure(o, p, err);
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

/* Exactly one source is used; without an option, the nodes are measured. */
static int run_topology(const struct cli_cmd *self, int argc, char **argv)
{
	struct options o = { .times = 0 };
	struct cli_places p = { NULL };
	struct np_err err = NP_ERR_INIT;
	struct cli_options given;
	int rc = cli_options_parse(self, argc, argv, &o, &given);

	if (rc >= 0)
		return rc;
	if (!!o.ib + !!o.lldp + !!o.latencies > 1)
		return cli_usage(self, "expected only one of "
				 "--ibnetdiscover, --lldp and --latencies");
	if ((o.save || o.times || o.repeats) &&
	    (o.ib || o.lldp || o.latencies))
		return cli_usage(self, "--%s: expected none of "
				 "--ibnetdiscover, --lldp and --latencies, "
				 "which replace the measurement",
				 o.save ? "save" : o.times ? "times" :
							     "repeats");
	if (o.write && strcmp(o.write, "conf") && strcmp(o.write, "yaml"))
		return cli_usage(self, "--write=%.16s: expected conf or yaml",
				 o.write);
	o.times = o.times ? o.times : 100;
	o.repeats = o.repeats ? o.repeats : 3;
	rc = find(&o, &p, &err);
	rc = rc ? cli_fail("%s", err.text) : show(&o, &p);
	cli_places_free(&p);
	return rc;
}

const struct cli_cmd cmd_topology = {
	.name = "topology",
	.args = "[--ibnetdiscover=FILE | --lldp=DIR | --latencies=FILE]\n"
		"        [--times=N] [--repeats=N] [--save=FILE] [--slurm=FILE] "
		"[--write=conf|yaml]",
	.help = "check Slurm's topology: which node is on which leaf switch",
	.text =
"Finds which nodes share a leaf switch and compares that with Slurm's topology;\n"
"it lists the nodes that Slurm has on another switch.  Inside an allocation it\n"
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
