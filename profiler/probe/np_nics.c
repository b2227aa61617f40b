#include "np_nics.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <glob.h>
#include <inttypes.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "np_array.h"
#include "np_calls.h"
#include "np_clock.h"
#include "np_err.h"
#include "np_thread.h"

/* ---- the device of a transport ---- */

/*
 * The beginning of a file. O_NONBLOCK, because a FIFO in place of the file must
 * not block the reader. false: there is nothing to read.
 */
static bool read_start(const char *path, char text[32])
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	ssize_t len;

	if (fd < 0)
		return false;
	len = read(fd, text, 31);
	close(fd);
	if (len <= 0)
		return false;
	text[len] = '\0';
	return true;
}

/*
 * The number at the beginning of a file. Drivers of cxi append "@" and a time.
 * false: there is no number.
 */
static bool read_number(const char *path, uint64_t *out)
{
	char text[32];

	if (!read_start(path, text) || text[0] < '0' || text[0] > '9')
		return false;
	errno = 0;
	*out = strtoull(text, NULL, 10);
	return !errno;
}

/*
 * Counters of InfiniBand stay at their largest value until they are reset. Of
 * old adapters those of data have 32 bits, and of many that of waiting.
 */
#define FULL_32 UINT32_MAX
#define FULL_16 UINT16_MAX

#define MAX_NAMES 4 /* of counters of one kind of device */

static bool read_file(const struct np_device_file *file, uint64_t *count)
{
	return read_number(file->path, count) &&
	       !(file->unit == 4 && *count == FULL_32);
}

/* Add these counters in a directory if all of them are readable. */
__attribute__((format(printf, 4, 5))) static bool
add_dir(struct np_device *device, unsigned unit,
	const char *const name[MAX_NAMES], const char *fmt, ...)
{
	size_t n_files = device->n_files;
	char dir[NP_DEVICE_PATH];
	uint64_t count;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(dir, sizeof(dir), fmt, ap);
	va_end(ap);
	if (n < 0 || n >= (int)sizeof(dir))
		return false;
	for (int i = 0; i < MAX_NAMES && name[i]; i++) {
		struct np_device_file *file = &device->file[n_files];

		if (n_files++ == NP_DEVICE_FILES)
			return false;
		file->unit = unit;
		if (snprintf(file->path, NP_DEVICE_PATH, "%s/%s", dir,
			     name[i]) >= NP_DEVICE_PATH ||
		    !read_file(file, &count))
			return false;
	}
	device->n_files = n_files;
	return true;
}

/*
 * The number at the beginning of a device's file; 0 if there is none or it is
 * implausible.
 */
__attribute__((format(printf, 1, 2))) static double
first_number(const char *fmt, ...)
{
	char path[NP_DEVICE_PATH], text[32];
	double number = 0;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(path, sizeof(path), fmt, ap);
	va_end(ap);
	if (n >= 0 && n < (int)sizeof(path) && read_start(path, text))
		number = strtod(text, NULL);
	return number > 0 && number < 1e7 ? number : 0;
}

#define MAX_PORTS 8 /* of an adapter */

/*
 * The port that a device is used by if its name has none: the first whose state
 * is "4: ACTIVE".
 */
static unsigned active_port(const char *sys, const char *device)
{
	for (unsigned port = 1; port <= MAX_PORTS; port++)
		if (first_number("%s/class/infiniband/%s/ports/%u/state", sys,
				 device, port) == 4)
			return port;
	return 1;
}

/*
 * Split "mlx5_0:1", "mlx5_0" or "rdmap0s6-rdm" into device and port; 0: the
 * name has no port.
 */
static bool split_name(const char *name, char device[64], unsigned *port)
{
	char *suffix;

	*port = 0;
	if (sscanf(name, "%63[^:]:%u", device, port) < 1)
		return false;
	suffix = strrchr(device, '-');
	if (suffix && (!strcmp(suffix, "-rdm") || !strcmp(suffix, "-dgrm")))
		*suffix = '\0';
	return true;
}

/*
 * Names of the counters by driver. Some drivers leave the standard files empty.
 */
static bool add_port(struct np_device *d, const char *sys, const char *device,
		     unsigned port)
{
	static const struct {
		const char *dir, *name[MAX_NAMES];
		unsigned unit;
	} known[] = {
		{ "counters", { "port_rcv_data", "port_xmit_data" }, 4 },
		{ "hw_counters", { "rx_bytes", "tx_bytes" }, 1 },
		{ "hw_counters",
		  { "rx_rdma_ucast_bytes", "tx_rdma_ucast_bytes" },
		  1 },
		{ "hw_counters",
		  { "ip4InOctets", "ip4OutOctets", "ip6InOctets",
		    "ip6OutOctets" },
		  1 },
	};

	for (size_t i = 0; i < NP_ARRAY_SIZE(known); i++)
		if (add_dir(d, known[i].unit, known[i].name,
			    "%s/class/infiniband/%s/ports/%u/%s", sys, device,
			    port, known[i].dir))
			return true;
	return false;
}

