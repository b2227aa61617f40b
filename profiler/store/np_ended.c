/* ended-YYYYMMDD.jsonl: a line for each job that ended on that day (UTC). */
#include "np_state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "np_shares.h"
#include "np_store.h"

#define NAME_LEN sizeof(NP_ENDED_SHAPE)
#define MAX_TOLD 16 /* users that are told about, for one file */

struct np_ended_day {
	char name[NAME_LEN]; /* of the file; "": none was written to */
	struct np_shares shares;    /* bytes */
	struct np_numbers told;
};

int np_ended_day_new(struct np_ended_day **out)
{
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return -ENOMEM;
	(*out)->shares.limit = NP_ENDED_MAX_DAY;
	return 0;
}

void np_ended_day_free(struct np_ended_day *day)
{
	if (!day)
		return;
	np_shares_free(&day->shares);
	np_numbers_free(&day->told);
	free(day);
}

static void name_of_day(time_t t, char name[NAME_LEN])
{
	struct tm tm;

	gmtime_r(&t, &tm);
	if (!strftime(name, NAME_LEN, "ended-%Y%m%d.jsonl", &tm))
		strcpy(name, NP_ENDED_SHAPE);
}

/*
 * Clocks are wrong now and then.  One that is ahead for some days adds as many
 * files and takes none of the last NP_ENDED_KEEP_DAYS away; what it left counts
 * for nothing until that day is there.
 */
static void remove_old(const struct np_dir *d, time_t now)
{
	char first[NAME_LEN], today[NAME_LEN], **names;
	size_t n, newer = 0;

	if (np_dir_names(d, np_is_ended_name, &names, &n, NULL, NULL))
		return;
	name_of_day(now - NP_ENDED_KEEP_DAYS * 86400, first);
	name_of_day(now, today);
	for (size_t i = 0; i < n; i++) {
		if (strcmp(names[i], first) < 0 && newer >= NP_ENDED_KEEP_FILES)
			unlinkat(d->fd, names[i], 0);
		newer += strcmp(names[i], today) <= 0;
	}
	np_names_free(names, n);
}

/*
 * The file of today.  A day before all that there are is none of ours: what is
 * written there would be the first to go.
 */
static void name_to_write(const struct np_dir *d, time_t now,
			  char name[NAME_LEN])
{
	char **names;
	size_t n;

	name_of_day(now, name);
	if (!faccessat(d->fd, name, F_OK, AT_SYMLINK_NOFOLLOW) ||
	    np_dir_names(d, np_is_ended_name, &names, &n, NULL, NULL))
		return;
	if (n > 1 && strcmp(name, names[n - 1]) < 0)
		strcpy(name, names[0]);
	np_names_free(names, n);
}

/* Open today's file; *fresh: there was none. */
static int open_day(const struct np_dir *d, const char *name, mode_t mode,
		    bool *fresh, size_t *size)
{
	const int flags = O_RDWR | O_APPEND | O_NOFOLLOW | O_NONBLOCK |
			  O_NOCTTY | O_CLOEXEC;
	struct stat st;
	int fd = openat(d->fd, name, flags | O_CREAT | O_EXCL, mode);
	int rc = 0;

	*fresh = fd >= 0;
	if (fd < 0 && errno == EEXIST)
		fd = openat(d->fd, name, flags);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st))
		rc = -errno;
	else if (!S_ISREG(st.st_mode))
		rc = -EACCES;
	else if ((st.st_mode & 0777) != mode && fchmod(fd, mode))
		rc = -errno;
	if (rc)
		close(fd);
	else
		*size = (size_t)st.st_size;
	return rc ? rc : fd;
}

/* In JSON a quote within a text is escaped, so this is no text. */
static bool uid_of_line(const char *line, uint32_t *uid)
{
	static const char key[] = "\"uid\":";
	const char *at = strstr(line, key);

	if (!at)
		return false;
	*uid = (uint32_t)strtoul(at + sizeof(key) - 1, NULL, 10);
	return true;
}

/* What a process before this one wrote into a file that has room left. */
static void count_lines(struct np_ended_day *day, int fd)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	FILE *f = copy < 0 ? NULL : fdopen(copy, "r");
	char *line = NULL;
	size_t room = 0;
	ssize_t len;
	uint32_t uid;

	if (!f) {
		if (copy >= 0)
			close(copy);
		return;
	}
	rewind(f);
	while ((len = getline(&line, &room, f)) > 0)
		if (uid_of_line(line, &uid))
			np_shares_add(&day->shares, uid, (uint64_t)len);
	free(line);
	fclose(f);
}

static void begin_day(struct np_ended_day *day, const char *name, int fd,
		      size_t size)
{
	if (strcmp(day->name, name)) {
		strcpy(day->name, name);
		np_shares_clear(&day->shares);
		np_numbers_clear(&day->told);
		if (size && size < NP_ENDED_MAX_DAY)
			count_lines(day, fd);
	}
	/* Also what another slurmctld wrote takes room. */
	if (day->shares.used < size)
		day->shares.used = size;
}

/* Once for each user, and not for too many of them. */
static int no_room(struct np_ended_day *day, uint32_t uid, struct np_err *err)
{
	size_t told = day->told.n;

	if (told == MAX_TOLD ||
	    np_numbers_get(&day->told, &uid, sizeof(uid)) != told)
		return -ENOBUFS;
	return np_errf(err, -ENOBUFS, "%s: the jobs of uid %u that end are "
		       "left out from now on, as theirs fill the share of one "
		       "user of the %u MiB for a day%s", day->name, uid,
		       NP_ENDED_MAX_DAY >> 20, told + 1 < MAX_TOLD ? "" :
		       "; further users are not named");
}

