/*
 * A job as anybody can make it, all the way through placement: what stands in
 * it becomes a snapshot, the snapshot a decision, the decision updates, and these what
 * stands there next time.
 *
 * Lines: AdminComment, the nodes that are excluded, a list that its owner sets
 * meanwhile, one that somebody else sets, its name; then the numbers of its
 * array, its task and its begin time.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "fuzz/fuzz.h"
#include "np_apply.h"
#include "np_shared.h"
#include "some_slurm.h"

#define JOB 7
#define ROUNDS 4

enum { COMMENT, EXCLUDED, HIS, OTHERS, NAME, ARRAY, TASK, BEGIN, N_LINES };

static struct {
	struct some_slurm slurm;
	struct np_shared *shared;
	struct np_job_cache *cache;
	slurm_job_info_t *job;
	char *comment;
	char *line[N_LINES];
} c;

static void must(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "fuzz_job: not so: %s\n", what);
	abort();
}

static bool yes(void *arg)
{
	(void)arg;
	return true;
}

/* Slurm takes lists of nodes that are there. */
static void exclude(const char *list)
{
	uint64_t bits[1];

	if (!np_cluster_map_parse_hostlist(c.slurm.map, list, bits))
		some_exclude(&c.slurm, c.job, list);
}

/* slurmctld with one job that can be changed. */
static int change(job_desc_msg_t *d, uint32_t uid)
{
	job_desc_msg_t copy = *d;
	int rc;

	copy.job_id_str = copy.exc_nodes = copy.admin_comment = NULL;
	some_text(&copy.job_id_str, d->job_id_str);
	some_text(&copy.exc_nodes, d->exc_nodes);
	some_text(&copy.admin_comment, d->admin_comment);
	rc = np_modify(c.shared, &copy, uid);
	if (!rc && np_may_change(uid, SOME_UID)) {
		if (copy.exc_nodes)
			exclude(copy.exc_nodes);
		if (copy.begin_time)
			c.job->eligible_time = copy.begin_time;
		if (copy.admin_comment) {
			free(c.comment);
			c.comment = strdup(copy.admin_comment);
			c.job->admin_comment = c.comment;
		}
	}
	some_text(&copy.job_id_str, NULL);
	some_text(&copy.exc_nodes, NULL);
	some_text(&copy.admin_comment, NULL);
	return rc;
}

/* In place of the RPCs. */
int slurm_update_job(job_desc_msg_t *d)
{
	return change(d, geteuid()) ? SLURM_ERROR : SLURM_SUCCESS;
}

int slurm_update_job2(job_desc_msg_t *d, job_array_resp_msg_t **resp)
{
	(void)d;
	*resp = NULL; /* one task gets leaves of its own: it is another job */
	return SLURM_SUCCESS;
}

static void set_list(const char *list, uint32_t uid)
{
	job_desc_msg_t d;

	if (!*list)
		return;
	slurm_init_job_desc_msg(&d);
	np_job_desc_set_id(&d, JOB);
	d.exc_nodes = (char *)list;
	change(&d, uid);
}

static void split(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size), *at = text;

	for (size_t i = 0; i < N_LINES; i++) {
		char *line = at ? strsep(&at, "\n") : NULL;

		c.line[i] = strdup(line ? line : "");
	}
	free(text);
}

static void set_up(const uint8_t *data, size_t size)
{
	struct np_conf conf;

	memset(&c, 0, sizeof(c));
	split(data, size);
	some_slurm(&c.slurm);
	np_conf_init(&conf);
	if (np_shared_new(&conf, &c.shared) || np_job_cache_new(&c.cache))
		_exit(1);
	some_run(&c.slurm, some_job(&c.slurm, 30, "loud"), "n0");
	some_run(&c.slurm, some_job(&c.slurm, 20, "soft"), "n5");
	c.job = some_job(&c.slurm, JOB, c.line[NAME]);
	c.comment = *c.line[COMMENT] ? strdup(c.line[COMMENT]) : NULL;
	c.job->admin_comment = c.comment;
	exclude(c.line[EXCLUDED]);
	c.job->array_job_id = (uint32_t)atoi(c.line[ARRAY]);
	if (*c.line[TASK])
		c.job->array_task_id = (uint32_t)atoi(c.line[TASK]);
	if (atoi(c.line[BEGIN]) > 0)
		c.job->eligible_time = atoi(c.line[BEGIN]);
}

static void tear_down(void)
{
	for (size_t i = 0; i < N_LINES; i++)
		free(c.line[i]);
	free(c.comment);
	np_job_cache_free(c.cache);
	np_shared_free(c.shared);
	some_slurm_free(&c.slurm);
}

static void know(const struct np_job_snapshot *v)
{
	struct np_owner *o = calloc(v->n_jobs + 1, sizeof(*o));

	for (size_t i = 0; i < v->n_jobs; i++)
		o[i] = (struct np_owner){ v->job[i].id, v->job[i].in->owner };
	np_shared_set_owners(c.shared, o, v->n_jobs);
}

/* What is the user's of the job's exclusions; whether it could be seen. */
static bool user_of(const struct np_job_snapshot *v, uint64_t *user)
{
	for (size_t i = 0; i < v->n_jobs; i++)
		if (v->job[i].id == JOB) {
			*user = *v->job[i].user;
			return true;
		}
	return false;
}

/* One pass; returns how many updates it sent. */
static size_t make_pass(uint64_t *user)
{
	struct np_change *change;
	struct np_placement *p;
	struct np_applied a;
	struct np_job_snapshot v;
	size_t n;

	change = np_shared_take_changes(c.shared, &n);
	must(!some_jobs(&c.slurm, c.cache, change, n, &v),
	     "a snapshot is made");
	np_change_list_free(change, n);
	know(&v);
	if (!user_of(&v, user))
		*user = 0;
	p = some_decision(&v);
	must(!np_apply(&v, p, c.cache, c.shared, 100, yes, NULL, &a),
	     "the decision is written");
	np_shared_set_written(c.shared, a.written, a.n_written);
	np_job_cache_sweep(c.cache);
	np_placement_free(p);
	np_job_snapshot_free(&v);
	return a.updates;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t before, after, others;
	size_t n = 1;

	set_up(data, size);
	make_pass(&before);
	set_list(c.line[HIS], SOME_UID);
	make_pass(&before);
	set_list(c.line[OTHERS], SOME_UID + 1);
	make_pass(&others);
	must(before == others, "what other users ask for changes nothing");
	for (int i = 0; i < ROUNDS && n; i++)
		n = make_pass(&after);
	must(!n, "the updates come to an end");
	must(before == after, "the user's list stays as it is");
	tear_down();
	return 0;
}
