/*
 * Writes decisions into jobs. The first part makes and sends one update of one
 * job, and the second part makes all updates of a decision, in two passes over
 * the jobs.
 */
#include "np_apply.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "np_array.h"
#include "np_bits.h"
#include "np_ctl.h"

/* ---- One update ---- */

#define HELD_STEP_SEC 30 /* smaller changes of held_sec need no update */

/*
 * Write the user's excluded nodes as a host list, exactly as the user wrote it
 * if the annotation still has that text. Returns NULL if there are none, or
 * when out of memory.
 */
static char *format_user_list(const struct np_job_entry *entry,
			      const struct np_cluster_map *map,
			      uint64_t *scratch)
{
	size_t bytes = map->words * sizeof(*scratch);

	if (!np_bits_any(entry->user, map->words))
		return NULL;
	if (entry->annotation.user &&
	    !np_cluster_map_parse_hostlist(map, entry->annotation.user,
					   scratch) &&
	    !memcmp(scratch, entry->user, bytes))
		return strdup(entry->annotation.user);
	return np_cluster_map_format_hostlist(map, entry->user);
}

/*
 * Compute the begin time to set in a job: the user's, or the end of our hold if
 * that is later. Slurm cannot remove a begin time, so if the user set none, a
 * hold is ended by setting the present time. Returns 0 to leave the begin time
 * unchanged, but never with force.
 */
static int64_t compute_begin_time(const struct np_job_entry *entry,
				  const struct np_outcome *outcome, bool force,
				  int64_t now_sec)
{
	int64_t user_sec = entry->annotation.begin_sec; /* 0: none */
	int64_t user_or_now_sec = user_sec ? user_sec : now_sec;
	int64_t begin_sec = 0;

	if (outcome->until_sec)
		begin_sec = outcome->until_sec > user_sec ? outcome->until_sec :
							    user_sec;
	else if (entry->begin_sec && entry->begin_sec != user_sec)
		begin_sec = user_or_now_sec;
	if (begin_sec == entry->begin_sec)
		begin_sec = 0;
	return force && !begin_sec ? user_or_now_sec : begin_sec;
}

/*
 * Make the AdminComment that a job should have. It contains an annotation if
 * the job has an application or placement has decided about it. If held_sec has
 * hardly changed, the value in the annotation is kept, which saves an update.
 */
static char *make_comment(const struct np_job_entry *entry,
			  const struct np_outcome *outcome, char *user_list,
			  char *our_list)
{
	const struct np_annotation *old = &entry->annotation;
	bool decided = outcome->action != NP_ACT_NONE;
	struct np_annotation annotation = {
		.user = decided ? user_list : NULL,
		.ours = our_list,
		.until_sec = outcome->until_sec,
		.decided = decided,
		.begin_sec = outcome->until_sec ? old->begin_sec : 0,
		.held_sec = old->held_sec,
	};

	strcpy(annotation.app, old->app);
	if (fabs(outcome->held_sec - annotation.held_sec) >= HELD_STEP_SEC ||
	    !outcome->held_sec)
		annotation.held_sec = outcome->held_sec;
	return np_annotation_write(
		entry->comment,
		annotation.app[0] || annotation.decided ? &annotation : NULL);
}

/*
 * Make the lists of the nodes that the user excludes and of those that the
 * outcome excludes, and set the bits of the latter in excluded[]. A list
 * without nodes is NULL. scratch is a bitmap of nodes. Returns 0 or -ENOMEM.
 * The caller frees *user_list and *our_list, even after a failure.
 */
static int make_lists(const struct np_cluster_map *map,
		      const struct np_job_entry *entry,
		      const struct np_outcome *outcome, uint64_t *excluded,
		      uint64_t *scratch, char **user_list, char **our_list)
{
	bool failed;

	*user_list = format_user_list(entry, map, scratch);
	*our_list = NULL;
	memset(excluded, 0, map->words * sizeof(*excluded));
	if (outcome->leaves) {
		*our_list = np_cluster_map_format_closed(map, outcome->leaves);
		np_leaves_excluded(map->leaves, outcome->leaves, excluded);
	}
	failed = (!*user_list && np_bits_any(entry->user, map->words)) ||
		 (!*our_list && np_bits_any(excluded, map->words));
	return failed ? -ENOMEM : 0;
}

/*
 * Fill in *update, for np_update_make(), which frees it on failure. scratch has
 * room for two bitmaps of nodes.
 */
