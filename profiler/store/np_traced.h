/*
 * What the analysis of a program's trace leaves for predictions and pages: how
 * long it runs on slower networks, how much latency it stands, and for which
 * network that was computed.  One JSON object beside the trace,
 *
 *	STORE/users/UID/APP/JOB.STEP.curve	(of JOB.STEP.trace)
 *
 * written by netprof-analysis.  A file is hostile input: its size and every
 * number are bounded, and every refusal says where.
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

/* The added latency that makes the run so much longer; NaN: none does. */
struct np_traced_zone {
	double longer; /* 0.01: 1 % */
	double added_sec;
};

struct np_traced {
	double date; /* of the analysis, seconds since 1970 */
	char *netprof_version;
	char *why; /* why the trace tells nothing, or "" */
	double trace_bytes; /* np_traced_bytes() of what was read */
	struct np_loggps net;
	struct np_traced_zone *zone; /* owned; NP_TRACED_ZONES or none */
	size_t n_zones;
	double *times; /* owned; all of struct np_response, or none */
	size_t n_times;
};

/* Of all regular files of a directory, or of a file; 0: it cannot be read. */
double np_traced_bytes(const char *path);

/* Was it computed for this trace on this network? */
bool np_traced_fits(const struct np_traced *t, double trace_bytes,
		    const struct np_loggps *net);

/* t->times as np_response; false: there are none. */
bool np_traced_response(const struct np_traced *t, struct np_response *out);

/* *out: one line, malloc'ed.  Returns 0, -EINVAL or -ENOMEM with err. */
int np_traced_put(const struct np_traced *t, char **out, struct np_err *err);

/*
 * where: for messages.  Returns 0 (np_traced_free()), or with err -EINVAL,
 * -EPROTONOSUPPORT (a newer schema) or -ENOMEM.
 */
int np_traced_get(const char *text, size_t len, const char *where,
		  struct np_traced *out, struct np_err *err);
void np_traced_free(struct np_traced *t);

/*
 * The record beside a trace of uid, and back: only beside what is the caller's
 * own, so that nobody is led elsewhere.  Returns 0 or -errno: -ENOENT (there is
 * none, or the trace is none of the store), -EACCES (not uid's, not one's own).
 */
int np_traced_load(const char *trace, uid_t uid, struct np_traced *out,
		   struct np_err *err);
bool np_traced_is_own(const char *trace); /* may one be saved beside it? */
int np_traced_save(const char *trace, const struct np_traced *t,
		   struct np_err *err);

#endif
