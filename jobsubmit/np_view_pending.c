/* What stands in a pending job: whose exclusions, whose begin time. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "np_bits.h"
#include "np_merge.h"
#include "np_view_impl.h"

/* The last change a user made to this job, or to its whole array. */
static const struct np_change *find_change(const struct np_view_make *m,
					   const slurm_job_info_t *j, bool list)
{
	for (size_t i = m->n_changes; i-- > 0;) {
		const struct np_change *c = &m->change[i];

		if ((c->id == j->job_id ||
		     (j->array_job_id && c->id == j->array_job_id)) &&
		    (list ? c->exc_nodes != NULL : c->begin_sec != 0))
			return c;
	}
	return NULL;
}

static int copy_list(struct np_view_make *m, const char *hosts, uint64_t *to)
{
	const uint64_t *nodes;
	int rc = np_memos_parse(m->memos, m->view->site, hosts, &nodes);

	if (!rc)
		memcpy(to, nodes, np_site_words(m->view->site) *
		       sizeof(*nodes));
	return rc;
}

/* Whose exclusions are whose. */
static int sort_out(struct np_view_make *m, const slurm_job_info_t *j,
		    struct np_seen *seen, bool noted)
{
	const struct np_change *change = find_change(m, j, true);
	const uint64_t *list;
	size_t words = np_site_words(m->view->site);

	np_site_pairs(m->view->site, j->exc_node_inx, seen->now);
	/* Lists that can no longer be read were not ours to write. */
	if (noted && (copy_list(m, seen->note.user, seen->user) ||
		      copy_list(m, seen->note.ours, seen->written)))
		noted = false;
	seen->stands = noted && np_bits_within(seen->written, seen->now, words);
	np_merge_user(noted ? seen->user : NULL, noted ? seen->written : NULL,
		      seen->now, words, seen->user);
	if (change && !np_memos_parse(m->memos, m->view->site,
				      change->exc_nodes, &list))
		np_merge_modified(list, words, seen->user);
	if (!noted)
		memset(seen->written, 0, words * sizeof(*seen->written));
	return 0;
}

/* Whose begin time it is, and what was decided before. */
static void sort_out_time(struct np_view_make *m, const slurm_job_info_t *j,
			  struct np_seen *seen, struct np_job *to)
{
	const struct np_change *change = find_change(m, j, false);
	int64_t now = m->view->now_sec;
	bool deferred = seen->note.until_sec &&
			seen->note.until_sec == j->eligible_time;

	seen->begin_sec = j->eligible_time > now ? j->eligible_time : 0;
	if (change)
		seen->note.begin_sec = change->begin_sec;
	else if (!deferred)
		seen->note.begin_sec = seen->begin_sec;
	if (seen->note.begin_sec <= now)
		seen->note.begin_sec = 0;
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

/* The note; the one of before, if somebody set another comment over it. */
static bool read_note(struct np_memo *memo, const slurm_job_info_t *j,
		      struct np_seen *seen)
{
	if (np_note_in(j->admin_comment)) {
		free(memo->comment);
		memo->comment = strdup(j->admin_comment);
		return true;
	}
	return memo->comment && !np_note_read(memo->comment, &seen->note);
}

int np_view_pending(struct np_view_make *m, const slurm_job_info_t *j,
		    struct np_seen *seen, struct np_job *to)
{
	size_t words = np_site_words(m->view->site);
	size_t leaf_words = np_leaves_words(np_site_leaves(m->view->site));
	struct np_memo *memo = np_memos_at(m->memos, j->job_id);
	uint64_t *leaves;
	bool noted;
	int rc;

	seen->user = calloc(3 * words + leaf_words, sizeof(*seen->user));
	if (j->admin_comment)
		seen->comment = strdup(j->admin_comment);
	if (!seen->user || !memo || (j->admin_comment && !seen->comment))
		return -ENOMEM;
	seen->written = seen->user + words;
	seen->now = seen->user + 2 * words;
	leaves = seen->user + 3 * words;
	noted = read_note(memo, j, seen);
	seen->ours = noted || seen->mode >= NP_MODE_PREFER;
	rc = sort_out(m, j, seen, noted);
	if (rc)
		return rc;
	sort_out_time(m, j, seen, to);
	if (to->prior == NP_PRIOR_LEAVES) {
		np_leaves_allowed(np_site_leaves(m->view->site), seen->written,
				  leaves);
		to->prior_leaves = leaves;
	}
	if (!memo->held_sec)
		memo->held_sec = seen->note.held_sec;
	memo->noted_sec = seen->note.held_sec;
	to->held_sec = memo->held_sec;
	return 0;
}
