#include "np_ticks.h"

#include <math.h>
#include <stdio.h>

#include "np_err.h"

static const double nice[] = { 1, 2, 5, 10 };

/* How many multiples of step are in lo .. hi, give or take rounding. */
static double count(double lo, double hi, double step)
{
	return floor(hi / step + 1e-9) - ceil(lo / step - 1e-9) + 1;
}

/* The step whose multiples mark lo .. hi (lo < hi) at most `most` times. */
static double step_of(double lo, double hi, size_t most)
{
	double step, power = pow(10, floor(log10((hi - lo) / (double)most)));

	for (size_t i = 0; i < NP_ARRAY_SIZE(nice); i++) {
		step = nice[i] * power;
		if (count(lo, hi, step) <= (double)most)
			return step;
	}
	return 20 * power;
}

void np_ticks_linear(double lo, double hi, size_t most, struct np_ticks *out)
{
	double step = step_of(lo, hi, most);
	double first = ceil(lo / step - 1e-9);
	int digits = (int)fmax(0, -floor(log10(step) + 1e-9));

	out->n = 0;
	while (out->n < NP_TICKS_MAX) {
		double at = (first + (double)out->n) * step;

		if (at > hi + 1e-9 * step)
			break;
		at = fabs(at) < 1e-9 * step ? 0 : at;
		out->at[out->n] = at;
		snprintf(out->label[out->n++], NP_TICKS_LABEL,
			 fabs(at) < 1e7 && digits < 7 ? "%.*f" : "%.*g",
			 fabs(at) < 1e7 && digits < 7 ? digits : 3, at);
	}
}

static void say(double v, bool seconds, char *buf)
{
	static const struct {
		double unit;
		const char *name;
	} units[] = {
		{ 1, "s" }, { 1e-3, "ms" }, { 1e-6, "\302\265s" },
		{ 1e-9, "ns" },
	};
	size_t i = 0;

	if (!seconds) {
		snprintf(buf, NP_TICKS_LABEL, "%.4g", v);
		return;
	}
	while (i + 1 < NP_ARRAY_SIZE(units) &&
	       v < units[i].unit * (1 - 1e-9))
		i++;
	snprintf(buf, NP_TICKS_LABEL, "%.4g %s", v / units[i].unit,
		 units[i].name);
}

/* With n_of of 1, 2 and 5 in every k-th decade; how many there are. */
static size_t marks(double lo, double hi, int n_of, int k, double *at,
		    size_t room)
{
	static const double of[][3] = { { 1 }, { 1, 3 }, { 1, 2, 5 } };
	int from = (int)floor(log10(lo)), to = (int)ceil(log10(hi));
	size_t n = 0;

	for (int d = from; d <= to; d++)
		for (int i = 0; i < n_of; i++) {
			double v = of[n_of - 1][i] * pow(10, d);

			if (d % k || v < lo * (1 - 1e-9) ||
			    v > hi * (1 + 1e-9))
				continue;
			if (n < room)
				at[n] = v;
			n++;
		}
	return n;
}

void np_ticks_log(double lo, double hi, size_t most, bool seconds,
		  struct np_ticks *out)
{
	int n_of = 3, k = 1;

	while (marks(lo, hi, n_of, k, NULL, 0) > most)
		if (n_of > 1)
			n_of--;
		else
			k++;
	out->n = marks(lo, hi, n_of, k, out->at, NP_TICKS_MAX);
	if (out->n < 2)
		np_ticks_linear(lo, hi, most, out);
	for (size_t i = 0; i < out->n; i++)
		say(out->at[i], seconds, out->label[i]);
}
