/*
 * The other end of np_wire_join.h where a step of our own has no attendant:
 * its lines come out of srun's standard output, and what is told to all goes
 * into its standard input, which srun hands to every process.  Needs nothing
 * of Slurm's MPI plugins.
 */
#ifndef NP_WIRE_HOST_H
#define NP_WIRE_HOST_H

#include <stdbool.h>
#include <stdint.h>

struct np_wire_host;

/* For a step of `size` processes.  NULL: out of memory. */
struct np_wire_host *np_wire_host_new(uint32_t size);
void np_wire_host_free(struct np_wire_host *h);

/* A line is for the host, and not a report. */
bool np_wire_host_is_for(const char *line);

/*
 * Take such a line.  *out is what all are told, once all wait at the fence, and
 * NULL before; the caller frees it.  Returns 0, -EPROTO or -ENOMEM.
 */
int np_wire_host_take(struct np_wire_host *h, const char *line, char **out);

#endif
