/* netprof compare APP[:RUN]...: why was it slow today? */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli_compare.h"
#include "cli_state.h"

/* Returns -1 to go on, or the exit status. */
static int find_run(struct cli_side *s, const char *run)
{
	const struct np_runs *runs = &s->found.r.runs;
	char id[64], other[64];

	for (size_t i = 0; i < runs->n; i++) {
		if (!cli_run_is(runs->run[i], run))
			continue;
		if (s->run)
			return cli_fail("run %.64s of %s: it has several steps,"
					" such as %s and %s: expected one", run,
					runs->app, cli_run_id(runs->run[i], id,
							      sizeof(id)),
					cli_run_id(s->run, other,
						   sizeof(other)));
		s->run = runs->run[i];
	}
	return s->run ? -1 : cli_fail("no run \"%.64s\" of %s; netprof runs %s "
				      "lists them", run, runs->app, runs->app);
}

/* The newest that ended, without a level if there is one: records come so. */
static int find_newest(struct cli_side *s)
{
	for (int level = 0; level < 2; level++)
		for (size_t i = 0; i < s->found.r.runs.n && !s->run; i++) {
			const struct np_record *r = s->found.r.runs.run[i];

			if (r->state != NP_RUN_RUNNING && !r->level == !level)
				s->run = r;
		}
	return s->run ? -1 : cli_fail("no run of %s has ended yet",
				      s->found.r.runs.app);
}

/* What a word says: APP, or APP:RUN; newest: of APP, its newest run. */
static int find(struct cli_compare *c, struct cli_store *store,
		const struct cli_options *o, const char *word, bool newest)
{
	size_t len = strcspn(word, ":");
	struct cli_side *s = &c->side[c->n];
	char app[NP_APP_MAX + 2], id[48] = "";
	int rc;

	/* One that is too long stays so, and is refused. */
	snprintf(app, sizeof(app), "%.*s", (int)len, word);
	rc = cli_profile_find(store, o, app, &s->found);
	if (rc >= 0)
		return rc;
	c->n++; /* to be released from now on */
	if (word[len])
		rc = find_run(s, word + len + 1);
	else if (newest)
		rc = find_newest(s);
	if (s->run)
		cli_run_id(s->run, id, sizeof(id));
	snprintf(s->name, sizeof(s->name), "%s%s%s", app, *id ? ":" : "", id);
	return rc;
}

/* A run that is a side of its own says nothing about what is usual. */
static bool is_a_side(const struct cli_compare *c, const struct np_record *r)
{
	for (size_t i = 0; i < c->n; i++)
		if (c->side[i].run && c->side[i].run->job_id == r->job_id &&
		    !strcmp(c->side[i].run->app, r->app))
			return true;
	return false;
}

/* Of an application beside runs of it, those of the same command count. */
static const char *command_of(const struct cli_compare *c,
			      const struct cli_side *s)
{
	for (size_t i = 0; i < c->n; i++)
		if (c->side[i].run &&
		    !strcmp(c->side[i].run->app, s->found.r.runs.app))
			return c->side[i].run->fingerprint;
	return NULL;
}

static void take(const struct cli_compare *c, struct cli_side *s,
		 const char *command)
{
	for (size_t i = 0; i < s->found.r.runs.n; i++) {
		struct np_record *r = s->found.r.runs.run[i];

		if (s->run ? r == s->run : !is_a_side(c, r) &&
		    (!command || (r->fingerprint &&
				  !strcmp(r->fingerprint, command))))
			s->runs.run[s->runs.n++] = r;
	}
}

static int make(const struct cli_compare *c, struct cli_side *s, double now)
{
	const char *command = command_of(c, s);

	strcpy(s->runs.app, s->found.r.runs.app);
	s->runs.run = calloc(s->found.r.runs.n + 1, sizeof(*s->runs.run));
	if (!s->runs.run)
		return -ENOMEM;
	take(c, s, command);
	if (!s->runs.n && command) /* better others than none */
		take(c, s, NULL);
	return cli_side_make(s, now);
}

static int gather(struct cli_compare *c, const struct cli_options *o)
{
	struct cli_store store;
	int rc = cli_store_open(&store);

	if (rc >= 0)
		return rc;
	/* One alone is compared with what is usual for its application. */
	if (o->n_apps == 1) {
		char app[NP_APP_MAX + 2];

		snprintf(app, sizeof(app), "%.*s",
			 (int)strcspn(o->apps[0], ":"), o->apps[0]);
		rc = find(c, &store, o, app, false);
	}
	for (size_t i = 0; rc < 0 && i < o->n_apps; i++)
		rc = find(c, &store, o, o->apps[i], o->n_apps == 1);
	cli_store_close(&store);
	for (size_t i = 0; rc < 0 && i < c->n; i++)
		if (make(c, &c->side[i], cli_now()))
			rc = cli_fail("out of memory");
	return rc;
}

static int run_compare(const struct cli_cmd *self, int argc, char **argv)
{
	struct cli_compare c = { .n = 0 };
	struct cli_options o;
	int rc = cli_options_parse(self, argc, argv, NULL, &o);

	if (rc >= 0)
		return rc;
	if (o.n_apps > CLI_COMPARE_MAX)
		return cli_usage(self, "%zu to compare: expected at most %d",
				 o.n_apps, CLI_COMPARE_MAX);
	c.side = calloc(CLI_COMPARE_MAX + 1, sizeof(*c.side));
	if (!c.side)
		return cli_fail("out of memory");
	rc = gather(&c, &o);
	if (rc < 0)
		rc = o.format ? cli_compare_data(&c, o.format) :
				cli_compare_text(&c);
	for (size_t i = 0; i < c.n; i++)
		cli_side_free(&c.side[i]);
	free(c.side);
	return rc;
}

const struct cli_cmd cmd_compare = {
	.name = "compare",
	.args = "[--json|--parsable] [--user=NAME|--published] "
		"APP[:RUN]...",
	.help = "runs or applications side by side",
	.text =
"Why was it slow today?  Puts runs, or what all runs of an application say\n"
"together, side by side: run times, latencies, neighbours, and whatever was\n"
"different, which has a star.  The first line says which is slower, by how\n"
"much, and whether that may be chance.  RUN is what netprof runs calls it, or\n"
"its job.  APP:RUN alone is compared with the other runs of the same command,\n"
"APP alone is its newest run.\n\n"
"Options as for show.",
	.examples =
"  netprof compare fft\n"
"  netprof compare fft:4000\n"
"  netprof compare fft:4000 fft:3001\n"
"  netprof compare fft halo\n",
	.takes = CLI_TAKES_APPS | CLI_TAKES_FORMAT | CLI_TAKES_USER,
	.missing = "an application", .most = CLI_ANY,
	.run = run_compare,
};
