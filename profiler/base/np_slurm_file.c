#include "np_slurm_file.h"

#include <ctype.h>
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "np_read.h"

#define MAX_BYTES ((size_t)16 << 20) /* of all files together */
#define MAX_FILES 256
#define MAX_DEPTH 16 /* of files that include each other */
#define SPACE " \t\n\v\f\r"

struct reader {
	np_slurm_line_f *each;
	void *arg;
	const char *top;     /* the file given by the caller */
	const char *cluster; /* NULL: not known */
	size_t bytes, files; /* still allowed to be read */
	int doubt; /* 0, or what np_slurm_file() returns if all is read */
	struct np_err why; /* the first doubt, with its line */
};

/* ---- lines ---- */

/* Offset of the comment: of the first "#" that no "\" precedes. */
static size_t comment_start(const char *line)
{
	size_t i = 0;

	while (line[i] && line[i] != '#')
		i += line[i] == '\\' && line[i + 1] ? 2 : 1;
	return i;
}

/*
 * True if the line continues in the next one; it is then cut before its last
 * "\". White space may follow that, such as the carriage return of "\r\n".
 */
static bool continues(char *line, size_t *len)
{
	size_t end = *len, n = 0;

	while (end && isspace((unsigned char)line[end - 1]))
		end--;
	while (n < end && line[end - n - 1] == '\\')
		n++;
	if (n % 2 == 0)
		return false;
	*len = end - 1;
	return true;
}

static void strip_escapes(char *line)
{
	char *to = line;

	for (const char *from = line; *from; from++) {
		if (*from == '\\' && !*++from)
			break;
		*to++ = *from;
	}
	*to = '\0';
}

/*
 * The text that has not been read yet, from at to end, where a NUL is, and how
 * the line ends that was taken last.
 */
struct rest {
	char *at, *end;
	bool cut;  /* by a NUL: what follows is skipped, as by Slurm */
	bool open; /* no line break follows its text: a comment, or the end */
};

/* Take one line of the file. */
static char *take_line(struct rest *rest)
{
	char *line = rest->at;
	char *stop = memchr(line, '\n', (size_t)(rest->end - line));

	rest->open = !stop;
	if (!stop)
		stop = rest->end;
	*stop = '\0';
	rest->cut = strlen(line) < (size_t)(stop - line);
	rest->at = stop < rest->end ? stop + 1 : stop;
	return line;
}

/*
 * Take the next line off the rest, joined in place from the *n lines of the
 * file that it occupies. *nul: the number among them of the first that has a
 * NUL, or 0. NULL: there is none.
 */
static char *next_line(struct rest *rest, unsigned *n, unsigned *nul)
{
	char *line = rest->at, *to = line;
	bool more = true;

	*n = *nul = 0;
	while (more && rest->at < rest->end) {
		char *from = take_line(rest);
		size_t len = comment_start(from);

		rest->open |= rest->cut || from[len];
		memmove(to, from, len);
		more = continues(to, &len);
		to += len;
		++*n;
		if (rest->cut && !*nul)
			*nul = *n;
	}
	if (!*n)
		return NULL;
	*to = '\0';
	strip_escapes(line);
	return line;
}

/* ---- files ---- */

/* The word after "Include"; NULL: it is another line. */
static const char *included(const char *line, size_t *len)
{
	const size_t n = strlen("include");

	if (strncasecmp(line, "include", n) || !isspace((unsigned char)line[n]))
		return NULL;
	line += n + strspn(line + n, SPACE);
	*len = strcspn(line, SPACE);
	return line;
}

bool np_slurm_is_blank(const char *text)
{
	return !text[strspn(text, SPACE)];
}

/* Copy the name of an included file, with the cluster's name for each "%c". */
static int expand_name(const struct reader *r, const char *word, size_t len,
		       char name[PATH_MAX])
{
	size_t used = 0;

	for (size_t i = 0; i < len && used < PATH_MAX; i++) {
		if (word[i] != '%' || i + 1 == len || word[i + 1] != 'c') {
			name[used++] = word[i];
			continue;
		}
		if (!r->cluster || !*r->cluster)
			return -EINVAL;
		for (const char *c = r->cluster; *c && used < PATH_MAX; c++)
			name[used++] = (char)tolower((unsigned char)*c);
		i++;
	}
	if (used >= PATH_MAX)
		return -ENAMETOOLONG;
	name[used] = '\0';
	return 0;
}

