/*
 * How a prediction is made:
 *
 *   1. select_levels(): the levels for which the model has all that it needs of
 *      the fabric and of both programs.
 *   2. np_predict_impl.h: samples of all measurements. Sample 0 is what was
 *      measured; the others vary as the measurements do.
 *   3. term_make(): the term of each program in its role, i.e. what the model
 *      describes it by as a co-runner, or how it responds as a victim; for
 *      every sample, and with groups of levels left out.
 *   4. The model joins the two terms into log(1 + slowdown), in every sample.
 *   5. The errors that the model makes for single levels are added, the sharing
 *      coefficient is applied, and quantiles make the interval.
 *   6. suggest(): what to measure next.
 *
 * Terms are expensive and joining is not, so many pairs share the terms of
 * their programs (np_predict_matrix()). Until the end slowdowns are kept as
 * log(1 + slowdown), in log_slow or z; z also stands for the numbers of a term.
 */
#include "np_predict.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics.h>

#include "np_model.h"
#include "np_moments.h"
#include "np_nnls.h"
#include "np_predict_impl.h"
#include "np_rng.h"
#include "np_text.h"

/* ---- Bootstrap samples ---- */

/* log(1 + slowdown) of a slowdown raised to NP_BOOTSTRAP_LEAST. */
static double log_of_slowdown(double slowdown)
{
	return log1p(fmax(slowdown, NP_BOOTSTRAP_LEAST));
}

static void sample_cdf(const double *count, size_t n_bins, struct np_rng *r,
		       double *cdf, double *counts)
{
	double sum = 0;

	memset(counts, 0, n_bins * sizeof(*counts));
	for (size_t b = 0; r && b < n_bins; b++) {
		/* Most are 0. */
		counts[b] = count[b] > 0 ? np_rng_count(r, count[b]) : 0;
		sum += counts[b];
	}
	/* With few latencies, all counts can be 0: keep the measured ones. */
	np_latency_cdf(sum > 0 ? counts : count, n_bins, cdf);
}

/*
 * Prepare one latency distribution: measured if r is NULL, else resampled.  cdf
 * has room for n_bins numbers, or is NULL if no histogram is needed; counts is
 * scratch space of the same size.
 */
static void sample_latency(const struct np_latency *l, size_t n_bins,
			   struct np_rng *r, double *cdf, double *counts,
			   struct np_data_latency *out)
{
	double sd = np_moments_sd(&l->all), n = (double)l->all.n;

	*out = (struct np_data_latency){ l->all.mean, sd, NULL };
	if (!l->all.n)
		return;
	if (r) {
		out->mean = fmax(l->all.min,
				 l->all.mean + sd / sqrt(n) * np_rng_normal(r));
		out->sd = fabs(sd * (1 + np_rng_normal(r) / sqrt(2 * n)));
	}
	if (!cdf || !l->count)
		return;
	sample_cdf(l->count, n_bins, r, cdf, counts);
	out->cdf = cdf;
}

void np_bootstrap_fabric_free(struct np_bootstrap_fabric *d)
{
	free(d->sample);
	free(d->has_pair);
	free(d->level);
	free(d->store);
	*d = (struct np_bootstrap_fabric){ 0 };
}

void np_bootstrap_program_free(struct np_bootstrap_program *d)
{
	free(d->sample);
	free(d->has_curve);
	free(d->store);
	*d = (struct np_bootstrap_program){ 0 };
}

/* The send-only level with most, or fewest, bytes per round. */
static size_t sender(const struct np_fabric *f, bool most)
{
	size_t at = f->n_levels;

	for (size_t i = 0; i < f->n_levels; i++) {
		double bytes = f->level[i].round_bytes;

		if (bytes > 0 && (at == f->n_levels ||
				  (bytes > f->level[at].round_bytes) == most))
			at = i;
	}
	return at;
}

/* State while the samples of a fabric are drawn. */
struct fabric_task {
	const struct np_fabric *f;
	const struct np_bootstrap_opt *opt;
	struct np_bootstrap_fabric *d;
	struct np_rng *rng;
	size_t n, bins;	     /* levels; bins, 0 if no histogram is needed */
	double *log, *noise; /* log(1 + CC) and the sd of its means */
	double *weight;	     /* of the mixture, per bin */
	struct np_nnls *nnls;
	double *fit_weight; /* of each level; NULL before the first sample */
	double *next;	     /* unused part of d->store */
	double counts[NP_BINS_MAX];
};

/* Room for n doubles in the memory of the fabric. */
static double *take_doubles(struct fabric_task *t, size_t n)
{
	double *p = t->next;

	t->next += n;
	return p;
}

static void fabric_mark_known(struct fabric_task *t)
{
	struct np_bootstrap_fabric *d = t->d;

	if (t->f->idle.all.n)
		d->has |= NP_NEED_IDLE;
	if (t->f->idle.all.n == 1)
		d->flags |= NP_PRED_ONE_PROBE;
	for (size_t i = 0; i < t->n; i++) {
		const struct np_latency *l = &t->f->level[i].latency;

		d->has_latency[i] = l->all.n > 0;
		d->has_hist[i] = l->all.n && l->count;
		d->has |= (l->all.n ? NP_NEED_LATENCY : 0) |
			  (d->has_hist[i] ? NP_NEED_HIST : 0);
		if (l->all.n == 1)
			d->flags |= NP_PRED_ONE_PROBE;
	}
	if (!t->f->idle.count)
		d->has &= ~(unsigned)NP_NEED_HIST;
	d->whole = t->f->pairs != NULL;
	for (size_t i = 0; t->f->pairs && i < t->n * t->n; i++) {
		d->has_pair[i] = np_mean_known(&t->f->pairs[i]);
		if (d->has_pair[i])
			d->has |= NP_NEED_LEVEL_PAIRS;
		else
			d->whole = false;
	}
}

/* Weight of one latency bin in the mixture's fit (np_model.c). */
static double mixture_bin_weight(const struct np_bins *bins, size_t bin)
{
	double lo = bins->edge[bin], hi = bins->edge[bin + 1];

	/* Every distribution reaches 1 at the end of the last bin. */
	if (bin + 1 == bins->n)
		return 0;
	return lo > 0 ? log(hi / lo) : log(2);
}

/* Prepare what all samples have in common. */
static void prepare_constants(struct fabric_task *t)
{
	const struct np_mean *m = t->f->pairs;
	size_t n2 = t->n * t->n;
	double pooled = m ? np_noise_pooled(m, n2) : 0;

	t->weight = take_doubles(t, t->bins);
	for (size_t b = 0; b < t->bins; b++)
		t->weight[b] = mixture_bin_weight(t->f->bins, b);
	t->log = take_doubles(t, n2);
	t->noise = take_doubles(t, n2);
	for (size_t i = 0; m && i < n2; i++) {
		bool known = t->d->has_pair[i];

		t->log[i] = known ? log_of_slowdown(m[i].mean) : 0;
		t->noise[i] = known ? np_noise_of_mean(&m[i], pooled) : 0;
	}
}

static void sample_pairs(struct fabric_task *t, struct np_data_fabric *v,
			 bool redraw)
{
	size_t n = t->n;
	double *to = take_doubles(t, n * n);

	for (size_t i = 0; i < n * n; i++) {
		to[i] = t->log[i];
		if (redraw && t->d->has_pair[i])
			to[i] += t->noise[i] * np_rng_normal(t->rng);
	}
	v->log_pairs = v->fit_pairs = to;
}

#define PARTS 8 /* into which the levels are divided, to leave out one at a time */
#define REPEAT 0.03 /* what runs differ by: smaller residuals tell nothing */

/* Fits of one level's effects by those of the others, without some of the rows. */
struct excluded {
	const double *z; /* slowdowns, n x n, on the scale of the fits */
	size_t n, from, to; /* rows from .. to - 1 are left out */
	/* Normal equations of all n + 1 columns, the idle fabric first; without
	 * column j, and its solution. */
	double *all, *gram, *h, *w;
};

static void add_rows(struct excluded *o)
{
	size_t n = o->n, n1 = n + 1;

	for (size_t i = 0; i < n1 * n1; i++)
		o->all[i] = NP_CROSS_SUM * NP_CROSS_SUM;
	for (size_t r = 0; r < n; r++)
		for (size_t i = 0; (r < o->from || r >= o->to) && i < n; i++)
			np_lanes_add(o->all + (i + 1) * n1 + 1,
				     o->z[r * n + i], o->z + r * n, n);
}

/* Unknown k of the fit of column j is this one of all. */
static size_t index_in_all(size_t k, size_t j)
{
	return k < j ? k : k + 1;
}

/* Adds the squared residuals of the rows that are left out to square[n]. */
static void add_residuals(struct fabric_task *t, struct excluded *o,
			  double *square)
{
	size_t n = o->n, n1 = n + 1;

	add_rows(o);
	for (size_t j = 1; j <= n; j++) {
		for (size_t a = 0; a < n; a++) {
			const double *row = o->all + index_in_all(a, j) * n1;

			o->h[a] = row[j];
			for (size_t b = 0; b < n; b++)
				o->gram[a * n + b] = row[index_in_all(b, j)];
		}
		if (np_nnls_solve(t->nnls, o->gram, n, 0, o->h, n, o->w, false,
				  NULL) == -EINVAL)
			continue; /* not finite */
		for (size_t r = o->from; r < o->to; r++) {
			const double *z = o->z + r * n;
			double left = z[j - 1];

			for (size_t k = 1; k < n; k++)
				left -= o->w[k] * z[index_in_all(k, j) - 1];
			square[r] += left * left;
		}
	}
}

/* Compute the weights of the levels from all their slowdowns z. */
static void weigh_levels(struct fabric_task *t, const double *z, double *weight,
			 double *scratch)
{
	size_t n = t->n;
	struct excluded o = { .z = z, .n = n, .all = scratch };
	double middle;

	o.gram = o.all + (n + 1) * (n + 1);
	o.h = o.gram + n * n;
	o.w = o.h + n;
	memset(weight, 0, n * sizeof(*weight));
	for (size_t part = 0; part < PARTS; part++) {
		o.from = part * n / PARTS;
		o.to = (part + 1) * n / PARTS;
		if (o.from < o.to)
			add_residuals(t, &o, weight);
	}
	for (size_t i = 0; i < n; i++)
		weight[i] = sqrt(weight[i] / (double)n + REPEAT * REPEAT);
	memcpy(o.h, weight, n * sizeof(*weight));
	middle = gsl_stats_median(o.h, 1, n);
	for (size_t i = 0; i < n; i++)
		weight[i] = fmin(1, middle / weight[i]);
}

static void scale_pairs(struct fabric_task *t, struct np_data_fabric *v)
{
	size_t n = t->n;
	double *to = take_doubles(t, n * n);

	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j <= i; j++)
			np_slowdowns_at_full_rate(v->log_pairs[i * n + j],
						  v->log_pairs[j * n + i],
						  &to[i * n + j],
						  &to[j * n + i]);
	v->fit_pairs = to;
	if (!t->d->whole || n < 3)
		return;
	if (!t->fit_weight) {
		t->fit_weight = take_doubles(t, n);
		weigh_levels(t, to, t->fit_weight,
			     take_doubles(t,
					  (n + 1) * (n + 1) + n * n + 2 * n));
	}
	v->fit_weight = t->fit_weight;
	for (size_t i = 0; i < n * n; i++)
		to[i] *= t->fit_weight[i / n];
}

static void gram_cross(struct fabric_task *t, struct np_data_fabric *v)
{
	size_t n = t->n;
	double *g = take_doubles(t, (n + 1) * (n + 1));

	for (size_t i = 0; i < (n + 1) * (n + 1); i++)
		g[i] = NP_CROSS_SUM * NP_CROSS_SUM;
	for (size_t r = 0; r < n; r++) {
		const double *row = v->fit_pairs + r * n;

		for (size_t i = 0; i < n; i++)
			for (size_t j = 0; j < n; j++)
				g[(i + 1) * (n + 1) + j + 1] += row[i] * row[j];
	}
	v->gram_cross = g;
}

/* Products of all pairs of rows of levels. */
static void gram_victim(struct fabric_task *t, struct np_data_fabric *v)
{
	size_t n = t->n;
	double *g = take_doubles(t, n * n);

	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k <= i; k++) {
			double sum = 0;

			for (size_t j = 0; j < n; j++)
				sum += v->fit_pairs[i * n + j] *
				       v->fit_pairs[k * n + j];
			g[i * n + k] = g[k * n + i] = sum;
		}
	v->gram_victim = g;
}

static const double *cdf_of(const struct np_data_fabric *v, size_t i)
{
	return i ? v->level[i - 1].cdf : v->idle.cdf;
}

