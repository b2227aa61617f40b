/*
 * The profile store: a directory tree of run records.
 *
 *	STORE/users/UID/APP/RUN.json	runs measured by that user's job steps
 *	STORE/users/UID/APP/DATE.pairs	measured pairs, np_pairs_store.h
 *	STORE/published/APP/RUN.json	runs that an administrator published
 *	STORE/fabric/			calibrations, np_fabric_store.h
 *	STORE/placement/		state of the placement, np_state.h
 *
 * users/ is like /tmp (mode 3777, with the group of slurmctld). Each user
 * makes their own directory in it, mode 2750, named by the numeric uid and
 * trusted only if that uid owns it; if slurmctld's group cannot read it, the
 * next writer repairs that. published/ is trusted only if root or the owner of
 * STORE owns it. Below STORE no symbolic link is ever followed, and every file
 * is checked (regular, owner, size) before it is parsed as hostile input.
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

/* Limits of one np_store_load(), which reads the newest runs first: a hostile
 * directory cannot exhaust its reader's memory or time. */
#define NP_STORE_MAX_LEAVES 4096 /* leaf switches of all runs together */
/*
 * Intervals, neighbours and windows of all runs together. In a file, three bytes
 * are enough for one that takes a hundred bytes of memory.
 */
#define NP_STORE_MAX_ITEMS (2u << 20)
#define NP_STORE_MAX_READ (64u << 20) /* bytes of all files together */
#define NP_STORE_MAX_SCAN 65536	      /* directory entries */
#define NP_STORE_MAX_SKIPPED 100      /* unusable files */

struct np_store;

/*
 * Open a store for reading and writing as the calling user. dir is borrowed.
 * Returns 0, -ENOENT, -ENOTDIR, -EACCES or another -errno with err.
 * Close with np_store_close().
 */
int np_store_open(const char *dir, struct np_store **out, struct np_err *err);
void np_store_close(struct np_store *store); /* NULL is allowed */
const char *np_store_dir(const struct np_store *store);

/* How many runs of an application stay after a save: 1 .. NP_CONF_MAX_RUNS. */
void np_store_set_max_runs(struct np_store *store, uint32_t max_runs);

/* Whose profiles: one user's, or the published ones. */
enum np_store_owner { NP_STORE_USER, NP_STORE_PUBLISHED };

/*
 * Write a record into the calling user's directory, or for administrators into
 * published/, replacing an earlier version of the same run: temporary file,
 * fsync, rename, fsync of the directory, so that a reader sees the old file or
 * the new one and never a part. A new run removes the oldest ones, under a lock
 * on the application's directory; if the lock cannot be had within 2 s, its
 * holder does the removing. Returns 0 or -errno (-ENOSPC, -EROFS, -EACCES, -EDQUOT, ...) with
 * err.
 */
int np_store_save(struct np_store *store, enum np_store_owner owner,
		  const struct np_record *record, struct np_err *err);

/*
 * Remove n runs of an application, of the calling user or published. With run
 * NULL remove the whole application, including traces, measured pairs and
 * unreadable files.
 * Returns 0, or with err -ENOENT: no such application; or another -errno.
 */
int np_store_remove(struct np_store *store, enum np_store_owner owner,
		    const char *app, const struct np_record *const *run,
		    size_t n, struct np_err *err);

/* File name of a record inside its application's directory. */
void np_store_run_name(const struct np_record *record, char *buf, size_t len);

/*
 * Name of a measurement's file: "20261121T031320Z" and the suffix, so that
 * names sort by date. Returns 0, or -EINVAL: there is no date.
 */
int np_store_dated_name(double date, const char *suffix,
			char buf[NAME_MAX + 1]);

/* Called for each file that was skipped, with the reason in one line. */
typedef void np_store_warn_f(const char *line, void *arg);

/* The runs of one application, newest first. */
struct np_runs {
	char app[NP_APP_MAX + 1];
	enum np_store_owner owner;
	uid_t uid; /* the user, if owner is NP_STORE_USER */
	struct np_record **run;
	size_t n;
	size_t n_skipped; /* unusable files */
	size_t bytes;	  /* of all files that were read, used or not */
};

/*
 * Read the runs of an application. A record of a newer schema, a damaged or
 * too large one, a symbolic link and a file of another owner are skipped: warn
 * (may be NULL) is called once for each, naming the file. It is also called
 * when one of the limits above ends the reading.
 * uid is ignored for NP_STORE_PUBLISHED.
 * Returns 0, or with err -ENOENT (there is no such application, or app is not
 * a valid name), -EACCES, -ENOMEM or another -errno. *out is set only if it
 * returns 0; free it with np_runs_free().
 */
