#include "t.h"

#include "np_figure.h"

static const struct {
	const char *name;
	double lo, hi;
	size_t most;
	enum { LINEAR, LOG, SECONDS } kind;
	const char *want;
} rows[] = {
	{ "whole numbers", 0, 100, 6, LINEAR, "0 20 40 60 80 100" },
	{ "halves", 0, 1, 3, LINEAR, "0.0 0.5 1.0" },
	{ "negative ones", -20, 20, 5, LINEAR, "-20 -10 0 10 20" },
	{ "inside the range alone", 1, 9, 5, LINEAR, "2 4 6 8" },
	{ "small ones", 0, 0.003, 4, LINEAR, "0.000 0.001 0.002 0.003" },
	{ "one, where two would be three", 0.9, 1.1, 2, LINEAR, "1.0" },
	{ "large ones", 0, 2e8, 3, LINEAR, "0 1e+08 2e+08" },
	{ "large ones that are close", 123450000, 123470000, 3, LINEAR,
	  "1.2345e+08 1.2346e+08 1.2347e+08" },
	{ "rounding does not lose the last", 0, 0.7, 8, LINEAR,
	  "0.0 0.1 0.2 0.3 0.4 0.5 0.6 0.7" },
	{ "decades", 1, 1e4, 5, LOG, "1 10 100 1000 1e+04" },
	{ "1, 2 and 5", 1, 100, 7, LOG, "1 2 5 10 20 50 100" },
	{ "every second decade", 1, 1e6, 4, LOG, "1 100 1e+04 1e+06" },
	{ "too narrow for that", 1.1, 1.5, 5, LOG, "1.1 1.2 1.3 1.4 1.5" },
	{ "and close", 100100, 100104, 5, LOG,
	  "100100 100101 100102 100103 100104" },
	{ "times that are close", 0.2001, 0.20014, 5, SECONDS,
	  "200.1ms 200.11ms 200.12ms 200.13ms 200.14ms" },
	{ "times with their units", 1e-7, 1e-2, 6, SECONDS,
	  "100ns 1us 10us 100us 1ms 10ms" },
	{ "seconds", 0.5, 20, 6, SECONDS, "500ms 1s 2s 5s 10s 20s" },
};

/* Labels in one line, without blanks in them, and "u" for the micro sign. */
static void join(const struct np_ticks *t, char *buf, size_t len)
{
	size_t n = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < t->n; i++) {
		const char *p = t->label[i];

		if (i && n + 1 < len)
			buf[n++] = ' ';
		for (; *p && n + 1 < len; p++)
			if (*p == '\302')
				continue;
			else if (*p != ' ')
				buf[n++] = *p == '\265' ? 'u' : *p;
		buf[n] = '\0';
	}
}

T_TEST("axes are marked at round numbers")
{
	T_EACH(r, rows) {
		char got[256];
		struct np_ticks t;

		if (r->kind == LINEAR)
			np_ticks_linear(r->lo, r->hi, r->most, &t);
		else
			np_ticks_log(r->lo, r->hi, r->most, r->kind == SECONDS,
				     &t);
		join(&t, got, sizeof(got));
		if (strcmp(got, r->want))
			printf("\n%s: got \"%s\"", r->name, got);
		T_ROW(r->name, !strcmp(got, r->want));
	}
}

/* Whatever the range: rising, inside, and no more than were asked for. */
T_TEST("marks are few, rising and inside, whatever the range")
{
	double lo = 1e-9;

	for (int i = 0; i < 200; i++, lo *= 1.3)
		for (size_t most = 3; most <= 10; most++) {
			double hi = lo * (1.05 + 0.37 * i);
			struct np_ticks t;

			np_ticks_linear(lo, hi, most, &t);
			T_CHECK(t.n >= 1 && t.n <= most);
			T_CHECK(t.at[0] >= lo * (1 - 1e-9));
			T_CHECK(t.at[t.n - 1] <= hi * (1 + 1e-9));
			np_ticks_log(lo, hi, most, true, &t);
			T_CHECK(t.n >= 1 && t.n <= most);
			for (size_t k = 1; k < t.n; k++)
				T_CHECK(t.at[k] > t.at[k - 1]);
		}
}
