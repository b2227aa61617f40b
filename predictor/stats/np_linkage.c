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
#define FLOOR 0.02 /* relative differences below it say nothing */
#define ADJUSTMENTS 4
#define MIN_ADJUSTED 8 /* things; fewer do not show how slow each is */
#define MAX_PASSES 100 /* of improvements; a few are usual */

struct merge {
	size_t a, b; /* b is merged into a */
	double at;
};

struct tree {
	size_t n;
	double *d;	     /* between groups; NaN: not known */
	size_t *size;	     /* of each group; 0: merged into another */
	struct merge *merge; /* n - 1 of them */
};

/*
 * The limit for distances: twice the third quartile of all. A longer one was
 * disturbed, and shows only that the distance is long. d has space for n * n
 * numbers.
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
			d[i * n + j] =
				i == j || isnan(dist[i * n + j]) ?
					NAN :
					log(fmin(dist[i * n + j], limit) /
					    sqrt(nearest[i] * nearest[j]));
	free(nearest);
	return 0;
}

/* Find the two nearest groups; 0: no two have a known distance. */
static int find_next(const struct tree *tree, struct merge *out)
{
	*out = (struct merge){ 0, 0, INFINITY };
	for (size_t i = 0; i < tree->n; i++)
		for (size_t j = i + 1; tree->size[i] && j < tree->n; j++)
			if (tree->size[j] && tree->d[i * tree->n + j] < out->at)
				*out = (struct merge){
					i, j, tree->d[i * tree->n + j]
				};
	return out->b > 0;
}

/*
 * The distance of a merged group is the mean over all its pairs; if one is not
 * known, that of the other group.
 */
static void merge_groups(struct tree *tree, size_t a, size_t b)
{
	double na = (double)tree->size[a], nb = (double)tree->size[b];

	for (size_t k = 0; k < tree->n; k++) {
		double x = tree->d[a * tree->n + k],
		       y = tree->d[b * tree->n + k];
		double mean = isnan(x) ? y :
			      isnan(y) ? x :
					 (na * x + nb * y) / (na + nb);

		if (k != a)
			tree->d[a * tree->n + k] = tree->d[k * tree->n + a] =
				mean;
	}
	tree->size[a] += tree->size[b];
	tree->size[b] = 0;
}

