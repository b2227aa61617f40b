/* The topology, and the snapshot of nodes and jobs. */
#include "np_snapshot.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "np_array.h"
#include "np_bits.h"

/* ---- Topology ---- */

static int check_leaves(size_t n_nodes, const struct np_leaf *leaf, size_t n,
			struct np_err *err)
{
	if (n > NP_LEAVES_MAX)
		return np_errf(err, -E2BIG, "%zu leaf switches; at most %d", n,
			       NP_LEAVES_MAX);
	if (!n_nodes)
		return np_errf(err, -EINVAL, "no nodes");
	if (n_nodes > NP_LEAVES_MAX_NODES)
		return np_errf(err, -E2BIG, "%zu nodes; at most %d", n_nodes,
			       NP_LEAVES_MAX_NODES);
	for (size_t i = 0; i < n; i++) {
		if (!leaf[i].name || !leaf[i].name[0])
			return np_errf(err, -EINVAL, "leaf %zu has no name", i);
		if (!leaf[i].n_nodes || leaf[i].n_nodes > NP_LEAF_MAX_NODES)
			return np_errf(err, -EINVAL,
				       "leaf %s: %zu nodes; expected 1 to %d",
				       leaf[i].name, leaf[i].n_nodes,
				       NP_LEAF_MAX_NODES);
	}
	return 0;
}

/* The switch of each node on each rail, from which leaves are made. */
struct wiring {
	uint32_t *sw; /* at [node * rails + rail]; NP_NO_LEAF: none */
	size_t rails;
};

static const uint32_t *switches_of(const struct wiring *w, uint32_t node)
{
	return w->sw + node * w->rails;
}

static bool same_switches(const struct wiring *w, uint32_t a, uint32_t b)
{
	return !memcmp(switches_of(w, a), switches_of(w, b),
		       w->rails * sizeof(*w->sw));
}

static bool has_switch(const struct wiring *w, uint32_t node)
{
	const uint32_t *sw = switches_of(w, node);

	for (size_t k = 0; k < w->rails; k++)
		if (sw[k] != NP_NO_LEAF)
			return true;
	return false;
}

/* Number the rails, and set that of each switch. 0 or -errno. */
static int number_rails(struct np_leaves *l, const struct np_leaf *leaf,
			struct np_err *err)
{
	l->rail = calloc(l->n_switches + 1, sizeof(*l->rail));
	if (!l->rail)
		return np_errf(err, -ENOMEM, "leaves: out of memory");
	l->n_rails = 1;
	for (size_t i = 0; i < l->n_switches; i++) {
		size_t k = leaf[i].rail ? 1 : 0;

		while (k && k < l->n_rails &&
		       strcmp(l->rail_name[k], leaf[i].rail))
			k++;
		if (k == NP_LEAVES_MAX_RAILS)
			return np_errf(err, -E2BIG, "leaf %s: more than %d "
				       "rails", leaf[i].name, (int)k - 1);
		l->rail[i] = (uint8_t)k;
		if (k < l->n_rails)
			continue;
		l->rail_name[l->n_rails++] = strdup(leaf[i].rail);
		if (!l->rail_name[k])
			return np_errf(err, -ENOMEM, "leaves: out of memory");
	}
	return 0;
}

/* Set the switches of each node. 0 or -EINVAL. */
static int fill_wiring(const struct np_leaves *l, struct wiring *w,
		       const struct np_leaf *leaf, struct np_err *err)
{
	memset(w->sw, 0xff, l->n_nodes * w->rails * sizeof(*w->sw));
	for (size_t i = 0; i < l->n_switches; i++)
		for (size_t k = 0; k < leaf[i].n_nodes; k++) {
			uint32_t node = leaf[i].node[k], *sw;

			if (node >= l->n_nodes)
				return np_errf(err, -EINVAL,
					       "leaf %s: node %u of %zu",
					       leaf[i].name, node, l->n_nodes);
			sw = w->sw + node * w->rails + l->rail[i];
			if (*sw != NP_NO_LEAF)
				return np_errf(err, -EINVAL,
					       "node %u is on leaf %s and %s",
					       node, leaf[*sw].name,
					       leaf[i].name);
			*sw = (uint32_t)i;
		}
	return 0;
}

