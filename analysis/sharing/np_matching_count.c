#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "np_array.h"
#include "np_matching_impl.h"

#define PER_WORD 32 /* two bits for each slot */
#define EACH_SLOT 0x5555555555555555ull

enum { FREE, USED, MUST };

/* All states of all steps, one after the other; scaled sums. */
struct states {
	size_t words, n, room, max;
	uint64_t *key;	  /* n keys of `words` words */
	double *forward;  /* ways to get there, over those of the step */
	size_t *first;	  /* of each step; one more at the end */
	uint32_t *table;  /* of the states of one step: 1 + number, or 0 */
	size_t table_room, table_size; /* powers of two */
	size_t table_of; /* its first state */
	uint64_t *next;	  /* room for one key */
};

static uint64_t *key_of(const struct states *s, size_t i)
{
	return s->key + i * s->words;
}

static unsigned get(const uint64_t *key, uint32_t slot)
{
	return key[slot / PER_WORD] >> slot % PER_WORD * 2 & 3;
}

static void set(uint64_t *key, uint32_t slot, unsigned value)
{
	uint64_t *w = &key[slot / PER_WORD];
	unsigned at = slot % PER_WORD * 2;

	*w = (*w & ~(3ull << at)) | (uint64_t)value << at;
}

static size_t hash(const struct states *s, const uint64_t *key)
{
	uint64_t h = 0x9e3779b97f4a7c15ull;

	for (size_t i = 0; i < s->words; i++) {
		h = (h ^ key[i]) * 0xff51afd7ed558ccdull;
		h ^= h >> 32;
	}
	return (size_t)h & (s->table_size - 1);
}

/* Where in the table a key is or would be. */
static uint32_t *find(const struct states *s, const uint64_t *key)
{
	size_t at = hash(s, key);

	while (s->table[at] &&
	       memcmp(key_of(s, s->table_of + s->table[at] - 1), key,
		      s->words * sizeof(*key)))
		at = (at + 1) & (s->table_size - 1);
	return &s->table[at];
}

/* The table of states from .. to - 1, with room for as many again. */
static int make_table(struct states *s, size_t from, size_t to)
{
	size_t size = 64;

	while (size < 4 * (to - from))
		size *= 2;
	if (size > s->table_room) {
		free(s->table);
		s->table_room = 0;
		s->table = calloc(size, sizeof(*s->table));
		if (!s->table)
			return -ENOMEM;
		s->table_room = size;
	} else {
		memset(s->table, 0, size * sizeof(*s->table));
	}
	s->table_size = size;
	s->table_of = from;
	for (size_t i = from; i < to; i++)
		*find(s, key_of(s, i)) = (uint32_t)(i - from) + 1;
	return 0;
}

static int make_room(struct states *s)
{
	size_t room = s->room ? 2 * s->room : 64;

	if (np_array_resize(&s->key, room, s->words * sizeof(*s->key)) ||
	    np_array_resize(&s->forward, room, sizeof(*s->forward)))
		return -ENOMEM;
	s->room = room;
	return 0;
}

/* Add to the state s->next. */
static int add(struct states *s, double ways)
{
	uint32_t *at = find(s, s->next);

	if (*at) {
		s->forward[s->table_of + *at - 1] += ways;
		return 0;
	}
	if (s->n == s->max)
		return -E2BIG;
	if (s->n == s->room && make_room(s))
		return -ENOMEM;
	memcpy(key_of(s, s->n), s->next, s->words * sizeof(*s->next));
	s->forward[s->n++] = ways;
	*at = (uint32_t)(s->n - s->table_of);
	return 4 * (s->n - s->table_of) > 3 * s->table_size ?
	       make_table(s, s->table_of, s->n) : 0;
}

/* Are there more that must be used than sources to come? */
static bool is_dead(const struct states *s, size_t n_left)
{
	size_t n_must = 0;

	for (size_t i = 0; i < s->words; i++)
		n_must += (size_t)__builtin_popcountll(s->next[i] &
						       MUST * EACH_SLOT);
	return n_must > n_left;
}

/*
 * What a state becomes if the source of step k takes choice `taken` of its n,
 * or none (n).  Into s->next; false: it cannot.
 */
static bool follow(struct states *s, const uint64_t *key,
		   const struct np_matching_plan *plan, size_t k, size_t taken)
{
	const struct np_matching_choice *c =
		plan->choice + plan->step[k].first;
	size_t n = plan->step[k].n;

	if (taken < n && get(key, c[taken].slot) == USED)
		return false;
	memcpy(s->next, key, s->words * sizeof(*key));
	if (taken < n)
		set(s->next, c[taken].slot, USED);
	for (size_t i = 0; i < n; i++) {
		if (taken == n && get(s->next, c[i].slot) == FREE)
			set(s->next, c[i].slot, MUST);
		if (!c[i].closes)
			continue;
		if (get(s->next, c[i].slot) == MUST)
			return false;
		set(s->next, c[i].slot, FREE);
	}
	return !is_dead(s, plan->n_steps - k - 1);
}

