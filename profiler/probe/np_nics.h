/*
 * Counters of this node's network adapters, and progress reports made from
 * them.
 *
 * Two things are counted. The device that carries the probe's messages: bytes
 * in both directions, which show how busy the probed program keeps it. And all
 * adapters of the node: bytes, and signs of congestion (np_nic.h).
 *
 * Sources: /sys/class/net/DEV/statistics; for InfiniBand, RoCE, Omni-Path and
 * EFA /sys/class/infiniband/DEV/ports/N/counters, which count words of four
 * bytes, or hw_counters; for Slingshot /sys/class/cxi/DEV/device/telemetry;
 * and ethtool for the statistics of Ethernet drivers. What is unknown, empty
 * or missing is left out, an adapter that is slow to read is given up,
 * and one that blocks its reader does not block the probe.
 */
#ifndef NP_NICS_H
#define NP_NICS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "np_nic.h"
#include "np_report.h"

/* ---- the device of a transport; exported for the unit tests ---- */

#define NP_DEVICE_PATH 256
#define NP_DEVICE_FILES 6

struct np_device {
	struct np_device_file {
		char path[NP_DEVICE_PATH];
		unsigned unit;	 /* bytes per count */
	} file[NP_DEVICE_FILES]; /* counters, whose sum counts */
	size_t n_files;
	/* Capacity in one direction, bytes/s; 0: unknown or implausible. */
	double link;
};

/*
 * Find the device of a transport as named by UCX or np_ofi.c: "tcp/eth0",
 * "rc_mlx5/mlx5_0:1", "ofi:cxi/cxi0". sys: "/sys", or a copy made by a test.
 * Returns 0, or -ENOENT: it has no readable counters.
 */
int np_device_find(const char *sys, const char *transport,
		   struct np_device *out);

/* Bytes in both directions. Returns 0, or -EIO: no longer readable. */
int np_device_bytes(const struct np_device *device, uint64_t *bytes);

/*
 * Providers of libfabric for the networks of this node that UCX does not
 * support, or supports badly: "cxi" for Slingshot, "opx" and "psm2" for
 * Omni-Path, "efa". Best first, terminated by NULL.
 */
const char *const *np_device_providers(const char *sys);

/* ---- all adapters; exported for the unit tests ---- */

#define NP_NICS_MAX 32
/* An adapter that takes longer twice in a row is given up. */
#define NP_NICS_SLOW_SEC 0.05
/* Readings are so far apart that they take at most this share of a core. */
#define NP_NICS_SHARE 0.001

/*
 * Statistics of a device's driver: calls each() for every one. Returns false
 * if there are none.
 */
typedef bool np_nics_ethtool(const char *dev,
			     void (*each)(const char *name, uint64_t n,
					  void *arg),
			     void *arg);
np_nics_ethtool np_nics_ioctl; /* as Linux provides them */

struct np_nics;

/*
 * Adapters whose link is down are left out, and what is not hardware of its own:
 * bridges, virtual functions. sys: "/sys", or a copy made by a test. also: the
 * device of the transport, which is always counted; NULL: none.
 * Returns 0 or -ENOMEM.
 */
int np_nics_open(const char *sys, const char *also, np_nics_ethtool *ethtool,
		 struct np_nics **out);
void np_nics_close(struct np_nics *nics); /* NULL is allowed */

size_t np_nics_count(const struct np_nics *nics);
const char *np_nics_name(const struct np_nics *nics, size_t i); /* "mlx5_0:1" */

/*
 * Read all adapters; out[] has np_nics_count() elements. A kind of count that
 * is no longer readable is missing from `has`. Returns the time in seconds
 * until the next reading is due.
 */
double np_nics_read(struct np_nics *nics, struct np_nic_counts out[]);

/* ---- progress reports ---- */

/* Last value of a counter. */
struct np_counter {
	double sec; /* when it was read, on the clock; 0: never */
	uint64_t n;
};

/* Counters of this node, and their values at the last report. */
struct np_progress {
	uint32_t rank; /* of the reports */
	pid_t task;    /* its MPI calls are counted; 0: none */
	struct np_counter transferred, calls;
	struct np_nic_counts nic[NP_NICS_MAX]; /* read at nics_sec */
	double nics_sec;		       /* on the clock */
	/* A thread reads the counters; NULL: there is none. */
	struct np_counter_reader *reader;
	pthread_t thread;
};

typedef void np_progress_emit_f(const struct np_report *r, void *arg);

/*
 * Find the counters of a transport, "tcp/eth0", and of all adapters. progress
 * is zeroed except for rank and task. sys, which is borrowed, and ethtool: as
 * for np_nics_open(). Returns the capacity of the transport's device in one
 * direction, bytes/s; 0: not known, or it was not read in time. Free with
 * np_progress_close().
 */
double np_progress_open(struct np_progress *progress, const char *sys,
			const char *transport, np_nics_ethtool *ethtool);
void np_progress_close(struct np_progress *progress);

/*
 * Read the counters, and emit a report for each: its increase since the last
 * reading. The first reading reports nothing, because nothing is known before
 * it; nor does a counter that fell, because counters may be reset. If reading
 * takes more than a millisecond, the reports follow from a later call of
 * np_progress_collect() or this function, with the time of the reading.
 */
void np_progress_report(struct np_progress *progress, double now_sec,
			np_progress_emit_f *emit, void *arg);
void np_progress_collect(struct np_progress *progress, np_progress_emit_f *emit,
			 void *arg);

#endif
