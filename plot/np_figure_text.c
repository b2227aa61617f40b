/*
 * Figures on a terminal. Each panel is ROWS lines of cells, one per character.
 * Shapes are first drawn into the cells, each kind into members of its own, and
 * then printed: points cover steps, and steps cover lines. Positions within a
 * cell are kept as far as characters can show them: eighths of a block for
 * steps, the eight dots of a braille character for lines.
 */
#include "np_figure.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROWS 10 /* height of a panel, lines of text */
#define TICKS 6 /* marks of an axis, at most */

/* One character of the plot area. */
struct cell {
	unsigned char full;  /* steps: eighths that are filled, from below */
	bool quiet;	     /* below a step of the reference style */
	unsigned char dots;  /* lines: bits of the braille dots */
	char mark;	     /* points: 'o', or '|' for their intervals */
};

struct screen {
	const struct np_panel *p;
	int columns, left; /* widths of the plot area and of the labels */
	bool utf8;
	double x_lo, x_hi, y_lo, y_hi;
	struct cell *cell; /* ROWS * columns, line by line */
};

/* Positions in cells, from the left and from the top; NaN: not on the axis. */
static double column_of(const struct screen *s, double x)
{
	return s->columns *
	       np_axis_place(&s->p->x, x, s->x_lo, s->x_hi);
}

static double row_of(const struct screen *s, double y)
{
	double row = ROWS * (1 - np_axis_place(&s->p->y, y, s->y_lo, s->y_hi));

	/* Undo rounding errors, which could move a value to the row above. */
	return fabs(row - round(row)) < 1e-9 ? round(row) : row;
}

/* The cell at a position; NULL: outside the plot area. */
static struct cell *at(const struct screen *s, double row, double column)
{
	/* The ends of the axes belong to the last row and column. */
	int r = (int)fmin(floor(row), ROWS - 1);
	int c = (int)fmin(floor(column), s->columns - 1);

	if (!isfinite(row) || !isfinite(column) || row < 0 || row > ROWS ||
	    column < 0 || column > s->columns)
		return NULL;
	return &s->cell[r * s->columns + c];
}

/* The highest step that overlaps a column; 0: none. */
static double highest(const struct screen *s, const struct np_shape *p, int c)
{
	const struct np_datum *d = p->at;
	double best = 0;

	for (size_t i = 0; i + 1 < p->n; i++)
		if (column_of(s, d[i].x) < c + 1 &&
		    column_of(s, d[i + 1].x) > c && d[i].y > best)
			best = d[i].y;
	return best;
}

/* Fill each column up to its highest step, to an eighth of a cell. */
static void draw_step(const struct screen *s, const struct np_shape *p)
{
	for (int c = 0; c < s->columns; c++) {
		double y = highest(s, p, c), top = row_of(s, y);
		int eighths = (int)lround(8 * (ROWS - top));

		/* A step above 0 is always visible. */
		eighths = y > 0 && eighths < 1 ? 1 : eighths;
		for (int r = ROWS - 1; r >= 0 && eighths > 0; r--) {
			struct cell *cell = &s->cell[r * s->columns + c];

			if (p->style == NP_STYLE_QUIET)
				cell->quiet = true;
			else
				cell->full = eighths < 8 ?
						     (unsigned char)eighths : 8;
			eighths -= 8;
		}
	}
}

/* Set the braille dot at a point. */
static void draw_dot(const struct screen *s, double x, double y)
{
	/* Bits of a braille character: four rows of two dots. */
	static const unsigned char bit[4][2] = {
		{ 0x01, 0x08 }, { 0x02, 0x10 }, { 0x04, 0x20 }, { 0x40, 0x80 },
	};
	double row = row_of(s, y), column = column_of(s, x);
	struct cell *cell = at(s, row, column);

	if (!cell)
		return;
	row = fmin(row, ROWS - 0.01);
	column = fmin(column, s->columns - 0.01);
	cell->dots |= bit[(int)(4 * (row - floor(row)))]
			 [(int)(2 * (column - floor(column)))];
}

/* Interpolate between the points, at more steps than there are dots. */
static void draw_line(const struct screen *s, const struct np_shape *p)
{
	int steps = 4 * s->columns;

	for (size_t i = 0; i + 1 < p->n; i++)
		for (int k = 0; k <= steps / (int)p->n + 8; k++) {
			const struct np_datum *d = &p->at[i];
			double part = (double)k / (steps / (int)p->n + 8);

			draw_dot(s, d->x + part * (d[1].x - d->x),
				 d->y + part * (d[1].y - d->y));
		}
}

