/* The check of a calibration: predictions of each level from the others. */
#include "t.h"
#include "np_self_check.h"

#define LEVELS 8

static struct np_fabric_level level[LEVELS];
static struct np_mean pairs[LEVELS * LEVELS];
static const char *const names[LEVELS] = {
	"c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7",
};

/* The slowdown of level i by level j is (i + 2) / 8 * (j + 1) / 4. */
static void make_consistent(void)
{
	for (size_t i = 0; i < LEVELS * LEVELS; i++)
		pairs[i] = (struct np_mean){
			2,
			((double)(i / LEVELS) + 2) *
				((double)(i % LEVELS) + 1) / 32,
			0.01,
		};
}

/* Level 3 is slowed by the others in a way of its own. */
static void make_outlier(void)
{
	make_consistent();
	for (size_t j = 0; j < LEVELS; j++)
		pairs[3 * LEVELS + j].mean = j % 2 ? 1.2 : 0.02;
}

/* The slowdown of a level does not depend on the load. */
static void make_noise(void)
{
	for (size_t i = 0; i < LEVELS * LEVELS; i++)
		pairs[i] = (struct np_mean){
			2,
			fmod((double)(i + 1) * 0.6180339887498949, 1),
			0.01,
		};
}

static void make_two_levels(void)
{
	make_consistent();
	for (size_t i = 0; i < LEVELS * LEVELS; i++)
		if (i / LEVELS > 1 || i % LEVELS > 1)
			pairs[i].n = 0;
}

T_TEST("a calibration is checked against itself")
{
	static const struct {
		const char *name;
		void (*make)(void);
		bool doubts;
		size_t n, worst; /* LEVELS: any */
	} rows[] = {
		{ "consistent levels are predicted from each other",
		  make_consistent, false, LEVELS * LEVELS, LEVELS },
		{ "the level that differs from the others is named",
		  make_outlier, false, LEVELS * LEVELS, 3 },
		{ "a calibration of random numbers is doubtful", make_noise,
		  true, LEVELS * LEVELS, LEVELS },
		{ "two levels are too few for a check", make_two_levels, false,
		  0, LEVELS },
	};
	const struct np_fabric f = {
		.name = "lab",
		.level = level,
		.n_levels = LEVELS,
		.pairs = pairs,
	};

	for (size_t i = 0; i < LEVELS; i++)
		level[i].name = names[i];
	T_EACH(r, rows) {
		struct np_self_check c;

		r->make();
		T_ROW(r->name, !np_self_check(&f, &c, NULL));
		T_ROW(r->name, c.n == r->n);
		T_ROW(r->name, c.doubtful == r->doubts);
		T_ROW(r->name, np_self_check_fails(&f) == r->doubts);
		T_ROW(r->name, r->worst == LEVELS || c.worst == r->worst);
	}
}
