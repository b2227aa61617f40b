/* Runs of netprof validate: steps of the user's programs, and their times. */
#include "cli_validate.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli_text.h"
#include "np_calibrate_run.h"
#include "np_clock.h"
#include "np_sidestep.h"

#define TICK_MS 10
#define ATTEMPTS 3 /* of a run that does not end: starts of MPI can hang */
#define LEAST_LIMIT_SEC 120
#define LIMIT 20 /* times as long as it takes alone */

/* ---- where ---- */

int cli_validate_survey(struct cli_alloc *at, const struct np_validate_list *l,
			struct np_validate_sites *sites, char **transport,
			struct np_err *err)
{
	const struct np_cal_setup none = { .n_levels = 0 };
	struct np_cal_srun steps = {
		.conf = &at->conf, .job = at->job, .env = at->env,
		.stop = cli_alloc_stop(),
	};
	struct np_cal_run *run = np_cal_run_new(&np_cal_srun_ops, &steps,
						&none);
	struct np_cal_survey seen;
	int rc = run ? np_cal_run_survey(run, at->nodes, at->n_nodes, &seen,
					 err) :
		       np_errf(err, -ENOMEM, "out of memory");

	if (!rc)
		rc = np_validate_sites_make(seen.node, seen.n, l, sites, err);
	if (!rc) {
		*transport = strdup(seen.transport);
		if (!*transport) {
			np_validate_sites_free(sites);
			rc = np_errf(err, -ENOMEM, "out of memory");
		}
	}
	np_cal_run_free(run);
	return rc;
}

/* ---- one step ---- */

struct runner {
	struct cli_validate *v;
	const struct cli_alloc *at;
	const struct np_validate_sites *sites;
	const volatile sig_atomic_t *stop;
	char here[PATH_MAX]; /* the working directory */
	struct np_sidestep victim, corunner;
	bool has_victim, has_corunner;
};

static void add_words(struct np_args *args, const struct np_validate_words *w)
{
	for (size_t i = 0; i < w->n; i++)
		np_args_add(args, "%s", w->word[i]);
}

/* What the step's program writes: kept where the results are, for a look when it
 * fails. */
static void add_output(const struct runner *r, struct np_args *args,
		       const struct np_sidestep *step)
{
	const char *at = r->v->path[0] == '/' ? "" : r->here;

	np_args_add(args, "--output=%s%s%s.%s.out", at, *at ? "/" : "",
		    r->v->path, step == &r->victim ? "victim" : "corunner");
}

/* words NULL: nothing is to be done there. */
static int start(const struct runner *r, struct np_sidestep *step,
		 const struct np_validate_program *p,
		 const struct np_cal_hosts *hosts,
		 const struct np_validate_words *words, bool profile,
		 struct np_err *err)
{
	char *nodes = np_validate_hosts(hosts, p->nodes);
	struct np_args args = { .n = 0 };
	int rc;

	if (!nodes)
		return np_errf(err, -ENOMEM, "out of memory");
	np_args_add(&args, "%s", r->at->srun);
	np_args_add(&args, "--quiet");
	np_args_add(&args, "--overlap");
	np_args_add(&args, "--nodelist=%s", nodes);
	np_args_add(&args, "--nodes=%u", p->nodes);
	np_args_add(&args, "--ntasks=%u", p->nodes * p->per_node);
	np_args_add(&args, "--ntasks-per-node=%u", p->per_node);
	np_args_add(&args, "--distribution=block");
	if (p->directory)
		np_args_add(&args, "--chdir=%s", p->directory);
	if (profile) {
		np_args_add(&args, "--netprofile=%s", p->name);
		np_args_add(&args, "--netprofile-calibrate");
	}
	add_output(r, &args, step);
	add_words(&args, &p->srun);
	if (words)
		add_words(&args, words);
	else
		np_args_add(&args, "true");
	rc = np_sidestep_start(step, &args, environ, 0, err);
	np_args_free(&args);
	free(nodes);
	return rc;
}

static void drain(struct np_sidestep *step)
{
	struct pollfd p = { step->fd, POLLIN, 0 };

	poll(&p, 1, TICK_MS);
	np_sidestep_read(step, NULL, NULL);
}

