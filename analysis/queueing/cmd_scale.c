/*
 * netprof scale: divides the time of runs of several sizes into components
 * and predicts runs of other sizes (np_four.h). As a check, each run is also
 * predicted from those of other sizes.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "cli_json_put.h"
#include "cli_options.h"
#include "cli_output.h"
#include "cli_print.h"
#include "cli_text.h"
#include "np_figure.h"
#include "np_four.h"
#include "np_mpip.h"
#include "np_option.h"
#include "np_trace_read.h"

enum { N_BASELINES = NP_BASELINE_AMDAHL + 1 };

/* A run, its components, and what the other runs predict for it. */
struct scale_run {
	const char *path;
	struct np_mpip report;
	struct np_run run;
	struct np_four four;
	/* Predictions from runs of other sizes; NaN if these are too few. */
	struct np_scaled_run others;
	double baseline_sec[N_BASELINES];
};

#define MAX_AT 64 /* sizes that --at may ask for */

/* The request and all results, which the reports print. */
struct scale {
	struct scale_run *run; /* ascending by number of processes */
	size_t n_runs;
	struct np_link link;
	bool bandwidth_given, latency_given;
	enum np_four_variant variant;
	/* speed of processors at other sizes, relative to the runs */
	double speed;
	/* Other sizes that were requested: */
	double at[MAX_AT]; /* number of processes, in the order given */
	struct np_scaled_run *prediction;
	size_t n_at;
	/* the runs of a fit */
	struct np_run *fit_run;
	struct np_four *fit_four;
	char why[NP_ERR_LEN]; /* "", or why there are no predictions */
};

/* ---- Reports of netprof scale: text, JSON and tables ---- */

#define BAR 40	   /* columns of a stacked bar */
#define MODEL (-1) /* in place of a baseline */

static const char *const baselines[N_BASELINES] = {
	[NP_BASELINE_NEAREST] = "nearest",
	[NP_BASELINE_IDEAL] = "ideal",
	[NP_BASELINE_AMDAHL] = "amdahl",
};

static const char *const variants[] = {
	[NP_FOUR_PUBLISHED] = "published",
	[NP_FOUR_CONSISTENT] = "consistent",
};

/* "beyond,negative", or "". */
static const char *format_flags(unsigned flags)
{
	static const struct {
		unsigned flag;
		const char *name;
	} names[] = {
		{ NP_SCALING_BEYOND, "beyond" },
		{ NP_SCALING_NEGATIVE, "negative" },
		{ NP_SCALING_NO_INTERVAL, "no-interval" },
	};

	char *buf = cli_text_buffer();

	for (size_t i = 0; i < NP_ARRAY_SIZE(names); i++)
		if (flags & names[i].flag)
			cli_appendf(buf, CLI_TEXT_BYTES, "%s%s",
				    *buf ? "," : "", names[i].name);
	return buf;
}

/* predicted / measured - 1 of a run; NaN without a prediction. */
static double error_of(const struct scale_run *r, int baseline)
{
	double sec = baseline == MODEL ? r->others.four.wall_sec :
					 r->baseline_sec[baseline];

	return sec / r->run.app_sec - 1;
}

/* Mean of |predicted / measured - 1| over runs; *n: number of runs. */
static double mean_error(const struct scale *s, int baseline, size_t *n)
{
	double sum = 0;

	*n = 0;
	for (size_t i = 0; i < s->n_runs; i++) {
		double miss = error_of(&s->run[i], baseline);

		if (isnan(miss))
			continue;
		sum += fabs(miss);
		(*n)++;
	}
	return sum / (double)*n;
}

/* "+4.2 %". */
static const char *format_error(double miss)
{
	double p = 100 * miss, size = fabs(p);

	return cli_text(size < 1e7 ? "%+.*f %%" : "%+.*g %%",
			size < 99.95 ? 1 :
			size < 1e7   ? 0 :
				       3,
			size < 0.05 ? 0 : p);
}

/* A mean size as text, in whole bytes. */
static const char *size_of(double bytes)
{
	return cli_bytes((uint64_t)(bytes + 0.5));
}

/* The speed of processors at other sizes, or "". */
static const char *speed_note(const struct scale *s)
{
	return s->speed != 1 ?
		       cli_text(" Other sizes: processors %g times as fast.",
				s->speed) :
		       "";
}

