#include "np_snapshot.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "np_bits.h"
#include "np_snapshot_impl.h"

void *np_pool_add(struct np_pool *p, size_t n)
{
	void *first;

	if (n > p->room - p->n) {
		size_t room = p->room + p->room / 2 + n + 16;
		void *at = realloc(p->at, room * p->item);

		if (!at)
			return NULL;
		p->at = at;
		p->room = room;
	}
	first = (char *)p->at + p->n * p->item;
	p->n += n;
	return first;
}

void np_pool_trim(struct np_pool *p)
{
	void *at = p->n ? realloc(p->at, p->n * p->item) : NULL;

	if (!at)
		return;
	p->at = at;
	p->room = p->n;
}

int np_snapshot_new(struct np_leaves *leaves, int64_t now_sec,
		    int64_t last_sec, struct np_snapshot **out,
		    struct np_err *err)
{
	size_t nodes = np_leaves_node_words(leaves);
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
	s->leaf_words = np_leaves_words(leaves);
	s->node_words = nodes;
	s->now_sec = now_sec;
	s->last_sec = last_sec;
	s->set.item = nodes * sizeof(uint64_t);
	s->job.item = sizeof(struct np_snapshot_job);
	s->leaf_pool.item = sizeof(uint32_t);
	s->prior_pool.item = (s->leaf_words + !s->leaf_words) *
			     sizeof(uint64_t);
	s->usable = calloc(3 * nodes + 1, sizeof(uint64_t));
	s->mark = calloc(np_leaves_n(leaves) + 1, sizeof(*s->mark));
	if (!s->usable || !s->mark) {
		np_snapshot_unref(s);
		return np_errf(err, -ENOMEM, "snapshot: out of memory");
	}
	s->idle = s->usable + nodes;
	s->room = s->idle + nodes;
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
	free(s->mark);
	free(s->set.at);
	free(s->set_table);
	free(s->job.at);
	free(s->leaf_pool.at);
	free(s->prior_pool.at);
	free(s);
}

int np_snapshot_node(struct np_snapshot *s, size_t node,
		     enum np_node_state state, struct np_err *err)
{
	size_t place;

	if (s->sealed || node >= np_leaves_n_nodes(s->leaves) ||
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
	if (s->job.n >= NP_SNAPSHOT_MAX_JOBS)
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
		if (j->node[i] >= np_leaves_n_nodes(s->leaves))
			return np_errf(err, -EINVAL, "job %u: node %u of %zu",
				       j->id, j->node[i],
				       np_leaves_n_nodes(s->leaves));
	return 0;
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static int add_leaves(struct np_snapshot *s, const struct np_job *j,
		      struct np_snapshot_job *to)
{
	uint32_t stamp = (uint32_t)s->job.n;
	size_t first = s->leaf_pool.n;

	for (size_t i = 0; i < j->n_nodes; i++) {
		uint32_t leaf = s->leaves->leaf[j->node[i]], *on;

		if (leaf == NP_NO_LEAF || s->mark[leaf] == stamp)
			continue;
		s->mark[leaf] = stamp;
		on = np_pool_add(&s->leaf_pool, 1);
		if (!on)
			return -ENOMEM;
		*on = leaf;
	}
	to->first_leaf = first;
	to->n_leaves = (uint32_t)(s->leaf_pool.n - first);
	if (to->n_leaves > 1)
		qsort((uint32_t *)s->leaf_pool.at + first, to->n_leaves,
		      sizeof(uint32_t), by_number);
	return 0;
}

static int add_prior(struct np_snapshot *s, const struct np_job *j,
		     struct np_snapshot_job *to)
{
	uint64_t *w = np_pool_add(&s->prior_pool, 1);

	if (!w)
		return -ENOMEM;
	memcpy(w, j->prior_leaves, s->leaf_words * sizeof(*w));
	if (np_leaves_n(s->leaves) % NP_BITS_WORD)
		w[s->leaf_words - 1] &= (UINT64_C(1) << np_leaves_n(s->leaves) %
					 NP_BITS_WORD) - 1;
	to->prior = (uint32_t)(s->prior_pool.n - 1);
	return 0;
}

int np_snapshot_job(struct np_snapshot *s, const struct np_job *job,
		    struct np_err *err)
{
	struct np_snapshot_job *to;
	int rc = check_job(s, job, err);

	if (rc)
		return rc;
	to = np_pool_add(&s->job, 1);
	if (!to)
		return np_errf(err, -ENOMEM, "snapshot: out of memory");
	memset(to, 0, sizeof(*to));
	to->in = *job;
	to->in.node = NULL;
	to->in.prior_leaves = NULL;
	if (job->state == NP_JOB_RUNNING)
		rc = add_leaves(s, job, to);
	else if (job->prior == NP_PRIOR_LEAVES)
		rc = add_prior(s, job, to);
	if (rc) {
		s->job.n--;
		return np_errf(err, rc, "snapshot: out of memory");
	}
	return 0;
}

void np_snapshot_seal(struct np_snapshot *s)
{
	struct np_snapshot_job *j;

	np_pool_trim(&s->set);
	np_pool_trim(&s->job);
	np_pool_trim(&s->leaf_pool);
	np_pool_trim(&s->prior_pool);
	j = s->job.at;
	for (size_t i = 0; i < s->job.n; i++)
		if (j[i].in.prior == NP_PRIOR_LEAVES &&
		    j[i].in.state != NP_JOB_RUNNING)
			j[i].in.prior_leaves = np_snapshot_prior(s, &j[i]);
	free(s->mark);
	free(s->set_table);
	s->mark = NULL;
	s->set_table = NULL;
	s->set_slots = 0;
	s->sealed = true;
}

const struct np_job *np_snapshot_job_at(const struct np_snapshot *s, size_t i)
{
	return &np_snapshot_jobs(s)[i].in;
}

const uint32_t *np_snapshot_job_leaves(const struct np_snapshot *s, size_t i,
				       size_t *n)
{
	const struct np_snapshot_job *j = &np_snapshot_jobs(s)[i];

	*n = j->n_leaves;
	return np_snapshot_on(s, j);
}