static bool add_net(struct np_device *device, const char *sys, const char *net)
{
	static const char *const name[MAX_NAMES] = { "rx_bytes", "tx_bytes" };

	return add_dir(device, 1, name, "%s/class/net/%s/statistics", sys, net);
}

/* As in linux/if_arp.h. */
#define TYPE_ETHERNET 1
#define TYPE_INFINIBAND 32

static unsigned type_of(const char *sys, const char *net)
{
	return (unsigned)first_number("%s/class/net/%s/type", sys, net);
}

/* The port of an adapter that a network device uses. */
static unsigned port_of(const char *sys, const char *net)
{
	return 1 + (unsigned)first_number("%s/class/net/%s/dev_port", sys, net);
}

/* Find the adapter that is the same hardware as a network device. */
static bool find_adapter(const char *sys, const char *net, char device[64])
{
	char pattern[NP_DEVICE_PATH];
	glob_t found;
	bool is_found;

	snprintf(pattern, sizeof(pattern),
		 "%s/class/net/%s/device/infiniband/*", sys, net);
	is_found = !glob(pattern, 0, NULL, &found);
	if (is_found)
		snprintf(device, 64, "%s", strrchr(found.gl_pathv[0], '/') + 1);
	globfree(&found);
	return is_found;
}

/*
 * Find the Ethernet device that is the same hardware as an adapter's port. More
 * than one are those of virtual machines, and then none is meant.
 */
static bool find_ethernet(const char *sys, const char *device, unsigned port,
			  char net[64])
{
	char pattern[NP_DEVICE_PATH];
	unsigned n = 0;
	glob_t found;

	snprintf(pattern, sizeof(pattern),
		 "%s/class/infiniband/%s/device/net/*", sys, device);
	if (glob(pattern, 0, NULL, &found))
		found.gl_pathc = 0;
	for (size_t i = 0; i < found.gl_pathc; i++) {
		const char *name = strrchr(found.gl_pathv[i], '/') + 1;

		if (type_of(sys, name) != TYPE_ETHERNET ||
		    port_of(sys, name) != port)
			continue;
		n++;
		snprintf(net, 64, "%s", name);
	}
	globfree(&found);
	return n == 1;
}

/*
 * A network device. With Ethernet, what programs send by RDMA is counted only
 * by the adapter; with IP over InfiniBand the adapter counts everything.
 */
static bool use_net(struct np_device *out, const char *sys, const char *net)
{
	char device[64];
	bool has_adapter = find_adapter(sys, net, device);

	out->link = 1e6 / 8 * /* the file has Mbit/s */
		    first_number("%s/class/net/%s/speed", sys, net);
	if (has_adapter && type_of(sys, net) == TYPE_INFINIBAND &&
	    add_port(out, sys, device, port_of(sys, net)))
		return true;
	if (!add_net(out, sys, net))
		return false;
	if (has_adapter && type_of(sys, net) == TYPE_ETHERNET)
		add_port(out, sys, device, port_of(sys, net));
	return true;
}

/* A port of an adapter, and its Ethernet device, if it has one. */
static bool use_port(struct np_device *out, const char *sys, const char *name)
{
	char device[64], net[64];
	unsigned port;

	if (!split_name(name, device, &port))
		return false;
	port = port ? port : active_port(sys, device);
	if (!add_port(out, sys, device, port))
		return false;
	if (find_ethernet(sys, device, port, net))
		add_net(out, sys, net);
	out->link = 1e9 / 8 * /* the file has "100 Gb/sec (4X EDR)" */
		    first_number("%s/class/infiniband/%s/ports/%u/rate", sys,
				 device, port);
	return true;
}

int np_device_find(const char *sys, const char *transport,
		   struct np_device *out)
{
	/*
	 * Sent bytes stand for received ones, because receivers undercount on
	 * some systems. Over all nodes of a step as much is received as is
	 * sent.
	 */
	static const char *const cxi[MAX_NAMES] = {
		"hni_sts_tx_ok_octets",
		"hni_sts_tx_ok_octets",
	};
	const char *name = strchr(transport, '/');

