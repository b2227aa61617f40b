/*
 * Opens traces, whichever their format, and finds the files of a trace in a
 * directory.
 */
#include "np_trace_read.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "np_array.h"
#include "np_read.h"
#include "np_text.h"
#include "np_trace.h"
#include "np_trace_reader.h"

#define PIECE 65536 /* size of a read */
/* bytes of comments at the beginning of a text, at most */
#define COMMENTS 4096

/*
 * Opens a regular file and reads its header; *got: bytes of the header that
 * exist. flags: O_NOFOLLOW or 0. Traces are in directories where their users
 * may place symbolic links to files of whoever reads the trace.
 */
static int open_file(const char *path, int flags, FILE **out,
		     struct np_trace_header *h, size_t *got, struct np_err *err)
{
	struct stat st;
	int fd = np_read_open(path, flags, &st);

	if (fd < 0)
		return np_errf(
			err, fd, "%s: %s", path,
			fd == -EINVAL ?
				np_read_irregular(&st) :
			fd == -ELOOP ?
				"a symbolic link, which is not followed" :
				strerror(-fd));
	*out = fdopen(fd, "r");
	if (!*out) {
		close(fd);
		return np_errf(err, -ENOMEM, "out of memory");
	}
	setvbuf(*out, NULL, _IOFBF, PIECE);
	*got = fread(h, 1, sizeof(*h), *out);
	return 0;
}

static bool is_binary(const struct np_trace_header *h, size_t got)
{
	return got >= sizeof(h->magic) &&
	       !memcmp(h->magic, NP_TRACE_MAGIC, sizeof(h->magic));
}

static int read_error(const char *path, struct np_err *err)
{
	return np_errf(err, -EIO, "%s: %s", path, strerror(EIO));
}

/* Starts the first or second pass over the file. */
static void start_pass(struct np_trace_reader *r, bool again)
{
	r->again = again;
	r->line = 0;
	r->n_requests = r->n_uses = r->n_ids = r->next_id = 0;
	r->form->rewind(r);
}

/* Reads the whole file and records whether the trace is complete. */
static int first_pass(struct np_trace_reader *r)
{
	struct np_trace_event ev;
	int rc;

	while ((rc = np_trace_next(r, &ev)) == 1)
		r->whole = ev.kind == NP_TRACE_FINALIZE;
	return rc;
}

int np_trace_open(const char *path, uint32_t rank, uint32_t size,
		  struct np_trace_reader **out, struct np_err *err)
{
	const struct np_trace_form *form;
	struct np_trace_header h;
	struct np_trace_reader *r;
	struct stat st = { .st_size = 0 };
	size_t got;
	FILE *f;
	int rc = open_file(path, O_NOFOLLOW, &f, &h, &got, err);

	if (rc)
		return rc;
	form = is_binary(&h, got) ? &np_trace_binary : &np_trace_text;
	rc = np_kind_check((const char *)&h, got, NP_KIND_TRACE, path, err);
	r = rc ? NULL : calloc(1, form->bytes);
	if (!r) {
		fclose(f);
		return rc ? rc : np_errf(err, -ENOMEM, "out of memory");
	}
	fstat(fileno(f), &st);
	*r = (struct np_trace_reader){ .form = form,
				       .f = f,
				       .rank = rank,
				       .size = size,
				       .err = err,
				       .path = path,
				       .bytes = (uint64_t)st.st_size };
	rc = form->begin(r, &h, got);
	if (!rc) {
		start_pass(r, false);
		rc = first_pass(r);
	}
	if (rc) {
		np_trace_close(r);
		return rc;
	}
	start_pass(r, true);
	*out = r;
	return 0;
}

void np_trace_close(struct np_trace_reader *r)
{
	if (!r)
		return;
	r->form->close(r);
	fclose(r->f);
	free(r->request);
	free(r->use);
	free(r->id);
	free(r->list);
	free(r);
}

int np_trace_next(struct np_trace_reader *r, struct np_trace_event *ev)
{
	int rc;

	if (r->next_id < r->n_ids) {
		*ev = (struct np_trace_event){ .line = r->line };
		np_trace_started(r, ev);
		return 1;
	}
	rc = r->form->next(r, ev);
	return rc <= 0 && ferror(r->f) ? read_error(r->path, r->err) : rc;
}

bool np_trace_is_complete(const struct np_trace_reader *r)
{
	return r->whole;
}

