/*
 * A run record: everything that was measured during one flagged job step, and
 * what is needed to judge it. It holds raw measurements only; what can be
 * derived (utilisation, verdicts, curves) is derived when it is read.
 *
 * netprof-profile(5) describes the JSON form; np_record.c is the only file that
 * knows it. Times are seconds, dates are seconds since 1970. Strings and
 * arrays are owned by the record.
 */
#ifndef NP_RECORD_H
#define NP_RECORD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "np_app.h"
#include "np_err.h"
#include "np_latency.h"
#include "np_moments.h"
#include "np_nic.h"

#define NP_RECORD_SCHEMA 1
#define NP_RECORD_MAX_BYTES (4u << 20) /* larger files are not read */
#define NP_RECORD_MAX_LEAVES 4096
#define NP_RECORD_MAX_NODES 65536
#define NP_RECORD_MAX_NEIGHBOURS 4096
#define NP_RECORD_MAX_NOTES 64
#define NP_RECORD_MAX_INTERVALS 4096
#define NP_RECORD_MAX_NICS 32 /* names of network adapters */

#define NP_NO_VALUE (-1L) /* an unknown number */

enum np_run_state {
	NP_RUN_RUNNING,	 /* still being written, or its writer was killed */
	NP_RUN_COMPLETE, /* the step ended and the probes reported their end */
	NP_RUN_CUT,	 /* the probes ended before the end of the step */
};

/* "running", "complete" and "cut", then NULL. */
extern const char *const np_run_states[];

/*
 * Traffic counted by the network devices of the measured nodes while the probes
 * ran.
 */
struct np_traffic_run {
	uint32_t n_nodes; /* with readable counters; 0: none */
	double node_sec;  /* counted time, summed over the nodes */
	double bytes;	  /* sent and received, without those of the probes */
	double link;	  /* bandwidth of the slowest device in one direction,
			     bytes/s; 0: not known */
};

/* A node is quiet while it transfers less than this, bytes per second. */
#define NP_QUIET_RATE 16e3

/* The part of a step under one leaf switch. */
struct np_leaf_run {
	char *name;  /* of the switch; "" without a topology */
	char *rail;  /* of the switch; NULL: the nodes have no rails */
	char *nodes; /* hostlist expression of the step's nodes on it */
	uint32_t n_nodes;
	uint32_t n_pairs; /* pairs of probes; 0: not measured, see skipped */
	char *skipped;	  /* why it was not measured, or NULL */
	struct np_moments latency; /* half a round trip, seconds */
	struct np_hist *hist;	   /* the same samples; NULL if none */
	struct np_series *windows; /* the same over time; NULL if none */
	/* Of the adapters that lead to the switch; NULL: the nodes have no
	 * rails, or the adapters no counters. */
	struct np_traffic_run *traffic;
};

/* The settings of the probes, and what they cost. */
struct np_probe_run {
	uint32_t message_bytes;
	double period_sec;
	uint32_t per_node;
	uint32_t n_processes;
	char *transport; /* of UCX, "tcp/eth0", or of libfabric,
			    "ofi:cxi/cxi0"; NULL: not known */
	uint64_t messages;
	double cpu_sec_max; /* of the process with the most */
	double cpu_sec_sum;
	double elapsed_sec; /* of the longest-lived process */
	uint64_t rss_bytes_max;
};

/*
 * Counters of the network adapters of one name on the measured nodes, while the
 * probes ran without a load level.
 */
struct np_nic_run {
	char *device;		/* "mlx5_0:1", "cxi0", "eth0" */
	uint32_t n_nodes;	/* whose adapter was read */
	double node_sec;	/* counted time, summed over the nodes */
	double n[NP_NIC_KINDS]; /* as np_nic.h; NaN: not counted */
};

/*
 * A load level that ran together with the step: CompressionB's configuration,
 * and its own rounds before the step started (alone) and during it (loaded).
 */
struct np_level_run {
	char *name; /* as requested: "c4" or "P4:M10:B250us:S40960" */
	uint32_t peers, messages, bytes;
	double pause_sec;
	char *scope; /* "node": on the step's nodes; "leaf": on other nodes */
	char *nodes; /* hostlist expression */
	char *rails; /* that it loads, "rail0,rail1"; NULL: no rails */
	uint32_t n_processes;
	struct np_moments alone_round_sec;
	struct np_moments loaded_round_sec;
};

/*
 * A measurement interval: a few seconds of a run with --netprofile-calibrate,
 * under one load level or none. A sensitivity curve is made of these
 * (np_one_run.h). Intervals before the program started have only the level's
 * rounds.
 */
struct np_run_interval {
	char *level;   /* as requested; NULL: none */
	double at_sec; /* since the program started */
	double sec;    /* length, with the pause before it */
	double rate;   /* of the step's devices, bytes/s, without our own */
	double calls;  /* MPI calls per second of one process on each measured
			  node; NaN: not known */
	struct np_moments round_sec; /* of the level */
};

