/*
 * spank_netprof: `--netprofile` for sbatch, salloc and srun.
 *
 * Every Slurm program loads the plugin, and in each it registers its options.
 * Beyond that:
 *
 *	slurmd		starts the node's netprof-saver
 *	srun		starts the step collector (netprof-collector) of a
 *			flagged step, as the user, and shows the step's nodes
 *			where to reach it (np_rendezvous.h)
 *	a task		starts a probe agent (netprof-agent) on nodes that take
 *			part, and sets up tracing (np_tracing.h)
 *	slurmstepd	waits for the agent at the end of the tasks, and
 *			announces the end of a batch script (np_script.h)
 *
 * In a Slurm that it was not built for, the plugin only accepts its options, so
 * that scripts with them run. Callbacks gather facts, ask a pure function, and
 * apply its answer. Whatever goes wrong, they log one line and return success.
 */
#include <slurm/slurm.h>
#include <slurm/slurmdb.h>
#include <slurm/spank.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "np_clock.h"
#include "np_conf.h"
#include "np_detach.h"
#include "np_helper.h"
#include "np_launch.h"
#include "np_loader.h"
#include "np_log.h"
#include "np_notice.h"
#include "np_rendezvous.h"
#include "np_script.h"
#include "np_slurm_compat.h"
#include "np_text.h"
#include "np_tracing.h"

/* As SPANK_PLUGIN() defines them, except for the version; see np_loader.h. */
const char plugin_name[] = "netprof";
const char plugin_type[] = "spank";
unsigned int plugin_version = SLURM_VERSION_NUMBER;
const unsigned int spank_plugin_version = 1;

static bool fits; /* built for the Slurm that has loaded it */

__attribute__((constructor)) static void adopt_version(void)
{
	uint32_t built_for = plugin_version, loader = np_loader_version();

	if (loader)
		plugin_version = loader;
	fits = np_loader_fits(built_for, plugin_version);
}

/* Longest waits of srun. */
#define START_WAIT_MS 5000  /* for a collector to start */
#define TRACE_WAIT_MS 1000  /* for the directory of traces to answer */
#define SAVE_WAIT_MS 250    /* for the record to be saved, when srun exits */
#define LEVEL_START_MS 5000 /* for a level's processes to start */

static struct np_conf conf;
static struct np_collector_proc collector[NP_RENDEZVOUS_COMPONENTS];
static size_t n_collectors;

/* Rendezvous sockets, one for each component of the job. */
static int listening[NP_RENDEZVOUS_COMPONENTS];
static size_t n_listening;

/* Earliest time at which a record exists (CLOCK_MONOTONIC). */
static double record_sec;

/*
 * Report why something is not measured, in netprof.log, and with srun -v on the
 * terminal.
 */
__attribute__((format(printf, 1, 2))) static void
report_unmeasured(const char *fmt, ...)
{
	char text[512];
	va_list args;

	va_start(args, fmt);
	np_text_print(text, sizeof(text), fmt, args);
	va_end(args);
	slurm_verbose("netprof: %s", text);
	np_notice(conf.store, "%s", text);
}

static int load_conf(int ac, char **av, struct np_err *err)
{
	if (np_conf_for_step(&conf, err))
		return -1;
	for (int i = 0; i < ac; i++)
		if (np_conf_set(&conf, av[i], err))
			return -1;
	return 0;
}

/* ---- options ---- */

enum { OPT_PROFILE, OPT_PERIOD, OPT_COMPRESS, OPT_CALIBRATE, OPT_TRACE };

/* The options, as given on the command line or in a batch script. */
static struct {
	bool profile, trace;
	char app[NP_APP_MAX + 1];  /* "", here and below: not given */
	char period[39];	   /* "Period=100ms" */
	char level[NP_LEVEL_NAME]; /* or NP_LAUNCH_LEVEL_AUTO */
	char rail[NP_LEVEL_NAME];  /* of the level; "": all */
	char trace_dir[PATH_MAX];  /* "": in the store */
} given;

