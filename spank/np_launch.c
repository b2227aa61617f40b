/*
 * Starts the collector of a step. The sections are in the order in which srun
 * uses them: decide whether to measure the step, write the request as a command
 * line, start the collector with it, and communicate with the collector.
 *
 * Everything runs in srun, except np_launch_from_argv(), which the collector
 * calls.
 */
#include "np_launch.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "np_clock.h"
#include "np_detach.h"
#include "np_text.h"

/* ---- deciding whether and how a step is measured ---- */

enum wrapper { PROGRAM, LAUNCHER, INTERPRETER };

/* Executables that do not identify the application. */
/* clang-format off */
static const struct {
	const char *name;
	enum wrapper kind;
} wrappers[] = {
	{ "orted",              LAUNCHER },    /* Open MPI */
	{ "prted",              LAUNCHER },
	{ "hydra_pmi_proxy",    LAUNCHER },    /* MPICH, Intel MPI */
	{ "hydra_bstrap_proxy", LAUNCHER },
	{ "pmi_proxy",          LAUNCHER },
	{ "mpispawn",           LAUNCHER },    /* MVAPICH */
	{ "sh",                 INTERPRETER },
	{ "bash",               INTERPRETER },
	{ "dash",               INTERPRETER },
	{ "zsh",                INTERPRETER },
	{ "csh",                INTERPRETER },
	{ "tcsh",               INTERPRETER },
	{ "env",                INTERPRETER },
	{ "perl",               INTERPRETER },
	{ "python",             INTERPRETER },
	{ "python2",            INTERPRETER },
	{ "python3",            INTERPRETER },
	{ "julia",              INTERPRETER },
	{ "Rscript",            INTERPRETER },
};
/* clang-format on */

static enum wrapper classify_executable(const char *exe)
{
	for (size_t i = 0; i < NP_ARRAY_SIZE(wrappers); i++)
		if (!strcmp(basename(exe), wrappers[i].name))
			return wrappers[i].kind;
	return PROGRAM;
}

/* Find the program that a command line runs. Returns NULL if it is unknown. */
static const char *find_program(int argc, char **argv)
{
	enum wrapper kind = argc < 1 ? LAUNCHER : classify_executable(argv[0]);

	if (kind == PROGRAM)
		return argv[0];
	/*
	 * It is unknown which options take arguments, so a script can only be
	 * identified if it is the first argument.
	 */
	return kind == INTERPRETER && argc > 1 && argv[1][0] != '-' &&
			       !strchr(argv[1], '=') ?
		       argv[1] :
		       NULL;
}

int np_launch_app_name(const struct np_step_context *context,
		       char app[NP_APP_MAX + 1], struct np_err *err)
{
	const char *given = context->app ? context->app : context->env_app;
	const char *program = find_program(context->argc, context->argv);

	if (given && *given) {
		if (np_app_check(given, err))
			return -EINVAL;
		strcpy(app, given);
		return 0;
	}
	if (program && !np_app_from_text(program, app))
		return 0;
	if (context->job_name && !np_app_from_text(context->job_name, app))
		return 0;
	if (context->argc > 0 && !np_app_from_text(context->argv[0], app))
		return 0;
	return np_errf(err, -EINVAL,
		       "the application has no name: give it one with "
		       "--netprofile=APP");
}

static bool has_text(const char *text)
{
	return text && *text;
}

static uint32_t cpus_per_task(const struct np_step_context *context)
{
	unsigned long cpus = context->cpus_per_task ?
				     strtoul(context->cpus_per_task, NULL, 10) :
				     0;

	return cpus < UINT32_MAX ? (uint32_t)cpus : 0;
}

/*
 * Copy the requested binding, such as "cores" or "map_cpu:0,2", and the
 * requested number of processors. A long list is cut and ends in "...".
 */
static void copy_binding(const struct np_step_context *context,
			 struct np_launch_request *request)
{
	const char *type = has_text(context->bind_type) ? context->bind_type :
							  "";
	size_t len = strlen(type);
	bool has_list = len && type[len - 1] == ':' &&
			has_text(context->bind_list);
	int written = snprintf(request->cpu_bind, sizeof(request->cpu_bind),
			       "%s%s", type,
			       has_list ? context->bind_list : "");

	if (written >= (int)sizeof(request->cpu_bind))
		strcpy(request->cpu_bind + sizeof(request->cpu_bind) - 4,
		       "...");
	request->cpus_per_task = cpus_per_task(context);
}

