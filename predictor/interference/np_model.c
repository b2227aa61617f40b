#include "np_model.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "np_loggps.h"
#include "np_nnls.h"
#include "np_queue.h"
#include "np_text.h"

/*
 * Common part of the mixture models.
 *
 * A co-runner is described by weights for the idle fabric, x[0], and for each
 * load level, x[1 + level]. They are not negative and sum to 1. The victim's
 * response is its speed or its slowdown under each level.
 */

/* How the victim's responses to the parts of a mixture are averaged. */
enum np_average {
	NP_AVERAGE_HARMONIC, /* speeds: 1/(1+d) = sum w_i / (1 + d_i) */
	NP_AVERAGE_LOG,	     /* log(1+d) = sum w_i log(1 + d_i) */
};

/* Copy the idle fabric's row and column of gram and those of v->col. */
static void copy_some(const struct np_data *data, const double *gram,
		      double *to)
{
	size_t stride = data->fabric->n_levels + 1, n = data->col->n;

	for (size_t i = 0; i <= n; i++) {
		const double *from =
			gram + (i ? data->col->at[i - 1] + 1 : 0) * stride;

		*to++ = from[0];
		for (size_t j = 0; j < n; j++)
			*to++ = from[data->col->at[j] + 1];
	}
}

/* The normal equations of some of the columns, which may be kept. */
static const double *gram_of_some(const struct np_data *data,
				  const double *gram)
{
	struct np_gram_cache *cached = data->cached;

	if (!cached || gram != cached->cross) {
		copy_some(data, gram, data->work);
		return data->work;
	}
	if (!np_levels_equal(&cached->some_col, data->col)) {
		copy_some(data, gram, cached->some);
		cached->some_col = *data->col;
	}
	return cached->some;
}

/* Solve for some of the columns. */
static int solve_some(struct np_data *data, const double *gram, const double *h,
		      double *x)
{
	size_t stride = data->fabric->n_levels + 1, n = data->col->n + 1;
	double *hh = data->work + n * n, *xx = hh + n;
	int rc;

	for (size_t i = 0; i < n; i++) {
		size_t from = i ? data->col->at[i - 1] + 1 : 0;

		hh[i] = h[from];
		xx[i] = data->warm ? x[from] : 0;
	}
	rc = np_nnls_solve(data->nnls, gram_of_some(data, gram), n, 0, hh, n,
			   xx, data->warm, data->err);
	memset(x, 0, stride * sizeof(*x));
	for (size_t i = 0; i < n; i++)
		x[i ? data->col->at[i - 1] + 1 : 0] = xx[i];
	return rc;
}

/*
 * Solve the normal equations gram x = h with x >= 0 for the idle fabric and the
 * levels in v->col. gram is (n_levels + 1) square; h and x have n_levels + 1
 * elements. Weights of other levels become 0. If v->warm is set, x also holds
 * the initial guess. Uses the first (n_levels + 1)^2 + 2 (n_levels + 1)
 * doubles of v->work. Returns 0, or -errno with v->err.
 */
static int weights_solve(struct np_data *data, const double *gram,
			 const double *h, double *x)
{
	size_t n = data->fabric->n_levels + 1;

	if (data->col->n + 1 == n)
		return np_nnls_solve(data->nnls, gram, n, 0, h, n, x,
				     data->warm, data->err);
	return solve_some(data, gram, h, x);
}

/* Like weights_solve(), and scale the weights so that they sum to 1. */
static int weights_fit(struct np_data *data, const double *gram,
		       const double *h, double *x)
{
	size_t n = data->fabric->n_levels + 1;
	double sum = 0;
	int rc = weights_solve(data, gram, h, x);

	if (rc)
		return rc;
	for (size_t i = 0; i < n; i++)
		sum += x[i];
	if (!(sum > 0))
		return np_errf(data->err, -EDOM,
			       "the mixture fit gave no weight to any level, "
			       "nor to the idle fabric");
	for (size_t i = 0; i < n; i++)
		x[i] /= sum;
	return 0;
}

/* Copy the victim's curve into y[n_levels], in the form to be averaged. */
static void weights_curve(const struct np_data *data, enum np_average how,
			  double *y)
{
	size_t n = data->fabric->n_levels;

	memset(y, 0, n * sizeof(*y));
	for (size_t i = 0; i < data->col->n; i++) {
		size_t j = data->col->at[i];

		if (how == NP_AVERAGE_HARMONIC)
			y[j] = exp(-data->victim->log_curve[j]);
		else
			y[j] = data->victim->fit_curve[j];
	}
}

/* log(1 + slowdown) for the weights x and the responses y. */
static double weights_combine(const struct np_data *data, enum np_average how,
			      const double *x, const double *y)
{
	double sum = np_lanes_dot(x + 1, y, data->fabric->n_levels);

	if (how == NP_AVERAGE_HARMONIC)
		return -log(x[0] + sum);
	return sum;
}

/*
 * The look-up models of [C]: the co-runner is taken to slow the victim as much
 * as the level whose probe latencies are most similar. x[0] is that level.
 */

enum np_lookup { /* variant of the model */
		 NP_LOOKUP_AVERAGE,
		 NP_LOOKUP_OVERLAP,
		 NP_LOOKUP_PDF,
};

/* Scores whose relative difference is smaller than this are equal. */
#define TIE 1e-12

