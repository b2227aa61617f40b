#include "np_model.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "np_lanes.h"
#include "np_nnls.h"
#include "np_queue.h"
#include "np_response.h"

/*
 * What the mixture models share.  A co-runner is described by weights over the
 * idle fabric and its levels, x[0] and x[1 + level], that sum to 1, and a
 * victim answers with its speed or its slowdown at each.
 */

/* How the victim's answers to the parts of a mixture are averaged. */
enum np_average {
	NP_AVERAGE_HARMONIC,   /* speeds: 1/(1+d) = sum w_i / (1 + d_i) */
	NP_AVERAGE_LOG,	       /* logarithms of 1 + d */
};

/* Gather the columns in use into work; they are few, and then contiguous. */
static int solve_some(struct np_data *v, const double *gram, const double *h,
		      double *x)
{
	size_t stride = v->fabric->n_levels + 1, n = v->col->n + 1;
	double *g = v->work, *hh = g + n * n, *xx = hh + n;
	int rc;

	for (size_t i = 0; i < n; i++) {
		size_t from = i ? v->col->at[i - 1] + 1 : 0;

		for (size_t j = 0; j < n; j++)
			g[i * n + j] = gram[from * stride +
					    (j ? v->col->at[j - 1] + 1 : 0)];
		hh[i] = h[from];
		xx[i] = v->warm ? x[from] : 0;
	}
	rc = np_nnls_solve(v->nnls, g, n, 0, hh, n, xx, v->warm, v->err);
	memset(x, 0, stride * sizeof(*x));
	for (size_t i = 0; i < n; i++)
		x[i ? v->col->at[i - 1] + 1 : 0] = xx[i];
	return rc;
}

/*
 * Solve the fit for the columns v->col (and idle) of normal equations gram,
 * (n_levels + 1) square, and h (n_levels + 1).
 * x, n_levels + 1: the weights, 0 elsewhere; if v->warm also the guess.
 * Uses the first (n_levels + 1)^2 + 2 (n_levels + 1) doubles of v->work.
 * Returns 0, or -errno with v->err.
 */
static int weights_solve(struct np_data *v, const double *gram,
			 const double *h, double *x)
{
	size_t n = v->fabric->n_levels + 1;

	if (v->col->n + 1 == n)
		return np_nnls_solve(v->nnls, gram, n, 0, h, n, x, v->warm,
				     v->err);
	return solve_some(v, gram, h, x);
}

/* The same, and scale the weights to sum 1. */
static int weights_fit(struct np_data *v, const double *gram,
		       const double *h, double *x)
{
	size_t n = v->fabric->n_levels + 1;
	double sum = 0;
	int rc = weights_solve(v, gram, h, x);

	if (rc)
		return rc;
	for (size_t i = 0; i < n; i++)
		sum += x[i];
	if (!(sum > 0))
		return np_errf(v->err, -EDOM, "the mixture fit gave no weight "
			       "to any level, nor to the idle fabric");
	for (size_t i = 0; i < n; i++)
		x[i] /= sum;
	return 0;
}

/* Copy the victim's curve, as the average wants it, into y[n_levels]. */
static void weights_curve(const struct np_data *v, enum np_average how,
			  double *y)
{
	size_t n = v->fabric->n_levels;

	memset(y, 0, n * sizeof(*y));
	for (size_t i = 0; i < v->col->n; i++) {
		size_t j = v->col->at[i];

		if (how == NP_AVERAGE_HARMONIC)
			y[j] = exp(-v->victim->log_curve[j]);
		else
			y[j] = v->victim->fit_curve[j];
	}
}

/* log(1 + slowdown) of the mixture x of answers y. */
static double weights_join(const struct np_data *v, enum np_average how,
			   const double *x, const double *y)
{
	double sum = np_lanes_dot(x + 1, y, v->fabric->n_levels);

	if (how == NP_AVERAGE_HARMONIC)
		return -log(x[0] + sum);
	return sum;
}

/*
 * The look-up models of [C]: the co-runner slows the victim as much as the
 * level whose latencies resemble its own the most.  x[0] is that level.
 */

enum np_lookup { /* variant of the model */
	NP_LOOKUP_AVERAGE,
	NP_LOOKUP_OVERLAP,
	NP_LOOKUP_PDF,
};

/* Scores nearer than this, relatively, are ties. */
#define TIE 1e-12

static double overlap(const struct np_data_latency *a,
		      const struct np_data_latency *b)
{
	return fmax(0, fmin(a->mean + a->sd, b->mean + b->sd) -
			       fmax(a->mean - a->sd, b->mean - b->sd));
}

/* Sum over bins of the product of the masses. */
static double product(const double *a, const double *b, size_t n)
{
	double sum = a[0] * b[0];

	for (size_t i = 1; i < n; i++)
		sum += (a[i] - a[i - 1]) * (b[i] - b[i - 1]);
	return sum;
}

