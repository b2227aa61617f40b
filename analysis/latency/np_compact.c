/*
 * Compact graphs: storage, removal of edges that cannot lie on a longest path,
 * and the order of vertices in which passes are fast.
 */
#include "np_compact.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "np_array.h"

/* bytes from which on large pages are worth asking for */
#define LARGE ((size_t)4 << 20)
#define PAIRS_MAX 16 /* edges up to which each is compared with each */
#define FEW 8	 /* edges up to which a vertex may be merged into the next */
#define LENGTHS 8 /* row lengths that are distinguished when sorting */
#define ROUNDS 4 /* each round finds less than the one before */

/* Whether e takes at least as long as d for every x >= 0. */
static int beats(const struct np_edge *e, const struct np_edge *d)
{
	return (d->from == e->from || !d->from) && e->a >= d->a &&
	       e->b >= d->b;
}

/* Compares each edge with all that remain; of equal edges the first remains. */
static size_t thin_few(struct np_edge *e, size_t n)
{
	size_t left = 1;

	for (size_t i = 1; i < n; i++) {
		const struct np_edge new = e[i];
		size_t j = 0, k;

		while (j < left && !beats(&e[j], &new))
			j++;
		if (j < left)
			continue;
		for (j = k = 0; j < left; j++)
			if (!beats(&new, &e[j]))
				e[k++] = e[j];
		e[k] = new;
		left = k + 1;
	}
	return left;
}

/* By origin, then steepest first, then longest first. */
static int by_from(const void *a, const void *b)
{
	const struct np_edge *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	if (x->b != y->b)
		return x->b > y->b ? -1 : 1;
	return (x->a < y->a) - (x->a > y->a);
}

/*
 * Keeps of each origin the steepest edge, and flatter ones only if they have a
 * greater a.
 */
static size_t thin_many(struct np_edge *e, size_t n)
{
	size_t left = 0;

	qsort(e, n, sizeof(*e), by_from);
	for (size_t i = 0; i < n; i++)
		if (!left || e[left - 1].from != e[i].from ||
		    e[i].a > e[left - 1].a)
			e[left++] = e[i];
	return left;
}

size_t np_edge_thin(struct np_edge *e, size_t n)
{
	if (n < 2)
		return n;
	return n <= PAIRS_MAX ? thin_few(e, n) : thin_many(e, n);
}

void *np_compact_alloc(size_t n, size_t size)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from, to;
	void *room = reallocarray(NULL, n, size);

	if (!room || n * size < LARGE)
		return room;
	from = ((uintptr_t)room + page - 1) / page * page;
	to = ((uintptr_t)room + n * size) / page * page;
	/*
	 * Drop the small pages that it already has, so that large ones replace
	 * them.
	 */
	madvise((void *)from, to - from, MADV_DONTNEED);
	madvise((void *)from, to - from, MADV_HUGEPAGE);
	return room;
}

int np_compact_reserve(struct np_compact *c, size_t n, size_t edges)
{
	c->max_n = n + 2; /* first[] also holds the end */
	c->max_edges = edges + 1;
	c->first = np_compact_alloc(c->max_n, sizeof(*c->first));
	c->edge = np_compact_alloc(c->max_edges, sizeof(*c->edge));
	return c->first && c->edge ? 0 : -ENOMEM;
}

int np_compact_add(struct np_compact *c, const struct np_edge *e, size_t n)
{
	size_t at = c->n ? c->first[c->n] : 0;

	if (at + n > UINT32_MAX || c->n >= UINT32_MAX - 1)
		return -ERANGE;
	/* One more, as first[] also holds the end. */
	if (np_array_room(&c->first, &c->max_n, c->n + 2, sizeof(*c->first)))
		return -ENOMEM;
	if (np_array_room(&c->edge, &c->max_edges, at + n, sizeof(*c->edge)))
		return -ENOMEM;
	if (n)
		memcpy(c->edge + at, e, n * sizeof(*e));
	c->first[c->n++] = (uint32_t)at;
	c->first[c->n] = (uint32_t)(at + n);
	return 0;
}

