/* Writing of the files that users name: text, and figures. */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include <sys/types.h>

#include "np_err.h"

/*
 * Replace a file atomically: temporary file, fsync, rename, fsync of the
 * directory.  Refuses anything but a regular file.
 * mode: of the file, regardless of the umask; 0: 0666 less the umask.
 * Returns 0 or -errno with err.
 */
int cli_replace_file(const char *path, const char *text, mode_t mode,
		     struct np_err *err);

/*
 * Write text, followed by end, into a file of any kind, such as /dev/stdout; a
 * regular one is truncated or created.  Returns 0 or -errno with err.
 */
int cli_write_in_place(const char *path, const char *text, const char *end,
		       struct np_err *err);

struct np_figure;

/*
 * Write a figure to a file, atomically, and free the figure.  The ending of
 * path selects the format.  figure NULL means that there was no memory for it.
 * Returns the exit status.
 */
int cli_figure_save(struct np_figure *figure, const char *path);

#endif
