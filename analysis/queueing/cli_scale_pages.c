/* Reports of netprof scale: text, JSON and tables. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli_json_put.h"
#include "cli_print.h"
#include "cli_scale.h"
#include "cli_text.h"

#define BAR 40
#define MODEL (-1) /* in place of a baseline */

static const char *const baselines[CLI_SCALE_BASELINES] = {
	[NP_BASELINE_NEAREST] = "nearest",
	[NP_BASELINE_IDEAL] = "ideal",
	[NP_BASELINE_AMDAHL] = "amdahl",
};

/* "beyond,negative", or "". */
static const char *format_flags(unsigned flags, char *buf, size_t len)
{
	static const struct {
		unsigned flag;
		const char *name;
	} names[] = {
		{ NP_SCALING_BEYOND, "beyond" },
		{ NP_SCALING_NEGATIVE, "negative" },
		{ NP_SCALING_NO_INTERVAL, "no-interval" },
	};

	*buf = '\0';
	for (size_t i = 0; i < NP_ARRAY_SIZE(names); i++)
		if (flags & names[i].flag)
			cli_add(buf, len, "%s%s", *buf ? "," : "",
				names[i].name);
	return buf;
}

/* predicted / measured - 1 of a run; NaN without a prediction. */
static double error_of(const struct cli_scale_run *r, int baseline)
{
	double sec = baseline == MODEL ? r->others.four.wall_sec :
						   r->baseline_sec[baseline];

	return sec / r->run.app_sec - 1;
}

/* Mean of |predicted / measured - 1| over runs; *n: number of runs. */
static double mean_error(const struct cli_scale *s, int baseline, size_t *n)
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
static const char *format_error(double miss, char buf[CLI_NUMBER])
{
	double p = 100 * miss, size = fabs(p);

	snprintf(buf, CLI_NUMBER, "%+.*f %%", size < 99.95 ? 1 : 0,
		 size < 0.05 ? 0 : p);
	return buf;
}

static const char *size_of(double bytes, char buf[CLI_NUMBER])
{
	return cli_bytes((uint64_t)(bytes + 0.5), buf);
}

static void print_summary(const struct cli_scale *s)
{
	char latency[CLI_NUMBER], rate[CLI_NUMBER], speed[64] = "";
	const struct cli_scale_run *first = &s->run[0];

	if (s->speed != 1)
		snprintf(speed, sizeof(speed), " Other sizes: processors %g "
			 "times as fast.", s->speed);
	cli_say(CLI_PLAIN, 0, "%s: %zu report%s; link of %s and %s%s; "
		"variant %s.%s",
		*first->report.program ? first->report.program : first->path,
		s->n_runs, s->n_runs == 1 ? "" : "s",
		cli_setting_rate(s->link.bytes_per_sec, rate),
		cli_setting_sec(s->link.latency_sec, latency),
		s->bandwidth_given && s->latency_given ? "" :
		" (taken where --bandwidth or --latency does not say)",
		s->variant == NP_FOUR_CONSISTENT ? "consistent" : "published",
		speed);
}

static void print_four(double processes, const struct np_four *f)
{
	printf("%9.0f", processes);
	cli_right_sec(f->switch_sec, 10);
	cli_right_sec(f->contention_sec, 12);
	cli_right_sec(f->active_sec, 10);
	cli_right_sec(f->compute_sec, 10);
	cli_right_sec(f->wall_sec, 10);
}

static void print_components(const struct cli_scale *s)
{
	cli_head("%9s%10s%12s%10s%10s%10s%10s%8s", "Processes", "Switch",
		 "Contention", "Active", "Compute", "Sum", "Measured",
		 "Error");
	for (size_t i = 0; i < s->n_runs; i++) {
		const struct cli_scale_run *r = &s->run[i];

		print_four(r->run.processes, &r->four);
		cli_right_sec(r->run.app_sec, 10);
		cli_right_as(format_error,
			     r->four.wall_sec / r->run.app_sec - 1, 8);
		putchar('\n');
	}
}

static const char *const light[] = { "s", "c", "a", "=" };
static const char *const heavy[] = { "\u2591", "\u2592", "\u2593", "\u2588" };

