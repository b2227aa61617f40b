#include "t.h"
#include "world.h"

#include "np_engine.h"
#include "np_moments.h"

struct seen {
	struct np_moments round;
	size_t n_notes;
	char note[256];
};

static struct seen seen[T_WORLD_MAX];
static size_t from[T_WORLD_MAX][T_WORLD_MAX], to[T_WORLD_MAX][T_WORLD_MAX];
static const struct np_place place[] = {
	{ "n0", "leaf" },
	{ "n1", "leaf" },
	{ "n2", "leaf" },
	{ "n3", "leaf" },
};

static void on_round(double at_sec, double round_sec, void *arg)
{
	(void)at_sec;
	np_moments_add(&((struct seen *)arg)->round, round_sec);
}

static void on_note(const char *text, void *arg)
{
	struct seen *s = arg;

	s->n_notes++;
	snprintf(s->note, sizeof(s->note), "%s", text);
}

static void set_up(size_t n, const char *level, double delay_sec)
{
	t_world_init(n);
	np_net_loop_set_delay(world.net, delay_sec);
	memset(seen, 0, sizeof(seen));
	for (size_t i = 0; i < n; i++) {
		size_t got;
		struct np_rounds_conf c = {
			.env = {
				.net = world.citizen[i].net,
				.clock = &world.clock, .rank = (uint32_t)i,
				.place = place, .start_sec = world.now_sec,
				.count = on_round, .note = on_note,
				.arg = &seen[i],
			},
			.from = from[i], .to = to[i],
		};

		T_CHECK(np_level_parse(level, &c.level, NULL) == 0);
		np_pairing_ring(place, n, false, i, c.level.peers, to[i],
				from[i], &got);
		c.level.peers = (uint32_t)got;
		np_rounds_new(&c, &world.citizen[i].engine);
	}
}

static const struct {
	const char *name, *level;
	size_t nodes;
	double delay_sec, round_sec;
	uint64_t messages; /* per round */
} levels[] = {
	{ "a pause and a transfer", "P1:M1:B10ms", 2, 1e-3, 11e-3, 1 },
	{ "three messages to two peers", "P2:M3:B10ms", 4, 1e-3, 11e-3, 6 },
	{ "more peers than nodes", "P9:M2:B10ms", 4, 1e-3, 11e-3, 6 },
	{ "no pause", "P1:M1:B0s", 3, 1e-3, 1e-3, 1 },
	{ "a pause too short to sleep", "P1:M1:B20us", 3, 1e-3, 1.02e-3, 1 },
	{ "a fast network", "P1:M1:B200us", 2, 5e-6, 205e-6, 1 },
};

T_FIXTURE(NULL, t_world_free);

T_TEST("a round takes its pause plus its transfers")
{
	T_EACH(r, levels) {
		const char *name = r->name;
		double sec = 100 * r->round_sec;

		set_up(r->nodes, r->level, r->delay_sec);
		t_world_run(&world, sec);
		for (size_t c = 0; c < r->nodes; c++) {
			struct np_moments *m = &seen[c].round;
			uint64_t sent = world.citizen[c].engine->messages;

			T_ROW(name, t_close(m->mean, r->round_sec, 0.01));
			/* the first is not counted, the last is not over */
			T_ROW(name, m->n >= 95 && m->n <= 99);
			T_ROW(name, sent % r->messages == 0);
			T_ROW(name, t_close((double)sent,
					    (double)((m->n + 2) * r->messages),
					    0.011));
			T_ROW(name, !seen[c].n_notes);
		}
	}
}

T_TEST("pauses vary, and keep their mean also over few rounds")
{
	static const size_t rounds_of[] = { 10, 30, 100 };

	for (size_t i = 0; i < NP_ARRAY_SIZE(rounds_of); i++) {
		struct np_moments *m = &seen[0].round;
		const char *name = t_text("%zu rounds", rounds_of[i]);

		set_up(2, "P1:M1:B100ms", 0);
		t_world_run(&world, 0.1 * ((double)rounds_of[i] + 1.5));
		T_ROW(name,
		      m->n >= rounds_of[i] - 1 && m->n <= rounds_of[i] + 1);
		T_ROW(name, fabs(m->mean - 0.1) < 0.1 * 0.6 / (double)m->n);
		T_ROW(name, m->min >= 0.05 && m->min < 0.06);
		T_ROW(name, m->max <= 0.15 && m->max > 0.14);
		T_ROW(name, seen[1].round.n == m->n);
	}
}

