/* Figures of the subcommands: into files, and as JSON. */
#ifndef CLI_FIGURE_H
#define CLI_FIGURE_H

#include "cli.h"
#include "np_figure.h"

/*
 * Write f into a file, whole or not at all, and free it (NULL: out of memory);
 * the ending of path says what it is to be.  Returns the exit status.
 */
int cli_figure_save(struct np_figure *f, const char *path);

/* Print what it holds as JSON; returns the exit status. */
int cli_figure_json(const struct np_figure *f);

#endif
