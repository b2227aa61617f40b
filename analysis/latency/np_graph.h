/*
 * The execution graph of a message-passing program: the operations of each
 * rank, the dependencies between them, and which send matches which receive.
 *
 * A reader of a file or a trace builds it once, rank by rank:
 *
 *	np_graph_new() { np_graph_rank() { np_graph_add() np_graph_depend() }* }*
 *	np_graph_finish()
 *
 * np_tolerance.h and np_replay.h then read it. An operation takes 24 bytes and
 * a dependency 4.
 *
 * The functions below return 0, or -EINVAL (not a valid graph; err names file,
 * line, rank and operation), -ERANGE (a number above one of the limits below)
 * or -ENOMEM. After an error the only thing to do with a graph is to free it.
 *
 * The meaning of operations and dependencies is that of T. Hoefler, C. Siebert,
 * A. Lumsdaine, Group Operation Assembly Language, ICPP 2009; see
 * doc/validation/methods.md.
 */
#ifndef NP_GRAPH_H
#define NP_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "np_err.h"

#define NP_GRAPH_MAX_RANKS (1u << 22)
#define NP_GRAPH_MAX_OPS ((1u << 30) - 1)  /* over all ranks */
#define NP_GRAPH_MAX_DEPS ((1u << 31) - 1) /* over all ranks */
/* of one size, and of a sum of sizes; ns or bytes */
#define NP_GRAPH_MAX_SIZE (1ull << 52)
#define NP_GRAPH_CONTEXTS (1u << 12)

/* In a receive: matches any sender, or any tag. */
#define NP_ANY UINT32_MAX

enum np_op_kind { NP_OP_CALC, NP_OP_SEND, NP_OP_RECV };

struct np_graph_op {
	enum np_op_kind kind;
	uint64_t size; /* ns of computation, or bytes of a message */
	uint32_t peer; /* rank of the other end; unused in a calc */
	uint32_t tag;  /* below 2^31, or from np_graph_tag() */
	/* number of the communicator, else 0; only equal ones match */
	uint32_t context;
	/*
	 * Index within the rank; 0 if the rank has only one. A graph has
	 * processors other than 0 or contexts other than 0, not both.
	 */
	uint16_t cpu;
	uint8_t nic;
	uint32_t line; /* line in the file, for messages; or 0 */
};

/*
 * "x requires y": x starts after y has ended. "x irequires y": x starts after y
 * has started; a receive has started once it is posted, so this is how
 * nonblocking receives are expressed.
 */
enum np_dep_kind { NP_REQUIRES, NP_IREQUIRES };

struct np_graph;

/*
 * Makes a graph of n_ranks ranks (1 to NP_GRAPH_MAX_RANKS) without operations.
 * name: name of the file, for messages; copied. *out: free with
 * np_graph_free().
 */
int np_graph_new(const char *name, uint32_t n_ranks, struct np_graph **out,
		 struct np_err *err);
void np_graph_free(struct np_graph *g); /* NULL is allowed */

/*
 * Makes rank the current rank, to which the calls below add. Ranks may come in
 * any order, each once; a rank that is never named has no operations. file:
 * name of the file of this rank if each rank has its own, copied; NULL: that of
 * the graph.
 */
int np_graph_rank(struct np_graph *g, uint32_t rank, const char *file,
		  struct np_err *err);

/*
 * Adds an operation to the current rank, in program order: the k-th send from a
 * to b with some tag and context matches the k-th such receive. *index (NULL:
 * not wanted) is its number within the rank, counted from 0.
 */
int np_graph_add(struct np_graph *g, const struct np_graph_op *op,
		 uint32_t *index, struct np_err *err);

/*
 * Turns a tag of a file, any 64-bit number, into a tag for np_graph_op. A tag
 * below 2^31, as MPI's are, stays as it is; larger ones are numbered from 2^31
 * on. Returns 0, or -ENOMEM with err.
 */
int np_graph_tag(struct np_graph *g, uint64_t of_file, uint32_t *tag,
		 struct np_err *err);

/*
 * Makes operation x of the current rank depend on operation y of the same rank.
 * Both must have been added; their order does not matter.
 */
int np_graph_depend(struct np_graph *g, uint32_t x, uint32_t y,
		    enum np_dep_kind kind, struct np_err *err);

/*
 * Ends the graph and matches sends with receives. Returns -EINVAL if one has no
 * match; err names the first of them and gives their number. The size of a
 * message is that of its send. A receive with NP_ANY takes a message that fits
 * and that no later receive without NP_ANY needs; of these it takes the one
 * that its sender sends earliest, counted in the sender's operations.
 */
int np_graph_finish(struct np_graph *g, struct np_err *err);

/* These may be called before and after np_graph_finish(). */
uint32_t np_graph_ranks(const struct np_graph *g);
size_t np_graph_ops(const struct np_graph *g);
size_t np_graph_messages(const struct np_graph *g); /* number of sends */
uint32_t np_graph_rank_ops(const struct np_graph *g, uint32_t rank);

/* Operation i of a rank, as it was added. */
void np_graph_op(const struct np_graph *g, uint32_t rank, uint32_t i,
		 struct np_graph_op *out);

/* The inverse of np_graph_tag(). */
uint64_t np_graph_file_tag(const struct np_graph *g, uint32_t tag);

/*
 * The n-th dependency (n = 0, 1, 2 ...) of operation i of a rank of a finished
 * graph. Returns false when there are no more.
 */
bool np_graph_dep(const struct np_graph *g, uint32_t rank, uint32_t i, size_t n,
		  uint32_t *y, enum np_dep_kind *kind);

/*
 * Counts the receives of a finished graph that are smaller than the message
 * that they take, which is an error in MPI. *first: one of them, for
 * np_graph_describe(), if there are any.
 */
size_t np_graph_short_receives(const struct np_graph *g, uint32_t *first);

/* The operation that a send or receive of a finished graph is matched with. */
void np_graph_peer(const struct np_graph *g, uint32_t rank, uint32_t i,
		   uint32_t *peer_rank, uint32_t *peer_i);

/*
 * Describes a node in a message: "FILE:LINE: rank R, send of 8 bytes to 3 with
 * tag 7". node: number of the operation over all ranks, in the order in which
 * they were added. Returns buf.
 */
const char *np_graph_describe(const struct np_graph *g, uint32_t node,
			      char *buf, size_t len);

#endif