static int fill_update(const struct np_job_snapshot *jobs,
		       const struct np_job_entry *entry,
		       const struct np_outcome *outcome, bool force,
		       uint64_t *scratch, struct np_update *update)
{
	const struct np_cluster_map *map = jobs->map;
	size_t words = map->words, bytes = words * sizeof(*scratch);
	uint64_t *excluded = scratch; /* our nodes; later, the user's as well */
	const char *old_comment = entry->comment ? entry->comment : "";
	char *user_list;
	int rc = make_lists(map, entry, outcome, excluded, scratch + words,
			    &user_list, &update->ours);

	if (!rc) {
		np_bits_or(excluded, entry->user, words);
		update->comment =
			make_comment(entry, outcome, user_list, update->ours);
		rc = update->comment ? 0 : -ENOMEM;
	}
	if (!rc && (force || memcmp(excluded, entry->present, bytes))) {
		update->exc_nodes =
			np_annotation_join_lists(user_list, update->ours);
		rc = update->exc_nodes ? 0 : -ENOMEM;
	}
	free(user_list);
	update->begin_sec =
		compute_begin_time(entry, outcome, force, jobs->now_sec);
	/*
	 * Every update contains the comment, even if it is unchanged, because
	 * np_modify() recognises our updates by the annotation.
	 */
	if (!rc && !force && !update->exc_nodes && !update->begin_sec &&
	    !strcmp(update->comment, old_comment)) {
		free(update->comment);
		update->comment = NULL;
	}
	return rc;
}

int np_update_make(const struct np_job_snapshot *jobs, size_t job,
		   const struct np_outcome *outcome, bool force,
		   struct np_update *update)
{
	const struct np_outcome no_restriction = { .held_sec =
							   outcome->held_sec };
	uint64_t *scratch = calloc(2 * jobs->map->words, sizeof(*scratch));
	int rc;

	*update = (struct np_update){ NULL };
	if (!scratch)
		return -ENOMEM;
	rc = fill_update(jobs, &jobs->job[job],
			 outcome->applied ? outcome : &no_restriction, force,
			 scratch, update);
	free(scratch);
	if (rc) {
		np_update_clear(update);
		return rc;
	}
	return update->exc_nodes || update->comment || update->begin_sec;
}

void np_update_clear(struct np_update *update)
{
	free(update->exc_nodes);
	free(update->comment);
	free(update->ours);
	*update = (struct np_update){ NULL };
}

int np_update_send(uint32_t job_id, const char *job_id_str,
		   const struct np_update *update)
{
	job_array_resp_msg_t *resp = NULL;
	job_desc_msg_t desc;
	int rc;

	slurm_init_job_desc_msg(&desc);
	desc.exc_nodes = update->exc_nodes;
	desc.admin_comment = update->comment;
	if (update->begin_sec)
		desc.begin_time = update->begin_sec;
	if (!job_id_str) {
		np_job_desc_set_id(&desc, job_id);
		return slurm_update_job(&desc) ? errno : 0;
	}
	desc.job_id_str = (char *)job_id_str;
	rc = slurm_update_job2(&desc, &resp) ? errno : 0;
	if (!rc && resp && resp->job_array_count)
		rc = (int)resp->error_code[0];
	if (resp)
		slurm_free_job_array_resp(resp);
	return rc;
}

/* Whether an error of np_update_send() means that the job has ended. */
static bool has_ended(int rc)
{
	return rc == ESLURM_INVALID_JOB_ID || rc == ESLURM_JOB_FINISHED ||
	       rc == ESLURM_ALREADY_DONE;
}

/* Whether it means that slurmctld gave no answer, as after a timeout. */
static bool has_no_answer(int rc)
{
	return rc == ETIMEDOUT || (rc >= 1000 && rc < 2000) ||
	       (rc >= 5000 && rc < 6000);
}

bool np_update_too_late(int rc)
{
	return rc == ESLURM_JOB_NOT_PENDING || has_ended(rc);
}

/* ---- All updates of a decision ---- */

/*
 * The first pass writes the outcomes that narrow the leaves that a job may use,
 * and the second pass those that do not, so that at no time may two jobs
 * that conflict use the same leaf. An outcome that reassigns a job, i.e.
 * exchanges its leaves, needs both passes: the first holds the job, and the
 * second writes its new leaves. struct np_outcome says which outcomes narrow
 * and which reassign.
 */