uint64_t np_trace_start_ns(const struct np_trace_reader *r)
{
	return r->start_ns;
}

/* Whether the first line after comments and empty lines is of liballprof. */
static bool is_text(FILE *f)
{
	char begin[COMMENTS + 1];
	const char *at = begin;

	rewind(f);
	begin[fread(begin, 1, COMMENTS, f)] = '\0';
	while (*at == '#' || *at == '\r' || *at == '\n') {
		at += strcspn(at, "\n");
		at += *at == '\n';
	}
	return !strncmp(at, "MPI_", 4);
}

bool np_trace_is(const char *path)
{
	struct np_trace_header h;
	struct stat st;
	size_t got;
	bool is;
	FILE *f;

	/* Do not open a pipe: closing it again would end its writer. */
	if (stat(path, &st) || !S_ISREG(st.st_mode))
		return S_ISDIR(st.st_mode);
	if (open_file(path, 0, &f, &h, &got, NULL))
		return false;
	is = is_binary(&h, got) || is_text(f);
	fclose(f);
	return is;
}

/* Reads the header of a trace; *got: bytes of it that exist. */
static int read_header(const char *path, struct np_trace_header *h, size_t *got,
		       struct np_err *err)
{
	FILE *f;
	int rc = open_file(path, O_NOFOLLOW, &f, h, got, err);

	if (rc)
		return rc;
	if (ferror(f))
		rc = read_error(path, err);
	fclose(f);
	return rc;
}

/*
 * Number of ranks and name of the program according to a binary trace; 0 and ""
 * for a text.
 */
static int read_run(const char *path, uint32_t *size, char *program,
		    struct np_err *err)
{
	struct np_trace_header h;
	size_t got;
	int rc = read_header(path, &h, &got, err);

	if (rc)
		return rc;
	*size = 0;
	*program = '\0';
	if (is_binary(&h, got) && got == sizeof(h)) {
		*size = h.size;
		snprintf(program, NP_TRACE_NAME, "%.*s", NP_TRACE_NAME - 1,
			 h.program);
		np_text_make_plain(program);
	}
	if (*size > NP_TRACE_MAX_RANKS)
		return np_errf(err, -EINVAL,
			       "%s: %u ranks, expected at most %u", path, *size,
			       NP_TRACE_MAX_RANKS);
	return 0;
}

/*
 * A file name split at its last number: "trace-12.txt" is "trace-", 12, ".txt".
 */
struct numbered {
	size_t prefix; /* bytes before the number */
	size_t suffix; /* offset of what follows the number */
	uint32_t number;
};

/* Finds the last number in a file name; false if there is none. */
static bool split_name(const char *name, struct numbered *n)
{
	size_t end = strlen(name), begin;
	unsigned long v;

	while (end && !isdigit((unsigned char)name[end - 1]))
		end--;
	for (begin = end; begin && isdigit((unsigned char)name[begin - 1]);)
		begin--;
	if (begin == end || end - begin > 9)
		return false;
	v = strtoul(name + begin, NULL, 10);
	*n = (struct numbered){ begin, end, (uint32_t)v };
	return v < NP_TRACE_MAX_RANKS;
}

static bool same_name(const char *a, const struct numbered *na, const char *b,
		      const struct numbered *nb)
{
	return na->prefix == nb->prefix && !strncmp(a, b, na->prefix) &&
	       !strcmp(a + na->suffix, b + nb->suffix);
}

/* Stores the path of a rank. Missing ranks are NULL. */
static int add_path(struct np_trace_files *f, size_t *room, const char *dir,
		    const char *name, uint32_t rank)
{
	size_t old = *room;
	char *path;

	if (rank < f->n && f->path[rank])
		return -EEXIST;
	if (np_array_reserve(&f->path, room, rank + 1ull, sizeof(*f->path)))
		return -ENOMEM;
	memset(f->path + old, 0, (*room - old) * sizeof(*f->path));
	if (asprintf(&path, "%s/%s", dir, name) < 0)
		return -ENOMEM;
	f->path[rank] = path;
	if (rank >= f->n)
		f->n = rank + 1;
	return 0;
}

/*
 * liballprof2 (spcl/LogGOPSim) uses these file names. Its times have decimals,
 * and its requests and datatypes cannot be interpreted.
 */
