/*
 * What Slurm's accounting says about jobs: which ran where and when, which runs
 * are comparable, and which jobs shared a leaf switch.
 *
 * Jobs come from one or more outputs of sacct (np_sacct.h); a job that is in
 * several of them counts once. Users choose the names of their jobs and write
 * batch scripts, so all of it is hostile input.
 */
#ifndef NP_ACCT_H
#define NP_ACCT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "np_array.h"
#include "np_err.h"
#include "np_topo.h"

#define NP_ACCT_MAX_JOBS 2000000
#define NP_ACCT_MAX_NODES 40000000 /* of all jobs together */
#define NP_ACCT_NO_TASK UINT32_MAX

enum np_acct_state {
	NP_ACCT_OTHER, /* pending, or ended in a way not listed here */
	NP_ACCT_RUNNING,
	NP_ACCT_COMPLETED,
	NP_ACCT_FAILED, /* failed, out of memory, node failure */
	NP_ACCT_TIMEOUT,
	NP_ACCT_CANCELLED,
	NP_ACCT_REQUEUED,
	NP_ACCT_RESIZED, /* it went on with another number of nodes */
};

/* One allocation. Texts are numbers for np_acct_text(). */
struct np_acct_job {
	uint32_t id, array, task; /* task NP_ACCT_NO_TASK: not of an array */
	uint32_t user, name, partition;
	/* Command that submitted it, and where; text "": not known. */
	uint32_t line, dir;
	enum np_acct_state state;
	double submit, start, end; /* dates; end NaN: still running */
	double suspended_sec;
	double limit_sec; /* time limit; infinite: none, NaN: not known */
	uint32_t n_nodes, cpus;
	uint32_t tasks;		     /* of its largest step; 0: not known */
	uint32_t requeues;	     /* earlier starts of this job */
	bool resized;		     /* it had another size before */
	size_t first_node, n_listed; /* in np_acct.node */
};

/* A job on a leaf switch: on how many of its nodes. */
struct np_acct_place {
	uint32_t leaf, job, nodes;
};

/* Zeroed but for now, it is empty. */
struct np_acct {
	struct np_acct_job *job;
	size_t n_jobs, job_room;
	uint32_t *node; /* of all jobs, as numbers of node_name */
	size_t n_nodes, node_room;
	struct np_index text, node_name, leaf_name;
	uint32_t *leaf_of; /* of each node; NP_NO_INDEX: unknown */
	size_t leaf_room;
	uint32_t *leaf_size;	     /* number of nodes of each leaf switch */
	struct np_acct_place *place; /* by leaf and start, np_acct_index() */
	size_t n_places;
	size_t damaged; /* rows that could not be used */
	double now;	/* date; the end of running jobs */
	bool one_leaf;	/* no topology: all nodes count as one leaf */
};

/* For sacct --format=; the second one needs a later release of Slurm. */
#define NP_ACCT_FORMAT \
	"JobID,JobIDRaw,User,Partition,State,Submit,Start,End,Suspended," \
	"NNodes,NCPUS,NTasks,TimelimitRaw,NodeList,JobName"
#define NP_ACCT_FORMAT_MORE NP_ACCT_FORMAT ",WorkDir,SubmitLine"

void np_acct_free(struct np_acct *h);

/*
 * Set the leaf switches, before any job is read. t NULL or empty: there is no
 * topology, and all nodes count as being under one leaf switch. A node of two
 * leaf switches belongs to the first. Returns 0, -ENOMEM, or with err -EINVAL
 * (nodes that are no list) or -E2BIG (too many of them).
 */
int np_acct_topology(struct np_acct *h, const struct np_topo *t,
		     struct np_err *err);

/*
 * Add the output of sacct, as rows or as JSON; text is changed. delimiter: of
 * the fields of rows. Jobs that never started are ignored. Of steps, which
 * follow their job, only the numbers of tasks count. Returns 0, or with err
 * -EINVAL (name, line and what was expected), -E2BIG or -ENOMEM.
 */
int np_acct_read(struct np_acct *h, char *text, const char *name,
		 const char *delimiter, struct np_err *err);

