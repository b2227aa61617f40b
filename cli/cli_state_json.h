/* Parts of the state of placement as JSON. */
#ifndef CLI_STATE_JSON_H
#define CLI_STATE_JSON_H

#include "cli_json_put.h"
#include "np_state.h"

void cli_put_snapshot(json_object *in, const struct np_state *s, double now);
void cli_put_job(json_object *in, const struct np_state_job *job);

#endif
