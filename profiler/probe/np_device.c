#include "np_device.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static bool read_count(const char *path, uint64_t *out)
{
	FILE *f = fopen(path, "re");
	bool got = f && fscanf(f, "%" SCNu64, out) == 1;

	if (f)
		fclose(f);
	return got;
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

int np_device_find(const char *sys, const char *transport,
		   struct np_device *out)
{
	static const char *const net[] = { "rx_bytes", "tx_bytes" };
	static const char *const ib[] = { "port_rcv_data", "port_xmit_data" };
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
	if (sscanf(name + 1, "%63[^:]:%u", device, &port) == 2 &&
	    try(out, 4, ib, "%s/class/infiniband/%s/ports/%u/counters", sys,
		device, port)) {
		out->link = 1e9 / 8 * /* "100 Gb/sec (4X EDR)" */
			    number_in("%s/class/infiniband/%s/ports/%u/rate",
				      sys, device, port);
		return 0;
	}
	*out = (struct np_device){ .unit = 0 };
	return -ENOENT;
}

int np_device_bytes(const struct np_device *d, uint64_t *bytes)
{
	uint64_t count[2];

	if (!d->unit || !read_count(d->path[0], &count[0]) ||
	    !read_count(d->path[1], &count[1]))
		return -EIO;
	*bytes = (count[0] + count[1]) * d->unit;
	return 0;
}
