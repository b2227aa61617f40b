/* The page of `netprof compare`, and the same as fields. */
#include <stdio.h>
#include <string.h>

#include "cli_compare.h"
#include "cli_page.h"
#include "cli_text.h"

#define LINE 2048
#define LABEL 15 /* columns of the names of rows */
#define LEAST_COLUMN 20

static void cell_time(const struct cli_side *s, char *buf)
{
	if (np_mean_known(&s->run_sec))
		cli_sec(s->run_sec.mean, buf);
}

static void cell_shortest(const struct cli_side *s, char *buf)
{
	if (s->run_sec.n > 1)
		cli_sec(s->shortest_sec, buf);
}

static void cell_longest(const struct cli_side *s, char *buf)
{
	if (s->run_sec.n > 1)
		cli_sec(s->longest_sec, buf);
}

static void cell_sd(const struct cli_side *s, char *buf)
{
	if (s->run_sec.n > 1)
		cli_sec(s->run_sec.sd, buf);
}

static void cell_runs(const struct cli_side *s, char *buf)
{
	snprintf(buf, CLI_NUMBER, "%u", s->run_sec.n);
}

static void cell_p50(const struct cli_side *s, char *buf)
{
	if (s->latency.hist)
		cli_sec(np_sample_quantile(&s->latency, 0.5), buf);
}

static void cell_p99(const struct cli_side *s, char *buf)
{
	if (s->latency.hist)
		cli_sec(np_sample_quantile(&s->latency, 0.99), buf);
}

static void cell_delayed(const struct cli_side *s, char *buf)
{
	if (s->profile.verdict.use)
		cli_percent(s->profile.verdict.delayed_share, buf);
}

static void cell_load(const struct cli_side *s, char *buf)
{
	if (s->profile.verdict.use)
		snprintf(buf, CLI_NUMBER, "%.2f", s->profile.verdict.rho);
}

static void range(const struct cli_side *s, double *first, double *last)
{
	*first = *last = 0;
	for (size_t i = 0; i < s->runs.n; i++) {
		const struct np_record *r = s->runs.run[i];

		if (!cli_side_counts(s, i))
			continue;
		if (!*first || r->start < *first)
			*first = r->start;
		if (r->start > *last)
			*last = r->start;
	}
}

static void cell_first(const struct cli_side *s, char *buf)
{
	double first, last;

	range(s, &first, &last);
	if (first > 0)
		cli_date(first, buf);
	if (strlen(buf) == strlen("2024-06-12T14:03:05"))
		buf[strlen("2024-06-12T14:03")] = '\0';
}

static void cell_last(const struct cli_side *s, char *buf)
{
	double first, last;

	range(s, &first, &last);
	if (last > first)
		cli_day(last, buf);
}

static const struct {
	const char *label;
	void (*cell)(const struct cli_side *s, char *buf);
} measured[] = {
	{ "Run time", cell_time }, { "  shortest", cell_shortest },
	{ "  longest", cell_longest }, { "  deviation", cell_sd },
	{ "  of runs", cell_runs }, { "Latency p50", cell_p50 },
	{ "  p99", cell_p99 }, { "Delayed probes", cell_delayed },
	{ "Leaf load", cell_load }, { "Start", cell_first },
	{ "  to", cell_last },
};

/* Sides beside each other: from one of them up to another. */
struct block {
	size_t from, to;
	int width;
};

static void begin_row(const char *label, bool differs)
{
	char text[2 * LABEL];

	snprintf(text, sizeof(text), "%s%s", label, differs ? " *" : "");
	printf("%-*s", LABEL, text);
}

static void put_cell(const struct block *b, size_t i, const char *text)
{
	char cut[4 * CLI_FACT];
	size_t width;

	cli_cut(*text ? text : "-", (size_t)b->width - 1, cut, sizeof(cut));
	width = cli_width(cut);
	printf("%s%*s", cut, i + 1 < b->to ? b->width - (int)width : 0, "");
	if (i + 1 == b->to)
		putchar('\n');
}

/* The rest is told in a line. */
static void put_facts(const struct cli_compare *c, const struct block *b)
{
	char text[CLI_FACT];

	for (size_t k = 0; k < cli_n_facts; k++) {
		const struct cli_fact *f = &cli_facts[k];

		if (!cli_fact_differs(c, f))
			continue;
		begin_row(f->label, true);
		for (size_t i = b->from; i < b->to; i++) {
			cli_fact_of(&c->side[i], f, text);
			put_cell(b, i, text);
		}
	}
}

