#include "np_launch.h"

#include <errno.h>
#include <getopt.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
	const char *base = strrchr(exe, '/');

	base = base ? base + 1 : exe;
	for (size_t i = 0; i < NP_ARRAY_SIZE(wrappers); i++)
		if (!strcmp(base, wrappers[i].name))
			return wrappers[i].kind;
	return PROGRAM;
}

/* The program that a command line runs; NULL: it cannot be told. */
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

int np_plan_app(const struct np_facts *f,
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

static uint32_t cpus_per_task(const struct np_facts *f)
{
	unsigned long n = f->cpus_per_task ?
			  strtoul(f->cpus_per_task, NULL, 10) : 0;

	return n < UINT32_MAX ? (uint32_t)n : 0;
}

/* "cores", or "map_cpu:" with its list; a long list is cut. */
static void set_binding(const struct np_facts *f,
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

void np_plan_fingerprint(const struct np_facts *f, char hex[20])
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
	if (o->n_settings == NP_ORDER_SETTINGS)
		return np_errf(why, -EINVAL,
			       "more than %d arguments for "
			       "netprof in plugstack.conf",
			       NP_ORDER_SETTINGS);
	o->setting[o->n_settings++] = setting;
	return 0;
}

static int add_settings(const struct np_facts *f,
			struct np_launch_request *o, struct np_err *why)
{
	for (int i = 0; i < f->n_settings; i++)
		if (add_setting(o, f->setting[i], why))
			return -EINVAL;
	return f->period ? add_setting(o, f->period, why) : 0;
}

enum np_plan np_plan_make(struct np_facts *f,
					 struct np_err *why)
{
	struct np_launch_request *o = &f->step;

	if (f->side_step || (!f->asked && !(f->env_app && *f->env_app)))
		return NP_PLAN_NOTHING;
	if (f->interactive)
		return np_errf(why, NP_PLAN_SKIP,
			       "the shell of salloc is not "
			       "measured; steps started in it are");
	o->launcher = f->argc > 0 && wrapper_kind(f->argv[0]) == LAUNCHER;
	o->runner = o->launcher ? f->parent : f->pid;
	if (o->n_nodes + o->launcher < 2)
		return np_errf(why, NP_PLAN_SKIP,
			       "the step runs on one node, "
			       "which uses no switch");
	if (np_plan_app(f, o->app, why) || add_settings(f, o, why))
		return NP_PLAN_SKIP;
	if (strlen(f->srun) >= sizeof(o->srun))
		return np_errf(why, NP_PLAN_SKIP,
			       "the path of srun is too "
			       "long: %s",
			       f->srun);
	strcpy(o->srun, f->srun);
	snprintf(o->executable, sizeof(o->executable), "%s",
		 f->argc > 0 ? f->argv[0] : "");
	set_binding(f, o);
	np_plan_fingerprint(f, o->fingerprint);
	return NP_PLAN_ATTACH;
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

void np_order_to_args(const struct np_launch_request *o, const char *path,
		       struct np_args *out)
{
	*out = (struct np_args){ .n = 0 };
	np_args_add(out, "%s", path);
	for (size_t i = 0; i < N_FIELDS; i++)
		add_field(out, o, &fields[i]);
	for (size_t i = 0; i < o->n_settings; i++)
		np_args_add(out, "--set=%s", o->setting[i]);
}

static int take_number(const char *name, const char *text, long min, long max,
		       long *out, struct np_err *err)
{
	char *end;
	long v;

	errno = 0;
	v = strtol(text, &end, 10);
	if (errno || end == text || *end || v < min || v > max)
		return np_errf(err, -EINVAL, "--%s=%s: expected a number from "
			       "%ld to %ld", name, text, min, max);
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
		rc = take_number(f->name, text, 0, UINT32_MAX, &v, err);
		if (!rc)
			*(uint32_t *)to = (uint32_t)v;
		return rc;
	case NUMBER:
		return take_number(f->name, text, -1, UINT32_MAX, to, err);
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
	if (o->n_settings == NP_ORDER_SETTINGS)
		return np_errf(err, -EINVAL, "--set=%s: more than %d settings",
			       text, NP_ORDER_SETTINGS);
	o->setting[o->n_settings++] = text;
	return 0;
}

int np_order_from_argv(int argc, char **argv, struct np_launch_request *o,
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
				       "plugin and netprof-attend are of "
				       "different versions");
		rc = opt == (int)N_FIELDS ? take_setting(&got, optarg, err) :
		     take_field(&got, &fields[opt], optarg, err);
		if (rc)
			return rc;
	}
	if (!got.job_id || !got.app[0] || !got.srun[0] || optind != argc)
		return np_errf(err, -EINVAL,
			       "netprof-attend is started by the "
			       "SPANK plugin, not by hand");
	*o = got;
	return 0;
}
