#include "np_option.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "np_quantity.h"

static int bad(struct np_err *err, const char *option, const char *text,
	       const char *what, double min, double max, const char *unit)
{
	return np_errf(err, -EINVAL,
		       "%s \"%.40s\": expected %s from %.12g%s to %.12g%s",
		       option, text, what, min, unit, max, unit);
}

int np_option_time(const char *option, const char *text, double min_sec,
		   double max_sec, double *sec, struct np_err *err)
{
	double t;

	if (np_duration_parse(text, &t) || !(t >= min_sec && t <= max_sec))
		return bad(err, option, text, "a time as 100ms or 2s",
			   min_sec, max_sec, "s");
	*sec = t;
	return 0;
}

int np_option_seconds(const char *option, const char *text, double min_sec,
		      double max_sec, double *sec, struct np_err *err)
{
	size_t len = strlen(text);
	char with_unit[32];

	if (!len || len > 20 || strspn(text, "0123456789.") != len)
		return np_option_time(option, text, min_sec, max_sec, sec, err);
	snprintf(with_unit, sizeof(with_unit), "%ss", text);
	return np_option_time(option, with_unit, min_sec, max_sec, sec, err);
}

static int whole(const char *option, const char *text, const char *what,
		 int rc, uint64_t n, uint32_t min, uint32_t max, uint32_t *out,
		 struct np_err *err)
{
	if (rc || n < min || n > max)
		return bad(err, option, text, what, min, max, "");
	*out = (uint32_t)n;
	return 0;
}

int np_option_bytes(const char *option, const char *text, uint32_t min,
		    uint32_t max, uint32_t *bytes, struct np_err *err)
{
	uint64_t n = 0;
	int rc = np_bytes_parse(text, &n);

	return whole(option, text, "bytes as 512 or 1K", rc, n, min, max,
		     bytes, err);
}

int np_option_count(const char *option, const char *text, uint32_t min,
		    uint32_t max, uint32_t *n, struct np_err *err)
{
	uint64_t bytes = 0;
	int rc = np_bytes_parse(text, &bytes);

	if (strspn(text, "0123456789") != strlen(text))
		rc = -EINVAL;
	return whole(option, text, "a whole number", rc, bytes, min, max, n,
		     err);
}

int np_option_unknown(int option, const char *text, const char *program,
		      struct np_err *err)
{
	const char *what = option == ':' ? "needs a value" :
			   option	 ? "is no option, or takes no value" :
					   "is not expected";

	return np_errf(err, -EINVAL, "\"%.60s\" %s; see \"%s --help\"", text,
		       what, program);
}
