/* The plan of a step's nodes; what slurmctld says is text here. */
#include "t.h"
#include "np_alloc_query.h"

#define TWO_LEAVES \
	"SwitchName=spine Level=1 LinkSpeed=1 Nodes=n[0-15] " \
	"Switches=leaf[0-1]\n" \
	"SwitchName=leaf0 Level=0 LinkSpeed=1 Nodes=n[0-7]\n" \
	"SwitchName=leaf1 Level=0 LinkSpeed=1 Nodes=n[8-15]\n"
#define MANY 1000

/*
 * want: "LEAF:NODES:NUMBER" of each leaf of the step; '!' marks one that is
 * skipped. job NULL: no level was asked for.
 */
static const struct {
	const char *name, *topology, *step, *job, *busy;
	const char *want, *level;
	enum np_scope scope;
	int rc;
} rows[] = {
	{ "one leaf", TWO_LEAVES, "n[0-3]", NULL, NULL, " leaf0:n[0-3]:4", "",
	  NP_SCOPE_NODE, 0 },
	{ "two leaves", TWO_LEAVES, "n[6-9]", NULL, NULL,
	  " leaf0:n[6-7]:2 leaf1:n[8-9]:2", "", NP_SCOPE_NODE, 0 },
	{ "a lone node on the second leaf is skipped", TWO_LEAVES, "n[6-8]",
	  NULL, NULL, " leaf0:n[6-7]:2 leaf1:n8:1!", "", NP_SCOPE_NODE, 0 },
	{ "no topology is one leaf", "", "n[6-9]", NULL, NULL, " :n[6-9]:4", "",
	  NP_SCOPE_NODE, 0 },
	{ "a node that the topology does not know", TWO_LEAVES, "n[0-1],x",
	  NULL, NULL, " :x:1! leaf0:n[0-1]:2", "", NP_SCOPE_NODE, 0 },
	{ "one node", TWO_LEAVES, "n0", NULL, NULL, "", "", NP_SCOPE_NODE,
	  -ENODEV },
	{ "one node on each leaf", TWO_LEAVES, "n7,n8", NULL, NULL, "", "",
	  NP_SCOPE_NODE, -ENODEV },
	{ "the level on the leaf of the step", TWO_LEAVES, "n[0-1]", "n[0-3]",
	  "", " leaf0:n[0-1]:2", "n[2-3]", NP_SCOPE_LEAF, 0 },
	{ "nodes with other steps are left alone", TWO_LEAVES, "n[0-1]",
	  "n[0-5]", "n[2-3],n7", " leaf0:n[0-1]:2", "n[4-5]", NP_SCOPE_LEAF,
	  0 },
	{ "all others busy: the level on the step's own nodes", TWO_LEAVES,
	  "n[0-1]", "n[0-3]", "n[2-3]", " leaf0:n[0-1]:2", "n[0-1]",
	  NP_SCOPE_NODE, 0 },
	{ "what runs on the step's own nodes too is no matter", TWO_LEAVES,
	  "n[0-1]", "n[0-1]", "n[0-1]", " leaf0:n[0-1]:2", "n[0-1]",
	  NP_SCOPE_NODE, 0 },
	{ "idle nodes of another leaf are of no use", TWO_LEAVES, "n[0-1]",
	  "n[0-1],n[8-9]", "", " leaf0:n[0-1]:2", "n[0-1]", NP_SCOPE_NODE, 0 },
	{ "and are no part of the step", TWO_LEAVES, "n[0-1],n8",
	  "n[0-3],n[8-11]", "", " leaf0:n[0-1]:2 leaf1:n8:1!", "n[2-3]",
	  NP_SCOPE_LEAF, 0 },
	{ "a level for one node is of no use", TWO_LEAVES, "n0", "n[0-3]", "",
	  "", "", NP_SCOPE_NODE, -ENODEV },
	{ "the step in another order", TWO_LEAVES, "n3,n2", NULL, NULL,
	  " leaf0:n[2-3]:2", "", NP_SCOPE_NODE, 0 },
};

static void describe(const struct np_record *r, char *out, size_t size)
{
	*out = '\0';
	for (size_t i = 0; i < r->n_leaves; i++) {
		const struct np_leaf_run *l = &r->leaves[i];
		size_t used = strlen(out);

		snprintf(out + used, size - used, " %s:%s:%u%s", l->name,
			 l->nodes, l->n_nodes, l->skipped ? "!" : "");
	}
}

static void expand(const char *text, struct np_hosts *h)
{
	*h = (struct np_hosts){ NULL, 0 };
	if (text && *text)
		T_CHECK(np_hosts_expand(text, h) == 0);
}

static int plan(size_t i, uint32_t max_level, struct np_step_nodes *s,
		struct np_record *r, struct np_err *err)
{
	struct np_hosts job, busy;
	int rc;

	*s = (struct np_step_nodes){ .leaves = NULL };
	expand(rows[i].step, &s->step);
	expand(rows[i].job, &job);
	expand(rows[i].busy, &busy);
	T_CHECK(np_leaf_index_parse(rows[i].topology, &s->leaves, NULL) == 0);
	rc = np_step_nodes_plan(s, &job, &busy, max_level, r, err);
	np_hosts_free(&job);
	np_hosts_free(&busy);
	return rc;
}

