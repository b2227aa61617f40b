/*
 * Text from users and files, made safe to store, to log and to print; lists in
 * text; hashes; and suggestions for mistyped names.
 *
 * Plain text has no special meaning to a terminal or a log reader. All other
 * characters become '?': control characters (C0, DEL and C1),
 * characters that change the direction of writing, end a line or are invisible,
 * and invalid UTF-8.
 */
#ifndef NP_TEXT_H
#define NP_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* ---- plain text ---- */

#define NP_TEXT_CHAR_MAX 4 /* bytes of the longest character */

/* Make text plain in place. It does not get longer. */
void np_text_make_plain(char *text);

/*
 * Like vsnprintf() into buf (len > 0 bytes), but the text is made plain. All
 * messages for people are made by this function.
 */
void np_text_print(char *buf, size_t len, const char *fmt, va_list args)
	__attribute__((format(printf, 3, 0)));

/*
 * A plain copy of text, cut between characters to at most max bytes; free() it.
 * NULL: out of memory.
 */
char *np_text_plain_copy(const char *text, size_t max);

/*
 * Length of the UTF-8 character (RFC 3629) at text, of which len > 0 bytes may
 * be read: 0 if it is invalid, -1 if it is incomplete.
 */
int np_text_char_len(const char *text, size_t len);

/* Code point of a valid character, such as 0x20ac for the euro sign. */
uint32_t np_text_code_point(const char *text);

/* True if a valid character is plain. */
bool np_text_char_is_plain(const char *text);

/* ---- text in memory ---- */

/*
 * Close a stream of open_memstream(), which writes to *text. Returns the text;
 * NULL: out of memory.
 */
char *np_text_close(FILE *f, char *const *text);

/* ---- lists ---- */

/* True if a word of len bytes is in a list such as "a,b"; list may be NULL. */
bool np_list_has(const char *list, const char *word, size_t len);

/* ---- hashes ---- */

/* FNV-1a of len bytes, starting from NP_HASH or continuing another hash. */
#define NP_HASH UINT64_C(0xcbf29ce484222325)
uint64_t np_hash(uint64_t hash, const void *data, size_t len);

/* ---- suggestions for a mistyped name ---- */

/*
 * Number of letters to insert, delete, replace or swap to turn a into b,
 * ignoring case. Exported for the unit tests.
 */
size_t np_distance(const char *a, const char *b);

/*
 * Write "; did you mean a, b or c?" into buf (len > 0 bytes), with the names
 * that are most similar to `name`, or "" if none of the n names is similar.
 * Ignores case.
 */
void np_suggest(const char *name, const char *const *names, size_t n, char *buf,
		size_t len);

#endif
