/*
 * netprof tolerance --plot: run time with its thresholds, slope, and share of
 * the network, over latency, overhead or time per byte. The curves are exact:
 * they change where the critical path does. With --pairs also messages between
 * ranks.
 */
#include <math.h>
#include <stdio.h>

#include "cli_output.h"
#include "cli_text.h"
#include "cli_tolerance.h"
#include "np_figure.h"

/* changes of the critical path that can be distinguished */
#define PIECES_MAX 2000
#define CURVE 8 /* points in which the share curve is drawn for each piece */
/* rows of the matrix; with more ranks, several share a row */
#define RANKS_MAX 32

/* Microseconds, or ns per byte unchanged. */
static double unit(const struct cli_tolerance_ask *ask)
{
	return ask->sweep == NP_LOGGPS_G ? 1 : 1e-3;
}

/* Adds zone i, which begins at the end of the zone before, or at 0. */
static void add_zone(struct np_figure *f, struct np_panel *p,
		     const struct cli_tolerance *t,
		     const struct cli_tolerance_ask *ask, size_t i)
{
	static const unsigned style[] = { 2, 5, 3, 4, 6, 1 };
	const struct cli_tolerance_of *of = &t->of[ask->sweep];
	double from = i ? of->zone[i - 1].limit - of->base : 0;
	double to = of->zone[i].limit - of->base;
	char legend[80], up_to[CLI_NUMBER];

	if (ask->sweep == NP_LOGGPS_G)
		cli_rate(1e9 / of->zone[i].limit, up_to);
	else
		cli_sec(1e-9 * to, up_to);
	snprintf(legend, sizeof(legend), !isfinite(to) ? "to %g %%: any" :
		 ask->sweep == NP_LOGGPS_G ? "to %g %%: %s" : "to %g %%: +%s",
		 100 * of->zone[i].share, up_to);
	np_figure_add(f, np_figure_shape(f, p, NP_SHAPE_ZONE,
			style[i % NP_ARRAY_SIZE(style)], legend), NAN, NAN,
		      unit(ask) * from, unit(ask) *
		      fmin(to, t->point[TOLERANCE_POINTS - 1].added));
}

static struct np_panel *add_panel(struct np_figure *f, const char *title,
				  const char *y,
				  const struct cli_tolerance *t,
				  const struct cli_tolerance_ask *ask)
{
	static const char *const added[] = {
		[NP_LOGGPS_L] = "Added network latency (\302\265s)",
		[NP_LOGGPS_o] = "Added overhead (\302\265s)",
		[NP_LOGGPS_G] = "Added time per byte (ns)",
	};
	struct np_panel *p = np_figure_panel(f, title);

	if (!p)
		return NULL;
	np_figure_axis(f, &p->x, NP_AXIS_LINEAR,
		       ask->topology && ask->sweep == NP_LOGGPS_L ?
		       "Added wire latency (\302\265s)" : added[ask->sweep]);
	np_figure_axis(f, &p->y, NP_AXIS_LINEAR, y);
	p->x.lo = 0;
	p->x.hi = unit(ask) * t->point[TOLERANCE_POINTS - 1].added;
	return p;
}

/* A linear piece of T that begins at x with the value ns. */
struct piece {
	double x, ns, slope;
};

/* Piece i; the last one is the end of the range. */
static struct piece piece_of(const struct cli_tolerance *t, double base,
			     size_t i, struct piece before)
{
	const struct cli_tolerance_point *end = &t->point[TOLERANCE_POINTS - 1];
	struct piece p = { 0, t->ns, t->point[0].run.right };

	if (!i)
		return p;
	p.x = i <= t->n_critical ? t->critical[i - 1].x - base : end->added;
	p.slope = i <= t->n_critical ? t->critical[i - 1].slope :
				       end->run.right;
	p.ns = before.ns + before.slope * (p.x - before.x);
	return p;
}

static double ratio(double x, const struct piece *p, double base)
{
	double ns = p->ns + p->slope * (x - p->x);

	return ns > 0 ? 100 * p->slope * (base + x) / ns : 0;
}

