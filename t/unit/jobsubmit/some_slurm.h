/*
 * A cluster as slurmctld describes it: n[0-15] under leaf[0-3], four each;
 * n[12-15] are larger and have features. Partitions: batch (default, all),
 * debug (n[0-3]), alone (all, OverSubscribe=EXCLUSIVE), big (n[12-15]).
 */
#ifndef NP_T_SOME_SLURM_H
#define NP_T_SOME_SLURM_H

#include "np_conflict.h"
#include "np_job_snapshot.h"
#include "np_shared.h"

#define SOME_NODES 16
#define SOME_LEAVES 4
#define SOME_PARTS 4
#define SOME_JOBS 16
#define SOME_NOW 1000000
#define SOME_UID 20001

struct some_slurm {
	node_info_t node[SOME_NODES];
	char name[SOME_NODES][8];
	partition_info_t part[SOME_PARTS];
	slurm_job_info_t job[SOME_JOBS];
	int32_t now[SOME_JOBS][2 * SOME_NODES + 1]; /* pairs of nodes */
	node_info_msg_t nodes;
	partition_info_msg_t parts;
	job_info_msg_t jobs;
	struct np_ctld_info info;
	struct np_cluster_map *map;
	int64_t now_sec;		  /* SOME_NOW at first */
	const struct np_auth_rules *auth; /* NULL at first: no rules */
};

/* Nodes idle, no jobs; some_slurm_free() frees the map. */
void some_slurm(struct some_slurm *s);
void some_slurm_free(struct some_slurm *s);

/* One for each test: T_FIXTURE(some_slurm_begin, some_slurm_end). */
extern struct some_slurm ctld;
void some_slurm_begin(void);
void some_slurm_end(void);

/* One more job: pending in batch, one node, of SOME_UID, app as its name. */
slurm_job_info_t *some_job(struct some_slurm *s, uint32_t id, const char *app);

/* A copy as Slurm answers with, where texts are the caller's. */
job_info_msg_t *some_answer(const job_info_msg_t *from);

/* What scontrol show job would have as ExcNodeList; "": none. */
void some_exclude(struct some_slurm *s, slurm_job_info_t *j, const char *hosts);

/* It runs there. */
void some_run(struct some_slurm *s, slurm_job_info_t *j, const char *hosts);

/* Every job's name is its application; enforce. */
void some_place_conf(struct np_place_conf *c);

/*
 * Applications: loud and soft slow each other (50 %), and loud itself; quiet
 * slows nobody. The own runs of SOME_UID + 1 contradict soft. Without auth,
 * SOME_UID, SOME_UID + 2 and SOME_UID + 3 may use all of them.
 */
struct np_slowdowns *some_slowdowns(void);
struct np_app_index *some_index(const struct np_auth_rules *auth);

/* Snapshot of all that; frees cache it makes itself where cache is NULL. */
int some_jobs(struct some_slurm *s, struct np_job_cache *cache,
	      const struct np_change *change, size_t n_changes,
	      struct np_job_snapshot *v);

/* The decision about a snapshot. */
struct np_placement *some_decision(const struct np_job_snapshot *v);

/* A description as slurmctld hands it to job_submit, in Slurm's memory. */
void some_desc(job_desc_msg_t *d, const char *app);
void some_desc_free(job_desc_msg_t *d);
void some_text(char **where, const char *text);

/* The last line for the log of slurmctld. */
const char *some_logged(void);
unsigned some_n_logged(void);		      /* lines so far */
extern void (*some_on_log)(const char *line); /* NULL: nobody listens */
unsigned some_n_errors(void);

/* Tasks from .. end-1 of an array, end at most 64. */
bitstr_t *some_bits(int64_t from, int64_t end);
void some_bits_free(bitstr_t *b);

/* "n[0-3]"; static. */
const char *some_hosts(const struct np_cluster_map *s, const uint64_t *nodes);

/* "" and NULL are the same. */
bool some_same(const char *a, const char *b);

#endif
