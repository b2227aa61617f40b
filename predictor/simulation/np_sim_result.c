#include "np_sim_result.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "np_array.h"
#include "np_rng.h"

#define REPLICATES 1000 /* bootstrap samples */

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* Whether a job has run to its end. */
static bool has_ended(const struct np_sim_outcome *f)
{
	return f->start_sec >= 0 && f->end_sec >= 0;
}

/* Wait from when it was eligible, seconds. */
static double wait_sec(const struct np_sim_outcome *f)
{
	return (double)(f->start_sec - f->eligible_sec);
}

/*
 * Run time lost to interference: what the run took longer than alone. A job
 * that was ended by its time limit has lost only up to that limit.
 */
static double lost_sec(const struct np_sim_job *j, const struct np_sim_outcome *f)
{
	double ran = (double)(f->end_sec - f->start_sec);

	return f->slowed && ran > j->run_sec ? ran - j->run_sec : 0;
}

/* Add a job that ended to the summary. */
static void add_job(struct np_sim_summary *s, const struct np_sim_job *j,
		    const struct np_sim_outcome *f)
{
	double ran = (double)(f->end_sec - f->start_sec);
	double alone = j->run_sec > NP_SIM_SHORT_SEC ? j->run_sec :
						       NP_SIM_SHORT_SEC;

	s->ended++;
	s->slowdown_mean += fmax(1, (wait_sec(f) + ran) / alone);
	s->used_node_sec += j->nodes * ran;
	s->lost_node_sec += j->nodes * lost_sec(j, f);
	s->limits += f->limit && f->slowed && j->run_sec < j->limit_sec;
	s->slowed += f->slowed;
}

/* Add what placement did to a job. */
static void add_hold(struct np_sim_summary *s, const struct np_sim_outcome *f)
{
	s->confined += f->confined;
	s->held += f->held_sec > 0;
	s->held_long += f->held_sec > NP_SIM_LONG_HOLD_SEC;
	s->let_go += f->let_go;
	s->held_longest_sec = fmax(s->held_longest_sec, f->held_sec);
}

/* Quantile of sorted values: the nearest of them. */
static double quantile(const double *sorted, size_t n, double q)
{
	return n ? sorted[(size_t)(q * (double)(n - 1) + .5)] : 0;
}

int np_sim_summarise(const struct np_sim_input *ask,
		     const struct np_sim_outcome *fate,
		     const struct np_sim_counts *counts,
		     struct np_sim_summary *out)
{
	double *wait = malloc((ask->n + 1) * sizeof(*wait)), sum = 0;
	struct np_sim_summary s = {
		.jobs = ask->n, .decisions = counts->decisions,
		.main_starts = counts->main_starts,
		.backfill_starts = counts->backfill_starts,
		.makespan_sec = (double)(counts->last_sec - counts->first_sec),
	};

	if (!wait)
		return -ENOMEM;
	for (size_t i = 0; i < ask->n; i++) {
		const struct np_sim_outcome *f = &fate[i];

		s.cancelled += f->how == NP_SIM_CANCELLED;
		s.too_large += f->how == NP_SIM_TOO_LARGE;
		add_hold(&s, f);
		if (f->start_sec < 0)
			continue;
		wait[s.started++] = wait_sec(f);
		sum += wait_sec(f);
		if (has_ended(f))
			add_job(&s, &ask->job[i], f);
	}
	qsort(wait, s.started, sizeof(*wait), by_value);
	s.wait_mean_sec = s.started ? sum / (double)s.started : 0;
	s.wait_median_sec = quantile(wait, s.started, .5);
	s.wait_p95_sec = quantile(wait, s.started, .95);
	s.slowdown_mean = s.ended ? s.slowdown_mean / (double)s.ended : 0;
	s.utilisation = s.makespan_sec > 0 ? s.used_node_sec / s.makespan_sec /
		(double)ask->cluster->leaves->n_nodes : 0;
	free(wait);
	*out = s;
	return 0;
}

