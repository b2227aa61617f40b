/*
 * Run summaries: samples, intervals inside runs, which runs count, levels,
 * latencies, and what of them models and levels still to be measured need.
 */
#include "np_run_summary.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "np_moments.h"
#include "np_text.h"

/* What runs are compared with; "", 0 and NULL match any run. */
struct np_summary_fabric {
	const char *cluster, *transport, *scope;
	const char *rails; /* that the program loads */
	uint32_t message_bytes;
	double period_sec;
};

/* ---- samples ---- */

/* rail NULL: any. */
static bool is_on(const struct np_leaf_run *leaf, const char *rail)
{
	return !rail || (leaf->rail && !strcmp(leaf->rail, rail));
}

struct np_moments np_run_rail_latency(const struct np_record *r,
				      const char *rail)
{
	struct np_moments m = { 0 };

	for (size_t i = 0; i < r->n_leaves; i++)
		if (is_on(&r->leaves[i], rail))
			np_moments_merge(&m, &r->leaves[i].latency);
	return m;
}

/* Are bytes of load levels on the program's own nodes among those counted? */
static bool counts_a_level(const struct np_record *r)
{
	return (r->level && !strcmp(r->level->scope, "node")) ||
	       (r->intervals_scope && !strcmp(r->intervals_scope, "node"));
}

bool np_run_loads_rail(const struct np_record *r, const char *rail)
{
	double node_sec = 0, bytes = 0;

	if (counts_a_level(r))
		return true;
	for (size_t i = 0; i < r->n_leaves; i++)
		if (is_on(&r->leaves[i], rail) && r->leaves[i].traffic) {
			node_sec += r->leaves[i].traffic->node_sec;
			bytes += r->leaves[i].traffic->bytes;
		}
	return !(node_sec > 0) || bytes >= NP_QUIET_RATE * node_sec;
}

/* Does it load any rail? */
static bool loads_some_rail(const struct np_record *r)
{
	for (size_t i = 0; i < r->n_leaves; i++)
		if (r->leaves[i].rail &&
		    np_run_loads_rail(r, r->leaves[i].rail))
			return true;
	return false;
}

const char *np_run_rail(const struct np_record *r)
{
	bool of_loaded = loads_some_rail(r);
	const char *busiest = NULL;
	double most = 0;

	for (size_t i = 0; i < r->n_leaves; i++) {
		const char *rail = r->leaves[i].rail;
		struct np_moments m;

		if (!rail || !r->leaves[i].latency.n ||
		    (busiest && !strcmp(rail, busiest)) ||
		    (of_loaded && !np_run_loads_rail(r, rail)))
			continue;
		m = np_run_rail_latency(r, rail);
		if (!busiest || m.mean > most * m.min) {
			busiest = rail;
			most = m.mean / m.min;
		}
	}
	return busiest;
}

struct np_moments np_run_latency(const struct np_record *r)
{
	return np_run_rail_latency(r, np_run_rail(r));
}

void np_run_add_hist(const struct np_record *r, struct np_hist *to)
{
	const char *rail = np_run_rail(r);

	for (size_t i = 0; i < r->n_leaves; i++)
		if (r->leaves[i].hist && is_on(&r->leaves[i], rail))
			np_hist_merge(to, r->leaves[i].hist);
}

bool np_run_has_neighbours(const struct np_record *r)
{
	for (size_t i = 0; i < r->n_neighbours; i++)
		if (r->neighbours[i].overlap_sec > 0)
			return true;
	return false;
}

struct np_series *np_run_windows(const struct np_record *r)
{
	const char *rail = np_run_rail(r);
	struct np_series *all = NULL;
	double width = 0;

	for (size_t i = 0; i < r->n_leaves; i++)
		if (r->leaves[i].windows && is_on(&r->leaves[i], rail))
			width = fmax(width, r->leaves[i].windows->width_sec);
	if (width > 0)
		all = malloc(sizeof(*all));
	if (!all)
		return NULL;
	np_series_init(all, width);
	for (size_t i = 0; i < r->n_leaves; i++) {
		const struct np_series *s = is_on(&r->leaves[i], rail) ?
						    r->leaves[i].windows :
						    NULL;

		for (size_t k = 0; s && k < s->n; k++)
			if (s->w[k].n)
				np_series_add(all,
					      ((double)k + 0.5) * s->width_sec,
					      &s->w[k]);
	}
	return all;
}

static const char *const sources[] = {
	[NP_SOURCE_RUN] = "run",
	[NP_SOURCE_QUIET] = "quiet",
	[NP_SOURCE_CALIBRATION] = "calibration",
};

const char *np_sample_source_name(enum np_sample_source source)
{
	return sources[source];
}

/* Where the latencies of a record are from. */
static enum np_sample_source source_of(const struct np_record *r)
{
	if (!r->source)
		return NP_SOURCE_RUN;
	return strcmp(r->source, sources[NP_SOURCE_CALIBRATION]) ?
		       NP_SOURCE_QUIET :
		       NP_SOURCE_CALIBRATION;
}

/* Add a run's counters of one adapter to those of the same name. */
static void add_nic(struct np_sample *s, const struct np_nic_run *r)
{
	struct np_sample_nic *nic = s->nic;

	while (nic < s->nic + s->n_nics && strcmp(nic->device, r->device))
		nic++;
	if (nic == s->nic + NP_RECORD_MAX_NICS ||
	    strlen(r->device) >= sizeof(nic->device))
		return;
	if (nic == s->nic + s->n_nics) {
		s->n_nics++;
		strcpy(nic->device, r->device);
		nic->node_sec = 0;
		for (size_t k = 0; k < NP_NIC_KINDS; k++)
			nic->n[k] = NAN;
	}
	nic->node_sec += r->node_sec;
	for (size_t k = 0; k < NP_NIC_KINDS; k++)
		if (!isnan(r->n[k]))
			nic->n[k] =
				(isnan(nic->n[k]) ? 0 : nic->n[k]) + r->n[k];
}

