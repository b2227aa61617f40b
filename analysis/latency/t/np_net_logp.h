/*
 * np_net of two processes with the parameters of LogGPS, each on a clock of
 * its own: what they do takes them time, and the one that answers runs
 * whenever the other looks at the network and time has come so far.
 */
#ifndef NP_NET_LOGP_H
#define NP_NET_LOGP_H

#include <stdbool.h>
#include <stdint.h>

#include "np_clock.h"
#include "np_loop.h"
#include "np_net.h"

#define T_LOGP_QUEUE 64

struct t_logp;

struct t_logp_process {
	struct np_net net;     /* first */
	struct np_clock clock; /* its own */
	struct t_logp *logp;
	double now_sec, nic_free_sec;
	struct {
		uint64_t tag;
		double arrives_sec;
		size_t len;
		char head[16]; /* no more of it counts */
	} message[T_LOGP_QUEUE]; /* in order of arrival */
	size_t n_messages;
	struct {
		uint64_t tag;
		void *buf;
		size_t len;
		struct np_op *op;
	} receive[T_LOGP_QUEUE];
	size_t n_receives;
	bool lost; /* nobody hears it, or hears of it */
};

struct t_logp {
	double L, o_send, o_recv, g, G;
	uint32_t S; /* 0: no rendezvous */
	double tick_sec; /* of reading the clock, of a look for messages */
	double noise;	 /* relative, of L */
	uint64_t random;
	struct t_logp_process process[2];
	/* The process that runs inside the other one's progress(). */
	struct np_engine *engine;
	bool inside;
};

void t_logp_init(struct t_logp *l);

#endif
