/*
 * Figures on a terminal. The plot area of a panel is ROWS lines of cells, one
 * per character. Shapes are first drawn into the cells, each kind into members
 * of its own, and the cells are then printed: points cover steps, and steps
 * cover lines. A cell is divided as far as characters can show it: into eighths
 * of a block for steps, and into the eight dots of a braille character for
 * lines.
 */
#include "np_figure.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROWS 10	    /* height of a plot area, lines of text */
#define MAX_TICKS 6 /* marks of an axis */

/* One character of the plot area. */
struct cell {
	unsigned char eighths; /* steps: how much is filled, from below */
	bool grey;	       /* steps: below one of NP_STYLE_GREY */
	unsigned char dots;    /* lines: bits of the braille dots */
	char mark;	       /* points: 'o', or '|' for their intervals */
};

/* A panel while it is printed. */
struct screen {
	const struct np_panel *panel;
	int columns, left; /* widths of the plot area and of the labels */
	bool utf8;
	double x_lo, x_hi, y_lo, y_hi; /* values at the ends of the axes */
	struct cell *cell; /* ROWS * columns, line by line */
};

/*
 * Positions, in cells from the left and from the top. Not finite: the axis has
 * no place for the value.
 */
static double column_of(const struct screen *screen, double x)
{
	return screen->columns * np_axis_position(&screen->panel->x, x,
						  screen->x_lo, screen->x_hi);
}

static double row_of(const struct screen *screen, double y)
{
	double height = np_axis_position(&screen->panel->y, y, screen->y_lo,
					 screen->y_hi);
	double row = ROWS * (1 - height);

	/* Undo rounding errors, which could move a value to the row above. */
	return fabs(row - round(row)) < 1e-9 ? round(row) : row;
}

/* The cell at a position, NULL outside the plot area. */
static struct cell *cell_at(const struct screen *screen, double row,
			    double column)
{
	/* The ends of the axes belong to the last row and column. */
	int r = (int)fmin(floor(row), ROWS - 1);
	int c = (int)fmin(floor(column), screen->columns - 1);

	if (!isfinite(row) || !isfinite(column) || row < 0 || row > ROWS ||
	    column < 0 || column > screen->columns)
		return NULL;
	return &screen->cell[r * screen->columns + c];
}

/* The highest step that overlaps a column; 0: none. */
static double highest_step(const struct screen *screen,
			   const struct np_shape *shape, int column)
{
	const struct np_datum *datum = shape->datum;
	double highest = 0;

	for (size_t i = 0; i + 1 < shape->n; i++)
		if (column_of(screen, datum[i].x) < column + 1 &&
		    column_of(screen, datum[i + 1].x) > column &&
		    datum[i].y > highest)
			highest = datum[i].y;
	return highest;
}

/* Fill each column up to its highest step, to an eighth of a cell. */
static void draw_steps(const struct screen *screen,
		       const struct np_shape *shape)
{
	for (int c = 0; c < screen->columns; c++) {
		double y = highest_step(screen, shape, c),
		       top = row_of(screen, y);
		int eighths = (int)lround(8 * (ROWS - top));

		/* A step above 0 is always visible. */
		eighths = y > 0 && eighths < 1 ? 1 : eighths;
		for (int r = ROWS - 1; r >= 0 && eighths > 0; r--) {
			struct cell *cell =
				&screen->cell[r * screen->columns + c];

			if (shape->style == NP_STYLE_GREY)
				cell->grey = true;
			else
				cell->eighths = eighths < 8 ?
						(unsigned char)eighths : 8;
			eighths -= 8;
		}
	}
}

/* Set the braille dot at a point. */
static void draw_dot(const struct screen *screen, double x, double y)
{
	/* Bits of a braille character: four rows of two dots. */
	static const unsigned char bit[4][2] = {
		{ 0x01, 0x08 }, { 0x02, 0x10 }, { 0x04, 0x20 }, { 0x40, 0x80 },
	};
	double row = row_of(screen, y), column = column_of(screen, x);
	struct cell *cell = cell_at(screen, row, column);

	if (!cell)
		return;
	/* The ends of the axes belong to the last row and column. */
	row = fmin(row, ROWS - 0.01);
	column = fmin(column, screen->columns - 0.01);
	cell->dots |= bit[(int)(4 * (row - floor(row)))]
			 [(int)(2 * (column - floor(column)))];
}

/* Interpolate between the points, so densely that no dot is left out. */
static void draw_line(const struct screen *screen, const struct np_shape *shape)
{
	int steps = 4 * screen->columns / (int)(shape->n ? shape->n : 1) + 8;

	for (size_t i = 0; i + 1 < shape->n; i++)
		for (int k = 0; k <= steps; k++) {
			const struct np_datum *datum = &shape->datum[i];
			double part = (double)k / steps;

			draw_dot(screen,
				 datum->x + part * (datum[1].x - datum->x),
				 datum->y + part * (datum[1].y - datum->y));
		}
}

