/*
 * A calibration: what is measured where (the plan, the roles of nodes, the
 * levels), the file that holds the results so far, steps started by srun, the
 * measurements that are made with these, what the results mean, and the stages
 * of the whole.
 */
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
#include "np_text.h"

/* Typical of a small cluster; only for estimates shown to the user. */
#define START_SEC 0.8 /* for srun to start its processes */
#define STOP_SEC 0.2
#define SETTLE_TWICE_SEC 1.2 /* for rounds to reach a steady state, twice */

size_t np_cal_middle(const struct np_cal_setup *setup)
{
	return setup->n_levels / 2 < setup->n_levels - 1 ? setup->n_levels / 2 :
							   0;
}

size_t np_cal_strongest(const struct np_cal_setup *setup)
{
	return setup->n_levels - 1;
}

/* Length of a measurement in seconds, with the aggressor. */
static double cal_loaded_sec(const struct np_cal_setup *setup,
			     const struct np_cal_task *task)
{
	return task->kind == NP_CAL_IDLE  ? 0 :
	       task->kind == NP_CAL_PROBE ? setup->probe_seconds :
					    setup->seconds;
}

/* Length of a measurement in seconds, without the aggressor. */
static double cal_alone_sec(const struct np_cal_setup *setup,
			    const struct np_cal_task *task)
{
	double probe_sec = setup->probe_seconds, sec = setup->seconds;

	if (task->kind == NP_CAL_IDLE)
		return probe_sec;
	/*
	 * Short: those of the probes before all levels add up, and rounds
	 * without an aggressor hardly scatter.
	 */
	return task->kind == NP_CAL_PROBE ?
		       fmax(probe_sec / 4, fmin(probe_sec, 1)) :
		       fmax(sec / 2, fmin(sec, 1));
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

double np_cal_cost_sec(const struct np_cal_setup *setup,
		       const struct np_cal_task *task,
		       const struct np_cal_task *previous)
{
	double sec = cal_alone_sec(setup, task) + cal_loaded_sec(setup, task);

	if (!previous || !np_cal_same_base(task, previous))
		sec += STOP_SEC + START_SEC + SETTLE_TWICE_SEC / 2;
	if (task->aggressor != NP_CAL_NONE)
		sec += START_SEC + SETTLE_TWICE_SEC + STOP_SEC;
	return sec;
}

void np_cal_key(const struct np_cal_setup *setup,
		const struct np_cal_task *task, char key[NP_CAL_KEY])
{
	static const char *const kind[] = { "idle", "couple", "probe",
					    "beside" };
	bool victim = task->victim != NP_CAL_NONE;

	if (task->kind == NP_CAL_IDLE)
		strcpy(key, kind[task->kind]);
	else
		snprintf(key, NP_CAL_KEY, "%s %s%s%s %s %u", kind[task->kind],
			 np_scope_name(task->scope), victim ? " " : "",
			 victim ? setup->level[task->victim].name : "",
			 setup->level[task->aggressor].name, task->repeat);
}

/* ---- the plan ---- */

/* Idle latencies, then the sharing coefficients, repeat by repeat. */
static bool first_task(const struct np_cal_setup *setup, unsigned repeats,
		       size_t i, struct np_cal_task *out)
{
	enum np_scope scope[NP_N_SCOPES];
	size_t n = 0;

	if (!i) {
		*out = (struct np_cal_task){ NP_CAL_IDLE, NP_SCOPE_NODE,
					     NP_CAL_NONE, NP_CAL_NONE, 0 };
		return true;
	}
	for (int k = 0; k < NP_N_SCOPES; k++)
		if (setup->has[k])
			scope[n++] = (enum np_scope)k;
	if (!n || (i - 1) / n >= repeats)
		return false;
	*out = (struct np_cal_task){ NP_CAL_COUPLE, scope[(i - 1) % n],
				     np_cal_middle(setup),
				     np_cal_strongest(setup),
				     (unsigned)((i - 1) / n) };
	return true;
}

/*
 * The probes under each level, and the impact of each level, unless the matrix
 * will have all levels anyway.
 */
static bool second_task(const struct np_calibrate *calibrate, size_t i,
			struct np_cal_task *out)
{
	const struct np_cal_setup *setup = &calibrate->setup;
	size_t n = setup->n_levels;

	if (i < n)
		*out = (struct np_cal_task){ NP_CAL_PROBE, calibrate->scope,
					     NP_CAL_NONE, i, 0 };
	else /* the matrix has the same keys: these are not measured again */
		*out = (struct np_cal_task){ NP_CAL_PAIR, calibrate->scope,
					     np_cal_middle(setup), i - n, 0 };
	return i < (setup->keep < n ? 2 * n : n);
}

/* The matrix of the selected levels. */
static bool third_task(const struct np_calibrate *calibrate, unsigned repeats,
		       size_t i, struct np_cal_task *out)
{
	const size_t *selected = calibrate->selected;
	size_t n = calibrate->n_selected, repeat = n ? i / n / n : repeats;

	if (repeat >= repeats)
		return false;
	*out = (struct np_cal_task){ NP_CAL_PAIR, calibrate->scope,
				     selected[i / n % n],
				     selected[(i + 3 * repeat) % n],
				     (unsigned)repeat };
	return true;
}

bool np_cal_task_at(const struct np_calibrate *calibrate,
		    enum np_cal_stage stage, unsigned repeats, size_t i,
		    struct np_cal_task *out)
{
	return stage == NP_CAL_FIRST ?
		       first_task(&calibrate->setup, repeats, i, out) :
	       stage == NP_CAL_SECOND ? second_task(calibrate, i, out) :
					third_task(calibrate, repeats, i, out);
}

/* ---- roles of nodes ---- */

/* Count the nodes under a leaf switch. */
static size_t count_leaf(const struct np_cal_node *node, size_t n,
			 const char *leaf)
{
	size_t found = 0;

	for (size_t i = 0; i < n; i++)
		found += !strcmp(node[i].leaf, leaf);
	return found;
}

/* Find the leaf switch with most nodes, except `other`; NULL: none. */
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
 * Assign the roles: half of the leaf switch each; and for the rings across the
 * uplink half of each role's nodes, and as many nodes under the second largest
 * leaf switch. Of fewer than four nodes, all are victims.
 */
static int fill_roles(const struct np_cal_node *node, size_t n,
		      struct np_cal_roles *roles)
{
	const char *leaf = roles->leaf, *other = largest_leaf(node, n, leaf);
	size_t here = count_leaf(node, n, leaf);
	size_t half = here < 4 ? 0 : here / 2;
	size_t there = other ? count_leaf(node, n, other) / 2 : 0;
	size_t each = half / 2 < there ? half / 2 : there;
	const struct {
		const char *leaf;
		size_t skip, n;
		struct np_cal_hosts *role;
	} part[] = {
		{ leaf, 0, half ? half : here, &roles->victim },
		{ leaf, half, half, &roles->aggressor },
		{ leaf, 0, each, &roles->victim_across },
		{ other, 0, each, &roles->victim_across },
		{ leaf, half, each, &roles->aggressor_across },
		{ other, each, each, &roles->aggressor_across },
	};
	int rc = 0;

	for (size_t i = 0; !rc && i < NP_ARRAY_SIZE(part); i++)
		rc = append_nodes(node, n, part[i].leaf, part[i].skip,
				  part[i].n, part[i].role);
	return rc;
}

int np_cal_roles_make(const struct np_cal_node *node, size_t n,
		      struct np_cal_roles *out, struct np_err *err)
{
	const char *leaf = largest_leaf(node, n, NULL);
	struct np_cal_roles roles = { .leaf = NULL };
	int rc;

	if (!leaf || count_leaf(node, n, leaf) < 2)
		return np_errf(err, -ENODEV,
			       "no two of the %zu nodes share a leaf switch: "
			       "there is nothing to measure",
			       n);
	roles.leaf = strdup(leaf);
	rc = roles.leaf ? fill_roles(node, n, &roles) : -ENOMEM;
	if (rc) {
		np_cal_roles_free(&roles);
		return np_errf(err, rc, "out of memory");
	}
	*out = roles;
	return 0;
}

void np_cal_roles_free(struct np_cal_roles *roles)
{
	free(roles->leaf);
	free(roles->victim.list);
	free(roles->aggressor.list);
	free(roles->victim_across.list);
	free(roles->aggressor_across.list);
	*roles = (struct np_cal_roles){ .leaf = NULL };
}

const struct np_cal_hosts *
np_cal_roles_aggressor(const struct np_cal_roles *roles, enum np_scope scope)
{
	return scope == NP_SCOPE_LEAF	? &roles->aggressor :
	       scope == NP_SCOPE_UPLINK ? &roles->aggressor_across :
					  &roles->victim;
}

/* ---- levels to measure ---- */

/*
 * Estimate the bytes per second of a level, on a link of 1 GB/s where a round
 * takes at least 0.2 ms. This is only used to sort levels.
 */
static double nominal_load(const struct np_level *level)
{
	double bytes = (double)level->peers * level->messages * level->bytes;

	return bytes / (level->pause_sec + 2e-4 + bytes / 1e9);
}

static int by_load(const void *a, const void *b)
{
	double x = nominal_load(a), y = nominal_load(b);

	if (x != y)
		return x < y ? -1 : 1;
	return strcmp(((const struct np_level *)a)->name,
		      ((const struct np_level *)b)->name);
}

/* Are two levels equal on a ring in which each node has so many peers? */
static bool same_level(const struct np_level *a, const struct np_level *b,
		       uint32_t most)
{
	uint32_t a_peers = a->peers < most ? a->peers : most;
	uint32_t b_peers = b->peers < most ? b->peers : most;

	return a_peers == b_peers && a->messages == b->messages &&
	       a->bytes == b->bytes && a->pause_sec == b->pause_sec;
}

struct levels_list {
	struct np_level *level;
	size_t n;
	uint32_t most; /* peers of a node in the ring */
};

/* Add a level, unless the list has an equal one. */
static int levels_add(struct levels_list *list, const struct np_level *level,
		      struct np_err *err)
{
	for (size_t i = 0; i < list->n; i++)
		if (same_level(&list->level[i], level, list->most))
			return 0;
	if (list->n == NP_CAL_MAX_LEVELS)
		return np_errf(err, -EINVAL, "more than %d levels",
			       NP_CAL_MAX_LEVELS);
	list->level[list->n++] = *level;
	return 0;
}

/* Add a level by its name. */
static int add_named(struct levels_list *list, const char *name,
		     struct np_err *err)
{
	struct np_level level;
	int rc = np_level_parse(name, &level, err);

	return rc ? rc : levels_add(list, &level, err);
}

/* Add the levels c0 to c7. */
static int add_default(struct levels_list *list, struct np_err *err)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < np_n_levels; i++)
		rc = levels_add(list, &np_levels[i], err);
	return rc;
}

