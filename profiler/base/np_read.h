/*
 * Reading: descriptors, kinds of files, and whole files.
 *
 * The readers here treat every file as hostile input: it may be a FIFO, a
 * device, too large, or something else than its name says.
 */
#ifndef NP_READ_H
#define NP_READ_H

#include <stddef.h>
#include <stdlib.h>
#include <sys/types.h>

#include "np_err.h"

struct stat;

/* ---- descriptors ---- */

/*
 * Open a file that anyone may have put there, without blocking on a FIFO.
 * flags: O_NOFOLLOW or 0. Returns the descriptor, -EINVAL (not a regular file)
 * or -errno.
 */
int np_read_open(const char *path, int flags, struct stat *st);

/*
 * Open a file, or a FIFO that has a writer. Returns the descriptor, or -errno
 * with err; -EPIPE: a FIFO without a writer.
 */
int np_read_stream(const char *path, struct np_err *err);

/* Why np_read_open() gave -EINVAL: "a directory, not a regular file". */
const char *np_read_irregular(const struct stat *st);

/* Read up to size bytes, malloc'ed and NUL-terminated: the length or -errno. */
ssize_t np_read_text(int fd, size_t size, char **text);

/* Write all of text. Returns 0 or -errno. */
int np_write_all(int fd, const char *text, size_t len);

/* ---- kinds of files ---- */

/*
 * The kind of a file, by its first bytes. A reader that was given the wrong
 * kind of file can then name the kind, instead of the first thing in the file
 * that it did not expect.
 */

#define NP_KIND_BYTES 16 /* bytes at the beginning that are enough */

/* What a reader expects. */
enum np_kind {
	NP_KIND_TEXT, /* of any kind */
	NP_KIND_GOAL,
	NP_KIND_MPIP,
	NP_KIND_JSON,
	NP_KIND_TRACE,	  /* text of liballprof */
	NP_KIND_TOPOLOGY, /* topology.conf of Slurm */
	NP_KIND_WORDS,	  /* netprof-scheme(5) or netprof-workload(5) */
	NP_KIND_QUEUE,	  /* a log of jobs */
};

/*
 * text: len bytes from the beginning of a file. Returns 0, also if the kind is
 * unknown, or -EINVAL with err: "SOURCE:1: expected ..., got gzip data".
 */
int np_kind_check(const char *text, size_t len, enum np_kind expected,
		  const char *source, struct np_err *err);

/* ---- whole files ---- */

/*
 * Read a regular file of text, of at most max bytes. *text is malloc'ed and
 * followed by a NUL, the only one. Returns 0, or with err, which names path:
 * -EINVAL (not a regular file, or not text), -EFBIG, -ENOMEM, or an error of
 * opening and reading.
 */
int np_read_file(const char *path, size_t max, char **text, size_t *len,
		 struct np_err *err);

/*
 * Read such a file, and return what parse(text, len, path, out, err) returns
 * for it, whatever the type of out is.
 */
#define NP_READ_PARSED(path, max, parse, out, err) \
	({ \
		char *text_ = NULL; \
		size_t len_; \
		int rc_ = np_read_file(path, max, &text_, &len_, err); \
\
		if (!rc_) \
			rc_ = parse(text_, len_, path, out, err); \
		free(text_); \
		rc_; \
	})

/*
 * The same, whatever the bytes are. np_read_check_text() then returns 0, or
 * -EINVAL with err for a known kind of data or a NUL.
 */
int np_read_bytes(const char *path, size_t max, char **bytes, size_t *len,
		  struct np_err *err);
int np_read_check_text(const char *text, size_t len, const char *path,
		       struct np_err *err);

#endif
