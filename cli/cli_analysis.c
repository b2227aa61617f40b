/*
 * Results of netprof-analysis: found in the store, or computed by running it.
 *
 * The core links nothing of the analysis.  It passes the network as an argument
 * and reads one JSON record from standard output, which is hostile input like
 * any other (np_trace_analysis_get()).
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

/* Largest trace or graph that is analysed, bytes; this takes some seconds. */
#define MAX_BYTES (256u << 20)

#define PROGRAM "netprof-analysis"
#define NO_NETWORK "no LogGPS parameters of this network; to measure them: " \
	"salloc -N2 --exclusive netprof loggps"

/* Look next to this program, as in a build tree, then in LibexecDir. */
static int find_program(char *path, size_t len)
{
	struct np_conf conf;
	ssize_t n = readlink("/proc/self/exe", path, len - sizeof(PROGRAM));
	char *end;

	path[n > 0 ? n : 0] = '\0';
	end = strrchr(path, '/');
	if (end) {
		strcpy(end + 1, PROGRAM);
		if (!access(path, X_OK))
			return 0;
	}
	if (np_conf_from_environment(&conf, NULL) ||
	    snprintf(path, len, "%s/" PROGRAM, conf.libexecdir) >= (int)len)
		return -ENOENT;
	return access(path, X_OK) ? -errno : 0;
}

int cli_analysis_run(char **argv)
{
	char path[PATH_MAX];
	int argc = 0, rc = find_program(path, sizeof(path));
	char **all;

	while (argv[argc])
		argc++;
	all = calloc((size_t)argc + 2, sizeof(*all));
	if (!all)
		return cli_fail("out of memory");
	all[0] = path;
	memcpy(all + 1, argv, (size_t)argc * sizeof(*all));
	fflush(NULL);
	if (!rc) {
		execv(path, all);
		rc = -errno;
	}
	free(all);
	return rc == -ENOENT ?
	       cli_fail("%s is a command of another package: install the "
			"package netprof-analysis", argv[0]) :
	       cli_fail("%s: %s", path, strerror(-rc));
}

/*
 * Run netprof-analysis and read its output.  Returns the length of *text, which
 * the caller frees, or -errno.
 */
static ssize_t output_of(char **argv, char **text)
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
	len = pid < 0 ? -errno : np_read_text(fd[0], NP_TRACE_ANALYSIS_MAX_BYTES + 1,
					      text);
	close(fd[0]);
	if (pid > 0 && waitpid(pid, &status, 0) == pid && len >= 0 && status) {
		free(*text);
		len = -EIO;
	}
	return len;
}

/* Run "netprof-analysis curve", which takes the network as an argument. */
static int run_program(const char *path, enum cli_traced_what what,
		       const struct np_loggps *net, struct np_trace_analysis *out,
		       struct np_err *err)
{
	char net_text[256], program[PATH_MAX], *text;
	char *argv[] = { "curve",
			 what == CLI_TRACED_THRESHOLDS ? "thresholds" : "times",
			 net_text, (char *)path, NULL };
	ssize_t len = find_program(program, sizeof(program));
	int rc;

	if (len)
		return np_errf(err, (int)len, len == -ENOENT ?
			       "reading traces needs the package "
			       "netprof-analysis" : "%s: %s", program,
			       strerror((int)-len));
	snprintf(net_text, sizeof(net_text), "%.17g,%.17g,%.17g,%llu,%d,%.17g,"
		 "%.17g", net->L_ns, net->o_ns, net->G_ns,
		 (unsigned long long)net->S, net->first_byte_free, net->g_ns,
		 net->O_ns);
	len = output_of(argv, &text);
	if (len < 0)
		return np_errf(err, (int)len, "%s: " PROGRAM " failed", path);
	rc = np_trace_analysis_get(text, (size_t)len, PROGRAM, out, err);
	free(text);
	return rc;
}

