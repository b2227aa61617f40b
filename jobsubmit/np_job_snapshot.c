/*
 * Makes the job snapshot from Slurm's nodes and jobs, in the form that the
 * decision reads.
 *
 * Placement changes the excluded nodes and the begin time of pending jobs,
 * which users set as well. The user's own settings are therefore found from
 * three sources: the annotation in the job, the changes that users made since
 * the last snapshot (np_shared.h), and the job itself.
 */
#include "np_job_snapshot.h"

#include <errno.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "np_array.h"
#include "np_bits.h"
#include "np_ctl.h"

/*
 * The lists of a change, as bitmaps of nodes. They are parsed only once, even
 * if an array has many records.
 */
struct np_change_lists {
	bool parsed;
	/* Results of np_cluster_map_parse_hostlist(). */
	int passed_on_rc, requested_rc;
	uint64_t *passed_on, *requested;
};

/* State while a job snapshot is made. */
struct builder {
	const struct np_job_snapshot_input *in;
	struct np_job_snapshot *out;
	struct np_change_lists *lists; /* of each change */
	uint64_t *scratch; /* four bitmaps of nodes, and one of leaves */
	uint32_t *node;	   /* scratch: indices of the nodes of a running job */
};

/* ---- Job cache ---- */

/* A user against whom the thread has lost races; see np_job_snapshot.h. */
struct racing_user {
	uint32_t uid;
	unsigned passes; /* in which that happened, of the current row */
	bool in_this_pass;
	int64_t ignored_until_sec; /* until then, jobs are ignored */
};

struct np_job_cache {
	void *cached; /* entries, a tree of tsearch(3) by id */
	struct racing_user *racing_user;
	size_t n_racing_users;
	unsigned row; /* consecutive passes with races lost to anybody */
	unsigned refused_row; /* consecutive passes with refused updates */
	bool refused;	      /* in this pass */
};

int np_job_cache_new(struct np_job_cache **out)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : -ENOMEM;
}

static void free_cached(void *entry)
{
	struct np_cached_job *cached = entry;

	free(cached->comment);
	free(cached);
}

void np_job_cache_free(struct np_job_cache *cache)
{
	if (!cache)
		return;
	tdestroy(cache->cached, free_cached);
	free(cache->racing_user);
	free(cache);
}

struct np_cached_job *np_job_cache_find(struct np_job_cache *cache, uint32_t id)
{
	const struct np_cached_job key = { .id = id };
	void *found = tfind(&key, &cache->cached, np_order_u32);

	return found ? *(struct np_cached_job **)found : NULL;
}

struct np_cached_job *np_job_cache_add(struct np_job_cache *cache, uint32_t id)
{
	struct np_cached_job *cached = np_job_cache_find(cache, id);

	if (!cached) {
		cached = calloc(1, sizeof(*cached));
		if (!cached)
			return NULL;
		cached->id = id;
		if (!tsearch(cached, &cache->cached, np_order_u32)) {
			free(cached);
			return NULL;
		}
	}
	cached->in_snapshot = true;
	return cached;
}

/* Entries to remove; the tree must not change while it is walked. */
struct sweep {
	struct np_cached_job **gone;
	size_t n;
};

/* twalk_r() callback: collect entries that are not in the snapshot. */
static void collect_gone(const void *node, VISIT which, void *arg)
{
	struct np_cached_job *cached = *(struct np_cached_job *const *)node;
	struct sweep *sweep = arg;

	if (which != postorder && which != leaf)
		return;
	if (!cached->in_snapshot &&
	    !np_array_grow(&sweep->gone, sweep->n, sizeof(*sweep->gone)))
		sweep->gone[sweep->n++] = cached;
	cached->in_snapshot = false;
}

void np_job_cache_sweep(struct np_job_cache *cache)
{
	struct sweep sweep = { NULL, 0 };

	twalk_r(cache->cached, collect_gone, &sweep);
	for (size_t i = 0; i < sweep.n; i++) {
		tdelete(sweep.gone[i], &cache->cached, np_order_u32);
		free_cached(sweep.gone[i]);
	}
	free(sweep.gone);
}

static struct racing_user *find_racing_user(const struct np_job_cache *cache,
					    uint32_t uid)
{
	for (size_t i = 0; i < cache->n_racing_users; i++)
		if (cache->racing_user[i].uid == uid)
			return &cache->racing_user[i];
	return NULL;
}

void np_job_cache_lost_race(struct np_job_cache *cache, uint32_t uid)
{
	struct racing_user *user = find_racing_user(cache, uid);

	if (!user && np_array_grow(&cache->racing_user, cache->n_racing_users,
				   sizeof(*user)))
		return; /* out of memory: counted from the next time on */
	if (!user) {
		user = &cache->racing_user[cache->n_racing_users++];
		*user = (struct racing_user){ .uid = uid };
	}
	user->in_this_pass = true;
}

/* If the clock was set back, a user must not be ignored for longer. */
static bool is_ignored_now(const struct racing_user *user, int64_t now_sec)
{
	return user->ignored_until_sec > now_sec &&
	       user->ignored_until_sec <= now_sec + NP_IGNORE_USER_SEC;
}

