#include "t.h"
#include "np_profile.h"
#include "some_record.h"

#define NOW 1.8e9 /* long after all of them */

struct made {
	struct np_runs runs;
	struct t_rng g;
};

static struct made *new_made(const char *app)
{
	struct made *m = calloc(1, sizeof(*m));

	strcpy(m->runs.app, app);
	m->runs.run = calloc(32, sizeof(*m->runs.run));
	m->g.state = 11;
	return m;
}

static void free_made(struct made *m)
{
	if (m)
		np_runs_free(&m->runs);
	free(m);
}

/* One more run, older than those before it, as np_store_load() sorts them. */
static struct np_record *add_run(struct made *m, double base_sec)
{
	struct np_record *r = np_record_new();

	strcpy(r->app, m->runs.app);
	r->cluster = strdup("hpc");
	r->fingerprint = strdup("f1");
	r->job_id = 100 - (uint32_t)m->runs.n;
	r->start = 1.7e9 - 1000.0 * (double)m->runs.n;
	r->end = r->start + 60;
	r->state = NP_RUN_COMPLETE;
	r->exit_code = 0;
	r->probe.message_bytes = 1024;
	r->probe.transport = strdup("tcp/eth0");
	if (base_sec > 0)
		t_add_latency(np_record_leaf(r, "leaf0"), &m->g, 600, base_sec,
			      60);
	m->runs.run[m->runs.n++] = r;
	return r;
}

static void add_neighbour(struct np_record *r, double overlap_sec)
{
	r->neighbours = calloc(1, sizeof(*r->neighbours));
	r->neighbours[0].leaf = strdup("leaf0");
	r->neighbours[0].nodes = strdup("n7");
	r->neighbours[0].overlap_sec = overlap_sec;
	r->n_neighbours = 1;
}

static void add_level(struct np_record *r, const char *name, double loaded)
{
	r->level = calloc(1, sizeof(*r->level));
	r->level->name = strdup(name);
	r->level->scope = strdup("node");
	r->level->nodes = strdup("n[0-3]");
	for (int i = 0; i < 10; i++) {
		np_moments_add(&r->level->alone_round_sec, 1e-3);
		np_moments_add(&r->level->loaded_round_sec, 1e-3 * loaded);
	}
}

static struct np_run_summary p; /* of the test */

static void tear_down(void)
{
	np_run_summary_free(&p);
}

static void make_on(const struct made *m, const struct made *idle,
		    const struct made *second,
		    const struct np_calibration *calibration)
{
	const struct np_runs *candidates[] = {
		idle ? &idle->runs : NULL,
		second ? &second->runs : NULL,
	};

	tear_down();
	T_CHECK(np_profile_make(&m->runs, candidates, 2, calibration, NOW,
				&p) == 0);
}

static void make(const struct made *m, const struct made *idle,
		 const struct made *second)
{
	make_on(m, idle, second, NULL);
}

T_FIXTURE(NULL, tear_down);

T_TEST("only comparable runs are used")
{
	static const enum np_run_use want[] = {
		NP_RUN_TIME,	    NP_RUN_ALONE,     NP_RUN_NEIGHBOURS,
		NP_RUN_UNDER_LEVEL, NP_RUN_FABRIC,    NP_RUN_FABRIC,
		NP_RUN_FABRIC,	    NP_RUN_ALONE,     NP_RUN_FAILED,
		NP_RUN_FAILED,	    NP_RUN_UNDER_WAY, NP_RUN_WORKLOAD,
	};
	struct made *m = new_made("lmp");
	struct np_record *r;

	add_run(m, 0);
	add_run(m, 1e-5);
	add_neighbour(add_run(m, 1e-3), 5);
	add_level(add_run(m, 1e-3), "c4", 2);
	r = add_run(m, 1e-3);
	r->cluster[0] = 'x';
	r = add_run(m, 1e-3);
	free(r->probe.transport);
	r->probe.transport = strdup("tcp/eth1");
	r = add_run(m, 1e-3);
	r->probe.message_bytes = 4096;
	add_neighbour(add_run(m, 1e-5), 0); /* gone before it began */
	add_run(m, 1e-3)->exit_code = 1;
	add_run(m, 1e-3)->state = NP_RUN_RUNNING; /* its writer died */
	r = add_run(m, 1e-3);
	r->state = NP_RUN_RUNNING;
	r->end = NOW - 5;
	add_run(m, 1e-3)->fingerprint[0] = 'x';
	make(m, NULL, NULL);
	for (size_t i = 0; i < m->runs.n; i++)
		T_CHECK(p.use[i] == want[i]);
	T_CHECK(p.count[NP_RUN_ALONE] == 2 && p.count[NP_RUN_FABRIC] == 3);
	T_CHECK(p.latency.n_runs == 2 && p.latency.moments.n == 1200);
	T_CHECK(np_hist_total(p.latency.hist) == 1200 &&
		p.latency.moments.max < 1e-3);
	T_CHECK(p.latency.last == m->runs.run[1]->end);
	T_CHECK(p.latency.first == m->runs.run[7]->start);
	T_CHECK(p.fabric == m->runs.run[1] && !p.latency.neighbours);
	free_made(m);
}

