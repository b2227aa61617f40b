/*
 * Reading and writing the annotation in AdminComment.
 *
 * Users and other tools may write there, too, and Slurm may cut a long comment.
 * An annotation that is damaged or cut off is therefore recognised as such and
 * replaced, and the text around it stays as it is.
 */
#include "np_annotation.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "np_option.h"

#define OPEN "netprof{"
#define MAX_LIST (1 << 20) /* bytes of a hostlist */

/* The start of the first annotation, or NULL. */
static const char *find_annotation(const char *comment)
{
	return comment ? strstr(comment, OPEN) : NULL;
}

bool np_annotation_in(const char *comment)
{
	return find_annotation(comment);
}

/* Whether text has only characters that a value may have; see print_list(). */
static bool is_list(const char *text, size_t len)
{
	if (!len || len > MAX_LIST)
		return false;
	for (size_t i = 0; i < len; i++)
		if (!isgraph((unsigned char)text[i]) || text[i] == '{')
			return false;
	return true;
}

/* Read a value that is a host list; the key must not occur twice. */
static int read_list(const char *text, size_t len, char **out)
{
	if (*out || !is_list(text, len))
		return -EINVAL;
	*out = strndup(text, len);
	return *out ? 0 : -ENOMEM;
}

static int read_app(const char *text, size_t len, char *app)
{
	if (!len || len > NP_APP_MAX)
		return -EINVAL;
	memcpy(app, text, len);
	app[len] = '\0';
	return np_app_check(app, NULL) ? -EINVAL : 0;
}

/*
 * A number from 0 to 1e15: a duration in seconds, or seconds since the epoch.
 */
static int read_number(const char *text, size_t len, double *out)
{
	char buf[32];
	const char *end;

	if (!len || len >= sizeof(buf))
		return -EINVAL;
	memcpy(buf, text, len);
	buf[len] = '\0';
	end = np_decimal_parse(buf, out);
	return !end || *end || *out < 0 || *out > 1e15 ? -EINVAL : 0;
}

static int read_date(const char *text, size_t len, int64_t *out)
{
	double sec;
	int rc = read_number(text, len, &sec);

	if (!rc)
		*out = (int64_t)sec;
	return rc;
}

/* Read one KEY=VALUE, such as "held=12". Returns 0, -EINVAL or -ENOMEM. */
static int
read_pair(struct np_annotation *annotation, const char *word, size_t len)
{
	const char *equals = memchr(word, '=', len), *value;
	size_t key_len, value_len;

	if (!equals)
		return -EINVAL;
	value = equals + 1;
	key_len = (size_t)(equals - word);
	value_len = len - key_len - 1;
#define KEY_IS(name) (key_len == strlen(name) && !memcmp(word, name, key_len))
	if (KEY_IS("app"))
		return read_app(value, value_len, annotation->app);
	if (KEY_IS("user"))
		return read_list(value, value_len, &annotation->user);
	if (KEY_IS("ours"))
		return read_list(value, value_len, &annotation->ours);
	if (KEY_IS("until"))
		return read_date(value, value_len, &annotation->until_sec);
	if (KEY_IS("begin"))
		return read_date(value, value_len, &annotation->begin_sec);
	if (KEY_IS("held")) {
		annotation->decided = true;
		return read_number(value, value_len, &annotation->held_sec);
	}
#undef KEY_IS
	return 0; /* a later release may have more keys */
}

/*
 * The brace that closes the annotation whose text begins at `at`; NULL: it was
 * cut off or damaged.
 */
static const char *closing_brace(const char *at)
{
	at += strcspn(at, "{}\n");
	return *at == '}' ? at : NULL;
}

/*
 * End of the annotation whose text begins at `at`. If it was cut off, that is
 * the end of its last word of the form "a=b".
 */
static const char *end_of(const char *at)
{
	const char *end = at;

	if (closing_brace(at))
		return closing_brace(at) + 1;
	for (; *at; at += *at == ' ') {
		size_t len = strcspn(at, " {");

		if (at[len] == '{' || !memchr(at, '=', len))
			break;
		end = at += len;
	}
	return end;
}

/*
 * Remove all annotations from a text. The text that is left is searched as it
 * grows: in "netnetprof{}prof{}", removing the inner annotation makes another.
 */
