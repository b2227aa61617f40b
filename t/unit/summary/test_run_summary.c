#include "np_profile.h"
#include "some_runs.h"

#define LEVELS "\"c1\",\"c4\",\"c6\""

/* A run of this many seconds; level NULL: alone. */
static struct np_record *run_of(double sec, const char *level, double slowed)
{
	struct np_record *r = t_run_alone(sec);
	struct np_level_run *l;

	if (!level)
		return r;
	l = r->level = calloc(1, sizeof(*l));
	l->name = strdup(level);
	l->scope = strdup("leaf");
	np_moments_add(&l->alone_round_sec, 0.1);
	np_moments_add(&l->loaded_round_sec, 0.1 * (1 + slowed));
	return r;
}

static struct np_record *add(struct some *a, double sec, const char *level,
			     double slowed)
{
	return add_run(a, run_of(sec, level, slowed));
}

static void set(char **text, const char *to)
{
	free(*text);
	*text = to ? strdup(to) : NULL;
}

static bool same_mean(const struct np_mean *a, const struct np_mean *b)
{
	return a->n == b->n && a->mean == b->mean &&
	       (a->sd == b->sd || (isnan(a->sd) && isnan(b->sd)));
}

static void set_up(void)
{
	start(&some, LEVELS);
}

static void tear_down(void)
{
	stop(&some);
}

T_FIXTURE(set_up, tear_down);

T_TEST("curve and impact come from the runs")
{
	const struct np_mean *m;

	add(&some, 9, NULL, 0);
	add(&some, 11, NULL, 0);
	add(&some, 14, "c4", 0.2);
	add(&some, 16, "c4", 0.4);
	add(&some, 20, "c6", 0.5);
	make(&some, true);
	m = some.e.program.curve;
	T_CHECK(!strcmp(some.e.program.name, "lmp") && some.e.fingerprint);
	T_CHECK(some.e.alone_sec.n == 2 && some.e.alone_sec.mean == 10);
	T_CHECK(!m[0].n && m[1].n == 2 && m[2].n == 1);
	T_CHECK(t_close(m[1].mean, 0.5, 1e-12) && t_close(m[2].mean, 1, 1e-12));
	/* Relative variances 0.02 alone and 0.02 * (10/15)^2 loaded. */
	T_ROW("the scatter of the time alone is in the sd",
	      t_close(m[1].sd, 1.5 * sqrt(0.02 + 0.02 / 2.25), 1e-9));
	T_ROW("one run has no sd", isnan(m[2].sd));
	m = some.e.program.impact;
	T_CHECK(!m[0].n && m[1].n == 2 && t_close(m[1].mean, 0.3, 1e-9) &&
		t_close(m[1].sd, 0.1 * sqrt(2), 1e-9));
	T_CHECK(m[2].n == 1 && t_close(m[2].mean, 0.5, 1e-9));
	T_CHECK(some.e.n_curve == 2 && some.e.n_impact == 2);
	T_ROW("latencies are those of the runs alone",
	      some.e.program.latency.all.n == 200 &&
		      some.e.program.latency.count &&
		      !some.e.latency.other_period);
	T_CHECK(np_program_check(&some.e.program, some.c.fabric, NULL) == 0);
	T_CHECK(some.e.count[NP_RUN_ALONE] == 2 &&
		some.e.count[NP_RUN_UNDER_LEVEL] == 3);
}