T_TEST("runs with neighbours are used if there is nothing else")
{
	struct made *m = new_made("lmp");

	add_neighbour(add_run(m, 1e-5), 5);
	add_neighbour(add_run(m, 1e-5), 5);
	make(m, NULL, NULL);
	T_CHECK(p.latency.n_runs == 2 && p.latency.neighbours);
	T_CHECK(p.count[NP_RUN_LATENCY] == 2 &&
		p.count[NP_RUN_NEIGHBOURS] == 0);
	free_made(m);
}

T_TEST("nothing measured is no crash")
{
	struct made *m = new_made("lmp");

	make(m, NULL, NULL);

	T_CHECK(!p.fabric && p.latency.n_runs == 0 && !p.latency.hist);
	T_CHECK(p.verdict.use == NP_USE_UNKNOWN);
	add_run(m, 0);
	make(m, NULL, NULL);
	T_CHECK(!p.fabric && p.count[NP_RUN_TIME] == 1);
	free_made(m);
}

T_TEST("runs under interference alone say nothing about latency")
{
	struct made *m = new_made("lmp");

	add_level(add_run(m, 1e-3), "c4", 2);
	make(m, NULL, NULL);
	T_CHECK(p.fabric == m->runs.run[0] && p.latency.n_runs == 0);
	T_CHECK(p.verdict.use == NP_USE_UNKNOWN && p.verdict.interference);
	T_CHECK(p.n_levels == 1 && !p.level[0].slowdown.n);
	free_made(m);
}

T_TEST("the idle reference is of the same fabric, own before published")
{
	struct made *m = new_made("lmp"), *own = new_made("idle");
	struct made *published = new_made("idle");

	add_run(m, 5e-5);
	add_run(own, 1e-5)->cluster[0] = 'x'; /* of another fabric */
	add_run(published, 2e-5);
	make(m, own, published);
	T_CHECK(p.idle.n_runs == 1 && p.idle.moments.mean > 2e-5);
	T_CHECK(p.verdict.against == NP_AGAINST_IDLE);
	T_CHECK(p.verdict.use >= NP_USE_HEAVY);
	add_run(own, 1e-5);
	make(m, own, published);
	T_CHECK(p.idle.n_runs == 1 && p.idle.moments.mean < 2e-5);
	make(m, NULL, NULL);
	T_CHECK(p.idle.n_runs == 0 && p.verdict.doubt == NP_DOUBT_BASELINE);
	make(published, own, published); /* idle needs no idle */
	T_CHECK(p.is_idle && p.idle.n_runs == 0);
	free_made(m);
	free_made(own);
	free_made(published);
}

T_TEST("idle runs count whatever was run, unless they failed")
{
	struct made *m = new_made("lmp"), *own = new_made("idle");

	add_run(m, 5e-5);
	add_run(own, 1e-5);
	add_run(own, 1e-5)->fingerprint[0] = 'x';
	add_run(own, 1e-5)->exit_code = 1;
	make(m, own, NULL);
	T_ROW("the reference", p.idle.n_runs == 2);
	make(own, NULL, NULL);
	T_ROW("its own page", p.latency.n_runs == 2 &&
				      p.count[NP_RUN_FAILED] == 1 &&
				      p.count[NP_RUN_WORKLOAD] == 0);
	free_made(m);
	free_made(own);
}

