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

#define CLI_RESULTS (CLI_PROBLEM + 1)

struct metrics {
	double now;
	bool have_state; /* state is valid */
	struct np_state state;
	/* Steps whose record was saved within NP_RUN_SUMMARY_RUNNING_SEC. */
	size_t n_probed_steps, n_probes;
	size_t n_users, n_closed; /* users with records; those unreadable */
	size_t n_findings[CLI_RESULTS]; /* of netprof check, by result */
};

/* ---- placement ---- */

static void put_snapshot(FILE *f, const struct metrics *m)
{
	const struct np_state *s = &m->state;
	bool stale = cli_state_stale(s, m->now);

	cli_gauge_single(f, "placement_snapshot_timestamp_seconds", "seconds",
			 "Time of the last decision, since 1970.", s->date);
	cli_gauge_single(f, "placement_snapshot_age_seconds", "seconds",
			 "Age of the last decision when this was written.",
			 m->now - s->date);
	cli_gauge_single(f, "placement_acting", NULL,
			 "1 if the last decision is recent enough to act on, "
			 "and the mode is not off.",
			 !stale && *s->mode && strcmp(s->mode, "off"));
	cli_gauge_single(f, "placement_interval_seconds", "seconds",
			 "Time between two decisions.", s->interval_sec);
	cli_gauge_single(f, "placement_decision_duration_seconds", "seconds",
			 "Duration of the last decision.", s->decide_sec);
	cli_gauge_single(f, "placement_trouble", NULL,
			 "1 if something keeps placement from working fully; "
			 "netprof status says what.",
			 *s->trouble);
	cli_gauge_single(f, "placement_profiles", NULL,
			 "Profiles that placement has loaded.", s->n_profiles);
	cli_gauge_single(f, "placement_slowdown_limit_ratio", "ratio",
			 "MaxSlowdown: jobs that would slow each other by more "
			 "are kept apart.",
			 s->max_slowdown);
}

/*
 * One gauge for each mode, 1 for the current one, as monitoring systems expect
 * enumerations.
 */
static void put_mode(FILE *f, const struct np_state *s)
{
	static const char *const modes[] = {
		"off",
		"advise",
		"prefer",
		"enforce",
	};

	cli_gauge_begin(f, "placement_mode", NULL,
			"1 for the mode that placement is in.");
	for (size_t i = 0; i < NP_ARRAY_SIZE(modes); i++)
		cli_gauge_put(f, "placement_mode", "mode", modes[i],
			      !strcmp(*s->mode ? s->mode : "off", modes[i]));
}

/* Pending jobs with this decision, applied or only advised. */
static size_t count_pending(const struct np_state *s, const char *action,
			    bool applied)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n_jobs; i++)
		n += s->job[i].pending && s->job[i].applied == applied &&
		     !strcmp(s->job[i].action, action);
	return n;
}

/*
 * All combinations are printed, also those without a job, so that a series
 * never disappears.
 */
static void put_pending(FILE *f, const struct np_state *s)
{
	static const char *const actions[] = {
		"none",
		"unrestricted",
		"restricted",
		"held",
	};
	static const char *const labels[] = { "action", "applied" };

	cli_gauge_begin(f, "placement_pending_jobs", NULL,
			"Pending jobs by the decision about them, and whether "
			"it is applied or only advice.");
	for (size_t i = 0; i < NP_ARRAY_SIZE(actions); i++)
		for (int applied = 0; applied < 2; applied++)
			cli_gauge_put_two(
				f, "placement_pending_jobs", labels,
				(const char *[]){ actions[i],
						  applied ? "true" : "false" },
				(double)count_pending(s, actions[i], applied));
}

/*
 * The longest hold shows whether MaxDefer is near, and denied jobs that
 * somebody uses a published name without authorisation.
 */
static void put_jobs(FILE *f, const struct np_state *s)
{
	size_t running[2] = { 0, 0 }, denied = s->more_denied;
	double longest = 0;

	for (size_t i = 0; i < s->n_jobs; i++) {
		const struct np_state_job *j = &s->job[i];

		running[j->known] += !j->pending;
		if (j->pending && j->held_sec > longest)
			longest = j->held_sec;
	}
	for (size_t i = 0; i < s->n_denials; i++)
		denied += s->denial[i].n_jobs;
	cli_gauge_begin(f, "placement_running_jobs", NULL,
			"Running jobs that placement considers, by whether "
			"they have a profile.");
	cli_gauge_put(f, "placement_running_jobs", "known", "true",
		      (double)running[true]);
	cli_gauge_put(f, "placement_running_jobs", "known", "false",
		      (double)running[false]);
	cli_gauge_single(f, "placement_longest_hold_seconds", "seconds",
			 "Longest time for which placement has held a job that "
			 "is still pending.",
			 longest);
	cli_gauge_single(f, "placement_denied_jobs", NULL,
			 "Jobs with a published name that they are not "
			 "authorised to use.",
			 (double)denied);
}

