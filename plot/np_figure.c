/*
 * Builds figures, and finds the ranges of their axes and the marks on them.
 */
#include "np_figure.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>

#include "np_array.h"
#include "np_err.h"
#include "np_text.h"

/*
 * ---- Building a figure ----
 *
 * Every allocation goes through copy_text() or make_room(), which set no_memory
 * when they fail. The figure is then incomplete but remains consistent.
 */

#define MAX_TEXT 1024 /* bytes of a text without the NUL */

/* Copy a text without control characters, cut to MAX_TEXT bytes. */
static char *copy_text(struct np_figure *figure, const char *text)
{
	char *plain = np_text_plain_copy(text, MAX_TEXT);

	if (!plain)
		figure->no_memory = true;
	return plain;
}

struct np_figure *np_figure_new(const char *title)
{
	struct np_figure *figure = calloc(1, sizeof(*figure));

	if (figure)
		figure->title = copy_text(figure, title);
	return figure;
}

static void free_names(char **name, size_t n)
{
	for (size_t i = 0; name && i < n; i++)
		free(name[i]);
	free(name);
}

static void clear_panel(struct np_panel *panel)
{
	for (size_t i = 0; i < panel->n_shapes; i++) {
		struct np_shape *shape = &panel->shape[i];

		free(shape->name);
		for (size_t k = 0; k < shape->n; k++)
			free(shape->datum[k].text);
		free(shape->datum);
	}
	free(panel->shape);
	free(panel->title);
	free(panel->x.label);
	free(panel->y.label);
	free_names(panel->x.name, panel->x.n_names);
	free_names(panel->y.name, panel->y.n_names);
}

void np_figure_free(struct np_figure *figure)
{
	if (!figure)
		return;
	for (size_t i = 0; i < figure->n_panels; i++) {
		clear_panel(figure->panel[i]);
		free(figure->panel[i]);
	}
	clear_panel(&figure->lost);
	free(figure->panel);
	free(figure->title);
	free(figure->caption);
	free(figure);
}

void np_figure_set_caption(struct np_figure *figure, const char *fmt, ...)
{
	char text[MAX_TEXT];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	free(figure->caption);
	figure->caption = copy_text(figure, text);
}

/* Make room for one more element of size bytes at the end of *array. */
static bool make_room(struct np_figure *figure, void *array, size_t n,
		      size_t size)
{
	bool grown = !np_array_grow(array, n, size);

	figure->no_memory |= !grown;
	return grown;
}

struct np_panel *np_figure_add_panel(struct np_figure *figure,
				     const char *title)
{
	struct np_panel *panel;

	if (!make_room(figure, &figure->panel, figure->n_panels,
		       sizeof(*figure->panel)))
		return &figure->lost;
	panel = calloc(1, sizeof(*panel));
	if (!panel) {
		figure->no_memory = true;
		return &figure->lost;
	}
	panel->title = copy_text(figure, title);
	panel->x.lo = panel->x.hi = panel->y.lo = panel->y.hi = NAN;
	figure->panel[figure->n_panels++] = panel;
	return panel;
}

void np_figure_set_axis(struct np_figure *figure, struct np_axis *axis,
			enum np_axis_kind kind, const char *label)
{
	axis->kind = kind;
	free(axis->label);
	axis->label = copy_text(figure, label);
}

void np_figure_add_name(struct np_figure *figure, struct np_axis *axis,
			const char *name)
{
	char *text;

	if (!make_room(figure, &axis->name, axis->n_names, sizeof(*axis->name)))
		return;
	text = copy_text(figure, name);
	if (text)
		axis->name[axis->n_names++] = text;
}

struct np_shape *np_figure_add_shape(struct np_figure *figure,
				     struct np_panel *panel,
				     enum np_shape_kind kind, unsigned style,
				     const char *name)
{
	struct np_shape *shape;

	if (panel == &figure->lost ||
	    !make_room(figure, &panel->shape, panel->n_shapes,
		       sizeof(*panel->shape)))
		return NULL;
	shape = &panel->shape[panel->n_shapes++];
	*shape = (struct np_shape){ .kind = kind, .style = style % NP_STYLES };
	shape->name = name ? copy_text(figure, name) : NULL;
	return shape;
}

void np_figure_add_datum(struct np_figure *figure, struct np_shape *shape,
			 double x, double y, double low, double high)
{
	if (shape &&
	    make_room(figure, &shape->datum, shape->n, sizeof(*shape->datum)))
		shape->datum[shape->n++] =
			(struct np_datum){ x, y, low, high, NULL };
}

