#include "t.h"
#include "np_verdict.h"
#include "some_record.h"

struct set {
	char name[32];
	double utilisation;
	struct np_hist *hist;
	struct np_moments m;
};

static void add(struct set *s, double sec, unsigned n)
{
	struct np_moments one = {
		.n = 1,
		.mean = sec,
		.min = sec,
		.max = sec,
	};

	if (!s->hist)
		s->hist = np_hist_new();
	for (; n; n--) {
		np_hist_add_bin(s->hist, np_hist_bin_of(sec), 1);
		np_moments_merge(&s->m, &one);
	}
}

static struct np_verdict judge(const struct set *s, const struct set *idle)
{
	struct np_verdict_in in = { .hist = s->hist, .moments = s->m };
	struct np_verdict v;

	if (idle) {
		in.idle_hist = idle->hist;
		in.idle_moments = idle->m;
	}
	np_verdict_make(&in, &v);
	return v;
}

/* ---- real latencies of known loads ---- */

#define MAX_LOADS 20
#define N_EDGES 60

static struct set loads[MAX_LOADS];
static size_t n_loads;
static double edges_us[N_EDGES];

/* The samples of a bin, spread evenly over it. */
static void read_load(char *line)
{
	struct set *s = &loads[n_loads++];
	double n, mean, sd, min, lo = 0;
	int at = 0;

	sscanf(line, "load %31s %lf %lf %lf %lf %lf%n", s->name,
	       &s->utilisation, &n, &mean, &sd, &min, &at);
	line += at;
	s->hist = np_hist_new();
	for (int b = 0; b < N_EDGES; b++) {
		long count = strtol(line, &line, 10);

		for (long i = 0; i < count; i++)
			np_hist_add_bin(
				s->hist,
				np_hist_bin_of(1e-6 * (lo + (edges_us[b] - lo) *
								    (i + 0.5) /
								    count)),
				1);
		lo = edges_us[b];
	}
	s->m = (struct np_moments){
		.n = (uint64_t)n,
		.mean = 1e-6 * mean,
		.min = 1e-6 * min,
		.max = 1,
		.m2 = 1e-12 * sd * sd * (n - 1),
	};
}

static void read_loads(void)
{
	FILE *f = fopen(t_data("leaf-latencies.txt"), "r");
	char line[2000], *p;

	n_loads = 0;
	while (f && fgets(line, sizeof(line), f) && n_loads < MAX_LOADS) {
		if (!strncmp(line, "edges ", 6)) {
			p = line + 6;
			for (int i = 0; i < N_EDGES; i++)
				edges_us[i] = strtod(p, &p);
		} else if (!strncmp(line, "load ", 5)) {
			read_load(line);
		}
	}
	if (f)
		fclose(f);
}

static void free_loads(void)
{
	for (size_t i = 0; i < n_loads; i++)
		np_hist_free(loads[i].hist);
	memset(loads, 0, sizeof(loads));
}

/* The first is idle; the others follow by their utilisation. */
T_TEST("real loads of known utilisation get their words")
{
	read_loads();
	T_CHECK(n_loads == 15 && !strcmp(loads[0].name, "idle"));
	for (size_t i = 0; i < n_loads; i++) {
		struct np_verdict v = judge(&loads[i], &loads[0]);
		double u = loads[i].utilisation;

		T_ROW(loads[i].name, v.against == NP_AGAINST_IDLE);
		if (u == 0)
			T_ROW(loads[i].name, v.use == NP_USE_LIGHT);
		else if (u < 0.3)
			T_ROW(loads[i].name, v.use == NP_USE_LIGHT ||
						     v.use == NP_USE_MODERATE);
		else if (u < 0.55)
			T_ROW(loads[i].name, v.use == NP_USE_MODERATE ||
						     v.use == NP_USE_HEAVY);
		else
			T_ROW(loads[i].name,
			      v.use == (u < 0.95 ? NP_USE_HEAVY :
						   NP_USE_SATURATED));
	}
	free_loads();
}