/* What a level's round takes alone in the calibration, and in a run. */
T_TEST("levels mean in runs what they mean in the calibration")
{
	static const struct {
		const char *name;
		double calibrated_sec, own_sec; /* 0: not known */
		size_t nodes;			/* of the calibration's ring */
		double slowed;			/* a round of 0.2 s */
	} rows[] = {
		{ "a level is slowed from where the calibration began", 0.16,
		  0.12, 8, 0.25 },
		{ "and so where the run itself has no rounds alone", 0.16, 0, 8,
		  0.25 },
		{ "a ring of other size has rounds of its own", 0.16, 0.125, 4,
		  0.6 },
		{ "slower nodes have rounds of their own", 0.1, 0.16, 8, 0.25 },
		{ "faster nodes have rounds of their own", 0.2, 0.125, 8, 0.6 },
		{ "an old calibration says nothing of it", 0, 0.125, 8, 0.6 },
	};

	T_EACH(r, rows) {
		struct np_mean sec[3] = { { 0 }, { 0 }, { 0 } };
		struct np_level_run *l;

		set_up();
		add(&some, 10, NULL, 0);
		l = add(&some, 14, "c6", 0)->level;
		l->n_processes = 8;
		l->alone_round_sec = l->loaded_round_sec =
			(struct np_moments){ 0 };
		if (r->own_sec > 0)
			np_moments_add(&l->alone_round_sec, r->own_sec);
		np_moments_add(&l->loaded_round_sec, 0.2);
		if (r->calibrated_sec > 0) {
			sec[2] = (struct np_mean){
				2,
				r->calibrated_sec,
				0.001,
			};
			some.c.alone_round_sec = malloc(sizeof(sec));
			memcpy(some.c.alone_round_sec, sec, sizeof(sec));
		}
		some.c.n_alone_nodes = r->nodes;
		make(&some, true);
		T_ROW(r->name, some.e.n_impact == 1 &&
				       t_close(some.e.program.impact[2].mean,
					       r->slowed, 1e-9));
	}
}

/* clang-format off */
static void fail_it(struct np_record *r) { r->exit_code = 1; }
static void never_end(struct np_record *r) { r->state = NP_RUN_RUNNING; }
static void goes_on(struct np_record *r)
{
	r->state = NP_RUN_RUNNING;
	r->end = NOW - 5;
}

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
static void other_scope(struct np_record *r) { set(&r->level->scope, "node"); }

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

static void suspended(struct np_record *r) { r->suspended = true; }

static void passed_by(struct np_record *r)
{
	shared(r);
	r->neighbours[0].overlap_sec = 0;
}

static void cut(struct np_record *r) { r->state = NP_RUN_CUT; }
/* clang-format on */

T_TEST("runs that cannot be compared are left out")
{
	static const struct {
		const char *name;
		void (*change)(struct np_record *r);
		enum np_run_use use;
	} rows[] = {
		{ "a run that failed", fail_it, NP_RUN_FAILED },
		{ "a run that still runs", goes_on, NP_RUN_UNDER_WAY },
		{ "a run whose writer died", never_end, NP_RUN_FAILED },
		{ "a run whose end nobody saw", unknown_end, NP_RUN_FAILED },
		{ "a run without time", no_time, NP_RUN_FAILED },
		{ "a run whose probes were cut counts", cut,
		  NP_RUN_UNDER_LEVEL },
		{ "a run that was suspended", suspended, NP_RUN_SUSPENDED },
		{ "shared its leaf switch with other jobs", shared,
		  NP_RUN_NEIGHBOURS },
		{ "neighbours that had ended count", passed_by,
		  NP_RUN_UNDER_LEVEL },
		{ "another cluster", other_cluster, NP_RUN_FABRIC },
		{ "a cluster not known counts", no_cluster,
		  NP_RUN_UNDER_LEVEL },
		{ "another transport", other_transport, NP_RUN_FABRIC },
		{ "another size of probes", other_size, NP_RUN_FABRIC },
		{ "another workload", other_work, NP_RUN_WORKLOAD },
		{ "a workload not known", no_work, NP_RUN_WORKLOAD },
		{ "another scope", other_scope, NP_RUN_SCOPE },
		{ "a level that was not calibrated", other_level,
		  NP_RUN_LEVEL },
	};

	T_EACH(r, rows) {
		bool used = r->use == NP_RUN_UNDER_LEVEL;

		set_up();
		add(&some, 10, NULL, 0);
		add(&some, 12, "c1", 0.1);
		r->change(add(&some, 15, "c4", 0.2));
		make(&some, true);
		T_ROW(r->name, some.e.use[2] == r->use &&
				       some.e.n_curve == 1 + (size_t)used &&
				       some.e.count[r->use] == (used ? 2 : 1));
	}
}

