#include "cli_calibrate.h"
int calibrate_app(const struct calibrate_opt *opt)
{
	return cli_fail("--app=%s", opt->app);
}
