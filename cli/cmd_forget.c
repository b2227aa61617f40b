/* netprof forget and netprof unpublish: remove runs from the store. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "cli_profile.h"
#include "cli_text.h"

struct ask {
	bool yes; /* --yes: without a question */
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
		return cli_fail("%s --yes does, as nobody can be asked here",
				question);
	printf("%s [y/N] ", question);
	fflush(stdout);
	if (fgets(answer, sizeof(answer), stdin) && strchr("yY", answer[0]) &&
	    answer[0])
		return -1;
	return cli_fail("nothing was removed");
}

/* Of the words behind the application, each names one run or more. */
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
		most += runs->n; /* a word each, perhaps of the same run */
	run = calloc(most + 1, sizeof(*run));
	if (!run)
		return cli_fail("out of memory");
	rc = choose(runs, words, run, &n);
	if (words[0])
		snprintf(question, sizeof(question), "Remove %zu of %s %zu "
			 "runs of %s?", n, whose, runs->n, runs->app);
	else
		snprintf(question, sizeof(question), "Remove %s profile of %s, "
			 "all %zu runs%s?", whose, runs->app, runs->n,
			 owner == NP_STORE_USER ? " and traces" : "");
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

static int run(const struct cli_cmd *self, int argc, char **argv,
	       enum np_store_owner owner)
{
	struct ask ask = { false };
	struct np_err err = NP_ERR_INIT;
	struct cli_options o;
	struct np_runs runs;
	struct cli_store s;
	int rc = cli_options_parse(self, argc, argv, &ask, &o);

	if (rc < 0 && np_app_check(o.app, &err))
		rc = cli_fail("%s", err.text);
	if (rc < 0)
		rc = cli_store_open(&s);
	if (rc >= 0)
		return rc;
	if (np_store_load(s.store, owner, geteuid(), o.app, cli_pass_on, NULL,
			  &runs, &err)) {
		rc = cli_fail("%s", *err.text ? err.text : "no such profile");
	} else {
		rc = remove_runs(&s, owner, &runs, &ask, o.apps + 1);
		np_runs_free(&runs);
	}
	cli_store_close(&s);
	return rc;
}

static int run_forget(const struct cli_cmd *self, int argc, char **argv)
{
	return run(self, argc, argv, NP_STORE_USER);
}

static int run_unpublish(const struct cli_cmd *self, int argc, char **argv)
{
	return run(self, argc, argv, NP_STORE_PUBLISHED);
}

const struct cli_cmd cmd_forget = {
	.name = "forget", .args = "[--yes] APP [RUN]...",
	.help = "remove runs of yours from the store",
	.text =
"Removes your runs of APP, or those that are named as netprof runs names them\n"
"(or by the number of their job), and asks first.  Without RUN all of them and\n"
"their traces go.  What was published of them stays.\n\n"
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
"Removes the published runs of APP, or those that are named, and asks first.\n"
"Placement then knows APP no more: jobs of that name keep nobody away.  Users'\n"
"own runs stay.\n\n"
"  -y, --yes  do not ask",
	.examples =
"  netprof unpublish lammps-melt\n"
"  netprof unpublish fft 4000\n",
	.takes = CLI_TAKES_APPS, .own = options,
	.missing = "an application", .most = CLI_ANY,
	.run = run_unpublish,
};
