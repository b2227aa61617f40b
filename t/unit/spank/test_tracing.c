#include "t.h"
#include "np_tracing.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const struct np_tracing some = {
	.library = "/usr/lib/x.so", .dir = "/store/users", .bytes = 4096,
	.keep = 4, .app = "lammps",
};

T_TEST("what srun says arrives")
{
	struct np_tracing got, odd = some;
	char text[NP_TRACING_TEXT];

	T_CHECK(!np_tracing_put(&some, text, NULL));
	T_CHECK(!np_tracing_get(text, &got));
	T_CHECK(!strcmp(got.library, some.library) &&
		!strcmp(got.dir, some.dir) && got.bytes == 4096 &&
		got.keep == 4 && !strcmp(got.app, "lammps"));
	odd.app[0] = '\0';
	T_CHECK(!np_tracing_put(&odd, text, NULL));
	T_CHECK(!np_tracing_get(text, &got) && !got.app[0]);
	strcpy(odd.dir, "/a\nb");
	T_CHECK(np_tracing_put(&odd, text, NULL) < 0);
}

static const struct {
	const char *name, *text;
} damaged[] = {
	{ "nothing", "" },
	{ "a line too few", "/x.so\n/d\n1\n0" },
	{ "a line too many", "/x.so\n/d\n1\n0\na\nb" },
	{ "no path of a library", "x.so\n/d\n1\n0\na" },
	{ "no directory", "/x.so\n\n1\n0\na" },
	{ "no number", "/x.so\n/d\nmany\n0\na" },
	{ "a number too large", "/x.so\n/d\n1\n99999999999\na" },
	{ "a name that leaves the directory", "/x.so\n/d\n1\n0\n../x" },
};

T_TEST("what is damaged is refused")
{
	struct np_tracing t;

	for (size_t i = 0; i < NP_ARRAY_SIZE(damaged); i++)
		T_ROW(damaged[i].name, np_tracing_get(damaged[i].text, &t) < 0);
}

T_TEST("a trace lies below the user and the application")
{
	struct np_tracing bare = some;
	char buf[128];

	np_tracing_sub(&some, 1000, "other", 7, 2, buf, sizeof(buf));
	T_CHECK(!strcmp(buf, "1000/lammps/7.2.trace"));
	bare.app[0] = '\0';
	np_tracing_sub(&bare, 1000, "other", 7, 2, buf, sizeof(buf));
	T_CHECK(!strcmp(buf, "1000/other/7.2.trace"));
}

T_TEST("what was preloaded still is")
{
	char buf[40];

	T_CHECK(!np_tracing_preload(&some, NULL, buf, sizeof(buf)) &&
		!strcmp(buf, "/usr/lib/x.so"));
	T_CHECK(!np_tracing_preload(&some, "", buf, sizeof(buf)) &&
		!strcmp(buf, "/usr/lib/x.so"));
	T_CHECK(!np_tracing_preload(&some, "/my.so:/b.so", buf, sizeof(buf)) &&
		!strcmp(buf, "/usr/lib/x.so:/my.so:/b.so"));
	T_CHECK(np_tracing_preload(&some, "/a/path/that/is/too/long.so", buf,
				   sizeof(buf)) < 0);
}
