/*
 * The counters of all network adapters of this machine: InfiniBand, RoCE,
 * Omni-Path and EFA under /sys/class/infiniband, Slingshot under /sys/class/cxi,
 * Ethernet under /sys/class/net and by ethtool.  What is unknown, empty or
 * missing is left out; an adapter that is slow to read is not read again.
 */
#ifndef NP_NICS_H
#define NP_NICS_H

#include <stdbool.h>
#include <stddef.h>

#include "np_nic.h"

#define NP_NICS_MAX 16
#define NP_NICS_SLOW_SEC 0.05 /* an adapter that takes longer is given up */
/* They are read so seldom that reading takes no more than this of a core. */
#define NP_NICS_SHARE 0.001

/*
 * Driver's statistics of a device: calls each() for all.  Returns false where
 * there are none.
 */
typedef bool np_nics_ethtool(const char *dev,
			     void (*each)(const char *name, uint64_t n,
					  void *arg), void *arg);
np_nics_ethtool np_nics_ioctl; /* that of Linux */

struct np_nics;

/*
 * sys: "/sys", or a test's.  also: a device under /sys/class/net that counts
 * although it is no hardware; NULL: none.  Returns 0 or -ENOMEM.
 */
int np_nics_open(const char *sys, const char *also, np_nics_ethtool *ethtool,
		 struct np_nics **out);
void np_nics_close(struct np_nics *n); /* NULL is allowed */

size_t np_nics_count(const struct np_nics *n);
const char *np_nics_name(const struct np_nics *n, size_t i); /* "mlx5_0:1" */

/*
 * Read all; out[] has np_nics_count() elements.  What can no longer be read is
 * missing in has.  Returns how many seconds from now the next reading may come.
 */
double np_nics_read(struct np_nics *n, struct np_nic_counts out[]);

#endif
