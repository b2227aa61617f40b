#include "np_quantity.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "np_err.h"

#define MAX_DIGITS 15 /* a double holds them exactly */
#define TEN_YEARS_SEC (10 * 366 * 86400.0)

/*
 * digits[.digits] as mantissa / 10^n, both exact, so that "0.1s" is the double
 * 0.1.  Not strtod(): it takes "inf", "0x1p3" and the decimal point of the
 * user's locale.
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
	double mul, div; /* both exact, so that one rounding is left */
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

static int shift_of(char suffix)
{
	switch (suffix) {
	case '\0': return 0;
	case 'K': case 'k': return 10;
	case 'M': case 'm': return 20;
	case 'G': case 'g': return 30;
	case 'T': case 't': return 40;
	default: return -1;
	}
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
	       *n > max ? -EINVAL : 0;
}
