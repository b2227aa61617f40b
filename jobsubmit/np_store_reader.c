/*
 * The store reader, in three parts: accounting, which writes a record of each
 * run that has ended; the worker thread, which makes all calls that may hang;
 * and the reader itself, through which placement uses both.
 */
#include "np_store_reader.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "np_array.h"
#include "np_clock.h"
#include "np_ctl.h"
#include "np_read.h"
#include "np_snapshot.h"
#include "np_thread.h"
#include "np_topo.h"

/* ---- Accounting ---- */

/* One run of a job, running or ended. */
struct run {
	struct np_job job; /* a copy whose pointers are not valid; its profile
			     is set by find_profiles() */
	uint32_t *leaf;	   /* n_leaves switches, of all rails */
	size_t n_leaves;
	char app[NP_APP_MAX + 1];
	enum np_auth auth;
	int partition; /* index in the map; -1: unknown */
	uint32_t task, n_nodes;
	double held_sec;
	double end_sec; /* seconds since the epoch; 0: still running */
	bool unwritten; /* it has ended, but has no record yet */
};

struct np_accounting {
	struct run *run; /* sorted with compare_runs() */
	size_t n;
	size_t n_unwritten;	    /* of these runs */
	struct np_cluster_map *map; /* numbers the switches of the runs */
	struct np_accounting_day *day;
};

/* The sources of the records, and where the records are written. */
struct record_context {
	const struct np_slowdowns *table;
	const struct np_app_index *index;
	const char *store_dir;
	mode_t mode;  /* file permissions */
	size_t steps; /* of searches for neighbours, so far */
};

int np_accounting_new(struct np_accounting **out)
{
	struct np_accounting *accounting = calloc(1, sizeof(*accounting));

	if (!accounting || np_accounting_day_new(&accounting->day)) {
		free(accounting);
		return -ENOMEM;
	}
	*out = accounting;
	return 0;
}

bool np_accounting_has_more(const struct np_accounting *accounting)
{
	return accounting->n_unwritten;
}

void np_accounting_free(struct np_accounting *accounting)
{
	if (!accounting)
		return;
	for (size_t i = 0; i < accounting->n; i++)
		free(accounting->run[i].leaf);
	free(accounting->run);
	np_cluster_map_unref(accounting->map);
	np_accounting_day_free(accounting->day);
	free(accounting);
}

struct named_switch {
	const char *name; /* first member, as np_order_text() expects */
	uint32_t number;
};

/*
 * Find the number that each switch of one topology has in another, by its name,
 * or NP_NO_LEAF if it has none. The caller frees the result, which is NULL when
 * out of memory.
 */
static uint32_t *translate_switches(const struct np_leaves *from,
				    const struct np_leaves *to)
{
	struct named_switch *list = calloc(to->n_switches + 1, sizeof(*list));
	uint32_t *number = calloc(from->n_switches + 1, sizeof(*number));

	if (!list || !number) {
		free(list);
		free(number);
		return NULL;
	}
	for (uint32_t i = 0; i < to->n_switches; i++)
		list[i] = (struct named_switch){ to->switch_name[i], i };
	qsort(list, to->n_switches, sizeof(*list), np_order_text);
	for (size_t i = 0; i < from->n_switches; i++) {
		const struct named_switch *found =
			bsearch(&from->switch_name[i], list, to->n_switches,
				sizeof(*list), np_order_text);

		number[i] = found ? found->number : NP_NO_LEAF;
	}
	free(list);
	return number;
}

/* Give the switches of a run their new numbers. Drop those that have none. */
static void renumber_leaves(struct run *run, const uint32_t *number)
{
	size_t n_retained = 0;

	for (size_t i = 0; i < run->n_leaves; i++)
		if (number[run->leaf[i]] != NP_NO_LEAF)
			run->leaf[n_retained++] = number[run->leaf[i]];
	run->n_leaves = np_order_unique(run->leaf, n_retained);
}

/*
 * Convert all runs to another map, in which their switches and partitions may
 * have different numbers. Returns 0, or -ENOMEM, in which case nothing changes.
 */
static int change_map(struct np_accounting *accounting,
		      struct np_cluster_map *map)
{
	uint32_t *number;

	if (accounting->map == map)
		return 0;
	if (accounting->map) {
		number = translate_switches(accounting->map->leaves,
					    map->leaves);
		if (!number)
			return -ENOMEM;
		for (size_t i = 0; i < accounting->n; i++) {
			struct run *run = &accounting->run[i];

			renumber_leaves(run, number);
			if (run->partition >= 0)
				run->partition = np_cluster_map_partition(
					map,
					accounting->map->part[run->partition]
						.name);
		}
		free(number);
	}
	np_cluster_map_unref(accounting->map);
	accounting->map = np_cluster_map_ref(map);
	return 0;
}