	*out = (struct np_device){ .n_files = 0 };
	/* The name must not lead out of the directory. */
	if (!name || strchr(name + 1, '/') || name[1] == '.')
		return -ENOENT;
	if (use_net(out, sys, name + 1))
		return 0;
	out->link = 0;
	if (add_dir(out, 1, cxi, "%s/class/cxi/%s/device/telemetry", sys,
		    name + 1) ||
	    use_port(out, sys, name + 1))
		return 0;
	return -ENOENT;
}

/* True if a device matches the pattern below /sys/class. */
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

int np_device_bytes(const struct np_device *device, uint64_t *bytes)
{
	uint64_t sum = 0, count;

	for (size_t i = 0; i < device->n_files; i++) {
		if (!read_file(&device->file[i], &count))
			return -EIO;
		sum += count * device->file[i].unit;
	}
	if (!device->n_files)
		return -EIO;
	*bytes = sum;
	return 0;
}

/* ---- which files of an adapter count what ---- */

#define MAX_PATH 256
#define MAX_NAME 64
#define MAX_STATS 8192 /* statistics of one driver */

/* A file of an adapter, or a statistic of its driver, and what it counts. */
struct row {
	const char *pattern; /* counts of all matches are added up */
	enum np_nic_kind kind;
	unsigned unit; /* bytes or events per count; 0 means 1 */
	bool fallback; /* used only if no earlier row counts this kind */
	uint32_t full; /* at this value it no longer counts; 0: it always does */
};

/*
 * Files below /sys/class/infiniband/DEV/ports/N. Some drivers leave the
 * standard files empty (ionic) or lack them (bnxt_re, efa, irdma). hfi1 has some
 * counters of its port above the directory of ports.
 */
static const struct row port_rows[] = {
	{ "counters/port_xmit_data", NP_NIC_SENT, 4, .full = FULL_32 },
	{ "counters/port_rcv_data", NP_NIC_RECEIVED, 4, .full = FULL_32 },
	{ "counters/port_xmit_wait", NP_NIC_WAIT, .full = FULL_32 },
	{ "counters/port_xmit_discards", NP_NIC_DISCARD, .full = FULL_16 },
	{ "hw_counters/tx_bytes", NP_NIC_SENT, 1, true }, /* bnxt, efa */
	{ "hw_counters/rx_bytes", NP_NIC_RECEIVED, 1, true },
	{ "hw_counters/tx_rdma_ucast_bytes", NP_NIC_SENT, 1, true }, /* ionic */
	{ "hw_counters/rx_rdma_ucast_bytes", NP_NIC_RECEIVED, 1, true },
	{ "hw_counters/ip[46]OutOctets", NP_NIC_SENT, 1, true }, /* irdma */
	{ "hw_counters/ip[46]InOctets", NP_NIC_RECEIVED, 1, true },
	{ "hw_counters/np_ecn_marked_roce_packets", NP_NIC_ECN }, /* mlx5 */
	{ "hw_counters/rx_ecn_marked_pkts", NP_NIC_ECN },	  /* bnxt */
	{ "hw_counters/rx_rdma_ecn_pkts", NP_NIC_ECN },		  /* ionic */
	{ "hw_counters/RxECNMrkd", NP_NIC_ECN },		  /* irdma */
	{ "hw_counters/np_cnp_sent", NP_NIC_CNP },
	{ "hw_counters/rp_cnp_handled", NP_NIC_CNP },
	{ "hw_counters/tx_cnp_pkts", NP_NIC_CNP },
	{ "hw_counters/rx_cnp_pkts", NP_NIC_CNP },
	{ "hw_counters/tx_rdma_cnp_pkts", NP_NIC_CNP },
	{ "hw_counters/rx_rdma_cnp_pkts", NP_NIC_CNP },
	{ "hw_counters/cnpSent", NP_NIC_CNP },
	{ "hw_counters/cnpHandled", NP_NIC_CNP },
	{ "hw_counters/tx_roce_discards", NP_NIC_DISCARD },
	{ "hw_counters/rx_roce_discards", NP_NIC_DISCARD },
	{ "hw_counters/rx_drops", NP_NIC_DISCARD },	       /* efa */
	{ "hw_counters/local_ack_timeout_err", NP_NIC_RETRY }, /* mlx5 */
	{ "hw_counters/packet_seq_err", NP_NIC_RETRY },
	{ "hw_counters/rnr_nak_retry_err", NP_NIC_RETRY },
	{ "hw_counters/out_of_sequence", NP_NIC_RETRY },
	{ "hw_counters/to_retransmits", NP_NIC_RETRY }, /* bnxt */
	{ "hw_counters/seq_err_naks_rcvd", NP_NIC_RETRY },
	{ "hw_counters/rnr_naks_rcvd", NP_NIC_RETRY },
	{ "hw_counters/retrans_pkts", NP_NIC_RETRY },	     /* efa */
	{ "hw_counters/tx_rdma_ack_timeout", NP_NIC_RETRY }, /* ionic */
	{ "hw_counters/req_rx_pkt_seq_err", NP_NIC_RETRY },
	{ "hw_counters/RcResend", NP_NIC_RETRY }, /* hfi1 */
	{ "../../hw_counters/DcRcvFcn", NP_NIC_ECN },
	{ "../../hw_counters/DcRcvBcn", NP_NIC_CNP },
};

