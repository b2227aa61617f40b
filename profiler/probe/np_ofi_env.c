/*
 * Settings of libfabric's providers. doc/fabrics.md has the reason for each and
 * the document that it comes from.
 */
#include "np_ofi.h"

#include <string.h>

#include "np_err.h"

/*
 * For a small, quiet process that exchanges few messages at a time. Measured:
 * with its own values tcp;ofi_rxm takes 162 MB of memory, with these 16 MB. The
 * others follow from manual pages and sources of the providers.
 */
static const struct {
	struct np_ofi_setting set;
	const char *provider; /* only for this provider; NULL: for all */
} settings[] = {
	/*
	 * There is no log level below "warn", so log only a provider that does
	 * not exist.
	 */
	{ { "FI_LOG_PROV", "none" }, NULL },
	{ { "FI_OFI_RXM_TX_SIZE", "32" }, NULL },
	{ { "FI_OFI_RXM_RX_SIZE", "32" }, NULL },
	{ { "FI_OFI_RXM_MSG_TX_SIZE", "16" }, NULL },
	{ { "FI_OFI_RXM_MSG_RX_SIZE", "16" }, NULL },
	{ { "FI_OFI_RXM_BUFFER_SIZE", "2048" }, NULL },
	/*
	 * No rendezvous over TCP, as with UCX (np_ucx.c has the reason). Rounds
	 * of the load levels then take as long as with UCX, and up to twice as
	 * long otherwise. Over verbs this limit must be the size of the
	 * buffers.
	 */
	{ { "FI_OFI_RXM_EAGER_LIMIT", "16777216" }, "tcp" },
	/*
	 * Event queues of 1 MiB instead of 8, for as many events as the largest
	 * load level has messages in flight, four times over. Not in huge
	 * pages, which belong to the job.
	 */
	{ { "FI_CXI_DEFAULT_CQ_SIZE", "16384" }, "cxi" },
	{ { "FI_CXI_DISABLE_CQ_HUGETLB", "1" }, "cxi" },
	/*
	 * Buffers for unexpected messages, pinned: three of the first kind, and
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
	 * A thread that announces addresses, which we exchange ourselves. For
	 * all providers, because libfabric reads its environment once, and psm2 may
	 * be tried after another (np_device_providers()).
	 */
	{ { "FI_PSM2_NAME_SERVER", "0" }, NULL },
	{ { "FI_PSM3_NAME_SERVER", "0" }, NULL },
};

/*
 * Providers that make progress only when they are called, and have a wait
 * descriptor that signals nothing until then.
 *
 * psm2 and psm3: libfabric issue 4600, "Won't fix". efa: a packet that found no
 * buffer at its receiver is sent again, after a while, by the next call.
 */
static const char *const silent[] = { "psm2", "psm3", "efa" };

bool np_ofi_is_provider(const char *want, const char *name)
{
	size_t len = strlen(want);

	return !strncmp(name, want, len) && (!name[len] || name[len] == ';');
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
	for (size_t i = 0; i < NP_ARRAY_SIZE(silent); i++)
		if (np_ofi_is_provider(silent[i], provider))
			return false;
	return true;
}
