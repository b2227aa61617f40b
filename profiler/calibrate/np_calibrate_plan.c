#include "np_calibrate_plan.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Typical of a small cluster; only for estimates shown to the user. */
#define START_SEC 0.8	/* srun until the processes run */
#define STOP_SEC 0.2
#define SETTLE_SEC 1.2	/* for rounds to reach a steady state, twice */

size_t np_cal_middle(const struct np_cal_setup *s)
{
	return s->n_levels / 2 < s->n_levels - 1 ? s->n_levels / 2 : 0;
}

size_t np_cal_strongest(const struct np_cal_setup *s)
{
	return s->n_levels - 1;
}

double np_cal_loaded_sec(const struct np_cal_setup *s,
			 const struct np_cal_task *t)
{
	switch (t->kind) {
	case NP_CAL_IDLE:
		return 0;
	case NP_CAL_PROBE:
		return s->probe_seconds;
	default:
		return s->seconds;
	}
}

double np_cal_alone_sec(const struct np_cal_setup *s,
			const struct np_cal_task *t)
{
	switch (t->kind) {
	case NP_CAL_IDLE:
		return s->probe_seconds;
	case NP_CAL_PROBE: /* there is one before each level; they add up */
		return fmax(s->probe_seconds / 4, fmin(s->probe_seconds, 1));
	default: /* without an aggressor, rounds hardly scatter */
		return fmax(s->seconds / 2, fmin(s->seconds, 1));
	}
}

bool np_cal_same_base(const struct np_cal_task *a, const struct np_cal_task *b)
{
	bool across = a->scope == NP_SCOPE_UPLINK;

	if (a->kind == NP_CAL_IDLE || b->kind == NP_CAL_IDLE)
		return a->kind == b->kind;
	return (a->kind == NP_CAL_PROBE) == (b->kind == NP_CAL_PROBE) &&
	       a->victim == b->victim &&
	       across == (b->scope == NP_SCOPE_UPLINK);
}

double np_cal_cost_sec(const struct np_cal_setup *s,
		       const struct np_cal_task *t,
		       const struct np_cal_task *previous)
{
	double sec = np_cal_alone_sec(s, t) + np_cal_loaded_sec(s, t);

	if (!previous || !np_cal_same_base(t, previous))
		sec += STOP_SEC + START_SEC + SETTLE_SEC / 2;
	if (t->aggressor != NP_CAL_NONE)
		sec += START_SEC + SETTLE_SEC + STOP_SEC;
	return sec;
}

void np_cal_key(const struct np_cal_setup *s, const struct np_cal_task *t,
		char key[NP_CAL_KEY])
{
	static const char *const kind[] = { "idle", "couple", "probe",
					    "beside" };
	int len = snprintf(key, NP_CAL_KEY, "%s", kind[t->kind]);

	if (t->kind == NP_CAL_IDLE)
		return;
	len += snprintf(key + len, NP_CAL_KEY - (size_t)len, " %s",
			np_scope_name(t->scope));
	if (t->victim != NP_CAL_NONE)
		len += snprintf(key + len, NP_CAL_KEY - (size_t)len, " %s",
				s->level[t->victim].name);
	snprintf(key + len, NP_CAL_KEY - (size_t)len, " %s %u",
		 s->level[t->aggressor].name, t->repeat);
}

/* ---- the plan ---- */

struct plan_list {
	struct np_cal_task *task;
	size_t n;
};

static void plan_add(struct plan_list *l, struct np_cal_task t)
{
	l->task[l->n++] = t;
}

/* Idle latencies, then the sharing coefficient at each scope, repeat by repeat. */
static void plan_first(const struct np_cal_setup *s, struct plan_list *l)
{
	plan_add(l, (struct np_cal_task){ NP_CAL_IDLE, NP_SCOPE_NODE,
					  NP_CAL_NONE, NP_CAL_NONE, 0 });
	for (unsigned r = 0; r < s->repeats; r++)
		for (int i = 0; i < NP_N_SCOPES; i++)
			if (s->has[i])
				plan_add(l, (struct np_cal_task){
						    NP_CAL_COUPLE,
						    (enum np_scope)i,
						    np_cal_middle(s),
						    np_cal_strongest(s), r });
}

/*
 * The probes under each level; and the impact of each level, unless all of them
 * are in the matrix.
 */
static void plan_second(const struct np_cal_setup *s, enum np_scope scope,
			struct plan_list *l)
{
	for (size_t i = 0; i < s->n_levels; i++)
		plan_add(l, (struct np_cal_task){ NP_CAL_PROBE, scope,
						  NP_CAL_NONE, i, 0 });
	if (s->keep >= s->n_levels)
		return;
	/* These keys are also those of the matrix, so they are not repeated. */
	for (size_t i = 0; i < s->n_levels; i++)
		plan_add(l, (struct np_cal_task){ NP_CAL_PAIR, scope,
						  np_cal_middle(s), i, 0 });
}

