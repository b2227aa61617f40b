#include "np_ink.h"

#include <math.h>

#include "np_figure.h"

#define HATCH 4.0 /* points between two lines of a pattern */
#define MARK 2.6  /* half of a mark's width */

enum { UP = 1, DOWN = 2, ACROSS = 4, UPRIGHT = 8 };

static const struct {
	unsigned colour;
	double dash[2];
	int sides;   /* of the mark; 0: a circle */
	double turn; /* of its first corner, in quarters */
	int hatch;
} styles[NP_STYLES] = {
	{ 0x0072b2, { 0, 0 }, 0, 0, 0 },	   /* blue */
	{ 0xd55e00, { 6, 2.5 }, 4, 0.5, UP },	   /* vermillion */
	{ 0x009e73, { 1.5, 2 }, 3, -1, DOWN },	   /* bluish green */
	{ 0xe69f00, { 9, 2 }, 4, 0, ACROSS },	   /* orange */
	{ 0xcc79a7, { 3, 1.5 }, 3, 1, UPRIGHT },   /* reddish purple */
	{ 0x56b4e9, { 4, 4 }, 5, -1, UP | DOWN },  /* sky blue */
	{ 0x000000, { 1, 1 }, 6, 0, ACROSS | UPRIGHT }, /* black */
	{ 0x7f7f7f, { 2.5, 2 }, 4, 0.5, 0 },	   /* grey: NP_STYLE_QUIET */
};

unsigned np_ink_colour(unsigned style)
{
	return styles[style].colour;
}

struct np_pen np_ink_line(unsigned style, double width)
{
	return (struct np_pen){
		.line = styles[style].colour, .fill = NP_NO_COLOUR,
		.width = width,
		.dash = { styles[style].dash[0], styles[style].dash[1] },
	};
}

void np_ink_mark(struct np_canvas *c, unsigned style, double x, double y)
{
	const struct np_pen pen = {
		.line = NP_WHITE, .fill = styles[style].colour, .width = 0.5,
		.opacity = 1,
	};
	int n = styles[style].sides ? styles[style].sides : 16;
	double xy[2 * 16];

	for (int i = 0; i < n; i++) {
		double angle = (styles[style].turn + 4.0 * i / n) * M_PI / 2;

		xy[2 * i] = x + MARK * cos(angle) * (n < 16 ? 1.2 : 1);
		xy[2 * i + 1] = y + MARK * sin(angle) * (n < 16 ? 1.2 : 1);
	}
	c->path(c, xy, (size_t)n, true, &pen);
}

/*
 * Lines y = slope x + k within the box, for every k that is a multiple of
 * HATCH, so that neighbouring fields fit together.
 */
static void slanted(struct np_canvas *c, const struct np_box *b, double slope,
		    const struct np_pen *pen)
{
	double right = b->x + b->w, bottom = b->y + b->h;
	double from = b->y - fmax(slope * b->x, slope * right);
	double to = bottom - fmin(slope * b->x, slope * right);

	for (double k = ceil(from / HATCH) * HATCH; k < to; k += HATCH) {
		double at_top = (b->y - k) / slope;
		double at_bottom = (bottom - k) / slope;
		double x0 = fmax(b->x, fmin(at_top, at_bottom));
		double x1 = fmin(right, fmax(at_top, at_bottom));

		if (x0 < x1)
			np_canvas_line(c, x0, slope * x0 + k, x1,
				       slope * x1 + k, pen);
	}
}

static void straight(struct np_canvas *c, const struct np_box *b, bool upright,
		     const struct np_pen *pen)
{
	double from = upright ? b->x : b->y;
	double to = from + (upright ? b->w : b->h);

	for (double k = floor(from / HATCH + 1) * HATCH; k < to; k += HATCH)
		if (upright)
			np_canvas_line(c, k, b->y, k, b->y + b->h, pen);
		else
			np_canvas_line(c, b->x, k, b->x + b->w, k, pen);
}

static void hatch(struct np_canvas *c, const struct np_box *b, int which,
		  const struct np_pen *pen)
{
	if (which & UP)
		slanted(c, b, -1, pen);
	if (which & DOWN)
		slanted(c, b, 1, pen);
	if (which & ACROSS)
		straight(c, b, false, pen);
	if (which & UPRIGHT)
		straight(c, b, true, pen);
}

void np_ink_field(struct np_canvas *c, unsigned style,
		  const struct np_box *box)
{
	const struct np_pen lines = {
		.line = styles[style].colour, .fill = NP_NO_COLOUR,
		.width = 0.6,
	};
	const struct np_pen field = {
		.line = box->w >= 1 && box->h >= 1 ? styles[style].colour :
						     NP_NO_COLOUR,
		.fill = styles[style].colour, .width = 0.5,
		.opacity = !styles[style].hatch ? 0.75 : 0.3,
	};

	np_canvas_box(c, box, &field);
	if (box->w >= HATCH / 2 && box->h >= HATCH / 2)
		hatch(c, box, styles[style].hatch, &lines);
}

/* Blue of rising darkness; of the same hue, so that prints in grey read. */
static const unsigned char heat[][3] = {
	{ 255, 255, 255 }, { 198, 219, 239 }, { 107, 174, 214 },
	{ 33, 113, 181 }, { 8, 48, 107 },
};

unsigned np_ink_heat(double v)
{
	double at = fmin(fmax(v, 0), 1) * (NP_ARRAY_SIZE(heat) - 1);
	size_t i = (size_t)fmin(at, NP_ARRAY_SIZE(heat) - 2);
	unsigned rgb = 0;

	for (int k = 0; k < 3; k++)
		rgb = rgb << 8 |
		      (unsigned)lround(heat[i][k] + (at - (double)i) *
				       (heat[i + 1][k] - heat[i][k]));
	return rgb;
}

unsigned np_ink_on_heat(double v)
{
	return v > 0.55 ? NP_WHITE : NP_BLACK;
}

void np_ink_unknown(struct np_canvas *c, const struct np_box *box)
{
	const struct np_pen lines = {
		.line = NP_PALE, .fill = NP_NO_COLOUR, .width = 0.8,
	};

	hatch(c, box, UP, &lines);
}
