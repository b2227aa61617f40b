#include "t.h"
#include "some_store.h"

#include <fcntl.h>
#include <grp.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define SLURM_GID 777
#define ALICE 12345
#define MALLORY 23456

static char users[600];

/* The last two are there to be used. */
static const char *in_users(const char *name)
{
	static char path[2][700];
	static int next;

	next = !next;
	snprintf(path[next], sizeof(path[next]), "%s/%s", users, name);
	return path[next];
}

/* users/ as an administrator makes it; NULL: this is not root. */
static struct np_store *shared_store(void)
{
	struct np_store *s;

	if (t_skip_unless_root("users/ of many users"))
		return NULL;
	s = t_store_fresh();
	snprintf(users, sizeof(users), "%s/users", t_store_dir);
	T_CHECK(!chmod(t_tmpdir(), 0755) && !mkdir(users, 0755) &&
		!chown(users, 0, SLURM_GID) && !chmod(users, 03777));
	return s;
}

/* A directory of that name that belongs to uid. */
static void put(const char *name, uid_t uid, mode_t mode)
{
	T_ROW(name, !mkdir(in_users(name), 0755) &&
			    !chown(in_users(name), uid, SLURM_GID) &&
			    !chmod(in_users(name), mode));
}

static int mode_of(const char *name)
{
	struct stat st;

	return lstat(in_users(name), &st) ? -1 : (int)(st.st_mode & 07777);
}

T_TEST("names in users/ that belong to somebody else are reported")
{
	struct np_store *s = shared_store();
	struct np_store_census c;

	if (!s)
		return;
	put("12345", ALICE, 02750);
	put("23456", MALLORY, 02750);
	put("20001", MALLORY, 0755);
	put("20002", MALLORY, 0755);
	put("xyz", MALLORY, 0755);
	T_CHECK(!symlink("/etc", in_users("20003")) &&
		!lchown(in_users("20003"), ALICE, 0));
	put("20004", 0, 0755);
	put("lost+found", 0, 0700);
	put(".mend-12345", ALICE, 02700);
	put(".mend-20009", MALLORY, 02700);
	T_CHECK(np_store_census(s, &c, NULL) == 0);
	T_CHECK(c.n == 3 && !c.cut && !c.n_closed);
	T_CHECK(c.squatter[0].uid == MALLORY && c.squatter[0].n == 4 &&
		c.squatter[0].n_taken == 2 &&
		(c.squatter[0].taken == 20001 || c.squatter[0].taken == 20002));
	T_CHECK(c.squatter[1].uid == 0 && c.squatter[1].n == 1 &&
		c.squatter[1].taken == 20004);
	T_CHECK(c.squatter[2].uid == ALICE && c.squatter[2].taken == 20003);
	np_store_census_free(&c);
	np_store_close(s);
}

T_TEST("an honest store has none")
{
	struct np_store *s = t_store_fresh();
	struct np_store_census c;

	T_CHECK(np_store_census(s, &c, NULL) == 0 && !c.n); /* no users/ */
	np_store_census_free(&c);
	T_CHECK(t_store_save(s, 7, 1.7e9) == 0);
	T_CHECK(np_store_census(s, &c, NULL) == 0);
	T_CHECK(!c.n && !c.n_closed && !c.cut);
	np_store_census_free(&c);
	np_store_close(s);
}

/* Links to one file are cheaper than that many directories. */
static void crowd(int n)
{
	char name[32], first[700];

	for (int i = 0; i < n; i++) {
		int fd;

		snprintf(name, sizeof(name), "x%d", i);
		if (i % 30000) {
			if (link(first, in_users(name)))
				T_ROW(name, 0);
			continue;
		}
		snprintf(first, sizeof(first), "%s", in_users(name));
		fd = open(first, O_CREAT | O_WRONLY, 0644);
		T_CHECK(fd >= 0 && !fchown(fd, MALLORY, MALLORY));
		close(fd);
	}
}

T_TEST("more entries than are read are reported")
{
	struct np_store *s = shared_store();
	struct np_store_census c;
	uid_t *uids = NULL;
	size_t n = 0;

	if (!s)
		return;
	t_store_warned.n = 0;
	crowd(NP_STORE_MAX_SCAN - 10);
	T_CHECK(np_store_uids(s, &uids, &n, t_store_warn, NULL, NULL) == 0);
	free(uids);
	T_CHECK(t_store_warned.n == 0);
	for (int i = 0; i < 10; i++)
		put((const char *const[]){ "y0", "y1", "y2", "y3", "y4", "y5",
					   "y6", "y7", "y8", "y9" }[i],
		    MALLORY, 0755);
	T_CHECK(np_store_uids(s, &uids, &n, t_store_warn, NULL, NULL) == 0);
	free(uids);
	T_CHECK(t_store_warned.n == 1);
	T_ROW(t_store_warned.line,
	      strstr(t_store_warned.line,
		     "users: more than 65536 entries, the rest is ignored"));
	T_CHECK(np_store_census(s, &c, NULL) == 0);
	T_CHECK(c.cut && c.n == 1 && c.squatter[0].uid == MALLORY &&
		!c.squatter[0].n_taken && c.squatter[0].n > 60000);
	np_store_census_free(&c);
	np_store_close(s);
}

/* Exit status of a child: which of its checks failed, 0 if none. */
#define CHILD(n, cond) \
	do { \
		if (!(cond)) \
			return n; \
	} while (0)

static int become(uid_t uid)
{
	umask(0077);
	return setgroups(0, NULL) || setgid(uid) || setuid(uid);
}

static uint32_t job; /* of the next run */