static int by_switches(const void *a, const void *b, void *wiring)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const struct wiring *w = wiring;
	const uint32_t *sw = switches_of(w, x), *other = switches_of(w, y);

	for (size_t k = 0; k < w->rails; k++)
		if (sw[k] != other[k])
			return sw[k] < other[k] ? -1 : 1;
	return x < y ? -1 : x > y;
}

/*
 * Order the nodes by their switches, so that those of a leaf are adjacent, and
 * count the leaves. 0, -E2BIG (too many leaves) or -ENOMEM.
 */
static int order_nodes(struct np_leaves *l, struct wiring *w)
{
	l->node = malloc((l->n_nodes + 1) * sizeof(*l->node));
	if (!l->node)
		return -ENOMEM;
	for (uint32_t i = 0; i < l->n_nodes; i++)
		l->node[i] = i;
	qsort_r(l->node, l->n_nodes, sizeof(*l->node), by_switches, w);
	for (size_t i = 0; i < l->n_nodes && has_switch(w, l->node[i]); i++)
		l->n += !i || !same_switches(w, l->node[i], l->node[i - 1]);
	return l->n <= NP_LEAVES_MAX ? 0 : -E2BIG;
}

static bool alloc_leaves(struct np_leaves *l, size_t rails)
{
	l->words = np_bits_words(l->n);
	l->first = calloc(l->n + 1, sizeof(*l->first));
	l->place = calloc(l->n_nodes + 1, sizeof(*l->place));
	l->leaf = calloc(l->n_nodes + 1, sizeof(*l->leaf));
	l->name = calloc(l->n + 1, sizeof(*l->name));
	l->switch_name = calloc(l->n_switches + 1, sizeof(*l->switch_name));
	l->first_switch = calloc(l->n + 1, sizeof(*l->first_switch));
	l->switches = calloc(l->n * rails + 1, sizeof(*l->switches));
	l->first_leaf = calloc(l->n_switches + 2, sizeof(*l->first_leaf));
	l->leaves_below = calloc(l->n * rails + 1, sizeof(*l->leaves_below));
	return l->first && l->place && l->leaf && l->name && l->switch_name &&
	       l->first_switch && l->switches && l->first_leaf &&
	       l->leaves_below;
}

/* Set the positions of nodes and leaves, and the switches of each leaf. */
static void fill_leaves(struct np_leaves *l, const struct wiring *w)
{
	uint32_t leaf = 0, at = 0;

	l->in_order = true;
	for (uint32_t i = 0; i < l->n_nodes; i++) {
		uint32_t node = l->node[i];
		const uint32_t *sw = switches_of(w, node);

		l->place[node] = i;
		l->in_order &= node == i;
		l->leaf[node] = NP_NO_LEAF;
		if (!has_switch(w, node))
			continue;
		if (!i || !same_switches(w, node, l->node[i - 1])) {
			l->first[leaf] = i;
			l->first_switch[leaf++] = at;
			for (size_t k = 0; k < w->rails; k++)
				if (sw[k] != NP_NO_LEAF)
					l->switches[at++] = sw[k];
		}
		l->leaf[node] = leaf - 1;
		l->first[leaf] = i + 1;
		if (i + 1 - l->first[leaf - 1] > l->largest)
			l->largest = i + 1 - l->first[leaf - 1];
	}
	l->first_switch[l->n] = at;
}

/*
 * Set the leaves of each switch: count them, sum up, and fill them in. At first
 * to[i], which is first_leaf[i + 1], is where switch i begins. Filling advances
 * it to where switch i + 1 begins, as it should be.
 */