/* How much level j resembles the co-runner: more is better. */
static double score(enum np_lookup how, const struct np_data *v, size_t j)
{
	const struct np_data_latency *co = &v->co->latency;
	const struct np_data_latency *l = &v->fabric->level[j];

	switch (how) {
	case NP_LOOKUP_OVERLAP:
		return overlap(co, l);
	case NP_LOOKUP_PDF:
		return product(co->cdf, l->cdf, v->fabric->bins->n);
	default:
		return -fabs(co->mean - l->mean);
	}
}

static double mean_gap(const struct np_data *v, size_t j)
{
	return fabs(v->co->latency.mean - v->fabric->level[j].mean);
}

/* Ties go to the nearer mean, then to the earlier level. */
static size_t best(enum np_lookup how, const struct np_data *v, double *top)
{
	size_t at = v->col->at[0];

	*top = score(how, v, at);
	for (size_t i = 1; i < v->col->n; i++) {
		size_t j = v->col->at[i];
		double s = score(how, v, j), tie = TIE * fabs(*top);

		if (s < *top - tie ||
		    (s <= *top + tie && mean_gap(v, j) >=
			     mean_gap(v, at) * (1 - TIE)))
			continue;
		*top = s;
		at = j;
	}
	return at;
}

static bool outside(const struct np_data *v)
{
	double lo = INFINITY, hi = 0;

	for (size_t i = 0; i < v->col->n; i++) {
		lo = fmin(lo, v->fabric->level[v->col->at[i]].mean);
		hi = fmax(hi, v->fabric->level[v->col->at[i]].mean);
	}
	return v->co->latency.mean > hi || v->co->latency.mean < lo;
}

static int lookup_describe(struct np_data *v, double *x)
{
	double top;

	x[0] = (double)best((enum np_lookup)v->model->variant, v, &top);
	/* Nothing in common with any level: only the means are left. */
	if (top == 0 && v->model->variant != NP_LOOKUP_AVERAGE) {
		x[0] = (double)best(NP_LOOKUP_AVERAGE, v, &top);
		v->flags |= NP_PRED_NO_OVERLAP;
	}
	if (outside(v))
		v->flags |= NP_PRED_BEYOND;
	return 0;
}

static int lookup_respond(struct np_data *v, double *y)
{
	for (size_t i = 0; i < v->col->n; i++)
		y[v->col->at[i]] = v->victim->log_curve[v->col->at[i]];
	return 0;
}

static int lookup_join(struct np_data *v, const double *x, const double *y,
		       double *log_slow)
{
	(void)v;
	*log_slow = y[(size_t)x[0]];
	return 0;
}

/*
 * The queue model of [C]: the co-runner's utilisation of the switch, by the
 * Pollaczek-Khinchine formula from the mean latency beside it, read on the
 * victim's curve over the utilisation of the levels.
 *
 * x[0]: the co-runner's utilisation; y: the victim's curve (np_queue.h).
 */

/* Utilisation at a mean latency; -EINVAL with v->err if there is none. */
static int rho_of(const struct np_data *v, double mean, double *rho)
{
	const struct np_data_latency *idle = &v->fabric->idle;
	struct np_service s = {
		.mu_per_sec = 1 / idle->mean, .var_sec2 = idle->sd * idle->sd,
	};

	return np_queue_rho(&s, mean, rho, v->err);
}

static int queue_describe(struct np_data *v, double *x)
{
	return rho_of(v, v->co->latency.mean, &x[0]);
}

static int queue_respond(struct np_data *v, double *y)
{
	const struct np_levels *col = v->col;
	double rho[col->n + 1], slow[col->n + 1];
	int rc = 0;

	for (size_t i = 0; !rc && i < col->n; i++) {
		slow[i] = 1 / exp(-v->victim->log_curve[col->at[i]]) - 1;
		rc = rho_of(v, v->fabric->level[col->at[i]].mean, &rho[i]);
	}
	return rc ? rc : np_curve_fit(NP_CURVE_LINE, rho, slow, col->n, y,
				      v->err);
}

static int queue_join(struct np_data *v, const double *x, const double *y,
		      double *log_slow)
{
	bool outside = false;

	*log_slow = log1p(np_curve_at(y, x[0], &outside));
	if (outside)
		v->flags |= NP_PRED_BEYOND;
	return 0;
}

/*
 * The co-runner as that mixture of levels and idle time whose latency
 * distribution is its own (own derivation, doc/validation/methods.md): a program with
 * phases or bursts is, for a victim that lives through them, one steady level
 * after the other.
 *
 *	min over w >= 0 of  sum_b g_b (sum_i w_i F_i(b) - F_B(b))^2
 *			    + (10 (sum w - 1))^2 + (1e-3)^2 |w|^2
 *
 * F: cumulative distributions; g_b = log(e[b+1] / e[b]), so that every octave
 * of latency counts alike.
 */

