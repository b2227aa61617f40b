#include "t.h"
#include "np_order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int count(char **argv)
{
	int n = 0;

	while (argv[n])
		n++;
	return n;
}

static struct np_order example(void)
{
	struct np_order o = {
		.job_id = 12, .step_id = 3, .array_job_id = 11,
		.array_task_id = 4, .het_component = -1, .n_tasks = 8,
		.het_job_id = 9, .launcher = true, .runner = 77,
		.app = "lammps", .level = "P4:M10:B250us",
		.executable = "/opt/my prog/lmp", .fingerprint = "0123456789abcdef",
		.srun = "/usr/bin/srun",
		.setting = { "Store=/a b", "NetDevices=eth0" }, .n_settings = 2,
	};

	return o;
}

static void test_round_trip(void)
{
	struct np_order o = example(), got;
	char **argv = np_order_to_argv(&o, "/x/netprof-attend");
	struct np_err err = NP_ERR_INIT;

	T_CHECK(argv && !strcmp(argv[0], "/x/netprof-attend"));
	T_CHECK(np_order_from_argv(count(argv), argv, &got, &err) == 0);
	T_CHECK(got.job_id == 12 && got.step_id == 3 && got.n_tasks == 8);
	T_CHECK(got.array_job_id == 11 && got.array_task_id == 4);
	T_CHECK(got.het_component == -1 && got.het_job_id == 9);
	T_CHECK(got.launcher && got.runner == 77);
	T_CHECK(!strcmp(got.app, o.app) && !strcmp(got.level, o.level));
	T_CHECK(!strcmp(got.executable, o.executable));
	T_CHECK(!strcmp(got.fingerprint, o.fingerprint));
	T_CHECK(!strcmp(got.srun, o.srun));
	T_CHECK(got.n_settings == 2 && !strcmp(got.setting[0], "Store=/a b"));
	free(argv);
}

static void test_a_level_can_be_left_open(void)
{
	struct np_order o = example(), got;
	char **argv;

	strcpy(o.level, NP_ORDER_AUTO);
	argv = np_order_to_argv(&o, "attend");
	T_CHECK(np_order_from_argv(count(argv), argv, &got, NULL) == 0);
	T_CHECK(!strcmp(got.level, NP_ORDER_AUTO));
	free(argv);
}

static void test_a_full_order_fits(void)
{
	struct np_order o = example(), got;
	char *long_setting = malloc(5000);
	char **argv;

	memset(long_setting, 'x', 4999);
	long_setting[4999] = '\0';
	memset(o.app, 'a', NP_APP_MAX);
	o.app[NP_APP_MAX] = '\0';
	memset(o.srun, 's', sizeof(o.srun) - 1);
	o.job_id = o.step_id = o.n_tasks = UINT32_MAX;
	o.array_job_id = o.array_task_id = o.het_component = UINT32_MAX;
	for (o.n_settings = 0; o.n_settings < NP_ORDER_SETTINGS;)
		o.setting[o.n_settings++] = long_setting;
	argv = np_order_to_argv(&o, "attend");
	T_CHECK(np_order_from_argv(count(argv), argv, &got, NULL) == 0);
	T_CHECK(got.n_settings == NP_ORDER_SETTINGS);
	T_CHECK(strlen(got.setting[NP_ORDER_SETTINGS - 1]) == 4999);
	free(argv);
	free(long_setting);
}

static const struct {
	const char *name;
	char *argv[6];
	const char *why;
} bad[] = {
	{ "by hand", { "attend" }, "by hand" },
	{ "no such option", { "attend", "--nope=1" }, "versions" },
	{ "a job that is no number", { "attend", "--job=x" }, "--job=x" },
	{ "a negative job", { "attend", "--job=-4" }, "--job=-4" },
	{ "a name with a slash", { "attend", "--app=../x" }, "../x" },
	{ "a word too many",
	  { "attend", "--job=1", "--app=a", "--srun=s", "more" }, "by hand" },
};

static void test_refuses(void)
{
	for (size_t i = 0; i < NP_ARRAY_SIZE(bad); i++) {
		struct np_err err = NP_ERR_INIT;
		char **argv = (char **)bad[i].argv;
		struct np_order o;

		T_ROW(bad[i].name,
		      np_order_from_argv(count(argv), argv, &o, &err) ==
		      -EINVAL && strstr(err.text, bad[i].why));
	}
}

static const struct t_case cases[] = {
	{ "an order survives the command line", test_round_trip },
	{ "the largest order fits", test_a_full_order_fits },
	{ "what is no order is refused in words", test_refuses },
	{ "the choice of a level can be left to the attendant",
	  test_a_level_can_be_left_open },
	{ NULL, NULL },
};
T_SUITE(order, cases)
