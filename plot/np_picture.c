/*
 * Lays out a figure on a page, draws it on a canvas, and writes SVG files.
 *
 * Layout of the page, in points from the upper left corner:
 *
 *	MARGIN
 *	title of the figure
 *	for each panel:
 *		title
 *		legend, in as many lines as it takes
 *		labels of the y axis | box with grid, shapes and frame
 *		                     | labels of the x axis
 *	caption, broken into lines
 *	MARGIN
 *
 * The space left of the boxes is the same for all panels. Functions that draw
 * something of variable height only measure it if they get no canvas, so that
 * the size of the page always fits its contents. Texts are measured by
 * np_text_width(), an upper bound, so the layout is the same for SVG, whose
 * fonts are unknown, and for PNG and PDF.
 */
#include "np_picture.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "np_text.h"

/* Font sizes in points, and the two greys of texts, frames and grids. */
#define TEXT_SIZE 9.0
#define SMALL_SIZE 8.0
#define HEADING_SIZE (1.1 * TEXT_SIZE) /* of the title of the figure */
#define CELL_SIZE 6.0		       /* of the second line of a cell */
#define GREY 0x595959u		       /* contrast of 7:1 on white */
#define LIGHT_GREY 0xdededeu

/* Longest texts, in bytes. */
#define LINE_BYTES 512 /* titles, lines of the caption, legend entries */
#define NAME_BYTES 256 /* names on an axis */
#define CELL_BYTES 64

/* ---- Text widths ---- */

/* Widths of ' ' to '~' in DejaVu Sans, in thousandths of the font size. */
static const unsigned short char_widths[] = {
	318, 401, 460, 838, 636,  950, 780, 275, 390, 390, 500, 838, 318, 361,
	318, 337, 636, 636, 636,  636, 636, 636, 636, 636, 636, 636, 337, 337,
	838, 838, 838, 531, 1000, 684, 686, 698, 770, 632, 575, 775, 752, 295,
	295, 656, 557, 863, 748,  787, 603, 787, 695, 635, 611, 732, 684, 989,
	685, 611, 685, 390, 337,  390, 838, 500, 500, 613, 635, 550, 635, 615,
	352, 635, 634, 278, 278,  579, 278, 974, 634, 612, 635, 635, 411, 521,
	392, 634, 592, 818, 592,  592, 525, 636, 337, 636, 838,
};

/*
 * Width of the first character of a text, relative to the font size. Most
 * letters beyond ASCII are at most 0.7 wide; ideographs, which have 3 bytes or
 * more, are square.
 */
static double char_width(const char *text)
{
	unsigned char first = (unsigned char)*text;

	if (first >= ' ' && first <= '~')
		return char_widths[first - ' '] / 1000.0;
	return np_text_char_len(text, strlen(text)) > 2 ? 1 : 0.7;
}

/* Bytes of the first character of a text; 1 if it is not valid UTF-8. */
static size_t char_bytes(const char *text)
{
	int len = np_text_char_len(text, strlen(text));

	return len > 0 ? (size_t)len : 1;
}

double np_text_width(const char *text, double size)
{
	double sum = 0;

	for (; *text; text += char_bytes(text))
		sum += char_width(text);
	return sum * size;
}

const char *np_text_fit(const char *text, double size, double width, char *buf,
			size_t len)
{
	bool fits = np_text_width(text, size) <= width && strlen(text) < len;
	double width_left = width - np_text_width("~", size);
	size_t n = 0;

	while (text[n]) {
		size_t bytes = char_bytes(text + n);

		width_left -= size * char_width(text + n);
		if (!fits && (width_left < 0 || n + bytes + 2 > len))
			break;
		memcpy(buf + n, text + n, bytes);
		n += bytes;
	}
	if (!fits)
		buf[n++] = '~';
	buf[n] = '\0';
	return buf;
}

/* ---- Drawing on any canvas ---- */

static void draw_box(struct np_canvas *canvas, const struct np_box *box,
		     const struct np_pen *pen)
{
	const double xy[] = {
		box->x, box->y,		 box->x + box->w,
		box->y, box->x + box->w, box->y + box->h,
		box->x, box->y + box->h,
	};

	canvas->path(canvas, xy, 4, true, pen);
}

static void draw_segment(struct np_canvas *canvas, double x0, double y0,
			 double x1, double y1, const struct np_pen *pen)
{
	const double xy[] = { x0, y0, x1, y1 };

	canvas->path(canvas, xy, 2, false, pen);
}

/*
 * ---- SVG 1.1 ----
 *
 * The same calls always give the same bytes: numbers are rounded to 0.01
 * points, and clip paths are numbered in the order of their use. Attributes
 * that have SVG's default value are left out.
 */

struct svg {
	struct np_canvas base; /* first, as canvases are converted to it */
	FILE *out;
	unsigned n_clips; /* clip paths defined so far */
	bool clipped;	  /* a group with a clip path is open */
};

/* Print a number rounded to 0.01, without trailing zeros and without "-0". */
static void print_number(FILE *out, double value)
{
	long hundredths = (long)(value * 100 + (value < 0 ? -0.5 : 0.5));
	long whole = labs(hundredths) / 100, rest = labs(hundredths) % 100;

	fprintf(out, "%s%ld", hundredths < 0 ? "-" : "", whole);
	if (rest)
		fprintf(out, rest % 10 ? ".%02ld" : ".%ld",
			rest % 10 ? rest : rest / 10);
}

/* Print an attribute with a leading space, as in " x=\"1.5\"". */
static void print_attribute(FILE *out, const char *name, double value)
{
	fprintf(out, " %s=\"", name);
	print_number(out, value);
	fputc('"', out);
}

/* Print a text, replacing the characters that are special in XML. */
static void print_escaped(FILE *out, const char *text)
{
	for (; *text; text++)
		switch (*text) {
		case '&':
			fputs("&amp;", out);
			break;
		case '<':
			fputs("&lt;", out);
			break;
		case '>':
			fputs("&gt;", out);
			break;
		case '"':
			fputs("&quot;", out);
			break;
		default:
			fputc(*text, out);
		}
}

/* Print the attributes of a pen, without those that have SVG's default. */
static void print_pen(FILE *out, const struct np_pen *pen)
{
	if (pen->fill == NP_NO_COLOUR)
		fputs(" fill=\"none\"", out);
	else
		fprintf(out, " fill=\"#%06x\"", pen->fill);
	if (pen->fill != NP_NO_COLOUR && pen->opacity < 1)
		print_attribute(out, "fill-opacity", pen->opacity);
	if (pen->line == NP_NO_COLOUR)
		return;
	fprintf(out, " stroke=\"#%06x\"", pen->line);
	print_attribute(out, "stroke-width", pen->width);
	if (pen->dash[0] > 0) {
		fputs(" stroke-dasharray=\"", out);
		print_number(out, pen->dash[0]);
		fputc(' ', out);
		print_number(out, pen->dash[1]);
		fputc('"', out);
	}
}

