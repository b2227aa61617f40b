/*
 * The protocol of netprof-saver, the daemon that writes into the profile store.
 *
 * The saver listens at abstract sockets, which exist once for each network
 * namespace.  The saver that slurmd starts serves every user of the node.
 * Elsewhere, such as on a login host, each user has one, started on demand.
 *
 * A message is a header and fields, each a string that ends with a NUL:
 *
 *	LOG	STORE LINE
 *	SAVE	STORE RUN MAXRUNS RECORD
 *	SELECT	STORE "" MAXRUNS SCOPE NODES SHARE NOW RECORD
 *	CHECK	DIRECTORY
 *	MPI	FILE
 *	TRACE	DIRECTORY SUB RANK KEEP UMASK
 *	REPLY	ERRNO TEXT SELECTION
 *
 * The saver replies to each request except LOG and TRACE.  ERRNO is 0 or
 * negative, and TEXT then is the error.  In the reply to CHECK, ERRNO is 0
 * unless the file system of DIRECTORY has lost its server; in that to MPI, TEXT
 * is what np_mpi_of_file() finds in FILE; in that to SELECT, SELECTION is the
 * text of np_selection_print(), which is empty in all others.
 *
 * RUN identifies the run that a record belongs to.  A descriptor is passed with
 * TRACE, and both ends then use the memory behind it (np_trace_ring.h).  They
 * are on one host, so numbers in headers are in its byte order.
 */
#ifndef NP_SAVER_PROTO_H
#define NP_SAVER_PROTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "np_record.h"

enum np_saver_kind {
	NP_SAVER_LOG = 1,
	NP_SAVER_SAVE,
	NP_SAVER_SELECT,
	NP_SAVER_CHECK,
	NP_SAVER_REPLY,
	NP_SAVER_TRACE,
	NP_SAVER_MPI,
	NP_SAVER_N_KINDS,
};

#define NP_SAVER_VERSION 0x6e707331u /* messages of any other are refused */
#define NP_SAVER_MAX_BYTES (NP_RECORD_MAX_BYTES + (1u << 20)) /* of fields */
#define NP_SAVER_MAX_FIELDS 8

struct np_saver_head {
	uint32_t version;
	uint32_t kind;
	uint32_t seq; /* of a request; its reply has the same */
	uint32_t len; /* bytes of all fields together */
};

/* ---- messages (pure) ---- */

/* Whether a header is valid, so that head->len bytes of fields may be read. */
bool np_saver_head_valid(const struct np_saver_head *head);

/*
 * Make a whole message, header and at most NP_SAVER_MAX_FIELDS fields.  Returns
 * its length with *out, which the caller frees; or -E2BIG or -ENOMEM.
 */
long np_saver_pack(enum np_saver_kind kind, uint32_t seq,
		   const char *const field[], size_t n, char **out);

/*
 * Find the fields in the text of a message, of len bytes, which field[] then
 * points into.  Returns their number, or 0 if the message is malformed.
 */
size_t np_saver_unpack(char *text, size_t len,
		       char *field[NP_SAVER_MAX_FIELDS]);

/* ---- sockets; nothing here waits ---- */

/*
 * Connect to the saver of root, or else to the calling user's own.  A socket at
 * which another user listens is skipped.  Returns the descriptor, numbered 10
 * or more, non-blocking and close-on-exec; or -ENOENT, and if a socket was
 * skipped, *holder is that user.
 */
int np_saver_connect(uid_t *holder);

/*
 * Send a short request to a saver.  Returns a descriptor like that of
 * np_saver_connect(), from which the reply can be read; -ENOENT: there is no
 * saver; -EAGAIN: the request could not be sent at once.
 */
int np_saver_send(enum np_saver_kind kind, const char *const field[], size_t n);

/*
 * Listen as the saver of root (uid 0) or of one user.  Returns the descriptor,
 * non-blocking and close-on-exec, or -errno.  -EADDRINUSE: all addresses are in
 * use, one of them by user *holder.
 */
int np_saver_listen(uid_t uid, uid_t *holder);

/*
 * Whether Slurm tracks this process as part of a job.  If such a process cannot
 * be killed, its job does not end.
 */
bool np_saver_in_job(void);

#endif
