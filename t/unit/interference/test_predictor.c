/* Predictions, their intervals, the next measurement and matrices. */
#include "alloc.h"
#include "some_prediction.h"

/* --- several co-runners --- */

static int predict_all(const char *model, const size_t *c, size_t n,
		       struct np_prediction *out)
{
	const struct np_predict_opt opt = { 20, 1, true };
	const struct np_program *co[8];
	struct np_predictor *p;
	int rc;

	for (size_t i = 0; i < n; i++)
		co[i] = &s.a[c[i]];
	rc = np_predictor_new(&s.f, np_model_find(model, NULL), &opt, &p, NULL);
	if (rc)
		return rc;
	rc = np_predict(p, &s.a[2], co, n, NP_SCOPE_LEAF, out, NULL);
	np_predictor_free(p);
	return rc;
}

T_FIXTURE(fresh, NULL);

T_TEST("without co-runners there is no slowdown")
{
	struct np_prediction p;

	for (size_t i = 0; i < np_n_models; i++)
		T_ROW(np_models[i].name,
		      !predict_all(np_models[i].name, NULL, 0, &p) &&
			      p.slowdown == 0 && p.low == 0 && p.high == 0);
}

T_TEST("several co-runners do more than one")
{
	const size_t one[] = { 1 }, two[] = { 1, 1 }, three[] = { 0, 1, 1 };
	struct np_prediction p1, p2, p3;

	for (size_t i = 0; i < np_n_models; i++) {
		const char *name = np_models[i].name;

		if (!np_models[i].required)
			continue;
		T_ROW(name, !predict_all(name, one, 1, &p1) &&
				    !predict_all(name, two, 2, &p2) &&
				    !predict_all(name, three, 3, &p3) &&
				    p1.slowdown <= p2.slowdown + 1e-6 &&
				    p2.slowdown <= p3.slowdown + 1e-6 &&
				    p1.slowdown < p3.slowdown);
	}
}

/* Two with the impact of level 1 each: their log(1 + CA) are added. */
T_TEST("impacts add as logarithms")
{
	const size_t pair[] = { 0, 0 };
	struct np_prediction p;

	for (size_t i = 0; i < SF_LEVELS; i++)
		s.impact[0][i].mean =
			sqrt(1 + s.pairs[i * SF_LEVELS + 2].mean) - 1;
	T_CHECK(!predict_all("cross", pair, 2, &p) &&
		t_close(p.slowdown, s.curve[2][2].mean, 1e-6));
}

/* An excess of 1 and one of 3 over idle are as one of 4: mean 5. */
T_TEST("latencies add as excess over idle")
{
	const size_t pair[] = { 0, 1 };
	struct np_prediction p;

	T_CHECK(!predict_all("average", pair, 2, &p) &&
		t_close(p.slowdown, s.curve[2][1].mean, 1e-9));
	s.level[2].latency.all.mean = s.level[2].latency.all.min = 5.1;
	T_CHECK(!predict_all("average", pair, 2, &p) &&
		t_close(p.slowdown, s.curve[2][2].mean, 1e-9));
}

/* --- doubts --- */

static void co_far_stronger(void)
{
	for (size_t i = 0; i < SF_LEVELS; i++)
		s.impact[3][i].mean = 2 + 2 * s.impact[3][i].mean;
}

/* Only one level shows that p2 is slowed at all. */
static void one_level_shows(void)
{
	for (size_t i = 0; i + 1 < SF_LEVELS; i++)
		s.curve[2][i].mean = 0;
	s.curve[2][SF_LEVELS - 1].mean = 3;
}

static void like_the_second(void)
{
	for (size_t i = 0; i < SF_LEVELS; i++) {
		s.impact[3][i] = s.pairs[i * SF_LEVELS + 1];
		s.curve[3][i] = s.pairs[SF_LEVELS + i];
	}
}

/* Two runs under each level, which differ by as much as they are slowed. */
static void hardly_known(void)
{
	like_the_second();
	for (size_t i = 0; i < SF_LEVELS; i++)
		s.curve[2][i] = (struct np_mean){ 2, s.curve[2][i].mean, 2 };
}

