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

static const uint32_t *switches_of(const struct wiring *wiring, uint32_t node)
{
	return wiring->sw + node * wiring->rails;
}

static bool same_switches(const struct wiring *wiring, uint32_t a, uint32_t b)
{
	return !memcmp(switches_of(wiring, a), switches_of(wiring, b),
		       wiring->rails * sizeof(*wiring->sw));
}

static bool has_switch(const struct wiring *wiring, uint32_t node)
{
	const uint32_t *sw = switches_of(wiring, node);

	for (size_t k = 0; k < wiring->rails; k++)
		if (sw[k] != NP_NO_LEAF)
			return true;
	return false;
}

/* Number the rails, and set that of each switch. 0 or -errno. */
static int number_rails(struct np_leaves *leaves, const struct np_leaf *leaf,
			struct np_err *err)
{
	leaves->rail = calloc(leaves->n_switches + 1, sizeof(*leaves->rail));
	if (!leaves->rail)
		return np_errf(err, -ENOMEM, "leaves: out of memory");
	leaves->n_rails = 1;
	for (size_t i = 0; i < leaves->n_switches; i++) {
		size_t k = leaf[i].rail ? 1 : 0;

		while (k && k < leaves->n_rails &&
		       strcmp(leaves->rail_name[k], leaf[i].rail))
			k++;
		if (k == NP_LEAVES_MAX_RAILS)
			return np_errf(err, -E2BIG,
				       "leaf %s: more than %d rails",
				       leaf[i].name, (int)k - 1);
		leaves->rail[i] = (uint8_t)k;
		if (k < leaves->n_rails)
			continue;
		leaves->rail_name[leaves->n_rails++] = strdup(leaf[i].rail);
		if (!leaves->rail_name[k])
			return np_errf(err, -ENOMEM, "leaves: out of memory");
	}
	return 0;
}