/* ---- leaf switches ---- */

/* The three states add up to all nodes of the leaf switch. */
static void put_leaf_nodes(FILE *f, const struct np_state *s)
{
	static const char *const labels[] = { "leaf", "state" };

	cli_gauge_begin(f, "leaf_nodes", NULL,
			"Nodes of a leaf switch: busy, idle, or unavailable "
			"(down or drained).");
	for (size_t i = 0; i < s->n_leaves; i++) {
		const struct np_state_leaf *l = &s->leaf[i];
		double busy = (double)l->n_nodes - l->n_idle - l->n_unavailable;

		cli_gauge_put_two(f, "leaf_nodes", labels,
				  (const char *[]){ l->name, "busy" },
				  busy > 0 ? busy : 0);
		cli_gauge_put_two(f, "leaf_nodes", labels,
				  (const char *[]){ l->name, "idle" },
				  l->n_idle);
		cli_gauge_put_two(f, "leaf_nodes", labels,
				  (const char *[]){ l->name, "unavailable" },
				  l->n_unavailable);
	}
}

/* Nodes that are down or drained count neither as busy nor as idle. */
static double busy_nodes(const struct np_state_leaf *l)
{
	double here = (double)l->n_nodes - l->n_unavailable;

	return here > l->n_idle ? (here - l->n_idle) / here : 0;
}

static double worst_slowdown(const struct np_state_leaf *l)
{
	return l->worst_slowdown;
}

static double jobs(const struct np_state_leaf *l)
{
	return l->n_jobs;
}

static double known_jobs(const struct np_state_leaf *l)
{
	return l->n_known;
}

static void put_leaves(FILE *f, const struct np_state *s)
{
	static const struct {
		const char *name, *unit, *help;
		double (*value)(const struct np_state_leaf *l);
	} gauges[] = {
		{ "leaf_busy_nodes_ratio", "ratio",
		  "Share of the nodes of a leaf switch that are busy, without "
		  "those that are down or drained.",
		  busy_nodes },
		{ "leaf_worst_slowdown_ratio", "ratio",
		  "Worst predicted slowdown of a job on a leaf switch.",
		  worst_slowdown },
		{ "leaf_jobs", NULL, "Jobs that run on a leaf switch.", jobs },
		{ "leaf_known_jobs", NULL,
		  "Jobs on a leaf switch that have a profile.", known_jobs },
	};

	put_leaf_nodes(f, s);
	for (size_t i = 0; i < NP_ARRAY_SIZE(gauges); i++) {
		cli_gauge_begin(f, gauges[i].name, gauges[i].unit,
				gauges[i].help);
		for (size_t k = 0; k < s->n_leaves; k++)
			cli_gauge_put(f, gauges[i].name, "leaf",
				      s->leaf[k].name,
				      gauges[i].value(&s->leaf[k]));
	}
}

/* ---- the store and the installation ---- */

static void put_store(FILE *f, const struct metrics *m)
{
	cli_gauge_single(f, "probed_steps", NULL,
			 "Job steps being measured now.",
			 (double)m->n_probed_steps);
	cli_gauge_single(f, "probe_processes", NULL,
			 "Probe processes of these steps.",
			 (double)m->n_probes);
	cli_gauge_begin(f, "store_users", NULL,
			"Users with records in the store, by whether these can "
			"be read.");
	cli_gauge_put(f, "store_users", "readable", "true",
		      (double)(m->n_users - m->n_closed));
	cli_gauge_put(f, "store_users", "readable", "false",
		      (double)m->n_closed);
	cli_gauge_begin(f, "check_findings", NULL,
			"Findings of netprof check.");
	for (int i = 0; i < CLI_RESULTS; i++)
		cli_gauge_put(f, "check_findings", "result",
			      cli_result_name((enum cli_result)i),
			      (double)m->n_findings[i]);
}

/* Returns the exit status. */
static int print_metrics(const struct metrics *m, const char *output)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return cli_fail("out of memory");
	cli_gauge_begin(f, "build_info", NULL,
			"1 for the installed version of netprof.");
	cli_gauge_put(f, "build_info", "version", NP_VERSION, 1);
	put_store(f, m);
	cli_gauge_single(f, "placement_snapshot_readable", NULL,
			 "1 if the last decision of placement could be read; "
			 "the metrics below are from it.",
			 m->have_state);
	if (m->have_state) {
		put_snapshot(f, m);
		put_mode(f, &m->state);
		put_pending(f, &m->state);
		put_jobs(f, &m->state);
		put_leaves(f, &m->state);
	}
	return cli_gauges_end(f, &text, output);
}

