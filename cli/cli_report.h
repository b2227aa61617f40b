/* What `netprof report` tells, and its page. */
#ifndef CLI_REPORT_H
#define CLI_REPORT_H

#include <stdio.h>

#include "cli_advice.h"
#include "cli_matrix.h"

/* One application. */
struct cli_part {
	const struct cli_known_app *app; /* borrowed */
	struct np_profile profile;
	struct cli_tie_list slowed_by, slows;
	struct cli_advice advice;
};

struct cli_report {
	struct cli_known k;
	struct np_runs idle[2]; /* the user's and the published ones */
	struct cli_part *part;	/* by name */
	size_t n;
	struct cli_matrix m; /* n 0: nothing is predicted, m_why says why */
	struct np_err m_why;
	double date, limit; /* MaxSlowdown of placement */
};

/* The whole page; free() it.  NULL: out of memory. */
char *cli_report_page(const struct cli_report *r);

/* What is known of one; number: of its anchor. */
void cli_report_app(FILE *f, const struct cli_report *r, size_t number);

/* cli_report_html.c */
extern const char cli_report_style[], cli_report_script[];

/*
 * Text of anybody, as text or as the value of an attribute in double quotes:
 * it is neither markup nor anything that turns or hides other text (np_text.h).
 */
void cli_html(FILE *f, const char *text);

/* printf() of what is put together of such text, up to 2 KiB, within markup. */
void cli_html_put(FILE *f, const char *before, const char *after,
		  const char *fmt, ...) __attribute__((format(printf, 4, 5)));

#endif