#define MAX_FAILURES 3 /* in a row; then other jobs no longer wait for it */
#define MAX_CHECKS 3   /* of one job, so that nobody can prevent its update */
#define HOLD_SEC 10 /* longest hold, in case the second pass is not reached */

/* Result of the first pass for a job. */
enum first_pass {
	PASS1_DONE, /* the job did not have to be narrowed, or it has been */
	PASS1_HELD, /* it is reassigned, and held until the second pass */
	PASS1_NOT_WRITTEN, /* it was neither narrowed nor held */
};

/* Result of one update. */
enum update_result {
	UPDATE_WRITTEN,
	UPDATE_REFUSED, /* so often that the job counts as updated: see
			   handle_refusal() */
	UPDATE_RETRY, /* not written; it may succeed after the next decision */
	UPDATE_NEEDLESS, /* the job has ended, and uses no leaf */
};

/* State of writing the updates of one decision. */
struct writer {
	const struct np_job_snapshot *jobs;
	struct np_placement *placement;
	struct np_job_cache *cache;
	struct np_shared *shared;
	struct np_shares shares; /* of max_updates, by owner */
	uint8_t *first_pass;	 /* enum first_pass, per job of the snapshot */
	bool (*may_continue)(void *arg);
	void *arg;
	struct np_applied *out;
};

/*
 * Take one update from the share of a job's owner. Returns false if the share
 * is used up or no more updates may be made.
 */
static bool take_update(struct writer *writer, const struct np_job_entry *entry)
{
	if (writer->out->incomplete || !writer->may_continue(writer->arg)) {
		writer->out->incomplete = true;
		return false;
	}
	return np_shares_take(&writer->shares, entry->in->owner, 1);
}

/*
 * Handle an update that Slurm refused. id is the job in the snapshot, and
 * id_str that job or the task that was to be updated. Only the first of
 * consecutive refusals for a job is logged.
 *
 * A job that has been refused MAX_FAILURES times in a row counts as updated,
 * because Slurm may never accept an update of it. Jobs that conflict with it
 * then no longer wait for it, and may get leaves on which it may run. It is
 * recorded with the values that it should have, so that np_modify() adds them
 * to a change that its user requests. The update is tried again after each
 * decision. A job also counts as updated if others, such as new ones each time,
 * have been refused in many passes in a row.
 */
static enum update_result handle_refusal(struct writer *writer, uint32_t id,
					 const char *id_str, int rc)
{
	struct np_cached_job *cached = np_job_cache_find(writer->cache, id);
	bool retry = cached && ++cached->failures < MAX_FAILURES &&
		     !np_job_cache_refused(writer->cache);

	writer->out->failures++;
	if (!cached || cached->failures == 1)
		np_ctl_error("cannot update JobId=%s: %s", id_str,
			     slurm_strerror(rc));
	return retry ? UPDATE_RETRY : UPDATE_REFUSED;
}

/* Whether two begin times are equal, as all that have passed are. */
static bool is_same_begin(int64_t a, int64_t b, int64_t now_sec)
{
	return a == b || (a <= now_sec && b <= now_sec);
}

static bool is_same_comment(const char *a, const char *b)
{
	return !strcmp(a ? a : "", b ? b : "");
}

/*
 * Whether a job contains what it did in the snapshot, or what the first pass
 * wrote. present is overwritten with the nodes that it excludes now.
 */
static bool is_unchanged(const struct writer *writer,
			 const struct np_job_entry *entry,
			 const slurm_job_info_t *job, uint64_t *present)
{
	const struct np_job_snapshot *jobs = writer->jobs;
	const struct np_cached_job *cached =
		np_job_cache_find(writer->cache, entry->id);
	bool held = writer->first_pass[entry - jobs->job] == PASS1_HELD;
	size_t bytes = jobs->map->words * sizeof(*present);

	np_cluster_map_from_ranges(jobs->map, job->exc_node_inx, present);
	return (!memcmp(present, entry->present, bytes) ||
		(held && !memcmp(present, entry->user, bytes))) &&
	       (is_same_begin(job->eligible_time, entry->begin_sec,
			      time(NULL)) ||
		(held && job->eligible_time == jobs->now_sec + HOLD_SEC)) &&
	       (is_same_comment(job->admin_comment, entry->comment) ||
		(cached &&
		 is_same_comment(job->admin_comment, cached->comment)));
}

/*
 * Check a job whose update was refused. Returns whether the update may be sent
 * again, because all requests since the snapshot were doubtful and did not
 * change the job. last: do not check it again.
 */