/* The program, or the file of the first run. */
static const char *title(const struct scale *s)
{
	const struct scale_run *first = &s->run[0];

	return *first->report.program ? first->report.program : first->path;
}

/* Prints what the report is about, and the parameters used. */
static void print_summary(const struct scale *s)
{
	cli_printf(
		CLI_PLAIN, 0,
		"%s: %zu report%s; link of %s and %s%s; variant %s.%s",
		title(s), s->n_runs, cli_plural_s(s->n_runs),
		cli_setting_rate(s->link.bytes_per_sec),
		cli_setting_sec(s->link.latency_sec),
		s->bandwidth_given && s->latency_given ?
			"" :
			" (default unless --bandwidth and --latency are given)",
		variants[s->variant], speed_note(s));
}

/* Prints the components of a run. */
static void print_four(double processes, const struct np_four *f)
{
	printf("%9.0f", processes);
	cli_print_sec(f->switch_sec, 10);
	cli_print_sec(f->contention_sec, 12);
	cli_print_sec(f->active_sec, 10);
	cli_print_sec(f->compute_sec, 10);
	cli_print_sec(f->wall_sec, 10);
}

/* Prints the components of all runs and their error. */
static void print_components(const struct scale *s)
{
	cli_heading("%9s%10s%12s%10s%10s%10s%10s%8s", "Processes", "Switch",
		    "Contention", "Active", "Compute", "Sum", "Measured",
		    "Error");
	for (size_t i = 0; i < s->n_runs; i++) {
		const struct scale_run *r = &s->run[i];

		print_four(r->run.processes, &r->four);
		cli_print_sec(r->run.app_sec, 10);
		cli_print_number(format_error,
				 r->four.wall_sec / r->run.app_sec - 1, 8);
		putchar('\n');
	}
}

/* Characters of the components in a stacked bar. */
static const char *const light[] = { "s", "c", "a", "=" };
static const char *const heavy[] = { "\u2591", "\u2592", "\u2593", "\u2588" };

/* Prints a stacked bar of the components, scaled to the longest run. */
static void print_stack(double processes, const struct np_four *f, double most)
{
	const double part[] = { f->switch_sec, f->contention_sec, f->active_sec,
				f->compute_sec };
	double sum = 0;
	int column = 0;

	printf("%9.0f ", processes);
	for (int i = 0; i < 4; i++) {
		sum += part[i];
		for (int end = (int)(BAR * sum / most + 0.5); column < end;
		     column++)
			fputs(cli_utf8() ? heavy[i] : light[i], stdout);
	}
	cli_print_sec(f->wall_sec, BAR - column + 10);
	putchar('\n');
}

/* Prints all runs as stacked bars. */
static void print_stacks(const struct scale *s)
{
	const char *const *mark = cli_utf8() ? heavy : light;
	double most = 0;

	for (size_t i = 0; i < s->n_runs; i++)
		most = fmax(most, s->run[i].four.wall_sec);
	for (size_t i = 0; i < s->n_at; i++)
		most = fmax(most, s->prediction[i].four.wall_sec);
	cli_heading("Processes %s switch  %s contention  %s active  %s compute",
		    mark[0], mark[1], mark[2], mark[3]);
	for (size_t i = 0; i < s->n_runs; i++)
		print_stack(s->run[i].run.processes, &s->run[i].four, most);
	for (size_t i = 0; i < s->n_at; i++)
		print_stack(s->at[i], &s->prediction[i].four, most);
}

/* Prints number and size of messages of all runs. */
static void print_messages(const struct scale *s)
{
	cli_heading("%9s%16s%12s%10s", "Processes", "Messages each",
		    "Mean size", "In MPI");
	for (size_t i = 0; i < s->n_runs; i++) {
		const struct np_run *r = &s->run[i].run;

		printf(r->messages < 1e6 ? "%9.0f%16.6g" : "%9.0f%16.0f",
		       r->processes, r->messages);
		cli_print_number(size_of, r->mean_bytes, 12);
		cli_print_number(cli_percent, r->mpi_sec / r->app_sec, 10);
		putchar('\n');
	}
}

/* "4.2 %", as format_error() without the sign. */
static const char *format_mean_error(double mean)
{
	return cli_text(mean < 1e5 ? "%.1f %%" : "%.3g %%", 100 * mean);
}

