/*
 * The plan of netprof validate: which runs are missing, the order in which they
 * are made, and how long each takes. Pure functions of the programs and the
 * runs so far.
 */
#ifndef CLI_PAIR_PLAN_H
#define CLI_PAIR_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli_program_list.h"
#include "np_measured.h"

/*
 * Launches of a program that does nothing, on the nodes and with the tasks of
 * each program: they measure the cost of srun.
 */
#define CLI_LAUNCHES 3

/* In place of the co-runner of a run that has none. */
#define CLI_NO_PROGRAM ((size_t)-1)

/* One run; repeat numbers the runs of the same kind and programs. */
struct cli_planned_run {
	enum np_pairs_kind kind;
	size_t victim, corunner; /* indices into the list of programs */
	uint32_t repeat;
};

struct cli_pair_plan {
	struct cli_planned_run *run;
	size_t n;
};

/*
 * Plan the runs that are not among `done`, the earlier runs of the same
 * programs, in this order:
 *
 *	launches and profiles of all programs
 *	in each repeat, for each victim:
 *		the victim alone
 *		two of its pairs; in the first repeat each is followed by its
 *		control, if controls are wanted
 *		the victim alone
 *		two more pairs, and so on
 *
 * If an earlier measurement was interrupted, the pairs that are left begin with
 * one more run alone, because earlier runs may be days old. The caller frees
 * run of what is returned.
 */
struct cli_pair_plan cli_pair_plan_make(const struct cli_program_list *list,
					uint32_t repeats, bool controls,
					const struct np_pairs *done);

/* Estimate the duration of a run, in seconds, from the runs so far. */
double cli_planned_run_sec(const struct cli_program_list *list,
			   const struct np_pairs *done,
			   const struct cli_planned_run *run);

#endif
