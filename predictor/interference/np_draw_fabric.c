#include "np_draw.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "np_model_impl.h"
#include "np_noise.h"
#include "np_pace.h"

/* Levels that only send: that which sends most, or least, in a round. */
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

/* One fabric being drawn. */
struct task {
	const struct np_fabric *f;
	const struct np_draw_opt *opt;
	struct np_draw_fabric *d;
	struct np_rng *rng;
	size_t n, bins;	/* levels; bins, 0 if no histogram is wanted */
	double *log, *noise; /* of levels beside each other, and of the means */
	double *weight; /* of the mixture, per bin */
	double *next;	/* where the next view's numbers go */
	double counts[NP_BINS_MAX];
};

static double *take(struct task *t, size_t n)
{
	double *p = t->next;

	t->next += n;
	return p;
}

static void know(struct task *t)
{
	struct np_draw_fabric *d = t->d;

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
	d->whole = t->f->beside != NULL;
	for (size_t i = 0; t->f->beside && i < t->n * t->n; i++) {
		d->has_beside[i] = np_mean_known(&t->f->beside[i]);
		if (d->has_beside[i])
			d->has |= NP_NEED_BESIDE;
		else
			d->whole = false;
	}
}

/* What is the same in all views. */
static void know_constants(struct task *t)
{
	const struct np_mean *m = t->f->beside;
	size_t n2 = t->n * t->n;
	double pooled = m ? np_noise_pooled(m, n2) : 0;

	t->weight = take(t, t->bins);
	for (size_t b = 0; b < t->bins; b++)
		t->weight[b] = np_mixture_bin_weight(t->f->bins, b);
	t->log = take(t, n2);
	t->noise = take(t, n2);
	for (size_t i = 0; m && i < n2; i++) {
		bool known = t->d->has_beside[i];

		t->log[i] = known ? np_draw_log(m[i].mean) : 0;
		t->noise[i] = known ? np_noise_of_mean(&m[i], pooled) : 0;
	}
}

static void draw_beside(struct task *t, struct np_data_fabric *v, bool redraw)
{
	size_t n = t->n;
	double *to = take(t, n * n);

	for (size_t i = 0; i < n * n; i++) {
		to[i] = t->log[i];
		if (redraw && t->d->has_beside[i])
			to[i] += t->noise[i] * np_rng_normal(t->rng);
	}
	v->log_beside = v->fit_beside = to;
}

static void pace_beside(struct task *t, struct np_data_fabric *v)
{
	size_t n = t->n;
	double *to = take(t, n * n);

	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j <= i; j++)
			np_pace_of(v->log_beside[i * n + j],
				   v->log_beside[j * n + i], &to[i * n + j],
				   &to[j * n + i]);
	v->fit_beside = to;
}

static void gram_cross(struct task *t, struct np_data_fabric *v)
{
	size_t n = t->n;
	double *g = take(t, (n + 1) * (n + 1));

	for (size_t i = 0; i < (n + 1) * (n + 1); i++)
		g[i] = NP_CROSS_SUM * NP_CROSS_SUM;
	for (size_t r = 0; r < n; r++) {
		const double *row = v->fit_beside + r * n;

		for (size_t i = 0; i < n; i++)
			for (size_t j = 0; j < n; j++)
				g[(i + 1) * (n + 1) + j + 1] +=
					row[i] * row[j];
	}
	v->gram_cross = g;
}

/* Rows of levels against each other. */
static void gram_victim(struct task *t, struct np_data_fabric *v)
{
	size_t n = t->n;
	double *g = take(t, n * n);

	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k <= i; k++) {
			double sum = 0;

			for (size_t j = 0; j < n; j++)
				sum += v->fit_beside[i * n + j] *
				       v->fit_beside[k * n + j];
			g[i * n + k] = g[k * n + i] = sum;
		}
	v->gram_victim = g;
}

static const double *cdf_of(const struct np_data_fabric *v, size_t i)
{
	return i ? v->level[i - 1].cdf : v->idle.cdf;
}

static void gram_mixture(struct task *t, struct np_data_fabric *v)
{
	size_t n = t->n + 1;
	double *g = take(t, n * n), weighted[NP_BINS_MAX];

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

static void draw_one(struct task *t, size_t r)
{
	struct np_data_fabric *v = &t->d->view[r];
	struct np_data_latency *level = t->d->level + r * t->n;
	struct np_rng *rng = r ? t->rng : NULL;

	v->n_levels = t->n;
	v->bins = t->f->bins;
	v->bulk_level = sender(t->f, true);
	v->brief_level = sender(t->f, false);
	v->idle_min = t->f->idle.all.min;
	np_draw_latency(&t->f->idle, t->bins, rng,
			t->bins ? take(t, t->bins) : NULL, t->counts, &v->idle);
	for (size_t i = 0; i < t->n; i++)
		np_draw_latency(&t->f->level[i].latency, t->bins, rng,
				t->bins ? take(t, t->bins) : NULL, t->counts,
				&level[i]);
	v->level = level;
	v->bin_weight = t->bins ? t->weight : NULL;
	if (t->bins)
		gram_mixture(t, v);
	draw_beside(t, v, r > 0);
	if (t->opt->needs & NP_NEED_OWN_PRESSURE)
		pace_beside(t, v);
	if (t->opt->needs & NP_NEED_BESIDE) {
		gram_cross(t, v);
		gram_victim(t, v);
	}
}

static int room(struct task *t)
{
	struct np_draw_fabric *d = t->d;
	size_t n = t->n, n1 = n + 1, per = n1 * t->bins + n * n;

	if (t->bins)
		per += n1 * n1;
	if (t->opt->needs & NP_NEED_OWN_PRESSURE)
		per += n * n;
	if (t->opt->needs & NP_NEED_BESIDE)
		per += n * n + n1 * n1;
	d->n = 1 + t->opt->replicates;
	d->view = calloc(d->n, sizeof(*d->view));
	d->level = calloc(d->n * n + 1, sizeof(*d->level));
	d->has_beside = calloc(n * n + 2 * n + 1, sizeof(bool));
	d->store = malloc((d->n * per + t->bins + 2 * n * n + 1) *
			  sizeof(double));
	if (!d->view || !d->level || !d->has_beside || !d->store)
		return -ENOMEM;
	d->has_latency = d->has_beside + n * n;
	d->has_hist = d->has_latency + n;
	t->next = d->store;
	return 0;
}

int np_draw_fabric(const struct np_fabric *f, const struct np_draw_opt *opt,
		   struct np_draw_fabric *d, struct np_err *err)
{
	struct task t = { .f = f, .opt = opt, .d = d, .n = f->n_levels };

	*d = (struct np_draw_fabric){ 0 };
	if (opt->needs & NP_NEED_HIST && f->bins)
		t.bins = f->bins->n;
	t.rng = np_rng_new(opt->seed, f->name);
	if (!t.rng || room(&t)) {
		np_rng_free(t.rng);
		np_draw_fabric_free(d);
		return np_errf(err, -ENOMEM, "%s: no memory for %zu bootstrap "
			       "samples", f->name, opt->replicates);
	}
	know(&t);
	know_constants(&t);
	for (size_t r = 0; r < d->n; r++)
		draw_one(&t, r);
	np_rng_free(t.rng);
	return 0;
}
