/*
 * What the placement leaves for commands: its state, and the jobs that ended.
 * Files are written by slurmctld and read as untrusted input.
 */
#include "np_state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "np_app.h"
#include "np_array.h"
#include "np_fields.h"
#include "np_store.h"

/* ---- JSON, see netprof-placement(5) ---- */

#define MAX_SLOWDOWN 1e6 /* a forecast for many jobs can exceed any number */
#define MAX_TEXT 1023

#define U32(s, name, ...) NP_FIELD(s, NP_F_U32, name, UINT32_MAX, __VA_ARGS__)
#define BOOL(s, name) NP_FIELD(s, NP_F_BOOL, name, 1, 0)
#define TEXT(s, name, max) NP_FIELD(s, NP_F_TEXT, name, max, NP_F_NEVER_NULL)
#define REAL(s, name, max) NP_FIELD(s, NP_F_REAL, name, max, NP_F_CLAMP)
#define SLOWDOWN(s, name) \
	NP_FIELD(s, NP_F_REAL, name, MAX_SLOWDOWN, NP_F_CLAMP, -1)
#define LIST(s, key, name, n_name, max, flags, of) \
	NP_FIELD_LIST(s, key, name, n_name, max, NP_F_CLAMP | (flags), of)
/* clang-format off */
#define SCHEMA { "schema", NP_F_SCHEMA, .max = NP_STATE_SCHEMA }

static const struct np_fields leaf_table = NP_FIELDS(np_state_leaf,
	TEXT(np_state_leaf, name, NP_JSON_WORD),
	U32(np_state_leaf, n_nodes, 0),
	U32(np_state_leaf, n_idle, 0),
	NP_FIELD_AS(np_state_leaf, NP_F_U32, "n_away", n_unavailable,
		    UINT32_MAX, 0),
	U32(np_state_leaf, n_jobs, 0),
	U32(np_state_leaf, n_known, 0),
	NP_FIELD_AS(np_state_leaf, NP_F_REAL, "strain", worst_slowdown,
		    MAX_SLOWDOWN, NP_F_CLAMP, -1),
);

static const struct np_fields cause_table = NP_FIELDS(np_state_cause,
	TEXT(np_state_cause, leaf, NP_JSON_WORD),
	U32(np_state_cause, other, 0),
	TEXT(np_state_cause, other_app, NP_APP_MAX),
	U32(np_state_cause, victim, 0),
	SLOWDOWN(np_state_cause, slowdown),
);

static const struct np_fields job_table = NP_FIELDS(np_state_job,
	U32(np_state_job, id, NP_F_REQUIRED),
	U32(np_state_job, array, 0),
	U32(np_state_job, task, 0),
	U32(np_state_job, uid, NP_F_REQUIRED),
	TEXT(np_state_job, app, NP_APP_MAX),
	BOOL(np_state_job, known),
	TEXT(np_state_job, partition, NP_JSON_WORD),
	TEXT(np_state_job, mode, NP_JSON_WORD),
	BOOL(np_state_job, pending),
	U32(np_state_job, n_nodes, 0),
	TEXT(np_state_job, leaves, NP_JSON_HOSTLIST),
	TEXT(np_state_job, action, NP_JSON_WORD),
	BOOL(np_state_job, applied),
	REAL(np_state_job, until, NP_JSON_DATE),
	REAL(np_state_job, held_sec, NP_JSON_ELAPSED_SEC),
	REAL(np_state_job, start, NP_JSON_DATE),
	TEXT(np_state_job, text, MAX_TEXT),
	LIST(np_state_job, "causes", cause, n_causes, NP_STATE_MAX_CAUSES,
	     NP_F_NOT_EMPTY, &cause_table),
);

static const struct np_fields denial_table = NP_FIELDS(np_state_denial,
	U32(np_state_denial, uid, NP_F_REQUIRED),
	TEXT(np_state_denial, app, NP_APP_MAX),
	U32(np_state_denial, n_jobs, 0),
	BOOL(np_state_denial, refuted),
	TEXT(np_state_denial, why, NP_STATE_WHY_MAX),
);

