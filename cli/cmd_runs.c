/*
 * netprof runs APP: the runs that a profile is made of.
 *
 * The last column says what a run is used for, or why it is excluded; the words
 * are those of np_run_use_name().
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli_json_put.h"
#include "cli_print.h"
#include "cli_profile.h"
#include "cli_text.h"

/* Quantiles over all leaves of a run, seconds. */
static void quantiles_of(const struct np_record *r, double *p50, double *p99)
{
	struct np_sample all = {
		.hist = np_hist_new(), .moments = np_run_latency(r),
	};

	if (all.hist)
		np_run_add_hist(r, all.hist);
	*p50 = np_sample_quantile(&all, 0.5);
	*p99 = np_sample_quantile(&all, 0.99);
	np_hist_free(all.hist);
}

/* Print one run; NaN is printed as "-". */
static void text_row(const struct np_record *r, enum np_run_use use,
		     int level_width)
{
	char buf[CLI_NUMBER], id[64];
	uint64_t n = np_run_latency(r).n;
	double p50, p99;

	quantiles_of(r, &p50, &p99);
	cli_left(stdout, cli_run_id(r, id, sizeof(id)), 14);
	printf(" %-10s", cli_day(r->start, buf));
	cli_right_sec(np_record_run_sec(r), 9);
	printf("%7u%9llu", r->n_nodes, (unsigned long long)n);
	cli_right_sec(n ? p50 : NAN, 9);
	cli_right_sec(n ? p99 : NAN, 9);
	putchar(' ');
	cli_left(stdout, r->level ? r->level->name : "-", level_width);
	printf(" %s\n", np_run_use_name(use));
}

static int runs_text(const struct cli_profile *p)
{
	const struct np_runs *runs = &p->r.runs;
	int level_width = cli_name_column(5, 1);

	for (size_t i = 0; i < runs->n; i++)
		if (runs->run[i]->level)
			level_width = cli_widen(level_width,
						runs->run[i]->level->name);
	printf("%s%-14s %-10s%9s%7s%9s%9s%9s %-*s %s%s\n",
	       cli_colour(CLI_BOLD), "Run", "Start", "Time", "Nodes", "Probes",
	       "p50", "p99", level_width, "Level", "Use",
	       cli_colour(CLI_PLAIN));
	for (size_t i = 0; i < runs->n; i++)
		text_row(runs->run[i], p->profile.summary.use[i], level_width);
	return CLI_DONE;
}

/* The load level of a run; null if it had none. */
static void put_level_run(json_object *in, const struct np_level_run *l)
{
	json_object *j = cli_put_if(in, "level", l);

	if (!j)
		return;
	cli_put_text(j, "name", l->name);
	cli_put_text(j, "scope", l->scope);
	if (l->rails)
		cli_put_text(j, "rails", l->rails);
	cli_put_real(j, "alone_round_sec", l->alone_round_sec.mean);
	cli_put_real(j, "loaded_round_sec", l->loaded_round_sec.mean);
}

/* Latencies over all leaf switches of the run; zeros without probes. */
static void put_run_latency(json_object *in, const struct np_record *r)
{
	struct np_moments m = np_run_latency(r);
	json_object *j = cli_put_object(in, "latency");
	double p50, p99;

	quantiles_of(r, &p50, &p99);
	cli_put_count(j, "n", m.n);
	cli_put_real(j, "mean_sec", m.mean);
	cli_put_real(j, "sd_sec", np_moments_sd(&m));
	cli_put_real(j, "p50_sec", p50);
	cli_put_real(j, "p99_sec", p99);
	cli_put_real(j, "max_sec", m.n ? m.max : 0);
}

/* All recorded facts of one run that may matter for its run time. */
static void append_run(json_object *list, const struct np_record *r,
		       enum np_run_use use)
{
	json_object *j = cli_append_object(list), *notes;
	char id[64];

