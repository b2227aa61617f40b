#include "t.h"
#include "np_noise.h"
#include "np_subject.h"
#include "some_record.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char calibration[] =
	"{\"format\":\"netprof-pairs\",\"schema\":1,\"programs\":[],"
	"\"levels\":[\"c1\",\"c4\",\"c6\"],\"scope\":\"leaf\","
	"\"cluster\":\"hpc\",\"transport\":\"tcp/eth0\","
	"\"message_bytes\":1024,\"period_sec\":0.1}";

static struct np_calibration some_calibration(void)
{
	struct np_calibration c = { .path = "" };

	T_CHECK(np_calibration_parse(calibration, strlen(calibration), "f", &c,
				     NULL) == 0);
	return c;
}

/* A run of this many seconds; level NULL: alone. */
static struct np_record *run_of(double sec, const char *level, double slowed)
{
	struct np_record *r = np_record_new();
	struct np_level_run *l;
	struct t_rng g = { 7 };

	r->cluster = strdup("hpc");
	r->fingerprint = strdup("aa");
	r->start = 1.7e9;
	r->end = r->start + sec;
	r->state = NP_RUN_COMPLETE;
	r->exit_code = 0;
	r->probe.transport = strdup("tcp/eth0");
	r->probe.message_bytes = 1024;
	r->probe.period_sec = 0.1;
	t_add_latency(np_record_leaf(r, "leaf0"), &g, 100, 1e-5, sec);
	if (!level)
		return r;
	l = r->level = calloc(1, sizeof(*l));
	l->name = strdup(level);
	l->scope = strdup("leaf");
	np_moments_add(&l->alone_round_sec, 0.1);
	np_moments_add(&l->beside_round_sec, 0.1 * (1 + slowed));
	return r;
}

#define MOST 16

struct some {
	struct np_runs runs;
	struct np_record *run[MOST];
	struct np_calibration c;
	struct np_subject s;
};

static void start(struct some *a)
{
	*a = (struct some){ .runs = { .app = "lmp" } };
	a->runs.run = a->run;
	a->c = some_calibration();
}

static struct np_record *add(struct some *a, double sec, const char *level,
			     double slowed)
{
	return a->run[a->runs.n++] = run_of(sec, level, slowed);
}

static void make(struct some *a)
{
	T_CHECK(np_subject_make(&a->runs, &a->c, &a->s) == 0);
}

static void stop(struct some *a)
{
	np_subject_free(&a->s);
	np_calibration_free(&a->c);
	for (size_t i = 0; i < a->runs.n; i++)
		np_record_free(a->run[i]);
}

static void set(char **text, const char *to)
{
	free(*text);
	*text = to ? strdup(to) : NULL;
}

static void test_curve_and_pressure(void)
{
	struct some a;
	const struct np_mean *m;

	start(&a);
	add(&a, 9, NULL, 0);
	add(&a, 11, NULL, 0);
	add(&a, 14, "c4", 0.2);
	add(&a, 16, "c4", 0.4);
	add(&a, 20, "c6", 0.5);
	make(&a);
	m = a.s.program.curve;
	T_CHECK(!strcmp(a.s.program.name, "lmp") && a.s.fingerprint);
	T_CHECK(a.s.alone_sec.n == 2 && a.s.alone_sec.mean == 10);
	T_CHECK(!m[0].n && m[1].n == 2 && m[2].n == 1);
	T_CHECK(t_close(m[1].mean, 0.5, 1e-12) && t_close(m[2].mean, 1, 1e-12));
	/* Relative variances 0.02 alone and 0.02 * (10/15)^2 beside. */
	T_ROW("the scatter of the time alone is in the sd",
	      t_close(m[1].sd, 1.5 * sqrt(0.02 + 0.02 / 2.25), 1e-9));
	T_ROW("one run has no sd", isnan(m[2].sd));
	m = a.s.program.pressure;
	T_CHECK(!m[0].n && m[1].n == 2 && t_close(m[1].mean, 0.3, 1e-9) &&
		t_close(m[1].sd, 0.1 * sqrt(2), 1e-9));
	T_CHECK(m[2].n == 1 && t_close(m[2].mean, 0.5, 1e-9));
	T_CHECK(a.s.n_curve == 2 && a.s.n_pressure == 2);
	T_ROW("latencies are those of the runs alone",
	      a.s.program.latency.all.n == 200 && a.s.program.latency.count &&
	      a.s.program.n_windows > 0 && !a.s.other_period);
	T_CHECK(np_program_check(&a.s.program, a.c.fabric, NULL) == 0);
	T_CHECK(a.s.count[NP_SUBJECT_ALONE] == 2 &&
		a.s.count[NP_SUBJECT_BESIDE] == 3);
	stop(&a);
}