/* Add "all" levels. The pauses are 2.5e4 to 2.5e7 cycles at 2.6 GHz. */
static int add_all(struct levels_list *list, struct np_err *err)
{
	static const uint32_t peers[] = { 1, 4, 7, 14, 17 };
	static const uint32_t messages[] = { 1, 10 };
	static const char *const pause[] = {
		"9.615us",
		"96.154us",
		"961.54us",
		"9.6154ms",
	};
	char name[NP_LEVEL_NAME];
	int rc = 0;

	for (size_t i = 0; i < NP_ARRAY_SIZE(peers); i++)
		for (size_t j = 0; j < NP_ARRAY_SIZE(messages); j++)
			for (size_t k = 0; !rc && k < NP_ARRAY_SIZE(pause);
			     k++) {
				snprintf(name, sizeof(name), "P%u:M%u:B%s",
					 peers[i] < list->most ? peers[i] :
								 list->most,
					 messages[j], pause[k]);
				rc = add_named(list, name, err);
			}
	return rc;
}

/* Add the levels of a comma-separated list. */
static int add_list(struct levels_list *list, const char *text,
		    struct np_err *err)
{
	char name[NP_LEVEL_NAME];
	int rc = 0;

	while (!rc) {
		size_t len = strcspn(text, ",");

		if (len >= sizeof(name))
			return np_errf(err, -EINVAL,
				       "level \"%.20s...\": longer than %zu "
				       "characters",
				       text, sizeof(name) - 1);
		memcpy(name, text, len);
		name[len] = '\0';
		rc = add_named(list, name, err);
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
	struct levels_list list = { level, 0,
				    n_nodes > 1 ? (uint32_t)n_nodes - 1 : 1 };
	int rc = !strcmp(text, "default") ? add_default(&list, err) :
		 !strcmp(text, "all")	  ? add_all(&list, err) :
					    add_list(&list, text, err);

	if (rc)
		return rc;
	if (list.n < 2)
		return np_errf(err, -EINVAL,
			       "levels \"%.60s\": expected two or more that "
			       "differ on %zu nodes",
			       text, n_nodes);
	qsort(level, list.n, sizeof(*level), by_load);
	memcpy(out, level, list.n * sizeof(*level));
	*n = list.n;
	return 0;
}

/* ---- levels to keep ---- */

struct rated {
	double position; /* log(1 + slowdown); infinite: unknown */
	size_t level;
	bool taken;
};

static int by_at(const void *a, const void *b)
{
	const struct rated *x = a, *y = b;

	if (x->position != y->position)
		return x->position < y->position ? -1 : 1;
	return x->level < y->level ? -1 : x->level > y->level;
}

/* Find the level, not taken yet, nearest to a position on the scale. */
static struct rated *nearest(struct rated *rated, size_t n, double at)
{
	struct rated *best = NULL;

	for (size_t i = 0; i < n; i++)
		if (!rated[i].taken &&
		    (!best ||
		     fabs(rated[i].position - at) < fabs(best->position - at)))
			best = &rated[i];
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
	struct rated rated[NP_CAL_MAX_LEVELS];
	size_t known = 0, got = 0, spread;

