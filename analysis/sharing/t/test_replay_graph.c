#include "t.h"

#include "np_graph.h"
#include "np_replay.h"

/*
 * Rank 0 sends while it computes for 4 s; rank 1 receives from any rank, then
 * computes for 1 s.
 */
static struct np_graph *graph(void)
{
	const struct np_graph_op send = {
		.kind = NP_OP_SEND, .size = 200, .peer = 1, .tag = 7
	};
	const struct np_graph_op calc = { .kind = NP_OP_CALC,
					  .size = 4000000000u };
	const struct np_graph_op recv = {
		.kind = NP_OP_RECV, .size = 200, .peer = NP_ANY, .tag = 7
	};
	const struct np_graph_op after = { .kind = NP_OP_CALC,
					   .size = 1000000000u };
	struct np_graph *g = NULL;

	T_CHECK(!np_graph_new("g", 2, &g, NULL));
	T_CHECK(!np_graph_rank(g, 0, NULL, NULL));
	T_CHECK(!np_graph_add(g, &send, NULL, NULL));
	T_CHECK(!np_graph_add(g, &calc, NULL, NULL));
	T_CHECK(!np_graph_depend(g, 1, 0, NP_IREQUIRES, NULL));
	T_CHECK(!np_graph_rank(g, 1, NULL, NULL));
	T_CHECK(!np_graph_add(g, &recv, NULL, NULL));
	T_CHECK(!np_graph_add(g, &after, NULL, NULL));
	T_CHECK(!np_graph_depend(g, 1, 0, NP_REQUIRES, NULL));
	T_CHECK(!np_graph_finish(g, NULL));
	return g;
}

T_TEST("an execution graph becomes the same program")
{
	static const uint32_t node_of[2] = { 0, 1 };
	struct np_graph *g = graph();
	struct np_replay_app *a = NULL;
	struct np_replay_task task[2];
	struct np_replay_net net = {
		.model = np_sharing_find("maxmin", NULL),
		.n_nodes = 2,
		.param = NP_SHARING_DEFAULTS,
		.bytes_per_sec = 100,
	};
	struct np_replay_job job = { .node_of = node_of, .task = task };

	T_CHECK(!np_replay_of_graph(g, &a, NULL));
	np_graph_free(g);
	job.app = a;
	T_CHECK(a->n_tasks == 2 && a->n_ops == 4);
	T_CHECK(!np_replay_run(&net, &job, 1, false, NULL, NULL));
	T_CHECK(t_close(task[0].end_sec, 4, 1e-9));
	T_CHECK(t_close(task[1].end_sec, 3, 1e-9));
	T_CHECK(task[0].messages == 1 && task[0].bytes == 200);
	np_replay_app_free(a);
}
