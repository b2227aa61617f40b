#include "t.h"
#include "np_net_logp.h"

#include "np_loggps_fit.h"
#include "np_prtt.h"

static struct t_logp net;
static struct np_engine *side[2];
static struct np_prtt sample[4096];
static size_t n_samples, n_done, n_notes;
static char note[256];
/* number of samples before the peer is lost; 0: never */
static size_t lose_after;

static void on_report(const struct np_prtt *p, void *arg)
{
	(void)arg;
	if (n_samples < NP_ARRAY_SIZE(sample))
		sample[n_samples++] = *p;
	if (n_samples == lose_after)
		net.process[1].lost = true;
}

static void on_note(const char *text, void *arg)
{
	(void)arg;
	n_notes++;
	snprintf(note, sizeof(note), "%s", text);
}

static void on_done(void *arg)
{
	(void)arg;
	n_done++;
}

static void set_up(const struct t_logp *like, uint32_t blocks, double max_sec)
{
	struct np_prtt_conf c = {
		.takes_part = true,
		.max_bytes = 1 << 20,
		.max_sec = max_sec,
		.blocks = blocks,
		.report = on_report,
		.env.note = on_note,
		.done = on_done,
	};

	n_samples = n_done = n_notes = lose_after = 0;
	net = *like;
	t_logp_init(&net);
	for (int i = 0; i < 2; i++) {
		c.is_client = i == 0;
		c.env.net = &net.process[i].net;
		c.env.clock = &net.process[i].clock;
		np_prtt_new(&c, &side[i]);
	}
	net.engine = side[1];
}

static void tear_down(void)
{
	side[0]->ops->free(side[0]);
	side[1]->ops->free(side[1]);
}

/* Runs until both sides are done; false: that never happens. */
static bool run(void)
{
	struct t_logp_process *p = &net.process[0];
	struct np_next next;

	for (unsigned turns = 0; n_done < 1 && turns < 1000000; turns++) {
		p->net.ops->progress(&p->net);
		side[0]->ops->step(side[0], p->now_sec, &next);
	}
	/* Messages in flight arrive; the server may time out. */
	net.tick_sec = 1e-3;
	for (unsigned turns = 0; n_done < 2 && turns < 50000; turns++)
		p->net.ops->progress(&p->net);
	return n_done == 2 || (n_done == 1 && net.process[1].lost);
}

/* clang-format off */
static const struct {
	const char *name;
	struct t_logp net;
	double max_sec;
	/* number of sizes that this limit of a round trip allows, and of those
	 * for which the overheads are measured */
	size_t n_sizes, n_overheads;
	uint32_t S, S_above;
} known[] = {
	{ "InfiniBand", { 1e-6, 0.3e-6, 0.35e-6, 0.5e-6, 0.1e-9, 8192,
	  5e-9, 0.01, 1 }, 20e-3, 25, 6, 8192, 11585 },
	{ "Ethernet", { 20e-6, 5e-6, 6e-6, 7e-6, 0.8e-9, 65536, 50e-9, 0.01, 2 },
	  20e-3, 25, 6, 65536, 92682 },
	{ "the processors copy the bytes",
	  { 20e-6, 5e-6, 6e-6, 7e-6, 0.8e-9, 65536, 50e-9, 0.01, 2, 0.3e-9 },
	  20e-3, 25, 6, 65536, 92682 },
	{ "no rendezvous", { 20e-6, 5e-6, 6e-6, 7e-6, 0.8e-9, 0, 50e-9, 0.01, 3 },
	  20e-3, 25, 6, 0, 0 },
	{ "20 Mbit/s, long messages left out",
	  { 20e-6, 5e-6, 6e-6, 7e-6, 400e-9, 0, 100e-9, 0.01, 4 },
	  20e-3, 15, 4, 0, 0 },
	{ "200 us more", { 220e-6, 5e-6, 6e-6, 7e-6, 0.8e-9, 65536, 50e-9,
	  0.01, 5 },
	  20e-3, 25, 6, 65536, 92682 },
};
/* clang-format on */

/* The results include a few iterations of both sides. */
static int near(double got, double want, double within, double tick_sec)
{
	return fabs(got - want) <= within * want + 4 * tick_sec;
}

T_TEST("the parameters of the network are measured")
{
	T_EACH(r, known) {
		const struct t_logp *t = &r->net;
		struct np_err err = NP_ERR_INIT;
		struct np_loggps_fit f = { 0 };

		set_up(t, 5, r->max_sec);
		T_ROW(r->name, run() && !n_notes);
		T_ROW(r->name,
		      n_samples == 5 * (r->n_sizes + 1 + 2 * r->n_overheads));
		T_ROW(r->name, np_loggps_fit(sample, n_samples, &f, &err) == 0);
		/* Half of the noise of L enters, and sums carry it. */
		T_ROW(r->name, near(f.L.value, t->L, 0.02, t->tick_sec));
		T_ROW(r->name,
		      near(f.o_send.value, t->o_send, 0.02, t->tick_sec));
		T_ROW(r->name,
		      near(f.o_recv.value, t->o_recv, 0.02, t->tick_sec));
		T_ROW(r->name, near(f.g.value, t->g, 0.02, t->tick_sec));
		T_ROW(r->name, fabs(f.G.value - t->G) <= 0.02 * t->G);
		T_ROW(r->name, fabs(f.O.value - t->O) <= 0.05 * t->G);
		T_ROW(r->name, f.S == r->S && f.S_above == r->S_above);
		tear_down();
	}
}

T_TEST("the first block is not reported")
{
	set_up(&known[0].net, 1, 20e-3);
	T_CHECK(run());
	T_CHECK(n_samples == known[0].n_sizes + 1 + 2 * known[0].n_overheads);
	for (size_t i = 0; i < n_samples; i++)
		T_CHECK(sample[i].block == 0);
	tear_down();
}

T_TEST("a lost peer ends the measurement with a message")
{
	set_up(&known[1].net, 5, 20e-3);
	lose_after = 40;
	T_CHECK(run());
	T_CHECK(n_notes == 1 && n_samples == 40);
	T_ROW(note, strstr(note, "does not answer") != NULL);
	tear_down();
}

static bool stop_requested(void)
{
	return n_samples >= 40;
}

T_TEST("it stops on request")
{
	struct np_prtt_conf c = {
		.takes_part = true,
		.is_client = true,
		.max_bytes = 1 << 20,
		.max_sec = 1,
		.blocks = 5,
		.report = on_report,
		.env.note = on_note,
		.done = on_done,
		.stop = stop_requested,
		.env.net = &net.process[0].net,
		.env.clock = &net.process[0].clock,
	};

	/*
	 * Waits of more than a thousand iterations: other work is not
	 * interrupted.
	 */
	set_up(&known[4].net, 5, 1);
	side[0]->ops->free(side[0]);
	net.process[0].n_receives = 0;
	np_prtt_new(&c, &side[0]);
	T_CHECK(run());
	T_CHECK(n_samples == 40);
	/* The other side is a process of its own, which is stopped as well. */
	T_CHECK(n_notes == 1 &&
		!strcmp(note, "the connection to the peer is lost"));
	tear_down();
}

T_TEST("a process without a part sleeps")
{
	const struct np_prtt_conf c = { .max_bytes = 1 };
	struct np_next next = { NP_WAIT_POLL, 0 };
	struct np_engine *e;

	np_prtt_new(&c, &e);
	e->ops->step(e, 1, &next);
	e->ops->free(e);
	T_CHECK(next.how == NP_WAIT_SLEEP && isinf(next.until_sec));
}