/*
 * Files in /sys/class/cxi/cxiN/device/telemetry. Received bytes are left out:
 * one site found that counter ten times too low, and the sent one exact.
 */
static const struct row cxi_rows[] = {
	{ "hni_sts_tx_ok_octets", NP_NIC_SENT },
	{ "hni_tx_paused_[0-7]", NP_NIC_PAUSE },
	{ "ixe_pool_ecn_pkts_[0-3]", NP_NIC_ECN },
	{ "hni_discard_cntr_[0-7]", NP_NIC_DISCARD },
	{ "pct_retry_srb_requests", NP_NIC_RETRY },
	{ "pct_retry_trs_put", NP_NIC_RETRY },
	{ "pct_spt_timeouts", NP_NIC_RETRY },
};

/* Files in /sys/class/net/DEV/statistics. */
static const struct row net_rows[] = {
	{ "tx_bytes", NP_NIC_SENT },
	{ "rx_bytes", NP_NIC_RECEIVED },
	{ "tx_dropped", NP_NIC_DISCARD },
	{ "rx_missed_errors", NP_NIC_DISCARD },
};

/* Statistics as printed by ethtool -S. */
static const struct row driver_rows[] = {
	{ "rx_prio[0-7]_pause", NP_NIC_PAUSE }, /* mlx5 */
	{ "rx_global_pause", NP_NIC_PAUSE },
	{ "rx_pause_frames", NP_NIC_PAUSE }, /* bnxt, ionic */
	{ "rx_pfc_ena_frames_pri[0-7]", NP_NIC_PAUSE },
	{ "link_xoff_rx*", NP_NIC_PAUSE }, /* ice */
	{ "rx_priority_[0-7]_xoff*", NP_NIC_PAUSE },
	{ "rx_ecn_mark", NP_NIC_ECN },
	{ "tx_discards_phy", NP_NIC_DISCARD },
	{ "rx_discards_phy", NP_NIC_DISCARD },
	{ "rx_out_of_buffer", NP_NIC_DISCARD },
	{ "rx_total_discard_pkts", NP_NIC_DISCARD },
};

struct file {
	char path[MAX_PATH];
	const struct row *row;
};

struct nic {
	char name[MAX_NAME];
	struct file *file;
	size_t n_files;
	bool driver;	     /* also read its driver's statistics */
	uint32_t driver_has; /* bitmap of the kinds that the driver counts */
	bool slow;	     /* the last reading took too long */
	bool given_up;	     /* two in a row did */
};

struct np_nics {
	np_nics_ethtool *ethtool;
	struct nic nic[NP_NICS_MAX];
	size_t n;
};

/* ---- reading all adapters ---- */

static void add_count(struct np_nic_counts *counts, const struct row *row,
		      uint64_t n)
{
	counts->has |= 1u << row->kind;
	counts->n[row->kind] += n * (row->unit ? row->unit : 1);
}

static void add_statistic(const char *name, uint64_t n, void *counts)
{
	for (size_t i = 0; i < NP_ARRAY_SIZE(driver_rows); i++)
		if (!fnmatch(driver_rows[i].pattern, name, 0))
			add_count(counts, &driver_rows[i], n);
}

/* False if the file has no number, or one that no longer counts. */
static bool read_count(const char *path, const struct row *row, uint64_t *count)
{
	return read_number(path, count) && !(row->full && *count == row->full);
}

/*
 * A kind is reported only if all its files are readable, and the driver, if it
 * counts that kind, answers: the sum over less would look like a counter that
 * fell.
 */
static void read_nic(struct np_nics *nics, struct nic *nic,
		     struct np_nic_counts *out)
{
	struct np_nic_counts driver = { 0 };
	uint32_t lost = 0;
	uint64_t count;

