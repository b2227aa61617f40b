/*
 * The common life of a probe process, over UCX or libfabric and PMIx.
 */
#ifndef NP_PROBE_MAIN_H
#define NP_PROBE_MAIN_H

#include "np_option.h"
#include "np_probe.h"

/* A program's command line. */
struct np_probe_command {
	const char *name, *usage;
	const struct np_option *options; /* but for --version and --help */
};

struct np_probe_program {
	struct np_probe_command command; /* its options are of arg */
	enum np_report_kind kind;
	size_t n_peers; /* about so many connections */
	double report_every_sec, duration_sec; /* INFINITY: until a signal */
	const char *join; /* "srun", "RANK/SIZE": np_wire_join.h; NULL: PMIx */

	/*
	 * Once options are taken; NULL: there is nothing to do.  Returns 0 or
	 * -errno with err.
	 */
	int (*check)(void *arg, struct np_err *err);
	/* Choose partners and connect.  Returns 0 or -errno with err. */
	int (*plan)(struct np_probe *p, void *arg, struct np_probe_plan *plan,
		    struct np_err *err);
	/*
	 * After the common start: make the engine.  Returns 0 or -errno with
	 * err.  It lives until the process ends.
	 */
	int (*engine)(struct np_probe *p, void *arg, struct np_engine **engine,
		      struct np_err *err);
	void *arg;
};

/*
 * Take its options and run it to its end; prints errors.  Returns the exit
 * code.
 */
int np_probe_main(struct np_probe_program *prog, int argc, char **argv);

/*
 * The network that NETPROF_TRANSPORT names as Transport in netprof.conf does,
 * for so many peers of a step of size processes.  Returns 0 or -errno with err.
 */
int np_probe_net(uint32_t size, size_t n_peers, struct np_net **out,
		 struct np_err *err);

/* What Slurm, or else the system, calls this node. */
const char *np_probe_node(void);

/*
 * Fill all, in the order of the table, whatever that of argv; --version and
 * --help print and end the program.  *word gets the word behind the options,
 * or NULL; where word is NULL none is expected.  Returns 0, or -EINVAL with
 * err.
 */
int np_probe_options(const struct np_probe_command *c, int argc, char **argv,
		     void *all, const char **word, struct np_err *err);

#endif
