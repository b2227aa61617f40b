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

/* Executables that say little or nothing about the application. */
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

static enum wrapper wrapper_kind(const char *exe)
{
	for (size_t i = 0; i < NP_ARRAY_SIZE(wrappers); i++)
		if (!strcmp(basename(exe), wrappers[i].name))
			return wrappers[i].kind;
	return PROGRAM;
}

/* The program that a command line runs; NULL: unknown. */
static const char *command_program(int argc, char **argv)
{
	if (argc < 1)
		return NULL;
	switch (wrapper_kind(argv[0])) {
	case PROGRAM:
		return argv[0];
	case INTERPRETER:
		/*
		 * An option may take an argument, so only the plain case is
		 * certain.
		 */
		if (argc > 1 && argv[1][0] != '-' && !strchr(argv[1], '='))
			return argv[1];
		return NULL;
	default:
		return NULL;
	}
}

int np_launch_app_name(const struct np_step_context *f,
		       char app[NP_APP_MAX + 1], struct np_err *err)
{
	const char *given = f->app ? f->app : f->env_app;
	const char *program = command_program(f->argc, f->argv);

	if (given && *given) {
		if (np_app_check(given, err))
			return -EINVAL;
		strcpy(app, given);
		return 0;
	}
	if (program && !np_app_from_text(program, app))
		return 0;
	if (f->job_name && !np_app_from_text(f->job_name, app))
		return 0;
	if (f->argc > 0 && !np_app_from_text(f->argv[0], app))
		return 0;
	return np_errf(err, -EINVAL, "no name for the application: give one "
		       "with --netprofile=APP");
}

static bool has_text(const char *text)
{
	return text && *text;
}

static uint32_t cpus_per_task(const struct np_step_context *f)
{
	unsigned long n = f->cpus_per_task ?
			  strtoul(f->cpus_per_task, NULL, 10) : 0;

	return n < UINT32_MAX ? (uint32_t)n : 0;
}

/* "cores", or "map_cpu:" with its list; a long list is cut. */
static void set_binding(const struct np_step_context *f,
			struct np_launch_request *o)
{
	const char *type = has_text(f->bind_type) ? f->bind_type : "";
	size_t len = strlen(type);
	bool has_list = len && type[len - 1] == ':' && has_text(f->bind_list);
	int n = snprintf(o->cpu_bind, sizeof(o->cpu_bind), "%s%s", type,
			 has_list ? f->bind_list : "");

	if (n >= (int)sizeof(o->cpu_bind))
		strcpy(o->cpu_bind + sizeof(o->cpu_bind) - 4, "...");
	o->cpus_per_task = cpus_per_task(f);
}

void np_launch_fingerprint(const struct np_step_context *f, char hex[20])
{
	bool launcher = f->argc > 0 && wrapper_kind(f->argv[0]) == LAUNCHER;
	uint64_t h = NP_HASH;

	for (int i = 0; i < (launcher ? 1 : f->argc); i++)
		h = np_hash(h, f->argv[i], strlen(f->argv[i]) + 1);
	h = np_hash(h, &f->step.n_nodes, sizeof(f->step.n_nodes));
	h = np_hash(h, &f->step.n_tasks, sizeof(f->step.n_tasks));
	/* Without a request the digest is that of earlier releases. */
	if (has_text(f->bind_type))
		h = np_hash(h, f->bind_type, strlen(f->bind_type) + 1);
	if (has_text(f->bind_type) && has_text(f->bind_list))
		h = np_hash(h, f->bind_list, strlen(f->bind_list) + 1);
	if (cpus_per_task(f))
		h = np_hash(h, f->cpus_per_task, strlen(f->cpus_per_task) + 1);
	snprintf(hex, 20, "%016llx", (unsigned long long)h);
}

