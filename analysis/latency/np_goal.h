/*
 * Graphs in files: GOAL text, as Schedgen and other programs write it, and GOAL
 * binary, as LogGOPSim reads it (doc/validation/methods.md).
 *
 * Files are untrusted input. An invalid one is rejected with one line that
 * names file, line (or byte) and rank. Memory is bounded by a small multiple of
 * the bytes read, and time by the bytes read.
 */
#ifndef NP_GOAL_H
#define NP_GOAL_H

#include <stdio.h>

#include "np_graph.h"

/*
 * Reads text or binary, whichever it is, from the current offset of fd to the
 * end. name: for messages. *out: finished; free with np_graph_free(). Returns
 * 0, -EINVAL (not a valid graph), -ERANGE (too large), -ENOMEM, or -errno of
 * reading.
 */
int np_goal_read(int fd, const char *name, struct np_graph **out,
		 struct np_err *err);

/*
 * Writes a finished graph as text. Each receive names the sender and tag that
 * it is matched with. GOAL has no contexts: if the graph has several, tags are
 * renumbered so that the same operations match. Returns 0, -EIO (see ferror(f))
 * or -ENOMEM.
 */
int np_goal_write(const struct np_graph *g, FILE *f, struct np_err *err);

#endif
