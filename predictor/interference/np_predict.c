/*
 * How a prediction is made:
 *
 *   1. select_levels(): the levels for which the model has all that it needs of
 *      the fabric and of both programs.
 *   2. np_predict_impl.h: bootstrap samples of all measurements. Sample 0 has
 *      the measured values; the others vary as the measurements do.
 *   3. term_make(): the term of each program in its role, that is, how the
 *      model describes it as a co-runner, or how it responds as a victim. This
 *      is done for every sample, and with groups of levels left out.
 *   4. The model joins the two terms into log(1 + slowdown), in every sample.
 *   5. The errors that the model makes for single levels are added, the sharing
 *      coefficient is applied, and quantiles make the interval.
 *   6. suggest(): what to measure next.
 *
 * Terms are expensive to compute and cheap to join, so many pairs share the
 * terms of their programs (np_predict_matrix()). Until the end, slowdowns are
 * kept as log(1 + slowdown), in variables named log_slow or z; z is also used
 * for the numbers of a term.
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

/* Return log(1 + slowdown), for a slowdown of at least NP_BOOTSTRAP_LEAST. */
static double log_of_slowdown(double slowdown)
{
	return log1p(fmax(slowdown, NP_BOOTSTRAP_LEAST));
}

/* Compute log(1 + slowdown), 0 if not measured, and the sd of its mean. */
static void make_logs(const struct np_mean *m, size_t n, const bool *known,
		      double *log, double *noise)
{
	double pooled = m ? np_noise_pooled(m, n) : 0;

	for (size_t i = 0; i < n; i++) {
		log[i] = known[i] ? log_of_slowdown(m[i].mean) : 0;
		noise[i] = known[i] ? np_noise_of_mean(&m[i], pooled) : 0;
	}
}

/* Draw one sample; without rng, the measured values. */
static void sample_logs(const double *log, const double *noise, size_t n,
			const bool *known, struct np_rng *rng, double *to)
{
	for (size_t i = 0; i < n; i++) {
		to[i] = log[i];
		if (rng && known[i])
			to[i] += noise[i] * np_rng_normal(rng);
	}
}

/* Resample the counts of a histogram, and make its distribution. */
static void sample_cdf(const double *count, size_t n_bins, struct np_rng *rng,
		       double *cdf, double *counts)
{
	double sum = 0;

	memset(counts, 0, n_bins * sizeof(*counts));
	for (size_t b = 0; rng && b < n_bins; b++) {
		/* Most counts are 0, and stay so. */
		counts[b] = count[b] > 0 ? np_rng_count(rng, count[b]) : 0;
		sum += counts[b];
	}
	/*
	 * With few latencies, all may become 0: then use the measured counts.
	 */
	np_latency_cdf(sum > 0 ? counts : count, n_bins, cdf);
}

/*
 * Prepare one latency distribution: resampled, or as measured if rng is NULL.
 * cdf has room for n_bins numbers, or is NULL if no histogram is needed.
 * counts is scratch space of the same size.
 */
static void sample_latency(const struct np_latency *latency, size_t n_bins,
			   struct np_rng *rng, double *cdf, double *counts,
			   struct np_data_latency *out)
{
	double sd = np_moments_sd(&latency->all), n = (double)latency->all.n;

	*out = (struct np_data_latency){ latency->all.mean, sd, NULL };
	if (!latency->all.n)
		return;
	if (rng) {
		out->mean = fmax(latency->all.min,
				 latency->all.mean +
					 sd / sqrt(n) * np_rng_normal(rng));
		out->sd = fabs(sd * (1 + np_rng_normal(rng) / sqrt(2 * n)));
	}
	if (!cdf || !latency->count)
		return;
	sample_cdf(latency->count, n_bins, rng, cdf, counts);
	out->cdf = cdf;
}

void np_bootstrap_fabric_free(struct np_bootstrap_fabric *data)
{
	free(data->sample);
	free(data->has_pair);
	free(data->level);
	free(data->store);
	*data = (struct np_bootstrap_fabric){ 0 };
}

void np_bootstrap_program_free(struct np_bootstrap_program *data)
{
	free(data->sample);
	free(data->has_curve);
	free(data->store);
	*data = (struct np_bootstrap_program){ 0 };
}

/* Find the send-only level with most, or fewest, bytes per round. */
static size_t sender(const struct np_fabric *fabric, bool most)
{
	size_t at = fabric->n_levels;

	for (size_t i = 0; i < fabric->n_levels; i++) {
		double bytes = fabric->level[i].round_bytes;

		if (bytes > 0 &&
		    (at == fabric->n_levels ||
		     (bytes > fabric->level[at].round_bytes) == most))
			at = i;
	}
	return at;
}

/* State while the samples of a fabric are drawn. */
struct fabric_task {
	const struct np_fabric *measured;
	const struct np_bootstrap_opt *opt;
	struct np_bootstrap_fabric *data;
	struct np_rng *rng;
	size_t n, bins; /* levels; bins, 0 if no histogram is needed */
	double *log,
		*noise; /* of the pairs: log(1 + slowdown), sd of its mean */
	double *weight; /* of each bin in the fit of mixtures */
	struct np_nnls *nnls;
	double *fit_weight; /* of each level; NULL before the first sample */
	double *next;	    /* unused part of d->store */
	double counts[NP_BINS_MAX];
};

/* Take room for n doubles from the memory of the fabric. */
static double *take_doubles(struct fabric_task *task, size_t n)
{
	double *p = task->next;

	task->next += n;
	return p;
}

/* Note which measurements the fabric has. */
static void fabric_mark_known(struct fabric_task *task)
{
	struct np_bootstrap_fabric *data = task->data;

	if (task->measured->idle.all.n)
		data->has |= NP_DATA_IDLE;
	if (task->measured->idle.all.n == 1)
		data->flags |= NP_PRED_ONE_PROBE;
	for (size_t i = 0; i < task->n; i++) {
		const struct np_latency *latency =
			&task->measured->level[i].latency;

		data->has_latency[i] = latency->all.n > 0;
		data->has_hist[i] = latency->all.n && latency->count;
		data->has |= (latency->all.n ? NP_DATA_LATENCY : 0) |
			     (data->has_hist[i] ? NP_DATA_HIST : 0);
		if (latency->all.n == 1)
			data->flags |= NP_PRED_ONE_PROBE;
	}
	if (!task->measured->idle.count)
		data->has &= ~(unsigned)NP_DATA_HIST;
	data->whole = task->measured->pairs != NULL;
	for (size_t i = 0; task->measured->pairs && i < task->n * task->n;
	     i++) {
		data->has_pair[i] = np_mean_known(&task->measured->pairs[i]);
		if (data->has_pair[i])
			data->has |= NP_DATA_LEVEL_PAIRS;
		else
			data->whole = false;
	}
}

/* Return the weight of a latency bin in the fit of mixtures (np_model.c). */
static double mixture_bin_weight(const struct np_bins *bins, size_t bin)
{
	double lo = bins->edge[bin], hi = bins->edge[bin + 1];

	/* All distributions reach 1 there, so it distinguishes nothing. */
	if (bin + 1 == bins->n)
		return 0;
	return lo > 0 ? log(hi / lo) : log(2);
}

/* Prepare what all samples have in common. */
static void prepare_constants(struct fabric_task *task)
{
	size_t n2 = task->n * task->n;

	task->weight = take_doubles(task, task->bins);
	for (size_t b = 0; b < task->bins; b++)
		task->weight[b] = mixture_bin_weight(task->measured->bins, b);
	task->log = take_doubles(task, n2);
	task->noise = take_doubles(task, n2);
	make_logs(task->measured->pairs, n2, task->data->has_pair, task->log,
		  task->noise);
}

static void sample_pairs(struct fabric_task *task, struct np_rng *rng,
			 struct np_data_fabric *sample)
{
	size_t n2 = task->n * task->n;
	double *to = take_doubles(task, n2);

	sample_logs(task->log, task->noise, n2, task->data->has_pair, rng, to);
	sample->log_pairs = sample->fit_pairs = to;
}

#define PARTS 8	    /* groups of levels, of which one at a time is left out */
#define REPEAT 0.03 /* how much runs differ: smaller residuals mean nothing */

/*
 * The fit of each level's effects by those of the other levels, where some of
 * the rows are left out.
 */
struct excluded {
	const double *z;    /* slowdowns, n x n, on the scale of the fits */
	size_t n, from, to; /* rows from .. to - 1 are left out */
	double *all; /* normal equations of n + 1 columns; the first is idle */
	double *gram, *h; /* the same without the column that is fitted */
	double *w;	  /* their solution */
};

/* Make the normal equations of all columns. */
static void add_rows(struct excluded *excluded)
{
	size_t n = excluded->n, n1 = n + 1;

	for (size_t i = 0; i < n1 * n1; i++)
		excluded->all[i] = NP_CROSS_SUM * NP_CROSS_SUM;
	for (size_t r = 0; r < n; r++)
		for (size_t i = 0;
		     (r < excluded->from || r >= excluded->to) && i < n; i++)
			np_lanes_add(excluded->all + (i + 1) * n1 + 1,
				     excluded->z[r * n + i],
				     excluded->z + r * n, n);
}

/* Return the column of `all` that is unknown k in the fit of column j. */
static size_t index_in_all(size_t k, size_t j)
{
	return k < j ? k : k + 1;
}

/* Fit each column, and add the squared residuals of the excluded rows. */
static void add_residuals(struct fabric_task *task, struct excluded *excluded,
			  double *square)
{
	size_t n = excluded->n, n1 = n + 1;

	add_rows(excluded);
	for (size_t j = 1; j <= n; j++) {
		for (size_t a = 0; a < n; a++) {
			const double *row =
				excluded->all + index_in_all(a, j) * n1;

			excluded->h[a] = row[j];
			for (size_t b = 0; b < n; b++)
				excluded->gram[a * n + b] =
					row[index_in_all(b, j)];
		}
		if (np_nnls_solve(task->nnls, excluded->gram, n, 0, excluded->h,
				  n, excluded->w, false, NULL) == -EINVAL)
			continue; /* the equations are not finite */
		for (size_t r = excluded->from; r < excluded->to; r++) {
			const double *z = excluded->z + r * n;
			double left = z[j - 1];

			for (size_t k = 1; k < n; k++)
				left -= excluded->w[k] *
					z[index_in_all(k, j) - 1];
			square[r] += left * left;
		}
	}
}

/* Compute the weights of the levels from all their slowdowns z. */
static void weigh_levels(struct fabric_task *task, const double *z,
			 double *weight, double *scratch)
{
	size_t n = task->n;
	struct excluded excluded = { .z = z, .n = n, .all = scratch };
	double middle;

	excluded.gram = excluded.all + (n + 1) * (n + 1);
	excluded.h = excluded.gram + n * n;
	excluded.w = excluded.h + n;
	memset(weight, 0, n * sizeof(*weight));
	for (size_t part = 0; part < PARTS; part++) {
		excluded.from = part * n / PARTS;
		excluded.to = (part + 1) * n / PARTS;
		if (excluded.from < excluded.to)
			add_residuals(task, &excluded, weight);
	}
	for (size_t i = 0; i < n; i++)
		weight[i] = sqrt(weight[i] / (double)n + REPEAT * REPEAT);
	memcpy(excluded.h, weight, n * sizeof(*weight));
	middle = gsl_stats_median(excluded.h, 1, n);
	for (size_t i = 0; i < n; i++)
		weight[i] = fmin(1, middle / weight[i]);
}

/* Make the pairs of levels on the scale of the fits, with their weights. */
static void scale_pairs(struct fabric_task *task, struct np_data_fabric *sample)
{
	size_t n = task->n;
	double *to = take_doubles(task, n * n);

	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j <= i; j++)
			np_slowdowns_at_full_rate(sample->log_pairs[i * n + j],
						  sample->log_pairs[j * n + i],
						  &to[i * n + j],
						  &to[j * n + i]);
	sample->fit_pairs = to;
	if (!task->data->whole || n < 3)
		return;
	if (!task->fit_weight) {
		task->fit_weight = take_doubles(task, n);
		weigh_levels(task, to, task->fit_weight,
			     take_doubles(task,
					  (n + 1) * (n + 1) + n * n + 2 * n));
	}
	sample->fit_weight = task->fit_weight;
	for (size_t i = 0; i < n * n; i++)
		to[i] *= task->fit_weight[i / n];
}

static void gram_cross(struct fabric_task *task, struct np_data_fabric *sample)
{
	size_t n = task->n;
	double *g = take_doubles(task, (n + 1) * (n + 1));

	for (size_t i = 0; i < (n + 1) * (n + 1); i++)
		g[i] = NP_CROSS_SUM * NP_CROSS_SUM;
	for (size_t r = 0; r < n; r++) {
		const double *row = sample->fit_pairs + r * n;

		for (size_t i = 0; i < n; i++)
			for (size_t j = 0; j < n; j++)
				g[(i + 1) * (n + 1) + j + 1] += row[i] * row[j];
	}
	sample->gram_cross = g;
}

/* Products of all pairs of rows of levels. */
static void gram_victim(struct fabric_task *task, struct np_data_fabric *sample)
{
	size_t n = task->n;
	double *g = take_doubles(task, n * n);

	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k <= i; k++) {
			double sum = 0;

			for (size_t j = 0; j < n; j++)
				sum += sample->fit_pairs[i * n + j] *
				       sample->fit_pairs[k * n + j];
			g[i * n + k] = g[k * n + i] = sum;
		}
	sample->gram_victim = g;
}

