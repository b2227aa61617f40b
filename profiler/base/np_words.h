/*
 * Reader of lines of words, a text format that people write by hand. Words are
 * separated by blanks and tabs; '#' starts a comment.
 */
#ifndef NP_WORDS_H
#define NP_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "np_err.h"

#define NP_WORDS_LINE 4096 /* most bytes in a line, with its NUL */
#define NP_WORDS_MAX 256   /* most words in a line */

struct np_words {
	const char *source; /* for messages */
	struct np_err *err;
	int rc;		      /* the first error, after which no line is read */
	const char *at, *end; /* what has not been read */
	/* The current line; each word ends with NUL. */
	size_t line; /* its number, from 1 */
	char text[NP_WORDS_LINE];
	size_t n;
	char *word[NP_WORDS_MAX]; /* point into text */
};

/*
 * Begin to read text, of len bytes. w->rc is then -EINVAL if it is of another
 * kind (np_kind_check()). text, source and err are borrowed until the last line
 * has been read.
 */
void np_words_open(struct np_words *w, const char *text, size_t len,
		   const char *source, struct np_err *err);

/*
 * Advance to the next line that has words. Returns false if there is none, if
 * there was an error before, or if the line is too long, has too many words or
 * control characters (w->rc is then -EINVAL).
 */
bool np_words_next(struct np_words *w);

/*
 * Set err to "SOURCE:LINE: ..." and w->rc to rc, unless there was an error
 * before. Returns w->rc. np_words_no_memory() does the same with -ENOMEM and
 * "SOURCE: out of memory".
 */
int np_words_fail(struct np_words *w, int rc, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
int np_words_no_memory(struct np_words *w);

/* Whether word i of the line is this text. */
bool np_words_is(const struct np_words *w, size_t i, const char *text);

/*
 * Word i of the line, "" if there is none; and that word as a time ("10ms") in
 * seconds, as bytes ("4M"), or as a whole number, these two at most max. For
 * any other word they call np_words_fail() with -EINVAL and return 0.
 */
const char *np_words_at(const struct np_words *w, size_t i);
double np_words_time(struct np_words *w, size_t i);
uint64_t np_words_bytes(struct np_words *w, size_t i, uint64_t max);
uint64_t np_words_count(struct np_words *w, size_t i, uint64_t max);

#endif
