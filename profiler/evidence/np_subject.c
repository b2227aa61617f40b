#include "np_subject.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "np_noise.h"
#include "np_profile.h"

const char *np_subject_why(enum np_subject_use use)
{
	static const char *const why[] = {
		[NP_SUBJECT_ALONE] = "alone",
		[NP_SUBJECT_BESIDE] = "beside a level",
		[NP_SUBJECT_FABRIC] = "on another fabric",
		[NP_SUBJECT_FAILED] = "failed",
		[NP_SUBJECT_NEIGHBOURS] = "beside other jobs",
		[NP_SUBJECT_SCOPE] = "with the level at another scope",
		[NP_SUBJECT_LEVEL] = "beside a level not calibrated",
		[NP_SUBJECT_WORKLOAD] = "of another workload",
	};

	return why[use];
}

/* A name or size that one side does not say is taken for the same. */
static bool other_text(const char *a, const char *b)
{
	return a && b && *a && *b && strcmp(a, b);
}

static bool other_fabric(const struct np_record *r,
			 const struct np_calibration *c)
{
	return other_text(r->cluster, c->cluster) ||
	       other_text(r->probe.transport, c->transport) ||
	       (c->message_bytes && r->probe.message_bytes &&
		r->probe.message_bytes != c->message_bytes);
}

/* Index of the run's level in the calibration; n_levels: not there. */
static size_t level_of(const struct np_record *r,
		       const struct np_calibration *c)
{
	size_t i = 0;

	while (i < c->fabric->n_levels &&
	       strcmp(c->fabric->level[i].name, r->level->name))
		i++;
	return i;
}

/* What the run is good for, whatever its workload. */
static enum np_subject_use use_of(const struct np_record *r,
				  const struct np_calibration *c)
{
	if (other_fabric(r, c))
		return NP_SUBJECT_FABRIC;
	/* Where srun's exit code is known, so is the program's end, even if
	 * the probes were cut. */
	if (r->state == NP_RUN_RUNNING || r->exit_code != 0 ||
	    np_record_run_sec(r) <= 0)
		return NP_SUBJECT_FAILED;
	if (np_run_has_neighbours(r))
		return NP_SUBJECT_NEIGHBOURS;
	if (!r->fingerprint)
		return NP_SUBJECT_WORKLOAD;
	if (!r->level)
		return NP_SUBJECT_ALONE;
	if (strcmp(r->level->scope, c->scope_name))
		return NP_SUBJECT_SCOPE;
	return level_of(r, c) < c->fabric->n_levels ? NP_SUBJECT_BESIDE :
						      NP_SUBJECT_LEVEL;
}

static bool is_used(enum np_subject_use use)
{
	return use <= NP_SUBJECT_BESIDE;
}

/* One workload among the usable runs. */
struct workload {
	const char *fingerprint;
	size_t n_levels, n_runs;
};

static struct workload measure(const struct np_runs *runs,
			       const struct np_calibration *c,
			       const enum np_subject_use *use,
			       const char *fingerprint)
{
	struct workload w = { .fingerprint = fingerprint };
	bool seen[NP_FABRIC_MAX_LEVELS] = { false };

	for (size_t i = 0; i < runs->n; i++) {
		const struct np_record *r = runs->run[i];
		size_t level;

		if (!is_used(use[i]) || strcmp(r->fingerprint, fingerprint))
			continue;
		w.n_runs++;
		if (use[i] != NP_SUBJECT_BESIDE)
			continue;
		level = level_of(r, c);
		w.n_levels += !seen[level];
		seen[level] = true;
	}
	return w;
}

