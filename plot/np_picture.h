/*
 * Picture files: a figure laid out on a page and written as SVG, PNG or PDF.
 *
 * The same figure always gives the same bytes. PNG and PDF also depend on the
 * release of cairo and on the fonts that are installed.
 */
#ifndef NP_PICTURE_H
#define NP_PICTURE_H

#include "np_canvas.h"
#include "np_err.h"
#include "np_figure.h"

enum np_picture_kind { NP_PICTURE_SVG, NP_PICTURE_PNG, NP_PICTURE_PDF };

/*
 * Find the kind of file from the suffix of path, in upper or lower case.
 * Returns 0, or with err -EINVAL (unknown suffix) or -ENOTSUP (built without
 * cairo).
 */
int np_picture_kind(const char *path, enum np_picture_kind *kind,
		    struct np_err *err);

/*
 * Make the whole file in memory. *out: *len bytes, which the caller frees.
 * Returns 0, or with err -EINVAL (the figure has no panel), -ENOMEM or -EIO.
 */
int np_picture_make(const struct np_figure *figure, enum np_picture_kind kind,
		    char **out, size_t *len, struct np_err *err);

/*
 * Size in points of the page that np_picture_make() makes, and a function that
 * draws the page on any canvas. Exported for the tests of the layout.
 */
void np_plot_size(const struct np_figure *figure, double *width,
		  double *height);
void np_plot_draw(const struct np_figure *figure, struct np_canvas *canvas);

/*
 * Upper bound on the width of a text in points, for a font of size points:
 * its width in DejaVu Sans, which is a wide font.
 */
double np_text_width(const char *text, double size);

/*
 * Copy text into buf (len bytes). A text wider than width points, or too long
 * for buf, is cut and ends in "~". Returns buf.
 */
const char *np_text_fit(const char *text, double size, double width, char *buf,
			size_t len);

#endif
