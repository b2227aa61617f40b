/*
 * A small text, cut into lines of words.  For readers of what people write by
 * hand.
 */
#ifndef NP_WORDS_H
#define NP_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "np_err.h"

#define NP_WORDS_LINE 4096 /* bytes of a line */
#define NP_WORDS_MAX 256   /* words of a line */

struct np_words {
	const char *source; /* for messages; borrowed */
	struct np_err *err;
	int rc; /* what went wrong first; then no line is read any more */
	const char *at, *end;
	size_t line;		  /* 1, 2, ... */
	char text[NP_WORDS_LINE]; /* of this line, words ended by NUL */
	size_t n;
	char *word[NP_WORDS_MAX];
};

/* text: borrowed, len bytes; err too. */
void np_words_open(struct np_words *w, const char *text, size_t len,
		   const char *source, struct np_err *err);

/*
 * The next line that has words; '#' begins a comment.  False: there is none; or
 * it is too long, has too many words or bytes that are no text (-EINVAL).
 */
bool np_words_next(struct np_words *w);

/* "SOURCE:LINE: ...", unless something was wrong before.  Returns w->rc. */
int np_words_fail(struct np_words *w, int rc, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
int np_words_no_memory(struct np_words *w);

/* Is word i this one? */
bool np_words_is(const struct np_words *w, size_t i, const char *text);

/*
 * Word i, "" if there is none; as a time ("10ms"), as bytes ("4M") or as a
 * whole number of at most max; 0 if it is none.
 */
const char *np_words_at(const struct np_words *w, size_t i);
double np_words_time(struct np_words *w, size_t i);
uint64_t np_words_bytes(struct np_words *w, size_t i, uint64_t max);
uint64_t np_words_count(struct np_words *w, size_t i, uint64_t max);

#endif