static int parse_profile(const char *arg, struct np_err *err)
{
	/* From a job's environment a missing argument arrives as "(null)". */
	given.profile = true;
	given.app[0] = '\0';
	if (!arg || !strcmp(arg, "(null)"))
		return 0;
	if (np_app_check(arg, err))
		return -1;
	strcpy(given.app, arg);
	return 0;
}

static int parse_period(const char *arg, struct np_err *err)
{
	static struct np_conf scratch; /* too large for a small stack */
	char setting[sizeof(given.period)];

	np_conf_init(&scratch);
	if (snprintf(setting, sizeof(setting), "Period=%s", arg) >=
		    (int)sizeof(setting) ||
	    np_conf_set(&scratch, setting, err))
		return -1;
	strcpy(given.period, setting);
	return 0;
}

/* Parse a level, "c5", or "c5@rail1" for one rail. */
static int parse_compress(const char *arg, struct np_err *err)
{
	const char *rail = strchr(arg, '@');
	size_t len = rail ? (size_t)(rail - arg) : strlen(arg);
	struct np_level level;
	char name[NP_LEVEL_NAME];

	snprintf(name, sizeof(name), "%.*s", (int)len, arg);
	if (len >= sizeof(name) || np_level_parse(name, &level, err))
		return -1;
	if (rail && (!rail[1] || strlen(rail + 1) >= sizeof(given.rail)))
		return np_errf(
			err, -EINVAL,
			"level \"%.60s\": expected the name of a rail after @",
			arg);
	strcpy(given.level, level.name);
	strcpy(given.rail, rail ? rail + 1 : "");
	return 0;
}

/* Parse a directory, which may be relative to that of the submission. */
static int parse_trace(const char *arg, struct np_err *err)
{
	char cwd[PATH_MAX];
	int len = 0;

	given.trace = true;
	if (!arg || !strcmp(arg, "(null)"))
		return 0;
	if (arg[0] == '/')
		len = snprintf(given.trace_dir, PATH_MAX, "%s", arg);
	else if (*arg && getcwd(cwd, sizeof(cwd)))
		len = snprintf(given.trace_dir, PATH_MAX, "%s/%s", cwd, arg);
	if (len > 0 && len < PATH_MAX && !strchr(arg, '\n'))
		return 0;
	return np_errf(err, -EINVAL,
		       "--netprofile-trace: \"%.80s\": expected a directory",
		       arg);
}

static int handle_option(int val, const char *arg, int remote)
{
	struct np_err err = NP_ERR_INIT;
	int rc = 0;

	if (remote) /* it was checked on the host of the submission */
		return 0;
	if (val == OPT_PROFILE)
		rc = parse_profile(arg, &err);
	else if (val == OPT_PERIOD)
		rc = parse_period(arg ? arg : "", &err);
	else if (val == OPT_COMPRESS)
		rc = parse_compress(arg ? arg : "", &err);
	else if (val == OPT_TRACE)
		rc = parse_trace(arg, &err);
	else if (!given.level[0])
		strcpy(given.level, NP_LAUNCH_LEVEL_AUTO);
	if (rc)
		slurm_error("netprof: %s", err.text);
	return rc;
}

static struct spank_option options[] = {
	{ "netprofile", "[APP]",
	  "measure how the job's steps use the network, "
	  "for the profile APP (default: the program's name)",
	  2, OPT_PROFILE, handle_option },
	{ "netprofile-period", "TIME", "time between two probes, e.g. 100ms", 1,
	  OPT_PERIOD, handle_option },
	{ "netprofile-compress", "LEVEL",
	  "apply this load level, c0 to c7, while each step runs", 1,
	  OPT_COMPRESS, handle_option },
	{ "netprofile-calibrate", NULL,
	  "while each step runs, apply the load level that its profile needs "
	  "most, or none",
	  0, OPT_CALIBRATE, handle_option },
	{ "netprofile-trace", "[DIR]",
	  "record the messages of the job's MPI programs, into DIR (default: "
	  "the profile store)",
	  2, OPT_TRACE, handle_option },
};

