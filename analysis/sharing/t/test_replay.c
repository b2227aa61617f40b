#include "t.h"

#include "np_replay.h"

#define MOST 32

/* 100 bytes per second, so that 100 bytes take a second. */
static struct np_replay_net net_of(const char *model)
{
	return (struct np_replay_net){
		.model = np_sharing_find(model, NULL),
		.param = NP_SHARING_DEFAULTS,
		.bytes_per_sec = 100,
		.n_nodes = 8,
	};
}

/* A program, line by line. */
struct line {
	enum np_replay_kind kind;
	uint32_t task;
	double sec;
	uint64_t bytes;
	int match;		/* of a send: the line of its receive */
	int after, after_start; /* lines, or -1 */
};

static struct np_replay_app *app_of(const struct line *l, size_t n,
				    uint32_t n_tasks)
{
	struct np_replay_app *a = np_replay_app_new(n_tasks);

	for (size_t i = 0; i < n; i++) {
		const struct np_replay_op op = { l[i].kind, l[i].task, l[i].sec,
						 l[i].bytes, 0 };
		uint32_t at;

		T_CHECK(!np_replay_add(a, &op, &at, NULL) && at == i);
	}
	for (size_t i = 0; i < n; i++) {
		if (l[i].after >= 0)
			np_replay_depend(a, (uint32_t)i, (uint32_t)l[i].after,
					 false, NULL);
		if (l[i].after_start >= 0)
			np_replay_depend(a, (uint32_t)i,
					 (uint32_t)l[i].after_start, true,
					 NULL);
		if (l[i].kind == NP_REPLAY_SEND && l[i].match < (int)n)
			np_replay_match(a, (uint32_t)i, (uint32_t)l[i].match);
	}
	return a;
}

/* clang-format off */
#define COMPUTE(task, sec, after) \
	{ NP_REPLAY_COMPUTE, task, sec, 0, -1, after, -1 }
#define SEND(task, bytes, match, after) \
	{ NP_REPLAY_SEND, task, 0, bytes, match, after, -1 }
#define RECV(task, after) { NP_REPLAY_RECV, task, 0, 0, -1, after, -1 }
/* clang-format on */

static const uint32_t own[MOST] = { 0, 1, 2, 3, 4, 5, 6, 7 };
static const uint32_t one_node[MOST] = { 0 };

/* Task 0 computes, then sends; task 1 waits, then computes. */
static const struct line pair[] = {
	COMPUTE(0, 2, -1),
	SEND(0, 300, 2, 0),
	RECV(1, -1),
	COMPUTE(1, 1, 2),
};
/* Two messages leave node 0 simultaneously; the first is half as large. */
static const struct line fan[] = {
	SEND(0, 100, 2, -1),
	SEND(0, 200, 3, -1),
	RECV(1, -1),
	RECV(2, -1),
};
/* The receiver is late. */
static const struct line late[] = {
	SEND(0, 100, 3, -1),
	COMPUTE(0, 0, 0),
	COMPUTE(1, 5, -1),
	RECV(1, 2),
};

/* clang-format off */
static const struct {
	const char *name, *model;
	const struct line *l;
	size_t n;
	double latency_sec;
	uint64_t eager_bytes;
	const uint32_t *node_of;
	double end[3]; /* by task */
} plays[] = {
	{ "a pair", "maxmin", pair, 4, 0, 0, own, { 5, 6 } },
	{ "a pair, with latency", "maxmin", pair, 4, 0.5, 0, own,
	  { 5.5, 6.5 } },
	{ "an eager send is over at once", "maxmin", pair, 4, 0, 300, own,
	  { 2, 6 } },
	{ "within a node the time is the same", "maxmin", pair, 4, 0, 0,
	  one_node, { 5, 6 } },
	{ "two share a port, then one is alone", "maxmin", fan, 4, 0, 0, own,
	  { 3, 2, 3 } },
	{ "the same, on gigabit ethernet", "gige", fan, 4, 0, 0, own,
	  { 2.5, 1.5, 2.5 } },
	{ "without penalty", "none", fan, 4, 0, 0, own, { 2, 1, 2 } },
	{ "within a node nothing conflicts", "maxmin", fan, 4, 0, 0, one_node,
	  { 2, 1, 2 } },
	{ "a send waits for its receive", "maxmin", late, 4, 0, 0, own,
	  { 6, 6 } },
	{ "an eager one does not", "maxmin", late, 4, 0, 100, own, { 0, 5 } },
};
/* clang-format on */

T_TEST("programs take the expected time")
{
	T_EACH(r, plays) {
		struct np_replay_net net = net_of(r->model);
		struct np_replay_app *a = app_of(r->l, r->n, 3);
		struct np_replay_task task[3];
		struct np_replay_job job = { .app = a,
					     .task = task,
					     .node_of = r->node_of };
		double last = 0;

		net.latency_sec = r->latency_sec;
		net.eager_bytes = r->eager_bytes;
		T_ROW(r->name, !np_replay_finish(a, NULL));
		T_ROW(r->name,
		      !np_replay_run(&net, &job, 1, false, NULL, NULL));
		for (size_t t = 0; t < 3; t++) {
			T_ROW(r->name,
			      t_close(task[t].end_sec, r->end[t], 1e-9));
			last = fmax(last, r->end[t]);
		}
		T_ROW(r->name, t_close(job.end_sec, last, 1e-9));
		np_replay_app_free(a);
	}
}

