#include "t.h"
#include "np_launch.h"

static int parse(struct np_args *args, struct np_launch_request *o,
		 struct np_err *err)
{
	T_CHECK(!args->rc && !args->argv[args->n]);
	return np_launch_from_argv((int)args->n, args->argv, o, err);
}

static struct np_launch_request example(void)
{
	struct np_launch_request o = {
		.job_id = 12,
		.step_id = 3,
		.het_component = -1,
		.n_tasks = 8,
		.het_job_id = 9,
		.launcher = true,
		.runner = 77,
		.app = "lammps",
		.level = "P4:M10:B250us",
		.rail = "rail1",
		.executable = "/opt/my prog/lmp",
		.fingerprint = "0123456789abcdef",
		.srun = "/usr/bin/srun",
		.cluster = "west",
		.cpus_per_task = 2,
		.cpu_bind = "map_cpu:0,2",
		.setting = { "Store=/a b", "NetDevices=eth0" },
		.n_settings = 2,
	};

	return o;
}

T_TEST("an order survives the command line")
{
	struct np_launch_request o = example(), got;
	struct np_err err = NP_ERR_INIT;
	struct np_args args;

	np_launch_to_args(&o, "/x/netprof-collector", &args);
	T_CHECK(!strcmp(args.argv[0], "/x/netprof-collector"));
	T_CHECK(parse(&args, &got, &err) == 0);
	T_CHECK(got.job_id == 12 && got.step_id == 3 && got.n_tasks == 8);
	T_CHECK(got.het_component == -1 && got.het_job_id == 9);
	T_CHECK(got.launcher && got.runner == 77);
	T_CHECK(!strcmp(got.app, o.app) && !strcmp(got.level, o.level) &&
		!strcmp(got.rail, o.rail));
	T_CHECK(!strcmp(got.executable, o.executable));
	T_CHECK(!strcmp(got.fingerprint, o.fingerprint));
	T_CHECK(!strcmp(got.srun, o.srun));
	T_CHECK(!strcmp(got.cluster, o.cluster));
	T_CHECK(got.cpus_per_task == 2 && !strcmp(got.cpu_bind, o.cpu_bind));
	T_CHECK(got.n_settings == 2 && !strcmp(got.setting[0], "Store=/a b"));
	np_args_free(&args);
}

T_TEST("the choice of a level can be left to the collector")
{
	struct np_launch_request o = example(), got;
	struct np_args args;

	strcpy(o.level, NP_LAUNCH_LEVEL_AUTO);
	np_launch_to_args(&o, "collector", &args);
	T_CHECK(parse(&args, &got, NULL) == 0);
	T_CHECK(!strcmp(got.level, NP_LAUNCH_LEVEL_AUTO));
	np_args_free(&args);
}

T_TEST("the largest order fits")
{
	struct np_launch_request o = example(), got;
	char *long_setting = malloc(5000);
	struct np_args args;

	memset(long_setting, 'x', 4999);
	long_setting[4999] = '\0';
	memset(o.app, 'a', NP_APP_MAX);
	o.app[NP_APP_MAX] = '\0';
	memset(o.srun, 's', sizeof(o.srun) - 1);
	o.job_id = o.step_id = o.n_tasks = UINT32_MAX;
	o.het_component = UINT32_MAX;
	for (o.n_settings = 0; o.n_settings < NP_LAUNCH_SETTINGS;)
		o.setting[o.n_settings++] = long_setting;
	np_launch_to_args(&o, "collector", &args);
	T_CHECK(parse(&args, &got, NULL) == 0);
	T_CHECK(got.n_settings == NP_LAUNCH_SETTINGS);
	T_CHECK(strlen(got.setting[NP_LAUNCH_SETTINGS - 1]) == 4999);
	np_args_free(&args);
	free(long_setting);
}

static const struct {
	const char *name;
	const char *argv[6];
	const char *why;
} bad[] = {
	{ "by hand", { "collector" }, "by hand" },
	{ "no such option", { "collector", "--nope=1" }, "versions" },
	{ "a job that is no number", { "collector", "--job=x" }, "--job=x" },
	{ "a negative job", { "collector", "--job=-4" }, "--job=-4" },
	{ "a name with a slash", { "collector", "--app=../x" }, "../x" },
	{ "a word too many",
	  { "collector", "--job=1", "--app=a", "--srun=s", "more" },
	  "by hand" },
};

T_TEST("what is no order is refused in words")
{
	T_EACH(r, bad) {
		struct np_err err = NP_ERR_INIT;
		struct np_args args = { .n = 0 };
		struct np_launch_request o;

		for (size_t k = 0; r->argv[k]; k++)
			np_args_add(&args, "%s", r->argv[k]);
		T_ROW(r->name, parse(&args, &o, &err) == -EINVAL &&
				       strstr(err.text, r->why));
		np_args_free(&args);
	}
}