bool np_job_cache_refused(struct np_job_cache *cache)
{
	if (cache->refused_row == NP_LOST_RACES)
		return true;
	cache->refused = true;
	return false;
}

/* Count a pass with a lost race. Returns whether the user is ignored from now. */
static bool count_lost_race(struct racing_user *user, unsigned row,
			    int64_t now_sec)
{
	if (++user->passes < 2 || row < NP_LOST_RACES)
		return false;
	user->passes = 0;
	user->ignored_until_sec = now_sec + NP_IGNORE_USER_SEC;
	return true;
}

void np_job_cache_end_pass(struct np_job_cache *cache, int64_t now_sec,
			   void (*on_ignored)(uint32_t uid))
{
	bool any = false;
	size_t n = 0;

	for (size_t i = 0; i < cache->n_racing_users; i++)
		any |= cache->racing_user[i].in_this_pass;
	cache->row = any ? cache->row + 1 : 0;
	cache->refused_row = cache->refused ? cache->refused_row + 1 : 0;
	cache->refused = false;
	for (size_t i = 0; i < cache->n_racing_users; i++) {
		struct racing_user user = cache->racing_user[i];

		if (user.in_this_pass &&
		    count_lost_race(&user, cache->row, now_sec) && on_ignored)
			on_ignored(user.uid);
		/* After a pass without a lost race, counting begins at 0. */
		if (any || is_ignored_now(&user, now_sec)) {
			user.passes = any ? user.passes : 0;
			user.in_this_pass = false;
			cache->racing_user[n++] = user;
		}
	}
	cache->n_racing_users = n;
}

bool np_job_cache_ignores(const struct np_job_cache *cache, uint32_t uid,
			  int64_t now_sec)
{
	const struct racing_user *user = find_racing_user(cache, uid);

	return user && is_ignored_now(user, now_sec);
}

/* ---- One job: from Slurm's record to the decision's form ---- */

/* Collect the requirements of a job from Slurm's record. */
static struct np_job_requirements job_requirements(const slurm_job_info_t *job)
{
	struct np_job_requirements required;

	required = NP_JOB_REQUIREMENTS(job, NP_JOB_SEGMENT(job), job->num_cpus,
				       job->num_nodes);
	np_job_requirements_set_memory(&required, job->pn_min_memory);
	return required;
}

/* Whether the job has nodes; even one that is completing or suspended does. */
static bool holds_nodes(const slurm_job_info_t *job)
{
	uint32_t base = job->job_state & JOB_STATE_BASE;

	return base == JOB_RUNNING || base == JOB_SUSPENDED ||
	       job->job_state & JOB_COMPLETING;
}

/* In a federation, a job that runs on another cluster is pending and revoked. */
static bool is_pending(const slurm_job_info_t *job)
{
	return (job->job_state & JOB_STATE_BASE) == JOB_PENDING &&
	       !(job->job_state & JOB_REVOKED);
}

/* Whether a pending job may start without an intervention, by its reason. */
static bool is_ready(const slurm_job_info_t *job)
{
	if (!job->priority && job->state_reason != FAIL_BAD_CONSTRAINTS)
		return false;
	switch (job->state_reason) {
	case WAIT_NO_REASON:
	case WAIT_PRIORITY:
	case WAIT_RESOURCES:
	case WAIT_TIME:
	case WAIT_LICENSES:
	case WAIT_NODE_NOT_AVAIL:
	case WAIT_CLEANING:
	case FAIL_BAD_CONSTRAINTS: /* perhaps due to our own exclusions */
		return true;
	default:
		return false;
	}
}

bool np_job_snapshot_app(const struct np_place_conf *conf,
			 const slurm_job_info_t *job, char app[NP_APP_MAX + 1])
{
	struct np_annotation annotation;
	const char *by_rule;

	app[0] = '\0';
	if (!np_annotation_read(job->admin_comment, &annotation)) {
		strcpy(app, annotation.app);
		np_annotation_clear(&annotation);
	}
	by_rule = app[0] ? NULL :
			   np_place_conf_app(conf, job->name, job->comment);
	if (by_rule)
		strcpy(app, by_rule);
	return app[0];
}

/*
 * Find the index of the job's profile. Also sets the application in *entry, and
 * whether the user may use its name. By now Slurm has set the default account,
 * so a job without an account has none.
 */
static int32_t find_profile(const struct builder *builder,
			    const slurm_job_info_t *job, const char *partition,
			    struct np_job_entry *entry)
{
	const struct np_auth_request who = {
		.uid = job->user_id,
		.account = job->account ? job->account : "",
		.partition = partition,
	};

	return np_job_snapshot_app(builder->in->conf, job, entry->app) &&
			       builder->in->index ?
		       np_app_index_of_job(builder->in->index, entry->app, &who,
					   &entry->auth) :
		       NP_PROFILE_UNKNOWN;
}

