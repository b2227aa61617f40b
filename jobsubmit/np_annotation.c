/*
 * Reads and writes the annotation in AdminComment.
 *
 * Other tools may write to that field too, and Slurm may cut a long comment. A
 * damaged annotation is therefore recognised and replaced, and the text around
 * it is kept.
 */
#include "np_annotation.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "np_option.h"
#include "np_text.h"

#define OPENING "netprof{"
#define MAX_LIST (1 << 20) /* bytes of a hostlist */

/* The start of the first annotation, or NULL. */
static const char *find_annotation(const char *comment)
{
	return comment ? strstr(comment, OPENING) : NULL;
}

bool np_annotation_exists(const char *comment)
{
	return find_annotation(comment);
}

/* Whether text is not empty and has only characters allowed in a value. */
static bool is_valid_list(const char *text, size_t len)
{
	if (!len || len > MAX_LIST)
		return false;
	for (size_t i = 0; i < len; i++)
		if (!isgraph((unsigned char)text[i]) || text[i] == '{')
			return false;
	return true;
}

/* Read a host list into *out, which must be NULL: no key may occur twice. */
static int read_list(const char *text, size_t len, char **out)
{
	if (*out || !is_valid_list(text, len))
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
static int read_pair(struct np_annotation *annotation, const char *pair,
		     size_t len)
{
	const char *equals = memchr(pair, '=', len), *value;
	size_t key_len, value_len;

	if (!equals)
		return -EINVAL;
	value = equals + 1;
	key_len = (size_t)(equals - pair);
	value_len = len - key_len - 1;
#define KEY_IS(name) (key_len == strlen(name) && !memcmp(pair, name, key_len))
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
 * Find the brace that closes an annotation, given the text after its opening.
 * Returns NULL if the annotation was cut off or damaged.
 */
static const char *closing_brace(const char *text)
{
	text += strcspn(text, "{}\n");
	return *text == '}' ? text : NULL;
}

/*
 * Find the end of an annotation, given the text after its opening. If it was
 * cut off, it ends after its last KEY=VALUE.
 */
static const char *annotation_end(const char *text)
{
	const char *end = text;

	if (closing_brace(text))
		return closing_brace(text) + 1;
	for (; *text; text += *text == ' ') {
		size_t len = strcspn(text, " {");

		if (text[len] == '{' || !memchr(text, '=', len))
			break;
		end = text += len;
	}
	return end;
}

/*
 * Remove all annotations from a text. The output is searched while it grows,
 * because in "netnetprof{}prof{}" removing the inner annotation makes another.
 */
static void remove_annotations(char *text)
{
	const size_t len = strlen(OPENING);
	char *out = text;

	for (const char *in = text; *in;) {
		*out++ = *in++;
		if ((size_t)(out - text) >= len &&
		    !memcmp(out - len, OPENING, len)) {
			out -= len;
			in = annotation_end(in);
		}
	}
	*out = '\0';
}

bool np_annotation_is_same(const char *comment, const char *other)
{
	const char *a = find_annotation(comment), *b = find_annotation(other);
	const char *end = a ? closing_brace(a + strlen(OPENING)) : NULL;

	return b && end && !strncmp(a, b, (size_t)(end + 1 - a));
}

int np_annotation_read(const char *comment, struct np_annotation *out)
{
	const char *pos = find_annotation(comment), *end;
	int rc = 0;

	memset(out, 0, sizeof(*out));
	if (!pos)
		return -ENOENT;
	pos += strlen(OPENING);
	end = closing_brace(pos);
	if (!end)
		return -EINVAL;
	while (!rc && pos < end) {
		size_t len = strcspn(pos, " }");

		if (len)
			rc = read_pair(out, pos, len);
		pos += len + 1;
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

/*
 * Slurm allows spaces in place of commas in a list, but annotations do not.
 * Inside brackets a space or a plus sign before a number counts as a digit of
 * it, "n[ 7]" and "n[+7]" as "n[07]", so there it becomes a zero.
 */
static void print_list(FILE *out, const char *list)
{
	bool inside = false;

	for (; *list; list++) {
		bool space = isspace((unsigned char)*list);

		inside = *list == '[' || (inside && *list != ']');
		if (inside && (space || *list == '+'))
			fputc('0', out);
		else
			fputc(space ? ',' : *list, out);
	}
}

/* Print an annotation with the members that are set. */
static void print_annotation(FILE *out, const struct np_annotation *annotation)
{
	const char *space = "";

	fputs(OPENING, out);
#define PRINT_PAIR(...) \
	(fputs(space, out), fprintf(out, __VA_ARGS__), space = " ")
	if (annotation->app[0])
		PRINT_PAIR("app=%s", annotation->app);
	if (annotation->user) {
		PRINT_PAIR("user=");
		print_list(out, annotation->user);
	}
	if (annotation->ours)
		PRINT_PAIR("ours=%s", annotation->ours);
	if (annotation->until_sec)
		PRINT_PAIR("until=%lld", (long long)annotation->until_sec);
	if (annotation->begin_sec)
		PRINT_PAIR("begin=%lld", (long long)annotation->begin_sec);
	if (annotation->decided)
		PRINT_PAIR("held=%.0f", annotation->held_sec);
#undef PRINT_PAIR
	fputc('}', out);
}

void np_annotation_find_user_nodes(uint64_t *user, const uint64_t *ours,
				   const uint64_t *present, size_t words)
{
	for (size_t k = 0; k < words; k++)
		user[k] = present[k] & ~(ours[k] & ~user[k]);
}

char *np_annotation_join_lists(const char *a, const char *b)
{
	char *text;

	if (!a || !b)
		return strdup(a ? a : b ? b : "");
	return asprintf(&text, "%s,%s", a, b) < 0 ? NULL : text;
}

/*
 * Split a comment at its annotation. Returns the length of the text before it,
 * and sets *after to the text after it. If drop is true, the annotation will be
 * removed, and one of the spaces around it as well.
 */
static size_t split_comment(const char *comment, bool drop, const char **after)
{
	const char *annotation = find_annotation(comment);
	size_t before;

	if (!annotation) {
		*after = "";
		return strlen(comment);
	}
	before = (size_t)(annotation - comment);
	*after = annotation_end(annotation + strlen(OPENING));
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
	FILE *out;

	if (!comment)
		comment = "";
	before = split_comment(comment, !annotation, &after);
	rest = strdup(after);
	out = rest ? open_memstream(&text, &size) : NULL;
	if (!out) {
		free(rest);
		return NULL;
	}
	remove_annotations(rest);
	fwrite(comment, 1, before, out);
	if (annotation && before && !np_annotation_exists(comment))
		fputc(' ', out);
	if (annotation)
		print_annotation(out, annotation);
	fputs(rest, out);
	free(rest);
	text = np_text_close(out, &text);
	/* The text before and after may together form another annotation. */
	if (text && !annotation)
		remove_annotations(text);
	return text;
}
