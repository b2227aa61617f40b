/* Under which conditions runs were: what may have made one slower. */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "cli_compare.h"
#include "cli_text.h"

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
