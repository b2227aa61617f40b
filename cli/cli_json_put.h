/* Putting values into json-c objects. */
#ifndef CLI_JSON_PUT_H
#define CLI_JSON_PUT_H

#include <stdint.h>

#include <json-c/json.h>

#include "cli_ask.h"
#include "np_state.h"

void cli_put(json_object *in, const char *key, json_object *value);
void cli_put_text(json_object *in, const char *key, const char *text);
/* null if it is not finite; measured, of six digits, or computed, of twelve */
void cli_put_real(json_object *in, const char *key, double v);
void cli_put_computed(json_object *in, const char *key, double v);
/* A date: seconds since 1970 to the millisecond. */
void cli_put_time(json_object *in, const char *key, double v);
void cli_put_count(json_object *in, const char *key, uint64_t n);
void cli_put_bool(json_object *in, const char *key, int v);
json_object *cli_put_object(json_object *in, const char *key);
/* null, and NULL is returned, unless it is there */
json_object *cli_put_if(json_object *in, const char *key, bool there);
json_object *cli_put_array(json_object *in, const char *key);
json_object *cli_append_object(json_object *list);
void cli_append_text(json_object *list, const char *text);

/* Parts of predictions as JSON. */

/* slowdown, low, high, model, fell_back, flags */
void cli_put_interval(json_object *in, const struct np_prediction *p);

/* "calibration" and "coupling", null where there is none */
void cli_put_calibration(json_object *in, const struct cli_known *k,
			 enum np_scope scope);

/* Parts of profiles as JSON: "owner", "published", "user", "uid"; "levels" */
void cli_put_owner(json_object *in, enum np_store_owner owner, uid_t uid);
void cli_put_levels(json_object *in, const struct np_profile *p);

/* Parts of the state of placement as JSON. */

void cli_put_snapshot(json_object *in, const struct np_state *s, double now);
void cli_put_job(json_object *in, const struct np_state_job *job);

#endif
