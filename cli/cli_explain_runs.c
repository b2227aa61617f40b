/* The run records of a job, and how long the same takes alone. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli_explain.h"

static bool is_of_job(const struct cli_explain *e, const struct np_record *r)
{
	if (e->task == NP_ENDED_NO_TASK)
		return r->job_id == e->id;
	return r->array_job_id == (long)e->id &&
	       r->array_task_id == (long)e->task;
}

static bool same_text(const char *a, const char *b)
{
	return a && b && *a && !strcmp(a, b);
}

/* The same command, undisturbed. */
static bool is_alone(const struct np_record *r, const struct np_record *like)
{
	return r != like && r->job_id != like->job_id && !r->level &&
	       r->state == NP_RUN_COMPLETE && !r->exit_code &&
	       same_text(r->fingerprint, like->fingerprint) &&
	       same_text(r->cluster, like->cluster) &&
	       !np_run_has_neighbours(r) && np_record_run_sec(r) > 0;
}

static struct np_mean alone_of(const struct np_runs *runs,
			       const struct np_record *like)
{
	struct np_moments m = { 0 };

	for (size_t i = 0; i < runs->n; i++)
		if (is_alone(runs->run[i], like))
			np_moments_add(&m, np_record_run_sec(runs->run[i]));
	return (struct np_mean){
		.n = m.n, .mean = m.mean,
		.sd = m.n > 1 ? np_moments_sd(&m) : NAN,
	};
}

static int measure(struct cli_explain *e, const struct np_runs *runs)
{
	for (size_t i = 0; i < runs->n; i++) {
		const struct np_record *r = runs->run[i];
		struct cli_measured *grown;

		if (!is_of_job(e, r))
			continue;
		grown = reallocarray(e->measured, e->n_measured + 1,
				     sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		e->measured = grown;
		e->measured[e->n_measured++] =
			(struct cli_measured){ r, alone_of(runs, r) };
	}
	return 0;
}

static bool has_any(const struct cli_explain *e, const struct np_runs *runs)
{
	for (size_t i = 0; i < runs->n; i++)
		if (is_of_job(e, runs->run[i]))
			return true;
	return false;
}

/* What may not be read, or is not there, is as good as nothing. */
static int try_app(struct cli_explain *e, struct cli_store *s,
		   enum np_store_owner owner, const char *app)
{
	struct cli_runs r = { .owner = owner, .uid = e->uid }, *grown;
	int rc = np_store_load(s->store, owner, e->uid, app, NULL, NULL,
			       &r.runs, NULL);

	if (rc)
		return rc == -ENOMEM ? rc : 0;
	if (!has_any(e, &r.runs)) {
		np_runs_free(&r.runs);
		return 0;
	}
	grown = reallocarray(e->runs, e->n_runs + 1, sizeof(*grown));
	if (!grown) {
		np_runs_free(&r.runs);
		return -ENOMEM;
	}
	e->runs = grown;
	e->runs[e->n_runs++] = r;
	return measure(e, &r.runs);
}

int cli_explain_runs(struct cli_explain *e, struct cli_store *s,
		     const struct cli_options *o, const char *app)
{
	enum np_store_owner owner = o->published ? NP_STORE_PUBLISHED :
						   NP_STORE_USER;
	char **names = NULL;
	size_t n = 0;
	int rc = *app ? try_app(e, s, owner, app) : 0;

	/* A job may have measured its steps under several names. */
	if (!rc && !e->n_measured &&
	    !np_store_apps(s->store, owner, e->uid, &names, &n, NULL))
		for (size_t i = 0; !rc && i < n; i++)
			if (strcmp(names[i], app))
				rc = try_app(e, s, owner, names[i]);
	np_names_free(names, n);
	return rc;
}
