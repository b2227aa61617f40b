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

/* Which nodes have which role. */
struct cli_pair_nodes {
	/* The two halves of one leaf switch, as netprof calibrate has them. */
	char *leaf; /* "": no topology */
	struct np_cal_hosts victim, corunner;
	/* Of co-runners in controls, under another leaf switch; n 0: none. */
	struct np_cal_hosts apart;
	char *transport; /* of the probes that found the leaf switches */
};

/*
 * Assign roles to the nodes of an allocation. apart is empty if no second leaf
 * switch has room for the largest program. Returns 0 (free with
 * cli_pair_nodes_free()); or with err -ENODEV, if no leaf switch has four
 * nodes, or a program does not fit into half of the leaf switch, or -ENOMEM.
 */
int cli_pair_nodes_assign(const struct np_cal_node *node, size_t n,
			  const struct cli_program_list *list,
			  struct cli_pair_nodes *out, struct np_err *err);
void cli_pair_nodes_free(struct cli_pair_nodes *nodes);

/*
 * Store the nodes in the place of the results. The nodes of controls made
 * earlier are kept if this allocation has none. Returns 0 or -ENOMEM.
 */
int cli_pair_nodes_store(const struct cli_pair_nodes *nodes,
			 struct np_pairs_place *place);

/*
 * List the first n nodes of a role, "n0,n1"; malloc'ed. NULL: out of memory.
 */
char *cli_first_hosts(const struct np_cal_hosts *hosts, size_t n);

#endif
