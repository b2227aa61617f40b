/*
 * One run record: everything measured during one flagged job step, and what
 * is needed to judge it.  It is the raw measurement; whatever can be derived
 * (utilisation, verdicts, curves) is derived when it is read.
 *
 * The JSON form is described in netprof-profile(5); np_record.c is the
 * only place that knows it.  Times are seconds; dates
 * are seconds since 1970.
 * Strings and arrays are owned by the record.
 */
#ifndef NP_RECORD_H
#define NP_RECORD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "np_app.h"
#include "np_err.h"
#include "np_hist.h"
#include "np_moments.h"
#include "np_nic.h"

#define NP_RECORD_SCHEMA 1
#define NP_RECORD_MAX_BYTES (4u << 20) /* a larger file is not read */
#define NP_RECORD_MAX_LEAVES 4096
#define NP_RECORD_MAX_NODES 65536
#define NP_RECORD_MAX_NEIGHBOURS 4096
#define NP_RECORD_MAX_NOTES 64
#define NP_RECORD_MAX_BLOCKS 4096
#define NP_RECORD_MAX_NICS 32 /* names of network adapters */

#define NP_NO_VALUE (-1L) /* a number that is not known */

enum np_run_state {
	NP_RUN_RUNNING,	 /* being written; or its writer was killed */
	NP_RUN_COMPLETE, /* the step ended and the probes said their last */
	NP_RUN_CUT,	 /* the probes were ended before the step's end was seen */
};

/* "running", "complete" and "cut", then NULL. */
extern const char *const np_run_states[];

/* One leaf switch as seen by the step. */
struct np_leaf_run {
	char *name;  /* switch name; "" where there is no topology */
	char *nodes; /* hostlist expression of the step's nodes on it */
	uint32_t n_nodes;
	uint32_t n_pairs; /* probe pairs; 0: not measured, see skipped */
	char *skipped;	  /* why not measured, or NULL */
	struct np_moments latency; /* half a round trip, seconds */
	struct np_hist *hist;	   /* the same samples; NULL if none */
	struct np_series *windows; /* the same over time; NULL if none */
};

/* How the probes were set, and what they cost. */
struct np_probe_run {
	uint32_t message_bytes;
	double period_sec;
	uint32_t per_node;
	uint32_t n_processes;
	char *transport; /* as UCX names it: "tcp/eth0", or NULL */
	uint64_t messages;
	double cpu_sec_max;  /* of the process that used most */
	double cpu_sec_sum;
	double elapsed_sec;  /* of the longest-lived process */
	uint64_t rss_bytes_max;
};

/*
 * What the counters of the network devices of the measured nodes said while
 * the probes ran.
 */
struct np_traffic_run {
	uint32_t n_nodes; /* whose counters were read; 0: none were */
	double node_sec;  /* time that they cover, of all nodes together */
	double bytes;	  /* sent and received in it, less those of the probes */
	double link;	  /* that the slowest device carries in one direction,
			     bytes a second; 0: not known */
};

/*
 * What the network adapters of one name counted on the measured nodes while the
 * probes ran alone.
 */
struct np_nic_run {
	char *device;	  /* "mlx5_0:1", "cxi0", "eth0" */
	uint32_t n_nodes; /* whose adapter was read */
	double node_sec;  /* time that they cover, of all nodes together */
	double n[NP_NIC_KINDS]; /* as np_nic.h; NaN: not counted */
};

/*
 * An interference level that ran beside the step: CompressionB's
 * configuration and its own rounds, alone (before the step started) and beside it.
 */
struct np_level_run {
	char *name; /* as asked for: "c4" or "P4:M10:B250us:S40960" */
	uint32_t partners, messages, bytes;
	double pause_sec;
	char *scope; /* "node": on the step's nodes; "leaf": on other nodes */
	char *nodes; /* hostlist expression */
	uint32_t n_processes;
	struct np_moments alone_round_sec;
	struct np_moments beside_round_sec;
};

/*
 * A few seconds of the run, beside an interference level or beside none, by
 * which --netprofile-calibrate makes a curve (np_blocks.h).  Those before the
 * program started have a level's rounds only.
 */
struct np_block_run {
	char *level;   /* as asked for; NULL: none */
	double at_sec; /* since the program started */
	double sec;    /* that it took, with the pause before */
	double rate;   /* of the step's devices, bytes/s, less our own */
	double calls;  /* of MPI a second, of a process on each measured node;
			  NaN: not known */
	struct np_moments round_sec; /* of the level */
};

