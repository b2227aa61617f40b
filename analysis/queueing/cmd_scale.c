/*
 * netprof scale: components of runs of several sizes, from reports or traces.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli_graph.h"
#include "cli_options.h"
#include "cli_scale.h"
#include "np_quantity.h"

/* Defaults: about those of 10 Gbit Ethernet. */
#define BYTES_PER_SEC 1.1e9
#define LATENCY_SEC 10e-6

static int take_bandwidth(char *text, void *ask, struct np_err *err)
{
	struct cli_scale *s = ask;
	uint64_t bytes;

	if (np_bytes_parse(text, &bytes) || !bytes)
		return np_errf(err, -EINVAL, "--bandwidth=%.64s: expected bytes per "
				 "second, such as 1200000000 or 1G", text);
	s->link.bytes_per_sec = (double)bytes;
	s->bandwidth_given = true;
	return 0;
}

static int take_latency(char *text, void *ask, struct np_err *err)
{
	struct cli_scale *s = ask;

	if (np_duration_parse(text, &s->link.latency_sec))
		return np_errf(err, -EINVAL, "--latency=%.64s: expected a time, such "
				 "as 5us", text);
	s->latency_given = true;
	return 0;
}

static int take_variant(char *text, void *ask, struct np_err *err)
{
	struct cli_scale *s = ask;

	if (!strcmp(text, "published"))
		s->variant = NP_FOUR_PUBLISHED;
	else if (!strcmp(text, "consistent"))
		s->variant = NP_FOUR_CONSISTENT;
	else
		return np_errf(err, -EINVAL, "--variant=%.64s: expected published or "
				 "consistent", text);
	return 0;
}

static int take_speed(char *text, void *ask, struct np_err *err)
{
	struct cli_scale *s = ask;
	char *end;

	s->speed = strtod(text, &end);
	if (end == text || *end || !(s->speed >= 0.001 && s->speed <= 1000))
		return np_errf(err, -EINVAL, "--speed=%.64s: expected how many "
			       "times as fast processors are, 0.001 to 1000",
			       text);
	return 0;
}

/* Parses numbers of processes separated by commas. */
static int take_at(char *text, void *ask, struct np_err *err)
{
	struct cli_scale *s = ask;
	const char *p = text;

	for (;;) {
		char *end;
		unsigned long n = *p >= '0' && *p <= '9' ?
				  strtoul(p, &end, 10) : 0;

		if (!n || n > NP_FOUR_MAX_PROCESSES || (*end && *end != ','))
			return np_errf(err, -EINVAL, "--at=%.64s: expected numbers "
					 "of processes from 1 to %d, separated "
					 "by commas", text,
					 NP_FOUR_MAX_PROCESSES);
		if (s->n_at == CLI_SCALE_AT)
			return np_errf(err, -EINVAL, "--at: more than %d numbers",
					 CLI_SCALE_AT);
		s->at[s->n_at++] = (double)n;
		if (!*end)
			return 0;
		p = end + 1;
	}
}

static const struct np_option options[] = {
	{ "bandwidth", NP_OPTION_TAKE, .take = take_bandwidth },
	{ "latency", NP_OPTION_TAKE, .take = take_latency },
	{ "variant", NP_OPTION_TAKE, .take = take_variant },
	{ "at", NP_OPTION_TAKE, .take = take_at },
	{ "speed", NP_OPTION_TAKE, .take = take_speed },
	{ NULL },
};

static int parse(const struct cli_cmd *self, int argc, char **argv,
		 struct cli_scale *s, struct cli_options *o)
{
	int rc = cli_options_parse(self, argc, argv, s, o);

	if (rc < 0 && s->speed != 1 && !s->n_at)
		return cli_usage(self, "--speed has no effect without --at");
	if (rc < 0 && o->n_apps > NP_SCALING_MAX_RUNS)
		return cli_usage(self, "%zu reports, expected at most %d",
				 o->n_apps, NP_SCALING_MAX_RUNS);
	return rc;
}

static int read_run(const char *path, const struct cli_scale *s,
		struct cli_scale_run *r)
{
	struct np_err err = NP_ERR_INIT;
	const struct np_mpip *m = &r->report;
	double n;

	r->path = path;
	if (cli_is_trace(path) ? np_mpip_trace(path, &r->report, &err) :
			     np_mpip_load(path, &r->report, &err))
		return cli_fail("%s", err.text);
	n = m->n_tasks;
	r->run = (struct np_run){ n, m->app_sec / n, m->mpi_sec / n,
				  m->messages / n, m->messages > 0 ?
				  m->bytes / m->messages : 0 };
	if (!(r->run.app_sec > 0))
		return cli_fail("%s: all tasks took 0 s", path);
	if (np_four(&r->run, &s->link, s->variant, &r->four, &err))
		return cli_fail("%s: %s", path, err.text);
	return CLI_DONE;
}

static int by_processes(const void *a, const void *b)
{
	const struct cli_scale_run *x = a, *y = b;

	return (x->run.processes > y->run.processes) -
	       (x->run.processes < y->run.processes);
}

/* Buffers for the runs of a fit. */
struct fit_buffers {
	struct np_run *run;
	struct np_four *four;
};

/* Copies the runs, except those with this number of processes (NaN: all). */
static size_t copy_others(const struct cli_scale *s, double processes,
		     const struct fit_buffers *out)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n_runs; i++) {
		if (s->run[i].run.processes == processes)
			continue;
		out->run[n] = s->run[i].run;
		out->four[n++] = s->run[i].four;
	}
	return n;
}