/* Derive the flags for the snapshot from Slurm's record. */
static unsigned snapshot_flags(const struct builder *builder,
			       const slurm_job_info_t *job, int partition)
{
	unsigned flags = 0;

	if (partition >= 0 && job->shared != JOB_SHARED_NONE &&
	    job->shared != JOB_SHARED_TOPO &&
	    builder->out->map->part[partition].shares_nodes)
		flags |= NP_JOB_SHARES_NODES;
	if (job->req_nodes && *job->req_nodes)
		flags |= NP_JOB_NODELIST;
	if (job->resv_name && *job->resv_name)
		flags |= NP_JOB_RESERVATION;
	if (job->het_job_id && job->het_job_id != NO_VAL)
		flags |= NP_JOB_HETEROGENEOUS;
	if (job->deadline && job->deadline != NO_VAL)
		flags |= NP_JOB_URGENT;
	return flags;
}

/* Fill in which tasks of an array a record is for. Returns 0 or -ENOMEM. */
static int add_tasks(const slurm_job_info_t *job, struct np_job_entry *entry,
		     struct np_job *result)
{
	int64_t bit, end;

	result->tasks = 1;
	if (!job->array_job_id)
		return 0;
	entry->array = result->array = job->array_job_id;
	entry->task = result->task = np_zero_if_unset(job->array_task_id);
	if (job->array_task_id != NO_VAL || !job->array_bitmap)
		return 0;
	entry->task = NP_JOB_ENTRY_NO_TASK;
	bit = slurm_bit_ffs(job->array_bitmap);
	if (bit < 0)
		return 0;
	result->task = (uint32_t)bit;
	result->tasks = (uint32_t)slurm_bit_set_count(job->array_bitmap);
	entry->tasks = calloc(NP_PLACEMENT_MAX_TASKS, sizeof(*entry->tasks));
	if (!entry->tasks)
		return -ENOMEM;
	end = slurm_bit_size(job->array_bitmap);
	for (; bit < end && entry->n_tasks < NP_PLACEMENT_MAX_TASKS; bit++)
		if (slurm_bit_test(job->array_bitmap, bit))
			entry->tasks[entry->n_tasks++] = (uint32_t)bit;
	return 0;
}

/* Fill in the nodes of a running job. */
static void add_running_nodes(struct builder *builder,
			      const slurm_job_info_t *job,
			      struct np_job *result)
{
	size_t words = builder->out->map->words;

	np_cluster_map_from_ranges(builder->out->map, job->node_inx,
				   builder->scratch);
	NP_BITS_EACH(i, builder->scratch, words)
		builder->node[result->n_nodes++] = (uint32_t)i;
	result->node = builder->node;
}

/* ---- A pending job: which settings are the user's, and which are ours ---- */

/* The latest changes of one job by users who may change it, latest first. */
struct job_changes {
	const struct np_change *change[NP_CHANGES_FOUND];
	size_t n;
};

static void find_changes(const struct builder *builder,
			 const slurm_job_info_t *job,
			 struct job_changes *changes)
{
	uint32_t task = job->array_task_id == NO_VAL ? NP_CHANGE_ALL :
						       job->array_task_id;

	changes->n = np_changes_find(builder->in->change,
				     builder->in->n_changes, job->job_id,
				     job->array_job_id, task, job->user_id,
				     changes->change, NP_CHANGES_FOUND);
}

/*
 * Return the lists of a change as bitmaps, which the builder owns, or NULL when
 * out of memory.
 */
static const struct np_change_lists *parse_lists(const struct builder *builder,
						 const struct np_change *change)
{
	struct np_change_lists *lists =
		&builder->lists[change - builder->in->change];
	size_t words = builder->out->map->words;

	if (lists->parsed)
		return lists;
	lists->passed_on = calloc(2 * words, sizeof(*lists->passed_on));
	if (!lists->passed_on)
		return NULL;
	lists->requested = lists->passed_on + words;
	lists->passed_on_rc = np_cluster_map_parse_hostlist(
		builder->out->map, change->passed_on, lists->passed_on);
	lists->requested_rc = np_cluster_map_parse_hostlist(
		builder->out->map, change->exc_nodes, lists->requested);
	lists->parsed = true;
	return lists;
}

/*
 * Find the latest change whose list is the one that the job has at present. If
 * there is none, *out is NULL. Returns 0 or -ENOMEM.
 */
static int find_lists_in_effect(const struct builder *builder,
				const struct job_changes *changes,
				const uint64_t *present,
				const struct np_change_lists **out)
{
	size_t bytes = builder->out->map->words * sizeof(*present);

	*out = NULL;
	for (size_t i = 0; i < changes->n && !*out; i++) {
		const struct np_change_lists *lists;

		if (!changes->change[i]->passed_on)
			continue;
		lists = parse_lists(builder, changes->change[i]);
		if (!lists)
			return -ENOMEM;
		if (!lists->passed_on_rc &&
		    !memcmp(lists->passed_on, present, bytes))
			*out = lists;
	}
	return 0;
}