/* The interval of a point first, so that the point covers it. */
static void draw_points(const struct screen *s, const struct np_shape *p)
{
	for (size_t i = 0; i < p->n; i++) {
		const struct np_datum *d = &p->at[i];
		double c = column_of(s, d->x);
		double to = fmin(floor(row_of(s, d->low)), ROWS - 1);
		struct cell *cell;

		for (double r = fmax(floor(row_of(s, d->high)), 0);
		     r <= to; r++)
			if ((cell = at(s, r, c)) && cell->mark != 'o')
				cell->mark = '|';
		cell = at(s, row_of(s, d->y), c);
		if (cell)
			cell->mark = 'o';
	}
}

/* Print one cell; a space if it is empty. */
static void put_cell(FILE *f, const struct cell *c, bool utf8)
{
	static const char *const blocks[] = {
		"", "\u2581", "\u2582", "\u2583", "\u2584", "\u2585",
		"\u2586", "\u2587", "\u2588",
	};

	if (c->mark)
		fputs(!utf8 ? (char[]){ c->mark, 0 } :
		      c->mark == 'o' ? "\u25cf" : "\u2502", f);
	else if (c->full == 8 && c->quiet)
		fputs(utf8 ? "\u2593" : "%", f);
	else if (c->full && utf8)
		fputs(blocks[c->full], f);
	else if (c->full > 3 || (c->full && !c->quiet))
		fputc(c->full > 3 ? '#' : '_', f);
	else if (c->dots && utf8) /* U+2800 and the bits of its dots */
		fprintf(f, "\342%c%c", 0xa0 + (c->dots >> 6),
			0x80 + (c->dots & 0x3f));
	else if (c->dots)
		fputc('*', f);
	else
		fputs(!c->quiet ? " " : utf8 ? "\u2591" : ".", f);
}

/* Whether nothing is drawn in a cell. */
static bool is_blank(const struct cell *c)
{
	return !c->mark && !c->full && !c->quiet && !c->dots;
}

/* Print a label; in ASCII, "u" replaces the micro sign. */
static void put_label(FILE *f, const char *text, bool utf8)
{
	for (; *text; text++) {
		if (!utf8 && !strncmp(text, "\302\265", 2)) {
			fputc('u', f);
			text++;
		} else {
			fputc(!utf8 && *text & 0x80 ? '?' : *text, f);
		}
	}
}

