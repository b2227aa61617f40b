/* What stands in a pending job: whose exclusions, whose begin time. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "np_bits.h"
#include "np_merge.h"
#include "np_view_impl.h"

/* Changes of one job by those who may, the last one first. */
struct his {
	const struct np_change *change[NP_CHANGES_FOUND];
	size_t n;
};

static void find_changes(const struct np_view_make *m,
			 const slurm_job_info_t *j, struct his *h)
{
	h->n = np_changes_of(m->change, m->n_changes, j->job_id,
			     j->array_job_id, j->array_task_id == NO_VAL ?
			     NP_CHANGE_ALL : j->array_task_id, j->user_id,
			     h->change, NP_CHANGES_FOUND);
}

/* The last list that somebody set, and that is the one that stands there. */
static int find_list(const struct np_view_make *m, const struct his *h,
		     const uint64_t *now, const char **list)
{
	size_t words = np_site_words(m->view->site);

	*list = NULL;
	for (size_t i = 0; !*list && i < h->n; i++) {
		const struct np_change *c = h->change[i];
		const uint64_t *put;
		int rc;

		if (!c->put)
			continue;
		rc = np_job_cache_parse(m->cache, m->view->site, c->put, &put);
		if (rc == -ENOMEM)
			return rc;
		if (!rc && !np_merge_differs(put, now, words))
			*list = c->exc_nodes;
	}
	return 0;
}

static int64_t ahead(int64_t sec, int64_t now_sec)
{
	return sec > now_sec ? sec : 0;
}

/* The same for a begin time; one that is past is none. */
static const struct np_change *find_begin(const struct np_view_make *m,
					  const struct his *h,
					  const slurm_job_info_t *j)
{
	int64_t now = m->view->now_sec;

	for (size_t i = 0; i < h->n; i++) {
		const struct np_change *c = h->change[i];

		if (c->begin_sec &&
		    ahead(c->put_begin_sec, now) == ahead(j->eligible_time,
							  now))
			return c;
	}
	return NULL;
}

static int copy_list(struct np_view_make *m, const char *hosts, uint64_t *to)
{
	const uint64_t *nodes;
	int rc = np_job_cache_parse(m->cache, m->view->site, hosts, &nodes);

	if (!rc)
		memcpy(to, nodes, np_site_words(m->view->site) *
		       sizeof(*nodes));
	return rc;
}

/* Bitmaps of nodes, while it is sorted out whose exclusions are whose. */
struct lists {
	uint64_t *user, *written, *now;
};

static int sort_out(struct np_view_make *m, const slurm_job_info_t *j,
		    const struct his *his, struct np_seen *seen, bool noted,
		    struct lists *l)
{
	const char *set;
	size_t words = np_site_words(m->view->site);
	int rc = 0;

	np_site_pairs(m->view->site, j->exc_node_inx, l->now);
	/* Lists that can no longer be read were not ours to write. */
	if (noted)
		rc = copy_list(m, seen->note.user, l->user);
	if (noted && !rc)
		rc = copy_list(m, seen->note.ours, l->written);
	if (rc == -ENOMEM)
		return rc;
	noted &= !rc;
	seen->stands = noted && np_bits_within(l->written, l->now, words);
	np_merge_user(noted ? l->user : NULL, noted ? l->written : NULL,
		      l->now, words, l->user);
	if (!noted)
		memset(l->written, 0, words * sizeof(*l->written));
	rc = find_list(m, his, l->now, &set);
	return set ? copy_list(m, set, l->user) : rc;
}

/* Most are empty or equal, and there are thousands of jobs. */
static int keep(struct np_view_make *m, const struct lists *l,
		struct np_seen *seen)
{
	const uint64_t *from[] = { m->view->none, l->user, l->written, l->now };
	const uint64_t *to[4] = { m->view->none };
	size_t bytes = np_site_words(m->view->site) * sizeof(*seen->bits);
	int like[4] = { 0 }, n = 0;

