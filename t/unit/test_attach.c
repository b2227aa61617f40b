#include "t.h"
#include "np_attach.h"

#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int start(struct np_attach *a, const char *script, struct np_err *err)
{
	char *argv[] = { "/bin/sh", "-c", (char *)script, NULL };

	return np_attach_start(a, argv, -1, err);
}

static void test_talks_both_ways(void)
{
	struct np_attach a = NP_ATTACH_INIT;
	int status = 0;

	T_CHECK(start(&a, "echo ready; read w x; [ \"$w $x\" = 'exit 3' ] && "
		      "echo saved; cat; exit $x", NULL) == 0);
	T_CHECK(np_attach_wait(&a, 'r', 5000) == 0);
	np_attach_say(&a, "exit 3\n");
	T_CHECK(np_attach_wait(&a, 's', 5000) == 0);
	np_attach_close(&a); /* the end of file ends cat */
	T_CHECK(wait(&status) > 0 && WEXITSTATUS(status) == 3);
}

static void test_a_missing_program_is_told(void)
{
	struct np_attach a = NP_ATTACH_INIT;
	struct np_err err = NP_ERR_INIT;
	char *argv[] = { "/no/such/netprof-attend", NULL };

	T_CHECK(np_attach_start(&a, argv, -1, &err) == -ENOENT);
	T_CHECK(strstr(err.text, "/no/such/netprof-attend: No such file"));
	T_CHECK(a.to == -1 && a.from == -1);
	np_attach_say(&a, "exit 0\n");
	T_CHECK(np_attach_wait(&a, 's', 100) == -EPIPE);
	while (wait(NULL) > 0)
		;
}

static void test_waits_no_longer_than_told(void)
{
	struct np_attach a = NP_ATTACH_INIT;

	T_CHECK(start(&a, "read x", NULL) == 0);
	T_CHECK(np_attach_wait(&a, 's', 30) == -ETIMEDOUT);
	np_attach_close(&a);
	wait(NULL);
}

static void test_a_dead_attendant_is_no_harm(void)
{
	struct np_attach a = NP_ATTACH_INIT;

	T_CHECK(start(&a, "exit 0", NULL) == 0);
	wait(NULL);
	np_attach_say(&a, "exit 0\n"); /* SIGPIPE would end this test */
	T_CHECK(np_attach_wait(&a, 's', 1000) == -EPIPE);
	np_attach_close(&a);
}

static void test_leaves_the_terminal_alone(void)
{
	struct np_attach a = NP_ATTACH_INIT;
	int status = 0;

	T_CHECK(dup2(0, 20) == 20); /* inherited by a careless exec */
	T_CHECK(start(&a, "[ $(pwd) = / ] && "
		      "[ $(ps -o sid= -p $$) = $$ ] && "
		      "for i in 4 5 6 7 8 9 20; do "
		      "[ ! -e /proc/$$/fd/$i ] || exit 1; done", NULL) == 0);
	close(20);
	T_CHECK(wait(&status) > 0 && WIFEXITED(status) &&
		WEXITSTATUS(status) == 0);
	np_attach_close(&a);
}

static const struct t_case cases[] = {
	{ "srun and attendant talk both ways", test_talks_both_ways },
	{ "a missing attendant is told by name",
	  test_a_missing_program_is_told },
	{ "srun waits no longer than told", test_waits_no_longer_than_told },
	{ "an attendant that died does srun no harm",
	  test_a_dead_attendant_is_no_harm },
	{ "own session, own directory, no stray descriptors",
	  test_leaves_the_terminal_alone },
	{ NULL, NULL },
};
T_SUITE(attach, cases)