/* Return the time, or 0 if it has passed, as Slurm then ignores it. */
static int64_t if_future(int64_t sec, int64_t now_sec)
{
	return sec > now_sec ? sec : 0;
}

/*
 * Find the latest change whose begin time is the one that the job has at
 * present, where all times that have passed are equal. Returns NULL if there is
 * none.
 */
static const struct np_change *
find_begin_in_effect(const struct builder *builder,
		     const struct job_changes *changes,
		     const slurm_job_info_t *job)
{
	int64_t now = builder->out->now_sec;
	int64_t present = if_future(job->eligible_time, now);

	for (size_t i = 0; i < changes->n; i++) {
		const struct np_change *change = changes->change[i];

		if (change->begin_sec &&
		    if_future(change->passed_on_begin_sec, now) == present)
			return change;
	}
	return NULL;
}

/* Bitmaps of a job's excluded nodes, as in struct np_job_entry. */
struct exclusions {
	uint64_t *user, *written, *present;
};

/*
 * Fill in *exclusions: the excluded nodes that the user wants, those that are
 * ours, and those that the job has. entry->annotation is used only if annotated
 * is true. Returns 0, or -errno if the user's list cannot be parsed.
 */
static int find_exclusions(struct builder *builder, const slurm_job_info_t *job,
			   const struct job_changes *changes,
			   struct np_job_entry *entry, bool annotated,
			   struct exclusions *exclusions)
{
	const struct np_cluster_map *map = builder->out->map;
	size_t words = map->words;
	const struct np_change_lists *lists;
	int rc;

	np_cluster_map_from_ranges(map, job->exc_node_inx, exclusions->present);
	/* A list that cannot be parsed was not written by us. */
	annotated = annotated &&
		    !np_cluster_map_parse_hostlist(map, entry->annotation.user,
						   exclusions->user) &&
		    !np_cluster_map_parse_hostlist(map, entry->annotation.ours,
						   exclusions->written);
	entry->in_effect =
		annotated &&
		np_bits_subset(exclusions->written, exclusions->present, words);
	if (!annotated) {
		memset(exclusions->user, 0, words * sizeof(*exclusions->user));
		memset(exclusions->written, 0,
		       words * sizeof(*exclusions->written));
	}
	np_annotation_find_user_nodes(exclusions->user, exclusions->written,
				      exclusions->present, words);
	rc = find_lists_in_effect(builder, changes, exclusions->present,
				  &lists);
	if (rc || !lists)
		return rc;
	memcpy(exclusions->user, lists->requested,
	       words * sizeof(*exclusions->user));
	return lists->requested_rc;
}

/*
 * Copy the bitmaps into the entry. Equal ones share memory, because there are
 * thousands of jobs, and most of their bitmaps are empty or equal. Returns 0 or
 * -ENOMEM.
 */
static int store_exclusions(struct builder *builder,
			    const struct exclusions *exclusions,
			    struct np_job_entry *entry)
{
	const uint64_t *from[] = { builder->out->none, exclusions->user,
				   exclusions->written, exclusions->present };
	const uint64_t *to[4] = { builder->out->none };
	size_t bytes = builder->out->map->words * sizeof(*entry->bits);
	int same_as[4] = { 0 }; /* index of the first bitmap that is equal */
	int n = 0;		/* bitmaps that need memory of their own */

	for (int i = 1; i < 4; i++) {
		while (same_as[i] < i &&
		       memcmp(from[same_as[i]], from[i], bytes))
			same_as[i]++;
		n += same_as[i] == i;
	}
	entry->bits = n ? malloc((size_t)n * bytes) : NULL;
	if (n && !entry->bits)
		return -ENOMEM;
	n = 0;
	for (int i = 1; i < 4; i++) {
		to[i] = same_as[i] < i ? to[same_as[i]] :
					 memcpy((char *)entry->bits +
							(size_t)n++ * bytes,
						from[i], bytes);
	}
	entry->user = to[1];
	entry->written = to[2];
	entry->present = to[3];
	return 0;
}

/*
 * Find the user's begin time. Then derive the prior decision about the job, as
 * all that it depends on is known by now.
 */
static void find_begin_time(struct builder *builder,
			    const slurm_job_info_t *job,
			    const struct job_changes *changes,
			    struct np_job_entry *entry, struct np_job *result)
{
	const struct np_change *change =
		find_begin_in_effect(builder, changes, job);
	int64_t now = builder->out->now_sec;
	bool held = entry->annotation.until_sec &&
		    entry->annotation.until_sec == job->eligible_time;

	entry->begin_sec = if_future(job->eligible_time, now);
	if (change)
		entry->annotation.begin_sec = change->begin_sec;
	else if (!held)
		entry->annotation.begin_sec = entry->begin_sec;
	entry->annotation.begin_sec =
		if_future(entry->annotation.begin_sec, now);
	if (!held && entry->annotation.until_sec)
		entry->in_effect = false;
	result->eligible_sec = entry->annotation.begin_sec;
	if (!entry->in_effect || !entry->annotation.decided)
		result->prior = NP_PRIOR_NONE;
	else if (held)
		result->prior = NP_PRIOR_HELD;
	else if (np_bits_any(entry->written, builder->out->map->words))
		result->prior = NP_PRIOR_RESTRICTED;
	else
		result->prior = NP_PRIOR_UNRESTRICTED;
	result->prior_until_sec = held ? entry->annotation.until_sec : 0;
}

