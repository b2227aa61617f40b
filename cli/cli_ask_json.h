/* Parts of predictions as JSON, for cli_*json.c alone. */
#ifndef CLI_ASK_JSON_H
#define CLI_ASK_JSON_H

#include "cli_ask.h"
#include "cli_json_put.h"

/* slowdown, low, high, model, fell_back, flags */
void cli_put_interval(json_object *in, const struct np_prediction *p);

/* "calibration" and "coupling", null where there is none */
void cli_put_calibration(json_object *in, const struct cli_known *k,
			 enum np_scope scope);

#endif
