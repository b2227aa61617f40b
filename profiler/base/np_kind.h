/*
 * What a file is, by its first bytes: so that a reader that was given a file of
 * another kind names that, and not the first thing in it that is unexpected.
 */
#ifndef NP_KIND_H
#define NP_KIND_H

#include <stddef.h>

#include "np_err.h"

#define NP_KIND_BYTES 16 /* of a file's beginning that are enough */

/* What a reader expects. */
enum np_kind {
	NP_KIND_TEXT, /* of any kind */
	NP_KIND_GOAL,
	NP_KIND_MPIP,
	NP_KIND_JSON,
	NP_KIND_TRACE, /* text of liballprof */
	NP_KIND_WORDS, /* netprof-scheme(5) or netprof-workload(5) */
};

/*
 * len bytes from the beginning of a file.  Returns 0, also for what is of no
 * kind that is known, or -EINVAL with err: "SOURCE:1: expected ..., got gzip data".
 */
int np_kind_check(const char *text, size_t len, enum np_kind expected,
		  const char *source, struct np_err *err);

#endif