/*
 * Order runs by job. A requeued job has several runs, at most one of which is
 * still running; that one comes first.
 */
static int compare_runs(const void *a, const void *b)
{
	const struct run *x = a, *y = b;

	if (x->job.id != y->job.id)
		return x->job.id < y->job.id ? -1 : 1;
	return (x->end_sec > 0) - (y->end_sec > 0);
}

/* Find the current run of a job among the first n runs, or NULL. */
static struct run *find_running(struct np_accounting *accounting, size_t n,
				uint32_t id)
{
	const struct run key = { .job.id = id };

	return n ? bsearch(&key, accounting->run, n, sizeof(key),
			   compare_runs) :
		   NULL;
}

/* Return the larger one. */
static size_t larger(size_t a, size_t b)
{
	return a > b ? a : b;
}

/*
 * Add the switches of the leaves on which a job has nodes now to those of its
 * run. Returns 0, or -ENOMEM, in which case nothing changes.
 */
static int add_leaves(struct run *run, const struct np_job *job,
		      const struct np_leaves *leaves)
{
	uint32_t *leaf =
		calloc(leaves->n_switches + run->n_leaves + 1, sizeof(*leaf));
	size_t n;

	if (!leaf)
		return -ENOMEM;
	n = np_leaves_switches(leaves, job->leaf, job->n_leaves, leaf);
	if (run->n_leaves)
		memcpy(leaf + n, run->leaf, run->n_leaves * sizeof(*leaf));
	n = np_order_unique(leaf, n + run->n_leaves);
	if (np_array_resize(&leaf, n + 1, sizeof(*leaf))) {
		free(leaf);
		return -ENOMEM;
	}
	free(run->leaf);
	run->leaf = leaf;
	run->n_leaves = n;
	return 0;
}

/*
 * Copy a running job from a job snapshot. Of a job that is completing,
 * slurmctld only lists the nodes that have not completed yet. So the run keeps
 * the switches and the number of nodes that it has had. Returns 0 or -ENOMEM.
 */
static int copy_job(struct run *run, const struct np_job_entry *entry,
		    const struct np_leaves *leaves)
{
	int64_t start_sec = run->job.start_sec;
	size_t n_leaves = run->job.n_leaves;

	run->job = *entry->in;
	run->job.n_leaves = larger(n_leaves, entry->in->n_leaves);
	if (!run->job.start_sec)
		run->job.start_sec = start_sec;
	strcpy(run->app, entry->app);
	run->auth = entry->auth;
	run->partition = entry->partition;
	run->task = entry->task;
	run->n_nodes = (uint32_t)larger(run->n_nodes, entry->n_nodes);
	run->held_sec = entry->annotation.held_sec;
	run->end_sec = 0;
	return add_leaves(run, entry->in, leaves);
}

/* Set the end of a run: from Slurm's record of the job, or else to now. */
static void set_end_time(struct run *run, const slurm_job_info_t *job,
			 int64_t now_sec)
{
	int64_t end = now_sec, begin = run->job.start_sec;

	/*
	 * If the job was requeued and runs again, this run ended no later than
	 * the start of the next one.
	 */
	if (job && job->end_time && job->end_time < end &&
	    job->end_time > begin)
		end = job->end_time;
	else if (job && job->start_time > begin && job->start_time < end)
		end = job->start_time;
	run->end_sec = (double)(end > 1 ? end : 1); /* 0 means running */
}

static int compare_id_to_run(const void *key, const void *item)
{
	return np_order_u32(key, &(*(struct run *const *)item)->job.id);
}

/*
 * Find the runs that have ended, which are those of the first n for which
 * is_running[] is false, and set their end. Returns 0 or -ENOMEM.
 */
static int find_ended(struct np_accounting *accounting, size_t n,
		      const bool *is_running, const struct np_ctld_info *info,
		      int64_t now_sec)
{
	struct run **ended = calloc(n + 1, sizeof(*ended)), **found;
	size_t n_ended = 0;

	if (!ended)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		if (!is_running[i] && !accounting->run[i].end_sec) {
			ended[n_ended++] = &accounting->run[i];
			set_end_time(&accounting->run[i], NULL, now_sec);
			accounting->run[i].unwritten =
				accounting->run[i].app[0];
			accounting->n_unwritten += accounting->run[i].unwritten;
		}
	for (uint32_t i = 0; n_ended && i < info->jobs->record_count; i++) {
		const slurm_job_info_t *job = &info->jobs->job_array[i];

		found = bsearch(&job->job_id, ended, n_ended, sizeof(*ended),
				compare_id_to_run);
		if (found)
			set_end_time(*found, job, now_sec);
	}
	free(ended);
	return 0;
}

