/*
 * netprof calibrate: measures how a fabric behaves under load, or submits the
 * runs that the sensitivity curve of a program still lacks.
 *
 * The fabric is measured by helper steps inside an allocation. An interrupted
 * calibration leaves a state file with every finished measurement; the same
 * command on the same nodes continues from it. The result goes to the store,
 * or to a file with --output.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli_alloc.h"
#include "cli_options.h"
#include "cli_output.h"
#include "cli_profile.h"
#include "cli_text.h"
#include "np_app.h"
#include "np_calibrate.h"
#include "np_clock.h"
#include "np_conf.h"
#include "np_fabric_store.h"
#include "np_profile.h"
#include "np_run_summary.h"
#include "np_store.h"
#include "np_text.h"
#include "np_topo.h"

struct calibrate_opt {
	const char *levels;  /* "default", "all" or names of levels */
	uint32_t n_selected; /* levels in the table of slowdowns */
	/*
	 * Length of a measurement without and with probes. probe_seconds 0:
	 * NP_CAL_PROBE_FACTOR times seconds.
	 */
	double seconds, probe_seconds;
	uint32_t repeats; /* 0: not given */
	bool scope_given, fresh, dry_run;
	enum np_scope scope; /* valid if scope_given */
	const char *rail;    /* NULL: over the devices of netprof.conf */
	const char *output;  /* NULL: into the store */
	const char *app;     /* NULL: calibrate the fabric */
	int argc;	     /* words after the options: an sbatch command */
	char **argv;
};

/* ---- load levels, in the order in which they are listed ---- */

struct listed_level {
	size_t index;	    /* in the list of names */
	double utilisation; /* NaN: not known */
};

static int by_utilisation(const void *a, const void *b)
{
	const struct listed_level *x = a, *y = b;
	int diff = np_utilisation_compare(x->utilisation, y->utilisation);

	return diff ? diff : (x->index > y->index) - (x->index < y->index);
}

/*
 * Sort n levels by their utilisation of a fabric. If fabric is NULL, they stay
 * in the order of the names.
 */
static void sort_levels(const struct np_fabric *fabric, const char *const *name,
			size_t n, struct listed_level *sorted)
{
	for (size_t i = 0; i < n; i++)
		sorted[i] = (struct listed_level){
			i, np_fabric_utilisation(fabric, name[i])
		};
	qsort(sorted, n, sizeof(*sorted), by_utilisation);
}

/* ---- the fabric: messages ---- */

/* Format a rough duration: "45 s", "12 min", "1.5 h". */
static const char *duration_text(double sec)
{
	return sec < 90	     ? cli_text("%.0f s", sec) :
	       sec < 90 * 60 ? cli_text("%.0f min", sec / 60) :
			       cli_text("%.1f h", sec / 3600);
}

/*
 * Print which nodes get the load, and on which its effect is measured. With
 * fewer than four nodes on the leaf switch both are the same.
 */
static void print_roles(const struct np_cal_roles *roles)
{
	fprintf(stderr, "leaf switch %s: ",
		*roles->leaf ? roles->leaf : "(no topology)");
	if (roles->aggressor.n)
		fprintf(stderr, "load on %s, its effect measured on %s\n",
			roles->aggressor.list, roles->victim.list);
	else
		fprintf(stderr,
			"load and measurement share the nodes %s, as there are "
			"fewer than four\n",
			roles->victim.list);
	if (roles->aggressor_across.n)
		fprintf(stderr,
			"uplink: load between %s, its effect measured between "
			"%s\n",
			roles->aggressor_across.list,
			roles->victim_across.list);
	else
		fprintf(stderr, "uplink: not measured, as there are too few "
				"nodes on a second leaf switch\n");
}

/*
 * Print what will be measured and how long it takes, so that an administrator
 * can decide whether to begin.
 */
static void print_plan(const struct np_calibrate *calibrate,
		       const struct np_cal_roles *roles,
		       const struct np_cal_estimate *estimate)
{
	const struct np_cal_setup *setup = &calibrate->setup;
	size_t selected = setup->keep < setup->n_levels ? setup->keep :
							  setup->n_levels;

	print_roles(roles);
	fprintf(stderr, "load levels:");
	for (size_t i = 0; i < setup->n_levels; i++)
		fprintf(stderr, " %s", setup->level[i].name);
	fprintf(stderr,
		"\neach pair of %zu levels together, %u time%s, %g s each\n",
		selected, setup->repeats, cli_plural_s(setup->repeats),
		setup->seconds);
	fprintf(stderr, "%zu measurement%s, about %s", estimate->n,
		cli_plural_s(estimate->n), duration_text(estimate->sec));
	if (estimate->n_done)
		fprintf(stderr, "; %zu done already, about %s left",
			estimate->n_done, duration_text(estimate->left_sec));
	fputc('\n', stderr);
}