/* Register the options. One that cannot be registered is logged. */
static void register_options(spank_t sp)
{
	for (size_t i = 0; i < NP_ARRAY_SIZE(options); i++)
		if (spank_option_register(sp, &options[i]) != ESPANK_SUCCESS)
			slurm_verbose("netprof: cannot register --%s",
				      options[i].name);
}

/*
 * In sbatch and salloc: if they run in a flagged job, remove the variables by
 * which its steps are flagged. Otherwise sbatch would prefer them to the
 * options in the script of the new job, and an unflagged job would become
 * flagged, or run under a load level.
 */
static void drop_options_of_outer_job(void)
{
	char name[128];

	if (spank_context() != S_CTX_ALLOCATOR || !getenv("SLURM_JOB_ID"))
		return;
	for (size_t i = 0; i < NP_ARRAY_SIZE(options); i++) {
		snprintf(name, sizeof(name),
			 "SLURM_SPANK__SLURM_SPANK_OPTION_%s_%s", plugin_name,
			 options[i].name);
		for (char *c = name; *c; c++)
			if (*c == '-')
				*c = '_';
		unsetenv(name);
	}
}

/* ---- slurmd ---- */

/*
 * Start the saver from a child of slurmd, which need not wait for it. As slurmd
 * has threads, only plain system calls are allowed.
 */
static void exec_saver(char *path, int control)
{
	const int keep[] = { control, -1, -1 };
	char *argv[] = { path, NULL }, *env[] = { NULL };

	np_exec_detached(keep, NP_ARRAY_SIZE(keep), argv, env, NULL);
}

/*
 * Open a pipe whose other end stays open in slurmd. Returns the saver's end,
 * or -errno.
 */
static int open_control(void)
{
	static int end = -1;
	int fd[2], rc;

	if (end >= 0)
		close(end);
	rc = pipe2(fd, O_CLOEXEC) ? -errno : np_fds_above(fd);
	end = rc ? -1 : fd[1];
	return rc ? rc : fd[0];
}

/*
 * Start the node's netprof-saver, which ends when slurmd ends for whatever
 * reason. Errors of the saver itself are not reported here; its clients notice
 * if there is no saver.
 */
static int fork_saver(const char *libexecdir, struct np_err *err)
{
	char path[PATH_MAX + 32];
	int control, error, status = 0;
	pid_t pid;

	snprintf(path, sizeof(path), "%s/netprof-saver", libexecdir);
	if (access(path, X_OK)) {
		error = errno;
		return np_errf(err, -error, "%s: %s", path, strerror(error));
	}
	control = open_control();
	if (control < 0)
		return np_errf(err, control, "netprof-saver: %s",
			       strerror(-control));
	pid = fork();
	if (!pid)
		exec_saver(path, control);
	error = pid < 0 ? errno : 0;
	close(control);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	/* The child ends with the error of its own fork(). */
	if (WIFEXITED(status) && WEXITSTATUS(status))
		error = WEXITSTATUS(status);
	return error ? np_errf(err, -error, "netprof-saver: %s",
			       strerror(error)) :
		       0;
}

/* Start the saver as root, when slurmd starts and loads the plugin. */
static void start_saver(int ac, char **av)
{
	struct np_err err = NP_ERR_INIT;
	int rc = load_conf(ac, av, &err);

	if (!rc && conf.enabled)
		rc = fork_saver(conf.libexecdir, &err);
	if (rc)
		slurm_error("netprof: steps started on this node are not "
			    "recorded: %s",
			    err.text);
}

/* ---- srun ---- */

/* Return the number in a variable, or -1 if it is unset or not a number. */
static long env_number(const char *name)
{
	const char *text = getenv(name);
	char *end;
	long number;

	if (!text || !*text)
		return -1;
	number = strtol(text, &end, 10);
	return *end || number < 0 ? -1 : number;
}

/*
 * The installed headers do not declare this function. It is weak, because a
 * release may lack it.
 */
extern uint16_t *slurm_get_srun_port_range(void) __attribute__((weak));

/* Open one rendezvous socket, and append its address to the text. */
static int open_rendezvous(char *rendezvous_text, size_t size,
			   struct np_err *err)
{
	const uint16_t *range =
		slurm_get_srun_port_range ? slurm_get_srun_port_range() : NULL;
	int fd = np_rendezvous_open(&conf, range, rendezvous_text, size, err);