static void gram_mixture(struct fabric_task *t, struct np_data_fabric *v)
{
	size_t n = t->n + 1;
	double *g = take_doubles(t, n * n), weighted[NP_BINS_MAX];

	for (size_t i = 0; i < n; i++) {
		const double *cdf = cdf_of(v, i);

		for (size_t j = 0; j <= i; j++)
			g[i * n + j] = NP_MIXTURE_SUM * NP_MIXTURE_SUM;
		g[i * n + i] += NP_MIXTURE_RIDGE * NP_MIXTURE_RIDGE;
		for (size_t b = 0; cdf && b < t->bins; b++)
			weighted[b] = t->weight[b] * cdf[b];
		if (cdf)
			np_mixture_products(v, weighted, i + 1, g + i * n);
		for (size_t j = 0; j < i; j++)
			g[j * n + i] = g[i * n + j];
	}
	v->gram_mixture = g;
}

static void sample_fabric(struct fabric_task *t, size_t r)
{
	struct np_data_fabric *v = &t->d->sample[r];
	struct np_data_latency *level = t->d->level + r * t->n;
	struct np_rng *rng = r ? t->rng : NULL;

	v->n_levels = t->n;
	v->bins = t->f->bins;
	v->bulk_level = sender(t->f, true);
	v->brief_level = sender(t->f, false);
	v->idle_min = t->f->idle.all.min;
	sample_latency(&t->f->idle, t->bins, rng,
		       t->bins ? take_doubles(t, t->bins) : NULL, t->counts,
		       &v->idle);
	for (size_t i = 0; i < t->n; i++)
		sample_latency(&t->f->level[i].latency, t->bins, rng,
			       t->bins ? take_doubles(t, t->bins) : NULL,
			       t->counts, &level[i]);
	v->level = level;
	v->bin_weight = t->bins ? t->weight : NULL;
	if (t->bins)
		gram_mixture(t, v);
	sample_pairs(t, v, r > 0);
	if (t->opt->needs & NP_NEED_OWN_IMPACT)
		scale_pairs(t, v);
	if (t->opt->needs & NP_NEED_LEVEL_PAIRS) {
		gram_cross(t, v);
		gram_victim(t, v);
	}
}

static int fabric_alloc(struct fabric_task *t)
{
	struct np_bootstrap_fabric *d = t->d;
	size_t n = t->n, n1 = n + 1, per = n1 * t->bins + n * n;

	if (t->bins)
		per += n1 * n1;
	if (t->opt->needs & NP_NEED_OWN_IMPACT)
		per += n * n;
	if (t->opt->needs & NP_NEED_LEVEL_PAIRS)
		per += n * n + n1 * n1;
	d->n = 1 + t->opt->replicates;
	d->sample = calloc(d->n, sizeof(*d->sample));
	d->level = calloc(d->n * n + 1, sizeof(*d->level));
	d->has_pair = calloc(n * n + 2 * n + 1, sizeof(bool));
	d->store =
		malloc((d->n * per + t->bins + 4 * n * n + 5 * n + 2) *
		       sizeof(double));
	t->nnls = np_nnls_new(n + 1);
	if (!d->sample || !d->level || !d->has_pair || !d->store || !t->nnls)
		return -ENOMEM;
	d->has_latency = d->has_pair + n * n;
	d->has_hist = d->has_latency + n;
	t->next = d->store;
	return 0;
}

int np_bootstrap_fabric(const struct np_fabric *f,
			const struct np_bootstrap_opt *opt,
			struct np_bootstrap_fabric *d, struct np_err *err)
{
	struct fabric_task t = { .f = f, .opt = opt, .d = d, .n = f->n_levels };

	*d = (struct np_bootstrap_fabric){ 0 };
	if (opt->needs & NP_NEED_HIST && f->bins)
		t.bins = f->bins->n;
	t.rng = np_rng_new(opt->seed, f->name);
	if (!t.rng || fabric_alloc(&t)) {
		np_nnls_free(t.nnls);
		np_rng_free(t.rng);
		np_bootstrap_fabric_free(d);
		return np_errf(err, -ENOMEM,
			       "%s: no memory for %zu bootstrap "
			       "samples",
			       f->name, opt->replicates);
	}
	fabric_mark_known(&t);
	prepare_constants(&t);
	for (size_t r = 0; r < d->n; r++)
		sample_fabric(&t, r);
	np_nnls_free(t.nnls);
	np_rng_free(t.rng);
	return 0;
}

/* Number of doubles in one sample. */
static size_t per_sample(size_t n_levels, size_t bins, unsigned needs)
{
	return 2 * n_levels + bins +
	       (needs & NP_NEED_OWN_IMPACT ? 2 * n_levels : 0);
}

static int program_alloc(struct np_bootstrap_program *d, size_t samples,
			 size_t n_levels, size_t bins, unsigned needs)
{
	d->n = samples;
	d->sample = calloc(samples, sizeof(*d->sample));
	d->store = malloc((samples * per_sample(n_levels, bins, needs) + 1) *
			  sizeof(double));
	return d->sample && d->store ? 0 : -ENOMEM;
}

static int alloc_known(struct np_bootstrap_program *d, size_t n_levels)
{
	*d = (struct np_bootstrap_program){ .n = 0 };
	d->has_curve = calloc(2 * n_levels + 1, sizeof(bool));
	if (!d->has_curve)
		return -ENOMEM;
	d->has_impact = d->has_curve + n_levels;
	return 0;
}

static unsigned program_mark_known(const struct np_mean *m, size_t n,
				   bool *known, unsigned need)
{
	unsigned has = 0;

	for (size_t i = 0; m && i < n; i++) {
		known[i] = np_mean_known(&m[i]);
		if (known[i])
			has = need;
	}
	return has;
}

/* log(1 + slowdown), 0 if not measured, and the sd of its means. */
static void make_logs(const struct np_mean *m, size_t n, const bool *known,
		      double *log, double *noise)
{
	double pooled = m ? np_noise_pooled(m, n) : 0;

	for (size_t i = 0; i < n; i++) {
		log[i] = known[i] ? log_of_slowdown(m[i].mean) : 0;
		noise[i] = known[i] ? np_noise_of_mean(&m[i], pooled) : 0;
	}
}

static void sample_logs(const double *log, const double *noise, size_t n,
			const bool *known, struct np_rng *r, double *to)
{
	for (size_t i = 0; i < n; i++) {
		to[i] = log[i];
		if (r && known[i])
			to[i] += noise[i] * np_rng_normal(r);
	}
}

/* The slowdowns of program and levels by each other, on the fits' scale. */
static void scale_program(struct np_data_program *v, size_t n,
			  const double *weight, double *to)
{
	for (size_t i = 0; i < n; i++) {
		np_slowdowns_at_full_rate(v->log_curve[i], v->log_impact[i],
					  &to[i], &to[n + i]);
		to[n + i] *= weight ? weight[i] : 1;
	}
	v->fit_curve = to;
	v->fit_impact = to + n;
}

/* State while the samples of a program are drawn. */
struct program_task {
	const struct np_program *a;
	const bool *known; /* has_curve, has_impact */
	size_t n, bins;
	double *log, *noise; /* of the curve (n), then of the impact (n) */
	const double *fit_weight; /* of the fabric; may be NULL */
};

static void sample_program(const struct program_task *t, struct np_rng *r,
			   double *to, struct np_data_program *v)
{
	double counts[NP_BINS_MAX], *curve = to, *impact = to + t->n;
	double *cdf = impact + t->n;

	sample_logs(t->log, t->noise, t->n, t->known, r, curve);
	sample_logs(t->log + t->n, t->noise + t->n, t->n, t->known + t->n, r,
		    impact);
	sample_latency(&t->a->latency, t->bins, r, t->bins ? cdf : NULL, counts,
		       &v->latency);
	v->log_curve = v->fit_curve = curve;
	v->log_impact = v->fit_impact = impact;
	v->response = t->a->response;
}

static void sample_all(struct program_task *t, struct np_rng *r, unsigned needs,
		       struct np_bootstrap_program *d)
{
	const struct np_program *a = t->a;
	double *next = d->store;

	make_logs(a->curve, t->n, d->has_curve, t->log, t->noise);
	make_logs(a->impact, t->n, d->has_impact, t->log + t->n,
		  t->noise + t->n);
	for (size_t i = 0; i < d->n; i++) {
		sample_program(t, i ? r : NULL, next, &d->sample[i]);
		next += per_sample(t->n, t->bins, needs);
		if (needs & NP_NEED_OWN_IMPACT)
			scale_program(&d->sample[i], t->n, t->fit_weight,
				      next - 2 * t->n);
	}
}

int np_bootstrap_known(const struct np_program *a, const struct np_fabric *f,
		       struct np_bootstrap_program *d, struct np_err *err)
{
	size_t n = f->n_levels;

	if (alloc_known(d, n))
		return np_errf(err, -ENOMEM, "%s: no memory for %zu levels",
			       a->name, n);
	d->has = program_mark_known(a->curve, n, d->has_curve, NP_NEED_CURVE) |
		 program_mark_known(a->impact, n, d->has_impact,
				    NP_NEED_IMPACT);
	if (a->latency.all.n)
		d->has |= NP_NEED_LATENCY |
			  (a->latency.count ? NP_NEED_HIST : 0);
	if (a->latency.all.n == 1)
		d->flags |= NP_PRED_ONE_PROBE;
	if (a->response)
		d->has |= NP_NEED_TRACE;
	return 0;
}

int np_bootstrap_samples(const struct np_program *a,
			 const struct np_bootstrap_fabric *f,
			 const struct np_bootstrap_opt *opt,
			 struct np_bootstrap_program *d, struct np_err *err)
{
	const struct np_data_fabric *measured = &f->sample[0];
	struct program_task t = { .a = a,
				  .known = d->has_curve,
				  .n = measured->n_levels,
				  .fit_weight = measured->fit_weight };
	struct np_rng *r = opt->replicates ? np_rng_new(opt->seed, a->name) :
					     NULL;
	int rc = -ENOMEM;

	if (opt->needs & NP_NEED_HIST && measured->bins)
		t.bins = measured->bins->n;
	t.log = malloc((4 * t.n + 1) * sizeof(double));
	if (t.log && (r || !opt->replicates))
		rc = program_alloc(d, 1 + opt->replicates, t.n, t.bins,
				   opt->needs);
	if (!rc) {
		t.noise = t.log + 2 * t.n;
		sample_all(&t, r, opt->needs, d);
	}
	free(t.log);
	np_rng_free(r);
	return rc ? np_errf(err, rc, "%s: no memory for %zu bootstrap samples",
			    a->name, opt->replicates) :
		    0;
}

static bool same_sample(const struct np_data_program *a,
			const struct np_data_program *b,
			const struct np_data_fabric *f)
{
	const size_t bytes = f->n_levels * sizeof(double);
	const double *x = a->latency.cdf, *y = b->latency.cdf;

	/* What is on the scale of the fits follows from these. */
	return a->latency.mean == b->latency.mean &&
	       a->latency.sd == b->latency.sd &&
	       !memcmp(a->log_curve, b->log_curve, bytes) &&
	       !memcmp(a->log_impact, b->log_impact, bytes) && !x == !y &&
	       (!x || !memcmp(x, y, f->bins->n * sizeof(*x)));
}

/*
 * True if all that models see of both programs is the same, except for their
 * traces.  Both have samples of this fabric.
 */
static bool bootstrap_equal(const struct np_bootstrap_program *a,
			    const struct np_bootstrap_program *b,
			    const struct np_bootstrap_fabric *f)
{
	size_t n = f->sample[0].n_levels;

	if (a->n != b->n || a->has != b->has ||
	    memcmp(a->has_curve, b->has_curve, n * sizeof(bool)) ||
	    memcmp(a->has_impact, b->has_impact, n * sizeof(bool)))
		return false;
	for (size_t r = 0; r < a->n; r++)
		if (!same_sample(&a->sample[r], &b->sample[r], &f->sample[r]))
			return false;
	return true;
}

/* Add one sample of a co-runner to the sum v, whose numbers are at to. */
static void add_one(struct np_data_program *v, const struct np_data_program *co,
		    const struct np_data_fabric *f, size_t bins, double *to)
{
	double idle = f->idle.mean, var = f->idle.sd * f->idle.sd;
	double *cdf_to = to + 2 * f->n_levels, cdf[NP_BINS_MAX];

	for (size_t i = 0; i < f->n_levels; i++)
		to[f->n_levels + i] += co->log_impact[i];
	v->latency.mean =
		fmax(v->latency.mean + co->latency.mean - idle, f->idle_min);
	v->latency.sd =
		sqrt(fmax(0, v->latency.sd * v->latency.sd +
				     co->latency.sd * co->latency.sd - var));
	if (v->latency.cdf && co->latency.cdf) {
		np_latency_add(f->bins, v->latency.cdf, co->latency.cdf, idle,
			       cdf);
		memcpy(cdf_to, cdf, bins * sizeof(*cdf));
	}
}

