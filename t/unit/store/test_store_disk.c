/* A store on a disk that is full or read-only: a small tmpfs of our own. */
#include "t.h"
#include "np_state.h"
#include "np_store.h"
#include "some_record.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define NO_MOUNT 77

static char dir[512];

/* Exit status of a child: which of its checks failed, 0 if none. */
#define CHILD(n, cond) \
	do { \
		if (!(cond)) \
			return n; \
	} while (0)

static struct np_record *run_of(uint32_t job_id)
{
	struct np_record *r = np_record_new();
	struct t_rng g = { job_id };

	strcpy(r->app, "lmp");
	r->uid = geteuid();
	r->job_id = job_id;
	r->start = r->end = 1.7e9;
	t_add_latency(np_record_leaf(r, "leaf0"), &g, 1000, 1e-5, 100);
	return r;
}

static size_t n_runs(struct np_store *s, uint32_t *newest_job)
{
	struct np_runs runs = { .n = 0 };
	size_t n;

	if (np_store_load(s, NP_STORE_USER, geteuid(), "lmp", NULL, NULL, &runs,
			  NULL))
		return 0;
	n = runs.n;
	*newest_job = n ? runs.run[0]->job_id : 0;
	np_runs_free(&runs);
	return n;
}

static void fill(void)
{
	char block[512] = "";
	int fd;

	fd = open(t_text("%s/filler", dir), O_CREAT | O_WRONLY, 0644);
	while (write(fd, block, sizeof(block)) > 0)
		;
	close(fd);
}

static int n_tmp_files(void)
{
	int n = -1;
	FILE *f;

	f = popen(t_text("find %s -name '.tmp-*' | wc -l", dir), "r");
	if (!f || fscanf(f, "%d", &n) != 1)
		return -1;
	pclose(f);
	return n;
}

static int full_disk(struct np_store *s)
{
	struct np_record *r = run_of(1), *other = run_of(2);
	struct np_err err = NP_ERR_INIT;
	uint32_t job;

	CHILD(10, !np_store_save(s, NP_STORE_USER, r, NULL));
	fill();
	CHILD(11, np_store_save(s, NP_STORE_USER, other, &err) == -ENOSPC);
	CHILD(12,
	      strstr(err.text, "cannot write ") &&
		      strstr(err.text, "-2.0.json: No space left on device"));
	r->state = NP_RUN_COMPLETE;
	CHILD(13, np_store_save(s, NP_STORE_USER, r, &err) == -ENOSPC);
	CHILD(14, n_runs(s, &job) == 1 && job == 1);
	CHILD(15, n_tmp_files() == 0);
	strcpy(other->app, "other");
	CHILD(16, np_store_save(s, NP_STORE_USER, other, &err) == -ENOSPC);
	return 0;
}

static int read_only_disk(struct np_store *s)
{
	struct np_err err = NP_ERR_INIT;
	struct np_record *r = run_of(3);
	uint32_t job;

	CHILD(20, !mount("none", dir, NULL, MS_REMOUNT | MS_RDONLY, NULL));
	CHILD(21, np_store_save(s, NP_STORE_USER, r, &err) == -EROFS);
	CHILD(22, strstr(err.text, "Read-only file system"));
	CHILD(23, n_runs(s, &job) == 1 && job == 1);
	strcpy(r->app, "other");
	CHILD(24, np_store_save(s, NP_STORE_USER, r, &err) == -EROFS);
	CHILD(25, strstr(err.text, "/other") &&
			  strstr(err.text, "Read-only file system"));
	CHILD(26, np_store_save(s, NP_STORE_PUBLISHED, r, &err) == -EROFS);
	return 0;
}

