/*
 * Messages between netprof-saver and the processes that have something to
 * write to the store.
 *
 * A message is a header and fields, each a string that ends with a NUL:
 *
 *	LOG	STORE LINE
 *	SAVE	STORE RUN MAXRUNS RECORD
 *	CHOOSE	STORE "" MAXRUNS SCOPE NODES SHARE NOW RECORD
 *	CHECK	DIRECTORY
 *	REPLY	ERRNO TEXT CHOICE
 *
 * RUN tells the records of one run from those of others.  LOG has no reply.  ERRNO is 0 or negative; to CHECK it is 0 unless the server
 * of DIRECTORY is lost.  CHOICE is that of np_choice_parse(), or empty.  Both
 * ends are on one host, so numbers in headers are in its byte order.  Pure: no
 * I/O.
 */
#ifndef NP_SAVER_MSG_H
#define NP_SAVER_MSG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "np_record.h"

enum np_saver_kind {
	NP_SAVER_LOG = 1, NP_SAVER_SAVE, NP_SAVER_CHOOSE, NP_SAVER_CHECK,
	NP_SAVER_REPLY,
};

#define NP_SAVER_VERSION 0x6e707331u /* a peer of another is not talked to */
#define NP_SAVER_MAX_BYTES (NP_RECORD_MAX_BYTES + (1u << 20)) /* of fields */
#define NP_SAVER_MAX_FIELDS 8

struct np_saver_head {
	uint32_t version;
	uint32_t kind;
	uint32_t seq; /* of a request; its reply has the same */
	uint32_t len; /* bytes of all fields together */
};

/* Can a message follow that is worth reading? */
bool np_saver_head_ok(const struct np_saver_head *h);

/*
 * A whole message, header and fields, of at most NP_SAVER_MAX_FIELDS.  Returns
 * its length with *out, to be freed; -E2BIG or -ENOMEM.
 */
long np_saver_pack(enum np_saver_kind kind, uint32_t seq,
		   const char *const field[], size_t n, char **out);

/*
 * Find the fields of a message, text[len].  Returns how many there are; 0: it
 * is damaged.
 */
size_t np_saver_fields(char *text, size_t len,
		       char *field[NP_SAVER_MAX_FIELDS]);

#endif