/*
 * A job, or another step of the same job, with nodes on one of the step's leaf
 * switches while the step ran.
 */
struct np_neighbour {
	uint32_t job_id;
	long step_id; /* NP_NO_VALUE: a whole job */
	char *leaf;
	char *nodes;
	double overlap_sec;
};

struct np_record {
	char app[NP_APP_MAX + 1];
	uid_t uid;
	char *cluster;
	uint32_t job_id;
	long array_job_id, array_task_id; /* NP_NO_VALUE: no array job */
	long het_component;		  /* NP_NO_VALUE: not heterogeneous */
	uint32_t step_id;
	char *executable;  /* path or name as given to srun */
	char *fingerprint; /* hex digest of executable, arguments, nodes, tasks,
			      their layout and processors */
	uint32_t n_tasks, n_nodes;
	char *tasks_per_node; /* "4,2,1(x2)"; NULL: not known */
	char *task_order; /* "block", "cyclic" or "other"; NULL: not known */
	char *cpu_bind;	  /* as requested; NULL: not requested */
	uint32_t cpus_per_task; /* as requested; 0: not requested */
	char *nodes;		/* hostlist expression of the step */
	/*
	 * Dates. start: srun was about to launch the step and the measurement
	 * began; end: the step's end, or the latest update while it runs.
	 */
	double start, end;
	enum np_run_state state;
	long exit_code;	  /* of srun; NP_NO_VALUE: not seen */
	double alone_sec; /* how long the launch waited for the load level */
	bool suspended;	  /* for some time: its measurements have a gap */
	char *netprof_version, *slurm_version, *ucx_version;
	char *mpi_version; /* of the program, "Open MPI 4.1.4"; "none": it uses
			      no MPI; NULL: not known */
	char *host;	   /* where the record was written */

	/*
	 * Origin of a record of the idle network that netprof made by itself:
	 * "quiet", intervals of another program's run in which its nodes
	 * transferred almost nothing; or "calibration". NULL: an ordinary run.
	 */
	char *source;

	struct np_probe_run probe;
	struct np_traffic_run traffic;
	struct np_nic_run *nics;
	size_t n_nics;
	struct np_level_run *level; /* NULL: no load level */
	struct np_leaf_run *leaves;
	size_t n_leaves;
	char *intervals_scope; /* of the intervals' levels: "leaf"; NULL: none */
	uint32_t intervals_nodes; /* on which these levels ran */
	char *intervals_rails;	  /* that they load; NULL: no rails */
	struct np_run_interval *intervals_alone; /* before the program began */
	size_t n_intervals_alone;
	struct np_run_interval *intervals;
	size_t n_intervals;
	struct np_neighbour *neighbours;
	size_t n_neighbours;
	char **notes; /* one line each: problems, and what was not measured */
	size_t n_notes;
};

/* An empty record (zeroes, or NP_NO_VALUE), or NULL: out of memory. */
struct np_record *np_record_new(void);
void np_record_free(struct np_record *record); /* NULL is allowed */

/*
 * Run time of the program in seconds, end - start - alone_sec; never negative.
 * While it runs: so far.
 */
double np_record_run_sec(const struct np_record *record);

/* The leaf switch of that name, added if new. NULL: no memory, or too many. */
struct np_leaf_run *np_record_leaf(struct np_record *record, const char *name);

/* The adapters of that name, added if new. NULL: no memory, or too many. */
struct np_nic_run *np_record_nic(struct np_record *record, const char *device);

/* Add a note, unless it exists or there are NP_RECORD_MAX_NOTES. */
void np_record_note(struct np_record *r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Note in record the load level of that name and where it runs: scope is "leaf"
 * or "node", nodes a hostlist expression. Returns 0, or -errno with err.
 */
int np_record_note_level(struct np_record *record, const char *name,
			 const char *scope, const char *nodes,
			 struct np_err *err);

/*
 * Remove what predictions and reports do not need and others should not see:
 * other people's jobs, nodes, hosts, directories and notes. The uid becomes
 * that of the publishing user, by. Job and step numbers stay, because they
 * distinguish runs.
 */
void np_record_make_public(struct np_record *record, uid_t by);

/*
 * The record as JSON text; *out is malloc'ed and NUL-terminated. Windows are
 * written with 6 digits and without their minimum, and are merged in pairs if
 * many leaf switches would make the text too long. where names the record in
 * messages.
 * Returns 0, -EINVAL (what np_record_from_json() would refuse) or -ENOMEM.
 */
int np_record_write(const struct np_record *record, const char *where,
		    char **out, struct np_err *err);

/*
 * Parse and check one record. text[len] is hostile: depth, sizes and counts
 * are bounded, and every number must be finite and in range. Unknown members
 * are ignored, so that records of a newer minor version can be read. where
 * names the source in messages. Returns 0; -EINVAL (damaged or out of range);
 * -EPROTONOSUPPORT (newer schema); -ENOMEM.
 */
int np_record_from_json(const char *text, size_t len, const char *where,
			struct np_record **out, struct np_err *err);

#endif
