/* Names of files in a store, and those that a directory has. */
#include "np_store_dir.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* A cluster's name may hold what a file name should not. */
static void file_part(const char *text, char *buf, size_t len)
{
	size_t i;

	for (i = 0; text[i] && i + 1 < len; i++) {
		unsigned char c = (unsigned char)text[i];

		buf[i] = isascii(c) && (isalnum(c) || c == '_') ? (char)c : '_';
	}
	buf[i] = '\0';
}

/*
 * 20241121T013500Z-CLUSTER-JOB.STEP[+HET].json: in the order of time, and the
 * same each time that one run is written.
 */
void np_store_run_name(const struct np_record *r, char *buf, size_t len)
{
	char when[32], cluster[41], het[24] = "";
	time_t start = r->start > 0 && r->start < 2e11 ? (time_t)r->start : 0;
	struct tm tm;

	gmtime_r(&start, &tm);
	strftime(when, sizeof(when), "%Y%m%dT%H%M%SZ", &tm);
	file_part(r->cluster && *r->cluster ? r->cluster : "cluster", cluster,
		  sizeof(cluster));
	if (r->het_component != NP_NO_VALUE)
		snprintf(het, sizeof(het), "+%ld", r->het_component);
	snprintf(buf, len, "%s-%s-%u.%u%s.json", when, cluster, r->job_id,
		 r->step_id, het);
}

bool np_is_app_name(const char *name)
{
	return !np_app_check(name, NULL);
}

bool np_is_run_name(const char *name)
{
	size_t len = strlen(name);

	return name[0] != '.' && len > 5 && !strcmp(name + len - 5, ".json");
}

/* In the shape a '0' stands for any digit; what follows may be anything. */
static bool has_shape(const char *name, const char *shape)
{
	for (; *shape; shape++, name++)
		if (*shape == '0' ? !isdigit((unsigned char)*name) :
				    *name != *shape)
			return false;
	return true;
}

bool np_is_own_run_name(const char *name)
{
	return has_shape(name, "00000000T000000Z-") && np_is_run_name(name);
}

bool np_is_ended_name(const char *name)
{
	return has_shape(name, NP_ENDED_SHAPE) &&
	       strlen(name) == strlen(NP_ENDED_SHAPE);
}

bool np_is_tmp_name(const char *name)
{
	return !strncmp(name, NP_STORE_TMP, strlen(NP_STORE_TMP));
}

static int last_first(const void *a, const void *b)
{
	return strcmp(*(char *const *)b, *(char *const *)a);
}

static int scan(DIR *dir, bool (*want)(const char *name), char ***names,
		size_t *n, bool *cut)
{
	struct dirent *e;

	for (size_t seen = 0; (errno = 0, e = readdir(dir)); seen++) {
		if (seen >= NP_STORE_MAX_SCAN) {
			*cut = true;
			return 0;
		}
		if ((want ? want(e->d_name) : strcmp(e->d_name, ".") &&
					      strcmp(e->d_name, "..")) &&
		    np_names_add(names, n, e->d_name))
			return -ENOMEM;
	}
	return -errno;
}

int np_dir_names(const struct np_dir *d, bool (*want)(const char *name),
		 char ***names, size_t *n, bool *cut, struct np_err *err)
{
	/* A descriptor of its own: closedir() closes it. */
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
