/*
 * One connection to the attendant: lines in, text out, never waiting.  Who is
 * at the other end may be anybody, until it has said the token.
 */
#ifndef NP_PEER_H
#define NP_PEER_H

#include <stddef.h>

#include "np_wire_join.h"

#define NP_PEER_LINE (2 * NP_WIRE_JOIN_MAX_BYTES + 64)
#define NP_PEER_OUT (4u << 20) /* waiting to be read by the other end */

struct np_peer {
	int fd; /* -1: gone */
	char *out;
	size_t in_len, out_len, out_size;
	char in[NP_PEER_LINE + 1]; /* and its end */
};

typedef void np_peer_line_f(char *line, void *arg);

/* fd, which is taken over, must not block. */
void np_peer_open(struct np_peer *g, int fd);
void np_peer_close(struct np_peer *g);

/*
 * Read what there is, at most some 64 KB, and hand each whole line to f, which
 * may close the peer.  A peer that has gone, or says a line of over
 * NP_PEER_LINE bytes, is closed.
 */
void np_peer_read(struct np_peer *g, np_peer_line_f *f, void *arg);

/*
 * Say text, now or when there is room.  One that leaves NP_PEER_OUT unread is
 * closed; of one that does not listen any more, only its own end is noticed.
 */
void np_peer_say(struct np_peer *g, const char *text);
void np_peer_flush(struct np_peer *g);

#endif
