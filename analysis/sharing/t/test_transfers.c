#include "t.h"
#include "world.h"

#include "np_schedule.h"
#include "np_transfers.h"

#define TRIALS 4
#define MOST 4
#define DELAY_SEC 1e-3

struct seen {
	size_t n_done, n_over;
	double sec[TRIALS][MOST];
	size_t n[TRIALS];
	int rc;
	char why[96];
};

static struct seen seen[T_WORLD_MAX];

static const struct np_transfer fan[] = {
	{ 0, 1, 100, 0 },
	{ 0, 2, 5000, 0 },
	{ 2, 1, 1, 0.25 },
	{ 1, 0, 9, 0 },
};
static const struct np_trial trials[TRIALS] = {
	{ fan, 4 },
	{ fan + 2, 1 },
	{ fan, 0 },
	{ fan + 1, 2 },
};

static void on_done(size_t i, const double *sec, void *arg)
{
	struct seen *s = arg;

	T_CHECK(i == s->n_done++ && i < TRIALS);
	memcpy(s->sec[i], sec, trials[i].n * sizeof(*sec));
	s->n[i] = trials[i].n;
}

static void on_over(int rc, const char *why, void *arg)
{
	struct seen *s = arg;

	s->n_over++;
	s->rc = rc;
	snprintf(s->why, sizeof(s->why), "%s", why);
}

static void set_up(size_t n)
{
	t_world_init(n);
	np_net_loop_set_delay(world.net, DELAY_SEC);
	memset(seen, 0, sizeof(seen));
	for (size_t i = 0; i < n; i++) {
		const struct np_transfers_conf c = {
			.env = {
				.net = world.citizen[i].net,
				.clock = &world.clock, .rank = (uint32_t)i,
				.arg = &seen[i],
			},
			.n_ranks = (uint32_t)n,
			.trial = trials, .n_trials = TRIALS,
			.patience_sec = 30, .done = on_done, .over = on_over,
		};

		T_CHECK(!np_transfers_new(&c, &world.citizen[i].engine));
	}
}

T_FIXTURE(NULL, t_world_free);

/* Both ways: twice the time of a message, whenever it starts. */
T_TEST("the time of a transfer includes the token")
{
	for (size_t n = 3; n < T_WORLD_MAX; n += 2) {
		set_up(n);
		t_world_run(&world, 10);
		T_CHECK(seen[0].n_done == TRIALS);
		for (size_t i = 0; i < TRIALS; i++)
			for (size_t k = 0; k < seen[0].n[i]; k++)
				T_CHECK(t_close(seen[0].sec[i][k],
						2 * DELAY_SEC, 0.02));
		for (size_t i = 0; i < n; i++) {
			T_CHECK(seen[i].n_over == 1 && !seen[i].rc);
			T_CHECK(!i || !seen[i].n_done);
		}
	}
}

T_TEST("processes sleep while they wait")
{
	set_up(3);
	t_world_run(&world, 10);
	for (size_t i = 0; i < 3; i++)
		T_CHECK(world.citizen[i].steps < 200);
}

T_TEST("a lost process ends the measurement")
{
	set_up(3);
	t_world_run(&world, DELAY_SEC);
	np_net_loop_kill(world.net, 2);
	t_world_run(&world, 10);
	for (size_t i = 0; i < 2; i++) {
		T_CHECK(seen[i].n_over == 1 && seen[i].rc == -ECONNRESET);
		T_CHECK(strstr(seen[i].why, "process 2 is lost: ") ||
			strstr(seen[i].why, "a message failed: "));
	}
}

T_TEST("a trial without end is abandoned")
{
	set_up(3);
	np_net_loop_set_silent(world.net, 1, true);
	t_world_run(&world, 29);
	T_CHECK(!seen[0].n_over);
	t_world_run(&world, 3);
	T_CHECK(seen[0].n_over == 1 && seen[0].rc == -ETIMEDOUT);
	T_CHECK(!strcmp(seen[0].why, "trial 0 has not ended after 30 s"));
}

/* Measurements of schemes */

static const char two[] =
	"size 2K\n"
	"scheme fan\nreference 4K\na: x -> y\nb: x -> z 1K at 5ms\nc: y -> z\n"
	"scheme back\na: z -> x 1K\n";

