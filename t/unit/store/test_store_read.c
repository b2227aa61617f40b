#include "t.h"
#include "np_conf.h"
#include "some_store.h"

#include <fcntl.h>
#include <sys/stat.h>

#define DAMAGED "{\"schema\":1,\"app\":"
#define ANOTHERS \
	"{\"schema\":1,\"app\":\"lmp\",\"uid\":4242,\"job_id\":1," \
	"\"step_id\":0,\"start\":1,\"end\":2,\"state\":\"cut\"}"

static void make_link(const char *name)
{
	T_CHECK(symlink(t_store_path("20231114T221320Z-test-7.0.json"),
			t_store_path(name)) == 0);
}

static void make_fifo(const char *name)
{
	T_CHECK(mkfifo(t_store_path(name), 0644) == 0);
}

static void make_directory(const char *name)
{
	T_CHECK(mkdir(t_store_path(name), 0755) == 0);
}

static void make_huge(const char *name)
{
	t_store_write(name, "{}");
	T_CHECK(truncate(t_store_path(name), NP_RECORD_MAX_BYTES + 1) == 0);
}

static void make_endless(const char *name)
{
	t_store_write(name, "{}");
	T_CHECK(truncate(t_store_path(name), 1ll << 40) == 0); /* sparse */
}

static void make_unreadable(const char *name)
{
	t_store_write(name, "{}");
	T_CHECK(chmod(t_store_path(name), 0) == 0);
}

static void make_foreign(const char *name)
{
	t_store_write(name, ANOTHERS);
	T_CHECK(chown(t_store_path(name), 4242, 4242) == 0);
}

#define X50 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"

static const struct {
	const char *name;
	void (*make)(const char *name); /* NULL: with this text */
	const char *text, *file, *says;
	enum { ANYBODY, ROOT, NOT_ROOT } who;
} intruders[] = {
	{ "a symbolic link", make_link, NULL, "x.json", "a symbolic link",
	  ANYBODY },
	{ "a FIFO does not hang", make_fifo, NULL, "x.json", "a FIFO",
	  ANYBODY },
	{ "a directory", make_directory, NULL, "x.json", "a directory",
	  ANYBODY },
	{ "a huge file", make_huge, NULL, "x.json", "4194305 bytes, expected",
	  ANYBODY },
	{ "an endless file", make_endless, NULL, "x.json", "expected at most",
	  ANYBODY },
	{ "a damaged record", NULL, DAMAGED, "x.json", "ends too early",
	  ANYBODY },
	{ "a byte-order mark", NULL, "\xef\xbb\xbf{}", "x.json",
	  "/x.json: skipped: line 1: begins with a byte-order mark (UTF-8)",
	  ANYBODY },
	{ "a packed file", NULL, "\x1f\x8b\x08", "x.json",
	  "/x.json: skipped: line 1: expected text, got gzip data", ANYBODY },
	{ "two records in a file", NULL, "{\"schema\":1}\n{\"schema\":1}",
	  "x.json", "/x.json: skipped: line 2: damaged at byte 13", ANYBODY },
	{ "an empty file", NULL, "", "x.json", "ends too early", ANYBODY },
	{ "a newer schema", NULL, "{\"schema\":2,\"app\":{\"name\":\"lmp\"}}",
	  "x.json", "schema 2 is newer", ANYBODY },
	{ "a record of another user", NULL, ANOTHERS, "x.json", "uid: got 4242",
	  ANYBODY },
	{ "a name with an escape sequence", NULL, DAMAGED, "\x1b[2J.json",
	  "/?[2J.json: skipped", ANYBODY },
	{ "a name that is written backwards", NULL, DAMAGED,
	  "\xe2\x80\xae\xc2\x9b.json", "/??.json: skipped: damaged", ANYBODY },
	{ "a name as long as can be", NULL, DAMAGED,
	  X50 X50 X50 X50 X50 ".json", "skipped: damaged", ANYBODY },
	{ "no permission", make_unreadable, NULL, "x.json", "Permission",
	  NOT_ROOT },
	{ "a foreign owner", make_foreign, NULL, "x.json", "owned by uid 4242",
	  ROOT },
};

T_FIXTURE(t_store_begin, t_store_end);

T_TEST("every intruder is skipped with one line, the rest is used")
{
	T_EACH(r, intruders) {
		struct np_store *s;
		struct np_runs runs;
		int rc;

		if (r->who == (geteuid() ? ROOT : NOT_ROOT))
			continue;
		s = t_store_fresh();
		T_CHECK(t_store_save(s, 7, 1.7e9) == 0);
		if (r->make)
			r->make(r->file);
		else
			t_store_write(r->file, r->text);
		runs = t_store_load(s, &rc);
		T_ROW(r->name, rc == 0 && runs.n == 1);
		T_ROW(r->name, t_store_warned.n == 1 && runs.n_skipped == 1);
		T_ROW(r->name, strstr(t_store_warned.line, "/lmp/"));
		T_ROW(r->name, strstr(t_store_warned.line, ".json: skipped"));
		T_ROW(r->name, strstr(t_store_warned.line, r->says));
		T_ROW(r->name, !strchr(t_store_warned.line, '\n'));
		np_runs_free(&runs);
		np_store_close(s);
	}
}