static const struct np_fields state_table = NP_FIELDS_LONG_LISTS(np_state,
	SCHEMA,
	REAL(np_state, date, NP_JSON_DATE),
	REAL(np_state, interval_sec, NP_JSON_ELAPSED_SEC),
	TEXT(np_state, cluster, NP_JSON_WORD),
	TEXT(np_state, slurm_version, NP_JSON_WORD),
	TEXT(np_state, netprof_version, NP_JSON_WORD),
	TEXT(np_state, controller, NP_JSON_WORD),
	TEXT(np_state, mode, NP_JSON_WORD),
	TEXT(np_state, fabric, MAX_TEXT),
	TEXT(np_state, trouble, MAX_TEXT),
	REAL(np_state, max_slowdown, MAX_SLOWDOWN),
	NP_FIELD_AS(np_state, NP_F_REAL, "max_defer_sec", max_hold_sec,
		    NP_JSON_ELAPSED_SEC, NP_F_CLAMP),
	U32(np_state, n_profiles, 0),
	REAL(np_state, decide_sec, NP_JSON_ELAPSED_SEC),
	U32(np_state, more_denied, 0),
	LIST(np_state, "leaves", leaf, n_leaves, NP_STATE_MAX_LEAVES, 0,
	     &leaf_table),
	LIST(np_state, "jobs", job, n_jobs, NP_STATE_MAX_JOBS, 0, &job_table),
	LIST(np_state, "claims", denial, n_denials, NP_STATE_MAX_DENIALS, 0,
	     &denial_table),
);

static const struct np_fields neighbour_table = NP_FIELDS(np_accounting_neighbour,
	U32(np_accounting_neighbour, id, NP_F_REQUIRED),
	TEXT(np_accounting_neighbour, app, NP_APP_MAX),
	TEXT(np_accounting_neighbour, leaves, NP_JSON_PATH),
	REAL(np_accounting_neighbour, overlap_sec, NP_JSON_ELAPSED_SEC),
	SLOWDOWN(np_accounting_neighbour, slowdown),
);

static const struct np_fields accounting_table = NP_FIELDS(np_accounting_record,
	SCHEMA,
	U32(np_accounting_record, id, NP_F_REQUIRED),
	U32(np_accounting_record, array, 0),
	U32(np_accounting_record, task, 0),
	U32(np_accounting_record, uid, NP_F_REQUIRED),
	TEXT(np_accounting_record, app, NP_APP_MAX),
	TEXT(np_accounting_record, partition, NP_JSON_WORD),
	TEXT(np_accounting_record, leaves, NP_JSON_HOSTLIST),
	U32(np_accounting_record, n_nodes, 0),
	REAL(np_accounting_record, submit, NP_JSON_DATE),
	REAL(np_accounting_record, start, NP_JSON_DATE),
	REAL(np_accounting_record, end, NP_JSON_DATE),
	REAL(np_accounting_record, held_sec, NP_JSON_ELAPSED_SEC),
	SLOWDOWN(np_accounting_record, slowdown),
	LIST(np_accounting_record, "neighbours", neighbour, n_neighbours,
	     NP_ACCOUNTING_MAX_NEIGHBOURS, 0, &neighbour_table),
	U32(np_accounting_record, more_neighbours, 0),
);
/* clang-format on */

static int cannot_write(struct np_err *err, int rc, const char *what)
{
	return np_errf(err, rc, "%s: %s", what,
		       rc == -ENOMEM ? "out of memory" :
				       "a number that is not finite");
}

int np_state_put(const struct np_state *state, char **out, struct np_err *err)
{
	struct np_jput jput = { .rc = 0 };

	np_fields_print(&jput, state, &state_table, out);
	return jput.rc ? cannot_write(err, jput.rc, "state of placement") : 0;
}

