#include "np_prtt_sides.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

int np_prtt_new(const struct np_prtt_conf *conf, struct np_net *net,
		const struct np_clock *clock, struct np_prtt_engine **out)
{
	struct np_prtt_engine *e = calloc(1, sizeof(*e));

	if (!e)
		return -ENOMEM;
	*e = (struct np_prtt_engine){
		.conf = *conf, .net = net, .clock = clock,
		.out = calloc(1, conf->max_bytes),
		.in = calloc(1, conf->max_bytes),
	};
	if (!e->out || !e->in) {
		np_prtt_free(e);
		return -ENOMEM;
	}
	if (conf->asks)
		np_prtt_ask_start(e);
	else
		np_prtt_answer_start(e);
	*out = e;
	return 0;
}

void np_prtt_free(struct np_prtt_engine *e)
{
	if (!e)
		return;
	free(e->out);
	free(e->in);
	free(e);
}

void np_prtt_step(void *engine, double now_sec, struct np_next *next)
{
	struct np_prtt_engine *e = engine;

	if (e && !e->over && e->conf.asks)
		np_prtt_ask(e);
	else if (e && !e->over)
		np_prtt_answer(e, now_sec);
	*next = !e || e->over ? (struct np_next){ NP_WAIT_SLEEP, INFINITY } :
			  (struct np_next){ NP_WAIT_POLL, now_sec };
}

uint64_t np_prtt_messages(const struct np_prtt_engine *e)
{
	return e->messages;
}
