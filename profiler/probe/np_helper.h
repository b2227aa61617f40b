/*
 * Helper steps: job steps of netprof's own that run next to the user's steps,
 * to measure or to put load on the network. srun starts them; we read its
 * standard output line by line. They end with the process that started them.
 *
 * The environment is made in np_helper_env.c, apart from the rest in
 * np_helper.c, because the SPANK plugin and netprof-agent use it as well.
 */
#ifndef NP_HELPER_H
#define NP_HELPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "np_conf.h"
#include "np_err.h"
#include "np_option.h"
#include "np_report.h"

/* ---- environment ---- */

/* Set in the environment of helper steps, which are not measured in turn. */
#define NP_HELPER_ENV "NETPROF_SIDE"

/*
 * Cookies of the handshake of netprof-agent and the collector: np_rendezvous.h.
 */
#define NP_COOKIES_ENV "NETPROF_COOKIES"

/* For a probe: slurmctld's name of the node's leaf switch. */
#define NP_LEAF_ENV "NETPROF_LEAF"

/*
 * For a probe without NP_LEAF_ENV: the leaf switches of the partition, as
 * np_topo_parse() reads them, in place of those of the cluster's topology.
 */
#define NP_LEAVES_ENV "NETPROF_LEAVES"

/* For a probe: a process on this node whose MPI calls it reports. */
#define NP_TASK_ENV "NETPROF_TASK"

/* For a probe: the network library, as Transport in netprof.conf. */
#define NP_TRANSPORT_ENV "NETPROF_TRANSPORT"

/*
 * The environment of a process that runs next to the user's: a copy of env
 * without the variables that would change its layout, its program or its
 * transport, plus the strings of more (NULL-terminated, or NULL). The result is
 * NULL-terminated and one block for free(); its strings are borrowed from env
 * and more. NULL: out of memory.
 */
char **np_helper_env(char *const env[], const char *const more[]);

/*
 * The transport of the configuration, as variables for `more`: at most
 * NP_HELPER_ENV_NETWORK and a NULL. text[] holds the strings.
 */
#define NP_HELPER_ENV_NETWORK 3
struct np_helper_env_network {
	const char *more[NP_HELPER_ENV_NETWORK + 1];
	char text[NP_HELPER_ENV_NETWORK][160];
};
void np_helper_env_network(const struct np_conf *conf,
			   struct np_helper_env_network *out);

/* Slurm's name for this node, or else its host name. */
const char *np_node_name(void);

/* ---- command lines ---- */

/* The job that a helper step belongs to. */
struct np_helper_job {
	const char *srun; /* path of the program */
	uint32_t job_id;
	long het_component;  /* -1: not a heterogeneous job */
	uint32_t het_job_id; /* job id of its leader, or 0 */
};

/*
 * Each of these fills args, to which the caller may add arguments of the
 * program. args->rc is -ENOMEM if memory was short; free with np_args_free().
 */

/* srun of conf->per_node processes of ImpactB on each of n_nodes nodes. */
void np_helper_cmd_impact(struct np_args *args, const struct np_helper_job *job,
			  const struct np_conf *conf, const char *nodes,
			  size_t n_nodes);

/* srun of one process of another probe program on each of n_nodes nodes. */
void np_helper_cmd_probe(struct np_args *args, const struct np_helper_job *job,
			 const struct np_conf *conf, const char *program,
			 const char *nodes, size_t n_nodes);

/*
 * srun of one netprof-agent on a node, which connects to the collector at that
 * port of this host and takes part in its load level. A step with a single
 * node need not wait for the slurmstepd of another node when it, or its job,
 * ends early. again: connect once more whenever its probe has ended.
 */
void np_helper_cmd_agent(struct np_args *args, const struct np_helper_job *job,
			 const struct np_conf *conf, const char *node,
			 uint16_t port, bool again);

/* ---- the process ---- */

struct np_helper_step {
	pid_t pid;  /* of srun; 0: not started, or reaped */
	int fd;	    /* its stdout and stderr, non-blocking; -1: none */
	int status; /* from waitpid(), once reaped */
	bool ended; /* reaped */
	char last[NP_ERR_LEN]; /* last line that was not a report: the cause */
	size_t len;	       /* bytes in buf */
	char buf[4 * NP_REPORT_LINE];
	int in;			   /* its stdin; -1: none */
	struct np_wire_host *wire; /* NULL: none */
};

/* clang-format off */
#define NP_HELPER_INIT { .fd = -1, .in = -1 }
/* clang-format on */

typedef void np_helper_report_f(const struct np_report *r, void *arg);

/*
 * Start args with envp. n: number of processes, which find each other through
 * this one (np_wire.h); 0: they do not need to, and get no standard input.
 * Returns 0 or -errno with err. np_helper_stop() or np_helper_close() ends it.
 */
int np_helper_start(struct np_helper_step *step, const struct np_args *args,
		    char *const envp[], uint32_t n, struct np_err *err);

/*
 * Read the output and pass every report to f, unless it is NULL. A line longer
 * than the buffer is dropped. At the end of the output fd becomes -1.
 */
void np_helper_read(struct np_helper_step *step, np_helper_report_f *f,
		    void *arg);

/* True once the process has ended; does not wait. */
bool np_helper_reap(struct np_helper_step *step);

void np_helper_signal(const struct np_helper_step *step, int sig);

/* Progress of ending steps; starts as { .requested_sec = now }. */
struct np_helper_end {
	double requested_sec; /* when they were asked to end, in whatever way */
	unsigned n_sent;
};

/*
 * The signal that is due now for steps that have not ended: SIGTERM after 2 s,
 * SIGKILL after 4 s. 0: none yet; -1: after 6 s they are left to slurmd.
 */
int np_helper_end_due(struct np_helper_end *end, double now_sec);

/* Read as np_helper_read() does, once there is output or after sec. */
void np_helper_wait(struct np_helper_step *step, double sec,
		    np_helper_report_f *f, void *arg);

/*
 * End a step: send sig (0: none) and, as np_helper_end_due() says, stronger
 * signals, while its output is read. Then release all resources.
 */
void np_helper_stop(struct np_helper_step *step, int sig, np_helper_report_f *f,
		    void *arg);

/* Release all resources; a process that still runs is left alone. */
void np_helper_close(struct np_helper_step *step);

/* How it ended, in words: "exit 1: srun: error: ..." */
void np_helper_cause(const struct np_helper_step *step, char *buf, size_t len);

#endif