static const double *cdf_of(const struct np_data_fabric *sample, size_t i)
{
	return i ? sample->level[i - 1].cdf : sample->idle.cdf;
}

static void gram_mixture(struct fabric_task *task,
			 struct np_data_fabric *sample)
{
	size_t n = task->n + 1;
	double *g = take_doubles(task, n * n), weighted[NP_BINS_MAX];

	for (size_t i = 0; i < n; i++) {
		const double *cdf = cdf_of(sample, i);

		for (size_t j = 0; j <= i; j++)
			g[i * n + j] = NP_MIXTURE_SUM * NP_MIXTURE_SUM;
		g[i * n + i] += NP_MIXTURE_RIDGE * NP_MIXTURE_RIDGE;
		for (size_t b = 0; cdf && b < task->bins; b++)
			weighted[b] = task->weight[b] * cdf[b];
		if (cdf)
			np_mixture_products(sample, weighted, i + 1, g + i * n);
		for (size_t j = 0; j < i; j++)
			g[j * n + i] = g[i * n + j];
	}
	sample->gram_mixture = g;
}

static void sample_fabric(struct fabric_task *task, size_t r)
{
	struct np_data_fabric *sample = &task->data->sample[r];
	struct np_data_latency *level = task->data->level + r * task->n;
	struct np_rng *rng = r ? task->rng : NULL;

	sample->n_levels = task->n;
	sample->bins = task->measured->bins;
	sample->bulk_level = sender(task->measured, true);
	sample->brief_level = sender(task->measured, false);
	sample->idle_min = task->measured->idle.all.min;
	sample_latency(&task->measured->idle, task->bins, rng,
		       task->bins ? take_doubles(task, task->bins) : NULL,
		       task->counts, &sample->idle);
	for (size_t i = 0; i < task->n; i++)
		sample_latency(
			&task->measured->level[i].latency, task->bins, rng,
			task->bins ? take_doubles(task, task->bins) : NULL,
			task->counts, &level[i]);
	sample->level = level;
	sample->bin_weight = task->bins ? task->weight : NULL;
	if (task->bins)
		gram_mixture(task, sample);
	sample_pairs(task, rng, sample);
	if (task->opt->required & NP_DATA_OWN_IMPACT)
		scale_pairs(task, sample);
	if (task->opt->required & NP_DATA_LEVEL_PAIRS) {
		gram_cross(task, sample);
		gram_victim(task, sample);
	}
}

static int fabric_alloc(struct fabric_task *task)
{
	struct np_bootstrap_fabric *data = task->data;
	size_t n = task->n, n1 = n + 1, per = n1 * task->bins + n * n;

	if (task->bins)
		per += n1 * n1;
	if (task->opt->required & NP_DATA_OWN_IMPACT)
		per += n * n;
	if (task->opt->required & NP_DATA_LEVEL_PAIRS)
		per += n * n + n1 * n1;
	data->n = 1 + task->opt->replicates;
	data->sample = calloc(data->n, sizeof(*data->sample));
	data->level = calloc(data->n * n + 1, sizeof(*data->level));
	data->has_pair = calloc(n * n + 2 * n + 1, sizeof(bool));
	data->store =
		malloc((data->n * per + task->bins + 4 * n * n + 5 * n + 2) *
		       sizeof(double));
	task->nnls = np_nnls_new(n + 1);
	if (!data->sample || !data->level || !data->has_pair || !data->store ||
	    !task->nnls)
		return -ENOMEM;
	data->has_latency = data->has_pair + n * n;
	data->has_hist = data->has_latency + n;
	task->next = data->store;
	return 0;
}

int np_bootstrap_fabric(const struct np_fabric *fabric,
			const struct np_bootstrap_opt *opt,
			struct np_bootstrap_fabric *data, struct np_err *err)
{
	struct fabric_task task = { .measured = fabric,
				    .opt = opt,
				    .data = data,
				    .n = fabric->n_levels };

	*data = (struct np_bootstrap_fabric){ 0 };
	if (opt->required & NP_DATA_HIST && fabric->bins)
		task.bins = fabric->bins->n;
	task.rng = np_rng_new(opt->seed, fabric->name);
	if (!task.rng || fabric_alloc(&task)) {
		np_nnls_free(task.nnls);
		np_rng_free(task.rng);
		np_bootstrap_fabric_free(data);
		return np_errf(err, -ENOMEM,
			       "%s: no memory for %zu bootstrap samples",
			       fabric->name, opt->replicates);
	}
	fabric_mark_known(&task);
	prepare_constants(&task);
	for (size_t r = 0; r < data->n; r++)
		sample_fabric(&task, r);
	np_nnls_free(task.nnls);
	np_rng_free(task.rng);
	return 0;
}

/* Return the number of doubles in one sample of a program. */
static size_t per_sample(size_t n_levels, size_t bins, unsigned required)
{
	return 2 * n_levels + bins +
	       (required & NP_DATA_OWN_IMPACT ? 2 * n_levels : 0);
}

static int program_alloc(struct np_bootstrap_program *data, size_t samples,
			 size_t n_levels, size_t bins, unsigned required)
{
	data->n = samples;
	data->sample = calloc(samples, sizeof(*data->sample));
	data->store =
		malloc((samples * per_sample(n_levels, bins, required) + 1) *
		       sizeof(double));
	return data->sample && data->store ? 0 : -ENOMEM;
}

static int alloc_known(struct np_bootstrap_program *data, size_t n_levels)
{
	*data = (struct np_bootstrap_program){ .n = 0 };
	data->has_curve = calloc(2 * n_levels + 1, sizeof(bool));
	if (!data->has_curve)
		return -ENOMEM;
	data->has_impact = data->has_curve + n_levels;
	return 0;
}

static unsigned program_mark_known(const struct np_mean *m, size_t n,
				   bool *known, unsigned kind)
{
	unsigned has = 0;

	for (size_t i = 0; m && i < n; i++) {
		known[i] = np_mean_known(&m[i]);
		if (known[i])
			has = kind;
	}
	return has;
}

/* Make the slowdowns of a program and the levels on the scale of the fits. */
static void scale_program(struct np_data_program *sample, size_t n,
			  const double *weight, double *to)
{
	for (size_t i = 0; i < n; i++) {
		np_slowdowns_at_full_rate(sample->log_curve[i],
					  sample->log_impact[i], &to[i],
					  &to[n + i]);
		to[n + i] *= weight ? weight[i] : 1;
	}
	sample->fit_curve = to;
	sample->fit_impact = to + n;
}

/* State while the samples of a program are drawn. */
struct program_task {
	const struct np_program *program;
	const bool *known; /* has_curve, has_impact */
	size_t n, bins;
	double *log, *noise;	  /* of the curve (n), then of the impact (n) */
	const double *fit_weight; /* of the fabric; may be NULL */
};

static void sample_program(const struct program_task *task, struct np_rng *rng,
			   double *to, struct np_data_program *sample)
{
	double counts[NP_BINS_MAX], *curve = to, *impact = to + task->n;
	double *cdf = impact + task->n;

	sample_logs(task->log, task->noise, task->n, task->known, rng, curve);
	sample_logs(task->log + task->n, task->noise + task->n, task->n,
		    task->known + task->n, rng, impact);
	sample_latency(&task->program->latency, task->bins, rng,
		       task->bins ? cdf : NULL, counts, &sample->latency);
	sample->log_curve = sample->fit_curve = curve;
	sample->log_impact = sample->fit_impact = impact;
	sample->response = task->program->response;
}

static void sample_all(struct program_task *task, struct np_rng *rng,
		       unsigned required, struct np_bootstrap_program *data)
{
	const struct np_program *program = task->program;
	double *next = data->store;

	make_logs(program->curve, task->n, data->has_curve, task->log,
		  task->noise);
	make_logs(program->impact, task->n, data->has_impact,
		  task->log + task->n, task->noise + task->n);
	for (size_t i = 0; i < data->n; i++) {
		sample_program(task, i ? rng : NULL, next, &data->sample[i]);
		next += per_sample(task->n, task->bins, required);
		if (required & NP_DATA_OWN_IMPACT)
			scale_program(&data->sample[i], task->n,
				      task->fit_weight, next - 2 * task->n);
	}
}

int np_bootstrap_known(const struct np_program *program,
		       const struct np_fabric *fabric,
		       struct np_bootstrap_program *data, struct np_err *err)
{
	size_t n = fabric->n_levels;

	if (alloc_known(data, n))
		return np_errf(err, -ENOMEM, "%s: no memory for %zu levels",
			       program->name, n);
	data->has = program_mark_known(program->curve, n, data->has_curve,
				       NP_DATA_CURVE) |
		    program_mark_known(program->impact, n, data->has_impact,
				       NP_DATA_IMPACT);
	if (program->latency.all.n)
		data->has |= NP_DATA_LATENCY |
			     (program->latency.count ? NP_DATA_HIST : 0);
	if (program->latency.all.n == 1)
		data->flags |= NP_PRED_ONE_PROBE;
	if (program->response)
		data->has |= NP_DATA_TRACE;
	return 0;
}

int np_bootstrap_samples(const struct np_program *program,
			 const struct np_bootstrap_fabric *fabric,
			 const struct np_bootstrap_opt *opt,
			 struct np_bootstrap_program *data, struct np_err *err)
{
	const struct np_data_fabric *measured = &fabric->sample[0];
	struct program_task task = { .program = program,
				     .known = data->has_curve,
				     .n = measured->n_levels,
				     .fit_weight = measured->fit_weight };
	struct np_rng *rng =
		opt->replicates ? np_rng_new(opt->seed, program->name) : NULL;
	int rc = -ENOMEM;

	if (opt->required & NP_DATA_HIST && measured->bins)
		task.bins = measured->bins->n;
	task.log = malloc((4 * task.n + 1) * sizeof(double));
	if (task.log && (rng || !opt->replicates))
		rc = program_alloc(data, 1 + opt->replicates, task.n, task.bins,
				   opt->required);
	if (!rc) {
		task.noise = task.log + 2 * task.n;
		sample_all(&task, rng, opt->required, data);
	}
	free(task.log);
	np_rng_free(rng);
	return rc ? np_errf(err, rc, "%s: no memory for %zu bootstrap samples",
			    program->name, opt->replicates) :
		    0;
}

static bool same_sample(const struct np_data_program *a,
			const struct np_data_program *b,
			const struct np_data_fabric *fabric)
{
	const size_t bytes = fabric->n_levels * sizeof(double);
	const double *x = a->latency.cdf, *y = b->latency.cdf;

	/* The values on the scale of the fits follow from these. */
	return a->latency.mean == b->latency.mean &&
	       a->latency.sd == b->latency.sd &&
	       !memcmp(a->log_curve, b->log_curve, bytes) &&
	       !memcmp(a->log_impact, b->log_impact, bytes) && !x == !y &&
	       (!x || !memcmp(x, y, fabric->bins->n * sizeof(*x)));
}

/*
 * Are two programs the same to the models, except for their traces? Both have
 * samples for this fabric.
 */
static bool bootstrap_equal(const struct np_bootstrap_program *a,
			    const struct np_bootstrap_program *b,
			    const struct np_bootstrap_fabric *fabric)
{
	size_t n = fabric->sample[0].n_levels;

	if (a->n != b->n || a->has != b->has ||
	    memcmp(a->has_curve, b->has_curve, n * sizeof(bool)) ||
	    memcmp(a->has_impact, b->has_impact, n * sizeof(bool)))
		return false;
	for (size_t r = 0; r < a->n; r++)
		if (!same_sample(&a->sample[r], &b->sample[r],
				 &fabric->sample[r]))
			return false;
	return true;
}

/* Add a sample of a co-runner to their sum, whose numbers are stored at to. */
static void add_one(struct np_data_program *sample,
		    const struct np_data_program *co,
		    const struct np_data_fabric *fabric, size_t bins,
		    double *to)
{
	double idle = fabric->idle.mean,
	       var = fabric->idle.sd * fabric->idle.sd;
	double *cdf_to = to + 2 * fabric->n_levels, cdf[NP_BINS_MAX];

	for (size_t i = 0; i < fabric->n_levels; i++)
		to[fabric->n_levels + i] += co->log_impact[i];
	sample->latency.mean =
		fmax(sample->latency.mean + co->latency.mean - idle,
		     fabric->idle_min);
	sample->latency.sd =
		sqrt(fmax(0, sample->latency.sd * sample->latency.sd +
				     co->latency.sd * co->latency.sd - var));
	if (sample->latency.cdf && co->latency.cdf) {
		np_latency_add(fabric->bins, sample->latency.cdf,
			       co->latency.cdf, idle, cdf);
		memcpy(cdf_to, cdf, bins * sizeof(*cdf));
	}
}

/* Initialise the sum of co-runners with the first one, without its curve. */
static void copy_one(struct np_data_program *sample,
		     const struct np_data_program *co, size_t n, size_t bins,
		     double *to)
{
	*sample = *co;
	sample->log_curve = memset(to, 0, n * sizeof(*to));
	sample->log_impact = memcpy(to + n, co->log_impact, n * sizeof(*to));
	if (co->latency.cdf)
		sample->latency.cdf =
			memcpy(to + 2 * n, co->latency.cdf, bins * sizeof(*to));
}