void np_launch_fingerprint(const struct np_step_context *context, char hex[20])
{
	bool launcher = context->argc > 0 &&
			classify_executable(context->argv[0]) == LAUNCHER;
	uint64_t hash = NP_HASH;

	for (int i = 0; i < (launcher ? 1 : context->argc); i++)
		hash = np_hash(hash, context->argv[i],
			       strlen(context->argv[i]) + 1);
	hash = np_hash(hash, &context->step.n_nodes,
		       sizeof(context->step.n_nodes));
	hash = np_hash(hash, &context->step.n_tasks,
		       sizeof(context->step.n_tasks));
	/* Unset values are not hashed, so that digests of old runs are kept. */
	if (has_text(context->bind_type))
		hash = np_hash(hash, context->bind_type,
			       strlen(context->bind_type) + 1);
	if (has_text(context->bind_type) && has_text(context->bind_list))
		hash = np_hash(hash, context->bind_list,
			       strlen(context->bind_list) + 1);
	if (cpus_per_task(context))
		hash = np_hash(hash, context->cpus_per_task,
			       strlen(context->cpus_per_task) + 1);
	snprintf(hex, 20, "%016llx", (unsigned long long)hash);
}

static int add_setting(struct np_launch_request *request, const char *setting,
		       struct np_err *why)
{
	if (request->n_settings == NP_LAUNCH_SETTINGS)
		return np_errf(
			why, -EINVAL,
			"more than %d arguments for netprof in plugstack.conf",
			NP_LAUNCH_SETTINGS);
	request->setting[request->n_settings++] = setting;
	return 0;
}

static int add_settings(const struct np_step_context *context,
			struct np_launch_request *request, struct np_err *why)
{
	for (int i = 0; i < context->n_settings; i++)
		if (add_setting(request, context->setting[i], why))
			return -EINVAL;
	return context->period ? add_setting(request, context->period, why) : 0;
}

enum np_launch_decision np_launch_decide(struct np_step_context *context,
					 struct np_err *why)
{
	struct np_launch_request *request = &context->step;

	if (context->helper_step ||
	    (!context->requested && !(context->env_app && *context->env_app)))
		return NP_LAUNCH_IGNORE;
	if (context->interactive)
		return np_errf(why, NP_LAUNCH_SKIP,
			       "the shell of salloc is not measured; steps "
			       "started in it are");
	request->launcher = context->argc > 0 &&
			    classify_executable(context->argv[0]) == LAUNCHER;
	request->runner = request->launcher ? context->parent : context->pid;
	/* Each component's collector finds out where that component runs. */
	if (!context->heterogeneous && request->n_nodes + request->launcher < 2)
		return np_errf(
			why, NP_LAUNCH_SKIP,
			"the step runs on one node, which uses no switch");
	if (np_launch_app_name(context, request->app, why) ||
	    add_settings(context, request, why))
		return NP_LAUNCH_SKIP;
	if (strlen(context->srun) >= sizeof(request->srun))
		return np_errf(why, NP_LAUNCH_SKIP,
			       "the path of srun is too long: %s",
			       context->srun);
	strcpy(request->srun, context->srun);
	snprintf(request->executable, sizeof(request->executable), "%s",
		 context->argc > 0 ? context->argv[0] : "");
	copy_binding(context, request);
	np_launch_fingerprint(context, request->fingerprint);
	return NP_LAUNCH_START;
}

/* ---- the request as a command line ---- */

/* The members of the request that are passed as an argument --NAME=VALUE. */
static const struct field {
	const char *name;
	/* The type of the member; an APP is checked like a name. */
	enum { U32, LONG, BOOL, TEXT, APP } kind;
	size_t offset, size;
} fields[] = {
#define OF(member) \
	offsetof(struct np_launch_request, member), \
		sizeof(((struct np_launch_request *)NULL)->member)
	{ "job", U32, OF(job_id) },
	{ "step", U32, OF(step_id) },
	{ "het", LONG, OF(het_component) },
	{ "het-job", U32, OF(het_job_id) },
	{ "nodes", U32, OF(n_nodes) },
	{ "tasks", U32, OF(n_tasks) },
	{ "cpus", U32, OF(cpus_per_task) },
	{ "bind", TEXT, OF(cpu_bind) },
	{ "launcher", BOOL, OF(launcher) },
	{ "runner", U32, OF(runner) },
	{ "app", APP, OF(app) },
	{ "level", TEXT, OF(level) },
	{ "rail", TEXT, OF(rail) },
	{ "exe", TEXT, OF(executable) },
	{ "fingerprint", TEXT, OF(fingerprint) },
	{ "srun", TEXT, OF(srun) },
	{ "cluster", TEXT, OF(cluster) },
#undef OF
};
#define N_FIELDS NP_ARRAY_SIZE(fields)

static void add_field(struct np_args *args,
		      const struct np_launch_request *request,
		      const struct field *field)
{
	const void *member = (const char *)request + field->offset;

	switch (field->kind) {
	case U32:
		np_args_add(args, "--%s=%u", field->name,
			    *(const uint32_t *)member);
		break;
	case LONG:
		np_args_add(args, "--%s=%ld", field->name,
			    *(const long *)member);
		break;
	case BOOL:
		np_args_add(args, "--%s=%d", field->name,
			    *(const bool *)member);
		break;
	case TEXT:
	case APP:
		np_args_add(args, "--%s=%s", field->name, (const char *)member);
		break;
	}
}

