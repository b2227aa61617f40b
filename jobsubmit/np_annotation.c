/*
 * Reading and writing the annotation in AdminComment.
 *
 * Users and other tools may write there, too, and Slurm may cut a long comment:
 * an annotation that is damaged or cut off is recognised as such and replaced,
 * and the text around it stays as it is.
 */
#include "np_annotation.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPEN "netprof{"
#define MAX_LIST (1 << 20) /* bytes of a hostlist */

/* The start of the first annotation, or NULL. */
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
	char buf[32], *end;

	if (!len || len >= sizeof(buf))
		return -EINVAL;
	memcpy(buf, text, len);
	buf[len] = '\0';
	*out = strtod(buf, &end);
	return *end || !(*out >= 0 && *out <= 1e15) ? -EINVAL : 0;
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
static int read_pair(struct np_annotation *n, const char *word, size_t len)
{
	const char *eq = memchr(word, '=', len), *value;
	size_t key_len, value_len;

	if (!eq)
		return -EINVAL;
	value = eq + 1;
	key_len = (size_t)(eq - word);
	value_len = len - key_len - 1;
#define KEY_IS(name) (key_len == strlen(name) && !memcmp(word, name, key_len))
	if (KEY_IS("app"))
		return read_app(value, value_len, n->app);
	if (KEY_IS("user"))
		return read_list(value, value_len, &n->user);
	if (KEY_IS("ours"))
		return read_list(value, value_len, &n->ours);
	if (KEY_IS("until"))
		return read_date(value, value_len, &n->until_sec);
	if (KEY_IS("begin"))
		return read_date(value, value_len, &n->begin_sec);
	if (KEY_IS("held")) {
		n->decided = true;
		return read_number(value, value_len, &n->held_sec);
	}
#undef KEY_IS
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
 * Remove all annotations from a text. The text that is left is searched as it
 * grows: in "netnetprof{}prof{}", removing the inner annotation makes another.
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
			rc = read_pair(out, at, len);
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

/* Print the annotation, members that are not set excepted. */
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
 * Split a comment at its annotation. Returns the length of the text before it;
 * *after: the text after it. drop: the annotation will be removed, and one of
 * the spaces around it with it.
 */
static size_t split(const char *comment, bool drop, const char **after)
{
	const char *at = find(comment);
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

char *np_annotation_write(const char *comment, const struct np_annotation *n)
{
	const char *after;
	char *text = NULL, *rest;
	size_t size, before;
	FILE *f;

	if (!comment)
		comment = "";
	before = split(comment, !n, &after);
	rest = strdup(after);
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