static void svg_path(struct np_canvas *canvas, const double *xy, size_t n,
		     bool closed, const struct np_pen *pen)
{
	FILE *out = ((struct svg *)canvas)->out;

	fputs("<path d=\"", out);
	for (size_t i = 0; i < n; i++) {
		fputc(i ? 'L' : 'M', out);
		print_number(out, xy[2 * i]);
		fputc(' ', out);
		print_number(out, xy[2 * i + 1]);
	}
	fputs(closed ? "Z\"" : "\"", out);
	print_pen(out, pen);
	fputs("/>\n", out);
}

/* Turned texts are rotated around (x, y). */
static void svg_text(struct np_canvas *canvas, double x, double y,
		     const char *text, const struct np_type *type)
{
	static const char *const anchor[] = {
		[NP_CENTRE] = "middle",
		[NP_RIGHT] = "end",
	};
	FILE *out = ((struct svg *)canvas)->out;

	fputs("<text", out);
	print_attribute(out, "x", x);
	print_attribute(out, "y", y);
	print_attribute(out, "font-size", type->size);
	if (type->align != NP_LEFT)
		fprintf(out, " text-anchor=\"%s\"", anchor[type->align]);
	if (type->bold)
		fputs(" font-weight=\"bold\"", out);
	if (type->colour != NP_BLACK)
		fprintf(out, " fill=\"#%06x\"", type->colour);
	if (type->turned) {
		fputs(" transform=\"rotate(-90 ", out);
		print_number(out, x);
		fputc(' ', out);
		print_number(out, y);
		fputs(")\"", out);
	}
	fputc('>', out);
	print_escaped(out, text);
	fputs("</text>\n", out);
}

/* Close the group of the last clip path, and open one for the new path. */
static void svg_clip(struct np_canvas *canvas, const struct np_box *box)
{
	struct svg *svg = (struct svg *)canvas;

	if (svg->clipped)
		fputs("</g>\n", svg->out);
	svg->clipped = box;
	if (!box)
		return;
	svg->n_clips++;
	fprintf(svg->out, "<clipPath id=\"c%u\"><rect", svg->n_clips);
	print_attribute(svg->out, "x", box->x);
	print_attribute(svg->out, "y", box->y);
	print_attribute(svg->out, "width", box->w);
	print_attribute(svg->out, "height", box->h);
	fprintf(svg->out, "/></clipPath>\n<g clip-path=\"url(#c%u)\">\n",
		svg->n_clips);
}

static int svg_end(struct np_canvas *canvas)
{
	struct svg *svg = (struct svg *)canvas;
	int rc;

	svg_clip(canvas, NULL);
	fputs("</svg>\n", svg->out);
	rc = fflush(svg->out) || ferror(svg->out) ? -EIO : 0;
	free(svg);
	return rc;
}

/* Create an SVG canvas and print the beginning of the file. NULL: no memory. */
static struct np_canvas *svg_new(FILE *out, double width, double height,
				 const char *title)
{
	struct svg *svg = calloc(1, sizeof(*svg));

	if (!svg)
		return NULL;
	svg->base = (struct np_canvas){ svg_path, svg_text, svg_clip, svg_end };
	svg->out = out;
	fprintf(out,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" "
		"width=\"%.0fpt\" height=\"%.0fpt\" viewBox=\"0 0 %.0f %.0f\" "
		"font-family=\"'DejaVu Sans',Verdana,Helvetica,Arial,"
		"sans-serif\">\n<title>",
		width, height, width, height);
	print_escaped(out, title);
	fputs("</title>\n", out);
	return &svg->base;
}

/*
 * ---- Styles ----
 *
 * All pictures share one set of styles. The colours are those of Okabe and
 * Ito, "Color Universal Design" (2008), which people with red-green colour
 * blindness can distinguish. No two styles differ in colour alone: each has its
 * own dash, mark and hatching as well.
 */

#define HATCH_STEP 4.0	/* distance between two hatching lines, points */
#define MARK_RADIUS 2.6 /* of a circular mark, points */
#define CORNER_RADIUS (1.2 * MARK_RADIUS) /* so that polygons look as large */
#define CIRCLE_CORNERS 16 /* of the polygon that is drawn for a circle */

/* Directions of hatching lines, bits. */
enum { RISING = 1, FALLING = 2, HORIZONTAL = 4, VERTICAL = 8 };

static const struct {
	unsigned colour; /* 0xrrggbb */
	double dash[2];	 /* as in struct np_pen */
	int corners;	 /* of the mark; 0: a circle */
	double turn;	 /* direction of its first corner, quarter turns */
	int hatch;	 /* directions */
} styles[NP_STYLES] = {
	{ 0x0072b2, { 0, 0 }, 0, 0, 0 },		 /* blue */
	{ 0xd55e00, { 6, 2.5 }, 4, 0.5, RISING },	 /* vermillion */
	{ 0x009e73, { 1.5, 2 }, 3, -1, FALLING },	 /* bluish green */
	{ 0xe69f00, { 9, 2 }, 4, 0, HORIZONTAL },	 /* orange */
	{ 0xcc79a7, { 3, 1.5 }, 3, 1, VERTICAL },	 /* reddish purple */
	{ 0x56b4e9, { 4, 4 }, 5, -1, RISING | FALLING }, /* sky blue */
	{ 0x000000, { 1, 1 }, 6, 0, HORIZONTAL | VERTICAL }, /* black */
	{ 0x7f7f7f, { 2.5, 2 }, 4, 0.5, 0 }, /* grey: NP_STYLE_GREY */
};

static unsigned style_colour(unsigned style)
{
	return styles[style].colour;
}

/* A line in the colour and dash of a style. */
static struct np_pen style_line(unsigned style, double width)
{
	return (struct np_pen){
		.line = styles[style].colour,
		.fill = NP_NO_COLOUR,
		.width = width,
		.dash = { styles[style].dash[0], styles[style].dash[1] },
	};
}