static double overlap(const struct np_data_latency *a,
		      const struct np_data_latency *b)
{
	return fmax(0, fmin(a->mean + a->sd, b->mean + b->sd) -
			       fmax(a->mean - a->sd, b->mean - b->sd));
}

/* Sum over the bins of the product of both probabilities. */
static double product(const double *a, const double *b, size_t n)
{
	double sum = a[0] * b[0];

	for (size_t i = 1; i < n; i++)
		sum += (a[i] - a[i - 1]) * (b[i] - b[i - 1]);
	return sum;
}

/* Similarity of level j to the co-runner; greater is more similar. */
static double score(enum np_lookup how, const struct np_data *data, size_t j)
{
	const struct np_data_latency *co = &data->co->latency;
	const struct np_data_latency *latency = &data->fabric->level[j];

	switch (how) {
	case NP_LOOKUP_OVERLAP:
		return overlap(co, latency);
	case NP_LOOKUP_PDF:
		return product(co->cdf, latency->cdf, data->fabric->bins->n);
	default:
		return -fabs(co->mean - latency->mean);
	}
}

static double mean_gap(const struct np_data *data, size_t j)
{
	return fabs(data->co->latency.mean - data->fabric->level[j].mean);
}

/* Equal scores are decided by the nearer mean, then by the level's index. */
static size_t best(enum np_lookup how, const struct np_data *data, double *top)
{
	size_t at = data->col->at[0];

	*top = score(how, data, at);
	for (size_t i = 1; i < data->col->n; i++) {
		size_t j = data->col->at[i];
		double s = score(how, data, j), tie = TIE * fabs(*top);

		if (s < *top - tie ||
		    (s <= *top + tie &&
		     mean_gap(data, j) >= mean_gap(data, at) * (1 - TIE)))
			continue;
		*top = s;
		at = j;
	}
	return at;
}

static bool outside(const struct np_data *data)
{
	double lo = INFINITY, hi = 0;

	for (size_t i = 0; i < data->col->n; i++) {
		lo = fmin(lo, data->fabric->level[data->col->at[i]].mean);
		hi = fmax(hi, data->fabric->level[data->col->at[i]].mean);
	}
	return data->co->latency.mean > hi || data->co->latency.mean < lo;
}

static int lookup_describe(struct np_data *data, double *x)
{
	double top;

	x[0] = (double)best((enum np_lookup)data->model->variant, data, &top);
	/* No overlap with any level: compare the means instead. */
	if (top == 0 && data->model->variant != NP_LOOKUP_AVERAGE) {
		x[0] = (double)best(NP_LOOKUP_AVERAGE, data, &top);
		data->flags |= NP_PRED_NO_OVERLAP;
	}
	if (outside(data))
		data->flags |= NP_PRED_BEYOND;
	return 0;
}

static int lookup_respond(struct np_data *data, double *y)
{
	for (size_t i = 0; i < data->col->n; i++)
		y[data->col->at[i]] = data->victim->log_curve[data->col->at[i]];
	return 0;
}

static double lookup_combine(struct np_data *data, const double *x,
			     const double *y)
{
	(void)data;
	return y[(size_t)x[0]];
}

/*
 * The queue model of [C]: estimate the co-runner's utilisation of the switch
 * from its mean probe latency (Pollaczek-Khinchine), and read the slowdown from
 * the victim's curve over the utilisations of the levels.
 *
 * x[0] is the co-runner's utilisation; y is the victim's curve (np_queue.h).
 */

/* Utilisation at this mean latency; -EINVAL with v->err if undefined. */
static int utilisation_of(const struct np_data *data, double mean,
			  double *utilisation)
{
	const struct np_data_latency *idle = &data->fabric->idle;
	struct np_service service = {
		.mu_per_sec = 1 / idle->mean,
		.var_sec2 = idle->sd * idle->sd,
	};

	return np_queue_utilisation(&service, mean, utilisation, data->err);
}

static int queue_describe(struct np_data *data, double *x)
{
	return utilisation_of(data, data->co->latency.mean, &x[0]);
}

static int queue_respond(struct np_data *data, double *y)
{
	const struct np_levels *col = data->col;
	double utilisation[col->n + 1], slow[col->n + 1];
	int rc = 0;

	for (size_t i = 0; !rc && i < col->n; i++) {
		slow[i] = 1 / exp(-data->victim->log_curve[col->at[i]]) - 1;
		rc = utilisation_of(data, data->fabric->level[col->at[i]].mean,
				    &utilisation[i]);
	}
	return rc ? rc :
		    np_curve_fit(NP_CURVE_LINE, utilisation, slow, col->n, y,
				 data->err);
}

static double queue_combine(struct np_data *data, const double *x,
			    const double *y)
{
	bool outside = false;
	double slow = np_curve_at(y, x[0], &outside);

	if (outside)
		data->flags |= NP_PRED_BEYOND;
	return log1p(slow);
}

/*
 * Model "mixture" (own derivation, doc/validation/methods.md).
 *
 * To a victim, a co-runner with phases or bursts looks like a sequence of
 * steady load levels. The co-runner is therefore described by the mixture of
 * levels and idle time whose latency distribution is closest to its own:
 *
 *	min over w >= 0 of  sum_b g_b (sum_i w_i F_i(b) - F_B(b))^2
 *			    + (10 (sum w - 1))^2 + (1e-3)^2 |w|^2
 *
 * F are cumulative distributions over the bins b with edges e, and
 * g_b = log(e[b+1] / e[b]) gives every octave of latency the same weight.
 */

