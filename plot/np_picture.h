/*
 * Files of figures: SVG, PNG or PDF.  The same figure gives the same bytes;
 * those of PNG and PDF also depend on the release of cairo and on the fonts.
 */
#ifndef NP_PICTURE_H
#define NP_PICTURE_H

#include "np_err.h"
#include "np_figure.h"

enum np_picture_kind { NP_PICTURE_SVG, NP_PICTURE_PNG, NP_PICTURE_PDF };

/*
 * By the ending of path, in small letters or capitals.  Returns 0 or -EINVAL
 * with err.
 */
int np_picture_kind(const char *path, enum np_picture_kind *kind,
		    struct np_err *err);

/*
 * The whole file in memory; free() *out.  Returns 0, -EINVAL (no panels),
 * -ENOMEM or -EIO with err.
 */
int np_picture_make(const struct np_figure *f, enum np_picture_kind kind,
		    char **out, size_t *len, struct np_err *err);

#endif
