#include "t.h"

#include "np_replay.h"

#define TASKS 8

static int parse(const char *text, struct np_replay_app **a, struct np_err *err)
{
	return np_workload_parse(text, strlen(text), "x.workload", a, err);
}

/* 1 MiB takes a second; each task has a node of its own. */
static int play(const struct np_replay_app *a, struct np_replay_task *task,
		double *end_sec)
{
	static const uint32_t own[TASKS] = { 0, 1, 2, 3, 4, 5, 6, 7 };
	const struct np_replay_net net = {
		.model = np_sharing_find("maxmin", NULL),
		.param = NP_SHARING_DEFAULTS,
		.bytes_per_sec = 1 << 20,
		.n_nodes = TASKS,
	};
	struct np_replay_job job = { .app = a, .node_of = own, .task = task };
	int rc = np_replay_run(&net, &job, 1, false, NULL, NULL);

	*end_sec = job.end_sec;
	return rc;
}

static const struct {
	const char *name, *text;
	size_t n_ops;
	double end_sec;
} good[] = {
	{ "one task computes", "tasks 1\n0: compute 2s\nall: compute 500ms", 2,
	  2.5 },
	{ "a message", "tasks 2\n0: send 1 2M\n1: recv 0", 2, 2 },
	{ "in the usual size", "tasks 2\n1: recv 0\n0: send 1", 2, 1 },
	{ "in another usual size", "tasks 2\nsize 4M\n1: recv 0\n0: send 1", 2,
	  4 },
	{ "messages match in order",
	  "tasks 2\n0: send 1 1M\n0: send 1 2M\n1: recv 0\n1: compute 1s\n"
	  "1: recv 0",
	  5, 4 },
	{ "a ring", "tasks 4\nall: exchange +1", 12, 1 },
	{ "a ring the other way", "tasks 4\nall: exchange -1 3M", 12, 3 },
	{ "a pair that exchanges", "tasks 4\n1: exchange 2\n2: exchange 1", 6,
	  1 },
	{ "computing while a message arrives",
	  "tasks 2\n1: irecv 0\n1: compute 3s\n1: wait\n0: isend 1 2M\n"
	  "0: wait",
	  5, 3 },
	{ "waiting for nothing", "tasks 2\nall: wait", 0, 0 },
	{ "all to all", "tasks 4\nall: alltoall 1M", 28, 3 },
	{ "all to all of some", "tasks 4\n0-1,3: alltoall 1M", 15, 2 },
	{ "a barrier",
	  "tasks 3\n0: compute 1s\n2: compute 3s\n0,2: barrier\n"
	  "all: compute 1s",
	  6, 4 },
	{ "a barrier of all, twice",
	  "tasks 3\n1: compute 2s\nall: barrier\nall: barrier\n2: compute 1s",
	  4, 3 },
	{ "repeats in each other",
	  "tasks 2\nrepeat 3 # thrice\nall: compute 1s\nrepeat 2\n"
	  "0: send 1\n1: recv 0\nend\nend\nall: compute 1s",
	  20, 10 },
};

T_TEST("programs are read and take the expected time")
{
	T_EACH(r, good) {
		struct np_replay_app *a = NULL;
		struct np_err err = NP_ERR_INIT;
		double end_sec = -1;

		T_ROW(r->name, !parse(r->text, &a, &err));
		T_ROW(err.text, !*err.text);
		if (!a)
			continue;
		T_ROW(r->name, a->n_ops == r->n_ops);
		T_ROW(r->name, !play(a, NULL, &end_sec));
		T_ROW(r->name, t_close(end_sec, r->end_sec, 1e-9));
		np_replay_app_free(a);
	}
}

