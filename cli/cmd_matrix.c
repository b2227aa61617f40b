/*
 * netprof matrix: the predicted slowdown of every pair of applications.
 *
 * Rows are victims and columns are co-runners. A mark after a number says that
 * it is uncertain, or was predicted in another way than requested, and a legend
 * explains the marks that occur. An application without the measurements that
 * the model needs has a column but no row.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli_json_put.h"
#include "cli_matrix.h"
#include "cli_measured.h"
#include "cli_output.h"
#include "cli_print.h"
#include "cli_text.h"
#include "np_figure.h"

#define MIN_NAME 14  /* columns of the name of a row */
#define COLUMN_MIN 7 /* "+123 %" */
#define COLUMN_MAX 14

/* Choose the mark of a prediction; print_legend() explains the marks. */
static char choose_mark(const struct np_prediction *prediction)
{
	if (prediction->flags & NP_PRED_FELL_BACK)
		return prediction->used & NP_DATA_LATENCY ? '*' : '+';
	if (cli_doubt_text(prediction))
		return '?';
	return prediction->flags & NP_PRED_BEYOND ? '!' : ' ';
}

/* The slowdown of pair i, measured or predicted; NaN: there is none. */
static double slowdown_of(const struct cli_matrix *m, bool measured, size_t i)
{
	struct cli_measured found;

	if (!measured)
		return m->rc[i] ? NAN : m->prediction[i].slowdown;
	return cli_measured_find(m->known, m->app[i / m->n], m->app[i % m->n],
				 m->scope, &found) &&
			       found.slowdown.n ?
		       found.slowdown.mean :
		       NAN;
}

/* Whether there is any slowdown for this victim. */
static bool has_row(const struct cli_matrix *m, bool measured, size_t victim)
{
	for (size_t corunner = 0; corunner < m->n; corunner++)
		if (!isnan(slowdown_of(m, measured, victim * m->n + corunner)))
			return true;
	return false;
}

/* Print one cell and its mark, which only predictions have. */
static void print_cell(const struct cli_matrix *m, bool measured, size_t i,
		       int width, bool last)
{
	char mark = measured || m->rc[i] ? ' ' : choose_mark(&m->prediction[i]);

	cli_print_number(cli_change, slowdown_of(m, measured, i), width - 1);
	/* No blank at the end of a line. */
	if (mark != ' ' || !last)
		putchar(mark);
}

/*
 * Width of the names of columns, which is at least that of a number. Names are
 * cut only if the width of the output is limited.
 */
static int column_name_width(const struct cli_matrix *m)
{
	size_t widest = COLUMN_MIN;
	size_t most = cli_columns() == CLI_UNLIMITED ? SIZE_MAX : COLUMN_MAX;

	for (size_t i = 0; i < m->n; i++)
		if (cli_width(cli_matrix_name(m, i)) > widest)
			widest = cli_width(cli_matrix_name(m, i));
	return (int)(widest < most ? widest : most);
}

/*
 * Print the columns from <= corunner < to of the table of predictions, or of
 * measurements.
 */
static void print_block(const struct cli_matrix *m, bool measured, size_t from,
			size_t to, int width, int label_width)
{
	printf("%s%-*s", cli_colour(CLI_BOLD), label_width, "");
	for (size_t corunner = from; corunner < to; corunner++) {
		cli_print_right(stdout,
				cli_truncate(cli_matrix_name(m, corunner),
					     (size_t)width - 2),
				width - 1);
		fputs(corunner + 1 < to ? " " : "", stdout);
	}
	printf("%s\n", cli_colour(CLI_PLAIN));
	for (size_t victim = 0; victim < m->n; victim++) {
		if (!has_row(m, measured, victim))
			continue;
		cli_print_left(stdout, cli_matrix_name(m, victim),
			       label_width - 1);
		putchar(' ');
		for (size_t corunner = from; corunner < to; corunner++)
			print_cell(m, measured, victim * m->n + corunner, width,
				   corunner + 1 == to);
		putchar('\n');
	}
}

/* Print the applications without a row, and what they lack. */
static void print_missing_rows(const struct cli_matrix *m)
{
	const char *why =
		m->model->required & NP_DATA_TRACE ?
			"No row for applications without a usable trace: " :
			"No row for applications not measured under synthetic load: ";
	char *line = NULL;
	size_t len;
	FILE *f = cli_stream_open(&line, &len);

	for (size_t victim = 0; victim < m->n; victim++)
		if (!has_row(m, false, victim)) {
			fprintf(f, "%s%s", why, cli_matrix_name(m, victim));
			why = ", ";
		}
	cli_stream_close(f, &line);
	if (*line)
		cli_wrap(stdout, line, 2);
	free(line);
}