/* Stands for the distribution of a level that has none. */
static const double nothing[NP_BINS_MAX];

static const double *cdf_of(const struct np_data_fabric *fabric, size_t i)
{
	const double *cdf = i ? fabric->level[i - 1].cdf : fabric->idle.cdf;

	return cdf ? cdf : nothing;
}

/* Four independent sums at a time, so that their additions can overlap. */
static void four_products(const double *const f[4], const double *w,
			  size_t from, size_t n_bins, double *to)
{
	double sum[4] = { to[0], to[1], to[2], to[3] };

	for (size_t b = from; b < n_bins; b++)
		for (size_t k = 0; k < 4; k++)
			sum[k] += f[k][b] * w[b];
	memcpy(to, sum, sizeof(sum));
}

void np_mixture_products(const struct np_data_fabric *fabric, const double *w,
			 size_t n, double *to)
{
	size_t from = 0, i = 0;

	while (from < fabric->bins->n && w[from] == 0)
		from++;
	for (; i < n; i += 4) {
		const double *cdf[4];
		double sum[4] = { 0 };
		size_t few = n - i < 4 ? n - i : 4;

		for (size_t k = 0; k < 4; k++)
			cdf[k] = k < few ? cdf_of(fabric, i + k) : nothing;
		memcpy(sum, to + i, few * sizeof(*sum));
		four_products(cdf, w, from, fabric->bins->n, sum);
		memcpy(to + i, sum, few * sizeof(*sum));
	}
}

/* h = F' G F_B, plus the term of the equation "the weights sum to 1". */
static void mixture_right_side(const struct np_data *data, double *h)
{
	const struct np_data_fabric *fabric = data->fabric;
	double weighted[NP_BINS_MAX];

	for (size_t b = 0; b < fabric->bins->n; b++)
		weighted[b] = fabric->bin_weight[b] * data->co->latency.cdf[b];
	for (size_t i = 0; i <= fabric->n_levels; i++)
		h[i] = NP_MIXTURE_SUM * NP_MIXTURE_SUM;
	np_mixture_products(fabric, weighted, fabric->n_levels + 1, h);
}

static int mixture_describe(struct np_data *data, double *x)
{
	size_t n = data->fabric->n_levels;
	double *h =
		data->work + NP_MODEL_WORK(n) - (n + 1); /* unused by the fit */
	double top = 0;

	mixture_right_side(data, h);
	for (size_t i = 0; i < data->col->n; i++)
		top = fmax(top, data->fabric->level[data->col->at[i]].mean);
	if (data->co->latency.mean > top)
		data->flags |= NP_PRED_BEYOND;
	return weights_fit(data, data->fabric->gram_mixture, h, x);
}

static int mixture_respond(struct np_data *data, double *y)
{
	weights_curve(data, NP_AVERAGE_HARMONIC, y);
	return 0;
}

static double mixture_combine(struct np_data *data, const double *x,
			      const double *y)
{
	return weights_combine(data, NP_AVERAGE_HARMONIC, x, y);
}

/*
 * Model "cross" (own derivation, doc/validation/methods.md).
 *
 * The co-runner is described by the mixture of levels and idle time that slows
 * the levels themselves as much as the co-runner slows them. The levels act as
 * victims whose behaviour under each other is known from the calibration:
 *
 *	min over w >= 0 of
 *	sum_i (log(1 + CA[i,b]) - sum_j w_j log(1 + CC[i,j]))^2
 *	+ (3 (sum w - 1))^2
 *
 * The victim's response and the average are those of model "mixture".
 *
 * A variant, "open", is a member of the ensemble. It draws the sum of the
 * weights towards 1 without enforcing it, so that a co-runner can be stronger
 * than the strongest level, and several co-runners add up in the same way.
 * With s, the mean square of a column of log(1 + CC), its last term is
 *	0.3 s (sum w - 1)^2 + 0.1 s |w|^2 (without the idle fabric)
 * and it averages logarithms. Both factors gave the least error when levels
 * were left out (doc/validation/methods.md).
 */

#define OPEN_SUM 0.3
#define OPEN_RIDGE 0.1

/* Compute h over v->row; h[0] is the idle fabric, which slows nothing. */
static void cross_right_side(const struct np_data *data, double sum, double *h)
{
	const double *impact = data->co->fit_impact,
		     *pairs = data->fabric->fit_pairs;
	const struct np_levels *left = data->left_row;
	size_t n = data->fabric->n_levels;

	h[0] = 0;
	if (left) {
		memcpy(h + 1, data->sides->cross, n * sizeof(*h));
		for (size_t i = 0; i < left->n; i++)
			np_lanes_add(h + 1, -impact[left->at[i]],
				     pairs + left->at[i] * n, n);
	} else {
		memset(h + 1, 0, n * sizeof(*h));
		np_lanes_add_rows(h + 1, impact, pairs, n, data->row->at,
				  data->row->n);
		if (data->sides)
			memcpy(data->sides->cross, h + 1, n * sizeof(*h));
	}
	for (size_t j = 0; j <= n; j++)
		h[j] += sum;
}

/* Add level i's row to the normal equations; with sign -1, subtract it. */
static void add_row(const struct np_data *data, size_t i, double sign,
		    double *gram)
{
	size_t n = data->fabric->n_levels;
	const double *pairs = data->fabric->fit_pairs + i * n;

	for (size_t j = 0; j < n; j++)
		np_lanes_add(gram + (j + 1) * (n + 1) + 1, sign * pairs[j],
			     pairs, n);
}

