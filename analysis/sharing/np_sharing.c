/*
 * The ports of a set of communications, and the number of its maximal
 * matchings, which the model of Myrinet needs; the penalty models; and their
 * evaluation for a fixed set or over time.
 */
#include "np_sharing.h"

#include <errno.h>
#include <gsl/gsl_sort.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "np_array.h"

/*
 * ---- Ports and connected components ----
 *
 * Ports are numbered in the order of their nodes. Connected components come
 * from a union-find structure over all ports.
 */

struct key {
	uint32_t node; /* first, as np_order_u32() expects */
	uint32_t comm;
};

/* Numbers the nodes in key[n]; returns how many different ones there are. */
static size_t number(struct key *key, size_t n, uint32_t *port, uint32_t *count)
{
	size_t ports = 0;

	qsort(key, n, sizeof(*key), np_order_u32);
	for (size_t i = 0; i < n; i++) {
		if (!i || key[i].node != key[i - 1].node)
			count[ports++] = 0;
		port[key[i].comm] = (uint32_t)(ports - 1);
		count[ports - 1]++;
	}
	return ports;
}

int np_ports_new(const struct np_comm *c, size_t n, struct np_ports *out,
		 struct np_err *err)
{
	struct np_ports p = { .c = c, .n = n };
	struct key *key = calloc(n + 1, sizeof(*key));

	p.out = calloc(4 * n + 1, sizeof(*p.out));
	if (!key || !p.out) {
		free(key);
		free(p.out);
		return np_errf(err, -ENOMEM, "out of memory");
	}
	p.in = p.out + n;
	p.n_of_out = p.in + n;
	p.n_of_in = p.n_of_out + n;
	for (size_t i = 0; i < n; i++)
		key[i] = (struct key){ c[i].from, (uint32_t)i };
	p.n_out = number(key, n, p.out, p.n_of_out);
	for (size_t i = 0; i < n; i++)
		key[i] = (struct key){ c[i].to, (uint32_t)i };
	p.n_in = number(key, n, p.in, p.n_of_in);
	free(key);
	*out = p;
	return 0;
}

void np_ports_free(struct np_ports *p)
{
	free(p->out);
	memset(p, 0, sizeof(*p));
}

/* By output port, then by input port. */
static int by_ends(const void *a, const void *b, void *arg)
{
	const struct np_ports *p = arg;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (p->out[x] != p->out[y])
		return p->out[x] < p->out[y] ? -1 : 1;
	return (p->in[x] > p->in[y]) - (p->in[x] < p->in[y]);
}

/* Sorts the communications by source, then by destination, into order[n]. */
static void ports_sort(const struct np_ports *p, uint32_t *order)
{
	for (size_t i = 0; i < p->n; i++)
		order[i] = (uint32_t)i;
	qsort_r(order, p->n, sizeof(*order), by_ends, (void *)p);
}

/* Root of the set that contains a port (union-find with path halving). */
static uint32_t root_of(uint32_t *parent, uint32_t port)
{
	while (parent[port] != port)
		port = parent[port] = parent[parent[port]];
	return port;
}

/*
 * Finds connected components: part[n] is the component of each communication,
 * where two are connected if they share a port. Returns the number of
 * components, or -ENOMEM.
 */
static long ports_parts(const struct np_ports *p, uint32_t *part)
{
	size_t n_ports = p->n_out + p->n_in;
	uint32_t *parent = calloc(2 * n_ports + 1, sizeof(*parent));
	uint32_t *name = parent + n_ports;
	long parts = 0;

	if (!parent)
		return -ENOMEM;
	for (size_t i = 0; i < n_ports; i++)
		parent[i] = (uint32_t)i;
	for (size_t i = 0; i < p->n; i++)
		parent[root_of(parent, p->out[i])] =
			root_of(parent, (uint32_t)p->n_out + p->in[i]);
	for (size_t i = 0; i < p->n; i++) {
		uint32_t r = root_of(parent, p->out[i]);

		if (!name[r])
			name[r] = (uint32_t)++parts;
		part[i] = name[r] - 1;
	}
	free(parent);
	return parts;
}

/*
 * ---- Counting maximal matchings ----
 *
 * This takes two steps: a plan orders the sources, and the count sums over the
 * states between them. Components of the graph are counted separately.
 */

/* A destination of a source, with all parallel edges between them. */
struct np_matching_choice {
	uint32_t slot;	/* slot of the destination in the states of this step */
	uint32_t times; /* number of parallel edges */
	bool closes;	/* no later source has this destination */
};

struct np_matching_step {
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

#define NO_PORT UINT32_MAX

/* Edges sorted by source, and the status of each destination. */
struct graph {
	const struct np_ports *p;
	uint32_t *edge; /* by source, then by destination */
	/* by source: first index in edge[]; one more entry at the end */
	size_t *first;
	uint32_t *left; /* by destination: number of remaining sources */
	uint32_t *slot; /* by destination; NO_PORT: not opened yet */
	bool *done;	/* by source: processed */
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
		.p = p,
		.edge = calloc(p->n, sizeof(*g->edge)),
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
	ports_sort(p, g->edge);
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
		if (g->slot[d] == NO_PORT)
			c.open += g->left[d] > 1;
		else
			c.open -= g->left[d] == 1;
		c.later += g->left[d] - 1;
		c.adjacent |= g->slot[d] != NO_PORT;
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

/* Appends a source to the plan, with a choice for each destination. */
static void process_source(struct graph *g, size_t s, struct slots *slots,
			   struct np_matching_plan *plan, size_t *n_choices)
{
	struct np_matching_step *step = &plan->step[plan->n_steps++];

