/* Reading, writing and pruning the runs of a store, and checking its owners. */
#include "np_store.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "np_array.h"
#include "np_conf.h"
#include "np_option.h"
#include "np_read.h"
#include "np_text.h"
#include "np_trace_dir.h"

/* ---- names of files ---- */

/* Copy text with every character replaced that a file name should not have. */
static void sanitize(const char *text, char *buf, size_t len)
{
	size_t i;

	for (i = 0; text[i] && i + 1 < len; i++) {
		unsigned char c = (unsigned char)text[i];

		buf[i] = isascii(c) && (isalnum(c) || c == '_') ? (char)c : '_';
	}
	buf[i] = '\0';
}

/*
 * 20241121T013500Z-CLUSTER-JOB.STEP[+HET].json: names sort by start time,
 * and a run has the same name each time it is written.
 */
void np_store_run_name(const struct np_record *record, char *buf, size_t len)
{
	char when[32], cluster[41], het[24] = "";
	time_t start = record->start > 0 && record->start < 2e11 ?
			       (time_t)record->start :
			       0;
	struct tm tm;

	gmtime_r(&start, &tm);
	strftime(when, sizeof(when), "%Y%m%dT%H%M%SZ", &tm);
	sanitize(record->cluster && *record->cluster ? record->cluster :
						       "cluster",
		 cluster, sizeof(cluster));
	if (record->het_component != NP_NO_VALUE)
		snprintf(het, sizeof(het), "+%ld", record->het_component);
	snprintf(buf, len, "%s-%s-%u.%u%s.json", when, cluster, record->job_id,
		 record->step_id, het);
}

int np_store_dated_name(double date, const char *suffix, char buf[NAME_MAX + 1])
{
	char name[32];
	time_t t = date > 0 && date < 2e11 ? (time_t)date : 0;
	struct tm tm;

	if (!t || !gmtime_r(&t, &tm) ||
	    !strftime(name, sizeof(name), "%Y%m%dT%H%M%SZ", &tm))
		return -EINVAL;
	snprintf(buf, NAME_MAX + 1, "%s%s", name, suffix);
	return 0;
}

static bool is_app_name(const char *name)
{
	return !np_app_check(name, NULL);
}

bool np_file_has_suffix(const char *name, const char *suffix)
{
	size_t len = strlen(name), end = strlen(suffix);

	return name[0] != '.' && len > end && !strcmp(name + len - end, suffix);
}

static bool is_run_name(const char *name)
{
	return np_file_has_suffix(name, ".json");
}

/* The name of a file that belongs to an application. */
static bool is_file_name(const char *name)
{
	return is_run_name(name) ||
	       np_file_has_suffix(name, NP_STORE_PAIRS_SUFFIX);
}

/* A name that np_store_run_name() made: pruning touches no other file. */
static bool is_own_run_name(const char *name)
{
	int len = 0; /* of YYYYmmddTHHMMSSZ- */

	sscanf(name, "%*8[0-9]T%*6[0-9]Z-%n", &len);
	return len == 17 && is_run_name(name);
}

static bool is_tmp_name(const char *name)
{
	return !strncmp(name, NP_STORE_TMP, strlen(NP_STORE_TMP));
}

static int last_first(const void *a, const void *b)
{
	return np_order_text(b, a);
}

/* Collect the names that want() takes. */
static int scan(DIR *dir, bool (*want)(const char *name), char ***names,
		size_t *n, bool *cut)
{
	struct dirent *dirent;

	for (size_t seen = 0; (errno = 0, dirent = readdir(dir)); seen++) {
		if (seen >= NP_STORE_MAX_SCAN) {
			*cut = true;
			return 0;
		}
		if ((want ? want(dirent->d_name) :
			    strcmp(dirent->d_name, ".") &&
				     strcmp(dirent->d_name, "..")) &&
		    np_names_add(names, n, dirent->d_name))
			return -ENOMEM;
	}
	return -errno;
}

int np_dir_names(const struct np_dir *d, bool (*want)(const char *name),
		 char ***names, size_t *n, bool *cut, struct np_err *err)
{
	/* closedir() closes the descriptor, so it needs one of its own. */
	int fd = openat(d->fd, ".", NP_OPEN_DIR), rc;
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	char **found = NULL;
	size_t n_found = 0;
	bool more = false;

	if (!dir) {
		rc = -errno;
		if (fd >= 0)
			close(fd);
		return np_errf(err, rc, "%s: %s", d->path, strerror(-rc));
	}
	rc = scan(dir, want, &found, &n_found, &more);
	closedir(dir);
	if (rc) {
		np_names_free(found, n_found);
		return np_errf(err, rc, "%s: %s", d->path, strerror(-rc));
	}
	if (n_found)
		qsort(found, n_found, sizeof(*found), last_first);
	*names = found;
	*n = n_found;
	if (cut)
		*cut = more;
	return 0;
}

/*
 * ---- repairing a user's directory that slurmctld cannot enter ----
 *
 * A umask or chmod(1) may have closed a user's directory to slurmctld's group.
 * The mode cannot simply be corrected: chmod() by a user who is not in that
 * group clears the set-group-id bit, and files made below would get another
 * group. So a new directory takes its place in one atomic exchange (a gap
 * could be taken by somebody else), and then receives the content of the old
 * one.
 *
 * If this is interrupted, the old directory stays as .mend-UID and the next
 * writer continues. Two writers at once are harmless: each file is in one of
 * the two directories.
 */

#define SPARE ".mend-"
#define READABLE (S_IRGRP | S_IXGRP)

struct repair {
	int users;
	uid_t uid;
	char name[16], spare[24];
};

/*
 * mkdirat() with exactly this mode, whatever the umask. A chmod() afterwards
 * would clear the set-group-id bit if the caller is not in the group. The
 * umask belongs to the whole process, so only programs with one thread may
 * write.
 */
static int mkdir_exact(int at, const char *name, mode_t mode)
{
	mode_t old = umask(~mode & 0777);
	int rc = mkdirat(at, name, mode & 0777) ? -errno : 0;

	umask(old);
	return rc;
}

static void move_dir(int from_at, const char *from, int to_at, const char *to,
		     bool deep);