T_TEST("a prediction doubts itself")
{
	static const struct {
		const char *name, *model;
		void (*spoil)(void);
		unsigned doubts;
	} rows[] = {
		{ "a co-runner between the levels is in no doubt", "cross",
		  like_the_second, 0 },
		{ "one that slows a level more than all levels is", "mutual",
		  co_far_stronger, NP_PRED_PAST_LEVELS },
		{ "what a single level shows is", "cross", one_level_shows,
		  NP_PRED_ONE_LEVEL },
		{ "a curve that is hardly known gives too wide an interval",
		  "cross", hardly_known, NP_PRED_WIDE },
		{ "who looks at no levels knows no doubt", "zero",
		  co_far_stronger, 0 },
	};

	T_EACH(r, rows) {
		struct np_prediction p = { 0 }, q = { 0 };

		some_fabric(&s);
		r->spoil();
		T_CHECK(!predict(r->model, true, 20, &p, NULL) &&
			!predict(r->model, true, 0, &q, NULL));
		T_ROW(r->name, r->doubts ? p.flags & r->doubts :
					   !(p.flags & NP_PRED_DOUBTFUL));
		T_ROW("with and without an interval, but for its width",
		      (p.flags & NP_PRED_DOUBTFUL & ~NP_PRED_WIDE) ==
			      (q.flags & NP_PRED_DOUBTFUL));
		if (p.flags & NP_PRED_ONE_LEVEL)
			T_ROW("and its interval shows it", p.low < 0.01);
	}
}

T_TEST("a doubtful calibration makes all predictions from its levels doubtful")
{
	static const char *const models[] = { "cross", "mutual", "zero" };
	const struct np_predict_opt opt = { .seed = 1, .doubtful = true };
	const struct np_program *co = &s.a[3];

	for (size_t i = 0; i < NP_ARRAY_SIZE(models); i++) {
		struct np_prediction out = { 0 };
		struct np_predictor *p;

		some_fabric(&s);
		like_the_second();
		T_CHECK(!np_predictor_new(&s.f, np_model_find(models[i], NULL),
					  &opt, &p, NULL));
		T_CHECK(!np_predict(p, &s.a[2], &co, 1, NP_SCOPE_LEAF, &out,
				    NULL));
		T_ROW(models[i], (out.flags & NP_PRED_DOUBTFUL) ==
					 (i < 2 ? NP_PRED_CALIBRATION : 0));
		np_predictor_free(p);
	}
}

/* --- intervals --- */

T_TEST("intervals hold the prediction and are the same again")
{
	struct np_prediction p, q;

	T_CHECK(!predict("cross", true, 100, &p, NULL));
	T_CHECK(!predict("cross", true, 100, &q, NULL));
	T_CHECK(p.low == q.low && p.high == q.high);
	T_CHECK(p.low < p.slowdown && p.slowdown < p.high);
	T_CHECK(!predict("cross", true, 0, &q, NULL));
	T_CHECK(q.slowdown == p.slowdown && isnan(q.low) && isnan(q.high) &&
		q.flags & NP_PRED_NO_INTERVAL);
}

/* More and better measurements leave less room. */
static double width_with(uint32_t n, double sd)
{
	struct np_prediction p = { 0 };

	some_fabric(&s);
	for (size_t i = 0; i < SF_LEVELS; i++) {
		s.curve[2][i].n = n;
		s.curve[2][i].sd = sd;
	}
	T_CHECK(!predict("average", true, 400, &p, NULL));
	return p.high - p.low;
}

T_TEST("better measurements narrow the interval")
{
	T_CHECK(width_with(20, 0.01) < width_with(20, 0.5));
	T_CHECK(width_with(100, 0.5) < width_with(3, 0.5));
}

T_TEST("an uncertain sharing coefficient widens it")
{
	struct np_prediction sure, unsure;

	s.f.sharing[NP_SCOPE_LEAF] = (struct np_mean){ 4, 0.5, 0.001 };
	T_CHECK(!predict("cross", true, 200, &sure, NULL));
	s.f.sharing[NP_SCOPE_LEAF].sd = 2;
	T_CHECK(!predict("cross", true, 200, &unsure, NULL));
	T_CHECK(sure.slowdown == unsure.slowdown);
	T_CHECK(unsure.high - unsure.low > sure.high - sure.low);
	T_CHECK(unsure.more == NP_MORE_SHARING);
}

/* --- the next measurement --- */

static void curve_noisy(void)
{
	s.curve[2][3] = (struct np_mean){ 2, 1.5, 2.0 };
}
static void impact_noisy(void)
{
	for (size_t i = 0; i < SF_LEVELS; i++)
		s.impact[3][i] =
			(struct np_mean){ 2, s.impact[3][i].mean, 5.0 };
}
static void coefficient_noisy(void)
{
	s.f.sharing[NP_SCOPE_LEAF] = (struct np_mean){ 4, 0.2, 0.2 };
}
static void curve_hole(void)
{
	s.curve[2][3].n = 0;
}