	if (n > NP_CAL_MAX_LEVELS)
		n = NP_CAL_MAX_LEVELS;
	if (keep > n)
		keep = n;
	for (size_t i = 0; i < n; i++) {
		bool has = isfinite(slowdown[i]);

		known += has;
		rated[i] =
			(struct rated){ has ? log1p(fmax(slowdown[i], -0.5)) :
					      INFINITY,
					i, false };
	}
	qsort(rated, n, sizeof(*rated), by_at);
	spread = keep < known ? keep : known;
	for (; got < spread; got++) {
		/* The two ends are first, so that both are selected. */
		size_t k = got == 1 ? spread - 1 : got ? got - 1 : 0;
		double part = spread > 1 ? (double)k / (double)(spread - 1) : 1;
		struct rated *best = nearest(
			rated, known,
			rated[0].position + part * (rated[known - 1].position -
						    rated[0].position));

		best->taken = true;
		selected[got] = best->level;
	}
	for (size_t i = known; i < n && got < keep; i++)
		selected[got++] = rated[i].level;
	qsort(selected, got, sizeof(*selected), by_index);
	return got;
}

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
#define FIRST_LINE "netprof-calibration 1 "
#define MAX_RESULTS 100000
#define MAX_BYTES (64 << 20) /* of the file */

int np_cal_state_init(struct np_cal_state *state, const char *setup,
		      double begun)
{
	*state =
		(struct np_cal_state){ .setup = strdup(setup), .begun = begun };
	return state->setup ? 0 : -ENOMEM;
}

void np_cal_state_free(struct np_cal_state *state)
{
	free(state->result);
	free(state->setup);
	*state = (struct np_cal_state){ .setup = NULL };
}

/*
 * Find a result; NULL: not measured yet. The idle latencies of a leaf switch
 * have the key "idle LEAF".
 */
static const struct np_cal_result *state_find(const struct np_cal_state *state,
					      const char *key)
{
	for (size_t i = 0; i < state->n; i++)
		if (!strcmp(state->result[i].key, key))
			return &state->result[i];
	return NULL;
}

/* Add a result. Returns 0, or -ENOMEM with err. */
static int state_add(struct np_cal_state *state,
		     const struct np_cal_result *result, struct np_err *err)
{
	if (np_array_grow(&state->result, state->n, sizeof(*state->result)))
		return np_errf(err, -ENOMEM, "out of memory");
	state->result[state->n++] = *result;
	return 0;
}

static void sample_merge(struct np_cal_sample *to,
			 const struct np_cal_sample *from)
{
	for (size_t i = 0; i < NP_HIST_BINS; i++)
		to->bins[i] += from->bins[i];
	np_moments_merge(&to->sec, &from->sec);
}

/* ---- writing the state ---- */

/* Write a sample. The minimum and maximum of an empty one are written as 0. */
static void put_sample(FILE *f, const struct np_cal_sample *sample)
{
	const struct np_moments *moments = &sample->sec;

	fprintf(f, "\t%" PRIu64 " %.17g %.17g %.17g %.17g", moments->n,
		moments->mean, moments->m2, moments->n ? moments->min : 0,
		moments->n ? moments->max : 0);
	for (size_t i = 0; i < NP_HIST_BINS; i++)
		if (sample->bins[i])
			fprintf(f, " %zu:%" PRIu64, i, sample->bins[i]);
}

/* Format the state as malloc'ed text; NULL: out of memory. */
static char *format_state(const struct np_cal_state *state)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return NULL;
	fprintf(f, FIRST_LINE "%.3f\n%s\n", state->begun, state->setup);
	for (size_t i = 0; i < state->n; i++) {
		fputs(state->result[i].key, f);
		put_sample(f, &state->result[i].alone);
		put_sample(f, &state->result[i].loaded);
		fputc('\n', f);
	}
	return np_text_close(f, &text);
}

/* ---- reading the state ---- */

/* Parse the histogram of a sample, whose counts must add up to n. */
static int parse_bins(char *text, struct np_cal_sample *sample)
{
	char *save = NULL;
	uint64_t sum = 0;

	for (char *word = strtok_r(text, " ", &save); word;
	     word = strtok_r(NULL, " ", &save)) {
		unsigned bin;
		uint64_t count;

		if (sscanf(word, "%u:%" SCNu64, &bin, &count) != 2 ||
		    bin >= NP_HIST_BINS || count > sample->sec.n)
			return -EINVAL;
		sample->bins[bin] += count;
		sum += count;
	}
	return sum == sample->sec.n ? 0 : -EINVAL;
}

/* Parse a sample, with its histogram if it has one. */
static int parse_sample(char *text, struct np_cal_sample *sample)
{
	struct np_moments *moments = &sample->sec;
	int used = 0;

	if (!text ||
	    sscanf(text, "%" SCNu64 " %lf %lf %lf %lf%n", &moments->n,
		   &moments->mean, &moments->m2, &moments->min, &moments->max,
		   &used) != 5 ||
	    moments->n > UINT32_MAX ||
	    (moments->n && !np_moments_valid(moments)))
		return -EINVAL;
	if (!text[used])
		return 0;
	return parse_bins(text + used, sample);
}

/* Parse one result: key, sample alone, sample under the aggressor. */
static int parse_line(struct np_cal_state *state, char *line)
{
	struct np_cal_result result = { .key = "" };
	char *save = NULL, *key = strtok_r(line, "\t", &save);
	int rc;

	if (!key || strlen(key) >= sizeof(result.key) ||
	    state->n >= MAX_RESULTS)
		return -EINVAL;
	strcpy(result.key, key);
	rc = parse_sample(strtok_r(NULL, "\t", &save), &result.alone);
	if (!rc)
		rc = parse_sample(strtok_r(NULL, "\t", &save), &result.loaded);
	if (!rc && strtok_r(NULL, "\t", &save))
		rc = -EINVAL;
	return rc ? rc : state_add(state, &result, NULL);
}

/* Parse the whole file. text is cut into lines. */
static int parse_lines(char *text, struct np_cal_state *state,
		       struct np_err *err)
{
	char *save = NULL, *line = strtok_r(text, "\n", &save), *end;
	unsigned number = 2;
	int rc = 0;

	if (!line || strncmp(line, FIRST_LINE, strlen(FIRST_LINE)))
		return np_errf(err, -EINVAL,
			       "line 1: expected \"" FIRST_LINE "DATE\"");
	state->begun = strtod(line + strlen(FIRST_LINE), &end);
	line = strtok_r(NULL, "\n", &save);
	if (*end || !(state->begun >= 0 && state->begun < 1e12) || !line)
		return np_errf(err, -EINVAL, "line 1 or 2: damaged");
	state->setup = strdup(line);
	if (!state->setup)
		return np_errf(err, -ENOMEM, "out of memory");
	while (!rc && (line = strtok_r(NULL, "\n", &save))) {
		number++;
		rc = parse_line(state, line);
	}
	return rc ? np_errf(err, rc, "line %u: %s", number,
			    rc == -EINVAL ? "damaged" : "out of memory") :
		    0;
}

/* ---- the state on disk ---- */

int np_cal_state_load(const char *path, struct np_cal_state *out,
		      struct np_err *err)
{
	struct np_cal_state state = { .setup = NULL };
	struct np_err why = NP_ERR_INIT;
	struct stat st = { .st_uid = 0 };
	int fd = np_read_open(path, O_NOFOLLOW, &st), rc = 0;
	char *text = NULL;
	ssize_t len = fd;

	if (fd == -ENOENT)
		return fd;
	if (fd == -EINVAL ||
	    (fd >= 0 && st.st_uid != 0 && st.st_uid != geteuid()))
		rc = np_errf(
			err, -EACCES,
			"%s: expected a file owned by you or root; not trusted",
			path);
	else if (fd >= 0 && st.st_size > MAX_BYTES)
		rc = np_errf(err, -EFBIG, "%s: larger than %d MiB", path,
			     MAX_BYTES >> 20);
	else if (fd >= 0)
		len = np_read_text(fd, (size_t)st.st_size, &text);
	if (fd >= 0)
		close(fd);
	if (!rc && len < 0)
		rc = np_errf(err, (int)len, "%s: %s", path,
			     strerror((int)-len));
	if (rc)
		return rc;
	rc = parse_lines(text, &state, &why);
	free(text);
	if (rc) {
		np_cal_state_free(&state);
		return np_errf(err, rc, "%s: %s", path, why.text);
	}
	*out = state;
	return 0;
}

int np_cal_state_save(const char *path, const struct np_cal_state *state,
		      struct np_err *err)
{
	char *text = format_state(state);
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

/* Make the command line of a step, which runs the probes or a level. */
static void step_command(const struct np_cal_srun *srun,
			 const struct np_cal_step *step, struct np_args *args)
{
	if (step->level) {
		np_helper_cmd_probe(args, &srun->job, srun->conf,
				    "netprof-compressionb", step->nodes,
				    step->n_nodes);
		np_args_add(args, "--level=%s", step->level->name);
	} else {
		np_helper_cmd_impact(args, &srun->job, srun->conf, step->nodes,
				     step->n_nodes);
	}
	np_args_add(args, "--report-every=%gs", NP_CAL_WINDOW_SEC);
	if (step->across)
		np_args_add(args, "--across");
}

static int srun_start(void *ctx, int slot, const struct np_cal_step *step,
		      struct np_err *err)
{
	struct np_cal_srun *srun = ctx;
	uint32_t processes = (uint32_t)step->n_nodes *
			     (step->level ? 1 : srun->conf->per_node);
	struct np_args args;
	int rc;

