/*
 * np_wire over a connection to the attendant, which netprof-join has made.
 * Lines of text; a group is the processes that were called together:
 *
 *	probe -> attendant	put HEX		what this process publishes
 *				fence		waits for all of the group
 *	attendant -> probe	place RANK HEX	what another one has published
 *				go		the fence is over
 *
 * The same connection then carries reports (np_report.h) the one way and its
 * end the other.
 */
#ifndef NP_WIRE_JOIN_H
#define NP_WIRE_JOIN_H

#include "np_wire.h"

#define NP_WIRE_JOIN_MAX_BYTES 16384u /* longest that one may publish */
#define NP_WIRE_JOIN_MAX_SIZE 1024u   /* processes of a group */

/*
 * fd_in, a socket, and fd_out are borrowed.  Returns 0, or -errno with err.
 * Close with (*out)->ops->close().
 */
int np_wire_join_open(int fd_in, int fd_out, uint32_t rank, uint32_t size,
		      struct np_wire **out, struct np_err *err);

/* "RANK/SIZE".  Returns 0 or -EINVAL. */
int np_wire_join_parse(const char *text, uint32_t *rank, uint32_t *size);

#endif