/*
 * Find the switches that two runs have in common. leaf[] has room for those of
 * a. Returns whether there are any.
 */
static bool find_common_leaves(const struct run *a, const struct run *b,
			       uint32_t *leaf, size_t *n)
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

/* Look up the profiles by name, as their handles may have been reused. */
static void find_profiles(struct np_accounting *accounting,
			  const struct record_context *context)
{
	int32_t n = (int32_t)context->table->n;

	for (size_t i = 0; i < accounting->n; i++) {
		struct run *run = &accounting->run[i];

		run->job.profile = np_app_index_find(context->index, run->app,
						     run->job.owner);
		if (run->job.profile >= n || !np_auth_counts(run->auth))
			run->job.profile = NP_PROFILE_UNKNOWN;
	}
}

/* Predict the slowdown of a run by another; 0 if a profile is unknown. */
static double predict_slowdown(const struct record_context *context,
			       const struct run *victim,
			       const struct run *corunner)
{
	if (victim->job.profile < 0 || corunner->job.profile < 0)
		return 0;
	return np_slowdowns_between(
		context->table, (uint32_t)victim->job.profile,
		(uint32_t)corunner->job.profile,
		victim->job.flags & corunner->job.flags & NP_JOB_SHARES_NODES,
		victim->job.n_leaves > 1 && corunner->job.n_leaves > 1);
}

/* A run that shared a switch with the run whose record is made. */
struct neighbour {
	double overlap_sec; /* first member, as np_order_desc() expects */
	double slowdown;    /* predicted, by this neighbour alone */
	const struct run *run;
};

/* Return for how long two runs overlapped, in seconds. Run a has ended. */
static double compute_overlap(const struct run *a, const struct run *b)
{
	double from = fmax((double)a->job.start_sec, (double)b->job.start_sec);
	double to = b->end_sec ? fmin(a->end_sec, b->end_sec) : a->end_sec;

	return to - from;
}

/*
 * Find the runs that shared a switch with a run for at least a second. leaf[]
 * is scratch space for that run's switches. The caller frees *out. Returns
 * their number, or -ENOMEM.
 */
static ssize_t find_neighbours(const struct np_accounting *accounting,
			       struct record_context *context,
			       const struct run *run, uint32_t *leaf,
			       struct neighbour **out)
{
	struct neighbour *list = NULL;
	size_t n = 0, shared;

	context->steps += accounting->n;
	for (size_t i = 0; i < accounting->n; i++) {
		const struct run *other = &accounting->run[i];
		double sec = compute_overlap(run, other);

		if (run == other || sec < 1)
			continue;
		context->steps += run->n_leaves + other->n_leaves;
		if (!find_common_leaves(run, other, leaf, &shared))
			continue;
		if (np_array_grow(&list, n, sizeof(*list))) {
			free(list);
			return -ENOMEM;
		}
		list[n++] = (struct neighbour){
			sec, predict_slowdown(context, run, other), other
		};
	}
	*out = list;
	return (ssize_t)n;
}

/*
 * Predict the slowdown of a whole run, which took run_sec. Each neighbour slows
 * the part of the run with which it overlapped.
 */
static double predict_run_slowdown(const struct neighbour *list, size_t n,
				   double run_sec)
{
	double log_sum = 0;

	for (size_t i = 0; i < n; i++)
		log_sum +=
			list[i].overlap_sec / run_sec * log1p(list[i].slowdown);
	return expm1(log_sum);
}

/*
 * Add to a record the neighbours with the longest overlap, up to the limit of
 * their number. Sorts list[]. leaf[] is scratch space. Returns 0 or -ENOMEM.
 */
static int list_neighbours(const struct np_accounting *accounting,
			   const struct run *run, struct neighbour *list,
			   size_t n, uint32_t *leaf,
			   struct np_accounting_record *record)
{
	size_t listed = n < NP_ACCOUNTING_PUT_NEIGHBOURS ?
				n :
				NP_ACCOUNTING_PUT_NEIGHBOURS;

