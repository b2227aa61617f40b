/*
 * Who slows an application most, and whom it slows, among those that are
 * known: for `netprof show`.
 */
#ifndef CLI_TIES_H
#define CLI_TIES_H

#include "cli_ask.h"
#include "cli_others.h"

#define CLI_TIES_MAX 3
#define CLI_TIES_REPLICATES 100

struct cli_tie {
	const char *app; /* the other; borrowed */
	size_t victim, co; /* indices into the known applications */
	struct np_prediction p;
};

struct cli_ties {
	struct cli_known k; /* app[0] is the one shown */
	enum np_scope scope;
	bool asked; /* there are answers, or could have been */
	/* Heaviest first; lone applications have none. */
	struct cli_tie hurt_by[CLI_TIES_MAX], hurts[CLI_TIES_MAX];
	size_t n_hurt_by, n_hurts;
};

/* Keep the heaviest CLI_TIES_MAX, in order: t is one more. */
void cli_tie_keep(struct cli_tie *list, size_t *n, const struct cli_tie *t);

/*
 * p is borrowed for the life of the ties; all was looked at before p was read.
 * Never fails: without calibration, curve or memory there are none.
 */
void cli_ties_find(struct cli_others *all, const struct cli_profile *p,
		   struct cli_ties *out);
void cli_ties_free(struct cli_ties *t);

#endif