int np_compact_state(struct np_compact *c, size_t n)
{
	c->in = calloc(n, sizeof(*c->in));
	c->out = calloc(n, sizeof(*c->out));
	c->n_state = n;
	return c->in && c->out ? 0 : -ENOMEM;
}

void np_compact_free(struct np_compact *c)
{
	free(c->edge);
	free(c->first);
	free(c->in);
	free(c->out);
	*c = (struct np_compact){ .n = 0 };
}

void np_chain_free(struct np_chain *c)
{
	for (size_t i = 0; i < c->n; i++)
		np_compact_free(&c->link[i]);
	*c = (struct np_chain){ .n = 0 };
}

/*
 * ---- Fewer vertices, in a better order ----
 *
 * A vertex that a single edge leaves gives its own edges to the vertex behind
 * it, if they are few. A vertex with a single edge is only a distance from
 * another vertex. The remaining vertices are sorted by depth: then neighbours
 * do not wait for each other, and find what they need close to each other in
 * memory.
 */

struct row {
	struct np_edge *edge;
	size_t n, max;
};

static int push(struct row *r, struct np_edge e)
{
	if (np_array_room(&r->edge, &r->max, r->n + 1, sizeof(*r->edge)))
		return -ENOMEM;
	r->edge[r->n++] = e;
	return 0;
}

/* Appends e, or in its place the edges of the vertex from which it starts. */
static int push_merged(const struct np_compact *to, const uint32_t *leaving,
		   struct np_edge e, struct row *r)
{
	const struct np_edge *d = to->edge + to->first[e.from];
	size_t n = to->first[e.from + 1] - to->first[e.from];

	if (!n || (n > 1 && (n > FEW || leaving[e.from] != 1)))
		return push(r, e);
	for (size_t i = 0; i < n; i++)
		if (d[i].b > INT32_MAX - e.b)
			return push(r, e);
	for (size_t i = 0; i < n; i++)
		if (push(r, (struct np_edge){ e.a + d[i].a, d[i].from,
					      e.b + d[i].b }))
			return -ENOMEM;
	return 0;
}

/* Merges vertices into their successors where that adds no edges. */
static int merge_vertices(const struct np_compact *c, struct np_compact *to)
{
	uint32_t *leaving = calloc(c->n, sizeof(*leaving));
	struct row r = { .n = 0 };
	int rc = leaving ? 0 : -ENOMEM;

	for (size_t i = 0; !rc && i < np_compact_edges(c); i++)
		leaving[c->edge[i].from]++;
	for (size_t i = 0; !rc && i < c->n_state; i++)
		/* the next link may use it any number of times */
		leaving[c->out[i]] += 2;
	for (size_t v = 0; !rc && v < c->n; v++) {
		r.n = 0;
		for (size_t i = c->first[v]; !rc && i < c->first[v + 1]; i++)
			rc = push_merged(to, leaving, c->edge[i], &r);
		r.n = np_edge_thin(r.edge, r.n);
		if (!rc)
			rc = np_compact_add(to, r.edge, r.n);
	}
	free(leaving);
	free(r.edge);
	return rc;
}

/* Depth of each vertex from which the end can be reached; 0 for all others. */
static uint32_t *depths(const struct np_compact *c, uint32_t *deepest)
{
	uint32_t *depth = calloc(c->n, sizeof(*depth));

	if (!depth)
		return NULL;
	depth[c->n - 1] = 1;
	for (size_t i = 0; i < c->n_state; i++)
		depth[c->out[i]] = 1;
	for (size_t v = c->n; v--;)
		for (size_t i = c->first[v]; depth[v] && i < c->first[v + 1];
		     i++)
			depth[c->edge[i].from] = 1;
	*deepest = 0;
	for (size_t v = 0; v < c->n; v++) {
		uint32_t d = 0;

		if (!depth[v])
			continue;
		for (size_t i = c->first[v]; i < c->first[v + 1]; i++)
			if (depth[c->edge[i].from] > d)
				d = depth[c->edge[i].from];
		depth[v] = d + 1;
		if (d + 1 > *deepest)
			*deepest = d + 1;
	}
	/* The first vertex and the last one keep their places. */
	depth[0] = 1;
	if (c->n > 1)
		depth[c->n - 1] = ++*deepest;
	return depth;
}

