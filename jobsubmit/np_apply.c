#include "np_apply.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "np_array.h"
#include "np_bits.h"
#include "np_ctl.h"
#include "np_shares.h"

/* The note is not written again for less than this. */
#define HELD_STEP_SEC 30

/* The user's exclusions as text: as they were written, if they are those. */
static char *user_text(const struct np_seen *seen, const struct np_site *site,
		       uint64_t *scratch)
{
	size_t bytes = site->words * sizeof(*scratch);

	if (!np_bits_any(seen->user, site->words))
		return NULL;
	if (seen->note.user && !np_site_parse(site, seen->note.user, scratch) &&
	    !memcmp(scratch, seen->user, bytes))
		return strdup(seen->note.user);
	return np_site_format(site, seen->user);
}

static int64_t begin_of(const struct np_seen *seen, const struct np_outcome *o,
			int64_t now_sec)
{
	int64_t begin = seen->note.begin_sec;

	if (o->until_sec)
		return o->until_sec > begin ? o->until_sec : begin;
	if (seen->begin_sec == begin || !seen->begin_sec)
		return 0;
	return begin ? begin : now_sec;
}

static char *comment_of(const struct np_seen *seen,
			const struct np_outcome *o, char *user, char *ours)
{
	bool decided = o->action != NP_ACT_NONE;
	struct np_note n = {
		.user = decided ? user : NULL, .ours = ours,
		.until_sec = o->until_sec, .decided = decided,
		.begin_sec = o->until_sec ? seen->note.begin_sec : 0,
		.held_sec = seen->note.held_sec,
	};

	strcpy(n.app, seen->note.app);
	if (fabs(o->held_sec - n.held_sec) >= HELD_STEP_SEC ||
	    !o->held_sec)
		n.held_sec = o->held_sec;
	return np_note_write(seen->comment,
			     n.app[0] || n.decided ? &n : NULL);
}

static int fill(const struct np_view *v, const struct np_seen *seen,
		const struct np_outcome *o, bool force, uint64_t *scratch,
		struct np_update *u)
{
	const struct np_site *site = v->site;
	size_t words = site->words;
	char *user = user_text(seen, site, scratch + words);
	const char *stands = seen->comment ? seen->comment : "";
	int rc = 0;

	memset(scratch, 0, words * sizeof(*scratch));
	if (o->leaves) {
		u->ours = np_site_closed(site, o->leaves);
		np_leaves_excluded(site->leaves, o->leaves, scratch);
	}
	/* NULL is also what both give when there is no memory. */
	if ((!user && np_bits_any(seen->user, words)) ||
	    (!u->ours && np_bits_any(scratch, words))) {
		free(user);
		return -ENOMEM;
	}
	np_bits_or(scratch, seen->user, words);
	u->comment = comment_of(seen, o, user, u->ours);
	if (!u->comment)
		rc = -ENOMEM;
	if (!rc && (force || memcmp(scratch, seen->now, words * sizeof(*scratch)))) {
		u->exc_nodes = np_note_join(user, u->ours);
		rc = u->exc_nodes ? 0 : -ENOMEM;
	}
	free(user);
	u->begin_sec = begin_of(seen, o, v->now_sec);
	if (u->begin_sec == seen->begin_sec)
		u->begin_sec = 0;
	if (force && !u->begin_sec)
		u->begin_sec = seen->note.begin_sec ? seen->note.begin_sec :
						      v->now_sec;
	/* An update with the note in it is known to be ours; see np_modify(). */
	if (!rc && !force && !u->exc_nodes && !u->begin_sec &&
	    !strcmp(u->comment, stands)) {
		free(u->comment);
		u->comment = NULL;
	}
	return rc;
}

int np_update_make(const struct np_view *v, size_t job,
		   const struct np_outcome *outcome, bool force,
		   struct np_update *u)
{
	const struct np_outcome nothing = { .held_sec = outcome->held_sec };
	uint64_t *scratch = calloc(2 * v->site->words, sizeof(*scratch));
	int rc;

	*u = (struct np_update){ NULL };
	if (!scratch)
		return -ENOMEM;
	rc = fill(v, &v->job[job], outcome->applied ? outcome : &nothing,
		  force, scratch, u);
	free(scratch);
	if (rc) {
		np_update_clear(u);
		return rc;
	}
	return u->exc_nodes || u->comment || u->begin_sec;
}

void np_update_clear(struct np_update *u)
{
	free(u->exc_nodes);
	free(u->comment);
	free(u->ours);
	*u = (struct np_update){ NULL };
}

/* One update of one job. */

int np_update_send(uint32_t job_id, const char *job_id_str,
		   const struct np_update *u)
{
	job_array_resp_msg_t *resp = NULL;
	job_desc_msg_t d;
	int rc;

	slurm_init_job_desc_msg(&d);
	d.exc_nodes = u->exc_nodes;
	d.admin_comment = u->comment;
	if (u->begin_sec)
		d.begin_time = u->begin_sec;
	if (!job_id_str) {
		np_job_desc_set_id(&d, job_id);
		return slurm_update_job(&d) ? errno : 0;
	}
	d.job_id_str = (char *)job_id_str;
	rc = slurm_update_job2(&d, &resp) ? errno : 0;
	if (!rc && resp && resp->job_array_count)
		rc = (int)resp->error_code[0];
	if (resp)
		slurm_free_job_array_resp(resp);
	return rc;
}