int np_state_get(const char *text, size_t len, const char *where,
		 struct np_state *out, struct np_err *err)
{
	struct np_jat in = { .where = where, .err = err };
	struct np_state state = { 0 };
	int rc = np_fields_parse(&in, text, len, &state, &state_table);

	if (!rc)
		*out = state;
	return rc && rc != -ENOMEM ? -EINVAL : rc;
}

void np_state_free(struct np_state *state)
{
	np_fields_free(state, &state_table);
	*state = (struct np_state){ .n_jobs = 0 };
}

/* Keep the first n neighbours and count the others. */
static void list_neighbours(struct np_accounting_record *some,
			    const struct np_accounting_record *all, size_t n)
{
	size_t more = all->n_neighbours - n + all->more_neighbours;

	some->n_neighbours = n;
	some->more_neighbours = more < UINT32_MAX ? (uint32_t)more : UINT32_MAX;
}

/* One line; *out is malloc'ed. */
static int accounting_put(const struct np_accounting_record *record, char **out,
			  struct np_err *err)
{
	size_t n = record->n_neighbours < NP_ACCOUNTING_PUT_NEIGHBOURS ?
			   record->n_neighbours :
			   NP_ACCOUNTING_PUT_NEIGHBOURS;
	struct np_accounting_record some = *record;
	struct np_jput jput = { .rc = 0 };
	char *line = NULL;

	list_neighbours(&some, record, n);
	while (!np_fields_print(&jput, &some, &accounting_table, &line) &&
	       strlen(line) > NP_ACCOUNTING_PUT_LINE && n) {
		free(line); /* long names of leaf switches: keep fewer */
		n /= 2;
		list_neighbours(&some, record, n);
	}
	if (jput.rc)
		return cannot_write(err, jput.rc, "job that ended");
	*out = line;
	return 0;
}

int np_accounting_parse(const char *text, size_t len,
			struct np_accounting_record *out)
{
	const struct np_jat in = { .where = "" };
	struct np_accounting_record record = { 0 };
	int rc = np_fields_parse(&in, text, len, &record, &accounting_table);

	if (!rc)
		*out = record;
	return rc;
}

void np_accounting_record_free(struct np_accounting_record *record)
{
	np_fields_free(record, &accounting_table);
	*record = (struct np_accounting_record){ .id = 0 };
}

/* ---- state.json ---- */

#define STATE "state.json"

int np_state_save(const char *store_dir, const struct np_state *state,
		  mode_t mode, struct np_err *err)
{
	struct np_dir dir;
	char *text;
	int rc = np_state_put(state, &text, err);

	if (rc)
		return rc;
	rc = np_dir_open_placement(store_dir, true, &dir, err);
	if (!rc) {
		np_file_remove_stale(&dir);
		/* Whatever the umask: everybody's netprof reads it. */
		rc = np_file_write(&dir, STATE, text, strlen(text), mode, err);
		np_dir_close(&dir);
	}
	free(text);
	return rc;
}

#define NAME_LEN sizeof("ended-YYYYmmdd.jsonl")

/* The name of a file of ended jobs. */
static bool is_accounting_name(const char *name)
{
	int len = 0;

	sscanf(name, "ended-%*8[0-9].jsonl%n", &len);
	return len == (int)NAME_LEN - 1 && !name[len];
}

/* Whether it is a name of a file of placement. */
static bool is_placement_file(const char *name)
{
	return !strcmp(name, STATE) || is_accounting_name(name);
}

/* O_NONBLOCK: opening a FIFO must not block. */
static int set_mode(const struct np_dir *dir, const char *name, mode_t mode)
{
	int fd = openat(dir->fd, name,
			O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY |
				O_CLOEXEC),
	    rc = 0;
	struct stat st;

	if (fd < 0)
		return errno == ENOENT || errno == ELOOP ? 0 : -errno;
	if (fstat(fd, &st) || (S_ISREG(st.st_mode) &&
			       (st.st_mode & 0777) != mode && fchmod(fd, mode)))
		rc = -errno;
	close(fd);
	return rc;
}

