/* netprof explain JOB: why it waits, whom it runs beside, what that cost. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli_explain.h"
#include "cli_output.h"
#include "np_array.h"
#include "np_conf.h"
#include "np_evidence.h"
#include "np_option.h"

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
	struct cli_runs r;
	int rc = cli_runs_look(s, owner, e->uid, app, &r);

	if (rc)
		return rc == -ENOENT ? 0 : rc;
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

/* Find the records of the job among a user's, and how long it takes alone. */
static int find_runs(struct cli_explain *e, struct cli_store *s,
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

static bool take_number(const char **p, uint32_t *out)
{
	unsigned long n;
	char *end;

	if (!isdigit((unsigned char)**p))
		return false;
	errno = 0;
	n = strtoul(*p, &end, 10);
	if (errno || n >= UINT32_MAX - 1)
		return false;
	*p = end;
	*out = (uint32_t)n;
	return true;
}

/* "123" or "123_4" */
static bool parse_job(const char *word, uint32_t *id, uint32_t *task)
{
	const char *p = word;

	*task = NP_ENDED_NO_TASK;
	if (!take_number(&p, id) || !*id)
		return false;
	if (*p == '_') {
		p++;
		if (!take_number(&p, task))
			return false;
	}
	return !*p;
}

/* rest: take the record of an array's tasks that were not split off yet. */
static void find_in_state(struct cli_explain *e, bool rest)
{
	for (size_t i = 0; i < e->state.n_jobs; i++) {
		const struct np_state_job *j = &e->state.job[i];

		if (e->task == NP_ENDED_NO_TASK ? j->id == e->id :
		    j->array == e->id && (rest ? cli_no_task(j->task) :
					  j->task == e->task)) {
			e->job = j;
			return;
		}
	}
}

/* Tasks of the array of that number, to be asked for one by one. */
static int say_tasks(const struct cli_explain *e)
{
	char list[256] = "", name[CLI_NUMBER];
	size_t n = 0;

	for (size_t i = 0; i < e->state.n_jobs; i++) {
		const struct np_state_job *j = &e->state.job[i];

		if (j->array != e->id)
			continue;
		if (n++ < 4)
			cli_add(list, sizeof(list), "%s%s", *list ? ", " : "",
				cli_job_name(j->id, j->array, j->task, name));
	}
	if (!n)
		return -1;
	return cli_fail("job %s is an array; ask for one of its tasks: %s%s",
			e->word, list, n > 4 ? ", ..." : "");
}

static uid_t owner_of(const struct cli_explain *e, const struct cli_options *o)
{
	if (o->user_given)
		return o->uid;
	return e->job ? e->job->uid : e->have_ended ? e->ended.uid : o->uid;
}

static const char *app_of(const struct cli_explain *e)
{
	return e->job ? e->job->app : e->have_ended ? e->ended.app : "";
}

/* Returns -1 to go on, or the exit status. */
static int gather(struct cli_explain *e, struct cli_store *s,
		  const struct cli_options *o)
{
	const char *dir = np_store_dir(s->store);
	struct np_err err = NP_ERR_INIT;
	int rc = np_state_load(dir, &e->state, &err);

	e->have_state = !rc;
	if (rc && rc != -ENOENT)
		cli_fail("%s", err.text); /* and go on without */
	find_in_state(e, false);
	if (!e->job) {
		rc = np_ended_find(dir, e->id, e->task, &e->ended, &err);
		e->have_ended = !rc;
		if (rc && rc != -ENOENT)
			e->ended_why = err;
	}
	if (!e->job && !e->have_ended)
		find_in_state(e, true);
	e->uid = owner_of(e, o);
	if (e->job && !e->job->pending)
		rc = cli_explain_running(e, s);
	else
		rc = e->job ? 0 : find_runs(e, s, o, app_of(e));
	if (!rc && !e->job)
		rc = cli_explain_ended(e);
	return rc ? cli_fail("out of memory") : -1;
}

static int not_found(const struct cli_explain *e)
{
	char user[CLI_NUMBER], age[96] = "never taken";
	int rc = e->have_state && e->task == NP_ENDED_NO_TASK ? say_tasks(e) :
								-1;

	if (rc >= 0)
		return rc;
	if (e->ended_why.text[0])
		return cli_fail("%s", e->ended_why.text);
	if (e->ask.accounting)
		return cli_fail("job %s is not in %s, or never started",
				e->word, e->ask.accounting);
	if (e->have_state)
		cli_age(e->state.date, e->now, age, sizeof(age));
	return cli_fail("job %s is neither in the last decision (%s), nor "
			"among the jobs that ended in the last %d days, nor in "
			"the run records of %s; jobs that name no application "
			"(--netprofile=APP, NETPROF_APP) are left out, and new "
			"ones come with the next decision; in Slurm's "
			"accounting it is not found%s%s", e->word, age,
			NP_ENDED_KEEP_DAYS, cli_user(e->uid, user),
			e->past.why.text[0] ? ": " : "", e->past.why.text);
}

/* The accounting answers for jobs that started, whoever else knows them. */
static int look_back(struct cli_explain *e, const struct np_metrics_conf *c)
{
	int rc;

	if (e->job && e->job->pending && !e->ask.accounting)
		return -1;
	rc = cli_history_make(&e->past, &e->ask, c, e->id, e->task, e->now);
	if (rc)
		return cli_fail("out of memory");
	if (e->past.why.text[0] && e->ask.accounting)
		return cli_fail("%s", e->past.why.text);
	return -1;
}

static int explain(struct cli_explain *e, const struct cli_options *o)
{
	if (!e->job && !e->have_ended && !e->n_measured && !e->past.job)
		return not_found(e);
	if (o->plot && !e->past.job)
		return cli_fail("--plot=%s: job %s is not in Slurm's "
				"accounting%s%s, and there is nothing to draw",
				o->plot, e->word, e->past.why.text[0] ? ": " :
				"", e->past.why.text);
	if (o->plot)
		return cli_figure_save(cli_history_figure(&e->past), o->plot);
	return o->format ? cli_explain_data(e, o->format) : cli_explain_text(e);
}

static void release(struct cli_explain *e)
{
	if (e->have_state)
		np_state_free(&e->state);
	if (e->have_ended)
		np_ended_free(&e->ended);
	for (size_t i = 0; i < e->n_runs; i++)
		np_runs_free(&e->runs[i].runs);
	cli_history_free(&e->past);
	free(e->runs);
	free(e->measured);
	free(e->beside);
}

/* Where metrics are, from netprof.conf. */
static int read_metrics(const struct cli_explain *e,
			const struct cli_cmd *self, struct np_metrics_conf *out)
{
	struct np_err err = NP_ERR_INIT;
	struct np_conf c;
	char url[sizeof(out->url)];

	if (np_conf_from_environment(&c, &err))
		return cli_fail("%s", err.text);
	*out = c.metrics;
	if (!e->ask.metrics_url)
		return -1;
	snprintf(url, sizeof(url), "%s", e->ask.metrics_url);
	if (np_metrics_set_url(url, out->url, NULL))
		return cli_usage(self, "--metrics-url=%.64s: expected the "
				 "address of a Prometheus server such as "
				 "http://mon:9090, or none", url);
	return -1;
}

static const struct np_option own_options[] = {
#define AT(field) offsetof(struct cli_history_ask, field)
	{ "accounting", NP_OPTION_WORD, AT(accounting) },
	{ "topology", NP_OPTION_WORD, AT(topology) },
	{ "metrics-url", NP_OPTION_WORD, AT(metrics_url) },
	{ "since", NP_OPTION_TAKE, AT(since_sec), .take = cli_history_since },
#undef AT
	{ NULL },
};

static int run_explain(const struct cli_cmd *self, int argc, char **argv)
{
	struct cli_explain e = {
		.now = cli_now(), .ask.since_sec = CLI_HISTORY_SINCE,
	};
	struct np_metrics_conf metrics;
	struct cli_options o;
	struct cli_store s;
	int rc = cli_options_parse(self, argc, argv, &e.ask, &o);

	if (rc >= 0)
		return rc;
	e.word = o.app;
	if (!parse_job(e.word, &e.id, &e.task))
		return cli_usage(self, "\"%.64s\": expected a job such as 123 "
				 "or 123_4", e.word);
	if (e.ask.topology && !e.ask.accounting)
		return cli_usage(self, "--topology=%.64s: expected with "
				 "--accounting", e.ask.topology);
	rc = read_metrics(&e, self, &metrics);
	if (rc < 0)
		rc = cli_store_open(&s);
	if (rc >= 0)
		return rc;
	rc = gather(&e, &s, &o);
	cli_store_close(&s);
	if (rc < 0)
		rc = look_back(&e, &metrics);
	if (rc < 0)
		rc = explain(&e, &o);
	release(&e);
	return rc;
}

const struct cli_cmd cmd_explain = {
	.name = "explain",
	.args = "[--json|--parsable|--plot=FILE] [--user=NAME|--published] "
		"[--since=AGE] [--metrics-url=URL] "
		"[--accounting=FILE [--topology=FILE]] JOB",
	.help = "was it the network? why a job was slow, or waits",
	.text =
"Of any job that started, from Slurm's accounting: how long it took beside\n"
"comparable runs (same user, name, nodes, processors and limit), who shared\n"
"its leaf switches, and with a metrics server (MetricsURL= in netprof.conf)\n"
"what its nodes and theirs did: whether it was slow, what that is due to, and\n"
"how sure that is.\n\n"
"Of a pending job: why placement lets it wait or where it may go, and what it\n"
"is kept away from.  Of a running one: who is on its leaf switches, and the\n"
"slowdown that is predicted.  Of one that ended: who was beside it, and if\n"
"it was measured (--netprofile), how much longer it took than alone and how\n"
"much of that its neighbours explain.  JOB is a number, or ARRAY_TASK.\n\n"
"  --json, --parsable  the same for programs; --parsable (-P) as in sacct\n"
"  --plot=FILE         leaf traffic and neighbours as SVG, PNG or PDF\n"
"  --since=AGE         how far back runs are compared, such as 7d (30d)\n"
"  --metrics-url=URL   the Prometheus server, in place of MetricsURL; none: no\n"
"  --accounting=FILE   what sacct --parsable2 printed, in place of asking it\n"
"  --topology=FILE     what scontrol show topology printed, beside that\n"
"  --user=NAME, --published\n"
"                      whose run records, without it the job's owner's",
	.examples =
"  netprof explain 4711\n"
"  netprof explain 4010\n"
"  netprof explain 4011_3\n"
"  netprof explain --json 4000 | jq .steps\n",
	.takes = CLI_TAKES_FORMAT | CLI_TAKES_USER | CLI_TAKES_PLOT,
	.own = own_options,
	.missing = "the number of a job, such as those that netprof status "
		   "lists", .most = 1,
	.run = run_explain,
};
