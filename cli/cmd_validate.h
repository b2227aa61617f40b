/* For cmd_validate.c and unit tests: the plan of runs.  Pure. */
#ifndef CMD_VALIDATE_H
#define CMD_VALIDATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli_program_list.h"
#include "np_calibrate.h"
#include "np_err.h"
#include "np_measured.h"

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
			   const struct cli_program_list *l,
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
int np_validate_plan(const struct cli_program_list *l, uint32_t repeats,
		     bool apart, const struct np_pairs *done,
		     struct np_validate_task **out, size_t *n);

/* Estimated duration of a run, by the program's runs so far. */
double np_validate_cost_sec(const struct cli_program_list *l,
			    const struct np_pairs *done,
			    const struct np_validate_task *t);

#endif
