#include "np_text.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "np_err.h"

int np_errf(struct np_err *err, int rc, const char *fmt, ...)
{
	va_list args;

	if (!err)
		return rc;
	va_start(args, fmt);
	np_text_print(err->text, sizeof(err->text), fmt, args);
	va_end(args);
	return rc;
}

/* Length of a UTF-8 character from its first byte; 0: that is not valid. */
static int char_len_from_first(unsigned char first)
{
	if (first < 0x80)
		return 1;
	if (first < 0xc0) /* a continuation byte */
		return 0;
	return first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf8 ? 4 : 0;
}

uint32_t np_text_code_point(const char *text)
{
	const unsigned char *byte = (const unsigned char *)text;
	int len = char_len_from_first(byte[0]);
	uint32_t code = len == 1 ? byte[0] : byte[0] & (0x7fu >> len);

	for (int i = 1; i < len; i++)
		code = code << 6 | (byte[i] & 0x3f);
	return code;
}

/* Rejects overlong forms, surrogates and values above U+10FFFF. */
int np_text_char_len(const char *text, size_t size)
{
	/* The smallest code point for each number of bytes. */
	static const uint32_t smallest[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const unsigned char *byte = (const unsigned char *)text;
	int len = char_len_from_first(byte[0]);
	uint32_t code;

	if (len < 2)
		return len;
	for (int i = 1; i < len; i++) {
		if ((size_t)i == size)
			return -1;
		if ((byte[i] & 0xc0) != 0x80) /* also stops at NUL */
			return 0;
	}
	code = np_text_code_point(text);
	if (code < smallest[len] || (code >= 0xd800 && code < 0xe000) ||
	    code > 0x10ffff)
		return 0;
	return len;
}

bool np_text_char_is_plain(const char *text)
{
	static const struct {
		uint32_t first, last;
	} not_plain[] = {
		{ 0x0000, 0x001f },   { 0x007f, 0x009f }, /* controls */
		{ 0x00ad, 0x00ad },			  /* soft hyphen */
		{ 0x061c, 0x061c },   /* Arabic letter mark */
		{ 0x180e, 0x180e },   /* zero width */
		{ 0x200b, 0x200f },   /* zero width, direction marks */
		{ 0x2028, 0x202e },   /* ends of lines, embedded directions */
		{ 0x2060, 0x206f },   /* invisible, isolated directions */
		{ 0xfeff, 0xfeff },   /* byte order mark */
		{ 0xfdd0, 0xfdef },   /* noncharacters, as below */
		{ 0xfff9, 0xfffb },   /* annotations */
		{ 0xe0000, 0xe007f }, /* tags */
	};
	uint32_t code = np_text_code_point(text);

	for (size_t i = 0; i < NP_ARRAY_SIZE(not_plain); i++)
		if (code >= not_plain[i].first && code <= not_plain[i].last)
			return false;
	/* XML and cairo refuse noncharacters, also the last two of a plane. */
	return (code & 0xfffe) != 0xfffe;
}

/*
 * Copy a text, made plain and cut to max bytes. out may be text itself, because
 * the copy is never longer.
 */
static void copy_plain(const char *text, size_t max, char *out)
{
	size_t n = 0;

	while (*text) {
		int len = np_text_char_len(text, NP_TEXT_CHAR_MAX);
		size_t n_read = len ? (size_t)len : 1;

		if (n + n_read > max)
			break;
		if (len && np_text_char_is_plain(text)) {
			memmove(out + n, text, n_read);
			n += n_read;
		} else {
			out[n++] = '?';
		}
		text += n_read;
	}
	out[n] = '\0';
}

void np_text_make_plain(char *text)
{
	copy_plain(text, SIZE_MAX, text);
}

void np_text_print(char *buf, size_t len, const char *fmt, va_list args)
{
	if (vsnprintf(buf, len, fmt, args) < 0)
		buf[0] = '\0';
	np_text_make_plain(buf);
}

char *np_text_plain_copy(const char *text, size_t max)
{
	char *plain = malloc(strnlen(text, max) + 1);

	if (plain)
		copy_plain(text, max, plain);
	return plain;
}

char *np_text_close(FILE *f, char *const *text)
{
	bool bad = ferror(f);

	if (!fclose(f) && !bad)
		return *text;
	free(*text);
	return NULL;
}

bool np_list_has(const char *list, const char *word, size_t len)
{
	for (size_t item_len; list && *list;
	     list += item_len + (list[item_len] == ',')) {
		item_len = strcspn(list, ",");
		if (item_len == len && !memcmp(list, word, len))
			return true;
	}
	return false;
}

uint64_t np_hash(uint64_t hash, const void *data, size_t len)
{
	const unsigned char *byte = data;

	while (len--)
		hash = (hash ^ *byte++) * UINT64_C(0x100000001b3);
	return hash;
}

/* ---- suggestions for a mistyped name ---- */

#define MAX_COMPARED 64 /* characters compared; longer names are cut */
#define MAX_SUGGESTIONS 3
#define TOO_DIFFERENT SIZE_MAX /* to be suggested */

static size_t min_size(size_t a, size_t b)
{
	return a < b ? a : b;
}

static int to_lower(char c)
{
	return tolower((unsigned char)c);
}

/* Optimal string alignment: Levenshtein distance with swaps of two letters. */
size_t np_distance(const char *a, const char *b)
{
	size_t len_a = strnlen(a, MAX_COMPARED),
	       len_b = strnlen(b, MAX_COMPARED);
	/* d[i][k] is the distance of the first i characters of a and k of b. */
	unsigned char d[MAX_COMPARED + 1][MAX_COMPARED + 1];

	for (size_t i = 0; i <= len_a; i++)
		d[i][0] = (unsigned char)i;
	for (size_t k = 0; k <= len_b; k++)
		d[0][k] = (unsigned char)k;
	for (size_t i = 1; i <= len_a; i++)
		for (size_t k = 1; k <= len_b; k++) {
			size_t least =
				d[i - 1][k - 1] + (size_t)(to_lower(a[i - 1]) !=
							   to_lower(b[k - 1]));

			least = min_size(
				least, min_size(d[i - 1][k], d[i][k - 1]) + 1u);
			if (i > 1 && k > 1 &&
			    to_lower(a[i - 1]) == to_lower(b[k - 2]) &&
			    to_lower(a[i - 2]) == to_lower(b[k - 1]))
				least = min_size(least, d[i - 2][k - 2] + 1u);
			d[i][k] = (unsigned char)least;
		}
	return d[len_a][len_b];
}

/*
 * How different two names are. One mistake in a short name, and one per three
 * characters of a longer one, count as typing errors. Names that contain each
 * other, such as "NPmpi" for "mpi", are more different than that.
 */
static size_t dissimilarity(const char *name, const char *other)
{
	size_t len = strlen(name), mistakes = np_distance(name, other);

	if (mistakes <= (len < 6 ? 1 : len / 3) && mistakes < len)
		return mistakes;
	if (len >= 2 && strlen(other) >= 2 &&
	    (strstr(other, name) || strstr(name, other)))
		return MAX_COMPARED + mistakes;
	return TOO_DIFFERENT;
}

struct candidate {
	const char *name;
	size_t dissimilarity;
};

/* Names that are equally similar are suggested in alphabetical order. */
static bool is_better(const struct candidate *a, const struct candidate *b)
{
	if (a->dissimilarity != b->dissimilarity)
		return a->dissimilarity < b->dissimilarity;
	return strcmp(a->name, b->name) < 0;
}

void np_suggest(const char *name, const char *const *names, size_t n, char *buf,
		size_t len)
{
	struct candidate best[MAX_SUGGESTIONS + 1]; /* + 1 for insertion */
	size_t n_best = 0, written = 0;

	for (size_t i = 0; i < n; i++) {
		struct candidate candidate = { names[i],
					       dissimilarity(name, names[i]) };
		size_t position = n_best;

		/* A name that exists, though not in the place that was meant. */
		if (candidate.dissimilarity == TOO_DIFFERENT ||
		    !strcmp(name, names[i]))
			continue;
		for (; position && is_better(&candidate, &best[position - 1]);
		     position--)
			best[position] = best[position - 1];
		best[position] = candidate;
		n_best = min_size(n_best + 1, MAX_SUGGESTIONS);
	}
	buf[0] = '\0';
	for (size_t i = 0; i < n_best && written < len; i++)
		written += (size_t)snprintf(buf + written, len - written,
					    "%s%s%s",
					    i == 0 ? "; did you mean " :
					    i + 1 == n_best ? " or " :
							      ", ",
					    best[i].name,
					    i + 1 == n_best ? "?" : "");
}
