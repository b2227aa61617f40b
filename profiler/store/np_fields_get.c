/* Reading JSON by tables, every byte of which may be hostile; and freeing. */
#include "np_fields.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "np_app.h"
#include "np_jmean.h"
#include "np_record.h"

#define FIELD(type, name, max) \
	NP_FIELD(np_moments, type, name, max, NP_F_NEEDED)

static const struct np_field moments_fields[] = {
	FIELD(NP_F_U64, n, NP_JSON_COUNT),
	FIELD(NP_F_REAL, mean, NP_JSON_ELAPSED_SEC),
	FIELD(NP_F_REAL, m2, 1e300),
	FIELD(NP_F_REAL, min, NP_JSON_ELAPSED_SEC),
	FIELD(NP_F_REAL, max, NP_JSON_ELAPSED_SEC),
};
const struct np_fields np_moments_fields =
	NP_FIELDS(moments_fields, np_moments);

bool np_moments_fit(const struct np_moments *m, double max)
{
	return !m->n || (np_moments_valid(m) && m->max <= max);
}

static bool is_plain(const struct np_field *f)
{
	return f->type <= NP_F_MOMENTS;
}

/* at: of the structure. */
static int get_object(const struct np_jat *in, const char *key, json_object *j,
		      void *at, const struct np_fields *of)
{
	struct np_jat sub = np_jat_member(in, key);

	return json_object_is_type(j, json_type_object) ?
	       np_jget_fields(&sub, j, at, of) :
	       np_jat_refuse(in, key, "an object");
}

static int get_moments(const struct np_jat *in, const struct np_field *f,
		       json_object *j, struct np_moments *m)
{
	int rc = get_object(in, f->key, j, m, &np_moments_fields);

	return rc || np_moments_fit(m, f->max) ? rc :
	       np_jat_refuse(in, f->key, NP_NO_MOMENTS);
}

static int get_plain(const struct np_jat *in, const struct np_field *f,
		     json_object *j, void *at)
{
	uint64_t n = 0;
	int rc = 0;

	switch (f->type) {
	case NP_F_U32:
		rc = np_jget_count(in, f->key, j, f->max, &n);
		if (!rc && (double)n < f->min)
			rc = np_jat_range(in, f->key, (double)n, f->min,
					  f->max);
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
		if (!json_object_is_type(j, json_type_boolean))
			return np_jat_refuse(in, f->key, "true or false");
		*(bool *)at = json_object_get_boolean(j);
		break;
	case NP_F_TEXT:
		rc = np_jget_text(in, f->key, j, (size_t)f->max, at);
		break;
	default:
		rc = get_moments(in, f, j, at);
	}
	return rc;
}

static int get_app(const struct np_jat *in, const struct np_field *f,
		   json_object *j, char *out)
{
	char *text;
	int rc = np_jget_text(in, f->key, j, NP_APP_MAX, &text);

	if (rc)
		return rc;
	if (np_app_check(text, NULL))
		rc = np_jat_refuse(in, f->key, "an application name");
	else
		strcpy(out, text);
	free(text);
	return rc;
}

static int get_name(const struct np_jat *in, const struct np_field *f,
		    json_object *j, char *out)
{
	bool is_text = json_object_is_type(j, json_type_string);
	size_t len = is_text ? (size_t)json_object_get_string_len(j) : 0;
	const char *s = is_text ? json_object_get_string(j) : "";
	bool good = len && len <= f->max;
	char expected[80];

	for (size_t i = 0; good && i < len; i++)
		good = (unsigned char)s[i] > ' ' && s[i] != 0x7f &&
		       s[i] != '|';
	snprintf(expected, sizeof(expected), "a name of 1 to %.0f characters "
		 "without spaces and '|'", f->max);
	if (!good)
		return np_jat_refuse(in, f->key, expected);
	memcpy(out, s, len + 1);
	return 0;
}

static int get_word(const struct np_jat *in, const struct np_field *f,
		    json_object *j, unsigned *out)
{
	bool is_text = json_object_is_type(j, json_type_string);
	const char *word = is_text ? json_object_get_string(j) : "";
	char all[128] = "";

	for (unsigned i = 0; f->words[i]; i++) {
		if (!strcmp(word, f->words[i])) {
			*out = i;
			return 0;
		}
		snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s",
			 !i ? "" : f->words[i + 1] ? ", " : " or ",
			 f->words[i]);
	}
	return np_jat_refuse(in, f->key, all);
}

static int get_part(const struct np_jat *in, const struct np_field *f,
		    json_object *j, void *at)
{
	void *part = calloc(1, f->of->size);

	memcpy(at, &part, sizeof(part));
	return part ? get_object(in, f->key, j, part, f->of) : -ENOMEM;
}

static int get_value(const struct np_jat *in, const struct np_field *f,
		     json_object *j, char *at);

static int get_elements(const struct np_jat *in, const struct np_field *f,
			json_object *list, size_t count, char *all, size_t *n)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < count; i++) {
		json_object *j = json_object_array_get_idx(list, i);
		struct np_jat sub = np_jat_element(in, f->key, i);

		*n = i + 1;
		if (f->type == NP_F_TEXTS)
			rc = np_jget_text(in, f->key, j, f->text_max,
					  &((char **)all)[i]);
		else if (json_object_is_type(j, json_type_object))
			rc = np_jget_fields(&sub, j, all + i * f->of->size,
					    f->of);
		else if (f->flags & NP_F_NAMED)
			rc = get_value(&sub, f->of->field, j,
				       all + i * f->of->size);
		else
			rc = np_jat_refuse(&sub, "", "an object");
	}
	return rc;
}

