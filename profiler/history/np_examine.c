#include "np_examine.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "np_moments.h"

#define LEAST 0.1	 /* quantile of comparable runs: least exposed */
#define FAST 0.2	 /* quantile of run times up to which a run is fast */
#define HARMLESS 0.9	 /* quantile of the waiting of fast runs */
#define UNUSUAL 1.5	 /* factor over the worst comparable run */
#define FAR 3.0		 /* factor over the run's other nodes: one slow node */
#define LEAST_CLOCK 0.03 /* of frequency; less is normal variation */
#define LEAST_SPEED 0.05 /* of a link's speed */
#define ERRORS 100.0	 /* per second: the link is hardly usable */
#define LITTLE 0.1	 /* of the most traffic on a leaf switch: not unusual */
#define LEAST_DISK 1e6	 /* bytes/s; less is not unusual */

/*
 * Prior belief in the cost of a second of exposure. The network has two: by
 * occupied nodes, and by traffic.
 */
static const struct np_blame_prior by_occupation = { 0.1, 0.3 };
static const struct np_blame_prior priors[NP_N_CAUSES] = {
	[NP_CAUSE_NETWORK] = { 0.5, 1.0 }, [NP_CAUSE_LINK] = { 0.4, 0.6 },
	[NP_CAUSE_CPU] = { 0.8, 0.4 },	   [NP_CAUSE_CLOCK] = { 0.7, 0.4 },
	[NP_CAUSE_MEMORY] = { 0.8, 0.5 },  [NP_CAUSE_IO] = { 0.8, 0.5 },
};

/* ---- values of a run ---- */

/* Are lower values of this signal worse? */
static bool is_worse_lower(enum np_signal s)
{
	return s == NP_SIGNAL_CLOCK || s == NP_SIGNAL_LINK_SPEED;
}

bool np_examine_is_near(enum np_signal s)
{
	return s == NP_SIGNAL_CONGESTION || s == NP_SIGNAL_DISK ||
	       s == NP_SIGNAL_NFS_CALLS || s == NP_SIGNAL_LOAD;
}

bool np_examine_is_worse(enum np_signal s, double v, double other)
{
	return !isnan(v) &&
	       (isnan(other) || (is_worse_lower(s) ? v < other : v > other));
}

/* The value of the run's worst node, or of others; NaN: none has a value. */
static double worst_of(const struct np_examine_run *run, bool own,
		       enum np_signal s, uint32_t *node)
{
	double w = NAN;

	for (size_t i = 0; i < run->n; i++) {
		double v = run->node[i].value[s];

		if (s == NP_SIGNAL_CLOCK_SKEW) /* wrong in both directions */
			v = fabs(v);
		if (run->node[i].own != own || !np_examine_is_worse(s, v, w))
			continue;
		w = v;
		if (node)
			*node = run->node[i].node;
	}
	return w;
}

/* The value of the run's worst own node; NaN: none has a value. */
static double worst_node(const struct np_examine_run *run, enum np_signal s,
			 uint32_t *node)
{
	return worst_of(run, true, s, node);
}

/* The mean over the run's own nodes except one. */
static double others_mean(const struct np_examine_run *run, enum np_signal s,
			  uint32_t but)
{
	double sum = 0;
	size_t n = 0;

	for (size_t i = 0; i < run->n; i++)
		if (run->node[i].own && run->node[i].node != but &&
		    !isnan(run->node[i].value[s])) {
			sum += run->node[i].value[s];
			n++;
		}
	return n ? sum / (double)n : NAN;
}

/* ---- traffic ---- */

struct traffic {
	double own, others; /* under the leaf switch where others sent most */
	double most;	    /* largest sum of both under one leaf switch */
};

/* The traffic on the run's leaf switches; false: no value is known. */
static bool traffic_of(const struct np_examine_run *run, struct traffic *out)
{
	bool known = false;

	*out = (struct traffic){ 0 };
	for (size_t i = 0; i < run->n; i++) {
		uint32_t leaf = run->node[i].leaf;
		double own = 0, others = 0;

		/* Visit each leaf switch once, at its first node. */
		for (size_t k = 0; k < run->n; k++) {
			double v = run->node[k].value[NP_SIGNAL_TRAFFIC];

			if (run->node[k].leaf != leaf)
				continue;
			if (k < i) {
				own = NAN;
				break;
			}
			if (isnan(v))
				continue;
			known = true;
			*(run->node[k].own ? &own : &others) += v;
		}
		if (isnan(own))
			continue;
		out->most = fmax(out->most, own + others);
		if (others >= out->others) {
			out->others = others;
			out->own = own;
		}
	}
	return known;
}

/* ---- unusual signals ---- */

