/*
 * Output for programs: JSON, and rows of fields that are taken from the same
 * tree of values.
 *
 * A row is described by text (struct cli_rows): the lists to walk through, and
 * a pointer for each field.  For example, { "profiles", "app|owner|last" }
 * prints one line for each element of "profiles" with its name, its owner and
 * a date.  Because rows are taken from the tree, a number is the same in all
 * formats.
 */
#include "cli_print.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json_pointer.h>

#include "cli.h"
#include "cli_text.h"
#include "np_text.h"

#define POINTER 64 /* bytes of a pointer in a table at most */

struct record {
	json_object *value;
	const char *key; /* its name in an object, or index in a list */
	const struct record *around; /* the surrounding record, or NULL */
};

/* json-c keeps the order of insertion, so "schema" and "command" come first. */
int cli_print_json(const char *command, json_object *output)
{
	json_object *all = json_object_new_object();
	const char *text;
	int rc;

	json_object_object_add(all, "schema",
			       json_object_new_int(CLI_JSON_SCHEMA));
	json_object_object_add(all, "command", json_object_new_string(command));
	json_object_object_foreach(output, key, value)
		json_object_object_add(all, key, json_object_get(value));
	json_object_put(output);
	text = json_object_to_json_string_ext(all,
		JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED |
		JSON_C_TO_STRING_NOSLASHESCAPE);
	rc = text ? CLI_DONE : cli_fail("out of memory");
	if (text)
		puts(text);
	json_object_put(all);
	return rc;
}

/* ---- rows ---- */

/* The value at a pointer, of len bytes, relative to another; NULL: none. */
static json_object *below(json_object *in, const char *pointer, size_t len)
{
	char path[POINTER + 2];
	json_object *found;

	if (len == 1 && *pointer == '.')
		return in;
	snprintf(path, sizeof(path), "/%.*s", (int)len, pointer);
	return in && !json_pointer_get(in, path, &found) ? found : NULL;
}

struct out {
	FILE *f;
	char separator;
};

/* A separator within a field is replaced. */
static void print_text(const char *text, const struct out *out)
{
	for (; *text; text++)
		putc(*text != out->separator && *text != '\n' ? *text :
		     *text == ','			      ? ' ' :
								'_',
		     out->f);
}

/*
 * separator: between the elements of a list; ":" is between values within them.
 * members: ":a:b" selects the members of an object that are printed.
 */
static void print_value(json_object *v, const char *members,
			char separator, const struct out *out)
{
	size_t n = json_object_is_type(v, json_type_array) ?
		json_object_array_length(v) : 0;

	switch (json_object_get_type(v)) {
	case json_type_null:
		break;
	case json_type_boolean:
		fputs(json_object_get_boolean(v) ? "yes" : "no", out->f);
		break;
	case json_type_array:
		for (size_t i = 0; i < n; i++) {
			if (i)
				putc(separator, out->f);
			print_value(json_object_array_get_idx(v, i), members,
				    ':', out);
		}
		break;
	case json_type_object:
		for (size_t len; *members == ':'; members += 1 + len) {
			len = strcspn(members + 1, ":|");
			print_value(below(v, members + 1, len), "", ':', out);
			fputs(members[1 + len] == ':' ? ":" : "", out->f);
		}
		break;
	default:
		print_text(json_object_get_string(v), out);
	}
}

/*
 * Only lists have a number of members; other values are printed as empty
 * fields.
 */
static void print_length(json_object *v, FILE *f)
{
	if (json_object_is_type(v, json_type_array))
		fprintf(f, "%zu", json_object_array_length(v));
}

/* Print one field of a table; its description ends at "|". */
static void print_field(const struct record *record, const char *field,
			const struct out *out)
{
	bool count = *field == '#'; /* of the elements of a list */
	json_object *v;
	size_t len;

	if (*field == '=') {
		fprintf(out->f, "%.*s", (int)strcspn(field, "|") - 1,
			field + 1);
		return;
	}
	field += count;
	/* Each "../" leads one record outwards. */
	for (; !strncmp(field, "../", 3); field += 3)
		record = record->around;
	len = strcspn(field, ":|");
	if (*field == '%') {
		fputs(record->key, out->f);
		return;
	}
	v = len ? below(record->value, field, len) : NULL;
	if (count)
		print_length(v, out->f);
	else
		print_value(v, field + len, ',', out);
}