static int refuse_lap2(const char *dir, const char *name, struct np_err *err)
{
	static const char lap2[] = "lap2-trace-rank-";

	if (strncmp(name, lap2, sizeof(lap2) - 1))
		return 0;
	return np_errf(err, -EINVAL,
		       "%s/%.64s: a trace of liballprof2, which is not read; "
		       "expected one of liballprof or of libnetprof-mpi",
		       dir, name);
}

/*
 * Collects the files of dir that are named like `like`; NULL: like the first
 * file.
 */
static int collect_files(const char *dir, const char *like,
			 struct np_trace_files *f, struct np_err *err)
{
	char first[NAME_MAX + 1] = "";
	struct numbered first_parts, n;
	struct dirent *e;
	size_t room = 0;
	int rc = 0;
	DIR *d = opendir(dir);

	if (!d)
		return np_errf(err, -errno, "%s: %s", dir, strerror(errno));
	if (like)
		snprintf(first, sizeof(first), "%s", like);
	if (like && !split_name(first, &first_parts))
		rc = np_errf(err, -EINVAL,
			     "%s/%s: expected a name with the rank in it, such "
			     "as rank.0",
			     dir, like);
	while (!rc && (e = readdir(d))) {
		if (e->d_name[0] == '.' || !split_name(e->d_name, &n))
			continue;
		rc = refuse_lap2(dir, e->d_name, err);
		if (rc)
			break;
		if (!*first) {
			snprintf(first, sizeof(first), "%s", e->d_name);
			first_parts = n;
		}
		if (same_name(first, &first_parts, e->d_name, &n))
			rc = add_path(f, &room, dir, e->d_name, n.number);
		else if (!like)
			rc = np_errf(err, -EINVAL,
				     "%s: expected one trace: %.64s and %.64s "
				     "are of two",
				     dir, first, e->d_name);
		/* for example "rank.1" and "rank.01" */
		if (rc == -EEXIST)
			rc = np_errf(err, -EINVAL,
				     "%s: two files of rank %u, %.64s and "
				     "%.64s, expected one",
				     dir, n.number, basename(f->path[n.number]),
				     e->d_name);
	}
	closedir(d);
	return rc == -ENOMEM ? np_errf(err, rc, "out of memory") : rc;
}

/*
 * Rank 0 determines the number of ranks; further files are from an earlier run.
 */
static int check_ranks(struct np_trace_files *f, const char *path,
		       struct np_err *err)
{
	uint32_t size = 0;
	int rc;

	if (!f->n)
		return np_errf(err, -ENOENT, "%s: no trace", path);
	if (!f->path[0])
		return np_errf(err, -EINVAL, "%s: no trace of rank 0", path);
	rc = read_run(f->path[0], &size, f->program, err);
	if (rc)
		return rc;
	for (uint32_t i = 0; i < (size ? size : f->n); i++)
		if (i >= f->n || !f->path[i])
			return np_errf(
				err, -EINVAL,
				"%s: no trace of rank %u, expected %u ranks",
				path, i, size ? size : f->n);
	for (uint32_t i = size; size && i < f->n; i++)
		free(f->path[i]);
	f->n = size ? size : f->n;
	return 0;
}

int np_trace_files_find(const char *path, struct np_trace_files *out,
			struct np_err *err)
{
	struct np_trace_files f = { 0 };
	const char *slash = strrchr(path, '/');
	char dir[PATH_MAX] = ".";
	struct np_trace_header h;
	struct stat st;
	size_t got;
	int rc;

	if (stat(path, &st))
		return np_errf(err, -errno, "%s: %s", path, strerror(errno));
	if (S_ISDIR(st.st_mode)) {
		rc = collect_files(path, NULL, &f, err);
	} else {
		rc = read_header(path, &h, &got, err);
		if (!rc)
			rc = np_kind_check((const char *)&h, got, NP_KIND_TRACE,
					   path, err);
		if (rc)
			return rc;
		if (slash)
			snprintf(dir, sizeof(dir), "%.*s",
				 slash > path ? (int)(slash - path) : 1, path);
		rc = collect_files(dir, slash ? slash + 1 : path, &f, err);
	}
	if (!rc)
		rc = check_ranks(&f, path, err);
	if (rc)
		np_trace_files_free(&f);
	else
		*out = f;
	return rc;
}

void np_trace_files_free(struct np_trace_files *f)
{
	for (uint32_t i = 0; i < f->n; i++)
		free(f->path[i]);
	free(f->path);
	*f = (struct np_trace_files){ 0 };
}
