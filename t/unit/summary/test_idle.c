#include "t.h"
#include "np_profile.h"
#include "some_record.h"

#define NOW 1.8e9
#define DAY 86400.0

static struct np_record *new_run(const char *source, unsigned probes,
				 double base_sec, double days_ago)
{
	struct np_record *r = np_record_new();
	struct t_rng g = { 11 };

	strcpy(r->app, NP_IDLE_APP);
	r->cluster = strdup("hpc");
	r->source = source ? strdup(source) : NULL;
	r->start = NOW - days_ago * DAY - 30;
	r->end = r->start + 30;
	r->state = NP_RUN_COMPLETE;
	r->exit_code = 0;
	r->probe.message_bytes = 1024;
	r->probe.period_sec = 0.1;
	r->probe.transport = strdup("tcp/eth0");
	t_add_latency(np_record_leaf(r, "leaf0"), &g, (int)probes, base_sec,
		      30);
	return r;
}

/* One idle run that there is, and whether quiet moments are wanted in addition. */
static const struct {
	const char *name;
	const char *source;
	unsigned probes; /* 0: there is no run */
	double days_ago, period_sec;
	bool is_wanted;
} rows[] = {
	{ "nothing is known", NULL, 0, 0, 0, true },
	{ "a run made to measure the idle network", NULL, 300, 400, 0.1,
	  false },
	{ "a run that was too short", NULL, 29, 1, 0.1, true },
	{ "a run with another period", NULL, 300, 1, 0.02, true },
	{ "few quiet moments", "quiet", 250, 1, 0.1, true },
	{ "quiet moments enough", "quiet", 300, 1, 0.1, false },
	{ "quiet moments of long ago", "quiet", 300, 31, 0.1, true },
	{ "a calibration", "calibration", 300, 1, 0.1, false },
};

T_TEST("quiet moments are kept where nothing better is known")
{
	T_EACH(r, rows) {
		struct np_record *like = new_run("quiet", 50, 1e-5, 0);
		struct np_record *run[1];
		struct np_runs runs = { .app = NP_IDLE_APP, .run = run };

		if (r->probes) {
			run[runs.n++] = new_run(r->source, r->probes, 1e-5,
						r->days_ago);
			run[0]->probe.period_sec = r->period_sec;
		}
		T_ROW(r->name,
		      np_idle_is_wanted(&runs, like, NOW) == r->is_wanted);
		while (runs.n)
			np_record_free(run[--runs.n]);
		np_record_free(like);
	}
}

/* Which runs the idle network is known from. */
T_TEST("an idle run that was made for it comes before quiet moments")
{
	struct np_record *run[] = {
		new_run("quiet", 40, 1e-5, 1),
		new_run("quiet", 40, 3e-5, 2),
		new_run("quiet", 40, 1.2e-5, 3),
		new_run(NULL, 60, 4e-5, 9),
	};
	struct np_runs runs = { .app = NP_IDLE_APP, .run = run, .n = 3 };
	struct np_run_summary p;

	T_CHECK(!np_profile_make(&runs, NULL, 0, NULL, NOW, &p));
	T_ROW("quiet moments that were busy do not count",
	      p.latency.n_runs == 2 && p.latency.moments.mean < 2e-5 &&
		      p.use[1] == NP_RUN_AUTOMATIC);
	T_ROW("they are distinguished from runs",
	      p.latency.source == NP_SOURCE_QUIET);
	np_run_summary_free(&p);
	runs.n = 4;
	T_CHECK(!np_profile_make(&runs, NULL, 0, NULL, NOW, &p));
	T_ROW("an older run that was made for it comes first",
	      p.latency.n_runs == 1 && p.latency.moments.n == 60 &&
		      p.latency.source == NP_SOURCE_RUN &&
		      p.count[NP_RUN_AUTOMATIC] == 3);
	np_run_summary_free(&p);
	for (size_t i = 0; i < 4; i++)
		np_record_free(run[i]);
}

