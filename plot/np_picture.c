#include "np_picture.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "np_plot.h"

static bool can_draw(enum np_picture_kind kind)
{
#ifdef NP_NO_CAIRO
	return kind == NP_PICTURE_SVG;
#else
	(void)kind;
	return true;
#endif
}

int np_picture_kind(const char *path, enum np_picture_kind *kind,
		    struct np_err *err)
{
	static const char *const ending[] = {
		[NP_PICTURE_SVG] = ".svg", [NP_PICTURE_PNG] = ".png",
		[NP_PICTURE_PDF] = ".pdf",
	};
	const char *name = strrchr(path, '/'), *dot;

	name = name ? name + 1 : path;
	dot = strrchr(name, '.');
	for (size_t i = 0; dot && dot != name && i < NP_ARRAY_SIZE(ending); i++)
		if (!strcasecmp(dot, ending[i])) {
			*kind = (enum np_picture_kind)i;
			return can_draw(*kind) ? 0 :
			       np_errf(err, -ENOTSUP, "%s: this netprof was built "
				       "without cairo: expected a name that ends "
				       "in .svg", path);
		}
	return np_errf(err, -EINVAL, "%s: expected a name that ends in .svg, "
		       ".png or .pdf", path);
}

static struct np_canvas *canvas(const struct np_figure *f,
				enum np_picture_kind kind, FILE *out)
{
	double width, height;

	np_plot_size(f, &width, &height);
#ifndef NP_NO_CAIRO
	if (kind == NP_PICTURE_PNG)
		return np_canvas_png(out, width, height);
	if (kind == NP_PICTURE_PDF)
		return np_canvas_pdf(out, width, height, f->title, f->date);
#endif
	return can_draw(kind) ? np_canvas_svg(out, width, height, f->title) :
				NULL;
}

static int draw(const struct np_figure *f, enum np_picture_kind kind, FILE *out)
{
	struct np_canvas *c = canvas(f, kind, out);

	if (!c)
		return -ENOMEM;
	np_plot_draw(f, c);
	return c->end(c);
}

int np_picture_make(const struct np_figure *f, enum np_picture_kind kind,
		    char **out, size_t *len, struct np_err *err)
{
	char *text = NULL;
	FILE *mem;
	int rc;

	if (f->no_memory)
		return np_errf(err, -ENOMEM, "out of memory");
	if (!f->n_panels)
		return np_errf(err, -EINVAL, "the figure has no panel");
	mem = open_memstream(&text, len);
	rc = mem ? draw(f, kind, mem) : -ENOMEM;
	if (mem && fclose(mem) && !rc)
		rc = -ENOMEM;
	if (rc) {
		free(text);
		return np_errf(err, rc, "the picture: %s", strerror(-rc));
	}
	*out = text;
	return 0;
}
