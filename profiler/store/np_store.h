/*
 * The profile store: a directory tree of run records.
 *
 *	STORE/users/UID/APP/RUN.json	what the user's flagged steps measured
 *	STORE/published/APP/RUN.json	what an administrator vouches for
 *	STORE/fabric/			calibrations, np_fabric_store.h
 *
 * users/ is like /tmp (mode 3777, group of slurmctld): each user makes the own
 * directory, mode 2750, named by the numeric uid and trusted only if owned by
 * that uid; where slurmctld's group cannot read it, the next writer mends that.
 * published/ is trusted only if owned by root or by the owner of
 * STORE.  Nothing below is ever followed through a symbolic link, and every
 * file is checked (regular, owner, size) before it is parsed as hostile input.
 */
#ifndef NP_STORE_H
#define NP_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "np_err.h"
#include "np_record.h"

/* What one np_store_load() reads at most, newest first; a hostile directory
 * cannot make its reader run out of memory or time. */
#define NP_STORE_MAX_LEAVES 4096	/* leaves of all runs together */
#define NP_STORE_MAX_READ (64u << 20)	/* bytes of all files together */
#define NP_STORE_MAX_SCAN 65536		/* directory entries looked at */
#define NP_STORE_MAX_SKIPPED 100	/* files that cannot be used */

struct np_store;

/*
 * Open a store for reading and writing as the calling user.  dir is borrowed.
 * Returns 0, -ENOENT, -ENOTDIR, -EACCES or another -errno with err.
 * Close with np_store_close().
 */
int np_store_open(const char *dir, struct np_store **out, struct np_err *err);
void np_store_close(struct np_store *s); /* NULL is allowed */
const char *np_store_dir(const struct np_store *s);

/* How many runs of an application saving keeps: 1 .. NP_CONF_MAX_RUNS. */
void np_store_set_max_runs(struct np_store *s, uint32_t max_runs);

/*
 * Write a record under the calling user's directory, replacing an earlier
 * version of the same run: temporary file, fsync, rename, fsync of the
 * directory.  After a new one the oldest go, under the application's lock, which
 * is waited for at most 2 s: who has it prunes.
 * Readers see the old file or the new one, never half of either.
 * Returns 0 or -errno (-ENOSPC, -EROFS, -EACCES, -EDQUOT, ...) with err.
 */
int np_store_save(struct np_store *s, const struct np_record *r,
		  struct np_err *err);

/* Like np_store_save(), but under published/: for administrators. */
int np_store_publish(struct np_store *s, const struct np_record *r,
		     struct np_err *err);

/* Whose profiles: one user's, or the published ones. */
enum np_store_owner { NP_STORE_USER, NP_STORE_PUBLISHED };

/*
 * Remove n runs of an application of the calling user, or published ones; with
 * run NULL all that there is of it, traces and files that cannot be read, too.
 * Returns 0; -ENOENT: there is no such application; or another -errno; each
 * with err.
 */
int np_store_remove(struct np_store *s, enum np_store_owner owner,
		    const char *app, const struct np_record *const *run,
		    size_t n, struct np_err *err);

/* File name of a record inside its application's directory. */
void np_store_run_name(const struct np_record *r, char *buf, size_t len);

/* Called for each file that was skipped, with the reason in one line. */
typedef void np_store_warn_f(const char *line, void *arg);

/* The runs of one application, newest first. */
struct np_runs {
	char app[NP_APP_MAX + 1];
	struct np_record **run;
	size_t n;
	size_t bytes; /* of all files that were read, used or not */
};

/*
 * Read all runs of an application.  A record of a newer schema, a damaged or
 * huge one, a symbolic link or a file of a foreign owner is skipped with one
 * call of warn (may be NULL) naming the file; the rest is used.  Where one of
 * the limits above ends the reading, one more call says so.
 * uid is ignored for NP_STORE_PUBLISHED.
 * Returns 0; -ENOENT if there is no such application; -EACCES; -ENOMEM.
 */
int np_store_load(struct np_store *s, enum np_store_owner owner, uid_t uid,
		  const char *app, np_store_warn_f *warn, void *arg,
		  struct np_runs *out, struct np_err *err);
void np_runs_free(struct np_runs *runs);

/* Tells one state of a directory from another. */
struct np_store_stamp {
	uint64_t dev, ino;
	int64_t sec, nsec; /* of its last change, since 1970 */
};

/*
 * May what changed then and was read now have changed again since without a
 * new stamp?  Time stamps are coarse, a hundredth of a second here, a second
 * there; NP_STORE_RACY_SEC after the change, one that is the same tells.
 */
#define NP_STORE_RACY_SEC 3.0
bool np_store_is_racy(const struct np_store_stamp *s);

/* The stamp of an application's directory; zeros where none can be read. */
struct np_store_stamp np_store_stamp(struct np_store *s,
				     enum np_store_owner owner, uid_t uid,
				     const char *app);

/*
 * The applications of a user (or the published ones), each with the stamp of
 * its directory, which changes when a run is written, replaced or removed, as
 * the store does it; not when a file is changed in place.  Cheap: no file is
 * opened.  *apps: array sorted by name; free() it.  A missing directory is an
 * empty list.
 */
struct np_store_app {
	char name[NP_APP_MAX + 1];
	struct np_store_stamp stamp;
};
int np_store_look(struct np_store *s, enum np_store_owner owner, uid_t uid,
		  struct np_store_app **apps, size_t *n, struct np_err *err);

/*
 * The newest trace of an application of a user, a directory JOB.STEP.trace
 * beside the runs, which the program itself has written (np_trace_dir.h): its
 * path, into buf.  Returns 0; -ENOENT: there is none, without err; or another
 * -errno with err.
 */
int np_store_trace(const struct np_store *s, uid_t uid, const char *app,
		   char *buf, size_t len, struct np_err *err);

/*
 * The uids that have a directory, sorted; free() the array.  warn (may be NULL)
 * hears it if there are more than NP_STORE_MAX_SCAN entries.
 */
int np_store_uids(struct np_store *s, uid_t **uids, size_t *n,
		  np_store_warn_f *warn, void *arg, struct np_err *err);

/*
 * What stands in users/ and is no directory of its own user.  Anybody may put
 * something there, also under the number of somebody else, who then cannot
 * keep records.
 */
struct np_store_squatter {
	uid_t uid;
	size_t n;	/* entries, and how many of them are ... */
	size_t n_taken; /* ... named after others; taken: one of these */
	uid_t taken;
};
struct np_store_census {
	struct np_store_squatter *squatter; /* the worst first */
	size_t n;
	size_t n_closed; /* own ones that slurmctld's group cannot read; */
	uid_t closed;	 /* one of these */
	bool cut;	 /* there are more entries than are looked at */
};
int np_store_census(struct np_store *s, struct np_store_census *out,
		    struct np_err *err);
void np_store_census_free(struct np_store_census *c);

/*
 * As root: make a user's directory, or mend the mode of what is there; then
 * nobody else can take its place.  Returns 0; -EEXIST, -ENOTDIR or -ELOOP:
 * somebody has; or another -errno; with err.
 */
int np_store_make_user(struct np_store *s, uid_t uid, bool *made,
		       struct np_err *err);

#endif
