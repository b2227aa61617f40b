#include "np_linkage.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Least gap between groups, relative to a typical nearest distance. */
#define MIN_GAP 0.1

struct merge {
	size_t a, b; /* b is merged into a */
	double at;
};

struct tree {
	size_t n;
	double *d;	  /* between groups; NaN: not known */
	size_t *size;	  /* of each group; 0: merged into another */
	struct merge *join; /* n - 1 of them */
};

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *v, size_t n)
{
	qsort(v, n, sizeof(*v), compare);
	return n ? v[n / 2] : NAN;
}

/*
 * Reduce distances by the share of either end, and scale them by a typical
 * nearest distance.
 */
static int normalise(const double *dist, size_t n, double *d)
{
	double *nearest = malloc(2 * n * sizeof(*nearest)), *sorted, typical;

	if (!nearest)
		return -ENOMEM;
	sorted = nearest + n;
	for (size_t i = 0; i < n; i++) {
		nearest[i] = INFINITY;
		for (size_t j = 0; j < n; j++)
			if (i != j && dist[i * n + j] > 0)
				nearest[i] = fmin(nearest[i], dist[i * n + j]);
		if (n > 1 && isinf(nearest[i])) {
			free(nearest);
			return -EINVAL;
		}
	}
	memcpy(sorted, nearest, n * sizeof(*sorted));
	typical = median(sorted, n);
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < n; j++)
			d[i * n + j] = (dist[i * n + j] -
					(nearest[i] + nearest[j]) / 2) /
				       typical;
	free(nearest);
	return 0;
}

/* Find the two nearest groups; 0: no two have a known distance. */
static int find_next(const struct tree *t, struct merge *out)
{
	*out = (struct merge){ 0, 0, INFINITY };
	for (size_t i = 0; i < t->n; i++)
		for (size_t j = i + 1; t->size[i] && j < t->n; j++)
			if (t->size[j] && t->d[i * t->n + j] < out->at)
				*out = (struct merge){ i, j,
						      t->d[i * t->n + j] };
	return out->b > 0;
}

/*
 * The distance of a merged group is the mean over all its pairs; if one is not
 * known, that of the other group.
 */
static void merge_groups(struct tree *t, size_t a, size_t b)
{
	double na = (double)t->size[a], nb = (double)t->size[b];

	for (size_t k = 0; k < t->n; k++) {
		double x = t->d[a * t->n + k], y = t->d[b * t->n + k];
		double mean = isnan(x) ? y : isnan(y) ? x :
			      (na * x + nb * y) / (na + nb);

		if (k != a)
			t->d[a * t->n + k] = t->d[k * t->n + a] = mean;
	}
	t->size[a] += t->size[b];
	t->size[b] = 0;
}

static size_t join_all(struct tree *t)
{
	size_t n = 0;

	while (n + 1 < t->n && find_next(t, &t->join[n])) {
		merge_groups(t, t->join[n].a, t->join[n].b);
		n++;
	}
	return n;
}

/* Number of joins within groups: those before the first gap, or all. */
static size_t find_gap(const struct merge *join, size_t n)
{
	double top = -INFINITY;

	for (size_t k = 0; k + 1 < n; k++) {
		double gap;

		top = fmax(top, join[k].at);
		gap = join[k + 1].at - top;
		if (gap > MIN_GAP && gap > top - join[0].at)
			return k + 1;
	}
	return n;
}

static size_t number(const struct tree *t, size_t n_joins, uint32_t *group)
{
	size_t *root = t->size, n = 0; /* no longer needed */

	for (size_t i = 0; i < t->n; i++)
		root[i] = i;
	/*
	 * From the last join backwards, so that each member sees its final
	 * root.
	 */
	for (size_t k = n_joins; k-- > 0; )
		root[t->join[k].b] = root[t->join[k].a];
	for (size_t i = 0; i < t->n; i++)
		group[i] = root[i] == i ? (uint32_t)n++ : group[root[i]];
	return n;
}

static void set_medians(const double *dist, size_t n, const uint32_t *group,
			double *scratch, struct np_linkage *out)
{
	for (int same = 0; same < 2; same++) {
		size_t m = 0;

		for (size_t i = 0; i < n; i++)
			for (size_t j = i + 1; j < n; j++)
				if ((group[i] == group[j]) == same &&
				    dist[i * n + j] > 0)
					scratch[m++] = dist[i * n + j];
		*(same ? &out->within : &out->between) = median(scratch, m);
	}
}

int np_linkage(const double *dist, size_t n, uint32_t *group,
	       struct np_linkage *out)
{
	struct tree t = { .n = n };
	int rc;

	if (!n || n > NP_LINKAGE_MAX)
		return -EINVAL;
	t.d = malloc(n * n * sizeof(*t.d));
	t.size = malloc(n * sizeof(*t.size));
	t.join = malloc(n * sizeof(*t.join));
	rc = t.d && t.size && t.join ? normalise(dist, n, t.d) : -ENOMEM;
	if (!rc) {
		size_t n_joins;

		for (size_t i = 0; i < n; i++)
			t.size[i] = 1;
		n_joins = join_all(&t);
		n_joins = find_gap(t.join, n_joins);
		out->n_groups = number(&t, n_joins, group);
		set_medians(dist, n, group, t.d, out);
	}
	free(t.d);
	free(t.size);
	free(t.join);
	return rc;
}