T_TEST("an idle run of the same probe period is preferred")
{
	struct made *m = new_made("lmp"), *own = new_made("idle");

	add_run(m, 5e-5)->probe.period_sec = 0.1;
	add_run(own, 1e-5)->probe.period_sec = 0.02;
	make(m, own, NULL);
	T_CHECK(p.idle.n_runs == 1 && p.idle.other_period);
	T_CHECK(p.idle.period_sec == 0.02);
	add_run(own, 2e-5)->probe.period_sec = 0.1;
	make(m, own, NULL);
	T_CHECK(p.idle.n_runs == 1 && !p.idle.other_period);
	T_CHECK(p.idle.moments.mean > 2e-5);
	free_made(m);
	free_made(own);
}

T_TEST("slowdowns compare like with like")
{
	struct made *m = new_made("lmp");
	const struct np_run_summary_level *l;
	struct np_record *r;
	int loaded[] = { 90, 84, 96 };

	for (int i = 0; i < 3; i++) {
		r = add_run(m, 1e-4);
		r->end = r->start + loaded[i] + 2;
		r->alone_sec = 2; /* the lead-in does not count */
		r->state = i ? NP_RUN_COMPLETE : NP_RUN_CUT;
		add_level(r, "c4", 1.5);
	}
	add_run(m, 1e-5); /* 60 s alone */
	add_run(m, 1e-5)->end += 4;
	add_run(m, 1e-5)->end -= 4;
	add_level(add_run(m, 1e-5), "c1", 1.1);
	add_run(m, 1e-5)->exit_code = 1; /* no run time to compare with */
	m->runs.run[7]->end += 1000;
	r = add_run(m, 1e-5);
	r->state = NP_RUN_RUNNING;
	r->end += 3000;
	r = add_run(m, 1e-5); /* another workload */
	r->end += 5000;
	r->fingerprint[0] = 'x';
	r = add_run(m, 1e-4);
	r->end += 7000;
	add_neighbour(r, 3);
	add_level(r, "c4", 1.5);
	make(m, NULL, NULL);
	l = p.level;
	T_CHECK(p.n_levels == 2 && !strcmp(l[0].name, "c1") &&
		!strcmp(l[1].name, "c4"));
	T_CHECK(l[0].slowdown.n == 1 && l[0].slowdown.mean == 0);
	T_CHECK(l[1].run_sec.n == 3 && l[1].slowdown.n == 3);
	T_CHECK(t_close(p.alone_sec.mean, 60, 1e-9));
	T_CHECK(t_close(l[1].run_sec.mean, 90, 1e-9));
	T_CHECK(t_close(l[1].slowdown.mean, 0.5, 1e-9));
	T_CHECK(l[1].low > 0.3 && l[1].low < 0.5 && l[1].high > 0.5);
	T_CHECK(l[1].impact.n == 3);
	T_CHECK(t_close(l[1].impact.mean, 0.5, 1e-9));
	free_made(m);
}

T_TEST("phases are those of the runs")
{
	struct made *m = new_made("lmp");
	struct np_record *r;

	for (int run = 0; run < 3; run++) {
		r = add_run(m, 0);
		t_add_latency(np_record_leaf(r, "a"), &m->g, 0, 1, 60);
		t_add_latency(np_record_leaf(r, "b"), &m->g, 0, 1, 60);
		for (int t = 0; t < 60; t++) {
			struct np_leaf_run *l = np_record_leaf(r, "a");
			double sec = t % 20 < 10 ? 4e-5 : 1e-5;

			for (int i = 0; i < 10; i++)
				t_add_probe(l, t + 0.5,
					    sec * (1 + 0.1 * t_uniform(&m->g)));
		}
	}
	make(m, NULL, NULL);
	T_CHECK(p.phases.kind == NP_PHASE_PHASES);
	T_CHECK(fabs(p.phases.busy_share - 0.5) < 0.01);
	T_CHECK(t_close(p.phases.busy_period_sec, 10, 0.01));
	T_CHECK(p.phases.n_windows == 180 && p.phases.n_busy == 9);
	free_made(m);
}

