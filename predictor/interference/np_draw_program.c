#include "np_draw.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "np_noise.h"
#include "np_pace.h"

/* Room for the numbers of one view, in the order they are taken. */
static size_t per_view(size_t n_levels, size_t bins, unsigned needs)
{
	return 2 * n_levels + bins +
	       (needs & NP_NEED_OWN_PRESSURE ? 2 * n_levels : 0);
}

static int room(struct np_draw_program *d, size_t views, size_t n_levels,
		size_t bins, unsigned needs)
{
	d->n = views;
	d->view = calloc(views, sizeof(*d->view));
	d->store = malloc((views * per_view(n_levels, bins, needs) + 1) *
			  sizeof(double));
	return d->view && d->store ? 0 : -ENOMEM;
}

static int room_known(struct np_draw_program *d, size_t n_levels)
{
	*d = (struct np_draw_program){ .n = 0 };
	d->has_curve = calloc(2 * n_levels + 1, sizeof(bool));
	if (!d->has_curve)
		return -ENOMEM;
	d->has_pressure = d->has_curve + n_levels;
	return 0;
}

static unsigned know(const struct np_mean *m, size_t n, bool *known,
		     unsigned need)
{
	unsigned has = 0;

	for (size_t i = 0; m && i < n; i++) {
		known[i] = np_mean_known(&m[i]);
		if (known[i])
			has = need;
	}
	return has;
}

/* log(1 + slowdown) of the measured ones, 0 for the others; noise of means. */
static void make_logs(const struct np_mean *m, size_t n, const bool *known,
		      double *log, double *noise)
{
	double pooled = m ? np_noise_pooled(m, n) : 0;

	for (size_t i = 0; i < n; i++) {
		log[i] = known[i] ? np_draw_log(m[i].mean) : 0;
		noise[i] = known[i] ? np_noise_of_mean(&m[i], pooled) : 0;
	}
}

static void draw_logs(const double *log, const double *noise, size_t n,
		      const bool *known, struct np_rng *r, double *to)
{
	for (size_t i = 0; i < n; i++) {
		to[i] = log[i];
		if (r && known[i])
			to[i] += noise[i] * np_rng_normal(r);
	}
}

/* Both halves of what the program and each level do to each other. */
static void pace(struct np_data_program *v, size_t n, double *to)
{
	for (size_t i = 0; i < n; i++)
		np_pace_of(v->log_curve[i], v->log_pressure[i], &to[i],
			   &to[n + i]);
	v->fit_curve = to;
	v->fit_pressure = to + n;
}

/* One application being drawn. */
struct task {
	const struct np_program *a;
	const bool *known; /* has_curve, has_pressure */
	size_t n, bins;
	double *log, *noise; /* of the curve, and of the pressure */
};

static void draw_one(const struct task *t, struct np_rng *r, double *to,
		     struct np_data_program *v)
{
	double counts[NP_BINS_MAX], *curve = to, *pressure = to + t->n;
	double *cdf = pressure + t->n;

	draw_logs(t->log, t->noise, t->n, t->known, r, curve);
	draw_logs(t->log + t->n, t->noise + t->n, t->n, t->known + t->n, r,
		  pressure);
	np_draw_latency(&t->a->latency, t->bins, r, t->bins ? cdf : NULL,
			counts, &v->latency);
	v->log_curve = v->fit_curve = curve;
	v->log_pressure = v->fit_pressure = pressure;
	v->response = t->a->response;
}

static void draw_all(struct task *t, struct np_rng *r, unsigned needs,
		     struct np_draw_program *d)
{
	const struct np_program *a = t->a;
	double *next = d->store;

	make_logs(a->curve, t->n, d->has_curve, t->log, t->noise);
	make_logs(a->pressure, t->n, d->has_pressure, t->log + t->n,
		  t->noise + t->n);
	for (size_t i = 0; i < d->n; i++) {
		draw_one(t, i ? r : NULL, next, &d->view[i]);
		next += per_view(t->n, t->bins, needs);
		if (needs & NP_NEED_OWN_PRESSURE)
			pace(&d->view[i], t->n, next - 2 * t->n);
	}
}

int np_draw_known(const struct np_program *a, const struct np_fabric *f,
		  struct np_draw_program *d, struct np_err *err)
{
	size_t n = f->n_levels;

	if (room_known(d, n))
		return np_errf(err, -ENOMEM, "%s: no memory for %zu levels",
			       a->name, n);
	d->has = know(a->curve, n, d->has_curve, NP_NEED_CURVE) |
		 know(a->pressure, n, d->has_pressure, NP_NEED_PRESSURE);
	if (a->latency.all.n)
		d->has |= NP_NEED_LATENCY |
			  (a->latency.count ? NP_NEED_HIST : 0);
	if (a->latency.all.n == 1)
		d->flags |= NP_PRED_ONE_PROBE;
	if (a->response)
		d->has |= NP_NEED_TRACE;
	return 0;
}

