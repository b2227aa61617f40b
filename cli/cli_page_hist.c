/* The histogram on the page of `netprof show`. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli_show.h"
#include "cli_text.h"

#define BAR 22 /* columns of the longest bar */

static uint64_t count_in(const struct np_hist *h, size_t from, size_t to)
{
	uint64_t n = 0;

	for (size_t i = from; h && i < to; i++)
		n += np_hist_count(h, i);
	return n;
}

/* The bins between the first and the last percent of both. */
static void range_of(const struct np_profile *p, size_t *from, size_t *to)
{
	double lo = np_hist_quantile(p->ev.latency.hist, 0.01);
	double hi = np_hist_quantile(p->ev.latency.hist, 0.99);

	if (p->idle.hist) {
		lo = fmin(lo, np_hist_quantile(p->idle.hist, 0.01));
		hi = fmax(hi, np_hist_quantile(p->idle.hist, 0.99));
	}
	*from = np_hist_bin_of(lo);
	*to = np_hist_bin_of(hi) + 1;
}

static void hist_cell(FILE *f, const struct np_sample *s, size_t from,
		      size_t to)
{
	double share = (double)count_in(s->hist, from, to) /
		       (double)np_hist_total(s->hist);
	char cell[CLI_NUMBER] = "";

	if (share > 0 && share < 0.005)
		strcpy(cell, "<1 %");
	else if (share > 0)
		snprintf(cell, sizeof(cell), "%.0f %%", 100 * share);
	cli_right(f, cell, 7);
	fputc(' ', f);
	cli_bar(f, share, BAR);
}

/* One line for the latencies from bin `from` up to bin `to`. */
static void hist_row(FILE *f, const struct np_profile *p, size_t from,
		     size_t to, bool first, bool last)
{
	char *line = NULL, lo[CLI_NUMBER], label[CLI_NUMBER + 8];
	size_t len;
	FILE *row = open_memstream(&line, &len);

	if (!row)
		return;
	snprintf(label, sizeof(label), "%s%s", first ? "below " : "from ",
		 cli_sec(np_hist_edge(first ? to : from), lo));
	cli_left(row, label, 16);
	hist_cell(row, &p->ev.latency, first ? 0 : from,
		  last ? NP_HIST_BINS : to);
	if (p->idle.n_runs)
		hist_cell(row, &p->idle, first ? 0 : from,
			  last ? NP_HIST_BINS : to);
	fclose(row);
	while (len && line[len - 1] == ' ') /* of the last bar */
		line[--len] = '\0';
	fprintf(f, "%s\n", line);
	free(line);
}

void cli_page_histogram(FILE *f, const struct np_profile *p, int rows)
{
	char name[40];
	size_t from, to, width, shown;

	if (rows < 3 || !p->ev.latency.hist)
		return;
	range_of(p, &from, &to);
	width = (to - from + (size_t)rows - 1) / (size_t)rows;
	shown = (to - from + width - 1) / width;
	fprintf(f, "\n%s%-16s%8s", cli_colour(CLI_BOLD), "Share of probes", "");
	cli_cut(p->runs->app, 20, name, sizeof(name));
	if (p->idle.n_runs)
		fprintf(f, "%-30s%s", name, "idle");
	else
		fputs(name, f);
	fprintf(f, "%s\n", cli_colour(CLI_PLAIN));
	for (size_t i = 0; i < shown; i++)
		hist_row(f, p, from + i * width, from + (i + 1) * width,
			 i == 0 && shown > 1, i + 1 == shown);
}

