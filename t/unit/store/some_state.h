/* A state of placement, and stores that it is written to and read from. */
#ifndef NP_T_SOME_STATE_H
#define NP_T_SOME_STATE_H

#include <stdbool.h>

#include "np_state.h"

extern char store[512]; /* the present one */
void fresh_store(void);

/* Path of a file in its placement/; static. */
const char *path(const char *name);
void write_text(const char *name, const char *text);

/* What some_state() has two of each. */
extern struct np_state_job jobs[];
extern struct np_state_leaf leaves[];
extern struct np_state_denial denials[];
struct np_state some_state(void);

/* They return what np_state_save() and np_state_load() do. */
int save(void);
int load(struct np_state *s, struct np_err *err);
int load_rc(void); /* what was loaded is freed */

/* "" and NULL are the same. */
bool same(const char *a, const char *b);

#endif
