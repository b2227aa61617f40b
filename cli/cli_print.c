/*
 * Output for programs: JSON, and rows of fields that are taken from the same
 * tree of values.
 *
 * A row is described by text (struct cli_rows): the lists to traverse, and a
 * pointer for each field. For example, { "profiles", "app|owner|last" }
 * prints one line for each element of "profiles" with its name, its owner and
 * a date. Because rows are taken from the tree, a number is the same in all
 * formats.
 */
#include "cli_print.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json_pointer.h>

#include "cli.h"
#include "cli_text.h"
#include "np_fields.h"
#include "np_read.h"
#include "np_text.h"

#define MAX_POINTER 64 /* bytes of a JSON pointer in a table */

struct record {
	json_object *value;
	const char *key; /* its name in an object, or index in a list */
	const struct record *parent; /* the surrounding record, or NULL */
};

int cli_json_read(const char *path, size_t max, json_object **out,
		  struct np_err *err)
{
	const struct np_jat at = { .where = path, .err = err };
	size_t len;
	char *text;
	int rc = np_read_file(path, max, &text, &len, err);

	if (rc)
		return rc;
	rc = np_kind_check(text, len, NP_KIND_JSON, path, err);
	if (!rc)
		rc = np_jget_parse(&at, text, len, out);
	free(text);
	return rc;
}

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
	text = json_object_to_json_string_ext(
		all, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED |
			     JSON_C_TO_STRING_NOSLASHESCAPE);
	rc = text ? CLI_DONE : cli_fail("out of memory");
	if (text)
		puts(text);
	json_object_put(all);
	return rc;
}

/* ---- rows ---- */

/* Find the value at a pointer of len bytes, relative to `in`; NULL: none. */
static json_object *find_value(json_object *in, const char *pointer, size_t len)
{
	char path[MAX_POINTER + 2];
	json_object *found;

	if (len == 1 && *pointer == '.')
		return in;
	snprintf(path, sizeof(path), "/%.*s", (int)len, pointer);
	return in && !json_pointer_get(in, path, &found) ? found : NULL;
}

/* Where and how rows are printed. */
struct out {
	FILE *file;
	char separator; /* between fields */
};

/* Print a text, replacing separators and newlines in it. */
static void print_text(const char *text, const struct out *out)
{
	for (; *text; text++)
		putc(*text != out->separator && *text != '\n' ? *text :
		     *text == ','			      ? ' ' :
								'_',
		     out->file);
}

/*
 * Print a value. separator is printed between the elements of a list, and ":"
 * between the values within an element. members, such as ":a:b", selects the
 * members of an object to print.
 */
static void print_value(json_object *value, const char *members, char separator,
			const struct out *out)
{
	size_t n = json_object_is_type(value, json_type_array) ?
			   json_object_array_length(value) :
			   0;

	switch (json_object_get_type(value)) {
	case json_type_null:
		break;
	case json_type_boolean:
		fputs(json_object_get_boolean(value) ? "yes" : "no", out->file);
		break;
	case json_type_array:
		for (size_t i = 0; i < n; i++) {
			if (i)
				putc(separator, out->file);
			print_value(json_object_array_get_idx(value, i),
				    members, ':', out);
		}
		break;
	case json_type_object:
		for (size_t len; *members == ':'; members += 1 + len) {
			len = strcspn(members + 1, ":|");
			print_value(find_value(value, members + 1, len), "",
				    ':', out);
			fputs(members[1 + len] == ':' ? ":" : "", out->file);
		}
		break;
	default:
		print_text(json_object_get_string(value), out);
	}
}

/* Print one field of a table; its description ends at "|". */
static void print_field(const struct record *record, const char *field,
			const struct out *out)
{
	bool count = *field == '#'; /* print the number of elements of a list */
	json_object *value;
	size_t len;

	if (*field == '=') {
		fprintf(out->file, "%.*s", (int)strcspn(field, "|") - 1,
			field + 1);
		return;
	}
	field += count;
	/* Each "../" leads one record outwards. */
	for (; !strncmp(field, "../", 3); field += 3)
		record = record->parent;
	len = strcspn(field, ":|");
	if (*field == '%') {
		fputs(record->key, out->file);
		return;
	}
	value = len ? find_value(record->value, field, len) : NULL;
	if (count && json_object_is_type(value, json_type_array))
		fprintf(out->file, "%zu", json_object_array_length(value));
	else if (!count)
		print_value(value, field + len, ',', out);
}

