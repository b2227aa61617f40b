#include "t.h"
#include "np_option.h"

static const struct {
	const char *name;
	enum np_option_kind kind;
	const char *text;
	double want; /* < 0: refused */
} rows[] = {
	{ "milliseconds", NP_OPTION_TIME, "100ms", 0.1 },
	{ "fractions", NP_OPTION_TIME, "1.5s", 1.5 },
	{ "the least time", NP_OPTION_TIME, "1ms", 1e-3 },
	{ "the longest time", NP_OPTION_TIME, "1h", 3600 },
	{ "too short", NP_OPTION_TIME, "999us", -1 },
	{ "too long", NP_OPTION_TIME, "61m", -1 },
	{ "a time needs a unit", NP_OPTION_TIME, "3", -1 },
	{ "no time at all", NP_OPTION_TIME, "", -1 },
	{ "not a number", NP_OPTION_TIME, "nan", -1 },
	{ "a negative time", NP_OPTION_TIME, "-1s", -1 },
	{ "plain seconds", NP_OPTION_SECONDS, "5", 5 },
	{ "plain fractions", NP_OPTION_SECONDS, "0.5", 0.5 },
	{ "seconds with a unit", NP_OPTION_SECONDS, "2m", 120 },
	{ "too many seconds", NP_OPTION_SECONDS, "3601", -1 },
	{ "digits without end", NP_OPTION_SECONDS, "111111111111111111111111",
	  -1 },
	{ "two points", NP_OPTION_SECONDS, "1.2.3", -1 },
	{ "nanoseconds", NP_OPTION_NS, "3us", 3000 },
	{ "nanoseconds need a unit", NP_OPTION_NS, "3", -1 },
	{ "more than 1e15 ns", NP_OPTION_NS, "13d", -1 },
	{ "bytes", NP_OPTION_BYTES, "512", 512 },
	{ "kibibytes", NP_OPTION_BYTES, "1K", 1024 },
	{ "too few bytes", NP_OPTION_BYTES, "7", -1 },
	{ "too many bytes", NP_OPTION_BYTES, "2M", -1 },
	{ "bytes beyond 64 bits", NP_OPTION_BYTES, "99999999999999999999T",
	  -1 },
	{ "half a byte", NP_OPTION_BYTES, "8.5", -1 },
	{ "a count", NP_OPTION_COUNT, "17", 17 },
	{ "a count takes no suffix", NP_OPTION_COUNT, "1K", -1 },
	{ "a count of nothing", NP_OPTION_COUNT, "0", -1 },
	{ "no count at all", NP_OPTION_COUNT, "", -1 },
};

static const struct np_option options[] = {
	[NP_OPTION_TIME] = { "x", NP_OPTION_TIME, 0, 1e-3, 3600 },
	[NP_OPTION_SECONDS] = { "x", NP_OPTION_SECONDS, 0, 0.1, 3600 },
	[NP_OPTION_NS] = { "x", NP_OPTION_NS, 0, .max = 1e15 },
	[NP_OPTION_BYTES] = { "x", NP_OPTION_BYTES, 0, 8, 1 << 20 },
	[NP_OPTION_COUNT] = { "x", NP_OPTION_COUNT, 0, 1, 1024 },
};

static int parse(enum np_option_kind kind, const char *text, double *out,
		 struct np_err *err)
{
	bool whole = kind == NP_OPTION_COUNT || kind == NP_OPTION_BYTES;
	char copy[64];
	uint32_t n = 0;
	int rc;

	snprintf(copy, sizeof(copy), "%s", text);
	rc = np_option_set(&options[kind], copy, whole ? (void *)&n : out, err);
	if (whole)
		*out = n;
	return rc;
}

T_TEST("values are taken or refused with option, value and range")
{
	T_EACH(r, rows) {
		struct np_err err = NP_ERR_INIT;
		double got = 0;
		int rc = parse(r->kind, r->text, &got, &err);

		if (r->want >= 0) {
			T_ROW(r->name, rc == 0);
			T_ROW(r->name, t_close(got, r->want, 1e-12));
			continue;
		}
		T_ROW(r->name, rc == -EINVAL && got == 0);
		T_ROW(r->name, strstr(err.text, "--x") != NULL);
		T_ROW(r->name, strstr(err.text, "expected") != NULL);
		T_ROW(r->name, strlen(r->text) > 40 ||
				       strstr(err.text, r->text) != NULL);
	}
}

T_TEST("a word has at least one character")
{
	static const struct np_option option = { "x", NP_OPTION_WORD };
	struct np_err err = NP_ERR_INIT;
	const char *got = NULL;
	char word[] = "some";

	T_CHECK(!np_option_set(&option, word, &got, &err) && got == word);
	T_CHECK(np_option_set(&option, word + 4, &got, &err) == -EINVAL);
	T_CHECK(got == word && !strcmp(err.text, "--x=: expected a value"));
}

static const struct {
	const char *name, *text;
	double want;
	const char *rest; /* NULL: refused */
} decimals[] = {
	{ "a whole number", "17", 17, "" },
	{ "a fraction", "-12.5", -12.5, "" },
	{ "without its zero", ".5", 0.5, "" },
	{ "without a fraction", "5.", 5, "" },
	{ "an exponent", "1e3", 1000, "" },
	{ "what follows", "3%", 3, "%" },
	{ "what follows a point", "1.2.3", 1.2, ".3" },
	{ "zeros in front", "007", 7, "" },
	{ "too small for a number but 0", "1e-400", 0, "" },
	{ "nothing", "", 0, NULL },
	{ "a word", "much", 0, NULL },
	{ "hexadecimal", "0x10", 0, NULL },
	{ "hexadecimal in capitals", "-0X1P3", 0, NULL },
	{ "not a number", "nan", 0, NULL },
	{ "infinity", "inf", 0, NULL },
	{ "infinity below 0", "-infinity", 0, NULL },
	{ "beyond all numbers", "1e400", 0, NULL },
	{ "a blank in front", " 5", 0, NULL },
	{ "a sign that says nothing", "+5", 0, NULL },
	{ "a sign alone", "-", 0, NULL },
	{ "a point alone", ".", 0, NULL },
	{ "two signs", "--5", 0, NULL },
};

T_TEST("decimal numbers are finite, and nothing else is one")
{
	T_EACH(r, decimals) {
		double got = -1;
		const char *rest = np_decimal_parse(r->text, &got);

		if (r->rest)
			T_ROW(r->name,
			      rest && !strcmp(rest, r->rest) && got == r->want);
		else
			T_ROW(r->name, !rest && got == -1);
	}
}

static const struct {
	const char *name;
	int option;
	const char *line;
} unknown[] = {
	{ "an argument", 0, "\"x\": unexpected argument; see \"prog --help\"" },
	{ "no such option", '?',
	  "\"x\": unknown option, or it takes no value; see \"prog --help\"" },
	{ "a value is missing", ':',
	  "\"x\": needs a value; see \"prog --help\"" },
};

T_TEST("what is no option is named")
{
	T_EACH(r, unknown) {
		struct np_err err = NP_ERR_INIT;

		T_ROW(r->name, np_option_unknown(r->option, "x", "prog",
						 &err) == -EINVAL);
		T_ROW(r->name, !strcmp(err.text, r->line));
	}
}
