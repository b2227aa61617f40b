#include "t.h"
#include "np_catalog.h"

#define LEVELS 2
#define US 1e-6

static const struct np_fabric_level level[LEVELS] = {
	{ .name = "c1" },
	{ .name = "c2" },
};
static const struct np_fabric fabric = { .level = level, .n_levels = LEVELS };

/* What a user measured, or what is published; n 0: not. */
struct side {
	struct np_mean latency_us;
	uint64_t n_samples; /* of the latency, each give or take its half */
	struct np_mean curve[LEVELS], impact[LEVELS];
	bool other_period;
};

static struct np_run_summary summary_of(const struct side *s, double us)
{
	struct np_run_summary a = {
		.latency_sec = s->latency_us,
		.latency.other_period = s->other_period,
	};
	uint64_t n = s->n_samples ? s->n_samples : 10000;
	double sd = s->latency_us.mean * us / 2;

	a.latency_sec.mean *= us;
	a.latency_sec.sd *= us;
	if (s->latency_us.n)
		a.program.latency.all = (struct np_moments){
			.n = n,
			.mean = a.latency_sec.mean,
			.m2 = sd * sd * (double)(n - 1),
		};
	for (size_t i = 0; i < LEVELS; i++) {
		if (s->curve[i].n)
			a.program.curve = s->curve;
		if (s->impact[i].n)
			a.program.impact = s->impact;
	}
	return a;
}

#define ONE(v) \
	{ \
		1, v, NAN \
	}
#define SOME(v, sd) \
	{ \
		4, v, sd \
	}

/* clang-format off */
static const struct {
	const char *name;
	struct side own, published;
	const char *why; /* NULL: nothing speaks against it */
	bool nothing;	 /* nor for it */
} rows[] = {
	{ "nothing is known", { { 0 } }, { { 0 } }, NULL, true },
	{ "the same", { ONE(100) }, { ONE(100) }, NULL },
	{ "a quarter louder", { ONE(124) }, { ONE(100) }, NULL },
	{ "louder by more", { ONE(130) }, { ONE(100) },
	  "mean latency 130 us, published 100 us" },
	{ "a quarter quieter", { ONE(76) }, { ONE(100) }, NULL },
	{ "quieter by more", { ONE(70) }, { ONE(100) }, "mean latency 70 us" },
	{ "within what published runs differ by", { ONE(150) },
	  { SOME(100, 20) }, NULL },
	{ "beyond it", { ONE(170) }, { SOME(100, 20) }, "mean latency 170" },
	{ "runs that hardly differ: still a quarter", { ONE(120) },
	  { SOME(100, 0.1) }, NULL },
	{ "a few samples prove little", { ONE(60), .n_samples = 10 },
	  { ONE(100) }, NULL },
	{ "many do", { ONE(60), .n_samples = 1000 }, { ONE(100) },
	  "mean latency 60" },
	{ "at another period of the probes", { ONE(500), .other_period = true },
	  { ONE(100) }, NULL, true },
	{ "published at another one", { ONE(500) },
	  { ONE(100), .other_period = true }, NULL, true },
	{ "latency on one side only", { ONE(500) },
	  { .curve = { ONE(1), ONE(1) } }, NULL, true },
	{ "slowed as much", { .curve = { ONE(0.5) } },
	  { .curve = { ONE(0.45) } }, NULL },
	{ "slowed less", { .curve = { ONE(0.1) } }, { .curve = { ONE(0.5) } },
	  "slowed by level c1 10 %, published 50 %" },
	{ "slowed more", { .curve = { ONE(0.1), ONE(1) } },
	  { .curve = { ONE(0.1), ONE(0.3) } }, "slowed by level c2" },
	{ "a noisy program", { .curve = { ONE(0.2) } },
	  { .curve = { SOME(0.5, 0.2), SOME(0.8, 0.2) } }, NULL },
	{ "levels that only one has", { .curve = { { 0 }, ONE(5) } },
	  { .curve = { ONE(1) } }, NULL, true },
	{ "slows a level as much", { .impact = { ONE(0.3) } },
	  { .impact = { SOME(0.28, 0.01) } }, NULL },
	{ "slows it less", { .impact = { ONE(0) } },
	  { .impact = { SOME(0.28, 0.01) } }, "slows level c1 0 %" },
	{ "latency agrees, the curve does not",
	  { ONE(100), .curve = { ONE(0) } }, { ONE(100), .curve = { ONE(2) } },
	  "slowed by level c1" },
};
/* clang-format on */

T_TEST("own runs within the spread of what is published, or beyond it")
{
	T_EACH(r, rows) {
		struct np_run_summary own = summary_of(&r->own, US);
		struct np_run_summary published = summary_of(&r->published, US);
		char why[128] = "";
		enum np_consistency backing = np_consistency_check(
			&own, &published, &fabric, why, sizeof(why));

		T_ROW(r->name, backing == (r->why     ? NP_CONSISTENCY_REFUTED :
					   r->nothing ? NP_CONSISTENCY_UNKNOWN :
							NP_CONSISTENCY_AGREES));
		T_ROW(r->name, !r->why || strstr(why, r->why));
	}
}
