#include "np_calibrate.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "np_array.h"
#include "np_clock.h"
#include "np_fabric_store.h"
#include "np_read.h"
#include "np_store.h"

/* Typical of a small cluster; only for estimates shown to the user. */
#define START_SEC 0.8	/* srun until the processes run */
#define STOP_SEC 0.2
#define SETTLE_TWICE_SEC 1.2	/* for rounds to reach a steady state, twice */

size_t np_cal_middle(const struct np_cal_setup *s)
{
	return s->n_levels / 2 < s->n_levels - 1 ? s->n_levels / 2 : 0;
}

size_t np_cal_strongest(const struct np_cal_setup *s)
{
	return s->n_levels - 1;
}

static double cal_loaded_sec(const struct np_cal_setup *s,
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

/* Length of a measurement in seconds, without and with the aggressor. */
static double cal_alone_sec(const struct np_cal_setup *s,
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
	double sec = cal_alone_sec(s, t) + cal_loaded_sec(s, t);

	if (!previous || !np_cal_same_base(t, previous))
		sec += STOP_SEC + START_SEC + SETTLE_TWICE_SEC / 2;
	if (t->aggressor != NP_CAL_NONE)
		sec += START_SEC + SETTLE_TWICE_SEC + STOP_SEC;
	return sec;
}

void np_cal_key(const struct np_cal_setup *s, const struct np_cal_task *t,
		char key[NP_CAL_KEY])
{
	static const char *const kind[] = { "idle", "couple", "probe",
					    "beside" };
	bool victim = t->victim != NP_CAL_NONE;

	if (t->kind == NP_CAL_IDLE)
		strcpy(key, kind[t->kind]);
	else
		snprintf(key, NP_CAL_KEY, "%s %s%s%s %s %u", kind[t->kind],
			 np_scope_name(t->scope), victim ? " " : "",
			 victim ? s->level[t->victim].name : "",
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

/* The matrix of the selected levels. */
static void plan_third(const struct np_cal_setup *s, enum np_scope scope,
		       const size_t *selected, size_t n, struct plan_list *l)
{
	for (unsigned r = 0; r < s->repeats; r++)
		for (size_t v = 0; v < n; v++)
			for (size_t a = 0; a < n; a++)
				plan_add(l, (struct np_cal_task){
					     NP_CAL_PAIR, scope, selected[v],
					     selected[(a + r * 3) % n], r });
}

int np_cal_plan(const struct np_cal_setup *s, enum np_cal_stage stage,
		enum np_scope scope, const size_t *selected, size_t n_selected,
		struct np_cal_task **out, size_t *n)
{
	size_t most = stage == NP_CAL_FIRST ? 1 + s->repeats * NP_N_SCOPES :
		      stage == NP_CAL_SECOND ? 2 * s->n_levels :
		      s->repeats * n_selected * n_selected;
	struct plan_list l = { calloc(most + 1, sizeof(*l.task)), 0 };

	if (!l.task)
		return -ENOMEM;
	if (stage == NP_CAL_FIRST)
		plan_first(s, &l);
	else if (stage == NP_CAL_SECOND)
		plan_second(s, scope, &l);
	else
		plan_third(s, scope, selected, n_selected, &l);
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
static int fill_roles(const struct np_cal_node *node, size_t n,
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
	rc = s.leaf ? fill_roles(node, n, &s) : -ENOMEM;
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

size_t np_cal_select_levels(const double *slowdown, size_t n, size_t keep,
			    size_t *selected)
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
		/* the two ends first, so that both are selected */
		size_t k = got == 1 ? spread - 1 : got ? got - 1 : 0;
		double part = spread > 1 ? (double)k / (double)(spread - 1) :
					   1;
		struct rated *best = nearest(r, known, r[0].at + part *
					     (r[known - 1].at - r[0].at));

		best->taken = true;
		selected[got] = best->level;
	}
	for (size_t i = known; i < n && got < keep; i++)
		selected[got++] = r[i].level;
	qsort(selected, got, sizeof(*selected), by_index);
	return got;
}

/*
 * A calibration: the file that holds its state, steps by srun, measurements on
 * steps, what these say, and the stages of the whole.  What is measured where
 * is planned by np_cal_plan().
 */

/*
 * ---- the state file ----
 *
 * Lines, with tabs between the fields:
 *
 *	netprof-calibration 1 BEGUN
 *	SETUP
 *	KEY	SAMPLE alone	SAMPLE loaded
 *
 * A sample is "N MEAN M2 MIN MAX", followed for latencies by " BIN:COUNT ...".
 */
#define HEAD "netprof-calibration 1 "
#define MAX_RESULTS 100000
#define MAX_BYTES (64 << 20) /* of the file */

int np_cal_state_init(struct np_cal_state *s, const char *setup, double begun)
{
	*s = (struct np_cal_state){ .setup = strdup(setup), .begun = begun };
	return s->setup ? 0 : -ENOMEM;
}

static void sample_free(struct np_cal_sample *s)
{
	free(s->bins);
	*s = (struct np_cal_sample){ .bins = NULL };
}

static void result_free(struct np_cal_result *r)
{
	sample_free(&r->alone);
	sample_free(&r->loaded);
}

void np_cal_state_free(struct np_cal_state *s)
{
	for (size_t i = 0; i < s->n; i++)
		result_free(&s->result[i]);
	free(s->result);
	free(s->setup);
	*s = (struct np_cal_state){ .setup = NULL };
}

/* The key is "idle LEAF" for the idle latencies.  NULL: not measured yet. */
static const struct np_cal_result *state_find(const struct np_cal_state *s,
					      const char *key)
{
	for (size_t i = 0; i < s->n; i++)
		if (!strcmp(s->result[i].key, key))
			return &s->result[i];
	return NULL;
}

/* s owns r's bins from now on, even after a failure.  Returns 0 or -ENOMEM. */
static int state_add(struct np_cal_state *s, struct np_cal_result *r)
{
	if (np_array_grow(&s->result, s->n, sizeof(*s->result))) {
		result_free(r);
		return -ENOMEM;
	}
	s->result[s->n++] = *r;
	return 0;
}

/* Merge a sample, with its bins if it has any.  Returns 0 or -ENOMEM. */
static int sample_merge(struct np_cal_sample *to,
			const struct np_cal_sample *from)
{
	if (from->bins && !to->bins) {
		to->bins = calloc(NP_HIST_BINS, sizeof(*to->bins));
		if (!to->bins)
			return -ENOMEM;
	}
	for (size_t i = 0; from->bins && i < NP_HIST_BINS; i++)
		to->bins[i] += from->bins[i];
	np_moments_merge(&to->sec, &from->sec);
	return 0;
}

/* ---- writing the state ---- */

/* Write a sample; the range of an empty one is written as 0. */
static void put_sample(FILE *f, const struct np_cal_sample *s)
{
	const struct np_moments *m = &s->sec;

	fprintf(f, "\t%" PRIu64 " %.17g %.17g %.17g %.17g", m->n, m->mean,
		m->m2, m->n ? m->min : 0, m->n ? m->max : 0);
	for (size_t i = 0; s->bins && i < NP_HIST_BINS; i++)
		if (s->bins[i])
			fprintf(f, " %zu:%" PRIu64, i, s->bins[i]);
}

char *np_cal_state_format(const struct np_cal_state *s)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return NULL;
	fprintf(f, HEAD "%.3f\n%s\n", s->begun, s->setup);
	for (size_t i = 0; i < s->n; i++) {
		fputs(s->result[i].key, f);
		put_sample(f, &s->result[i].alone);
		put_sample(f, &s->result[i].loaded);
		fputc('\n', f);
	}
	if (fclose(f)) {
		free(text);
		return NULL;
	}
	return text;
}

/* ---- reading the state ---- */

/* The histogram of a sample; its counts have to sum up to n. */
static int parse_bins(char *text, struct np_cal_sample *s)
{
	char *save = NULL;
	uint64_t sum = 0;

	s->bins = calloc(NP_HIST_BINS, sizeof(*s->bins));
	if (!s->bins)
		return -ENOMEM;
	for (char *w = strtok_r(text, " ", &save); w;
	     w = strtok_r(NULL, " ", &save)) {
		unsigned bin;
		uint64_t count;

		if (sscanf(w, "%u:%" SCNu64, &bin, &count) != 2 ||
		    bin >= NP_HIST_BINS || count > s->sec.n)
			return -EINVAL;
		s->bins[bin] += count;
		sum += count;
	}
	return sum == s->sec.n ? 0 : -EINVAL;
}

/* One sample, with its histogram if it has one. */
static int parse_sample(char *text, struct np_cal_sample *s)
{
	struct np_moments *m = &s->sec;
	int used = 0;

	if (!text || sscanf(text, "%" SCNu64 " %lf %lf %lf %lf%n", &m->n,
			    &m->mean, &m->m2, &m->min, &m->max, &used) != 5 ||
	    m->n > UINT32_MAX || (m->n && !np_moments_valid(m)))
		return -EINVAL;
	if (!text[used])
		return 0;
	return parse_bins(text + used, s);
}

/* One result: key, sample alone, sample under the aggressor. */
static int parse_line(struct np_cal_state *s, char *line)
{
	struct np_cal_result r = { .key = "" };
	char *save = NULL, *key = strtok_r(line, "\t", &save);
	int rc;

	if (!key || strlen(key) >= sizeof(r.key) || s->n >= MAX_RESULTS)
		return -EINVAL;
	strcpy(r.key, key);
	rc = parse_sample(strtok_r(NULL, "\t", &save), &r.alone);
	if (!rc)
		rc = parse_sample(strtok_r(NULL, "\t", &save), &r.loaded);
	if (!rc && strtok_r(NULL, "\t", &save))
		rc = -EINVAL;
	if (rc) {
		result_free(&r);
		return rc;
	}
	return state_add(s, &r);
}

/* The whole file; copy is cut into lines. */
static int parse_lines(char *copy, struct np_cal_state *s, struct np_err *err)
{
	char *save = NULL, *line = strtok_r(copy, "\n", &save), *end;
	unsigned at = 2;
	int rc = 0;

	if (!line || strncmp(line, HEAD, strlen(HEAD)))
		return np_errf(err, -EINVAL, "line 1: expected \"" HEAD
			       "DATE\"");
	s->begun = strtod(line + strlen(HEAD), &end);
	line = strtok_r(NULL, "\n", &save);
	if (*end || !(s->begun >= 0 && s->begun < 1e12) || !line)
		return np_errf(err, -EINVAL, "line 1 or 2: damaged");
	s->setup = strdup(line);
	if (!s->setup)
		return np_errf(err, -ENOMEM, "out of memory");
	while (!rc && (line = strtok_r(NULL, "\n", &save))) {
		at++;
		rc = parse_line(s, line);
	}
	return rc ? np_errf(err, rc, "line %u: %s", at, rc == -EINVAL ?
			    "damaged" : "out of memory") : 0;
}

int np_cal_state_parse(const char *text, struct np_cal_state *out,
		       struct np_err *err)
{
	struct np_cal_state s = { .setup = NULL };
	char *copy = strdup(text);
	int rc = copy ? parse_lines(copy, &s, err) :
			np_errf(err, -ENOMEM, "out of memory");

	free(copy);
	if (rc)
		np_cal_state_free(&s);
	else
		*out = s;
	return rc;
}

/* ---- the state on disk ---- */

int np_cal_state_load(const char *path, struct np_cal_state *out,
		      struct np_err *err)
{
	struct np_err why = NP_ERR_INIT;
	struct stat st = { .st_uid = 0 };
	int fd = np_read_open(path, O_NOFOLLOW, &st), rc;
	char *text = NULL;
	ssize_t len;

	if (fd == -ENOENT)
		return fd;
	if (fd == -EINVAL || (fd >= 0 && st.st_uid != 0 &&
			      st.st_uid != geteuid()))
		len = np_errf(err, -EACCES, "%s: expected a file of yours or "
			      "of root; not trusted", path);
	else if (fd >= 0 && st.st_size > MAX_BYTES)
		len = np_errf(err, -EFBIG, "%s: larger than %d MiB", path,
			      MAX_BYTES >> 20);
	else
		len = fd < 0 ? fd : np_read_text(fd, (size_t)st.st_size, &text);
	if (fd >= 0)
		close(fd);
	if (len < 0)
		return len == -EACCES || len == -EFBIG ? (int)len :
		       np_errf(err, (int)len, "%s: %s", path,
			       strerror((int)-len));
	rc = np_cal_state_parse(text, out, &why);
	free(text);
	return rc ? np_errf(err, rc, "%s: %s", path, why.text) : 0;
}

int np_cal_state_save(const char *path, const struct np_cal_state *s,
		      struct np_err *err)
{
	char *text = np_cal_state_format(s);
	int rc =
		text ? np_file_write_path(path, text, strlen(text), 0644, err) :
		       np_errf(err, -ENOMEM, "cannot write %s: %s", path,
			       strerror(ENOMEM));

	free(text);
	return rc;
}

/* ---- steps by srun ---- */

#define TICK_SEC 0.25

static double now_sec(void *ctx)
{
	(void)ctx;
	return np_mono_sec();
}

/* The command line of a step: the probes, or a level. */
static void step_command(const struct np_cal_srun *s,
			 const struct np_cal_step *step, struct np_args *args)
{
	if (step->level) {
		np_helper_cmd_probe(args, &s->job, s->conf,
				    "netprof-compressionb", step->nodes,
				    step->n_nodes);
		np_args_add(args, "--level=%s", step->level->name);
	} else {
		np_helper_cmd_impact(args, &s->job, s->conf, step->nodes,
				     step->n_nodes);
	}
	np_args_add(args, "--report-every=%gs", NP_CAL_WINDOW_SEC);
	if (step->across)
		np_args_add(args, "--across");
}

static int srun_start(void *ctx, int slot, const struct np_cal_step *step,
		      struct np_err *err)
{
	struct np_cal_srun *s = ctx;
	uint32_t processes = (uint32_t)step->n_nodes *
			     (step->level ? 1 : s->conf->per_node);
	struct np_args args;
	int rc;

	step_command(s, step, &args);
	rc = np_helper_start(&s->step[slot], &args, s->env, processes, err);
	np_args_free(&args);
	s->running[slot] = !rc;
	return rc;
}

/* Adds the slot to the reports of a step. */
struct slot_reports {
	int slot;
	np_cal_report_f *f;
	void *arg;
};

/* Pass a report on, with its slot. */
static void srun_on_report(const struct np_report *r, void *arg)
{
	const struct slot_reports *c = arg;

	c->f(c->slot, r, c->arg);
}

/* Pass on what all running steps have reported. */
static void read_slots(struct np_cal_srun *s, np_cal_report_f *f, void *arg)
{
	for (int i = 0; i < NP_CAL_SLOTS; i++) {
		struct slot_reports c = { i, f, arg };

		if (s->running[i])
			np_helper_read(&s->step[i], srun_on_report, &c);
	}
}

/* Wait for reports of the running steps, at most sec seconds. */
static void poll_slots(const struct np_cal_srun *s, double sec)
{
	struct pollfd p[NP_CAL_SLOTS];

	for (int i = 0; i < NP_CAL_SLOTS; i++)
		p[i] = (struct pollfd){ s->running[i] ? s->step[i].fd : -1,
					POLLIN, 0 };
	poll(p, NP_CAL_SLOTS, (int)ceil(fmax(sec, 0) * 1000));
}

/* -EPIPE with err: a step ended that should still run. */
static int report_end(const struct np_cal_srun *s, int slot, struct np_err *err)
{
	char cause[NP_ERR_LEN + 32];

	np_helper_cause(&s->step[slot], cause, sizeof(cause));
	return np_errf(err, -EPIPE, "a step of the calibration ended "
		       "unexpectedly: %s", cause);
}

/*
 * Slurm 22.05 takes a minute to end a job while one of its steps starts, so a
 * stop requested by the user waits until no step is starting.
 */
static bool none_is_starting(const struct np_cal_srun *s,
			     const bool up[NP_CAL_SLOTS])
{
	for (int i = 0; i < NP_CAL_SLOTS; i++)
		if (s->running[i] && !up[i])
			return false;
	return true;
}

static int srun_wait(void *ctx, double until_sec, const bool up[NP_CAL_SLOTS],
		     np_cal_report_f *f, void *arg, struct np_err *err)
{
	struct np_cal_srun *s = ctx;

	poll_slots(s, fmin(until_sec - now_sec(ctx), TICK_SEC));
	read_slots(s, f, arg);
	if (*s->stop && none_is_starting(s, up))
		return np_errf(err, -EINTR, "stopped");
	for (int i = 0; i < NP_CAL_SLOTS; i++)
		if (s->running[i] && np_helper_reap(&s->step[i]))
			return report_end(s, i, err);
	return 0;
}

static void srun_stop(void *ctx, int slot, np_cal_report_f *f, void *arg)
{
	struct np_cal_srun *s = ctx;
	struct np_helper_step *step = &s->step[slot];
	struct np_helper_end end = { .requested_sec = now_sec(ctx) };
	int sig = SIGUSR1;

	while (!np_helper_reap(step) && sig >= 0) {
		if (sig)
			np_helper_signal(step, sig);
		poll_slots(s, 0.01);
		read_slots(s, f, arg);
		sig = np_helper_end_due(&end, now_sec(ctx));
	}
	read_slots(s, f, arg);
	np_helper_close(step);
	s->running[slot] = false;
}

const struct np_cal_ops np_cal_srun_ops = {
	.now_sec = now_sec,
	.start = srun_start,
	.stop = srun_stop,
	.wait = srun_wait,
};

/* ---- measurements ---- */

#define UP_SEC 40.0	/* for all processes of a step to start */
#define SETTLE_SEC 0.4	/* for rounds to reach a steady state, at least */
#define SETTLE_MAX_SEC 5.0
#define GRACE_SEC 0.3	/* for the last window to be reported */
#define MIN_ROUNDS 6	/* per process of the base; measure longer for them */
#define LONGER 4.0	/* ... but at most this many times as long */
#define SLACK_SEC 0.02	/* tolerance for the clocks of windows */
#define MAX_WINDOWS 131072 /* of one measurement */

struct slot {
	bool running;
	struct np_cal_step step;
	double zero_sec; /* common start of its processes; NaN: none reported */
	uint32_t n_ranks, handshakes;
};

/* A report, with the start of its window on our clock. */
struct window {
	double from_sec;
	struct np_report report;
};

/* Where a process of the allocation query runs, as it reports. */
struct rank {
	char node[NP_REPORT_WORD], leaf[NP_REPORT_WORD];
};

struct np_cal_run {
	const struct np_cal_ops *ops;
	void *ctx;
	const struct np_cal_setup *setup;
	const struct np_cal_roles *roles;
	struct slot slot[NP_CAL_SLOTS];
	struct window *window; /* of the base, since the current measurement */
	size_t n_windows;
	/* From the allocation query. */
	bool queries;
	const char *all; /* borrowed */
	size_t n_all;
	struct rank *rank;
	uint32_t n_ranks;
	struct np_cal_node *node;
	size_t n_nodes;
	char transport[NP_REPORT_WORD], version[NP_REPORT_WORD];
	int failed; /* -ENOMEM or -E2BIG while receiving reports */
};

struct np_cal_run *np_cal_run_new(const struct np_cal_ops *ops, void *ctx,
				  const struct np_cal_setup *setup)
{
	struct np_cal_run *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->ops = ops;
	r->ctx = ctx;
	r->setup = setup;
	return r;
}

/* ---- reports from the steps ---- */

/* Remember where a process of the allocation query runs. */
static void keep_rank(struct np_cal_run *r, const struct np_report *rep)
{
	if (!r->rank) {
		if (rep->handshake.n_ranks > 1u << 18)
			return;
		r->rank = calloc(rep->handshake.n_ranks, sizeof(*r->rank));
		if (!r->rank) {
			r->failed = -ENOMEM;
			return;
		}
		r->n_ranks = rep->handshake.n_ranks;
	}
	if (rep->rank >= r->n_ranks)
		return;
	strcpy(r->rank[rep->rank].node, rep->handshake.node);
	strcpy(r->rank[rep->rank].leaf, rep->handshake.leaf);
	if (!r->transport[0])
		strcpy(r->transport, rep->handshake.transport);
	strcpy(r->version, rep->handshake.version);
}

/* Keep a report of the base for the current measurement. */
static void keep_window(struct np_cal_run *r, const struct np_report *rep)
{
	int rc = r->n_windows == MAX_WINDOWS ? -E2BIG :
		 np_array_grow(&r->window, r->n_windows, sizeof(*r->window));

	if (rc) {
		r->failed = rc;
		return;
	}
	r->window[r->n_windows].from_sec = r->slot[NP_CAL_BASE].zero_sec +
					   rep->window.at_sec;
	r->window[r->n_windows++].report = *rep;
}

/* A report of a step: its start, or a window of samples of the base. */
static void run_on_report(int slot, const struct np_report *rep, void *arg)
{
	struct np_cal_run *r = arg;
	struct slot *s = &r->slot[slot];

	switch (rep->kind) {
	case NP_REPORT_HANDSHAKE:
		if (isnan(s->zero_sec))
			s->zero_sec = r->ops->now_sec(r->ctx);
		s->n_ranks = rep->handshake.n_ranks;
		s->handshakes++;
		if (r->queries)
			keep_rank(r, rep);
		break;
	case NP_REPORT_ROUND:
	case NP_REPORT_LATENCY:
		if (slot == NP_CAL_BASE && !isnan(s->zero_sec) &&
		    (rep->kind == NP_REPORT_LATENCY) == !s->step.level)
			keep_window(r, rep);
		break;
	default:
		break;
	}
}

/* Have all processes of a step reported? */
static bool is_up(const struct slot *s)
{
	return s->handshakes && s->handshakes >= s->n_ranks;
}

/* ---- starting and stopping steps ---- */

/* The failure while receiving reports, in words. */
static int say_failed(const struct np_cal_run *r, struct np_err *err)
{
	if (r->failed != -E2BIG)
		return np_errf(err, r->failed, "out of memory");
	return np_errf(err, r->failed, "%s on %s: more than %d reports of one "
		       "measurement, expected fewer nodes or fewer --seconds",
		       r->slot[NP_CAL_BASE].step.level ?
		       r->slot[NP_CAL_BASE].step.level->name : "the probes",
		       r->slot[NP_CAL_BASE].step.nodes, MAX_WINDOWS);
}

/* Receive reports until a time of the steps' clock. */
static int wait_until(struct np_cal_run *r, double until_sec,
		      struct np_err *err)
{
	while (r->ops->now_sec(r->ctx) < until_sec) {
		const bool up[] = { is_up(&r->slot[0]), is_up(&r->slot[1]) };
		int rc = r->ops->wait(r->ctx, until_sec, up, run_on_report, r,
				      err);

		if (!rc && r->failed)
			rc = say_failed(r, err);
		if (rc)
			return rc;
	}
	return 0;
}

static int wait_for(struct np_cal_run *r, double sec, struct np_err *err)
{
	return wait_until(r, r->ops->now_sec(r->ctx) + sec, err);
}

/* Wait until all processes of a step have reported their start. */
static int wait_up(struct np_cal_run *r, int slot, struct np_err *err)
{
	double late_sec = r->ops->now_sec(r->ctx) + UP_SEC;
	const struct slot *s = &r->slot[slot];
	int rc = 0;

	while (!rc && !is_up(s) && r->ops->now_sec(r->ctx) < late_sec)
		rc = wait_for(r, 0.05, err);
	if (rc || is_up(s))
		return rc;
	return np_errf(err, -ETIMEDOUT,
		       "%s on %s: %u of its processes started "
		       "within %g s",
		       s->step.level ? s->step.level->name : "the probes",
		       s->step.nodes, s->handshakes, UP_SEC);
}

/* Stop the step in a slot, if there is one. */
static void run_stop(struct np_cal_run *r, int slot)
{
	if (!r->slot[slot].running)
		return;
	r->ops->stop(r->ctx, slot, run_on_report, r);
	r->slot[slot] = (struct slot){ .running = false };
}

/* Replace the step in a slot and wait until it runs. */
static int run_start(struct np_cal_run *r, int slot,
		     const struct np_cal_step *step, struct np_err *err)
{
	int rc;

	run_stop(r, slot);
	r->slot[slot] = (struct slot){ .step = *step, .zero_sec = NAN };
	rc = r->ops->start(r->ctx, slot, step, err);
	if (rc)
		return rc;
	r->slot[slot].running = true;
	return wait_up(r, slot, err);
}

static bool same_step(const struct np_cal_step *a, const struct np_cal_step *b)
{
	return a->level == b->level && a->across == b->across &&
	       !strcmp(a->nodes, b->nodes);
}

/* Start the base of a measurement, unless it is running already. */
static int ensure_base(struct np_cal_run *r, const struct np_cal_step *step,
		       struct np_err *err)
{
	int rc;

	if (r->slot[NP_CAL_BASE].running &&
	    same_step(&r->slot[NP_CAL_BASE].step, step))
		return 0;
	rc = run_start(r, NP_CAL_BASE, step, err);
	return rc ? rc : wait_for(r, SETTLE_SEC, err);
}

/* A step of a level, or of the probes, on the nodes of a role. */
static struct np_cal_step step_of(const struct np_cal_run *r, size_t level,
				  const struct np_cal_hosts *hosts, bool across)
{
	return (struct np_cal_step){
		.level = level == NP_CAL_NONE ? NULL : &r->setup->level[level],
		.nodes = hosts->list, .n_nodes = hosts->n, .across = across,
	};
}

/* The step that is measured. */
static struct np_cal_step base_of(const struct np_cal_run *r,
				  const struct np_cal_task *t)
{
	bool across = t->scope == NP_SCOPE_UPLINK;

	if (t->kind == NP_CAL_IDLE)
		return (struct np_cal_step){ .nodes = r->all,
					     .n_nodes = r->n_all };
	return step_of(r, t->victim, across ? &r->roles->victim_across :
					      &r->roles->victim, across);
}

/*
 * The step that disturbs it: on the same nodes, on other nodes of the leaf
 * switch, or across the uplink.
 */
static struct np_cal_step aggressor_of(const struct np_cal_run *r,
				       const struct np_cal_task *t)
{
	const struct np_cal_hosts *where = &r->roles->victim;

	if (t->scope == NP_SCOPE_LEAF)
		where = &r->roles->aggressor;
	else if (t->scope == NP_SCOPE_UPLINK)
		where = &r->roles->aggressor_across;
	return step_of(r, t->aggressor, where, t->scope == NP_SCOPE_UPLINK);
}

/* ---- samples of a period ---- */

/* Merge the windows of the base between two times; leaf NULL: of all leaves. */
static int gather(const struct np_cal_run *r, double from_sec, double to_sec,
		  const char *leaf, struct np_cal_sample *out)
{
	*out = (struct np_cal_sample){ .bins = NULL };
	for (size_t i = 0; i < r->n_windows; i++) {
		const struct window *w = &r->window[i];
		const struct np_report *rep = &w->report;

		if (w->from_sec < from_sec - SLACK_SEC ||
		    w->from_sec + NP_CAL_WINDOW_SEC > to_sec + SLACK_SEC ||
		    !np_moments_valid(&rep->window.sec))
			continue;
		if (leaf && (rep->rank >= r->n_ranks ||
			     strcmp(r->rank[rep->rank].leaf, leaf)))
			continue;
		if (rep->window.n_bins && !out->bins) {
			out->bins = calloc(NP_HIST_BINS, sizeof(*out->bins));
			if (!out->bins)
				return -ENOMEM;
		}
		for (size_t b = 0; b < rep->window.n_bins; b++)
			out->bins[rep->window.bins[b].bin] +=
				rep->window.bins[b].count;
		np_moments_merge(&out->sec, &rep->window.sec);
	}
	return 0;
}

/* How long rounds take to reach a steady state: two rounds. */
static double settle_sec(const struct np_cal_run *r, double from_sec,
			 double to_sec)
{
	struct np_cal_sample s;
	double sec = 0;

	if (r->slot[NP_CAL_BASE].step.level &&
	    !gather(r, from_sec, to_sec, NULL, &s)) {
		sec = 2 * s.sec.mean;
		sample_free(&s);
	}
	return fmin(fmax(sec, SETTLE_SEC), SETTLE_MAX_SEC);
}

/*
 * Measure for sec, and longer while few rounds of a slow victim are complete.
 * *to_sec: when it ended.
 */
static int measure(struct np_cal_run *r, double from_sec, double sec,
		   double *to_sec, struct np_err *err)
{
	uint64_t want = MIN_ROUNDS * (uint64_t)r->slot[NP_CAL_BASE].n_ranks;
	double until_sec = from_sec + sec, last_sec = from_sec + LONGER * sec;
	int rc;

	for (;;) {
		struct np_cal_sample s;
		uint64_t n;

		rc = wait_until(r, until_sec, err);
		if (rc)
			return rc;
		*to_sec = until_sec;
		rc = gather(r, from_sec, until_sec, NULL, &s);
		if (rc)
			return np_errf(err, rc, "out of memory");
		n = s.sec.n;
		sample_free(&s);
		if (!r->slot[NP_CAL_BASE].step.level || n >= want ||
		    until_sec >= last_sec)
			return 0;
		until_sec = fmin(until_sec + sec / 2, last_sec);
	}
}

/* ---- one measurement ---- */

/* Start the aggressor, let the load settle, measure, and stop it. */

static int measure_aggressor(struct np_cal_run *r, const struct np_cal_task *t,
			     double settle, double *from_sec, double *to_sec,
			     struct np_err *err)
{
	const struct np_cal_step step = aggressor_of(r, t);
	int rc = run_start(r, NP_CAL_AGGRESSOR, &step, err);

	if (!rc)
		rc = wait_for(r, settle, err);
	*from_sec = r->ops->now_sec(r->ctx);
	if (!rc)
		rc = measure(r, *from_sec, cal_loaded_sec(r->setup, t), to_sec,
			     err);
	run_stop(r, NP_CAL_AGGRESSOR);
	return rc;
}

/* Add a result to the state; s owns it. */
static int add_result(struct np_cal_state *s, struct np_cal_result *res,
		      struct np_err *err)
{
	return state_add(s, res) ? np_errf(err, -ENOMEM, "out of memory") : 0;
}

/* Measure the probes without an aggressor: a result for each leaf switch. */
static int run_idle(struct np_cal_run *r, const struct np_cal_task *t,
		    struct np_cal_state *s, struct np_err *err)
{
	struct np_cal_result whole = { .key = "idle" };
	double from_sec = r->ops->now_sec(r->ctx), to_sec;
	int rc = measure(r, from_sec, cal_alone_sec(r->setup, t), &to_sec, err);

	if (!rc)
		rc = wait_for(r, GRACE_SEC, err);
	for (size_t i = 0; !rc && i < r->n_nodes; i++) {
		struct np_cal_result one = { .key = "" };
		const char *leaf = r->node[i].leaf;

		snprintf(one.key, sizeof(one.key), "idle %s",
			 *leaf ? leaf : "-");
		if (state_find(s, one.key))
			continue;
		rc = gather(r, from_sec, to_sec, leaf, &one.alone);
		if (rc)
			return np_errf(err, rc, "out of memory");
		rc = add_result(s, &one, err);
	}
	return rc ? rc : add_result(s, &whole, err);
}

/* Measure the base alone, then under the aggressor. */
static int run_under_load(struct np_cal_run *r, const struct np_cal_task *t,
			  struct np_cal_state *s, struct np_err *err)
{
	double alone_from = r->ops->now_sec(r->ctx), alone_to;
	double from, to, settle;
	struct np_cal_result res;
	int rc = measure(r, alone_from, cal_alone_sec(r->setup, t), &alone_to,
			 err);

	if (rc)
		return rc;
	settle = settle_sec(r, alone_from, alone_to);
	rc = measure_aggressor(r, t, settle, &from, &to, err);
	/* This also lets rounds complete that began under the aggressor. */
	if (!rc)
		rc = wait_until(r, to + fmax(GRACE_SEC,
				settle_sec(r, from, to) / 2), err);
	if (rc)
		return rc;
	memset(&res, 0, sizeof(res));
	np_cal_key(r->setup, t, res.key);
	if (gather(r, alone_from, alone_to, NULL, &res.alone) ||
	    gather(r, from, to, NULL, &res.loaded)) {
		sample_free(&res.alone);
		return np_errf(err, -ENOMEM, "out of memory");
	}
	return add_result(s, &res, err);
}

/*
 * One measurement, into s.  That of idle adds one result for each leaf switch
 * and an empty one named "idle".  Returns 0; -EINTR, -EPIPE, -ETIMEDOUT (a step
 * does not start) or another -errno with err; s has complete results only.
 */
static int run_task(struct np_cal_run *r, const struct np_cal_task *t,
		    struct np_cal_state *s, struct np_err *err)
{
	const struct np_cal_step base = base_of(r, t);
	int rc = ensure_base(r, &base, err);

	r->n_windows = 0;
	if (!rc)
		rc = t->kind == NP_CAL_IDLE ? run_idle(r, t, s, err) :
					      run_under_load(r, t, s, err);
	if (rc)
		run_stop(r, NP_CAL_AGGRESSOR);
	return rc;
}

/* ---- the allocation query ---- */

/* List each node once, in the order of ranks. */

static int list_nodes(struct np_cal_run *r, struct np_err *err)
{
	r->node = calloc(r->n_ranks ? r->n_ranks : 1, sizeof(*r->node));
	if (!r->node)
		return np_errf(err, -ENOMEM, "out of memory");
	for (uint32_t i = 0; i < r->n_ranks; i++) {
		const struct rank *at = &r->rank[i];
		size_t k = 0;

		while (k < r->n_nodes && strcmp(r->node[k].name, at->node))
			k++;
		if (k == r->n_nodes)
			r->node[r->n_nodes++] = (struct np_cal_node){
				at->node, at->leaf,
			};
	}
	return 0;
}

int np_cal_run_query(struct np_cal_run *r, const char *nodes, size_t n_nodes,
		      struct np_cal_query *out, struct np_err *err)
{
	const struct np_cal_step step = { .nodes = nodes, .n_nodes = n_nodes };
	int rc;

	r->all = nodes;
	r->n_all = n_nodes;
	r->queries = true;
	rc = run_start(r, NP_CAL_BASE, &step, err);
	r->queries = false;
	if (!rc)
		rc = list_nodes(r, err);
	if (!rc)
		rc = wait_for(r, SETTLE_SEC, err);
	if (rc)
		return rc;
	*out = (struct np_cal_query){
		r->node, r->n_nodes, r->transport, r->version,
	};
	return 0;
}

static double run_now_sec(const struct np_cal_run *r)
{
	return r->ops->now_sec(r->ctx);
}

void np_cal_run_free(struct np_cal_run *r)
{
	if (!r)
		return;
	run_stop(r, NP_CAL_AGGRESSOR);
	run_stop(r, NP_CAL_BASE);
	free(r->window);
	free(r->rank);
	free(r->node);
	free(r);
}

/* ---- results ---- */

/* Relative increase of the mean under the aggressor; NaN: not measured. */
static double slowdown(const struct np_cal_result *r)
{
	if (!r || !r->alone.sec.n || !r->loaded.sec.n ||
	    !(r->alone.sec.mean > 0) || !(r->loaded.sec.mean > 0))
		return NAN;
	return r->loaded.sec.mean / r->alone.sec.mean - 1;
}

/* NULL: not measured. */
static const struct np_cal_result *result_of(const struct np_calibrate *c,
					     const struct np_cal_task *t)
{
	char key[NP_CAL_KEY];

	np_cal_key(&c->setup, t, key);
	return state_find(c->state, key);
}

struct np_mean np_cal_matrix(const struct np_calibrate *c, enum np_scope scope,
			     size_t victim, size_t aggressor)
{
	struct np_cal_task t = { NP_CAL_PAIR, scope, victim, aggressor, 0 };
	struct np_moments m = { 0 };

	for (; t.repeat < c->setup.repeats; t.repeat++) {
		double d = slowdown(result_of(c, &t));

		if (!isnan(d))
			np_moments_add(&m, d);
	}
	return np_mean_of(&m);
}

/* NaN: not measured. */
static double loss(const struct np_calibrate *c, enum np_scope scope,
		   unsigned repeat)
{
	const struct np_cal_task t = {
		NP_CAL_COUPLE, scope, np_cal_middle(&c->setup),
		np_cal_strongest(&c->setup), repeat,
	};

	return 1 - 1 / (1 + slowdown(result_of(c, &t)));
}

struct np_mean np_cal_loss(const struct np_calibrate *c, enum np_scope scope)
{
	struct np_moments m = { 0 };

	for (unsigned r = 0; r < NP_CAL_MAX_REPEATS; r++) {
		double l = loss(c, scope, r);

		if (!isnan(l))
			np_moments_add(&m, l);
	}
	return np_mean_of(&m);
}

/* Standard errors by which the loss exceeds NP_CAL_FELT; negative: is below. */
static double felt_for_certain(struct np_mean loss)
{
	return (loss.mean - NP_CAL_FELT) / (loss.sd / sqrt(loss.n));
}

/* How often the sharing coefficient has to be measured, by the results so far. */
static unsigned cal_couple_repeats(const struct np_calibrate *c)
{
	unsigned least = c->setup.repeats > NP_CAL_COUPLE_LEAST ?
			 c->setup.repeats : NP_CAL_COUPLE_LEAST;
	struct np_mean leaf = np_cal_loss(c, NP_SCOPE_LEAF);

	if (leaf.n < least)
		return least;
	if (leaf.n < NP_CAL_COUPLE_MOST &&
	    fabs(felt_for_certain(leaf)) < NP_CAL_CERTAIN)
		return leaf.n + 1;
	return leaf.n;
}

struct np_mean np_cal_sharing(const struct np_calibrate *c,
			       enum np_scope reference, enum np_scope scope)
{
	struct np_mean ref = np_cal_loss(c, reference);
	struct np_moments m = { 0 };

	if (!ref.n || ref.mean < NP_CAL_FELT)
		return (struct np_mean){ 0 };
	for (unsigned r = 0; r < NP_CAL_MAX_REPEATS; r++) {
		double k = loss(c, scope, r) / loss(c, reference, r);

		if (isfinite(k))
			np_moments_add(&m, fmin(fmax(k, 0), NP_SHARING_COEF_MAX));
	}
	return np_mean_of(&m);
}

/*
 * The scope at which levels are measured: on other nodes of the leaf switch, if
 * there are some and the effect there is certain; else on the same nodes.  An
 * effect that stays uncertain after all repeats is so small that other work of
 * the machine would show rather than the levels.
 */
static enum np_scope cal_best_scope(const struct np_calibrate *c)
{
	struct np_mean leaf = np_cal_loss(c, NP_SCOPE_LEAF);

	if (!c->setup.has[NP_SCOPE_LEAF])
		return NP_SCOPE_NODE;
	/* Before it is measured, assume the more likely one. */
	return leaf.n && !(felt_for_certain(leaf) >= NP_CAL_CERTAIN) ?
	       NP_SCOPE_NODE : NP_SCOPE_LEAF;
}

/* ---- results as a calibration ---- */

static int copy_text(const char *s, char **out)
{
	*out = strdup(s ? s : "");
	return *out ? 0 : -ENOMEM;
}

/* A zeroed array with room for one more element, so that it is never empty. */
static void *new_list(size_t n, size_t size)
{
	return calloc(n + 1, size);
}

/* Turn a sample into latencies with their histogram. */
static int set_latency(const struct np_cal_sample *s, struct np_latency *out)
{
	double *count = s->bins ? new_list(NP_HIST_BINS, sizeof(*count)) : NULL;

	if (s->bins && !count)
		return -ENOMEM;
	for (size_t i = 0; count && i < NP_HIST_BINS; i++)
		count[i] = (double)s->bins[i];
	*out = (struct np_latency){ s->sec, count };
	return 0;
}

/* What was measured where, and by which versions. */
static int set_conditions(const struct np_calibration_conditions *f,
			  struct np_calibration *out)
{
	const struct np_cal_hosts *level = f->c->scope == NP_SCOPE_LEAF ?
					   &f->c->roles->aggressor :
					   &f->c->roles->victim;

	out->date = (double)(uint64_t)f->date;
	out->message_bytes = f->message_bytes;
	out->period_sec = f->period_sec;
	out->scope = f->c->scope;
	out->seconds = f->c->setup.seconds;
	out->repeats = f->c->setup.repeats;
	return copy_text(f->cluster, &out->cluster) ||
			       copy_text(NP_VERSION, &out->netprof_version) ||
			       copy_text(f->ucx_version, &out->ucx_version) ||
			       copy_text(f->transport, &out->transport) ||
			       (f->rail && copy_text(f->rail, &out->rail)) ||
			       copy_text(f->c->roles->leaf, &out->leaf_name) ||
			       copy_text(f->c->roles->victim.list,
					 &out->victim_nodes) ||
			       copy_text(level->list, &out->level_nodes) ?
		     -ENOMEM :
		     0;
}

/* Sharing coefficients and losses of speed at all scopes. */
static void set_sharing(const struct np_calibrate *c,
			  struct np_calibration *out)
{
	struct np_mean *k = out->measured.set->fabric.sharing;

	for (int i = 0; i < NP_N_SCOPES; i++) {
		k[i] = np_cal_sharing(c, c->scope, (enum np_scope)i);
		out->loss[i] = np_cal_loss(c, (enum np_scope)i);
	}
	/* 1 at the calibrated scope by definition */
	k[c->scope] = (struct np_mean){ k[c->scope].n ? k[c->scope].n : 1, 1,
					0 };
}

/* The probes under a level; NULL: not measured. */
static const struct np_cal_result *probe_result(const struct np_calibrate *c,
						size_t level)
{
	const struct np_cal_task t = { NP_CAL_PROBE, c->scope, NP_CAL_NONE,
				       level, 0 };

	return result_of(c, &t);
}

/*
 * The selected levels, the matrix of their slowdowns, and the probes' latencies
 * under them.
 */
static int set_levels(const struct np_calibrate *c, struct np_calibration *out)
{
	struct np_measured_set *s = out->measured.set;
	size_t n = c->n_selected;
	struct np_mean *pairs = new_list(n * n, sizeof(*pairs));

	s->fabric.pairs = pairs;
	s->level = new_list(n, sizeof(*s->level));
	out->level = new_list(n, sizeof(*out->level));
	if (!pairs || !s->level || !out->level)
		return -ENOMEM;
	s->fabric.n_levels = out->n_levels = n;
	for (size_t v = 0; v < n; v++) {
		const struct np_cal_result *r = probe_result(c, c->selected[v]);

		out->level[v] = c->setup.level[c->selected[v]];
		s->level[v].name = out->level[v].name;
		for (size_t p = 0; p < n; p++)
			pairs[v * n + p] = np_cal_matrix(c, c->scope,
				c->selected[v], c->selected[p]);
		if (r && set_latency(&r->loaded, &s->level[v].latency))
			return -ENOMEM;
	}
	return 0;
}

/* Mean duration of a level's rounds before each of its measurements. */
static struct np_mean alone_round_sec(const struct np_calibrate *c,
				      size_t level)
{
	struct np_moments m = { 0 };

	for (unsigned r = 0; r < c->setup.repeats; r++)
		for (size_t k = 0; k < c->n_selected; k++) {
			const struct np_cal_task t = { NP_CAL_PAIR, c->scope,
				level, c->selected[k], r };
			const struct np_cal_result *res = result_of(c, &t);

			if (res && res->alone.sec.n)
				np_moments_add(&m, res->alone.sec.mean);
		}
	return np_mean_of(&m);
}

static int set_alone_rounds(const struct np_calibrate *c,
			    struct np_calibration *out)
{
	out->alone_round_sec = new_list(c->n_selected, sizeof(struct np_mean));
	for (size_t i = 0; out->alone_round_sec && i < c->n_selected; i++)
		out->alone_round_sec[i] = alone_round_sec(c, c->selected[i]);
	return out->alone_round_sec ? 0 : -ENOMEM;
}

/* Idle latencies between the levels, so that like is compared with like. */
static int set_idle(const struct np_calibrate *c, struct np_calibration *out)
{
	struct np_cal_sample all = { .bins = NULL };
	int rc = 0;

	for (size_t i = 0; !rc && i < c->setup.n_levels; i++) {
		const struct np_cal_result *r = probe_result(c, i);

		if (r)
			rc = sample_merge(&all, &r->alone);
	}
	if (!rc)
		rc = set_latency(&all, &out->measured.set->fabric.idle);
	sample_free(&all);
	return rc;
}

/* Idle latencies of each leaf switch. */
static int set_leaves(const struct np_calibrate *c, struct np_calibration *out)
{
	int rc = 0;

	out->leaf = new_list(c->state->n, sizeof(*out->leaf));
	if (!out->leaf)
		return -ENOMEM;
	for (size_t i = 0; !rc && i < c->state->n; i++) {
		const struct np_cal_result *r = &c->state->result[i];
		struct np_calibration_leaf *l = &out->leaf[out->n_leaves];

		if (strncmp(r->key, "idle ", 5))
			continue;
		out->n_leaves++;
		rc = copy_text(strcmp(r->key, "idle -") ? r->key + 5 : "",
			       (char **)&l->name);
		if (!rc)
			rc = set_latency(&r->alone, &l->idle);
	}
	return rc;
}

/* What was measured of the levels that were not selected. */
static int set_other_levels(const struct np_calibrate *c,
			    struct np_calibration *out)
{
	int rc = 0;

	out->other = new_list(c->setup.n_levels, sizeof(*out->other));
	if (!out->other)
		return -ENOMEM;
	for (size_t i = 0, k = 0; !rc && i < c->setup.n_levels; i++) {
		const struct np_cal_result *r = probe_result(c, i);
		struct np_calibration_other *o = &out->other[out->n_others];

		if (k < c->n_selected && c->selected[k] == i) {
			k++; /* they ascend */
			continue;
		}
		out->n_others++;
		o->slows_by = np_cal_matrix(c, c->scope,
					    np_cal_middle(&c->setup), i);
		rc = copy_text(c->setup.level[i].name, (char **)&o->name);
		if (!rc && r)
			rc = set_latency(&r->loaded, &o->probes);
	}
	return rc;
}

int np_calibrate_result(const struct np_calibration_conditions *f, char **out,
			struct np_err *err)
{
	struct np_calibration c;
	int rc;

	if (f->c->n_selected < 2)
		return np_errf(err, -ENODATA, "calibration: %zu levels were "
			       "measured, expected two or more",
			       f->c->n_selected);
	rc = np_calibration_init(&c, "");
	if (rc)
		return np_errf(err, rc, "out of memory");
	set_sharing(f->c, &c);
	if (set_conditions(f, &c) || set_levels(f->c, &c) ||
	    set_alone_rounds(f->c, &c) || set_idle(f->c, &c) ||
	    set_leaves(f->c, &c) || set_other_levels(f->c, &c))
		rc = np_errf(err, -ENOMEM, "out of memory");
	if (!rc)
		rc = np_calibration_write(&c, out, err);
	np_calibration_free(&c);
	return rc;
}

/* ---- the stages ---- */

/* Seconds to measure before the rate is used to estimate the rest. */
#define RATE_SEC 5.0

struct progress {
	struct np_calibrate *c;
	double begun_sec;   /* time of this call */
	double planned_sec; /* planned length of what it has measured */
	unsigned measured;
};

/* Choose the levels of the matrix by the results so far. */
static void select_levels(struct np_calibrate *c)
{
	const struct np_cal_setup *s = &c->setup;
	struct np_calibrate once = *c;
	double impact[NP_CAL_MAX_LEVELS];

	once.setup.repeats = 1; /* later repeats must not change the choice */
	for (size_t i = 0; i < s->n_levels; i++) {
		struct np_mean m = np_cal_matrix(&once, c->scope,
						 np_cal_middle(s), i);

		impact[i] = m.n ? m.mean : NAN;
	}
	c->n_selected =
		np_cal_select_levels(impact, s->n_levels, s->keep, c->selected);
}

/* Decide what this stage depends on. */
static void decide_for_stage(struct np_calibrate *c, int stage)
{
	if (stage == NP_CAL_SECOND && !c->scope_given)
		c->scope = cal_best_scope(c);
	if (stage == NP_CAL_THIRD)
		select_levels(c);
}

/* Does the state have this measurement? */
static bool is_done(const struct np_calibrate *c, const struct np_cal_task *t)
{
	char key[NP_CAL_KEY];

	np_cal_key(&c->setup, t, key);
	return state_find(c->state, key) != NULL;
}

/* Plan this stage, as far as is known now. */
static int plan_stage(const struct np_calibrate *c, int stage,
		      struct np_cal_task **task, size_t *n)
{
	struct np_cal_setup s = c->setup;

	if (stage == NP_CAL_FIRST)
		s.repeats = cal_couple_repeats(c);
	return np_cal_plan(&s, (enum np_cal_stage)stage, c->scope, c->selected,
			   c->n_selected, task, n);
}

/* Add the measurements of a stage to the estimate. */
static int count_stage(const struct np_calibrate *c, int stage,
		       struct np_cal_estimate *e)
{
	const struct np_cal_task *left = NULL;
	struct np_cal_task *task;
	size_t n;
	int rc = plan_stage(c, stage, &task, &n);

	for (size_t i = 0; !rc && i < n; i++) {
		e->n++;
		e->sec += np_cal_cost_sec(&c->setup, &task[i],
					  i ? &task[i - 1] : NULL);
		if (is_done(c, &task[i])) {
			e->n_done++;
			continue;
		}
		e->left_sec += np_cal_cost_sec(&c->setup, &task[i], left);
		left = &task[i];
	}
	if (!rc)
		free(task);
	return rc;
}

int np_calibrate_estimate(const struct np_calibrate *c,
			  struct np_cal_estimate *out)
{
	struct np_cal_estimate e = { 0 };
	struct np_calibrate as_known = *c;
	int rc = 0;

	for (int stage = 0; !rc && stage < NP_CAL_STAGES; stage++) {
		decide_for_stage(&as_known, stage);
		rc = count_stage(&as_known, stage, &e);
	}
	if (!rc)
		*out = e;
	return rc;
}

/* Report the progress, with the remaining time at the rate so far. */
static void report_progress(struct progress *k, const struct np_cal_task *next)
{
	struct np_calibrate *c = k->c;
	struct np_cal_estimate e;
	struct np_cal_progress p;
	char key[NP_CAL_KEY];
	double rate = 1;

	if (np_calibrate_estimate(c, &e))
		return;
	if (k->planned_sec > RATE_SEC)
		rate = (run_now_sec(c->run) - k->begun_sec) / k->planned_sec;
	if (next)
		np_cal_key(&c->setup, next, key);
	p = (struct np_cal_progress){ e.n_done, e.n, e.left_sec * rate,
				      next ? key : NULL };
	c->progress(c->arg, &p);
}

/* Measure what is missing of a stage, saving after each measurement. */
static int run_stage(struct progress *k, int stage, struct np_err *err)
{
	struct np_calibrate *c = k->c;
	const struct np_cal_task *previous = NULL;
	struct np_cal_task *task;
	size_t n;
	int rc;

	decide_for_stage(c, stage);
	rc = plan_stage(c, stage, &task, &n);
	if (rc)
		return np_errf(err, rc, "out of memory");
	for (size_t i = 0; !rc && i < n; i++) {
		if (is_done(c, &task[i]))
			continue;
		report_progress(k, &task[i]);
		rc = run_task(c->run, &task[i], c->state, err);
		if (!rc)
			rc = c->save(c->arg, c->state, err);
		k->planned_sec += np_cal_cost_sec(&c->setup, &task[i],
						  previous);
		previous = &task[i];
		k->measured++;
	}
	free(task);
	return rc;
}

int np_calibrate_measure(struct np_calibrate *c, struct np_err *err)
{
	struct progress k = { c, run_now_sec(c->run), 0, 0 };
	int rc = 0;

	c->run->roles = c->roles;
	for (int stage = 0; !rc && stage < NP_CAL_STAGES;) {
		unsigned before = k.measured;

		rc = run_stage(&k, stage, err);
		/* The first stage is repeated until its result is certain. */
		stage += stage != NP_CAL_FIRST || k.measured == before;
	}
	if (!rc)
		report_progress(&k, NULL);
	return rc;
}
