#include "np_order.h"

#include <errno.h>
#include <getopt.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* An argument, --NAME=VALUE, of a member. */
static const struct field {
	const char *name;
	enum { COUNT, NUMBER, FLAG, TEXT, APP } kind;
	size_t at, size;
} fields[] = {
#define OF(member) offsetof(struct np_order, member), \
		   sizeof(((struct np_order *)NULL)->member)
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

static void add_field(struct np_args *a, const struct np_order *o,
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

void np_order_to_args(const struct np_order *o, const char *path,
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

static int take_field(struct np_order *o, const struct field *f,
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

static int take_setting(struct np_order *o, const char *text,
			struct np_err *err)
{
	if (o->n_settings == NP_ORDER_SETTINGS)
		return np_errf(err, -EINVAL, "--set=%s: more than %d settings",
			       text, NP_ORDER_SETTINGS);
	o->setting[o->n_settings++] = text;
	return 0;
}

int np_order_from_argv(int argc, char **argv, struct np_order *o,
		       struct np_err *err)
{
	struct np_order got = {
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
		if (opt > (int)N_FIELDS) /* '?' */
			return np_errf(err, -EINVAL, "unknown argument: the "
				       "plugin and netprof-attend are of "
				       "different versions");
		rc = opt == (int)N_FIELDS ? take_setting(&got, optarg, err) :
		     take_field(&got, &fields[opt], optarg, err);
		if (rc)
			return rc;
	}
	if (!got.job_id || !got.app[0] || !got.srun[0] || optind != argc)
		return np_errf(err, -EINVAL, "netprof-attend is started by the "
			       "SPANK plugin, not by hand");
	*o = got;
	return 0;
}
