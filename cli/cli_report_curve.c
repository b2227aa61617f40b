/*
 * The curve of an application as SVG: how much longer it runs beside each
 * level, with the 95 % interval.  Whoever draws it better replaces this file.
 */
#include <math.h>

#include "cli_html.h"
#include "cli_report.h"
#include "cli_text.h"

#define WIDTH 480.0
#define HEIGHT 220.0
#define LEFT 58.0
#define TOP 14.0
#define RIGHT 12.0
#define BOTTOM 40.0

struct axis {
	double low, high, step; /* of changes of run time */
	size_t n;		/* levels beside each other */
};

static double x_of(const struct axis *a, size_t i)
{
	return LEFT + (WIDTH - LEFT - RIGHT) * ((double)i + 0.5) / (double)a->n;
}

static double y_of(const struct axis *a, double v)
{
	return TOP + (HEIGHT - TOP - BOTTOM) * (a->high - v) /
		     (a->high - a->low);
}

/* Steps of 1, 2 or 5 times a power of ten, four or so. */
static void scale(struct axis *a)
{
	double rough = fmax(a->high - a->low, 0.01) / 4;
	double unit = pow(10, floor(log10(rough)));

	a->step = unit * (rough > 5 * unit ? 10 : rough > 2 * unit ? 5 :
			  rough > unit ? 2 : 1);
	a->low = floor(a->low / a->step) * a->step;
	a->high = ceil(fmax(a->high, a->low + a->step) / a->step) * a->step;
}

static bool is_point(const struct np_evidence_level *l)
{
	return np_mean_known(&l->slowdown) && isfinite(l->slowdown.mean) &&
	       isfinite(l->low) && isfinite(l->high);
}

static struct axis axis_of(const struct np_profile *p)
{
	struct axis a = { .n = 0 };

	for (size_t i = 0; i < p->ev.n_levels; i++) {
		const struct np_evidence_level *l = &p->ev.level[i];

		if (!is_point(l))
			continue;
		a.n++;
		a.low = fmin(a.low, fmin(l->low, l->slowdown.mean));
		a.high = fmax(a.high, fmax(l->high, l->slowdown.mean));
	}
	scale(&a);
	return a;
}

static void draw_axes(FILE *f, const struct axis *a)
{
	int steps = (int)lround((a->high - a->low) / a->step);
	char text[CLI_NUMBER];

	for (int i = 0; i <= steps; i++) {
		double v = a->low + i * a->step, y = y_of(a, v);

		fprintf(f, "<line class=\"%s\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f"
			"\" y2=\"%.1f\"/><text x=\"%.1f\" y=\"%.1f\" "
			"text-anchor=\"end\">", fabs(v) < a->step / 2 ? "axis" :
			"grid", LEFT, WIDTH - RIGHT, y, y, LEFT - 6, y + 4);
		cli_html(f, cli_change(v, text));
		fputs("</text>\n", f);
	}
	fprintf(f, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">"
		"interference level</text>\n", (LEFT + WIDTH) / 2, HEIGHT - 4);
}

static void draw_points(FILE *f, const struct np_profile *p,
			const struct axis *a)
{
	size_t at = 0;

	fputs("<polyline class=\"curve\" points=\"", f);
	for (size_t i = 0; i < p->ev.n_levels; i++)
		if (is_point(&p->ev.level[i]))
			fprintf(f, "%.1f,%.1f ", x_of(a, at++),
				y_of(a, p->ev.level[i].slowdown.mean));
	fputs("\"/>\n", f);
	at = 0;
	for (size_t i = 0; i < p->ev.n_levels; i++) {
		const struct np_evidence_level *l = &p->ev.level[i];
		double x = x_of(a, at);

		if (!is_point(l))
			continue;
		at++;
		fprintf(f, "<line class=\"bar\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f"
			"\" y2=\"%.1f\"/><circle class=\"point\" cx=\"%.1f\" "
			"cy=\"%.1f\" r=\"4\"/><text x=\"%.1f\" y=\"%.1f\" "
			"text-anchor=\"middle\">", x, x, y_of(a, l->low),
			y_of(a, l->high), x, y_of(a, l->slowdown.mean), x,
			HEIGHT - BOTTOM + 18);
		cli_html(f, l->name);
		fputs("</text>\n", f);
	}
}

void cli_report_curve(FILE *f, const struct np_profile *p)
{
	struct axis a = axis_of(p);

	if (!a.n)
		return;
	fprintf(f, "<svg role=\"img\" width=\"%.0f\" height=\"%.0f\" viewBox=\""
		"0 0 %.0f %.0f\" aria-label=\"Run time of ", WIDTH, HEIGHT,
		WIDTH, HEIGHT);
	cli_html(f, p->runs->app);
	fputs(" beside each interference level, with its 95 % interval\">\n", f);
	draw_axes(f, &a);
	draw_points(f, p, &a);
	fputs("</svg>\n", f);
}