/* Print one row: its fields, separated, and a newline. */
static void print_row(const struct record *record, const char *fields,
		      const struct out *out)
{
	for (const char *field = fields;; field++) {
		print_field(record, field, out);
		field += strcspn(field, "|");
		if (!*field)
			break;
		putc(out->separator, out->file);
	}
	putc('\n', out->file);
}

static void print_rows(const struct cli_rows *rows, size_t n, size_t offset,
		       const struct record *record, const struct out *out);

/* Return the step of a row's list that begins at this offset. */
static const char *next_step(const struct cli_rows *rows, size_t offset)
{
	return rows->list + offset + (rows->list[offset] == ' ');
}

/* Print the rows for each record in the list to which their next step leads. */
static void print_list(const struct cli_rows *rows, size_t n, size_t offset,
		       const struct record *parent, const struct out *out)
{
	const char *step = next_step(rows, offset);
	size_t len = strcspn(step, " ");
	json_object *list = find_value(parent->value, step, len);
	struct record record = { .parent = parent };
	char index[CLI_NUMBER_LEN];

	offset = (size_t)(step + len - rows->list);
	if (json_object_is_type(list, json_type_object)) {
		json_object_object_foreach(list, key, value) {
			record.key = key;
			record.value = value;
			print_rows(rows, n, offset, &record, out);
		}
	}
	if (!json_object_is_type(list, json_type_array))
		return;
	record.key = index;
	for (size_t i = 0; i < json_object_array_length(list); i++) {
		snprintf(index, sizeof(index), "%zu", i);
		record.value = json_object_array_get_idx(list, i);
		print_rows(rows, n, offset, &record, out);
	}
}

/* Whether the lists of two rows have the same next step. */
static bool has_same_step(const struct cli_rows *a, const struct cli_rows *b,
			  size_t offset)
{
	const char *step_a = next_step(a, offset),
		   *step_b = next_step(b, offset);
	size_t len = strcspn(step_a, " ");

	return strcspn(step_b, " ") == len && !strncmp(step_a, step_b, len);
}

/*
 * Print n rows for a record. offset is the length of the part of their lists
 * that leads to the record, and is the same in all of them.
 */
static void print_rows(const struct cli_rows *rows, size_t n, size_t offset,
		       const struct record *record, const struct out *out)
{
	/* Rows whose list ends here print this record. */
	for (; n && !rows->list[offset]; n--)
		print_row(record, rows++->fields, out);
	/* Print rows with the same next step together, for each record. */
	for (size_t n_same; n; rows += n_same, n -= n_same) {
		for (n_same = 1;
		     n_same < n && has_same_step(rows, rows + n_same, offset);)
			n_same++;
		print_list(rows, n_same, offset, record, out);
	}
}

/* ---- --noheader, --format and --sort ---- */

static struct cli_row_selection selection;

void cli_print_select(const struct cli_row_selection *new_selection)
{
	selection = *new_selection;
}

#define MAX_FIELDS 128

/* A line, split into its fields. */
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
	char wanted[64], suggestion[128];

	snprintf(wanted, sizeof(wanted), "%.*s", (int)len, name);
	for (size_t i = 0; i < head->n; i++)
		if (!strcasecmp(head->field[i], wanted))
			return (int)i;
	/* If it is a typing error, suggest similar names. */
	np_suggest(wanted, (const char *const *)head->field, head->n,
		   suggestion, sizeof(suggestion));
	cli_fail("no field \"%s\"%s", wanted, suggestion);
	fputs("fields:", stderr);
	for (size_t i = 0; i < head->n; i++)
		fprintf(stderr, " %s", head->field[i]);
	fputc('\n', stderr);
	return -1;
}

/* The columns that --format and --sort select. */
struct columns {
	int field[MAX_FIELDS]; /* indices of the fields to print */
	size_t n;
	int sort; /* index of the field to sort by, or -1 */
	bool descending;
};

