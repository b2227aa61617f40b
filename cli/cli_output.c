#include "cli_output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "np_store_file.h"

/* The directory of a path, opened; *name: what follows. */
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

static int write_in(int fd, const char *name, const void *data, size_t len,
		    mode_t mode)
{
	const struct np_dir d = { .fd = fd };
	struct stat st;

	if (!fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) &&
	    !S_ISREG(st.st_mode))
		return S_ISDIR(st.st_mode) ? -EISDIR : -EEXIST;
	return np_file_write_bytes(&d, name, data, len, mode);
}

int cli_write_bytes(const char *path, const void *data, size_t len,
		    mode_t mode, struct np_err *err)
{
	const char *name;
	int fd = open_directory(path, &name), rc;
	mode_t mask = umask(0);

	umask(mask);
	rc = fd < 0 ? fd : write_in(fd, name, data, len, mode ? mode :
				    0666 & ~mask);
	if (fd >= 0)
		close(fd);
	if (rc == -EEXIST)
		return np_errf(err, rc, "cannot write %s: expected a regular "
			       "file, or none", path);
	return rc ? np_errf(err, rc, "cannot write %s: %s", path,
			    strerror(-rc)) : 0;
}

int cli_write_file(const char *path, const char *text, mode_t mode,
		   struct np_err *err)
{
	return cli_write_bytes(path, text, strlen(text), mode, err);
}

int cli_write_over(const char *path, const char *text, const char *end,
		   struct np_err *err)
{
	FILE *f = fopen(path, "we");
	int rc = f ? 0 : -errno;

	if (f && (fputs(text, f) < 0 || fputs(end, f) < 0))
		rc = -EIO;
	if (f && fclose(f) && !rc)
		rc = -errno;
	return rc ? np_errf(err, rc, "cannot write %s: %s", path,
			    strerror(-rc)) : 0;
}