/* Kendall: how many pairs of loads does the share put in the right order? */
T_TEST("the share of delayed probes follows the utilisation")
{
	int right = 0, wrong = 0;

	read_loads();
	for (size_t i = 0; i < n_loads; i++)
		for (size_t k = 0; k < i; k++) {
			double a = judge(&loads[i], &loads[0]).delayed_share;
			double b = judge(&loads[k], &loads[0]).delayed_share;

			if (loads[i].utilisation - loads[k].utilisation < 0.05)
				continue;
			right += a > b;
			wrong += a <= b;
		}
	T_CHECK(right > 80 && right >= 12 * wrong);
	free_loads();
}

/* ---- made-up ones ---- */

static struct set idle_us(double mean, double sd)
{
	struct set s = { .name = "idle" };
	struct t_rng g = { 3 };

	for (int i = 0; i < 1000; i++)
		add(&s, 1e-6 * (mean + sd * 1.7 * (2 * t_uniform(&g) - 1)), 1);
	return s;
}

/* clang-format off */
static const struct {
	const char *name;
	double idle_sd_us;	/* of an idle network with a mean of 10 us */
	double us[3];		/* latencies of the program ... */
	unsigned n[3];		/* ... and how many of each */
	enum np_use use;
} made[] = {
	{ "as idle",                  1,    { 10 },          { 1000 },
	  NP_USE_LIGHT },
	{ "faster than idle",         1,    { 5 },           { 1000 },
	  NP_USE_LIGHT },
	{ "a few are delayed",        1,    { 10, 30 },      { 950, 50 },
	  NP_USE_LIGHT },
	{ "a quarter is delayed",     1,    { 10, 30 },      { 750, 250 },
	  NP_USE_MODERATE },
	{ "half are delayed",         1,    { 10, 30 },      { 500, 500 },
	  NP_USE_HEAVY },
	{ "all wait long",            1,    { 1000 },        { 1000 },
	  NP_USE_SATURATED },
	{ "all wait a little",        1,    { 16 },          { 1000 },
	  NP_USE_HEAVY },
	{ "one lost packet",          1,    { 10, 200000 },  { 999, 1 },
	  NP_USE_LIGHT },
	{ "3 % slower, very quiet idle", 0.01, { 10.3 },     { 1000 },
	  NP_USE_LIGHT },
	{ "within the noise of idle", 5,    { 12 },          { 1000 },
	  NP_USE_LIGHT },
	{ "too few probes",           1,    { 1000 },        { 29 },
	  NP_USE_UNKNOWN },
	{ "no probes",                1,    { 0 },           { 0 },
	  NP_USE_UNKNOWN },
};
/* clang-format on */

T_TEST("neither one lost packet nor a tiny shift is heavy use")
{
	T_EACH(r, made) {
		struct set idle = idle_us(10, r->idle_sd_us);
		struct set s = { .name = "" };
		struct np_verdict v;

		for (int k = 0; k < 3; k++)
			add(&s, 1e-6 * r->us[k], r->n[k]);
		v = judge(&s, &idle);
		T_ROW(r->name, v.use == r->use);
		T_ROW(r->name, v.against == (v.use ? NP_AGAINST_IDLE :
						     NP_AGAINST_NOTHING));
		np_hist_free(idle.hist);
		np_hist_free(s.hist);
	}
}

/* One idle probe in a hundred met a busy processor. */
T_TEST("slow probes of the idle network do not hide heavy use")
{
	struct set idle = { .name = "idle" }, light = idle, heavy = idle;
	struct np_verdict v;

	add(&idle, 20e-6, 220);
	add(&idle, 28e-3, 2);
	add(&light, 20e-6, 220);
	add(&light, 28e-3, 1);
	add(&heavy, 20e-6, 10);
	add(&heavy, 2.5e-3, 150);
	v = judge(&light, &idle);
	T_CHECK(v.use == NP_USE_LIGHT && v.utilisation == 0);
	v = judge(&heavy, &idle);
	T_CHECK(v.use == NP_USE_SATURATED && v.utilisation > 0.95);
	v = judge(&idle, &idle);
	T_CHECK(v.use == NP_USE_LIGHT && v.utilisation == 0);
	np_hist_free(idle.hist);
	np_hist_free(light.hist);
	np_hist_free(heavy.hist);
}