/*
 * The normal equations of the rows in v->row. Unused rows are subtracted from
 * those of the whole fabric. If most rows are unused, the subtraction would
 * cancel significant digits, so the used rows are added up instead.
 */
static const double *gram_of_rows(const struct np_data *data, double *gram)
{
	size_t n = data->fabric->n_levels, next = 0;

	if (data->row->n == n)
		return data->fabric->gram_cross;
	if (data->cached) {
		gram = data->cached->cross;
		if (np_levels_equal(&data->cached->cross_row, data->row))
			return gram;
		data->cached->cross_row = *data->row;
		data->cached->some_col.n = 0;
	}
	if (data->row->n < n / 2) {
		for (size_t i = 0; i < (n + 1) * (n + 1); i++)
			gram[i] = NP_CROSS_SUM * NP_CROSS_SUM;
		for (size_t r = 0; r < data->row->n; r++)
			add_row(data, data->row->at[r], 1, gram);
		return gram;
	}
	memcpy(gram, data->fabric->gram_cross,
	       (n + 1) * (n + 1) * sizeof(*gram));
	for (size_t i = 0; i < n; i++) {
		if (next < data->row->n && data->row->at[next] == i)
			next++;
		else
			add_row(data, i, -1, gram);
	}
	return gram;
}

/*
 * True if the co-runner slows the levels more, summed over all rows, than any
 * level does. The search starts at the last level, usually the strongest.
 */
static bool beyond(const struct np_data *data)
{
	size_t n = data->fabric->n_levels;
	double own = 0;

	for (size_t r = 0; r < data->row->n; r++)
		own += data->co->fit_impact[data->row->at[r]];
	for (size_t c = data->col->n; c-- > 0;) {
		const double *column =
			data->fabric->fit_pairs + data->col->at[c];
		double sum = 0;

		for (size_t r = 0; r < data->row->n; r++)
			sum += column[data->row->at[r] * n];
		if (own <= sum)
			return false;
	}
	return own > 0;
}

static int cross_describe(struct np_data *data, double *x)
{
	size_t n = data->fabric->n_levels;
	double *h = data->work + NP_MODEL_WORK(n) - (n + 1);
	double *gram = h - (n + 1) * (n + 1);

	cross_right_side(data, NP_CROSS_SUM * NP_CROSS_SUM, h);
	if (!data->only_fit && beyond(data))
		data->flags |= NP_PRED_BEYOND;
	return weights_fit(data, gram_of_rows(data, gram), h, x);
}

/*
 * Replace the last term of "cross" in the normal equations by that of "open".
 * Returns the factor of (sum w - 1)^2.
 */
static double open_gram(const struct np_data *data, const double *from,
			double *gram)
{
	const double was = NP_CROSS_SUM * NP_CROSS_SUM;
	size_t n1 = data->fabric->n_levels + 1;
	double square = 0;

	for (size_t c = 0; c < data->col->n; c++) {
		size_t i = data->col->at[c] + 1;

		square += (from[i * n1 + i] - was) / (double)data->col->n;
	}
	for (size_t i = 0; i < n1 * n1; i++)
		gram[i] = from[i] - was + OPEN_SUM * square;
	for (size_t i = 1; i < n1; i++)
		gram[i * n1 + i] += OPEN_RIDGE * square;
	return OPEN_SUM * square;
}

static int open_describe(struct np_data *data, double *x)
{
	size_t n = data->fabric->n_levels;
	double *h = data->work + NP_MODEL_WORK(n) - (n + 1);
	double *gram = h - (n + 1) * (n + 1);

	if (beyond(data))
		data->flags |= NP_PRED_BEYOND;
	cross_right_side(data, open_gram(data, gram_of_rows(data, gram), gram),
			 h);
	return weights_solve(data, gram, h, x);
}

/*
 * Models "victim" and "twosided" (own derivation, doc/validation/methods.md).
 *
 * victim: describe the victim, too, as a non-negative sum of levels, by what it
 * suffers under each level: v >= 0 with
 *	log(1 + AC[a,j]) = sum_i v_i log(1 + CC[i,j]) for all j
 * and predict
 *	log(1 + d) = sum_i v_i log(1 + CA[i,b])
 *
 * twosided: combine both descriptions. The part of the co-runner's impact that
 * the mixture of "cross" does not explain is applied through the victim's sum:
 *	log(1 + d) = cross(a, b) + sum_i v_i (log(1 + CA[i,b]) - fit_i(b))
 * as augmented synthetic controls do, where each description corrects the
 * errors of the other.
 */

/* Regularises v, because the rows of similar levels are nearly equal. */
#define RIDGE 0.1

static int victim_describe(struct np_data *data, double *x)
{
	memset(x, 0, data->fabric->n_levels * sizeof(*x));
	for (size_t r = 0; r < data->row->n; r++)
		x[data->row->at[r]] = data->co->fit_impact[data->row->at[r]];
	return 0;
}

/* Add level j's column to the normal equations; with sign -1, subtract it. */
static void add_column(const struct np_data *data, size_t j, double sign,
		       double *gram)
{
	size_t n = data->fabric->n_levels, k = data->row->n;
	double column[k];

	for (size_t r = 0; r < k; r++)
		column[r] = data->fabric->fit_pairs[data->row->at[r] * n + j];
	for (size_t r = 0; r < k; r++)
		np_lanes_add(gram + r * k, sign * column[r], column, k);
}