/* path: name in the directory of file. */
static int sibling_path(const char *file, const char *name, char path[PATH_MAX])
{
	int dir = (int)(basename(file) - file);

	return snprintf(path, PATH_MAX, "%.*s%s", dir, file, name) < PATH_MAX ?
		       0 :
		       -ENAMETOOLONG;
}

static int find_file(const struct reader *r, const struct np_slurm_line *line,
		     const char *name, char path[PATH_MAX])
{
	int rc;

	if (*name == '/') {
		strcpy(path, name);
		return 0;
	}
	rc = sibling_path(line->path, name, path);
	if (rc || !access(path, F_OK) || errno != ENOENT)
		return rc;
	return sibling_path(r->top, name, path);
}

static int read_file(struct reader *r, const char *path, int depth,
		     struct np_err *err);

static int include_file(struct reader *r, const struct np_slurm_line *line,
			const char *word, size_t len, int depth,
			struct np_err *err)
{
	struct np_err what = NP_ERR_INIT;
	char name[PATH_MAX], path[PATH_MAX];
	int rc = expand_name(r, word, len, name);
	struct stat st;

	if (!np_slurm_is_blank(word + len))
		return np_errf(err, -EINVAL,
			       "%s:%u: unexpected \"%.40s\" after the name of "
			       "an included file",
			       line->path, line->number, word + len + 1);
	if (!rc)
		rc = find_file(r, line, name, path);
	if (rc || !len)
		return np_errf(err, rc ? rc : -EINVAL,
			       "%s:%u: Include \"%.64s\": %s", line->path,
			       line->number, word,
			       rc == -ENAMETOOLONG ? "the name is too long" :
			       rc ? "the cluster's name is not known" :
				    "expected the name of a file");
	if (depth + 1 == MAX_DEPTH)
		return np_errf(err, -EINVAL,
			       "%s:%u: Include: files include each other, or "
			       "are more than %d deep",
			       line->path, line->number, MAX_DEPTH);
	/* For slurmctld, a directory or device is an empty file. */
	if (!stat(path, &st) && !S_ISREG(st.st_mode))
		return 0;
	rc = read_file(r, path, depth + 1, &what);
	if (rc && access(path, R_OK))
		return np_errf(err, rc, "%s:%u: Include: %s", line->path,
			       line->number, what.text);
	return rc ? np_errf(err, rc, "%s", what.text) : 0;
}

static int each_line(struct reader *r, const char *path, struct rest rest,
		     int depth, struct np_err *err)
{
	struct np_slurm_line line = { .path = path, .number = 1 };
	int rc = 0;

	for (unsigned n, nul; !rc && (line.text = next_line(&rest, &n, &nul));
	     line.number += n) {
		size_t len;
		const char *word = included(line.text, &len);

		if (nul && !r->doubt)
			r->doubt =
				np_errf(&r->why, -EILSEQ,
					"%s:%u: a NUL character: like Slurm, "
					"this skips the rest of the line",
					path, line.number + nul - 1);
		/* slurmctld looks for a blank even behind the end of the line. */
		if (word && len && !word[len] && rest.open && !r->doubt)
			r->doubt = np_errf(&r->why, -ENOMSG,
					   "%s:%u: Include: no blank or line "
					   "break follows \"%.40s\": slurmctld "
					   "may reject the file",
					   path, line.number + n - 1, word);
		if (word)
			rc = include_file(r, &line, word, len, depth, err);
		else if (!np_slurm_is_blank(line.text))
			rc = r->each(r->arg, &line, err);
		/* The NUL is the likely reason, as it hides what follows. */
		if (rc && nul && r->doubt == -EILSEQ)
			np_errf(err, rc, "%s", r->why.text);
	}
	return rc;
}

static int read_file(struct reader *r, const char *path, int depth,
		     struct np_err *err)
{
	char *text;
	size_t len;
	int rc;

	if (!r->files--)
		return np_errf(err, -EINVAL, "%s: includes more than %d files",
			       r->top, MAX_FILES - 1);
	rc = np_read_bytes(path, r->bytes, &text, &len, err);
	if (rc)
		return rc;
	r->bytes -= len;
	rc = np_kind_check(text, len, NP_KIND_TEXT, path, err);
	if (!rc)
		rc = each_line(r, path,
			       (struct rest){ .at = text, .end = text + len },
			       depth, err);
	free(text);
	return rc;
}