/* Prints the mean errors of the model and of the baselines. */
static void print_mean_errors(const struct scale *s)
{
	size_t n;

	printf("%19s", "mean |error|");
	for (int b = MODEL; b < N_BASELINES; b++) {
		double mean = mean_error(s, b, &n);

		cli_print_right(stdout, n ? format_mean_error(mean) : "-",
				b == MODEL ? 34 : 9);
	}
	putchar('\n');
}

/* Prints an interval, or "-" if its low end is NaN. */
static void print_interval(double low_sec, double high_sec, int width)
{
	cli_print_right(stdout,
			isnan(low_sec) ? "-" : cli_sec_range(low_sec, high_sec),
			width);
}

/* Prints each run as predicted by those of other sizes. */
static void print_cross_validation(const struct scale *s)
{
	cli_heading("%9s%9s%10s%17s%8s%9s%9s%9s", "Processes", "Measured",
		    "Predicted", "90 % interval", "Error", "Nearest", "Ideal",
		    "Amdahl");
	for (size_t i = 0; i < s->n_runs; i++) {
		const struct scale_run *r = &s->run[i];
		double wall_sec = r->others.four.wall_sec;

		printf("%9.0f", r->run.processes);
		cli_print_sec(r->run.app_sec, 9);
		cli_print_sec(wall_sec, 10);
		print_interval(isnan(wall_sec) ? NAN : r->others.low_sec,
			       r->others.high_sec, 17);
		cli_print_number(format_error, error_of(r, MODEL), 8);
		for (int b = 0; b < N_BASELINES; b++)
			cli_print_number(format_error, error_of(r, b), 9);
		putchar('\n');
	}
	print_mean_errors(s);
	puts("Each run is predicted from runs of other sizes only; for the "
	     "first and the last\nthis is an extrapolation. The last three "
	     "columns are errors without a model.");
}

/* Prints the predictions that --at asks for. */
static void print_predictions(const struct scale *s)
{
	cli_heading("%9s%10s%12s%10s%10s%10s%18s", "Processes", "Switch",
		    "Contention", "Active", "Compute", "Predicted",
		    "90 % interval");
	for (size_t i = 0; i < s->n_at; i++) {
		const struct np_scaled_run *a = &s->prediction[i];

		print_four(s->at[i], &a->four);
		print_interval(a->low_sec, a->high_sec, 18);
		putchar('\n');
		if (a->flags)
			printf("%9s %s\n", "", format_flags(a->flags));
	}
}

/* Prints the remarks about the reports. */
static void print_notes(const struct scale *s)
{
	bool first = true;

	for (size_t i = 0; i < s->n_runs; i++)
		for (unsigned n = 1; n <= NP_MPIP_NO_VERSION; n <<= 1) {
			if (!(s->run[i].report.notes & n))
				continue;
			if (first)
				putchar('\n');
			cli_label(first ? "Note" : "", "%.512s: %s",
				  s->run[i].path,
				  np_mpip_note_text((enum np_mpip_note)n));
			first = false;
		}
}

/* Prints the whole report as text. */
static int print_text(const struct scale *s)
{
	print_summary(s);
	print_messages(s);
	print_components(s);
	if (s->n_at)
		print_predictions(s);
	print_stacks(s);
	if (!*s->why)
		print_cross_validation(s);
	else
		printf("\nNo predictions: %s.\n", s->why);
	print_notes(s);
	return CLI_DONE;
}

/* Adds the components of a run to the JSON output. */
static void put_four(json_object *in, const struct np_four *f)
{
	cli_put_computed(in, "switch_sec", f->switch_sec);
	cli_put_computed(in, "contention_sec", f->contention_sec);
	cli_put_computed(in, "active_sec", f->active_sec);
	cli_put_computed(in, "compute_sec", f->compute_sec);
	cli_put_computed(in, "sum_sec", f->wall_sec);
}

/* Adds a prediction with its interval to the JSON output. */
static void put_predicted(json_object *in, const struct np_scaled_run *p)
{
	cli_put_computed(in, "predicted_sec", p->four.wall_sec);
	cli_put_computed(in, "low_sec", p->low_sec);
	cli_put_computed(in, "high_sec", p->high_sec);
	cli_put_text(in, "flags", format_flags(p->flags));
}

