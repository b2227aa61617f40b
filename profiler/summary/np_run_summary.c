/*
 * Run summaries: samples, intervals inside runs, which runs count, levels,
 * latencies, and what of them models and levels still to be measured need.
 */
#include "np_run_summary.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "np_array.h"
#include "np_moments.h"
#include "np_text.h"
#include "np_topo.h"

/* What runs are compared with; "", 0 and NULL match any run. */
struct np_summary_fabric {
	const char *cluster, *transport, *scope;
	const char *rails; /* that the program loads */
	uint32_t message_bytes;
	double period_sec;
};

/* ---- samples ---- */

/*
 * A list of different rails. A hostile record may name a rail of its own for
 * each of thousands of leaf switches, so those beyond NP_RAILS_MAX, of which no
 * cluster has more, are ignored.
 */
struct rails {
	const char *name[NP_RAILS_MAX];
	size_t n;
};

/* Add a rail. Returns false if it is in the list already, or ignored. */
static bool add_rail(struct rails *rails, const char *name)
{
	for (size_t i = 0; i < rails->n; i++)
		if (!strcmp(rails->name[i], name))
			return false;
	if (rails->n == NP_RAILS_MAX)
		return false;
	rails->name[rails->n++] = name;
	return true;
}

/* rail NULL: any. */
static bool is_on(const struct np_leaf_run *leaf, const char *rail)
{
	return !rail || (leaf->rail && !strcmp(leaf->rail, rail));
}

struct np_moments np_run_rail_latency(const struct np_record *record,
				      const char *rail)
{
	struct np_moments moments = { 0 };

	for (size_t i = 0; i < record->n_leaves; i++)
		if (is_on(&record->leaves[i], rail))
			np_moments_merge(&moments, &record->leaves[i].latency);
	return moments;
}

/* Are bytes of load levels on the program's own nodes among those counted? */
static bool counts_a_level(const struct np_record *record)
{
	return (record->level && !strcmp(record->level->scope, "node")) ||
	       (record->intervals_scope &&
		!strcmp(record->intervals_scope, "node"));
}

bool np_run_loads_rail(const struct np_record *record, const char *rail)
{
	double node_sec = 0, bytes = 0;

	if (counts_a_level(record))
		return true;
	for (size_t i = 0; i < record->n_leaves; i++)
		if (is_on(&record->leaves[i], rail) &&
		    record->leaves[i].traffic) {
			node_sec += record->leaves[i].traffic->node_sec;
			bytes += record->leaves[i].traffic->bytes;
		}
	return !(node_sec > 0) || bytes >= NP_QUIET_RATE * node_sec;
}

/* Does it load any rail? */
static bool loads_some_rail(const struct np_record *record)
{
	struct rails rails = { .n = 0 };

	for (size_t i = 0; i < record->n_leaves; i++) {
		const char *rail = record->leaves[i].rail;

		if (rail && add_rail(&rails, rail) &&
		    np_run_loads_rail(record, rail))
			return true;
	}
	return false;
}

const char *np_run_rail(const struct np_record *record)
{
	bool of_loaded = loads_some_rail(record);
	struct rails rails = { .n = 0 };
	const char *busiest = NULL;
	double most = 0;

	for (size_t i = 0; i < record->n_leaves; i++) {
		const char *rail = record->leaves[i].rail;
		struct np_moments moments;

		if (!rail || !record->leaves[i].latency.n ||
		    !add_rail(&rails, rail) ||
		    (of_loaded && !np_run_loads_rail(record, rail)))
			continue;
		moments = np_run_rail_latency(record, rail);
		if (!busiest || moments.mean > most * moments.min) {
			busiest = rail;
			most = moments.mean / moments.min;
		}
	}
	return busiest;
}

struct np_moments np_run_latency(const struct np_record *record)
{
	return np_run_rail_latency(record, np_run_rail(record));
}

void np_run_add_hist(const struct np_record *record, struct np_hist *to)
{
	const char *rail = np_run_rail(record);

	for (size_t i = 0; i < record->n_leaves; i++)
		if (record->leaves[i].hist && is_on(&record->leaves[i], rail))
			np_hist_merge(to, record->leaves[i].hist);
}

bool np_run_has_neighbours(const struct np_record *record)
{
	for (size_t i = 0; i < record->n_neighbours; i++)
		if (record->neighbours[i].overlap_sec > 0)
			return true;
	return false;
}

struct np_series *np_run_windows(const struct np_record *record)
{
	const char *rail = np_run_rail(record);
	struct np_series *all = NULL;
	double width = 0;

	for (size_t i = 0; i < record->n_leaves; i++)
		if (record->leaves[i].windows &&
		    is_on(&record->leaves[i], rail))
			width = fmax(width,
				     record->leaves[i].windows->width_sec);
	if (width > 0)
		all = malloc(sizeof(*all));
	if (!all)
		return NULL;
	np_series_init(all, width);
	for (size_t i = 0; i < record->n_leaves; i++) {
		const struct np_series *series =
			is_on(&record->leaves[i], rail) ?
				record->leaves[i].windows :
				NULL;

		for (size_t k = 0; series && k < series->n; k++)
			if (series->w[k].n)
				np_series_add(all,
					      ((double)k + 0.5) *
						      series->width_sec,
					      &series->w[k]);
	}
	return all;
}

static const char *const sources[] = {
	[NP_SOURCE_RUN] = "run",
	[NP_SOURCE_CALIBRATION] = "calibration",
	[NP_SOURCE_QUIET] = "quiet",
};

const char *np_sample_source_name(enum np_sample_source source)
{
	return sources[source];
}

/* Where the latencies of a record are from. */
static enum np_sample_source source_of(const struct np_record *record)
{
	if (!record->source)
		return NP_SOURCE_RUN;
	return strcmp(record->source, sources[NP_SOURCE_CALIBRATION]) ?
		       NP_SOURCE_QUIET :
		       NP_SOURCE_CALIBRATION;
}

/*
 * Add a run's counters of one adapter to those of the same name. Returns 0 or
 * -ENOMEM.
 */
