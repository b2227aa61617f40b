/* Reading the list of programs that netprof validate measures. */
#include "cli_program_list.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "np_array.h"
#include "np_level.h"
#include "np_measured.h"
#include "np_read.h"
#include "np_words.h"

#define MAX_BYTES (1u << 20) /* of a file */
#define MAX_COMMAND_WORDS 32
#define MAX_SRUN_OPTIONS 12
#define MAX_NODES 65536
#define MAX_TASKS 1024 /* per node */

void cli_program_list_free(struct cli_program_list *list)
{
	for (size_t i = 0; i < list->n; i++) {
		free(list->program[i].directory);
		free(list->program[i].srun_options);
		free(list->program[i].command);
		free(list->program[i].longer_command);
	}
	free(list->program);
	free(list->setup);
	*list = (struct cli_program_list){ .n = 0 };
}

/* ---- one line ---- */

/*
 * Fail: "WORD": expected ... If there are too few or too many words after a
 * keyword, WORD is the keyword, as in "nodes": expected one number after it.
 */
static void fail_expecting(struct np_words *line, const char *word,
			   const char *expected)
{
	np_words_fail(line, -EINVAL, "\"%.64s\": expected %s", word, expected);
}

/* Check a name: new, valid for a profile, and neither idle nor a load level. */
static void check_name(struct np_words *line, const char *name,
		       const struct cli_program_list *list)
{
	struct np_level level;
	struct np_err why;

	if (np_app_check(name, &why))
		np_words_fail(line, -EINVAL, "%s", why.text);
	else if (!strcmp(name, "idle") || !np_level_parse(name, &level, NULL))
		fail_expecting(
			line, name,
			"another name, as idle and the names of load levels are "
			"reserved");
	for (size_t i = 0; !line->rc && i < list->n; i++)
		if (!strcmp(list->program[i].name, name))
			fail_expecting(
				line, name,
				"another name, as an earlier program has this "
				"one");
}

/* "program NAME": begin a program. */
static void begin_program(struct np_words *line, struct cli_program_list *list)
{
	const char *name = np_words_at(line, 1);
	struct cli_program *program;

	if (line->n != 2)
		fail_expecting(line, "program", "one name after it");
	else
		check_name(line, name, list);
	if (!line->rc && list->n == NP_PAIRS_MAX_PROGRAMS)
		np_words_fail(line, -EINVAL,
			      "\"%s\": expected at most %d programs", name,
			      NP_PAIRS_MAX_PROGRAMS);
	if (line->rc)
		return;
	if (np_array_grow(&list->program, list->n, sizeof(*list->program))) {
		np_words_no_memory(line);
		return;
	}
	program = &list->program[list->n++];
	*program = (struct cli_program){
		.line = line->line,
		.begins_sec = NAN,
		.takes_sec = NAN, /* not given yet */
	};
	strcpy(program->name, name);
}

/* "KEYWORD WORD...": a command or options, given once. */
static void parse_words(struct np_words *line, char **out, size_t max)
{
	char text[NP_WORDS_LINE] = "", *end = text;
	size_t n = line->n - 1;

	if (*out)
		fail_expecting(line, line->word[0], "once in a program");
	else if (!n || n > max)
		np_words_fail(line, -EINVAL,
			      "\"%s\": expected 1 to %zu words after it",
			      line->word[0], max);
	if (line->rc)
		return;
	/* It is not longer than the line. */
	for (size_t i = 1; i <= n; i++)
		end = stpcpy(stpcpy(end, i > 1 ? " " : ""), line->word[i]);
	*out = strdup(text);
	if (!*out)
		np_words_no_memory(line);
}

/* "KEYWORD N", given once. */
static void parse_count(struct np_words *line, uint32_t *out, uint32_t max)
{
	uint64_t count;

	if (*out)
		fail_expecting(line, line->word[0], "once in a program");
	count = np_words_count(line, 1, max);
	if (!line->rc && (line->n != 2 || !count))
		np_words_fail(line, -EINVAL,
			      "\"%s\": expected one number after it, 1 to %u",
			      line->word[0], max);
	*out = (uint32_t)count;
}

/* "KEYWORD TIME", given once. */
static void parse_time(struct np_words *line, double *out_sec)
{
	if (!isnan(*out_sec))
		fail_expecting(line, line->word[0], "once in a program");
	*out_sec = np_words_time(line, 1);
	if (!line->rc && line->n != 2)
		fail_expecting(line, line->word[0], "one time after it");
}

