/* Shapes over numbers: bands, steps, lines and points. */
#include <math.h>
#include <stdlib.h>

#include "np_ink.h"
#include "np_plot.h"

#define CAP 2.0 /* half of the ends of an interval */

/* Points of a path, those that can be drawn. */
struct path {
	double *xy;
	size_t n;
};

static void add(const struct np_area *a, struct path *p, double x, double y)
{
	double at_x = np_area_x(a, x), at_y = np_area_y(a, y);

	/* On a logarithmic axis 0 is at the lower end. */
	if (at_y == INFINITY)
		at_y = a->box.y + a->box.h;
	if (at_x == -INFINITY)
		at_x = a->box.x;
	if (!isfinite(at_x) || !isfinite(at_y))
		return;
	p->xy[2 * p->n] = at_x;
	p->xy[2 * p->n++ + 1] = at_y;
}

static struct np_pen tint(unsigned style, double opacity)
{
	return (struct np_pen){
		.line = NP_NO_COLOUR, .fill = np_ink_colour(style),
		.opacity = opacity,
	};
}

void np_draw_band(const struct np_area *a, const struct np_shape *s)
{
	const struct np_pen pen = tint(s->style, 0.18);
	struct path p = { calloc(4 * s->n + 1, sizeof(*p.xy)), 0 };

	for (size_t i = 0; p.xy && i < s->n; i++)
		add(a, &p, s->x[i], s->low[i]);
	for (size_t i = s->n; p.xy && i--;)
		add(a, &p, s->x[i], s->high[i]);
	if (p.n > 2)
		a->c->path(a->c, p.xy, p.n, true, &pen);
	free(p.xy);
}

/* Filled down to the axis, so that two of them are told apart at a glance. */
void np_draw_step(const struct np_area *a, const struct np_shape *s)
{
	const struct np_pen line = np_ink_line(s->style, 1.2);
	const struct np_pen pen = tint(s->style, 0.2);
	struct path p = { calloc(4 * s->n + 5, sizeof(*p.xy)), 0 };

	if (!p.xy || s->n < 2) {
		free(p.xy);
		return;
	}
	add(a, &p, s->x[0], a->y_lo);
	for (size_t i = 0; i + 1 < s->n; i++) {
		add(a, &p, s->x[i], s->y[i]);
		add(a, &p, s->x[i + 1], s->y[i]);
	}
	add(a, &p, s->x[s->n - 1], a->y_lo);
	if (p.n > 2) {
		a->c->path(a->c, p.xy, p.n, true, &pen);
		a->c->path(a->c, p.xy, p.n, false, &line);
	}
	free(p.xy);
}

void np_draw_line(const struct np_area *a, const struct np_shape *s)
{
	const struct np_pen pen = np_ink_line(s->style, 1.3);
	struct path p = { calloc(2 * s->n + 1, sizeof(*p.xy)), 0 };

	for (size_t i = 0; p.xy && i < s->n; i++)
		add(a, &p, s->x[i], s->y[i]);
	if (p.n > 1)
		a->c->path(a->c, p.xy, p.n, false, &pen);
	free(p.xy);
}

static void interval(const struct np_area *a, const struct np_shape *s,
		     size_t i)
{
	const struct np_pen pen = {
		.line = np_ink_colour(s->style), .fill = NP_NO_COLOUR,
		.width = 0.9,
	};
	double x = np_area_x(a, s->x[i]);
	double low = np_area_y(a, s->low[i]), high = np_area_y(a, s->high[i]);

	if (!isfinite(x) || !isfinite(low) || !isfinite(high))
		return;
	np_canvas_line(a->c, x, low, x, high, &pen);
	np_canvas_line(a->c, x - CAP, low, x + CAP, low, &pen);
	np_canvas_line(a->c, x - CAP, high, x + CAP, high, &pen);
}

void np_draw_points(const struct np_area *a, const struct np_shape *s)
{
	for (size_t i = 0; i < s->n; i++) {
		double x = np_area_x(a, s->x[i]), y = np_area_y(a, s->y[i]);

		interval(a, s, i);
		if (isfinite(x) && isfinite(y))
			np_ink_mark(a->c, s->style, x, y);
	}
}
