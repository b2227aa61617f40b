/*
 * Bytes that a network device of this machine has moved, both ways, by the
 * kernel's own counters: /sys/class/net/DEV/statistics, or for InfiniBand
 * /sys/class/infiniband/DEV/ports/N/counters, which count words of four bytes,
 * or hw_counters; for Slingshot /sys/class/cxi/DEV/device/telemetry.
 */
#ifndef NP_DEVICE_H
#define NP_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#define NP_DEVICE_PATH 256

struct np_device {
	char path[2][NP_DEVICE_PATH]; /* of the counters; "": none */
	uint64_t unit;		      /* bytes that one count is */
	double link; /* that it carries in one direction, bytes/s; 0: it does
			not say, or what it says makes no sense */
};

/*
 * That of a transport as UCX or np_ofi.c name it: "tcp/eth0",
 * "rc_mlx5/mlx5_0:1", "ofi:cxi/cxi0".  sys:
 * "/sys", or a test's.  Returns 0, or -ENOENT: it has no counters that can be
 * read.
 */
int np_device_find(const char *sys, const char *transport,
		   struct np_device *out);

/*
 * Providers of libfabric for networks of this node that UCX does not drive, or
 * drives badly: "cxi" for Slingshot, "opx" and "psm2" for Omni-Path, "efa".
 * Best first, NULL behind the last.
 */
const char *const *np_device_providers(const char *sys);

/*
 * The number that a file of a driver begins with; those of cxi go on with "@" and
 * a time.  false: there is none.
 */
bool np_device_number(const char *path, uint64_t *out);

/* Returns 0, or -EIO: they cannot be read any more. */
int np_device_bytes(const struct np_device *d, uint64_t *bytes);

#endif
