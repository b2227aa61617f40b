/*
 * A figure on a terminal: steps, lines and points in cells of characters, with
 * axes and a legend.  Other shapes have pages of their own and are left out.
 */
#ifndef NP_FIGURE_TEXT_H
#define NP_FIGURE_TEXT_H

#include <stdio.h>

#include "np_figure.h"

/*
 * columns: 40 or more.  utf8: with block elements and braille, else ASCII.
 * Returns 0 or -ENOMEM.
 */
int np_figure_print(const struct np_figure *f, FILE *out, int columns,
		    bool utf8);

#endif
