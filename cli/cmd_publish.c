/*
 * netprof publish: copy a user's runs to the published profiles.
 *
 * Placement lets only published profiles move other users' jobs, so publishing
 * is for administrators: the store refuses it to others by its permissions.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli_profile.h"
#include "cli_text.h"

/*
 * Split "alice/lammps" into user and application; own: the user of "lammps".
 * Returns -1 to go on, or the exit status.
 */
static int split(const struct cli_cmd *self, const char *word, uid_t own,
		 uid_t *uid, const char **app)
{
	const char *slash = strchr(word, '/');
	char user[64];

	*uid = own;
	*app = slash ? slash + 1 : word;
	if (!slash)
		return -1;
	if (slash == word || (size_t)(slash - word) >= sizeof(user))
		return cli_usage(self, "%.80s: expected USER/APP", word);
	snprintf(user, sizeof(user), "%.*s", (int)(slash - word), word);
	if (cli_uid_of(user, uid))
		return cli_fail("%s: no such user", user);
	return -1;
}

/* Copy the runs without what is private (np_record_make_public()). */
static int publish(struct cli_store *s, struct np_runs *runs, uid_t uid,
		   const char *as)
{
	struct np_err err = NP_ERR_INIT;
	char user[CLI_NUMBER];

	/* Oldest first, because the store removes the oldest if there are too
	 * many. */
	for (size_t i = runs->n; i-- > 0;) {
		strcpy(runs->run[i]->app, as);
		np_record_make_public(runs->run[i], geteuid());
		if (np_store_publish(s->store, runs->run[i], &err))
			return cli_fail("%s", err.text);
	}
	printf("published %zu %s of %s (%s) as %s\n", runs->n,
	       runs->n == 1 ? "run" : "runs", runs->app, cli_user(uid, user),
	       as);
	return CLI_DONE;
}

/*
 * The name is checked before the store is opened, because it becomes a
 * directory.
 */
static int run_publish(const struct cli_cmd *self, int argc, char **argv)
{
	struct np_err err = NP_ERR_INIT;
	struct cli_options o;
	struct np_runs runs;
	struct cli_store s;
	const char *app;
	char near[256];
	uid_t uid;
	int rc;

	rc = cli_options_parse(self, argc, argv, NULL, &o);
	if (rc < 0)
		rc = split(self, o.app, o.uid, &uid, &app);
	if (rc < 0 && o.as && np_app_check(o.as, &err))
		rc = cli_usage(self, "--as: %s", err.text);
	if (rc < 0 && np_app_check(app, &err))
		rc = cli_fail("%s", err.text);
	if (rc < 0)
		rc = cli_store_open(&s);
	if (rc >= 0)
		return rc;
	rc = np_store_load(s.store, NP_STORE_USER, uid, app, cli_warn_line,
			   NULL, &runs, &err);
	if (rc) {
		o.uid = uid;
		rc = cli_fail("%s%s", err.text, rc != -ENOENT ? "" :
			      cli_near_apps(&s, &o, app, near, sizeof(near)));
	} else {
		rc = runs.n ? publish(&s, &runs, uid, o.as ? o.as : app) :
			      cli_fail("no usable run of \"%s\"", app);
		np_runs_free(&runs);
	}
	cli_store_close(&s);
	return rc;
}

const struct cli_cmd cmd_publish = {
	.name = "publish", .args = "[USER/]APP [--as=NAME]",
	.help = "make a profile available to all users (administrators)",
	.text =
"Copies the runs of a user's application (yours without USER/) to the published\n"
"profiles, which every user can read and which placement trusts.  Publishing\n"
"again adds the new runs.  What predictions do not need stays private: who ran\n"
"it, on which nodes and hosts, and which other jobs ran then.  A published\n"
"profile \"idle\" is the idle baseline of all users who have none of their own.\n\n"
"  --as=NAME  publish under another name",
	.examples =
"  netprof publish lammps --as=lammps-melt\n"
"  netprof publish alice/fft\n"
"  netprof publish idle\n",
	.takes = CLI_TAKES_APPS | CLI_TAKES_AS,
	.missing = "an application", .most = 1,
	.run = run_publish,
};
