/*
 * The applications beside one that is shown, as the default model sees them:
 * what of them was computed is kept.
 */
#ifndef CLI_OTHERS_H
#define CLI_OTHERS_H

#include "cli_known.h"
#include "np_kept.h"

struct cli_others {
	struct cli_store *s; /* borrowed */
	uid_t uid;
	struct np_store_app *app; /* the user's, then published ones */
	size_t n_own, n;
	/* From cli_others_judge() on. */
	struct np_store_stamp fabric;
	struct np_kept *kept; /* of each */
	struct np_kept *ties; /* cli_ties.h; apart, as they change more often */
};

/*
 * Which there are, without idle; a published one of which the user has one of
 * the same name is left out.  To be called before anything else is read.
 * Never fails: what cannot be read is none.
 */
void cli_others_look(struct cli_others *all, struct cli_store *s,
		     const struct cli_options *o);
void cli_others_free(struct cli_others *all);

/* On this calibration, which was read. */
void cli_others_judge(struct cli_others *all, const struct cli_known *k);

/* The state of all of them, and of the calibration; np_kept_state(). */
uint64_t cli_others_state(const struct cli_others *all);

/*
 * Add number i to those that are known on k's calibration.  Returns 0, -ENOENT
 * (no run of it can be used, and it is not added) or -ENOMEM.
 */
int cli_others_add(struct cli_others *all, size_t i, struct cli_known *k);

#endif
