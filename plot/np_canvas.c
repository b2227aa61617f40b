#include "np_canvas.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "np_text.h"

/* ---- Text widths ---- */

/* Widths of ' ' to '~' in DejaVu Sans, in thousandths of the font size. */
static const unsigned short widths[] = {
	318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361,
	318, 337, 636, 636, 636, 636, 636, 636, 636, 636, 636, 636, 337, 337,
	838, 838, 838, 531, 1000, 684, 686, 698, 770, 632, 575, 775, 752, 295,
	295, 656, 557, 863, 748, 787, 603, 787, 695, 635, 611, 732, 684, 989,
	685, 611, 685, 390, 337, 390, 838, 500, 500, 613, 635, 550, 635, 615,
	352, 635, 634, 278, 278, 579, 278, 974, 634, 612, 635, 635, 411, 521,
	392, 634, 592, 818, 592, 592, 525, 636, 337, 636, 838,
};

/*
 * Width of the character at p, relative to the font size. Most letters beyond
 * ASCII are at most 0.7 wide; ideographs (3 bytes and more) are square.
 */
static double width_of(const char *p)
{
	unsigned char c = (unsigned char)*p;

	if (c >= ' ' && c <= '~')
		return widths[c - ' '] / 1000.0;
	return np_text_char(p, strlen(p)) > 2 ? 1 : 0.7;
}

/* Bytes of the character at p; 1 if it is not valid UTF-8. */
static size_t next(const char *p)
{
	int n = np_text_char(p, strlen(p));

	return n > 0 ? (size_t)n : 1;
}

double np_text_width(const char *text, double size)
{
	double sum = 0;

	for (; *text; text += next(text))
		sum += width_of(text);
	return sum * size;
}

const char *np_text_fit(const char *text, double size, double width, char *buf,
			size_t len)
{
	bool all = np_text_width(text, size) <= width && strlen(text) < len;
	double room = width - np_text_width("~", size);
	size_t n = 0;

	while (text[n]) {
		size_t more = next(text + n);

		room -= size * width_of(text + n);
		if (!all && (room < 0 || n + more + 2 > len))
			break;
		memcpy(buf + n, text + n, more);
		n += more;
	}
	if (!all)
		buf[n++] = '~';
	buf[n] = '\0';
	return buf;
}

void np_canvas_box(struct np_canvas *c, const struct np_box *box,
		   const struct np_pen *pen)
{
	const double xy[] = {
		box->x, box->y, box->x + box->w, box->y,
		box->x + box->w, box->y + box->h, box->x, box->y + box->h,
	};

	c->path(c, xy, 4, true, pen);
}

void np_canvas_line(struct np_canvas *c, double x0, double y0, double x1,
		    double y1, const struct np_pen *pen)
{
	const double xy[] = { x0, y0, x1, y1 };

	c->path(c, xy, 2, false, pen);
}

/*
 * ---- SVG 1.1 ----
 *
 * The same calls always give the same bytes: numbers are rounded to 0.01
 * points, and clip paths are numbered in the order of their use. Attributes
 * that have SVG's default value are left out.
 */

struct svg {
	struct np_canvas c; /* first, as canvases are converted to it */
	FILE *out;
	unsigned n_clips; /* clip paths defined so far */
	bool clipped;	  /* a group with a clip path is open */
};

/* Print v rounded to 0.01 points, without trailing zeros and without "-0". */
static void put_number(FILE *f, double v)
{
	long hundredths = (long)(v * 100 + (v < 0 ? -0.5 : 0.5));
	long whole = labs(hundredths) / 100, rest = labs(hundredths) % 100;

	fprintf(f, "%s%ld", hundredths < 0 ? "-" : "", whole);
	if (rest)
		fprintf(f, rest % 10 ? ".%02ld" : ".%ld",
			rest % 10 ? rest : rest / 10);
}

/* Print an attribute with a leading space, as in " x=\"1.5\"". */
static void put_attribute(FILE *f, const char *name, double v)
{
	fprintf(f, " %s=\"", name);
	put_number(f, v);
	fputc('"', f);
}

/* Print a text with the characters replaced that are special in XML. */
static void put_escaped(FILE *f, const char *text)
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

/* Print the attributes of a pen, leaving out those that have SVG's default. */
static void put_pen(FILE *f, const struct np_pen *pen)
{
	if (pen->fill == NP_NO_COLOUR)
		fputs(" fill=\"none\"", f);
	else
		fprintf(f, " fill=\"#%06x\"", pen->fill);
	if (pen->fill != NP_NO_COLOUR && pen->opacity < 1)
		put_attribute(f, "fill-opacity", pen->opacity);
	if (pen->line == NP_NO_COLOUR)
		return;
	fprintf(f, " stroke=\"#%06x\"", pen->line);
	put_attribute(f, "stroke-width", pen->width);
	if (pen->dash[0] > 0) {
		fputs(" stroke-dasharray=\"", f);
		put_number(f, pen->dash[0]);
		fputc(' ', f);
		put_number(f, pen->dash[1]);
		fputc('"', f);
	}
}

/* The path's data, then the pen. */
static void svg_path(struct np_canvas *c, const double *xy, size_t n,
		     bool closed, const struct np_pen *pen)
{
	FILE *f = ((struct svg *)c)->out;

	fputs("<path d=\"", f);
	for (size_t i = 0; i < n; i++) {
		fputc(i ? 'L' : 'M', f);
		put_number(f, xy[2 * i]);
		fputc(' ', f);
		put_number(f, xy[2 * i + 1]);
	}
	fputs(closed ? "Z\"" : "\"", f);
	put_pen(f, pen);
	fputs("/>\n", f);
}

/* Turned texts are rotated around their own position. */
static void svg_text(struct np_canvas *c, double x, double y, const char *text,
		     const struct np_type *type)
{
	static const char *const anchor[] = {
		[NP_CENTRE] = "middle", [NP_RIGHT] = "end",
	};
	FILE *f = ((struct svg *)c)->out;

	fputs("<text", f);
	put_attribute(f, "x", x);
	put_attribute(f, "y", y);
	put_attribute(f, "font-size", type->size);
	if (type->align != NP_LEFT)
		fprintf(f, " text-anchor=\"%s\"", anchor[type->align]);
	if (type->bold)
		fputs(" font-weight=\"bold\"", f);
	if (type->colour != NP_BLACK)
		fprintf(f, " fill=\"#%06x\"", type->colour);
	if (type->turned) {
		fputs(" transform=\"rotate(-90 ", f);
		put_number(f, x);
		fputc(' ', f);
		put_number(f, y);
		fputs(")\"", f);
	}
	fputc('>', f);
	put_escaped(f, text);
	fputs("</text>\n", f);
}

/* Close the group of the last clip path, and open one for the next. */
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
	put_attribute(s->out, "x", box->x);
	put_attribute(s->out, "y", box->y);
	put_attribute(s->out, "width", box->w);
	put_attribute(s->out, "height", box->h);
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
	put_escaped(out, title);
	fputs("</title>\n", out);
	return &s->c;
}