static void end(struct np_sidestep *step, bool *has)
{
	struct np_sidestep_end ask = { .asked_sec = np_mono_sec() };
	int sig = SIGTERM;

	if (!*has)
		return;
	while (!np_sidestep_reap(step) && sig >= 0) {
		if (sig)
			np_sidestep_signal(step, sig);
		drain(step);
		sig = np_sidestep_end_due(&ask, np_mono_sec());
	}
	np_sidestep_close(step);
	*has = false;
}

static bool failed(const struct np_sidestep *step)
{
	return step->status != 0;
}

static int tell_failed(const struct runner *r, const char *name,
		       const struct np_sidestep *step, struct np_err *err)
{
	char cause[NP_ERR_LEN + 32];

	np_sidestep_cause(step, cause, sizeof(cause));
	return np_errf(err, -EPIPE, "%s failed: %s; what it wrote is in "
		       "%s.%s.out", name, cause, r->v->path,
		       step == &r->victim ? "victim" : "corunner");
}

/* ---- one run ---- */

static int start_corunner(struct runner *r, const struct np_validate_task *t,
			  struct np_err *err)
{
	const struct np_validate_program *p =
		&r->v->list.program[t->corunner];
	int rc = start(r, &r->corunner, p, t->kind == NP_PAIRS_APART ?
		       &r->sites->apart : &r->sites->corunner,
		       np_validate_longer(p), false, err);

	r->has_corunner = !rc;
	return rc;
}

/* It runs again and again as long as its victim does. */
static int keep_corunner(struct runner *r, const struct np_validate_task *t,
			 struct np_err *err)
{
	if (!r->has_corunner)
		return 0;
	np_sidestep_read(&r->corunner, NULL, NULL);
	if (!np_sidestep_reap(&r->corunner))
		return 0;
	np_sidestep_close(&r->corunner);
	r->has_corunner = false;
	if (failed(&r->corunner))
		return tell_failed(r, r->v->list.program[t->corunner].name,
				   &r->corunner, err);
	return start_corunner(r, t, err);
}

static int begin_corunner(struct runner *r, const struct np_validate_task *t,
			  struct np_err *err)
{
	double until;
	int rc;

	if (t->corunner == NP_CAL_NONE)
		return 0;
	until = np_mono_sec() + r->v->list.program[t->corunner].begins_sec;
	rc = start_corunner(r, t, err);
	while (!rc && np_mono_sec() < until) {
		if (*r->stop)
			return np_errf(err, -EINTR, "stopped");
		drain(&r->corunner);
		rc = keep_corunner(r, t, err);
	}
	return rc;
}

/* 0: it has ended; -ETIMEDOUT: it does not. */
static int wait_victim(struct runner *r, const struct np_validate_task *t,
		       double limit_sec, double *sec, struct np_err *err)
{
	const char *name = r->v->list.program[t->victim].name;
	double begin = np_mono_sec();
	int rc = 0;

	while (!rc) {
		drain(&r->victim);
		*sec = np_mono_sec() - begin;
		if (np_sidestep_reap(&r->victim))
			break;
		if (*r->stop)
			rc = np_errf(err, -EINTR, "stopped");
		else if (*sec > limit_sec)
			rc = np_errf(err, -ETIMEDOUT, "%s does not end within "
				     "%.0f s", name, limit_sec);
		else
			rc = keep_corunner(r, t, err);
	}
	if (rc)
		return rc;
	np_sidestep_close(&r->victim);
	r->has_victim = false;
	return failed(&r->victim) ? tell_failed(r, name, &r->victim, err) : 0;
}

static int run_once(struct runner *r, const struct np_validate_task *t,
		    double *date, double *sec, struct np_err *err)
{
	const struct np_validate_program *p = &r->v->list.program[t->victim];
	bool profile = t->kind == NP_PAIRS_PROFILE;
	const struct np_validate_words *words =
		t->kind == NP_PAIRS_LAUNCH ? NULL :
		profile ? np_validate_longer(p) : &p->run;
	double takes = np_validate_cost_sec(&r->v->list, &r->v->pairs, t);
	struct timespec now;
	int rc = begin_corunner(r, t, err);

	if (!rc) {
		clock_gettime(CLOCK_REALTIME, &now);
		*date = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
		rc = start(r, &r->victim, p, &r->sites->victim, words, profile,
			   err);
		r->has_victim = !rc;
	}
	if (!rc)
		rc = wait_victim(r, t, fmax(LIMIT * takes, LEAST_LIMIT_SEC),
				 sec, err);
	end(&r->victim, &r->has_victim);
	end(&r->corunner, &r->has_corunner);
	return rc;
}

