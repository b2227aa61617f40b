/*
 * The step collector as srun sees it: a child process, a socket to it, and the
 * rendezvous socket at which the probe agents reach it.
 *
 *	srun -> collector (its stdin)	"start\n", "exit N\n", end of file
 *	collector -> srun (its stdout)	"ready\n", "saved\n"
 *
 * No function waits longer than its caller allows.
 */
#ifndef NP_COLLECTOR_H
#define NP_COLLECTOR_H

#include <stdint.h>
#include <sys/types.h>

#include "np_conf.h"
#include "np_err.h"
#include "np_launch.h"
#include "np_rendezvous.h"

struct np_attach {
	pid_t owner; /* process that started the collector */
	int fd;	     /* socket to the collector; -1: none */
};

#define NP_ATTACH_INIT { .fd = -1 }

/* Descriptor at which the collector finds its rendezvous socket. */
#define NP_ATTACH_LISTEN_FD 3

/*
 * Open a rendezvous socket for one more collector, and append the rendezvous
 * (np_invite_add()) to invites[size], so that the nodes can be told before
 * there is a collector. range: as for np_listen().  Returns the
 * descriptor, or -errno with err.
 */
int np_collector_listen(const struct np_conf *conf, const uint16_t range[2],
			char *invites, size_t size, struct np_err *err);

/*
 * Start the collector for a launch request.  listen_fd, its rendezvous socket,
 * is borrowed.  Returns 0, or -errno with err, also if the file is missing.
 * -ETIMEDOUT: it was not loaded within timeout_ms because its file system does
 * not answer; the process is killed and ends as soon as that permits.
 */
int np_collector_start(struct np_attach *a,
		       const struct np_launch_request *request,
		       const char *libexecdir, int listen_fd, int timeout_ms,
		       struct np_err *err);

/*
 * Wait until the collector's load level runs, for at most timeout_ms; then tell
 * the collector that the program starts.  Returns as np_attach_wait().
 */
int np_collector_wait_ready(struct np_attach *a, int timeout_ms);

/*
 * srun ends with this exit status: tell the collector, wait for the record to
 * be saved, at most save_ms, and close.  Does nothing in a fork of the owner.
 */
void np_collector_end(struct np_attach *a, int status, int save_ms);

/* The rest is called in np_collector.c, and by unit tests. */

/* Start argv[0]; listen_fd is above 4, or -1: none. */
int np_attach_start(struct np_attach *a, char *const argv[],
		      int listen_fd, int timeout_ms, struct np_err *err);

/* Send one line.  A collector that has ended is no error. */
void np_attach_say(struct np_attach *a, const char *line);

/*
 * Wait for the line that begins with this letter, for at most timeout_ms.
 * Returns 0; -ETIMEDOUT; or -EPIPE: the collector has ended.
 */
int np_attach_wait(struct np_attach *a, char first, int timeout_ms);
void np_attach_close(struct np_attach *a);

/*
 * A listening TCP socket on all addresses, IPv6 where the host has it, that
 * does not block, closes on exec and is numbered 10 or more.  range: first and
 * last port that a firewall lets through (SrunPortRange), or NULL: any.
 * Returns the descriptor, with *port, or -errno with err.
 */
int np_listen(const uint16_t range[2], uint16_t *port,
			 struct np_err *err);

/* New cookies and a new seed.  Returns 0, or -EAGAIN with err. */
int np_listen_tokens(struct np_invite *v,
			       struct np_err *err);

#endif
