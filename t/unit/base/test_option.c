#include "t.h"
#include "np_option.h"

#include <errno.h>
#include <string.h>

enum kind { TIME, SECONDS, BYTES, COUNT };

static const struct {
	const char *name;
	enum kind kind;
	const char *text;
	double want; /* < 0: refused */
} rows[] = {
	{ "milliseconds", TIME, "100ms", 0.1 },
	{ "fractions", TIME, "1.5s", 1.5 },
	{ "the least time", TIME, "1ms", 1e-3 },
	{ "the longest time", TIME, "1h", 3600 },
	{ "too short", TIME, "999us", -1 },
	{ "too long", TIME, "61m", -1 },
	{ "a time needs a unit", TIME, "3", -1 },
	{ "no time at all", TIME, "", -1 },
	{ "not a number", TIME, "nan", -1 },
	{ "a negative time", TIME, "-1s", -1 },
	{ "plain seconds", SECONDS, "5", 5 },
	{ "plain fractions", SECONDS, "0.5", 0.5 },
	{ "seconds with a unit", SECONDS, "2m", 120 },
	{ "too many seconds", SECONDS, "3601", -1 },
	{ "digits without end", SECONDS, "111111111111111111111111", -1 },
	{ "two points", SECONDS, "1.2.3", -1 },
	{ "bytes", BYTES, "512", 512 },
	{ "kibibytes", BYTES, "1K", 1024 },
	{ "too few bytes", BYTES, "7", -1 },
	{ "too many bytes", BYTES, "2M", -1 },
	{ "bytes beyond 64 bits", BYTES, "99999999999999999999T", -1 },
	{ "half a byte", BYTES, "8.5", -1 },
	{ "a count", COUNT, "17", 17 },
	{ "a count takes no suffix", COUNT, "1K", -1 },
	{ "a count of nothing", COUNT, "0", -1 },
	{ "no count at all", COUNT, "", -1 },
};

static int parse(enum kind kind, const char *text, double *out,
		 struct np_err *err)
{
	uint32_t n = 0;
	int rc;

	switch (kind) {
	case TIME:
		return np_option_time("--x", text, 1e-3, 3600, out, err);
	case SECONDS:
		return np_option_seconds("--x", text, 0.1, 3600, out, err);
	case BYTES:
		rc = np_option_bytes("--x", text, 8, 1 << 20, &n, err);
		break;
	default:
		rc = np_option_count("--x", text, 1, 1024, &n, err);
	}
	*out = n;
	return rc;
}

static void test_values(void)
{
	for (size_t i = 0; i < NP_ARRAY_SIZE(rows); i++) {
		struct np_err err = NP_ERR_INIT;
		double got = 0;
		int rc = parse(rows[i].kind, rows[i].text, &got, &err);

		if (rows[i].want >= 0) {
			T_ROW(rows[i].name, rc == 0);
			T_ROW(rows[i].name, t_close(got, rows[i].want, 1e-12));
			continue;
		}
		T_ROW(rows[i].name, rc == -EINVAL && got == 0);
		T_ROW(rows[i].name, strstr(err.text, "--x") != NULL);
		T_ROW(rows[i].name, strstr(err.text, "expected") != NULL);
		T_ROW(rows[i].name,
		      strlen(rows[i].text) > 40 ||
			      strstr(err.text, rows[i].text) != NULL);
	}
}

static const struct {
	const char *name;
	int option;
	const char *line;
} unknown[] = {
	{ "an argument", 0, "\"x\" is not expected; see \"prog --help\"" },
	{ "no such option", '?',
	  "\"x\" is no option, or takes no value; see \"prog --help\"" },
	{ "a value is missing", ':',
	  "\"x\" needs a value; see \"prog --help\"" },
};

static void test_unknown(void)
{
	for (size_t i = 0; i < NP_ARRAY_SIZE(unknown); i++) {
		struct np_err err = NP_ERR_INIT;

		T_ROW(unknown[i].name,
		      np_option_unknown(unknown[i].option, "x", "prog",
					&err) == -EINVAL);
		T_ROW(unknown[i].name, !strcmp(err.text, unknown[i].line));
	}
}

static const struct t_case cases[] = {
	{ "values are taken or refused with option, value and range",
	  test_values },
	{ "what is no option is named", test_unknown },
	{ NULL, NULL },
};
T_SUITE(option, cases)
