/* The side that answers: a state for each of the two things it waits for. */
#include "np_prtt_sides.h"

static void await_plan(struct np_prtt_engine *e)
{
	struct np_prtt_answerer *a = &e->answerer;

	a->state = NP_PRTT_RESTS;
	e->net->ops->recv(e->net, NP_PRTT_PLAN, &a->plan, sizeof(a->plan),
			  &a->plan_got);
}

void np_prtt_answer_start(struct np_prtt_engine *e)
{
	e->answerer.heard_sec = e->clock->now_sec(e->clock);
	await_plan(e);
}

static void prepare(struct np_prtt_engine *e)
{
	struct np_prtt_answerer *a = &e->answerer;

	if (!a->plan.n) {
		np_prtt_end(e, NULL);
		return;
	}
	if (a->plan.n > NP_PRTT_MESSAGES || !a->plan.bytes ||
	    a->plan.bytes > e->conf.max_bytes) {
		np_prtt_end(e, "the partner announced what cannot be measured "
			    "(another version of this program?)");
		return;
	}
	for (uint32_t i = 0; i < a->plan.n; i++)
		e->net->ops->recv(e->net, NP_PRTT_DATA, e->in, a->plan.bytes,
				  &a->data[i]);
	a->state = NP_PRTT_TAKES;
	np_prtt_send(e, NP_PRTT_READY, e->out, 1, &a->ready_sent);
}

/* All of them, in whatever order they become known: 1, or -errno. */
static int have_come(const struct np_prtt_answerer *a)
{
	int done = 1;

	for (uint32_t i = 0; i < a->plan.n; i++) {
		if (a->data[i].status < 0)
			return a->data[i].status;
		done &= a->data[i].status == 0;
	}
	return done;
}

static int failed(const struct np_prtt_answerer *a)
{
	return a->plan_got.status < 0 || a->ready_sent.status < 0 ||
	       a->reply_sent.status < 0;
}

void np_prtt_answer(struct np_prtt_engine *e, double now_sec)
{
	struct np_prtt_answerer *a = &e->answerer;
	int came = a->state == NP_PRTT_TAKES ? have_come(a) :
		   a->plan_got.status == 0 && a->reply_sent.status == 0;

	if (came > 0) {
		a->heard_sec = now_sec;
		if (a->state == NP_PRTT_RESTS) {
			prepare(e);
		} else {
			np_prtt_send(e, NP_PRTT_REPLY, e->out, a->plan.bytes,
				     &a->reply_sent);
			await_plan(e);
		}
	} else if (came < 0 || failed(a) ||
		   e->net->ops->lost(e->net, e->conf.peer) ||
		   now_sec > a->heard_sec + 2 * NP_PRTT_PATIENCE_SEC) {
		np_prtt_end(e, "the partner is lost");
	}
}
