/*
 * The directories of a store: opened one below the other, each checked before
 * anything in it is looked at.  Private to the stores.
 */
#ifndef NP_STORE_DIR_H
#define NP_STORE_DIR_H

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>

#include "np_hostlist.h"
#include "np_store.h"

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

/* np_store_mend.c: mkdirat() with exactly this mode; for one thread. */
int np_dir_mkdir(int at, const char *name, mode_t mode);

/*
 * And there: let slurmctld's group into the calling user's directory in
 * users/, an open descriptor.  What cannot be mended stays as it is.
 */
void np_dir_mend(int users, uid_t uid);
/* Of users/ and a directory in it: can that group not read it? */
bool np_dir_is_closed(const struct stat *users, const struct stat *st);
/* The name of one of that user that is being mended. */
bool np_dir_is_spare(const char *name, uid_t uid);

/* May what uid owns be trusted in this directory? */
bool np_dir_trusts(const struct np_dir *d, uid_t uid);

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
 * np_store_names.c: names in a directory that want() takes (NULL: all), the
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

/* Such a file that np_store_run_name() named: pruning touches no other. */
bool np_is_own_run_name(const char *name);

/* A file of jobs that ended on a day. */
#define NP_ENDED_SHAPE "ended-00000000.jsonl"
bool np_is_ended_name(const char *name);

/* A temporary file of a writer. */
#define NP_STORE_TMP ".tmp-"
bool np_is_tmp_name(const char *name);

#endif