/*
 * The normal equations of the victim's fit, v->row->n square: those of the
 * whole fabric with the unused columns subtracted, or, if few columns are used,
 * the sum of these.
 */
static const double *gram_of_columns(const struct np_data *data, double *gram)
{
	size_t n = data->fabric->n_levels, k = data->row->n, next = 0;
	bool few = data->col->n < n / 2;

	if (k == n && data->col->n == n)
		return data->fabric->gram_victim;
	if (data->cached) {
		gram = data->cached->victim;
		if (np_levels_equal(&data->cached->victim_row, data->row) &&
		    np_levels_equal(&data->cached->victim_col, data->col))
			return gram;
		data->cached->victim_row = *data->row;
		data->cached->victim_col = *data->col;
	}
	for (size_t r = 0; r < k; r++) {
		const double *from =
			data->fabric->gram_victim + data->row->at[r] * n;

		if (k == n && !few)
			memcpy(gram + r * n, from, n * sizeof(*from));
		for (size_t s = 0; (k < n || few) && s < k; s++)
			gram[r * k + s] = few ? 0 : from[data->row->at[s]];
	}
	for (size_t j = 0; j < n; j++) {
		bool used = next < data->col->n && data->col->at[next] == j;

		next += used;
		if (used == few)
			add_column(data, j, few ? 1 : -1, gram);
	}
	return gram;
}

/* h = CC log(1 + AC), over v->row and v->col. */
static void victim_right_side(const struct np_data *data, double *h)
{
	const struct np_levels *left = data->left_col;
	size_t n = data->fabric->n_levels;
	double curve[n];

	if (left)
		for (size_t c = 0; c < left->n; c++)
			curve[c] = data->victim->fit_curve[left->at[c]];
	else
		weights_curve(data, NP_AVERAGE_LOG, curve);
	for (size_t r = 0; r < data->row->n; r++) {
		size_t i = data->row->at[r];
		const double *pairs = data->fabric->fit_pairs + i * n;

		h[r] = left ? data->sides->victim[i] :
			      np_lanes_dot(pairs, curve, n);
		for (size_t c = 0; left && c < left->n; c++)
			h[r] -= pairs[left->at[c]] * curve[c];
		if (data->sides && !left)
			data->sides->victim[i] = h[r];
	}
}

static int respond(struct np_data *data, double ridge, double *y)
{
	size_t k = data->row->n;
	double *h = data->work + k * k, *z = h + k;
	const double *gram = gram_of_columns(data, data->work);
	int rc;

	victim_right_side(data, h);
	for (size_t r = 0; r < k; r++)
		z[r] = data->warm ? y[data->row->at[r]] : 0;
	rc = np_nnls_solve(data->nnls, gram, k, ridge * ridge, h, k, z,
			   data->warm, data->err);
	memset(y, 0, data->fabric->n_levels * sizeof(*y));
	for (size_t r = 0; r < k; r++)
		y[data->row->at[r]] = z[r];
	return rc;
}

static int victim_respond(struct np_data *data, double *y)
{
	return respond(data, 0, y);
}

static double victim_combine(struct np_data *data, const double *x,
			     const double *y)
{
	return np_lanes_dot(x, y, data->fabric->n_levels);
}

/* x: weights of cross (n + 1), then the unexplained impact on levels (n). */
static int twosided_describe(struct np_data *data, double *x)
{
	size_t n = data->fabric->n_levels, used[n + 1], n_used = 0;
	double *left = x + n + 1;
	int rc = cross_describe(data, x);

	memset(left, 0, n * sizeof(*left));
	for (size_t j = 0; !rc && j < n; j++)
		if (x[1 + j] > 0) /* most weights are 0 */
			used[n_used++] = j;
	for (size_t r = 0; !rc && r < data->row->n; r++) {
		size_t i = data->row->at[r];
		const double *pairs = data->fabric->fit_pairs + i * n;
		double sum = 0;

		for (size_t u = 0; u < n_used; u++)
			sum += x[1 + used[u]] * pairs[used[u]];
		left[i] = data->co->fit_impact[i] - sum;
	}
	return rc;
}

/* y: the victim's curve (n), then the victim as a sum of levels (n). */
static int twosided_respond(struct np_data *data, double *y)
{
	size_t n = data->fabric->n_levels;

	weights_curve(data, NP_AVERAGE_LOG, y);
	return respond(data, RIDGE, y + n);
}

/* Both dot products in one, since their operands are adjacent. */
static double twosided_combine(struct np_data *data, const double *x,
			       const double *y)
{
	return np_lanes_dot(x + 1, y, 2 * data->fabric->n_levels);
}

#define CLOSE 1e-8 /* relative step at which Newton's method stops */
#define STEPS 50   /* of Newton's method, at most */
#define LEAST 0.03162277660168379 /* sqrt(1 + p) at the lowest speed, 1e-3 */

/*
 * z of a program with slowdown d whose co-runner has sqrt(1 + e) = root_other.
 * A negative slowdown is noise and does not change the other's traffic.
 */
static double at_full_rate(double d, double root_other)
{
	double p = d > 0 && root_other > 1 ? d * root_other : d;

	return 2 * (sqrt(1 + p) - 1);
}

