/*
 * Files of measured programs: alone, under load levels, and in pairs; and
 * calibrations of fabrics, which are such files without programs. Predictions
 * are compared with them, and anybody can supply measurements in this form.
 * netprof-pairs(5) describes it.
 *
 * A file is hostile input: its size, depth, counts and every number are
 * bounded, and an error names the member that is wrong.
 */
#ifndef NP_MEASURED_H
#define NP_MEASURED_H

#include <stddef.h>
#include <stdint.h>

#include "np_err.h"
#include "np_fabric.h"
#include "np_latency.h"
#include "np_level.h"

struct json_object;

#define NP_MEASURED_SCHEMA 1
#define NP_MEASURED_MAX_BYTES (32u << 20)
/* Limits on '{', '[' and ',' in a file; and on the memory for its content. */
#define NP_MEASURED_MAX_OBJECTS 131072
#define NP_MEASURED_MAX_ARRAYS 524288
#define NP_MEASURED_MAX_ELEMENTS 2097152
#define NP_MEASURED_MAX_MEMORY (256u << 20)
#define NP_MEASURED_MAX_PROGRAMS 1000
#define NP_MEASURED_MAX_SETS 100
#define NP_MEASURED_MAX_GROUPS 100000 /* programs with several co-runners */
#define NP_MEASURED_MAX_CO 8
#define NP_MEASURED_NAME 64 /* longest name */

/* A program and its co-runners, as indices into app. */
struct np_measured_case {
	size_t victim, n_co, co[NP_MEASURED_MAX_CO];
	struct np_mean slowdown;
};

struct np_measured_name {
	char name[NP_MEASURED_NAME + 1];
};

/* The same by name, as the file has it. */
struct np_measured_group {
	char *victim, **co;
	size_t n_co;
	struct np_mean slowdown;
};

/* One set of measurements, which owns everything in it. */
struct np_measured_set {
	char *name;
	struct np_bins bins;
	struct np_fabric fabric;
	struct np_fabric_level *level; /* of fabric */
	struct np_program *app;
	struct np_mean *alone_sec; /* run time of each app; NULL: none */
	size_t n_apps;
	struct np_measured_case *row; /* measured pairs and groups */
	size_t n_rows;

	/* The content of the file, for reading and writing. */
	unsigned format;
	struct np_measured_name *program, *level_name; /* as app, level */
	struct np_mean *curve, *impact, *pair;	       /* tables; NULL: none */
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
 * Read a file. Returns 0 (free with np_measured_free()), or with err: -EINVAL
 * (damaged or out of range, and where), -EPROTONOSUPPORT (newer schema),
 * -EFBIG, -ENOMEM, or what opening and reading it returned.
 */
int np_measured_load(const char *path, struct np_measured *out,
		     struct np_err *err);

/* The same from text[len]; where names the source in messages. For tests. */
int np_measured_parse(const char *text, size_t len, const char *where,
		      struct np_measured *out, struct np_err *err);

void np_measured_free(struct np_measured *measured);

/* ---- calibrations, stored by np_fabric_store.h ---- */

#define NP_CALIBRATION_MAX_LEAVES 4096

/* Idle latencies under one leaf switch. */
struct np_calibration_leaf {
	const char *name;
	struct np_latency idle; /* all.n is 0 if not measured */
};

/* Measurements of a level that was not selected for the tables. */
struct np_calibration_other {
	const char *name;
	struct np_mean slows_by; /* slowdown of the middle level */
	struct np_latency probes;
};

/*
 * One calibration, which owns everything in it. Texts that the file lacks are
 * "", numbers are 0.
 */
struct np_calibration {
	char *path;  /* of the file, for messages */
	double date; /* of the measurement, seconds since 1970 */
	char *cluster, *transport, *netprof_version, *ucx_version;
	char *rail; /* on which it was measured; NULL: not on a certain one */
	enum np_scope scope;	/* of the load in sensitivity curves and tables;
				leaf if the file does not say */
	uint32_t message_bytes; /* of the probes */
	double period_sec;	/* of the probes */
	/* Where it was measured. */
	char *leaf_name, *victim_nodes, *level_nodes;
	double seconds;	  /* length of one measurement */
	uint32_t repeats; /* of each measurement */

