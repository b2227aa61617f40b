/*
 * Measures the times that np_loggps_fit.h needs, between two processes: a
 * client and a server.
 *
 * The client announces each measurement by the number and size of its messages.
 * The server posts receives for them and accepts, which also warms up the path.
 * Then the clock starts: n messages, and a reply after the last one.
 *
 * Neither side sleeps, because waking up takes longer than many of the measured
 * times: both keep a processor busy until everything is measured. During a
 * pause the client does not poll the network either, like a program that
 * computes.
 *
 * A block makes every measurement NP_PRTT_REPEATS times and reports the median
 * of each. The first block determines the sizes, up to the largest whose round
 * trip takes no longer than max_sec, and is not reported. Overheads are
 * measured for sizes that are powers of 8, if their round trips are short.
 */
#ifndef NP_PRTT_H
#define NP_PRTT_H

#include <stdbool.h>
#include <stdint.h>

#include "np_engine.h"
#include "np_report.h"

#define NP_PRTT_MESSAGES 16 /* n, where it is not 1 */
#define NP_PRTT_REPEATS 7   /* of each measurement in a block */
/* Limits of max_bytes. */
#define NP_PRTT_LEAST_MAX_BYTES 4096u
#define NP_PRTT_MAX_BYTES (64u << 20)
#define NP_PRTT_MAX_BLOCKS 1000
#define NP_PRTT_BLOCKS 30      /* default number */
#define NP_PRTT_TRIP_SEC 50e-3 /* default of max_sec */
/* Longest wait of the client for a message; the server waits twice as long. */
#define NP_PRTT_PATIENCE_SEC 10.0

struct np_prtt_conf {
	/* its note(): why the measurement ended early */
	struct np_engine_env env;
	bool takes_part; /* false: two other processes measure */
	uint32_t peer;	 /* rank of the other side, already connected */
	bool is_client;
	uint32_t max_bytes; /* of a message; equal on both sides */
	/* Of the client: limit of a round trip, and blocks to report. */
	double max_sec;
	uint32_t blocks;

	/* Callbacks; arg is that of env. */
	void (*report)(const struct np_prtt *p, void *arg); /* by the client */
	void (*done)(void *arg); /* on both sides: finished or given up */
	bool (*stop)(void); /* of the client: true ends it early; or NULL */
};

/*
 * A client blocks in step() until it has made one measurement. conf is copied.
 * Free *out with its free(). Returns 0 or -ENOMEM.
 */
int np_prtt_new(const struct np_prtt_conf *conf, struct np_engine **out);

#endif