/* A program on rail r1 of two, and the rails of a level that it ran under. */
T_TEST("a level that leaves out the program's rail does not count")
{
	static const struct {
		const char *name, *rails;
		enum np_run_use use;
	} rows[] = {
		{ "a level on its rail counts", "r1", NP_RUN_UNDER_LEVEL },
		{ "and one on all", "r0,r1", NP_RUN_UNDER_LEVEL },
		{ "and one of unknown rails", NULL, NP_RUN_UNDER_LEVEL },
		{ "one on the other rail does not", "r0", NP_RUN_RAIL },
	};

	T_EACH(row, rows) {
		struct np_record *r;

		set_up();
		add(&some, 10, NULL, 0);
		r = add(&some, 15, "c4", 0.2);
		set(&r->level->rails, row->rails);
		for (size_t k = 0; k < 4; k++) {
			struct np_leaf_run *l = np_record_leaf(
				some.run[k / 2], k % 2 ? "x" : "leaf0");

			set(&l->rail, k % 2 ? "r1" : "r0");
			if (k / 2)
				continue;
			l->traffic = calloc(1, sizeof(*l->traffic));
			l->traffic->node_sec = 10;
			l->traffic->bytes = k % 2 ? 1e8 : 0;
		}
		set(&some.run[0]->probe.transport, "tcp/eth1");
		make(&some, true);
		T_ROW(row->name, some.e.program.rails &&
					 !strcmp(some.e.program.rails, "r1"));
		T_ROW(row->name, some.e.use[0] == NP_RUN_ALONE &&
					 some.e.use[1] == row->use);
	}
}

T_TEST("one workload is chosen")
{
	add(&some, 20, NULL, 0);
	add(&some, 20, NULL, 0);
	add(&some, 30, "c6", 0.3);
	other_work(add(&some, 10, "c1", 0.1));
	other_work(add(&some, 10, "c4", 0.2));
	make(&some, true);
	T_ROW("most levels before most runs",
	      !strcmp(some.e.fingerprint, "bb"));
	T_ROW("no run alone, no curve; impact all the same",
	      !some.e.program.curve && some.e.n_impact == 2);
	T_ROW("nor latencies", !some.e.program.latency.all.n);

	set_up();
	other_work(add(&some, 10, NULL, 0));
	add(&some, 20, NULL, 0);
	add(&some, 20, NULL, 0);
	make(&some, true);
	T_ROW("most runs before the newest", !strcmp(some.e.fingerprint, "aa"));

	set_up();
	other_work(add(&some, 10, NULL, 0));
	add(&some, 20, NULL, 0);
	make(&some, true);
	T_ROW("the newest of equals", !strcmp(some.e.fingerprint, "bb"));

	set_up();
	fail_it(add(&some, 10, NULL, 0));
	make(&some, true);
	T_ROW("nothing usable is no error", !some.e.fingerprint &&
						    !some.e.program.curve &&
						    !some.e.program.impact);
}

T_TEST("latencies of the calibration's period")
{
	add(&some, 10, NULL, 0)->probe.period_sec = 1;
	make(&some, true);
	T_ROW("another period is better than nothing, and stated",
	      some.e.program.latency.all.n == 100 &&
		      some.e.latency.other_period);

	set_up();
	add(&some, 10, NULL, 0)->probe.period_sec = 1;
	add(&some, 10, NULL, 0);
	make(&some, true);
	T_ROW("the calibration's period comes first",
	      some.e.program.latency.all.n == 100 &&
		      !some.e.latency.other_period);
	T_ROW("run times count at any", some.e.alone_sec.n == 2);
}

T_TEST("latencies without a known workload are the last resort")
{
	no_work(add(&some, 10, NULL, 0));
	make(&some, true);
	T_ROW("latencies count where there are no others",
	      some.e.use[0] == NP_RUN_LATENCY && some.e.latency.n_runs == 1 &&
		      some.e.program.latency.all.n == 100 &&
		      some.e.n_used == 1);
	T_ROW("times never do", !some.e.alone_sec.n && !some.e.fingerprint);

	set_up();
	no_work(add(&some, 10, NULL, 0));
	add(&some, 11, NULL, 0);
	make(&some, true);
	T_ROW("those of the workload come first",
	      some.e.use[0] == NP_RUN_WORKLOAD && some.e.latency.n_runs == 1 &&
		      some.e.alone_sec.mean == 11);
}

/* The summary that the output uses. */
static struct np_run_summary summary_of(const struct some *a)
{
	const struct np_run_summary_opt opt = { .now = NOW };
	struct np_run_summary e;

	T_CHECK(np_run_summary_make(&a->runs, &opt, &e) == 0);
	return e;
}

