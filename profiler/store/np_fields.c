/* The JSON codec: text, single values, tables of fields, and long lists. */
#include "np_fields.h"

#include <ctype.h>
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "np_app.h"
#include "np_array.h"
#include "np_record.h"
#include "np_text.h"

/*
 * ---- text that every version of json-c reads alike ----
 *
 * In strict mode json-c 0.17 and later refuse all bytes above 0x7f and whole
 * numbers beyond 64 bits; earlier versions clip such numbers. So characters
 * beyond ASCII are escaped before parsing, and such numbers are refused.
 */

#define ESCAPED 6      /* bytes of "\u20ac"; twice that beyond U+FFFF */
#define MOST_DIGITS 20 /* of 64 bits */

/* Where a text cannot be used, and why. */
struct damage {
	size_t at;
	const char *why;
};

/* Bytes of the escape of a character of n bytes. */
static size_t escaped_len(int n)
{
	return n == 4 ? 2 * ESCAPED : ESCAPED;
}

/* Write a character beyond ASCII as one or two \uXXXX. */
static void escape(const char *p, int n, char *out)
{
	uint32_t c = np_text_code_point(p);
	char text[4 * ESCAPED]; /* more than it takes */

	if (n < 4)
		snprintf(text, sizeof(text), "\\u%04x", c);
	else
		snprintf(text, sizeof(text), "\\u%04x\\u%04x",
			 0xd800 + ((c - 0x10000) >> 10),
			 0xdc00 + ((c - 0x10000) & 0x3ff));
	memcpy(out, text, escaped_len(n));
}

/* Is a number of n digits, perhaps with a sign, beyond 64 bits? */
static bool is_beyond(const char *p, size_t n)
{
	char text[MOST_DIGITS + 2];

	if (n < MOST_DIGITS - 1 || n >= sizeof(text))
		return n >= sizeof(text);
	memcpy(text, p, n);
	text[n] = '\0';
	errno = 0;
	if (*p == '-')
		strtoll(text, NULL, 10);
	else
		strtoull(text, NULL, 10);
	return errno == ERANGE;
}

/* Bytes of the number at p; 0: a whole number that is too large. */
static size_t number_len(const char *p, size_t len)
{
	size_t n = 1;

	while (n < len && isdigit((unsigned char)p[n]))
		n++;
	if ((n == len || !memchr(".eE", p[n], 3)) && is_beyond(p, n))
		return 0;
	while (n < len && memchr("0123456789.eE+-", p[n], 15))
		n++;
	return n;
}

/* Bytes at p to copy unchanged, at least 1; 0: a number that is too large. */
static size_t plain_len(const char *p, size_t len, bool *in_string)
{
	if (*p == '"')
		*in_string = !*in_string;
	else if (*in_string && *p == '\\')
		return len > 1 && !(p[1] & 0x80) ? 2 : 1;
	else if (!*in_string && (*p == '-' || isdigit((unsigned char)*p)))
		return number_len(p, len);
	return 1;
}

/* Returns 0, or -EINVAL with the damage; out has room enough. */
static int escape_text(const char *text, size_t len, char *out, size_t *out_len,
		       struct damage *damage)
{
	bool in_string = false;
	size_t n = 0, used;

	for (size_t at = 0; at < len; at += used) {
		int c = np_text_char_len(text + at, len - at);

		if (c > 1) {
			escape(text + at, c, out + n);
			n += escaped_len(c);
			used = (size_t)c;
			continue;
		}
		used = c == 1 ? plain_len(text + at, len - at, &in_string) : 0;
		if (!used) {
			*damage = (struct damage){
				at, c == 1 ? "a whole number beyond 64 bits" :
					     "no UTF-8"
			};
			return -EINVAL;
		}
		memcpy(out + n, text + at, used);
		n += used;
	}
	*out_len = n;
	return 0;
}

/* The same, malloc'ed; also -ENOMEM. */
static int portable_text(const char *text, size_t len, char **out,
			 size_t *out_len, struct damage *damage)
{
	size_t room = 1;
	char *made;
	int rc;

	for (size_t i = 0; i < len; i++) /* 2 bytes become 6, 4 become 12 */
		room += text[i] & 0x80 ? 3 : 1;
	made = malloc(room);
	if (!made)
		return -ENOMEM;
	rc = escape_text(text, len, made, out_len, damage);
	if (rc)
		free(made);
	else
		*out = made;
	return rc;
}

/* The byte of the original text that byte at of the portable one is from. */
static size_t source_byte(const char *text, size_t len, size_t at)
{
	size_t from = 0, to = 0;

	while (from < len && to < at) {
		int c = np_text_char_len(text + from, len - from);

		to += c > 1 ? escaped_len(c) : 1;
		from += c > 1 ? (size_t)c : 1;
	}
	return from;
}

bool np_jtext_within(const char *text, size_t len, const struct np_jlimits *max)
{
	struct np_jlimits left = *max;

	/* Stops at a limit, because files of other users may be large. */
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '{' && !left.objects--)
			return false;
		if (text[i] == '[' && !left.arrays--)
			return false;
		if (text[i] == ',' && !left.elements--)
			return false;
	}
	return true;
}

