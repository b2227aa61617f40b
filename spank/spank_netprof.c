/*
 * spank_netprof: `--netprofile` for sbatch, salloc and srun.
 *
 * In every Slurm program the plugin registers its options.  In srun it also
 * starts the attendant (netprof-attend) for a flagged step, as the user, and
 * invites the step's nodes (np_invite.h); what it does on these is in
 * spank_node.h.  In a Slurm that it was not built for it only takes the
 * options, so that scripts with them run.  Callbacks gather facts, ask a pure
 * function, and apply its answer; whatever goes wrong, they log one line and
 * return success.
 */
#include <slurm/spank.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "np_answers.h"
#include "np_attach.h"
#include "np_clock.h"
#include "np_conf.h"
#include "np_invite.h"
#include "np_loader.h"
#include "np_plan.h"
#include "np_notice.h"
#include "np_sideenv.h"
#include "np_slurm_compat.h"
#include "np_text.h"
#include "np_tracing.h"
#include "spank_node.h"
#include "spank_options.h"
#include "spank_slurmd.h"

/* As SPANK_PLUGIN() has it, but for the version; see np_loader.h. */
const char plugin_name[] = "netprof";
const char plugin_type[] = "spank";
unsigned int plugin_version = SLURM_VERSION_NUMBER;
const unsigned int spank_plugin_version = 1;

static bool fits;

__attribute__((constructor)) static void fit_in(void)
{
	uint32_t built_for = plugin_version, loader = np_loader_version();

	if (loader)
		plugin_version = loader;
	fits = np_loader_fits(built_for, plugin_version);
}

#define START_WAIT_MS 5000    /* srun waits this long for the attendant */
#define TRACE_WAIT_MS 1000    /* for where traces go, before they are begun */
#define SAVE_WAIT_MS 250      /* srun's exit waits this long for the record */
#define LEVEL_START_MS 5000   /* for a level's processes to come up */

static struct np_conf conf;
static struct np_attach attached[NP_INVITE_COMPONENTS];
static size_t n_attached;

/* Where the attendants will be reached; of each component of the job. */
static int listening[NP_INVITE_COMPONENTS];
static size_t n_listening;

/* Before then there is nothing to save; of a monotonic clock. */
static double record_sec;

/* Seen by the user with srun -v only; the user's netprof.log has it always. */
__attribute__((format(printf, 1, 2)))
static void complain(const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	np_text_print(text, sizeof(text), fmt, ap);
	va_end(ap);
	slurm_verbose("netprof: %s", text);
	np_notice(conf.store, "%s", text);
}

static int load_conf(int ac, char **av, struct np_err *err)
{
	if (np_conf_from_environment(&conf, err))
		return -1;
	for (int i = 0; i < ac; i++)
		if (np_conf_set(&conf, av[i], err))
			return -1;
	return 0;
}

/* In slurmd, which it ends with. */
static void start_saver(int ac, char **av)
{
	struct np_err err = NP_ERR_INIT;
	int rc = load_conf(ac, av, &err);

	if (!rc && conf.enabled)
		rc = spank_slurmd_start_saver(conf.libexecdir, &err);
	if (rc)
		slurm_error("netprof: steps started on this node are not "
			    "recorded: %s", err.text);
}

/* Every context; as root in slurmd and slurmstepd. */
int slurm_spank_init(spank_t sp, int ac, char **av)
{
	spank_options_register(sp);
	if (fits)
		spank_node_prepare(sp);
	if (fits && spank_context() == S_CTX_SLURMD)
		start_saver(ac, av);
	return 0;
}

static long env_number(const char *name)
{
	const char *text = getenv(name);
	char *end;
	long v;

	if (!text || !*text)
		return -1;
	v = strtol(text, &end, 10);
	return *end || v < 0 ? -1 : v;
}

/* Declared nowhere in the installed headers; told apart from none by weak. */
extern uint16_t *slurm_get_srun_port_range(void) __attribute__((weak));