void np_launch_to_args(const struct np_launch_request *request,
		       const char *path, struct np_args *out)
{
	*out = (struct np_args){ .n = 0 };
	np_args_add(out, "%s", path);
	for (size_t i = 0; i < N_FIELDS; i++)
		add_field(out, request, &fields[i]);
	for (size_t i = 0; i < request->n_settings; i++)
		np_args_add(out, "--set=%s", request->setting[i]);
}

static int parse_number(const char *name, const char *text, long min, long *out,
			struct np_err *err)
{
	char *end;
	long number;

	errno = 0;
	number = strtol(text, &end, 10);
	if (errno || end == text || *end || number < min || number > UINT32_MAX)
		return np_errf(err, -EINVAL,
			       "--%s=%s: expected a number from %ld to %u",
			       name, text, min, UINT32_MAX);
	*out = number;
	return 0;
}

static int parse_field(struct np_launch_request *request,
		       const struct field *field, const char *text,
		       struct np_err *err)
{
	void *member = (char *)request + field->offset;
	long number;
	int rc;

	switch (field->kind) {
	case U32:
		rc = parse_number(field->name, text, 0, &number, err);
		if (!rc)
			*(uint32_t *)member = (uint32_t)number;
		return rc;
	case LONG:
		return parse_number(field->name, text, -1, member, err);
	case BOOL:
		*(bool *)member = !strcmp(text, "1");
		return 0;
	case APP:
		if (np_app_check(text, err))
			return -EINVAL;
		break;
	case TEXT:
		break;
	}
	if (strlen(text) >= field->size)
		return np_errf(
			err, -EINVAL,
			"--%s=%.40s...: expected fewer than %zu characters",
			field->name, text, field->size);
	strcpy(member, text);
	return 0;
}

static int parse_setting(struct np_launch_request *request, const char *text,
			 struct np_err *err)
{
	if (request->n_settings == NP_LAUNCH_SETTINGS)
		return np_errf(err, -EINVAL, "--set=%s: more than %d settings",
			       text, NP_LAUNCH_SETTINGS);
	request->setting[request->n_settings++] = text;
	return 0;
}

int np_launch_from_argv(int argc, char **argv,
			struct np_launch_request *request, struct np_err *err)
{
	struct np_launch_request parsed = {
		.het_component = -1,
	};
	struct option options[N_FIELDS + 2] = {
		[N_FIELDS] = { "set", required_argument, NULL, N_FIELDS },
	};
	int opt, rc;

	for (int i = 0; i < (int)N_FIELDS; i++)
		options[i] = (struct option){ fields[i].name, required_argument,
					      NULL, i };
	optind = 0;
	opterr = 0;
	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (opt > (int)N_FIELDS) /* '?': unknown */
			return np_errf(
				err, -EINVAL,
				"unknown argument: the plugin and "
				"netprof-collector have different versions");
		rc = opt == (int)N_FIELDS ?
			     parse_setting(&parsed, optarg, err) :
			     parse_field(&parsed, &fields[opt], optarg, err);
		if (rc)
			return rc;
	}
	if (!parsed.job_id || !parsed.app[0] || !parsed.srun[0] ||
	    optind != argc)
		return np_errf(err, -EINVAL,
			       "netprof-collector is started by the SPANK "
			       "plugin, not by hand");
	*request = parsed;
	return 0;
}

/* ---- the collector process ---- */

/*
 * Descriptors of the new process: stdin, stdout, stderr,
 * NP_COLLECTOR_LISTEN_FD, and a status socket. A successful exec closes that;
 * otherwise an errno is written to it.
 */
#define N_FDS 5

/*
 * Become the collector. srun has several threads, so between fork() and exec()
 * only plain system calls are allowed.
 */
static void exec_collector(const int keep[N_FDS], char *const argv[],
			   char *const env[])
{
	int status = N_FDS - 1, error;

	error = -np_detach(keep, N_FDS);
	if (error) {
		status = keep[status]; /* it was not duplicated */
	} else {
		fcntl(status, F_SETFD, FD_CLOEXEC);
		execve(argv[0], argv, env);
		error = errno;
	}
	if (write(status, &error, sizeof(error)) < 0)
		_exit(126);
	_exit(127);
}

/*
 * Make an environment without the variables of the loader: with the user's
 * version of a library the collector might end without a word. NULL: out of
 * memory.
 */
