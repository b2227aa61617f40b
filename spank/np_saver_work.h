/*
 * What netprof-saver does for one request, in a process of its own that may
 * wait for the store as long as it takes.
 */
#ifndef NP_SAVER_WORK_H
#define NP_SAVER_WORK_H

#include <stddef.h>

#include "np_saver_msg.h"

/*
 * As the calling user: do what the fields of a message say, text[len], which is
 * damaged by it, and write those of the reply to fd.  The request may be
 * hostile.
 */
void np_saver_work(enum np_saver_kind kind, char *text, size_t len, int fd);

#endif
