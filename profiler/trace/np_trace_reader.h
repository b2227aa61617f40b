/* What the two readers of traces share. Private to them. */
#ifndef NP_TRACE_READER_H
#define NP_TRACE_READER_H

#include "np_trace_input.h"
#include "np_trace_read.h"

struct np_trace_reader {
	struct np_input in;
	uint32_t rank, size;
	bool whole;
	uint64_t line; /* or record */
	int (*next)(struct np_trace_reader *r, struct np_trace_event *ev,
		    struct np_err *err);
	void (*close)(struct np_trace_reader *r);
};

/* in is taken over, also if they fail. */
int np_trace_open_binary(struct np_input *in, uint32_t rank, uint32_t size,
			 struct np_trace_reader **out, struct np_err *err);
int np_trace_open_text(struct np_input *in, uint32_t rank, uint32_t size,
		       struct np_trace_reader **out, struct np_err *err);

/* "FILE:LINE: rank R: ..." */
int np_trace_wrong(const struct np_trace_reader *r, struct np_err *err,
		   const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#define NP_TRACE_MAX (1ull << 52) /* ns and bytes, and sums of ns */

#endif