T_TEST("idle against itself is light")
{
	struct set idle = idle_us(10, 3);
	struct np_verdict v = judge(&idle, &idle);

	T_CHECK(v.use == NP_USE_LIGHT && v.delayed_share == 0 &&
		v.utilisation == 0);
	T_CHECK(fabs(v.beyond_p95 - 0.05) < 0.005);
	T_CHECK(fabs(v.beyond_p99 - 0.01) < 0.005);
	T_CHECK(v.excess == 0 && !v.interference);
	np_hist_free(idle.hist);
}

/* ---- two witnesses ---- */

enum delays { FEW_PROBES, NO_DELAYS, SOME_DELAYS, ALL_DELAYED };
enum baseline { NONE, FEW, IDLE, BUSY, SHARED };

static const struct witnesses {
	const char *name;
	enum delays delays;
	enum baseline baseline;
	double rate; /* of a node, bytes/s; -1: not counted */
	double link;
	enum np_use use;
	enum np_doubt doubt;
	double capacity; /* of a node; the leaf switch carries 4 times as much */
} witnesses[] = {
	{ "sends nothing, no delays: light", NO_DELAYS, IDLE, 0, 0,
	  NP_USE_LIGHT, NP_DOUBT_NONE },
	{ "sends nothing, delays: never moderate", SOME_DELAYS, IDLE, 0, 0,
	  NP_USE_UNKNOWN, NP_DOUBT_SILENT },
	{ "sends nothing, all delayed: never heavy", ALL_DELAYED, IDLE, 0, 0,
	  NP_USE_UNKNOWN, NP_DOUBT_SILENT },
	{ "sends next to nothing: never heavy", ALL_DELAYED, IDLE, 49e3, 0,
	  NP_USE_UNKNOWN, NP_DOUBT_SILENT },
	{ "sends little, all delayed: what the latencies say", ALL_DELAYED,
	  IDLE, 51e3, 0, NP_USE_SATURATED, NP_DOUBT_NONE },
	{ "sends much, some delayed: what the latencies say", SOME_DELAYS, IDLE,
	  1e7, 0, NP_USE_MODERATE, NP_DOUBT_NONE },
	{ "sends much, no delays: a network that is wide", NO_DELAYS, IDLE, 1e7,
	  1.25e9, NP_USE_LIGHT, NP_DOUBT_NONE },
	{ "a full link is never light", NO_DELAYS, IDLE, 1.1e9, 1.25e9,
	  NP_USE_UNKNOWN, NP_DOUBT_FULL },
	{ "a full link with delays", ALL_DELAYED, IDLE, 1.1e9, 1.25e9,
	  NP_USE_SATURATED, NP_DOUBT_NONE },
	{ "without an idle network a sleeper is not called heavy", ALL_DELAYED,
	  NONE, 0, 0, NP_USE_UNKNOWN, NP_DOUBT_BASELINE },
	{ "without an idle network nothing is called light", NO_DELAYS, NONE,
	  1e7, 0, NP_USE_UNKNOWN, NP_DOUBT_BASELINE },
	{ "too few probes of idle are no baseline", ALL_DELAYED, FEW, 1e7, 0,
	  NP_USE_UNKNOWN, NP_DOUBT_BASELINE },
	{ "an idle run that sent much is no baseline", NO_DELAYS, BUSY, 1e7, 0,
	  NP_USE_UNKNOWN, NP_DOUBT_BASELINE },
	{ "nothing is light compared with an idle network that others used",
	  NO_DELAYS, SHARED, 1e7, 0, NP_USE_UNKNOWN, NP_DOUBT_BASELINE },
	{ "nor if bytes were not counted", NO_DELAYS, SHARED, -1, 0,
	  NP_USE_UNKNOWN, NP_DOUBT_BASELINE },
	{ "what sends nothing is light also there", NO_DELAYS, SHARED, 0, 0,
	  NP_USE_LIGHT, NP_DOUBT_NONE },
	{ "delays beyond one that others used are delays", ALL_DELAYED, SHARED,
	  1e7, 0, NP_USE_SATURATED, NP_DOUBT_NONE },
	{ "too few probes of the program", FEW_PROBES, IDLE, 0, 0,
	  NP_USE_UNKNOWN, NP_DOUBT_PROBES },
	{ "one witness alone guesses", ALL_DELAYED, IDLE, -1, 0,
	  NP_USE_SATURATED, NP_DOUBT_NONE },
	{ "one witness without an idle network knows nothing", ALL_DELAYED,
	  NONE, -1, 0, NP_USE_UNKNOWN, NP_DOUBT_BASELINE },
	{ "all delayed, but the links were idle most of the time", ALL_DELAYED,
	  IDLE, 1e6, 0, NP_USE_UNKNOWN, NP_DOUBT_TRAFFIC, 1e7 },
	{ "all delayed, and always some link may have been busy", ALL_DELAYED,
	  IDLE, 3.4e6, 0, NP_USE_SATURATED, NP_DOUBT_NONE, 1e7 },
	{ "all delayed, and nearly always some link may have been busy",
	  ALL_DELAYED, IDLE, 3.3e6, 0, NP_USE_SATURATED, NP_DOUBT_NONE, 1e7 },
	{ "as many delayed as the traffic can delay, and a few", SOME_DELAYS,
	  IDLE, 6e5, 0, NP_USE_MODERATE, NP_DOUBT_NONE, 1e7 },
	{ "many more delayed than the traffic can delay", SOME_DELAYS, IDLE,
	  2e5, 0, NP_USE_UNKNOWN, NP_DOUBT_TRAFFIC, 1e7 },
	{ "no delays need no traffic", NO_DELAYS, IDLE, 1e6, 0, NP_USE_LIGHT,
	  NP_DOUBT_NONE, 1e7 },
	{ "traffic that was not counted limits nothing", ALL_DELAYED, IDLE, -1,
	  0, NP_USE_SATURATED, NP_DOUBT_NONE, 1e7 },
};