int np_sample_add(struct np_sample *s, const struct np_record *r)
{
	struct np_moments m = np_run_latency(r);

	if (!s->hist)
		s->hist = np_hist_new();
	if (!s->hist)
		return -ENOMEM;
	np_moments_merge(&s->moments, &m);
	np_run_add_hist(r, s->hist);
	np_moments_add(&s->means, m.mean);
	s->first = s->n_runs ? fmin(s->first, r->start) : r->start;
	s->last = s->n_runs ? fmax(s->last, r->end) : r->end;
	s->period_sec = r->probe.period_sec;
	if (!s->n_runs)
		s->source = source_of(r);
	s->node_sec += r->traffic.node_sec;
	s->bytes += r->traffic.bytes;
	if (r->traffic.link > 0 && !(s->link > 0 && s->link < r->traffic.link))
		s->link = r->traffic.link;
	for (size_t i = 0; i < r->n_nics; i++)
		add_nic(s, &r->nics[i]);
	s->n_runs++;
	return 0;
}

double np_sample_quantile(const struct np_sample *s, double q)
{
	if (!s->hist || !s->moments.n)
		return 0;
	/* A bin is wider than the samples in it. */
	return fmin(fmax(np_hist_quantile(s->hist, q), s->moments.min),
		    s->moments.max);
}

/* ---- measurement intervals ---- */

struct levels {
	const char *const *name, *const *scope;
	size_t n;
};

/* Index of a level, or l->n. */
static size_t find_level(const struct levels *l, const char *name,
			 const char *scope)
{
	size_t i = 0;

	while (i < l->n && (strcmp(l->name[i], name) ||
			    (l->scope && scope && strcmp(l->scope[i], scope))))
		i++;
	return i;
}

/* False: the level is not listed, or the interval is damaged. */
static bool convert_interval(const struct np_record *r, size_t i, uint32_t run,
			     const struct levels *l, struct np_interval *out)
{
	const struct np_run_interval *b = &r->intervals[i];
	size_t level = b->level ? find_level(l, b->level, r->intervals_scope) :
				  NP_INTERVAL_NO_LEVEL;

	*out = (struct np_interval){ run, level, b->sec, b->rate, b->calls };
	return b->sec > 0 && b->rate >= 0 && level != l->n;
}

int np_run_intervals(const struct np_runs *runs, const enum np_run_use *use,
		     const char *const *name, const char *const *scope,
		     size_t n_names, struct np_interval **out, size_t *n)
{
	const struct levels l = { name, scope, n_names };
	struct np_interval *b;
	size_t total = 0, used = 0;
	uint32_t run = 0;

	for (size_t i = 0; i < runs->n; i++)
		if (use[i] == NP_RUN_INTERVALS)
			total += runs->run[i]->n_intervals;
	b = calloc(total + 1, sizeof(*b));
	if (!b)
		return -ENOMEM;
	for (size_t i = runs->n; i-- > 0;) {
		const struct np_record *r = runs->run[i];

		if (use[i] != NP_RUN_INTERVALS)
			continue;
		for (size_t k = 0; k < r->n_intervals; k++)
			used += convert_interval(r, k, run, &l, &b[used]);
		run++;
	}
	*out = b;
	*n = used;
	return 0;
}

static const struct np_moments *
rounds_alone(const struct np_record *r, const char *level, uint32_t n_nodes)
{
	for (size_t i = 0;
	     r->intervals_nodes == n_nodes && i < r->n_intervals_alone; i++) {
		const struct np_run_interval *b = &r->intervals_alone[i];

		if (b->level && !strcmp(b->level, level) && b->round_sec.n &&
		    b->round_sec.mean > 0)
			return &b->round_sec;
	}
	return NULL;
}

const struct np_moments *np_run_intervals_alone(const struct np_runs *runs,
						const enum np_run_use *use,
						const struct np_record *r,
						const char *level,
						uint32_t n_nodes)
{
	const struct np_moments *m = r ? rounds_alone(r, level, n_nodes) : NULL;

	for (size_t i = 0; !m && i < runs->n; i++)
		if (use[i] == NP_RUN_INTERVALS)
			m = rounds_alone(runs->run[i], level, n_nodes);
	return m;
}

/* The level's rounds in all intervals of r under it. */
static struct np_moments run_intervals_under(const struct np_record *r,
					     const char *level)
{
	struct np_moments m = { 0 };

	for (size_t i = 0; i < r->n_intervals; i++)
		if (r->intervals[i].level &&
		    !strcmp(r->intervals[i].level, level) &&
		    r->intervals[i].round_sec.n)
			np_moments_merge(&m, &r->intervals[i].round_sec);
	return m;
}

/* ---- which runs count ---- */

static const struct {
	const char *name, *words;
} use_words[] = {
	[NP_RUN_ALONE] = { "used", "alone" },
	[NP_RUN_UNDER_LEVEL] = { "level", "under a load level" },
	[NP_RUN_TIME] = { "empty", "without latencies" },
	[NP_RUN_LATENCY] = { "used", "for its latencies only" },
	[NP_RUN_INTERVALS] = { "intervals", "with intervals under load levels" },
	[NP_RUN_FABRIC] = { "fabric", "on another fabric" },
	[NP_RUN_UNDER_WAY] = { "running", "still running" },
	[NP_RUN_FAILED] = { "failed", "failed" },
	[NP_RUN_SUSPENDED] = { "suspended", "in suspended jobs" },
	[NP_RUN_NEIGHBOURS] = { "neighbours", "on a shared leaf switch" },
	[NP_RUN_SCOPE] = { "scope", "with the level at another scope" },
	[NP_RUN_LEVEL] = { "uncalibrated",
			   "under a load level that was not calibrated" },
	[NP_RUN_RAIL] = { "rail", "with the level on another rail" },
	[NP_RUN_WORKLOAD] = { "workload", "of another workload" },
	[NP_RUN_AUTOMATIC] = { "automatic", "measured automatically" },
};