static const struct {
	const char *name, *model;
	void (*spoil)(void);
	enum np_more more;
	int level; /* -1: any */
} rows[] = {
	{ "a noisy point of the curve is named", "average", curve_noisy,
	  NP_MORE_CURVE, 3 },
	{ "the level most like the co-runner was left out", "cross", curve_hole,
	  NP_MORE_CURVE, 3 },
	{ "a noisy impact is named", "cross", impact_noisy, NP_MORE_IMPACT,
	  -1 },
	{ "a noisy sharing coefficient is named", "cross", coefficient_noisy,
	  NP_MORE_SHARING, -1 },
	{ "fell back for lack of impacts", "cross", co_no_impact,
	  NP_MORE_IMPACT, 0 },
	{ "fell back for want of calibration", "cross", no_pairs,
	  NP_MORE_CALIBRATION, -1 },
	{ "four levels: more levels", "queue", nothing, NP_MORE_LEVELS, 3 },
};

T_TEST("the measurement that helps most is named")
{
	T_EACH(r, rows) {
		struct np_prediction p = { 0 };
		int ok;

		some_fabric(&s);
		r->spoil();
		ok = !predict(r->model, false, 100, &p, NULL) &&
		     p.more == r->more &&
		     (r->level < 0 || p.more_level == (size_t)r->level);
		T_ROW(r->name, ok);
		if (!ok)
			printf("\n    %s: more %d level %zu\n", r->name,
			       (int)p.more, p.more_level);
	}
}

/* --- the matrix --- */

/* Answers of both ways at once are those of one by one, but for rounding. */
static const struct {
	const char *name;
	double rounding;
} models[] = {
	{ "cross", 0 },
	{ "mutual", 1e-9 },
};

static bool near(double a, double b, double rounding)
{
	return fabs(a - b) <= rounding * fabs(b);
}

static bool same(const struct np_prediction *a, const struct np_prediction *b,
		 double rounding)
{
	return near(a->slowdown, b->slowdown, rounding) &&
	       near(a->low, b->low, rounding) &&
	       near(a->high, b->high, rounding) && a->flags == b->flags &&
	       a->model == b->model;
}

static void matrix_is_all_pairs_of_some(const char *model, double rounding)
{
	const struct np_predict_opt opt = { 20, 7, false };
	const struct np_program *app[SF_PROGRAMS];
	struct np_prediction all[SF_PROGRAMS * SF_PROGRAMS], one;
	int rc[SF_PROGRAMS * SF_PROGRAMS];
	struct np_predictor *p;

	for (size_t i = 0; i < SF_PROGRAMS; i++)
		app[i] = &s.a[i];
	T_CHECK(!np_predictor_new(&s.f, np_model_find(model, NULL), &opt, &p,
				  NULL));
	T_CHECK(!np_predict_matrix(p, app, SF_PROGRAMS, NP_SCOPE_LEAF, all, rc,
				   NULL));
	for (size_t v = 0; v < SF_PROGRAMS; v++)
		for (size_t c = 0; c < SF_PROGRAMS; c++) {
			size_t at = v * SF_PROGRAMS + c;

			T_ROW(model, !rc[at] && !np_predict(p, app[v], &app[c],
							    1, NP_SCOPE_LEAF,
							    &one, NULL));
			T_ROW(model, same(&all[at], &one, rounding));
		}
	np_predictor_free(p);
}

T_TEST("the matrix is every pair")
{
	T_EACH(r, models) {
		some_fabric(&s);
		s.a[1].impact = NULL; /* falls back as a co-runner */
		s.curve[0][2].n = 0;  /* other levels in use as a victim */
		matrix_is_all_pairs_of_some(r->name, r->rounding);
	}
}

