/*
 * Prints figures on a terminal. The plot area of a panel has N_ROWS lines of
 * cells, one per character. Shapes are first drawn into the cells, each kind
 * into its own members, and the cells are then printed: points cover steps, and
 * steps cover lines. Cells are divided as finely as characters allow: into
 * eighths of a block for steps, and into the eight dots of a braille character
 * for lines.
 */
#include "np_figure.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define N_ROWS 10   /* height of a plot area, lines of text */
#define MAX_TICKS 6 /* marks of an axis */

/* One character of the plot area. */
struct cell {
	unsigned char eighths; /* steps: eighths filled, from below */
	bool grey;	       /* steps: below one of NP_STYLE_GREY */
	unsigned char dots;    /* lines: bits of the braille dots */
	char mark;	       /* points: 'o', or '|' for their intervals */
};

/* A panel that is being printed. */
struct screen {
	const struct np_panel *panel;
	int columns, left; /* widths of the plot area and of the y labels */
	bool utf8;
	double x_lo, x_hi, y_lo, y_hi; /* values at the ends of the axes */
	struct cell *cell;	       /* N_ROWS * columns, line by line */
};

/*
 * Convert values to positions, in cells from the left and from the top. The
 * result is not finite if the axis cannot show the value.
 */
static double x_to_column(const struct screen *screen, double x)
{
	return screen->columns * np_axis_position(&screen->panel->x, x,
						  screen->x_lo, screen->x_hi);
}

static double y_to_row(const struct screen *screen, double y)
{
	double height = np_axis_position(&screen->panel->y, y, screen->y_lo,
					 screen->y_hi);
	double row = N_ROWS * (1 - height);

	/* Undo rounding errors, which could move a value to the row above. */
	return fabs(row - round(row)) < 1e-9 ? round(row) : row;
}

/* Return the cell at a position, or NULL outside the plot area. */
static struct cell *cell_at(const struct screen *screen, double row,
			    double column)
{
	/* The ends of the axes belong to the last row and column. */
	int cell_row = (int)fmin(floor(row), N_ROWS - 1);
	int cell_column = (int)fmin(floor(column), screen->columns - 1);

	if (!isfinite(row) || !isfinite(column) || row < 0 || row > N_ROWS ||
	    column < 0 || column > screen->columns)
		return NULL;
	return &screen->cell[cell_row * screen->columns + cell_column];
}

/* Value of the highest step that overlaps a column; 0: none does. */
static double highest_step(const struct screen *screen,
			   const struct np_shape *shape, int column)
{
	const struct np_datum *datum = shape->datum;
	double highest = 0;

	for (size_t i = 0; i + 1 < shape->n; i++)
		if (x_to_column(screen, datum[i].x) < column + 1 &&
		    x_to_column(screen, datum[i + 1].x) > column &&
		    datum[i].y > highest)
			highest = datum[i].y;
	return highest;
}

/* Fill each column up to its highest step, to an eighth of a cell. */
static void draw_steps(const struct screen *screen,
		       const struct np_shape *shape)
{
	for (int column = 0; column < screen->columns; column++) {
		double y = highest_step(screen, shape, column),
		       top = y_to_row(screen, y);
		int eighths = (int)lround(8 * (N_ROWS - top));

		/* A step above 0 is always visible. */
		eighths = y > 0 && eighths < 1 ? 1 : eighths;
		for (int row = N_ROWS - 1; row >= 0 && eighths > 0; row--) {
			struct cell *cell =
				&screen->cell[row * screen->columns + column];

			if (shape->style == NP_STYLE_GREY)
				cell->grey = true;
			else
				cell->eighths = eighths < 8 ?
							(unsigned char)eighths :
							8;
			eighths -= 8;
		}
	}
}

/* Set the braille dot at a point. */
static void draw_dot(const struct screen *screen, double x, double y)
{
	/* Bits of a braille character: four rows of two dots. */
	static const unsigned char bit[4][2] = {
		{ 0x01, 0x08 },
		{ 0x02, 0x10 },
		{ 0x04, 0x20 },
		{ 0x40, 0x80 },
	};
	double row = y_to_row(screen, y), column = x_to_column(screen, x);
	struct cell *cell = cell_at(screen, row, column);

	if (!cell)
		return;
	/* The ends of the axes belong to the last row and column. */
	row = fmin(row, N_ROWS - 0.01);
	column = fmin(column, screen->columns - 0.01);
	cell->dots |= bit[(int)(4 * (row - floor(row)))]
			 [(int)(2 * (column - floor(column)))];
}

