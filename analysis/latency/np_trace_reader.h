/* What the two readers of traces share. Private to them. */
#ifndef NP_TRACE_READER_H
#define NP_TRACE_READER_H

#include <stdio.h>

#include "np_trace_read.h"

#define NP_TRACE_MAX (1ull << 52) /* ns and bytes, and sums of ns */

struct np_trace_request {
	bool used, active, persistent;
	uint32_t comm;
	uint32_t use; /* the present or the last one, of all uses of requests */
	struct np_trace_message out, in;
};

struct np_trace_reader {
	const struct np_trace_form *form;
	FILE *f;
	const char *path;
	uint64_t bytes; /* of the file */
	uint32_t rank, size;
	bool whole;
	bool again;    /* the second pass */
	uint64_t line; /* or record */
	int rc;	       /* the first failure, or 0; then nothing is read */
	struct np_err *err;

	struct np_trace_request *request;
	size_t n_requests, request_room;
	void *use; /* what the form keeps of each use, from pass to pass */
	size_t n_uses, n_known, use_room;
	uint32_t *id; /* of a WAIT; or of a START, what is left of them */
	size_t n_ids, next_id, id_room;
	uint64_t *list; /* of an event */
	size_t list_room;
};

/* How a trace is written. */
struct np_trace_form {
	size_t bytes;	  /* of a reader, which begins as above */
	size_t use_bytes; /* kept of each use of a request; 0 at first */
	int (*begin)(struct np_trace_reader *r, const struct np_trace_header *h,
		     size_t got);
	/* The next event: 1, 0 or -errno. */
	int (*next)(struct np_trace_reader *r, struct np_trace_event *ev);
	/* What a request that is started again sends and receives. */
	void (*start)(struct np_trace_reader *r, struct np_trace_request *q,
		      struct np_trace_event *ev);
	void (*rewind)(struct np_trace_reader *r);
	void (*close)(struct np_trace_reader *r);
};
extern const struct np_trace_form np_trace_binary, np_trace_text;

/* "FILE:LINE: rank R: ...", and out of memory; both fail the reader. */
int np_trace_wrong(struct np_trace_reader *r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
int np_trace_no_memory(struct np_trace_reader *r);

/* One more request, of which nothing is known; NULL: no memory. */
struct np_trace_request *np_trace_request_new(struct np_trace_reader *r);

/* One more use of a request begins.  Returns 0 or -errno. */
int np_trace_request_use(struct np_trace_reader *r, struct np_trace_request *q);

/* One more of those that a call waits for or starts. */
void np_trace_id(struct np_trace_reader *r, uint32_t id);

/* ev is of the next one of those that a START begins, or LOCAL. */
void np_trace_started(struct np_trace_reader *r, struct np_trace_event *ev);

/* Room for an event's list of n sizes; NULL: no memory. */
uint64_t *np_trace_list(struct np_trace_reader *r, struct np_trace_event *ev,
			size_t n);

#endif
