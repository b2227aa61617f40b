/*
 * A step of our own beside the user's: an srun process whose standard output
 * we read line by line.  It dies with the attendant.
 */
#ifndef NP_SIDESTEP_H
#define NP_SIDESTEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "np_args.h"
#include "np_err.h"
#include "np_report.h"

struct np_sidestep {
	pid_t pid;    /* 0: not started, or reaped */
	int fd;	      /* its stdout and stderr, non-blocking; -1: none */
	int status;   /* of waitpid(), once reaped */
	bool ended;   /* reaped */
	char last[NP_ERR_LEN]; /* the last line that was no report: the cause */
	size_t len;
	char buf[4 * NP_REPORT_LINE];
	int in;			   /* its stdin; -1: none */
	struct np_wire_host *wire; /* NULL: none */
};

#define NP_SIDESTEP_INIT { .fd = -1, .in = -1 }

typedef void np_sidestep_report_f(const struct np_report *r, void *arg);

/*
 * Start args with envp.  Its n processes find each other through us
 * (np_wire_join.h); 0: they do not need to, and have no standard input.
 * Returns 0 or -errno with err.  End with np_sidestep_close().
 */
int np_sidestep_start(struct np_sidestep *s, const struct np_args *args,
		      char *const envp[], uint32_t n, struct np_err *err);

/*
 * Hand every report there is to f; NULL: nobody wants any.  A line longer than
 * the buffer is dropped.  At the end of the output fd becomes -1.
 */
void np_sidestep_read(struct np_sidestep *s, np_sidestep_report_f *f, void *arg);

/* True once the process has ended; does not wait. */
bool np_sidestep_reap(struct np_sidestep *s);

void np_sidestep_signal(const struct np_sidestep *s, int sig);

/* How steps of ours are made to end; begins as { .asked_sec = now }. */
struct np_sidestep_end {
	double asked_sec; /* when they were told to, in whatever way */
	unsigned n_sent;
};

/*
 * For those that are still there, the signal that is due by now: SIGTERM after
 * 2 s, SIGKILL after 4 s; 0: wait; -1: after 6 s they are left to slurmd.
 */
int np_sidestep_end_due(struct np_sidestep_end *e, double now_sec);

/* Give up what is held for it; a process that still runs is left alone. */
void np_sidestep_close(struct np_sidestep *s);

/* How it ended, in words: "exit 1: srun: error: ..." */
void np_sidestep_cause(const struct np_sidestep *s, char *buf, size_t len);

#endif
