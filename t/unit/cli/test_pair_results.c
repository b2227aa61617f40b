/* What runs say of pairs. */
#include "t.h"
#include "cli_measured.h"

static void begin(struct np_pairs *p)
{
	*p = (struct np_pairs){ .n_programs = 2,
				.program = calloc(2, sizeof(*p->program)) };
	strcpy(p->program[0].name, "a");
	strcpy(p->program[1].name, "b");
}

static void add(struct np_pairs *p, enum np_pairs_kind kind, const char *victim,
		const char *corunner, double start, double sec)
{
	const struct np_pairs_run r = {
		.kind = kind,
		.victim = strdup(victim),
		.start = start,
		.corunner = corunner ? strdup(corunner) : NULL,
		.sec = sec,
	};

	T_CHECK(!np_pairs_add(p, &r));
}

/* 10 s alone at first, and 20 s an hour later; 1 s of each is the launch. */
static void drifts(struct np_pairs *p)
{
	begin(p);
	add(p, NP_PAIRS_LAUNCH, "a", NULL, 0, 1);
	add(p, NP_PAIRS_LAUNCH, "a", NULL, 0, 9);
	add(p, NP_PAIRS_LAUNCH, "a", NULL, 0, 1);
	add(p, NP_PAIRS_ALONE, "a", NULL, 100, 11);
	add(p, NP_PAIRS_ALONE, "a", NULL, 3700, 21);
}

T_TEST("the run alone that is nearest in time counts")
{
	struct cli_pair_results r;
	struct np_pairs p;

	drifts(&p);
	add(&p, NP_PAIRS_LEAF, "a", "b", 200, 16);
	add(&p, NP_PAIRS_LEAF, "a", "b", 3600, 29);
	cli_pair_results_compute(&p, &r);
	/* 15/10 and 28/20 of what it took at that time. */
	T_CHECK(r.pair[1].slowdown.n == 2 &&
		t_close(r.pair[1].slowdown.mean, 0.45, 1e-12));
	T_CHECK(t_close(r.pair[1].repeat_difference, 0.1, 1e-9));
	T_CHECK(r.n_pairs == 1 && r.n_repeated == 1 &&
		t_close(r.repeat_points, 10, 1e-9));
	T_CHECK(t_close(r.app[0].launch_sec, 1, 1e-12) &&
		t_close(r.app[0].alone_sec.mean, 15, 1e-12));
	T_CHECK(t_close(r.app[0].drift, 10.0 / 15, 1e-12) &&
		isnan(r.app[1].drift));
	T_CHECK(!r.pair[0].slowdown.n && !r.pair[2].slowdown.n);
	cli_pair_results_free(&r);
	np_pairs_free(&p);
}

static const struct {
	const char *name;
	double apart_sec; /* of 11 alone, launch included */
	bool rejected;
	double slowdown;
} controls[] = {
	{ "what is left under two leaves is taken off", 11.4, false, 0.46 },
	{ "also if it is less than nothing", 10.8, false, 0.52 },
	{ "too much of it, and the pair is refused", 12, true, 0 },
	{ "too little of it, too", 10, true, 0 },
};

T_TEST("controls are taken off, or refuse a pair")
{
	T_EACH(row, controls) {
		struct cli_pair_results r;
		const struct cli_pair_result *pair;
		struct np_pairs p;

		drifts(&p);
		add(&p, NP_PAIRS_LEAF, "a", "b", 200, 16);
		add(&p, NP_PAIRS_APART, "a", "b", 220, row->apart_sec);
		cli_pair_results_compute(&p, &r);
		pair = &r.pair[1];
		T_ROW(row->name, pair->rejected == row->rejected &&
					 r.n_rejected == row->rejected &&
					 r.n_controls == 1);
		T_ROW(row->name, pair->slowdown.n == !row->rejected);
		T_ROW(row->name, row->rejected || t_close(pair->slowdown.mean,
							  row->slowdown, 1e-9));
		cli_pair_results_free(&r);
		np_pairs_free(&p);
	}
}

T_TEST("without runs nothing is known")
{
	struct cli_pair_results r;
	struct np_pairs p;

	begin(&p);
	add(&p, NP_PAIRS_LEAF, "a", "b", 200, 16);
	cli_pair_results_compute(&p, &r);
	T_CHECK(!r.n_pairs && !r.pair[1].slowdown.n && isnan(r.repeat_points) &&
		isnan(r.control_mean) && isnan(r.control_max));
	cli_pair_results_store(&r, &p);
	T_CHECK(!p.together[1].n && !p.alone_sec[0].n && !p.apart[3].n);
	cli_pair_results_free(&r);
	np_pairs_free(&p);
}
