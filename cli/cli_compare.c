/* Sides, under which conditions they were, and which is slower. */
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli_compare.h"
#include "cli_text.h"

static bool is_time(const struct cli_side *s, size_t i, bool beside)
{
	const struct np_record *r = s->runs.run[i];
	enum np_run_use use = s->profile.ev.use[i];

	if (s->run)
		return !r->exit_code && r->state != NP_RUN_RUNNING;
	if (r->level)
		return false;
	return beside ? use == NP_RUN_NEIGHBOURS || use == NP_RUN_LATENCY :
			use == NP_RUN_ALONE || use == NP_RUN_TIME;
}

bool cli_side_counts(const struct cli_side *s, size_t i)
{
	return s->run || is_time(s, i, s->beside);
}

static void take_times(struct cli_side *s, bool beside)
{
	struct np_moments m = { 0 };

	for (size_t i = 0; i < s->runs.n; i++)
		if (is_time(s, i, beside))
			np_moments_add(&m, np_record_run_sec(s->runs.run[i]));
	if (!m.n)
		return;
	s->run_sec = np_mean_of(&m);
	s->shortest_sec = m.min;
	s->longest_sec = m.max;
	s->beside = beside;
}

int cli_side_make(struct cli_side *s, double now)
{
	const struct np_runs *const idle[] = {
		&s->found.idle[0], &s->found.idle[1],
	};
	int rc = np_profile_make(&s->runs, idle, 2, now, &s->profile);

	if (rc)
		return rc;
	take_times(s, false);
	if (!s->run_sec.n)
		take_times(s, true);
	if (!s->run)
		s->latency = s->profile.ev.latency;
	else if (np_run_latency(s->run).n)
		rc = np_sample_add(&s->latency, s->run);
	return rc;
}

void cli_side_free(struct cli_side *s)
{
	if (s->run)
		np_hist_free(s->latency.hist);
	np_profile_free(&s->profile);
	free(s->runs.run);
	cli_profile_free(&s->found);
}

static void say_neighbours(const struct np_record *r, char *buf, size_t len)
{
	double sec = np_record_run_sec(r), longest = 0;
	char share[CLI_NUMBER];
	size_t jobs = 0;

	for (size_t i = 0; i < r->n_neighbours; i++) {
		bool seen = false;

		longest = fmax(longest, r->neighbours[i].overlap_sec);
		for (size_t k = 0; k < i && !seen; k++)
			seen = r->neighbours[k].job_id ==
			       r->neighbours[i].job_id;
		jobs += !seen;
	}
	if (!jobs)
		snprintf(buf, len, "none");
	else
		snprintf(buf, len, "%zu, up to %s", jobs, cli_percent(sec > 0 ?
			 fmin(longest / sec, 1) : 1, share));
}

static void say_level(const struct np_record *r, char *buf, size_t len)
{
	snprintf(buf, len, "%s", r->level ? r->level->name : "none");
}

static void say_suspended(const struct np_record *r, char *buf, size_t len)
{
	snprintf(buf, len, "%s", r->suspended ? "yes" : "no");
}

static void say_n_nodes(const struct np_record *r, char *buf, size_t len)
{
	snprintf(buf, len, "%u", r->n_nodes);
}

static void say_n_tasks(const struct np_record *r, char *buf, size_t len)
{
	snprintf(buf, len, "%u", r->n_tasks);
}

static void say_leaves(const struct np_record *r, char *buf, size_t len)
{
	buf[0] = '\0';
	for (size_t i = 0; i < r->n_leaves; i++)
		cli_add(buf, len, "%s%s", *buf ? "," : "",
			r->leaves[i].name);
}

static void say_state(const struct np_record *r, char *buf, size_t len)
{
	if (r->exit_code == NP_NO_VALUE)
		snprintf(buf, len, "%s", r->state == NP_RUN_RUNNING ?
			 "not ended" : "not known");
	else
		snprintf(buf, len, "%ld", r->exit_code);
}

#define AT(member) .text = offsetof(struct np_record, member)

const struct cli_fact cli_facts[] = {
	{ "neighbours", "Neighbours", "neighbours", say_neighbours },
	{ "level", "Level", "the interference level", say_level },
	{ "suspended", "Suspended", "whether it was suspended", say_suspended },
	{ "n_nodes", "Nodes", "the number of nodes", say_n_nodes },
	{ "n_tasks", "Tasks", "the number of tasks", say_n_tasks },
	{ "nodes", "On", "the nodes", AT(nodes) },
	{ "leaves", "Leaf switches", "the leaf switches", say_leaves },
	{ "cluster", "Cluster", "the cluster", AT(cluster) },
	{ "transport", "Transport", "the transport", AT(probe.transport) },
	{ "executable", "Executable", "the executable", AT(executable) },
	{ "fingerprint", "Command", "the command", AT(fingerprint) },
	{ "exit_code", "Exit code", "the exit code", say_state },
	{ "slurm_version", "Slurm", "Slurm", AT(slurm_version) },
	{ "ucx_version", "UCX", "UCX", AT(ucx_version) },
	{ "netprof_version", "netprof", "netprof", AT(netprof_version) },
	{ "mpi_version", "MPI", "the MPI", AT(mpi_version) },
	{ "tasks_per_node", "Tasks a node", "the tasks on each node",
	  AT(tasks_per_node) },
	{ "task_order", "Task order", "the order of tasks", AT(task_order) },
	{ "cpu_bind", "CPU binding", "the binding to processors",
	  AT(cpu_bind) },
};
const size_t cli_n_facts = NP_ARRAY_SIZE(cli_facts);

