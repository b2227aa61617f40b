#include "t.h"
#include "np_keeper.h"

#include <signal.h>
#include <stdlib.h>
#include <time.h>

#define PATIENCE_SEC 10.0

/* A side step that is a shell command. */
static struct np_sidecmd shell(char *command)
{
	return (struct np_sidecmd){
		.argv = { "/bin/sh", "-c", command, NULL }, .argc = 3,
	};
}

/* Tick at one moment of the test's clock until there is news, at most 5 s. */
static enum np_keeper_news news(struct np_keeper *k, int up, double now_sec)
{
	enum np_keeper_news n = NP_KEEPER_QUIET;

	for (int i = 0; i < 2500 && n == NP_KEEPER_QUIET; i++) {
		n = np_keeper_tick(k, up, now_sec);
		nanosleep(&(struct timespec){ 0, 2000000 }, NULL);
	}
	return n;
}

static char *env[] = { NULL };

static void test_a_silent_step_is_started_again(void)
{
	struct np_sidecmd cmd = shell("exec sleep 60");
	struct np_keeper k = NP_KEEPER_INIT;
	pid_t first;

	T_CHECK(np_keeper_start(&k, &cmd, env, PATIENCE_SEC, 100, NULL) == 0);
	first = k.step.pid;
	T_CHECK(np_keeper_tick(&k, false, 109) == NP_KEEPER_QUIET);
	T_CHECK(news(&k, false, 111) == NP_KEEPER_AGAIN);
	T_CHECK(k.starts == 2 && k.step.pid && k.step.pid != first);
	/* its patience begins anew */
	T_CHECK(np_keeper_tick(&k, false, 120) == NP_KEEPER_QUIET);
	T_CHECK(news(&k, false, 122) == NP_KEEPER_AGAIN);
	/* the third one may be silent for ever */
	T_CHECK(np_keeper_tick(&k, false, 500) == NP_KEEPER_QUIET);
	T_CHECK(!np_sidestep_reap(&k.step));
	np_sidestep_signal(&k.step, SIGKILL);
	T_CHECK(news(&k, false, 501) == NP_KEEPER_LOST);
	np_keeper_free(&k);
}

static void test_a_step_that_came_up_is_left_alone(void)
{
	struct np_sidecmd cmd = shell("exec sleep 60");
	struct np_keeper k = NP_KEEPER_INIT;

	T_CHECK(np_keeper_start(&k, &cmd, env, PATIENCE_SEC, 0, NULL) == 0);
	T_CHECK(np_keeper_tick(&k, true, 1000) == NP_KEEPER_QUIET);
	T_CHECK(k.starts == 1 && !np_sidestep_reap(&k.step));
	np_sidestep_signal(&k.step, SIGKILL);
	T_CHECK(news(&k, true, 1001) == NP_KEEPER_LOST);
	T_CHECK(np_keeper_tick(&k, true, 1002) == NP_KEEPER_QUIET);
	np_keeper_free(&k);
}

static void test_a_stubborn_step_is_killed(void)
{
	struct np_sidecmd cmd = shell("trap '' TERM; while :; do sleep 1; "
				      "done");
	struct np_keeper k = NP_KEEPER_INIT;

	T_CHECK(np_keeper_start(&k, &cmd, env, PATIENCE_SEC, 0, NULL) == 0);
	T_CHECK(news(&k, false, 20) == NP_KEEPER_AGAIN);
	np_sidestep_signal(&k.step, SIGKILL);
	T_CHECK(news(&k, true, 21) == NP_KEEPER_LOST);
	np_keeper_free(&k);
}

static void test_a_step_that_fails_is_not_tried_again(void)
{
	struct np_sidecmd cmd = shell("exit 1");
	struct np_keeper k = NP_KEEPER_INIT;

	T_CHECK(np_keeper_start(&k, &cmd, env, PATIENCE_SEC, 0, NULL) == 0);
	T_CHECK(news(&k, false, 1) == NP_KEEPER_LOST);
	T_CHECK(k.starts == 1);
	np_keeper_free(&k);
}

static const struct t_case cases[] = {
	{ "probes that do not come up are started again, three times at most",
	  test_a_silent_step_is_started_again },
	{ "probes that came up are left alone",
	  test_a_step_that_came_up_is_left_alone },
	{ "a step that ignores SIGTERM is killed",
	  test_a_stubborn_step_is_killed },
	{ "a step that fails is reported, not tried again",
	  test_a_step_that_fails_is_not_tried_again },
	{ NULL, NULL },
};
T_SUITE(keeper, cases)