/*
 * Sum up what the fits use. The impact of several co-runners is the sum of
 * their impacts, and their sensitivity curve is the mean of their curves.
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
 * Combine several co-runners into one, sample by sample. Their impacts are
 * added as log(1 + slowdown), and their latencies as differences from the idle
 * fabric. The sum has the measurements that all of them have, except for a
 * sensitivity curve: the fits use the mean of theirs. Returns 0 and fills
 * *data, or -ENOMEM with err.
 */
static int bootstrap_sum(const struct np_bootstrap_program *const *co,
			 size_t n_co, const struct np_bootstrap_fabric *fabric,
			 struct np_bootstrap_program *data, struct np_err *err)
{
	size_t n = fabric->sample[0].n_levels, samples = co[0]->n;
	size_t bins = fabric->sample[0].bins ? fabric->sample[0].bins->n : 0;
	const unsigned required = NP_DATA_OWN_IMPACT;
	size_t step = per_sample(n, bins, required);
	unsigned has = ~0u;

	if (alloc_known(data, n) ||
	    program_alloc(data, samples, n, bins, required)) {
		np_bootstrap_program_free(data);
		return np_errf(err, -ENOMEM, "no memory for %zu co-runners",
			       n_co);
	}
	for (size_t i = 0; i < n; i++)
		data->has_impact[i] = true;
	for (size_t c = 0; c < n_co; c++) {
		has &= co[c]->has;
		data->flags |= co[c]->flags;
		for (size_t i = 0; i < n; i++)
			data->has_impact[i] &= co[c]->has_impact[i];
	}
	data->has = has & ~(unsigned)NP_DATA_CURVE;
	for (size_t r = 0; r < samples; r++) {
		double *to = data->store + r * step;
		double *fit = to + step - 2 * n;

		copy_one(&data->sample[r], &co[0]->sample[r], n, bins, to);
		for (size_t c = 1; c < n_co; c++)
			add_one(&data->sample[r], &co[c]->sample[r],
				&fabric->sample[r], bins, to);
		add_fit(co, n_co, r, n, fit);
		data->sample[r].fit_curve = fit;
		data->sample[r].fit_impact = fit + n;
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
 * The error of a model grows with the slowdown. Its standard deviation is
 * taken as proportional to NP_MISS_FLOOR + log(1 + slowdown). Of the floors
 * tried, this one has the greatest likelihood for the errors made on the levels
 * themselves (doc/validation/methods.md).
 */
#define NP_MISS_FLOOR 0.2

/*
 * Each prediction is repeated with one group of levels left out at a time.
 * There are NP_LESS_PARTS groups; with at most that many levels, a group is one
 * level. At least NP_LESS_LEVELS levels must remain.
 */
#define NP_LESS_PARTS 8
#define NP_LESS_LEVELS 3

/* Does the model use the mutual slowdowns of programs and levels? */
static inline bool np_model_is_of_levels(const struct np_model *model)
{
	return model->required & NP_DATA_IMPACT &&
	       model->required & NP_DATA_LEVEL_PAIRS;
}

/* The model's error for one level that was left out of the fit. */
struct np_error_excluded {
	double log_slow; /* predicted log(1 + slowdown) */
	double error;	 /* measured - predicted log(1 + slowdown) */
	bool beyond;	 /* the prediction had NP_PRED_BEYOND */
};

/* The two roles of a program in a prediction. */
enum np_side { NP_CO, NP_VICTIM, NP_SIDES };

/* What a model has computed about a program in one role. */
struct np_term {
	bool computed; /* for the levels in use */
	struct np_level_use use;
	double *z;	/* np_model_dim() doubles for each bootstrap sample */
	unsigned flags; /* of sample 0, the measured values */
	/* Row k is the first row of z, computed without group k of levels. */
	double *less;
	bool has_less[NP_LESS_PARTS];
	struct np_error_excluded *miss; /* for each excluded level */
	size_t n_miss;
};

/* One program, its bootstrap samples, and its terms in both roles. */
struct np_prepared {
	const struct np_program *app;
	struct np_bootstrap_program bootstrap;
	struct np_term term[NP_SIDES]; /* these share z if it is the same */
	size_t slot;		       /* 1 + its index in the cache; 0: none */
};

/*
 * A predictor caches programs with their samples and terms, because placement
 * predicts each program with all others, at each scope. The cache has room for
 * NP_PREPARED_MAX programs or NP_PREPARED_BYTES, whichever is less, but always
 * for the two programs of a pair.
 */
#define NP_PREPARED_MAX 256
#define NP_PREPARED_BYTES (4u << 20)

/* The terms of the levels, treated as programs, for one selection of levels. */
struct np_level_terms {
	bool computed;
	struct np_level_use use;
	double *z[NP_SIDES]; /* np_model_dim() doubles for each level */
	int *rc[NP_SIDES];   /* 0 for levels that have a term */
	unsigned *flags;     /* of the levels as co-runners */
};

struct np_predictor {
	const struct np_fabric *measured; /* the fabric, as measured */
	const struct np_model *model;
	struct np_predict_opt opt;
	struct np_bootstrap_opt bootstrap;
	size_t n, dim;			   /* levels; np_model_dim() */
	struct np_bootstrap_fabric fabric; /* its samples */
	struct np_data_program *level; /* the levels as programs, measured */
	double *level_store;	       /* memory of level[] */
	struct np_level_terms level_terms;
	struct np_nnls *nnls;
	double *work;	  /* scratch of the model */
	double *ensemble; /* weights of its members; NULL: it has none */
	/* The levels in less_of without each group of levels. */
	struct np_less {
		struct np_level_use use;
		struct np_levels left_row, left_col; /* in the group */
		struct np_gram_cache gram;
	} less[NP_LESS_PARTS];
	struct np_level_use less_of;
	struct np_right_sides sides; /* of the program in term_make() */
	double *predictions; /* one for each bootstrap sample; scratch space */
	struct np_prepared *cached;
	uint64_t cached_name[NP_PREPARED_MAX]; /* hashes of their names */
	size_t max_cached, next_cached;
	struct np_predictor *fallback; /* created on first use */
};

/*
 * The matrix of mutual slowdowns of the levels, from which incomplete rows and
 * columns are removed.
 */
struct matrix {
	const bool *known; /* n x n */
	size_t n;
	struct np_level_use *use;
	bool mutual; /* an entry counts only if its transpose is known, too */
};

/* Is the slowdown of level i by level j unknown, or may it not be used? */
static bool is_unknown(const struct matrix *matrix, size_t i, size_t j)
{
	return !matrix->known[i * matrix->n + j] ||
	       (matrix->mutual && !matrix->known[j * matrix->n + i]);
}

/* Remove all levels from this one to the one before end. */
static void levels_drop(struct np_levels *levels, size_t level, size_t end)
{
	size_t to = 0;

	for (size_t i = 0; i < levels->n; i++)
		if (levels->at[i] < level || levels->at[i] >= end)
			levels->at[to++] = levels->at[i];
	levels->n = to;
}

static void levels_add(struct np_levels *levels, size_t level)
{
	levels->at[levels->n++] = (uint16_t)level;
}

static bool level_use_equal(const struct np_level_use *a,
			    const struct np_level_use *b)
{
	return np_levels_equal(&a->col, &b->col) &&
	       np_levels_equal(&a->row, &b->row) &&
	       np_levels_equal(&a->co_col, &b->co_col);
}

/* Count the unknown entries in row k or, if is_row is false, in column k. */
static size_t count_unknown(const struct matrix *matrix, size_t k, bool is_row)
{
	const struct np_levels *levels = is_row ? &matrix->use->col :
						  &matrix->use->row;
	size_t n = 0;

	for (size_t i = 0; i < levels->n; i++)
		n += is_row ? is_unknown(matrix, k, levels->at[i]) :
			      is_unknown(matrix, levels->at[i], k);
	return n;
}

/* Remove the row or column with most unknown entries until there are none. */
static void drop_incomplete(const struct np_predictor *predictor,
			    struct np_level_use *use)
{
	const struct matrix matrix = { predictor->fabric.has_pair, predictor->n,
				       use,
				       predictor->model->required &
					       NP_DATA_OWN_IMPACT };
	struct np_levels *from;

	if (predictor->fabric.whole)
		return;
	do {
		size_t worst = 0, at = 0;

		from = NULL;
		for (int is_row = 1; is_row >= 0; is_row--) {
			struct np_levels *levels = is_row ? &use->row :
							    &use->col;

			for (size_t i = 0; i < levels->n; i++) {
				size_t n = count_unknown(&matrix, levels->at[i],
							 is_row);

				if (n <= worst)
					continue;
				worst = n;
				at = levels->at[i];
				from = levels;
			}
		}
		if (from)
			levels_drop(from, at, at + 1);
	} while (from);
}

enum owner { VICTIM, CO_RUNNER, FABRIC };

/* For each requirement of a model: whose data it needs, and the message. */
static const struct {
	unsigned required;
	enum owner owner;
	unsigned has;
	const char *what;
} requirements[] = {
	{ NP_DATA_CURVE, VICTIM, NP_DATA_CURVE,
	  "its slowdown under load levels was not measured" },
	{ NP_DATA_TRACE, VICTIM, NP_DATA_TRACE, "no trace" },
	{ NP_DATA_OWN_IMPACT, VICTIM, NP_DATA_IMPACT,
	  "how much it slows the levels was not measured" },
	{ NP_DATA_LATENCY, CO_RUNNER, NP_DATA_LATENCY, "no probe latencies" },
	{ NP_DATA_HIST, CO_RUNNER, NP_DATA_HIST, "no latency histogram" },
	{ NP_DATA_IMPACT, CO_RUNNER, NP_DATA_IMPACT,
	  "how much it slows the levels was not measured" },
	{ NP_DATA_CO_CURVE, CO_RUNNER, NP_DATA_CURVE,
	  "its slowdown under load levels was not measured" },
	{ NP_DATA_IDLE, FABRIC, NP_DATA_IDLE, "no latency of the idle fabric" },
	{ NP_DATA_LATENCY, FABRIC, NP_DATA_LATENCY,
	  "no latency under any load level" },
	{ NP_DATA_HIST, FABRIC, NP_DATA_HIST,
	  "no latency histograms of the idle fabric and the levels" },
	{ NP_DATA_LEVEL_PAIRS, FABRIC, NP_DATA_LEVEL_PAIRS,
	  "how much the load levels slow each other was not measured" },
};

/* Was everything measured that the model needs? 0 or -ENODATA with err. */
static int check_requirements(const struct np_predictor *predictor,
			      unsigned required,
			      const struct np_prepared *victim,
			      const struct np_prepared *co, struct np_err *err)
{
	const unsigned has[] = { victim->bootstrap.has, co->bootstrap.has,
				 predictor->fabric.has };
	const char *const name[] = { victim->app->name, co->app->name,
				     predictor->measured->name };

	for (size_t i = 0; i < NP_ARRAY_SIZE(requirements); i++) {
		const char *what = requirements[i].what;

		if (!(required & requirements[i].required) ||
		    has[requirements[i].owner] & requirements[i].has)
			continue;
		if (requirements[i].required == NP_DATA_TRACE &&
		    victim->app->untraced)
			what = victim->app->untraced;
		return np_errf(err, -ENODATA, "%s: %s",
			       name[requirements[i].owner], what);
	}
	return 0;
}

/* Does the fabric have the required measurements of level i? */
static bool level_serves(const struct np_predictor *predictor, size_t i,
			 unsigned required)
{
	return (!(required & NP_DATA_LATENCY) ||
		predictor->fabric.has_latency[i]) &&
	       (!(required & NP_DATA_HIST) || predictor->fabric.has_hist[i]);
}

/* Does the victim have the required measurements for level i? */
static bool serves_victim(const struct np_bootstrap_program *victim, size_t i,
			  unsigned required)
{
	return victim->has_curve[i] &&
	       (!(required & NP_DATA_OWN_IMPACT) || victim->has_impact[i]);
}

/* Does the co-runner? */
static bool serves_co(const struct np_bootstrap_program *co, size_t i,
		      unsigned required)
{
	return co->has_impact[i] &&
	       (!(required & NP_DATA_CO_CURVE) || co->has_curve[i]);
}

/* Set *use to all levels with the required measurements. */
static void list_levels(const struct np_predictor *predictor,
			const struct np_bootstrap_program *victim,
			const struct np_bootstrap_program *co,
			unsigned required, struct np_level_use *use)
{
	use->col.n = use->row.n = use->co_col.n = 0;
	for (size_t i = 0; i < predictor->n; i++) {
		if (!level_serves(predictor, i, required))
			continue;
		if (required & NP_DATA_CURVE &&
		    serves_victim(victim, i, required))
			levels_add(&use->col, i);
		if (required & NP_DATA_IMPACT && serves_co(co, i, required))
			levels_add(&use->row, i);
		if (required & NP_DATA_CO_CURVE && co->has_curve[i])
			levels_add(&use->co_col, i);
	}
	if (required & NP_DATA_LEVEL_PAIRS)
		drop_incomplete(predictor, use);
}

/* Set *use to the levels whose mutual slowdowns are all known. */
static void select_mutual_levels(const struct np_predictor *predictor,
				 struct np_level_use *use)
{
	use->col.n = use->row.n = use->co_col.n = 0;
	for (size_t i = 0; i < predictor->n; i++) {
		levels_add(&use->col, i);
		levels_add(&use->row, i);
	}
	drop_incomplete(predictor, use);
}

/* Select the levels for one prediction. -ENODATA or -EDOM with err. */
static int select_levels(const struct np_predictor *predictor,
			 const struct np_prepared *victim,
			 const struct np_prepared *co, size_t n_co,
			 struct np_level_use *use, struct np_err *err)
{
	unsigned required = predictor->model->required;
	int rc;

	/*
	 * Mutual slowdown is defined only for two programs. Latencies are
	 * added as differences from idle.
	 */
	if (n_co > 1)
		required = (required & ~(unsigned)NP_DATA_CO_CURVE) |
			   (required & NP_DATA_LATENCY ? NP_DATA_IDLE : 0);
	rc = check_requirements(predictor, required, victim, co, err);
	if (rc)
		return rc;
	list_levels(predictor, &victim->bootstrap, &co->bootstrap, required,
		    use);
	if (required & NP_DATA_CURVE && !use->col.n)
		return np_errf(err, -ENODATA,
			       "%s: none of the load levels under which it ran "
			       "has what model %s needs",
			       victim->app->name, predictor->model->name);
	if (required & NP_DATA_LEVEL_PAIRS &&
	    (use->col.n < 2 || use->row.n < 2))
		return np_errf(err, predictor->n < 2 ? -EDOM : -ENODATA,
			       "%s with %s: %zu level%s with its slowdown, %zu "
			       "with the impact, expected at least 2 of each "
			       "that were run together",
			       victim->app->name, co->app->name, use->col.n,
			       use->col.n == 1 ? "" : "s", use->row.n);
	return 0;
}

/* Fill in the inputs of a model, except for the two programs. */
static void level_inputs(const struct np_predictor *predictor,
			 const struct np_level_use *use, size_t replicate,
			 struct np_data *input)
{
	*input = (struct np_data){
		.model = predictor->model,
		.fabric = &predictor->fabric.sample[replicate],
		.n_co = 1,
		.col = &use->col,
		.row = &use->row,
		.co_col = &use->co_col,
		.nnls = predictor->nnls,
		.work = predictor->work,
		.ensemble = predictor->ensemble,
	};
}

/*
 * Weights of an ensemble's members.
 *
 * Every level is predicted under every other level, as if both were programs.
 * The weights are those that minimise the squared error, are not negative and
 * sum to 1. There is one set for co-runners within the range of the levels,
 * and one for co-runners beyond it.
 */

#define K NP_MODEL_MEMBERS
#define SUM 100.0 /* weight of the equation "the weights sum to 1" */
#define RIDGE 0.3 /* pull towards equal weights, for few levels */

/* The normal equations for one set of weights. */
struct stack {
	double gram[K * K], h[K];
};

static void stack_init(struct stack *stack)
{
	for (size_t i = 0; i < K; i++) {
		for (size_t j = 0; j < K; j++)
			stack->gram[i * K + j] =
				SUM * SUM + (i == j ? RIDGE * RIDGE : 0);
		stack->h[i] = SUM * SUM + RIDGE * RIDGE / K;
	}
}

/* Add an equation: the weighted predictions sum to what was measured. */
static void stack_add(struct stack *stack, const double member[K],
		      double measured)
{
	double scale = 1 / (NP_MISS_FLOOR + fabs(measured));

	scale *= scale;
	for (size_t i = 0; i < K; i++) {
		for (size_t j = 0; j < K; j++)
			stack->gram[i * K + j] += scale * member[i] * member[j];
		stack->h[i] += scale * member[i] * measured;
	}
}

/* Predict level i under level k, from fits that exclude both. */
static void stack_pair(struct np_predictor *predictor,
		       const struct np_level_use *all, size_t i, size_t k,
		       struct stack stack[2])
{
	double x[predictor->dim], y[predictor->dim], member[K];
	struct np_level_use use = *all;
	struct np_data input;

	levels_drop(&use.row, i, i + 1);
	levels_drop(&use.col, k, k + 1);
	level_inputs(predictor, &use, 0, &input);
	input.victim = &predictor->level[i];
	input.co = &predictor->level[k];
	memset(x, 0, sizeof(x));
	memset(y, 0, sizeof(y));
	if (predictor->model->describe(&input, x) ||
	    predictor->model->respond(&input, y))
		return;
	predictor->model->members(&input, x, y, member);
	stack_add(&stack[input.flags & NP_PRED_BEYOND ? 1 : 0], member,
		  predictor->level[i].log_curve[k]);
}

/* Compute the K weights, and scale them so that they sum to 1 exactly. */
static int stack_solve(struct np_predictor *predictor,
		       const struct stack *stack, double *w, struct np_err *err)
{
	double sum = 0;
	int rc = np_nnls_solve(predictor->nnls, stack->gram, K, 0, stack->h, K,
			       w, false, err);

	for (size_t i = 0; i < K; i++)
		sum += w[i];
	for (size_t i = 0; i < K; i++)
		w[i] /= sum;
	return rc;
}

/* Compute both sets of weights, if the model has members. */
static int ensemble_weigh(struct np_predictor *predictor, struct np_err *err)
{
	struct stack stack[2];
	struct np_level_use all = { 0 };
	int rc;

	if (!predictor->model->members)
		return 0;
	predictor->ensemble = malloc(2 * K * sizeof(double));
	if (!predictor->ensemble)
		return np_errf(err, -ENOMEM, "no memory for the ensemble");
	select_mutual_levels(predictor, &all);
	stack_init(&stack[0]);
	stack_init(&stack[1]);
	for (size_t i = 0; i < all.row.n && all.col.n > 2; i++)
		for (size_t k = 0; k < all.col.n; k++)
			stack_pair(predictor, &all, all.row.at[i],
				   all.col.at[k], stack);
	rc = stack_solve(predictor, &stack[0], predictor->ensemble, err);
	return rc ? rc :
		    stack_solve(predictor, &stack[1], predictor->ensemble + K,
				err);
}

/*
 * Make programs of the levels. In the matrix of pairs, a level's row is its
 * sensitivity curve, without the weights of the fits, and its column its
 * impact.
 */
static int predictor_make_levels(struct np_predictor *predictor)
{
	const struct np_data_fabric *fabric = &predictor->fabric.sample[0];
	size_t n = predictor->n;
	double *column, *fit_column;

	predictor->level = calloc(n + 1, sizeof(*predictor->level));
	predictor->level_store = calloc(3 * n * n + 1, sizeof(double));
	if (!predictor->level || !predictor->level_store)
		return -ENOMEM;
	column = predictor->level_store;
	fit_column = column + n * n;
	for (size_t i = 0; i < n; i++) {
		const double *row = fabric->log_pairs + i * n;
		double weight = fabric->fit_weight ? fabric->fit_weight[i] : 1;
		double *fit = fit_column + (n + i) * n;

		for (size_t j = 0; j < n; j++) {
			column[j * n + i] = row[j];
			fit_column[j * n + i] = fabric->fit_pairs[i * n + j];
			fit[j] = fabric->fit_pairs[i * n + j] / weight;
		}
		predictor->level[i] = (struct np_data_program){
			.latency = fabric->level[i],
			.log_curve = row,
			.log_impact = column + i * n,
			.fit_curve = fit,
			.fit_impact = fit_column + i * n,
		};
	}
	return 0;
}

static int alloc_level_terms(struct np_predictor *predictor)
{
	struct np_level_terms *level_terms = &predictor->level_terms;

	level_terms->flags =
		calloc(predictor->n + 1, sizeof(*level_terms->flags));
	for (int side = 0; side < NP_SIDES; side++) {
		level_terms->z[side] = calloc(predictor->n * predictor->dim + 1,
					      sizeof(*level_terms->z[side]));
		level_terms->rc[side] = calloc(predictor->n + 1,
					       sizeof(*level_terms->rc[side]));
		if (!level_terms->z[side] || !level_terms->rc[side])
			return -ENOMEM;
	}
	return level_terms->flags ? 0 : -ENOMEM;
}

static size_t max_cached(const struct np_predictor *predictor)
{
	/* of one program: terms, and slowdowns on both scales */
	size_t n = predictor->fabric.n * (predictor->dim + 4 * predictor->n) +
		   NP_LESS_PARTS * predictor->dim;
	size_t max = NP_PREPARED_BYTES / (n * sizeof(double));

	return max < 2 ? 2 : max < NP_PREPARED_MAX ? max : NP_PREPARED_MAX;
}

static int make(struct np_predictor *predictor, struct np_err *err)
{
	int rc = np_bootstrap_fabric(predictor->measured, &predictor->bootstrap,
				     &predictor->fabric, err);

	if (rc)
		return rc;
	predictor->nnls = np_nnls_new(predictor->n + 1 > NP_MODEL_MEMBERS ?
					      predictor->n + 1 :
					      NP_MODEL_MEMBERS);
	predictor->work = malloc(NP_MODEL_WORK(predictor->n) * sizeof(double));
	predictor->predictions =
		malloc(3 * predictor->fabric.n * sizeof(double));
	predictor->max_cached = max_cached(predictor);
	predictor->cached =
		calloc(predictor->max_cached, sizeof(*predictor->cached));
	if (!predictor->nnls || !predictor->work || !predictor->predictions ||
	    !predictor->cached || predictor_make_levels(predictor) ||
	    alloc_level_terms(predictor))
		return np_errf(err, -ENOMEM, "%s: no memory for a predictor",
			       predictor->measured->name);
	return ensemble_weigh(predictor, err);
}

int np_predictor_new(const struct np_fabric *fabric,
		     const struct np_model *model,
		     const struct np_predict_opt *opt,
		     struct np_predictor **out, struct np_err *err)
{
	struct np_predictor *predictor;
	int rc = np_fabric_check(fabric, err);

	if (rc)
		return rc;
	if (opt->replicates > NP_PREDICT_MAX_REPLICATES)
		return np_errf(err, -EINVAL,
			       "%zu bootstrap samples, expected at most %d",
			       opt->replicates, NP_PREDICT_MAX_REPLICATES);
	predictor = calloc(1, sizeof(*predictor));
	if (!predictor)
		return np_errf(err, -ENOMEM, "%s: no memory for a predictor",
			       fabric->name);
	predictor->measured = fabric;
	predictor->model = model;
	predictor->opt = *opt;
	predictor->n = fabric->n_levels;
	predictor->dim = np_model_dim(model, predictor->n);
	predictor->bootstrap = (struct np_bootstrap_opt){
		.replicates = opt->replicates,
		.seed = opt->seed,
		.required = model->required,
	};
	rc = make(predictor, err);
	if (rc) {
		np_predictor_free(predictor);
		return rc;
	}
	*out = predictor;
	return 0;
}

/* Get the predictor of the fallback model; *out is NULL if there is none. */
static int predictor_fallback(struct np_predictor *predictor,
			      struct np_predictor **out, struct np_err *err)
{
	const struct np_model *model;

	*out = NULL;
	if (!predictor->model->fallback || predictor->opt.strict)
		return 0;
	model = np_model_find(predictor->model->fallback, err);
	if (!predictor->fallback) {
		int rc = np_predictor_new(predictor->measured, model,
					  &predictor->opt, &predictor->fallback,
					  err);

		if (rc)
			return rc;
	}
	*out = predictor->fallback;
	return 0;
}

static void term_free(struct np_prepared *program, enum np_side side)
{
	struct np_term *term = &program->term[side];

	if (term->z != program->term[!side].z) {
		free(term->z);
		free(term->less);
	}
	free(term->miss);
	term->z = term->less = NULL;
	term->miss = NULL;
	term->computed = false;
}

static void prepared_free(struct np_prepared *prepared)
{
	np_bootstrap_program_free(&prepared->bootstrap);
	term_free(prepared, NP_CO);
	term_free(prepared, NP_VICTIM);
}

void np_predictor_free(struct np_predictor *predictor)
{
	if (!predictor)
		return;
	np_predictor_free(predictor->fallback);
	for (size_t i = 0; predictor->cached && i < predictor->max_cached; i++)
		prepared_free(&predictor->cached[i]);
	free(predictor->cached);
	np_bootstrap_fabric_free(&predictor->fabric);
	np_nnls_free(predictor->nnls);
	free(predictor->level);
	free(predictor->level_store);
	for (int side = 0; side < NP_SIDES; side++) {
		free(predictor->level_terms.z[side]);
		free(predictor->level_terms.rc[side]);
	}
	free(predictor->level_terms.flags);
	for (size_t k = 0; k < NP_LESS_PARTS; k++)
		free(predictor->less[k].gram.cross);
	free(predictor->work);
	free(predictor->predictions);
	free(predictor->ensemble);
	free(predictor);
}

/*
 * Terms of one program.
 *
 * The term of a program is its description as a co-runner, or its response as a
 * victim, for every bootstrap sample. It includes the errors that the model
 * makes for this program when one level at a time is left out: a level is a
 * program whose slowdowns are known, so the prediction of the victim under that
 * level, or of that level under the co-runner, can be compared with the
 * measurement.
 */

/* Return the levels that describe a program in this role. */
static struct np_levels *levels_of(struct np_level_use *use, enum np_side side)
{
	return side == NP_VICTIM ? &use->col : &use->row;
}

/* Fill in the inputs of a model, with level k left out for this role. */
static void inputs_without(const struct np_predictor *predictor,
			   const struct np_level_use *use, enum np_side side,
			   size_t k, struct np_level_use *less,
			   struct np_data *input)
{
	*less = *use;
	levels_drop(levels_of(less, side), k, k + 1);
	level_inputs(predictor, less, 0, input);
}

/* Compute the term of a program in one role; warm: z has an initial guess. */
static int term_compute(const struct np_predictor *predictor, enum np_side side,
			const struct np_data_program *program,
			struct np_data *sample, double *z, bool warm)
{
	sample->warm = warm;
	if (side == NP_VICTIM) {
		sample->victim = program;
		return predictor->model->respond(sample, z);
	}
	sample->co = program;
	return predictor->model->describe(sample, z);
}

static bool all_known(const bool *known, size_t stride,
		      const struct np_levels *levels)
{
	for (size_t i = 0; i < levels->n; i++)
		if (!known[levels->at[i] * stride])
			return false;
	return true;
}

/* Is enough known of level k to treat it as a program in this role? */
static bool can_act_as(const struct np_predictor *predictor,
		       const struct np_level_use *use, enum np_side side,
		       size_t k)
{
	const struct np_bootstrap_fabric *data = &predictor->fabric;
	const bool *row = data->has_pair + k * predictor->n;
	unsigned required = predictor->model->required;

	if (side == NP_VICTIM)
		return all_known(row, 1, &use->col);
	return (!(required & NP_DATA_LATENCY) || data->has_latency[k]) &&
	       (!(required & NP_DATA_HIST) || data->has_hist[k]) &&
	       all_known(data->has_pair + k, predictor->n, &use->row) &&
	       all_known(row, 1, &use->co_col);
}

/* Make the term of level k in this role, from fits that exclude level k. */
static int make_level_term(struct np_predictor *predictor,
			   const struct np_level_use *use, enum np_side side,
			   size_t k)
{
	struct np_level_terms *level_terms = &predictor->level_terms;
	struct np_level_use less;
	struct np_data input;
	int rc;

	if (!can_act_as(predictor, use, side, k))
		return -1;
	inputs_without(predictor, use, !side, k, &less, &input);
	if (!less.col.n)
		return -1;
	rc = term_compute(predictor, side, &predictor->level[k], &input,
			  level_terms->z[side] + k * predictor->dim, false);
	if (side == NP_CO)
		level_terms->flags[k] = input.flags;
	return rc;
}

/* Compute the terms of all levels in both roles, unless they exist. */
static void make_level_terms(struct np_predictor *predictor,
			     const struct np_level_use *use)
{
	struct np_level_terms *level_terms = &predictor->level_terms;

	if (level_terms->computed && level_use_equal(&level_terms->use, use))
		return;
	level_terms->use = *use;
	for (size_t k = 0; k < predictor->n; k++)
		for (int side = 0; side < NP_SIDES; side++)
			level_terms->rc[side][k] =
				make_level_term(predictor, use, side, k);
	level_terms->computed = true;
}

static void term_add_error(struct np_term *term, double measured,
			   double predicted, unsigned flags)
{
	struct np_error_excluded *m = &term->miss[term->n_miss];

	if (!isfinite(predicted))
		return;
	m->log_slow = predicted;
	m->error = measured - predicted;
	m->beyond = flags & NP_PRED_BEYOND;
	term->n_miss++;
}

/* Predict the program with each level left out, and keep the errors. */
static void find_model_errors(struct np_predictor *predictor, enum np_side side,
			      const struct np_bootstrap_program *data,
			      size_t n_co, struct np_term *term)
{
	const struct np_data_program *program = &data->sample[0];
	const struct np_level_terms *level_terms = &predictor->level_terms;

	make_level_terms(predictor, &term->use);
	for (size_t k = 0; k < predictor->n; k++) {
		const double *level =
			level_terms->z[!side] + k * predictor->dim;
		struct np_levels left[NP_SIDES] = { { .n = 0 } };
		struct np_level_use less;
		struct np_data input;
		double z[predictor->dim], log_slow;

		if (level_terms->rc[!side][k])
			continue;
		inputs_without(predictor, &term->use, side, k, &less, &input);
		if (levels_of(&less, side)->n < levels_of(&term->use, side)->n)
			levels_add(&left[side], k);
		input.sides = &predictor->sides;
		input.left_row = &left[NP_CO];
		input.left_col = &left[NP_VICTIM];
		if (side == NP_VICTIM ? less.col.n == term->use.col.n :
					!data->has_impact[k])
			continue; /* the program was not measured with it */
		input.n_co = n_co;
		if (side == NP_VICTIM)
			input.flags = level_terms->flags[k];
		memcpy(z, term->z, sizeof(z)); /* initial guess: all levels */
		if (term_compute(predictor, side, program, &input, z, true))
			continue;
		log_slow = predictor->model->combine(
			&input, side == NP_VICTIM ? level : z,
			side == NP_VICTIM ? z : level);
		if (side == NP_VICTIM)
			term_add_error(term, program->log_curve[k], log_slow,
				       level_terms->flags[k]);
		else
			term_add_error(term, program->log_impact[k], log_slow,
				       input.flags);
	}
}

/* Divide the levels in use into those of a group, and all others. */
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
 * Return where the normal equations of the measured fabric without a group of
 * levels are kept. They can be used again, as nearly all programs were
 * measured with the same levels. NULL: out of memory.
 */
static struct np_gram_cache *gram_cache_without(struct np_predictor *predictor,
						size_t part)
{
	struct np_gram_cache *cached = &predictor->less[part].gram;
	size_t n = predictor->n;

	if (!cached->cross)
		cached->cross =
			malloc(3 * (n + 1) * (n + 1) * sizeof(*cached->cross));
	if (!cached->cross)
		return NULL;
	cached->victim = cached->cross + (n + 1) * (n + 1);
	cached->some = cached->victim + (n + 1) * (n + 1);
	return cached;
}

/*
 * Compute the term again without each group of levels, as if that group had
 * been measured neither for the victim nor for the co-runner.
 */
static void make_less(struct np_predictor *predictor, enum np_side side,
		      const struct np_data_program *program, size_t n_co,
		      struct np_term *term)
{
	bool same_levels = level_use_equal(&predictor->less_of, &term->use);

	for (size_t k = 0; k < NP_LESS_PARTS; k++) {
		struct np_less *less = &predictor->less[k];
		double *z = term->less + k * predictor->dim;
		struct np_data input;

		if (!same_levels)
			drop_part(&term->use, predictor->n, k, less);
		level_inputs(predictor, &less->use, 0, &input);
		input.cached = gram_cache_without(predictor, k);
		input.sides = &predictor->sides;
		input.left_row = &less->left_row;
		input.left_col = &less->left_col;
		input.only_fit = true;
		input.n_co = n_co;
		memcpy(z, term->z,
		       predictor->dim * sizeof(*z)); /* initial guess */
		term->has_less[k] = less->use.col.n >= NP_LESS_LEVELS &&
				    less->use.row.n >= NP_LESS_LEVELS &&
				    !level_use_equal(&less->use, &term->use) &&
				    !term_compute(predictor, side, program,
						  &input, z, true);
	}
	predictor->less_of = term->use;
}

/*
 * Are the program's terms in both roles the same numbers, so that one of them
 * need not be computed? See np_model.combine_both.
 */
static bool same_in_both_roles(const struct np_predictor *predictor,
			       const struct np_term *other,
			       const struct np_level_use *use)
{
	return predictor->model->combine_both && other->computed &&
	       level_use_equal(&other->use, use) &&
	       np_levels_equal(&use->row, &use->col);
}

/*
 * Allocate a term, or share that of the other role. *n is the number of
 * samples to compute: only 1, for the flags, if the term is shared.
 */
static int term_begin(struct np_predictor *predictor,
		      const struct np_level_use *use,
		      const struct np_term *other, struct np_term *term,
		      size_t *n, struct np_err *err)
{
	*n = predictor->fabric.n;
	if (term->z == other->z)
		term->z = term->less = NULL;
	if (same_in_both_roles(predictor, other, use)) {
		free(term->z);
		free(term->less);
		term->z = other->z;
		term->less = other->less;
		*n = 1;
	}
	if (!term->z)
		term->z = calloc(predictor->fabric.n * predictor->dim,
				 sizeof(*term->z));
	if (!term->less)
		term->less = calloc(NP_LESS_PARTS * predictor->dim,
				    sizeof(*term->less));
	if (!term->miss)
		term->miss = calloc(predictor->n + 1, sizeof(*term->miss));
	if (!term->z || !term->less || !term->miss)
		return np_errf(err, -ENOMEM,
			       "no memory for %zu bootstrap samples",
			       predictor->opt.replicates);
	term->use = *use;
	term->computed = false;
	term->flags = 0;
	term->n_miss = 0;
	return 0;
}

/*
 * Return row r of a term; it begins with the solution of the measured values.
 */
static double *term_row(const struct np_predictor *predictor,
			struct np_term *term, size_t r)
{
	double *z = term->z + r * predictor->dim;

	if (r)
		memcpy(z, term->z, predictor->dim * sizeof(*z));
	return z;
}

/*
 * Compute the term of a program in one role, unless it exists for the same
 * levels. The program must have its bootstrap samples. n_co is 1 for a
 * victim.
 */
static int term_make(struct np_predictor *predictor,
		     struct np_prepared *program, enum np_side side,
		     size_t n_co, const struct np_level_use *use,
		     struct np_err *err)
{
	struct np_term *term = &program->term[side];
	struct np_data input;
	size_t n;
	int rc;

	if (term->computed && level_use_equal(&term->use, use))
		return 0;
	rc = term_begin(predictor, use, &program->term[!side], term, &n, err);
	for (size_t r = 0; !rc && r < n; r++) {
		level_inputs(predictor, use, r, &input);
		input.sides = r ? NULL : &predictor->sides;
		input.n_co = n_co;
		input.err = err;
		rc = term_compute(predictor, side,
				  &program->bootstrap.sample[r], &input,
				  term_row(predictor, term, r), r > 0);
		if (!r)
			term->flags = input.flags;
	}
	if (rc)
		return rc;
	if (term->less == program->term[!side].less)
		memcpy(term->has_less, program->term[!side].has_less,
		       sizeof(term->has_less));
	else if (np_model_is_of_levels(predictor->model))
		make_less(predictor, side, &program->bootstrap.sample[0], n_co,
			  term);
	if (predictor->opt.replicates)
		find_model_errors(predictor, side, &program->bootstrap, n_co,
				  term);
	term->computed = true;
	return 0;
}

/* Predictions from the terms of two programs. */

/* Lowest relative speed that is predicted. */
#define SPEED_MIN 1e-3

/*
 * Initialise *prepared, which must be all 0, for a program that has passed
 * np_program_check(). Its bootstrap samples are drawn later. It must be freed
 * even if this fails.
 */
static int prepared_init(struct np_predictor *predictor,
			 const struct np_program *app,
			 struct np_prepared *prepared, struct np_err *err)
{
	prepared->app = app;
	return np_bootstrap_known(app, predictor->measured,
				  &prepared->bootstrap, err);
}

static uint64_t hash_of_name(const struct np_prepared *prepared)
{
	return np_hash(NP_HASH, prepared->app->name,
		       strlen(prepared->app->name));
}

/*
 * Take the terms of a program from the cache, if its samples are the same
 * there. The terms follow from the samples, and from the levels in use, which
 * term_make() compares.
 */
static void take_cached(struct np_predictor *predictor,
			struct np_prepared *prepared)
{
	uint64_t name = hash_of_name(prepared);

	for (size_t i = 0; i < predictor->max_cached; i++) {
		struct np_prepared *cached = &predictor->cached[i];

		if (predictor->cached_name[i] != name ||
		    !bootstrap_equal(&cached->bootstrap, &prepared->bootstrap,
				     &predictor->fabric))
			continue;
		memcpy(prepared->term, cached->term, sizeof(prepared->term));
		prepared->slot = i + 1;
		np_bootstrap_program_free(&cached->bootstrap);
		*cached = (struct np_prepared){ .slot = 0 };
		return;
	}
}

/*
 * Put a program that has terms into the cache, where it was before, or else in
 * the place of another program. Programs are not cached for models that use
 * traces: their errors depend on the trace, which take_cached() does not
 * compare.
 */
static void cache_program(struct np_predictor *predictor,
			  struct np_prepared *prepared)
{
	size_t at = prepared->slot ? prepared->slot - 1 :
				     predictor->next_cached;

	if (predictor->model->required & NP_DATA_TRACE ||
	    (!prepared->term[NP_CO].computed &&
	     !prepared->term[NP_VICTIM].computed)) {
		prepared_free(prepared);
		return;
	}
	if (!prepared->slot)
		predictor->next_cached = (at + 1) % predictor->max_cached;
	prepared_free(&predictor->cached[at]);
	predictor->cached[at] = *prepared;
	predictor->cached_name[at] = hash_of_name(prepared);
}

static int prepared_sample(struct np_predictor *predictor,
			   struct np_prepared *prepared, struct np_err *err)
{
	int rc;

	if (prepared->bootstrap.sample)
		return 0;
	rc = np_bootstrap_samples(prepared->app, &predictor->fabric,
				  &predictor->bootstrap, &prepared->bootstrap,
				  err);
	if (!rc)
		take_cached(predictor, prepared);
	return rc;
}

/* Apply the sharing coefficient k to log(1 + slowdown); see np_fabric.h. */
static double apply_sharing(double log_slow, double k, unsigned *flags)
{
	double speed = k > 1 && log_slow > 0 ? 1 / (1 + k * expm1(log_slow)) :
					       1 - k + k * exp(-log_slow);

	if (!(speed > SPEED_MIN)) {
		speed = SPEED_MIN;
		*flags |= NP_PRED_CLAMPED;
	}
	return -log(speed);
}

/* Fill in the inputs for sample s of the victim and r of the co-runner. */
static void set_inputs(const struct np_predictor *predictor,
		       const struct np_prepared *victim, size_t s,
		       const struct np_prepared *co, size_t r, size_t n_co,
		       struct np_data *input)
{
	level_inputs(predictor, &co->term[NP_CO].use, r, input);
	input->victim = &victim->bootstrap.sample[s];
	input->co = &co->bootstrap.sample[r];
	input->n_co = n_co;
}

/* A range of slowdowns; NaN if empty. */
struct range {
	double low, high;
};

/*
 * Find the range of the predictions without each group of levels in turn. A
 * wide range means that the prediction depends on a single level.
 */
static void range_without_levels(struct np_predictor *predictor,
				 const struct np_prepared *victim,
				 const struct np_prepared *co, size_t n_co,
				 enum np_scope scope, struct range *out)
{
	const struct np_term *co_term = &co->term[NP_CO],
			     *victim_term = &victim->term[NP_VICTIM];
	const struct np_mean *sharing = &predictor->measured->sharing[scope];
	double kappa = np_mean_known(sharing) ? sharing->mean : 1;

	for (size_t i = 0; i < NP_LESS_PARTS; i++) {
		unsigned ignored = 0;
		struct np_data input;
		double z;

		if (!co_term->has_less[i] || !victim_term->has_less[i])
			continue;
		set_inputs(predictor, victim, 0, co, 0, n_co, &input);
		input.flags = co_term->flags;
		z = predictor->model->combine(
			&input, co_term->less + i * predictor->dim,
			victim_term->less + i * predictor->dim);
		if (!isfinite(z))
			continue;
		z = expm1(apply_sharing(z, kappa, &ignored));
		out->low = fmin(out->low, z); /* fmin() ignores NaN */
		out->high = fmax(out->high, z);
	}
}

/*
 * Apply the sharing coefficient to all samples. It varies from sample to
 * sample, like its measurements.
 */
static void apply_sharing_to_all(struct np_predictor *predictor,
				 enum np_scope scope, double *log_slow,
				 struct np_prediction *out)
{
	const struct np_mean *sharing = &predictor->measured->sharing[scope];
	double sd = isfinite(sharing->sd) && sharing->n ?
			    sharing->sd / sqrt(sharing->n) :
			    0;
	struct np_rng *rng;

	out->sharing = np_mean_known(sharing) ? sharing->mean : 1;
	if (!np_mean_known(sharing)) {
		out->flags |= NP_PRED_NO_SHARING;
		return;
	}
	/* The name determines the random numbers, so it must not change. */
	rng = sd > 0 ? np_rng_new(predictor->opt.seed, "coupling") : NULL;
	for (size_t r = 0; r < predictor->fabric.n; r++) {
		unsigned ignored = 0, *flags = r ? &ignored : &out->flags;
		double kr = sharing->mean;

		if (r && rng)
			kr = fmax(0, kr + sd * np_rng_normal(rng));
		log_slow[r] = apply_sharing(log_slow[r], kr, flags);
	}
	np_rng_free(rng);
}

/* Join sample s of the victim's term with sample r of the co-runner's. */
static double prepared_combine(struct np_predictor *predictor,
			       const struct np_prepared *victim, size_t s,
			       const struct np_prepared *co, size_t r,
			       size_t n_co, unsigned *flags)
{
	struct np_data input;
	double log_slow;

	set_inputs(predictor, victim, s, co, r, n_co, &input);
	input.flags = *flags;
	log_slow = predictor->model->combine(
		&input, co->term[NP_CO].z + r * predictor->dim,
		victim->term[NP_VICTIM].z + s * predictor->dim);
	*flags = input.flags;
	return log_slow;
}

/* Set in *out which data the prediction uses. */
static void set_data_used(const struct np_predictor *predictor,
			  const struct np_prepared *victim,
			  const struct np_prepared *co,
			  struct np_prediction *out)
{
	const struct np_level_use *use = &co->term[NP_CO].use;

	out->model = predictor->model;
	out->used = predictor->model->required;
	out->n_curve = use->col.n;
	out->n_impact = use->row.n;
	out->n_excluded =
		co->term[NP_CO].n_miss + victim->term[NP_VICTIM].n_miss;
	if (predictor->model->required & NP_DATA_LATENCY)
		out->n_probes = co->app->latency.all.n;
	if ((predictor->model->required & NP_DATA_CURVE &&
	     use->col.n < predictor->n) ||
	    (predictor->model->required & NP_DATA_IMPACT &&
	     use->row.n < predictor->n))
		out->flags |= NP_PRED_PARTIAL;
}

/* Is there to be an interval? A model that uses no data, "zero", has none. */
static bool with_interval(const struct np_predictor *predictor)
{
	return predictor->opt.replicates && predictor->model->required;
}

/* Return how large an error is expected, relative to other slowdowns. */
static double scale_of(double log_slow)
{
	return NP_MISS_FLOOR + fabs(log_slow);
}

/* Collect scaled errors; those of NP_PRED_BEYOND only if beyond is set. */
static size_t collect_errors(const struct np_term *term, bool beyond,
			     double *to)
{
	size_t n = 0;

	for (size_t i = 0; i < term->n_miss; i++)
		if (beyond || !term->miss[i].beyond)
			to[n++] = term->miss[i].error /
				  scale_of(term->miss[i].log_slow);
	return n;
}

/* Add the model's own error to the samples 1 to n - 1 of a prediction. */
static void add_model_error(const struct np_term *co_term,
			    const struct np_term *victim_term, double *log_slow,
			    size_t n, unsigned *flags)
{
	double miss[2 * NP_FABRIC_MAX_LEVELS], scale = scale_of(log_slow[0]);
	bool beyond = *flags & NP_PRED_BEYOND;
	size_t n_miss = collect_errors(co_term, beyond, miss);

	n_miss += collect_errors(victim_term, beyond, miss + n_miss);
	if (!n_miss) {
		*flags |= NP_PRED_NOISE_ONLY;
		return;
	}
	for (size_t r = 1; r < n; r++) {
		/* Multiples of the golden ratio select all errors evenly. */
		double u = fmod((double)r * 0.6180339887498949, 1);

		log_slow[r] += scale * miss[(size_t)(u * (double)n_miss)];
	}
}

/* Find the interval from a prediction and its n - 1 samples, and sort these. */
static void find_interval(double *log_slow, size_t n, double *low, double *high)
{
	const double tail = (1 - NP_PREDICT_COVERAGE) / 2;
	double point = log_slow[0], *z = log_slow + 1;

	gsl_sort(z, 1, n - 1);
	*low = expm1(fmin(
		point, gsl_stats_quantile_from_sorted_data(z, 1, n - 1, tail)));
	*high = expm1(fmax(point, gsl_stats_quantile_from_sorted_data(
					  z, 1, n - 1, 1 - tail)));
}

/* Return the flags of all data that the prediction uses. */
static unsigned flags_of(const struct np_predictor *predictor,
			 const struct np_prepared *victim,
			 const struct np_prepared *co)
{
	return co->term[NP_CO].flags | victim->term[NP_VICTIM].flags |
	       victim->bootstrap.flags | co->bootstrap.flags |
	       predictor->fabric.flags;
}

/*
 * Does the co-runner slow some level clearly more than any level does? The
 * prediction is an extrapolation then.
 */
static bool is_past_levels(const struct np_predictor *predictor,
			   const struct np_prepared *co)
{
	const struct np_levels *row = &co->term[NP_CO].use.row;
	const double *impact = co->bootstrap.sample[0].log_impact;

	for (size_t i = 0; i < row->n; i++) {
		const double *pairs = predictor->fabric.sample[0].log_pairs +
				      row->at[i] * predictor->n;

		double own = impact[row->at[i]];
		size_t j = predictor->n;

		/* Begins with the last level, usually the strongest. */
		while (j && own > pairs[j - 1] + NP_PREDICT_DOUBT_PAST)
			j--;
		if (!j)
			return true;
	}
	return false;
}

/*
 * Check whether a prediction is doubtful. Returns flags of NP_PRED_DOUBTFUL,
 * and in *less the range of the predictions with some levels left out.
 */
static unsigned find_doubts(struct np_predictor *predictor,
			    const struct np_prepared *victim,
			    const struct np_prepared *co, size_t n_co,
			    enum np_scope scope, double log_slow,
			    struct range *less)
{
	unsigned flags = 0;

	*less = (struct range){ NAN, NAN };
	if (!np_model_is_of_levels(predictor->model))
		return 0;
	if (predictor->opt.doubtful)
		flags |= NP_PRED_CALIBRATION;
	range_without_levels(predictor, victim, co, n_co, scope, less);
	if (less->high - less->low > NP_PREDICT_DOUBT_POINTS &&
	    fmax(log1p(less->high) - log_slow, log_slow - log1p(less->low)) >
		    NP_PREDICT_DOUBT_SHARE * scale_of(log_slow))
		flags |= NP_PRED_ONE_LEVEL;
	if (n_co == 1 && is_past_levels(predictor, co))
		flags |= NP_PRED_PAST_LEVELS;
	return flags;
}

/* Is the interval so wide that the prediction is doubtful? */
static bool is_wide(const struct np_prediction *out)
{
	double log_slow = log1p(out->slowdown);
	double up = log1p(out->high) - log_slow;
	double down = log_slow - log1p(out->low);

	return out->high - out->low > NP_PREDICT_DOUBT_POINTS &&
	       fmax(up, down) > NP_PREDICT_DOUBT_WIDTH * scale_of(log_slow);
}

/* Make a prediction from the model's result z for every sample. */
static int prepared_prediction(struct np_predictor *predictor,
			       const struct np_prepared *victim,
			       const struct np_prepared *co, size_t n_co,
			       enum np_scope scope, double *z,
			       struct np_prediction *out, struct np_err *err)
{
	struct range less;

	if (!isfinite(z[0]))
		return np_errf(err, -EDOM, "%s with %s: model %s has no answer",
			       victim->app->name, co->app->name,
			       predictor->model->name);
	set_data_used(predictor, victim, co, out);
	if (with_interval(predictor))
		add_model_error(&co->term[NP_CO], &victim->term[NP_VICTIM], z,
				predictor->fabric.n, &out->flags);
	apply_sharing_to_all(predictor, scope, z, out);
	out->flags |=
		find_doubts(predictor, victim, co, n_co, scope, z[0], &less);
	out->slowdown = expm1(z[0]);
	if (!with_interval(predictor)) {
		out->flags |= NP_PRED_NO_INTERVAL;
		return 0;
	}
	find_interval(z, predictor->fabric.n, &out->low, &out->high);
	out->low = fmin(out->low, less.low); /* fmin() ignores NaN */
	out->high = fmax(out->high, less.high);
	if (np_model_is_of_levels(predictor->model) && is_wide(out))
		out->flags |= NP_PRED_WIDE;
	return 0;
}

/* Compute the terms of both programs. */
static int make_terms(struct np_predictor *predictor,
		      struct np_prepared *victim, struct np_prepared *co,
		      size_t n_co, struct np_err *err)
{
	struct np_level_use use;
	int rc = select_levels(predictor, victim, co, n_co, &use, err);

	if (!rc)
		rc = prepared_sample(predictor, victim, err);
	if (!rc)
		rc = prepared_sample(predictor, co, err);
	if (!rc)
		rc = term_make(predictor, co, NP_CO, n_co, &use, err);
	return rc ? rc : term_make(predictor, victim, NP_VICTIM, 1, &use, err);
}

/* Predict a victim under a co-runner. Returns 0, or as np_predict() does. */
static int prepared_pair(struct np_predictor *predictor,
			 struct np_prepared *victim, struct np_prepared *co,
			 size_t n_co, enum np_scope scope,
			 struct np_prediction *out, struct np_err *err)
{
	int rc = make_terms(predictor, victim, co, n_co, err);
	double *z = predictor->predictions;

	if (rc)
		return rc;
	*out = (struct np_prediction){ .low = NAN, .high = NAN };
	out->flags = flags_of(predictor, victim, co);
	for (size_t r = 0; r < predictor->fabric.n; r++) {
		unsigned ignored = out->flags;

		z[r] = prepared_combine(predictor, victim, r, co, r, n_co,
					r ? &ignored : &out->flags);
	}
	return prepared_prediction(predictor, victim, co, n_co, scope, z, out,
				   err);
}

/*
 * Predict both programs of a pair: out[0] is a under b, out[1] is b under a,
 * each with its own rc. Returns false if the model cannot do both at once.
 */
static bool prepared_both(struct np_predictor *predictor, struct np_prepared *a,
			  struct np_prepared *b, enum np_scope scope,
			  struct np_prediction *const out[2], int rc[2])
{
	const struct np_term *co_term = &b->term[NP_CO],
			     *victim_term = &a->term[NP_VICTIM];
	const struct np_level_use *back = &a->term[NP_CO].use;
	double *z = predictor->predictions, *z_back = z + predictor->fabric.n;

	if (!predictor->model->combine_both ||
	    make_terms(predictor, a, b, 1, NULL) ||
	    make_terms(predictor, b, a, 1, NULL) ||
	    !np_levels_equal(&co_term->use.row, &back->col) ||
	    !np_levels_equal(&co_term->use.col, &back->row))
		return false;
	for (size_t r = 0; r < predictor->fabric.n; r++) {
		double both[2];
		struct np_data input;

		set_inputs(predictor, a, r, b, r, 1, &input);
		predictor->model->combine_both(
			&input, co_term->z + r * predictor->dim,
			victim_term->z + r * predictor->dim, both);
		z[r] = both[0];
		z_back[r] = both[1];
	}
	*out[0] = *out[1] = (struct np_prediction){ .low = NAN, .high = NAN };
	out[0]->flags = flags_of(predictor, a, b);
	out[1]->flags = flags_of(predictor, b, a);
	rc[0] = prepared_prediction(predictor, a, b, 1, scope, z, out[0], NULL);
	rc[1] = prepared_prediction(predictor, b, a, 1, scope, z_back, out[1],
				    NULL);
	return true;
}

/*
 * The measurement that would narrow the interval most.
 *
 * Only the victim or only the co-runner is resampled, which shows how much of
 * the prediction's variance each of them causes. That variance is then
 * attributed to the levels, by the correlation of their slowdowns with the
 * prediction.
 */

struct next_task {
	struct np_predictor *predictor;
	const struct np_prepared *victim, *co;
	size_t n_co, n; /* numbers of co-runners and of bootstrap samples */
	double *z;	/* n predictions */
};

/*
 * Predict with one program resampled and the other as measured. Returns the
 * variance of the predictions.
 */
static double resample(struct next_task *task, bool victim)
{
	unsigned ignored = task->co->term[NP_CO].flags;

	for (size_t r = 0; r < task->n; r++)
		task->z[r] = prepared_combine(task->predictor, task->victim,
					      victim ? r + 1 : 0, task->co,
					      victim ? 0 : r + 1, task->n_co,
					      &ignored);
	return gsl_stats_variance(task->z, 1, task->n);
}

/*
 * Return the slowdowns, by level, that vary in resample(): those in sample r.
 */
static const double *resampled_input(const struct next_task *task, size_t r,
				     bool victim)
{
	return victim ? task->victim->bootstrap.sample[r + 1].log_curve :
			task->co->bootstrap.sample[r + 1].log_impact;
}

/*
 * Return the part of task->z's variance that the slowdown of level i explains.
 */
static double explained_variance(const struct next_task *task, bool victim,
				 size_t i, double *work)
{
	double var;

	for (size_t r = 0; r < task->n; r++)
		work[r] = resampled_input(task, r, victim)[i];
	var = gsl_stats_variance(work, 1, task->n);
	if (!(var > 0))
		return 0;
	var = gsl_stats_covariance(work, 1, task->z, 1, task->n) / sqrt(var);
	return var * var;
}

/* Find the level that explains most variance; *sum is what all explain. */
static size_t most_explaining(const struct next_task *task, bool victim,
			      double *sum)
{
	const struct np_level_use *use = &task->co->term[NP_CO].use;
	const struct np_levels *list = victim ? &use->col : &use->row;
	size_t at = 0;
	double top = -1, *work = task->z + task->n, e;

	*sum = 0;
	for (size_t i = 0; i < list->n; i++) {
		e = explained_variance(task, victim, list->at[i], work);
		*sum += e;
		if (e > top) {
			top = e;
			at = list->at[i];
		}
	}
	return at;
}

/* Return the mean squared error of predictions with one level left out. */
static double mean_squared_error(const struct np_term *co_term,
				 const struct np_term *victim_term)
{
	double sum = 0;
	size_t n = co_term->n_miss + victim_term->n_miss;

	for (size_t i = 0; i < co_term->n_miss; i++)
		sum += co_term->miss[i].error * co_term->miss[i].error;
	for (size_t i = 0; i < victim_term->n_miss; i++)
		sum += victim_term->miss[i].error * victim_term->miss[i].error;
	return n ? sum / (double)n : 0;
}

/* Return the distance of level i from the co-runners, in units of the model. */
static double distance_of_level(const struct next_task *task, size_t i)
{
	const struct np_data_fabric *fabric =
		&task->predictor->fabric.sample[0];
	const struct np_data_program *co = &task->co->bootstrap.sample[0];
	const struct np_level_use *use = &task->co->term[NP_CO].use;
	double sum = 0;

	if (!(task->predictor->model->required & NP_DATA_IMPACT))
		return fabs(fabric->level[i].mean - co->latency.mean);
	for (size_t r = 0; r < use->row.n; r++)
		sum += fabric->fit_pairs[use->row.at[r] * fabric->n_levels + i] -
		       co->fit_impact[use->row.at[r]];
	return fabs(sum);
}

/* Find the level nearest to the co-runners, of all or of those in the curve. */
static size_t nearest_level(const struct next_task *task, bool of_curve)
{
	const struct np_level_use *use = &task->co->term[NP_CO].use;
	size_t n = of_curve ? use->col.n : task->predictor->n, at = 0;
	double best = INFINITY;

	for (size_t c = 0; c < n; c++) {
		size_t i = of_curve ? use->col.at[c] : c;
		double d = distance_of_level(task, i);

		if (d < best) {
			best = d;
			at = i;
		}
	}
	return at;
}

/*
 * Return the variance of log(1 + slowdown) that has the same effect as that of
 * the sharing coefficient, which is applied afterwards: see apply_sharing().
 */
static double sharing_var(const struct np_predictor *predictor,
			  enum np_scope scope, double log_slow)
{
	const struct np_mean *sharing = &predictor->measured->sharing[scope];
	double loss = expm1(log_slow) / sharing->mean;

	/* A coefficient above 1 multiplies the slowdown. */
	if (sharing->mean > 1 && log_slow > 0)
		loss /= exp(log_slow);

	/* A coefficient that was never measured has NP_PRED_NO_SHARING. */
	return sharing->n && isfinite(sharing->sd) ?
		       loss * loss * sharing->sd * sharing->sd / sharing->n :
		       0;
}

/* Suggest to measure the victim under the level that matters most. */
static void suggest_curve(struct next_task *task, struct np_prediction *out)
{
	double sum;

	out->more = NP_MORE_CURVE;
	resample(task, true);
	out->more_level = most_explaining(task, true, &sum);
}

/*
 * Suggest to measure the co-runner, or the fabric if the levels account for
 * less than half of the variance.
 */
static void suggest_co(struct next_task *task, double var,
		       struct np_prediction *out)
{
	double sum;
	size_t level;

	resample(task, false);
	if (task->predictor->model->required & NP_DATA_LATENCY) {
		out->more = NP_MORE_LATENCY;
		return;
	}
	level = most_explaining(task, false, &sum);
	out->more = sum < var / 2 ? NP_MORE_CALIBRATION : NP_MORE_IMPACT;
	out->more_level = level;
}

/* Set out->more in a prediction that is otherwise complete. */
static void suggest(struct np_predictor *predictor,
		    const struct np_prepared *victim,
		    const struct np_prepared *co, size_t n_co,
		    enum np_scope scope, struct np_prediction *out)
{
	struct next_task task = { predictor,
				  victim,
				  co,
				  n_co,
				  predictor->opt.replicates,
				  predictor->predictions };
	unsigned flags = co->term[NP_CO].flags;
	double curve, impact, model, k;
	size_t like;

	if (!(predictor->model->required & NP_DATA_CURVE))
		return;
	like = nearest_level(&task, false);
	curve = resample(&task, true);
	impact = resample(&task, false);
	model = mean_squared_error(&co->term[NP_CO], &victim->term[NP_VICTIM]);
	k = sharing_var(predictor, scope,
			prepared_combine(predictor, victim, 0, co, 0, n_co,
					 &flags));
	if (!victim->bootstrap.has_curve[like]) {
		out->more = NP_MORE_CURVE;
		out->more_level = like;
	} else if (k > fmax(curve, fmax(impact, model))) {
		out->more = NP_MORE_SHARING;
	} else if (model > fmax(curve, impact)) {
		out->more = NP_MORE_LEVELS;
		out->more_level = nearest_level(&task, true);
	} else if (curve >= impact) {
		suggest_curve(&task, out);
	} else {
		suggest_co(&task, impact, out);
	}
}

/*
 * May two programs share a switch? They do not if they are known to load
 * different rails.
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

/* Predictions of many pairs, which use the same terms of programs. */

/*
 * Number of co-runners that are processed together. Their terms stay in the
 * processor's cache while the terms of each victim are read once.
 */
#define BLOCK 8

struct matrix_task {
	struct np_predictor *predictor;
	const struct np_program *const *app;
	size_t n;
	enum np_scope scope;
	bool around; /* only pairs that include app[0] */
	bool fell_back;
	bool left;     /* some pairs lack data for this model: use a fallback */
	size_t *order; /* order in which programs are processed */
	bool *known;   /* by program: levels in its curve, then in its impact */
	struct np_prediction *out;
	int *rc;
};

/* Return the index of the result for program v under program c. */
static size_t result_index(const struct matrix_task *task, size_t v, size_t c)
{
	return task->around && v ? task->n - 1 + v : v * task->n + c;
}

static size_t count_results(const struct matrix_task *task)
{
	return task->around ? 2 * task->n - 1 : task->n * task->n;
}

/*
 * The flags of a fallback's prediction. A model that knows the co-runner by its
 * latencies only is far worse than those that it replaces
 * (doc/validation/accuracy.md, "Predictions from latencies alone").
 */
static unsigned fallback_flags(const struct np_model *model)
{
	return NP_PRED_FELL_BACK |
	       (model->required & NP_DATA_IMPACT ? 0 : NP_PRED_LATENCIES);
}

/* Record the result of one pair. Returns 0 or -ENOMEM. */
static int matrix_record(struct matrix_task *task, size_t at, int rc)
{
	if (!rc && task->fell_back)
		task->out[at].flags |= fallback_flags(task->out[at].model);
	task->left |= rc == -ENODATA;
	task->rc[at] = rc;
	return rc == -ENOMEM ? rc : 0;
}

/*
 * Predict one pair, unless that was done before; and also the reverse pair, if
 * the model can predict both at once. Returns 0 or -ENOMEM.
 */
static int matrix_pair(struct matrix_task *task, size_t v,
		       struct np_prepared *victim, size_t c,
		       struct np_prepared *co)
{
	size_t at = result_index(task, v, c), back = result_index(task, c, v);
	struct np_prediction *const out[2] = { &task->out[at],
					       &task->out[back] };
	int rc[2];

	if (task->rc[at] != -ENODATA)
		return 0;
	if (v == c ||
	    !prepared_both(task->predictor, victim, co, task->scope, out, rc))
		return matrix_record(task, at,
				     prepared_pair(task->predictor, victim, co,
						   1, task->scope, out[0],
						   NULL));
	matrix_record(task, at, rc[0]);
	return matrix_record(task, back, rc[1]);
}

/*
 * Order programs by the levels they were measured with. Terms can be used
 * again only with the same levels, so such programs are processed one after the
 * other.
 */
static int by_levels(const void *x, const void *y, void *arg)
{
	const struct matrix_task *task = arg;
	size_t i = *(const size_t *)x, j = *(const size_t *)y;
	size_t n = 2 * task->predictor->n;
	int diff = memcmp(task->known + i * n, task->known + j * n, n);

	return diff ? diff : (i > j) - (i < j);
}

static void mark_known(const struct np_mean *mean, size_t n, bool *known)
{
	for (size_t i = 0; mean && i < n; i++)
		known[i] = np_mean_known(&mean[i]);
}

static int make_order(struct matrix_task *task)
{
	size_t n = task->predictor->n;

	task->order = malloc(task->n * sizeof(*task->order));
	task->known = calloc(2 * n * task->n + 1, sizeof(*task->known));
	if (!task->order || !task->known)
		return -ENOMEM;
	for (size_t i = 0; i < task->n; i++) {
		task->order[i] = i;
		mark_known(task->app[i]->curve, n, task->known + 2 * n * i);
		mark_known(task->app[i]->impact, n,
			   task->known + 2 * n * i + n);
	}
	qsort_r(task->order, task->n, sizeof(*task->order), by_levels, task);
	return 0;
}

/* Does a pair with program i have no prediction yet? */
static bool is_pending(const struct matrix_task *task, size_t i)
{
	for (size_t j = 0; j < task->n; j++)
		if (task->rc[result_index(task, i, j)] == -ENODATA ||
		    task->rc[result_index(task, j, i)] == -ENODATA)
			return true;
	return false;
}

static int matrix_pass(struct matrix_task *task, struct np_prepared *prepared,
		       struct np_err *err)
{
	const size_t *order = task->order;
	int rc = 0;

	for (size_t i = 0; !rc && i < task->n; i++)
		if (is_pending(task, i))
			rc = prepared_init(task->predictor, task->app[i],
					   &prepared[i], err);
	for (size_t from = 0; !rc && from < task->n; from += BLOCK) {
		size_t n = from + BLOCK < task->n ? BLOCK : task->n - from;

		for (size_t at = 0; !rc && at < task->n * n; at++) {
			size_t v = order[at / n], c = order[from + at % n];

			rc = matrix_pair(task, v, &prepared[v], c,
					 &prepared[c]);
		}
		for (size_t k = from; k < from + n;
		     k++) /* not needed any more */
			term_free(&prepared[order[k]], NP_CO);
	}
	return rc;
}

/* Predict the pairs with app[0], with one of the other programs at a time. */
static int around_pass(struct matrix_task *task, struct np_prepared *prepared,
		       struct np_err *err)
{
	struct np_prepared *first = &prepared[0], *other = &prepared[1];
	int rc = prepared_init(task->predictor, task->app[0], first, err);

	if (!rc)
		rc = matrix_pair(task, 0, first, 0, first);
	for (size_t k = 0; !rc && k < task->n; k++) {
		size_t i = task->order[k];

		if (!i || (task->rc[result_index(task, 0, i)] != -ENODATA &&
			   task->rc[result_index(task, i, 0)] != -ENODATA))
			continue;
		rc = prepared_init(task->predictor, task->app[i], other, err);
		if (!rc)
			rc = matrix_pair(task, 0, first, i, other);
		if (!rc)
			rc = matrix_pair(task, i, other, 0, first);
		prepared_free(other);
	}
	return rc;
}

static int predict_pass(struct matrix_task *task, struct np_err *err)
{
	size_t n = task->around ? 2 : task->n;
	struct np_prepared *prepared = calloc(n, sizeof(*prepared));
	int rc = -ENOMEM;

	if (prepared)
		rc = task->around ? around_pass(task, prepared, err) :
				    matrix_pass(task, prepared, err);
	for (size_t i = 0; prepared && i < n; i++)
		prepared_free(&prepared[i]);
	free(prepared);
	return rc;
}

/* Predict with the model, and the pairs that are left with its fallbacks. */
static int matrix_predict(struct matrix_task *task, struct np_err *err)
{
	int rc = predict_pass(task, err);

	while (!rc && task->left) {
		struct np_predictor *other;

		rc = predictor_fallback(task->predictor, &other, err);
		if (rc || !other)
			return rc;
		task->predictor = other;
		task->fell_back = true;
		task->left = false;
		rc = predict_pass(task, err);
	}
	return rc;
}

static int check_and_predict(struct matrix_task *task, struct np_err *err)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < task->n; i++)
		rc = np_program_check(task->app[i], task->predictor->measured,
				      err);
	if (!rc)
		rc = make_order(task);
	if (!rc)
		rc = matrix_predict(task, err);
	free(task->order);
	free(task->known);
	return rc == -ENOMEM ?
		       np_errf(err, rc,
			       "no memory for the pairs of %zu programs",
			       task->n) :
		       rc;
}

