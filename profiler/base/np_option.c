#include "np_option.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- values ---- */

#define MAX_DIGITS 15 /* a double holds them exactly */
#define TEN_YEARS_SEC (10 * 366 * 86400.0)

/*
 * Parse digits[.digits] as mantissa / 10^n, both exact, so that "0.1s" is the
 * double 0.1. Not strtod(), which takes "inf", "0x1p3" and the decimal point of
 * the user's locale.
 */
static int parse_decimal(const char **text, uint64_t *mantissa, double *ten_n)
{
	const char *p = *text;
	int digits = 0, seen_point = 0;

	*mantissa = 0;
	*ten_n = 1;
	for (; (*p >= '0' && *p <= '9') || (*p == '.' && !seen_point); p++) {
		if (*p == '.') {
			seen_point = 1;
			continue;
		}
		if (++digits > MAX_DIGITS)
			return -ERANGE;
		*mantissa = *mantissa * 10 + (uint64_t)(*p - '0');
		if (seen_point)
			*ten_n *= 10;
	}
	if (!digits || p[-1] == '.')
		return -EINVAL;
	*text = p;
	return 0;
}

static const struct {
	const char *name;
	double mul, div; /* both exact, so that only one rounding remains */
} units[] = {
	{ "ns", 1, 1e9 }, { "us", 1, 1e6 }, { "ms", 1, 1e3 },
	{ "s", 1, 1 },	  { "m", 60, 1 },   { "h", 3600, 1 },
};

int np_duration_parse(const char *text, double *sec)
{
	uint64_t mantissa;
	double ten_n, s;
	int rc = parse_decimal(&text, &mantissa, &ten_n);

	if (rc)
		return rc;
	for (size_t i = 0; i < NP_ARRAY_SIZE(units); i++) {
		if (strcmp(text, units[i].name))
			continue;
		s = (double)mantissa * units[i].mul / (ten_n * units[i].div);
		if (s > TEN_YEARS_SEC)
			return -ERANGE;
		*sec = s;
		return 0;
	}
	return -EINVAL;
}

int np_percent_parse(const char *text, double *fraction)
{
	uint64_t mantissa;
	double ten_n;
	int rc = parse_decimal(&text, &mantissa, &ten_n);

	if (rc)
		return rc;
	if (strcmp(text, "%"))
		return -EINVAL;
	*fraction = (double)mantissa / (ten_n * 100);
	return 0;
}

/* By how many bits a suffix such as 'K' shifts a number; -1: it is none. */
static int shift_of(char suffix)
{
	static const char suffixes[] = "KMGTkmgt";
	const char *at = strchr(suffixes, suffix);

	if (!suffix)
		return 0;
	return at ? 10 + 10 * (int)((at - suffixes) % 4) : -1;
}

int np_bytes_parse(const char *text, uint64_t *bytes)
{
	uint64_t n = 0;
	int shift;

	if (*text < '0' || *text > '9')
		return -EINVAL;
	for (; *text >= '0' && *text <= '9'; text++) {
		if (__builtin_mul_overflow(n, 10u, &n) ||
		    __builtin_add_overflow(n, (uint64_t)(*text - '0'), &n))
			return -ERANGE;
	}
	shift = shift_of(*text);
	if (shift < 0 || (*text && text[1]))
		return -EINVAL;
	if (n > UINT64_MAX >> shift)
		return -ERANGE;
	*bytes = n << shift;
	return 0;
}

int np_whole_parse(const char *text, uint64_t max, uint64_t *n)
{
	return text[strspn(text, "0123456789")] || np_bytes_parse(text, n) ||
			     *n > max ?
		     -EINVAL :
		     0;
}

const char *np_decimal_parse(const char *text, double *value)
{
	const char *digits = text + (*text == '-');
	char *end;
	double v;

	/* strtod() alone also takes blanks, "+5", "0x10", "nan" and "inf". */
	digits += *digits == '.';
	if (!isdigit((unsigned char)*digits) || (digits[1] | 0x20) == 'x')
		return NULL;
	v = strtod(text, &end);
	if (!isfinite(v))
		return NULL;
	*value = v;
	return end;
}

/* ---- options ---- */

static int out_of_range(const struct np_option *o, const char *text,
			const char *what, const char *unit, struct np_err *err)
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
		return out_of_range(o, text, "a time such as 100ms or 2s", "s",
				    err);
	*sec = t;
	return 0;
}

static int set_share(const struct np_option *o, const char *text, double *share,
		     struct np_err *err)
{
	double s;

	if (np_percent_parse(text, &s) || !(s >= o->min && s <= o->max))
		return np_errf(err, -EINVAL,
			       "--%s \"%.40s\": expected a share such as 10%%",
			       o->name, text);
	*share = s;
	return 0;
}

static int set_ns(const struct np_option *o, const char *text, double *ns,
		  struct np_err *err)
{
	double sec;

	if (np_duration_parse(text, &sec) || 1e9 * sec > o->max)
		return np_errf(err, -EINVAL,
			       "--%s: got %.64s, expected a time, such as 3us, "
			       "up to %.12gs",
			       o->name, text, 1e-9 * o->max);
	*ns = 1e9 * sec;
	return 0;
}

static int set_whole(const struct np_option *o, const char *text, uint32_t *out,
		     struct np_err *err)
{
	bool count = o->kind == NP_OPTION_COUNT;
	uint64_t n;

	if ((count ? np_whole_parse(text, UINT64_MAX, &n) :
		     np_bytes_parse(text, &n)) ||
	    (double)n < o->min || (double)n > o->max)
		return out_of_range(o, text,
				    count ? "a whole number" :
					    "bytes such as 512 or 1K",
				    "", err);
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
		if (!*text)
			return np_errf(err, -EINVAL, "--%s=: expected a value",
				       o->name);
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
	const char *what = "unexpected argument";

	if (option)
		what = option == ':' ? "needs a value" :
				       "unknown option, or it takes no value";
	return np_errf(err, -EINVAL, "\"%.60s\": %s; see \"%s --help\"", text,
		       what, program);
}

/* ---- argument vectors ---- */

void np_args_add(struct np_args *a, const char *fmt, ...)
{
	va_list ap;

	if (a->n == NP_ARGS_MAX)
		a->rc = -E2BIG;
	if (a->rc)
		return;
	va_start(ap, fmt);
	if (vasprintf(&a->argv[a->n], fmt, ap) < 0) {
		a->argv[a->n] = NULL;
		a->rc = -ENOMEM;
	} else {
		a->n++;
	}
	va_end(ap);
}

void np_args_free(struct np_args *a)
{
	while (a->n)
		free(a->argv[--a->n]);
	*a = (struct np_args){ .n = 0 };
}