/*
 * Progress callback: on a terminal one line that is overwritten, elsewhere a
 * line for every ten percent. key is NULL at the end.
 */
static void show_progress(void *arg, const struct np_cal_estimate *estimate,
			  const char *key)
{
	static int last_tenth = -1;
	unsigned percent =
		estimate->n ? (unsigned)(100 * estimate->n_done / estimate->n) :
			      100;
	const char *left = duration_text(estimate->left_sec);

	(void)arg;
	if (isatty(STDERR_FILENO)) {
		fprintf(stderr,
			"\r%3u %%  %zu of %zu  about %s left  %.40s\033[K%s",
			percent, estimate->n_done, estimate->n, left,
			key ? key : "", key ? "" : "\n");
		fflush(stderr);
		return;
	}
	if ((int)percent / 10 == last_tenth)
		return;
	last_tenth = (int)percent / 10;
	fprintf(stderr, "%3u %%  %zu of %zu  about %s left\n", percent,
		estimate->n_done, estimate->n, left);
}

/* Print a cell: a mean times factor, or "-" if nothing was measured. */
static void print_mean(const struct np_mean *mean, double factor)
{
	if (!mean->n)
		printf("%8s", "-");
	else
		printf("%8.*f", factor == 1 ? 2 : 1, factor * mean->mean);
}

/*
 * Print one line per scope: how much speed the middle level loses there under
 * the strongest one, and that loss relative to the calibrated scope, which is
 * the sharing coefficient.
 */
static void print_sharing(const struct np_calibrate *calibrate)
{
	for (int i = 0; i < NP_N_SCOPES; i++) {
		enum np_scope scope = (enum np_scope)i;
		struct np_mean loss = np_cal_loss(calibrate, scope);
		struct np_mean sharing =
			np_cal_sharing(calibrate, calibrate->scope, scope);

		printf("%-8s", np_scope_name(scope));
		print_mean(&loss, 100);
		print_mean(&sharing, 1);
		if (sharing.n > 1)
			printf(" +- %.2f (n %u)", sharing.sd / sqrt(sharing.n),
			       sharing.n);
		putchar('\n');
	}
}

/*
 * The matrix of slowdowns between levels. fabric is that of the calibration, or
 * NULL.
 */
static void print_matrix(const struct np_calibrate *calibrate,
			 const struct np_fabric *fabric)
{
	const char *name[NP_CAL_MAX_LEVELS];
	struct listed_level level[NP_CAL_MAX_LEVELS];
	const size_t *selected = calibrate->selected;
	size_t n = calibrate->n_selected;
	bool complete = true;

	for (size_t i = 0; i < n; i++)
		name[i] = calibrate->setup.level[selected[i]].name;
	sort_levels(fabric, name, n, level);
	printf("Slowdown in %% of each load level (row) by each other one "
	       "(column), scope %s:\n\n%-20s",
	       np_scope_name(calibrate->scope), "");
	for (size_t p = 0; p < n; p++)
		printf("%8.7s", name[level[p].index]);
	printf("\n%-20s", "est. utilisation");
	for (size_t p = 0; p < n; p++)
		if (isnan(level[p].utilisation))
			printf("%8s", "-");
		else
			printf("%8.2f", level[p].utilisation);
	putchar('\n');
	for (size_t v = 0; v < n; v++) {
		printf("%-20.20s", name[level[v].index]);
		for (size_t p = 0; p < n; p++) {
			struct np_mean mean =
				np_cal_matrix(calibrate, calibrate->scope,
					      selected[level[v].index],
					      selected[level[p].index]);

			print_mean(&mean, 100);
			complete = complete && mean.n;
		}
		putchar('\n');
	}
	if (!complete)
		puts("-: no round of this level ended during a measurement; "
		     "--seconds makes measurements longer");
}

/*
 * The matrix, and the sharing coefficients, as a first plausibility check by
 * the administrator.
 */
static void print_result(const struct np_calibrate *calibrate,
			 const struct np_fabric *fabric)
{
	const struct np_cal_setup *setup = &calibrate->setup;

	print_matrix(calibrate, fabric);
	printf("\nLevel %s under load of level %s:\n%-8s%8s%9s\n",
	       setup->level[np_cal_middle(setup)].name,
	       setup->level[np_cal_strongest(setup)].name, "Scope", "Loss %",
	       "Sharing");
	print_sharing(calibrate);
}

/* ---- the fabric: where the result goes ---- */

