/*
 * Command line options, as a table; the keys of netprof.conf are such rows, too.
 * Each function returns 0, or -EINVAL with err naming the option, the value and
 * what was expected.
 */
#ifndef NP_OPTION_H
#define NP_OPTION_H

#include <stdbool.h>
#include <stddef.h>

#include "np_err.h"

/* A row; the last one has no name. */
struct np_option {
	const char *name; /* --NAME */
	enum np_option_kind {
		NP_OPTION_FLAG,	   /* without an argument: a bool gets true */
		NP_OPTION_CALL,	   /* without an argument: calls take */
		NP_OPTION_TAKE,	   /* calls take with the argument */
		NP_OPTION_WORD,	   /* a const char * gets the argument */
		NP_OPTION_COUNT,   /* a uint32_t, from min to max */
		NP_OPTION_BYTES,   /* the same: "512", "1K", "1M" */
		NP_OPTION_TIME,	   /* a double, seconds: "100ms", "1.5s" */
		NP_OPTION_SECONDS, /* the same, "5" is in seconds */
		NP_OPTION_SHARE,   /* a double, 1 is all: "10%" */
		NP_OPTION_NS,	   /* a double, nanoseconds, up to max: "3us" */
	} kind;
	size_t at; /* of what it sets, in the structure of all options */
	double min, max;
	/* at: of the row.  Returns 0, or not 0 with err. */
	int (*take)(char *text, void *at, struct np_err *err);
	char letter; /* -LETTER is the same; 0: none is */
};

bool np_option_has_argument(const struct np_option *o);

/* text: its argument; all: the structure. */
int np_option_set(const struct np_option *o, char *text, void *all,
		  struct np_err *err);

/*
 * What getopt_long() (with ":" as its short options) found no option: ':' and
 * '?' as it returns them, or 0 for an argument that is none.  text: what stands
 * on the command line.
 */
int np_option_unknown(int option, const char *text, const char *program,
		      struct np_err *err);

#endif
