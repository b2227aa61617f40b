/*
 * The execution graph of a message-passing program: operations of ranks, what
 * each has to wait for, and which send meets which receive.
 *
 * Made once, rank by rank, by whoever reads a file or a trace:
 *
 *	np_graph_new() { np_graph_rank() { np_graph_add() np_graph_depend() }* }*
 *	np_graph_finish()
 *
 * and read by np_tolerance.h.  An operation takes 24 bytes, a dependency 4.
 *
 * Errors of everything below: -EINVAL (not a graph; err has file, line, rank
 * and operation), -ERANGE (a number beyond what is allowed here), -ENOMEM.
 * After an error a graph can only be freed.
 *
 * Meaning of operations and dependencies: T. Hoefler, C. Siebert,
 * A. Lumsdaine, Group Operation Assembly Language, ICPP 2009; doc/validation/methods.md.
 */
#ifndef NP_GRAPH_H
#define NP_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "np_err.h"

#define NP_GRAPH_MAX_RANKS (1u << 22)
#define NP_GRAPH_MAX_OPS ((1u << 30) - 1)  /* of all ranks */
#define NP_GRAPH_MAX_DEPS ((1u << 31) - 1) /* of all ranks */
#define NP_GRAPH_MAX_SIZE (1ull << 52)	   /* ns or bytes, and their sums */
#define NP_GRAPH_CONTEXTS (1u << 12)

/* Of a receive: from whomever; with whatever tag. */
#define NP_ANY UINT32_MAX

enum np_op_kind { NP_OP_CALC, NP_OP_SEND, NP_OP_RECV };

struct np_graph_op {
	enum np_op_kind kind;
	uint64_t size;	  /* ns of a calc, bytes of a message */
	uint32_t peer;	  /* rank; not of a calc */
	uint32_t tag;	  /* below 2^31, or of np_graph_tag() */
	uint32_t context; /* of a communicator: only equal ones meet; else 0 */
	uint8_t cpu, nic; /* which of its rank's; 0 if there is one */
	uint32_t line;	  /* where it stands in its file, for messages; or 0 */
};

/*
 * x requires y: x starts after y has ended.  x irequires y: after y has
 * started, a receive after it was posted (a nonblocking one goes on there).
 */
enum np_dep_kind { NP_REQUIRES, NP_IREQUIRES };

struct np_graph;

/*
 * A graph without operations of 1 .. NP_GRAPH_MAX_RANKS ranks.  name: of the
 * file, for messages; copied.  Free with np_graph_free().
 */
int np_graph_new(const char *name, uint32_t n_ranks, struct np_graph **out,
		 struct np_err *err);
void np_graph_free(struct np_graph *g); /* NULL is allowed */

/*
 * What follows is of this rank: in any order, each rank once; those that are
 * never named have no operations.  file: where its operations stand if each
 * rank has a file, copied; NULL: in the graph's.
 */
int np_graph_rank(struct np_graph *g, uint32_t rank, const char *file,
		  struct np_err *err);

/*
 * One operation more, in the order of the program: the k-th send from a to b
 * with a tag and a context meets the k-th such receive.  *index (may be NULL)
 * is its number in its rank: 0, 1, 2 ...
 */
int np_graph_add(struct np_graph *g, const struct np_graph_op *op, uint32_t *index,
		 struct np_err *err);

/*
 * The tag of an operation for a tag of a file, which may be any number of 64
 * bits: itself if it is below 2^31, as those of MPI are; larger ones are
 * numbered from there.  Returns 0 or -ENOMEM with err.
 */
int np_graph_tag(struct np_graph *g, uint64_t of_file, uint32_t *tag,
		 struct np_err *err);

/*
 * Operation x of the present rank has to wait for y of the same rank.  Either
 * may come first in the file; both must have been added.
 */
int np_graph_depend(struct np_graph *g, uint32_t x, uint32_t y,
		    enum np_dep_kind kind, struct np_err *err);

/*
 * No more is to come: sends and receives find each other.  -EINVAL: one is
 * unmatched (the first is named, and how many there are).  A message is as
 * long as its send says.  A receive with NP_ANY takes, of what fits and no
 * later receive without NP_ANY needs, the message that its sender sends
 * earliest, counted in its own operations.
 */
int np_graph_finish(struct np_graph *g, struct np_err *err);

/* Of a graph, finished or not. */
uint32_t np_graph_ranks(const struct np_graph *g);
size_t np_graph_ops(const struct np_graph *g);
size_t np_graph_messages(const struct np_graph *g); /* sends */
uint32_t np_graph_rank_ops(const struct np_graph *g, uint32_t rank);

/* Operation i of a rank, as it was added. */
void np_graph_op(const struct np_graph *g, uint32_t rank, uint32_t i,
		 struct np_graph_op *out);

/* What np_graph_tag() was given for an operation's tag. */
uint64_t np_graph_tag_of_file(const struct np_graph *g, uint32_t tag);

/*
 * What operation i of a finished rank waits for, the n-th of it: 0, 1, 2 ...
 * Returns false when there are no more.
 */
bool np_graph_dep(const struct np_graph *g, uint32_t rank, uint32_t i,
		  size_t n, uint32_t *y, enum np_dep_kind *kind);

/* What a send or a receive of a finished graph meets. */
void np_graph_met(const struct np_graph *g, uint32_t rank, uint32_t i,
		  uint32_t *peer_rank, uint32_t *peer_i);

/*
 * "FILE:LINE: rank R, send of 8 bytes to 3 with tag 7", for messages.  node:
 * how many operations were added before, of all ranks.  Returns buf.
 */
const char *np_graph_say(const struct np_graph *g, uint32_t node, char *buf,
			 size_t len);

#endif