/* Everything that one calibration of a fabric uses. */
struct fabric_work {
	const struct calibrate_opt *opt;
	struct np_store *store;	   /* NULL with --output */
	struct cli_alloc at;	   /* the allocation in which it runs */
	struct np_cal_srun steps;  /* how helper steps are started */
	struct np_cal_query query; /* nodes, transport and versions */
	struct np_cal_roles roles;
	struct np_cal_state state;
	struct np_calibrate c;
	char dir[NP_STORE_PATH]; /* of this cluster; not with --output */
	char state_path[NP_STORE_PATH + 64];
	double date; /* of the result, seconds since 1970 */
};

/*
 * Open the store and check that the result can be written, so that a user
 * without permission learns it now and not after an hour of measurements. The
 * directory is that of np_fabric_store_save(). Returns 0 or -errno with err.
 */
static int check_store(struct fabric_work *work, struct np_err *err)
{
	const char *store = work->at.conf.store;
	char name[NP_APP_MAX + 1];
	struct np_dir dir;
	int rc = np_store_open(store, &work->store, err);

	if (rc)
		return rc;
	if (!work->at.cluster || np_app_from_text(work->at.cluster, name))
		strcpy(name, "cluster");
	rc = np_dir_open_fabric(work->store, name, !work->opt->dry_run, &dir,
				err);
	if (rc == -ENOENT && work->opt->dry_run) {
		snprintf(work->dir, sizeof(work->dir), "%s", store);
		return 0;
	}
	if (rc)
		return rc == -ENOENT ? np_errf(err, rc, "%s: %s", store,
					       strerror(-rc)) :
				       rc;
	if (!work->opt->dry_run && faccessat(dir.fd, ".", W_OK, AT_EACCESS))
		rc = np_errf(err, -errno,
			     "%s: %s; only an administrator can store a "
			     "calibration; --output=FILE writes it to a file",
			     dir.path, strerror(errno));
	strcpy(work->dir, dir.path);
	np_dir_close(&dir);
	return rc;
}

/*
 * Describe everything that must be equal for measurements to be combined: the
 * nodes, the transport, the lengths and the levels. Returns malloc'ed text, or
 * NULL if memory is short.
 */
static char *describe_setup(const struct fabric_work *work)
{
	const struct np_cal_setup *setup = &work->c.setup;
	const struct np_cal_roles *roles = &work->roles;
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return NULL;
	fprintf(f,
		"cluster=%s nodes=%s leaf=%s victim=%s aggressor=%s across=%s/%s",
		work->at.cluster ? work->at.cluster : "", work->at.nodes,
		roles->leaf, roles->victim.list,
		roles->aggressor.n ? roles->aggressor.list : "",
		roles->victim_across.n ? roles->victim_across.list : "",
		roles->aggressor_across.n ? roles->aggressor_across.list : "");
	fprintf(f,
		" transport=%s bytes=%u period=%g per_node=%u seconds=%g "
		"probe_seconds=%g levels=",
		work->query.transport, work->at.conf.message_bytes,
		work->at.conf.period_sec, work->at.conf.per_node,
		setup->seconds, setup->probe_seconds);
	for (size_t i = 0; i < setup->n_levels; i++)
		fprintf(f, "%s%s", i ? "," : "", setup->level[i].name);
	return np_text_close(f, &text);
}

/*
 * Set state_path: a hidden file next to the result. In the store its name has
 * a hash of the setup, so that different calibrations do not collide.
 */
static void set_state_path(struct fabric_work *work, const char *setup)
{
	if (work->opt->output)
		snprintf(work->state_path, sizeof(work->state_path),
			 "%s.unfinished", work->opt->output);
	else
		snprintf(work->state_path, sizeof(work->state_path),
			 "%s/.unfinished-%016" PRIx64, work->dir,
			 np_hash(NP_HASH, setup, strlen(setup)));
}

/*
 * Continue from the state file, or begin a new calibration if there is none, or
 * with --fresh.
 */
static int load_state(struct fabric_work *work, const char *setup,
		      struct np_err *err)
{
	struct np_cal_state old;
	char date[40];
	time_t t;
	int rc = work->opt->fresh ?
		       -ENOENT :
		       np_cal_state_load(work->state_path, &old, err);

	if (!rc && strcmp(old.setup, setup)) {
		np_cal_state_free(&old);
		return np_errf(err, -EEXIST,
			       "%s belongs to a calibration with other nodes "
			       "or options; --fresh discards it",
			       work->state_path);
	}
	if (!rc) {
		work->state = old;
		t = (time_t)old.begun;
		strftime(date, sizeof(date), "%Y-%m-%d %H:%M", localtime(&t));
		fprintf(stderr, "continuing the calibration begun on %s\n",
			date);
		return 0;
	}
	if (rc != -ENOENT)
		return rc;
	return np_cal_state_init(&work->state, setup, work->date) ?
		       np_errf(err, -ENOMEM, "out of memory") :
		       0;
}

