/*
 * JSON by tables: which members an object has, what they may hold and where
 * they are in a structure is said once, for writing, reading and freeing it.
 * Members are written in the order of the table.  Private to the store.
 */
#ifndef NP_FIELDS_H
#define NP_FIELDS_H

#include <locale.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <json-c/json.h>

#include "np_err.h"
#include "np_hist.h"
#include "np_latency.h"
#include "np_mean.h"
#include "np_moments.h"

/*
 * Single values of JSON, written and read within bounds.
 */

#define NP_JSON_WORD 255	/* bytes of a name */
#define NP_JSON_PATH 4095
#define NP_JSON_HOSTLIST 262144
#define NP_JSON_COUNT 1e15	/* exact in a double */
#define NP_JSON_LATENCY_SEC 1e6
#define NP_JSON_ELAPSED_SEC (10 * 366 * 86400.0)
#define NP_JSON_DATE 1e11	/* the year 5138 */

/* Where something is, for messages. */
struct np_jat {
	const char *where; /* the file */
	char at[128];	   /* "leaves[3]." */
	struct np_err *err;
	size_t *room;	   /* bytes that lists may still take; NULL: any */
	size_t n_bins;	   /* of histograms of latencies */
};

/* calloc() out of the room; -ENOMEM, or -EFBIG where that does not do. */
int np_jat_take(const struct np_jat *at, size_t n, size_t size, void *out);

/* Inside a member that is an object, or an element of one that is a list. */
struct np_jat np_jat_member(const struct np_jat *at, const char *key);
struct np_jat np_jat_element(const struct np_jat *at, const char *key,
			     size_t i);

/* -EINVAL: "FILE: AT.KEY: expected WHAT" */
int np_jat_refuse(const struct np_jat *at, const char *key,
		  const char *expected);
int np_jat_range(const struct np_jat *at, const char *key, double got,
		 double min, double max);

/*
 * Writing.  The first failure (-ENOMEM, or -EINVAL with at.err for what no
 * reader would take) is kept; what follows does no harm.
 */
struct np_jput {
	struct np_jat at;
	size_t merge; /* windows of a series that are written as one */
	int rc;
};

/* Both take value over; NULL counts as out of memory. */
void np_jput(struct np_jput *o, json_object *in, const char *key,
	     json_object *value);
void np_jput_append(struct np_jput *o, json_object *in, json_object *value);

/* The same with an empty object or array; NULL after any failure. */
json_object *np_jput_new(struct np_jput *o, json_object *in, const char *key,
			 json_object *fresh);

/* Keeps that failure; err may have been set for it. */
void np_jput_fail(struct np_jput *o, int rc);

/* Reading.  Each returns 0, -EINVAL with err, or -ENOMEM. */

/* Parse strictly, of bounded depth.  json_object_put(*out). */
int np_jget_parse(const struct np_jat *in, const char *text, size_t len,
		  json_object **out);

/*
 * The same of one value after the other, so that a long list needs memory for
 * one element at a time.  Zeroed, it is closed.
 */
struct np_jpull {
	const struct np_jat *in;
	const char *source; /* borrowed, and what was made of it */
	char *text;
	size_t source_len, len, at;
	struct json_tokener *tok;
};

/*
 * The member "schema" of what must be an object, before anything else, as a
 * newer schema may mean anything.  -EPROTONOSUPPORT: it is newer than newest.
 */
int np_jget_schema(const struct np_jat *in, json_object *from, int newest);

int np_jget_count(const struct np_jat *in, const char *key, json_object *j,
		  double max, uint64_t *out);
int np_jget_real(const struct np_jat *in, const char *key, json_object *j,
		 double min, double max, double *out);
/* *out is clean and malloc'ed. */
int np_jget_text(const struct np_jat *in, const char *key, json_object *j,
		 size_t max, char **out);

/*
 * A member that must be an array of at most max elements; *list is NULL if it
 * is missing.
 */
int np_jget_list(const struct np_jat *in, json_object *from, const char *key,
		 size_t max, json_object **list, size_t *n);

/*
 * JSON text as every json-c reads it alike.
 *
 * json-c 0.17 and later refuse, when strict, every byte above 0x7f, and whole
 * numbers beyond 64 bits; those before cut such numbers.  So characters beyond
 * ASCII are escaped before they are parsed, and such numbers are refused.
 */

/* Where text is damaged, and how. */
struct np_jtext_damage {
	size_t at;
	const char *why;
};

/*
 * How much of what takes memory a text may have: a parser needs up to 900 bytes
 * for an object of two.
 */
struct np_jlimits {
	size_t objects, arrays, elements; /* '{', '[' and ',' */
};

/* To be asked before parsing, as that is what takes the memory. */
bool np_jtext_within(const char *text, size_t len,
		     const struct np_jlimits *max);

/*
 * What is measured, in JSON; key: of the member.
 *
 * Of records: histograms of latencies, and latencies over time.  samples: how
 * many there are, as the moments beside it say; other numbers are refused,
 * written and read.
 *
 * Of pairs, netprof-pairs(5): means, tables of them, and latencies with their
 * histograms.  in->n_bins says how many bins these have, and what a table or
 * histogram takes comes out of in->room.
 */