/* A socket for one more attendant, and what its nodes are told. */
static int listen_once(char *invites, size_t size, struct np_err *err)
{
	struct np_invite v = {
		.after_sec = conf.probe_after_sec,
		.max_nodes = conf.probe_nodes,
	};
	int fd;

	if (snprintf(v.join, sizeof(v.join), "%s/netprof-join",
		     conf.libexecdir) >= (int)sizeof(v.join))
		return np_errf(err, -ENAMETOOLONG, "LibexecDir=%.40s...: "
			       "expected a shorter path", conf.libexecdir);
	if (np_listen_tokens(&v, err))
		return -1;
	fd = np_listen(slurm_get_srun_port_range ?
		       slurm_get_srun_port_range() : NULL, &v.port, err);
	if (fd < 0)
		return fd;
	if (np_invite_add(&v, invites, size, err)) {
		close(fd);
		return -1;
	}
	listening[n_listening++] = fd;
	return 0;
}

static void stop_listening(void)
{
	while (n_listening)
		close(listening[--n_listening]);
}

/* "srun ... : ..." becomes a heterogeneous job that does not exist yet. */
static bool may_be_heterogeneous(void)
{
	char text[65536];
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
 * In srun, before there is a job: what the tasks' environment is to hold must
 * be there before srun makes it, for all components but the first.
 */
static void invite(int ac, char **av)
{
	static char invites[NP_INVITE_COMPONENTS * NP_INVITE_TEXT];
	size_t want = may_be_heterogeneous() ? NP_INVITE_COMPONENTS : 1;
	struct np_err err = NP_ERR_INIT;
	int rc = load_conf(ac, av, &err);

	if (!rc && !conf.enabled)
		return;
	while (!rc && n_listening < want)
		rc = listen_once(invites, sizeof(invites), &err);
	if (rc) {
		stop_listening();
		complain("steps are not measured: %s", err.text);
		return;
	}
	setenv(NP_INVITE_ENV, invites, 1);
}

/* What traces, where to, and how much: for the tasks. */
static int tracing_of(struct np_tracing *t, struct np_err *err)
{
	const char *app = spank_opt.app[0] ? spank_opt.app :
			  getenv("NETPROF_APP");
	bool store = !spank_opt.trace_dir[0];

	*t = (struct np_tracing){
		.bytes = conf.trace_bytes, .keep = store ? conf.max_traces : 0,
	};
	if (app && !np_app_check(app, NULL))
		strcpy(t->app, app);
	if (snprintf(t->library, PATH_MAX, "%s/libnetprof-mpi.so",
		     conf.libexecdir) >= PATH_MAX ||
	    snprintf(t->dir, PATH_MAX, "%s%s", store ? conf.store :
		     spank_opt.trace_dir, store ? "/users" : "") >= PATH_MAX)
		return np_errf(err, -ENAMETOOLONG, "a path is too long");
	return 0;
}

/* In srun, before it makes the environment of its tasks. */
static void tell_tracing(int ac, char **av)
{
	struct np_err err = NP_ERR_INIT;
	char text[NP_TRACING_TEXT];
	struct np_tracing t;
	int rc = load_conf(ac, av, &err);

	if (!rc && !conf.enabled)
		return;
	if (!rc)
		rc = tracing_of(&t, &err);
	if (!rc && !np_answers(t.dir, TRACE_WAIT_MS))
		rc = np_errf(&err, -ETIMEDOUT, "%s does not answer within %d "
			     "ms", t.dir, TRACE_WAIT_MS);
	if (!rc)
		rc = np_tracing_put(&t, text, &err);
	if (rc)
		complain("steps are not traced: %s", err.text);
	else
		setenv(NP_TRACING_ENV, text, 1);
}

/* In srun it may be called once for each component. */
int slurm_spank_init_post_opt(spank_t sp, int ac, char **av)
{
	const char *app = getenv("NETPROF_APP");

	(void)sp;
	if (spank_context() != S_CTX_LOCAL || n_listening)
		return 0;
	unsetenv(NP_INVITE_ENV); /* of an outer step */
	unsetenv(NP_TRACING_ENV);
	if (spank_opt.trace && fits && !getenv(NP_SIDE_ENV))
		tell_tracing(ac, av);
	if (getenv(NP_SIDE_ENV) || !(spank_opt.asked || (app && *app)))
		return 0;
	if (fits)
		invite(ac, av);
	else
		slurm_verbose("netprof: built for another release of Slurm: "
			      "nothing is measured");
	return 0;
}

static void gather(spank_t sp, int ac, char **av, char srun[PATH_MAX],
		   struct np_facts *f)
{
	ssize_t len = readlink("/proc/self/exe", srun, PATH_MAX - 1);
	int argc = 0;

	srun[len > 0 ? len : 0] = '\0';
	*f = (struct np_facts){
		.side_step = getenv(NP_SIDE_ENV) != NULL,
		.asked = spank_opt.asked,
		.app = spank_opt.app[0] ? spank_opt.app : NULL,
		.env_app = getenv("NETPROF_APP"),
		.level = spank_opt.level,
		.period = spank_opt.period[0] ? spank_opt.period : NULL,
		.job_name = getenv("SLURM_JOB_NAME"),
		.bind_type = getenv("SLURM_CPU_BIND_TYPE"),
		.bind_list = getenv("SLURM_CPU_BIND_LIST"),
		.cpus_per_task = getenv("SLURM_CPUS_PER_TASK"),
		.srun = srun,
		.pid = (uint32_t)getpid(), .parent = (uint32_t)getppid(),
		.step.array_job_id = env_number("SLURM_ARRAY_JOB_ID"),
		.step.array_task_id = env_number("SLURM_ARRAY_TASK_ID"),
		.step.het_component = -1,
		.n_settings = ac, .setting = av,
	};
	spank_get_item(sp, S_JOB_ID, &f->step.job_id);
	spank_get_item(sp, S_JOB_STEPID, &f->step.step_id);
	spank_get_item(sp, S_JOB_NNODES, &f->step.n_nodes);
	spank_get_item(sp, S_JOB_TOTAL_TASK_COUNT, &f->step.n_tasks);
	if (spank_get_item(sp, S_JOB_ARGV, &argc, &f->argv) == ESPANK_SUCCESS)
		f->argc = argc;
	f->interactive = f->step.step_id == SLURM_INTERACTIVE_STEP;
}

/* Returns 0 or -errno; told. */
static int attach(const struct np_order *order, int fd)
{
	struct np_err err = NP_ERR_INIT;
	char path[PATH_MAX + 32];
	struct np_args args;
	int rc;

	snprintf(path, sizeof(path), "%s/netprof-attend", conf.libexecdir);
	np_order_to_args(order, path, &args);
	rc = args.rc ? np_errf(&err, args.rc, "out of memory") :
	     np_attach_start(&attached[n_attached], args.argv, fd,
			     START_WAIT_MS, &err);
	if (!rc)
		n_attached++;
	else
		complain("step %u.%u is not measured: %s", order->job_id,
			 order->step_id, err.text);
	np_args_free(&args);
	return rc;
}

/* A level must run at full strength, and alone for a while, before the step. */
static void wait_for_level(const struct np_order *order)
{
	double sec = conf.lead_in_sec;
	int ms;

	if (!strcmp(order->level, NP_ORDER_AUTO) && sec < NP_ORDER_AUTO_SEC)
		sec = NP_ORDER_AUTO_SEC;
	ms = LEVEL_START_MS + (int)(sec * 1000);

	for (size_t i = 0; i < n_attached; i++) {
		if (np_attach_wait(&attached[i], 'r', ms))
			complain("step %u.%u: level %s did not come up within "
				 "%d ms; the step starts without waiting",
				 order->job_id, order->step_id, order->level,
				 ms);
		np_attach_say(&attached[i], "start\n");
	}
}

/* When there is a record: at once where a level goes before the step. */
static double record_after_sec(const struct np_order *order)
{
	struct np_invite v;

	if (order->level[0] || np_invite_find(getenv(NP_INVITE_ENV), 0, &v))
		return 0;
	return np_invite_after_sec(&v, order->n_nodes);
}

/* srun's last act, after all of its own: as the user. */
static void at_exit(int status, void *arg)
{
	bool wait = np_mono_sec() >= record_sec;
	char line[32];

	(void)arg;
	snprintf(line, sizeof(line), "exit %d\n", status & 0xff);
	for (size_t i = 0; i < n_attached; i++) {
		if (attached[i].owner != getpid())
			continue;
		np_attach_say(&attached[i], line);
		if (wait)
			np_attach_wait(&attached[i], 's', SAVE_WAIT_MS);
		np_attach_close(&attached[i]);
	}
}

/* Where nothing says: slurmctld numbers them in a row. */
static uint32_t component_job_id(long i, uint32_t leader)
{
	char name[48];
	long id;

	snprintf(name, sizeof(name), "SLURM_JOB_ID_HET_GROUP_%ld", i);
	id = env_number(name);
	return id > 0 ? (uint32_t)id : leader + (uint32_t)i;
}

/*
 * One attendant for a plain step; for a step of a heterogeneous job one for
 * each component, each of which finds out whether the step has a part there.
 * srun calls for one of them, whichever of its threads is first: the leader's
 * id is in the environment, as it is in the tasks'.
 */
static void attach_all(const struct np_order *order)
{
	long size = env_number("SLURM_HET_SIZE");
	long leader = env_number("SLURM_JOB_ID");
	struct np_order part = *order;

	if (size < 2 || leader <= 0) {
		attach(order, listening[0]);
		return;
	}
	for (long i = 0; i < size && i < (long)n_listening; i++) {
		part.job_id = component_job_id(i, (uint32_t)leader);
		part.het_job_id = (uint32_t)leader;
		part.het_component = i;
		if (attach(&part, listening[i]) == -ETIMEDOUT)
			break; /* the others would be waited for as long */
	}
}

/*
 * In srun, as the user: the step exists, its tasks are not launched yet.
 * Steps that nobody flagged cost no more than the first three lines.
 */
int slurm_spank_local_user_init(spank_t sp, int ac, char **av)
{
	struct np_err err = NP_ERR_INIT;
	char srun[PATH_MAX];
	struct np_order order;
	struct np_facts f;
	enum np_plan plan;

	if (!fits)
		return 0;
	gather(sp, ac, av, srun, &f);
	plan = np_plan_make(&f, &order, &err);
	if (plan == NP_PLAN_NOTHING || !n_listening)
		return 0;
	if (plan == NP_PLAN_SKIP) {
		stop_listening();
		complain("step %u.%u is not measured: %s", f.step.job_id,
			 f.step.step_id, err.text);
		return 0;
	}
	record_sec = np_mono_sec() + record_after_sec(&order);
	attach_all(&order);
	stop_listening();
	if (n_attached && on_exit(at_exit, NULL))
		complain("step %u.%u: its exit code will not be known",
			 order.job_id, order.step_id);
	if (order.level[0])
		wait_for_level(&order);
	return 0;
}

/*
 * On a node of the step, as the user, in each task just before it becomes the
 * user's program.  Steps that nobody flagged cost two looks at the environment.
 */
int slurm_spank_task_init(spank_t sp, int ac, char **av)
{
	(void)ac, (void)av;
	if (!fits)
		return 0;
	spank_node_task_starts(sp);
	return 0;
}

/* In slurmstepd, as root, before what the task left behind is killed. */
int slurm_spank_task_exit(spank_t sp, int ac, char **av)
{
	(void)ac, (void)av;
	if (fits)
		spank_node_task_ends(sp);
	return 0;
}
