/*
 * netprof runs APP: list the runs that a profile is made of, and what each is
 * used for (np_run_use_name()).
 *
 * If the fabric is calibrated, the estimated utilisation under the load level
 * of a run is added: names of levels do not say how strong they are.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "cli_json_put.h"
#include "cli_print.h"
#include "cli_profile.h"
#include "cli_text.h"

#define RUN_WIDTH 14	     /* column of the run's name */
#define UTILISATION_WIDTH 17 /* column of the utilisation */
/* A line with the utilisation has at most this many columns. */
#define UTILISATION_COLUMNS 107

/* Latency quantiles over all leaf switches of a run, in seconds. */
static void latency_quantiles(const struct np_record *record, double *p50_sec,
			      double *p99_sec)
{
	struct np_sample all = {
		.hist = np_hist_new(),
		.moments = np_run_latency(record),
	};

	if (all.hist)
		np_run_add_hist(record, all.hist);
	*p50_sec = np_sample_quantile(&all, 0.5);
	*p99_sec = np_sample_quantile(&all, 0.99);
	np_hist_free(all.hist);
}

/* Estimated utilisation under the load level of a run; NaN: none or unknown. */
static double level_utilisation(const struct np_record *record,
				const struct np_fabric *fabric)
{
	return record->level ?
		       np_fabric_utilisation(fabric, record->level->name) :
		       NAN;
}

/*
 * Print one run; NaN is printed as "-". fabric is NULL if the table has no
 * column for the utilisation under the load level.
 */
static void print_run(const struct np_record *record, enum np_run_use use,
		      int level_width, const struct np_fabric *fabric)
{
	double utilisation = level_utilisation(record, fabric);
	uint64_t n_probes = np_run_latency(record).n;
	double p50_sec, p99_sec;

	latency_quantiles(record, &p50_sec, &p99_sec);
	cli_print_left(stdout, cli_run_id(record), RUN_WIDTH);
	printf(" %-10s", cli_day(record->start));
	cli_print_sec(np_record_run_sec(record), 9);
	printf("%7u%9llu", record->n_nodes, (unsigned long long)n_probes);
	cli_print_sec(n_probes ? p50_sec : NAN, 9);
	cli_print_sec(n_probes ? p99_sec : NAN, 9);
	putchar(' ');
	cli_print_left(stdout, record->level ? record->level->name : "-",
		       level_width);
	if (fabric)
		printf("%*s", UTILISATION_WIDTH,
		       isnan(utilisation) ? "-" :
					    cli_text("%.2f", utilisation));
	printf(" %s\n", np_run_use_name(use));
}

/*
 * Whether the table has a column for the utilisation under load levels: it is
 * known for a run, and the output is wide enough.
 */
static bool has_utilisation(const struct np_runs *runs,
			    const struct np_fabric *fabric)
{
	for (size_t i = 0; i < runs->n; i++)
		if (!isnan(level_utilisation(runs->run[i], fabric)))
			return cli_columns() >= UTILISATION_COLUMNS;
	return false;
}

static int print_table(const struct np_run_summary *summary,
		       const struct np_fabric *fabric)
{
	const struct np_runs *runs = summary->runs;
	int level_width = cli_name_column(5, 1);

	if (!has_utilisation(runs, fabric))
		fabric = NULL;
	for (size_t i = 0; i < runs->n; i++)
		if (runs->run[i]->level)
			level_width = cli_widen(level_width,
						runs->run[i]->level->name);
	/* The columns of print_run(). */
	printf("%s%-*s %-10s%9s%7s%9s%9s%9s %-*s%*s %s%s\n",
	       cli_colour(CLI_BOLD), RUN_WIDTH, "Run", "Start", "Time", "Nodes",
	       "Probes", "p50", "p99", level_width, "Level",
	       fabric ? UTILISATION_WIDTH : 0, fabric ? "Est. utilisation" : "",
	       "Use", cli_colour(CLI_PLAIN));
	for (size_t i = 0; i < runs->n; i++)
		print_run(runs->run[i], summary->use[i], level_width, fabric);
	return CLI_DONE;
}

/* The load level of a run; null if it had none. */
static void put_level_run(json_object *in, const struct np_record *record,
			  const struct np_fabric *fabric)
{
	const struct np_level_run *level = record->level;
	json_object *j = cli_put_if(in, "level", level);

	if (!j)
		return;
	cli_put_text(j, "name", level->name);
	cli_put_text(j, "scope", level->scope);
	if (level->rails)
		cli_put_text(j, "rails", level->rails);
	cli_put_real(j, "estimated_utilisation",
		     level_utilisation(record, fabric));
	cli_put_real(j, "alone_round_sec", level->alone_round_sec.mean);
	cli_put_real(j, "loaded_round_sec", level->loaded_round_sec.mean);
}

