/* Values of JSON; what is read may be hostile, every byte of it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "np_jvalue.h"
#include "np_text.h"

int np_jat_take(const struct np_jat *at, size_t n, size_t size, void *out)
{
	void *all;

	if (at->room && n * size > *at->room)
		return np_errf(at->err, -EFBIG, "%s: expected what takes fewer "
			       "bytes of memory", at->where);
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

struct np_jat np_jat_element(const struct np_jat *at, const char *key,
			     size_t i)
{
	struct np_jat sub = *at;

	snprintf(sub.at, sizeof(sub.at), "%.60s%.40s[%zu].", at->at, key, i);
	return sub;
}

/* What at ends with: the dot before a member, if there is one. */
static int len_of(const struct np_jat *at, const char *key)
{
	int len = (int)strlen(at->at);

	return !*key && len && at->at[len - 1] == '.' ? len - 1 : len;
}

int np_jat_refuse(const struct np_jat *at, const char *key,
		  const char *expected)
{
	return np_errf(at->err, -EINVAL, "%s: %.*s%s: expected %s", at->where,
		       len_of(at, key), at->at, key, expected);
}

int np_jat_range(const struct np_jat *at, const char *key, double got,
		 double min, double max)
{
	char least[32];

	/* A bound just above a number, as -1, would be printed as that. */
	snprintf(least, sizeof(least), "%.6g", min);
	return np_errf(at->err, -EINVAL, strtod(least, NULL) < min ?
		       "%s: %.*s%s: got %.6g, expected more than %s, at most "
		       "%.6g" : "%s: %.*s%s: got %.6g, expected %s to %.6g",
		       at->where, len_of(at, key), at->at, key, got, least,
		       max);
}

#define MAX_DEPTH 32