#define MAX_FAILURES 3
#define PUT_OFF_SEC 10 /* should the rest of it not be written */

/* What became of a job that narrows. */
enum narrowed { NO, UNWRITTEN, PUT_OFF };

/* A round of writing. */
struct round {
	const struct np_view *v;
	struct np_placement *p;
	struct np_job_cache *cache;
	struct np_shared *shared;
	struct np_shares left;	/* updates */
	uint8_t *narrowed;	/* enum narrowed, of each job of the view */
	bool (*go_on)(void *arg);
	void *arg;
	bool missed;	/* the update at hand may succeed in another round */
	struct np_applied *out;
};

static bool may_write(struct round *r, const struct np_seen *seen)
{
	if (r->out->cut || !r->go_on(r->arg))
		r->out->cut = true;
	else if (np_shares_take(&r->left, seen->in->owner, 1))
		return true;
	r->missed = r->out->more = true;
	return false;
}

/* A job that started or ended meanwhile: what was decided does not hold. */
static bool is_gone(int rc)
{
	return rc == ESLURM_JOB_NOT_PENDING || rc == ESLURM_INVALID_JOB_ID ||
	       rc == ESLURM_JOB_FINISHED || rc == ESLURM_ALREADY_DONE;
}

/* Said once; a job that can never be written to is not to hold up others. */
static void failed(struct round *r, uint32_t id, const char *id_str, int rc)
{
	struct np_cached_job *cached = np_job_cache_find(r->cache, id);

	r->out->failures++;
	if (cached && ++cached->failures < MAX_FAILURES)
		r->missed = true;
	if (!cached || cached->failures == 1)
		np_ctl_error("update of JobId=%u%s%s: %s", id,
			     id_str ? " task " : "", id_str ? id_str : "",
			     slurm_strerror(rc));
}

static bool write_one(struct round *r, const struct np_seen *seen,
		      uint32_t task, const struct np_update *u)
{
	struct np_cached_job *cached = np_job_cache_find(r->cache, seen->id);
	bool alone = task != NP_CHANGE_ALL;
	const struct np_sending s = {
		.id = alone ? seen->array : seen->id, .array = seen->array,
		.task = task, .owner = seen->in->owner,
		.exc_nodes = u->exc_nodes, .comment = u->comment,
	};
	char id_str[32];
	int rc;

	snprintf(id_str, sizeof(id_str), "%u_%u", s.id, task);
	np_shared_sends(r->shared, &s);
	rc = np_update_send(s.id, alone ? id_str : NULL, u);
	np_shared_sends(r->shared, NULL);
	if (rc == EAGAIN) /* from np_modify() */
		np_job_cache_overtaken(r->cache, seen->in->owner);
	if (rc == EAGAIN || is_gone(rc))
		r->missed = true;
	else if (rc)
		failed(r, seen->id, alone ? id_str : NULL, rc);
	else
		r->out->updates++;
	if (!rc && cached)
		cached->failures = 0;
	r->out->more |= r->missed;
	return !rc;
}

/* Takes the list. */
static int remember(struct round *r, const struct np_seen *seen, char *ours,
		    int64_t until_sec)
{
	struct np_applied *out = r->out;

	if (!ours && !until_sec)
		return 0;
	if (np_array_more(&out->written, out->n_written,
			  sizeof(*out->written))) {
		free(ours);
		return -ENOMEM;
	}
	out->written[out->n_written++] = (struct np_written){
		.id = seen->id, .array = seen->array, .task = seen->task,
		.ours = ours, .until_sec = until_sec,
	};
	return 0;
}

/* The job is not written: what is in it stays. */
static int keep(struct round *r, size_t i)
{
	const struct np_seen *seen = &r->v->job[i];
	const struct np_note *n = &seen->note;
	char *ours;

	if (r->narrowed[i] == PUT_OFF)
		return remember(r, seen, NULL, r->v->now_sec + PUT_OFF_SEC);
	if (!seen->stands)
		return 0;
	ours = n->ours ? strdup(n->ours) : NULL;
	return n->ours && !ours ? -ENOMEM :
	       remember(r, seen, ours, n->until_sec);
}

/*
 * Should somebody set another comment before the next look, this is what stood
 * there; a note that was taken away is not to be put back.
 */
static void keep_comment(struct np_job_cache *cache, uint32_t id,
			 const char *comment)
{
	struct np_cached_job *cached = np_job_cache_find(cache, id);

	if (!cached)
		return;
	free(cached->comment);
	cached->comment = np_note_in(comment) ? strdup(comment) : NULL;
}