int np_draw_views(const struct np_program *a, const struct np_fabric *f,
		  const struct np_draw_opt *opt, struct np_draw_program *d,
		  struct np_err *err)
{
	struct task t = { .a = a, .known = d->has_curve, .n = f->n_levels };
	struct np_rng *r = opt->replicates ? np_rng_new(opt->seed, a->name) :
					     NULL;
	int rc = -ENOMEM;

	if (opt->needs & NP_NEED_HIST && f->bins)
		t.bins = f->bins->n;
	t.log = malloc((4 * t.n + 1) * sizeof(double));
	if (t.log && (r || !opt->replicates))
		rc = room(d, 1 + opt->replicates, t.n, t.bins, opt->needs);
	if (!rc) {
		t.noise = t.log + 2 * t.n;
		draw_all(&t, r, opt->needs, d);
	}
	free(t.log);
	np_rng_free(r);
	return rc ? np_errf(err, rc, "%s: no memory for %zu bootstrap samples",
			    a->name, opt->replicates) : 0;
}

/* Add one more co-runner's replicate to the sum in v, whose numbers are to. */
static void add_one(struct np_data_program *v, const struct np_data_program *co,
		    const struct np_data_fabric *f, size_t bins, double *to)
{
	double idle = f->idle.mean, var = f->idle.sd * f->idle.sd;
	double *cdf_to = to + 2 * f->n_levels, cdf[NP_BINS_MAX];

	for (size_t i = 0; i < f->n_levels; i++)
		to[f->n_levels + i] += co->log_pressure[i];
	v->latency.mean = fmax(v->latency.mean + co->latency.mean - idle,
			       f->idle_min);
	v->latency.sd = sqrt(fmax(0, v->latency.sd * v->latency.sd +
				     co->latency.sd * co->latency.sd - var));
	if (v->latency.cdf && co->latency.cdf) {
		np_latency_add(f->bins, v->latency.cdf, co->latency.cdf, idle,
			       cdf);
		memcpy(cdf_to, cdf, bins * sizeof(*cdf));
	}
}

/* Start the sum as a copy of the first co-runner, without its curve. */
static void copy_one(struct np_data_program *v,
		     const struct np_data_program *co, size_t n, size_t bins,
		     double *to)
{
	*v = *co;
	v->log_curve = memset(to, 0, n * sizeof(*to));
	v->log_pressure = memcpy(to + n, co->log_pressure, n * sizeof(*to));
	if (co->latency.cdf)
		v->latency.cdf = memcpy(to + 2 * n, co->latency.cdf,
					bins * sizeof(*to));
}

/*
 * For the fits, all co-runners press together, and slow down as one of them
 * does on average.
 */
static void add_fit(const struct np_draw_program *const *co, size_t n_co,
		    size_t view, size_t n, double *to)
{
	memset(to, 0, 2 * n * sizeof(*to));
	for (size_t c = 0; c < n_co; c++) {
		const struct np_data_program *one = &co[c]->view[view];

		for (size_t i = 0; i < n; i++) {
			to[i] += one->fit_curve[i] / (double)n_co;
			to[n + i] += one->fit_pressure[i];
		}
	}
}

int np_draw_sum(const struct np_draw_program *const *co, size_t n_co,
		const struct np_draw_fabric *f, struct np_draw_program *d,
		struct np_err *err)
{
	size_t n = f->view[0].n_levels, views = co[0]->n;
	size_t bins = f->view[0].bins ? f->view[0].bins->n : 0;
	const unsigned needs = NP_NEED_OWN_PRESSURE;
	size_t step = per_view(n, bins, needs);
	unsigned has = ~0u;

	if (room_known(d, n) || room(d, views, n, bins, needs)) {
		np_draw_program_free(d);
		return np_errf(err, -ENOMEM, "no memory for %zu co-runners",
			       n_co);
	}
	for (size_t i = 0; i < n; i++)
		d->has_pressure[i] = true;
	for (size_t c = 0; c < n_co; c++) {
		has &= co[c]->has;
		d->flags |= co[c]->flags;
		for (size_t i = 0; i < n; i++)
			d->has_pressure[i] &= co[c]->has_pressure[i];
	}
	d->has = has & ~(unsigned)NP_NEED_CURVE;
	for (size_t r = 0; r < views; r++) {
		double *to = d->store + r * step;
		double *fit = to + step - 2 * n;

		copy_one(&d->view[r], &co[0]->view[r], n, bins, to);
		for (size_t c = 1; c < n_co; c++)
			add_one(&d->view[r], &co[c]->view[r], &f->view[r],
				bins, to);
		add_fit(co, n_co, r, n, fit);
		d->view[r].fit_curve = fit;
		d->view[r].fit_pressure = fit + n;
	}
	return 0;
}
