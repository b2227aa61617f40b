/* Output files that the user names: text, and figures. */
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
int cli_write_file(const char *path, const char *text, mode_t mode,
		   struct np_err *err);

/*
 * Write text and end into a file of any kind, which is truncated or created.
 * Returns 0 or -errno with err.
 */
int cli_overwrite_file(const char *path, const char *text, const char *end,
		   struct np_err *err);

struct np_figure;

/*
 * Write f into a file, atomically, and free f; the ending of path selects the
 * format.  f NULL means out of memory.  Returns the exit status.
 */
int cli_figure_save(struct np_figure *f, const char *path);

#endif
