/* Files that commands write where they are told to. */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include <sys/types.h>

#include "np_err.h"

/*
 * Write text into the file of that path, which readers see as it was or as it
 * is now, never in part: temporary file, fsync, rename, fsync of the directory.
 * mode: of the file, whatever the umask; 0: as the umask has it.  What is no
 * regular file stays.
 * Returns 0 or -errno with err.
 */
int cli_write_file(const char *path, const char *text, mode_t mode,
		   struct np_err *err);

/* Text, and an end of line, into what is there or a new file, of any kind. */
int cli_write_over(const char *path, const char *text, const char *end,
		   struct np_err *err);

struct np_figure;

/*
 * Write f into a file, whole or not at all, and free it (NULL: out of memory);
 * the ending of path says what it is to be.  Returns the exit status.
 */
int cli_figure_save(struct np_figure *f, const char *path);

/* Print what it holds as JSON; returns the exit status. */
int cli_figure_json(const struct np_figure *f);

#endif
