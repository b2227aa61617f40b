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

/* Each prints the table and returns the exit status. */
int cli_matrix_text(const struct cli_matrix *m);
int cli_matrix_csv(const struct cli_matrix *m);
int cli_matrix_json(const struct cli_matrix *m);

/* Why there is no answer: "not measured" or "no answer". */
const char *cli_matrix_why(int rc);

#endif