/* Cross-validation: predicts each run from those of other sizes. */
static int cross_validate(struct cli_scale *s,
			  const struct fit_buffers *fit_buffers)
{
	const double nan = NAN;

	for (size_t i = 0; i < s->n_runs; i++) {
		struct cli_scale_run *r = &s->run[i];
		size_t n = copy_others(s, r->run.processes, fit_buffers);
		struct np_scaling *fit = NULL;
		int rc = np_scaling_fit(fit_buffers->run, fit_buffers->four, n,
					&s->link, &fit, NULL);

		r->others.four.wall_sec = nan;
		if (!rc)
			rc = np_scaling_at(fit, r->run.processes,
					   &r->others, NULL);
		np_scaling_free(fit);
		if (rc == -ENOMEM)
			return rc;
		for (int b = 0; b < CLI_SCALE_BASELINES; b++)
			r->baseline_sec[b] =
				n ? np_scaling_baseline(
					    (enum np_scaling_baseline)b,
					    fit_buffers->run, n,
					    r->run.processes) :
				    nan;
	}
	return 0;
}

static int predict(struct cli_scale *s, const struct fit_buffers *fit_buffers)
{
	size_t n = copy_others(s, NAN, fit_buffers);
	struct np_err err = NP_ERR_INIT;
	struct np_scaling *fit = NULL;
	int rc = np_scaling_fit(fit_buffers->run, fit_buffers->four, n,
				&s->link, &fit, &err);

	if (rc == -EDOM) {
		strcpy(s->why, err.text);
		return s->n_at ? cli_fail("--at: %s", s->why) : CLI_DONE;
	}
	if (!rc)
		np_scaling_set_speed(fit, s->speed);
	for (size_t i = 0; !rc && i < s->n_at; i++)
		rc = np_scaling_at(fit, s->at[i], &s->answer[i], &err);
	np_scaling_free(fit);
	if (!rc && cross_validate(s, fit_buffers))
		rc = np_errf(&err, -ENOMEM, "out of memory");
	return rc ? cli_fail("%s", err.text) : CLI_DONE;
}

/* Warns if the runs are of different programs, which are fitted as one. */
static void warn_of_mixture(const struct cli_scale *s)
{
	const struct cli_scale_run *first = NULL;

	for (size_t i = 0; i < s->n_runs; i++) {
		const struct cli_scale_run *r = &s->run[i];

		if (!*r->report.program)
			continue;
		if (first && strcmp(first->report.program, r->report.program)) {
			fprintf(stderr, "netprof: warning: runs of different "
				"programs, taken as one: %s of %s, %s of %s\n",
				first->report.program, first->path,
				r->report.program, r->path);
			return;
		}
		first = r;
	}
}

static int read_and_predict(struct cli_scale *s, char **paths,
			    const struct fit_buffers *fit_buffers)
{
	int rc = CLI_DONE;

	for (size_t i = 0; !rc && i < s->n_runs; i++)
		rc = read_run(paths[i], s, &s->run[i]);
	if (rc)
		return rc;
	warn_of_mixture(s);
	qsort(s->run, s->n_runs, sizeof(*s->run), by_processes);
	return predict(s, fit_buffers);
}

static int run_scale(const struct cli_cmd *self, int argc, char **argv)
{
	struct cli_scale s = { .link = { BYTES_PER_SEC, LATENCY_SEC },
			       .speed = 1 };
	struct cli_options o;
	struct fit_buffers fit_buffers;
	int rc = parse(self, argc, argv, &s, &o);

	if (rc >= 0)
		return rc;
	s.n_runs = o.n_apps;
	s.run = calloc(s.n_runs, sizeof(*s.run));
	s.answer = calloc(s.n_at + 1, sizeof(*s.answer));
	fit_buffers.run = calloc(s.n_runs, sizeof(*fit_buffers.run));
	fit_buffers.four = calloc(s.n_runs, sizeof(*fit_buffers.four));
	rc = s.run && s.answer && fit_buffers.run && fit_buffers.four ?
		     read_and_predict(&s, o.apps, &fit_buffers) :
		     cli_fail("out of memory");
	if (!rc)
		rc = o.plot ? cli_scale_plot(&s, o.plot) :
		     o.format ? cli_scale_data(&s, o.format) :
				cli_scale_text(&s);
	free(s.run);
	free(s.answer);
	free(fit_buffers.run);
	free(fit_buffers.four);
	return rc;
}

const struct cli_cmd cmd_scale = {
	.name = "scale",
	.args = "[OPTION]... REPORT|TRACE...",
	.help = "how a program scales, from traces or reports of mpiP",
	.text =
"Where the time of each run goes: switch, contention, active in MPI, compute;\n"
"and from runs of three sizes or more what runs of other sizes would take.\n"
"TRACE is the directory of one (netprof help trace), REPORT one of mpiP 3.x,\n"
"best made with its option -e for more digits.\n\n"
"  --bandwidth=BYTES  of a link, per second\n"
"  --latency=TIME     of a message, such as 5us\n"
"  --variant=V        published: the switch comes on top of the time in MPI\n"
"                     (so without the option); consistent: it is part of it\n"
"  --at=P,...         numbers of processes to predict\n"
"  --speed=F          there with processors F times as fast\n"
"  --plot=FILE        a picture instead: .svg, .png or .pdf\n"
"  --json, --parsable the same for programs; --parsable (-P) as in sacct",
	.examples =
"  netprof scale solver.*.mpiP\n"
"  netprof scale --parsable --at=64,128 solver.*.mpiP\n",
	.takes = CLI_TAKES_FORMAT | CLI_TAKES_PLOT, .own = options,
	.missing = "a report of mpiP or a trace", .most = CLI_ANY,
	.run = run_scale,
};