/* Draw the style's mark, a circle or a polygon, centred at (x, y). */
static void draw_mark(struct np_canvas *canvas, unsigned style, double x,
		      double y)
{
	const struct np_pen pen = {
		.line = NP_WHITE,
		.fill = styles[style].colour,
		.width = 0.5,
		.opacity = 1,
	};
	int corners = styles[style].corners;
	double radius = corners ? CORNER_RADIUS : MARK_RADIUS;
	int n = corners ? corners : CIRCLE_CORNERS;
	double xy[2 * CIRCLE_CORNERS];

	for (int i = 0; i < n; i++) {
		double angle = (styles[style].turn + 4.0 * i / n) * M_PI / 2;

		xy[2 * i] = x + radius * cos(angle);
		xy[2 * i + 1] = y + radius * sin(angle);
	}
	canvas->path(canvas, xy, (size_t)n, true, &pen);
}

/*
 * Draw the lines y = slope * x + offset inside the box, for every offset that
 * is a multiple of HATCH_STEP, so that the hatching of adjacent areas lines up.
 */
static void hatch_slanted(struct np_canvas *canvas, const struct np_box *box,
			  double slope, const struct np_pen *pen)
{
	double right = box->x + box->w, bottom = box->y + box->h;
	double from = box->y - fmax(slope * box->x, slope * right);
	double to = bottom - fmin(slope * box->x, slope * right);

	for (double offset = ceil(from / HATCH_STEP) * HATCH_STEP; offset < to;
	     offset += HATCH_STEP) {
		double at_top = (box->y - offset) / slope;
		double at_bottom = (bottom - offset) / slope;
		double x0 = fmax(box->x, fmin(at_top, at_bottom));
		double x1 = fmin(right, fmax(at_top, at_bottom));

		if (x0 < x1)
			draw_segment(canvas, x0, slope * x0 + offset, x1,
				     slope * x1 + offset, pen);
	}
}

/* Draw vertical or horizontal lines in the box, at multiples of HATCH_STEP. */
static void hatch_straight(struct np_canvas *canvas, const struct np_box *box,
			   bool vertical, const struct np_pen *pen)
{
	double from = vertical ? box->x : box->y;
	double to = from + (vertical ? box->w : box->h);

	for (double position = floor(from / HATCH_STEP + 1) * HATCH_STEP;
	     position < to; position += HATCH_STEP)
		if (vertical)
			draw_segment(canvas, position, box->y, position,
				     box->y + box->h, pen);
		else
			draw_segment(canvas, box->x, position, box->x + box->w,
				     position, pen);
}

/* Hatch a box in one or several directions. */
static void draw_hatching(struct np_canvas *canvas, const struct np_box *box,
			  int directions, const struct np_pen *pen)
{
	/* The y coordinate counts downwards, so a rising line has slope -1. */
	if (directions & RISING)
		hatch_slanted(canvas, box, -1, pen);
	if (directions & FALLING)
		hatch_slanted(canvas, box, 1, pen);
	if (directions & HORIZONTAL)
		hatch_straight(canvas, box, false, pen);
	if (directions & VERTICAL)
		hatch_straight(canvas, box, true, pen);
}

/*
 * Fill a box in a style. It gets a frame and hatching only if it is large
 * enough for the colour to remain visible.
 */
static void draw_rectangle(struct np_canvas *canvas, unsigned style,
			   const struct np_box *box)
{
	double shorter_side = fmin(box->w, box->h);
	bool has_frame = shorter_side >= 1,
	     has_hatching = shorter_side >= HATCH_STEP / 2;
	const struct np_pen hatching = {
		.line = styles[style].colour,
		.fill = NP_NO_COLOUR,
		.width = 0.6,
	};
	const struct np_pen filling = {
		.line = has_frame ? styles[style].colour : NP_NO_COLOUR,
		.fill = styles[style].colour,
		.width = 0.5,
		.opacity = styles[style].hatch ? 0.3 : 0.75,
	};

	draw_box(canvas, box, &filling);
	if (has_hatching)
		draw_hatching(canvas, box, styles[style].hatch, &hatching);
}

/* Shades of blue that remain distinct when printed in grey. */
static const unsigned char heat_scale[][3] = {
	{ 255, 255, 255 }, { 198, 219, 239 }, { 107, 174, 214 },
	{ 33, 113, 181 },  { 8, 48, 107 },
};

/* Colour of a cell whose value is from 0 (white) to 1 (dark blue). */
static unsigned heat_colour(double value)
{
	double position =
		fmin(fmax(value, 0), 1) * (NP_ARRAY_SIZE(heat_scale) - 1);
	size_t i = (size_t)fmin(position, NP_ARRAY_SIZE(heat_scale) - 2);
	const unsigned char *below = heat_scale[i], *above = heat_scale[i + 1];
	unsigned rgb = 0;

	for (int k = 0; k < 3; k++)
		rgb = rgb << 8 |
		      (unsigned)lround(below[k] +
				       (position - (double)i) *
					       (above[k] - below[k]));
	return rgb;
}

/* Mark a cell whose value is unknown. */
static void draw_unknown(struct np_canvas *canvas, const struct np_box *box)
{
	const struct np_pen lines = {
		.line = LIGHT_GREY,
		.fill = NP_NO_COLOUR,
		.width = 0.8,
	};

	draw_hatching(canvas, box, RISING, &lines);
}

/* ---- Axes ---- */

/* Lengths in points. */
#define GAP 3.0		 /* between the frame and a text */
#define Y_NAME_MAX 110.0 /* a name on the y axis wider than this is cut */
#define X_NAME_MAX 80.0	 /* likewise a turned name on the x axis */
#define X_TICK_GAP 8.0	 /* least space between two labels of the x axis */
#define Y_TICK_GAP 4.0	 /* and of the y axis */

#define MAX_X_TICKS 10
#define MAX_Y_TICKS 7

/* A panel that is being drawn, and the box that contains its shapes. */
struct area {
	struct np_canvas *canvas;
	const struct np_panel *panel;
	struct np_box box;
	double x_lo, x_hi, y_lo, y_hi;
	struct np_ticks x_ticks, y_ticks; /* set by draw_grid() */
};

/* Convert values to points on the page; NaN where a logarithm has no value. */

static double to_page_x(const struct area *area, double x)
{
	return area->box.x + area->box.w * np_axis_position(&area->panel->x, x,
							    area->x_lo,
							    area->x_hi);
}

static double to_page_y(const struct area *area, double y)
{
	return area->box.y +
	       area->box.h * (1 - np_axis_position(&area->panel->y, y,
						   area->y_lo, area->y_hi));
}

/* Width of the widest name of an axis, at most `most`. */
static double widest_name(const struct np_axis *axis, double most)
{
	double width = 0;

	for (size_t i = 0; i < axis->n_names; i++)
		width = fmax(width, np_text_width(axis->name[i], SMALL_SIZE));
	return fmin(width, most);
}

