/*
 * JSON by tables: which members an object has and what they may hold is said
 * once, for writing and for reading.  Private to the *_json.c and np_state*.c
 * of the profiler; np_fields_put.c writes, np_fields_get.c reads.
 */
#ifndef NP_FIELDS_H
#define NP_FIELDS_H

#include <stddef.h>
#include <stdint.h>

#include <json-c/json.h>

#include "np_err.h"

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
	NP_F_BOOL,
	NP_F_TEXT, /* char *, NULL where it is missing */
	NP_F_MOMENTS,
};

enum np_field_flags {
	NP_F_NEEDED = 1,     /* refused without it */
	NP_F_NEVER_NULL = 2, /* text that is "" where it is missing */
	NP_F_CLAMP = 4,	     /* written at the end of its range if beyond */
};

struct np_field {
	const char *key;
	enum np_field_type type;
	size_t offset;
	double max; /* of a number; length of a text */
	int flags;
	double min; /* of NP_F_REAL; 0 of all others */
};

struct np_fields {
	const struct np_field *field;
	size_t n;
};

#define NP_FIELD(s, type, name, max, ...) \
	{ #name, type, offsetof(struct s, name), max, __VA_ARGS__ }
#define NP_FIELDS(table) { table, NP_ARRAY_SIZE(table) }

extern const struct np_fields np_moments_fields;

/*
 * Writing.  The first failure (-ENOMEM, or -EINVAL for a number that is not
 * finite) is kept; what follows does no harm.
 */
struct np_jput {
	int rc;
};

/* Both take value over; NULL counts as out of memory. */
void np_jput(struct np_jput *o, json_object *in, const char *key,
	     json_object *value);
void np_jput_append(struct np_jput *o, json_object *in, json_object *value);

/* The same with an empty object or array; NULL after any failure. */
json_object *np_jput_new(struct np_jput *o, json_object *in, const char *key,
			 json_object *fresh);
json_object *np_jput_append_new(struct np_jput *o, json_object *in,
				json_object *fresh);

/* The shortest decimal of digits to enough digits that reads back. */
json_object *np_jput_real(struct np_jput *o, double v, int digits, int enough);
/* Cut at max bytes, and clean: np_text_clean(). */
json_object *np_jput_text(const char *text, size_t max);
void np_jput_fields(struct np_jput *o, json_object *in, const void *from,
		    const struct np_fields *fs);

/* One line with its newline; *out is malloc'ed.  Returns 0 or -ENOMEM. */
int np_jput_print(json_object *j, char **out);

/* Reading.  Each returns 0, -EINVAL with err, or -ENOMEM. */
struct np_jget {
	const char *where; /* the file */
	char at[64];	   /* "leaves[3]." */
	struct np_err *err;
};

/* Parse strictly, of bounded depth.  json_object_put(*out). */
int np_jget_parse(struct np_jget *in, const char *text, size_t len,
		  json_object **out);

/* -EINVAL: "FILE: AT.KEY: expected WHAT" */
int np_jget_refuse(struct np_jget *in, const char *key, const char *expected);
int np_jget_range(struct np_jget *in, const char *key, double got, double min,
		  double max);

/*
 * The member "schema" of what must be an object, before anything else, as a
 * newer schema may mean anything.  -EPROTONOSUPPORT: it is newer than newest.
 */
int np_jget_schema(struct np_jget *in, json_object *from, int newest);

int np_jget_count(struct np_jget *in, const char *key, json_object *j,
		  double max, uint64_t *out);
int np_jget_real(struct np_jget *in, const char *key, json_object *j,
		 double min, double max, double *out);
/* *out is clean and malloc'ed. */
int np_jget_text(struct np_jget *in, const char *key, json_object *j,
		 size_t max, char **out);
/* to is all zero before. */
int np_jget_fields(struct np_jget *in, json_object *from, void *to,
		   const struct np_fields *fs);

/*
 * A member that must be an array of at most max elements; *list is NULL if it
 * is missing.
 */
int np_jget_list(struct np_jget *in, json_object *from, const char *key,
		 size_t max, json_object **list, size_t *n);

/* free() the texts of a structure. */
void np_fields_free(void *of, const struct np_fields *fs);

#endif
