#include "np_series.h"

#include <errno.h>
#include <string.h>

#define TEN_YEARS_SEC (10 * 366 * 86400.0)

void np_series_init(struct np_series *s, double width_sec)
{
	memset(s, 0, sizeof(*s));
	s->width_sec = width_sec;
}

static void halve(struct np_series *s)
{
	size_t half = (s->n + 1) / 2;

	for (size_t i = 0; i < half; i++) {
		struct np_moments both = s->w[2 * i];

		if (2 * i + 1 < s->n)
			np_moments_merge(&both, &s->w[2 * i + 1]);
		s->w[i] = both;
	}
	memset(&s->w[half], 0, (s->n - half) * sizeof(s->w[0]));
	s->n = half;
	s->width_sec *= 2;
}

int np_series_add(struct np_series *s, double at_sec,
		  const struct np_moments *m)
{
	size_t i;

	if (!(at_sec >= 0 && at_sec < TEN_YEARS_SEC))
		return -EINVAL;
	while (at_sec >= s->width_sec * NP_SERIES_MAX)
		halve(s);
	i = (size_t)(at_sec / s->width_sec);
	if (i >= NP_SERIES_MAX) /* the division rounded up */
		i = NP_SERIES_MAX - 1;
	if (i >= s->n)
		s->n = i + 1;
	np_moments_merge(&s->w[i], m);
	return 0;
}
