/*
 * The JSON form of what placement leaves in the store; see
 * netprof-placement(5).  Private to np_state.c and np_ended.c.
 */
#ifndef NP_STATE_JSON_H
#define NP_STATE_JSON_H

#include <stdio.h>

#include "np_state.h"

#define NP_STATE_MAX_LEAVES 65536
#define NP_STATE_MAX_JOBS 262144
#define NP_ENDED_MAX_LINE (1u << 20)

/*
 * Write all of it, one leaf or job a line.  Numbers beyond what a reader takes
 * are written as the last one it does.  Returns 0, -ENOMEM, or -EINVAL with err
 * (a number that is none).  ferror(f) is left to the caller.
 */
int np_state_put(FILE *f, const struct np_state *s, struct np_err *err);

/* text[len] is hostile.  Returns 0, -ENOMEM, or -EINVAL with err. */
int np_state_get(const char *text, size_t len, const char *where,
		 struct np_state *out, struct np_err *err);

/* One line of at most NP_ENDED_MAX_LINE; *out is malloc'ed. */
int np_ended_put(const struct np_ended *e, char **out, struct np_err *err);
int np_ended_get(const char *text, size_t len, struct np_ended *out);

#endif
