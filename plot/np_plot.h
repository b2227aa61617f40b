/* A figure on a canvas, and its parts: private to this room. */
#ifndef NP_PLOT_H
#define NP_PLOT_H

#include "np_canvas.h"
#include "np_figure.h"

/* A panel, and where its shapes are. */
struct np_area {
	struct np_canvas *c;
	const struct np_panel *p;
	struct np_box box;
	double x_lo, x_hi, y_lo, y_hi;
	struct np_ticks x_ticks, y_ticks; /* by np_axes_grid() */
};

/* From values to points; of what a logarithmic axis does not have, NaN. */
double np_area_x(const struct np_area *a, double x);
double np_area_y(const struct np_area *a, double y);

/* np_plot_axes.c: the room that axes take beside the box, and they. */
double np_axes_left(const struct np_panel *p);
double np_axes_below(const struct np_panel *p, double width); /* of the box */
void np_axes_grid(struct np_area *a); /* below the shapes */
void np_axes_draw(const struct np_area *a, double left); /* above them */

/* np_plot_shapes.c */
void np_draw_shape(const struct np_area *a, const struct np_shape *s);

/* The size of the whole page, and the page. */
void np_plot_size(const struct np_figure *f, double *width, double *height);
void np_plot_draw(const struct np_figure *f, struct np_canvas *c);

#endif
