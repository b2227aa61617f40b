#include "np_pairing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A process with all that orders it among the others. */
struct member {
	const struct np_place *place;
	size_t rank;
	size_t local; /* local rank */
	size_t first; /* lowest rank of its node */
};

static int by_node(const void *a, const void *b)
{
	const struct member *x = a, *y = b;
	int c = strcmp(x->place->leaf, y->place->leaf);

	if (!c)
		c = strcmp(x->place->node, y->place->node);
	return c ? c : (x->rank > y->rank) - (x->rank < y->rank);
}

/* Leaf, then local rank, then nodes in the order of their first rank. */
static int by_group(const void *a, const void *b)
{
	const struct member *x = a, *y = b;
	int c = strcmp(x->place->leaf, y->place->leaf);

	if (!c)
		c = (x->local > y->local) - (x->local < y->local);
	return c ? c : (x->first > y->first) - (x->first < y->first);
}

static int same_node(const struct member *x, const struct member *y)
{
	return !strcmp(x->place->leaf, y->place->leaf) &&
	       !strcmp(x->place->node, y->place->node);
}

static int same_group(const struct member *x, const struct member *y)
{
	return x->local == y->local &&
	       !strcmp(x->place->leaf, y->place->leaf);
}

/* All processes, sorted so that each group of partners stands together. */
static struct member *members_new(const struct np_place *place, size_t n)
{
	struct member *m = calloc(n ? n : 1, sizeof(*m));

	if (!m)
		return NULL;
	for (size_t i = 0; i < n; i++)
		m[i] = (struct member){ .place = &place[i], .rank = i };
	qsort(m, n, sizeof(*m), by_node);
	for (size_t i = 0; i < n; i++) {
		int again = i && same_node(&m[i - 1], &m[i]);

		m[i].local = again ? m[i - 1].local + 1 : 0;
		m[i].first = again ? m[i - 1].first : m[i].rank;
	}
	qsort(m, n, sizeof(*m), by_group);
	return m;
}

static size_t group_end(const struct member *m, size_t n, size_t start)
{
	size_t end = start + 1;

	while (end < n && same_group(&m[start], &m[end]))
		end++;
	return end;
}

static void ask(struct np_pair *out, const struct member *from,
		const struct member *to)
{
	out[from->rank].asks = (long)to->rank;
	out[to->rank].answers = (long)from->rank;
}

/* One process on each of k nodes of a leaf, all of one local rank. */
static void pair_group(const struct member *m, size_t k, struct np_pair *out)
{
	size_t turn = m->local, left = k;
#define AT(i) (&m[(turn + (i)) % k])

	if (k == 1) {
		out[m->rank].skipped =
			m->local ? "no partner: the other nodes of the step "
				   "on this leaf run fewer probes" :
				   "no partner: the step has one node on "
				   "this leaf";
		return;
	}
	for (; left > 3 || left == 2; left -= 2)
		ask(out, AT(k - left), AT(k - left + 1));
	if (left == 3) {
		ask(out, AT(k - 3), AT(k - 2));
		ask(out, AT(k - 2), AT(k - 1));
		ask(out, AT(k - 1), AT(k - 3));
	}
#undef AT
}

int np_pairing_make(const struct np_place *place, size_t n,
		    struct np_pair *out)
{
	struct member *m = members_new(place, n);

	if (!m)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		out[i] = (struct np_pair){ NP_NOBODY, NP_NOBODY, NULL };
	for (size_t i = 0, end; i < n; i = end) {
		end = group_end(m, n, i);
		pair_group(&m[i], end - i, out);
	}
	free(m);
	return 0;
}

/* Local rank, then the how-manieth node of its leaf, then leaf. */
static int by_turn(const void *a, const void *b)
{
	const struct member *x = a, *y = b;

	if (x->local != y->local)
		return x->local > y->local ? 1 : -1;
	if (x->first != y->first)
		return x->first > y->first ? 1 : -1;
	return strcmp(x->place->leaf, y->place->leaf);
}

/* Groups become one for each local rank, of all leaves in turn. */
static void round_robin(struct member *m, size_t n)
{
	for (size_t i = 0, end; i < n; i = end) {
		end = group_end(m, n, i);
		for (size_t k = i; k < end; k++)
			m[k].first = k - i;
	}
	qsort(m, n, sizeof(*m), by_turn);
}

static bool is_in_ring(const struct member *x, const struct member *y,
		       bool across)
{
	return across ? x->local == y->local : same_group(x, y);
}

int np_pairing_ring(const struct np_place *place, size_t n, bool across,
		    size_t rank, size_t want, size_t *to, size_t *from,
		    size_t *got)
{
	struct member *m = members_new(place, n);
	size_t at = 0, start, end, k;

	if (!m)
		return -ENOMEM;
	if (across)
		round_robin(m, n);
	while (m[at].rank != rank)
		at++;
	for (start = at; start && is_in_ring(&m[start - 1], &m[at], across);)
		start--;
	for (end = at; end < n && is_in_ring(&m[end], &m[at], across);)
		end++;
	k = end - start;
	*got = want > k - 1 ? k - 1 : want;
	for (size_t i = 0; i < *got; i++) {
		to[i] = m[start + (at - start + i + 1) % k].rank;
		from[i] = m[start + (at - start + k - 1 - i) % k].rank;
	}
	free(m);
	return 0;
}