	for (size_t i = 0; i < nic->n_files; i++)
		if (read_count(nic->file[i].path, nic->file[i].row, &count))
			add_count(out, nic->file[i].row, count);
		else
			lost |= 1u << nic->file[i].row->kind;
	if (nic->driver && nics->ethtool(nic->name, add_statistic, &driver))
		nic->driver_has = driver.has;
	else
		lost |= nic->driver_has; /* while it is being reset */
	out->has = (out->has | driver.has) & ~lost;
	for (unsigned kind = 0; kind < NP_NIC_KINDS; kind++)
		out->n[kind] += driver.n[kind];
}

double np_nics_read(struct np_nics *nics, struct np_nic_counts out[])
{
	double began_sec = np_mono_sec(), from_sec = began_sec;

	for (size_t i = 0; i < nics->n; i++) {
		struct nic *nic = &nics->nic[i];
		double now_sec;
		bool slow;

		out[i] = (struct np_nic_counts){ 0 };
		if (nic->given_up)
			continue;
		read_nic(nics, nic, &out[i]);
		now_sec = np_mono_sec();
		slow = now_sec > from_sec + NP_NICS_SLOW_SEC;
		/* A single slow reading may be due to busy processors. */
		nic->given_up = slow && nic->slow;
		nic->slow = slow;
		from_sec = now_sec;
	}
	return (from_sec - began_sec) / NP_NICS_SHARE;
}

/* ---- statistics of drivers, from ethtool ---- */

static bool ethtool_ioctl(int fd, const char *dev, void *command)
{
	struct ifreq ifr = { .ifr_data = command };

	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", dev);
	return !ioctl(fd, SIOCETHTOOL, &ifr);
}

static uint32_t count_statistics(int fd, const char *dev)
{
	/* The kernel writes one number behind the structure. */
	union {
		struct ethtool_sset_info info;
		char room[sizeof(struct ethtool_sset_info) + sizeof(uint32_t)];
	} a = { .info = { .cmd = ETHTOOL_GSSET_INFO,
			  .sset_mask = 1ull << ETH_SS_STATS } };
	uint32_t n;

	if (!ethtool_ioctl(fd, dev, &a) || !a.info.sset_mask)
		return 0;
	memcpy(&n, a.room + sizeof(a.info), sizeof(n));
	return n <= MAX_STATS ? n : 0;
}

bool np_nics_ioctl(const char *dev,
		   void (*each)(const char *name, uint64_t n, void *arg),
		   void *arg)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	uint32_t n = fd < 0 ? 0 : count_statistics(fd, dev);
	struct ethtool_gstrings *names = NULL;
	struct ethtool_stats *values = NULL;
	bool got = false;

	if (n) {
		names = calloc(1, sizeof(*names) + n * ETH_GSTRING_LEN + 1);
		values = calloc(1, sizeof(*values) + n * sizeof(uint64_t));
	}
	if (names && values) {
		names->cmd = ETHTOOL_GSTRINGS;
		names->string_set = ETH_SS_STATS;
		names->len = values->n_stats = n;
		values->cmd = ETHTOOL_GSTATS;
		got = ethtool_ioctl(fd, dev, names) &&
		      ethtool_ioctl(fd, dev, values);
	}
	for (uint32_t i = 0; got && i < n && i < values->n_stats; i++) {
		char name[ETH_GSTRING_LEN + 1] = "";

		memcpy(name, names->data + i * ETH_GSTRING_LEN,
		       ETH_GSTRING_LEN);
		each(name, values->data[i], arg);
	}
	free(names);
	free(values);
	if (fd >= 0)
		close(fd);
	return got;
}

/* ---- finding adapters and their files ---- */

static bool has_kind(const struct nic *nic, enum np_nic_kind kind)
{
	for (size_t i = 0; i < nic->n_files; i++)
		if (nic->file[i].row->kind == kind)
			return true;
	return false;
}

/* A file without a number now will not have one later. */
static int add_file(struct nic *nic, const struct row *row, const char *path)
{
	uint64_t count;

	if (strlen(path) >= MAX_PATH || !read_count(path, row, &count))
		return 0;
	if (np_array_grow(&nic->file, nic->n_files, sizeof(*nic->file)))
		return -ENOMEM;
	strcpy(nic->file[nic->n_files].path, path);
	nic->file[nic->n_files++].row = row;
	return 0;
}

static int add_files(struct nic *nic, const struct row *row, const char *dir)
{
	char pattern[MAX_PATH];
	glob_t found;
	int rc = 0;

	if (snprintf(pattern, sizeof(pattern), "%s/%s", dir, row->pattern) >=
		    MAX_PATH ||
	    (row->fallback && has_kind(nic, row->kind)))
		return 0;
	/* The name of a device may contain brackets. */
	if (!strchr(row->pattern, '['))
		return add_file(nic, row, pattern);
	if (!glob(pattern, 0, NULL, &found))
		for (size_t i = 0; !rc && i < found.gl_pathc; i++)
			rc = add_file(nic, row, found.gl_pathv[i]);
	globfree(&found);
	return rc;
}