/*
 * Read the annotation, or use the cached one if somebody damaged or overwrote
 * it. Returns 0, -ENOENT (there is none) or -ENOMEM.
 */
static int read_annotation(struct np_cached_job *cached,
			   const slurm_job_info_t *job,
			   struct np_job_entry *entry)
{
	int rc = np_annotation_read(job->admin_comment, &entry->annotation);

	if (rc == -ENOMEM)
		return rc;
	if (rc)
		return cached->comment ?
			       np_annotation_read(cached->comment,
						  &entry->annotation) :
			       -ENOENT;
	if (cached->comment && !strcmp(cached->comment, job->admin_comment))
		return 0;
	free(cached->comment);
	cached->comment = strdup(job->admin_comment);
	return cached->comment ? 0 : -ENOMEM;
}

/* Whether the user changes jobs faster than placement can update them. */
static bool is_user_ignored(const struct builder *builder,
			    const slurm_job_info_t *job)
{
	return np_job_cache_ignores(builder->in->cache, job->user_id,
				    builder->out->now_sec);
}

/*
 * Fill in the settings of a pending job's user and the prior decision. Returns
 * 0, -ENOMEM or another -errno.
 */
static int find_user_settings(struct builder *builder,
			      const slurm_job_info_t *job,
			      struct np_job_entry *entry, struct np_job *result)
{
	size_t words = builder->out->map->words;
	struct np_cached_job *cached =
		np_job_cache_add(builder->in->cache, job->job_id);
	uint64_t *leaves = builder->scratch + 4 * words;
	/* The first bitmap of scratch is in use by the caller. */
	struct exclusions exclusions = { builder->scratch + words,
					 builder->scratch + 2 * words,
					 builder->scratch + 3 * words };
	struct job_changes changes;
	int rc;

	if (job->admin_comment)
		entry->comment = strdup(job->admin_comment);
	if (!cached || (job->admin_comment && !entry->comment))
		return -ENOMEM;
	rc = read_annotation(cached, job, entry);
	if (rc == -ENOMEM)
		return rc;
	/* Jobs of scrontab cannot be updated. */
	entry->managed = (!rc || np_annotation_exists(job->admin_comment) ||
			  result->mode >= NP_MODE_PREFER) &&
			 !(job->bitflags & CRON_JOB);
	find_changes(builder, job, &changes);
	entry->changed = changes.n;
	cached->all_user |= changes.n && is_user_ignored(builder, job);
	rc = find_exclusions(builder, job, &changes, entry,
			     !rc && !cached->all_user, &exclusions);
	cached->all_user &= is_user_ignored(builder, job);
	if (!rc)
		rc = store_exclusions(builder, &exclusions, entry);
	if (rc)
		return rc;
	find_begin_time(builder, job, &changes, entry, result);
	if (result->prior == NP_PRIOR_RESTRICTED) {
		np_leaves_allowed(builder->out->map->leaves, entry->written,
				  leaves);
		result->prior_leaves = leaves;
	}
	if (!cached->held_sec)
		cached->held_sec = entry->annotation.held_sec;
	result->held_sec = cached->held_sec;
	return 0;
}

/* Whether the list of excluded nodes is too long even without our part. */
static bool user_list_is_too_long(const slurm_job_info_t *job,
				  const struct np_job_entry *entry)
{
	size_t ours =
		entry->annotation.ours ? strlen(entry->annotation.ours) + 1 : 0;
	size_t most = NP_ANNOTATION_MAX_USER + ours;

	return job->exc_nodes && strnlen(job->exc_nodes, most + 1) > most;
}

/* Fill in which nodes a pending job can use, and how many it needs. */
static int add_pending_nodes(struct builder *builder,
			     const slurm_job_info_t *job,
			     struct np_job_entry *entry, struct np_job *result,
			     struct np_err *err)
{
	size_t words = builder->out->map->words;
	struct np_job_requirements required = job_requirements(job);
	uint64_t *nodes = builder->scratch;
	struct np_job_fit fit;
	int rc = np_cluster_map_fit(builder->out->map, &required, nodes, &fit);

	if (rc)
		return rc;
	if (fit.undetermined || job->bitflags & CRON_JOB)
		result->flags |= NP_JOB_CONSTRAINT;
	result->nodes_min = fit.min_nodes;
	result->switches = np_zero_if_unset(job->req_switch);
	rc = find_user_settings(builder, job, entry, result);
	if (rc)
		return rc;
	if (user_list_is_too_long(job, entry)) {
		result->flags |= NP_JOB_CONSTRAINT;
		entry->managed = false; /* the list is not analysed */
	}
	if (is_user_ignored(builder, job)) {
		result->flags |= NP_JOB_CHANGING;
		entry->managed = false; /* the job is not updated for now */
	}
	for (size_t w = 0; w < words; w++)
		nodes[w] &= ~entry->user[w];
	/* Usually these are all nodes of the partition, which is a set. */
	result->candidates = builder->out->set[fit.partition];
	return memcmp(nodes, builder->out->map->part[fit.partition].nodes,
		      words * sizeof(*nodes)) ?
		       np_snapshot_nodes(builder->out->snapshot, nodes,
					 &result->candidates, err) :
		       0;
}

