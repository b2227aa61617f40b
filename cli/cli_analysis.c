/*
 * Runs netprof-analysis, with which the core does not link. The network's
 * parameters are passed as an argument. The result is a JSON record on
 * standard output, which is not trusted, like any other file
 * (np_trace_analysis_get()).
 */
#include "cli_analysis.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli_loggps.h"
#include "np_conf.h"
#include "np_read.h"
#include "np_store.h"

/* Largest trace or graph that is analysed; this takes some seconds. */
#define MAX_BYTES (256u << 20)

#define PROGRAM "netprof-analysis"
#define NO_NETWORK \
	"no LogGPS parameters of this network; to measure them: " \
	"salloc -N2 --exclusive netprof loggps"

/* Search the directory of this program, as in a build tree, then LibexecDir. */
static int find_program(char *path, size_t size)
{
	struct np_conf conf;
	ssize_t len = readlink("/proc/self/exe", path, size - sizeof(PROGRAM));
	char *end;

	path[len > 0 ? len : 0] = '\0';
	end = strrchr(path, '/');
	if (end) {
		strcpy(end + 1, PROGRAM);
		if (!access(path, X_OK))
			return 0;
	}
	if (np_conf_from_environment(&conf, NULL) ||
	    snprintf(path, size, "%s/" PROGRAM, conf.libexecdir) >= (int)size)
		return -ENOENT;
	return access(path, X_OK) ? -errno : 0;
}

int cli_analysis_run(char **argv)
{
	char path[PATH_MAX];
	int argc = 0, rc = find_program(path, sizeof(path));
	char **command;

	while (argv[argc])
		argc++;
	command = cli_calloc((size_t)argc + 2, sizeof(*command));
	command[0] = path;
	memcpy(command + 1, argv, (size_t)argc * sizeof(*command));
	fflush(NULL);
	if (!rc) {
		execv(path, command);
		rc = -errno;
	}
	free(command);
	return rc == -ENOENT ? cli_fail("%s is a command of another package: "
					"install the package netprof-analysis",
					argv[0]) :
			       cli_fail("%s: %s", path, strerror(-rc));
}

/*
 * Run netprof-analysis and read its output. Returns the length of *text, which
 * the caller frees, or -errno.
 */
static ssize_t read_output(char **argv, char **text)
{
	int fd[2], status;
	ssize_t len;
	pid_t pid;

	if (pipe(fd))
		return -errno;
	fflush(NULL);
	pid = fork();
	if (!pid) {
		dup2(fd[1], 1);
		close(fd[0]);
		close(fd[1]);
		_exit(cli_analysis_run(argv));
	}
	close(fd[1]);
	len = pid < 0 ?
		    -errno :
		    np_read_text(fd[0], NP_TRACE_ANALYSIS_MAX_BYTES + 1, text);
	close(fd[0]);
	if (pid > 0 && waitpid(pid, &status, 0) == pid && len >= 0 && status) {
		free(*text);
		len = -EIO;
	}
	return len;
}

/* Run "netprof-analysis curve" on a trace, and parse its output. */
static int run_analysis(const char *path, enum cli_traced_result result,
			const struct np_loggps *network,
			struct np_trace_analysis *out, struct np_err *err)
{
	char network_text[256], program[PATH_MAX], *text;
	char *argv[] = { "curve",
			 result == CLI_TRACED_THRESHOLDS ? "thresholds" :
							   "times",
			 network_text, (char *)path, NULL };
	ssize_t len = find_program(program, sizeof(program));
	int rc;

	if (len)
		return np_errf(err, (int)len,
			       len == -ENOENT ? "reading traces needs the "
						"package netprof-analysis" :
						"%s: %s",
			       program, strerror((int)-len));
	snprintf(network_text, sizeof(network_text),
		 "%.17g,%.17g,%.17g,%llu,%d,%.17g,%.17g", network->L_ns,
		 network->o_ns, network->G_ns, (unsigned long long)network->S,
		 network->first_byte_free, network->g_ns, network->O_ns);
	len = read_output(argv, &text);
	if (len < 0)
		return np_errf(err, (int)len, "%s: " PROGRAM " failed", path);
	rc = np_trace_analysis_get(text, (size_t)len, PROGRAM, out, err);
	free(text);
	return rc;
}