bool np_examine_is_unusual(enum np_signal s, const struct np_examine_signal *of,
			   double v)
{
	if (!of->known || isnan(v))
		return false;
	return is_worse_lower(s) ?
		       v < (1 - LEAST_SPEED) * of->usual :
		       v > of->limit && v > UNUSUAL * of->usual &&
			       v > of->usual + 0.5 * (of->most - of->usual);
}

struct work {
	const struct np_examine_run *run;
	size_t n; /* runs, with the one in question, which is last */
	double *sec, *exposure;
	double *value; /* of one quantity, of each run; NaN: not known */
	double usual;  /* median run time of the comparable runs, seconds */
};

/* A quantile of the known values of the comparable runs; their order changes. */
static double quantile_of(const struct work *w, double q)
{
	size_t n = 0;

	for (size_t i = 0; i + 1 < w->n; i++)
		if (!isnan(w->value[i]))
			w->value[n++] = w->value[i];
	return np_quantile(w->value, n, q);
}

/*
 * Compare the value of the run in question with those of the comparable runs,
 * and decide whether it is unusual. limit: smaller values are never unusual.
 */
static void judge(const struct work *w, enum np_signal s, double limit,
		  struct np_examine_signal *out)
{
	out->value = w->value[w->n - 1];
	out->most = NAN;
	for (size_t i = 0; i + 1 < w->n; i++)
		if (np_examine_is_worse(s, w->value[i], out->most))
			out->most = w->value[i];
	out->usual = quantile_of(w, 0.5);
	out->known = !isnan(out->usual) && !isnan(out->value);
	out->limit = limit;
	out->unusual = np_examine_is_unusual(s, out, out->value);
}

/* ---- exposures ---- */

/*
 * An exposure is a share of time, multiplied by the usual run time instead of
 * the run's own: a run that is slow for another reason is exposed to its
 * neighbours for longer, and that must not count against them.
 */

/*
 * Relative cost of waiting for a share of the time: the work has to be done in
 * the rest, so a share of one half doubles the run time.
 */
static double waiting_cost(double share)
{
	double v = fmin(fmax(share, 0), 0.9);

	return v / (1 - v);
}

/* The exposure of a run to a cause, in the matrix of all runs. */
static double *exposure_at(const struct work *w, size_t run, enum np_cause c)
{
	return &w->exposure[run * NP_N_CAUSES + c];
}

/*
 * The share of a run's time in windows with delayed probes; *delayed: the share
 * of all its probes that these are.
 */
static double slow_part(const struct np_examine_probes *p, double *delayed)
{
	size_t slow = 0, n = 0;

	*delayed = 0;
	for (size_t i = 0; i < p->n; i++) {
		n += !isnan(p->window[i]);
		if (!(p->window[i] >= NP_EXAMINE_DELAYED))
			continue;
		*delayed += p->window[i];
		slow++;
	}
	if (!n)
		return 0;
	*delayed /= (double)n;
	return (double)slow / (double)n;
}

/*
 * A run's own probes measured the network that the run used. If they were as
 * fast as in undisturbed runs, the run was not exposed, whatever its neighbours
 * did; if not, it was exposed for at least the share that was delayed. If they
 * were delayed for a part of its time only, it was exposed for that part.
 */
static void weigh_probes(const struct work *w, struct np_examine_result *out)
{
	double share = NAN;

	for (size_t i = 0; i < w->n; i++) {
		const struct np_examine_probes *p = &w->run[i].probes;
		double *x = exposure_at(w, i, NP_CAUSE_NETWORK);

		out->slow_part = slow_part(p, &share);
		out->delayed = p->delayed;
		if (isnan(p->delayed)) {
			share = NAN;
		} else if (p->delayed < NP_EXAMINE_DELAYED) {
			*x = share * w->usual;
		} else {
			share = fmax(p->delayed, share);
			*x = fmax(isnan(*x) ? 0 : *x, share * w->usual);
		}
	}
	out->probes = isnan(share) ? NP_WITNESS_NONE :
		      share > 0	   ? NP_WITNESS_FOR :
				     NP_WITNESS_AGAINST;
}

/*
 * Exposure to the network: by the traffic of others where it is known, else by
 * the nodes that other jobs occupied.
 */
