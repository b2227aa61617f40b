/* The page of netprof scale, and the same as fields. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli_scale.h"
#include "cli_text.h"

#define BAR 40

static void right_sec(double sec, int width)
{
	char buf[CLI_NUMBER];

	cli_right(stdout, isnan(sec) ? "-" : cli_sec(sec, buf), width);
}

/* "+4.2 %": of errors small ones count. */
static void right_miss(double miss, int width)
{
	double p = 100 * miss, size = fabs(p);
	char buf[CLI_NUMBER] = "-";

	if (!isnan(miss))
		snprintf(buf, sizeof(buf), "%+.*f %%", size < 99.95 ? 1 : 0,
			 size < 0.05 ? 0 : p);
	cli_right(stdout, buf, width);
}

static const char *size_of(double bytes, char buf[CLI_NUMBER])
{
	return cli_bytes((uint64_t)(bytes + 0.5), buf);
}

static void say_what(const struct cli_scale *s)
{
	char latency[CLI_NUMBER], line[512];
	const struct cli_scale_run *first = &s->run[0];

	snprintf(line, sizeof(line), "%s: %zu report%s; link of %.4g MB/s and "
		 "%s%s; variant %s.",
		 *first->report.program ? first->report.program : first->path,
		 s->n_runs, s->n_runs == 1 ? "" : "s",
		 s->link.bytes_per_sec / 1e6,
		 cli_setting_sec(s->link.latency_sec, latency),
		 s->link_given ? "" : " (taken where --bandwidth or --latency "
				      "does not say)",
		 s->variant == NP_FOUR_CONSISTENT ? "consistent" : "published");
	cli_wrap(stdout, line, 0);
}

static void print_four(double processes, const struct np_four *f)
{
	printf("%9.0f", processes);
	right_sec(f->switch_sec, 10);
	right_sec(f->contention_sec, 12);
	right_sec(f->active_sec, 10);
	right_sec(f->compute_sec, 10);
	right_sec(f->wall_sec, 10);
}

static void print_components(const struct cli_scale *s)
{
	cli_head("%9s%10s%12s%10s%10s%10s%10s%8s", "Processes", "Switch",
		 "Contention", "Active", "Compute", "Sum", "Measured",
		 "Error");
	for (size_t i = 0; i < s->n_runs; i++) {
		const struct cli_scale_run *r = &s->run[i];

		print_four(r->run.processes, &r->four);
		right_sec(r->run.app_sec, 10);
		right_miss(r->four.wall_sec / r->run.app_sec - 1, 8);
		putchar('\n');
	}
}

static const char *const light[] = { "s", "c", "a", "=" };
static const char *const heavy[] = { "\u2591", "\u2592", "\u2593", "\u2588" };

/* The components, one behind the other, as shares of the longest. */
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
	right_sec(f->wall_sec, BAR - column + 10);
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
	char size[CLI_NUMBER];

	cli_head("%9s%16s%12s%10s", "Processes", "Messages each", "Mean size",
		 "In MPI");
	for (size_t i = 0; i < s->n_runs; i++) {
		const struct np_run *r = &s->run[i].run;
		char share[CLI_NUMBER];

		printf("%9.0f%16.6g", r->processes, r->messages);
		cli_right(stdout, size_of(r->mean_bytes, size), 12);
		cli_right(stdout, cli_percent(r->mpi_sec / r->app_sec, share),
			  10);
		putchar('\n');
	}
}

static void print_means(const struct cli_scale *s)
{
	size_t n;

	printf("%19s", "mean |error|");
	for (int b = CLI_SCALE_MODEL; b < CLI_SCALE_BASELINES; b++) {
		double mean = cli_scale_error(s, b, &n);
		char text[CLI_NUMBER] = "-";

		if (n)
			snprintf(text, sizeof(text), "%.1f %%", 100 * mean);
		cli_right(stdout, text, b == CLI_SCALE_MODEL ? 34 : 9);
	}
	putchar('\n');
}

