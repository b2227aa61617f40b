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

/*
 * Call each() for every name, as Slurm reads what a user wrote: names may be
 * parted by spaces as well, and by several separators.  No allocation; a range
 * costs as many calls as it has names, so each() should know when to stop.
 * Returns 0, what each() returned that is not 0, or -EINVAL (no such list,
 * perhaps after some calls).
 */
typedef int np_hostlist_f(void *arg, const char *name);
int np_hostlist_walk(const char *text, np_hostlist_f *each, void *arg);

/*
 * The names in both lists, in the order of a, written as "x,y" and cut as
 * "x,y and 3 more" where they do not fit.  Returns how many there are; a list
 * that is none has no names.
 */
size_t np_hostlist_shared(const char *a, const char *b, char *buf, size_t len);

#endif