/*
 * A job, or another step of the same job, that had nodes on one of the step's
 * leaves while it ran.
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
	long array_job_id, array_task_id; /* NP_NO_VALUE if no array */
	long het_component;		  /* NP_NO_VALUE if not heterogeneous */
	uint32_t step_id;
	char *executable;  /* path or name as given to srun */
	char *fingerprint; /* hex digest of executable, arguments, nodes, tasks,
			      their layout and processors */
	uint32_t n_tasks, n_nodes;
	char *tasks_per_node; /* "4,2,1(x2)"; NULL: not known */
	char *task_order; /* "block", "cyclic" or "other"; NULL: not known */
	char *cpu_bind;	  /* as was asked for; NULL: nothing was */
	uint32_t cpus_per_task; /* the same; 0: nothing was */
	char *nodes; /* hostlist expression of the step */
	/*
	 * Dates.  start: srun was about to launch the step, and its measuring
	 * began; end: the step's end, or the last update while it runs.
	 */
	double start, end;
	enum np_run_state state;
	long exit_code;	  /* of srun; NP_NO_VALUE if not seen */
	double alone_sec; /* the launch waited so long for the level, else 0 */
	bool suspended;   /* and resumed: its times and latencies have a gap */
	char *netprof_version, *slurm_version, *ucx_version;
	char *mpi_version; /* of the program, "Open MPI 4.1.4"; NULL: not known,
			      or it has none */
	char *host; /* where the record was written */

	/*
	 * Of a record of the idle network that nobody asked for: "quiet",
	 * moments of another program's run in which its nodes moved next to no
	 * bytes; or "calibration".  NULL: an ordinary run.
	 */
	char *source;

	struct np_probe_run probe;
	struct np_traffic_run traffic;
	struct np_nic_run *nics;
	size_t n_nics;
	struct np_level_run *level; /* NULL: no interference */
	struct np_leaf_run *leaves;
	size_t n_leaves;
	char *blocks_scope; /* of their levels: "leaf"; NULL: no blocks */
	uint32_t blocks_nodes; /* that their levels had */
	struct np_block_run *blocks_alone; /* before the program started */
	size_t n_blocks_alone;
	struct np_block_run *blocks;
	size_t n_blocks;
	struct np_neighbour *neighbours;
	size_t n_neighbours;
	char **notes; /* one line each: what went wrong or was left out */
	size_t n_notes;
};

/* Empty record (zeroes, NP_NO_VALUE where that is the default), or NULL. */
struct np_record *np_record_new(void);
void np_record_free(struct np_record *r); /* NULL is allowed */

/* How long the step ran, seconds: from its launch to its end; never negative. */
double np_record_run_sec(const struct np_record *r);

/* The leaf of that name, added if new.  NULL: out of memory or too many. */
struct np_leaf_run *np_record_leaf(struct np_record *r, const char *name);

/* The adapters of that name, added if new; the same. */
struct np_nic_run *np_record_nic(struct np_record *r, const char *device);

/* Append a note, unless it is there or there are NP_RECORD_MAX_NOTES. */
void np_record_note(struct np_record *r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Strip what predictions and pages do not need: all that tells of other
 * people's jobs, and of its owner the uid (it becomes that of by, who answers
 * for it), nodes, hosts, directories and notes.  Job and step stay: they tell
 * one run from another.
 */
void np_record_make_public(struct np_record *r, uid_t by);

/*
 * JSON text of the record; *out is malloc'ed, NUL-terminated, freed by the
 * caller.  Windows are written with 6 digits and without their minimum, and
 * merge in pairs where many leaves would make the text too long.  where names
 * the record in messages.
 * Returns 0, -EINVAL (what np_record_from_json() would refuse) or -ENOMEM.
 */
int np_record_write(const struct np_record *r, const char *where, char **out,
		    struct np_err *err);

/*
 * Parse and check one record.  text[len] is hostile: bounded depth, sizes and
 * counts; every number finite and in range.  Unknown members are ignored, so
 * that a newer minor writer can be read.  where names the source in messages.
 * Returns 0; -EINVAL (damaged or out of range); -EPROTONOSUPPORT (newer
 * schema); -ENOMEM.
 */
int np_record_from_json(const char *text, size_t len, const char *where,
			struct np_record **out, struct np_err *err);

#endif
