/* The reader of binary traces. Private to np_trace_binary*.c. */
#ifndef NP_TRACE_BINARY_H
#define NP_TRACE_BINARY_H

#include <errno.h>

#include "np_trace_reader.h"

#define CUT (-ENODATA) /* the file ends within a record: so does the trace */

struct np_binary_request {
	bool used, active, persistent, sends, receives, wild;
	uint32_t comm, instance;
	struct np_trace_message out, in;
};

/* What is known when a request is done. */
struct np_binary_match {
	uint32_t peer, tag;
	enum { UNKNOWN, MATCHED, CANCELLED } how;
};

struct np_binary {
	struct np_trace_reader r;
	bool first_pass;
	uint64_t sum_ns;

	struct np_binary_request *request;
	size_t n_requests, request_room;
	struct np_binary_match
		*match; /* of each use of a request, in their order */
	size_t match_room;
	size_t instance; /* of the present pass */
	uint32_t *comm_size; /* of each communicator; 0: there is none */
	size_t n_comms, comm_room;

	size_t n_done; /* of a WAIT, in ids */
	uint32_t *ids; /* of a START, and what is left of it; of a WAIT */
	size_t n_ids, next_id, id_room;
	uint64_t *list;
	size_t list_room;
	uint32_t *member;
	size_t member_room;
	char name[128];
};

/*
 * The next number below a limit, what it is in words; a communicator that is
 * alive; a message (any: rank and tag are one more, 0 is a wildcard), and
 * one that may not be there.  0, -EINVAL with err, or CUT.
 */
int np_binary_below(struct np_binary *b, uint64_t limit, const char *what,
		    uint64_t *v, struct np_err *err);
int np_binary_u32(struct np_binary *b, uint64_t limit, const char *what,
		  uint32_t *v, struct np_err *err);
int np_binary_comm(struct np_binary *b, uint32_t *comm, struct np_err *err);
int np_binary_message(struct np_binary *b, uint32_t comm, bool any,
		      struct np_trace_message *m, struct np_err *err);
int np_binary_maybe(struct np_binary *b, uint32_t comm, bool any,
		    struct np_trace_message *m, struct np_err *err);

/*
 * np_trace_binary_request.c: records about requests.  A number for a new one is
 * free, and not far beyond the others.
 */
int np_binary_new(struct np_binary *b, uint32_t id, struct np_err *err);
int np_binary_old(struct np_binary *b, uint32_t id, struct np_err *err);
int np_binary_begin(struct np_binary *b, struct np_binary_request *q,
		    struct np_err *err);
int np_binary_post(struct np_binary *b, struct np_trace_event *ev,
		   struct np_err *err);
int np_binary_start(struct np_binary *b, struct np_err *err);
int np_binary_wait(struct np_binary *b, struct np_trace_event *ev,
		   struct np_err *err);
/* What a use of a request sends and receives, in the end. */
void np_binary_use(const struct np_binary *b, const struct np_binary_request *q,
		   uint32_t id, struct np_trace_event *ev);

#endif
