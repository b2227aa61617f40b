/*
 * netprof forget and netprof unpublish: remove runs from the store.
 *
 * Both ask before they remove anything. A run is named as by `netprof runs`,
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

/* The option of the commands. */
struct forget_options {
	bool yes; /* do not ask for confirmation */
};

static const struct np_option options[] = {
	{ "yes", NP_OPTION_FLAG, offsetof(struct forget_options, yes),
	  .letter = 'y' },
	{ NULL },
};

/*
 * Ask on standard error, as standard output may go to a file; only "y" and
 * "yes" confirm. Returns -1 to go on, or the exit status.
 */
static int confirm(const struct forget_options *o, const char *question)
{
	char reply[16] = "";

	if (o->yes)
		return -1;
	if (!isatty(STDIN_FILENO))
		return cli_fail("cannot ask \"%s\", because standard input is "
				"not a terminal; --yes answers it",
				question);
	fprintf(stderr, "%s [y/N] ", question);
	if (fgets(reply, sizeof(reply), stdin))
		reply[strcspn(reply, "\n")] = '\0';
	else
		fputc('\n', stderr);
	return !strcasecmp(reply, "y") || !strcasecmp(reply, "yes") ?
		     -1 :
		     cli_fail("nothing was removed");
}

/*
 * Find the runs that the words name, each once; a job's number names all its
 * steps. Returns -1 to go on, or the exit status.
 */
static int find_named(const struct np_runs *runs, char *const *words,
		      const struct np_record **run, size_t *n)
{
	*n = 0;
	for (; *words; words++) {
		bool found = false;

		for (size_t i = 0; i < runs->n; i++) {
			size_t k = 0;

			if (!cli_run_is(runs->run[i], *words))
				continue;
			found = true;
			while (k < *n && run[k] != runs->run[i])
				k++;
			if (k == *n)
				run[(*n)++] = runs->run[i];
		}
		if (!found)
			return cli_fail("no run \"%.64s\" of %s; netprof runs "
					"%s lists them",
					*words, runs->app, runs->app);
	}
	return -1;
}

/* Remove the named runs, or all, after asking. */
static int remove_runs(struct cli_store *s, enum np_store_owner owner,
		       const struct np_runs *runs,
		       const struct forget_options *o, char *const *words)
{
	bool own = owner == NP_STORE_USER;
	const struct np_record **run;
	size_t n = 0;
	struct np_err err = NP_ERR_INIT;
	char question[NP_APP_MAX + 128];
	int rc = -1;

	run = cli_calloc(runs->n, sizeof(*run));
	rc = find_named(runs, words, run, &n);
	if (words[0])
		snprintf(question, sizeof(question),
			 "Remove %zu of %s %zu %srun%s of %s for good?", n,
			 own ? "your" : "the", runs->n, own ? "" : "published ",
			 cli_plural_s(runs->n), runs->app);
	else
		snprintf(question, sizeof(question),
			 "Remove %s profile of %s for good, with %zu run%s%s?",
			 own ? "your" : "the published", runs->app, runs->n,
			 cli_plural_s(runs->n),
			 own ? ", all traces and measured slowdowns" : "");
	if (rc < 0)
		rc = confirm(o, question);
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

/*
 * Both commands: a user removes only own runs, and the store refuses to remove
 * published ones to users who may not write there.
 */
static int run(const struct cli_cmd *self, int argc, char **argv)
{
	enum np_store_owner owner =
		self == &cmd_unpublish ? NP_STORE_PUBLISHED : NP_STORE_USER;
	struct forget_options own_options = { false };
	struct np_err err = NP_ERR_INIT;
	struct cli_options o;
	struct np_runs runs;
	struct cli_store s;
	int rc = cli_options_parse(self, argc, argv, &own_options, &o);

	if (rc < 0 && np_app_check(o.app, &err))
		rc = cli_fail("%s", err.text);
	if (rc < 0)
		rc = cli_store_open(&s);
	if (rc >= 0)
		return rc;
	rc = np_store_load(s.store, owner, geteuid(), o.app, cli_warn_line,
			   NULL, &runs, &err);
	o.published = owner == NP_STORE_PUBLISHED;
	if (rc == -ENOENT) {
		rc = cli_fail("%s \"%.64s\"%s",
			      o.published ? "no published profile of" :
					    "you have no profile of",
			      o.app, cli_similar_apps(&s, &o, o.app));
	} else if (rc) {
		rc = cli_fail("%s", err.text);
	} else {
		rc = remove_runs(&s, owner, &runs, &own_options, o.apps + 1);
		np_runs_free(&runs);
	}
	cli_store_close(&s);
	return rc;
}

const struct cli_cmd cmd_forget = {
	.name = "forget",
	.args = "[--yes] APP [RUN]...",
	.help = "remove your own runs from the store",
	.text = "Removes runs of APP after asking. RUN is a name that netprof runs prints, or\n"
		"the number of a job; without RUN, all your runs of APP are removed, with their\n"
		"traces and the measured slowdowns of APP. Published copies stay.\n\n"
		"  -y, --yes  do not ask",
	.examples = "  netprof forget fft 4000\n"
		    "  netprof forget hello\n",
	.takes = CLI_TAKES_APPS,
	.own = options,
	.required_arg = "an application",
	.max_args = CLI_ANY,
	.run = run,
};

const struct cli_cmd cmd_unpublish = {
	.name = "unpublish",
	.args = "[--yes] APP [RUN]...",
	.help = "remove a published profile (administrators)",
	.text = "Removes the published runs of APP, or only each RUN, after asking. Without a\n"
		"published profile, placement does not restrict other users' jobs because of\n"
		"APP. Users' own runs stay.\n\n"
		"  -y, --yes  do not ask",
	.examples = "  netprof unpublish lammps-melt\n"
		    "  netprof unpublish fft 4000\n",
	.takes = CLI_TAKES_APPS,
	.own = options,
	.required_arg = "an application",
	.max_args = CLI_ANY,
	.run = run,
};
