/*
 * The attendant as seen from srun: a child process, with a socket between them.
 *
 *	srun -> attendant (its stdin)	"start\n", "exit N\n", end of file
 *	attendant -> srun (its stdout)	"ready\n", "saved\n"
 *
 * Nothing here waits longer than it is told to.
 */
#ifndef NP_ATTACH_H
#define NP_ATTACH_H

#include <stdint.h>
#include <sys/types.h>

#include "np_err.h"
#include "np_invite.h"

struct np_attach {
	pid_t owner; /* the process that started it */
	int fd;
};

#define NP_ATTACH_INIT { .fd = -1 }

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

/*
 * Where it can be reached: srun opens the socket, so that the nodes can be told
 * its port before there is an attendant.
 *
 * A listening TCP socket on all addresses, IPv6 where there is such, that does
 * not block and closes on exec, numbered 10 or more.  range: first and last
 * port that a firewall lets through (SrunPortRange), or NULL: any.
 * Returns the descriptor, *port set, or -errno with err.
 */
int np_listen(const uint16_t range[2], uint16_t *port, struct np_err *err);

/* Fresh secrets, and a seed.  Returns 0 or -errno with err. */
int np_listen_tokens(struct np_invite *v, struct np_err *err);

/*
 * A child process that holds nothing of its parent's.  Between fork and exec,
 * also in a threaded program: plain system calls only.  A session of its own
 * (Ctrl-C and signals to the parent's group are not for it), "/" as its
 * directory, no signal blocked, and no descriptors but the n_keep of keep[],
 * which become 0, 1, 2, ...; -1 stands for /dev/null.  All of keep[] must be at
 * least n_keep.  Returns 0 or -errno.
 */
int np_detach(const int keep[], int n_keep);

#endif