int np_store_load(struct np_store *store, enum np_store_owner owner, uid_t uid,
		  const char *app, np_store_warn_f *warn, void *arg,
		  struct np_runs *out, struct np_err *err);
void np_runs_free(struct np_runs *runs);

/*
 * Identifies the state of a directory or file; another state has another stamp.
 */
struct np_store_stamp {
	uint64_t dev, ino;
	int64_t sec, nsec; /* of its last change, since 1970 */
};

/*
 * True if a directory changed so recently that it may have changed again since
 * it was read, with the same stamp. Time stamps are coarse, between a
 * hundredth of a second and a second; NP_STORE_RACY_SEC after a change they are
 * reliable.
 */
#define NP_STORE_RACY_SEC 3.0
bool np_store_is_racy(const struct np_store_stamp *stamp);

/* The stamp of an application's directory; all zero if it cannot be read. */
struct np_store_stamp np_store_stamp(struct np_store *store,
				     enum np_store_owner owner, uid_t uid,
				     const char *app);

/*
 * The applications of a user (or the published ones), each with the stamp of
 * its directory. A stamp changes when the store writes, replaces or removes a
 * run, but not when a file is edited in place. No file is opened.
 * *apps: sorted by name; free() it. A missing directory is an empty list.
 * Returns 0, or -errno with err.
 */
struct np_store_app {
	char name[NP_APP_MAX + 1];
	struct np_store_stamp stamp;
};
int np_store_list_apps(struct np_store *store, enum np_store_owner owner,
		       uid_t uid, struct np_store_app **apps, size_t *n,
		       struct np_err *err);

/*
 * The newest trace of an application of a user: the path of a directory
 * JOB.STEP.trace next to the runs, which netprof-saver writes
 * (np_trace_dir.h), into buf. Returns 0; -ENOENT without err: there is none;
 * or another -errno with err.
 */
int np_store_trace(const struct np_store *store, uid_t uid, const char *app,
		   char *buf, size_t len, struct np_err *err);

/*
 * The uids that have a directory, sorted; free() the array. warn (may be NULL)
 * is called if there are more than NP_STORE_MAX_SCAN entries. A missing users/
 * is an empty list. Returns 0, or -errno with err.
 */
int np_store_uids(struct np_store *store, uid_t **uids, size_t *n,
		  np_store_warn_f *warn, void *arg, struct np_err *err);

/*
 * Users with entries in users/ that are not their own directory. Any user can
 * create entries there, even with the uid of another user as the name; that
 * user then cannot keep records.
 */
struct np_store_squatter {
	uid_t uid;
	size_t n;	/* such entries */
	size_t n_taken; /* those named by another user's uid */
	uid_t taken;	/* one of these uids */
};
struct np_store_census {
	struct np_store_squatter *squatter; /* the worst first */
	size_t n;
	size_t n_closed; /* directories that slurmctld cannot read */
	uid_t closed;	 /* owner of one of them */
	bool cut;	 /* there are more entries than NP_STORE_MAX_SCAN */
};
/* Returns 0, or -errno with err. A missing users/ has no entries. */
int np_store_census(struct np_store *store, struct np_store_census *out,
		    struct np_err *err);
void np_store_census_free(struct np_store_census *census);

/*
 * As root: make a user's directory, or correct the mode of the existing one, so
 * that nobody else can take its place. Returns 0, or with err -EEXIST,
 * -ENOTDIR or -ELOOP: somebody else has taken it; or another -errno.
 */
int np_store_make_user(struct np_store *store, uid_t uid, bool *made,
		       struct np_err *err);

/*
 * Single files in directories of the store: hostile files are recognised before
 * they are opened, and a file is written completely or not at all. For the
 * stores, the calibration and what commands write.
 */

/* How the files of a directory are read, and how unusable ones are reported. */
struct np_reader {
	const struct np_dir *dir;
	size_t max_bytes;      /* a larger file is skipped */
	np_store_warn_f *warn; /* may be NULL */
	void *arg;
};

