#include "cli_graph.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli_profile.h"
#include "np_app.h"
#include "np_goal.h"
#include "np_store_trace.h"
#include "np_trace_read.h"

static int in_store(const char *app, char **path)
{
	struct np_err err = NP_ERR_INIT;
	char buf[PATH_MAX + 2 * NAME_MAX];
	struct cli_store s;
	int rc = cli_store_open(&s);

	if (rc >= 0)
		return rc;
	rc = np_store_trace(s.store, getuid(), app, buf, sizeof(buf), &err);
	cli_store_close(&s);
	if (rc == -ENOENT)
		return cli_fail("%.64s: no such file, and no trace of an "
				"application of that name; \"srun "
				"--netprofile-trace\" records one", app);
	if (rc)
		return cli_fail("%s", err.text);
	*path = strdup(buf);
	return *path ? -1 : cli_fail("out of memory");
}

int cli_trace_path(const char *what, char **path)
{
	struct stat st;

	if (stat(what, &st) && errno == ENOENT && !np_app_check(what, NULL))
		return in_store(what, path);
	*path = strdup(what);
	return *path ? -1 : cli_fail("out of memory");
}

static void warn(const char *line, void *arg)
{
	(void)arg;
	fprintf(stderr, "netprof: %s\n", line);
}

static int read_trace(const char *path, const struct np_choices *choices,
		      struct np_graph **out)
{
	const struct np_trace_options o = { .choices = choices, .warn = warn };
	struct np_err err = NP_ERR_INIT;
	struct np_trace_files f;
	int rc = np_trace_files_find(path, &f, &err);

	if (!rc) {
		rc = np_trace_graph(&f, &o, out, &err);
		np_trace_files_free(&f);
	}
	return rc ? cli_fail("%s", err.text) : -1;
}

static int read_goal(const char *path, struct np_graph **out)
{
	struct np_err err = NP_ERR_INIT;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY), rc;

	if (fd < 0)
		return cli_fail("%s: %s", path, strerror(errno));
	rc = np_goal_read(fd, path, out, &err);
	close(fd);
	return rc ? cli_fail("%s", err.text) : -1;
}

int cli_graph_read(const char *what, const struct np_choices *choices,
		   struct np_graph **out)
{
	struct stat st;
	char *path;
	int rc = cli_trace_path(what, &path);

	if (rc >= 0)
		return rc;
	rc = (!stat(path, &st) && S_ISDIR(st.st_mode)) || np_trace_is(path) ?
	     read_trace(path, choices, out) : read_goal(path, out);
	free(path);
	return rc;
}
