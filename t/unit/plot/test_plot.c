#include "t.h"

#include "np_picture.h"
#include "some_figure.h"

#define MAX 512

/* A canvas that keeps where texts are. */
struct recorder {
	struct np_canvas c;
	struct np_box text[MAX];
	size_t n_texts, n_paths, n_outside, n_slanted;
	struct np_box page;
};

static bool inside(const struct np_box *page, double x, double y)
{
	return x >= page->x && y >= page->y && x <= page->x + page->w &&
	       y <= page->y + page->h;
}

static void keep_path(struct np_canvas *c, const double *xy, size_t n,
		      bool closed, const struct np_pen *pen)
{
	struct recorder *r = (struct recorder *)c;

	(void)closed, (void)pen;
	r->n_paths++;
	for (size_t i = 1; i < n; i++)
		r->n_slanted += xy[2 * i] != xy[2 * i - 2] &&
				xy[2 * i + 1] != xy[2 * i - 1];
	for (size_t i = 0; i < n; i++)
		r->n_outside += !inside(&r->page, xy[2 * i], xy[2 * i + 1]);
}

static void keep_text(struct np_canvas *c, double x, double y, const char *text,
		      const struct np_type *type)
{
	static const double left[] = {
		[NP_LEFT] = 0,
		[NP_CENTRE] = 0.5,
		[NP_RIGHT] = 1,
	};
	struct recorder *r = (struct recorder *)c;
	double w = np_text_width(text, type->size), h = 0.75 * type->size;
	struct np_box b = { x - left[type->align] * w, y - h, w, h };

	if (type->turned)
		b = (struct np_box){ x - h, y - (1 - left[type->align]) * w, h,
				     w };
	if (*text && r->n_texts < MAX)
		r->text[r->n_texts++] = b;
}

static void no_clip(struct np_canvas *c, const struct np_box *box)
{
	(void)c, (void)box;
}

static bool meet(const struct np_box *a, const struct np_box *b)
{
	return a->x < b->x + b->w && b->x < a->x + a->w && a->y < b->y + b->h &&
	       b->y < a->y + a->h;
}

static void check_layout(const char *name, struct np_figure *f)
{
	static struct recorder r;
	size_t overlaps = 0, outside = 0;

	memset(&r, 0, sizeof(r));
	r.c = (struct np_canvas){ keep_path, keep_text, no_clip, NULL };
	np_plot_size(f, &r.page.w, &r.page.h);
	np_plot_draw(f, &r.c);
	for (size_t i = 0; i < r.n_texts; i++) {
		const struct np_box *b = &r.text[i];

		outside += !inside(&r.page, b->x, b->y) ||
			   !inside(&r.page, b->x + b->w, b->y + b->h);
		for (size_t k = 0; k < i; k++)
			overlaps += meet(b, &r.text[k]);
	}
	T_ROW(name, r.n_texts > 1 && r.n_paths > 1);
	T_ROW(name, !outside);
	T_ROW(name, !overlaps);
	T_ROW(name, !r.n_outside);
	np_figure_free(f);
}

static const struct {
	const char *name;
	enum np_shape_kind kind;
	size_t n;
} named[] = {
	{ "one cell", NP_SHAPE_CELLS, 1 },
	{ "some cells", NP_SHAPE_CELLS, 7 },
	{ "many cells", NP_SHAPE_CELLS, 40 },
	{ "one bar", NP_SHAPE_BARS, 1 },
	{ "many bars", NP_SHAPE_BARS, 30 },
	{ "spans", NP_SHAPE_SPANS, 12 },
};

T_TEST("no text covers another or leaves the page")
{
	check_layout("numbers", some_figure());
	T_EACH(r, named)
		check_layout(r->name, some_named_figure(r->kind, r->n));
}

T_TEST("nor do the longest")
{
	struct np_figure *f = some_figure();
	struct np_panel *p = f->panel[0];
	char long_name[301];

	memset(long_name, 'W', 300);
	long_name[300] = '\0';
	for (int i = 0; i < 5; i++)
		np_figure_add_datum(f,
				    np_figure_add_shape(f, p, NP_SHAPE_LINE, 1,
							long_name),
				    1, 1, NAN, NAN);
	p = np_figure_add_panel(f, long_name);
	np_figure_set_axis(f, &p->x, NP_AXIS_LINEAR, "x");
	np_figure_set_axis(f, &p->y, NP_AXIS_LINEAR, "y");
	np_figure_set_caption(f,
			      "%s %s words of a caption that goes on and on "
			      "until a line is full, and another one is begun",
			      "a", "b");
	check_layout("long names", f);
}

