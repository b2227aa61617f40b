/*
 * netprof qn --plot: throughput, response time and utilisation over the number
 * of customers; for a single population, residence times and customers by
 * station.
 */
#include <math.h>
#include <stdio.h>

#include "cli_output.h"
#include "cli_qn.h"
#include "cli_text.h"
#include "np_figure.h"

#define LINES NP_STYLE_QUIET /* number of distinguishable lines */
#define WIDE 50 /* ratio of customers from which the axis is logarithmic */
#define TALL 30 /* the same for response times */

static double customers(const struct cli_qn *q, size_t row)
{
	return (double)q->row[row].customers;
}

static bool is_log(const struct cli_qn *q)
{
	return customers(q, 0) > 0 &&
	       customers(q, q->n_rows - 1) >= WIDE * customers(q, 0);
}

static struct np_panel *add_panel(struct np_figure *f, const struct cli_qn *q,
				  const char *title, const char *label)
{
	struct np_panel *p = np_figure_panel(f, title);

	if (!p)
		return NULL;
	np_figure_axis(f, &p->x, is_log(q) ? NP_AXIS_LOG : NP_AXIS_LINEAR,
		       "Customers");
	np_figure_axis(f, &p->y, NP_AXIS_LINEAR, label);
	p->x.lo = customers(q, 0);
	p->x.hi = customers(q, q->n_rows - 1);
	return p;
}

static void add_throughput(struct np_figure *f, const struct cli_qn *q)
{
	struct np_panel *p = add_panel(f, q, "Throughput",
				       "Cycles per second");
	struct np_shape *s;

	if (!p)
		return;
	p->y.lo = 0;
	if (q->row[q->n_rows - 1].most > 0) {
		s = np_figure_shape(f, p, NP_SHAPE_BAND, 5, "bounds");
		for (size_t i = 0; i < q->n_rows; i++)
			np_figure_add(f, s, customers(q, i), NAN,
				      q->row[i].least, q->row[i].most);
	}
	for (size_t c = 0; c < q->n.net.n_classes && c < LINES; c++) {
		s = np_figure_shape(f, p, NP_SHAPE_LINE, (unsigned)c,
				    q->n.net.n_classes > 1 ?
				    q->n.net.class[c].name : NULL);
		for (size_t i = 0; i < q->n_rows; i++)
			np_figure_add(f, s, customers(q, i),
				      q->row[i].s.x_per_sec[c], NAN, NAN);
	}
}

/* Mean and percentiles of the class that varies. */
static void add_responses(struct np_figure *f, const struct cli_qn *q)
{
	struct np_panel *p = add_panel(f, q, "Response time",
				       "Response time (s)");
	double least = INFINITY, most = 0;
	struct np_shape *s;

	if (!p)
		return;
	for (size_t line = 0; line <= q->n_shares; line++) {
		char name[CLI_NUMBER] = "mean";

		if (line)
			snprintf(name, sizeof(name), "%g %%",
				 100 * q->share[line - 1]);
		s = np_figure_shape(f, p, NP_SHAPE_LINE, (unsigned)line,
				    q->n_shares ? name : NULL);
		for (size_t i = 0; i < q->n_rows; i++) {
			const struct cli_qn_row *at = &q->row[i];
			double sec = line ? at->percentile[q->changes *
						q->n_shares + line - 1] :
				     at->s.response_sec[q->changes];

			if (sec > 0) {
				least = fmin(least, sec);
				most = fmax(most, sec);
			}
			np_figure_add(f, s, customers(q, i), sec > 0 ? sec :
				      NAN, NAN, NAN);
		}
	}
	if (most > TALL * least)
		p->y.kind = NP_AXIS_SECONDS;
	else
		p->y.lo = 0;
}

static void add_busy(struct np_figure *f, const struct cli_qn *q)
{
	struct np_panel *p = add_panel(f, q, "Stations", "Busy (%)");
	size_t lines = 0;

	if (!p)
		return;
	p->y.lo = 0;
	p->y.hi = 105;
	for (size_t k = 0; k < q->n.net.n_stations && lines < LINES; k++) {
		struct np_shape *s;

		if (q->n.net.station[k].kind == NP_QN_DELAY)
			continue;
		s = np_figure_shape(f, p, NP_SHAPE_LINE, (unsigned)lines++,
				    q->n.net.station[k].name);
		for (size_t i = 0; i < q->n_rows; i++)
			np_figure_add(f, s, customers(q, i),
				      100 * cli_qn_busy(q, i, k), NAN, NAN);
	}
}

/* Stacked bars: the value of each class at each station. */
static void add_bars(struct np_figure *f, const struct cli_qn *q,
		     const char *title, const char *label,
		     const double *value, double unit)
{
	struct np_panel *p = np_figure_panel(f, title);
	const struct np_qn *net = &q->n.net;

	if (!p)
		return;
	np_figure_axis(f, &p->x, NP_AXIS_NAMES, "Station");
	np_figure_axis(f, &p->y, NP_AXIS_LINEAR, label);
	p->y.lo = 0;
	for (size_t k = 0; k < net->n_stations; k++)
		np_figure_name(f, &p->x, net->station[k].name);
	for (size_t c = 0; c < net->n_classes; c++) {
		struct np_shape *s = np_figure_shape(f, p, NP_SHAPE_BARS,
			(unsigned)(c % LINES), net->n_classes > 1 ?
			net->class[c].name : NULL);

		for (size_t k = 0; k < net->n_stations; k++) {
			double below = 0;

			for (size_t i = 0; i < c; i++)
				below += value[i * net->n_stations + k];
			np_figure_add(f, s, (double)k, NAN, unit * below, unit *
				(below + value[c * net->n_stations + k]));
		}
	}
}

int cli_qn_plot(const struct cli_qn *q, const char *path)
{
	struct np_figure *f = np_figure_new(q->n.name ? q->n.name : q->path);

	if (f && q->n_rows > 1) {
		add_throughput(f, q);
		add_responses(f, q);
		add_busy(f, q);
	} else if (f) {
		add_bars(f, q, "Where the time of a cycle goes",
			 "Residence time (s)", q->row[0].s.residence_sec, 1);
		add_bars(f, q, "Who is where", "Customers",
			 q->row[0].s.present, 1);
	}
	if (f)
		np_figure_caption(f, "n = %zu stations, %zu classes, %zu "
				  "numbers of customers of %s; %s.",
				  q->n.net.n_stations, q->n.net.n_classes,
				  q->n_rows, q->n.net.class[q->changes].name,
				  q->how);
	return cli_figure_save(f, path);
}