/*
 * Sort key of a vertex: first depth, then number of edges, because a processor
 * predicts the length of a row well if it equals that of the row before.
 */
static size_t key_of(const struct np_compact *c, const uint32_t *depth,
		     size_t v)
{
	size_t n = c->first[v + 1] - c->first[v];

	return (size_t)depth[v] * LENGTHS + (n < LENGTHS ? n : LENGTHS - 1);
}

/*
 * Fills place[] (by vertex) and its inverse order[]. Returns how many remain.
 */
static size_t sort(const struct np_compact *c, const uint32_t *depth,
		   uint32_t deepest, uint32_t *place, uint32_t *order)
{
	size_t keys = (deepest + (size_t)1) * LENGTHS, sum = 0;
	uint32_t *behind = calloc(keys, sizeof(*behind));

	if (!behind)
		return 0;
	for (size_t v = 0; v < c->n; v++)
		if (depth[v])
			behind[key_of(c, depth, v)]++;
	for (size_t k = 0; k < keys; k++) {
		uint32_t n = behind[k];

		behind[k] = (uint32_t)sum;
		sum += n;
	}
	for (size_t v = 0; v < c->n; v++)
		if (depth[v]) {
			place[v] = behind[key_of(c, depth, v)]++;
			order[place[v]] = (uint32_t)v;
		}
	free(behind);
	return sum;
}

/* Vertices without edges (the beginning and the given ones) come first. */
static void renumber(struct np_compact *c, const uint32_t *depth,
		     const uint32_t *place)
{
	c->n_given = 0;
	for (size_t i = 0; i < c->n_state; i++) {
		c->out[i] = place[c->out[i]];
		c->in[i] = depth[c->in[i]] ? place[c->in[i]] : 0;
		c->n_given += c->in[i] > 0;
	}
}

/*
 * Copies the graph in the order of depth, without vertices that do not lead to
 * the end.
 */
static int reorder(const struct np_compact *c, struct np_compact *to)
{
	uint32_t deepest, *depth = depths(c, &deepest);
	uint32_t *place = malloc(2 * c->n * sizeof(*place)), *order;
	size_t n = 0;
	int rc = -ENOMEM;

	order = place ? place + c->n : NULL;
	if (depth && place)
		n = sort(c, depth, deepest, place, order);
	if (n)
		rc = np_compact_reserve(to, n, np_compact_edges(c));
	for (size_t k = 0; !rc && k < n; k++) {
		const uint32_t *first = c->first + order[k];

		rc = np_compact_add(to, c->edge + first[0],
				    first[1] - first[0]);
		for (size_t i = to->first[k]; !rc && i < to->first[k + 1]; i++)
			to->edge[i].from = place[to->edge[i].from];
	}
	if (!rc)
		renumber(to, depth, place);
	free(depth);
	free(place);
	return rc;
}

/* Replaces a graph by the result of make(), and keeps its state. */
static int step(struct np_compact *c,
		int (*make)(const struct np_compact *c, struct np_compact *to))
{
	struct np_compact to = { .in = c->in, .out = c->out,
				 .n_state = c->n_state,
				 .n_given = c->n_given };
	int rc = make(c, &to);

	if (rc)
		to.in = to.out = NULL;
	else
		c->in = c->out = NULL;
	np_compact_free(rc ? &to : c);
	if (!rc)
		*c = to;
	return rc;
}

int np_contract_order(struct np_compact *c)
{
	size_t before;
	int rc, round = 0;

	do {
		before = c->n;
		rc = step(c, merge_vertices);
		/* also removes vertices that no longer lead to the end */
		if (!rc)
			rc = step(c, reorder);
	} while (!rc && ++round < ROUNDS && c->n < before - before / 16);
	return rc;
}
