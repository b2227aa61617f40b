/*
 * JSON codec of the store. A table of fields says which members an object has,
 * what they may hold and where they are in a structure; reading, writing and
 * freeing all follow the table. Members are written in the order of the table.
 * For the files of the store and of the analysis.
 *
 * In names, "jat" is a place in a file, "jget" reads and "jput" writes.
 */
#ifndef NP_FIELDS_H
#define NP_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <json-c/json.h>

#include "np_err.h"

/* Limits on what any file may hold. */
#define NP_JSON_WORD 255 /* bytes of a name */
#define NP_JSON_PATH 4095
#define NP_JSON_HOSTLIST 262144
#define NP_JSON_COUNT 1e15 /* exact in a double */
#define NP_JSON_LATENCY_SEC 1e6
#define NP_JSON_ELAPSED_SEC (10 * 366 * 86400.0)
#define NP_JSON_DATE 1e11 /* the year 5138 */

/* ---- places and errors ---- */

/* A place in a file, for messages; and what is left of the reader's limits. */
struct np_jat {
	const char *where; /* the file */
	char at[128];	   /* path of the object in it: "leaves[3]." */
	struct np_err *err;
	size_t *room;  /* bytes that lists may still take; NULL: any */
	size_t n_bins; /* bins of histograms, for np_field_codec */
};

/* calloc() within the room. Returns 0, -ENOMEM, or -EFBIG with err. */
int np_jat_take(const struct np_jat *at, size_t n, size_t size, void *out);

/* The place inside a member that is an object, or inside a list's element. */
struct np_jat np_jat_member(const struct np_jat *at, const char *key);
struct np_jat np_jat_element(const struct np_jat *at, const char *key,
			     size_t i);

/* -EINVAL with err: "FILE: AT.KEY: expected WHAT", or the range. */
int np_jat_refuse(const struct np_jat *at, const char *key,
		  const char *expected);
int np_jat_range(const struct np_jat *at, const char *key, double got,
		 double min, double max);

/* ---- reading values; each returns 0, -EINVAL with err, or -ENOMEM ---- */

/* Parse strictly, with bounded depth. json_object_put(*out). */
int np_jget_parse(const struct np_jat *in, const char *text, size_t len,
		  json_object **out);

/* A number of min .. max, from 0 if it is whole. */
int np_jget_count(const struct np_jat *in, const char *key, json_object *j,
		  double min, double max, uint64_t *out);
int np_jget_real(const struct np_jat *in, const char *key, json_object *j,
		 double min, double max, double *out);
/* *out is malloc'ed, without control characters (np_text_plain_copy()). */
int np_jget_text(const struct np_jat *in, const char *key, json_object *j,
		 size_t max, char **out);
/* A member that must be an array of at most max elements; NULL if missing. */
int np_jget_list(const struct np_jat *in, json_object *from, const char *key,
		 size_t max, json_object **list, size_t *n);

/*
 * Limits on a text before it is parsed: the parser needs up to 900 bytes of
 * memory for an object of two.
 */
struct np_jlimits {
	size_t objects, arrays, elements; /* '{', '[' and ',' */
};
bool np_jtext_within(const char *text, size_t len,
		     const struct np_jlimits *max);

/* ---- writing values ---- */

/*
 * A writer keeps its first failure in rc: -ENOMEM, or -EINVAL with at.err for a
 * value that no reader would accept. All calls after that are harmless.
 */
struct np_jput {
	struct np_jat at;
	size_t merge; /* windows merged into one, for np_field_codec */
	int rc;
};

/*
 * Add a value to an object or array, which owns it; NULL counts as out of
 * memory. Returns the value, or NULL after any failure so far.
 */
json_object *np_jput(struct np_jput *jput, json_object *in, const char *key,
		     json_object *value);
json_object *np_jput_append(struct np_jput *jput, json_object *in,
			    json_object *value);

/* Keep a failure; its err is set already. */
static inline void np_jput_fail(struct np_jput *o, int rc)
{
	o->rc = o->rc ? o->rc : rc;
}

/*
 * New values; NULL after keeping a failure if v is out of range. A real number
 * is the shortest of digits to enough digits that reads back as v.
 */
json_object *np_jput_count(struct np_jput *jput, const char *key, double v,
			   double max);
json_object *np_jput_real(struct np_jput *jput, const char *key, double v,
			  double min, double max, int digits, int enough);
/* Append [bin, n] to a list, for histograms. */
void np_jput_bin(struct np_jput *jput, json_object *list, const char *key,
		 size_t bin, double n);

/* ---- tables of fields ---- */

