#include "some_figure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct np_figure *some_figure(void)
{
	struct np_figure *f = np_figure_new("a & b <c>");
	struct np_panel *p = np_figure_add_panel(f, "Panel \"one\"");
	struct np_shape *s;

	np_figure_set_axis(f, &p->x, NP_AXIS_SECONDS, "Latency");
	np_figure_set_axis(f, &p->y, NP_AXIS_LINEAR, "Share (%)");
	np_figure_set_caption(f, "n = %d runs, 2024-06-12", 7);
	f->date = 1718186402;
	for (int kind = NP_SHAPE_BAND; kind <= NP_SHAPE_POINTS; kind++) {
		s = np_figure_add_shape(f, p, (enum np_shape_kind)kind,
					(unsigned)kind, "shape");
		for (int i = 0; i < 5; i++)
			np_figure_add_datum(
				f, s, 1e-6 * (i + 1), 10 * i,
				kind == NP_SHAPE_REGION ? 2e-6 : 10 * i - 3,
				kind == NP_SHAPE_REGION ? 3e-6 : 10 * i + 3);
		np_figure_add_datum(f, s, NAN, NAN, NAN, NAN);
		np_figure_add_datum(f, s, INFINITY, -INFINITY, NAN, INFINITY);
		np_figure_add_datum(f, s, 0, 7, -1, 0);
	}
	return f;
}

struct np_figure *some_named_figure(enum np_shape_kind kind, size_t n)
{
	struct np_figure *f = np_figure_new("named");
	struct np_panel *p = np_figure_add_panel(f, "");
	struct np_shape *s;
	char name[80];

	np_figure_set_axis(
		f, &p->x,
		kind == NP_SHAPE_SPANS ? NP_AXIS_LINEAR : NP_AXIS_NAMES, "");
	np_figure_set_axis(
		f, &p->y,
		kind == NP_SHAPE_BARS ? NP_AXIS_LINEAR : NP_AXIS_NAMES, "");
	for (size_t i = 0; i < n; i++) {
		snprintf(name, sizeof(name),
			 "application_%zu_of_a_name_that_"
			 "goes_on_and_on_for_ever",
			 i);
		if (kind != NP_SHAPE_SPANS)
			np_figure_add_name(f, &p->x, name);
		if (kind != NP_SHAPE_BARS)
			np_figure_add_name(f, &p->y, name);
	}
	s = np_figure_add_shape(f, p, kind, 1, NULL);
	for (size_t i = 0; i < n; i++)
		if (kind == NP_SHAPE_CELLS)
			np_figure_add_cell(f, s, (double)i, (double)i,
					   i ? (double)i / (double)n : NAN,
					   "+41 %");
		else
			np_figure_add_datum(f, s, (double)i, (double)i, 1,
					    2 + (double)i);
	return f;
}

char *some_svg(struct np_figure *f)
{
	char *text = NULL;
	size_t len;

	if (np_picture_make(f, NP_PICTURE_SVG, &text, &len, NULL))
		text = NULL;
	np_figure_free(f);
	return text;
}