	if (n)
		qsort(list, n, sizeof(*list), np_order_desc);
	record->more_neighbours = (uint32_t)(n - listed);
	record->neighbour = calloc(listed + 1, sizeof(*record->neighbour));
	if (!record->neighbour)
		return -ENOMEM;
	for (size_t i = 0; i < listed; i++) {
		const struct run *other = list[i].run;
		size_t n_shared;

		find_common_leaves(run, other, leaf, &n_shared);
		record->neighbour[record->n_neighbours++] =
			(struct np_accounting_neighbour){
				.id = other->job.id,
				.app = strdup(other->app),
				.leaves = np_cluster_map_switch_names(
					accounting->map, leaf, n_shared),
				.overlap_sec = list[i].overlap_sec,
				.slowdown = list[i].slowdown,
			};
	}
	return 0;
}

/*
 * Add a run's neighbours and predicted slowdown to its record. Returns 0 or
 * -ENOMEM.
 */
static int add_neighbours(const struct np_accounting *accounting,
			  struct record_context *context, const struct run *run,
			  struct np_accounting_record *record)
{
	double run_sec = run->end_sec - (double)run->job.start_sec;
	uint32_t *leaf = calloc(run->n_leaves + 1, sizeof(*leaf));
	struct neighbour *list = NULL;
	ssize_t n = 0;
	int rc;

	if (!leaf)
		return -ENOMEM;
	if (run_sec > 0)
		n = find_neighbours(accounting, context, run, leaf, &list);
	rc = n < 0 ? -ENOMEM : 0;
	if (!rc) {
		record->slowdown =
			predict_run_slowdown(list, (size_t)n, run_sec);
		rc = list_neighbours(accounting, run, list, (size_t)n, leaf,
				     record);
	}
	free(list);
	free(leaf);
	return rc;
}

/* Append a record to the file. If a limit forbids that, only log it. */
static int append_record(const struct np_accounting *accounting,
			 const struct record_context *context,
			 const struct np_accounting_record *record,
			 struct np_err *err)
{
	struct np_err why = NP_ERR_INIT;
	int rc = np_accounting_append(context->store_dir, accounting->day,
				      record, context->mode, &why);

	if (rc == -ENOBUFS) {
		if (why.text[0])
			np_ctl_info("%s", why.text);
		return 0;
	}
	if (rc && err)
		*err = why;
	return rc;
}

/* Make the record of a run that has ended, and append it to the file. */
static int write_record(const struct np_accounting *accounting,
			struct record_context *context, const struct run *run,
			struct np_err *err)
{
	struct np_accounting_record record = {
		.id = run->job.id,
		.array = run->job.array,
		.task = run->task,
		.uid = run->job.owner,
		.app = strdup(run->app),
		.partition = strdup(
			run->partition < 0 ?
				"" :
				accounting->map->part[run->partition].name),
		.leaves = np_cluster_map_switch_names(accounting->map,
						      run->leaf, run->n_leaves),
		.n_nodes = run->n_nodes,
		.submit = (double)run->job.submit_sec,
		.start = (double)run->job.start_sec,
		.end = run->end_sec,
		.held_sec = run->held_sec,
	};
	int rc = add_neighbours(accounting, context, run, &record);

	if (!rc)
		rc = append_record(accounting, context, &record, err);
	np_accounting_record_free(&record);
	return rc;
}

/*
 * Write records of runs that have ended, up to the limits of one call. The
 * limits are needed because thousands of jobs may end at once, each of which is
 * compared with thousands of others, and each record is synced to disk. Returns
 * the last error.
 */
static int write_records(struct np_accounting *accounting,
			 struct record_context *context, struct np_err *err)
{
	size_t written = 0;
	int last_error = 0;

	if (accounting->n_unwritten)
		find_profiles(accounting, context);
	for (size_t i = 0; accounting->n_unwritten && i < accounting->n; i++) {
		struct run *run = &accounting->run[i];
		int rc;

		if (!run->unwritten)
			continue;
		if (written++ == NP_ACCOUNTING_MAX_WRITTEN ||
		    context->steps > NP_ACCOUNTING_MAX_STEPS)
			break;
		rc = write_record(accounting, context, run, err);
		last_error = rc ? rc : last_error;
		run->unwritten = false;
		accounting->n_unwritten--;
	}
	return last_error;
}

/*
 * Drop the runs beyond the limit, and those that cannot be neighbours any more
 * because they ended before every running or unwritten one began. Returns how
 * many had no record yet, which is now lost.
 */
