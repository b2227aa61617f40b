/* Which levels a calibration measures, and which of them it keeps. */
#include "np_calibrate_plan.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Only to order levels: bytes per second on a link of 1 GB/s where no message
 * takes less than 0.2 ms.
 */
static double nominal_load(const struct np_level *l)
{
	double bytes = (double)l->partners * l->messages * l->bytes;

	return bytes / (l->pause_sec + 2e-4 + bytes / 1e9);
}

static int by_load(const void *a, const void *b)
{
	double x = nominal_load(a), y = nominal_load(b);

	if (x != y)
		return x < y ? -1 : 1;
	return strcmp(((const struct np_level *)a)->name,
		      ((const struct np_level *)b)->name);
}

static bool same(const struct np_level *a, const struct np_level *b,
		 uint32_t most)
{
	uint32_t p = a->partners < most ? a->partners : most;
	uint32_t q = b->partners < most ? b->partners : most;

	return p == q && a->messages == b->messages &&
	       a->bytes == b->bytes && a->pause_sec == b->pause_sec;
}

struct list {
	struct np_level *level;
	size_t n;
	uint32_t most; /* partners that there can be */
};

static int add(struct list *l, const struct np_level *level,
	       struct np_err *err)
{
	for (size_t i = 0; i < l->n; i++)
		if (same(&l->level[i], level, l->most))
			return 0;
	if (l->n == NP_CAL_MAX_LEVELS)
		return np_errf(err, -EINVAL, "more than %d levels",
			       NP_CAL_MAX_LEVELS);
	l->level[l->n++] = *level;
	return 0;
}

static int add_named(struct list *l, const char *name, struct np_err *err)
{
	struct np_level level;
	int rc = np_level_parse(name, &level, err);

	return rc ? rc : add(l, &level, err);
}

static int add_default(struct list *l, struct np_err *err)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < np_n_levels; i++)
		rc = add(l, &np_levels[i], err);
	return rc;
}

/* The pauses are 2.5e4, 2.5e5, 2.5e6 and 2.5e7 cycles at 2.6 GHz. */
static int add_all(struct list *l, struct np_err *err)
{
	static const uint32_t partners[] = { 1, 4, 7, 14, 17 };
	static const uint32_t messages[] = { 1, 10 };
	static const char *const pause[] = {
		"9.615us", "96.154us", "961.54us", "9.6154ms",
	};
	char name[NP_LEVEL_NAME];
	int rc = 0;

	for (size_t i = 0; i < NP_ARRAY_SIZE(partners); i++)
		for (size_t j = 0; j < NP_ARRAY_SIZE(messages); j++)
			for (size_t k = 0; !rc && k < NP_ARRAY_SIZE(pause);
			     k++) {
				snprintf(name, sizeof(name), "P%u:M%u:B%s",
					 partners[i] < l->most ? partners[i] :
					 l->most, messages[j], pause[k]);
				rc = add_named(l, name, err);
			}
	return rc;
}

static int add_list(struct list *l, const char *text, struct np_err *err)
{
	char name[NP_LEVEL_NAME];
	int rc = 0;

	while (!rc) {
		size_t len = strcspn(text, ",");

		if (len >= sizeof(name))
			return np_errf(err, -EINVAL, "level \"%.20s...\": "
				       "longer than %zu characters", text,
				       sizeof(name) - 1);
		memcpy(name, text, len);
		name[len] = '\0';
		rc = add_named(l, name, err);
		if (!text[len])
			break;
		text += len + 1;
	}
	return rc;
}

int np_cal_levels_parse(const char *text, size_t n_nodes,
			struct np_level out[NP_CAL_MAX_LEVELS], size_t *n,
			struct np_err *err)
{
	struct np_level level[NP_CAL_MAX_LEVELS];
	struct list l = { level, 0, n_nodes > 1 ? (uint32_t)n_nodes - 1 : 1 };
	int rc = !strcmp(text, "default") ? add_default(&l, err) :
		 !strcmp(text, "all") ? add_all(&l, err) :
					add_list(&l, text, err);

	if (rc)
		return rc;
	if (l.n < 2)
		return np_errf(err, -EINVAL, "levels \"%.60s\": expected two "
			       "or more that differ on %zu nodes", text,
			       n_nodes);
	qsort(level, l.n, sizeof(*level), by_load);
	memcpy(out, level, l.n * sizeof(*level));
	*n = l.n;
	return 0;
}

/* ---- the choice ---- */

struct rated {
	double at; /* log(1 + slowdown); infinite: not known */
	size_t level;
	bool taken;
};

static int by_at(const void *a, const void *b)
{
	const struct rated *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return x->level < y->level ? -1 : x->level > y->level;
}

/* The free level nearest to a place on the scale. */
static struct rated *nearest(struct rated *r, size_t n, double at)
{
	struct rated *best = NULL;

	for (size_t i = 0; i < n; i++)
		if (!r[i].taken && (!best || fabs(r[i].at - at) <
					     fabs(best->at - at)))
			best = &r[i];
	return best;
}

static int by_index(const void *a, const void *b)
{
	size_t x = *(const size_t *)a, y = *(const size_t *)b;

	return x < y ? -1 : x > y;
}

size_t np_cal_choose(const double *slowdown, size_t n, size_t keep,
		     size_t *chosen)
{
	struct rated r[NP_CAL_MAX_LEVELS];
	size_t known = 0, got = 0, spread;

	if (n > NP_CAL_MAX_LEVELS)
		n = NP_CAL_MAX_LEVELS;
	if (keep > n)
		keep = n;
	for (size_t i = 0; i < n; i++) {
		bool has = isfinite(slowdown[i]);

		known += has;
		r[i] = (struct rated){ has ? log1p(fmax(slowdown[i], -0.5)) :
				       INFINITY, i, false };
	}
	qsort(r, n, sizeof(*r), by_at);
	spread = keep < known ? keep : known;
	for (; got < spread; got++) {
		/* the ends first, so that both are among them */
		size_t k = got == 1 ? spread - 1 : got ? got - 1 : 0;
		double part = spread > 1 ? (double)k / (double)(spread - 1) :
					   1;
		struct rated *best = nearest(r, known, r[0].at + part *
					     (r[known - 1].at - r[0].at));

		best->taken = true;
		chosen[got] = best->level;
	}
	for (size_t i = known; i < n && got < keep; i++)
		chosen[got++] = r[i].level;
	qsort(chosen, got, sizeof(*chosen), by_index);
	return got;
}