/* The matrix of the chosen levels. */
static void plan_third(const struct np_cal_setup *s, enum np_scope scope,
		       const size_t *chosen, size_t n, struct plan_list *l)
{
	for (unsigned r = 0; r < s->repeats; r++)
		for (size_t v = 0; v < n; v++)
			for (size_t a = 0; a < n; a++)
				plan_add(l, (struct np_cal_task){
					     NP_CAL_PAIR, scope, chosen[v],
					     chosen[(a + r * 3) % n], r });
}

int np_cal_plan(const struct np_cal_setup *s, enum np_cal_stage stage,
		enum np_scope scope, const size_t *chosen, size_t n_chosen,
		struct np_cal_task **out, size_t *n)
{
	size_t most = stage == NP_CAL_FIRST ? 1 + s->repeats * NP_N_SCOPES :
		      stage == NP_CAL_SECOND ? 2 * s->n_levels :
		      s->repeats * n_chosen * n_chosen;
	struct plan_list l = { calloc(most + 1, sizeof(*l.task)), 0 };

	if (!l.task)
		return -ENOMEM;
	if (stage == NP_CAL_FIRST)
		plan_first(s, &l);
	else if (stage == NP_CAL_SECOND)
		plan_second(s, scope, &l);
	else
		plan_third(s, scope, chosen, n_chosen, &l);
	*out = l.task;
	*n = l.n;
	return 0;
}

/* ---- roles of nodes ---- */

/* The number of nodes under a leaf switch. */
static size_t count_leaf(const struct np_cal_node *node, size_t n,
			 const char *leaf)
{
	size_t found = 0;

	for (size_t i = 0; i < n; i++)
		found += !strcmp(node[i].leaf, leaf);
	return found;
}

/* The leaf switch with most nodes except `other`; the first of several. */
static const char *largest_leaf(const struct np_cal_node *node, size_t n,
				const char *other)
{
	const char *best = NULL;
	size_t most = 0;

	for (size_t i = 0; i < n; i++) {
		size_t here = count_leaf(node, n, node[i].leaf);

		if (here > most && !(other && !strcmp(node[i].leaf, other))) {
			most = here;
			best = node[i].leaf;
		}
	}
	return best;
}

/* Append `want` nodes of a leaf switch, after the first `skip`, to a list. */
static int append_nodes(const struct np_cal_node *node, size_t n,
			const char *leaf, size_t skip, size_t want,
			struct np_cal_hosts *out)
{
	for (size_t i = 0; i < n && want; i++) {
		size_t len = out->list ? strlen(out->list) : 0;
		char *more;

		if (strcmp(node[i].leaf, leaf))
			continue;
		if (skip) {
			skip--;
			continue;
		}
		more = realloc(out->list, len + strlen(node[i].name) + 2);
		if (!more)
			return -ENOMEM;
		out->list = more;
		more += len;
		if (len)
			*more++ = ',';
		strcpy(more, node[i].name);
		out->n++;
		want--;
	}
	return 0;
}

/*
 * Rings across the uplink: half of each role's nodes, and as many nodes under
 * the second largest leaf switch.
 */
static int append_across(const struct np_cal_node *node, size_t n,
			 struct np_cal_roles *s, size_t half)
{
	const char *other = largest_leaf(node, n, s->leaf);
	size_t there = other ? count_leaf(node, n, other) / 2 : 0;
	size_t each = half / 2 < there ? half / 2 : there;
	int rc;

	if (!each)
		return 0;
	rc = append_nodes(node, n, s->leaf, 0, each, &s->victim_across);
	if (!rc)
		rc = append_nodes(node, n, other, 0, each, &s->victim_across);
	if (!rc)
		rc = append_nodes(node, n, s->leaf, half, each,
				  &s->aggressor_across);
	if (!rc)
		rc = append_nodes(node, n, other, each, each,
				  &s->aggressor_across);
	return rc;
}

/* Assign the roles to the nodes of the leaf switch. */
static int fill_sites(const struct np_cal_node *node, size_t n,
		      struct np_cal_roles *s)
{
	size_t here = count_leaf(node, n, s->leaf);
	size_t half = here / 2;
	int rc;

	if (here < 4)
		return append_nodes(node, n, s->leaf, 0, here, &s->victim);
	rc = append_nodes(node, n, s->leaf, 0, half, &s->victim);
	if (!rc)
		rc = append_nodes(node, n, s->leaf, half, half, &s->aggressor);
	return rc ? rc : append_across(node, n, s, half);
}

