/*
 * Measuring pairs of programs inside an allocation.
 *
 * The victim of a pair is timed. Its co-runner is restarted if it ends while
 * the victim runs. Both are steps of the allocation, on the two halves of a
 * leaf switch or, for a control, on two leaf switches.
 */
#include "cli_pair_runs.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli_alloc.h"
#include "cli_pair_plan.h"
#include "cli_text.h"
#include "np_clock.h"
#include "np_helper.h"

static int no_memory(struct np_err *err)
{
	return np_errf(err, -ENOMEM, "out of memory");
}

/* ---- nodes ---- */

/* Return how messages name a leaf switch; NULL: there is no topology. */
static const char *leaf_text(const char *leaf)
{
	return leaf ? leaf : "(no topology)";
}

/* Take a text over from its owner. Returns NULL for an empty one. */
static char *take_text(char **from)
{
	char *text = *from;

	*from = NULL;
	if (text && *text)
		return text;
	free(text);
	return NULL;
}

/* Return the number of nodes that the largest program needs. */
static uint32_t largest_program(const struct cli_program_list *list)
{
	uint32_t max = 0;

	for (size_t i = 0; i < list->n; i++)
		if (list->program[i].nodes > max)
			max = list->program[i].nodes;
	return max;
}

/*
 * Find n_needed nodes for the co-runners of controls, under another leaf
 * switch. Having none is no error. Returns 0 or -ENOMEM.
 */
static int find_nodes_apart(const struct np_cal_node *node, size_t n,
			    uint32_t n_needed, const char *leaf, char **out)
{
	struct np_cal_node *others = calloc(n + 1, sizeof(*others));
	struct np_cal_roles roles;
	size_t n_others = 0;
	int rc;

	if (!others)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		if (strcmp(node[i].leaf, leaf))
			others[n_others++] = node[i];
	rc = np_cal_roles_make(others, n_others, &roles, NULL);
	free(others);
	if (rc)
		return rc == -ENODEV ? 0 : rc;
	if (roles.aggressor.n >= n_needed)
		*out = take_text(&roles.aggressor.list);
	else if (!roles.aggressor.n && roles.victim.n >= n_needed)
		*out = take_text(&roles.victim.list);
	np_cal_roles_free(&roles);
	return 0;
}

/* Check that each program fits into half of the leaf switch. */
static int check_fit(const struct cli_program_list *list,
		     const struct np_cal_roles *roles, struct np_err *err)
{
	const char *leaf = leaf_text(*roles->leaf ? roles->leaf : NULL);
	size_t half = roles->victim.n < roles->aggressor.n ? roles->victim.n :
							     roles->aggressor.n;

	if (!half)
		return np_errf(err, -ENODEV,
			       "leaf switch %s: expected four nodes or more, "
			       "half for each of two programs",
			       leaf);
	for (size_t i = 0; i < list->n; i++)
		if (list->program[i].nodes > half)
			return np_errf(err, -ENODEV,
				       "%s: %u nodes, but half of leaf switch "
				       "%s has %zu",
				       list->program[i].name,
				       list->program[i].nodes, leaf, half);
	return 0;
}

int cli_pair_place_assign(const struct np_cal_node *node, size_t n,
			  const struct cli_program_list *list,
			  struct np_pairs_place *out, struct np_err *err)
{
	struct np_cal_roles roles;
	char *apart = NULL;
	int rc = np_cal_roles_make(node, n, &roles, err);

	if (rc)
		return rc;
	rc = check_fit(list, &roles, err);
	if (!rc && find_nodes_apart(node, n, largest_program(list), roles.leaf,
				    &apart))
		rc = no_memory(err);
	if (!rc)
		*out = (struct np_pairs_place){
			.leaf = take_text(&roles.leaf),
			.victim_nodes = take_text(&roles.victim.list),
			.corunner_nodes = take_text(&roles.aggressor.list),
			.apart_nodes = apart,
		};
	np_cal_roles_free(&roles);
	return rc;
}

char *cli_first_hosts(const char *list, size_t n)
{
	const char *end = list;

	for (size_t i = 0; i < n && *end; i++) {
		end += *end == ',';
		end += strcspn(end, ",");
	}
	return strndup(list, (size_t)(end - list));
}

/* Copy a text, if there is one. Returns 0 or -ENOMEM. */
static int copy_text(const char *text, char **out)
{
	*out = text && *text ? strdup(text) : NULL;
	return *out || !text || !*text ? 0 : -ENOMEM;
}

/*
 * Run probes to learn the leaf switch of each node of the allocation, and
 * assign the roles. Returns 0 or -errno with err; the texts in *out are to be
 * freed in either case.
 */
