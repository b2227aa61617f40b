/*
 * What should stand in a pending job: the user's part of it and ours, and the
 * update that gets it there.  No RPC.
 */
#ifndef NP_UPDATE_H
#define NP_UPDATE_H

#include <stdbool.h>

#include "np_placement.h"
#include "np_view.h"

/* The update; texts are malloc'ed, NULL where nothing is to be changed. */
struct np_update {
	char *exc_nodes;   /* "": none */
	char *comment;	   /* "": none */
	int64_t begin_sec; /* 0: not to be changed */
	char *ours;	   /* hostlist of what we exclude; NULL: none */
};

/*
 * Returns 1 and fills *u (np_update_clear()) if there is something to write,
 * 0 if all of it stands there already (only u->ours is set), or -ENOMEM.
 * An outcome that is not applied lets go of the job.  force: write all of it,
 * whatever stands there.
 */
int np_update_make(const struct np_view *v, size_t job,
		   const struct np_outcome *outcome, bool force,
		   struct np_update *u);
void np_update_clear(struct np_update *u);

#endif