/* A whole number of 0 .. max. */
int np_jget_count(const struct np_jat *in, const char *key, json_object *j,
		  double max, uint64_t *out)
{
	int64_t v;

	if (!json_object_is_type(j, json_type_int))
		return np_jat_refuse(in, key, "a whole number");
	v = json_object_get_int64(j);
	if (v < 0 || (double)v > max)
		return np_jat_range(in, key, (double)v, 0, max);
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
	/* Escapes can spell what would play tricks on a terminal. */
	*out = np_text_clean(text, max);
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

static int damaged(const struct np_jat *in, size_t at, const char *why)
{
	return np_errf(in->err, -EINVAL, "%s: damaged at byte %zu: %s",
		       in->where, at, why);
}

int np_jpull_damaged(const struct np_jpull *p, const char *why)
{
	return damaged(p->in, np_jtext_source(p->source, p->source_len, p->at),
		       why);
}

static int open_text(struct np_jpull *p, const struct np_jat *in,
		     const char *text, size_t len, int flags)
{
	struct np_jtext_damage d;
	int rc;

	*p = (struct np_jpull){ .in = in, .source = text, .source_len = len };
	rc = np_jtext_make(text, len, &p->text, &p->len, &d);
	if (rc)
		return rc == -EINVAL ? damaged(in, d.at, d.why) : rc;
	p->tok = json_tokener_new_ex(MAX_DEPTH);
	if (p->tok) {
		json_tokener_set_flags(p->tok, flags);
		return 0;
	}
	np_jpull_close(p);
	return -ENOMEM;
}

int np_jpull_open(struct np_jpull *p, const struct np_jat *in,
		  const char *text, size_t len)
{
	return open_text(p, in, text, len, JSON_TOKENER_STRICT |
			 JSON_TOKENER_ALLOW_TRAILING_CHARS);
}

void np_jpull_close(struct np_jpull *p)
{
	if (p->tok)
		json_tokener_free(p->tok);
	free(p->text);
	*p = (struct np_jpull){ .text = NULL };
}

int np_jpull_value(struct np_jpull *p, json_object **out)
{
	enum json_tokener_error why;
	json_object *j;

	json_tokener_reset(p->tok);
	j = json_tokener_parse_ex(p->tok, p->text + p->at,
				  (int)(p->len - p->at));
	why = json_tokener_get_error(p->tok);
	p->at += json_tokener_get_parse_end(p->tok);
	if (why == json_tokener_success && j) {
		*out = j;
		return 0;
	}
	json_object_put(j);
	return np_jpull_damaged(p, why == json_tokener_continue ?
				"it ends too early" :
				json_tokener_error_desc(why));
}

bool np_jpull_take(struct np_jpull *p, char c)
{
	while (p->at < p->len && memchr(" \t\n\r", p->text[p->at], 4))
		p->at++;
	if (p->at == p->len || !c)
		return p->at == p->len && !c;
	if (p->text[p->at] != c)
		return false;
	p->at++;
	return true;
}

int np_jget_parse(const struct np_jat *in, const char *text, size_t len,
		  json_object **out)
{
	struct np_jpull p;
	int rc = open_text(&p, in, text, len, JSON_TOKENER_STRICT);

	if (rc)
		return rc;
	rc = np_jpull_value(&p, out);
	np_jpull_close(&p);
	return rc;
}

int np_jget_schema(const struct np_jat *in, json_object *from, int newest)
{
	uint64_t schema;
	json_object *j;
	int rc;

	if (!json_object_is_type(from, json_type_object))
		return np_jat_refuse(in, "", "a JSON object");
	if (!json_object_object_get_ex(from, "schema", &j))
		return np_jat_refuse(in, "schema", "a value: it is missing");
	rc = np_jget_count(in, "schema", j, INT32_MAX, &schema);
	if (rc)
		return rc;
	if (!schema)
		return np_jat_refuse(in, "schema", "1 or more");
	if (schema > (uint64_t)newest)
		return np_errf(in->err, -EPROTONOSUPPORT,
			       "%s: schema %d is newer than %d, the newest "
			       "that this netprof reads", in->where,
			       (int)schema, newest);
	return 0;
}

/* ---- writing ---- */

void np_jput_fail(struct np_jput *o, int rc)
{
	o->rc = o->rc ? o->rc : rc;
}

void np_jput_refuse(struct np_jput *o, const char *key, const char *expected)
{
	if (!o->rc)
		o->rc = np_jat_refuse(&o->at, key, expected);
}

void np_jput(struct np_jput *o, json_object *in, const char *key,
	     json_object *value)
{
	if (value && !json_object_object_add(in, key, value))
		return;
	json_object_put(value);
	np_jput_fail(o, -ENOMEM);
}

void np_jput_append(struct np_jput *o, json_object *in, json_object *value)
{
	if (value && !json_object_array_add(in, value))
		return;
	json_object_put(value);
	np_jput_fail(o, -ENOMEM);
}

json_object *np_jput_new(struct np_jput *o, json_object *in, const char *key,
			 json_object *fresh)
{
	np_jput(o, in, key, fresh);
	return o->rc ? NULL : fresh;
}

json_object *np_jput_append_new(struct np_jput *o, json_object *in,
				json_object *fresh)
{
	np_jput_append(o, in, fresh);
	return o->rc ? NULL : fresh;
}

static bool is_within(struct np_jput *o, const char *key, double v, double min,
		      double max)
{
	if (v >= min && v <= max)
		return true;
	if (!o->rc)
		o->rc = np_jat_range(&o->at, key, v, min, max);
	return false;
}

json_object *np_jput_count(struct np_jput *o, const char *key, double v,
			   double max)
{
	return is_within(o, key, v, 0, max) ?
	       json_object_new_int64((int64_t)v) : NULL;
}

json_object *np_jput_real(struct np_jput *o, const char *key, double v,
			  double min, double max, int digits, int enough)
{
	char text[32];

	if (!is_within(o, key, v, min, max))
		return NULL;
	do
		snprintf(text, sizeof(text), "%.*g", digits, v);
	while (digits++ < enough && strtod(text, NULL) != v);
	return json_object_new_double_s(v, text);
}

json_object *np_jput_text(const char *text, size_t max)
{
	char *clean = np_text_clean(text, max);
	json_object *j = clean ? json_object_new_string(clean) : NULL;

	free(clean);
	return j;
}

const char *np_jput_line(json_object *j)
{
	return json_object_to_json_string_ext(j, JSON_C_TO_STRING_PLAIN |
					      JSON_C_TO_STRING_NOSLASHESCAPE);
}

locale_t np_jput_point(void)
{
	/* That one is there: it is not made, and needs no freelocale(). */
	return uselocale(newlocale(LC_ALL_MASK, "C", (locale_t)0));
}
