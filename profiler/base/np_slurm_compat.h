/*
 * Every difference between Slurm releases that this project depends on.
 *
 * Only spank/ and jobsubmit/ include this header, and no other file tests
 * SLURM_VERSION_NUMBER. Each branch names the release that changed something.
 */
#ifndef NP_SLURM_COMPAT_H
#define NP_SLURM_COMPAT_H

#include <slurm/slurm.h>
#include <slurm/slurm_version.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

/*
 * The releases tested in doc/validation/releases.md. Later ones may differ in
 * ways that are not known yet.
 */
#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(22, 5, 0)
#error "Slurm before 22.05: expected 22.05 to 26.05"
#elif SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(26, 6, 0)
#warning "Slurm after 26.05: netprof was never tested with it"
#endif

#define NP_SLURM_AT_LEAST(maj, min) \
	(SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(maj, min, 0))

/* Since 23.11 hostlist_t is the structure; before, it was a pointer to it. */
#if NP_SLURM_AT_LEAST(23, 11)
typedef hostlist_t *np_hostlist_t;
#else
typedef hostlist_t np_hostlist_t;
#endif

/*
 * Exported by libslurm and Slurm's programs, but not declared in an installed
 * header.
 */
extern void slurm_xfree(void **p);

/*
 * The list as text, to be freed with free(). 23.11 removed the function that
 * returned it like that, slurm_hostlist_ranged_string_malloc(); the one called
 * here exists in all releases.
 */
static inline char *np_ranged_string(np_hostlist_t list)
{
	void *own = slurm_hostlist_ranged_string_xmalloc(list);
	char *text = own ? strdup(own) : NULL;

	slurm_xfree(&own);
	return text;
}

/*
 * In 22.05 slurm_free_job_info_msg() leaks the AdminComment of every job. In a
 * daemon that would add up, by all annotations in each pass.
 */
static inline void np_free_jobs(job_info_msg_t *msg)
{
	for (uint32_t i = 0; msg && i < msg->record_count; i++)
		slurm_xfree((void **)&msg->job_array[i].admin_comment);
	slurm_free_job_info_msg(msg);
}

/* 23.02 added an argument to job_modify(), for a message to the user. */
#if NP_SLURM_AT_LEAST(23, 2)
#define NP_JOB_MODIFY_MESSAGE , char **err_msg __attribute__((unused))
#else
#define NP_JOB_MODIFY_MESSAGE
#endif

/*
 * Since 23.11 a plugin parses the answer of slurm_load_topo() and prints it.
 * Until 25.05 that plugin needs a variable of the program that loads it, which
 * libslurm does not export; only slurmctld reads its value. Programs that call
 * slurm_load_topo() must be linked with -rdynamic.
 */
#if NP_SLURM_AT_LEAST(23, 11) && !NP_SLURM_AT_LEAST(25, 5)
char *topo_conf __attribute__((weak));
#endif

/*
 * 25.05 added topologies of partitions, and the name of one as an argument of
 * slurm_load_topo(); NULL: the cluster's.
 */
#define NP_PARTITION_TOPOLOGIES NP_SLURM_AT_LEAST(25, 5)

static inline const char *np_partition_topology(const partition_info_t *p)
{
#if NP_PARTITION_TOPOLOGIES
	return p->topology_name && *p->topology_name ? p->topology_name : NULL;
#else
	(void)p;
	return NULL;
#endif
}

/*
 * slurm_load_topo() may succeed without an answer, or with an answer that could
 * not be parsed, on which every other call crashes. Return an error for both.
 */
static inline int np_load_topo(topo_info_response_msg_t **msg, const char *name)
{
	int rc;

#if NP_PARTITION_TOPOLOGIES
	rc = slurm_load_topo(msg, (char *)name);
#else
	(void)name;
	rc = slurm_load_topo(msg);
#endif
	if (rc)
		return rc;
#if NP_SLURM_AT_LEAST(23, 11)
	if (*msg && !(*msg)->topo_info) {
		slurm_free_topo_info_msg(*msg);
		*msg = NULL;
	}
#endif
	if (*msg)
		return 0;
	errno = SLURM_UNEXPECTED_MSG_ERROR;
	return SLURM_ERROR;
}

/*
 * With topology.yaml in 25.05 and 25.11, slurm_load_topo() terminates a program
 * that is not Slurm's own: serializer/yaml needs data_new(), which libslurm
 * does not export. 26.05 exports it.
 */
#define NP_TOPO_ENDS_CLIENTS \
	(NP_SLURM_AT_LEAST(25, 5) && !NP_SLURM_AT_LEAST(26, 5))