/* ---- the fabric: measurement ---- */

/*
 * Query the nodes of the allocation, and decide on which the load runs and on
 * which its effect is measured, and which levels are possible there.
 */
static int query_nodes(struct fabric_work *work, struct np_err *err)
{
	struct np_cal_setup *setup = &work->c.setup;
	int rc = np_cal_run_query(work->c.run, work->at.nodes, work->at.n_nodes,
				  &work->query, err);

	if (!rc)
		rc = np_cal_roles_make(work->query.node, work->query.n,
				       &work->roles, err);
	if (rc)
		return rc;
	for (int i = 0; i < NP_N_SCOPES; i++)
		setup->has[i] =
			np_cal_roles_aggressor(&work->roles, (enum np_scope)i)
				->n > 0;
	if (work->opt->scope_given && !setup->has[work->opt->scope])
		return np_errf(err, -EINVAL,
			       "--scope=%s needs at least four nodes on one "
			       "leaf switch",
			       np_scope_name(work->opt->scope));
	work->c.roles = &work->roles;
	return np_cal_levels_parse(work->opt->levels, work->roles.victim.n,
				   setup->level, &setup->n_levels, err);
}

/*
 * Callback after each measurement, so that no finished one is lost, whatever
 * ends the process.
 */
static int save_state(void *arg, const struct np_cal_state *state,
		      struct np_err *err)
{
	const struct fabric_work *work = arg;

	return np_cal_state_save(work->state_path, state, err);
}

/*
 * Publish the idle latencies of the calibration as an idle run as well, since
 * profiles are compared with idle runs. A failure is reported and ignored: the
 * calibration itself is complete.
 */
static void publish_idle(const struct fabric_work *work,
			 const struct np_calibration *result)
{
	struct np_err err = NP_ERR_INIT;
	struct np_record *record =
		np_idle_of_calibration(result, np_date_sec());

	if (!record)
		return;
	record->uid = geteuid();
	if (np_store_save(work->store, NP_STORE_PUBLISHED, record, &err))
		fprintf(stderr,
			"netprof: the idle latencies could not be published as "
			"a profile: %s\n",
			err.text);
	np_record_free(record);
}

/*
 * Save and print the result. The state file is removed only when the result has
 * been written, so that a failure to write loses nothing.
 */
static int finish_calibration(struct fabric_work *work, struct np_err *err)
{
	const struct np_calibration_conditions conditions = {
		.c = &work->c,
		.cluster = work->at.cluster,
		.transport = work->query.transport,
		.ucx_version = work->query.version,
		.rail = work->opt->rail,
		.date = work->date,
		.message_bytes = work->at.conf.message_bytes,
		.period_sec = work->at.conf.period_sec,
	};
	struct np_calibration result;
	bool is_parsed;
	char *text;
	int rc = np_calibrate_result(&conditions, &text, err);

	if (rc)
		return rc;
	rc = work->opt->output ?
		     cli_write_in_place(work->opt->output, text, "\n", err) :
		     np_fabric_store_save(work->store, work->at.cluster,
					  work->date, text, err);
	is_parsed = !rc && !np_calibration_parse(text, strlen(text), "",
						 &result, NULL);
	free(text);
	if (rc)
		return rc;
	if (is_parsed && !work->opt->output)
		publish_idle(work, &result);
	unlink(work->state_path);
	print_result(&work->c, is_parsed ? result.fabric : NULL);
	if (is_parsed)
		np_calibration_free(&result);
	return 0;
}

/*
 * Measure what is missing and save the result. Interruptions keep the state
 * file; the next call continues from it.
 */
static int measure_fabric(struct fabric_work *work, struct np_err *err)
{
	struct np_cal_estimate estimate = np_calibrate_estimate(&work->c);
	int rc;

	print_plan(&work->c, &work->roles, &estimate);
	if (work->opt->dry_run)
		return 0;
	rc = np_calibrate_measure(&work->c, err);
	if (rc == -EINTR || rc == -EPIPE || rc == -ETIMEDOUT)
		fprintf(stderr,
			"%snetprof: the finished measurements are kept; run "
			"the same command to continue\n",
			isatty(STDERR_FILENO) ? "\n" : "");
	if (rc)
		return rc;
	work->date = (double)time(NULL);
	return finish_calibration(work, err);
}

/* Find out what to measure, and which of it an earlier call has measured. */
static int prepare_state(struct fabric_work *work, struct np_err *err)
{
	char *setup;
	int rc = query_nodes(work, err);

	if (rc)
		return rc;
	setup = describe_setup(work);
	if (!setup)
		return np_errf(err, -ENOMEM, "out of memory");
	set_state_path(work, setup);
	rc = load_state(work, setup, err);
	free(setup);
	return rc;
}

