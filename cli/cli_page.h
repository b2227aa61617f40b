/* The page of `netprof show`. */
#ifndef CLI_PAGE_H
#define CLI_PAGE_H

#include <stdint.h>
#include <stdio.h>

#include "cli_profile.h"

/* Print it; returns the exit status. */
int cli_page_show(const struct cli_profile *p);

/* A bold label, and text wrapped beside it. */
void cli_page_labelled(FILE *f, const char *label, const char *text);

/* At most `rows` latencies of the program, against idle; none for rows < 3. */
void cli_page_histogram(FILE *f, const struct np_profile *p, int rows);

#endif