static int query_nodes(struct cli_alloc *alloc,
		       const struct cli_program_list *list,
		       struct np_pairs_place *out, struct np_err *err)
{
	const struct np_cal_setup no_levels = { .n_levels = 0 };
	struct np_cal_srun steps = {
		.conf = &alloc->conf,
		.job = alloc->job,
		.env = alloc->env,
		.stop = cli_alloc_catch_signals(),
	};
	struct np_cal_run *query =
		np_cal_run_new(&np_cal_srun_ops, &steps, &no_levels);
	struct np_cal_query found;
	int rc = query ? np_cal_run_query(query, alloc->nodes, alloc->n_nodes,
					  &found, err) :
			 no_memory(err);

	if (!rc)
		rc = cli_pair_place_assign(found.node, found.n, list, out, err);
	if (!rc && (copy_text(found.transport, &out->transport) ||
		    copy_text(alloc->cluster, &out->cluster)))
		rc = no_memory(err);
	np_cal_run_free(query);
	return rc;
}

/* Check that earlier runs, if any, were made on the same leaf switch. */
int cli_pair_place_check(const struct np_pairs *earlier, const char *path,
			 const struct np_pairs_place *here, struct np_err *err)
{
	const char *leaf = earlier->place.leaf;
	const char *cluster = earlier->place.cluster;

	/* Clusters have leaf switches of the same name. */
	if (earlier->n_runs && cluster && here->cluster &&
	    strcmp(cluster, here->cluster))
		return np_errf(err, -EEXIST,
			       "%s has results of cluster %s, but this "
			       "allocation is on %s: use --output for another "
			       "file, or --fresh to start over",
			       path, cluster, here->cluster);
	if (!earlier->n_runs || !leaf ||
	    (here->leaf && !strcmp(leaf, here->leaf)))
		return 0;
	return np_errf(err, -EEXIST,
		       "%s has results of leaf switch %s, but this allocation "
		       "is on %s: use --fresh to start over",
		       path, leaf, leaf_text(here->leaf));
}

void cli_pair_place_replace(struct np_pairs *pairs,
			    const struct np_pairs_place *here)
{
	struct np_pairs earlier = { .place = pairs->place };

	pairs->place = *here;
	if (!here->apart_nodes) {
		pairs->place.apart_nodes = earlier.place.apart_nodes;
		earlier.place.apart_nodes = NULL;
	}
	np_pairs_free(&earlier);
}

/* ---- steps ---- */

#define POLL_SEC 0.01

/* The steps of the current run. */
struct runner {
	const struct cli_pair_measurement *measurement;
	const struct cli_alloc *alloc;
	const volatile sig_atomic_t *stop;
	char directory[PATH_MAX]; /* working directory */
	struct np_helper_step victim, corunner;
};

static const struct cli_program *program_at(const struct runner *runner,
					    size_t i)
{
	return &runner->measurement->list->program[i];
}

/* Return the suffix of the file with a step's output. */
static const char *output_suffix(const struct runner *runner,
				 const struct np_helper_step *step)
{
	return step == &runner->victim ? "victim.out" : "corunner.out";
}

/*
 * Let srun write the step's output to a file next to the results, for the case
 * that the step fails. srun takes a pattern, in which "%j" is the job and "%%"
 * a percent sign.
 */
static void add_output(const struct runner *runner, struct np_args *args,
		       const struct np_helper_step *step)
{
	const char *results = runner->measurement->path;
	bool relative = *results != '/';
	char path[2 * PATH_MAX], pattern[2 * sizeof(path)];
	size_t len = 0;

	snprintf(path, sizeof(path), "%s%s%s.%s",
		 relative ? runner->directory : "", relative ? "/" : "",
		 results, output_suffix(runner, step));
	for (const char *c = path; *c; c++) {
		if (*c == '%')
			pattern[len++] = '%';
		pattern[len++] = *c;
	}
	pattern[len] = '\0';
	np_args_add(args, "--output=%s", pattern);
}

/* Add the words of a command or of options; NULL: there are none. */
static void add_words(struct np_args *args, const char *words)
{
	for (size_t n; words && (n = strcspn(words, " ")); words += n) {
		np_args_add(args, "%.*s", (int)n, words);
		n += words[n] == ' ';
	}
}