static void apply_options(struct fabric_work *work)
{
	const struct calibrate_opt *opt = work->opt;
	struct np_cal_setup *setup = &work->c.setup;

	setup->keep = opt->n_selected;
	setup->repeats = opt->repeats ? opt->repeats : 3;
	setup->seconds = opt->seconds;
	setup->probe_seconds = opt->probe_seconds ?
				       opt->probe_seconds :
				       NP_CAL_PROBE_FACTOR * opt->seconds;
	work->c.state = &work->state;
	work->c.scope_given = opt->scope_given;
	work->c.scope = opt->scope;
	work->c.save = save_state;
	work->c.progress = show_progress;
	work->c.arg = work;
	work->date = (double)time(NULL);
}

/*
 * Copy the name of the adapter that leads to a rail, which must be the same on
 * all nodes.
 */
static int find_adapter(const struct np_topo *topo, const char *file,
			const char *rail, char *nic, size_t size,
			struct np_err *err)
{
	*nic = '\0';
	for (size_t i = 0; i < topo->n; i++) {
		const char *adapter = topo->leaf[i].nic;

		if (strcmp(topo->leaf[i].rail, rail))
			continue;
		if (*nic && strcmp(nic, adapter))
			return np_errf(err, -EINVAL,
				       "%.100s: nodes reach rail %s over %s "
				       "and %s; expected one name",
				       file, rail, nic, adapter);
		snprintf(nic, size, "%s", adapter);
	}
	return *nic ? 0 :
		      np_errf(err, -EINVAL,
			      "--rail=%.60s: there is no such rail in %.100s",
			      rail, file);
}

/*
 * --rail: let probes and levels run over the adapter that leads to it, instead
 * of a device in Transport=ofi:PROVIDER/DEVICE.
 */
static int use_rail(struct np_conf *conf, const char *rail, struct np_err *err)
{
	struct np_topo topo;
	int rc;

	if (!rail)
		return 0;
	if (!conf->rails[0])
		return np_errf(err, -EINVAL,
			       "--rail=%.60s: netprof.conf has no Rails", rail);
	rc = np_rails_load(conf->rails, &topo, err);
	if (rc)
		return rc;
	rc = find_adapter(&topo, conf->rails, rail, conf->net_devices,
			  sizeof(conf->net_devices), err);
	np_topo_free(&topo);
	conf->transport[strcspn(conf->transport, "/")] = '\0';
	return rc;
}

/*
 * What can fail for lack of permission or a setting comes before the first
 * measurement.
 */
static int run_fabric(struct fabric_work *work, struct np_err *err)
{
	int rc = cli_alloc_find(&work->at, 8, "calibrate", err);

	if (!rc)
		rc = use_rail(&work->at.conf, work->opt->rail, err);
	if (!rc && !work->opt->output)
		rc = check_store(work, err);
	if (!rc)
		rc = cli_alloc_env(&work->at, err);
	if (rc)
		return rc;
	work->steps.conf = &work->at.conf;
	work->steps.job = work->at.job;
	work->steps.stop = cli_alloc_catch_signals();
	work->steps.env = work->at.env;
	work->c.run =
		np_cal_run_new(&np_cal_srun_ops, &work->steps, &work->c.setup);
	if (!work->c.run)
		return np_errf(err, -ENOMEM, "out of memory");
	apply_options(work);
	rc = prepare_state(work, err);
	return rc ? rc : measure_fabric(work, err);
}

/* Returns the exit status. */
static int calibrate_fabric(const struct calibrate_opt *opt)
{
	static struct fabric_work work;
	struct np_err err = NP_ERR_INIT;
	int rc;

	work.opt = opt;
	cli_alloc_catch_signals();
	rc = run_fabric(&work, &err);
	np_cal_run_free(work.c.run);
	np_cal_state_free(&work.state);
	np_cal_roles_free(&work.roles);
	np_store_close(work.store);
	cli_alloc_free(&work.at);
	return rc ? cli_fail("%s", err.text) : CLI_DONE;
}

/* ---- an application: the runs that its curve still lacks ---- */

#define MAX_JOBS 1000 /* that one call submits */

struct app_plan {
	struct np_runs runs;
	struct np_calibration fabric; /* valid if calibrated */
	bool calibrated;
	struct np_curve_levels levels;
	/* Of each job to submit: an index into levels, or NP_PLANNER_ALONE. */
	long job[MAX_JOBS];
	size_t n;
};

/* The scope of the program's latest run under a load level; NULL: none yet. */
static const char *last_scope(const struct np_runs *runs)
{
	for (size_t i = 0; i < runs->n; i++)
		if (runs->run[i]->level)
			return runs->run[i]->level->scope;
	return NULL;
}

