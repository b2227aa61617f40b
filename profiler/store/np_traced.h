/*
 * The result of analysing a program's trace, for predictions and reports: its
 * run time on slower networks, how much added latency it tolerates, and for
 * which network that was computed.  netprof-analysis writes it as one JSON
 * object beside the trace,
 *
 *	STORE/users/UID/APP/JOB.STEP.curve	(of JOB.STEP.trace)
 *
 * A file is hostile input: its size and every number are bounded, and an error
 * names the member that is wrong.
 */
#ifndef NP_TRACED_H
#define NP_TRACED_H

#include <stdbool.h>
#include <sys/types.h>

#include "np_err.h"
#include "np_loggps.h"
#include "np_response.h"

#define NP_TRACED_SCHEMA 1
#define NP_TRACED_MAX_BYTES 65536
#define NP_TRACED_ZONES 3

/*
 * A tolerance threshold: the added latency that makes the run longer by a
 * share.
 */
struct np_traced_zone {
	double longer;	  /* that share, 0.01: 1 % */
	double added_sec; /* NaN: no latency does */
};

struct np_traced {
	double date; /* of the analysis, seconds since 1970 */
	char *netprof_version;
	char *why;	    /* why the trace could not be analysed, or "" */
	double trace_bytes; /* size of the trace, np_traced_bytes() */
	struct np_loggps net;
	struct np_traced_zone *zone; /* owned; NP_TRACED_ZONES or NULL */
	size_t n_zones;
	double *times; /* as in np_response; owned, or NULL */
	size_t n_times;
};

/* Bytes of a file, or of the regular files in a directory; 0: unreadable. */
double np_traced_bytes(const char *path);

/* Was it computed from a trace of this size and for this network? */
bool np_traced_fits(const struct np_traced *t, double trace_bytes,
		    const struct np_loggps *net);

/* Fill out from t->times; false: there are none. */
bool np_traced_response(const struct np_traced *t, struct np_response *out);

/* *out: one line, malloc'ed.  Returns 0, or -EINVAL or -ENOMEM with err. */
int np_traced_put(const struct np_traced *t, char **out, struct np_err *err);

/*
 * where: source, for messages.  Returns 0 (free with np_traced_free()), or with
 * err -EINVAL, -EPROTONOSUPPORT (a newer schema) or -ENOMEM.
 */
int np_traced_get(const char *text, size_t len, const char *where,
		  struct np_traced *out, struct np_err *err);
void np_traced_free(struct np_traced *t);

/*
 * Load or save the record beside a trace.  It is loaded only if uid owns it,
 * and saved only if the caller owns the trace and its directory, so that
 * another user's link cannot redirect the write.  Returns 0 or -errno: -ENOENT
 * (no record, or the path does not end like a trace), -EACCES (another owner).
 */
int np_traced_load(const char *trace, uid_t uid, struct np_traced *out,
		   struct np_err *err);
bool np_traced_is_own(const char *trace); /* would a save be allowed? */
int np_traced_save(const char *trace, const struct np_traced *t,
		   struct np_err *err);

#endif
