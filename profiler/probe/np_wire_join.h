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
 *
 * The processes of a step of our own have srun in place of the connection, and
 * need nothing of Slurm's MPI plugins: their lines come out of srun's standard
 * output; what is told to all goes into its standard input, which srun hands to
 * every process.  Each line of theirs begins with NP_WIRE_SRUN_WORD and the
 * rank, and is short, as srun mixes the pieces of long ones; several put lines
 * are one after the other.
 */
#ifndef NP_WIRE_JOIN_H
#define NP_WIRE_JOIN_H

#include <stdbool.h>

#include "np_wire.h"

#define NP_WIRE_JOIN_MAX_BYTES 16384u /* longest that one may publish */
#define NP_WIRE_JOIN_MAX_SIZE 1024u   /* processes of a group */
#define NP_WIRE_SRUN_WORD "np1w"

/*
 * fd_in, a socket, and fd_out are borrowed.  Returns 0, or -errno with err.
 * Close with (*out)->ops->close().
 */
int np_wire_join_open(int fd_in, int fd_out, uint32_t rank, uint32_t size,
		      struct np_wire **out, struct np_err *err);

/*
 * Over standard input and output of a step's process, with the rank and the
 * number that Slurm has put into its environment.
 */
int np_wire_srun_open(struct np_wire **out, struct np_err *err);

/* "RANK/SIZE".  Returns 0 or -EINVAL. */
int np_wire_join_parse(const char *text, uint32_t *rank, uint32_t *size);

/* The other end, for a group of `size` processes.  NULL: out of memory. */
struct np_wire_host;
struct np_wire_host *np_wire_host_new(uint32_t size);
void np_wire_host_free(struct np_wire_host *h); /* NULL is allowed */

/*
 * What a process puts: more of it, or another instead.  Then what all are told,
 * once all wait at the fence, and NULL before; the caller frees *out.  Return
 * 0, -EPROTO or -ENOMEM.
 */
int np_wire_host_put(struct np_wire_host *h, uint32_t rank, const char *hex,
		     bool more);
int np_wire_host_fence(struct np_wire_host *h, uint32_t rank, char **out);

/* A line out of srun is for the host, and not a report: take it. */
bool np_wire_host_is_for(const char *line);
int np_wire_host_take(struct np_wire_host *h, const char *line, char **out);

#endif
