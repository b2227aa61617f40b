/*
 * Store reader: reads what placement needs from the store, and writes its
 * results there, with a deadline.
 *
 * A worker thread reads and writes, so that placement is not delayed by a store
 * or a file of Rails that hangs, as on NFS without its server. It has file
 * descriptors of its own, so that slurmctld's ports are free when slurmctld
 * ends, even if nothing ends the thread. Placement continues with what was read
 * last. If the store does not answer for a long time, all profiles become
 * unknown, and placement undoes its changes to jobs. Apart from the worker, only
 * the placement thread may call the functions below.
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

/*
 * own_files: the thread calls np_ctl_defer_lines() and np_thread_own_files().
 * If the kernel refuses the latter, it logs that once. Returns 0, -ENOMEM or an
 * error of pthread_create(), negated.
 */
int np_worker_new(bool own_files, struct np_worker **out);

/*
 * End the thread as soon as it is idle, without waiting for that. It then calls
 * at_end(arg), unless that is NULL, to free what its work used. If worker is
 * NULL, at_end(arg) is called at once.
 */
void np_worker_free(struct np_worker *worker, void (*at_end)(void *arg),
		    void *arg);

/*
 * Give the worker a piece of work, and wait until it is done, but no longer
 * than sec seconds. Returns true if it is done. Otherwise the worker goes on
 * with it and owns arg, and no other work may be given to it until
 * np_worker_busy_sec() is 0.
 */
bool np_worker_do(struct np_worker *worker, const struct np_work *work,
		  double sec);

/* Return how long the worker has been busy, in seconds; 0: it is idle. */
double np_worker_busy_sec(struct np_worker *worker);

/* ---- Store reader ---- */

/* How long the placement thread waits for the store. */
struct np_deadlines {
	double wait_sec;   /* for a write, and for a read beyond its budget */
	double report_sec; /* until a store that hangs is reported */
	double forget_sec; /* until all profiles count as unknown */
};
#define NP_DEADLINES ((struct np_deadlines){ 2, 60, 600 })

struct np_store_reader;

/* Returns 0, -ENOMEM, or an error of pthread_create(), negated. */
int np_store_reader_new(const struct np_deadlines *deadlines,
			struct np_store_reader **out);

/*
 * If the store hangs, most memory is freed only when it answers. May be NULL.
 */
void np_store_reader_free(struct np_store_reader *reader);

/* After a change of the configuration: read everything again. */
void np_store_reader_renew(struct np_store_reader *reader);

/* Whether np_store_reader_open() must be called before other functions. */
bool np_store_reader_is_new(struct np_store_reader *reader);
/* Returns 0 or an error of np_catalog_new() with err. */
int np_store_reader_open(struct np_store_reader *reader,
			 const struct np_conf *conf, const char *cluster,
			 struct np_err *err);

/* As np_catalog_expect_job(); false while the store hangs. */
bool np_store_reader_expect_job(struct np_store_reader *reader, const char *app,
				uint32_t uid);

/*
 * Profiles read from the store, and the file of Rails, which may be on the same
 * file system. np_known_free() drops the references; the other pointers are
 * valid until the next read.
 */
struct np_known {
	struct np_slowdowns *table;
	struct np_app_index *index;
	const char *fabric; /* np_catalog_fabric() */
	const char *rails;  /* text of the file; NULL: none, or unreadable */
	const struct np_err *rails_error; /* why it is unreadable, or "" */
	bool more;			  /* there are more profiles to read */
};
void np_known_free(struct np_known *known);

/*
 * Read for budget_sec seconds. warn is called in the worker's thread. Returns
 * 0, also if there is no store or it hangs, and then says so in *trouble; or,
 * with err, -ENOMEM, or -EAGAIN (the store hangs and was never read).
 */
int np_store_reader_read(struct np_store_reader *reader, double budget_sec,
			 np_store_warn_f *warn, struct np_known *out,
			 struct np_err *trouble, struct np_err *err);

/* What a scheduling pass writes to the store at its end. */
struct np_pass_output {
	char store[PATH_MAX];
	mode_t mode; /* file permissions */
	struct np_job_snapshot jobs;
	struct np_ctld_info info;
	struct np_known known;
	struct np_state state;
	bool has_state; /* state is set, and to be written to state.json */
};

/*
 * Write accounting records of jobs that have ended, and state.json. Takes
 * ownership of everything that output points to, but not of output itself.
 * Returns true if the write is over, also if it failed (with err); false if the
 * store hangs.
 */
bool np_store_reader_write(struct np_store_reader *reader,
			   struct np_pass_output *output, struct np_err *err);

/* As np_accounting_has_more(); false while the store hangs. */
bool np_store_reader_has_more(struct np_store_reader *reader);

/*
 * ---- Accounting, for np_store_reader.c and unit tests ----
 *
 * Records of which jobs ran concurrently on the same leaf switch. The module
 * remembers jobs while they run and for some time after. When a job ends, it
 * appends a record of the job and its neighbours to the store.
 */

/*
 * Limit of the runs that are remembered. Beyond it, ended runs with the lowest
 * job ids are dropped first.
 */
#define NP_ACCOUNTING_MAX 50000
/*
 * Limits of one call: how many records it writes, and how many steps it takes
 * to search for neighbours, about 0.1 s. The run that exceeds the latter is the
 * last one of the call.
 */
#define NP_ACCOUNTING_MAX_WRITTEN 200
#define NP_ACCOUNTING_MAX_STEPS 20000000

struct np_accounting;

/* Returns 0 or -ENOMEM. */
int np_accounting_new(struct np_accounting **out);
void np_accounting_free(struct np_accounting *accounting); /* NULL is allowed */

/* Whether records of ended jobs are still to be written. */
bool np_accounting_has_more(const struct np_accounting *accounting);

/*
 * Record which jobs are running. A job that ran at the last call has ended if
 * it is no longer running, or if it was requeued and has started again. It
 * ended at the time in info->jobs, or now if there is none. If it has an
 * application, its record is appended to the store in store_dir, with file
 * permissions mode. If many jobs have ended, later calls write the rest.
 * Records that a size limit of the file forbids are logged once per user. If
 * jobs->map has changed since the last call, the records lack the switches and
 * partitions that were removed.
 *
 * table and index are the profiles, both from the same moment. Returns 0; or,
 * with err, the last error of np_accounting_append(), or -ENOBUFS: more ended
 * jobs were waiting than can be remembered, and some are lost.
 */
int np_accounting_update(struct np_accounting *accounting,
			 const struct np_job_snapshot *jobs,
			 const struct np_ctld_info *info,
			 const struct np_slowdowns *table,
			 const struct np_app_index *index,
			 const char *store_dir, mode_t mode,
			 struct np_err *err);

#endif
