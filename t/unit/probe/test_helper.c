#include "t.h"
#include "np_helper.h"

#include <signal.h>
#include <sys/wait.h>

static char seen[512];
static size_t n_seen;

static void take(const struct np_report *r, void *arg)
{
	(void)arg;
	n_seen++;
	snprintf(seen, sizeof(seen), "%s", r->note);
}

/* Run a shell command to its end, for at most a minute. */
static void run(struct np_helper_step *s, const char *command)
{
	const struct np_args sh = {
		.argv = { "/bin/sh", "-c", (char *)command },
		.n = 3,
	};
	char *env[] = { "PATH=/usr/bin:/bin", NULL };

	n_seen = 0;
	seen[0] = '\0';
	T_CHECK(np_helper_start(s, &sh, env, 2, NULL) == 0);
	for (int i = 0; i < 30000 && !(np_helper_reap(s) && s->fd < 0); i++) {
		np_helper_read(s, take, NULL);
		usleep(2000);
	}
	np_helper_read(s, take, NULL);
}

static const struct {
	const char *name, *command;
	size_t lines;
	const char *last_note, *cause;
} rows[] = {
	{ "every whole line is handed on",
	  "echo 'np1 note 0 a'; echo 'np1 note 0 b'", 2, "b", "exit 0" },
	{ "a line that comes in pieces is one line",
	  "printf 'np1 note 0 '; sleep 0.05; echo x", 1, "x", "exit 0" },
	{ "an unfinished line is not handed on", "printf 'np1 note 0 x'", 0, "",
	  "exit 0" },
	{ "a damaged report is neither that nor a cause", "echo 'np1 note'", 0,
	  "", "exit 0" },
	{ "what is no report is the cause of a failure",
	  "echo 'srun: error: no pmix' >&2; exit 3", 0, "",
	  "exit 3: srun: error: no pmix" },
	{ "srun's word that a task ended hides no cause before it",
	  "echo 'slurmstepd: no such file' >&2; "
	  "echo 'srun: error: n0: task 0: Exited with exit code 2' >&2; exit 2",
	  0, "", "exit 2: slurmstepd: no such file" },
	{ "nor one after it",
	  "echo 'srun: error: n0: task 0: Exited with exit code 2' >&2; "
	  "echo 'slurmstepd: no such file' >&2; exit 2",
	  0, "", "exit 2: slurmstepd: no such file" },
	{ "nor its word that a task was killed",
	  "echo 'ERROR: no input' >&2; "
	  "echo 'srun: error: n[1-3]: tasks 1-3: Killed' >&2; exit 1",
	  0, "", "exit 1: ERROR: no input" },
	{ "and is the cause where there is no other",
	  "echo 'srun: error: n0: task 0: Exited with exit code 2' >&2; exit 2",
	  0, "", "exit 2: srun: error: n0: task 0: Exited" },
	{ "a signal is named", "kill -9 $$", 0, "", "signal 9" },
	{ "a program that is not there says so", "exec /no/such/program", 0, "",
	  "exit 127" },
	{ "its processes learn of each other",
	  "echo np1w 1 put 62; echo np1w 0 put 61; echo np1w 0 fence; "
	  "echo np1w 1 fence; read a; read b; read c; "
	  "echo \"np1 note 0 $a $b $c\"",
	  1, "place 0 61 place 1 62 go", "exit 0" },
	{ "damage among them ends it", "echo np1w 7 fence; exec sleep 60", 0,
	  "", "signal 15: its processes could not find" },
	{ "a flood without a line end is dropped, not kept",
	  "head -c 100000 /dev/zero | tr '\\0' x; echo; "
	  "echo 'np1 note 0 z'",
	  1, "z", "exit 0" },
};

T_TEST("lines and causes of a side step")
{
	T_EACH(r, rows) {
		struct np_helper_step s = NP_HELPER_INIT;
		char cause[NP_ERR_LEN + 32] = "";

		run(&s, r->command);
		np_helper_cause(&s, cause, sizeof(cause));
		np_helper_close(&s);
		T_ROW(r->name,
		      n_seen == r->lines && !strcmp(seen, r->last_note) &&
			      !strncmp(cause, r->cause, strlen(r->cause)));
	}
}

T_TEST("signals reach a side step, once it is there")
{
	const struct np_args sleep = { .argv = { "/bin/sleep", "60" }, .n = 2 };
	char *env[] = { NULL };
	struct np_helper_step s = NP_HELPER_INIT;

	T_CHECK(np_helper_start(&s, &sleep, env, 0, NULL) == 0);
	T_CHECK(!np_helper_reap(&s));
	np_helper_signal(&s, SIGTERM);
	for (int i = 0; i < 30000 && !np_helper_reap(&s); i++)
		usleep(2000);
	T_CHECK(s.ended && WIFSIGNALED(s.status) &&
		WTERMSIG(s.status) == SIGTERM);
	np_helper_signal(&s, SIGKILL); /* nobody there: no harm */
	np_helper_read(&s, take, NULL);
	T_CHECK(s.fd == -1);
	np_helper_close(&s);
}

T_TEST("a side step is stopped while its output is read")
{
	const struct np_args sh = {
		.argv = { "/bin/sh", "-c",
			  (char *)"echo np1 note 0 up; exec /bin/sleep 60" },
		.n = 3,
	};
	char *env[] = { NULL };
	struct np_helper_step s = NP_HELPER_INIT;

	n_seen = 0;
	T_CHECK(np_helper_start(&s, &sh, env, 0, NULL) == 0);
	for (int i = 0; i < 30000 && !n_seen; i++)
		np_helper_wait(&s, 0.002, take, NULL);
	T_CHECK(n_seen == 1 && !np_helper_reap(&s));
	np_helper_stop(&s, SIGTERM, take, NULL);
	T_CHECK(s.ended && WIFSIGNALED(s.status) &&
		WTERMSIG(s.status) == SIGTERM && s.fd == -1);
	np_helper_stop(&s, SIGTERM, take, NULL); /* nobody there: no harm */
}

static const struct {
	double sec;
	int want;
} ends[] = {
	{ 10, 0 },   { 11.9, 0 },	{ 12, SIGTERM }, { 12, 0 },
	{ 13.9, 0 }, { 14.1, SIGKILL }, { 15.9, 0 },	 { 16, -1 },
	{ 16, -1 },  { 99, -1 },
};

T_TEST("a side step is asked to end before it is killed")
{
	struct np_helper_end e = { .requested_sec = 10 };

	T_EACH(r, ends)
		T_CHECK(np_helper_end_due(&e, r->sec) == r->want);
	/* Whoever comes late still asks before it kills. */
	e = (struct np_helper_end){ .requested_sec = 10 };
	T_CHECK(np_helper_end_due(&e, 99) == SIGTERM);
	T_CHECK(np_helper_end_due(&e, 99) == SIGKILL);
	T_CHECK(np_helper_end_due(&e, 99) == -1);
}