T_TEST("the cost of the probes is stated")
{
	struct made *m = new_made("lmp");

	for (int i = 0; i < 2; i++) {
		struct np_probe_run *c = &add_run(m, 1e-5)->probe;

		c->n_processes = 4;
		c->elapsed_sec = 100;
		c->cpu_sec_sum = i ? 0.8 : 0.4;
		c->cpu_sec_max = i ? 0.5 : 0.2;
		c->rss_bytes_max = 1000u + (unsigned)i;
		c->messages = 10;
	}
	make(m, NULL, NULL);
	T_CHECK(t_close(p.cost.cpu_share, 1.2 / 800, 1e-9));
	T_CHECK(t_close(p.cost.cpu_share_max, 0.005, 1e-9));
	T_CHECK(p.cost.rss_bytes_max == 1001 && p.cost.messages == 20);
	free_made(m);
}

/* A run with intervals under levels: its latencies are those between them. */
T_TEST("a run with intervals is long enough for phases, and its probes cost")
{
	struct made *m = new_made("lmp");
	struct np_record *r = add_run(m, 1e-5);

	r->intervals = calloc(1, sizeof(*r->intervals));
	r->n_intervals = 1;
	r->intervals[0] =
		(struct np_run_interval){ .sec = 2, .rate = 1e6, .calls = 1 };
	r->probe.n_processes = 2;
	r->probe.elapsed_sec = 60;
	r->probe.cpu_sec_sum = 0.12;
	r->probe.rss_bytes_max = 5000;
	make(m, NULL, NULL);
	T_CHECK(p.count[NP_RUN_INTERVALS] == 1 && p.latency.n_runs == 1);
	T_CHECK(p.phases.kind == NP_PHASE_STEADY && p.phases.n_windows == 60);
	T_CHECK(t_close(p.cost.cpu_share, 1e-3, 1e-9) &&
		p.cost.rss_bytes_max == 5000 && p.cost.elapsed_sec == 120);
	free_made(m);
}

/* A leaf of a rail with so many latencies of low and then of high seconds. */
static void add_rail(struct np_record *r, const char *leaf, const char *rail,
		     double low, double high)
{
	struct np_leaf_run *l = np_record_leaf(r, leaf);

	l->rail = strdup(rail);
	for (int i = 0; i < 100; i++)
		t_add_probe(l, i + 0.5, i < 50 ? low : high);
}

/* The second rail is slower; it counts where it is the more delayed one. */
static const struct {
	const char *name;
	double high[2]; /* of each rail, whose lowest are 1e-5 and 4e-5 */
	const char *rail;
	double mean;
} railed[] = {
	{ "load on the first", { 9e-5, 5e-5 }, "r0", 5e-5 },
	{ "load on the second", { 1.2e-5, 36e-5 }, "r1", 20e-5 },
	{ "a slower rail is not a busier one", { 3e-5, 6e-5 }, "r0", 2e-5 },
};

T_TEST("of a run with rails the busiest one counts")
{
	T_EACH(row, railed) {
		struct made *m = new_made("lmp");
		struct np_record *r = add_run(m, 0);
		struct np_series *windows;

		add_rail(r, "a", "r0", 1e-5, row->high[0]);
		add_rail(r, "x", "r1", 4e-5, row->high[1]);
		add_rail(r, "b", "r0", 1e-5, row->high[0]);
		make(m, NULL, NULL);
		T_ROW(row->name, !strcmp(np_run_rail(r), row->rail));
		T_ROW(row->name,
		      t_close(p.latency.moments.mean, row->mean, 1e-9));
		T_ROW(row->name,
		      p.latency.moments.n ==
			      (!strcmp(row->rail, "r0") ? 200 : 100));
		T_ROW(row->name,
		      np_hist_total(p.latency.hist) == p.latency.moments.n);
		windows = np_run_windows(r);
		T_ROW(row->name,
		      windows && t_close(windows->w[99].max,
					 row->high[row->rail[1] - '0'], 1e-9));
		free(windows);
		free_made(m);
	}
}