/* Prints a stacked bar of the components, scaled to the longest run. */
static void print_stack(double processes, const struct np_four *f, double most)
{
	const double part[] = { f->switch_sec, f->contention_sec,
				f->active_sec, f->compute_sec };
	double sum = 0;
	int column = 0;

	printf("%9.0f ", processes);
	for (int i = 0; i < 4; i++) {
		sum += part[i];
		for (int end = (int)(BAR * sum / most + 0.5); column < end;
		     column++)
			fputs(cli_utf8() ? heavy[i] : light[i], stdout);
	}
	cli_right_sec(f->wall_sec, BAR - column + 10);
	putchar('\n');
}

static void print_stacks(const struct cli_scale *s)
{
	const char *const *mark = cli_utf8() ? heavy : light;
	double most = 0;

	for (size_t i = 0; i < s->n_runs; i++)
		most = fmax(most, s->run[i].four.wall_sec);
	for (size_t i = 0; i < s->n_at; i++)
		most = fmax(most, s->answer[i].four.wall_sec);
	cli_head("Processes %s switch  %s contention  %s active  %s compute",
		 mark[0], mark[1], mark[2], mark[3]);
	for (size_t i = 0; i < s->n_runs; i++)
		print_stack(s->run[i].run.processes, &s->run[i].four, most);
	for (size_t i = 0; i < s->n_at; i++)
		print_stack(s->at[i], &s->answer[i].four, most);
}

static void print_messages(const struct cli_scale *s)
{
	cli_head("%9s%16s%12s%10s", "Processes", "Messages each", "Mean size",
		 "In MPI");
	for (size_t i = 0; i < s->n_runs; i++) {
		const struct np_run *r = &s->run[i].run;

		printf("%9.0f%16.6g", r->processes, r->messages);
		cli_right_as(size_of, r->mean_bytes, 12);
		cli_right_as(cli_percent, r->mpi_sec / r->app_sec, 10);
		putchar('\n');
	}
}

static void print_mean_errors(const struct cli_scale *s)
{
	size_t n;

	printf("%19s", "mean |error|");
	for (int b = MODEL; b < CLI_SCALE_BASELINES; b++) {
		double mean = mean_error(s, b, &n);
		char text[CLI_NUMBER] = "-";

		if (n)
			snprintf(text, sizeof(text), "%.1f %%", 100 * mean);
		cli_right(stdout, text, b == MODEL ? 34 : 9);
	}
	putchar('\n');
}

/* Prints each run as predicted by those of other sizes. */
static void print_cross_validation(const struct cli_scale *s)
{
	cli_head("%9s%10s%10s%16s%8s%9s%9s%9s", "Processes", "Measured",
		 "Predicted", "90 % interval", "Error", "Nearest", "Ideal",
		 "Amdahl");
	for (size_t i = 0; i < s->n_runs; i++) {
		const struct cli_scale_run *r = &s->run[i];
		double wall_sec = r->others.four.wall_sec;

		printf("%9.0f", r->run.processes);
		cli_right_sec(r->run.app_sec, 10);
		cli_right_sec(wall_sec, 10);
		if (isnan(wall_sec) || isnan(r->others.low_sec)) {
			cli_right(stdout, "-", 16);
		} else {
			cli_right_sec(r->others.low_sec, 8);
			cli_right_sec(r->others.high_sec, 8);
		}
		cli_right_as(format_error, error_of(r, MODEL), 8);
		for (int b = 0; b < CLI_SCALE_BASELINES; b++)
			cli_right_as(format_error, error_of(r, b), 9);
		putchar('\n');
	}
	print_mean_errors(s);
	puts("Each run is predicted from those of other sizes alone, the first "
	     "and the last\nbeyond these; the last three columns are errors "
	     "without any model.");
}

static void print_predictions(const struct cli_scale *s)
{
	cli_head("%9s%10s%12s%10s%10s%10s%18s", "Processes", "Switch",
		 "Contention", "Active", "Compute", "Predicted",
		 "90 % interval");
	for (size_t i = 0; i < s->n_at; i++) {
		const struct np_scaled_run *a = &s->answer[i];
		char flags[64];

		print_four(s->at[i], &a->four);
		if (isnan(a->low_sec)) {
			cli_right(stdout, "-", 18);
		} else {
			cli_right_sec(a->low_sec, 9);
			cli_right_sec(a->high_sec, 9);
		}
		putchar('\n');
		if (a->flags)
			printf("%9s %s\n", "", format_flags(a->flags, flags,
							      sizeof(flags)));
	}
}