static void fill_switches(struct np_leaves *l)
{
	uint32_t *to = l->first_leaf + 1;

	for (uint32_t i = 0; i < l->first_switch[l->n]; i++)
		to[l->switches[i] + 1]++;
	for (size_t i = 0; i < l->n_switches; i++)
		to[i + 1] += to[i];
	for (uint32_t leaf = 0; leaf < l->n; leaf++)
		for (uint32_t i = l->first_switch[leaf];
		     i < l->first_switch[leaf + 1]; i++)
			l->leaves_below[to[l->switches[i]]++] = leaf;
}

/* Join the names of a leaf's switches to its own. false: out of memory. */
static bool name_leaf(struct np_leaves *l, size_t leaf)
{
	const uint32_t *at = l->switches + l->first_switch[leaf];
	const uint32_t *end = l->switches + l->first_switch[leaf + 1];
	size_t size;
	FILE *f = open_memstream(&l->name[leaf], &size);

	for (; f && at < end; at++)
		fprintf(f, "%s%s", l->switch_name[*at],
			at + 1 < end ? "+" : "");
	return f && !fclose(f);
}

static bool name_all(struct np_leaves *l, const struct np_leaf *leaf)
{
	for (size_t i = 0; i < l->n_switches; i++) {
		l->switch_name[i] = strdup(leaf[i].name);
		if (!l->switch_name[i])
			return false;
	}
	for (size_t i = 0; i < l->n; i++)
		if (!name_leaf(l, i))
			return false;
	return true;
}

/* Returns 0 or -errno. */
static int make_leaves(struct np_leaves *l, struct wiring *w,
		       const struct np_leaf *leaf, struct np_err *err)
{
	int rc = fill_wiring(l, w, leaf, err);

	if (rc)
		return rc;
	rc = order_nodes(l, w);
	if (rc == -E2BIG)
		return np_errf(err, rc, "%zu sets of nodes with the same leaf "
			       "switches on all rails; at most %d", l->n,
			       NP_LEAVES_MAX);
	if (rc || !alloc_leaves(l, w->rails))
		return np_errf(err, -ENOMEM, "leaves: out of memory");
	fill_leaves(l, w);
	fill_switches(l);
	l->one_rail = l->first_switch[l->n] == l->n && l->n == l->n_switches;
	return name_all(l, leaf) ? 0 :
	       np_errf(err, -ENOMEM, "leaves: out of memory");
}

int np_leaves_new(size_t n_nodes, const struct np_leaf *leaf, size_t n,
		  struct np_leaves **out, struct np_err *err)
{
	struct wiring w = { NULL };
	struct np_leaves *l;
	int rc = check_leaves(n_nodes, leaf, n, err);

	if (rc)
		return rc;
	l = calloc(1, sizeof(*l));
	if (!l)
		return np_errf(err, -ENOMEM, "leaves: out of memory");
	*l = (struct np_leaves){
		.refs = 1, .n_switches = n, .n_nodes = n_nodes,
		.node_words = np_bits_words(n_nodes),
	};
	rc = number_rails(l, leaf, err);
	w.rails = l->n_rails;
	w.sw = rc ? NULL : malloc(n_nodes * w.rails * sizeof(*w.sw));
	if (!rc)
		rc = w.sw ? make_leaves(l, &w, leaf, err) :
			    np_errf(err, -ENOMEM, "leaves: out of memory");
	free(w.sw);
	if (rc)
		np_leaves_unref(l);
	else
		*out = l;
	return rc;
}

static struct np_leaves *leaves_ref(struct np_leaves *l)
{
	__atomic_add_fetch(&l->refs, 1, __ATOMIC_RELAXED);
	return l;
}

