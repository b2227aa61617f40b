/*
 * Counting maximal matchings takes two steps: a plan orders the sources, and
 * the count sums over the states between them. Components of the graph are
 * counted separately.
 */
#include "np_matching.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "np_array.h"

/* A destination of a source, with all parallel edges between them. */
struct np_matching_choice {
	uint32_t slot; /* slot of the destination in the states of this step */
	uint32_t times; /* number of parallel edges */
	bool closes;   /* no later source has this destination */
};

struct np_matching_step {
	uint32_t source;
	size_t first, n; /* range of choice[] */
};

struct np_matching_plan {
	/* n_slots: maximum number of open destinations */
	size_t n_steps, n_slots;
	struct np_matching_step *step;
	struct np_matching_choice *choice;
	uint32_t *choice_of; /* by edge */
};

/* Rules for the first source; either may be much better than the other. */
enum np_matching_order {
	NP_MATCHING_FEWEST, /* a source with the fewest edges */
	NP_MATCHING_MOST,
	NP_MATCHING_N_ORDERS
};

#define NONE UINT32_MAX

/* Edges sorted by source, and the status of each destination. */
struct graph {
	const struct np_ports *p;
	uint32_t *edge;	 /* by source, then by destination */
	/* by source: first index in edge[]; one more entry at the end */
	size_t *first;
	uint32_t *left;	 /* by destination: number of remaining sources */
	uint32_t *slot;	 /* by destination; NONE: not opened yet */
	bool *done;	 /* by source: processed */
};

/* Whether edge[i] is the first of parallel edges. */
static bool is_first(const struct graph *g, size_t source, size_t i)
{
	return i == g->first[source] ||
	       g->p->in[g->edge[i]] != g->p->in[g->edge[i - 1]];
}

static void graph_free(struct graph *g)
{
	free(g->edge);
	free(g->first);
	free(g->left);
	free(g->slot);
	free(g->done);
}

/* Sorts the edges by source, and counts the sources of each destination. */
static int graph_new(const struct np_ports *p, struct graph *g)
{
	*g = (struct graph){
		.p = p, .edge = calloc(p->n, sizeof(*g->edge)),
		.first = calloc(p->n_out + 1, sizeof(*g->first)),
		.left = calloc(p->n_in, sizeof(*g->left)),
		.slot = calloc(p->n_in, sizeof(*g->slot)),
		.done = calloc(p->n_out, sizeof(*g->done)),
	};
	if (!g->edge || !g->first || !g->left || !g->slot || !g->done)
		return -ENOMEM;
	for (size_t i = 0; i < p->n; i++)
		g->first[p->out[i] + 1]++;
	for (size_t s = 0; s < p->n_out; s++)
		g->first[s + 1] += g->first[s];
	np_ports_sort(p, g->edge);
	memset(g->slot, 0xff, p->n_in * sizeof(*g->slot));
	for (size_t s = 0; s < p->n_out; s++)
		for (size_t i = g->first[s]; i < g->first[s + 1]; i++)
			g->left[p->in[g->edge[i]]] += is_first(g, s, i);
	return 0;
}

/*
 * Destinations opened minus those closed; then remaining sources of its
 * destinations.
 */
struct cost {
	long open;
	size_t later;
	bool adjacent; /* shares a destination with processed sources */
};

/* The effect of taking source s next. */
static struct cost cost_of(const struct graph *g, size_t s)
{
	struct cost c = { 0, 0, false };

	for (size_t i = g->first[s]; i < g->first[s + 1]; i++) {
		uint32_t d = g->p->in[g->edge[i]];

		if (!is_first(g, s, i))
			continue;
		if (g->slot[d] == NONE)
			c.open += g->left[d] > 1;
		else
			c.open -= g->left[d] == 1;
		c.later += g->left[d] - 1;
		c.adjacent |= g->slot[d] != NONE;
	}
	return c;
}

/* Whether cost a is preferable to b. */
static bool is_less(struct cost a, struct cost b)
{
	return a.open != b.open ? a.open < b.open : a.later < b.later;
}

/* The source to begin with. */
static size_t first_source(const struct graph *g, enum np_matching_order order)
{
	size_t best = 0;

	for (size_t s = 1; s < g->p->n_out; s++)
		if (order == NP_MATCHING_MOST ?
		    g->p->n_of_out[s] > g->p->n_of_out[best] :
		    g->p->n_of_out[s] < g->p->n_of_out[best])
			best = s;
	return best;
}