static void print_notes(const struct cli_scale *s)
{
	bool first = true;

	for (size_t i = 0; i < s->n_runs; i++)
		for (unsigned n = 1; n <= NP_MPIP_NO_VERSION; n <<= 1) {
			if (!(s->run[i].report.notes & n))
				continue;
			if (first)
				putchar('\n');
			cli_labelled(stdout, first ? "Note" : "", "%.512s: %s",
				     s->run[i].path,
				     np_mpip_note_words((enum np_mpip_note)n));
			first = false;
		}
}

int cli_scale_text(const struct cli_scale *s)
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

static void put_four(json_object *in, const struct np_four *f)
{
	cli_put_computed(in, "switch_sec", f->switch_sec);
	cli_put_computed(in, "contention_sec", f->contention_sec);
	cli_put_computed(in, "active_sec", f->active_sec);
	cli_put_computed(in, "compute_sec", f->compute_sec);
	cli_put_computed(in, "sum_sec", f->wall_sec);
}

static void put_predicted(json_object *in, const struct np_scaled_run *p)
{
	char flags[64];

	cli_put_computed(in, "predicted_sec", p->four.wall_sec);
	cli_put_computed(in, "low_sec", p->low_sec);
	cli_put_computed(in, "high_sec", p->high_sec);
	cli_put_text(in, "flags", format_flags(p->flags, flags,
						  sizeof(flags)));
}

static void put_notes(json_object *in, unsigned notes)
{
	json_object *list = cli_put_array(in, "notes");

	for (unsigned n = 1; n <= NP_MPIP_NO_VERSION; n <<= 1)
		if (notes & n)
			cli_append_text(list, np_mpip_note_words(
						      (enum np_mpip_note)n));
}

static void put_run(json_object *list, const struct cli_scale *s,
		    const struct cli_scale_run *r)
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
	for (int b = 0; b < CLI_SCALE_BASELINES; b++)
		cli_put_computed(other, baselines[b],
			     r->baseline_sec[b]);
}

static void put_errors(json_object *in, const struct cli_scale *s)
{
	json_object *j = cli_put_object(in, "mean_error");

	for (int b = MODEL; b < CLI_SCALE_BASELINES; b++) {
		size_t n;
		double mean = mean_error(s, b, &n);

		cli_put_computed(j, b == MODEL ? "model" :
			     baselines[b], n ? mean : NAN);
	}
}

static const struct cli_table table = {
	"Kind|Processes|Measured|Switch|Contention|Active|Compute|Sum|Predicted|"
	"Low|High|Flags|Nearest|Ideal|Amdahl|File",
	{
		{ "runs", "=run|processes|measured_sec|switch_sec|"
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

int cli_scale_data(const struct cli_scale *s, enum cli_format format)
{
	json_object *j = json_object_new_object(), *list;

	cli_put_computed(j, "bandwidth_bytes_per_sec", s->link.bytes_per_sec);
	cli_put_computed(j, "latency_sec", s->link.latency_sec);
	cli_put_computed(j, "speed", s->speed);
	cli_put_text(j, "variant", s->variant == NP_FOUR_CONSISTENT ?
		     "consistent" : "published");
	list = cli_put_array(j, "runs");
	for (size_t i = 0; i < s->n_runs; i++)
		put_run(list, s, &s->run[i]);
	list = cli_put_array(j, "at");
	for (size_t i = 0; i < s->n_at; i++) {
		json_object *at = cli_append_object(list);

		cli_put_computed(at, "processes", s->at[i]);
		put_four(at, &s->answer[i].four);
		put_predicted(at, &s->answer[i]);
	}
	if (*s->why)
		cli_put_text(j, "why", s->why);
	else
		put_errors(j, s);
	return cli_print_page(format, "scale", j, &table);
}