static char **make_env(void)
{
	size_t n = 0, i = 0;
	char **env;

	while (environ[n])
		n++;
	env = malloc((n + 1) * sizeof(*env));
	for (n = 0; env && environ[i]; i++)
		if (strncmp(environ[i], "LD_", 3))
			env[n++] = environ[i];
	if (env)
		env[n] = NULL;
	return env;
}

/*
 * The descriptors are above those that exec_collector() assigns with dup2(),
 * which closes whatever had that number before.
 */
static int make_socketpair(int fd[2])
{
	return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd) ?
		     -errno :
		     np_fds_above(fd);
}

/* Wait for the exec. Returns 0, the errno of its failure, or ETIMEDOUT. */
static int wait_for_exec(int fd, int timeout_ms)
{
	double until_sec = np_mono_sec() + 1e-3 * timeout_ms;
	int error = 0;

	if (!np_fd_wait(fd, POLLIN, until_sec))
		return ETIMEDOUT;
	while (read(fd, &error, sizeof(error)) < 0 && errno == EINTR)
		;
	return error;
}

/* Start argv[0] as the collector; arguments as of np_collector_start(). */
static int start_process(struct np_collector_proc *collector,
			 char *const argv[], int listen_fd, int timeout_ms,
			 struct np_err *err)
{
	int link[2] = { -1, -1 }, status[2] = { -1, -1 };
	char **env = make_env();
	pid_t pid = -1;
	int error;

	if (!env) {
		error = ENOMEM;
	} else if (make_socketpair(link) || make_socketpair(status)) {
		error = EMFILE;
	} else {
		const int keep[N_FDS] = { link[1], link[1], -1, listen_fd,
					  status[1] };

		pid = fork();
		if (pid == 0)
			exec_collector(keep, argv, env);
		error = pid < 0 ? errno : 0;
	}
	free(env);
	close(link[1]);
	close(status[1]);
	if (!error &&
	    (error = wait_for_exec(status[0], timeout_ms)) == ETIMEDOUT)
		kill(pid, SIGKILL); /* it must not start later */
	close(status[0]);
	if (error) {
		close(link[0]);
		return error != ETIMEDOUT ?
			       np_errf(err, -error, "%s: %s", argv[0],
				       strerror(error)) :
			       np_errf(err, -error,
				       "%s: not loaded within %d ms: its file "
				       "system does not answer",
				       argv[0], timeout_ms);
	}
	*collector = (struct np_collector_proc){ getpid(), link[0] };
	return 0;
}

/* Send one line, unless the collector has ended. */
static void send_line(struct np_collector_proc *collector, const char *line)
{
	if (collector->fd >= 0)
		send(collector->fd, line, strlen(line),
		     MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* First letters of the collector's lines, "ready" and "saved". */
enum line { READY = 'r', SAVED = 's' };

/*
 * Wait for a line from the collector, for at most timeout_ms. Returns 0,
 * -ETIMEDOUT, or -EPIPE if the collector has ended.
 */
static int wait_for_line(struct np_collector_proc *collector, enum line line,
			 int timeout_ms)
{
	double until_sec = np_mono_sec() + 1e-3 * timeout_ms;
	char buf[64];
	ssize_t got;

	if (collector->fd < 0)
		return -EPIPE;
	while (np_fd_wait(collector->fd, POLLIN, until_sec)) {
		got = recv(collector->fd, buf, sizeof(buf), MSG_DONTWAIT);
		if (got < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (got <= 0)
			return -EPIPE;
		if (memchr(buf, line, (size_t)got))
			return 0;
	}
	return -ETIMEDOUT;
}

int np_collector_start(struct np_collector_proc *collector,
		       const struct np_launch_request *request,
		       const char *libexecdir, int listen_fd, int timeout_ms,
		       struct np_err *err)
{
	char path[PATH_MAX + 32];
	struct np_args args;
	int rc;

	snprintf(path, sizeof(path), "%s/netprof-collector", libexecdir);
	np_launch_to_args(request, path, &args);
	rc = args.rc ? np_errf(err, args.rc, "out of memory") :
		       start_process(collector, args.argv, listen_fd,
				     timeout_ms, err);
	np_args_free(&args);
	return rc;
}

int np_collector_wait_ready(struct np_collector_proc *collector, int timeout_ms)
{
	int rc = wait_for_line(collector, READY, timeout_ms);

	send_line(collector, "start\n");
	return rc;
}

void np_collector_end(struct np_collector_proc *collector, int status,
		      int save_ms)
{
	char line[32];

	if (collector->owner != getpid())
		return; /* a child process of srun ends, not srun itself */
	snprintf(line, sizeof(line), "exit %d %.3f\n", status & 0xff,
		 np_mono_sec());
	send_line(collector, line);
	if (save_ms)
		wait_for_line(collector, SAVED, save_ms);
	if (collector->fd >= 0)
		close(collector->fd);
	*collector = (struct np_collector_proc)NP_COLLECTOR_INIT;
}
