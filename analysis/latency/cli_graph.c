/*
 * Where the commands get graphs from: the newest trace of an application in the
 * store, a trace elsewhere, or GOAL from a file or a pipe.
 */
#include "cli_graph.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli_profile.h"
#include "cli_text.h"
#include "np_app.h"
#include "np_conf.h"
#include "np_goal.h"
#include "np_read.h"
#include "np_store.h"
#include "np_trace_read.h"

/* Opens the store of the configuration that the environment names. */
static int open_store(struct np_store **store, struct np_err *err)
{
	struct np_conf conf;
	int rc = np_conf_from_environment(&conf, err);

	return rc ? rc : np_store_open(conf.store, store, err);
}

/*
 * Finds the newest trace of an application. Returns 0, -ENOENT or another
 * error.
 */
static int find_newest_trace(const char *app, char **path, struct np_err *err)
{
	char buf[PATH_MAX + 2 * NAME_MAX];
	struct np_store *store;
	int rc = open_store(&store, err);

	if (rc)
		return rc;
	rc = np_store_trace(store, getuid(), app, buf, sizeof(buf), err);
	np_store_close(store);
	if (rc)
		return rc;
	*path = cli_strdup(buf);
	return 0;
}

/* Prints an error with the names of similar applications. */
static int fail_no_trace(const char *what)
{
	const struct cli_options own = { .uid = getuid() };
	struct cli_store store;
	const char *near = "";

	if (cli_store_open(&store) < 0) {
		near = cli_similar_apps(&store, &own, what);
		cli_store_close(&store);
	}
	return cli_fail("%.64s: no such file, and no trace of an application "
			"of that name; to record one: srun --netprofile=%.64s "
			"--netprofile-trace PROGRAM%s",
			what, what, near);
}

/*
 * A trace in the store is preferred to a file of that name, because the program
 * itself often has the name of its application.
 */
int cli_trace_path(const char *what, char **path)
{
	struct np_err err = NP_ERR_INIT;
	bool exists = !access(what, F_OK);
	int rc = -ENOENT;

	if (!np_app_check(what, NULL))
		rc = find_newest_trace(what, path, &err);
	if (!rc)
		return -1;
	if (!exists && err.text[0])
		return cli_fail("%.64s: no such file, and %s", what, err.text);
	if (!exists && rc == -ENOENT && !strchr(what, '/'))
		return fail_no_trace(what);
	*path = cli_strdup(what);
	return -1;
}

/* Makes the graph of a trace; options NULL: the defaults. */
static int read_trace(const char *path, const struct np_trace_options *options,
		      struct np_graph **out, struct np_err *err)
{
	static const struct np_trace_options defaults;
	struct np_trace_files files;
	int rc = np_trace_files_find(path, &files, err);

	if (rc)
		return rc;
	rc = np_trace_graph(&files, options ? options : &defaults, out, err);
	np_trace_files_free(&files);
	return rc;
}

int cli_goal_read(int fd, const char *path, struct np_graph **out,
		  struct np_err *err)
{
	int rc = np_goal_read(fd, path, out, err);
	char text[NP_ERR_LEN], line[2 * NP_ERR_LEN];
	uint32_t first;
	size_t n = rc ? 0 : np_graph_short_receives(*out, &first);

	if (!n)
		return rc;
	snprintf(line, sizeof(line),
		 "warning: %s is smaller than its message, whose size counts "
		 "(%zu such receive%s)",
		 np_graph_describe(*out, first, text, sizeof(text)), n,
		 cli_plural_s(n));
	cli_warn_of_input(line, NULL);
	return 0;
}

/* Reads a GOAL file or pipe. */
static int read_goal(const char *path, struct np_graph **out,
		     struct np_err *err)
{
	int fd = np_read_stream(path, err), rc;

	if (fd < 0)
		return fd;
	rc = cli_goal_read(fd, path, out, err);
	close(fd);
	return rc;
}

int cli_graph_load(const char *path, const struct np_trace_options *options,
		   struct np_graph **out, struct np_err *err)
{
	return np_trace_is(path) ? read_trace(path, options, out, err) :
				   read_goal(path, out, err);
}

int cli_graph_read(const char *what, const struct np_choices *choices,
		   struct np_graph **out)
{
	const struct np_trace_options options = { .choices = choices,
						  .warn = cli_warn_of_input };
	struct np_err err = NP_ERR_INIT;
	char *path;
	int rc = cli_trace_path(what, &path);

	if (rc >= 0)
		return rc;
	if (choices->n && !np_trace_is(path))
		rc = cli_fail("%.200s: --collective has no effect, because "
			      "GOAL has no collectives",
			      path);
	else if (cli_graph_load(path, &options, out, &err))
		rc = cli_fail("%s", err.text);
	free(path);
	return rc;
}