	cli_put_text(j, "run", cli_run_id(r, id, sizeof(id)));
	cli_put_count(j, "job_id", r->job_id);
	cli_put_count(j, "step_id", r->step_id);
	cli_put_text(j, "use", np_run_use_name(use));
	cli_put_text(j, "state", np_run_states[r->state]);
	cli_put(j, "exit_code", r->exit_code == NP_NO_VALUE ? NULL :
			    json_object_new_int64(r->exit_code));
	cli_put_time(j, "start", r->start);
	cli_put_time(j, "end", r->end);
	cli_put_real(j, "run_sec", np_record_run_sec(r));
	cli_put_text(j, "cluster", r->cluster);
	cli_put_text(j, "nodes", r->nodes);
	cli_put_count(j, "n_nodes", r->n_nodes);
	cli_put_count(j, "n_tasks", r->n_tasks);
	cli_put_text(j, "tasks_per_node", r->tasks_per_node);
	cli_put_text(j, "task_order", r->task_order);
	cli_put_text(j, "cpu_bind", r->cpu_bind);
	cli_put_count(j, "cpus_per_task", r->cpus_per_task);
	cli_put_text(j, "executable", r->executable);
	cli_put_text(j, "fingerprint", r->fingerprint);
	cli_put_text(j, "mpi_version", r->mpi_version);
	put_run_latency(j, r);
	put_level_run(j, r->level);
	cli_put_count(j, "n_neighbours", r->n_neighbours);
	notes = cli_put_array(j, "notes");
	for (size_t i = 0; i < r->n_notes; i++)
		cli_append_text(notes, r->notes[i]);
}

static const struct cli_table table = {
	"Run|JobID|Start|End|RunSec|State|ExitCode|Nodes|Tasks|NodeList|"
	"Probes|Mean|P50|P99|Max|Level|Scope|LevelAloneSec|LevelLoadedSec|"
	"Neighbours|Use|Fingerprint|Executable|Mpi|TasksPerNode|TaskOrder|"
	"CpuBind|CpusPerTask",
	{ { "runs", "run|job_id|start|end|run_sec|state|exit_code|n_nodes|"
		    "n_tasks|nodes|latency/n|latency/mean_sec|latency/p50_sec|"
		    "latency/p99_sec|latency/max_sec|level/name|level/scope|"
		    "level/alone_round_sec|level/loaded_round_sec|n_neighbours|"
		    "use|fingerprint|executable|mpi_version|tasks_per_node|"
		    "task_order|cpu_bind|cpus_per_task" } },
};

/* The same runs as JSON, or as --parsable prints them. */
static int runs_data(const struct cli_profile *p, enum cli_format format)
{
	json_object *j = json_object_new_object(), *list;

	cli_put_text(j, "app", p->r.runs.app);
	cli_put_owner(j, p->r.owner, p->r.uid);
	cli_put_count(j, "unreadable", p->r.n_skipped);
	list = cli_put_array(j, "runs");
	for (size_t i = 0; i < p->r.runs.n; i++)
		append_run(list, p->r.runs.run[i], p->profile.summary.use[i]);
	return cli_print_output(format, "runs", j, &table);
}

static int run_runs(const struct cli_cmd *self, int argc, char **argv)
{
	struct cli_profile p;
	struct cli_options o;
	struct cli_store s;
	int rc;

	rc = cli_options_parse(self, argc, argv, NULL, &o);
	if (rc < 0)
		rc = cli_store_open(&s);
	if (rc >= 0)
		return rc;
	rc = cli_profile_find(&s, &o, o.app, &p);
	cli_store_close(&s);
	if (rc >= 0)
		return rc;
	rc = o.format ? runs_data(&p, o.format) : runs_text(&p);
	cli_profile_free(&p);
	return rc;
}

const struct cli_cmd cmd_runs = {
	.name = "runs",
	.args = "[--json|--parsable] [--user=NAME|--published] APP",
	.help = "the runs that a profile is made of",
	.text =
"Lists the runs of APP, the newest first, and what each is used for:\n\n"
"  used        its latencies are part of the profile\n"
"  level       it ran under synthetic load\n"
"  intervals   the load was switched on and off during the run\n"
"  empty       its run time counts, but no latency was measured\n\n"
"or why it is excluded:\n\n"
"  fabric      measured on another cluster or network, or with another message\n"
"              size, than the newest run\n"
"  running     it has not ended\n"
"  failed      its exit code was not 0, or its end was not seen\n"
"  suspended   Slurm suspended and resumed its job\n"
"  neighbours  other jobs shared a leaf switch with it\n"
"  workload    another command, or other nodes, tasks, tasks on each node or\n"
"              processors, than the workload that is shown\n"
"  automatic   measured the idle network in quiet moments of another run or in a\n"
"              calibration; a run made for that purpose replaces it\n\n"
"The options are those of show.",
	.examples =
"  netprof runs lammps\n"
"  netprof runs --parsable lammps\n",
	.takes = CLI_TAKES_APPS | CLI_TAKES_FORMAT | CLI_TAKES_USER,
	.missing = "an application", .most = 1,
	.run = run_runs,
};