T_TEST("other files are no runs")
{
	struct np_runs runs;
	int rc;

	T_CHECK(t_store_save(t_store, 7, 1.7e9) == 0);
	t_store_write("README", "x");
	t_store_write(".hidden.json", "x");
	t_store_write(".json", "x");
	runs = t_store_load(t_store, &rc);
	T_CHECK(runs.n == 1 && t_store_warned.n == 0);
	np_runs_free(&runs);
}

T_TEST("a renamed directory names its runs")
{
	struct np_runs runs = { .n = 0 };

	T_CHECK(t_store_save(t_store, 7, 1.7e9) == 0);
	T_CHECK(rename(t_text("%s/users/%u/lmp", t_store_dir, geteuid()),
		       t_text("%s/users/%u/lammps", t_store_dir, geteuid())) ==
		0);
	T_CHECK(np_store_load(t_store, NP_STORE_USER, geteuid(), "lammps", NULL,
			      NULL, &runs, NULL) == 0);
	T_CHECK(runs.n == 1 && !strcmp(runs.run[0]->app, "lammps"));
	np_runs_free(&runs);
}

T_TEST("many runs are bounded")
{
	char from[1024];
	struct np_runs runs;
	int rc;

	T_CHECK(t_store_save(t_store, 7, 1.7e9) == 0);
	strcpy(from, t_store_path("20231114T221320Z-test-7.0.json"));
	for (int i = 0; i < NP_CONF_MAX_RUNS + 20; i++)
		T_CHECK(link(from,
			     t_store_path(t_text("20240101T%06dZ-x-1.0.json",
						 i))) == 0);
	runs = t_store_load(t_store, &rc);
	T_CHECK(rc == 0 && runs.n == NP_CONF_MAX_RUNS &&
		t_store_warned.n == 1 && !runs.n_skipped);
	T_CHECK(!!strstr(t_store_warned.line, "21 older runs are not read"));
	np_runs_free(&runs);
	T_CHECK(t_store_save(t_store, 8, 1.8e9) == 0); /* prunes */
	T_CHECK(t_count_files(t_store_dir, "*.json") == NP_CONF_MAX_RUNS);
}

T_TEST("many leaves are bounded")
{
	struct np_runs runs;
	int rc;

	for (uint32_t job = 1; job <= 4; job++) {
		struct np_record *r = t_store_run(job, 1.7e9 + job);

		for (int i = 0; i < 2500; i++)
			np_record_leaf(r, t_text("l%d", i));
		T_CHECK(np_store_save(t_store, NP_STORE_USER, r, NULL) == 0);
		np_record_free(r);
	}
	runs = t_store_load(t_store, &rc);
	T_CHECK(rc == 0 && runs.n == 2 && runs.run[0]->job_id == 4);
	T_CHECK(t_store_warned.n == 1 &&
		strstr(t_store_warned.line, "2 older runs"));
	np_runs_free(&runs);
}

/* A list with n empty objects. */
static void put_objects(FILE *f, const char *key, int n)
{
	fprintf(f, ",\"%s\":[{}", key);
	for (int i = 1; i < n; i++)
		fputs(",{}", f);
	fputc(']', f);
}

/* One small file with many names, which needs much more memory. */
T_TEST("many intervals and neighbours are bounded")
{
	const size_t items =
		2ul * NP_RECORD_MAX_INTERVALS + NP_RECORD_MAX_NEIGHBOURS;
	const size_t most = NP_STORE_MAX_ITEMS / items + 1;
	char from[1024], *text = NULL;
	struct np_runs runs;
	size_t len;
	int rc;
	FILE *f = open_memstream(&text, &len);

	fprintf(f,
		"{\"schema\":1,\"app\":\"lmp\",\"uid\":%u,\"job_id\":1,"
		"\"step_id\":0,\"start\":1,\"end\":2,\"state\":\"cut\"",
		geteuid());
	put_objects(f, "blocks_alone", NP_RECORD_MAX_INTERVALS);
	put_objects(f, "blocks", NP_RECORD_MAX_INTERVALS);
	put_objects(f, "neighbours", NP_RECORD_MAX_NEIGHBOURS);
	fputc('}', f);
	fclose(f);
	T_CHECK(t_store_save(t_store, 7, 1.7e9) == 0);
	t_store_write("20240101T000000Z-x-1.0.json", text);
	free(text);
	strcpy(from, t_store_path("20240101T000000Z-x-1.0.json"));
	for (size_t i = 1; i < most + 10; i++)
		T_CHECK(link(from,
			     t_store_path(t_text("20240101T%06zuZ-x-1.0.json",
						 i))) == 0);
	runs = t_store_load(t_store, &rc);
	T_CHECK(rc == 0 && runs.n == most && t_store_warned.n == 1);
	T_CHECK(!!strstr(t_store_warned.line, "11 older runs are not read"));
	np_runs_free(&runs);
}

