#include "np_matrix.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define TAG_PING (4ull << 32) /* | rank of the sender */
#define TAG_PONG (5ull << 32)
#define TAG_TOKEN (6ull << 32)
#define TAG_END (7ull << 32)

/*
 * Every other message is polled for, so long at most, and the others are waited for
 * asleep: polls are faster, but not where both processes share a core, and the
 * fastest of all counts.
 */
#define POLL_SEC 100e-6

struct matrix {
	struct np_engine engine;
	struct np_matrix_conf conf;
	enum { ANSWERS, WAITS_TOKEN, ASKS, PASSES, LEAVES, OVER } state;
	uint32_t peer;	 /* who asks, or is asked */
	uint32_t n;	 /* messages of this pair so far */
	double best_sec, sent_sec, heard_sec;
	struct np_op got, sent, token, end;
	char out[NP_MATRIX_BYTES], in[NP_MATRIX_BYTES], word[1];
};

static uint32_t self(const struct matrix *m)
{
	return m->conf.env.rank;
}

static void recv(struct matrix *m, uint64_t tag, void *buf, size_t len,
		 struct np_op *op)
{
	struct np_net *net = m->conf.env.net;

	net->ops->recv(net, tag, buf, len, op);
}

static void send(struct matrix *m, uint32_t to, uint64_t tag, const void *buf,
		 size_t len, struct np_op *op)
{
	struct np_net *net = m->conf.env.net;

	m->engine.messages++;
	net->ops->send(net, to, tag | self(m), buf, len, op);
}

static void expect_ping(struct matrix *m)
{
	recv(m, TAG_PING | m->peer, m->in, sizeof(m->in), &m->got);
}

static void ask(struct matrix *m)
{
	const struct np_clock *clock = m->conf.env.clock;

	recv(m, TAG_PONG | m->peer, m->in, sizeof(m->in), &m->got);
	m->sent_sec = clock->now_sec(clock);
	send(m, m->peer, TAG_PING, m->out, sizeof(m->out), &m->sent);
}

/* The last process has nobody to ask: from it the end goes back to the first. */
static void pass_token(struct matrix *m)
{
	m->state = PASSES;
	if (self(m) + 1 == m->conf.n_ranks)
		return;
	recv(m, TAG_END | (self(m) + 1), m->word, 1, &m->end);
	send(m, self(m) + 1, TAG_TOKEN, m->word, 1, &m->sent);
}

static void pass_end(struct matrix *m)
{
	m->state = LEAVES;
	if (self(m))
		send(m, self(m) - 1, TAG_END, m->word, 1, &m->sent);
}

static void begin_asking(struct matrix *m)
{
	m->peer = self(m) + 1;
	m->n = 0;
	m->best_sec = INFINITY;
	if (m->peer == m->conf.n_ranks) {
		pass_token(m);
		return;
	}
	m->state = ASKS;
	ask(m);
}

static void next_asker(struct matrix *m)
{
	m->n = 0;
	if (++m->peer < self(m)) {
		expect_ping(m);
		return;
	}
	m->state = WAITS_TOKEN;
	recv(m, TAG_TOKEN | (self(m) - 1), m->word, 1, &m->token);
}

static void answer(struct matrix *m)
{
	send(m, m->peer, TAG_PONG, m->out, sizeof(m->out), &m->sent);
	if (++m->n <= m->conf.times)
		expect_ping(m);
	else
		next_asker(m);
}

/* The first of a pair brings the connection up, and does not count. */
static void answered(struct matrix *m, double now_sec)
{
	if (m->n)
		m->best_sec = fmin(m->best_sec, (now_sec - m->sent_sec) / 2);
	if (++m->n <= m->conf.times) {
		ask(m);
		return;
	}
	m->conf.pair(m->peer, m->best_sec, m->conf.env.arg);
	m->n = 0;
	m->best_sec = INFINITY;
	if (++m->peer < m->conf.n_ranks)
		ask(m);
	else
		pass_token(m);
}

static void end(struct matrix *m, const char *note)
{
	m->state = OVER;
	if (note)
		m->conf.env.note(note, m->conf.env.arg);
	m->conf.over(m->conf.env.arg);
}

/* What can be done now; false: nothing. */
static bool advance(struct matrix *m, double now_sec)
{
	switch (m->state) {
	case ANSWERS:
		if (m->got.status > 0 || m->sent.status > 0)
			return false;
		answer(m);
		return true;
	case WAITS_TOKEN:
		if (m->token.status > 0 || m->sent.status > 0)
			return false;
		begin_asking(m);
		return true;
	case ASKS:
		if (m->got.status > 0 || m->sent.status > 0)
			return false;
		answered(m, now_sec);
		return true;
	case PASSES:
		if (m->end.status > 0 || m->sent.status > 0)
			return false;
		pass_end(m);
		return true;
	case LEAVES:
		if (m->sent.status > 0)
			return false;
		end(m, NULL);
		return true;
	default:
		return false;
	}
}

static bool failed(const struct matrix *m)
{
	return m->got.status < 0 || m->sent.status < 0 ||
	       m->token.status < 0 || m->end.status < 0;
}

static void step(struct np_engine *engine, double now_sec,
		 struct np_next *next)
{
	struct matrix *m = (struct matrix *)engine;

	if (m->state != OVER && failed(m))
		end(m, "a message failed");
	while (m->state != OVER && advance(m, now_sec))
		m->heard_sec = now_sec;
	if (m->state != OVER && now_sec > m->heard_sec + m->conf.patience_sec)
		end(m, "no answer");
	if (m->state == OVER)
		*next = (struct np_next){ NP_WAIT_SLEEP, INFINITY };
	else if (m->n % 2 && now_sec < m->heard_sec + POLL_SEC)
		*next = (struct np_next){ NP_WAIT_POLL, now_sec };
	else
		*next = (struct np_next){ NP_WAIT_NET, m->heard_sec +
						       m->conf.patience_sec };
}

static void free_matrix(struct np_engine *engine)
{
	free(engine);
}

int np_matrix_new(const struct np_matrix_conf *conf, struct np_engine **out)
{
	static const struct np_engine_ops ops = { step, free_matrix };
	struct matrix *m = calloc(1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	m->engine.ops = &ops;
	m->conf = *conf;
	m->heard_sec = conf->env.clock->now_sec(conf->env.clock);
	*out = &m->engine;
	if (self(m))
		expect_ping(m);
	else
		begin_asking(m);
	return 0;
}
