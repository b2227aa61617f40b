/*
 * The dated files of a cluster's fabric: calibrations, and what messages cost.
 * Private to the store: np_fabric_store.c.
 */
#ifndef NP_FABRIC_FILE_H
#define NP_FABRIC_FILE_H

#include "np_app.h"
#include "np_store_dir.h"

#define NP_FABRIC_MAX_FILES 1000 /* looked at, of a cluster */

/* The directory of a cluster, whose name may be NULL or "". */
void np_fabric_dir_name(const char *cluster, char name[NP_APP_MAX + 1]);

/* Files that could not be used, and why of the newest. */
struct np_fabric_skips {
	size_t n;
	struct np_err newest;
};

/* A search for the best file of a kind; what is not said is set by it. */
struct np_fabric_search {
	struct np_store *store;
	const char *cluster; /* NULL or "": all clusters */
	const char *none, *no_use; /* for messages: "no calibration of " */
	const char *scope; /* and of which: " at scope node", or "" */
	bool (*is_name)(const char *name);
	size_t max_bytes; /* of a file */
	/*
	 * Looks at one.  Returns 0, 1 (no older one of its cluster can be
	 * better), -ENOMEM, or with err why it cannot be used.
	 */
	int (*look)(struct np_fabric_search *s, const char *text, size_t len,
		    const char *path, struct np_err *err);
	void *best; /* for look() */
	bool found; /* set by look(): there is one in best */

	size_t bytes;		     /* read so far */
	struct np_fabric_skips here; /* in the cluster that is looked at */
	struct np_fabric_skips all;
};

/*
 * Show look() the files of the cluster or of each cluster, the newest by name
 * first.  Returns 0 if one is found, or with err -ENOENT (there is none, or
 * none that can be used), -EACCES, -ENOMEM or what reading the directory gave.
 * Also then one may have been found, which is to be freed.
 */
int np_fabric_search(struct np_fabric_search *s, struct np_err *err);

/* It, for writing.  Returns 0 or -errno with err; np_dir_close(). */
int np_fabric_dir_make(struct np_store *s, const char *cluster,
		       struct np_dir *d, struct np_err *err);

/* DATE and suffix, in UTC; -EINVAL for a date that cannot be. */
int np_fabric_file_name(double date, const char *suffix, char *buf,
			size_t len);

/* Whole or not at all.  Returns 0 or -errno with err. */
int np_fabric_file_write(struct np_store *s, const char *cluster,
			 const char *file, const char *text,
			 struct np_err *err);

#endif
