/* What `netprof show` tells of an application, and its page. */
#ifndef CLI_SHOW_H
#define CLI_SHOW_H

#include <stdint.h>
#include <stdio.h>

#include "cli_advice.h"
#include "cli_profile.h"
#include "cli_zones.h"

struct cli_show {
	struct cli_profile p;
	struct cli_ties t;
	struct cli_advice a;
	struct cli_zones z;
};

/* Prints it and returns the exit status. */
int cli_show_text(const struct cli_show *s);

/*
 * What the network adapters of runs counted of congestion; nothing where none
 * was read.
 */
void cli_say_adapters(FILE *f, const struct np_sample *s);

/* At most `rows` latencies of the program, against idle; none for rows < 3. */
void cli_page_histogram(FILE *f, const struct np_profile *p, int rows);

#endif
