/* The run records of a job, and how long the same takes alone. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli_explain.h"
#include "np_array.h"
#include "np_evidence.h"

static bool is_of_job(const struct cli_explain *e, const struct np_record *r)
{
	if (e->task == NP_ENDED_NO_TASK)
		return r->job_id == e->id;
	return r->array_job_id == (long)e->id &&
	       r->array_task_id == (long)e->task;
}

/*
 * How long the same takes alone, as the evidence says it: of runs of other jobs
 * that are comparable with this one.
 */
static int alone_of(const struct cli_explain *e, const struct np_runs *runs,
		    const struct np_record *like, struct np_mean *out)
{
	const struct np_evidence_opt opt = {
		.like = like, .fingerprint = like->fingerprint, .now = e->now,
	};
	struct np_runs others = { .n = 0 };
	struct np_evidence ev;
	int rc;

	*out = (struct np_mean){ 0 };
	if (!like->fingerprint || !*like->fingerprint)
		return 0; /* it is not known what would be the same */
	others.run = calloc(runs->n, sizeof(*others.run));
	if (!others.run)
		return -ENOMEM;
	for (size_t i = 0; i < runs->n; i++)
		if (runs->run[i]->job_id != like->job_id)
			others.run[others.n++] = runs->run[i];
	rc = np_evidence_make(&others, &opt, &ev);
	if (!rc) {
		*out = ev.alone_sec;
		np_evidence_free(&ev);
	}
	free(others.run);
	return rc;
}

static int measure(struct cli_explain *e, const struct np_runs *runs)
{
	for (size_t i = 0; i < runs->n; i++) {
		const struct np_record *r = runs->run[i];
		struct cli_measured *m;

		if (!is_of_job(e, r))
			continue;
		if (np_array_more(&e->measured, e->n_measured, sizeof(*m)))
			return -ENOMEM;
		m = &e->measured[e->n_measured++];
		m->run = r;
		if (alone_of(e, runs, r, &m->alone))
			return -ENOMEM;
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
	struct cli_runs r = { .owner = owner, .uid = e->uid };
	int rc = np_store_load(s->store, owner, e->uid, app, NULL, NULL,
			       &r.runs, NULL);

	if (rc)
		return rc == -ENOMEM ? rc : 0;
	if (!has_any(e, &r.runs)) {
		np_runs_free(&r.runs);
		return 0;
	}
	if (np_array_more(&e->runs, e->n_runs, sizeof(*e->runs))) {
		np_runs_free(&r.runs);
		return -ENOMEM;
	}
	e->runs[e->n_runs++] = r;
	return measure(e, &r.runs);
}

int cli_explain_runs(struct cli_explain *e, struct cli_store *s,
		     const struct cli_options *o, const char *app)
{
	enum np_store_owner owner = o->published ? NP_STORE_PUBLISHED :
						   NP_STORE_USER;
	struct np_store_app *apps = NULL;
	size_t n = 0;
	int rc = *app ? try_app(e, s, owner, app) : 0;

	/* A job may have measured its steps under several names. */
	if (!rc && !e->n_measured &&
	    !np_store_look(s->store, owner, e->uid, &apps, &n, NULL))
		for (size_t i = 0; !rc && i < n; i++)
			if (strcmp(apps[i].name, app))
				rc = try_app(e, s, owner, apps[i].name);
	free(apps);
	return rc;
}
