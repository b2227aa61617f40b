/*
 * Names that somebody may have meant, for messages about a name that does not
 * exist.  Upper and lower case count as the same.
 */
#ifndef NP_NEAR_H
#define NP_NEAR_H

#include <stddef.h>

/* Letters to insert, delete, replace or swap to make one of the other. */
size_t np_distance(const char *a, const char *b);

/*
 * "; did you mean a, b or c?" of the n names that are most like name, "" if
 * none is like it.  Writes at most len bytes.
 */
void np_suggest(const char *name, const char *const *names, size_t n,
		char *buf, size_t len);

#endif