static const uint32_t rank_of[] = { 3, 1, 2, 2, 3 };

static int schedule(const char *text, uint32_t repeats,
		    struct np_scheme_set *set, struct np_schedule *s,
		    struct np_err *err)
{
	int rc = np_scheme_parse(text, strlen(text), "x", set, err);

	T_CHECK(!rc);
	return np_schedule_new(set, rank_of, repeats, s, err);
}

T_TEST("each repetition measures every size alone, then all together")
{
	/* warm-up, and three times: reference, 2K, 1K, all */
	static const size_t n[] = { 3, 1, 1, 1, 3, 1, 1, 1, 3, 1,
				    1, 1, 3, 1, 1, 1, 1, 1, 1, 1 };
	static const uint32_t bytes[] = { 2048, 4096, 2048, 1024 };
	struct np_scheme_set set;
	struct np_schedule s;

	T_CHECK(!schedule(two, 3, &set, &s, NULL));
	T_CHECK(s.n == NP_ARRAY_SIZE(n));
	for (size_t i = 0; i < s.n; i++)
		T_CHECK(s.trial[i].n == n[i]);
	for (size_t i = 0; i < NP_ARRAY_SIZE(bytes); i++)
		T_CHECK(s.trial[i].t[0].bytes == bytes[i]);
	T_CHECK(s.trial[0].t[1].from == 3 && s.trial[0].t[1].to == 2);
	T_CHECK(s.trial[0].t[1].at_sec == 0.005);
	T_CHECK(s.trial[3].t[0].from == 3 && s.trial[3].t[0].to == 2);
	T_CHECK(s.trial[3].t[0].at_sec == 0);
	np_schedule_free(&s);
	np_scheme_free(&set);
}

T_TEST("penalties refer to the time alone of the same repetition")
{
	/* in the second repetition everything takes twice as long: a drift */
	const double sec[9][3] = { { 99, 99, 99 }, { 4 },	{ 2 },
				   { 1 },	   { 3, 3, 4 }, { 8 },
				   { 4 },	   { 2 },	{ 6, 6, 10 } };
	struct np_scheme_set set;
	struct np_schedule s;
	const struct np_measured_scheme *g;

	T_CHECK(!schedule(two, 2, &set, &s, NULL));
	for (size_t i = 0; i < 9; i++)
		np_schedule_done(i, sec[i], &s);
	g = &s.result[0];
	T_CHECK(g->reference.n == 2 && g->reference.mean == 6);
	T_CHECK(g->penalty[0].n == 2 && g->penalty[0].mean == 1.5);
	T_CHECK(np_moments_sd(&g->penalty[0]) == 0);
	T_CHECK(g->penalty[1].mean == 3 && g->sec[1].mean == 4.5);
	T_CHECK(g->penalty[2].mean == 2.25 && g->penalty[2].min == 2);
	T_CHECK(!s.result[1].reference.n && !s.result[1].penalty[0].n);
	np_schedule_free(&s);
	np_scheme_free(&set);
}

static const struct {
	const char *name, *text, *says;
	uint32_t repeats;
	int rc;
} refused[] = {
	{ "an empty transfer", "a: x -> y 0\nb: x -> y 1K",
	  "scheme x: a has 0 bytes, expected 1 to 67108864", 2, -EINVAL },
	{ "a large transfer", "reference 1M\na: x -> y 65M",
	  "a has 68157440 bytes", 2, -EINVAL },
	{ "a large reference", "reference 1G\na: x -> y",
	  "a reference of 1073741824 bytes", 2, -EINVAL },
	{ "nodes on one process", "a: p -> q\nb: r -> s",
	  "scheme x: b: both nodes are process 2", 2, -EINVAL },
	{ "too many trials", "a: x -> y", "100001 trials, expected at most",
	  50000, -E2BIG },
};

T_TEST("impossible measurements are rejected with a message")
{
	T_EACH(r, refused) {
		struct np_err err = NP_ERR_INIT;
		struct np_scheme_set set;
		struct np_schedule s;

		T_ROW(r->name,
		      schedule(r->text, r->repeats, &set, &s, &err) == r->rc);
		T_ROW(r->name, strstr(err.text, r->says));
		np_scheme_free(&set);
	}
}