/* Start a step. profile: make the profile of its program. */
static int start_step(const struct runner *runner, struct np_helper_step *step,
		      const struct cli_program *program, const char *hosts,
		      const char *command, bool profile, struct np_err *err)
{
	char *nodes = cli_first_hosts(hosts, program->nodes);
	struct np_args args = { .n = 0 };
	int rc;

	if (!nodes)
		return no_memory(err);
	np_args_add(&args, "%s", runner->alloc->srun);
	np_args_add(&args, "--quiet");
	/* The step shares the allocation's nodes with our other steps. */
	np_args_add(&args, "--overlap");
	np_args_add(&args, "--nodelist=%s", nodes);
	np_args_add(&args, "--nodes=%u", program->nodes);
	np_args_add(&args, "--ntasks=%u",
		    program->nodes * program->tasks_per_node);
	np_args_add(&args, "--ntasks-per-node=%u", program->tasks_per_node);
	np_args_add(&args, "--distribution=block");
	if (program->directory)
		np_args_add(&args, "--chdir=%s", program->directory);
	if (profile) {
		/* The SPANK plugin measures this step. */
		np_args_add(&args, "--netprofile=%s", program->name);
		np_args_add(&args, "--netprofile-calibrate");
	}
	add_output(runner, &args, step);
	add_words(&args, program->srun_options);
	add_words(&args, command);
	rc = np_helper_start(step, &args, environ, 0, err);
	np_args_free(&args);
	free(nodes);
	return rc;
}

/* Check how a step ended. Returns 0, or -EPIPE with err if it failed. */
static int check_status(const struct runner *runner, const char *name,
			const struct np_helper_step *step, struct np_err *err)
{
	char cause[NP_ERR_LEN + 32];

	if (step->status == 0)
		return 0;
	np_helper_cause(step, cause, sizeof(cause));
	return np_errf(err, -EPIPE, "%s failed: %s; its output is in %s.%s",
		       name, cause, runner->measurement->path,
		       output_suffix(runner, step));
}

/* ---- one run ---- */

/*
 * A run is killed after LIMIT_FACTOR times its expected time, but not before
 * MIN_LIMIT_SEC.
 */
#define LIMIT_FACTOR 20
#define MIN_LIMIT_SEC 120

static int start_corunner(struct runner *runner,
			  const struct cli_planned_run *run, struct np_err *err)
{
	const struct cli_program *program = program_at(runner, run->corunner);
	const struct np_pairs_place *place = &runner->measurement->pairs->place;

	return start_step(runner, &runner->corunner, program,
			  run->kind == NP_PAIRS_APART ? place->apart_nodes :
							place->corunner_nodes,
			  cli_longer_command(program), false, err);
}

/*
 * Start the co-runner again if it has ended. If it has failed, it did not load
 * the network as intended, so that is an error.
 */
static int restart_corunner(struct runner *runner,
			    const struct cli_planned_run *run,
			    struct np_err *err)
{
	int rc;

	if (run->corunner == CLI_NO_PROGRAM)
		return 0;
	np_helper_read(&runner->corunner, NULL, NULL);
	if (!np_helper_reap(&runner->corunner))
		return 0;
	np_helper_close(&runner->corunner);
	rc = check_status(runner, program_at(runner, run->corunner)->name,
			  &runner->corunner, err);
	return rc ? rc : start_corunner(runner, run, err);
}

/* Start the co-runner, and wait until it communicates. */
static int begin_corunner(struct runner *runner,
			  const struct cli_planned_run *run, struct np_err *err)
{
	double until;
	int rc;

	if (run->corunner == CLI_NO_PROGRAM)
		return 0;
	until = np_mono_sec() + program_at(runner, run->corunner)->begins_sec;
	rc = start_corunner(runner, run, err);
	while (!rc && np_mono_sec() < until) {
		if (*runner->stop)
			return np_errf(err, -EINTR, "stopped");
		np_helper_wait(&runner->corunner, POLL_SEC, NULL, NULL);
		rc = restart_corunner(runner, run, err);
	}
	return rc;
}

/*
 * Wait for the victim's end. Returns 0, or -ETIMEDOUT after limit_sec, or
 * -errno.
 */
static int wait_for_victim(struct runner *runner,
			   const struct cli_planned_run *run, double limit_sec,
			   double *sec, struct np_err *err)
{
	const char *name = program_at(runner, run->victim)->name;
	double begin = np_mono_sec();
	int rc = 0;

	while (!rc) {
		np_helper_wait(&runner->victim, POLL_SEC, NULL, NULL);
		*sec = np_mono_sec() - begin;
		if (np_helper_reap(&runner->victim))
			break;
		if (*runner->stop)
			rc = np_errf(err, -EINTR, "stopped");
		else if (*sec > limit_sec)
			rc = np_errf(err, -ETIMEDOUT,
				     "%s has not ended within %.0f s", name,
				     limit_sec);
		else
			rc = restart_corunner(runner, run, err);
	}
	if (rc)
		return rc;
	np_helper_close(&runner->victim);
	return check_status(runner, name, &runner->victim, err);
}