/* The cheapest source next to those processed so far. */
static size_t next_source(const struct graph *g)
{
	struct cost least = { 0, 0, false };
	size_t best = g->p->n_out;

	for (size_t s = 0; s < g->p->n_out; s++) {
		struct cost c;

		if (g->done[s])
			continue;
		c = cost_of(g, s);
		if (c.adjacent && (best == g->p->n_out || is_less(c, least))) {
			best = s;
			least = c;
		}
	}
	return best;
}

/* Slots are reused after their destination is closed. */
struct slots {
	uint32_t *free;
	size_t n_free, n;
};

/* A free slot, or a new one. */
static uint32_t take_slot(struct slots *s)
{
	return s->n_free ? s->free[--s->n_free] : (uint32_t)s->n++;
}

/* Appends a source to the plan, with a choice for each destination. */
static void process_source(struct graph *g, size_t s, struct slots *slots,
		 struct np_matching_plan *plan, size_t *n_choices)
{
	struct np_matching_step *step = &plan->step[plan->n_steps++];

	*step = (struct np_matching_step){ (uint32_t)s, *n_choices, 0 };
	g->done[s] = true;
	for (size_t i = g->first[s]; i < g->first[s + 1]; i++) {
		uint32_t d = g->p->in[g->edge[i]];
		struct np_matching_choice *c;

		if (is_first(g, s, i)) {
			if (g->slot[d] == NONE)
				g->slot[d] = take_slot(slots);
			g->left[d]--;
			plan->choice[(*n_choices)++] =
				(struct np_matching_choice){
					g->slot[d], 0, !g->left[d] };
			step->n++;
		}
		c = &plan->choice[*n_choices - 1];
		c->times++;
		plan->choice_of[g->edge[i]] = (uint32_t)(*n_choices - 1);
	}
	for (size_t i = 0; i < step->n; i++)
		if (plan->choice[step->first + i].closes)
			slots->free[slots->n_free++] =
				plan->choice[step->first + i].slot;
}

static void np_matching_plan_free(struct np_matching_plan *plan)
{
	free(plan->step);
	free(plan->choice);
	free(plan->choice_of);
	memset(plan, 0, sizeof(*plan));
}

/*
 * Chooses an order of the sources of p, a connected graph, in which each source
 * is adjacent to earlier ones and few destinations are open. Returns 0 or
 * -ENOMEM.
 */
static int np_matching_plan(const struct np_ports *p, enum np_matching_order order,
		     struct np_matching_plan *out)
{
	struct np_matching_plan plan = {
		.step = calloc(p->n_out, sizeof(*plan.step)),
		.choice = calloc(p->n, sizeof(*plan.choice)),
		.choice_of = calloc(p->n, sizeof(*plan.choice_of)),
	};
	struct slots slots = { .free = calloc(p->n_in, sizeof(uint32_t)) };
	struct graph g;
	size_t n_choices = 0;
	int rc = graph_new(p, &g);

	if (!plan.step || !plan.choice || !plan.choice_of || !slots.free)
		rc = -ENOMEM;
	for (size_t s = 0; !rc && plan.n_steps < p->n_out;) {
		s = plan.n_steps ? next_source(&g) : first_source(&g, order);
		process_source(&g, s, &slots, &plan, &n_choices);
	}
	plan.n_slots = slots.n;
	graph_free(&g);
	free(slots.free);
	if (rc)
		np_matching_plan_free(&plan);
	else
		*out = plan;
	return rc;
}

#define PER_WORD 32 /* two bits per slot */
#define EACH_SLOT 0x5555555555555555ull

enum { FREE, USED, MUST };

/* All states of all steps, one step after the other, with scaled sums. */
struct states {
	size_t words, n, room, max;
	uint64_t *key;	  /* n keys of `words` words */
	double *forward; /* number of ways to reach a state, scaled per step */
	size_t *first;	  /* by step; one more entry at the end */
	/* hash table of the states of one step: index + 1, or 0 */
	uint32_t *table;
	size_t table_room, table_size; /* powers of two */
	size_t table_of; /* index of the first state in the table */
	uint64_t *next;	  /* buffer for one key */
};

static uint64_t *key_of(const struct states *s, size_t i)
{
	return s->key + i * s->words;
}

/* The status of a destination in a state. */
static unsigned get(const uint64_t *key, uint32_t slot)
{
	return key[slot / PER_WORD] >> slot % PER_WORD * 2 & 3;
}

/* Sets the status of a destination in a state. */
static void set(uint64_t *key, uint32_t slot, unsigned value)
{
	uint64_t *w = &key[slot / PER_WORD];
	unsigned at = slot % PER_WORD * 2;

	*w = (*w & ~(3ull << at)) | (uint64_t)value << at;
}

