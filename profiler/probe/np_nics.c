#include "np_nics.h"

#include <errno.h>
#include <fnmatch.h>
#include <glob.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "np_array.h"
#include "np_clock.h"
#include "np_device.h"
#include "np_err.h"

#define MAX_PATH 256
#define MAX_NAME 64
#define MAX_STATS 8192 /* of a driver */

/* A file of an adapter, or a statistic of its driver. */
struct row {
	const char *pattern; /* all that match are added */
	enum np_nic_kind kind;
	unsigned unit;	/* bytes or events that one count is; 0: 1 */
	bool otherwise; /* only where nothing above says it */
};

/*
 * In a directory ports/N of /sys/class/infiniband.  Of some drivers the
 * standard files are empty (ionic) or missing (bnxt_re, efa).
 */
static const struct row port_rows[] = {
	{ "counters/port_xmit_data", NP_NIC_SENT, 4 },
	{ "counters/port_rcv_data", NP_NIC_RECEIVED, 4 },
	{ "counters/port_xmit_wait", NP_NIC_WAIT },
	{ "counters/port_xmit_discards", NP_NIC_DISCARD },
	{ "hw_counters/tx_bytes", NP_NIC_SENT, 1, true },	/* bnxt, efa */
	{ "hw_counters/rx_bytes", NP_NIC_RECEIVED, 1, true },
	{ "hw_counters/tx_rdma_ucast_bytes", NP_NIC_SENT, 1, true }, /* ionic */
	{ "hw_counters/rx_rdma_ucast_bytes", NP_NIC_RECEIVED, 1, true },
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
	{ "hw_counters/rx_drops", NP_NIC_DISCARD }, /* efa */
	{ "hw_counters/local_ack_timeout_err", NP_NIC_RETRY }, /* mlx5 */
	{ "hw_counters/packet_seq_err", NP_NIC_RETRY },
	{ "hw_counters/rnr_nak_retry_err", NP_NIC_RETRY },
	{ "hw_counters/out_of_sequence", NP_NIC_RETRY },
	{ "hw_counters/to_retransmits", NP_NIC_RETRY }, /* bnxt */
	{ "hw_counters/seq_err_naks_rcvd", NP_NIC_RETRY },
	{ "hw_counters/rnr_naks_rcvd", NP_NIC_RETRY },
	{ "hw_counters/retrans_pkts", NP_NIC_RETRY }, /* efa */
	{ "hw_counters/tx_rdma_ack_timeout", NP_NIC_RETRY }, /* ionic */
	{ "hw_counters/req_rx_pkt_seq_err", NP_NIC_RETRY },
	{ "hw_counters/RxFECN", NP_NIC_ECN }, /* hfi1 */
	{ "hw_counters/RxBECN", NP_NIC_CNP },
};

/*
 * In /sys/class/cxi/cxiN/device/telemetry.  What was received is left out: one
 * site found it ten times too low, and what was sent exact.
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

/* In /sys/class/net/DEV/statistics. */
static const struct row net_rows[] = {
	{ "tx_bytes", NP_NIC_SENT },
	{ "rx_bytes", NP_NIC_RECEIVED },
	{ "tx_dropped", NP_NIC_DISCARD },
	{ "rx_missed_errors", NP_NIC_DISCARD },
};

/* What ethtool -S prints. */
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
	bool driver;	/* its driver's statistics are asked for */
	bool given_up;	/* it was slow */
};

struct np_nics {
	np_nics_ethtool *ethtool;
	struct nic nic[NP_NICS_MAX];
	size_t n;
};

/* ---- reading ---- */

static void add(struct np_nic_counts *c, const struct row *row, uint64_t n)
{
	c->has |= 1u << row->kind;
	c->n[row->kind] += n * (row->unit ? row->unit : 1);
}

static void add_statistic(const char *name, uint64_t n, void *counts)
{
	for (size_t i = 0; i < NP_ARRAY_SIZE(driver_rows); i++)
		if (!fnmatch(driver_rows[i].pattern, name, 0))
			add(counts, &driver_rows[i], n);
}

/* A count that misses a part would seem to fall: all of a kind, or none. */
static void read_nic(struct np_nics *n, const struct nic *nic,
		     struct np_nic_counts *out)
{
	uint32_t lost = 0;
	uint64_t count;

	for (size_t i = 0; i < nic->n_files; i++)
		if (np_device_number(nic->file[i].path, &count))
			add(out, nic->file[i].row, count);
		else
			lost |= 1u << nic->file[i].row->kind;
	if (nic->driver)
		n->ethtool(nic->name, add_statistic, out);
	out->has &= ~lost;
}

double np_nics_read(struct np_nics *n, struct np_nic_counts out[])
{
	double began_sec = np_mono_sec(), from_sec = began_sec;

	for (size_t i = 0; i < n->n; i++) {
		double now_sec;

		out[i] = (struct np_nic_counts){ 0 };
		if (n->nic[i].given_up)
			continue;
		read_nic(n, &n->nic[i], &out[i]);
		now_sec = np_mono_sec();
		n->nic[i].given_up = now_sec > from_sec + NP_NICS_SLOW_SEC;
		from_sec = now_sec;
	}
	return (from_sec - began_sec) / NP_NICS_SHARE;
}