static void around_is_a_row_and_a_column_of_some(const char *model,
						 double rounding)
{
	const struct np_predict_opt opt = { 20, 7, false };
	const struct np_program *app[SF_PROGRAMS];
	struct np_prediction all[SF_PROGRAMS * SF_PROGRAMS];
	struct np_prediction some[2 * SF_PROGRAMS - 1];
	int rc[SF_PROGRAMS * SF_PROGRAMS], rc_some[2 * SF_PROGRAMS - 1];
	struct np_predictor *p;

	for (size_t i = 0; i < SF_PROGRAMS; i++)
		app[i] = &s.a[i];
	T_CHECK(!np_predictor_new(&s.f, np_model_find(model, NULL), &opt, &p,
				  NULL));
	T_CHECK(!np_predict_matrix(p, app, SF_PROGRAMS, NP_SCOPE_LEAF, all, rc,
				   NULL));
	T_CHECK(!np_predict_around(p, app, SF_PROGRAMS, NP_SCOPE_LEAF, some,
				   rc_some, NULL));
	for (size_t i = 0; i < 2 * SF_PROGRAMS - 1; i++) {
		size_t at = i < SF_PROGRAMS ?
				    i :
				    (i - SF_PROGRAMS + 1) * SF_PROGRAMS;

		T_ROW(model, rc_some[i] == rc[at]);
		T_ROW(model, rc[at] ? isnan(some[i].slowdown) :
				      same(&some[i], &all[at], rounding));
	}
	T_ROW(model, rc_some[SF_PROGRAMS + 1] == (s.a[2].curve ? 0 : -ENODATA));
	T_CHECK(!np_predict_around(p, app, 0, NP_SCOPE_LEAF, some, rc_some,
				   NULL));
	np_predictor_free(p);
}

T_TEST("the pairs around one are its row and its column")
{
	T_EACH(r, models) {
		some_fabric(&s);
		s.a[1].impact = NULL;
		s.a[2].curve = NULL; /* no answer as a victim */
		s.curve[0][2].n = 0;
		around_is_a_row_and_a_column_of_some(r->name, r->rounding);
	}
}

T_TEST("a matrix has holes where data is missing")
{
	const struct np_predict_opt opt = { 0, 0, true };
	const struct np_program *app[] = { &s.a[0], &s.a[1] };
	struct np_prediction all[4];
	struct np_predictor *p;
	int rc[4];

	s.a[1].curve = NULL;
	T_CHECK(!np_predictor_new(&s.f, np_model_find("cross", NULL), &opt, &p,
				  NULL));
	T_CHECK(!np_predict_matrix(p, app, 2, NP_SCOPE_LEAF, all, rc, NULL));
	T_CHECK(!rc[0] && !rc[1] && rc[2] == -ENODATA && rc[3] == -ENODATA);
	T_CHECK(isnan(all[2].slowdown) && !all[2].model);
	T_CHECK(!np_predict_matrix(p, app, 0, NP_SCOPE_LEAF, all, rc, NULL));
	np_predictor_free(p);
	np_predictor_free(NULL);
}

/* --- programs of earlier predictions --- */

static bool equal(double a, double b)
{
	return a == b || (isnan(a) && isnan(b));
}

/* True if p predicts what a new predictor does. */
static bool predicts_afresh(struct np_predictor *p, const char *model, size_t v,
			    size_t c, size_t replicates)
{
	const struct np_program *co = &s.a[c];
	struct np_prediction a, b;
	int rc = np_predict(p, &s.a[v], &co, 1, NP_SCOPE_LEAF, &a, NULL);

	return rc == some_predict(&s, model, v, c, replicates, &b, NULL) &&
	       (rc || (equal(a.slowdown, b.slowdown) && equal(a.low, b.low) &&
		       equal(a.high, b.high) && a.flags == b.flags &&
		       a.model == b.model && a.more == b.more &&
		       a.n_excluded == b.n_excluded));
}

/* Two of the programs were measured again, the second time without a level. */
static void measure_again(size_t round)
{
	s.curve[2][1].mean *= 1.5;
	s.impact[3][2].mean *= 0.5;
	if (round)
		s.curve[2][0].n = s.impact[3][3].n = 0;
}

T_TEST("a prediction does not depend on earlier ones, only on what was "
       "measured")
{
	static const size_t replicates[] = { 0, 20 };

	for (size_t i = 0; i < 2 * np_n_models; i++) {
		const struct np_predict_opt opt = { replicates[i % 2] };
		const struct np_model *m = &np_models[i / 2];
		const struct np_program *two[] = { &s.a[1], &s.a[3] };
		struct np_prediction some;
		struct np_predictor *p;

		some_fabric(&s);
		T_CHECK(!np_predictor_new(&s.f, m, &opt, &p, NULL));
		for (size_t round = 0; round < 3; measure_again(round++)) {
			for (size_t at = 0; at < SF_PROGRAMS * SF_PROGRAMS;
			     at++)
				T_ROW(m->name, predicts_afresh(p, m->name,
							       at / SF_PROGRAMS,
							       at % SF_PROGRAMS,
							       opt.replicates));
			T_ROW(m->name, !np_predict(p, &s.a[2], two, 2,
						   NP_SCOPE_LEAF, &some, NULL));
		}
		np_predictor_free(p);
	}
}

