/*
 * Single files in directories of the store: hostile ones are told apart before
 * they are opened, and written ones are whole or not there.  Private to the
 * stores, to calibrations, and to what commands write.
 */
#ifndef NP_STORE_FILE_H
#define NP_STORE_FILE_H

#include "np_store_dir.h"

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

#endif
