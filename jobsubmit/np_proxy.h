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
#ifndef NP_PROXY_H
#define NP_PROXY_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "np_catalog.h"
#include "np_state.h"
#include "np_view.h"

/* ---- Worker: a thread for calls that may hang ---- */

struct np_worker;

/* One call to make. */
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
 * leave(arg), which frees what its work used. If c is NULL, leave is called at
 * once.
 */
void np_worker_free(struct np_worker *c, void (*leave)(void *arg), void *arg);

/*
 * Run e in the worker and wait for sec seconds. Returns true if it finished.
 * Otherwise it goes on and arg belongs to the worker; no other work can be
 * given until np_worker_busy_sec() is 0.
 */
bool np_worker_do(struct np_worker *c, const struct np_work *e, double sec);

/* How long the worker has been running its work, seconds; 0: it is idle. */
double np_worker_busy_sec(struct np_worker *c);

/*
 * Start a detached thread in slurmctld, with all signals blocked. Returns 0 or
 * an error of pthread_create(), negated.
 */
int np_thread_start(void *(*run)(void *arg), void *arg);

/* ---- Store reader ---- */

/* Deadlines, seconds. */
struct np_patience {
	double round;  /* for a read, beyond its budget; and for a write */
	double say;    /* until a store that hangs is reported */
	double forget; /* until all profiles count as unknown */
};
#define NP_PATIENCE ((struct np_patience){ 2, 60, 600 })

struct np_proxy;

/* Returns 0, -ENOMEM, or an error of pthread_create(), negated. */
int np_proxy_new(const struct np_patience *p, struct np_proxy **out);

/* If the store hangs, most memory is freed once it answers. NULL is allowed. */
void np_proxy_free(struct np_proxy *s);

/* The configuration changed: read everything anew, maybe from another store. */
void np_proxy_renew(struct np_proxy *s);

/* Whether np_proxy_open() must be called before np_proxy_want(). */
bool np_proxy_is_new(struct np_proxy *s);
/* Returns 0 or an error of np_catalog_new() with err. */
int np_proxy_open(struct np_proxy *s, const struct np_conf *conf,
		  const char *cluster, struct np_err *err);

/* np_catalog_want(); false while the store hangs. */
bool np_proxy_want(struct np_proxy *s, const char *app, uint32_t uid);

/* What was last read from the store; references, for np_known_free(). */
struct np_known {
	struct np_press *table;
	struct np_app_index *index;
	bool more; /* some of it is still to be read */
};
void np_known_free(struct np_known *k);

/*
 * Read for budget_sec seconds. warn is called in the worker thread. Returns 0,
 * even if there is no store or it hangs, which *trouble then says; or, with
 * err, -ENOMEM, or -EAGAIN (the store hangs and was never read).
 */
int np_proxy_read(struct np_proxy *s, double budget_sec,
		  np_store_warn_f *warn, struct np_known *out,
		  struct np_err *trouble, struct np_err *err);

/* np_catalog_fabric(), as of the last read. */
const char *np_proxy_fabric(const struct np_proxy *s);

/* What a pass writes to the store at its end. */
struct np_left {
	char store[PATH_MAX];
	mode_t mode; /* file permissions */
	struct np_view view;
	struct np_answers answers;
	struct np_known known;
	struct np_state state;
	bool has_state; /* whether to write state.json */
};

/*
 * Write accounting records of jobs that ended, and state.json. Takes everything
 * that l points to, but not l itself. Returns true if it was written, or if
 * writing failed (with err); false if the store hangs.
 */
bool np_proxy_leave(struct np_proxy *s, struct np_left *l, struct np_err *err);

/* np_history_has_more(); false while the store hangs. */
bool np_proxy_has_more(struct np_proxy *s);

#endif
