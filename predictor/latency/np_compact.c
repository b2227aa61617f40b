#include "np_compact.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "np_array.h"

#define LARGE ((size_t)4 << 20) /* bytes: some large pages are in it */
#define PAIRS_MAX 16 /* edges that are compared each with each */

/* Does e take at least as long as d, whatever x is? */
static int beats(const struct np_edge *e, const struct np_edge *d)
{
	return (d->from == e->from || !d->from) && e->a >= d->a &&
	       e->b >= d->b;
}

static size_t thin_few(struct np_edge *e, size_t n)
{
	size_t left = 0;

	for (size_t i = 0; i < n; i++) {
		size_t j = 0;

		while (j < n && (j == i || !beats(&e[j], &e[i]) ||
				 (j > i && beats(&e[i], &e[j]))))
			j++;
		if (j == n)
			e[left++] = e[i];
	}
	return left;
}

static int by_from(const void *a, const void *b)
{
	const struct np_edge *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	if (x->b != y->b)
		return x->b > y->b ? -1 : 1;
	return (x->a < y->a) - (x->a > y->a);
}

/* Of each origin the steepest first: flatter ones have to begin later. */
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

void *np_compact_room(size_t n, size_t size)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from, to;
	void *room = reallocarray(NULL, n, size);

	if (!room || n * size < LARGE)
		return room;
	from = ((uintptr_t)room + page - 1) / page * page;
	to = ((uintptr_t)room + n * size) / page * page;
	/* Small ones that it had go; where none are large others come. */
	madvise((void *)from, to - from, MADV_DONTNEED);
	madvise((void *)from, to - from, MADV_HUGEPAGE);
	return room;
}

int np_compact_reserve(struct np_compact *c, size_t n, size_t edges)
{
	c->max_n = n + 2; /* first[] has the end, too */
	c->max_edges = edges + 1;
	c->first = np_compact_room(c->max_n, sizeof(*c->first));
	c->edge = np_compact_room(c->max_edges, sizeof(*c->edge));
	return c->first && c->edge ? 0 : -ENOMEM;
}

int np_compact_add(struct np_compact *c, const struct np_edge *e, size_t n)
{
	size_t at = c->n ? c->first[c->n] : 0;

	if (at + n > UINT32_MAX || c->n >= UINT32_MAX - 1)
		return -ERANGE;
	/* One place more, as first[] has the end, too. */
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