int np_slurm_file(const char *path, const char *cluster, np_slurm_line_f *each,
		  void *arg, struct np_err *err)
{
	struct reader r = {
		.each = each,
		.arg = arg,
		.top = path,
		.cluster = cluster,
		.bytes = MAX_BYTES,
		.files = MAX_FILES,
	};
	int rc = read_file(&r, path, 0, err);

	return rc || !r.doubt ? rc : np_errf(err, r.doubt, "%s", r.why.text);
}

bool np_slurm_was_read(int rc)
{
	return !rc || rc == -EILSEQ || rc == -ENOMSG;
}

/* ---- pairs ---- */

static size_t key_len(const char *p)
{
	size_t n = 0;

	while (isalnum((unsigned char)p[n]) || p[n] == '_' || p[n] == '.')
		n++;
	return n;
}

/*
 * The closing quote of a value in quotes, which a blank or the end must follow;
 * NULL: the value has no quotes.
 */
static char *closing_quote(char *value)
{
	char *quote = *value == '"' ? strchr(value + 1, '"') : NULL;

	return quote && (!quote[1] || isspace((unsigned char)quote[1])) ?
		       quote :
		       NULL;
}

bool np_slurm_pair(char **text, struct np_slurm_pair *out)
{
	char *key = *text + strspn(*text, SPACE);
	char *end = key + key_len(key), *p = end + strspn(end, SPACE);
	char *quote;

	if (*p && strchr("-*+/", *p))
		p++;
	if (end == key || *p != '=')
		return false;
	p += 1 + strspn(p + 1, SPACE);
	if (!*p)
		return false;
	quote = closing_quote(p);
	p += !!quote;
	*out = (struct np_slurm_pair){ key, p };
	p = quote ? quote : p + strcspn(p, SPACE);
	*text = p + !!*p;
	*p = *end = '\0';
	return true;
}

/* The next "Key=" after white space, or the end. */
static char *next_key(char *p)
{
	for (; *p; p++)
		if (isspace((unsigned char)*p)) {
			size_t n = key_len(p + 1);

			if (n && p[1 + n] == '=')
				break;
		}
	return p;
}

bool np_slurm_printed_pair(char **text, struct np_slurm_pair *out)
{
	char *key = *text + strspn(*text, SPACE);
	char *end = key + key_len(key), *stop;

	if (end == key || *end != '=')
		return false;
	stop = next_key(end + 1);
	*text = stop + !!*stop;
	*stop = *end = '\0';
	*out = (struct np_slurm_pair){ key, end + 1 };
	while (stop > out->value && isspace((unsigned char)stop[-1]))
		*--stop = '\0';
	return true;
}

/* The value of one line; NULL: the line has another key. */
static const char *setting(const char *line, const char *end, const char *key)
{
	size_t n = strlen(key);
	const char *p = line + strspn(line, " \t");

	if ((size_t)(end - p) <= n || strncasecmp(p, key, n))
		return NULL;
	p += n + strspn(p + n, " \t");
	return p < end && *p == '=' ? p + 1 : NULL;
}

bool np_slurm_setting(const char *text, const char *key, char *buf, size_t len)
{
	for (const char *p = text, *end; *p; p = end + !!*end) {
		const char *value;

		end = p + strcspn(p, "\n");
		value = setting(p, end, key);
		if (!value)
			continue;
		while (value < end && isspace((unsigned char)*value))
			value++;
		while (value < end && isspace((unsigned char)end[-1]))
			end--;
		snprintf(buf, len, "%.*s", (int)(end - value), value);
		return true;
	}
	return false;
}

/* ---- plugstack.conf ---- */

#define MAX_STACK_BYTES ((size_t)1 << 20) /* of all files together */
/* Slurm reads a line with a buffer of this size; the rest is another line. */
#define STACK_LINE PATH_MAX

struct stack_reader {
	np_slurm_stack_f *each;
	void *arg;
	size_t bytes, files;	/* still allowed to be read */
	struct np_err not_text; /* about the first file that is not text */
};

static int read_stack_file(struct stack_reader *r, const char *path,
			   const struct np_slurm_stack_line *from, int depth,
			   struct np_err *err);

static int include_files(struct stack_reader *r,
			 const struct np_slurm_stack_line *line, int depth,
			 struct np_err *err)
{
	glob_t g;
	int rc = 0;