static size_t drop_old(struct np_accounting *accounting)
{
	double oldest = INFINITY;
	size_t n_retained = 0, lost = 0;

	for (size_t i = 0; i < accounting->n; i++)
		if ((!accounting->run[i].end_sec ||
		     accounting->run[i].unwritten) &&
		    (double)accounting->run[i].job.start_sec < oldest)
			oldest = (double)accounting->run[i].job.start_sec;
	for (size_t i = 0; i < accounting->n; i++) {
		const struct run *run = &accounting->run[i];

		if (run->end_sec &&
		    ((run->end_sec < oldest && !run->unwritten) ||
		     accounting->n - (i - n_retained) > NP_ACCOUNTING_MAX)) {
			lost += run->unwritten;
			free(run->leaf);
		} else {
			accounting->run[n_retained++] = *run;
		}
	}
	accounting->n = n_retained;
	accounting->n_unwritten -= lost;
	return lost;
}

/* Make room for a run of every running job. Returns 0 or -ENOMEM. */
static int make_room(struct np_accounting *accounting,
		     const struct np_job_snapshot *jobs)
{
	size_t n_running = 0;

	for (size_t i = 0; i < jobs->n_jobs; i++)
		n_running += jobs->job[i].in->state == NP_JOB_RUNNING;
	return np_array_resize(&accounting->run, accounting->n + n_running + 1,
			       sizeof(*accounting->run));
}

/*
 * Add or update the run of every running job, and set is_running[] for those
 * that were known before. A requeued job keeps its id, but its new start time
 * makes it another run. Returns 0 or -ENOMEM.
 */
static int add_running(struct np_accounting *accounting,
		       const struct np_job_snapshot *jobs, bool *is_running)
{
	size_t n_before = accounting->n;

	if (make_room(accounting, jobs))
		return -ENOMEM;
	for (size_t i = 0; i < jobs->n_jobs; i++) {
		const struct np_job *job = jobs->job[i].in;
		struct run *run;

		if (job->state != NP_JOB_RUNNING)
			continue;
		run = find_running(accounting, n_before, job->id);
		if (run &&
		    (run->job.start_sec == job->start_sec || !job->start_sec)) {
			is_running[run - accounting->run] = true;
		} else if (job->start_sec) {
			run = &accounting->run[accounting->n++];
			memset(run, 0, sizeof(*run));
		} else {
			continue; /* requeued, and never seen running */
		}
		if (copy_job(run, &jobs->job[i], jobs->map->leaves))
			return -ENOMEM;
	}
	return 0;
}

int np_accounting_update(struct np_accounting *accounting,
			 const struct np_job_snapshot *jobs,
			 const struct np_ctld_info *info,
			 const struct np_slowdowns *table,
			 const struct np_app_index *index,
			 const char *store_dir, mode_t mode, struct np_err *err)
{
	struct record_context context = { table, index, store_dir, mode, 0 };
	size_t n_before, lost;
	int rc = change_map(accounting, jobs->map), last_error = 0;
	bool *is_running;

	n_before = accounting->n;
	is_running = calloc(n_before + 1, sizeof(*is_running));
	if (!rc)
		rc = is_running ? add_running(accounting, jobs, is_running) :
				  -ENOMEM;
	if (!rc)
		rc = find_ended(accounting, n_before, is_running, info,
				jobs->now_sec);
	if (!rc)
		last_error = write_records(accounting, &context, err);
	free(is_running);
	lost = drop_old(accounting);
	if (accounting->n)
		qsort(accounting->run, accounting->n, sizeof(*accounting->run),
		      compare_runs);
	if (lost)
		last_error = np_errf(err, -ENOBUFS,
				     "too many jobs ended at once: %zu of them "
				     "have no accounting record",
				     lost);
	return rc ? np_errf(err, rc, "out of memory") : last_error;
}

/* ---- Worker ---- */

struct np_worker {
	pthread_mutex_t lock;
	pthread_cond_t cond;
	struct np_work work;
	void (*at_end)(void *arg); /* see np_worker_free() */
	void *at_end_arg;
	bool should_end;
	bool own_files;	  /* of the thread: see np_worker_new() */
	bool has_work;	  /* some is waiting or in progress */
	bool abandoned;	  /* the caller no longer waits for the work */
	double since_sec; /* start of the work, CLOCK_MONOTONIC */
};

static void destroy_worker(struct np_worker *worker)
{
	pthread_cond_destroy(&worker->cond);
	pthread_mutex_destroy(&worker->lock);
	free(worker);
}

/* Separate the calling thread from slurmctld's files, its log included. */
static void separate_files(void)
{
	static atomic_bool logged;
	int rc = np_thread_own_files();

	np_ctl_defer_lines();
	if (rc && !atomic_exchange(&logged, true))
		np_ctl_error("close_range and unshare: %s: if slurmctld is "
			     "killed while the store hangs, it keeps its ports",
			     strerror(-rc));
}

