/* Passes that do not need each other, side by side. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "np_tolerance_impl.h"

#define MIN_EDGES 1000000 /* of half as many they gain nothing */

struct crew {
	struct np_tolerance *t;
	np_tolerance_work *work;
	void *arg;
	size_t n;
	atomic_size_t next;
};

struct hand {
	struct crew *crew;
	struct np_room *room;
	pthread_t thread;
};

static size_t threads_for(const struct np_tolerance *t, size_t n)
{
	size_t most = t->threads;
	cpu_set_t mine;

	if (!most && (t->c.n > 1 ||
		      np_compact_edges(&t->c.link[0]) < MIN_EDGES ||
		      sched_getaffinity(0, sizeof(mine), &mine)))
		most = 1;
	if (!most)
		most = (size_t)CPU_COUNT(&mine);
	most = most < NP_TOLERANCE_THREADS ? most : NP_TOLERANCE_THREADS;
	return n < most ? n : most;
}

static void *work_on(void *arg)
{
	struct hand *h = arg;
	struct crew *c = h->crew;
	size_t i;

	while ((i = atomic_fetch_add(&c->next, 1)) < c->n)
		c->work(c->t, h->room, i, c->arg);
	return NULL;
}

void np_tolerance_each(struct np_tolerance *t, size_t n,
		       np_tolerance_work *work, void *arg)
{
	struct crew crew = { .t = t, .work = work, .arg = arg, .n = n };
	struct hand hand[NP_TOLERANCE_THREADS];
	size_t threads = threads_for(t, n), started = 1;

	for (; started < threads; started++) {
		struct hand *h = &hand[started];

		if (!t->room[started])
			t->room[started] = np_room_new(&t->c);
		*h = (struct hand){ &crew, t->room[started], 0 };
		if (!h->room || pthread_create(&h->thread, NULL, work_on, h))
			break; /* then it is done by fewer */
	}
	hand[0] = (struct hand){ &crew, t->room[0], 0 };
	work_on(&hand[0]);
	while (--started)
		pthread_join(hand[started].thread, NULL);
}