/* Runs are newest first, so that of equals the newest stays. */
static void choose_workload(struct np_subject *s, const struct np_runs *runs,
			    const struct np_calibration *c)
{
	struct workload best = { 0 };

	for (size_t i = 0; i < runs->n; i++) {
		struct workload w;
		size_t k = 0;

		if (!is_used(s->use[i]))
			continue;
		while (k < i && !(is_used(s->use[k]) &&
				  !strcmp(runs->run[k]->fingerprint,
					  runs->run[i]->fingerprint)))
			k++;
		if (k < i)
			continue; /* measured already */
		w = measure(runs, c, s->use, runs->run[i]->fingerprint);
		if (w.n_levels > best.n_levels ||
		    (w.n_levels == best.n_levels && w.n_runs > best.n_runs))
			best = w;
	}
	s->fingerprint = best.fingerprint;
	for (size_t i = 0; i < runs->n; i++)
		if (is_used(s->use[i]) &&
		    strcmp(runs->run[i]->fingerprint, s->fingerprint))
			s->use[i] = NP_SUBJECT_WORKLOAD;
}

static struct np_mean mean_of(const struct np_moments *m)
{
	return (struct np_mean){
		.n = (uint32_t)m->n, .mean = m->mean,
		.sd = m->n > 1 ? np_moments_sd(m) : NAN,
	};
}

/* Relative variance of one run time; NAN: not repeated. */
static double scatter(const struct np_moments *m)
{
	return m->n > 1 ? np_moments_var(m) / (m->mean * m->mean) : NAN;
}

/*
 * sd of one slowdown.  That of the mean is to come out as sd / sqrt(n), hence
 * the weight of the time alone, which all n runs share.  Where one of the two
 * was not repeated, it is taken to scatter as the other does.
 */
static double slowdown_sd(const struct np_moments *alone,
			  const struct np_moments *beside)
{
	double a = scatter(alone), b = scatter(beside), n = (double)beside->n;

	if (isnan(a))
		a = b;
	if (isnan(b))
		b = a;
	return beside->mean / alone->mean *
	       sqrt(b + a * n / (double)alone->n);
}

static struct np_mean slowdown(const struct np_moments *alone,
			       const struct np_moments *beside)
{
	if (!alone->n || !beside->n)
		return (struct np_mean){ 0 };
	return (struct np_mean){
		.n = (uint32_t)beside->n,
		.mean = beside->mean / alone->mean - 1,
		.sd = beside->n > 1 ? slowdown_sd(alone, beside) : NAN,
	};
}

/* Run times alone and per level, and what the levels' rounds say. */
struct times {
	struct np_moments alone, *beside, *pressure;
};

static void add_times(const struct np_subject *s, const struct np_runs *runs,
		      const struct np_calibration *c, struct times *t)
{
	for (size_t i = 0; i < runs->n; i++) {
		const struct np_record *r = runs->run[i];
		const struct np_level_run *l = r->level;
		size_t level;

		if (s->use[i] == NP_SUBJECT_ALONE)
			np_moments_add(&t->alone, np_record_run_sec(r));
		if (s->use[i] != NP_SUBJECT_BESIDE)
			continue;
		level = level_of(r, c);
		np_moments_add(&t->beside[level], np_record_run_sec(r));
		if (l->alone_round_sec.n && l->beside_round_sec.n &&
		    l->alone_round_sec.mean > 0 && l->beside_round_sec.mean > 0)
			np_moments_add(&t->pressure[level],
				       l->beside_round_sec.mean /
				       l->alone_round_sec.mean - 1);
	}
}

static int fill_curve(struct np_subject *s, const struct np_runs *runs,
		      const struct np_calibration *c)
{
	size_t n = c->fabric->n_levels;
	struct np_moments *m = calloc(2 * n + 1, sizeof(*m));
	struct times t = { .beside = m, .pressure = m + n };

	s->mean = calloc(2 * n + 1, sizeof(*s->mean));
	if (!m || !s->mean) {
		free(m);
		return -ENOMEM;
	}
	add_times(s, runs, c, &t);
	s->alone_sec = mean_of(&t.alone);
	for (size_t i = 0; i < n; i++) {
		s->mean[i] = slowdown(&t.alone, &t.beside[i]);
		s->mean[n + i] = mean_of(&t.pressure[i]);
		s->n_curve += np_mean_known(&s->mean[i]);
		s->n_pressure += np_mean_known(&s->mean[n + i]);
	}
	free(m);
	s->noise = np_noise_pooled(s->mean, n);
	if (s->n_curve)
		s->program.curve = s->mean;
	if (s->n_pressure)
		s->program.pressure = s->mean + n;
	return 0;
}

