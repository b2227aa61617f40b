#include "t.h"
#include "np_script.h"

#include <poll.h>
#include <sys/wait.h>

#include "np_clock.h"

#define NOBODY 65534
#define PATIENCE_MS 120000

/* No job of this machine's, nor of this test's other runs. */
static uint32_t job(void)
{
	return 0xf0000000u + (uint32_t)getpid();
}

/* What was received, once it is there; -1: nothing, or the caller left. */
static int received(struct np_script *s)
{
	struct pollfd p = { .events = POLLIN };
	int code;

	do {
		p.fd = s->fd;
		if (p.fd < 0 || poll(&p, 1, PATIENCE_MS) != 1)
			return -1;
		if (np_script_read(s, &code))
			return code;
	} while (s->connected);
	return -1;
}

T_TEST("all collectors of a job learn that its script has ended")
{
	struct np_script a, b, other;
	int code;

	T_CHECK(!np_script_listen(&a, job()) && !np_script_listen(&b, job()) &&
		!np_script_listen(&other, job() - 1));
	np_script_announce(job(), getuid(), 143, 0);
	T_CHECK(received(&a) == 143 && received(&b) == 143);
	T_CHECK(!np_script_read(&other, &code) && !other.connected);
	np_script_close(&a);
	np_script_close(&b);
	np_script_close(&other);
	T_CHECK(a.fd == -1);
}

/* Listens, says so, receives, closes, and lives a little longer. */
static void run_collector(uint32_t job_id, int ready)
{
	struct np_script s;
	int code = np_script_listen(&s, job_id);

	if (write(ready, "", 1) != 1)
		_exit(1);
	if (!code)
		code = received(&s);
	np_script_close(&s);
	usleep(100000);
	_exit(code);
}

/* Slurm looks for what is left of a job when it learns of its end. */
T_TEST("a script's end waits until those that save are gone")
{
	uint32_t here = job();
	int ready[2], status = -1;
	double start, sec;
	char said;
	pid_t pid;

	T_CHECK(!pipe(ready));
	pid = fork();
	if (!pid)
		run_collector(here, ready[1]);
	T_CHECK(pid > 0 && read(ready[0], &said, 1) == 1);
	start = np_mono_sec();
	np_script_announce(here, getuid(), 7, PATIENCE_MS);
	sec = np_mono_sec() - start;
	T_CHECK(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 7);
	T_CHECK(sec >= 0.1 && 1e3 * sec < PATIENCE_MS / 2.0);
	close(ready[0]);
	close(ready[1]);
}

T_TEST("a script waits no longer than its limit")
{
	double start = np_mono_sec(), sec;
	struct np_script s;

	T_CHECK(!np_script_listen(&s, job()));

	np_script_announce(job(), getuid(), 0, 50); /* nobody accepts */
	sec = np_mono_sec() - start;
	T_CHECK(sec >= 0.04 && 1e3 * sec < PATIENCE_MS);
	np_script_close(&s);
	start = np_mono_sec();
	np_script_announce(job(), getuid(), 0,
			   PATIENCE_MS); /* nobody is there */
	T_CHECK(1e3 * (np_mono_sec() - start) < PATIENCE_MS / 2.0);
}

T_TEST("one step more than there are slots is ignored")
{
	struct np_script s[NP_SCRIPT_SLOTS + 1];

	for (int i = 0; i < NP_SCRIPT_SLOTS; i++)
		T_CHECK(!np_script_listen(&s[i], job()));
	T_CHECK(np_script_listen(&s[NP_SCRIPT_SLOTS], job()) == -EADDRINUSE &&
		s[NP_SCRIPT_SLOTS].fd == -1);
	np_script_close(&s[7]);
	T_CHECK(!np_script_listen(&s[7], job()));
	for (int i = 0; i < NP_SCRIPT_SLOTS; i++)
		np_script_close(&s[i]);
}

T_TEST("steps of other users are neither announced nor informed")
{
	uint32_t here = job();
	struct np_script s;
	int status, code;
	pid_t pid;

	if (getuid())
		return; /* root alone can be another */
	T_CHECK(!np_script_listen(&s, here));
	pid = fork();
	if (!pid)
		_exit(setuid(NOBODY) || (np_script_announce(here, 0, 0, 0), 0));
	T_CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	T_CHECK(!np_script_read(&s, &code) && !s.connected && s.fd >= 0);
	/* Nor is anything sent: the socket may be anybody's. */
	np_script_announce(here, NOBODY, 0, 0);
	T_CHECK(received(&s) == -1);
	np_script_close(&s);
}

/* Handle what arrives for so long; returns how often something did. */
static unsigned serve(struct np_script *s, int ms)
{
	struct pollfd p = { .fd = np_script_fd(s, np_mono_sec()),
			    .events = POLLIN };
	int code;

	if (poll(&p, 1, ms) != 1)
		return 0;
	np_script_read(s, &code);
	return 1;
}

/* For half a second. */
static void keep_connecting(uint32_t job_id)
{
	double until = np_mono_sec() + 0.5;

	if (setuid(NOBODY))
		_exit(1);
	while (np_mono_sec() < until)
		np_script_announce(job_id, NOBODY, 0, 0);
	_exit(0);
}

T_TEST("other users who keep connecting do not keep a collector busy")
{
	uint32_t here = job();
	unsigned woken = 0;
	struct np_script s;
	int status = -1;
	pid_t pid;

	if (getuid())
		return; /* root alone can be another */
	T_CHECK(!np_script_listen(&s, here));
	pid = fork();
	if (!pid)
		keep_connecting(here);
	while (waitpid(pid, &status, WNOHANG) == 0)
		woken += serve(&s, 10);
	T_CHECK(status == 0 && woken > 0 && woken < 50 && !s.connected);
	while (np_script_fd(&s, np_mono_sec()) < 0 || serve(&s, 0))
		usleep(10000); /* until those that wait are refused */
	np_script_announce(here, getuid(), 5, 0);
	T_ROW("slurmstepd still connects", received(&s) == 5);
	np_script_close(&s);
}