/* dir: directory of its counters. */
static int add_nic(struct np_nics *nics, const char *name, const char *dir,
		   const struct row *row, size_t n_rows)
{
	struct nic *nic = &nics->nic[nics->n];
	int rc = 0;

	if (nics->n == NP_NICS_MAX || strlen(name) >= MAX_NAME)
		return 0;
	strcpy(nic->name, name);
	for (size_t i = 0; !rc && i < n_rows; i++)
		rc = add_files(nic, &row[i], dir);
	nics->n += nic->n_files > 0; /* without files, reuse the slot */
	return rc;
}

/* Adapter name from a path: "mlx5_0/ports/1" becomes "mlx5_0:1". */
static void name_of(const char *path, const char *class, char name[MAX_PATH])
{
	const char *at = strstr(path, class) + strlen(class);
	const char *ports = strstr(at, "/ports/");

	snprintf(name, MAX_PATH, "%.*s%s%s", (int)strcspn(at, "/"), at,
		 ports ? ":" : "", ports ? ports + strlen("/ports/") : "");
}

/* Is it the device of the transport, "mlx5_0", "mlx5_0:1" or "rdmap0s6-rdm"? */
static bool is_transport(const char *name, const char *also)
{
	size_t len = strcspn(name, ":");

	return also && !strncmp(name, also, len) &&
	       !isalnum((unsigned char)also[len]) && also[len] != '_' &&
	       also[len] != '.';
}

/*
 * Is there this file or link, the first argument of the format being a
 * directory of counters?
 */
__attribute__((format(printf, 1, 2))) static bool exists(const char *fmt, ...)
{
	char path[MAX_PATH + 32];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(path, sizeof(path), fmt, ap);
	va_end(ap);
	return !access(path, F_OK);
}

/*
 * Only hardware has a "device" link; bridges and tunnels lack it. Virtual
 * functions count what their adapter counts, too.
 */
static bool is_wanted_net(const char *dir)
{
	char path[MAX_PATH + 32], state[32];

	snprintf(path, sizeof(path), "%s/../operstate", dir);
	return exists("%s/../device", dir) &&
	       !exists("%s/../device/physfn", dir) &&
	       !(read_start(path, state) && !strcmp(state, "down\n"));
}

/* State 1 of a port: it is down. */
static bool is_wanted_port(const char *dir)
{
	return !exists("%s/../../device/physfn", dir) &&
	       first_number("%s/state", dir) != 1;
}

/* Adapters that nobody uses would take the place of others. */
static bool is_wanted(const char *class, const char *dir, const char *name,
		      const char *also)
{
	if (is_transport(name, also))
		return true;
	return strstr(class, "/net/")	     ? is_wanted_net(dir) :
	       strstr(class, "/infiniband/") ? is_wanted_port(dir) :
					       true;
}

static int find_class(struct np_nics *nics, const char *sys, const char *class,
		      const char *pattern, const char *also,
		      const struct row *row, size_t n_rows)
{
	bool is_net = row == net_rows;
	char path[MAX_PATH], name[MAX_PATH];
	glob_t found;
	int rc = 0;

	snprintf(path, sizeof(path), "%s%s%s", sys, class, pattern);
	if (glob(path, 0, NULL, &found))
		found.gl_pathc = 0;
	for (size_t i = 0; !rc && i < found.gl_pathc; i++) {
		size_t before = nics->n;

		name_of(found.gl_pathv[i], class, name);
		if (!is_wanted(class, found.gl_pathv[i], name, also))
			continue;
		rc = add_nic(nics, name, found.gl_pathv[i], row, n_rows);
		if (nics->n > before)
			nics->nic[before].driver = is_net;
	}
	globfree(&found);
	return rc;
}

int np_nics_open(const char *sys, const char *also, np_nics_ethtool *ethtool,
		 struct np_nics **out)
{
	static const struct {
		const char *class, *pattern;
		const struct row *row;
		size_t n_rows;
	} classes[] = {
#define ROWS(rows) rows, NP_ARRAY_SIZE(rows)
		{ "/class/infiniband/", "*/ports/*", ROWS(port_rows) },
		{ "/class/cxi/", "cxi*/device/telemetry", ROWS(cxi_rows) },
		{ "/class/net/", "*/statistics", ROWS(net_rows) },
#undef ROWS
	};
	struct np_nics *nics = calloc(1, sizeof(*nics));
	int rc = nics ? 0 : -ENOMEM;