static bool check_job(const struct writer *writer,
		      const struct np_job_entry *entry, bool last,
		      struct np_sending *sending)
{
	uint64_t doubt = np_shared_doubt(writer->shared, sending);
	uint64_t *present = NULL;
	job_info_msg_t *info = NULL;
	bool unchanged = false;

	if (!doubt || np_load_job(&info, entry->id))
		return false;
	present = calloc(writer->jobs->map->words, sizeof(*present));
	for (uint32_t i = 0; present && i < info->record_count; i++)
		if (info->job_array[i].job_id == entry->id)
			unchanged = is_unchanged(writer, entry,
						 &info->job_array[i], present);
	free(present);
	np_free_jobs(info);
	sending->checked = last ? UINT64_MAX : doubt;
	return unchanged;
}

/* Describe what a job, or a task that is split off its array, contains. */
static struct np_written make_written(const struct np_job_entry *entry,
				      uint32_t task, char *ours,
				      int64_t until_sec)
{
	bool is_task = task != NP_CHANGE_ALL;

	return (struct np_written){
		.id = is_task ? 0 : entry->id,
		.array = entry->array,
		.task = is_task ? task : entry->task,
		.ours = ours,
		.until_sec = until_sec,
	};
}

/* Send an update of a job, or of one task of its array. */
static enum update_result send_update(struct writer *writer,
				      const struct np_job_entry *entry,
				      uint32_t task, int64_t until_sec,
				      const struct np_update *update)
{
	struct np_cached_job *cached =
		np_job_cache_find(writer->cache, entry->id);
	bool is_task = task != NP_CHANGE_ALL;
	const struct np_written written =
		make_written(entry, task, update->ours, until_sec);
	struct np_sending sending = {
		.id = is_task ? entry->array : entry->id,
		.array = entry->array,
		.task = task,
		.owner = entry->in->owner,
		.exc_nodes = update->exc_nodes,
		.comment = update->comment,
		.written = &written,
	};
	unsigned n_checks = 0;
	char id_str[32];
	int rc;

	if (is_task)
		snprintf(id_str, sizeof(id_str), "%u_%u", sending.id, task);
	else
		snprintf(id_str, sizeof(id_str), "%u", sending.id);
	do {
		np_shared_set_sending(writer->shared, &sending);
		rc = np_update_send(sending.id, is_task ? id_str : NULL,
				    update);
		np_shared_set_sending(writer->shared, NULL);
	} while (rc == EAGAIN && n_checks < MAX_CHECKS &&
		 check_job(writer, entry, ++n_checks == MAX_CHECKS, &sending));
	if (has_no_answer(rc))
		np_shared_expect_late(writer->shared);
	if (rc == EAGAIN) /* np_modify() found a change by a user */
		np_job_cache_lost_race(writer->cache, entry->in->owner);
	/* Of an array, the record may end before the tasks that left it. */
	if (has_ended(rc) && entry->task != NP_JOB_ENTRY_NO_TASK)
		return UPDATE_NEEDLESS;
	if (rc == EAGAIN || np_update_too_late(rc))
		return UPDATE_RETRY;
	if (rc)
		return handle_refusal(writer, entry->id, id_str, rc);
	writer->out->updates++;
	if (cached)
		cached->failures = 0;
	return UPDATE_WRITTEN;
}

/*
 * Send an update of a job, or of one task of its array, if the share of its
 * owner allows it. until_sec: the begin time that is ours; 0: none.
 */
static enum update_result try_update(struct writer *writer,
				     const struct np_job_entry *entry,
				     uint32_t task, int64_t until_sec,
				     const struct np_update *update)
{
	enum update_result result = UPDATE_RETRY;

	if (take_update(writer, entry))
		result = send_update(writer, entry, task, until_sec, update);
	if (result == UPDATE_RETRY)
		writer->out->needs_another_pass = true;
	return result;
}

/*
 * Record in out->written what a job, or a task that is split off its array,
 * contains. A task is recorded even if it contains nothing, because its array
 * contains something else. Takes ownership of our_list. Returns 0 or -ENOMEM.
 */
static int record_written(struct writer *writer,
			  const struct np_job_entry *entry, uint32_t task,
			  char *our_list, int64_t until_sec)
{
	struct np_applied *out = writer->out;

	if (!our_list && !until_sec && task == NP_CHANGE_ALL)
		return 0;
	if (np_array_grow(&out->written, out->n_written,
			  sizeof(*out->written))) {
		free(our_list);
		return -ENOMEM;
	}
	out->written[out->n_written++] =
		make_written(entry, task, our_list, until_sec);
	return 0;
}

