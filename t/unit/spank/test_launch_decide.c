#include "t.h"
#include "np_launch.h"

/* clang-format off */
#define ARGV(...) (char *[]){ __VA_ARGS__, NULL }
/* clang-format on */

static const struct np_step_context plain = {
	.requested = true, .srun = "/usr/bin/srun", .step = {
		.job_id = 7, .n_nodes = 4, .n_tasks = 8, .het_component = -1,
	},
};

static int count(char **argv)
{
	int n = 0;

	while (argv && argv[n])
		n++;
	return n;
}

/* clang-format off */
static const struct {
	const char *name, *app, *env_app, *job_name, *want;
	char *argv[5];
} names[] = {
	{ "the option's argument wins", "mine", "env", "job", "mine",
	  { "/bin/lmp" } },
	{ "then NETPROF_APP", NULL, "env", "job", "env", { "/bin/lmp" } },
	{ "then the executable", NULL, NULL, "job", "lmp", { "/bin/lmp" } },
	{ "characters that no name has are replaced", NULL, NULL, "job",
	  "my_prog_", { "./my prog!" } },
	{ "a script run by an interpreter names itself", NULL, NULL, "job",
	  "solve.py", { "python3", "dir/solve.py" } },
	{ "an inline script has the job's name", NULL, NULL, "job", "job",
	  { "bash", "-c", "true" } },
	{ "env with a variable has the job's name", NULL, NULL, "job", "job",
	  { "env", "A=1", "lmp" } },
	{ "Open MPI's daemon has the job's name", NULL, NULL, "my-job",
	  "my-job", { "orted", "-mca", "x" } },
	{ "without any other, the launcher's own name", NULL, NULL, NULL,
	  "orted", { "orted" } },
	{ "a hidden file gets another first letter", NULL, NULL, NULL, "_hidden",
	  { "./.hidden" } },
	{ "an empty NETPROF_APP is none", NULL, "", "job", "lmp", { "lmp" } },
};
/* clang-format on */

T_TEST("an application's name comes from the best source")
{
	T_EACH(r, names) {
		struct np_step_context f = plain;
		char app[NP_APP_MAX + 1] = "";

		f.app = r->app;
		f.env_app = r->env_app;
		f.job_name = r->job_name;
		f.argv = (char **)r->argv;
		f.argc = count(f.argv);
		T_ROW(r->name, np_launch_app_name(&f, app, NULL) == 0 &&
				       !strcmp(app, r->want));
	}
}

static const struct {
	const char *name;
	bool side, requested, interactive;
	const char *env_app;
	uint32_t n_nodes;
	enum np_launch_decision want;
	const char *why; /* part of the reason */
} plans[] = {
	{ "a flagged step on two nodes is measured", false, true, false, NULL,
	  2, NP_LAUNCH_START, "" },
	{ "NETPROF_APP flags a step, too", false, false, false, "lmp", 2,
	  NP_LAUNCH_START, "" },
	{ "an unflagged step is left alone without a word", false, false, false,
	  NULL, 2, NP_LAUNCH_IGNORE, "" },
	{ "an empty NETPROF_APP flags nothing", false, false, false, "", 2,
	  NP_LAUNCH_IGNORE, "" },
	{ "our own steps are not measured in turn", true, true, false, "x", 2,
	  NP_LAUNCH_IGNORE, "" },
	{ "one node: said why", false, true, false, NULL, 1, NP_LAUNCH_SKIP,
	  "one node" },
	{ "one node of a component: others may have more", false, true, false,
	  NULL, 1, NP_LAUNCH_START, "" },
	{ "salloc's shell: said why", false, true, true, NULL, 2,
	  NP_LAUNCH_SKIP, "salloc" },
	{ "mpirun's daemon on one node has mpirun next to it", false, true,
	  false, NULL, 1, NP_LAUNCH_START, "" },
	{ "a bad NETPROF_APP: said why", false, false, false, "a/b", 2,
	  NP_LAUNCH_SKIP, "a/b" },
};

T_TEST("what is measured and what is not, with the reason")
{
	T_EACH(r, plans) {
		struct np_err why = NP_ERR_INIT;
		struct np_step_context f = plain;

		f.helper_step = r->side;
		f.requested = r->requested;
		f.interactive = r->interactive;
		f.env_app = r->env_app;
		f.step.n_nodes = r->n_nodes;
		f.argv = strstr(r->name, "mpirun") ? ARGV("orted") :
						     ARGV("/bin/lmp");
		f.argc = 1;
		f.heterogeneous = strstr(r->name, "component") != NULL;
		T_ROW(r->name, np_launch_decide(&f, &why) == r->want &&
				       strstr(why.text, r->why));
	}
}

static void fingerprint(char **argv, uint32_t nodes, uint32_t tasks,
			char hex[20])
{
	struct np_step_context f = plain;

	f.argv = argv;
	f.argc = count(argv);
	f.step.n_nodes = nodes;
	f.step.n_tasks = tasks;
	np_launch_fingerprint(&f, hex);
}

