/*
 * Figures: panels, one below the other, each with two axes and a list of
 * shapes. A figure is independent of the data's meaning and of how it is drawn:
 * np_picture.h makes a file of it, and np_figure_print() prints it on a
 * terminal.
 *
 * All texts and numbers are copied. If memory runs out while a figure is built,
 * the figure stays valid, but drawing it fails with -ENOMEM, so callers need
 * not check for errors while they build it. Values that are not finite are not
 * drawn.
 */
#ifndef NP_FIGURE_H
#define NP_FIGURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/*
 * ---- Axis marks and their labels ----
 *
 * Marks of a linear axis are whole multiples of 1, 2 or 5 times a power of ten.
 * Marks of a logarithmic axis are 1, 2 and 5 times each power of ten; where the
 * range is wide 1 and 3 times, or each power of ten alone, or every k-th.
 */
#define NP_TICKS_MAX 16
#define NP_TICKS_LABEL 24

struct np_ticks {
	size_t n;
	double at[NP_TICKS_MAX]; /* values, ascending and within the range */
	char label[NP_TICKS_MAX][NP_TICKS_LABEL]; /* "20", "1.5", "100 ns" */
};

/*
 * Find at most `most` (2 to NP_TICKS_MAX) marks for the range lo < hi, both
 * finite. The logarithmic version requires 0 < lo, and falls back to linear
 * marks if the range contains fewer than two logarithmic ones. If seconds is
 * true, each label has the unit that suits its value, as in "20 \302\265s".
 * Exported for the tests; others call np_axis_ticks().
 */
void np_ticks_linear(double lo, double hi, size_t most, struct np_ticks *out);
void np_ticks_log(double lo, double hi, size_t most, bool seconds,
		  struct np_ticks *out);

enum np_axis_kind {
	NP_AXIS_LINEAR,
	NP_AXIS_LOG,	 /* values above 0 */
	NP_AXIS_SECONDS, /* logarithmic, of times: "10 us", "1 ms" */
	NP_AXIS_NAMES,	 /* value i means name i; y axes run downwards */
};

struct np_axis {
	enum np_axis_kind kind;
	char *label;   /* with its unit: "Slowdown (%)" */
	double lo, hi; /* values at the ends; NaN: derived from the shapes */
	char **name;   /* of NP_AXIS_NAMES */
	size_t n_names;
};

enum np_shape_kind {
	NP_SHAPE_BAND,	 /* the area between low and high, over x */
	NP_SHAPE_REGION, /* the full height of the panel, x from low to high */
	NP_SHAPE_STEP,	 /* y from each x to the next; the last y is ignored */
	NP_SHAPE_LINE,	 /* a line through the points (x, y) */
	NP_SHAPE_POINTS, /* marks at (x, y) with intervals from low to high */
	NP_SHAPE_BARS,	 /* vertical bars at name x, from low to high */
	NP_SHAPE_SPANS,	 /* horizontal bars at name y, from low to high */
	NP_SHAPE_CELLS,	 /* cells (name x, name y), shaded by low, with text */
};

/* Members that the kind of shape does not use, or that are unknown, are NaN. */
struct np_datum {
	double x, y, low, high;
	char *text; /* of cells only */
};

struct np_shape {
	enum np_shape_kind kind;
	unsigned style; /* colour, dash, mark, hatching: 0 to NP_STYLES - 1 */
	char *name;	/* in the legend; NULL: not listed there */
	/* In the order of x for bands, steps and lines. */
	struct np_datum *datum;
	size_t n;
};

#define NP_STYLES 8
#define NP_STYLE_GREY (NP_STYLES - 1) /* grey: the reference to compare with */

struct np_panel {
	char *title;
	struct np_axis x, y;
	struct np_shape *shape;
	size_t n_shapes;
};

struct np_figure {
	char *title, *caption;
	double date; /* of the newest data, seconds since the epoch; 0: none */
	struct np_panel **panel;
	size_t n_panels;
	bool no_memory; /* an allocation failed while the figure was built */
	struct np_panel lost; /* instead of those that could not be allocated */
};

/* Returns NULL when out of memory. Free with np_figure_free(). */
struct np_figure *np_figure_new(const char *title);
void np_figure_free(struct np_figure *figure); /* NULL is allowed */

/* Set the text below the last panel. */
void np_figure_set_caption(struct np_figure *figure, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Add a panel; without memory for it, one that is never drawn. */
struct np_panel *np_figure_add_panel(struct np_figure *figure,
				     const char *title);

/* Set kind and label of an axis. np_figure_add_name() adds a name to it. */
void np_figure_set_axis(struct np_figure *figure, struct np_axis *axis,
			enum np_axis_kind kind, const char *label);
void np_figure_add_name(struct np_figure *figure, struct np_axis *axis,
			const char *name);

/*
 * Add a shape. name NULL: not in the legend. The pointer is valid until the
 * next shape is added to the same panel. Returns NULL when out of memory, which
 * the functions below accept.
 */
struct np_shape *np_figure_add_shape(struct np_figure *figure,
				     struct np_panel *panel,
				     enum np_shape_kind kind, unsigned style,
				     const char *name);

/* Add a datum to a shape. */
void np_figure_add_datum(struct np_figure *figure, struct np_shape *shape,
			 double x, double y, double low, double high);
/*
 * Add a cell. colour: 0 (white) to 1 (dark), NaN: unknown; text: one line, or
 * two separated by '|'.
 */
void np_figure_add_cell(struct np_figure *figure, struct np_shape *shape,
			double x, double y, double colour, const char *text);

/*
 * Find the ends of the x axis, or of the y axis if y is true: those that were
 * set, or else the extent of the shapes with some space around it. *lo < *hi,
 * and *lo > 0 on a logarithmic axis.
 */
void np_figure_find_range(const struct np_panel *panel, bool y, double *lo,
			  double *hi);

/* Find at most `most` marks between lo and hi; none with NP_AXIS_NAMES. */
void np_axis_ticks(const struct np_axis *axis, double lo, double hi,
		   size_t most, struct np_ticks *out);

/*
 * Relative position of a value on an axis: 0 at lo, 1 at hi. On a logarithmic
 * axis, the position of 0 is -INFINITY, and that of a negative value is NaN.
 */
double np_axis_position(const struct np_axis *axis, double value, double lo,
			double hi);

/*
 * np_figure_text.c: print a figure on a terminal, with axes and a legend.
 * Steps, lines and points are drawn as characters. Other shapes are skipped,
 * because the commands print their data as tables. columns is the width, at
 * least 40. If utf8 is false, only ASCII is used, instead of block elements and
 * braille. Returns 0 or -ENOMEM.
 */
int np_figure_print(const struct np_figure *figure, FILE *out, int columns,
		    bool utf8);

#endif