	if (fd < 0)
		return fd;
	listening[n_listening++] = fd;
	return 0;
}

static void stop_listening(void)
{
	while (n_listening)
		close(listening[--n_listening]);
}

/*
 * Whether the job is heterogeneous or may become so, as that of "srun ... :
 * ..." does not exist yet.
 */
static bool may_be_heterogeneous(void)
{
	static char text[65536]; /* too large for a small stack */
	ssize_t len = -1;
	int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);

	if (fd >= 0) {
		len = read(fd, text, sizeof(text));
		close(fd);
	}
	return env_number("SLURM_HET_SIZE") > 1 ||
	       (len > 3 && memmem(text, (size_t)len, "\0:\0", 3));
}

/*
 * Put the rendezvous into the environment before there is a job: srun makes the
 * environment of its tasks, for all components but the first, before the next
 * callback.
 */
static void announce_rendezvous(int ac, char **av)
{
	static char
		rendezvous_text[NP_RENDEZVOUS_COMPONENTS * NP_RENDEZVOUS_TEXT];
	size_t wanted = may_be_heterogeneous() ? NP_RENDEZVOUS_COMPONENTS : 1;
	struct np_err err = NP_ERR_INIT;
	int rc = load_conf(ac, av, &err);

	if (!rc && !conf.enabled)
		return;
	while (!rc && n_listening < wanted)
		rc = open_rendezvous(rendezvous_text, sizeof(rendezvous_text),
				     &err);
	if (rc) {
		stop_listening();
		report_unmeasured("steps are not measured: %s", err.text);
		return;
	}
	setenv(NP_RENDEZVOUS_ENV, rendezvous_text, 1);
}

/* Set the directory, the size and the other settings of tracing. */
static int describe_tracing(struct np_tracing *tracing, struct np_err *err)
{
	const char *app = given.app[0] ? given.app : getenv("NETPROF_APP");
	bool store = !given.trace_dir[0];

	*tracing = (struct np_tracing){
		.bytes = conf.trace_bytes,
		.keep = store ? conf.max_traces : 0,
	};
	if (app && !np_app_check(app, NULL))
		strcpy(tracing->app, app);
	if (snprintf(tracing->library, PATH_MAX, "%s/libnetprof-mpi.so",
		     conf.libexecdir) >= PATH_MAX ||
	    snprintf(tracing->dir, PATH_MAX, "%s%s",
		     store ? conf.store : given.trace_dir,
		     store ? "/users" : "") >= PATH_MAX)
		return np_errf(err, -ENAMETOOLONG, "a path is too long");
	return 0;
}

/* Put tracing into the environment, before srun makes that of its tasks. */
static void announce_tracing(int ac, char **av)
{
	struct np_err err = NP_ERR_INIT;
	char text[NP_TRACING_TEXT];
	struct np_tracing tracing;
	int rc = load_conf(ac, av, &err);

	if (!rc && !conf.enabled)
		return;
	if (!rc)
		rc = describe_tracing(&tracing, &err);
	if (!rc && !np_dir_responds(tracing.dir, TRACE_WAIT_MS))
		rc = np_errf(&err, -ETIMEDOUT,
			     "%s does not answer within %d ms", tracing.dir,
			     TRACE_WAIT_MS);
	if (!rc)
		rc = np_tracing_put(&tracing, text, &err);
	if (rc)
		report_unmeasured("steps are not traced: %s", err.text);
	else
		setenv(NP_TRACING_ENV, text, 1);
}

/* srun may call this once for each component. */
int slurm_spank_init_post_opt(spank_t sp, int ac, char **av)
{
	const char *app = getenv("NETPROF_APP");

	(void)sp;
	if (spank_context() != S_CTX_LOCAL || n_listening)
		return 0;
	unsetenv(NP_RENDEZVOUS_ENV); /* of an outer step */
	unsetenv(NP_TRACING_ENV);
	if (given.trace && fits && !getenv(NP_HELPER_ENV))
		announce_tracing(ac, av);
	if (getenv(NP_HELPER_ENV) || !(given.profile || (app && *app)))
		return 0;
	if (fits)
		announce_rendezvous(ac, av);
	else
		slurm_verbose("netprof: built for another release of Slurm: "
			      "nothing is measured");
	return 0;
}