/* r->missed: it was not written, and nothing is remembered. */
static int write_job(struct round *r, size_t i, const struct np_outcome *o,
		     bool anew)
{
	const struct np_seen *seen = &r->v->job[i];
	struct np_update u;
	int rc = np_update_make(r->v, i, o, anew, &u);

	r->missed = false;
	if (rc > 0 && may_write(r, seen) &&
	    write_one(r, seen, NP_CHANGE_ALL, &u) && u.comment)
		keep_comment(r->cache, seen->id, u.comment);
	if (rc >= 0 && !r->missed) {
		rc = remember(r, seen, u.ours, o->applied ? o->until_sec : 0);
		u.ours = NULL;
	}
	np_update_clear(&u);
	return rc < 0 ? rc : 0;
}

/* What moves must not start before all that narrows is written. */
static int put_off(struct round *r, size_t i)
{
	const struct np_outcome wait = {
		.action = NP_ACT_DEFER, .applied = true,
		.until_sec = r->v->now_sec + PUT_OFF_SEC,
		.held_sec = np_placement_at(r->p, i)->held_sec,
	};
	struct np_update u;
	int rc = np_update_make(r->v, i, &wait, false, &u);

	r->missed = false;
	if (rc > 0 && may_write(r, &r->v->job[i]))
		write_one(r, &r->v->job[i], NP_CHANGE_ALL, &u);
	np_update_clear(&u);
	if (!r->missed)
		r->narrowed[i] = PUT_OFF;
	return rc < 0 ? rc : 0;
}

/*
 * Tasks of an array that conflict with each other get leaves of their own.
 * Returns 1, 0 if not all of them are written, or -ENOMEM.
 */
static int write_tasks(struct round *r, size_t i)
{
	const struct np_outcome *o = np_placement_at(r->p, i);
	const struct np_seen *seen = &r->v->job[i];
	bool all = true;

	for (size_t k = 0; o->applied && k < o->tasks && k < seen->n_tasks;
	     k++) {
		const struct np_outcome task = {
			.action = o->task_leaves[k] ? NP_ACT_CONFINE :
						      NP_ACT_ANYWHERE,
			.leaves = o->task_leaves[k], .applied = true,
			.held_sec = o->held_sec,
		};
		struct np_update u;
		/* It takes over the begin time of the rest, which waits. */
		int rc = np_update_make(r->v, i, &task, true, &u);

		all &= rc > 0 && may_write(r, seen) &&
		       write_one(r, seen, seen->tasks[k], &u);
		np_update_clear(&u);
		if (rc < 0)
			return rc;
	}
	return all;
}

/* Who conflicts with a job that was not written must not be opened. */
static int write_first(struct round *r, size_t i)
{
	const struct np_outcome *o = np_placement_at(r->p, i);
	int rc;

	if (!o->narrows)
		return 0;
	rc = o->moves ? put_off(r, i) : write_job(r, i, o, false);
	if (rc || !r->missed)
		return rc;
	r->narrowed[i] = UNWRITTEN;
	return np_placement_unwritten(r->p, i);
}

/* All that had to be closed is closed; the rest of an array opens last. */
static int write_then(struct round *r, size_t i)
{
	const struct np_outcome *o = np_placement_at(r->p, i);
	bool open = !r->out->cut && r->narrowed[i] != UNWRITTEN;
	int rc;

	if (open && !np_placement_may_open(r->p, i)) {
		r->out->more = true;
		open = false;
	}
	rc = open ? write_tasks(r, i) : 0;
	if (rc < 0 || (o->narrows && !o->moves && !r->narrowed[i]))
		return rc < 0 ? rc : 0;
	if (!rc)
		return keep(r, i);
	rc = write_job(r, i, o, o->moves);
	return rc || !r->missed ? rc : keep(r, i);
}

static int write_jobs(struct round *r, int (*write)(struct round *r, size_t i))
{
	int rc = 0;

	for (size_t i = 0; !rc && i < r->v->n_jobs; i++)
		if (r->v->job[i].ours)
			rc = write(r, i);
	return rc;
}

static void on_rest(uint32_t uid)
{
	np_ctl_info("uid %u changes jobs faster than placement can write them: "
		    "the pending jobs of that user are left alone for %d s",
		    uid, NP_OVERTAKEN_REST_SEC);
}

int np_apply(const struct np_view *v, struct np_placement *p,
	     struct np_job_cache *cache, struct np_shared *shared,
	     size_t max_updates, bool (*go_on)(void *arg), void *arg,
	     struct np_applied *out)
{
	struct round r = {
		.v = v, .p = p, .cache = cache, .shared = shared,
		.left = { .limit = max_updates }, .go_on = go_on, .arg = arg,
		.narrowed = calloc(v->n_jobs + 1, sizeof(*r.narrowed)),
		.out = out,
	};
	int rc;

	*out = (struct np_applied){ .written = NULL };
	if (!r.narrowed)
		return -ENOMEM;
	rc = write_jobs(&r, write_first);
	if (!rc)
		rc = write_jobs(&r, write_then);
	np_job_cache_end_round(cache, v->now_sec, on_rest);
	np_shares_free(&r.left);
	free(r.narrowed);
	return rc;
}
