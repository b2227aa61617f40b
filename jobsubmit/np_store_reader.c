/*
 * The store reader, in three parts: accounting, i.e. records of runs that
 * ended; the worker thread, which does all that may hang; and the reader.
 */
#include "np_store_reader.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "np_array.h"
#include "np_clock.h"
#include "np_ctl.h"
#include "np_snapshot.h"
#include "np_thread.h"

/* ---- Accounting ---- */

/* One run of a job, now or in the past. */
struct run {
	struct np_job in; /* copied, and its pointers are not valid; its profile
			     is set by find_profiles() */
	uint32_t *leaf;	  /* n_leaves switches, of all rails */
	size_t n_leaves;
	char app[NP_APP_MAX + 1];
	enum np_auth auth;
	int partition;	  /* index in the map; -1: unknown */
	uint32_t task, n_nodes;
	double held_sec;
	double end_sec; /* seconds since the epoch; 0: still running */
	bool unwritten; /* it ended, and its record is still to be written */
};

struct np_accounting {
	struct run *run; /* sorted by by_id() */
	size_t n;
	size_t n_unwritten;	    /* of these */
	struct np_cluster_map *map; /* that the leaves refer to */
	struct np_accounting_day *day;
};

/* What records are made from, and where they are written. */
struct sink {
	const struct np_slowdowns *table;
	const struct np_app_index *index;
	const char *store_dir;
	mode_t mode;  /* file permissions */
	size_t steps; /* of the search for neighbours, so far */
};

int np_accounting_new(struct np_accounting **out)
{
	struct np_accounting *p = calloc(1, sizeof(*p));

	if (!p || np_accounting_day_new(&p->day)) {
		free(p);
		return -ENOMEM;
	}
	*out = p;
	return 0;
}

bool np_accounting_has_more(const struct np_accounting *p)
{
	return p->n_unwritten;
}

void np_accounting_free(struct np_accounting *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->n; i++)
		free(p->run[i].leaf);
	free(p->run);
	np_cluster_map_unref(p->map);
	np_accounting_day_free(p->day);
	free(p);
}

struct named_switch {
	const char *name; /* the first, as np_order_text() expects */
	uint32_t number;
};

/*
 * The number that each switch of one topology has in another, by its name;
 * NP_NO_LEAF: it is not there. free() the result; NULL: out of memory.
 */
static uint32_t *
translate_switches(const struct np_leaves *from, const struct np_leaves *to)
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

/* Number the switches of a run anew; those without a number are left out. */
static void renumber_leaves(struct run *run, const uint32_t *number)
{
	size_t kept = 0;

	for (size_t i = 0; i < run->n_leaves; i++)
		if (number[run->leaf[i]] != NP_NO_LEAF)
			run->leaf[kept++] = number[run->leaf[i]];
	run->n_leaves = np_order_unique(run->leaf, kept);
}

/*
 * Let all runs refer to another map, in which their switches and partitions may
 * have other numbers. 0 or -ENOMEM; then nothing has changed.
 */
static int change_map(struct np_accounting *p, struct np_cluster_map *map)
{
	uint32_t *number;

	if (p->map == map)
		return 0;
	if (p->map) {
		number = translate_switches(p->map->leaves, map->leaves);
		if (!number)
			return -ENOMEM;
		for (size_t i = 0; i < p->n; i++) {
			struct run *run = &p->run[i];

			renumber_leaves(run, number);
			if (run->partition >= 0)
				run->partition = np_cluster_map_partition(
					map, p->map->part[run->partition].name);
		}
		free(number);
	}
	np_cluster_map_unref(p->map);
	p->map = np_cluster_map_ref(map);
	return 0;
}

/* A requeued job has several runs, at most one of which is still running. */
static int by_id(const void *a, const void *b)
{
	const struct run *x = a, *y = b;

	if (x->in.id != y->in.id)
		return x->in.id < y->in.id ? -1 : 1;
	return (x->end_sec > 0) - (y->end_sec > 0);
}

/* The running run of a job, among the first n. */
static struct run *find_running(struct np_accounting *p, size_t n, uint32_t id)
{
	const struct run key = { .in.id = id };