static void put_same(const struct cli_compare *c)
{
	char line[LINE] = "", text[CLI_FACT];
	size_t used = 0;

	for (size_t k = 0; k < cli_n_facts && used < sizeof(line); k++) {
		const struct cli_fact *f = &cli_facts[k];

		text[0] = '\0';
		for (size_t i = 0; i < c->n && !*text; i++)
			cli_fact_of(&c->side[i], f, text);
		if (*text && !cli_fact_differs(c, f))
			used += (size_t)snprintf(line + used,
				sizeof(line) - used, "%s%s %s", used ? ", " :
				"", f->label, text);
	}
	if (!used)
		return;
	putchar('\n');
	cli_labelled(stdout, "The same", line);
}

/* Has any of them something to say there? */
static bool any_cell(const struct cli_compare *c, const struct block *b,
		     size_t row)
{
	for (size_t i = b->from; i < b->to; i++) {
		char text[CLI_NUMBER] = "";

		measured[row].cell(&c->side[i], text);
		if (*text)
			return true;
	}
	return false;
}

static void put_block(const struct cli_compare *c, const struct block *b)
{
	printf("\n%s", cli_colour(CLI_BOLD));
	begin_row("", false);
	for (size_t i = b->from; i < b->to; i++)
		put_cell(b, i, c->side[i].name);
	printf("%s", cli_colour(CLI_PLAIN));
	for (size_t k = 0; k < NP_ARRAY_SIZE(measured); k++) {
		if (!any_cell(c, b, k))
			continue;
		begin_row(measured[k].label, false);
		for (size_t i = b->from; i < b->to; i++) {
			char text[CLI_NUMBER] = "";

			measured[k].cell(&c->side[i], text);
			put_cell(b, i, text);
		}
	}
	put_facts(c, b);
}

/* Who was beside a run is explain's to say. */
static void say_explain(const struct cli_compare *c)
{
	for (size_t i = 0; i < c->n; i++) {
		const struct np_record *r = c->side[i].run;

		if (!r || !np_run_has_neighbours(r))
			continue;
		printf("What its neighbours cost %s: netprof explain %u\n",
		       c->side[i].name, r->job_id);
	}
}

int cli_compare_text(const struct cli_compare *c)
{
	size_t room = (CLI_COLUMNS - LABEL) / LEAST_COLUMN;
	size_t shown = c->n < room ? c->n : room;
	struct block b = { .width = (int)((CLI_COLUMNS - LABEL) / shown) };
	char line[LINE];

	cli_compare_verdict(c, line, sizeof(line));
	fputs(cli_colour(CLI_BOLD), stdout);
	cli_wrap(stdout, line, 0);
	fputs(cli_colour(CLI_PLAIN), stdout);
	cli_compare_differs(c, line, sizeof(line));
	cli_wrap(stdout, line, 0);
	say_explain(c);
	for (b.from = 0; b.from < c->n; b.from = b.to) {
		b.to = b.from + room < c->n ? b.from + room : c->n;
		put_block(c, &b);
	}
	put_same(c);
	return CLI_DONE;
}

static void field_real(double v, bool known)
{
	cli_field_real(known ? v : NAN, 6, '|');
}

static void parsable_side(const struct cli_side *s)
{
	const struct np_verdict *v = &s->profile.verdict;
	bool several = s->run_sec.n > 1, probed = s->latency.hist;
	char text[CLI_FACT], date[CLI_NUMBER];
	double first, last;

	cli_field(s->name, '|');
	cli_field(s->runs.app, '|');
	printf("%u|", s->run_sec.n);
	field_real(s->run_sec.mean, s->run_sec.n);
	field_real(s->run_sec.sd, several);
	field_real(s->shortest_sec, s->run_sec.n);
	field_real(s->longest_sec, s->run_sec.n);
	printf("%llu|", (unsigned long long)s->latency.moments.n);
	field_real(s->latency.moments.mean, probed);
	field_real(np_sample_quantile(&s->latency, 0.5), probed);
	field_real(np_sample_quantile(&s->latency, 0.99), probed);
	printf("%s|", cli_use_name(&s->profile));
	field_real(v->delayed_share, v->use);
	field_real(v->rho, v->use);
	range(s, &first, &last);
	printf("%s|", first > 0 ? cli_date(first, date) : "");
	printf("%s|", last > 0 ? cli_date(last, date) : "");
	for (size_t k = 0; k < cli_n_facts; k++) {
		cli_fact_of(s, &cli_facts[k], text);
		cli_field(text, k + 1 < cli_n_facts ? '|' : '\n');
	}
}

int cli_compare_parsable(const struct cli_compare *c)
{
	puts("Name|App|Runs|RunSec|SdSec|ShortestSec|LongestSec|Probes|Mean|"
	     "P50|P99|Use|DelayedShare|Rho|First|Last|Neighbours|Level|Nodes|"
	     "Tasks|NodeList|Leaves|Cluster|Transport|Executable|Fingerprint|"
	     "ExitCode|Slurm|Ucx|Netprof|Mpi");
	for (size_t i = 0; i < c->n; i++)
		parsable_side(&c->side[i]);
	return CLI_DONE;
}
