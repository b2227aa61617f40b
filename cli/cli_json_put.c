#include "cli_json_put.h"

#include <math.h>
#include <stdio.h>

#include "cli.h"
#include "cli_text.h"

void cli_put(json_object *in, const char *key, json_object *value)
{
	json_object_object_add(in, key, value);
}

void cli_put_text(json_object *in, const char *key, const char *text)
{
	cli_put(in, key, text ? json_object_new_string(text) : NULL);
}

void cli_put_digits(json_object *in, const char *key, double v, int digits)
{
	char text[CLI_NUMBER];

	v += 0.0; /* no "-0" */
	snprintf(text, sizeof(text), "%.*g", digits, v);
	cli_put(in, key, isfinite(v) ? json_object_new_double_s(v, text) :
				       NULL);
}

void cli_put_real(json_object *in, const char *key, double v)
{
	cli_put_digits(in, key, v, 6);
}

void cli_put_time(json_object *in, const char *key, double v)
{
	char text[CLI_NUMBER];

	snprintf(text, sizeof(text), "%.3f", v);
	cli_put(in, key, json_object_new_double_s(v, text));
}

void cli_put_count(json_object *in, const char *key, uint64_t n)
{
	cli_put(in, key, json_object_new_uint64(n));
}

void cli_put_bool(json_object *in, const char *key, int v)
{
	cli_put(in, key, json_object_new_boolean(v));
}

json_object *cli_put_object(json_object *in, const char *key)
{
	json_object *j = json_object_new_object();

	cli_put(in, key, j);
	return j;
}

json_object *cli_put_if(json_object *in, const char *key, bool there)
{
	json_object *j = there ? json_object_new_object() : NULL;

	cli_put(in, key, j);
	return j;
}

json_object *cli_put_array(json_object *in, const char *key)
{
	json_object *j = json_object_new_array();

	cli_put(in, key, j);
	return j;
}

json_object *cli_append_object(json_object *list)
{
	json_object *j = json_object_new_object();

	json_object_array_add(list, j);
	return j;
}

void cli_append_text(json_object *list, const char *text)
{
	json_object_array_add(list, json_object_new_string(text));
}

int cli_print_json(const char *command, json_object *j)
{
	json_object *page = json_object_new_object();
	const char *text;
	int rc;

	cli_put_count(page, "schema", CLI_JSON_SCHEMA);
	cli_put_text(page, "command", command);
	json_object_object_foreach(j, key, value)
		cli_put(page, key, json_object_get(value));
	json_object_put(j);
	text = json_object_to_json_string_ext(page,
		JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED |
		JSON_C_TO_STRING_NOSLASHESCAPE);
	rc = text ? CLI_DONE : cli_fail("out of memory");
	if (text)
		puts(text);
	json_object_put(page);
	return rc;
}
