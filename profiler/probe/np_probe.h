/*
 * The common life of a probe process: the programs netprof-impactb,
 * netprof-compressionb and netprof-prtt differ only in the engine that they
 * run (np_engine.h).
 *
 *	read options -> find the other processes -> connect -> start together
 *	-> run the engine and report -> end when asked to
 *
 * np_probe.c has the steps from finding the others to the last report, and
 * needs only the tables np_net.h and np_wire.h, so that the unit tests can run
 * it in memory. np_probe_main.c has the options and the choice of the network,
 * and is linked with UCX, libfabric and PMIx.
 */
#ifndef NP_PROBE_H
#define NP_PROBE_H

#include <stdint.h>
#include <sys/types.h>

#include "np_clock.h"
#include "np_engine.h"
#include "np_net.h"
#include "np_nics.h"
#include "np_option.h"
#include "np_report.h"
#include "np_wire.h"

/* ---- what this process costs its node ---- */

struct np_cost {
	double cpu_sec; /* user and system time of all threads since exec() */
	uint64_t rss_bytes; /* peak resident memory */
};

/* Exported for the unit tests. */
void np_cost_now(struct np_cost *cost);

/* ---- windows: measured values gathered into reports ---- */

/* Receives a report that is valid only during the call. */
typedef void np_window_emit_f(const struct np_report *r, void *arg);

/* The np_window_*() functions are exported for the unit tests. */
struct np_window {
	double width_sec;
	uint64_t index;		 /* the window starts at index * width_sec */
	struct np_report report; /* NP_REPORT_LATENCY or NP_REPORT_ROUND */
	np_window_emit_f *emit;
	void *arg;
};

/*
 * kind: NP_REPORT_LATENCY (with a histogram) or NP_REPORT_ROUND. The times
 * passed to the functions below are seconds since the common start.
 */
void np_window_init(struct np_window *window, enum np_report_kind kind,
		    uint32_t rank, double width_sec, np_window_emit_f *emit,
		    void *arg);

/*
 * Add a value (seconds, >= 0) measured at at_sec. A window that has ended, or
 * has no room for one more histogram bin, is emitted first.
 */
void np_window_add(struct np_window *window, double at_sec, double value_sec);

/* Emit the window if it has ended by now_sec and is not empty. */
void np_window_tick(struct np_window *window, double now_sec);

/* Emit the window unless it is empty. */
void np_window_flush(struct np_window *window);

/* ---- a probe among the other processes of its step ---- */

/* Longest wait for all processes of a step to be ready. */
#define NP_PROBE_FENCE_SEC 60.0

struct np_probe_conf {
	enum np_report_kind kind; /* of the windows */
	struct np_wire *wire;	  /* borrowed, like every pointer here */
	struct np_net *net;
	const struct np_clock *clock;
	const char *node, *leaf; /* where this process runs */
	double report_every_sec; /* also the width of a window */
	double born_sec;	 /* start of the process, on the clock */
	pid_t task; /* process whose MPI calls are reported, or 0 */
};

struct np_probe {
	struct np_probe_conf conf;
	uint32_t rank, size;
	struct np_place *place; /* of every rank */
	struct np_probe_blob {
		void *data;
		size_t len;
	} * blob; /* what each rank published */

	struct np_report_writer writer;
	struct np_window window;
	double start_sec; /* common start, on the clock */
	double next_cost_sec, last_cost_sec, last_cpu_sec;
	uint64_t last_messages;
	struct np_progress progress;	/* counters of this node */
	const struct np_engine *engine; /* the one that runs; NULL: none yet */
};

/*
 * Publish where this process runs and learn the same of all others. probe
 * belongs to the caller, who must call np_probe_close() even if this fails.
 * Returns 0 or -errno with err.
 */
int np_probe_open(struct np_probe *probe, const struct np_probe_conf *conf,
		  struct np_err *err);

/* Connect to another rank; once for each. Returns 0 or -errno with err. */
int np_probe_connect(struct np_probe *probe, size_t rank, struct np_err *err);

/* What one process is going to do; strings are borrowed. */
struct np_probe_plan {
	const char *peer_node; /* node to which latency is measured, or "" */
	/* Rank whose path is reported as the transport, or NP_NO_RANK. */
	long peer;
	const char *skipped; /* why nothing is measured, or NULL */
};

/*
 * Wait until all processes are ready: the common start. From then on a signal
 * no longer ends the process at once (np_clock.h), and the handshake is
 * written. version: of the network library. Returns 0 or -errno with err.
 */
int np_probe_start(struct np_probe *probe, const struct np_probe_plan *plan,
		   const char *version, struct np_err *err);

/* Run an engine for duration_sec, or until the process is asked to stop. */
void np_probe_run(struct np_probe *probe, struct np_engine *engine,
		  double duration_sec);

/*
 * Environment for an engine, valid after the common start. Values that the
 * engine counts go into windows, its notes become reports. np_probe_count()
 * and np_probe_note() are exported for the unit tests.
 */
struct np_engine_env np_probe_env(struct np_probe *probe);
void np_probe_count(double at_sec, double value_sec, void *probe);
void np_probe_note(const char *text, void *probe);

/* Write a report of the program's own. */
void np_probe_report(struct np_probe *probe, const struct np_report *report);

/* Report the last window, the last cost, and the end of this process. */
void np_probe_finish(struct np_probe *probe);

/* Free memory. Exported for the unit tests; the programs just exit. */
void np_probe_close(struct np_probe *probe);

/* ---- a probe program, over UCX or libfabric and PMIx ---- */

/* Command line of a program. */
struct np_probe_command {
	const char *name, *usage;
	const struct np_option *options; /* without --version and --help */
};

struct np_probe_program {
	struct np_probe_command command; /* its options set members of arg */
	enum np_report_kind kind;
	size_t n_peers; /* number of connections, roughly */
	double report_every_sec, duration_sec; /* INFINITY: until a signal */
	const char *wire; /* argument of np_wire_open(); NULL: PMIx */

	/*
	 * Called after the options are read; may be NULL. Returns 0 or -errno
	 * with err.
	 */
	int (*check)(void *arg, struct np_err *err);
	/* Choose peers and connect. Returns 0 or -errno with err. */
	int (*plan)(struct np_probe *p, void *arg, struct np_probe_plan *plan,
		    struct np_err *err);
	/*
	 * Create the engine, after the common start. It lives until the
	 * process ends. Returns 0 or -ENOMEM.
	 */
	int (*engine)(struct np_probe *p, void *arg, struct np_engine **engine);
	void *arg;
};

/*
 * Read the options and run the program to its end; prints errors. Returns the
 * exit code.
 */
int np_probe_main(struct np_probe_program *prog, int argc, char **argv);

/*
 * Open the network named by NETPROF_TRANSPORT, whose syntax is that of
 * Transport in netprof.conf, for about n_peers connections within a step of
 * size processes. Returns 0 or -errno with err.
 */
int np_probe_net(uint32_t size, size_t n_peers, struct np_net **out,
		 struct np_err *err);

/*
 * Set the members of all from argv, in the order of the option table whatever
 * the order in argv. --version and --help print and end the program. *word
 * gets the argument after the options, or NULL; if word is NULL such an
 * argument is an error. Returns 0, or -EINVAL with err.
 */
int np_probe_options(const struct np_probe_command *c, int argc, char **argv,
		     void *all, const char **word, struct np_err *err);

#endif
