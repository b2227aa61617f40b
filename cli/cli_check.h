/*
 * The checks of netprof check, and the list of findings they make. netprof
 * metrics counts the findings as well.
 */
#ifndef CLI_CHECK_H
#define CLI_CHECK_H

#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

#include "cli_options.h"
#include "cli_slurm.h"
#include "cli_text.h"
#include "np_conf.h"

enum cli_result { CLI_OK, CLI_WARNING, CLI_PROBLEM };

#define CLI_CHECK_MAX 96    /* findings */
#define CLI_CHECK_TEXT 1024 /* bytes of a text */

struct cli_finding {
	enum cli_result result;
	char about[64]; /* the object: "plugstack.conf" */
	char text[CLI_CHECK_TEXT];
	char remedy[CLI_CHECK_TEXT]; /* what to type or to change; "" */
};

struct cli_check {
	struct np_conf conf;
	bool places; /* a partition has a placement mode other than off */
	struct cli_slurm slurm;
	double now; /* seconds since 1970 */
	struct cli_finding *found; /* CLI_CHECK_MAX of them, by the caller */
	size_t n;
	bool dropped; /* found[] was full, so the last finding was dropped */
};

const char *cli_result_name(enum cli_result r); /* "warning" */

/* Make all checks. c->now and c->found are set by the caller. */
void cli_check_all(struct cli_check *c);

/*
 * Check only whether these plugin files fit the installed Slurm; n 0: those
 * that are installed.
 */
void cli_check_versions(struct cli_check *c, char *const paths[], size_t n);

/*
 * Add a finding, and add a remedy to the finding that was added last. Exported
 * for the unit tests.
 */
void cli_check_add(struct cli_check *c, enum cli_result result, const char *about,
	       const char *fmt, ...) __attribute__((format(printf, 4, 5)));
void cli_check_remedy(struct cli_check *c, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif
