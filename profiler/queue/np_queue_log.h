/*
 * Logs of jobs that a cluster had: the Standard Workload Format, version 2.2,
 * and what sacct --parsable2 prints.  Either may be compressed by gzip.
 *
 * A log is hostile input: lines, numbers and the number of jobs are bounded.  A
 * line that cannot be used is counted and told, and the rest of the log is read.
 */
#ifndef NP_QUEUE_LOG_H
#define NP_QUEUE_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "np_err.h"
#include "np_numbers.h"

#define NP_QUEUE_LINE 65536 /* bytes of the longest line */
#define NP_QUEUE_MAX_JOBS 4000000
#define NP_QUEUE_MAX_TOLD 3 /* bad lines that are told, one by one */
#define NP_QUEUE_NONE UINT32_MAX

struct np_queue_job {
	uint64_t id;
	int64_t submit_sec;
	int64_t wait_sec;   /* until its start in the log; -1: not known */
	int64_t cancel_sec; /* when it was cancelled without a start, or 0 */
	uint32_t run_sec, limit_sec; /* limit 0: not known */
	uint32_t nodes, cpus;	     /* in all; 0: not known */
	uint32_t priority;
	uint32_t after;	    /* index of the job that it waits for, or
			       NP_QUEUE_NONE */
	uint32_t think_sec; /* from the end of that one to its submission */
	/* Numbers of texts, NP_QUEUE_NONE: not known. */
	uint32_t user, account, name, command, partition;
};

/* What was not used, and how often. */
enum np_queue_odd {
	NP_QUEUE_BAD_LINE,     /* cannot be read; also told one by one */
	NP_QUEUE_NEVER_RAN,    /* still pending, or without a run time */
	NP_QUEUE_RUNNING,      /* still running: replayed as far as it ran */
	NP_QUEUE_UNSORTED,     /* submitted before the job in front of it */
	NP_QUEUE_NO_SIZE,      /* neither nodes nor processors */
	NP_QUEUE_NO_LIMIT,     /* no time limit: twice what it ran */
	NP_QUEUE_OVER_LIMIT,   /* ran longer than its limit: cut to it */
	NP_QUEUE_RESERVATION,  /* ran in a reservation: as any other job */
	NP_QUEUE_STEP,	       /* a step, not a job */
	NP_QUEUE_SEVERAL,      /* several partitions: the first is taken */
	NP_QUEUE_LOST_PARENT,  /* waits for a job that the log does not have */
	NP_QUEUE_N_ODD
};
/* "Lines that could not be read" and so on */
extern const char *const np_queue_odd_text[NP_QUEUE_N_ODD];

struct np_queue_log {
	struct np_queue_job *job; /* by submission */
	size_t n;
	struct np_numbers text; /* of users, accounts, names ... */
	size_t odd[NP_QUEUE_N_ODD];
	size_t lines;
	uint32_t max_nodes, max_procs; /* of the header of an SWF; 0: unknown */
	bool priorities; /* there is a column of them */
	char unused[256]; /* columns of sacct that mean nothing here */
};

/*
 * path "-": standard input.  warn: gets a line for each of the first bad lines,
 * with file and line number.  Returns 0, or with err -EINVAL (no such log, or no
 * job in it), -E2BIG, -ENOMEM or what reading gave.  Free with
 * np_queue_log_free().
 */
typedef void np_queue_warn_f(const char *line, void *arg);
int np_queue_log_read(const char *path, np_queue_warn_f *warn, void *arg,
		      struct np_queue_log *out, struct np_err *err);

/* The same of an open descriptor, which is closed; source: its name. */
int np_queue_log_read_fd(int fd, const char *source, np_queue_warn_f *warn,
			 void *arg, struct np_queue_log *out,
			 struct np_err *err);
void np_queue_log_free(struct np_queue_log *q);

/* A text by its number, "" of none; cut at len - 1 bytes.  Returns buf. */
const char *np_queue_text(const struct np_queue_log *q, uint32_t number,
			  char *buf, size_t len);

#endif
