/*
 * Pairs of programs as they are being measured: every run with its time, and
 * what these runs say.  A file is one set of netprof-pairs(5) with its raw
 * runs, so that a measurement that was stopped goes on where it was, and
 * anybody can compute the slowdowns again.
 *
 * A file is hostile input: its size, counts and numbers are bounded.
 */
#ifndef NP_PAIRS_H
#define NP_PAIRS_H

#include "np_measured.h"

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
