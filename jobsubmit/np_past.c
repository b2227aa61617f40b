#include "np_past.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "np_leaves.h"
#include "np_state.h"

/* One run of a job. */
struct job {
	struct np_seen seen; /* without its texts and bitmaps */
	unsigned flags;
	double end_sec;	     /* 0: it runs */
	uint32_t *leaf;
	size_t n_leaves;
};

struct np_past {
	struct job *job; /* by_id() */
	size_t n;
	struct np_site *site; /* of the leaves */
};

/* Where runs are written to, and what they are judged by. */
struct judge {
	const struct np_press *table;
	const struct np_app_index *index;
	const char *store_dir;
	mode_t mode;
};

int np_past_new(struct np_past **out)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : -ENOMEM;
}

static void forget_all(struct np_past *p)
{
	for (size_t i = 0; i < p->n; i++)
		free(p->job[i].leaf);
	free(p->job);
	p->job = NULL;
	p->n = 0;
}

void np_past_free(struct np_past *p)
{
	if (!p)
		return;
	forget_all(p);
	np_site_unref(p->site);
	free(p);
}

/* A requeued job has several; at most one of them goes on. */
static int by_id(const void *a, const void *b)
{
	const struct job *x = a, *y = b;

	if (x->seen.id != y->seen.id)
		return x->seen.id < y->seen.id ? -1 : 1;
	return (x->end_sec > 0) - (y->end_sec > 0);
}

/* Among the first n, the run that goes on. */
static struct job *find(struct np_past *p, size_t n, uint32_t id)
{
	const struct job key = { .seen.id = id };

	return n ? bsearch(&key, p->job, n, sizeof(key), by_id) : NULL;
}

/* Returns 0 or -ENOMEM. */
static int take(struct job *to, const struct np_view *v, size_t i)
{
	const uint32_t *leaf = np_snapshot_job_leaves(v->snapshot, i,
						      &to->n_leaves);
	const struct np_job *in = np_snapshot_job_at(v->snapshot, i);

	int64_t start_sec = to->seen.start_sec;

	to->seen = v->job[i];
	if (!to->seen.start_sec)
		to->seen.start_sec = start_sec;
	to->seen.note = (struct np_note){ .decided = false };
	to->seen.comment = NULL;
	to->seen.tasks = NULL;
	to->seen.user = to->seen.written = to->seen.now = NULL;
	to->seen.bits = NULL;
	to->flags = in->flags;
	to->end_sec = 0;
	free(to->leaf);
	to->leaf = calloc(to->n_leaves + 1, sizeof(*to->leaf));
	if (!to->leaf) {
		to->n_leaves = 0;
		return -ENOMEM;
	}
	if (to->n_leaves)
		memcpy(to->leaf, leaf, to->n_leaves * sizeof(*leaf));
	return 0;
}

/* When did a run end that goes on no more? */
static double end_of(const struct np_answers *a, const struct job *job,
		     int64_t now_sec)
{
	int64_t end = now_sec, begin = job->seen.start_sec;

	for (uint32_t i = 0; i < a->jobs->record_count; i++) {
		const slurm_job_info_t *j = &a->jobs->job_array[i];

		if (j->job_id != job->seen.id)
			continue;
		/* A requeued one may run again. */
		if (j->end_time && j->end_time < end && j->end_time > begin)
			end = j->end_time;
		else if (j->start_time > begin && j->start_time < end)
			end = j->start_time;
		break;
	}
	return (double)(end > 1 ? end : 1); /* 0: it goes on */
}

static bool share_leaf(const struct job *a, const struct job *b, uint32_t *leaf,
		       size_t *n)
{
	*n = 0;
	for (size_t i = 0, k = 0; i < a->n_leaves && k < b->n_leaves;)
		if (a->leaf[i] < b->leaf[k]) {
			i++;
		} else if (a->leaf[i] > b->leaf[k]) {
			k++;
		} else {
			leaf[(*n)++] = a->leaf[i];
			i++;
			k++;
		}
	return *n;
}

static char *leaf_names(const struct np_site *s, const uint32_t *leaf, size_t n)
{
	const struct np_leaves *l = np_site_leaves(s);
	np_hostlist_t list = slurm_hostlist_create(NULL);
	char *text;

	for (size_t i = 0; i < n; i++)
		slurm_hostlist_push_host(list, np_leaves_name(l, leaf[i]));
	text = np_ranged_string(list);
	slurm_hostlist_destroy(list);
	return text;
}

/* By name: the handle of back then may be another application's now. */
static double predicted(const struct judge *w, const struct job *a,
			const struct job *b)
{
	int32_t n = (int32_t)np_press_n(w->table);
	int32_t x = np_app_index_find(w->index, a->seen.app, a->seen.uid);
	int32_t y = np_app_index_find(w->index, b->seen.app, b->seen.uid);

	if (x < 0 || y < 0 || x >= n || y >= n ||
	    a->seen.claim != NP_CLAIM_HOLDS || b->seen.claim != NP_CLAIM_HOLDS)
		return 0;
	return np_press_slowdown(w->table, (uint32_t)x, (uint32_t)y,
				 a->flags & b->flags & NP_JOB_SHARES_NODES,
				 a->n_leaves > 1 && b->n_leaves > 1);
}

/* The longest first: not all may be written down. */
static int by_overlap(const void *a, const void *b)
{
	const struct np_ended_neighbour *x = a, *y = b;

	return x->overlap_sec > y->overlap_sec ? -1 :
	       x->overlap_sec < y->overlap_sec;
}