/* Initialise the sum with the first co-runner, without its curve. */
static void copy_one(struct np_data_program *v,
		     const struct np_data_program *co, size_t n, size_t bins,
		     double *to)
{
	*v = *co;
	v->log_curve = memset(to, 0, n * sizeof(*to));
	v->log_impact = memcpy(to + n, co->log_impact, n * sizeof(*to));
	if (co->latency.cdf)
		v->latency.cdf =
			memcpy(to + 2 * n, co->latency.cdf, bins * sizeof(*to));
}

/*
 * For the fits, the impact of all co-runners is the sum of their impacts, and
 * their sensitivity curve is the mean of their curves.
 */
static void add_fit(const struct np_bootstrap_program *const *co, size_t n_co,
		    size_t sample, size_t n, double *to)
{
	memset(to, 0, 2 * n * sizeof(*to));
	for (size_t c = 0; c < n_co; c++) {
		const struct np_data_program *one = &co[c]->sample[sample];

		for (size_t i = 0; i < n; i++) {
			to[i] += one->fit_curve[i] / (double)n_co;
			to[n + i] += one->fit_impact[i];
		}
	}
}

/*
 * Combine several co-runners into one, sample by sample.  Impacts add up as
 * log(1 + CA), latencies as differences from the idle fabric.  The sum has what
 * all of them have, except a sensitivity curve; the fits use the mean of theirs.
 * Returns 0 and fills *d, or -ENOMEM with err.
 */
static int bootstrap_sum(const struct np_bootstrap_program *const *co,
			 size_t n_co, const struct np_bootstrap_fabric *f,
			 struct np_bootstrap_program *d, struct np_err *err)
{
	size_t n = f->sample[0].n_levels, samples = co[0]->n;
	size_t bins = f->sample[0].bins ? f->sample[0].bins->n : 0;
	const unsigned needs = NP_NEED_OWN_IMPACT;
	size_t step = per_sample(n, bins, needs);
	unsigned has = ~0u;

	if (alloc_known(d, n) || program_alloc(d, samples, n, bins, needs)) {
		np_bootstrap_program_free(d);
		return np_errf(err, -ENOMEM, "no memory for %zu co-runners",
			       n_co);
	}
	for (size_t i = 0; i < n; i++)
		d->has_impact[i] = true;
	for (size_t c = 0; c < n_co; c++) {
		has &= co[c]->has;
		d->flags |= co[c]->flags;
		for (size_t i = 0; i < n; i++)
			d->has_impact[i] &= co[c]->has_impact[i];
	}
	d->has = has & ~(unsigned)NP_NEED_CURVE;
	for (size_t r = 0; r < samples; r++) {
		double *to = d->store + r * step;
		double *fit = to + step - 2 * n;

		copy_one(&d->sample[r], &co[0]->sample[r], n, bins, to);
		for (size_t c = 1; c < n_co; c++)
			add_one(&d->sample[r], &co[c]->sample[r], &f->sample[r],
				bins, to);
		add_fit(co, n_co, r, n, fit);
		d->sample[r].fit_curve = fit;
		d->sample[r].fit_impact = fit + n;
	}
	return 0;
}

/* ---- Predictions ---- */

/*
 * The levels used for one prediction: col[] under which the victim was
 * measured, row[] that the co-runner was measured to slow, co_col[] under which
 * the co-runner was measured. See struct np_data.
 */
struct np_level_use {
	struct np_levels col, row, co_col;
};

/*
 * The error of a model grows with the slowdown.  Its standard deviation is taken
 * as proportional to NP_MISS_FLOOR + log(1 + slowdown).  Of the floors tried,
 * this one has the greatest likelihood for the errors made on the levels
 * themselves (doc/validation/methods.md).
 */
#define NP_MISS_FLOOR 0.2

/*
 * Each prediction is repeated with one group of levels left out at a time.  There
 * are NP_LESS_PARTS groups; with at most that many levels, a group is one level.
 * At least NP_LESS_LEVELS levels must remain.
 */
#define NP_LESS_PARTS 8
#define NP_LESS_LEVELS 3

/* True if the model uses the mutual slowdowns of programs and levels. */
static inline bool np_model_is_of_levels(const struct np_model *m)
{
	return m->needs & NP_NEED_IMPACT && m->needs & NP_NEED_LEVEL_PAIRS;
}

/* The model's error for one level that was left out of the fit. */
struct np_error_excluded {
	double log_slow; /* predicted log(1 + slowdown) */
	double error;	 /* measured - predicted log(1 + slowdown) */
	bool beyond;	 /* the prediction had NP_PRED_BEYOND */
};

/* The two roles of a program in a prediction. */
enum np_side { NP_CO, NP_VICTIM, NP_SIDES };

/* What the model knows of a program in one role. */
struct np_term {
	bool ready; /* for the levels in use */
	struct np_level_use use;
	double *z;	/* np_model_dim() doubles for each bootstrap sample */
	unsigned flags; /* of sample 0, the measured values */
	/* Row k: the first row of z without group k of the levels. */
	double *less;
	bool has_less[NP_LESS_PARTS];
	struct np_error_excluded *miss; /* for each level that was left out */
	size_t n_miss;
};

/* One program, its bootstrap samples, and its terms in both roles. */
struct np_prepared {
	const struct np_program *app;
	struct np_bootstrap_program bootstrap;
	struct np_term term[NP_SIDES]; /* these share z if it is the same */
	size_t slot; /* 1 + its index in the cache; 0: none */
};

/*
 * A predictor caches programs with their samples and terms, as placement
 * predicts each program with all others, at each distance.  The cache has room
 * for NP_PREPARED_MAX programs or NP_PREPARED_BYTES, whichever is less, but at
 * least for the two of a pair.
 */
#define NP_PREPARED_MAX 256
#define NP_PREPARED_BYTES (4u << 20)

/* The terms of the levels, treated as programs, for one choice of levels. */
struct np_level_terms {
	bool ready;
	struct np_level_use use;
	double *z[NP_SIDES]; /* np_model_dim() doubles for each level */
	int *rc[NP_SIDES];   /* 0 for levels that have a term */
	unsigned *flags;     /* of the levels as co-runners */
};

struct np_predictor {
	const struct np_fabric *f;
	const struct np_model *m;
	struct np_predict_opt opt;
	struct np_bootstrap_opt bootstrap;
	size_t n, dim; /* levels; np_model_dim() */
	struct np_bootstrap_fabric fabric;
	struct np_data_program *level; /* the levels as programs, measured */
	double *level_store; /* memory of these */
	struct np_level_terms level_terms;
	struct np_nnls *nnls;
	double *work;	  /* scratch of the model */
	double *ensemble; /* weights of its members; NULL: it has none */
	/* Without each group of levels, of those in less_of. */
	struct np_less {
		struct np_level_use use;
		struct np_levels left_row, left_col; /* in the group */
		struct np_gram_cache gram;
	} less[NP_LESS_PARTS];
	struct np_level_use less_of;
	struct np_right_sides sides; /* of the program that term_make() is at */
	double *predictions; /* predictions for each bootstrap sample */
	struct np_prepared *cached;
	uint64_t cached_name[NP_PREPARED_MAX]; /* hashes of their names */
	size_t max_cached, next_cached;
	struct np_predictor *fallback; /* created on first use */
};

/* The matrix of mutual slowdowns of the levels, while incomplete rows and
 * columns are removed from it. */
struct matrix {
	const bool *known; /* n x n */
	size_t n;
	struct np_level_use *use;
	bool mutual; /* an entry counts only if its transpose is known, too */
};

/* Whether the slowdown of level i by level j does not count. */
static bool is_unknown(const struct matrix *t, size_t i, size_t j)
{
	return !t->known[i * t->n + j] ||
	       (t->mutual && !t->known[j * t->n + i]);
}

/* Drop all levels from this one to the one before end. */
static void levels_drop(struct np_levels *l, size_t level, size_t end)
{
	size_t to = 0;

	for (size_t i = 0; i < l->n; i++)
		if (l->at[i] < level || l->at[i] >= end)
			l->at[to++] = l->at[i];
	l->n = to;
}

static void levels_add(struct np_levels *l, size_t level)
{
	l->at[l->n++] = (uint16_t)level;
}

static bool level_use_equal(const struct np_level_use *a, const struct np_level_use *b)
{
	return np_levels_equal(&a->col, &b->col) &&
	       np_levels_equal(&a->row, &b->row) &&
	       np_levels_equal(&a->co_col, &b->co_col);
}

/* Number of unknown entries in row k or, if is_row is false, in column k. */
static size_t count_unknown(const struct matrix *t, size_t k, bool is_row)
{
	const struct np_levels *l = is_row ? &t->use->col : &t->use->row;
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++)
		n += is_row ? is_unknown(t, k, l->at[i]) :
			      is_unknown(t, l->at[i], k);
	return n;
}

/* Remove the row or column with most unknown entries until none is left. */
static void drop_incomplete(const struct np_predictor *p,
			    struct np_level_use *use)
{
	const struct matrix t = { p->fabric.has_pair, p->n, use,
				  p->m->needs & NP_NEED_OWN_IMPACT };
	struct np_levels *from;

	if (p->fabric.whole)
		return;
	do {
		size_t worst = 0, at = 0;

		from = NULL;
		for (int is_row = 1; is_row >= 0; is_row--) {
			struct np_levels *l = is_row ? &use->row : &use->col;

			for (size_t i = 0; i < l->n; i++) {
				size_t n = count_unknown(&t, l->at[i], is_row);

				if (n <= worst)
					continue;
				worst = n;
				at = l->at[i];
				from = l;
			}
		}
		if (from)
			levels_drop(from, at, at + 1);
	} while (from);
}

enum owner { VICTIM, CO_RUNNER, FABRIC };

/* For each requirement of a model: whose data it is, and the error message. */
static const struct {
	unsigned need;
	enum owner owner;
	unsigned has;
	const char *what;
} requirements[] = {
	{ NP_NEED_CURVE, VICTIM, NP_NEED_CURVE,
	  "its slowdown under load levels was not measured" },
	{ NP_NEED_TRACE, VICTIM, NP_NEED_TRACE, "no trace" },
	{ NP_NEED_OWN_IMPACT, VICTIM, NP_NEED_IMPACT,
	  "how much it slows the levels was not measured" },
	{ NP_NEED_LATENCY, CO_RUNNER, NP_NEED_LATENCY, "no probe latencies" },
	{ NP_NEED_HIST, CO_RUNNER, NP_NEED_HIST, "no latency histogram" },
	{ NP_NEED_IMPACT, CO_RUNNER, NP_NEED_IMPACT,
	  "how much it slows the levels was not measured" },
	{ NP_NEED_CO_CURVE, CO_RUNNER, NP_NEED_CURVE,
	  "its slowdown under load levels was not measured" },
	{ NP_NEED_IDLE, FABRIC, NP_NEED_IDLE, "no latency of the idle fabric" },
	{ NP_NEED_LATENCY, FABRIC, NP_NEED_LATENCY,
	  "no latency under any load level" },
	{ NP_NEED_HIST, FABRIC, NP_NEED_HIST,
	  "no latency histograms of the idle fabric and the levels" },
	{ NP_NEED_LEVEL_PAIRS, FABRIC, NP_NEED_LEVEL_PAIRS,
	  "how much the load levels slow each other was not measured" },
};

/* Check that all that the model needs was measured. 0 or -ENODATA with err. */
static int check_requirements(const struct np_predictor *p, unsigned needs,
			      const struct np_prepared *a,
			      const struct np_prepared *co, struct np_err *err)
{
	const unsigned has[] = { a->bootstrap.has, co->bootstrap.has,
				 p->fabric.has };
	const char *const name[] = { a->app->name, co->app->name, p->f->name };

	for (size_t i = 0; i < NP_ARRAY_SIZE(requirements); i++) {
		const char *what = requirements[i].what;

		if (!(needs & requirements[i].need) ||
		    has[requirements[i].owner] & requirements[i].has)
			continue;
		if (requirements[i].need == NP_NEED_TRACE && a->app->untraced)
			what = a->app->untraced;
		return np_errf(err, -ENODATA, "%s: %s",
			       name[requirements[i].owner], what);
	}
	return 0;
}

/* True if the fabric has the required measurements of level i. */
static bool level_serves(const struct np_predictor *p, size_t i,
			 unsigned needs)
{
	return (!(needs & NP_NEED_LATENCY) || p->fabric.has_latency[i]) &&
	       (!(needs & NP_NEED_HIST) || p->fabric.has_hist[i]);
}

/* True if the victim has the required measurements for level i. */
static bool serves_victim(const struct np_bootstrap_program *va, size_t i,
			  unsigned needs)
{
	return va->has_curve[i] &&
	       (!(needs & NP_NEED_OWN_IMPACT) || va->has_impact[i]);
}

/* The same of the co-runner. */
static bool serves_co(const struct np_bootstrap_program *cb, size_t i,
		      unsigned needs)
{
	return cb->has_impact[i] &&
	       (!(needs & NP_NEED_CO_CURVE) || cb->has_curve[i]);
}

