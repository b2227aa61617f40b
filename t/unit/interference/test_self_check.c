/* Calibrations that agree with themselves, and others. */
#include "t.h"
#include "np_self_check.h"

#include <math.h>

#define LEVELS 8

static struct np_fabric_level level[LEVELS];
static struct np_mean pairs[LEVELS * LEVELS];
static const char *const names[LEVELS] = {
	"c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7",
};

/* Level i is slowed as (i + 2) / 8, level j slows as (j + 1) / 4. */
static void alike(void)
{
	for (size_t i = 0; i < LEVELS * LEVELS; i++)
		pairs[i] = (struct np_mean){
			2,
			((double)(i / LEVELS) + 2) *
				((double)(i % LEVELS) + 1) / 32,
			0.01,
		};
}

static void one_is_another(void)
{
	alike();
	for (size_t j = 0; j < LEVELS; j++)
		pairs[3 * LEVELS + j].mean = j % 2 ? 1.2 : 0.02;
}

/* What each level suffers has nothing to do with what runs with it. */
static void noise(void)
{
	for (size_t i = 0; i < LEVELS * LEVELS; i++)
		pairs[i] = (struct np_mean){
			2,
			fmod((double)(i + 1) * 0.6180339887498949, 1),
			0.01,
		};
}

static void two_levels(void)
{
	alike();
	for (size_t i = 0; i < LEVELS * LEVELS; i++)
		if (i / LEVELS > 1 || i % LEVELS > 1)
			pairs[i].n = 0;
}

T_TEST("does a calibration agree with itself")
{
	static const struct {
		const char *name;
		void (*make)(void);
		bool doubts;
		size_t n, worst; /* LEVELS: any */
	} rows[] = {
		{ "levels that are alike are predicted from each other", alike,
		  false, LEVELS * LEVELS, LEVELS },
		{ "the level that is not like the others is named",
		  one_is_another, false, LEVELS * LEVELS, 3 },
		{ "a calibration that is noise is in doubt", noise, true,
		  LEVELS * LEVELS, LEVELS },
		{ "two levels are too few for a check", two_levels, false, 0,
		  LEVELS },
	};
	const struct np_fabric f = {
		.name = "lab",
		.level = level,
		.n_levels = LEVELS,
		.pairs = pairs,
	};

	for (size_t i = 0; i < LEVELS; i++)
		level[i].name = names[i];
	for (size_t i = 0; i < NP_ARRAY_SIZE(rows); i++) {
		struct np_self_check c;

		rows[i].make();
		T_ROW(rows[i].name, !np_self_check(&f, &c, NULL));
		T_ROW(rows[i].name, c.n == rows[i].n);
		T_ROW(rows[i].name, c.doubtful == rows[i].doubts);
		T_ROW(rows[i].name,
		      rows[i].worst == LEVELS || c.worst == rows[i].worst);
	}
}
