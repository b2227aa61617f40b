/*
 * Slurm's own configuration files, read as Slurm reads them, and the text that
 * scontrol prints. Every reader of either is built on this module.
 *
 * All files are hostile input: their size and number are limited.
 */
#ifndef NP_SLURM_FILE_H
#define NP_SLURM_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "np_err.h"

/* ---- slurm.conf(5) and topology.conf(5) ---- */

/*
 * A line has one or more "Key=Value", with blanks around "=" and values in
 * double quotes; "#" starts a comment; "\" at the end continues a line, and
 * elsewhere escapes the next character; "Include FILE" at the beginning of a
 * line reads another file.
 */

struct np_slurm_line {
	const char *path; /* of the file */
	unsigned number;  /* of the first of the lines that were joined */
	char *text;	  /* may be modified */
};

/* Returns 0, or -errno with err, which ends the reading. */
typedef int np_slurm_line_f(void *arg, const struct np_slurm_line *line,
			    struct np_err *err);

/*
 * Call each() for every line that is not blank, those of included files in
 * their place. An included file is searched for in the directory of the file
 * that includes it, as Slurm until 22.05 does, and then in that of path, as
 * later releases do. cluster: replaces "%c" in the name of an included file,
 * in lower case. It is read when it is needed, so that each() may set it; NULL:
 * not known.
 *
 * path and all that it includes have at most 16 MiB in 256 files. A line ends
 * at a NUL, as for Slurm. Returns 0, what each() returned, -EINVAL with file and
 * line, -EFBIG, -ENOMEM, or an error of opening and reading. If all was read,
 * but Slurm may understand it otherwise: -EILSEQ (a line has a NUL) or -ENOMSG
 * (an Include at the end of the file without a line break), with err.
 */
int np_slurm_file(const char *path, const char *cluster, np_slurm_line_f *each,
		  void *arg, struct np_err *err);

/* Does np_slurm_file() return this if all was read? */
bool np_slurm_was_read(int rc);

/* One "Key=Value"; both point into the line. */
struct np_slurm_pair {
	const char *key, *value;
};

/*
 * Take the next pair off a line of a file. An operator before "=", as in
 * "Key+=Value", is skipped. False: the rest of the line at *text, which may be
 * blank, does not start with a pair.
 */
bool np_slurm_pair(char **text, struct np_slurm_pair *out);

/* True if the text is nothing but white space. */
bool np_slurm_is_blank(const char *text);

/* ---- what scontrol prints ---- */

/* Take the next pair off a record. A value ends where the next key starts. */
bool np_slurm_printed_pair(char **text, struct np_slurm_pair *out);

/*
 * The value of a line "Key = Value" of scontrol show config, up to the end of
 * the line and cut at len - 1 bytes. False: there is no such line.
 */
bool np_slurm_setting(const char *text, const char *key, char *buf, size_t len);

/* ---- plugstack.conf(5) ---- */

/*
 * A line is "optional", "required" or "include", a word and the arguments of
 * the plugin, separated by blanks; "#" starts a comment. Patterns of included
 * files are relative to the directory of the file that includes them. There are
 * no quotes and no continued lines.
 */

enum np_slurm_stack_kind {
	NP_SLURM_OPTIONAL,
	NP_SLURM_REQUIRED,
	NP_SLURM_INCLUDE
};

/* not a carriage return; Slurm does not treat it as a blank either */
#define NP_SLURM_BLANKS " \t\n"

struct np_slurm_stack_line {
	const char *path; /* of the file */
	unsigned number;  /* from 1 */
	enum np_slurm_stack_kind kind;
	const char *word;    /* a plugin, or an include pattern as written */
	char *arguments;     /* of the plugin, may be modified; NULL: none */
	const char *pattern; /* with its directory; NULL: it is too long */
	/* The include that led to the file; NULL: it is the first file. */
	const struct np_slurm_stack_line *from;
};

/* Returns 0, or an error that ends the reading. */
typedef int np_slurm_stack_f(void *arg, const struct np_slurm_stack_line *line,
			     struct np_err *err);

/*
 * Call each() for every line, those of included files after their include.
 * Lines of another form are skipped, as Slurm does, and so are missing files,
 * directories and devices. Of a line with a NUL only what precedes that counts. All
 * files together have at most 1 MiB. Returns 0, what each() returned, -EILSEQ
 * with err if all was read but is not all text, or another error with err.
 */
int np_slurm_stack(const char *path, np_slurm_stack_f *each, void *arg,
		   struct np_err *err);

#endif