/*
 * null, or {"n", "mean_sec", "sd_sec", "min_sec", "max_sec", and as histogram
 * "counts" or "bins", [[bin, count], ...]}.
 */
int np_jget_latency(const struct np_jat *in, const char *key, json_object *j,
		    struct np_latency *out);
void np_jput_latency(struct np_jput *o, json_object *in, const char *key,
		     const struct np_latency *l);

enum np_field_type {
	NP_F_SCHEMA, /* max: the newest that is read, and the one written */
	NP_F_U32,
	NP_F_U64,
	NP_F_LONG, /* NP_NO_VALUE where it is missing */
	NP_F_REAL,
	NP_F_BOOL,
	NP_F_TEXT, /* char *, NULL where it is missing */
	NP_F_MOMENTS,
	/* Those above are read first: what is refused for them costs little. */
	NP_F_APP,    /* char [NP_APP_MAX + 1] */
	NP_F_NAME,   /* char [max + 1]: without spaces, '|' and the like */
	NP_F_WORD,   /* an enum by its words */
	NP_F_OBJECT, /* a structure, zero where it is missing */
	NP_F_PART,   /* struct *, NULL where it is missing */
	NP_F_LIST,   /* struct *, and how many */
	NP_F_TEXTS,  /* char **, and how many */
	NP_F_HIST,   /* struct np_hist *; of as many samples as count says */
	NP_F_SERIES, /* struct np_series *; of no more than that */
	NP_F_MEAN,   /* struct np_mean; null where it is not measured */
	NP_F_MEANS,  /* struct np_mean *, NULL where they are missing: count
			rows of columns, or count in a row */
	NP_F_NUMBERS, /* double *, and how many; the last may be infinite;
			min: what none is above */
	NP_F_LATENCY, /* struct np_latency; null where it is not measured */
};

enum np_field_flags {
	NP_F_NEEDED = 1,     /* refused without it */
	NP_F_NEVER_NULL = 2, /* text that is "" where it is missing */
	NP_F_CLAMP = 4,	     /* written at the end of its range if beyond;
				of a list the first ones are */
	NP_F_NOT_EMPTY = 8,  /* a list that is left out where it is empty */
	NP_F_NINE = 16,	     /* written with nine digits, as what is measured */
	NP_F_NAN = 32,	     /* NaN where it is missing, and the reverse */
	NP_F_KEPT = 64,	     /* as it was where it is missing */
	NP_F_NAMED = 128,    /* of a list: a text is an element of which only
				the first member is told */
};

struct np_field {
	const char *key;
	enum np_field_type type;
	size_t offset;
	double max; /* of a number; length of a text, of a list */
	int flags;
	double min; /* of NP_F_U32, NP_F_REAL, means; 0 of all others */
	const struct np_fields *of; /* a structure's, a list's elements' */
	size_t count; /* offset of how many: size_t, of samples uint64_t */
	union {
		const char *bins; /* of a list: the member that says what the
				     bins of its histograms are, or NULL */
		const char *const *words; /* by the enum, then NULL */
	};
	union {
		size_t text_max; /* of NP_F_TEXTS, of each */
		size_t columns; /* of NP_F_MEANS: offset of how many, or 0 */
	};
};

struct np_fields {
	const struct np_field *field;
	size_t n, size; /* size: of the structure */
};

#define NP_FIELD(s, type, name, max, ...) \
	{ #name, type, offsetof(struct s, name), max, __VA_ARGS__ }
#define NP_FIELDS(table, s) \
	{ table, NP_ARRAY_SIZE(table), sizeof(struct s) }

/* of: np_fields of the structure, or of each element. */
#define NP_FIELD_OF(s, type, name, of) \
	{ #name, type, offsetof(struct s, name), 0, 0, 0, of }
#define NP_FIELD_LIST(s, key, name, n_name, max, flags, of, ...) \
	{ key, NP_F_LIST, offsetof(struct s, name), max, flags, 0, of, \
	  offsetof(struct s, n_name), __VA_ARGS__ }

void np_jput_fields(struct np_jput *o, json_object *in, const void *from,
		    const struct np_fields *fs);

/*
 * to is all zero before, but for what NP_F_KEPT keeps; np_fields_free() it
 * also after a failure.
 */
int np_jget_fields(const struct np_jat *in, json_object *from, void *to,
		   const struct np_fields *fs);

/* The same of a text: written, a line with its end, malloc'ed; o->rc. */
int np_fields_print(struct np_jput *o, const void *from,
		    const struct np_fields *fs, char **out);
int np_fields_parse(const struct np_jat *in, const char *text, size_t len,
		    void *to, const struct np_fields *fs);

/*
 * The same of a text whose last members are lists, which may be very long: an
 * element a line is written, and any layout is read.
 */
int np_fields_write(struct np_jput *o, const void *from,
		    const struct np_fields *fs, char **out);
int np_fields_read(const struct np_jat *in, const char *text, size_t len,
		   void *to, const struct np_fields *fs);

extern const struct np_fields np_moments_fields;

/* Can they be of samples, all of them up to max? */
#define NP_NO_MOMENTS "moments that samples can have"

/* free() all that a structure points to. */
void np_fields_free(void *of, const struct np_fields *fs);

#endif