T_TEST("results of tasks and operations")
{
	struct np_replay_net net = net_of("maxmin");
	struct np_replay_app *a = app_of(fan, 4, 3);
	struct np_replay_span span[4];
	struct np_replay_task task[3];
	struct np_replay_job job = {
		.app = a, .task = task, .span = span, .node_of = own
	};
	uint64_t n_events;

	np_replay_finish(a, NULL);
	T_CHECK(!np_replay_run(&net, &job, 1, false, &n_events, NULL));
	T_CHECK(n_events == 6 && job.runs == 1); /* 4 operations, 2 messages */
	T_CHECK(task[0].messages == 2 && task[0].bytes == 300);
	T_CHECK(t_close(task[0].mean_penalty, (2 + 1.5) / 2, 1e-9));
	T_CHECK(task[0].mean_conflicts == 1);
	T_CHECK(isnan(task[1].mean_penalty) && task[1].messages == 0);
	T_CHECK(t_close(task[0].wait_sec, 3, 1e-9) && !task[0].compute_sec);
	T_CHECK(t_close(span[0].end_sec, 2, 1e-9) && span[0].start_sec == 0);
	T_CHECK(span[0].penalty == 2 && span[1].penalty == 1.5);
	T_CHECK(span[2].penalty == 0 && span[1].conflicts == 1);
	np_replay_app_free(a);
}

/* A receive that is posted while its task computes. */
T_TEST("a task computes while a message arrives")
{
	const struct line l[] = {
		RECV(1, -1),
		{ NP_REPLAY_COMPUTE, 1, 4, 0, -1, -1, 0 },
		{ NP_REPLAY_COMPUTE, 1, 1, 0, -1, 1, -1 }, /* waits for both */
		SEND(0, 100, 0, -1),
	};
	struct np_replay_net net = net_of("maxmin");
	struct np_replay_app *a = app_of(l, 4, 2);
	struct np_replay_job job = { .app = a, .node_of = own };

	np_replay_depend(a, 2, 0, false, NULL);
	np_replay_finish(a, NULL);
	T_CHECK(!np_replay_run(&net, &job, 1, false, NULL, NULL));
	T_CHECK(t_close(job.end_sec, 5, 1e-9));
	np_replay_app_free(a);
}

/* Two programs on separate nodes share only the switch. */
T_TEST("two programs share the switch")
{
	const uint32_t other[MOST] = { 4, 5, 6 };
	struct np_replay_net net = net_of("maxmin");
	struct np_replay_app *a = app_of(pair, 4, 2), *b = app_of(fan, 4, 3);
	struct np_replay_job job[2] = { { .app = a, .node_of = own },
					{ .app = b, .node_of = other } };

	np_replay_finish(a, NULL);
	np_replay_finish(b, NULL);
	T_CHECK(!np_replay_run(&net, job, 2, false, NULL, NULL));
	T_CHECK(t_close(job[0].end_sec, 6, 1e-9));
	T_CHECK(t_close(job[1].end_sec, 3, 1e-9));
	net.param.fabric = 1;
	T_CHECK(!np_replay_run(&net, job, 2, false, NULL, NULL));
	/* from 2 s on b's last 100 bytes and a's message share one link */
	T_CHECK(t_close(job[1].end_sec, 4, 1e-9));
	T_CHECK(t_close(job[0].end_sec, 7, 1e-9));
	T_CHECK(job[0].runs == 1 && job[1].runs == 1);
	T_CHECK(!np_replay_run(&net, job, 2, true, NULL, NULL));
	T_CHECK(job[0].end_sec > 7 && job[0].runs == 1 && job[1].runs > 1);
	T_CHECK(t_close(job[1].end_sec, 4, 1e-9));
	np_replay_app_free(a);
	np_replay_app_free(b);
}

/* A program that takes no time does not repeat for ever. */
T_TEST("programs that do nothing end")
{
	const struct line l[] = { COMPUTE(0, 0, -1) };
	struct np_replay_net net = net_of("none");
	struct np_replay_app *a = app_of(l, 1, 1), *b = app_of(NULL, 0, 1);
	struct np_replay_app *c = app_of(pair, 4, 2);
	struct np_replay_job job[3] = { { .app = a, .node_of = own },
					{ .app = b, .node_of = own },
					{ .app = c, .node_of = own } };

	np_replay_finish(a, NULL);
	np_replay_finish(b, NULL);
	np_replay_finish(c, NULL);
	T_CHECK(!np_replay_run(&net, job, 3, true, NULL, NULL));
	T_CHECK(job[0].end_sec == 0 && job[1].end_sec == 0);
	T_CHECK(t_close(job[2].end_sec, 6, 1e-9));
	np_replay_app_free(a);
	np_replay_app_free(b);
	np_replay_app_free(c);
}

