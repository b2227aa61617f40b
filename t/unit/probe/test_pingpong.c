#include "t.h"
#include "world.h"

#include "np_engine.h"
#include "np_moments.h"

#define PERIOD_SEC 0.1
#define MAX_SEEN 4096

/* What one process reported. */
struct seen {
	size_t n, n_notes;
	double at_sec[MAX_SEEN], latency_sec[MAX_SEEN];
	struct np_moments latency;
	char note[8][256];
};

static struct seen seen[T_WORLD_MAX];
static const char *const node[] = { "n0", "n1", "n2", "n3" };

static void on_latency(double at_sec, double latency_sec, void *arg)
{
	struct seen *s = arg;

	if (s->n < MAX_SEEN) {
		s->at_sec[s->n] = at_sec;
		s->latency_sec[s->n] = latency_sec;
	}
	s->n++;
	np_moments_add(&s->latency, latency_sec);
}

static void on_note(const char *text, void *arg)
{
	struct seen *s = arg;

	if (s->n_notes < NP_ARRAY_SIZE(s->note))
		snprintf(s->note[s->n_notes], sizeof(s->note[0]), "%s", text);
	s->n_notes++;
}

/* n processes on n nodes of one leaf, paired as the program does it. */
static void set_up(size_t n, double delay_sec, size_t first_rank)
{
	static struct np_place place[NP_NET_LOOP_RANKS];
	struct np_peers pair[T_WORLD_MAX];

	t_world_init(n);
	np_net_loop_set_delay(world.net, delay_sec);
	memset(seen, 0, sizeof(seen));
	for (size_t i = 0; i < n; i++)
		place[first_rank + i] = (struct np_place){ node[i], "" };
	np_pairing_make(place + first_rank, n, pair);
	for (size_t i = 0; i < n; i++) {
		struct np_pingpong_conf c = {
			.env = {
				.net = world.citizen[i].net,
				.clock = &world.clock,
				.rank = (uint32_t)(first_rank + i),
				.place = place, .start_sec = world.now_sec,
				.count = on_latency, .note = on_note,
				.arg = &seen[i],
			},
			.peers = pair[i], .bytes = 1024,
			.period_sec = PERIOD_SEC, .seed = 42 + i,
		};
		struct np_net *net = c.env.net;

		if (c.peers.server != NP_NO_RANK)
			c.peers.server += (long)first_rank;
		if (c.peers.client != NP_NO_RANK)
			c.peers.client += (long)first_rank;
		for (size_t k = 0; k < n; k++)
			net->ops->connect(net, (uint32_t)(first_rank + k), &k,
					  sizeof(k), NULL);
		np_pingpong_new(&c, &world.citizen[i].engine);
	}
}

static const struct {
	const char *name;
	double delay_sec, late_sec;
	double from_sec, to_sec; /* latencies expected */
} delays[] = {
	{ "2 us, as on InfiniBand", 2e-6, 0, 2e-6, 3.1e-6 },
	{ "20 us, as on Ethernet", 20e-6, 0, 20e-6, 21.1e-6 },
	{ "20 us, processes wake 30 us late", 20e-6, 30e-6, 20e-6, 21.1e-6 },
	{ "1 ms, beyond all polling", 1e-3, 0, 1e-3, 1.001e-3 },
	{ "1 ms, processes wake 30 us late", 1e-3, 30e-6, 1e-3, 1.0301e-3 },
	{ "3 s, longer than a period", 3, 0, 3, 3.000001 },
};

T_FIXTURE(NULL, t_world_free);

T_TEST("the latency is half the round trip")
{
	T_EACH(r, delays) {
		set_up(2, r->delay_sec, 0);
		world.late_sec = r->late_sec;
		t_world_run(&world, 40);
		T_ROW(r->name, seen[0].n > 2 && !seen[1].n);
		T_ROW(r->name, seen[0].latency.min >= r->from_sec * 0.999999 &&
				       seen[0].latency.max <= r->to_sec);
		T_ROW(r->name, !seen[0].n_notes && !seen[1].n_notes);
	}
}