T_TEST("a slower network shows in full, even with a long pause")
{
	set_up(2, "P1:M1:B60ms", 10e-3);
	t_world_run(&world, 100);
	T_CHECK(t_close(seen[0].round.mean, 70e-3, 1e-3));
	np_net_loop_set_delay(world.net, 20e-3);
	t_world_run(&world, 0.2);
	memset(seen, 0, sizeof(seen));
	t_world_run(&world, 100);
	T_CHECK(t_close(seen[0].round.mean, 80e-3, 1e-3));
}

T_TEST("waiting does not spin")
{
	set_up(4, "P2:M4:B5ms", 20e-3);
	t_world_run(&world, 10);
	for (size_t i = 0; i < 4; i++) {
		double n = (double)seen[i].round.n + 2;

		T_CHECK(n > 350);
		T_CHECK(world.citizen[i].polled_sec <
			n * 1.05 * NP_ROUNDS_POLL_SEC);
	}
}

T_TEST("a process without peer sleeps")
{
	set_up(1, "c7", 0);
	t_world_run(&world, 1000);
	T_CHECK(world.citizen[0].steps == 1);
	T_CHECK(world.citizen[0].engine->messages == 0);
}

T_TEST("the loss of a peer is noted and ends the rounds")
{
	set_up(3, "P1:M1:B10ms", 1e-3);
	t_world_run(&world, 1);
	np_net_loop_kill(world.net, 1); /* the successor of n0 */
	t_world_run(&world, 1);
	T_CHECK(!seen[0].n_notes);
	t_world_run(&world, 200);
	T_CHECK(seen[0].n_notes == 1);
	T_CHECK(!strcmp(seen[0].note, "peer on n1 lost"));
	/* n2 waits for n1 and sends to n0: it sees a round without end */
	T_CHECK(seen[2].n_notes == 1);
	T_CHECK(!strcmp(seen[2].note, "round not over 30 s after its pause"));
	world.citizen[0].steps = world.citizen[2].steps = 0;
	t_world_run(&world, 1000);
	T_CHECK(world.citizen[0].steps < 3 && world.citizen[2].steps < 3);
}

/* n2 sends to n0, which sends to n1. */
T_TEST("a receive that fails is of the peer before")
{
	set_up(3, "P1:M1:B10ms", 1e-3);
	t_world_run(&world, 1);
	np_net_loop_fail_receives(world.net, 0);
	t_world_run(&world, 200);
	T_CHECK(seen[0].n_notes == 1);
	T_CHECK(!strcmp(seen[0].note, "peer on n2 lost"));
}

/*
 * n2 and n3 send two messages each to n0 in a round. Receives are in the order
 * of peers, and sends in turns.
 */
T_TEST("of several peers before, the one that sent nothing is named")
{
	for (size_t k = 0; k < 2; k++) {
		size_t missing;

		set_up(4, "P2:M2:B10ms", 1e-3);
		missing = from[0][k];
		t_world_run(&world, 1);
		np_net_loop_set_silent(world.net, missing, true);
		t_world_run(&world, 1);
		np_net_loop_fail_receives(world.net, 0);
		t_world_run(&world, 200);
		T_CHECK(seen[0].n_notes == 1);
		T_CHECK(!strcmp(seen[0].note,
				t_text("peer on n%zu lost", missing)));
	}
}

T_TEST("an endless round is noted and not counted")
{
	set_up(2, "P1:M1:B10ms", 1e-3);
	t_world_run(&world, 1);
	np_net_loop_set_delay(world.net, 100);
	t_world_run(&world, 1);
	np_net_loop_set_delay(world.net, 1e-3);
	t_world_run(&world, 150);
	T_CHECK(seen[0].n_notes == 1);
	T_CHECK(seen[0].round.max < 0.02);
	T_CHECK(seen[0].round.n > 4000);
}