double np_mixture_bin_weight(const struct np_bins *bins, size_t bin)
{
	double lo = bins->edge[bin], hi = bins->edge[bin + 1];

	/* All distributions are 1 at the end of the last bin. */
	if (bin + 1 == bins->n)
		return 0;
	return lo > 0 ? log(hi / lo) : log(2);
}

/* One that has no distribution adds nothing. */
static const double nothing[NP_BINS_MAX];

static const double *cdf_of(const struct np_data_fabric *f, size_t i)
{
	const double *cdf = i ? f->level[i - 1].cdf : f->idle.cdf;

	return cdf ? cdf : nothing;
}

/* Four sums at once: each waits for its own last step, not for the others. */
static void four_products(const double *const f[4], const double *w,
			  size_t from, size_t n_bins, double *to)
{
	double sum[4] = { to[0], to[1], to[2], to[3] };

	for (size_t b = from; b < n_bins; b++)
		for (size_t k = 0; k < 4; k++)
			sum[k] += f[k][b] * w[b];
	memcpy(to, sum, sizeof(sum));
}

void np_mixture_products(const struct np_data_fabric *f, const double *w,
			 size_t n, double *to)
{
	size_t from = 0, i = 0;

	while (from < f->bins->n && w[from] == 0)
		from++;
	for (; i < n; i += 4) {
		const double *cdf[4];
		double sum[4] = { 0 };
		size_t few = n - i < 4 ? n - i : 4;

		for (size_t k = 0; k < 4; k++)
			cdf[k] = k < few ? cdf_of(f, i + k) : nothing;
		memcpy(sum, to + i, few * sizeof(*sum));
		four_products(cdf, w, from, f->bins->n, sum);
		memcpy(to + i, sum, few * sizeof(*sum));
	}
}

/* h = F' G F_B, plus the equation for the sum. */
static void mixture_right_side(const struct np_data *v, double *h)
{
	const struct np_data_fabric *f = v->fabric;
	double weighted[NP_BINS_MAX];

	for (size_t b = 0; b < f->bins->n; b++)
		weighted[b] = f->bin_weight[b] * v->co->latency.cdf[b];
	for (size_t i = 0; i <= f->n_levels; i++)
		h[i] = NP_MIXTURE_SUM * NP_MIXTURE_SUM;
	np_mixture_products(f, weighted, f->n_levels + 1, h);
}

static int mixture_describe(struct np_data *v, double *x)
{
	size_t n = v->fabric->n_levels;
	double *h = v->work + NP_MODEL_WORK(n) - (n + 1); /* out of the way */
	double top = 0;

	mixture_right_side(v, h);
	for (size_t i = 0; i < v->col->n; i++)
		top = fmax(top, v->fabric->level[v->col->at[i]].mean);
	if (v->co->latency.mean > top)
		v->flags |= NP_PRED_BEYOND;
	return weights_fit(v, v->fabric->gram_mixture, h, x);
}

static int mixture_respond(struct np_data *v, double *y)
{
	weights_curve(v, NP_AVERAGE_HARMONIC, y);
	return 0;
}

static int mixture_join(struct np_data *v, const double *x, const double *y,
			double *log_slow)
{
	*log_slow = weights_join(v, NP_AVERAGE_HARMONIC, x,
				 y);
	return 0;
}

/*
 * Cross-calibrated mixture (own derivation, doc/validation/methods.md): the co-runner as
 * that mixture of levels and idle time which slows the levels as it does.
 * The levels are working victims that were there anyway, in its calibration.
 *
 *	min over w >= 0 of
 *	sum_i (log(1 + CA[i,b]) - sum_j w_j log(1 + CC[i,j]))^2
 *	+ (3 (sum w - 1))^2
 *
 * The victim's side and the averages are those of the other mixture.
 *
 * open: the sum of the weights is drawn to 1, but not bound to it, so that a
 * co-runner may press like more than the strongest level; several of them add
 * alike.  With s, the mean square of a column of log(1 + CC), the last term is
 *	0.3 s (sum w - 1)^2 + 0.1 s |w|^2 without idle
 * and logarithms are averaged.  Both factors are those with the least error
 * when levels are left out (doc/validation/methods.md).
 */

#define OPEN_SUM 0.3
#define OPEN_RIDGE 0.1

/* h over the rows in use; h[0] is the idle fabric, which slows nothing. */
static void cross_right_side(const struct np_data *v, double sum, double *h)
{
	size_t n = v->fabric->n_levels;

	for (size_t j = 0; j <= n; j++)
		h[j] = sum;
	np_lanes_add_rows(h + 1, v->co->fit_pressure, v->fabric->fit_beside, n,
			  v->row->at, v->row->n);
}

