/*
 * Something to draw on: lines, fields and text, in points (1/72 inch) from the
 * upper left corner.  np_canvas_svg.c writes what it is told as SVG, with text
 * as text, so that it can be searched and edited and does not depend on
 * anybody's fonts or cairo; np_canvas_cairo.c makes PNG and PDF.
 */
#ifndef NP_CANVAS_H
#define NP_CANVAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "np_err.h"

#define NP_NO_COLOUR (~0u)
#define NP_WHITE 0xffffffu
#define NP_BLACK 0x000000u

struct np_box {
	double x, y, w, h;
};

struct np_pen {
	unsigned line, fill; /* 0xrrggbb, or NP_NO_COLOUR */
	double width;	     /* of the line */
	double opacity;	     /* of the fill, 0 .. 1 */
	double dash[2];	     /* drawn, left out; 0: a whole line */
};

enum np_align { NP_LEFT, NP_CENTRE, NP_RIGHT };

struct np_type {
	double size;
	enum np_align align; /* where x is */
	bool bold, turned;   /* upwards, for the y axis */
	unsigned colour;
};

struct np_canvas {
	/* n points, x and y in turn, of numbers that are finite. */
	void (*path)(struct np_canvas *c, const double *xy, size_t n,
		     bool closed, const struct np_pen *pen);
	/* y is the line that letters stand on. */
	void (*text)(struct np_canvas *c, double x, double y,
		     const char *text, const struct np_type *type);
	/* From now on nothing is drawn outside; NULL: everywhere again. */
	void (*clip)(struct np_canvas *c, const struct np_box *box);
	/* Write what is left and free c.  Returns 0 or -errno. */
	int (*end)(struct np_canvas *c);
};

/* All write to out (borrowed).  NULL: out of memory. */
struct np_canvas *np_canvas_svg(FILE *out, double width, double height,
				const char *title);
struct np_canvas *np_canvas_png(FILE *out, double width, double height);
/* date: for the file to say, seconds since 1970. */
struct np_canvas *np_canvas_pdf(FILE *out, double width, double height,
				const char *title, double date);

void np_canvas_box(struct np_canvas *c, const struct np_box *box,
		   const struct np_pen *pen);
void np_canvas_line(struct np_canvas *c, double x0, double y0, double x1,
		    double y1, const struct np_pen *pen);

/* How wide a text gets, at most: as in DejaVu Sans, a wide font. */
double np_text_width(const char *text, double size);

/*
 * text, or as much of its beginning as fits into width with "~" behind it, in
 * buf of len bytes.
 */
const char *np_text_fit(const char *text, double size, double width, char *buf,
			size_t len);

#endif