static int alice_saves(void)
{
	struct np_store *s;
	struct np_record *r = t_store_run(job, 1.7e9 + job);

	CHILD(1, !become(ALICE));
	CHILD(2, !np_store_open(t_store_dir, &s, NULL));
	r->uid = ALICE;
	CHILD(3, !np_store_save(s, NP_STORE_USER, r, NULL));
	np_store_close(s);
	return 0;
}

static int mallory_takes_alice(void)
{
	CHILD(1, !become(MALLORY));
	CHILD(2, mkdir(in_users("12345"), 0777) && errno == EEXIST);
	CHILD(3, rename(in_users("12345"), in_users("x")));
	return 0;
}

/* slurmctld: in the group of users/, and nothing else. */
static int slurm_reads_two_runs(void)
{
	struct np_runs runs = { .n = 0 };
	struct np_store *s;

	CHILD(1, !setgroups(0, NULL) && !setgid(SLURM_GID) && !setuid(777));
	CHILD(2, !np_store_open(t_store_dir, &s, NULL));
	CHILD(3, !np_store_load(s, NP_STORE_USER, ALICE, "lmp", NULL, NULL,
				&runs, NULL));
	CHILD(4, runs.n == 2);
	return 0;
}

T_TEST("a directory made beforehand cannot be taken")
{
	struct np_store *s = shared_store();
	struct np_err err = NP_ERR_INIT;
	struct stat st;
	bool made;

	if (!s)
		return;
	T_CHECK(np_store_make_user(s, ALICE, &made, &err) == 0 && made);
	T_CHECK(!lstat(in_users("12345"), &st) && st.st_uid == ALICE &&
		st.st_gid == SLURM_GID && (st.st_mode & 07777) == 02750);
	T_CHECK(t_in_child(mallory_takes_alice) == 0);
	T_CHECK(t_in_child(alice_saves) == 0);
	T_CHECK(np_store_make_user(s, ALICE, &made, &err) == 0 && !made);
	/* what is there is repaired, what is not theirs is reported */
	T_CHECK(!chmod(in_users("12345"), 0700));
	T_CHECK(np_store_make_user(s, ALICE, &made, &err) == 0 && !made &&
		mode_of("12345") == 02750);
	put("20001", MALLORY, 0755);
	T_CHECK(np_store_make_user(s, 20001, &made, &err) == -EEXIST);
	T_ROW(err.text,
	      strstr(err.text, "users/20001: belongs to another user"));
	T_CHECK(mode_of("20001") == 0755);
	T_CHECK(!symlink(t_tmpdir(), in_users("20002")));
	T_CHECK(np_store_make_user(s, 20002, &made, &err) < 0);
	T_CHECK(!stat(t_tmpdir(), &st) && !st.st_uid);
	put("20003", 0, 0755); /* a slip of root's */
	T_CHECK(np_store_make_user(s, 20003, &made, &err) == 0 &&
		!lstat(in_users("20003"), &st) && st.st_uid == 20003);
	np_store_close(s);
}

T_TEST("the next writer lets slurmctld in again")
{
	struct np_store *s = shared_store();
	struct np_store_census c;

	if (!s)
		return;
	job = 7;
	T_CHECK(t_in_child(alice_saves) == 0);
	T_CHECK(!chmod(in_users("12345"), 02700)); /* as by umask 077 */
	T_CHECK(!np_store_census(s, &c, NULL) && c.n_closed == 1 &&
		c.closed == ALICE);
	np_store_census_free(&c);
	T_CHECK(t_in_child(slurm_reads_two_runs) == 3);
	job = 8;
	T_CHECK(t_in_child(alice_saves) == 0);
	T_CHECK(mode_of("12345") == 02750 && mode_of(".mend-12345") == -1);
	T_CHECK(t_in_child(slurm_reads_two_runs) == 0);
	np_store_close(s);
}

/* One was killed when it had put the new directory in the old one's place. */
T_TEST("a mending that was killed goes on")
{
	struct np_store *s = shared_store();

	if (!s)
		return;
	job = 7;
	T_CHECK(t_in_child(alice_saves) == 0);
	T_CHECK(!rename(in_users("12345"), in_users(".mend-12345")) &&
		!chmod(in_users(".mend-12345"), 02700));
	put("12345", ALICE, 02750);
	put("12345/lmp", ALICE, 02750); /* another writer was quick */
	job = 8;
	T_CHECK(t_in_child(alice_saves) == 0);
	T_CHECK(mode_of(".mend-12345") == -1 && mode_of("12345") == 02750);
	T_CHECK(t_in_child(slurm_reads_two_runs) == 0);
	np_store_close(s);
}

static int mallory_waits_for_the_gap(void)
{
	int taken = 0;

	CHILD(77, !become(MALLORY));
	for (int i = 0; i < 200000 && !taken; i++)
		taken = !mkdir(in_users("12345"), 0755) ||
			!mkdir(in_users(".mend-12345"), 0755);
	return taken ? 1 : 0;
}

T_TEST("and leaves no gap to squat")
{
	struct np_store *s = shared_store();
	struct stat st;
	pid_t pid;

	if (!s)
		return;
	job = 7;
	T_CHECK(t_in_child(alice_saves) == 0);
	fflush(NULL);
	pid = fork();
	if (!pid)
		_exit(mallory_waits_for_the_gap());
	for (job = 8; job < 20; job++) {
		T_CHECK(!chmod(in_users("12345"), 02700));
		T_CHECK(t_in_child(alice_saves) == 0);
	}
	waitpid(pid, NULL, 0);
	T_CHECK(!lstat(in_users("12345"), &st) && st.st_uid == ALICE);
	T_CHECK(t_count_files(in_users("12345"), "*.json") == 13);
	np_store_close(s);
}