/* Adds the remarks about a report to the JSON output. */
static void put_notes(json_object *in, unsigned notes)
{
	json_object *list = cli_put_array(in, "notes");

	for (unsigned n = 1; n <= NP_MPIP_NO_VERSION; n <<= 1)
		if (notes & n)
			cli_append_text(
				list, np_mpip_note_text((enum np_mpip_note)n));
}

/* Adds a run with its prediction by the others to the JSON output. */
static void put_run(json_object *list, const struct scale *s,
		    const struct scale_run *r)
{
	json_object *j = cli_append_object(list), *other;

	cli_put_text(j, "file", r->path);
	cli_put_text(j, "program", r->report.program);
	cli_put_text(j, "mpip_version", r->report.version);
	cli_put_count(j, "processes", r->report.n_tasks);
	cli_put_real(j, "measured_sec", r->run.app_sec);
	cli_put_real(j, "slowest_sec", r->report.max_app_sec);
	cli_put_real(j, "mpi_sec", r->run.mpi_sec);
	cli_put_real(j, "messages", r->run.messages);
	cli_put_real(j, "mean_bytes", r->run.mean_bytes);
	put_four(j, &r->four);
	put_notes(j, r->report.notes);
	if (*s->why)
		return;
	other = cli_put_object(j, "from_other_sizes");
	if (!isnan(r->others.four.wall_sec))
		put_predicted(other, &r->others);
	for (int b = 0; b < N_BASELINES; b++)
		cli_put_computed(other, baselines[b], r->baseline_sec[b]);
}

/* Adds the mean errors to the JSON output. */
static void put_errors(json_object *in, const struct scale *s)
{
	json_object *j = cli_put_object(in, "mean_error");

	for (int b = MODEL; b < N_BASELINES; b++) {
		size_t n;
		double mean = mean_error(s, b, &n);

		cli_put_computed(j, b == MODEL ? "model" : baselines[b],
				 n ? mean : NAN);
	}
}

static const struct cli_table table = {
	"Kind|Processes|Measured|Switch|Contention|Active|Compute|Sum|Predicted|"
	"Low|High|Flags|Nearest|Ideal|Amdahl|File",
	{
		{ "runs",
		  "=run|processes|measured_sec|switch_sec|"
		  "contention_sec|active_sec|compute_sec|sum_sec|"
		  "from_other_sizes/predicted_sec|"
		  "from_other_sizes/low_sec|from_other_sizes/high_sec|"
		  "from_other_sizes/flags|from_other_sizes/nearest|"
		  "from_other_sizes/ideal|from_other_sizes/amdahl|file" },
		{ "at", "=at|processes||switch_sec|contention_sec|active_sec|"
			"compute_sec|sum_sec|predicted_sec|low_sec|high_sec|"
			"flags||||" },
	},
};

/* Prints everything as JSON or as a table. */
static int print_data(const struct scale *s, enum cli_format format)
{
	json_object *j = json_object_new_object(), *list;

	cli_put_computed(j, "bandwidth_bytes_per_sec", s->link.bytes_per_sec);
	cli_put_computed(j, "latency_sec", s->link.latency_sec);
	cli_put_computed(j, "speed", s->speed);
	cli_put_text(j, "variant", variants[s->variant]);
	list = cli_put_array(j, "runs");
	for (size_t i = 0; i < s->n_runs; i++)
		put_run(list, s, &s->run[i]);
	list = cli_put_array(j, "at");
	for (size_t i = 0; i < s->n_at; i++) {
		json_object *at = cli_append_object(list);

		cli_put_computed(at, "processes", s->at[i]);
		put_four(at, &s->prediction[i].four);
		put_predicted(at, &s->prediction[i]);
	}
	if (*s->why)
		cli_put_text(j, "why", s->why);
	else
		put_errors(j, s);
	return cli_print_output(format, "scale", j, &table);
}

/*
 * ---- netprof scale --plot ----
 *
 * Stacked components of each run next to those predicted from runs of other
 * sizes, and all run times over the number of processes.
 */

enum { PARTS = 4 }; /* components of a run */

#define WIDE 10 /* ratio from which an axis is logarithmic */

/* A measured run, or a predicted one with an interval. */
struct bar {
	double processes;
	const struct np_four *four;
	const struct np_scaled_run *prediction; /* NULL: measured */
	double measured_sec;			/* NaN: predicted */
};