/* Body of the thread. Work until it should end and no work remains. */
static void *work_until_end(void *arg)
{
	struct np_worker *worker = arg;

	if (worker->own_files)
		separate_files();
	pthread_mutex_lock(&worker->lock);
	for (;;) {
		while (!worker->has_work && !worker->should_end)
			pthread_cond_wait(&worker->cond, &worker->lock);
		if (!worker->has_work)
			break;
		pthread_mutex_unlock(&worker->lock);
		worker->work.run(worker->work.arg);
		pthread_mutex_lock(&worker->lock);
		if (worker->abandoned && worker->work.drop)
			worker->work.drop(worker->work.arg);
		worker->has_work = worker->abandoned = false;
		pthread_cond_broadcast(&worker->cond);
	}
	pthread_mutex_unlock(&worker->lock);
	if (worker->at_end)
		worker->at_end(worker->at_end_arg);
	destroy_worker(worker);
	return NULL;
}

int np_worker_new(bool own_files, struct np_worker **out)
{
	struct np_worker *worker = calloc(1, sizeof(*worker));
	int rc;

	if (!worker)
		return -ENOMEM;
	worker->own_files = own_files;
	pthread_mutex_init(&worker->lock, NULL);
	pthread_cond_init(&worker->cond, NULL);
	/* The new thread blocks signals, which slurmctld handles in another. */
	rc = np_thread_start(work_until_end, worker, 0, NULL);
	if (rc)
		destroy_worker(worker);
	else
		*out = worker;
	return rc;
}

void np_worker_free(struct np_worker *worker, void (*at_end)(void *arg),
		    void *arg)
{
	if (!worker) {
		if (at_end)
			at_end(arg);
		return;
	}
	pthread_mutex_lock(&worker->lock);
	worker->at_end = at_end;
	worker->at_end_arg = arg;
	worker->should_end = true;
	pthread_cond_broadcast(&worker->cond);
	pthread_mutex_unlock(&worker->lock);
}

bool np_worker_do(struct np_worker *worker, const struct np_work *work,
		  double sec)
{
	/*
	 * Taken before `until`: after a timeout, np_worker_busy_sec() >= sec.
	 */
	double since_sec = np_mono_sec();
	struct timespec until = np_mono_after(sec);
	bool done;

	pthread_mutex_lock(&worker->lock);
	worker->work = *work;
	worker->has_work = true;
	worker->since_sec = since_sec;
	pthread_cond_broadcast(&worker->cond);
	while (worker->has_work &&
	       !pthread_cond_clockwait(&worker->cond, &worker->lock,
				       CLOCK_MONOTONIC, &until))
		;
	done = !worker->has_work;
	worker->abandoned = !done;
	pthread_mutex_unlock(&worker->lock);
	return done;
}

double np_worker_busy_sec(struct np_worker *worker)
{
	double sec;

	pthread_mutex_lock(&worker->lock);
	sec = worker->has_work ? np_mono_sec() - worker->since_sec : 0;
	pthread_mutex_unlock(&worker->lock);
	return sec;
}

/* ---- Store reader ---- */

#define NO_LIMIT_SEC 1e9 /* 30 years */

/* Arguments and results of one read. The worker owns them while it is busy. */
struct reading {
	double budget_sec;
	np_store_warn_f *warn;
	struct np_known known;
	char *rails; /* known.rails */
	int rc;
	struct np_err trouble, err, rails_error;
};

struct np_store_reader {
	struct np_deadlines deadlines;
	struct np_worker *worker; /* for files; has descriptors of its own */
	/*
	 * For the user database, as the C library and its plugins may cache
	 * descriptors for all threads. Only the worker above uses it, and waits
	 * for it without a limit.
	 */
	struct np_worker *users_worker;
	/* While the worker is busy, only the worker may use these. */
	struct np_catalog *catalog;
	struct np_accounting *accounting;
	struct reading reading;
	mode_t mode; /* file permissions in the store; 0: not checked yet */

	bool renew; /* the configuration changed, so open a new catalog */
	char store[PATH_MAX], rails_path[PATH_MAX]; /* rails_path "": none */
	struct np_known known;			    /* of the last read */
	char *rails;				    /* known.rails */
	struct np_err rails_error;
	char fabric[256];
	bool forgotten; /* all profiles count as unknown */
};

