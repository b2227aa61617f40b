/*
 * JSON text as every json-c reads it alike.
 *
 * json-c 0.17 and later refuse, when strict, every byte above 0x7f, and whole
 * numbers beyond 64 bits; those before cut such numbers.  So characters beyond
 * ASCII are escaped before they are parsed, and such numbers are refused.
 */
#ifndef NP_JTEXT_H
#define NP_JTEXT_H

#include <stddef.h>

/* Where text is damaged, and how. */
struct np_jtext_damage {
	size_t at;
	const char *why;
};

/*
 * Returns 0 (*out is malloc'ed and has *out_len bytes), -ENOMEM, or -EINVAL
 * with the damage.
 */
int np_jtext_make(const char *text, size_t len, char **out, size_t *out_len,
		  struct np_jtext_damage *d);

/* The byte of text that became byte at of what was made of it. */
size_t np_jtext_source(const char *text, size_t len, size_t at);

#endif
