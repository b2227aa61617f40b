/*
 * netprof-release [--dry-run]: remove what placement wrote into jobs.
 *
 * It is for an administrator who removes job_submit/netprof from slurm.conf.
 * Placement keeps the user's own excluded nodes and begin time in an annotation
 * in AdminComment. This program restores them in pending jobs, and removes the
 * annotation from pending, running and suspended jobs. The rest of the comment
 * is kept. (scontrol release is unrelated.)
 *
 * Remove the plugin first: while it is active, it soon writes its values again.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "np_apply.h"
#include "np_out.h"

/* Print an error and return 1, the exit status. */
static int fail(const char *why)
{
	fprintf(stderr, "netprof release: %s\n", why);
	return 1;
}

/*
 * Print an update: "JobId=12: would restore the user's excluded nodes (n7) and
 * begin time, remove the annotation".
 */
static void print_update(uint32_t id, const struct np_update *update,
			 bool dry_run)
{
	bool restores = update->exc_nodes || update->begin_sec;

	printf("JobId=%u: %s", id, dry_run ? "would " : "");
	if (restores)
		printf("restore%s the user's", dry_run ? "" : "d");
	if (update->exc_nodes)
		printf(" excluded nodes (%s)",
		       *update->exc_nodes ? update->exc_nodes : "none");
	if (update->begin_sec)
		printf("%s begin time", update->exc_nodes ? " and" : "");
	if (update->comment)
		printf("%sremove%s the annotation", restores ? ", " : "",
		       dry_run ? "" : "d");
	putchar('\n');
}

/*
 * Send an update and print it, or with dry_run only print it. If the job has
 * started or ended meanwhile, the error is printed but is not a failure.
 * Returns 0, or 1 after a failure.
 */
static int apply_update(uint32_t id, const struct np_update *update,
			bool dry_run)
{
	int rc = dry_run ? 0 : np_update_send(id, NULL, update);

	if (rc) {
		fprintf(stderr, "netprof release: cannot update JobId=%u: %s\n",
			id, slurm_strerror(rc));
		return !np_update_too_late(rc);
	}
	print_update(id, update, dry_run);
	return 0;
}

/*
 * Restore the pending jobs that placement has changed. Adds the number of
 * updates, whether or not they succeeded, to *n_updates. Returns 0, or 1 if any
 * update failed.
 */
static int restore_pending(const struct np_job_snapshot *snapshot, bool dry_run,
			   size_t *n_updates)
{
	/* An update to this outcome leaves only the user's own settings. */
	const struct np_outcome no_decision = { .action = NP_ACT_NONE };
	int failed = 0;

	for (size_t i = 0; i < snapshot->n_jobs; i++) {
		struct np_job_entry *entry = &snapshot->job[i];
		struct np_update update;
		int rc;

		if (!entry->managed)
			continue;
		/*
		 * np_update_make() keeps an annotation that names the job's
		 * application, so clear the name.
		 */
		entry->annotation.app[0] = '\0';
		rc = np_update_make(snapshot, i, &no_decision, false, &update);
		if (rc < 0)
			return fail("out of memory");
		if (rc) {
			failed |= apply_update(entry->id, &update, dry_run);
			++*n_updates;
		}
		np_update_clear(&update);
	}
	return failed;
}

/*
 * Remove the annotation from running and suspended jobs, whose excluded nodes
 * and begin time no longer matter. Counts updates and returns 0 or 1 like
 * restore_pending().
 */
static int clean_started(const struct np_ctld_info *info, bool dry_run,
			 size_t *n_updates)
{
	int failed = 0;

	for (uint32_t i = 0; i < info->jobs->record_count; i++) {
		const slurm_job_info_t *job = &info->jobs->job_array[i];
		struct np_update update = { NULL };
		uint32_t state = job->job_state & JOB_STATE_BASE;

		if ((state != JOB_RUNNING && state != JOB_SUSPENDED) ||
		    !np_annotation_exists(job->admin_comment))
			continue;
		update.comment = np_annotation_write(job->admin_comment, NULL);
		if (!update.comment)
			return fail("out of memory");
		failed |= apply_update(job->job_id, &update, dry_run);
		++*n_updates;
		np_update_clear(&update);
	}
	return failed;
}

/*
 * Undo what placement wrote into all jobs. Returns 0, or 1 if any update
 * failed: the exit status.
 */
static int undo_all(const struct np_ctld_info *info,
		    const struct np_job_snapshot *snapshot, bool dry_run)
{
	size_t n_updates = 0;
	int failed = restore_pending(snapshot, dry_run, &n_updates);

	failed |= clean_started(info, dry_run, &n_updates);
	if (!n_updates && !failed)
		printf("No job contains anything that placement wrote.\n");
	return failed;
}

/*
 * Read the jobs from slurmctld and undo what placement wrote. The snapshot is
 * made with the default configuration, in which placement is off in all
 * partitions, because only the annotations of the jobs matter. Returns the exit
 * status.
 */
static int load_and_undo(bool dry_run)
{
	struct np_err err = NP_ERR_INIT;
	struct np_job_cache *cache = NULL;
	struct np_place_conf conf;
	struct np_ctld_info info = { NULL };
	struct np_cluster_map *map = NULL;
	struct np_job_snapshot snapshot = { NULL };
	int rc, status;

	np_place_conf_init(&conf);
	rc = np_ctld_info_load_jobs(&info, &err);
	if (!rc) /* leaf switches do not matter */
		rc = np_cluster_map_make(NULL, info.nodes, info.parts, "",
					 false, &map, &err);
	if (!rc && np_job_cache_new(&cache))
		rc = np_errf(&err, -ENOMEM, "out of memory");
	if (!rc) {
		const struct np_job_snapshot_input input = {
			.info = &info,
			.map = map,
			.conf = &conf,
			.cache = cache,
			.now_sec = time(NULL),
		};

		rc = np_job_snapshot_make(&input, &snapshot, &err);
	}
	status = rc ? fail(err.text) : undo_all(&info, &snapshot, dry_run);
	np_job_snapshot_free(&snapshot);
	np_job_cache_free(cache);
	np_cluster_map_unref(map);
	np_ctld_info_free(&info);
	return status;
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
	slurm_init(NULL); /* since Slurm 23.11, all calls fail without it */
	return load_and_undo(dry_run);
}