	return n ? bsearch(&key, p->run, n, sizeof(key), by_id) : NULL;
}

/* Take over what a job snapshot says of a running job. 0 or -ENOMEM. */
static int copy_job(struct run *to, const struct np_job_entry *entry,
		    const struct np_leaves *l)
{
	int64_t start_sec = to->in.start_sec;

	to->in = *entry->in;
	if (!to->in.start_sec)
		to->in.start_sec = start_sec;
	strcpy(to->app, entry->app);
	to->auth = entry->auth;
	to->partition = entry->partition;
	to->task = entry->task;
	to->n_nodes = entry->n_nodes;
	to->held_sec = entry->annotation.held_sec;
	to->end_sec = 0;
	free(to->leaf);
	to->leaf = calloc(l->n_switches + 1, sizeof(*to->leaf));
	to->n_leaves = to->leaf ? np_leaves_switches(l, entry->in->leaf,
						     to->in.n_leaves,
						     to->leaf) : 0;
	if (!to->leaf ||
	    np_array_resize(&to->leaf, to->n_leaves + 1, sizeof(*to->leaf)))
		return -ENOMEM;
	return 0;
}

/* Set when a run ended: as Slurm's record says (may be NULL), else now_sec. */
static void
set_end_time(struct run *job, const slurm_job_info_t *j, int64_t now_sec)
{
	int64_t end = now_sec, begin = job->in.start_sec;

	/* A requeued job may run again by now. Then this run ended when that
	   one started, at the latest. */
	if (j && j->end_time && j->end_time < end && j->end_time > begin)
		end = j->end_time;
	else if (j && j->start_time > begin && j->start_time < end)
		end = j->start_time;
	job->end_sec = (double)(end > 1 ? end : 1); /* 0 means running */
}

static int compare_id(const void *key, const void *item)
{
	return np_order_u32(key, &(*(struct run *const *)item)->in.id);
}

/*
 * Find the runs that ended, i.e. those of the first n that are not in
 * is_running[]. 0 or -ENOMEM.
 */
static int find_ended(struct np_accounting *p, size_t n, const bool *is_running,
		      const struct np_ctld_info *a, int64_t now_sec)
{
	struct run **ended = calloc(n + 1, sizeof(*ended)), **at;
	size_t n_ended = 0;

	if (!ended)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		if (!is_running[i] && !p->run[i].end_sec) {
			ended[n_ended++] = &p->run[i];
			set_end_time(&p->run[i], NULL, now_sec);
			p->run[i].unwritten = p->run[i].app[0];
			p->n_unwritten += p->run[i].unwritten;
		}
	for (uint32_t i = 0; n_ended && i < a->jobs->record_count; i++) {
		const slurm_job_info_t *j = &a->jobs->job_array[i];

		at = bsearch(&j->job_id, ended, n_ended, sizeof(*ended),
			     compare_id);
		if (at)
			set_end_time(*at, j, now_sec);
	}
	free(ended);
	return 0;
}

/*
 * Find the leaves that two runs have in common. leaf[] has room for those of a.
 * Returns whether there are any.
 */