/*
 * Add one job to the snapshot, and fill in *entry. Returns 0, -ENOENT if the
 * job neither has nodes nor waits for them, -EINVAL with err if the snapshot
 * refuses the job, or -ENOMEM.
 */
static int add_job_entry(struct builder *builder, const slurm_job_info_t *job,
			 struct np_job_entry *entry, struct np_err *err)
{
	/* Running jobs need a priority too, for np_placement's hold times. */
	struct np_job result = {
		.id = job->job_id,
		.owner = job->user_id,
		.priority = job->priority,
		.submit_sec = job->submit_time,
		/* Slurm's start time of a pending job is an estimate. */
		.start_sec = is_pending(job) ? 0 : job->start_time,
	};
	const char *partition;
	int rc;

	if (!holds_nodes(job) && !is_pending(job))
		return -ENOENT;
	*entry = (struct np_job_entry){
		.id = job->job_id,
		.sluid = NP_SLUID(job),
		.n_nodes = np_zero_if_unset(job->num_nodes),
	};
	entry->partition =
		np_cluster_map_partition(builder->out->map, job->partition);
	partition = entry->partition < 0 ?
			    job->partition :
			    builder->out->map->part[entry->partition].name;
	result.mode = np_place_conf_mode(builder->in->conf, partition);
	result.partition =
		(uint16_t)(entry->partition < 0 ? 0 : entry->partition);
	result.profile = find_profile(builder, job, partition, entry);
	result.flags = snapshot_flags(builder, job, entry->partition);
	if (entry->auth == NP_AUTH_OWN_JOBS)
		result.flags |= NP_JOB_UNPROVED;
	rc = add_tasks(job, entry, &result);
	if (!rc && holds_nodes(job)) {
		result.state = NP_JOB_RUNNING;
		np_annotation_read(job->admin_comment, &entry->annotation);
		add_running_nodes(builder, job, &result);
		rc = result.n_nodes ? 0 : -ENOENT;
	} else if (!rc) {
		result.state = is_ready(job) ? NP_JOB_READY : NP_JOB_WAITING;
		rc = add_pending_nodes(builder, job, entry, &result, err);
	}
	if (!rc)
		rc = np_snapshot_job(builder->out->snapshot, &result, err);
	if (rc) {
		np_annotation_clear(&entry->annotation);
		free(entry->comment);
		free(entry->bits);
		free(entry->tasks);
	}
	return rc;
}

/* ---- Loading from Slurm ---- */

/*
 * Load the text of the named topology, or of the cluster's if name is NULL.
 * Returns 0, -ENOMEM, -EIO, or -EBADMSG if slurmctld's answer is not known.
 */
static int load_topology_text(const char *name, char **text, struct np_err *err)
{
	topo_info_response_msg_t *msg = NULL;

	if (np_load_topo(&msg, name)) {
		int error = errno;

		return np_errf(err,
			       error == SLURM_UNEXPECTED_MSG_ERROR ? -EBADMSG :
								     -EIO,
			       "slurm_load_topo: %s", slurm_strerror(error));
	}
	return np_topo_text(msg, text) ?
		       np_errf(err, -ENOMEM, "out of memory") :
		       0;
}

static bool has_topology(const partition_info_t *part, const char *name)
{
	const char *own = np_partition_topology(part);

	return own && !strcmp(own, name);
}

/*
 * Print the topology of the i-th partition, with all partitions that use it,
 * unless an earlier one uses it. The cluster's own topology, which Slurm also
 * returns for a name that does not exist, is skipped. One that this program
 * does not know has no leaf switches. Returns 0 or -errno.
 */
static int append_topology(const partition_info_msg_t *parts, uint32_t i,
			   const char *cluster, FILE *out, struct np_err *err)
{
	const partition_info_t *part = parts->partition_array;
	const char *name = np_partition_topology(&part[i]);
	char *text = NULL;
	int rc;

	for (uint32_t k = 0; name && k < i; k++)
		if (has_topology(&part[k], name))
			return 0;
	if (!name)
		return 0;
	rc = load_topology_text(name, &text, err);
	if (rc && rc != -EBADMSG)
		return rc;
	*err = (struct np_err)NP_ERR_INIT;
	if (!text || strcmp(text, cluster)) {
		fprintf(out, "\nPartitions=%s", part[i].name);
		for (uint32_t k = i + 1; k < parts->record_count; k++)
			if (has_topology(&part[k], name))
				fprintf(out, ",%s", part[k].name);
		fprintf(out, "\n%s", text ? text : "");
	}
	free(text);
	return 0;
}

