#include "some_state.h"

#include <sys/stat.h>

#include "t.h"

char store[512];

void fresh_store(void)
{
	static int count;

	snprintf(store, sizeof(store), "%s/placed%d", t_tmpdir(), count++);
	T_CHECK(mkdir(store, 0755) == 0);
}

const char *path(const char *name)
{
	return t_text("%s/placement/%s", store, name);
}

void write_text(const char *name, const char *text)
{
	mkdir(path(""), 0755);
	t_write_text(path(name), text);
}

static struct np_state_cause cause = {
	.leaf = "leaf1",
	.other = 17,
	.other_app = "lmp",
	.victim = 17,
	.slowdown = 0.4,
};
struct np_state_job jobs[] = {
	{ .id = 20,
	  .array = 18,
	  .task = 4,
	  .uid = 1000,
	  .app = "fft",
	  .known = true,
	  .partition = "main",
	  .mode = "enforce",
	  .pending = true,
	  .n_nodes = 4,
	  .leaves = "leaf[2-3]",
	  .action = "restricted",
	  .applied = true,
	  .until = 1.7e9 + 0.25,
	  .held_sec = 12.5,
	  .text = "kept off 2 of 4 leaf switches",
	  .cause = &cause,
	  .n_causes = 1 },
	{ .id = 17, .uid = 1001, .start = 1.7e9 - 60 },
};
struct np_state_leaf leaves[] = {
	{ .name = "leaf0",
	  .n_nodes = 8,
	  .n_idle = 3,
	  .n_unavailable = 1,
	  .n_jobs = 2,
	  .n_known = 1,
	  .worst_slowdown = 0.125 },
	{ .name = "leaf1", .worst_slowdown = -0.01 },
};

struct np_state_denial denials[] = {
	{ .uid = 1000,
	  .app = "fft",
	  .n_jobs = 3,
	  .refuted = true,
	  .why = "it is quiet" },
	{ .uid = 0 },
};

struct np_state some_state(void)
{
	return (struct np_state){
		.date = 1.7e9,
		.interval_sec = 2,
		.cluster = "hpc",
		.slurm_version = "22.05.8",
		.netprof_version = "0.1.0",
		.controller = "ctl0",
		.mode = "enforce",
		.fabric = "of today",
		.trouble = "",
		.max_slowdown = 0.1,
		.max_hold_sec = 3600,
		.n_profiles = 7,
		.decide_sec = 0.001,
		.leaf = leaves,
		.n_leaves = 2,
		.job = jobs,
		.n_jobs = 2,
		.denial = denials,
		.n_denials = 2,
		.more_denied = 5,
	};
}

int save(void)
{
	struct np_state s = some_state();
	struct np_err err = NP_ERR_INIT;
	int rc = np_state_save(store, &s, 0644, &err);

	T_ROW("a failure comes with a line", !rc == !err.text[0]);
	return rc;
}

int load(struct np_state *s, struct np_err *err)
{
	int rc;

	*err = (struct np_err)NP_ERR_INIT;
	rc = np_state_load(store, s, err);
	T_ROW("a failure comes with a line", !rc == !err->text[0]);
	return rc;
}

int load_rc(void)
{
	struct np_state s;
	struct np_err err;
	int rc = load(&s, &err);

	if (!rc)
		np_state_free(&s);
	return rc;
}

bool same(const char *a, const char *b)
{
	return a && !strcmp(a, b ? b : "");
}
