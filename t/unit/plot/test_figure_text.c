#include "t.h"

#include "np_figure.h"
#include "some_figure.h"

static struct np_figure *two_steps(void)
{
	struct np_figure *f = np_figure_new("app");
	struct np_panel *p = np_figure_add_panel(f, "Latency");
	struct np_shape *s;

	np_figure_set_axis(f, &p->x, NP_AXIS_SECONDS, "Time");
	np_figure_set_axis(f, &p->y, NP_AXIS_LINEAR, "Share (%)");
	p->y.lo = 0;
	p->y.hi = 100;
	s = np_figure_add_shape(f, p, NP_SHAPE_STEP, NP_STYLE_GREY, "idle");
	np_figure_add_datum(f, s, 1e-6, 80, NAN, NAN);
	np_figure_add_datum(f, s, 1e-5, 0, NAN, NAN);
	s = np_figure_add_shape(f, p, NP_SHAPE_STEP, 0, "app");
	np_figure_add_datum(f, s, 1e-6, 40, NAN, NAN);
	np_figure_add_datum(f, s, 1e-5, 20, NAN, NAN);
	np_figure_add_datum(f, s, 1e-4, 0, NAN, NAN);
	return f;
}

static char *printed(struct np_figure *f, bool utf8)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	T_CHECK(!np_figure_print(f, out, 46, utf8));
	fclose(out);
	np_figure_free(f);
	return text;
}

static const char ascii[] = "app\n\nLatency\nShare (%)\n  . idle\n  # app\n"
			    " 100 +\n"
			    "     |\n"
			    "  80 +....................\n"
			    "     |....................\n"
			    "  60 +....................\n"
			    "     |....................\n"
			    "  40 +%%%%%%%%%%%%%%%%%%%%\n"
			    "     |%%%%%%%%%%%%%%%%%%%%\n"
			    "  20 +%%%%%%%%%%%%%%%%%%%%####################\n"
			    "   0 +%%%%%%%%%%%%%%%%%%%%####################\n"
			    "     +----------------------------------------\n"
			    "      1 us   3 us       10 us    30 us  100 us\n"
			    "      Time\n";

T_TEST("steps are drawn in characters")
{
	char *text = printed(two_steps(), false);

	T_CHECK(!strcmp(text, ascii));
	if (strcmp(text, ascii))
		printf("\n%s", text);
	free(text);
}

T_TEST("points and their intervals are, over names")
{
	struct np_figure *f = np_figure_new("app");
	struct np_panel *p = np_figure_add_panel(f, "Curve");
	struct np_shape *s;
	char *text;

	np_figure_set_axis(f, &p->x, NP_AXIS_NAMES, "Level");
	np_figure_set_axis(f, &p->y, NP_AXIS_LINEAR, "Slowdown (%)");
	s = np_figure_add_shape(f, p, NP_SHAPE_POINTS, 0, "measured");
	np_figure_add_name(f, &p->x, "c0");
	np_figure_add_name(f, &p->x, "c1");
	np_figure_add_datum(f, s, 0, 10, 5, 15);
	np_figure_add_datum(f, s, 1, 90, 70, 100);
	np_figure_add_datum(f, s, NAN, NAN, NAN, NAN);
	text = printed(f, true);
	T_CHECK(strstr(text, "\n  \u25cf measured\n"));
	T_CHECK(strstr(text, " c0 "));
	T_CHECK(strstr(text, " c1\n"));
	T_CHECK(strstr(text, "\u2502")); /* an interval */
	free(text);
}

/* One run gives a point, but no interval. */
T_TEST("an interval that is not known is not drawn")
{
	struct np_figure *f = np_figure_new("app");
	struct np_panel *p = np_figure_add_panel(f, "Curve");
	struct np_shape *s;
	char *text;

	np_figure_set_axis(f, &p->x, NP_AXIS_LINEAR, "x");
	np_figure_set_axis(f, &p->y, NP_AXIS_LINEAR, "y");
	s = np_figure_add_shape(f, p, NP_SHAPE_POINTS, 0, NULL);
	np_figure_add_datum(f, s, 1, 10, NAN, NAN);
	np_figure_add_datum(f, s, 3, 20, NAN, 25);
	text = printed(f, false);
	T_CHECK(strchr(text, 'o'));
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		T_CHECK(strchr(line, '|') == strrchr(line, '|'));
	free(text);
}

T_TEST("in ASCII one character replaces another one")
{
	struct np_figure *f = np_figure_new("app");
	struct np_panel *p = np_figure_add_panel(f, "Curve");
	char *text;

	np_figure_set_axis(f, &p->x, NP_AXIS_LINEAR,
			   "dur\303\251e (\302\265s)");
	np_figure_set_axis(f, &p->y, NP_AXIS_LINEAR, "\342\202\254");
	text = printed(f, false);
	T_CHECK(strstr(text, " dur?e (us)\n"));
	T_CHECK(strstr(text, "\n?\n"));
	free(text);
}

T_TEST("ASCII is ASCII, of the width that was asked for")
{
	char *text = printed(some_figure(), false);
	size_t longest = 0;

	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		longest = strlen(line) > longest ? strlen(line) : longest;
		for (char *p = line; *p; p++)
			T_CHECK(*p >= ' ' && *p <= '~');
		T_CHECK(line[strlen(line) - 1] != ' ');
	}
	T_CHECK(longest == 46);
	free(text);
}