/*
 * Load the runs of the program, and a calibration: of the cluster of its newest
 * run, and at the scope at which it was measured so far, or else at any. It is
 * no error if there are no runs or no calibration.
 */
static int load_runs(struct app_plan *plan, struct cli_store *store,
		     const char *app, struct np_err *err)
{
	const char *cluster = NULL;
	int rc = np_store_load(store->store, NP_STORE_USER, geteuid(), app,
			       cli_warn_line, NULL, &plan->runs, err);

	if (rc && rc != -ENOENT)
		return rc;
	if (plan->runs.n)
		cluster = plan->runs.run[0]->cluster;
	plan->calibrated = !np_fabric_store_load(store->store, cluster,
						 last_scope(&plan->runs),
						 &plan->fabric, NULL) ||
			   !np_fabric_store_load(store->store, cluster, NULL,
						 &plan->fabric, NULL);
	np_curve_levels_make(plan->calibrated ? &plan->fabric : NULL,
			     &plan->levels);
	return 0;
}

/*
 * Plan the jobs: take the next run that is needed, count it as done, and repeat
 * this until the curve is complete. repeats: runs per level; without load there
 * are at least NP_PLANNER_RUNS_ALONE.
 */
static void plan_jobs(struct app_plan *plan, unsigned repeats)
{
	const struct np_run_summary_opt opt = {
		.calibration = plan->calibrated ? &plan->fabric : NULL,
		.scope = last_scope(&plan->runs),
		.now = (double)time(NULL),
	};
	struct np_run_summary summary;
	struct np_mean alone;

	cli_check_memory(np_run_summary_make(&plan->runs, &opt, &summary));
	np_curve_count(&summary, opt.scope, &plan->levels, &alone);
	np_run_summary_free(&summary);
	while (plan->n < MAX_JOBS) {
		long i = np_planner_next(plan->levels.level, plan->levels.n,
					 &alone, repeats,
					 repeats > NP_PLANNER_RUNS_ALONE ?
						 repeats :
						 NP_PLANNER_RUNS_ALONE);

		if (i == NP_PLANNER_COMPLETE)
			break;
		plan->job[plan->n++] = i;
		if (i == NP_PLANNER_ALONE)
			alone.n++;
		else
			plan->levels.level[i].run_sec.n++;
	}
}

/* Planned jobs at one level, or without load for NP_PLANNER_ALONE. */
static size_t count_jobs(const struct app_plan *plan, long what)
{
	size_t n = 0;

	for (size_t i = 0; i < plan->n; i++)
		n += plan->job[i] == what;
	return n;
}

/* Standard error, because the commands of --dry-run go to standard output. */
static void print_jobs(const struct app_plan *plan, const char *app)
{
	struct listed_level level[NP_FABRIC_MAX_LEVELS];
	const char *label = "estimated utilisation ";

	if (!plan->n) {
		fprintf(stderr,
			"netprof: %s: the sensitivity curve is complete; "
			"--repeats=N adds more runs\n",
			app);
		return;
	}
	fprintf(stderr, "%s: %zu %s: %zu without load", app, plan->n,
		plan->n == 1 ? "job" : "jobs one after the other",
		count_jobs(plan, NP_PLANNER_ALONE));
	sort_levels(plan->calibrated ? plan->fabric.fabric : NULL,
		    plan->levels.name, plan->levels.n, level);
	for (size_t i = 0; i < plan->levels.n; i++) {
		size_t n = count_jobs(plan, (long)level[i].index);

		if (!n)
			continue;
		fprintf(stderr, ", %zu under %s", n,
			plan->levels.name[level[i].index]);
		if (!isnan(level[i].utilisation)) {
			fprintf(stderr, " (%s%.2f)", label,
				level[i].utilisation);
			label = ""; /* only in front of the first */
		}
	}
	fputc('\n', stderr);
	if (!plan->calibrated)
		fprintf(stderr,
			"netprof: this fabric is not calibrated, so the load "
			"levels are c0 to c7; see netprof calibrate\n");
}

/*
 * Make the command of a job. Our options come right after "sbatch", because
 * after the script they would be its arguments. The caller frees the list; its
 * words are borrowed, and ours are those of cli_text().
 */
static char **make_submission(const struct calibrate_opt *opt,
			      const struct app_plan *plan, long job)
{
	char **argv = cli_calloc((size_t)opt->argc + 4, sizeof(*argv));
	int n = 0;

	argv[n++] = opt->argv[0];
	argv[n++] = (char *)cli_text("--netprofile=%s", opt->app);
	if (job >= 0)
		argv[n++] = (char *)cli_text("--netprofile-compress=%s",
					     plan->levels.name[job]);
	/* One at a time, so that the runs do not disturb each other. */
	argv[n++] = (char *)"--dependency=singleton";
	for (int i = 1; i < opt->argc; i++)
		argv[n++] = opt->argv[i];
	return argv;
}