int np_sim_compare(const struct np_sim_input *ask,
		   const struct np_sim_outcome *without,
		   const struct np_sim_outcome *with, struct np_sim_units *units)
{
	int64_t first = ask->n ? ask->job[0].submit_sec : 0;
	int64_t last = ask->n ? ask->job[ask->n - 1].submit_sec : 0;
	size_t weeks = (size_t)((last - first) / NP_SIM_WEEK_SEC) + 1;
	struct np_sim_unit *u;

	if (units->n + weeks > NP_SIM_MAX_UNITS)
		weeks = 1;
	if (np_array_resize(&units->at, units->n + weeks, sizeof(*u)))
		return -ENOMEM;
	u = units->at + units->n;
	units->n += weeks;
	for (size_t i = 0; i < weeks; i++)
		u[i] = (struct np_sim_unit){ .jobs = 0 };
	for (size_t i = 0; i < ask->n; i++) {
		const struct np_sim_job *j = &ask->job[i];
		size_t week = (size_t)((j->submit_sec - first) /
				       NP_SIM_WEEK_SEC);
		struct np_sim_unit *w = &u[week < weeks ? week : 0];

		if (!has_ended(&without[i]) || !has_ended(&with[i]))
			continue;
		w->jobs++;
		w->used += j->nodes * (double)(without[i].end_sec -
					       without[i].start_sec);
		w->lost_without += j->nodes * lost_sec(j, &without[i]);
		w->lost_with += j->nodes * lost_sec(j, &with[i]);
		w->wait_without += wait_sec(&without[i]);
		w->wait_with += wait_sec(&with[i]);
	}
	return 0;
}

/* Add the sums of one week to others. */
static void add(struct np_sim_unit *to, const struct np_sim_unit *u)
{
	to->used += u->used;
	to->lost_without += u->lost_without;
	to->lost_with += u->lost_with;
	to->wait_without += u->wait_without;
	to->wait_with += u->wait_with;
	to->jobs += u->jobs;
}

/* Node-seconds no longer lost, relative to those used without the policy. */
static double recovered(const struct np_sim_unit *u)
{
	return u->used > 0 ? (u->lost_without - u->lost_with) / u->used : 0;
}

/* Relative change of the total wait. */
static double delay(const struct np_sim_unit *u)
{
	return u->wait_without > 0 ?
		u->wait_with / u->wait_without - 1 : 0;
}

int np_sim_gain(const struct np_sim_units *units, struct np_sim_gain *out)
{
	struct np_rng *rng = np_rng_new(1, "weeks");
	double *a = malloc(2 * REPLICATES * sizeof(*a)), *b = a + REPLICATES;
	struct np_sim_unit all = { .jobs = 0 };
	struct np_sim_gain g;

	if (!rng || !a) {
		np_rng_free(rng);
		free(a);
		return -ENOMEM;
	}
	for (size_t i = 0; i < units->n; i++)
		add(&all, &units->at[i]);
	for (int r = 0; r < REPLICATES; r++) {
		struct np_sim_unit u = { .jobs = 0 };

		for (size_t i = 0; i < units->n; i++)
			add(&u, &units->at[np_rng_below(rng, units->n)]);
		a[r] = recovered(&u);
		b[r] = delay(&u);
	}
	qsort(a, REPLICATES, sizeof(*a), by_value);
	qsort(b, REPLICATES, sizeof(*b), by_value);
	g.recovered = (struct np_sim_share){ recovered(&all), NAN, NAN };
	g.delay = (struct np_sim_share){ delay(&all), NAN, NAN };
	if (units->n > 1) {
		g.recovered.low = quantile(a, REPLICATES, .025);
		g.recovered.high = quantile(a, REPLICATES, .975);
		g.delay.low = quantile(b, REPLICATES, .025);
		g.delay.high = quantile(b, REPLICATES, .975);
	}
	g.wait_change_sec = all.jobs > 0 ?
		(all.wait_with - all.wait_without) / all.jobs : 0;
	np_rng_free(rng);
	free(a);
	*out = g;
	return 0;
}
