/* JSON as text: made fit for every parser. */
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

bool np_jtext_within(const char *text, size_t len,
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
