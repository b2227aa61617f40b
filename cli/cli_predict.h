/* The work of `netprof predict`, and its pages. */
#ifndef CLI_PREDICT_H
#define CLI_PREDICT_H

#include "cli_ask.h"

/* The victim beside all, then each co-runner beside the victim. */
struct cli_prediction {
	const struct cli_known *k;
	const struct np_model *model; /* that was asked */
	enum np_scope scope;
	struct cli_answer answer[1 + CLI_ASK_MAX_CO];
	size_t n;
};

/* Each prints the answers and returns the exit status. */
int cli_predict_text(const struct cli_prediction *p);
int cli_predict_parsable(const struct cli_prediction *p);
int cli_predict_json(const struct cli_prediction *p);

#endif