/* Find the smallest gap between the labels of an axis with this length. */
static double label_gap(const struct np_axis *axis,
			const struct np_ticks *ticks, double lo, double hi,
			double length, bool is_y)
{
	double smallest = INFINITY;

	for (size_t i = 0; i + 1 < ticks->n; i++) {
		double distance =
			length *
			(np_axis_position(axis, ticks->at[i + 1], lo, hi) -
			 np_axis_position(axis, ticks->at[i], lo, hi));
		double widths = np_text_width(ticks->label[i], SMALL_SIZE) +
				np_text_width(ticks->label[i + 1], SMALL_SIZE);

		smallest = fmin(smallest,
				distance - (is_y ? SMALL_SIZE : widths / 2));
	}
	return smallest;
}

/*
 * Find as many marks for an axis of this length in points as fit without their
 * labels touching, but at least two.
 */
static void fit_ticks(const struct np_axis *axis, double lo, double hi,
		      double length, bool is_y, struct np_ticks *ticks)
{
	size_t most = is_y ? MAX_Y_TICKS : MAX_X_TICKS;
	double least_gap = is_y ? Y_TICK_GAP : X_TICK_GAP;

	np_axis_ticks(axis, lo, hi, most, ticks);
	while (most > 2 &&
	       label_gap(axis, ticks, lo, hi, length, is_y) <= least_gap)
		np_axis_ticks(axis, lo, hi, --most, ticks);
}

/* Whether the names of an x axis are too wide to be written horizontally. */
static bool must_turn(const struct np_axis *axis, double width)
{
	double width_per_name = width / fmax(1, (double)axis->n_names);

	return widest_name(axis, INFINITY) + 6 > width_per_name;
}

/* Width of the labels left of the box. */
static double width_left(const struct np_panel *panel)
{
	double left = GAP, lo, hi;
	struct np_ticks ticks;

	if (panel->y.kind == NP_AXIS_NAMES)
		left += widest_name(&panel->y, Y_NAME_MAX);
	np_figure_find_range(panel, true, &lo, &hi);
	fit_ticks(&panel->y, lo, hi, 100, true, &ticks);
	for (size_t i = 0; i < ticks.n; i++)
		left = fmax(left,
			    GAP + np_text_width(ticks.label[i], SMALL_SIZE));
	return left + (panel->y.label && *panel->y.label ? TEXT_SIZE + 7 : 2);
}

/* How far labels of the x axis extend to the right of a box of this width. */
static double overhang_right(const struct np_panel *panel, double width)
{
	double lo, hi, right = 0;
	struct np_ticks ticks;

	if (panel->x.kind == NP_AXIS_NAMES)
		return 0;
	np_figure_find_range(panel, false, &lo, &hi);
	fit_ticks(&panel->x, lo, hi, width, false, &ticks);
	for (size_t i = 0; i < ticks.n; i++) {
		double half = np_text_width(ticks.label[i], SMALL_SIZE) / 2;
		double from_end =
			1 - np_axis_position(&panel->x, ticks.at[i], lo, hi);

		right = fmax(right, half - width * from_end);
	}
	return right;
}

/* Whether a name other than the i-th is the same text when cut. */
static bool is_ambiguous(const struct np_axis *axis, size_t i, double width,
			 const char *cut)
{
	char other[NAME_BYTES];

	for (size_t k = 0; k < axis->n_names; k++)
		if (k != i &&
		    !strcmp(cut, np_text_fit(axis->name[k], SMALL_SIZE, width,
					     other, sizeof(other))))
			return true;
	return false;
}

/*
 * Name i of an axis, cut to the width. If it would then be the same as another
 * name, it ends in its number.
 */
static const char *axis_name(const struct np_axis *axis, size_t i, double width,
			     char buf[NAME_BYTES])
{
	char number[24];

	np_text_fit(axis->name[i], SMALL_SIZE, width, buf, NAME_BYTES);
	if (!strcmp(axis->name[i], buf) || !is_ambiguous(axis, i, width, buf))
		return buf;
	snprintf(number, sizeof(number), "%zu", i + 1);
	np_text_fit(axis->name[i], SMALL_SIZE,
		    width - np_text_width(number, SMALL_SIZE), buf,
		    NAME_BYTES - sizeof(number));
	return strcat(buf, number);
}

/* Height of the labels below a box of this width. */
static double height_below(const struct np_panel *panel, double width)
{
	double below = GAP + TEXT_SIZE;

	if (panel->x.kind == NP_AXIS_NAMES && must_turn(&panel->x, width))
		below = GAP + widest_name(&panel->x, X_NAME_MAX);
	return below + (panel->x.label && *panel->x.label ? TEXT_SIZE + 5 : 2);
}

static const struct np_pen grid = {
	.line = LIGHT_GREY,
	.fill = NP_NO_COLOUR,
	.width = 0.5,
};
static const struct np_pen frame = {
	.line = GREY,
	.fill = NP_NO_COLOUR,
	.width = 0.7,
};

/* Draw the grid lines, which the shapes cover later. */
static void draw_grid(struct area *area)
{
	const struct np_box *box = &area->box;

	fit_ticks(&area->panel->x, area->x_lo, area->x_hi, box->w, false,
		  &area->x_ticks);
	fit_ticks(&area->panel->y, area->y_lo, area->y_hi, box->h, true,
		  &area->y_ticks);
	for (size_t i = 0; i < area->x_ticks.n; i++) {
		double x = to_page_x(area, area->x_ticks.at[i]);

		draw_segment(area->canvas, x, box->y, x, box->y + box->h,
			     &grid);
	}
	for (size_t i = 0; i < area->y_ticks.n; i++) {
		double y = to_page_y(area, area->y_ticks.at[i]);

		draw_segment(area->canvas, box->x, y, box->x + box->w, y,
			     &grid);
	}
}

/* Write a text of the small size, in black. */
static void write_label(const struct area *area, double x, double y,
			const char *text, enum np_align align, bool turned)
{
	const struct np_type type = {
		.size = SMALL_SIZE,
		.align = align,
		.turned = turned,
	};

	area->canvas->text(area->canvas, x, y, text, &type);
}

/* Draw names or marks below the box; names are turned if they are too wide. */
static void draw_x_marks(const struct area *area)
{
	const struct np_axis *axis = &area->panel->x;
	bool turned = must_turn(axis, area->box.w);
	double bottom = area->box.y + area->box.h;
	char cut[NAME_BYTES];

	for (size_t i = 0; i < axis->n_names; i++) {
		double x = to_page_x(area, (double)i);

		if (turned)
			write_label(area, x + 3, bottom + GAP,
				    axis_name(axis, i, X_NAME_MAX, cut),
				    NP_RIGHT, true);
		else
			write_label(area, x, bottom + GAP + SMALL_SIZE,
				    axis->name[i], NP_CENTRE, false);
	}
	for (size_t i = 0; i < area->x_ticks.n; i++) {
		double x = to_page_x(area, area->x_ticks.at[i]);

		draw_segment(area->canvas, x, bottom, x, bottom - 3, &frame);
		write_label(area, x, bottom + GAP + SMALL_SIZE,
			    area->x_ticks.label[i], NP_CENTRE, false);
	}
}

