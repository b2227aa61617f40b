#include "np_sample.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct np_moments np_run_latency(const struct np_record *r)
{
	struct np_moments m = { 0 };

	for (size_t i = 0; i < r->n_leaves; i++)
		np_moments_merge(&m, &r->leaves[i].latency);
	return m;
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
	struct np_series *all = NULL;
	double width = 0;

	for (size_t i = 0; i < r->n_leaves; i++)
		if (r->leaves[i].windows)
			width = fmax(width, r->leaves[i].windows->width_sec);
	if (width > 0)
		all = malloc(sizeof(*all));
	if (!all)
		return NULL;
	np_series_init(all, width);
	for (size_t i = 0; i < r->n_leaves; i++) {
		const struct np_series *s = r->leaves[i].windows;

		for (size_t k = 0; s && k < s->n; k++)
			if (s->w[k].n)
				np_series_add(all, ((double)k + 0.5) *
					      s->width_sec, &s->w[k]);
	}
	return all;
}

static const char *const sources[] = {
	[NP_SOURCE_RUN] = "run", [NP_SOURCE_QUIET] = "quiet",
	[NP_SOURCE_CALIBRATION] = "calibration",
};

const char *np_sample_source_name(enum np_sample_source source)
{
	return sources[source];
}

static enum np_sample_source source_of(const struct np_record *r)
{
	if (!r->source)
		return NP_SOURCE_RUN;
	return strcmp(r->source, sources[NP_SOURCE_CALIBRATION]) ?
	       NP_SOURCE_QUIET : NP_SOURCE_CALIBRATION;
}

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
			nic->n[k] = (isnan(nic->n[k]) ? 0 : nic->n[k]) +
				    r->n[k];
}

int np_sample_add(struct np_sample *s, const struct np_record *r)
{
	struct np_moments m = np_run_latency(r);

	if (!s->hist)
		s->hist = np_hist_new();
	if (!s->hist)
		return -ENOMEM;
	for (size_t i = 0; i < r->n_leaves; i++) {
		np_moments_merge(&s->moments, &r->leaves[i].latency);
		if (r->leaves[i].hist)
			np_hist_merge(s->hist, r->leaves[i].hist);
	}
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
	/* A bin is wider than what is in it. */
	return fmin(fmax(np_hist_quantile(s->hist, q), s->moments.min),
		    s->moments.max);
}