/* Collects the runs, each followed by its prediction, then other sizes. */
static size_t collect_bars(const struct scale *s, struct bar *bar)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n_runs; i++) {
		const struct scale_run *r = &s->run[i];
		struct bar b = { r->run.processes, &r->four, NULL,
				 r->run.app_sec };

		bar[n++] = b;
		if (isnan(r->others.four.wall_sec))
			continue;
		b.four = &r->others.four;
		b.prediction = &r->others;
		b.measured_sec = NAN;
		bar[n++] = b;
	}
	for (size_t i = 0; i < s->n_at; i++)
		bar[n++] = (struct bar){ s->at[i], &s->prediction[i].four,
					 &s->prediction[i], NAN };
	return n;
}

/* Sum of the first n components, from the bottom of the bar. */
static double sum_components(const struct np_four *f, int n)
{
	const double part[PARTS] = { f->compute_sec, f->active_sec,
				     f->contention_sec, f->switch_sec };
	double all = 0;

	for (int i = 0; i < n; i++)
		all += part[i];
	return all;
}

/* Adds the panel of stacked components. */
static void add_stacks(struct np_figure *f, const struct bar *bar, size_t n)
{
	static const char *const name[PARTS] = { "compute", "active in MPI",
						 "contention", "switch" };
	struct np_panel *p = cli_figure_add_panel(f, "Where the time goes",
						  NP_AXIS_NAMES, "Processes",
						  NP_AXIS_LINEAR,
						  "Time of a process (s)");
	struct np_shape *s;

	p->y.lo = 0;
	for (size_t i = 0; i < n; i++) {
		char text[CLI_NUMBER_LEN];

		snprintf(text, sizeof(text), "%.0f%s", bar[i].processes,
			 bar[i].prediction ? "*" : "");
		np_figure_add_name(f, &p->x, text);
	}
	for (int part = 0; part < PARTS; part++) {
		s = np_figure_add_shape(f, p, NP_SHAPE_BARS, (unsigned)part,
					name[part]);
		for (size_t i = 0; i < n; i++)
			np_figure_add_datum(f, s, (double)i, NAN,
					    sum_components(bar[i].four, part),
					    sum_components(bar[i].four,
							   part + 1));
	}
	s = np_figure_add_shape(f, p, NP_SHAPE_POINTS, 6,
				"predicted, 90 % interval");
	for (size_t i = 0; i < n; i++)
		if (bar[i].prediction)
			np_figure_add_datum(f, s, (double)i,
					    bar[i].four->wall_sec,
					    bar[i].prediction->low_sec,
					    bar[i].prediction->high_sec);
}

/* Adds measured times as a line, or predicted ones as points with intervals. */
static void add_points(struct np_figure *f, struct np_panel *p,
		       const struct bar *bar, size_t n, bool predicted,
		       const char *name)
{
	struct np_shape *s = np_figure_add_shape(
		f, p, predicted ? NP_SHAPE_POINTS : NP_SHAPE_LINE,
		predicted ? 6 : 0, name);

	for (size_t i = 0; i < n; i++) {
		const struct bar *b = &bar[i];

		if (!b->prediction == !predicted)
			np_figure_add_datum(
				f, s, b->processes,
				predicted ? b->four->wall_sec : b->measured_sec,
				predicted ? b->prediction->low_sec : NAN,
				predicted ? b->prediction->high_sec : NAN);
	}
}

/* Adds the panel of run times over the number of processes. */
static void add_times(struct np_figure *f, const struct bar *bar, size_t n)
{
	struct np_panel *p = np_figure_add_panel(f, "Measured and predicted");
	double few = INFINITY, many = 0, low = INFINITY, high = 0;

	for (size_t i = 0; i < n; i++) {
		double sec = bar[i].prediction ? bar[i].four->wall_sec :
						 bar[i].measured_sec;

		few = fmin(few, bar[i].processes);
		many = fmax(many, bar[i].processes);
		low = fmin(low, sec);
		high = fmax(high, sec);
	}
	np_figure_set_axis(f, &p->x,
			   many >= WIDE * few ? NP_AXIS_LOG : NP_AXIS_LINEAR,
			   "Processes");
	np_figure_set_axis(f, &p->y,
			   high >= WIDE * low && low > 0 ? NP_AXIS_LOG :
							   NP_AXIS_LINEAR,
			   "Wall-clock time (s)");
	/* Margins, so that no point is on the frame. */
	p->x.lo = few / 1.1;
	p->x.hi = many * 1.1;
	p->y.lo = p->y.kind == NP_AXIS_LOG ? low / 1.3 : 0;
	p->y.hi = high * 1.15;
	add_points(f, p, bar, n, false, "measured");
	add_points(f, p, bar, n, true, "predicted, 90 % interval");
}

