/*
 * Reads queueing networks from files, netprof-qn(5): JSON.
 *
 * A file is untrusted input: its size, depth, counts and numbers are bounded,
 * and every error names the place.
 */
#ifndef NP_NETWORK_H
#define NP_NETWORK_H

#include "np_qn.h"

#define NP_NETWORK_SCHEMA 1 /* newest version that can be read */
#define NP_NETWORK_MAX_BYTES (8u << 20)
/* Limits of the numbers of '{', '[' and ',' in a file. */
#define NP_NETWORK_MAX_OBJECTS 2048
#define NP_NETWORK_MAX_ARRAYS 8192
#define NP_NETWORK_MAX_ELEMENTS 262144
#define NP_NETWORK_MAX_LOADS 100000 /* times of a load-dependent station */
#define NP_NETWORK_NAME 64	    /* longest name in bytes */

struct np_network {
	char *name;	  /* NULL: none */
	struct np_qn net; /* np_qn_check() has accepted it */
	/* Owned here and borrowed by net. */
	struct np_qn_station *station;
	struct np_qn_class *class;
};

/*
 * Reads a file. Returns 0 (free *out with np_network_free()), or with err
 * -EINVAL (invalid or out of range; err names the place), -EPROTONOSUPPORT
 * (newer schema), -EFBIG (above a limit of the file), -ENOMEM, or -errno of
 * opening and reading.
 */
int np_network_load(const char *path, struct np_network *out,
		    struct np_err *err);

/* The same from text[len], for tests. where names the source in messages. */
int np_network_parse(const char *text, size_t len, const char *where,
		     struct np_network *out, struct np_err *err);

void np_network_free(struct np_network *network);

#endif