/* Draw names or marks left of the box. */
static void draw_y_marks(const struct area *area)
{
	const struct np_axis *axis = &area->panel->y;
	double left = area->box.x;
	char cut[NAME_BYTES];

	for (size_t i = 0; i < axis->n_names; i++)
		write_label(area, left - GAP, to_page_y(area, (double)i) + 3,
			    axis_name(axis, i, Y_NAME_MAX, cut), NP_RIGHT,
			    false);
	for (size_t i = 0; i < area->y_ticks.n; i++) {
		double y = to_page_y(area, area->y_ticks.at[i]);

		draw_segment(area->canvas, left, y, left + 3, y, &frame);
		write_label(area, left - GAP, y + 3, area->y_ticks.label[i],
			    NP_RIGHT, false);
	}
}

/*
 * Draw the labels of both axes. left is the width of everything left of the
 * box. A label that is longer than the y axis is drawn smaller, and cut if it
 * is still too long.
 */
static void draw_labels(const struct area *area, double left)
{
	struct np_type type = { .size = TEXT_SIZE, .align = NP_CENTRE };
	char cut[NAME_BYTES];
	double width;

	if (area->panel->x.label)
		area->canvas->text(area->canvas, area->box.x + area->box.w / 2,
				   area->box.y + area->box.h - 2 +
					   height_below(area->panel,
							area->box.w),
				   area->panel->x.label, &type);
	if (!area->panel->y.label)
		return;
	width = np_text_width(area->panel->y.label, TEXT_SIZE);
	if (width > area->box.h)
		type.size = fmax(SMALL_SIZE, TEXT_SIZE * area->box.h / width);
	type.turned = true;
	np_text_fit(area->panel->y.label, type.size, area->box.h, cut,
		    sizeof(cut));
	area->canvas->text(area->canvas, area->box.x - left + TEXT_SIZE - 1,
			   area->box.y + area->box.h / 2, cut, &type);
}

/* Draw frame, marks, names and labels, on top of the shapes. */
static void draw_axes(const struct area *area, double left)
{
	draw_box(area->canvas, &area->box, &frame);
	draw_x_marks(area);
	draw_y_marks(area);
	draw_labels(area, left);
}

/* ---- Shapes ---- */

#define HALF_CAP 2.0  /* half the width of the ends of an interval, points */
#define BAR_SHARE 0.7 /* width of a bar, as a part of the space of its name */

/* A path. xy has room for all points, also those that cannot be drawn. */
struct path {
	double *xy;
	size_t n;
};

/* Append a point, unless it cannot be drawn. */
static void add_point(const struct area *area, struct path *path, double x,
		      double y)
{
	double page_x = to_page_x(area, x), page_y = to_page_y(area, y);

	/* On a logarithmic axis 0 is drawn at the lower end. */
	if (page_y == INFINITY)
		page_y = area->box.y + area->box.h;
	if (page_x == -INFINITY)
		page_x = area->box.x;
	if (!isfinite(page_x) || !isfinite(page_y))
		return;
	path->xy[2 * path->n] = page_x;
	path->xy[2 * path->n++ + 1] = page_y;
}

/* A pen that fills without an outline. */
static struct np_pen fill_pen(unsigned style, double opacity)
{
	return (struct np_pen){
		.line = NP_NO_COLOUR,
		.fill = style_colour(style),
		.opacity = opacity,
	};
}

/* The outline follows the lower edge to the right, and the upper edge back. */
static void draw_band(const struct area *area, const struct np_shape *shape)
{
	const struct np_pen pen = fill_pen(shape->style, 0.18);
	struct path path = { calloc(4 * shape->n + 1, sizeof(*path.xy)), 0 };

	for (size_t i = 0; path.xy && i < shape->n; i++)
		add_point(area, &path, shape->datum[i].x, shape->datum[i].low);
	for (size_t i = shape->n; path.xy && i--;)
		add_point(area, &path, shape->datum[i].x, shape->datum[i].high);
	if (path.n > 2)
		area->canvas->path(area->canvas, path.xy, path.n, true, &pen);
	free(path.xy);
}

/*
 * Draw n adjacent steps, the last of which ends at datum[n]. They are filled
 * down to the axis, so that overlapping ones are distinct.
 */
static void draw_steps(const struct area *area, const struct np_shape *shape,
		       const struct np_datum *datum, size_t n)
{
	const struct np_pen line = style_line(shape->style, 1.2);
	const struct np_pen pen = fill_pen(shape->style, 0.2);
	struct path path = { calloc(4 * n + 5, sizeof(*path.xy)), 0 };

	if (!path.xy)
		return;
	add_point(area, &path, datum[0].x, area->y_lo);
	for (size_t i = 0; i < n; i++) {
		add_point(area, &path, datum[i].x, datum[i].y);
		add_point(area, &path, datum[i + 1].x, datum[i].y);
	}
	add_point(area, &path, datum[n].x, area->y_lo);
	if (path.n > 2) {
		area->canvas->path(area->canvas, path.xy, path.n, true, &pen);
		area->canvas->path(area->canvas, path.xy, path.n, false, &line);
	}
	free(path.xy);
}

/* Nothing is drawn where a step has no value. */
static void draw_step(const struct area *area, const struct np_shape *shape)
{
	size_t n;

	for (size_t i = 0; i + 1 < shape->n; i += n + 1) {
		n = 0;
		while (i + n + 1 < shape->n && isfinite(shape->datum[i + n].y))
			n++;
		if (n)
			draw_steps(area, shape, &shape->datum[i], n);
	}
}

/* Draw a line through all points that can be drawn. */
static void draw_line(const struct area *area, const struct np_shape *shape)
{
	const struct np_pen pen = style_line(shape->style, 1.3);
	struct path path = { calloc(2 * shape->n + 1, sizeof(*path.xy)), 0 };

	for (size_t i = 0; path.xy && i < shape->n; i++)
		add_point(area, &path, shape->datum[i].x, shape->datum[i].y);
	if (path.n > 1)
		area->canvas->path(area->canvas, path.xy, path.n, false, &pen);
	free(path.xy);
}