T_TEST("many damaged files are bounded")
{
	struct np_runs runs;
	int rc;

	T_CHECK(t_store_save(t_store, 7, 1.7e9) == 0);
	for (int i = 0; i < NP_STORE_MAX_SKIPPED + 50; i++)
		t_store_write(t_text("2030-%04d.json", i), "{");
	T_CHECK(t_store_save(t_store, 8, 4e9) == 0);
	runs = t_store_load(t_store, &rc);
	T_CHECK(rc == 0 && runs.n == 1 && runs.run[0]->job_id == 8);
	T_CHECK(t_store_warned.n == NP_STORE_MAX_SKIPPED + 1);
	T_CHECK(!!strstr(t_store_warned.line, "51 older ones are not read"));
	np_runs_free(&runs);
}

/* So many files are quickly made, and removed, in memory only. */
static struct np_store *store_in_memory(void)
{
	struct np_store *s = NULL;
	char dir[] = "/dev/shm/netprof-unit.XXXXXX";

	if (!mkdtemp(dir))
		return t_store_fresh();
	strcpy(t_store_dir, dir);
	T_CHECK(np_store_open(t_store_dir, &s, NULL) == 0);
	return s;
}

static void flood(void)
{
	int fd = open(t_store_path("."), O_RDONLY | O_DIRECTORY);

	for (int i = 0; i < NP_STORE_MAX_SCAN + 10; i++) {
		if (symlinkat("x", fd, t_text("x%d", i))) {
			T_ROW("making links", 0);
			break;
		}
	}
	close(fd);
}

T_TEST("a flooded directory is bounded")
{
	struct np_store *s = store_in_memory();
	struct np_runs runs;
	int rc;

	T_CHECK(t_store_save(s, 7, 1.7e9) == 0);
	flood();
	runs = t_store_load(s, &rc);
	T_CHECK(rc == 0 && t_store_warned.n >= 1 && runs.n <= 1);
	T_CHECK(!!strstr(t_store_warned.line, "more than 65536 files"));
	np_runs_free(&runs);
	np_store_close(s);
	t_sh("/", "rm -r '%s'", t_store_dir);
}

T_TEST("unknown applications are not there")
{
	static const char *const unknown[] = {
		"nothere", "../lmp", "", ".", "lmp/../lmp", "/etc",
	};
	struct np_runs runs;

	T_CHECK(t_store_save(t_store, 7, 1.7e9) == 0);
	for (size_t i = 0; i < NP_ARRAY_SIZE(unknown); i++) {
		struct np_err err = NP_ERR_INIT;

		T_ROW(unknown[i], np_store_load(t_store, NP_STORE_USER,
						geteuid(), unknown[i], NULL,
						NULL, &runs, &err) == -ENOENT);
		T_ROW(unknown[i], err.text[0]);
	}
	T_CHECK(np_store_load(t_store, NP_STORE_USER, 4242, "lmp", NULL, NULL,
			      &runs, NULL) == -ENOENT);
	T_CHECK(np_store_load(t_store, NP_STORE_PUBLISHED, 0, "lmp", NULL, NULL,
			      &runs, NULL) == -ENOENT);
}

T_TEST("a store that is none is named")
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
T_TEST("directories of others are not trusted")
{
	char path[600], other[600];
	struct np_err err = NP_ERR_INIT;
	struct np_store *s = t_store_fresh();
	struct np_runs runs;

	snprintf(other, sizeof(other), "%s", t_store_dir);
	T_CHECK(t_store_save(s, 7, 1.7e9) == 0);
	np_store_close(s);
	s = t_store_fresh();
	snprintf(path, sizeof(path), "%s/users", t_store_dir);
	T_CHECK(mkdir(path, 0777) == 0);
	snprintf(path, sizeof(path), "%s/users/%u", t_store_dir, geteuid());
	snprintf(other + strlen(other), 30, "/users/%u", geteuid());
	T_CHECK(symlink(other, path) == 0);
	T_CHECK(np_store_load(s, NP_STORE_USER, geteuid(), "lmp", NULL, NULL,
			      &runs, &err) == -EACCES);
	T_CHECK(!!strstr(err.text, "no symbolic link"));
	T_CHECK(t_store_save(s, 7, 1.7e9) == -EACCES);
	T_CHECK(unlink(path) == 0);
	if (!t_skip_unless_root("a foreign owner of a directory")) {
		T_CHECK(!mkdir(path, 0777) && !chown(path, 4242, 4242));
		T_CHECK(np_store_load(s, NP_STORE_USER, geteuid(), "lmp", NULL,
				      NULL, &runs, &err) == -EACCES);
		T_CHECK(!!strstr(err.text, "owned by uid 4242"));
		T_CHECK(t_store_save(s, 7, 1.7e9) == -EACCES);
		T_CHECK(t_count_files(t_store_dir, "*") == 0);
	}
	np_store_close(s);
}

