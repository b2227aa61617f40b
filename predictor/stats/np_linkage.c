#include "np_linkage.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "np_array.h"
#include "np_moments.h"

/* Least factor between distances within and between groups: exp(MIN_GAP). */
#define MIN_GAP 0.1
#define FLOOR 0.02	/* relative differences below it say nothing */
#define ADJUSTMENTS 4
#define MIN_ADJUSTED 8	/* things; fewer do not tell how slow each is */
#define MAX_PASSES 100	/* of improvements; a few are usual */

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

/*
 * The longest distance that counts: what is more than twice as long as three
 * quarters of all was disturbed, and says no more than that it is long. d has
 * space for n * n numbers.
 */
static double find_limit(const double *dist, size_t n, double *d)
{
	size_t m = 0;

	for (size_t i = 0; i < n * n; i++)
		if (dist[i] > 0)
			d[m++] = dist[i];
	qsort(d, m, sizeof(*d), np_order_double);
	return m ? 2 * d[m * 3 / 4] : INFINITY;
}

/*
 * Logarithms, because a slow pair may be slower by a multiple; reduced by the
 * share of either end.
 */
static int normalise(const double *dist, size_t n, double *d)
{
	double *nearest = malloc(n * sizeof(*nearest));
	double limit = find_limit(dist, n, d);

	if (!nearest)
		return -ENOMEM;
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
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < n; j++)
			d[i * n + j] = i == j || isnan(dist[i * n + j]) ? NAN :
				log(fmin(dist[i * n + j], limit) /
				    sqrt(nearest[i] * nearest[j]));
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

/*
 * A grouping, judged by how short it and the distances can be described: two
 * means, within and between groups, what remains, and which thing is in which
 * group.
 */
struct grouping {
	size_t n;
	double *d;	 /* distances */
	double *scratch; /* n numbers */
	uint32_t *found; /* a grouping to compare with */
	uint32_t *group; /* of each thing, below n */
	size_t *size;	 /* of each group; may be 0 */
	double *sum;	 /* [i * n + g]: distances of thing i to group g */
	double *known;	 /* number of these */
	double n_all, all, squares; /* over all pairs */
	double n_within, within;    /* over pairs within a group */
	double sizes;		    /* sum of size * log(size) */
};

static double x_log_x(double x)
{
	return x > 0 ? x * log(x) : 0;
}

static double cost_of(const struct grouping *p, double n_within, double within,
		      double sizes)
{
	double n_between = p->n_all - n_within, rest = p->squares;
	double between = p->all - within;

	/* Groups of things that are far from each other are none. */
	if (n_within > 0 && n_between > 0 &&
	    within / n_within > between / n_between)
		return INFINITY;
	if (n_within > 0)
		rest -= within * within / n_within;
	if (n_between > 0)
		rest -= between * between / n_between;
	return p->n_all / 2 * log(rest / p->n_all + FLOOR * FLOOR) +
	       x_log_x((double)p->n) - sizes +
	       (n_between > 0 ? log(p->n_all) / 2 : 0);
}

static double cost(const struct grouping *p)
{
	return cost_of(p, p->n_within, p->within, p->sizes);
}

static void set_sizes(struct grouping *p)
{
	p->sizes = 0;
	for (size_t g = 0; g < p->n; g++)
		p->sizes += x_log_x((double)p->size[g]);
}

/* Sums of a grouping of which only group[] is set. */
static void add_up(struct grouping *p)
{
	size_t n = p->n;

	memset(p->size, 0, n * sizeof(*p->size));
	memset(p->sum, 0, n * n * sizeof(*p->sum));
	memset(p->known, 0, n * n * sizeof(*p->known));
	p->n_all = p->all = p->squares = p->n_within = p->within = 0;
	for (size_t i = 0; i < n; i++) {
		p->size[p->group[i]]++;
		for (size_t j = 0; j < n; j++) {
			double x = p->d[i * n + j];

			if (isnan(x))
				continue;
			p->sum[i * n + p->group[j]] += x;
			p->known[i * n + p->group[j]]++;
			p->n_all += 0.5;
			p->all += x / 2;
			p->squares += x * x / 2;
		}
		p->within += p->sum[i * n + p->group[i]] / 2;
		p->n_within += p->known[i * n + p->group[i]] / 2;
	}
	set_sizes(p);
}

static double cost_after_move(const struct grouping *p, size_t i, size_t to)
{
	size_t from = p->group[i], n = p->n;
	double a = (double)p->size[from], b = (double)p->size[to];

	return cost_of(p, p->n_within - p->known[i * n + from] +
			       p->known[i * n + to],
		       p->within - p->sum[i * n + from] + p->sum[i * n + to],
		       p->sizes - x_log_x(a) + x_log_x(a - 1) - x_log_x(b) +
			       x_log_x(b + 1));
}

