/*
 * JSON by tables: which members an object has, what they may hold and where
 * they are in a structure is said once, for writing, reading and freeing it.
 * Members are written in the order of the table.  Private to the store:
 * np_fields_put.c writes, np_fields_get.c reads and frees;
 * np_fields_stream.c writes and reads what is long, np_jhist.c and np_jmean.c
 * what is measured.
 */
#ifndef NP_FIELDS_H
#define NP_FIELDS_H

#include "np_jvalue.h"
#include "np_moments.h"

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
bool np_moments_fit(const struct np_moments *m, double max);
#define NP_NO_MOMENTS "moments that samples can have"

/* free() all that a structure points to. */
void np_fields_free(void *of, const struct np_fields *fs);

#endif
