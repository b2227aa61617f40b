/*
 * The requests of netprof-saver: those that wait for the store, and those that
 * are being worked on.
 *
 * Requests of one user are worked on one after the other, so that a store which
 * does not answer holds at most one process for each user, and at most
 * NP_SAVER_WORKERS on a node.  A record that still waits is replaced by a newer
 * one of the same run from the same connection.  Pure: no I/O.
 */
#ifndef NP_SAVER_QUEUE_H
#define NP_SAVER_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "np_saver_proto.h"

#define NP_SAVER_WORKERS 16
#define NP_SAVER_WAITING 4096	   /* most requests, of all users ... */
#define NP_SAVER_WAITING_USER 1024 /* ... and of one */
#define NP_SAVER_WAITING_BYTES (64u << 20) /* in them, of all users ... */
#define NP_SAVER_WAITING_USER_BYTES (16u << 20) /* ... and of one */

/* The user of a client process; shared by its connection and its requests. */
struct np_saver_who {
	size_t users; /* reference count */
	uid_t uid;
	gid_t gid;
	size_t n_groups;
	gid_t group[];
};

/* Drop a reference; the last one frees it.  NULL is allowed. */
void np_saver_who_put(struct np_saver_who *w);

struct np_saver_request {
	struct np_saver_request *next; /* for the queue only */
	struct np_saver_who *who; /* the queue holds a reference */
	uint64_t from;		  /* number of the connection */
	enum np_saver_kind kind;
	uint32_t seq;
	char *text;  /* fields; owned */
	size_t len;
	bool starts; /* being worked on */
};

struct np_saver_queue {
	struct np_saver_request *first; /* oldest first */
	size_t n_workers;		/* requests being worked on */
};

/*
 * Queue a copy of r, which takes over r->text; r->who is borrowed.  Returns 0;
 * or -EBUSY (too much is waiting) or -ENOMEM, and the text is freed.
 */
int np_saver_queue_add(struct np_saver_queue *q,
		       const struct np_saver_request *r);

/*
 * The next request to work on, which counts as being worked on until
 * np_saver_queue_done(); NULL: none.
 */
struct np_saver_request *np_saver_queue_next(struct np_saver_queue *q);

/* Remove it and free it. */
void np_saver_queue_done(struct np_saver_queue *q,
			 struct np_saver_request *r);

#endif
