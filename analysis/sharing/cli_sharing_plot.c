/*
 * netprof sharing --plot: when each transfer is active, and how much of its
 * time is due to sharing.
 */
#include <math.h>
#include <stdio.h>

#include "cli_output.h"
#include "cli_sharing.h"
#include "cli_text.h"
#include "np_figure.h"

#define SCHEMES 24
#define TRANSFERS 40 /* rows for one scheme */

enum { ALONE, PENALTY, OTHERS }; /* styles */

static size_t rows_of(const struct np_scheme *s)
{
	return s->n < TRANSFERS ? s->n : TRANSFERS;
}

/* Leaves room for the markers at the ends. */
static void extend_axis(struct np_panel *p, double end)
{
	if (end > 0)
		p->x.hi = fmax(p->x.hi, 1.02 * end);
}

/* Adds the part of its time that a transfer takes alone, or the rest. */
static void add_spans(struct np_figure *f, struct np_panel *p,
		      const struct np_scheme *s, const char *model,
		      const struct cli_sharing_model *g, unsigned style)
{
	char name[64];
	struct np_shape *shape;

	snprintf(name, sizeof(name), style == ALONE ? "time alone" :
		 "lost by sharing, %s", model);
	shape = np_figure_shape(f, p, NP_SHAPE_SPANS, style, name);
	for (size_t i = 0; i < rows_of(s); i++) {
		double alone = fmin(g->end[i], s->start_sec[i] + s->alone[i]);

		np_figure_add(f, shape, NAN, (double)i, style == ALONE ?
			      s->start_sec[i] : alone, style == ALONE ?
			      alone : g->end[i]);
		extend_axis(p, g->end[i]);
	}
}

/* Marks the ends according to another model, or to measurements. */
static void add_ends(struct np_figure *f, struct np_panel *p,
		     const struct np_scheme *s, const double *end,
		     unsigned style, const char *name)
{
	struct np_shape *shape = NULL;

	for (size_t i = 0; i < rows_of(s); i++) {
		double at = end ? end[i] : s->start_sec[i] + s->took_sec[i];

		if (isnan(at))
			continue;
		if (!shape)
			shape = np_figure_shape(f, p, NP_SHAPE_POINTS, style,
						name);
		np_figure_add(f, shape, at, (double)i, NAN, NAN);
		extend_axis(p, at);
	}
}

static void add_rows(struct np_figure *f, struct np_panel *p,
		     const struct np_scheme *s)
{
	char name[3 * NP_SCHEME_NAME + 8];

	np_figure_axis(f, &p->x, NP_AXIS_LINEAR, isnan(s->reference_sec) ?
		       "Time (1: the reference alone)" : "Time (s)");
	np_figure_axis(f, &p->y, NP_AXIS_NAMES, "Transfer");
	p->x.lo = 0;
	for (size_t i = 0; i < rows_of(s); i++) {
		snprintf(name, sizeof(name), "%s: %s \xe2\x86\x92 %s",
			 s->label[i], s->node[s->c[i].from],
			 s->node[s->c[i].to]);
		np_figure_name(f, &p->y, name);
	}
}

static void add_scheme(struct np_figure *f, const struct cli_sharing *a,
		       size_t k, size_t first)
{
	const struct np_scheme *s = &a->set->scheme[k];
	struct np_panel *p = np_figure_panel(f, s->name);

	if (!p)
		return;
	add_rows(f, p, s);
	for (unsigned style = ALONE; style <= PENALTY; style++)
		add_spans(f, p, s, a->net.model[first]->name,
			  cli_sharing_at(a, k, first), style);
	for (size_t m = first + 1; m < a->net.n; m++)
		if (!*cli_sharing_at(a, k, m)->why.text)
			add_ends(f, p, s, cli_sharing_at(a, k, m)->end,
				 OTHERS + (unsigned)m - 1,
				 a->net.model[m]->name);
	add_ends(f, p, s, NULL, NP_STYLE_QUIET, "measured");
}

int cli_sharing_plot(const struct cli_sharing *a, const char *path)
{
	struct np_figure *f = np_figure_new("Transfers that share a network");
	size_t n = a->set->n < SCHEMES ? a->set->n : SCHEMES, first, most = 0;

	for (size_t k = 0; f && k < n; k++) {
		first = cli_sharing_first(a, k);
		if (first < a->net.n)
			add_scheme(f, a, k, first);
		if (a->set->scheme[k].n > most)
			most = a->set->scheme[k].n;
	}
	if (f)
		np_figure_caption(f, "Bars end as the first model has it, marks "
				  "as the others; penalties %s; n = %zu "
				  "scheme%s%s%s.", a->constant ?
				  "of all at once" : "change with who is there",
				  n, n == 1 ? "" : "s", n < a->set->n ?
				  ", the first" : "", most > TRANSFERS ?
				  "; of more than 40 transfers the first" : "");
	return cli_figure_save(f, path);
}
