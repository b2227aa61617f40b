#include "np_nic.h"

const char *const np_nic_kinds[NP_NIC_KINDS] = {
	[NP_NIC_SENT] = "sent",	      [NP_NIC_RECEIVED] = "received",
	[NP_NIC_WAIT] = "wait",	      [NP_NIC_PAUSE] = "pause",
	[NP_NIC_ECN] = "ecn",	      [NP_NIC_CNP] = "cnp",
	[NP_NIC_DISCARD] = "discards", [NP_NIC_RETRY] = "retries",
};