static void remove_annotations(char *text)
{
	const size_t len = strlen(OPEN);
	char *out = text;

	for (const char *in = text; *in;) {
		*out++ = *in++;
		if ((size_t)(out - text) >= len &&
		    !memcmp(out - len, OPEN, len)) {
			out -= len;
			in = end_of(in);
		}
	}
	*out = '\0';
}

int np_annotation_read(const char *comment, struct np_annotation *out)
{
	const char *at = find_annotation(comment), *end;
	int rc = 0;

	memset(out, 0, sizeof(*out));
	if (!at)
		return -ENOENT;
	at += strlen(OPEN);
	end = closing_brace(at);
	if (!end)
		return -EINVAL;
	while (!rc && at < end) {
		size_t len = strcspn(at, " }");

		if (len)
			rc = read_pair(out, at, len);
		at += len + 1;
	}
	if (rc)
		np_annotation_clear(out);
	return rc;
}

void np_annotation_clear(struct np_annotation *annotation)
{
	free(annotation->user);
	free(annotation->ours);
	memset(annotation, 0, sizeof(*annotation));
}

/* Slurm allows spaces in place of commas in a list, but annotations do not. */
static void print_list(FILE *f, const char *list)
{
	for (; *list; list++)
		fputc(isspace((unsigned char)*list) ? ',' : *list, f);
}

/* Print an annotation, with those members that are set. */
static void print_annotation(FILE *f, const struct np_annotation *annotation)
{
	const char *space = "";

	fputs(OPEN, f);
#define WORD(...) (fputs(space, f), fprintf(f, __VA_ARGS__), space = " ")
	if (annotation->app[0])
		WORD("app=%s", annotation->app);
	if (annotation->user) {
		WORD("user=");
		print_list(f, annotation->user);
	}
	if (annotation->ours)
		WORD("ours=%s", annotation->ours);
	if (annotation->until_sec)
		WORD("until=%lld", (long long)annotation->until_sec);
	if (annotation->begin_sec)
		WORD("begin=%lld", (long long)annotation->begin_sec);
	if (annotation->decided)
		WORD("held=%.0f", annotation->held_sec);
#undef WORD
	fputc('}', f);
}

void np_annotation_user(uint64_t *user, const uint64_t *ours,
			const uint64_t *present, size_t words)
{
	for (size_t k = 0; k < words; k++)
		user[k] = present[k] & ~(ours[k] & ~user[k]);
}

char *np_annotation_merge(const char *a, const char *b)
{
	char *text;

	if (!a || !b)
		return strdup(a ? a : b ? b : "");
	return asprintf(&text, "%s,%s", a, b) < 0 ? NULL : text;
}

/*
 * Split a comment at its annotation. Returns the length of the text before it;
 * *after: the text after it. drop: the annotation will be removed, and one of
 * the spaces around it with it.
 */
static size_t split_comment(const char *comment, bool drop, const char **after)
{
	const char *at = find_annotation(comment);
	size_t before;

	if (!at) {
		*after = "";
		return strlen(comment);
	}
	before = (size_t)(at - comment);
	*after = end_of(at + strlen(OPEN));
	if (drop && before && comment[before - 1] == ' ')
		before--;
	else if (drop && !before && **after == ' ')
		++*after;
	return before;
}

char *np_annotation_write(const char *comment,
			  const struct np_annotation *annotation)
{
	const char *after;
	char *text = NULL, *rest;
	size_t size, before;
	FILE *f;

	if (!comment)
		comment = "";
	before = split_comment(comment, !annotation, &after);
	rest = strdup(after);
	f = rest ? open_memstream(&text, &size) : NULL;
	if (!f) {
		free(rest);
		return NULL;
	}
	remove_annotations(rest);
	fwrite(comment, 1, before, f);
	if (annotation && before && !np_annotation_in(comment))
		fputc(' ', f);
	if (annotation)
		print_annotation(f, annotation);
	fputs(rest, f);
	free(rest);
	if (fclose(f)) {
		free(text);
		return NULL;
	}
	/* What is left may form an annotation where two parts meet. */
	if (!annotation)
		remove_annotations(text);
	return text;
}
