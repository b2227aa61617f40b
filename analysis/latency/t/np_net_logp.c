#include "np_net_logp.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static struct t_logp_process *self(struct np_net *n)
{
	return (struct t_logp_process *)n;
}

static struct t_logp_process *other(struct t_logp_process *p)
{
	return &p->logp->process[p == p->logp->process];
}

/* From 0 to 1, reproducible. */
static double random_share(struct t_logp *l)
{
	l->random = l->random * 6364136223846793005ull + 1442695040888963407ull;
	return (double)(l->random >> 11) * 0x1p-53;
}

static double read_clock(const struct np_clock *c)
{
	struct t_logp_process *p =
		(struct t_logp_process *)((char *)c -
					  offsetof(struct t_logp_process,
						   clock));

	return p->now_sec += p->logp->tick_sec;
}

static int logp_lost(struct np_net *n, uint32_t rank)
{
	(void)rank;
	return other(self(n))->lost ? -ECONNRESET : 0;
}

static void logp_send(struct np_net *n, uint32_t rank, uint64_t tag,
		      const void *buf, size_t len, struct np_op *op)
{
	struct t_logp_process *p = self(n), *to = other(p);
	struct t_logp *l = p->logp;
	double start = fmax(p->now_sec, p->nic_free_sec);
	double wire = l->G * (double)(len - 1);
	double late = l->L * (1 + l->noise * random_share(l));
	size_t i = to->n_messages++;

	(void)rank;
	if (l->S && len > l->S)
		late += 2 * (l->o_send + l->L + l->o_recv);
	to->message[i].tag = tag;
	to->message[i].len = len;
	to->message[i].arrives_sec = p->lost ? INFINITY :
					       start + l->o_send + late + wire;
	memcpy(to->message[i].head, buf,
	       len < sizeof(to->message[i].head) ? len :
						   sizeof(to->message[i].head));
	p->nic_free_sec = start + l->g + wire;
	p->now_sec += l->o_send + l->O * (double)(len - 1);
	op->status = 0;
}

static void logp_recv(struct np_net *n, uint64_t tag, void *buf, size_t len,
		      struct np_op *op)
{
	struct t_logp_process *p = self(n);
	size_t i = p->n_receives++;

	p->receive[i].tag = tag;
	p->receive[i].buf = buf;
	p->receive[i].len = len;
	p->receive[i].op = op;
	op->status = 1;
}

/*
 * Delivers message i to receive j, and completes both. Bytes are copied as they
 * arrive, or afterwards if the process did not look in the meantime.
 */
static void deliver(struct t_logp_process *p, size_t i, size_t j)
{
	size_t len = p->message[i].len;
	double copy_sec = fmin(p->logp->O * (double)(len - 1),
			       p->now_sec - p->message[i].arrives_sec);

	if (len > sizeof(p->message[i].head))
		len = sizeof(p->message[i].head);
	memcpy(p->receive[j].buf, p->message[i].head, len);
	p->receive[j].op->status =
		p->message[i].len > p->receive[j].len ? -EMSGSIZE : 0;
	memmove(&p->message[i], &p->message[i + 1],
		(--p->n_messages - i) * sizeof(p->message[0]));
	memmove(&p->receive[j], &p->receive[j + 1],
		(--p->n_receives - j) * sizeof(p->receive[0]));
	p->now_sec += p->logp->o_recv + copy_sec;
}

static unsigned take_one(struct t_logp_process *p)
{
	for (size_t i = 0; i < p->n_messages; i++) {
		if (p->message[i].arrives_sec > p->now_sec)
			continue;
		for (size_t j = 0; j < p->n_receives; j++)
			if (p->receive[j].tag == p->message[i].tag) {
				deliver(p, i, j);
				return 1;
			}
	}
	return 0;
}

static unsigned logp_progress(struct np_net *n)
{
	struct t_logp_process *p = self(n), *o = other(p);
	struct t_logp *l = p->logp;
	struct np_next next;

	p->now_sec += p->logp->tick_sec;
	if (!l->inside && l->engine) {
		l->inside = true;
		while (!o->lost && o->now_sec < p->now_sec) {
			logp_progress(&o->net);
			l->engine->ops->step(l->engine, o->now_sec, &next);
		}
		l->inside = false;
	}
	return take_one(p);
}

static const struct np_net_ops ops = {
	.lost = logp_lost,
	.send = logp_send,
	.recv = logp_recv,
	.progress = logp_progress,
};

void t_logp_init(struct t_logp *l)
{
	for (size_t i = 0; i < 2; i++)
		l->process[i] = (struct t_logp_process){
			.net.ops = &ops,
			.clock.now_sec = read_clock,
			.logp = l,
			.now_sec = 100,
			.nic_free_sec = 0,
		};
}