/* Predict for no co-runners on the victim's rails: a certain slowdown of 0. */
static void set_unaffected(const struct np_predictor *predictor,
			   struct np_prediction *out)
{
	*out = (struct np_prediction){ .model = predictor->model,
				       .sharing = 1 };
}

static int matrix_prediction(struct matrix_task *task, struct np_err *err)
{
	if (!task->n)
		return 0;
	for (size_t i = 0; i < count_results(task); i++) {
		task->out[i] = (struct np_prediction){
			.slowdown = NAN,
			.low = NAN,
			.high = NAN,
		};
		task->rc[i] = -ENODATA;
	}
	for (size_t v = 0; v < task->n; v++)
		for (size_t c = 0; c < task->n; c++)
			if ((!task->around || !v || !c) &&
			    !share_rail(task->app[v], task->app[c])) {
				set_unaffected(
					task->predictor,
					&task->out[result_index(task, v, c)]);
				task->out[result_index(task, v, c)].flags =
					NP_PRED_OTHER_RAIL;
				task->rc[result_index(task, v, c)] = 0;
			}
	return check_and_predict(task, err);
}

int np_predict_matrix(struct np_predictor *predictor,
		      const struct np_program *const *app, size_t n,
		      enum np_scope scope, struct np_prediction *out, int *rc,
		      struct np_err *err)
{
	struct matrix_task task = { predictor,	     app,	 n,	  scope,
				    .around = false, .out = out, .rc = rc };

