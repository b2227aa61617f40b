#include "np_trace.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "np_array.h"
#include "np_trace_read.h"

/* A name around its last number: "trace-12.txt" is "trace-", 12, ".txt". */
struct numbered {
	size_t prefix; /* bytes before the number */
	size_t suffix; /* where the rest begins */
	uint32_t number;
};

static bool split(const char *name, struct numbered *n)
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

static bool alike(const char *a, const struct numbered *na, const char *b,
		  const struct numbered *nb)
{
	return na->prefix == nb->prefix && !strncmp(a, b, na->prefix) &&
	       !strcmp(a + na->suffix, b + nb->suffix);
}

/* Put the file into its rank's place; a hole stays NULL. */
static int put(struct np_trace_files *f, size_t *room, const char *dir,
	       const char *name, uint32_t rank)
{
	size_t old = *room;
	char *path;

	if (np_array_room(&f->path, room, rank + 1ull, sizeof(*f->path)))
		return -ENOMEM;
	memset(f->path + old, 0, (*room - old) * sizeof(*f->path));
	if (asprintf(&path, "%s/%s", dir, name) < 0)
		return -ENOMEM;
	free(f->path[rank]); /* "rank.1" and "rank.01" */
	f->path[rank] = path;
	if (rank >= f->n)
		f->n = rank + 1;
	return 0;
}

/* All files of dir that are named as like is; NULL: as the first is. */
static int collect(const char *dir, const char *like,
		   struct np_trace_files *f, struct np_err *err)
{
	char first[NAME_MAX + 1] = "";
	struct numbered of_first, n;
	struct dirent *e;
	size_t room = 0;
	int rc = 0;
	DIR *d = opendir(dir);

	if (!d)
		return np_errf(err, -errno, "%s: %s", dir, strerror(errno));
	if (like)
		snprintf(first, sizeof(first), "%s", like);
	if (like && !split(first, &of_first))
		rc = np_errf(err, -EINVAL, "%s/%s: expected a name with the "
			     "rank in it, such as rank.0", dir, like);
	while (!rc && (e = readdir(d))) {
		if (e->d_name[0] == '.' || !split(e->d_name, &n))
			continue;
		if (!*first) {
			snprintf(first, sizeof(first), "%s", e->d_name);
			of_first = n;
		}
		if (alike(first, &of_first, e->d_name, &n))
			rc = put(f, &room, dir, e->d_name, n.number);
		else if (!like)
			rc = np_errf(err, -EINVAL, "%s: expected one trace: "
				     "%.64s and %.64s are of two", dir, first,
				     e->d_name);
	}
	closedir(d);
	return rc == -ENOMEM ? np_errf(err, rc, "out of memory") : rc;
}

/* As many as rank 0 says; others are left from before. */
static int check(struct np_trace_files *f, const char *path,
		 struct np_err *err)
{
	uint32_t size = 0;
	int rc;

	if (!f->n)
		return np_errf(err, -ENOENT, "%s: no trace", path);
	if (!f->path[0])
		return np_errf(err, -EINVAL, "%s: no trace of rank 0", path);
	rc = np_trace_size(f->path[0], &size, err);
	if (rc)
		return rc;
	for (uint32_t i = 0; i < (size ? size : f->n); i++)
		if (i >= f->n || !f->path[i])
			return np_errf(err, -EINVAL, "%s: no trace of rank "
				       "%u, expected %u ranks", path, i,
				       size ? size : f->n);
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
	struct stat st;
	int rc;

	if (stat(path, &st))
		return np_errf(err, -errno, "%s: %s", path, strerror(errno));
	if (!S_ISDIR(st.st_mode)) {
		rc = np_trace_check(path, err);
		if (rc)
			return rc;
	}
	if (S_ISDIR(st.st_mode)) {
		rc = collect(path, NULL, &f, err);
	} else {
		if (slash)
			snprintf(dir, sizeof(dir), "%.*s",
				 slash > path ? (int)(slash - path) : 1, path);
		rc = collect(dir, slash ? slash + 1 : path, &f, err);
	}
	if (!rc)
		rc = check(&f, path, err);
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