/* ---- places and errors ---- */

int np_jat_take(const struct np_jat *at, size_t n, size_t size, void *out)
{
	void *all;

	if (at->room && n * size > *at->room)
		return np_errf(at->err, -EFBIG,
			       "%s: too large, its lists need too many bytes "
			       "of memory",
			       at->where);
	if (at->room)
		*at->room -= n * size;
	all = calloc(n, size);
	if (!all)
		return -ENOMEM;
	memcpy(out, &all, sizeof(all));
	return 0;
}

struct np_jat np_jat_member(const struct np_jat *at, const char *key)
{
	struct np_jat sub = *at;

	snprintf(sub.at, sizeof(sub.at), "%.60s%.64s.", at->at, key);
	return sub;
}

struct np_jat np_jat_element(const struct np_jat *at, const char *key, size_t i)
{
	struct np_jat sub = *at;

	snprintf(sub.at, sizeof(sub.at), "%.60s%.40s[%zu].", at->at, key, i);
	return sub;
}

/* Length of the path without its last dot, if no member follows. */
static int path_len(const struct np_jat *at, const char *key)
{
	int len = (int)strlen(at->at);

	return !*key && len && at->at[len - 1] == '.' ? len - 1 : len;
}

int np_jat_refuse(const struct np_jat *at, const char *key,
		  const char *expected)
{
	int len = path_len(at, key);

	return np_errf(at->err, -EINVAL, "%s: %.*s%s%sexpected %s", at->where,
		       len, at->at, key, len || *key ? ": " : "", expected);
}

int np_jat_range(const struct np_jat *at, const char *key, double got,
		 double min, double max)
{
	char least[32];

	/* A bound just above a number, such as -1, prints as the number. */
	snprintf(least, sizeof(least), "%.10g", min);
	return np_errf(at->err, -EINVAL,
		       strtod(least, NULL) < min ?
			       "%s: %.*s%s: got %.10g, expected more than %s, "
			       "at most %.10g" :
			       "%s: %.*s%s: got %.10g, expected %s to %.10g",
		       at->where, path_len(at, key), at->at, key, got, least,
		       max);
}

/* ---- reading values; every byte may be hostile ---- */

#define MISSING "a value, got none"

int np_jget_count(const struct np_jat *in, const char *key, json_object *j,
		  double min, double max, uint64_t *out)
{
	int64_t v;

	if (!json_object_is_type(j, json_type_int))
		return np_jat_refuse(in, key, "a whole number");
	v = json_object_get_int64(j);
	if ((double)v < min || (double)v > max)
		return np_jat_range(in, key, (double)v, min, max);
	*out = (uint64_t)v;
	return 0;
}

int np_jget_real(const struct np_jat *in, const char *key, json_object *j,
		 double min, double max, double *out)
{
	double v;

	if (!json_object_is_type(j, json_type_int) &&
	    !json_object_is_type(j, json_type_double))
		return np_jat_refuse(in, key, "a number");
	v = json_object_get_double(j);
	if (!(v >= min && v <= max))
		return np_jat_range(in, key, v, min, max);
	*out = v;
	return 0;
}

int np_jget_text(const struct np_jat *in, const char *key, json_object *j,
		 size_t max, char **out)
{
	const char *text;
	size_t len;

	if (!json_object_is_type(j, json_type_string))
		return np_jat_refuse(in, key, "a text");
	text = json_object_get_string(j);
	len = (size_t)json_object_get_string_len(j);
	if (len > max || strlen(text) != len)
		return np_jat_refuse(in, key, "a shorter text without NUL");
	/* Escapes can spell control characters, which a terminal obeys. */
	*out = np_text_plain_copy(text, max);
	return *out ? 0 : -ENOMEM;
}

int np_jget_list(const struct np_jat *in, json_object *from, const char *key,
		 size_t max, json_object **list, size_t *n)
{
	*list = NULL;
	*n = 0;
	if (!json_object_object_get_ex(from, key, list))
		return 0;
	if (!json_object_is_type(*list, json_type_array))
		return np_jat_refuse(in, key, "an array");
	*n = json_object_array_length(*list);
	if (*n > max)
		return np_jat_range(in, key, (double)*n, 0, (double)max);
	return 0;
}

/* ---- parsing ---- */

#define MAX_DEPTH 32

/*
 * Takes one value after the other from a text, so that a long list needs memory
 * for one element at a time.
 */
struct pull {
	const struct np_jat *in;
	const char *source; /* borrowed */
	char *text;	    /* portable_text() of it */
	size_t source_len, len, at;
	struct json_tokener *tok;
};

/*
 * -EINVAL with err: the text cannot be parsed. The line is named unless it is
 * the first, which is the only one of most files.
 */
static int damaged(const struct np_jat *in, const char *text, size_t len,
		   size_t at, const char *why)
{
	char line[24] = "";
	size_t n = 1;

	/* No line begins behind the last line break. */
	for (size_t i = 0; i < at && i + 1 < len; i++)
		n += text[i] == '\n';
	if (n > 1)
		snprintf(line, sizeof(line), "%zu:", n);
	return np_errf(in->err, -EINVAL, "%s:%s damaged at byte %zu: %s",
		       in->where, line, at, why);
}