int np_cal_roles_make(const struct np_cal_node *node, size_t n,
		      struct np_cal_roles *out, struct np_err *err)
{
	const char *leaf = largest_leaf(node, n, NULL);
	struct np_cal_roles s = { .leaf = NULL };
	int rc;

	if (!leaf || count_leaf(node, n, leaf) < 2)
		return np_errf(err, -ENODEV, "no two of the %zu nodes share a "
			       "leaf switch: there is nothing to measure", n);
	s.leaf = strdup(leaf);
	rc = s.leaf ? fill_sites(node, n, &s) : -ENOMEM;
	if (rc) {
		np_cal_roles_free(&s);
		return np_errf(err, rc, "out of memory");
	}
	*out = s;
	return 0;
}

void np_cal_roles_free(struct np_cal_roles *s)
{
	free(s->leaf);
	free(s->victim.list);
	free(s->aggressor.list);
	free(s->victim_across.list);
	free(s->aggressor_across.list);
	*s = (struct np_cal_roles){ .leaf = NULL };
}

bool np_cal_roles_have(const struct np_cal_roles *s, enum np_scope scope)
{
	switch (scope) {
	case NP_SCOPE_NODE:
		return true;
	case NP_SCOPE_LEAF:
		return s->aggressor.n > 0;
	case NP_SCOPE_UPLINK:
		return s->aggressor_across.n > 0;
	default:
		return false;
	}
}

/* ---- levels to measure ---- */

/*
 * Only for ordering levels: bytes per second on a link of 1 GB/s where a
 * message takes at least 0.2 ms.
 */
static double nominal_load(const struct np_level *l)
{
	double bytes = (double)l->peers * l->messages * l->bytes;

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

/* Are two levels equal on a ring that allows so many peers? */
static bool same_level(const struct np_level *a, const struct np_level *b,
		       uint32_t most)
{
	uint32_t p = a->peers < most ? a->peers : most;
	uint32_t q = b->peers < most ? b->peers : most;

	return p == q && a->messages == b->messages &&
	       a->bytes == b->bytes && a->pause_sec == b->pause_sec;
}

struct levels_list {
	struct np_level *level;
	size_t n;
	uint32_t most; /* peers that the ring allows */
};

/* Add a level, unless an equal one is listed. */
static int levels_add(struct levels_list *l, const struct np_level *level,
		      struct np_err *err)
{
	for (size_t i = 0; i < l->n; i++)
		if (same_level(&l->level[i], level, l->most))
			return 0;
	if (l->n == NP_CAL_MAX_LEVELS)
		return np_errf(err, -EINVAL, "more than %d levels",
			       NP_CAL_MAX_LEVELS);
	l->level[l->n++] = *level;
	return 0;
}

/* Add a level by its name. */
static int add_named(struct levels_list *l, const char *name,
		     struct np_err *err)
{
	struct np_level level;
	int rc = np_level_parse(name, &level, err);

	return rc ? rc : levels_add(l, &level, err);
}

/* Add the levels c0 to c7. */
static int add_default(struct levels_list *l, struct np_err *err)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < np_n_levels; i++)
		rc = levels_add(l, &np_levels[i], err);
	return rc;
}

/* The pauses are 2.5e4, 2.5e5, 2.5e6 and 2.5e7 cycles at 2.6 GHz. */
static int add_all(struct levels_list *l, struct np_err *err)
{
	static const uint32_t peers[] = { 1, 4, 7, 14, 17 };
	static const uint32_t messages[] = { 1, 10 };
	static const char *const pause[] = {
		"9.615us", "96.154us", "961.54us", "9.6154ms",
	};
	char name[NP_LEVEL_NAME];
	int rc = 0;

	for (size_t i = 0; i < NP_ARRAY_SIZE(peers); i++)
		for (size_t j = 0; j < NP_ARRAY_SIZE(messages); j++)
			for (size_t k = 0; !rc && k < NP_ARRAY_SIZE(pause);
			     k++) {
				snprintf(name, sizeof(name), "P%u:M%u:B%s",
					 peers[i] < l->most ? peers[i] :
							      l->most,
					 messages[j], pause[k]);
				rc = add_named(l, name, err);
			}
	return rc;
}

/* Add the levels of a comma-separated list. */
static int add_list(struct levels_list *l, const char *text, struct np_err *err)
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
	struct levels_list l = { level, 0,
				 n_nodes > 1 ? (uint32_t)n_nodes - 1 : 1 };
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

/* ---- levels to keep ---- */

struct rated {
	double at; /* log(1 + slowdown); infinite: unknown */
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

/* The free level nearest to a position on the scale. */
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
		/* the two ends first, so that both are chosen */
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
