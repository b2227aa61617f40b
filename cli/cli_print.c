#include "cli_print.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <json-c/json_pointer.h>

#include "cli.h"
#include "cli_text.h"

#define POINTER 64 /* bytes of the longest of a table */

/* A record of the tree, and the one that it was found below. */
struct record {
	json_object *value;
	const char *key; /* its member of an object, or number in a list */
	const struct record *around;
};

int cli_print_json(const char *command, json_object *page)
{
	json_object *all = json_object_new_object();
	const char *text;
	int rc;

	json_object_object_add(all, "schema",
			       json_object_new_int(CLI_JSON_SCHEMA));
	json_object_object_add(all, "command", json_object_new_string(command));
	json_object_object_foreach(page, key, value)
		json_object_object_add(all, key, json_object_get(value));
	json_object_put(page);
	text = json_object_to_json_string_ext(all,
		JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED |
		JSON_C_TO_STRING_NOSLASHESCAPE);
	rc = text ? CLI_DONE : cli_fail("out of memory");
	if (text)
		puts(text);
	json_object_put(all);
	return rc;
}

/* The value at a pointer of len bytes below another; NULL: there is none. */
static json_object *below(json_object *in, const char *pointer, size_t len)
{
	char path[POINTER + 2];
	json_object *found;

	if (len == 1 && *pointer == '.')
		return in;
	snprintf(path, sizeof(path), "/%.*s", (int)len, pointer);
	return in && !json_pointer_get(in, path, &found) ? found : NULL;
}

/* What separates fields does not occur in them. */
static void print_text(const char *text, char separator)
{
	for (; *text; text++)
		putchar(*text != separator && *text != '\n' ? *text :
			*text == ',' ? ' ' : '_');
}

/*
 * Lists are joined by ",", what is within their elements by ":".  Of objects
 * only the members are printed, ":a:b".
 */
static void print_value(json_object *v, const char *members, char join,
			char separator)
{
	size_t n = json_object_is_type(v, json_type_array) ?
		json_object_array_length(v) : 0;

	switch (json_object_get_type(v)) {
	case json_type_null:
		break;
	case json_type_boolean:
		fputs(json_object_get_boolean(v) ? "yes" : "no", stdout);
		break;
	case json_type_array:
		for (size_t i = 0; i < n; i++) {
			if (i)
				putchar(join);
			print_value(json_object_array_get_idx(v, i), members,
				    ':', separator);
		}
		break;
	case json_type_object:
		for (size_t len; *members == ':'; members += 1 + len) {
			len = strcspn(members + 1, ":|");
			print_value(below(v, members + 1, len), "", ':',
				    separator);
			fputs(members[1 + len] == ':' ? ":" : "", stdout);
		}
		break;
	default:
		print_text(json_object_get_string(v), separator);
	}
}

static void print_date(json_object *v)
{
	char text[CLI_NUMBER];
	double date = json_object_get_double(v);

	fputs(date > 0 ? cli_date(date, text) : "", stdout);
}

static void print_length(json_object *v)
{
	if (json_object_is_type(v, json_type_array))
		printf("%zu", json_object_array_length(v));
}

/* One of the fields of a table, up to "|" or the end. */
static void print_field(const struct record *r, const char *field,
			char separator)
{
	char what = '\0';
	json_object *v;
	size_t len;

	if (*field == '=') {
		printf("%.*s", (int)strcspn(field, "|") - 1, field + 1);
		return;
	}
	if (*field == '@' || *field == '#')
		what = *field++;
	for (; !strncmp(field, "../", 3); field += 3)
		r = r->around;
	len = strcspn(field, ":|");
	if (*field == '%') {
		fputs(r->key, stdout);
		return;
	}
	v = len ? below(r->value, field, len) : NULL;
	if (what == '@')
		print_date(v);
	else if (what == '#')
		print_length(v);
	else
		print_value(v, field + len, ',', separator);
}

static void print_row(const struct record *r, const char *fields,
		      char separator)
{
	for (const char *f = fields;; f++) {
		print_field(r, f, separator);
		f += strcspn(f, "|");
		if (!*f)
			break;
		putchar(separator);
	}
	putchar('\n');
}

static void print_rows(const struct cli_rows *rows, size_t n, size_t at,
		       const struct record *r, char separator);

static const char *next_step(const struct cli_rows *rows, size_t at)
{
	return rows->list + at + (rows->list[at] == ' ');
}

/* The rows of each record of the list that the next step of rows leads to. */
static void print_list(const struct cli_rows *rows, size_t n, size_t at,
		       const struct record *around, char separator)
{
	const char *step = next_step(rows, at);
	size_t len = strcspn(step, " ");
	json_object *list = below(around->value, step, len);
	struct record r = { .around = around };
	char index[CLI_NUMBER];

	at = (size_t)(step + len - rows->list);
	if (json_object_is_type(list, json_type_object)) {
		json_object_object_foreach(list, key, value) {
			r.key = key;
			r.value = value;
			print_rows(rows, n, at, &r, separator);
		}
	}
	if (!json_object_is_type(list, json_type_array))
		return;
	r.key = index;
	for (size_t i = 0; i < json_object_array_length(list); i++) {
		snprintf(index, sizeof(index), "%zu", i);
		r.value = json_object_array_get_idx(list, i);
		print_rows(rows, n, at, &r, separator);
	}
}

/* Does the list of b begin with the same step from there on? */
static bool same_step(const struct cli_rows *a, const struct cli_rows *b,
		      size_t at)
{
	const char *one = next_step(a, at), *other = next_step(b, at);
	size_t len = strcspn(one, " ");

	return strcspn(other, " ") == len && !strncmp(one, other, len);
}

/* at: how much of their lists led to the record */
static void print_rows(const struct cli_rows *rows, size_t n, size_t at,
		       const struct record *r, char separator)
{
	for (; n && !rows->list[at]; n--)
		print_row(r, rows++->fields, separator);
	for (size_t same; n; rows += same, n -= same) {
		for (same = 1; same < n && same_step(rows, rows + same, at);)
			same++;
		print_list(rows, same, at, r, separator);
	}
}

int cli_print_page(enum cli_format format, const char *command,
		   json_object *page, const struct cli_table *t)
{
	char separator = format == CLI_CSV ? ',' : '|';
	struct record r = { .value = page };
	size_t n = 0;

	if (format == CLI_JSON)
		return cli_print_json(command, page);
	while (n < NP_ARRAY_SIZE(t->rows) && t->rows[n].list)
		n++;
	for (const char *c = t->head; *c; c++)
		putchar(*c == '|' ? separator : *c);
	putchar('\n');
	print_rows(t->rows, n, 0, &r, separator);
	json_object_put(page);
	return CLI_DONE;
}