	return matrix_prediction(&task, err);
}

int np_predict_around(struct np_predictor *predictor,
		      const struct np_program *const *app, size_t n,
		      enum np_scope scope, struct np_prediction *out, int *rc,
		      struct np_err *err)
{
	struct matrix_task task = { predictor,	    app,	n,	 scope,
				    .around = true, .out = out, .rc = rc };

	return matrix_prediction(&task, err);
}

/* Combine all co-runners into one program. */
static int sum_co_runners(struct np_predictor *predictor,
			  struct np_prepared *one, size_t n_co,
			  struct np_program *app, struct np_prepared *sum,
			  struct np_err *err)
{
	const struct np_bootstrap_program *bootstrap[n_co];
	int rc;

	*app = *one[0].app;
	for (size_t i = 0; i < n_co; i++) {
		rc = prepared_sample(predictor, &one[i], err);
		if (rc)
			return rc;
		bootstrap[i] = &one[i].bootstrap;
		if (one[i].app->latency.all.n < app->latency.all.n)
			*app = *one[i].app;
	}
	*sum = (struct np_prepared){ .app = app };
	return bootstrap_sum(bootstrap, n_co, &predictor->fabric,
			     &sum->bootstrap, err);
}

/* Find the co-runner with the fewest measurements of the kind in out->more. */
static size_t least_known(const struct np_prepared *one, size_t n_co,
			  const struct np_prediction *out)
{
	uint64_t least = UINT64_MAX;
	size_t at = 0;

	for (size_t c = 0; c < n_co; c++) {
		const struct np_program *program = one[c].app;
		uint64_t n = out->more == NP_MORE_LATENCY ?
				     program->latency.all.n :
				     program->impact[out->more_level].n;

		if (n < least) {
			least = n;
			at = c;
		}
	}
	return at;
}