T_TEST("runs on shared leaves count for pages, not for models")
{
	struct np_run_summary summary;

	shared(add(&some, 10, NULL, 0));
	shared(add(&some, 15, "c4", 0.2));
	make(&some, true);
	summary = summary_of(&some);
	T_ROW("pages take latencies where there are no others, and say so",
	      summary.use[0] == NP_RUN_LATENCY && summary.latency.neighbours &&
		      summary.latency.n_runs == 1);
	T_ROW("never times, nor runs under a level",
	      !summary.alone_sec.n && summary.use[1] == NP_RUN_NEIGHBOURS);
	T_ROW("models take nothing",
	      !some.e.n_used && some.e.count[NP_RUN_NEIGHBOURS] == 2 &&
		      !np_run_summary_has_data(&some.e));
	np_run_summary_free(&summary);
	other_work(add(&some, 10, NULL, 0));
	summary = summary_of(&some);
	T_ROW("one that had its leaf to itself is better",
	      summary.use[2] == NP_RUN_ALONE && !summary.latency.neighbours &&
		      summary.latency.n_runs == 1 &&
		      summary.count[NP_RUN_NEIGHBOURS] == 2);
	np_run_summary_free(&summary);
}

T_TEST("levels are as they occur where there is no calibration")
{
	struct np_run_summary e;

	add(&some, 10, NULL, 0);
	add(&some, 15, "c4", 0.2);
	other_scope(add(&some, 30, "c4", 0.2));
	other_level(add(&some, 20, "c4", 0.2));
	e = summary_of(&some);
	T_CHECK(e.n_levels == 3 && !strcmp(e.level[0].name, "P9:M9:B1s"));
	T_ROW("one name at two scopes is two levels",
	      !strcmp(e.level[1].scope, "leaf") &&
		      t_close(e.level[1].slowdown.mean, 0.5, 1e-12) &&
		      !strcmp(e.level[2].scope, "node") &&
		      t_close(e.level[2].slowdown.mean, 2, 1e-12));
	np_run_summary_free(&e);
	T_CHECK(!np_run_summary_make(
		&some.runs, &(struct np_run_summary_opt){ .scope = "leaf" },
		&e));
	T_ROW("unless one scope is asked for",
	      e.n_levels == 2 && e.use[2] == NP_RUN_SCOPE);
	np_run_summary_free(&e);
}

/* Records of users may name any number of levels. */
T_TEST("without a calibration there are no more levels than it could have")
{
	enum { N = 2 * NP_FABRIC_MAX_LEVELS };
	struct np_record *r;
	char name[32];

	add(&some, 10, NULL, 0);
	add(&some, 20, "zz", 0.2);
	r = add(&some, 10, NULL, 0);
	r->intervals = calloc(N, sizeof(*r->intervals));
	r->intervals_scope = strdup("leaf");
	for (int i = 0; i < N; i++) {
		snprintf(name, sizeof(name), "P%03d", i);
		r->intervals[i].level = strdup(name);
		r->intervals[i].sec = 1;
	}
	r->n_intervals = N;
	make(&some, false);
	T_CHECK(some.e.n_levels == NP_FABRIC_MAX_LEVELS);
	T_ROW("a run under another one", some.e.use[1] == NP_RUN_LEVEL);
	T_ROW("one with intervals", some.e.use[2] == NP_RUN_INTERVALS);
}

T_TEST("levels that occur are sorted by their utilisation, then by name")
{
	const struct np_fabric_level level[] = {
		{ "c1", { .all = { 9, 8, 1, 7, 9 } } },
		{ "c4", { .all = { 9, 3, 1, 2, 4 } } },
		{ "c6", { .all = { .n = 0 } } },
	};
	const struct np_fabric fabric = {
		.idle.all = { 9, 1, 0.1, 0.9, 1.1 },
		.level = level,
		.n_levels = NP_ARRAY_SIZE(level),
	};
	const struct np_run_summary_opt opt = { .level_fabric = &fabric };
	static const char *const want[] = { "c4", "c1", "c0", "c6" };
	struct np_run_summary e;

	add(&some, 10, NULL, 0);
	for (size_t i = 0; i < NP_ARRAY_SIZE(want); i++)
		add(&some, 11 + (double)i, want[3 - i], 0.2);
	T_CHECK(!np_run_summary_make(&some.runs, &opt, &e));
	T_CHECK(e.n_levels == NP_ARRAY_SIZE(want));
	for (size_t i = 0; i < e.n_levels; i++) {
		T_ROW(want[i], !strcmp(e.level[i].name, want[i]));
		T_CHECK(same_mean(&e.mean[i], &e.level[i].slowdown));
		T_CHECK(isnan(e.level[i].utilisation) == (i > 1));
	}
	np_run_summary_free(&e);
}