/* Hash of a state. */
static size_t hash(const struct states *s, const uint64_t *key)
{
	uint64_t h = 0x9e3779b97f4a7c15ull;

	for (size_t i = 0; i < s->words; i++) {
		h = (h ^ key[i]) * 0xff51afd7ed558ccdull;
		h ^= h >> 32;
	}
	return (size_t)h & (s->table_size - 1);
}

/* The table entry of a key, or the free one where it belongs. */
static uint32_t *find(const struct states *s, const uint64_t *key)
{
	size_t at = hash(s, key);

	while (s->table[at] &&
	       memcmp(key_of(s, s->table_of + s->table[at] - 1), key,
		      s->words * sizeof(*key)))
		at = (at + 1) & (s->table_size - 1);
	return &s->table[at];
}

/* Builds the table of states from .. to - 1, with room for as many more. */
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

/* Doubles the room for states. */
static int make_room(struct states *s)
{
	size_t room = s->room ? 2 * s->room : 64;

	if (np_array_resize(&s->key, room, s->words * sizeof(*s->key)) ||
	    np_array_resize(&s->forward, room, sizeof(*s->forward)))
		return -ENOMEM;
	s->room = room;
	return 0;
}

/* Adds ways to the state s->next, which is created if necessary. */
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

/* Whether more destinations must be used than there are sources left. */
static bool is_impossible(const struct states *s, size_t n_left)
{
	size_t n_must = 0;

	for (size_t i = 0; i < s->words; i++)
		n_must += (size_t)__builtin_popcountll(s->next[i] &
						       MUST * EACH_SLOT);
	return n_must > n_left;
}

/*
 * Computes the state after the source of step k takes choice `taken` of its n,
 * or none (taken == n), into s->next. Returns false if that is impossible.
 */
static bool next_state(struct states *s, const uint64_t *key,
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
	return !is_impossible(s, plan->n_steps - k - 1);
}

/* Number of ways to make a choice. */
static double times_of(const struct np_matching_choice *c, size_t n,
		       size_t taken)
{
	return taken < n ? c[taken].times : 1;
}

/*
 * Scales the sums of one step to at most 1, and adds the logarithm of the
 * factor to *ln.
 */
static void rescale(struct states *s, size_t from, double *ln)
{
	double most = 0;

	for (size_t i = from; i < s->n; i++)
		most = fmax(most, s->forward[i]);
	for (size_t i = from; i < s->n; i++)
		s->forward[i] /= most;
	*ln += log(most);
}

/* Computes the states of all steps, and the number of ways to each. */
static int sum_forward(struct states *s, const struct np_matching_plan *plan,
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
				if (next_state(s, key_of(s, i), plan, k, t))
					rc = add(s, s->forward[i] *
						 times_of(c, step->n, t));
		if (!rc)
			rescale(s, s->first[k + 1], ln_sets);
		s->first[k + 2] = s->n;
		*n_done = k;
	}
	return rc;
}

/*
 * Computes the sums of step k from those of k + 1, and the share of each
 * choice.
 */
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

			if (!next_state(s, key_of(s, i), plan, k, t))
				continue;
			at = *find(s, s->next);
			ways = at ? after[at - 1] : 0;
			*b += ways * times_of(c, step->n, t);
			/* for each single one of parallel edges */
			if (t < step->n)
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

