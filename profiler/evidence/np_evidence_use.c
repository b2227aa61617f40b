/* How each run is used, and the choice of the workload. */
#include "np_evidence_impl.h"

#include <string.h>

static const struct {
	const char *name, *words;
} uses[] = {
	[NP_RUN_ALONE] = { "used", "alone" },
	[NP_RUN_BESIDE] = { "level", "beside a level" },
	[NP_RUN_TIME] = { "empty", "without latencies" },
	[NP_RUN_LATENCY] = { "used", "for its latencies only" },
	[NP_RUN_BLOCKS] = { "blocks", "with blocks beside levels" },
	[NP_RUN_FABRIC] = { "fabric", "on another fabric" },
	[NP_RUN_UNDER_WAY] = { "running", "under way" },
	[NP_RUN_FAILED] = { "failed", "failed" },
	[NP_RUN_SUSPENDED] = { "suspended", "suspended meanwhile" },
	[NP_RUN_NEIGHBOURS] = { "neighbours", "beside other jobs" },
	[NP_RUN_SCOPE] = { "scope", "with the level at another scope" },
	[NP_RUN_LEVEL] = { "uncalibrated", "beside a level not calibrated" },
	[NP_RUN_WORKLOAD] = { "workload", "of another workload" },
	[NP_RUN_KEPT] = { "kept", "kept without being asked" },
};

const char *np_run_use_name(enum np_run_use use)
{
	return uses[use].name;
}

const char *np_run_use_words(enum np_run_use use)
{
	return uses[use].words;
}

static bool other_text(const char *a, const char *b)
{
	return a && b && *a && *b && strcmp(a, b);
}

static bool other_fabric(const struct np_record *r,
			 const struct np_evidence_fabric *f)
{
	return other_text(r->cluster, f->cluster) ||
	       other_text(r->probe.transport, f->transport) ||
	       (f->message_bytes && r->probe.message_bytes &&
		r->probe.message_bytes != f->message_bytes);
}

static bool is_calibrated(const char *name, const struct np_fabric *f)
{
	for (size_t i = 0; i < f->n_levels; i++)
		if (!strcmp(f->level[i].name, name))
			return true;
	return false;
}

/* What the run is good for, whatever its workload. */
static enum np_run_use use_of(const struct np_record *r,
			      const struct np_evidence_opt *opt,
			      const struct np_evidence_fabric *f)
{
	if (other_fabric(r, f))
		return NP_RUN_FABRIC;
	if (r->state == NP_RUN_RUNNING)
		return opt->now - r->end < NP_EVIDENCE_RUNNING_SEC ?
		       NP_RUN_UNDER_WAY : NP_RUN_FAILED;
	if (r->exit_code != 0 || np_record_run_sec(r) <= 0)
		return NP_RUN_FAILED;
	if (r->suspended)
		return NP_RUN_SUSPENDED;
	if (np_run_has_neighbours(r))
		return NP_RUN_NEIGHBOURS;
	if (r->level && f->scope && strcmp(r->level->scope, f->scope))
		return NP_RUN_SCOPE;
	if (r->n_blocks && f->scope && r->blocks_scope &&
	    strcmp(r->blocks_scope, f->scope))
		return NP_RUN_SCOPE;
	if (r->level && opt->calibration &&
	    !is_calibrated(r->level->name, opt->calibration->fabric))
		return NP_RUN_LEVEL;
	if (r->source && !strcmp(r->app, NP_IDLE_APP))
		return NP_RUN_KEPT;
	if (!r->fingerprint)
		return NP_RUN_WORKLOAD;
	return r->n_blocks ? NP_RUN_BLOCKS :
	       r->level ? NP_RUN_BESIDE : NP_RUN_ALONE;
}

static bool same_level(const struct np_record *a, const struct np_record *b)
{
	return a->level && b->level &&
	       !strcmp(a->level->name, b->level->name) &&
	       !strcmp(a->level->scope, b->level->scope);
}

/* Runs that are used as one of these are chosen from. */
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

static struct workload measure(const struct candidates *c,
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

/* Runs are newest first, so that of equals the newest stays. */
static const char *choose(const struct candidates *c)
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
		w = measure(c, f);
		if (w.n_levels > best.n_levels ||
		    (w.n_levels == best.n_levels && w.n_runs > best.n_runs))
			best = w;
	}
	return best.fingerprint;
}

void np_evidence_sort(const struct np_runs *runs,
		      const struct np_evidence_opt *opt,
		      const struct np_evidence_fabric *f,
		      struct np_evidence *e)
{
	struct candidates c = {
		.runs = runs, .use = e->use,
		.mask = 1u << NP_RUN_ALONE | 1u << NP_RUN_BESIDE |
			1u << NP_RUN_BLOCKS,
	};

	for (size_t i = 0; i < runs->n; i++)
		e->use[i] = use_of(runs->run[i], opt, f);
	e->fingerprint = opt->fingerprint ? opt->fingerprint : choose(&c);
	for (size_t i = 0; i < runs->n; i++) {
		const struct np_record *r = runs->run[i];

		if (c.mask & 1u << e->use[i] &&
		    strcmp(r->fingerprint, e->fingerprint))
			e->use[i] = NP_RUN_WORKLOAD;
		else if (e->use[i] == NP_RUN_ALONE && !np_run_latency(r).n)
			e->use[i] = NP_RUN_TIME;
	}
	/* Only pages take anything from them. */
	c.mask = 1u << NP_RUN_NEIGHBOURS;
	if (!e->fingerprint && !opt->calibration)
		e->fingerprint = choose(&c);
}
