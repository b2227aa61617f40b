/*
 * The accuracy of the models that doc/validation/methods.md states, computed
 * from the measurements in t/data/real-switch.json (real packets) and
 * t/data/simulated-switch.json, and from Table I of Casas and Bronevetsky.
 */
#include "t.h"
#include "np_evaluate.h"

#include <glob.h>
#include <json-c/json.h>

#include "np_self_check.h"

static const struct np_predict_opt with_interval = { 100, 1, true };
static const struct np_predict_opt point_only = { 0, 0, true };

/* Which of the measured cases are scored. */
enum kind { PAIRS, TRIPLES, WITHOUT_IS };

static bool is_of_kind(const struct np_measured_case *row, enum kind kind)
{
	if ((row->n_co > 1) != (kind == TRIPLES))
		return false;
	return kind != WITHOUT_IS || (row->victim != 0 && row->co[0] != 0);
}

#define MAX_ROWS 2000 /* of both files */

static int score(const char *file, const char *model, enum kind kind,
		 const struct np_predict_opt *opt, struct np_score *out)
{
	struct np_scored *scored = calloc(MAX_ROWS, sizeof(*scored));
	struct np_prediction *prediction =
		calloc(MAX_ROWS, sizeof(*prediction));
	int *rc = calloc(MAX_ROWS, sizeof(*rc)), ret;
	struct np_measured measured = { 0 };
	size_t n = 0;

	ret = np_measured_load(t_data(file), &measured, NULL);
	for (size_t i = 0; !ret && i < measured.n_sets; i++) {
		ret = np_evaluate(&measured.set[i], np_model_find(model, NULL),
				  opt, prediction, rc, NULL, NULL);
		for (size_t k = 0; !ret && k < measured.set[i].n_rows; k++)
			if (is_of_kind(&measured.set[i].row[k], kind))
				scored[n++] = np_evaluate_scored(
					&prediction[k],
					&measured.set[i].row[k]);
	}
	if (!ret)
		ret = np_accuracy_score(scored, n, out);
	np_measured_free(&measured);
	free(scored);
	free(prediction);
	free(rc);
	return ret;
}

#define REAL "real-switch.json"
#define SIMULATED "simulated-switch.json"

/*
 * Upper bounds of the mean absolute error, in percentage points. An error that
 * is more than 0.7 lower fails, too: then the documentation is out of date.
 */
static const struct {
	const char *name, *file, *model;
	enum kind kind;
	size_t n;
	double most_points;
} bounds[] = {
	{ "simulated pairs, mixture", SIMULATED, "mixture", PAIRS, 72, 2.2 },
	{ "simulated triples, mixture", SIMULATED, "mixture", TRIPLES, 126,
	  8.7 },
	{ "real pairs, cross", REAL, "cross", PAIRS, 49, 12.5 },
	{ "real pairs without is.W, cross", REAL, "cross", WITHOUT_IS, 36,
	  7.6 },
	{ "real pairs, victim", REAL, "victim", PAIRS, 49, 12.8 },
	{ "real pairs, twosided", REAL, "twosided", PAIRS, 49, 11.4 },
	{ "real pairs, mutual", REAL, "mutual", PAIRS, 49, 8.8 },
	{ "real pairs without is.W, mutual", REAL, "mutual", WITHOUT_IS, 36,
	  6.0 },
	{ "real pairs, ensemble", REAL, "ensemble", PAIRS, 49, 11.0 },
};

T_TEST("mean errors are those of the documentation")
{
	T_EACH(r, bounds) {
		struct np_score s = { 0 };

		T_ROW(r->name,
		      !score(r->file, r->model, r->kind, &point_only, &s) &&
			      s.n == r->n && s.mean_points <= r->most_points &&
			      s.mean_points > r->most_points - 0.7);
	}
}

/* Mean absolute errors published for these pairs, to a tenth of a point. */
static const struct {
	const char *name, *file, *model;
	enum kind kind;
	double points;
} known[] = {
	{ "zero, real", REAL, "zero", PAIRS, 47.4 },
	{ "zero, real without is.W", REAL, "zero", WITHOUT_IS, 44.0 },
	{ "mixture, real", REAL, "mixture", PAIRS, 29.1 },
	{ "mixture, real without is.W", REAL, "mixture", WITHOUT_IS, 25.7 },
	{ "cross, real", REAL, "cross", PAIRS, 12.0 },
	{ "cross, real without is.W", REAL, "cross", WITHOUT_IS, 7.3 },
	{ "victim, real without is.W", REAL, "victim", WITHOUT_IS, 11.7 },
	{ "zero, simulated", SIMULATED, "zero", PAIRS, 7.9 },
};

T_TEST("mean errors equal the published ones")
{
	T_EACH(r, known) {
		struct np_score s = { 0 };

		T_ROW(r->name,
		      !score(r->file, r->model, r->kind, &point_only, &s) &&
			      fabs(s.mean_points - r->points) < 0.06);
	}
}

/*
 * Nearly all harmful pairs are found, with few false alarms, and intervals
 * contain the measured slowdown about as often as they should (90 %).
 */
