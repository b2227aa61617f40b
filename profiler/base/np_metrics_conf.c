#include "np_metrics_conf.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

static const char *const names[NP_N_SIGNALS] = {
	"traffic", "cpu_wait", "steal", "clock", "memory_wait", "swap",
	"io_wait", "nfs", "nic_errors", "link_speed", "retransmits",
	"congestion", "clock_skew",
};

const char *np_signal_name(enum np_signal s)
{
	return names[s];
}

#define RATE(metric) \
	"sum by ($label) (rate(" metric "{$nodes}[$window]))"
#define MOST(metric) \
	"max by ($label) (rate(" metric "{$nodes}[$window]))"
/* Devices that are no links of the node to a switch. */
#define NIC_RATE(metric) \
	"sum by ($label) (rate(" metric "{$nodes,device!~\"lo|bond.*|br.*|" \
	"docker.*|veth.*|virbr.*\"}[$window]))"

static const struct {
	const char *name;
	const char *of[NP_N_SIGNALS];
} tables[] = {
	{
		"node_exporter",
		{
			[NP_SIGNAL_TRAFFIC] =
				NIC_RATE("node_network_receive_bytes_total")
				" + "
				NIC_RATE("node_network_transmit_bytes_total"),
			[NP_SIGNAL_CPU_WAIT] =
				MOST("node_pressure_cpu_waiting_seconds_total"),
			[NP_SIGNAL_STEAL] =
				"avg by ($label) (rate(node_cpu_seconds_total"
				"{$nodes,mode=\"steal\"}[$window]))",
			[NP_SIGNAL_CLOCK] =
				"avg by ($label) (avg_over_time("
				"node_cpu_scaling_frequency_hertz{$nodes}"
				"[$window]))",
			[NP_SIGNAL_MEMORY_WAIT] =
				MOST("node_pressure_memory_waiting_seconds_"
				     "total"),
			[NP_SIGNAL_SWAP] =
				RATE("node_vmstat_pswpin") " + "
				RATE("node_vmstat_pswpout"),
			[NP_SIGNAL_IO_WAIT] =
				MOST("node_pressure_io_waiting_seconds_total"),
			[NP_SIGNAL_NFS] =
				RATE("node_nfs_rpc_retransmissions_total"),
			[NP_SIGNAL_NIC_ERRORS] =
				NIC_RATE("node_network_receive_errs_total")
				" + "
				NIC_RATE("node_network_transmit_errs_total")
				" + "
				NIC_RATE("node_network_receive_drop_total")
				" + "
				NIC_RATE("node_network_transmit_drop_total"),
			[NP_SIGNAL_LINK_SPEED] =
				"sum by ($label) (avg_over_time("
				"node_network_speed_bytes{$nodes,device!~\"lo|"
				"bond.*|br.*|docker.*|veth.*|virbr.*\"}"
				"[$window]))",
			[NP_SIGNAL_RETRANSMITS] =
				RATE("node_netstat_Tcp_RetransSegs"),
			[NP_SIGNAL_CLOCK_SKEW] =
				"max by ($label) (node_time_seconds{$nodes} - "
				"timestamp(node_time_seconds{$nodes}))",
		},
	},
	{
		"infiniband", /* node_exporter's collector of that name */
		{
			[NP_SIGNAL_TRAFFIC] =
				RATE("node_infiniband_port_data_received_bytes_"
				     "total") " + "
				RATE("node_infiniband_port_data_transmitted_"
				     "bytes_total"),
			[NP_SIGNAL_NIC_ERRORS] =
				RATE("node_infiniband_port_errors_received_"
				     "total") " + "
				RATE("node_infiniband_port_discards_"
				     "transmitted_total") " + "
				RATE("node_infiniband_link_error_recovery_"
				     "total"),
			[NP_SIGNAL_LINK_SPEED] =
				"sum by ($label) (avg_over_time("
				"node_infiniband_rate_bytes_per_second{$nodes}"
				"[$window]))",
			[NP_SIGNAL_CONGESTION] =
				RATE("node_infiniband_port_transmit_wait_"
				     "total"),
		},
	},
	{
		"slingshot", /* Omnistat's collector of cxi devices */
		{
			[NP_SIGNAL_TRAFFIC] =
				RATE("omnistat_network_cxi_rx_ok_octets") " + "
				RATE("omnistat_network_cxi_tx_ok_octets"),
			[NP_SIGNAL_NIC_ERRORS] =
				RATE("omnistat_network_cxi_rx_bad_octets") " + "
				RATE("omnistat_network_cxi_tx_bad_octets")
				" + "
				RATE("omnistat_network_cxi_pcs_uncorrected_cw"),
			[NP_SIGNAL_CONGESTION] =
				RATE("omnistat_network_cxi_pause_recv"),
		},
	},
	{
		"omnistat",
		{
			[NP_SIGNAL_TRAFFIC] =
				RATE("omnistat_network_rx_bytes") " + "
				RATE("omnistat_network_tx_bytes"),
		},
	},
};

