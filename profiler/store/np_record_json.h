/*
 * What writing and reading the JSON form of a run record have in common:
 * tables that say once which members there are and what they may hold.
 * Private to np_record_json.c, np_record_to_json.c and np_record_from_json.c;
 * see np_fields.h.
 */
#ifndef NP_RECORD_JSON_H
#define NP_RECORD_JSON_H

#include <stddef.h>

#include "np_fields.h"
#include "np_record.h"

extern const struct np_fields np_record_fields, np_probe_fields,
	np_level_fields, np_leaf_fields, np_neighbour_fields;

extern const char *const np_run_states[]; /* by enum np_run_state */
extern const size_t np_n_run_states;

#endif
