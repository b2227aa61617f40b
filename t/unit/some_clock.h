/* A clock that is wrong: what time() says is so much ahead, or behind. */
#ifndef NP_T_SOME_CLOCK_H
#define NP_T_SOME_CLOCK_H

extern long t_ahead_sec; /* 0: it is right */

#endif