static size_t merge_all(struct tree *tree)
{
	size_t n = 0;

	while (n + 1 < tree->n && find_next(tree, &tree->merge[n])) {
		merge_groups(tree, tree->merge[n].a, tree->merge[n].b);
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

static double cost_of(const struct grouping *grouping, double n_within,
		      double within, double sizes)
{
	double n_between = grouping->n_all - n_within, rest = grouping->squares;
	double between = grouping->all - within;

	/* Groups of things that are far from each other are none. */
	if (n_within > 0 && n_between > 0 &&
	    within / n_within > between / n_between)
		return INFINITY;
	if (n_within > 0)
		rest -= within * within / n_within;
	if (n_between > 0)
		rest -= between * between / n_between;
	return grouping->n_all / 2 *
		       log(rest / grouping->n_all + FLOOR * FLOOR) +
	       x_log_x((double)grouping->n) - sizes +
	       (n_between > 0 ? log(grouping->n_all) / 2 : 0);
}

static double cost(const struct grouping *grouping)
{
	return cost_of(grouping, grouping->n_within, grouping->within,
		       grouping->sizes);
}

static void set_sizes(struct grouping *grouping)
{
	grouping->sizes = 0;
	for (size_t g = 0; g < grouping->n; g++)
		grouping->sizes += x_log_x((double)grouping->size[g]);
}

/* Sums of a grouping of which only group[] is set. */
static void add_up(struct grouping *grouping)
{
	size_t n = grouping->n;

	memset(grouping->size, 0, n * sizeof(*grouping->size));
	memset(grouping->sum, 0, n * n * sizeof(*grouping->sum));
	memset(grouping->known, 0, n * n * sizeof(*grouping->known));
	grouping->n_all = grouping->all = grouping->squares =
		grouping->n_within = grouping->within = 0;
	for (size_t i = 0; i < n; i++) {
		grouping->size[grouping->group[i]]++;
		for (size_t j = 0; j < n; j++) {
			double x = grouping->d[i * n + j];

			if (isnan(x))
				continue;
			grouping->sum[i * n + grouping->group[j]] += x;
			grouping->known[i * n + grouping->group[j]]++;
			grouping->n_all += 0.5;
			grouping->all += x / 2;
			grouping->squares += x * x / 2;
		}
		grouping->within +=
			grouping->sum[i * n + grouping->group[i]] / 2;
		grouping->n_within +=
			grouping->known[i * n + grouping->group[i]] / 2;
	}
	set_sizes(grouping);
}

static double cost_after_move(const struct grouping *grouping, size_t i,
			      size_t to)
{
	size_t from = grouping->group[i], n = grouping->n;
	double a = (double)grouping->size[from], b = (double)grouping->size[to];

	return cost_of(grouping,
		       grouping->n_within - grouping->known[i * n + from] +
			       grouping->known[i * n + to],
		       grouping->within - grouping->sum[i * n + from] +
			       grouping->sum[i * n + to],
		       grouping->sizes - x_log_x(a) + x_log_x(a - 1) -
			       x_log_x(b) + x_log_x(b + 1));
}

static void move(struct grouping *grouping, size_t i, size_t to)
{
	size_t from = grouping->group[i], n = grouping->n;

	grouping->n_within +=
		grouping->known[i * n + to] - grouping->known[i * n + from];
	grouping->within +=
		grouping->sum[i * n + to] - grouping->sum[i * n + from];
	grouping->group[i] = (uint32_t)to;
	grouping->size[from]--;
	grouping->size[to]++;
	for (size_t k = 0; k < n; k++) {
		double x = grouping->d[k * n + i];

		if (isnan(x))
			continue;
		grouping->sum[k * n + from] -= x;
		grouping->known[k * n + from]--;
		grouping->sum[k * n + to] += x;
		grouping->known[k * n + to]++;
	}
	set_sizes(grouping);
}

/* Move each thing to the group where it fits best, or to an empty one. */
static bool move_things(struct grouping *grouping)
{
	bool changed = false;

	for (size_t i = 0; i < grouping->n; i++) {
		double least = cost(grouping) - 1e-9;
		size_t best = grouping->n;
		bool empty = false; /* one was tried: all are the same */

		for (size_t g = 0; g < grouping->n; g++) {
			if (g == grouping->group[i] ||
			    (!grouping->size[g] && empty))
				continue;
			empty |= !grouping->size[g];
			if (cost_after_move(grouping, i, g) < least) {
				least = cost_after_move(grouping, i, g);
				best = g;
			}
		}
		if (best < grouping->n) {
			move(grouping, i, best);
			changed = true;
		}
	}
	return changed;
}

static double cost_merged(const struct grouping *grouping, size_t a, size_t b)
{
	double sum = 0, known = 0, x = (double)grouping->size[a];
	double y = (double)grouping->size[b];

	for (size_t i = 0; i < grouping->n; i++)
		if (grouping->group[i] == a) {
			sum += grouping->sum[i * grouping->n + b];
			known += grouping->known[i * grouping->n + b];
		}
	return cost_of(
		grouping, grouping->n_within + known, grouping->within + sum,
		grouping->sizes - x_log_x(x) - x_log_x(y) + x_log_x(x + y));
}

/* Merge the two groups with which that helps most. */
static bool merge_two(struct grouping *grouping)
{
	double least = cost(grouping) - 1e-9;
	size_t a = 0, b = 0;

	for (size_t g = 0; g < grouping->n; g++)
		for (size_t h = g + 1; grouping->size[g] && h < grouping->n;
		     h++)
			if (grouping->size[h] &&
			    cost_merged(grouping, g, h) < least) {
				least = cost_merged(grouping, g, h);
				a = g;
				b = h;
			}
	for (size_t i = 0; b && i < grouping->n; i++)
		if (grouping->group[i] == b)
			move(grouping, i, a);
	return b > 0;
}

static void apply_merge(struct grouping *grouping, const struct merge *merge)
{
	for (size_t i = 0; i < grouping->n; i++)
		if (grouping->group[i] == merge->b)
			move(grouping, i, merge->a);
}

static void start_alone(struct grouping *grouping)
{
	for (size_t i = 0; i < grouping->n; i++)
		grouping->group[i] = (uint32_t)i;
	add_up(grouping);
}

/* Of the groups after each join, those with the shortest description. */
static void start_at_best_merge(struct grouping *grouping,
				const struct merge *merge, size_t n)
{
	size_t best = 0;
	double least;

	start_alone(grouping);
	least = cost(grouping);
	for (size_t k = 0; k < n; k++) {
		apply_merge(grouping, &merge[k]);
		if (cost(grouping) < least) {
			least = cost(grouping);
			best = k + 1;
		}
	}
	start_alone(grouping);
	for (size_t k = 0; k < best; k++)
		apply_merge(grouping, &merge[k]);
}

static double mean_within(const struct grouping *grouping, size_t i)
{
	size_t at = i * grouping->n + grouping->group[i];

	return grouping->known[at] > 0 ?
		       grouping->sum[at] / grouping->known[at] :
		       0;
}

/*
 * Separate the things that are further from their group than all others are
 * from theirs, by a gap; they are fewer than half of all. Half of the distance
 * of a thing that is far from all others was taken for slowness, so that it
 * seems equally near to all groups.
 */
static void separate_far(struct grouping *grouping)
{
	double *far = grouping->scratch, low, top = INFINITY;
	size_t empty = 0;

	for (size_t i = 0; i < grouping->n; i++)
		far[i] = mean_within(grouping, i);
	qsort(far, grouping->n, sizeof(*far), np_order_double);
	low = far[0];
	for (size_t i = grouping->n / 2; i + 1 < grouping->n && isinf(top); i++)
		if (far[i + 1] - far[i] > fmax(MIN_GAP, far[i] - low))
			top = (far[i] + far[i + 1]) / 2;
	for (size_t i = 0; i < grouping->n; i++)
		far[i] = mean_within(grouping, i);
	for (size_t i = 0; i < grouping->n; i++)
		if (far[i] > top && grouping->size[grouping->group[i]] > 1) {
			while (grouping->size[empty])
				empty++;
			move(grouping, i, empty);
		}
}

/*
 * Estimate how slow each thing is from the groups. This is better than from its
 * nearest neighbour, which may be near by chance.
 */
static void adjust(struct grouping *grouping)
{
	double n_between = grouping->n_all - grouping->n_within,
	       *slow = grouping->scratch;
	double within = grouping->n_within > 0 ?
				grouping->within / grouping->n_within :
				0;
	double between =
		n_between > 0 ? (grouping->all - grouping->within) / n_between :
				0;
	size_t n = grouping->n;

	for (size_t i = 0; i < n; i++) {
		double sum = 0, known = 0;

		for (size_t g = 0; g < n; g++) {
			double k = grouping->known[i * n + g];

			sum += grouping->sum[i * n + g] -
			       k * (g == grouping->group[i] ? within : between);
			known += k;
		}
		slow[i] = known > 0 ? sum / known : 0;
	}
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < n; j++)
			grouping->d[i * n + j] -= slow[i] + slow[j];
	add_up(grouping);
}

static void improve(struct grouping *grouping)
{
	for (int k = 0;
	     k < MAX_PASSES && (move_things(grouping) || merge_two(grouping));
	     k++)
		;
}

static bool is_worth_it(const struct grouping *grouping)
{
	double n_between = grouping->n_all - grouping->n_within;

	return grouping->n_within == 0 || n_between == 0 ||
	       (grouping->all - grouping->within) / n_between -
			       grouping->within / grouping->n_within >=
		       MIN_GAP;
}

static void adjust_and_improve(struct grouping *grouping, bool one)
{
	for (int k = 0; k < ADJUSTMENTS && grouping->n >= MIN_ADJUSTED; k++) {
		adjust(grouping);
		if (!one)
			improve(grouping);
	}
}

/*
 * Improve the grouping, and compare it with a single group of all things, each
 * with its own estimate of how slow the things are.
 */
static void find_groups(struct grouping *grouping, const double *near)
{
	size_t n = grouping->n, bytes = n * n * sizeof(*near);
	double least;

	improve(grouping);
	adjust_and_improve(grouping, false);
	least = is_worth_it(grouping) ? cost(grouping) : INFINITY;
	for (size_t i = 0; i < n; i++)
		grouping->found[i] = grouping->group[i];
	memset(grouping->group, 0, n * sizeof(*grouping->group));
	memcpy(grouping->d, near, bytes);
	add_up(grouping);
	adjust_and_improve(grouping, true);
	for (size_t i = 0; i < n && cost(grouping) > least; i++)
		grouping->group[i] = grouping->found[i];
	memcpy(grouping->d, near, bytes);
	add_up(grouping);
	separate_far(grouping);
}

/* 0, 1, ... in the order of first members; returns their number. */
static size_t number(struct grouping *grouping)
{
	size_t *as = grouping->size, n = 0; /* no longer needed */

	for (size_t g = 0; g < grouping->n; g++)
		as[g] = SIZE_MAX;
	for (size_t i = 0; i < grouping->n; i++) {
		if (as[grouping->group[i]] == SIZE_MAX)
			as[grouping->group[i]] = n++;
		grouping->group[i] = (uint32_t)as[grouping->group[i]];
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
static void group_all(const double *near, struct grouping *grouping,
		      struct merge *merges)
{
	size_t n = grouping->n, bytes = n * n * sizeof(*near), n_merges;
	struct tree tree = { n, grouping->d, grouping->size, merges };

	memcpy(grouping->d, near, bytes);
	for (size_t i = 0; i < n; i++)
		tree.size[i] = 1;
	n_merges = merge_all(&tree);
	memcpy(grouping->d, near, bytes);
	start_at_best_merge(grouping, merges, n_merges);
	find_groups(grouping, near);
}

int np_linkage(const double *dist, size_t n, uint32_t *group,
	       struct np_linkage *out)
{
	struct grouping grouping = { .n = n, .group = group };
	struct merge *merges;
	double *near;
	int rc;

	if (!n || n > NP_LINKAGE_MAX)
		return -EINVAL;
	near = malloc((4 * n * n + n) * sizeof(*near));
	grouping.size = malloc(n * sizeof(*grouping.size));
	grouping.found = malloc(n * sizeof(*grouping.found));
	merges = malloc(n * sizeof(*merges));
	rc = near && grouping.size && grouping.found && merges ?
		     normalise(dist, n, near) :
		     -ENOMEM;
	if (!rc) {
		grouping.d = near + n * n;
		grouping.sum = grouping.d + n * n;
		grouping.known = grouping.sum + n * n;
		grouping.scratch = grouping.known + n * n;
		group_all(near, &grouping, merges);
		out->n_groups = number(&grouping);
		set_medians(dist, n, group, near, out);
	}
	free(near);
	free(grouping.size);
	free(grouping.found);
	free(merges);
	return rc;
}
