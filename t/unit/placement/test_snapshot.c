#include "t.h"
#include "np_snapshot.h"

/* Six nodes: b has 4 and 0, a has 3 and 5; 1 and 2 hang on nothing. */
static const uint32_t on_b[] = { 4, 0 }, on_a[] = { 3, 5 };
static const struct np_leaf two[] = { { "b", on_b, 2 }, { "a", on_a, 2 } };

static struct np_leaves *leaves(void)
{
	struct np_leaves *l = NULL;

	T_CHECK(!np_leaves_new(6, two, 2, &l, NULL));
	return l;
}

static const uint32_t twice[] = { 4, 4 }, beyond[] = { 6 }, other[] = { 3 };

/* clang-format off */
static const struct {
	const char *name;
	size_t nodes;
	struct np_leaf leaf[2];
	int rc;
} bad_leaves[] = {
	{ "a node on two leaves", 6, { { "a", other, 1 }, { "b", on_a, 2 } },
	  -EINVAL },
	{ "a node twice on one leaf", 6,
	  { { "a", other, 1 }, { "b", twice, 2 } }, -EINVAL },
	{ "a node that is not there", 6,
	  { { "a", other, 1 }, { "b", beyond, 1 } }, -EINVAL },
	{ "a leaf without a name", 6, { { "a", other, 1 }, { "", on_b, 2 } },
	  -EINVAL },
	{ "a leaf without nodes", 6, { { "a", other, 1 }, { "b", on_b, 0 } },
	  -EINVAL },
	{ "no nodes", 0, { { "a", other, 1 }, { "b", on_b, 2 } }, -EINVAL },
	{ "too many nodes", NP_LEAVES_MAX_NODES + 1,
	  { { "a", other, 1 }, { "b", on_b, 2 } }, -E2BIG },
};
/* clang-format on */

T_TEST("leaves that cannot be are refused, and say why")
{
	T_EACH(r, bad_leaves) {
		struct np_err err = NP_ERR_INIT;
		struct np_leaves *l = NULL;

		T_ROW(r->name,
		      np_leaves_new(r->nodes, r->leaf, 2, &l, &err) == r->rc &&
			      !l && err.text[0]);
	}
}

T_TEST("nodes and leaves find each other, in any numbering")
{
	struct np_leaves *l = leaves();
	const uint32_t *node;
	uint64_t nodes, allowed = 1;

	T_CHECK(l->n == 2 && l->n_nodes == 6);
	T_CHECK(l->leaf[0] == 0 && l->leaf[5] == 1);
	T_CHECK(l->leaf[1] == NP_NO_LEAF);
	T_CHECK(!strcmp(l->name[1], "a"));
	node = l->node + l->first[0];
	T_CHECK(l->first[1] == 2 && node[0] == 0 && node[1] == 4);
	np_leaves_excluded(l, &allowed, &nodes);
	T_CHECK(nodes == (1 << 3 | 1 << 5));
	np_leaves_allowed(l, &nodes, &allowed);
	T_CHECK(allowed == 1);
	nodes = 1 << 4; /* one node is enough to close a leaf */
	np_leaves_allowed(l, &nodes, &allowed);
	T_CHECK(allowed == 2);
	np_leaves_unref(l);
}

T_TEST("the same set of nodes is kept once")
{
	struct np_leaves *l = leaves();
	struct np_snapshot *s;
	uint32_t handle[64], again;
	uint64_t all = 63;

	T_CHECK(!np_snapshot_new(l, 10, 0, &s, NULL));
	for (uint64_t bits = 0; bits < 64; bits++)
		T_CHECK(!np_snapshot_nodes(s, &bits, &handle[bits], NULL));
	T_CHECK(!np_snapshot_nodes(s, &all, &again, NULL));
	for (uint64_t bits = 0; bits < 64; bits++) {
		T_CHECK(!np_snapshot_nodes(s, &bits, &again, NULL));
		T_CHECK(again == handle[bits]);
		for (uint64_t k = 0; k < bits; k++)
			T_CHECK(handle[k] != handle[bits]);
	}
	np_snapshot_unref(s);
	np_leaves_unref(l);
}

static const uint64_t some_leaves = 1;
static const uint32_t far_node = 6;

