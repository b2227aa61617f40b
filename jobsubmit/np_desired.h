/*
 * What should stand in a pending job: the user's part of it and ours, and the
 * update that gets it there.  No RPC.
 */
#ifndef NP_DESIRED_H
#define NP_DESIRED_H

#include <stdbool.h>

#include "np_view.h"

/* What placement wants of a job. */
struct np_desired {
	const uint64_t *open; /* leaves; NULL: all */
	int64_t until_sec;    /* deferred; 0: not */
	bool decided;	      /* false: let go of it, or only advise */
	double held_sec;
};

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
 * force: write all of it, whatever stands there.
 */
int np_desired_update(const struct np_seen *seen, const struct np_site *site,
		      const struct np_desired *desired, int64_t now_sec,
		      bool force, struct np_update *u);
void np_update_clear(struct np_update *u);

#endif