static int add_setting(struct np_launch_request *o, const char *setting,
		       struct np_err *why)
{
	if (o->n_settings == NP_LAUNCH_SETTINGS)
		return np_errf(why, -EINVAL,
			       "more than %d arguments for "
			       "netprof in plugstack.conf",
			       NP_LAUNCH_SETTINGS);
	o->setting[o->n_settings++] = setting;
	return 0;
}

static int add_settings(const struct np_step_context *f,
			struct np_launch_request *o, struct np_err *why)
{
	for (int i = 0; i < f->n_settings; i++)
		if (add_setting(o, f->setting[i], why))
			return -EINVAL;
	return f->period ? add_setting(o, f->period, why) : 0;
}

enum np_launch_decision np_launch_decide(struct np_step_context *f,
					 struct np_err *why)
{
	struct np_launch_request *o = &f->step;

	if (f->helper_step || (!f->requested && !(f->env_app && *f->env_app)))
		return NP_LAUNCH_IGNORE;
	if (f->interactive)
		return np_errf(why, NP_LAUNCH_SKIP,
			       "the shell of salloc is not "
			       "measured; steps started in it are");
	o->launcher = f->argc > 0 && wrapper_kind(f->argv[0]) == LAUNCHER;
	o->runner = o->launcher ? f->parent : f->pid;
	if (o->n_nodes + o->launcher < 2)
		return np_errf(why, NP_LAUNCH_SKIP,
			       "the step runs on one node, "
			       "which uses no switch");
	if (np_launch_app_name(f, o->app, why) || add_settings(f, o, why))
		return NP_LAUNCH_SKIP;
	if (strlen(f->srun) >= sizeof(o->srun))
		return np_errf(why, NP_LAUNCH_SKIP,
			       "the path of srun is too "
			       "long: %s",
			       f->srun);
	strcpy(o->srun, f->srun);
	snprintf(o->executable, sizeof(o->executable), "%s",
		 f->argc > 0 ? f->argv[0] : "");
	set_binding(f, o);
	np_launch_fingerprint(f, o->fingerprint);
	return NP_LAUNCH_START;
}

/* ---- the request as a command line ---- */

/* The argument --NAME=VALUE for one member. */
static const struct field {
	const char *name;
	enum { COUNT, NUMBER, FLAG, TEXT, APP } kind;
	size_t at, size;
} fields[] = {
#define OF(member) offsetof(struct np_launch_request, member), \
		   sizeof(((struct np_launch_request *)NULL)->member)
	{ "job",	 COUNT,	 OF(job_id) },
	{ "step",	 COUNT,	 OF(step_id) },
	{ "array-job",	 NUMBER, OF(array_job_id) },
	{ "array-task",	 NUMBER, OF(array_task_id) },
	{ "het",	 NUMBER, OF(het_component) },
	{ "het-job",	 COUNT,	 OF(het_job_id) },
	{ "nodes",	 COUNT,	 OF(n_nodes) },
	{ "tasks",	 COUNT,	 OF(n_tasks) },
	{ "cpus",	 COUNT,	 OF(cpus_per_task) },
	{ "bind",	 TEXT,	 OF(cpu_bind) },
	{ "launcher",	 FLAG,	 OF(launcher) },
	{ "runner",	 COUNT,	 OF(runner) },
	{ "app",	 APP,	 OF(app) },
	{ "level",	 TEXT,	 OF(level) },
	{ "rail",	 TEXT,	 OF(rail) },
	{ "exe",	 TEXT,	 OF(executable) },
	{ "fingerprint", TEXT,	 OF(fingerprint) },
	{ "srun",	 TEXT,	 OF(srun) },
#undef OF
};
#define N_FIELDS NP_ARRAY_SIZE(fields)

