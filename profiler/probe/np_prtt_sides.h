/* The two sides of np_prtt.h; used by np_prtt*.c alone. */
#ifndef NP_PRTT_SIDES_H
#define NP_PRTT_SIDES_H

#include "np_prtt.h"

/* Both are in one step: each knows its own messages by their tags. */
enum { NP_PRTT_PLAN = 0x70727474, NP_PRTT_READY, NP_PRTT_DATA, NP_PRTT_REPLY };

#define NP_PRTT_SIZES 64

/* What the asking side announces; n 0: it was the last. */
struct np_prtt_plan {
	uint32_t n, bytes;
};

struct np_prtt_asker {
	uint32_t size[NP_PRTT_SIZES];
	size_t n_sizes;
	double trip_sec[NP_PRTT_SIZES]; /* as the first block saw them */
	double gap_sec; /* between messages, the same */
	uint32_t block; /* 0: the one that is not reported */
	size_t what;	/* the next measurement of the block */
	size_t repeat;
	double sec[NP_PRTT_REPEATS];
	/* Not on a stack, as they may be under way when all is over. */
	struct np_prtt_plan plan;
	struct np_op plan_sent, ready, reply, data[NP_PRTT_MESSAGES];
};

struct np_prtt_answerer {
	enum { NP_PRTT_RESTS, NP_PRTT_TAKES } state;
	struct np_op plan_got, ready_sent, reply_sent;
	struct np_op data[NP_PRTT_MESSAGES];
	struct np_prtt_plan plan;
	double heard_sec;
};

struct np_prtt_engine {
	struct np_prtt_conf conf;
	struct np_net *net;
	const struct np_clock *clock;
	char *out, *in; /* max_bytes each; what is in them does not matter */
	bool over;
	uint64_t messages;
	struct np_prtt_asker asker;
	struct np_prtt_answerer answerer;
};

void np_prtt_send(struct np_prtt_engine *e, uint64_t tag, const void *buf,
		  size_t bytes, struct np_op *op);

/* No more is measured; note may be NULL. */
void np_prtt_end(struct np_prtt_engine *e, const char *note);

/* Measure once. */
void np_prtt_ask(struct np_prtt_engine *e);
void np_prtt_ask_start(struct np_prtt_engine *e);

/* Do what has come. */
void np_prtt_answer(struct np_prtt_engine *e, double now_sec);
void np_prtt_answer_start(struct np_prtt_engine *e);

#endif
