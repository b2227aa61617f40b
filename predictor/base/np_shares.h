/*
 * A limited amount that many users draw from.
 *
 * A user may hold as much as stays free, and no more.  So one user alone gets
 * half of it, n users who want all of it get 1/(n + 1) of it each, and there
 * is always something left for the next one.
 */
#ifndef NP_SHARES_H
#define NP_SHARES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "np_numbers.h"

/* Zeroed but for the limit, nothing is taken. */
struct np_shares {
	uint64_t limit, used;
	struct np_numbers user;
	uint64_t *held; /* of each user */
	size_t room;
};

/*
 * Take some for a user.  Returns whether there was enough: otherwise nothing
 * has changed.  Without memory it is true as long as the limit allows it.
 */
bool np_shares_take(struct np_shares *s, uint32_t uid, uint64_t amount);

/* Would np_shares_take() succeed? */
bool np_shares_left(const struct np_shares *s, uint32_t uid, uint64_t amount);

/* Count what a user already holds, whether or not it is too much. */
void np_shares_add(struct np_shares *s, uint32_t uid, uint64_t amount);

/* Nothing is taken any more; the limit and memory are kept. */
void np_shares_clear(struct np_shares *s);
void np_shares_free(struct np_shares *s);

#endif
