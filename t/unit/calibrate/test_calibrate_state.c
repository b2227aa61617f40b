/* Files of calibrations that were stopped. */
#include "t.h"
#include "np_calibrate.h"
#include "some_store.h"

#include <sys/stat.h>

#define HEAD "netprof-calibration 1 5.000\nsetup\n"
static const struct {
	const char *name, *text;
	int rc;
} damaged[] = {
	{ "a beginning", HEAD, 0 },
	{ "one result", HEAD "k\t2 1 0 1 1\t0 0 0 0 0\n", 0 },
	{ "with a histogram", HEAD "k\t2 1e-3 0 1e-3 1e-3 100:2\t0 0 0 0 0\n",
	  0 },
	{ "nothing", "", -EINVAL },
	{ "another file", "hello\n", -EINVAL },
	{ "no setup", "netprof-calibration 1 5.000\n", -EINVAL },
	{ "a date that is none", "netprof-calibration 1 nan\nsetup\n",
	  -EINVAL },
	{ "a line cut short", HEAD "k\t2 1 0 1 1\t0 0 0", -EINVAL },
	{ "half a result", HEAD "k\t2 1 0 1 1\n", -EINVAL },
	{ "moments that cannot be", HEAD "k\t2 5 0 1 1\t0 0 0 0 0\n", -EINVAL },
	{ "a bin that is none", HEAD "k\t2 1 0 1 1 999:2\t0 0 0 0 0\n",
	  -EINVAL },
	{ "bins that do not add up", HEAD "k\t2 1 0 1 1 9:1\t0 0 0 0 0\n",
	  -EINVAL },
	{ "more than two samples", HEAD "k\t2 1 0 1 1\t0 0 0 0 0\t0 0 0 0 0\n",
	  -EINVAL },
	{ "not a number", HEAD "k\tx\t0 0 0 0 0\n", -EINVAL },
};

T_TEST("a damaged file is refused")
{
	T_EACH(r, damaged) {
		struct np_cal_state s = { .n = 0 };
		struct np_err err = NP_ERR_INIT;
		int rc = np_cal_state_load(t_write_text("state", r->text), &s,
					   &err);

		T_ROW(r->name, rc == r->rc && !rc == !err.text[0]);
		if (!rc)
			np_cal_state_free(&s);
	}
}

T_TEST("a file that another user may not read is reported")
{
	struct np_cal_state s = { .n = 0 };
	struct np_err err = NP_ERR_INIT;
	const char *path = t_write_text("private", HEAD);

	if (t_skip_unless_root("another user"))
		return;
	T_CHECK(!chmod(path, 0600) && !seteuid(65534));
	T_CHECK(np_cal_state_load(path, &s, &err) == -EACCES);
	T_CHECK(!seteuid(0));
	T_CHECK(!!strstr(err.text, "private: Permission denied"));
}