const char *np_run_use_name(enum np_run_use use)
{
	return use_words[use].name;
}

const char *np_run_use_words(enum np_run_use use)
{
	return use_words[use].words;
}

/* Do two texts differ?  An unknown one matches any. */
static bool other_text(const char *a, const char *b)
{
	return a && b && *a && *b && strcmp(a, b);
}

/*
 * The same for transports, "tcp/eth0".  The device of one of several rails says
 * nothing.
 */
static bool other_transport(const struct np_record *r, const char *transport)
{
	const char *own = r->probe.transport;
	size_t len = own ? strcspn(own, "/") : 0;

	if (!r->n_leaves || !r->leaves[0].rail || !own || !transport)
		return other_text(own, transport);
	return *own && *transport && (strcspn(transport, "/") != len ||
				      memcmp(own, transport, len));
}

/* Is the run of another fabric than the one that is asked for? */
static bool other_fabric(const struct np_record *r,
			 const struct np_summary_fabric *f)
{
	return other_text(r->cluster, f->cluster) ||
	       other_transport(r, f->transport) ||
	       (f->message_bytes && r->probe.message_bytes &&
		r->probe.message_bytes != f->message_bytes);
}

/* Does the calibration have this level? */
static bool is_calibrated(const char *name, const struct np_fabric *f)
{
	for (size_t i = 0; i < f->n_levels; i++)
		if (!strcmp(f->level[i].name, name))
			return true;
	return false;
}

/*
 * Does the level of a run leave out a rail that the program loads, according to
 * all of its runs?  A level of unknown rails counts as one on all of them.
 */
static bool lacks_a_rail(const struct np_record *r, const char *rails)
{
	const char *level = r->level ? r->level->rails : r->intervals_rails;

	for (size_t i = 0; level && i < r->n_leaves; i++) {
		const char *rail = r->leaves[i].rail;

		if (rail && !np_list_has(level, rail, strlen(rail)) &&
		    (!rails || np_list_has(rails, rail, strlen(rail))))
			return true;
	}
	return false;
}

/* What the run can be used for, whatever its workload. */
static enum np_run_use use_of(const struct np_record *r,
			      const struct np_run_summary_opt *opt,
			      const struct np_summary_fabric *f)
{
	if (other_fabric(r, f))
		return NP_RUN_FABRIC;
	if (r->state == NP_RUN_RUNNING)
		return opt->now - r->end < NP_RUN_SUMMARY_RUNNING_SEC ?
			       NP_RUN_UNDER_WAY :
			       NP_RUN_FAILED;
	if (r->exit_code != 0 || np_record_run_sec(r) <= 0)
		return NP_RUN_FAILED;
	if (r->suspended)
		return NP_RUN_SUSPENDED;
	if (np_run_has_neighbours(r))
		return NP_RUN_NEIGHBOURS;
	if (r->level && f->scope && strcmp(r->level->scope, f->scope))
		return NP_RUN_SCOPE;
	if (r->n_intervals && f->scope && r->intervals_scope &&
	    strcmp(r->intervals_scope, f->scope))
		return NP_RUN_SCOPE;
	if (lacks_a_rail(r, f->rails))
		return NP_RUN_RAIL;
	if (r->level && opt->calibration &&
	    !is_calibrated(r->level->name, opt->calibration->fabric))
		return NP_RUN_LEVEL;
	if (r->source && !strcmp(r->app, NP_IDLE_APP))
		return NP_RUN_AUTOMATIC;
	if (!r->fingerprint)
		return NP_RUN_WORKLOAD;
	return r->n_intervals ? NP_RUN_INTERVALS :
	       r->level	      ? NP_RUN_UNDER_LEVEL :
				NP_RUN_ALONE;
}

static bool same_level(const struct np_record *a, const struct np_record *b)
{
	return a->level && b->level &&
	       !strcmp(a->level->name, b->level->name) &&
	       !strcmp(a->level->scope, b->level->scope);
}

/* The workload is chosen among runs that are used as one of mask. */
struct candidates {
	const struct np_runs *runs;
	const enum np_run_use *use;
	unsigned mask;
};

static bool is_of(const struct candidates *c, size_t i, const char *fingerprint)
{
	const struct np_record *r = c->runs->run[i];

	return c->mask & 1u << c->use[i] && r->fingerprint &&
	       !strcmp(r->fingerprint, fingerprint);
}

struct workload {
	const char *fingerprint;
	size_t n_levels, n_runs;
};

/* Count the runs and the distinct levels of a workload. */
static struct workload measure_workload(const struct candidates *c,
					const char *fingerprint)
{
	struct workload w = { .fingerprint = fingerprint };

	for (size_t i = 0; i < c->runs->n; i++) {
		const struct np_record *r = c->runs->run[i];
		size_t k = 0;

		if (!is_of(c, i, fingerprint))
			continue;
		w.n_runs++;
		while (k < i && !(same_level(c->runs->run[k], r) &&
				  is_of(c, k, fingerprint)))
			k++;
		w.n_levels += r->level && k == i;
	}
	return w;
}

/* Runs are newest first, so among equal workloads the newest wins. */
static const char *choose_workload(const struct candidates *c)
{
	struct workload best = { 0 };

	for (size_t i = 0; i < c->runs->n; i++) {
		const char *f = c->runs->run[i]->fingerprint;
		struct workload w;
		size_t k = 0;

		if (!f || !is_of(c, i, f))
			continue;
		while (k < i && !is_of(c, k, f))
			k++;
		if (k < i)
			continue; /* measured already */
		w = measure_workload(c, f);
		if (w.n_levels > best.n_levels ||
		    (w.n_levels == best.n_levels && w.n_runs > best.n_runs))
			best = w;
	}
	return best.fingerprint;
}