/* Does the record have the wanted result? A trace may be too short for it. */
static bool has_result(const struct np_trace_analysis *t, enum cli_traced_what what)
{
	return what == CLI_TRACED_THRESHOLDS ? t->n_thresholds > 0 :
					       t->n_times > 0;
}

/*
 * A record in the store is only used if it is of this trace and this network.
 */
int cli_traced_get(const char *path, uid_t uid, enum cli_traced_what what,
		   const struct np_loggps *net, double max_bytes,
		   struct np_trace_analysis *out, struct np_err *err)
{
	double bytes = np_trace_bytes(path);
	struct np_trace_analysis t;
	int rc;

	if (!np_trace_analysis_load(path, uid, &t)) {
		if (np_trace_analysis_fits(&t, bytes, net) && has_result(&t, what)) {
			*out = t;
			return 0;
		}
		np_trace_analysis_free(&t);
	}
	if (bytes > max_bytes && what == CLI_TRACED_THRESHOLDS)
		return np_errf(err, -E2BIG, "%.0f MB is too large here; use "
			       "\"netprof tolerance\"", bytes / (1 << 20));
	if (bytes > max_bytes)
		return np_errf(err, -E2BIG, "%s: %.0f MB, expected at most "
			       "%.0f", path, bytes / (1 << 20),
			       max_bytes / (1 << 20));
	rc = run_program(path, what, net, &t, err);
	if (!rc && !has_result(&t, what)) {
		rc = np_errf(err, -ENODATA, "%s", t.why);
		np_trace_analysis_free(&t);
	}
	if (!rc)
		*out = t;
	return rc;
}

/* Without the network's parameters a trace says nothing about latency. */
static void get_response(const char *path, uid_t uid,
			 const struct np_loggps *net, struct cli_traced *out)
{
	struct np_trace_analysis t;

	*out = (struct cli_traced){ .why = NP_ERR_INIT };
	if (!net) {
		np_errf(&out->why, -ENODATA, NO_NETWORK);
		return;
	}
	if (cli_traced_get(path, uid, CLI_TRACED_CURVE, net, MAX_BYTES, &t,
			   &out->why))
		return;
	np_trace_analysis_response(&t, &out->response);
	np_trace_analysis_free(&t);
}

static void attach(const struct cli_traced *t, struct np_program *a)
{
	a->response = t->why.text[0] ? NULL : &t->response;
	a->untraced = t->why.text;
}

void cli_traced_attach(const char *path, uid_t uid, const struct np_loggps *net,
		       struct cli_traced *t, struct np_program *a)
{
	get_response(path, uid, net, t);
	attach(t, a);
}

/* The newest trace of the owner in the store; traces are never published. */
static void read_newest(const struct cli_runs *r, struct cli_store *s,
			const struct np_loggps *net, struct cli_traced *out)
{
	char path[PATH_MAX + 2 * NAME_MAX];
	int rc = -ENOENT;

	*out = (struct cli_traced){ .why = NP_ERR_INIT };
	if (r->owner == NP_STORE_USER)
		rc = np_store_trace(s->store, r->uid, r->runs.app, path,
				    sizeof(path), &out->why);
	if (!rc)
		get_response(path, r->uid, net, out);
	else if (!out->why.text[0])
		np_errf(&out->why, rc, "no trace; to record one: srun "
			"--netprofile=%s --netprofile-trace PROGRAM",
			r->runs.app);
}

/* The structures are freed with the known applications. */
int cli_known_attach_traces(struct cli_known *k, struct cli_store *s,
		    const struct np_model *m)
{
	struct np_loggps net;
	bool known;

	if (!(m->needs & NP_NEED_TRACE))
		return 0;
	known = cli_loggps_of(s->store, k->cal.cluster, &net);
	for (size_t i = 0; i < k->n; i++) {
		struct cli_known_app *a = k->app[i];

		a->traced = calloc(1, sizeof(*a->traced));
		if (!a->traced)
			return -ENOMEM;
		read_newest(&a->r, s, known ? &net : NULL, a->traced);
		attach(a->traced, &a->summary.program);
	}
	return 0;
}