/* Print one row: its fields, separated, and a newline. */
static void print_row(const struct record *record, const char *fields,
		      const struct out *out)
{
	for (const char *f = fields;; f++) {
		print_field(record, f, out);
		f += strcspn(f, "|");
		if (!*f)
			break;
		putc(out->separator, out->f);
	}
	putc('\n', out->f);
}

static void print_rows(const struct cli_rows *rows, size_t n, size_t at,
		       const struct record *r, const struct out *o);

/* The step of a row's list that begins at this offset. */
static const char *next_step(const struct cli_rows *rows, size_t at)
{
	return rows->list + at + (rows->list[at] == ' ');
}

/* Print the rows of each record in the list that the next step leads to. */
static void print_list(const struct cli_rows *rows, size_t n, size_t at,
		       const struct record *around, const struct out *out)
{
	const char *step = next_step(rows, at);
	size_t len = strcspn(step, " ");
	json_object *list = below(around->value, step, len);
	struct record record = { .around = around };
	char index[CLI_NUMBER];

	at = (size_t)(step + len - rows->list);
	if (json_object_is_type(list, json_type_object)) {
		json_object_object_foreach(list, key, value) {
			record.key = key;
			record.value = value;
			print_rows(rows, n, at, &record, out);
		}
	}
	if (!json_object_is_type(list, json_type_array))
		return;
	record.key = index;
	for (size_t i = 0; i < json_object_array_length(list); i++) {
		snprintf(index, sizeof(index), "%zu", i);
		record.value = json_object_array_get_idx(list, i);
		print_rows(rows, n, at, &record, out);
	}
}

/* Do the lists of a and b have the same next step? */
static bool same_step(const struct cli_rows *a, const struct cli_rows *b,
		      size_t at)
{
	const char *one = next_step(a, at), *other = next_step(b, at);
	size_t len = strcspn(one, " ");

	return strcspn(other, " ") == len && !strncmp(one, other, len);
}

/* at: length of the part of their lists that led to the record */
static void print_rows(const struct cli_rows *rows, size_t n, size_t at,
		       const struct record *record, const struct out *out)
{
	/* Rows whose list ends here print this record. */
	for (; n && !rows->list[at]; n--)
		print_row(record, rows++->fields, out);
	/* Rows with the same next step are printed element by element. */
	for (size_t same; n; rows += same, n -= same) {
		for (same = 1; same < n && same_step(rows, rows + same, at);)
			same++;
		print_list(rows, same, at, record, out);
	}
}

/* ---- --noheader, --format and --sort ---- */

static struct cli_row_selection wanted;

void cli_print_select(const struct cli_row_selection *selection)
{
	wanted = *selection;
}

#define MAX_FIELDS 128

/* A line, cut into its fields. */
struct line {
	char *field[MAX_FIELDS];
	size_t n;
};

/* Split a line in place; fields beyond MAX_FIELDS are dropped. */
static void split_line(char *text, char separator, struct line *line)
{
	line->n = 0;
	for (char *next; text && line->n < MAX_FIELDS; text = next) {
		next = strchr(text, separator);
		if (next)
			*next++ = '\0';
		line->field[line->n++] = text;
	}
}

/* Index of the field with that name, or -1 after printing an error. */
static int find_field(const struct line *head, const char *name, size_t len)
{
	char typed[64], like[128];

	snprintf(typed, sizeof(typed), "%.*s", (int)len, name);
	for (size_t i = 0; i < head->n; i++)
		if (!strcasecmp(head->field[i], typed))
			return (int)i;
	/* A typing error is answered with the names most like it. */
	np_suggest(typed, (const char *const *)head->field, head->n, like,
		   sizeof(like));
	cli_fail("no field \"%s\"%s", typed, like);
	fputs("fields:", stderr);
	for (size_t i = 0; i < head->n; i++)
		fprintf(stderr, " %s", head->field[i]);
	fputc('\n', stderr);
	return -1;
}

struct choice {
	int field[MAX_FIELDS]; /* indices of the fields to print */
	size_t n;
	int sort; /* index of the field to sort by, or -1 */
	bool down;
};

