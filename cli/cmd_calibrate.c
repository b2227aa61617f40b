/* netprof calibrate: what a fabric does to levels, and levels to a program. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli_calibrate.h"
#include "cli_options.h"
#include "cli_profile.h"
#include "np_app.h"
#include "np_curve_count.h"

/* With --app: submits the runs that a curve still lacks. */

#define MAX_JOBS 1000

struct plan {
	struct np_runs runs;
	struct np_calibration fabric;
	bool calibrated;
	struct np_curve_levels levels;
	long job[MAX_JOBS]; /* a level, or NP_NEED_ALONE */
	size_t n;
};

/* Where this program's levels ran last; NULL: not known. */
static const char *last_scope(const struct np_runs *runs)
{
	for (size_t i = 0; i < runs->n; i++)
		if (runs->run[i]->level)
			return runs->run[i]->level->scope;
	return NULL;
}

static int load(struct plan *p, struct cli_store *s, const char *app,
		struct np_err *err)
{
	const char *cluster = NULL;
	int rc = np_store_load(s->store, NP_STORE_USER, geteuid(), app,
			       cli_pass_on, NULL, &p->runs, err);

	if (rc && rc != -ENOENT)
		return rc;
	if (p->runs.n)
		cluster = p->runs.run[0]->cluster;
	p->calibrated = !np_fabric_store_load(s->store, cluster,
					      last_scope(&p->runs), &p->fabric,
					      NULL) ||
			!np_fabric_store_load(s->store, cluster, NULL,
					      &p->fabric, NULL);
	rc = np_curve_levels_make(p->calibrated ? &p->fabric : NULL,
				  &p->levels);
	return rc ? np_errf(err, rc, "out of memory") : 0;
}

static int make(struct plan *p, unsigned repeats)
{
	const struct np_evidence_opt opt = {
		.calibration = p->calibrated ? &p->fabric : NULL,
		.scope = last_scope(&p->runs), .now = (double)time(NULL),
	};
	struct np_evidence e;
	struct np_mean alone;
	int rc = np_evidence_make(&p->runs, &opt, &e);

	if (rc)
		return rc;
	np_curve_count(&e, &p->runs, opt.scope, &p->levels, &alone);
	np_evidence_free(&e);
	while (p->n < MAX_JOBS) {
		long i = np_need_next(p->levels.level, p->levels.n, &alone,
				      repeats, repeats > NP_NEED_RUNS_ALONE ?
				      repeats : NP_NEED_RUNS_ALONE);

		if (i == NP_NEED_COMPLETE)
			break;
		p->job[p->n++] = i;
		if (i == NP_NEED_ALONE)
			alone.n++;
		else
			p->levels.level[i].run_sec.n++;
	}
	return 0;
}

static size_t count(const struct plan *p, long what)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n; i++)
		n += p->job[i] == what;
	return n;
}

static void say(const struct plan *p, const char *app)
{
	if (!p->n) {
		fprintf(stderr, "netprof: %s: the curve is complete; more by "
			"--repeats=N\n", app);
		return;
	}
	fprintf(stderr, "%s: %zu %s one after the other: %zu alone", app, p->n,
		p->n == 1 ? "job" : "jobs", count(p, NP_NEED_ALONE));
	for (size_t i = 0; i < p->levels.n; i++)
		if (count(p, (long)i))
			fprintf(stderr, ", %zu beside %s", count(p, (long)i),
				p->levels.name[i]);
	fputc('\n', stderr);
	if (!p->calibrated)
		fprintf(stderr, "netprof: this fabric is not calibrated: the "
			"levels are c0 to c7; see netprof calibrate\n");
}

/* sbatch, our options, and all that the user said. */
struct command {
	char app[NP_APP_MAX + 32], level[NP_LEVEL_NAME + 32];
	char **argv;
};

static int command(const struct calibrate_opt *o, const struct plan *p,
		   long job, struct command *c)
{
	int n = 0;

	c->argv = calloc((size_t)o->argc + 4, sizeof(*c->argv));
	if (!c->argv)
		return -ENOMEM;
	snprintf(c->app, sizeof(c->app), "--netprofile=%s", o->app);
	c->argv[n++] = o->argv[0];
	c->argv[n++] = c->app;
	if (job >= 0) {
		snprintf(c->level, sizeof(c->level),
			 "--netprofile-compress=%s", p->levels.name[job]);
		c->argv[n++] = c->level;
	}
	/* One at a time, so that they do not measure each other. */
	c->argv[n++] = (char *)"--dependency=singleton";
	for (int i = 1; i < o->argc; i++)
		c->argv[n++] = o->argv[i];
	return 0;
}

static void print(char *const argv[])
{
	for (size_t i = 0; argv[i]; i++)
		printf("%s%s", i ? " " : "", argv[i]);
	putchar('\n');
}

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

static int submit_all(const struct calibrate_opt *o, const struct plan *p)
{
	for (size_t i = 0; i < p->n; i++) {
		struct command c;
		int rc = command(o, p, p->job[i], &c);

		if (rc)
			return cli_fail("out of memory");
		if (o->dry_run)
			print(c.argv);
		else
			rc = submit(c.argv);
		free(c.argv);
		if (rc == 127)
			return cli_fail("%s: cannot be run", o->argv[0]);
		if (rc)
			return cli_fail("submission %zu of %zu failed; the "
					"same command goes on when the jobs "
					"have run", i + 1, p->n);
	}
	return CLI_DONE;
}

