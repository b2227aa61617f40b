/*
 * What doc/validation/methods.md claims of the models, from the measurements themselves:
 * t/data/real-switch.json (real packets) and t/data/simulated-switch.json,
 * and Table I of Casas and Bronevetsky.
 */
#include "t.h"
#include "np_evaluate.h"
#include "np_queue.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

static const struct np_predict_opt with_interval = { 100, 1, true };
static const struct np_predict_opt point_only = { 0, 0, true };

/* Which cases count. */
enum kind { PAIRS, TRIPLES, WITHOUT_IS };

static int counts(const struct np_measured_case *c, enum kind kind)
{
	if ((c->n_co > 1) != (kind == TRIPLES))
		return 0;
	return kind != WITHOUT_IS || (c->victim != 0 && c->co[0] != 0);
}

static int score(const char *file, const char *model, enum kind kind,
		 const struct np_predict_opt *opt, struct np_score *out)
{
	struct np_scored *s = calloc(2000, sizeof(*s));
	struct np_prediction *p = calloc(2000, sizeof(*p));
	int *rc = calloc(2000, sizeof(*rc)), ret;
	struct np_measured m = { 0 };
	size_t n = 0;

	ret = np_measured_load(t_data(file), &m, NULL);
	for (size_t i = 0; !ret && i < m.n_sets; i++) {
		ret = np_evaluate(&m.set[i], np_model_find(model, NULL), opt, p,
				  rc, NULL, NULL);
		for (size_t k = 0; !ret && k < m.set[i].n_rows; k++)
			if (counts(&m.set[i].row[k], kind))
				s[n++] = np_evaluate_scored(&p[k],
							    &m.set[i].row[k]);
	}
	if (!ret)
		ret = np_accuracy_score(s, n, out);
	np_measured_free(&m);
	free(s);
	free(p);
	free(rc);
	return ret;
}

#define REAL "real-switch.json"
#define SIMULATED "simulated-switch.json"

/* Mean absolute errors, rounded to the given number of points. */
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
	  5.8 },
	{ "real pairs, ensemble", REAL, "ensemble", PAIRS, 49, 11.0 },
};

T_TEST("mean errors stay below what is claimed")
{
	for (size_t i = 0; i < NP_ARRAY_SIZE(bounds); i++) {
		struct np_score s = { 0 };

		T_ROW(bounds[i].name,
		      !score(bounds[i].file, bounds[i].model, bounds[i].kind,
			     &point_only, &s) &&
			      s.n == bounds[i].n &&
			      s.mean_points <= bounds[i].most_points &&
			      s.mean_points > bounds[i].most_points - 0.7);
	}
}

/* Those that are published for these pairs elsewhere, to a tenth. */
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

T_TEST("mean errors are those known for these pairs")
{
	for (size_t i = 0; i < NP_ARRAY_SIZE(known); i++) {
		struct np_score s = { 0 };

		T_ROW(known[i].name,
		      !score(known[i].file, known[i].model, known[i].kind,
			     &point_only, &s) &&
			      fabs(s.mean_points - known[i].points) < 0.06);
	}
}

/* Every harmful pair found, few alarms false; intervals that hold. */
T_TEST("harmful pairs are found, and intervals hold")
{
	struct np_score s;

	T_CHECK(!score(REAL, "cross", PAIRS, &with_interval, &s));
	T_CHECK(s.recall >= 0.97 && s.precision >= 0.95);
	T_CHECK(s.n_intervals == 49 && s.coverage >= 0.85);
	T_CHECK(!score(SIMULATED, "mixture", PAIRS, &with_interval, &s));
	T_CHECK(s.recall == 1 && s.precision == 1 && s.beyond_far == 0);
	T_CHECK(s.coverage >= 0.85 && s.coverage <= 0.95);
}

/* --- reference predictions, cell by cell --- */

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

/* Largest difference to the reference of one set, and the scores next to it. */
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

T_TEST("reference predictions come out cell by cell")
{
	json_object *root = json_object_from_file(t_data(SIMULATED));
	json_object *sets = json_object_object_get(root, "sets");
	struct np_measured m = { 0 };

	T_CHECK(!np_measured_load(t_data(SIMULATED), &m, NULL));
	for (size_t i = 0; i < NP_ARRAY_SIZE(references); i++)
		for (size_t k = 0; k < m.n_sets; k++) {
			json_object *set = json_object_array_get_idx(sets, k);
			json_object *scores = json_object_object_get(
				json_object_object_get(set, "reference_scores"),
				references[i].member);
			double points, want = json_object_get_double(
					       json_object_object_get(
						       scores, "mae_points"));
			double most = worst(&m.set[k], set,
					    references[i].member,
					    references[i].model, &points);

			T_ROW(references[i].name,
			      most >= 0 && most <= references[i].within &&
				      fabs(points - want) < 0.001);
		}
	np_measured_free(&m);
	json_object_put(root);
}

/* --- Table I, and the outlier --- */

enum { FFTW, LULESH, MCB, MILC, VPFFT, AMG, N_PUBLISHED };

/* Percent; row: victim, column: co-runner. */
static const double table_1[N_PUBLISHED][N_PUBLISHED] = {
	{ 45, 5, 3, 11, 12, 7 }, { 5, 5, 3, 6, 2, 3 }, { 3, 5, 4, 7, 5, 6 },
	{ 25, 12, 1, 4, 3, 14 }, { 9, 0, 2, 5, 7, 2 }, { 0, 5, 4, 5, 3, 4 },
};

/*
 * A line through two stated points of the degradation curve (utilisation,
 * slowdown), and the utilisation that fits the table; see doc/validation/methods.md.
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

/* The levels of the source span 26 to 92 percent. */
static const double level_u[] = { 0.26, 0.92 };

#define MU 0.8e6 /* 1.25 us when idle */

static struct np_latency latency_at(double u)
{
	/* Pollaczek-Khinchine, of constant service */
	double w = (1 + u / (2 * (1 - u))) / MU;

	return (struct np_latency){
		.all = { .n = 1000, .mean = w, .min = w, .max = w },
	};
}

/* The published programs on a fabric whose latencies give those loads. */
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

T_TEST("Table I: zero is within 10 points in 30 of 36")
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
	/* FFTW with AMG, whose phases leave the switch alone in between. */
	T_CHECK(fabs(100 * p[FFTW][AMG] - 35) < 0.1);
	T_CHECK(table_1[FFTW][AMG] == 7);
	T_CHECK(fabs(s.max_points - 28) < 0.1);
	/* The line goes through what the source states of FFTW. */
	T_CHECK(fabs(p[FFTW][FFTW] - (0.5 + 0.01 * 2.0 / 0.52)) < 1e-9);
}
