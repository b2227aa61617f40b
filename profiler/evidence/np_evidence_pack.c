#include "np_evidence_pack.h"

#include <errno.h>
#include <stdlib.h>

static void pack_moments(struct np_pack *p, struct np_moments *m)
{
	m->n = np_pack_count(p, m->n, UINT64_MAX);
	m->mean = np_pack_real(p, m->mean);
	m->m2 = np_pack_real(p, m->m2);
	m->min = np_pack_real(p, m->min);
	m->max = np_pack_real(p, m->max);
}

/* Most bins are empty. */
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

/* Returns 0 or -ENOMEM; e is zeroed before it is read. */
static int pack(struct np_pack *p, struct np_evidence *e, size_t n_levels)
{
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
	if (!p->f)
		e->mean = calloc(2 * n_levels + 1, sizeof(*e->mean));
	if (!e->mean)
		return -ENOMEM;
	for (size_t i = 0; i < 2 * n_levels; i++)
		e->mean[i] = np_pack_mean(p, e->mean[i]);
	return 0;
}

void np_evidence_pack(FILE *f, const struct np_evidence *e)
{
	struct np_pack p = { .f = f };
	struct np_evidence same = *e;

	pack(&p, &same, e->n_levels);
}

/* What the models see of it. */
static void make_program(struct np_evidence *e, const char *name)
{
	for (size_t i = 0; i < e->n_levels; i++) {
		e->n_curve += np_mean_known(&e->mean[i]);
		e->n_pressure += np_mean_known(&e->mean[e->n_levels + i]);
	}
	e->program = (struct np_program){
		.name = name,
		.latency = { e->latency.moments, e->bin_count },
		.curve = e->n_curve ? e->mean : NULL,
		.pressure = e->n_pressure ? e->mean + e->n_levels : NULL,
	};
}

int np_evidence_unpack(struct np_pack *p, const struct np_fabric *fabric,
		       const char *name, struct np_evidence *out)
{
	struct np_evidence e = { .n_used = 0 };
	int rc = pack(p, &e, fabric->n_levels);

	p->bad |= e.bin_count && !np_bins_equal(fabric->bins, np_bins_own());
	if (!rc)
		make_program(&e, name);
	if (!rc && (p->bad || np_program_check(&e.program, fabric, NULL)))
		rc = -EINVAL;
	if (rc)
		np_evidence_free(&e);
	else
		*out = e;
	return rc;
}