/* Move all entries of a directory into another one. */
static void move_content(int from, int to, bool deep)
{
	struct np_dir dir = { .fd = from };
	char **names;
	size_t n;

	if (np_dir_names(&dir, NULL, &names, &n, NULL, NULL))
		return;
	for (size_t i = 0; i < n; i++)
		if (renameat(from, names[i], to, names[i]) && deep)
			/* another writer has made that application */
			move_dir(from, names[i], to, names[i], false);
	np_names_free(names, n);
}

/* Move everything into the other directory, then remove the first if empty. */
static void move_dir(int from_at, const char *from, int to_at, const char *to,
		     bool deep)
{
	int a = openat(from_at, from, NP_OPEN_DIR);
	int b = openat(to_at, to, NP_OPEN_DIR);

	if (a >= 0 && b >= 0)
		move_content(a, b, deep);
	if (a >= 0)
		close(a);
	if (b >= 0)
		close(b);
	unlinkat(from_at, from, AT_REMOVEDIR);
}

/* Is it a directory of that user? */
static bool is_own_directory(const struct repair *repair, const char *name,
			     struct stat *st)
{
	return !fstatat(repair->users, name, st, AT_SYMLINK_NOFOLLOW) &&
	       S_ISDIR(st->st_mode) && st->st_uid == repair->uid;
}

/* Is a directory in users/ unreadable for the group of users/? */
static bool is_closed(const struct stat *users, const struct stat *st)
{
	return users->st_mode & S_ISGID && (st->st_mode & READABLE) != READABLE;
}

/* Is it the name of a directory of that user that is being repaired? */
static bool is_spare_name(const char *name, uid_t uid)
{
	char spare[24];

	snprintf(spare, sizeof(spare), SPARE "%u", uid);
	return !strcmp(name, spare);
}

/*
 * Put a new directory in the place of the closed one. False: another writer is
 * doing it, the new directory is closed as well, or the file system cannot
 * exchange; then root has to repair it.
 */
static bool exchange(const struct repair *repair, const struct stat *users)
{
	struct stat st;

	if (mkdir_exact(repair->users, repair->spare, NP_DIR_PRIVATE_MODE))
		return false;
	if (is_own_directory(repair, repair->spare, &st) &&
	    !is_closed(users, &st) &&
	    !renameat2(repair->users, repair->spare, repair->users,
		       repair->name, RENAME_EXCHANGE))
		return true;
	unlinkat(repair->users, repair->spare, AT_REMOVEDIR);
	return false;
}

/*
 * Open the calling user's directory to slurmctld's group; users is a descriptor
 * of users/. If that is impossible, everything stays as it is.
 */
static void repair_directory(int users, uid_t uid)
{
	struct repair repair = { .users = users, .uid = uid };
	struct stat top, st;

	snprintf(repair.name, sizeof(repair.name), "%u", uid);
	snprintf(repair.spare, sizeof(repair.spare), SPARE "%u", uid);
	if (fstat(users, &top))
		return;
	if (is_own_directory(&repair, repair.spare, &st))
		move_dir(users, repair.spare, users, repair.name, true);
	if (is_own_directory(&repair, repair.name, &st) &&
	    is_closed(&top, &st) && exchange(&repair, &top))
		move_dir(users, repair.spare, users, repair.name, true);
}

/* ---- the store and its directories ---- */

#define USERS_MODE 03777 /* like /tmp; what is made below inherits its group */
#define PUBLIC_MODE 0755

int np_store_open(const char *dir, struct np_store **out, struct np_err *err)
{
	struct np_store *store = calloc(1, sizeof(*store));
	struct stat st;
	int rc;

	if (!store)
		return np_errf(err, -ENOMEM, "%s: out of memory", dir);
	store->max_runs = NP_CONF_MAX_RUNS;
	store->dir = strdup(dir);
	/* The administrator may have made the store itself a symbolic link. */
	store->fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (!store->dir || store->fd < 0 || fstat(store->fd, &st)) {
		rc = store->dir ? -errno : -ENOMEM;
		np_store_close(store);
		return np_errf(err, rc, "profile store %s: %s", dir,
			       strerror(-rc));
	}
	store->owner = st.st_uid;
	*out = store;
	return 0;
}

void np_store_close(struct np_store *store)
{
	if (!store)
		return;
	if (store->fd >= 0)
		close(store->fd);
	free(store->dir);
	free(store);
}

const char *np_store_dir(const struct np_store *store)
{
	return store->dir;
}

void np_store_set_max_runs(struct np_store *store, uint32_t max_runs)
{
	store->max_runs = max_runs < 1		      ? 1 :
			  max_runs > NP_CONF_MAX_RUNS ? NP_CONF_MAX_RUNS :
							max_runs;
}

/* Is a file or directory of uid trusted here? */
static bool dir_trusts(const struct np_dir *dir, uid_t uid)
{
	if (dir->owner == NP_STORE_USER)
		return uid == dir->uid;
	return uid == 0 || uid == dir->store_owner;
}

struct np_store_stamp np_stamp_of(const struct stat *st)
{
	return (struct np_store_stamp){
		.dev = st->st_dev,
		.ino = st->st_ino,
		.sec = st->st_ctim.tv_sec,
		.nsec = st->st_ctim.tv_nsec,
	};
}

void np_dir_close(struct np_dir *dir)
{
	close(dir->fd);
	dir->fd = -1;
}

/* Make a directory; an existing one is fine. */
static int make_dir(int at, const char *name, mode_t mode)
{
	int rc = mkdir_exact(at, name, mode);

	return rc == -EEXIST ? 0 : rc;
}

/* Go one directory down, changing d->path and d->fd. */
static int open_below(struct np_dir *dir, const char *name, bool make,
		      mode_t mode, struct np_err *err)
{
	size_t len = strlen(dir->path);
	int fd, rc;

	snprintf(dir->path + len, sizeof(dir->path) - len, "/%s", name);
	fd = openat(dir->fd, name, NP_OPEN_DIR);
	if (fd < 0 && errno == ENOENT && make) {
		rc = make_dir(dir->fd, name, mode);
		if (rc)
			return np_errf(err, rc, "cannot create %s: %s",
				       dir->path, strerror(-rc));
		fd = openat(dir->fd, name, NP_OPEN_DIR);
	}
	if (fd < 0 && errno == ENOENT)
		return -ENOENT;
	if (fd < 0 && (errno == ELOOP || errno == ENOTDIR))
		return np_errf(err, -EACCES,
			       "%s: expected a directory, and no symbolic link",
			       dir->path);
	if (fd < 0)
		return np_errf(err, -errno, "%s: %s", dir->path,
			       strerror(errno));
	np_dir_close(dir);
	dir->fd = fd;
	return 0;
}

