#include "some_store.h"

#include "t.h"
#include "some_record.h"

#include <sys/stat.h>
#include <sys/syscall.h>

char t_store_dir[512];

struct np_store *t_store_fresh(void)
{
	static int count;
	struct np_store *s = NULL;

	snprintf(t_store_dir, sizeof(t_store_dir), "%s/store%d", t_tmpdir(),
		 count++);
	T_CHECK(mkdir(t_store_dir, 0755) == 0);
	T_CHECK(np_store_open(t_store_dir, &s, NULL) == 0);
	return s;
}

struct np_store *t_store;

void t_store_begin(void)
{
	t_store = t_store_fresh();
}

void t_store_end(void)
{
	np_store_close(t_store);
}

struct np_record *t_store_run(uint32_t job_id, double start)
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

int t_store_save(struct np_store *s, uint32_t job_id, double start)
{
	struct np_record *r = t_store_run(job_id, start);
	struct np_err err = NP_ERR_INIT;
	int rc = np_store_save(s, NP_STORE_USER, r, &err);

	T_ROW("a failure comes with a line", !rc == !err.text[0]);
	np_record_free(r);
	return rc;
}

int t_store_taken;

/* In place of the C library's. */
int renameat(int from_fd, const char *from, int to_fd, const char *to)
{
	if (t_store_taken > 0) {
		t_store_taken--;
		unlinkat(from_fd, from, 0);
	}
	return (int)syscall(SYS_renameat2, from_fd, from, to_fd, to, 0);
}

struct t_store_warned t_store_warned;

void t_store_warn(const char *line, void *arg)
{
	(void)arg;
	t_store_warned.n++;
	snprintf(t_store_warned.line, sizeof(t_store_warned.line), "%s", line);
}

struct np_runs t_store_load(struct np_store *s, int *rc)
{
	struct np_runs runs = { .n = 0 };

	t_store_warned.n = 0;
	t_store_warned.line[0] = '\0';
	*rc = np_store_load(s, NP_STORE_USER, geteuid(), "lmp", t_store_warn,
			    NULL, &runs, NULL);
	return runs;
}

const char *t_store_path(const char *name)
{
	return t_text("%s/users/%u/lmp/%s", t_store_dir, geteuid(), name);
}

void t_store_write(const char *name, const char *text)
{
	t_write_text(t_store_path(name), text);
}

void t_fabric_write(const char *name, const char *text)
{
	t_write_text(t_text("%s/fabric/hpc/%s", t_store_dir, name), text);
}

int t_count_files(const char *dir, const char *pattern)
{
	int n = -1;
	FILE *f;

	f = popen(t_text("find '%s' -name '%s' -type f | wc -l", dir, pattern),
		  "r");
	if (!f || fscanf(f, "%d", &n) != 1)
		n = -1;
	if (f)
		pclose(f);
	return n;
}

int t_skip_unless_root(const char *what)
{
	if (!geteuid())
		return 0;
	printf("skipped (not root): %s ... ", what);
	return 1;
}