static void expose_network(const struct work *w, struct np_examine_result *out)
{
	struct traffic t = { 0 };
	double most = 0, least;

	for (size_t i = 0; i < w->n; i++) {
		out->by_traffic = traffic_of(&w->run[i], &t);
		w->value[i] = out->by_traffic ? t.others : NAN;
		*exposure_at(w, i, NP_CAUSE_NETWORK) = w->value[i];
		if (out->by_traffic)
			most = fmax(most, t.most);
	}
	/* The last one is the run in question. */
	out->own = t.own;
	out->others = t.others;
	judge(w, NP_SIGNAL_TRAFFIC, LITTLE * most, &out->others_traffic);
	out->by_traffic &= most > 0;
	for (size_t i = 0; i < w->n; i++) {
		double *x = exposure_at(w, i, NP_CAUSE_NETWORK);

		*x = out->by_traffic ? *x / most :
				       w->run[i].occupied_sec / w->run[i].sec;
		w->value[i] = *x;
	}
	/* What even the least exposed runs had is usual. */
	least = quantile_of(w, LEAST);
	for (size_t i = 0; i < w->n; i++) {
		double v = *exposure_at(w, i, NP_CAUSE_NETWORK) - least;

		*exposure_at(w, i, NP_CAUSE_NETWORK) =
			isnan(v) ? NAN : fmax(v, 0) * w->usual;
	}
}

/*
 * The waiting that few of the fast comparable runs exceed. It did not make them
 * slow. NaN: no run's waiting is known.
 */
static double harmless_wait(const struct work *w, enum np_cause c)
{
	double fast;

	for (size_t i = 0; i < w->n; i++)
		w->value[i] = isnan(*exposure_at(w, i, c)) ? NAN :
							     w->run[i].sec;
	fast = quantile_of(w, FAST);
	for (size_t i = 0; i < w->n; i++)
		w->value[i] = w->run[i].sec <= fast ? *exposure_at(w, i, c) :
						      NAN;
	return quantile_of(w, HARMLESS);
}

/* Seconds of waiting beyond what fast runs have as well. */
static void expose_wait(const struct work *w, enum np_cause c, enum np_signal s,
			enum np_signal more)
{
	double base;

	for (size_t i = 0; i < w->n; i++) {
		double v = worst_node(&w->run[i], s, NULL);
		double add = more == NP_N_SIGNALS ?
				     NAN :
				     worst_node(&w->run[i], more, NULL);

		*exposure_at(w, i, c) = isnan(v)   ? add :
					isnan(add) ? v :
						     v + add;
	}
	base = harmless_wait(w, c);
	for (size_t i = 0; i < w->n; i++) {
		double v = *exposure_at(w, i, c) - base;

		*exposure_at(w, i, c) = isnan(v) ? NAN :
						   w->usual * waiting_cost(v);
	}
}

/* How much a signal of the worst node is below its usual value. */
static void expose_fall(const struct work *w, enum np_cause c, enum np_signal s,
			double least)
{
	double usual;

	for (size_t i = 0; i < w->n; i++) {
		double v = worst_node(&w->run[i], s, NULL);

		w->value[i] = v > 0 ? v : NAN;
	}
	usual = quantile_of(w, 0.5);
	for (size_t i = 0; i < w->n; i++) {
		double v = worst_node(&w->run[i], s, NULL);
		double missing = 1 - v / usual;

		*exposure_at(w, i, c) =
			isnan(missing)	? NAN :
			missing > least ? waiting_cost(missing) * w->usual :
					  0;
	}
}

/* Errors on a link count if there are more than usual. */
static void expose_errors(const struct work *w)
{
	double most = 0;
	bool known = false;

	for (size_t i = 0; i + 1 < w->n; i++) {
		double v = worst_node(&w->run[i], NP_SIGNAL_NIC_ERRORS, NULL);

		known |= !isnan(v);
		w->value[i] = isnan(v) ? 0 : v;
	}
	if (!known)
		return;
	most = np_quantile(w->value, w->n - 1, 0.75);
	for (size_t i = 0; i < w->n; i++) {
		double v = worst_node(&w->run[i], NP_SIGNAL_NIC_ERRORS, NULL);
		double *x = exposure_at(w, i, NP_CAUSE_LINK);
		double part = fmin((v - most) / ERRORS, 1);

		if (isnan(v))
			continue;
		*x = fmax(isnan(*x) ? 0 : *x,
			  part > LEAST_SPEED ? part * w->usual : 0);
	}
}

/* ---- signals and nodes ---- */

/*
 * Compare a signal of the run, or of the other nodes on its leaf switches, with
 * that of the comparable runs, and decide whether it is unusual. least: smaller
 * values are never unusual; NaN: there is no such limit.
 */
static void judge_signal(const struct work *w, bool own, enum np_signal s,
			 double least, struct np_examine_signal *out)
{
	bool share = s == NP_SIGNAL_CPU_WAIT || s == NP_SIGNAL_STEAL ||
		     s == NP_SIGNAL_MEMORY_WAIT || s == NP_SIGNAL_IO_WAIT;

	for (size_t i = 0; i < w->n; i++) {
		out->node = NP_NO_INDEX;
		w->value[i] = worst_of(&w->run[i], own, s, &out->node);
	}
	judge(w, s,
	      fmax(share		     ? 0.02 :
		   s == NP_SIGNAL_CLOCK_SKEW ? 2 :
		   s == NP_SIGNAL_DISK	     ? LEAST_DISK :
					       1,
		   least),
	      out);
	if (s == NP_SIGNAL_TRAFFIC)
		out->unusual = false; /* its own traffic is no cause */
}