/* Draws components and run times, and saves the figure. */
static int draw_figure(const struct scale *s, const char *path)
{
	struct np_figure *f = cli_figure_new(title(s));
	struct bar *bar = cli_calloc(2 * s->n_runs + s->n_at, sizeof(*bar));
	size_t n = collect_bars(s, bar);

	add_stacks(f, bar, n);
	add_times(f, bar, n);
	np_figure_set_caption(
		f, "n = %zu run%s; link of %s and %s; variant %s.%s%s",
		s->n_runs, cli_plural_s(s->n_runs),
		cli_setting_rate(s->link.bytes_per_sec),
		cli_setting_sec(s->link.latency_sec), variants[s->variant],
		n > s->n_runs ? " *: predicted from runs of other sizes." : "",
		speed_note(s));
	free(bar);
	return cli_figure_save_and_free(f, path);
}

/* ---- The command ---- */

/* Defaults: about those of 10 Gbit Ethernet. */
#define BYTES_PER_SEC 1.1e9
#define LATENCY_SEC 10e-6

/* Parses --bandwidth. */
static int take_bandwidth(char *text, void *own, struct np_err *err)
{
	struct scale *s = own;
	uint64_t bytes;

	if (np_bytes_parse(text, &bytes) || !bytes)
		return np_errf(err, -EINVAL,
			       "--bandwidth=%.64s: expected bytes per second, "
			       "such as 1200000000 or 1G",
			       text);
	s->link.bytes_per_sec = (double)bytes;
	s->bandwidth_given = true;
	return 0;
}

/* Parses --latency. */
static int take_latency(char *text, void *own, struct np_err *err)
{
	struct scale *s = own;

	if (np_duration_parse(text, &s->link.latency_sec))
		return np_errf(err, -EINVAL,
			       "--latency=%.64s: expected a time, such as 5us",
			       text);
	s->latency_given = true;
	return 0;
}

/* Parses --variant. */
static int take_variant(char *text, void *own, struct np_err *err)
{
	struct scale *s = own;

	for (size_t i = 0; i < NP_ARRAY_SIZE(variants); i++)
		if (!strcmp(text, variants[i])) {
			s->variant = (enum np_four_variant)i;
			return 0;
		}
	return np_errf(err, -EINVAL,
		       "--variant=%.64s: expected published or consistent",
		       text);
}

/* Parses --speed. */
static int take_speed(char *text, void *own, struct np_err *err)
{
	struct scale *s = own;
	const char *end = np_decimal_parse(text, &s->speed);

	if (!end || *end || !(s->speed >= 0.001 && s->speed <= 1000))
		return np_errf(err, -EINVAL,
			       "--speed=%.64s: expected how many times as fast "
			       "processors are, 0.001 to 1000",
			       text);
	return 0;
}

