/* Text from outside, made safe to store and to print on a terminal. */
#ifndef NP_TEXT_H
#define NP_TEXT_H

#include <stddef.h>

/*
 * A copy of text, at most max bytes long and cut between characters, in which
 * control characters (C0, DEL and C1) and whatever is no valid UTF-8 became
 * '?'.  free() it.  NULL: out of memory.
 */
char *np_text_clean(const char *text, size_t max);

#endif
