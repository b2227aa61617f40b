/*
 * Values as people write them, tables of options, and argument vectors.
 *
 * The options of the commands and of the probes, and the keys of netprof.conf
 * (np_conf.c), are rows of the same kind of table.
 */
#ifndef NP_OPTION_H
#define NP_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "np_err.h"

/* ---- values ---- */

/*
 * A duration with its unit, "250us", "1.5s", "2m", "1h": seconds.
 * A size, "4K", "1M", "512": bytes.
 * A whole number up to max, "512": digits alone.
 * A share with its sign, "10%", "2.5%": a fraction, 0.1 and 0.025.
 * Return 0, -EINVAL (not such a value) or -ERANGE.
 */
int np_duration_parse(const char *text, double *sec);
int np_bytes_parse(const char *text, uint64_t *bytes);
int np_whole_parse(const char *text, uint64_t max, uint64_t *n);
int np_percent_parse(const char *text, double *fraction);

/*
 * A finite decimal number at the beginning of a text, "-12.5e3". Returns the
 * text that follows it, or NULL: there is none.
 */
const char *np_decimal_parse(const char *text, double *value);

/* ---- options ---- */

/* One row of a table; the last row has no name. */
struct np_option {
	const char *name; /* of --NAME, or of a key */
	enum np_option_kind {
		NP_OPTION_FLAG,	   /* no argument: a bool is set to true */
		NP_OPTION_CALL,	   /* no argument: calls take() */
		NP_OPTION_TAKE,	   /* calls take() with the argument */
		NP_OPTION_WORD,	   /* a const char * is set to the argument */
		NP_OPTION_COUNT,   /* a uint32_t, from min to max */
		NP_OPTION_BYTES,   /* the same: "512", "1K", "1M" */
		NP_OPTION_TIME,	   /* a double, seconds: "100ms", "1.5s" */
		NP_OPTION_SECONDS, /* the same; "5" is in seconds */
		NP_OPTION_SHARE,   /* a double, 1 for 100 %: "10%" */
		NP_OPTION_NS,	   /* a double, ns, up to max: "3us" */
	} kind;
	size_t at; /* offset of the member in the structure of all options */
	double min, max;
	/* at: address of the member. Returns 0, or not 0 with err. */
	int (*take)(char *text, void *at, struct np_err *err);
	char letter; /* -LETTER is the same; 0: none is */
};

bool np_option_has_argument(const struct np_option *o);

/*
 * Set the member of an option. text: its argument; all: the structure of all
 * options. Returns 0, or -EINVAL with err: the option, the value and what was
 * expected.
 */
int np_option_set(const struct np_option *o, char *text, void *all,
		  struct np_err *err);

/*
 * Describe what getopt_long() (with ":" as its short options) did not accept.
 * option: ':' or '?' as it returned, or 0 for an unexpected argument. text: the
 * word on the command line. Returns -EINVAL with err.
 */
int np_option_unknown(int option, const char *text, const char *program,
		      struct np_err *err);

/* ---- argument vectors ---- */

#define NP_ARGS_MAX 64

/* The command line of a program to start. Empty when zeroed. */
struct np_args {
	char *argv[NP_ARGS_MAX + 1]; /* NULL-terminated */
	size_t n;
	int rc; /* -ENOMEM or -E2BIG once an argument is missing */
};

/* Append one argument; failures are kept in a->rc. */
void np_args_add(struct np_args *a, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void np_args_free(struct np_args *a);

#endif
