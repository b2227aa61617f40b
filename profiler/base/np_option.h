/*
 * Values of command line options.  Each function returns 0, or -EINVAL with
 * err naming the option, the value and what was expected.
 */
#ifndef NP_OPTION_H
#define NP_OPTION_H

#include <stdint.h>

#include "np_err.h"

/* "100ms", "1.5s", "2m": a unit is needed. */
int np_option_time(const char *option, const char *text, double min_sec,
		   double max_sec, double *sec, struct np_err *err);

/* The same, but a plain number is seconds. */
int np_option_seconds(const char *option, const char *text, double min_sec,
		      double max_sec, double *sec, struct np_err *err);

/* "512", "1K", "1M" */
int np_option_bytes(const char *option, const char *text, uint32_t min,
		    uint32_t max, uint32_t *bytes, struct np_err *err);

/* A whole number. */
int np_option_count(const char *option, const char *text, uint32_t min,
		    uint32_t max, uint32_t *n, struct np_err *err);

/*
 * What getopt_long() (with ":" as its short options) found no option: ':' and
 * '?' as it returns them, or 0 for an argument that is none.  text: what stands
 * on the command line.
 */
int np_option_unknown(int option, const char *text, const char *program,
		      struct np_err *err);

#endif