	if (!line->pattern)
		return np_errf(err, -ENAMETOOLONG,
			       "%s:%u: include: the name is too long",
			       line->path, line->number);
	if (depth + 1 == MAX_DEPTH)
		return np_errf(err, -EINVAL,
			       "%s:%u: include: files include each other, or "
			       "are more than %d deep",
			       line->path, line->number, MAX_DEPTH);
	if (!glob(line->pattern, 0, NULL, &g))
		for (size_t i = 0; !rc && i < g.gl_pathc; i++)
			rc = read_stack_file(r, g.gl_pathv[i], line, depth + 1,
					     err);
	globfree(&g);
	return rc;
}

/* False: the line has none of the three words, or nothing after it. */
static bool parse_stack_line(char *text, struct np_slurm_stack_line *line)
{
	static const char *const words[] = {
		[NP_SLURM_OPTIONAL] = "optional",
		[NP_SLURM_REQUIRED] = "required",
		[NP_SLURM_INCLUDE] = "include",
	};
	char *save, *word;
	size_t k = 0;

	text[strcspn(text, "#")] = '\0';
	word = strtok_r(text, NP_SLURM_BLANKS, &save);
	while (word && k < NP_ARRAY_SIZE(words) && strcmp(word, words[k]))
		k++;
	line->kind = (enum np_slurm_stack_kind)k;
	line->word = word ? strtok_r(NULL, NP_SLURM_BLANKS, &save) : NULL;
	line->arguments = line->word ? strtok_r(NULL, "", &save) : NULL;
	return line->word && k < NP_ARRAY_SIZE(words);
}

/*
 * Copy the next line, as fgets() does, which Slurm uses: what follows a NUL is
 * skipped up to the end of the line. Returns what is behind it.
 */
static const char *copy_stack_line(const char *from, const char *end,
				   char line[STACK_LINE])
{
	size_t len = (size_t)(end - from);
	const char *stop;

	if (len >= STACK_LINE)
		len = STACK_LINE - 1;
	stop = memchr(from, '\n', len);
	stop = stop ? stop + 1 : from + len;
	*(char *)mempcpy(line, from, (size_t)(stop - from)) = '\0';
	return stop;
}

static int each_stack_line(struct stack_reader *r, const char *path,
			   const char *text, size_t len,
			   const struct np_slurm_stack_line *from, int depth,
			   struct np_err *err)
{
	struct np_slurm_stack_line line = {
		.path = path,
		.number = 1,
		.from = from,
	};
	int dir = (int)(basename(path) - path), rc = 0;
	const char *end = text + len;
	char pattern[PATH_MAX], one[STACK_LINE];

	for (; !rc && text < end; line.number += text[-1] == '\n') {
		text = copy_stack_line(text, end, one);
		if (!parse_stack_line(one, &line))
			continue;
		line.pattern = snprintf(pattern, sizeof(pattern), "%.*s%s",
					*line.word == '/' ? 0 : dir, path,
					line.word) < (int)sizeof(pattern) ?
				       pattern :
				       NULL;
		rc = r->each(r->arg, &line, err);
		if (!rc && line.kind == NP_SLURM_INCLUDE)
			rc = include_files(r, &line, depth, err);
	}
	return rc;
}

static int read_stack_file(struct stack_reader *r, const char *path,
			   const struct np_slurm_stack_line *from, int depth,
			   struct np_err *err)
{
	struct stat st;
	char *text;
	size_t len;
	int rc;

	if (!r->files--)
		return np_errf(err, -EINVAL,
			       "%s: more than %d files are included", path,
			       MAX_FILES - 1);
	/* For Slurm, a directory or device is an empty file. */
	if (!stat(path, &st) && !S_ISREG(st.st_mode))
		return 0;
	rc = np_read_bytes(path, r->bytes, &text, &len, err);
	if (rc)
		return rc == -ENOENT ? 0 : rc;
	r->bytes -= len;
	if (!*r->not_text.text)
		np_read_check_text(text, len, path, &r->not_text);
	rc = each_stack_line(r, path, text, len, from, depth, err);
	free(text);
	return rc;
}

int np_slurm_stack(const char *path, np_slurm_stack_f *each, void *arg,
		   struct np_err *err)
{
	struct stack_reader r = {
		.each = each,
		.arg = arg,
		.bytes = MAX_STACK_BYTES,
		.files = MAX_FILES,
	};
	int rc = read_stack_file(&r, path, NULL, 0, err);

	return rc || !*r.not_text.text ?
		       rc :
		       np_errf(err, -EILSEQ, "%s", r.not_text.text);
}
