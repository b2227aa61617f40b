/*
 * What network adapters count: bytes, and signs of congestion.  Names of
 * counters differ by vendor; these are what they mean.
 */
#ifndef NP_NIC_H
#define NP_NIC_H

#include <stdint.h>

enum np_nic_kind {
	NP_NIC_SENT,	 /* bytes */
	NP_NIC_RECEIVED, /* bytes */
	NP_NIC_WAIT,	 /* had data to send and could not; ticks of the device */
	NP_NIC_PAUSE,	 /* told by the network to stop sending; frames or ticks */
	NP_NIC_ECN,	 /* packets received that a switch marked */
	NP_NIC_CNP,	 /* notifications of congestion sent or received */
	NP_NIC_DISCARD,	 /* packets thrown away */
	NP_NIC_RETRY,	 /* sent again, or received out of order */
	NP_NIC_KINDS
};

/* "sent", "received", "wait", ...: as in run records. */
extern const char *const np_nic_kinds[NP_NIC_KINDS];

struct np_nic_counts {
	uint32_t has; /* 1 << kind, for each that the adapter counts */
	uint64_t n[NP_NIC_KINDS];
};

#endif
