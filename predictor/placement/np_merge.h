/*
 * Whose exclusions are whose.
 *
 * Slurm keeps one list of excluded nodes per job; an update replaces it.  The
 * list is the user's exclusions and ours together, so what is the user's is
 * remembered and worked out again from what stands there, and never lost.
 *
 * Bitmaps of nodes, words words each; out may be any of the others.
 */
#ifndef NP_MERGE_H
#define NP_MERGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What is the user's in a list that stands in a job now, when user[] was
 * remembered as the user's and ours[] was put there by us:
 * - a node that only we put there is ours;
 * - one that somebody added since is the user's;
 * - one that somebody took out since is nobody's, also if it was the user's.
 * With user and ours NULL nothing is remembered, and all of it is the user's:
 * better one node too many kept off than a wish lost.
 */
void np_merge_user(const uint64_t *user, const uint64_t *ours,
		   const uint64_t *now, size_t words, uint64_t *out);

/* The list to write: the user's and ours.  ours NULL: let go of the job. */
void np_merge_list(const uint64_t *user, const uint64_t *ours, size_t words,
		   uint64_t *out);

/* Does a list have to be written, or does it stand there already? */
bool np_merge_differs(const uint64_t *list, const uint64_t *now, size_t words);

#endif
