/*
 * Messages between processes: a small table of functions, so that UCX stays
 * in one file (np_ucx.c) and tests have a twin in memory (np_net_loop.c).
 *
 * Nothing here blocks.  Work happens in progress() alone; to sleep until there
 * is some, arm() and then wait for fd to become readable.  A net lives as long as
 * its process.
 */
#ifndef NP_NET_H
#define NP_NET_H

#include <stddef.h>
#include <stdint.h>

#include "np_err.h"

struct np_net;

/*
 * One message under way.  Caller's memory; it and the buffer must stay until
 * status says that it is over.
 */
struct np_op {
	int status; /* 1: under way; 0: done; -errno: failed */
};

struct np_net_ops {
	/*
	 * Connect to the process of that rank, which is at that address, before
	 * any of what follows names it; once.  Returns 0 or -errno.
	 */
	int (*connect)(struct np_net *n, uint32_t rank, const void *addr,
		       size_t len, struct np_err *err);

	/* 0, or -errno once the connection to a process is known to be lost. */
	int (*lost)(struct np_net *n, uint32_t rank);

	/*
	 * The path to a process, as "tcp/eth0"; "" if not known.
	 */
	void (*transport)(struct np_net *n, uint32_t rank, char *buf,
			  size_t size);

	/*
	 * Start a message.  It meets the receive with the same tag at that
	 * process, in the order of the calls.  A failure shows in op->status.
	 */
	void (*send)(struct np_net *n, uint32_t rank, uint64_t tag,
		     const void *buf, size_t len, struct np_op *op);
	void (*recv)(struct np_net *n, uint64_t tag, void *buf, size_t len,
		     struct np_op *op);

	/* Do what can be done now; 0 if that was nothing. */
	unsigned (*progress)(struct np_net *n);

	/*
	 * Promise that fd becomes readable when there is work.
	 * Returns 0, or -EAGAIN: there is work already, progress() first.
	 */
	int (*arm)(struct np_net *n);
};

/* Every implementation begins with this. */
struct np_net {
	const struct np_net_ops *ops;
	const void *address; /* what others need to connect here */
	size_t address_len;
	int fd;
};

/*
 * np_net over UCX: InfiniBand, RoCE, TCP and whatever else UCX knows.
 */

/*
 * Open a UCX worker for about n_peers connections to processes of ranks below
 * size.  Every UCX_* variable of
 * the environment is respected; what is not set there gets values for a small,
 * quiet process.  Returns 0 or -errno with err.
 */
int np_ucx_open(uint32_t size, size_t n_peers, struct np_net **out,
		struct np_err *err);

/* "1.13.1": the library in use. */
const char *np_ucx_version(void);

#endif