int np_state_set_mode(const char *store_dir, mode_t mode, struct np_err *err)
{
	struct np_err why = NP_ERR_INIT;
	struct np_dir dir;
	char **names = NULL;
	size_t n = 0;
	int rc = np_dir_open_placement(store_dir, false, &dir, &why), last = 0;

	if (rc)
		return rc == -ENOENT ? 0 : np_errf(err, rc, "%s", why.text);
	rc = np_dir_names(&dir, is_placement_file, &names, &n, NULL, err);
	for (size_t i = 0; i < n; i++) {
		int e = set_mode(&dir, names[i], mode);

		if (e)
			last = np_errf(err, e,
				       "%s/%s: cannot set its mode to %03o: %s",
				       dir.path, names[i], (unsigned)mode,
				       strerror(-e));
	}
	np_names_free(names, n);
	np_dir_close(&dir);
	return rc ? rc : last;
}

int np_state_load(const char *store_dir, struct np_state *out,
		  struct np_err *err)
{
	struct np_dir dir;
	char path[NP_STORE_PATH + sizeof("/" STATE)], *text = NULL;
	ssize_t len;
	bool cut = false;
	int rc = np_dir_open_placement(store_dir, false, &dir, err);

	if (rc)
		return rc;
	snprintf(path, sizeof(path), "%s/" STATE, dir.path);
	len = np_file_read_end(&dir, STATE, NP_STATE_MAX_BYTES, &text, &cut,
			       err);
	if (len < 0)
		rc = (int)len;
	else if (cut)
		rc = np_errf(err, -EFBIG, "%s: larger than %u bytes", path,
			     NP_STATE_MAX_BYTES);
	else
		rc = np_state_get(text, (size_t)len, path, out, err);
	free(text);
	np_dir_close(&dir);
	return rc;
}

/* ---- ended-YYYYMMDD.jsonl: the jobs that ended on that day (UTC) ---- */

#define MAX_REPORTED 16 /* users that are reported for one file */

struct np_accounting_day {
	char name[NAME_LEN];	  /* of the file; "": nothing was written yet */
	struct np_shares shares;  /* bytes of each user */
	struct np_index reported; /* users that were reported as full */
};

int np_accounting_day_new(struct np_accounting_day **out)
{
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return -ENOMEM;
	(*out)->shares.limit = NP_ACCOUNTING_MAX_DAY;
	return 0;
}

void np_accounting_day_free(struct np_accounting_day *day)
{
	if (!day)
		return;
	np_shares_free(&day->shares);
	np_index_free(&day->reported);
	free(day);
}

/* The name of the file of a day. */
static void name_of_day(time_t t, char name[NAME_LEN])
{
	struct tm tm;

	gmtime_r(&t, &tm);
	if (!strftime(name, NAME_LEN, "ended-%Y%m%d.jsonl", &tm))
		strcpy(name, "ended-00000000.jsonl");
}

/*
 * Clocks are sometimes wrong. A clock that is some days ahead creates that
 * many files, but none of the last NP_ACCOUNTING_KEEP_DAYS is removed for them:
 * files with a date in the future do not count until that day.
 */
static void remove_old(const struct np_dir *dir, time_t now)
{
	char first[NAME_LEN], today[NAME_LEN], **names;
	size_t n, newer = 0;

	if (np_dir_names(dir, is_accounting_name, &names, &n, NULL, NULL))
		return;
	name_of_day(now - NP_ACCOUNTING_KEEP_DAYS * 86400, first);
	name_of_day(now, today);
	for (size_t i = 0; i < n; i++) {
		if (strcmp(names[i], first) < 0 &&
		    newer >= NP_ACCOUNTING_KEEP_FILES)
			unlinkat(dir->fd, names[i], 0);
		newer += strcmp(names[i], today) <= 0;
	}
	np_names_free(names, n);
}

