/* What netprof list says of a profile, kept since it was computed. */
#ifndef CLI_ROW_H
#define CLI_ROW_H

#include "cli_profile.h"
#include "np_kept.h"

struct cli_row {
	enum np_store_owner owner;
	uid_t uid;	/* of NP_STORE_USER */
	char app[NP_APP_MAX + 1];
	size_t n_runs;
	double last; /* end of the newest run, 0 without */
	/* Of it only is_idle, verdict.use, phases.kind and .busy_share, and
	 * alone_sec and the levels of ev. */
	struct np_profile profile;
};

/*
 * Of the application a of that owner; k is borrowed for the life of the row.
 * What uid's profiles, or the published ones that uid looks at, are compared
 * with: idle, the stamps of both.
 * Returns 0 or as cli_profile_load() with err.  cli_row_free() it.
 */
int cli_row_load(struct cli_store *s, struct np_kept *k,
		 enum np_store_owner owner, uid_t uid,
		 const struct np_store_app *a,
		 const struct np_store_stamp idle[2], struct cli_row *out,
		 struct np_err *err);
void cli_row_free(struct cli_row *r);

#endif