static int predict_prepared(struct np_predictor *predictor,
			    struct np_prepared *victim, struct np_prepared *co,
			    size_t n_co, enum np_scope scope,
			    struct np_prediction *out, struct np_err *err)
{
	struct np_prepared sum = { 0 };
	struct np_program app;
	int rc = 0;

	if (n_co > 1)
		rc = sum_co_runners(predictor, co, n_co, &app, &sum, err);
	if (!rc)
		rc = prepared_pair(predictor, victim, n_co > 1 ? &sum : co,
				   n_co, scope, out, err);
	if (!rc && predictor->opt.replicates)
		suggest(predictor, victim, n_co > 1 ? &sum : co, n_co, scope,
			out);
	if (!rc &&
	    (out->more == NP_MORE_LATENCY || out->more == NP_MORE_IMPACT))
		out->more_co = least_known(co, n_co, out);
	prepared_free(&sum);
	return rc;
}

static int check_all(const struct np_predictor *predictor,
		     const struct np_program *victim,
		     const struct np_program *const *co, size_t n_co,
		     struct np_err *err)
{
	int rc = np_program_check(victim, predictor->measured, err);

	for (size_t i = 0; !rc && i < n_co; i++)
		rc = np_program_check(co[i], predictor->measured, err);
	return rc;
}