	*step = (struct np_matching_step){ *n_choices, 0 };
	g->done[s] = true;
	for (size_t i = g->first[s]; i < g->first[s + 1]; i++) {
		uint32_t d = g->p->in[g->edge[i]];
		struct np_matching_choice *c;

		if (is_first(g, s, i)) {
			if (g->slot[d] == NO_PORT)
				g->slot[d] =
					slots->n_free ?
						slots->free[--slots->n_free] :
						(uint32_t)slots->n++;
			g->left[d]--;
			plan->choice[(*n_choices)++] =
				(struct np_matching_choice){ g->slot[d], 0,
							     !g->left[d] };
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
static int np_matching_plan(const struct np_ports *p,
			    enum np_matching_order order,
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
	size_t words, n, max;
	uint64_t *key;	 /* n keys of `words` words */
	double *forward; /* number of ways to reach a state, scaled per step */
	size_t *first;	 /* by step; one more entry at the end */
	struct np_index index; /* of one step: its states by their keys */
	uint64_t *next;	       /* buffer for one key */
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

/* Makes room for another state. */
static int make_room(struct states *s)
{
	int rc = np_array_grow(&s->key, s->n, s->words * sizeof(*s->key));

	return rc ? rc : np_array_grow(&s->forward, s->n, sizeof(*s->forward));
}

/* Adds ways to the state s->next, which is created if necessary. */
static int add(struct states *s, double ways)
{
	size_t known = s->index.n, bytes = s->words * sizeof(*s->next);
	uint32_t at = np_index_add(&s->index, s->next, bytes);

	if (at == NP_NO_INDEX)
		return -ENOMEM;
	if (at < known) {
		s->forward[s->n - known + at] += ways;
		return 0;
	}
	if (s->n == s->max)
		return -E2BIG;
	if (make_room(s))
		return -ENOMEM;
	memcpy(key_of(s, s->n), s->next, bytes);
	s->forward[s->n++] = ways;
	return 0;
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
		       const struct np_matching_plan *plan, size_t k,
		       size_t taken)
{
	const struct np_matching_choice *c = plan->choice + plan->step[k].first;
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

		np_index_clear(&s->index);
		for (size_t i = s->first[k]; !rc && i < s->first[k + 1]; i++)
			for (size_t t = 0; !rc && t <= step->n; t++)
				if (next_state(s, key_of(s, i), plan, k, t))
					rc = add(s, s->forward[i] *
							    times_of(c, step->n,
								     t));
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
			at = np_index_find(&s->index, s->next,
					   s->words * sizeof(*s->next));
			ways = at == NP_NO_INDEX ? 0 : after[at];
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
		np_index_clear(&s->index);
		for (size_t i = s->first[k + 1]; i < s->first[k + 2]; i++)
			if (np_index_add(&s->index, key_of(s, i),
					 s->words * sizeof(*s->key)) ==
			    NP_NO_INDEX)
				rc = -ENOMEM;
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
static int np_matching_count(const struct np_matching_plan *plan,
			     size_t n_edges, size_t max_states, double *share,
			     double *ln_sets, size_t *n_done)
{
	struct states s = {
		.words = plan->n_slots / PER_WORD + 1,
		.max = max_states,
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
	np_index_free(&s.index);
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

/*
 * Runs variant `number`: odd numbers exchange the sides. *done: fraction of the
 * sources processed.
 */
static int run_variant(const struct np_ports *p, int number, size_t max_states,
		       double *share, double *ln_sets, double *done)
{
	const struct np_ports turned = {
		.n = p->n,
		.n_out = p->n_in,
		.n_in = p->n_out,
		.out = p->in,
		.in = p->out,
		.n_of_out = p->n_of_in,
		.n_of_in = p->n_of_out,
	};
	bool turn = (number % 2 == 0) != (p->n_out >= p->n_in);
	struct np_matching_plan plan;
	size_t n_done = 0;
	int rc = np_matching_plan(turn ? &turned : p,
				  (enum np_matching_order)(number / 2), &plan);

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
		np_errf(err, rc,
			"%zu communications from %zu nodes to %zu that all "
			"depend on each other have more than %zu states; "
			"expected fewer, or another model",
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
		*n_parts = ports_parts(p, s->part);
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

/* ---- The models; np_sharing.h describes them ---- */

/* At one port: highest load of a remote port, and the number of such ports. */
struct far {
	uint32_t most, n_most;
};

/* Counts the remote port of one communication. */
static void add_far(struct far *f, uint32_t load)
{
	if (load > f->most)
		*f = (struct far){ load, 0 };
	f->n_most += load == f->most;
}

/* p_o or p_i: load of this port, and load_far of the port at the other end. */
static double port_penalty(double beta, double gamma, uint32_t load,
			   uint32_t load_far, const struct far *f)
{
	double m = f->n_most;

	if (load == 1)
		return 1;
	if (load_far == f->most)
		return load * beta * (1 + gamma * (load - m));
	return load * beta * (1 - gamma / m);
}

/*
 * Gigabit Ethernet [V]. Of the communications that leave a node, those to the
 * destination with the highest load are slowed down most ("strongly slow"), the
 * others slightly less. The same holds at the destination.
 */
static int gige(const struct np_sharing_param *p, const struct np_ports *port,
		double *penalty, struct np_err *err)
{
	struct far *out = calloc(2 * port->n, sizeof(*out)),
		   *in = out + port->n;

	if (!out)
		return np_errf(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < port->n; i++) {
		add_far(&out[port->out[i]], port->n_of_in[port->in[i]]);
		add_far(&in[port->in[i]], port->n_of_out[port->out[i]]);
	}
	for (size_t i = 0; i < port->n; i++) {
		uint32_t s = port->n_of_out[port->out[i]];
		uint32_t d = port->n_of_in[port->in[i]];

		penalty[i] = fmax(port_penalty(p->beta, p->gamma_out, s, d,
					       &out[port->out[i]]),
				  port_penalty(p->beta, p->gamma_in, d, s,
					       &in[port->in[i]]));
	}
	free(out);
	return 0;
}

/*
 * Myrinet [V]. Stop & Go flow control admits, at any moment, a set of
 * communications without conflict that cannot be extended. All such state sets
 * are equally likely. A node sends at the rate of whichever of its
 * communications is in the fewest of them.
 */
static int myrinet(const struct np_sharing_param *p,
		   const struct np_ports *port, double *penalty,
		   struct np_err *err)
{
	size_t n = port->n;
	double *share = calloc(2 * n, sizeof(*share)), *least = share + n;
	int rc = share ? np_matching_all(port, NP_MATCHING_MAX_STATES, share,
					 NULL, err) :
			 np_errf(err, -ENOMEM, "out of memory");

	(void)p;
	for (size_t s = 0; !rc && s < port->n_out; s++)
		least[s] = INFINITY;
	for (size_t i = 0; !rc && i < n; i++)
		least[port->out[i]] = fmin(least[port->out[i]], share[i]);
	for (size_t i = 0; !rc && i < n; i++)
		penalty[i] = 1 / least[port->out[i]];
	free(share);
	return rc;
}

/*
 * Counts parallel communications of each, and distinct sources of each
 * receiver.
 */
static void count_sources(const struct np_ports *port, uint32_t *order,
			  uint32_t *parallel, uint32_t *sources)
{
	ports_sort(port, order);
	for (size_t i = 0, j; i < port->n; i = j) {
		uint32_t s = port->out[order[i]], d = port->in[order[i]];

		for (j = i; j < port->n && port->out[order[j]] == s &&
			    port->in[order[j]] == d;
		     j++)
			;
		for (size_t k = i; k < j; k++)
			parallel[order[k]] = (uint32_t)(j - i);
		sources[d]++;
	}
}

/* The slowest communication that leaves a node slows down all that leave it. */
static void outgoing_penalties(const struct np_sharing_param *p,
			       const struct np_ports *port, double *out)
{
	for (size_t i = 0; i < port->n; i++) {
		uint32_t s = port->out[i], load = port->n_of_out[s];
		double q = load == 1 ? 1 :
				       load * p->ib_out *
					       (port->n_of_in[port->in[i]] > 2 ?
							p->ib_many :
							1);

		out[s] = fmax(out[s], q);
	}
}

/*
 * InfiniBand [VT]. As in the source, incoming load is the number of distinct
 * senders, weighted by the communication's own parallel ones.
 */
static int infiniband(const struct np_sharing_param *p,
		      const struct np_ports *port, double *penalty,
		      struct np_err *err)
{
	size_t n = port->n;
	uint32_t *order = calloc(3 * n, sizeof(*order));
	uint32_t *parallel = order + n, *sources = parallel + n;
	double *out = calloc(n, sizeof(*out));
	int rc = order && out ? 0 : np_errf(err, -ENOMEM, "out of memory");

	if (!rc) {
		count_sources(port, order, parallel, sources);
		outgoing_penalties(p, port, out);
	}
	for (size_t i = 0; !rc && i < n; i++) {
		uint32_t d = port->in[i];
		double in = port->n_of_in[d] == 1 ?
				    1 :
				    parallel[i] * p->ib_in * sources[d];

		penalty[i] = fmax(out[port->out[i]], in);
	}
	free(order);
	free(out);
	return rc;
}

/* Parallel communications conflict at both ends but count once. */
static int conflicts(const struct np_sharing_param *p,
		     const struct np_ports *port, double *penalty,
		     struct np_err *err)
{
	(void)p, (void)err;
	for (size_t i = 0; i < port->n; i++) {
		size_t parallel = 0;

		for (size_t k = 0; k < port->n; k++)
			parallel += port->out[k] == port->out[i] &&
				    port->in[k] == port->in[i];
		penalty[i] = (double)(port->n_of_out[port->out[i]] +
				      port->n_of_in[port->in[i]] - parallel);
	}
	return 0;
}

static int maxmin(const struct np_sharing_param *param,
		  const struct np_ports *p, double *penalty,
		  struct np_err *err);

const struct np_sharing_model np_sharing_models[] = {
	{ "gige", gige, false },
	{ "myrinet", myrinet, false },
	{ "infiniband", infiniband, false },
	{ "maxmin", maxmin, true },
	{ "conflicts", conflicts, false },
	{ "none", NULL, false },
};
const size_t np_sharing_n_models = NP_ARRAY_SIZE(np_sharing_models);

/* ---- Evaluation ---- */

#define PARAM_MAX 1e6 /* of a parameter, so that penalties stay finite */

const struct np_sharing_model *np_sharing_find(const char *name,
					       struct np_err *err)
{
	char known[128] = "";
	size_t len = 0;

	for (size_t i = 0; i < np_sharing_n_models; i++) {
		if (!strcmp(np_sharing_models[i].name, name))
			return &np_sharing_models[i];
		len += (size_t)snprintf(known + len, sizeof(known) - len,
					"%s%s", i ? ", " : "",
					np_sharing_models[i].name);
	}
	np_errf(err, -ENOENT, "no model \"%.40s\", expected %s", name, known);
	return NULL;
}

const struct np_sharing_member np_sharing_members[] = {
#define AT(x) offsetof(struct np_sharing_param, x)
	{ "gige", "beta", AT(beta), false, 0.1 },
	{ "gige", "gamma_o", AT(gamma_out), true, 0.05 },
	{ "gige", "gamma_i", AT(gamma_in), true, 0.05 },
	{ "infiniband", "be", AT(ib_in), false, 0.1 },
	{ "infiniband", "bs", AT(ib_out), false, 0.1 },
	{ "infiniband", "gs", AT(ib_many), false, 0.1 },
	{ "", "fabric", AT(fabric), false, 0 },
#undef AT
};
const size_t np_sharing_n_members = NP_ARRAY_SIZE(np_sharing_members);

double *np_sharing_value(struct np_sharing_param *p,
			 const struct np_sharing_member *m)
{
	return (double *)((char *)p + m->at);
}

int np_sharing_check(const struct np_sharing_param *p, struct np_err *err)
{
	struct np_sharing_param own = *p;

	for (size_t i = 0; i < np_sharing_n_members; i++) {
		const struct np_sharing_member *m = &np_sharing_members[i];
		double v = *np_sharing_value(&own, m);

		if (m->below_one ? !(v >= 0 && v < 1) :
				   !(v > 0 && (v <= PARAM_MAX || !*m->model)))
			return np_errf(
				err, -EINVAL, "%s is %g, expected %s", m->name,
				v,
				m->below_one ? "0 to less than 1" :
				*m->model    ? "more than 0, at most 1000000" :
					       "more than 0");
	}
	return 0;
}

/* Returns 0, or -EINVAL for an invalid communication. */
static int check_comm(const struct np_sharing_param *p, struct np_comm c,
		      size_t n_nodes, struct np_err *err)
{
	if (c.from >= n_nodes || c.to >= n_nodes)
		return np_errf(err, -EINVAL,
			       "node %u: expected 0 to %zu, as the cluster has "
			       "%zu nodes",
			       c.from >= n_nodes ? c.from : c.to,
			       n_nodes ? n_nodes - 1 : 0, n_nodes);
	if (c.from == c.to && !p->local)
		return np_errf(err, -EINVAL,
			       "from node %u to itself: expected two nodes",
			       c.from);
	return 0;
}

/* Penalties of a model, raised to at least 1. */
static int model_penalties(const struct np_sharing_model *m,
			   const struct np_sharing_param *p,
			   const struct np_comm *c, size_t n, double *penalty,
			   struct np_err *err)
{
	struct np_ports port = { .n = 0 };
	int rc = m->penalties && n ? np_ports_new(c, n, &port, err) : 0;

	for (size_t i = 0; !m->penalties && i < n; i++)
		penalty[i] = 1;
	if (port.n)
		rc = m->penalties(p, &port, penalty, err);
	np_ports_free(&port);
	for (size_t i = 0; !rc && i < n; i++)
		penalty[i] = fmax(penalty[i], 1);
	return rc;
}

/*
 * The rate to which a switch of capacity `fabric` limits these n; INFINITY: no
 * limit. Sorts rate[].
 */
static double limit_rate(double fabric, double *rate, size_t n)
{
	double left = fabric, sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += rate[i];
	if (sum <= fabric * (1 + 1e-12))
		return INFINITY;
	gsl_sort(rate, 1, n);
	for (size_t i = 0; i < n; i++) {
		double fair = left / (double)(n - i);

		if (rate[i] >= fair)
			return fair;
		left -= rate[i];
	}
	return INFINITY;
}

/* Applies the limit of the switch to penalties. */
static int limit_all(double fabric, double *penalty, size_t n,
		     struct np_err *err)
{
	double *rate, most;

	if (!isfinite(fabric) || !n)
		return 0;
	rate = calloc(n, sizeof(*rate));
	if (!rate)
		return np_errf(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < n; i++)
		rate[i] = 1 / penalty[i];
	most = limit_rate(fabric, rate, n);
	for (size_t i = 0; i < n; i++)
		penalty[i] = fmax(penalty[i], 1 / most);
	free(rate);
	return 0;
}

/* Selects the communications between different nodes; at[]: their indices. */
static size_t select_remote(const struct np_comm *c, size_t n,
			    struct np_comm *out, uint32_t *at)
{
	size_t m = 0;

	for (size_t i = 0; i < n; i++)
		if (c[i].from != c[i].to) {
			at[m] = (uint32_t)i;
			out[m++] = c[i];
		}
	return m;
}

/* Checks the parameters and all communications. */
static int check_all(const struct np_sharing_param *p, const struct np_comm *c,
		     size_t n, size_t n_nodes, struct np_err *err)
{
	int rc = np_sharing_check(p, err);

	for (size_t i = 0; !rc && i < n; i++)
		rc = check_comm(p, c[i], n_nodes, err);
	return rc;
}

int np_sharing_static(const struct np_sharing_model *m,
		      const struct np_sharing_param *p, const struct np_comm *c,
		      size_t n, size_t n_nodes, double *penalty,
		      struct np_err *err)
{
	struct np_comm *sub = calloc(n + 1, sizeof(*sub));
	uint32_t *at = calloc(n + 1, sizeof(*at));
	double *got = calloc(n + 1, sizeof(*got));
	size_t n_sub = 0;
	int rc = sub && at && got ? check_all(p, c, n, n_nodes, err) :
				    np_errf(err, -ENOMEM, "out of memory");

	if (!rc) {
		n_sub = select_remote(c, n, sub, at);
		rc = model_penalties(m, p, sub, n_sub, got, err);
	}
	if (!rc)
		rc = limit_all(p->fabric, got, n_sub, err);
	for (size_t i = 0; !rc && i < n; i++)
		penalty[i] = 1;
	for (size_t i = 0; !rc && i < n_sub; i++)
		penalty[at[i]] = got[i];
	free(sub);
	free(at);
	free(got);
	return rc;
}

/*
 * ---- Transfers that start and end over time ----
 *
 * np_flows keeps the communications at each port in lists, so that a change
 * reaches only what is connected to it.
 */

#define NONE UINT32_MAX
/* Relative differences due to rounding: of a duration, and of the time. */
#define SAME 1e-12
#define SAME_TIME 4e-15
#define SAME_RATE 1e-9

enum { OUT, IN, N_SIDES };

struct flow {
	struct np_comm c;
	size_t id;
	bool free_of_ports;	    /* uses no port: within a node, or empty */
	double alone_sec, left_sec; /* what is left of alone_sec */
	double port_rate;	    /* 1 / penalty, from its ports */
	double rate;		    /* after the limit of the switch */
	double since_sec, end_sec;
	/* links of the list at each of its ports */
	uint32_t next[N_SIDES], prev[N_SIDES];
	uint32_t heap_at, conflicts;
	uint64_t seen;
};

struct port {
	uint32_t first, n;
	uint64_t seen;
	bool changed;
	/* While ports are filled: */
	uint32_t n_grow; /* flows whose rate still grows */
	double left;	 /* capacity left for these */
	double full_at;	 /* lower bound on their rate when the port is full */
};

struct np_flows {
	const struct np_sharing_model *model;
	struct np_sharing_param param;
	size_t n_nodes;
	double now_sec;
	struct flow *flow;
	size_t room, n; /* allocated flows; active flows */
	/*
	 * Active flows, the one that ends first at the top; then unused
	 * indices.
	 */
	uint32_t *heap;
	/* output ports of all nodes, then their input ports */
	struct port *port;
	/* ports: the changed ones, then all that are connected */
	uint32_t *queue;
	size_t n_queue, n_filled;
	uint32_t *to_fill; /* heap of ports by full_at */
	/* Changes since penalties were computed: */
	double slowest; /* rate of the slowest flow that ended */
	bool started;
	uint64_t round;
	/* flows that get new penalties */
	uint32_t *hit;
	size_t n_hit;
	struct np_comm *comm;
	double *value;
};

int np_flows_new(const struct np_sharing_model *m,
		 const struct np_sharing_param *p, size_t n_nodes,
		 struct np_flows **out, struct np_err *err)
{
	struct np_flows *f;
	int rc = np_sharing_check(p, err);

	if (rc)
		return rc;
	f = calloc(1, sizeof(*f));
	if (f) {
		f->port = calloc(2 * n_nodes + 1, sizeof(*f->port));
		f->queue = calloc(2 * n_nodes + 1, sizeof(*f->queue));
		f->to_fill = calloc(2 * n_nodes + 1, sizeof(*f->to_fill));
	}
	if (!f || !f->port || !f->queue || !f->to_fill) {
		np_flows_free(f);
		return np_errf(err, -ENOMEM, "out of memory");
	}
	f->model = m;
	f->param = *p;
	f->n_nodes = n_nodes;
	f->slowest = INFINITY;
	for (size_t i = 0; i < 2 * n_nodes; i++)
		f->port[i].first = NONE;
	*out = f;
	return 0;
}

void np_flows_free(struct np_flows *f)
{
	if (!f)
		return;
	free(f->flow);
	free(f->heap);
	free(f->port);
	free(f->queue);
	free(f->to_fill);
	free(f->hit);
	free(f->comm);
	free(f->value);
	free(f);
}

/* Doubles the room for flows. */
static int grow(struct np_flows *f)
{
	size_t room = f->room ? 2 * f->room : 64;

	if (np_array_resize(&f->flow, room, sizeof(*f->flow)) ||
	    np_array_resize(&f->heap, room, sizeof(*f->heap)) ||
	    np_array_resize(&f->hit, room, sizeof(*f->hit)) ||
	    np_array_resize(&f->comm, room, sizeof(*f->comm)) ||
	    np_array_resize(&f->value, room, sizeof(*f->value)))
		return -ENOMEM;
	for (size_t i = f->room; i < room; i++)
		f->heap[i] = (uint32_t)i;
	f->room = room;
	return 0;
}

/* ---- Heap of flows ---- */

static bool before(const struct np_flows *f, uint32_t a, uint32_t b)
{
	return f->flow[a].end_sec < f->flow[b].end_sec;
}

static void put(struct np_flows *f, size_t at, uint32_t i)
{
	f->heap[at] = i;
	f->flow[i].heap_at = (uint32_t)at;
}

/* Moves an entry up or down to its place. */
static void sift(struct np_flows *f, size_t at)
{
	uint32_t i = f->heap[at];
	size_t child;

	for (; at && before(f, i, f->heap[(at - 1) / 2]); at = (at - 1) / 2)
		put(f, at, f->heap[(at - 1) / 2]);
	for (; (child = 2 * at + 1) < f->n; at = child) {
		if (child + 1 < f->n &&
		    before(f, f->heap[child + 1], f->heap[child]))
			child++;
		if (!before(f, f->heap[child], i))
			break;
		put(f, at, f->heap[child]);
	}
	put(f, at, i);
}

/* Removes the flow that ends first; its index becomes unused. */
static void heap_remove_first(struct np_flows *f)
{
	uint32_t first = f->heap[0], last = f->heap[--f->n];

	f->heap[f->n] = first;
	if (!f->n)
		return;
	put(f, 0, last);
	sift(f, 0);
}

/* ---- Ports ---- */

static size_t port_of(const struct np_flows *f, struct np_comm c, int side)
{
	return side == OUT ? c.from : f->n_nodes + c.to;
}

/* Queues a port whose flows have changed. */
static void mark_changed(struct np_flows *f, size_t port)
{
	if (!f->port[port].changed)
		f->queue[f->n_queue++] = (uint32_t)port;
	f->port[port].changed = true;
}

/* Adds a flow to the lists of its ports. */
static void link_ports(struct np_flows *f, uint32_t i)
{
	struct flow *w = &f->flow[i];

	for (int side = OUT; side < N_SIDES; side++) {
		size_t at = port_of(f, w->c, side);
		struct port *p = &f->port[at];

		w->prev[side] = NONE;
		w->next[side] = p->first;
		if (p->first != NONE)
			f->flow[p->first].prev[side] = i;
		p->first = i;
		p->n++;
		mark_changed(f, at);
	}
}

/* Removes a flow from the lists of its ports. */
static void unlink_ports(struct np_flows *f, uint32_t i)
{
	struct flow *w = &f->flow[i];

	for (int side = OUT; side < N_SIDES; side++) {
		size_t at = port_of(f, w->c, side);
		struct port *p = &f->port[at];

		if (w->prev[side] == NONE)
			p->first = w->next[side];
		else
			f->flow[w->prev[side]].next[side] = w->next[side];
		if (w->next[side] != NONE)
			f->flow[w->next[side]].prev[side] = w->prev[side];
		p->n--;
		mark_changed(f, at);
	}
}

/* Advances time to now_sec. */
static void advance(struct np_flows *f, double now_sec)
{
	f->now_sec = fmax(f->now_sec, now_sec);
}

int np_flows_start(struct np_flows *f, double now_sec, struct np_comm c,
		   double alone_sec, size_t id, struct np_err *err)
{
	int rc = check_comm(&f->param, c, f->n_nodes, err);
	uint32_t i;

	if (rc)
		return rc;
	if (!(alone_sec >= 0 && isfinite(alone_sec)))
		return np_errf(err, -EINVAL,
			       "a transfer of %g s alone: expected 0 or more",
			       alone_sec);
	if (f->n == f->room && grow(f))
		return np_errf(err, -ENOMEM, "out of memory");
	advance(f, now_sec);
	i = f->heap[f->n];
	f->flow[i] = (struct flow){
		.c = c,
		.id = id,
		.alone_sec = alone_sec,
		.left_sec = alone_sec,
		.port_rate = 1,
		.rate = 1,
		.free_of_ports = c.from == c.to || alone_sec == 0,
		.since_sec = f->now_sec,
		.end_sec = f->now_sec + alone_sec,
	};
	put(f, f->n++, i);
	sift(f, f->n - 1);
	if (!f->flow[i].free_of_ports)
		link_ports(f, i);
	f->started = true;
	return 0;
}

/*
 * Collects the flows with at least this rate that are connected to ports in the
 * queue, and computes the capacity that slower flows leave at each port.
 */
static void collect_affected(struct np_flows *f, double least)
{
	f->round++;
	f->n_hit = 0;
	for (size_t q = 0; q < f->n_queue; q++)
		f->port[f->queue[q]].seen = f->round;
	for (size_t q = 0; q < f->n_queue; q++) {
		int side = f->queue[q] < f->n_nodes ? OUT : IN;
		struct port *p = &f->port[f->queue[q]];

		p->changed = false;
		p->left = 1;
		p->n_grow = 0;
		for (uint32_t i = p->first; i != NONE;
		     i = f->flow[i].next[side]) {
			size_t far = port_of(f, f->flow[i].c, !side);

			if (f->flow[i].port_rate < least) {
				p->left -= f->flow[i].port_rate;
				continue;
			}
			p->n_grow++;
			if (f->port[far].seen != f->round)
				f->queue[f->n_queue++] = (uint32_t)far;
			f->port[far].seen = f->round;
			if (f->flow[i].seen != f->round)
				f->hit[f->n_hit++] = i;
			f->flow[i].seen = f->round;
		}
	}
}

/* Changes the rate of a flow, and with it the time of its end. */
static void set_rate(struct np_flows *f, uint32_t i, double rate)
{
	struct flow *w = &f->flow[i];

	if (w->rate == rate)
		return;
	w->left_sec -= (f->now_sec - w->since_sec) * w->rate;
	w->left_sec = fmax(w->left_sec, 0);
	w->since_sec = f->now_sec;
	w->rate = rate;
	w->end_sec = f->now_sec + w->left_sec / rate;
	sift(f, w->heap_at);
}

/* Applies the limit of the switch to all flows. */
static void limit_to_switch(struct np_flows *f)
{
	size_t n = 0;
	double most;

	for (size_t k = 0; k < f->n; k++)
		if (!f->flow[f->heap[k]].free_of_ports) {
			f->hit[n] = f->heap[k];
			f->value[n++] = f->flow[f->heap[k]].port_rate;
		}
	most = limit_rate(f->param.fabric, f->value, n);
	for (size_t k = 0; k < n; k++)
		set_rate(f, f->hit[k],
			 fmin(f->flow[f->hit[k]].port_rate, most));
}

/* Updates the maximum number of conflicts of a flow. */
static void count_conflicts(struct np_flows *f, struct flow *w)
{
	uint32_t n = f->port[port_of(f, w->c, OUT)].n +
		     f->port[port_of(f, w->c, IN)].n - 2;

	if (n > w->conflicts)
		w->conflicts = n;
}

/*
 * ---- Max-min fairness ----
 *
 * Ports are filled in the order in which they fill up.
 */

/*
 * Rate below which nothing has changed: all rates grow together, and up to this
 * rate none of the changed ports is full, neither before nor after the change.
 */
static double least_changed(const struct np_flows *f)
{
	double least = f->slowest;

	for (size_t q = 0; f->started && q < f->n_queue; q++)
		if (f->port[f->queue[q]].n)
			least = fmin(least, 1.0 / f->port[f->queue[q]].n);
	return least * (1 - SAME_RATE);
}

static bool is_full_before(const struct np_flows *f, uint32_t a, uint32_t b)
{
	return f->port[a].full_at < f->port[b].full_at;
}

/* Moves a port down in the heap after its full_at has increased or was set. */
static void sink(struct np_flows *f, size_t at)
{
	uint32_t port = f->to_fill[at];
	size_t child;

	for (; (child = 2 * at + 1) < f->n_filled; at = child) {
		if (child + 1 < f->n_filled &&
		    is_full_before(f, f->to_fill[child + 1], f->to_fill[child]))
			child++;
		if (!is_full_before(f, f->to_fill[child], port))
			break;
		f->to_fill[at] = f->to_fill[child];
	}
	f->to_fill[at] = port;
}

/* Puts all ports with growing flows into the heap. */
static void init_fill(struct np_flows *f)
{
	f->n_filled = 0;
	for (size_t q = 0; q < f->n_queue; q++) {
		struct port *p = &f->port[f->queue[q]];

		p->full_at = p->left / p->n_grow;
		if (p->n_grow)
			f->to_fill[f->n_filled++] = f->queue[q];
	}
	for (size_t at = f->n_filled / 2; at--;)
		sink(f, at);
}

/* Fixes the rate of all flows that still grow at a port. */
static void fill_port(struct np_flows *f, uint32_t port, double rate)
{
	int side = port < f->n_nodes ? OUT : IN;

	for (uint32_t i = f->port[port].first; i != NONE;
	     i = f->flow[i].next[side]) {
		struct flow *w = &f->flow[i];
		struct port *far = &f->port[port_of(f, w->c, !side)];

		if (w->seen != f->round)
			continue;
		w->seen = 0;
		w->port_rate = fmin(rate, 1);
		far->left -= rate;
		far->n_grow--;
	}
	f->port[port].n_grow = 0;
}

/* Fixes rates port by port until no flow grows. */
static void fill_ports(struct np_flows *f)
{
	init_fill(f);
	while (f->n_filled) {
		uint32_t port = f->to_fill[0];
		struct port *p = &f->port[port];
		double now = p->n_grow ? p->left / p->n_grow : INFINITY;

		if (p->n_grow && now <= p->full_at * (1 + SAME))
			fill_port(f, port, now);
		if (p->n_grow) {
			p->full_at = now;
		} else {
			f->to_fill[0] = f->to_fill[--f->n_filled];
			if (!f->n_filled)
				break;
		}
		sink(f, 0);
	}
}

/* ---- After a change ---- */

/* Updates the conflicts of all flows at changed ports. */
static void count_all_conflicts(struct np_flows *f)
{
	for (size_t q = 0; q < f->n_queue; q++) {
		int side = f->queue[q] < f->n_nodes ? OUT : IN;

		for (uint32_t i = f->port[f->queue[q]].first; i != NONE;
		     i = f->flow[i].next[side])
			count_conflicts(f, &f->flow[i]);
	}
}

/* Asks the model for the penalties of the affected flows. */
static int apply_model(struct np_flows *f, struct np_err *err)
{
	int rc;

	for (size_t k = 0; k < f->n_hit; k++)
		f->comm[k] = f->flow[f->hit[k]].c;
	rc = model_penalties(f->model, &f->param, f->comm, f->n_hit, f->value,
			     err);
	for (size_t k = 0; !rc && k < f->n_hit; k++)
		f->flow[f->hit[k]].port_rate = 1 / f->value[k];
	return rc;
}

/* Computes the rates after one or more starts and ends. */
static int update_rates(struct np_flows *f, struct np_err *err)
{
	int rc = 0;

	if (f->started)
		count_all_conflicts(f);
	collect_affected(f, f->model->fills ? least_changed(f) : 0);
	if (f->model->fills)
		fill_ports(f);
	else
		rc = apply_model(f, err);
	f->n_queue = 0;
	f->slowest = INFINITY;
	f->started = false;
	if (rc)
		return rc;
	if (isfinite(f->param.fabric))
		limit_to_switch(f);
	else
		for (size_t k = 0; k < f->n_hit; k++)
			set_rate(f, f->hit[k], f->flow[f->hit[k]].port_rate);
	return 0;
}

int np_flows_next(struct np_flows *f, double *at_sec, struct np_err *err)
{
	int rc = f->n_queue ? update_rates(f, err) : 0;

	if (!rc)
		*at_sec = f->n ? f->flow[f->heap[0]].end_sec : INFINITY;
	return rc;
}

bool np_flows_ended(struct np_flows *f, double now_sec, struct np_flow_end *end)
{
	struct flow *w;
	uint32_t i;

	advance(f, now_sec);
	if (!f->n)
		return false;
	i = f->heap[0];
	w = &f->flow[i];
	if (w->end_sec >
	    f->now_sec + SAME * w->alone_sec + SAME_TIME * f->now_sec)
		return false;
	*end = (struct np_flow_end){ w->id, w->conflicts };
	heap_remove_first(f);
	if (!w->free_of_ports) {
		unlink_ports(f, i);
		f->slowest = fmin(f->slowest, w->port_rate);
	}
	return true;
}

/* Max-min fair sharing of transfers that all start now. */
static int maxmin(const struct np_sharing_param *param,
		  const struct np_ports *p, double *penalty, struct np_err *err)
{
	const struct np_sharing_model *m = np_sharing_find("maxmin", NULL);
	uint32_t n_out = (uint32_t)p->n_out;
	struct np_flows *f = NULL;
	double end_sec;
	int rc = np_flows_new(m, param, p->n_out + p->n_in, &f, err);

	for (size_t i = 0; !rc && i < p->n; i++)
		rc = np_flows_start(
			f, 0, (struct np_comm){ p->out[i], n_out + p->in[i] },
			1, i, err);
	if (!rc)
		rc = np_flows_next(f, &end_sec, err);
	for (size_t i = 0; !rc && i < p->n; i++)
		penalty[i] = 1 / f->flow[i].port_rate;
	np_flows_free(f);
	return rc;
}

/* By the time of the start, then by number. */
static int by_start(const void *a, const void *b, void *arg)
{
	const double *start_sec = arg;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (start_sec[x] != start_sec[y])
		return start_sec[x] < start_sec[y] ? -1 : 1;
	return (x > y) - (x < y);
}

/* Sorts the communications by their start, into order[n]. */
static int sort_starts(const double *start_sec, size_t n, uint32_t *order,
		       struct np_err *err)
{
	for (size_t i = 0; i < n; i++) {
		if (!(start_sec[i] >= 0 && isfinite(start_sec[i])))
			return np_errf(err, -EINVAL,
				       "communication %zu starts at %g s, "
				       "expected 0 or more",
				       i, start_sec[i]);
		order[i] = (uint32_t)i;
	}
	qsort_r(order, n, sizeof(*order), by_start, (void *)start_sec);
	return 0;
}

int np_sharing_dynamic(const struct np_sharing_model *m,
		       const struct np_sharing_param *p,
		       const struct np_comm *c, const double *start_sec,
		       const double *alone_sec, size_t n, size_t n_nodes,
		       double *end_sec, struct np_err *err)
{
	uint32_t *order = calloc(n + 1, sizeof(*order)), *next = order;
	struct np_flows *f = NULL;
	struct np_flow_end done;
	double now;
	int rc = order ? sort_starts(start_sec, n, order, err) :
			 np_errf(err, -ENOMEM, "out of memory");

	if (!rc)
		rc = np_flows_new(m, p, n_nodes, &f, err);
	while (!rc && (next < order + n || f->n)) {
		rc = np_flows_next(f, &now, err);
		if (rc)
			break;
		/* The next start or end, whichever comes first. */
		if (next < order + n)
			now = fmin(now, start_sec[*next]);
		while (np_flows_ended(f, now, &done))
			end_sec[done.id] = now;
		for (; !rc && next < order + n && start_sec[*next] <= now;
		     next++)
			rc = np_flows_start(f, now, c[*next], alone_sec[*next],
					    *next, err);
	}
	np_flows_free(f);
	free(order);
	return rc;
}
