/* Internal declarations of the simulator. */
#ifndef NP_SIMULATE_IMPL_H
#define NP_SIMULATE_IMPL_H

#include "np_availability.h"
#include "np_bits.h"
#include "np_simulate.h"

#define NP_SIM_FOUND 32
#define NP_SIM_SPEED 1048576 /* progress in one second of a job alone */

/* A job on one of its leaves, and the load that it has there from others. */
struct np_sim_site {
	uint32_t leaf;
	uint32_t load;
};

struct np_running {
	uint32_t *place; /* of its nodes, ascending */
	uint32_t n_places;
	uint16_t cpus;	 /* on each */
	unsigned touch;	 /* NP_TOUCH_... */
	bool completing; /* it has ended, and still has its nodes */
	int64_t expected_sec; /* its end by its time limit */
	/* Work that is left, as of since_sec, at speed per second. */
	int64_t left, since_sec;
	uint32_t speed, load;
	struct np_sim_site *site; /* none of a job that slows nobody and is
				     slowed by nobody */
	size_t n_sites;
};

/* What placement has written into a pending job. */
struct np_sim_hold {
	enum np_prior prior;
	int64_t until_sec;
	double held_sec;
	uint64_t *leaves; /* that are open to it */
	uint64_t *places; /* the same as nodes, with those without a leaf */
};

/* A heap of jobs by time. */
struct np_sim_heap {
	struct np_sim_event {
		int64_t sec;
		uint32_t job;
	} *at;
	size_t n, room;
	uint32_t *position; /* per job; NULL: not needed */
};

/* Jobs that press or feel on a leaf. */
struct np_sim_tenants {
	struct np_sim_tenant {
		uint32_t job, site;
	} *at;
	size_t n, room;
};

struct np_sim {
	const struct np_sim_ask *ask;
	const struct np_sim_job *job;
	const struct np_leaves *leaves;
	struct np_sim_fate *fate;
	struct np_sim_counts *counts;
	int64_t now;
	bool shared; /* there are jobs that share nodes */

	/* Nodes, by place. */
	size_t words;
	uint64_t *idle;
	uint16_t *cpus; /* free on each; NULL: nodes are not shared */
	uint64_t free_cpus;
	uint64_t *partition[NP_SIM_MAX_PARTITIONS];
	uint32_t partition_size[NP_SIM_MAX_PARTITIONS];
	uint32_t partition_idle[NP_SIM_MAX_PARTITIONS];
	uint64_t *in_partitions; /* of each node: a bit for each partition */
	uint64_t *mask, *blocked; /* scratch */
	/* Scratch, per leaf and of the nodes without; leaf_first: by number
	   of nodes, of which a leaf has leaf_most at the most. */
	uint32_t *leaf_nodes, *leaf_order, *leaf_first;
	size_t leaf_most;
	uint32_t *chosen;	  /* scratch: nodes of one job */

	/* Jobs. */
	size_t submitted; /* the first ones of the log */
	uint32_t *queue;  /* pending and eligible, in order */
	size_t n_queue, queue_room;
	struct np_running **running; /* per job; NULL: it does not run */
	uint32_t *expected;	     /* running jobs by expected_sec */
	size_t n_expected, expected_room;
	struct np_sim_heap ends, eligible, cancels;
	uint32_t *followers, *next_follower; /* jobs that wait for a job */
	struct np_sim_tenants *tenants;	     /* per leaf */
	struct np_availability plan;
	struct np_sim_found {
		const struct np_sim_job *job;
		int64_t sec;
	} found[NP_SIM_FOUND]; /* the last of this backfill pass that cannot
				  start now, and when they can */
	size_t n_found;
	bool again; /* another main pass may start jobs that this one did not */
	int64_t backfilled_sec; /* the last pass; or before the first job */
	bool backfill_changed;	/* since then */

	/* Placement; NULL: there is none. */
	struct np_sim_placing *placing;
	struct np_sim_hold **hold; /* per job; NULL: nothing is written */
};

static inline bool np_sim_inert(const struct np_sim *s, uint32_t job)
{
	const struct np_press *t = s->ask->press;
	int32_t profile = s->job[job].profile;

	return !t || profile < 0 || t->profile[profile].inert;
}

/* np_simulate.c: its end has changed. */
void np_sim_end_at(struct np_sim *s, uint32_t job);

/*
 * np_sim_neighbours.c: a job comes to its leaves, or leaves them; the speed of
 * all that it meets there changes.  Returns 0 or -ENOMEM.
 */
int np_sim_enter(struct np_sim *s, uint32_t job);
void np_sim_leave(struct np_sim *s, uint32_t job);

/* np_sim_placing.c: the placement decisions. */
int np_sim_placing_new(struct np_sim *s);
void np_sim_placing_free(struct np_sim *s);
/* A job was submitted, started, or left the queue; or one has ended. */
void np_sim_placing_changed(struct np_sim *s);
void np_sim_placing_pends(struct np_sim *s, uint32_t job, bool pends);
/* When the next decision is due; INT64_MAX: none is. */
int64_t np_sim_placing_due(const struct np_sim *s);
/* Decide if it is due now.  Returns 0 or -errno with err. */
int np_sim_placing_decide(struct np_sim *s, struct np_err *err);
/* A job that is eligible since now. */
int np_sim_placing_submit(struct np_sim *s, uint32_t job, struct np_err *err);

#endif
