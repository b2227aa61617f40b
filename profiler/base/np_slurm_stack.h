/*
 * Slurm's plugstack.conf(5), read as Slurm reads it: a line is "optional",
 * "required" or "include" and a word, separated by blanks; "#" starts a
 * comment; a pattern of files is looked for beside the file that includes it.
 * There are no quotes and no continued lines.
 */
#ifndef NP_SLURM_STACK_H
#define NP_SLURM_STACK_H

#include <stdbool.h>

#include <stddef.h>

#include "np_err.h"

enum np_slurm_stack_kind {
	NP_SLURM_OPTIONAL, NP_SLURM_REQUIRED, NP_SLURM_INCLUDE
};

struct np_slurm_stack_line {
	const char *path; /* of the file */
	unsigned number;  /* from 1 */
	enum np_slurm_stack_kind kind;
	const char *word; /* a plugin, or the pattern of an include as written */
	/* The include by which the file was found; NULL: it is the first. */
	const struct np_slurm_stack_line *from;
};

/*
 * The pattern of an include with its directory.  Returns 0, or -ENAMETOOLONG:
 * it has more than len - 1 bytes.
 */
int np_slurm_stack_pattern(const struct np_slurm_stack_line *line, char *buf,
			   size_t len);

/* Returns 0, or an error that ends the reading. */
typedef int np_slurm_stack_f(void *arg, const struct np_slurm_stack_line *line,
			     struct np_err *err);

/*
 * Call each() for every line, those of included files behind their include.
 * Lines of another form are passed over, as Slurm does, and so are files that
 * are not there.  path: hostile input; as np_slurm_file().  Returns 0, what
 * each() returned, or -errno with err.
 */
int np_slurm_stack(const char *path, np_slurm_stack_f *each, void *arg,
		   struct np_err *err);

#endif