static int pull_damaged(const struct pull *pull, const char *why)
{
	return damaged(pull->in, pull->source, pull->source_len,
		       source_byte(pull->source, pull->source_len, pull->at),
		       why);
}

static void pull_close(struct pull *pull)
{
	if (pull->tok)
		json_tokener_free(pull->tok);
	free(pull->text);
	*pull = (struct pull){ .text = NULL };
}

static int pull_open(struct pull *pull, const struct np_jat *in,
		     const char *text, size_t len, int flags)
{
	struct damage damage;
	int rc;

	*pull = (struct pull){ .in = in, .source = text, .source_len = len };
	rc = portable_text(text, len, &pull->text, &pull->len, &damage);
	if (rc)
		return rc == -EINVAL ?
			       damaged(in, text, len, damage.at, damage.why) :
			       rc;
	pull->tok = json_tokener_new_ex(MAX_DEPTH);
	if (pull->tok) {
		json_tokener_set_flags(pull->tok, JSON_TOKENER_STRICT | flags);
		return 0;
	}
	pull_close(pull);
	return -ENOMEM;
}

/* Take the next value; json_object_put(*out). */
static int pull_value(struct pull *pull, json_object **out)
{
	enum json_tokener_error why;
	json_object *j;

	json_tokener_reset(pull->tok);
	j = json_tokener_parse_ex(pull->tok, pull->text + pull->at,
				  (int)(pull->len - pull->at));
	why = json_tokener_get_error(pull->tok);
	pull->at += json_tokener_get_parse_end(pull->tok);
	if (why == json_tokener_success && j) {
		*out = j;
		return 0;
	}
	json_object_put(j);
	return pull_damaged(pull, why == json_tokener_continue ?
					  "it ends too early" :
					  json_tokener_error_desc(why));
}

/* Skip blanks, then this character; false: it is not next. '\0': the end. */
static bool pull_take(struct pull *pull, char c)
{
	while (pull->at < pull->len &&
	       memchr(" \t\n\r", pull->text[pull->at], 4))
		pull->at++;
	if (pull->at == pull->len || !c)
		return pull->at == pull->len && !c;
	if (pull->text[pull->at] != c)
		return false;
	pull->at++;
	return true;
}

int np_jget_parse(const struct np_jat *in, const char *text, size_t len,
		  json_object **out)
{
	struct pull pull;
	int rc = pull_open(&pull, in, text, len, 0);

	if (rc)
		return rc;
	rc = pull_value(&pull, out);
	pull_close(&pull);
	return rc;
}

/*
 * Check the member "schema" of a value that has to be an object. Fields are
 * read in their order, so it should be the first: a newer schema may give any
 * other member another meaning. -EPROTONOSUPPORT: it is newer than newest.
 */
static int check_schema(const struct np_jat *in, json_object *from, int newest)
{
	uint64_t schema;
	json_object *j;
	int rc;

	if (!json_object_is_type(from, json_type_object))
		return np_jat_refuse(in, "", "a JSON object");
	if (!json_object_object_get_ex(from, "schema", &j))
		return np_jat_refuse(in, "schema", MISSING);
	rc = np_jget_count(in, "schema", j, 1, INT32_MAX, &schema);
	if (rc)
		return rc;
	if (schema > (uint64_t)newest)
		return np_errf(in->err, -EPROTONOSUPPORT,
			       "%s: schema %d is newer than %d, the newest "
			       "that this netprof reads",
			       in->where, (int)schema, newest);
	return 0;
}

/* ---- writing values ---- */

json_object *np_jput(struct np_jput *jput, json_object *in, const char *key,
		     json_object *value)
{
	if (!value || json_object_object_add(in, key, value)) {
		json_object_put(value);
		np_jput_fail(jput, -ENOMEM);
	}
	return jput->rc ? NULL : value;
}

json_object *np_jput_append(struct np_jput *jput, json_object *in,
			    json_object *value)
{
	if (!value || json_object_array_add(in, value)) {
		json_object_put(value);
		np_jput_fail(jput, -ENOMEM);
	}
	return jput->rc ? NULL : value;
}

/* False after keeping a failure if v is out of range, or not a number. */
static bool is_within(struct np_jput *jput, const char *key, double v,
		      double min, double max)
{
	if (v >= min && v <= max)
		return true;
	if (!jput->rc)
		jput->rc = np_jat_range(&jput->at, key, v, min, max);
	return false;
}

json_object *np_jput_count(struct np_jput *jput, const char *key, double v,
			   double max)
{
	return is_within(jput, key, v, 0, max) ?
		       json_object_new_int64((int64_t)v) :
		       NULL;
}

json_object *np_jput_real(struct np_jput *jput, const char *key, double v,
			  double min, double max, int digits, int enough)
{
	char text[32];

	if (!is_within(jput, key, v, min, max))
		return NULL;
	do
		snprintf(text, sizeof(text), "%.*g", digits, v);
	while (digits++ < enough && strtod(text, NULL) != v);
	return json_object_new_double_s(v, text);
}

