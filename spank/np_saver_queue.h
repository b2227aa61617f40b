/*
 * The requests of netprof-saver: those that wait for the store, and those that
 * are being worked on.
 *
 * Requests of one user are worked on one after the other, so that a file system
 * which does not answer holds at most one process for each user, and at most
 * NP_SAVER_WORKERS on a node. A record that still waits is replaced by a newer
 * one of the same run from the same connection, and gets no reply of its own.
 * Pure: no I/O.
 */
#ifndef NP_SAVER_QUEUE_H
#define NP_SAVER_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "np_saver_proto.h"

/*
 * Most requests being worked on at a time. It is more than the users of a node,
 * so that those whose file server is lost leave processes for the others.
 */
#define NP_SAVER_WORKERS 128
/*
 * Most requests in the queue, waiting or being worked on, and most bytes of
 * their texts; of all users, and of one, who gets a share (np_array.h) if that
 * is less.
 */
#define NP_SAVER_WAITING 4096
#define NP_SAVER_WAITING_USER 1024
#define NP_SAVER_WAITING_BYTES (64u << 20)
#define NP_SAVER_WAITING_USER_BYTES (16u << 20)

/*
 * The user of a client process, with whose rights requests are executed. It is
 * shared by the connection and the requests of the client.
 */
struct np_saver_client {
	size_t refs;
	uid_t uid;
	gid_t gid;
	size_t n_groups;
	gid_t group[];
};

/* Drop a reference; the last one frees it. NULL is allowed. */
void np_saver_client_put(struct np_saver_client *client);

struct np_saver_request {
	struct np_saver_request *next;	/* for the queue only */
	struct np_saver_client *client; /* the queue holds a reference */
	uint64_t connection;		/* number of the client's connection */
	enum np_saver_kind kind;
	uint32_t seq; /* number of the request, for its reply */
	char *text;   /* fields of the message, malloc'ed */
	size_t len;   /* bytes of text */
	bool running; /* it is being worked on */
};

struct np_saver_queue {
	struct np_saver_request *first; /* a list, oldest first */
	size_t n_workers;		/* requests being worked on */
};

/*
 * Queue a copy of a request. The queue owns its text from now on, and takes a
 * reference of its own to the client. Returns 0; or -EBUSY (a limit is
 * reached) or -ENOMEM, and the text is freed.
 */
int np_saver_queue_add(struct np_saver_queue *queue,
		       const struct np_saver_request *request);

/*
 * Return the next request to work on, which counts as being worked on until
 * np_saver_queue_done(); NULL: none can be started now. The queue still owns
 * it.
 */
struct np_saver_request *np_saver_queue_next(struct np_saver_queue *queue);

/* Remove a request that has been worked on, and free it. */
void np_saver_queue_done(struct np_saver_queue *queue,
			 struct np_saver_request *request);

#endif