/* Predict with this model only, without its fallback. */
static int predict_one(struct np_predictor *predictor,
		       const struct np_program *victim,
		       const struct np_program *const *co, size_t n_co,
		       enum np_scope scope, struct np_prediction *out,
		       struct np_err *err)
{
	struct np_prepared *prepared = calloc(n_co, sizeof(*prepared));
	struct np_prepared victim_prepared = { 0 };
	int rc;

	if (!prepared)
		return np_errf(err, -ENOMEM, "no memory for %zu co-runners",
			       n_co);
	rc = check_all(predictor, victim, co, n_co, err);
	if (!rc)
		rc = prepared_init(predictor, victim, &victim_prepared, err);
	for (size_t i = 0; !rc && i < n_co; i++)
		rc = prepared_init(predictor, co[i], &prepared[i], err);
	if (!rc)
		rc = predict_prepared(predictor, &victim_prepared, prepared,
				      n_co, scope, out, err);
	for (size_t i = 0; i < n_co; i++)
		cache_program(predictor, &prepared[i]);
	cache_program(predictor, &victim_prepared);
	free(prepared);
	return rc;
}

/*
 * Complete the prediction of a fallback: set its flag, and in out->more the
 * measurement that the preferred model lacks.
 */
static void explain_fallback(const struct np_predictor *predictor,
			     const struct np_program *victim,
			     const struct np_program *const *co, size_t n_co,
			     struct np_prediction *out)
{
	out->flags |= fallback_flags(out->model);
	if (!(predictor->fabric.has & NP_DATA_LEVEL_PAIRS)) {
		out->more = NP_MORE_CALIBRATION;
		return;
	}
	for (size_t c = 0; c < n_co; c++)
		for (size_t i = 0; i < predictor->n; i++) {
			if (co[c]->impact && co[c]->impact[i].n)
				continue;
			out->more = NP_MORE_IMPACT;
			out->more_co = c;
			out->more_level = i;
			return;
		}
	for (size_t i = 0; predictor->model->required & NP_DATA_OWN_IMPACT &&
			   i < predictor->n;
	     i++)
		if (!victim->impact || !victim->impact[i].n) {
			/* A run under the level measures curve and impact. */
			out->more = NP_MORE_CURVE;
			out->more_level = i;
			return;
		}
	/* Without a run alone, runs under levels do not make a curve. */
	if (predictor->model->required & NP_DATA_CO_CURVE) {
		out->more = NP_MORE_LATENCY;
		out->more_co = 0;
		for (size_t c = 0; c < n_co; c++)
			if (!co[c]->curve)
				out->more_co = c;
	}
}

