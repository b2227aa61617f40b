/*
 * The dated files of a cluster's fabric: calibrations, and what messages cost.
 * In np_fabric_store.c; private to the store.
 */
#ifndef NP_FABRIC_FILE_H
#define NP_FABRIC_FILE_H

#include "np_app.h"
#include "np_store_dir.h"

/* The directory of a cluster, whose name may be NULL or "". */
void np_fabric_dir_name(const char *cluster, char name[NP_APP_MAX + 1]);
bool np_fabric_is_dir_name(const char *name);

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
