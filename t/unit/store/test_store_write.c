#include "t.h"
#include "some_clock.h"
#include "some_record.h"
#include "some_store.h"

#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

T_FIXTURE(t_store_begin, t_store_end);

T_TEST("what was saved is loaded, newest first")
{
	struct np_runs runs;
	int rc;

	T_CHECK(t_store_save(t_store, 7, 1.7e9) == 0);
	T_CHECK(t_store_save(t_store, 9, 1.7e9 + 200) == 0);
	T_CHECK(t_store_save(t_store, 8, 1.7e9 + 100) == 0);
	runs = t_store_load(t_store, &rc);
	T_CHECK(rc == 0 && runs.n == 3 && !strcmp(runs.app, "lmp"));
	T_CHECK(runs.run[0]->job_id == 9 && runs.run[1]->job_id == 8 &&
		runs.run[2]->job_id == 7);
	T_CHECK(runs.run[0]->leaves[0].latency.n == 100);
	T_CHECK(t_store_warned.n == 0);
	np_runs_free(&runs);
}

T_TEST("a run replaces its earlier version")
{
	struct np_record *r = t_store_run(7, 1.7e9);
	struct np_runs runs;
	int rc;

	T_CHECK(np_store_save(t_store, NP_STORE_USER, r, NULL) == 0);
	r->end += 5;
	r->state = NP_RUN_COMPLETE;
	T_CHECK(np_store_save(t_store, NP_STORE_USER, r, NULL) == 0);
	runs = t_store_load(t_store, &rc);
	T_CHECK(runs.n == 1 && runs.run[0]->state == NP_RUN_COMPLETE &&
		runs.run[0]->end == r->end);
	T_CHECK(t_count_files(t_store_dir, "*") == 1);
	np_runs_free(&runs);
	np_record_free(r);
}

static const struct {
	const char *name;
	uint32_t job_id, step_id;
	long het;
	const char *cluster, *want;
} names[] = {
	{ "plain", 7, 0, NP_NO_VALUE, "hpc", "20231114T221320Z-hpc-7.0.json" },
	{ "heterogeneous", 7, 2, 1, "hpc", "20231114T221320Z-hpc-7.2+1.json" },
	{ "no cluster name", 7, 0, NP_NO_VALUE, NULL,
	  "20231114T221320Z-cluster-7.0.json" },
	{ "a cluster name that wants out", 7, 0, NP_NO_VALUE, "../../x",
	  "20231114T221320Z-______x-7.0.json" },
	{ "the largest step", UINT32_MAX, UINT32_MAX, NP_NO_VALUE, "hpc",
	  "20231114T221320Z-hpc-4294967295.4294967295.json" },
};

T_TEST("file names are in the order of time and stay inside")
{
	T_EACH(row, names) {
		struct np_record *r = np_record_new();
		char buf[256];

		r->start = 1.7e9;
		r->job_id = row->job_id;
		r->step_id = row->step_id;
		r->het_component = row->het;
		r->cluster = row->cluster ? strdup(row->cluster) : NULL;
		np_store_run_name(r, buf, sizeof(buf));
		T_ROW(row->name, !strcmp(buf, row->want));
		np_record_free(r);
	}
}

T_TEST("permissions are right whatever the umask")
{
	mode_t old = umask(0077);
	struct stat st;

	T_CHECK(t_store_save(t_store, 7, 1.7e9) == 0);
	umask(old);
	T_CHECK(!stat(t_store_path("20231114T221320Z-test-7.0.json"), &st) &&
		(st.st_mode & 0777) == 0640);
	T_CHECK(!stat(t_store_path("."), &st) && (st.st_mode & 0777) == 0750);
	T_CHECK(!stat(t_store_path(".."), &st) && (st.st_mode & 0777) == 0750);
}