static void say(const struct np_record *r, const struct cli_fact *f, char *buf)
{
	const char *text;

	if (f->say) {
		f->say(r, buf, CLI_FACT);
		return;
	}
	text = *(char *const *)((const char *)r + f->text);
	snprintf(buf, CLI_FACT, "%s", text ? text : "");
}

void cli_fact_of(const struct cli_side *s, const struct cli_fact *f,
		 char buf[CLI_FACT])
{
	char other[CLI_FACT];
	bool any = false;

	buf[0] = '\0';
	for (size_t i = 0; i < s->runs.n; i++) {
		if (!cli_side_counts(s, i))
			continue;
		say(s->runs.run[i], f, other);
		if (any && strcmp(buf, other)) {
			strcpy(buf, "varies");
			return;
		}
		strcpy(buf, other);
		any = true;
	}
}

bool cli_fact_differs(const struct cli_compare *c, const struct cli_fact *f)
{
	char first[CLI_FACT] = "", other[CLI_FACT];

	for (size_t i = 0; i < c->n; i++) {
		cli_fact_of(&c->side[i], f, other);
		if (!*other)
			continue;
		if (*first && strcmp(first, other))
			return true;
		strcpy(first, other);
	}
	return false;
}

static bool same_application(const struct cli_compare *c)
{
	for (size_t i = 1; i < c->n; i++)
		if (strcmp(c->side[i].runs.app, c->side[0].runs.app))
			return false;
	return true;
}

/* "fft alone (60.0 s, n 2)" */
static void say_side(const struct cli_side *s, char *buf, size_t len)
{
	char sec[CLI_NUMBER];
	int n = snprintf(buf, len, "%s%s (%s", s->name, s->run ? "" : s->beside ?
			 " beside other jobs" : " alone",
			 cli_sec(s->run_sec.mean, sec));

	if (s->run)
		snprintf(buf + n, len - (size_t)n, ")");
	else
		snprintf(buf + n, len - (size_t)n, ", n %u)", s->run_sec.n);
}

static void say_slower(const struct cli_side *slow, const struct cli_side *fast,
		       char *buf, size_t len)
{
	double d = slow->run_sec.mean / fast->run_sec.mean - 1;
	char other[CLI_COMPARE_NAME + 64], sec[CLI_NUMBER], how[64];

	say_side(fast, other, sizeof(other));
	if (d < CLI_LEAST_NOISE)
		snprintf(how, sizeof(how), "as long as");
	else
		snprintf(how, sizeof(how), "%.0f %% longer than", 100 * d);
	snprintf(buf, len, "%s took %s, %s %s%s.", slow->name,
		 cli_sec(slow->run_sec.mean, sec), how, other,
		 d >= CLI_LEAST_NOISE && d < cli_chance(&slow->run_sec,
							   &fast->run_sec) ?
		 ", which may be chance" : "");
}

/* Whose probes were delayed most says who used the network most. */
static void say_uses(const struct cli_compare *c, char *buf, size_t len)
{
	const struct cli_side *most = NULL;
	char share[CLI_NUMBER];

	for (size_t i = 0; i < c->n; i++) {
		const struct cli_side *s = &c->side[i];

		if (s->profile.verdict.use &&
		    (!most || s->profile.verdict.delayed_share >
			      most->profile.verdict.delayed_share))
			most = s;
	}
	if (!most)
		snprintf(buf, len, "Of none of these is it known how it uses "
			 "the network.");
	else
		snprintf(buf, len, "Of these applications, %s uses the network "
			 "most: %s of probes were delayed.", most->name,
			 cli_percent(most->profile.verdict.delayed_share,
				     share));
}

void cli_compare_verdict(const struct cli_compare *c, char *buf, size_t len)
{
	const struct cli_side *slow = NULL, *fast = NULL;
	size_t known = 0;

	if (!same_application(c)) {
		say_uses(c, buf, len);
		return;
	}
	for (size_t i = 0; i < c->n; i++) {
		const struct cli_side *s = &c->side[i];

		if (!np_mean_known(&s->run_sec) || !(s->run_sec.mean > 0))
			continue;
		known++;
		if (!slow || s->run_sec.mean > slow->run_sec.mean)
			slow = s;
		if (!fast || s->run_sec.mean <= fast->run_sec.mean)
			fast = s;
	}
	if (known < 2)
		snprintf(buf, len, "Run times of %s cannot be compared: fewer "
			 "than two of these are known.",
			 c->side[0].runs.app);
	else
		say_slower(slow, fast, buf, len);
}

void cli_compare_differs(const struct cli_compare *c, char *buf, size_t len)
{
	buf[0] = '\0';
	for (size_t i = 0; i < cli_n_facts; i++)
		if (cli_fact_differs(c, &cli_facts[i]))
			cli_add(buf, len, "%s%s", *buf ? ", " : "Different: ",
				cli_facts[i].words);
	cli_add(buf, len, "%s", *buf ? "." :
		"Nothing else that is recorded differs.");
}
