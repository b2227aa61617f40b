/*
 * Lists of names as Slurm writes them: "leaf[0-3,07],rack1sw[0-1]x[2-3]".
 * For programs without Slurm's library.
 */
#ifndef NP_HOSTLIST_H
#define NP_HOSTLIST_H

#include <stddef.h>

#include "np_err.h"

#define NP_HOSTLIST_MAX 65536 /* names of one list */

/*
 * The names, in the order of the list; "" and NULL have none.  *names: array
 * of n malloc'ed strings, np_names_free().
 * Returns 0, -EINVAL (no such list), -E2BIG (more names) or -ENOMEM, with err.
 */
int np_hostlist_expand(const char *text, char ***names, size_t *n,
		       struct np_err *err);
/* Lists of that kind: one more (0 or -ENOMEM), and the end of all. */
int np_names_add(char ***names, size_t *n, const char *name);
void np_names_free(char **names, size_t n);

/*
 * The first word of a list as Slurm reads what users write: words such as
 * "n[0-3,8]" are parted by commas, by spaces, and by several of them.  *text
 * is moved to it.  Returns its length; 0: there is none.
 */
size_t np_hostlist_word(const char **text);

/*
 * Call each() for every name of a word.  No allocation; a range costs as many
 * calls as it has names, so each() should know when to stop.  Returns 0, what
 * each() returned that is not 0, or -EINVAL (no such word, perhaps after some
 * calls).
 */
typedef int np_hostlist_f(void *arg, const char *name);
int np_hostlist_walk(const char *word, size_t len, np_hostlist_f *each,
		     void *arg);

/*
 * The names in both lists, in the order of a, written as "x,y" and cut as
 * "x,y and 3 more" where they do not fit.  Returns how many there are; a list
 * that is none has no names.
 */
size_t np_hostlist_shared(const char *a, const char *b, char *buf, size_t len);

#endif