/* Draw a line with a cap at both ends, if all its points can be drawn. */
static void draw_interval(const struct area *area, const struct np_shape *shape,
			  const struct np_datum *datum)
{
	const struct np_pen pen = {
		.line = style_colour(shape->style),
		.fill = NP_NO_COLOUR,
		.width = 0.9,
	};
	double x = to_page_x(area, datum->x);
	double low = to_page_y(area, datum->low),
	       high = to_page_y(area, datum->high);

	if (!isfinite(x) || !isfinite(low) || !isfinite(high))
		return;
	draw_segment(area->canvas, x, low, x, high, &pen);
	draw_segment(area->canvas, x - HALF_CAP, low, x + HALF_CAP, low, &pen);
	draw_segment(area->canvas, x - HALF_CAP, high, x + HALF_CAP, high,
		     &pen);
}

/* A mark covers its interval, which is drawn first. */
static void draw_points(const struct area *area, const struct np_shape *shape)
{
	for (size_t i = 0; i < shape->n; i++) {
		double x = to_page_x(area, shape->datum[i].x);
		double y = to_page_y(area, shape->datum[i].y);

		draw_interval(area, shape, &shape->datum[i]);
		if (isfinite(x) && isfinite(y))
			draw_mark(area->canvas, shape->style, x, y);
	}
}

/* ---- Filled rectangles: regions, bars, spans and cells ---- */

/* Set the start and length of a range. Returns false if it cannot be drawn. */
static bool set_extent(double from, double to, double *start, double *length)
{
	*start = fmin(from, to);
	*length = fabs(to - from);
	return isfinite(*start) && isfinite(*length) && *length > 0;
}

/* Find the rectangle of a datum. Returns false if there is nothing to draw. */
static bool find_rectangle(const struct area *area, enum np_shape_kind kind,
			   const struct np_datum *datum, struct np_box *box)
{
	double half = BAR_SHARE / 2;

	*box = area->box;
	if (kind == NP_SHAPE_REGION)
		return set_extent(fmax(to_page_x(area, datum->low), box->x),
				  fmin(to_page_x(area, datum->high),
				       box->x + box->w),
				  &box->x, &box->w);
	if (kind == NP_SHAPE_BARS)
		return set_extent(to_page_y(area, datum->low),
				  to_page_y(area, datum->high), &box->y,
				  &box->h) &&
		       set_extent(to_page_x(area, datum->x - half),
				  to_page_x(area, datum->x + half), &box->x,
				  &box->w);
	return set_extent(to_page_x(area, datum->low),
			  to_page_x(area, datum->high), &box->x, &box->w) &&
	       set_extent(to_page_y(area, datum->y - half),
			  to_page_y(area, datum->y + half), &box->y, &box->h);
}

/* Draw regions, bars or spans. */
static void draw_rectangles(const struct area *area,
			    const struct np_shape *shape)
{
	struct np_box box;

	for (size_t i = 0; i < shape->n; i++)
		if (find_rectangle(area, shape->kind, &shape->datum[i], &box))
			draw_rectangle(area->canvas, shape->style, &box);
}

#define DARK 0.55	    /* text is white in cells above this value */
#define LEAST_CELL_SIZE 5.0 /* of the font, points */

/*
 * Write a line into a cell, in a smaller font if it is too wide, and cut if it
 * still does not fit. value is that of the cell.
 */
static void write_cell_line(const struct area *area, const struct np_box *box,
			    double y, double size, double value,
			    const char *text)
{
	struct np_type type = { .size = size, .align = NP_CENTRE };
	char cut[CELL_BYTES];

	type.colour = isnan(value) ? GREY : value > DARK ? NP_WHITE : NP_BLACK;
	while (type.size > LEAST_CELL_SIZE &&
	       np_text_width(text, type.size) > box->w - 2)
		type.size -= 0.5;
	np_text_fit(text, type.size, box->w - 1, cut, sizeof(cut));
	/* 0.36 of the size: half the height of a capital letter. */
	area->canvas->text(area->canvas, box->x + box->w / 2,
			   y + type.size * 0.36, cut, &type);
}

/* Write one line, or two separated by '|', the second one smaller. */
static void write_cell_text(const struct area *area, const struct np_box *box,
			    double value, const char *text)
{
	const char *second = strchr(text, '|');
	double middle = box->y + box->h / 2;
	char first[CELL_BYTES];

	if (!second) {
		write_cell_line(area, box, middle, SMALL_SIZE, value, text);
		return;
	}
	snprintf(first, sizeof(first), "%.*s", (int)(second - text), text);
	write_cell_line(area, box, middle - 4, SMALL_SIZE, value, first);
	write_cell_line(area, box, middle + 5, CELL_SIZE, value, second + 1);
}

/* Cells are shaded by value; unknown ones are hatched. */
static void draw_cells(const struct area *area, const struct np_shape *shape)
{
	struct np_pen pen = {
		.line = NP_WHITE,
		.width = 1,
		.opacity = 1,
	};

	for (size_t i = 0; i < shape->n; i++) {
		const struct np_datum *datum = &shape->datum[i];
		struct np_box box = {
			to_page_x(area, datum->x - 0.5),
			to_page_y(area, datum->y - 0.5),
			0,
			0,
		};

		box.w = to_page_x(area, datum->x + 0.5) - box.x;
		box.h = to_page_y(area, datum->y + 0.5) - box.y;
		pen.fill = isnan(datum->low) ? NP_WHITE :
					       heat_colour(datum->low);
		draw_box(area->canvas, &box, &pen);
		if (isnan(datum->low))
			draw_unknown(area->canvas, &box);
		if (datum->text)
			write_cell_text(area, &box, datum->low, datum->text);
	}
}

static void draw_shape(const struct area *area, const struct np_shape *shape)
{
	static void (*const drawers[])(const struct area *area,
				       const struct np_shape *shape) = {
		[NP_SHAPE_BAND] = draw_band,
		[NP_SHAPE_REGION] = draw_rectangles,
		[NP_SHAPE_STEP] = draw_step,
		[NP_SHAPE_LINE] = draw_line,
		[NP_SHAPE_POINTS] = draw_points,
		[NP_SHAPE_BARS] = draw_rectangles,
		[NP_SHAPE_SPANS] = draw_rectangles,
		[NP_SHAPE_CELLS] = draw_cells,
	};

	drawers[shape->kind](area, shape);
}

/* ---- The page: title, panels with their legends, caption ---- */