	struct np_measured measured; /* one set, without programs */
	/* The fabric of that set, for the models. sharing[scope] is 1 if the
	 * file does not have it. */
	const struct np_fabric *fabric;
	/* Configuration of each level; peers is 0 if unknown. */
	struct np_level *level;
	size_t n_levels;
	/*
	 * Duration of a round of each level when it runs alone, in seconds: n
	 * measurements, one before each of that level under another, and their
	 * scatter. NULL: written by a version that did not store it.
	 */
	struct np_mean *alone_round_sec;
	size_t n_alone_nodes; /* on which these ran; 0: unknown */
	struct np_mean
		loss[NP_N_SCOPES]; /* of speed, for the sharing coefficients */
	struct np_calibration_leaf *leaf;
	size_t n_leaves;
	struct np_calibration_other *other;
	size_t n_others;

	/* Newer files that could not be used, and the reason for the newest. */
	size_t n_skipped;
	struct np_err skipped;
};

/*
 * Parse one calibration; path names it in messages. Returns 0, or with err
 * what np_measured_parse() returns, also for programs in it, or an impossible
 * scope, level, leaf or number.
 */
int np_calibration_parse(const char *text, size_t len, const char *path,
			 struct np_calibration *out, struct np_err *err);
/* The reverse; *out is malloc'ed. Returns 0, -ENOMEM or -EINVAL with err. */
int np_calibration_write(const struct np_calibration *calibration, char **out,
			 struct np_err *err);

/* An empty calibration, to be filled. Returns 0 or -ENOMEM. */
int np_calibration_init(struct np_calibration *calibration, const char *path);
void np_calibration_free(struct np_calibration *calibration);

/*
 * ---- pairs of programs while they are being measured ----
 *
 * netprof validate stores every run with its time and the results so far. The
 * file is one set of netprof-pairs(5) with its raw runs, so that an interrupted
 * measurement can continue, and anybody can compute the slowdowns again.
 * It is hostile input, too.
 */

#define NP_PAIRS_MAX_BYTES (16u << 20)
#define NP_PAIRS_MAX_PROGRAMS 64
#define NP_PAIRS_MAX_RUNS 100000

/* Purpose of a run. */
enum np_pairs_kind {
	NP_PAIRS_LAUNCH, /* cost of srun: a program that does nothing */
	NP_PAIRS_ALONE,
	NP_PAIRS_PROFILE, /* to make netprof's profile of the program */
	NP_PAIRS_LEAF,	  /* with the co-runner under the same leaf switch */
	NP_PAIRS_APART,	  /* with the co-runner under another leaf switch */
};

struct np_pairs_run {
	unsigned kind;		 /* enum np_pairs_kind */
	char *victim, *corunner; /* corunner NULL: none */
	uint32_t repeat;
	double start; /* seconds since 1970 */
	double sec;   /* duration of srun */
};

struct np_pairs_program {
	char name[NP_MEASURED_NAME + 1];
	char *command;
	uint32_t nodes, tasks_per_node;
};

struct np_pairs_place {
	char *cluster, *leaf, *transport;
	char *victim_nodes, *corunner_nodes;
	char *apart_nodes; /* under another leaf switch; NULL: there are none */
};

/* It owns everything but fabric and app. */
struct np_pairs {
	unsigned format;    /* always 0 */
	char *name, *setup; /* setup: must be equal to continue */
	double date;	    /* of the newest run, seconds since 1970 */
	struct np_pairs_place place;
	struct np_pairs_program *program;
	size_t n_programs;
	struct np_pairs_run *run;
	size_t n_runs;

	/* Results, [victim * n_programs + co-runner]; NULL: not measured. */
	struct np_mean *alone_sec, *together, *apart;

	/*
	 * Input of the models; only written. fabric: a calibration, or NULL;
	 * app: what is known of each program on it.
	 */
	const struct np_fabric *fabric;
	const struct np_program *const *app; /* element NULL: not known */
	/* The input as the file has it, which is written if fabric is NULL. */
	struct json_object *earlier_input; /* NULL: none */
};

/*
 * Add a run; pairs owns its texts, even after a failure. Returns 0 or -ENOMEM.
 */
int np_pairs_add(struct np_pairs *pairs, const struct np_pairs_run *run);

/* The index of a program, or pairs->n_programs if none has this name. */
size_t np_pairs_find(const struct np_pairs *pairs, const char *name);

/*
 * Read text[len] that np_pairs_format() made; where names its source in
 * messages. Returns 0 (free with np_pairs_free()), or with err: -EINVAL
 * (damaged or out of range, and where), -EPROTONOSUPPORT (newer schema) or
 * -ENOMEM.
 */
int np_pairs_parse(const char *text, size_t len, const char *where,
		   struct np_pairs *out, struct np_err *err);

/* As text, malloc'ed. Returns 0, or -EINVAL or -ENOMEM with err. */
int np_pairs_format(const struct np_pairs *pairs, char **out,
		    struct np_err *err);

void np_pairs_free(struct np_pairs *pairs);

#endif