static struct set some_latencies(enum delays delays)
{
	struct set s = { .name = "" };

	add(&s, 1e-5,
	    delays == FEW_PROBES  ? 29 :
	    delays == NO_DELAYS	  ? 1000 :
	    delays == SOME_DELAYS ? 750 :
				    1);
	if (delays == SOME_DELAYS)
		add(&s, 3e-5, 250);
	if (delays == ALL_DELAYED)
		add(&s, 1e-3, 999);
	return s;
}

T_TEST("a verdict takes latencies, bytes and an idle network")
{
	for (size_t i = 0; i < NP_ARRAY_SIZE(witnesses); i++) {
		const struct witnesses *w = &witnesses[i];
		struct set app = some_latencies(w->delays);
		struct set few = { .name = "" }, idle = idle_us(10, 1);
		const struct set *base = w->baseline == FEW ? &few : &idle;
		struct np_verdict_in in = {
			.hist = app.hist,
			.moments = app.m,
			.link = w->link,
			.capacity = { w->capacity, 4 * w->capacity },
			.leaf_nodes = 4,
			.idle_shared = w->baseline == SHARED,
			.idle_traffic = { 10,
					  10 * (w->baseline == BUSY ? 1e6 :
								      99e4) },
		};
		struct np_verdict v;

		add(&few, 1e-5, 29);
		if (w->rate >= 0)
			in.traffic =
				(struct np_verdict_traffic){ 20, 20 * w->rate };
		if (w->baseline != NONE) {
			in.idle_hist = base->hist;
			in.idle_moments = base->m;
		}
		np_verdict_make(&in, &v);
		T_ROW(w->name, v.use == w->use);
		T_ROW(w->name, v.doubt == w->doubt);
		T_ROW(w->name, v.guess == (v.use && w->rate < 0));
		T_ROW(w->name, w->rate < 0 ? isnan(v.rate) :
					     t_close(v.rate, w->rate, 1e-9));
		T_ROW(w->name,
		      v.doubt != NP_DOUBT_BASELINE ||
			      v.against == (w->baseline == SHARED ?
						    NP_AGAINST_IDLE :
						    NP_AGAINST_NOTHING));
		np_hist_free(app.hist);
		np_hist_free(idle.hist);
		np_hist_free(few.hist);
	}
}