	for (int i = 1; i < 4; i++) {
		while (like[i] < i && memcmp(from[like[i]], from[i], bytes))
			like[i]++;
		n += like[i] == i;
	}
	seen->bits = n ? malloc((size_t)n * bytes) : NULL;
	if (n && !seen->bits)
		return -ENOMEM;
	n = 0;
	for (int i = 1; i < 4; i++) {
		to[i] = like[i] < i ? to[like[i]] :
			memcpy((char *)seen->bits + (size_t)n++ * bytes,
			       from[i], bytes);
	}
	seen->user = to[1];
	seen->written = to[2];
	seen->now = to[3];
	return 0;
}

/* Whose begin time it is, and what was decided before. */
static void sort_out_time(struct np_view_make *m, const slurm_job_info_t *j,
			  const struct his *his, struct np_seen *seen,
			  struct np_job *to)
{
	const struct np_change *change = find_begin(m, his, j);
	int64_t now = m->view->now_sec;
	bool deferred = seen->note.until_sec &&
			seen->note.until_sec == j->eligible_time;

	seen->begin_sec = ahead(j->eligible_time, now);
	if (change)
		seen->note.begin_sec = change->begin_sec;
	else if (!deferred)
		seen->note.begin_sec = seen->begin_sec;
	seen->note.begin_sec = ahead(seen->note.begin_sec, now);
	if (!deferred && seen->note.until_sec)
		seen->stands = false;
	to->eligible_sec = seen->note.begin_sec;
	if (!seen->stands || !seen->note.decided)
		to->prior = NP_PRIOR_NONE;
	else if (deferred)
		to->prior = NP_PRIOR_DEFERRED;
	else if (np_bits_any(seen->written, np_site_words(m->view->site)))
		to->prior = NP_PRIOR_LEAVES;
	else
		to->prior = NP_PRIOR_ANYWHERE;
	to->prior_until_sec = deferred ? seen->note.until_sec : 0;
}

/*
 * The note; or the one of before, if somebody damaged it or set another comment
 * over it.  Returns 0, -ENOENT or -ENOMEM.
 */
static int read_note(struct np_cached_job *cached, const slurm_job_info_t *j,
		     struct np_seen *seen)
{
	int rc = np_note_read(j->admin_comment, &seen->note);

	if (rc == -ENOMEM)
		return rc;
	if (rc)
		return cached->comment ?
		       np_note_read(cached->comment, &seen->note) : -ENOENT;
	if (cached->comment && !strcmp(cached->comment, j->admin_comment))
		return 0;
	free(cached->comment);
	cached->comment = strdup(j->admin_comment);
	return cached->comment ? 0 : -ENOMEM;
}

int np_view_pending(struct np_view_make *m, const slurm_job_info_t *j,
		    struct np_seen *seen, struct np_job *to)
{
	size_t words = np_site_words(m->view->site);
	struct np_cached_job *cached = np_job_cache_at(m->cache, j->job_id);
	uint64_t *leaves = m->scratch + 4 * words;
	/* The first one is the caller's. */
	struct lists l = { m->scratch + words, m->scratch + 2 * words,
			   m->scratch + 3 * words };
	struct his his;
	int rc;

	if (j->admin_comment)
		seen->comment = strdup(j->admin_comment);
	if (!cached || (j->admin_comment && !seen->comment))
		return -ENOMEM;
	memset(l.user, 0, 2 * words * sizeof(*l.user));
	rc = read_note(cached, j, seen);
	if (rc == -ENOMEM)
		return rc;
	/* scrontab's jobs cannot be changed. */
	seen->ours = (!rc || np_note_in(j->admin_comment) ||
		      seen->mode >= NP_MODE_PREFER) && !(j->bitflags & CRON_JOB);
	find_changes(m, j, &his);
	rc = sort_out(m, j, &his, seen, !rc, &l);
	if (!rc)
		rc = keep(m, &l, seen);
	if (rc)
		return rc;
	sort_out_time(m, j, &his, seen, to);
	if (to->prior == NP_PRIOR_LEAVES) {
		np_leaves_allowed(np_site_leaves(m->view->site), seen->written,
				  leaves);
		to->prior_leaves = leaves;
	}
	if (!cached->held_sec)
		cached->held_sec = seen->note.held_sec;
	to->held_sec = cached->held_sec;
	return 0;
}
