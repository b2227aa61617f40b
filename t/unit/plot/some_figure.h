/* Figures that tests draw. */
#ifndef SOME_FIGURE_H
#define SOME_FIGURE_H

#include "np_figure.h"
#include "np_picture.h"

/* One panel with every shape over numbers; free with np_figure_free(). */
struct np_figure *some_figure(void);

/* One panel with names on both axes, and cells or spans or bars. */
struct np_figure *some_named_figure(enum np_shape_kind kind, size_t n);

/* The SVG of it, which frees it; free() the text. NULL: it failed. */
char *some_svg(struct np_figure *f);

#endif
