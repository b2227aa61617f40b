/* Reading JSON by tables: every byte of it may be hostile. */
#include "np_fields.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "np_jtext.h"
#include "np_record.h"
#include "np_text.h"

#define MAX_DEPTH 32

int np_jget_refuse(struct np_jget *in, const char *key, const char *expected)
{
	return np_errf(in->err, -EINVAL, "%s: %s%s: expected %s", in->where,
		       in->at, key, expected);
}

int np_jget_range(struct np_jget *in, const char *key, double got, double min,
		  double max)
{
	return np_errf(in->err, -EINVAL,
		       "%s: %s%s: got %.6g, expected %.6g to %.6g", in->where,
		       in->at, key, got, min, max);
}

/* A whole number of 0 .. max. */
int np_jget_count(struct np_jget *in, const char *key, json_object *j,
		  double max, uint64_t *out)
{
	int64_t v;

	if (!json_object_is_type(j, json_type_int))
		return np_jget_refuse(in, key, "a whole number");
	v = json_object_get_int64(j);
	if (v < 0 || (double)v > max)
		return np_jget_range(in, key, (double)v, 0, max);
	*out = (uint64_t)v;
	return 0;
}

int np_jget_real(struct np_jget *in, const char *key, json_object *j,
		 double min, double max, double *out)
{
	double v;

	if (!json_object_is_type(j, json_type_int) &&
	    !json_object_is_type(j, json_type_double))
		return np_jget_refuse(in, key, "a number");
	v = json_object_get_double(j);
	if (!(v >= min && v <= max))
		return np_jget_range(in, key, v, min, max);
	*out = v;
	return 0;
}

static int get_bool(struct np_jget *in, const char *key, json_object *j,
		    bool *out)
{
	if (!json_object_is_type(j, json_type_boolean))
		return np_jget_refuse(in, key, "true or false");
	*out = json_object_get_boolean(j);
	return 0;
}

int np_jget_text(struct np_jget *in, const char *key, json_object *j,
		 size_t max, char **out)
{
	const char *text;
	size_t len;

	if (!json_object_is_type(j, json_type_string))
		return np_jget_refuse(in, key, "a text");
	text = json_object_get_string(j);
	len = (size_t)json_object_get_string_len(j);
	if (len > max || strlen(text) != len)
		return np_jget_refuse(in, key, "a shorter text without NUL");
	/* Escapes can spell what would play tricks on a terminal. */
	*out = np_text_clean(text, max);
	return *out ? 0 : -ENOMEM;
}

static int get_moments(struct np_jget *in, const char *key, json_object *j,
		       double max, struct np_moments *out)
{
	struct np_moments m = { 0 };
	struct np_jget sub = *in;
	int rc;

	if (!json_object_is_type(j, json_type_object))
		return np_jget_refuse(in, key, "an object");
	snprintf(sub.at, sizeof(sub.at), "%.32s%.24s.", in->at, key);
	rc = np_jget_fields(&sub, j, &m, &np_moments_fields);
	if (rc)
		return rc;
	if (m.n && (!np_moments_valid(&m) || m.max > max))
		return np_jget_refuse(in, key, "moments that samples can have");
	*out = m;
	return 0;
}

/* What a missing member stands for; the target is all zero. */
static int get_missing(struct np_jget *in, const struct np_field *f, void *at)
{
	if (f->flags & NP_F_NEEDED)
		return np_jget_refuse(in, f->key, "a value: it is missing");
	if (f->flags & NP_F_NEVER_NULL) {
		*(char **)at = strdup("");
		return *(char **)at ? 0 : -ENOMEM;
	}
	if (f->type == NP_F_LONG)
		*(long *)at = NP_NO_VALUE;
	return 0;
}

