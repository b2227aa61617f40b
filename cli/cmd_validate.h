/*
 * For cmd_validate.c and unit tests: the list of programs and the plan of runs.
 * Pure, apart from reading the list.
 */
#ifndef CMD_VALIDATE_H
#define CMD_VALIDATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "np_app.h"
#include "np_calibrate.h"
#include "np_err.h"
#include "np_measured.h"

/*
 * ---- the list of programs, as users write it ----
 *
 *	program melt
 *	  nodes 4
 *	  directory /home/alice/melt
 *	  srun --mpi=pmix
 *	  run lmp -in in.melt
 *	  longer lmp -in in.melt.long
 *
 * Files are hostile input: what is not such a list is refused with one line
 * that names file, line, value and what was expected.
 */

#define NP_VALIDATE_MAX_BYTES (1u << 20)
#define NP_VALIDATE_MAX_PROGRAMS 64
#define NP_VALIDATE_MAX_WORDS 32 /* of a command */
#define NP_VALIDATE_MAX_OPTIONS 12 /* of srun */
#define NP_VALIDATE_MAX_NODES 65536
#define NP_VALIDATE_MAX_TASKS 1024 /* per node */
#define NP_VALIDATE_BEGINS_SEC 5   /* default of begins_sec */

struct np_validate_words {
	char **word;
	size_t n;
};

struct np_validate_program {
	char name[NP_APP_MAX + 1];
	uint32_t nodes, per_node;
	char *directory; /* NULL: the current directory */
	struct np_validate_words srun, run;
	/* The same work for longer, for the profile and as co-runner; n 0: the
	 * same as run. */
	struct np_validate_words longer;
	double begins_sec; /* from its start to its first communication */
	double takes_sec;  /* expected run time alone; 0: not given */
};

struct np_validate_list {
	struct np_validate_program *program;
	size_t n;
};

/*
 * Parse a list of len bytes; source names it in messages.  Returns 0 (free with
 * np_validate_list_free()), or with err -EINVAL or -ENOMEM.  For tests.
 */
int np_validate_list_parse(const char *text, size_t len, const char *source,
			   struct np_validate_list *out, struct np_err *err);

void np_validate_list_free(struct np_validate_list *l);

/* The command for a co-runner, and for the profile. */
const struct np_validate_words *
np_validate_longer(const struct np_validate_program *p);

/*
 * One line about all programs, malloc'ed, that must be equal for runs to be
 * comparable.  NULL: out of memory.
 */
char *np_validate_list_text(const struct np_validate_list *l);

/*
 * ---- the plan: what runs where, in which order, and for how long ----
 *
 * Pure functions of the programs, the nodes and the runs so far.
 */

#define NP_VALIDATE_LAUNCHES 3 /* launches of each program's layout */
/* Pairs, with their controls, between two runs of the victim alone. */
#define NP_VALIDATE_PAIRS_IN_A_ROW 2
#define NP_VALIDATE_TAKES_SEC 30 /* default of takes_sec */
#define NP_VALIDATE_PROFILE_SEC 150 /* typical long run under load levels */

/* ---- nodes ---- */

struct np_validate_roles {
	char *leaf; /* leaf switch of the victims and co-runners */
	struct np_cal_hosts victim, corunner; /* as netprof calibrate does */
	struct np_cal_hosts apart; /* under another leaf switch; n 0: none */
};

/*
 * Returns 0 (free with np_validate_roles_free()); -ENODEV with err if no leaf
 * switch has two halves of two nodes or more, or some program does not fit into
 * a half; -ENOMEM.  apart is empty if a second leaf switch has no room for all
 * co-runners.
 */
int np_validate_roles_make(const struct np_cal_node *node, size_t n,
			   const struct np_validate_list *l,
			   struct np_validate_roles *out, struct np_err *err);
void np_validate_roles_free(struct np_validate_roles *roles);

/*
 * The first `want` nodes of a role, "n0,n1", malloc'ed.  NULL: out of memory.
 */
char *np_validate_hosts(const struct np_cal_hosts *h, size_t want);

/* ---- runs ---- */

struct np_validate_task {
	enum np_pairs_kind kind;
	size_t victim, corunner; /* NP_CAL_NONE: none */
	uint32_t repeat;
};

/*
 * Plan the runs that are missing in done, which has earlier runs of the same
 * programs.  Launches and profiles of all programs come first.  Then, for each
 * repeat and each victim, come its pairs, and the victim alone before and after
 * every NP_VALIDATE_PAIRS_IN_A_ROW of them.  apart: in the first repeat, each
 * pair is followed by its control under two leaf switches.  What remains of a
 * victim's pairs begins with a run alone, because earlier ones may be days old.
 * *out: free() it.  Returns 0 or -ENOMEM.
 */
int np_validate_plan(const struct np_validate_list *l, uint32_t repeats,
		     bool apart, const struct np_pairs *done,
		     struct np_validate_task **out, size_t *n);

/* Estimated duration of a run, by the program's runs so far. */
double np_validate_cost_sec(const struct np_validate_list *l,
			    const struct np_pairs *done,
			    const struct np_validate_task *t);

#endif
