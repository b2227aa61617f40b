/*
 * Pages for programs.  A command makes one tree of values; --json prints it,
 * --parsable and --csv print some of it as rows.
 */
#ifndef CLI_PRINT_H
#define CLI_PRINT_H

#include <json-c/json.h>

#include "cli_options.h"

/* Grows when a member goes, or means something else: doc/json-schema/. */
#define CLI_JSON_SCHEMA 2

/*
 * A row for each record of a list of the tree.
 *
 * list: where they are, as JSON pointers (RFC 6901, without the first slash)
 * with blanks between them, each below a record of the one before it, such as
 * "programs models"; "": one row, of the tree itself.  An object stands for the
 * list of its members.
 *
 * fields: as many as the head has, "|" between them, each a JSON pointer below
 * the record.  In front of it, in this order:
 *	@	a date in words, as sacct has it
 *	#	how many members
 *	../	from the record around it, and so on
 * "pointer:a:b" prints these members of each in a list of objects.  "=word" is
 * the word, "%" the key or the number of the record in its list, "." the record
 * itself, "" nothing.
 */
struct cli_rows {
	const char *list, *fields;
};

/*
 * Lists that begin alike are printed record by record: they stand together, the
 * shorter first.
 */
struct cli_table {
	const char *head; /* names of the fields, "|" between them */
	struct cli_rows rows[8];
};

/* Of the one page that a command prints; what it points to is borrowed. */
void cli_print_want(const struct cli_wanted_rows *w);

/* Print it as the page of a command, and release it; returns the exit status. */
int cli_print_page(enum cli_format format, const char *command,
		   json_object *page, const struct cli_table *table);

/* The same as JSON: "schema" and "command" come before all else. */
int cli_print_json(const char *command, json_object *page);

#endif
