/*
 * libFuzzer target: `make fuzz`. The reader of programs rejects any input with
 * a message or accepts it; what it accepts is simulated to its end, or rejected
 * with a message.
 */

#include "fuzz/fuzz.h"
#include "np_replay.h"

/* Larger inputs are only slow. */
#define MOST_OPS 2000
#define MOST_TASKS 16

static void play(const struct np_replay_app *a)
{
	static const uint32_t node_of[MOST_TASKS] = { 0, 1, 2, 3, 0, 1 };
	const struct np_replay_net net = {
		.model = np_sharing_find("maxmin", NULL),
		.n_nodes = 4,
		.param = NP_SHARING_DEFAULTS,
		.bytes_per_sec = 1e9,
		.latency_sec = 1e-6,
		.eager_bytes = 1024,
	};
	struct np_replay_job job = { .app = a, .node_of = node_of };
	struct np_err err = NP_ERR_INIT;

	if (a->n_tasks > MOST_TASKS || a->n_ops > MOST_OPS)
		return;
	if (np_replay_run(&net, &job, 1, false, NULL, &err) && !err.text[0])
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct np_err err = NP_ERR_INIT;
	struct np_replay_app *a;

	if (np_workload_parse((const char *)data, size, "fuzz", &a, &err)) {
		if (!err.text[0])
			abort();
		return 0;
	}
	play(a);
	np_replay_app_free(a);
	return 0;
}
