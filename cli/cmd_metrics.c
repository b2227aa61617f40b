/*
 * netprof metrics: the state of placement, of the store and of the
 * installation, as gauges for a monitoring system (OpenMetrics 1.0,
 * https://prometheus.io/docs/specs/om/open_metrics_spec/).
 *
 * A node exporter reads the files of its textfile directory in the older text
 * format of Prometheus. That format has gauges, too, and treats the lines with
 * units and the last line as comments; types that only OpenMetrics has would
 * make it refuse the file, so only gauges are used.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli_check.h"
#include "cli_gauges.h"
#include "cli_profile.h"
#include "cli_state.h"
#include "np_run_summary.h"

#define N_RESULTS (CLI_PROBLEM + 1)

struct metrics {
	double now;
	bool have_state; /* state is valid */
	struct np_state state;
	/* Steps whose record was saved within NP_RUN_SUMMARY_RUNNING_SEC. */
	size_t n_probed_steps, n_probes;
	size_t n_users;	     /* with records in the store */
	size_t n_unreadable; /* of these, whose records cannot be read */
	size_t n_findings[N_RESULTS]; /* of netprof check, by result */
};

/* Print a gauge with one label. */
static void put_gauge(FILE *out, const char *name, const char *label,
		      const char *value, double number)
{
	cli_gauge_put_two(out, name, (const char *[]){ label, NULL },
			  (const char *[]){ value, NULL }, number);
}

/* ---- placement ---- */

static void put_snapshot(FILE *out, const struct metrics *metrics)
{
	const struct np_state *state = &metrics->state;
	bool stale = cli_state_stale(state, metrics->now);

	cli_gauge_single(out, "placement_snapshot_timestamp_seconds",
			 "Time of the last decision, since 1970.", state->date);
	cli_gauge_single(out, "placement_snapshot_age_seconds",
			 "Age of the last decision when this was written.",
			 metrics->now - state->date);
	cli_gauge_single(out, "placement_acting",
			 "1 if the last decision is recent enough to act on, "
			 "and the mode is not off.",
			 !stale && *state->mode && strcmp(state->mode, "off"));
	cli_gauge_single(out, "placement_interval_seconds",
			 "Time between two decisions.", state->interval_sec);
	cli_gauge_single(out, "placement_decision_duration_seconds",
			 "Duration of the last decision.", state->decide_sec);
	cli_gauge_single(out, "placement_trouble",
			 "1 if something keeps placement from working fully; "
			 "netprof status says what.",
			 *state->trouble != '\0');
	cli_gauge_single(out, "placement_profiles",
			 "Profiles that placement has loaded.",
			 state->n_profiles);
	cli_gauge_single(out, "placement_slowdown_limit_ratio",
			 "MaxSlowdown: jobs that would slow each other by more "
			 "are kept apart.",
			 state->max_slowdown);
}

/*
 * One gauge for each mode, 1 for the current one, as monitoring systems expect
 * enumerations.
 */
static void put_mode(FILE *out, const struct np_state *state)
{
	cli_gauge_begin(out, "placement_mode",
			"1 for the current mode of placement.");
	for (enum np_mode m = NP_MODE_OFF; m <= NP_MODE_ENFORCE; m++)
		put_gauge(out, "placement_mode", "mode", np_mode_name(m),
			  !strcmp(*state->mode ? state->mode : "off",
				  np_mode_name(m)));
}

/* Pending jobs with this decision, applied or only advised. */
static size_t count_pending(const struct np_state *state, const char *action,
			    bool applied)
{
	size_t n = 0;

	for (size_t i = 0; i < state->n_jobs; i++)
		n += state->job[i].pending &&
		     state->job[i].applied == applied &&
		     !strcmp(state->job[i].action, action);
	return n;
}

/*
 * All combinations are printed, also those without a job, so that a series
 * never disappears.
 */
static void put_pending(FILE *out, const struct np_state *state)
{
	static const char *const actions[] = {
		"none",
		"unrestricted",
		"restricted",
		"held",
	};
	static const char *const labels[] = { "action", "applied" };

	cli_gauge_begin(out, "placement_pending_jobs",
			"Pending jobs by the decision about them, and whether "
			"it is applied or only advice.");
	for (size_t i = 0; i < NP_ARRAY_SIZE(actions); i++)
		for (int applied = 0; applied < 2; applied++)
			cli_gauge_put_two(
				out, "placement_pending_jobs", labels,
				(const char *[]){ actions[i],
						  applied ? "true" : "false" },
				(double)count_pending(state, actions[i],
						      applied));
}

/*
 * The longest hold shows whether MaxDefer is near, and denied jobs that
 * somebody uses a published name without authorisation.
 */