/*
 * The name of today's file. A day before all existing files is a wrong clock:
 * a file of that day would be the first to be removed, so use the newest one.
 */
static void name_to_write(const struct np_dir *dir, time_t now,
			  char name[NAME_LEN])
{
	char **names;
	size_t n;

	name_of_day(now, name);
	if (!faccessat(dir->fd, name, F_OK, AT_SYMLINK_NOFOLLOW) ||
	    np_dir_names(dir, is_accounting_name, &names, &n, NULL, NULL))
		return;
	if (n > 1 && strcmp(name, names[n - 1]) < 0)
		strcpy(name, names[0]);
	np_names_free(names, n);
}

/* Open today's file. *fresh: it was created. */
static int open_day(const struct np_dir *dir, const char *name, mode_t mode,
		    bool *fresh, size_t *size)
{
	const int flags = O_RDWR | O_APPEND | O_NOFOLLOW | O_NONBLOCK |
			  O_NOCTTY | O_CLOEXEC;
	struct stat st;
	int fd = openat(dir->fd, name, flags | O_CREAT | O_EXCL, mode);
	int rc = 0;

	*fresh = fd >= 0;
	if (fd < 0 && errno == EEXIST)
		fd = openat(dir->fd, name, flags);
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

/* A quote inside a JSON text is escaped, so this matches only the member. */
static bool uid_of_line(const char *line, uint32_t *uid)
{
	static const char key[] = "\"uid\":";
	const char *at = strstr(line, key);

	if (!at)
		return false;
	*uid = (uint32_t)strtoul(at + sizeof(key) - 1, NULL, 10);
	return true;
}

/* Count what an earlier process wrote, in a file that still has room. */
static void count_lines(struct np_accounting_day *day, int fd)
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

/* Count what the file holds, when the first job of a day is written. */
static void begin_day(struct np_accounting_day *day, const char *name, int fd,
		      size_t size)
{
	if (strcmp(day->name, name)) {
		strcpy(day->name, name);
		np_shares_clear(&day->shares);
		np_index_clear(&day->reported);
		if (size && size < NP_ACCOUNTING_MAX_DAY)
			count_lines(day, fd);
	}
	/* What another slurmctld wrote takes room, too. */
	if (day->shares.used < size)
		day->shares.used = size;
}

/* Report each user once, and no more than MAX_REPORTED of them. */
static int no_room(struct np_accounting_day *day, uint32_t uid,
		   struct np_err *err)
{
	size_t reported = day->reported.n;

	if (reported == MAX_REPORTED ||
	    np_index_add(&day->reported, &uid, sizeof(uid)) != reported)
		return -ENOBUFS;
	return np_errf(err, -ENOBUFS,
		       "%s: no more ended jobs of uid %u are recorded today: "
		       "they fill one user's share of the %u MiB for a day%s",
		       day->name, uid, NP_ACCOUNTING_MAX_DAY >> 20,
		       reported + 1 < MAX_REPORTED ?
			       "" :
			       "; further users are not named");
}

/* True after a writer died, or its disk filled up, in the middle of a line. */
static bool ends_in_line(int fd)
{
	off_t size = lseek(fd, 0, SEEK_END);
	char last = '\n';

	return size > 0 && pread(fd, &last, 1, size - 1) == 1 && last != '\n';
}

/* One write(): then two writers do not mix their lines. */
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

/* Append a line to today's file, within the user's share of it. */
static int append(const struct np_dir *dir, struct np_accounting_day *day,
		  uint32_t uid, const char *line, mode_t mode,
		  struct np_err *err)
{
	time_t now = time(NULL);
	char name[NAME_LEN];
	size_t size = 0;
	bool fresh, room = true;
	int fd, rc;

	name_to_write(dir, now, name);
	fd = open_day(dir, name, mode, &fresh, &size);
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
		remove_old(dir, now);
		rc = np_file_sync_dir(dir);
	}
	if (rc)
		return np_errf(err, rc, "cannot write %s/%s: %s", dir->path,
			       name, strerror(-rc));
	return room ? 0 : no_room(day, uid, err);
}

