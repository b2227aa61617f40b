/*
 * Functions that build the JSON output of commands.
 *
 * cli_put_KIND(parent, key, value) adds a member to an object; NULL and numbers
 * that are not finite become null. cli_append_KIND(list) adds an element to an
 * array. New objects and arrays are owned by the one that they are added to.
 */
#ifndef CLI_JSON_PUT_H
#define CLI_JSON_PUT_H

#include <stdbool.h>
#include <stdint.h>

#include <json-c/json.h>

#include "cli_predict.h"
#include "np_state.h"

struct np_blame_range;

void cli_put(json_object *parent, const char *key, json_object *value);
void cli_put_text(json_object *parent, const char *key, const char *text);
/* A measured value, with six significant digits. */
void cli_put_real(json_object *parent, const char *key, double value);
/* A computed value, with twelve significant digits. */
void cli_put_computed(json_object *parent, const char *key, double value);
/* A date, seconds since 1970, with milliseconds. */
void cli_put_time(json_object *parent, const char *key, double date);
void cli_put_count(json_object *parent, const char *key, uint64_t n);
void cli_put_bool(json_object *parent, const char *key, bool value);
json_object *cli_put_object(json_object *parent, const char *key);
/* Return a new object if the condition holds; else add null and return NULL. */
json_object *cli_put_if(json_object *parent, const char *key, bool condition);
/* An estimate with its interval: mean, low, high. */
void cli_put_range(json_object *parent, const char *key,
		   const struct np_blame_range *range);
json_object *cli_put_array(json_object *parent, const char *key);
json_object *cli_append_object(json_object *list);
void cli_append_text(json_object *list, const char *text);

/* ---- Objects that several commands print ---- */

/* A prediction: slowdown, low, high, doubtful, model, fell_back, flags. */
void cli_put_interval(json_object *parent,
		      const struct np_prediction *prediction);

/* "calibration" and "sharing_coefficient"; both null without a calibration. */
void cli_put_calibration(json_object *parent, const struct cli_known *known,
			 enum np_scope scope);

/* "measured": the slowdown of a pair in netprof validate, or null. */
void cli_put_measured(json_object *parent, const struct cli_known *known,
		      size_t victim, size_t corunner, enum np_scope scope);

/* "owner", "published", "user", "uid": the last two are null if published. */
void cli_put_owner(json_object *parent, enum np_store_owner owner, uid_t uid);
/* "levels": the slowdowns under synthetic load, by utilisation. */
void cli_put_levels(json_object *parent, const struct np_run_summary *profile);

/* Age and settings of the placement state; now: seconds since 1970. */
void cli_put_snapshot(json_object *parent, const struct np_state *state,
		      double now);
/* One job of the placement state. */
void cli_put_job(json_object *parent, const struct np_state_job *job);

/*
 * Counters of network adapters, as the array "adapters"; a counter that an
 * adapter does not have is null.
 */
void cli_put_adapters(json_object *parent, const struct np_sample *sample);

#endif