/* -EACCES with err: the directory belongs to somebody else. */
static int check_owner(const struct np_dir *dir, struct np_err *err)
{
	struct stat st;

	if (fstat(dir->fd, &st))
		return np_errf(err, -errno, "%s: %s", dir->path,
			       strerror(errno));
	if (dir_trusts(dir, st.st_uid))
		return 0;
	if (dir->owner == NP_STORE_USER)
		return np_errf(
			err, -EACCES,
			"%s: owned by uid %u, expected uid %u; not trusted",
			dir->path, st.st_uid, dir->uid);
	return np_errf(
		err, -EACCES,
		"%s: owned by uid %u, expected root or uid %u; not trusted",
		dir->path, st.st_uid, dir->store_owner);
}

/*
 * Make users/. If root makes it, it is as netprof-profile(5) describes, with
 * the group of the store; anybody else's store is for its owner alone.
 */
static int make_users(const struct np_store *store, struct np_err *err)
{
	bool root = geteuid() == 0;
	struct stat st;
	int rc = 0;

	if (!faccessat(store->fd, NP_STORE_USERS, F_OK, AT_SYMLINK_NOFOLLOW))
		return 0;
	if (make_dir(store->fd, NP_STORE_USERS, root ? 0700 : 0755) ||
	    (root && (fstat(store->fd, &st) ||
		      fchownat(store->fd, NP_STORE_USERS, (uid_t)-1, st.st_gid,
			       AT_SYMLINK_NOFOLLOW) ||
		      fchmodat(store->fd, NP_STORE_USERS, USERS_MODE, 0))))
		rc = np_errf(err, -errno, "cannot create %s/%s: %s", store->dir,
			     NP_STORE_USERS, strerror(errno));
	return rc;
}

/* Begin at the top of the store. */
static int begin_at_store(const struct np_store *store,
			  enum np_store_owner owner, uid_t uid,
			  struct np_dir *dir, struct np_err *err)
{
	*dir = (struct np_dir){ .owner = owner,
				.uid = uid,
				.store_owner = store->owner };
	if (strlen(store->dir) >= PATH_MAX)
		return np_errf(err, -ENAMETOOLONG, "%s: path too long",
			       store->dir);
	dir->fd = fcntl(store->fd, F_DUPFD_CLOEXEC, 0);
	if (dir->fd < 0)
		return np_errf(err, -errno, "%s: %s", store->dir,
			       strerror(errno));
	strcpy(dir->path, store->dir);
	return 0;
}

/* Go one directory down and check its owner. */
static int open_trusted(struct np_dir *dir, const char *name, bool make,
			mode_t mode, struct np_err *err)
{
	int rc = open_below(dir, name, make, mode, err);

	return rc ? rc : check_owner(dir, err);
}

/* Go to users/. */
static int to_users(const struct np_store *store, struct np_dir *dir, bool make,
		    struct np_err *err)
{
	int rc = make ? make_users(store, err) : 0;

	if (!rc)
		rc = open_below(dir, NP_STORE_USERS, false, 0, err);
	if (!rc && make)
		repair_directory(dir->fd, dir->uid);
	return rc;
}

/* Open the directory top, or with below one in it. */
static int open_dir(const struct np_store *store, enum np_store_owner owner,
		    uid_t uid, const char *top, const char *below, bool make,
		    struct np_dir *out, struct np_err *err)
{
	mode_t mode = owner == NP_STORE_USER ? NP_DIR_PRIVATE_MODE :
					       PUBLIC_MODE;
	struct np_dir dir;
	int rc = begin_at_store(store, owner, uid, &dir, err);

	if (rc)
		return rc;
	if (owner == NP_STORE_USER)
		rc = to_users(store, &dir, make, err);
	if (!rc)
		rc = open_trusted(&dir, top, make, mode, err);
	if (!rc && below)
		rc = open_trusted(&dir, below, make, mode, err);
	if (rc)
		np_dir_close(&dir);
	else
		*out = dir;
	return rc;
}

int np_dir_open(const struct np_store *store, enum np_store_owner owner,
		uid_t uid, const char *app, bool make, struct np_dir *out,
		struct np_err *err)
{
	char user[16];

	snprintf(user, sizeof(user), "%u", uid);
	return open_dir(store, owner, uid,
			owner == NP_STORE_USER ? user : NP_STORE_PUBLIC, app,
			make, out, err);
}

int np_dir_open_fabric(const struct np_store *store, const char *cluster,
		       bool make, struct np_dir *out, struct np_err *err)
{
	return open_dir(store, NP_STORE_PUBLISHED, 0, NP_STORE_FABRIC, cluster,
			make, out, err);
}

/* Open placement/, and trust its owner. */
static int open_placement(const struct np_store *store, bool make,
			  struct np_dir *out, struct np_err *err)
{
	struct np_dir dir;
	struct stat st;
	int rc = begin_at_store(store, NP_STORE_PUBLISHED, 0, &dir, err);
	bool made;

	if (rc)
		return rc;
	/* The umask belongs to all threads: set the mode afterwards instead. */
	made = make && !mkdirat(store->fd, NP_STORE_PLACEMENT, PUBLIC_MODE);
	if (make && !made && errno != EEXIST)
		rc = np_errf(err, -errno, "cannot create %s/%s: %s", store->dir,
			     NP_STORE_PLACEMENT, strerror(errno));
	if (!rc)
		rc = open_below(&dir, NP_STORE_PLACEMENT, false, 0, err);
	if (!rc &&
	    ((made && fchmod(dir.fd, PUBLIC_MODE)) || fstat(dir.fd, &st)))
		rc = np_errf(err, -errno, "%s: %s", dir.path, strerror(errno));
	if (rc) {
		np_dir_close(&dir);
		return rc;
	}
	dir.store_owner = st.st_uid;
	*out = dir;
	return 0;
}

int np_dir_open_placement(const char *store_dir, bool make, struct np_dir *out,
			  struct np_err *err)
{
	struct np_store *store;
	int rc = np_store_open(store_dir, &store, err);

