/*
 * Predictions for every pair of applications, for `netprof matrix`, `report`
 * and `validate`.
 */
#ifndef CLI_MATRIX_H
#define CLI_MATRIX_H

#include "cli_predict.h"

/* The fields from app on are owned; free with cli_matrix_free(). */
struct cli_matrix {
	const struct cli_known *known; /* borrowed */
	const struct np_model *model;  /* as requested */
	enum np_scope scope;
	size_t *app; /* of each row and column: index into known->app */
	size_t n;
	struct np_prediction *prediction; /* [victim * n + co-runner] */
	int *rc; /* same indices; 0: the prediction is valid */
};

/*
 * Load the applications that options names, or else all that can be read.
 * Returns -1 to continue, or the exit status after printing an error.
 */
int cli_matrix_find(struct cli_known *known, struct cli_store *store,
		    const struct cli_options *options);
/*
 * Predict every pair, after cli_predict_prepare(). out->n is 0 if no
 * application can be used. Returns as cli_matrix_find(); *out is set only if
 * that is -1, and the caller then frees it.
 */
int cli_matrix_make(const struct cli_known *known,
		    const struct cli_options *options, struct cli_matrix *out);
void cli_matrix_free(struct cli_matrix *matrix);

/* Name of the application in row and column i. */
const char *cli_matrix_name(const struct cli_matrix *matrix, size_t i);

/* Why there is none, by its rc: "not measured" or "no prediction". */
const char *cli_matrix_why(int rc);

#endif
