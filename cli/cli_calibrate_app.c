/* netprof calibrate --app: submits the runs that a curve still lacks. */
#include "cli_calibrate.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli_profile.h"
#include "np_curve_count.h"

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

int calibrate_app(const struct calibrate_opt *o)
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