	if (rc)
		return rc;
	rc = open_placement(store, make, out, err);
	np_store_close(store);
	if (rc == -ENOENT)
		np_errf(err, rc, "%s/%s: placement has never written there",
			store_dir, NP_STORE_PLACEMENT);
	return rc;
}

/* ---- single files ---- */

#define STALE_SEC 3600 /* no writer needs that long for one file */
#define LOCK_WAIT_SEC 2
#define LOCK_POLL_NS 10000000

/* Why a file must not be read. */
enum fault { NONE, NO_FILE, FOREIGN, TOO_LARGE };

/* Check what a file is before it is read. */
static enum fault fault_of(const struct np_dir *dir, const struct stat *st,
			   size_t max_bytes)
{
	return !S_ISREG(st->st_mode)	       ? NO_FILE :
	       !dir_trusts(dir, st->st_uid)    ? FOREIGN :
	       (size_t)st->st_size > max_bytes ? TOO_LARGE :
						 NONE;
}

/*
 * Open a file without following a symbolic link or blocking on a FIFO. The
 * first check avoids opening what is not a regular file; the second one, on the
 * descriptor, decides.
 */
static int open_file(const struct np_dir *dir, const char *name,
		     size_t max_bytes, struct stat *st, enum fault *fault)
{
	int fd, rc = 0;

	*fault = NONE;
	if (fstatat(dir->fd, name, st, AT_SYMLINK_NOFOLLOW))
		return -errno;
	*fault = fault_of(dir, st, max_bytes);
	if (*fault != NONE)
		return -EACCES;
	fd = openat(dir->fd, name,
		    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, st))
		rc = -errno;
	else if ((*fault = fault_of(dir, st, max_bytes)) != NONE)
		rc = -EACCES;
	if (!rc)
		return fd;
	close(fd);
	return rc;
}

void np_reader_skip(const struct np_reader *reader, const char *fmt, ...)
{
	char line[NP_ERR_LEN + NP_STORE_PATH];
	va_list ap;

	if (!reader->warn)
		return;
	va_start(ap, fmt);
	np_text_print(line, sizeof(line), fmt, ap);
	va_end(ap);
	reader->warn(line, reader->arg);
}

/* The kind of a file that is no regular file. */
static const char *kind_of(mode_t mode)
{
	return S_ISLNK(mode)  ? "a symbolic link" :
	       S_ISFIFO(mode) ? "a FIFO" :
	       S_ISDIR(mode)  ? "a directory" :
	       S_ISSOCK(mode) ? "a socket" :
				"a device";
}

ssize_t np_reader_read(const struct np_reader *reader, const char *name,
		       char **text)
{
	const char *dir = reader->dir->path;
	enum fault fault;
	struct stat st;
	int fd = open_file(reader->dir, name, reader->max_bytes, &st, &fault);
	ssize_t len = fd;

	if (fd >= 0) {
		len = np_read_text(fd, (size_t)st.st_size, text);
		close(fd);
	}
	/* A file may be pruned after its name was read. */
	if (len >= 0 || len == -ENOMEM || len == -ENOENT)
		return len;
	if (fault == NO_FILE)
		np_reader_skip(reader,
			       "%s/%s: skipped: %s, expected a regular file",
			       dir, name, kind_of(st.st_mode));
	else if (fault == FOREIGN)
		np_reader_skip(reader,
			       "%s/%s: skipped: owned by uid %u, who is not "
			       "trusted here",
			       dir, name, st.st_uid);
	else if (fault == TOO_LARGE)
		np_reader_skip(
			reader,
			"%s/%s: skipped: %lld bytes, expected at most %zu", dir,
			name, (long long)st.st_size, reader->max_bytes);
	else
		np_reader_skip(reader, "%s/%s: skipped: %s", dir, name,
			       strerror((int)-len));
	return -EINVAL;
}

ssize_t np_file_read_end(const struct np_dir *dir, const char *name, size_t max,
			 char **text, bool *cut, struct np_err *err)
{
	enum fault fault;
	struct stat st;
	int fd = open_file(dir, name, SIZE_MAX, &st, &fault);
	ssize_t len = fd;

	if (fd >= 0) {
		*cut = st.st_size > (off_t)max;
		len = *cut && lseek(fd, -(off_t)max, SEEK_END) < 0 ?
			    -errno :
			    np_read_text(fd, *cut ? max : (size_t)st.st_size,
					 text);
		close(fd);
	}
	if (fault == NO_FILE)
		np_errf(err, -EACCES, "%s/%s: expected a regular file",
			dir->path, name);
	else if (fault == FOREIGN)
		np_errf(err, -EACCES,
			"%s/%s: owned by uid %u, expected root or uid %u; not "
			"trusted",
			dir->path, name, st.st_uid, dir->store_owner);
	else if (len < 0)
		np_errf(err, (int)len, "%s/%s: %s", dir->path, name,
			strerror((int)-len));
	return len;
}

#define TMP 32 /* bytes of a temporary name */

/* Create a temporary file; returns its descriptor. */
static int create_tmp(const struct np_dir *dir, mode_t mode, char name[TMP])
{
	uint64_t id;
	int fd;

	/* Writers on many nodes share the directory: a pid is not unique. */
	do {
		if (getrandom(&id, sizeof(id), 0) != sizeof(id))
			return -EIO;
		snprintf(name, TMP, NP_STORE_TMP "%016" PRIx64, id);
		fd = openat(dir->fd, name,
			    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW |
				    O_CLOEXEC,
			    mode);
	} while (fd < 0 && errno == EEXIST);
	return fd < 0 ? -errno : fd;
}

/* Write all data to fd and sync it; closes fd. */
static int fill(int fd, const void *data, size_t len, mode_t mode)
{
	int rc = np_write_all(fd, data, len);

	/* Whatever the umask: slurmctld's group has to read it. */
	if (!rc && (fchmod(fd, mode) || fsync(fd)))
		rc = -errno;
	if (close(fd) && !rc) /* some file systems report EDQUOT only here */
		rc = -errno;
	return rc;
}

/* Write a file by way of a temporary one. */
static int write_once(const struct np_dir *dir, const char *name,
		      const void *data, size_t len, mode_t mode)
{
	char tmp[TMP];
	int fd = create_tmp(dir, mode, tmp), rc;

	if (fd < 0)
		return fd;
	rc = fill(fd, data, len, mode);
	if (!rc && renameat(dir->fd, tmp, dir->fd, name))
		rc = -errno;
	if (!rc)
		return np_file_sync_dir(dir);
	unlinkat(dir->fd, tmp, 0);
	return rc;
}

