/* Shapes that are fields: zones, bars, spans and cells. */
#include <math.h>

#include "np_ink.h"
#include "np_plot.h"

#define BAR 0.7 /* of the room of its name */
#define LETTERS 64

/* Between two values of an axis that lies or stands; false: nothing is seen. */
static bool extent(double from, double to, double *at, double *length)
{
	*at = fmin(from, to);
	*length = fabs(to - from);
	return isfinite(*at) && isfinite(*length) && *length > 0;
}

static bool field_of(const struct np_area *a, const struct np_shape *s,
		     size_t i, struct np_box *b)
{
	double half = BAR / 2;

	*b = a->box;
	if (s->kind == NP_SHAPE_ZONE)
		return extent(fmax(np_area_x(a, s->low[i]), b->x),
			      fmin(np_area_x(a, s->high[i]), b->x + b->w),
			      &b->x, &b->w);
	if (s->kind == NP_SHAPE_BARS)
		return extent(np_area_y(a, s->low[i]),
			      np_area_y(a, s->high[i]), &b->y, &b->h) &&
		       extent(np_area_x(a, s->x[i] - half),
			      np_area_x(a, s->x[i] + half), &b->x, &b->w);
	return extent(np_area_x(a, s->low[i]), np_area_x(a, s->high[i]), &b->x,
		      &b->w) &&
	       extent(np_area_y(a, s->y[i] - half),
		      np_area_y(a, s->y[i] + half), &b->y, &b->h);
}

void np_draw_fields(const struct np_area *a, const struct np_shape *s)
{
	struct np_box b;

	for (size_t i = 0; i < s->n; i++)
		if (field_of(a, s, i, &b))
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

void np_draw_cells(const struct np_area *a, const struct np_shape *s)
{
	struct np_pen pen = {
		.line = NP_WHITE, .width = 1, .opacity = 1,
	};

	for (size_t i = 0; i < s->n; i++) {
		struct np_box b = {
			np_area_x(a, s->x[i] - 0.5),
			np_area_y(a, s->y[i] - 0.5), 0, 0,
		};

		b.w = np_area_x(a, s->x[i] + 0.5) - b.x;
		b.h = np_area_y(a, s->y[i] + 0.5) - b.y;
		pen.fill = isnan(s->low[i]) ? NP_WHITE : np_ink_heat(s->low[i]);
		np_canvas_box(a->c, &b, &pen);
		if (isnan(s->low[i]))
			np_ink_unknown(a->c, &b);
		if (s->text[i])
			cell_text(a, &b, s->low[i], s->text[i]);
	}
}