static int add_nic(struct np_sample *sample, const struct np_nic_run *run)
{
	struct np_sample_nic *nic;
	size_t i = 0;

	while (i < sample->n_nics && strcmp(sample->nic[i].device, run->device))
		i++;
	if (i == NP_RECORD_MAX_NICS ||
	    strlen(run->device) >= sizeof(nic->device))
		return 0;
	if (i == sample->n_nics &&
	    np_array_grow(&sample->nic, i, sizeof(*sample->nic)))
		return -ENOMEM;
	nic = &sample->nic[i];
	if (i == sample->n_nics) {
		sample->n_nics++;
		strcpy(nic->device, run->device);
		nic->node_sec = 0;
		for (size_t k = 0; k < NP_NIC_KINDS; k++)
			nic->n[k] = NAN;
	}
	nic->node_sec += run->node_sec;
	for (size_t k = 0; k < NP_NIC_KINDS; k++)
		if (!isnan(run->n[k]))
			nic->n[k] =
				(isnan(nic->n[k]) ? 0 : nic->n[k]) + run->n[k];
	return 0;
}

int np_sample_add(struct np_sample *sample, const struct np_record *record)
{
	struct np_moments moments = np_run_latency(record);

	if (!sample->hist)
		sample->hist = np_hist_new();
	if (!sample->hist)
		return -ENOMEM;
	np_moments_merge(&sample->moments, &moments);
	np_run_add_hist(record, sample->hist);
	np_moments_add(&sample->means, moments.mean);
	sample->first = sample->n_runs ? fmin(sample->first, record->start) :
					 record->start;
	sample->last = sample->n_runs ? fmax(sample->last, record->end) :
					record->end;
	sample->period_sec = record->probe.period_sec;
	if (!sample->n_runs)
		sample->source = source_of(record);
	sample->node_sec += record->traffic.node_sec;
	sample->bytes += record->traffic.bytes;
	if (record->traffic.link > 0 &&
	    !(sample->link > 0 && sample->link < record->traffic.link))
		sample->link = record->traffic.link;
	sample->n_runs++;
	for (size_t i = 0; i < record->n_nics; i++)
		if (add_nic(sample, &record->nics[i]))
			return -ENOMEM;
	return 0;
}

void np_sample_free(struct np_sample *sample)
{
	np_hist_free(sample->hist);
	free(sample->nic);
	sample->hist = NULL;
	sample->nic = NULL;
	sample->n_nics = 0;
}

double np_sample_quantile(const struct np_sample *sample, double q)
{
	if (!sample->hist || !sample->moments.n)
		return 0;
	/* A bin is wider than the samples in it. */
	return fmin(fmax(np_hist_quantile(sample->hist, q),
			 sample->moments.min),
		    sample->moments.max);
}

/* ---- measurement intervals ---- */

struct levels {
	const char *const *name, *const *scope;
	size_t n;
};

/* Index of a level, or l->n. */
static size_t find_level(const struct levels *levels, const char *name,
			 const char *scope)
{
	size_t i = 0;

	while (i < levels->n &&
	       (strcmp(levels->name[i], name) ||
		(levels->scope && scope && strcmp(levels->scope[i], scope))))
		i++;
	return i;
}

/* False: the level is not listed, or the interval is damaged. */
static bool convert_interval(const struct np_record *record, size_t i,
			     uint32_t run, const struct levels *levels,
			     struct np_interval *out)
{
	const struct np_run_interval *interval = &record->intervals[i];
	size_t level = interval->level ? find_level(levels, interval->level,
						    record->intervals_scope) :
					 NP_INTERVAL_NO_LEVEL;

	*out = (struct np_interval){ run, level, interval->sec, interval->rate,
				     interval->calls };
	return interval->sec > 0 && interval->rate >= 0 && level != levels->n;
}

int np_run_intervals(const struct np_run_summary *summary,
		     const char *const *name, const char *const *scope,
		     size_t n_names, struct np_interval **out, size_t *n)
{
	const struct levels levels = { name, scope, n_names };
	const struct np_runs *runs = summary->runs;
	struct np_interval *interval;
	size_t total = 0, used = 0;
	uint32_t run = 0;

	for (size_t i = 0; i < runs->n; i++)
		if (summary->use[i] == NP_RUN_INTERVALS)
			total += runs->run[i]->n_intervals;
	interval = calloc(total + 1, sizeof(*interval));
	if (!interval)
		return -ENOMEM;
	for (size_t i = runs->n; i-- > 0;) {
		const struct np_record *record = runs->run[i];

		if (summary->use[i] != NP_RUN_INTERVALS)
			continue;
		for (size_t k = 0; k < record->n_intervals; k++)
			used += convert_interval(record, k, run, &levels,
						 &interval[used]);
		run++;
	}
	*out = interval;
	*n = used;
	return 0;
}

static const struct np_moments *rounds_alone(const struct np_record *record,
					     const char *level,
					     uint32_t n_nodes)
{
	for (size_t i = 0; record->intervals_nodes == n_nodes &&
			   i < record->n_intervals_alone;
	     i++) {
		const struct np_run_interval *interval =
			&record->intervals_alone[i];

		if (interval->level && !strcmp(interval->level, level) &&
		    interval->round_sec.n && interval->round_sec.mean > 0)
			return &interval->round_sec;
	}
	return NULL;
}

const struct np_moments *
np_run_intervals_alone(const struct np_run_summary *summary,
		       const struct np_record *record, const char *level,
		       uint32_t n_nodes)
{
	const struct np_moments *moments =
		record ? rounds_alone(record, level, n_nodes) : NULL;

	for (size_t i = 0; !moments && i < summary->runs->n; i++)
		if (summary->use[i] == NP_RUN_INTERVALS)
			moments = rounds_alone(summary->runs->run[i], level,
					       n_nodes);
	return moments;
}

/* The level's rounds in all intervals of a run under it. */
static struct np_moments run_intervals_under(const struct np_record *record,
					     const char *level)
{
	struct np_moments moments = { 0 };

	for (size_t i = 0; i < record->n_intervals; i++)
		if (record->intervals[i].level &&
		    !strcmp(record->intervals[i].level, level) &&
		    record->intervals[i].round_sec.n)
			np_moments_merge(&moments,
					 &record->intervals[i].round_sec);
	return moments;
}

/* ---- which runs count ---- */