static void move(struct grouping *p, size_t i, size_t to)
{
	size_t from = p->group[i], n = p->n;

	p->n_within += p->known[i * n + to] - p->known[i * n + from];
	p->within += p->sum[i * n + to] - p->sum[i * n + from];
	p->group[i] = (uint32_t)to;
	p->size[from]--;
	p->size[to]++;
	for (size_t k = 0; k < n; k++) {
		double x = p->d[k * n + i];

		if (isnan(x))
			continue;
		p->sum[k * n + from] -= x;
		p->known[k * n + from]--;
		p->sum[k * n + to] += x;
		p->known[k * n + to]++;
	}
	set_sizes(p);
}

/* Move each thing to the group where it fits best, or to an empty one. */
static bool move_things(struct grouping *p)
{
	bool moved = false;

	for (size_t i = 0; i < p->n; i++) {
		double least = cost(p) - 1e-9;
		size_t best = p->n;
		bool empty = false; /* one was tried: all are the same */

		for (size_t g = 0; g < p->n; g++) {
			if (g == p->group[i] || (!p->size[g] && empty))
				continue;
			empty |= !p->size[g];
			if (cost_after_move(p, i, g) < least) {
				least = cost_after_move(p, i, g);
				best = g;
			}
		}
		if (best < p->n) {
			move(p, i, best);
			moved = true;
		}
	}
	return moved;
}

static double cost_merged(const struct grouping *p, size_t a, size_t b)
{
	double sum = 0, known = 0, x = (double)p->size[a];
	double y = (double)p->size[b];

	for (size_t i = 0; i < p->n; i++)
		if (p->group[i] == a) {
			sum += p->sum[i * p->n + b];
			known += p->known[i * p->n + b];
		}
	return cost_of(p, p->n_within + known, p->within + sum,
		       p->sizes - x_log_x(x) - x_log_x(y) + x_log_x(x + y));
}

/* Merge the two groups with which that helps most. */
static bool merge_two(struct grouping *p)
{
	double least = cost(p) - 1e-9;
	size_t a = 0, b = 0;

	for (size_t g = 0; g < p->n; g++)
		for (size_t h = g + 1; p->size[g] && h < p->n; h++)
			if (p->size[h] && cost_merged(p, g, h) < least) {
				least = cost_merged(p, g, h);
				a = g;
				b = h;
			}
	for (size_t i = 0; b && i < p->n; i++)
		if (p->group[i] == b)
			move(p, i, a);
	return b > 0;
}

static void join(struct grouping *p, const struct merge *m)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->group[i] == m->b)
			move(p, i, m->a);
}

static void start_alone(struct grouping *p)
{
	for (size_t i = 0; i < p->n; i++)
		p->group[i] = (uint32_t)i;
	add_up(p);
}

/* Of the groups after each join, those with the shortest description. */
static void start_at_best_join(struct grouping *p, const struct merge *m,
			       size_t n)
{
	size_t best = 0;
	double least;

	start_alone(p);
	least = cost(p);
	for (size_t k = 0; k < n; k++) {
		join(p, &m[k]);
		if (cost(p) < least) {
			least = cost(p);
			best = k + 1;
		}
	}
	start_alone(p);
	for (size_t k = 0; k < best; k++)
		join(p, &m[k]);
}

static double mean_within(const struct grouping *p, size_t i)
{
	size_t at = i * p->n + p->group[i];

	return p->known[at] > 0 ? p->sum[at] / p->known[at] : 0;
}

/*
 * Half of what a thing alone is far from all others is taken for its slowness,
 * so that it looks as near to one group as to any: find the things that are
 * further from their group than all others are, by a gap, and separate them.
 * They are fewer than half of all.
 */
static void separate_far(struct grouping *p)
{
	double *far = p->scratch, low, top = INFINITY;
	size_t empty = 0;

	for (size_t i = 0; i < p->n; i++)
		far[i] = mean_within(p, i);
	qsort(far, p->n, sizeof(*far), np_order_double);
	low = far[0];
	for (size_t i = p->n / 2; i + 1 < p->n && isinf(top); i++)
		if (far[i + 1] - far[i] > fmax(MIN_GAP, far[i] - low))
			top = (far[i] + far[i + 1]) / 2;
	for (size_t i = 0; i < p->n; i++)
		far[i] = mean_within(p, i);
	for (size_t i = 0; i < p->n; i++)
		if (far[i] > top && p->size[p->group[i]] > 1) {
			while (p->size[empty])
				empty++;
			move(p, i, empty);
		}
}