/* Cut at max bytes, and without control characters. */
static json_object *new_text(const char *text, size_t max)
{
	char *clean = np_text_plain_copy(text, max);
	json_object *j = clean ? json_object_new_string(clean) : NULL;

	free(clean);
	return j;
}

void np_jput_bin(struct np_jput *jput, json_object *list, const char *key,
		 size_t bin, double n)
{
	json_object *pair =
		np_jput_append(jput, list, json_object_new_array_ext(2));

	if (!pair)
		return;
	np_jput_append(jput, pair, json_object_new_int((int)bin));
	np_jput_append(jput, pair, np_jput_count(jput, key, n, NP_JSON_COUNT));
}

/* ---- tables of fields: one row of types[] for each type ---- */

#define NUMBERS_MAX 1e12 /* of NP_F_NUMBERS without a limit of their own */

/* A type reads a member that is present, or decides itself if it is missing. */
struct type {
	int (*get)(const struct np_jat *in, const struct np_field *f,
		   json_object *j, void *at);
	int (*get_member)(const struct np_jat *in, const struct np_field *f,
			  json_object *from, char *to);
	void (*put)(struct np_jput *o, json_object *in,
		    const struct np_field *f, const char *from);
	bool is_pointer; /* what it points to has to be freed */
};

static const struct type types[NP_F_CODEC];

/* What the member points to; NULL: nothing. */
static void *pointer_at(const char *at)
{
	void *points;

	memcpy(&points, at, sizeof(points));
	return points;
}

/* Length of a list. */
static size_t length_of(const struct np_field *field, const char *from)
{
	return *(const size_t *)(from + field->count);
}

/* Write a structure into j; inside: its place. */
static void put_inside(struct np_jput *jput, const struct np_jat *inside,
		       json_object *j, const void *from,
		       const struct np_fields *fs)
{
	struct np_jat outside = jput->at;

	jput->at = *inside;
	if (j)
		np_jput_fields(jput, j, from, fs);
	jput->at = outside;
}

/* ---- numbers ---- */

static int get_schema(const struct np_jat *in, const struct np_field *field,
		      json_object *from, char *to)
{
	(void)to;
	return check_schema(in, from, (int)field->max);
}

static void put_schema(struct np_jput *jput, json_object *in,
		       const struct np_field *field, const char *from)
{
	(void)from;
	np_jput(jput, in, field->key, json_object_new_int((int)field->max));
}

/* All whole numbers, by the type of the member. */
static int get_count(const struct np_jat *in, const struct np_field *field,
		     json_object *j, void *at)
{
	uint64_t n = 0;
	int rc = np_jget_count(in, field->key, j, field->min, field->max, &n);

	if (field->type == NP_F_U32)
		*(uint32_t *)at = (uint32_t)n;
	else if (field->type == NP_F_U64)
		*(uint64_t *)at = n;
	else
		*(long *)at = (long)n;
	return rc;
}

static void put_count(struct np_jput *jput, json_object *in,
		      const struct np_field *field, const char *from)
{
	const void *at = from + field->offset;
	double v = field->type == NP_F_U32 ? *(const uint32_t *)at :
		   field->type == NP_F_U64 ? (double)*(const uint64_t *)at :
					     (double)*(const long *)at;

	if (field->type != NP_F_LONG || v != NP_NO_VALUE)
		np_jput(jput, in, field->key,
			np_jput_count(jput, field->key, v, field->max));
}

static int get_real(const struct np_jat *in, const struct np_field *field,
		    json_object *j, void *at)
{
	return np_jget_real(in, field->key, j, field->min, field->max, at);
}

/* Forecasts for many jobs grow without limit, but readers have one: clamp. */
static void put_real(struct np_jput *jput, json_object *in,
		     const struct np_field *field, const char *from)
{
	double v = *(const double *)(from + field->offset);
	bool measured = field->flags & NP_F_MEASURED;

	if (field->flags & NP_F_NAN && isnan(v))
		return;
	if (field->flags & NP_F_CLAMP)
		v = v > field->max ? field->max :
		    v < field->min ? field->min :
				     v;
	np_jput(jput, in, field->key,
		np_jput_real(jput, field->key, v, field->min, field->max,
			     measured ? 9 : 15, measured ? 9 : 17));
}

static int get_bool(const struct np_jat *in, const struct np_field *field,
		    json_object *j, void *at)
{
	if (!json_object_is_type(j, json_type_boolean))
		return np_jat_refuse(in, field->key, "true or false");
	*(bool *)at = json_object_get_boolean(j);
	return 0;
}

static void put_bool(struct np_jput *jput, json_object *in,
		     const struct np_field *field, const char *from)
{
	np_jput(jput, in, field->key,
		json_object_new_boolean(*(const bool *)(from + field->offset)));
}

/* ---- texts ---- */

static int get_text(const struct np_jat *in, const struct np_field *field,
		    json_object *j, void *at)
{
	return np_jget_text(in, field->key, j, (size_t)field->max, at);
}

static void put_text(struct np_jput *jput, json_object *in,
		     const struct np_field *field, const char *from)
{
	const char *text = pointer_at(from + field->offset);

	if (text)
		np_jput(jput, in, field->key,
			new_text(text, (size_t)field->max));
}

