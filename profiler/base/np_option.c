#include "np_option.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "np_quantity.h"

static int bad(const struct np_option *o, const char *text, const char *what,
	       const char *unit, struct np_err *err)
{
	return np_errf(err, -EINVAL,
		       "--%s \"%.40s\": expected %s from %.12g%s to %.12g%s",
		       o->name, text, what, o->min, unit, o->max, unit);
}

static int set_time(const struct np_option *o, const char *text, double *sec,
		    struct np_err *err)
{
	size_t len = strlen(text);
	char with_unit[32];
	double t;

	if (o->kind == NP_OPTION_SECONDS && len && len <= 20 &&
	    strspn(text, "0123456789.") == len) {
		snprintf(with_unit, sizeof(with_unit), "%ss", text);
		text = with_unit;
	}
	if (np_duration_parse(text, &t) || !(t >= o->min && t <= o->max))
		return bad(o, text, "a time as 100ms or 2s", "s", err);
	*sec = t;
	return 0;
}

static int set_share(const struct np_option *o, const char *text,
		     double *share, struct np_err *err)
{
	double s;

	if (np_percent_parse(text, &s) || !(s >= o->min && s <= o->max))
		return np_errf(err, -EINVAL, "--%s \"%.40s\": expected a "
			       "share as 10%%", o->name, text);
	*share = s;
	return 0;
}

static int set_ns(const struct np_option *o, const char *text, double *ns,
		  struct np_err *err)
{
	double sec;

	if (np_duration_parse(text, &sec) || 1e9 * sec > o->max)
		return np_errf(err, -EINVAL, "--%s: got %.64s, expected a "
			       "time, such as 3us", o->name, text);
	*ns = 1e9 * sec;
	return 0;
}

static int set_whole(const struct np_option *o, const char *text,
		     uint32_t *out, struct np_err *err)
{
	bool count = o->kind == NP_OPTION_COUNT;
	uint64_t n;

	if ((count ? np_whole_parse(text, UINT64_MAX, &n) :
		     np_bytes_parse(text, &n)) ||
	    (double)n < o->min || (double)n > o->max)
		return bad(o, text, count ? "a whole number" :
			   "bytes as 512 or 1K", "", err);
	*out = (uint32_t)n;
	return 0;
}

bool np_option_has_argument(const struct np_option *o)
{
	return o->kind != NP_OPTION_FLAG && o->kind != NP_OPTION_CALL;
}

int np_option_set(const struct np_option *o, char *text, void *all,
		  struct np_err *err)
{
	void *at = (char *)all + o->at;

	switch (o->kind) {
	case NP_OPTION_FLAG:
		*(bool *)at = true;
		return 0;
	case NP_OPTION_WORD:
		*(const char **)at = text;
		return 0;
	case NP_OPTION_COUNT:
	case NP_OPTION_BYTES:
		return set_whole(o, text, at, err);
	case NP_OPTION_TIME:
	case NP_OPTION_SECONDS:
		return set_time(o, text, at, err);
	case NP_OPTION_SHARE:
		return set_share(o, text, at, err);
	case NP_OPTION_NS:
		return set_ns(o, text, at, err);
	default:
		return o->take(text, at, err);
	}
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
