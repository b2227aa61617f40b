/*
 * netprof-release [--dry-run]: remove what placement wrote into jobs.
 *
 * For an administrator who has removed job_submit/netprof from slurm.conf.
 * Every job gets back the excluded nodes and the begin time that its user set.
 * A plugin that is still active would overwrite them.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "np_apply.h"
#include "np_out.h"

static int fail(const char *what)
{
	fprintf(stderr, "netprof release: %s\n", what);
	return 1;
}

/* "JobId=12: would restore ExcNodeList=n7, begin time; remove annotation" */
static void print_update(uint32_t id, const struct np_update *u, bool dry_run)
{
	const char *would = dry_run ? "would " : "";
	bool restores = u->exc_nodes || u->begin_sec;

	printf("JobId=%u: %s", id, would);
	if (restores)
		printf("restore%s", dry_run ? "" : "d");
	if (u->exc_nodes)
		printf(" ExcNodeList=%s", u->exc_nodes);
	if (u->begin_sec)
		printf("%s begin time", u->exc_nodes ? "," : "");
	if (u->comment)
		printf("%sremove%s annotation", restores ? "; " : "",
		       dry_run ? "" : "d");
	putchar('\n');
}

/* Update a job. Returns 0, or 1 if that failed and the job is still there. */
static int send_update(uint32_t id, const struct np_update *u, bool dry_run)
{
	int rc = dry_run ? 0 : np_update_send(id, NULL, u);

	if (rc) {
		fprintf(stderr, "netprof release: JobId=%u: %s\n", id,
			slurm_strerror(rc));
		return rc != ESLURM_JOB_NOT_PENDING &&
		       rc != ESLURM_INVALID_JOB_ID;
	}
	print_update(id, u, dry_run);
	return 0;
}

/* Update all pending jobs that placement has changed; *n counts them. */
static int
release_pending(const struct np_job_snapshot *s, bool dry_run, size_t *n)
{
	int failed = 0;

	for (size_t i = 0; i < s->n_jobs; i++) {
		struct np_job_entry *entry = &s->job[i];
		const struct np_outcome nothing = { .action = NP_ACT_NONE };
		struct np_update u;
		int rc;

		if (!entry->managed)
			continue;
		entry->annotation.app[0] = '\0';
		rc = np_update_make(s, i, &nothing, false, &u);
		if (rc < 0)
			return fail(strerror(-rc));
		if (rc) {
			failed |= send_update(entry->id, &u, dry_run);
			++*n;
		}
		np_update_clear(&u);
	}
	return failed;
}

/* A running job has nothing from placement but the annotation. */
static int release_running(const struct np_ctld_info *a, bool dry_run,
			   size_t *n)
{
	int failed = 0;

	for (uint32_t i = 0; i < a->jobs->record_count; i++) {
		const slurm_job_info_t *j = &a->jobs->job_array[i];
		struct np_update u = { NULL };
		uint32_t base = j->job_state & JOB_STATE_BASE;

		if ((base != JOB_RUNNING && base != JOB_SUSPENDED) ||
		    !np_annotation_in(j->admin_comment))
			continue;
		u.comment = np_annotation_write(j->admin_comment, NULL);
		if (!u.comment)
			return fail(strerror(ENOMEM));
		failed |= send_update(j->job_id, &u, dry_run);
		++*n;
		np_update_clear(&u);
	}
	return failed;
}

static int release_all(const struct np_ctld_info *a,
		       const struct np_job_snapshot *s, bool dry_run)
{
	size_t n = 0;
	int failed = release_pending(s, dry_run, &n);

	failed |= release_running(a, dry_run, &n);
	if (!n && !failed)
		printf("No job has anything that placement wrote.\n");
	return failed;
}

/* Read Slurm's jobs with placement off in all partitions, and release them. */
static int release(bool dry_run)
{
	struct np_err err = NP_ERR_INIT;
	struct np_job_cache *cache = NULL;
	struct np_place_conf off;
	struct np_ctld_info a = { NULL };
	struct np_cluster_map *map = NULL;
	struct np_job_snapshot s = { NULL };
	int rc, failed;

	np_place_conf_init(&off);
	rc = np_ctld_info_load(&a, &err);
	if (!rc)
		rc = np_cluster_map_make(NULL, a.nodes, a.parts, a.topology,
					 false, &map, &err);
	if (!rc && np_job_cache_new(&cache))
		rc = np_errf(&err, -ENOMEM, "out of memory");
	if (!rc) {
		const struct np_job_snapshot_input in = {
			.info = &a, .map = map, .conf = &off, .cache = cache,
			.now_sec = time(NULL),
		};

		rc = np_job_snapshot_make(&in, &s, &err);
	}
	failed = rc ? fail(err.text) : release_all(&a, &s, dry_run);
	np_job_snapshot_free(&s);
	np_job_cache_free(cache);
	np_cluster_map_unref(map);
	np_ctld_info_free(&a);
	return failed;
}

int main(int argc, char **argv)
{
	bool dry_run = argc == 2 && (!strcmp(argv[1], "--dry-run") ||
				     !strcmp(argv[1], "-n"));

	np_out_plain();
	if (argc > 1 && !dry_run) {
		fprintf(stderr, "usage: netprof release [--dry-run]\n");
		return 2;
	}
	slurm_init(NULL); /* since 23.11 all calls fail without it */
	return release(dry_run);
}
