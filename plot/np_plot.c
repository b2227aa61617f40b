/* The page: title, panels below each other with their legends, caption. */
#include "np_plot.h"

#include <math.h>
#include <string.h>

#include "np_ink.h"

#define MARGIN 10.0
#define WIDTH 420.0  /* of a page: 5.8 inches; reads at half of that, too */
#define WIDEST 1440.0
#define HEIGHT 140.0 /* of a panel with numbers upright */
#define ROW 13.0     /* of a name */
#define CELL_W 38.0
#define CELL_H 20.0
#define LINE 11.0    /* of the caption */
#define TITLE 16.0
#define LETTERS 512
#define SAMPLE 18.0  /* width of the sample of a style, in the legend */
#define ENTRY 12.0   /* height of a line of it */

static bool has_cells(const struct np_panel *p)
{
	return p->n_shapes && p->shape[0].kind == NP_SHAPE_CELLS;
}

static double area_height(const struct np_panel *p)
{
	if (p->y.kind != NP_AXIS_NAMES)
		return HEIGHT;
	return fmax(1, (double)p->y.n_names) * (has_cells(p) ? CELL_H : ROW);
}

/* Left of the boxes: the same of all panels. */
static double left_of(const struct np_figure *f)
{
	double left = 0;

	for (size_t i = 0; i < f->n_panels; i++)
		left = fmax(left, np_axes_left(f->panel[i]));
	return left;
}

static double page_width(const struct np_figure *f)
{
	double width = WIDTH;

	for (size_t i = 0; i < f->n_panels; i++)
		if (has_cells(f->panel[i]))
			width = fmax(width, left_of(f) + 2 * MARGIN + CELL_W *
				     (double)f->panel[i]->x.n_names);
	return fmin(ceil(width), WIDEST);
}

/* As many bytes of the words of text as fit into a line, one word at least. */
static size_t line_of(const char *text, double width, char *line)
{
	size_t n = 0;

	while (text[n]) {
		size_t more = strspn(text + n, " ");

		more += strcspn(text + n + more, " ");
		if (n + more >= LETTERS)
			return n ? n : LETTERS - 1;
		memcpy(line + n, text + n, more);
		line[n + more] = '\0';
		if (n && np_text_width(line, NP_FONT_SMALL) > width)
			break;
		n += more;
	}
	return n;
}

/* Words in lines below y; c NULL: only measured.  Returns their height. */
static double paragraph(struct np_canvas *c, const char *text, double y,
			double width)
{
	const struct np_type type = { .size = NP_FONT_SMALL,
				      .colour = NP_GREY };
	char line[LETTERS] = "";
	double height = 0;

	while (*text) {
		size_t n = line_of(text, width, line);

		line[n] = '\0';
		height += LINE;
		if (c)
			c->text(c, MARGIN, y + height, line, &type);
		text += n + strspn(text + n, " ");
	}
	return height;
}

static double title(struct np_canvas *c, const char *text, double size,
		    double y, double width)
{
	const struct np_type type = { .size = size, .bold = true };
	char cut[LETTERS];

	if (!text || !*text)
		return 0;
	/* Bold letters are wider. */
	np_text_fit(text, 1.15 * size, width, cut, sizeof(cut));
	if (c)
		c->text(c, MARGIN, y + TITLE - 5, cut, &type);
	return TITLE;
}

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

/*
 * What the shapes are called, above the panel, in as many lines as it takes.
 * c NULL: only measured.  Returns their height.
 */
static double legend(struct np_canvas *c, const struct np_panel *p, double left,
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
			height += ENTRY;
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

/* width: of its box */
static double panel_height(const struct np_panel *p, double width)
{
	return title(NULL, p->title, NP_FONT, 0, width) +
	       legend(NULL, p, 0, 0, width) + area_height(p) +
	       np_axes_below(p, width) + 8;
}

void np_plot_size(const struct np_figure *f, double *width, double *height)
{
	double box, inner;

	*width = page_width(f);
	inner = *width - 2 * MARGIN;
	box = inner - left_of(f);
	*height = 2 * MARGIN + title(NULL, f->title, 1.1 * NP_FONT, 0, inner);
	for (size_t i = 0; i < f->n_panels; i++)
		*height += panel_height(f->panel[i], box);
	if (f->caption)
		*height += paragraph(NULL, f->caption, 0, inner);
	*height = ceil(*height);
}

static void draw_panel(struct np_canvas *c, const struct np_panel *p, double y,
		       double left, double width)
{
	struct np_area a = {
		.c = c, .p = p,
		.box = { MARGIN + left, y, width, area_height(p) },
	};

	a.box.y += title(c, p->title, NP_FONT, y, width);
	a.box.y += legend(c, p, a.box.x, a.box.y, a.box.w);
	np_figure_range(p, false, &a.x_lo, &a.x_hi);
	np_figure_range(p, true, &a.y_lo, &a.y_hi);
	np_axes_grid(&a);
	c->clip(c, &a.box);
	for (size_t i = 0; i < p->n_shapes; i++)
		np_draw_shape(&a, &p->shape[i]);
	c->clip(c, NULL);
	np_axes_draw(&a, left);
}

void np_plot_draw(const struct np_figure *f, struct np_canvas *c)
{
	const struct np_pen white = {
		.line = NP_NO_COLOUR, .fill = NP_WHITE, .opacity = 1,
	};
	struct np_box page = { 0, 0, 0, 0 };
	double y = MARGIN, inner, left = left_of(f);

	np_plot_size(f, &page.w, &page.h);
	inner = page.w - 2 * MARGIN;
	np_canvas_box(c, &page, &white);
	y += title(c, f->title, 1.1 * NP_FONT, y, inner);
	for (size_t i = 0; i < f->n_panels; i++) {
		draw_panel(c, f->panel[i], y, left, inner - left);
		y += panel_height(f->panel[i], inner - left);
	}
	if (f->caption)
		paragraph(c, f->caption, y, inner);
}
