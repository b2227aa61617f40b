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
	struct np_canvas base; /* first, as canvases are converted to it */
	cairo_surface_t *surface;
	cairo_t *cr;
	FILE *out; /* borrowed */
	bool png;  /* a PNG, not a PDF */
};

/* Set the colour (0xrrggbb) that cairo draws with. */
static void set_colour(cairo_t *cr, unsigned rgb, double opacity)
{
	cairo_set_source_rgba(cr, (rgb >> 16 & 0xff) / 255.0,
			      (rgb >> 8 & 0xff) / 255.0, (rgb & 0xff) / 255.0,
			      opacity);
}

/* Fills the path first, so that its line covers the edge of the fill. */
static void page_path(struct np_canvas *canvas, const double *xy, size_t n,
		      bool closed, const struct np_pen *pen)
{
	cairo_t *cr = ((struct page *)canvas)->cr;

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

/* Aligns the text by its actual width, since cairo knows the font. */
static void page_text(struct np_canvas *canvas, double x, double y,
		      const char *text, const struct np_type *type)
{
	/* The share of the text that is left of x. */
	static const double share_left[] = {
		[NP_LEFT] = 0,
		[NP_CENTRE] = 0.5,
		[NP_RIGHT] = 1,
	};
	cairo_t *cr = ((struct page *)canvas)->cr;
	cairo_text_extents_t extents;

	cairo_save(cr);
	cairo_select_font_face(cr, "DejaVu Sans", CAIRO_FONT_SLANT_NORMAL,
			       type->bold ? CAIRO_FONT_WEIGHT_BOLD :
					    CAIRO_FONT_WEIGHT_NORMAL);
	cairo_set_font_size(cr, type->size);
	cairo_text_extents(cr, text, &extents);
	cairo_translate(cr, x, y);
	if (type->turned)
		cairo_rotate(cr, -M_PI / 2);
	cairo_move_to(cr, -extents.x_advance * share_left[type->align], 0);
	set_colour(cr, type->colour, 1);
	cairo_show_text(cr, text);
	cairo_restore(cr);
}

static void page_clip(struct np_canvas *canvas, const struct np_box *box)
{
	cairo_t *cr = ((struct page *)canvas)->cr;

	cairo_reset_clip(cr);
	if (!box)
		return;
	cairo_rectangle(cr, box->x, box->y, box->w, box->h);
	cairo_clip(cr);
}

/* A cairo_write_func_t. */
static cairo_status_t append_to_file(void *out, const unsigned char *data,
				     unsigned int len)
{
	return fwrite(data, 1, len, out) == len ? CAIRO_STATUS_SUCCESS :
						  CAIRO_STATUS_WRITE_ERROR;
}

/* Writes a PNG. A PDF was already written while it was drawn. */
static int page_end(struct np_canvas *canvas)
{
	struct page *page = (struct page *)canvas;
	cairo_status_t status = cairo_status(page->cr);

	cairo_destroy(page->cr);
	if (page->png && !status)
		status = cairo_surface_write_to_png_stream(
			page->surface, append_to_file, page->out);
	cairo_surface_finish(page->surface);
	if (!status)
		status = cairo_surface_status(page->surface);
	cairo_surface_destroy(page->surface);
	if (fflush(page->out))
		status = CAIRO_STATUS_WRITE_ERROR;
	free(page);
	return status == CAIRO_STATUS_NO_MEMORY ? -ENOMEM : status ? -EIO : 0;
}

/*
 * Create a white page. Takes ownership of the surface. If cairo could not
 * create that, drawing has no effect and page_end() reports the error.
 */
static struct np_canvas *page_new(FILE *out, cairo_surface_t *surface, bool png)
{
	struct page *page = calloc(1, sizeof(*page));

	if (!page) {
		cairo_surface_destroy(surface);
		return NULL;
	}
	page->base =
		(struct np_canvas){ page_path, page_text, page_clip, page_end };
	page->surface = surface;
	page->cr = cairo_create(surface);
	page->out = out;
	page->png = png;
	/* Unlike a white box, this also covers partial pixels at the edge. */
	set_colour(page->cr, NP_WHITE, 1);
	cairo_paint(page->cr);
	return &page->base;
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
		append_to_file, out, width, height);
	time_t created = date > 0 && date < 1e11 ? (time_t)date : 0;
	struct tm tm;
	char text[32];

	cairo_pdf_surface_set_metadata(surface, CAIRO_PDF_METADATA_TITLE,
				       title);
	/* The date is that of the data, so the same data give the same file. */
	if (gmtime_r(&created, &tm) &&
	    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm))
		cairo_pdf_surface_set_metadata(
			surface, CAIRO_PDF_METADATA_CREATE_DATE, text);
	return page_new(out, surface, false);
}
