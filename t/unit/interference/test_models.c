/* What each model answers where the answer can be worked out by hand. */
#include "np_model.h"
#include "some_prediction.h"

/* p[c] is level c in all it does, so p[v] with it is on p[v]'s curve. */
static const struct {
	const char *name, *model;
	double within; /* relative error */
} exact[] = {
	{ "average finds the level", "average", 1e-12 },
	{ "average-stdev finds the level", "average-stdev", 1e-12 },
	{ "pdf finds the level", "pdf", 1e-12 },
	{ "mixture weighs it 1", "mixture", 1e-3 },
	{ "cross weighs it 1", "cross", 1e-9 },
	{ "victim is one level", "victim", 1e-9 },
	{ "twosided has nothing to correct", "twosided", 1e-6 },
	{ "mutual knows both halves", "mutual", 1e-6 },
};

T_FIXTURE(fresh, NULL);

T_TEST("a program that is like a level is predicted exactly")
{
	struct np_prediction p;

	T_EACH(r, exact) {
		int ok = 1;

		for (size_t v = 0; v < SF_PROGRAMS; v++)
			for (size_t c = 0; c < SF_PROGRAMS; c++)
				ok = ok &&
				     !some_predict(&s, r->model, v, c, 0, &p,
						   NULL) &&
				     t_close(p.slowdown, s.curve[v][c].mean,
					     r->within);
		T_ROW(r->name, ok);
	}
}

/* Half the time idle, half the time level 1. */
static void make_phased(struct some_fabric *f)
{
	some_fabric(f);
	for (size_t i = 0; i < SF_LEVELS; i++)
		f->impact[3][i].mean =
			exp(0.5 * log1p(f->pairs[i * SF_LEVELS + 1].mean)) - 1;
	memset(f->program_count[3], 0, sizeof(f->program_count[3]));
	f->program_count[3][0] = f->program_count[3][2] = 50;
}

static const struct {
	const char *name, *model;
	double want;
} halves[] = {
	{ "mixture averages speeds", "mixture", 1 / (0.5 + 0.5 / 1.3) - 1 },
	{ "cross averages speeds", "cross", 1 / (0.5 + 0.5 / 1.3) - 1 },
};

/* p2 under level 1 has a slowdown of 0.3. */
T_TEST("half idle, half level: each average as it is defined")
{
	struct np_prediction p;

	make_phased(&s);
	T_EACH(r, halves)
		T_ROW(r->name, !some_predict(&s, r->model, 2, 3, 0, &p, NULL) &&
				       t_close(p.slowdown, r->want, 1e-3));
}

/* Three times the impact of the strongest level, in logarithms. */
T_TEST("cross ends at the strongest level")
{
	struct np_prediction p;

	for (size_t i = 0; i < SF_LEVELS; i++)
		s.impact[3][i].mean =
			exp(3 * log1p(s.pairs[i * SF_LEVELS + 3].mean)) - 1;
	T_CHECK(!some_predict(&s, "cross", 2, 3, 0, &p, NULL));
	T_CHECK(p.flags & NP_PRED_BEYOND);
	T_CHECK(p.slowdown <= s.curve[2][3].mean + 1e-9);
}

T_TEST("zero needs no data at all")
{
	struct np_prediction p;

	s.a[0].curve = NULL;
	s.a[3].latency.all.n = 0;
	T_CHECK(!some_predict(&s, "zero", 0, 3, 10, &p, NULL) &&
		p.slowdown == 0 && isnan(p.low) &&
		p.flags == NP_PRED_NO_INTERVAL);
}

/* --- look-ups --- */

T_TEST("look-ups break ties by mean, then by order")
{
	struct np_prediction p;

	/* As far from level 0 (2) as from level 1 (4): the earlier one. */
	some_fabric(&s);
	s.a[3].latency.all = (struct np_moments){ 100, 3, 9, 2, 4 };
	T_CHECK(!some_predict(&s, "average", 2, 3, 0, &p, NULL) &&
		t_close(p.slowdown, s.curve[2][0].mean, 1e-12));
	/* Equal overlaps go to the nearer mean, not to the earlier level. */
	s.level[0].latency = s.level[1].latency = s.a[3].latency;
	s.level[0].latency.all.mean = 3.5;
	s.level[0].latency.all.m2 = 99 * 100;
	s.level[1].latency.all.m2 = 99 * 100;
	T_CHECK(!some_predict(&s, "average-stdev", 2, 3, 0, &p, NULL) &&
		t_close(p.slowdown, s.curve[2][1].mean, 1e-12));
}

static const struct {
	const char *name, *model;
} overlaps[] = {
	{ "no interval overlaps: nearest mean", "average-stdev" },
	{ "no bin in common: nearest mean", "pdf" },
};

T_TEST("look-ups without overlap take the nearest mean, and say so")
{
	struct np_prediction p;

	T_EACH(r, overlaps) {
		some_fabric(&s);
		memset(s.program_count[3], 0, sizeof(s.program_count[3]));
		s.program_count[3][5] = 100;
		s.a[3].latency.all = (struct np_moments){ 100, 40, 0, 40, 40 };
		T_ROW(r->name,
		      !some_predict(&s, r->model, 2, 3, 0, &p, NULL) &&
			      t_close(p.slowdown, s.curve[2][3].mean, 1e-12) &&
			      p.flags & NP_PRED_NO_OVERLAP &&
			      p.flags & NP_PRED_BEYOND);
	}
}

/* --- both halves --- */