/* Set *use to all levels with the required measurements. */
static void list_levels(const struct np_predictor *p,
			const struct np_bootstrap_program *va,
			const struct np_bootstrap_program *cb, unsigned needs,
			struct np_level_use *use)
{
	use->col.n = use->row.n = use->co_col.n = 0;
	for (size_t i = 0; i < p->n; i++) {
		if (!level_serves(p, i, needs))
			continue;
		if (needs & NP_NEED_CURVE && serves_victim(va, i, needs))
			levels_add(&use->col, i);
		if (needs & NP_NEED_IMPACT && serves_co(cb, i, needs))
			levels_add(&use->row, i);
		if (needs & NP_NEED_CO_CURVE && cb->has_curve[i])
			levels_add(&use->co_col, i);
	}
	if (needs & NP_NEED_LEVEL_PAIRS)
		drop_incomplete(p, use);
}

/* The levels whose mutual slowdowns are all known. */
static void select_mutual_levels(const struct np_predictor *p,
				 struct np_level_use *use)
{
	use->col.n = use->row.n = use->co_col.n = 0;
	for (size_t i = 0; i < p->n; i++) {
		levels_add(&use->col, i);
		levels_add(&use->row, i);
	}
	drop_incomplete(p, use);
}

/* Select the levels for one prediction.  -ENODATA or -EDOM with err. */
static int select_levels(const struct np_predictor *p,
			 const struct np_prepared *a,
			 const struct np_prepared *co, size_t n_co,
			 struct np_level_use *use, struct np_err *err)
{
	unsigned needs = p->m->needs;
	int rc;

	/* mutual slowdown is defined for two; latencies add up over idle */
	if (n_co > 1)
		needs = (needs & ~(unsigned)NP_NEED_CO_CURVE) |
			(needs & NP_NEED_LATENCY ? NP_NEED_IDLE : 0);
	rc = check_requirements(p, needs, a, co, err);
	if (rc)
		return rc;
	list_levels(p, &a->bootstrap, &co->bootstrap, needs, use);
	if (needs & NP_NEED_CURVE && !use->col.n)
		return np_errf(err, -ENODATA, "%s: none of the load levels under "
			       "which it ran has what model %s needs", a->app->name,
			       p->m->name);
	if (needs & NP_NEED_LEVEL_PAIRS && (use->col.n < 2 || use->row.n < 2))
		return np_errf(err, p->n < 2 ? -EDOM : -ENODATA,
			       "%s with %s: %zu level%s with its slowdown, "
			       "%zu with the impact, expected at least 2 of "
			       "each that were run together",
			       a->app->name, co->app->name, use->col.n,
			       use->col.n == 1 ? "" : "s", use->row.n);
	return 0;
}

/* Fill in the inputs of a model, except for the two programs. */
static void level_inputs(const struct np_predictor *p,
			 const struct np_level_use *use, size_t replicate,
			 struct np_data *v)
{
	*v = (struct np_data){
		.model = p->m,
		.fabric = &p->fabric.sample[replicate],
		.n_co = 1,
		.col = &use->col,
		.row = &use->row,
		.co_col = &use->co_col,
		.nnls = p->nnls,
		.work = p->work,
		.ensemble = p->ensemble,
	};
}

/*
 * Weights of an ensemble's members.  Every level under every other level is
 * predicted as if both were programs.  The weights are the non-negative ones
 * with sum 1 that minimise the squared error, separately for co-runners within
 * the range of the levels and beyond it.
 */

#define K NP_MODEL_MEMBERS
#define SUM 100.0 /* weight of the equation "the weights sum to 1" */
#define RIDGE 0.3 /* pull towards equal weights, for few levels */

/* Normal equations of one set of weights. */
struct stack {
	double gram[K * K], h[K];
};

static void stack_init(struct stack *s)
{
	for (size_t i = 0; i < K; i++) {
		for (size_t j = 0; j < K; j++)
			s->gram[i * K + j] = SUM * SUM +
					     (i == j ? RIDGE * RIDGE : 0);
		s->h[i] = SUM * SUM + RIDGE * RIDGE / K;
	}
}

/* Add an equation: the weighted predictions sum to what was measured. */
static void stack_add(struct stack *s, const double member[K], double measured)
{
	double scale = 1 / (NP_MISS_FLOOR + fabs(measured));

	scale *= scale;
	for (size_t i = 0; i < K; i++) {
		for (size_t j = 0; j < K; j++)
			s->gram[i * K + j] += scale * member[i] * member[j];
		s->h[i] += scale * member[i] * measured;
	}
}

/* Predict level i under level k, from fits that exclude both. */
static void stack_pair(struct np_predictor *p, const struct np_level_use *all,
		       size_t i, size_t k, struct stack stack[2])
{
	double x[p->dim], y[p->dim], member[K];
	struct np_level_use use = *all;
	struct np_data v;

	levels_drop(&use.row, i, i + 1);
	levels_drop(&use.col, k, k + 1);
	level_inputs(p, &use, 0, &v);
	v.victim = &p->level[i];
	v.co = &p->level[k];
	memset(x, 0, sizeof(x));
	memset(y, 0, sizeof(y));
	if (p->m->describe(&v, x) || p->m->respond(&v, y))
		return;
	p->m->members(&v, x, y, member);
	stack_add(&stack[v.flags & NP_PRED_BEYOND ? 1 : 0], member,
		  p->level[i].log_curve[k]);
}

/* The K weights, scaled so that they sum to 1 exactly. */
static int stack_solve(struct np_predictor *p, const struct stack *s, double *w,
		       struct np_err *err)
{
	double sum = 0;
	int rc = np_nnls_solve(p->nnls, s->gram, K, 0, s->h, K, w, false,
			       err);

	for (size_t i = 0; i < K; i++)
		sum += w[i];
	for (size_t i = 0; i < K; i++)
		w[i] /= sum;
	return rc;
}

/* Compute the weights, if the model has members. */
static int ensemble_weigh(struct np_predictor *p, struct np_err *err)
{
	struct stack stack[2];
	struct np_level_use all = { 0 };
	int rc;

	if (!p->m->members)
		return 0;
	p->ensemble = malloc(2 * K * sizeof(double));
	if (!p->ensemble)
		return np_errf(err, -ENOMEM, "no memory for the ensemble");
	select_mutual_levels(p, &all);
	stack_init(&stack[0]);
	stack_init(&stack[1]);
	for (size_t i = 0; i < all.row.n && all.col.n > 2; i++)
		for (size_t k = 0; k < all.col.n; k++)
			stack_pair(p, &all, all.row.at[i], all.col.at[k],
				   stack);
	rc = stack_solve(p, &stack[0], p->ensemble, err);
	return rc ? rc : stack_solve(p, &stack[1], p->ensemble + K, err);
}

/*
 * Treat the levels as programs: their rows are curves, without the weights of the
 * fits, and their columns are impacts.
 */
static int predictor_make_levels(struct np_predictor *p)
{
	const struct np_data_fabric *f = &p->fabric.sample[0];
	size_t n = p->n;
	double *column, *fit_column;

	p->level = calloc(n + 1, sizeof(*p->level));
	p->level_store = calloc(3 * n * n + 1, sizeof(double));
	if (!p->level || !p->level_store)
		return -ENOMEM;
	column = p->level_store;
	fit_column = column + n * n;
	for (size_t i = 0; i < n; i++) {
		const double *row = f->log_pairs + i * n;
		double weight = f->fit_weight ? f->fit_weight[i] : 1;
		double *fit = fit_column + (n + i) * n;

		for (size_t j = 0; j < n; j++) {
			column[j * n + i] = row[j];
			fit_column[j * n + i] = f->fit_pairs[i * n + j];
			fit[j] = f->fit_pairs[i * n + j] / weight;
		}
		p->level[i] = (struct np_data_program){
			.latency = f->level[i],
			.log_curve = row,
			.log_impact = column + i * n,
			.fit_curve = fit,
			.fit_impact = fit_column + i * n,
		};
	}
	return 0;
}

static int alloc_level_terms(struct np_predictor *p)
{
	struct np_level_terms *s = &p->level_terms;

	s->flags = calloc(p->n + 1, sizeof(*s->flags));
	for (int side = 0; side < NP_SIDES; side++) {
		s->z[side] = calloc(p->n * p->dim + 1, sizeof(*s->z[side]));
		s->rc[side] = calloc(p->n + 1, sizeof(*s->rc[side]));
		if (!s->z[side] || !s->rc[side])
			return -ENOMEM;
	}
	return s->flags ? 0 : -ENOMEM;
}

static size_t max_cached(const struct np_predictor *p)
{
	/* of one program: terms, and slowdowns on both scales */
	size_t n = p->fabric.n * (p->dim + 4 * p->n) + NP_LESS_PARTS * p->dim;
	size_t max = NP_PREPARED_BYTES / (n * sizeof(double));

	return max < 2 ? 2 : max < NP_PREPARED_MAX ? max : NP_PREPARED_MAX;
}

static int make(struct np_predictor *p, struct np_err *err)
{
	int rc = np_bootstrap_fabric(p->f, &p->bootstrap, &p->fabric, err);

	if (rc)
		return rc;
	p->nnls = np_nnls_new(p->n + 1 > NP_MODEL_MEMBERS ? p->n + 1 :
			      NP_MODEL_MEMBERS);
	p->work = malloc(NP_MODEL_WORK(p->n) * sizeof(double));
	p->predictions = malloc(3 * p->fabric.n * sizeof(double));
	p->max_cached = max_cached(p);
	p->cached = calloc(p->max_cached, sizeof(*p->cached));
	if (!p->nnls || !p->work || !p->predictions || !p->cached ||
	    predictor_make_levels(p) || alloc_level_terms(p))
		return np_errf(err, -ENOMEM, "%s: no memory for a predictor",
			       p->f->name);
	return ensemble_weigh(p, err);
}

int np_predictor_new(const struct np_fabric *f, const struct np_model *m,
		     const struct np_predict_opt *opt,
		     struct np_predictor **out, struct np_err *err)
{
	struct np_predictor *p;
	int rc = np_fabric_check(f, err);

	if (rc)
		return rc;
	if (opt->replicates > NP_PREDICT_MAX_REPLICATES)
		return np_errf(err, -EINVAL, "%zu bootstrap samples, expected "
			       "at most %d", opt->replicates,
			       NP_PREDICT_MAX_REPLICATES);
	p = calloc(1, sizeof(*p));
	if (!p)
		return np_errf(err, -ENOMEM, "%s: no memory for a predictor",
			       f->name);
	p->f = f;
	p->m = m;
	p->opt = *opt;
	p->n = f->n_levels;
	p->dim = np_model_dim(m, p->n);
	p->bootstrap = (struct np_bootstrap_opt){
		.replicates = opt->replicates,
		.seed = opt->seed,
		.needs = m->needs,
	};
	rc = make(p, err);
	if (rc) {
		np_predictor_free(p);
		return rc;
	}
	*out = p;
	return 0;
}

/* The predictor of the fallback model; *out is NULL if there is none. */
static int predictor_fallback(struct np_predictor *p,
			      struct np_predictor **out, struct np_err *err)
{
	const struct np_model *m;

	*out = NULL;
	if (!p->m->fallback || p->opt.strict)
		return 0;
	m = np_model_find(p->m->fallback, err);
	if (!p->fallback) {
		int rc = np_predictor_new(p->f, m, &p->opt, &p->fallback, err);

		if (rc)
			return rc;
	}
	*out = p->fallback;
	return 0;
}

static void term_free(struct np_prepared *a, enum np_side side)
{
	struct np_term *s = &a->term[side];

	if (s->z != a->term[!side].z) {
		free(s->z);
		free(s->less);
	}
	free(s->miss);
	s->z = s->less = NULL;
	s->miss = NULL;
	s->ready = false;
}

static void prepared_free(struct np_prepared *r)
{
	np_bootstrap_program_free(&r->bootstrap);
	term_free(r, NP_CO);
	term_free(r, NP_VICTIM);
}

void np_predictor_free(struct np_predictor *p)
{
	if (!p)
		return;
	np_predictor_free(p->fallback);
	for (size_t i = 0; p->cached && i < p->max_cached; i++)
		prepared_free(&p->cached[i]);
	free(p->cached);
	np_bootstrap_fabric_free(&p->fabric);
	np_nnls_free(p->nnls);
	free(p->level);
	free(p->level_store);
	for (int side = 0; side < NP_SIDES; side++) {
		free(p->level_terms.z[side]);
		free(p->level_terms.rc[side]);
	}
	free(p->level_terms.flags);
	for (size_t k = 0; k < NP_LESS_PARTS; k++)
		free(p->less[k].gram.cross);
	free(p->work);
	free(p->predictions);
	free(p->ensemble);
	free(p);
}

