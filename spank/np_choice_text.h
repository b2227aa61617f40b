/*
 * A choice of levels (np_choose.h) as text, for the process that asked another
 * one to look into the store.  Pure: no I/O.
 */
#ifndef NP_CHOICE_TEXT_H
#define NP_CHOICE_TEXT_H

#include "np_choose.h"

/* NULL: out of memory.  free() it. */
char *np_choice_print(const struct np_choice *c);

/*
 * The reverse; *out has no lock.  Returns 0, -EINVAL (damaged) or -ENOMEM; *out
 * is NP_CHOICE_INIT then.
 */
int np_choice_parse(const char *text, struct np_choice *out);

#endif