/* What a missing member stands for; the target is all zero. */
static int get_missing(const struct np_jat *in, const struct np_field *f,
		       char *at)
{
	if (f->flags & NP_F_NEEDED)
		return np_jat_refuse(in, f->key, "a value: it is missing");
	if (f->flags & NP_F_NEVER_NULL) {
		*(char **)at = strdup("");
		return *(char **)at ? 0 : -ENOMEM;
	}
	if (f->type == NP_F_LONG)
		*(long *)at = NP_NO_VALUE;
	if (f->flags & NP_F_NAN)
		*(double *)at = NAN;
	return f->type == NP_F_WORD && !(f->flags & NP_F_KEPT) ?
	       get_word(in, f, NULL, NULL) : 0;
}

/* What was allocated is in the structure as soon as there is any. */
static int get_list(const struct np_jat *in, const struct np_field *f,
		    json_object *from, char *to)
{
	size_t size = f->type == NP_F_TEXTS ? sizeof(char *) : f->of->size;
	json_object *list;
	size_t count;
	void *all = NULL;
	int rc = np_jget_list(in, from, f->key, (size_t)f->max, &list, &count);

	if (!rc && !list && f->flags & NP_F_NEEDED)
		return get_missing(in, f, NULL);

	if (!rc && count && f->bins)
		rc = np_jget_bins(in, from, f->bins);
	if (!rc && count)
		rc = np_jat_take(in, count, size, &all);
	if (rc || !count)
		return rc;
	memcpy(to + f->offset, &all, sizeof(all));
	return get_elements(in, f, list, count, all,
			    (size_t *)(to + f->count));
}

/* j: the member, which is there. */
static int get_value(const struct np_jat *in, const struct np_field *f,
		     json_object *j, char *at)
{
	switch (f->type) {
	case NP_F_APP:
		return get_app(in, f, j, at);
	case NP_F_NAME:
		return get_name(in, f, j, at);
	case NP_F_WORD:
		return get_word(in, f, j, (void *)at);
	case NP_F_OBJECT:
		return get_object(in, f->key, j, at, f->of);
	case NP_F_PART:
		return get_part(in, f, j, at);
	case NP_F_MEAN:
		return np_jget_mean(in, f->key, j, f->min, f->max, (void *)at);
	case NP_F_LATENCY:
		return np_jget_latency(in, f->key, j, (void *)at);
	default:
		return get_plain(in, f, j, at);
	}
}

static int get_field(const struct np_jat *in, const struct np_field *f,
		     json_object *from, char *to)
{
	char *at = to + f->offset;
	const uint64_t *samples = (const uint64_t *)(to + f->count);
	json_object *j;

	switch (f->type) { /* these know what it means to be missing */
	case NP_F_SCHEMA:
		return np_jget_schema(in, from, (int)f->max);
	case NP_F_LIST:
	case NP_F_TEXTS:
		return get_list(in, f, from, to);
	case NP_F_HIST:
		return np_jget_hist(in, from, f->key, *samples, (void *)at);
	case NP_F_SERIES:
		return np_jget_series(in, from, f->key, *samples, (void *)at);
	case NP_F_NUMBERS:
		return np_jget_numbers(in, from, f, to);
	case NP_F_MEANS:
		return np_jget_means(in, from, f, to);
	default:
		break;
	}
	return json_object_object_get_ex(from, f->key, &j) ?
	       get_value(in, f, j, at) : get_missing(in, f, at);
}

int np_jget_fields(const struct np_jat *in, json_object *from, void *to,
		   const struct np_fields *fs)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < fs->n; i++)
		if (is_plain(&fs->field[i]))
			rc = get_field(in, &fs->field[i], from, to);
	for (size_t i = 0; !rc && i < fs->n; i++)
		if (!is_plain(&fs->field[i]))
			rc = get_field(in, &fs->field[i], from, to);
	return rc;
}

int np_fields_parse(const struct np_jat *in, const char *text, size_t len,
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

/* ---- freeing ---- */

static void free_list(void *of, const struct np_field *f, char *list)
{
	size_t *n = (size_t *)((char *)of + f->count);

	for (size_t i = 0; i < *n; i++) {
		if (f->type == NP_F_TEXTS)
			free(((char **)list)[i]);
		else
			np_fields_free(list + i * f->of->size, f->of);
	}
	*n = 0;
}

static bool is_pointer(enum np_field_type type)
{
	return type == NP_F_TEXT || type == NP_F_PART || type == NP_F_LIST ||
	       type == NP_F_TEXTS || type == NP_F_HIST ||
	       type == NP_F_SERIES || type == NP_F_MEANS ||
	       type == NP_F_NUMBERS || type == NP_F_LATENCY;
}

void np_fields_free(void *of, const struct np_fields *fs)
{
	for (size_t i = 0; i < fs->n; i++) {
		const struct np_field *f = &fs->field[i];
		char *at = (char *)of + f->offset;
		void *points = NULL;

		if (f->type == NP_F_LATENCY)
			at += offsetof(struct np_latency, count);
		if (f->type == NP_F_OBJECT)
			np_fields_free(at, f->of);
		if (!is_pointer(f->type))
			continue;
		memcpy(&points, at, sizeof(points));
		memset(at, 0, sizeof(points));
		if (f->type == NP_F_PART && points)
			np_fields_free(points, f->of);
		else if (f->type == NP_F_LIST || f->type == NP_F_TEXTS)
			free_list(of, f, points);
		if (f->type == NP_F_HIST)
			np_hist_free(points);
		else
			free(points);
	}
}
