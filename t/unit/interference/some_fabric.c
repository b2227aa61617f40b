#include "some_fabric.h"

#include <math.h>
#include <string.h>

/* Slowdowns of the levels by each other: that of the row by the column. */
static const double pairs[SF_LEVELS][SF_LEVELS] = {
	{ 0.02, 0.05, 0.10, 0.40 },
	{ 0.03, 0.10, 0.30, 0.80 },
	{ 0.06, 0.30, 0.50, 1.50 },
	{ 0.10, 0.40, 1.20, 2.00 },
};

struct np_mean some_mean(double v)
{
	return isnan(v) ? (struct np_mean){ 0 } :
			  (struct np_mean){ .n = 1, .mean = v, .sd = NAN };
}

static struct np_latency latency(double mean, double *count, size_t bin)
{
	count[bin] = 100;
	return (struct np_latency){
		.all = { .n = 100,
			 .mean = mean,
			 .m2 = 0.01 * mean * mean * 99,
			 .min = 0.7 * mean,
			 .max = 1.3 * mean },
		.count = count,
	};
}

static void programs(struct some_fabric *s)
{
	static const char *const name[] = { "p0", "p1", "p2", "p3" };

	for (size_t k = 0; k < SF_PROGRAMS; k++) {
		struct np_program *a = &s->a[k];

		a->name = name[k];
		a->latency = latency(ldexp(1, (int)k + 1), s->program_count[k],
				     k + 1);
		a->curve = s->curve[k];
		a->impact = s->impact[k];
		for (size_t i = 0; i < SF_LEVELS; i++) {
			s->curve[k][i] = some_mean(pairs[k][i]);
			s->impact[k][i] = some_mean(pairs[i][k]);
		}
	}
}

void some_fabric(struct some_fabric *s)
{
	static const char *const name[] = { "l0", "l1", "l2", "l3" };
	static const double edge[] = { 0, 1.5, 3, 6, 12, 24, 48 };

	memset(s, 0, sizeof(*s));
	memcpy(s->edge, edge, sizeof(edge));
	s->bins = (struct np_bins){ SF_BINS, s->edge };
	s->f = (struct np_fabric){
		.name = "lab",
		.bins = &s->bins,
		.idle = latency(1, s->count[0], 0),
		.level = s->level,
		.n_levels = SF_LEVELS,
		.pairs = s->pairs,
		.sharing = { { 1, 1, NAN }, { 1, 1, NAN }, { 1, 1, NAN } },
	};
	for (size_t i = 0; i < SF_LEVELS; i++) {
		s->level[i] = (struct np_fabric_level){
			name[i],
			latency(ldexp(1, (int)i + 1), s->count[i + 1], i + 1),
		};
		for (size_t j = 0; j < SF_LEVELS; j++)
			s->pairs[i * SF_LEVELS + j] = some_mean(pairs[i][j]);
	}
	s->level[0].round_bytes = 64;
	s->level[3].round_bytes = 1e6;
	for (size_t k = 0; k < NP_RESPONSE_GAPS; k++)
		for (size_t i = 0; i < NP_RESPONSE_LATENCIES; i++)
			s->response.times[k][i] =
				0.5 + 0.5 * np_response_gap[k] +
				0.1 * np_response_added_sec(i);
	programs(s);
	for (size_t i = 0; i < SF_PROGRAMS; i++)
		s->a[i].response = &s->response;
}

int some_predict(const struct some_fabric *s, const char *name, size_t v,
		 size_t c, size_t replicates, struct np_prediction *out,
		 struct np_err *err)
{
	const struct np_predict_opt opt = { .replicates = replicates };
	const struct np_program *co[] = { &s->a[c] };
	const struct np_model *m = np_model_find(name, err);
	struct np_predictor *p;
	int rc;

	if (!m)
		return -1;
	rc = np_predictor_new(&s->f, m, &opt, &p, err);
	if (rc)
		return rc;
	rc = np_predict(p, &s->a[v], co, 1, NP_SCOPE_LEAF, out, err);
	np_predictor_free(p);
	return rc;
}