/*
 * Terms of one program.
 *
 * The term of a program is its description as a co-runner or its response as a
 * victim, for every bootstrap sample.  With it go the errors that the model
 * makes for this program when one level at a time is left out: a level is a
 * program whose slowdowns are known, so the prediction for the victim under it,
 * or for it under the co-runner, can be compared with the measurement.
 */

/* The levels that describe a program in that role. */
static struct np_levels *levels_of(struct np_level_use *use, enum np_side side)
{
	return side == NP_VICTIM ? &use->col : &use->row;
}

/* The inputs of a model when level k is left out for that role. */
static void inputs_without(const struct np_predictor *p,
			   const struct np_level_use *use, enum np_side side,
			   size_t k, struct np_level_use *less,
			   struct np_data *v)
{
	*less = *use;
	levels_drop(levels_of(less, side), k, k + 1);
	level_inputs(p, less, 0, v);
}

/* Compute the term of a program in one role; warm: z has an initial guess. */
static int term_compute(const struct np_predictor *p, enum np_side side,
			const struct np_data_program *a, struct np_data *v,
			double *z, bool warm)
{
	v->warm = warm;
	if (side == NP_VICTIM) {
		v->victim = a;
		return p->m->respond(v, z);
	}
	v->co = a;
	return p->m->describe(v, z);
}

static bool all_known(const bool *known, size_t stride,
		      const struct np_levels *l)
{
	for (size_t i = 0; i < l->n; i++)
		if (!known[l->at[i] * stride])
			return false;
	return true;
}

/* True if level k is known well enough to act as a program in that role. */
static bool can_act_as(const struct np_predictor *p,
		       const struct np_level_use *use, enum np_side side,
		       size_t k)
{
	const struct np_bootstrap_fabric *d = &p->fabric;
	const bool *row = d->has_pair + k * p->n;
	unsigned needs = p->m->needs;

	if (side == NP_VICTIM)
		return all_known(row, 1, &use->col);
	return (!(needs & NP_NEED_LATENCY) || d->has_latency[k]) &&
	       (!(needs & NP_NEED_HIST) || d->has_hist[k]) &&
	       all_known(d->has_pair + k, p->n, &use->row) &&
	       all_known(row, 1, &use->co_col);
}

/* The term of level k in that role, from fits that exclude level k. */
static int make_level_term(struct np_predictor *p,
			   const struct np_level_use *use, enum np_side side,
			   size_t k)
{
	struct np_level_terms *h = &p->level_terms;
	struct np_level_use less;
	struct np_data v;
	int rc;

	if (!can_act_as(p, use, side, k))
		return -1;
	inputs_without(p, use, !side, k, &less, &v);
	if (!less.col.n)
		return -1;
	rc = term_compute(p, side, &p->level[k], &v, h->z[side] + k * p->dim,
			  false);
	if (side == NP_CO)
		h->flags[k] = v.flags;
	return rc;
}

/* Compute the terms of all levels in both roles, unless they exist. */
static void make_level_terms(struct np_predictor *p,
			     const struct np_level_use *use)
{
	struct np_level_terms *h = &p->level_terms;

	if (h->ready && level_use_equal(&h->use, use))
		return;
	h->use = *use;
	for (size_t k = 0; k < p->n; k++)
		for (int side = 0; side < NP_SIDES; side++)
			h->rc[side][k] = make_level_term(p, use, side, k);
	h->ready = true;
}

static void term_add_error(struct np_term *s, double measured, double predicted,
			   unsigned flags)
{
	struct np_error_excluded *m = &s->miss[s->n_miss];

	if (!isfinite(predicted))
		return;
	m->log_slow = predicted;
	m->error = measured - predicted;
	m->beyond = flags & NP_PRED_BEYOND;
	s->n_miss++;
}

/* Predict the program with each level left out, and keep the errors. */
static void find_model_errors(struct np_predictor *p, enum np_side side,
			      const struct np_bootstrap_program *d, size_t n_co,
			      struct np_term *s)
{
	const struct np_data_program *a = &d->sample[0];
	const struct np_level_terms *h = &p->level_terms;

	make_level_terms(p, &s->use);
	for (size_t k = 0; k < p->n; k++) {
		const double *level = h->z[!side] + k * p->dim;
		struct np_levels left[NP_SIDES] = { { .n = 0 } };
		struct np_level_use less;
		struct np_data v;
		double z[p->dim], log_slow;

		if (h->rc[!side][k])
			continue;
		inputs_without(p, &s->use, side, k, &less, &v);
		if (levels_of(&less, side)->n < levels_of(&s->use, side)->n)
			levels_add(&left[side], k);
		v.sides = &p->sides;
		v.left_row = &left[NP_CO];
		v.left_col = &left[NP_VICTIM];
		if (side == NP_VICTIM ? less.col.n == s->use.col.n :
					!d->has_impact[k])
			continue; /* not measured with this level */
		v.n_co = n_co;
		memcpy(z, s->z, sizeof(z)); /* initial guess: all levels */
		if (term_compute(p, side, a, &v, z, true) ||
		    p->m->join(&v, side == NP_VICTIM ? level : z,
			       side == NP_VICTIM ? z : level, &log_slow))
			continue;
		if (side == NP_VICTIM)
			term_add_error(s, a->log_curve[k], log_slow,
				       h->flags[k]);
		else
			term_add_error(s, a->log_impact[k], log_slow,
				       v.flags);
	}
}

/* Keep the levels of a group and those of all others apart. */
static void drop_part(const struct np_level_use *use, size_t n_levels,
		      size_t part, struct np_less *less)
{
	size_t parts = n_levels < NP_LESS_PARTS ? n_levels : NP_LESS_PARTS;
	size_t from = 0, end = 0;

	if (n_levels) {
		from = (part * n_levels + parts - 1) / parts;
		end = ((part + 1) * n_levels + parts - 1) / parts;
	}
	less->use = *use;
	levels_drop(&less->use.col, from, end);
	levels_drop(&less->use.row, from, end);
	levels_drop(&less->use.co_col, from, end);
	less->left_row = use->row;
	levels_drop(&less->left_row, 0, from);
	levels_drop(&less->left_row, end, n_levels);
	less->left_col = use->col;
	levels_drop(&less->left_col, 0, from);
	levels_drop(&less->left_col, end, n_levels);
}

/*
 * Where the normal equations of the measured fabric without a group of levels
 * are kept: nearly all programs were measured with the same levels.  NULL: no
 * memory.
 */
static struct np_gram_cache *gram_cache_without(struct np_predictor *p,
						size_t part)
{
	struct np_gram_cache *cached = &p->less[part].gram;
	size_t n = p->n;

	if (!cached->cross)
		cached->cross = malloc(3 * (n + 1) * (n + 1) *
				       sizeof(*cached->cross));
	if (!cached->cross)
		return NULL;
	cached->victim = cached->cross + (n + 1) * (n + 1);
	cached->some = cached->victim + (n + 1) * (n + 1);
	return cached;
}

/*
 * Compute the term again without each group of levels, as if that group had not
 * been measured at all, neither for the victim nor for the co-runner.
 */
static void make_less(struct np_predictor *p, enum np_side side,
		      const struct np_data_program *a, size_t n_co,
		      struct np_term *s)
{
	bool same_levels = level_use_equal(&p->less_of, &s->use);

	for (size_t k = 0; k < NP_LESS_PARTS; k++) {
		struct np_less *less = &p->less[k];
		double *z = s->less + k * p->dim;
		struct np_data v;

		if (!same_levels)
			drop_part(&s->use, p->n, k, less);
		level_inputs(p, &less->use, 0, &v);
		v.cached = gram_cache_without(p, k);
		v.sides = &p->sides;
		v.left_row = &less->left_row;
		v.left_col = &less->left_col;
		v.only_fit = true;
		v.n_co = n_co;
		memcpy(z, s->z, p->dim * sizeof(*z)); /* initial guess */
		s->has_less[k] = less->use.col.n >= NP_LESS_LEVELS &&
				 less->use.row.n >= NP_LESS_LEVELS &&
				 !level_use_equal(&less->use, &s->use) &&
				 !term_compute(p, side, a, &v, z, true);
	}
	p->less_of = s->use;
}

/*
 * True if the program's terms in both roles are the same numbers, so that one of
 * them need not be computed; see np_model.join_both.
 */
static bool same_in_both_roles(const struct np_predictor *p,
			       const struct np_term *other,
			       const struct np_level_use *use)
{
	return p->m->join_both && other->ready &&
	       level_use_equal(&other->use, use) &&
	       np_levels_equal(&use->row, &use->col);
}

/*
 * Allocate the term s or share that of the other role.  *n is the number of
 * samples to compute: 1, for the flags, if the term is shared.
 */
static int term_begin(struct np_predictor *p, const struct np_level_use *use,
		      const struct np_term *other, struct np_term *s, size_t *n,
		      struct np_err *err)
{
	*n = p->fabric.n;
	if (s->z == other->z)
		s->z = s->less = NULL;
	if (same_in_both_roles(p, other, use)) {
		free(s->z);
		free(s->less);
		s->z = other->z;
		s->less = other->less;
		*n = 1;
	}
	if (!s->z)
		s->z = calloc(p->fabric.n * p->dim, sizeof(*s->z));
	if (!s->less)
		s->less = calloc(NP_LESS_PARTS * p->dim, sizeof(*s->less));
	if (!s->miss)
		s->miss = calloc(p->n + 1, sizeof(*s->miss));
	if (!s->z || !s->less || !s->miss)
		return np_errf(err, -ENOMEM, "no memory for %zu bootstrap "
			       "samples", p->opt.replicates);
	s->use = *use;
	s->ready = false;
	s->flags = 0;
	s->n_miss = 0;
	return 0;
}

/* Row r of the term, initialised with the solution of the measured values. */
static double *term_row(const struct np_predictor *p, struct np_term *s,
			size_t r)
{
	double *z = s->z + r * p->dim;

	if (r)
		memcpy(z, s->z, p->dim * sizeof(*z));
	return z;
}

/*
 * Compute the term of a program in one role, unless it exists for the same
 * levels.  The program must have its bootstrap samples.  n_co is 1 for a victim.
 */
static int term_make(struct np_predictor *p, struct np_prepared *a,
		     enum np_side side, size_t n_co,
		     const struct np_level_use *use, struct np_err *err)
{
	struct np_term *s = &a->term[side];
	struct np_data v;
	size_t n;
	int rc;

	if (s->ready && level_use_equal(&s->use, use))
		return 0;
	rc = term_begin(p, use, &a->term[!side], s, &n, err);
	for (size_t r = 0; !rc && r < n; r++) {
		level_inputs(p, use, r, &v);
		v.sides = r ? NULL : &p->sides;
		v.n_co = n_co;
		v.err = err;
		rc = term_compute(p, side, &a->bootstrap.sample[r], &v,
				  term_row(p, s, r), r > 0);
		if (!r)
			s->flags = v.flags;
	}
	if (rc)
		return rc;
	if (s->less == a->term[!side].less)
		memcpy(s->has_less, a->term[!side].has_less,
		       sizeof(s->has_less));
	else if (np_model_is_of_levels(p->m))
		make_less(p, side, &a->bootstrap.sample[0], n_co, s);
	if (p->opt.replicates)
		find_model_errors(p, side, &a->bootstrap, n_co, s);
	s->ready = true;
	return 0;
}

/* Predictions from the terms of two programs. */

/* Lowest relative speed that is predicted. */
#define SPEED_MIN 1e-3

/*
 * Initialise r, which must be all 0, for a program that passed
 * np_program_check().  Its bootstrap samples are drawn later.
 * r must be freed even if this fails.
 */
static int prepared_init(struct np_predictor *p, const struct np_program *a,
			 struct np_prepared *r, struct np_err *err)
{
	r->app = a;
	return np_bootstrap_known(a, p->f, &r->bootstrap, err);
}

static uint64_t hash_of_name(const struct np_prepared *r)
{
	return np_hash(NP_HASH, r->app->name, strlen(r->app->name));
}

/*
 * Take the terms of a program from the cache, if its samples are the same: the
 * terms follow from them and from the levels, which term_make() compares.
 */
static void take_cached(struct np_predictor *p, struct np_prepared *r)
{
	uint64_t name = hash_of_name(r);

	for (size_t i = 0; i < p->max_cached; i++) {
		struct np_prepared *k = &p->cached[i];

		if (p->cached_name[i] != name ||
		    !bootstrap_equal(&k->bootstrap, &r->bootstrap,
				     &p->fabric))
			continue;
		memcpy(r->term, k->term, sizeof(r->term));
		r->slot = i + 1;
		np_bootstrap_program_free(&k->bootstrap);
		*k = (struct np_prepared){ .slot = 0 };
		return;
	}
}

/*
 * Put a program that has terms into the cache, where it was before or in place
 * of another. The model errors of a model of traces also follow from the trace,
 * which take_cached() does not compare.
 */