/*
 * Record what a job contains that the second pass has not updated. Returns 0 or
 * -ENOMEM.
 */
static int record_unchanged(struct writer *writer, size_t i)
{
	const struct np_job_entry *entry = &writer->jobs->job[i];
	const struct np_annotation *annotation = &entry->annotation;
	char *our_list;

	if (writer->first_pass[i] == PASS1_HELD)
		return record_written(writer, entry, NP_CHANGE_ALL, NULL,
				      writer->jobs->now_sec + HOLD_SEC);
	if (!entry->in_effect)
		return 0;
	our_list = annotation->ours ? strdup(annotation->ours) : NULL;
	if (annotation->ours && !our_list)
		return -ENOMEM;
	return record_written(writer, entry, NP_CHANGE_ALL, our_list,
			      annotation->until_sec);
}

/*
 * Cache the comment that was written, in case somebody overwrites it before the
 * next pass. Without an annotation nothing is cached, so that an old annotation
 * does not return.
 */
static void cache_comment(struct np_job_cache *cache, uint32_t id,
			  const char *comment)
{
	struct np_cached_job *cached = np_job_cache_find(cache, id);

	if (!cached)
		return;
	free(cached->comment);
	cached->comment = np_annotation_exists(comment) ? strdup(comment) :
							  NULL;
}

/*
 * Write an outcome into a job, and record it in out->written. Returns 1; or 0
 * if it has to be tried again, and then nothing is recorded; or -ENOMEM.
 */
static int write_job(struct writer *writer, size_t i,
		     const struct np_outcome *outcome, bool force)
{
	const struct np_job_entry *entry = &writer->jobs->job[i];
	enum update_result result = UPDATE_WRITTEN;
	int64_t until_sec = outcome->applied ? outcome->until_sec : 0;
	struct np_update update;
	int rc = np_update_make(writer->jobs, i, outcome, force, &update);

	if (rc > 0)
		result = try_update(writer, entry, NP_CHANGE_ALL, until_sec,
				    &update);
	if (result == UPDATE_WRITTEN && update.comment)
		cache_comment(writer->cache, entry->id, update.comment);
	if (rc >= 0 && result == UPDATE_NEEDLESS) {
		rc = 1;
	} else if (rc >= 0 && result != UPDATE_RETRY) {
		rc = record_written(writer, entry, NP_CHANGE_ALL, update.ours,
				    until_sec);
		update.ours = NULL;
	}
	np_update_clear(&update);
	return rc < 0 ? rc : result != UPDATE_RETRY;
}

/*
 * Hold a job that is reassigned, so that it cannot start before all others are
 * narrowed. Returns 1, or 0 if it has to be tried again, or -ENOMEM.
 */
static int hold_reassigned_job(struct writer *writer, size_t i)
{
	const struct np_outcome held = {
		.action = NP_ACT_HOLD,
		.applied = true,
		.until_sec = writer->jobs->now_sec + HOLD_SEC,
		.held_sec = np_outcome_of(writer->placement, i)->held_sec,
	};
	enum update_result result = UPDATE_WRITTEN;
	struct np_update update;
	int rc = np_update_make(writer->jobs, i, &held, false, &update);

	if (rc > 0)
		result = try_update(writer, &writer->jobs->job[i],
				    NP_CHANGE_ALL, held.until_sec, &update);
	if (result == UPDATE_WRITTEN && update.comment)
		cache_comment(writer->cache, writer->jobs->job[i].id,
			      update.comment);
	np_update_clear(&update);
	if (rc < 0)
		return rc;
	if (result == UPDATE_RETRY)
		return 0;
	writer->first_pass[i] = PASS1_HELD;
	return 1;
}

/*
 * Split off the tasks of an array that get leaves of their own. Returns 1 if
 * all of them were updated, 0 if not, or -ENOMEM. The rest of the array also
 * waits for a task that Slurm keeps refusing.
 */