static const struct {
	const char *name, *words;
} use_words[] = {
	[NP_RUN_ALONE] = { "used", "alone" },
	[NP_RUN_UNDER_LEVEL] = { "level", "under a load level" },
	[NP_RUN_TIME] = { "empty", "without latencies" },
	[NP_RUN_LATENCY] = { "used", "for its latencies only" },
	[NP_RUN_INTERVALS] = { "intervals",
			       "with intervals under load levels" },
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

/* Do two texts differ? An unknown one matches any. */
static bool other_text(const char *a, const char *b)
{
	return a && b && *a && *b && strcmp(a, b);
}

/*
 * The same for transports, "tcp/eth0". The device of one of several rails says
 * nothing.
 */
static bool other_transport(const struct np_record *record,
			    const char *transport)
{
	const char *own = record->probe.transport;
	size_t len = own ? strcspn(own, "/") : 0;

	if (!record->n_leaves || !record->leaves[0].rail || !own || !transport)
		return other_text(own, transport);
	return *own && *transport &&
	       (strcspn(transport, "/") != len || memcmp(own, transport, len));
}

/* Is the run of another fabric than the one that is asked for? */
static bool other_fabric(const struct np_record *record,
			 const struct np_summary_fabric *fabric)
{
	return other_text(record->cluster, fabric->cluster) ||
	       other_transport(record, fabric->transport) ||
	       (fabric->message_bytes && record->probe.message_bytes &&
		record->probe.message_bytes != fabric->message_bytes);
}

/* Does the calibration have this level? */
static bool is_calibrated(const char *name, const struct np_fabric *fabric)
{
	for (size_t i = 0; i < fabric->n_levels; i++)
		if (!strcmp(fabric->level[i].name, name))
			return true;
	return false;
}

/*
 * Does the level of a run leave out a rail that the program loads, according to
 * all of its runs? A level of unknown rails counts as one on all of them.
 */
static bool lacks_a_rail(const struct np_record *record, const char *rails)
{
	const char *level = record->level ? record->level->rails :
					    record->intervals_rails;

	for (size_t i = 0; level && i < record->n_leaves; i++) {
		const char *rail = record->leaves[i].rail;

		if (rail && !np_list_has(level, rail, strlen(rail)) &&
		    (!rails || np_list_has(rails, rail, strlen(rail))))
			return true;
	}
	return false;
}

/* What the run can be used for, whatever its workload. */
static enum np_run_use use_of(const struct np_record *record,
			      const struct np_run_summary_opt *opt,
			      const struct np_summary_fabric *fabric)
{
	if (other_fabric(record, fabric))
		return NP_RUN_FABRIC;
	if (record->state == NP_RUN_RUNNING)
		return opt->now - record->end < NP_RUN_SUMMARY_RUNNING_SEC ?
			       NP_RUN_UNDER_WAY :
			       NP_RUN_FAILED;
	if (record->exit_code != 0 || np_record_run_sec(record) <= 0)
		return NP_RUN_FAILED;
	if (record->suspended)
		return NP_RUN_SUSPENDED;
	if (np_run_has_neighbours(record))
		return NP_RUN_NEIGHBOURS;
	if (record->level && fabric->scope &&
	    strcmp(record->level->scope, fabric->scope))
		return NP_RUN_SCOPE;
	if (record->n_intervals && fabric->scope && record->intervals_scope &&
	    strcmp(record->intervals_scope, fabric->scope))
		return NP_RUN_SCOPE;
	if (lacks_a_rail(record, fabric->rails))
		return NP_RUN_RAIL;
	if (record->level && opt->calibration &&
	    !is_calibrated(record->level->name, opt->calibration->fabric))
		return NP_RUN_LEVEL;
	if (record->source && !strcmp(record->app, NP_IDLE_APP))
		return NP_RUN_AUTOMATIC;
	if (!record->fingerprint)
		return NP_RUN_WORKLOAD;
	return record->n_intervals ? NP_RUN_INTERVALS :
	       record->level	   ? NP_RUN_UNDER_LEVEL :
				     NP_RUN_ALONE;
}

/* The workload is chosen among runs that are used as one of mask. */
struct candidates {
	const struct np_runs *runs;
	const enum np_run_use *use;
	unsigned mask;
};

static bool is_of(const struct candidates *candidates, size_t i,
		  const char *fingerprint)
{
	const struct np_record *record = candidates->runs->run[i];

	return candidates->mask & 1u << candidates->use[i] &&
	       record->fingerprint && !strcmp(record->fingerprint, fingerprint);
}

struct workload {
	const char *fingerprint;
	size_t n_levels, n_runs;
};

/* The distinct levels of a workload's runs and intervals; borrowed. */
struct distinct_levels {
	const char *name[NP_FABRIC_MAX_LEVELS], *scope[NP_FABRIC_MAX_LEVELS];
	size_t n;
};

/* Add a level if it is new. name NULL: no level; scope NULL: unknown. */
static void add_level(struct distinct_levels *levels, const char *name,
		      const char *scope)
{
	size_t i = 0;

	if (!name)
		return;
	scope = scope ? scope : "";
	while (i < levels->n && (strcmp(levels->name[i], name) ||
				 strcmp(levels->scope[i], scope)))
		i++;
	if (i < levels->n || i == NP_FABRIC_MAX_LEVELS)
		return;
	levels->name[i] = name;
	levels->scope[i] = scope;
	levels->n++;
}

/* Count the runs and the distinct levels of a workload. */
static struct workload measure_workload(const struct candidates *candidates,
					const char *fingerprint)
{
	struct workload workload = { .fingerprint = fingerprint };
	struct distinct_levels levels;

	levels.n = 0;
	for (size_t i = 0; i < candidates->runs->n; i++) {
		const struct np_record *record = candidates->runs->run[i];

		if (!is_of(candidates, i, fingerprint))
			continue;
		workload.n_runs++;
		if (record->level)
			add_level(&levels, record->level->name,
				  record->level->scope);
		for (size_t k = 0; k < record->n_intervals; k++)
			add_level(&levels, record->intervals[k].level,
				  record->intervals_scope);
	}
	workload.n_levels = levels.n;
	return workload;
}

/* Runs are newest first, so among equal workloads the newest wins. */
static const char *select_workload(const struct candidates *candidates)
{
	struct workload best = { 0 };

	for (size_t i = 0; i < candidates->runs->n; i++) {
		const char *f = candidates->runs->run[i]->fingerprint;
		struct workload workload;
		size_t k = 0;

		if (!f || !is_of(candidates, i, f))
			continue;
		while (k < i && !is_of(candidates, k, f))
			k++;
		if (k < i)
			continue; /* measured already */
		workload = measure_workload(candidates, f);
		if (workload.n_levels > best.n_levels ||
		    (workload.n_levels == best.n_levels &&
		     workload.n_runs > best.n_runs))
			best = workload;
	}
	return best.fingerprint;
}

/* Decide for each run what it is used for. */
static void decide_uses(struct np_run_summary *summary,
			const struct np_run_summary_opt *opt,
			const struct np_summary_fabric *fabric)
{
	const struct np_runs *runs = summary->runs;
	struct candidates candidates = {
		.runs = runs,
		.use = summary->use,
		.mask = 1u << NP_RUN_ALONE | 1u << NP_RUN_UNDER_LEVEL |
			1u << NP_RUN_INTERVALS,
	};

	for (size_t i = 0; i < runs->n; i++)
		summary->use[i] = use_of(runs->run[i], opt, fabric);
	summary->fingerprint = opt->fingerprint ? opt->fingerprint :
						  select_workload(&candidates);
	for (size_t i = 0; i < runs->n; i++) {
		const struct np_record *record = runs->run[i];

		if (candidates.mask & 1u << summary->use[i] &&
		    strcmp(record->fingerprint, summary->fingerprint))
			summary->use[i] = NP_RUN_WORKLOAD;
		else if (summary->use[i] == NP_RUN_ALONE &&
			 !np_run_latency(record).n)
			summary->use[i] = NP_RUN_TIME;
	}
	/* Only pages use these runs. */
	candidates.mask = 1u << NP_RUN_NEIGHBOURS;
	if (!summary->fingerprint && !opt->calibration)
		summary->fingerprint = select_workload(&candidates);
}

/* A run under a level says less about the fabric: the second choice. */
static const struct np_record *newest_measured(const struct np_runs *runs)
{
	const struct np_record *under_level = NULL;

	for (size_t i = 0; i < runs->n; i++) {
		const struct np_record *record = runs->run[i];

		if (record->state == NP_RUN_RUNNING || record->exit_code != 0 ||
		    !np_run_latency(record).n)
			continue;
		if (!record->level)
			return record;
		if (!under_level)
			under_level = record;
	}
	return under_level;
}

/* Is it known which rails a successful run loads? */
static bool has_rails(const struct np_record *record)
{
	for (size_t i = 0; record->exit_code == 0 && i < record->n_leaves; i++)
		if (record->leaves[i].rail && record->leaves[i].traffic &&
		    record->leaves[i].traffic->node_sec > 0 &&
		    !counts_a_level(record))
			return true;
	return false;
}

/* Add the rails that a run loads. */
static void add_loaded_rails(const struct np_record *record,
			     struct rails *loaded)
{
	struct rails rails = { .n = 0 };

	for (size_t i = 0; i < record->n_leaves; i++) {
		const char *rail = record->leaves[i].rail;

		if (rail && add_rail(&rails, rail) &&
		    np_run_loads_rail(record, rail))
			add_rail(loaded, rail);
	}
}

/*
 * The rails that any of the runs loads for which that is known, or of all runs
 * if there is none. NULL: they have no rails, or load none. Returns 0 or
 * -ENOMEM.
 */
static int find_rails(const struct np_runs *runs, char **out)
{
	struct rails loaded = { .n = 0 };
	bool tagged = false;
	size_t len;
	FILE *f;

	*out = NULL;
	for (size_t i = 0; i < runs->n; i++)
		tagged |= has_rails(runs->run[i]);
	for (size_t i = 0; i < runs->n; i++)
		if (!tagged || has_rails(runs->run[i]))
			add_loaded_rails(runs->run[i], &loaded);
	if (!loaded.n)
		return 0;
	f = open_memstream(out, &len);
	if (!f)
		return -ENOMEM;
	for (size_t i = 0; i < loaded.n; i++)
		fprintf(f, "%s%s", i ? "," : "", loaded.name[i]);
	return fclose(f) ? -ENOMEM : 0;
}

/* The fabric to compare runs with: of the calibration, or of a run. */
static struct np_summary_fabric fabric_of(const struct np_run_summary_opt *opt,
					  const struct np_record *newest)
{
	const struct np_calibration *calibration = opt->calibration;
	const struct np_record *record = opt->like ? opt->like : newest;
	struct np_summary_fabric fabric = { .scope = opt->scope };

	if (calibration) {
		fabric.cluster = calibration->cluster;
		fabric.transport = calibration->transport;
		fabric.message_bytes = calibration->message_bytes;
		fabric.period_sec = calibration->period_sec;
		fabric.scope = opt->scope ? opt->scope :
					    np_scope_name(calibration->scope);
	} else if (record) {
		fabric.cluster = record->cluster;
		fabric.transport = record->probe.transport;
		fabric.message_bytes = record->probe.message_bytes;
		fabric.period_sec = opt->like ? record->probe.period_sec : 0;
	}
	return fabric;
}

/* ---- levels ---- */

/* Order of levels: by name, then by scope. */
static int by_name(const void *a, const void *b)
{
	const struct np_run_summary_level *x = a, *y = b;
	int diff = strcmp(x->name, y->name);

	return diff ? diff : strcmp(x->scope, y->scope);
}

/* Order of levels: by utilisation, then by name and scope. */
static int by_utilisation(const void *a, const void *b)
{
	const struct np_run_summary_level *x = a, *y = b;
	int diff = np_utilisation_compare(x->utilisation, y->utilisation);

	return diff ? diff : by_name(a, b);
}

/* Append the levels of a run's intervals to the list. */
static size_t list_intervals(struct np_run_summary *summary,
			     const struct np_record *record, size_t n)
{
	for (size_t k = 0; k < record->n_intervals; k++)
		if (record->intervals[k].level)
			summary->level[n++] = (struct np_run_summary_level){
				.name = record->intervals[k].level,
				.scope = record->intervals_scope ?
						 record->intervals_scope :
						 "",
			};
	return n;
}

/* The index of a run's level in the list, or n_levels. */
static size_t level_of(const struct np_run_summary *summary,
		       const struct np_record *record)
{
	size_t i = 0;

	while (i < summary->n_levels &&
	       (strcmp(summary->level[i].name, record->level->name) ||
		strcmp(summary->level[i].scope, record->level->scope)))
		i++;
	return i;
}

/* Leave out the runs under levels that were too many for the list. */
static void drop_unlisted(struct np_run_summary *summary)
{
	for (size_t i = 0; i < summary->runs->n; i++)
		if (summary->use[i] == NP_RUN_UNDER_LEVEL &&
		    level_of(summary, summary->runs->run[i]) ==
			    summary->n_levels)
			summary->use[i] = NP_RUN_LEVEL;
}

/*
 * List the calibration's levels, or each level that occurs once. As hostile
 * records may name hundreds of thousands, there are at most as many of these as
 * a calibration may have.
 */
static int find_levels(struct np_run_summary *summary,
		       const struct np_run_summary_opt *opt, const char *scope)
{
	const struct np_fabric *fabric =
		opt->calibration ? opt->calibration->fabric : NULL;
	const struct np_runs *runs = summary->runs;
	size_t n = 0, room = runs->n;

	for (size_t i = 0; i < runs->n; i++)
		room += runs->run[i]->n_intervals;
	summary->level = calloc((fabric ? fabric->n_levels : room) + 1,
				sizeof(*summary->level));
	if (!summary->level)
		return -ENOMEM;
	for (size_t i = 0; fabric && i < fabric->n_levels; i++)
		summary->level[n++] = (struct np_run_summary_level){
			.name = fabric->level[i].name,
			.scope = scope,
		};
	for (size_t i = 0; !fabric && i < runs->n; i++)
		if (summary->use[i] == NP_RUN_UNDER_LEVEL)
			summary->level[n++] = (struct np_run_summary_level){
				.name = runs->run[i]->level->name,
				.scope = runs->run[i]->level->scope,
			};
		else if (summary->use[i] == NP_RUN_INTERVALS)
			n = list_intervals(summary, runs->run[i], n);
	if (!fabric && n)
		qsort(summary->level, n, sizeof(*summary->level), by_name);
	for (size_t i = 0; i < n && summary->n_levels < NP_FABRIC_MAX_LEVELS;
	     i++)
		if (fabric || !summary->n_levels ||
		    by_name(&summary->level[summary->n_levels - 1],
			    &summary->level[i]))
			summary->level[summary->n_levels++] = summary->level[i];
	if (summary->n_levels == NP_FABRIC_MAX_LEVELS)
		drop_unlisted(summary);
	for (size_t i = 0; i < summary->n_levels; i++)
		summary->level[i].utilisation = np_fabric_utilisation(
			fabric ? fabric : opt->level_fabric,
			summary->level[i].name);
	if (!fabric && n)
		qsort(summary->level, summary->n_levels,
		      sizeof(*summary->level), by_utilisation);
	return 0;
}

/* Relative variance of one run time; NaN: not repeated. */
static double relative_variance(const struct np_moments *moments)
{
	return moments->n > 1 ? np_moments_var(moments) /
					(moments->mean * moments->mean) :
				NAN;
}

/*
 * Standard deviation of one slowdown, such that the error of the mean is
 * sd / sqrt(n). All n runs share the time alone, hence its weight. If one of
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
 * The duration of a round of this level alone. Slowdowns in the calibration are
 * relative to its own rounds alone, and slowdowns that are compared with them
 * must be, too: short rounds take longer the deeper processors sleep when the
 * level runs alone, and hardly so under traffic. The value of the run is used
 * if the calibration has none for a ring of this size, or if the nodes are of
 * another kind.
 */
static double alone_round(const struct np_calibration *calibration,
			  size_t level, size_t n_processes, double own_sec)
{
	const struct np_mean *mean =
		calibration && calibration->alone_round_sec ?
			&calibration->alone_round_sec[level] :
			NULL;

	if (!mean || !np_mean_known(mean) ||
	    calibration->n_alone_nodes != n_processes ||
	    own_sec > OTHER_NODES * mean->mean ||
	    (own_sec > 0 && own_sec < mean->mean / OTHER_NODES))
		return own_sec;
	return mean->mean;
}

/*
 * Record how much a run slowed a level. 0 s means that such rounds are unknown.
 */
static void add_rounds(struct times *times, size_t level, size_t n_processes,
		       double alone_sec, double loaded_sec)
{
	alone_sec =
		alone_round(times->calibration, level, n_processes, alone_sec);
	if (alone_sec > 0 && loaded_sec > 0)
		np_moments_add(&times->impact[level],
			       loaded_sec / alone_sec - 1);
}

/*
 * Find a level's rounds alone for a run: its own, or else those of another run
 * on as many nodes; NULL: unknown. alone[] has the own ones of each run.
 */
static const struct np_moments *
find_alone(const struct np_runs *runs, const struct np_moments *const *alone,
	   size_t run)
{
	const struct np_moments *found = alone[run];
	uint32_t n_nodes = runs->run[run]->intervals_nodes;

	for (size_t i = 0; !found && i < runs->n; i++)
		if (runs->run[i]->intervals_nodes == n_nodes)
			found = alone[i];
	return found;
}

/*
 * Record how much the runs with intervals slowed a level. alone[] has room for
 * a pointer for each run: each run is searched for the level only once, because
 * all of them may have thousands of intervals.
 */
static void add_impact(const struct np_run_summary *summary, size_t level,
		       const struct np_moments **alone, struct times *times)
{
	const struct np_runs *runs = summary->runs;
	const char *name = summary->level[level].name;

	for (size_t i = 0; i < runs->n; i++)
		alone[i] = summary->use[i] == NP_RUN_INTERVALS ?
				   rounds_alone(runs->run[i], name,
						runs->run[i]->intervals_nodes) :
				   NULL;
	for (size_t i = 0; i < runs->n; i++) {
		const struct np_record *record = runs->run[i];
		const struct np_moments *of_run;
		struct np_moments loaded;

		if (summary->use[i] != NP_RUN_INTERVALS)
			continue;
		loaded = run_intervals_under(record, name);
		if (!loaded.n)
			continue;
		of_run = find_alone(runs, alone, i);
		add_rounds(times, level, record->intervals_nodes,
			   of_run ? of_run->mean : 0, loaded.mean);
	}
}

/* Sort the run times of all used runs by level. alone: as for add_impact(). */
static void add_times(const struct np_run_summary *summary,
		      const struct np_moments **alone, struct times *times)
{
	for (size_t i = 0; i < summary->n_levels; i++)
		add_impact(summary, i, alone, times);
	for (size_t i = 0; i < summary->runs->n; i++) {
		const struct np_record *record = summary->runs->run[i];
		const struct np_level_run *run = record->level;
		size_t level;

		if (summary->use[i] == NP_RUN_ALONE ||
		    summary->use[i] == NP_RUN_TIME)
			np_moments_add(&times->alone,
				       np_record_run_sec(record));
		if (summary->use[i] == NP_RUN_INTERVALS)
			np_moments_add(&times->intervals,
				       np_record_run_sec(record));
		if (summary->use[i] != NP_RUN_UNDER_LEVEL)
			continue;
		level = level_of(summary, record);
		np_moments_add(&times->loaded[level],
			       np_record_run_sec(record));
		if (run->loaded_round_sec.n)
			add_rounds(times, level, run->n_processes,
				   run->alone_round_sec.n ?
					   run->alone_round_sec.mean :
					   0,
				   run->loaded_round_sec.mean);
	}
}

/* The error of a mean over runs is at least the scatter between runs. */
static double error_of_runs(const struct np_run_summary *summary,
			    const struct np_mean *mean)
{
	return fmax(np_noise_of_mean(mean, summary->noise),
		    summary->intervals.between / sqrt(mean->n));
}

/* Use intervals if they are more precise than runs, or the only source. */
static void use_intervals(struct np_run_summary *summary,
			  const struct np_one_run_level *intervals)
{
	for (size_t i = 0; i < summary->n_levels; i++) {
		struct np_run_summary_level *level = &summary->level[i];
		const struct np_one_run_level *run_level = &intervals[i];

		if (!np_mean_known(&run_level->slowdown) ||
		    (np_mean_known(&level->slowdown) &&
		     error_of_runs(summary, &level->slowdown) <=
			     run_level->error))
			continue;
		summary->n_curve += !np_mean_known(&level->slowdown);
		summary->mean[i] = level->slowdown = run_level->slowdown;
		level->low = run_level->low;
		level->high = run_level->high;
		level->of_intervals = true;
	}
}

/* Estimate slowdowns from intervals inside runs, where there are some. */
static int add_intervals(struct np_run_summary *summary)
{
	struct np_one_run_level *level =
		calloc(summary->n_levels + 1, sizeof(*level));
	const char **name = calloc(2 * summary->n_levels + 1, sizeof(*name));
	const char **scope = name ? name + summary->n_levels : NULL;
	struct np_interval *interval = NULL;
	size_t n = 0;
	int rc = level && name ? 0 : -ENOMEM;

	for (size_t i = 0; !rc && i < summary->n_levels; i++) {
		name[i] = summary->level[i].name;
		scope[i] = summary->level[i].scope;
	}
	if (!rc)
		rc = np_run_intervals(summary, name, scope, summary->n_levels,
				      &interval, &n);
	if (!rc)
		rc = np_one_run_estimate(interval, n, summary->mean, level,
					 summary->n_levels,
					 &summary->intervals);
	if (!rc && summary->intervals.verdict == NP_ONE_RUN_USABLE)
		use_intervals(summary, level);
	free(level);
	free(name);
	free(interval);
	return rc;
}

/* Fill in what whole runs say about each level. */
static void fill_levels(struct np_run_summary *summary,
			const struct times *times)
{
	size_t n = summary->n_levels;

	summary->alone_sec = np_mean_of(&times->alone);
	summary->intervals_longer =
		times->alone.n && times->intervals.n ?
			times->intervals.mean / times->alone.mean - 1 :
			NAN;
	for (size_t i = 0; i < n; i++) {
		struct np_run_summary_level *level = &summary->level[i];

		level->run_sec = np_mean_of(&times->loaded[i]);
		summary->mean[i] = level->slowdown =
			mean_slowdown(&times->alone, &times->loaded[i]);
		summary->mean[n + i] = level->impact =
			np_mean_of(&times->impact[i]);
		summary->n_curve += np_mean_known(&level->slowdown);
		summary->n_impact += np_mean_known(&level->impact);
	}
	/* The scatter of run times is a property of the program, not of one
	 * level. */
	summary->noise = np_noise_pooled(summary->mean, n);
	for (size_t i = 0; i < n; i++)
		if (np_mean_known(&summary->mean[i]))
			np_noise_interval(&summary->mean[i], summary->noise,
					  &summary->level[i].low,
					  &summary->level[i].high);
}

/* The sensitivity curve, and the slowdown of the levels' own rounds. */
static int make_curve(struct np_run_summary *summary,
		      const struct np_calibration *calibration)
{
	size_t n = summary->n_levels;
	struct np_moments *moments = calloc(2 * n + 1, sizeof(*moments));
	const struct np_moments **alone =
		calloc(summary->runs->n + 1, sizeof(*alone));
	struct times times = { .calibration = calibration,
			       .loaded = moments,
			       .impact = moments + n };
	int rc = -ENOMEM;

	summary->mean = calloc(2 * n + 1, sizeof(*summary->mean));
	if (moments && alone && summary->mean) {
		add_times(summary, alone, &times);
		fill_levels(summary, &times);
		rc = add_intervals(summary);
	}
	free(moments);
	free(alone);
	return rc;
}

/* ---- latencies ---- */

/* A processor that sleeps longer between probes takes longer to wake up. */
static bool other_period(const struct np_record *record, double period_sec)
{
	double x = record->probe.period_sec;

	return period_sec > 0 &&
	       fabs(x - period_sec) > 1e-3 * fmax(x, period_sec);
}

/* Rank of a run's latencies, a sum: only those of the lowest rank are used. */
#define RANK_WORKLOAD 16u  /* of an unknown workload */
#define RANK_PERIOD 8u	   /* the probes had another period */
#define RANK_NEIGHBOURS 4u /* other jobs shared the leaf switches */
#define RANK_SOURCE 3u	   /* of idle latencies: enum np_sample_source */
#define RANK_NONE 32u

struct latencies {
	struct np_run_summary *summary;
	bool for_models;
	double period_sec;
};

/* The rank of a run's latencies; RANK_NONE: they cannot be used. */
static unsigned rank_of(const struct latencies *latencies, size_t i)
{
	const struct np_run_summary *summary = latencies->summary;
	const struct np_record *record = summary->runs->run[i];
	const char *of = summary->fingerprint;
	enum np_run_use use = summary->use[i];
	unsigned rank = 0;

	if (record->level || !np_run_latency(record).n)
		return RANK_NONE;
	if (use == NP_RUN_NEIGHBOURS && !latencies->for_models)
		rank |= RANK_NEIGHBOURS;
	else if (use != NP_RUN_ALONE && use != NP_RUN_INTERVALS &&
		 use != NP_RUN_WORKLOAD && use != NP_RUN_AUTOMATIC)
		return RANK_NONE;
	if (!summary->is_idle && !record->fingerprint)
		rank |= RANK_WORKLOAD;
	else if (!summary->is_idle && !(of && !strcmp(record->fingerprint, of)))
		return RANK_NONE;
	if (other_period(record, latencies->period_sec))
		rank |= RANK_PERIOD;
	if (summary->is_idle)
		rank |= source_of(record);
	return rank;
}

/*
 * Nodes that nobody measured may have been busy during quiet intervals, so only
 * intervals with about the latency of the fastest ones count.
 */
#define QUIET_RATIO 2.0

/* Median under the slowest leaf switch; a mean follows a few late probes. */
static double median_of(const struct np_record *record)
{
	const char *rail = np_run_rail(record);
	double sec = 0;

	for (size_t i = 0; i < record->n_leaves; i++)
		if (record->leaves[i].hist && record->leaves[i].latency.n &&
		    is_on(&record->leaves[i], rail))
			sec = fmax(sec, np_hist_quantile(record->leaves[i].hist,
							 0.5));
	return sec;
}

/* The largest median latency that still counts, for quiet intervals. */
static double slowest_of(const struct latencies *latencies, unsigned rank)
{
	const struct np_runs *runs = latencies->summary->runs;
	double fastest = INFINITY;

	if (!(rank & RANK_SOURCE))
		return INFINITY;
	for (size_t i = 0; i < runs->n; i++)
		if (rank_of(latencies, i) == rank)
			fastest = fmin(fastest, median_of(runs->run[i]));
	return QUIET_RATIO * fastest;
}

/* Merge the latencies of all runs of the lowest rank. */
static int use_latencies(const struct latencies *latencies)
{
	struct np_run_summary *summary = latencies->summary;
	const struct np_runs *runs = summary->runs;
	unsigned best = RANK_NONE;
	double slowest;
	int rc = 0;

	for (size_t i = 0; i < runs->n; i++)
		if (rank_of(latencies, i) < best)
			best = rank_of(latencies, i);
	slowest = slowest_of(latencies, best);
	for (size_t i = 0; !rc && best < RANK_NONE && i < runs->n; i++) {
		const struct np_record *record = runs->run[i];

		if (rank_of(latencies, i) != best ||
		    median_of(record) > slowest)
			continue;
		rc = np_sample_add(&summary->latency, record);
		if (summary->use[i] != NP_RUN_ALONE &&
		    summary->use[i] != NP_RUN_INTERVALS)
			summary->use[i] = NP_RUN_LATENCY;
	}
	summary->latency_sec = np_mean_of(&summary->latency.means);
	summary->latency.neighbours = best & RANK_NEIGHBOURS;
	summary->latency.other_period = best & RANK_PERIOD;
	return rc;
}

/* ---- for the models ---- */

/* Set the models' view of the application, which has this name. */
static void set_program(struct np_run_summary *summary, const char *name)
{
	summary->program = (struct np_program){
		.name = name,
		.latency = { summary->latency.moments, summary->bin_count },
		.curve = summary->n_curve ? summary->mean : NULL,
		.impact = summary->n_impact ?
				  summary->mean + summary->n_levels :
				  NULL,
		.rails = summary->rails,
	};
}

/* Make the models' view of the application. */
static int make_program(struct np_run_summary *summary,
			const struct np_bins *bins)
{
	if (summary->latency.n_runs && np_bins_equal(bins, np_bins_own())) {
		summary->bin_count =
			calloc(NP_HIST_BINS, sizeof(*summary->bin_count));
		if (!summary->bin_count)
			return -ENOMEM;
		for (size_t b = 0; b < NP_HIST_BINS; b++)
			summary->bin_count[b] =
				(double)np_hist_count(summary->latency.hist, b);
	}
	set_program(summary, summary->program.name);
	return 0;
}

int np_run_summary_make(const struct np_runs *runs,
			const struct np_run_summary_opt *opt,
			struct np_run_summary *out)
{
	static const struct np_run_summary_opt nothing = { .now = 0 };
	struct np_run_summary summary = {
		.runs = runs,
		.is_idle = !strcmp(runs->app, NP_IDLE_APP),
		.program = { .name = runs->app },
	};
	struct latencies latencies = { .summary = &summary };
	struct np_summary_fabric fabric;
	int rc;

	opt = opt ? opt : &nothing;
	summary.use = calloc(runs->n + 1, sizeof(*summary.use));
	if (!summary.use)
		return -ENOMEM;
	if (!opt->calibration && !opt->like)
		summary.fabric = newest_measured(runs);
	fabric = fabric_of(opt, summary.fabric);
	if (find_rails(runs, &summary.rails)) {
		np_run_summary_free(&summary);
		return -ENOMEM;
	}
	fabric.rails = summary.rails;
	decide_uses(&summary, opt, &fabric);
	rc = find_levels(&summary, opt, fabric.scope);
	if (!rc)
		rc = make_curve(&summary, opt->calibration);
	latencies.for_models = opt->calibration;
	latencies.period_sec = fabric.period_sec;
	if (!rc)
		rc = use_latencies(&latencies);
	for (size_t i = 0; i < runs->n; i++) {
		summary.count[summary.use[i]]++;
		summary.n_used += summary.use[i] < NP_RUN_FABRIC;
	}
	if (!rc && opt->calibration)
		rc = make_program(&summary, opt->calibration->fabric->bins);
	if (rc)
		np_run_summary_free(&summary);
	else
		*out = summary;
	return rc;
}

void np_run_summary_detach(struct np_run_summary *summary, const char *name)
{
	summary->program.name = name;
	summary->runs = NULL;
	summary->fingerprint = NULL;
	summary->fabric = NULL;
	free(summary->use);
	free(summary->level);
	np_sample_free(&summary->latency);
	summary->use = NULL;
	summary->level = NULL;
}

bool np_run_summary_has_data(const struct np_run_summary *summary)
{
	return summary->n_curve || summary->n_impact ||
	       summary->program.latency.all.n;
}

void np_run_summary_free(struct np_run_summary *summary)
{
	free(summary->use);
	free(summary->level);
	free(summary->mean);
	free(summary->bin_count);
	free(summary->rails);
	np_sample_free(&summary->latency);
	np_sample_free(&summary->idle);
	*summary = (struct np_run_summary){ .use = NULL };
}

/* ---- in few bytes, for the cache (np_cache.h) ---- */

static void pack_moments(struct np_pack *pack, struct np_moments *moments)
{
	moments->n = np_pack_count(pack, moments->n, UINT64_MAX);
	moments->mean = np_pack_real(pack, moments->mean);
	moments->m2 = np_pack_real(pack, moments->m2);
	moments->min = np_pack_real(pack, moments->min);
	moments->max = np_pack_real(pack, moments->max);
}

/* Most bins are empty, so each is preceded by its index. */
static void pack_bins(struct np_pack *pack, double *count)
{
	size_t n = 0;

	for (size_t b = 0; count && b < NP_HIST_BINS; b++)
		n += count[b] != 0;
	n = np_pack_count(pack, n, count ? NP_HIST_BINS : 0);
	for (size_t b = 0; n; b++, n--) {
		while (pack->f && count[b] == 0)
			b++;
		b = np_pack_count(pack, b, NP_HIST_BINS - 1);
		count[b] = np_pack_real(pack, count[b]);
	}
}

/*
 * Write or read a summary, which is all zero before reading. Returns 0 or
 * -ENOMEM.
 */
static int pack_summary(struct np_pack *pack, struct np_run_summary *summary,
			size_t n_levels)
{
	const char *rails;

	for (int use = 0; use < NP_RUN_USES; use++)
		summary->count[use] =
			np_pack_count(pack, summary->count[use], SIZE_MAX);
	summary->n_used = np_pack_count(pack, summary->n_used, SIZE_MAX);
	summary->latency.n_runs =
		np_pack_count(pack, summary->latency.n_runs, SIZE_MAX);
	summary->latency.other_period =
		np_pack_count(pack, summary->latency.other_period, 1);
	pack_moments(pack, &summary->latency.moments);
	if (np_pack_count(pack, summary->bin_count != NULL, 1) && !pack->f) {
		summary->bin_count =
			calloc(NP_HIST_BINS, sizeof(*summary->bin_count));
		if (!summary->bin_count)
			return -ENOMEM;
	}
	pack_bins(pack, summary->bin_count);
	summary->n_levels = np_pack_count(pack, summary->n_levels, n_levels);
	pack->bad |= summary->n_levels != n_levels;
	rails = np_pack_text(pack, summary->rails);
	if (!pack->f && rails && *rails && !(summary->rails = strdup(rails)))
		return -ENOMEM;
	if (!pack->f)
		summary->mean =
			calloc(2 * n_levels + 1, sizeof(*summary->mean));
	if (!summary->mean)
		return -ENOMEM;
	for (size_t i = 0; i < 2 * n_levels; i++)
		summary->mean[i] = np_pack_mean(pack, summary->mean[i]);
	return 0;
}

void np_run_summary_pack(FILE *f, const struct np_run_summary *summary)
{
	struct np_pack pack = { .f = f };
	struct np_run_summary same = *summary;

	pack_summary(&pack, &same, summary->n_levels);
}

/* Restore the models' view of it. */
static void restore_program(struct np_run_summary *summary, const char *name)
{
	for (size_t i = 0; i < summary->n_levels; i++) {
		summary->n_curve += np_mean_known(&summary->mean[i]);
		summary->n_impact +=
			np_mean_known(&summary->mean[summary->n_levels + i]);
	}
	set_program(summary, name);
}

int np_run_summary_unpack(struct np_pack *pack, const struct np_fabric *fabric,
			  const char *name, struct np_run_summary *out)
{
	struct np_run_summary summary = { .n_used = 0 };
	int rc = pack_summary(pack, &summary, fabric->n_levels);

	pack->bad |= summary.bin_count &&
		     !np_bins_equal(fabric->bins, np_bins_own());
	if (!rc)
		restore_program(&summary, name);
	if (!rc &&
	    (pack->bad || np_program_check(&summary.program, fabric, NULL)))
		rc = -EINVAL;
	if (rc)
		np_run_summary_free(&summary);
	else
		*out = summary;
	return rc;
}

/* ---- runs that a sensitivity curve has so far ---- */

/*
 * The impact of a level on others: the mean over the victims of
 * log(1 + slowdown); NaN: not measured.
 */
static double level_impact(const struct np_fabric *fabric, size_t level)
{
	double sum = 0;
	size_t n = 0;

	for (size_t v = 0; fabric->pairs && v < fabric->n_levels; v++) {
		const struct np_mean *mean =
			&fabric->pairs[v * fabric->n_levels + level];

		if (np_mean_known(mean) && mean->mean > -1) {
			sum += log1p(mean->mean);
			n++;
		}
	}
	return n ? sum / (double)n : NAN;
}

void np_curve_levels_make(const struct np_calibration *calibration,
			  struct np_curve_levels *out)
{
	const struct np_fabric *fabric = calibration ? calibration->fabric :
						       NULL;

	*out = (struct np_curve_levels){
		.n = fabric ? fabric->n_levels : np_n_levels,
	};
	for (size_t i = 0; i < out->n; i++) {
		out->name[i] = fabric ? fabric->level[i].name :
					np_levels[i].name;
		out->level[i].impact = fabric ? level_impact(fabric, i) :
						(double)i;
	}
}

/* Is it this level, at this scope (NULL: any)? */
static bool is_level_at(const char *name, const char *at, const char *want_name,
			const char *want_scope)
{
	return !strcmp(name, want_name) &&
	       (!want_scope || !strcmp(at, want_scope));
}

/* Runs of the workload that have not ended yet; name NULL: without a level. */
static uint32_t count_under_way(const struct np_run_summary *summary,
				const char *name, const char *scope)
{
	uint32_t n = 0;

	for (size_t i = 0; i < summary->runs->n; i++) {
		const struct np_record *record = summary->runs->run[i];
		const struct np_level_run *run = record->level;

		if (summary->use[i] != NP_RUN_UNDER_WAY ||
		    !summary->fingerprint || !record->fingerprint ||
		    strcmp(record->fingerprint, summary->fingerprint))
			continue;
		n += name ? run && is_level_at(run->name, run->scope, name,
					       scope) :
			    !run;
	}
	return n;
}

void np_curve_count(const struct np_run_summary *summary, const char *scope,
		    struct np_curve_levels *levels, struct np_mean *alone)
{
	for (size_t i = 0; i < levels->n; i++) {
		struct np_mean *mean = &levels->level[i].run_sec;

		*mean = (struct np_mean){ 0 };
		for (size_t k = 0; k < summary->n_levels; k++)
			if (is_level_at(summary->level[k].name,
					summary->level[k].scope,
					levels->name[i], scope))
				*mean = summary->level[k].run_sec;
		mean->n += count_under_way(summary, levels->name[i], scope);
	}
	*alone = summary->alone_sec;
	alone->n += count_under_way(summary, NULL, NULL);
}
