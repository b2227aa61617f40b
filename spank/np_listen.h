/*
 * Where the attendant can be reached: a socket that srun opens, so that the
 * nodes can be told its port before there is an attendant.
 */
#ifndef NP_LISTEN_H
#define NP_LISTEN_H

#include <stdint.h>

#include "np_err.h"
#include "np_invite.h"

/*
 * A listening TCP socket on all addresses, IPv6 where there is such, that does
 * not block and closes on exec, numbered 10 or more.  range: first and last
 * port that a firewall lets through (SrunPortRange), or NULL: any.
 * Returns the descriptor, *port set, or -errno with err.
 */
int np_listen(const uint16_t range[2], uint16_t *port, struct np_err *err);

/* Fresh secrets, and a seed.  Returns 0 or -errno with err. */
int np_listen_tokens(struct np_invite *v, struct np_err *err);

#endif