/*
 * Sort the jobs, count requeues and make place[]; call it after the last text.
 * Returns 0 or -ENOMEM.
 */
int np_acct_index(struct np_acct *h);

/*
 * Copy a text, or the name of a node or leaf switch, into buf of len bytes, fit
 * for a terminal (np_text.h); "" for a number without one. x: np_acct.text,
 * node_name or leaf_name.
 */
const char *np_acct_text(const struct np_index *x, uint32_t number, char *buf,
			 size_t len);

/* Number of nodes of jobs that are on no leaf switch of the topology. */
size_t np_acct_off_leaves(const struct np_acct *h);

/*
 * Read the number of a job or task; *text moves past it. False: there is none,
 * or it is one of Slurm's special values.
 */
bool np_acct_take_id(const char **text, uint32_t *id);

/* The last start of a job, or NULL. task: of array job id, or NO_TASK. */
const struct np_acct_job *np_acct_find(const struct np_acct *h, uint32_t id,
				       uint32_t task);

/* Run time without suspensions; for a running job, so far. */
double np_acct_job_sec(const struct np_acct *h, const struct np_acct_job *j);
double np_acct_job_end(const struct np_acct *h, const struct np_acct_job *j);

/*
 * The class of its time limit; limits of a class differ by less than 4 times.
 */
int32_t np_acct_limit_class(const struct np_acct_job *j);

/*
 * The command that submitted a job, without the options that do not change what
 * it does, such as --job-name, --output or --exclude; "" if it is not known.
 */
const char *np_acct_command(const struct np_acct *h,
			    const struct np_acct_job *j, char *buf, size_t len);

/* What comparable runs have in common besides user and size. */
enum np_acct_same {
	NP_ACCT_SAME_NAME,
	NP_ACCT_SAME_COMMAND, /* and the directory */
};

/*
 * Completed runs of the same work as j (user, name or command, nodes,
 * processors, partition, class of the limit, and tasks where both are known),
 * newest first: at most max indices into h->job; returns how many. *any: how
 * many exist. A part of a job that changed its number of nodes is not compared.
 */
size_t np_acct_comparable(const struct np_acct *h, const struct np_acct_job *j,
			  enum np_acct_same same, uint32_t *out, size_t max,
			  size_t *any);

/* In what a job may differ from its usual runs. */
enum np_acct_trait {
	NP_ACCT_NODES,
	NP_ACCT_CPUS,
	NP_ACCT_TASKS,	   /* of runs for which they are known */
	NP_ACCT_PARTITION, /* a number for np_acct_text() */
	NP_ACCT_N_TRAITS
};

/* What more than half of the runs have. */
struct np_acct_usual {
	uint32_t own, usual; /* the value of the job, and that of these runs */
	size_t runs, of;     /* how many runs have it, of how many */
};

/*
 * Does a job differ from its usual runs, the completed ones of the same user and
 * name: do more than half of at least three have one other value, and fewer than
 * a tenth that of the job? Then *out is set.
 */
bool np_acct_differs(const struct np_acct *h, const struct np_acct_job *j,
		     enum np_acct_trait trait, struct np_acct_usual *out);

/* Leaf switches of a job with its nodes there (job is not set), at most max;
 * returns how many. */
size_t np_acct_leaves(const struct np_acct *h, const struct np_acct_job *j,
		      struct np_acct_place *out, size_t max);

/* A job that used the same leaf switches at the same time as another one. */
struct np_acct_neighbour {
	uint32_t job, leaf;    /* leaf: where it had most nodes */
	uint32_t nodes;	       /* its nodes on leaf switches of the other job */
	double from, to;       /* dates of the overlap */
	double rate, cost_sec; /* its traffic, bytes/s, and what it cost the
				  other job: NaN until they are known */
	bool same_node;	       /* it also had one of the other job's nodes */
};

/*
 * The neighbours of j in descending order of node-seconds. *out is malloc'ed.
 * Returns 0 or -ENOMEM.
 */
int np_acct_neighbours(const struct np_acct *h, const struct np_acct_job *j,
		       struct np_acct_neighbour **out, size_t *n);

#endif
