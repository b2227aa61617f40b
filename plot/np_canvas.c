#include "np_canvas.h"

#include <string.h>

#include "np_text.h"

/* Of ' ' to '~', thousandths of the size. */
static const unsigned short widths[] = {
	318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361,
	318, 337, 636, 636, 636, 636, 636, 636, 636, 636, 636, 636, 337, 337,
	838, 838, 838, 531, 1000, 684, 686, 698, 770, 632, 575, 775, 752, 295,
	295, 656, 557, 863, 748, 787, 603, 787, 695, 635, 611, 732, 684, 989,
	685, 611, 685, 390, 337, 390, 838, 500, 500, 613, 635, 550, 635, 615,
	352, 635, 634, 278, 278, 579, 278, 974, 634, 612, 635, 635, 411, 521,
	392, 634, 592, 818, 592, 592, 525, 636, 337, 636, 838,
};

/* Most letters beyond ASCII are no wider than 0.7; those of Asia are square. */
static double width_of(const char *p)
{
	unsigned char c = (unsigned char)*p;

	if (c >= ' ' && c <= '~')
		return widths[c - ' '] / 1000.0;
	return np_text_char(p, strlen(p)) > 2 ? 1 : 0.7;
}

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