/* Decide for each run what it is used for. */
static void decide_uses(const struct np_runs *runs,
			const struct np_run_summary_opt *opt,
			const struct np_summary_fabric *f,
			struct np_run_summary *e)
{
	struct candidates c = {
		.runs = runs,
		.use = e->use,
		.mask = 1u << NP_RUN_ALONE | 1u << NP_RUN_UNDER_LEVEL |
			1u << NP_RUN_INTERVALS,
	};

	for (size_t i = 0; i < runs->n; i++)
		e->use[i] = use_of(runs->run[i], opt, f);
	e->fingerprint = opt->fingerprint ? opt->fingerprint :
					    choose_workload(&c);
	for (size_t i = 0; i < runs->n; i++) {
		const struct np_record *r = runs->run[i];

		if (c.mask & 1u << e->use[i] &&
		    strcmp(r->fingerprint, e->fingerprint))
			e->use[i] = NP_RUN_WORKLOAD;
		else if (e->use[i] == NP_RUN_ALONE && !np_run_latency(r).n)
			e->use[i] = NP_RUN_TIME;
	}
	/* Only pages use these runs. */
	c.mask = 1u << NP_RUN_NEIGHBOURS;
	if (!e->fingerprint && !opt->calibration)
		e->fingerprint = choose_workload(&c);
}

/* A run under a level says less about the fabric: the second choice. */
static const struct np_record *newest_measured(const struct np_runs *runs)
{
	const struct np_record *under_level = NULL;

	for (size_t i = 0; i < runs->n; i++) {
		const struct np_record *r = runs->run[i];

		if (r->state == NP_RUN_RUNNING || r->exit_code != 0 ||
		    !np_run_latency(r).n)
			continue;
		if (!r->level)
			return r;
		if (!under_level)
			under_level = r;
	}
	return under_level;
}

/* Is it known which rails a successful run loads? */
static bool has_rails(const struct np_record *r)
{
	for (size_t i = 0; r->exit_code == 0 && i < r->n_leaves; i++)
		if (r->leaves[i].rail && r->leaves[i].traffic &&
		    r->leaves[i].traffic->node_sec > 0 && !counts_a_level(r))
			return true;
	return false;
}

/*
 * The rails that any of the runs loads for which that is known, or of all runs
 * if there is none.  NULL: they have no rails, or load none.  Returns 0 or
 * -ENOMEM.
 */
static int find_rails(const struct np_runs *runs, char **out)
{
	bool tagged = false;
	size_t len;
	FILE *f = NULL;

	*out = NULL;
	for (size_t i = 0; i < runs->n; i++)
		tagged |= has_rails(runs->run[i]);
	for (size_t i = 0; i < runs->n; i++) {
		const struct np_record *r = runs->run[i];

		for (size_t k = 0; (!tagged || has_rails(r)) &&
		     k < r->n_leaves; k++) {
			const char *rail = r->leaves[k].rail;

			if (!rail || !np_run_loads_rail(r, rail))
				continue;
			if (!f)
				f = open_memstream(out, &len);
			if (!f)
				return -ENOMEM;
			fflush(f);
			if (!np_list_has(*out, rail, strlen(rail)))
				fprintf(f, "%s%s", len ? "," : "", rail);
		}
	}
	return f && fclose(f) ? -ENOMEM : 0;
}

/* The fabric to compare runs with: of the calibration, or of a run. */
static struct np_summary_fabric fabric_of(const struct np_run_summary_opt *opt,
					  const struct np_record *newest)
{
	const struct np_calibration *c = opt->calibration;
	const struct np_record *r = opt->like ? opt->like : newest;
	struct np_summary_fabric f = { .scope = opt->scope };

	if (c) {
		f.cluster = c->cluster;
		f.transport = c->transport;
		f.message_bytes = c->message_bytes;
		f.period_sec = c->period_sec;
		f.scope = opt->scope ? opt->scope : np_scope_name(c->scope);
	} else if (r) {
		f.cluster = r->cluster;
		f.transport = r->probe.transport;
		f.message_bytes = r->probe.message_bytes;
		f.period_sec = opt->like ? r->probe.period_sec : 0;
	}
	return f;
}

/* ---- levels ---- */

/* Order of levels: by name, then by scope. */
static int by_name(const void *a, const void *b)
{
	const struct np_run_summary_level *x = a, *y = b;
	int diff = strcmp(x->name, y->name);

	return diff ? diff : strcmp(x->scope, y->scope);
}

/* Append the levels of a run's intervals to the list. */
static size_t list_intervals(struct np_run_summary *e,
			     const struct np_record *r, size_t n)
{
	for (size_t k = 0; k < r->n_intervals; k++)
		if (r->intervals[k].level)
			e->level[n++] = (struct np_run_summary_level){
				.name = r->intervals[k].level,
				.scope = r->intervals_scope ?
						 r->intervals_scope :
						 "",
			};
	return n;
}

/* List the calibration's levels, or each level that occurs once. */
static int find_levels(struct np_run_summary *e, const struct np_runs *runs,
		       const struct np_run_summary_opt *opt, const char *scope)
{
	const struct np_fabric *f =
		opt->calibration ? opt->calibration->fabric : NULL;
	size_t n = 0, room = runs->n;

	for (size_t i = 0; i < runs->n; i++)
		room += runs->run[i]->n_intervals;
	e->level = calloc((f ? f->n_levels : room) + 1, sizeof(*e->level));
	if (!e->level)
		return -ENOMEM;
	for (size_t i = 0; f && i < f->n_levels; i++)
		e->level[n++] = (struct np_run_summary_level){
			.name = f->level[i].name,
			.scope = scope,
		};
	for (size_t i = 0; !f && i < runs->n; i++)
		if (e->use[i] == NP_RUN_UNDER_LEVEL)
			e->level[n++] = (struct np_run_summary_level){
				.name = runs->run[i]->level->name,
				.scope = runs->run[i]->level->scope,
			};
		else if (e->use[i] == NP_RUN_INTERVALS)
			n = list_intervals(e, runs->run[i], n);
	if (!f && n)
		qsort(e->level, n, sizeof(*e->level), by_name);
	for (size_t i = 0; i < n; i++)
		if (f || !e->n_levels ||
		    by_name(&e->level[e->n_levels - 1], &e->level[i]))
			e->level[e->n_levels++] = e->level[i];
	return 0;
}

