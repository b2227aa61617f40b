/*
 * What placement remembers in a job: one note in its AdminComment,
 *
 *	netprof{app=melt user=n7 ours=n[0-3] until=1795 begin=0 held=12}
 *
 * so that a restarted slurmctld knows what was the user's and what was ours.
 * Whatever else stands in the comment is kept.  No Slurm here.
 */
#ifndef NP_NOTE_H
#define NP_NOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "np_app.h"

/*
 * A user's list of more bytes is not followed: the job is left alone.  Slurm
 * keeps such a list once, and neither a note nor the thread keeps another.
 */
#define NP_NOTE_MAX_USER 4096

struct np_note {
	char app[NP_APP_MAX + 1]; /* "": not told */
	char *user; /* the user's own exclusions, a hostlist; NULL: none */
	char *ours; /* nodes that we excluded, a hostlist; NULL: none */
	int64_t until_sec; /* the begin time that we set; 0: none */
	int64_t begin_sec; /* the user's own begin time; 0: none */
	double held_sec;   /* how long placement has held the job back */
	bool decided;	   /* it was decided about, and not only named */
};

/*
 * Read the note of a comment (NULL: none).  Returns 0 (np_note_clear()); or
 * -ENOENT without a note, -EINVAL for one that is damaged, -ENOMEM, and then
 * *out is empty.
 */
int np_note_read(const char *comment, struct np_note *out);
void np_note_clear(struct np_note *n);

/* Is there a note, damaged or not? */
bool np_note_in(const char *comment);

/*
 * What is the user's in a list that stands in a job now[], when user[] was
 * remembered as his and ours[] was put there by us; into user[]:
 * - a node that only we put there is ours;
 * - one that somebody added since is the user's;
 * - one that somebody took out since is nobody's, also if it was the user's.
 * With nothing remembered all of it is the user's: better one node too many
 * kept off than a wish lost.  Bitmaps of nodes.
 */
void np_note_user(uint64_t *user, const uint64_t *ours, const uint64_t *now,
		  size_t words);

/*
 * Two lists as one, of which each may be NULL.  malloc'ed; NULL: out of memory.
 */
char *np_note_join(const char *a, const char *b);

/*
 * The comment with the note in place of the first one in it, or behind what is
 * there; n NULL: without any.  Further notes, which netprof never writes, go;
 * all other text stays to the letter.  malloc'ed; NULL: out of memory.
 */
char *np_note_write(const char *comment, const struct np_note *n);

#endif