/* Add level i's row to the normal equations, or with sign -1 take it out. */
static void add_row(const struct np_data *v, size_t i, double sign,
		    double *gram)
{
	size_t n = v->fabric->n_levels;
	const double *beside = v->fabric->fit_beside + i * n;

	for (size_t j = 0; j < n; j++)
		np_lanes_add(gram + (j + 1) * (n + 1) + 1, sign * beside[j],
			     beside, n);
}

/*
 * The normal equations of the rows in use: the fabric's less those that are
 * not, or where these are the most, which would cancel, from the start.
 */
static const double *gram_of_rows(const struct np_data *v, double *gram)
{
	size_t n = v->fabric->n_levels, next = 0;

	if (v->row->n == n)
		return v->fabric->gram_cross;
	if (v->row->n < n / 2) {
		for (size_t i = 0; i < (n + 1) * (n + 1); i++)
			gram[i] = NP_CROSS_SUM * NP_CROSS_SUM;
		for (size_t r = 0; r < v->row->n; r++)
			add_row(v, v->row->at[r], 1, gram);
		return gram;
	}
	memcpy(gram, v->fabric->gram_cross, (n + 1) * (n + 1) * sizeof(*gram));
	for (size_t i = 0; i < n; i++) {
		if (next < v->row->n && v->row->at[next] == i)
			next++;
		else
			add_row(v, i, -1, gram);
	}
	return gram;
}

/*
 * Does it press, over all rows, more than any level does?  The last levels, in
 * most calibrations the strongest, come first.
 */
static bool beyond(const struct np_data *v)
{
	size_t n = v->fabric->n_levels;
	double own = 0;

	for (size_t r = 0; r < v->row->n; r++)
		own += v->co->fit_pressure[v->row->at[r]];
	for (size_t c = v->col->n; c-- > 0;) {
		const double *column = v->fabric->fit_beside + v->col->at[c];
		double sum = 0;

		for (size_t r = 0; r < v->row->n; r++)
			sum += column[v->row->at[r] * n];
		if (own <= sum)
			return false;
	}
	return own > 0;
}

static int cross_describe(struct np_data *v, double *x)
{
	size_t n = v->fabric->n_levels;
	double *h = v->work + NP_MODEL_WORK(n) - (n + 1);
	double *gram = h - (n + 1) * (n + 1);

	cross_right_side(v, NP_CROSS_SUM * NP_CROSS_SUM, h);
	if (beyond(v))
		v->flags |= NP_PRED_BEYOND;
	return weights_fit(v, gram_of_rows(v, gram), h, x);
}

/* Put the open model's terms in place of the other's; returns the sum's. */
static double open_gram(const struct np_data *v, const double *from,
			double *gram)
{
	const double was = NP_CROSS_SUM * NP_CROSS_SUM;
	size_t n1 = v->fabric->n_levels + 1;
	double square = 0;

	for (size_t c = 0; c < v->col->n; c++) {
		size_t i = v->col->at[c] + 1;

		square += (from[i * n1 + i] - was) / (double)v->col->n;
	}
	for (size_t i = 0; i < n1 * n1; i++)
		gram[i] = from[i] - was + OPEN_SUM * square;
	for (size_t i = 1; i < n1; i++)
		gram[i * n1 + i] += OPEN_RIDGE * square;
	return OPEN_SUM * square;
}

static int open_describe(struct np_data *v, double *x)
{
	size_t n = v->fabric->n_levels;
	double *h = v->work + NP_MODEL_WORK(n) - (n + 1);
	double *gram = h - (n + 1) * (n + 1);

	if (beyond(v))
		v->flags |= NP_PRED_BEYOND;
	cross_right_side(v, open_gram(v, gram_of_rows(v, gram), gram), h);
	return weights_solve(v, gram, h, x);
}

/*
 * The victim's side of the factorisation (own derivation, doc/validation/methods.md).
 *
 * victim: the victim as a non-negative sum of levels, which suffers as they
 * do: v >= 0 with log(1 + AC[a,j]) = sum_i v_i log(1 + CC[i,j]) for all j, so
 *	log(1 + d) = sum_i v_i log(1 + CA[i,b])
 *
 * twosided: both sides.  What the mixture of the cross model does not explain
 * of the co-runner's pressure is read through the victim's sum:
 *	log(1 + d) = cross(a, b) + sum_i v_i (log(1 + CA[i,b]) - fit_i(b))
 * (the idea of augmented synthetic controls: either side mends the other).
 */

/* Shrinks v a little, as rows of levels resemble each other. */
#define RIDGE 0.1