	if (nics)
		nics->ethtool = ethtool;
	for (size_t i = 0; !rc && i < NP_ARRAY_SIZE(classes); i++)
		rc = find_class(nics, sys, classes[i].class, classes[i].pattern,
				also, classes[i].row, classes[i].n_rows);
	if (rc)
		np_nics_close(nics);
	else
		*out = nics;
	return rc;
}

void np_nics_close(struct np_nics *nics)
{
	for (size_t i = 0; nics && i < NP_NICS_MAX; i++)
		free(nics->nic[i].file);
	free(nics);
}

size_t np_nics_count(const struct np_nics *nics)
{
	return nics->n;
}

const char *np_nics_name(const struct np_nics *nics, size_t i)
{
	return nics->nic[i].name;
}

/* ---- the thread that reads ---- */

#define STACK_BYTES ((size_t)256 << 10)
/* Wait this long for the thread: it usually needs less. */
#define OPEN_SEC 0.1
#define READ_SEC 0.001

/*
 * A read of a driver's file may hang. The thread then hangs with it, no more is
 * counted, and the probe goes on.
 */
struct np_counter_reader {
	pthread_mutex_t lock;
	pthread_cond_t changed; /* state or quit */
	enum { OPENING, IDLE, REQUESTED, DONE } state;
	bool quit; /* the thread ends, and frees this */
	const char *sys;
	char transport[NP_REPORT_WORD];
	np_nics_ethtool *ethtool;
	/* Found by the thread; read by others once it has left OPENING. */
	struct np_device device;
	struct np_nics *nics; /* NULL: none */
	double next_nics_sec; /* time of their next reading, monotonic */
	/* The request. */
	double now_sec;	 /* on the caller's clock */
	double mono_sec; /* the same, monotonic */
	/* What was read, and when, on the caller's clock. */
	double read_sec;
	bool has_bytes, has_nics;
	uint64_t bytes;
	struct np_nic_counts nic[NP_NICS_MAX];
};

/* Called with the lock, which is released during the reading. */
static void read_all(struct np_counter_reader *reader)
{
	double mono_sec;

	pthread_mutex_unlock(&reader->lock);
	mono_sec = np_mono_sec();
	reader->read_sec = reader->now_sec + mono_sec - reader->mono_sec;
	reader->has_bytes = !np_device_bytes(&reader->device, &reader->bytes);
	reader->has_nics = reader->nics && mono_sec >= reader->next_nics_sec;
	if (reader->has_nics)
		reader->next_nics_sec =
			mono_sec + np_nics_read(reader->nics, reader->nic);
	pthread_mutex_lock(&reader->lock);
}

static void open_counters(struct np_counter_reader *reader)
{
	const char *slash = strchr(reader->transport, '/');

	np_device_find(reader->sys, reader->transport, &reader->device);
	np_nics_open(reader->sys, slash ? slash + 1 : NULL, reader->ethtool,
		     &reader->nics);
}

static void *reader_main(void *arg)
{
	struct np_counter_reader *reader = arg;

	open_counters(reader);
	pthread_mutex_lock(&reader->lock);
	reader->state = IDLE;
	pthread_cond_broadcast(&reader->changed);
	while (!reader->quit) {
		if (reader->state == REQUESTED) {
			read_all(reader);
			reader->state = DONE;
			pthread_cond_broadcast(&reader->changed);
		} else {
			pthread_cond_wait(&reader->changed, &reader->lock);
		}
	}
	pthread_mutex_unlock(&reader->lock);
	np_nics_close(reader->nics);
	pthread_cond_destroy(&reader->changed);
	pthread_mutex_destroy(&reader->lock);
	free(reader);
	return NULL;
}

/* Wait a moment, with the lock, until the thread leaves a state. */
static void wait_briefly(struct np_counter_reader *reader, int state,
			 double sec)
{
	struct timespec end = np_mono_after(sec);

	while ((int)reader->state == state &&
	       !pthread_cond_clockwait(&reader->changed, &reader->lock,
				       CLOCK_MONOTONIC, &end))
		;
}

/* ---- progress reports ---- */

/* An emitter and its argument. */
struct sink {
	np_progress_emit_f *emit;
	void *arg;
};

static void report_transferred(struct np_counter *last,
			       enum np_report_kind kind, uint32_t rank,
			       double now_sec, uint64_t n,
			       const struct sink *to)
{
	const struct np_report report = {
		.kind = kind,
		.rank = rank,
		.transferred = { now_sec - last->sec, n - last->n },
	};

	if (last->sec > 0 && n >= last->n)
		to->emit(&report, to->arg);
	*last = (struct np_counter){ now_sec, n };
}