/* Bytes per second and node of the adapters; NaN: not counted. */
/* clang-format off */
static const struct {
	const char *name;
	double rate[2]; /* of rails r0 and r1; r0 is delayed more */
	bool node_level; /* under a level on the same nodes */
	const char *busiest, *rails;
} loaded[] = {
	{ "both are loaded", { 1e6, 2e6 }, false, "r0", "r0,r1" },
	{ "the first carries hardly more than probes", { 8e3, 2e6 }, false,
	  "r1", "r1" },
	{ "the second does", { 1e6, 0 }, false, "r0", "r0" },
	{ "a rail without counters may be loaded", { NAN, 0 }, false, "r0",
	  "r0" },
	{ "no adapter has counters", { NAN, NAN }, false, "r0", "r0,r1" },
	{ "the program is quiet", { 0, 0 }, false, "r0", NULL },
	{ "bytes of a level on the same nodes say nothing", { 1e6, 0 }, true,
	  "r0", "r0,r1" },
};
/* clang-format on */

T_TEST("a program loads the rails whose adapters carry more than probes")
{
	T_EACH(row, loaded) {
		struct made *m = new_made("lmp");
		struct np_record *r = add_run(m, 0);

		add_rail(r, "a", "r0", 1e-5, 9e-5);
		add_rail(r, "x", "r1", 4e-5, 5e-5);
		for (size_t k = 0; k < 2; k++) {
			struct np_leaf_run *l =
				np_record_leaf(r, k ? "x" : "a");

			if (isnan(row->rate[k]))
				continue;
			l->traffic = calloc(1, sizeof(*l->traffic));
			l->traffic->node_sec = 20;
			l->traffic->bytes = 20 * row->rate[k];
		}
		if (row->node_level) {
			r->level = calloc(1, sizeof(*r->level));
			r->level->name = strdup("c4");
			r->level->scope = strdup("node");
		}
		make(m, NULL, NULL);
		T_ROW(row->name, !strcmp(np_run_rail(r), row->busiest));
		T_ROW(row->name,
		      row->rails ? p.rails && !strcmp(p.rails, row->rails) :
				   !p.rails);
		free_made(m);
	}
}

/* Records of users may name any rails; no cluster has more than 8. */
T_TEST("of a run with many rails only as many count as there can be")
{
	struct made *m = new_made("lmp");
	struct np_record *r = add_run(m, 0);

	for (int i = 0; i < 100; i++) {
		char rail[16];

		snprintf(rail, sizeof(rail), "r%d", i);
		add_rail(r, rail, rail, 1e-5,
			 i == 99 ? 9e-5 :
			 i == 3	 ? 5e-5 :
				   2e-5);
	}
	make(m, NULL, NULL);
	T_CHECK(p.rails && !strcmp(p.rails, "r0,r1,r2,r3,r4,r5,r6,r7"));
	T_CHECK(!strcmp(np_run_rail(r), "r3"));
	free_made(m);
}