static void add_field(struct np_args *a, const struct np_launch_request *o,
		      const struct field *f)
{
	const void *v = (const char *)o + f->at;

	switch (f->kind) {
	case COUNT:
		np_args_add(a, "--%s=%u", f->name, *(const uint32_t *)v);
		break;
	case NUMBER:
		np_args_add(a, "--%s=%ld", f->name, *(const long *)v);
		break;
	case FLAG:
		np_args_add(a, "--%s=%d", f->name, *(const bool *)v);
		break;
	case TEXT:
	case APP:
		np_args_add(a, "--%s=%s", f->name, (const char *)v);
		break;
	}
}

void np_launch_to_args(const struct np_launch_request *o, const char *path,
		       struct np_args *out)
{
	*out = (struct np_args){ .n = 0 };
	np_args_add(out, "%s", path);
	for (size_t i = 0; i < N_FIELDS; i++)
		add_field(out, o, &fields[i]);
	for (size_t i = 0; i < o->n_settings; i++)
		np_args_add(out, "--set=%s", o->setting[i]);
}

static int take_number(const char *name, const char *text, long min, long *out,
		       struct np_err *err)
{
	char *end;
	long v;

	errno = 0;
	v = strtol(text, &end, 10);
	if (errno || end == text || *end || v < min || v > UINT32_MAX)
		return np_errf(err, -EINVAL, "--%s=%s: expected a number from "
			       "%ld to %u", name, text, min, UINT32_MAX);
	*out = v;
	return 0;
}

static int take_field(struct np_launch_request *o, const struct field *f,
		      const char *text, struct np_err *err)
{
	void *to = (char *)o + f->at;
	long v;
	int rc;

	switch (f->kind) {
	case COUNT:
		rc = take_number(f->name, text, 0, &v, err);
		if (!rc)
			*(uint32_t *)to = (uint32_t)v;
		return rc;
	case NUMBER:
		return take_number(f->name, text, -1, to, err);
	case FLAG:
		*(bool *)to = !strcmp(text, "1");
		return 0;
	case APP:
		if (np_app_check(text, err))
			return -EINVAL;
		break;
	case TEXT:
		break;
	}
	if (strlen(text) >= f->size)
		return np_errf(err, -EINVAL, "--%s=%.40s...: expected fewer "
			       "than %zu characters", f->name, text, f->size);
	strcpy(to, text);
	return 0;
}

static int take_setting(struct np_launch_request *o, const char *text,
			struct np_err *err)
{
	if (o->n_settings == NP_LAUNCH_SETTINGS)
		return np_errf(err, -EINVAL, "--set=%s: more than %d settings",
			       text, NP_LAUNCH_SETTINGS);
	o->setting[o->n_settings++] = text;
	return 0;
}

int np_launch_from_argv(int argc, char **argv, struct np_launch_request *o,
			struct np_err *err)
{
	struct np_launch_request got = {
		.array_job_id = -1, .array_task_id = -1, .het_component = -1,
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
			return np_errf(err, -EINVAL,
				       "unknown argument: the "
				       "plugin and netprof-collector are of "
				       "different versions");
		rc = opt == (int)N_FIELDS ? take_setting(&got, optarg, err) :
		     take_field(&got, &fields[opt], optarg, err);
		if (rc)
			return rc;
	}
	if (!got.job_id || !got.app[0] || !got.srun[0] || optind != argc)
		return np_errf(err, -EINVAL,
			       "netprof-collector is started by the "
			       "SPANK plugin, not by hand");
	*o = got;
	return 0;
}

/* ---- the collector process ---- */

/* stdin, stdout, stderr, NP_COLLECTOR_LISTEN_FD, and one that exec closes */
#define N_FDS 5

/* Runs between fork and exec in a threaded program: plain system calls only. */
static void exec_collector(const int keep[N_FDS], char *const argv[])
{
	int status = N_FDS - 1, e;

	e = -np_detach(keep, N_FDS);
	if (e) {
		status = keep[status]; /* not moved yet */
	} else {
		fcntl(status, F_SETFD, FD_CLOEXEC);
		execv(argv[0], argv);
		e = errno;
	}
	if (write(status, &e, sizeof(e)) < 0)
		_exit(126);
	_exit(127);
}