static void cache_program(struct np_predictor *p, struct np_prepared *r)
{
	size_t at = r->slot ? r->slot - 1 : p->next_cached;

	if (p->m->needs & NP_NEED_TRACE ||
	    (!r->term[NP_CO].ready && !r->term[NP_VICTIM].ready)) {
		prepared_free(r);
		return;
	}
	if (!r->slot)
		p->next_cached = (at + 1) % p->max_cached;
	prepared_free(&p->cached[at]);
	p->cached[at] = *r;
	p->cached_name[at] = hash_of_name(r);
}

static int prepared_sample(struct np_predictor *p, struct np_prepared *r,
			   struct np_err *err)
{
	int rc;

	if (r->bootstrap.sample)
		return 0;
	rc = np_bootstrap_samples(r->app, &p->fabric, &p->bootstrap,
				  &r->bootstrap, err);
	if (!rc)
		take_cached(p, r);
	return rc;
}

/* Apply the sharing coefficient k to log(1 + slowdown); see np_fabric.h. */
static double apply_sharing(double log_slow, double k, unsigned *flags)
{
	double speed = k > 1 && log_slow > 0 ?
			       1 / (1 + k * expm1(log_slow)) :
			       1 - k + k * exp(-log_slow);

	if (!(speed > SPEED_MIN)) {
		speed = SPEED_MIN;
		*flags |= NP_PRED_CLAMPED;
	}
	return -log(speed);
}

/* Inputs for sample s of the victim and sample r of the co-runner. */
static void set_inputs(const struct np_predictor *p,
		       const struct np_prepared *a, size_t s,
		       const struct np_prepared *co, size_t r, size_t n_co,
		       struct np_data *v)
{
	level_inputs(p, &co->term[NP_CO].use, r, v);
	v->victim = &a->bootstrap.sample[s];
	v->co = &co->bootstrap.sample[r];
	v->n_co = n_co;
}

/* A range of slowdowns; NaN if empty. */
struct range {
	double low, high;
};

/*
 * The range of the predictions when each group of levels is left out in turn.  A
 * wide range means that the prediction depends on a single level.
 */
static void range_without_levels(struct np_predictor *p,
				 const struct np_prepared *a,
				 const struct np_prepared *co, size_t n_co,
				 enum np_scope scope, struct range *out)
{
	const struct np_term *x = &co->term[NP_CO], *y = &a->term[NP_VICTIM];
	const struct np_mean *k = &p->f->sharing[scope];
	double kappa = np_mean_known(k) ? k->mean : 1;

	for (size_t i = 0; i < NP_LESS_PARTS; i++) {
		unsigned ignored = 0;
		struct np_data v;
		double z;

		if (!x->has_less[i] || !y->has_less[i])
			continue;
		set_inputs(p, a, 0, co, 0, n_co, &v);
		if (p->m->join(&v, x->less + i * p->dim, y->less + i * p->dim,
			       &z) || !isfinite(z))
			continue;
		z = expm1(apply_sharing(z, kappa, &ignored));
		out->low = fmin(out->low, z); /* fmin() ignores NaN */
		out->high = fmax(out->high, z);
	}
}

/*
 * Apply the sharing coefficient to all samples. It varies from sample to sample
 * as its own measurements do.
 */
static void apply_sharing_to_all(struct np_predictor *p, enum np_scope scope,
				 double *log_slow, struct np_prediction *out)
{
	const struct np_mean *k = &p->f->sharing[scope];
	double sd = isfinite(k->sd) && k->n ? k->sd / sqrt(k->n) : 0;
	struct np_rng *rng;

	out->sharing = np_mean_known(k) ? k->mean : 1;
	if (!np_mean_known(k)) {
		out->flags |= NP_PRED_NO_SHARING;
		return;
	}
	/* The name stays, as it determines the random numbers. */
	rng = sd > 0 ? np_rng_new(p->opt.seed, "coupling") : NULL;
	for (size_t r = 0; r < p->fabric.n; r++) {
		unsigned ignored = 0, *flags = r ? &ignored : &out->flags;
		double kr = k->mean;

		if (r && rng)
			kr = fmax(0, kr + sd * np_rng_normal(rng));
		log_slow[r] = apply_sharing(log_slow[r], kr, flags);
	}
	np_rng_free(rng);
}

/* Join sample s of the victim's term with sample r of the co-runner's. */
static int prepared_join(struct np_predictor *p, const struct np_prepared *a,
			 size_t s, const struct np_prepared *co, size_t r,
			 size_t n_co, double *log_slow, unsigned *flags)
{
	struct np_data v;
	int rc;

	set_inputs(p, a, s, co, r, n_co, &v);
	v.flags = *flags;
	rc = p->m->join(&v, co->term[NP_CO].z + r * p->dim,
			a->term[NP_VICTIM].z + s * p->dim, log_slow);
	*flags = v.flags;
	return rc;
}

/* Set in *out what data the prediction uses. */
static void set_data_used(const struct np_predictor *p,
			  const struct np_prepared *a,
			  const struct np_prepared *co,
			  struct np_prediction *out)
{
	const struct np_level_use *use = &co->term[NP_CO].use;

	out->model = p->m;
	out->used = p->m->needs;
	out->n_curve = use->col.n;
	out->n_impact = use->row.n;
	out->n_excluded = co->term[NP_CO].n_miss + a->term[NP_VICTIM].n_miss;
	if (p->m->needs & NP_NEED_LATENCY)
		out->n_probes = co->app->latency.all.n;
	if ((p->m->needs & NP_NEED_CURVE && use->col.n < p->n) ||
	    (p->m->needs & NP_NEED_IMPACT && use->row.n < p->n))
		out->flags |= NP_PRED_PARTIAL;
}

/* A model that uses no data, such as "zero", has no interval. */
static bool with_interval(const struct np_predictor *p)
{
	return p->opt.replicates && p->m->needs;
}

/* How large errors are expected to be, relative to those of other slowdowns. */
static double scale_of(double log_slow)
{
	return NP_MISS_FLOOR + fabs(log_slow);
}

/* Collect the scaled errors of predictions with the same NP_PRED_BEYOND. */
static size_t collect_errors(const struct np_term *s, bool beyond, double *to)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n_miss; i++)
		if (beyond || !s->miss[i].beyond)
			to[n++] = s->miss[i].error /
				  scale_of(s->miss[i].log_slow);
	return n;
}

/* Add the model's own error to the samples 1 to n - 1 of a prediction. */
static void add_model_error(const struct np_term *x, const struct np_term *y,
			    double *log_slow, size_t n, unsigned *flags)
{
	double miss[2 * NP_FABRIC_MAX_LEVELS], scale = scale_of(log_slow[0]);
	bool beyond = *flags & NP_PRED_BEYOND;
	size_t n_miss = collect_errors(x, beyond, miss);

	n_miss += collect_errors(y, beyond, miss + n_miss);
	if (!n_miss) {
		*flags |= NP_PRED_NOISE_ONLY;
		return;
	}
	for (size_t r = 1; r < n; r++) {
		/* Multiples of the golden ratio use all errors evenly. */
		double u = fmod((double)r * 0.6180339887498949, 1);

		log_slow[r] += scale * miss[(size_t)(u * (double)n_miss)];
	}
}

/* The interval of a prediction and its n - 1 samples, which are sorted. */
static void find_interval(double *log_slow, size_t n, double *low, double *high)
{
	const double tail = (1 - NP_PREDICT_COVERAGE) / 2;
	double point = log_slow[0], *z = log_slow + 1;

	gsl_sort(z, 1, n - 1);
	*low = expm1(fmin(point, gsl_stats_quantile_from_sorted_data(
					 z, 1, n - 1, tail)));
	*high = expm1(fmax(point, gsl_stats_quantile_from_sorted_data(
					  z, 1, n - 1, 1 - tail)));
}

/* The flags of all data that the prediction uses. */
static unsigned flags_of(const struct np_predictor *p,
			 const struct np_prepared *a,
			 const struct np_prepared *co)
{
	return co->term[NP_CO].flags | a->term[NP_VICTIM].flags |
	       a->bootstrap.flags | co->bootstrap.flags | p->fabric.flags;
}

/*
 * True if the co-runner slows some level clearly more than any level does.  The
 * prediction is then an extrapolation.
 */
static bool is_past_levels(const struct np_predictor *p,
			   const struct np_prepared *co)
{
	const struct np_levels *row = &co->term[NP_CO].use.row;
	const double *impact = co->bootstrap.sample[0].log_impact;

	for (size_t i = 0; i < row->n; i++) {
		const double *pairs =
			p->fabric.sample[0].log_pairs + row->at[i] * p->n;

		if (impact[row->at[i]] > gsl_stats_max(pairs, 1, p->n) +
					   NP_PREDICT_DOUBT_PAST)
			return true;
	}
	return false;
}

/*
 * Consistency checks of a prediction.  Returns flags of NP_PRED_DOUBTFUL, and in
 * *less the range of the predictions with some levels left out.
 */
static unsigned doubts(struct np_predictor *p, const struct np_prepared *a,
		       const struct np_prepared *co, size_t n_co,
		       enum np_scope scope, double log_slow, struct range *less)
{
	unsigned flags = 0;

	*less = (struct range){ NAN, NAN };
	if (!np_model_is_of_levels(p->m))
		return 0;
	range_without_levels(p, a, co, n_co, scope, less);
	if (less->high - less->low > NP_PREDICT_DOUBT_POINTS &&
	    fmax(log1p(less->high) - log_slow, log_slow - log1p(less->low)) >
		    NP_PREDICT_DOUBT_SHARE * scale_of(log_slow))
		flags |= NP_PRED_ONE_LEVEL;
	if (n_co == 1 && is_past_levels(p, co))
		flags |= NP_PRED_PAST_LEVELS;
	return flags;
}

/* True if the interval is so wide that the prediction is doubtful. */
static bool is_wide(const struct np_prediction *out)
{
	double log_slow = log1p(out->slowdown);
	double up = log1p(out->high) - log_slow;
	double down = log_slow - log1p(out->low);

	return out->high - out->low > NP_PREDICT_DOUBT_POINTS &&
	       fmax(up, down) > NP_PREDICT_DOUBT_WIDTH * scale_of(log_slow);
}

/* Fill in *out from the model's result for every sample, or return rc. */
static int prepared_prediction(struct np_predictor *p,
			       const struct np_prepared *a,
			       const struct np_prepared *co, size_t n_co,
			       enum np_scope scope, int rc, double *z,
			       struct np_prediction *out, struct np_err *err)
{
	struct range less;

	if (rc || !isfinite(z[0]))
		return np_errf(err, rc ? rc : -EDOM, "%s with %s: model %s "
			       "has no answer", a->app->name, co->app->name,
			       p->m->name);
	set_data_used(p, a, co, out);
	if (with_interval(p))
		add_model_error(&co->term[NP_CO], &a->term[NP_VICTIM], z,
				p->fabric.n, &out->flags);
	apply_sharing_to_all(p, scope, z, out);
	out->flags |= doubts(p, a, co, n_co, scope, z[0], &less);
	out->slowdown = expm1(z[0]);
	if (!with_interval(p)) {
		out->flags |= NP_PRED_NO_INTERVAL;
		return 0;
	}
	find_interval(z, p->fabric.n, &out->low, &out->high);
	out->low = fmin(out->low, less.low); /* fmin() ignores NaN */
	out->high = fmax(out->high, less.high);
	if (np_model_is_of_levels(p->m) && is_wide(out))
		out->flags |= NP_PRED_WIDE;
	return 0;
}

/* Compute the terms of both programs. */
static int make_terms(struct np_predictor *p, struct np_prepared *a,
		      struct np_prepared *co, size_t n_co, struct np_err *err)
{
	struct np_level_use use;
	int rc = select_levels(p, a, co, n_co, &use, err);

	if (!rc)
		rc = prepared_sample(p, a, err);
	if (!rc)
		rc = prepared_sample(p, co, err);
	if (!rc)
		rc = term_make(p, co, NP_CO, n_co, &use, err);
	return rc ? rc : term_make(p, a, NP_VICTIM, 1, &use, err);
}

/* Predict a under co.  Returns -ENODATA as basis_choose() does. */
static int prepared_pair(struct np_predictor *p, struct np_prepared *a,
			 struct np_prepared *co, size_t n_co,
			 enum np_scope scope, struct np_prediction *out,
			 struct np_err *err)
{
	int rc = make_terms(p, a, co, n_co, err);
	double *z = p->predictions;

	if (rc)
		return rc;
	*out = (struct np_prediction){ .low = NAN, .high = NAN };
	out->flags = flags_of(p, a, co);
	for (size_t r = 0; !rc && r < p->fabric.n; r++) {
		unsigned ignored = out->flags;

		rc = prepared_join(p, a, r, co, r, n_co, &z[r],
				   r ? &ignored : &out->flags);
	}
	return prepared_prediction(p, a, co, n_co, scope, rc, z, out, err);
}

/*
 * Predict both programs of a pair: out[0] is a under b, out[1] is b under a,
 * each with its own rc.  Returns false if the model cannot do both at once.
 */