/* Have the worker do a piece of work, and log the lines that it deferred. */
static bool do_work(struct np_store_reader *reader, const struct np_work *work,
		    double sec)
{
	bool done = np_worker_do(reader->worker, work, sec);

	np_ctl_log_deferred();
	return done;
}

void np_known_free(struct np_known *known)
{
	np_slowdowns_unref(known->table);
	np_app_index_unref(known->index);
	*known = (struct np_known){ NULL };
}

int np_store_reader_new(const struct np_deadlines *deadlines,
			struct np_store_reader **out)
{
	struct np_store_reader *reader = calloc(1, sizeof(*reader));
	int rc = reader ? np_worker_new(true, &reader->worker) : -ENOMEM;

	if (!rc)
		rc = np_worker_new(false, &reader->users_worker);
	if (!rc)
		rc = np_accounting_new(&reader->accounting);
	if (rc) {
		np_store_reader_free(reader);
		return rc;
	}
	reader->deadlines = *deadlines;
	*out = reader;
	return 0;
}

/* Whether the store hangs: the worker is still busy with an earlier call. */
static bool is_hanging(struct np_store_reader *reader)
{
	return np_worker_busy_sec(reader->worker) > 0;
}

/* Runs in the worker's thread after its last piece of work. */
static void free_reader(void *arg)
{
	struct np_store_reader *reader = arg;

	np_worker_free(reader->users_worker, NULL, NULL);
	np_catalog_free(reader->catalog);
	np_accounting_free(reader->accounting);
	free(reader->rails);
	free(reader);
}

void np_store_reader_free(struct np_store_reader *reader)
{
	if (!reader)
		return;
	np_known_free(&reader->known);
	np_worker_free(reader->worker, free_reader, reader);
}

void np_store_reader_renew(struct np_store_reader *reader)
{
	reader->renew = true;
}

bool np_store_reader_is_new(struct np_store_reader *reader)
{
	if (reader->renew && !is_hanging(reader)) {
		np_catalog_free(reader->catalog);
		reader->catalog = NULL;
		reader->mode = 0;
		reader->renew = false;
	}
	return !reader->catalog;
}

int np_store_reader_open(struct np_store_reader *reader,
			 const struct np_conf *conf, const char *cluster,
			 struct np_err *err)
{
	strcpy(reader->store, conf->store);
	strcpy(reader->rails_path, conf->rails);
	return np_catalog_new(conf->store, cluster, &conf->place,
			      &reader->catalog, err);
}

bool np_store_reader_expect_job(struct np_store_reader *reader, const char *app,
				uint32_t uid)
{
	return reader->catalog && !is_hanging(reader) &&
	       np_catalog_expect_job(reader->catalog, app, uid);
}

/* Runs in the thread of users_worker. */
static void refresh_groups(void *arg)
{
	struct np_store_reader *reader = arg;

	np_catalog_refresh_groups(reader->catalog, reader->reading.budget_sec);
}

/* Runs in the worker's thread. */
static void read_store(void *arg)
{
	const struct np_work groups = { refresh_groups, NULL, arg };
	struct np_store_reader *reader = arg;
	struct reading *reading = &reader->reading;
	bool changed;
	size_t len;

	np_worker_do(reader->users_worker, &groups, NO_LIMIT_SEC);
	if (*reader->rails_path)
		np_read_file(reader->rails_path, NP_RAILS_MAX_BYTES,
			     &reading->rails, &len, &reading->rails_error);
	np_catalog_refresh(reader->catalog, reading->budget_sec, reading->warn,
			   NULL, &changed, &reading->known.more,
			   &reading->trouble);
	reading->rc = np_catalog_table(reader->catalog, &reading->known.table,
				       &reading->err);
	if (!reading->rc)
		reading->rc = np_catalog_index(reader->catalog,
					       &reading->known.index);
}

static void drop_reading(void *arg)
{
	struct np_store_reader *reader = arg;

	np_known_free(&reader->reading.known);
	free(reader->reading.rails);
	reader->reading.rails = NULL;
}

/* Replace the known profiles by the results of a read. */
static int adopt_reading(struct np_store_reader *reader)
{
	struct reading *reading = &reader->reading;

	if (reading->rc) {
		drop_reading(reader);
		return reading->rc;
	}
	np_known_free(&reader->known);
	reader->known = reading->known;
	reading->known = (struct np_known){ NULL };
	free(reader->rails);
	reader->rails = reading->rails;
	reading->rails = NULL;
	reader->rails_error = reading->rails_error;
	reader->forgotten = false;
	snprintf(reader->fabric, sizeof(reader->fabric), "%s",
		 np_catalog_fabric(reader->catalog));
	return 0;
}