	step_command(srun, step, &args);
	rc = np_helper_start(&srun->step[slot], &args, srun->env, processes,
			     err);
	np_args_free(&args);
	srun->running[slot] = !rc;
	return rc;
}

/* Where the reports of a step go, with the slot that is added to them. */
struct slot_reports {
	int slot;
	np_cal_report_f *f;
	void *arg;
};

/* Pass a report on, with its slot. */
static void srun_on_report(const struct np_report *report, void *arg)
{
	const struct slot_reports *reports = arg;

	reports->f(reports->slot, report, reports->arg);
}

/* Pass on what all running steps have reported. */
static void read_slots(struct np_cal_srun *srun, np_cal_report_f *f, void *arg)
{
	for (int i = 0; i < NP_CAL_SLOTS; i++) {
		struct slot_reports reports = { i, f, arg };

		if (srun->running[i])
			np_helper_read(&srun->step[i], srun_on_report,
				       &reports);
	}
}

/* Wait for reports of the running steps, at most sec seconds. */
static void poll_slots(const struct np_cal_srun *srun, double sec)
{
	struct pollfd fds[NP_CAL_SLOTS];

	for (int i = 0; i < NP_CAL_SLOTS; i++)
		fds[i] = (struct pollfd){ srun->running[i] ? srun->step[i].fd :
							     -1,
					  POLLIN, 0 };
	poll(fds, NP_CAL_SLOTS, (int)ceil(fmax(sec, 0) * 1000));
}

/* Report that a step has ended which should still run. Returns -EPIPE. */
static int report_end(const struct np_cal_srun *srun, int slot,
		      struct np_err *err)
{
	char cause[NP_ERR_LEN + 32];

	np_helper_cause(&srun->step[slot], cause, sizeof(cause));
	return np_errf(err, -EPIPE,
		       "a step of the calibration ended unexpectedly: %s",
		       cause);
}

/*
 * Are all steps running? Slurm 22.05 takes a minute to end a job while one of
 * its steps starts, so a stop requested by the user waits until none is
 * starting.
 */
static bool none_is_starting(const struct np_cal_srun *srun,
			     const bool started[NP_CAL_SLOTS])
{
	for (int i = 0; i < NP_CAL_SLOTS; i++)
		if (srun->running[i] && !started[i])
			return false;
	return true;
}

static int srun_wait(void *ctx, double until_sec,
		     const bool started[NP_CAL_SLOTS], np_cal_report_f *f,
		     void *arg, struct np_err *err)
{
	struct np_cal_srun *srun = ctx;

	poll_slots(srun, fmin(until_sec - now_sec(ctx), TICK_SEC));
	read_slots(srun, f, arg);
	if (*srun->stop && none_is_starting(srun, started))
		return np_errf(err, -EINTR, "stopped");
	for (int i = 0; i < NP_CAL_SLOTS; i++)
		if (srun->running[i] && np_helper_reap(&srun->step[i]))
			return report_end(srun, i, err);
	return 0;
}

static void srun_stop(void *ctx, int slot, np_cal_report_f *f, void *arg)
{
	struct np_cal_srun *srun = ctx;
	struct np_helper_step *step = &srun->step[slot];
	struct np_helper_end end = { .requested_sec = now_sec(ctx) };
	int sig = SIGUSR1;

	while (!np_helper_reap(step) && sig >= 0) {
		if (sig)
			np_helper_signal(step, sig);
		poll_slots(srun, 0.01);
		read_slots(srun, f, arg);
		sig = np_helper_end_due(&end, now_sec(ctx));
	}
	read_slots(srun, f, arg);
	np_helper_close(step);
	srun->running[slot] = false;
}

const struct np_cal_ops np_cal_srun_ops = {
	.now_sec = now_sec,
	.start = srun_start,
	.stop = srun_stop,
	.wait = srun_wait,
};

/* ---- measurements ---- */

#define START_TIMEOUT_SEC 40.0 /* for all processes of a step to start */
#define SETTLE_SEC 0.4 /* for rounds to reach a steady state, at least */
#define SETTLE_MAX_SEC 5.0
#define GRACE_SEC 0.3  /* for the last window to be reported */
#define MIN_ROUNDS 6   /* of each process of the base; measure longer if ... */
#define MAX_LONGER 4.0 /* ... necessary, up to this many times as long */
#define SLACK_SEC 0.02 /* accepted error of the times of windows */
#define MAX_WINDOWS 131072 /* of one measurement */

/* A step that may be running, and which of its processes have started. */
struct slot {
	bool running;
	struct np_cal_step step;
	double zero_sec; /* start of its processes; NaN: none has reported */
	uint32_t n_ranks, handshakes; /* processes; those that have started */
};

/* A report, and the start of its window by the clock of this process. */
struct window {
	double from_sec;
	struct np_report report;
};

/* Where a process of the allocation query runs, as it has reported. */
struct rank {
	char node[NP_REPORT_WORD], leaf[NP_REPORT_WORD];
};

struct np_cal_run {
	const struct np_cal_ops *ops;
	void *ctx;
	const struct np_cal_setup *setup;
	const struct np_cal_roles *roles;
	struct slot slot[NP_CAL_SLOTS];
	struct window *window; /* of the base in the current measurement */
	size_t n_windows;
	/* The allocation query, and what it has found. */
	bool queries;	 /* it is in progress */
	const char *all; /* all nodes; borrowed */
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
	struct np_cal_run *run = calloc(1, sizeof(*run));