static const struct {
	const char *name, *text, *says;
	int rc;
} refused[] = {
	{ "an empty file", "", "x.workload: contains no program", -EINVAL },
	{ "an event before tasks", "0: compute 1s",
	  "x.workload:1: \"0:\": expected tasks N first", -EINVAL },
	{ "no tasks", "tasks 0", "expected tasks N once", -EINVAL },
	{ "tasks twice", "tasks 1\ntasks 1", ":2: expected tasks N once",
	  -EINVAL },
	{ "too many tasks", "tasks 4097",
	  "\"4097\": expected a whole number, "
	  "at most 4096",
	  -EINVAL },
	{ "tasks of what", "tasks", "\"\": expected a whole number", -EINVAL },
	{ "an unknown word", "tasks 1\nsleep 1s",
	  ":2: \"sleep\": expected size, repeat, end or", -EINVAL },
	{ "an unknown event", "tasks 1\nall: sleep 1s",
	  "\"sleep\": expected compute, send", -EINVAL },
	{ "no event", "tasks 1\nall:", "\"\": expected compute", -EINVAL },
	{ "a task out of range", "tasks 2\n2: wait",
	  "tasks \"2\": expected all, or numbers", -EINVAL },
	{ "a range the wrong way", "tasks 4\n3-1: wait", "tasks \"3-1\"",
	  -EINVAL },
	{ "a list of nothing", "tasks 4\n: wait", "tasks \"\"", -EINVAL },
	{ "a list with a hole", "tasks 4\n0,x: wait", "expected all", -EINVAL },
	{ "a time without a unit", "tasks 1\n0: compute 3",
	  "\"3\": expected a time", -EINVAL },
	{ "words after the end", "tasks 1\n0: compute 3s now",
	  "\"now\": unexpected argument", -EINVAL },
	{ "a peer out of range", "tasks 2\n0: send 2",
	  "peer \"2\": expected a task below 2", -EINVAL },
	{ "a peer that is no number", "tasks 2\n0: send +", "peer \"+\"",
	  -EINVAL },
	{ "no peer", "tasks 2\n0: recv", "peer \"\"", -EINVAL },
	{ "a size that is no number", "tasks 2\n0: send 1 many",
	  "\"many\": expected bytes", -EINVAL },
	{ "a receive with a size", "tasks 2\n0: recv 1 4K", "\"4K\": unexp",
	  -EINVAL },
	{ "a send that is not received",
	  "tasks 3\n0: send 1\n0: send 2\n"
	  "1: recv 0",
	  ":3: task 0 sends more messages to task 2 than"
	  " that task receives",
	  -EINVAL },
	{ "a receive that is not sent",
	  "tasks 3\n0: send 1\n1: recv 0\n"
	  "1: recv 0",
	  ":4: task 0 sends fewer messages to task 1 than"
	  " that task receives",
	  -EINVAL },
	{ "a receive from another one", "tasks 3\n0: send 1\n1: recv 2",
	  ":2: task 0 sends more messages to task 1 than"
	  " that task receives",
	  -EINVAL },
	{ "an end of nothing", "tasks 1\nend", "end: expected after repeat",
	  -EINVAL },
	{ "a repeat without end", "tasks 1\nrepeat 2\nall: wait",
	  "repeat in line 2 has no end", -EINVAL },
	{ "never", "tasks 1\nrepeat 0\nend", "expected repeat N, 1 or",
	  -EINVAL },
	{ "too often", "tasks 1\nrepeat 1000001\nend", "at most 1000000",
	  -EINVAL },
	{ "too deep",
	  "tasks 1\nrepeat 1\nrepeat 1\nrepeat 1\nrepeat 1\n"
	  "repeat 1\nrepeat 1\nrepeat 1\nrepeat 1\nrepeat 1\n",
	  ":10: repeat: nested more than 8 deep", -E2BIG },
	{ "too long, doing nothing",
	  "tasks 4096\nrepeat 1000000\nall: wait\n"
	  "end",
	  "more than 67108864 steps", -E2BIG },
	{ "too long without an event",
	  "tasks 1\nrepeat 1000000\n"
	  "repeat 1000000\nend\nend",
	  "more than 67108864 steps", -E2BIG },
	{ "too much", "tasks 2\nrepeat 1000000\nall: exchange +1\nend",
	  ":3: more than 2097152 operations", -E2BIG },
};

T_TEST("invalid programs are rejected with their line")
{
	T_EACH(r, refused) {
		struct np_err err = NP_ERR_INIT;
		struct np_replay_app *a;

		T_ROW(r->name, parse(r->text, &a, &err) == r->rc);
		T_ROW(r->name, strstr(err.text, r->says));
	}
}

T_TEST("only regular files are read")
{
	struct np_err err = NP_ERR_INIT;
	struct np_replay_app *a;

	T_CHECK(np_workload_read("/dev/zero", &a, &err) == -EINVAL);
	T_CHECK(strstr(err.text, "/dev/zero: not a regular file"));
	t_sh(t_tmpdir(), "printf 'tasks 2\\nall: compute 1s\\n' >w.workload");
	T_CHECK(!np_workload_read(t_path("w.workload"), &a, &err));
	T_CHECK(a->n_tasks == 2 && a->n_ops == 2);
	T_CHECK(a->op[1].task == 1);
	np_replay_app_free(a);
}
