/*
 * The protocol of netprof-saver, the daemon that writes into the profile store.
 *
 * The saver listens on abstract sockets, of which each network namespace has
 * its own. The saver that slurmd starts serves every user of the node.
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
 * The saver replies to each request except LOG and TRACE, and except a SAVE
 * that a newer one of the same RUN has replaced while it waited. It closes the
 * connection after a malformed request, and if the client leaves too much
 * unread. ERRNO is 0 or negative; if it is negative, TEXT is the error message,
 * which may be empty. In the reply to CHECK, ERRNO is 0 unless the file system
 * of DIRECTORY has lost its server; in the reply to MPI, TEXT is what
 * np_mpi_of_file() finds in FILE; in the reply to SELECT, SELECTION is the text
 * of np_selection_print(), and it is empty in all other replies.
 *
 * RUN identifies the run to which a record belongs. A descriptor is passed
 * with TRACE, whose header must be sent in one piece, and both ends then use the
 * memory behind it (np_trace_ring.h). Both are on one host, so numbers in
 * headers have its byte order.
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

#define NP_SAVER_VERSION 0x6e707331u /* "nps1"; others are refused */
#define NP_SAVER_MAX_BYTES (NP_RECORD_MAX_BYTES + (1u << 20)) /* of fields */
#define NP_SAVER_MAX_FIELDS 8

struct np_saver_header {
	uint32_t version;
	uint32_t kind;
	uint32_t seq; /* of a request; its reply has the same number */
	uint32_t len; /* bytes of all fields together */
};

/* ---- messages; these functions do no I/O ---- */

/* Whether a header is valid, so that its fields may be read. */
bool np_saver_header_is_valid(const struct np_saver_header *header);

/*
 * Make a whole message, header and at most NP_SAVER_MAX_FIELDS fields. Returns
 * its length with *out, which the caller frees; or -E2BIG or -ENOMEM.
 */
long np_saver_pack(enum np_saver_kind kind, uint32_t seq,
		   const char *const field[], size_t n, char **out);

/*
 * Find the fields in the text of a message, which has len bytes. field[] then
 * points into the text. Returns the number of fields, or 0 if the message is
 * malformed.
 */
size_t np_saver_unpack(char *text, size_t len,
		       char *field[NP_SAVER_MAX_FIELDS]);

/* ---- sockets; none of these functions blocks ---- */

/*
 * Connect to the saver of root, or else to the calling user's own. A socket on
 * which another user listens is skipped. Returns the descriptor, which is above
 * those that a daemon closes, non-blocking and close-on-exec; or -ENOENT, and
 * if a socket was skipped, *foreign_uid is the user who listens on it.
 */
int np_saver_connect(uid_t *foreign_uid);

/*
 * Send a short request to a saver. Returns a descriptor like that of
 * np_saver_connect(), from which the reply can be read; -ENOENT: there is no
 * saver; -EAGAIN: the request could not be made or sent at once.
 */
int np_saver_send(enum np_saver_kind kind, const char *const field[], size_t n);

/*
 * Listen as the saver of root (uid 0) or of one user. Returns the descriptor,
 * non-blocking and close-on-exec, or -errno. -EADDRINUSE: all addresses are in
 * use, at least one of them by user *foreign_uid.
 */
int np_saver_listen(uid_t uid, uid_t *foreign_uid);

/* ---- without a saver ---- */

/*
 * Whether Slurm tracks this process as part of a job. Such a process must not
 * do the work of a missing saver itself, because its job does not end if it
 * waits for a file system that hangs.
 */
bool np_process_is_in_job(void);

/*
 * Whether these cgroups, as in /proc/PID/cgroup, are those of a process of a
 * job. Exported for the unit tests.
 */
bool np_cgroups_are_of_job(const char *cgroups);

#endif