	if (!run)
		return NULL;
	run->ops = ops;
	run->ctx = ctx;
	run->setup = setup;
	return run;
}

/* ---- reports from the steps ---- */

/* Keep where a process of the allocation query runs. */
static void keep_rank(struct np_cal_run *run, const struct np_report *report)
{
	if (!run->rank) {
		if (report->handshake.n_ranks > 1u << 18)
			return;
		run->rank =
			calloc(report->handshake.n_ranks, sizeof(*run->rank));
		if (!run->rank) {
			run->failed = -ENOMEM;
			return;
		}
		run->n_ranks = report->handshake.n_ranks;
	}
	if (report->rank >= run->n_ranks)
		return;
	strcpy(run->rank[report->rank].node, report->handshake.node);
	strcpy(run->rank[report->rank].leaf, report->handshake.leaf);
	/* Nodes may differ; those of one rank are the same in each call. */
	if (report->rank)
		return;
	strcpy(run->transport, report->handshake.transport);
	strcpy(run->version, report->handshake.version);
}

/* Keep a report of the base for the current measurement. */
static void keep_window(struct np_cal_run *run, const struct np_report *report)
{
	int rc = run->n_windows == MAX_WINDOWS ?
		       -E2BIG :
		       np_array_grow(&run->window, run->n_windows,
				     sizeof(*run->window));

	if (rc) {
		run->failed = rc;
		return;
	}
	run->window[run->n_windows].from_sec =
		run->slot[NP_CAL_BASE].zero_sec + report->window.at_sec;
	run->window[run->n_windows++].report = *report;
}

/* Handle a report: that a process has started, or a window of the base. */
static void run_on_report(int slot, const struct np_report *report, void *arg)
{
	struct np_cal_run *run = arg;
	struct slot *from = &run->slot[slot];

	switch (report->kind) {
	case NP_REPORT_HANDSHAKE:
		if (isnan(from->zero_sec))
			from->zero_sec = run->ops->now_sec(run->ctx);
		from->n_ranks = report->handshake.n_ranks;
		from->handshakes++;
		if (run->queries)
			keep_rank(run, report);
		break;
	case NP_REPORT_ROUND:
	case NP_REPORT_LATENCY:
		if (slot == NP_CAL_BASE && !isnan(from->zero_sec) &&
		    (report->kind == NP_REPORT_LATENCY) == !from->step.level)
			keep_window(run, report);
		break;
	default:
		break;
	}
}

/* Have all processes of a step started? */
static bool has_started(const struct slot *slot)
{
	return slot->handshakes && slot->handshakes >= slot->n_ranks;
}

/* ---- starting and stopping steps ---- */

static const char *step_name(const struct np_cal_step *step)
{
	return step->level ? step->level->name : "the probes";
}

/* Describe the failure to receive reports. Returns its -errno. */
static int explain_failure(const struct np_cal_run *run, struct np_err *err)
{
	const struct np_cal_step *base = &run->slot[NP_CAL_BASE].step;

	if (run->failed != -E2BIG)
		return np_errf(err, run->failed, "out of memory");
	return np_errf(err, run->failed,
		       "%s on %s: more than %d reports of one measurement, "
		       "expected fewer nodes or fewer --seconds",
		       step_name(base), base->nodes, MAX_WINDOWS);
}

/* Receive reports until a time, by the clock of the steps. */
static int wait_until(struct np_cal_run *run, double until_sec,
		      struct np_err *err)
{
	while (run->ops->now_sec(run->ctx) < until_sec) {
		const bool started[] = { has_started(&run->slot[0]),
					 has_started(&run->slot[1]) };
		int rc = run->ops->wait(run->ctx, until_sec, started,
					run_on_report, run, err);

		if (!rc && run->failed)
			rc = explain_failure(run, err);
		if (rc)
			return rc;
	}
	return 0;
}

static int wait_for(struct np_cal_run *run, double sec, struct np_err *err)
{
	return wait_until(run, run->ops->now_sec(run->ctx) + sec, err);
}

/* Wait until all processes of a step have reported their start. */
static int wait_for_start(struct np_cal_run *run, int slot, struct np_err *err)
{
	double late_sec = run->ops->now_sec(run->ctx) + START_TIMEOUT_SEC;
	const struct slot *starting = &run->slot[slot];
	int rc = 0;

	while (!rc && !has_started(starting) &&
	       run->ops->now_sec(run->ctx) < late_sec)
		rc = wait_for(run, 0.05, err);
	if (rc || has_started(starting))
		return rc;
	return np_errf(err, -ETIMEDOUT,
		       "%s on %s: %u of its processes started within %g s",
		       step_name(&starting->step), starting->step.nodes,
		       starting->handshakes, START_TIMEOUT_SEC);
}

/* Stop the step in a slot, if there is one. */
static void run_stop(struct np_cal_run *run, int slot)
{
	if (!run->slot[slot].running)
		return;
	run->ops->stop(run->ctx, slot, run_on_report, run);
	run->slot[slot] = (struct slot){ .running = false };
}

/* Replace the step in a slot and wait until it runs. */
static int run_start(struct np_cal_run *run, int slot,
		     const struct np_cal_step *step, struct np_err *err)
{
	int rc;

	run_stop(run, slot);
	run->slot[slot] = (struct slot){ .step = *step, .zero_sec = NAN };
	rc = run->ops->start(run->ctx, slot, step, err);
	if (rc)
		return rc;
	run->slot[slot].running = true;
	return wait_for_start(run, slot, err);
}

static bool same_step(const struct np_cal_step *a, const struct np_cal_step *b)
{
	return a->level == b->level && a->across == b->across &&
	       !strcmp(a->nodes, b->nodes);
}

/* Start the base of a measurement, unless it is running already. */
static int ensure_base(struct np_cal_run *run, const struct np_cal_step *step,
		       struct np_err *err)
{
	int rc;

	if (run->slot[NP_CAL_BASE].running &&
	    same_step(&run->slot[NP_CAL_BASE].step, step))
		return 0;
	rc = run_start(run, NP_CAL_BASE, step, err);
	return rc ? rc : wait_for(run, SETTLE_SEC, err);
}

/* Make a step of a level, or of the probes, on the nodes of a role. */
static struct np_cal_step step_of(const struct np_cal_run *run, size_t level,
				  const struct np_cal_hosts *hosts, bool across)
{
	return (struct np_cal_step){
		.level = level == NP_CAL_NONE ? NULL :
						&run->setup->level[level],
		.nodes = hosts->list,
		.n_nodes = hosts->n,
		.across = across,
	};
}

/* Make the step that is measured. */
static struct np_cal_step base_of(const struct np_cal_run *run,
				  const struct np_cal_task *task)
{
	bool across = task->scope == NP_SCOPE_UPLINK;

	if (task->kind == NP_CAL_IDLE)
		return (struct np_cal_step){ .nodes = run->all,
					     .n_nodes = run->n_all };
	return step_of(run, task->victim,
		       across ? &run->roles->victim_across :
				&run->roles->victim,
		       across);
}

/* ---- samples of a period ---- */

/*
 * Merge the windows of the base between two times, of one leaf or (NULL) all.
 */
static void gather(const struct np_cal_run *run, double from_sec, double to_sec,
		   const char *leaf, struct np_cal_sample *out)
{
	*out = (struct np_cal_sample){ .sec = { 0 } };
	for (size_t i = 0; i < run->n_windows; i++) {
		const struct window *window = &run->window[i];
		const struct np_report *report = &window->report;

		if (window->from_sec < from_sec - SLACK_SEC ||
		    window->from_sec + NP_CAL_WINDOW_SEC > to_sec + SLACK_SEC ||
		    !np_moments_valid(&report->window.sec))
			continue;
		if (leaf && (report->rank >= run->n_ranks ||
			     strcmp(run->rank[report->rank].leaf, leaf)))
			continue;
		for (size_t bin = 0; bin < report->window.n_bins; bin++)
			out->bins[report->window.bins[bin].bin] +=
				report->window.bins[bin].count;
		np_moments_merge(&out->sec, &report->window.sec);
	}
}

/*
 * Return how long rounds take to reach a steady state: as long as two rounds.
 */
static double settle_sec(const struct np_cal_run *run, double from_sec,
			 double to_sec)
{
	struct np_cal_sample sample;
	double sec = 0;

	if (run->slot[NP_CAL_BASE].step.level) {
		gather(run, from_sec, to_sec, NULL, &sample);
		sec = 2 * sample.sec.mean;
	}
	return fmin(fmax(sec, SETTLE_SEC), SETTLE_MAX_SEC);
}

/*
 * Measure for sec seconds, and longer if the victim is so slow that few of its
 * rounds are complete. *to_sec: when the measurement ended.
 */
static int measure(struct np_cal_run *run, double from_sec, double sec,
		   double *to_sec, struct np_err *err)
{
	uint64_t want = MIN_ROUNDS * (uint64_t)run->slot[NP_CAL_BASE].n_ranks;
	double until_sec = from_sec + sec,
	       last_sec = from_sec + MAX_LONGER * sec;

	for (;;) {
		struct np_cal_sample sample;
		int rc = wait_until(run, until_sec, err);

		if (rc)
			return rc;
		*to_sec = until_sec;
		gather(run, from_sec, until_sec, NULL, &sample);
		if (!run->slot[NP_CAL_BASE].step.level ||
		    sample.sec.n >= want || until_sec >= last_sec)
			return 0;
		until_sec = fmin(until_sec + sec / 2, last_sec);
	}
}

/* ---- one measurement ---- */

/* Start the aggressor, let the load settle, measure, and stop the aggressor. */
static int measure_aggressor(struct np_cal_run *run,
			     const struct np_cal_task *task, double settle,
			     double *from_sec, double *to_sec,
			     struct np_err *err)
{
	/* On the same nodes, on others of the leaf switch, or across the uplink. */
	const struct np_cal_step step =
		step_of(run, task->aggressor,
			np_cal_roles_aggressor(run->roles, task->scope),
			task->scope == NP_SCOPE_UPLINK);
	int rc = run_start(run, NP_CAL_AGGRESSOR, &step, err);

