#include "t.h"
#include "np_store.h"
#include "some_record.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char store_dir[512];

/* A new, empty store. */
static struct np_store *fresh_store(void)
{
	static int count;
	struct np_store *s = NULL;

	snprintf(store_dir, sizeof(store_dir), "%s/store%d", t_tmpdir(),
		 count++);
	T_CHECK(mkdir(store_dir, 0755) == 0);
	T_CHECK(np_store_open(store_dir, &s, NULL) == 0);
	return s;
}

static struct np_record *run_of(uint32_t job_id, double start)
{
	struct np_record *r = np_record_new();
	struct t_rng g = { job_id };

	strcpy(r->app, "lmp");
	r->uid = geteuid();
	r->cluster = strdup("test");
	r->job_id = job_id;
	r->start = start;
	r->end = start + 10;
	t_add_latency(np_record_leaf(r, "leaf0"), &g, 100, 1e-5, 10);
	return r;
}

static int save_run(struct np_store *s, uint32_t job_id, double start)
{
	struct np_record *r = run_of(job_id, start);
	struct np_err err = NP_ERR_INIT;
	int rc = np_store_save(s, r, &err);

	T_ROW("a failure comes with a line", !rc == !err.text[0]);
	np_record_free(r);
	return rc;
}

static struct {
	unsigned n;
	char line[4096]; /* the last one */
} warned;

static void on_warn(const char *line, void *arg)
{
	(void)arg;
	warned.n++;
	snprintf(warned.line, sizeof(warned.line), "%s", line);
}

static struct np_runs load_own(struct np_store *s, int *rc)
{
	struct np_runs runs = { .n = 0 };

	warned.n = 0;
	warned.line[0] = '\0';
	*rc = np_store_load(s, NP_STORE_USER, geteuid(), "lmp", on_warn, NULL,
			    &runs, NULL);
	return runs;
}

/* Path of a file of the application, in the calling user's directory. */
static const char *app_path(const char *name)
{
	static char path[1024];

	snprintf(path, sizeof(path), "%s/users/%u/lmp/%s", store_dir, geteuid(),
		 name);
	return path;
}

static void write_text(const char *name, const char *text)
{
	FILE *f = fopen(app_path(name), "w");

	T_ROW(name, f && fputs(text, f) >= 0 && !fclose(f));
}

static int count_files(const char *pattern)
{
	char cmd[1200];
	int n = -1;
	FILE *f;

	snprintf(cmd, sizeof(cmd), "find '%s' -name '%s' -type f | wc -l",
		 store_dir, pattern);
	f = popen(cmd, "r");
	if (!f || fscanf(f, "%d", &n) != 1)
		n = -1;
	if (f)
		pclose(f);
	return n;
}

static void test_saved_is_loaded(void)
{
	struct np_store *s = fresh_store();
	struct np_runs runs;
	int rc;

	T_CHECK(save_run(s, 7, 1.7e9) == 0);
	T_CHECK(save_run(s, 9, 1.7e9 + 200) == 0);
	T_CHECK(save_run(s, 8, 1.7e9 + 100) == 0);
	runs = load_own(s, &rc);
	T_CHECK(rc == 0 && runs.n == 3 && !strcmp(runs.app, "lmp"));
	T_CHECK(runs.run[0]->job_id == 9 && runs.run[1]->job_id == 8 &&
		runs.run[2]->job_id == 7);
	T_CHECK(runs.run[0]->leaves[0].latency.n == 100);
	T_CHECK(warned.n == 0);
	np_runs_free(&runs);
	np_store_close(s);
}