static void put_jobs(FILE *out, const struct np_state *state)
{
	size_t running[2] = { 0, 0 }, denied = state->more_denied;
	double longest = 0;

	for (size_t i = 0; i < state->n_jobs; i++) {
		const struct np_state_job *job = &state->job[i];

		running[job->known] += !job->pending;
		if (job->pending && job->held_sec > longest)
			longest = job->held_sec;
	}
	for (size_t i = 0; i < state->n_denials; i++)
		denied += state->denial[i].n_jobs;
	cli_gauge_begin(out, "placement_running_jobs",
			"Running jobs that placement considers, by whether "
			"they have a profile.");
	put_gauge(out, "placement_running_jobs", "known", "true",
		  (double)running[true]);
	put_gauge(out, "placement_running_jobs", "known", "false",
		  (double)running[false]);
	cli_gauge_single(out, "placement_longest_hold_seconds",
			 "Longest time for which placement has held a job that "
			 "is still pending.",
			 longest);
	cli_gauge_single(out, "placement_denied_jobs",
			 "Jobs with a published name that they are not "
			 "authorised to use.",
			 (double)denied);
}

/* ---- leaf switches ---- */

/* The three states add up to all nodes of the leaf switch. */
static void put_leaf_nodes(FILE *out, const struct np_state *state)
{
	static const char *const labels[] = { "leaf", "state" };

	cli_gauge_begin(out, "leaf_nodes",
			"Nodes of a leaf switch: busy, idle, or unavailable "
			"(down or drained).");
	for (size_t i = 0; i < state->n_leaves; i++) {
		const struct np_state_leaf *leaf = &state->leaf[i];
		double busy = (double)leaf->n_nodes - leaf->n_idle -
			      leaf->n_unavailable;

		cli_gauge_put_two(out, "leaf_nodes", labels,
				  (const char *[]){ leaf->name, "busy" },
				  busy > 0 ? busy : 0);
		cli_gauge_put_two(out, "leaf_nodes", labels,
				  (const char *[]){ leaf->name, "idle" },
				  leaf->n_idle);
		cli_gauge_put_two(out, "leaf_nodes", labels,
				  (const char *[]){ leaf->name, "unavailable" },
				  leaf->n_unavailable);
	}
}

/* Nodes that are down or drained count neither as busy nor as idle. */
static double busy_share(const struct np_state_leaf *leaf)
{
	double available = (double)leaf->n_nodes - leaf->n_unavailable;

	return available > leaf->n_idle ?
		       (available - leaf->n_idle) / available :
		       0;
}

static void put_leaves(FILE *out, const struct np_state *state)
{
	static const char *const gauges[][2] = {
		{ "leaf_busy_nodes_ratio",
		  "Share of the nodes of a leaf switch that are busy, without "
		  "those that are down or drained." },
		{ "leaf_worst_slowdown_ratio",
		  "Worst predicted slowdown of a job on a leaf switch." },
		{ "leaf_jobs", "Jobs that run on a leaf switch." },
		{ "leaf_known_jobs",
		  "Jobs on a leaf switch that have a profile." },
	};

	put_leaf_nodes(out, state);
	for (size_t i = 0; i < NP_ARRAY_SIZE(gauges); i++) {
		cli_gauge_begin(out, gauges[i][0], gauges[i][1]);
		for (size_t k = 0; k < state->n_leaves; k++) {
			const struct np_state_leaf *leaf = &state->leaf[k];
			const double value[NP_ARRAY_SIZE(gauges)] = {
				busy_share(leaf),
				leaf->worst_slowdown,
				leaf->n_jobs,
				leaf->n_known,
			};

			put_gauge(out, gauges[i][0], "leaf", leaf->name,
				  value[i]);
		}
	}
}

/* ---- the store and the installation ---- */

static void put_store(FILE *out, const struct metrics *metrics)
{
	cli_gauge_single(out, "probed_steps", "Job steps being measured now.",
			 (double)metrics->n_probed_steps);
	cli_gauge_single(out, "probe_processes",
			 "Probe processes of these steps.",
			 (double)metrics->n_probes);
	cli_gauge_begin(out, "store_users",
			"Users with records in the store, by whether these can "
			"be read.");
	put_gauge(out, "store_users", "readable", "true",
		  (double)(metrics->n_users - metrics->n_unreadable));
	put_gauge(out, "store_users", "readable", "false",
		  (double)metrics->n_unreadable);
	cli_gauge_begin(out, "check_findings", "Findings of netprof check.");
	for (int i = 0; i < N_RESULTS; i++)
		put_gauge(out, "check_findings", "result",
			  cli_result_name((enum cli_result)i),
			  (double)metrics->n_findings[i]);
}

/* Returns the exit status. */
static int print_metrics(const struct metrics *metrics, const char *output)
{
	char *text = NULL;
	size_t len;
	FILE *out = cli_stream_open(&text, &len);

	cli_gauge_begin(out, "build_info",
			"1 for the installed version of netprof.");
	put_gauge(out, "build_info", "version", NP_VERSION, 1);
	put_store(out, metrics);
	cli_gauge_single(out, "placement_snapshot_readable",
			 "1 if the last decision of placement could be read; "
			 "the metrics below are from it.",
			 metrics->have_state);
	if (metrics->have_state) {
		put_snapshot(out, metrics);
		put_mode(out, &metrics->state);
		put_pending(out, &metrics->state);
		put_jobs(out, &metrics->state);
		put_leaves(out, &metrics->state);
	}
	return cli_gauges_end(out, &text, output);
}

