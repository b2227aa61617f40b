/*
 * Settings of libfabric's providers. doc/fabrics.md has the reason for each and
 * the document that it comes from.
 */
#include "np_ofi.h"

#include <string.h>

#include "np_err.h"

/*
 * Values for a small process that exchanges few messages at a time. They reduce
 * the memory of tcp;ofi_rxm from 162 MB, which was measured with its defaults,
 * to 16 MB. The values for other providers follow from their manual pages and
 * sources.
 */
static const struct {
	struct np_ofi_setting set;
	const char *provider; /* only for this provider; NULL: for all */
} settings[] = {
	/*
	 * The lowest log level is "warn", so to log nothing, log only a
	 * provider that does not exist.
	 */
	{ { "FI_LOG_PROV", "none" }, NULL },
	{ { "FI_OFI_RXM_TX_SIZE", "32" }, NULL },
	{ { "FI_OFI_RXM_RX_SIZE", "32" }, NULL },
	{ { "FI_OFI_RXM_MSG_TX_SIZE", "16" }, NULL },
	{ { "FI_OFI_RXM_MSG_RX_SIZE", "16" }, NULL },
	{ { "FI_OFI_RXM_BUFFER_SIZE", "2048" }, NULL },
	/*
	 * No rendezvous over TCP, as with UCX (np_ucx.c has the reason), so
	 * that rounds of the load levels take as long as with UCX. With a
	 * rendezvous they take up to twice as long. Over verbs this limit must
	 * be the size of the buffers.
	 */
	{ { "FI_OFI_RXM_EAGER_LIMIT", "16777216" }, "tcp" },
	/*
	 * Event queues of 1 MiB instead of 8 MiB, for four times as many events
	 * as the largest load level has messages in flight. They are not in
	 * huge pages, which belong to the job.
	 */
	{ { "FI_CXI_DEFAULT_CQ_SIZE", "16384" }, "cxi" },
	{ { "FI_CXI_DISABLE_CQ_HUGETLB", "1" }, "cxi" },
	/*
	 * Pinned buffers for unexpected messages: three of the first kind, and
	 * six of the second if the receiver matches messages in software.
	 */
	{ { "FI_CXI_OFLOW_BUF_SIZE", "4194304" }, "cxi" },
	{ { "FI_CXI_REQ_BUF_SIZE", "4194304" }, "cxi" },
	/* A buffer of one packet, about 9 KB, for each. */
	{ { "FI_EFA_RX_SIZE", "1024" }, "efa" },
	{ { "FI_EFA_TX_SIZE", "512" }, "efa" },
	{ { "FI_EFA_USE_HUGE_PAGE", "0" }, "efa" },
	/* Peers are on other nodes. */
	{ { "FI_EFA_ENABLE_SHM_TRANSFER", "0" }, "efa" },
	/*
	 * Start no thread that announces addresses, as we exchange them
	 * ourselves. This is set for all providers, because libfabric reads its
	 * environment once, and psm2 may be tried after another one
	 * (np_device_providers()).
	 */
	{ { "FI_PSM2_NAME_SERVER", "0" }, NULL },
	{ { "FI_PSM3_NAME_SERVER", "0" }, NULL },
};

/*
 * Providers that make progress only when they are called, and whose wait
 * descriptor signals nothing until then.
 *
 * psm2 and psm3: libfabric issue 4600, "Won't fix". efa: a packet for which the
 * receiver had no buffer is sent again by a later call.
 */
static const char *const silent_providers[] = { "psm2", "psm3", "efa" };

bool np_ofi_is_provider(const char *wanted, const char *name)
{
	size_t len = strlen(wanted);

	return !strncmp(name, wanted, len) && (!name[len] || name[len] == ';');
}

bool np_ofi_is_device(const char *list, const char *name)
{
	bool others = list && *list == '^';
	size_t len = strlen(name);

	if (!list || !*list || !strcmp(list, "all"))
		return true;
	for (const char *w = list + others; *w; w += *w == ',') {
		if (strcspn(w, ",:") == len && !strncmp(w, name, len))
			return !others;
		w += strcspn(w, ",");
	}
	return others;
}

const struct np_ofi_setting *np_ofi_setting(const char *provider, size_t index)
{
	for (size_t i = 0; i < NP_ARRAY_SIZE(settings); i++)
		if ((!settings[i].provider ||
		     np_ofi_is_provider(settings[i].provider, provider)) &&
		    !index--)
			return &settings[i].set;
	return NULL;
}

bool np_ofi_wakes(const char *provider)
{
	for (size_t i = 0; i < NP_ARRAY_SIZE(silent_providers); i++)
		if (np_ofi_is_provider(silent_providers[i], provider))
			return false;
	return true;
}