static bool prepared_both(struct np_predictor *p, struct np_prepared *a,
			  struct np_prepared *b, enum np_scope scope,
			  struct np_prediction *const out[2], int rc[2])
{
	const struct np_term *x = &b->term[NP_CO], *y = &a->term[NP_VICTIM];
	const struct np_level_use *back = &a->term[NP_CO].use;
	double *z = p->predictions, *z_back = z + p->fabric.n;
	int joined = 0;

	if (!p->m->join_both || make_terms(p, a, b, 1, NULL) ||
	    make_terms(p, b, a, 1, NULL) ||
	    !np_levels_equal(&x->use.row, &back->col) ||
	    !np_levels_equal(&x->use.col, &back->row))
		return false;
	for (size_t r = 0; !joined && r < p->fabric.n; r++) {
		double both[2];
		struct np_data v;

		set_inputs(p, a, r, b, r, 1, &v);
		joined = p->m->join_both(&v, x->z + r * p->dim,
					 y->z + r * p->dim, both);
		z[r] = both[0];
		z_back[r] = both[1];
	}
	*out[0] = *out[1] =
		(struct np_prediction){ .low = NAN, .high = NAN };
	out[0]->flags = flags_of(p, a, b);
	out[1]->flags = flags_of(p, b, a);
	rc[0] = prepared_prediction(p, a, b, 1, scope, joined, z, out[0], NULL);
	rc[1] = prepared_prediction(p, b, a, 1, scope, joined, z_back, out[1],
				    NULL);
	return true;
}

/*
 * The measurement that would narrow the interval most.  The variance of the
 * prediction is attributed to the victim or the co-runner by resampling only one
 * of them, and then to a level by its correlation with the prediction.
 */

struct next_task {
	struct np_predictor *p;
	const struct np_prepared *a, *co;
	size_t n_co, n; /* numbers of co-runners and of bootstrap samples */
	double *z;	/* n predictions */
};

/* Predict with one program resampled, the other as measured; the variance. */
static double resample(struct next_task *t, bool victim)
{
	unsigned ignored = 0;

	for (size_t r = 0; r < t->n; r++)
		if (prepared_join(t->p, t->a, victim ? r + 1 : 0, t->co,
				  victim ? 0 : r + 1, t->n_co, &t->z[r],
				  &ignored))
			return 0;
	return gsl_stats_variance(t->z, 1, t->n);
}

/* The slowdowns by level that vary in resample(), in its sample r. */
static const double *resampled_input(const struct next_task *t, size_t r,
				     bool victim)
{
	return victim ? t->a->bootstrap.sample[r + 1].log_curve :
			t->co->bootstrap.sample[r + 1].log_impact;
}

/* The part of the variance of t->z explained by the slowdown of level i. */
static double explained_variance(const struct next_task *t, bool victim,
				 size_t i, double *work)
{
	double var;

	for (size_t r = 0; r < t->n; r++)
		work[r] = resampled_input(t, r, victim)[i];
	var = gsl_stats_variance(work, 1, t->n);
	if (!(var > 0))
		return 0;
	var = gsl_stats_covariance(work, 1, t->z, 1, t->n) / sqrt(var);
	return var * var;
}

/* The level that explains most variance; *sum is that of all levels. */
static size_t most_explaining(const struct next_task *t, bool victim,
			      double *sum)
{
	const struct np_level_use *use = &t->co->term[NP_CO].use;
	const struct np_levels *list = victim ? &use->col : &use->row;
	size_t at = 0;
	double top = -1, *work = t->z + t->n, e;

	*sum = 0;
	for (size_t i = 0; i < list->n; i++) {
		e = explained_variance(t, victim, list->at[i], work);
		*sum += e;
		if (e > top) {
			top = e;
			at = list->at[i];
		}
	}
	return at;
}

/* Mean squared error of the predictions with one level left out. */
static double mean_squared_error(const struct np_term *x,
				 const struct np_term *y)
{
	double sum = 0;
	size_t n = x->n_miss + y->n_miss;

	for (size_t i = 0; i < x->n_miss; i++)
		sum += x->miss[i].error * x->miss[i].error;
	for (size_t i = 0; i < y->n_miss; i++)
		sum += y->miss[i].error * y->miss[i].error;
	return n ? sum / (double)n : 0;
}

/* Distance of level i from the co-runners, in the units of the model. */
static double distance_of_level(const struct next_task *t, size_t i)
{
	const struct np_data_fabric *f = &t->p->fabric.sample[0];
	const struct np_data_program *co = &t->co->bootstrap.sample[0];
	const struct np_level_use *use = &t->co->term[NP_CO].use;
	double sum = 0;

	if (!(t->p->m->needs & NP_NEED_IMPACT))
		return fabs(f->level[i].mean - co->latency.mean);
	for (size_t r = 0; r < use->row.n; r++)
		sum += f->fit_pairs[use->row.at[r] * f->n_levels + i] -
		       co->fit_impact[use->row.at[r]];
	return fabs(sum);
}

/* The level nearest to the co-runners, of all or of those in the curve. */
static size_t nearest_level(const struct next_task *t, bool of_curve)
{
	const struct np_level_use *use = &t->co->term[NP_CO].use;
	size_t n = of_curve ? use->col.n : t->p->n, at = 0;
	double best = INFINITY;

	for (size_t c = 0; c < n; c++) {
		size_t i = of_curve ? use->col.at[c] : c;
		double d = distance_of_level(t, i);

		if (d < best) {
			best = d;
			at = i;
		}
	}
	return at;
}

/* Variance of log(1 + slowdown) due to that of the sharing coefficient. */
static double sharing_var(const struct np_predictor *p, enum np_scope scope,
			   double log_slow)
{
	const struct np_mean *k = &p->f->sharing[scope];
	/* A coefficient above 1 multiplies the slowdown: see apply_sharing(). */
	double loss = (1 - exp(-log_slow)) / fmax(k->mean, 1);

	/* A coefficient that was never measured has NP_PRED_NO_SHARING. */
	return k->n && isfinite(k->sd) ? loss * loss * k->sd * k->sd / k->n : 0;
}

/* Suggest to measure the victim under the level that matters most. */
static void suggest_curve(struct next_task *t, struct np_prediction *out)
{
	double sum;

	out->more = NP_MORE_CURVE;
	resample(t, true);
	out->more_level = most_explaining(t, true, &sum);
}

/*
 * Suggest to measure the co-runner, or the fabric if the levels account for
 * less than half of the variance.
 */
static void suggest_co(struct next_task *t, double var,
		       struct np_prediction *out)
{
	double sum;
	size_t level;

	resample(t, false);
	if (t->p->m->needs & NP_NEED_LATENCY) {
		out->more = NP_MORE_LATENCY;
		return;
	}
	level = most_explaining(t, false, &sum);
	out->more = sum < var / 2 ? NP_MORE_CALIBRATION : NP_MORE_IMPACT;
	out->more_level = level;
}

/* Set out->more of a prediction that is otherwise complete. */
static void suggest(struct np_predictor *p, const struct np_prepared *a,
		    const struct np_prepared *co, size_t n_co,
		    enum np_scope scope, struct np_prediction *out)
{
	struct next_task t = { p, a, co, n_co, p->opt.replicates,
			       p->predictions };
	double curve, impact, model, k;
	size_t like;

	if (!(p->m->needs & NP_NEED_CURVE))
		return;
	like = nearest_level(&t, false);
	curve = resample(&t, true);
	impact = resample(&t, false);
	model = mean_squared_error(&co->term[NP_CO], &a->term[NP_VICTIM]);
	k = sharing_var(p, scope, log1p(out->slowdown));
	if (!a->bootstrap.has_curve[like]) {
		out->more = NP_MORE_CURVE;
		out->more_level = like;
	} else if (k > fmax(curve, fmax(impact, model))) {
		out->more = NP_MORE_SHARING;
	} else if (model > fmax(curve, impact)) {
		out->more = NP_MORE_LEVELS;
		out->more_level = nearest_level(&t, true);
	} else if (curve >= impact) {
		suggest_curve(&t, out);
	} else {
		suggest_co(&t, impact, out);
	}
}

/*
 * True unless the programs are known to load different rails.  Such programs
 * share no switch.
 */
static bool share_rail(const struct np_program *a, const struct np_program *b)
{
	if (!a->rails || !b->rails)
		return true;
	for (const char *at = a->rails; *at;) {
		size_t len = strcspn(at, ",");

		if (np_list_has(b->rails, at, len))
			return true;
		at += len + (at[len] == ',');
	}
	return false;
}

/* Predictions of many pairs, which share the terms of their programs. */

/*
 * Number of co-runners processed together, so that their terms stay in the
 * processor's cache while the terms of all victims are read once.
 */
#define BLOCK 8

struct matrix_task {
	struct np_predictor *p;
	const struct np_program *const *app;
	size_t n;
	enum np_scope scope;
	bool around; /* only pairs that include app[0] */
	bool fell_back;
	bool left;     /* some pairs lack data for this model */
	size_t *order; /* order in which programs are processed */
	bool *known; /* per program: levels in its curve, then in its impact */
	struct np_prediction *out;
	int *rc;
};

/* Index of the result for program v under program c. */
static size_t result_index(const struct matrix_task *t, size_t v, size_t c)
{
	return t->around && v ? t->n - 1 + v : v * t->n + c;
}

static size_t count_results(const struct matrix_task *t)
{
	return t->around ? 2 * t->n - 1 : t->n * t->n;
}

/* Record the result of one pair.  Returns 0 or -ENOMEM. */
static int matrix_record(struct matrix_task *t, size_t at, int rc)
{
	if (!rc && t->fell_back)
		t->out[at].flags |= NP_PRED_FELL_BACK;
	t->left |= rc == -ENODATA;
	t->rc[at] = rc;
	return rc == -ENOMEM ? rc : 0;
}

/*
 * Predict one pair unless that was done, and the reverse pair with it if the
 * model supports that.  Returns 0 or -ENOMEM.
 */
static int matrix_pair(struct matrix_task *t, size_t v,
		       struct np_prepared *victim, size_t c,
		       struct np_prepared *co)
{
	size_t at = result_index(t, v, c), back = result_index(t, c, v);
	struct np_prediction *const out[2] = { &t->out[at], &t->out[back] };
	int rc[2];

	if (t->rc[at] != -ENODATA)
		return 0;
	if (v == c || !prepared_both(t->p, victim, co, t->scope, out, rc))
		return matrix_record(t, at,
				     prepared_pair(t->p, victim, co, 1,
						   t->scope, out[0], NULL));
	matrix_record(t, at, rc[0]);
	return matrix_record(t, back, rc[1]);
}

/*
 * Terms can be reused only for the same choice of levels, so programs that were
 * measured with the same levels are processed one after the other.
 */
static int by_levels(const void *x, const void *y, void *arg)
{
	const struct matrix_task *t = arg;
	size_t i = *(const size_t *)x, j = *(const size_t *)y;
	size_t n = 2 * t->p->n;
	int diff = memcmp(t->known + i * n, t->known + j * n, n);

	return diff ? diff : (i > j) - (i < j);
}

static void mark_known(const struct np_mean *m, size_t n, bool *known)
{
	for (size_t i = 0; m && i < n; i++)
		known[i] = np_mean_known(&m[i]);
}

static int make_order(struct matrix_task *t)
{
	size_t n = t->p->n;

	t->order = malloc(t->n * sizeof(*t->order));
	t->known = calloc(2 * n * t->n + 1, sizeof(*t->known));
	if (!t->order || !t->known)
		return -ENOMEM;
	for (size_t i = 0; i < t->n; i++) {
		t->order[i] = i;
		mark_known(t->app[i]->curve, n, t->known + 2 * n * i);
		mark_known(t->app[i]->impact, n, t->known + 2 * n * i + n);
	}
	qsort_r(t->order, t->n, sizeof(*t->order), by_levels, t);
	return 0;
}

/* True if a pair with program i has no prediction yet. */
static bool is_pending(const struct matrix_task *t, size_t i)
{
	for (size_t j = 0; j < t->n; j++)
		if (t->rc[result_index(t, i, j)] == -ENODATA ||
		    t->rc[result_index(t, j, i)] == -ENODATA)
			return true;
	return false;
}

static int matrix_pass(struct matrix_task *t, struct np_prepared *prepared,
		       struct np_err *err)
{
	const size_t *order = t->order;
	int rc = 0;

	for (size_t i = 0; !rc && i < t->n; i++)
		if (is_pending(t, i))
			rc = prepared_init(t->p, t->app[i], &prepared[i], err);
	for (size_t from = 0; !rc && from < t->n; from += BLOCK) {
		size_t n = from + BLOCK < t->n ? BLOCK : t->n - from;

		for (size_t at = 0; !rc && at < t->n * n; at++) {
			size_t v = order[at / n], c = order[from + at % n];

			rc = matrix_pair(t, v, &prepared[v], c, &prepared[c]);
		}
		for (size_t k = from; k < from + n; k++) /* no longer needed */
			term_free(&prepared[order[k]], NP_CO);
	}
	return rc;
}

