#include "some_runs.h"

#define LEVELS "\"c1\",\"c4\""
#define RATE 1e6
#define ROUND_SEC 0.1

static struct np_moments rounds(double sec)
{
	return (struct np_moments){ 20, sec, 0, sec, sec };
}

static void add_interval(struct np_record *r, const char *level, double slowed,
			 double level_slowed)
{
	r->intervals[r->n_intervals++] = (struct np_run_interval){
		level ? strdup(level) : NULL,
		(double)r->n_intervals * 3,
		2.5,
		RATE / (1 + slowed),
		NAN,
		level ? rounds(ROUND_SEC * (1 + level_slowed)) :
			(struct np_moments){ 0 },
	};
}

/* Levels c1, c4 and c9 in turn, thrice; c1 slows by 0.2, c4 by 0.5. */
static struct np_record *intervals_of(double noise)
{
	struct np_record *r = t_run_alone(60);
	double sign = 1;

	r->intervals_scope = strdup("leaf");
	r->intervals_nodes = 4;
	r->intervals = calloc(32, sizeof(*r->intervals));
	add_interval(r, NULL, 0, 0);
	for (int i = 0; i < 3; i++, sign = -sign) {
		add_interval(r, "c1", 0.2 + sign * noise, 0.3);
		add_interval(r, NULL, 0, 0);
		add_interval(r, "c4", 0.5 - sign * noise, 0.6);
		add_interval(r, NULL, 0, 0);
	}
	add_interval(r, "c9", 3, 0);
	add_interval(r, NULL, 0, 0);
	return r;
}

static void lead(struct np_record *r)
{
	static const char *const level[] = { "c1", "c4" };

	r->intervals_alone = calloc(2, sizeof(*r->intervals_alone));
	for (; r->n_intervals_alone < 2; r->n_intervals_alone++)
		r->intervals_alone[r->n_intervals_alone] =
			(struct np_run_interval){
				.level = strdup(level[r->n_intervals_alone]),
				.sec = 1,
				.round_sec = rounds(ROUND_SEC),
			};
}