void np_slowdowns_at_full_rate(double log_slow, double log_other, double *z,
			       double *z_other)
{
	/* sqrt(1 + d) and sqrt(1 + e) */
	double root = exp(0.5 * log_slow), root_other = exp(0.5 * log_other);

	*z = at_full_rate(root * root - 1, root_other);
	*z_other = at_full_rate(root_other * root_other - 1, root);
}

/* sqrt(1 + p) */
static double root_of(double z)
{
	return fmax(1 + 0.5 * z, LEAST);
}

/*
 * Eliminating e and writing u = sqrt(1 + d) - 1 gives
 *	(1 + u + q) d^2 = p^2 (1 + u),  d = u (2 + u)
 * The difference of both sides is convex for u > 0. Since e >= q / sqrt(1 +
 * p), the initial guess is not below the root, and Newton's method descends to
 * it.
 */
void np_slowdowns_together(double z, double z_other, double log_slow[2])
{
	double root = root_of(z), root_other = root_of(z_other);
	double p = root * root - 1, q = root_other * root_other - 1, d, u;

	if (p <= 0 || q <= 0) {
		log_slow[0] = 2 * log(root);
		log_slow[1] = 2 * log(root_other);
		return;
	}
	d = p / sqrt(1 + q / root);
	u = d / (1 + sqrt(1 + d));
	for (int i = 0; i < STEPS; i++) {
		double a = 1 + u, f, slope, step;

		d = u * (1 + a);
		f = (a + q) * d * d - p * p * a;
		slope = d * d + 4 * a * (a + q) * d - p * p;
		step = f / slope;
		u -= step;
		if (fabs(step) <= CLOSE * u)
			break;
	}
	log_slow[0] = 2 * log1p(u);
	log_slow[1] = log1p(q / (1 + u));
}

/*
 * Model "mutual", the default (own derivation, doc/validation/methods.md).
 *
 * A program that is slowed down offers less traffic. The sums of "twosided"
 * predict for each program the slowdown p it would have if the other kept its
 * full speed, on the scale of np_slowdowns_at_full_rate(), and
 * np_slowdowns_together() turns the two into the slowdowns that they have
 * together. Unlike the sums, the victim's mean over the levels that make up the
 * co-runner is that of log(1 + p), so that one level under which the victim
 * hardly proceeds does not decide the prediction by a small weight.
 *
 * x and y have the same layout: the program as a co-runner (weights n + 1,
 * unexplained impact n), then as a victim (log sqrt(1 + p) n, sum of levels n).
 */

/*
 * The inputs with program a in both roles. If back is set, the roles of victim
 * and co-runner are exchanged, and so are the sets of levels known for each.
 */
static struct np_data with_program(const struct np_data *data,
				   const struct np_data_program *program,
				   bool back)
{
	struct np_data one = *data;

	one.co = one.victim = program;
	if (back) {
		one.row = data->col;
		one.col = data->row;
		one.left_row = data->left_col;
		one.left_col = data->left_row;
	}
	return one;
}

static int both_sides(struct np_data *as_co, struct np_data *as_victim,
		      double *z)
{
	size_t side = 2 * as_co->fabric->n_levels + 1;
	int rc = twosided_describe(as_co, z);

	if (!rc)
		rc = twosided_respond(as_victim, z + side);
	for (size_t j = 0; !rc && j < as_co->fabric->n_levels; j++)
		z[side + j] = log(root_of(z[side + j]));
	return rc;
}

static int mutual_describe(struct np_data *data, double *x)
{
	struct np_data as_co = with_program(data, data->co, false);
	struct np_data as_victim = with_program(data, data->co, true);
	int rc = both_sides(&as_co, &as_victim, x);

	data->flags = as_co.flags;
	return rc;
}

/* Flags about the victim as a co-runner do not concern this prediction. */
static int mutual_respond(struct np_data *data, double *y)
{
	struct np_data as_co = with_program(data, data->victim, true);
	struct np_data as_victim = with_program(data, data->victim, false);

	return both_sides(&as_co, &as_victim, y);
}

/* z of a victim y with a co-runner x if both kept their full speed. */
static double mutual_at_full_rate(const struct np_data *data, const double *x,
				  const double *y)
{
	size_t n = data->fabric->n_levels;

	return 2 * expm1(np_lanes_dot(x + 1, y, n)) +
	       np_lanes_dot(x + 1 + n, y + n, n);
}

static void mutual_combine_both(struct np_data *data, const double *x,
				const double *y, double log_slow[2])
{
	size_t side = 2 * data->fabric->n_levels + 1;

	np_slowdowns_together(mutual_at_full_rate(data, x, y + side),
			      mutual_at_full_rate(data, y, x + side), log_slow);
}

static double mutual_combine(struct np_data *data, const double *x,
			     const double *y)
{
	double both[2];

	mutual_combine_both(data, x, y, both);
	return both[0];
}

/*
 * Model "ensemble": the weighted mean of the members' log(1 + slowdown).
 *
 * The weights come from the calibration: every level under every other level is
 * predicted as if both were programs, and the weights are the non-negative ones
 * with sum 1 that minimise the error (ensemble_weigh() in np_predict.c). One
 * set serves co-runners within the range of the levels, another those beyond
 * it, where the members differ most.
 */

/*
 * x: weights of twosided (n + 1), unexplained impact (n), impact (n), weights
 * of open (n + 1)
 */
