#include "np_device.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "np_err.h"

/* O_NONBLOCK: a FIFO in its place must not hang the probe. */
bool np_device_number(const char *path, uint64_t *out)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	char text[32];
	ssize_t len;

	if (fd < 0)
		return false;
	len = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (len <= 0 || text[0] < '0' || text[0] > '9')
		return false;
	text[len] = '\0';
	errno = 0;
	*out = strtoull(text, NULL, 10);
	return !errno;
}

__attribute__((format(printf, 4, 5)))
static bool try(struct np_device *d, uint64_t unit, const char *const name[2],
		const char *fmt, ...)
{
	char dir[NP_DEVICE_PATH];
	uint64_t bytes;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(dir, sizeof(dir), fmt, ap);
	va_end(ap);
	if (n < 0 || n >= (int)sizeof(dir))
		return false;
	d->unit = unit;
	for (int i = 0; i < 2; i++)
		if (snprintf(d->path[i], NP_DEVICE_PATH, "%s/%s", dir,
			     name[i]) >= NP_DEVICE_PATH)
			return false;
	return !np_device_bytes(d, &bytes);
}

/* The first number of a file of a device; 0: there is none. */
__attribute__((format(printf, 1, 2)))
static double number_in(const char *fmt, ...)
{
	char path[NP_DEVICE_PATH];
	double number = 0;
	va_list ap;
	FILE *f;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(path, sizeof(path), fmt, ap);
	va_end(ap);
	f = n < 0 || n >= (int)sizeof(path) ? NULL : fopen(path, "re");
	if (!f)
		return 0;
	if (fscanf(f, "%lf", &number) != 1 || !(number > 0 && number < 1e7))
		number = 0;
	fclose(f);
	return number;
}

/* "mlx5_0:1", "mlx5_0" and "rdmap0s6-rdm": its name and its port. */
static bool split(const char *name, char device[64], unsigned *port)
{
	char *suffix;

	*port = 1;
	if (sscanf(name, "%63[^:]:%u", device, port) < 1)
		return false;
	suffix = strrchr(device, '-');
	if (suffix && (!strcmp(suffix, "-rdm") || !strcmp(suffix, "-dgrm")))
		*suffix = '\0';
	return true;
}

/* As the drivers call them; of some the standard files are empty. */
static bool try_port(struct np_device *d, const char *sys, const char *device,
		     unsigned port)
{
	static const struct {
		const char *dir, *name[2];
		uint64_t unit;
	} known[] = {
		{ "counters", { "port_rcv_data", "port_xmit_data" }, 4 },
		{ "hw_counters", { "rx_bytes", "tx_bytes" }, 1 },
		{ "hw_counters",
		  { "rx_rdma_ucast_bytes", "tx_rdma_ucast_bytes" }, 1 },
	};

	for (size_t i = 0; i < NP_ARRAY_SIZE(known); i++)
		if (try(d, known[i].unit, known[i].name,
			"%s/class/infiniband/%s/ports/%u/%s", sys, device, port,
			known[i].dir))
			return true;
	return false;
}

int np_device_find(const char *sys, const char *transport,
		   struct np_device *out)
{
	static const char *const net[] = { "rx_bytes", "tx_bytes" };
	/*
	 * Receivers undercount on some systems.  On all nodes of a step together
	 * as much is received as is sent.
	 */
	static const char *const cxi[] = {
		"hni_sts_tx_ok_octets", "hni_sts_tx_ok_octets",
	};
	const char *name = strchr(transport, '/');
	char device[64];
	unsigned port;

	/* No word of it leads anywhere else. */
	if (!name || strchr(name + 1, '/') || name[1] == '.')
		return -ENOENT;
	if (try(out, 1, net, "%s/class/net/%s/statistics", sys, name + 1)) {
		out->link = 1e6 / 8 * /* it says Mbit/s */
			    number_in("%s/class/net/%s/speed", sys, name + 1);
		return 0;
	}
	if (try(out, 1, cxi, "%s/class/cxi/%s/device/telemetry", sys, name + 1))
		return 0;
	if (split(name + 1, device, &port) &&
	    try_port(out, sys, device, port)) {
		out->link = 1e9 / 8 * /* "100 Gb/sec (4X EDR)" */
			    number_in("%s/class/infiniband/%s/ports/%u/rate",
				      sys, device, port);
		return 0;
	}
	*out = (struct np_device){ .unit = 0 };
	return -ENOENT;
}

/* What a device of the class is called. */
static bool has_device(const char *sys, const char *pattern)
{
	char path[NP_DEVICE_PATH];
	glob_t found;
	bool has;

	snprintf(path, sizeof(path), "%s/class/%s", sys, pattern);
	has = !glob(path, GLOB_NOSORT, NULL, &found);
	globfree(&found);
	return has;
}

const char *const *np_device_providers(const char *sys)
{
	static const struct {
		const char *device, *provider[3];
	} known[] = {
		{ "cxi/cxi[0-9]*", { "cxi" } },
		{ "infiniband/hfi1_*", { "opx", "psm2" } },
		{ "infiniband/*/device/driver/module/drivers/pci:efa",
		  { "efa" } },
		{ NULL },
	};
	size_t i = 0;

	while (known[i].device && !has_device(sys, known[i].device))
		i++;
	return known[i].provider;
}

int np_device_bytes(const struct np_device *d, uint64_t *bytes)
{
	uint64_t count[2];

	if (!d->unit || !np_device_number(d->path[0], &count[0]) ||
	    !np_device_number(d->path[1], &count[1]))
		return -EIO;
	*bytes = (count[0] + count[1]) * d->unit;
	return 0;
}
