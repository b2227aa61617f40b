/*
 * Standard output and standard error of programs that people run.
 *
 * Everything that leaves through them is plain text (np_text.h), whoever prints
 * it and wherever it came from: names of files and users, arguments, output of
 * Slurm. Exceptions are line ends and, on a terminal, colours.
 */
#ifndef NP_OUT_H
#define NP_OUT_H

#include <stdbool.h>
#include <stdio.h>

/*
 * Filter stdout and stderr; to be called first in main(). Without memory both
 * stay as they are.
 */
void np_out_plain(void);

/*
 * A stream that writes plain text to fd, which is borrowed. Only "\n", "\r"
 * and, with colours, "\033[" NUMBER "m" are passed through. NULL: out of
 * memory. Exported for the unit tests.
 */
FILE *np_out_open(int fd, bool colours);

#endif
