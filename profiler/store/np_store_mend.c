/*
 * A user's directory that slurmctld cannot enter, as its owner's umask or
 * chmod(1) left it.  Its mode cannot be corrected: whoever is not in its group
 * would take its set-group-id bit away, and with it the group of what is made
 * below.  So an own new one takes its place, in one step, as a gap could be
 * squatted, and then what was in it.
 *
 * Killed in between, the old one is still there, as .mend-UID; the next writer
 * goes on.  Two at once do no harm: whatever is moved is in one of the two.
 */
#include "np_store_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SPARE ".mend-"
#define READABLE (S_IRGRP | S_IXGRP)

struct mend {
	int users;
	uid_t uid;
	char name[16], spare[24];
};

/*
 * Make a directory with these permissions, whatever the umask says.  Not by
 * chmod() afterwards: it would take the set-group-id bit away from whoever is
 * not in the group, and with it the group of the files below.  The umask
 * belongs to the whole process; only programs with one thread write.
 */
int np_dir_mkdir(int at, const char *name, mode_t mode)
{
	mode_t old = umask(~mode & 0777);
	int rc = mkdirat(at, name, mode & 0777) ? -errno : 0;

	umask(old);
	return rc;
}

static void move_dir(int from_at, const char *from, int to_at, const char *to,
		     bool deep);

static void move_all(int from, int to, bool deep)
{
	struct np_dir d = { .fd = from };
	char **names;
	size_t n;

	if (np_dir_names(&d, NULL, &names, &n, NULL, NULL))
		return;
	for (size_t i = 0; i < n; i++)
		if (renameat(from, names[i], to, names[i]) && deep)
			/* a writer has made that application meanwhile */
			move_dir(from, names[i], to, names[i], false);
	np_names_free(names, n);
}

/* What is in one directory goes to the other; then it goes, if it is empty. */
static void move_dir(int from_at, const char *from, int to_at, const char *to,
		     bool deep)
{
	int a = openat(from_at, from, NP_OPEN_DIR);
	int b = openat(to_at, to, NP_OPEN_DIR);

	if (a >= 0 && b >= 0)
		move_all(a, b, deep);
	if (a >= 0)
		close(a);
	if (b >= 0)
		close(b);
	unlinkat(from_at, from, AT_REMOVEDIR);
}

static bool is_own(const struct mend *m, const char *name, struct stat *st)
{
	return !fstatat(m->users, name, st, AT_SYMLINK_NOFOLLOW) &&
	       S_ISDIR(st->st_mode) && st->st_uid == m->uid;
}

bool np_dir_is_closed(const struct stat *users, const struct stat *st)
{
	return users->st_mode & S_ISGID &&
	       (st->st_mode & READABLE) != READABLE;
}

bool np_dir_is_spare(const char *name, uid_t uid)
{
	char spare[24];

	snprintf(spare, sizeof(spare), SPARE "%u", uid);
	return !strcmp(name, spare);
}

/*
 * False: another writer is at it, the spare one is no better, or this file
 * system cannot exchange; then root can mend it.
 */
static bool exchange(const struct mend *m, const struct stat *users)
{
	struct stat st;

	if (np_dir_mkdir(m->users, m->spare, NP_DIR_PRIVATE_MODE))
		return false;
	if (is_own(m, m->spare, &st) && !np_dir_is_closed(users, &st) &&
	    !renameat2(m->users, m->spare, m->users, m->name, RENAME_EXCHANGE))
		return true;
	unlinkat(m->users, m->spare, AT_REMOVEDIR);
	return false;
}

void np_dir_mend(int users, uid_t uid)
{
	struct mend m = { .users = users, .uid = uid };
	struct stat top, st;

	snprintf(m.name, sizeof(m.name), "%u", uid);
	snprintf(m.spare, sizeof(m.spare), SPARE "%u", uid);
	if (fstat(users, &top))
		return;
	if (is_own(&m, m.spare, &st))
		move_dir(users, m.spare, users, m.name, true);
	if (is_own(&m, m.name, &st) && np_dir_is_closed(&top, &st) &&
	    exchange(&m, &top))
		move_dir(users, m.spare, users, m.name, true);
}
