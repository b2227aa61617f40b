/* The page of `netprof show`. */
#ifndef CLI_PAGE_H
#define CLI_PAGE_H

#include <stdint.h>
#include <stdio.h>

#include "cli_profile.h"
#include "cli_advice.h"
#include "cli_zones.h"

/* Print it; returns the exit status. */
int cli_page_show(const struct cli_profile *p, const struct cli_ties *t,
		  const struct cli_advice *a, const struct cli_zones *z);

/* At most `rows` latencies of the program, against idle; none for rows < 3. */
void cli_page_histogram(FILE *f, const struct np_profile *p, int rows);

#endif