/* Each of the other programs is needed once, for both pairs with app[0]. */
static int around_pass(struct matrix_task *t, struct np_prepared *prepared,
		       struct np_err *err)
{
	struct np_prepared *first = &prepared[0], *other = &prepared[1];
	int rc = prepared_init(t->p, t->app[0], first, err);

	if (!rc)
		rc = matrix_pair(t, 0, first, 0, first);
	for (size_t k = 0; !rc && k < t->n; k++) {
		size_t i = t->order[k];

		if (!i || (t->rc[result_index(t, 0, i)] != -ENODATA &&
			   t->rc[result_index(t, i, 0)] != -ENODATA))
			continue;
		rc = prepared_init(t->p, t->app[i], other, err);
		if (!rc)
			rc = matrix_pair(t, 0, first, i, other);
		if (!rc)
			rc = matrix_pair(t, i, other, 0, first);
		prepared_free(other);
	}
	return rc;
}

static int predict_pass(struct matrix_task *t, struct np_err *err)
{
	size_t n = t->around ? 2 : t->n;
	struct np_prepared *prepared = calloc(n, sizeof(*prepared));
	int rc = -ENOMEM;

	if (prepared)
		rc = t->around ? around_pass(t, prepared, err) :
				 matrix_pass(t, prepared, err);
	for (size_t i = 0; prepared && i < n; i++)
		prepared_free(&prepared[i]);
	free(prepared);
	return rc;
}

/* Predict with the model, then with its fallbacks what remains. */
static int matrix_predict(struct matrix_task *t, struct np_err *err)
{
	int rc = predict_pass(t, err);

	while (!rc && t->left) {
		struct np_predictor *other;

		rc = predictor_fallback(t->p, &other, err);
		if (rc || !other)
			return rc;
		t->p = other;
		t->fell_back = true;
		t->left = false;
		rc = predict_pass(t, err);
	}
	return rc;
}

static int check_and_predict(struct matrix_task *t, struct np_err *err)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < t->n; i++)
		rc = np_program_check(t->app[i], t->p->f, err);
	if (!rc)
		rc = make_order(t);
	if (!rc)
		rc = matrix_predict(t, err);
	free(t->order);
	free(t->known);
	return rc == -ENOMEM ? np_errf(err, rc, "no memory for the pairs of "
				       "%zu programs", t->n) : rc;
}

/* Without co-runners on its rails the slowdown is 0, and certain. */
static void set_unaffected(const struct np_predictor *p,
			   struct np_prediction *out)
{
	*out = (struct np_prediction){ .model = p->m, .sharing = 1 };
}

static int matrix_prediction(struct matrix_task *t, struct np_err *err)
{
	if (!t->n)
		return 0;
	for (size_t i = 0; i < count_results(t); i++) {
		t->out[i] = (struct np_prediction){
			.slowdown = NAN, .low = NAN, .high = NAN,
		};
		t->rc[i] = -ENODATA;
	}
	for (size_t v = 0; v < t->n; v++)
		for (size_t c = 0; c < t->n; c++)
			if ((!t->around || !v || !c) &&
			    !share_rail(t->app[v], t->app[c])) {
				set_unaffected(t->p,
					       &t->out[result_index(t, v, c)]);
				t->out[result_index(t, v, c)].flags =
					NP_PRED_OTHER_RAIL;
				t->rc[result_index(t, v, c)] = 0;
			}
	return check_and_predict(t, err);
}

int np_predict_matrix(struct np_predictor *p,
		      const struct np_program *const *app, size_t n,
		      enum np_scope scope, struct np_prediction *out, int *rc,
		      struct np_err *err)
{
	struct matrix_task t = {
		.p = p, .app = app, .n = n, .scope = scope, .out = out,
		.rc = rc,
	};

	return matrix_prediction(&t, err);
}

int np_predict_around(struct np_predictor *p,
		      const struct np_program *const *app, size_t n,
		      enum np_scope scope, struct np_prediction *out, int *rc,
		      struct np_err *err)
{
	struct matrix_task t = {
		.p = p, .app = app, .n = n, .scope = scope, .around = true,
		.out = out, .rc = rc,
	};

	return matrix_prediction(&t, err);
}

/* Combine all co-runners into one program. */
static int sum_co_runners(struct np_predictor *p, struct np_prepared *one,
			  size_t n_co, struct np_program *app,
			  struct np_prepared *sum, struct np_err *err)
{
	const struct np_bootstrap_program *bootstrap[n_co];
	int rc;

	*app = *one[0].app;
	for (size_t i = 0; i < n_co; i++) {
		rc = prepared_sample(p, &one[i], err);
		if (rc)
			return rc;
		bootstrap[i] = &one[i].bootstrap;
		if (one[i].app->latency.all.n < app->latency.all.n)
			*app = *one[i].app;
	}
	*sum = (struct np_prepared){ .app = app };
	return bootstrap_sum(bootstrap, n_co, &p->fabric, &sum->bootstrap,
			     err);
}

/* The co-runner with the fewest measurements of the kind in out->more. */
static size_t least_known(const struct np_prepared *one, size_t n_co,
			  const struct np_prediction *out)
{
	uint64_t least = UINT64_MAX;
	size_t at = 0;

	for (size_t c = 0; c < n_co; c++) {
		const struct np_program *a = one[c].app;
		uint64_t n = out->more == NP_MORE_LATENCY ? a->latency.all.n :
				     a->impact[out->more_level].n;

		if (n < least) {
			least = n;
			at = c;
		}
	}
	return at;
}

static int predict_prepared(struct np_predictor *p, struct np_prepared *a,
			    struct np_prepared *co, size_t n_co,
			    enum np_scope scope, struct np_prediction *out,
			    struct np_err *err)
{
	struct np_prepared sum = { 0 };
	struct np_program app;
	int rc = 0;

	if (n_co > 1)
		rc = sum_co_runners(p, co, n_co, &app, &sum, err);
	if (!rc)
		rc = prepared_pair(p, a, n_co > 1 ? &sum : co, n_co, scope, out,
				   err);
	if (!rc && p->opt.replicates)
		suggest(p, a, n_co > 1 ? &sum : co, n_co, scope, out);
	if (!rc && (out->more == NP_MORE_LATENCY ||
		    out->more == NP_MORE_IMPACT))
		out->more_co = least_known(co, n_co, out);
	prepared_free(&sum);
	return rc;
}

static int check_all(const struct np_predictor *p,
		     const struct np_program *victim,
		     const struct np_program *const *co, size_t n_co,
		     struct np_err *err)
{
	int rc = np_program_check(victim, p->f, err);

	for (size_t i = 0; !rc && i < n_co; i++)
		rc = np_program_check(co[i], p->f, err);
	return rc;
}

/* Predict with this model only, without its fallback. */
static int predict_one(struct np_predictor *p, const struct np_program *victim,
		       const struct np_program *const *co, size_t n_co,
		       enum np_scope scope, struct np_prediction *out,
		       struct np_err *err)
{
	struct np_prepared *prepared = calloc(n_co, sizeof(*prepared));
	struct np_prepared a = { 0 };
	int rc;

	if (!prepared)
		return np_errf(err, -ENOMEM, "no memory for %zu co-runners",
			       n_co);
	rc = check_all(p, victim, co, n_co, err);
	if (!rc)
		rc = prepared_init(p, victim, &a, err);
	for (size_t i = 0; !rc && i < n_co; i++)
		rc = prepared_init(p, co[i], &prepared[i], err);
	if (!rc)
		rc = predict_prepared(p, &a, prepared, n_co, scope, out, err);
	for (size_t i = 0; i < n_co; i++)
		cache_program(p, &prepared[i]);
	cache_program(p, &a);
	free(prepared);
	return rc;
}

/*
 * Set the flags of a fallback's prediction, and in out->more the measurement
 * that the preferred model p lacks.
 */
static void explain_fallback(const struct np_predictor *p,
			     const struct np_program *victim,
			     const struct np_program *const *co, size_t n_co,
			     struct np_prediction *out)
{
	out->flags |= NP_PRED_FELL_BACK;
	if (!(p->fabric.has & NP_NEED_LEVEL_PAIRS)) {
		out->more = NP_MORE_CALIBRATION;
		return;
	}
	for (size_t c = 0; c < n_co; c++)
		for (size_t i = 0; i < p->n; i++) {
			if (co[c]->impact && co[c]->impact[i].n)
				continue;
			out->more = NP_MORE_IMPACT;
			out->more_co = c;
			out->more_level = i;
			return;
		}
	for (size_t i = 0; p->m->needs & NP_NEED_OWN_IMPACT && i < p->n; i++)
		if (!victim->impact || !victim->impact[i].n) {
			out->more = NP_MORE_CURVE; /* one run measures both */
			out->more_level = i;
			return;
		}
	/* Runs under levels make no curve unless there is a run alone. */
	if (p->m->needs & NP_NEED_CO_CURVE) {
		out->more = NP_MORE_LATENCY;
		out->more_co = 0;
		for (size_t c = 0; c < n_co; c++)
			if (!co[c]->curve)
				out->more_co = c;
	}
}

/* Predict with this model or a fallback, whatever the rails. */
static int predict_any(struct np_predictor *p, const struct np_program *victim,
		       const struct np_program *const *co, size_t n_co,
		       enum np_scope scope, struct np_prediction *out,
		       struct np_err *err)
{
	struct np_predictor *other;
	int rc = predict_one(p, victim, co, n_co, scope, out, err), rc2;

	if (rc != -ENODATA)
		return rc;
	rc2 = predictor_fallback(p, &other, err);
	if (rc2)
		return rc2;
	if (other) {
		rc = predict_any(other, victim, co, n_co, scope, out, err);
		if (!rc)
			explain_fallback(p, victim, co, n_co, out);
	}
	return rc;
}

/* The co-runners that load a rail, or one of the rails of a program. */
struct on_rail {
	const struct np_program **co;
	size_t *at; /* index among all co-runners */
	size_t n;
};

static void find_on_rail(struct on_rail *o, const struct np_program *like,
			 const struct np_program *const *co, size_t n_co)
{
	o->n = 0;
	for (size_t i = 0; i < n_co; i++) {
		if (!share_rail(like, co[i]))
			continue;
		o->co[o->n] = co[i];
		o->at[o->n++] = i;
	}
}

/*
 * Predict for the co-runners in o, and keep the prediction if it is the largest
 * so far.
 */
static int predict_rail(struct np_predictor *p, const struct np_program *victim,
			const struct on_rail *o, enum np_scope scope,
			struct np_prediction *out, struct np_err *err)
{
	struct np_prediction got;
	int rc = predict_any(p, victim, o->co, o->n, scope, &got, err);

	if (rc)
		return rc;
	if (got.more == NP_MORE_LATENCY || got.more == NP_MORE_IMPACT)
		got.more_co = o->at[got.more_co];
	if (got.slowdown > out->slowdown)
		*out = got;
	return 0;
}

/*
 * The largest prediction over the victim's rails.  There is only one if the
 * same co-runners load all of them, as where rails are not known.
 */
static int predict_rails(struct np_predictor *p,
			 const struct np_program *victim,
			 const struct np_program *const *co, size_t n_co,
			 struct on_rail *o, enum np_scope scope,
			 struct np_prediction *out, struct np_err *err)
{
	const char *at = victim->rails ? victim->rails : "";
	size_t n_all;
	bool all = false;
	int rc = 0;

	find_on_rail(o, victim, co, n_co);
	n_all = o->n;
	set_unaffected(p, out);
	out->slowdown = -INFINITY;
	for (size_t len; !rc && n_all; at += len + 1) {
		char name[NP_RAIL_NAME + 1] = "";
		struct np_program rail = { .rails = *at ? name : NULL };

		len = strcspn(at, ",");
		snprintf(name, sizeof(name), "%.*s", (int)len, at);
		find_on_rail(o, &rail, co, n_co);
		if (o->n && !(o->n == n_all && all))
			rc = predict_rail(p, victim, o, scope, out, err);
		all |= o->n == n_all;
		if (!at[len])
			break;
	}
	if (!n_all)
		set_unaffected(p, out);
	if (n_all < n_co)
		out->flags |= NP_PRED_OTHER_RAIL;
	return rc;
}

int np_predict(struct np_predictor *p, const struct np_program *victim,
	       const struct np_program *const *co, size_t n_co,
	       enum np_scope scope, struct np_prediction *out,
	       struct np_err *err)
{
	const struct np_program *of[n_co + 1];
	size_t at[n_co + 1];
	struct on_rail o = { .co = of, .at = at };
	struct np_prediction got;
	int rc = predict_rails(p, victim, co, n_co, &o, scope, &got, err);

	if (!rc)
		*out = got;
	return rc;
}
