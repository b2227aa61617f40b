/*
 * Logs of a cluster's jobs: the Standard Workload Format, version 2.2, and the
 * output of sacct --parsable2. Either may be compressed by gzip.
 *
 * A log is hostile input: lines, numbers and the number of jobs are bounded. A
 * line that cannot be used is counted and reported, and reading goes on.
 */
#ifndef NP_QUEUE_LOG_H
#define NP_QUEUE_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "np_array.h"
#include "np_err.h"

#define NP_QUEUE_LINE 65536 /* bytes of the longest line */
#define NP_QUEUE_MAX_JOBS 4000000
#define NP_QUEUE_MAX_WARNINGS 3 /* bad lines that are reported one by one */
#define NP_QUEUE_NONE UINT32_MAX

struct np_queue_job {
	uint64_t id;
	uint32_t task;	    /* of a job array, or NP_QUEUE_NONE */
	int64_t submit_sec; /* or later, if its user chose a later start */
	int64_t wait_sec;   /* until its start in the log; -1: not known */
	int64_t cancel_sec; /* date of its cancellation before a start, or 0 */
	uint32_t run_sec, limit_sec; /* limit 0: not known */
	uint32_t nodes, cpus;	     /* of the whole job; 0: not known */
	uint32_t priority;
	uint32_t after;	    /* index of the job that it depends on, or
			       NP_QUEUE_NONE */
	uint32_t think_sec; /* from the end of that job to its submission */
	/* Numbers for np_queue_text(); NP_QUEUE_NONE: not known. */
	uint32_t user, account, name, command, partition;
};

/* What was ignored or changed in a log, by kind. */
enum np_queue_issue {
	NP_QUEUE_BAD_LINE,    /* unreadable; also reported one by one */
	NP_QUEUE_NEVER_RAN,   /* still pending, or without a run time */
	NP_QUEUE_RUNNING,     /* still running: replayed as far as it ran */
	NP_QUEUE_UNSORTED,    /* submitted before the preceding job */
	NP_QUEUE_NO_SIZE,     /* neither nodes nor processors */
	NP_QUEUE_NO_LIMIT,    /* no time limit: twice its run time is used */
	NP_QUEUE_OVER_LIMIT,  /* ran longer than its limit: cut to it */
	NP_QUEUE_RESERVATION, /* ran in a reservation: treated as any other */
	NP_QUEUE_STEP,	      /* a step, not a job */
	NP_QUEUE_SEVERAL,     /* several partitions: the first is taken */
	NP_QUEUE_LOST_PARENT, /* depends on a job that is not in the log */
	NP_QUEUE_N_ISSUES
};
/* A line of text for each: "Lines that could not be read". */
extern const char *const np_queue_issue_text[NP_QUEUE_N_ISSUES];

struct np_queue_log {
	struct np_queue_job *job; /* by submission */
	size_t n;
	struct np_index text; /* names of users, accounts, jobs ... */
	size_t issues[NP_QUEUE_N_ISSUES]; /* lines or jobs of each kind */
	size_t lines;
	uint32_t max_nodes, max_procs; /* from the header of SWF; 0: unknown */
	bool priorities;	       /* the log has a column of priorities */
	char unused[256]; /* names of ignored columns of sacct: "Foo, Bar" */
};

/*
 * Read a log; path "-": standard input. If the log can be used, warn (may be
 * NULL) is called for the first bad lines, with file and line number. Returns 0
 * (free with np_queue_log_free()), or with err -EINVAL (no such log, or no job
 * in it), -E2BIG, -ENOMEM or what reading returned.
 */
typedef void np_queue_warn_f(const char *line, void *arg);
int np_queue_log_read(const char *path, np_queue_warn_f *warn, void *arg,
		      struct np_queue_log *out, struct np_err *err);

/*
 * The same from an open descriptor, which is closed; source: its name;
 * delimiter: between the fields of sacct, "|" with --parsable2.
 */
int np_queue_log_read_fd(int fd, const char *source, const char *delimiter,
			 np_queue_warn_f *warn, void *arg,
			 struct np_queue_log *out, struct np_err *err);
void np_queue_log_free(struct np_queue_log *log);

/* Copy a text into buf, cut at len - 1 bytes; "" for no text. Returns buf. */
const char *np_queue_text(const struct np_queue_log *log, uint32_t number,
			  char *buf, size_t len);

#endif
