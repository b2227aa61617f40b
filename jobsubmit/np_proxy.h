/*
 * What decisions need of the store, and what they leave there.
 *
 * A worker reads and writes (np_proxy.h), so that a store that hangs, as NFS
 * does, holds up no decision: what was read last holds, and after a limit
 * nothing counts as known any more, so that what was written into jobs is taken
 * back.  All of this is for one thread, the one that decides.
 */
#ifndef NP_PROXY_H
#define NP_PROXY_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "np_catalog.h"
#include "np_state.h"
#include "np_view.h"

/*
 * A thread for what may hang, as a file system does whose server went: who
 * gives it something to do waits for so long and no longer.
 */

struct np_worker;

/* Something to do. */
struct np_work {
	void (*run)(void *arg);
	/* Called after run, in the thread, if nobody waited for it; or NULL. */
	void (*drop)(void *arg);
	void *arg;
};

/* Returns 0, -ENOMEM or what pthread_create() says. */
int np_worker_new(struct np_worker **out);

/*
 * The thread ends when it has nothing to do any more; nobody waits for it.  It
 * then calls leave, which frees what its work used.  If c is NULL, leave is
 * called at once.
 */
void np_worker_free(struct np_worker *c, void (*leave)(void *arg), void *arg);

/*
 * Returns true when it is done within sec.  Else it goes on, and arg is the
 * thread's: until np_worker_busy_sec() is 0 there is nothing else it can do.
 */
bool np_worker_do(struct np_worker *c, const struct np_work *e, double sec);

/* For how long it has been at what nobody waits for any more; 0: it is not. */
double np_worker_busy_sec(struct np_worker *c);

/* A thread that nobody joins, within slurmctld. */

/* Returns 0 or what pthread_create() says, negated. */
int np_thread_start(void *(*run)(void *arg), void *arg);

/* In seconds. */
struct np_patience {
	double round;  /* with reading, beyond its budget; and with writing */
	double say;    /* with a store that hangs, until it is told */
	double forget; /* until nothing counts as known any more */
};
#define NP_PATIENCE ((struct np_patience){ 2, 60, 600 })

struct np_proxy;

/* Returns 0, -ENOMEM, or what pthread_create() says. */
int np_proxy_new(const struct np_patience *p, struct np_proxy **out);

/* While the store hangs, most is freed when it answers.  NULL is allowed. */
void np_proxy_free(struct np_proxy *s);

/* Another store, or other settings: all is to be read anew. */
void np_proxy_renew(struct np_proxy *s);

/* Is there nothing yet that could be wanted?  Then np_proxy_open(). */
bool np_proxy_is_new(struct np_proxy *s);
int np_proxy_open(struct np_proxy *s, const struct np_conf *conf,
		  const char *cluster, struct np_err *err);

/* np_catalog_want(); false while the store hangs. */
bool np_proxy_want(struct np_proxy *s, const char *app, uint32_t uid);

/* Of the store, as it was read last; references. */
struct np_known {
	struct np_press *table;
	struct np_app_index *index;
	bool more; /* is still to be read */
};
void np_known_free(struct np_known *k);

/*
 * Read for budget_sec.  warn is called by another thread.  Returns 0, also
 * where there is no store or it hangs, which *trouble says; -ENOMEM; -EAGAIN:
 * it hangs, and nothing was read before; with err.
 */
int np_proxy_read(struct np_proxy *s, double budget_sec,
		  np_store_warn_f *warn, struct np_known *out,
		  struct np_err *trouble, struct np_err *err);

/* np_catalog_fabric() */
const char *np_proxy_fabric(const struct np_proxy *s);

/* What a round leaves. */
struct np_left {
	char store[PATH_MAX];
	mode_t mode; /* of the files */
	struct np_view view;
	struct np_answers answers;
	struct np_known known;
	struct np_state state;
	bool has_state; /* else it is not written */
};

/*
 * Jobs that ended, and state.json.  All that l holds is taken, not l.  Returns
 * whether it was written, or at least tried, with why in err if it failed;
 * false: the store hangs.
 */
bool np_proxy_leave(struct np_proxy *s, struct np_left *l, struct np_err *err);

/* np_history_has_more() */
bool np_proxy_has_more(struct np_proxy *s);

#endif
