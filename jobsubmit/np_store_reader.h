/*
 * Store reader: gives decisions what they need from the store, and writes what
 * they leave there, with a deadline.
 *
 * A worker thread does the reading and writing, so that a store that hangs, as
 * NFS does when its server is gone, delays no decision. Decisions then use what
 * was read last; after a limit all profiles count as unknown, so that the
 * updates of jobs are taken back. Except for the worker, everything here is for
 * one thread, the placement thread.
 */
#ifndef NP_STORE_READER_H
#define NP_STORE_READER_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "np_catalog.h"
#include "np_conflict.h"
#include "np_err.h"
#include "np_job_snapshot.h"
#include "np_state.h"

/* ---- Worker: a thread for calls that may hang ---- */

struct np_worker;

/* A piece of work. */
struct np_work {
	void (*run)(void *arg);
	/* Called in the worker after run if the caller gave up; or NULL. */
	void (*drop)(void *arg);
	void *arg;
};

/* Returns 0, -ENOMEM or an error of pthread_create(), negated. */
int np_worker_new(struct np_worker **out);

/*
 * Let the thread end once it is idle, without waiting for it. It then calls
 * at_end(arg), which frees what its work used. If worker is NULL, at_end is
 * called at once.
 */
void np_worker_free(struct np_worker *worker, void (*at_end)(void *arg),
		    void *arg);

/*
 * Let the worker do a piece of work, and wait for it, but no longer than sec
 * seconds. Returns true if it was done. Otherwise the worker goes on with it,
 * and arg belongs to the worker; no other work can be given until
 * np_worker_busy_sec() is 0.
 */
bool np_worker_do(struct np_worker *worker, const struct np_work *work,
		  double sec);

/* How long the worker has been running its work, seconds; 0: it is idle. */
double np_worker_busy_sec(struct np_worker *worker);

/* ---- Store reader ---- */

/* How long the thread waits for the store, and what it does then. */
struct np_deadlines {
	double wait_sec;   /* for a read, beyond its budget; and for a write */
	double report_sec; /* until a store that hangs is reported */
	double forget_sec; /* until all profiles count as unknown */
};
#define NP_DEADLINES ((struct np_deadlines){ 2, 60, 600 })

struct np_store_reader;

/* Returns 0, -ENOMEM, or an error of pthread_create(), negated. */
int np_store_reader_new(const struct np_deadlines *p,
			struct np_store_reader **out);

/* If the store hangs, most memory is freed once it answers. NULL is allowed. */
void np_store_reader_free(struct np_store_reader *s);

/* The configuration changed: read all again, maybe from another store. */
void np_store_reader_renew(struct np_store_reader *s);

/*
 * Whether np_store_reader_open() must be called before np_store_reader_want().
 */
bool np_store_reader_is_new(struct np_store_reader *s);
/* Returns 0 or an error of np_catalog_new() with err. */
int np_store_reader_open(struct np_store_reader *s, const struct np_conf *conf,
			 const char *cluster, struct np_err *err);

/* np_catalog_note_job(); false while the store hangs. */
bool np_store_reader_want(struct np_store_reader *s, const char *app,
			  uint32_t uid);

/* What is known from the store; has references, see np_known_free(). */
struct np_known {
	struct np_slowdowns *table;
	struct np_app_index *index;
	const char *fabric; /* np_catalog_fabric(), until the next read */
	bool more; /* there is more to read */
};
void np_known_free(struct np_known *k);

/*
 * Read for budget_sec seconds. warn is called in the worker thread. Returns 0,
 * even if there is no store or it hangs, which *trouble then says; or, with
 * err, -ENOMEM, or -EAGAIN (the store hangs and was never read).
 */
int np_store_reader_read(struct np_store_reader *s, double budget_sec,
			 np_store_warn_f *warn, struct np_known *out,
			 struct np_err *trouble, struct np_err *err);

/* What a pass writes to the store at its end. */
struct np_pass_output {
	char store[PATH_MAX];
	mode_t mode; /* file permissions */
	struct np_job_snapshot jobs;
	struct np_ctld_info info;
	struct np_known known;
	struct np_state state;
	bool has_state; /* whether to write state.json */
};

/*
 * Write accounting records of jobs that ended, and state.json. Takes everything
 * that output points to, but not output itself. Returns true if it was written,
 * or if writing failed (with err); false if the store hangs.
 */
bool np_store_reader_write(struct np_store_reader *s,
			   struct np_pass_output *output, struct np_err *err);

/* np_accounting_has_more(); false while the store hangs. */
bool np_store_reader_has_more(struct np_store_reader *s);

/*
 * ---- Accounting, for np_store_reader.c and unit tests ----
 *
 * Records of which jobs ran concurrently on the same leaf switch. The module
 * remembers jobs while they run and for some time after, and appends a record
 * of each job with its neighbours to the store when it ends.
 */

/* Runs remembered. Beyond it, ended runs with low job ids are dropped first. */
#define NP_ACCOUNTING_MAX 50000
/*
 * Limits of one call: records written, and steps of the search for neighbours
 * (about 0.1 s; the job that exceeds it is the last).
 */
#define NP_ACCOUNTING_MAX_WRITTEN 200
#define NP_ACCOUNTING_MAX_STEPS 20000000

struct np_accounting;

/* Returns 0 or -ENOMEM. */
int np_accounting_new(struct np_accounting **out);
void np_accounting_free(struct np_accounting *p); /* NULL is allowed */

/* Whether jobs ended whose records are still to be written. */
bool np_accounting_has_more(const struct np_accounting *p);

/*
 * Take note of the jobs that run now. A job that ran at the last call and does
 * not any more has ended, at the time in info->jobs or otherwise now; so has
 * one that was requeued and runs again. Records of jobs with an application are
 * then appended to the store, in store_dir with file permissions mode. If too
 * many ended, the next calls write the rest. Records omitted because of a size
 * limit of the file are logged once per user. If jobs->map is another one than
 * at the last call, switches and partitions that were removed are missing in
 * the records.
 *
 * table, index: profiles, both from the same moment. Returns 0; or, with err,
 * the last error of np_accounting_append(), or -ENOBUFS: more ended jobs were
 * waiting than can be remembered, and some are lost.
 */
int np_accounting_update(struct np_accounting *p,
			 const struct np_job_snapshot *jobs,
			 const struct np_ctld_info *info,
			 const struct np_slowdowns *table,
			 const struct np_app_index *index,
			 const char *store_dir, mode_t mode,
			 struct np_err *err);

#endif