/*
 * Print the answer, one switch per line, into *text, malloc'ed, and free the
 * answer. Returns 0 or -ENOMEM. 23.11 added a node filter, 25.05 a unit filter.
 */
static inline int np_topo_text(topo_info_response_msg_t *msg, char **text)
{
	size_t len;
	FILE *out = open_memstream(text, &len);
	int rc = out ? 0 : -ENOMEM;

	if (out) {
#if NP_SLURM_AT_LEAST(25, 5)
		slurm_print_topo_info_msg(out, msg, NULL, NULL, 1);
#elif NP_SLURM_AT_LEAST(23, 11)
		slurm_print_topo_info_msg(out, msg, NULL, 1);
#else
		slurm_print_topo_info_msg(out, msg, 1);
#endif
		rc = fclose(out) ? -ENOMEM : 0;
	}
	slurm_free_topo_info_msg(msg);
	return rc;
}

/* 25.11 moved the id of a job description into step_id. */
static inline uint32_t np_job_desc_id(const job_desc_msg_t *d)
{
#if NP_SLURM_AT_LEAST(25, 11)
	return d->step_id.job_id;
#else
	return d->job_id;
#endif
}

static inline void np_job_desc_set_id(job_desc_msg_t *d, uint32_t job_id)
{
#if NP_SLURM_AT_LEAST(25, 11)
	d->step_id.job_id = job_id;
#else
	d->job_id = job_id;
#endif
}

/*
 * The SLUID of a job, or that by which a submission or change names its job. Jobs
 * have had one since 25.11, and 26.05 lets users name jobs by it. 0: none.
 */
#if NP_SLURM_AT_LEAST(25, 11)
#define NP_SLUID(record) ((record)->step_id.sluid)
#else
#define NP_SLUID(record) 0
#endif

/*
 * 24.05 added jobs that have all nodes of a switch to themselves, and
 * partitions that have only such jobs.
 */
#ifndef JOB_SHARED_TOPO
#define JOB_SHARED_TOPO 0x0004
#endif
#ifndef PART_FLAG_EXCLUSIVE_TOPO
#define PART_FLAG_EXCLUSIVE_TOPO 0
#endif

/*
 * --segment of a submission, since 24.05, and of a job, since 25.05. 0: not
 * set, or not known.
 */
#if NP_SLURM_AT_LEAST(24, 5)
#define NP_DESC_SEGMENT(d) ((d)->segment_size)
#else
#define NP_DESC_SEGMENT(d) 0
#endif
#if NP_SLURM_AT_LEAST(25, 5)
#define NP_JOB_SEGMENT(j) ((j)->segment_size)
#else
#define NP_JOB_SEGMENT(j) 0
#endif

/* 26.05 renamed the function that frees the answer of slurm_load_ctl_conf(). */
static inline void np_free_conf(slurm_conf_t *conf)
{
#if NP_SLURM_AT_LEAST(26, 5)
	slurm_free_conf(conf);
#else
	slurm_free_ctl_conf(conf);
#endif
}

/* 26.05 changed the argument of slurm_load_job() to a step id, by value. */
static inline int np_load_job(job_info_msg_t **msg, uint32_t job_id)
{
#if NP_SLURM_AT_LEAST(26, 5)
	slurm_step_id_t id = SLURM_STEP_ID_INITIALIZER;

	id.job_id = job_id;
	return slurm_load_job(msg, id, SHOW_ALL);
#else
	return slurm_load_job(msg, job_id, SHOW_ALL);
#endif
}

/*
 * Layout of a step's tasks on its nodes, to be freed with
 * slurm_job_step_layout_free(). NULL: errno has the reason. 25.11 added an
 * initializer for step ids.
 */
static inline slurm_step_layout_t *np_load_step_layout(uint32_t job_id,
						       uint32_t step_id)
{
#if NP_SLURM_AT_LEAST(25, 11)
	slurm_step_id_t id = SLURM_STEP_ID_INITIALIZER;
#else
	slurm_step_id_t id = { .step_het_comp = NO_VAL };
#endif

	id.job_id = job_id;
	id.step_id = step_id;
	return slurm_job_step_layout_get(&id);
}

/*
 * 25.11 changed the argument of slurm_get_job_steps() to a step id, by address.
 */
static inline int np_load_job_steps(uint32_t job_id,
				    job_step_info_response_msg_t **msg)
{
#if NP_SLURM_AT_LEAST(25, 11)
	slurm_step_id_t id = SLURM_STEP_ID_INITIALIZER;

	id.job_id = job_id;
	return slurm_get_job_steps(&id, msg, SHOW_ALL);
#else
	return slurm_get_job_steps(0, job_id, NO_VAL, msg, SHOW_ALL);
#endif
}

#endif