static int victim_describe(struct np_data *v, double *x)
{
	memset(x, 0, v->fabric->n_levels * sizeof(*x));
	for (size_t r = 0; r < v->row->n; r++)
		x[v->row->at[r]] = v->co->fit_pressure[v->row->at[r]];
	return 0;
}

/* Add level j's column to the normal equations, or with -1 take it out. */
static void add_column(const struct np_data *v, size_t j, double sign,
		       double *gram)
{
	size_t n = v->fabric->n_levels, k = v->row->n;
	double column[k];

	for (size_t r = 0; r < k; r++)
		column[r] = v->fabric->fit_beside[v->row->at[r] * n + j];
	for (size_t r = 0; r < k; r++)
		np_lanes_add(gram + r * k, sign * column[r], column, k);
}

/*
 * n_row square: the fabric's, in gram less what is not in use, or from the
 * start.
 */
static const double *gram_of_columns(const struct np_data *v, double *gram)
{
	size_t n = v->fabric->n_levels, k = v->row->n, next = 0;
	bool few = v->col->n < n / 2;

	if (k == n && v->col->n == n)
		return v->fabric->gram_victim;
	for (size_t r = 0; r < k; r++) {
		const double *from = v->fabric->gram_victim + v->row->at[r] * n;

		if (k == n && !few)
			memcpy(gram + r * n, from, n * sizeof(*from));
		for (size_t s = 0; (k < n || few) && s < k; s++)
			gram[r * k + s] = few ? 0 : from[v->row->at[s]];
	}
	for (size_t j = 0; j < n; j++) {
		bool used = next < v->col->n && v->col->at[next] == j;

		next += used;
		if (used == few)
			add_column(v, j, few ? 1 : -1, gram);
	}
	return gram;
}

/* h = CC log(1 + AC), over the rows and columns in use. */
static void victim_right_side(const struct np_data *v, double *h)
{
	size_t n = v->fabric->n_levels;
	double curve[n];

	weights_curve(v, NP_AVERAGE_LOG, curve);
	for (size_t r = 0; r < v->row->n; r++)
		h[r] = np_lanes_dot(v->fabric->fit_beside + v->row->at[r] * n,
				    curve, n);
}

static int respond(struct np_data *v, double ridge, double *y)
{
	size_t k = v->row->n;
	double *h = v->work + k * k, *z = h + k;
	const double *gram = gram_of_columns(v, v->work);
	int rc;

	victim_right_side(v, h);
	for (size_t r = 0; r < k; r++)
		z[r] = v->warm ? y[v->row->at[r]] : 0;
	rc = np_nnls_solve(v->nnls, gram, k, ridge * ridge, h, k, z,
			   v->warm, v->err);
	memset(y, 0, v->fabric->n_levels * sizeof(*y));
	for (size_t r = 0; r < k; r++)
		y[v->row->at[r]] = z[r];
	return rc;
}

static int victim_respond(struct np_data *v, double *y)
{
	return respond(v, 0, y);
}

static int victim_join(struct np_data *v, const double *x, const double *y,
		       double *log_slow)
{
	*log_slow = np_lanes_dot(x, y, v->fabric->n_levels);
	return 0;
}

/* x: weights as in cross (n + 1), then what they leave unexplained (n). */
static int twosided_describe(struct np_data *v, double *x)
{
	size_t n = v->fabric->n_levels, used[n + 1], n_used = 0;
	double *left = x + n + 1;
	int rc = cross_describe(v, x);

	memset(left, 0, n * sizeof(*left));
	for (size_t j = 0; !rc && j < n; j++)
		if (x[1 + j] > 0) /* few are */
			used[n_used++] = j;
	for (size_t r = 0; !rc && r < v->row->n; r++) {
		size_t i = v->row->at[r];
		const double *beside = v->fabric->fit_beside + i * n;
		double sum = 0;

		for (size_t u = 0; u < n_used; u++)
			sum += x[1 + used[u]] * beside[used[u]];
		left[i] = v->co->fit_pressure[i] - sum;
	}
	return rc;
}

/* y: the curve (n), then the victim as a sum of levels (n). */
static int twosided_respond(struct np_data *v, double *y)
{
	size_t n = v->fabric->n_levels;

	weights_curve(v, NP_AVERAGE_LOG, y);
	return respond(v, RIDGE, y + n);
}

/* The logarithms' average and what it leaves, which lie side by side. */
static int twosided_join(struct np_data *v, const double *x, const double *y,
			 double *log_slow)
{
	*log_slow = np_lanes_dot(x + 1, y, 2 * v->fabric->n_levels);
	return 0;
}

#define CLOSE 1e-8
#define STEPS 50
#define LEAST 0.03162277660168379 /* the root of 1e-3: it ends at once */

/*
 * z of a program whose slowdown is d, root_other = sqrt(1 + e); what runs faster
 * beside another does so by chance.
 */