/* Latencies over all leaf switches of a run; zeros without probes. */
static void put_run_latency(json_object *in, const struct np_record *record)
{
	struct np_moments latency = np_run_latency(record);
	json_object *j = cli_put_object(in, "latency");
	double p50_sec, p99_sec;

	latency_quantiles(record, &p50_sec, &p99_sec);
	cli_put_count(j, "n", latency.n);
	cli_put_real(j, "mean_sec", latency.mean);
	cli_put_real(j, "sd_sec", np_moments_sd(&latency));
	cli_put_real(j, "p50_sec", p50_sec);
	cli_put_real(j, "p99_sec", p99_sec);
	cli_put_real(j, "max_sec", latency.n ? latency.max : 0);
}

/* Everything recorded about a run that may explain its run time. */
static void append_run(json_object *list, const struct np_record *record,
		       enum np_run_use use, const struct np_fabric *fabric)
{
	json_object *j = cli_append_object(list), *notes;

	cli_put_text(j, "run", cli_run_id(record));
	cli_put_count(j, "job_id", record->job_id);
	cli_put_count(j, "step_id", record->step_id);
	cli_put_text(j, "use", np_run_use_name(use));
	cli_put_text(j, "state", np_run_states[record->state]);
	cli_put(j, "exit_code",
		record->exit_code == NP_NO_VALUE ?
			NULL :
			json_object_new_int64(record->exit_code));
	cli_put_time(j, "start", record->start);
	cli_put_time(j, "end", record->end);
	cli_put_real(j, "run_sec", np_record_run_sec(record));
	cli_put_text(j, "cluster", record->cluster);
	cli_put_text(j, "nodes", record->nodes);
	cli_put_count(j, "n_nodes", record->n_nodes);
	cli_put_count(j, "n_tasks", record->n_tasks);
	cli_put_text(j, "tasks_per_node", record->tasks_per_node);
	cli_put_text(j, "task_order", record->task_order);
	cli_put_text(j, "cpu_bind", record->cpu_bind);
	cli_put_count(j, "cpus_per_task", record->cpus_per_task);
	cli_put_text(j, "executable", record->executable);
	cli_put_text(j, "fingerprint", record->fingerprint);
	cli_put_text(j, "mpi_version", record->mpi_version);
	put_run_latency(j, record);
	put_level_run(j, record, fabric);
	cli_put_count(j, "n_neighbours", record->n_neighbours);
	notes = cli_put_array(j, "notes");
	for (size_t i = 0; i < record->n_notes; i++)
		cli_append_text(notes, record->notes[i]);
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

/* Print the runs as JSON or --parsable. */
static int print_data(const struct np_run_summary *summary,
		      const struct np_fabric *fabric, enum cli_format format)
{
	const struct np_runs *runs = summary->runs;
	json_object *j = json_object_new_object(), *list;

	cli_put_text(j, "app", runs->app);
	cli_put_owner(j, runs->owner, runs->uid);
	cli_put_count(j, "unreadable", runs->n_skipped);
	list = cli_put_array(j, "runs");
	for (size_t i = 0; i < runs->n; i++)
		append_run(list, runs->run[i], summary->use[i], fabric);
	return cli_print_output(format, "runs", j, &table);
}

static int run_runs(const struct cli_cmd *self, int argc, char **argv)
{
	const struct np_run_summary_opt opt = { .now = (double)time(NULL) };
	const struct np_calibration *calibration;
	const struct np_fabric *fabric;
	struct np_run_summary summary;
	struct cli_options options;
	struct np_runs runs;
	struct cli_store store;
	int rc;

	rc = cli_options_parse(self, argc, argv, NULL, &options);
	if (rc < 0)
		rc = cli_store_open(&store);
	if (rc >= 0)
		return rc;
	rc = cli_runs_find(&store, &options, options.app, &runs);
	if (rc >= 0) {
		cli_store_close(&store);
		return rc;
	}
	/* Valid until the store is closed. */
	calibration = cli_calibration_of(&store, &runs);
	fabric = calibration ? calibration->fabric : NULL;
	cli_check_memory(np_run_summary_make(&runs, &opt, &summary));
	rc = options.format ? print_data(&summary, fabric, options.format) :
			      print_table(&summary, fabric);
	np_run_summary_free(&summary);
	np_runs_free(&runs);
	cli_store_close(&store);
	return rc;
}

const struct cli_cmd cmd_runs = {
	.name = "runs",
	.args = "[--json|--parsable] [--user=NAME|--published] APP",
	.help = "the runs that a profile is made of",
	.text = "Lists the runs of APP, the newest first, and what each is used for:\n\n"
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
		"  rail        its load level did not load a rail that the program uses\n"
		"  workload    another command, or other nodes, tasks, tasks on each node or\n"
		"              processors, than the workload that is shown\n"
		"  automatic   measured the idle network in quiet moments of another run or in a\n"
		"              calibration; a run made for that purpose replaces it\n\n"
		"The options are those of show.",
	.examples = "  netprof runs lammps\n"
		    "  netprof runs --parsable lammps\n",
	.takes = CLI_TAKES_APPS | CLI_TAKES_FORMAT | CLI_TAKES_USER,
	.required_arg = "an application",
	.max_args = 1,
	.run = run_runs,
};
