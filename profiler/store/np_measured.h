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
#include "np_fields.h"

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

/*
 * What files of pairs and calibrations share, for np_measured.c, np_measured.c and
 * np_fabric_store.c alone.
 */

/* Slowdowns beyond this are no measurement; -1 is no time at all. */
#define NP_SLOWDOWN_LEAST (-1 + 0x1p-53)
#define NP_SLOWDOWN_MAX 1e6

/* Which format and schema; programs; what is measured of the fabric alone. */
extern const struct np_fields np_measured_head, np_measured_programs,
	np_measured_fabric;

/*
 * The object that text[len] is (json_object_put() it), of bounded size, and of
 * this format and schema.  in may be used while room, of
 * NP_MEASURED_MAX_MEMORY, lasts.
 */
int np_measured_open(struct np_jat *in, const char *text, size_t len,
		     json_object **out);

/*
 * Its name, programs and levels, by name, with what probes saw; in->n_bins is
 * set.
 */
int np_measured_get(struct np_jat *in, json_object *from,
		    struct np_measured_set *s);

/* The member "probes". */
void np_measured_put_probes(struct np_jput *o, json_object *in,
			    const struct np_measured_set *s);

/*
 * Pairs of programs as they are being measured: every run with its time, and
 * what these runs say.  A file is one set of netprof-pairs(5) with its raw
 * runs, so that a measurement that was stopped goes on where it was, and
 * anybody can compute the slowdowns again.
 *
 * A file is hostile input: its size, counts and numbers are bounded.
 */

#define NP_PAIRS_MAX_BYTES (16u << 20)
#define NP_PAIRS_MAX_PROGRAMS 64
#define NP_PAIRS_MAX_RUNS 100000

/* What a run was for. */
enum np_pairs_kind {
	NP_PAIRS_LAUNCH,  /* of a program that does nothing, on its nodes */
	NP_PAIRS_ALONE,
	NP_PAIRS_PROFILE, /* by which netprof learns to know the program */
	NP_PAIRS_LEAF,	  /* beside the co-runner, on one leaf */
	NP_PAIRS_APART,	  /* beside it, which runs under another leaf */
};

struct np_pairs_run {
	unsigned kind; /* enum np_pairs_kind */
	char *victim, *corunner; /* corunner NULL: none */
	uint32_t repeat;
	double start; /* seconds since 1970 */
	double sec;   /* from the start of srun to its end */
};

struct np_pairs_program {
	char name[NP_MEASURED_NAME + 1];
	char *command;
	uint32_t nodes, tasks_per_node;
};

struct np_pairs_place {
	char *cluster, *leaf, *transport;
	char *victim_nodes, *corunner_nodes;
	char *apart_nodes; /* under another leaf; NULL: there are none */
};

/* All is owned by it, but for fabric and app. */
struct np_pairs {
	unsigned format; /* 0 */
	char *name, *setup; /* setup: what must be equal to go on */
	double date; /* of the newest run, seconds since 1970 */
	struct np_pairs_place place;
	struct np_pairs_program *program;
	size_t n_programs;
	struct np_pairs_run *run;
	size_t n_runs;

	/* Results, [victim * n_programs + co-runner]; NULL: none. */
	struct np_mean *alone_sec, *beside, *apart;

	/*
	 * What the models go by, only written: NULL, or a calibration, and
	 * what is known of each program on it.
	 */
	const struct np_fabric *fabric;
	const struct np_program *const *app; /* NULL: not known */
};

/* Takes over the texts of run, also on failure.  Returns 0 or -ENOMEM. */
int np_pairs_add(struct np_pairs *p, const struct np_pairs_run *run);

/*
 * Read a file that np_pairs_save() wrote.  Returns 0 (np_pairs_free() it), or
 * with err: -EINVAL (damaged or out of range, says where), -EPROTONOSUPPORT
 * (newer schema), -EFBIG, -ENOMEM, or what opening and reading gave.
 */
int np_pairs_load(const char *path, struct np_pairs *out, struct np_err *err);

/* The same from text[len]; where names the source in messages. */
int np_pairs_parse(const char *text, size_t len, const char *where,
		   struct np_pairs *out, struct np_err *err);

/* malloc'ed text.  Returns 0, -EINVAL or -ENOMEM with err. */
int np_pairs_format(const struct np_pairs *p, char **out, struct np_err *err);

/* Write it, whole or not at all.  Returns 0 or -errno with err. */
int np_pairs_save(const char *path, const struct np_pairs *p,
		  struct np_err *err);

void np_pairs_free(struct np_pairs *p);

#endif