/* Make all profiles unknown, so that no jobs conflict. Returns 0 or -ENOMEM. */
static int forget_profiles(struct np_store_reader *reader)
{
	struct np_app_index *none;
	int rc;

	if (reader->forgotten || !reader->known.index)
		return 0;
	rc = np_app_index_new(NULL, 0, NP_PROFILE_UNKNOWN, NULL, &none);
	if (rc)
		return rc;
	np_app_index_unref(reader->known.index);
	reader->known.index = none;
	reader->forgotten = true;
	return 0;
}

/*
 * Report a store that has not answered for a long time. The text never changes,
 * so that it is logged only once. Returns 0 or -ENOMEM.
 */
static int check_deadlines(struct np_store_reader *reader,
			   struct np_err *trouble)
{
	double sec = np_worker_busy_sec(reader->worker);
	int rc = 0;

	if (sec >= reader->deadlines.forget_sec) {
		rc = forget_profiles(reader);
		np_errf(trouble, -ETIMEDOUT,
			"%s: the store has not answered for %.0f s: all "
			"applications count as unknown",
			reader->store, reader->deadlines.forget_sec);
	} else if (sec >= reader->deadlines.report_sec) {
		np_errf(trouble, -ETIMEDOUT,
			"%s: the store has not answered for %.0f s: decisions "
			"use the profiles read before",
			reader->store, reader->deadlines.report_sec);
	}
	return rc;
}

int np_store_reader_read(struct np_store_reader *reader, double budget_sec,
			 np_store_warn_f *warn, struct np_known *out,
			 struct np_err *trouble, struct np_err *err)
{
	const struct np_work read = { read_store, drop_reading, reader };
	int rc;

	*out = (struct np_known){ .more = false };
	if (!is_hanging(reader)) {
		reader->reading = (struct reading){ budget_sec, warn };
		if (do_work(reader, &read,
			    budget_sec + reader->deadlines.wait_sec)) {
			rc = adopt_reading(reader);
			if (rc)
				return np_errf(err, rc, "%s",
					       reader->reading.err.text);
			out->more = reader->known.more;
			*trouble = reader->reading.trouble;
		}
	}
	rc = check_deadlines(reader, trouble);
	if (rc)
		return rc;
	if (!reader->known.index)
		return np_errf(err, -EAGAIN, "%s: the store does not answer",
			       reader->store);
	out->table = np_slowdowns_ref(reader->known.table);
	out->index = np_app_index_ref(reader->known.index);
	out->fabric = reader->fabric;
	out->rails = reader->rails;
	out->rails_error = &reader->rails_error;
	return 0;
}

/* One write. The worker frees it if the caller gives up. */
struct writing {
	struct np_store_reader *reader;
	struct np_pass_output output;
	struct np_err err;
};

/* Runs in the worker's thread. */
static void write_output(void *arg)
{
	struct writing *writing = arg;
	struct np_pass_output *output = &writing->output;
	struct np_store_reader *reader = writing->reader;

	/* If PrivateData has been changed, existing files need a new mode. */
	if (output->mode != reader->mode &&
	    !np_state_set_mode(output->store, output->mode, &writing->err))
		reader->mode = output->mode;
	np_accounting_update(reader->accounting, &output->jobs, &output->info,
			     output->known.table, output->known.index,
			     output->store, output->mode, &writing->err);
	if (output->has_state)
		np_state_save(output->store, &output->state, output->mode,
			      &writing->err);
}

static void free_output(struct np_pass_output *output)
{
	np_job_snapshot_free(&output->jobs);
	np_ctld_info_free(&output->info);
	np_known_free(&output->known);
	if (output->has_state)
		np_state_free(&output->state);
}

static void drop_writing(void *arg)
{
	struct writing *writing = arg;

	free_output(&writing->output);
	free(writing);
}

bool np_store_reader_write(struct np_store_reader *reader,
			   struct np_pass_output *output, struct np_err *err)
{
	struct writing *writing =
		is_hanging(reader) ? NULL : calloc(1, sizeof(*writing));
	const struct np_work work = { write_output, drop_writing, writing };

	if (!writing) {
		free_output(output);
		return false;
	}
	writing->reader = reader;
	writing->output = *output;
	if (!do_work(reader, &work, reader->deadlines.wait_sec))
		return false;
	*err = writing->err;
	drop_writing(writing);
	return true;
}

bool np_store_reader_has_more(struct np_store_reader *reader)
{
	return !is_hanging(reader) &&
	       np_accounting_has_more(reader->accounting);
}
