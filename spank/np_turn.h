/*
 * One process of a user at a time waits for a file system that may not answer,
 * of those that are forked to do so and not waited for.
 */
#ifndef NP_TURN_H
#define NP_TURN_H

#include <stdbool.h>

/*
 * Become the one of this user on this host, until this process ends, whatever
 * ends it.  False: another one has been it for the last 0.2 s.  Plain system
 * calls only.
 */
bool np_turn_take(void);

#endif
