/* netprof status --plot: the leaves with their nodes and their strain. */
#include <math.h>
#include <stdio.h>

#include "cli_output.h"
#include "cli_status.h"
#include "cli_text.h"
#include "np_figure.h"

#define LEAVES 60 /* more only with --all */

static struct np_panel *panel(struct np_figure *f, const char *title,
			      const char *label, const struct cli_status *t,
			      size_t n)
{
	struct np_panel *p = np_figure_panel(f, title);

	if (!p)
		return NULL;
	np_figure_axis(f, &p->x, NP_AXIS_LINEAR, label);
	np_figure_axis(f, &p->y, NP_AXIS_NAMES, "");
	p->x.lo = 0;
	for (size_t i = 0; i < n; i++)
		np_figure_name(f, &p->y, *t->leaf[i]->name ? t->leaf[i]->name :
							     "(none)");
	return p;
}

static void add_nodes(struct np_figure *f, const struct cli_status *t, size_t n)
{
	static const char *const name[] = { "busy", "idle", "down or drained" };
	static const unsigned style[] = { 0, NP_STYLE_QUIET, 1 };
	struct np_panel *p = panel(f, "Nodes of the leaf switches", "Nodes", t,
				   n);

	for (int part = 0; part < 3; part++) {
		struct np_shape *s = np_figure_shape(f, p, NP_SHAPE_SPANS,
						     style[part], name[part]);

		for (size_t i = 0; i < n; i++) {
			const struct np_state_leaf *l = t->leaf[i];
			double all = l->n_nodes, away = all - l->n_away;
			double busy = fmax(0, away - l->n_idle);
			const double end[] = { 0, busy, away, all };

			np_figure_add(f, s, NAN, (double)i, end[part],
				      end[part + 1]);
		}
	}
}

static void add_strain(struct np_figure *f, const struct cli_status *t,
		       size_t n)
{
	struct np_panel *p = panel(f, "Strain", "Worst predicted slowdown of a "
				   "job on the leaf (%)", t, n);
	struct np_shape *s = np_figure_shape(f, p, NP_SHAPE_SPANS, 3, NULL);
	double most = t->s->max_slowdown;

	for (size_t i = 0; i < n; i++) {
		most = fmax(most, t->leaf[i]->strain);
		np_figure_add(f, s, NAN, (double)i, 0,
			      100 * t->leaf[i]->strain);
	}
	if (p)
		p->x.hi = 110 * fmax(most, 0.01);
}

int cli_status_plot(const struct cli_status *t, const char *path)
{
	size_t n = t->s->n_leaves;
	size_t shown = t->all || n <= LEAVES ? n : LEAVES;
	struct np_figure *f;
	char date[CLI_NUMBER];

	if (!n)
		return cli_fail("the last decision knows no leaf switch");
	f = np_figure_new(*t->s->cluster ? t->s->cluster : "cluster");
	if (!f)
		return cli_figure_save(f, path);
	add_nodes(f, t, shown);
	add_strain(f, t, shown);
	np_figure_caption(f, "n = %zu leaf switches%s, %zu jobs run, %zu of "
			  "them known; decided %s.", n, shown < n ?
			  ", the most strained are shown" : "", t->n_running,
			  t->n_known, cli_date(t->s->date, date));
	f->date = t->s->date;
	return cli_figure_save(f, path);
}
