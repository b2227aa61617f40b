/* For cmd_validate.c and unit tests: the nodes.  Pure functions. */
#ifndef CMD_VALIDATE_H
#define CMD_VALIDATE_H

#include <stddef.h>

#include "cli_program_list.h"
#include "np_calibrate.h"
#include "np_err.h"

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

#endif