/* A caption with a word that is longer than any line. */
T_TEST("a word that is longer than a line is broken")
{
	struct np_figure *f = np_figure_new("a word");
	char word[701], *svg;

	for (size_t i = 0; i + 2 < sizeof(word); i += 2)
		memcpy(word + i, "\303\244", 2);
	word[sizeof(word) - 1] = '\0';
	np_figure_add_panel(f, "");
	np_figure_set_caption(f, "first %s last", word);
	svg = some_svg(f);
	T_CHECK(svg && strstr(svg, ">first<"));
	T_CHECK(svg && !strstr(strstr(svg, ">first<") + 7, "first"));
	T_CHECK(svg && strstr(svg, "last<"));
	free(svg);
	f = some_figure();
	np_figure_set_caption(f, "first %s last", word);
	check_layout("a long word", f);
}

/* Both axes from 0 to these numbers. */
T_TEST("marks of large numbers are not cut")
{
	static const double ends[] = { 7, 1000, 99999, 100000, 1e6, 123456789 };

	for (size_t i = 0; i < NP_ARRAY_SIZE(ends); i++) {
		struct np_figure *f = np_figure_new("numbers");
		struct np_panel *p = np_figure_add_panel(f, "");
		struct np_shape *s;

		np_figure_set_axis(f, &p->x, NP_AXIS_LINEAR, "x");
		np_figure_set_axis(f, &p->y, NP_AXIS_LINEAR, "y");
		s = np_figure_add_shape(f, p, NP_SHAPE_LINE, 1, NULL);
		np_figure_add_datum(f, s, 0, 0, NAN, NAN);
		np_figure_add_datum(f, s, ends[i], ends[i], NAN, NAN);
		check_layout("wide marks", f);
	}
}

T_TEST("names that are cut stay different")
{
	struct np_figure *f = np_figure_new("names");
	struct np_panel *p = np_figure_add_panel(f, "");
	struct np_shape *s;
	char *svg;

	np_figure_set_axis(f, &p->x, NP_AXIS_NAMES, "x");
	np_figure_set_axis(f, &p->y, NP_AXIS_NAMES, "y");
	for (char last = 'a'; last <= 'c'; last++) {
		char name[80];

		snprintf(
			name, sizeof(name), "%s-%c",
			last == 'c' ?
				"other" :
				"a_name_that_is_longer_than_there_is_room_for_names",
			last);
		np_figure_add_name(f, &p->x, name);
		np_figure_add_name(f, &p->y, name);
	}
	s = np_figure_add_shape(f, p, NP_SHAPE_CELLS, 0, NULL);
	for (int i = 0; i < 9; i++)
		np_figure_add_cell(f, s, i % 3, i / 3, 0.5, "+1 %|0 to 2");
	svg = some_svg(f);
	T_CHECK(svg && strstr(svg, "~1<") && strstr(svg, "~2<") &&
		strstr(svg, ">other-c<") && strstr(svg, ">0 to 2<"));
	free(svg);
}

T_TEST("steps without a value are left out")
{
	static const double y[] = { 30, 30, NAN, NAN, 80, 80, NAN };
	struct np_figure *f = np_figure_new("steps");
	struct np_panel *p = np_figure_add_panel(f, "");
	struct np_shape *s;
	static struct recorder r;

	np_figure_set_axis(f, &p->x, NP_AXIS_LINEAR, "");
	np_figure_set_axis(f, &p->y, NP_AXIS_LINEAR, "");
	s = np_figure_add_shape(f, p, NP_SHAPE_STEP, 1, NULL);
	for (size_t i = 0; i < NP_ARRAY_SIZE(y); i++)
		np_figure_add_datum(f, s, (double)i, y[i], NAN, NAN);
	r.c = (struct np_canvas){ keep_path, keep_text, no_clip, NULL };
	np_plot_size(f, &r.page.w, &r.page.h);
	np_plot_draw(f, &r.c);
	T_CHECK(r.n_paths > 3 && !r.n_slanted);
	np_figure_free(f);
}
