/*
 * Files of measured pairs: programs alone, beside interference levels and
 * beside each other, so that predictions can be compared with the truth, and
 * anybody's measurements can be put in.  netprof-pairs(5) describes them.
 *
 * A file is hostile input: its size, depth, counts and every number are
 * bounded, and every refusal says where.
 */
#ifndef NP_MEASURED_H
#define NP_MEASURED_H

#include <stddef.h>

#include "np_err.h"
#include "np_fabric.h"

#define NP_MEASURED_SCHEMA 1
#define NP_MEASURED_MAX_BYTES (32u << 20)
/* '{', '[' and ',' of a file; and what is kept of it. */
#define NP_MEASURED_MAX_OBJECTS 131072
#define NP_MEASURED_MAX_ARRAYS 524288
#define NP_MEASURED_MAX_ELEMENTS 2097152
#define NP_MEASURED_MAX_MEMORY (256u << 20)
#define NP_MEASURED_MAX_PROGRAMS 1000
#define NP_MEASURED_MAX_SETS 100
#define NP_MEASURED_MAX_GROUPS 100000 /* victims beside several at once */
#define NP_MEASURED_MAX_CO 8
#define NP_MEASURED_NAME 64 /* longest name */

/* A victim beside co-runners; indices into app. */
struct np_measured_case {
	size_t victim, n_co, co[NP_MEASURED_MAX_CO];
	struct np_mean slowdown;
};

struct np_measured_name {
	char name[NP_MEASURED_NAME + 1];
};

/* As a file says it, by names. */
struct np_measured_group {
	char *victim, **co;
	size_t n_co;
	struct np_mean slowdown;
};

/* All of it is owned by the set. */
struct np_measured_set {
	char *name;
	struct np_bins bins;
	struct np_fabric fabric;
	struct np_fabric_level *level; /* those of the fabric */
	struct np_program *app;
	struct np_mean *alone_sec; /* run time, per app; NULL: none */
	size_t n_apps;
	struct np_measured_case *row; /* those that were measured */
	size_t n_rows;

	/* What the file holds, for its reader and writer. */
	unsigned format;
	struct np_measured_name *program, *level_name; /* of app, of level */
	struct np_mean *curve, *pressure, *pair; /* tables; NULL: none */
	double *edge;
	size_t n_edges;
	struct np_measured_group *group;
	size_t n_groups;
};

struct np_measured {
	struct np_measured_set *set;
	size_t n_sets;
};

/*
 * Read path.  Returns 0 (free with np_measured_free()), or with err: -EINVAL
 * (damaged or out of range, says where), -EPROTONOSUPPORT (newer schema),
 * -EFBIG, -ENOMEM, or what opening and reading gave.
 */
int np_measured_load(const char *path, struct np_measured *out,
		     struct np_err *err);

/* The same from text[len]; where names the source in messages. */
int np_measured_parse(const char *text, size_t len, const char *where,
		      struct np_measured *out, struct np_err *err);

void np_measured_free(struct np_measured *m);

#endif
