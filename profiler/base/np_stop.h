/*
 * Being asked to end: SIGUSR1, SIGTERM or SIGINT.
 */
#ifndef NP_STOP_H
#define NP_STOP_H

#include <stdbool.h>

#include "np_err.h"

/*
 * Take the signals over; SIGPIPE is ignored.  Until np_stop_defer() a signal
 * ends the process at once with exit code 0, as nothing is lost: it may be
 * stuck in a library that waits for others.  Returns 0 or -errno with err.
 */
int np_stop_init(struct np_err *err);

/* From now on a signal only sets np_stop_asked(). */
void np_stop_defer(void);
bool np_stop_asked(void);

/* As if a signal had come. */
void np_stop_ask(void);

/* Readable once the end was asked for: for np_clock_init(). */
int np_stop_fd(void);

#endif
