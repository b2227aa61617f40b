#include "t.h"
#include "np_accuracy.h"

/* predicted, low, high, measured */
static const struct np_scored some[] = {
	{ 0.05, 0.00, 0.20, 0.10 }, /*  5 points; missed harm; held */
	{ 0.30, 0.20, 0.40, 0.50 }, /* 20; found; not held */
	{ 0.60, 0.55, 0.65, 0.35 }, /* 25; found; not held */
	{ 0.12, NAN, NAN, 0.02 },   /* 10; false alarm; no interval */
	{ -0.1, -0.3, 0.0, -0.10 }, /*  0; held */
	{ NAN, NAN, NAN, 0.80 },    /* no prediction */
	{ 0.80, 0.70, 0.90, NAN },  /* not measured */
};

T_TEST("scores of a small table")
{
	struct np_score s;

	T_CHECK(!np_accuracy_score(some, NP_ARRAY_SIZE(some), &s));
	T_CHECK(s.n == 5);
	T_CHECK(t_close(s.mean_points, 12, 1e-12));
	T_CHECK(t_close(s.median_points, 10, 1e-12));
	T_CHECK(t_close(s.max_points, 25, 1e-12));
	T_CHECK(t_close(s.bias_points, 2, 1e-12));
	T_CHECK(t_close(s.within_near, 0.6, 1e-12));
	T_CHECK(t_close(s.beyond_far, 0.2, 1e-12));
	T_CHECK(s.n_harm == 3 && s.n_predicted_harm == 3);
	T_CHECK(t_close(s.recall, 2.0 / 3, 1e-12));
	T_CHECK(t_close(s.precision, 2.0 / 3, 1e-12));
	T_CHECK(s.n_intervals == 4);
	T_CHECK(t_close(s.coverage, 0.5, 1e-12));
	T_CHECK(t_close(s.width_points, 20, 1e-12));
}

T_TEST("nothing to score is not zero error")
{
	struct np_score s;
	double c;

	T_CHECK(!np_accuracy_score(NULL, 0, &s));
	T_CHECK(s.n == 0 && isnan(s.mean_points) && isnan(s.recall) &&
		isnan(s.precision) && isnan(s.coverage));
	T_CHECK(!np_accuracy_score_constant(NULL, 0, &c, &s) && isnan(c) &&
		s.n == 0 && isnan(s.mean_points));
}

/* No other constant has a smaller mean absolute error. */
T_TEST("the best constant is the best")
{
	struct np_scored s[] = {
		{ .measured = 0.1 },  { .measured = 0.2 }, { .measured = 0.9 },
		{ .measured = 0.25 }, { .measured = NAN },
	};
	struct np_score best, other;
	double c;

	T_CHECK(!np_accuracy_score_constant(s, 5, &c, &best));
	T_CHECK(t_close(c, 0.225, 1e-12));
	T_CHECK(best.n == 4 && t_close(best.mean_points, 21.25, 1e-9) &&
		!best.n_intervals);
	for (double x = 0; x <= 1; x += 0.01) {
		for (size_t i = 0; i < 5; i++)
			s[i].predicted = x;
		T_CHECK(!np_accuracy_score(s, 5, &other) &&
			other.mean_points >= best.mean_points - 1e-9);
	}
}

T_TEST("it is scored over the pairs that are predicted")
{
	const struct np_scored s[] = {
		{ .predicted = 0.5, .measured = 0.2 },
		{ .predicted = 0.6, .measured = 0.4 },
		{ .predicted = NAN, .measured = 1.9 },
		{ .predicted = NAN, .measured = 2.9 },
	};
	struct np_score best;
	double c;

	T_CHECK(!np_accuracy_score_constant(s, NP_ARRAY_SIZE(s), &c, &best));
	T_CHECK(t_close(c, 0.3, 1e-12));
	T_CHECK(best.n == 2 && t_close(best.mean_points, 10, 1e-9));
}
