/*
 * The one look of all pictures: colours, lines, marks and patterns.
 *
 * Colours are those of Okabe and Ito, "Color Universal Design" (2008), which
 * people who take red for green tell apart too.  No two styles differ by colour
 * alone: each has a line, a mark and a pattern of its own.
 */
#ifndef NP_INK_H
#define NP_INK_H

#include "np_canvas.h"

#define NP_FONT 9.0	 /* size of the text, points */
#define NP_FONT_SMALL 8.0
#define NP_GREY 0x595959u /* of text and frames: 7:1 on white */
#define NP_PALE 0xdededeu /* of the grid */

unsigned np_ink_colour(unsigned style);

/* A line of that style. */
struct np_pen np_ink_line(unsigned style, double width);

/* A mark at that point: a circle, a square ... */
void np_ink_mark(struct np_canvas *c, unsigned style, double x, double y);

/* A field: pale, with the style's pattern and frame if it is large enough. */
void np_ink_field(struct np_canvas *c, unsigned style,
		  const struct np_box *box);

/* The colour of v, 0 .. 1: from white to dark blue, rising in darkness. */
unsigned np_ink_heat(double v);
/* That of text on it. */
unsigned np_ink_on_heat(double v);

/* A field that says that nothing is known. */
void np_ink_unknown(struct np_canvas *c, const struct np_box *box);

#endif
