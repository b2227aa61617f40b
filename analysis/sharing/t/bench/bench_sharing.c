/*
 * Cost of penalties and of the simulator of np_replay.h on one core: all-to-all
 * under every model, and events per second of programs of several sizes.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "np_clock.h"
#include "np_replay.h"

#define NODES 12
#define ALL_MAX_SEC 0.5
#define REPEATS 5

static const struct np_sharing_param param = NP_SHARING_DEFAULTS;

static void die(const char *what, const struct np_err *err)
{
	fprintf(stderr, "bench: %s: %s\n", what, err->text);
	exit(1);
}

static size_t all_to_all(struct np_comm *c, uint32_t n)
{
	size_t k = 0;

	for (uint32_t i = 0; i < n; i++)
		for (uint32_t j = 0; j < n; j++)
			if (i != j)
				c[k++] = (struct np_comm){ i, j };
	return k;
}

/* Minimum time of several attempts; *most: the largest penalty. */
static double penalties(const struct np_sharing_model *m, double *most)
{
	struct np_comm c[NODES * NODES];
	double p[NODES * NODES], best = INFINITY;
	size_t n = all_to_all(c, NODES);
	struct np_err err = NP_ERR_INIT;

	for (int r = 0; r < REPEATS; r++) {
		double start = np_clock_sec(CLOCK_PROCESS_CPUTIME_ID);

		if (np_sharing_static(m, &param, c, n, NODES, p, &err))
			die(m->name, &err);
		best = fmin(best,
			    np_clock_sec(CLOCK_PROCESS_CPUTIME_ID) - start);
	}
	*most = 0;
	for (size_t i = 0; i < n; i++)
		*most = fmax(*most, p[i]);
	return best;
}

static uint32_t add(struct np_replay_app *a, enum np_replay_kind kind,
		    uint32_t task, double sec, uint64_t bytes)
{
	const struct np_replay_op op = { kind, task, sec, bytes, 0 };
	struct np_err err = NP_ERR_INIT;
	uint32_t at;

	if (np_replay_add(a, &op, &at, &err))
		die("operation", &err);
	return at;
}

static void after(struct np_replay_app *a, uint32_t op, uint32_t before)
{
	struct np_err err = NP_ERR_INIT;

	if (np_replay_depend(a, op, before, false, &err))
		die("dependency", &err);
}

/*
 * A message of one round, which the next computation of both tasks waits for.
 */
static void message(struct np_replay_app *a, uint32_t from, uint32_t to,
		    const uint32_t *begin, const uint32_t *end, uint64_t bytes)
{
	uint32_t s = add(a, NP_REPLAY_SEND, from, 0, bytes);
	uint32_t r = add(a, NP_REPLAY_RECV, to, 0, 0);

	np_replay_match(a, s, r);
	after(a, s, begin[from]);
	after(a, r, begin[to]);
	after(a, end[from], s);
	after(a, end[to], r);
}

/*
 * Rounds of slightly different computations, and messages to neighbouring tasks
 * (reach > 0) or to all (0).
 */
static struct np_replay_app *make(uint32_t tasks, int rounds, uint32_t reach)
{
	struct np_replay_app *a = np_replay_app_new(tasks);
	uint32_t *begin = calloc(2 * tasks, sizeof(*begin));
	uint32_t *end = begin + tasks;
	struct np_err err = NP_ERR_INIT;

	for (uint32_t t = 0; t < tasks; t++)
		begin[t] = add(a, NP_REPLAY_COMPUTE, t, 0, 0);
	for (int r = 0; r < rounds; r++) {
		for (uint32_t t = 0; t < tasks; t++)
			end[t] = add(a, NP_REPLAY_COMPUTE, t,
				     1e-3 * (1 + (t * 7 + (uint32_t)r * 3) %
							 11 * 0.1),
				     0);
		for (uint32_t t = 0; t < tasks; t++)
			for (uint32_t k = 1; k < (reach ? reach + 1 : tasks);
			     k++) {
				message(a, t, (t + k) % tasks, begin, end,
					1000 + 10 * k);
				if (reach)
					message(a, t, (t + tasks - k) % tasks,
						begin, end, 1000);
			}
		for (uint32_t t = 0; t < tasks; t++)
			begin[t] = end[t];
	}
	if (np_replay_finish(a, &err))
		die("program", &err);
	free(begin);
	return a;
}

