/* Inside np_naming: its fields. */
#ifndef NP_NAMING_IMPL_H
#define NP_NAMING_IMPL_H

#include "np_naming.h"

#define MAX_DIGITS 9
#define NO_DIGITS 0    /* a name without a number */
#define ANY_DIGITS 255 /* as many as it takes, without zeros before */

/* A name taken apart. */
struct np_named {
	const char *prefix;
	uint32_t len, digits, number, node;
	bool zero; /* the number begins with one */
};

/* Names with one prefix, and numbers written alike; by prefix. */
struct np_kin {
	const char *prefix;
	uint32_t len, digits;
	size_t first; /* of its runs; those of the next kin are behind */
};

struct np_run {
	uint32_t kin, number, node, n;
};

struct np_naming {
	struct np_kin *kin; /* one more, to end the last */
	size_t n_kin;
	struct np_run *run; /* by kin and number */
	size_t n_runs;
};

/* A part of a run. */
struct np_piece {
	uint32_t kin, number, n, group;
};

struct np_naming_cut {
	const struct np_naming *naming;
	struct np_piece *piece;
	size_t n;
};

#endif
