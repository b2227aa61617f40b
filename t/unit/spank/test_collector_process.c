#include "t.h"
#include "np_clock.h"
#include "np_launch.h"

#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define START_MS 60000

/* Starts a collector that is a script of the shell. */
static int start_with(struct np_collector_proc *a, const char *script,
		      int listen_fd, int timeout_ms, struct np_err *err)
{
	static const struct np_launch_request request;
	const char *dir = t_tmpdir();
	FILE *f;
	const char *path = t_text("%s/netprof-collector", dir);

	f = fopen(path, "we");
	if (!f || fprintf(f, "#!/bin/sh\n%s\n", script) < 0 || fclose(f) ||
	    chmod(path, 0755))
		return -EIO;
	return np_collector_start(a, &request, dir, listen_fd, timeout_ms, err);
}

static int start(struct np_collector_proc *a, const char *script)
{
	return start_with(a, script, -1, START_MS, NULL);
}

T_TEST("srun and collector talk both ways")
{
	struct np_collector_proc a = NP_COLLECTOR_INIT;
	double begin_sec = np_mono_sec(), end_sec = 0;
	int status = 0;
	const char *saved = t_path("saved");
	FILE *in;

	T_CHECK(start(&a,
		      t_text("echo ready; read w; "
			     "[ $w = start ] || exit 1; read w x t; [ \"$w $x\" = 'exit 3' ] "
			     "&& echo $t >%s && echo saved; cat; exit $x",
			     saved)) == 0);
	T_CHECK(np_collector_wait_ready(&a, START_MS) == 0);
	np_collector_end(&a, 3, START_MS);
	in = fopen(saved, "re"); /* srun waited for that ... */
	T_CHECK(in && fscanf(in, "%lf", &end_sec) == 1);
	T_CHECK(end_sec > begin_sec - 1e-3 && end_sec < np_mono_sec() + 1e-3);
	if (in)
		fclose(in);
	T_CHECK(np_mono_sec() - begin_sec < START_MS / 1000); /* not longer */
	T_CHECK(a.fd == -1); /* the end of file ends cat */
	T_CHECK(wait(&status) > 0 && WEXITSTATUS(status) == 3);
}

T_TEST("a missing collector is named")
{
	static const struct np_launch_request request;
	struct np_collector_proc a = NP_COLLECTOR_INIT;
	struct np_err err = NP_ERR_INIT;

	T_CHECK(np_collector_start(&a, &request, "/no/such", -1, START_MS,
				   &err) == -ENOENT);
	T_CHECK(strstr(err.text, "/no/such/netprof-collector: No such file"));
	T_CHECK(a.fd == -1);
	T_CHECK(np_collector_wait_ready(&a, 100) == -EPIPE);
	np_collector_end(&a, 0, 100);
	while (wait(NULL) > 0)
		;
}

T_TEST("srun waits no longer than it may")
{
	struct np_collector_proc a = NP_COLLECTOR_INIT;
	double begin_sec;

	T_CHECK(start(&a, "cat") == 0);
	T_CHECK(np_collector_wait_ready(&a, 30) == -ETIMEDOUT);
	begin_sec = np_mono_sec();
	np_collector_end(&a, 0, 30);
	T_CHECK(np_mono_sec() - begin_sec < START_MS / 1000);
	wait(NULL);
}

T_TEST("a collector that died does srun no harm")
{
	struct np_collector_proc a = NP_COLLECTOR_INIT;

	T_CHECK(start(&a, "exit 0") == 0);
	wait(NULL);
	/* What is said to it: SIGPIPE would end this test. */
	T_CHECK(np_collector_wait_ready(&a, 1000) == -EPIPE);
	np_collector_end(&a, 0, 1000);
}

T_TEST("own session, own directory, no stray descriptors")
{
	struct np_collector_proc a = NP_COLLECTOR_INIT;
	int status = 0;

	T_CHECK(dup2(0, 20) == 20); /* inherited by a careless exec */
	T_CHECK(start(&a, "[ $(pwd) = / ] && "
			  "[ $(ps -o sid= -p $$) = $$ ] && "
			  "for i in 4 5 6 7 8 9 20; do "
			  "[ ! -e /proc/$$/fd/$i ] || exit 1; done") == 0);
	close(20);
	T_CHECK(wait(&status) > 0 && WIFEXITED(status) &&
		WEXITSTATUS(status) == 0);
	np_collector_end(&a, 0, 0);
}

T_TEST("the user's libraries are not those of the collector")
{
	struct np_collector_proc a = NP_COLLECTOR_INIT;
	int status = 0;

	setenv("LD_LIBRARY_PATH", "/home/u/lib", 1);
	T_CHECK(start(&a, "[ -z \"$LD_LIBRARY_PATH\" ] && [ -n \"$PATH\" ]") ==
		0);
	unsetenv("LD_LIBRARY_PATH");
	T_CHECK(wait(&status) > 0 && WIFEXITED(status) &&
		WEXITSTATUS(status) == 0);
	np_collector_end(&a, 0, 0);
}

/* Here a descriptor that is not open; it might be one too many. */
T_TEST("a child that fails before it is the collector is reported")
{
	struct np_collector_proc a = NP_COLLECTOR_INIT;
	struct np_err err = NP_ERR_INIT;

	T_CHECK(start_with(&a, "exit 0", 999, START_MS, &err) == -EBADF);
	T_ROW(err.text,
	      strstr(err.text, "/netprof-collector: Bad file descriptor"));
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

T_TEST("srun does not wait for a file system that hangs, nor is anything left "
       "of it")
{
	struct np_collector_proc a = NP_COLLECTOR_INIT;
	struct np_err err = NP_ERR_INIT;
	double begin_sec;
	int status = 0;

	T_CHECK(pthread_atfork(NULL, NULL, after_fork) == 0);
	hangs = 1;
	alarm(60); /* the suite ends where nothing else ends the wait */
	begin_sec = np_mono_sec();
	T_CHECK(start_with(&a, "exit 0", -1, 200, &err) == -ETIMEDOUT);
	T_CHECK(np_mono_sec() - begin_sec < 30);
	alarm(0);
	hangs = 0;
	T_ROW(err.text,
	      strstr(err.text, "collector: not loaded within 200 ms"));
	T_CHECK(a.fd == -1);
	/* It does not come to life when srun is long past that. */
	T_CHECK(wait(&status) > 0 && WIFSIGNALED(status) &&
		WTERMSIG(status) == SIGKILL);
}