	if (!rc)
		rc = wait_for(run, settle, err);
	*from_sec = run->ops->now_sec(run->ctx);
	if (!rc)
		rc = measure(run, *from_sec, cal_loaded_sec(run->setup, task),
			     to_sec, err);
	run_stop(run, NP_CAL_AGGRESSOR);
	return rc;
}

/* Measure the probes without an aggressor: a result for each leaf switch. */
static int run_idle(struct np_cal_run *run, const struct np_cal_task *task,
		    struct np_cal_state *state, struct np_err *err)
{
	struct np_cal_result whole = { .key = "idle" };
	double from_sec = run->ops->now_sec(run->ctx), to_sec;
	int rc = measure(run, from_sec, cal_alone_sec(run->setup, task),
			 &to_sec, err);

	if (!rc)
		rc = wait_for(run, GRACE_SEC, err);
	for (size_t i = 0; !rc && i < run->n_nodes; i++) {
		struct np_cal_result one = { .key = "" };
		const char *leaf = run->node[i].leaf;

		snprintf(one.key, sizeof(one.key), "idle %s",
			 *leaf ? leaf : "-");
		if (state_find(state, one.key))
			continue;
		gather(run, from_sec, to_sec, leaf, &one.alone);
		rc = state_add(state, &one, err);
	}
	return rc ? rc : state_add(state, &whole, err);
}

/* Measure the base alone, then under the aggressor. */
static int run_under_load(struct np_cal_run *run,
			  const struct np_cal_task *task,
			  struct np_cal_state *state, struct np_err *err)
{
	double alone_from = run->ops->now_sec(run->ctx), alone_to;
	double from, to, settle;
	struct np_cal_result result;
	int rc = measure(run, alone_from, cal_alone_sec(run->setup, task),
			 &alone_to, err);

	if (rc)
		return rc;
	settle = settle_sec(run, alone_from, alone_to);
	rc = measure_aggressor(run, task, settle, &from, &to, err);
	/* Meanwhile, rounds that began under the aggressor are completed. */
	if (!rc)
		rc = wait_until(run,
				to + fmax(GRACE_SEC,
					  settle_sec(run, from, to) / 2),
				err);
	if (rc)
		return rc;
	np_cal_key(run->setup, task, result.key);
	gather(run, alone_from, alone_to, NULL, &result.alone);
	gather(run, from, to, NULL, &result.loaded);
	return state_add(state, &result, err);
}

/*
 * Make one measurement, and add its result to the state. The idle latencies
 * give a result for each leaf switch, and an empty one with the key "idle".
 * Returns 0, or with err -EINTR, -EPIPE, -ETIMEDOUT (a step does not start) or
 * another -errno. The state has only complete results in any case.
 */
static int run_task(struct np_cal_run *run, const struct np_cal_task *task,
		    struct np_cal_state *state, struct np_err *err)
{
	const struct np_cal_step base = base_of(run, task);
	int rc = ensure_base(run, &base, err);

	run->n_windows = 0;
	if (!rc)
		rc = task->kind == NP_CAL_IDLE ?
			     run_idle(run, task, state, err) :
			     run_under_load(run, task, state, err);
	if (rc)
		run_stop(run, NP_CAL_AGGRESSOR);
	return rc;
}

/* ---- the allocation query ---- */

/* List each node once, in the order of ranks. */
static int list_nodes(struct np_cal_run *run, struct np_err *err)
{
	run->node = calloc(run->n_ranks ? run->n_ranks : 1, sizeof(*run->node));
	if (!run->node)
		return np_errf(err, -ENOMEM, "out of memory");
	for (uint32_t i = 0; i < run->n_ranks; i++) {
		const struct rank *rank = &run->rank[i];
		size_t k = 0;

		while (k < run->n_nodes &&
		       strcmp(run->node[k].name, rank->node))
			k++;
		if (k == run->n_nodes)
			run->node[run->n_nodes++] = (struct np_cal_node){
				rank->node,
				rank->leaf,
			};
	}
	return 0;
}

int np_cal_run_query(struct np_cal_run *run, const char *nodes, size_t n_nodes,
		     struct np_cal_query *out, struct np_err *err)
{
	const struct np_cal_step step = { .nodes = nodes, .n_nodes = n_nodes };
	int rc;

	run->all = nodes;
	run->n_all = n_nodes;
	run->queries = true;
	rc = run_start(run, NP_CAL_BASE, &step, err);
	run->queries = false;
	if (!rc)
		rc = list_nodes(run, err);
	if (!rc)
		rc = wait_for(run, SETTLE_SEC, err);
	if (rc)
		return rc;
	*out = (struct np_cal_query){
		run->node,
		run->n_nodes,
		run->transport,
		run->version,
	};
	return 0;
}

static double run_now_sec(const struct np_cal_run *run)
{
	return run->ops->now_sec(run->ctx);
}

void np_cal_run_free(struct np_cal_run *run)
{
	if (!run)
		return;
	run_stop(run, NP_CAL_AGGRESSOR);
	run_stop(run, NP_CAL_BASE);
	free(run->window);
	free(run->rank);
	free(run->node);
	free(run);
}

/* ---- results ---- */

/* Relative increase of the mean under the aggressor; NaN: not measured. */
static double slowdown(const struct np_cal_result *result)
{
	if (!result || !result->alone.sec.n || !result->loaded.sec.n ||
	    !(result->alone.sec.mean > 0) || !(result->loaded.sec.mean > 0))
		return NAN;
	return result->loaded.sec.mean / result->alone.sec.mean - 1;
}

/* Find the result of a measurement; NULL: not measured. */
static const struct np_cal_result *
result_of(const struct np_calibrate *calibrate, const struct np_cal_task *task)
{
	char key[NP_CAL_KEY];

	np_cal_key(&calibrate->setup, task, key);
	return state_find(calibrate->state, key);
}

struct np_mean np_cal_matrix(const struct np_calibrate *calibrate,
			     enum np_scope scope, size_t victim,
			     size_t aggressor)
{
	struct np_cal_task task = { NP_CAL_PAIR, scope, victim, aggressor, 0 };
	struct np_moments moments = { 0 };

	for (; task.repeat < calibrate->setup.repeats; task.repeat++) {
		double increase = slowdown(result_of(calibrate, &task));

		if (!isnan(increase))
			np_moments_add(&moments, increase);
	}
	return np_mean_of(&moments);
}

/*
 * The loss of speed in one repeat, 1 - 1 / (1 + slowdown); NaN: not measured.
 */
static double loss(const struct np_calibrate *calibrate, enum np_scope scope,
		   unsigned repeat)
{
	const struct np_cal_task task = {
		NP_CAL_COUPLE,
		scope,
		np_cal_middle(&calibrate->setup),
		np_cal_strongest(&calibrate->setup),
		repeat,
	};

	return 1 - 1 / (1 + slowdown(result_of(calibrate, &task)));
}

struct np_mean np_cal_loss(const struct np_calibrate *calibrate,
			   enum np_scope scope)
{
	struct np_moments moments = { 0 };

	for (unsigned repeat = 0; repeat < NP_CAL_MAX_REPEATS; repeat++) {
		double one = loss(calibrate, scope, repeat);

		if (!isnan(one))
			np_moments_add(&moments, one);
	}
	return np_mean_of(&moments);
}

/*
 * Return by how many standard errors the loss is above NP_CAL_FELT; negative:
 * it is below.
 */
static double certainty(struct np_mean loss)
{
	return (loss.mean - NP_CAL_FELT) / (loss.sd / sqrt(loss.n));
}

/*
 * How often the sharing coefficients must be measured, by the results so far.
 */
static unsigned sharing_repeats(const struct np_calibrate *calibrate)
{
	unsigned least = calibrate->setup.repeats > NP_CAL_COUPLE_LEAST ?
				 calibrate->setup.repeats :
				 NP_CAL_COUPLE_LEAST;
	struct np_mean leaf = np_cal_loss(calibrate, NP_SCOPE_LEAF);

	if (leaf.n < least)
		return least;
	if (leaf.n < NP_CAL_COUPLE_MOST &&
	    fabs(certainty(leaf)) < NP_CAL_CERTAIN)
		return leaf.n + 1;
	return leaf.n;
}

struct np_mean np_cal_sharing(const struct np_calibrate *calibrate,
			      enum np_scope reference, enum np_scope scope)
{
	struct np_mean reference_loss = np_cal_loss(calibrate, reference);
	struct np_moments moments = { 0 };

