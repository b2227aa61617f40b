#include "t.h"
#include "np_launch.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define START_MS 60000

static int start(struct np_collector_proc *a, const char *script, struct np_err *err)
{
	char *argv[] = { "/bin/sh", "-c", (char *)script, NULL };

	return np_collector_exec(a, argv, -1, START_MS, err);
}

static void test_talks_both_ways(void)
{
	struct np_collector_proc a = NP_COLLECTOR_INIT;
	int status = 0;

	T_CHECK(start(&a, "echo ready; read w x; [ \"$w $x\" = 'exit 3' ] && "
		      "echo saved; cat; exit $x", NULL) == 0);
	T_CHECK(np_collector_wait(&a, 'r', START_MS) == 0);
	np_collector_say(&a, "exit 3\n");
	T_CHECK(np_collector_wait(&a, 's', START_MS) == 0);
	np_collector_close(&a); /* the end of file ends cat */
	T_CHECK(wait(&status) > 0 && WEXITSTATUS(status) == 3);
}

static void test_a_missing_program_is_named(void)
{
	struct np_collector_proc a = NP_COLLECTOR_INIT;
	struct np_err err = NP_ERR_INIT;
	char *argv[] = { "/no/such/netprof-collector", NULL };

	T_CHECK(np_collector_exec(&a, argv, -1, START_MS, &err) == -ENOENT);
	T_CHECK(strstr(err.text, "/no/such/netprof-collector: No such file"));
	T_CHECK(a.fd == -1);
	np_collector_say(&a, "exit 0\n");
	T_CHECK(np_collector_wait(&a, 's', 100) == -EPIPE);
	while (wait(NULL) > 0)
		;
}

static void test_waits_no_longer_than_it_may(void)
{
	struct np_collector_proc a = NP_COLLECTOR_INIT;

	T_CHECK(start(&a, "read x", NULL) == 0);
	T_CHECK(np_collector_wait(&a, 's', 30) == -ETIMEDOUT);
	np_collector_close(&a);
	wait(NULL);
}

static void test_a_dead_collector_is_no_harm(void)
{
	struct np_collector_proc a = NP_COLLECTOR_INIT;

	T_CHECK(start(&a, "exit 0", NULL) == 0);
	wait(NULL);
	np_collector_say(&a, "exit 0\n"); /* SIGPIPE would end this test */
	T_CHECK(np_collector_wait(&a, 's', 1000) == -EPIPE);
	np_collector_close(&a);
}

static void test_leaves_the_terminal_alone(void)
{
	struct np_collector_proc a = NP_COLLECTOR_INIT;
	int status = 0;

	T_CHECK(dup2(0, 20) == 20); /* inherited by a careless exec */
	T_CHECK(start(&a, "[ $(pwd) = / ] && "
		      "[ $(ps -o sid= -p $$) = $$ ] && "
		      "for i in 4 5 6 7 8 9 20; do "
		      "[ ! -e /proc/$$/fd/$i ] || exit 1; done", NULL) == 0);
	close(20);
	T_CHECK(wait(&status) > 0 && WIFEXITED(status) &&
		WEXITSTATUS(status) == 0);
	np_collector_close(&a);
}

/* Here a descriptor that is not open; it might be one too many. */
static void test_a_child_that_fails_before_the_program(void)
{
	struct np_collector_proc a = NP_COLLECTOR_INIT;
	struct np_err err = NP_ERR_INIT;
	char *argv[] = { "/bin/true", NULL };

	T_CHECK(np_collector_exec(&a, argv, 999, START_MS, &err) == -EBADF);
	T_ROW(err.text, strstr(err.text, "/bin/true: Bad file descriptor"));
	T_CHECK(a.fd == -1);
	wait(NULL);
}

/* A process that was forked stands still before it is another program. */
static volatile sig_atomic_t hangs;

static void after_fork(void)
{
	while (hangs)
		pause();
}

static void test_a_program_that_cannot_be_loaded_is_not_waited_for(void)
{
	struct np_collector_proc a = NP_COLLECTOR_INIT;
	struct np_err err = NP_ERR_INIT;
	struct timespec from, to;
	char *argv[] = { "/bin/true", NULL };
	int status = 0;

	T_CHECK(pthread_atfork(NULL, NULL, after_fork) == 0);
	hangs = 1;
	alarm(60); /* the suite ends where nothing else ends the wait */
	clock_gettime(CLOCK_MONOTONIC, &from);
	T_CHECK(np_collector_exec(&a, argv, -1, 200, &err) == -ETIMEDOUT);
	clock_gettime(CLOCK_MONOTONIC, &to);
	alarm(0);
	hangs = 0;
	T_ROW(err.text, strstr(err.text, "true: not loaded within 200 ms"));
	T_CHECK(to.tv_sec - from.tv_sec < 30);
	T_CHECK(a.fd == -1);
	/* It does not come to life when srun is long past that. */
	T_CHECK(wait(&status) > 0 && WIFSIGNALED(status) &&
		WTERMSIG(status) == SIGKILL);
}

static const struct t_case cases[] = {
	{ "srun and collector talk both ways", test_talks_both_ways },
	{ "a missing collector is named", test_a_missing_program_is_named },
	{ "srun waits no longer than it may",
	  test_waits_no_longer_than_it_may },
	{ "a collector that died does srun no harm",
	  test_a_dead_collector_is_no_harm },
	{ "own session, own directory, no stray descriptors",
	  test_leaves_the_terminal_alone },
	{ "a child that fails before it is the collector is reported",
	  test_a_child_that_fails_before_the_program },
	{ "srun does not wait for a file system that hangs, nor is anything "
	  "left of it",
	  test_a_program_that_cannot_be_loaded_is_not_waited_for },
	{ NULL, NULL },
};
T_SUITE(collector_process, cases)