static int write_tasks(struct writer *writer, size_t i)
{
	const struct np_outcome *outcome = np_outcome_of(writer->placement, i);
	const struct np_job_entry *entry = &writer->jobs->job[i];
	bool all_updated = true;

	for (size_t k = 0;
	     outcome->applied && k < outcome->tasks && k < entry->n_tasks;
	     k++) {
		const struct np_outcome task = {
			.action = outcome->task_leaves[k] ? NP_ACT_RESTRICT :
							    NP_ACT_UNRESTRICTED,
			.leaves = outcome->task_leaves[k],
			.applied = true,
			.held_sec = outcome->held_sec,
		};
		struct np_update update;
		/*
		 * Set all values (force): a task that is split off inherits
		 * the begin time of the array, which the first pass may have
		 * set.
		 */
		int rc = np_update_make(writer->jobs, i, &task, true, &update);

		if (rc > 0 && try_update(writer, entry, entry->tasks[k], 0,
					 &update) == UPDATE_WRITTEN) {
			rc = record_written(writer, entry, entry->tasks[k],
					    update.ours, 0);
			update.ours = NULL;
		} else if (rc >= 0) {
			all_updated = false;
		}
		np_update_clear(&update);
		if (rc < 0)
			return rc;
	}
	return all_updated;
}

/*
 * First pass, for each job: write its outcome if it narrows the job. If it
 * cannot be written, jobs that conflict with this one do not get more leaves.
 */
static int write_narrowing(struct writer *writer, size_t i)
{
	const struct np_outcome *outcome = np_outcome_of(writer->placement, i);
	const struct np_job_entry *entry = &writer->jobs->job[i];
	int rc;

	if (!outcome->narrows)
		return 0;
	rc = outcome->reassigns ? hold_reassigned_job(writer, i) :
				  write_job(writer, i, outcome, false);
	if (rc)
		return rc < 0 ? rc : 0;
	if (entry->changed && !writer->out->incomplete)
		np_job_cache_lost_race(writer->cache, entry->in->owner);
	writer->first_pass[i] = PASS1_NOT_WRITTEN;
	return np_placement_update_failed(writer->placement, i);
}

/*
 * Second pass, for each job: write the outcomes that do not narrow. Tasks are
 * split off before the rest of their array gets leaves.
 */
static int write_rest(struct writer *writer, size_t i)
{
	const struct np_outcome *outcome = np_outcome_of(writer->placement, i);
	bool may_widen = !writer->out->incomplete &&
			 writer->first_pass[i] != PASS1_NOT_WRITTEN;
	bool already_written = outcome->narrows && !outcome->reassigns &&
			       writer->first_pass[i] == PASS1_DONE;
	int rc;

	if (may_widen && !np_placement_may_widen(writer->placement, i)) {
		writer->out->needs_another_pass = true;
		may_widen = false;
	}
	rc = may_widen ? write_tasks(writer, i) : 0;
	if (rc < 0)
		return rc;
	if (already_written)
		return 0;
	/*
	 * Set all values of a job that is reassigned: the first pass has held
	 * it, so it no longer contains what the snapshot says.
	 */
	if (rc)
		rc = write_job(writer, i, outcome, outcome->reassigns);
	if (rc)
		return rc < 0 ? rc : 0;
	return record_unchanged(writer, i);
}

static int write_jobs(struct writer *writer,
		      int (*write_one)(struct writer *writer, size_t i))
{
	int rc = 0;

	for (size_t i = 0; !rc && i < writer->jobs->n_jobs; i++)
		if (writer->jobs->job[i].managed)
			rc = write_one(writer, i);
	return rc;
}

static void log_ignored_user(uint32_t uid)
{
	np_ctl_info("uid %u changes jobs faster than placement can update "
		    "them: this user's pending jobs are ignored for %d s",
		    uid, NP_IGNORE_USER_SEC);
}

int np_apply(const struct np_job_snapshot *jobs, struct np_placement *placement,
	     struct np_job_cache *cache, struct np_shared *shared,
	     size_t max_updates, bool (*may_continue)(void *arg), void *arg,
	     struct np_applied *out)
{
	struct writer writer = {
		.jobs = jobs,
		.placement = placement,
		.cache = cache,
		.shared = shared,
		.shares = { .limit = max_updates },
		.may_continue = may_continue,
		.arg = arg,
		.first_pass =
			calloc(jobs->n_jobs + 1, sizeof(*writer.first_pass)),
		.out = out,
	};
	int rc;

	*out = (struct np_applied){ .written = NULL };
	if (!writer.first_pass)
		return -ENOMEM;
	rc = write_jobs(&writer, write_narrowing);
	if (!rc)
		rc = write_jobs(&writer, write_rest);
	np_job_cache_end_pass(cache, jobs->now_sec, log_ignored_user);
	np_shares_free(&writer.shares);
	free(writer.first_pass);
	return rc;
}