/* Lengths in points. */
#define MARGIN 10.0
#define PAGE_WIDTH 420.0      /* 5.8 inches; still legible at half of that */
#define PAGE_WIDTH_MAX 1440.0 /* of a page with many cells */
#define BOX_HEIGHT 140.0      /* of a panel whose y axis has numbers */
#define ROW_HEIGHT 13.0	      /* of each name of a y axis */
#define CELL_WIDTH 38.0
#define CELL_HEIGHT 22.0
#define LINE_HEIGHT 11.0 /* of a line of the caption */
#define TITLE_HEIGHT 16.0
#define SAMPLE_WIDTH 18.0 /* of a style's sample in the legend */
#define ENTRY_HEIGHT 12.0 /* of a line of the legend */
#define ENTRY_GAP 10.0	  /* between two entries of a line of the legend */

/* Whether the panel is a matrix of cells. */
static bool has_cells(const struct np_panel *panel)
{
	return panel->n_shapes && panel->shape[0].kind == NP_SHAPE_CELLS;
}

/* Height of the box of a panel. */
static double box_height(const struct np_panel *panel)
{
	double n_rows = fmax(1, (double)panel->y.n_names);

	if (panel->y.kind != NP_AXIS_NAMES)
		return BOX_HEIGHT;
	return n_rows * (has_cells(panel) ? CELL_HEIGHT : ROW_HEIGHT);
}

/* Width of the space left of all boxes, so that the boxes are aligned. */
static double common_width_left(const struct np_figure *figure)
{
	double left = 0;

	for (size_t i = 0; i < figure->n_panels; i++)
		left = fmax(left, width_left(figure->panel[i]));
	return left;
}

/* Width of the boxes, such that the labels of all x axes are on the page. */
static double box_width(const struct np_figure *figure, double inner)
{
	double width = inner - common_width_left(figure), right = 0;

	for (size_t i = 0; i < figure->n_panels; i++)
		right = fmax(right, overhang_right(figure->panel[i], width));
	return width - fmax(0, right + 1 - MARGIN);
}

/* Width of the page: PAGE_WIDTH, unless cells need more. */
static double page_width(const struct np_figure *figure)
{
	double width = PAGE_WIDTH;

	for (size_t i = 0; i < figure->n_panels; i++) {
		double cells = CELL_WIDTH * (double)figure->panel[i]->x.n_names;

		if (has_cells(figure->panel[i]))
			width = fmax(width, common_width_left(figure) +
						    2 * MARGIN + cells);
	}
	return fmin(ceil(width), PAGE_WIDTH_MAX);
}

/*
 * Find how many of the n bytes of a word fit into a line, in whole characters
 * and at least one.
 */
static size_t fit_word(const char *word, size_t n, double width)
{
	size_t fit = char_bytes(word);
	double sum = char_width(word);

	while (fit < n) {
		size_t more = char_bytes(word + fit);

		sum += char_width(word + fit);
		if (sum * SMALL_SIZE > width || fit + more >= LINE_BYTES)
			break;
		fit += more;
	}
	return fit;
}

/*
 * Copy as many words of a text as fit into a line of this width. A word that is
 * wider than the line is broken. Returns the number of bytes copied, which is 0
 * only if the text is empty.
 */
static size_t fit_line(const char *text, double width, char line[LINE_BYTES])
{
	size_t n = 0;

	while (text[n]) {
		size_t word = strspn(text + n, " ");

		word += strcspn(text + n + word, " ");
		if (!n)
			word = fit_word(text, word, width);
		else if (n + word >= LINE_BYTES)
			break;
		memcpy(line + n, text + n, word);
		line[n + word] = '\0';
		if (n && np_text_width(line, SMALL_SIZE) > width)
			break;
		n += word;
	}
	line[n] = '\0';
	return n;
}

/*
 * Write a text below y, broken into lines, or only measure it if canvas is
 * NULL. Returns its height.
 */
static double write_paragraph(struct np_canvas *canvas, const char *text,
			      double y, double width)
{
	const struct np_type type = { .size = SMALL_SIZE, .colour = GREY };
	char line[LINE_BYTES];
	double height = 0;

	while (*text) {
		size_t n = fit_line(text, width, line);

		height += LINE_HEIGHT;
		if (canvas)
			canvas->text(canvas, MARGIN, y + height, line, &type);
		text += n + strspn(text + n, " ");
	}
	return height;
}

/*
 * Write a title below y, or only measure it if canvas is NULL. Returns its
 * height, which is 0 without a title.
 */
static double write_title(struct np_canvas *canvas, const char *text,
			  double size, double y, double width)
{
	const struct np_type type = { .size = size, .bold = true };
	char cut[LINE_BYTES];

	if (!text || !*text)
		return 0;
	/* np_text_width() is for the regular face; bold letters are wider. */
	np_text_fit(text, 1.15 * size, width, cut, sizeof(cut));
	if (canvas)
		canvas->text(canvas, MARGIN, y + TITLE_HEIGHT - 5, cut, &type);
	return TITLE_HEIGHT;
}

/* Width of a shape's entry in the legend, with the space after it. */
static double entry_width(const struct np_shape *shape)
{
	return SAMPLE_WIDTH + 4 + np_text_width(shape->name, SMALL_SIZE) +
	       ENTRY_GAP;
}

/* Draw the symbol of a shape in the legend. y: baseline of the text. */
static void draw_sample(struct np_canvas *canvas, const struct np_shape *shape,
			double x, double y)
{
	const struct np_box box = { x, y - 6.5, SAMPLE_WIDTH, 7 };
	struct np_pen line = style_line(shape->style, 1.3);
	const struct np_pen fill = fill_pen(shape->style, 0.2);

	switch (shape->kind) {
	case NP_SHAPE_BAND:
	case NP_SHAPE_STEP:
		draw_box(canvas, &box, &fill);
		if (shape->kind == NP_SHAPE_STEP)
			draw_segment(canvas, x, y - 6.5, x + SAMPLE_WIDTH,
				     y - 6.5, &line);
		break;
	case NP_SHAPE_LINE:
		draw_segment(canvas, x, y - 3, x + SAMPLE_WIDTH, y - 3, &line);
		break;
	case NP_SHAPE_POINTS:
		line.dash[0] = 0;
		line.width = 0.9;
		draw_segment(canvas, x + SAMPLE_WIDTH / 2, y - 8,
			     x + SAMPLE_WIDTH / 2, y + 2, &line);
		draw_mark(canvas, shape->style, x + SAMPLE_WIDTH / 2, y - 3);
		break;
	default:
		draw_rectangle(canvas, shape->style, &box);
	}
}

/*
 * Draw the legend above a panel, in as many lines as it needs, or only measure
 * it if canvas is NULL. Returns its height.
 */
