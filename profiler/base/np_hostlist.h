/*
 * Lists of names as Slurm writes them: "leaf[0-3,07],rack1sw[0-1]x[2-3]". For
 * programs without Slurm's library.
 */
#ifndef NP_HOSTLIST_H
#define NP_HOSTLIST_H

#include <stddef.h>

#include "np_err.h"

#define NP_HOSTLIST_MAX 65536 /* most names in one list */

/*
 * Expand a list, in its order; "" and NULL have no names. Blanks may be around
 * names, or instead of a comma. *names: array of *n malloc'ed strings for
 * np_names_free(). Returns 0, -EINVAL (not a list),
 * -E2BIG (too many names) or -ENOMEM, with err.
 */
int np_hostlist_expand(const char *text, char ***names, size_t *n,
		       struct np_err *err);
/* Append a name to such an array (returns 0 or -ENOMEM); free the array. */
int np_names_add(char ***names, size_t *n, const char *name);
void np_names_free(char **names, size_t n);

/*
 * Find the first word of a list as Slurm reads those written by users: words
 * such as "n[0-3,8]" are separated by commas or white space, or several of
 * them. *text is moved to the word. Returns its length; 0: there is no word.
 */
size_t np_hostlist_word(const char **text);

/*
 * Call each() for every name of a word; NULL: only check the word. Does not
 * allocate. A range costs as many calls as it has names, so each() should know
 * when to stop. Returns 0, the first value of each() that is not 0, -EINVAL (not
 * such a word) or -E2BIG (a range of more names than NP_HOSTLIST_MAX, which
 * Slurm refuses, too), both perhaps after some calls.
 */
typedef int np_hostlist_f(void *arg, const char *name);
int np_hostlist_walk(const char *word, size_t len, np_hostlist_f *each,
		     void *arg);

/* The same for all words of a list, up to the first that fails. */
int np_hostlist_each(const char *list, np_hostlist_f *each, void *arg);

/*
 * Write the names that are in both lists, in the order of a, as "x,y", or as
 * "x,y and 3 more" if they do not fit. Returns their number. Text that is not a
 * list has no names.
 */
size_t np_hostlist_shared(const char *a, const char *b, char *buf, size_t len);

#endif