/* The source of the baseline of a flagged run, from own and others' idle runs. */
T_TEST("the best baseline is used")
{
	static const struct {
		const char *name, *own, *others;
		enum np_sample_source want;
	} base[] = {
		{ "a calibration comes before one's own quiet moments", "quiet",
		  "calibration", NP_SOURCE_CALIBRATION },
		{ "an idle run of others comes before one's own quiet moments",
		  "quiet", NULL, NP_SOURCE_RUN },
		{ "an idle run of others comes before one's own calibration",
		  "calibration", NULL, NP_SOURCE_RUN },
		{ "one's own idle run comes before a calibration", NULL,
		  "calibration", NP_SOURCE_RUN },
		{ "one's own calibration comes before quiet moments of others",
		  "calibration", "quiet", NP_SOURCE_CALIBRATION },
	};

	T_EACH(r, base) {
		struct np_record *app = new_run(NULL, 60, 5e-5, 1);
		struct np_record *own = new_run(r->own, 60, 2e-5, 2);
		struct np_record *other = new_run(r->others, 60, 2e-5, 3);
		struct np_runs runs = { .app = "fft", .run = &app, .n = 1 };
		struct np_runs a = { .app = NP_IDLE_APP, .run = &own, .n = 1 };
		struct np_runs b = { .app = NP_IDLE_APP,
				     .run = &other,
				     .n = 1 };
		const struct np_runs *const idle[] = { &a, &b };
		struct np_run_summary p;

		strcpy(app->app, "fft");
		T_CHECK(!np_profile_make(&runs, idle, 2, NULL, NOW, &p));
		T_ROW(r->name, p.idle.n_runs == 1 && p.idle.source == r->want);
		np_run_summary_free(&p);
		np_record_free(app);
		np_record_free(own);
		np_record_free(other);
	}
}

T_TEST("baselines of different sources are not mixed")
{
	struct np_record *run[] = {
		new_run("quiet", 40, 1e-5, 1),
		new_run("calibration", 40, 2e-5, 2),
	};
	struct np_runs runs = { .app = NP_IDLE_APP, .run = run, .n = 2 };
	struct np_run_summary p;

	T_CHECK(!np_profile_make(&runs, NULL, 0, NULL, NOW, &p));
	T_ROW("a calibration is not mixed with quiet moments",
	      p.latency.n_runs == 1 &&
		      p.latency.source == NP_SOURCE_CALIBRATION);
	np_run_summary_free(&p);
	np_record_free(run[0]);
	np_record_free(run[1]);
}

T_TEST("a calibration says what the idle network is")
{
	double count[NP_HIST_BINS] = { 0 };
	struct np_moments m = {
		.n = 50, .mean = 2e-5, .min = 2e-5, .max = 2e-5
	};
	struct np_fabric fabric = { .bins = np_bins_own(),
				    .idle = { m, count } };
	struct np_calibration c = {
		.cluster = "hpc",
		.transport = "tcp/eth0",
		.leaf_name = "leaf1",
		.netprof_version = "",
		.ucx_version = "",
		.date = NOW - 600,
		.message_bytes = 1024,
		.period_sec = 0.1,
		.fabric = &fabric,
	};
	struct np_record *r;

	count[np_hist_bin_of(2e-5)] = 50;
	r = np_idle_of_calibration(&c, NOW);
	T_CHECK(r && !strcmp(r->app, NP_IDLE_APP) && r->n_leaves == 1 &&
		r->leaves[0].latency.n == 50 &&
		np_hist_total(r->leaves[0].hist) == 50 &&
		!strcmp(r->source, "calibration") && r->start == NOW - 600 &&
		r->end == NOW);
	np_record_free(r);
	fabric.idle.count = NULL;
	T_CHECK(!np_idle_of_calibration(&c, NOW));
}