	if (!reference_loss.n || reference_loss.mean < NP_CAL_FELT)
		return (struct np_mean){ 0 };
	for (unsigned repeat = 0; repeat < NP_CAL_MAX_REPEATS; repeat++) {
		double coefficient = loss(calibrate, scope, repeat) /
				     loss(calibrate, reference, repeat);

		if (isfinite(coefficient))
			np_moments_add(&moments, fmin(fmax(coefficient, 0),
						      NP_SHARING_COEF_MAX));
	}
	return np_mean_of(&moments);
}

/*
 * Choose the scope at which levels are measured: on other nodes of the leaf
 * switch, if there are such nodes and the effect there is certain, and
 * otherwise on the same nodes. An effect that is uncertain even after all
 * repeats is too small: the matrix would show other activity on the machine,
 * not the levels.
 */
static enum np_scope cal_best_scope(const struct np_calibrate *calibrate)
{
	struct np_mean leaf = np_cal_loss(calibrate, NP_SCOPE_LEAF);

	if (!calibrate->setup.has[NP_SCOPE_LEAF])
		return NP_SCOPE_NODE;
	/*
	 * Until the effect is measured, assume the scope that is more likely.
	 */
	return leaf.n && !(certainty(leaf) >= NP_CAL_CERTAIN) ? NP_SCOPE_NODE :
								NP_SCOPE_LEAF;
}

/* ---- results as a calibration ---- */

static int copy_text(const char *text, char **out)
{
	*out = strdup(text ? text : "");
	return *out ? 0 : -ENOMEM;
}

/* Allocate a zeroed array, one element longer so that it is never empty. */
static void *new_list(size_t n, size_t size)
{
	return calloc(n + 1, size);
}

/* Turn a sample into latencies with their histogram. */
static int set_latency(const struct np_cal_sample *sample,
		       struct np_latency *out)
{
	double *count = new_list(NP_HIST_BINS, sizeof(*count));
	bool any = false;

	if (!count)
		return -ENOMEM;
	for (size_t i = 0; i < NP_HIST_BINS; i++) {
		count[i] = (double)sample->bins[i];
		any |= sample->bins[i] > 0;
	}
	*out = (struct np_latency){ sample->sec, any ? count : NULL };
	if (!any)
		free(count);
	return 0;
}

/* Set what was measured where, and by which versions. */
static int set_conditions(const struct np_calibration_conditions *conditions,
			  struct np_calibration *out)
{
	const struct np_cal_hosts *level = np_cal_roles_aggressor(
		conditions->c->roles, conditions->c->scope);

	out->date = (double)(uint64_t)conditions->date;
	out->message_bytes = conditions->message_bytes;
	out->period_sec = conditions->period_sec;
	out->scope = conditions->c->scope;
	out->seconds = conditions->c->setup.seconds;
	out->repeats = conditions->c->setup.repeats;
	if (copy_text(conditions->cluster, &out->cluster) ||
	    copy_text(NP_VERSION, &out->netprof_version) ||
	    copy_text(conditions->ucx_version, &out->ucx_version) ||
	    copy_text(conditions->transport, &out->transport) ||
	    (conditions->rail && copy_text(conditions->rail, &out->rail)) ||
	    copy_text(conditions->c->roles->leaf, &out->leaf_name) ||
	    copy_text(conditions->c->roles->victim.list, &out->victim_nodes) ||
	    copy_text(level->list, &out->level_nodes))
		return -ENOMEM;
	return 0;
}

/* Set the sharing coefficients and losses of speed at all scopes. */
static void set_sharing(const struct np_calibrate *calibrate,
			struct np_calibration *out)
{
	struct np_mean *sharing = out->measured.set->fabric.sharing;

	for (int i = 0; i < NP_N_SCOPES; i++) {
		sharing[i] = np_cal_sharing(calibrate, calibrate->scope,
					    (enum np_scope)i);
		out->loss[i] = np_cal_loss(calibrate, (enum np_scope)i);
	}
	/* It is 1 at the calibrated scope by definition. */
	sharing[calibrate->scope] = (struct np_mean){
		sharing[calibrate->scope].n ? sharing[calibrate->scope].n : 1,
		1, 0
	};
}

/* Find the result of the probes under a level; NULL: not measured. */
static const struct np_cal_result *
probe_result(const struct np_calibrate *calibrate, size_t level)
{
	const struct np_cal_task task = { NP_CAL_PROBE, calibrate->scope,
					  NP_CAL_NONE, level, 0 };

	return result_of(calibrate, &task);
}

/*
 * Set the selected levels, the matrix of their slowdowns, and the latencies of
 * probes under them.
 */
static int set_levels(const struct np_calibrate *calibrate,
		      struct np_calibration *out)
{
	struct np_measured_set *set = out->measured.set;
	size_t n = calibrate->n_selected;
	struct np_mean *pairs = new_list(n * n, sizeof(*pairs));

	set->fabric.pairs = pairs;
	set->level = new_list(n, sizeof(*set->level));
	out->level = new_list(n, sizeof(*out->level));
	if (!pairs || !set->level || !out->level)
		return -ENOMEM;
	set->fabric.n_levels = out->n_levels = n;
	for (size_t victim = 0; victim < n; victim++) {
		const struct np_cal_result *result =
			probe_result(calibrate, calibrate->selected[victim]);

		out->level[victim] =
			calibrate->setup.level[calibrate->selected[victim]];
		set->level[victim].name = out->level[victim].name;
		for (size_t aggressor = 0; aggressor < n; aggressor++)
			pairs[victim * n + aggressor] =
				np_cal_matrix(calibrate, calibrate->scope,
					      calibrate->selected[victim],
					      calibrate->selected[aggressor]);
		if (result &&
		    set_latency(&result->loaded, &set->level[victim].latency))
			return -ENOMEM;
	}
	return 0;
}

/* Return the mean duration of a level's rounds without an aggressor. */
static struct np_mean alone_round_sec(const struct np_calibrate *calibrate,
				      size_t level)
{
	struct np_moments moments = { 0 };

	for (unsigned repeat = 0; repeat < calibrate->setup.repeats; repeat++)
		for (size_t k = 0; k < calibrate->n_selected; k++) {
			const struct np_cal_task task = {
				NP_CAL_PAIR, calibrate->scope, level,
				calibrate->selected[k], repeat
			};
			const struct np_cal_result *result =
				result_of(calibrate, &task);

			if (result && result->alone.sec.n)
				np_moments_add(&moments,
					       result->alone.sec.mean);
		}
	return np_mean_of(&moments);
}

static int set_alone_rounds(const struct np_calibrate *calibrate,
			    struct np_calibration *out)
{
	out->alone_round_sec =
		new_list(calibrate->n_selected, sizeof(struct np_mean));
	for (size_t i = 0; out->alone_round_sec && i < calibrate->n_selected;
	     i++)
		out->alone_round_sec[i] =
			alone_round_sec(calibrate, calibrate->selected[i]);
	return out->alone_round_sec ? 0 : -ENOMEM;
}

/*
 * Set the idle latencies, from the moments before each level rather than from
 * before all: they are compared with the latencies under the levels.
 */
static int set_idle(const struct np_calibrate *calibrate,
		    struct np_calibration *out)
{
	struct np_cal_sample all = { .sec = { 0 } };

	for (size_t i = 0; i < calibrate->setup.n_levels; i++) {
		const struct np_cal_result *result = probe_result(calibrate, i);

		if (result)
			sample_merge(&all, &result->alone);
	}
	return set_latency(&all, &out->measured.set->fabric.idle);
}

/* Set the idle latencies of each leaf switch. */
static int set_leaves(const struct np_calibrate *calibrate,
		      struct np_calibration *out)
{
	int rc = 0;