/* The index of a run's level, which is in the list. */
static size_t level_of(const struct np_run_summary *e,
		       const struct np_record *r)
{
	size_t i = 0;

	while (strcmp(e->level[i].name, r->level->name) ||
	       strcmp(e->level[i].scope, r->level->scope))
		i++;
	return i;
}

/* Relative variance of one run time; NaN: not repeated. */
static double relative_variance(const struct np_moments *m)
{
	return m->n > 1 ? np_moments_var(m) / (m->mean * m->mean) : NAN;
}

/*
 * Standard deviation of one slowdown, such that the error of the mean is
 * sd / sqrt(n).  All n runs share the time alone, hence its weight.  If one of
 * the two times was not repeated, it is assumed to scatter like the other.
 */
static double slowdown_sd(const struct np_moments *alone,
			  const struct np_moments *loaded)
{
	double a = relative_variance(alone), b = relative_variance(loaded),
	       n = (double)loaded->n;

	if (isnan(a))
		a = b;
	if (isnan(b))
		b = a;
	return loaded->mean / alone->mean * sqrt(b + a * n / (double)alone->n);
}

/* The mean slowdown from run times alone and under a level. */
static struct np_mean mean_slowdown(const struct np_moments *alone,
				    const struct np_moments *loaded)
{
	if (!alone->n || !loaded->n)
		return (struct np_mean){ 0 };
	return (struct np_mean){
		.n = (uint32_t)loaded->n,
		.mean = loaded->mean / alone->mean - 1,
		.sd = loaded->n > 1 ? slowdown_sd(alone, loaded) : NAN,
	};
}

/* Run times alone and per level, and the slowdown of the levels' rounds. */
struct times {
	const struct np_calibration *calibration; /* NULL: there is none */
	struct np_moments alone, intervals, *loaded, *impact;
};

/* Rounds that differ by more than this factor ran on another kind of node. */
#define OTHER_NODES 1.5

/*
 * The duration of a round of this level alone.  The calibration divides by its
 * own rounds alone, so what is compared with it has to do the same: the
 * duration of short rounds alone depends on how deeply processors sleep, under
 * traffic it hardly does.  The run's own value is used if the calibration has
 * none for a ring of this size, or if the nodes are of another kind.
 */
static double alone_round(const struct np_calibration *c, size_t level,
			  size_t n_processes, double own_sec)
{
	const struct np_mean *m =
		c && c->alone_round_sec ? &c->alone_round_sec[level] : NULL;

	if (!m || !np_mean_known(m) || c->n_alone_nodes != n_processes ||
	    own_sec > OTHER_NODES * m->mean ||
	    (own_sec > 0 && own_sec < m->mean / OTHER_NODES))
		return own_sec;
	return m->mean;
}

/* Record how much a run slowed a level; 0 s: such rounds are unknown. */
static void add_rounds(struct times *t, size_t level, size_t n_processes,
		       double alone_sec, double loaded_sec)
{
	alone_sec = alone_round(t->calibration, level, n_processes, alone_sec);
	if (alone_sec > 0 && loaded_sec > 0)
		np_moments_add(&t->impact[level], loaded_sec / alone_sec - 1);
}

/* Record how much a run with intervals slowed each level. */
static void add_impact(const struct np_run_summary *e,
		       const struct np_runs *runs, const struct np_record *r,
		       struct times *t)
{
	for (size_t i = 0; i < e->n_levels; i++) {
		const char *level = e->level[i].name;
		const struct np_moments *alone = np_run_intervals_alone(
			runs, e->use, r, level, r->intervals_nodes);
		struct np_moments loaded = run_intervals_under(r, level);

		if (loaded.n)
			add_rounds(t, i, r->intervals_nodes,
				   alone ? alone->mean : 0, loaded.mean);
	}
}

/* Sort the run times of all used runs by level. */
static void add_times(const struct np_run_summary *e,
		      const struct np_runs *runs, struct times *t)
{
	for (size_t i = 0; i < runs->n; i++) {
		const struct np_record *r = runs->run[i];
		const struct np_level_run *l = r->level;
		size_t level;

		if (e->use[i] == NP_RUN_ALONE || e->use[i] == NP_RUN_TIME)
			np_moments_add(&t->alone, np_record_run_sec(r));
		if (e->use[i] == NP_RUN_INTERVALS) {
			np_moments_add(&t->intervals, np_record_run_sec(r));
			add_impact(e, runs, r, t);
		}
		if (e->use[i] != NP_RUN_UNDER_LEVEL)
			continue;
		level = level_of(e, r);
		np_moments_add(&t->loaded[level], np_record_run_sec(r));
		if (l->loaded_round_sec.n)
			add_rounds(t, level, l->n_processes,
				   l->alone_round_sec.n ?
					   l->alone_round_sec.mean :
					   0,
				   l->loaded_round_sec.mean);
	}
}

/* The error of a mean over runs is at least the scatter between runs. */
static double error_of_runs(const struct np_run_summary *e,
			    const struct np_mean *m)
{
	return fmax(np_noise_of_mean(m, e->noise),
		    e->intervals.between / sqrt(m->n));
}

/* Use intervals if they are more precise than runs, or the only source. */
static void use_intervals(struct np_run_summary *e,
			  const struct np_one_run_level *intervals)
{
	for (size_t i = 0; i < e->n_levels; i++) {
		struct np_run_summary_level *l = &e->level[i];
		const struct np_one_run_level *b = &intervals[i];

		if (!np_mean_known(&b->slowdown) ||
		    (np_mean_known(&l->slowdown) &&
		     error_of_runs(e, &l->slowdown) <= b->error))
			continue;
		e->n_curve += !np_mean_known(&l->slowdown);
		e->mean[i] = l->slowdown = b->slowdown;
		l->low = b->low;
		l->high = b->high;
		l->of_intervals = true;
	}
}

