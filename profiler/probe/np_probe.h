/*
 * What both probe programs do besides measuring: find the others, start
 * together, report, and end when asked to.
 */
#ifndef NP_PROBE_H
#define NP_PROBE_H

#include <stdint.h>
#include <sys/types.h>

#include "np_clock.h"
#include "np_device.h"
#include "np_loop.h"
#include "np_net.h"
#include "np_nics.h"
#include "np_pairing.h"
#include "np_report.h"
#include "np_window.h"
#include "np_wire.h"

/*
 * What this process takes from its machine.
 */

struct np_cost {
	double cpu_sec; /* user and system, all threads, since the start */
	uint64_t rss_bytes; /* the most that was resident at any time */
};

void np_cost_now(struct np_cost *c);

/*
 * Be woken promptly on busy processors, as far as an unprivileged process
 * can ask for it.  What the kernel does not grant is left as it is.
 */
void np_cost_prompt(void);

/* Processes of a step that do not come within this time never will. */
#define NP_PROBE_FENCE_SEC 60.0

struct np_probe_conf {
	enum np_report_kind kind; /* what the windows hold */
	struct np_wire *wire;	  /* borrowed, as all pointers here */
	struct np_net *net;
	const struct np_clock *clock;
	const char *node, *leaf; /* where this process runs */
	double report_every_sec; /* also the width of a window */
	double born_sec;	 /* when the process began, on the clock */
	pid_t task;		 /* a program's whose calls are told, or 0 */
};

struct np_probe {
	struct np_probe_conf conf;
	uint32_t rank, size;
	struct np_place *place; /* of every rank */
	struct np_probe_blob {
		void *data;
		size_t len;
	} *blob; /* what each rank has put */

	struct np_say say;
	struct np_window window;
	double start_sec; /* the common start, on the clock */
	double next_cost_sec, last_cost_sec, last_cpu_sec;
	uint64_t last_messages;
	struct np_device device; /* of the transport that is told */
	struct np_counter {
		double sec; /* of the last look; 0: there was none */
		uint64_t n;
	} moved, calls;
	struct np_nics *nics; /* of this node; NULL: not known */
	struct np_nic_counts nic[NP_NICS_MAX]; /* at nics_sec */
	double nics_sec, next_nics_sec; /* of the last look; of the next */
	const struct np_engine *engine; /* that runs; NULL: none yet */
};

/*
 * Tell everybody where this process runs and learn the same of all.  p is the
 * caller's, and is to be closed in any case.  Returns 0 or -errno with err.
 */
int np_probe_open(struct np_probe *p, const struct np_probe_conf *conf,
		  struct np_err *err);

/* Connect to another rank, once.  Returns 0 or -errno with err. */
int np_probe_connect(struct np_probe *p, size_t rank, struct np_err *err);

/* What one process is going to do; strings are borrowed. */
struct np_probe_plan {
	const char *partner; /* the node whose latency is measured, or "" */
	long peer;	     /* rank whose transport is told, or NP_NOBODY */
	const char *skipped; /* why nothing is measured, or NULL */
};

/*
 * Wait until everybody is ready: the common start.  After it a signal no
 * longer ends the process, and hello is said.  version: of UCX.
 */
int np_probe_start(struct np_probe *p, const struct np_probe_plan *plan,
		   const char *version, struct np_err *err);

/* Run an engine until the end was asked for or duration_sec is over. */
void np_probe_run(struct np_probe *p, struct np_engine *engine,
		  double duration_sec);

/* For its engine, once it has started: values are counted, notes are said. */
struct np_engine_env np_probe_env(struct np_probe *p);
void np_probe_count(double at_sec, double value_sec, void *probe);
void np_probe_note(const char *text, void *probe);

/* Say what was measured. */
void np_probe_prtt(const struct np_prtt *prtt, void *probe);

void np_probe_pair(uint32_t peer, double sec, void *probe);

/* The last window, the last cost, bye. */
void np_probe_finish(struct np_probe *p);
void np_probe_close(struct np_probe *p);

#endif