	out->leaf = new_list(calibrate->state->n, sizeof(*out->leaf));
	if (!out->leaf)
		return -ENOMEM;
	for (size_t i = 0; !rc && i < calibrate->state->n; i++) {
		const struct np_cal_result *result =
			&calibrate->state->result[i];
		struct np_calibration_leaf *leaf = &out->leaf[out->n_leaves];

		if (strncmp(result->key, "idle ", 5))
			continue;
		out->n_leaves++;
		rc = copy_text(strcmp(result->key, "idle -") ? result->key + 5 :
							       "",
			       (char **)&leaf->name);
		if (!rc)
			rc = set_latency(&result->alone, &leaf->idle);
	}
	return rc;
}

/* Set what was measured of the levels that were not selected. */
static int set_other_levels(const struct np_calibrate *calibrate,
			    struct np_calibration *out)
{
	int rc = 0;

	out->other = new_list(calibrate->setup.n_levels, sizeof(*out->other));
	if (!out->other)
		return -ENOMEM;
	for (size_t i = 0, k = 0; !rc && i < calibrate->setup.n_levels; i++) {
		const struct np_cal_result *result = probe_result(calibrate, i);
		struct np_calibration_other *other = &out->other[out->n_others];

		if (k < calibrate->n_selected && calibrate->selected[k] == i) {
			k++; /* selected[] is in ascending order */
			continue;
		}
		out->n_others++;
		other->slows_by =
			np_cal_matrix(calibrate, calibrate->scope,
				      np_cal_middle(&calibrate->setup), i);
		rc = copy_text(calibrate->setup.level[i].name,
			       (char **)&other->name);
		if (!rc && result)
			rc = set_latency(&result->loaded, &other->probes);
	}
	return rc;
}

int np_calibrate_result(const struct np_calibration_conditions *conditions,
			char **out, struct np_err *err)
{
	struct np_calibration calibration;
	int rc;

	if (conditions->c->n_selected < 2)
		return np_errf(err, -ENODATA,
			       "calibration: %zu levels were measured, "
			       "expected two or more",
			       conditions->c->n_selected);
	rc = np_calibration_init(&calibration, "");
	if (rc)
		return np_errf(err, rc, "out of memory");
	set_sharing(conditions->c, &calibration);
	if (set_conditions(conditions, &calibration) ||
	    set_levels(conditions->c, &calibration) ||
	    set_alone_rounds(conditions->c, &calibration) ||
	    set_idle(conditions->c, &calibration) ||
	    set_leaves(conditions->c, &calibration) ||
	    set_other_levels(conditions->c, &calibration))
		rc = np_errf(err, -ENOMEM, "out of memory");
	if (!rc)
		rc = np_calibration_write(&calibration, out, err);
	np_calibration_free(&calibration);
	return rc;
}

/* ---- the stages ---- */

/* Planned seconds that must be measured before a rate is computed from them. */
#define RATE_SEC 5.0

/* The progress of one call of np_calibrate_measure(). */
struct progress {
	struct np_calibrate *calibrate;
	double begun_sec;   /* when the call began */
	double planned_sec; /* planned length of what was measured so far */
};

/* Select the levels of the matrix, using the results so far. */
static void select_levels(struct np_calibrate *calibrate)
{
	const struct np_cal_setup *setup = &calibrate->setup;
	struct np_calibrate once = *calibrate;
	double impact[NP_CAL_MAX_LEVELS];

	once.setup.repeats = 1; /* so that later repeats select the same */
	for (size_t i = 0; i < setup->n_levels; i++) {
		struct np_mean mean = np_cal_matrix(&once, calibrate->scope,
						    np_cal_middle(setup), i);

		impact[i] = mean.n ? mean.mean : NAN;
	}
	calibrate->n_selected = np_cal_select_levels(
		impact, setup->n_levels, setup->keep, calibrate->selected);
}

/* Decide the scope or the levels that this stage needs to know. */
static void decide_for_stage(struct np_calibrate *calibrate, int stage)
{
	if (stage == NP_CAL_SECOND && !calibrate->scope_given)
		calibrate->scope = cal_best_scope(calibrate);
	if (stage == NP_CAL_THIRD)
		select_levels(calibrate);
}

/* How often the measurements of a stage are made, by the results so far. */
static unsigned repeats_of(const struct np_calibrate *calibrate, int stage)
{
	return stage == NP_CAL_FIRST ? sharing_repeats(calibrate) :
				       calibrate->setup.repeats;
}

/* Add the measurements of a stage to the estimate. */
static void count_stage(const struct np_calibrate *calibrate, int stage,
			struct np_cal_estimate *estimate)
{
	const struct np_cal_setup *setup = &calibrate->setup;
	unsigned repeats = repeats_of(calibrate, stage);
	struct np_cal_task task, planned, missing;
	const struct np_cal_task *previous = NULL, *left = NULL;

	for (size_t i = 0; np_cal_task_at(calibrate, (enum np_cal_stage)stage,
					  repeats, i, &task);
	     i++) {
		estimate->n++;
		estimate->sec += np_cal_cost_sec(setup, &task, previous);
		planned = task;
		previous = &planned;
		if (result_of(calibrate, &task)) {
			estimate->n_done++;
			continue;
		}
		estimate->left_sec += np_cal_cost_sec(setup, &task, left);
		missing = task;
		left = &missing;
	}
}

struct np_cal_estimate
np_calibrate_estimate(const struct np_calibrate *calibrate)
{
	struct np_cal_estimate estimate = { 0 };
	struct np_calibrate as_known = *calibrate;

	for (int stage = 0; stage < NP_CAL_STAGES; stage++) {
		decide_for_stage(&as_known, stage);
		count_stage(&as_known, stage, &estimate);
	}
	return estimate;
}

/* Report the progress, and the remaining time at the rate so far. */
static void report_progress(struct progress *progress,
			    const struct np_cal_task *next)
{
	struct np_calibrate *calibrate = progress->calibrate;
	struct np_cal_estimate estimate = np_calibrate_estimate(calibrate);
	char key[NP_CAL_KEY];

	if (progress->planned_sec > RATE_SEC)
		estimate.left_sec *=
			(run_now_sec(calibrate->run) - progress->begun_sec) /
			progress->planned_sec;
	if (next)
		np_cal_key(&calibrate->setup, next, key);
	calibrate->progress(calibrate->arg, &estimate, next ? key : NULL);
}

/*
 * Make the missing measurements of a stage, and save the state after each. The
 * first stage goes on until its result is certain.
 */
static int run_stage(struct progress *progress, int stage, struct np_err *err)
{
	struct np_calibrate *calibrate = progress->calibrate;
	const struct np_cal_task *previous = NULL;
	struct np_cal_task task, measured;
	int rc = 0;

	decide_for_stage(calibrate, stage);
	for (size_t i = 0;
	     !rc && np_cal_task_at(calibrate, (enum np_cal_stage)stage,
				   repeats_of(calibrate, stage), i, &task);
	     i++) {
		if (result_of(calibrate, &task))
			continue;
		report_progress(progress, &task);
		rc = run_task(calibrate->run, &task, calibrate->state, err);
		if (!rc)
			rc = calibrate->save(calibrate->arg, calibrate->state,
					     err);
		progress->planned_sec +=
			np_cal_cost_sec(&calibrate->setup, &task, previous);
		measured = task;
		previous = &measured;
	}
	return rc;
}

int np_calibrate_measure(struct np_calibrate *calibrate, struct np_err *err)
{
	struct progress progress = { calibrate, run_now_sec(calibrate->run),
				     0 };
	int rc = 0;

	calibrate->run->roles = calibrate->roles;
	for (int stage = 0; !rc && stage < NP_CAL_STAGES; stage++)
		rc = run_stage(&progress, stage, err);
	if (!rc)
		report_progress(&progress, NULL);
	return rc;
}
