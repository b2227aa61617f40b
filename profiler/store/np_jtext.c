/* JSON as text: made fit for every parser, and taken into parts. */
#include "np_jvalue.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "np_text.h"

#define ESCAPED 6 /* bytes of "\u20ac"; twice that beyond U+FFFF */
#define MOST_DIGITS 20 /* of 64 bits */

/* n: of a character beyond ASCII. */
static size_t escaped_len(int n)
{
	return n == 4 ? 2 * ESCAPED : ESCAPED;
}

static void escape(const char *p, int n, char *out)
{
	uint32_t c = np_text_code(p);
	char text[4 * ESCAPED]; /* more than it takes */

	if (n < 4)
		snprintf(text, sizeof(text), "\\u%04x", c);
	else
		snprintf(text, sizeof(text), "\\u%04x\\u%04x",
			 0xd800 + ((c - 0x10000) >> 10),
			 0xdc00 + ((c - 0x10000) & 0x3ff));
	memcpy(out, text, escaped_len(n));
}

/* Digits, perhaps with a sign: are they beyond 64 bits? */
static bool is_beyond(const char *p, size_t n)
{
	char text[MOST_DIGITS + 2];

	if (n < MOST_DIGITS - 1 || n >= sizeof(text))
		return n >= sizeof(text);
	memcpy(text, p, n);
	text[n] = '\0';
	errno = 0;
	if (*p == '-')
		strtoll(text, NULL, 10);
	else
		strtoull(text, NULL, 10);
	return errno == ERANGE;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Bytes of the number at p, or 0 for a whole one that is too large. */
static size_t number_len(const char *p, size_t len)
{
	size_t n = 1;

	while (n < len && is_digit(p[n]))
		n++;
	if ((n == len || !memchr(".eE", p[n], 3)) && is_beyond(p, n))
		return 0;
	while (n < len && (is_digit(p[n]) || memchr(".eE+-", p[n], 5)))
		n++;
	return n;
}

/* Bytes that stay as they are, at least one; 0: a number that is too large. */
static size_t plain_len(const char *p, size_t len, bool *in_string)
{
	if (*p == '"')
		*in_string = !*in_string;
	else if (*in_string && *p == '\\')
		return len > 1 && !(p[1] & 0x80) ? 2 : 1;
	else if (!*in_string && (*p == '-' || is_digit(*p)))
		return number_len(p, len);
	return 1;
}

static int make(const char *text, size_t len, char *out, size_t *out_len,
		struct np_jtext_damage *d)
{
	bool in_string = false;
	size_t n = 0, used;

	for (size_t at = 0; at < len; at += used) {
		int c = np_text_char(text + at, len - at);

		if (c > 1) {
			escape(text + at, c, out + n);
			n += escaped_len(c);
			used = (size_t)c;
			continue;
		}
		used = c == 1 ? plain_len(text + at, len - at, &in_string) : 0;
		if (!used) {
			*d = (struct np_jtext_damage){ at, c == 1 ?
				"a whole number beyond 64 bits" : "no UTF-8" };
			return -EINVAL;
		}
		memcpy(out + n, text + at, used);
		n += used;
	}
	*out_len = n;
	return 0;
}

int np_jtext_make(const char *text, size_t len, char **out, size_t *out_len,
		  struct np_jtext_damage *d)
{
	size_t room = 1;
	char *made;
	int rc;

	for (size_t i = 0; i < len; i++) /* 2 bytes become 6, 4 become 12 */
		room += text[i] & 0x80 ? 3 : 1;
	made = malloc(room);
	if (!made)
		return -ENOMEM;
	rc = make(text, len, made, out_len, d);
	if (rc)
		free(made);
	else
		*out = made;
	return rc;
}

size_t np_jtext_source(const char *text, size_t len, size_t at)
{
	size_t from = 0, to = 0;

	while (from < len && to < at) {
		int c = np_text_char(text + from, len - from);

		to += c > 1 ? escaped_len(c) : 1;
		from += c > 1 ? (size_t)c : 1;
	}
	return from;
}

/* ---- parts ---- */

bool np_jspan_within(const char *text, size_t len,
		     const struct np_jlimits *max)
{
	struct np_jlimits n = { 0 };

	for (size_t i = 0; i < len; i++) {
		n.objects += text[i] == '{';
		n.arrays += text[i] == '[';
		n.elements += text[i] == ',';
	}
	return n.objects <= max->objects && n.arrays <= max->arrays &&
	       n.elements <= max->elements;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void skip(struct np_jspan *s, size_t n)
{
	s->text += n;
	s->len -= n;
}

static void skip_blanks(struct np_jspan *s)
{
	while (s->len && is_blank(*s->text))
		skip(s, 1);
}

static bool take(struct np_jspan *s, char c)
{
	skip_blanks(s);
	if (!s->len || *s->text != c)
		return false;
	skip(s, 1);
	return true;
}

/* Length of the string that begins at text[at], quotes included; 0: no end. */
static size_t string_len(const char *text, size_t len)
{
	for (size_t i = 1; i < len; i++) {
		if (text[i] == '\\')
			i++;
		else if (text[i] == '"')
			return i + 1;
	}
	return 0;
}

/* Brackets are counted; whether they match, the parser will tell. */
static size_t nested_len(const char *text, size_t len)
{
	size_t depth = 0, i = 0;

	while (i < len) {
		char c = text[i];

		if (c == '"') {
			size_t n = string_len(text + i, len - i);

			if (!n)
				return 0;
			i += n;
			continue;
		}
		i++;
		depth += c == '{' || c == '[';
		depth -= c == '}' || c == ']';
		if (!depth)
			return i;
	}
	return 0;
}

static size_t scalar_len(const char *text, size_t len)
{
	size_t i = 0;

	while (i < len && !is_blank(text[i]) && !strchr(",:]}", text[i]))
		i++;
	return i;
}

static bool value_of(struct np_jspan *s, struct np_jspan *out)
{
	size_t len;

	skip_blanks(s);
	if (!s->len)
		return false;
	len = *s->text == '"' ? string_len(s->text, s->len) :
	      *s->text == '{' || *s->text == '[' ?
		nested_len(s->text, s->len) : scalar_len(s->text, s->len);
	*out = (struct np_jspan){ s->text, len };
	skip(s, len);
	return len;
}

static bool key_of(struct np_jspan *s, struct np_jspan *key)
{
	skip_blanks(s);
	if (!s->len || *s->text != '"' || !value_of(s, key) || !take(s, ':'))
		return false;
	key->text++;
	key->len -= 2;
	return true;
}

int np_jspan_next(struct np_jwalk *w, struct np_jspan *key,
		  struct np_jspan *value)
{
	struct np_jspan *rest = &w->rest;

	if (!w->begun && !take(rest, key ? '{' : '['))
		return -1;
	if (take(rest, key ? '}' : ']')) {
		skip_blanks(rest);
		return rest->len ? -1 : 0;
	}
	if (w->begun && !take(rest, ','))
		return -1;
	w->begun = true;
	if ((key && !key_of(rest, key)) || !value_of(rest, value))
		return -1;
	return 1;
}
