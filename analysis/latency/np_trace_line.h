/*
 * A line of liballprof's text: which call it is, and its arguments.  Private to
 * np_trace_text.c.
 */
#ifndef NP_TRACE_LINE_H
#define NP_TRACE_LINE_H

#include "np_trace_reader.h"

/*
 * Arguments by letters: n count, t type, p rank, g tag, c communicator,
 * q request, N number of requests, r root, L counts, l displacements,
 * . what is not needed.  The second n, t, p and g are of what is received; none
 * is there a third time.
 */
struct np_line_call {
	const char *name; /* without "MPI_" */
	enum np_trace_kind kind;
	const char *args;
	enum np_collective collective;
	bool may_leave; /* some requests undone */
	unsigned number; /* of those that are not followed, from 0 */
};
#define NP_LINE_CALLS 6 /* that are not followed */

/* The arguments of a line, numbers in the order of their letters. */
struct np_line_args {
	int64_t n[2], size[2], peer[2], tag[2]; /* sent or only one; received */
	int64_t root, n_requests;
	uint64_t request;
	char *list; /* the first one, or NULL */
	unsigned n_n, n_t, n_p, n_g;
	bool has_comm;
	uint64_t handle;
	int64_t comm_rank, comm_size;
};

/* Fields of "a:b:c", cut in place: how many; 0: too many. */
#define NP_LINE_FIELDS 64
size_t np_line_cut(char *line, char *field[NP_LINE_FIELDS]);

/* "MPI_NAME" without "MPI_"; NULL: nothing is to be known of it. */
const struct np_line_call *np_line_call(const char *name);

/* A number at *at, which is moved behind it.  Returns 0 or -EINVAL. */
int np_line_number(char **at, int64_t *v);

/* "1237666046950106.000000", us: ns.  Returns 0 or -EINVAL. */
int np_line_time(struct np_trace_reader *r, const char *text, uint64_t *ns);

/* n elements of a size; 0 if that is no size of anything. */
uint64_t np_line_bytes(struct np_trace_reader *r, int64_t n, int64_t size);

/*
 * The message of a call, i of two: what is sent, or 1 for what is received.
 * mpich: its numbers for nobody and anybody.  Returns 0 or -EINVAL.
 */
int np_line_message(struct np_trace_reader *r, bool mpich,
		    const struct np_line_args *a, unsigned i, bool receives,
		    struct np_trace_message *m);

/*
 * field[n]: the arguments, without the two times; they are borrowed.  Returns 0
 * or -EINVAL.
 */
int np_line_args(struct np_trace_reader *r, const struct np_line_call *c,
		 char **field, size_t n, struct np_line_args *a);

#endif
