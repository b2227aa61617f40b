/*
 * The annotation that placement keeps in a job's AdminComment:
 *
 *	netprof{app=melt user=n7 ours=n[0-3] until=1795 begin=0 held=12}
 *
 * It separates what the user asked for from what placement wrote, so that a
 * restarted slurmctld can take its own part back. All other text of the comment
 * is kept. These functions use nothing of Slurm.
 */
#ifndef NP_ANNOTATION_H
#define NP_ANNOTATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "np_app.h"

/*
 * Longest list of excluded nodes that placement handles, in bytes. A job with a
 * longer one is ignored, since its list would be stored a second time in the
 * annotation, and a third time by the thread.
 */
#define NP_ANNOTATION_MAX_USER 4096

struct np_annotation {
	char app[NP_APP_MAX + 1]; /* application; "": none given */
	char *user; /* nodes that the user excluded, a hostlist; NULL: none */
	char *ours; /* nodes that placement excluded, a hostlist; NULL: none */
	int64_t until_sec; /* begin time set by placement; 0: none */
	int64_t begin_sec; /* begin time set by the user; 0: none */
	double held_sec;   /* how long placement has held the job back */
	bool decided;	   /* placement has decided about the job; otherwise
			      only app is set */
};

/*
 * Read the annotation in a comment (NULL: none). Returns 0, free with
 * np_annotation_clear(); or -ENOENT (no annotation), -EINVAL (damaged) or
 * -ENOMEM, and *out is empty.
 */
int np_annotation_read(const char *comment, struct np_annotation *out);
void np_annotation_clear(struct np_annotation *annotation);

/* Whether a comment has an annotation, damaged or not. */
bool np_annotation_exists(const char *comment);

/* Whether two comments have the same annotation, which is not cut off. */
bool np_annotation_is_same(const char *comment, const char *other);

/*
 * Find out which of the nodes that a job excludes at present are excluded by
 * its user. Before, user[] was the user's part, and ours[] was added by
 * placement. All are bitmaps of nodes. The result is written to user[]:
 *
 * - a node that only placement added is not the user's;
 * - a node that somebody added since then is the user's;
 * - a node that somebody removed since then is not, even if it was before.
 *
 * If both are empty, all nodes are the user's: excluding a node too many is
 * better than losing a user's request.
 */
void np_annotation_find_user_nodes(uint64_t *user, const uint64_t *ours,
				   const uint64_t *present, size_t words);

/* Join two host lists, which may be NULL. malloc'ed; NULL: out of memory. */
char *np_annotation_join_lists(const char *a, const char *b);

/*
 * Return a comment with its first annotation replaced by this one, or with this
 * one appended. If annotation is NULL, the comment gets none. Further
 * annotations, which netprof never writes, are removed, and all other text is
 * kept unchanged. malloc'ed; NULL: out of memory.
 */
char *np_annotation_write(const char *comment,
			  const struct np_annotation *annotation);

#endif