int np_file_write(const struct np_dir *dir, const char *name, const void *data,
		  size_t len, mode_t mode, struct np_err *err)
{
	int rc = write_once(dir, name, data, len, mode);

	/* If the clock jumped, another writer may have removed it as stale. */
	if (rc == -ENOENT)
		rc = write_once(dir, name, data, len, mode);
	return rc ? np_errf(err, rc, "cannot write %s/%s: %s", dir->path, name,
			    strerror(-rc)) :
		    0;
}

/* Open the directory of a path; *name: the last component. */
static int open_directory(const char *path, const char **name)
{
	const char *slash = strrchr(path, '/');
	char dir[PATH_MAX];
	size_t len;
	int fd;

	*name = slash ? slash + 1 : path;
	len = slash ? (size_t)(slash - path) : 0;
	if (!**name || len >= sizeof(dir))
		return **name ? -ENAMETOOLONG : -EISDIR;
	if (slash)
		snprintf(dir, sizeof(dir), "%.*s", (int)(len ? len : 1), path);
	else
		strcpy(dir, ".");
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int np_file_write_path(const char *path, const void *data, size_t len,
		       mode_t mode, struct np_err *err)
{
	struct np_dir dir = { .fd = -1 };
	const char *name;
	struct stat st;
	int rc = 0;

	dir.fd = open_directory(path, &name);
	if (dir.fd < 0)
		rc = dir.fd;
	else if (fstatat(dir.fd, name, &st, AT_SYMLINK_NOFOLLOW) ||
		 S_ISREG(st.st_mode))
		rc = np_file_write(&dir, name, data, len, mode, NULL);
	else
		rc = S_ISDIR(st.st_mode) ? -EISDIR : -EEXIST;
	if (dir.fd >= 0)
		np_dir_close(&dir);
	if (rc == -EEXIST)
		return np_errf(
			err, rc,
			"cannot write %s: expected a regular file, or none",
			path);
	return rc ? np_errf(err, rc, "cannot write %s: %s", path,
			    strerror(-rc)) :
		    0;
}

int np_file_lock(int fd)
{
	const struct timespec nap = { .tv_nsec = LOCK_POLL_NS };

	for (int i = 0; i < LOCK_WAIT_SEC * (1000000000 / LOCK_POLL_NS); i++) {
		if (!flock(fd, LOCK_EX | LOCK_NB))
			return 0;
		if (errno != EWOULDBLOCK && errno != EINTR)
			return -errno;
		nanosleep(&nap, NULL);
	}
	return -EWOULDBLOCK;
}

/* Some network file systems cannot sync a directory; that is no error. */
int np_file_sync_dir(const struct np_dir *dir)
{
	return fsync(dir->fd) && errno != EINVAL && errno != EROFS ? -errno : 0;
}

/*
 * The clocks of this node and of the file server may differ, so the age of a
 * file is compared with the directory's time, which is the server's, too.
 */
void np_file_remove_stale(const struct np_dir *d)
{
	struct stat dir, st;
	char **names;
	size_t n;

	if (fstat(d->fd, &dir) ||
	    np_dir_names(d, is_tmp_name, &names, &n, NULL, NULL))
		return;
	for (size_t i = 0; i < n; i++)
		if (!fstatat(d->fd, names[i], &st, AT_SYMLINK_NOFOLLOW) &&
		    dir.st_mtime - st.st_mtime > STALE_SEC)
			unlinkat(d->fd, names[i], 0);
	np_names_free(names, n);
}

/* ---- the users who have a directory ---- */

#define MODE (S_ISGID | NP_DIR_PRIVATE_MODE)

/* The uid that a name stands for; "007" is none. */
static bool uid_of_name(const char *name, uid_t *uid)
{
	uint64_t v;

	if ((name[0] == '0' && name[1]) || np_whole_parse(name, (uid_t)-2, &v))
		return false;
	*uid = (uid_t)v;
	return true;
}

static bool is_uid_name(const char *name)
{
	uid_t uid;

	return uid_of_name(name, &uid);
}

/* Open users/ and list the names that want() takes; *n 0 if it is missing. */
static int open_users(const struct np_store *store,
		      bool (*want)(const char *name), struct np_dir *dir,
		      char ***names, size_t *n, bool *cut, struct np_err *err)
{
	int rc;

	*names = NULL;
	*n = 0;
	*cut = false;
	*dir = (struct np_dir){ .fd = -1 };
	snprintf(dir->path, sizeof(dir->path), "%s/%s", store->dir,
		 NP_STORE_USERS);
	dir->fd = openat(store->fd, NP_STORE_USERS, NP_OPEN_DIR);
	if (dir->fd < 0)
		return errno == ENOENT ? 0 :
					 np_errf(err, -errno, "%s: %s",
						 dir->path, strerror(errno));
	rc = np_dir_names(dir, want, names, n, cut, err);
	if (rc)
		np_dir_close(dir);
	return rc;
}

/* The uids among these names that own their directory. */
static size_t own_uids(int fd, char **names, size_t n, uid_t *uids)
{
	size_t count = 0;
	struct stat st;
	uid_t uid;

	for (size_t i = 0; i < n; i++)
		if (uid_of_name(names[i], &uid) &&
		    !fstatat(fd, names[i], &st, AT_SYMLINK_NOFOLLOW) &&
		    S_ISDIR(st.st_mode) && st.st_uid == uid)
			uids[count++] = uid;
	return count;
}

int np_store_uids(struct np_store *store, uid_t **uids, size_t *n,
		  np_store_warn_f *warn, void *arg, struct np_err *err)
{
	struct np_dir dir;
	char **names;
	size_t n_names;
	uid_t *found;
	bool cut;
	int rc = open_users(store, is_uid_name, &dir, &names, &n_names, &cut,
			    err);

	if (rc)
		return rc;
	if (cut)
		np_reader_skip(&(struct np_reader){ .warn = warn, .arg = arg },
			       "%s: more than %d entries, the rest is ignored; "
			       "netprof check says whose they are",
			       dir.path, NP_STORE_MAX_SCAN);
	found = calloc(n_names + 1, sizeof(*found));
	if (found) {
		*n = own_uids(dir.fd, names, n_names, found);
		qsort(found, *n, sizeof(*found), np_order_u32);
		*uids = found;
	}
	np_names_free(names, n_names);
	if (dir.fd >= 0)
		np_dir_close(&dir);
	return found ? 0 :
		       np_errf(err, -ENOMEM, "%s: out of memory", store->dir);
}

/* The counts of a user, new if there are none. */
static struct np_store_squatter *squatter(struct np_store_census *census,
					  uid_t uid)
{
	for (size_t i = 0; i < census->n; i++)
		if (census->squatter[i].uid == uid)
			return &census->squatter[i];
	if (np_array_grow(&census->squatter, census->n,
			  sizeof(*census->squatter)))
		return NULL;
	census->squatter[census->n] = (struct np_store_squatter){ .uid = uid };
	return &census->squatter[census->n++];
}

/* Count an entry of users/ that is not its owner's directory. */
static int count_name(struct np_store_census *census, const struct stat *users,
		      const char *name, const struct stat *st)
{
	struct np_store_squatter *store_squatter;
	uid_t uid;
	bool is_uid = uid_of_name(name, &uid);

	if (is_uid && st->st_uid == uid) {
		if (S_ISDIR(st->st_mode) && is_closed(users, st) &&
		    !census->n_closed++)
			census->closed = uid;
		return 0;
	}
	/* Entries of root, and those of a repair in progress, harm nobody. */
	if (!is_uid && (!st->st_uid || is_spare_name(name, st->st_uid)))
		return 0;
	store_squatter = squatter(census, st->st_uid);
	if (!store_squatter)
		return -ENOMEM;
	store_squatter->n++;
	if (is_uid && !store_squatter->n_taken++)
		store_squatter->taken = uid;
	return 0;
}

/* Order of users by the names that they have taken. */
static int most_taken(const void *a, const void *b)
{
	const struct np_store_squatter *x = a, *y = b;

	if (x->n_taken != y->n_taken)
		return x->n_taken < y->n_taken ? 1 : -1;
	return x->n < y->n ? 1 :
	       x->n > y->n ? -1 :
			     np_order_u32(&x->uid, &y->uid);
}

int np_store_census(struct np_store *store, struct np_store_census *out,
		    struct np_err *err)
{
	struct np_store_census census = { .n = 0 };
	struct stat users, st;
	struct np_dir dir;
	char **names;
	size_t n;
	int rc = open_users(store, NULL, &dir, &names, &n, &census.cut, err);

	if (rc)
		return rc;
	if (dir.fd >= 0 && fstat(dir.fd, &users))
		rc = np_errf(err, -errno, "%s: %s", dir.path, strerror(errno));
	for (size_t i = 0; !rc && i < n; i++)
		if (!fstatat(dir.fd, names[i], &st, AT_SYMLINK_NOFOLLOW))
			rc = count_name(&census, &users, names[i], &st);
	if (rc == -ENOMEM)
		np_errf(err, rc, "%s: out of memory", dir.path);
	np_names_free(names, n);
	if (dir.fd >= 0)
		np_dir_close(&dir);
	if (rc) {
		np_store_census_free(&census);
		return rc;
	}
	if (census.n)
		qsort(census.squatter, census.n, sizeof(*census.squatter),
		      most_taken);
	*out = census;
	return 0;
}

void np_store_census_free(struct np_store_census *census)
{
	free(census->squatter);
	*census = (struct np_store_census){ .n = 0 };
}

/*
 * Give a directory to its user. It belongs to the user already, or to root
 * because it was just made, so that only root can have put anything into it.
 */
static int hand_over(int users, int dir, uid_t uid)
{
	struct stat top, st;

	if (fstat(users, &top) || fstat(dir, &st))
		return -errno;
	if (st.st_uid != uid && st.st_uid)
		return -EEXIST;
	if ((st.st_gid != top.st_gid && fchown(dir, (uid_t)-1, top.st_gid)) ||
	    ((st.st_uid != uid || (st.st_mode & MODE) != MODE) &&
	     fchmod(dir, MODE)) ||
	    (st.st_uid != uid && fchown(dir, uid, (gid_t)-1)))
		return -errno;
	return 0;
}

int np_store_make_user(struct np_store *store, uid_t uid, bool *made,
		       struct np_err *err)
{
	int users = openat(store->fd, NP_STORE_USERS, NP_OPEN_DIR), dir, rc;
	char name[16];

	snprintf(name, sizeof(name), "%u", uid);
	if (users < 0)
		return np_errf(err, -errno, "%s/%s: %s", store->dir,
			       NP_STORE_USERS, strerror(errno));
	*made = !mkdirat(users, name, 0700);
	dir = *made || errno == EEXIST ? openat(users, name, NP_OPEN_DIR) : -1;
	rc = dir < 0 ? -errno : hand_over(users, dir, uid);
	if (rc && *made) /* root is squashed, on some network file systems */
		unlinkat(users, name, AT_REMOVEDIR);
	if (dir >= 0)
		close(dir);
	close(users);
	if (!rc)
		return 0;
	return np_errf(err, rc, "%s/%s/%s: %s", store->dir, NP_STORE_USERS,
		       name,
		       *made ? "root cannot change its owner" :
		       rc == -EEXIST || rc == -ENOTDIR || rc == -ELOOP ?
			       "belongs to another user, see netprof check" :
			       strerror(-rc));
}

/* ---- reading the runs of an application; any file may be hostile ---- */

struct load {
	struct np_reader from;
	size_t leaves, items, bytes; /* read so far */
};

/*
 * Report why a file was skipped. why begins with ": ", or with ":LINE: ", as the
 * path is known only here.
 */
static void skip_run(const struct np_reader *from, const char *name,
		     const char *why)
{
	size_t len = strspn(why + 1, "0123456789");

	np_reader_skip(from, "%s/%s: skipped%s%.*s%s", from->dir->path, name,
		       len ? ": line " : "", (int)len, why + 1,
		       why + (len ? len + 1 : 0));
}

/* Returns 0, -EINVAL for a file that was skipped, -ENOENT or -ENOMEM. */
static int load_run(struct load *load, const char *name, struct np_record **out)
{
	const struct np_dir *dir = load->from.dir;
	struct np_err why = NP_ERR_INIT;
	struct np_record *record;
	char *text;
	ssize_t len = np_reader_read(&load->from, name, &text);
	int rc;

	if (len < 0)
		return (int)len;
	load->bytes += (size_t)len;
	rc = np_kind_check(text, (size_t)len, NP_KIND_TEXT, "", &why);
	if (!rc)
		rc = np_record_from_json(text, (size_t)len, "", &record, &why);
	free(text);
	if (rc == -ENOMEM)
		return rc;
	if (rc) {
		skip_run(&load->from, name, why.text);
		return -EINVAL;
	}
	if (dir->owner == NP_STORE_USER && record->uid != dir->uid) {
		np_reader_skip(&load->from,
			       "%s/%s: skipped: uid: got %u, expected %u",
			       dir->path, name, record->uid, dir->uid);
		np_record_free(record);
		return -EINVAL;
	}
	*out = record;
	return 0;
}

/* The number of intervals, neighbours and windows of a run. */
static size_t count_items(const struct np_record *record)
{
	size_t n = record->n_intervals + record->n_intervals_alone +
		   record->n_neighbours;

	for (size_t i = 0; i < record->n_leaves; i++)
		if (record->leaves[i].windows)
			n += record->leaves[i].windows->n;
	return n;
}

/* Read runs, newest first, until enough are read or too many are bad. */
static int load_runs(struct load *load, char **names, size_t n,
		     struct np_runs *runs)
{
	for (size_t i = 0; i < n; i++) {
		struct np_record *record = NULL;
		int rc;

		if (runs->n == NP_CONF_MAX_RUNS ||
		    load->leaves >= NP_STORE_MAX_LEAVES ||
		    load->items >= NP_STORE_MAX_ITEMS ||
		    load->bytes >= NP_STORE_MAX_READ) {
			np_reader_skip(&load->from,
				       "%s: %zu older %s not read, beyond the "
				       "newest %zu",
				       load->from.dir->path, n - i,
				       n - i == 1 ? "run is" : "runs are",
				       runs->n);
			return 0;
		}
		if (i - runs->n == NP_STORE_MAX_SKIPPED) {
			np_reader_skip(&load->from,
				       "%s: %d files cannot be used, %zu older "
				       "ones are not read",
				       load->from.dir->path,
				       NP_STORE_MAX_SKIPPED, n - i);
			return 0;
		}
		rc = load_run(load, names[i], &record);
		if (rc == -ENOMEM)
			return rc;
		if (rc) {
			runs->n_skipped += rc != -ENOENT;
			continue;
		}
		/*
		 * The directory's name counts, so renaming it renames its runs.
		 */
		strcpy(record->app, runs->app);
		load->leaves += record->n_leaves + 1;
		load->items += count_items(record);
		runs->run[runs->n++] = record;
	}
	return 0;
}

/* Order of runs: by start, then by job and step. */
static int newest_first(const void *a, const void *b)
{
	const struct np_record *x = *(struct np_record *const *)a;
	const struct np_record *y = *(struct np_record *const *)b;

	if (x->start != y->start)
		return x->start < y->start ? 1 : -1;
	if (x->job_id != y->job_id)
		return x->job_id < y->job_id ? 1 : -1;
	return x->step_id < y->step_id ? 1 : x->step_id > y->step_id ? -1 : 0;
}

/* Read the runs in an open directory. */
static int load_dir(struct load *load, struct np_runs *runs, struct np_err *err)
{
	char **names;
	size_t n;
	bool cut;
	const struct np_dir *dir = load->from.dir;
	int rc = np_dir_names(dir, is_run_name, &names, &n, &cut, err);

	if (rc)
		return rc;
	if (cut)
		np_reader_skip(&load->from,
			       "%s: more than %d files, the rest is ignored",
			       dir->path, NP_STORE_MAX_SCAN);
	runs->run = calloc(NP_CONF_MAX_RUNS, sizeof(*runs->run));
	rc = runs->run ? load_runs(load, names, n, runs) : -ENOMEM;
	np_names_free(names, n);
	if (rc)
		return np_errf(err, rc, "%s: %s", dir->path, strerror(-rc));
	if (runs->n)
		qsort(runs->run, runs->n, sizeof(*runs->run), newest_first);
	return 0;
}

int np_store_load(struct np_store *store, enum np_store_owner owner, uid_t uid,
		  const char *app, np_store_warn_f *warn, void *arg,
		  struct np_runs *out, struct np_err *err)
{
	struct np_runs runs = { .owner = owner, .uid = uid };
	struct np_dir dir;
	struct load load = { .from = { &dir, NP_RECORD_MAX_BYTES, warn, arg } };
	int rc;

	if (np_app_check(app, err))
		return -ENOENT;
	rc = np_dir_open(store, owner, uid, app, false, &dir, err);
	if (rc == -ENOENT)
		return np_errf(err, rc, "no profile of %s in %s", app,
			       store->dir);
	if (rc)
		return rc;
	strcpy(runs.app, app);
	rc = load_dir(&load, &runs, err);
	runs.bytes = load.bytes;
	np_dir_close(&dir);
	if (rc)
		np_runs_free(&runs);
	else
		*out = runs;
	return rc;
}

void np_runs_free(struct np_runs *runs)
{
	for (size_t i = 0; i < runs->n; i++)
		np_record_free(runs->run[i]);
	free(runs->run);
	runs->run = NULL;
	runs->n = 0;
}

/* ---- writing and pruning runs ---- */

/*
 * Never remove the run that was just written: if the clock is behind, it is the
 * oldest by name.
 */
static void remove_oldest(const struct np_dir *dir, size_t max_runs,
			  const char *written)
{
	char **names;
	size_t n;

	if (np_dir_names(dir, is_own_run_name, &names, &n, NULL, NULL))
		return;
	for (size_t i = max_runs; i < n; i++)
		if (strcmp(names[i], written))
			unlinkat(dir->fd, names[i], 0);
	np_names_free(names, n);
}

/* Write a run's file, and prune if it is a new run. */
static int write_run(const struct np_store *store, const struct np_dir *dir,
		     const char *name, const char *text, struct np_err *err)
{
	bool fresh = faccessat(dir->fd, name, F_OK, AT_SYMLINK_NOFOLLOW);
	int lock, rc = np_file_write(dir, name, text, strlen(text),
				     dir->owner == NP_STORE_USER ? 0640 : 0644,
				     err);

	if (rc || !fresh)
		return rc;
	/*
	 * The lock only serialises pruning. Where a directory cannot be
	 * locked, two processes at once are harmless: both remove the same
	 * oldest runs.
	 */
	lock = np_file_lock(dir->fd);
	if (lock != -EWOULDBLOCK) {
		remove_oldest(dir, store->max_runs, name);
		np_file_remove_stale(dir);
	}
	if (!lock)
		flock(dir->fd, LOCK_UN);
	return 0;
}

int np_store_save(struct np_store *store, enum np_store_owner owner,
		  const struct np_record *record, struct np_err *err)
{
	char name[NAME_MAX + 1], *text = NULL;
	struct np_dir dir;
	int rc = np_app_check(record->app, err);

	if (rc)
		return rc;
	np_store_run_name(record, name, sizeof(name));
	rc = np_record_write(record, name, &text, err);
	if (rc)
		return rc;
	rc = np_dir_open(store, owner, geteuid(), record->app, true, &dir, err);
	if (!rc) {
		rc = write_run(store, &dir, name, text, err);
		np_dir_close(&dir);
	} else if (rc == -ENOENT) { /* it was removed meanwhile */
		np_errf(err, rc, "profile store %s: %s", store->dir,
			strerror(-rc));
	}
	free(text);
	return rc;
}

/* Remove one file; a missing one is fine. */
static int remove_file(const struct np_dir *dir, const char *name,
		       struct np_err *err)
{
	return unlinkat(dir->fd, name, 0) && errno != ENOENT ?
		       np_errf(err, -errno, "%s/%s: %s", dir->path, name,
			       strerror(errno)) :
		       0;
}

/* Remove an application: its runs, pairs and traces, and its directory. */
static int remove_all(const struct np_dir *dir, struct np_err *err)
{
	char **names;
	size_t n;
	int rc = np_dir_names(dir, is_file_name, &names, &n, NULL, NULL);

	if (rc)
		return np_errf(err, rc, "%s: %s", dir->path, strerror(-rc));
	for (size_t i = 0; !rc && i < n; i++)
		rc = remove_file(dir, names[i], err);
	np_names_free(names, n);
	if (!rc && dir->owner == NP_STORE_USER)
		np_trace_dir_prune(dir->fd, 0);
	/* The directory stays if it holds files that are not the store's. */
	if (!rc)
		rmdir(dir->path);
	return rc;
}

int np_store_remove(struct np_store *store, enum np_store_owner owner,
		    const char *app, const struct np_record *const *run,
		    size_t n, struct np_err *err)
{
	char name[NAME_MAX + 1];
	struct np_dir dir;
	int rc = np_dir_open(store, owner, geteuid(), app, false, &dir, err);

	if (rc)
		return rc == -ENOENT ?
			       np_errf(err, rc, "no profile of %s", app) :
			       rc;
	for (size_t i = 0; run && !rc && i < n; i++) {
		np_store_run_name(run[i], name, sizeof(name));
		rc = remove_file(&dir, name, err);
	}
	if (!run)
		rc = remove_all(&dir, err);
	np_dir_close(&dir);
	return rc;
}

/* ---- listing applications ---- */

/* Is it a directory of a trusted owner? */
static bool is_trusted(const struct np_dir *dir, const char *name,
		       struct stat *st)
{
	return !fstatat(dir->fd, name, st, AT_SYMLINK_NOFOLLOW) &&
	       S_ISDIR(st->st_mode) && dir_trusts(dir, st->st_uid);
}

/* List those that are trusted; names[] is in descending order. */
static int stamp_all(const struct np_dir *dir, char *const *names, size_t n,
		     struct np_store_app **apps, size_t *n_apps)
{
	struct np_store_app *app = calloc(n + 1, sizeof(*app));
	size_t n_retained = 0;
	struct stat st;

	if (!app)
		return -ENOMEM;
	while (n--)
		if (is_trusted(dir, names[n], &st)) {
			strcpy(app[n_retained].name, names[n]);
			app[n_retained++].stamp = np_stamp_of(&st);
		}
	*apps = app;
	*n_apps = n_retained;
	return 0;
}

int np_store_list_apps(struct np_store *store, enum np_store_owner owner,
		       uid_t uid, struct np_store_app **apps, size_t *n,
		       struct np_err *err)
{
	char **names = NULL;
	struct np_dir dir = { .fd = -1 };
	size_t n_names = 0;
	int rc = np_dir_open(store, owner, uid, NULL, false, &dir, err);

	if (rc && rc != -ENOENT)
		return rc;
	rc = rc ? 0 :
		  np_dir_names(&dir, is_app_name, &names, &n_names, NULL, err);
	if (!rc && stamp_all(&dir, names, n_names, apps, n))
		rc = np_errf(err, -ENOMEM, "%s: out of memory", store->dir);
	np_names_free(names, n_names);
	if (dir.fd >= 0)
		np_dir_close(&dir);
	return rc;
}

struct np_store_stamp np_store_stamp(struct np_store *store,
				     enum np_store_owner owner, uid_t uid,
				     const char *app)
{
	struct np_store_stamp stamp = { .dev = 0 };
	struct np_dir dir;
	struct stat st;

	if (np_dir_open(store, owner, uid, app, false, &dir, NULL))
		return stamp;
	if (!fstat(dir.fd, &st))
		stamp = np_stamp_of(&st);
	np_dir_close(&dir);
	return stamp;
}

bool np_store_is_racy(const struct np_store_stamp *stamp)
{
	/* If the file server's clock is ahead, this is conservative. */
	return (double)time(NULL) - (double)stamp->sec < NP_STORE_RACY_SEC;
}

int np_store_trace(const struct np_store *store, uid_t uid, const char *app,
		   char *buf, size_t len, struct np_err *err)
{
	char name[NAME_MAX + 1];
	struct np_dir dir;
	int rc = np_dir_open(store, NP_STORE_USER, uid, app, false, &dir, err);

	if (rc)
		return rc;
	rc = np_trace_dir_newest(dir.fd, uid, name);
	if (!rc && snprintf(buf, len, "%s/%s", dir.path, name) >= (int)len)
		rc = np_errf(err, -ENAMETOOLONG, "%s: path too long", name);
	np_dir_close(&dir);
	return rc == -ENOMEM ?
		       np_errf(err, rc, "%s: out of memory", store->dir) :
		       rc;
}