static double full_pace(double d, double root_other)
{
	double p = d > 0 && root_other > 1 ? d * root_other : d;

	return 2 * (sqrt(1 + p) - 1);
}

void np_pace_of(double log_slow, double log_other, double *z, double *z_other)
{
	/* sqrt(1 + d) - 1, and of e; d follows without a loss where it is small */
	double u = expm1(0.5 * log_slow), v = expm1(0.5 * log_other);

	*z = full_pace(u * (2 + u), 1 + v);
	*z_other = full_pace(v * (2 + v), 1 + u);
}

/* sqrt(1 + p) */
static double root_of(double z)
{
	return fmax(1 + 0.5 * z, LEAST);
}

/*
 * With u = sqrt(1 + d) - 1 and e put in,
 *	(1 + u + q) d^2 = p^2 (1 + u),  d = u (2 + u)
 * whose difference is convex in u > 0.  The first guess is not below the root,
 * as e >= q / sqrt(1 + p), so Newton's steps come down to it.
 */
void np_pace_both(double z, double z_other, double log_slow[2])
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
 * Both ways at once (own derivation, doc/validation/methods.md): what a program presses
 * falls as it is slowed itself.  The twosided model says of either program
 * what it would suffer if the other kept its pace, p and q, from levels that
 * are compared on that scale; np_pace_both() says what they suffer together.
 *
 * x and y alike: a program as a co-runner (weights n + 1, unexplained n), then
 * as a victim (curve n, sum of levels n).
 */

/*
 * The view in which a is either program.  back: asked the other way round, so
 * that rows and columns, the levels that are known of the co-runner and of the
 * victim, change places.
 */
static struct np_data view_of(const struct np_data *v,
			      const struct np_data_program *a, bool back)
{
	struct np_data one = *v;

	one.co = one.victim = a;
	if (back) {
		one.row = v->col;
		one.col = v->row;
	}
	return one;
}

static int both_sides(struct np_data *as_co, struct np_data *as_victim,
		      double *z)
{
	size_t side = 2 * as_co->fabric->n_levels + 1;
	int rc = twosided_describe(as_co, z);

	return rc ? rc : twosided_respond(as_victim, z + side);
}

static int mutual_describe(struct np_data *v, double *x)
{
	struct np_data as_co = view_of(v, v->co, false);
	struct np_data as_victim = view_of(v, v->co, true);
	int rc = both_sides(&as_co, &as_victim, x);

	v->flags = as_co.flags;
	return rc;
}

/* How hard the victim presses is another question, and its flags, too. */
static int mutual_respond(struct np_data *v, double *y)
{
	struct np_data as_co = view_of(v, v->victim, true);
	struct np_data as_victim = view_of(v, v->victim, false);

	return both_sides(&as_co, &as_victim, y);
}

static int mutual_join_both(struct np_data *v, const double *x,
			    const double *y, double log_slow[2])
{
	size_t side = 2 * v->fabric->n_levels + 1;
	double z = 0, z_other = 0;
	int rc = twosided_join(v, x, y + side, &z);

	if (!rc)
		rc = twosided_join(v, y, x + side, &z_other);
	np_pace_both(z, z_other, log_slow);
	return rc;
}

static int mutual_join(struct np_data *v, const double *x, const double *y,
		       double *log_slow)
{
	double both[2];
	int rc = mutual_join_both(v, x, y, both);

	*log_slow = both[0];
	return rc;
}

/*
 * The members' answers, averaged as logarithms with weights that the levels
 * choose: one set for co-runners within what the levels cover, another for
 * those beyond, where the members differ most.  Each level beside each other
 * is predicted as if both were programs; the weights are the non-negative
 * ones, summing to 1, under which the members together come nearest.
 */

/*
 * x: weights as in twosided (n + 1), unexplained pressure (n), pressure (n),
 * weights as in open (n + 1)
 */
static int ensemble_describe(struct np_data *v, double *x)
{
	size_t n = v->fabric->n_levels;
	int rc = twosided_describe(v, x);

	if (!rc)
		rc = victim_describe(v, x + 2 * n + 1);
	return rc ? rc : open_describe(v, x + 3 * n + 1);
}

/* y: log curve (n), victim shrunk (n), speeds (n), victim (n) */
static int ensemble_respond(struct np_data *v, double *y)
{
	size_t n = v->fabric->n_levels;
	int rc = twosided_respond(v, y);

	if (rc)
		return rc;
	weights_curve(v, NP_AVERAGE_HARMONIC, y + 2 * n);
	return victim_respond(v, y + 3 * n);
}

