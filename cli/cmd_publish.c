/*
 * netprof publish: copy a user's runs to the published profiles.
 *
 * Placement uses published profiles for the jobs of all users, so publishing is
 * for administrators. The permissions of the store enforce this.
 *
 * Functions that print their own error return -1 to go on, or the exit status.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli_profile.h"
#include "cli_text.h"

/*
 * Resolve the argument: "alice/fft" is an application of user alice, and "fft"
 * one of user own_uid. *app points into target. Returns -1 or an exit status.
 */
static int parse_target(const struct cli_cmd *self, const char *target,
			uid_t own_uid, uid_t *uid, const char **app)
{
	const char *slash = strchr(target, '/');
	char user[64];

	*uid = own_uid;
	*app = slash ? slash + 1 : target;
	if (!slash)
		return -1;
	if (slash == target || (size_t)(slash - target) >= sizeof(user))
		return cli_usage(self, "%.80s: expected USER/APP", target);
	snprintf(user, sizeof(user), "%.*s", (int)(slash - target), target);
	if (cli_uid_of(user, uid))
		return cli_fail("%s: no such user", user);
	return -1;
}

/*
 * Publish the runs of user uid under the name public_name, which
 * np_app_check() has accepted. What other users may not see is removed from
 * each run first. Returns the exit status.
 */
static int publish_runs(struct cli_store *store, struct np_runs *runs,
			uid_t uid, const char *public_name)
{
	struct np_err err = NP_ERR_INIT;
	char user[CLI_NUMBER];

	/*
	 * The runs are sorted, newest first. The oldest is published first, as
	 * a store that is full makes room by removing its oldest run.
	 */
	for (size_t i = runs->n; i-- > 0;) {
		strcpy(runs->run[i]->app, public_name);
		np_record_make_public(runs->run[i], geteuid());
		if (np_store_publish(store->store, runs->run[i], &err))
			return cli_fail("%s", err.text);
	}
	printf("published %zu run%s of %s (%s) as %s\n", runs->n,
	       cli_s(runs->n), runs->app, cli_user(uid, user), public_name);
	return CLI_DONE;
}

/*
 * Both names are checked before the store is opened, because the store uses
 * them as names of directories.
 */
static int run_publish(const struct cli_cmd *self, int argc, char **argv)
{
	struct np_err err = NP_ERR_INIT;
	struct cli_options options;
	struct np_runs runs;
	struct cli_store store;
	const char *app;
	char suggestion[256];
	uid_t uid;
	int rc;

	rc = cli_options_parse(self, argc, argv, NULL, &options);
	if (rc < 0)
		rc = parse_target(self, options.app, options.uid, &uid, &app);
	if (rc < 0 && options.as && np_app_check(options.as, &err))
		rc = cli_usage(self, "--as: %s", err.text);
	if (rc < 0 && np_app_check(app, &err))
		rc = cli_fail("%s", err.text);
	if (rc < 0)
		rc = cli_store_open(&store);
	if (rc >= 0)
		return rc;
	rc = np_store_load(store.store, NP_STORE_USER, uid, app, cli_warn_line,
			   NULL, &runs, &err);
	if (rc) {
		/* The names that are like it are those of the same user. */
		options.uid = uid;
		rc = cli_fail("%s%s", err.text, rc != -ENOENT ? "" :
			      cli_near_apps(&store, &options, app, suggestion,
					    sizeof(suggestion)));
	} else {
		rc = runs.n ? publish_runs(&store, &runs, uid,
					   options.as ? options.as : app) :
			      cli_fail("no usable run of \"%s\"", app);
		np_runs_free(&runs);
	}
	cli_store_close(&store);
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