#define TWO_TREES \
	TWO_LEAVES "SwitchName=x Level=0 Nodes=n[0-7]\n" \
		   "SwitchName=y Level=0 Nodes=n[8-9]\n"

/* As "LEAF:RAIL:NODES" of each leaf. */
static const struct {
	const char *name, *devices, *step, *want;
} railed[] = {
	{ "one leaf on each rail", "ib0,ib1", "n[0-1]",
	  " leaf0:ib0:n[0-1] x:ib1:n[0-1]" },
	{ "two leaves on each", "ib0,ib1", "n[6-9]",
	  " leaf0:ib0:n[6-7] "
	  "leaf1:ib0:n[8-9] x:ib1:n[6-7] y:ib1:n[8-9]" },
	{ "some nodes without the second", "ib0,ib1", "n[8-11]",
	  " leaf1:ib0:n[8-11] y:ib1:n[8-9]" },
	{ "devices not known", "", "n[6-9]", " leaf0:-:n[6-7] leaf1:-:n[8-9]" },
};

T_TEST("each rail of the nodes has its leaves in the record")
{
	T_EACH(row, railed) {
		struct np_step_nodes s = { .leaves = NULL };
		struct np_hosts none = { NULL, 0 };
		struct np_record *r = np_record_new();
		char text[256] = "";

		expand(row->step, &s.step);
		T_CHECK(!np_leaf_index_parse(TWO_TREES, &s.leaves, NULL));
		T_CHECK(!np_leaf_index_set_devices(s.leaves, row->devices));
		T_CHECK(!np_step_nodes_plan(&s, &none, &none, MANY, r, NULL));
		for (size_t k = 0; k < r->n_leaves; k++) {
			const struct np_leaf_run *l = &r->leaves[k];
			size_t used = strlen(text);

			snprintf(text + used, sizeof(text) - used, " %s:%s:%s",
				 l->name, l->rail ? l->rail : "-", l->nodes);
		}
		T_ROW(row->name, !strcmp(text, row->want));
		np_step_nodes_free(&s);
		np_record_free(r);
	}
}

T_TEST("what of a step is measured, and where its level goes")
{
	for (size_t i = 0; i < NP_ARRAY_SIZE(rows); i++) {
		struct np_record *r = np_record_new();
		struct np_err err = NP_ERR_INIT;
		struct np_step_nodes s;
		char text[256], *level;
		int rc = plan(i, MANY, &s, r, &err);

		T_ROW(rows[i].name, rc == rows[i].rc);
		describe(r, text, sizeof(text));
		T_ROW(rows[i].name, !strcmp(text, rows[i].want));
		level = np_hosts_compress(&s.level);
		T_ROW(rows[i].name, !strcmp(level, rows[i].level));
		T_ROW(rows[i].name, rc ? strstr(err.text, "leaf") != NULL :
					 s.scope == rows[i].scope &&
						    r->n_nodes == s.step.n &&
						    r->nodes);
		free(level);
		np_step_nodes_free(&s);
		np_step_nodes_free(&s); /* twice is no harm */
		np_record_free(r);
	}
}

/* Wide allocations: their level runs on some pairs of nodes of each leaf. */
static const struct {
	const char *name, *step, *job;
	uint32_t max_level;
	size_t want[2]; /* of each leaf */
	enum np_scope scope;
} wide[] = {
	{ "on the step's nodes",
	  "n[0-15]",
	  "n[0-15]",
	  8,
	  { 4, 4 },
	  NP_SCOPE_NODE },
	{ "on its leaf", "n[0-1,8-9]", "n[0-15]", 8, { 4, 4 }, NP_SCOPE_LEAF },
	{ "an odd one out",
	  "n[0-6,8-14]",
	  "n[0-6,8-14]",
	  4,
	  { 2, 2 },
	  NP_SCOPE_NODE },
	{ "one pair", "n[0-15]", "n[0-15]", 2, { 0, 2 }, NP_SCOPE_NODE },
};

T_TEST("the level of a wide step is on pairs of each leaf")
{
	T_EACH(row, wide) {
		struct np_step_nodes s = { .leaves = NULL };
		struct np_record *r = np_record_new();
		struct np_hosts job, busy = { NULL, 0 };
		size_t n[2] = { 0, 0 }, in_step = 0;

		expand(row->step, &s.step);
		expand(row->job, &job);
		T_CHECK(np_leaf_index_parse(TWO_LEAVES, &s.leaves, NULL) == 0);
		T_ROW(row->name,
		      np_step_nodes_plan(&s, &job, &busy, row->max_level, r,
					 NULL) == 0);
		for (size_t k = 0; k < s.level.n; k++) {
			const char *node = s.level.name[k];

			n[!strcmp(np_leaf_index_find(s.leaves, node),
				  "leaf1")]++;
			in_step += (size_t)np_hosts_has(&s.step, node);
		}
		T_ROW(row->name, n[0] == row->want[0] && n[1] == row->want[1]);
		T_ROW(row->name, s.scope == row->scope &&
					 in_step == (s.scope == NP_SCOPE_LEAF ?
							     0 :
							     s.level.n));
		np_hosts_free(&job);
		np_step_nodes_free(&s);
		np_record_free(r);
	}
}