/* log(1 + slowdown) as each member has it. */
static void ensemble_members(struct np_data *v, const double *x,
			     const double *y, double out[NP_MODEL_MEMBERS])
{
	size_t n = v->fabric->n_levels;

	out[0] = weights_join(v, NP_AVERAGE_HARMONIC, x, y + 2 * n);
	out[1] = weights_join(v, NP_AVERAGE_LOG, x + 3 * n + 1, y);
	victim_join(v, x + 2 * n + 1, y + 3 * n, &out[2]);
	twosided_join(v, x, y, &out[3]);
}

static int ensemble_join(struct np_data *v, const double *x, const double *y,
			 double *log_slow)
{
	const double *weight = v->ensemble;
	double member[NP_MODEL_MEMBERS], sum = 0;

	if (v->flags & NP_PRED_BEYOND)
		weight += NP_MODEL_MEMBERS;
	ensemble_members(v, x, y, member);
	for (size_t i = 0; i < NP_MODEL_MEMBERS; i++)
		sum += weight[i] * member[i];
	*log_slow = sum;
	return 0;
}

/*
 * The victim's own execution graph under the latency that the co-runner adds
 * (own derivation, doc/validation/methods.md).  The probes beside the co-runner say how
 * latencies are distributed; what they exceed those of the idle fabric by,
 * quantile by quantile, is added to each message of the victim, and speeds are
 * averaged, as a network stays in one state for longer than one message:
 *
 *	1/(1 + d_A) = mean over q of 1/R_A(Q_B(q) - Q_idle(q), g)
 *
 * R_A: np_response.h.  g: how much longer a byte takes, which a level shows
 * that does nothing but send much: 1 + its slowdown by the co-runner, of the
 * level that sends most.
 *
 * x: the excess at each quantile, in seconds, then g.
 */

enum { NP_TOLERANCE_MEASURED, NP_TOLERANCE_FELT }; /* variant of the model */
#define NP_TOLERANCE_QUANTILES 32

/* The latency below which this share is; linear within a bin. */
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

/* How much longer a level's rounds take beside the co-runner; 1: not known. */
static double rounds(struct np_data *v, size_t level)
{
	return level < v->fabric->n_levels ? exp(v->co->log_pressure[level]) :
					     1;
}

/* What is not known is 1. */
static double gap_times(struct np_data *v)
{
	double times = rounds(v, v->fabric->bulk_level);

	if (times == 1)
		v->flags |= NP_PRED_NO_PRESSURE;
	return fmax(1, times);
}

/* Keep the shape of the excess, but let its mean be what is felt elsewhere. */
static int scale_to_felt(struct np_data *v, double *x)
{
	double times = rounds(v, v->fabric->brief_level), sum = 0, felt;

	if (times == 1)
		return np_errf(v->err, -ENODATA, "how much it slows the level "
			       "that sends least was not measured");
	for (size_t i = 0; i < NP_TOLERANCE_QUANTILES; i++)
		sum += x[i];
	felt = fmax(0, times - 1) * v->fabric->idle.mean;
	for (size_t i = 0; sum > 0 && i < NP_TOLERANCE_QUANTILES; i++)
		x[i] *= fmin(1, felt * NP_TOLERANCE_QUANTILES / sum);
	return 0;
}

static int tolerance_describe(struct np_data *v, double *x)
{
	const struct np_bins *bins = v->fabric->bins;

	for (size_t i = 0; i < NP_TOLERANCE_QUANTILES; i++) {
		double share = ((double)i + 0.5) / NP_TOLERANCE_QUANTILES;

		x[i] = fmax(0, quantile(bins, v->co->latency.cdf, share) -
			       quantile(bins, v->fabric->idle.cdf, share));
	}
	x[NP_TOLERANCE_QUANTILES] = gap_times(v);
	return v->model->variant == NP_TOLERANCE_FELT ? scale_to_felt(v, x) : 0;
}

static int tolerance_respond(struct np_data *v, double *y)
{
	y[0] = 0;
	return v->victim->response ? 0 : np_errf(v->err, -ENODATA,
						 "a level has no trace");
}

static int tolerance_join(struct np_data *v, const double *x,
			  const double *y, double *log_slow)
{
	double speed = 0;

	(void)y;
	for (size_t i = 0; i < NP_TOLERANCE_QUANTILES; i++)
		speed += 1 / np_response_at(v->victim->response, x[i],
					    x[NP_TOLERANCE_QUANTILES]);
	*log_slow = -log(speed / NP_TOLERANCE_QUANTILES);
	return 0;
}

static int zero_describe(struct np_data *v, double *x)
{
	(void)v;
	x[0] = 0;
	return 0;
}

static int zero_join(struct np_data *v, const double *x, const double *y,
		     double *log_slow)
{
	(void)v, (void)x, (void)y;
	*log_slow = 0;
	return 0;
}

