#include "np_annotation.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPEN "netprof{"
#define MAX_LIST (1 << 20) /* bytes of a hostlist */

static const char *find(const char *comment)
{
	return comment ? strstr(comment, OPEN) : NULL;
}

bool np_annotation_in(const char *comment)
{
	return find(comment);
}

/* Whether text has only characters that a value may have; see put_list(). */
static bool is_list(const char *text, size_t len)
{
	if (!len || len > MAX_LIST)
		return false;
	for (size_t i = 0; i < len; i++)
		if (!isgraph((unsigned char)text[i]) || text[i] == '{')
			return false;
	return true;
}

/* Read the value of a list, which must not occur twice. */
static int take_list(const char *text, size_t len, char **out)
{
	if (*out || !is_list(text, len))
		return -EINVAL;
	*out = strndup(text, len);
	return *out ? 0 : -ENOMEM;
}

static int take_app(const char *text, size_t len, char *app)
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
static int take_number(const char *text, size_t len, double *out)
{
	char buf[32], *end;

	if (!len || len >= sizeof(buf))
		return -EINVAL;
	memcpy(buf, text, len);
	buf[len] = '\0';
	*out = strtod(buf, &end);
	return *end || !(*out >= 0 && *out <= 1e15) ? -EINVAL : 0;
}

static int take_date(const char *text, size_t len, int64_t *out)
{
	double sec;
	int rc = take_number(text, len, &sec);

	if (!rc)
		*out = (int64_t)sec;
	return rc;
}

/* Read a word such as "held=12". 0, -EINVAL or -ENOMEM. */
static int take(struct np_annotation *n, const char *word, size_t len)
{
	const char *eq = memchr(word, '=', len), *value;
	size_t key, rest;

	if (!eq)
		return -EINVAL;
	value = eq + 1;
	key = (size_t)(eq - word);
	rest = len - key - 1;
#define IS(name) (key == strlen(name) && !memcmp(word, name, key))
	if (IS("app"))
		return take_app(value, rest, n->app);
	if (IS("user"))
		return take_list(value, rest, &n->user);
	if (IS("ours"))
		return take_list(value, rest, &n->ours);
	if (IS("until"))
		return take_date(value, rest, &n->until_sec);
	if (IS("begin"))
		return take_date(value, rest, &n->begin_sec);
	if (IS("held")) {
		n->decided = true;
		return take_number(value, rest, &n->held_sec);
	}
#undef IS
	return 0; /* a later release may have more keys */
}

/* The brace that closes the annotation; NULL: it was cut off or damaged. */
static const char *closing(const char *at)
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

	if (closing(at))
		return closing(at) + 1;
	for (; *at; at += *at == ' ') {
		size_t len = strcspn(at, " {");

		if (at[len] == '{' || !memchr(at, '=', len))
			break;
		end = at += len;
	}
	return end;
}

/*
 * Remove all annotations from a text, including those that only appear when one
 * between their parts is removed.
 */
static void strip(char *text)
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
	const char *at = find(comment), *end;
	int rc = 0;

	memset(out, 0, sizeof(*out));
	if (!at)
		return -ENOENT;
	at += strlen(OPEN);
	end = closing(at);
	if (!end)
		return -EINVAL;
	while (!rc && at < end) {
		size_t len = strcspn(at, " }");

		if (len)
			rc = take(out, at, len);
		at += len + 1;
	}
	if (rc)
		np_annotation_clear(out);
	return rc;
}

void np_annotation_clear(struct np_annotation *n)
{
	free(n->user);
	free(n->ours);
	memset(n, 0, sizeof(*n));
}

/* Slurm allows spaces in place of commas in a list; annotations do not. */
static void put_list(FILE *f, const char *list)
{
	for (; *list; list++)
		fputc(isspace((unsigned char)*list) ? ',' : *list, f);
}

/* Print the annotation. */
static void put(FILE *f, const struct np_annotation *n)
{
	const char *space = "";

	fputs(OPEN, f);
#define WORD(...) (fputs(space, f), fprintf(f, __VA_ARGS__), space = " ")
	if (n->app[0])
		WORD("app=%s", n->app);
	if (n->user) {
		WORD("user=");
		put_list(f, n->user);
	}
	if (n->ours)
		WORD("ours=%s", n->ours);
	if (n->until_sec)
		WORD("until=%lld", (long long)n->until_sec);
	if (n->begin_sec)
		WORD("begin=%lld", (long long)n->begin_sec);
	if (n->decided)
		WORD("held=%.0f", n->held_sec);
#undef WORD
	fputc('}', f);
}

void np_annotation_user(uint64_t *user, const uint64_t *ours,
			const uint64_t *now, size_t words)
{
	for (size_t k = 0; k < words; k++)
		user[k] = now[k] & ~(ours[k] & ~user[k]);
}

char *np_annotation_join(const char *a, const char *b)
{
	char *text;

	if (!a || !b)
		return strdup(a ? a : b ? b : "");
	return asprintf(&text, "%s,%s", a, b) < 0 ? NULL : text;
}

/*
 * Length of the comment before the annotation; *behind: the text behind it.
 * drop: the annotation is to be removed, with one of the spaces around it.
 */
static size_t split(const char *comment, bool drop, const char **behind)
{
	const char *at = find(comment);
	size_t before;

	if (!at) {
		*behind = "";
		return strlen(comment);
	}
	before = (size_t)(at - comment);
	*behind = end_of(at + strlen(OPEN));
	if (drop && before && comment[before - 1] == ' ')
		before--;
	else if (drop && !before && **behind == ' ')
		++*behind;
	return before;
}

char *np_annotation_write(const char *comment, const struct np_annotation *n)
{
	const char *behind;
	char *text = NULL, *rest;
	size_t size, before;
	FILE *f;

	if (!comment)
		comment = "";
	before = split(comment, !n, &behind);
	rest = strdup(behind);
	f = rest ? open_memstream(&text, &size) : NULL;
	if (!f) {
		free(rest);
		return NULL;
	}
	strip(rest);
	fwrite(comment, 1, before, f);
	if (n && before && !np_annotation_in(comment))
		fputc(' ', f);
	if (n)
		put(f, n);
	fputs(rest, f);
	free(rest);
	if (fclose(f)) {
		free(text);
		return NULL;
	}
	if (!n)
		strip(text);
	return text;
}