/* What the marks of choose_mark() mean; %s: the model. */
static const char *const legend[] = {
	"* from latencies alone, by model mixture: %s also needs to know how "
	"much the co-runner slows the synthetic load, which was not measured",
	"+ by another model: %s also needs to know how much the load slows the "
	"column and how much the row slows the load, and one of the two was "
	"not measured",
	"! the co-runner is stronger or weaker than every load level: the end "
	"of the sensitivity curve is used",
	"? uncertain: netprof predict ROW COLUMN says why",
	"- not measured: netprof predict ROW COLUMN says what is missing",
};

/* Explain the marks that occur. */
static void print_legend(const struct cli_matrix *m)
{
	bool seen[128] = { false }, any = false;

	for (size_t i = 0; i < m->n * m->n; i++) {
		bool in_row = has_row(m, false, i / m->n);
		char mark = m->rc[i] ? '-' : choose_mark(&m->prediction[i]);

		/* Missing cells are only visible in rows that are printed. */
		seen[(int)mark] |= in_row;
		any |= mark != ' ';
	}
	if (any)
		putchar('\n');
	for (size_t i = 0; i < NP_ARRAY_SIZE(legend); i++)
		if (seen[(int)*legend[i]])
			cli_printf(CLI_PLAIN, 2, legend[i], m->model->name);
	print_missing_rows(m);
}

/* Print the table, in several blocks if it is wider than the screen. */
static void print_blocks(const struct cli_matrix *m, bool measured)
{
	int name_width = column_name_width(m), width = name_width + 2;
	int label_width = name_width < MIN_NAME ? MIN_NAME : name_width + 1;
	size_t n_columns = (size_t)((cli_columns() - label_width) / width);

	for (size_t from = 0; from < m->n; from += n_columns) {
		putchar('\n');
		print_block(m, measured, from,
			    from + n_columns < m->n ? from + n_columns : m->n,
			    width, label_width);
	}
}

/* Print a second table, of the measured pairs, if there are any. */
static void print_measured(const struct cli_matrix *m)
{
	bool any = false;

	for (size_t victim = 0; victim < m->n; victim++)
		any |= has_row(m, true, victim);
	if (!any)
		return;
	putchar('\n');
	cli_printf(CLI_PLAIN, 0, "Measured by netprof validate:");
	print_blocks(m, true);
}

static int print_text(const struct cli_matrix *m)
{
	if (cli_has_no_effect(m->known, m->scope))
		cli_wrap(stdout, cli_no_effect_text(m->known, m->scope), 0);
	cli_printf(
		CLI_PLAIN, 0,
		"How much longer the application of each row runs while that "
		"of each column runs %s (model %s; fabric %s, calibrated %s):",
		cli_scope_text(m->scope), m->model->name, m->known->cal.cluster,
		cli_day(m->known->cal.date));
	print_blocks(m, false);
	print_legend(m);
	print_measured(m);
	return CLI_DONE;
}

/* ---- output for programs ---- */

static const struct cli_table table = {
	"victim|corunner|scope|slowdown|low|high|model|flags|measured",
	{ { "pairs", "victim|corunner|../scope|slowdown|low|high|model|flags|"
		     "measured/slowdown" } },
};

/* Print all pairs, including those without a prediction. */
static int print_data(const struct cli_matrix *m, enum cli_format format)
{
	json_object *output = json_object_new_object(), *list;

	cli_put_text(output, "scope", np_scope_name(m->scope));
	cli_put_text(output, "model", m->model->name);
	cli_put_calibration(output, m->known, m->scope);
	list = cli_put_array(output, "applications");
	for (size_t i = 0; i < m->n; i++)
		cli_append_text(list, cli_matrix_name(m, i));
	list = cli_put_array(output, "pairs");
	for (size_t i = 0; i < m->n * m->n; i++) {
		json_object *pair = cli_append_object(list);

		cli_put_text(pair, "victim", cli_matrix_name(m, i / m->n));
		cli_put_text(pair, "corunner", cli_matrix_name(m, i % m->n));
		if (m->rc[i]) {
			cli_put(pair, "slowdown", NULL);
			cli_put_text(pair, "why", cli_matrix_why(m->rc[i]));
		} else {
			cli_put_interval(pair, &m->prediction[i]);
		}
		cli_put_measured(pair, m->known, m->app[i / m->n],
				 m->app[i % m->n], m->scope);
	}
	return cli_print_output(format, "matrix", output, &table);
}

/* ---- plot ---- */

/* The largest slowdown, which gets the darkest colour. */
static double max_slowdown(const struct cli_matrix *m)
{
	double largest = 0.01;

	for (size_t i = 0; i < m->n * m->n; i++)
		if (!m->rc[i])
			largest = fmax(largest, m->prediction[i].slowdown);
	return largest;
}

/*
 * Write the prediction of a pair and its interval in percent as two lines, with
 * the mark that it has in the table.
 */
static const char *format_cell(const struct cli_matrix *m, size_t i)
{
	const struct np_prediction *prediction = &m->prediction[i];
	const char *slowdown;
	char mark;

	if (m->rc[i])
		return "-";
	slowdown = cli_change(prediction->slowdown);
	mark = choose_mark(prediction);
	if (mark != ' ')
		slowdown = cli_text("%s%c", slowdown, mark);
	if (isnan(prediction->low))
		return slowdown;
	return cli_text("%s|%.0f to %.0f", slowdown,
			cli_whole_percent(prediction->low),
			cli_whole_percent(prediction->high));
}

