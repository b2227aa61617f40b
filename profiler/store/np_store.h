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

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "np_err.h"
#include "np_hostlist.h"
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

/*
 * Single files in directories of the store: hostile ones are told apart before
 * they are opened, and written ones are whole or not there.  Private to the
 * stores, to calibrations, and to what commands write.
 */

/* A directory that is being read, and who hears of files that are no use. */
struct np_reader {
	const struct np_dir *dir;
	size_t max_bytes;      /* a larger file is skipped */
	np_store_warn_f *warn; /* NULL: nobody */
	void *arg;
};

/* Tell about a file; control characters become '?'. */
void np_reader_skip(const struct np_reader *r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * *text is malloc'ed, not terminated.  Returns its length, -EINVAL (no regular
 * file, foreign owner, too large, gone, or not to be read: said) or -ENOMEM.
 */
ssize_t np_reader_read(const struct np_reader *r, const char *name,
		       char **text);

/*
 * The last max bytes of a file that is needed.  *cut: there were more before.
 * *text is malloc'ed, not terminated.  Returns the length, or with err: -ENOENT,
 * -EACCES (also: no regular file, or a foreign owner's), -ENOMEM or another
 * -errno.
 */
ssize_t np_file_read_end(const struct np_dir *d, const char *name, size_t max,
			 char **text, bool *cut, struct np_err *err);

/*
 * Write a file, whole or not at all: under a temporary name, with this mode
 * whatever the umask, synced, renamed to name, and the directory synced.  Once
 * more, if somebody took the temporary file away.  Returns 0 or -errno with err,
 * and then nothing is left.
 */
int np_file_write(const struct np_dir *d, const char *name, const void *data,
		  size_t len, mode_t mode, struct np_err *err);
/* The same outside of a store; -EEXIST: something else than a file is there. */
int np_file_write_path(const char *path, const void *data, size_t len,
		       mode_t mode, struct np_err *err);
int np_file_sync_dir(const struct np_dir *d);

/*
 * flock() it, for 2 s at most.  Returns 0; -EWOULDBLOCK: somebody has it; or
 * what some network file systems say, which cannot lock.
 */
int np_file_lock(int fd);

/*
 * What writers left that were killed: what is older than an hour by the clock
 * of the directory's last change.
 */
void np_file_remove_stale(const struct np_dir *d);

/*
 * The directories of a store: opened one below the other, each checked before
 * anything in it is looked at.  Private to the stores.
 */

#define NP_STORE_USERS "users"
#define NP_STORE_PUBLIC "published"
#define NP_STORE_FABRIC "fabric"
#define NP_STORE_PLACEMENT "placement"
/* Below the store nothing is followed through a symbolic link. */
#define NP_OPEN_DIR (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define NP_STORE_PATH (PATH_MAX + 2 * NAME_MAX) /* for messages */

struct np_store {
	char *dir;
	int fd;	      /* of dir */
	uid_t owner;  /* of dir */
	uint32_t max_runs;
};

/* A directory of the store that is open and whose owner is trusted. */
struct np_dir {
	int fd;
	enum np_store_owner owner;
	uid_t uid;	   /* of a user's directory */
	uid_t store_owner; /* of published/, together with root */
	char path[NP_STORE_PATH];
};

/* Of a directory. */
struct stat;
struct np_store_stamp np_stamp_of(const struct stat *st);

#define NP_DIR_PRIVATE_MODE 0750 /* set-group-id comes from the one above */

/*
 * Open users/UID or published (app NULL), or the application's directory in it.
 * With make, for writing as the calling user, what is missing is made.
 * Returns 0; -ENOENT (missing, without err); -EACCES (no permission, a foreign
 * owner, not a directory, a symbolic link) or another -errno, with err.  Close
 * with np_dir_close().
 */
int np_dir_open(const struct np_store *s, enum np_store_owner owner, uid_t uid,
		const char *app, bool make, struct np_dir *out,
		struct np_err *err);
void np_dir_close(struct np_dir *d);

/*
 * fabric/ (cluster NULL), or a cluster's directory in it, trusted as published/
 * is; otherwise as np_dir_open().
 */
int np_dir_open_fabric(const struct np_store *s, const char *cluster, bool make,
		       struct np_dir *out, struct np_err *err);

/*
 * placement/ of a store, whose files are trusted if its owner (that is
 * SlurmUser) or root owns them.  With make it is made, mode 0755, by the calling
 * user; fit for programs with threads.  Returns 0 or -errno with err.
 */
int np_dir_open_placement(const char *store_dir, bool make, struct np_dir *out,
			  struct np_err *err);

/*
 * Names in a directory that want() takes (NULL: all), the
 * last by name first, which is the newest run; scanned up to NP_STORE_MAX_SCAN
 * entries.
 * *cut, if cut is not NULL: there were more.
 * Returns 0 or -errno with err.  Free with np_names_free().
 */
int np_dir_names(const struct np_dir *d, bool (*want)(const char *name),
		 char ***names, size_t *n, bool *cut, struct np_err *err);

/* Of an application, or a cluster. */
bool np_is_app_name(const char *name);

/* A file that holds a run: "*.json", not hidden. */
bool np_is_run_name(const char *name);

/* A file of jobs that ended on a day. */
#define NP_ENDED_SHAPE "ended-00000000.jsonl"
bool np_is_ended_name(const char *name);

/* A temporary file of a writer. */
#define NP_STORE_TMP ".tmp-"

#endif