static bool common_leaves(const struct run *a, const struct run *b,
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

/* Set the profiles by name, as handles may have been reused since. */
static void find_profiles(struct np_accounting *p, const struct sink *sink)
{
	int32_t n = (int32_t)sink->table->n;

	for (size_t i = 0; i < p->n; i++) {
		struct run *j = &p->run[i];

		j->in.profile = np_app_index_find(sink->index, j->app,
						  j->in.owner);
		if (j->in.profile >= n || !np_auth_counts(j->auth))
			j->in.profile = NP_PROFILE_UNKNOWN;
	}
}

/* Predicted slowdown of a concurrent with b; 0 if a profile is unknown. */
static double predicted_slowdown(const struct sink *sink, const struct run *a,
				 const struct run *b)
{
	if (a->in.profile < 0 || b->in.profile < 0)
		return 0;
	return np_slowdowns_between(sink->table, (uint32_t)a->in.profile,
				 (uint32_t)b->in.profile,
				 a->in.flags & b->in.flags &
				 NP_JOB_SHARES_NODES,
				 a->in.n_leaves > 1 && b->in.n_leaves > 1);
}

/* A run that shared a leaf with the run whose record is made. */
struct neighbour {
	double overlap_sec; /* the first, as np_order_desc() expects */
	double slowdown;    /* predicted, by this neighbour alone */
	const struct run *run;
};

/* Time that two runs had in common, seconds; a has ended. */
static double overlap_sec_of(const struct run *a, const struct run *b)
{
	double from = fmax((double)a->in.start_sec, (double)b->in.start_sec);
	double to = b->end_sec ? fmin(a->end_sec, b->end_sec) : a->end_sec;

	return to - from;
}

/*
 * Find the runs that shared a leaf with run a for at least a second. leaf[]:
 * scratch, with room for a's leaves. *out: malloc'ed. Returns their number, or
 * -ENOMEM.
 */
static ssize_t find_neighbours(const struct np_accounting *p, struct sink *sink,
			       const struct run *a, uint32_t *leaf,
			       struct neighbour **out)
{
	struct neighbour *list = NULL;
	size_t n = 0, shared;

	sink->steps += p->n;
	for (size_t i = 0; i < p->n; i++) {
		const struct run *b = &p->run[i];
		double sec = overlap_sec_of(a, b);

		if (a == b || sec < 1)
			continue;
		sink->steps += a->n_leaves + b->n_leaves;
		if (!common_leaves(a, b, leaf, &shared))
			continue;
		if (np_array_grow(&list, n, sizeof(*list))) {
			free(list);
			return -ENOMEM;
		}
		list[n++] = (struct neighbour){
			sec, predicted_slowdown(sink, a, b), b
		};
	}
	*out = list;
	return (ssize_t)n;
}

/*
 * Slowdown predicted for a whole run of that length: each neighbour counts for
 * the part of it that they had in common.
 */
static double
slowdown_of_run(const struct neighbour *list, size_t n, double run_sec)
{
	double log_sum = 0;

	for (size_t i = 0; i < n; i++)
		log_sum += list[i].overlap_sec / run_sec *
			   log1p(list[i].slowdown);
	return expm1(log_sum);
}

/*
 * List the neighbours with the longest overlap in a record, as their number is
 * limited. Sorts list[]. leaf[]: scratch. 0 or -ENOMEM.
 */
static int list_neighbours(const struct np_accounting *p, const struct run *a,
			   struct neighbour *list, size_t n, uint32_t *leaf,
			   struct np_accounting_record *record)
{
	size_t listed = n < NP_ACCOUNTING_PUT_NEIGHBOURS ?
			n : NP_ACCOUNTING_PUT_NEIGHBOURS;

	if (n)
		qsort(list, n, sizeof(*list), np_order_desc);
	record->more_neighbours = (uint32_t)(n - listed);
	record->neighbour = calloc(listed + 1, sizeof(*record->neighbour));
	if (!record->neighbour)
		return -ENOMEM;
	for (size_t i = 0; i < listed; i++) {
		const struct run *b = list[i].run;
		size_t n_shared;

		common_leaves(a, b, leaf, &n_shared);
		record->neighbour[record->n_neighbours++] =
			(struct np_accounting_neighbour){
				.id = b->in.id,
				.app = strdup(b->app),
				.leaves = np_cluster_map_switch_names(
					p->map, leaf, n_shared),
				.overlap_sec = list[i].overlap_sec,
				.slowdown = list[i].slowdown,
			};
	}
	return 0;
}

/* Fill in the neighbours of a run, and its slowdown. 0 or -ENOMEM. */
static int add_neighbours(const struct np_accounting *p, struct sink *sink,
			  const struct run *a,
			  struct np_accounting_record *record)
{
	double run_sec = a->end_sec - (double)a->in.start_sec;
	uint32_t *leaf = calloc(a->n_leaves + 1, sizeof(*leaf));
	struct neighbour *list = NULL;
	ssize_t n = 0;
	int rc;

	if (!leaf)
		return -ENOMEM;
	if (run_sec > 0)
		n = find_neighbours(p, sink, a, leaf, &list);
	rc = n < 0 ? -ENOMEM : 0;
	if (!rc) {
		record->slowdown = slowdown_of_run(list, (size_t)n, run_sec);
		rc = list_neighbours(p, a, list, (size_t)n, leaf, record);
	}
	free(list);
	free(leaf);
	return rc;
}

/* Append a record. If it is omitted because of a limit, that is only logged. */
static int append_record(const struct np_accounting *p, const struct sink *sink,
			 const struct np_accounting_record *record,
			 struct np_err *err)
{
	struct np_err why = NP_ERR_INIT;
	int rc = np_accounting_append(sink->store_dir, p->day, record,
				      sink->mode, &why);

	if (rc == -ENOBUFS) {
		if (why.text[0])
			np_ctl_info("%s", why.text);
		return 0;
	}
	if (rc && err)
		*err = why;
	return rc;
}

/* Make and append the record of a run that ended. */
static int write_record(const struct np_accounting *p, struct sink *sink,
			const struct run *a, struct np_err *err)
{
	struct np_accounting_record record = {
		.id = a->in.id,
		.array = a->in.array,
		.task = a->task,
		.uid = a->in.owner,
		.app = strdup(a->app),
		.partition = strdup(a->partition < 0 ?
					    "" :
					    p->map->part[a->partition].name),
		.leaves = np_cluster_map_switch_names(p->map, a->leaf,
						      a->n_leaves),
		.n_nodes = a->n_nodes,
		.submit = (double)a->in.submit_sec,
		.start = (double)a->in.start_sec,
		.end = a->end_sec,
		.held_sec = a->held_sec,
	};
	int rc = add_neighbours(p, sink, a, &record);

	if (!rc)
		rc = append_record(p, sink, &record, err);
	np_accounting_record_free(&record);
	return rc;
}

/*
 * Write the records of some jobs that ended, up to the limits of one call:
 * thousands may end at once, each is compared with thousands of others, and
 * each record is synced to the disk. Returns the last error.
 */
static int
write_records(struct np_accounting *p, struct sink *sink, struct np_err *err)
{
	size_t written = 0;
	int last = 0;

	if (p->n_unwritten)
		find_profiles(p, sink);
	for (size_t i = 0; p->n_unwritten && i < p->n; i++) {
		struct run *j = &p->run[i];
		int rc;

		if (!j->unwritten)
			continue;
		if (written++ == NP_ACCOUNTING_MAX_WRITTEN ||
		    sink->steps > NP_ACCOUNTING_MAX_STEPS)
			break;
		rc = write_record(p, sink, j, err);
		last = rc ? rc : last;
		j->unwritten = false;
		p->n_unwritten--;
	}
	return last;
}

/*
 * Forget runs that ended before every running one began, and those beyond the
 * limit. Returns how many of these had no record yet and are lost.
 */
static size_t drop_old(struct np_accounting *p)
{
	double oldest = INFINITY;
	size_t kept = 0, lost = 0;

	for (size_t i = 0; i < p->n; i++)
		if ((!p->run[i].end_sec || p->run[i].unwritten) &&
		    (double)p->run[i].in.start_sec < oldest)
			oldest = (double)p->run[i].in.start_sec;
	for (size_t i = 0; i < p->n; i++) {
		const struct run *j = &p->run[i];

		if (j->end_sec && ((j->end_sec < oldest && !j->unwritten) ||
				   p->n - (i - kept) > NP_ACCOUNTING_MAX)) {
			lost += j->unwritten;
			free(j->leaf);
		} else {
			p->run[kept++] = *j;
		}
	}
	p->n = kept;
	p->n_unwritten -= lost;
	return lost;
}

/* Make room for the runs of all jobs that run now. 0 or -ENOMEM. */
static int
make_room(struct np_accounting *p, const struct np_job_snapshot *jobs)
{
	size_t n_running = 0;

	for (size_t i = 0; i < jobs->n_jobs; i++)
		n_running += jobs->job[i].in->state == NP_JOB_RUNNING;
	return np_array_resize(&p->run, p->n + n_running + 1, sizeof(*p->run));
}

/*
 * Add the runs of jobs that run now, and set is_running[] for those that were
 * known before. A requeued job keeps its id; its new start time makes it
 * another run. 0 or -ENOMEM.
 */
static int add_running(struct np_accounting *p,
		       const struct np_job_snapshot *jobs, bool *is_running)
{
	size_t n_before = p->n;

	if (make_room(p, jobs))
		return -ENOMEM;
	for (size_t i = 0; i < jobs->n_jobs; i++) {
		const struct np_job *in = jobs->job[i].in;
		struct run *run;

		if (in->state != NP_JOB_RUNNING)
			continue;
		run = find_running(p, n_before, in->id);
		if (run && (run->in.start_sec == in->start_sec ||
			    !in->start_sec)) {
			is_running[run - p->run] = true;
		} else if (in->start_sec) {
			run = &p->run[p->n++];
			memset(run, 0, sizeof(*run));
		} else {
			continue; /* requeued before it was seen running */
		}
		if (copy_job(run, &jobs->job[i], jobs->map->leaves))
			return -ENOMEM;
	}
	return 0;
}

int np_accounting_update(struct np_accounting *p,
			 const struct np_job_snapshot *jobs,
			 const struct np_ctld_info *info,
			 const struct np_slowdowns *table,
			 const struct np_app_index *index,
			 const char *store_dir, mode_t mode, struct np_err *err)
{
	struct sink sink = { table, index, store_dir, mode, 0 };
	size_t n_before, lost;
	int rc = change_map(p, jobs->map), last = 0;
	bool *is_running;

	n_before = p->n;
	is_running = calloc(n_before + 1, sizeof(*is_running));
	if (!rc)
		rc = is_running ? add_running(p, jobs, is_running) : -ENOMEM;
	if (!rc)
		rc = find_ended(p, n_before, is_running, info, jobs->now_sec);
	if (!rc)
		last = write_records(p, &sink, err);
	free(is_running);
	lost = drop_old(p);
	if (p->n)
		qsort(p->run, p->n, sizeof(*p->run), by_id);
	if (lost)
		last = np_errf(err, -ENOBUFS, "too many jobs ended at once: "
			       "%zu of them have no accounting record", lost);
	return rc ? np_errf(err, rc, "out of memory") : last;
}

/* ---- Worker ---- */

struct np_worker {
	pthread_mutex_t lock;
	pthread_cond_t cond;
	struct np_work work;
	void (*at_end)(void *arg); /* not NULL: the thread should end */
	void *at_end_arg;
	bool has_work;	  /* including work that is running */
	bool abandoned;	  /* the caller no longer waits for the work */
	double since_sec; /* CLOCK_MONOTONIC, when the work was given */
};

static void destroy(struct np_worker *worker)
{
	pthread_cond_destroy(&worker->cond);
	pthread_mutex_destroy(&worker->lock);
	free(worker);
}

/* The thread: runs work until it should end and none is left. */
static void *work_until_end(void *arg)
{
	struct np_worker *worker = arg;

	pthread_mutex_lock(&worker->lock);
	for (;;) {
		while (!worker->has_work && !worker->at_end)
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
	worker->at_end(worker->at_end_arg);
	destroy(worker);
	return NULL;
}

int np_worker_new(struct np_worker **out)
{
	struct np_worker *worker = calloc(1, sizeof(*worker));
	int rc;

	if (!worker)
		return -ENOMEM;
	pthread_mutex_init(&worker->lock, NULL);
	pthread_cond_init(&worker->cond, NULL);
	/* slurmctld handles signals in one of its threads. */
	rc = np_thread_start(work_until_end, worker, 0, NULL);
	if (rc)
		destroy(worker);
	else
		*out = worker;
	return rc;
}

void np_worker_free(struct np_worker *worker, void (*at_end)(void *arg),
		    void *arg)
{
	if (!worker) {
		at_end(arg);
		return;
	}
	pthread_mutex_lock(&worker->lock);
	worker->at_end = at_end;
	worker->at_end_arg = arg;
	pthread_cond_broadcast(&worker->cond);
	pthread_mutex_unlock(&worker->lock);
}

bool np_worker_do(struct np_worker *worker, const struct np_work *work,
		  double sec)
{
	struct timespec t = np_mono_after(sec);
	bool done;

	pthread_mutex_lock(&worker->lock);
	worker->work = *work;
	worker->has_work = true;
	worker->since_sec = np_mono_sec();
	pthread_cond_broadcast(&worker->cond);
	while (worker->has_work &&
	       !pthread_cond_clockwait(&worker->cond, &worker->lock,
				       CLOCK_MONOTONIC, &t))
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

/* One read. Belongs to the worker while it is busy. */
struct reading {
	double budget_sec;
	np_store_warn_f *warn;
	struct np_known known;
	int rc;
	struct np_err trouble, err;
};

struct np_store_reader {
	struct np_deadlines deadlines;
	struct np_worker *worker;
	/* To be used by the worker only while it is busy. */
	struct np_catalog *catalog;
	struct np_accounting *accounting;
	struct reading reading;
	mode_t mode; /* file permissions in the store; 0: not checked yet */

	bool renew; /* the catalog is out of date */
	char store[PATH_MAX];
	struct np_known known; /* of the last read */
	char fabric[256];
	bool forgotten; /* all profiles count as unknown */
};

void np_known_free(struct np_known *k)
{
	np_slowdowns_unref(k->table);
	np_app_index_unref(k->index);
	*k = (struct np_known){ NULL };
}

int np_store_reader_new(const struct np_deadlines *p,
			struct np_store_reader **out)
{
	struct np_store_reader *s = calloc(1, sizeof(*s));
	int rc = s ? np_worker_new(&s->worker) : -ENOMEM;

	if (!rc)
		rc = np_accounting_new(&s->accounting);
	if (rc) {
		np_store_reader_free(s);
		return rc;
	}
	s->deadlines = *p;
	*out = s;
	return 0;
}

/* Whether the worker is busy, i.e. the store has not answered in time. */
static bool is_hanging(struct np_store_reader *s)
{
	return np_worker_busy_sec(s->worker) > 0;
}

/* Called in the worker's thread once its last work is done. */
static void free_reader(void *arg)
{
	struct np_store_reader *s = arg;

	np_catalog_free(s->catalog);
	np_accounting_free(s->accounting);
	free(s);
}

void np_store_reader_free(struct np_store_reader *s)
{
	if (!s)
		return;
	np_known_free(&s->known);
	np_worker_free(s->worker, free_reader, s);
}

void np_store_reader_renew(struct np_store_reader *s)
{
	s->renew = true;
}

bool np_store_reader_is_new(struct np_store_reader *s)
{
	if (s->renew && !is_hanging(s)) {
		np_catalog_free(s->catalog);
		s->catalog = NULL;
		s->mode = 0;
		s->renew = false;
	}
	return !s->catalog;
}

int np_store_reader_open(struct np_store_reader *s, const struct np_conf *conf,
			 const char *cluster, struct np_err *err)
{
	strcpy(s->store, conf->store);
	return np_catalog_new(conf->store, cluster, &conf->place, &s->catalog,
			      err);
}

bool np_store_reader_want(struct np_store_reader *s, const char *app,
			  uint32_t uid)
{
	return s->catalog && !is_hanging(s) &&
	       np_catalog_note_job(s->catalog, app, uid);
}

/* Called in the worker's thread. */
static void do_read(void *arg)
{
	struct np_store_reader *s = arg;
	struct reading *r = &s->reading;
	bool changed;

	np_catalog_refresh(s->catalog, r->budget_sec, r->warn, NULL, &changed,
			   &r->known.more, &r->trouble);
	r->rc = np_catalog_table(s->catalog, &r->known.table, &r->err);
	if (!r->rc)
		r->rc = np_catalog_index(s->catalog, &r->known.index);
}

static void drop_reading(void *arg)
{
	struct np_store_reader *s = arg;

	np_known_free(&s->reading.known);
}

/* A read is complete: take over what it found. */
static int take_reading(struct np_store_reader *s)
{
	struct reading *r = &s->reading;

	if (r->rc) {
		drop_reading(s);
		return r->rc;
	}
	np_known_free(&s->known);
	s->known = r->known;
	r->known = (struct np_known){ NULL };
	s->forgotten = false;
	snprintf(s->fabric, sizeof(s->fabric), "%s",
		 np_catalog_fabric(s->catalog));
	return 0;
}

/* Treat all profiles as unknown, so that nothing conflicts. 0 or -ENOMEM. */
static int forget_profiles(struct np_store_reader *s)
{
	struct np_app_index *none;
	int rc;

	if (s->forgotten || !s->known.index)
		return 0;
	rc = np_app_index_new(NULL, 0, NP_PROFILE_UNKNOWN, NULL, &none);
	if (rc)
		return rc;
	np_app_index_unref(s->known.index);
	s->known.index = none;
	s->forgotten = true;
	return 0;
}

/*
 * Report a store that hangs. The text stays the same while it does, so that it
 * is logged only once. 0 or -ENOMEM.
 */
static int check_deadlines(struct np_store_reader *s, struct np_err *trouble)
{
	double sec = np_worker_busy_sec(s->worker);
	int rc = 0;

	if (sec >= s->deadlines.forget_sec) {
		rc = forget_profiles(s);
		np_errf(trouble, -ETIMEDOUT, "%s: the store has not answered "
			"for %.0f s: all applications count as unknown",
			s->store, s->deadlines.forget_sec);
	} else if (sec >= s->deadlines.report_sec) {
		np_errf(trouble, -ETIMEDOUT, "%s: the store has not answered "
			"for %.0f s: decisions use the profiles read before",
			s->store, s->deadlines.report_sec);
	}
	return rc;
}

int np_store_reader_read(struct np_store_reader *s, double budget_sec,
			 np_store_warn_f *warn, struct np_known *out,
			 struct np_err *trouble, struct np_err *err)
{
	const struct np_work read = { do_read, drop_reading, s };
	int rc;

	*out = (struct np_known){ .more = false };
	if (!is_hanging(s)) {
		s->reading = (struct reading){ budget_sec, warn };
		if (np_worker_do(s->worker, &read,
				 budget_sec + s->deadlines.wait_sec)) {
			rc = take_reading(s);
			if (rc)
				return np_errf(err, rc, "%s",
					       s->reading.err.text);
			out->more = s->known.more;
			*trouble = s->reading.trouble;
		}
	}
	rc = check_deadlines(s, trouble);
	if (rc)
		return rc;
	if (!s->known.index)
		return np_errf(err, -EAGAIN, "%s: the store does not answer",
			       s->store);
	out->table = np_slowdowns_ref(s->known.table);
	out->index = np_app_index_ref(s->known.index);
	out->fabric = s->fabric;
	return 0;
}

/* One write, owned by the worker if the caller gives up. */
struct writing {
	struct np_store_reader *reader;
	struct np_pass_output output;
	struct np_err err;
};

/* Called in the worker's thread. */
static void do_write(void *arg)
{
	struct writing *w = arg;
	struct np_pass_output *output = &w->output;
	struct np_store_reader *s = w->reader;

	/* PrivateData also applies to files written before it was set. */
	if (output->mode != s->mode &&
	    !np_state_set_mode(output->store, output->mode, &w->err))
		s->mode = output->mode;
	np_accounting_update(s->accounting, &output->jobs, &output->info,
			     output->known.table, output->known.index,
			     output->store, output->mode, &w->err);
	if (output->has_state)
		np_state_save(output->store, &output->state, output->mode,
			      &w->err);
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
	struct writing *w = arg;

	free_output(&w->output);
	free(w);
}

bool np_store_reader_write(struct np_store_reader *s,
			   struct np_pass_output *output, struct np_err *err)
{
	struct writing *w = is_hanging(s) ? NULL : calloc(1, sizeof(*w));
	const struct np_work work = { do_write, drop_writing, w };

	if (!w) {
		free_output(output);
		return false;
	}
	w->reader = s;
	w->output = *output;
	if (!np_worker_do(s->worker, &work, s->deadlines.wait_sec))
		return false;
	*err = w->err;
	drop_writing(w);
	return true;
}

bool np_store_reader_has_more(struct np_store_reader *s)
{
	return !is_hanging(s) && np_accounting_has_more(s->accounting);
}
