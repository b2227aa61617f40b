/* Who is beside a job, or was. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli_ask.h"
#include "cli_explain.h"
#include "np_array.h"
#include "np_hostlist.h"

#define LEAST_COST 0.005 /* half a point of the run time */

static struct cli_beside *add(struct cli_explain *e, uint32_t id)
{
	if (np_array_more(&e->beside, e->n_beside, sizeof(*e->beside)))
		return NULL;
	e->beside[e->n_beside] = (struct cli_beside){ .id = id, .app = "" };
	return &e->beside[e->n_beside++];
}

static struct cli_beside *find(struct cli_explain *e, uint32_t id)
{
	for (size_t i = 0; i < e->n_beside; i++)
		if (e->beside[i].id == id)
			return &e->beside[i];
	return NULL;
}

/* Running */

static int add_running(struct cli_explain *e)
{
	for (size_t i = 0; i < e->state.n_jobs; i++) {
		const struct np_state_job *j = &e->state.job[i];
		struct cli_beside *b;
		char leaves[256];

		if (j->pending || j == e->job ||
		    !np_hostlist_shared(e->job->leaves, j->leaves, leaves,
					sizeof(leaves)))
			continue;
		b = add(e, j->id);
		if (!b)
			return -ENOMEM;
		b->app = j->app;
		b->array = j->array;
		b->task = j->task;
		strcpy(b->leaves, leaves);
	}
	return 0;
}

/* As placement looks it up: published, or else the job's owner's own. */
static int add_known(struct cli_known *k, struct cli_store *s, const char *app,
		     uid_t uid, size_t *at)
{
	struct cli_runs r;
	int rc = -ENOENT;

	for (size_t i = 0; i < k->n; i++)
		if (!strcmp(k->app[i]->r.runs.app, app) &&
		    (k->app[i]->r.owner == NP_STORE_PUBLISHED ||
		     k->app[i]->r.uid == uid)) {
			*at = i;
			return 0;
		}
	for (int own = 0; rc && own < 2; own++)
		rc = cli_runs_look(s, own ? NP_STORE_USER : NP_STORE_PUBLISHED,
				   uid, app, &r);
	if (rc)
		return rc;
	rc = cli_known_add(k, &r, true);
	*at = k->n - 1;
	return rc;
}

static uid_t uid_of(const struct cli_explain *e, uint32_t id)
{
	for (size_t i = 0; i < e->state.n_jobs; i++)
		if (e->state.job[i].id == id)
			return e->state.job[i].uid;
	return e->job->uid;
}

/* at[i]: the application of the i-th neighbour among the known, or none. */
#define NONE ((size_t)-1)

static int find_known(struct cli_explain *e, struct cli_store *s,
		      struct cli_known *k, size_t *at)
{
	size_t self;
	int rc = *e->job->app ? add_known(k, s, e->job->app, e->job->uid,
					  &self) : -ENOENT;

	if (rc)
		return np_errf(&e->not_predicted, rc, "there is no profile of "
			       "it that can be read");
	for (size_t i = 0; i < e->n_beside; i++) {
		const struct cli_beside *b = &e->beside[i];

		at[i] = NONE;
		if (*b->app)
			rc = add_known(k, s, b->app, uid_of(e, b->id), &at[i]);
		if (rc == -ENOMEM)
			return rc;
	}
	return 0;
}

static void ask(struct cli_explain *e, const struct cli_known *k,
		struct np_predictor *models, const size_t *at)
{
	struct cli_answer all = { .scope = NP_SCOPE_LEAF };
	size_t unknown = 0;

	for (size_t i = 0; i < e->n_beside; i++) {
		struct cli_answer one = { .scope = NP_SCOPE_LEAF, .n_co = 1 };

		if (at[i] == NONE) {
			unknown++;
			continue;
		}
		one.co[0] = at[i];
		cli_ask(models, k, &one);
		e->beside[i].predicted = !one.rc && !cli_say_doubt(&one.p);
		e->beside[i].slowdown = one.rc ? 0 : one.p.slowdown;
		if (all.n_co < CLI_ASK_MAX_CO)
			all.co[all.n_co++] = at[i];
	}
	if (!all.n_co) {
		np_errf(&e->not_predicted, 0, "of none of its neighbours there "
			"is a profile that can be read");
		return;
	}
	cli_ask(models, k, &all);
	if (all.rc) {
		e->not_predicted = all.why;
		return;
	}
	if (cli_say_doubt(&all.p)) {
		np_errf(&e->not_predicted, 0, "%s", cli_say_doubt(&all.p));
		return;
	}
	e->predicted = true;
	e->slowdown = all.p.slowdown;
	if (unknown)
		np_errf(&e->not_predicted, 0, "without %zu whose profile is "
			"not known", unknown);
}

