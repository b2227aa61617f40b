/* What the readers of both trace formats share; private to them. */
#ifndef NP_TRACE_READER_H
#define NP_TRACE_READER_H

#include <stdio.h>

#include "np_trace_read.h"

#define NP_TRACE_MAX (1ull << 52) /* limit of ns and bytes, and of sums of ns */

struct np_trace_request {
	bool used, active, persistent;
	uint32_t comm;
	/* index of the current or last use, among all uses of requests */
	uint32_t use;
	struct np_trace_message out, in;
};

struct np_trace_reader {
	const struct np_trace_form *form;
	FILE *f;
	const char *path;
	uint64_t bytes;	   /* size of the file */
	uint64_t start_ns; /* see np_trace_start_ns() */
	uint32_t rank, size;
	bool whole;
	bool again;    /* in the second pass */
	uint64_t line; /* or number of the record */
	int rc;	       /* the first error; after it nothing is read */
	struct np_err *err;

	struct np_trace_request *request;
	size_t n_requests, request_room;
	/*
	 * what the format stores for each use, from the first pass to the
	 * second
	 */
	void *use;
	size_t n_uses, n_known, use_room;
	/* requests of a WAIT, or those of a START still to be returned */
	uint32_t *id;
	size_t n_ids, next_id, id_room;
	uint64_t *list; /* of the current event */
	size_t list_room;
};

/* Operations of a trace format. */
struct np_trace_form {
	/* size of its reader, which begins with np_trace_reader */
	size_t bytes;
	size_t use_bytes; /* stored for each use of a request; initially 0 */
	int (*begin)(struct np_trace_reader *r, const struct np_trace_header *h,
		     size_t got);
	/* The next event: 1, 0 or -errno. */
	int (*next)(struct np_trace_reader *r, struct np_trace_event *ev);
	/* Fills in what a started request sends and receives. */
	void (*start)(struct np_trace_reader *r, struct np_trace_request *q,
		      struct np_trace_event *ev);
	void (*rewind)(struct np_trace_reader *r);
	void (*close)(struct np_trace_reader *r);
};
extern const struct np_trace_form np_trace_binary, np_trace_text;

/* Error "FILE:LINE: rank R: ...", or out of memory; both stop the reader. */
int np_trace_fail(struct np_trace_reader *r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
int np_trace_no_memory(struct np_trace_reader *r);

/* Adds an unused request. Returns NULL if memory is short. */
struct np_trace_request *np_trace_request_new(struct np_trace_reader *r);

/* Begins another use of a request. Returns 0 or -errno. */
int np_trace_request_use(struct np_trace_reader *r, struct np_trace_request *q);

/* Adds a request to those that a call completes or starts. */
void np_trace_id(struct np_trace_reader *r, uint32_t id);

/* Makes ev the next request that a START begins; LOCAL if there is none. */
void np_trace_started(struct np_trace_reader *r, struct np_trace_event *ev);

/* Room for a list of n sizes in ev; NULL if memory is short. */
uint64_t *np_trace_list(struct np_trace_reader *r, struct np_trace_event *ev,
			size_t n);

#endif
