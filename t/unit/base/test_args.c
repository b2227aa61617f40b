#include "t.h"
#include "np_option.h"

T_TEST("arguments follow each other")
{
	struct np_args a = { .n = 0 };

	np_args_add(&a, "%s/%s", "/opt", "netprof");
	np_args_add(&a, "--nodes=%d", 4);
	T_CHECK(!a.rc && a.n == 2 && !a.argv[2]);
	T_CHECK(!strcmp(a.argv[0], "/opt/netprof") &&
		!strcmp(a.argv[1], "--nodes=4"));
	np_args_free(&a);
	T_CHECK(!a.n && !a.argv[0]);
}

T_TEST("one that does not fit is reported")
{
	struct np_args a = { .n = 0 };

	for (int i = 0; i < NP_ARGS_MAX; i++)
		np_args_add(&a, "%d", i);
	T_CHECK(!a.rc && !strcmp(a.argv[NP_ARGS_MAX - 1], "63"));
	np_args_add(&a, "more");
	T_CHECK(a.rc == -E2BIG && a.n == NP_ARGS_MAX && !a.argv[NP_ARGS_MAX]);
	np_args_free(&a);
}
