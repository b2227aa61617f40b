/*
 * Messages between processes: a small table of functions, which keeps UCX and
 * libfabric in one file each (np_ucx.c, np_ofi.c) and has a twin in memory for
 * the tests (t/unit/probe/np_net_loop.c).
 *
 * Nothing here blocks. All work happens in progress(). To sleep until there is
 * work, call arm() and then wait for fd to become readable. A net lives as long
 * as its process.
 */
#ifndef NP_NET_H
#define NP_NET_H

#include <stddef.h>
#include <stdint.h>

#include "np_err.h"

struct np_net;

/*
 * One message in flight. It and its buffer belong to the caller and must stay
 * in place until status says that it is over.
 */
struct np_op {
	int status; /* 1: in flight; 0: done; -errno: failed */
};

struct np_net_ops {
	/*
	 * Connect to the process of that rank at that address. Once for each
	 * rank, before any other function names it. Returns 0 or -errno.
	 */
	int (*connect)(struct np_net *n, uint32_t rank, const void *addr,
		       size_t len, struct np_err *err);

	/* 0, or -errno once the connection to a process is known to be lost. */
	int (*lost)(struct np_net *n, uint32_t rank);

	/* Name the path to a process, "tcp/eth0"; "" if it is not known. */
	void (*transport)(struct np_net *n, uint32_t rank, char *buf,
			  size_t size);

	/*
	 * Start a message. The receiver matches it with a receive of the same
	 * tag, in the order of the calls. A failure shows in op->status. Tags
	 * are below 2^48, all that libfabric's cxi provider has.
	 */
	void (*send)(struct np_net *n, uint32_t rank, uint64_t tag,
		     const void *buf, size_t len, struct np_op *op);
	void (*recv)(struct np_net *n, uint64_t tag, void *buf, size_t len,
		     struct np_op *op);

	/* Do all work that is possible now; returns 0 if there was none. */
	unsigned (*progress)(struct np_net *n);

	/*
	 * Make fd become readable when there is work. Returns 0, or -EAGAIN:
	 * there is work already, call progress() first.
	 */
	int (*arm)(struct np_net *n);
};

/* First member of every implementation. */
struct np_net {
	const struct np_net_ops *ops;
	/* "ucx", "ofi:cxi"; must be the same at both ends */
	const char *kind;
	/* library version: "1.13.1", "libfabric-1.17" */
	const char *version;
	const void *address; /* what other processes need to connect */
	size_t address_len;
	int fd;
};

/* ---- over UCX: InfiniBand, RoCE, TCP and whatever else UCX supports ---- */

/*
 * Open a UCX worker for about n_peers connections to processes of ranks below
 * size. Every UCX_* variable of the environment is respected; those that are
 * not set get values for a small, quiet process. Returns 0 or -errno with err.
 */
int np_ucx_open(uint32_t size, size_t n_peers, struct np_net **out,
		struct np_err *err);

/* Version of the UCX library in use: "1.13.1". */
const char *np_ucx_version(void);

/* ---- over libfabric, for networks that UCX does not support ---- */

/*
 * As np_ucx_open(), with a provider of libfabric: "cxi" (Slingshot), "opx" or
 * "psm2" (Omni-Path), "efa", "tcp;ofi_rxm", for which "tcp" is short. devices:
 * a list of libfabric domains, "cxi0" or "eth0"; NULL or "": the first. Every
 * FI_* variable of the environment is respected. The library is loaded by this
 * call. Returns 0, or -errno with err; -ENOENT: there is no libfabric, or it
 * has no such provider or device on this node.
 */
int np_ofi_open(uint32_t size, size_t n_peers, const char *provider,
		const char *devices, struct np_net **out, struct np_err *err);

#endif
