/*
 * Requests that wait for the store, and those that are being worked on.
 *
 * The requests of a user are worked on one after the other, so that a store
 * which does not answer holds at most one process for each user, and at most
 * NP_SAVER_WORKERS of a node.  A run's record that still waits is replaced by a
 * newer one of the same connection.  Pure: no I/O.
 */
#ifndef NP_SAVER_QUEUE_H
#define NP_SAVER_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "np_saver_msg.h"

#define NP_SAVER_WORKERS 16
#define NP_SAVER_WAITING 4096		  /* requests of all users ... */
#define NP_SAVER_WAITING_USER 1024	  /* ... and of one */
#define NP_SAVER_WAITING_BYTES (64u << 20) /* in them, of all users ... */
#define NP_SAVER_WAITING_USER_BYTES (16u << 20) /* ... and of one */

/* A user, as the process was that asked; shared by its requests. */
struct np_saver_who {
	size_t users; /* of this structure */
	uid_t uid;
	gid_t gid;
	size_t n_groups;
	gid_t group[];
};

/* The last one frees it; NULL is allowed. */
void np_saver_who_put(struct np_saver_who *w);

struct np_saver_request {
	struct np_saver_request *next; /* of the queue alone */
	struct np_saver_who *who; /* the queue counts as one of its users */
	uint64_t from; /* connection */
	enum np_saver_kind kind;
	uint32_t seq;
	char *text;  /* fields; owned */
	size_t len;
	bool starts; /* it is being worked on */
};

struct np_saver_queue {
	struct np_saver_request *first; /* oldest first */
	size_t n_workers;
};

/*
 * Queue a copy of r, which takes over r->text; r->who is borrowed.  Returns 0,
 * or -EBUSY (there is too much) or -ENOMEM, and the text is freed.
 */
int np_saver_queue_add(struct np_saver_queue *q,
		       const struct np_saver_request *r);

/*
 * The request to begin with now, which counts as being worked on until
 * np_saver_queue_done(); NULL: none.
 */
struct np_saver_request *np_saver_queue_next(struct np_saver_queue *q);

/* Remove it and free it. */
void np_saver_queue_done(struct np_saver_queue *q,
			 struct np_saver_request *r);

#endif