/* Characters in a UTF-8 text. */
static int width_of(const char *text)
{
	int n = 0;

	for (; *text; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80;
	return n;
}

/* The plot area, with the marks of the y axis before it. */
static void put_rows(FILE *f, const struct screen *s, const struct np_ticks *y)
{
	for (int r = 0; r < ROWS; r++) {
		const char *label = "";
		int end = s->columns;

		for (size_t i = 0; i < y->n; i++)
			if ((int)fmin(row_of(s, y->at[i]), ROWS - 1) == r)
				label = y->label[i];
		fprintf(f, "%*s", s->left - 2 - width_of(label), "");
		put_label(f, label, s->utf8);
		fputs(s->utf8 ? *label ? " \u2524" : " \u2502" :
		      *label ? " +" : " |", f);
		while (end && is_blank(&s->cell[r * s->columns + end - 1]))
			end--;
		for (int c = 0; c < end; c++)
			put_cell(f, &s->cell[r * s->columns + c], s->utf8);
		fputc('\n', f);
	}
}

/* Print the labels of the x axis; one that would touch the last is skipped. */
static void put_below(FILE *f, const struct screen *s, size_t n,
		      const char *(*label_at)(const void *of, size_t i,
					      double *x), const void *of)
{
	int column = 0;

	fprintf(f, "%*s", s->left, "");
	for (size_t i = 0; i < n; i++) {
		double x;
		const char *label = label_at(of, i, &x);
		int width = width_of(label);
		int from = (int)column_of(s, x) - width / 2;

		from = from < 0 ? 0 : from;
		if (from + width > s->columns)
			from = s->columns - width;
		if (from < column + !!column)
			continue;
		fprintf(f, "%*s", from - column, "");
		put_label(f, label, s->utf8);
		column = from + width;
	}
	fputc('\n', f);
}

/* Label and value of a mark, for put_below(). */
static const char *tick_at(const void *of, size_t i, double *x)
{
	const struct np_ticks *t = of;

	*x = t->at[i];
	return t->label[i];
}

/* Label and value of a name, for put_below(). */
static const char *name_at(const void *of, size_t i, double *x)
{
	const struct np_axis *a = of;

	*x = (double)i;
	return a->name[i];
}

/* The x axis, its marks or names, and its label. */
static void put_axis(FILE *f, const struct screen *s)
{
	const char *label = s->p->x.label ? s->p->x.label : "";
	struct np_ticks x;

	fprintf(f, "%*s%s", s->left - 1, "", s->utf8 ? "\u2514" : "+");
	for (int c = 0; c < s->columns; c++)
		fputs(s->utf8 ? "\u2500" : "-", f);
	fputc('\n', f);
	if (s->p->x.kind == NP_AXIS_NAMES) {
		put_below(f, s, s->p->x.n_names, name_at, &s->p->x);
	} else {
		np_axis_ticks(&s->p->x, s->x_lo, s->x_hi, TICKS, &x);
		put_below(f, s, x.n, tick_at, &x);
	}
	fprintf(f, "%*s", s->left, "");
	put_label(f, label, s->utf8);
	fputc('\n', f);
}

/* Title, label of the y axis and legend, as in "Slowdown (%)", "o measured". */
static void put_head(FILE *f, const struct screen *s)
{
	fprintf(f, "\n%s\n", s->p->title ? s->p->title : "");
	put_label(f, s->p->y.label ? s->p->y.label : "", s->utf8);
	for (size_t i = 0; i < s->p->n_shapes; i++) {
		const struct np_shape *p = &s->p->shape[i];
		struct cell sample = {
			.mark = p->kind == NP_SHAPE_POINTS ? 'o' : 0,
			.dots = p->kind == NP_SHAPE_LINE ? 0x12 : 0,
			.full = p->kind == NP_SHAPE_STEP &&
				p->style != NP_STYLE_QUIET ? 8 : 0,
			.quiet = p->kind == NP_SHAPE_STEP &&
				 p->style == NP_STYLE_QUIET,
		};

		if (!p->name || is_blank(&sample))
			continue;
		fputs("\n  ", f);
		put_cell(f, &sample, s->utf8);
		fputc(' ', f);
		put_label(f, p->name, s->utf8);
	}
	fputc('\n', f);
}

/* Draw all shapes that can be drawn in characters into the cells. */
static void draw(const struct screen *s)
{
	for (size_t i = 0; i < s->p->n_shapes; i++) {
		const struct np_shape *p = &s->p->shape[i];

		if (p->kind == NP_SHAPE_STEP)
			draw_step(s, p);
		else if (p->kind == NP_SHAPE_LINE)
			draw_line(s, p);
		else if (p->kind == NP_SHAPE_POINTS)
			draw_points(s, p);
	}
}

/* Labels of the y axis determine the width that is left for the plot area. */
static int print_panel(FILE *f, const struct np_panel *p, int columns,
		       bool utf8)
{
	struct screen s = { .p = p, .utf8 = utf8 };
	struct np_ticks y;

	np_figure_range(p, false, &s.x_lo, &s.x_hi);
	np_figure_range(p, true, &s.y_lo, &s.y_hi);
	np_axis_ticks(&p->y, s.y_lo, s.y_hi, TICKS, &y);
	for (size_t i = 0; i < y.n; i++)
		if (width_of(y.label[i]) + 2 > s.left)
			s.left = width_of(y.label[i]) + 2;
	s.left = s.left < 6 ? 6 : s.left;
	s.columns = columns - s.left;
	s.cell = calloc((size_t)(ROWS * s.columns), sizeof(*s.cell));
	if (!s.cell)
		return -ENOMEM;
	draw(&s);
	put_head(f, &s);
	put_rows(f, &s, &y);
	put_axis(f, &s);
	free(s.cell);
	return 0;
}

int np_figure_print(const struct np_figure *f, FILE *out, int columns,
		    bool utf8)
{
	int rc = f->no_memory ? -ENOMEM : 0;

	if (!rc)
		fprintf(out, "%s\n", f->title);
	for (size_t i = 0; !rc && i < f->n_panels; i++)
		rc = print_panel(out, f->panel[i], columns, utf8);
	return rc;
}