static double times_of(const struct np_matching_choice *c, size_t n,
		       size_t taken)
{
	return taken < n ? c[taken].times : 1;
}

/* Sums of one step are brought to 1 at most; *ln keeps what was taken. */
static void rescale(struct states *s, size_t from, double *ln)
{
	double most = 0;

	for (size_t i = from; i < s->n; i++)
		most = fmax(most, s->forward[i]);
	for (size_t i = from; i < s->n; i++)
		s->forward[i] /= most;
	*ln += log(most);
}

static int forward(struct states *s, const struct np_matching_plan *plan,
		   double *ln_sets, size_t *n_done)
{
	int rc = make_room(s);

	if (rc)
		return rc;
	memset(s->key, 0, s->words * sizeof(*s->key));
	s->forward[0] = 1;
	s->n = 1;
	s->first[1] = 1;
	*ln_sets = 0;
	for (size_t k = 0; !rc && k < plan->n_steps; k++) {
		const struct np_matching_step *step = &plan->step[k];
		const struct np_matching_choice *c = plan->choice + step->first;

		rc = make_table(s, s->n, s->n);
		for (size_t i = s->first[k]; !rc && i < s->first[k + 1]; i++)
			for (size_t t = 0; !rc && t <= step->n; t++)
				if (follow(s, key_of(s, i), plan, k, t))
					rc = add(s, s->forward[i] *
						 times_of(c, step->n, t));
		if (!rc)
			rescale(s, s->first[k + 1], ln_sets);
		s->first[k + 2] = s->n;
		*n_done = k;
	}
	return rc;
}

/* Sums of step k from those of k + 1; each choice's share of the whole. */
static void step_back(struct states *s, const struct np_matching_plan *plan,
		      size_t k, const double *after, double *before,
		      double *part)
{
	const struct np_matching_step *step = &plan->step[k];
	const struct np_matching_choice *c = plan->choice + step->first;
	double all = 0, most = 0;

	for (size_t t = 0; t < step->n; t++)
		part[step->first + t] = 0;
	for (size_t i = s->first[k]; i < s->first[k + 1]; i++) {
		double *b = &before[i - s->first[k]];

		*b = 0;
		for (size_t t = 0; t <= step->n; t++) {
			double ways;
			uint32_t at;

			if (!follow(s, key_of(s, i), plan, k, t))
				continue;
			at = *find(s, s->next);
			ways = at ? after[at - 1] : 0;
			*b += ways * times_of(c, step->n, t);
			if (t < step->n) /* by each one of parallel edges */
				part[step->first + t] += s->forward[i] * ways;
		}
		all += s->forward[i] * *b;
		most = fmax(most, *b);
	}
	for (size_t t = 0; t < step->n; t++)
		part[step->first + t] /= all;
	for (size_t i = 0; i < s->first[k + 1] - s->first[k]; i++)
		before[i] /= most;
}

static int backward(struct states *s, const struct np_matching_plan *plan,
		    double *part)
{
	double *sum, *after, *before, *other;
	size_t widest = 1;
	int rc = 0;

	for (size_t k = 0; k <= plan->n_steps; k++)
		if (s->first[k + 1] - s->first[k] > widest)
			widest = s->first[k + 1] - s->first[k];
	sum = calloc(2 * widest, sizeof(*sum));
	if (!sum)
		return -ENOMEM;
	after = sum;
	before = sum + widest;
	after[0] = 1; /* in the end no destination is open */
	for (size_t k = plan->n_steps; !rc && k--;) {
		rc = make_table(s, s->first[k + 1], s->first[k + 2]);
		if (rc)
			break;
		step_back(s, plan, k, after, before, part);
		other = after;
		after = before;
		before = other;
	}
	free(sum);
	return rc;
}

int np_matching_count(const struct np_matching_plan *plan, size_t n_edges,
		      size_t max_states, double *share, double *ln_sets,
		      size_t *n_done)
{
	struct states s = {
		.words = plan->n_slots / PER_WORD + 1, .max = max_states,
		.first = calloc(plan->n_steps + 2, sizeof(*s.first)),
	};
	double *part = calloc(n_edges, sizeof(*part));
	int rc = -ENOMEM;

	s.next = calloc(s.words, sizeof(*s.next));
	if (s.first && part && s.next)
		rc = forward(&s, plan, ln_sets, n_done);
	if (!rc)
		rc = backward(&s, plan, part);
	for (size_t i = 0; !rc && i < n_edges; i++)
		share[i] = part[plan->choice_of[i]];
	free(s.first);
	free(s.next);
	free(s.key);
	free(s.forward);
	free(s.table);
	free(part);
	return rc;
}
