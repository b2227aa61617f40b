/*
 * Who slows an application most, and whom it slows, among those that are
 * known, as the default model sees them: for `netprof show`.  What of them was
 * computed is kept.
 */
#ifndef CLI_TIES_H
#define CLI_TIES_H

#include "cli_ask.h"
#include "np_kept.h"

#define CLI_TIES_MAX 3

struct cli_tie {
	const char *app; /* the other; borrowed */
	size_t victim, co; /* indices into the known applications */
	struct np_prediction p;
};

/* Heaviest first; lone applications have none. */
struct cli_tie_list {
	struct cli_tie tie[CLI_TIES_MAX];
	size_t n;
};

/*
 * The user's applications, then published ones of which the user has none of
 * the same name; without idle.
 */
struct cli_others {
	struct cli_store *s; /* borrowed */
	uid_t uid;
	struct np_store_app *app;
	size_t n_own, n;
	/* On a calibration. */
	struct np_store_stamp fabric;
	struct np_kept *kept; /* of each */
	struct np_kept *ties; /* apart, as they change more often */
};

struct cli_ties {
	struct cli_others others;
	struct cli_known k; /* app[0] is the one shown */
	enum np_scope scope;
	bool asked; /* there are answers, or could have been */
	struct cli_tie_list hurt_by, hurts;
};

/* One more, of which the list keeps the heaviest. */
void cli_tie_keep(struct cli_tie_list *list, const struct cli_tie *t);

/*
 * Which others there are.  To be called before anything else is read.  Never
 * fails: what cannot be read is none.
 */
void cli_ties_look(struct cli_ties *t, struct cli_store *s,
		   const struct cli_options *o);

/*
 * p is borrowed for the life of the ties; the store is still open.  Never
 * fails: without calibration, curve or memory there are none.
 */
void cli_ties_find(struct cli_ties *t, const struct cli_profile *p);
void cli_ties_free(struct cli_ties *t);

#endif
