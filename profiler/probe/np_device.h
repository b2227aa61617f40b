/*
 * Bytes that a network device of this machine has moved, both ways, by the
 * kernel's own counters: /sys/class/net/DEV/statistics, or for InfiniBand
 * /sys/class/infiniband/DEV/ports/N/counters, which count words of four bytes.
 */
#ifndef NP_DEVICE_H
#define NP_DEVICE_H

#include <stdint.h>

#define NP_DEVICE_PATH 256

struct np_device {
	char path[2][NP_DEVICE_PATH]; /* of the counters; "": none */
	uint64_t unit;		      /* bytes that one count is */
	double link; /* that it carries in one direction, bytes/s; 0: it does
			not say, or what it says makes no sense */
};

/*
 * That of a transport as UCX names it: "tcp/eth0", "rc_mlx5/mlx5_0:1".  sys:
 * "/sys", or a test's.  Returns 0, or -ENOENT: it has no counters that can be
 * read.
 */
int np_device_find(const char *sys, const char *transport,
		   struct np_device *out);

/* Returns 0, or -EIO: they cannot be read any more. */
int np_device_bytes(const struct np_device *d, uint64_t *bytes);

#endif