/*
 * Load all topologies, as the text that np_topo.h describes. Returns 0 or
 * -errno.
 */
static int load_topologies(const partition_info_msg_t *parts, char **text,
			   struct np_err *err)
{
	char *cluster;
	size_t len;
	FILE *out;
	int rc = load_topology_text(NULL, &cluster, err);

	if (rc)
		return rc;
	out = open_memstream(text, &len);
	if (out)
		fputs(cluster, out);
	for (uint32_t i = 0; out && !rc && i < parts->record_count; i++)
		rc = append_topology(parts, i, cluster, out, err);
	free(cluster);
	if (!out || fclose(out))
		rc = np_errf(err, -ENOMEM, "out of memory");
	return rc;
}

int np_ctld_info_load_jobs(struct np_ctld_info *info, struct np_err *err)
{
	int rc = 0;

	*info = (struct np_ctld_info){ NULL };
	/* Jobs are loaded first: the last decision's journal contains those
	   submitted in the meantime, and node states should be recent. */
	if (slurm_load_jobs(0, &info->jobs, SHOW_ALL))
		return np_errf(err, -EIO, "slurm_load_jobs: %s",
			       slurm_strerror(errno));
	if (slurm_load_node(0, &info->nodes, SHOW_ALL | SHOW_MIXED))
		rc = np_errf(err, -EIO, "slurm_load_node: %s",
			     slurm_strerror(errno));
	else if (slurm_load_partitions(0, &info->parts, SHOW_ALL))
		rc = np_errf(err, -EIO, "slurm_load_partitions: %s",
			     slurm_strerror(errno));
	if (rc)
		np_ctld_info_free(info);
	return rc;
}

int np_ctld_info_load(struct np_ctld_info *info, struct np_err *err)
{
	int rc = np_ctld_info_load_jobs(info, err);

	if (rc)
		return rc;
	rc = load_topologies(info->parts, &info->topology, err);
	if (rc)
		np_ctld_info_free(info);
	return rc;
}

void np_ctld_info_free(struct np_ctld_info *info)
{
	np_free_jobs(info->jobs);
	slurm_free_node_info_msg(info->nodes);
	slurm_free_partition_info_msg(info->parts);
	free(info->topology);
	*info = (struct np_ctld_info){ NULL };
}

/* Whether job_submit let the job start, so that its annotation has no hold. */
static bool was_admitted(const slurm_job_info_t *job)
{
	struct np_annotation annotation;
	bool admitted;

	if (np_annotation_read(job->admin_comment, &annotation))
		return false;
	admitted = !annotation.until_sec;
	np_annotation_clear(&annotation);
	return admitted;
}

/*
 * Whether a job is a new submission. An array task that gets an id of its own
 * when it starts is not.
 */
static bool is_arrival(const slurm_job_info_t *job, int64_t since_sec,
		       uint32_t last_id)
{
	return job->job_id > last_id && job->submit_time >= since_sec &&
	       (!job->array_job_id || job->array_job_id == job->job_id) &&
	       was_admitted(job);
}

int np_ctld_info_arrivals(const struct np_ctld_info *info, int64_t since_sec,
			  uint32_t *last_id, struct np_arrivals *out)
{
	size_t n_jobs = info->jobs->record_count, n = 0;
	struct np_arrival *arrivals = calloc(n_jobs + 1, sizeof(*arrivals));
	uint32_t highest = 0;

	if (!arrivals)
		return -ENOMEM;
	for (size_t i = 0; i < n_jobs; i++) {
		const slurm_job_info_t *job = &info->jobs->job_array[i];

		if (job->job_id > highest)
			highest = job->job_id;
		if (is_arrival(job, since_sec, *last_id))
			arrivals[n++] = (struct np_arrival){ job->user_id, 1 };
	}
	*last_id = highest;
	np_arrivals_init(out, since_sec, arrivals, n);
	return 0;
}

/* ---- The job snapshot ---- */

/*
 * Nodes that do not respond, or have not responded since slurmctld started,
 * count as full rather than down, because they may return at any moment. If all
 * counted as down, jobs would no longer be kept apart and would start together
 * once the nodes respond.
 */
static enum np_node_state classify_node(const node_info_t *node)
{
	const uint32_t unavailable =
		NODE_STATE_DRAIN | NODE_STATE_FAIL | NODE_STATE_MAINT |
		NODE_STATE_RES | NODE_STATE_POWERING_DOWN |
		NODE_STATE_REBOOT_ISSUED | NODE_STATE_INVALID_REG;
	uint32_t base = node->node_state & NODE_STATE_BASE;

	if (!node->name || node->node_state & unavailable ||
	    base == NODE_STATE_DOWN)
		return NP_NODE_UNAVAILABLE;
	if (node->node_state & NODE_STATE_NO_RESPOND)
		return NP_NODE_FULL;
	switch (base) {
	case NODE_STATE_UNKNOWN:
		return NP_NODE_FULL;
	case NODE_STATE_IDLE:
		return node->node_state & NODE_STATE_COMPLETING ? NP_NODE_FULL :
								  NP_NODE_IDLE;
	case NODE_STATE_MIXED:
		return NP_NODE_MIXED;
	case NODE_STATE_ALLOCATED:
		return NP_NODE_FULL;
	default:
		return NP_NODE_UNAVAILABLE;
	}
}