/* A path that is slow to warm up, and fast then. */
T_TEST("the first round of an exchange is not counted")
{
	set_up(2, 5e-3, 0);
	while (world.citizen[0].engine->messages == 0)
		t_world_run(&world, 1e-3);
	np_net_loop_set_delay(world.net, 10e-6);
	t_world_run(&world, 1);
	T_CHECK(seen[0].n > 5);
	T_CHECK(seen[0].latency.max < 15e-6);
	T_CHECK(world.citizen[0].engine->messages == 2 * seen[0].n);
	T_CHECK(world.citizen[1].engine->messages == 2 * seen[0].n);
}

T_TEST("exchanges keep the period and meet all phases")
{
	unsigned phase[10] = { 0 };
	double least = INFINITY, most = 0;

	set_up(2, 10e-6, 0);
	t_world_run(&world, 100);
	T_CHECK(t_close((double)seen[0].n, 100 / PERIOD_SEC, 0.03));
	for (size_t i = 0; i + 1 < seen[0].n; i++) {
		double gap = seen[0].at_sec[i + 1] - seen[0].at_sec[i];
		double turn = seen[0].at_sec[i] / PERIOD_SEC;

		least = fmin(least, gap);
		most = fmax(most, gap);
		phase[(int)((turn - floor(turn)) * 10)]++;
	}
	T_CHECK(least > 0.74 * PERIOD_SEC && most < 1.26 * PERIOD_SEC);
	/* A program in step with the period is met in all its phases. */
	for (int i = 0; i < 10; i++)
		T_CHECK(phase[i] > 50);
}

T_TEST("pairs take turns within the period")
{
	double first[8];

	for (size_t r = 0; r < 8; r++) {
		set_up(2, 1e-6, 2 * r);
		t_world_run(&world, 2 * PERIOD_SEC);
		first[r] = seen[0].at_sec[0];
	}
	for (size_t a = 0; a < 8; a++)
		for (size_t b = 0; b < a; b++)
			T_CHECK(fabs(first[a] - first[b]) > 0.03 * PERIOD_SEC);
}

T_TEST("a slow exchange is not followed by a burst")
{
	set_up(2, 0.2, 0);
	t_world_run(&world, 10);
	/* an exchange takes 0.8 s, then a new one starts a period later */
	T_CHECK(seen[0].n >= 9 && seen[0].n <= 13);
	for (size_t i = 0; i + 1 < seen[0].n; i++)
		T_CHECK(seen[0].at_sec[i + 1] - seen[0].at_sec[i] > 0.8);
}

static const struct {
	const char *name;
	double delay_sec, late_sec;
} polls[] = {
	{ "answers come at once", 2e-6, 0 },
	{ "answers take longer than any poll", 2e-3, 0 },
	{ "processes wake up late", 10e-6, 200e-6 },
};

T_TEST("polling takes at most 0.2 % of a core")
{
	T_EACH(r, polls) {
		set_up(2, r->delay_sec, 0);
		world.late_sec = r->late_sec;
		t_world_run(&world, 50);
		for (size_t c = 0; c < 2; c++)
			T_ROW(r->name,
			      world.citizen[c].polled_sec < 0.002 * 50);
	}
}

/* A peer that never speaks costs nothing. */
T_TEST("nobody spins for a silent peer")
{
	set_up(2, 10e-6, 0);
	t_world_run(&world, 2);
	np_net_loop_set_silent(world.net, 1, true);
	t_world_run(&world, 1);
	world.citizen[0].polled_sec = world.citizen[1].polled_sec = 0;
	world.citizen[0].steps = world.citizen[1].steps = 0;
	t_world_run(&world, 100);
	T_CHECK(world.citizen[0].polled_sec == 0);
	T_CHECK(world.citizen[0].steps < 10);
	T_CHECK(world.citizen[1].steps < 10);
	T_CHECK(seen[0].n_notes == 1);
	T_CHECK(!strcmp(seen[0].note[0], "peer on n1 silent for 10 s"));
	T_CHECK(seen[1].n_notes == 1);
	T_CHECK(!strcmp(seen[1].note[0], "peer on n0 silent for 10 s"));
}

