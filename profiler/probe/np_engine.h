/*
 * Measurement engines, and what they share: which processes measure with each
 * other, the loop that runs an engine, and a check that a peer still answers.
 *
 * An engine is a state machine that never blocks. Each call of step() does
 * what can be done now and returns what the engine waits for next. The same
 * engine therefore runs on real time and real messages in a probe, and step by
 * step on a simulated clock and network in the unit tests.
 *
 * Two engines are declared here: ping-pong (ImpactB, np_pingpong.c) and rounds
 * (CompressionB, np_rounds.c). The pairwise latency matrix is part of
 * netprof-impactb.c.
 */
#ifndef NP_ENGINE_H
#define NP_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "np_clock.h"
#include "np_level.h"
#include "np_net.h"

/* ---- who measures with whom ---- */

/*
 * Pure functions of where each process runs. Every process computes the same
 * table by itself, so nothing has to be negotiated.
 *
 * Only processes under one leaf switch exchange messages (except in rings
 * across leaves), and only processes with the same local rank (their index
 * among the processes of their node).
 */

#define NP_NO_RANK (-1L) /* in place of a rank: there is no such process */

/* Where one process runs; arrays of these are indexed by rank. */
struct np_place {
	const char *node;
	const char *leaf; /* "" without a topology */
};

/* Ping-pong peers of one process: ranks, or NP_NO_RANK. */
struct np_peers {
	long server; /* answers this process, which measures its latency */
	long client; /* measures its latency to this process, which answers */
	const char *skipped; /* why there is neither, a literal; or NULL */
};

/*
 * Ping-pong peers. The nodes of a leaf are paired in the order of their lowest
 * rank. With an odd number of nodes the last three form a triangle (A measures
 * B, B measures C, C measures A); a leaf with a single node is skipped. With
 * several processes per node, each local rank starts one node later, so that
 * other paths are measured too and the measuring sides are spread over the
 * nodes. out: array of n, owned by the caller. Returns 0 or -ENOMEM.
 */
int np_pairing_make(const struct np_place *place, size_t n,
		    struct np_peers *out);

/*
 * Ring neighbours of rank (below n): to[] gets the next `want` nodes after its
 * own around the leaf, from[] those before it, nearest first; the caller
 * provides room for `want` ranks in each. With across, one ring runs through
 * all leaves, taking a node of each leaf in turn: with two leaves of equal
 * size, every successor at an odd distance is under the other leaf. *got is
 * set to want or to the number of other nodes, whichever is smaller.
 * Returns 0 or -ENOMEM.
 */
int np_pairing_ring(const struct np_place *place, size_t n, bool across,
		    size_t rank, size_t want, size_t *to, size_t *from,
		    size_t *got);

/* ---- engines ---- */

/* What an engine waits for, most urgent first. */
enum np_wait {
	NP_WAIT_POLL,  /* the next message, busy-polling */
	NP_WAIT_NET,   /* the next message or a time, asleep */
	NP_WAIT_SLEEP, /* a time; messages need not be handled before it */
};

struct np_next {
	enum np_wait how;
	double until_sec; /* on the clock; may be INFINITY */
};

/* Environment of an engine; every pointer is borrowed. */
struct np_engine_env {
	struct np_net *net;
	const struct np_clock *clock;
	uint32_t rank;
	const struct np_place *place; /* of every rank */
	double start_sec; /* common start of all processes, on the clock */
	/* Record a value in seconds, measured at_sec after the common start. */
	void (*count)(double at_sec, double sec, void *arg);
	/* Add one line of text to the run record. */
	void (*note)(const char *text, void *arg);
	void *arg;
};

struct np_engine;

struct np_engine_ops {
	/* Do all that can be done at now_sec; progress() was just called. */
	void (*step)(struct np_engine *e, double now_sec, struct np_next *next);
	/* Must not be called while a message is in flight. */
	void (*free)(struct np_engine *e);
};

/* First member of every engine. */
struct np_engine {
	const struct np_engine_ops *ops;
	uint64_t messages; /* sent so far */
};

/* Background work of the loop. */
struct np_idle {
	/* Called between two steps, when no message is being timed. */
	void (*f)(void *arg, double now_sec);
	double every_sec; /* longest interval between two calls, roughly */
	void *arg;
};

/*
 * Run engine until stop() is true or end_sec (on the clock; INFINITY: no end).
 */
void np_loop_run(struct np_engine *engine, const struct np_idle *idle,
		 struct np_net *net, const struct np_clock *clock,
		 bool (*stop)(void), double end_sec);

/* ---- liveness of a peer ---- */

/*
 * A peer that stops answering, or whose connection is lost, is noted once in
 * the run record. It is never a reason to end the measurement.
 */

/*
 * At the end of a step one process always ends before the others. A lost
 * connection is therefore noted only after this time, which a process that is
 * about to end itself does not live to see.
 */
#define NP_LIVENESS_GRACE_SEC 2.0

enum np_liveness_state {
	NP_PEER_ALIVE,
	NP_PEER_SILENT, /* an answer is overdue; it may still come */
	NP_PEER_LOST,	/* for good */
};

/* The caller sets the first three members and zeroes the others. */
struct np_liveness {
	const struct np_engine_env *env;
	uint32_t rank;
	double patience_sec; /* an answer later than this is overdue */

	enum np_liveness_state state;
	double lost_sec; /* when the loss was detected, on the clock */
	bool noted;	 /* the loss is in the run record */
};

/*
 * Update the state of the peer. since_sec: time since which a message from it
 * has been due (INFINITY: none is). *until_sec: when to call this again even
 * if no message arrives, or INFINITY.
 */