/* Draw dots between the points, so densely that the line has no gaps. */
static void draw_line(const struct screen *screen, const struct np_shape *shape)
{
	int steps = 4 * screen->columns / (int)(shape->n ? shape->n : 1) + 8;

	for (size_t i = 0; i + 1 < shape->n; i++)
		for (int k = 0; k <= steps; k++) {
			const struct np_datum *datum = &shape->datum[i];
			double fraction = (double)k / steps;

			draw_dot(screen,
				 datum->x + fraction * (datum[1].x - datum->x),
				 datum->y + fraction * (datum[1].y - datum->y));
		}
}

/* Draw the interval of a point if it is known. */
static void draw_interval(const struct screen *screen,
			  const struct np_datum *datum)
{
	double column = x_to_column(screen, datum->x);
	double top = floor(y_to_row(screen, datum->high));
	double bottom = floor(y_to_row(screen, datum->low));

	if (isnan(top) || isnan(bottom))
		return;
	for (double row = fmax(top, 0); row <= fmin(bottom, N_ROWS - 1);
	     row++) {
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
		struct cell *cell = cell_at(screen, y_to_row(screen, datum->y),
					    x_to_column(screen, datum->x));

		draw_interval(screen, datum);
		if (cell)
			cell->mark = 'o';
	}
}

/*
 * Choose the ASCII character for a cell: '#' if at least half of it is filled,
 * or else '_'. Below a grey step, a full cell is '%', and '.' replaces '_' and
 * the space.
 */
static char ascii_for_cell(const struct cell *cell)
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

