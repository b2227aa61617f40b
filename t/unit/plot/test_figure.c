#include "t.h"

#include "alloc.h"
#include "np_picture.h"

/* clang-format off */
static const struct {
	const char *name;
	enum np_axis_kind kind;
	double given_lo, given_hi;
	size_t n;
	double y[3];
	double lo, hi;
} rows[] = {
	{ "with room above", NP_AXIS_LINEAR, NAN, NAN, 2, { 0, 20 }, 0, 21 },
	{ "and below", NP_AXIS_LINEAR, NAN, NAN, 2, { -10, 10 }, -11, 11 },
	{ "0 is near", NP_AXIS_LINEAR, NAN, NAN, 2, { 1, 21 }, 0, 22 },
	{ "far from 0", NP_AXIS_LINEAR, NAN, NAN, 2, { 100, 120 }, 99, 121 },
	{ "as given", NP_AXIS_LINEAR, 0, 100, 2, { 30, 40 }, 0, 100 },
	{ "one end given", NP_AXIS_LINEAR, 0, NAN, 2, { 20, 40 }, 0, 41 },
	{ "one value", NP_AXIS_LOG, NAN, NAN, 1, { 4 }, 2, 8 },
	{ "nothing", NP_AXIS_LINEAR, 0, 1, 0, { 0 }, 0, 1 },
	{ "nothing above 0", NP_AXIS_LOG, NAN, NAN, 1, { -4 }, 0.1, 1 },
	{ "what is not finite", NP_AXIS_LOG, NAN, NAN, 3,
	  { INFINITY, 1, 10 }, 1, 10 },
	{ "all beyond the given end", NP_AXIS_LINEAR, 50, NAN, 2, { 1, 9 },
	  50, 51 },
};
/* clang-format on */

T_TEST("an axis holds all values that can be drawn")
{
	T_EACH(r, rows) {
		struct np_figure *f = np_figure_new("");
		struct np_panel *p = np_figure_add_panel(f, "");
		struct np_shape *s;
		double lo, hi;

		np_figure_set_axis(f, &p->y, r->kind, "");
		p->y.lo = r->given_lo;
		p->y.hi = r->given_hi;
		s = np_figure_add_shape(f, p, NP_SHAPE_LINE, 0, NULL);
		for (size_t k = 0; k < r->n; k++)
			np_figure_add_datum(f, s, (double)k, r->y[k], NAN, NAN);
		np_figure_find_range(p, true, &lo, &hi);
		T_ROW(r->name,
		      t_close(lo, r->lo, 1e-9) && t_close(hi, r->hi, 1e-9));
		np_figure_free(f);
	}
}

static const struct {
	const char *name, *text;
	double width;
	const char *want;
} texts[] = {
	{ "what fits stays", "lammps", 100, "lammps" },
	{ "what does not is cut", "molecular_dynamics", 60, "molecular_~" },
	{ "between characters", "\303\244\303\244\303\244\303\244", 25,
	  "\303\244\303\244~" },
	{ "nothing fits", "abc", 0, "~" },
	{ "nothing", "", 10, "" },
};

T_TEST("long names are cut where there is room no more")
{
	char buf[64];

	T_EACH(r, texts) {
		np_text_fit(r->text, 9, r->width, buf, sizeof(buf));
		T_ROW(r->name, !strcmp(buf, r->want));
		T_ROW(r->name,
		      r->width < 9 || np_text_width(buf, 9) <= r->width);
	}
	np_text_fit("a text that is longer than there is room", 9, 1000, buf,
		    8);
	T_CHECK(!strcmp(buf, "a text~"));
}

static void fill(struct np_figure *f)
{
	struct np_panel *p = np_figure_add_panel(f, "a panel");

	np_figure_set_axis(f, &p->x, NP_AXIS_NAMES, "a label");
	np_figure_add_name(f, &p->x, "a name");
	np_figure_add_datum(
		f, np_figure_add_shape(f, p, NP_SHAPE_POINTS, 0, "points"), 1,
		2, 3, 4);
	np_figure_add_cell(f,
			   np_figure_add_shape(f, p, NP_SHAPE_CELLS, 0, NULL),
			   0, 0, 1, "text");
	np_figure_set_caption(f, "a caption");
}

T_TEST("a figure that lacks a part for want of memory is refused")
{
	bool failed = true;

	for (long i = 0; failed; i++) {
		struct np_figure *f = np_figure_new("");
		char *text;
		size_t len;

		t_alloc_fail(i);
		fill(f);
		failed = t_alloc_failed();
		T_CHECK(f->no_memory == failed);
		if (failed)
			T_CHECK(np_picture_make(f, NP_PICTURE_SVG, &text, &len,
						NULL) < 0);
		np_figure_free(f);
		T_CHECK(i < 60);
	}
}
