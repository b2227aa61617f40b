/*
 * Predictions that somebody made outside of netprof, as a table:
 *
 *	# victim co-runner slowdown, in percent [interval]
 *	halo fft 12.5 8 20
 *	fft halo 31
 *
 * The file is hostile input: its size and every number are bounded, and a
 * refusal names file, line and value.
 */
#ifndef CLI_PREDICTIONS_H
#define CLI_PREDICTIONS_H

#include <stddef.h>

#include "np_err.h"
#include "np_measured.h"

struct cli_predicted {
	char victim[NP_MEASURED_NAME + 1], co[NP_MEASURED_NAME + 1];
	double slowdown, low, high; /* fractions; NaN: no interval */
};

struct cli_predictions {
	struct cli_predicted *row;
	size_t n;
};

/*
 * text: len bytes; source names it in messages.  Returns 0, or with err -EINVAL
 * or -ENOMEM.  Free with cli_predictions_free().
 */
int cli_predictions_parse(const char *text, size_t len, const char *source,
			  struct cli_predictions *out, struct np_err *err);

/* The same from a file; also -errno of opening and reading it. */
int cli_predictions_read(const char *path, struct cli_predictions *out,
			 struct np_err *err);
void cli_predictions_free(struct cli_predictions *p);

/* NULL: there is none of this pair. */
const struct cli_predicted *
cli_predictions_find(const struct cli_predictions *p, const char *victim,
		     const char *co);

#endif