void np_leaves_unref(struct np_leaves *l)
{
	if (!l || __atomic_sub_fetch(&l->refs, 1, __ATOMIC_ACQ_REL))
		return;
	for (size_t i = 0; l->name && i < l->n; i++)
		free(l->name[i]);
	for (size_t i = 0; l->switch_name && i < l->n_switches; i++)
		free(l->switch_name[i]);
	free(l->name);
	free(l->switch_name);
	for (size_t i = 1; i < l->n_rails; i++)
		free(l->rail_name[i]);
	free(l->rail);
	free(l->first_switch);
	free(l->switches);
	free(l->first_leaf);
	free(l->leaves_below);
	free(l->leaf);
	free(l->place);
	free(l->node);
	free(l->first);
	free(l);
}

void np_leaves_excluded(const struct np_leaves *l, const uint64_t *allowed,
			uint64_t *nodes)
{
	memset(nodes, 0, l->node_words * sizeof(*nodes));
	for (size_t i = 0; i < l->n; i++)
		for (uint32_t p = l->first[i];
		     !np_bits_test(allowed, i) && p < l->first[i + 1]; p++)
			np_bits_set(nodes, l->node[p]);
}

void np_leaves_allowed(const struct np_leaves *l, const uint64_t *nodes,
		       uint64_t *allowed)
{
	memset(allowed, 0, l->words * sizeof(*allowed));
	for (size_t i = 0; i < l->n; i++) {
		uint32_t p = l->first[i];

		while (p < l->first[i + 1] && !np_bits_test(nodes, l->node[p]))
			p++;
		if (p == l->first[i + 1])
			np_bits_set(allowed, i);
	}
}

size_t np_leaves_switches(const struct np_leaves *l, const uint32_t *leaf,
			  size_t n, uint32_t *sw)
{
	size_t got = 0;

	/* Insertion sort: the switches mostly come in ascending order, as
	   leaves with the same switch on the first rail are adjacent. */
	for (size_t i = 0; i < n; i++)
		for (uint32_t k = l->first_switch[leaf[i]];
		     k < l->first_switch[leaf[i] + 1]; k++) {
			size_t at = got;

			while (at && sw[at - 1] > l->switches[k])
				at--;
			if (at && sw[at - 1] == l->switches[k])
				continue;
			memmove(sw + at + 1, sw + at,
				(got++ - at) * sizeof(*sw));
			sw[at] = l->switches[k];
		}
	return got;
}

/* ---- The snapshot ---- */

int np_snapshot_new(struct np_leaves *leaves, int64_t now_sec,
		    int64_t last_sec, struct np_snapshot **out,
		    struct np_err *err)
{
	size_t words = leaves->node_words;
	struct np_snapshot *s;

	if (now_sec < 0 || last_sec < 0 || last_sec > now_sec)
		return np_errf(err, -EINVAL, "snapshot at %lld s, last decision"
			       " at %lld s; expected 0 <= last <= now",
			       (long long)now_sec, (long long)last_sec);
	s = calloc(1, sizeof(*s));
	if (!s)
		return np_errf(err, -ENOMEM, "snapshot: out of memory");
	s->refs = 1;
	s->leaves = leaves_ref(leaves);
	s->now_sec = now_sec;
	s->last_sec = last_sec;
	s->usable = calloc(4 * words + 1, sizeof(uint64_t));
	if (!s->usable) {
		np_snapshot_unref(s);
		return np_errf(err, -ENOMEM, "snapshot: out of memory");
	}
	s->idle = s->usable + words;
	s->idle_or_mixed = s->idle + words;
	s->scratch = s->idle_or_mixed + words;
	*out = s;
	return 0;
}

struct np_snapshot *np_snapshot_ref(struct np_snapshot *s)
{
	__atomic_add_fetch(&s->refs, 1, __ATOMIC_RELAXED);
	return s;
}

void np_snapshot_unref(struct np_snapshot *s)
{
	if (!s || __atomic_sub_fetch(&s->refs, 1, __ATOMIC_ACQ_REL))
		return;
	np_leaves_unref(s->leaves);
	free(s->usable);
	np_index_free(&s->set);
	free(s->job);
	free(s->job_leaves);
	free(s->job_prior);
	free(s);
}