/* An application name is checked, because it becomes part of a path. */
static int get_app(const struct np_jat *in, const struct np_field *field,
		   json_object *j, void *at)
{
	char *text;
	int rc = np_jget_text(in, field->key, j, NP_APP_MAX, &text);

	if (rc)
		return rc;
	if (np_app_check(text, NULL))
		rc = np_jat_refuse(in, field->key, "an application name");
	else
		strcpy(at, text);
	free(text);
	return rc;
}

/* Names go into tables with '|', so they cannot contain it. */
static int get_name(const struct np_jat *in, const struct np_field *field,
		    json_object *j, void *at)
{
	bool is_text = json_object_is_type(j, json_type_string);
	size_t len = is_text ? (size_t)json_object_get_string_len(j) : 0;
	const char *s = is_text ? json_object_get_string(j) : "";
	bool good = len && len <= field->max;
	char expected[80];

	for (size_t i = 0; good && i < len; i++)
		good = (unsigned char)s[i] > ' ' && s[i] != 0x7f && s[i] != '|';
	snprintf(expected, sizeof(expected),
		 "a name of 1 to %.0f characters without spaces and '|'",
		 field->max);
	if (!good)
		return np_jat_refuse(in, field->key, expected);
	memcpy(at, s, len + 1);
	return 0;
}

static void put_name(struct np_jput *jput, json_object *in,
		     const struct np_field *field, const char *from)
{
	np_jput(jput, in, field->key,
		json_object_new_string(from + field->offset));
}

/* One of the words, else an error that lists them. */
static int get_word(const struct np_jat *in, const struct np_field *field,
		    json_object *j, void *at)
{
	bool is_text = json_object_is_type(j, json_type_string);
	const char *word = is_text ? json_object_get_string(j) : "";
	char all[128] = "";

	for (unsigned i = 0; field->words[i]; i++) {
		if (!strcmp(word, field->words[i])) {
			*(unsigned *)at = i;
			return 0;
		}
		snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s",
			 !i		     ? "" :
			 field->words[i + 1] ? ", " :
					       " or ",
			 field->words[i]);
	}
	return np_jat_refuse(in, field->key, all);
}

static void put_word(struct np_jput *jput, json_object *in,
		     const struct np_field *field, const char *from)
{
	unsigned word = *(const unsigned *)(from + field->offset);

	np_jput(jput, in, field->key,
		json_object_new_string(field->words[word]));
}

/* ---- structures and lists ---- */

/* A structure in place, or for NP_F_POINTER an allocated one. */
static int get_structure(const struct np_jat *in, const struct np_field *field,
			 json_object *j, void *at)
{
	struct np_jat sub = np_jat_member(in, field->key);
	void *part = at;

	if (field->type == NP_F_POINTER) {
		part = calloc(1, field->of->size);
		memcpy(at, &part, sizeof(part));
	}
	return !part ? -ENOMEM :
	       json_object_is_type(j, json_type_object) ?
		       np_jget_fields(&sub, j, part, field->of) :
		       np_jat_refuse(in, field->key, "an object");
}

static void put_structure(struct np_jput *jput, json_object *in,
			  const struct np_field *field, const char *from)
{
	const char *at = from + field->offset;
	const void *part = field->type == NP_F_POINTER ? pointer_at(at) : at;
	struct np_jat inside = np_jat_member(&jput->at, field->key);

	if (part)
		put_inside(jput, &inside,
			   np_jput(jput, in, field->key,
				   json_object_new_object()),
			   part, field->of);
}

/* *n: how many elements may need freeing. */
static int get_elements(const struct np_jat *in, const struct np_field *field,
			json_object *list, size_t count, char *all, size_t *n)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < count; i++) {
		json_object *j = json_object_array_get_idx(list, i);
		struct np_jat sub = np_jat_element(in, field->key, i);

		*n = i + 1;
		if (field->type == NP_F_TEXTS)
			rc = np_jget_text(in, field->key, j, field->text_max,
					  &((char **)all)[i]);
		else if (json_object_is_type(j, json_type_object))
			rc = np_jget_fields(&sub, j, all + i * field->of->size,
					    field->of);
		else if (field->flags & NP_F_BY_NAME)
			rc = types[field->of->field->type].get(
				&sub, field->of->field, j,
				all + i * field->of->size);
		else
			rc = np_jat_refuse(&sub, "", "an object");
	}
	return rc;
}

/* What is allocated is in the structure at once, so that it will be freed. */
static int get_list(const struct np_jat *in, const struct np_field *field,
		    json_object *from, char *to)
{
	size_t size = field->type == NP_F_TEXTS ? sizeof(char *) :
						  field->of->size;
	json_object *list;
	size_t count;
	void *all = NULL;
	int rc = np_jget_list(in, from, field->key, (size_t)field->max, &list,
			      &count);

	if (!rc && !list && field->flags & NP_F_REQUIRED)
		return np_jat_refuse(in, field->key, MISSING);
	if (!rc && count)
		rc = np_jat_take(in, count, size, &all);
	if (rc || !count)
		return rc;
	memcpy(to + field->offset, &all, sizeof(all));
	return get_elements(in, field, list, count, all,
			    (size_t *)(to + field->count));
}