T_TEST("equal workloads have equal fingerprints")
{
	static const struct {
		const char *name;
		char *argv[4];
		uint32_t nodes, tasks;
		bool same;
	} rows[] = {
		{ "the same again", { "lmp", "-in", "x" }, 4, 8, true },
		{ "another argument", { "lmp", "-in", "y" }, 4, 8, false },
		{ "other word limits", { "lmp", "-inx" }, 4, 8, false },
		{ "other nodes", { "lmp", "-in", "x" }, 8, 8, false },
		{ "other tasks", { "lmp", "-in", "x" }, 4, 4, false },
	};
	char base[20], hex[20];

	fingerprint(ARGV("lmp", "-in", "x"), 4, 8, base);
	T_CHECK(strlen(base) == 16);
	T_EACH(r, rows) {
		fingerprint((char **)r->argv, r->nodes, r->tasks, hex);
		T_ROW(r->name, !strcmp(base, hex) == r->same);
	}
	fingerprint(ARGV("orted", "-mca", "ess_base_jobid", "17"), 4, 8, base);
	fingerprint(ARGV("orted", "-mca", "ess_base_jobid", "18"), 4, 8, hex);
	T_ROW("mpirun in another job", !strcmp(base, hex));
}

static const struct {
	const char *name, *type, *list, *cpus, *bind;
	uint32_t n;
	bool same; /* a workload as without */
} bindings[] = {
	{ "nothing", NULL, NULL, NULL, "", 0, true },
	{ "empty texts", "", "", "", "", 0, true },
	{ "a binding", "cores", "cores", NULL, "cores", 0, false },
	{ "a list", "map_cpu:", "0,2", NULL, "map_cpu:0,2", 0, false },
	{ "another list", "map_cpu:", "0,4", NULL, "map_cpu:0,4", 0, false },
	{ "processors", NULL, NULL, "4", "", 4, false },
};

T_TEST("other processors are other workloads")
{
	char hex[NP_ARRAY_SIZE(bindings)][20];

	for (size_t i = 0; i < NP_ARRAY_SIZE(bindings); i++) {
		struct np_step_context f = plain;

		f.argv = ARGV("/bin/lmp");
		f.argc = 1;
		f.bind_type = bindings[i].type;
		f.bind_list = bindings[i].list;
		f.cpus_per_task = bindings[i].cpus;
		T_CHECK(np_launch_decide(&f, NULL) == NP_LAUNCH_START);
		T_ROW(bindings[i].name,
		      !strcmp(f.step.cpu_bind, bindings[i].bind));
		T_ROW(bindings[i].name, f.step.cpus_per_task == bindings[i].n);
		strcpy(hex[i], f.step.fingerprint);
		for (size_t k = 0; k < i; k++)
			T_ROW(bindings[i].name,
			      !strcmp(hex[i], hex[k]) ==
				      (bindings[i].same && bindings[k].same));
	}
}

T_TEST("site settings come first, the user's option last")
{
	char *settings[] = { "Store=/s", "Period=1s" };
	struct np_step_context f = plain;

	f.setting = settings;
	f.n_settings = 2;
	f.period = "Period=10ms";
	strcpy(f.step.level, "c4");
	f.argv = ARGV("lmp");
	f.argc = 1;
	T_CHECK(np_launch_decide(&f, NULL) == NP_LAUNCH_START);
	T_CHECK(f.step.n_settings == 3);
	T_CHECK(!strcmp(f.step.setting[0], "Store=/s"));
	/* the user's wish comes last, and the last one counts */
	T_CHECK(!strcmp(f.step.setting[2], "Period=10ms"));
	T_CHECK(!strcmp(f.step.level, "c4"));
	T_CHECK(!strcmp(f.step.srun, "/usr/bin/srun"));
}

T_TEST("a program ends with its srun, or with the mpirun of that")
{
	struct np_step_context f = plain;

	f.pid = 12;
	f.parent = 11;
	f.argv = ARGV("lmp");
	f.argc = 1;
	T_CHECK(np_launch_decide(&f, NULL) == NP_LAUNCH_START);
	T_CHECK(f.step.runner == 12);
	f.argv = ARGV("orted");
	T_CHECK(np_launch_decide(&f, NULL) == NP_LAUNCH_START);
	T_CHECK(f.step.runner == 11);
}

T_TEST("too many settings are refused in words")
{
	char *settings[NP_LAUNCH_SETTINGS + 1];
	struct np_err why = NP_ERR_INIT;
	struct np_step_context f = plain;

	for (size_t i = 0; i < NP_ARRAY_SIZE(settings); i++)
		settings[i] = "Period=1s";
	f.setting = settings;
	f.n_settings = NP_LAUNCH_SETTINGS + 1;
	f.argv = ARGV("lmp");
	f.argc = 1;
	T_CHECK(np_launch_decide(&f, &why) == NP_LAUNCH_SKIP);
	T_CHECK(strstr(why.text, "plugstack.conf") != NULL);
}
