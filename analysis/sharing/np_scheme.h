/*
 * Schemes of concurrent transfers as people write them: netprof-scheme(5).
 *
 *	reference 20M took 1.7s
 *	scheme fan-out
 *	a: n0 -> n1
 *	b: n0 -> n2 4M at 10ms
 *
 * Files are hostile input: whatever is no scheme is refused with one line that
 * names file, line, value and what was expected.  Memory and time are bounded
 * by the limits below.
 */
#ifndef NP_SCHEME_H
#define NP_SCHEME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "np_sharing.h"

#define NP_SCHEME_NAME 32 /* bytes of a name, its end included */
#define NP_SCHEME_MAX_FILE_BYTES (1u << 20)
#define NP_SCHEME_MAX_SCHEMES 64
#define NP_SCHEME_MAX_COMMS 4096 /* of one scheme */
#define NP_SCHEME_MAX_NODES 1024 /* of one scheme */
#define NP_SCHEME_MAX_BYTES ((uint64_t)1 << 40) /* of one transfer */
#define NP_SCHEME_BYTES ((uint64_t)20 << 20)	/* where no size is given */

typedef char np_scheme_name[NP_SCHEME_NAME];

struct np_scheme {
	np_scheme_name name;
	size_t n_nodes;
	np_scheme_name *node;
	bool fixed; /* the scheme names its nodes: there are no others */
	size_t n;   /* transfers, in the order of the file */
	np_scheme_name *label;
	struct np_comm *c; /* numbers of nodes: places in node[] */
	uint64_t *bytes;
	double *start_sec;
	double *took_sec; /* measured, from its start; NAN: not said */
	/*
	 * What each takes alone: in seconds if reference_sec is known, in
	 * times of the reference transfer otherwise.
	 */
	double *alone;
	uint64_t reference_bytes; /* more than 0 */
	double reference_sec;	  /* NAN: not said */
	double latency_sec;	  /* of an empty transfer */
};

struct np_scheme_set {
	size_t n;
	struct np_scheme *scheme;
};

/*
 * text: len bytes; source: what to call it in errors, and the scheme that has
 * no name.  Free *out with np_scheme_free().
 * Returns 0, -EINVAL (not such a file), -E2BIG (beyond a limit) or -ENOMEM.
 */
int np_scheme_parse(const char *text, size_t len, const char *source,
		    struct np_scheme_set *out, struct np_err *err);

/* The same from a regular file; also -errno of opening and reading it. */
int np_scheme_read(const char *path, struct np_scheme_set *out,
		   struct np_err *err);

void np_scheme_free(struct np_scheme_set *s);

#endif