/* Execute a run. date, sec: when its victim started, and how long it took. */
static int execute(struct runner *runner, const struct cli_planned_run *run,
		   double *date, double *sec, struct np_err *err)
{
	const struct cli_pair_measurement *measurement = runner->measurement;
	const struct cli_program *victim = program_at(runner, run->victim);
	double expected_sec =
		cli_planned_run_sec(measurement->list, measurement->pairs, run);
	double limit_sec = fmax(LIMIT_FACTOR * expected_sec, MIN_LIMIT_SEC);
	bool profile = run->kind == NP_PAIRS_PROFILE;
	/* To launch it, a command that does nothing. */
	const char *command = run->kind == NP_PAIRS_LAUNCH ? "true" :
			      profile ? cli_longer_command(victim) :
					victim->command;
	int rc = begin_corunner(runner, run, err);

	*date = np_date_sec();
	if (!rc)
		rc = start_step(runner, &runner->victim, victim,
				measurement->pairs->place.victim_nodes, command,
				profile, err);
	if (!rc)
		rc = wait_for_victim(runner, run, limit_sec, sec, err);
	/* After an error or a timeout, steps may still run. */
	np_helper_stop(&runner->victim, SIGTERM, NULL, NULL);
	np_helper_stop(&runner->corunner, SIGTERM, NULL, NULL);
	return rc;
}

/* Append the run to the results and save them. */
static int save_run(const struct runner *runner,
		    const struct cli_planned_run *run, double date, double sec,
		    struct np_err *err)
{
	const struct cli_pair_measurement *measurement = runner->measurement;
	struct np_pairs *pairs = measurement->pairs;
	bool is_pair = run->corunner != CLI_NO_PROGRAM;
	struct np_pairs_run done = {
		.kind = run->kind,
		.repeat = run->repeat,
		.start = date,
		.sec = sec,
		.victim = strdup(program_at(runner, run->victim)->name),
	};

	if (is_pair)
		done.corunner = strdup(program_at(runner, run->corunner)->name);
	if (!done.victim || (is_pair && !done.corunner)) {
		free(done.victim);
		free(done.corunner);
		return no_memory(err);
	}
	if (np_pairs_add(pairs, &done))
		return no_memory(err);
	pairs->date = date;
	return measurement->save(measurement->arg,
				 &pairs->run[pairs->n_runs - 1], err);
}

/* ---- all runs ---- */

#define ATTEMPTS 3 /* per run, as MPI programs sometimes hang when they start */

/* Describe a run for the progress lines: "fft with halo". */
static const char *describe_run(const struct cli_program_list *list,
				const struct cli_planned_run *run)
{
	static const char *const how[] = {
		[NP_PAIRS_LAUNCH] = ", launch only",
		[NP_PAIRS_ALONE] = " alone",
		[NP_PAIRS_PROFILE] = ", profile",
		[NP_PAIRS_LEAF] = " with ",
		[NP_PAIRS_APART] = " on another leaf switch than ",
	};

	return cli_text("%s%s%s", list->program[run->victim].name,
			how[run->kind],
			run->corunner == CLI_NO_PROGRAM ?
				"" :
				list->program[run->corunner].name);
}

/* Estimate the time of the runs of a plan from index `first` on, in seconds. */
static double remaining_sec(const struct cli_pair_measurement *measurement,
			    const struct cli_pair_plan *plan, size_t first)
{
	double sec = 0;

	for (size_t i = first; i < plan->n; i++)
		sec += cli_planned_run_sec(measurement->list,
					   measurement->pairs, &plan->run[i]);
	return sec;
}

/*
 * Print the progress: on a terminal in one line that is rewritten, elsewhere in
 * one line per run. sec: the time of run i if it has ended, and otherwise NaN.
 */
static void print_progress(const struct cli_pair_measurement *measurement,
			   const struct cli_pair_plan *plan, size_t i,
			   double sec)
{
	bool ended = !isnan(sec);
	size_t n_done = i + ended;
	const char *what = describe_run(measurement->list, &plan->run[i]);
	const char *left = cli_sec(remaining_sec(measurement, plan, n_done));

	if (isatty(STDERR_FILENO)) {
		fprintf(stderr,
			"\r%3zu %%  %zu of %zu  about %s left  %.40s\033[K%s",
			100 * n_done / plan->n, n_done, plan->n, left, what,
			n_done == plan->n ? "\n" : "");
		fflush(stderr);
	} else if (ended) {
		fprintf(stderr, "%zu of %zu: %s %.2f s; about %s left\n",
			n_done, plan->n, what, sec, left);
	}
}

