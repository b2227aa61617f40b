/*
 * Graphs as files: GOAL text, as Schedgen and others write it, and GOAL
 * binary, as LogGOPSim reads it (doc/validation/methods.md).
 *
 * Files are hostile input: what is no graph is refused with one line that
 * names file, line (or byte) and rank.  Memory is bounded by a small multiple
 * of what was read, time by what was read.
 */
#ifndef NP_GOAL_H
#define NP_GOAL_H

#include <stdio.h>

#include "np_graph.h"

/*
 * Read text or binary, whichever it is, from where fd stands to its end.
 * name: for messages.  *out: finished; free with np_graph_free().
 * Returns 0, -EINVAL (no graph), -ERANGE (too large), -ENOMEM, or -errno of
 * reading.
 */
int np_goal_read(int fd, const char *name, struct np_graph **out,
		 struct np_err *err);

/* np_goal_binary.c, for np_goal_read(): *g is then to be freed or NULL. */
#define NP_GOAL_BINARY 0x7f /* the first byte */
int np_goal_read_binary(FILE *f, const char *name, struct np_graph **g,
			struct np_err *err);

/*
 * Write a finished graph as text.  Receives name what they meet, as a tag and
 * a sender.  GOAL knows no contexts: if there are several, tags are numbered
 * anew so that only those meet that did.
 * Returns 0, -EIO (see ferror(f)) or -ENOMEM.
 */
int np_goal_write(const struct np_graph *g, FILE *f, struct np_err *err);

#endif
