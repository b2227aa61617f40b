/*
 * netprof forget and netprof unpublish: remove runs from the store.
 *
 * Both ask before they remove anything.  A run is named as by `netprof runs`,
 * or by the number of its job.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "cli_profile.h"
#include "cli_text.h"

struct ask {
	bool yes; /* --yes: do not ask */
};

static const struct np_option options[] = {
	{ "yes", NP_OPTION_FLAG, offsetof(struct ask, yes), .letter = 'y' },
	{ NULL },
};

/* Returns -1 to go on, or the exit status. */
static int confirm(const struct ask *ask, const char *question)
{
	char answer[16];

	if (ask->yes)
		return -1;
	if (!isatty(STDIN_FILENO))
		return cli_fail("%s Standard input is no terminal: confirm "
				"with --yes", question);
	printf("%s [y/N] ", question);
	fflush(stdout);
	if (fgets(answer, sizeof(answer), stdin) && strchr("yY", answer[0]) &&
	    answer[0])
		return -1;
	return cli_fail("nothing was removed");
}

/* Find the runs that the words name; a job's number names all its steps. */
static int choose(const struct np_runs *runs, char *const *words,
		  const struct np_record **run, size_t *n)
{
	*n = 0;
	for (; *words; words++) {
		size_t before = *n;

		for (size_t i = 0; i < runs->n; i++)
			if (cli_run_is(runs->run[i], *words))
				run[(*n)++] = runs->run[i];
		if (*n == before)
			return cli_fail("no run \"%.64s\" of %s; netprof runs "
					"%s lists them", *words, runs->app,
					runs->app);
	}
	return -1;
}

/* Remove the named runs, or all, after asking. */
static int remove_runs(struct cli_store *s, enum np_store_owner owner,
		       const struct np_runs *runs, const struct ask *ask,
		       char *const *words)
{
	const char *whose = owner == NP_STORE_USER ? "your" : "the published";
	size_t most = words[0] ? runs->n : 0, n = 0;
	const struct np_record **run;
	struct np_err err = NP_ERR_INIT;
	char question[NP_APP_MAX + 128];
	int rc = -1;

	for (size_t i = 0; words[i]; i++)
		most += runs->n; /* several words may name the same run */
	run = calloc(most + 1, sizeof(*run));
	if (!run)
		return cli_fail("out of memory");
	rc = choose(runs, words, run, &n);
	if (words[0])
		snprintf(question, sizeof(question), "Remove %zu of %s %zu "
			 "run%s of %s?", n, whose, runs->n,
			 cli_s(runs->n), runs->app);
	else
		snprintf(question, sizeof(question), "Remove %s profile of %s "
			 "with %zu run%s%s?", whose, runs->app, runs->n,
			 cli_s(runs->n),
			 owner == NP_STORE_USER ? " and all traces" : "");
	if (rc < 0)
		rc = confirm(ask, question);
	if (rc < 0 && np_store_remove(s->store, owner, runs->app,
				      words[0] ? run : NULL, n, &err))
		rc = cli_fail("%s", err.text);
	free(run);
	if (rc >= 0)
		return rc;
	printf("removed %zu %s of %s\n", words[0] ? n : runs->n,
	       (words[0] ? n : runs->n) == 1 ? "run" : "runs", runs->app);
	return CLI_DONE;
}

/* Both commands differ only in the owner of the runs. */
static int run(const struct cli_cmd *self, int argc, char **argv,
	       enum np_store_owner owner)
{
	struct ask ask = { false };
	struct np_err err = NP_ERR_INIT;
	struct cli_options o;
	struct np_runs runs;
	struct cli_store s;
	char near[256];
	int rc = cli_options_parse(self, argc, argv, &ask, &o);

	if (rc < 0 && np_app_check(o.app, &err))
		rc = cli_fail("%s", err.text);
	if (rc < 0)
		rc = cli_store_open(&s);
	if (rc >= 0)
		return rc;
	rc = np_store_load(s.store, owner, geteuid(), o.app, cli_warn_line,
			   NULL, &runs, &err);
	if (rc) {
		o.published = owner == NP_STORE_PUBLISHED;
		rc = cli_fail("%s%s", err.text, rc != -ENOENT ? "" :
			      cli_near_apps(&s, &o, o.app, near, sizeof(near)));
	} else {
		rc = remove_runs(&s, owner, &runs, &ask, o.apps + 1);
		np_runs_free(&runs);
	}
	cli_store_close(&s);
	return rc;
}

/* A user removes only own runs. */
static int run_forget(const struct cli_cmd *self, int argc, char **argv)
{
	return run(self, argc, argv, NP_STORE_USER);
}

/* The store refuses this to users who may not write there. */
static int run_unpublish(const struct cli_cmd *self, int argc, char **argv)
{
	return run(self, argc, argv, NP_STORE_PUBLISHED);
}

const struct cli_cmd cmd_forget = {
	.name = "forget", .args = "[--yes] APP [RUN]...",
	.help = "remove runs of yours from the store",
	.text =
"Removes runs of APP after asking.  RUN is a name that netprof runs prints, or\n"
"the number of a job; without RUN, all your runs of APP and their traces are\n"
"removed.  Published copies stay.\n\n"
"  -y, --yes  do not ask",
	.examples =
"  netprof forget fft 4000\n"
"  netprof forget hello\n",
	.takes = CLI_TAKES_APPS, .own = options,
	.missing = "an application", .most = CLI_ANY,
	.run = run_forget,
};

const struct cli_cmd cmd_unpublish = {
	.name = "unpublish", .args = "[--yes] APP [RUN]...",
	.help = "remove a published profile (administrators)",
	.text =
"Removes the published runs of APP, or only each RUN, after asking.  Without a\n"
"published profile, placement does not keep other users' jobs away from APP.\n"
"Users' own runs stay.\n\n"
"  -y, --yes  do not ask",
	.examples =
"  netprof unpublish lammps-melt\n"
"  netprof unpublish fft 4000\n",
	.takes = CLI_TAKES_APPS, .own = options,
	.missing = "an application", .most = CLI_ANY,
	.run = run_unpublish,
};