/* Print a word as a shell reads it, in quotes only if it needs them. */
static void print_word(const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789%+,-./:=@_";

	if (*word && !word[strspn(word, plain)]) {
		fputs(word, stdout);
		return;
	}
	putchar('\'');
	for (; *word; word++)
		if (*word == '\'')
			fputs("'\\''", stdout);
		else
			putchar(*word);
	putchar('\'');
}

static void print_command(char *const argv[])
{
	for (size_t i = 0; argv[i]; i++) {
		if (i)
			putchar(' ');
		print_word(argv[i]);
	}
	putchar('\n');
}

/* Run sbatch. Returns its exit status, 127 if it cannot be run, or -errno. */
static int submit(char *const argv[])
{
	pid_t pid;
	int status;

	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		execvp(argv[0], argv);
		_exit(127);
	}
	if (pid < 0)
		return -errno;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/*
 * Submit or print all jobs. Stop at the first failure, because its reason is
 * most likely the same for all; the next call submits what is then missing.
 * Returns the exit status.
 */
static int submit_all(const struct calibrate_opt *opt,
		      const struct app_plan *plan)
{
	for (size_t i = 0; i < plan->n; i++) {
		char **argv = make_submission(opt, plan, plan->job[i]);
		int rc = 0;

		if (opt->dry_run)
			print_command(argv);
		else
			rc = submit(argv);
		free(argv);
		if (rc == 127)
			return cli_fail("%s: cannot be run", opt->argv[0]);
		if (rc)
			return cli_fail("submission %zu of %zu failed; run the "
					"same command again when the submitted "
					"jobs have ended",
					i + 1, plan->n);
	}
	return CLI_DONE;
}

/* With --app: plan the runs that are missing, and submit them. Exit status. */
static int calibrate_app(const struct calibrate_opt *opt)
{
	static struct app_plan plan;
	struct np_err err = NP_ERR_INIT;
	struct cli_store store;
	int rc = cli_store_open(&store);

	if (rc >= 0)
		return rc;
	if (load_runs(&plan, &store, opt->app, &err)) {
		rc = cli_fail("%s", err.text);
	} else {
		plan_jobs(&plan, opt->repeats ? opt->repeats : NP_PLANNER_RUNS);
		print_jobs(&plan, opt->app);
		rc = submit_all(opt, &plan);
	}
	if (plan.calibrated)
		np_calibration_free(&plan.fabric);
	np_runs_free(&plan.runs);
	cli_store_close(&store);
	return rc;
}

/* ---- command line ---- */

/*
 * --scope: the load can be applied on the same nodes or on others of the leaf
 * switch, but not across an uplink.
 */
static int take_scope(char *text, void *own, struct np_err *err)
{
	struct calibrate_opt *opt = own;

	opt->scope_given = true;
	if (!strcmp(text, "leaf"))
		opt->scope = NP_SCOPE_LEAF;
	else if (!strcmp(text, "node"))
		opt->scope = NP_SCOPE_NODE;
	else
		return np_errf(err, -EINVAL,
			       "--scope=%.40s: expected leaf or node", text);
	return 0;
}

static int take_levels(char *text, void *own, struct np_err *err)
{
	struct np_level level[NP_CAL_MAX_LEVELS];
	struct calibrate_opt *opt = own;
	size_t n;

	opt->levels = text;
	/*
	 * The number of nodes is not known yet. Parsing for the largest one
	 * reports a misspelt name before anything is measured.
	 */
	return np_cal_levels_parse(text, NP_LEVEL_MAX_PEERS, level, &n, err);
}

static int take_app(char *text, void *own, struct np_err *err)
{
	struct calibrate_opt *opt = own;

	opt->app = text;
	return np_app_check(text, err);
}

#define AT(member) offsetof(struct calibrate_opt, member)

static const struct np_option options[] = {
	{ "levels", NP_OPTION_TAKE, .take = take_levels },
	{ "choose", NP_OPTION_COUNT, AT(n_selected), 2, NP_CAL_MAX_LEVELS },
	{ "seconds", NP_OPTION_SECONDS, AT(seconds), 0.5, 3600 },
	{ "probe-seconds", NP_OPTION_SECONDS, AT(probe_seconds), 0.5, 3600 },
	{ "repeats", NP_OPTION_COUNT, AT(repeats), 1, NP_CAL_MAX_REPEATS },
	{ "scope", NP_OPTION_TAKE, .take = take_scope },
	{ "rail", NP_OPTION_WORD, AT(rail) },
	{ "output", NP_OPTION_WORD, AT(output) },
	{ "fresh", NP_OPTION_FLAG, AT(fresh) },
	{ "dry-run", NP_OPTION_FLAG, AT(dry_run), .letter = 'n' },
	{ "app", NP_OPTION_TAKE, .take = take_app },
	{ NULL },
};

