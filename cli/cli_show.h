/* The pages of `netprof show`. */
#ifndef CLI_SHOW_H
#define CLI_SHOW_H

#include <stdint.h>
#include <stdio.h>

#include "cli_profile.h"
#include "cli_advice.h"
#include "cli_zones.h"

/* Each prints it and returns the exit status. */
int cli_show_text(const struct cli_profile *p, const struct cli_ties *t,
		  const struct cli_advice *a, const struct cli_zones *z);
int cli_show_data(const struct cli_profile *p, const struct cli_ties *t,
		  const struct cli_advice *a, const struct cli_zones *z,
		  enum cli_format format);

/* At most `rows` latencies of the program, against idle; none for rows < 3. */
void cli_page_histogram(FILE *f, const struct np_profile *p, int rows);

#endif
