/* What the shapes are called, above the panel, in as many lines as it takes. */
#include <math.h>

#include "np_ink.h"
#include "np_plot.h"

#define SAMPLE 18.0 /* width of the sample of a style */
#define LINE 12.0
#define LETTERS 256

static double entry_width(const struct np_shape *s)
{
	return SAMPLE + 4 + np_text_width(s->name, NP_FONT_SMALL) + 10;
}

static void sample(struct np_canvas *c, const struct np_shape *s, double x,
		   double y)
{
	const struct np_box box = { x, y - 6.5, SAMPLE, 7 };
	struct np_pen line = np_ink_line(s->style, 1.3);
	struct np_pen tint = {
		.line = NP_NO_COLOUR, .fill = np_ink_colour(s->style),
		.opacity = 0.2,
	};

	switch (s->kind) {
	case NP_SHAPE_BAND:
	case NP_SHAPE_STEP:
		np_canvas_box(c, &box, &tint);
		if (s->kind == NP_SHAPE_STEP)
			np_canvas_line(c, x, y - 6.5, x + SAMPLE, y - 6.5,
				       &line);
		break;
	case NP_SHAPE_LINE:
		np_canvas_line(c, x, y - 3, x + SAMPLE, y - 3, &line);
		break;
	case NP_SHAPE_POINTS:
		line.dash[0] = 0;
		line.width = 0.9;
		np_canvas_line(c, x + SAMPLE / 2, y - 8, x + SAMPLE / 2, y + 2,
			       &line);
		np_ink_mark(c, s->style, x + SAMPLE / 2, y - 3);
		break;
	default:
		np_ink_field(c, s->style, &box);
	}
}

/* The same walk measures (c NULL) and draws; returns the height. */
static double walk(struct np_canvas *c, const struct np_panel *p, double left,
		   double y, double width)
{
	const struct np_type type = { .size = NP_FONT_SMALL };
	double x = left, height = 0;
	char cut[LETTERS];

	for (size_t i = 0; i < p->n_shapes; i++) {
		const struct np_shape *s = &p->shape[i];

		if (!s->name)
			continue;
		if (!height || x + entry_width(s) > left + width + 10) {
			x = left;
			height += LINE;
		}
		if (c) {
			sample(c, s, x, y + height - 3);
			c->text(c, x + SAMPLE + 4, y + height - 3,
				np_text_fit(s->name, NP_FONT_SMALL,
					    width - SAMPLE - 4, cut,
					    sizeof(cut)), &type);
		}
		x += entry_width(s);
	}
	return height + 3;
}

double np_legend_height(const struct np_panel *p, double width)
{
	return walk(NULL, p, 0, 0, width);
}

void np_legend_draw(struct np_canvas *c, const struct np_panel *p, double x,
		    double y, double width)
{
	walk(c, p, x, y, width);
}
