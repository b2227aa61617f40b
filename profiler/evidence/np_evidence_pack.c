#include "np_evidence_pack.h"

#include <errno.h>
#include <stdlib.h>

static void pack_moments(FILE *f, const struct np_moments *m)
{
	np_pack_count(f, m->n);
	np_pack_real(f, m->mean);
	np_pack_real(f, m->m2);
	np_pack_real(f, m->min);
	np_pack_real(f, m->max);
}

static struct np_moments unpack_moments(struct np_unpack *u)
{
	struct np_moments m = { .n = np_unpack_count(u, UINT64_MAX) };

	m.mean = np_unpack_real(u);
	m.m2 = np_unpack_real(u);
	m.min = np_unpack_real(u);
	m.max = np_unpack_real(u);
	return m;
}

/* Most bins are empty. */
static void pack_bins(FILE *f, const double *count)
{
	size_t n = 0;

	for (size_t b = 0; count && b < NP_HIST_BINS; b++)
		n += count[b] != 0;
	np_pack_count(f, count != NULL);
	np_pack_count(f, n);
	for (size_t b = 0; n && b < NP_HIST_BINS; b++)
		if (count[b] != 0) {
			np_pack_count(f, b);
			np_pack_real(f, count[b]);
		}
}

static int unpack_bins(struct np_unpack *u, double **out)
{
	bool any = np_unpack_count(u, 1);
	size_t n = np_unpack_count(u, any ? NP_HIST_BINS : 0);
	double *count = any ? calloc(NP_HIST_BINS, sizeof(*count)) : NULL;

	if (any && !count)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		size_t b = np_unpack_count(u, NP_HIST_BINS - 1);

		count[b] = np_unpack_real(u);
	}
	*out = count;
	return 0;
}

void np_evidence_pack(FILE *f, const struct np_evidence *e)
{
	for (int use = 0; use < NP_RUN_USES; use++)
		np_pack_count(f, e->count[use]);
	np_pack_count(f, e->n_used);
	np_pack_count(f, e->latency.n_runs);
	np_pack_count(f, e->latency.other_period);
	pack_moments(f, &e->latency.moments);
	pack_bins(f, e->bin_count);
	np_pack_count(f, e->n_levels);
	for (size_t i = 0; i < 2 * e->n_levels; i++)
		np_pack_mean(f, &e->mean[i]);
}

static int unpack_curve(struct np_unpack *u, size_t n_levels,
			struct np_evidence *e)
{
	e->n_levels = np_unpack_count(u, n_levels);
	u->bad |= e->n_levels != n_levels;
	e->mean = calloc(2 * n_levels + 1, sizeof(*e->mean));
	if (!e->mean)
		return -ENOMEM;
	for (size_t i = 0; i < 2 * n_levels; i++) {
		e->mean[i] = np_unpack_mean(u);
		if (np_mean_known(&e->mean[i]))
			(*(i < n_levels ? &e->n_curve : &e->n_pressure))++;
	}
	return 0;
}

/* What the models see of it. */
static void make_program(struct np_evidence *e, const char *name)
{
	e->program = (struct np_program){
		.name = name,
		.latency = { e->latency.moments, e->bin_count },
		.curve = e->n_curve ? e->mean : NULL,
		.pressure = e->n_pressure ? e->mean + e->n_levels : NULL,
	};
}

int np_evidence_unpack(struct np_unpack *u, const struct np_fabric *fabric,
		       const char *name, struct np_evidence *out)
{
	struct np_evidence e = { .n_used = 0 };
	int rc;

	for (int use = 0; use < NP_RUN_USES; use++)
		e.count[use] = np_unpack_count(u, SIZE_MAX);
	e.n_used = np_unpack_count(u, SIZE_MAX);
	e.latency.n_runs = np_unpack_count(u, SIZE_MAX);
	e.latency.other_period = np_unpack_count(u, 1);
	e.latency.moments = unpack_moments(u);
	rc = unpack_bins(u, &e.bin_count);
	if (!rc)
		rc = unpack_curve(u, fabric->n_levels, &e);
	u->bad |= e.bin_count && !np_bins_equal(fabric->bins, np_bins_own());
	make_program(&e, name);
	if (!rc && (u->bad || np_program_check(&e.program, fabric, NULL)))
		rc = -EINVAL;
	if (rc)
		np_evidence_free(&e);
	else
		*out = e;
	return rc;
}
