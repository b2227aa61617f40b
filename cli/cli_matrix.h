/* The work of `netprof matrix`, and its tables. */
#ifndef CLI_MATRIX_H
#define CLI_MATRIX_H

#include "cli_ask.h"

/* Applications in rows and columns, by name. */
struct cli_matrix {
	const struct cli_known *k;
	const struct np_model *model; /* that was asked */
	enum np_scope scope;
	size_t *at; /* which of the known ones */
	size_t n;
	struct np_prediction *p; /* [victim * n + co-runner] */
	int *rc;		 /* 0 where there is an answer */
};

/*
 * cli_matrix.c: the applications that were asked for, or all, before they are
 * judged; then every one beside every other, which may be none (n 0).
 * Both return -1 to go on, or the exit status after saying why.
 */
int cli_matrix_find(struct cli_known *k, struct cli_store *s,
		    const struct cli_options *o);
int cli_matrix_make(const struct cli_known *k, const struct cli_options *o,
		    struct cli_matrix *out);
void cli_matrix_free(struct cli_matrix *m);

/* Of the application in row and column i. */
const char *cli_matrix_name(const struct cli_matrix *m, size_t i);

/* Why there is no answer: "not measured" or "no answer". */
const char *cli_matrix_why(int rc);

#endif