static int ensemble_describe(struct np_data *data, double *x)
{
	size_t n = data->fabric->n_levels;
	int rc = twosided_describe(data, x);

	if (!rc)
		rc = victim_describe(data, x + 2 * n + 1);
	return rc ? rc : open_describe(data, x + 3 * n + 1);
}

/* y: log curve (n), regularised sum of levels (n), speeds (n), sum (n) */
static int ensemble_respond(struct np_data *data, double *y)
{
	size_t n = data->fabric->n_levels;
	int rc = twosided_respond(data, y);

	if (rc)
		return rc;
	weights_curve(data, NP_AVERAGE_HARMONIC, y + 2 * n);
	return victim_respond(data, y + 3 * n);
}

/* log(1 + slowdown) as predicted by each member. */
static void ensemble_members(struct np_data *data, const double *x,
			     const double *y, double out[NP_MODEL_MEMBERS])
{
	size_t n = data->fabric->n_levels;

	out[0] = weights_combine(data, NP_AVERAGE_HARMONIC, x, y + 2 * n);
	out[1] = weights_combine(data, NP_AVERAGE_LOG, x + 3 * n + 1, y);
	out[2] = victim_combine(data, x + 2 * n + 1, y + 3 * n);
	out[3] = twosided_combine(data, x, y);
}

static double ensemble_combine(struct np_data *data, const double *x,
			       const double *y)
{
	const double *weight = data->ensemble;
	double member[NP_MODEL_MEMBERS], sum = 0;

	if (data->flags & NP_PRED_BEYOND)
		weight += NP_MODEL_MEMBERS;
	ensemble_members(data, x, y, member);
	for (size_t i = 0; i < NP_MODEL_MEMBERS; i++)
		sum += weight[i] * member[i];
	return sum;
}

/*
 * Model "tolerance": replay the victim's execution graph under the additional
 * latency that the co-runner causes (own derivation,
 * doc/validation/methods.md).
 *
 * The additional latency is the difference between the co-runner's probe
 * latencies and those of the idle fabric, quantile by quantile. It is added to
 * each message of the victim. Speeds are averaged over the quantiles, because
 * the network stays in one state for longer than one message:
 *
 *	1/(1 + d_A) = mean over q of 1/R_A(Q_B(q) - Q_idle(q), g)
 *
 * R_A is the response of np_loggps.h, and g the factor by which a byte takes
 * longer: 1 + the slowdown, by the co-runner, of the send-only level with the
 * most bytes per round.
 *
 * x: the additional latency at each quantile, in seconds, then g.
 */

enum { NP_TOLERANCE_MEASURED, NP_TOLERANCE_FELT }; /* np_model.variant */
#define NP_TOLERANCE_QUANTILES 32

/* The latency quantile for a share of 0 to 1; linear within a bin. */
static double quantile(const struct np_bins *bins, const double *cdf,
		       double share)
{
	double low, high, below;
	size_t b = 0;

	while (b + 1 < bins->n && cdf[b] < share)
		b++;
	low = bins->edge[b];
	high = bins->edge[b + 1];
	below = b ? cdf[b - 1] : 0;
	if (!isfinite(high) || !(cdf[b] > below))
		return low;
	return low + (high - low) * (share - below) / (cdf[b] - below);
}

/* Factor by which the co-runner slows a level's rounds; 1 if unknown. */
static double rounds(struct np_data *data, size_t level)
{
	return level < data->fabric->n_levels ?
		       exp(data->co->log_impact[level]) :
		       1;
}

/* Factor g of the time per byte; 1 if unknown. */
static double gap_times(struct np_data *data)
{
	double times = rounds(data, data->fabric->bulk_level);

	if (times == 1)
		data->flags |= NP_PRED_NO_IMPACT;
	return fmax(1, times);
}

/*
 * Variant "tolerance-felt": keep the shape of the additional latency, but limit
 * its mean to the delay that the level with the shortest rounds suffered.
 */
static int scale_to_felt(struct np_data *data, double *x)
{
	double times = rounds(data, data->fabric->brief_level), sum = 0, felt;

	if (times == 1)
		return np_errf(data->err, -ENODATA,
			       "how much it slows the level that sends least "
			       "was not measured");
	for (size_t i = 0; i < NP_TOLERANCE_QUANTILES; i++)
		sum += x[i];
	felt = fmax(0, times - 1) * data->fabric->idle.mean;
	for (size_t i = 0; sum > 0 && i < NP_TOLERANCE_QUANTILES; i++)
		x[i] *= fmin(1, felt * NP_TOLERANCE_QUANTILES / sum);
	return 0;
}

static int tolerance_describe(struct np_data *data, double *x)
{
	const struct np_bins *bins = data->fabric->bins;

	for (size_t i = 0; i < NP_TOLERANCE_QUANTILES; i++) {
		double share = ((double)i + 0.5) / NP_TOLERANCE_QUANTILES;

		x[i] = fmax(0, quantile(bins, data->co->latency.cdf, share) -
				       quantile(bins, data->fabric->idle.cdf,
						share));
	}
	x[NP_TOLERANCE_QUANTILES] = gap_times(data);
	return data->model->variant == NP_TOLERANCE_FELT ?
		       scale_to_felt(data, x) :
		       0;
}

static int tolerance_respond(struct np_data *data, double *y)
{
	y[0] = 0;
	return data->victim->response ?
		       0 :
		       np_errf(data->err, -ENODATA, "a level has no trace");
}

