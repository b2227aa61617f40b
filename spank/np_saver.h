/*
 * The collector's connection to netprof-saver, which writes to the store on its
 * behalf and replies.  Nothing here touches a file of the store or waits longer
 * than its caller allows.  What was sent is written even if this process has
 * ended, as soon as the store answers.
 */
#ifndef NP_SAVER_H
#define NP_SAVER_H

#include <stdbool.h>

#include "np_choose.h"
#include "np_conf.h"
#include "np_record.h"
#include "np_saver_proto.h"

struct np_saver {
	const struct np_conf *conf; /* Store, LibexecDir, MaxRuns; borrowed */
	int fd; /* to poll(2) for POLLIN; -1: not connected */
	uint32_t seq, answered; /* of the last request and of the last reply */
	int rc;			/* result in that reply */
	char why[NP_ERR_LEN];	/* its text */
	struct np_choice choice; /* its choice, if np_saver_choose() asked */
	struct np_saver_head head; /* of a reply being read */
	size_t got; /* bytes of head read, then of text */
	char *text; /* fields of that reply; NULL: none yet */
};

#define NP_SAVER_INIT { .fd = -1, .choice = NP_CHOICE_INIT }

/*
 * Have a record written, or replaced by this one.  Returns 0 once the saver has
 * the request; or -errno with err, such as -ENOENT: no saver runs on this node.
 */
int np_saver_save(struct np_saver *s, const struct np_record *r,
		  struct np_err *err);

/*
 * Have a level chosen for r by np_choose(), to run on nodes, and the record
 * written with it.  Returns as np_saver_save().
 */
int np_saver_choose(struct np_saver *s, const struct np_record *r,
		    const char *scope, const char *nodes, double share,
		    double now, struct np_err *err);

/* Read what has arrived.  True: that was the reply to the last request. */
bool np_saver_read(struct np_saver *s);

/*
 * Wait for the reply to the last request, at most timeout_ms.  Returns its
 * result, 0 or -errno with err; -ETIMEDOUT: there is no reply yet; -EPIPE: the
 * saver has ended, and the request may be lost.
 */
int np_saver_wait(struct np_saver *s, int timeout_ms, struct np_err *err);

#endif
