/*
 * How other processes reach netprof-saver and talk to it.
 *
 * The saver listens at abstract sockets, which exist once for each network
 * namespace.  The saver that slurmd starts serves every user of the node.
 * Elsewhere, such as on a login host, each user has one, started on demand.
 *
 * A message is a header and fields, each a string that ends with a NUL:
 *
 *	LOG	STORE LINE
 *	SAVE	STORE RUN MAXRUNS RECORD
 *	CHOOSE	STORE "" MAXRUNS SCOPE NODES SHARE NOW RECORD
 *	CHECK	DIRECTORY
 *	MPI	FILE
 *	TRACE	DIRECTORY SUB RANK KEEP UMASK
 *	REPLY	ERRNO TEXT CHOICE
 *
 * The TEXT in reply to MPI is what np_mpi_of_file() says of the file.  With TRACE
 * comes a descriptor, and both ends then talk as np_trace_ring.h describes.  RUN
 * identifies the run that a record belongs to.  LOG has no reply.  ERRNO is 0 or
 * negative; in reply to CHECK it is 0 unless the server of DIRECTORY is lost.
 * CHOICE is the text of np_selection_print(), or empty.  Both ends are on one
 * host, so numbers in headers are in its byte order.
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

/* Is the header valid, so that the fields may be read? */
bool np_saver_head_ok(const struct np_saver_head *h);

/*
 * Make a whole message, header and at most NP_SAVER_MAX_FIELDS fields.  Returns
 * its length with *out, which the caller frees; or -E2BIG or -ENOMEM.
 */
long np_saver_pack(enum np_saver_kind kind, uint32_t seq,
		   const char *const field[], size_t n, char **out);

/*
 * Find the fields of a message in text[len].  Returns their number; 0: the
 * message is malformed.
 */
size_t np_saver_fields(char *text, size_t len,
		       char *field[NP_SAVER_MAX_FIELDS]);

/* ---- sockets; nothing here waits ---- */

/*
 * Connect to the saver of root, or else to the calling user's own.  A socket
 * that another user has bound is skipped, and if there is no saver *taken is
 * set to that user; otherwise it stays as it is.  Returns the descriptor,
 * numbered 10 or more, non-blocking and close-on-exec; or -ENOENT.
 */
int np_saver_find(uid_t *taken);

/*
 * Send a short request to a saver.  Returns the descriptor, as that of
 * np_saver_find(), to which the reply comes; -ENOENT: there is no saver;
 * -EAGAIN: it does not read.
 */
int np_saver_send(enum np_saver_kind kind, const char *const field[], size_t n);

/*
 * Listen as the saver of root (uid 0) or of one user.  Returns the descriptor,
 * non-blocking and close-on-exec, or -errno.  -EADDRINUSE: all names are taken,
 * one of them by user *taken.
 */
int np_saver_listen(uid_t uid, uid_t *taken);

/*
 * Does Slurm track this process as part of a job?  If such a process cannot be
 * killed, its job does not end.
 */
bool np_saver_in_job(void);

#endif