/* Find the selected columns. Returns false after printing an error. */
static bool choose_columns(const struct line *head, struct columns *columns)
{
	const char *sort = selection.sort;

	*columns = (struct columns){ .sort = -1 };
	for (const char *name = selection.fields;
	     name && *name && columns->n < MAX_FIELDS;) {
		size_t len = strcspn(name, ",");

		columns->field[columns->n] = find_field(head, name, len);
		if (columns->field[columns->n++] < 0)
			return false;
		name += len + (name[len] == ',');
	}
	for (size_t i = 0; !selection.fields && i < head->n; i++)
		columns->field[columns->n++] = (int)i;
	/* "-Name" sorts in descending order. */
	columns->descending = sort && *sort == '-';
	if (sort)
		columns->sort = find_field(head, sort + columns->descending,
					   strlen(sort + columns->descending));
	return !sort || columns->sort >= 0;
}

/*
 * Read the number at the beginning of a field. Returns the rest of the field.
 * A field without one is its own rest, and *value is infinite. Letters are not
 * read as numbers, although strtod() accepts "inf" and "nan".
 */
static const char *leading_number(const char *text, double *value)
{
	char *rest;

	*value = INFINITY;
	if (!isdigit((unsigned char)text[strspn(text, "+-.")]))
		return text;
	*value = strtod(text, &rest);
	return rest;
}

/*
 * Compare the numbers at the beginning of two fields by value, and then the
 * rest as strverscmp() does, so that job 9 is before 12_3, and that before
 * 12_10. Lines whose field is empty are last.
 */
static int compare_lines(const void *a, const void *b, void *arg)
{
	const struct line *line_a = a, *line_b = b;
	const struct columns *columns = arg;
	size_t field = (size_t)columns->sort;
	const char *text_a = field < line_a->n ? line_a->field[field] : "";
	const char *text_b = field < line_b->n ? line_b->field[field] : "";
	const char *rest_a, *rest_b;
	double value_a, value_b;
	int order;

	if (!*text_a || !*text_b)
		return !*text_a - !*text_b;
	rest_a = leading_number(text_a, &value_a);
	rest_b = leading_number(text_b, &value_b);
	order = value_a < value_b ? -1 :
		value_a > value_b ? 1 :
				    strverscmp(rest_a, rest_b);
	return columns->descending ? -order : order;
}

/* Print the selected fields of a line; missing ones are empty. */
static void print_columns(const struct line *line,
			  const struct columns *columns, char separator)
{
	for (size_t i = 0; i < columns->n; i++)
		printf("%s%.*s",
		       (size_t)columns->field[i] < line->n ?
			       line->field[columns->field[i]] :
			       "",
		       i + 1 < columns->n, &separator);
	putchar('\n');
}

/*
 * Print the selected columns of a text, whose first line is the head, sorted as
 * selected. Returns the exit status.
 */
static int print_selected(char *text, char separator)
{
	struct line head, *line;
	struct columns columns;
	size_t n = 0, lines = 1;
	char *rest = NULL;

	for (const char *pos = text; *pos; pos++)
		lines += *pos == '\n';
	line = cli_calloc(lines, sizeof(*line));
	split_line(strtok_r(text, "\n", &rest), separator, &head);
	if (!choose_columns(&head, &columns)) {
		free(line);
		return CLI_USAGE;
	}
	for (char *pos; (pos = strtok_r(NULL, "\n", &rest));)
		split_line(pos, separator, &line[n++]);
	if (columns.sort >= 0)
		qsort_r(line, n, sizeof(*line), compare_lines, &columns);
	if (!selection.noheader)
		print_columns(&head, &columns, separator);
	for (size_t i = 0; i < n; i++)
		print_columns(&line[i], &columns, separator);
	free(line);
	return CLI_DONE;
}

/* Print the head and all rows. */
static void print_all(json_object *output, const struct cli_table *table,
		      const struct out *out)
{
	struct record record = { .value = output };
	size_t n_rows = 0;

	while (n_rows < NP_ARRAY_SIZE(table->rows) && table->rows[n_rows].list)
		n_rows++;
	for (const char *head = table->head; *head; head++)
		putc(*head == '|' ? out->separator : *head, out->file);
	putc('\n', out->file);
	print_rows(table->rows, n_rows, 0, &record, out);
}

/*
 * With --noheader, --format or --sort, the rows are printed into memory first,
 * and then sorted and printed.
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
	if (selection.any)
		out.file = cli_stream_open(&text, &len);
	print_all(output, table, &out);
	json_object_put(output);
	if (selection.any) {
		cli_stream_close(out.file, &text);
		rc = print_selected(text, out.separator);
		free(text);
	}
	return rc;
}