int np_snapshot_node(struct np_snapshot *s, size_t node,
		     enum np_node_state state, struct np_err *err)
{
	size_t pos;

	if (s->sealed || node >= s->leaves->n_nodes ||
	    (unsigned)state > NP_NODE_IDLE)
		return np_errf(err, -EINVAL, "node %zu in state %d: no such "
			       "node or state, or a sealed snapshot", node,
			       (int)state);
	pos = s->leaves->place[node];
	np_bits_clear(s->usable, pos);
	np_bits_clear(s->idle, pos);
	np_bits_clear(s->idle_or_mixed, pos);
	if (state != NP_NODE_UNAVAILABLE)
		np_bits_set(s->usable, pos);
	if (state == NP_NODE_IDLE)
		np_bits_set(s->idle, pos);
	if (state >= NP_NODE_MIXED)
		np_bits_set(s->idle_or_mixed, pos);
	return 0;
}

/*
 * The bitmap of a set by position: nodes itself if positions are indices, or
 * else s->scratch.
 */
static const uint64_t *by_position(struct np_snapshot *s, const uint64_t *nodes)
{
	size_t words = s->leaves->node_words;

	if (s->leaves->in_order)
		return nodes;
	memset(s->scratch, 0, words * sizeof(*s->scratch));
	NP_BITS_EACH(i, nodes, words)
		np_bits_set(s->scratch, s->leaves->place[i]);
	return s->scratch;
}

int np_snapshot_nodes(struct np_snapshot *s, const uint64_t *nodes,
		      uint32_t *handle, struct np_err *err)
{
	size_t n = s->leaves->n_nodes, words = s->leaves->node_words;
	uint32_t got;

	if (s->sealed ||
	    (n % NP_BITS_WORD && nodes[words - 1] >> n % NP_BITS_WORD))
		return np_errf(err, -EINVAL, "set of nodes: beyond the last of"
			       " %zu nodes, or a sealed snapshot", n);
	got = np_index_add(&s->set, by_position(s, nodes),
			     words * sizeof(*nodes));
	if (got == NP_NO_INDEX)
		return np_errf(err, -ENOMEM, "snapshot: out of memory");
	*handle = got;
	return 0;
}

static int check_pending(const struct np_snapshot *s, const struct np_job *j,
			 struct np_err *err)
{
	if (!j->tasks || !j->nodes_min || j->nodes_min > NP_JOB_MAX_NODES)
		return np_errf(err, -EINVAL, "job %u: %u tasks of %u nodes; "
			       "expected at least 1", j->id, j->tasks,
			       j->nodes_min);
	if (j->candidates >= s->set.n)
		return np_errf(err, -EINVAL, "job %u: no set of nodes %u",
			       j->id, j->candidates);
	if ((unsigned)j->prior > NP_PRIOR_HELD ||
	    (j->prior == NP_PRIOR_RESTRICTED && !j->prior_leaves))
		return np_errf(err, -EINVAL, "job %u: prior decision %d", j->id,
			       (int)j->prior);
	if (!(j->held_sec >= 0 && isfinite(j->held_sec)))
		return np_errf(err, -EINVAL, "job %u: held for %g s", j->id,
			       j->held_sec);
	return 0;
}

static int check_job(const struct np_snapshot *s, const struct np_job *j,
		     struct np_err *err)
{
	if (s->sealed)
		return np_errf(err, -EINVAL, "job %u: sealed snapshot", j->id);
	if (s->n_jobs >= NP_SNAPSHOT_MAX_JOBS)
		return np_errf(err, -E2BIG, "job %u: more than %d jobs", j->id,
			       NP_SNAPSHOT_MAX_JOBS);
	if ((unsigned)j->state > NP_JOB_WAITING ||
	    (unsigned)j->mode > NP_MODE_ENFORCE ||
	    j->profile < NP_PROFILE_UNKNOWN)
		return np_errf(err, -EINVAL,
			       "job %u: state %d, mode %d, profile %d", j->id,
			       (int)j->state, (int)j->mode, j->profile);
	if (j->state != NP_JOB_RUNNING)
		return check_pending(s, j, err);
	for (size_t i = 0; i < j->n_nodes; i++)
		if (j->node[i] >= s->leaves->n_nodes)
			return np_errf(err, -EINVAL, "job %u: node %u of %zu",
				       j->id, j->node[i],
				       s->leaves->n_nodes);
	return 0;
}