/* A failure if a list of n is too long for its readers. */
static void check_length(struct np_jput *jput, const struct np_field *field,
			 size_t n)
{
	json_object_put(np_jput_count(jput, field->key, (double)n, field->max));
}

/* Write a list, of structures or texts. */
static void put_list(struct np_jput *jput, json_object *in,
		     const struct np_field *field, const char *from)
{
	const char *all = pointer_at(from + field->offset);
	size_t n = length_of(field, from);
	json_object *list;

	if (!n && field->flags & NP_F_NOT_EMPTY)
		return;
	list = np_jput(jput, in, field->key, json_object_new_array());
	if ((double)n > field->max && field->flags & NP_F_CLAMP)
		n = (size_t)field->max;
	check_length(jput, field, n);
	for (size_t i = 0; list && i < n && !jput->rc; i++) {
		struct np_jat inside = np_jat_element(&jput->at, field->key, i);

		if (field->type == NP_F_TEXTS)
			np_jput_append(jput, list,
				       new_text(((char *const *)all)[i],
						field->text_max));
		else
			put_inside(jput, &inside,
				   np_jput_append(jput, list,
						  json_object_new_object()),
				   all + i * field->of->size, field->of);
	}
}

/* A list of numbers, as np_fields.h describes it. */
static int get_numbers(const struct np_jat *in, const struct np_field *field,
		       json_object *from, char *to)
{
	size_t *n = (size_t *)(to + field->count);
	double **out = (void *)(to + field->offset);
	json_object *list;
	int rc = np_jget_list(in, from, field->key, (size_t)field->max, &list,
			      n);

	if (rc || !list)
		return rc;
	rc = np_jat_take(in, *n + 1, sizeof(**out), out);
	for (size_t i = 0; !rc && i < *n; i++) {
		json_object *j = json_object_array_get_idx(list, i);

		(*out)[i] = INFINITY;
		if (j || i + 1 < *n)
			rc = np_jget_real(in, field->key, j, 0,
					  field->min > 0 ? field->min :
							   NUMBERS_MAX,
					  &(*out)[i]);
	}
	return rc;
}

/* Those without a limit are bin edges, which nobody writes. */
static void put_numbers(struct np_jput *jput, json_object *in,
			const struct np_field *field, const char *from)
{
	size_t n = length_of(field, from);
	const double *v = pointer_at(from + field->offset);
	json_object *list;

	if (!n || !(field->min > 0))
		return;
	check_length(jput, field, n);
	list = np_jput(jput, in, field->key, json_object_new_array());
	for (size_t i = 0; list && i < n && !jput->rc; i++)
		np_jput_append(jput, list,
			       np_jput_real(jput, field->key, v[i], 0,
					    field->min, 15, 17));
}

/* ---- all fields ---- */

static const struct type types[NP_F_CODEC] = {
	[NP_F_SCHEMA] = { .get_member = get_schema, .put = put_schema },
	[NP_F_U32] = { get_count, .put = put_count },
	[NP_F_U64] = { get_count, .put = put_count },
	[NP_F_LONG] = { get_count, .put = put_count },
	[NP_F_REAL] = { get_real, .put = put_real },
	[NP_F_BOOL] = { get_bool, .put = put_bool },
	[NP_F_TEXT] = { get_text, NULL, put_text, true },
	[NP_F_APP] = { get_app, .put = put_name },
	[NP_F_NAME] = { get_name, .put = put_name },
	[NP_F_WORD] = { get_word, .put = put_word },
	[NP_F_OBJECT] = { get_structure, .put = put_structure },
	[NP_F_POINTER] = { get_structure, NULL, put_structure, true },
	[NP_F_LIST] = { NULL, get_list, put_list, true },
	[NP_F_TEXTS] = { NULL, get_list, put_list, true },
	[NP_F_NUMBERS] = { NULL, get_numbers, put_numbers, true },
};

/* Set what a missing member stands for; the target is all zero. */
static int get_missing(const struct np_jat *in, const struct np_field *field,
		       char *at)
{
	if (field->flags & NP_F_REQUIRED)
		return np_jat_refuse(in, field->key, MISSING);
	if (field->flags & NP_F_NEVER_NULL) {
		*(char **)at = strdup("");
		return *(char **)at ? 0 : -ENOMEM;
	}
	if (field->type == NP_F_LONG)
		*(long *)at = NP_NO_VALUE;
	if (field->flags & NP_F_NAN)
		*(double *)at = NAN;
	return field->type == NP_F_WORD && !(field->flags & NP_F_KEEP) ?
		       get_word(in, field, NULL, NULL) :
		       0;
}

/* Read one field, in whatever way its type wants. */
static int get_field(const struct np_jat *in, const struct np_field *field,
		     json_object *from, char *to)
{
	json_object *j;

	if (field->type == NP_F_CODEC)
		return field->codec->get(in, field, from, to);
	if (types[field->type].get_member)
		return types[field->type].get_member(in, field, from, to);
	return json_object_object_get_ex(from, field->key, &j) ?
		       types[field->type].get(in, field, j,
					      to + field->offset) :
		       get_missing(in, field, to + field->offset);
}