static void fail_it(struct np_record *r) { r->exit_code = 1; }
static void never_end(struct np_record *r) { r->state = NP_RUN_RUNNING; }
static void unknown_end(struct np_record *r) { r->exit_code = NP_NO_VALUE; }
static void no_time(struct np_record *r) { r->end = r->start; }
static void other_cluster(struct np_record *r) { set(&r->cluster, "xpc"); }
static void no_cluster(struct np_record *r) { set(&r->cluster, NULL); }

static void other_transport(struct np_record *r)
{
	set(&r->probe.transport, "rc/mlx5_0");
}

static void other_size(struct np_record *r) { r->probe.message_bytes = 8; }
static void other_work(struct np_record *r) { set(&r->fingerprint, "bb"); }
static void no_work(struct np_record *r) { set(&r->fingerprint, NULL); }

static void other_scope(struct np_record *r)
{
	set(&r->level->scope, "node");
}

static void other_level(struct np_record *r)
{
	set(&r->level->name, "P9:M9:B1s");
}

static void shared(struct np_record *r)
{
	r->neighbours = calloc(1, sizeof(*r->neighbours));
	r->neighbours[0].overlap_sec = 1;
	r->neighbours[0].leaf = strdup("leaf0");
	r->n_neighbours = 1;
}

static void passed_by(struct np_record *r)
{
	shared(r);
	r->neighbours[0].overlap_sec = 0;
}

static void cut(struct np_record *r) { r->state = NP_RUN_CUT; }

static void test_left_out(void)
{
	static const struct {
		const char *name;
		void (*change)(struct np_record *r);
		enum np_subject_use use;
	} rows[] = {
		{ "a run that failed", fail_it, NP_SUBJECT_FAILED },
		{ "a run that still runs", never_end, NP_SUBJECT_FAILED },
		{ "a run whose end nobody saw", unknown_end,
		  NP_SUBJECT_FAILED },
		{ "a run without time", no_time, NP_SUBJECT_FAILED },
		{ "a run whose probes were cut counts", cut,
		  NP_SUBJECT_BESIDE },
		{ "beside other jobs", shared, NP_SUBJECT_NEIGHBOURS },
		{ "neighbours that were gone count", passed_by,
		  NP_SUBJECT_BESIDE },
		{ "another cluster", other_cluster, NP_SUBJECT_FABRIC },
		{ "a cluster not known counts", no_cluster,
		  NP_SUBJECT_BESIDE },
		{ "another transport", other_transport, NP_SUBJECT_FABRIC },
		{ "another size of probes", other_size, NP_SUBJECT_FABRIC },
		{ "another workload", other_work, NP_SUBJECT_WORKLOAD },
		{ "a workload not known", no_work, NP_SUBJECT_WORKLOAD },
		{ "another scope", other_scope, NP_SUBJECT_SCOPE },
		{ "a level that was not calibrated", other_level,
		  NP_SUBJECT_LEVEL },
	};

	for (size_t i = 0; i < NP_ARRAY_SIZE(rows); i++) {
		struct some a;
		bool used = rows[i].use == NP_SUBJECT_BESIDE;

		start(&a);
		add(&a, 10, NULL, 0);
		add(&a, 12, "c1", 0.1);
		rows[i].change(add(&a, 15, "c4", 0.2));
		make(&a);
		T_ROW(rows[i].name, a.s.use[2] == rows[i].use &&
		      a.s.n_curve == 1 + (size_t)used &&
		      a.s.count[rows[i].use] == (used ? 2 : 1));
		stop(&a);
	}
}

