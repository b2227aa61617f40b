/*
 * Standard output and standard error of a program that people run.
 *
 * All that leaves through them is plain (np_text.h), whoever prints it and
 * wherever it came from: names of files and users, arguments, what Slurm says.
 * The ends of lines are the program's own, and on a terminal its colours.
 */
#ifndef NP_OUT_H
#define NP_OUT_H

#include <stdbool.h>
#include <stdio.h>

/* First of all; without memory both stay as they are. */
void np_out_plain(void);

/*
 * A stream that writes plain text to fd, which is borrowed, but for "\n", "\r"
 * and, with colours, "\033[" NUMBER "m".  NULL: out of memory.
 */
FILE *np_out_open(int fd, bool colours);

#endif