/* Its nodes send 8192 bytes in 3.5 ms, 2.34 MB/s, under c5. */
static const struct traffic {
	const char *name;
	double rate; /* of a node, bytes/s in both directions together */
	const char *cluster, *transport; /* of the calibration */
	size_t level_nodes;
	uint32_t leaf_nodes;
	bool waits, has_neighbours;
	double link; /* speed of the devices */
	enum np_doubt doubt;
	const char *strongest;
} traffic[] = {
	{ "little traffic", 6e5, "hpc", "tcp/eth0", 4, 4, false, false, 0,
	  NP_DOUBT_TRAFFIC, "c5" },
	{ "fast devices, and slow links", 6e5, "hpc", "tcp/eth0", 4, 4, false,
	  false, 1.25e9, NP_DOUBT_TRAFFIC, "c5" },
	{ "more traffic", 1e6, "hpc", "tcp/eth0", 4, 4, false, false, 0,
	  NP_DOUBT_NONE, "c5" },
	{ "more nodes on the leaf switch", 6e5, "hpc", "tcp/eth0", 4, 12, false,
	  false, 0, NP_DOUBT_NONE, "c5" },
	{ "it is not known how many", 6e5, "hpc", "tcp/eth0", 4, 0, false,
	  false, 0, NP_DOUBT_NONE, "c5" },
	{ "a ring of two nodes, where each sends to one", 6e5, "hpc",
	  "tcp/eth0", 2, 4, false, false, 0, NP_DOUBT_NONE, "c5" },
	{ "slower devices than where the levels ran", 6e5, "hpc", "tcp/eth0", 4,
	  4, false, false, 1.25e6, NP_DOUBT_NONE, "c5" },
	{ "adapters that waited", 6e5, "hpc", "tcp/eth0", 4, 4, true, false, 0,
	  NP_DOUBT_NONE, "c5" },
	{ "other jobs on the leaf switch", 6e5, "hpc", "tcp/eth0", 4, 4, false,
	  true, 0, NP_DOUBT_NONE, "c5" },
	{ "calibrated on another cluster", 6e5, "xpc", "tcp/eth0", 4, 4, false,
	  false, 0, NP_DOUBT_NONE, "" },
	{ "calibrated with another transport", 6e5, "hpc", "tcp/eth1", 4, 4,
	  false, false, 0, NP_DOUBT_NONE, "" },
};

static void make_traffic(const struct traffic *t, const struct made *m,
			 const struct made *idle)
{
	struct np_level level[] = { { "c0", 2, 1, 0, 64 },
				    { "c5", 2, 1, 0, 4096 },
				    { "odd" } };
	struct np_mean round_sec[] = { { 3, 2.3e-4, 0 },
				       { 3, 3.5e-3, 0 },
				       { 0 } };
	const struct np_calibration calibration = {
		.cluster = (char *)t->cluster,
		.transport = (char *)t->transport,
		.level = level,
		.n_levels = NP_ARRAY_SIZE(level),
		.alone_round_sec = round_sec,
		.n_alone_nodes = t->level_nodes,
	};

	make_on(m, idle, NULL, &calibration);
}

T_TEST("delays that the traffic of the nodes cannot cause give no verdict")
{
	for (size_t i = 0; i < NP_ARRAY_SIZE(traffic); i++) {
		const struct traffic *t = &traffic[i];
		struct made *m = new_made("lmp"), *idle = new_made("idle");
		struct np_record *r = add_run(m, 5e-5);

		add_run(idle, 1e-5);
		r->traffic = (struct np_traffic_run){ 4, 240, 240 * t->rate,
						      t->link };
		r->leaves[0].n_nodes = t->leaf_nodes;
		if (t->waits)
			np_record_nic(r, "mlx5_0:1")->n[NP_NIC_WAIT] = 7;
		if (t->has_neighbours)
			add_neighbour(r, 5);
		make_traffic(t, m, idle);
		T_ROW(t->name, p.verdict.doubt == t->doubt);
		T_ROW(t->name, !p.verdict.use == !!t->doubt);
		T_ROW(t->name, !strcmp(p.strongest, t->strongest));
		free_made(m);
		free_made(idle);
	}
}

/*
 * A node sends and receives 1.1 GB/s in total, over links of 1.25 GB/s. Its
 * probes are as fast as idle ones.
 */
T_TEST("the bytes of several rails are not compared with the speed of one")
{
	for (int rails = 1; rails <= 2; rails++) {
		struct made *m = new_made("lmp"), *idle = new_made("idle");
		struct np_record *r = add_run(m, 0);

		for (int k = 0; k < rails; k++) {
			struct np_leaf_run *l =
				np_record_leaf(r, k ? "x" : "a");

			t_add_latency(l, &m->g, 600, 1e-5, 60);
			l->rail = strdup(k ? "r1" : "r0");
		}
		r->traffic =
			(struct np_traffic_run){ 4, 240, 240 * 1.1e9, 1.25e9 };
		add_run(idle, 1e-5);
		make(m, idle, NULL);
		T_CHECK(p.verdict.doubt ==
			(rails > 1 ? NP_DOUBT_NONE : NP_DOUBT_FULL));
		free_made(m);
		free_made(idle);
	}
}
