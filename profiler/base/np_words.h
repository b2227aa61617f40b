/* Lines of words, a text format that people write by hand. */
#ifndef NP_WORDS_H
#define NP_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "np_err.h"

#define NP_WORDS_LINE 4096 /* most bytes in a line, with its NUL */
#define NP_WORDS_MAX 256   /* most words in a line */

struct np_words {
	const char *source; /* for messages; borrowed */
	struct np_err *err;
	int rc; /* the first error, after which no line is read */
	const char *at, *end;
	size_t line;		  /* number of the line, from 1 */
	char text[NP_WORDS_LINE]; /* the line; each word ends with NUL */
	size_t n;
	char *word[NP_WORDS_MAX];
};

/* Read len bytes of text; text and err are borrowed. */
void np_words_open(struct np_words *w, const char *text, size_t len,
		   const char *source, struct np_err *err);

/*
 * Advance to the next line that has words; '#' starts a comment. False: there
 * is none, or the line is too long, has too many words or is not text
 * (-EINVAL in w->rc).
 */
bool np_words_next(struct np_words *w);

/*
 * Set err to "SOURCE:LINE: ..." and w->rc to rc, unless there was an error
 * before. Returns w->rc.
 */
int np_words_fail(struct np_words *w, int rc, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
int np_words_no_memory(struct np_words *w);

/* True if word i is this text. */
bool np_words_is(const struct np_words *w, size_t i, const char *text);

/*
 * Word i, "" if there is none. As a time ("10ms", seconds), as bytes ("4M"), or
 * as a whole number of at most max; these fail and return 0 for other words.
 */
const char *np_words_at(const struct np_words *w, size_t i);
double np_words_time(struct np_words *w, size_t i);
uint64_t np_words_bytes(struct np_words *w, size_t i, uint64_t max);
uint64_t np_words_count(struct np_words *w, size_t i, uint64_t max);

#endif