/* Who was beside it: fills in neighbours and slowdown. */
static int look_back(const struct np_past *p, const struct judge *w,
		     const struct job *a, struct np_ended *e)
{
	double whole = a->end_sec - (double)a->seen.start_sec, log_sum = 0;
	uint32_t *leaf = calloc(a->n_leaves + 1, sizeof(*leaf));

	if (!leaf)
		return -ENOMEM;
	for (size_t i = 0; i < p->n && whole > 0; i++) {
		const struct job *b = &p->job[i];
		double from = fmax((double)a->seen.start_sec,
				   (double)b->seen.start_sec);
		double to = b->end_sec ? fmin(a->end_sec, b->end_sec) :
					 a->end_sec;
		struct np_ended_neighbour *grown;
		double slowdown;
		size_t n;

		if (a == b || to - from < 1 || !share_leaf(a, b, leaf, &n))
			continue;
		grown = reallocarray(e->neighbour, e->n_neighbours + 1,
				     sizeof(*grown));
		if (!grown)
			break;
		e->neighbour = grown;
		slowdown = predicted(w, a, b);
		grown[e->n_neighbours++] = (struct np_ended_neighbour){
			.id = b->seen.id, .app = strdup(b->seen.app),
			.leaves = leaf_names(p->site, leaf, n),
			.overlap_sec = to - from,
			.slowdown = slowdown,
		};
		log_sum += (to - from) / whole * log1p(slowdown);
	}
	if (e->n_neighbours)
		qsort(e->neighbour, e->n_neighbours, sizeof(*e->neighbour),
		      by_overlap);
	e->slowdown = expm1(log_sum);
	free(leaf);
	return 0;
}

static int write_down(const struct np_past *p, const struct judge *w,
		      const struct job *a, struct np_err *err)
{
	struct np_ended e = {
		.id = a->seen.id, .array = a->seen.array,
		.task = a->seen.task, .uid = a->seen.uid,
		.app = strdup(a->seen.app),
		.partition = strdup(a->seen.partition < 0 ? "" :
				    np_site_partition_name(p->site,
							   a->seen.partition)),
		.leaves = leaf_names(p->site, a->leaf, a->n_leaves),
		.n_nodes = a->seen.n_nodes, .submit = (double)a->seen.submit_sec,
		.start = (double)a->seen.start_sec, .end = a->end_sec,
		.held_sec = a->seen.held_sec,
	};
	int rc = look_back(p, w, a, &e);

	if (!rc)
		rc = np_ended_append(w->store_dir, &e, w->mode, err);
	np_ended_free(&e);
	return rc;
}

/* Jobs that ended before every running one began are nobody's neighbours. */
static void drop_old(struct np_past *p)
{
	double oldest = INFINITY;
	size_t kept = 0;

	for (size_t i = 0; i < p->n; i++)
		if (!p->job[i].end_sec &&
		    (double)p->job[i].seen.start_sec < oldest)
			oldest = (double)p->job[i].seen.start_sec;
	for (size_t i = 0; i < p->n; i++) {
		const struct job *j = &p->job[i];

		if (j->end_sec && (j->end_sec < oldest || p->n - (i - kept) >
				   NP_PAST_MAX))
			free(j->leaf);
		else
			p->job[kept++] = *j;
	}
	p->n = kept;
}

/* A requeued job starts anew under its id: that is another run. */
static int merge(struct np_past *p, const struct np_view *v, bool *runs)
{
	size_t had = p->n, fresh = 0;
	struct job *grown;

	for (size_t i = 0; i < v->n_jobs; i++)
		fresh += v->job[i].state == NP_JOB_RUNNING;
	grown = reallocarray(p->job, had + fresh + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	p->job = grown;
	for (size_t i = 0; i < v->n_jobs; i++) {
		struct job *j;

		if (v->job[i].state != NP_JOB_RUNNING)
			continue;
		j = find(p, had, v->job[i].id);
		if (j && (j->seen.start_sec == v->job[i].start_sec ||
			  !v->job[i].start_sec))
			runs[j - p->job] = true;
		else if (v->job[i].start_sec)
			memset(j = &p->job[p->n++], 0, sizeof(*j));
		else
			continue; /* requeued, and never seen running */
		if (take(j, v, i))
			return -ENOMEM;
	}
	return 0;
}

int np_past_update(struct np_past *p, const struct np_view *v,
		   const struct np_answers *a, const struct np_press *t,
		   const struct np_app_index *index, const char *store_dir,
		   mode_t mode, struct np_err *err)
{
	const struct judge w = { t, index, store_dir, mode };
	bool *runs;
	size_t had;
	int rc, last = 0;

	if (p->site != v->site) {
		forget_all(p);
		np_site_unref(p->site);
		p->site = np_site_ref(v->site);
	}
	had = p->n;
	runs = calloc(had + 1, sizeof(*runs));
	rc = runs ? merge(p, v, runs) : -ENOMEM;
	for (size_t i = 0; !rc && i < had; i++)
		if (!runs[i] && !p->job[i].end_sec)
			p->job[i].end_sec = end_of(a, &p->job[i], v->now_sec);
		else
			runs[i] = true; /* not now */
	for (size_t i = 0; !rc && i < had; i++)
		if (!runs[i] && p->job[i].seen.app[0]) {
			int e = write_down(p, &w, &p->job[i], err);

			last = e ? e : last;
		}
	free(runs);
	drop_old(p);
	if (p->n)
		qsort(p->job, p->n, sizeof(*p->job), by_id);
	return rc ? np_errf(err, rc, "out of memory") : last;
}