/* Programs like levels 2 and 3, but all that 2 suffers slows its traffic. */
T_TEST("mutual reads what the co-runner suffers, twosided does not")
{
	struct np_prediction before, after;

	T_CHECK(!some_predict(&s, "mutual", 3, 2, 0, &before, NULL));
	for (size_t i = 0; i < SF_LEVELS; i++)
		s.curve[2][i].mean *= 4;
	T_CHECK(!some_predict(&s, "mutual", 3, 2, 0, &after, NULL));
	/* What was measured under levels now is that of a slowed program. */
	T_CHECK(fabs(after.slowdown - before.slowdown) >
		0.01 * before.slowdown);
	T_CHECK(!some_predict(&s, "twosided", 3, 2, 0, &before, NULL));
	for (size_t i = 0; i < SF_LEVELS; i++)
		s.curve[2][i].mean /= 4;
	T_CHECK(!some_predict(&s, "twosided", 3, 2, 0, &after, NULL) &&
		after.slowdown == before.slowdown);
}

/*
 * A co-runner that nothing slows is level 3 for half of what levels feel. The
 * victim, which slows nothing, takes a hundred times as long under that level.
 */
T_TEST("mutual averages how many times as long the victim takes")
{
	struct np_prediction p;

	for (size_t i = 0; i < SF_LEVELS; i++) {
		double z, ignored;

		np_slowdowns_at_full_rate(
			log1p(s.pairs[i * SF_LEVELS + 3].mean),
			log1p(s.pairs[3 * SF_LEVELS + i].mean), &z, &ignored);
		s.impact[3][i].mean = pow(1 + z / 4, 2) - 1;
		s.curve[3][i].mean = s.impact[2][i].mean = 0;
	}
	s.curve[2][3].mean = 99;
	T_CHECK(!some_predict(&s, "mutual", 2, 3, 0, &p, NULL) &&
		t_close(p.slowdown, 9, 1e-6));
}

/* --- names --- */

/*
 * p1 is as level 1: latencies from 3 to 6, idle ones from 0 to 1.5, so each
 * quantile is u of the bin: 3 + 3 u - 1.5 u longer.
 */
static double speed_under_p1(double scale, double gap_times)
{
	double sum = 0;

	for (int i = 0; i < 32; i++)
		sum += 1 / (0.5 + 0.5 * gap_times +
			    0.1 * scale * (3 + 1.5 * (i + 0.5) / 32));
	return sum / 32;
}

T_TEST("tolerance adds what the co-runner's latencies exceed idle ones by")
{
	struct np_prediction p;
	double gap;

	gap = 1 + s.impact[1][3].mean;
	T_CHECK(!some_predict(&s, "tolerance", 0, 1, 0, &p, NULL) &&
		t_close(p.slowdown, 1 / speed_under_p1(1, gap) - 1, 1e-9));
	/* Where the level that sends most was not run with it: no gap. */
	s.impact[1][3] = some_mean(NAN);
	T_CHECK(!some_predict(&s, "tolerance", 0, 1, 0, &p, NULL) &&
		p.flags & NP_PRED_NO_IMPACT &&
		t_close(p.slowdown, 1 / speed_under_p1(1, 1) - 1, 1e-9));
	/* Neither curve nor impact of anybody. */
	s.a[0].curve = s.a[0].impact = s.a[1].impact = NULL;
	T_CHECK(!some_predict(&s, "tolerance", 0, 1, 10, &p, NULL) &&
		p.low <= p.slowdown && p.slowdown <= p.high &&
		p.flags & NP_PRED_NOISE_ONLY);
}

/* The level that sends least is slowed by so much of an idle latency of 1. */
T_TEST("tolerance-felt adds what the level that sends least feels of it")
{
	struct np_prediction p;
	double felt, gap;

	felt = s.impact[1][0].mean;
	gap = 1 + s.impact[1][3].mean;
	T_CHECK(!some_predict(&s, "tolerance-felt", 0, 1, 0, &p, NULL) &&
		t_close(p.slowdown, 1 / speed_under_p1(felt / 3.75, gap) - 1,
			1e-6));
	s.impact[1][0] = some_mean(NAN);
	T_CHECK(some_predict(&s, "tolerance-felt", 0, 1, 0, &p, NULL) ==
		-ENODATA);
}

T_TEST("tolerance says why a victim has no trace")
{
	struct np_err err = NP_ERR_INIT;
	struct np_prediction p;

	s.a[0].response = NULL;
	T_CHECK(some_predict(&s, "tolerance", 0, 1, 0, &p, &err) == -ENODATA &&
		!strcmp(err.text, "p0: no trace"));
	s.a[0].untraced = "it was lost";
	T_CHECK(some_predict(&s, "tolerance", 0, 1, 0, &p, &err) == -ENODATA &&
		!strcmp(err.text, "p0: it was lost"));
	/* That of the co-runner is of no use. */
	T_CHECK(!some_predict(&s, "tolerance", 1, 0, 0, &p, NULL));
}

T_TEST("models are found by name")
{
	struct np_err err = NP_ERR_INIT;

	for (size_t i = 0; i < np_n_models; i++)
		T_CHECK(np_model_find(np_models[i].name, &err) ==
			&np_models[i]);
	T_CHECK(np_model_find(NP_MODEL_DEFAULT, NULL) != NULL);
	T_CHECK(np_model_find("crystal", &err) == NULL &&
		strstr(err.text, "no model \"crystal\"") &&
		strstr(err.text, "cross, victim"));
	T_CHECK(np_model_find("windows", &err) == NULL &&
		!strchr(err.text, '\n') &&
		strstr(err.text,
		       "model \"windows\" was retired, expected one of zero"));
	for (size_t i = 0; i < np_n_models; i++)
		T_CHECK(!np_models[i].fallback ||
			np_model_find(np_models[i].fallback, NULL) != NULL);
}