/*
 * Srun sets this if it works with another cluster (-M), and in a federation. It
 * is weak, because a release may lack it.
 */
extern slurmdb_cluster_rec_t *working_cluster_rec __attribute__((weak));

static void set_cluster(struct np_launch_request *request)
{
	const char *name = &working_cluster_rec && working_cluster_rec ?
				   working_cluster_rec->name :
				   NULL;

	snprintf(request->cluster, sizeof(request->cluster), "%s",
		 name ? name : "");
}

static void gather_context(spank_t sp, int ac, char **av, char srun[PATH_MAX],
			   struct np_step_context *context)
{
	ssize_t len = readlink("/proc/self/exe", srun, PATH_MAX - 1);
	int argc = 0;

	srun[len > 0 ? len : 0] = '\0';
	*context = (struct np_step_context){
		.helper_step = getenv(NP_HELPER_ENV) != NULL,
		.requested = given.profile,
		.heterogeneous = n_listening > 1,
		.app = given.app[0] ? given.app : NULL,
		.env_app = getenv("NETPROF_APP"),
		.period = given.period[0] ? given.period : NULL,
		.job_name = getenv("SLURM_JOB_NAME"),
		.bind_type = getenv("SLURM_CPU_BIND_TYPE"),
		.bind_list = getenv("SLURM_CPU_BIND_LIST"),
		.cpus_per_task = getenv("SLURM_CPUS_PER_TASK"),
		.srun = srun,
		.pid = (uint32_t)getpid(),
		.parent = (uint32_t)getppid(),
		.step.het_component = -1,
		.n_settings = ac,
		.setting = av,
	};
	spank_get_item(sp, S_JOB_ID, &context->step.job_id);
	spank_get_item(sp, S_JOB_STEPID, &context->step.step_id);
	spank_get_item(sp, S_JOB_NNODES, &context->step.n_nodes);
	spank_get_item(sp, S_JOB_TOTAL_TASK_COUNT, &context->step.n_tasks);
	if (spank_get_item(sp, S_JOB_ARGV, &argc, &context->argv) ==
	    ESPANK_SUCCESS)
		context->argc = argc;
	context->interactive = context->step.step_id == SLURM_INTERACTIVE_STEP;
	strcpy(context->step.level, given.level);
	strcpy(context->step.rail, given.rail);
	set_cluster(&context->step);
}

/* Start a collector that listens on fd. Returns 0, or -errno after logging. */
static int start_collector(const struct np_launch_request *request, int fd)
{
	struct np_err err = NP_ERR_INIT;
	int rc = np_collector_start(&collector[n_collectors], request,
				    conf.libexecdir, fd, START_WAIT_MS, &err);

	if (!rc)
		n_collectors++;
	else
		report_unmeasured("step %u.%u is not measured: %s",
				  request->job_id, request->step_id, err.text);
	return rc;
}

/*
 * Wait until the level runs at full strength and has run alone for a while,
 * which must be before the step starts.
 */
static void wait_for_level(const struct np_launch_request *request)
{
	double sec = conf.lead_in_sec;
	int ms;

	if (!strcmp(request->level, NP_LAUNCH_LEVEL_AUTO) &&
	    sec < NP_LAUNCH_LEAD_IN_SEC)
		sec = NP_LAUNCH_LEAD_IN_SEC;
	ms = LEVEL_START_MS + (int)(sec * 1000);

	for (size_t i = 0; i < n_collectors; i++)
		if (np_collector_wait_ready(&collector[i], ms))
			report_unmeasured(
				"step %u.%u: level %s did not start within %d "
				"ms; the step starts without waiting",
				request->job_id, request->step_id,
				request->level, ms);
}

/*
 * Return the time until a record exists; 0 if a level runs before the step, as
 * the record then begins at once.
 */