/* Draw the interval of a point, if it is known. */
static void draw_interval(const struct screen *screen,
			  const struct np_datum *datum)
{
	double column = column_of(screen, datum->x);
	double top = floor(row_of(screen, datum->high));
	double bottom = floor(row_of(screen, datum->low));

	if (isnan(top) || isnan(bottom))
		return;
	for (double row = fmax(top, 0); row <= fmin(bottom, ROWS - 1); row++) {
		struct cell *cell = cell_at(screen, row, column);

		if (cell && cell->mark != 'o')
			cell->mark = '|';
	}
}

/* A point covers its interval, which is therefore drawn first. */
static void draw_points(const struct screen *screen,
			const struct np_shape *shape)
{
	for (size_t i = 0; i < shape->n; i++) {
		const struct np_datum *datum = &shape->datum[i];
		struct cell *cell = cell_at(screen, row_of(screen, datum->y),
					    column_of(screen, datum->x));

		draw_interval(screen, datum);
		if (cell)
			cell->mark = 'o';
	}
}

/*
 * The ASCII character for a cell: '#' if at least half of it is filled, or else
 * '_'. Where the grey step is higher, a filled cell is '%', and '.' replaces
 * '_' and the space.
 */
static char ascii_of(const struct cell *cell)
{
	if (cell->mark)
		return cell->mark;
	if (cell->eighths == 8 && cell->grey)
		return '%';
	if (cell->eighths >= 4)
		return '#';
	if (cell->eighths && !cell->grey)
		return '_';
	if (cell->dots)
		return '*';
	return cell->grey ? '.' : ' ';
}

/* Print one cell, a space if it is empty. */
static void put_cell(FILE *out, const struct cell *cell, bool utf8)
{
	static const char *const blocks[] = {
		"", "\u2581", "\u2582", "\u2583", "\u2584", "\u2585",
		"\u2586", "\u2587", "\u2588",
	};

	if (!utf8)
		fputc(ascii_of(cell), out);
	else if (cell->mark)
		fputs(cell->mark == 'o' ? "\u25cf" : "\u2502", out);
	else if (cell->eighths == 8 && cell->grey)
		fputs("\u2593", out);
	else if (cell->eighths)
		fputs(blocks[cell->eighths], out);
	else if (cell->dots) /* U+2800 plus the bits of its dots */
		fprintf(out, "\342%c%c", 0xa0 + (cell->dots >> 6),
			0x80 + (cell->dots & 0x3f));
	else
		fputs(cell->grey ? "\u2591" : " ", out);
}

/* Whether nothing is drawn in a cell. */
static bool is_blank(const struct cell *cell)
{
	return !cell->mark && !cell->eighths && !cell->grey && !cell->dots;
}

/* Whether a byte of UTF-8 text continues a character. */
static bool is_continuation(char byte)
{
	return ((unsigned char)byte & 0xc0) == 0x80;
}

/*
 * Print a label. In ASCII "u" replaces the micro sign, and "?" each other
 * character.
 */
static void put_label(FILE *out, const char *text, bool utf8)
{
	for (; *text; text++)
		if (utf8 || !(*text & 0x80))
			fputc(*text, out);
		else if (!strncmp(text, "\302\265", 2))
			fputc('u', out);
		else if (!is_continuation(*text))
			fputc('?', out);
}

/* Number of characters, and so of columns, of a UTF-8 text. */
static int width_of(const char *text)
{
	int n = 0;

	for (; *text; text++)
		n += !is_continuation(*text);
	return n;
}

/* Print the plot area, with the labels of the y axis before it. */
static void put_rows(FILE *out, const struct screen *screen,
		     const struct np_ticks *ticks)
{
	for (int r = 0; r < ROWS; r++) {
		const char *label = "";
		int end = screen->columns;

		for (size_t i = 0; i < ticks->n; i++)
			if ((int)fmin(row_of(screen, ticks->at[i]), ROWS - 1) ==
			    r)
				label = ticks->label[i];
		fprintf(out, "%*s", screen->left - 2 - width_of(label), "");
		put_label(out, label, screen->utf8);
		fputs(screen->utf8 ? *label ? " \u2524" : " \u2502" :
		      *label	   ? " +" :
				     " |",
		      out);
		while (end &&
		       is_blank(&screen->cell[r * screen->columns + end - 1]))
			end--;
		for (int c = 0; c < end; c++)
			put_cell(out, &screen->cell[r * screen->columns + c],
				 screen->utf8);
		fputc('\n', out);
	}
}

/*
 * Print n labels of the x axis; one that would touch the last is skipped.
 * label_at(from, i, &x) returns the i-th label, and the value that it is for.
 */
static void put_x_labels(FILE *out, const struct screen *screen, size_t n,
			 const char *(*label_at)(const void *from, size_t i,
						 double *x),
			 const void *from)
{
	int column = 0; /* end of the last label */

	fprintf(out, "%*s", screen->left, "");
	for (size_t i = 0; i < n; i++) {
		double x;
		const char *label = label_at(from, i, &x);
		int width = width_of(label);
		int begin = (int)column_of(screen, x) - width / 2;

		begin = begin < 0 ? 0 : begin;
		if (begin + width > screen->columns)
			begin = screen->columns - width;
		if (begin < column + (column > 0)) /* a space between two */
			continue;
		fprintf(out, "%*s", begin - column, "");
		put_label(out, label, screen->utf8);
		column = begin + width;
	}
	fputc('\n', out);
}

