#include "t.h"
#include "np_alloc_query.h"

#define MAX_NODES 16

/*
 * A node is two letters: its leaf (a, b, or - for no topology), and s (step),
 * i (idle in the allocation) or x (busy with another step).
 * The answer has P for a probe, L for the level, B for both, '.' for neither.
 */
static const struct {
	const char *name, *nodes, *want;
	size_t n_probes;
	enum np_scope scope;
	size_t max_level; /* 0: any */
} rows[] = {
	{ "two nodes of one leaf", "as as", "BB", 2, NP_SCOPE_NODE },
	{ "a lone node on the second leaf is left out", "as as bs", "BB.", 2,
	  NP_SCOPE_NODE },
	{ "no two nodes on one leaf", "as bs", "..", 0, NP_SCOPE_NODE },
	{ "one node", "as", ".", 0, NP_SCOPE_NODE },
	{ "no topology is one leaf", "-s -s -s", "BBB", 3, NP_SCOPE_NODE },
	{ "two idle nodes take the level", "as as ai ai", "PPLL", 2,
	  NP_SCOPE_LEAF },
	{ "one idle node has no peer", "as as ai", "BB.", 2, NP_SCOPE_NODE },
	{ "idle nodes of another leaf are of no use", "as as bi bi", "BB..", 2,
	  NP_SCOPE_NODE },
	{ "busy nodes are left alone", "as as ax ax", "BB..", 2,
	  NP_SCOPE_NODE },
	{ "busy and idle nodes mixed", "as as ax ai ai", "PP.LL", 2,
	  NP_SCOPE_LEAF },
	{ "two leaves, idle nodes on one", "as as ai ai bs bs", "PPLLPP", 4,
	  NP_SCOPE_LEAF },
	{ "a wide step: the level on pairs of each leaf",
	  "as as as as as as bs bs bs bs bs bs", "PPPPBBPPPPBB", 12,
	  NP_SCOPE_NODE, 4 },
	{ "an odd one out takes no level when there are too many",
	  "as as as bs bs bs", "PPPBBP", 6, NP_SCOPE_NODE, 2 },
	{ "as many as there may be are left as they are", "as as as bs bs bs",
	  "BBBBBB", 6, NP_SCOPE_NODE, 6 },
	{ "with a wide step, too", "as as ai ai ai ai bs bs bi bi",
	  "PP..LLPPLL", 4, NP_SCOPE_LEAF, 4 },
};

/* Nodes are named n0, n1, ...; what there is of leaves and lists of them. */
struct layout {
	size_t n;
	char leaf[MAX_NODES]; /* a letter of each */
	char topology[256];
	struct np_hosts job, busy;
	struct np_step_nodes s;
};

static void add_switch(struct layout *l, char leaf)
{
	char *end = l->topology + strlen(l->topology);
	const char *between = "";

	end += sprintf(end, "SwitchName=%c Level=0 Nodes=", leaf);
	for (size_t i = 0; i < l->n; i++)
		if (l->leaf[i] == leaf) {
			end += sprintf(end, "%sn%zu", between, i);
			between = ",";
		}
	strcpy(end, "\n");
}

static void read_layout(const char *text, struct layout *l)
{
	*l = (struct layout){ .n = 0 };
	for (; *text; text += 2 + (text[2] == ' '), l->n++) {
		const char *name = t_text("n%zu", l->n);

		l->leaf[l->n] = *text;
		T_CHECK(!np_hosts_add(&l->job, name));
		if (text[1] == 's')
			T_CHECK(!np_hosts_add(&l->s.step, name));
		if (text[1] == 'x')
			T_CHECK(!np_hosts_add(&l->busy, name));
	}
	add_switch(l, 'a');
	add_switch(l, 'b');
	T_CHECK(!np_leaf_index_parse(l->topology, &l->s.leaves, NULL));
}

static void free_layout(struct layout *l)
{
	np_hosts_free(&l->job);
	np_hosts_free(&l->busy);
	np_step_nodes_free(&l->s);
}

/* Where probes and the level are, and how many of the former. */
static size_t describe(const struct layout *l, struct np_record *r, char *text)
{
	size_t probes = 0;

	for (size_t i = 0; i < l->n; i++) {
		bool probe, level;
		const char *name = t_text("n%zu", i);

		probe = np_hosts_has(&l->s.step, name) &&
			!np_record_leaf(r,
					np_leaf_index_find(l->s.leaves, name))
				 ->skipped;
		level = np_hosts_has(&l->s.level, name);
		text[i] = ".PLB"[probe + 2 * level];
		probes += probe;
	}
	text[l->n] = '\0';
	return probes;
}

T_TEST("probes and level run where they should")
{
	T_EACH(row, rows) {
		struct np_record *r = np_record_new();
		struct np_err why = NP_ERR_INIT;
		char text[MAX_NODES + 1];
		struct layout l;
		int rc;

		read_layout(row->nodes, &l);
		rc = np_step_nodes_plan(
			&l.s, &l.job, &l.busy,
			row->max_level ? row->max_level : MAX_NODES, r, &why);
		T_ROW(row->name,
		      row->n_probes ?
			      !rc && describe(&l, r, text) == row->n_probes &&
				      l.s.scope == row->scope &&
				      !strcmp(text, row->want) :
			      rc == -ENODEV &&
				      strstr(why.text, "leaf") != NULL);
		free_layout(&l);
		np_record_free(r);
	}
}
