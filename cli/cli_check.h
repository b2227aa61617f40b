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
	char about[64]; /* what it concerns: "plugstack.conf" */
	char text[CLI_CHECK_TEXT];
	char remedy[CLI_CHECK_TEXT]; /* what to type or to change, or "" */
};

struct cli_check {
	struct np_conf conf;
	bool placement_on; /* a partition has a mode other than off */
	struct cli_slurm slurm;
	double now;		   /* seconds since 1970 */
	struct cli_finding *found; /* array of CLI_CHECK_MAX, the caller's */
	size_t n;		   /* findings so far */
	/* The last finding was not added, because found[] was full. */
	bool dropped;
};

const char *cli_result_name(enum cli_result result); /* "warning" */

/* Make all checks. The caller sets check->now and check->found. */
void cli_check_all(struct cli_check *check);

/*
 * Check only whether these n plugin files were built for the installed Slurm;
 * if n is 0, those that are installed.
 */
void cli_check_versions(struct cli_check *check, char *const paths[], size_t n);

/*
 * Add a finding, and set the remedy of the one that was added last. Texts are
 * cut to CLI_CHECK_TEXT. Exported for the unit tests.
 */
void cli_check_add(struct cli_check *check, enum cli_result result,
		   const char *about, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
void cli_check_remedy(struct cli_check *check, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif
