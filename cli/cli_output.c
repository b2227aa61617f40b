/*
 * Writes the files that users name on the command line.
 *
 * Reports, figures and metrics replace a file atomically, so that a web server
 * or a monitoring system never reads a partial one.
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
 * The umask can only be read by setting it. That is safe here, because no other
 * thread of a command creates files.
 */
static mode_t get_umask(void)
{
	mode_t mask = umask(0);

	umask(mask);
	return mask;
}

/* As cli_replace_file(), but with binary data. */
static int replace_file_with_data(const char *path, const void *data,
				  size_t len, mode_t mode, struct np_err *err)
{
	return np_file_write_path(path, data, len,
				  mode ? mode : 0666 & ~get_umask(), err);
}

int cli_replace_file(const char *path, const char *text, mode_t mode,
		     struct np_err *err)
{
	return replace_file_with_data(path, text, strlen(text), mode, err);
}

/* A device or a pipe cannot be replaced, so it is not written atomically. */
int cli_write_in_place(const char *path, const char *text, const char *trailer,
		       struct np_err *err)
{
	FILE *file = fopen(path, "we");
	int rc = file ? 0 : -errno;

	/* fputs() may fail without setting errno. */
	if (file && (fputs(text, file) < 0 || fputs(trailer, file) < 0))
		rc = -EIO;
	if (file && fclose(file) && !rc)
		rc = -errno;
	return rc ? np_errf(err, rc, "cannot write %s: %s", path,
			    strerror(-rc)) :
		    0;
}

struct np_figure *cli_figure_new(const char *title)
{
	struct np_figure *figure = np_figure_new(title);

	if (!figure)
		cli_no_memory();
	return figure;
}

struct np_panel *
cli_figure_add_panel(struct np_figure *figure, const char *title,
		     enum np_axis_kind x_kind, const char *x_label,
		     enum np_axis_kind y_kind, const char *y_label)
{
	struct np_panel *panel = np_figure_add_panel(figure, title);

	np_figure_set_axis(figure, &panel->x, x_kind, x_label);
	np_figure_set_axis(figure, &panel->y, y_kind, y_label);
	return panel;
}

int cli_figure_save_and_free(struct np_figure *figure, const char *path)
{
	struct np_err err = NP_ERR_INIT;
	enum np_picture_kind format;
	char *data = NULL;
	size_t len;
	int rc = np_picture_kind(path, &format, &err);

	if (!rc)
		rc = np_picture_make(figure, format, &data, &len, &err);
	if (!rc)
		rc = replace_file_with_data(path, data, len, 0, &err);
	free(data);
	np_figure_free(figure);
	return rc ? cli_fail("%s", err.text) : CLI_DONE;
}
