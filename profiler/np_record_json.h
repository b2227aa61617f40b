/*
 * What writing and reading the JSON form of a run record have in common:
 * tables that say once which members there are and what they may hold.
 * Private to np_record_json.c, np_record_to_json.c and np_record_from_json.c;
 * the last two are the only files of the profiler that use json-c.
 */
#ifndef NP_RECORD_JSON_H
#define NP_RECORD_JSON_H

#include <stddef.h>

#include "np_record.h"

#define NP_JSON_WORD 255	/* bytes of a name */
#define NP_JSON_PATH 4095
#define NP_JSON_HOSTLIST 262144
#define NP_JSON_COUNT 1e15	/* exact in a double */
#define NP_JSON_LATENCY_SEC 1e6
#define NP_JSON_ELAPSED_SEC (10 * 366 * 86400.0)
#define NP_JSON_DATE 1e11	/* the year 5138 */

enum np_field_type {
	NP_F_U32,
	NP_F_U64,
	NP_F_LONG, /* NP_NO_VALUE where it is missing */
	NP_F_REAL,
	NP_F_TEXT, /* char *, NULL where it is missing */
	NP_F_MOMENTS,
};

enum np_field_flags {
	NP_F_NEEDED = 1,     /* refused without it */
	NP_F_NEVER_NULL = 2, /* text that is "" where it is missing */
};

struct np_field {
	const char *key;
	enum np_field_type type;
	size_t offset;
	double max; /* of a number (the least is 0); length of a text */
	int flags;
};

struct np_fields {
	const struct np_field *field;
	size_t n;
};

extern const struct np_fields np_record_fields, np_probe_fields,
	np_level_fields, np_leaf_fields, np_neighbour_fields, np_moments_fields;

extern const char *const np_run_states[]; /* by enum np_run_state */
extern const size_t np_n_run_states;

#endif
