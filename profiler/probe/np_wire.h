/*
 * Wire-up: how the processes of one step find each other, before they can
 * connect over the network that they measure.
 *
 * A small table of functions keeps PMIx in one file (np_pmix.c), has a second
 * implementation without PMIx (np_wire.c) and a twin in memory for the tests
 * (t/unit/probe/np_wire_loop.c).
 */
#ifndef NP_WIRE_H
#define NP_WIRE_H

#include <stddef.h>
#include <stdint.h>

#include "np_err.h"

struct np_wire;

struct np_wire_ops {
	/* Publish one value of this process, seen by all after a fence. */
	int (*put)(struct np_wire *w, const void *data, size_t len,
		   struct np_err *err);

	/*
	 * Wait for all processes. Returns 0, -ETIMEDOUT (a process is missing)
	 * or another -errno.
	 */
	int (*fence)(struct np_wire *w, double timeout_sec, struct np_err *err);

	/* A copy of the value of process `rank`; the caller frees *data. */
	int (*get)(struct np_wire *w, uint32_t rank, void **data, size_t *len,
		   struct np_err *err);

	void (*close)(struct np_wire *w);
};

/* First member of every implementation. */
struct np_wire {
	const struct np_wire_ops *ops;
	uint32_t rank, size;
};

/* ---- over PMIx, as `srun --mpi=pmix` and mpirun provide it ---- */

/*
 * Returns 0; -ENOENT if no PMIx server started this process; another -errno.
 * Close with (*out)->ops->close() as soon as all are connected: Slurm's PMIx
 * server kills the whole step when a connected process vanishes.
 */
int np_pmix_open(struct np_wire **out, struct np_err *err);

/* ---- over a stream to a host, which passes values on ---- */

/*
 * Lines of text between a process and its host. A group is the processes that
 * were dispatched together.
 *
 *	process -> host		put HEX		publish these bytes
 *				fence		wait for the whole group
 *	host -> process		place RANK HEX	published by another process
 *				go		the fence is complete
 *
 * There are two kinds of streams.
 *
 * A probe started by netprof-agent inherits its connection to the collector,
 * which is the host. The same connection then carries reports (np_report.h)
 * to the collector, and ends when the probe is to end.
 *
 * The processes of a helper step (np_helper.h) have no such connection, and
 * need none of Slurm's MPI plugins either: their lines leave through srun's
 * standard output, and what the host writes to srun's standard input reaches
 * all of them. Each of their lines starts with NP_WIRE_SRUN_WORD and the rank.
 * Lines are short, because srun interleaves the pieces of long ones; several
 * put lines of a process add up.
 */

#define NP_WIRE_MAX_BYTES 16384u /* longest value of a process */
#define NP_WIRE_MAX_SIZE 1024u	 /* most processes in a group */
#define NP_WIRE_SRUN_WORD "np1w"

/*
 * Open the stream on standard input and output. how: "RANK/SIZE" for a process
 * started by netprof-agent, "srun" for a process of a helper step, whose rank
 * and number Slurm has put into the environment. Returns 0, or -errno with
 * err. Close with (*out)->ops->close().
 */
int np_wire_open(const char *how, struct np_wire **out, struct np_err *err);

/*
 * The same for "RANK/SIZE" on other descriptors, exported for the unit tests.
 * fd_in, a socket, and fd_out are borrowed.
 */
int np_wire_agent_open(int fd_in, int fd_out, uint32_t rank, uint32_t size,
		       struct np_wire **out, struct np_err *err);

/* The host of a group of `size` processes. NULL: out of memory. */
struct np_wire_host;
struct np_wire_host *np_wire_host_new(uint32_t size);
void np_wire_host_free(struct np_wire_host *host); /* NULL is allowed */

/*
 * Take a line of a process. rank: the process at whose connection the line
 * arrived; a value replaces what that process published before. NULL: the line
 * is one of srun's output, which says whose it is, and values add up. *out:
 * once all processes wait at the fence, the text to send to every one of them,
 * which the caller frees; NULL before. Returns 0, -EPROTO, -ENOMEM, or -ENOMSG:
 * the line is not for the host.
 */
int np_wire_host_take(struct np_wire_host *host, const uint32_t *rank,
		      const char *line, char **out);

#endif