enum np_liveness_state np_liveness_check(struct np_liveness *liveness,
					 double now_sec, double since_sec,
					 double *until_sec);

/*
 * A message from the peer arrived. Returns true if the peer was silent until
 * now, which is noted: a time measured across the silence says nothing about
 * the network.
 */
bool np_liveness_received(struct np_liveness *liveness);

/* An operation with the peer failed for good. */
void np_liveness_lost(struct np_liveness *liveness, double now_sec);

/* ---- ImpactB: ping-pong ---- */

/*
 * A short ping-pong with one peer about once per period, and no traffic in
 * between. Half the round trip is the latency.
 *
 * Each exchange has two round trips. The first, of eight bytes, warms up the
 * path and both processes. The second, of the full size, is measured. A late
 * answer counts with its true latency, and the next exchange waits for it.
 *
 * Schedule. The first exchange of rank r is due at the fraction r * 0.618...
 * of a period, which spreads the pairs evenly over the period. The interval
 * between two exchanges is drawn uniformly from 0.75 to 1.25 periods. Probes
 * then sample a program that computes and communicates in a rhythm close to
 * the period in all of its phases within a second, instead of always in the
 * same one. The mean interval is the period.
 *
 * Waiting. Each message of the client announces when the next exchange will
 * start. The server sleeps until shortly before that time, by a margin learned
 * from the scatter of earlier arrivals, polls for a bounded time, and then
 * sleeps until the message wakes it. The client waits for the answer in the
 * same way. Both poll at most NP_POLL_MOST_SEC, twice per period, which is
 * 0.2 % of a core at the default period of 100 ms.
 */

#define NP_PINGPONG_MIN_BYTES 8
#define NP_PINGPONG_MAX_BYTES (1u << 20)

struct np_pingpong_conf {
	struct np_engine_env env; /* count() gets latencies */
	struct np_peers peers;	  /* already connected */
	uint32_t bytes; /* NP_PINGPONG_MIN_BYTES .. NP_PINGPONG_MAX_BYTES */
	double period_sec;
	uint64_t seed; /* of the random intervals */
};

/* Returns 0 or -ENOMEM. */
int np_pingpong_new(const struct np_pingpong_conf *conf,
		    struct np_engine **out);

/*
 * How long a peer may owe an answer before it counts as silent. Exported for
 * the unit tests.
 */
double np_pingpong_patience_sec(double period_sec);

/*
 * How long to poll for an answer before sleeping. Exported for the unit tests.
 *
 * Falling asleep and waking up costs several microseconds, which matters for
 * an answer after 2 us and not for one after 200 us. Polling therefore lasts
 * slightly longer than the fastest answer that polling has caught so far. It
 * stays short where polling catches nothing, for example when both processes
 * share a core and one can only answer once the other sleeps. Now and then a
 * longer poll checks whether that still holds.
 */

#define NP_POLL_LEAST_SEC 20e-6
#define NP_POLL_MOST_SEC 100e-6

struct np_poll {	    /* zeroed: nothing known yet */
	double fastest_sec; /* fastest answer caught; 0: none */
	uint32_t tries;
};

/* Time to poll: from NP_POLL_LEAST_SEC to NP_POLL_MOST_SEC. */
double np_poll_sec(const struct np_poll *p);

/*
 * The same where nothing is being timed and a long poll does no harm: the
 * first few tries and every 16th return NP_POLL_MOST_SEC.
 */
double np_poll_try_sec(struct np_poll *p);

/* Polling caught an answer that arrived reply_sec after the request. */
void np_poll_caught(struct np_poll *p, double reply_sec);

/* ---- CompressionB: rounds ---- */

/*
 * Rounds of messages around a ring of nodes, which take away a known part of
 * the network.
 *
 * One round: post M receives from each of P predecessors, sleep for about B,
 * send M messages of S bytes to each of P successors, wait for all of them.
 * The CompressionB of the paper sends before it sleeps; but with MPI and
 * messages of this size nothing moves until the process returns from its
 * sleep, so a round there, too, takes its pause plus its transfers. Here this
 * does not depend on the library, and it must be so: if transfers could
 * overlap the pause, a slower network would not show.
 *
 * Pauses vary between B/2 and 3B/2 in a fixed order (multiples of the golden
 * ratio) that is the same in all processes. With equal pauses two such steps
 * would synchronise and hardly disturb each other, unlike any two programs.
 *
 * The duration of a round, including its pause, shows how much the level
 * itself is slowed by other users of the network. The first round establishes
 * the connections and is not counted. No process can be more rounds ahead of
 * another than there are nodes in the ring, which bounds the number of
 * messages in flight.
 *
 * The process sleeps while it waits, because the processors belong to the
 * program. It polls only for the first NP_ROUNDS_POLL_SEC of a wait, and
 * through pauses shorter than that.
 */

#define NP_ROUNDS_POLL_SEC 50e-6

/*
 * A round that has not ended this long after its pause is noted, and is not
 * counted if it ends after all.
 */
#define NP_ROUNDS_PATIENCE_SEC 30.0

struct np_rounds_conf {
	struct np_engine_env env; /* count() gets round times */
	struct np_level level;	  /* peers: at most as many as other nodes */
	/* level.peers ranks each, borrowed; those of to[] are connected */
	const size_t *from, *to;
	double phase; /* 0 to 1: start in the order of pauses, by step */
};

/* Returns 0 or -ENOMEM. */
int np_rounds_new(const struct np_rounds_conf *conf, struct np_engine **out);

#endif
