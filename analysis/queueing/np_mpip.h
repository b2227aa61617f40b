/*
 * Reports of mpiP 3.x (github.com/LLNL/mpiP): what a run of an MPI program
 * spent in MPI, and what it sent.
 *
 * A report is hostile input: its size, lines and every number are bounded, and
 * every refusal names the line.
 */
#ifndef NP_MPIP_H
#define NP_MPIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "np_err.h"

#define NP_MPIP_MAX_BYTES (256u << 20)
#define NP_MPIP_MAX_TASKS 4194304
#define NP_MPIP_NAME 64

/* What should be known about a report that was taken all the same. */
enum np_mpip_note {
	NP_MPIP_TRUNCATED = 1,	/* it has no end */
	NP_MPIP_NO_SUM = 2,	/* row * of the times is missing: summed here */
	NP_MPIP_SUM_DIFFERS = 4, /* row * is not the sum of its tasks */
	NP_MPIP_NO_MESSAGES = 8, /* nothing was sent */
	NP_MPIP_NO_VERSION = 16, /* the header does not say which mpiP it is */
};

struct np_mpip {
	char version[NP_MPIP_NAME]; /* "3.5.0"; "" if it is not said */
	char program[NP_MPIP_NAME]; /* basename of the command */
	uint32_t n_tasks;
	/* Of all tasks together. */
	double app_sec; /* from the end of MPI_Init to MPI_Finalize */
	double mpi_sec; /* of that in MPI */
	double max_app_sec; /* of the slowest task */
	double messages; /* sent, a collective counts as one */
	double bytes;	 /* sent, of collectives the own part */
	unsigned notes;	 /* enum np_mpip_note */
};

/*
 * Read a report.  Three significant digits make sums right to about 0.5 %.
 * Returns 0, or with err naming where and the line: -EINVAL (no report, or one
 * of another major version; a damaged number; tasks missing, twice or unknown;
 * more time in MPI than there was), -ENODATA (a concise report or one without
 * callsites, which has no counts of messages), -EFBIG, -ENOMEM, or what opening
 * and reading gave.
 */
int np_mpip_load(const char *path, struct np_mpip *out, struct np_err *err);

/* The same from text[len]; where names the source in messages. */
int np_mpip_parse(const char *text, size_t len, const char *where,
		  struct np_mpip *out, struct np_err *err);

/*
 * The same of a trace, as np_trace.h finds it: a run needs only one of
 * both.  It has no version, and a program if libnetprof-mpi wrote it.  Returns 0 or -errno with err, as
 * np_trace.h and np_trace_read.h say.
 */
int np_mpip_trace(const char *path, struct np_mpip *out, struct np_err *err);

/* What a note says, for people: "the report has no end". */
const char *np_mpip_note_words(enum np_mpip_note note);

#endif