/* dup2() in exec_collector() must not close one that is needed later. */
static int pair_above(int fd[2])
{
	return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd) ? -errno :
	       np_fds_above(fd);
}

/* The errno of a failed exec; 0 when exec closed the other end. */
static int exec_error(int fd, int timeout_ms)
{
	double until_sec = np_mono_sec() + 1e-3 * timeout_ms;
	int e = 0;

	if (!np_fd_wait(fd, POLLIN, until_sec))
		return ETIMEDOUT;
	while (read(fd, &e, sizeof(e)) < 0 && errno == EINTR)
		;
	return e;
}

/* Start argv[0]; listen_fd is above 4, or -1: none. */
static int start_process(struct np_collector_proc *a, char *const argv[],
			 int listen_fd, int timeout_ms, struct np_err *err)
{
	int link[2] = { -1, -1 }, status[2] = { -1, -1 };
	pid_t pid = -1;
	int e;

	if (pair_above(link) || pair_above(status)) {
		e = EMFILE;
	} else {
		const int keep[N_FDS] = { link[1], link[1], -1,
						  listen_fd, status[1] };

		pid = fork();
		if (pid == 0)
			exec_collector(keep, argv);
		e = pid < 0 ? errno : 0;
	}
	close(link[1]);
	close(status[1]);
	if (!e && (e = exec_error(status[0], timeout_ms)) == ETIMEDOUT)
		kill(pid, SIGKILL); /* so that it does not begin later */
	close(status[0]);
	if (e) {
		close(link[0]);
		return e != ETIMEDOUT ?
			np_errf(err, -e, "%s: %s", argv[0], strerror(e)) :
			np_errf(err, -e, "%s: not loaded within %d ms: its "
				"file system does not answer", argv[0],
				timeout_ms);
	}
	*a = (struct np_collector_proc){ getpid(), link[0] };
	return 0;
}

/* Send one line.  A collector that has ended is no error. */
static void say(struct np_collector_proc *a, const char *line)
{
	if (a->fd >= 0)
		send(a->fd, line, strlen(line), MSG_NOSIGNAL | MSG_DONTWAIT);
}

/*
 * Wait for the line that begins with this letter, for at most timeout_ms.
 * Returns 0; -ETIMEDOUT; or -EPIPE: the collector has ended.
 */
static int wait_for(struct np_collector_proc *a, char first, int timeout_ms)
{
	double until_sec = np_mono_sec() + 1e-3 * timeout_ms;
	char buf[64];
	ssize_t got;

	if (a->fd < 0)
		return -EPIPE;
	while (np_fd_wait(a->fd, POLLIN, until_sec)) {
		got = recv(a->fd, buf, sizeof(buf), MSG_DONTWAIT);
		if (got < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (got <= 0)
			return -EPIPE;
		if (memchr(buf, first, (size_t)got))
			return 0;
	}
	return -ETIMEDOUT;
}

int np_collector_start(struct np_collector_proc *a,
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
		       start_process(a, args.argv, listen_fd, timeout_ms, err);
	np_args_free(&args);
	return rc;
}

int np_collector_wait_ready(struct np_collector_proc *a, int timeout_ms)
{
	int rc = wait_for(a, 'r', timeout_ms);

	say(a, "start\n");
	return rc;
}

void np_collector_end(struct np_collector_proc *a, int status, int save_ms)
{
	char line[32];

	if (a->owner != getpid())
		return; /* a fork of srun ends, not srun */
	snprintf(line, sizeof(line), "exit %d\n", status & 0xff);
	say(a, line);
	if (save_ms)
		wait_for(a, 's', save_ms);
	if (a->fd >= 0)
		close(a->fd);
	*a = (struct np_collector_proc)NP_COLLECTOR_INIT;
}
