#include "np_figure.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "np_array.h"
#include "np_err.h"
#include "np_text.h"

#define TEXT 1024 /* bytes of the longest text */

static char *copy(struct np_figure *f, const char *text)
{
	char *clean = np_text_clean(text, TEXT);

	if (!clean)
		f->no_memory = true;
	else
		np_text_plain(clean);
	return clean;
}

struct np_figure *np_figure_new(const char *title)
{
	struct np_figure *f = calloc(1, sizeof(*f));

	if (f)
		f->title = copy(f, title);
	return f;
}

static void free_list(char **list, size_t n)
{
	for (size_t i = 0; list && i < n; i++)
		free(list[i]);
	free(list);
}

static void free_panel(struct np_panel *p)
{
	for (size_t i = 0; i < p->n_shapes; i++) {
		struct np_shape *s = &p->shape[i];

		free(s->name);
		for (size_t k = 0; k < s->n; k++)
			free(s->at[k].text);
		free(s->at);
	}
	free(p->shape);
	free(p->title);
	free(p->x.label);
	free(p->y.label);
	free_list(p->x.name, p->x.n_names);
	free_list(p->y.name, p->y.n_names);
	free(p);
}

void np_figure_free(struct np_figure *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->n_panels; i++)
		free_panel(f->panel[i]);
	free(f->panel);
	free(f->title);
	free(f->caption);
	free(f);
}

void np_figure_caption(struct np_figure *f, const char *fmt, ...)
{
	char text[TEXT];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	free(f->caption);
	f->caption = copy(f, text);
}

/* Room for one more of size bytes at the end of *list. */
static bool grow(struct np_figure *f, void *list, size_t n, size_t size)
{
	bool grown = !np_array_more(list, n, size);

	f->no_memory |= !grown;
	return grown;
}

struct np_panel *np_figure_panel(struct np_figure *f, const char *title)
{
	struct np_panel *p;

	if (!grow(f, &f->panel, f->n_panels, sizeof(*f->panel)))
		return NULL;
	p = calloc(1, sizeof(*p));
	if (!p) {
		f->no_memory = true;
		return NULL;
	}
	p->title = copy(f, title);
	p->x.lo = p->x.hi = p->y.lo = p->y.hi = NAN;
	f->panel[f->n_panels++] = p;
	return p;
}

void np_figure_axis(struct np_figure *f, struct np_axis *a,
		    enum np_axis_kind kind, const char *label)
{
	a->kind = kind;
	free(a->label);
	a->label = copy(f, label);
}

void np_figure_name(struct np_figure *f, struct np_axis *a, const char *name)
{
	char *text;

	if (!grow(f, &a->name, a->n_names, sizeof(*a->name)))
		return;
	text = copy(f, name);
	if (text)
		a->name[a->n_names++] = text;
}

struct np_shape *np_figure_shape(struct np_figure *f, struct np_panel *p,
				 enum np_shape_kind kind, unsigned style,
				 const char *name)
{
	struct np_shape *s;

	if (!p || !grow(f, &p->shape, p->n_shapes, sizeof(*p->shape)))
		return NULL;
	s = &p->shape[p->n_shapes++];
	*s = (struct np_shape){ .kind = kind, .style = style % NP_STYLES };
	s->name = name ? copy(f, name) : NULL;
	return s;
}

void np_figure_add(struct np_figure *f, struct np_shape *s, double x, double y,
		   double low, double high)
{
	if (s && grow(f, &s->at, s->n, sizeof(*s->at)))
		s->at[s->n++] = (struct np_datum){ x, y, low, high, NULL };
}

void np_figure_cell(struct np_figure *f, struct np_shape *s, double x,
		    double y, double colour, const char *text)
{
	size_t n = s ? s->n : 0;

	np_figure_add(f, s, x, y, colour, NAN);
	if (s && s->n > n)
		s->at[n].text = copy(f, text);
}

static void widen(double v, bool log, double *lo, double *hi)
{
	if (!isfinite(v) || (log && !(v > 0)))
		return;
	*lo = fmin(*lo, v);
	*hi = fmax(*hi, v);
}

static bool is_log(const struct np_axis *a)
{
	return a->kind == NP_AXIS_LOG || a->kind == NP_AXIS_SECONDS;
}

double np_axis_place(const struct np_axis *a, double v, double lo, double hi)
{
	if (is_log(a))
		return log(v / lo) / log(hi / lo);
	return (v - lo) / (hi - lo);
}

void np_axis_ticks(const struct np_axis *a, double lo, double hi, size_t most,
		   struct np_ticks *out)
{
	out->n = 0;
	if (is_log(a))
		np_ticks_log(lo, hi, most, a->kind == NP_AXIS_SECONDS, out);
	else if (a->kind != NP_AXIS_NAMES)
		np_ticks_linear(lo, hi, most, out);
}

/* Do low and high of these shapes lie along x, and not along y? */
static bool lies(enum np_shape_kind kind)
{
	return kind == NP_SHAPE_SPANS || kind == NP_SHAPE_ZONE;
}

/* Widen the ends to all of a shape. */
static void reach(const struct np_shape *s, bool y, bool log, double *lo,
		  double *hi)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct np_datum *d = &s->at[i];

		widen(y ? d->y : d->x, log, lo, hi);
		if (lies(s->kind) == y || s->kind == NP_SHAPE_CELLS)
			continue;
		widen(d->low, log, lo, hi);
		widen(d->high, log, lo, hi);
	}
}

/* So that nothing touches the frame; but what is above 0 begins there. */
static void loosen(double *lo, double *hi)
{
	double room = (*hi - *lo) / 20;

	if (*lo < 0 || *lo > 4 * room)
		*lo -= room;
	else
		*lo = 0;
	*hi += room;
}

void np_figure_range(const struct np_panel *p, bool y, double *lo, double *hi)
{
	const struct np_axis *a = y ? &p->y : &p->x;
	bool log = is_log(a);

	if (a->kind == NP_AXIS_NAMES) {
		*lo = y ? (double)a->n_names - 0.5 : -0.5;
		*hi = y ? -0.5 : (double)a->n_names - 0.5;
		return;
	}
	*lo = INFINITY;
	*hi = -INFINITY;
	for (size_t i = 0; i < p->n_shapes; i++)
		reach(&p->shape[i], y, log, lo, hi);
	if (!isfinite(*lo)) { /* nothing */
		*lo = log ? 0.1 : 0;
		*hi = 1;
	}
	if (!(*lo < *hi)) { /* one value: room on both sides */
		double room = *lo != 0 ? fabs(*lo) / 2 : 0.5;

		*lo = log ? *lo / 2 : *lo - room;
		*hi = log ? *hi * 2 : *hi + room;
	}
	if (y && !log)
		loosen(lo, hi);
	*lo = isnan(a->lo) ? *lo : a->lo;
	*hi = isnan(a->hi) ? *hi : a->hi;
	if (!(*lo < *hi)) /* all beyond the end that was given */
		*hi = log ? *lo * 2 : *lo + 1;
}
