/*
 * The store as a collector sees it: a connection to netprof-saver, which writes
 * what it is told and answers.  Nothing here touches a file of the store, nor
 * waits longer than it is told to; what was sent is written even when this
 * process is gone, as soon as the store answers.
 */
#ifndef NP_SAVER_H
#define NP_SAVER_H

#include <stdbool.h>

#include "np_choose.h"
#include "np_conf.h"
#include "np_record.h"
#include "np_saver_msg.h"

struct np_saver {
	const struct np_conf *conf; /* Store, LibexecDir, MaxRuns; borrowed */
	int fd; /* to poll(2) for POLLIN; -1: no connection */
	uint32_t seq, answered; /* of the last request, and of the last reply */
	int rc;			/* that this reply had */
	char why[NP_ERR_LEN];
	struct np_choice choice; /* if it was one to np_saver_choose() */
	struct np_saver_head head; /* of a reply that is still read */
	size_t got; /* bytes of head, then of text */
	char *text; /* NULL: none yet */
};

#define NP_SAVER_INIT { .fd = -1, .choice = NP_CHOICE_INIT }

/*
 * Have a record written, or replaced by this one.  Returns 0 when it is with
 * the saver; or -errno with err, such as -ENOENT: no saver runs on this node.
 */
int np_saver_save(struct np_saver *s, const struct np_record *r,
		  struct np_err *err);

/*
 * Have a level chosen for r, as np_choose() does, where it would run on nodes,
 * and the record written with it.  Returns as np_saver_save().
 */
int np_saver_choose(struct np_saver *s, const struct np_record *r,
		    const char *scope, const char *nodes, double share,
		    double now, struct np_err *err);

/* Read what there is.  True: the last request has been answered just now. */
bool np_saver_hear(struct np_saver *s);

/*
 * Wait for the answer to the last request, timeout_ms at most.  Returns what it
 * says, 0 or -errno with err; -ETIMEDOUT: there is none yet; -EPIPE: the saver
 * has gone, and the request may be lost.
 */
int np_saver_wait(struct np_saver *s, int timeout_ms, struct np_err *err);

/* What was sent stays with the saver. */
void np_saver_close(struct np_saver *s);

#endif