/* Computes shares from the last step to the first. */
static int sum_backward(struct states *s, const struct np_matching_plan *plan,
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
	after[0] = 1; /* at the end no destination is open */
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

/*
 * np_matching_all() for this one order. *n_done: number of sources processed;
 * all, unless the result is -E2BIG.
 */
static int np_matching_count(const struct np_matching_plan *plan, size_t n_edges,
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
		rc = sum_forward(&s, plan, ln_sets, n_done);
	if (!rc)
		rc = sum_backward(&s, plan, part);
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

/* Four variants: either side as sources, in two orders. */
#define N_VARIANTS (2 * NP_MATCHING_N_ORDERS)

/*
 * Limits of states for trying all variants, before the one that got furthest is
 * continued.
 */
static const size_t state_limits[] = { 4096, (size_t)1 << 18 };

struct variant {
	struct np_ports p;
	enum np_matching_order order;
};

/* Variant `number`: exchanges the sides for odd numbers. */
static struct variant make_variant(const struct np_ports *p, int number)
{
	const struct np_ports turned = {
		.n = p->n, .n_out = p->n_in, .n_in = p->n_out,
		.out = p->in, .in = p->out,
		.n_of_out = p->n_of_in, .n_of_in = p->n_of_out,
	};
	bool turn = (number % 2 == 0) != (p->n_out >= p->n_in);

	return (struct variant){ turn ? turned : *p,
			     (enum np_matching_order)(number / 2) };
}

/* Runs a variant; *done: fraction of the sources processed. */
static int run_variant(const struct np_ports *p, int number, size_t max_states,
	      double *share, double *ln_sets, double *done)
{
	struct variant w = make_variant(p, number);
	struct np_matching_plan plan;
	size_t n_done = 0;
	int rc = np_matching_plan(&w.p, w.order, &plan);

	if (rc)
		return rc;
	rc = np_matching_count(&plan, p->n, max_states, share, ln_sets,
			       &n_done);
	*done = (double)n_done / (double)plan.n_steps;
	np_matching_plan_free(&plan);
	return rc;
}

/* Shares for one connected graph; undefined after -E2BIG. */
static int component_shares(const struct np_ports *p, size_t max_states,
			    double *share, double *ln_sets)
{
	double done, furthest = -1;
	int best = 0, rc = -E2BIG;

	if (p->n_out == 1 || p->n_in == 1) { /* only one edge at a time */
		for (size_t i = 0; i < p->n; i++)
			share[i] = 1.0 / (double)p->n;
		*ln_sets = log((double)p->n);
		return 0;
	}
	for (size_t t = 0; t < NP_ARRAY_SIZE(state_limits) * N_VARIANTS; t++) {
		if (state_limits[t / N_VARIANTS] > max_states)
			break;
		rc = run_variant(p, (int)(t % N_VARIANTS),
				 state_limits[t / N_VARIANTS], share, ln_sets,
				 &done);
		if (rc != -E2BIG)
			return rc;
		if (t % N_VARIANTS == 0)
			furthest = -1;
		if (done > furthest)
			best = (int)(t % N_VARIANTS);
		furthest = fmax(furthest, done);
	}
	return run_variant(p, best, max_states, share, ln_sets, &done);
}

/* Counts one component. */
static int count_component(const struct np_comm *c, size_t n, size_t max_states,
		    double *share, double *ln_sets, struct np_err *err)
{
	struct np_ports p;
	int rc = np_ports_new(c, n, &p, err);

	if (rc)
		return rc;
	rc = component_shares(&p, max_states, share, ln_sets);
	if (rc == -E2BIG)
		np_errf(err, rc, "model myrinet: %zu communications from %zu "
			"nodes to %zu that all depend on each other have more "
			"than %zu states; expected fewer, or another model",
			n, p.n_out, p.n_in, max_states);
	else if (rc)
		np_errf(err, rc, "out of memory");
	np_ports_free(&p);
	return rc;
}

/* Communications sorted by component. */
struct components {
	struct np_comm *c;
	uint32_t *part, *at;
	double *share;
	size_t *first;
};

static void components_free(struct components *s)
{
	free(s->c);
	free(s->part);
	free(s->share);
	free(s->first);
}

/* Sorts the communications by component. */
static int sort_components(const struct np_ports *p, struct components *s,
			   long *n_parts, struct np_err *err)
{
	size_t n = p->n;

	*s = (struct components){
		.c = calloc(n, sizeof(*s->c)),
		.part = calloc(2 * n, sizeof(*s->part)),
		.share = calloc(n, sizeof(*s->share)),
		.first = calloc(n + 2, sizeof(*s->first)),
	};
	*n_parts = -ENOMEM;
	if (s->c && s->part && s->share && s->first)
		*n_parts = np_ports_parts(p, s->part);
	if (*n_parts < 0) {
		components_free(s);
		return np_errf(err, -ENOMEM, "out of memory");
	}
	s->at = s->part + n;
	for (size_t i = 0; i < n; i++)
		s->first[s->part[i] + 2]++;
	for (long k = 0; k < *n_parts; k++)
		s->first[k + 2] += s->first[k + 1];
	for (size_t i = 0; i < n; i++) {
		s->at[i] = (uint32_t)s->first[s->part[i] + 1]++;
		s->c[s->at[i]] = p->c[i];
	}
	return 0;
}

int np_matching_all(const struct np_ports *p, size_t max_states, double *share,
		    double *ln_sets, struct np_err *err)
{
	struct components s;
	long n_parts;
	double ln = 0, sum = 0;
	int rc = sort_components(p, &s, &n_parts, err);

	if (rc)
		return rc;
	for (long k = 0; !rc && k < n_parts; k++) {
		size_t from = s.first[k], to = s.first[k + 1];

		rc = count_component(s.c + from, to - from, max_states,
			      s.share + from, &ln, err);
		sum += ln;
	}
	for (size_t i = 0; !rc && i < p->n; i++)
		share[i] = s.share[s.at[i]];
	if (!rc && ln_sets)
		*ln_sets = sum;
	components_free(&s);
	return rc;
}