/* Parses numbers of processes separated by commas. */
static int take_at(char *text, void *own, struct np_err *err)
{
	struct scale *s = own;
	const char *p = text;

	for (;;) {
		char *end;
		unsigned long n =
			*p >= '0' && *p <= '9' ? strtoul(p, &end, 10) : 0;

		if (!n || n > NP_FOUR_MAX_PROCESSES || (*end && *end != ','))
			return np_errf(
				err, -EINVAL,
				"--at=%.64s: expected numbers of processes "
				"from 1 to %d, separated by commas",
				text, NP_FOUR_MAX_PROCESSES);
		if (s->n_at == MAX_AT)
			return np_errf(err, -EINVAL,
				       "--at: more than %d numbers", MAX_AT);
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

/* Parses the command line. */
static int parse(const struct cli_cmd *self, int argc, char **argv,
		 struct scale *s, struct cli_options *o)
{
	int rc = cli_options_parse(self, argc, argv, s, o);

	if (rc < 0 && s->speed != 1 && !s->n_at)
		return cli_usage(self, "--speed has no effect without --at");
	if (rc < 0 && o->n_apps > NP_SCALING_MAX_RUNS)
		return cli_usage(self, "%zu reports, expected at most %d",
				 o->n_apps, NP_SCALING_MAX_RUNS);
	return rc;
}

/* Reads a report or a trace, and computes its components. */
static int read_run(const char *path, const struct scale *s,
		    struct scale_run *r)
{
	struct np_err err = NP_ERR_INIT;
	const struct np_mpip *m = &r->report;
	double n;

	r->path = path;
	if (np_trace_is(path) ? np_mpip_trace(path, &r->report, &err) :
				np_mpip_load(path, &r->report, &err))
		return cli_fail("%s", err.text);
	n = m->n_tasks;
	r->run =
		(struct np_run){ n, m->app_sec / n, m->mpi_sec / n,
				 m->messages / n,
				 m->messages > 0 ? m->bytes / m->messages : 0 };
	if (!(r->run.app_sec > 0))
		return cli_fail("%s: all tasks took 0 s", path);
	if (np_four(&r->run, &s->link, s->variant, &r->four, &err))
		return cli_fail("%s: %s", path, err.text);
	return CLI_DONE;
}

/* Ascending number of processes, for qsort(). */
static int by_processes(const void *a, const void *b)
{
	const struct scale_run *x = a, *y = b;

	return (x->run.processes > y->run.processes) -
	       (x->run.processes < y->run.processes);
}

/* Copies the runs, except those with this number of processes (NaN: all). */
static size_t copy_others(const struct scale *s, double processes)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n_runs; i++) {
		if (s->run[i].run.processes == processes)
			continue;
		s->fit_run[n] = s->run[i].run;
		s->fit_four[n++] = s->run[i].four;
	}
	return n;
}

/* Cross-validation: predicts each run from those of other sizes. */
static void cross_validate(struct scale *s)
{
	for (size_t i = 0; i < s->n_runs; i++) {
		struct scale_run *r = &s->run[i];
		size_t n = copy_others(s, r->run.processes);
		struct np_scaling *fit = NULL;
		int rc = np_scaling_fit(s->fit_run, s->fit_four, n, &s->link,
					&fit, NULL);

		r->others.four.wall_sec = NAN;
		if (!rc)
			rc = np_scaling_at(fit, r->run.processes, 1, &r->others,
					   NULL);
		np_scaling_free(fit);
		cli_check_memory(rc);
		for (int b = 0; b < N_BASELINES; b++)
			r->baseline_sec[b] =
				n ? np_scaling_baseline(
					    (enum np_scaling_baseline)b,
					    s->fit_run, n, r->run.processes) :
				    NAN;
	}
}

/*
 * Fits the runs and predicts other sizes. Without enough process counts there
 * are no predictions, which is an error only if --at asks for some.
 */
static int predict(struct scale *s)
{
	size_t n = copy_others(s, NAN);
	struct np_err err = NP_ERR_INIT;
	struct np_scaling *fit = NULL;
	int rc = np_scaling_fit(s->fit_run, s->fit_four, n, &s->link, &fit,
				&err);

	if (rc == -EDOM) {
		strcpy(s->why, err.text);
		return s->n_at ? cli_fail("--at: %s", s->why) : CLI_DONE;
	}
	for (size_t i = 0; !rc && i < s->n_at; i++)
		rc = np_scaling_at(fit, s->at[i], s->speed, &s->prediction[i],
				   &err);
	np_scaling_free(fit);
	if (rc)
		return cli_fail("%s", err.text);
	cross_validate(s);
	return CLI_DONE;
}

/* Warns if the runs are of different programs, which are fitted as one. */
static void warn_of_mixture(const struct scale *s)
{
	const struct scale_run *first = NULL;

	for (size_t i = 0; i < s->n_runs; i++) {
		const struct scale_run *r = &s->run[i];

		if (!*r->report.program)
			continue;
		if (first && strcmp(first->report.program, r->report.program)) {
			fprintf(stderr,
				"netprof: warning: runs of different programs "
				"are fitted as one: %s of %s, %s of %s\n",
				first->report.program, first->path,
				r->report.program, r->path);
			return;
		}
		first = r;
	}
}