static struct np_record *add_loaded(struct some *a, double sec,
				    const char *level)
{
	struct np_record *r = add_run(a, t_run_alone(sec));

	r->level = calloc(1, sizeof(*r->level));
	r->level->name = strdup(level);
	r->level->scope = strdup("leaf");
	r->level->nodes = strdup("n1");
	return r;
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

T_TEST("one run gives curve, impact and latencies")
{
	struct np_mean *m;

	lead(add_run(&some, intervals_of(0.01)));
	make(&some, true);
	T_CHECK(some.e.use[0] == NP_RUN_INTERVALS && some.e.n_used == 1);
	T_CHECK(some.e.intervals.verdict == NP_ONE_RUN_USABLE);
	T_CHECK(some.e.n_curve == 2 && some.e.n_impact == 2);
	m = some.e.mean;
	T_CHECK(t_close(m[0].mean, 0.2, 0.03) && t_close(m[1].mean, 0.5, 0.03));
	T_CHECK(t_close(m[2].mean, 0.3, 1e-9) && t_close(m[3].mean, 0.6, 1e-9));
	T_CHECK(some.e.level[0].of_intervals && some.e.level[1].of_intervals);
	T_CHECK(some.e.level[0].low < 0.2 && 0.2 < some.e.level[0].high);
	T_CHECK(isnan(some.e.intervals_longer));
	T_ROW("its latencies count", some.e.program.latency.all.n == 100);
	T_CHECK(np_program_check(&some.e.program, some.c.fabric, NULL) == 0);
}

/* Of the two, what is known better. */
T_TEST("of intervals and whole runs the better counts")
{
	add_run(&some, intervals_of(0.08));
	for (int i = 0; i < 3; i++) {
		add_run(&some, t_run_alone(10 + 0.01 * i));
		add_loaded(&some, 12.5 + 0.01 * i, "c1");
	}
	make(&some, true);
	T_ROW("how much longer the run with intervals took",
	      t_close(some.e.intervals_longer, 60 / 10.01 - 1, 1e-6));
	T_ROW("whole runs that agree",
	      !some.e.level[0].of_intervals &&
		      t_close(some.e.level[0].slowdown.mean, 0.25, 0.01));
	T_ROW("intervals where there are no runs",
	      some.e.level[1].of_intervals &&
		      t_close(some.e.level[1].slowdown.mean, 0.5, 0.08));
}

/* That a whole run's time is known well says nothing of other runs. */
T_TEST("intervals of three runs say more than one whole run")
{
	add_run(&some, t_run_alone(10));
	add_loaded(&some, 12.5, "c1");
	add_run(&some, intervals_of(0.01));
	make(&some, true);
	T_ROW("one run each", !some.e.level[0].of_intervals);
	np_run_summary_free(&some.e);
	add_run(&some, intervals_of(0.01));
	add_run(&some, intervals_of(0.01));
	make(&some, true);
	T_ROW("three with intervals",
	      some.e.level[0].of_intervals &&
		      t_close(some.e.level[0].slowdown.mean, 0.2, 0.03));
}

T_TEST("intervals that do not agree give no curve")
{
	lead(add_run(&some, intervals_of(0.6)));
	make(&some, true);
	T_CHECK(some.e.intervals.verdict == NP_ONE_RUN_SCATTER);
	T_CHECK(!some.e.n_curve && some.e.n_impact == 2);
}

/* The intervals say that c1 slows by 0.2, and c4 by 0.5. */
T_TEST("whole runs that say something else refute the intervals")
{
	static const struct {
		const char *name;
		double c1, c4; /* slowdowns of whole runs; 0: no such run */
		bool refuted;
	} rows[] = {
		{ "whole runs that agree", 0.22, 0.47, false },
		{ "a small difference under one of two levels", 0.2, 0.7,
		  false },
		{ "more under both levels", 0.4, 0.8, true },
		{ "less under both levels", 0.01, 0.25, true },
		{ "more under one of two levels", 0.2, 1.2, true },
		{ "whole runs under a single level", 0.8, 0, false },
		{ "no whole run under a level", 0, 0, false },
	};

	T_EACH(r, rows) {
		set_up();
		add_run(&some, intervals_of(0.01));
		add_run(&some, t_run_alone(10));
		if (r->c1 > 0)
			add_loaded(&some, 10 * (1 + r->c1), "c1");
		if (r->c4 > 0)
			add_loaded(&some, 10 * (1 + r->c4), "c4");
		make(&some, true);
		T_ROW(r->name, some.e.intervals.verdict ==
				       (r->refuted ? NP_ONE_RUN_REFUTED :
						     NP_ONE_RUN_USABLE));
		if (r->refuted)
			T_ROW(r->name, !some.e.level[0].of_intervals &&
					       !some.e.level[1].of_intervals &&
					       t_close(some.e.mean[0].mean,
						       r->c1, 1e-3) &&
					       t_close(some.e.mean[1].mean,
						       r->c4, 1e-3));
		T_ROW(r->name, some.e.n_curve == 2);
	}
}

/* Rounds alone of one run, intervals of another. */
T_TEST("rounds alone may be another run's")
{
	struct np_record *r;

	lead(add_run(&some, intervals_of(0.01)));
	r = add_run(&some, intervals_of(0.01));
	make(&some, true);
	T_CHECK(some.e.level[0].impact.n == 2);
	T_ROW("none of levels on another number of nodes",
	      np_run_intervals_alone(&some.e, r, "c1", 4) &&
		      !np_run_intervals_alone(&some.e, r, "c1", 5) &&
		      !np_run_intervals_alone(&some.e, r, "c9", 4));
}

/* Pages list the levels that occur, each at its scope. */
T_TEST("levels at another scope are others")
{
	struct np_record *r;

	add_run(&some, intervals_of(0.01));
	add_run(&some, t_run_alone(10));
	r = add_loaded(&some, 30, "c1");
	free(r->level->scope);
	r->level->scope = strdup("node");
	make(&some, false);
	T_CHECK(some.e.n_levels == 4); /* c1 twice, c4, c9 */
	for (size_t i = 0; i < some.e.n_levels; i++) {
		const struct np_run_summary_level *l = &some.e.level[i];

		T_CHECK(l->of_intervals == (strcmp(l->scope, "leaf") == 0 &&
					    np_mean_known(&l->slowdown)));
		if (!strcmp(l->scope, "node"))
			T_CHECK(t_close(l->slowdown.mean, 2, 1e-9));
	}
}

T_TEST("damaged and failed runs do no harm")
{
	struct np_record *r;

	r = add_run(&some, intervals_of(0.01));
	r->exit_code = 1;
	r = add_run(&some, intervals_of(0.01));
	free(r->intervals_scope);
	r->intervals_scope = strdup("node");
	r = add_run(&some, intervals_of(0.01));
	r->intervals[0].sec = -1; /* of a record that somebody wrote */
	r->intervals[2].rate = -1;
	make(&some, true);
	T_CHECK(some.e.use[0] == NP_RUN_FAILED &&
		some.e.use[1] == NP_RUN_SCOPE);
	T_CHECK(some.e.use[2] == NP_RUN_INTERVALS &&
		some.e.intervals.n_runs <= 1);
}

T_TEST("levels of intervals count when a workload is chosen")
{
	struct np_record *r;

	add_run(&some, intervals_of(0.01));
	r = add_loaded(&some, 30, "c1");
	free(r->fingerprint);
	r->fingerprint = strdup("other");
	make(&some, true);
	T_CHECK(some.e.use[0] == NP_RUN_INTERVALS);
	T_CHECK(some.e.use[1] == NP_RUN_WORKLOAD);
}