T_TEST("traffic delays no more probes than find a busy link")
{
	static const struct {
		const char *name;
		double node, leaf, rate, leaf_nodes, want;
	} rows[] = {
		{ "a tenth of four links", 1e7, 1e15, 2e6, 4, 0.4 },
		{ "a leaf switch, crossed twice", 1e15, 1e7, 2e5, 4, 0.08 },
		{ "both", 1e7, 4e7, 1e6, 4, 0.3 },
		{ "more nodes on the leaf switch", 1e7, 4e7, 1e6, 8, 0.4 },
		{ "no traffic", 1e7, 4e7, 0, 4, 0 },
		{ "links that are always busy", 1e7, 4e7, 2e7, 4, 1 },
		{ "traffic not counted", 1e7, 4e7, NAN, 4, 1 },
		{ "links not known", 0, 4e7, 1e6, 4, 1 },
		{ "leaf switch not known", 1e7, 0, 1e6, 4, 1 },
		{ "nodes not known", 1e7, 4e7, 1e6, 0, 1 },
	};

	T_EACH(r, rows) {
		const struct np_verdict_capacity capacity = { r->node,
							      r->leaf };

		T_ROW(r->name, fabs(np_verdict_traffic_share(&capacity, r->rate,
							     r->leaf_nodes) -
				    r->want) < 1e-6);
	}
}

T_TEST("phases and interference are passed on")
{
	struct np_verdict_in in = {
		.phases = { .kind = NP_PHASE_PHASES, .busy_share = 0.6 },
		.n_level_runs = 2,
	};
	struct np_verdict v;

	np_verdict_make(&in, &v);
	T_CHECK(v.use == NP_USE_UNKNOWN && v.phases == NP_PHASE_PHASES);
	T_CHECK(v.busy_share == 0.6 && v.interference);
}

T_TEST("latencies of zero give no verdict")
{
	struct set zero = { .name = "" };
	struct np_verdict v;

	add(&zero, 0, 100);
	v = judge(&zero, &zero);
	T_CHECK(v.use == NP_USE_UNKNOWN);
	np_hist_free(zero.hist);
}

T_TEST("the share slower than a latency")
{
	struct set s = { .name = "" };

	for (int i = 1; i <= 1000; i++)
		add(&s, i * 1e-6, 1);
	T_CHECK(fabs(np_verdict_slower(s.hist, 0) - 1) < 1e-9);
	T_CHECK(fabs(np_verdict_slower(s.hist, 500e-6) - 0.5) < 0.02);
	T_CHECK(fabs(np_verdict_slower(s.hist, 900e-6) - 0.1) < 0.02);
	T_CHECK(np_verdict_slower(s.hist, 2e-3) == 0);
	T_CHECK(np_verdict_slower(s.hist, INFINITY) == 0);
	np_hist_free(s.hist);
	s.hist = np_hist_new();
	T_CHECK(np_verdict_slower(s.hist, 1e-6) == 0);
	np_hist_free(s.hist);
}
