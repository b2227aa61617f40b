#include "np_slurm_stack.h"

#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "np_slurm_file.h"

#define MAX_BYTES ((size_t)1 << 20) /* of all files together */
#define MAX_FILES 256
#define MAX_DEPTH 16
#define BLANKS " \t" /* a carriage return is none, for Slurm either */

struct reader {
	np_slurm_stack_f *each;
	void *arg;
	size_t bytes, files; /* that may still be read */
};

static int read_file(struct reader *r, const char *path,
		     const struct np_slurm_stack_line *from, int depth,
		     struct np_err *err);

int np_slurm_stack_pattern(const struct np_slurm_stack_line *line, char *buf,
			   size_t len)
{
	const char *slash = strrchr(line->path, '/');
	int dir = *line->word == '/' || !slash ? 0 :
		  (int)(slash + 1 - line->path);
	int n = snprintf(buf, len, "%.*s%s", dir, line->path, line->word);

	return n < 0 || (size_t)n >= len ? -ENAMETOOLONG : 0;
}

static int include(struct reader *r, const struct np_slurm_stack_line *line,
		   int depth, struct np_err *err)
{
	char pattern[PATH_MAX];
	glob_t g;
	int rc = 0;

	if (np_slurm_stack_pattern(line, pattern, sizeof(pattern)))
		return np_errf(err, -ENAMETOOLONG, "%s:%u: include: the name "
			       "is too long", line->path, line->number);
	if (depth + 1 == MAX_DEPTH)
		return np_errf(err, -EINVAL, "%s:%u: include: files include "
			       "each other, or are more than %d deep",
			       line->path, line->number, MAX_DEPTH);
	if (!glob(pattern, 0, NULL, &g))
		for (size_t i = 0; !rc && i < g.gl_pathc; i++)
			rc = read_file(r, g.gl_pathv[i], line, depth + 1, err);
	globfree(&g);
	return rc;
}

/* false: the line has neither of the three words, or nothing behind it. */
static bool parse(char *text, struct np_slurm_stack_line *line)
{
	static const char *const words[] = {
		[NP_SLURM_OPTIONAL] = "optional",
		[NP_SLURM_REQUIRED] = "required",
		[NP_SLURM_INCLUDE] = "include",
	};
	char *save, *word;
	size_t k = 0;

	text[strcspn(text, "#")] = '\0';
	word = strtok_r(text, BLANKS, &save);
	while (word && k < NP_ARRAY_SIZE(words) && strcmp(word, words[k]))
		k++;
	line->kind = (enum np_slurm_stack_kind)k;
	line->word = word ? strtok_r(NULL, BLANKS, &save) : NULL;
	return line->word && k < NP_ARRAY_SIZE(words);
}

static int take_lines(struct reader *r, const char *path, char *text,
		      const struct np_slurm_stack_line *from, int depth,
		      struct np_err *err)
{
	struct np_slurm_stack_line line = { .path = path, .from = from };
	int rc = 0;

	for (char *one; !rc && (one = strsep(&text, "\n")); ) {
		line.number++;
		if (!parse(one, &line))
			continue;
		rc = r->each(r->arg, &line, err);
		if (!rc && line.kind == NP_SLURM_INCLUDE)
			rc = include(r, &line, depth, err);
	}
	return rc;
}

static int read_file(struct reader *r, const char *path,
		     const struct np_slurm_stack_line *from, int depth,
		     struct np_err *err)
{
	char *text;
	size_t len;
	int rc;

	if (!r->files--)
		return np_errf(err, -EINVAL, "%s: more than %d files are "
			       "included", path, MAX_FILES - 1);
	rc = np_slurm_text(path, r->bytes, &text, &len, err);
	if (rc)
		return rc == -ENOENT ? 0 : rc;
	r->bytes -= len;
	rc = take_lines(r, path, text, from, depth, err);
	free(text);
	return rc;
}

int np_slurm_stack(const char *path, np_slurm_stack_f *each, void *arg,
		   struct np_err *err)
{
	struct reader r = {
		.each = each, .arg = arg, .bytes = MAX_BYTES,
		.files = MAX_FILES,
	};

	return read_file(&r, path, NULL, 0, err);
}