static int on_small_disk(void)
{
	struct np_store *s;
	int rc;

	if (unshare(CLONE_NEWNS) ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", dir, "tmpfs", 0, "size=64k,mode=755"))
		return NO_MOUNT;
	CHILD(1, !np_store_open(dir, &s, NULL));
	rc = full_disk(s);
	if (!rc)
		rc = read_only_disk(s);
	np_store_close(s);
	return rc;
}

static int as_nobody(void)
{
	struct np_err err = NP_ERR_INIT;
	struct np_store *s;

	CHILD(2, geteuid() || (!setgid(12345) && !setuid(12345)));
	CHILD(3, !np_store_open(dir, &s, NULL));
	CHILD(4, np_store_save(s, NP_STORE_USER, run_of(1), &err) == -EACCES);
	CHILD(5, strstr(err.text, "users: Permission denied"));
	return 0;
}

T_TEST("a full or read-only store says so and keeps what it has")
{
	int rc;

	snprintf(dir, sizeof(dir), "%s/disk", t_tmpdir());
	T_CHECK(mkdir(dir, 0755) == 0);
	rc = t_in_child(on_small_disk);
	if (rc == NO_MOUNT) {
		printf("skipped (cannot mount a tmpfs here) ... ");
		return;
	}
	if (rc)
		printf("check %d failed ... ", rc);
	T_CHECK(rc == 0);
}

T_TEST("a store without permission says so")
{
	snprintf(dir, sizeof(dir), "%s/closed", t_tmpdir());
	T_CHECK(mkdir(dir, 0555) == 0 && !chmod(t_tmpdir(), 0755));
	T_CHECK(t_in_child(as_nobody) == 0);
}

#define KILLS 300
#define FIRST_USEC 500000 /* of the first, which shows how long one takes */
#define BEGAN 1.7e9

/* Writes a run, a state and an ended job again and again, and says so. */
static void write_for_ever(struct np_store *s, uint32_t i, int fd)
{
	struct np_accounting_day *day;

	if (np_accounting_day_new(&day))
		_exit(1);
	for (;; i++) {
		struct np_record *r = run_of(1);
		struct np_state state = { .date = BEGAN + i };
		struct np_accounting_record e = {
			.id = i,
			.uid = geteuid(),
			.start = BEGAN,
			.end = BEGAN + 1,
			.app = (char *)"lmp",
			.partition = (char *)"",
			.leaves = (char *)"leaf0",
		};

		r->end = BEGAN + i;
		if (np_store_save(s, NP_STORE_USER, r, NULL) ||
		    np_state_save(dir, &state, 0644, NULL) ||
		    np_accounting_append(dir, day, &e, 0644, NULL) ||
		    write(fd, &i, sizeof(i)) != sizeof(i))
			_exit(1);
		np_record_free(r);
	}
}

/* Returns the last one of which it was said that it is there. */
static uint32_t write_and_kill(struct np_store *s, uint32_t last, unsigned usec)
{
	int fds[2], status = 0;
	pid_t pid;

	T_CHECK(!pipe(fds));
	fflush(NULL);
	pid = fork();
	if (!pid)
		write_for_ever(s, last + 1, fds[1]);
	close(fds[1]);
	usleep(usec);
	kill(pid, SIGKILL);
	T_CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
	while (read(fds[0], &last, sizeof(last)) == sizeof(last))
		;
	close(fds[0]);
	return last;
}

static unsigned n_warned;

static void warn(const char *line, void *arg)
{
	(void)line, (void)arg;
	n_warned++;
}

static bool is_there(struct np_store *s, uint32_t last)
{
	struct np_runs runs = { .n = 0 };
	struct np_state state;
	struct np_accounting_record e;
	bool run, loaded, ended;

	run = !np_store_load(s, NP_STORE_USER, geteuid(), "lmp", warn, NULL,
			     &runs, NULL) &&
	      runs.n == 1 && runs.run[0]->end >= BEGAN + last;
	np_runs_free(&runs);
	loaded = !np_state_load(dir, &state, NULL);
	if (loaded) {
		loaded = state.date >= BEGAN + last;
		np_state_free(&state);
	}
	ended = !np_accounting_find(dir, last, NP_ACCOUNTING_NO_TASK, &e, NULL);
	if (ended)
		np_accounting_record_free(&e);
	return run && loaded && ended && !n_warned;
}

T_TEST("300 kills in the middle of writes lose nothing")
{
	uint32_t last, kept = 0;
	struct t_rng g = { 300 };
	double usec; /* of one write and a bit */
	struct np_store *s;

	snprintf(dir, sizeof(dir), "%s/killed", t_tmpdir());
	T_CHECK(!mkdir(dir, 0755));
	if (np_store_open(dir, &s, NULL)) {
		T_ROW(dir, false);
		return;
	}
	usec = FIRST_USEC;
	while (!(last = write_and_kill(s, 0, (unsigned)usec)) && usec < 3e7)
		usec *= 2;
	T_ROW("something is written", last > 0);
	usec *= 1.2 / (last + 1);
	for (int i = 0; i < KILLS; i++) {
		last = write_and_kill(s, last,
				      (unsigned)(t_uniform(&g) * usec));
		kept += is_there(s, last);
	}
	T_ROW("and all of it is there", kept == KILLS);
	np_store_close(s);
}