/* Estimate slowdowns from intervals inside runs, where there are some. */
static int add_intervals(struct np_run_summary *e, const struct np_runs *runs)
{
	struct np_one_run_level *level =
		calloc(e->n_levels + 1, sizeof(*level));
	const char **name = calloc(2 * e->n_levels + 1, sizeof(*name));
	const char **scope = name ? name + e->n_levels : NULL;
	struct np_interval *b = NULL;
	size_t n = 0;
	int rc = level && name ? 0 : -ENOMEM;

	for (size_t i = 0; !rc && i < e->n_levels; i++) {
		name[i] = e->level[i].name;
		scope[i] = e->level[i].scope;
	}
	if (!rc)
		rc = np_run_intervals(runs, e->use, name, scope, e->n_levels,
				      &b, &n);
	if (!rc)
		rc = np_one_run_estimate(b, n, e->mean, level, e->n_levels,
					 &e->intervals);
	if (!rc && e->intervals.verdict == NP_ONE_RUN_USABLE)
		use_intervals(e, level);
	free(level);
	free(name);
	free(b);
	return rc;
}

/* Fill in what whole runs say about each level. */
static void fill_levels(struct np_run_summary *e, const struct times *t)
{
	size_t n = e->n_levels;

	e->alone_sec = np_mean_of(&t->alone);
	e->intervals_longer = t->alone.n && t->intervals.n ?
				      t->intervals.mean / t->alone.mean - 1 :
				      NAN;
	for (size_t i = 0; i < n; i++) {
		struct np_run_summary_level *l = &e->level[i];

		l->run_sec = np_mean_of(&t->loaded[i]);
		e->mean[i] = l->slowdown =
			mean_slowdown(&t->alone, &t->loaded[i]);
		e->mean[n + i] = l->impact = np_mean_of(&t->impact[i]);
		e->n_curve += np_mean_known(&l->slowdown);
		e->n_impact += np_mean_known(&l->impact);
	}
	/* The scatter of run times is a property of the program, not of one
	 * level. */
	e->noise = np_noise_pooled(e->mean, n);
	for (size_t i = 0; i < n; i++)
		if (np_mean_known(&e->mean[i]))
			np_noise_interval(&e->mean[i], e->noise,
					  &e->level[i].low, &e->level[i].high);
}

/* The sensitivity curve, and the slowdown of the levels' own rounds. */
static int make_curve(struct np_run_summary *e, const struct np_runs *runs,
		      const struct np_calibration *calibration)
{
	size_t n = e->n_levels;
	struct np_moments *m = calloc(2 * n + 1, sizeof(*m));
	struct times t = { .calibration = calibration,
			   .loaded = m,
			   .impact = m + n };

	e->mean = calloc(2 * n + 1, sizeof(*e->mean));
	if (m && e->mean) {
		add_times(e, runs, &t);
		fill_levels(e, &t);
	}
	free(m);
	return m && e->mean ? add_intervals(e, runs) : -ENOMEM;
}

/* ---- latencies ---- */

/* A processor that sleeps longer between probes takes longer to wake up. */
static bool other_period(const struct np_record *r, double period_sec)
{
	double x = r->probe.period_sec;

	return period_sec > 0 &&
	       fabs(x - period_sec) > 1e-3 * fmax(x, period_sec);
}

/* Rank of a run's latencies, a sum: only those of the lowest rank are used. */
#define RANK_WORKLOAD 16u   /* of an unknown workload */
#define RANK_PERIOD 8u	    /* the probes had another period */
#define RANK_NEIGHBOURS 4u  /* other jobs shared the leaf switches */
#define RANK_QUIET 2u	    /* idle latencies from quiet intervals of a run */
#define RANK_CALIBRATION 1u /* idle latencies from a calibration */
#define RANK_NONE 32u

struct latencies {
	struct np_run_summary *e;
	const struct np_runs *runs;
	bool for_models, is_idle;
	double period_sec;
};

/* The rank of a run's latencies; RANK_NONE: they cannot be used. */
static unsigned rank_of(const struct latencies *l, size_t i)
{
	const struct np_record *r = l->runs->run[i];
	const char *of = l->e->fingerprint;
	enum np_run_use use = l->e->use[i];
	unsigned rank = 0;

	if (r->level || !np_run_latency(r).n)
		return RANK_NONE;
	if (use == NP_RUN_NEIGHBOURS && !l->for_models)
		rank |= RANK_NEIGHBOURS;
	else if (use != NP_RUN_ALONE && use != NP_RUN_INTERVALS &&
		 use != NP_RUN_WORKLOAD && use != NP_RUN_AUTOMATIC)
		return RANK_NONE;
	if (!l->is_idle && !r->fingerprint)
		rank |= RANK_WORKLOAD;
	else if (!l->is_idle && !(of && !strcmp(r->fingerprint, of)))
		return RANK_NONE;
	if (other_period(r, l->period_sec))
		rank |= RANK_PERIOD;
	if (l->is_idle && r->source)
		rank |= source_of(r) == NP_SOURCE_CALIBRATION ?
				RANK_CALIBRATION :
				RANK_QUIET;
	return rank;
}

/*
 * Nodes that nobody measured may have been busy during quiet intervals, so only
 * intervals with about the latency of the fastest ones count.
 */
#define QUIET_RATIO 2.0

/* Median under the slowest leaf switch; a mean follows a few late probes. */
static double median_of(const struct np_record *r)
{
	const char *rail = np_run_rail(r);
	double sec = 0;

	for (size_t i = 0; i < r->n_leaves; i++)
		if (r->leaves[i].hist && r->leaves[i].latency.n &&
		    is_on(&r->leaves[i], rail))
			sec = fmax(sec,
				   np_hist_quantile(r->leaves[i].hist, 0.5));
	return sec;
}