static int get_field(struct np_jget *in, const struct np_field *f,
		     json_object *j, void *at)
{
	uint64_t n = 0;
	int rc = 0;

	switch (f->type) {
	case NP_F_U32:
		rc = np_jget_count(in, f->key, j, f->max, &n);
		*(uint32_t *)at = (uint32_t)n;
		break;
	case NP_F_U64:
		rc = np_jget_count(in, f->key, j, f->max, at);
		break;
	case NP_F_LONG:
		rc = np_jget_count(in, f->key, j, f->max, &n);
		*(long *)at = (long)n;
		break;
	case NP_F_REAL:
		rc = np_jget_real(in, f->key, j, f->min, f->max, at);
		break;
	case NP_F_BOOL:
		rc = get_bool(in, f->key, j, at);
		break;
	case NP_F_TEXT:
		rc = np_jget_text(in, f->key, j, (size_t)f->max, at);
		break;
	case NP_F_MOMENTS:
		rc = get_moments(in, f->key, j, f->max, at);
		break;
	}
	return rc;
}

int np_jget_fields(struct np_jget *in, json_object *from, void *to,
		   const struct np_fields *fs)
{
	for (size_t i = 0; i < fs->n; i++) {
		const struct np_field *f = &fs->field[i];
		void *at = (char *)to + f->offset;
		json_object *j;
		int rc;

		if (json_object_object_get_ex(from, f->key, &j))
			rc = get_field(in, f, j, at);
		else
			rc = get_missing(in, f, at);
		if (rc)
			return rc;
	}
	return 0;
}

int np_jget_list(struct np_jget *in, json_object *from, const char *key,
		 size_t max, json_object **list, size_t *n)
{
	*list = NULL;
	*n = 0;
	if (!json_object_object_get_ex(from, key, list))
		return 0;
	if (!json_object_is_type(*list, json_type_array))
		return np_jget_refuse(in, key, "an array");
	*n = json_object_array_length(*list);
	if (*n > max)
		return np_jget_range(in, key, (double)*n, 0, (double)max);
	return 0;
}

static int parse(const char *text, size_t len, json_object **out,
		 struct np_jtext_damage *d)
{
	struct json_tokener *tok = json_tokener_new_ex(MAX_DEPTH);
	enum json_tokener_error why;
	json_object *j;

	if (!tok)
		return -ENOMEM;
	json_tokener_set_flags(tok, JSON_TOKENER_STRICT);
	j = json_tokener_parse_ex(tok, text, (int)len);
	why = json_tokener_get_error(tok);
	d->at = json_tokener_get_parse_end(tok);
	d->why = why == json_tokener_continue ? "it ends too early" :
						json_tokener_error_desc(why);
	json_tokener_free(tok);
	if (why == json_tokener_success && j) {
		*out = j;
		return 0;
	}
	json_object_put(j);
	return -EINVAL;
}

int np_jget_parse(struct np_jget *in, const char *text, size_t len,
		  json_object **out)
{
	struct np_jtext_damage d;
	size_t made_len;
	char *made;
	int rc = np_jtext_make(text, len, &made, &made_len, &d);

	if (!rc) {
		rc = parse(made, made_len, out, &d);
		d.at = np_jtext_source(text, len, d.at);
		free(made);
	}
	if (rc == -EINVAL)
		np_errf(in->err, rc, "%s: damaged at byte %zu: %s", in->where,
			d.at, d.why);
	return rc;
}

int np_jget_schema(struct np_jget *in, json_object *from, int newest)
{
	uint64_t schema;
	json_object *j;
	int rc;

	if (!json_object_is_type(from, json_type_object))
		return np_jget_refuse(in, "", "a JSON object");
	if (!json_object_object_get_ex(from, "schema", &j))
		return np_jget_refuse(in, "schema", "a value: it is missing");
	rc = np_jget_count(in, "schema", j, INT32_MAX, &schema);
	if (rc)
		return rc;
	if (!schema)
		return np_jget_refuse(in, "schema", "1 or more");
	if (schema > (uint64_t)newest)
		return np_errf(in->err, -EPROTONOSUPPORT,
			       "%s: schema %d is newer than %d, the newest "
			       "that this netprof reads", in->where,
			       (int)schema, newest);
	return 0;
}

void np_fields_free(void *of, const struct np_fields *fs)
{
	for (size_t i = 0; i < fs->n; i++)
		if (fs->field[i].type == NP_F_TEXT) {
			char **text = (char **)((char *)of +
						fs->field[i].offset);

			free(*text);
			*text = NULL;
		}
}