static const struct {
	const char *name;
	struct np_job job;
} bad_jobs[] = {
	{ "a state that is none", { .state = 7, .tasks = 1, .nodes_min = 1 } },
	{ "a mode that is none",
	  { .state = NP_JOB_READY, .mode = 9, .tasks = 1, .nodes_min = 1 } },
	{ "a profile below unknown",
	  { .state = NP_JOB_READY, .profile = -2, .tasks = 1, .nodes_min = 1 } },
	{ "no nodes needed", { .state = NP_JOB_READY, .tasks = 1 } },
	{ "no tasks", { .state = NP_JOB_READY, .nodes_min = 1 } },
	{ "a set that is none",
	  { .state = NP_JOB_READY,
	    .tasks = 1,
	    .nodes_min = 1,
	    .candidates = 5 } },
	{ "restricted to nothing in particular",
	  { .state = NP_JOB_READY,
	    .tasks = 1,
	    .nodes_min = 1,
	    .prior = NP_PRIOR_RESTRICTED } },
	{ "held for less than no time",
	  { .state = NP_JOB_READY,
	    .tasks = 1,
	    .nodes_min = 1,
	    .held_sec = -1 } },
	{ "held for NaN",
	  { .state = NP_JOB_READY,
	    .tasks = 1,
	    .nodes_min = 1,
	    .held_sec = NAN } },
	{ "on a node that is not there",
	  { .state = NP_JOB_RUNNING, .node = &far_node, .n_nodes = 1 } },
};

T_TEST("jobs that cannot be are refused, and say why")
{
	struct np_leaves *l = leaves();
	struct np_snapshot *s;
	uint64_t all = 63;
	uint32_t set;

	T_CHECK(!np_snapshot_new(l, 10, 5, &s, NULL));
	T_CHECK(!np_snapshot_nodes(s, &all, &set, NULL));
	T_EACH(r, bad_jobs) {
		struct np_err err = NP_ERR_INIT;

		T_ROW(r->name, np_snapshot_job(s, &r->job, &err) == -EINVAL &&
				       err.text[0] && s->n_jobs == 0);
	}
	np_snapshot_unref(s);
	np_leaves_unref(l);
}

T_TEST("a snapshot keeps what was added, and then never changes")
{
	static const uint32_t node[] = { 5, 1, 0, 3 };
	struct np_job run = {
		.id = 7, .state = NP_JOB_RUNNING, .node = node, .n_nodes = 4
	};
	struct np_job wait = { .id = 8,
			       .state = NP_JOB_READY,
			       .tasks = 1,
			       .nodes_min = 2,
			       .prior = NP_PRIOR_RESTRICTED,
			       .prior_leaves = &some_leaves };
	struct np_leaves *l = leaves();
	struct np_snapshot *s;
	const uint32_t *on;
	uint64_t all = 63, beyond_end = 64;
	uint32_t set;

	T_CHECK(np_snapshot_new(l, 10, 11, &s, NULL) == -EINVAL);
	T_CHECK(!np_snapshot_new(l, 10, 5, &s, NULL));
	T_CHECK(np_snapshot_nodes(s, &beyond_end, &set, NULL) == -EINVAL);
	T_CHECK(!np_snapshot_nodes(s, &all, &wait.candidates, NULL));
	T_CHECK(np_snapshot_node(s, 6, NP_NODE_IDLE, NULL) == -EINVAL);
	T_CHECK(np_snapshot_node(s, 0, 4, NULL) == -EINVAL);
	T_CHECK(!np_snapshot_job(s, &run, NULL));
	T_CHECK(!np_snapshot_job(s, &wait, NULL));
	np_snapshot_seal(s);
	on = s->job[0].leaf;
	T_CHECK(s->job[0].n_leaves == 2 && on[0] == 0 && on[1] == 1);
	T_CHECK(s->job[1].prior_leaves[0] == 1);
	T_CHECK(s->now_sec == 10 && s->n_jobs == 2);
	T_CHECK(np_snapshot_job(s, &run, NULL) == -EINVAL); /* sealed */
	T_CHECK(np_snapshot_nodes(s, &all, &set, NULL) == -EINVAL);
	T_CHECK(np_snapshot_node(s, 0, NP_NODE_IDLE, NULL) == -EINVAL);
	np_snapshot_unref(s);
	np_leaves_unref(l);
}
