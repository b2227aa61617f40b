/* Small random worlds, the same for the same number. */
#ifndef NP_T_RANDOM_TOY_H
#define NP_T_RANDOM_TOY_H

#include "oracle.h"

#define RW_WORLDS 3000

/* modes: of partitions at random; else all enforce. */
void rw_make(struct world *w, uint64_t number, bool modes);

/* A job that placement has placed in mode enforce, and is bound to its word. */
bool rw_bound(const struct world *w, size_t job, const struct np_outcome *v);

/* "world 7: what"; static memory. */
const char *rw_row(const char *what, uint64_t number);

#endif
