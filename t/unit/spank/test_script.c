#include "t.h"
#include "np_script.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "np_clock.h"

#define NOBODY 65534
#define PATIENCE_MS 20000

/* No job of this machine's, nor of this test's other runs. */
static uint32_t job(void)
{
	return 0xf0000000u + (uint32_t)getpid();
}

/* The line that somebody said, once there is one. */
static bool says(int listen_fd, const char *line)
{
	char buf[32] = "";
	struct pollfd p = { .fd = np_script_accept(listen_fd),
			    .events = POLLIN };
	bool good = p.fd >= 0 && poll(&p, 1, PATIENCE_MS) == 1 &&
		    read(p.fd, buf, sizeof(buf) - 1) > 0 && !strcmp(buf, line);

	if (p.fd >= 0)
		close(p.fd);
	return good;
}

static void test_all_attendants_are_told(void)
{
	int a = np_script_listen(job()), b = np_script_listen(job());
	int other = np_script_listen(job() - 1);

	T_CHECK(a >= 0 && b >= 0 && other >= 0);
	np_script_tell(job(), getuid(), 143, 0);
	T_CHECK(says(a, "exit 143\n") && says(b, "exit 143\n"));
	T_CHECK(np_script_accept(other) == -EAGAIN);
	close(a);
	close(b);
	close(other);
}

static void *tell(void *sec)
{
	double start = np_mono_sec();

	np_script_tell(job(), getuid(), 0, PATIENCE_MS);
	*(double *)sec = np_mono_sec() - start;
	return NULL;
}

static void test_a_script_waits_for_those_that_save(void)
{
	int fd = np_script_listen(job());
	struct pollfd p = { .fd = fd, .events = POLLIN };
	double sec = 0;
	pthread_t thread;
	int who;

	T_CHECK(fd >= 0 && !pthread_create(&thread, NULL, tell, &sec));
	T_CHECK(poll(&p, 1, PATIENCE_MS) == 1);
	who = np_script_accept(fd);
	T_CHECK(who >= 0);
	usleep(100000);
	close(who);
	pthread_join(thread, NULL);
	T_CHECK(sec >= 0.1 && 1e3 * sec < PATIENCE_MS / 2.0);
	close(fd);
}

static void test_a_script_waits_no_longer_than_told(void)
{
	int fd = np_script_listen(job());
	double start = np_mono_sec(), sec;

	np_script_tell(job(), getuid(), 0, 50); /* nobody accepts */
	sec = np_mono_sec() - start;
	T_CHECK(sec >= 0.04 && 1e3 * sec < PATIENCE_MS);
	close(fd);
	start = np_mono_sec();
	np_script_tell(job(), getuid(), 0, PATIENCE_MS); /* nobody is there */
	T_CHECK(1e3 * (np_mono_sec() - start) < PATIENCE_MS / 2.0);
}

static void test_as_many_as_there_are_slots(void)
{
	int fd[NP_SCRIPT_SLOTS + 1];

	for (int i = 0; i < NP_SCRIPT_SLOTS; i++)
		T_CHECK((fd[i] = np_script_listen(job())) >= 0);
	T_CHECK(np_script_listen(job()) == -EADDRINUSE);
	close(fd[7]);
	T_CHECK((fd[7] = np_script_listen(job())) >= 0);
	for (int i = 0; i < NP_SCRIPT_SLOTS; i++)
		close(fd[i]);
}

static void test_other_users_are_not_heard(void)
{
	uint32_t here = job();
	int fd, status;
	pid_t pid;

	if (getuid())
		return; /* root alone can be another */
	fd = np_script_listen(here);
	pid = fork();
	if (!pid)
		_exit(setuid(NOBODY) || (np_script_tell(here, 0, 0, 0), 0));
	T_CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	T_CHECK(np_script_accept(fd) == -EPERM);
	/* Nor told: the socket may be anybody's. */
	np_script_tell(here, NOBODY, 0, 0);
	T_CHECK(!says(fd, "exit 0\n"));
	close(fd);
}

static const struct t_case cases[] = {
	{ "all attendants of a job hear that its script has ended",
	  test_all_attendants_are_told },
	{ "a script's end waits for those that save",
	  test_a_script_waits_for_those_that_save },
	{ "and no longer than told", test_a_script_waits_no_longer_than_told },
	{ "one more than there are slots is not heard of",
	  test_as_many_as_there_are_slots },
	{ "other users neither tell nor are told",
	  test_other_users_are_not_heard },
	{ NULL, NULL },
};

T_SUITE(script, cases)
