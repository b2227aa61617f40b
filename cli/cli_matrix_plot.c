/* netprof matrix --plot: the pairs as a heat map. */
#include <math.h>
#include <stdio.h>

#include "cli_figure.h"
#include "cli_matrix.h"
#include "cli_text.h"

static double worst(const struct cli_matrix *m)
{
	double most = 0.01;

	for (size_t i = 0; i < m->n * m->n; i++)
		if (!m->rc[i])
			most = fmax(most, m->p[i].slowdown);
	return most;
}

int cli_matrix_plot(const struct cli_matrix *m, const char *path)
{
	struct np_figure *f = np_figure_new("Slowdown of each pair");
	struct np_panel *p = f ? np_figure_panel(f, "") : NULL;
	char text[CLI_NUMBER], day[CLI_NUMBER];
	struct np_shape *s;

	if (!p)
		return cli_figure_save(f, path);
	np_figure_axis(f, &p->x, NP_AXIS_NAMES, "runs beside it");
	np_figure_axis(f, &p->y, NP_AXIS_NAMES, "is slowed");
	for (size_t i = 0; i < m->n; i++) {
		const char *app = m->k->app[m->at[i]]->r.runs.app;

		np_figure_name(f, &p->x, app);
		np_figure_name(f, &p->y, app);
	}
	s = np_figure_shape(f, p, NP_SHAPE_CELLS, 0, NULL);
	for (size_t i = 0; i < m->n * m->n; i++)
		np_figure_cell(f, s, (double)(i % m->n), (double)(i / m->n),
			       m->rc[i] ? NAN : m->p[i].slowdown / worst(m),
			       m->rc[i] ? "-" : cli_change(m->p[i].slowdown,
							   text));
	np_figure_caption(f, "Predicted run time over that alone, %s, by model "
			  "%s; n = %zu applications; fabric %s, calibrated "
			  "%s. Hatched: not measured.",
			  cli_scope_words(m->scope), m->model->name, m->n,
			  m->k->cal.cluster, cli_day(m->k->cal.date, day));
	f->date = m->k->cal.date;
	return cli_figure_save(f, path);
}
