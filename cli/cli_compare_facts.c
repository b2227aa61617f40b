/* Under which conditions runs were: what may have made one slower. */
#include <math.h>
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

static void say_text(const char *text, char *buf, size_t len)
{
	snprintf(buf, len, "%s", text ? text : "");
}

static void say_nodes(const struct np_record *r, char *buf, size_t len)
{
	say_text(r->nodes, buf, len);
}

static void say_leaves(const struct np_record *r, char *buf, size_t len)
{
	size_t used = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < r->n_leaves && used < len; i++)
		used += (size_t)snprintf(buf + used, len - used, "%s%s",
					 used ? "," : "", r->leaves[i].name);
}

static void say_cluster(const struct np_record *r, char *buf, size_t len)
{
	say_text(r->cluster, buf, len);
}

static void say_transport(const struct np_record *r, char *buf, size_t len)
{
	say_text(r->probe.transport, buf, len);
}

static void say_executable(const struct np_record *r, char *buf, size_t len)
{
	say_text(r->executable, buf, len);
}

static void say_command(const struct np_record *r, char *buf, size_t len)
{
	say_text(r->fingerprint, buf, len);
}

static void say_slurm(const struct np_record *r, char *buf, size_t len)
{
	say_text(r->slurm_version, buf, len);
}

static void say_ucx(const struct np_record *r, char *buf, size_t len)
{
	say_text(r->ucx_version, buf, len);
}

static void say_netprof(const struct np_record *r, char *buf, size_t len)
{
	say_text(r->netprof_version, buf, len);
}

static void say_mpi(const struct np_record *r, char *buf, size_t len)
{
	say_text(r->mpi_version, buf, len);
}

static void say_state(const struct np_record *r, char *buf, size_t len)
{
	if (r->exit_code == NP_NO_VALUE)
		snprintf(buf, len, "%s", r->state == NP_RUN_RUNNING ?
			 "not ended" : "not known");
	else
		snprintf(buf, len, "%ld", r->exit_code);
}

const struct cli_fact cli_facts[] = {
	{ "neighbours", "Neighbours", "neighbours", say_neighbours },
	{ "level", "Level", "the interference level", say_level },
	{ "n_nodes", "Nodes", "the number of nodes", say_n_nodes },
	{ "n_tasks", "Tasks", "the number of tasks", say_n_tasks },
	{ "nodes", "On", "the nodes", say_nodes },
	{ "leaves", "Leaf switches", "the leaf switches", say_leaves },
	{ "cluster", "Cluster", "the cluster", say_cluster },
	{ "transport", "Transport", "the transport", say_transport },
	{ "executable", "Executable", "the executable", say_executable },
	{ "fingerprint", "Command", "the command", say_command },
	{ "exit_code", "Exit code", "the exit code", say_state },
	{ "slurm_version", "Slurm", "Slurm", say_slurm },
	{ "ucx_version", "UCX", "UCX", say_ucx },
	{ "netprof_version", "netprof", "netprof", say_netprof },
	{ "mpi_version", "MPI", "the MPI", say_mpi },
};
const size_t cli_n_facts = NP_ARRAY_SIZE(cli_facts);

void cli_fact_of(const struct cli_side *s, const struct cli_fact *f,
		 char buf[CLI_FACT])
{
	char other[CLI_FACT];
	bool any = false;

	buf[0] = '\0';
	for (size_t i = 0; i < s->runs.n; i++) {
		if (!cli_side_counts(s, i))
			continue;
		f->say(s->runs.run[i], other, sizeof(other));
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