static bool same_period(const struct np_record *r,
			const struct np_calibration *c)
{
	double x = r->probe.period_sec, y = c->period_sec;

	return !(y > 0) || fabs(x - y) <= 1e-3 * fmax(x, y);
}

/* Add a run's latencies, with counts where the bins are those of a record. */
static void add_latency(struct np_subject *s, const struct np_record *r,
			bool own_bins)
{
	for (size_t i = 0; i < r->n_leaves; i++) {
		const struct np_leaf_run *l = &r->leaves[i];

		np_moments_merge(&s->program.latency.all, &l->latency);
		for (size_t b = 0; own_bins && l->hist && b < NP_HIST_BINS; b++)
			s->bin_count[b] += (double)np_hist_count(l->hist, b);
	}
}

/* The longest run over time. */
static int fill_windows(struct np_subject *s, const struct np_record *r)
{
	struct np_series *w = np_run_windows(r);
	size_t n = 0;

	if (!w)
		return 0;
	s->window = calloc(w->n + 1, sizeof(*s->window));
	for (size_t i = 0; s->window && i < w->n; i++)
		if (w->w[i].n)
			s->window[n++] = w->w[i];
	free(w);
	s->program.window = s->window;
	s->program.n_windows = n;
	return s->window ? 0 : -ENOMEM;
}

/*
 * A processor that sleeps longer between probes wakes up later, so that
 * latencies are comparable at one period.
 */
static int fill_latency(struct np_subject *s, const struct np_runs *runs,
			const struct np_calibration *c)
{
	bool own_bins = np_bins_equal(c->fabric->bins, np_bins_own());
	const struct np_record *longest = NULL;
	struct np_moments means = { 0 };
	bool any = false;

	s->bin_count = calloc(NP_HIST_BINS, sizeof(*s->bin_count));
	if (!s->bin_count)
		return -ENOMEM;
	for (size_t i = 0; i < runs->n; i++)
		any |= s->use[i] == NP_SUBJECT_ALONE &&
		       np_run_latency(runs->run[i]).n &&
		       same_period(runs->run[i], c);
	for (size_t i = 0; i < runs->n; i++) {
		const struct np_record *r = runs->run[i];
		struct np_moments all;

		if (s->use[i] != NP_SUBJECT_ALONE ||
		    (any && !same_period(r, c)))
			continue;
		add_latency(s, r, own_bins);
		all = np_run_latency(r);
		if (all.n)
			np_moments_add(&means, all.mean);
		if (!longest ||
		    np_record_run_sec(r) > np_record_run_sec(longest))
			longest = r;
	}
	if (!s->program.latency.all.n)
		return 0;
	s->other_period = !any;
	s->latency_sec = mean_of(&means);
	if (own_bins)
		s->program.latency.count = s->bin_count;
	return fill_windows(s, longest);
}

int np_subject_make(const struct np_runs *runs, const struct np_calibration *c,
		    struct np_subject *out)
{
	struct np_subject s = { .program = { .name = runs->app } };
	int rc;

	s.use = calloc(runs->n + 1, sizeof(*s.use));
	if (!s.use)
		return -ENOMEM;
	for (size_t i = 0; i < runs->n; i++)
		s.use[i] = use_of(runs->run[i], c);
	choose_workload(&s, runs, c);
	for (size_t i = 0; i < runs->n; i++)
		s.count[s.use[i]]++;
	rc = fill_curve(&s, runs, c);
	if (!rc)
		rc = fill_latency(&s, runs, c);
	if (rc)
		np_subject_free(&s);
	else
		*out = s;
	return rc;
}

void np_subject_detach(struct np_subject *s, const char *name)
{
	s->program.name = name;
	s->fingerprint = NULL;
}

bool np_subject_has_data(const struct np_subject *s)
{
	return s->n_curve || s->n_pressure || s->program.latency.all.n;
}

void np_subject_free(struct np_subject *s)
{
	free(s->use);
	free(s->mean);
	free(s->bin_count);
	free(s->window);
	*s = (struct np_subject){ .use = NULL };
}
