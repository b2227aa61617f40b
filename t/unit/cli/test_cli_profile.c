/* The calibrations and idle runs that profiles are made with, each read once. */
#include "t.h"
#include "cli_profile.h"
#include "np_fabric_store.h"
#include "some_record.h"
#include "some_store.h"

#define DATE 1.7e9
#define DAY 86400.0

static void calibrate(struct cli_store *store, const char *cluster,
		      const char *rail, const char *transport, int day)
{
	char text[512];

	snprintf(
		text, sizeof(text),
		"{\"format\":\"netprof-pairs\",\"schema\":1,\"programs\":[],"
		"\"levels\":[\"c1\",\"c4\"],\"scope\":\"leaf\",\"cluster\":\"%s\","
		"\"rail\":\"%s\",\"transport\":\"%s\",\"date\":%.0f,"
		"\"message_bytes\":1024,\"period_sec\":0.1}",
		cluster, rail, transport, DATE + day * DAY);
	T_CHECK(!np_fabric_store_save(store->store, cluster, DATE + day * DAY,
				      text, NULL));
}

/* Which day's calibration is used for a run; -1: none. */
static int day_of(struct cli_store *store, const char *app, const char *cluster,
		  const char *rail, const char *transport)
{
	struct np_record *run = t_run_alone(10);
	struct np_runs runs = { .run = &run, .n = 1 };
	const struct np_calibration *calibration;
	int day;

	strcpy(runs.app, app);
	free(run->cluster);
	run->cluster = strdup(cluster);
	free(run->probe.transport);
	run->probe.transport = strdup(transport);
	run->leaves[0].rail = rail ? strdup(rail) : NULL;
	calibration = cli_calibration_of(store, &runs);
	day = calibration ? (int)((calibration->date - DATE) / DAY) : -1;
	np_record_free(run);
	return day;
}

static const struct {
	const char *name, *app, *cluster, *rail, *transport;
	int day;
} rows[] = {
	{ "of a rail", "fft", "hpc", "r0", "tcp/eth0", 1 },
	{ "of another rail of these nodes", "lmp", "hpc", "r1", "tcp/eth0", 2 },
	{ "of a transport", "fft", "hpc", NULL, "tcp/eth0", 1 },
	{ "of another transport", "lmp", "hpc", NULL, "tcp/eth1", 2 },
	{ "a rail without one", "fft", "hpc", "r2", "tcp/eth0", 2 },
	{ "another cluster", "fft", "xpc", "r0", "tcp/eth0", 3 },
	{ "a cluster without one", "fft", "ypc", "r0", "tcp/eth0", -1 },
	{ "the idle network", "idle", "hpc", "r0", "tcp/eth0", -1 },
};

T_TEST("a calibration is read once for all profiles of its fabric")
{
	struct cli_store store = { .store = t_store_fresh() };

	calibrate(&store, "hpc", "r0", "tcp/eth0", 1);
	calibrate(&store, "hpc", "r1", "tcp/eth1", 2);
	calibrate(&store, "xpc", "r0", "tcp/eth0", 3);
	for (int again = 0; again < 2; again++) {
		T_EACH(r, rows)
			T_ROW(r->name, day_of(&store, r->app, r->cluster,
					      r->rail, r->transport) == r->day);
		/* The second time the files are not there. */
		t_sh(t_store_dir, "rm -rf fabric");
	}
	for (int i = 0; i < CLI_CALIBRATIONS; i++)
		T_CHECK(day_of(&store, "fft", t_text("cluster%d", i), NULL,
			       "tcp/eth0") == -1);
	T_ROW("only so many are remembered",
	      day_of(&store, "fft", "hpc", "r0", "tcp/eth0") == -1);
	cli_store_close(&store);
}

static void save_run(struct cli_store *store, const char *app, uint32_t job_id)
{
	struct np_record *run = t_run_alone(10);

	strcpy(run->app, app);
	run->uid = geteuid();
	run->job_id = job_id;
	T_CHECK(!np_store_save(store->store, NP_STORE_USER, run, NULL));
	np_record_free(run);
}

T_TEST("idle runs are read once for all profiles of a user")
{
	struct cli_store store = { .store = t_store_fresh() };
	struct np_run_summary profile;
	struct np_runs runs;

	save_run(&store, NP_IDLE_APP, 1);
	save_run(&store, "lmp", 2);
	T_CHECK(!cli_runs_load(&store, NP_STORE_USER, geteuid(), "lmp", &runs,
			       NULL));
	for (int i = 0; i < 2; i++) {
		cli_profile_make(&store, &runs, NULL, &profile);
		T_CHECK(profile.idle.n_runs == 1);
		np_run_summary_free(&profile);
		T_CHECK(i || system(t_text("rm -r '%s/users/%u/idle'",
					   t_store_dir, geteuid())) == 0);
	}
	np_runs_free(&runs);
	cli_store_close(&store);
}
