/*
 * Predictions from other sources, as a table of victim, co-runner, slowdown in
 * percent, and optionally the ends of its interval:
 *
 *	# a comment
 *	halo fft 12.5 8 20
 *	fft halo 31
 *
 * The file may be hostile. Its size and every number are bounded, and errors
 * name the file, the line and the value.
 */
#ifndef CLI_PREDICTIONS_H
#define CLI_PREDICTIONS_H

#include <stddef.h>

#include "np_array.h"
#include "np_err.h"
#include "np_measured.h"

struct cli_predicted {
	char victim[NP_MEASURED_NAME + 1], corunner[NP_MEASURED_NAME + 1];
	double slowdown, low, high; /* fractions; low and high may be NaN */
	size_t line;		    /* of the text, from 1 */
};

struct cli_predictions {
	struct cli_predicted *row;
	size_t n;
	struct np_index pairs; /* "VICTIM CORUNNER", in the order of row[] */
};

/*
 * Parse text, of len bytes; source names it in messages. Returns 0, and the
 * caller frees *out with cli_predictions_free(), or -EINVAL or -ENOMEM with
 * err. Exported for the unit tests.
 */
int cli_predictions_parse(const char *text, size_t len, const char *source,
			  struct cli_predictions *out, struct np_err *err);

/* Parse a file. Also returns -errno if it cannot be opened or read. */
int cli_predictions_read(const char *path, struct cli_predictions *out,
			 struct np_err *err);
void cli_predictions_free(struct cli_predictions *predictions);

/* Find the prediction for a pair, or return NULL if there is none. */
const struct cli_predicted *
cli_predictions_find(const struct cli_predictions *predictions,
		     const char *victim, const char *corunner);

#endif
