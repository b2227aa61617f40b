/*
 * The attendant as seen from srun: a child process with a pipe each way.
 *
 *	srun -> attendant (its stdin)	"start\n", "exit N\n", end of file
 *	attendant -> srun (its stdout)	"ready\n", "saved\n"
 *
 * Nothing here waits longer than it is told to.
 */
#ifndef NP_ATTACH_H
#define NP_ATTACH_H

#include <sys/types.h>

#include "np_err.h"

struct np_attach {
	pid_t owner; /* the process that started it */
	int to, from;
};

#define NP_ATTACH_INIT { .to = -1, .from = -1 }

/*
 * Start argv[0].  It has listen_fd, which is borrowed, above 4 and may be -1,
 * as its descriptor NP_ATTACH_LISTEN_FD.  Returns 0 or -errno with err; a
 * missing file is told.  -ETIMEDOUT: it was not loaded within timeout_ms, as
 * its file system does not answer; it is gone as soon as that lets it.
 */
#define NP_ATTACH_LISTEN_FD 3
int np_attach_start(struct np_attach *a, char *const argv[], int listen_fd,
		    int timeout_ms, struct np_err *err);

/* Send one line.  An attendant that is gone is no error. */
void np_attach_say(struct np_attach *a, const char *line);

/*
 * Wait until the attendant has said the line whose first letter is given, for
 * at most timeout_ms.  Returns 0, -ETIMEDOUT, or -EPIPE if it is gone.
 */
int np_attach_wait(struct np_attach *a, char first, int timeout_ms);

void np_attach_close(struct np_attach *a);

#endif
