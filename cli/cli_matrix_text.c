/* The table of `netprof matrix`, and the same as comma-separated values. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli_matrix.h"
#include "cli_text.h"

#define NAME 14	      /* columns of a row's name */
#define COLUMN_MIN 7  /* "+123 %" */
#define COLUMN_MAX 14

static const char *name_of(const struct cli_matrix *m, size_t i)
{
	return m->k->app[m->at[i]]->r.runs.app;
}

const char *cli_matrix_why(int rc)
{
	return rc == -ENODATA ? "not measured" : "no answer";
}

/* What should be known about a cell, in one character. */
static char mark_of(const struct np_prediction *p)
{
	if (p->flags & NP_PRED_FELL_BACK)
		return p->used & NP_NEED_LATENCY ? '*' : '+';
	return p->flags & NP_PRED_BEYOND ? '!' : ' ';
}

static void cell(const struct cli_matrix *m, size_t at, int width, bool last)
{
	char text[CLI_NUMBER] = "-", mark = m->rc[at] ? ' ' :
						       mark_of(&m->p[at]);

	if (!m->rc[at])
		cli_change(m->p[at].slowdown, text);
	cli_right(stdout, text, width - 1);
	if (mark != ' ' || !last)
		putchar(mark);
}

/* Has it an answer beside anything? */
static bool has_row(const struct cli_matrix *m, size_t v)
{
	for (size_t c = 0; c < m->n; c++)
		if (!m->rc[v * m->n + c])
			return true;
	return false;
}

static int column_width(const struct cli_matrix *m)
{
	size_t widest = COLUMN_MIN;

	for (size_t i = 0; i < m->n; i++)
		if (cli_width(name_of(m, i)) > widest)
			widest = cli_width(name_of(m, i));
	return 2 + (int)(widest < COLUMN_MAX ? widest : COLUMN_MAX);
}

/* Some of the columns: as many as fit beside each other. */
static void block(const struct cli_matrix *m, size_t from, size_t to, int width)
{
	char name[2 * NAME];

	printf("%s%-*s", cli_colour(CLI_BOLD), NAME, "");
	for (size_t c = from; c < to; c++) {
		cli_right(stdout, cli_cut(name_of(m, c), COLUMN_MAX, name,
					  sizeof(name)), width - 1);
		fputs(c + 1 < to ? " " : "", stdout);
	}
	printf("%s\n", cli_colour(CLI_PLAIN));
	for (size_t v = 0; v < m->n; v++) {
		if (!has_row(m, v))
			continue;
		printf("%-*s", NAME, cli_cut(name_of(m, v), NAME - 1, name,
					     sizeof(name)));
		for (size_t c = from; c < to; c++)
			cell(m, v * m->n + c, width, c + 1 == to);
		putchar('\n');
	}
}

/* Those without a row, by name. */
static void say_without(const struct cli_matrix *m)
{
	const char *why = m->model->needs & NP_NEED_TRACES ?
		"Without a row, as without a trace that can be used: " :
		"Without a row, as not measured beside levels: ";
	char line[1024] = "";
	size_t len = 0;

	for (size_t v = 0; v < m->n && len < sizeof(line); v++)
		if (!has_row(m, v))
			len += (size_t)snprintf(line + len, sizeof(line) - len,
						"%s%s", len ? ", " : why,
						name_of(m, v));
	if (len)
		cli_wrap(stdout, line, 2);
}

static void legend(const struct cli_matrix *m)
{
	bool latency = false, half = false, beyond = false, none = false;
	bool some = true;
	char line[256];

	for (size_t i = 0; i < m->n * m->n; i++) {
		some &= has_row(m, i / m->n);
		none |= m->rc[i] && has_row(m, i / m->n);
		latency |= !m->rc[i] && mark_of(&m->p[i]) == '*';
		half |= !m->rc[i] && mark_of(&m->p[i]) == '+';
		beyond |= !m->rc[i] && mark_of(&m->p[i]) == '!';
	}
	if (latency || half || beyond || none || !some)
		putchar('\n');
	if (latency) {
		snprintf(line, sizeof(line), "* by model mixture, from "
			 "latencies alone: %s lacks the co-runner's effect on "
			 "the levels", m->model->name);
		cli_wrap(stdout, line, 2);
	}
	if (half) {
		snprintf(line, sizeof(line), "+ by another model: %s lacks "
			 "what the column suffers, or what the row does to the "
			 "levels", m->model->name);
		cli_wrap(stdout, line, 2);
	}
	if (beyond)
		cli_wrap(stdout, "! stronger or weaker than every level: the "
			 "end of the curve", 2);
	if (none)
		cli_wrap(stdout, "- not measured: netprof predict ROW COLUMN "
			 "says what is missing", 2);
	say_without(m);
}

int cli_matrix_text(const struct cli_matrix *m)
{
	int width = column_width(m);
	size_t room = (size_t)(CLI_COLUMNS - NAME) / (size_t)width;
	char line[512], day[CLI_NUMBER];

	if (cli_no_effect(m->k, m->scope)) {
		cli_say_no_effect(m->k, m->scope, line, sizeof(line));
		cli_wrap(stdout, line, 0);
	}
	snprintf(line, sizeof(line), "How much longer each row runs beside "
		 "each column, %s (model %s; fabric %s, calibrated %s):",
		 cli_scope_words(m->scope), m->model->name, m->k->cal.cluster,
		 cli_day(m->k->cal.date, day));
	cli_wrap(stdout, line, 0);
	for (size_t from = 0; from < m->n; from += room) {
		putchar('\n');
		block(m, from, from + room < m->n ? from + room : m->n, width);
	}
	legend(m);
	return CLI_DONE;
}

/* Names, models and flags have no character that would have to be quoted. */
int cli_matrix_csv(const struct cli_matrix *m)
{
	char flags[256];

	puts("victim,corunner,scope,slowdown,low,high,model,flags");
	for (size_t i = 0; i < m->n * m->n; i++) {
		printf("%s,%s,%s,", name_of(m, i / m->n), name_of(m, i % m->n),
		       np_scope_name(m->scope));
		if (m->rc[i]) {
			puts(",,,,");
			continue;
		}
		cli_field_real(m->p[i].slowdown, 6, ',');
		cli_field_real(m->p[i].low, 6, ',');
		cli_field_real(m->p[i].high, 6, ',');
		cli_flag_names(m->p[i].flags, flags, sizeof(flags));
		for (char *c = flags; *c; c++)
			if (*c == ',')
				*c = ' ';
		printf("%s,%s\n", m->p[i].model->name, flags);
	}
	return CLI_DONE;
}