/* Print what will be measured, where, and how long that takes. */
static void print_plan(const struct cli_pair_measurement *measurement,
		       bool controls, const struct cli_pair_plan *plan)
{
	const struct np_pairs_place *place = &measurement->pairs->place;
	size_t n_programs = measurement->list->n;
	uint32_t repeats = measurement->repeats;

	fprintf(stderr,
		"leaf switch %s: programs on %s are measured while others run "
		"on %s\n",
		leaf_text(place->leaf), place->victim_nodes,
		place->corunner_nodes);
	if (controls)
		fprintf(stderr,
			"controls: the others run on %s, on another leaf "
			"switch\n",
			place->apart_nodes);
	else
		fprintf(stderr, "no controls: the allocation has too few nodes "
				"on another leaf switch\n");
	fprintf(stderr,
		"%zu program%s, %u run%s of each pair; %zu run%s%s, about %s\n",
		n_programs, cli_plural_s(n_programs), repeats,
		cli_plural_s(repeats), plan->n, cli_plural_s(plan->n),
		measurement->pairs->n_runs ? " left" : "",
		cli_sec(remaining_sec(measurement, plan, 0)));
}

/*
 * Execute and save all runs of the plan. Returns 0; or with err -EINTR, if the
 * user stops it, or another -errno. Runs that have ended are saved in any
 * case.
 */
static int execute_plan(struct runner *runner, const struct cli_pair_plan *plan,
			struct np_err *err)
{
	int rc = 0;

	if (!getcwd(runner->directory, sizeof(runner->directory)))
		return np_errf(err, -errno, "working directory: %s",
			       strerror(errno));
	for (size_t i = 0; !rc && i < plan->n; i++) {
		const struct cli_planned_run *run = &plan->run[i];
		double date = 0, sec = 0;

		print_progress(runner->measurement, plan, i, NAN);
		/* Only a run that hangs is tried again. */
		rc = -ETIMEDOUT;
		for (int k = 0; rc == -ETIMEDOUT && k < ATTEMPTS; k++)
			rc = execute(runner, run, &date, &sec, err);
		if (!rc)
			rc = save_run(runner, run, date, sec, err);
		if (!rc)
			print_progress(runner->measurement, plan, i, sec);
	}
	return rc;
}

/*
 * Plan and execute the missing runs, on the nodes in pairs->place. controls:
 * this allocation has nodes for controls.
 */
static int measure_runs(const struct cli_pair_measurement *measurement,
			const struct cli_alloc *alloc, bool controls,
			bool dry_run, struct np_err *err)
{
	struct runner runner = {
		.measurement = measurement,
		.alloc = alloc,
		.stop = cli_alloc_catch_signals(),
		.victim = NP_HELPER_INIT,
		.corunner = NP_HELPER_INIT,
	};
	struct cli_pair_plan plan =
		cli_pair_plan_make(measurement->list, measurement->repeats,
				   controls, measurement->pairs);
	int rc;

	print_plan(measurement, controls, &plan);
	rc = dry_run ? 0 : execute_plan(&runner, &plan, err);
	free(plan.run);
	if (rc && measurement->pairs->n_runs)
		fprintf(stderr,
			"%snetprof: the results so far are in %s; run the same "
			"command again to continue\n",
			isatty(STDERR_FILENO) ? "\n" : "", measurement->path);
	return rc;
}

int cli_pair_runs_measure(const struct cli_pair_measurement *measurement,
			  bool dry_run, struct np_err *err)
{
	static struct cli_alloc alloc; /* large, and alloc.job points into it */
	struct np_pairs here = { .n_runs = 0 }; /* only its place */
	int rc = cli_alloc_find(&alloc, 8, "validate FILE", err);

	/* Install the signal handlers before anything is started. */
	cli_alloc_catch_signals();
	if (!rc)
		rc = cli_alloc_env(&alloc, err);
	if (!rc)
		rc = query_nodes(&alloc, measurement->list, &here.place, err);
	if (!rc)
		rc = cli_pair_place_check(measurement->pairs, measurement->path,
					  &here.place, err);
	if (rc) {
		np_pairs_free(&here);
	} else {
		cli_pair_place_replace(measurement->pairs, &here.place);
		rc = measure_runs(measurement, &alloc,
				  here.place.apart_nodes != NULL, dry_run, err);
	}
	cli_alloc_free(&alloc);
	return rc;
}