/* Print one cell, or a space if it is empty. */
static void print_cell(FILE *out, const struct cell *cell, bool utf8)
{
	static const char *const blocks[] = {
		"",	  "\u2581", "\u2582", "\u2583", "\u2584",
		"\u2585", "\u2586", "\u2587", "\u2588",
	};

	if (!utf8)
		fputc(ascii_for_cell(cell), out);
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
 * Print a label. In ASCII, "u" replaces the micro sign, and "?" any other
 * character.
 */
static void print_label(FILE *out, const char *text, bool utf8)
{
	for (; *text; text++)
		if (utf8 || !(*text & 0x80))
			fputc(*text, out);
		else if (!strncmp(text, "\302\265", 2))
			fputc('u', out);
		else if (!is_continuation(*text))
			fputc('?', out);
}

/* Width of a UTF-8 text in columns, which is its number of characters. */
static int text_width(const char *text)
{
	int width = 0;

	for (; *text; text++)
		width += !is_continuation(*text);
	return width;
}

/* Print the plot area, with the labels of the y axis before it. */
static void print_rows(FILE *out, const struct screen *screen,
		       const struct np_ticks *ticks)
{
	for (int row = 0; row < N_ROWS; row++) {
		const char *label = "";
		int end = screen->columns;

		for (size_t i = 0; i < ticks->n; i++)
			if ((int)fmin(y_to_row(screen, ticks->at[i]),
				      N_ROWS - 1) == row)
				label = ticks->label[i];
		fprintf(out, "%*s", screen->left - 2 - text_width(label), "");
		print_label(out, label, screen->utf8);
		fputs(screen->utf8 ? *label ? " \u2524" : " \u2502" :
		      *label	   ? " +" :
				     " |",
		      out);
		while (end &&
		       is_blank(&screen->cell[row * screen->columns + end - 1]))
			end--;
		for (int column = 0; column < end; column++)
			print_cell(
				out,
				&screen->cell[row * screen->columns + column],
				screen->utf8);
		fputc('\n', out);
	}
}

/*
 * Print n labels of the x axis, except those that would touch the previous one.
 * label_at(source, i, &x) returns the i-th label and sets x to its value.
 */
static void print_x_labels(FILE *out, const struct screen *screen, size_t n,
			   const char *(*label_at)(const void *source, size_t i,
						   double *x),
			   const void *source)
{
	int printed = 0; /* columns printed so far */

	fprintf(out, "%*s", screen->left, "");
	for (size_t i = 0; i < n; i++) {
		double x;
		const char *label = label_at(source, i, &x);
		int width = text_width(label);
		int begin = (int)x_to_column(screen, x) - width / 2;

		begin = begin < 0 ? 0 : begin;
		if (begin + width > screen->columns)
			begin = screen->columns - width;
		if (begin < printed + (printed > 0)) /* a space between two */
			continue;
		fprintf(out, "%*s", begin - printed, "");
		print_label(out, label, screen->utf8);
		printed = begin + width;
	}
	fputc('\n', out);
}

/* A label_at() of print_x_labels(), for marks. */
static const char *tick_at(const void *source, size_t i, double *x)
{
	const struct np_ticks *ticks = source;

	*x = ticks->at[i];
	return ticks->label[i];
}

/* A label_at() of print_x_labels(), for names. */
static const char *name_at(const void *source, size_t i, double *x)
{
	const struct np_axis *axis = source;

	*x = (double)i;
	return axis->name[i];
}

/* Print the x axis, its marks or names, and its label. */
static void print_x_axis(FILE *out, const struct screen *screen)
{
	const struct np_axis *axis = &screen->panel->x;
	struct np_ticks ticks;

	fprintf(out, "%*s%s", screen->left - 1, "",
		screen->utf8 ? "\u2514" : "+");
	for (int c = 0; c < screen->columns; c++)
		fputs(screen->utf8 ? "\u2500" : "-", out);
	fputc('\n', out);
	if (axis->kind == NP_AXIS_NAMES) {
		print_x_labels(out, screen, axis->n_names, name_at, axis);
	} else {
		np_axis_ticks(axis, screen->x_lo, screen->x_hi, MAX_TICKS,
			      &ticks);
		print_x_labels(out, screen, ticks.n, tick_at, &ticks);
	}
	fprintf(out, "%*s", screen->left, "");
	print_label(out, axis->label ? axis->label : "", screen->utf8);
	fputc('\n', out);
}

/* The cell for a shape in the legend; it is blank if the kind is not drawn. */
static struct cell legend_sample(const struct np_shape *shape)
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
 * Print the title, the label of the y axis, and the legend, whose lines are
 * such as "o measured".
 */
static void print_header(FILE *out, const struct screen *screen)
{
	const struct np_panel *panel = screen->panel;

	fprintf(out, "\n%s\n", panel->title ? panel->title : "");
	print_label(out, panel->y.label ? panel->y.label : "", screen->utf8);
	for (size_t i = 0; i < panel->n_shapes; i++) {
		struct cell sample = legend_sample(&panel->shape[i]);

		if (!panel->shape[i].name || is_blank(&sample))
			continue;
		fputs("\n  ", out);
		print_cell(out, &sample, screen->utf8);
		fputc(' ', out);
		print_label(out, panel->shape[i].name, screen->utf8);
	}
	fputc('\n', out);
}

/* Draw the shapes into the cells, except those that are skipped. */
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

/* The plot area is as wide as the labels of the y axis leave it. */
static int print_panel(FILE *out, const struct np_panel *panel, int columns,
		       bool utf8)
{
	struct screen screen = { .panel = panel, .utf8 = utf8 };
	struct np_ticks ticks;

	np_figure_find_range(panel, false, &screen.x_lo, &screen.x_hi);
	np_figure_find_range(panel, true, &screen.y_lo, &screen.y_hi);
	np_axis_ticks(&panel->y, screen.y_lo, screen.y_hi, MAX_TICKS, &ticks);
	for (size_t i = 0; i < ticks.n; i++)
		if (text_width(ticks.label[i]) + 2 > screen.left)
			screen.left = text_width(ticks.label[i]) + 2;
	screen.left = screen.left < 6 ? 6 : screen.left;
	screen.columns = columns - screen.left;
	screen.cell =
		calloc((size_t)(N_ROWS * screen.columns), sizeof(*screen.cell));
	if (!screen.cell)
		return -ENOMEM;
	draw_shapes(&screen);
	print_header(out, &screen);
	print_rows(out, &screen, &ticks);
	print_x_axis(out, &screen);
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