static void test_a_run_replaces_itself(void)
{
	struct np_store *s = fresh_store();
	struct np_record *r = run_of(7, 1.7e9);
	struct np_runs runs;
	int rc;

	T_CHECK(np_store_save(s, r, NULL) == 0);
	r->end += 5;
	r->state = NP_RUN_COMPLETE;
	T_CHECK(np_store_save(s, r, NULL) == 0);
	runs = load_own(s, &rc);
	T_CHECK(runs.n == 1 && runs.run[0]->state == NP_RUN_COMPLETE &&
		runs.run[0]->end == r->end);
	T_CHECK(count_files("*") == 1);
	np_runs_free(&runs);
	np_record_free(r);
	np_store_close(s);
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

static void test_run_names(void)
{
	for (size_t i = 0; i < NP_ARRAY_SIZE(names); i++) {
		struct np_record *r = np_record_new();
		char buf[256];

		r->start = 1.7e9;
		r->job_id = names[i].job_id;
		r->step_id = names[i].step_id;
		r->het_component = names[i].het;
		r->cluster = names[i].cluster ? strdup(names[i].cluster) : NULL;
		np_store_run_name(r, buf, sizeof(buf));
		T_ROW(names[i].name, !strcmp(buf, names[i].want));
		np_record_free(r);
	}
}

static void test_permissions_whatever_the_umask(void)
{
	struct np_store *s = fresh_store();
	mode_t old = umask(0077);
	struct stat st;

	T_CHECK(save_run(s, 7, 1.7e9) == 0);
	umask(old);
	T_CHECK(!stat(app_path("20231114T221320Z-test-7.0.json"), &st) &&
		(st.st_mode & 0777) == 0640);
	T_CHECK(!stat(app_path("."), &st) && (st.st_mode & 0777) == 0750);
	T_CHECK(!stat(app_path(".."), &st) && (st.st_mode & 0777) == 0750);
	np_store_close(s);
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

static int skip_unless_root(const char *what)
{
	if (!geteuid())
		return 0;
	printf("skipped (not root): %s ... ", what);
	return 1;
}

/* Exit status of a child: which of its checks failed, 0 if none. */
#define CHILD(n, cond) do { if (!(cond)) return n; } while (0)

static int save_as_other(void *dir)
{
	struct np_store *s;
	struct np_record *r = run_of(7, 1.7e9);
	struct np_runs runs;

	umask(0077);
	CHILD(1, !setgroups(0, NULL) && !setgid(12345) && !setuid(12345));
	CHILD(2, !np_store_open(dir, &s, NULL));
	r->uid = 12345;
	CHILD(3, !np_store_save(s, r, NULL));
	CHILD(4, !np_store_load(s, NP_STORE_USER, 12345, "lmp", NULL, NULL,
				&runs, NULL));
	CHILD(5, runs.n == 1);
	CHILD(6, np_store_load(s, NP_STORE_USER, 0, "lmp", NULL, NULL, &runs,
			       NULL) == -EACCES);
	CHILD(7, np_store_publish(s, r, NULL) == -EACCES);
	return 0;
}

static void test_users_are_apart_and_slurm_reads(void)
{
	struct np_store *s;
	struct np_runs runs = { .n = 0 };
	char path[600];
	struct stat st;

	if (skip_unless_root("a store of many users"))
		return;
	s = fresh_store();
	T_CHECK(!chmod(t_tmpdir(), 0755) && !chown(store_dir, 0, 777));
	T_CHECK(save_run(s, 1, 1.7e9) == 0); /* root makes users/ */
	snprintf(path, sizeof(path), "%s/users", store_dir);
	T_CHECK(!stat(path, &st) && (st.st_mode & 07777) == 03777 &&
		st.st_gid == 777);
	T_CHECK(as_child(save_as_other, store_dir) == 0);
	/* The group of slurmctld reads, though the user is not in it. */
	snprintf(path, sizeof(path), "%s/users/12345/lmp/%s", store_dir,
		 "20231114T221320Z-test-7.0.json");
	T_CHECK(!stat(path, &st) && st.st_uid == 12345 && st.st_gid == 777 &&
		(st.st_mode & 07777) == 0640);
	T_CHECK(np_store_load(s, NP_STORE_USER, 12345, "lmp", NULL, NULL,
			      &runs, NULL) == 0 && runs.n == 1);
	np_runs_free(&runs);
	np_store_close(s);
}

#define WRITERS 64
#define RUNS_EACH 3

static int write_some(void *arg)
{
	uint32_t me = *(uint32_t *)arg;
	struct np_store *s;

	CHILD(1, !np_store_open(store_dir, &s, NULL));
	for (uint32_t i = 0; i < RUNS_EACH; i++) {
		struct np_record *r = run_of(me * RUNS_EACH + i, 1.7e9 + i);

		CHILD(2, !np_store_save(s, r, NULL));
		r->state = NP_RUN_COMPLETE;
		CHILD(3, !np_store_save(s, r, NULL));
		np_record_free(r);
	}
	np_store_close(s);
	return 0;
}

static void test_64_writers_lose_nothing(void)
{
	struct np_store *s = fresh_store();
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
	runs = load_own(s, &rc);
	T_CHECK(rc == 0 && runs.n == WRITERS * RUNS_EACH && warned.n == 0);
	for (size_t i = 0; i < runs.n; i++)
		if (runs.run[i]->state == NP_RUN_COMPLETE &&
		    runs.run[i]->job_id < sizeof(seen))
			seen[runs.run[i]->job_id] = 1;
	for (size_t i = 0; i < sizeof(seen); i++)
		missing += !seen[i];
	T_CHECK(missing == 0);
	T_CHECK(count_files(".tmp-*") == 0);
	np_runs_free(&runs);
	np_store_close(s);
}

/* Writes one run over and over, a little longer each time, until killed. */
static int write_forever(void)
{
	struct np_record *r = run_of(7, 1.7e9);
	struct t_rng g = { 1 };
	struct np_store *s;

	CHILD(1, !np_store_open(store_dir, &s, NULL));
	for (;;) {
		t_add_latency(&r->leaves[0], &g, 50, 1e-5, 500);
		r->probe.messages = r->leaves[0].latency.n;
		CHILD(2, !np_store_save(s, r, NULL));
	}
}

static void test_kill_9_leaves_every_record_whole(void)
{
	struct np_store *s = fresh_store();
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
		usleep(t_rand(&g) % 12000);
		runs = load_own(s, &rc); /* beside the writer */
		torn += warned.n;
		seen += (unsigned)runs.n;
		np_runs_free(&runs);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		runs = load_own(s, &rc); /* after it */
		torn += warned.n;
		for (size_t k = 0; k < runs.n; k++)
			torn += runs.run[k]->probe.messages !=
				runs.run[k]->leaves[0].latency.n;
		np_runs_free(&runs);
	}
	T_CHECK(torn == 0);
	T_CHECK(seen > 10);
	np_store_close(s);
}

static void test_leftovers_of_killed_writers_go(void)
{
	struct np_store *s = fresh_store();
	struct timespec old[2] = { { 0 }, { 0 } };

	T_CHECK(save_run(s, 7, 1.7e9) == 0);
	write_text(".tmp-0123456789abcdef", "{\"sche");
	write_text(".tmp-fedcba9876543210", "{");
	old[0].tv_sec = old[1].tv_sec = time(NULL) - 3700;
	T_CHECK(!utimensat(AT_FDCWD, app_path(".tmp-0123456789abcdef"), old, 0));
	T_CHECK(save_run(s, 8, 1.7e9) == 0);
	T_CHECK(count_files(".tmp-*") == 1); /* the young one may be in use */
	T_CHECK(count_files("*.json") == 2);
	np_store_close(s);
}

static void test_the_oldest_runs_go(void)
{
	struct np_store *s = fresh_store();
	struct np_runs runs;
	int rc;

	np_store_set_max_runs(s, 5);
	T_CHECK(save_run(s, 1, 1.7e9) == 0);
	write_text("mine.json", "{}"); /* not named by us: not ours to remove */
	for (uint32_t i = 2; i <= 12; i++)
		T_CHECK(save_run(s, i, 1.7e9 + 86400.0 * i) == 0);
	runs = load_own(s, &rc);
	T_CHECK(runs.n == 5 && runs.run[0]->job_id == 12 &&
		runs.run[4]->job_id == 8);
	T_CHECK(count_files("mine.json") == 1);
	np_runs_free(&runs);
	np_store_close(s);
}

static void make_link(const char *name)
{
	char target[1024];

	snprintf(target, sizeof(target), "%s",
		 app_path("20231114T221320Z-test-7.0.json"));
	T_CHECK(symlink(target, app_path(name)) == 0);
}

static void make_fifo(const char *name)
{
	T_CHECK(mkfifo(app_path(name), 0644) == 0);
}

static void make_directory(const char *name)
{
	T_CHECK(mkdir(app_path(name), 0755) == 0);
}

static void make_huge(const char *name)
{
	write_text(name, "{}");
	T_CHECK(truncate(app_path(name), NP_RECORD_MAX_BYTES + 1) == 0);
}

static void make_endless(const char *name)
{
	write_text(name, "{}");
	T_CHECK(truncate(app_path(name), 1ll << 40) == 0); /* sparse */
}

static void make_damaged(const char *name)
{
	write_text(name, "{\"schema\":1,\"app\":");
}

static void make_empty(const char *name)
{
	write_text(name, "");
}

static void make_newer(const char *name)
{
	write_text(name, "{\"schema\":2,\"app\":{\"name\":\"lmp\"}}");
}

static void make_others(const char *name)
{
	write_text(name, "{\"schema\":1,\"app\":\"lmp\",\"uid\":4242,"
		   "\"job_id\":1,\"step_id\":0,\"start\":1,\"end\":2,"
		   "\"state\":\"cut\"}");
}

static void make_unreadable(const char *name)
{
	write_text(name, "{}");
	T_CHECK(chmod(app_path(name), 0) == 0);
}

static void make_foreign(const char *name)
{
	make_others(name);
	T_CHECK(chown(app_path(name), 4242, 4242) == 0);
}

static const struct {
	const char *name;
	void (*make)(const char *name);
	const char *file, *says;
	enum { ANYBODY, ROOT, NOT_ROOT } who;
} intruders[] = {
	{ "a symbolic link", make_link, "x.json", "a symbolic link", ANYBODY },
	{ "a FIFO does not hang", make_fifo, "x.json", "a FIFO", ANYBODY },
	{ "a directory", make_directory, "x.json", "a directory", ANYBODY },
	{ "a huge file", make_huge, "x.json", "4194305 bytes, expected", ANYBODY },
	{ "an endless file", make_endless, "x.json", "expected at most", ANYBODY },
	{ "a damaged record", make_damaged, "x.json", "ends too early", ANYBODY },
	{ "an empty file", make_empty, "x.json", "ends too early", ANYBODY },
	{ "a newer schema", make_newer, "x.json", "schema 2 is newer", ANYBODY },
	{ "a record of another user", make_others, "x.json",
	  "uid: got 4242", ANYBODY },
	{ "a name with an escape sequence", make_damaged, "\x1b[2J.json",
	  "/?[2J.json: skipped", ANYBODY },
	{ "no permission", make_unreadable, "x.json", "Permission", NOT_ROOT },
	{ "a foreign owner", make_foreign, "x.json", "owned by uid 4242", ROOT },
};

static void test_intruders_are_skipped(void)
{
	for (size_t i = 0; i < NP_ARRAY_SIZE(intruders); i++) {
		struct np_store *s;
		struct np_runs runs;
		int rc;

		if (intruders[i].who == (geteuid() ? ROOT : NOT_ROOT))
			continue;
		s = fresh_store();
		T_CHECK(save_run(s, 7, 1.7e9) == 0);
		intruders[i].make(intruders[i].file);
		runs = load_own(s, &rc);
		T_ROW(intruders[i].name, rc == 0 && runs.n == 1);
		T_ROW(intruders[i].name, warned.n == 1);
		T_ROW(intruders[i].name, strstr(warned.line, "/lmp/"));
		T_ROW(intruders[i].name, strstr(warned.line, ".json: skipped"));
		T_ROW(intruders[i].name,
		      strstr(warned.line, intruders[i].says));
		T_ROW(intruders[i].name, !strchr(warned.line, '\n'));
		np_runs_free(&runs);
		np_store_close(s);
	}
}

static void test_other_files_are_no_runs(void)
{
	struct np_store *s = fresh_store();
	struct np_runs runs;
	int rc;

	T_CHECK(save_run(s, 7, 1.7e9) == 0);
	write_text("README", "x");
	write_text(".hidden.json", "x");
	write_text(".json", "x");
	runs = load_own(s, &rc);
	T_CHECK(runs.n == 1 && warned.n == 0);
	np_runs_free(&runs);
	np_store_close(s);
}

static void test_renamed_application(void)
{
	struct np_store *s = fresh_store();
	struct np_runs runs = { .n = 0 };
	char from[600], to[600];

	T_CHECK(save_run(s, 7, 1.7e9) == 0);
	snprintf(from, sizeof(from), "%s/users/%u/lmp", store_dir, geteuid());
	snprintf(to, sizeof(to), "%s/users/%u/lammps", store_dir, geteuid());
	T_CHECK(rename(from, to) == 0);
	T_CHECK(np_store_load(s, NP_STORE_USER, geteuid(), "lammps", NULL, NULL,
			      &runs, NULL) == 0);
	T_CHECK(runs.n == 1 && !strcmp(runs.run[0]->app, "lammps"));
	np_runs_free(&runs);
	np_store_close(s);
}

static void test_many_runs_are_bounded(void)
{
	struct np_store *s = fresh_store();
	char from[1024], name[64];
	struct np_runs runs;
	int rc;

	T_CHECK(save_run(s, 7, 1.7e9) == 0);
	strcpy(from, app_path("20231114T221320Z-test-7.0.json"));
	for (int i = 0; i < NP_STORE_MAX_RUNS + 20; i++) {
		snprintf(name, sizeof(name), "20240101T%06dZ-x-1.0.json", i);
		T_CHECK(link(from, app_path(name)) == 0);
	}
	runs = load_own(s, &rc);
	T_CHECK(rc == 0 && runs.n == NP_STORE_MAX_RUNS && warned.n == 1);
	T_CHECK(!!strstr(warned.line, "21 older runs are not read"));
	np_runs_free(&runs);
	T_CHECK(save_run(s, 8, 1.8e9) == 0); /* prunes */
	T_CHECK(count_files("*.json") == NP_STORE_MAX_RUNS);
	np_store_close(s);
}

static void test_many_leaves_are_bounded(void)
{
	struct np_store *s = fresh_store();
	struct np_runs runs;
	int rc;

	for (uint32_t job = 1; job <= 4; job++) {
		struct np_record *r = run_of(job, 1.7e9 + job);

		for (int i = 0; i < 2500; i++) {
			char name[16];

			snprintf(name, sizeof(name), "l%d", i);
			np_record_leaf(r, name);
		}
		T_CHECK(np_store_save(s, r, NULL) == 0);
		np_record_free(r);
	}
	runs = load_own(s, &rc);
	T_CHECK(rc == 0 && runs.n == 2 && runs.run[0]->job_id == 4);
	T_CHECK(warned.n == 1 && strstr(warned.line, "2 older runs"));
	np_runs_free(&runs);
	np_store_close(s);
}

static void test_many_damaged_files_are_bounded(void)
{
	struct np_store *s = fresh_store();
	struct np_runs runs;
	char name[32];
	int rc;

	T_CHECK(save_run(s, 7, 1.7e9) == 0);
	for (int i = 0; i < NP_STORE_MAX_SKIPPED + 50; i++) {
		snprintf(name, sizeof(name), "2030-%04d.json", i);
		write_text(name, "{");
	}
	T_CHECK(save_run(s, 8, 4e9) == 0);
	runs = load_own(s, &rc);
	T_CHECK(rc == 0 && runs.n == 1 && runs.run[0]->job_id == 8);
	T_CHECK(warned.n == NP_STORE_MAX_SKIPPED + 1);
	T_CHECK(!!strstr(warned.line, "51 older ones are not read"));
	np_runs_free(&runs);
	np_store_close(s);
}

/* So many files are quickly made, and removed, in memory only. */
static struct np_store *store_in_memory(void)
{
	struct np_store *s = NULL;
	char dir[] = "/dev/shm/netprof-unit.XXXXXX";

	if (!mkdtemp(dir))
		return fresh_store();
	strcpy(store_dir, dir);
	T_CHECK(np_store_open(store_dir, &s, NULL) == 0);
	return s;
}

static void flood(void)
{
	int fd = open(app_path("."), O_RDONLY | O_DIRECTORY);

	for (int i = 0; i < NP_STORE_MAX_SCAN + 10; i++) {
		char name[16];

		snprintf(name, sizeof(name), "x%d", i);
		if (symlinkat("x", fd, name)) {
			T_ROW("making links", 0);
			break;
		}
	}
	close(fd);
}

static void test_a_flooded_directory_is_bounded(void)
{
	struct np_store *s = store_in_memory();
	char cmd[600];
	struct np_runs runs;
	int rc;

	T_CHECK(save_run(s, 7, 1.7e9) == 0);
	flood();
	runs = load_own(s, &rc);
	T_CHECK(rc == 0 && warned.n >= 1 && runs.n <= 1);
	T_CHECK(!!strstr(warned.line, "more than 65536 files"));
	np_runs_free(&runs);
	np_store_close(s);
	snprintf(cmd, sizeof(cmd), "rm -r '%s'", store_dir);
	T_CHECK(system(cmd) == 0);
}

static void test_unknown_is_not_there(void)
{
	static const char *const unknown[] = {
		"nothere", "../lmp", "", ".", "lmp/../lmp", "/etc",
	};
	struct np_store *s = fresh_store();
	struct np_runs runs;

	T_CHECK(save_run(s, 7, 1.7e9) == 0);
	for (size_t i = 0; i < NP_ARRAY_SIZE(unknown); i++) {
		struct np_err err = NP_ERR_INIT;

		T_ROW(unknown[i], np_store_load(s, NP_STORE_USER, geteuid(),
						unknown[i], NULL, NULL, &runs,
						&err) == -ENOENT);
		T_ROW(unknown[i], err.text[0]);
	}
	T_CHECK(np_store_load(s, NP_STORE_USER, 4242, "lmp", NULL, NULL, &runs,
			      NULL) == -ENOENT);
	T_CHECK(np_store_load(s, NP_STORE_PUBLISHED, 0, "lmp", NULL, NULL,
			      &runs, NULL) == -ENOENT);
	np_store_close(s);
}

static void test_opening(void)
{
	struct np_err err = NP_ERR_INIT;
	struct np_store *s = NULL;
	char path[600];
	int fd;

	snprintf(path, sizeof(path), "%s/nothere", t_tmpdir());
	T_CHECK(np_store_open(path, &s, &err) == -ENOENT && !s);
	T_CHECK(!!strstr(err.text, "/nothere"));
	snprintf(path, sizeof(path), "%s/file", t_tmpdir());
	fd = open(path, O_CREAT | O_WRONLY, 0644);
	close(fd);
	T_CHECK(np_store_open(path, &s, &err) == -ENOTDIR && !s);
	np_store_close(NULL);
}

/* Directories that somebody else made, or that are none. */
static void test_untrusted_directories(void)
{
	char path[600], other[600];
	struct np_err err = NP_ERR_INIT;
	struct np_store *s = fresh_store();
	struct np_runs runs;

	snprintf(other, sizeof(other), "%s", store_dir);
	T_CHECK(save_run(s, 7, 1.7e9) == 0);
	np_store_close(s);
	s = fresh_store();
	snprintf(path, sizeof(path), "%s/users", store_dir);
	T_CHECK(mkdir(path, 0777) == 0);
	snprintf(path, sizeof(path), "%s/users/%u", store_dir, geteuid());
	snprintf(other + strlen(other), 30, "/users/%u", geteuid());
	T_CHECK(symlink(other, path) == 0);
	T_CHECK(np_store_load(s, NP_STORE_USER, geteuid(), "lmp", NULL, NULL,
			      &runs, &err) == -EACCES);
	T_CHECK(!!strstr(err.text, "no symbolic link"));
	T_CHECK(save_run(s, 7, 1.7e9) == -EACCES);
	T_CHECK(unlink(path) == 0);
	if (!skip_unless_root("a foreign owner of a directory")) {
		T_CHECK(!mkdir(path, 0777) && !chown(path, 4242, 4242));
		T_CHECK(np_store_load(s, NP_STORE_USER, geteuid(), "lmp", NULL,
				      NULL, &runs, &err) == -EACCES);
		T_CHECK(!!strstr(err.text, "owned by uid 4242"));
		T_CHECK(save_run(s, 7, 1.7e9) == -EACCES);
		T_CHECK(count_files("*") == 0);
	}
	np_store_close(s);
}

static void test_published(void)
{
	struct np_store *s = fresh_store();
	struct np_record *r = run_of(7, 1.7e9);
	struct np_err err = NP_ERR_INIT;
	struct np_runs runs = { .n = 0 };
	char path[600];
	struct stat st;

	r->uid = 4242; /* whose run it was stays visible */
	T_CHECK(np_store_publish(s, r, NULL) == 0);
	T_CHECK(np_store_load(s, NP_STORE_PUBLISHED, 0, "lmp", NULL, NULL,
			      &runs, NULL) == 0);
	T_CHECK(runs.n == 1 && runs.run[0]->uid == 4242);
	np_runs_free(&runs);
	snprintf(path, sizeof(path), "%s/published/lmp/"
		 "20231114T221320Z-test-7.0.json", store_dir);
	T_CHECK(!stat(path, &st) && (st.st_mode & 0777) == 0644);
	if (!skip_unless_root("published by nobody we trust")) {
		snprintf(path, sizeof(path), "%s/published", store_dir);
		T_CHECK(chown(path, 4242, 4242) == 0);
		T_CHECK(np_store_load(s, NP_STORE_PUBLISHED, 0, "lmp", NULL,
				      NULL, &runs, &err) == -EACCES);
		T_CHECK(!!strstr(err.text, "not trusted"));
		T_CHECK(np_store_publish(s, r, NULL) == -EACCES);
	}
	np_record_free(r);
	np_store_close(s);
}

static void test_lists(void)
{
	struct np_store *s = fresh_store();
	char path[600], **apps;
	uid_t *uids;
	size_t n;

	T_CHECK(np_store_apps(s, NP_STORE_USER, geteuid(), &apps, &n, NULL) ==
		0 && n == 0);
	np_names_free(apps, n);
	T_CHECK(np_store_uids(s, &uids, &n, NULL) == 0 && n == 0);
	free(uids);
	T_CHECK(save_run(s, 7, 1.7e9) == 0);
	for (const char *const *name = (const char *const[]){
		"zz", "aa", ".x", "not an app", NULL }; *name; name++) {
		snprintf(path, sizeof(path), "%s/users/%u/%s", store_dir,
			 geteuid(), *name);
		T_CHECK(mkdir(path, 0755) == 0);
	}
	snprintf(path, sizeof(path), "%s/users/%u/link", store_dir, geteuid());
	T_CHECK(symlink("lmp", path) == 0);
	for (const char *const *name = (const char *const[]){
		"4242", "x", "007", "-1", "4294967296", NULL }; *name; name++) {
		snprintf(path, sizeof(path), "%s/users/%s", store_dir, *name);
		T_CHECK(mkdir(path, 0755) == 0);
	}
	T_CHECK(np_store_apps(s, NP_STORE_USER, geteuid(), &apps, &n, NULL) ==
		0);
	T_CHECK(n == 3 && !strcmp(apps[0], "aa") && !strcmp(apps[1], "lmp") &&
		!strcmp(apps[2], "zz"));
	np_names_free(apps, n);
	T_CHECK(np_store_uids(s, &uids, &n, NULL) == 0);
	T_CHECK(n == 1 && uids[0] == geteuid());
	free(uids);
	np_store_close(s);
}

static void test_a_record_nobody_could_read_is_not_written(void)
{
	struct np_store *s = fresh_store();
	struct np_record *r = run_of(7, 1.7e9);
	struct np_err err = NP_ERR_INIT;

	r->alone_sec = -1;
	T_CHECK(np_store_save(s, r, &err) == -EINVAL);
	T_CHECK(!!strstr(err.text, "alone_sec: got -1"));
	strcpy(r->app, "../x");
	T_CHECK(np_store_save(s, r, &err) == -EINVAL);
	T_CHECK(count_files("*") == 0);
	np_record_free(r);
	np_store_close(s);
}

static bool same_stamp(const struct np_store_app *a,
		       const struct np_store_app *b)
{
	return a->stamp.dev == b->stamp.dev && a->stamp.ino == b->stamp.ino &&
	       a->stamp.sec == b->stamp.sec && a->stamp.nsec == b->stamp.nsec;
}

/* What was there before, and is now; the file system's clock is coarse. */
static bool stamp_changed(struct np_store *s, struct np_store_app *was)
{
	struct np_store_app *a = NULL;
	bool changed = true;
	size_t n = 0;

	T_CHECK(np_store_look(s, NP_STORE_USER, geteuid(), &a, &n, NULL) == 0);
	if (n == 1) {
		changed = !same_stamp(a, was);
		*was = a[0];
	}
	free(a);
	usleep(20000);
	return changed;
}

static void test_a_stamp_tells_of_changes(void)
{
	struct np_store *s = fresh_store();
	struct np_store_app was = { "" }, *a = NULL;
	char cmd[1200];
	size_t n = 9;

	T_ROW("nobody's applications", np_store_look(s, NP_STORE_USER, 7, &a,
	      &n, NULL) == 0 && n == 0);
	free(a);
	save_run(s, 1, 1e9);
	T_CHECK(stamp_changed(s, &was) && !strcmp(was.name, "lmp"));
	T_ROW("none without one", !stamp_changed(s, &was));
	save_run(s, 2, 1e9 + 1);
	T_ROW("one more run", stamp_changed(s, &was));
	save_run(s, 2, 1e9 + 1);
	T_ROW("a run replaced", stamp_changed(s, &was));
	snprintf(cmd, sizeof(cmd), "cd '%s'/users/%u && rm lmp/*-2.0.json",
		 store_dir, geteuid());
	T_CHECK(system(cmd) == 0);
	T_ROW("a run removed", stamp_changed(s, &was));
	snprintf(cmd, sizeof(cmd), "cd '%s'/users/%u && ln -s lmp link && "
		 ": >file && mkdir .hidden", store_dir, geteuid());
	T_CHECK(system(cmd) == 0);
	T_ROW("only directories with a name are looked at",
	      !stamp_changed(s, &was));
	np_store_close(s);
}

static const struct t_case cases[] = {
	{ "a stamp tells what changed", test_a_stamp_tells_of_changes },
	{ "what was saved is loaded, newest first", test_saved_is_loaded },
	{ "a run replaces its earlier version", test_a_run_replaces_itself },
	{ "file names are in the order of time and stay inside",
	  test_run_names },
	{ "permissions are right whatever the umask",
	  test_permissions_whatever_the_umask },
	{ "users are apart, and slurm's group reads all",
	  test_users_are_apart_and_slurm_reads },
	{ "64 writers at once lose nothing", test_64_writers_lose_nothing },
	{ "kill -9 at any point leaves every record whole",
	  test_kill_9_leaves_every_record_whole },
	{ "leftovers of killed writers go after an hour",
	  test_leftovers_of_killed_writers_go },
	{ "the oldest runs go, and nothing else", test_the_oldest_runs_go },
	{ "every intruder is skipped with one line, the rest is used",
	  test_intruders_are_skipped },
	{ "other files are no runs", test_other_files_are_no_runs },
	{ "a renamed directory names its runs", test_renamed_application },
	{ "many runs are bounded", test_many_runs_are_bounded },
	{ "many leaves are bounded", test_many_leaves_are_bounded },
	{ "many damaged files are bounded",
	  test_many_damaged_files_are_bounded },
	{ "a flooded directory is bounded",
	  test_a_flooded_directory_is_bounded },
	{ "unknown applications are not there", test_unknown_is_not_there },
	{ "a store that is none is named", test_opening },
	{ "directories of others are not trusted", test_untrusted_directories },
	{ "published profiles are readable, and trusted only from root",
	  test_published },
	{ "applications and users are listed", test_lists },
	{ "a record that nobody could read is not written",
	  test_a_record_nobody_could_read_is_not_written },
	{ NULL, NULL },
};
T_SUITE(store, cases)
