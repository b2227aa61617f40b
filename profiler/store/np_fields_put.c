/* Writing JSON by tables. */
#include "np_fields.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "np_record.h"
#include "np_text.h"

#define FIELD(type, name, max) \
	NP_FIELD(np_moments, type, name, max, NP_F_NEEDED)

static const struct np_field moments_fields[] = {
	FIELD(NP_F_U64, n, NP_JSON_COUNT),
	FIELD(NP_F_REAL, mean, NP_JSON_ELAPSED_SEC),
	FIELD(NP_F_REAL, m2, 1e300),
	FIELD(NP_F_REAL, min, NP_JSON_ELAPSED_SEC),
	FIELD(NP_F_REAL, max, NP_JSON_ELAPSED_SEC),
};

const struct np_fields np_moments_fields = NP_FIELDS(moments_fields);

void np_jput(struct np_jput *o, json_object *in, const char *key,
	     json_object *value)
{
	if (value && !json_object_object_add(in, key, value))
		return;
	json_object_put(value);
	o->rc = o->rc ? o->rc : -ENOMEM;
}

void np_jput_append(struct np_jput *o, json_object *in, json_object *value)
{
	if (value && !json_object_array_add(in, value))
		return;
	json_object_put(value);
	o->rc = o->rc ? o->rc : -ENOMEM;
}

json_object *np_jput_real(struct np_jput *o, double v, int digits, int enough)
{
	char text[32];

	if (!isfinite(v)) {
		o->rc = o->rc ? o->rc : -EINVAL;
		return NULL;
	}
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

static json_object *new_moments(struct np_jput *o, const struct np_moments *m)
{
	static const struct np_moments empty;
	json_object *j = json_object_new_object();

	if (j) /* the range of an empty set is not defined */
		np_jput_fields(o, j, m->n ? m : &empty, &np_moments_fields);
	return j;
}

/* Forecasts of crowds grow without limit; readers have one. */
static double real_of(const struct np_field *f, double v)
{
	if (!(f->flags & NP_F_CLAMP))
		return v;
	return v > f->max ? f->max : v < f->min ? f->min : v;
}

static void put_field(struct np_jput *o, json_object *in,
		      const struct np_field *f, const void *at)
{
	long number = f->type == NP_F_LONG ? *(const long *)at : 0;
	const char *text = f->type == NP_F_TEXT ? *(char *const *)at : NULL;

	switch (f->type) {
	case NP_F_U32:
		np_jput(o, in, f->key, json_object_new_int64(*(uint32_t *)at));
		break;
	case NP_F_U64:
		np_jput(o, in, f->key, json_object_new_uint64(*(uint64_t *)at));
		break;
	case NP_F_LONG:
		if (number != NP_NO_VALUE)
			np_jput(o, in, f->key, json_object_new_int64(number));
		break;
	case NP_F_REAL:
		np_jput(o, in, f->key,
			np_jput_real(o, real_of(f, *(double *)at), 15, 17));
		break;
	case NP_F_BOOL:
		np_jput(o, in, f->key, json_object_new_boolean(*(bool *)at));
		break;
	case NP_F_TEXT:
		if (text)
			np_jput(o, in, f->key,
				np_jput_text(text, (size_t)f->max));
		break;
	case NP_F_MOMENTS:
		np_jput(o, in, f->key, new_moments(o, at));
		break;
	}
}

void np_jput_fields(struct np_jput *o, json_object *in, const void *from,
		    const struct np_fields *fs)
{
	for (size_t i = 0; i < fs->n; i++)
		put_field(o, in, &fs->field[i],
			  (const char *)from + fs->field[i].offset);
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

int np_jput_print(json_object *j, char **out)
{
	const char *text = json_object_to_json_string_ext(j,
		JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);

	if (!text || asprintf(out, "%s\n", text) < 0)
		return -ENOMEM;
	return 0;
}