/* The largest median latency that still counts, for quiet intervals. */
static double slowest_of(const struct latencies *l, unsigned rank)
{
	double fastest = INFINITY;

	if (!(rank & (RANK_QUIET | RANK_CALIBRATION)))
		return INFINITY;
	for (size_t i = 0; i < l->runs->n; i++)
		if (rank_of(l, i) == rank)
			fastest = fmin(fastest, median_of(l->runs->run[i]));
	return QUIET_RATIO * fastest;
}

/* Merge the latencies of all runs of the lowest rank. */
static int use_latencies(struct latencies *l)
{
	struct np_run_summary *e = l->e;
	unsigned best = RANK_NONE;
	double slowest;
	int rc = 0;

	for (size_t i = 0; i < l->runs->n; i++)
		if (rank_of(l, i) < best)
			best = rank_of(l, i);
	slowest = slowest_of(l, best);
	for (size_t i = 0; !rc && best < RANK_NONE && i < l->runs->n; i++) {
		const struct np_record *r = l->runs->run[i];

		if (rank_of(l, i) != best || median_of(r) > slowest)
			continue;
		rc = np_sample_add(&e->latency, r);
		if (e->use[i] != NP_RUN_ALONE && e->use[i] != NP_RUN_INTERVALS)
			e->use[i] = NP_RUN_LATENCY;
	}
	e->latency_sec = np_mean_of(&e->latency.means);
	e->latency.neighbours = best & RANK_NEIGHBOURS;
	e->latency.other_period = best & RANK_PERIOD;
	return rc;
}

/* ---- for the models ---- */

/* Make the models' view of the application. */
static int make_program(struct np_run_summary *e, const struct np_bins *bins)
{
	struct np_program *p = &e->program;

	if (e->n_curve)
		p->curve = e->mean;
	if (e->n_impact)
		p->impact = e->mean + e->n_levels;
	p->latency.all = e->latency.moments;
	p->rails = e->rails;
	if (e->latency.n_runs && np_bins_equal(bins, np_bins_own())) {
		e->bin_count = calloc(NP_HIST_BINS, sizeof(*e->bin_count));
		if (!e->bin_count)
			return -ENOMEM;
		for (size_t b = 0; b < NP_HIST_BINS; b++)
			e->bin_count[b] =
				(double)np_hist_count(e->latency.hist, b);
		p->latency.count = e->bin_count;
	}
	return 0;
}

int np_run_summary_make(const struct np_runs *runs,
			const struct np_run_summary_opt *opt,
			struct np_run_summary *out)
{
	static const struct np_run_summary_opt nothing = { .now = 0 };
	struct np_run_summary e = { .program = { .name = runs->app } };
	struct latencies l = {
		.e = &e,
		.runs = runs,
		.is_idle = !strcmp(runs->app, NP_IDLE_APP),
	};
	struct np_summary_fabric f;
	int rc;

	opt = opt ? opt : &nothing;
	e.use = calloc(runs->n + 1, sizeof(*e.use));
	if (!e.use)
		return -ENOMEM;
	if (!opt->calibration && !opt->like)
		e.fabric = newest_measured(runs);
	f = fabric_of(opt, e.fabric);
	if (find_rails(runs, &e.rails)) {
		np_run_summary_free(&e);
		return -ENOMEM;
	}
	f.rails = e.rails;
	decide_uses(runs, opt, &f, &e);
	rc = find_levels(&e, runs, opt, f.scope);
	if (!rc)
		rc = make_curve(&e, runs, opt->calibration);
	l.for_models = opt->calibration;
	l.period_sec = f.period_sec;
	if (!rc)
		rc = use_latencies(&l);
	for (size_t i = 0; i < runs->n; i++) {
		e.count[e.use[i]]++;
		e.n_used += e.use[i] < NP_RUN_FABRIC;
	}
	if (!rc && opt->calibration)
		rc = make_program(&e, opt->calibration->fabric->bins);
	if (rc)
		np_run_summary_free(&e);
	else
		*out = e;
	return rc;
}

void np_run_summary_detach(struct np_run_summary *e, const char *name)
{
	e->program.name = name;
	e->fingerprint = NULL;
	e->fabric = NULL;
	free(e->use);
	free(e->level);
	np_hist_free(e->latency.hist);
	e->use = NULL;
	e->level = NULL;
	e->latency.hist = NULL;
}

bool np_run_summary_has_data(const struct np_run_summary *e)
{
	return e->n_curve || e->n_impact || e->program.latency.all.n;
}

void np_run_summary_free(struct np_run_summary *e)
{
	free(e->use);
	free(e->level);
	free(e->mean);
	free(e->bin_count);
	free(e->rails);
	np_hist_free(e->latency.hist);
	*e = (struct np_run_summary){ .use = NULL };
}

/* ---- in few bytes, for the cache (np_cache.h) ---- */

static void pack_moments(struct np_pack *p, struct np_moments *m)
{
	m->n = np_pack_count(p, m->n, UINT64_MAX);
	m->mean = np_pack_real(p, m->mean);
	m->m2 = np_pack_real(p, m->m2);
	m->min = np_pack_real(p, m->min);
	m->max = np_pack_real(p, m->max);
}

/* Most bins are empty, so each is preceded by its index. */
static void pack_bins(struct np_pack *p, double *count)
{
	size_t n = 0;

	for (size_t b = 0; count && b < NP_HIST_BINS; b++)
		n += count[b] != 0;
	n = np_pack_count(p, n, count ? NP_HIST_BINS : 0);
	for (size_t b = 0; n; b++, n--) {
		while (p->f && count[b] == 0)
			b++;
		b = np_pack_count(p, b, NP_HIST_BINS - 1);
		count[b] = np_pack_real(p, count[b]);
	}
}

