/*
 * A simulated np_net of two processes with LogGPS parameters. Each has a clock
 * that its own actions advance; the server runs whenever the client polls the
 * network and time has come far enough.
 */
#ifndef NP_NET_LOGP_H
#define NP_NET_LOGP_H

#include <stdbool.h>
#include <stdint.h>

#include "np_clock.h"
#include "np_engine.h"
#include "np_net.h"

#define T_LOGP_QUEUE 64

struct t_logp;

struct t_logp_process {
	struct np_net net;     /* must be first */
	struct np_clock clock; /* of this process */
	struct t_logp *logp;
	double now_sec, nic_free_sec;
	struct {
		uint64_t tag;
		double arrives_sec;
		size_t len;
		char head[16];	 /* only the first bytes are transferred */
	} message[T_LOGP_QUEUE]; /* in order of arrival */
	size_t n_messages;
	struct {
		uint64_t tag;
		void *buf;
		size_t len;
		struct np_op *op;
	} receive[T_LOGP_QUEUE];
	size_t n_receives;
	bool lost; /* messages are lost, or the peer is reported lost */
};

struct t_logp {
	double L, o_send, o_recv, g, G;
	uint32_t S;	 /* 0: no rendezvous */
	double tick_sec; /* time of reading the clock and of a poll */
	double noise;	 /* relative, of L */
	uint64_t random;
	double O; /* overhead per byte: copying */
	struct t_logp_process process[2];
	/* The process that runs inside the other one's progress(). */
	struct np_engine *engine;
	bool inside;
};

void t_logp_init(struct t_logp *l);

#endif