/* ---- gathering ---- */

#define SKEW_SEC 60.0 /* largest difference between clocks of hosts and store */

/*
 * A record that was saved recently and not completed belongs to a step that is
 * being measured now.
 */
static void count_running(struct metrics *m, const struct np_runs *runs)
{
	for (size_t i = 0; i < runs->n; i++) {
		const struct np_record *r = runs->run[i];

		if (r->state != NP_RUN_RUNNING ||
		    r->end < m->now - NP_RUN_SUMMARY_RUNNING_SEC)
			continue;
		m->n_probed_steps++;
		m->n_probes += r->probe.n_processes;
	}
}

/*
 * Count the running steps of a user. Only applications whose directory changed
 * recently can have one, so the others are not read.
 */
static void count_user(struct metrics *m, struct np_store *s, uid_t uid)
{
	double since = m->now - NP_RUN_SUMMARY_RUNNING_SEC - SKEW_SEC;
	struct np_store_app *apps;
	struct np_runs runs;
	size_t n;

	m->n_users++;
	if (np_store_list_apps(s, NP_STORE_USER, uid, &apps, &n, NULL)) {
		m->n_closed++;
		return;
	}
	for (size_t i = 0; i < n; i++) {
		if ((double)apps[i].stamp.sec < since ||
		    np_store_load(s, NP_STORE_USER, uid, apps[i].name, NULL,
				  NULL, &runs, NULL))
			continue;
		count_running(m, &runs);
		np_runs_free(&runs);
	}
	free(apps);
}

/* A store that cannot be read is reported by the findings of netprof check. */
static void count_store(struct metrics *m, const char *dir)
{
	struct np_store *s;
	uid_t *uids;
	size_t n;

	if (np_store_open(dir, &s, NULL))
		return;
	if (!np_store_uids(s, &uids, &n, NULL, NULL, NULL)) {
		for (size_t i = 0; i < n; i++)
			count_user(m, s, uids[i]);
		free(uids);
	}
	np_store_close(s);
}

/* The same checks as netprof check; only their number is exported. */
static int count_findings(struct metrics *m, struct cli_check *c)
{
	c->found = calloc(CLI_CHECK_MAX, sizeof(*c->found));
	if (!c->found)
		return -ENOMEM;
	cli_check_all(c);
	for (size_t i = 0; i < c->n; i++)
		m->n_findings[c->found[i].result]++;
	free(c->found);
	return 0;
}

/*
 * Gather everything. A missing or damaged state of placement is no failure: the
 * other metrics are printed. Returns -1 to go on, or the exit status.
 */
static int gather(struct metrics *m)
{
	struct cli_check c = { .now = m->now };
	struct np_err err = NP_ERR_INIT;
	int rc = cli_conf_read(&c.conf);

	if (rc >= 0)
		return rc;
	c.placement_on = np_place_conf_enabled(&c.conf.place);
	rc = np_state_load(c.conf.store, &m->state, &err);
	m->have_state = !rc;
	if (rc && rc != -ENOENT)
		cli_fail("%s", err.text);
	count_store(m, c.conf.store);
	return count_findings(m, &c) ? cli_fail("out of memory") : -1;
}

static int run_metrics(const struct cli_cmd *self, int argc, char **argv)
{
	struct metrics m = { .now = cli_now() };
	struct cli_options o;
	int rc = cli_options_parse(self, argc, argv, NULL, &o);

	if (rc < 0)
		rc = gather(&m);
	if (rc < 0)
		rc = print_metrics(&m, o.output);
	if (m.have_state)
		np_state_free(&m.state);
	return rc;
}

const struct cli_cmd cmd_metrics = {
	.name = "metrics",
	.args = "[-o FILE]",
	.help = "print metrics for Prometheus and similar systems",
	.text = "Prints gauges as OpenMetrics text: the last decision of placement and its age,\n"
		"jobs that are restricted or held, the leaf switches and their load, the running\n"
		"probes, and the findings of netprof check.  Run it every minute as root or\n"
		"SlurmUser, and let it write to the textfile directory of a node exporter.\n\n"
		"  -o FILE, --output=FILE  write FILE; readers see it complete or not at all",
	.examples =
		"  netprof metrics\n"
		"  netprof metrics -o /var/lib/prometheus/node-exporter/netprof.prom\n",
	.takes = CLI_TAKES_OUTPUT,
	.run = run_metrics,
};