int np_accounting_append(const char *store_dir, struct np_accounting_day *day,
			 const struct np_accounting_record *record, mode_t mode,
			 struct np_err *err)
{
	struct np_dir dir;
	char *line = NULL;
	int rc = accounting_put(record, &line, err);

	if (rc)
		return rc;
	rc = np_dir_open_placement(store_dir, true, &dir, err);
	if (!rc) {
		rc = append(&dir, day, record->uid, line, mode, err);
		np_dir_close(&dir);
	}
	free(line);
	return rc;
}

struct job_query {
	uint32_t id, task;
	char digits[16]; /* id as text: lines without it are not parsed */
};

/* Is it the job, or the task of the array, that the query names? */
static bool matches(const struct job_query *query,
		    const struct np_accounting_record *record)
{
	if (query->task == NP_ACCOUNTING_NO_TASK)
		return record->id == query->id;
	return record->array == query->id && record->task == query->task;
}

/* Parse a line only if it contains the number. */
static bool find_in_line(const char *line, size_t len,
			 const struct job_query *query,
			 struct np_accounting_record *out)
{
	if (len > NP_ACCOUNTING_MAX_LINE ||
	    !memmem(line, len, query->digits, strlen(query->digits)) ||
	    np_accounting_parse(line, len, out))
		return false;
	if (matches(query, out))
		return true;
	np_accounting_record_free(out);
	return false;
}

/*
 * Search from the last line: a requeued job has several, the last one counts.
 */
static bool find_in_text(const char *text, size_t len,
			 const struct job_query *query,
			 struct np_accounting_record *out)
{
	while (len) {
		const char *nl = memrchr(text, '\n', len);
		size_t start = nl ? (size_t)(nl - text) + 1 : 0;

		if (find_in_line(text + start, len - start, query, out))
			return true;
		len = nl ? (size_t)(nl - text) : 0;
	}
	return false;
}

/* -ENOENT: the file has no entry of the job. */
static int find_in_file(const struct np_dir *dir, const char *name,
			const struct job_query *query,
			struct np_accounting_record *out, struct np_err *err)
{
	char *text;
	bool cut;
	ssize_t len = np_file_read_end(dir, name, NP_STATE_MAX_BYTES, &text,
				       &cut, err);
	bool found;

	if (len < 0)
		return (int)len;
	found = find_in_text(text, (size_t)len, query, out);
	free(text);
	return found ? 0 : -ENOENT;
}

/* An unreadable day does not hide the other days. */
static int find_in_days(const struct np_dir *dir, const struct job_query *query,
			struct np_accounting_record *out, struct np_err *err)
{
	struct np_err why = NP_ERR_INIT;
	char **names;
	size_t n;
	int rc = np_dir_names(dir, is_accounting_name, &names, &n, NULL, err);
	int worst = -ENOENT;

	if (rc)
		return rc;
	rc = -ENOENT;
	for (size_t i = 0; rc && i < n && i < 2 * NP_ACCOUNTING_KEEP_DAYS;
	     i++) {
		rc = find_in_file(dir, names[i], query, out, &why);
		if (rc && rc != -ENOENT)
			worst = rc;
	}
	np_names_free(names, n);
	if (!rc)
		return 0;
	if (worst != -ENOENT)
		return np_errf(err, worst, "%s", why.text);
	return np_errf(err, -ENOENT, "%s: no record of this job", dir->path);
}

int np_accounting_find(const char *store_dir, uint32_t id, uint32_t task,
		       struct np_accounting_record *out, struct np_err *err)
{
	struct job_query query = { .id = id, .task = task };
	struct np_dir dir;
	int rc = np_dir_open_placement(store_dir, false, &dir, err);

	if (rc)
		return rc;
	snprintf(query.digits, sizeof(query.digits), "%u", id);
	rc = find_in_days(&dir, &query, out, err);
	np_dir_close(&dir);
	return rc;
}
