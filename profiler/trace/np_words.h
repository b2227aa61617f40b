/*
 * A small text file: read in full, and cut into lines of words.  For readers
 * of what people write by hand.
 */
#ifndef NP_WORDS_H
#define NP_WORDS_H

#include <stddef.h>
#include <stdint.h>

#include "np_err.h"

#define NP_WORDS_LINE 4096 /* bytes of a line */
#define NP_WORDS_MAX 256   /* words of a line */

struct np_words {
	const char *source; /* for messages; borrowed */
	const char *at, *end;
	size_t line;		  /* 1, 2, ... */
	char text[NP_WORDS_LINE]; /* of this line, words ended by NUL */
	size_t n;
	char *word[NP_WORDS_MAX];
};

/* text: borrowed, len bytes. */
void np_words_open(struct np_words *w, const char *text, size_t len,
		   const char *source);

/*
 * The next line that has words; '#' begins a comment.  Returns 1, 0 (there is
 * none) or -EINVAL: a line that is too long, has too many words or bytes that
 * are no text.
 */
int np_words_next(struct np_words *w, struct np_err *err);

/* "SOURCE:LINE: ..." Returns rc. */
int np_words_errf(const struct np_words *w, struct np_err *err, int rc,
		  const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* Word i as a time ("10ms") or as bytes ("4M"), at most max. 0 or -EINVAL. */
int np_words_time(const struct np_words *w, size_t i, double *sec,
		  struct np_err *err);
int np_words_bytes(const struct np_words *w, size_t i, uint64_t max,
		   uint64_t *bytes, struct np_err *err);
/* A whole number, at most max. */
int np_words_count(const struct np_words *w, size_t i, uint64_t max,
		   uint64_t *n, struct np_err *err);

/*
 * All of a regular file of at most max bytes; free *text.  Returns 0 or
 * -errno with err.
 */
int np_words_file(const char *path, size_t max, char **text, size_t *len,
		  struct np_err *err);

#endif