/* Did a writer die, or its disk fill up, in the middle of the last line? */
static bool ends_in_line(int fd)
{
	off_t size = lseek(fd, 0, SEEK_END);
	char last = '\n';

	return size > 0 && pread(fd, &last, 1, size - 1) == 1 && last != '\n';
}

/* In one piece: so two writers do not mix their lines. */
static int write_line(int fd, const char *line)
{
	bool broken = ends_in_line(fd);
	size_t len = strlen(line) + broken;
	char *text = NULL;
	ssize_t put;

	if (broken && asprintf(&text, "\n%s", line) < 0)
		return -ENOMEM;
	do
		put = write(fd, text ? text : line, len);
	while (put < 0 && errno == EINTR);
	free(text);
	if (put < 0 || fsync(fd))
		return -errno;
	return (size_t)put == len ? 0 : -ENOSPC;
}

static int append(const struct np_dir *d, struct np_ended_day *day,
		  uint32_t uid, const char *line, mode_t mode,
		  struct np_err *err)
{
	time_t now = time(NULL);
	char name[NAME_LEN];
	size_t size = 0;
	bool fresh, room = true;
	int fd, rc;

	name_to_write(d, now, name);
	fd = open_day(d, name, mode, &fresh, &size);
	rc = fd < 0 ? fd : 0;
	if (!rc) {
		begin_day(day, name, fd, size);
		room = np_shares_take(&day->shares, uid, strlen(line));
	}
	if (!rc && room)
		rc = write_line(fd, line);
	if (fd >= 0)
		close(fd);
	if (!rc && fresh) {
		remove_old(d, now);
		rc = np_file_sync_dir(d);
	}
	if (rc)
		return np_errf(err, rc, "cannot write %s/%s: %s", d->path,
			       name, strerror(-rc));
	return room ? 0 : no_room(day, uid, err);
}

int np_ended_append(const char *store_dir, struct np_ended_day *day,
		    const struct np_ended *e, mode_t mode, struct np_err *err)
{
	struct np_dir d;
	char *line;
	int rc = np_ended_put(e, &line, err);

	if (rc)
		return rc;
	rc = np_dir_open_placement(store_dir, true, &d, err);
	if (!rc) {
		rc = append(&d, day, e->uid, line, mode, err);
		np_dir_close(&d);
	}
	free(line);
	return rc;
}

struct wanted {
	uint32_t id, task;
	char digits[16]; /* of id: a line without them is not parsed */
};

static bool is_wanted(const struct wanted *w, const struct np_ended *e)
{
	if (w->task == NP_ENDED_NO_TASK)
		return e->id == w->id;
	return e->array == w->id && e->task == w->task;
}

static bool line_has(const char *line, size_t len, const struct wanted *w,
		     struct np_ended *out)
{
	if (len > NP_ENDED_MAX_LINE ||
	    !memmem(line, len, w->digits, strlen(w->digits)) ||
	    np_ended_get(line, len, out))
		return false;
	if (is_wanted(w, out))
		return true;
	np_ended_free(out);
	return false;
}

/* From the last line to the first: a job that was requeued has several. */
static bool text_has(const char *text, size_t len, const struct wanted *w,
		     struct np_ended *out)
{
	while (len) {
		const char *nl = memrchr(text, '\n', len);
		size_t start = nl ? (size_t)(nl - text) + 1 : 0;

		if (line_has(text + start, len - start, w, out))
			return true;
		len = nl ? (size_t)(nl - text) : 0;
	}
	return false;
}

static int file_has(const struct np_dir *d, const char *name,
		    const struct wanted *w, struct np_ended *out,
		    struct np_err *err)
{
	char *text;
	bool cut;
	ssize_t len = np_file_read_end(d, name, NP_STATE_MAX_BYTES, &text, &cut,
				       err);
	bool found;

	if (len < 0)
		return (int)len;
	found = text_has(text, (size_t)len, w, out);
	free(text);
	return found ? 0 : -ENOENT;
}

/* One day that cannot be read does not hide the others. */
static int find(const struct np_dir *d, const struct wanted *w,
		struct np_ended *out, struct np_err *err)
{
	struct np_err why = NP_ERR_INIT;
	char **names;
	size_t n;
	int rc = np_dir_names(d, np_is_ended_name, &names, &n, NULL, err);
	int worst = -ENOENT;

	if (rc)
		return rc;
	rc = -ENOENT;
	for (size_t i = 0; rc && i < n && i < 2 * NP_ENDED_KEEP_DAYS; i++) {
		rc = file_has(d, names[i], w, out, &why);
		if (rc && rc != -ENOENT)
			worst = rc;
	}
	np_names_free(names, n);
	if (!rc)
		return 0;
	if (worst != -ENOENT)
		return np_errf(err, worst, "%s", why.text);
	return np_errf(err, -ENOENT, "%s: no line about it", d->path);
}

int np_ended_find(const char *store_dir, uint32_t id, uint32_t task,
		  struct np_ended *out, struct np_err *err)
{
	struct wanted w = { .id = id, .task = task };
	struct np_dir d;
	int rc = np_dir_open_placement(store_dir, false, &d, err);

	if (rc)
		return rc;
	snprintf(w.digits, sizeof(w.digits), "%u", id);
	rc = find(&d, &w, out, err);
	np_dir_close(&d);
	return rc;
}