static double record_after_sec(const struct np_launch_request *request)
{
	struct np_rendezvous_entry entry;

	if (request->level[0] ||
	    np_rendezvous_find(getenv(NP_RENDEZVOUS_ENV), 0, &entry))
		return 0;
	return np_rendezvous_after_sec(&entry, request->n_nodes);
}

/*
 * End the collectors. srun calls this as the user, after all of its own work.
 */
static void at_exit(int status, void *arg)
{
	int save_ms = np_mono_sec() >= record_sec ? SAVE_WAIT_MS : 0;

	(void)arg;
	for (size_t i = 0; i < n_collectors; i++)
		np_collector_end(&collector[i], status, save_ms);
}

/*
 * Return the job id of a component. If no variable has it, it is derived from
 * that of the leader, as slurmctld numbers components consecutively.
 */
static uint32_t component_job_id(long i, uint32_t leader)
{
	char name[48];
	long id;

	snprintf(name, sizeof(name), "SLURM_JOB_ID_HET_GROUP_%ld", i);
	id = env_number(name);
	return id > 0 ? (uint32_t)id : leader + (uint32_t)i;
}

/*
 * Start one collector for a plain step. For a step of a heterogeneous job,
 * start one for each component, which determines whether it belongs to the
 * step. srun makes its callback for whichever component comes first; the
 * environment has the leader's id, as that of the tasks does.
 */
static void start_collectors(const struct np_launch_request *request)
{
	long size = env_number("SLURM_HET_SIZE");
	long leader = env_number("SLURM_JOB_ID");
	struct np_launch_request part = *request;

	if (size < 2 || leader <= 0) {
		start_collector(request, listening[0]);
		return;
	}
	for (long i = 0; i < size && i < (long)n_listening; i++) {
		part.job_id = component_job_id(i, (uint32_t)leader);
		part.het_job_id = (uint32_t)leader;
		part.het_component = i;
		if (start_collector(&part, listening[i]) == -ETIMEDOUT)
			break; /* the others would take as long */
	}
}

/*
 * In srun, as the user, when the step exists but its tasks are not launched
 * yet. A step that is not flagged costs only what the lines up to
 * NP_LAUNCH_IGNORE cost.
 */
int slurm_spank_local_user_init(spank_t sp, int ac, char **av)
{
	struct np_err err = NP_ERR_INIT;
	char srun[PATH_MAX];
	const struct np_launch_request *request;
	struct np_step_context context;
	enum np_launch_decision decision;

	if (!fits)
		return 0;
	gather_context(sp, ac, av, srun, &context);
	request = &context.step;
	decision = np_launch_decide(&context, &err);
	if (decision == NP_LAUNCH_IGNORE || !n_listening)
		return 0;
	if (decision == NP_LAUNCH_SKIP) {
		stop_listening();
		report_unmeasured("step %u.%u is not measured: %s",
				  request->job_id, request->step_id, err.text);
		return 0;
	}
	record_sec = np_mono_sec() + record_after_sec(request);
	start_collectors(request);
	stop_listening();
	if (n_collectors && on_exit(at_exit, NULL))
		report_unmeasured("step %u.%u: its exit code will not be known",
				  request->job_id, request->step_id);
	if (request->level[0])
		wait_for_level(request);
	return 0;
}

/* ---- the nodes of a step ---- */

#define SCRIPT_WAIT_MS 1000 /* for records to be saved before Slurm kills */
#define AGENT_WAIT_MS 400   /* for the agent to end; shorter than Slurm waits */

static pid_t *agent_pid; /* in a page that slurmstepd shares with its tasks */

/*
 * Share a page with the tasks before they are forked. Other Slurm programs
 * have no tasks.
 */
