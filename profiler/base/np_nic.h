/*
 * Kinds of counts of network adapters: bytes, and signs of congestion. The
 * names of the counters differ by vendor; these are their meanings.
 */
#ifndef NP_NIC_H
#define NP_NIC_H

#include <stdint.h>

enum np_nic_kind {
	NP_NIC_SENT,	 /* bytes */
	NP_NIC_RECEIVED, /* bytes */
	NP_NIC_WAIT,	 /* data to send and no credit; ticks of the device */
	NP_NIC_PAUSE,	 /* requests of the network to stop; frames or ticks */
	NP_NIC_ECN,	 /* packets received that a switch marked */
	NP_NIC_CNP,	 /* congestion notifications sent or received */
	NP_NIC_DISCARD,	 /* packets discarded */
	NP_NIC_RETRY,	 /* packets retransmitted, or received out of order */
	NP_NIC_KINDS
};

/* Names of the kinds in run records. */
static const char *const np_nic_kinds[NP_NIC_KINDS] = {
	[NP_NIC_SENT] = "sent",	       [NP_NIC_RECEIVED] = "received",
	[NP_NIC_WAIT] = "wait",	       [NP_NIC_PAUSE] = "pause",
	[NP_NIC_ECN] = "ecn",	       [NP_NIC_CNP] = "cnp",
	[NP_NIC_DISCARD] = "discards", [NP_NIC_RETRY] = "retries",
};

struct np_nic_counts {
	uint32_t has; /* 1 << kind, for each that the adapter counts */
	uint64_t n[NP_NIC_KINDS];
};

#endif