/* Call warn about a file; control characters become '?'. */
void np_reader_skip(const struct np_reader *r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * *text is malloc'ed, not terminated. Returns its length, -EINVAL after
 * calling warn (not a regular file, another owner, too large, unreadable),
 * -ENOENT (the file is gone) or -ENOMEM.
 */
ssize_t np_reader_read(const struct np_reader *reader, const char *name,
		       char **text);

/*
 * Read the last max bytes of a file. *cut: it has more before them. *text is
 * malloc'ed, not terminated. Returns the length, or with err: -ENOENT, -EACCES
 * (also: not a regular file, or another owner), -ENOMEM or another -errno.
 */
ssize_t np_file_read_end(const struct np_dir *dir, const char *name, size_t max,
			 char **text, bool *cut, struct np_err *err);

/*
 * Write a file completely or not at all: under a temporary name, with this mode
 * whatever the umask, fsync, rename, fsync of the directory. Tries again if
 * the temporary file was removed meanwhile. Returns 0, or -errno with err
 * after removing the temporary file.
 */
int np_file_write(const struct np_dir *dir, const char *name, const void *data,
		  size_t len, mode_t mode, struct np_err *err);
/* The same for any path; -EEXIST: it exists and is not a regular file. */
int np_file_write_path(const char *path, const void *data, size_t len,
		       mode_t mode, struct np_err *err);
int np_file_sync_dir(const struct np_dir *dir);

/*
 * flock() a descriptor, waiting 2 s at most. Returns 0; -EWOULDBLOCK: another
 * process holds it; or the errno of a network file system without locks.
 */
int np_file_lock(int fd);

/*
 * Remove temporary files that killed writers left behind: those more than an
 * hour older than the directory's last change.
 */
void np_file_remove_stale(const struct np_dir *d);

/*
 * The directories of a store are opened one below the other, and each is
 * checked before anything in it is used. For the stores and their writers.
 */

#define NP_STORE_USERS "users"
#define NP_STORE_PUBLIC "published"
#define NP_STORE_FABRIC "fabric"
#define NP_STORE_PLACEMENT "placement"
/* Below the store no symbolic link is followed. */
#define NP_OPEN_DIR (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define NP_STORE_PATH (PATH_MAX + 2 * NAME_MAX) /* longest path in messages */

struct np_store {
	char *dir;
	int fd;	     /* of dir, O_PATH */
	uid_t owner; /* of dir */
	uint32_t max_runs;
};

/* An open directory of the store whose owner is trusted. */
struct np_dir {
	int fd;
	enum np_store_owner owner;
	uid_t uid;	   /* NP_STORE_USER: the user */
	uid_t store_owner; /* else: trusted together with root */
	char path[NP_STORE_PATH];
};

/* The stamp of a file or directory from its attributes. */
struct stat;
struct np_store_stamp np_stamp_of(const struct stat *st);

#define NP_DIR_PRIVATE_MODE 0750 /* set-group-id is inherited from users/ */

/*
 * Open users/UID or published/ (app NULL), or an application's directory in it.
 * With make, missing directories are made; for writing as the calling user.
 * Returns 0; -ENOENT (missing, without err); or with err -EACCES (no
 * permission, another owner, not a directory, a symbolic link) or another
 * -errno. Close with np_dir_close().
 */
int np_dir_open(const struct np_store *store, enum np_store_owner owner,
		uid_t uid, const char *app, bool make, struct np_dir *out,
		struct np_err *err);
void np_dir_close(struct np_dir *dir);

/*
 * Open fabric/ (cluster NULL) or a cluster's directory in it, trusted like
 * published/; otherwise as np_dir_open().
 */
int np_dir_open_fabric(const struct np_store *store, const char *cluster,
		       bool make, struct np_dir *out, struct np_err *err);

/*
 * Open placement/, whose files are trusted if its owner (SlurmUser) or root
 * owns them. With make, a missing one is made by the calling user, mode 0755.
 * Safe in programs with threads. Returns 0 or -errno with err.
 */
int np_dir_open_placement(const char *store_dir, bool make, struct np_dir *out,
			  struct np_err *err);

/*
 * The names in a directory for which want() is true (NULL: all), in descending
 * order, which puts the newest run first. Scans up to NP_STORE_MAX_SCAN
 * entries; *cut, if cut is not NULL: there were more.
 * Returns 0 or -errno with err. Free with np_names_free().
 */
int np_dir_names(const struct np_dir *d, bool (*want)(const char *name),
		 char ***names, size_t *n, bool *cut, struct np_err *err);

/* Is it the name of a file, not hidden, that ends in this suffix? */
bool np_file_has_suffix(const char *name, const char *suffix);

#define NP_STORE_PAIRS_SUFFIX ".pairs" /* of a file of measured pairs */

/* Prefix of writers' temporary files. */
#define NP_STORE_TMP ".tmp-"

#endif