static int calibrate_app(const struct calibrate_opt *o)
{
	static struct plan p;
	struct np_err err = NP_ERR_INIT;
	struct cli_store s;
	int rc;

	if (strcmp(basename(o->argv[0]), "sbatch"))
		return cli_fail("%.64s: expected sbatch and its arguments",
				o->argv[0]);
	rc = cli_store_open(&s);
	if (rc >= 0)
		return rc;
	if (load(&p, &s, o->app, &err)) {
		rc = cli_fail("%s", err.text);
	} else if (make(&p, o->repeats ? o->repeats : NP_NEED_RUNS)) {
		rc = cli_fail("out of memory");
	} else {
		say(&p, o->app);
		rc = submit_all(o, &p);
	}
	np_curve_levels_free(&p.levels);
	if (p.calibrated)
		np_calibration_free(&p.fabric);
	np_runs_free(&p.runs);
	cli_store_close(&s);
	return rc;
}

static int take_scope(char *text, void *ask, struct np_err *err)
{
	struct calibrate_opt *o = ask;

	o->scope_given = true;
	if (!strcmp(text, "leaf"))
		o->scope = NP_SCOPE_LEAF;
	else if (!strcmp(text, "node"))
		o->scope = NP_SCOPE_NODE;
	else
		return np_errf(err, -EINVAL, "--scope=%.40s: expected leaf or "
			       "node", text);
	return 0;
}

static int take_levels(char *text, void *ask, struct np_err *err)
{
	struct np_level level[NP_CAL_MAX_LEVELS];
	struct calibrate_opt *o = ask;
	size_t n;

	o->levels = text;
	/* On however many nodes: names that are wrong are told at once. */
	return np_cal_levels_parse(text, NP_LEVEL_MAX_PARTNERS, level, &n, err);
}

static int take_app(char *text, void *ask, struct np_err *err)
{
	struct calibrate_opt *o = ask;

	o->app = text;
	return np_app_check(text, err);
}

#define AT(member) offsetof(struct calibrate_opt, member)

static const struct np_option options[] = {
	{ "levels", NP_OPTION_TAKE, .take = take_levels },
	{ "choose", NP_OPTION_COUNT, AT(keep), 2, NP_CAL_MAX_LEVELS },
	{ "seconds", NP_OPTION_SECONDS, AT(seconds), 0.5, 3600 },
	{ "probe-seconds", NP_OPTION_SECONDS, AT(probe_seconds), 0.5, 3600 },
	{ "repeats", NP_OPTION_COUNT, AT(repeats), 1, NP_CAL_MAX_REPEATS },
	{ "scope", NP_OPTION_TAKE, .take = take_scope },
	{ "output", NP_OPTION_WORD, AT(output) },
	{ "fresh", NP_OPTION_FLAG, AT(fresh) },
	{ "dry-run", NP_OPTION_FLAG, AT(dry_run), .letter = 'n' },
	{ "app", NP_OPTION_TAKE, .take = take_app },
	{ NULL },
};

static int parse(const struct cli_cmd *self, int argc, char **argv,
		 struct calibrate_opt *o)
{
	struct cli_options given;
	int rc = cli_options_parse(self, argc, argv, o, &given);

	if (rc >= 0)
		return rc;
	o->argc = (int)given.n_apps;
	o->argv = given.apps;
	if (!o->app && o->argc)
		return cli_usage(self, "unexpected argument \"%.64s\"",
				 o->argv[0]);
	if (o->app && !o->argc)
		return cli_usage(self, "the sbatch command is missing");
	return -1;
}

static int run_calibrate(const struct cli_cmd *self, int argc, char **argv)
{
	struct calibrate_opt o = {
		.levels = "default", .keep = NP_CAL_LEVELS, .seconds = 3,
	};
	int rc = parse(self, argc, argv, &o);

	if (rc >= 0)
		return rc;
	return o.app ? calibrate_app(&o) : calibrate_fabric(&o);
}

const struct cli_cmd cmd_calibrate = {
	.name = "calibrate",
	.args = "[OPTIONS] | --app=APP [OPTIONS] -- sbatch ...",
	.help = "measure what interference does, to the fabric or a program",
	.text =
"Without --app, inside an allocation of idle nodes (salloc -N8 --exclusive),\n"
"for an administrator: how the fabric behaves when idle and under each\n"
"interference level, how the levels slow each other, and how much is felt\n"
"on the same nodes, on other nodes of a leaf switch, and across its uplink.\n"
"Nothing else may use these leaf switches meanwhile.  It can be stopped at\n"
"any moment; the same command on the same nodes goes on.  Earlier\n"
"calibrations are kept.\n\n"
"  --levels=LIST        \"default\" (c0 to c7), \"all\" (the 40 of the\n"
"                       publication) or levels separated by commas\n"
"  --choose=N           of more levels, take N into the table (default 8)\n"
"  --seconds=SEC        of each measurement (default 3)\n"
"  --probe-seconds=SEC  of measurements with probes (default 5 times that)\n"
"  --repeats=N          of the table (default 3)\n"
"  --scope=leaf|node    levels press on other nodes of the leaf, or on the\n"
"                       same nodes (default: leaf, if that is felt)\n"
"  --output=FILE        write FILE, not the store\n"
"  --fresh              do not go on with what was measured before\n"
"  --dry-run            say what would be done and how long it would take\n\n"
"With --app: submits the runs of a program that its profile still needs, one\n"
"after the other, each beside the level it needs.\n\n"
"  --repeats=N          runs beside each level (default 2)\n"
"  --dry-run            print the commands",
	.examples =
"  salloc -N8 --exclusive netprof calibrate\n"
"  salloc -N8 --exclusive netprof calibrate --dry-run\n"
"  netprof calibrate --app=lammps -- sbatch -N4 job.sh\n",
	.takes = CLI_TAKES_COMMAND, .own = options, .most = CLI_ANY,
	.run = run_calibrate,
};
