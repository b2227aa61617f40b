/*
 * Output files that the user names.
 *
 * Files are replaced atomically, so that a web server or a collector of metrics
 * never reads half a file.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli.h"
#include "cli_output.h"
#include "np_picture.h"
#include "np_store.h"

/*
 * The umask can only be read by setting it; no other thread creates files
 * here.
 */
static int write_bytes(const char *path, const void *data, size_t len,
		       mode_t mode, struct np_err *err)
{
	mode_t mask = umask(0);

	umask(mask);
	return np_file_write_path(path, data, len, mode ? mode : 0666 & ~mask,
				  err);
}

int cli_write_file(const char *path, const char *text, mode_t mode,
		   struct np_err *err)
{
	return write_bytes(path, text, strlen(text), mode, err);
}

int cli_overwrite_file(const char *path, const char *text, const char *end,
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

int cli_figure_save(struct np_figure *f, const char *path)
{
	struct np_err err = NP_ERR_INIT;
	enum np_picture_kind kind;
	char *data = NULL;
	size_t len;
	int rc;

	if (!f)
		return cli_fail("out of memory");
	rc = np_picture_kind(path, &kind, &err);
	if (!rc)
		rc = np_picture_make(f, kind, &data, &len, &err);
	if (!rc)
		rc = write_bytes(path, data, len, 0, &err);
	free(data);
	np_figure_free(f);
	return rc ? cli_fail("%s", err.text) : CLI_DONE;
}
