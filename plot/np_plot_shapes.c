/* What draws each kind of shapes. */
#include <math.h>
#include <stdlib.h>

#include "np_ink.h"
#include "np_plot.h"

#define CAP 2.0 /* half of the ends of an interval */
#define BAR 0.7 /* of the room of its name */
#define LETTERS 64

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

static void draw_band(const struct np_area *a, const struct np_shape *s)
{
	const struct np_pen pen = tint(s->style, 0.18);
	struct path p = { calloc(4 * s->n + 1, sizeof(*p.xy)), 0 };

	for (size_t i = 0; p.xy && i < s->n; i++)
		add(a, &p, s->at[i].x, s->at[i].low);
	for (size_t i = s->n; p.xy && i--;)
		add(a, &p, s->at[i].x, s->at[i].high);
	if (p.n > 2)
		a->c->path(a->c, p.xy, p.n, true, &pen);
	free(p.xy);
}

/* Filled down to the axis, so that two of them are told apart at a glance. */
static void draw_step(const struct np_area *a, const struct np_shape *s)
{
	const struct np_pen line = np_ink_line(s->style, 1.2);
	const struct np_pen pen = tint(s->style, 0.2);
	struct path p = { calloc(4 * s->n + 5, sizeof(*p.xy)), 0 };

	if (!p.xy || s->n < 2) {
		free(p.xy);
		return;
	}
	add(a, &p, s->at[0].x, a->y_lo);
	for (size_t i = 0; i + 1 < s->n; i++) {
		add(a, &p, s->at[i].x, s->at[i].y);
		add(a, &p, s->at[i + 1].x, s->at[i].y);
	}
	add(a, &p, s->at[s->n - 1].x, a->y_lo);
	if (p.n > 2) {
		a->c->path(a->c, p.xy, p.n, true, &pen);
		a->c->path(a->c, p.xy, p.n, false, &line);
	}
	free(p.xy);
}

static void draw_line(const struct np_area *a, const struct np_shape *s)
{
	const struct np_pen pen = np_ink_line(s->style, 1.3);
	struct path p = { calloc(2 * s->n + 1, sizeof(*p.xy)), 0 };

	for (size_t i = 0; p.xy && i < s->n; i++)
		add(a, &p, s->at[i].x, s->at[i].y);
	if (p.n > 1)
		a->c->path(a->c, p.xy, p.n, false, &pen);
	free(p.xy);
}

static void interval(const struct np_area *a, const struct np_shape *s,
		     const struct np_datum *d)
{
	const struct np_pen pen = {
		.line = np_ink_colour(s->style), .fill = NP_NO_COLOUR,
		.width = 0.9,
	};
	double x = np_area_x(a, d->x);
	double low = np_area_y(a, d->low), high = np_area_y(a, d->high);

	if (!isfinite(x) || !isfinite(low) || !isfinite(high))
		return;
	np_canvas_line(a->c, x, low, x, high, &pen);
	np_canvas_line(a->c, x - CAP, low, x + CAP, low, &pen);
	np_canvas_line(a->c, x - CAP, high, x + CAP, high, &pen);
}

static void draw_points(const struct np_area *a, const struct np_shape *s)
{
	for (size_t i = 0; i < s->n; i++) {
		double x = np_area_x(a, s->at[i].x);
		double y = np_area_y(a, s->at[i].y);

		interval(a, s, &s->at[i]);
		if (isfinite(x) && isfinite(y))
			np_ink_mark(a->c, s->style, x, y);
	}
}

/* Fields: zones, bars, spans and cells. */

/* Between two values of an axis that lies or stands; false: nothing is seen. */
static bool extent(double from, double to, double *at, double *length)
{
	*at = fmin(from, to);
	*length = fabs(to - from);
	return isfinite(*at) && isfinite(*length) && *length > 0;
}

static bool field_of(const struct np_area *a, enum np_shape_kind kind,
		     const struct np_datum *d, struct np_box *b)
{
	double half = BAR / 2;

	*b = a->box;
	if (kind == NP_SHAPE_ZONE)
		return extent(fmax(np_area_x(a, d->low), b->x),
			      fmin(np_area_x(a, d->high), b->x + b->w),
			      &b->x, &b->w);
	if (kind == NP_SHAPE_BARS)
		return extent(np_area_y(a, d->low), np_area_y(a, d->high),
			      &b->y, &b->h) &&
		       extent(np_area_x(a, d->x - half),
			      np_area_x(a, d->x + half), &b->x, &b->w);
	return extent(np_area_x(a, d->low), np_area_x(a, d->high), &b->x,
		      &b->w) &&
	       extent(np_area_y(a, d->y - half), np_area_y(a, d->y + half),
		      &b->y, &b->h);
}

static void draw_fields(const struct np_area *a, const struct np_shape *s)
{
	struct np_box b;

	for (size_t i = 0; i < s->n; i++)
		if (field_of(a, s->kind, &s->at[i], &b))
			np_ink_field(a->c, s->style, &b);
}

static void cell_text(const struct np_area *a, const struct np_box *b,
		      double v, const char *what)
{
	struct np_type type = { .size = NP_FONT_SMALL, .align = NP_CENTRE };
	char cut[LETTERS];

	type.colour = isnan(v) ? NP_GREY : np_ink_on_heat(v);
	while (type.size > 5 && np_text_width(what, type.size) > b->w - 2)
		type.size -= 0.5;
	np_text_fit(what, type.size, b->w - 1, cut, sizeof(cut));
	a->c->text(a->c, b->x + b->w / 2, b->y + b->h / 2 + type.size * 0.36,
		   cut, &type);
}

static void draw_cells(const struct np_area *a, const struct np_shape *s)
{
	struct np_pen pen = {
		.line = NP_WHITE, .width = 1, .opacity = 1,
	};

	for (size_t i = 0; i < s->n; i++) {
		const struct np_datum *d = &s->at[i];
		struct np_box b = {
			np_area_x(a, d->x - 0.5), np_area_y(a, d->y - 0.5),
			0, 0,
		};

		b.w = np_area_x(a, d->x + 0.5) - b.x;
		b.h = np_area_y(a, d->y + 0.5) - b.y;
		pen.fill = isnan(d->low) ? NP_WHITE : np_ink_heat(d->low);
		np_canvas_box(a->c, &b, &pen);
		if (isnan(d->low))
			np_ink_unknown(a->c, &b);
		if (d->text)
			cell_text(a, &b, d->low, d->text);
	}
}

void np_draw_shape(const struct np_area *a, const struct np_shape *s)
{
	static void (*const draw[])(const struct np_area *a,
				    const struct np_shape *s) = {
		[NP_SHAPE_BAND] = draw_band,
		[NP_SHAPE_ZONE] = draw_fields,
		[NP_SHAPE_STEP] = draw_step,
		[NP_SHAPE_LINE] = draw_line,
		[NP_SHAPE_POINTS] = draw_points,
		[NP_SHAPE_BARS] = draw_fields,
		[NP_SHAPE_SPANS] = draw_fields,
		[NP_SHAPE_CELLS] = draw_cells,
	};

	draw[s->kind](a, s);
}
