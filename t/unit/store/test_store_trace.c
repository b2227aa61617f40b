#include "t.h"
#include "np_store.h"
#include "np_trace_dir.h"

#include <fcntl.h>
#include <sys/stat.h>

static char users[512];

/* A store, and the traces of an application as STEP names them. */
static struct np_store *new_store(void)
{
	static int n;
	struct np_store *s;
	const char *dir = t_text("%s/traced%d", t_tmpdir(), n++);

	snprintf(users, sizeof(users), "%s/users", dir);
	T_CHECK(!mkdir(dir, 0755) && !mkdir(users, 0777));
	T_CHECK(!np_store_open(dir, &s, NULL));
	return s;
}

static unsigned user_keep; /* 0: all */
static size_t want_removed;

/* As a program does; sec: when it was, since 1970. */
static void add_trace(const char *app, const char *name, long sec,
		      unsigned keep)
{
	const struct timespec times[] = { { sec, 0 }, { sec, 0 } };
	int fd, file, of_app;

	fd = np_trace_dir_open("/", users,
			       t_text("%u/%s/%s", getuid(), app, name));
	T_CHECK(fd >= 0);
	file = openat(fd, "rank.0", O_WRONLY | O_CREAT, 0640);
	T_CHECK(file >= 0 && !close(file));
	T_CHECK(!futimens(fd, times));
	of_app = openat(fd, "..", O_RDONLY);
	if (keep)
		np_trace_dir_prune(of_app, keep);
	close(of_app);
	if (user_keep)
		T_CHECK(np_trace_dir_prune_user(fd, user_keep) == want_removed);
	close(fd);
}

T_TEST("the newest trace of an application is found")
{
	struct np_store *s = new_store();
	char path[1024];

	T_CHECK(np_store_trace(s, getuid(), "a", path, sizeof(path), NULL) ==
		-ENOENT);
	add_trace("a", "9.0.trace", 1000, 0);
	add_trace("a", "10.0.trace", 3000, 0);
	add_trace("a", "11.0.trace", 2000, 0);
	add_trace("b", "12.0.trace", 9000, 0);
	T_CHECK(!np_store_trace(s, getuid(), "a", path, sizeof(path), NULL));
	T_CHECK(!strcmp(path, t_text("%s/%u/a/10.0.trace", users, getuid())));
	T_CHECK(np_store_trace(s, getuid(), "c", path, sizeof(path), NULL) ==
		-ENOENT);
	T_CHECK(np_store_trace(s, getuid(), "a", path, 10, NULL) < 0);
	np_store_close(s);
}

static bool is_there(const char *name)
{
	return !access(t_text("%s/%u/%s", users, getuid(), name), F_OK);
}

T_TEST("older traces go, and nothing else")
{
	struct np_store *s = new_store();

	add_trace("a", "1.0.trace", 1000, 0);
	add_trace("a", "2.0.trace", 2000, 0);
	add_trace("a", "other", 10, 0);
	add_trace("b", "1.0.trace", 10, 0);
	add_trace("a", "3.0.trace", 3000, 2);
	T_CHECK(!is_there("a/1.0.trace"));
	T_CHECK(is_there("a/2.0.trace") && is_there("a/3.0.trace"));
	T_CHECK(is_there("a/other/rank.0") && is_there("b/1.0.trace"));
	np_store_close(s);
}

/* Of all applications of a user the newest stay. */
T_TEST("a user's older traces go, of all applications")
{
	struct np_store *s = new_store();

	add_trace("a", "1.0.trace", 1000, 0);
	add_trace("b", "2.0.trace", 5000, 0);
	add_trace("b", "3.0.trace", 2000, 0);
	add_trace("c", "other", 10, 0);
	T_CHECK(!symlink("a", t_text("%s/%u/d", users, getuid())));
	user_keep = 4;
	add_trace("d2", "4.0.trace", 4000, 1);
	T_ROW("no more than may be", is_there("a/1.0.trace"));
	user_keep = 2;
	want_removed = 3;
	add_trace("e", "5.0.trace", 6000, 1);
	user_keep = want_removed = 0;
	T_CHECK(is_there("e/5.0.trace") && is_there("b/2.0.trace"));
	T_CHECK(!is_there("a/1.0.trace") && !is_there("b/3.0.trace") &&
		!is_there("d2/4.0.trace"));
	T_CHECK(is_there("c/other/rank.0"));
	np_store_close(s);
}

/* Of others, or through links, nothing is removed and nothing written. */
T_TEST("links and what others own are left alone")
{
	struct np_store *s = new_store();
	char path[700], elsewhere[700], found[1024];

	add_trace("a", "2.0.trace", 2000, 0);
	snprintf(elsewhere, sizeof(elsewhere), "%s/elsewhere", users);
	T_CHECK(!mkdir(elsewhere, 0755));
	snprintf(path, sizeof(path), "%s/%u/a/9.0.trace", users, getuid());
	T_CHECK(!symlink(elsewhere, path));
	add_trace("a", "3.0.trace", 3000, 1);
	T_CHECK(!access(elsewhere, F_OK) && is_there("a/9.0.trace"));
	T_CHECK(!np_store_trace(s, getuid(), "a", found, sizeof(found), NULL));
	T_CHECK(strstr(found, "3.0.trace"));
	T_CHECK(np_trace_dir_open("/", users,
				  t_text("%u/a/9.0.trace", getuid())) < 0);
	snprintf(path, sizeof(path), "%s/%u/b", users, getuid());
	T_CHECK(!symlink(elsewhere, path));
	T_CHECK(np_trace_dir_open("/", users,
				  t_text("%u/b/1.0.trace", getuid())) < 0);
	if (!getuid()) {
		snprintf(path, sizeof(path), "%s/%u/c", users, getuid());
		T_CHECK(!mkdir(path, 0777) && !chown(path, 12345, 12345));
		T_CHECK(np_trace_dir_open("/", users, "0/c/1.0.trace") ==
			-EACCES);
	}
	np_store_close(s);
}