enum np_field_type {
	NP_F_SCHEMA, /* max: the newest that is read, and the one written */
	NP_F_U32,
	NP_F_U64,
	NP_F_LONG, /* NP_NO_VALUE if missing */
	NP_F_REAL,
	NP_F_BOOL,
	NP_F_TEXT, /* char *, NULL if missing */
	/* Those above are read first: refusing them costs little. */
	NP_F_APP,     /* char [NP_APP_MAX + 1] */
	NP_F_NAME,    /* char [max + 1], without spaces and '|' */
	NP_F_WORD,    /* an enum by its words */
	NP_F_OBJECT,  /* a structure, all zero if missing */
	NP_F_POINTER, /* struct *, NULL if missing */
	NP_F_LIST,    /* struct *, with its length */
	NP_F_TEXTS,   /* char **, with its length */
	NP_F_NUMBERS, /* double *, with its length; min: their upper limit; the
			 last one may be null, which is infinite */
	NP_F_CODEC,   /* anything, by functions of the caller; the last one */
};

enum np_field_flags {
	NP_F_REQUIRED = 1,   /* refused if missing */
	NP_F_NEVER_NULL = 2, /* a text that is "" if missing */
	NP_F_CLAMP = 4,	     /* written within its range; a list is cut */
	NP_F_NOT_EMPTY = 8,  /* an empty list is not written */
	NP_F_MEASURED = 16,  /* a measured value: nine digits are written */
	NP_F_NAN = 32,	     /* NaN if missing, and the reverse */
	NP_F_KEEP = 64,	     /* unchanged if missing */
	NP_F_BY_NAME = 128,  /* an element of a list may be a text, which is
				its first member */
};

struct np_field {
	const char *key;
	enum np_field_type type;
	size_t offset;
	double max; /* of a number; length of a text or list */
	int flags;
	double min;		    /* of NP_F_U32, NP_F_REAL; else 0 */
	const struct np_fields *of; /* of a structure, or of an element */
	size_t count;		    /* offset of the length, a size_t */
	union {
		const char *const *words; /* in the order of the enum; NULL */
		const struct np_field_codec *codec;
	};
	union {
		size_t text_max; /* NP_F_TEXTS: bytes of each */
		size_t columns;	 /* for np_field_codec */
	};
};

struct np_fields {
	const struct np_field *field;
	size_t n, size; /* size: of the structure */
	/*
	 * Its last members may be very long lists. As text on its own, one
	 * element is in memory as JSON at a time, and is written on a line of
	 * its own; any layout is read.
	 */
	bool long_lists;
};

/*
 * How a caller reads, writes and frees a member of its own type. from and to
 * are the JSON object and the structure that the member is in, so get() decides
 * what a missing member means. free() may be NULL; at is the member.
 */
struct np_field_codec {
	int (*get)(const struct np_jat *in, const struct np_field *f,
		   json_object *from, char *to);
	void (*put)(struct np_jput *o, json_object *in,
		    const struct np_field *f, const char *from);
	void (*free)(char *at);
};

#define NP_FIELD(s, type, name, max, ...) \
	NP_FIELD_AS(s, type, #name, name, max, __VA_ARGS__)
/*
 * A member whose stored name is another: files of earlier releases have it, and
 * users read them, so the stored name stays when that of the member changes.
 */
#define NP_FIELD_AS(s, type, key, name, max, ...) \
	{ \
		key, type, offsetof(struct s, name), max, __VA_ARGS__ \
	}

/* The table of a structure: its fields, in the order of the text. */
#define NP_FIELDS(s, ...) NP_FIELDS_WITH(s, false, __VA_ARGS__)
#define NP_FIELDS_LONG_LISTS(s, ...) NP_FIELDS_WITH(s, true, __VA_ARGS__)
/* clang-format off */
#define NP_FIELDS_WITH(s, long_lists, ...) \
	{ (const struct np_field[]){ __VA_ARGS__ }, \
	  NP_ARRAY_SIZE(((const struct np_field[]){ __VA_ARGS__ })), \
	  sizeof(struct s), long_lists }

/* A structure, or a list of them, by the table of the structure. */
#define NP_FIELD_OF(s, type, name, of) \
	{ #name, type, offsetof(struct s, name), 0, 0, 0, of }
#define NP_FIELD_LIST(s, key, name, n_name, max, flags, of) \
	{ key, NP_F_LIST, offsetof(struct s, name), max, flags, 0, of, \
	  offsetof(struct s, n_name) }
/* clang-format on */

void np_jput_fields(struct np_jput *jput, json_object *in, const void *from,
		    const struct np_fields *fs);

/*
 * to is all zero before, except members with NP_F_KEEP. After success and
 * failure alike it has to be freed with np_fields_free().
 */
int np_jget_fields(const struct np_jat *in, json_object *from, void *to,
		   const struct np_fields *fs);

/*
 * Write the fields as malloc'ed text: one line with its end, but see long_lists.
 * Returns jput->rc. Parsing is the reverse; after a failure of it there is
 * nothing to free. Both set err also when out of memory.
 */
int np_fields_print(struct np_jput *jput, const void *from,
		    const struct np_fields *fs, char **out);
int np_fields_parse(const struct np_jat *in, const char *text, size_t len,
		    void *to, const struct np_fields *fs);

/* free() everything that a structure points to, and clear the pointers. */
void np_fields_free(void *of, const struct np_fields *fs);

#endif