T_TEST("applications and users are listed")
{
	struct np_store_app *apps;
	uid_t *uids;
	size_t n;

	T_CHECK(np_store_list_apps(t_store, NP_STORE_USER, geteuid(), &apps, &n,
				   NULL) == 0 &&
		n == 0);
	free(apps);
	T_CHECK(np_store_uids(t_store, &uids, &n, NULL, NULL, NULL) == 0 &&
		n == 0);
	free(uids);
	T_CHECK(t_store_save(t_store, 7, 1.7e9) == 0);
	for (const char *const *name =
		     (const char *const[]){ "zz", "aa", ".x", "not an app",
					    NULL };
	     *name; name++) {
		T_CHECK(mkdir(t_text("%s/users/%u/%s", t_store_dir, geteuid(),
				     *name),
			      0755) == 0);
	}
	T_CHECK(symlink("lmp", t_text("%s/users/%u/link", t_store_dir,
				      geteuid())) == 0);
	for (const char *const *name =
		     (const char *const[]){ "4242", "x", "007", "-1",
					    "4294967296", NULL };
	     *name; name++) {
		T_CHECK(mkdir(t_text("%s/users/%s", t_store_dir, *name),
			      0755) == 0);
	}
	T_CHECK(np_store_list_apps(t_store, NP_STORE_USER, geteuid(), &apps, &n,
				   NULL) == 0);
	T_CHECK(n == 3 && !strcmp(apps[0].name, "aa") &&
		!strcmp(apps[1].name, "lmp") && !strcmp(apps[2].name, "zz"));
	free(apps);
	T_CHECK(np_store_uids(t_store, &uids, &n, NULL, NULL, NULL) == 0);
	T_CHECK(n == 1 && uids[0] == geteuid());
	free(uids);
}

static bool same_stamp(const struct np_store_app *a,
		       const struct np_store_app *b)
{
	return a->stamp.dev == b->stamp.dev && a->stamp.ino == b->stamp.ino &&
	       a->stamp.sec == b->stamp.sec && a->stamp.nsec == b->stamp.nsec;
}

/* The file system's clock is coarse: until what is written has another time than was. */
static void await_tick(const struct np_store_app *was)
{
	struct stat st = { .st_mtim.tv_sec = 0 };

	for (int i = 0; i < 60000; i++) {
		usleep(1000);
		T_CHECK(!stat(t_write_text("tick", "."), &st));
		if (st.st_mtim.tv_sec != was->stamp.sec ||
		    st.st_mtim.tv_nsec != was->stamp.nsec)
			return;
	}
}

/* What was there before, and is now. */
static bool stamp_changed(struct np_store *s, struct np_store_app *was)
{
	struct np_store_app *a = NULL;
	bool changed = true;
	size_t n = 0;

	T_CHECK(np_store_list_apps(s, NP_STORE_USER, geteuid(), &a, &n, NULL) ==
		0);
	if (n == 1) {
		changed = !same_stamp(a, was);
		*was = a[0];
	}
	free(a);
	await_tick(was);
	return changed;
}

T_TEST("a stamp shows what changed")
{
	struct np_store_app was = { "" }, *a = NULL;
	size_t n = 9;

	T_ROW("nobody's applications",
	      np_store_list_apps(t_store, NP_STORE_USER, 7, &a, &n, NULL) ==
			      0 &&
		      n == 0);
	free(a);
	t_store_save(t_store, 1, 1e9);
	T_CHECK(stamp_changed(t_store, &was) && !strcmp(was.name, "lmp"));
	T_ROW("none without one", !stamp_changed(t_store, &was));
	t_store_save(t_store, 2, 1e9 + 1);
	T_ROW("one more run", stamp_changed(t_store, &was));
	t_store_save(t_store, 2, 1e9 + 1);
	T_ROW("a run replaced", stamp_changed(t_store, &was));
	t_sh(t_store_dir, "rm users/%u/lmp/*-2.0.json", geteuid());
	T_ROW("a run removed", stamp_changed(t_store, &was));
	t_sh(t_store_dir,
	     "cd users/%u && ln -s lmp link && : >file && mkdir .hidden",
	     geteuid());
	T_ROW("only directories with a name are looked at",
	      !stamp_changed(t_store, &was));
}
