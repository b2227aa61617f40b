/*
 * Parts of JSON text that are found without being parsed, so that a long list
 * needs memory for one element at a time.  What is found is well formed only
 * as far as its parser says afterwards.
 */
#ifndef NP_JSPAN_H
#define NP_JSPAN_H

#include <stdbool.h>
#include <stddef.h>

struct np_jspan {
	const char *text; /* borrowed, not terminated */
	size_t len;
};

/* A walk through an object or array; begins as { the whole text of it }. */
struct np_jwalk {
	struct np_jspan rest;
	bool begun;
};

/*
 * How much of what takes memory a text may have: a parser needs up to 900 bytes
 * for an object of two.
 */
struct np_jlimits {
	size_t objects, arrays, elements; /* '{', '[' and ',' */
};

/* To be asked before parsing, as that is what takes the memory. */
bool np_jspan_within(const char *text, size_t len,
		     const struct np_jlimits *max);

/*
 * The next member of an object, or element of an array (key NULL).  key is
 * without its quotes, escapes as they stand.
 * Returns 1 (found), 0 (there are no more) or -1 (damaged, at w->rest).
 */
int np_jspan_next(struct np_jwalk *w, struct np_jspan *key,
		  struct np_jspan *value);

#endif