/* Append the leaves that a running job is on to s->job_leaves. */
static int add_leaves(struct np_snapshot *s, const struct np_job *j,
		      struct np_job *to)
{
	size_t first = s->n_job_leaves, n = first;

	for (size_t i = 0; i < j->n_nodes; i++) {
		uint32_t leaf = s->leaves->leaf[j->node[i]];

		if (leaf == NP_NO_LEAF ||
		    (n > first && s->job_leaves[n - 1] == leaf))
			continue;
		if (np_array_room(&s->job_leaves, &s->job_leaves_capacity,
				  n + 1, sizeof(*s->job_leaves)))
			return -ENOMEM;
		s->job_leaves[n++] = leaf;
	}
	to->n_leaves = np_order_unique(s->job_leaves + first, n - first);
	s->n_job_leaves = first + to->n_leaves;
	return 0;
}

/* Append to s->job_prior the leaves to which a pending job was restricted. */
static int add_prior(struct np_snapshot *s, const struct np_job *j)
{
	size_t words = s->leaves->words;
	uint64_t *w;

	/* The size of an element must not be 0, even if there are no leaves. */
	if (np_array_room(&s->job_prior, &s->job_prior_capacity,
			  s->n_job_prior + 1, words * sizeof(*w) + !words))
		return -ENOMEM;
	w = s->job_prior + s->n_job_prior++ * words;
	memcpy(w, j->prior_leaves, words * sizeof(*w));
	np_bits_trim(w, s->leaves->n);
	return 0;
}

static bool was_restricted(const struct np_job *j)
{
	return j->state != NP_JOB_RUNNING && j->prior == NP_PRIOR_RESTRICTED;
}

int np_snapshot_job(struct np_snapshot *s, const struct np_job *job,
		    struct np_err *err)
{
	struct np_job *to;
	int rc = check_job(s, job, err);

	if (rc)
		return rc;
	if (np_array_room(&s->job, &s->job_capacity, s->n_jobs + 1,
			  sizeof(*to)))
		return np_errf(err, -ENOMEM, "snapshot: out of memory");
	to = &s->job[s->n_jobs++];
	*to = *job;
	to->node = NULL;
	to->prior_leaves = NULL;
	if (job->state == NP_JOB_RUNNING)
		rc = add_leaves(s, job, to);
	else if (was_restricted(job))
		rc = add_prior(s, job);
	if (rc) {
		s->n_jobs--;
		return np_errf(err, rc, "snapshot: out of memory");
	}
	return 0;
}

/* Free unused capacity. If that fails, the array just stays larger. */
static void trim(void *array, size_t n, size_t size)
{
	if (n)
		(void)np_array_resize(array, n, size);
}

void np_snapshot_seal(struct np_snapshot *s)
{
	size_t words = s->leaves->words;
	const uint64_t *prior;
	const uint32_t *leaf;

	trim(&s->job, s->n_jobs, sizeof(*s->job));
	trim(&s->job_leaves, s->n_job_leaves, sizeof(*s->job_leaves));
	trim(&s->job_prior, s->n_job_prior,
	     words * sizeof(*s->job_prior) + !words);
	leaf = s->job_leaves;
	prior = s->job_prior;
	for (struct np_job *j = s->job; j < s->job + s->n_jobs; j++) {
		if (j->state == NP_JOB_RUNNING) {
			j->leaf = leaf;
			leaf += j->n_leaves;
		} else if (was_restricted(j)) {
			j->prior_leaves = prior;
			prior += words;
		}
	}
	s->sealed = true;
}
