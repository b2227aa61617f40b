/*
 * netprof publish: copy a user's runs to the published profiles.
 *
 * Placement uses published profiles for the jobs of all users, so publishing is
 * for administrators. The permissions of the store enforce this.
 *
 * Functions that print their own errors return -1 if the command should
 * continue, and its exit status otherwise.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli_profile.h"
#include "cli_text.h"

/*
 * Split the argument into a user and an application: "alice/fft" is the
 * application fft of user alice, and "fft" is an application of user own_uid.
 * *app points into arg. Returns -1 or an exit status.
 */
static int parse_user_and_app(const struct cli_cmd *self, const char *arg,
			      uid_t own_uid, uid_t *uid, const char **app)
{
	const char *slash = strchr(arg, '/');
	char user[64];

	*uid = own_uid;
	*app = slash ? slash + 1 : arg;
	if (!slash)
		return -1;
	if (slash == arg || (size_t)(slash - arg) >= sizeof(user))
		return cli_usage(self, "%.80s: expected USER/APP", arg);
	snprintf(user, sizeof(user), "%.*s", (int)(slash - arg), arg);
	if (cli_uid_of(user, uid))
		return cli_fail("%s: no such user", user);
	return -1;
}

/*
 * Publish the runs of user uid under the name public_name, which np_app_check()
 * has accepted. Data that other users must not see is removed from each run
 * first. Returns the exit status.
 */
static int publish_runs(struct cli_store *store, struct np_runs *runs,
			uid_t uid, const char *public_name)
{
	struct np_err err = NP_ERR_INIT;

	/*
	 * The runs are sorted by age, newest first. Publish the oldest run
	 * first: a store with MaxRuns runs removes its oldest one for each new
	 * one, but never the one just written, so the newest remain.
	 */
	for (size_t i = runs->n; i-- > 0;) {
		strcpy(runs->run[i]->app, public_name);
		np_record_make_public(runs->run[i], geteuid());
		if (np_store_save(store->store, NP_STORE_PUBLISHED,
				  runs->run[i], &err))
			return cli_fail("%s", err.text);
	}
	printf("published %zu run%s of %s (%s) as %s\n", runs->n,
	       cli_plural_s(runs->n), runs->app, cli_user(uid), public_name);
	return CLI_DONE;
}

/*
 * Load the runs of an application of user uid, and publish them under
 * public_name. Returns the exit status.
 */
static int load_and_publish(struct cli_store *store,
			    struct cli_options *options, uid_t uid,
			    const char *app, const char *public_name)
{
	struct np_err err = NP_ERR_INIT;
	struct np_runs runs;
	int rc = np_store_load(store->store, NP_STORE_USER, uid, app,
			       cli_warn_line, NULL, &runs, &err);

	if (rc == -ENOENT) {
		/* Suggest similar names among the applications of that user. */
		options->uid = uid;
		return cli_fail("%s has no profile of \"%s\"%s", cli_user(uid),
				app, cli_similar_apps(store, options, app));
	}
	if (rc)
		return cli_fail("%s", err.text);
	if (runs.n)
		rc = publish_runs(store, &runs, uid, public_name);
	else
		rc = cli_fail("no usable run of \"%s\"", app);
	np_runs_free(&runs);
	return rc;
}

/*
 * Both names are checked before the store is opened, because the store uses
 * them as directory names.
 */
static int run_publish(const struct cli_cmd *self, int argc, char **argv)
{
	struct np_err err = NP_ERR_INIT;
	struct cli_options options;
	struct cli_store store;
	const char *app, *public_name;
	uid_t uid;
	int rc;

	rc = cli_options_parse(self, argc, argv, NULL, &options);
	if (rc < 0)
		rc = parse_user_and_app(self, options.app, options.uid, &uid,
					&app);
	if (rc >= 0)
		return rc;
	public_name = options.new_name ? options.new_name : app;
	if (options.new_name && np_app_check(options.new_name, &err))
		return cli_usage(self, "--as: %s", err.text);
	if (np_app_check(app, &err))
		return cli_fail("%s", err.text);
	rc = cli_store_open(&store);
	if (rc >= 0)
		return rc;
	rc = load_and_publish(&store, &options, uid, app, public_name);
	cli_store_close(&store);
	return rc;
}

const struct cli_cmd cmd_publish = {
	.name = "publish",
	.args = "[USER/]APP [--as=NAME]",
	.help = "make a profile available to all users (administrators)",
	.text = "Copies the runs of a user's application (your own, if USER/ is omitted) to the\n"
		"published profiles, which every user can read and which placement trusts.\n"
		"Publishing again adds the new runs. What predictions do not need stays\n"
		"private: who ran it, on which nodes and hosts, and which other jobs ran then.\n"
		"A published profile \"idle\" is the idle baseline of all users who have none of\n"
		"their own.\n\n"
		"  --as=NAME  publish under another name",
	.examples = "  netprof publish lammps --as=lammps-melt\n"
		    "  netprof publish alice/fft\n"
		    "  netprof publish idle\n",
	.takes = CLI_TAKES_APPS | CLI_TAKES_NEW_NAME,
	.required_arg = "an application",
	.max_args = 1,
	.run = run_publish,
};