/* Any record, of a few workloads and levels on one fabric. */
static struct np_record *any_run(struct t_rng *g, size_t i)
{
	static const char *const levels[] = { "c1", "c4", "c6" };
	static const char *const works[] = { "aa", "aa", "bb", "cc", NULL };
	struct np_record *r = t_some_record(t_rand(g));

	set(&r->cluster, "hpc");
	set(&r->probe.transport, "tcp/eth0");
	set(&r->fingerprint, works[t_rand(g) % NP_ARRAY_SIZE(works)]);
	r->end = NOW - 40 * (double)i;
	r->start = r->end - 50 - 10 * t_uniform(g);
	r->exit_code = t_rand(g) % 4 ? 0 : r->exit_code;
	if (t_rand(g) % 2)
		for (size_t k = 0; k < r->n_neighbours; k++)
			r->neighbours[k].overlap_sec = 0;
	if (r->level) {
		set(&r->level->name, levels[t_rand(g) % 3]);
		set(&r->level->scope, "leaf");
	}
	for (size_t k = 0; k < r->n_intervals; k++)
		if (r->intervals[k].level)
			set(&r->intervals[k].level, levels[t_rand(g) % 3]);
	return r;
}

/* Levels on which output, models and calibration differ. */
static size_t differences(const struct some *a,
			  const struct np_run_summary *summary,
			  const struct np_curve_levels *l)
{
	size_t n_summary = 0, n_models = 0, n_same = 0, bad = 0;

	for (size_t i = 0; i < a->e.n_levels; i++) {
		n_models += a->e.level[i].run_sec.n > 0;
		bad += !same_mean(&a->e.mean[i], &a->e.level[i].slowdown) ||
		       strcmp(a->e.level[i].name, l->name[i]) ||
		       a->e.level[i].run_sec.n > l->level[i].run_sec.n ||
		       a->e.level[i].run_sec.mean != l->level[i].run_sec.mean;
	}
	for (size_t i = 0; i < summary->n_levels; i++) {
		const struct np_run_summary_level *p = &summary->level[i];

		for (size_t k = 0; k < a->e.n_levels; k++) {
			const struct np_run_summary_level *m = &a->e.level[k];

			if (strcmp(p->name, m->name))
				continue;
			n_same++;
			n_summary += p->run_sec.n > 0;
			bad += !same_mean(&p->slowdown, &a->e.mean[k]) ||
			       !same_mean(&p->impact,
					  &a->e.mean[a->e.n_levels + k]) ||
			       !same_mean(&p->run_sec, &m->run_sec) ||
			       p->low != m->low || p->high != m->high;
		}
	}
	return bad + (n_summary != n_models) + (n_same != summary->n_levels);
}

T_TEST("pages, models and calibration agree to the digit")
{
	size_t n_curve = 0, n_latency = 0;

	for (uint64_t seed = 0; seed < 200; seed++) {
		struct t_rng g = { seed };
		struct np_curve_levels l;
		struct np_run_summary p;
		struct np_mean alone;

		set_up();
		while (some.runs.n < MOST)
			some.run[some.runs.n] = any_run(&g, some.runs.n),
			some.runs.n++;
		make(&some, true);
		T_CHECK(!np_profile_make(&some.runs, NULL, 0, NULL, NOW, &p));
		np_curve_levels_make(&some.c, &l);
		np_curve_count(&some.e, "leaf", &l, &alone);
		T_ROW("the workload",
		      some.e.fingerprint && p.fingerprint &&
			      !strcmp(some.e.fingerprint, p.fingerprint));
		T_ROW("slowdowns to the digit", !differences(&some, &p, &l));
		T_ROW("the time alone",
		      alone.mean == p.alone_sec.mean &&
			      same_mean(&p.alone_sec, &some.e.alone_sec));
		T_ROW("who failed",
		      some.e.count[NP_RUN_FAILED] == p.count[NP_RUN_FAILED]);
		T_ROW("latencies",
		      p.latency.neighbours ||
			      p.latency.moments.n ==
				      some.e.program.latency.all.n);
		n_curve += some.e.n_curve;
		n_latency += some.e.program.latency.all.n > 0;
		np_run_summary_free(&p);
	}
	T_ROW("there was something to compare",
	      n_curve > 200 && n_latency > 100);
}