/* "directory PATH", given once. */
static void parse_directory(struct np_words *line, char **out)
{
	const char *path = np_words_at(line, 1);

	if (*out)
		fail_expecting(line, "directory", "once in a program");
	else if (line->n != 2)
		fail_expecting(line, "directory", "one path after it");
	else if (*path != '/')
		fail_expecting(line, path, "an absolute path");
	if (line->rc)
		return;
	*out = strdup(path);
	if (!*out)
		np_words_no_memory(line);
}

/* Parse a line: "program NAME", or a property of the last program. */
static void parse_line(struct np_words *line, struct cli_program_list *list)
{
	struct cli_program *last = list->n ? &list->program[list->n - 1] : NULL;

	if (np_words_is(line, 0, "program"))
		begin_program(line, list);
	else if (!last)
		fail_expecting(line, line->word[0],
			       "program and its name first");
	else if (np_words_is(line, 0, "nodes"))
		parse_count(line, &last->nodes, MAX_NODES);
	else if (np_words_is(line, 0, "per-node"))
		parse_count(line, &last->tasks_per_node, MAX_TASKS);
	else if (np_words_is(line, 0, "directory"))
		parse_directory(line, &last->directory);
	else if (np_words_is(line, 0, "srun"))
		parse_words(line, &last->srun_options, MAX_SRUN_OPTIONS);
	else if (np_words_is(line, 0, "run"))
		parse_words(line, &last->command, MAX_COMMAND_WORDS);
	else if (np_words_is(line, 0, "longer"))
		parse_words(line, &last->longer_command, MAX_COMMAND_WORDS);
	else if (np_words_is(line, 0, "begins"))
		parse_time(line, &last->begins_sec);
	else if (np_words_is(line, 0, "takes"))
		parse_time(line, &last->takes_sec);
	else
		fail_expecting(
			line, line->word[0],
			"program, nodes, per-node, directory, srun, run, "
			"longer, begins or takes");
}

/* ---- the whole list ---- */

/* Check that there is a program, and that each has nodes and a command. */
static void check_complete(struct np_words *end,
			   const struct cli_program_list *list)
{
	if (!list->n)
		np_words_fail(end, -EINVAL,
			      "expected a line with program and its name");
	for (size_t i = 0; i < list->n; i++) {
		end->line = list->program[i].line;
		if (!list->program[i].nodes)
			fail_expecting(end, list->program[i].name,
				       "a line with nodes");
		if (!list->program[i].command)
			fail_expecting(end, list->program[i].name,
				       "a line with run and the command");
	}
}

/* Set what the list does not give. */
static void set_defaults(struct cli_program_list *list)
{
	for (size_t i = 0; i < list->n; i++) {
		struct cli_program *program = &list->program[i];

		if (!program->tasks_per_node)
			program->tasks_per_node = 1;
		if (isnan(program->begins_sec))
			program->begins_sec = CLI_BEGINS_SEC;
		if (isnan(program->takes_sec))
			program->takes_sec = 0;
	}
}

static void put_words(FILE *f, const char *keyword, const char *words)
{
	if (words)
		fprintf(f, " %s %s", keyword, words);
}

/* Write list->setup. It omits times, as they are only estimates. */
static int make_setup(struct cli_program_list *list)
{
	size_t len;
	FILE *f = open_memstream(&list->setup, &len);

	if (!f)
		return -ENOMEM;
	for (size_t i = 0; i < list->n; i++) {
		const struct cli_program *program = &list->program[i];

		fprintf(f, "%s%s nodes %u per-node %u", i ? "; " : "",
			program->name, program->nodes, program->tasks_per_node);
		put_words(f, "directory", program->directory);
		put_words(f, "srun", program->srun_options);
		put_words(f, "run", program->command);
		put_words(f, "longer", program->longer_command);
	}
	return fclose(f) ? -ENOMEM : 0;
}

int cli_program_list_parse(const char *text, size_t len, const char *source,
			   struct cli_program_list *out, struct np_err *err)
{
	struct cli_program_list list = { .n = 0 };
	struct np_words line;

	np_words_open(&line, text, len, source, err);
	while (np_words_next(&line))
		parse_line(&line, &list);
	check_complete(&line, &list);
	set_defaults(&list);
	if (!line.rc && make_setup(&list))
		np_words_no_memory(&line);
	if (line.rc)
		cli_program_list_free(&list);
	else
		*out = list;
	return line.rc;
}

int cli_program_list_read(const char *path, struct cli_program_list *out,
			  struct np_err *err)
{
	return NP_READ_PARSED(path, MAX_BYTES, cli_program_list_parse, out,
			      err);
}
