#include "np_snapshot.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "np_array.h"
#include "np_bits.h"

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
	s->leaves = np_leaves_ref(leaves);
	s->now_sec = now_sec;
	s->last_sec = last_sec;
	s->usable = calloc(4 * words + 1, sizeof(uint64_t));
	if (!s->usable) {
		np_snapshot_unref(s);
		return np_errf(err, -ENOMEM, "snapshot: out of memory");
	}
	s->idle = s->usable + words;
	s->room = s->idle + words;
	s->scratch = s->room + words;
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
	np_numbers_free(&s->set);
	free(s->job);
	free(s->on);
	free(s->prior);
	free(s);
}

int np_snapshot_node(struct np_snapshot *s, size_t node,
		     enum np_node_state state, struct np_err *err)
{
	size_t place;

	if (s->sealed || node >= s->leaves->n_nodes ||
	    (unsigned)state > NP_NODE_IDLE)
		return np_errf(err, -EINVAL, "node %zu in state %d: no such "
			       "node or state, or a sealed snapshot", node,
			       (int)state);
	place = s->leaves->place[node];
	np_bits_clear(s->usable, place);
	np_bits_clear(s->idle, place);
	np_bits_clear(s->room, place);
	if (state != NP_NODE_AWAY)
		np_bits_set(s->usable, place);
	if (state == NP_NODE_IDLE)
		np_bits_set(s->idle, place);
	if (state >= NP_NODE_MIXED)
		np_bits_set(s->room, place);
	return 0;
}

/* A set by place; in s->scratch, if nodes are not their own places. */
static const uint64_t *by_place(struct np_snapshot *s, const uint64_t *nodes)
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
	got = np_numbers_get(&s->set, by_place(s, nodes),
			     words * sizeof(*nodes));
	if (got == NP_NO_NUMBER)
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
	if ((unsigned)j->prior > NP_PRIOR_DEFERRED ||
	    (j->prior == NP_PRIOR_LEAVES && !j->prior_leaves))
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

/* Its leaves, behind those of the job before. */
static int add_leaves(struct np_snapshot *s, const struct np_job *j,
		      struct np_job *to)
{
	size_t first = s->n_on;

	for (size_t i = 0; i < j->n_nodes; i++) {
		uint32_t leaf = s->leaves->leaf[j->node[i]];

		if (leaf == NP_NO_LEAF ||
		    (s->n_on > first && s->on[s->n_on - 1] == leaf))
			continue;
		if (np_array_room(&s->on, &s->on_room, s->n_on + 1,
				  sizeof(*s->on))) {
			s->n_on = first;
			return -ENOMEM;
		}
		s->on[s->n_on++] = leaf;
	}
	to->n_leaves = np_order_unique(s->on + first, s->n_on - first);
	s->n_on = first + to->n_leaves;
	return 0;
}

static int add_prior(struct np_snapshot *s, const struct np_job *j)
{
	size_t words = s->leaves->words;
	uint64_t *w;

	if (np_array_room(&s->prior, &s->prior_room, s->n_prior + 1,
			  words * sizeof(*w) + !words))
		return -ENOMEM;
	w = s->prior + s->n_prior++ * words;
	memcpy(w, j->prior_leaves, words * sizeof(*w));
	np_bits_end(w, s->leaves->n);
	return 0;
}

static bool was_confined(const struct np_job *j)
{
	return j->state != NP_JOB_RUNNING && j->prior == NP_PRIOR_LEAVES;
}

int np_snapshot_job(struct np_snapshot *s, const struct np_job *job,
		    struct np_err *err)
{
	struct np_job *to;
	int rc = check_job(s, job, err);

	if (rc)
		return rc;
	if (np_array_room(&s->job, &s->job_room, s->n_jobs + 1, sizeof(*to)))
		return np_errf(err, -ENOMEM, "snapshot: out of memory");
	to = &s->job[s->n_jobs++];
	*to = *job;
	to->node = NULL;
	to->prior_leaves = NULL;
	if (job->state == NP_JOB_RUNNING)
		rc = add_leaves(s, job, to);
	else if (was_confined(job))
		rc = add_prior(s, job);
	if (rc) {
		s->n_jobs--;
		return np_errf(err, rc, "snapshot: out of memory");
	}
	return 0;
}

/* Nothing more will be added; more room than is needed does no harm. */
static void trim(void *array, size_t n, size_t size)
{
	if (n)
		(void)np_array_resize(array, n, size);
}

void np_snapshot_seal(struct np_snapshot *s)
{
	size_t words = s->leaves->words;
	const uint64_t *prior;
	const uint32_t *on;

	trim(&s->job, s->n_jobs, sizeof(*s->job));
	trim(&s->on, s->n_on, sizeof(*s->on));
	trim(&s->prior, s->n_prior, words * sizeof(*s->prior) + !words);
	on = s->on;
	prior = s->prior;
	for (struct np_job *j = s->job; j < s->job + s->n_jobs; j++) {
		if (j->state == NP_JOB_RUNNING) {
			j->leaf = on;
			on += j->n_leaves;
		} else if (was_confined(j)) {
			j->prior_leaves = prior;
			prior += words;
		}
	}
	s->sealed = true;
}
