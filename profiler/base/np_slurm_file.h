/*
 * Slurm's own configuration files, read as Slurm reads them, and the text that
 * scontrol prints.  Every reader of either is built on this one.
 *
 * The syntax of slurm.conf(5) and topology.conf(5): a line has one or more
 * "Key=Value", with blanks around "=" and values in double quotes; "#" starts
 * a comment; "\" at the end continues a line, and elsewhere takes the next
 * character as it is; "Include FILE" at the beginning of a line reads another
 * file.  np_slurm_stack.h has the syntax of plugstack.conf.
 */
#ifndef NP_SLURM_FILE_H
#define NP_SLURM_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "np_err.h"

struct np_slurm_line {
	const char *path;  /* of the file */
	unsigned number;   /* of the first of the lines that were joined */
	char *text;	   /* may be written to */
};

/* Returns 0, or -errno with err, which ends the reading. */
typedef int np_slurm_line_f(void *arg, const struct np_slurm_line *line,
			    struct np_err *err);

/*
 * Call each() for every line that is not blank, those of included files at
 * their place.  An included file is looked for beside the file that includes
 * it, as Slurm until 22.05 does, and then beside path, as later releases do.
 * cluster: what "%c" in the name of an included file stands for, in lower
 * case; read when it is needed, so that each() may set it; NULL: nothing.
 *
 * path: hostile input.  It and all that it includes have at most 16 MiB in 256
 * files.  Returns 0, what each() returned, -EINVAL with file and line,
 * -EFBIG, -ENOMEM, or what opening and reading gave.
 */
int np_slurm_file(const char *path, const char *cluster, np_slurm_line_f *each,
		  void *arg, struct np_err *err);

/* A "Key=Value" of a line; both point into it. */
struct np_slurm_pair {
	const char *key, *value;
};

/*
 * Take the next pair off a line of a file.  An operator before "=", as in
 * "Key+=Value", is passed over.  false: what is left at *text, which may be
 * blanks alone, begins with none.
 */
bool np_slurm_pair(char **text, struct np_slurm_pair *out);

/* The same of a record that scontrol prints: a value ends where a key begins. */
bool np_slurm_printed_pair(char **text, struct np_slurm_pair *out);

/*
 * The value of a line "Key = Value" as scontrol show config prints it, up to
 * the line's end and cut at len - 1 bytes.  false: there is no such line.
 */
bool np_slurm_setting(const char *text, const char *key, char *buf,
		      size_t len);

/* Is the text nothing but white space? */
bool np_slurm_is_blank(const char *text);

/*
 * The text of a file of at most max bytes, malloc'ed; a byte-order mark, which
 * Slurm takes for a part of a key, and NUL characters are refused.
 */
int np_slurm_text(const char *path, size_t max, char **text, size_t *len,
		  struct np_err *err);

#endif