static void add_curves(struct np_figure *f, const struct cli_tolerance *t,
		       const struct cli_tolerance_ask *ask)
{
	static const char *const slopes[] = {
		[NP_LOGGPS_L] = "Messages on the critical path (\316\273)",
		[NP_LOGGPS_o] = "Overheads on the critical path (\316\273)",
		[NP_LOGGPS_G] = "Bytes on the critical path (\316\273)",
	};
	double base = t->of[ask->sweep].base, u = unit(ask);
	struct np_panel *run = add_panel(f, t->file, "Run time (% longer)", t,
					 ask);
	struct np_panel *path = add_panel(f, t->file, slopes[ask->sweep], t,
					  ask);
	struct np_panel *share = add_panel(f, t->file,
		"Share of the run time (\317\201, %)", t, ask);
	size_t n = t->n_critical + 2, step = 1 + n / PIECES_MAX;
	struct np_shape *line, *steps, *curve;
	struct piece p = { 0, 0, 0 };

	if (!run || !path || !share)
		return;
	for (size_t i = 0; i < ask->n_shares; i++)
		add_zone(f, run, t, ask, i);
	line = np_figure_shape(f, run, NP_SHAPE_LINE, 0, NULL);
	steps = np_figure_shape(f, path, NP_SHAPE_STEP, 0, NULL);
	curve = np_figure_shape(f, share, NP_SHAPE_LINE, 0, NULL);
	path->y.lo = share->y.lo = 0;
	for (size_t i = 0; i < n; i++) {
		struct piece next = piece_of(t, base, i, p);
		bool last = i + 1 == n;

		for (int k = 0; i && step == 1 && k <= CURVE; k++) {
			double x = p.x + (next.x - p.x) * k / CURVE;

			np_figure_add(f, curve, u * x, ratio(x, &p, base), NAN,
				      NAN);
		}
		p = next;
		if (i % step && !last)
			continue;
		np_figure_add(f, line, u * p.x, t->ns > 0 ?
			      100 * (p.ns / t->ns - 1) : NAN, NAN, NAN);
		np_figure_add(f, steps, u * p.x, p.slope, NAN, NAN);
		if (step > 1)
			np_figure_add(f, curve, u * p.x, ratio(p.x, &p, base),
				      NAN, NAN);
	}
}

/* With more than RANKS_MAX ranks, neighbouring ranks share a row. */
static void add_matrix(struct np_figure *f, const struct cli_tolerance *t)
{
	uint32_t each = (t->ranks + RANKS_MAX - 1) / RANKS_MAX;
	uint32_t rows = (t->ranks + each - 1) / each;
	double sum[RANKS_MAX][RANKS_MAX] = { { 0 } }, most = 0;
	struct np_panel *p = np_figure_panel(f, "Messages on the critical path "
						"between ranks");
	struct np_shape *s;

	if (!p)
		return;
	np_figure_axis(f, &p->x, NP_AXIS_NAMES, "To rank");
	np_figure_axis(f, &p->y, NP_AXIS_NAMES, "From rank");
	for (uint32_t i = 0; i < rows; i++) {
		uint32_t to = (i + 1) * each < t->ranks ? (i + 1) * each :
							  t->ranks;
		char name[32];

		snprintf(name, sizeof(name), each == 1 ? "%u" : "%u-%u",
			 i * each, to - 1);
		np_figure_name(f, &p->x, name);
		np_figure_name(f, &p->y, name);
	}
	for (size_t i = 0; i < t->n_pairs; i++) {
		const struct np_pair *of = &t->pair[i];
		double *at = &sum[of->from / each][of->to / each];

		*at += (double)of->messages;
		most = fmax(most, *at);
	}
	s = np_figure_shape(f, p, NP_SHAPE_CELLS, 0, NULL);
	for (uint32_t i = 0; i < rows; i++)
		for (uint32_t j = 0; j < rows; j++) {
			char text[32] = "";

			if (sum[i][j] > 0)
				snprintf(text, sizeof(text), "%.0f",
					 sum[i][j]);
			np_figure_cell(f, s, j, i, most > 0 ?
				       sum[i][j] / most : 0, text);
		}
}

int cli_tolerance_plot(const struct cli_tolerance *t, size_t n,
		       const struct cli_tolerance_ask *ask, const char *path)
{
	static const char *const titles[] = {
		[NP_LOGGPS_L] = "Tolerance of latency",
		[NP_LOGGPS_o] = "Tolerance of overhead",
		[NP_LOGGPS_G] = "Tolerance of bandwidth",
	};
	struct np_figure *f = np_figure_new(titles[ask->sweep]);
	char o[CLI_NUMBER], L[CLI_NUMBER], zones[128] = "";
	size_t ops = 0;

	for (size_t i = 0; f && i < n; i++) {
		add_curves(f, &t[i], ask);
		if (ask->pairs)
			add_matrix(f, &t[i]);
		ops += t[i].ops;
	}
	for (size_t i = 0; i < ask->n_shares; i++)
		cli_add(zones, sizeof(zones), "%s%g", !i ? "" :
			i + 1 < ask->n_shares ? ", " : " and ",
			100 * ask->share[i]);
	if (f)
		np_figure_caption(f, "From execution graphs of n = %zu "
				  "operations, LogGPS with L = %s, o = %s, G = "
				  "%.4g ns per byte. Zones: how far the run "
				  "takes %s %% longer at most.", ops,
				  cli_setting_sec(1e-9 * ask->net.L_ns, L),
				  cli_setting_sec(1e-9 * ask->net.o_ns, o),
				  ask->net.G_ns, zones);
	return cli_figure_save(f, path);
}