static int as_child(int (*f)(void *), void *arg)
{
	int status = -1;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (!pid)
		_exit(f(arg));
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

/* Exit status of a child: which of its checks failed, 0 if none. */
#define CHILD(n, cond) \
	do { \
		if (!(cond)) \
			return n; \
	} while (0)

static int save_as_other(void *dir)
{
	struct np_store *s;
	struct np_record *r = t_store_run(7, 1.7e9);
	struct np_runs runs;

	umask(0077);
	CHILD(1, !setgroups(0, NULL) && !setgid(12345) && !setuid(12345));
	CHILD(2, !np_store_open(dir, &s, NULL));
	r->uid = 12345;
	CHILD(3, !np_store_save(s, NP_STORE_USER, r, NULL));
	CHILD(4, !np_store_load(s, NP_STORE_USER, 12345, "lmp", NULL, NULL,
				&runs, NULL));
	CHILD(5, runs.n == 1);
	CHILD(6, np_store_load(s, NP_STORE_USER, 0, "lmp", NULL, NULL, &runs,
			       NULL) == -EACCES);
	CHILD(7, np_store_save(s, NP_STORE_PUBLISHED, r, NULL) == -EACCES);
	return 0;
}

T_TEST("users are apart, and slurm's group reads all")
{
	struct np_store *s;
	struct np_runs runs = { .n = 0 };
	struct stat st;

	if (t_skip_unless_root("a store of many users"))
		return;
	s = t_store_fresh();
	T_CHECK(!chmod(t_tmpdir(), 0755) && !chown(t_store_dir, 0, 777));
	T_CHECK(t_store_save(s, 1, 1.7e9) == 0); /* root makes users/ */
	T_CHECK(!stat(t_text("%s/users", t_store_dir), &st) &&
		(st.st_mode & 07777) == 03777 && st.st_gid == 777);
	T_CHECK(as_child(save_as_other, t_store_dir) == 0);
	/* The group of slurmctld reads, though the user is not in it. */
	T_CHECK(!stat(t_text("%s/users/12345/lmp/%s", t_store_dir,
			     "20231114T221320Z-test-7.0.json"),
		      &st) &&
		st.st_uid == 12345 && st.st_gid == 777 &&
		(st.st_mode & 07777) == 0640);
	T_CHECK(np_store_load(s, NP_STORE_USER, 12345, "lmp", NULL, NULL, &runs,
			      NULL) == 0 &&
		runs.n == 1);
	np_runs_free(&runs);
	np_store_close(s);
}

#define WRITERS 64
#define RUNS_EACH 3

static int write_some(void *arg)
{
	uint32_t me = *(uint32_t *)arg;
	struct np_store *s;

	CHILD(1, !np_store_open(t_store_dir, &s, NULL));
	for (uint32_t i = 0; i < RUNS_EACH; i++) {
		struct np_record *r =
			t_store_run(me * RUNS_EACH + i, 1.7e9 + i);

		CHILD(2, !np_store_save(s, NP_STORE_USER, r, NULL));
		r->state = NP_RUN_COMPLETE;
		CHILD(3, !np_store_save(s, NP_STORE_USER, r, NULL));
		np_record_free(r);
	}
	np_store_close(s);
	return 0;
}

T_TEST("64 writers at once lose nothing")
{
	char seen[WRITERS * RUNS_EACH] = { 0 };
	pid_t pids[WRITERS];
	struct np_runs runs;
	int rc, missing = 0;

	fflush(NULL);
	for (uint32_t i = 0; i < WRITERS; i++) {
		pids[i] = fork();
		if (!pids[i])
			_exit(write_some(&i));
	}
	for (uint32_t i = 0; i < WRITERS; i++) {
		int status = -1;

		T_CHECK(pids[i] > 0 && waitpid(pids[i], &status, 0) > 0 &&
			status == 0);
	}
	runs = t_store_load(t_store, &rc);
	T_CHECK(rc == 0 && runs.n == WRITERS * RUNS_EACH &&
		t_store_warned.n == 0);
	for (size_t i = 0; i < runs.n; i++)
		if (runs.run[i]->state == NP_RUN_COMPLETE &&
		    runs.run[i]->job_id < sizeof(seen))
			seen[runs.run[i]->job_id] = 1;
	for (size_t i = 0; i < sizeof(seen); i++)
		missing += !seen[i];
	T_CHECK(missing == 0);
	T_CHECK(t_count_files(t_store_dir, ".tmp-*") == 0);
	np_runs_free(&runs);
}

/* Writes one run over and over, a little longer each time, until killed. */
static int write_forever(void)
{
	struct np_record *r = t_store_run(7, 1.7e9);
	struct t_rng g = { 1 };
	struct np_store *s;

	CHILD(1, !np_store_open(t_store_dir, &s, NULL));
	for (;;) {
		t_add_latency(&r->leaves[0], &g, 50, 1e-5, 500);
		r->probe.messages = r->leaves[0].latency.n;
		CHILD(2, !np_store_save(s, NP_STORE_USER, r, NULL));
	}
}

T_TEST("kill -9 at any point leaves every record whole")
{
	struct t_rng g = { 9 };
	unsigned torn = 0, seen = 0;

	for (int i = 0; i < 100; i++) {
		struct np_runs runs;
		pid_t pid;
		int rc;

		fflush(NULL);
		pid = fork();
		if (!pid)
			_exit(write_forever());
		do /* the first one, until it has written */
			usleep(t_rand(&g) % 12000);
		while (!i && !t_count_files(t_store_dir, "*.json"));
		runs = t_store_load(t_store, &rc); /* while the writer runs */
		torn += t_store_warned.n;
		seen += (unsigned)runs.n;
		np_runs_free(&runs);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		runs = t_store_load(t_store, &rc); /* after it */
		torn += t_store_warned.n;
		for (size_t k = 0; k < runs.n; k++)
			torn += runs.run[k]->probe.messages !=
				runs.run[k]->leaves[0].latency.n;
		np_runs_free(&runs);
	}
	T_CHECK(torn == 0);
	T_CHECK(seen > 10);
}

T_TEST("leftovers of killed writers go after an hour")
{
	struct timespec old[2] = { { 0 }, { 0 } };

	T_CHECK(t_store_save(t_store, 7, 1.7e9) == 0);
	t_store_write(".tmp-0123456789abcdef", "{\"sche");
	t_store_write(".tmp-fedcba9876543210", "{");
	old[0].tv_sec = old[1].tv_sec = time(NULL) - 3700;
	T_CHECK(!utimensat(AT_FDCWD, t_store_path(".tmp-0123456789abcdef"), old,
			   0));
	T_CHECK(t_store_save(t_store, 8, 1.7e9) == 0);
	T_CHECK(t_count_files(t_store_dir, ".tmp-*") ==
		1); /* the young one may be in use */
	T_CHECK(t_count_files(t_store_dir, "*.json") == 2);
}

/* A year ahead, or what looks like it to whoever cleans up. */
T_TEST("a clock that jumps removes nobody's file")
{
	T_CHECK(t_store_save(t_store, 7, 1.7e9) == 0);
	t_store_write(".tmp-0123456789abcdef", "{\"sche");
	t_ahead_sec = 365 * 86400;
	T_CHECK(t_store_save(t_store, 8, 1.7e9) == 0);
	t_ahead_sec = 0;
	T_ROW("that of another node",
	      t_count_files(t_store_dir, ".tmp-*") == 1);
	t_store_taken = 1;
	T_ROW("one that was taken is written again",
	      t_store_save(t_store, 9, 1.7e9) == 0);
	T_CHECK(!t_store_taken &&
		t_count_files(t_store_dir, "*-9.0.json") == 1);
	t_store_taken = 9;
	T_ROW("but not for ever", t_store_save(t_store, 10, 1.7e9) == -ENOENT);
	t_store_taken = 0;
	T_CHECK(t_count_files(t_store_dir, ".tmp-*") == 1);
}

T_TEST("a run of a clock that is behind stays")
{
	np_store_set_max_runs(t_store, 3);
	for (uint32_t i = 1; i <= 3; i++)
		T_CHECK(t_store_save(t_store, i, 1.7e9 + i) == 0);
	T_CHECK(t_store_save(t_store, 4, 100) == 0);
	T_CHECK(t_count_files(t_store_dir, "1970*-4.0.json") == 1);
	T_CHECK(t_count_files(t_store_dir, "*.json") == 4);
}

T_TEST("the oldest runs go, and nothing else")
{
	struct np_runs runs;
	int rc;

	np_store_set_max_runs(t_store, 5);
	T_CHECK(t_store_save(t_store, 1, 1.7e9) == 0);
	t_store_write("mine.json",
		      "{}"); /* not named by us: not ours to remove */
	for (uint32_t i = 2; i <= 12; i++)
		T_CHECK(t_store_save(t_store, i, 1.7e9 + 86400.0 * i) == 0);
	runs = t_store_load(t_store, &rc);
	T_CHECK(runs.n == 5 && runs.run[0]->job_id == 12 &&
		runs.run[4]->job_id == 8);
	T_CHECK(t_count_files(t_store_dir, "mine.json") == 1);
	np_runs_free(&runs);
}

T_TEST("published profiles are readable, and trusted only from root")
{
	struct np_record *r = t_store_run(7, 1.7e9);
	struct np_err err = NP_ERR_INIT;
	struct np_runs runs = { .n = 0 };
	struct stat st;

	r->uid = 4242; /* whose run it was stays visible */
	T_CHECK(np_store_save(t_store, NP_STORE_PUBLISHED, r, NULL) == 0);
	T_CHECK(np_store_load(t_store, NP_STORE_PUBLISHED, 0, "lmp", NULL, NULL,
			      &runs, NULL) == 0);
	T_CHECK(runs.n == 1 && runs.run[0]->uid == 4242);
	np_runs_free(&runs);
	T_CHECK(!stat(t_text("%s/published/lmp/"
			     "20231114T221320Z-test-7.0.json",
			     t_store_dir),
		      &st) &&
		(st.st_mode & 0777) == 0644);
	if (!t_skip_unless_root("published by nobody we trust")) {
		T_CHECK(chown(t_text("%s/published", t_store_dir), 4242,
			      4242) == 0);
		T_CHECK(np_store_load(t_store, NP_STORE_PUBLISHED, 0, "lmp",
				      NULL, NULL, &runs, &err) == -EACCES);
		T_CHECK(!!strstr(err.text, "not trusted"));
		T_CHECK(np_store_save(t_store, NP_STORE_PUBLISHED, r, NULL) ==
			-EACCES);
	}
	np_record_free(r);
}

T_TEST("a record that nobody could read is not written")
{
	struct np_record *r = t_store_run(7, 1.7e9);
	struct np_err err = NP_ERR_INIT;

	r->alone_sec = -1;
	T_CHECK(np_store_save(t_store, NP_STORE_USER, r, &err) == -EINVAL);
	T_CHECK(!!strstr(err.text, "alone_sec: got -1"));
	strcpy(r->app, "../x");
	T_CHECK(np_store_save(t_store, NP_STORE_USER, r, &err) == -EINVAL);
	T_CHECK(t_count_files(t_store_dir, "*") == 0);
	np_record_free(r);
}