/* ---- what ethtool says ---- */

static bool ask(int fd, const char *dev, void *command)
{
	struct ifreq ifr = { .ifr_data = command };

	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", dev);
	return !ioctl(fd, SIOCETHTOOL, &ifr);
}

static uint32_t count_statistics(int fd, const char *dev)
{
	/* With room for the one number that is asked for behind it. */
	union {
		struct ethtool_sset_info info;
		char room[sizeof(struct ethtool_sset_info) + sizeof(uint32_t)];
	} a = { .info = { .cmd = ETHTOOL_GSSET_INFO,
			  .sset_mask = 1ull << ETH_SS_STATS } };
	uint32_t n;

	if (!ask(fd, dev, &a) || !a.info.sset_mask)
		return 0;
	memcpy(&n, a.room + sizeof(a.info), sizeof(n));
	return n <= MAX_STATS ? n : 0;
}

bool np_nics_ioctl(const char *dev, void (*each)(const char *name, uint64_t n,
						 void *arg), void *arg)
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
		got = ask(fd, dev, names) && ask(fd, dev, values);
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

/* ---- which adapters and files there are ---- */

static bool says(const struct nic *nic, enum np_nic_kind kind)
{
	for (size_t i = 0; i < nic->n_files; i++)
		if (nic->file[i].row->kind == kind)
			return true;
	return false;
}

/* A file that holds no number now never will. */
static int add_file(struct nic *nic, const struct row *row, const char *path)
{
	uint64_t count;

	if (strlen(path) >= MAX_PATH || !np_device_number(path, &count))
		return 0;
	if (np_array_more(&nic->file, nic->n_files, sizeof(*nic->file)))
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
	    (row->otherwise && says(nic, row->kind)))
		return 0;
	if (!glob(pattern, 0, NULL, &found))
		for (size_t i = 0; !rc && i < found.gl_pathc; i++)
			rc = add_file(nic, row, found.gl_pathv[i]);
	globfree(&found);
	return rc;
}

/* dir is its directory of counters. */
static int add_nic(struct np_nics *n, const char *name, const char *dir,
		   const struct row *row, size_t n_rows)
{
	struct nic *nic = &n->nic[n->n];
	int rc = 0;

	if (n->n == NP_NICS_MAX || strlen(name) >= MAX_NAME)
		return 0;
	strcpy(nic->name, name);
	for (size_t i = 0; !rc && i < n_rows; i++)
		rc = add_files(nic, &row[i], dir);
	n->n += nic->n_files > 0; /* otherwise the place is used again */
	return rc;
}

/* The part of a path behind "/class/CLASS/": "mlx5_0/ports/1" as "mlx5_0:1". */
static void name_of(const char *path, const char *class, char name[MAX_PATH])
{
	const char *at = strstr(path, class) + strlen(class);
	const char *ports = strstr(at, "/ports/");

	snprintf(name, MAX_PATH, "%.*s%s%s", (int)strcspn(at, "/"), at,
		 ports ? ":" : "", ports ? ports + strlen("/ports/") : "");
}

/* Hardware has a device behind it, which bridges and tunnels lack. */
static bool is_wanted_net(const char *dir, const char *name, const char *also)
{
	char path[MAX_PATH + 16];

	snprintf(path, sizeof(path), "%.*s/device",
		 (int)(strlen(dir) - strlen("/statistics")), dir);
	return (also && !strcmp(name, also)) || !access(path, F_OK);
}

static int find_class(struct np_nics *n, const char *sys, const char *class,
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
		size_t before = n->n;

		name_of(found.gl_pathv[i], class, name);
		if (is_net && !is_wanted_net(found.gl_pathv[i], name, also))
			continue;
		rc = add_nic(n, name, found.gl_pathv[i], row, n_rows);
		if (n->n > before)
			n->nic[before].driver = is_net;
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
	struct np_nics *n = calloc(1, sizeof(*n));
	int rc = n ? 0 : -ENOMEM;

	if (n)
		n->ethtool = ethtool;
	for (size_t i = 0; !rc && i < NP_ARRAY_SIZE(classes); i++)
		rc = find_class(n, sys, classes[i].class, classes[i].pattern,
				also, classes[i].row, classes[i].n_rows);
	if (rc)
		np_nics_close(n);
	else
		*out = n;
	return rc;
}

void np_nics_close(struct np_nics *n)
{
	for (size_t i = 0; n && i < NP_NICS_MAX; i++)
		free(n->nic[i].file);
	free(n);
}

size_t np_nics_count(const struct np_nics *n)
{
	return n->n;
}

const char *np_nics_name(const struct np_nics *n, size_t i)
{
	return n->nic[i].name;
}
