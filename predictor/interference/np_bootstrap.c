#include "np_bootstrap.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_statistics.h>

#include "np_model.h"
#include "np_moments.h"
#include "np_nnls.h"

/* log(1 + slowdown) of a slowdown raised to NP_BOOTSTRAP_LEAST. */
static double log_of_slowdown(double slowdown)
{
	return log1p(fmax(slowdown, NP_BOOTSTRAP_LEAST));
}

static void sample_cdf(const double *count, size_t n_bins, struct np_rng *r,
		       double *cdf, double *counts)
{
	double sum = 0;
	size_t from, to;

	np_latency_range(count, n_bins, &from, &to);
	memset(counts, 0, n_bins * sizeof(*counts));
	for (size_t b = from; r && b < to; b++) {
		counts[b] = np_rng_count(r, count[b]);
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

bool np_bootstrap_equal(const struct np_bootstrap_program *a,
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

int np_bootstrap_sum(const struct np_bootstrap_program *const *co, size_t n_co,
		     const struct np_bootstrap_fabric *f,
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