/* Predict with this model or a fallback, without regard to rails. */
static int predict_any(struct np_predictor *predictor,
		       const struct np_program *victim,
		       const struct np_program *const *co, size_t n_co,
		       enum np_scope scope, struct np_prediction *out,
		       struct np_err *err)
{
	struct np_predictor *other;
	int rc = predict_one(predictor, victim, co, n_co, scope, out, err), rc2;

	if (rc != -ENODATA)
		return rc;
	rc2 = predictor_fallback(predictor, &other, err);
	if (rc2)
		return rc2;
	if (other) {
		rc = predict_any(other, victim, co, n_co, scope, out, err);
		if (!rc)
			explain_fallback(predictor, victim, co, n_co, out);
	}
	return rc;
}

/* The co-runners that load a rail, or one of the rails of a program. */
struct on_rail {
	const struct np_program **co;
	size_t *at; /* index among all co-runners */
	size_t n;
};

static void find_on_rail(struct on_rail *on_rail, const struct np_program *like,
			 const struct np_program *const *co, size_t n_co)
{
	on_rail->n = 0;
	for (size_t i = 0; i < n_co; i++) {
		if (!share_rail(like, co[i]))
			continue;
		on_rail->co[on_rail->n] = co[i];
		on_rail->at[on_rail->n++] = i;
	}
}

/*
 * Predict for the co-runners on a rail, and keep the prediction if it is the
 * largest so far.
 */
static int predict_rail(struct np_predictor *predictor,
			const struct np_program *victim,
			const struct on_rail *on_rail, enum np_scope scope,
			struct np_prediction *out, struct np_err *err)
{
	struct np_prediction got;
	int rc = predict_any(predictor, victim, on_rail->co, on_rail->n, scope,
			     &got, err);

	if (rc)
		return rc;
	if (got.more == NP_MORE_LATENCY || got.more == NP_MORE_IMPACT)
		got.more_co = on_rail->at[got.more_co];
	if (got.slowdown > out->slowdown)
		*out = got;
	return 0;
}

/*
 * Find the largest prediction over the victim's rails. If the same co-runners
 * load all of them, for example because rails are not known, it is predicted
 * only once.
 */
static int predict_rails(struct np_predictor *predictor,
			 const struct np_program *victim,
			 const struct np_program *const *co, size_t n_co,
			 struct on_rail *on_rail, enum np_scope scope,
			 struct np_prediction *out, struct np_err *err)
{
	const char *at = victim->rails ? victim->rails : "";
	size_t n_all;
	bool all = false;
	int rc = 0;

	find_on_rail(on_rail, victim, co, n_co);
	n_all = on_rail->n;
	set_unaffected(predictor, out);
	out->slowdown = -INFINITY;
	for (size_t len; !rc && n_all; at += len + 1) {
		char name[NP_RAIL_NAME + 1] = "";
		struct np_program rail = { .rails = *at ? name : NULL };

		len = strcspn(at, ",");
		snprintf(name, sizeof(name), "%.*s", (int)len, at);
		find_on_rail(on_rail, &rail, co, n_co);
		if (on_rail->n && !(on_rail->n == n_all && all))
			rc = predict_rail(predictor, victim, on_rail, scope,
					  out, err);
		all |= on_rail->n == n_all;
		if (!at[len])
			break;
	}
	if (!n_all)
		set_unaffected(predictor, out);
	if (n_all < n_co)
		out->flags |= NP_PRED_OTHER_RAIL;
	return rc;
}

int np_predict(struct np_predictor *predictor, const struct np_program *victim,
	       const struct np_program *const *co, size_t n_co,
	       enum np_scope scope, struct np_prediction *out,
	       struct np_err *err)
{
	const struct np_program *of[n_co + 1];
	size_t at[n_co + 1];
	struct on_rail on_rail = { .co = of, .at = at };
	struct np_prediction got;
	int rc = predict_rails(predictor, victim, co, n_co, &on_rail, scope,
			       &got, err);

	if (!rc)
		*out = got;
	return rc;
}
