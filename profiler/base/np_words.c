#include "np_words.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "np_option.h"
#include "np_read.h"

void np_words_open(struct np_words *w, const char *text, size_t len,
		   const char *source, struct np_err *err)
{
	w->source = source;
	w->err = err;
	w->at = text;
	w->end = len ? text + len : text;
	w->line = w->n = 0;
	w->rc = np_kind_check(text, len, NP_KIND_WORDS, source, err);
}

int np_words_fail(struct np_words *w, int rc, const char *fmt, ...)
{
	char text[NP_ERR_LEN];
	va_list ap;

	if (w->rc)
		return w->rc;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	/* An empty text has no line, but ends in the first one. */
	w->rc = np_errf(w->err, rc, "%s:%zu: %s", w->source,
			w->line ? w->line : 1, text);
	return w->rc;
}

int np_words_no_memory(struct np_words *w)
{
	if (!w->rc)
		w->rc = np_errf(w->err, -ENOMEM, "%s: out of memory",
				w->source);
	return w->rc;
}

/*
 * Copy a line without its comment. NUL and control characters are errors; tabs
 * become blanks.
 */
static int copy_line(struct np_words *w, const char *from, size_t len)
{
	const char *comment = memchr(from, '#', len);

	if (comment)
		len = (size_t)(comment - from);
	if (len && from[len - 1] == '\r')
		len--;
	if (len >= sizeof(w->text))
		return np_words_fail(
			w, -EINVAL, "a line of %zu bytes, expected at most %zu",
			len, sizeof(w->text) - 1);
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)from[i];

		if ((c < ' ' && c != '\t') || c == 0x7f)
			return np_words_fail(w, -EINVAL,
					     "byte 0x%02x, expected text", c);
		w->text[i] = c == '\t' ? ' ' : (char)c;
	}
	w->text[len] = '\0';
	return 0;
}

static void split_line(struct np_words *w)
{
	char *save = NULL;

	for (char *p = strtok_r(w->text, " ", &save); p;
	     p = strtok_r(NULL, " ", &save)) {
		if (w->n == NP_WORDS_MAX) {
			np_words_fail(w, -EINVAL, "more than %d words",
				      NP_WORDS_MAX);
			return;
		}
		w->word[w->n++] = p;
	}
}

bool np_words_next(struct np_words *w)
{
	w->n = 0;
	while (!w->rc && !w->n && w->at < w->end) {
		const char *end = memchr(w->at, '\n', (size_t)(w->end - w->at));
		size_t len = (size_t)((end ? end : w->end) - w->at);

		w->line++;
		if (!copy_line(w, w->at, len))
			split_line(w);
		w->at = end ? end + 1 : w->end;
	}
	return !w->rc && w->n;
}

const char *np_words_at(const struct np_words *w, size_t i)
{
	return i < w->n ? w->word[i] : "";
}

bool np_words_is(const struct np_words *w, size_t i, const char *text)
{
	return !strcmp(np_words_at(w, i), text);
}

double np_words_time(struct np_words *w, size_t i)
{
	const char *text = np_words_at(w, i);
	double sec;

	if (!np_duration_parse(text, &sec))
		return sec;
	np_words_fail(w, -EINVAL,
		      "\"%.40s\": expected a time such as 10ms or 1.5s", text);
	return 0;
}

uint64_t np_words_bytes(struct np_words *w, size_t i, uint64_t max)
{
	const char *text = np_words_at(w, i);
	uint64_t n;

	if (!np_bytes_parse(text, &n) && n <= max)
		return n;
	np_words_fail(w, -EINVAL,
		      "\"%.40s\": expected bytes such as 512, 4K or 20M, at "
		      "most %llu",
		      text, (unsigned long long)max);
	return 0;
}

uint64_t np_words_count(struct np_words *w, size_t i, uint64_t max)
{
	const char *text = np_words_at(w, i);
	uint64_t n;

	if (!np_whole_parse(text, max, &n))
		return n;
	np_words_fail(w, -EINVAL,
		      "\"%.40s\": expected a whole number, at most %llu", text,
		      (unsigned long long)max);
	return 0;
}