/* For put_x_labels(): a mark. */
static const char *tick_at(const void *from, size_t i, double *x)
{
	const struct np_ticks *ticks = from;

	*x = ticks->at[i];
	return ticks->label[i];
}

/* For put_x_labels(): a name. */
static const char *name_at(const void *from, size_t i, double *x)
{
	const struct np_axis *axis = from;

	*x = (double)i;
	return axis->name[i];
}

/* Print the x axis, its marks or names, and its label. */
static void put_x_axis(FILE *out, const struct screen *screen)
{
	const struct np_axis *axis = &screen->panel->x;
	struct np_ticks ticks;

	fprintf(out, "%*s%s", screen->left - 1, "",
		screen->utf8 ? "\u2514" : "+");
	for (int c = 0; c < screen->columns; c++)
		fputs(screen->utf8 ? "\u2500" : "-", out);
	fputc('\n', out);
	if (axis->kind == NP_AXIS_NAMES) {
		put_x_labels(out, screen, axis->n_names, name_at, axis);
	} else {
		np_axis_ticks(axis, screen->x_lo, screen->x_hi, MAX_TICKS,
			      &ticks);
		put_x_labels(out, screen, ticks.n, tick_at, &ticks);
	}
	fprintf(out, "%*s", screen->left, "");
	put_label(out, axis->label ? axis->label : "", screen->utf8);
	fputc('\n', out);
}

/* A cell that shows how a shape is drawn, blank if it is not. */
static struct cell sample_of(const struct np_shape *shape)
{
	bool is_grey = shape->style == NP_STYLE_GREY;

	switch (shape->kind) {
	case NP_SHAPE_POINTS:
		return (struct cell){ .mark = 'o' };
	case NP_SHAPE_LINE:
		return (struct cell){ .dots = 0x12 }; /* a row of two dots */
	case NP_SHAPE_STEP:
		return (struct cell){ .eighths = is_grey ? 0 : 8,
				      .grey = is_grey };
	default:
		return (struct cell){ 0 };
	}
}

/*
 * Print the title, the label of the y axis, and the legend, with lines such as
 * "o measured".
 */
static void put_head(FILE *out, const struct screen *screen)
{
	const struct np_panel *panel = screen->panel;

	fprintf(out, "\n%s\n", panel->title ? panel->title : "");
	put_label(out, panel->y.label ? panel->y.label : "", screen->utf8);
	for (size_t i = 0; i < panel->n_shapes; i++) {
		struct cell sample = sample_of(&panel->shape[i]);

		if (!panel->shape[i].name || is_blank(&sample))
			continue;
		fputs("\n  ", out);
		put_cell(out, &sample, screen->utf8);
		fputc(' ', out);
		put_label(out, panel->shape[i].name, screen->utf8);
	}
	fputc('\n', out);
}

/* Draw all shapes that can be drawn in characters into the cells. */
static void draw_shapes(const struct screen *screen)
{
	for (size_t i = 0; i < screen->panel->n_shapes; i++) {
		const struct np_shape *shape = &screen->panel->shape[i];

		if (shape->kind == NP_SHAPE_STEP)
			draw_steps(screen, shape);
		else if (shape->kind == NP_SHAPE_LINE)
			draw_line(screen, shape);
		else if (shape->kind == NP_SHAPE_POINTS)
			draw_points(screen, shape);
	}
}

/* The labels of the y axis determine the width left for the plot area. */
static int print_panel(FILE *out, const struct np_panel *panel, int columns,
		       bool utf8)
{
	struct screen screen = { .panel = panel, .utf8 = utf8 };
	struct np_ticks ticks;

	np_figure_range(panel, false, &screen.x_lo, &screen.x_hi);
	np_figure_range(panel, true, &screen.y_lo, &screen.y_hi);
	np_axis_ticks(&panel->y, screen.y_lo, screen.y_hi, MAX_TICKS, &ticks);
	for (size_t i = 0; i < ticks.n; i++)
		if (width_of(ticks.label[i]) + 2 > screen.left)
			screen.left = width_of(ticks.label[i]) + 2;
	screen.left = screen.left < 6 ? 6 : screen.left;
	screen.columns = columns - screen.left;
	screen.cell =
		calloc((size_t)(ROWS * screen.columns), sizeof(*screen.cell));
	if (!screen.cell)
		return -ENOMEM;
	draw_shapes(&screen);
	put_head(out, &screen);
	put_rows(out, &screen, &ticks);
	put_x_axis(out, &screen);
	free(screen.cell);
	return 0;
}

int np_figure_print(const struct np_figure *figure, FILE *out, int columns,
		    bool utf8)
{
	int rc = figure->no_memory ? -ENOMEM : 0;

	if (!rc)
		fprintf(out, "%s\n", figure->title);
	for (size_t i = 0; !rc && i < figure->n_panels; i++)
		rc = print_panel(out, figure->panel[i], columns, utf8);
	return rc;
}
