/*
 * Queueing networks in files, netprof-qn(5): JSON that people write.
 *
 * A file is hostile input: its size, depth, counts and every number are
 * bounded, and every refusal says where.
 */
#ifndef NP_NETWORK_H
#define NP_NETWORK_H

#include "np_qn.h"

#define NP_NETWORK_SCHEMA 1
#define NP_NETWORK_MAX_BYTES (8u << 20)
/* '{', '[' and ',' of a file. */
#define NP_NETWORK_MAX_OBJECTS 2048
#define NP_NETWORK_MAX_ARRAYS 8192
#define NP_NETWORK_MAX_ELEMENTS 262144
#define NP_NETWORK_MAX_LOADS 100000 /* of a station */
#define NP_NETWORK_NAME 64	    /* longest name, in bytes */

struct np_network {
	char *name; /* NULL: has none */
	struct np_qn net; /* np_qn_check() takes it */
	/* What net borrows. */
	struct np_qn_station *station;
	struct np_qn_class *class;
};

/*
 * Returns 0 (free with np_network_free()), or with err: -EINVAL (damaged or out
 * of range, says where), -EPROTONOSUPPORT (newer schema), -EFBIG, -ENOMEM, or
 * what opening and reading gave.
 */
int np_network_load(const char *path, struct np_network *out,
		    struct np_err *err);

/* The same from text[len]; where names the source in messages. */
int np_network_parse(const char *text, size_t len, const char *where,
		     struct np_network *out, struct np_err *err);

void np_network_free(struct np_network *n);

#endif
