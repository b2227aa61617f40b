/* The page: title, panels below each other, caption. */
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

/* width: of its box */
static double panel_height(const struct np_panel *p, double width)
{
	return title(NULL, p->title, NP_FONT, 0, width) +
	       np_legend_height(p, width) + area_height(p) +
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

static void draw_shape(const struct np_area *a, const struct np_shape *s)
{
	static void (*const draw[])(const struct np_area *a,
				    const struct np_shape *s) = {
		[NP_SHAPE_BAND] = np_draw_band,
		[NP_SHAPE_ZONE] = np_draw_fields,
		[NP_SHAPE_STEP] = np_draw_step,
		[NP_SHAPE_LINE] = np_draw_line,
		[NP_SHAPE_POINTS] = np_draw_points,
		[NP_SHAPE_BARS] = np_draw_fields,
		[NP_SHAPE_SPANS] = np_draw_fields,
		[NP_SHAPE_CELLS] = np_draw_cells,
	};

	draw[s->kind](a, s);
}

static void draw_panel(struct np_canvas *c, const struct np_panel *p, double y,
		       double left, double width)
{
	struct np_area a = {
		.c = c, .p = p,
		.box = { MARGIN + left, y, width, area_height(p) },
	};

	a.box.y += title(c, p->title, NP_FONT, y, width);
	np_legend_draw(c, p, a.box.x, a.box.y, a.box.w);
	a.box.y += np_legend_height(p, a.box.w);
	np_figure_range(p, false, &a.x_lo, &a.x_hi);
	np_figure_range(p, true, &a.y_lo, &a.y_hi);
	np_axes_grid(&a);
	c->clip(c, &a.box);
	for (size_t i = 0; i < p->n_shapes; i++)
		draw_shape(&a, &p->shape[i]);
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
