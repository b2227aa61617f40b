/* The pages of netprof compare. */
#include <stdio.h>
#include <string.h>

#include "cli_compare.h"
#include "cli_json_put.h"
#include "cli_print.h"
#include "cli_text.h"

#define LINE 2048
#define LABEL 15 /* columns of the names of rows */
#define LEAST_COLUMN 20

/* The first and the last start of the runs that count; 0: none does. */
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

/* Rows of what was measured. */
enum { TIME, SHORTEST, LONGEST, DEVIATION, RUNS, P50, P99, DELAYED, LOAD, START,
       TO, N_ROWS };

static const char *const labels[N_ROWS] = {
	"Run time", "  shortest", "  longest", "  deviation", "  of runs",
	"Latency p50", "  p99", "Delayed probes", "Leaf load", "Start", "  to",
};

static void say_start(const struct cli_side *s, char *buf)
{
	double first, last;

	range(s, &first, &last);
	if (first > 0)
		cli_date(first, buf);
	if (strlen(buf) == strlen("2024-06-12T14:03:05"))
		buf[strlen("2024-06-12T14:03")] = '\0';
}

static void say_last(const struct cli_side *s, char *buf)
{
	double first, last;

	range(s, &first, &last);
	if (last > first)
		cli_day(last, buf);
}

/* NaN: a row that has none, or it is not known. */
static double seconds(const struct cli_side *s, int row)
{
	bool several = s->run_sec.n > 1, probed = s->latency.hist;

	switch (row) {
	case TIME: return np_mean_known(&s->run_sec) ? s->run_sec.mean : NAN;
	case SHORTEST: return several ? s->shortest_sec : NAN;
	case LONGEST: return several ? s->longest_sec : NAN;
	case DEVIATION: return several ? s->run_sec.sd : NAN;
	case P50: return probed ? np_sample_quantile(&s->latency, 0.5) : NAN;
	case P99: return probed ? np_sample_quantile(&s->latency, 0.99) : NAN;
	default: return NAN;
	}
}

/* "" where there is nothing to say. */
static const char *cell(const struct cli_side *s, int row, char buf[CLI_NUMBER])
{
	const struct np_verdict *v = &s->profile.verdict;
	double sec = seconds(s, row);

	buf[0] = '\0';
	if (!isnan(sec))
		cli_sec(sec, buf);
	else if (row == RUNS)
		snprintf(buf, CLI_NUMBER, "%u", s->run_sec.n);
	else if (row == DELAYED && v->against)
		cli_percent(v->delayed_share, buf);
	else if (row == LOAD && v->against)
		snprintf(buf, CLI_NUMBER, "%.2f", v->rho);
	else if (row == START)
		say_start(s, buf);
	else if (row == TO)
		say_last(s, buf);
	return buf;
}

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

	for (size_t k = 0; k < cli_n_facts; k++) {
		const struct cli_fact *f = &cli_facts[k];

		text[0] = '\0';
		for (size_t i = 0; i < c->n && !*text; i++)
			cli_fact_of(&c->side[i], f, text);
		if (*text && !cli_fact_differs(c, f))
			cli_add(line, sizeof(line), "%s%s %s", *line ? ", " :
				"", f->label, text);
	}
	if (*line)
		putchar('\n');
	cli_labelled(stdout, "The same", "%s", line);
}

/* Has any of them something to say there? */
static bool any_cell(const struct cli_compare *c, const struct block *b,
		     int row)
{
	char text[CLI_NUMBER];

	for (size_t i = b->from; i < b->to; i++)
		if (*cell(&c->side[i], row, text))
			return true;
	return false;
}

