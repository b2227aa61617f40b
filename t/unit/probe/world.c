#include "world.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double world_now_sec(const struct np_clock *c)
{
	return ((const struct t_world *)c)->now_sec;
}

static void world_wait(const struct np_clock *c, int fd, double until_sec)
{
	/* engines never wait by themselves */
	(void)c, (void)fd, (void)until_sec;
	abort();
}

struct t_world world;

void t_world_free(void)
{
	for (size_t i = 0; i < world.n; i++)
		if (world.citizen[i].engine)
			world.citizen[i].engine->ops->free(
				world.citizen[i].engine);
	np_net_loop_free(world.net);
	memset(&world, 0, sizeof(world));
}

void t_world_init(size_t n)
{
	struct t_world *w = &world;

	t_world_free();
	w->clock = (struct np_clock){ world_now_sec, world_wait, -1 };
	w->now_sec = 1000;
	w->net = np_net_loop_new(n, &w->clock);
	w->n = n;
	for (size_t i = 0; i < n; i++) {
		struct np_net *net = np_net_loop_end(w->net, i);

		w->citizen[i].net = net;
		for (size_t j = 0; j < n; j++)
			net->ops->connect(net, (uint32_t)j, &j, sizeof(j),
					  NULL);
	}
}

/* One look at the network and one step. */
static void step(struct t_world *w, struct t_citizen *c)
{
	unsigned got = c->net->ops->progress(c->net);

	if (c->next.how == NP_WAIT_POLL)
		c->got_polling += got;
	else
		c->got_asleep += got;
	c->steps++;
	c->engine->ops->step(c->engine, w->now_sec, &c->next);
}

/* When this citizen would step next if no other message came. */
static double wakes_sec(struct t_world *w, struct t_citizen *c)
{
	double message_sec = np_net_loop_next_sec(w->net);

	if (c->next.how == NP_WAIT_POLL)
		return w->now_sec + T_POLL_SEC;
	if (c->next.how == NP_WAIT_NET) /* perhaps another's: no harm */
		c->next.until_sec = fmin(c->next.until_sec, message_sec);
	return c->next.until_sec + w->late_sec;
}

void t_world_run(struct t_world *w, double sec)
{
	double until_sec = w->now_sec + sec;

	for (size_t i = 0; i < w->n; i++)
		step(w, &w->citizen[i]);
	for (;;) {
		double wakes[T_WORLD_MAX], at_sec = INFINITY;

		for (size_t i = 0; i < w->n; i++) {
			wakes[i] = wakes_sec(w, &w->citizen[i]);
			at_sec = fmin(at_sec, wakes[i]);
		}
		if (at_sec > until_sec)
			break;
		for (size_t i = 0; i < w->n; i++)
			if (w->citizen[i].next.how == NP_WAIT_POLL)
				w->citizen[i].polled_sec += at_sec - w->now_sec;
		w->now_sec = at_sec;
		for (size_t i = 0; i < w->n; i++)
			if (wakes[i] <= at_sec)
				step(w, &w->citizen[i]);
	}
	w->now_sec = until_sec;
}
