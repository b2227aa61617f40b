#include "t.h"

#include "np_picture.h"
#include "some_figure.h"

static const struct {
	const char *path;
	int rc;
	enum np_picture_kind kind;
} endings[] = {
	{ "a.svg", 0, NP_PICTURE_SVG },
	{ "/tmp/x.y/a.b.PNG", 0, NP_PICTURE_PNG },
	{ "a.Pdf", 0, NP_PICTURE_PDF },
	{ "a", -EINVAL, 0 },
	{ "a.svgz", -EINVAL, 0 },
	{ ".svg", -EINVAL, 0 },
	{ "x.svg/a", -EINVAL, 0 },
	{ "", -EINVAL, 0 },
	{ "a.", -EINVAL, 0 },
};

T_TEST("the ending of a name says which picture it is")
{
	T_EACH(r, endings) {
		enum np_picture_kind kind = NP_PICTURE_SVG;
		struct np_err err = NP_ERR_INIT;

		T_ROW(r->path, np_picture_kind(r->path, &kind, &err) == r->rc &&
				       kind == r->kind);
		T_ROW(r->path,
		      !r->rc || strstr(err.text, ".svg, .png or .pdf"));
	}
}

/* Every tag is closed in turn, and no text has a bare "<" or "&". */
static bool is_well_formed(const char *p)
{
	char open[16][32];
	size_t depth = 0, elements = 0;

	p = strstr(p, "?>");
	for (p = p ? p + 2 : ""; *p; p++) {
		const char *end = strchr(p, '>');
		size_t len = strcspn(p + 1, " />");

		if (*p == '&' && !strchr("algq", p[1]))
			return false;
		if (*p != '<')
			continue;
		if (!end || strcspn(p + 1, "<") < (size_t)(end - p))
			return false;
		if (p[1] == '/') {
			len = strcspn(p + 2, ">");
			if (!depth-- || strlen(open[depth]) != len ||
			    memcmp(open[depth], p + 2, len))
				return false;
		} else if (end[-1] != '/') {
			if (depth == 16 || len > 31)
				return false;
			snprintf(open[depth++], 32, "%.*s", (int)len, p + 1);
		}
		elements++;
		p = end;
	}
	return !depth && elements > 10;
}

T_TEST("SVG is well formed, with its texts and without NaN")
{
	static const char *const has[] = {
		"<title>a &amp; b &lt;c&gt;</title>",
		">Share (%)</text>",
		">Latency</text>",
		">Panel &quot;one&quot;</text>",
		">n = 7 runs, 2024-06-12</text>",
		">2 \302\265s</text>",
		"fill=\"#ffffff\"",
	};
	static const char *const has_not[] = { "nan", "inf", "-0 ", "\"-0\"" };
	struct np_figure *f = some_figure();
	double width, height;
	char *text;

	np_plot_size(f, &width, &height);
	text = some_svg(f);
	T_CHECK(text);
	T_CHECK(is_well_formed(text));
	T_CHECK(strstr(text,
		       t_text("viewBox=\"0 0 %.0f %.0f\"", width, height)));
	for (size_t i = 0; i < NP_ARRAY_SIZE(has); i++)
		T_ROW(has[i], strstr(text, has[i]));
	for (size_t i = 0; i < NP_ARRAY_SIZE(has_not); i++)
		T_ROW(has_not[i], !strstr(text, has_not[i]));
	free(text);
}

T_TEST("so it is of bars, spans and cells")
{
	for (int kind = NP_SHAPE_BARS; kind <= NP_SHAPE_CELLS; kind++) {
		char *text = some_svg(
			some_named_figure((enum np_shape_kind)kind, 5));

		T_CHECK(text && is_well_formed(text));
		T_CHECK(text && !strstr(text, "nan") && !strstr(text, "inf"));
		free(text);
	}
}

T_TEST("SVG, PNG and PDF of the same figure are the same bytes")
{
	static const char *const begin[] = {
		[NP_PICTURE_SVG] = "<?xml version=\"1.0\"",
		[NP_PICTURE_PNG] = "\211PNG\r\n\032\n",
		[NP_PICTURE_PDF] = "%PDF-1.",
	};

	for (int kind = 0; kind <= NP_PICTURE_PDF; kind++) {
		struct np_figure *f = some_figure();
		char *one = NULL, *two = NULL;
		size_t n = 0, m = 0;

		T_CHECK(!np_picture_make(f, (enum np_picture_kind)kind, &one,
					 &n, NULL));
		T_CHECK(!np_picture_make(f, (enum np_picture_kind)kind, &two,
					 &m, NULL));
		T_ROW(begin[kind], n > 2000 && !memcmp(one, begin[kind],
						       strlen(begin[kind])));
		T_ROW(begin[kind], n == m && !memcmp(one, two, n));
		free(one);
		free(two);
		np_figure_free(f);
	}
}

T_TEST("a figure without panels is no picture")
{
	struct np_figure *f = np_figure_new("empty");
	struct np_err err = NP_ERR_INIT;
	char *text;
	size_t len;

	T_CHECK(np_picture_make(f, NP_PICTURE_SVG, &text, &len, &err) ==
		-EINVAL);
	T_CHECK(strstr(err.text, "no panel"));
	np_figure_free(f);
}

T_TEST("a picture larger than a PNG can be says what can be larger")
{
	struct np_figure *f = some_named_figure(NP_SHAPE_SPANS, 1100);
	struct np_err err = NP_ERR_INIT;
	char *text;
	size_t len;

	T_CHECK(np_picture_make(f, NP_PICTURE_PNG, &text, &len, &err) ==
		-EINVAL);
	T_CHECK(strstr(err.text, "ends in .svg or .pdf"));
	T_CHECK(!np_picture_make(f, NP_PICTURE_SVG, &text, &len, &err));
	free(text);
	np_figure_free(f);
}

T_TEST("a label longer than the y axis is cut")
{
	const char *label = "a label of the y axis that is as long as a "
			    "sentence of several lines, and therefore cut";
	struct np_figure *f = some_figure();
	char *text;

	np_figure_set_axis(f, &f->panel[0]->y, NP_AXIS_LINEAR, label);
	text = some_svg(f);
	T_CHECK(text && strstr(text, ">a label of the y axis that"));
	T_CHECK(text && !strstr(text, "therefore cut</text>"));
	free(text);
}

/* What cairo's fonts keep until the program ends is not ours to free. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:libfontconfig\nleak:libcairo\n";
}