T_TEST("harmful pairs are found, and intervals have their coverage")
{
	struct np_score s;

	T_CHECK(!score(REAL, "cross", PAIRS, &with_interval, &s));
	T_CHECK(s.recall >= 0.97 && s.precision >= 0.95);
	T_CHECK(s.n_intervals == 49 && s.coverage >= 0.85);
	T_CHECK(!score(SIMULATED, "mixture", PAIRS, &with_interval, &s));
	T_CHECK(s.recall == 1 && s.precision == 1 && s.beyond_far == 0);
	T_CHECK(s.coverage >= 0.85 && s.coverage <= 0.95);
}

/* ---- reference predictions ---- */

static const struct {
	const char *name, *member, *model;
	double within; /* of a slowdown; the references have 5 digits */
} references[] = {
	{ "queue, line", "queue_linear", "queue", 1e-5 },
	{ "mixture, harmonic", "mixture_harmonic", "mixture", 2e-5 },
	{ "average", "average_lt", "average", 1e-5 },
};

static double cell(json_object *table, size_t v, size_t c)
{
	return json_object_get_double(json_object_array_get_idx(
		json_object_array_get_idx(table, v), c));
}

/*
 * Return the largest difference between the predictions for one set and its
 * references. *points: mean absolute error of these predictions.
 */
static double worst(const struct np_measured_set *s, json_object *set,
		    const char *member, const char *model, double *points)
{
	json_object *table = json_object_object_get(
		json_object_object_get(set, "reference_predictions"), member);
	struct np_prediction *p = calloc(s->n_rows, sizeof(*p));
	int *rc = calloc(s->n_rows, sizeof(*rc));
	double most = -1, error = 0;
	size_t n = 0;

	if (!np_evaluate(s, np_model_find(model, NULL), &point_only, p, rc,
			 NULL, NULL))
		for (size_t i = 0; i < s->n_rows; i++) {
			const struct np_measured_case *c = &s->row[i];

			if (c->n_co > 1)
				continue;
			most = fmax(most,
				    fabs(p[i].slowdown -
					 cell(table, c->victim, c->co[0])));
			error += fabs(p[i].slowdown - c->slowdown.mean);
			n++;
		}
	*points = 100 * error / (double)n;
	free(p);
	free(rc);
	return most;
}

T_TEST("each prediction equals its reference")
{
	json_object *root = json_object_from_file(t_data(SIMULATED));
	json_object *sets = json_object_object_get(root, "sets");
	struct np_measured m = { 0 };

	T_CHECK(!np_measured_load(t_data(SIMULATED), &m, NULL));
	T_EACH(r, references)
		for (size_t k = 0; k < m.n_sets; k++) {
			json_object *set = json_object_array_get_idx(sets, k);
			json_object *scores = json_object_object_get(
				json_object_object_get(set, "reference_scores"),
				r->member);
			double points, want = json_object_get_double(
					       json_object_object_get(
						       scores, "mae_points"));
			double most = worst(&m.set[k], set, r->member, r->model,
					    &points);

			T_ROW(r->name, most >= 0 && most <= r->within &&
					       fabs(points - want) < 0.001);
		}
	np_measured_free(&m);
	json_object_put(root);
}

/* ---- Table I of Casas and Bronevetsky ---- */

enum { FFTW, LULESH, MCB, MILC, VPFFT, AMG, N_PUBLISHED };

/* Percent; row: victim, column: co-runner. */
static const double table_1[N_PUBLISHED][N_PUBLISHED] = {
	{ 45, 5, 3, 11, 12, 7 }, { 5, 5, 3, 6, 2, 3 }, { 3, 5, 4, 7, 5, 6 },
	{ 25, 12, 1, 4, 3, 14 }, { 9, 0, 2, 5, 7, 2 }, { 0, 5, 4, 5, 3, 4 },
};

/*
 * Two published points of the degradation curve (utilisation, slowdown), through
 * which a line is drawn, and the utilisation that fits the table; see
 * doc/validation/methods.md.
 */
static const struct {
	const char *name;
	double u1, d1, u2, d2, own;
} published[N_PUBLISHED] = {
	[FFTW] = { "FFTW", 0.40, 0.50, 0.92, 2.50, 0.410 },
	[LULESH] = { "Lulesh", 0.50, 0.08, 0.92, 0.15, 0.300 },
	[MCB] = { "MCB", 0.26, 0.00, 0.92, 0.035, 0.2778 },
	[MILC] = { "MILC", 0.40, 0.20, 0.92, 1.00, 0.2986 },
	[VPFFT] = { "VPFFT", 0.36, 0.00, 0.87, 1.975, 0.3012 },
	[AMG] = { "AMG", 0.26, 0.00, 0.92, 0.035, 0.361 },
};

/* The load levels of the source have utilisations of 26 to 92 %. */
static const double level_u[] = { 0.26, 0.92 };

#define MU 0.8e6 /* 1.25 us when idle */

