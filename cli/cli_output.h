/* Writes the files that users name on the command line: text and figures. */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include <sys/types.h>

#include "np_err.h"
#include "np_figure.h"

/*
 * Replace a file atomically: temporary file, fsync, rename, fsync of the
 * directory. Refuses anything but a regular file. mode is the mode of the
 * file, regardless of the umask; if it is 0, the mode is 0666 without the bits
 * of the umask. Returns 0 or -errno with err.
 */
int cli_replace_file(const char *path, const char *text, mode_t mode,
		     struct np_err *err);

/*
 * Write text and trailer into a file of any kind, such as /dev/stdout. A
 * regular file is truncated or created. Returns 0 or -errno with err.
 */
int cli_write_in_place(const char *path, const char *text, const char *trailer,
		       struct np_err *err);

/*
 * As np_figure_new(); and as np_figure_add_panel(), with the kinds and labels
 * of its axes. The command ends with an error if memory runs out.
 */
struct np_figure *cli_figure_new(const char *title);
struct np_panel *
cli_figure_add_panel(struct np_figure *figure, const char *title,
		     enum np_axis_kind x_kind, const char *x_label,
		     enum np_axis_kind y_kind, const char *y_label);

/*
 * Write a figure to a file, atomically, and free the figure. The suffix of
 * path selects the format. Returns the exit status.
 */
int cli_figure_save_and_free(struct np_figure *figure, const char *path);

#endif
