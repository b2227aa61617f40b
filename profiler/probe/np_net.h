/*
 * Messages between processes: a small table of functions, so that UCX and
 * libfabric stay in one file each (np_ucx.c, np_ofi.c) and tests have a twin in
 * memory (np_net_loop.c).
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
	 * Tags are below 2^48: libfabric's cxi has no more.
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
	const char *kind;    /* "ucx", "ofi:cxi"; the same at both ends */
	const char *version; /* of the library: "1.13.1", "libfabric-1.17" */
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

/*
 * np_net over libfabric, for what UCX does not drive: Slingshot (cxi), Omni-Path
 * (opx, psm2), EFA (efa); and TCP (tcp) beside it.  The library is loaded when
 * this is called.
 */

/*
 * The same with a provider of libfabric, "cxi" or "tcp;ofi_rxm"; "tcp" is also
 * the latter.  devices: a list of domains, "cxi0" or "eth0"; NULL or "": the
 * first.  Every FI_* variable of the environment is respected.  Returns 0 or
 * -errno with err; -ENOENT: there is no libfabric, or it has no such provider
 * or device here.
 */
int np_ofi_open(uint32_t size, size_t n_peers, const char *provider,
		const char *devices, struct np_net **out, struct np_err *err);

#endif