static bool is_same_run(const struct np_mpip *a, const struct np_mpip *b)
{
	return a->n_tasks == b->n_tasks && a->app_sec == b->app_sec &&
	       a->mpi_sec == b->mpi_sec && a->max_app_sec == b->max_app_sec &&
	       a->messages == b->messages && a->bytes == b->bytes;
}

/* Warns of a report that was given twice, perhaps by another name. */
static void warn_of_repetition(const struct scale *s)
{
	for (size_t i = 0; i < s->n_runs; i++)
		for (size_t k = 0; k < i; k++) {
			if (!is_same_run(&s->run[k].report, &s->run[i].report))
				continue;
			fprintf(stderr,
				"netprof: warning: the same run counts twice: "
				"%s and %s\n",
				s->run[k].path, s->run[i].path);
			return;
		}
}

/* Prints the remarks about the reports where the output has no place for them. */
static void warn_of_notes(const struct scale *s)
{
	for (size_t i = 0; i < s->n_runs; i++)
		for (unsigned n = 1; n <= NP_MPIP_NO_VERSION; n <<= 1)
			if (s->run[i].report.notes & n)
				fprintf(stderr, "netprof: warning: %s: %s\n",
					s->run[i].path,
					np_mpip_note_text(
						(enum np_mpip_note)n));
}

/* Reads all runs, sorts them, and predicts. */
static int read_and_predict(struct scale *s, char **paths)
{
	int rc = CLI_DONE;

	for (size_t i = 0; !rc && i < s->n_runs; i++)
		rc = read_run(paths[i], s, &s->run[i]);
	if (rc)
		return rc;
	qsort(s->run, s->n_runs, sizeof(*s->run), by_processes);
	rc = predict(s);
	if (!rc) {
		warn_of_mixture(s);
		warn_of_repetition(s);
	}
	return rc;
}

/* Allocates, computes, prints, and frees everything. */
static int run_scale(const struct cli_cmd *self, int argc, char **argv)
{
	struct scale s = { .link = { BYTES_PER_SEC, LATENCY_SEC }, .speed = 1 };
	struct cli_options o;
	int rc = parse(self, argc, argv, &s, &o);

	if (rc >= 0)
		return rc;
	s.n_runs = o.n_apps;
	s.run = cli_calloc(s.n_runs, sizeof(*s.run));
	s.prediction = cli_calloc(s.n_at, sizeof(*s.prediction));
	s.fit_run = cli_calloc(s.n_runs, sizeof(*s.fit_run));
	s.fit_four = cli_calloc(s.n_runs, sizeof(*s.fit_four));
	rc = read_and_predict(&s, o.apps);
	if (!rc && (o.plot || o.format == CLI_PARSABLE))
		warn_of_notes(&s);
	if (!rc)
		rc = o.plot   ? draw_figure(&s, o.plot) :
		     o.format ? print_data(&s, o.format) :
				print_text(&s);
	free(s.run);
	free(s.prediction);
	free(s.fit_run);
	free(s.fit_four);
	return rc;
}

const struct cli_cmd cmd_scale = {
	.name = "scale",
	.args = "[OPTION]... REPORT|TRACE...",
	.help = "how a program scales, from traces or mpiP reports",
	.text = "Divides the time of each run into switch, contention, active in MPI and\n"
		"compute, and predicts runs of other sizes from runs of three or more sizes.\n"
		"TRACE is the directory of a trace (netprof help trace), REPORT a report of\n"
		"mpiP 3.x, best made with its option -e for more digits.\n\n"
		"  --bandwidth=BYTES  bytes per second of a link\n"
		"  --latency=TIME     latency of a message, such as 5us\n"
		"  --variant=V        published (default): the switch adds to the time in MPI;\n"
		"                     consistent: it is part of it\n"
		"  --at=P,...         numbers of processes to predict\n"
		"  --speed=F          predict for processors that are F times as fast\n"
		"  --plot=FILE        draw a figure instead: .svg, .png or .pdf\n"
		"  --json, --parsable output for programs; --parsable (-P) as in sacct",
	.examples = "  netprof scale solver.*.mpiP\n"
		    "  netprof scale --parsable --at=64,128 solver.*.mpiP\n",
	.takes = CLI_TAKES_FORMAT | CLI_TAKES_PLOT,
	.own = options,
	.required_arg = "a report of mpiP or a trace",
	.max_args = CLI_ANY,
	.run = run_scale,
};