static int save_plot(const struct cli_matrix *m, const char *path)
{
	struct np_figure *figure = cli_figure_new("Slowdown of each pair");
	struct np_panel *panel = cli_figure_add_panel(figure, "", NP_AXIS_NAMES,
						      "slows it", NP_AXIS_NAMES,
						      "is slowed");
	struct np_shape *shape;

	for (size_t i = 0; i < m->n; i++) {
		np_figure_add_name(figure, &panel->x, cli_matrix_name(m, i));
		np_figure_add_name(figure, &panel->y, cli_matrix_name(m, i));
	}
	shape = np_figure_add_shape(figure, panel, NP_SHAPE_CELLS, 0, NULL);
	for (size_t i = 0; i < m->n * m->n; i++)
		np_figure_add_cell(
			figure, shape, (double)(i % m->n), (double)(i / m->n),
			m->rc[i] ? NAN :
				   m->prediction[i].slowdown / max_slowdown(m),
			format_cell(m, i));
	np_figure_set_caption(
		figure,
		"Predicted increase of the run time and its 90 %% interval, "
		"%s, by model %s; n = %zu applications; fabric %s, calibrated "
		"%s. *: from latencies alone; +: by another model; !: beyond "
		"the load levels; ?: uncertain; hatched: not measured.",
		cli_scope_text(m->scope), m->model->name, m->n,
		m->known->cal.cluster, cli_day(m->known->cal.date));
	figure->date = m->known->cal.date;
	return cli_figure_save_and_free(figure, path);
}

/* ---- the command ---- */

/* Predict all pairs, and print them in the requested format. */
static int print_matrix(const struct cli_known *known,
			const struct cli_options *options)
{
	struct cli_matrix m;
	int rc = cli_matrix_make(known, options, &m);

	if (rc >= 0)
		return rc;
	for (size_t i = 0; i < known->n; i++)
		if (known->app[i]->unusable.text[0])
			cli_fail("%s", known->app[i]->unusable.text);
	if (!m.n)
		rc = cli_fail("no application has been measured on cluster %s "
			      "yet; to measure one: sbatch --netprofile=NAME "
			      "--netprofile-calibrate job.sh",
			      known->cal.cluster);
	else
		rc = options->plot   ? save_plot(&m, options->plot) :
		     options->format ? print_data(&m, options->format) :
				       print_text(&m);
	cli_matrix_free(&m);
	return rc;
}

/*
 * All applications are loaded before any is checked, so that a typing error in
 * a name is reported first.
 */
static int run_matrix(const struct cli_cmd *self, int argc, char **argv)
{
	struct cli_known known = { .n = 0 };
	struct cli_options options;
	struct cli_store store;
	int rc = cli_options_parse(self, argc, argv, NULL, &options);

	if (rc >= 0)
		return rc;
	rc = cli_store_open(&store);
	if (rc >= 0)
		return rc;
	rc = cli_matrix_find(&known, &store, &options);
	if (rc < 0)
		rc = cli_predict_prepare(&known, &store, &options);
	if (rc < 0)
		cli_measured_load(&known, &store);
	cli_store_close(&store);
	if (rc < 0)
		rc = print_matrix(&known, &options);
	cli_known_free(&known);
	return rc;
}

const struct cli_cmd cmd_matrix = {
	.name = "matrix",
	.args = "[--json|--csv] [OPTION]... [APP]...",
	.help = "predictions for every pair of applications",
	.text = "Predicts how much longer each application (row) runs with each other one\n"
		"(column) and with a second job of its own. Without APP: your own\n"
		"applications and the published ones that were measured on this fabric. What\n"
		"netprof validate measured follows in a second table.\n\n"
		"  --scope=SCOPE   where the other job is: on the same nodes (node), on other\n"
		"                  nodes of the same leaf switch (leaf, the default), or across\n"
		"                  its uplink (uplink)\n"
		"  --model=M       another model than " NP_MODEL_DEFAULT
		"; see netprof accuracy\n"
		"  --csv           one pair per line, with its 90 % interval\n"
		"  --json          output for programs\n"
		"  --plot=FILE     draw the table instead: .svg, .png or .pdf\n"
		"  --user=NAME, --published\n"
		"                  whose profiles, as for netprof show",
	.examples = "  netprof matrix fft halo lammps\n"
		    "  netprof matrix --csv | sort -t, -k4gr | head -n 3\n"
		    "  netprof matrix --plot=pairs.svg\n",
	.takes = CLI_TAKES_JSON | CLI_TAKES_CSV | CLI_TAKES_USER |
		 CLI_TAKES_MODEL | CLI_TAKES_SCOPE | CLI_TAKES_PLOT,
	.max_args = CLI_ANY,
	.run = run_matrix,
};