/* ---- gathering ---- */

#define SKEW_SEC 60.0 /* largest difference between clocks of hosts and store */

/*
 * A record that was saved recently and not completed belongs to a step that is
 * being measured now.
 */
static void count_running(struct metrics *metrics, const struct np_runs *runs)
{
	for (size_t i = 0; i < runs->n; i++) {
		const struct np_record *record = runs->run[i];

		if (record->state != NP_RUN_RUNNING ||
		    record->end < metrics->now - NP_RUN_SUMMARY_RUNNING_SEC)
			continue;
		metrics->n_probed_steps++;
		metrics->n_probes += record->probe.n_processes;
	}
}

/*
 * Limits for one user, who may have any number of applications: as many as
 * placement reads of a user, and bytes of records. Others must not wait.
 */
#define MAX_APPS 128
#define MAX_BYTES (64u << 20)

/*
 * Count the running steps of a user. Only applications whose directory changed
 * recently can have one, so the others are not read.
 */
static void count_user(struct metrics *metrics, struct np_store *store,
		       uid_t uid)
{
	double since = metrics->now - NP_RUN_SUMMARY_RUNNING_SEC - SKEW_SEC;
	struct np_store_app *apps;
	struct np_runs runs;
	size_t n, n_read = 0, bytes = 0;

	metrics->n_users++;
	if (np_store_list_apps(store, NP_STORE_USER, uid, &apps, &n, NULL)) {
		metrics->n_unreadable++;
		return;
	}
	for (size_t i = 0; i < n && n_read < MAX_APPS && bytes < MAX_BYTES;
	     i++) {
		if ((double)apps[i].stamp.sec < since)
			continue;
		n_read++;
		if (np_store_load(store, NP_STORE_USER, uid, apps[i].name, NULL,
				  NULL, &runs, NULL))
			continue;
		bytes += runs.bytes;
		count_running(metrics, &runs);
		np_runs_free(&runs);
	}
	free(apps);
}

/* A store that cannot be read is reported by the findings of netprof check. */
static void count_store(struct metrics *metrics, const char *dir)
{
	struct np_store *store;
	uid_t *uids;
	size_t n;

	if (np_store_open(dir, &store, NULL))
		return;
	if (!np_store_uids(store, &uids, &n, NULL, NULL, NULL)) {
		for (size_t i = 0; i < n; i++)
			count_user(metrics, store, uids[i]);
		free(uids);
	}
	np_store_close(store);
}

/* The same checks as netprof check; only their number is exported. */
static void count_findings(struct metrics *metrics, struct cli_check *check)
{
	check->found = cli_calloc(CLI_CHECK_MAX, sizeof(*check->found));
	cli_check_all(check);
	for (size_t i = 0; i < check->n; i++)
		metrics->n_findings[check->found[i].result]++;
	free(check->found);
}

/*
 * Gather everything. A missing or damaged state of placement is no failure: the
 * other metrics are printed. Returns -1 to go on, or the exit status.
 */
static int gather(struct metrics *metrics)
{
	struct cli_check check = { .now = metrics->now };
	struct np_err err = NP_ERR_INIT;
	int rc = cli_conf_read(&check.conf);

	if (rc >= 0)
		return rc;
	check.placement_on = np_place_conf_enabled(&check.conf.place);
	rc = np_state_load(check.conf.store, &metrics->state, &err);
	metrics->have_state = !rc;
	if (rc && rc != -ENOENT)
		cli_fail("%s", err.text);
	count_store(metrics, check.conf.store);
	count_findings(metrics, &check);
	return -1;
}

static int run_metrics(const struct cli_cmd *self, int argc, char **argv)
{
	struct metrics metrics = { .now = cli_now() };
	struct cli_options options;
	int rc = cli_options_parse(self, argc, argv, NULL, &options);

	if (rc < 0)
		rc = gather(&metrics);
	if (rc < 0)
		rc = print_metrics(&metrics, options.output);
	if (metrics.have_state)
		np_state_free(&metrics.state);
	return rc;
}

const struct cli_cmd cmd_metrics = {
	.name = "metrics",
	.args = "[-o FILE]",
	.help = "print metrics for Prometheus and similar systems",
	.text = "Prints gauges as OpenMetrics text: the last decision of placement and its age,\n"
		"jobs that are restricted or held, the leaf switches and their load, the running\n"
		"probes, and the findings of netprof check. Run it every minute as root or\n"
		"SlurmUser, and let it write to the textfile directory of a node exporter.\n\n"
		"  -o FILE, --output=FILE  write FILE; readers see it complete or not at all",
	.examples =
		"  netprof metrics\n"
		"  netprof metrics -o /var/lib/prometheus/node-exporter/netprof.prom\n",
	.takes = CLI_TAKES_OUTPUT,
	.run = run_metrics,
};
