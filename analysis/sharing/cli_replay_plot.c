/* netprof replay --plot: activity of each task over time. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli_output.h"
#include "cli_replay.h"
#include "cli_text.h"
#include "np_figure.h"

#define TASKS 48  /* rows for one program */
#define BINS 2000 /* of the time axis: finer than can be seen */

static void add_spans(struct np_figure *f, struct np_panel *p, uint32_t n_tasks,
		      double end, const unsigned char *what,
		      unsigned char kind)
{
	bool computes = kind == CLI_REPLAY_COMPUTES;
	struct np_shape *s = np_figure_shape(f, p, NP_SHAPE_SPANS, !computes,
					     computes ? "computing" :
					     "sending or receiving");

	for (uint32_t task = 0; task < n_tasks; task++) {
		const unsigned char *row = what + task * BINS;
		size_t from, to;

		for (from = 0; from < BINS; from = to + 1) {
			for (to = from; to < BINS && row[to] == kind; to++)
				;
			if (to > from)
				np_figure_add(f, s, NAN, task,
					      (double)from / BINS * end,
					      (double)to / BINS * end);
		}
	}
}

static void add_program(struct np_figure *f,
			const struct cli_replay_program *p,
			const struct np_replay_job *j, double end)
{
	uint32_t n = p->n_tasks < TASKS ? p->n_tasks : TASKS;
	unsigned char *what = calloc(n, BINS);
	struct np_panel *panel = what ? np_figure_panel(f, p->path) : NULL;
	char name[CLI_NUMBER];

	if (!panel) {
		f->no_memory = true;
		free(what);
		return;
	}
	np_figure_axis(f, &panel->x, NP_AXIS_LINEAR, "Time (s)");
	np_figure_axis(f, &panel->y, NP_AXIS_NAMES, "Task");
	panel->x.lo = 0;
	panel->x.hi = end;
	for (uint32_t i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "%u", i);
		np_figure_name(f, &panel->y, name);
	}
	cli_replay_look(j, n, end, BINS, what);
	add_spans(f, panel, n, end, what,
		  CLI_REPLAY_COMPUTES);
	add_spans(f, panel, n, end, what, CLI_REPLAY_TALKS);
	free(what);
}

int cli_replay_plot(const struct cli_replay *r, const char *path)
{
	struct np_figure *f = np_figure_new(r->n > 1 ? "Played together" :
						       "Played alone");
	char latency[CLI_NUMBER], rate[CLI_NUMBER];
	uint32_t most = 0;
	double end = 0;

	for (size_t k = 0; k < r->n; k++)
		end = fmax(end, r->n > 1 ? r->p[k].together[0].end_sec :
					   r->p[k].alone[0].end_sec);
	if (!(end > 0)) {
		np_figure_free(f);
		return cli_fail("all programs take 0 s: nothing to draw");
	}
	for (size_t k = 0; f && k < r->n; k++) {
		add_program(f, &r->p[k], r->n > 1 ? &r->p[k].together[0] :
						    &r->p[k].alone[0], end);
		most = r->p[k].n_tasks > most ? r->p[k].n_tasks : most;
	}
	if (f)
		np_figure_caption(f, "Model %s, links of %s and %s; n = "
				  "%zu program%s, the first run of each%s.",
				  r->net.model[0]->name,
				  cli_setting_rate(r->play.bytes_per_sec, rate),
				  cli_setting_sec(r->play.latency_sec, latency),
				  r->n, r->n == 1 ? "" : "s", most > TASKS ?
				  "; of more than 48 tasks the first" : "");
	return cli_figure_save(f, path);
}
