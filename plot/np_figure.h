/*
 * What a picture shows: panels below each other, each with two axes and with
 * shapes between them.  It knows nothing of what is measured, and nothing of
 * how it is drawn; np_picture.h makes a file of it.
 *
 * All texts and numbers are copied.  A figure that memory was short for stays
 * usable and is refused when it is drawn, so that filling it needs no checks.
 * Numbers that are not finite are left out of the drawing.
 */
#ifndef NP_FIGURE_H
#define NP_FIGURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "np_ticks.h"

enum np_axis_kind {
	NP_AXIS_LINEAR,
	NP_AXIS_LOG,	 /* values above 0 */
	NP_AXIS_SECONDS, /* logarithmic, of seconds: "10 us", "1 ms" */
	NP_AXIS_NAMES,	 /* value i is the name i; a y axis goes downwards */
};

struct np_axis {
	enum np_axis_kind kind;
	char *label; /* with its unit: "Slowdown (%)" */
	double lo, hi; /* NaN: as far as the shapes go */
	char **name; /* of NP_AXIS_NAMES */
	size_t n_names;
};

enum np_shape_kind {
	NP_SHAPE_BAND,	 /* between low and high over x */
	NP_SHAPE_ZONE,	 /* all heights between low and high on x */
	NP_SHAPE_STEP,	 /* y from x to the next x; the last y is not drawn */
	NP_SHAPE_LINE,	 /* through (x, y) */
	NP_SHAPE_POINTS, /* at (x, y), with intervals low to high */
	NP_SHAPE_BARS,	 /* upright, at name x from low to high */
	NP_SHAPE_SPANS,	 /* lying, at name y from low to high */
	NP_SHAPE_CELLS,	 /* a field (name x, name y) of colour low, with text */
};

/* Of what its kind does not have, or is not known, NaN. */
struct np_datum {
	double x, y, low, high;
	char *text; /* of cells */
};

struct np_shape {
	enum np_shape_kind kind;
	unsigned style; /* colour, line, mark and pattern: NP_STYLES of them */
	char *name;	/* in the legend; NULL: not there */
	struct np_datum *at;
	size_t n;
};

#define NP_STYLES 8
#define NP_STYLE_QUIET (NP_STYLES - 1) /* grey: what others are compared to */

struct np_panel {
	char *title;
	struct np_axis x, y;
	struct np_shape *shape;
	size_t n_shapes;
};

struct np_figure {
	char *title, *caption;
	double date; /* of the newest measurement, seconds since 1970; or 0 */
	struct np_panel **panel;
	size_t n_panels;
	bool no_memory;
};

/* NULL: out of memory.  Free with np_figure_free(). */
struct np_figure *np_figure_new(const char *title);
void np_figure_free(struct np_figure *f); /* NULL is allowed */

/* What stands below the last panel. */
void np_figure_caption(struct np_figure *f, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Each of these returns NULL without memory, and each takes a NULL that
 * another returned.
 */
struct np_panel *np_figure_panel(struct np_figure *f, const char *title);

/* label: as in np_axis; names are added by np_axis_name(). */
void np_figure_axis(struct np_figure *f, struct np_axis *a,
		    enum np_axis_kind kind, const char *label);
void np_figure_name(struct np_figure *f, struct np_axis *a, const char *name);

/*
 * name NULL: not in the legend.  What it returns is valid until the next one
 * of its panel.
 */
struct np_shape *np_figure_shape(struct np_figure *f, struct np_panel *p,
				 enum np_shape_kind kind, unsigned style,
				 const char *name);

/* One more, as in np_datum. */
void np_figure_add(struct np_figure *f, struct np_shape *s, double x, double y,
		   double low, double high);
/* One more field; colour: 0 .. 1, NaN: not known. */
void np_figure_cell(struct np_figure *f, struct np_shape *s, double x,
		    double y, double colour, const char *text);

/*
 * The ends of an axis (y: the upright one): those that were given, else as far
 * as the shapes go, with some room above and below.  *lo < *hi; above 0 for a
 * logarithmic axis.
 */
void np_figure_range(const struct np_panel *p, bool y, double *lo,
		     double *hi);

/* Its marks between these ends, at most so many; none where it has names. */
void np_axis_ticks(const struct np_axis *a, double lo, double hi, size_t most,
		   struct np_ticks *out);

/*
 * Where v is between these ends: 0 at lo, 1 at hi.  On a logarithmic axis 0 is
 * infinitely far below, and less than 0 is NaN.
 */
double np_axis_place(const struct np_axis *a, double v, double lo, double hi);

/*
 * np_figure_text.c: on a terminal: steps, lines and points in cells of
 * characters, with axes and a legend.  Other shapes have pages of their own and
 * are left out.  columns: 40 or more.  utf8: with block elements and braille,
 * else ASCII.  Returns 0 or -ENOMEM.
 */
int np_figure_print(const struct np_figure *f, FILE *out, int columns,
		    bool utf8);

#endif