void np_figure_add_cell(struct np_figure *figure, struct np_shape *shape,
			double x, double y, double colour, const char *text)
{
	size_t n = shape ? shape->n : 0;

	np_figure_add_datum(figure, shape, x, y, colour, NAN);
	if (shape && shape->n > n)
		shape->datum[n].text = copy_text(figure, text);
}

/* Extend the range lo .. hi to a value, if the axis can show it. */
static void extend_to_value(double value, bool log, double *lo, double *hi)
{
	if (!isfinite(value) || (log && !(value > 0)))
		return;
	*lo = fmin(*lo, value);
	*hi = fmax(*hi, value);
}

static bool is_log(const struct np_axis *axis)
{
	return axis->kind == NP_AXIS_LOG || axis->kind == NP_AXIS_SECONDS;
}

double np_axis_position(const struct np_axis *axis, double value, double lo,
			double hi)
{
	if (is_log(axis))
		return log(value / lo) / log(hi / lo);
	return (value - lo) / (hi - lo);
}

void np_axis_ticks(const struct np_axis *axis, double lo, double hi,
		   size_t most, struct np_ticks *out)
{
	out->n = 0;
	if (is_log(axis))
		np_ticks_log(lo, hi, most, axis->kind == NP_AXIS_SECONDS, out);
	else if (axis->kind != NP_AXIS_NAMES)
		np_ticks_linear(lo, hi, most, out);
}

/* Whether the interval low .. high of this kind of shape is along x, not y. */
static bool has_x_interval(enum np_shape_kind kind)
{
	return kind == NP_SHAPE_SPANS || kind == NP_SHAPE_REGION;
}

/* Extend the range lo .. hi, of y or x values, to cover a shape. */
static void extend_to_shape(const struct np_shape *shape, bool y, bool log,
			    double *lo, double *hi)
{
	for (size_t i = 0; i < shape->n; i++) {
		const struct np_datum *datum = &shape->datum[i];

		extend_to_value(y ? datum->y : datum->x, log, lo, hi);
		if (has_x_interval(shape->kind) == y ||
		    shape->kind == NP_SHAPE_CELLS)
			continue;
		extend_to_value(datum->low, log, lo, hi);
		extend_to_value(datum->high, log, lo, hi);
	}
}

/*
 * Leave some space between the shapes and the frame, a twentieth of the range.
 * The axis starts at 0 instead if its lowest value is not negative and at most
 * a fifth of the range.
 */
static void add_margins(double *lo, double *hi)
{
	double margin = (*hi - *lo) / 20;

	if (*lo < 0 || *lo > 4 * margin)
		*lo -= margin;
	else
		*lo = 0;
	*hi += margin;
}

/* Ends that the axis sets override those derived from the shapes. */
void np_figure_find_range(const struct np_panel *panel, bool y, double *lo,
			  double *hi)
{
	const struct np_axis *axis = y ? &panel->y : &panel->x;
	bool log = is_log(axis);

	if (axis->kind == NP_AXIS_NAMES) {
		*lo = y ? (double)axis->n_names - 0.5 : -0.5;
		*hi = y ? -0.5 : (double)axis->n_names - 0.5;
		return;
	}
	*lo = INFINITY;
	*hi = -INFINITY;
	for (size_t i = 0; i < panel->n_shapes; i++)
		extend_to_shape(&panel->shape[i], y, log, lo, hi);
	if (!isfinite(*lo)) { /* there are no values */
		*lo = log ? 0.1 : 0;
		*hi = 1;
	}
	if (!(*lo < *hi)) { /* a single value gets space on both sides */
		double margin = *lo != 0 ? fabs(*lo) / 2 : 0.5;

		*lo = log ? *lo / 2 : *lo - margin;
		*hi = log ? *hi * 2 : *hi + margin;
	}
	if (y && !log)
		add_margins(lo, hi);
	*lo = isnan(axis->lo) ? *lo : axis->lo;
	*hi = isnan(axis->hi) ? *hi : axis->hi;
	if (!(*lo < *hi)) /* all values are beyond the end that was set */
		*hi = log ? *lo * 2 : *lo + 1;
}

/*
 * ---- Axis marks ----
 *
 * Comparisons tolerate rounding errors, of 1e-9 of a step or, on logarithmic
 * axes, of a value, so that a mark at the end of an axis is not lost.
 */

static const double nice_steps[] = { 1, 2, 5, 10 };

/* Count the multiples of step within lo .. hi. */
static double count_multiples(double lo, double hi, double step)
{
	return floor(hi / step + 1e-9) - ceil(lo / step - 1e-9) + 1;
}

