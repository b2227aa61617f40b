/*
 * Measuring pairs of programs inside an allocation, for netprof validate.
 */
#ifndef CLI_PAIR_RUNS_H
#define CLI_PAIR_RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli_program_list.h"
#include "np_calibrate.h"
#include "np_err.h"
#include "np_measured.h"

/* What is measured, and where it is kept. */
struct cli_pair_measurement {
	const struct cli_program_list *list;
	uint32_t repeats; /* runs of each pair */
	/*
	 * File of the results. The output of the last run's programs is next
	 * to it, in PATH.victim.out and PATH.corunner.out.
	 */
	const char *path;
	struct np_pairs *pairs; /* earlier runs; new ones are appended */
	/*
	 * Called after each run that was appended, so that nothing is lost if
	 * the user stops the command. Returns 0 or -errno with err.
	 */
	int (*save)(void *arg, const struct np_pairs_run *last,
		    struct np_err *err);
	void *arg; /* of save() */
};

/*
 * Make the runs that are missing in the pairs, in the allocation in which the
 * command runs. Prints to standard error what will be run, where, and how long
 * it takes, and then the progress. dry_run: print only that. Returns 0, or
 * with err -EEXIST (the earlier runs are of another leaf switch), -EINTR
 * (stopped by a signal), -EPIPE (a program failed) or another -errno.
 */
int cli_pair_runs_measure(const struct cli_pair_measurement *measurement,
			  bool dry_run, struct np_err *err);

/* ---- exported for the unit tests ---- */

/*
 * Assign roles to the nodes of an allocation: victims and co-runners have the
 * two halves of one leaf switch, as netprof calibrate has them. apart_nodes is
 * NULL if no second leaf switch has room for the largest program; cluster and
 * transport are not set. Returns 0; or with err -ENODEV, if no leaf switch has
 * four nodes, or a program does not fit into half of the leaf switch, or
 * -ENOMEM.
 */
int cli_pair_place_assign(const struct np_cal_node *node, size_t n,
			  const struct cli_program_list *list,
			  struct np_pairs_place *out, struct np_err *err);

/* -EEXIST with err if earlier runs are of another cluster or leaf switch. */
int cli_pair_place_check(const struct np_pairs *earlier, const char *path,
			 const struct np_pairs_place *here, struct np_err *err);

/*
 * Set pairs->place to *here, whose texts pairs then owns. If this allocation
 * has no nodes for controls, those of earlier controls are kept.
 */
void cli_pair_place_replace(struct np_pairs *pairs,
			    const struct np_pairs_place *here);

/*
 * The first n names of a list of nodes, "n0,n1"; malloc'ed. NULL: out of
 * memory.
 */
char *cli_first_hosts(const char *list, size_t n);

#endif
