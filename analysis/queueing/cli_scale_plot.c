/* netprof scale --plot: the four components of each run, stacked. */
#include <math.h>
#include <stdio.h>

#include "cli_output.h"
#include "cli_scale.h"
#include "cli_text.h"
#include "np_figure.h"

enum { PARTS = 4 };

/* The first n parts of it together, from below. */
static double sum(const struct np_four *f, int n)
{
	const double part[PARTS] = { f->compute_sec, f->active_sec,
				     f->contention_sec, f->switch_sec };
	double all = 0;

	for (int i = 0; i < n; i++)
		all += part[i];
	return all;
}

static void add_part(struct np_figure *f, struct np_panel *p,
		     const struct cli_scale *s, int part)
{
	static const char *const name[PARTS] = { "compute", "active in MPI",
						 "contention", "switch" };
	struct np_shape *bar = np_figure_shape(f, p, NP_SHAPE_BARS,
					       (unsigned)part, name[part]);

	for (size_t i = 0; i < s->n_runs + s->n_at; i++) {
		const struct np_four *four = i < s->n_runs ? &s->run[i].four :
					     &s->answer[i - s->n_runs].four;

		np_figure_add(f, bar, (double)i, NAN, sum(four, part),
			      sum(four, part + 1));
	}
}

/* The walls that are predicted, with their intervals. */
static void add_walls(struct np_figure *f, struct np_panel *p,
		      const struct cli_scale *s)
{
	struct np_shape *wall = np_figure_shape(f, p, NP_SHAPE_POINTS, 6,
						"predicted, 90 % interval");

	for (size_t i = 0; i < s->n_at; i++)
		np_figure_add(f, wall, (double)(s->n_runs + i),
			      s->answer[i].four.wall_sec,
			      s->answer[i].low_sec, s->answer[i].high_sec);
}

int cli_scale_plot(const struct cli_scale *s, const char *path)
{
	const struct cli_scale_run *first = &s->run[0];
	struct np_figure *f = np_figure_new(*first->report.program ?
					    first->report.program :
					    first->path);
	struct np_panel *p = f ? np_figure_panel(f, "Where the time goes") :
				 NULL;
	char name[CLI_NUMBER], latency[CLI_NUMBER], rate[CLI_NUMBER];

	if (!p)
		return cli_figure_save(f, path);
	np_figure_axis(f, &p->x, NP_AXIS_NAMES, "Processes");
	np_figure_axis(f, &p->y, NP_AXIS_LINEAR, "Time of a process (s)");
	p->y.lo = 0;
	for (size_t i = 0; i < s->n_runs + s->n_at; i++) {
		snprintf(name, sizeof(name), "%.0f%s", i < s->n_runs ?
			 s->run[i].run.processes : s->at[i - s->n_runs],
			 i < s->n_runs ? "" : "*");
		np_figure_name(f, &p->x, name);
	}
	for (int part = 0; part < PARTS; part++)
		add_part(f, p, s, part);
	if (s->n_at)
		add_walls(f, p, s);
	np_figure_caption(f, "n = %zu runs; link of %s and "
			  "%s; variant %s.%s", s->n_runs,
			  cli_setting_rate(s->link.bytes_per_sec, rate),
			  cli_setting_sec(s->link.latency_sec, latency),
			  s->variant == NP_FOUR_CONSISTENT ? "consistent" :
							     "published",
			  s->n_at ? " *: predicted." : "");
	return cli_figure_save(f, path);
}
