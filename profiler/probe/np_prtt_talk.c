/* What both sides do. */
#include "np_prtt_sides.h"

void np_prtt_send(struct np_prtt_engine *e, uint64_t tag, const void *buf,
		  size_t bytes, struct np_op *op)
{
	e->messages++;
	e->net->ops->send(e->net, e->conf.peer, tag, buf, bytes, op);
}

void np_prtt_end(struct np_prtt_engine *e, const char *note)
{
	if (e->over)
		return;
	e->over = true;
	if (note)
		e->conf.note(note, e->conf.arg);
	e->conf.done(e->conf.arg);
}
