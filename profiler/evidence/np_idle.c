#include "np_idle.h"

#include <string.h>

#include "np_verdict.h"

bool np_idle_is_wanted(const struct np_runs *idle, const struct np_record *r,
		       double now)
{
	const struct np_evidence_opt opt = { .like = r, .now = now };
	struct np_evidence e;
	const struct np_sample *s = &e.latency;
	bool enough;

	if (np_evidence_make(idle, &opt, &e))
		return false;
	enough = s->n_runs && !s->other_period && !s->neighbours &&
		 s->moments.n >= (s->source ? NP_IDLE_ENOUGH :
					      NP_VERDICT_PROBES) &&
		 (!s->source || now - s->last < NP_IDLE_DAYS * 86400);
	np_evidence_free(&e);
	return !enough;
}

static void copy(char **to, const char *from)
{
	*to = from && *from ? strdup(from) : NULL;
}

static bool fill_leaf(struct np_record *r, const char *name,
		      const struct np_latency *idle)
{
	struct np_leaf_run *leaf = np_record_leaf(r, name ? name : "");

	if (leaf)
		leaf->hist = np_hist_new();
	if (!leaf || !leaf->hist)
		return false;
	leaf->latency = idle->all;
	leaf->n_pairs = 1;
	for (size_t b = 0; b < NP_HIST_BINS; b++)
		np_hist_add_bin(leaf->hist, b, (uint64_t)idle->count[b]);
	return true;
}

struct np_record *np_idle_of_calibration(const struct np_calibration *c,
					 double end)
{
	const struct np_latency *idle = &c->fabric->idle;
	struct np_record *r;

	if (!idle->all.n || !idle->count ||
	    !np_bins_equal(c->fabric->bins, np_bins_own()))
		return NULL;
	r = np_record_new();
	if (!r)
		return NULL;
	strcpy(r->app, NP_IDLE_APP);
	copy(&r->source, np_sample_source_name(NP_SOURCE_CALIBRATION));
	copy(&r->cluster, c->cluster);
	copy(&r->probe.transport, c->transport);
	copy(&r->netprof_version, c->netprof_version);
	copy(&r->ucx_version, c->ucx_version);
	r->probe.message_bytes = c->message_bytes;
	r->probe.period_sec = c->period_sec;
	r->start = c->date;
	r->end = end;
	r->state = NP_RUN_COMPLETE;
	r->exit_code = 0;
	if (fill_leaf(r, c->leaf_name, idle))
		return r;
	np_record_free(r);
	return NULL;
}