static double draw_legend(struct np_canvas *canvas,
			  const struct np_panel *panel, double left, double y,
			  double width)
{
	const struct np_type type = { .size = SMALL_SIZE };
	double x = left, height = 0;
	char cut[LINE_BYTES];

	for (size_t i = 0; i < panel->n_shapes; i++) {
		const struct np_shape *shape = &panel->shape[i];

		if (!shape->name)
			continue;
		if (!height ||
		    x + entry_width(shape) > left + width + ENTRY_GAP) {
			x = left;
			height += ENTRY_HEIGHT;
		}
		if (canvas) {
			draw_sample(canvas, shape, x, y + height - 3);
			canvas->text(canvas, x + SAMPLE_WIDTH + 4,
				     y + height - 3,
				     np_text_fit(shape->name, SMALL_SIZE,
						 width - SAMPLE_WIDTH - 4, cut,
						 sizeof(cut)),
				     &type);
		}
		x += entry_width(shape);
	}
	return height + 3;
}

/* Height of a panel whose box has this width. */
static double panel_height(const struct np_panel *panel, double width)
{
	return write_title(NULL, panel->title, TEXT_SIZE, 0, width) +
	       draw_legend(NULL, panel, 0, 0, width) + box_height(panel) +
	       height_below(panel, width) + 8;
}

void np_plot_size(const struct np_figure *figure, double *width, double *height)
{
	double box, inner;

	*width = page_width(figure);
	inner = *width - 2 * MARGIN;
	box = box_width(figure, inner);
	*height = 2 * MARGIN;
	*height += write_title(NULL, figure->title, HEADING_SIZE, 0, inner);
	for (size_t i = 0; i < figure->n_panels; i++)
		*height += panel_height(figure->panel[i], box);
	if (figure->caption)
		*height += write_paragraph(NULL, figure->caption, 0, inner);
	*height = ceil(*height);
}

/* Draw title, legend, grid, shapes and axes, in this order. */
static void draw_panel(struct np_canvas *canvas, const struct np_panel *panel,
		       double y, double left, double width)
{
	struct area area = {
		.canvas = canvas,
		.panel = panel,
		.box = { MARGIN + left, y, width, box_height(panel) },
	};

	area.box.y += write_title(canvas, panel->title, TEXT_SIZE, y, width);
	area.box.y +=
		draw_legend(canvas, panel, area.box.x, area.box.y, area.box.w);
	np_figure_find_range(panel, false, &area.x_lo, &area.x_hi);
	np_figure_find_range(panel, true, &area.y_lo, &area.y_hi);
	draw_grid(&area);
	canvas->clip(canvas, &area.box);
	for (size_t i = 0; i < panel->n_shapes; i++)
		draw_shape(&area, &panel->shape[i]);
	canvas->clip(canvas, NULL);
	draw_axes(&area, left);
}

void np_plot_draw(const struct np_figure *figure, struct np_canvas *canvas)
{
	const struct np_pen white = {
		.line = NP_NO_COLOUR,
		.fill = NP_WHITE,
		.opacity = 1,
	};
	struct np_box page = { 0, 0, 0, 0 };
	double y = MARGIN, inner, box, left = common_width_left(figure);

	np_plot_size(figure, &page.w, &page.h);
	inner = page.w - 2 * MARGIN;
	box = box_width(figure, inner);
	draw_box(canvas, &page, &white);
	y += write_title(canvas, figure->title, HEADING_SIZE, y, inner);
	for (size_t i = 0; i < figure->n_panels; i++) {
		draw_panel(canvas, figure->panel[i], y, left, box);
		y += panel_height(figure->panel[i], box);
	}
	if (figure->caption)
		write_paragraph(canvas, figure->caption, y, inner);
}

/* ---- The file ---- */

/* Whether this build can write files of this kind. */
static bool is_supported(enum np_picture_kind kind)
{
#ifdef NP_NO_CAIRO
	return kind == NP_PICTURE_SVG;
#else
	(void)kind;
	return true;
#endif
}

int np_picture_kind(const char *path, enum np_picture_kind *kind,
		    struct np_err *err)
{
	static const char *const suffix[] = {
		[NP_PICTURE_SVG] = ".svg",
		[NP_PICTURE_PNG] = ".png",
		[NP_PICTURE_PDF] = ".pdf",
	};
	const char *name = strrchr(path, '/'), *dot;

	name = name ? name + 1 : path;
	dot = strrchr(name, '.');
	for (size_t i = 0; dot && dot != name && i < NP_ARRAY_SIZE(suffix); i++)
		if (!strcasecmp(dot, suffix[i])) {
			*kind = (enum np_picture_kind)i;
			return is_supported(*kind) ?
				       0 :
				       np_errf(err, -ENOTSUP,
					       "%s: expected a name that ends "
					       "in .svg, as this netprof was "
					       "built without cairo",
					       path);
		}
	return np_errf(err, -EINVAL,
		       "%s: expected a name that ends in .svg, .png or .pdf",
		       path);
}

/* Create a canvas of the size of the page. Returns NULL when out of memory. */
static struct np_canvas *create_canvas(const struct np_figure *figure,
				       enum np_picture_kind kind, FILE *out)
{
	double width, height;

	np_plot_size(figure, &width, &height);
#ifndef NP_NO_CAIRO
	if (kind == NP_PICTURE_PNG)
		return np_canvas_png(out, width, height);
	if (kind == NP_PICTURE_PDF)
		return np_canvas_pdf(out, width, height, figure->title,
				     figure->date);
#endif
	return is_supported(kind) ? svg_new(out, width, height, figure->title) :
				    NULL;
}

/* Draw a figure into a file. */
static int write_file(const struct np_figure *figure, enum np_picture_kind kind,
		      FILE *out)
{
	struct np_canvas *canvas = create_canvas(figure, kind, out);

	if (!canvas)
		return -ENOMEM;
	np_plot_draw(figure, canvas);
	return canvas->end(canvas);
}

int np_picture_make(const struct np_figure *figure, enum np_picture_kind kind,
		    char **out, size_t *len, struct np_err *err)
{
	char *data = NULL;
	double width, height;
	FILE *file;
	int rc;

	if (figure->no_memory)
		return np_errf(err, -ENOMEM, "out of memory");
	if (!figure->n_panels)
		return np_errf(err, -EINVAL, "the figure has no panel");
	np_plot_size(figure, &width, &height);
	if (kind == NP_PICTURE_PNG && fmax(width, height) > NP_PNG_MAX)
		return np_errf(err, -EINVAL,
			       "the picture is too large for PNG: expected a "
			       "name that ends in .svg or .pdf");
	file = open_memstream(&data, len);
	rc = file ? write_file(figure, kind, file) : -ENOMEM;
	if (file && fclose(file) && !rc)
		rc = -ENOMEM;
	if (rc) {
		free(data);
		return np_errf(err, rc, "the picture: %s", strerror(-rc));
	}
	*out = data;
	return 0;
}
