/* Axes: marks and their texts, names, the grid and the frame. */
#include <math.h>

#include "np_ink.h"
#include "np_plot.h"

#define GAP 3.0	       /* between the frame and a text */
#define NAME_MAX 110.0 /* a longer name is cut */
#define TURNED_MAX 80.0
#define LETTERS 256

double np_area_x(const struct np_area *a, double x)
{
	return a->box.x +
	       a->box.w * np_axis_place(&a->p->x, x, a->x_lo, a->x_hi);
}

double np_area_y(const struct np_area *a, double y)
{
	return a->box.y +
	       a->box.h *
	       (1 - np_axis_place(&a->p->y, y, a->y_lo, a->y_hi));
}

static double widest(const struct np_axis *a, double most)
{
	double w = 0;

	for (size_t i = 0; i < a->n_names; i++)
		w = fmax(w, np_text_width(a->name[i], NP_FONT_SMALL));
	return fmin(w, most);
}

/* Marks for an axis of so many points; texts keep apart from each other. */
static void ticks_of(const struct np_axis *a, double lo, double hi,
		     double length, bool upright, struct np_ticks *t)
{
	for (size_t most = upright ? 7 : 10;; most--) {
		double room;

		np_axis_ticks(a, lo, hi, most, t);
		if (most == 2)
			return;
		room = INFINITY;
		for (size_t i = 0; i + 1 < t->n; i++) {
			double apart = length *
				(np_axis_place(a, t->at[i + 1], lo, hi) -
				 np_axis_place(a, t->at[i], lo, hi));
			double text = upright ? NP_FONT_SMALL :
				(np_text_width(t->label[i], NP_FONT_SMALL) +
				 np_text_width(t->label[i + 1],
					       NP_FONT_SMALL)) / 2;

			room = fmin(room, apart - text);
		}
		if (room > (upright ? 4 : 8))
			return;
	}
}

/* Do the names of an x axis have to stand upright? */
static bool is_turned(const struct np_axis *a, double width)
{
	return widest(a, INFINITY) + 6 > width / fmax(1, (double)a->n_names);
}

double np_axes_left(const struct np_panel *p)
{
	double left = GAP, lo, hi;
	struct np_ticks t;

	if (p->y.kind == NP_AXIS_NAMES)
		left += widest(&p->y, NAME_MAX);
	np_figure_range(p, true, &lo, &hi);
	ticks_of(&p->y, lo, hi, 100, true, &t);
	for (size_t i = 0; i < t.n; i++)
		left = fmax(left, GAP + np_text_width(t.label[i],
						      NP_FONT_SMALL));
	return left + (p->y.label && *p->y.label ? NP_FONT + 7 : 2);
}

double np_axes_below(const struct np_panel *p, double width)
{
	double below = GAP + NP_FONT;

	if (p->x.kind == NP_AXIS_NAMES && is_turned(&p->x, width))
		below = GAP + widest(&p->x, TURNED_MAX);
	return below + (p->x.label && *p->x.label ? NP_FONT + 5 : 2);
}

static const struct np_pen grid = {
	.line = NP_PALE, .fill = NP_NO_COLOUR, .width = 0.5,
};
static const struct np_pen frame = {
	.line = NP_GREY, .fill = NP_NO_COLOUR, .width = 0.7,
};

void np_axes_grid(struct np_area *a)
{
	const struct np_box *b = &a->box;

	ticks_of(&a->p->x, a->x_lo, a->x_hi, b->w, false, &a->x_ticks);
	ticks_of(&a->p->y, a->y_lo, a->y_hi, b->h, true, &a->y_ticks);
	for (size_t i = 0; i < a->x_ticks.n; i++) {
		double x = np_area_x(a, a->x_ticks.at[i]);

		np_canvas_line(a->c, x, b->y, x, b->y + b->h, &grid);
	}
	for (size_t i = 0; i < a->y_ticks.n; i++) {
		double y = np_area_y(a, a->y_ticks.at[i]);

		np_canvas_line(a->c, b->x, y, b->x + b->w, y, &grid);
	}
}

static void text(const struct np_area *a, double x, double y, const char *what,
		 enum np_align align, bool turned)
{
	const struct np_type type = {
		.size = NP_FONT_SMALL, .align = align, .turned = turned,
	};

	a->c->text(a->c, x, y, what, &type);
}

static void draw_x(const struct np_area *a)
{
	const struct np_axis *x = &a->p->x;
	bool turned = is_turned(x, a->box.w);
	double bottom = a->box.y + a->box.h;
	char cut[LETTERS];

	for (size_t i = 0; i < x->n_names; i++) {
		double at = np_area_x(a, (double)i);

		np_text_fit(x->name[i], NP_FONT_SMALL, TURNED_MAX, cut,
			    sizeof(cut));
		if (turned)
			text(a, at + 3, bottom + GAP, cut, NP_RIGHT, true);
		else
			text(a, at, bottom + GAP + NP_FONT_SMALL, x->name[i],
			     NP_CENTRE, false);
	}
	for (size_t i = 0; i < a->x_ticks.n; i++) {
		double at = np_area_x(a, a->x_ticks.at[i]);

		np_canvas_line(a->c, at, bottom, at, bottom - 3, &frame);
		text(a, at, bottom + GAP + NP_FONT_SMALL, a->x_ticks.label[i],
		     NP_CENTRE, false);
	}
}

static void draw_y(const struct np_area *a)
{
	const struct np_axis *y = &a->p->y;
	double left = a->box.x;
	char cut[LETTERS];

	for (size_t i = 0; i < y->n_names; i++)
		text(a, left - GAP, np_area_y(a, (double)i) + 3,
		     np_text_fit(y->name[i], NP_FONT_SMALL, NAME_MAX, cut,
				 sizeof(cut)), NP_RIGHT, false);
	for (size_t i = 0; i < a->y_ticks.n; i++) {
		double at = np_area_y(a, a->y_ticks.at[i]);

		np_canvas_line(a->c, left, at, left + 3, at, &frame);
		text(a, left - GAP, at + 3, a->y_ticks.label[i], NP_RIGHT,
		     false);
	}
}

static void draw_labels(const struct np_area *a, double left)
{
	struct np_type type = { .size = NP_FONT, .align = NP_CENTRE };

	if (a->p->x.label)
		a->c->text(a->c, a->box.x + a->box.w / 2,
			   a->box.y + a->box.h - 2 +
			   np_axes_below(a->p, a->box.w), a->p->x.label,
			   &type);
	type.turned = true;
	if (a->p->y.label)
		a->c->text(a->c, a->box.x - left + NP_FONT - 1,
			   a->box.y + a->box.h / 2, a->p->y.label, &type);
}

void np_axes_draw(const struct np_area *a, double left)
{
	np_canvas_box(a->c, &a->box, &frame);
	draw_x(a);
	draw_y(a);
	draw_labels(a, left);
}
