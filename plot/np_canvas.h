/*
 * A drawing surface for lines, filled areas and text. Coordinates are points
 * (1/72 inch), counted from the upper left corner.
 *
 * The SVG canvas of np_picture.c writes text as text, so that a reader can
 * search and edit it, and needs neither cairo nor any font. np_canvas_cairo.c
 * provides PNG and PDF and is left out of builds without cairo.
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

/* Longest side of a PNG, points; cairo's limit is 32767 pixels. */
#define NP_PNG_MAX 13100.0

/* A rectangle, in points. */
struct np_box {
	double x, y, w, h;
};

/* How a path is drawn. */
struct np_pen {
	unsigned line, fill; /* 0xrrggbb, or NP_NO_COLOUR */
	double width;	     /* of the line, points */
	double opacity;	     /* of the fill, 0 to 1 */
	double dash[2];	     /* lengths of dash and gap, points; 0: solid */
};

enum np_align { NP_LEFT, NP_CENTRE, NP_RIGHT };

/* How a text is drawn. */
struct np_type {
	double size;	     /* of the font, points */
	enum np_align align; /* which point of the text lies at x */
	bool bold;
	bool turned;	 /* runs upwards, as labels of the y axis do */
	unsigned colour; /* 0xrrggbb */
};

/* The operations of a canvas. */
struct np_canvas {
	/*
	 * Draw a line through n points, and fill the area inside. xy: n pairs
	 * of finite coordinates; closed: the last point joins the first one.
	 */
	void (*path)(struct np_canvas *canvas, const double *xy, size_t n,
		     bool closed, const struct np_pen *pen);
	/* Draw a line of text with its baseline at y. */
	void (*text)(struct np_canvas *canvas, double x, double y,
		     const char *text, const struct np_type *type);
	/* Restrict all further drawing to box; NULL: lift the restriction. */
	void (*clip)(struct np_canvas *canvas, const struct np_box *box);
	/* Write buffered output and free the canvas. Returns 0 or -errno. */
	int (*end)(struct np_canvas *canvas);
};

/*
 * Create a canvas of a size in points. out is borrowed until end(). Returns
 * NULL when out of memory.
 */
struct np_canvas *np_canvas_png(FILE *out, double width, double height);
/* date: creation date to record in the file, seconds since the epoch. */
struct np_canvas *np_canvas_pdf(FILE *out, double width, double height,
				const char *title, double date);

#endif