static const enum np_signal signal_of[NP_N_CAUSES] = {
	[NP_CAUSE_NETWORK] = NP_N_SIGNALS,
	[NP_CAUSE_LINK] = NP_SIGNAL_LINK_SPEED,
	[NP_CAUSE_CPU] = NP_SIGNAL_CPU_WAIT,
	[NP_CAUSE_CLOCK] = NP_SIGNAL_CLOCK,
	[NP_CAUSE_MEMORY] = NP_SIGNAL_MEMORY_WAIT,
	[NP_CAUSE_IO] = NP_SIGNAL_IO_WAIT,
};

/* Find the worst node for a cause, and whether it is the only bad one. */
static void find_node(const struct work *w, struct np_examine_result *out,
		      enum np_cause c)
{
	const struct np_examine_run *run = &w->run[w->n - 1];
	enum np_signal s = signal_of[c];
	double v, rest;

	out->node[c] = NP_NO_INDEX;
	if (s == NP_N_SIGNALS)
		return;
	if (c == NP_CAUSE_LINK && !out->sign[s].unusual)
		s = NP_SIGNAL_NIC_ERRORS;
	v = worst_node(run, s, &out->node[c]);
	rest = others_mean(run, s, out->node[c]);
	out->one_node[c] = !isnan(rest) &&
			   (is_worse_lower(s) ? v < (1 - LEAST_SPEED) * rest :
						v > FAR * rest);
}

/*
 * Set the exposures of all runs to all causes, and let np_blame_run() decide
 * how much time each cause cost.
 */
static int examine_run(struct work *w, struct np_examine_result *out,
		       struct np_err *err)
{
	struct np_blame_prior prior[NP_N_CAUSES];

	for (size_t i = 0; i < w->n; i++)
		w->value[i] = w->sec[i] = w->run[i].sec;
	w->usual = w->n > 1 ? np_quantile(w->value, w->n - 1, 0.5) : w->sec[0];
	expose_network(w, out);
	weigh_probes(w, out);
	expose_fall(w, NP_CAUSE_LINK, NP_SIGNAL_LINK_SPEED, LEAST_SPEED);
	expose_errors(w);
	expose_wait(w, NP_CAUSE_CPU, NP_SIGNAL_CPU_WAIT, NP_SIGNAL_STEAL);
	expose_fall(w, NP_CAUSE_CLOCK, NP_SIGNAL_CLOCK, LEAST_CLOCK);
	expose_wait(w, NP_CAUSE_MEMORY, NP_SIGNAL_MEMORY_WAIT, NP_N_SIGNALS);
	expose_wait(w, NP_CAUSE_IO, NP_SIGNAL_IO_WAIT, NP_N_SIGNALS);
	memcpy(prior, priors, sizeof(prior));
	if (!out->by_traffic && out->probes != NP_WITNESS_FOR)
		prior[NP_CAUSE_NETWORK] = by_occupation;
	memcpy(out->exposure, exposure_at(w, w->n - 1, 0),
	       sizeof(out->exposure));
	for (int s = 0; s < NP_N_SIGNALS; s++) {
		judge_signal(w, true, (enum np_signal)s, NAN, &out->sign[s]);
		if (np_examine_is_near((enum np_signal)s))
			judge_signal(w, false, (enum np_signal)s,
				     out->sign[s].value, &out->near[s]);
	}
	for (int c = 0; c < NP_N_CAUSES; c++)
		find_node(w, out, (enum np_cause)c);
	return np_blame_run(w->sec, w->exposure, w->n - 1, NP_N_CAUSES, prior,
			    &out->blame, err);
}

int np_examine(const struct np_examine_run *run, size_t n_runs,
	       struct np_examine_result *out, struct np_err *err)
{
	struct work w = {
		.run = run,
		.n = n_runs + 1,
		.sec = calloc(n_runs + 1, sizeof(double)),
		.exposure = calloc((n_runs + 1) * NP_N_CAUSES, sizeof(double)),
		.value = calloc(n_runs + 1, sizeof(double)),
	};
	int rc = -ENOMEM;

	*out = (struct np_examine_result){ .by_traffic = false };
	if (w.sec && w.exposure && w.value)
		rc = examine_run(&w, out, err);
	else
		np_errf(err, rc, "out of memory");
	free(w.sec);
	free(w.exposure);
	free(w.value);
	return rc;
}
