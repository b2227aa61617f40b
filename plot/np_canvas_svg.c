/* SVG, version 1.1: the same calls give the same bytes. */
#include <errno.h>
#include <stdlib.h>

#include "np_canvas.h"

struct svg {
	struct np_canvas c;
	FILE *out;
	unsigned n_clips;
	bool clipped;
};

/* To the hundredth of a point, without zeros at the end, nor "-0". */
static void number(FILE *f, double v)
{
	long hundredths = (long)(v * 100 + (v < 0 ? -0.5 : 0.5));
	long whole = labs(hundredths) / 100, rest = labs(hundredths) % 100;

	fprintf(f, "%s%ld", hundredths < 0 ? "-" : "", whole);
	if (rest)
		fprintf(f, rest % 10 ? ".%02ld" : ".%ld",
			rest % 10 ? rest : rest / 10);
}

static void attribute(FILE *f, const char *name, double v)
{
	fprintf(f, " %s=\"", name);
	number(f, v);
	fputc('"', f);
}

static void escaped(FILE *f, const char *text)
{
	for (; *text; text++)
		switch (*text) {
		case '&': fputs("&amp;", f); break;
		case '<': fputs("&lt;", f); break;
		case '>': fputs("&gt;", f); break;
		case '"': fputs("&quot;", f); break;
		default: fputc(*text, f);
		}
}

static void ink(FILE *f, const struct np_pen *pen)
{
	if (pen->fill == NP_NO_COLOUR)
		fputs(" fill=\"none\"", f);
	else
		fprintf(f, " fill=\"#%06x\"", pen->fill);
	if (pen->fill != NP_NO_COLOUR && pen->opacity < 1)
		attribute(f, "fill-opacity", pen->opacity);
	if (pen->line == NP_NO_COLOUR)
		return;
	fprintf(f, " stroke=\"#%06x\"", pen->line);
	attribute(f, "stroke-width", pen->width);
	if (pen->dash[0] > 0) {
		fputs(" stroke-dasharray=\"", f);
		number(f, pen->dash[0]);
		fputc(' ', f);
		number(f, pen->dash[1]);
		fputc('"', f);
	}
}

static void svg_path(struct np_canvas *c, const double *xy, size_t n,
		     bool closed, const struct np_pen *pen)
{
	FILE *f = ((struct svg *)c)->out;

	fputs("<path d=\"", f);
	for (size_t i = 0; i < n; i++) {
		fputc(i ? 'L' : 'M', f);
		number(f, xy[2 * i]);
		fputc(' ', f);
		number(f, xy[2 * i + 1]);
	}
	fputs(closed ? "Z\"" : "\"", f);
	ink(f, pen);
	fputs("/>\n", f);
}

static void svg_text(struct np_canvas *c, double x, double y, const char *text,
		     const struct np_type *type)
{
	static const char *const anchor[] = {
		[NP_CENTRE] = "middle", [NP_RIGHT] = "end",
	};
	FILE *f = ((struct svg *)c)->out;

	fputs("<text", f);
	attribute(f, "x", x);
	attribute(f, "y", y);
	attribute(f, "font-size", type->size);
	if (type->align != NP_LEFT)
		fprintf(f, " text-anchor=\"%s\"", anchor[type->align]);
	if (type->bold)
		fputs(" font-weight=\"bold\"", f);
	if (type->colour != NP_BLACK)
		fprintf(f, " fill=\"#%06x\"", type->colour);
	if (type->turned) {
		fputs(" transform=\"rotate(-90 ", f);
		number(f, x);
		fputc(' ', f);
		number(f, y);
		fputs(")\"", f);
	}
	fputc('>', f);
	escaped(f, text);
	fputs("</text>\n", f);
}

static void svg_clip(struct np_canvas *c, const struct np_box *box)
{
	struct svg *s = (struct svg *)c;

	if (s->clipped)
		fputs("</g>\n", s->out);
	s->clipped = box;
	if (!box)
		return;
	s->n_clips++;
	fprintf(s->out, "<clipPath id=\"c%u\"><rect", s->n_clips);
	attribute(s->out, "x", box->x);
	attribute(s->out, "y", box->y);
	attribute(s->out, "width", box->w);
	attribute(s->out, "height", box->h);
	fprintf(s->out, "/></clipPath>\n<g clip-path=\"url(#c%u)\">\n",
		s->n_clips);
}

static int svg_end(struct np_canvas *c)
{
	struct svg *s = (struct svg *)c;
	int rc;

	svg_clip(c, NULL);
	fputs("</svg>\n", s->out);
	rc = fflush(s->out) || ferror(s->out) ? -EIO : 0;
	free(s);
	return rc;
}

struct np_canvas *np_canvas_svg(FILE *out, double width, double height,
				const char *title)
{
	struct svg *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->c = (struct np_canvas){ svg_path, svg_text, svg_clip, svg_end };
	s->out = out;
	fprintf(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" "
		"width=\"%.0fpt\" height=\"%.0fpt\" viewBox=\"0 0 %.0f %.0f\" "
		"font-family=\"'DejaVu Sans',Verdana,Helvetica,Arial,"
		"sans-serif\">\n<title>", width, height, width, height);
	escaped(out, title);
	fputs("</title>\n", out);
	return &s->c;
}