/* Choose the smallest nice step with at most `most` multiples in lo .. hi. */
static double choose_step(double lo, double hi, size_t most)
{
	double step, power = pow(10, floor(log10((hi - lo) / (double)most)));

	for (size_t i = 0; i < NP_ARRAY_SIZE(nice_steps); i++) {
		step = nice_steps[i] * power;
		if (count_multiples(lo, hi, step) <= (double)most)
			return step;
	}
	return 20 * power;
}

/*
 * Number of significant digits that labels need to be distinct, but at least
 * `least`, and no more than fit into a label.
 */
static int digits_needed(double lo, double hi, double step, int least)
{
	double largest = fmax(fabs(lo), fabs(hi));
	double needed =
		floor(log10(largest) + 1e-9) - floor(log10(step) + 1e-9) + 1;

	return (int)fmin(fmax(needed, least), NP_TICKS_LABEL / 2);
}

/* Marks are computed as multiples, so that rounding errors do not add up. */
void np_ticks_linear(double lo, double hi, size_t most, struct np_ticks *out)
{
	double step = choose_step(lo, hi, most);
	double first = ceil(lo / step - 1e-9);
	int decimals = (int)fmax(0, -floor(log10(step) + 1e-9));
	int significant = digits_needed(lo, hi, step, 3);

	out->n = 0;
	while (out->n < NP_TICKS_MAX) {
		double value = (first + (double)out->n) * step;
		char *label = out->label[out->n];

		if (value > hi + 1e-9 * step)
			break;
		value = fabs(value) < 1e-9 * step ? 0 : value;
		out->at[out->n++] = value;
		if (fabs(value) < 1e7 && decimals < 7)
			snprintf(label, NP_TICKS_LABEL, "%.*f", decimals,
				 value);
		else
			snprintf(label, NP_TICKS_LABEL, "%.*g", significant,
				 value);
	}
}

/* Write the label, of NP_TICKS_LABEL bytes, of a mark on a logarithmic axis. */
static void format_log_label(double value, bool seconds, int significant,
			     char *label)
{
	static const struct {
		double unit;
		const char *name;
	} units[] = {
		{ 1, "s" },
		{ 1e-3, "ms" },
		{ 1e-6, "\302\265s" },
		{ 1e-9, "ns" },
	};
	size_t i = 0;

	if (!seconds) {
		snprintf(label, NP_TICKS_LABEL, "%.*g", significant, value);
		return;
	}
	while (i + 1 < NP_ARRAY_SIZE(units) &&
	       value < units[i].unit * (1 - 1e-9))
		i++;
	snprintf(label, NP_TICKS_LABEL, "%.*g %s", significant,
		 value / units[i].unit, units[i].name);
}

/*
 * Find the marks within lo .. hi, at per_decade values (1; 1, 3; or 1, 2, 5) of
 * each decade whose exponent is a multiple of `every`. Stores the first `most`
 * in marks[], and returns the number of all.
 */
static size_t find_log_marks(double lo, double hi, int per_decade, int every,
			     double *marks, size_t most)
{
	static const double factors[][3] = { { 1 }, { 1, 3 }, { 1, 2, 5 } };
	int first = (int)floor(log10(lo)), last = (int)ceil(log10(hi));
	size_t n = 0;

	for (int exponent = first; exponent <= last; exponent++)
		for (int i = 0; i < per_decade; i++) {
			double value =
				factors[per_decade - 1][i] * pow(10, exponent);

			if (exponent % every || value < lo * (1 - 1e-9) ||
			    value > hi * (1 + 1e-9))
				continue;
			if (n < most)
				marks[n] = value;
			n++;
		}
	return n;
}

/* To reduce the marks, use fewer per decade first, and then fewer decades. */
void np_ticks_log(double lo, double hi, size_t most, bool seconds,
		  struct np_ticks *out)
{
	int per_decade = 3, every = 1, significant = 4;

	while (find_log_marks(lo, hi, per_decade, every, NULL, 0) > most)
		if (per_decade > 1)
			per_decade--;
		else
			every++;
	out->n = find_log_marks(lo, hi, per_decade, every, out->at,
				NP_TICKS_MAX);
	if (out->n < 2) {
		np_ticks_linear(lo, hi, most, out);
		significant = digits_needed(lo, hi, choose_step(lo, hi, most),
					    significant);
	}
	for (size_t i = 0; i < out->n; i++)
		format_log_label(out->at[i], seconds, significant,
				 out->label[i]);
}
