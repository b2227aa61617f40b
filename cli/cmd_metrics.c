/* netprof metrics: what goes on, for a monitoring system. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli_metrics.h"
#include "cli_output.h"
#include "cli_profile.h"
#include "np_evidence.h"

#define SKEW_SEC 60.0 /* that the clocks of hosts and of the store differ by */

static void count_running(struct cli_metrics *m, const struct np_runs *runs)
{
	for (size_t i = 0; i < runs->n; i++) {
		const struct np_record *r = runs->run[i];

		if (r->state != NP_RUN_RUNNING ||
		    r->end < m->now - NP_EVIDENCE_RUNNING_SEC)
			continue;
		m->n_probed_steps++;
		m->n_probes += r->probe.n_processes;
	}
}

/* Records that are being written: only applications that changed are read. */
static void look_at_user(struct cli_metrics *m, struct np_store *s, uid_t uid)
{
	double since = m->now - NP_EVIDENCE_RUNNING_SEC - SKEW_SEC;
	struct np_store_app *apps;
	struct np_runs runs;
	size_t n;

	m->n_users++;
	if (np_store_look(s, NP_STORE_USER, uid, &apps, &n, NULL)) {
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

/* A store that cannot be read is among the findings. */
static void look_at_store(struct cli_metrics *m, const char *dir)
{
	struct np_store *s;
	uid_t *uids;
	size_t n;

	if (np_store_open(dir, &s, NULL))
		return;
	if (!np_store_uids(s, &uids, &n, NULL, NULL, NULL)) {
		for (size_t i = 0; i < n; i++)
			look_at_user(m, s, uids[i]);
		free(uids);
	}
	np_store_close(s);
}

static int check(struct cli_metrics *m, struct cli_check *c)
{
	c->found = calloc(CLI_CHECK_MAX, sizeof(*c->found));
	if (!c->found)
		return -ENOMEM;
	cli_slurm_ask(&c->slurm);
	cli_check_store(c);
	cli_check_knowledge(c);
	cli_check_placement(c);
	for (size_t i = 0; i < c->n; i++)
		m->n_findings[c->found[i].result]++;
	free(c->found);
	return 0;
}

/* The state may be missing or damaged; then the rest is told. */
static int gather(struct cli_metrics *m)
{
	struct cli_check c = { .now = m->now };
	struct np_err err = NP_ERR_INIT;
	int rc = np_conf_from_environment(&c.conf, &err);

	if (rc)
		return cli_fail("%s", err.text);
	c.places = cli_places(&c.conf.place);
	rc = np_state_load(c.conf.store, &m->state, &err);
	m->have_state = !rc;
	if (rc && rc != -ENOENT)
		cli_fail("%s", err.text);
	look_at_store(m, c.conf.store);
	return check(m, &c) ? cli_fail("out of memory") : -1;
}

static int put(const struct cli_metrics *m, const char *output)
{
	struct np_err err = NP_ERR_INIT;
	char *text;
	int rc = cli_metrics_text(m, &text);

	if (rc)
		return cli_fail("out of memory");
	if (output)
		rc = cli_write_file(output, text, 0644, &err);
	else
		fputs(text, stdout);
	free(text);
	return rc ? cli_fail("%s", err.text) : CLI_DONE;
}

static int run_metrics(const struct cli_cmd *self, int argc, char **argv)
{
	struct cli_metrics m = { .now = cli_now() };
	struct cli_options o;
	int rc = cli_options_parse(self, argc, argv, NULL, &o);

	if (rc < 0)
		rc = gather(&m);
	if (rc < 0)
		rc = put(&m, o.output);
	if (m.have_state)
		np_state_free(&m.state);
	return rc;
}

const struct cli_cmd cmd_metrics = {
	.name = "metrics", .args = "[-o FILE]",
	.help = "what goes on, for Prometheus and the like",
	.text =
"Prints gauges as OpenMetrics text: the last decision of placement and its\n"
"age, jobs that are confined or deferred, the leaf switches with their load,\n"
"the probes that run, and what netprof check finds.  For the textfile\n"
"directory of a node exporter, as root or SlurmUser, every minute:\n\n"
"  netprof metrics -o /var/lib/prometheus/node-exporter/netprof.prom\n\n"
"  -o FILE, --output=FILE  into FILE, which is there as a whole or not at all",
	.takes = CLI_TAKES_OUTPUT,
	.run = run_metrics,
};