static double tolerance_combine(struct np_data *data, const double *x,
				const double *y)
{
	double speed = 0;

	(void)y;
	for (size_t i = 0; i < NP_TOLERANCE_QUANTILES; i++)
		speed += 1 / np_response_at(data->victim->response, x[i],
					    x[NP_TOLERANCE_QUANTILES]);
	return -log(speed / NP_TOLERANCE_QUANTILES);
}

static int zero_describe(struct np_data *data, double *x)
{
	(void)data;
	x[0] = 0;
	return 0;
}

static double zero_combine(struct np_data *data, const double *x,
			   const double *y)
{
	(void)data, (void)x, (void)y;
	return 0;
}

/* clang-format off */
#define LOOKUP(name, help, more, variant) \
	{ name, help, NP_DATA_CURVE | NP_DATA_LATENCY | (more), NULL, \
	  lookup_describe, lookup_respond, lookup_combine, \
	  1, 1, variant }
/* clang-format on */

#define CROSS_DATA (NP_DATA_CURVE | NP_DATA_IMPACT | NP_DATA_LEVEL_PAIRS)

const struct np_model np_models[] = {
	{ "zero", "no slowdown, the baseline", 0, NULL, zero_describe,
	  zero_describe, zero_combine, 0, 1, 0 },
	LOOKUP("average", "the level with the most similar mean latency", 0,
	       NP_LOOKUP_AVERAGE),
	LOOKUP("average-stdev",
	       "the level whose mean +- deviation overlaps most", 0,
	       NP_LOOKUP_OVERLAP),
	LOOKUP("pdf", "the level with the most similar histogram", NP_DATA_HIST,
	       NP_LOOKUP_PDF),
	{ "queue", "a line over the estimated utilisation (M/G/1)",
	  NP_DATA_CURVE | NP_DATA_LATENCY | NP_DATA_IDLE, NULL, queue_describe,
	  queue_respond, queue_combine, NP_CURVE_DIM(1) - NP_CURVE_DIM(0),
	  NP_CURVE_DIM(0), 0 },
	{ "mixture", "a mixture of levels with the same latencies",
	  NP_DATA_CURVE | NP_DATA_LATENCY | NP_DATA_HIST | NP_DATA_IDLE, NULL,
	  mixture_describe, mixture_respond, mixture_combine, 1, 1, 0 },
	{ "cross",
	  "a mixture of levels that slows levels as the co-runner does",
	  CROSS_DATA, "mixture", cross_describe, mixture_respond,
	  mixture_combine, 1, 1, 0 },
	{ "victim", "a mixture of levels that is as sensitive as the victim",
	  CROSS_DATA, "mixture", victim_describe, victim_respond,
	  victim_combine, 1, 1, 0 },
	{ "twosided", "both programs as mixtures of levels", CROSS_DATA,
	  "mixture", twosided_describe, twosided_respond, twosided_combine, 2,
	  2, 0 },
	{ "mutual", "both programs as mixtures of levels; each slows the other",
	  CROSS_DATA | NP_DATA_CO_CURVE | NP_DATA_OWN_IMPACT, "twosided",
	  mutual_describe, mutual_respond, mutual_combine, 4, 1, 0,
	  mutual_combine_both },
	{ "ensemble", "weighted mean of four models, such as cross and victim",
	  CROSS_DATA, "mixture", ensemble_describe, ensemble_respond,
	  ensemble_combine, 4, 2, 0, NULL, ensemble_members },
	{ "tolerance", "the victim's trace with the co-runner's latencies",
	  NP_DATA_IDLE | NP_DATA_LATENCY | NP_DATA_HIST | NP_DATA_TRACE, NULL,
	  tolerance_describe, tolerance_respond, tolerance_combine, 0,
	  NP_TOLERANCE_QUANTILES + 1, NP_TOLERANCE_MEASURED },
	{ "tolerance-felt",
	  "tolerance, scaled to the delay of the level that sends least",
	  NP_DATA_IDLE | NP_DATA_LATENCY | NP_DATA_HIST | NP_DATA_IMPACT |
		  NP_DATA_TRACE,
	  NULL, tolerance_describe, tolerance_respond, tolerance_combine, 0,
	  NP_TOLERANCE_QUANTILES + 1, NP_TOLERANCE_FELT },
};

const size_t np_n_models = NP_ARRAY_SIZE(np_models);

/* Models of earlier releases, for the error message. */
static const char retired[] =
	"average-jaccard,pdf-cosine,wasserstein,queue-min,queue-isotonic,"
	"queue-interp,queue-mutual,queue-isotonic-mutual,windows,"
	"cross-arithmetic,cross-log,mixture-arithmetic,open,replay";

const struct np_model *np_model_find(const char *name, struct np_err *err)
{
	char all[NP_ERR_LEN] = "";
	size_t used = 0;

	for (size_t i = 0; i < np_n_models; i++) {
		if (!strcmp(np_models[i].name, name))
			return &np_models[i];
		if (used < sizeof(all))
			used += (size_t)snprintf(all + used, sizeof(all) - used,
						 "%s%s", i ? ", " : "",
						 np_models[i].name);
	}
	np_errf(err, -EINVAL,
		np_list_has(retired, name, strlen(name)) ?
			"model \"%.40s\" was retired, expected one of %s" :
			"no model \"%.40s\", expected one of %s",
		name, all);
	return NULL;
}