int np_jget_fields(const struct np_jat *in, json_object *from, void *to,
		   const struct np_fields *fs)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < fs->n; i++)
		if (fs->field[i].type <= NP_F_TEXT)
			rc = get_field(in, &fs->field[i], from, to);
	for (size_t i = 0; !rc && i < fs->n; i++)
		if (fs->field[i].type > NP_F_TEXT)
			rc = get_field(in, &fs->field[i], from, to);
	return rc;
}

/* Refuses what a reader would refuse, so that the writer gets the error. */
void np_jput_fields(struct np_jput *jput, json_object *in, const void *from,
		    const struct np_fields *fs)
{
	for (size_t i = 0; i < fs->n && !jput->rc; i++) {
		const struct np_field *field = &fs->field[i];

		(field->type == NP_F_CODEC ?
			 field->codec->put :
			 types[field->type].put)(jput, in, field, from);
	}
}

/* Free the elements of a list, and clear its length. */
static void free_elements(void *of, const struct np_field *field, char *list)
{
	size_t *n = (size_t *)((char *)of + field->count);

	for (size_t i = 0; i < *n; i++) {
		if (field->type == NP_F_TEXTS)
			free(((char **)list)[i]);
		else
			np_fields_free(list + i * field->of->size, field->of);
	}
	*n = 0;
}

void np_fields_free(void *of, const struct np_fields *fs)
{
	for (size_t i = 0; i < fs->n; i++) {
		const struct np_field *field = &fs->field[i];
		char *at = (char *)of + field->offset;
		void *points;

		if (field->type == NP_F_OBJECT)
			np_fields_free(at, field->of);
		if (field->type == NP_F_CODEC && field->codec->free)
			field->codec->free(at);
		if (field->type == NP_F_CODEC || !types[field->type].is_pointer)
			continue;
		points = pointer_at(at);
		memset(at, 0, sizeof(points));
		if (field->type == NP_F_POINTER && points)
			np_fields_free(points, field->of);
		else if (field->type == NP_F_LIST || field->type == NP_F_TEXTS)
			free_elements(of, field, points);
		free(points);
	}
}

/*
 * ---- texts ----
 *
 * A text of many megabytes would take twenty times its size as JSON objects, so
 * only one element of its long lists is in memory at a time.
 */

/* How many members come before the long lists. */
static size_t head_len(const struct np_fields *fs)
{
	size_t n = fs->long_lists ? 0 : fs->n;

	while (n < fs->n && fs->field[n].type != NP_F_LIST)
		n++;
	return n;
}

/* Write a structure to f; open: without its last brace. */
static void print_object(struct np_jput *jput, FILE *f, const void *from,
			 const struct np_fields *fs, bool open)
{
	json_object *j = json_object_new_object();
	const char *text = NULL;

	if (j)
		np_jput_fields(jput, j, from, fs);
	if (j && !jput->rc)
		text = json_object_to_json_string_ext(
			j, JSON_C_TO_STRING_PLAIN |
				   JSON_C_TO_STRING_NOSLASHESCAPE);
	if (text)
		fprintf(f, "%.*s", (int)strlen(text) - open, text);
	else
		np_jput_fail(jput, -ENOMEM);
	json_object_put(j);
}

/* Write a list to f, one element per line. */
static void print_list(struct np_jput *jput, FILE *f,
		       const struct np_field *list, const char *from)
{
	const char *all = pointer_at(from + list->offset);
	size_t n = length_of(list, from);

	if ((double)n > list->max)
		n = (size_t)list->max;
	fprintf(f, ",\n\"%s\":[", list->key);
	for (size_t i = 0; i < n && !jput->rc; i++) {
		fputs(i ? ",\n" : "\n", f);
		print_object(jput, f, all + i * list->of->size, list->of,
			     false);
	}
	fputs("]", f);
}

int np_fields_print(struct np_jput *jput, const void *from,
		    const struct np_fields *fs, char **out)
{
	size_t fields = head_len(fs);
	const struct np_fields head = { fs->field, fields, fs->size };
	/*
	 * Write numbers with a point, whatever locale the program has set.
	 * newlocale() returns a static locale here: nothing has to be freed.
	 */
	locale_t before = uselocale(newlocale(LC_ALL_MASK, "C", (locale_t)0));
	size_t len;
	FILE *f = open_memstream(out, &len);

	if (f)
		print_object(jput, f, from, &head, fields < fs->n);
	for (size_t i = fields; f && i < fs->n && !jput->rc; i++)
		print_list(jput, f, &fs->field[i], from);
	if (f)
		fputs(fields < fs->n ? "}\n" : "\n", f);
	if (!f || fclose(f))
		np_jput_fail(jput, -ENOMEM);
	uselocale(before);
	if (jput->rc) {
		free(f ? *out : NULL);
		*out = NULL;
	}
	return jput->rc == -ENOMEM ?
		       np_errf(jput->at.err, jput->rc, "%s: out of memory",
			       jput->at.where) :
		       jput->rc;
}