/* More programs than are kept: the same four with ever new names. */
T_TEST("nor do predictions of many programs")
{
	const struct np_predict_opt opt = { 0 };
	char name[SF_PROGRAMS][16];
	struct np_predictor *p;

	T_CHECK(!np_predictor_new(&s.f, np_model_find("mutual", NULL), &opt, &p,
				  NULL));
	for (size_t i = 0; i < 300; i++) {
		size_t a = i % SF_PROGRAMS, b = i / SF_PROGRAMS % SF_PROGRAMS;

		snprintf(name[a], sizeof(name[a]), "app%zu", i);
		s.a[a].name = name[a];
		s.curve[a][i % SF_LEVELS].mean += 0.01;
		T_CHECK(predicts_afresh(p, "mutual", a, b, 0) &&
			predicts_afresh(p, "mutual", b, a, 0));
	}
	np_predictor_free(p);
}

/* Number of allocations for a prediction of program 1 under that name. */
static long allocations(struct np_predictor *p, const char *name)
{
	const struct np_program *co = &s.a[2];
	const long many = 1 << 30;
	struct np_prediction out;

	s.a[1].name = name;
	t_alloc_fail(many);
	T_ROW(name, !np_predict(p, &s.a[1], &co, 1, NP_SCOPE_LEAF, &out, NULL));
	return many - t_alloc_pause();
}

/*
 * A program that was kept needs no new terms. What is compared to find it does
 * not include its trace.
 */
T_TEST("a model of traces keeps no programs")
{
	const struct np_predict_opt opt = { 20 };

	for (size_t i = 0; i < np_n_models; i++) {
		const struct np_model *m = &np_models[i];
		struct np_predictor *p;
		long again;

		some_fabric(&s);
		T_CHECK(!np_predictor_new(&s.f, m, &opt, &p, NULL));
		allocations(p, "one");
		again = allocations(p, "one");
		T_ROW(m->name, (again < allocations(p, "another")) ==
				       !(m->required & NP_DATA_TRACE));
		np_predictor_free(p);
	}
}

/* --- rails --- */

/* Program 2 with programs 1 and 3, each on these rails. */
/* clang-format off */
static const struct {
	const char *name, *victim, *co[2];
	size_t n, as[2]; /* the prediction is that with these alone */
	unsigned flags;
} railed[] = {
	{ "nothing is known of rails", NULL, { NULL, NULL }, 2, { 1, 3 }, 0 },
	{ "all on one rail", "a", { "a", "a" }, 2, { 1, 3 }, 0 },
	{ "a co-runner of unknown rails may load any", "a", { NULL, "a" }, 2,
	  { 1, 3 }, 0 },
	{ "a victim of unknown rails may use any", NULL, { "a", "b" }, 2,
	  { 1, 3 }, 0 },
	{ "a co-runner on another rail is ignored", "a", { "b", "a" }, 1, { 3 },
	  NP_PRED_OTHER_RAIL },
	{ "names are compared whole: both are ignored", "ab", { "a", "b" }, 0, { 0 },
	  NP_PRED_OTHER_RAIL },
	{ "of two rails the worst counts", "a,b", { "a", "b" }, 1, { 3 }, 0 },
	{ "the rail that both load is worse", "a,b", { "a,b", "b" }, 2,
	  { 1, 3 }, 0 },
};
/* clang-format on */

T_TEST("co-runners count on the victim's rails, the worst rail at a time")
{
	const size_t pair[] = { 1, 3 };
	struct np_prediction p, alone;

	T_EACH(r, railed) {
		some_fabric(&s);
		T_CHECK(!predict_all("cross", r->as, r->n, &alone));
		s.a[2].rails = r->victim;
		s.a[1].rails = r->co[0];
		s.a[3].rails = r->co[1];
		T_ROW(r->name,
		      !predict_all("cross", pair, 2, &p) &&
			      p.slowdown == alone.slowdown &&
			      p.low == alone.low && p.high == alone.high &&
			      (p.flags & NP_PRED_OTHER_RAIL) == r->flags);
	}
}

/* The matrix and the pairs around one know rails, too. */
T_TEST("pairs on different rails have no effect in a matrix")
{
	s.a[0].rails = s.a[1].rails = "a";
	s.a[2].rails = "b";
	matrix_is_all_pairs_of_some("cross", 0);
	around_is_a_row_and_a_column_of_some("cross", 0);
}
