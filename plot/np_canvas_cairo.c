/* PNG and PDF canvases, drawn by cairo. */
#include <cairo-pdf.h>
#include <cairo.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "np_canvas.h"

#define PNG_SCALE 2.5 /* pixels per point: 180 per inch */

struct page {
	struct np_canvas c; /* first, as canvases are converted to it */
	cairo_surface_t *surface;
	cairo_t *cr;
	FILE *out; /* borrowed */
	bool png;  /* written at the end; else a PDF, written as it is drawn */
};

/* Set the colour (0xrrggbb) that cairo draws with. */
static void set_colour(cairo_t *cr, unsigned rgb, double opacity)
{
	cairo_set_source_rgba(cr, (rgb >> 16 & 0xff) / 255.0,
			      (rgb >> 8 & 0xff) / 255.0, (rgb & 0xff) / 255.0,
			      opacity);
}

/* The path is filled first, so that its line covers the edge of the fill. */
static void page_path(struct np_canvas *c, const double *xy, size_t n,
		      bool closed, const struct np_pen *pen)
{
	cairo_t *cr = ((struct page *)c)->cr;

	cairo_new_path(cr);
	for (size_t i = 0; i < n; i++)
		cairo_line_to(cr, xy[2 * i], xy[2 * i + 1]);
	if (closed)
		cairo_close_path(cr);
	if (pen->fill != NP_NO_COLOUR) {
		set_colour(cr, pen->fill, pen->opacity);
		cairo_fill_preserve(cr);
	}
	if (pen->line != NP_NO_COLOUR) {
		set_colour(cr, pen->line, 1);
		cairo_set_line_width(cr, pen->width);
		cairo_set_dash(cr, pen->dash, pen->dash[0] > 0 ? 2 : 0, 0);
		cairo_stroke(cr);
	}
	cairo_new_path(cr);
}

/* A text is aligned by its real width, as cairo knows the font. */
static void page_text(struct np_canvas *c, double x, double y,
		      const char *text, const struct np_type *type)
{
	/* How much of the text is left of x. */
	static const double part_left[] = {
		[NP_LEFT] = 0, [NP_CENTRE] = 0.5, [NP_RIGHT] = 1,
	};
	cairo_t *cr = ((struct page *)c)->cr;
	cairo_text_extents_t size;

	cairo_save(cr);
	cairo_select_font_face(cr, "DejaVu Sans", CAIRO_FONT_SLANT_NORMAL,
			       type->bold ? CAIRO_FONT_WEIGHT_BOLD :
					    CAIRO_FONT_WEIGHT_NORMAL);
	cairo_set_font_size(cr, type->size);
	cairo_text_extents(cr, text, &size);
	cairo_translate(cr, x, y);
	if (type->turned)
		cairo_rotate(cr, -M_PI / 2);
	cairo_move_to(cr, -size.x_advance * part_left[type->align], 0);
	set_colour(cr, type->colour, 1);
	cairo_show_text(cr, text);
	cairo_restore(cr);
}

static void page_clip(struct np_canvas *c, const struct np_box *box)
{
	cairo_t *cr = ((struct page *)c)->cr;

	cairo_reset_clip(cr);
	if (!box)
		return;
	cairo_rectangle(cr, box->x, box->y, box->w, box->h);
	cairo_clip(cr);
}

/* cairo_write_func_t: append to the file. */
static cairo_status_t write_data(void *out, const unsigned char *data,
				 unsigned int len)
{
	return fwrite(data, 1, len, out) == len ? CAIRO_STATUS_SUCCESS :
						  CAIRO_STATUS_WRITE_ERROR;
}

/* A PNG is written here; cairo writes a PDF while it is drawn. */
static int page_end(struct np_canvas *c)
{
	struct page *p = (struct page *)c;
	cairo_status_t status = cairo_status(p->cr);

	cairo_destroy(p->cr);
	if (p->png && !status)
		status = cairo_surface_write_to_png_stream(
			p->surface, write_data, p->out);
	cairo_surface_finish(p->surface);
	if (!status)
		status = cairo_surface_status(p->surface);
	cairo_surface_destroy(p->surface);
	if (fflush(p->out))
		status = CAIRO_STATUS_WRITE_ERROR;
	free(p);
	return status == CAIRO_STATUS_NO_MEMORY ? -ENOMEM :
	       status ? -EIO : 0;
}

/*
 * A white page. Takes ownership of the surface. If cairo could not create it,
 * all drawing does nothing and page_end() reports the error.
 */
static struct np_canvas *page_new(FILE *out, cairo_surface_t *surface, bool png)
{
	struct page *p = calloc(1, sizeof(*p));

	if (!p) {
		cairo_surface_destroy(surface);
		return NULL;
	}
	p->c = (struct np_canvas){ page_path, page_text, page_clip, page_end };
	p->surface = surface;
	p->cr = cairo_create(surface);
	p->out = out;
	p->png = png;
	/* Unlike a white box, this also covers the last, partial pixels. */
	set_colour(p->cr, NP_WHITE, 1);
	cairo_paint(p->cr);
	return &p->c;
}

struct np_canvas *np_canvas_png(FILE *out, double width, double height)
{
	cairo_surface_t *surface = cairo_image_surface_create(
		CAIRO_FORMAT_RGB24, (int)ceil(width * PNG_SCALE),
		(int)ceil(height * PNG_SCALE));

	cairo_surface_set_device_scale(surface, PNG_SCALE, PNG_SCALE);
	return page_new(out, surface, true);
}

struct np_canvas *np_canvas_pdf(FILE *out, double width, double height,
				const char *title, double date)
{
	cairo_surface_t *surface = cairo_pdf_surface_create_for_stream(
		write_data, out, width, height);
	time_t t = date > 0 && date < 1e11 ? (time_t)date : 0;
	struct tm tm;
	char text[32];

	cairo_pdf_surface_set_metadata(surface, CAIRO_PDF_METADATA_TITLE,
				       title);
	/* The date of the data: the same data always gives the same file. */
	if (gmtime_r(&t, &tm) &&
	    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm))
		cairo_pdf_surface_set_metadata(
			surface, CAIRO_PDF_METADATA_CREATE_DATE, text);
	return page_new(out, surface, false);
}
