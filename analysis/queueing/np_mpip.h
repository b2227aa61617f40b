/*
 * Reads reports of mpiP 3.x (github.com/LLNL/mpiP): the time that a run of an
 * MPI program spent in MPI, and what it sent.
 *
 * A report is untrusted input: its size, lines and numbers are bounded, and
 * every error names the line.
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

/* Remarks about a report that was accepted. */
enum np_mpip_note {
	NP_MPIP_TRUNCATED = 1, /* it is truncated */
	NP_MPIP_NO_SUM = 2, /* row * of the times is missing; computed here */
	NP_MPIP_SUM_DIFFERS = 4, /* row * is not the sum of its tasks */
	NP_MPIP_NO_MESSAGES = 8, /* nothing was sent */
	/* the header does not name the version of mpiP */
	NP_MPIP_NO_VERSION = 16,
};

struct np_mpip {
	char version[NP_MPIP_NAME]; /* "3.5.0"; "" if unknown */
	char program[NP_MPIP_NAME]; /* basename of the command */
	uint32_t n_tasks;
	/* Sums over all tasks: */
	double app_sec;	    /* from the end of MPI_Init to MPI_Finalize */
	double mpi_sec;	    /* part of that in MPI */
	double max_app_sec; /* of the slowest task */
	double messages;    /* sent; a collective counts as one */
	double bytes;	    /* sent; of collectives the own part */
	unsigned notes;	    /* enum np_mpip_note */
};

/*
 * Reads a report. Its three significant digits limit the accuracy of sums to
 * about 0.5 %. Returns 0, or with err naming file and line: -EINVAL (not a
 * report, another major version, an invalid number, tasks missing, repeated or
 * unknown, or more time in MPI than in total), -ENODATA (a concise report, or
 * one without callsites, which lack the number of messages), -EFBIG, -ENOMEM,
 * or an error of opening and reading.
 */
int np_mpip_load(const char *path, struct np_mpip *out, struct np_err *err);

/* The same from text[len], for tests; where: name of the source in messages. */
int np_mpip_parse(const char *text, size_t len, const char *where,
		  struct np_mpip *out, struct np_err *err);

/*
 * The same from a trace, as np_trace.h finds it. It has no version, and has a
 * program only if libnetprof-mpi wrote it. Returns 0 or -errno with err, see
 * np_trace.h and np_trace_read.h.
 */
int np_mpip_trace(const char *path, struct np_mpip *out, struct np_err *err);

/* A note in words: "the report has no end". */
const char *np_mpip_note_text(enum np_mpip_note note);

#endif
