/*
 * Text from outside, made safe to store, to log and to print.
 *
 * One answer for all of it: what a terminal or a reader of a log could take
 * for anything but itself becomes '?'.  That is control characters (C0, DEL
 * and C1), characters that turn the direction of writing, end a line or show
 * nothing at all, and whatever is no valid UTF-8.
 */
#ifndef NP_TEXT_H
#define NP_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of the longest character. */
#define NP_TEXT_CHAR 4

/* In place: text grows no longer by it. */
void np_text_plain(char *text);

/* vsnprintf() of len > 0 bytes, and then that: for all that goes to people. */
void np_text_print(char *buf, size_t len, const char *fmt, va_list ap)
	__attribute__((format(printf, 3, 0)));

/*
 * A copy of text, at most max bytes long and cut between characters.  free()
 * it.  NULL: out of memory.
 */
char *np_text_clean(const char *text, size_t max);

/*
 * Length of the character at p, of which len > 0 bytes may be read: 0 if there
 * is none (RFC 3629), -1 if these are only the beginning of one.
 */
int np_text_char(const char *p, size_t len);

/* The number of that character, which is one: 0x20ac. */
uint32_t np_text_code(const char *p);

/* May it be shown as it is? */
bool np_text_is_plain(const char *p);

/* FNV-1a of len bytes, begun at NP_HASH or going on from another hash. */
#define NP_HASH UINT64_C(0xcbf29ce484222325)
uint64_t np_hash(uint64_t hash, const void *data, size_t len);

#endif
