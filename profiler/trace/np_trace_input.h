/* A file that is read in pieces. Private to the readers of traces. */
#ifndef NP_TRACE_INPUT_H
#define NP_TRACE_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "np_err.h"

struct np_input {
	int fd;
	char *path;
	uint8_t *buf, *at, *end; /* what is left of the present piece */
	uint64_t offset;	 /* of end in the file */
	uint64_t size;		 /* of the file */
	int error;		 /* -errno of reading, or 0 */
};

/* Regular files only.  Returns 0 or -errno with err. */
int np_input_open(struct np_input *in, const char *path, struct np_err *err);
void np_input_close(struct np_input *in);
/* Once more from offset on. */
void np_input_seek(struct np_input *in, uint64_t offset);

/* The next piece; false: there is none, or error is set. */
bool np_input_more(struct np_input *in);

/* The next byte, or -1. */
static inline int np_input_byte(struct np_input *in)
{
	if (in->at == in->end && !np_input_more(in))
		return -1;
	return *in->at++;
}

#define NP_INPUT_LINE (16u << 20) /* bytes of a line */

/*
 * The next line without its end, NUL-terminated, in *line, which grows;
 * -EFBIG: it is too long.  1: a line; 0: no more; or -errno.
 */
int np_input_line(struct np_input *in, char **line, size_t *room);

#endif