static void share_agent_pid(spank_t sp)
{
	void *page;

	if (spank_remote(sp) != 1)
		return;
	page = mmap(NULL, sizeof(*agent_pid), PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	agent_pid = page == MAP_FAILED ? NULL : page;
}

/*
 * Return the number of this component of a heterogeneous job, or 0 for other
 * jobs. In all components, SLURM_JOB_ID is that of the first one.
 */
static size_t component_of(spank_t sp, uint32_t job_id)
{
	char first[16];

	if (spank_getenv(sp, "SLURM_JOB_ID", first, sizeof(first)) !=
	    ESPANK_SUCCESS)
		return 0;
	return job_id - (uint32_t)strtoul(first, NULL, 10);
}

/* Start an agent, if this task of this node is to have one. */
static void start_agent(spank_t sp, const char *rendezvous_text)
{
	uint32_t job_id = 0, local = 1, n_local = 0, n_nodes = 0;
	struct np_rendezvous_entry entry;
	struct np_agent_params params = {
		.rendezvous = &entry,
		.task = getpid(),
		.pid = agent_pid,
	};
	char host[256], **env;

	if (spank_get_item(sp, S_TASK_ID, &local) != ESPANK_SUCCESS || local ||
	    spank_get_item(sp, S_JOB_ID, &job_id) != ESPANK_SUCCESS ||
	    component_of(sp, job_id) >= NP_RENDEZVOUS_COMPONENTS ||
	    np_rendezvous_find(rendezvous_text, component_of(sp, job_id),
			       &entry) ||
	    spank_get_item(sp, S_JOB_NODEID, &params.node) != ESPANK_SUCCESS ||
	    spank_get_item(sp, S_JOB_NNODES, &n_nodes) != ESPANK_SUCCESS ||
	    !np_rendezvous_takes_part(&entry, params.node, n_nodes) ||
	    spank_getenv(sp, "SLURM_SRUN_COMM_HOST", host, sizeof(host)) !=
		    ESPANK_SUCCESS ||
	    spank_get_item(sp, S_JOB_ENV, &env) != ESPANK_SUCCESS)
		return;
	spank_get_item(sp, S_JOB_LOCAL_TASK_COUNT, &n_local);
	/* A single task has no siblings to watch. */
	params.parent = n_local == 1 ? 0 : getppid();
	params.host = host;
	params.sleep_sec = np_rendezvous_after_sec(&entry, n_nodes);
	if (np_agent_start(&params, env))
		slurm_verbose("netprof: no probe runs on this node");
}

/* Tracing (--netprofile-trace). */

/*
 * Log once on each node why a step is not traced. This goes to the system's
 * log, as tasks do not write to the store.
 */
static void report_untraced(spank_t sp, const struct np_tracing_task *task,
			    const char *why)
{
	char line[NP_LOG_LINE];
	uint32_t local = 1;

	spank_get_item(sp, S_TASK_ID, &local);
	slurm_verbose("netprof: not traced: %s", why);
	if (local)
		return;
	snprintf(line, sizeof(line), "step %u.%u is not traced: %s",
		 task->job_id, task->step_id, why);
	np_log_system(line);
}

static void set_variable(const char *name, const char *value, void *arg)
{
	spank_setenv((spank_t)arg, name, value, 1);
}

static void start_tracing(spank_t sp)
{
	char text[NP_TRACING_TEXT], preload[PATH_MAX], path[PATH_MAX] = "";
	char job_name[256] = "", container[PATH_MAX];
	struct np_step_context context = { .job_name = job_name };
	struct np_tracing_task task = {
		.context = &context,
		.path = path,
		.uid = getuid(),
	};
	struct np_err err = NP_ERR_INIT;
	spank_err_t rc;
	int argc = 0;

	if (spank_getenv(sp, NP_TRACING_ENV, text, sizeof(text)) !=
	    ESPANK_SUCCESS)
		return;
	spank_unsetenv(sp, NP_TRACING_ENV);
	spank_getenv(sp, "SLURM_JOB_NAME", job_name, sizeof(job_name));
	spank_getenv(sp, "PATH", path, sizeof(path));
	if (spank_get_item(sp, S_JOB_ARGV, &argc, &context.argv) ==
	    ESPANK_SUCCESS)
		context.argc = argc;
	task.in_container = spank_getenv(sp, "SLURM_CONTAINER", container,
					 sizeof(container)) !=
			    ESPANK_ENV_NOEXIST;
	rc = spank_getenv(sp, "LD_PRELOAD", preload, sizeof(preload));
	task.preload = rc == ESPANK_SUCCESS ? preload : NULL;
	task.preload_too_long = rc == ESPANK_NOSPACE;
	spank_get_item(sp, S_JOB_ID, &task.job_id);
	spank_get_item(sp, S_JOB_STEPID, &task.step_id);
	if (np_tracing_apply(text, &task, set_variable, sp, &err))
		report_untraced(sp, &task, err.text);
}

/*
 * Remove the rendezvous and the settings of tracing from the task's
 * environment, and start an agent and tracing accordingly.
 */
static void on_task_start(spank_t sp)
{
	char rendezvous_text[NP_RENDEZVOUS_COMPONENTS * NP_RENDEZVOUS_TEXT];

	start_tracing(sp);
	if (spank_getenv(sp, NP_RENDEZVOUS_ENV, rendezvous_text,
			 sizeof(rendezvous_text)) != ESPANK_SUCCESS)
		return;
	spank_unsetenv(sp, NP_RENDEZVOUS_ENV);
	start_agent(sp, rendezvous_text);
}

/* The end of tasks. */

/*
 * Wait for the agent to end. Its pidfd shows when it has left its cgroup; its
 * sockets close before that. Without pidfds (Linux before 5.3) do not wait.
 */
static void wait_for_agent(void)
{
	struct pollfd pidfd = { .events = POLLIN };

	if (!agent_pid || !*agent_pid)
		return;
	pidfd.fd = (int)syscall(SYS_pidfd_open, *agent_pid, 0);
	if (pidfd.fd < 0)
		return;
	poll(&pidfd, 1, AGENT_WAIT_MS);
	close(pidfd.fd);
}

static void announce_script_end(spank_t sp)
{
	uint32_t job_id;
	uid_t user;
	int status;

	if (spank_get_item(sp, S_JOB_ID, &job_id) != ESPANK_SUCCESS ||
	    spank_get_item(sp, S_JOB_UID, &user) != ESPANK_SUCCESS ||
	    spank_get_item(sp, S_TASK_EXIT_STATUS, &status) != ESPANK_SUCCESS)
		return;
	np_script_announce(job_id, user,
			   WIFSIGNALED(status) ? 128 + WTERMSIG(status) :
						 WEXITSTATUS(status),
			   SCRIPT_WAIT_MS);
}

/*
 * Prepare for Slurm's next action, which is to kill the remaining processes.
 * If a batch script ends, notify the job's collectors. In other steps, wait
 * for the agent, because if Slurm finds a process (proctrack/cgroup), it waits
 * for a second before it checks again.
 */
static void on_task_end(spank_t sp)
{
	static uint32_t n_ended;
	uint32_t step_id, n_local;

	n_ended++;
	if (spank_get_item(sp, S_JOB_STEPID, &step_id) != ESPANK_SUCCESS)
		return;
	if (step_id == SLURM_BATCH_SCRIPT)
		announce_script_end(sp);
	else if (spank_get_item(sp, S_JOB_LOCAL_TASK_COUNT, &n_local) ==
			 ESPANK_SUCCESS &&
		 n_ended == n_local)
		wait_for_agent();
}

/*
 * On a node of the step, as the user, in each task just before it becomes the
 * user's program. A step that is not flagged costs two look-ups in the
 * environment.
 */
int slurm_spank_task_init(spank_t sp, int ac, char **av)
{
	(void)ac, (void)av;
	if (!fits)
		return 0;
	on_task_start(sp);
	return 0;
}

/* In slurmstepd, as root, before Slurm kills what the task left behind. */
int slurm_spank_task_exit(spank_t sp, int ac, char **av)
{
	(void)ac, (void)av;
	if (fits)
		on_task_end(sp);
	return 0;
}

/* ---- every context ---- */

/* In every context; as root in slurmd and slurmstepd. */
int slurm_spank_init(spank_t sp, int ac, char **av)
{
	register_options(sp);
	drop_options_of_outer_job();
	if (fits)
		share_agent_pid(sp);
	if (fits && spank_context() == S_CTX_SLURMD)
		start_saver(ac, av);
	return 0;
}