static int keep(struct cli_validate *v, const struct np_validate_task *t,
		double date, double sec, struct np_err *err)
{
	struct np_pairs_run run = {
		.kind = t->kind, .repeat = t->repeat, .start = date,
		.sec = sec, .victim = strdup(v->list.program[t->victim].name),
	};

	if (t->corunner != NP_CAL_NONE)
		run.corunner = strdup(v->list.program[t->corunner].name);
	if (!run.victim || (t->corunner != NP_CAL_NONE && !run.corunner)) {
		free(run.victim);
		free(run.corunner);
		return np_errf(err, -ENOMEM, "out of memory");
	}
	if (np_pairs_add(&v->pairs, &run))
		return np_errf(err, -ENOMEM, "out of memory");
	v->pairs.date = date;
	return np_pairs_save(v->path, &v->pairs, err);
}

/* ---- all of them ---- */

static const char *say_task(const struct cli_validate *v,
			    const struct np_validate_task *t, char *buf,
			    size_t len)
{
	static const char *const how[] = {
		[NP_PAIRS_LAUNCH] = ", start alone", [NP_PAIRS_ALONE] = " alone",
		[NP_PAIRS_PROFILE] = ", profile", [NP_PAIRS_LEAF] = " beside ",
		[NP_PAIRS_APART] = " under another leaf than ",
	};

	snprintf(buf, len, "%s%s%s", v->list.program[t->victim].name,
		 how[t->kind], t->corunner == NP_CAL_NONE ? "" :
		 v->list.program[t->corunner].name);
	return buf;
}

double cli_validate_left_sec(const struct cli_validate *v,
			     const struct np_validate_task *task, size_t n)
{
	double sec = 0;

	for (size_t i = 0; i < n; i++)
		sec += np_validate_cost_sec(&v->list, &v->pairs, &task[i]);
	return sec;
}

/* On a terminal a line that changes, else one line a run that has ended. */
static void show(const struct cli_validate *v,
		 const struct np_validate_task *task, size_t i, size_t n,
		 double sec)
{
	bool ended = !isnan(sec);
	size_t done = i + ended;
	char what[256], left[CLI_NUMBER];

	say_task(v, &task[i], what, sizeof(what));
	cli_sec(cli_validate_left_sec(v, task + done, n - done), left);
	if (isatty(STDERR_FILENO)) {
		fprintf(stderr, "\r%3zu %%  %zu of %zu  about %s left  "
			"%.40s\033[K%s", 100 * done / n, done, n, left, what,
			done == n ? "\n" : "");
		fflush(stderr);
	} else if (ended) {
		fprintf(stderr, "%zu of %zu: %s %.2f s; about %s left\n", done,
			n, what, sec, left);
	}
}

int cli_validate_run(struct cli_validate *v, struct cli_alloc *at,
		     const struct np_validate_sites *sites,
		     const struct np_validate_task *task, size_t n,
		     struct np_err *err)
{
	struct runner r = {
		.v = v, .at = at, .sites = sites, .stop = cli_alloc_stop(),
		.victim = NP_SIDESTEP_INIT, .corunner = NP_SIDESTEP_INIT,
	};
	int rc = 0;

	if (!getcwd(r.here, sizeof(r.here)))
		return np_errf(err, -errno, "working directory: %s",
			       strerror(errno));
	for (size_t i = 0; !rc && i < n; i++) {
		double date = 0, sec = 0;

		show(v, task, i, n, NAN);
		rc = -ETIMEDOUT;
		for (int k = 0; rc == -ETIMEDOUT && k < ATTEMPTS; k++)
			rc = run_once(&r, &task[i], &date, &sec, err);
		if (!rc)
			rc = keep(v, &task[i], date, sec, err);
		if (!rc)
			show(v, task, i, n, sec);
	}
	return rc;
}