/*
 * How slow each thing is, given the groups: better than by its nearest
 * neighbour, which may be near by chance.
 */
static void adjust(struct grouping *p)
{
	double n_between = p->n_all - p->n_within, *slow = p->scratch;
	double within = p->n_within > 0 ? p->within / p->n_within : 0;
	double between = n_between > 0 ? (p->all - p->within) / n_between : 0;
	size_t n = p->n;

	for (size_t i = 0; i < n; i++) {
		double sum = 0, known = 0;

		for (size_t g = 0; g < n; g++) {
			double k = p->known[i * n + g];

			sum += p->sum[i * n + g] -
			       k * (g == p->group[i] ? within : between);
			known += k;
		}
		slow[i] = known > 0 ? sum / known : 0;
	}
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < n; j++)
			p->d[i * n + j] -= slow[i] + slow[j];
	add_up(p);
}

static void improve(struct grouping *p)
{
	for (int k = 0; k < MAX_PASSES && (move_things(p) || merge_two(p)); k++)
		;
}

static bool is_worth_it(const struct grouping *p)
{
	double n_between = p->n_all - p->n_within;

	return p->n_within == 0 || n_between == 0 ||
	       (p->all - p->within) / n_between - p->within / p->n_within >=
		       MIN_GAP;
}

static void adjust_and_improve(struct grouping *p, bool one)
{
	for (int k = 0; k < ADJUSTMENTS && p->n >= MIN_ADJUSTED; k++) {
		adjust(p);
		if (!one)
			improve(p);
	}
}

/*
 * Improve the grouping, and compare it with one group of all, each with its own
 * idea of how slow things are.
 */
static void find_groups(struct grouping *p, const double *near)
{
	size_t n = p->n, bytes = n * n * sizeof(*near);
	double least;

	improve(p);
	adjust_and_improve(p, false);
	least = is_worth_it(p) ? cost(p) : INFINITY;
	for (size_t i = 0; i < n; i++)
		p->found[i] = p->group[i];
	memset(p->group, 0, n * sizeof(*p->group));
	memcpy(p->d, near, bytes);
	add_up(p);
	adjust_and_improve(p, true);
	for (size_t i = 0; i < n && cost(p) > least; i++)
		p->group[i] = p->found[i];
	memcpy(p->d, near, bytes);
	add_up(p);
	separate_far(p);
}

/* 0, 1, ... in the order of first members; returns their number. */
static size_t number(struct grouping *p)
{
	size_t *as = p->size, n = 0; /* no longer needed */

	for (size_t g = 0; g < p->n; g++)
		as[g] = SIZE_MAX;
	for (size_t i = 0; i < p->n; i++) {
		if (as[p->group[i]] == SIZE_MAX)
			as[p->group[i]] = n++;
		p->group[i] = (uint32_t)as[p->group[i]];
	}
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
		*(same ? &out->within : &out->between) =
			np_quantile(scratch, m, 0.5);
	}
}

/* near: normalised distances; p->d: of the same size */
static void group_all(const double *near, struct grouping *p,
		      struct merge *joins)
{
	size_t n = p->n, bytes = n * n * sizeof(*near), n_joins;
	struct tree t = { n, p->d, p->size, joins };

	memcpy(p->d, near, bytes);
	for (size_t i = 0; i < n; i++)
		t.size[i] = 1;
	n_joins = join_all(&t);
	memcpy(p->d, near, bytes);
	start_at_best_join(p, joins, n_joins);
	find_groups(p, near);
}

int np_linkage(const double *dist, size_t n, uint32_t *group,
	       struct np_linkage *out)
{
	struct grouping p = { .n = n, .group = group };
	struct merge *joins;
	double *near;
	int rc;

	if (!n || n > NP_LINKAGE_MAX)
		return -EINVAL;
	near = malloc((4 * n * n + n) * sizeof(*near));
	p.size = malloc(n * sizeof(*p.size));
	p.found = malloc(n * sizeof(*p.found));
	joins = malloc(n * sizeof(*joins));
	rc = near && p.size && p.found && joins ? normalise(dist, n, near) :
						  -ENOMEM;
	if (!rc) {
		p.d = near + n * n;
		p.sum = p.d + n * n;
		p.known = p.sum + n * n;
		p.scratch = p.known + n * n;
		group_all(near, &p, joins);
		out->n_groups = number(&p);
		set_medians(dist, n, group, near, out);
	}
	free(near);
	free(p.size);
	free(p.found);
	free(joins);
	return rc;
}
