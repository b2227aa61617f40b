#include "t.h"
#include "np_ofi.h"

/* The value that is set for a provider; NULL: none. */
static const char *value_of(const char *provider, const char *name)
{
	const struct np_ofi_setting *s;

	for (size_t i = 0; (s = np_ofi_setting(provider, i)); i++)
		if (!strcmp(s->name, name))
			return s->value;
	return NULL;
}

static const struct {
	const char *row, *provider, *name, *value;
} settings[] = {
	{ "log of tcp", "tcp", "FI_LOG_PROV", "none" },
	{ "log of a provider that nobody knows", "new", "FI_LOG_PROV", "none" },
	{ "pools of tcp", "tcp", "FI_OFI_RXM_RX_SIZE", "32" },
	{ "pools of verbs", "verbs", "FI_OFI_RXM_MSG_RX_SIZE", "16" },
	{ "rendezvous over tcp", "tcp", "FI_OFI_RXM_EAGER_LIMIT", "16777216" },
	{ "rendezvous over tcp, in full", "tcp;ofi_rxm",
	  "FI_OFI_RXM_EAGER_LIMIT", "16777216" },
	{ "rendezvous over verbs", "verbs;ofi_rxm", "FI_OFI_RXM_EAGER_LIMIT",
	  NULL },
	{ "a name that only begins with tcp", "tcpx", "FI_OFI_RXM_EAGER_LIMIT",
	  NULL },
	{ "event queues of cxi", "cxi", "FI_CXI_DEFAULT_CQ_SIZE", "16384" },
	{ "huge pages of cxi", "cxi", "FI_CXI_DISABLE_CQ_HUGETLB", "1" },
	{ "unexpected messages of cxi", "cxi", "FI_CXI_OFLOW_BUF_SIZE",
	  "4194304" },
	{ "unexpected messages of cxi in software", "cxi",
	  "FI_CXI_REQ_BUF_SIZE", "4194304" },
	{ "cxi's over efa", "efa", "FI_CXI_OFLOW_BUF_SIZE", NULL },
	{ "receive packets of efa", "efa", "FI_EFA_RX_SIZE", "1024" },
	{ "send packets of efa", "efa", "FI_EFA_TX_SIZE", "512" },
	{ "huge pages of efa", "efa", "FI_EFA_USE_HUGE_PAGE", "0" },
	{ "shared memory of efa", "efa", "FI_EFA_ENABLE_SHM_TRANSFER", "0" },
	{ "efa's over cxi", "cxi", "FI_EFA_RX_SIZE", NULL },
	{ "thread of psm2", "psm2", "FI_PSM2_NAME_SERVER", "0" },
	{ "thread of psm2, tried after opx", "opx", "FI_PSM2_NAME_SERVER",
	  "0" },
	{ "thread of psm3", "psm3", "FI_PSM3_NAME_SERVER", "0" },
};

T_TEST("each provider of libfabric gets its settings, and no other's")
{
	T_EACH(r, settings) {
		const char *value = value_of(r->provider, r->name);

		T_ROW(r->row, !value == !r->value);
		if (value && r->value)
			T_ROW(r->row, !strcmp(value, r->value));
	}
}

static const struct {
	const char *list, *name;
	bool is;
} devices[] = {
	{ NULL, "eth0", true },		  { "", "eth0", true },
	{ "all", "eth0", true },	  { "eth0", "eth0", true },
	{ "eth1,eth0", "eth0", true },	  { "mlx5_0:1", "mlx5_0", true },
	{ "eth00", "eth0", false },	  { "eth", "eth0", false },
	{ "mlx5_1:1,", "mlx5_0", false }, { "^eth0", "eth0", false },
	{ "^eth1", "eth0", true },	  { "^eth1,mlx5_0:1", "mlx5_0", false },
	{ ",", "eth0", false },
};

T_TEST("devices are named as for UCX")
{
	T_EACH(r, devices)
		T_ROW(r->list ? r->list : "none",
		      np_ofi_is_device(r->list, r->name) == r->is);
}

static const struct {
	const char *provider;
	bool wakes;
} wakes[] = {
	{ "tcp;ofi_rxm", true },   { "udp;ofi_rxd", true }, { "net", true },
	{ "verbs;ofi_rxm", true }, { "cxi", true },	    { "opx", true },
	{ "psm2", false },	   { "psm3", false },	    { "efa", false },
};

T_TEST("no probe waits for a descriptor that never wakes it")
{
	T_EACH(r, wakes)
		T_ROW(r->provider, np_ofi_wakes(r->provider) == r->wakes);
}
