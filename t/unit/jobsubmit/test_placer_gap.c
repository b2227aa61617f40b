#include "t.h"

#include "np_placer.h"

static const struct {
	const char *name;
	double took_sec, interval_sec, gap_sec;
} gaps[] = {
	{ "a short pass", 1e-3, 2, NP_PLACER_LEAST_GAP_SEC },
	{ "a twentieth of the time", 0.05, 2, 0.95 },
	{ "users do not wait longer than the interval", 0.5, 2, 2 },
	{ "never busy for more than half of the time", 7, 2, 7 },
	{ "the next pass ends before jobs are released that wait for it", 0.6,
	  60, 7.8 },
	{ "a short interval", 0.05, 0.1, NP_PLACER_LEAST_GAP_SEC },
	{ "a clock that stood still", 0, 2, NP_PLACER_LEAST_GAP_SEC },
};

T_TEST("the rest depends on the work")
{
	T_EACH(r, gaps)
		T_ROW(r->name,
		      t_close(np_placer_gap_sec(r->took_sec, r->interval_sec),
			      r->gap_sec, 1e-12));
}