/* Each run from those of other sizes. */
static void print_others(const struct cli_scale *s)
{
	cli_head("%9s%10s%10s%16s%8s%9s%9s%9s", "Processes", "Measured",
		 "Predicted", "90 % interval", "Error", "Nearest", "Ideal",
		 "Amdahl");
	for (size_t i = 0; i < s->n_runs; i++) {
		const struct cli_scale_run *r = &s->run[i];
		double wall_sec = r->others.four.wall_sec;

		printf("%9.0f", r->run.processes);
		right_sec(r->run.app_sec, 10);
		right_sec(wall_sec, 10);
		if (isnan(wall_sec) || isnan(r->others.low_sec)) {
			cli_right(stdout, "-", 16);
		} else {
			right_sec(r->others.low_sec, 8);
			right_sec(r->others.high_sec, 8);
		}
		right_miss(cli_scale_miss(r, CLI_SCALE_MODEL), 8);
		for (int b = 0; b < CLI_SCALE_BASELINES; b++)
			right_miss(cli_scale_miss(r, b), 9);
		putchar('\n');
	}
	print_means(s);
	puts("Each run is predicted from those of other sizes alone, the first "
	     "and the last\nbeyond these; the last three columns are errors "
	     "without any model.");
}

static void print_at(const struct cli_scale *s)
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
			right_sec(a->low_sec, 9);
			right_sec(a->high_sec, 9);
		}
		putchar('\n');
		if (a->flags)
			printf("%9s %s\n", "", cli_scale_flags(a->flags, flags,
							      sizeof(flags)));
	}
}

static void print_notes(const struct cli_scale *s)
{
	bool first = true;

	for (size_t i = 0; i < s->n_runs; i++)
		for (unsigned n = 1; n <= NP_MPIP_NO_VERSION; n <<= 1) {
			char line[1024];

			if (!(s->run[i].report.notes & n))
				continue;
			if (first)
				putchar('\n');
			snprintf(line, sizeof(line), "%.512s: %s",
				 s->run[i].path,
				 np_mpip_note_words((enum np_mpip_note)n));
			cli_labelled(stdout, first ? "Note" : "", line);
			first = false;
		}
}

int cli_scale_text(const struct cli_scale *s)
{
	say_what(s);
	print_messages(s);
	print_components(s);
	if (s->n_at)
		print_at(s);
	print_stacks(s);
	if (!*s->why)
		print_others(s);
	else
		printf("\nNo predictions: %s.\n", s->why);
	print_notes(s);
	return CLI_DONE;
}

static void field(double v)
{
	cli_field_real(v, 9, '|');
}

static void print_fields(const char *kind, double processes,
			 const struct np_four *f, double measured_sec,
			 const struct np_scaled_run *predicted)
{
	char flags[64];

	printf("%s|%.0f|", kind, processes);
	field(measured_sec);
	field(f->switch_sec);
	field(f->contention_sec);
	field(f->active_sec);
	field(f->compute_sec);
	field(f->wall_sec);
	field(predicted->four.wall_sec);
	field(predicted->low_sec);
	field(predicted->high_sec);
	printf("%s|", cli_scale_flags(predicted->flags, flags, sizeof(flags)));
}

int cli_scale_parsable(const struct cli_scale *s)
{
	static const struct np_scaled_run none = {
		.four = { .wall_sec = NAN }, .low_sec = NAN, .high_sec = NAN,
	};

	puts("Kind|Processes|Measured|Switch|Contention|Active|Compute|Sum|"
	     "Predicted|Low|High|Flags|Nearest|Ideal|Amdahl|File");
	for (size_t i = 0; i < s->n_runs; i++) {
		const struct cli_scale_run *r = &s->run[i];

		print_fields("run", r->run.processes, &r->four, r->run.app_sec,
			     *s->why ? &none : &r->others);
		for (int b = 0; b < CLI_SCALE_BASELINES; b++)
			field(*s->why ? NAN : r->baseline_sec[b]);
		cli_field(r->path, '\n');
	}
	for (size_t i = 0; i < s->n_at; i++) {
		print_fields("at", s->at[i], &s->answer[i].four, NAN,
			     &s->answer[i]);
		puts("|||");
	}
	return CLI_DONE;
}