/* Is an option given that only the measurement of a fabric uses? */
static bool measures_fabric(const struct calibrate_opt *opt)
{
	return opt->levels || opt->n_selected || opt->seconds ||
	       opt->probe_seconds || opt->scope_given || opt->rail ||
	       opt->output || opt->fresh;
}

/*
 * Parse the command line. Words are allowed only with --app, where they are the
 * sbatch command. Returns -1 to continue, or the exit status.
 */
static int parse(const struct cli_cmd *self, int argc, char **argv,
		 struct calibrate_opt *opt)
{
	struct cli_options given;
	int rc = cli_options_parse(self, argc, argv, opt, &given);

	if (rc >= 0)
		return rc;
	opt->argc = (int)given.n_apps;
	opt->argv = given.apps;
	if (!opt->app && opt->argc)
		return cli_usage(self, "unexpected argument \"%.64s\"",
				 opt->argv[0]);
	if (opt->app && measures_fabric(opt))
		return cli_usage(self,
				 "with --app only --repeats and --dry-run have "
				 "an effect; options of sbatch follow --");
	if (opt->app && !opt->argc)
		return cli_usage(
			self, "--app=%.64s needs the sbatch command, after --",
			opt->app);
	if (opt->app && strcmp(basename(opt->argv[0]), "sbatch"))
		return cli_usage(self,
				 "%.64s: expected sbatch and its arguments",
				 opt->argv[0]);
	if (!opt->levels)
		opt->levels = "default";
	if (!opt->n_selected)
		opt->n_selected = NP_CAL_LEVELS;
	if (!opt->seconds)
		opt->seconds = 3;
	return -1;
}

static int run_calibrate(const struct cli_cmd *self, int argc, char **argv)
{
	struct calibrate_opt opt = { .levels = NULL };
	int rc = parse(self, argc, argv, &opt);

	if (rc >= 0)
		return rc;
	return opt.app ? calibrate_app(&opt) : calibrate_fabric(&opt);
}

const struct cli_cmd cmd_calibrate = {
	.name = "calibrate",
	.args = "[OPTIONS] | --app=APP [OPTIONS] -- sbatch ...",
	.help = "measure the fabric, or a program, under synthetic load",
	.text = "Without --app, measures the fabric: its latencies when idle and under each load\n"
		"level, how much the levels slow each other, and how much of that remains on\n"
		"other nodes of a leaf switch and across its uplink. Run it as an administrator\n"
		"inside an allocation of idle nodes (salloc -N8 --exclusive), while nothing else\n"
		"uses these leaf switches. You can interrupt it at any time, and run the same\n"
		"command on the same nodes to continue. Earlier calibrations are kept.\n\n"
		"  --levels=LIST        \"default\" (c0 to c7), \"all\" (the 40 of the\n"
		"                       publication) or levels separated by commas\n"
		"  --choose=N           if there are more levels, put N into the table\n"
		"                       (default 8)\n"
		"  --seconds=SEC        length of each measurement (default 3)\n"
		"  --probe-seconds=SEC  length of measurements with probes (default 5 times\n"
		"                       --seconds)\n"
		"  --repeats=N          repetitions of the table (default 3)\n"
		"  --scope=leaf|node    apply the load on other nodes of the leaf switch, or on\n"
		"                       the same nodes (default: leaf, if it has an effect)\n"
		"  --rail=NAME          measure on one of the nodes' rails (Rails in\n"
		"                       netprof.conf)\n"
		"  --output=FILE        write the result to FILE instead of the store\n"
		"  --fresh              discard what an interrupted calibration measured\n"
		"  --dry-run            print what would be measured and how long it would take\n\n"
		"With --app, submits the runs that the profile of a program still lacks, each\n"
		"under one load level or without load; the jobs run one after the other.\n\n"
		"  --repeats=N          runs under each load level (default 2)\n"
		"  --dry-run            print the commands instead",
	.examples = "  salloc -N8 --exclusive netprof calibrate\n"
		    "  salloc -N8 --exclusive netprof calibrate --dry-run\n"
		    "  netprof calibrate --app=lammps -- sbatch -N4 job.sh\n",
	.takes = CLI_TAKES_COMMAND,
	.own = options,
	.max_args = CLI_ANY,
	.run = run_calibrate,
};