static struct np_latency latency_at(double u)
{
	/* Pollaczek-Khinchine with constant service times */
	double w = (1 + u / (2 * (1 - u))) / MU;

	return (struct np_latency){
		.all = { .n = 1000, .mean = w, .min = w, .max = w },
	};
}

/* Predict the published programs on a fabric with those utilisations. */
static void predict_published(double out[N_PUBLISHED][N_PUBLISHED])
{
	struct np_fabric_level level[2] = {
		{ "26 %", latency_at(level_u[0]) },
		{ "92 %", latency_at(level_u[1]) },
	};
	const struct np_fabric f = {
		.name = "published",
		.idle = latency_at(0),
		.level = level,
		.n_levels = 2,
	};
	struct np_mean curve[N_PUBLISHED][2];
	struct np_program a[N_PUBLISHED];
	const struct np_program *app[N_PUBLISHED];
	struct np_prediction p[N_PUBLISHED * N_PUBLISHED];
	int rc[N_PUBLISHED * N_PUBLISHED];
	struct np_predictor *predictor;

	for (size_t i = 0; i < N_PUBLISHED; i++) {
		double slope = (published[i].d2 - published[i].d1) /
			       (published[i].u2 - published[i].u1);

		for (size_t k = 0; k < 2; k++)
			curve[i][k] = (struct np_mean){
				1,
				published[i].d1 +
					slope * (level_u[k] - published[i].u1),
				NAN
			};
		a[i] = (struct np_program){
			.name = published[i].name,
			.latency = latency_at(published[i].own),
			.curve = curve[i],
		};
		app[i] = &a[i];
	}
	T_CHECK(!np_predictor_new(&f, np_model_find("queue", NULL), &point_only,
				  &predictor, NULL));
	T_CHECK(!np_predict_matrix(predictor, app, N_PUBLISHED, NP_SCOPE_LEAF,
				   p, rc, NULL));
	for (size_t i = 0; i < N_PUBLISHED * N_PUBLISHED; i++)
		out[i / N_PUBLISHED][i % N_PUBLISHED] = p[i].slowdown;
	np_predictor_free(predictor);
}

static void score_published(double (*predicted)[N_PUBLISHED],
			    struct np_score *out)
{
	struct np_scored s[N_PUBLISHED * N_PUBLISHED];

	for (size_t i = 0; i < NP_ARRAY_SIZE(s); i++) {
		size_t v = i / N_PUBLISHED, c = i % N_PUBLISHED;

		s[i] = (struct np_scored){
			.predicted = predicted ? predicted[v][c] : 0,
			.low = NAN,
			.high = NAN,
			.measured = table_1[v][c] / 100,
		};
	}
	T_CHECK(!np_accuracy_score(s, NP_ARRAY_SIZE(s), out));
}

T_TEST("Table I: a prediction of zero is within 10 points in 30 of 36")
{
	struct np_score s;

	score_published(NULL, &s);
	T_CHECK(s.n == 36 && fabs(s.mean_points - 6.72) < 0.005);
	T_CHECK(t_close(s.within_near, 30.0 / 36, 1e-12));
	T_CHECK(t_close(s.beyond_far, 2.0 / 36, 1e-12));
}

T_TEST("Table I: the one outlier of the queue model")
{
	double p[N_PUBLISHED][N_PUBLISHED];
	struct np_score s;

	predict_published(p);
	score_published(p, &s);
	T_CHECK(fabs(s.mean_points - 3.91) < 0.05);
	T_CHECK(t_close(s.within_near, 34.0 / 36, 1e-12));
	T_CHECK(t_close(s.beyond_far, 1.0 / 36, 1e-12));
	/* FFTW with AMG, which does not use the switch between its phases. */
	T_CHECK(fabs(100 * p[FFTW][AMG] - 35) < 0.1);
	T_CHECK(table_1[FFTW][AMG] == 7);
	T_CHECK(fabs(s.max_points - 28) < 0.1);
	/* The line passes through the published points of FFTW. */
	T_CHECK(fabs(p[FFTW][FFTW] - (0.5 + 0.01 * 2.0 / 0.52)) < 1e-9);
}

T_TEST("the calibrations of all published pairs predict their own levels")
{
	double least = INFINITY, most = 0;
	glob_t found;

	T_CHECK(!glob(t_data("../../doc/validation/pairs/*.json"), 0, NULL,
		      &found) &&
		found.gl_pathc == 25);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		struct np_measured measured;
		struct np_self_check check = { .n = 0 };
		double share;

		T_CHECK(!np_measured_load(found.gl_pathv[i], &measured, NULL));
		T_ROW(found.gl_pathv[i],
		      !np_self_check(&measured.set[0].fabric, &check, NULL) &&
			      check.n && !check.doubtful);
		share = check.mean_points / check.constant_points;
		least = fmin(least, share);
		most = fmax(most, share);
		np_measured_free(&measured);
	}
	globfree(&found);
	T_ROW("as methods.md says",
	      fabs(least - 0.19) < 0.005 && fabs(most - 0.47) < 0.005);
}