/* After a value: does another one follow? */
static int pull_comma(struct pull *pull, char end, bool *more)
{
	*more = pull_take(pull, ',');
	return *more || pull_take(pull, end) ?
		       0 :
		       pull_damaged(pull, "expected a comma or an end");
}

/* Read the next element of a list. */
static int read_element(struct pull *pull, const struct np_field *list,
			size_t i, void *to)
{
	struct np_jat sub = np_jat_element(pull->in, list->key, i);
	json_object *j;
	int rc = pull_value(pull, &j);

	if (rc)
		return rc;
	rc = json_object_is_type(j, json_type_object) ?
		     np_jget_fields(&sub, j, to, list->of) :
		     np_jat_refuse(&sub, "", "an object");
	json_object_put(j);
	return rc;
}

/* Read a list element by element, straight into the structure. */
static int read_list(struct pull *pull, const struct np_field *list, char *to)
{
	size_t *n = (size_t *)(to + list->count), size = list->of->size;
	bool more;
	char *all;
	int rc = 0;

	if (!pull_take(pull, '['))
		return np_jat_refuse(pull->in, list->key, "a whole array");
	for (more = !pull_take(pull, ']'); !rc && more;) {
		if ((double)*n == list->max)
			return np_errf(pull->in->err, -EINVAL,
				       "%s: %s: more than %.0f",
				       pull->in->where, list->key, list->max);
		if (np_array_grow(to + list->offset, *n, size))
			return -ENOMEM;
		all = pointer_at(to + list->offset);
		memset(all + *n * size, 0, size);
		++*n;
		rc = read_element(pull, list, *n - 1, all + (*n - 1) * size);
		if (!rc)
			rc = pull_comma(pull, ']', &more);
	}
	return rc;
}

/* Members other than lists are kept until the object is complete. */
static int keep_member(struct pull *pull, json_object *members, const char *key)
{
	json_object *j;
	int rc = pull_value(pull, &j);

	if (!rc && json_object_object_add(members, key, j)) {
		json_object_put(j);
		rc = -ENOMEM;
	}
	return rc;
}

/* Read the next member, at once if it is a list. */
static int read_member(struct pull *pull, json_object *members, const char *key,
		       const struct np_fields *fs, char *to)
{
	size_t i = 0;
	int rc = 0;

	while (i < fs->n && strcmp(key, fs->field[i].key))
		i++;
	if (i == fs->n || fs->field[i].type != NP_F_LIST)
		return keep_member(pull, members, key);
	/* In a newer schema, which is written first, it may be anything. */
	if (json_object_object_get_ex(members, "schema", NULL))
		rc = check_schema(pull->in, members, (int)fs->field->max);
	return rc ? rc : read_list(pull, &fs->field[i], to);
}

/* Read an object: lists at once, other members into members. */
static int read_members(struct pull *pull, json_object *members,
			const struct np_fields *fs, char *to)
{
	json_object *key;
	bool more;
	int rc = 0;

	if (!pull_take(pull, '{'))
		return pull_damaged(pull, "no JSON object");
	for (more = !pull_take(pull, '}'); !rc && more;) {
		rc = pull_value(pull, &key);
		if (rc)
			break;
		rc = json_object_is_type(key, json_type_string) &&
				     pull_take(pull, ':') ?
			     read_member(pull, members,
					 json_object_get_string(key), fs, to) :
			     pull_damaged(pull, "expected a name and a colon");
		json_object_put(key);
		if (!rc)
			rc = pull_comma(pull, '}', &more);
	}
	return rc || pull_take(pull, '\0') ?
		       rc :
		       pull_damaged(pull, "expected its end");
}

/* Read a text with long lists. */
static int parse_long_lists(const struct np_jat *in, const char *text,
			    size_t len, void *to, const struct np_fields *fs)
{
	json_object *members = json_object_new_object();
	const struct np_fields head = { fs->field, head_len(fs), fs->size };
	struct pull pull;
	int rc = members ? pull_open(&pull, in, text, len,
				     JSON_TOKENER_ALLOW_TRAILING_CHARS) :
			   -ENOMEM;

	if (!rc) {
		rc = read_members(&pull, members, fs, to);
		pull_close(&pull);
	}
	if (!rc)
		rc = np_jget_fields(in, members, to, &head);
	json_object_put(members);
	return rc;
}

/* Read a text without long lists. */
static int parse_object(const struct np_jat *in, const char *text, size_t len,
			void *to, const struct np_fields *fs)
{
	json_object *j;
	int rc = np_jget_parse(in, text, len, &j);

	if (rc)
		return rc;
	rc = np_jget_fields(in, j, to, fs);
	json_object_put(j);
	return rc;
}

int np_fields_parse(const struct np_jat *in, const char *text, size_t len,
		    void *to, const struct np_fields *fs)
{
	int rc = fs->long_lists ? parse_long_lists(in, text, len, to, fs) :
				  parse_object(in, text, len, to, fs);

	if (rc)
		np_fields_free(to, fs);
	return rc == -ENOMEM ?
		       np_errf(in->err, rc, "%s: out of memory", in->where) :
		       rc;
}
