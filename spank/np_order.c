#include "np_order.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { JOB, STEP, ARRAY_JOB, ARRAY_TASK, HET, HET_JOB, NODES, TASKS, LAUNCHER, APP,
       LEVEL, EXE, FINGERPRINT, SRUN, SET };

static const struct option options[] = {
	{ "job",         required_argument, NULL, JOB },
	{ "step",        required_argument, NULL, STEP },
	{ "array-job",   required_argument, NULL, ARRAY_JOB },
	{ "array-task",  required_argument, NULL, ARRAY_TASK },
	{ "het",         required_argument, NULL, HET },
	{ "het-job",     required_argument, NULL, HET_JOB },
	{ "nodes",       required_argument, NULL, NODES },
	{ "tasks",       required_argument, NULL, TASKS },
	{ "launcher",    required_argument, NULL, LAUNCHER },
	{ "app",         required_argument, NULL, APP },
	{ "level",       required_argument, NULL, LEVEL },
	{ "exe",         required_argument, NULL, EXE },
	{ "fingerprint", required_argument, NULL, FINGERPRINT },
	{ "srun",        required_argument, NULL, SRUN },
	{ "set",         required_argument, NULL, SET },
	{ NULL, 0, NULL, 0 },
};

struct args {
	char **argv;
	size_t n;
	char *at, *end;
};

static void arg_add(struct args *a, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void arg_add(struct args *a, const char *fmt, ...)
{
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vsnprintf(a->at, (size_t)(a->end - a->at), fmt, ap);
	va_end(ap);
	a->argv[a->n++] = a->at;
	a->at += len + 1;
}

/* Room for the text of every argument: names, numbers and strings. */
static size_t text_size(const struct np_order *o, const char *path)
{
	size_t size = strlen(path) + 1 + sizeof(*o) + 17 * 40;

	for (size_t i = 0; i < o->n_settings; i++)
		size += strlen(o->setting[i]) + sizeof("--set=");
	return size;
}

char **np_order_to_argv(const struct np_order *o, const char *path)
{
	size_t table = (NP_ORDER_ARGS + 1) * sizeof(char *);
	size_t size = text_size(o, path);
	struct args a = { .argv = calloc(1, table + size) };

	if (!a.argv)
		return NULL;
	a.at = (char *)a.argv + table;
	a.end = a.at + size;
	arg_add(&a, "%s", path);
	arg_add(&a, "--job=%u", o->job_id);
	arg_add(&a, "--step=%u", o->step_id);
	arg_add(&a, "--array-job=%ld", o->array_job_id);
	arg_add(&a, "--array-task=%ld", o->array_task_id);
	arg_add(&a, "--het=%ld", o->het_component);
	arg_add(&a, "--het-job=%u", o->het_job_id);
	arg_add(&a, "--nodes=%u", o->n_nodes);
	arg_add(&a, "--tasks=%u", o->n_tasks);
	arg_add(&a, "--launcher=%d", o->launcher);
	arg_add(&a, "--app=%s", o->app);
	arg_add(&a, "--level=%s", o->level);
	arg_add(&a, "--exe=%s", o->executable);
	arg_add(&a, "--fingerprint=%s", o->fingerprint);
	arg_add(&a, "--srun=%s", o->srun);
	for (size_t i = 0; i < o->n_settings; i++)
		arg_add(&a, "--set=%s", o->setting[i]);
	return a.argv;
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

static int take_uint32(const char *name, const char *text, uint32_t *out,
		       struct np_err *err)
{
	long v;
	int rc = take_number(name, text, 0, UINT32_MAX, &v, err);

	if (!rc)
		*out = (uint32_t)v;
	return rc;
}

static int take_text(const char *name, const char *text, char *buf, size_t len,
		     struct np_err *err)
{
	if (strlen(text) >= len)
		return np_errf(err, -EINVAL, "--%s=%.40s...: expected fewer "
			       "than %zu characters", name, text, len);
	strcpy(buf, text);
	return 0;
}

static int take_setting(struct np_order *o, const char *text,
			struct np_err *err)
{
	if (o->n_settings == NP_ORDER_SETTINGS)
		return np_errf(err, -EINVAL, "--set=%s: more than %d settings",
			       text, NP_ORDER_SETTINGS);
	o->setting[o->n_settings++] = text;
	return 0;
}

static int take(struct np_order *o, int opt, const char *v, struct np_err *err)
{
	const char *name = opt >= 0 && opt <= SET ? options[opt].name : "";

	switch (opt) {
	case JOB:
		return take_uint32(name, v, &o->job_id, err);
	case STEP:
		return take_uint32(name, v, &o->step_id, err);
	case HET_JOB:
		return take_uint32(name, v, &o->het_job_id, err);
	case NODES:
		return take_uint32(name, v, &o->n_nodes, err);
	case TASKS:
		return take_uint32(name, v, &o->n_tasks, err);
	case LAUNCHER:
		o->launcher = !strcmp(v, "1");
		return 0;
	case ARRAY_JOB:
		return take_number(name, v, -1, UINT32_MAX, &o->array_job_id,
				   err);
	case ARRAY_TASK:
		return take_number(name, v, -1, UINT32_MAX, &o->array_task_id,
				   err);
	case HET:
		return take_number(name, v, -1, UINT32_MAX, &o->het_component,
				   err);
	case APP:
		if (np_app_check(v, err))
			return -EINVAL;
		return take_text(name, v, o->app, sizeof(o->app), err);
	case LEVEL:
		return take_text(name, v, o->level, sizeof(o->level), err);
	case EXE:
		return take_text(name, v, o->executable,
				 sizeof(o->executable), err);
	case FINGERPRINT:
		return take_text(name, v, o->fingerprint,
				 sizeof(o->fingerprint), err);
	case SRUN:
		return take_text(name, v, o->srun, sizeof(o->srun), err);
	case SET:
		return take_setting(o, v, err);
	default:
		return np_errf(err, -EINVAL, "unknown argument: the plugin and "
			       "netprof-attend are of different versions");
	}
}

int np_order_from_argv(int argc, char **argv, struct np_order *o,
		       struct np_err *err)
{
	struct np_order got = {
		.array_job_id = -1, .array_task_id = -1, .het_component = -1,
	};
	int opt, rc;

	optind = 0;
	opterr = 0;
	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		rc = take(&got, opt, optarg, err);
		if (rc)
			return rc;
	}
	if (!got.job_id || !got.app[0] || !got.srun[0] || optind != argc)
		return np_errf(err, -EINVAL, "netprof-attend is started by the "
			       "SPANK plugin, not by hand");
	*o = got;
	return 0;
}