static void report_nic(const struct np_progress *progress, size_t i,
		       double elapsed_sec, const struct np_nic_counts *now,
		       const struct sink *to)
{
	const struct np_nic_counts *last = &progress->nic[i];
	struct np_report report = {
		.kind = NP_REPORT_NIC,
		.rank = progress->rank,
		.nic = { .elapsed_sec = elapsed_sec },
	};

	for (unsigned k = 0; k < NP_NIC_KINDS; k++)
		if (last->has & now->has & 1u << k && now->n[k] >= last->n[k]) {
			report.nic.counts.has |= 1u << k;
			report.nic.counts.n[k] = now->n[k] - last->n[k];
		}
	np_report_word(report.nic.device,
		       np_nics_name(progress->reader->nics, i));
	if (report.nic.counts.has)
		to->emit(&report, to->arg);
}

/* Report what the thread has read, and let it read again when asked. */
static void report_reading(struct np_progress *progress, const struct sink *to)
{
	struct np_counter_reader *reader = progress->reader;

	if (reader->has_bytes)
		report_transferred(&progress->transferred,
				   NP_REPORT_TRANSFERRED, progress->rank,
				   reader->read_sec, reader->bytes, to);
	for (size_t i = 0; reader->has_nics && i < np_nics_count(reader->nics);
	     i++) {
		if (progress->nics_sec > 0)
			report_nic(progress, i,
				   reader->read_sec - progress->nics_sec,
				   &reader->nic[i], to);
		progress->nic[i] = reader->nic[i];
	}
	if (reader->has_nics)
		progress->nics_sec = reader->read_sec;
	reader->state = IDLE;
}

void np_progress_collect(struct np_progress *progress, np_progress_emit_f *emit,
			 void *arg)
{
	const struct sink to = { emit, arg };

	if (!progress->reader)
		return;
	pthread_mutex_lock(&progress->reader->lock);
	if (progress->reader->state == DONE)
		report_reading(progress, &to);
	pthread_mutex_unlock(&progress->reader->lock);
}

/* Ask for a reading, unless the last one still hangs. */
static void request_reading(struct np_counter_reader *reader, double now_sec)
{
	pthread_mutex_lock(&reader->lock);
	if (reader->state == IDLE) {
		reader->now_sec = now_sec;
		reader->mono_sec = np_mono_sec();
		reader->state = REQUESTED;
		pthread_cond_broadcast(&reader->changed);
		wait_briefly(reader, REQUESTED, READ_SEC);
	}
	pthread_mutex_unlock(&reader->lock);
}

void np_progress_report(struct np_progress *progress, double now_sec,
			np_progress_emit_f *emit, void *arg)
{
	const struct sink to = { emit, arg };
	uint64_t n;

	np_progress_collect(progress, emit, arg);
	if (progress->reader)
		request_reading(progress->reader, now_sec);
	np_progress_collect(progress, emit, arg);
	/* A count of 0 means that calls are no longer counted. */
	if (progress->task && np_calls_find(progress->task, &n) && n)
		report_transferred(&progress->calls, NP_REPORT_CALLS,
				   progress->rank, now_sec, n, &to);
}

double np_progress_open(struct np_progress *progress, const char *sys,
			const char *transport, np_nics_ethtool *ethtool)
{
	struct np_counter_reader *reader = calloc(1, sizeof(*reader));
	double link = 0;

	if (!reader)
		return 0;
	reader->sys = sys;
	reader->ethtool = ethtool;
	snprintf(reader->transport, sizeof(reader->transport), "%s", transport);
	pthread_mutex_init(&reader->lock, NULL);
	pthread_cond_init(&reader->changed, NULL);
	if (np_thread_start(reader_main, reader, STACK_BYTES,
			    &progress->thread)) {
		free(reader);
		return 0;
	}
	progress->reader = reader;
	pthread_mutex_lock(&reader->lock);
	wait_briefly(reader, OPENING, OPEN_SEC);
	if (reader->state != OPENING)
		link = reader->device.link;
	pthread_mutex_unlock(&reader->lock);
	return link;
}

void np_progress_close(struct np_progress *progress)
{
	struct np_counter_reader *reader = progress->reader;
	bool hangs;

	if (!reader)
		return;
	progress->reader = NULL;
	pthread_mutex_lock(&reader->lock);
	hangs = reader->state == OPENING || reader->state == REQUESTED;
	reader->quit = true;
	pthread_cond_broadcast(&reader->changed);
	pthread_mutex_unlock(&reader->lock);
	if (hangs)
		pthread_detach(progress->thread);
	else
		pthread_join(progress->thread, NULL);
}