void np_metrics_conf_init(struct np_metrics_conf *c)
{
	*c = (struct np_metrics_conf){
		.label = "instance", .n_tables = 1, .interval_sec = 15,
		.timeout_sec = 5,
	};
}

int np_metrics_set_url(char *value, void *url, struct np_err *err)
{
	size_t len = strlen(value);

	(void)err;
	if (!strcmp(value, "none")) {
		*(char *)url = '\0';
		return 0;
	}
	for (size_t i = 0; i < len; i++)
		if (!isgraph((unsigned char)value[i]))
			return -EINVAL;
	if ((strncmp(value, "http://", 7) && strncmp(value, "https://", 8)) ||
	    len >= sizeof(((struct np_metrics_conf *)0)->url))
		return -EINVAL;
	while (len && value[len - 1] == '/')
		value[--len] = '\0';
	strcpy(url, value);
	return 0;
}

/* [a-zA-Z_][a-zA-Z0-9_]* */
int np_metrics_set_label(char *value, void *label, struct np_err *err)
{
	size_t len = strlen(value);

	(void)err;
	if (!len || len >= NP_METRICS_LABEL || isdigit((unsigned char)*value))
		return -EINVAL;
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)value[i]) && value[i] != '_')
			return -EINVAL;
	strcpy(label, value);
	return 0;
}

int np_metrics_set_tables(char *value, void *conf, struct np_err *err)
{
	struct np_metrics_conf *c = conf;
	uint8_t list[NP_METRICS_TABLES];
	uint32_t n = 0;

	for (char *word; (word = strsep(&value, ",")); n++) {
		size_t i = 0;

		while (i < NP_ARRAY_SIZE(tables) &&
		       strcmp(tables[i].name, word))
			i++;
		if (i == NP_ARRAY_SIZE(tables) || n == NP_METRICS_TABLES)
			return np_errf(err, -EINVAL, "expected names of "
				       "tables, with commas: node_exporter, "
				       "infiniband, slingshot, omnistat");
		list[n] = (uint8_t)i;
	}
	memcpy(c->table, list, n);
	c->n_tables = n;
	return 0;
}

int np_metrics_add(char *value, void *conf, struct np_err *err)
{
	struct np_metrics_conf *c = conf;
	char *colon = strchr(value, ':');
	size_t len = colon ? (size_t)(colon - value) : 0, s = 0;

	while (s < NP_N_SIGNALS && (strlen(names[s]) != len ||
				    strncmp(names[s], value, len)))
		s++;
	if (s == NP_N_SIGNALS)
		return np_errf(err, -EINVAL, "expected SIGNAL:EXPRESSION, a "
			       "signal of netprof.conf(5) such as traffic");
	if (!strstr(colon, "$nodes") ||
	    strlen(colon + 1) >= NP_METRICS_EXPRESSION)
		return np_errf(err, -EINVAL, "expected an expression of at "
			       "most %d bytes that has $nodes in it",
			       NP_METRICS_EXPRESSION - 1);
	strcpy(c->own[s], colon + 1);
	return 0;
}

const char *np_metrics_expression(const struct np_metrics_conf *c,
				  enum np_signal s)
{
	if (c->own[s][0])
		return c->own[s];
	for (uint32_t i = 0; i < c->n_tables; i++)
		if (tables[c->table[i]].of[s])
			return tables[c->table[i]].of[s];
	return NULL;
}