/* Set the switches of each node. 0 or -EINVAL. */
static int fill_wiring(const struct np_leaves *leaves, struct wiring *wiring,
		       const struct np_leaf *leaf, struct np_err *err)
{
	memset(wiring->sw, 0xff,
	       leaves->n_nodes * wiring->rails * sizeof(*wiring->sw));
	for (size_t i = 0; i < leaves->n_switches; i++)
		for (size_t k = 0; k < leaf[i].n_nodes; k++) {
			uint32_t node = leaf[i].node[k], *sw;

			if (node >= leaves->n_nodes)
				return np_errf(err, -EINVAL,
					       "leaf %s: node %u of %zu",
					       leaf[i].name, node,
					       leaves->n_nodes);
			sw = wiring->sw + node * wiring->rails +
			     leaves->rail[i];
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
static int order_nodes(struct np_leaves *leaves, struct wiring *wiring)
{
	leaves->node = malloc((leaves->n_nodes + 1) * sizeof(*leaves->node));
	if (!leaves->node)
		return -ENOMEM;
	for (uint32_t i = 0; i < leaves->n_nodes; i++)
		leaves->node[i] = i;
	qsort_r(leaves->node, leaves->n_nodes, sizeof(*leaves->node),
		by_switches, wiring);
	for (size_t i = 0;
	     i < leaves->n_nodes && has_switch(wiring, leaves->node[i]); i++)
		leaves->n += !i || !same_switches(wiring, leaves->node[i],
						  leaves->node[i - 1]);
	return leaves->n <= NP_LEAVES_MAX ? 0 : -E2BIG;
}

static bool alloc_leaves(struct np_leaves *leaves, size_t rails)
{
	leaves->words = np_bits_words(leaves->n);
	leaves->first = calloc(leaves->n + 1, sizeof(*leaves->first));
	leaves->place = calloc(leaves->n_nodes + 1, sizeof(*leaves->place));
	leaves->leaf = calloc(leaves->n_nodes + 1, sizeof(*leaves->leaf));
	leaves->name = calloc(leaves->n + 1, sizeof(*leaves->name));
	leaves->switch_name =
		calloc(leaves->n_switches + 1, sizeof(*leaves->switch_name));
	leaves->first_switch =
		calloc(leaves->n + 1, sizeof(*leaves->first_switch));
	leaves->switches =
		calloc(leaves->n * rails + 1, sizeof(*leaves->switches));
	leaves->first_leaf =
		calloc(leaves->n_switches + 2, sizeof(*leaves->first_leaf));
	leaves->leaves_below =
		calloc(leaves->n * rails + 1, sizeof(*leaves->leaves_below));
	return leaves->first && leaves->place && leaves->leaf && leaves->name &&
	       leaves->switch_name && leaves->first_switch &&
	       leaves->switches && leaves->first_leaf && leaves->leaves_below;
}

/* Set the positions of nodes and leaves, and the switches of each leaf. */
static void fill_leaves(struct np_leaves *leaves, const struct wiring *wiring)
{
	uint32_t leaf = 0, at = 0;

	leaves->in_order = true;
	for (uint32_t i = 0; i < leaves->n_nodes; i++) {
		uint32_t node = leaves->node[i];
		const uint32_t *sw = switches_of(wiring, node);

		leaves->place[node] = i;
		leaves->in_order &= node == i;
		leaves->leaf[node] = NP_NO_LEAF;
		if (!has_switch(wiring, node))
			continue;
		if (!i || !same_switches(wiring, node, leaves->node[i - 1])) {
			leaves->first[leaf] = i;
			leaves->first_switch[leaf++] = at;
			for (size_t k = 0; k < wiring->rails; k++)
				if (sw[k] != NP_NO_LEAF)
					leaves->switches[at++] = sw[k];
		}
		leaves->leaf[node] = leaf - 1;
		leaves->first[leaf] = i + 1;
		if (i + 1 - leaves->first[leaf - 1] > leaves->largest)
			leaves->largest = i + 1 - leaves->first[leaf - 1];
	}
	leaves->first_switch[leaves->n] = at;
}

/*
 * Set the leaves of each switch: count them, sum up, and fill them in. At first
 * to[i], which is first_leaf[i + 1], is where switch i begins. Filling advances
 * it to where switch i + 1 begins, as it should be.
 */
static void fill_switches(struct np_leaves *leaves)
{
	uint32_t *to = leaves->first_leaf + 1;

	for (uint32_t i = 0; i < leaves->first_switch[leaves->n]; i++)
		to[leaves->switches[i] + 1]++;
	for (size_t i = 0; i < leaves->n_switches; i++)
		to[i + 1] += to[i];
	for (uint32_t leaf = 0; leaf < leaves->n; leaf++)
		for (uint32_t i = leaves->first_switch[leaf];
		     i < leaves->first_switch[leaf + 1]; i++)
			leaves->leaves_below[to[leaves->switches[i]]++] = leaf;
}

/* Join the names of a leaf's switches to its own. false: out of memory. */
static bool name_leaf(struct np_leaves *leaves, size_t leaf)
{
	const uint32_t *at = leaves->switches + leaves->first_switch[leaf];
	const uint32_t *end = leaves->switches + leaves->first_switch[leaf + 1];
	size_t size;
	FILE *f = open_memstream(&leaves->name[leaf], &size);

	for (; f && at < end; at++)
		fprintf(f, "%s%s", leaves->switch_name[*at],
			at + 1 < end ? "+" : "");
	return f && !fclose(f);
}

static bool name_all(struct np_leaves *leaves, const struct np_leaf *leaf)
{
	for (size_t i = 0; i < leaves->n_switches; i++) {
		leaves->switch_name[i] = strdup(leaf[i].name);
		if (!leaves->switch_name[i])
			return false;
	}
	for (size_t i = 0; i < leaves->n; i++)
		if (!name_leaf(leaves, i))
			return false;
	return true;
}

/* Returns 0 or -errno. */
static int make_leaves(struct np_leaves *leaves, struct wiring *wiring,
		       const struct np_leaf *leaf, struct np_err *err)
{
	int rc = fill_wiring(leaves, wiring, leaf, err);

	if (rc)
		return rc;
	rc = order_nodes(leaves, wiring);
	if (rc == -E2BIG)
		return np_errf(err, rc,
			       "%zu sets of nodes with the same leaf switches "
			       "on all rails; at most %d",
			       leaves->n, NP_LEAVES_MAX);
	if (rc || !alloc_leaves(leaves, wiring->rails))
		return np_errf(err, -ENOMEM, "leaves: out of memory");
	fill_leaves(leaves, wiring);
	fill_switches(leaves);
	leaves->one_rail = leaves->first_switch[leaves->n] == leaves->n &&
			   leaves->n == leaves->n_switches;
	return name_all(leaves, leaf) ?
		       0 :
		       np_errf(err, -ENOMEM, "leaves: out of memory");
}

int np_leaves_new(size_t n_nodes, const struct np_leaf *leaf, size_t n,
		  struct np_leaves **out, struct np_err *err)
{
	struct wiring wiring = { NULL };
	struct np_leaves *leaves;
	int rc = check_leaves(n_nodes, leaf, n, err);

	if (rc)
		return rc;
	leaves = calloc(1, sizeof(*leaves));
	if (!leaves)
		return np_errf(err, -ENOMEM, "leaves: out of memory");
	*leaves = (struct np_leaves){
		.refs = 1,
		.n_switches = n,
		.n_nodes = n_nodes,
		.node_words = np_bits_words(n_nodes),
	};
	rc = number_rails(leaves, leaf, err);
	wiring.rails = leaves->n_rails;
	wiring.sw = rc ? NULL :
			 malloc(n_nodes * wiring.rails * sizeof(*wiring.sw));
	if (!rc)
		rc = wiring.sw ? make_leaves(leaves, &wiring, leaf, err) :
				 np_errf(err, -ENOMEM, "leaves: out of memory");
	free(wiring.sw);
	if (rc)
		np_leaves_unref(leaves);
	else
		*out = leaves;
	return rc;
}

static struct np_leaves *leaves_ref(struct np_leaves *leaves)
{
	__atomic_add_fetch(&leaves->refs, 1, __ATOMIC_RELAXED);
	return leaves;
}

void np_leaves_unref(struct np_leaves *leaves)
{
	if (!leaves || __atomic_sub_fetch(&leaves->refs, 1, __ATOMIC_ACQ_REL))
		return;
	for (size_t i = 0; leaves->name && i < leaves->n; i++)
		free(leaves->name[i]);
	for (size_t i = 0; leaves->switch_name && i < leaves->n_switches; i++)
		free(leaves->switch_name[i]);
	free(leaves->name);
	free(leaves->switch_name);
	for (size_t i = 1; i < leaves->n_rails; i++)
		free(leaves->rail_name[i]);
	free(leaves->rail);
	free(leaves->first_switch);
	free(leaves->switches);
	free(leaves->first_leaf);
	free(leaves->leaves_below);
	free(leaves->leaf);
	free(leaves->place);
	free(leaves->node);
	free(leaves->first);
	free(leaves);
}

void np_leaves_excluded(const struct np_leaves *leaves, const uint64_t *allowed,
			uint64_t *nodes)
{
	memset(nodes, 0, leaves->node_words * sizeof(*nodes));
	for (size_t i = 0; i < leaves->n; i++)
		for (uint32_t p = leaves->first[i];
		     !np_bits_test(allowed, i) && p < leaves->first[i + 1]; p++)
			np_bits_set(nodes, leaves->node[p]);
}

void np_leaves_allowed(const struct np_leaves *leaves, const uint64_t *nodes,
		       uint64_t *allowed)
{
	memset(allowed, 0, leaves->words * sizeof(*allowed));
	for (size_t i = 0; i < leaves->n; i++) {
		uint32_t p = leaves->first[i];

		while (p < leaves->first[i + 1] &&
		       !np_bits_test(nodes, leaves->node[p]))
			p++;
		if (p == leaves->first[i + 1])
			np_bits_set(allowed, i);
	}
}

size_t np_leaves_switches(const struct np_leaves *leaves, const uint32_t *leaf,
			  size_t n, uint32_t *sw)
{
	size_t got = 0;

	/* Insertion sort: the switches mostly come in ascending order, as
	   leaves with the same switch on the first rail are adjacent. */
	for (size_t i = 0; i < n; i++)
		for (uint32_t k = leaves->first_switch[leaf[i]];
		     k < leaves->first_switch[leaf[i] + 1]; k++) {
			size_t at = got;

			while (at && sw[at - 1] > leaves->switches[k])
				at--;
			if (at && sw[at - 1] == leaves->switches[k])
				continue;
			memmove(sw + at + 1, sw + at,
				(got++ - at) * sizeof(*sw));
			sw[at] = leaves->switches[k];
		}
	return got;
}

/* ---- The snapshot ---- */

int np_snapshot_new(struct np_leaves *leaves, int64_t now_sec, int64_t last_sec,
		    struct np_snapshot **out, struct np_err *err)
{
	size_t words = leaves->node_words;
	struct np_snapshot *snapshot;

	if (now_sec < 0 || last_sec < 0 || last_sec > now_sec)
		return np_errf(err, -EINVAL,
			       "snapshot at %lld s, last decision"
			       " at %lld s; expected 0 <= last <= now",
			       (long long)now_sec, (long long)last_sec);
	snapshot = calloc(1, sizeof(*snapshot));
	if (!snapshot)
		return np_errf(err, -ENOMEM, "snapshot: out of memory");
	snapshot->refs = 1;
	snapshot->leaves = leaves_ref(leaves);
	snapshot->now_sec = now_sec;
	snapshot->last_sec = last_sec;
	snapshot->usable = calloc(4 * words + 1, sizeof(uint64_t));
	if (!snapshot->usable) {
		np_snapshot_unref(snapshot);
		return np_errf(err, -ENOMEM, "snapshot: out of memory");
	}
	snapshot->idle = snapshot->usable + words;
	snapshot->idle_or_mixed = snapshot->idle + words;
	snapshot->scratch = snapshot->idle_or_mixed + words;
	*out = snapshot;
	return 0;
}

struct np_snapshot *np_snapshot_ref(struct np_snapshot *snapshot)
{
	__atomic_add_fetch(&snapshot->refs, 1, __ATOMIC_RELAXED);
	return snapshot;
}

void np_snapshot_unref(struct np_snapshot *snapshot)
{
	if (!snapshot ||
	    __atomic_sub_fetch(&snapshot->refs, 1, __ATOMIC_ACQ_REL))
		return;
	np_leaves_unref(snapshot->leaves);
	free(snapshot->usable);
	np_index_free(&snapshot->set);
	free(snapshot->job);
	free(snapshot->job_leaves);
	free(snapshot->job_prior);
	free(snapshot);
}

int np_snapshot_node(struct np_snapshot *snapshot, size_t node,
		     enum np_node_state state, struct np_err *err)
{
	size_t pos;

	if (snapshot->sealed || node >= snapshot->leaves->n_nodes ||
	    (unsigned)state > NP_NODE_IDLE)
		return np_errf(err, -EINVAL,
			       "node %zu in state %d: no such node or state, "
			       "or a sealed snapshot",
			       node, (int)state);
	pos = snapshot->leaves->place[node];
	np_bits_clear(snapshot->usable, pos);
	np_bits_clear(snapshot->idle, pos);
	np_bits_clear(snapshot->idle_or_mixed, pos);
	if (state != NP_NODE_UNAVAILABLE)
		np_bits_set(snapshot->usable, pos);
	if (state == NP_NODE_IDLE)
		np_bits_set(snapshot->idle, pos);
	if (state >= NP_NODE_MIXED)
		np_bits_set(snapshot->idle_or_mixed, pos);
	return 0;
}

/*
 * The bitmap of a set by position: nodes itself if positions are indices, or
 * else snapshot->scratch.
 */
static const uint64_t *by_position(struct np_snapshot *snapshot,
				   const uint64_t *nodes)
{
	size_t words = snapshot->leaves->node_words;

	if (snapshot->leaves->in_order)
		return nodes;
	memset(snapshot->scratch, 0, words * sizeof(*snapshot->scratch));
	NP_BITS_EACH(i, nodes, words)
		np_bits_set(snapshot->scratch, snapshot->leaves->place[i]);
	return snapshot->scratch;
}

int np_snapshot_nodes(struct np_snapshot *snapshot, const uint64_t *nodes,
		      uint32_t *handle, struct np_err *err)
{
	size_t n = snapshot->leaves->n_nodes,
	       words = snapshot->leaves->node_words;
	uint32_t got;

	if (snapshot->sealed ||
	    (n % NP_BITS_WORD && nodes[words - 1] >> n % NP_BITS_WORD))
		return np_errf(err, -EINVAL,
			       "set of nodes: beyond the last of"
			       " %zu nodes, or a sealed snapshot",
			       n);
	got = np_index_add(&snapshot->set, by_position(snapshot, nodes),
			   words * sizeof(*nodes));
	if (got == NP_NO_INDEX)
		return np_errf(err, -ENOMEM, "snapshot: out of memory");
	*handle = got;
	return 0;
}

static int check_pending(const struct np_snapshot *snapshot,
			 const struct np_job *job, struct np_err *err)
{
	if (!job->tasks || !job->nodes_min || job->nodes_min > NP_JOB_MAX_NODES)
		return np_errf(
			err, -EINVAL,
			"job %u: %u tasks of %u nodes; expected at least 1",
			job->id, job->tasks, job->nodes_min);
	if (job->candidates >= snapshot->set.n)
		return np_errf(err, -EINVAL, "job %u: no set of nodes %u",
			       job->id, job->candidates);
	if ((unsigned)job->prior > NP_PRIOR_HELD ||
	    (job->prior == NP_PRIOR_RESTRICTED && !job->prior_leaves))
		return np_errf(err, -EINVAL, "job %u: prior decision %d",
			       job->id, (int)job->prior);
	if (!(job->held_sec >= 0 && isfinite(job->held_sec)))
		return np_errf(err, -EINVAL, "job %u: held for %g s", job->id,
			       job->held_sec);
	return 0;
}

static int check_job(const struct np_snapshot *snapshot,
		     const struct np_job *job, struct np_err *err)
{
	if (snapshot->sealed)
		return np_errf(err, -EINVAL, "job %u: sealed snapshot",
			       job->id);
	if (snapshot->n_jobs >= NP_SNAPSHOT_MAX_JOBS)
		return np_errf(err, -E2BIG, "job %u: more than %d jobs",
			       job->id, NP_SNAPSHOT_MAX_JOBS);
	if ((unsigned)job->state > NP_JOB_WAITING ||
	    (unsigned)job->mode > NP_MODE_ENFORCE ||
	    job->profile < NP_PROFILE_UNKNOWN)
		return np_errf(err, -EINVAL,
			       "job %u: state %d, mode %d, profile %d", job->id,
			       (int)job->state, (int)job->mode, job->profile);
	if (job->state != NP_JOB_RUNNING)
		return check_pending(snapshot, job, err);
	for (size_t i = 0; i < job->n_nodes; i++)
		if (job->node[i] >= snapshot->leaves->n_nodes)
			return np_errf(err, -EINVAL, "job %u: node %u of %zu",
				       job->id, job->node[i],
				       snapshot->leaves->n_nodes);
	return 0;
}

/* Append the leaves that a running job is on to snapshot->job_leaves. */
static int add_leaves(struct np_snapshot *snapshot, const struct np_job *job,
		      struct np_job *to)
{
	size_t first = snapshot->n_job_leaves, n = first;

	for (size_t i = 0; i < job->n_nodes; i++) {
		uint32_t leaf = snapshot->leaves->leaf[job->node[i]];

		if (leaf == NP_NO_LEAF ||
		    (n > first && snapshot->job_leaves[n - 1] == leaf))
			continue;
		if (np_array_reserve(&snapshot->job_leaves,
				     &snapshot->job_leaves_capacity, n + 1,
				     sizeof(*snapshot->job_leaves)))
			return -ENOMEM;
		snapshot->job_leaves[n++] = leaf;
	}
	to->n_leaves = np_order_unique(snapshot->job_leaves + first, n - first);
	snapshot->n_job_leaves = first + to->n_leaves;
	return 0;
}

/* Append the leaves to which a pending job was restricted to job_prior. */
static int add_prior(struct np_snapshot *snapshot, const struct np_job *job)
{
	size_t words = snapshot->leaves->words;
	uint64_t *w;

	/* The size of an element must not be 0, even if there are no leaves. */
	if (np_array_reserve(
		    &snapshot->job_prior, &snapshot->job_prior_capacity,
		    snapshot->n_job_prior + 1, words * sizeof(*w) + !words))
		return -ENOMEM;
	w = snapshot->job_prior + snapshot->n_job_prior++ * words;
	memcpy(w, job->prior_leaves, words * sizeof(*w));
	np_bits_trim(w, snapshot->leaves->n);
	return 0;
}

static bool was_restricted(const struct np_job *job)
{
	return job->state != NP_JOB_RUNNING &&
	       job->prior == NP_PRIOR_RESTRICTED;
}

int np_snapshot_job(struct np_snapshot *snapshot, const struct np_job *job,
		    struct np_err *err)
{
	struct np_job *to;
	int rc = check_job(snapshot, job, err);

	if (rc)
		return rc;
	if (np_array_reserve(&snapshot->job, &snapshot->job_capacity,
			     snapshot->n_jobs + 1, sizeof(*to)))
		return np_errf(err, -ENOMEM, "snapshot: out of memory");
	to = &snapshot->job[snapshot->n_jobs++];
	*to = *job;
	to->node = NULL;
	to->prior_leaves = NULL;
	if (job->state == NP_JOB_RUNNING)
		rc = add_leaves(snapshot, job, to);
	else if (was_restricted(job))
		rc = add_prior(snapshot, job);
	if (rc) {
		snapshot->n_jobs--;
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

void np_snapshot_seal(struct np_snapshot *snapshot)
{
	size_t words = snapshot->leaves->words;
	const uint64_t *prior;
	const uint32_t *leaf;

	trim(&snapshot->job, snapshot->n_jobs, sizeof(*snapshot->job));
	trim(&snapshot->job_leaves, snapshot->n_job_leaves,
	     sizeof(*snapshot->job_leaves));
	trim(&snapshot->job_prior, snapshot->n_job_prior,
	     words * sizeof(*snapshot->job_prior) + !words);
	leaf = snapshot->job_leaves;
	prior = snapshot->job_prior;
	for (struct np_job *job = snapshot->job;
	     job < snapshot->job + snapshot->n_jobs; job++) {
		if (job->state == NP_JOB_RUNNING) {
			job->leaf = leaf;
			leaf += job->n_leaves;
		} else if (was_restricted(job)) {
			job->prior_leaves = prior;
			prior += words;
		}
	}
	snapshot->sealed = true;
}