T_TEST("a directory of one's own is made")
{
	int fd;

	for (int i = 0; i < 2; i++) {
		fd = np_trace_dir_open("/", t_path("plain"), NULL);
		T_CHECK(fd >= 0 && !close(fd));
	}
	T_CHECK(np_trace_dir_open("/", "/proc/none", NULL) < 0);
	T_CHECK(np_trace_dir_open("/", "/proc/none", "a/b") < 0);
}

#define OTHER 12345

/* Links in the path of a trace's directory; "real" is a directory. */
static const struct {
	const char *name, *link, *target;
	uid_t owner;
	const char *path;
	int want; /* -errno, or 0: path leads to made */
	const char *made;
} links[] = {
	{ "one's own in the middle", "own", "real", 0, "own/t", 0, "real/t" },
	{ "another user's in the middle", "other", "real", OTHER, "other/t",
	  -ELOOP, "real/t" },
	{ "another user's in the middle, of existing directories", "other",
	  "real", OTHER, "other/deep/t", -ELOOP, "real/deep/t" },
	{ "another user's at the end", "other", "real", OTHER, "other", -ELOOP,
	  "real/none" },
	{ "one's own to another user's", "own", "other/deep", 0, "own/t",
	  -ELOOP, "real/deep/t" },
	{ "one's own with .. in it", "real/deep/up", "../../real", 0,
	  "real/deep/up/t", 0, "real/t" },
	{ "one's own at the end, to a directory", "own", "real/deep", 0,
	  "own//", 0, "real/deep" },
	{ "one's own at the end, to nothing", "own", "real/none", 0, "own",
	  -ENOENT, "real/none" },
	{ "a loop", "own", "own", 0, "own/t", -ELOOP, "real/t" },
	{ "what is no directory", "own", "/proc/version", 0, "own/t", -ENOTDIR,
	  "real/t" },
	{ "a hidden owner's", "own", "real", 65534, "own/t", 0, "real/t" },
	{ "a hidden owner's where everybody may make one", "open/own",
	  "../real", 65534, "open/own/t", -ELOOP, "real/t" },
	{ "a missing directory in the middle", "own", "real", 0, "own/a/t",
	  -ENOENT, "real/a" },
};

/* Make dir with its directories, and the link of a row. */
static void make_links(const char *dir, size_t row)
{
	char link[400];

	T_CHECK(!system(t_text(
		"rm -rf %s && mkdir -p %s && cd %s && mkdir -p real/deep && "
		"mkdir -m 1777 open && ln -s real other && chown -h %d other",
		dir, dir, dir, OTHER)));
	snprintf(link, sizeof(link), "%s/%s", dir, links[row].link);
	unlink(link);
	T_CHECK(!symlink(links[row].target, link) &&
		!lchown(link, links[row].owner, (gid_t)-1));
}

T_TEST("of links in the path of a trace, only trusted ones are followed")
{
	char dir[300];

	if (geteuid())
		return; /* cannot make links of others */
	snprintf(dir, sizeof(dir), "%s/links", t_tmpdir());
	for (size_t i = 0; i < NP_ARRAY_SIZE(links); i++) {
		int fd;

		make_links(dir, i);
		fd = np_trace_dir_open("/", t_text("%s/%s", dir, links[i].path),
				       NULL);
		T_ROW(links[i].name,
		      links[i].want ? fd == links[i].want : fd >= 0);
		T_ROW(links[i].name,
		      !links[i].want ==
			      !access(t_text("%s/%s", dir, links[i].made),
				      F_OK));
		if (fd >= 0)
			close(fd);
	}
}

T_TEST("who has no name in a user namespace trusts no link in /tmp")
{
	int before = open(".", O_PATH | O_DIRECTORY), fd, rc;
	char dir[300];

	if (geteuid())
		return; /* cannot become somebody else */
	snprintf(dir, sizeof(dir), "%s/nobody", t_tmpdir());
	for (size_t i = 0; i < NP_ARRAY_SIZE(links); i++) {
		if (links[i].owner != 65534)
			continue;
		make_links(dir, i);
		T_CHECK(!chdir(dir) && !chmod("real", 0777) && !seteuid(65534));
		fd = np_trace_dir_open("/", links[i].path, NULL);
		rc = seteuid(0) || fchdir(before);
		T_ROW(links[i].name,
		      links[i].want ? fd == links[i].want : fd >= 0);
		T_CHECK(!rc);
		if (fd >= 0)
			close(fd);
	}
	close(before);
}

T_TEST("absolute links begin in the root of the traced process")
{
	int fd;
	const char *root = t_path("root");

	T_CHECK(!mkdir(root, 0755) &&
		!symlink("/data", t_text("%s/link", root)));
	T_CHECK(!mkdir(t_text("%s/data", root), 0755));
	fd = np_trace_dir_open(root, "/link/t", NULL);
	T_CHECK(fd >= 0 && !close(fd));
	T_CHECK(!access(t_text("%s/data/t", root), F_OK));
	fd = np_trace_dir_open("/", "/proc/self/root/proc", NULL);
	T_CHECK(fd >= 0 && !close(fd));
}
