#include "np_jvalue.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "np_text.h"

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