/* Returns false after printing an error. */
static bool choose(const struct line *head, struct choice *choice)
{
	const char *sort = wanted.sort;

	*choice = (struct choice){ .sort = -1 };
	for (const char *f = wanted.fields;
	     f && *f && choice->n < MAX_FIELDS;) {
		size_t len = strcspn(f, ",");

		choice->field[choice->n] = find_field(head, f, len);
		if (choice->field[choice->n++] < 0)
			return false;
		f += len + (f[len] == ',');
	}
	for (size_t i = 0; !wanted.fields && i < head->n; i++)
		choice->field[choice->n++] = (int)i;
	/* "-Name" sorts in descending order. */
	choice->down = sort && *sort == '-';
	if (sort)
		choice->sort = find_field(head, sort + choice->down,
					  strlen(sort + choice->down));
	return !sort || choice->sort >= 0;
}

/* Numbers are compared by value, other text bytewise; empty fields are last. */
static int compare(const void *a, const void *b, void *choice)
{
	const struct line *x = a, *y = b;
	const struct choice *c = choice;
	size_t at = (size_t)c->sort;
	const char *s = at < x->n ? x->field[at] : "";
	const char *t = at < y->n ? y->field[at] : "";
	char *s_end, *t_end;
	double v = strtod(s, &s_end), w = strtod(t, &t_end);
	int order;

	if (!*s || !*t)
		return !*s - !*t;
	order = *s_end || *t_end ? strcmp(s, t) : v < w ? -1 : v > w;
	return c->down ? -order : order;
}

/* Print the selected fields; fields that a line lacks are empty. */
static void print_chosen(const struct line *line, const struct choice *choice,
			 char separator)
{
	for (size_t i = 0; i < choice->n; i++)
		printf("%s%.*s",
		       (size_t)choice->field[i] < line->n ?
			       line->field[choice->field[i]] :
			       "",
		       i + 1 < choice->n, &separator);
	putchar('\n');
}

/* text: all rows, the head first.  Returns the exit status. */
static int print_wanted(char *text, char separator)
{
	struct line head, *line;
	struct choice choice;
	size_t n = 0, lines = 1;
	char *save = NULL;

	for (const char *t = text; *t; t++)
		lines += *t == '\n';
	line = calloc(lines, sizeof(*line));
	if (!line)
		return cli_fail("out of memory");
	split_line(strtok_r(text, "\n", &save), separator, &head);
	if (!choose(&head, &choice)) {
		free(line);
		return CLI_USAGE;
	}
	for (char *t; (t = strtok_r(NULL, "\n", &save));)
		split_line(t, separator, &line[n++]);
	if (choice.sort >= 0)
		qsort_r(line, n, sizeof(*line), compare, &choice);
	if (!wanted.noheader)
		print_chosen(&head, &choice, separator);
	for (size_t i = 0; i < n; i++)
		print_chosen(&line[i], &choice, separator);
	free(line);
	return CLI_DONE;
}

/* Print the head and all rows. */
static void print_all(json_object *output, const struct cli_table *table,
		      const struct out *out)
{
	struct record record = { .value = output };
	size_t n = 0;

	while (n < NP_ARRAY_SIZE(table->rows) && table->rows[n].list)
		n++;
	for (const char *c = table->head; *c; c++)
		putc(*c == '|' ? out->separator : *c, out->f);
	putc('\n', out->f);
	print_rows(table->rows, n, 0, &record, out);
}

/*
 * With --noheader, --format or --sort the rows are first printed into memory,
 * then selected and sorted.
 */
int cli_print_output(enum cli_format format, const char *command,
		     json_object *output, const struct cli_table *table)
{
	struct out out = { stdout, format == CLI_CSV ? ',' : '|' };
	char *text = NULL;
	int rc = CLI_DONE;
	size_t len;

	if (format == CLI_JSON)
		return cli_print_json(command, output);
	if (wanted.any) {
		out.f = open_memstream(&text, &len);
		if (!out.f)
			return cli_fail("out of memory");
	}
	print_all(output, table, &out);
	json_object_put(output);
	if (wanted.any) {
		rc = fclose(out.f) ? cli_fail("out of memory") :
				     print_wanted(text, out.separator);
		free(text);
	}
	return rc;
}