T_TEST("the answering side is awake in time")
{
	set_up(2, 10e-6, 0);
	world.late_sec = 20e-6;
	t_world_run(&world, 2); /* it learns how late it wakes */
	world.citizen[1].got_polling = world.citizen[1].got_asleep = 0;
	t_world_run(&world, 20);
	T_CHECK(world.citizen[1].got_polling > 300);
	T_CHECK(world.citizen[1].got_asleep <
		world.citizen[1].got_polling / 20);
	/* and not long before: 50 us of polls for each exchange */
	T_CHECK(world.citizen[1].polled_sec < 22 / PERIOD_SEC * 50e-6);
}

static const struct {
	const char *name;
	uint64_t sent; /* messages of the asker when it begins, modulo 2 */
} silences[] = {
	{ "in the round that warms", 1 },
	{ "in the round that is measured", 0 },
};

/* As when both were stopped by SIGSTOP for a while. */
T_TEST("a silence is noted and not measured")
{
	T_EACH(r, silences) {
		uint64_t sent;

		set_up(2, 10e-6, 0);
		t_world_run(&world, 1);
		sent = world.citizen[0].engine->messages;
		while (world.citizen[0].engine->messages == sent ||
		       world.citizen[0].engine->messages % 2 != r->sent)
			t_world_run(&world, 1e-6);
		np_net_loop_set_delay(world.net, 15);
		t_world_run(&world, 1);
		np_net_loop_set_delay(world.net, 10e-6);
		t_world_run(&world, 60);
		T_ROW(r->name, seen[0].n_notes == 2);
		T_ROW(r->name, !strcmp(seen[0].note[1], "peer on n1 is back"));
		T_ROW(r->name, seen[0].latency.max < 1e-4);
		T_ROW(r->name, seen[0].n > 300);
	}
}

T_TEST("a lost peer is noted once, then all is quiet")
{
	size_t n;

	set_up(2, 10e-6, 0);
	t_world_run(&world, 1);
	n = seen[0].n;
	np_net_loop_kill(world.net, 1);
	t_world_run(&world, NP_LIVENESS_GRACE_SEC / 2);
	T_CHECK(seen[0].n_notes == 0);
	t_world_run(&world, 60);
	T_CHECK(seen[0].n_notes == 1);
	T_CHECK(!strcmp(seen[0].note[0], "peer on n1 lost"));
	T_CHECK(seen[0].n == n);
	world.citizen[0].steps = 0;
	t_world_run(&world, 1000);
	T_CHECK(world.citizen[0].steps < 3);
}

T_TEST("a lost client is noted by its server")
{
	set_up(2, 10e-6, 0);
	t_world_run(&world, 1);
	np_net_loop_kill(world.net, 0);
	t_world_run(&world, 60);
	T_CHECK(seen[1].n_notes == 1);
	T_CHECK(!strcmp(seen[1].note[0], "peer on n0 lost"));
}

T_TEST("in a triangle everybody measures")
{
	set_up(3, 10e-6, 0);
	t_world_run(&world, 20);
	for (size_t i = 0; i < 3; i++) {
		T_CHECK(t_close((double)seen[i].n, 200, 0.1));
		T_CHECK(seen[i].latency.mean < 20e-6);
		T_CHECK(!seen[i].n_notes);
		T_CHECK(world.citizen[i].polled_sec < 0.004 * 20);
	}
	/* one is lost: the two that are left still measure */
	np_net_loop_kill(world.net, 2);
	t_world_run(&world, 20);
	T_CHECK(seen[0].n > 380 && seen[1].n < 210);
}

T_TEST("a process without peer sleeps")
{
	set_up(1, 0, 0);
	t_world_run(&world, 1000);
	T_CHECK(world.citizen[0].steps == 1);
	T_CHECK(world.citizen[0].engine->messages == 0);
}

T_TEST("patience is ten periods, or 10 s")
{
	T_CHECK(np_pingpong_patience_sec(0.1) == 10);
	T_CHECK(np_pingpong_patience_sec(60) == 600);
}