#define LOOKUP(name, help, more, variant) \
	{ name, help, NP_NEED_CURVE | NP_NEED_LATENCY | (more), NULL, \
	  lookup_describe, lookup_respond, lookup_join, \
	  1, 1, variant }

#define CROSS_NEEDS (NP_NEED_CURVE | NP_NEED_PRESSURE | NP_NEED_BESIDE)

const struct np_model np_models[] = {
	{ "zero", "no slowdown at all, the baseline", 0, NULL,
	  zero_describe, zero_describe, zero_join, 0, 1, 0 },
	LOOKUP("average", "the level of nearest mean latency", 0,
	       NP_LOOKUP_AVERAGE),
	LOOKUP("average-stdev", "the level whose mean +- sd overlaps most", 0,
	       NP_LOOKUP_OVERLAP),
	LOOKUP("pdf", "the level of largest histogram product", NP_NEED_HIST,
	       NP_LOOKUP_PDF),
	{ "queue", "line over utilisation (M/G/1), rate from mean idle",
	  NP_NEED_CURVE | NP_NEED_LATENCY | NP_NEED_IDLE, NULL,
	  queue_describe, queue_respond, queue_join,
	  NP_CURVE_DIM(1) - NP_CURVE_DIM(0), NP_CURVE_DIM(0), 0 },
	{ "mixture", "levels mixed to match latencies, speeds averaged",
	  NP_NEED_CURVE | NP_NEED_LATENCY | NP_NEED_HIST | NP_NEED_IDLE, NULL,
	  mixture_describe, mixture_respond, mixture_join, 1, 1, 0 },
	{ "cross", "levels mixed to press alike, speeds averaged",
	  CROSS_NEEDS, "mixture", cross_describe, mixture_respond,
	  mixture_join, 1, 1, 0 },
	{ "victim", "the victim as a sum of levels that suffer alike",
	  CROSS_NEEDS, "mixture", victim_describe, victim_respond,
	  victim_join, 1, 1, 0 },
	{ "twosided", "cross of logarithms, its misfit read through victim",
	  CROSS_NEEDS, "mixture", twosided_describe,
	  twosided_respond, twosided_join, 2, 2, 0 },
	{ "mutual", "twosided, and each slows the other's traffic",
	  CROSS_NEEDS | NP_NEED_CO_CURVE | NP_NEED_OWN_PRESSURE, "twosided",
	  mutual_describe, mutual_respond, mutual_join,
	  4, 1, 0, mutual_join_both },
	{ "ensemble", "mean of cross and its kin, as levels weigh",
	  CROSS_NEEDS, "mixture", ensemble_describe,
	  ensemble_respond, ensemble_join, 4, 2, 0, NULL, ensemble_members },
	{ "tolerance", "the co-runner's latency in the victim's trace",
	  NP_NEED_IDLE | NP_NEED_LATENCY | NP_NEED_HIST | NP_NEED_TRACE, NULL,
	  tolerance_describe, tolerance_respond, tolerance_join,
	  0, NP_TOLERANCE_QUANTILES + 1, NP_TOLERANCE_MEASURED },
	{ "tolerance-felt", "the same, as much of it as a brief level felt",
	  NP_NEED_IDLE | NP_NEED_LATENCY | NP_NEED_HIST | NP_NEED_PRESSURE |
	  NP_NEED_TRACE, NULL,
	  tolerance_describe, tolerance_respond, tolerance_join,
	  0, NP_TOLERANCE_QUANTILES + 1, NP_TOLERANCE_FELT },
};

const size_t np_n_models = NP_ARRAY_SIZE(np_models);

/* Models of earlier releases, so that whoever asks for one learns its end. */
static const char *const retired[] = {
	"average-jaccard", "pdf-cosine", "wasserstein", "queue-min",
	"queue-isotonic", "queue-interp", "queue-mutual",
	"queue-isotonic-mutual", "windows", "cross-arithmetic", "cross-log",
	"open", "replay",
};

static bool is_retired(const char *name)
{
	for (size_t i = 0; i < NP_ARRAY_SIZE(retired); i++)
		if (!strcmp(name, retired[i]))
			return true;
	return false;
}

const struct np_model *np_model_find(const char *name, struct np_err *err)
{
	char all[NP_ERR_LEN] = "";
	size_t used = 0;

	for (size_t i = 0; i < np_n_models; i++) {
		if (!strcmp(np_models[i].name, name))
			return &np_models[i];
		if (used < sizeof(all))
			used += (size_t)snprintf(all + used,
						 sizeof(all) - used, "%s%s",
						 i ? ", " : "",
						 np_models[i].name);
	}
	np_errf(err, -EINVAL, is_retired(name) ?
		"model \"%.40s\" was retired, expected one of %s" :
		"no model \"%.40s\", expected one of %s", name, all);
	return NULL;
}
