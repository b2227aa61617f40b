/*
 * Reads schemes of concurrent transfers: netprof-scheme(5).
 *
 *	reference 20M took 1.7s
 *	scheme fan-out
 *	a: n0 -> n1
 *	b: n0 -> n2 4M at 10ms
 *
 * Files are untrusted input. An invalid one is rejected with one line that
 * names file, line, value and what was expected. Memory and time are bounded by
 * the limits below.
 */
#ifndef NP_SCHEME_H
#define NP_SCHEME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "np_sharing.h"

#define NP_SCHEME_NAME 32 /* bytes of a name with its NUL */
#define NP_SCHEME_MAX_FILE_BYTES (1u << 20)
#define NP_SCHEME_MAX_SCHEMES 64
#define NP_SCHEME_MAX_COMMS 4096		/* of one scheme */
#define NP_SCHEME_MAX_NODES 1024		/* of one scheme */
#define NP_SCHEME_MAX_BYTES ((uint64_t)1 << 40) /* of one transfer */
#define NP_SCHEME_BYTES ((uint64_t)20 << 20)	/* default size */

typedef char np_scheme_name[NP_SCHEME_NAME];

struct np_scheme {
	np_scheme_name name;
	size_t n_nodes;
	np_scheme_name *node;
	bool fixed; /* the scheme lists its nodes; there are no others */
	size_t n;   /* transfers, in the order of the file */
	np_scheme_name *label;
	struct np_comm *c; /* node numbers are indices into node[] */
	uint64_t *bytes;
	double *start_sec;
	double *took_sec; /* measured from its start; NAN: not given */
	/*
	 * Time of each transfer alone: in seconds if reference_sec is known,
	 * otherwise as a multiple of the reference transfer.
	 */
	double *alone;
	uint64_t reference_bytes; /* more than 0 */
	double reference_sec;	  /* NAN: not given */
	double latency_sec;	  /* time of an empty transfer */
};

struct np_scheme_set {
	size_t n;
	struct np_scheme *scheme;
};

/*
 * Called from outside only by tests.
 * text: len bytes; source: name for messages, and for a scheme without a name.
 * Free *out with np_scheme_free(). Returns 0, -EINVAL (invalid file), -E2BIG (a
 * limit is exceeded) or -ENOMEM.
 */
int np_scheme_parse(const char *text, size_t len, const char *source,
		    struct np_scheme_set *out, struct np_err *err);

/* Reads a regular file; also returns -errno of opening and reading it. */
int np_scheme_read(const char *path, struct np_scheme_set *out,
		   struct np_err *err);

void np_scheme_free(struct np_scheme_set *s);

#endif
