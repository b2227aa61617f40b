/*
 * What the thread remembers of jobs from one decision to the next, beyond what
 * stands in them; and lists of nodes it has worked out already.
 */
#ifndef NP_MEMO_H
#define NP_MEMO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "np_site.h"

struct np_memo {
	uint32_t id;
	double held_sec;   /* exactly, where the note is rounded */
	uint64_t said;	   /* digest of what was logged last */
	unsigned n_said;   /* lines about it in that hour */
	int64_t said_hour;
	char *comment;	   /* AdminComment with the last note; NULL: none.
			      Somebody may set another comment over it. */
	unsigned failures; /* updates that Slurm refused, in a row */
	bool seen;	   /* in the last view */
};

struct np_memos;

int np_memos_new(struct np_memos **out);
void np_memos_free(struct np_memos *m); /* NULL is allowed */

/* The memo of a job; NULL: out of memory. Valid until the next call. */
struct np_memo *np_memos_at(struct np_memos *m, uint32_t id);

/* The same if there is one. */
struct np_memo *np_memos_find(struct np_memos *m, uint32_t id);

/* Forget the jobs that were not asked for since the last sweep. */
void np_memos_sweep(struct np_memos *m);

/*
 * np_site_parse() with what was asked before remembered: jobs share few lists.
 * *nodes is owned by m and valid until the next call.
 */
int np_memos_parse(struct np_memos *m, struct np_site *site, const char *hosts,
		   const uint64_t **nodes);

#endif
