/* What to do about an application, with the numbers behind it. */
#ifndef CLI_ADVICE_H
#define CLI_ADVICE_H

#include "cli_ties.h"

struct cli_advice {
	double limit; /* of a slowdown, fraction: MaxSlowdown of placement */
	size_t n_asked, n_avoid; /* of the ties; the first n_avoid are above */
	const struct cli_tie *tie; /* borrowed, heaviest first */
	const char *app;	   /* it is about; borrowed */
	/* The measurement that is missing most: a command to type, and what
	 * it measures; both "" if nothing is to gain. */
	char command[256], what[256];
	bool told; /* the verdict has said the command */
};

/*
 * p: the profile; k: the applications that are known, on a fabric where it is
 * calibrated; ties: those that slow it most at that scope.
 * All are borrowed.
 */
void cli_advise(const struct np_profile *p, const struct cli_known *k,
		enum np_scope scope, const struct cli_tie_list *ties,
		double limit, struct cli_advice *out);

/*
 * "Keep it off leaves of NPmpi and fft: over 10 % each."; "" where nobody is
 * known.
 */
void cli_say_avoid(const struct cli_advice *a, char *buf, size_t len);

/* "To know more: sbatch ... (more of fft alone)"; "" if it was told. */
void cli_say_measure(const struct cli_advice *a, char *buf, size_t len);

#endif
