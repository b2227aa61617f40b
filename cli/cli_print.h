/*
 * Output for programs.
 *
 * A command makes one tree of values. --json prints the tree; --parsable and
 * --csv print parts of it as rows, which a struct cli_table describes.
 */
#ifndef CLI_PRINT_H
#define CLI_PRINT_H

#include <json-c/json.h>

#include "cli_options.h"

/* Incremented when a member is removed or changes its meaning. */
#define CLI_JSON_SCHEMA 2

/*
 * One row for each record of a list in the tree.
 *
 * list: JSON pointers (RFC 6901, without the first slash), separated by blanks,
 * each relative to a record of the one before it: "programs models" means the
 * models of each program. "": one row, for the tree itself. An object is
 * treated as the list of its members.
 *
 * fields: as many as the head has, separated by "|". Each is a JSON pointer
 * relative to the record, with these prefixes, in this order:
 *	#	print the number of members
 *	../	start at the surrounding record; may be repeated
 * "pointer:a:b" prints the members a and b of each object in a list. "=word"
 * prints the word, "%" the key or index of the record in its list, "." the
 * record itself, "" nothing.
 */
struct cli_rows {
	const char *list, *fields;
};

/*
 * Lists with a common beginning are printed record by record; they must be next
 * to each other, the shorter one first.
 */
struct cli_table {
	const char *head; /* names of the fields, separated by "|" */
	struct cli_rows rows[8];
};

/*
 * Set the values of --noheader, --format and --sort, before the command prints.
 * The strings are borrowed.
 */
void cli_print_select(const struct cli_row_selection *selection);

/*
 * Print the tree in that format and release it. Returns the exit status.
 */
int cli_print_output(enum cli_format format, const char *command,
		     json_object *output, const struct cli_table *table);

/*
 * Read a file of JSON, of at most max bytes. Returns 0 or -errno with err,
 * which names the file; the caller releases *out.
 */
int cli_json_read(const char *path, size_t max, json_object **out,
		  struct np_err *err);

/*
 * Print the tree as JSON, with the members "schema" and "command" first, and
 * release it. Returns the exit status.
 */
int cli_print_json(const char *command, json_object *output);

#endif