static void put_block(const struct cli_compare *c, const struct block *b)
{
	char text[CLI_NUMBER];

	printf("\n%s", cli_colour(CLI_BOLD));
	begin_row("", false);
	for (size_t i = b->from; i < b->to; i++)
		put_cell(b, i, c->side[i].name);
	printf("%s", cli_colour(CLI_PLAIN));
	for (int row = 0; row < N_ROWS; row++) {
		if (!any_cell(c, b, row))
			continue;
		begin_row(labels[row], false);
		for (size_t i = b->from; i < b->to; i++)
			put_cell(b, i, cell(&c->side[i], row, text));
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
	cli_say(CLI_BOLD, 0, "%s", line);
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

static void put_latency(json_object *in, const struct np_sample *s)
{
	json_object *j = cli_put_if(in, "latency", s->hist);

	if (!j)
		return;
	cli_put_count(j, "n", s->moments.n);
	cli_put_real(j, "mean_sec", s->moments.mean);
	cli_put_real(j, "p50_sec", np_sample_quantile(s, 0.5));
	cli_put_real(j, "p99_sec", np_sample_quantile(s, 0.99));
	cli_put_real(j, "max_sec", s->moments.max);
}

static void put_time(json_object *in, const struct cli_side *s)
{
	json_object *j = cli_put_if(in, "run_time", np_mean_known(&s->run_sec));

	if (!j)
		return;
	cli_put_count(j, "n", s->run_sec.n);
	cli_put_real(j, "mean_sec", s->run_sec.mean);
	cli_put_real(j, "sd_sec", s->run_sec.n > 1 ? s->run_sec.sd : NAN);
	cli_put_real(j, "shortest_sec", s->shortest_sec);
	cli_put_real(j, "longest_sec", s->longest_sec);
	cli_put_bool(j, "beside_other_jobs", s->beside);
}

static void put_side(json_object *j, const struct cli_side *s)
{
	const struct np_verdict *v = &s->profile.verdict;
	json_object *facts;
	char text[CLI_FACT];
	double first, last;

	cli_put_text(j, "name", s->name);
	cli_put_text(j, "app", s->runs.app);
	cli_put(j, "job_id", s->run ? json_object_new_uint64(s->run->job_id) :
				      NULL);
	put_time(j, s);
	put_latency(j, &s->latency);
	cli_put_text(j, "use", cli_use_name(&s->profile));
	cli_put_real(j, "delayed_share", v->against ? v->delayed_share : NAN);
	cli_put_real(j, "rho", v->against ? v->rho : NAN);
	range(s, &first, &last);
	cli_put_time(j, "first", first);
	cli_put_time(j, "last", last);
	facts = cli_put_object(j, "conditions");
	for (size_t i = 0; i < cli_n_facts; i++) {
		cli_fact_of(s, &cli_facts[i], text);
		cli_put_text(facts, cli_facts[i].key, *text ? text : NULL);
	}
}

static const struct cli_table table = {
	"Name|App|Runs|RunSec|SdSec|ShortestSec|LongestSec|Probes|Mean|P50|P99|"
	"Use|DelayedShare|Rho|First|Last|Neighbours|Level|Nodes|Tasks|NodeList|"
	"Leaves|Cluster|Transport|Executable|Fingerprint|ExitCode|Slurm|Ucx|"
	"Netprof|Mpi|TasksPerNode|TaskOrder|CpuBind",
	{ { "compared", "name|app|run_time/n|run_time/mean_sec|run_time/sd_sec|"
			"run_time/shortest_sec|run_time/longest_sec|latency/n|"
			"latency/mean_sec|latency/p50_sec|latency/p99_sec|use|"
			"delayed_share|rho|@first|@last|"
			"conditions/neighbours|conditions/level|"
			"conditions/n_nodes|conditions/n_tasks|"
			"conditions/nodes|conditions/leaves|"
			"conditions/cluster|conditions/transport|"
			"conditions/executable|conditions/fingerprint|"
			"conditions/exit_code|conditions/slurm_version|"
			"conditions/ucx_version|conditions/netprof_version|"
			"conditions/mpi_version|conditions/tasks_per_node|"
			"conditions/task_order|conditions/cpu_bind" } },
};

int cli_compare_data(const struct cli_compare *c, enum cli_format format)
{
	json_object *j = json_object_new_object(), *list;
	char verdict[2048];

	cli_compare_verdict(c, verdict, sizeof(verdict));
	cli_put_text(j, "verdict", verdict);
	list = cli_put_array(j, "different");
	for (size_t i = 0; i < cli_n_facts; i++)
		if (cli_fact_differs(c, &cli_facts[i]))
			cli_append_text(list, cli_facts[i].key);
	list = cli_put_array(j, "compared");
	for (size_t i = 0; i < c->n; i++)
		put_side(cli_append_object(list), &c->side[i]);
	return cli_print_page(format, "compare", j, &table);
}
