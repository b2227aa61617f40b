/*
 * Reports on their way out: each one line, one write(2).
 */
#ifndef NP_SAY_H
#define NP_SAY_H

#include <stdint.h>

#include "np_report.h"

struct np_say {
	int fd;
	int wait_ms; /* how long a full pipe is waited for, per line */
	uint64_t dropped; /* lines that found no room */
};

/*
 * Write one report.  A reader that does not read costs lines, not time.
 * Returns 0; -EPIPE or another -errno once nobody can read any more;
 * -EAGAIN if the line was dropped; -EINVAL if it cannot be formatted.
 */
int np_say(struct np_say *s, const struct np_report *r);

#endif