/*
 * Add the states of all nodes. If all are down, as during maintenance, they
 * count as full: when they return together, Slurm starts the queue in one
 * scheduling pass, so the jobs must be kept apart before that.
 */
static int add_nodes(struct np_job_snapshot *snapshot,
		     const node_info_msg_t *nodes, struct np_err *err)
{
	size_t n = snapshot->map->n_nodes, n_unavailable = 0;
	int rc = 0;

	snapshot->node = calloc(n, sizeof(*snapshot->node));
	if (!snapshot->node)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		snapshot->node[i] = classify_node(&nodes->node_array[i]);
		n_unavailable += snapshot->node[i] == NP_NODE_UNAVAILABLE;
	}
	for (size_t i = 0; !rc && i < n; i++)
		rc = np_snapshot_node(snapshot->snapshot, i,
				      n_unavailable == n ? NP_NODE_FULL :
							   snapshot->node[i],
				      err);
	return rc;
}

/* Add the nodes of each partition as a set. */
static int add_partition_sets(struct np_job_snapshot *snapshot,
			      struct np_err *err)
{
	size_t n = snapshot->map->n_parts;
	int rc = 0;

	snapshot->set = calloc(n + 1, sizeof(*snapshot->set));
	if (!snapshot->set)
		return -ENOMEM;
	for (size_t i = 0; !rc && i < n; i++)
		rc = np_snapshot_nodes(snapshot->snapshot,
				       snapshot->map->part[i].nodes,
				       &snapshot->set[i], err);
	return rc;
}

/* Add all jobs except those that the snapshot refuses. Returns 0 or -ENOMEM. */
static int add_jobs(struct builder *builder, const job_info_msg_t *jobs,
		    struct np_err *err)
{
	struct np_job_snapshot *snapshot = builder->out;

	snapshot->job = calloc(jobs->record_count + 1, sizeof(*snapshot->job));
	if (!snapshot->job)
		return -ENOMEM;
	for (uint32_t i = 0; i < jobs->record_count; i++) {
		int rc = add_job_entry(builder, &jobs->job_array[i],
				       &snapshot->job[snapshot->n_jobs], err);

		if (!rc)
			snapshot->n_jobs++;
		else if (rc == -ENOMEM)
			return rc;
	}
	return 0;
}

int np_job_snapshot_make(const struct np_job_snapshot_input *in,
			 struct np_job_snapshot *out, struct np_err *err)
{
	struct np_cluster_map *map = in->map;
	struct np_job_snapshot snapshot = { .map = np_cluster_map_ref(map),
					    .now_sec = in->now_sec };
	struct builder builder = { .in = in, .out = &snapshot };
	int rc = np_snapshot_new(map->leaves, in->now_sec, in->last_sec,
				 &snapshot.snapshot, err);

	builder.scratch = calloc(4 * map->words + map->leaves->words,
				 sizeof(*builder.scratch));
	builder.lists = calloc(in->n_changes + 1, sizeof(*builder.lists));
	snapshot.none = calloc(map->words, sizeof(*snapshot.none));
	builder.node = calloc(map->n_nodes, sizeof(*builder.node));
	if (!rc && (!builder.scratch || !builder.lists || !builder.node ||
		    !snapshot.none))
		rc = -ENOMEM;
	if (!rc)
		rc = add_nodes(&snapshot, in->info->nodes, err);
	if (!rc)
		rc = add_partition_sets(&snapshot, err);
	if (!rc)
		rc = add_jobs(&builder, in->info->jobs, err);
	for (size_t i = 0; builder.lists && i < in->n_changes; i++)
		free(builder.lists[i].passed_on);
	free(builder.lists);
	free(builder.scratch);
	free(builder.node);
	if (rc) {
		np_job_snapshot_free(&snapshot);
		return rc == -ENOMEM ? np_errf(err, rc, "out of memory") : rc;
	}
	np_snapshot_seal(snapshot.snapshot);
	for (size_t i = 0; i < snapshot.n_jobs; i++)
		snapshot.job[i].in = &snapshot.snapshot->job[i];
	*out = snapshot;
	return 0;
}

void np_job_snapshot_free(struct np_job_snapshot *snapshot)
{
	for (size_t i = 0; snapshot->job && i < snapshot->n_jobs; i++) {
		np_annotation_clear(&snapshot->job[i].annotation);
		free(snapshot->job[i].comment);
		free(snapshot->job[i].bits);
		free(snapshot->job[i].tasks);
	}
	free(snapshot->job);
	free(snapshot->node);
	free(snapshot->set);
	free(snapshot->none);
	np_snapshot_unref(snapshot->snapshot);
	np_cluster_map_unref(snapshot->map);
	memset(snapshot, 0, sizeof(*snapshot));
}