/* Write or read e, which is all zero before reading.  Returns 0 or -ENOMEM. */
static int pack_summary(struct np_pack *p, struct np_run_summary *e,
			size_t n_levels)
{
	const char *rails;

	for (int use = 0; use < NP_RUN_USES; use++)
		e->count[use] = np_pack_count(p, e->count[use], SIZE_MAX);
	e->n_used = np_pack_count(p, e->n_used, SIZE_MAX);
	e->latency.n_runs = np_pack_count(p, e->latency.n_runs, SIZE_MAX);
	e->latency.other_period = np_pack_count(p, e->latency.other_period, 1);
	pack_moments(p, &e->latency.moments);
	if (np_pack_count(p, e->bin_count != NULL, 1) && !p->f) {
		e->bin_count = calloc(NP_HIST_BINS, sizeof(*e->bin_count));
		if (!e->bin_count)
			return -ENOMEM;
	}
	pack_bins(p, e->bin_count);
	e->n_levels = np_pack_count(p, e->n_levels, n_levels);
	p->bad |= e->n_levels != n_levels;
	rails = np_pack_text(p, e->rails);
	if (!p->f && rails && *rails && !(e->rails = strdup(rails)))
		return -ENOMEM;
	if (!p->f)
		e->mean = calloc(2 * n_levels + 1, sizeof(*e->mean));
	if (!e->mean)
		return -ENOMEM;
	for (size_t i = 0; i < 2 * n_levels; i++)
		e->mean[i] = np_pack_mean(p, e->mean[i]);
	return 0;
}

void np_run_summary_pack(FILE *f, const struct np_run_summary *e)
{
	struct np_pack p = { .f = f };
	struct np_run_summary same = *e;

	pack_summary(&p, &same, e->n_levels);
}

/* Restore the models' view of it. */
static void restore_program(struct np_run_summary *e, const char *name)
{
	for (size_t i = 0; i < e->n_levels; i++) {
		e->n_curve += np_mean_known(&e->mean[i]);
		e->n_impact += np_mean_known(&e->mean[e->n_levels + i]);
	}
	e->program = (struct np_program){
		.name = name,
		.latency = { e->latency.moments, e->bin_count },
		.curve = e->n_curve ? e->mean : NULL,
		.impact = e->n_impact ? e->mean + e->n_levels : NULL,
		.rails = e->rails,
	};
}

int np_run_summary_unpack(struct np_pack *p, const struct np_fabric *fabric,
			  const char *name, struct np_run_summary *out)
{
	struct np_run_summary e = { .n_used = 0 };
	int rc = pack_summary(p, &e, fabric->n_levels);

	p->bad |= e.bin_count && !np_bins_equal(fabric->bins, np_bins_own());
	if (!rc)
		restore_program(&e, name);
	if (!rc && (p->bad || np_program_check(&e.program, fabric, NULL)))
		rc = -EINVAL;
	if (rc)
		np_run_summary_free(&e);
	else
		*out = e;
	return rc;
}

/* ---- runs that a sensitivity curve has so far ---- */

/*
 * The impact of a level on others: the mean over the victims of
 * log(1 + slowdown); NaN: not measured.
 */
static double level_impact(const struct np_fabric *f, size_t level)
{
	double sum = 0;
	size_t n = 0;

	for (size_t v = 0; f->pairs && v < f->n_levels; v++) {
		const struct np_mean *m = &f->pairs[v * f->n_levels + level];

		if (np_mean_known(m) && m->mean > -1) {
			sum += log1p(m->mean);
			n++;
		}
	}
	return n ? sum / (double)n : NAN;
}

int np_curve_levels_make(const struct np_calibration *c,
			 struct np_curve_levels *out)
{
	size_t n = c ? c->fabric->n_levels : np_n_levels;
	struct np_curve_levels l = {
		.name = calloc(n + 1, sizeof(*l.name)),
		.level = calloc(n + 1, sizeof(*l.level)),
		.n = n,
	};

	if (!l.name || !l.level) {
		np_curve_levels_free(&l);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++) {
		l.name[i] = c ? c->fabric->level[i].name : np_levels[i].name;
		l.level[i].impact = c ? level_impact(c->fabric, i) : (double)i;
	}
	*out = l;
	return 0;
}

void np_curve_levels_free(struct np_curve_levels *l)
{
	free(l->name);
	free(l->level);
	*l = (struct np_curve_levels){ .n = 0 };
}

/* Is it this level, at this scope (NULL: any)? */
static bool is_level_at(const char *name, const char *at, const char *want_name,
			const char *want_scope)
{
	return !strcmp(name, want_name) &&
	       (!want_scope || !strcmp(at, want_scope));
}

/* Runs of the workload that have not ended yet; name NULL: without a level. */
static uint32_t count_under_way(const struct np_run_summary *e,
				const struct np_runs *runs, const char *name,
				const char *scope)
{
	uint32_t n = 0;

	for (size_t i = 0; i < runs->n; i++) {
		const struct np_record *r = runs->run[i];
		const struct np_level_run *l = r->level;

		if (e->use[i] != NP_RUN_UNDER_WAY || !e->fingerprint ||
		    !r->fingerprint || strcmp(r->fingerprint, e->fingerprint))
			continue;
		n += name ? l && is_level_at(l->name, l->scope, name, scope) :
			    !l;
	}
	return n;
}

void np_curve_count(const struct np_run_summary *e, const struct np_runs *runs,
		    const char *scope, struct np_curve_levels *l,
		    struct np_mean *alone)
{
	for (size_t i = 0; i < l->n; i++) {
		struct np_mean *m = &l->level[i].run_sec;

		*m = (struct np_mean){ 0 };
		for (size_t k = 0; k < e->n_levels; k++)
			if (is_level_at(e->level[k].name, e->level[k].scope,
					l->name[i], scope))
				*m = e->level[k].run_sec;
		m->n += count_under_way(e, runs, l->name[i], scope);
	}
	*alone = e->alone_sec;
	alone->n += count_under_way(e, runs, NULL, NULL);
}