static int predict(struct cli_explain *e, struct cli_store *s,
		   struct cli_known *k, size_t *at)
{
	struct np_predictor *models;
	int rc = find_known(e, s, k, at);

	if (rc)
		return rc;
	rc = cli_known_judge(k, s, 1, true);
	if (!rc && k->app[0]->unusable.text[0])
		rc = np_errf(&e->not_predicted, -EINVAL, "%s",
			     k->app[0]->unusable.text);
	else if (rc)
		e->not_predicted = k->why;
	if (!rc)
		rc = cli_known_predictor(k, NULL, false, &models,
					 &e->not_predicted);
	if (rc)
		return rc;
	ask(e, k, models, at);
	np_predictor_free(models);
	return 0;
}

int cli_explain_running(struct cli_explain *e, struct cli_store *s)
{
	struct cli_known k = { .n = 0 };
	int rc = add_running(e);
	size_t *at;

	if (rc || !e->n_beside)
		return rc;
	at = calloc(e->n_beside, sizeof(*at));
	rc = at ? predict(e, s, &k, at) : -ENOMEM;
	cli_known_free(&k);
	free(at);
	return rc == -ENOMEM ? rc : 0;
}

/* Ended */

static int add_ended(struct cli_explain *e)
{
	for (size_t i = 0; i < e->ended.n_neighbours; i++) {
		const struct np_ended_neighbour *n = &e->ended.neighbour[i];
		struct cli_beside *b = add(e, n->id);

		if (!b)
			return -ENOMEM;
		b->app = n->app;
		snprintf(b->leaves, sizeof(b->leaves), "%s", n->leaves);
		b->overlap_sec = n->overlap_sec;
		b->predicted = *n->app;
		b->slowdown = n->slowdown;
	}
	return 0;
}

/* One record names a neighbour once for each leaf. */
static void add_leaf(struct cli_beside *b, const struct np_neighbour *n)
{
	size_t len = strlen(b->leaves);

	snprintf(b->leaves + len, sizeof(b->leaves) - len, "%s%s",
		 len ? "," : "", n->leaf);
	b->overlap_sec = fmax(b->overlap_sec, n->overlap_sec);
}

static int add_recorded(struct cli_explain *e)
{
	size_t placed = e->n_beside; /* these are told better already */

	for (size_t i = 0; i < e->n_measured; i++) {
		const struct np_record *r = e->measured[i].run;

		for (size_t k = 0; k < r->n_neighbours; k++) {
			const struct np_neighbour *n = &r->neighbours[k];
			struct cli_beside *b = find(e, n->job_id);

			if (!n->job_id) /* it was published */
				continue;
			if (b && (size_t)(b - e->beside) < placed)
				continue;
			if (!b)
				b = add(e, n->job_id);
			if (!b)
				return -ENOMEM;
			if (n->job_id == r->job_id)
				b->app = "(own step)";
			add_leaf(b, n);
		}
	}
	return 0;
}

/* Of one that ended, for as long as they were beside each other. */
static double cost_of(const struct cli_explain *e, const struct cli_beside *b)
{
	double sec = e->have_ended ? e->ended.end - e->ended.start : 0;

	if (!b->predicted)
		return 0;
	if (e->job)
		return b->slowdown;
	return sec > 0 ? b->slowdown * fmin(b->overlap_sec / sec, 1) : 0;
}

const struct cli_beside *cli_explain_costliest(const struct cli_explain *e,
					       double *share)
{
	const struct cli_beside *most = NULL;

	*share = LEAST_COST;
	for (size_t i = 0; i < e->n_beside; i++) {
		double cost = cost_of(e, &e->beside[i]);

		if (cost <= *share)
			continue;
		*share = cost;
		most = &e->beside[i];
	}
	return most;
}

int cli_explain_ended(struct cli_explain *e)
{
	int rc = e->have_ended ? add_ended(e) : 0;

	if (rc)
		return rc;
	if (e->have_ended && *e->ended.app) {
		e->predicted = !e->n_beside;
		for (size_t i = 0; i < e->n_beside; i++)
			e->predicted |= e->beside[i].predicted;
		e->slowdown = e->ended.slowdown;
	}
	return add_recorded(e);
}
