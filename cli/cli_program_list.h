/*
 * The list of programs that netprof validate measures, as users write it,
 * netprof-validate(1):
 *
 *	program melt
 *	  nodes 4
 *	  directory /home/alice/melt
 *	  srun --mpi=pmix
 *	  run lmp -in in.melt
 *	  longer lmp -in in.melt.long
 *
 * A list is hostile input. If it is malformed, the message names the file, the
 * line, the value and what was expected instead.
 */
#ifndef CLI_PROGRAM_LIST_H
#define CLI_PROGRAM_LIST_H

#include <stddef.h>
#include <stdint.h>

#include "np_app.h"
#include "np_err.h"

#define CLI_BEGINS_SEC 5 /* default of begins_sec */

struct cli_program {
	char name[NP_APP_MAX + 1];
	size_t line; /* of the list, where it begins */
	uint32_t nodes, tasks_per_node;
	char *directory; /* NULL: the current directory */
	/* Words, each separated by one blank from the next. */
	char *srun_options; /* NULL: none */
	char *command;
	/* The same work for a longer time, for the profile and to run as a
	 * co-runner; NULL: not given. */
	char *longer_command;
	double begins_sec; /* from its start to its first communication */
	double takes_sec;  /* expected run time alone; 0: not given */
};

struct cli_program_list {
	struct cli_program *program;
	size_t n;
	/* Programs, layouts and commands in one line. Runs can be compared if
	 * their setups are equal. */
	char *setup;
};

/*
 * Read a list from a regular file. Returns 0 (free with
 * cli_program_list_free()), or with err -EINVAL (not such a list), -EFBIG,
 * -ENOMEM, or -errno of opening and reading.
 */
int cli_program_list_read(const char *path, struct cli_program_list *out,
			  struct np_err *err);

/* The same from text, which messages call `source`. For the unit tests. */
int cli_program_list_parse(const char *text, size_t len, const char *source,
			   struct cli_program_list *out, struct np_err *err);

void cli_program_list_free(struct cli_program_list *list);

/* Return the command of a co-runner, and of the run that makes the profile. */
static inline const char *cli_longer_command(const struct cli_program *program)
{
	return program->longer_command ? program->longer_command :
					 program->command;
}

#endif