static void test_workload(void)
{
	struct some a;

	start(&a);
	add(&a, 20, NULL, 0);
	add(&a, 20, NULL, 0);
	add(&a, 30, "c6", 0.3);
	other_work(add(&a, 10, "c1", 0.1));
	other_work(add(&a, 10, "c4", 0.2));
	make(&a);
	T_ROW("most levels before most runs", !strcmp(a.s.fingerprint, "bb"));
	T_ROW("no run alone, no curve; pressure all the same",
	      !a.s.program.curve && a.s.n_pressure == 2);
	T_ROW("nor latencies", !a.s.program.latency.all.n);
	stop(&a);

	start(&a);
	other_work(add(&a, 10, NULL, 0));
	add(&a, 20, NULL, 0);
	add(&a, 20, NULL, 0);
	make(&a);
	T_ROW("most runs before the newest", !strcmp(a.s.fingerprint, "aa"));
	stop(&a);

	start(&a);
	other_work(add(&a, 10, NULL, 0));
	add(&a, 20, NULL, 0);
	make(&a);
	T_ROW("the newest of equals", !strcmp(a.s.fingerprint, "bb"));
	stop(&a);

	start(&a);
	fail_it(add(&a, 10, NULL, 0));
	make(&a);
	T_ROW("nothing usable is no error", !a.s.fingerprint &&
	      !a.s.program.curve && !a.s.program.pressure);
	stop(&a);
}

static void test_period(void)
{
	struct some a;

	start(&a);
	add(&a, 10, NULL, 0)->probe.period_sec = 1;
	make(&a);
	T_ROW("another period is better than nothing, and told",
	      a.s.program.latency.all.n == 100 && a.s.other_period);
	stop(&a);

	start(&a);
	add(&a, 10, NULL, 0)->probe.period_sec = 1;
	add(&a, 10, NULL, 0);
	make(&a);
	T_ROW("the calibration's period comes first",
	      a.s.program.latency.all.n == 100 && !a.s.other_period);
	T_ROW("run times count at any", a.s.alone_sec.n == 2);
	stop(&a);
}

static void test_interval(void)
{
	static const struct {
		const char *name;
		struct np_mean m;
		double low, high;
	} rows[] = {
		/* t(0.975, 4) = 2.7764, sd 0.02 of log(1.5) */
		{ "one run has the assumed scatter", { 1, 0.5, NAN },
		  0.4190, 0.5857 },
		/* 4 degrees of 1 %: t(8) = 2.306; sd^2 = (4e-4 + 16e-4) / 8 */
		{ "repetitions narrow it", { 5, 0.5, 0.015 },
		  0.47574, 0.52466 },
	};

	for (size_t i = 0; i < NP_ARRAY_SIZE(rows); i++) {
		double low, high;

		np_noise_interval(&rows[i].m, 0.02, &low, &high);
		T_ROW(rows[i].name, t_close(low, rows[i].low, 2e-4) &&
		      t_close(high, rows[i].high, 2e-4));
	}
}

static void test_coupling(void)
{
	static const struct {
		const char *name;
		struct np_mean k;
		bool none;
	} rows[] = {
		{ "near zero", { 8, 0.01, 0.03 }, true },
		{ "exactly zero", { 3, 0, 0 }, true },
		{ "small, but surely not zero", { 50, 0.05, 0.01 }, false },
		{ "perhaps zero, perhaps much", { 3, 0.1, 0.2 }, false },
		{ "measured once", { 1, 0, NAN }, false },
		{ "not measured", { 0, 0, 0 }, false },
		{ "full", { 8, 1, 0.01 }, false },
	};

	for (size_t i = 0; i < NP_ARRAY_SIZE(rows); i++)
		T_ROW(rows[i].name,
		      np_coupling_none(&rows[i].k) == rows[i].none);
}

static const struct t_case cases[] = {
	{ "curve and pressure come from the runs", test_curve_and_pressure },
	{ "runs that cannot be compared are left out", test_left_out },
	{ "one workload is chosen", test_workload },
	{ "latencies of the calibration's period", test_period },
	{ "a slowdown has its 95 % interval", test_interval },
	{ "no effect is claimed only where it was shown", test_coupling },
	{ NULL, NULL },
};

T_SUITE(subject, cases)
