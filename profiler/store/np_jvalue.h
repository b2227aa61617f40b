/*
 * Single values of JSON, written and read within bounds.  Private to the
 * codec of the store: np_fields.h says which of them an object has.
 */
#ifndef NP_JVALUE_H
#define NP_JVALUE_H

#include <locale.h>
#include <stdbool.h>
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
json_object *np_jput_append_new(struct np_jput *o, json_object *in,
				json_object *fresh);

/* Keeps that failure; err may have been set for it. */
void np_jput_fail(struct np_jput *o, int rc);
void np_jput_refuse(struct np_jput *o, const char *key, const char *expected);

/* NULL after keeping a failure if v, a whole number, is not 0 .. max. */
json_object *np_jput_count(struct np_jput *o, const char *key, double v,
			   double max);
/* The shortest decimal of digits to enough digits that reads back. */
json_object *np_jput_real(struct np_jput *o, const char *key, double v,
			  double min, double max, int digits, int enough);
/* Cut at max bytes, and clean: np_text_clean(). */
json_object *np_jput_text(const char *text, size_t max);

/* On one line, borrowed from j. */
const char *np_jput_line(json_object *j);

/*
 * Numbers have a point until uselocale() of what is returned, whatever locale
 * the program around us has set.
 */
locale_t np_jput_point(void);

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

int np_jpull_open(struct np_jpull *p, const struct np_jat *in,
		  const char *text, size_t len);
void np_jpull_close(struct np_jpull *p);

/* The next value: json_object_put(*out). */
int np_jpull_value(struct np_jpull *p, json_object **out);

/* Is this next, but for blanks?  Then it is passed over.  0: the end. */
bool np_jpull_take(struct np_jpull *p, char c);

/* -EINVAL: damaged here. */
int np_jpull_damaged(const struct np_jpull *p, const char *why);

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
 * Returns 0 (*out is malloc'ed and has *out_len bytes), -ENOMEM, or -EINVAL
 * with the damage.
 */
int np_jtext_make(const char *text, size_t len, char **out, size_t *out_len,
		  struct np_jtext_damage *d);

/* The byte of text that became byte at of what was made of it. */
size_t np_jtext_source(const char *text, size_t len, size_t at);

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

#endif
