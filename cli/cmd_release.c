/*
 * netprof release: remove what placement wrote into jobs.
 *
 * The work is done by netprof-release, a program of its own because it needs
 * Slurm's library, with which netprof is not linked. This command checks the
 * options, so that errors look like those of the other commands, and then
 * executes netprof-release.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli_profile.h"
#include "np_conf.h"

static int run_release(const struct cli_cmd *self, int argc, char **argv)
{
	char path[PATH_MAX + 32];
	struct np_conf conf;
	int rc;

	if (argc > 1 &&
	    (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) {
		cli_print_help(self);
		return CLI_DONE;
	}
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "--dry-run") && strcmp(argv[i], "-n"))
			return cli_usage(
				self,
				*argv[i] == '-' ?
					"no such option: %.64s" :
					"unexpected argument \"%.64s\"",
				argv[i]);
	/* cli_conf_read() returns -1 on success, and an exit status otherwise. */
	rc = cli_conf_read(&conf);
	if (rc >= 0)
		return rc;
	snprintf(path, sizeof(path), "%s/netprof-release", conf.libexecdir);
	argv[0] = path;
	/* Output that is still buffered would be lost in execv(). */
	fflush(NULL);
	execv(path, argv);
	return errno == ENOENT ?
		       cli_fail("%s does not exist: install the plugins for "
				"this release of Slurm, or correct LibexecDir "
				"in netprof.conf",
				path) :
		       cli_fail("%s: %s", path, strerror(errno));
}

const struct cli_cmd cmd_release = {
	.name = "release",
	.args = "[--dry-run]",
	.help = "remove what placement wrote into jobs",
	.text = "Removes the excluded nodes, begin times and annotations that placement wrote\n"
		"into jobs, and keeps those of users. Run it as an administrator, after netprof\n"
		"has been removed from JobSubmitPlugins.\n\n"
		"  --dry-run, -n       only print what would be done",
	.examples = "  netprof release --dry-run\n"
		    "  netprof release\n",
	.run = run_release,
};
