#include "np_plan.h"
#include "np_text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* The program of a command line, or NULL where it cannot be told. */
static const char *command_program(int argc, char **argv)
{
	if (argc < 1)
		return NULL;
	switch (wrapper_kind(argv[0])) {
	case PROGRAM:
		return argv[0];
	case INTERPRETER:
		/* Options may take arguments: only the plain case is sure. */
		if (argc > 1 && argv[1][0] != '-' && !strchr(argv[1], '='))
			return argv[1];
		return NULL;
	default:
		return NULL;
	}
}

int np_plan_app(const struct np_facts *f, char app[NP_APP_MAX + 1],
		struct np_err *err)
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

/* "cores", or "map_cpu:" and its list; a long list is cut. */
static void note_processors(const struct np_facts *f, struct np_order *o)
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
	/* Where nothing was asked for it is the digest that it always was. */
	if (has_text(f->bind_type))
		h = np_hash(h, f->bind_type, strlen(f->bind_type) + 1);
	if (has_text(f->bind_type) && has_text(f->bind_list))
		h = np_hash(h, f->bind_list, strlen(f->bind_list) + 1);
	if (cpus_per_task(f))
		h = np_hash(h, f->cpus_per_task, strlen(f->cpus_per_task) + 1);
	snprintf(hex, 20, "%016llx", (unsigned long long)h);
}

static int add_setting(struct np_order *o, const char *setting,
		       struct np_err *why)
{
	if (o->n_settings == NP_ORDER_SETTINGS)
		return np_errf(why, -EINVAL, "more than %d arguments for "
			       "netprof in plugstack.conf", NP_ORDER_SETTINGS);
	o->setting[o->n_settings++] = setting;
	return 0;
}

static int add_settings(const struct np_facts *f, struct np_order *o,
			struct np_err *why)
{
	for (int i = 0; i < f->n_settings; i++)
		if (add_setting(o, f->setting[i], why))
			return -EINVAL;
	return f->period ? add_setting(o, f->period, why) : 0;
}

enum np_plan np_plan_make(const struct np_facts *f, struct np_order *order,
			  struct np_err *why)
{
	struct np_order o = f->step;

	if (f->side_step || (!f->asked && !(f->env_app && *f->env_app)))
		return NP_PLAN_NOTHING;
	if (f->interactive)
		return np_errf(why, NP_PLAN_SKIP, "the shell of salloc is not "
			       "measured; steps started in it are");
	o.launcher = f->argc > 0 && wrapper_kind(f->argv[0]) == LAUNCHER;
	o.runner = o.launcher ? f->parent : f->pid;
	if (o.n_nodes + o.launcher < 2)
		return np_errf(why, NP_PLAN_SKIP, "the step runs on one node, "
			       "which uses no switch");
	if (np_plan_app(f, o.app, why) || add_settings(f, &o, why))
		return NP_PLAN_SKIP;
	if (strlen(f->srun) >= sizeof(o.srun))
		return np_errf(why, NP_PLAN_SKIP, "the path of srun is too "
			       "long: %s", f->srun);
	strcpy(o.srun, f->srun);
	snprintf(o.level, sizeof(o.level), "%s", f->level ? f->level : "");
	snprintf(o.executable, sizeof(o.executable), "%s",
		 f->argc > 0 ? f->argv[0] : "");
	note_processors(f, &o);
	np_plan_fingerprint(f, o.fingerprint);
	*order = o;
	return NP_PLAN_ATTACH;
}