/* Whether a record has the wanted result; a trace may be too short for it. */
static bool has_result(const struct np_trace_analysis *analysis,
		       enum cli_traced_result result)
{
	return result == CLI_TRACED_THRESHOLDS ? analysis->n_thresholds > 0 :
						 analysis->n_times > 0;
}

/* A record in the store is not used if the trace or the network has changed. */
int cli_traced_get(const char *path, uid_t uid, enum cli_traced_result result,
		   const struct np_loggps *network, double max_bytes,
		   struct np_trace_analysis *out, struct np_err *err)
{
	double bytes = np_trace_bytes(path);
	struct np_trace_analysis analysis;
	int rc;

	if (!np_trace_analysis_load(path, uid, &analysis)) {
		if (np_trace_analysis_fits(&analysis, bytes, network) &&
		    has_result(&analysis, result)) {
			*out = analysis;
			return 0;
		}
		np_trace_analysis_free(&analysis);
	}
	if (bytes > max_bytes && result == CLI_TRACED_THRESHOLDS)
		return np_errf(
			err, -E2BIG,
			"%.0f MB is too large here; use \"netprof tolerance\"",
			bytes / (1 << 20));
	if (bytes > max_bytes)
		return np_errf(err, -E2BIG,
			       "%s: %.0f MB, expected at most %.0f", path,
			       bytes / (1 << 20), max_bytes / (1 << 20));
	rc = run_analysis(path, result, network, &analysis, err);
	if (!rc && !has_result(&analysis, result)) {
		rc = np_errf(err, -ENODATA, "%s", analysis.why);
		np_trace_analysis_free(&analysis);
	}
	if (!rc)
		*out = analysis;
	return rc;
}

/* Load the response of a trace to latency, which depends on the network. */
static void load_response(const char *path, uid_t uid,
			  const struct np_loggps *network,
			  struct cli_traced *out)
{
	struct np_trace_analysis analysis;

	*out = (struct cli_traced){ .why = NP_ERR_INIT };
	if (!network) {
		np_errf(&out->why, -ENODATA, NO_NETWORK);
		return;
	}
	if (cli_traced_get(path, uid, CLI_TRACED_RUN_TIMES, network, MAX_BYTES,
			   &analysis, &out->why))
		return;
	np_trace_analysis_response(&analysis, &out->response);
	np_trace_analysis_free(&analysis);
}

static void set_response(struct np_program *program,
			 const struct cli_traced *traced)
{
	program->response = traced->why.text[0] ? NULL : &traced->response;
	program->untraced = traced->why.text;
}

void cli_traced_attach(const char *path, uid_t uid,
		       const struct np_loggps *network,
		       struct cli_traced *traced, struct np_program *program)
{
	load_response(path, uid, network, traced);
	set_response(program, traced);
}

/*
 * Get the response of the owner's newest trace in the store. A published
 * profile has none, as traces are never published.
 */
static void load_newest_response(const struct np_runs *runs,
				 struct cli_store *store,
				 const struct np_loggps *network,
				 struct cli_traced *out)
{
	char path[PATH_MAX + 2 * NAME_MAX];
	int rc = -ENOENT;

	*out = (struct cli_traced){ .why = NP_ERR_INIT };
	if (runs->owner == NP_STORE_USER)
		rc = np_store_trace(store->store, runs->uid, runs->app, path,
				    sizeof(path), &out->why);
	if (!rc)
		load_response(path, runs->uid, network, out);
	else if (!out->why.text[0])
		np_errf(&out->why, rc,
			"no trace; to record one: srun --netprofile=%s "
			"--netprofile-trace PROGRAM",
			runs->app);
}

/* The results are freed together with the known applications. */
void cli_known_attach_traces(struct cli_known *known, struct cli_store *store,
			     const struct np_model *model)
{
	struct np_loggps network;
	bool has_network;

	if (!(model->required & NP_DATA_TRACE))
		return;
	has_network = cli_loggps_of(store->store, known->cal.cluster, &network);
	for (size_t i = 0; i < known->n; i++) {
		struct cli_known_app *app = known->app[i];

		app->traced = cli_calloc(1, sizeof(*app->traced));
		load_newest_response(&app->runs, store,
				     has_network ? &network : NULL,
				     app->traced);
		set_response(&app->summary.program, app->traced);
	}
}