/* Both tasks receive first. */
static const struct line deadlock[] = {
	RECV(0, -1),
	SEND(0, 100, 2, 0),
	RECV(1, -1),
	SEND(1, 100, 0, 2),
};
static const struct line circle[] = { COMPUTE(0, 1, 1), COMPUTE(0, 1, 0) };

static const struct {
	const char *name, *says;
	const struct line *l;
	size_t n;
	double latency, bandwidth;
	uint32_t nodes;
	int rc;
} refused[] = {
	{ "both receive first",
	  "deadlock after 0 s: task 0 waits to "
	  "receive from task 1",
	  deadlock, 4, 0, 100, 8, -EDEADLK },
	{ "a cycle", "deadlock after 0 s", circle, 2, 0, 100, 8, -EDEADLK },
	{ "a latency below 0", "a latency of -1 s", pair, 4, -1, 100, 8,
	  -EINVAL },
	{ "no bandwidth", "a bandwidth of 0 bytes a second", pair, 4, 0, 0, 8,
	  -EINVAL },
	{ "a node that is not there", "task 1 on node 1, expected 0 to 0", pair,
	  4, 0, 100, 1, -EINVAL },
};

T_TEST("deadlocks and invalid values are reported")
{
	struct np_replay_app *a = app_of(pair, 2, 3);
	struct np_err err = NP_ERR_INIT;
	struct np_replay_op op = { NP_REPLAY_COMPUTE, 3, 0, 0, 0 };
	uint32_t at;

	T_CHECK(np_replay_finish(a, &err) == -EINVAL);
	T_CHECK(strstr(err.text, "task 0: operation 1, a send, has no match"));
	T_CHECK(np_replay_add(a, &op, &at, &err) == -EINVAL);
	T_CHECK(strstr(err.text, "task 3, expected 0 to 2"));
	op = (struct np_replay_op){ NP_REPLAY_COMPUTE, 0, NAN, 0, 0 };
	T_CHECK(np_replay_add(a, &op, &at, &err) == -EINVAL);
	np_replay_app_free(a);
	T_EACH(r, refused) {
		struct np_replay_net net = net_of("maxmin");
		struct np_replay_job job = { .node_of = own };

		net.latency_sec = r->latency;
		net.bytes_per_sec = r->bandwidth;
		net.n_nodes = r->nodes;
		job.app = a = app_of(r->l, r->n, 2);
		np_replay_finish(a, NULL);
		T_ROW(r->name,
		      np_replay_run(&net, &job, 1, false, NULL, &err) == r->rc);
		T_ROW(r->name, strstr(err.text, r->says));
		np_replay_app_free(a);
	}
}

T_TEST("three ways to map tasks")
{
	static const uint32_t node[6] = { 0, 1, 2, 0, 1, 2 };
	static const uint32_t core[6] = { 0, 0, 1, 1, 2, 2 };
	uint32_t got[6], again[6], count[3] = { 0 };
	struct np_err err = NP_ERR_INIT;

	T_CHECK(!np_mapping_make(NP_MAPPING_NODE, 6, 3, 2, 0, got, NULL));
	T_CHECK(!memcmp(got, node, sizeof(node)));
	T_CHECK(!np_mapping_make(NP_MAPPING_CORE, 6, 3, 2, 0, got, NULL));
	T_CHECK(!memcmp(got, core, sizeof(core)));
	T_CHECK(!np_mapping_make(NP_MAPPING_RANDOM, 6, 3, 2, 5, got, NULL));
	T_CHECK(!np_mapping_make(NP_MAPPING_RANDOM, 6, 3, 2, 5, again, NULL));
	T_CHECK(!memcmp(got, again, sizeof(got)));
	for (int i = 0; i < 6; i++)
		count[got[i] < 3 ? got[i] : 0]++;
	T_CHECK(count[0] == 2 && count[1] == 2 && count[2] == 2);
	T_CHECK(np_mapping_make(NP_MAPPING_NODE, 7, 3, 2, 0, got, &err) ==
		-EINVAL);
	T_CHECK(strstr(err.text, "7 tasks, and 3 nodes of 2 cores"));
}

T_TEST("too many events end the simulation")
{
	struct np_replay_app *a = app_of(pair, NP_ARRAY_SIZE(pair), 2);
	struct np_replay_job job = { .app = a, .node_of = own };
	struct np_replay_net net = net_of("maxmin");
	struct np_err err = NP_ERR_INIT;

	T_CHECK(!np_replay_finish(a, NULL));
	net.max_events = 5; /* four operations and a message */
	T_CHECK(!np_replay_run(&net, &job, 1, false, NULL, NULL));
	net.max_events = 2;
	T_CHECK(np_replay_run(&net, &job, 1, false, NULL, &err) == -E2BIG &&
		!strcmp(err.text, "more than 2 events"));
	np_replay_app_free(a);
}