static const struct {
	const char *name, *model;
	uint32_t tasks, reach;
	int rounds;
	double fabric;
} programs[] = {
	{ "neighbours, 64 nodes", "none", 64, 2, 200, INFINITY },
	{ "neighbours, 64 nodes", "maxmin", 64, 2, 200, INFINITY },
	{ "neighbours, 64 nodes", "gige", 64, 2, 200, INFINITY },
	{ "neighbours, 64 nodes", "infiniband", 64, 2, 200, INFINITY },
	{ "next one, 64 nodes", "myrinet", 64, 1, 40, INFINITY },
	{ "neighbours, 64 nodes, full switch", "maxmin", 64, 2, 200, 16 },
	{ "neighbours, 1024 nodes", "maxmin", 1024, 2, 10, INFINITY },
	{ "all to all, 16 nodes", "maxmin", 16, 0, 50, INFINITY },
	{ "all to all, 8 nodes", "myrinet", 8, 0, 20, INFINITY },
};

static void play(size_t k)
{
	struct np_replay_app *a =
		make(programs[k].tasks, programs[k].rounds, programs[k].reach);
	uint32_t *node_of = calloc(programs[k].tasks, sizeof(*node_of));
	struct np_replay_job job = { .app = a, .node_of = node_of };
	struct np_replay_net net = {
		.model = np_sharing_find(programs[k].model, NULL),
		.param = param,
		.bytes_per_sec = 1e6,
		.latency_sec = 1e-5,
		.n_nodes = programs[k].tasks,
	};
	struct np_err err = NP_ERR_INIT;
	uint64_t n_events;
	double start;

	for (uint32_t t = 0; t < programs[k].tasks; t++)
		node_of[t] = t;
	net.param.fabric = programs[k].fabric;
	start = np_clock_sec(CLOCK_PROCESS_CPUTIME_ID);
	if (np_replay_run(&net, &job, 1, false, &n_events, &err))
		die(programs[k].name, &err);
	start = np_clock_sec(CLOCK_PROCESS_CPUTIME_ID) - start;
	printf("%-34s %-11s %9llu %8.3f s %9.0f\n", programs[k].name,
	       programs[k].model, (unsigned long long)n_events, start,
	       (double)n_events / start);
	np_replay_app_free(a);
	free(node_of);
}

/* Transfers of different lengths between random nodes, all from the start. */
static double come_and_go(size_t n, uint32_t nodes)
{
	struct np_comm *c = calloc(n, sizeof(*c));
	double *sec = calloc(3 * n, sizeof(*sec)), start;
	struct np_err err = NP_ERR_INIT;
	uint64_t seed = 1;

	for (size_t i = 0; i < n; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		c[i].from = (uint32_t)(seed >> 40) % nodes;
		c[i].to =
			(c[i].from + 1 + (uint32_t)(seed >> 20) % (nodes - 1)) %
			nodes;
		sec[n + i] = 1 + (double)(seed >> 52);
	}
	start = np_clock_sec(CLOCK_PROCESS_CPUTIME_ID);
	if (np_sharing_dynamic(np_sharing_find("maxmin", NULL), &param, c, sec,
			       sec + n, n, nodes, sec + 2 * n, &err))
		die("transfers", &err);
	start = np_clock_sec(CLOCK_PROCESS_CPUTIME_ID) - start;
	free(c);
	free(sec);
	return start;
}

int main(void)
{
	double sec, most;
	int failed = 0;

	printf("penalties of all to all, %d nodes, %d transfers; least of %d, "
	       "one core\n",
	       NODES, NODES * (NODES - 1), REPEATS);
	for (size_t m = 0; m < np_sharing_n_models; m++) {
		sec = penalties(&np_sharing_models[m], &most);
		printf("%-11s %10.6f s   largest %.3f\n",
		       np_sharing_models[m].name, sec, most);
		if (sec > ALL_MAX_SEC) {
			printf("  too slow: at most %g s\n", ALL_MAX_SEC);
			failed = 1;
		}
	}
	printf("\nmaxmin of random transfers that end one after the other\n");
	for (size_t n = 1024; n <= 4096; n *= 2)
		for (uint32_t nodes = 64; nodes <= 1024; nodes *= 4) {
			sec = come_and_go(n, nodes);
			printf("%5zu between %4u nodes %8.3f s\n", n, nodes,
			       sec);
			if (sec > ALL_MAX_SEC) {
				printf("  too slow: at most %g s\n",
				       ALL_MAX_SEC);
				failed = 1;
			}
		}
	printf("\n%-34s %-11s %9s %10s %9s\n", "programs played", "model",
	       "events", "took", "events/s");
	for (size_t k = 0; k < NP_ARRAY_SIZE(programs); k++)
		play(k);
	return failed;
}
