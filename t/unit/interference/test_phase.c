#include "t.h"
#include "np_phase.h"
#include "some_record.h"

static struct np_series s;

/* A latency with a long tail, as real ones have. */
static double latency(struct t_rng *g, double base_sec, double spread)
{
	double u = sqrt(-2 * log(1 - t_uniform(g)));

	return base_sec * exp(spread * u * cos(2 * M_PI * t_uniform(g)));
}

/* seconds of probes, per_sec each; factor(t) slows them. */
static void make(uint64_t seed, int seconds, int per_sec, double spread,
		 double (*factor)(struct t_rng *g, int sec))
{
	struct t_rng g = { seed };

	np_series_init(&s, 1.0);
	for (int t = 0; t < seconds; t++) {
		double f = factor(&g, t);

		for (int i = 0; i < per_sec; i++) {
			double x = latency(&g, 1e-5 * f, spread);
			struct np_moments one = { 1, x, 0, x, x };

			np_series_add(&s, t + (i + 0.5) / per_sec, &one);
		}
	}
}

static double steady(struct t_rng *g, int sec)
{
	(void)g, (void)sec;
	return 1;
}

/* Bursts of traffic that differ a little from second to second. */
static double uneven(struct t_rng *g, int sec)
{
	(void)sec;
	return 2 + 0.3 * t_uniform(g);
}

static double on_off(struct t_rng *g, int sec)
{
	(void)g;
	return sec % 20 < 12 ? 3 : 1;
}

static double slow_on_off(struct t_rng *g, int sec)
{
	(void)g;
	return sec % 60 < 36 ? 3 : 1;
}

static double mild_on_off(struct t_rng *g, int sec)
{
	(void)g;
	return sec % 30 < 15 ? 1.5 : 1;
}

static double rarely_busy(struct t_rng *g, int sec)
{
	(void)g;
	return sec % 50 < 5 ? 4 : 1;
}

static double random_phases(struct t_rng *g, int sec)
{
	static int busy;

	if (!sec)
		busy = 0;
	if (t_uniform(g) < 0.1)
		busy = !busy;
	return busy ? 5 : 1;
}

static double two_halves(struct t_rng *g, int sec)
{
	(void)g;
	return sec < 30 ? 1 : 2;
}

static double short_spikes(struct t_rng *g, int sec)
{
	(void)g;
	return sec % 15 == 7 ? 6 : 1;
}

static double startup(struct t_rng *g, int sec)
{
	(void)g;
	return sec < 3 ? 1 : 3;
}

/* clang-format off */
static const struct {
	const char *name;
	double (*factor)(struct t_rng *g, int sec);
	int seconds, per_sec;
	double spread;
	enum np_phase_kind kind;
	double busy_share; /* of NP_PHASE_PHASES */
} rows[] = {
	{ "steady, little noise",    steady, 60, 10, 0.1, NP_PHASE_STEADY, 0 },
	{ "steady, long tail",       steady, 60, 10, 1.0, NP_PHASE_STEADY, 0 },
	{ "steady for half an hour", steady, 1800, 10, 0.5, NP_PHASE_STEADY, 0 },
	{ "steady, few probes",      steady, 200, 1, 0.5, NP_PHASE_STEADY, 0 },
	{ "uneven from second to second", uneven, 120, 20, 0.2,
	  NP_PHASE_STEADY, 0 },
	{ "spikes of a second",      short_spikes, 120, 10, 0.2,
	  NP_PHASE_STEADY, 0 },
	{ "a quiet start",           startup, 60, 10, 0.2, NP_PHASE_STEADY, 0 },
	{ "on and off",              on_off, 60, 10, 0.3, NP_PHASE_PHASES, 0.6 },
	{ "on and off, long tail",   on_off, 200, 20, 1.0, NP_PHASE_PHASES, 0.6 },
	{ "on and off, few probes",  slow_on_off, 600, 1, 0.3, NP_PHASE_PHASES, 0.6 },
	{ "half as slow again",      mild_on_off, 120, 20, 0.3,
	  NP_PHASE_PHASES, 0.5 },
	{ "rarely busy",             rarely_busy, 200, 10, 0.3,
	  NP_PHASE_PHASES, 0.1 },
	{ "two halves",              two_halves, 60, 10, 0.3,
	  NP_PHASE_PHASES, 0.5 },
	{ "too short to know",       on_off, 7, 10, 0.1, NP_PHASE_UNKNOWN, 0 },
	{ "no probes at all",        on_off, 60, 0, 0.1, NP_PHASE_UNKNOWN, 0 },
};
/* clang-format on */

T_TEST("steady, in phases, or too short to say")
{
	for (size_t i = 0; i < NP_ARRAY_SIZE(rows); i++) {
		int right = 0;

		for (uint64_t seed = 0; seed < 50; seed++) {
			struct np_phases p;

			make(seed * 1000 + i, rows[i].seconds, rows[i].per_sec,
			     rows[i].spread, rows[i].factor);
			np_phase_find(&s, &p);
			right += p.kind == rows[i].kind &&
				 fabs(p.busy_share - rows[i].busy_share) < 0.06;
		}
		T_ROW(rows[i].name, right >= 49);
	}
}

T_TEST("random phases are measured")
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct t_rng g = { seed };
		struct np_phases p;
		int busy = 0;

		make(seed, 300, 10, 0.3, random_phases);
		for (int t = 0; t < 300; t++)
			busy += s.w[t].mean > 2.2e-5;
		(void)g;
		np_phase_find(&s, &p);
		T_CHECK(p.kind == NP_PHASE_PHASES);
		T_CHECK(fabs(p.busy_share - busy / 300.0) < 0.05);
		T_CHECK(t_close(p.busy_sec / p.quiet_sec, 5, 0.1));
	}
}

T_TEST("periods and their latencies are found")
{
	struct np_phases p;

	make(1, 200, 10, 0.2, on_off);
	np_phase_find(&s, &p);
	T_CHECK(p.n_busy == 10 && p.window_sec == 1 && p.n_windows == 200);
	T_CHECK(t_close(p.busy_period_sec, 12, 0.05));
	T_CHECK(t_close(p.quiet_sec, 1e-5, 0.1));
	T_CHECK(t_close(p.busy_sec, 3e-5, 0.1));
}

T_TEST("equal latencies are steady")
{
	struct np_phases p;

	make(1, 60, 10, 0, steady);
	np_phase_find(&s, &p);
	T_CHECK(p.kind == NP_PHASE_STEADY && p.busy_share == 0);
}

T_TEST("odd windows do no harm")
{
	struct np_phases p;

	np_series_init(&s, 1.0);
	np_phase_find(&s, &p);
	T_CHECK(p.kind == NP_PHASE_UNKNOWN && p.n_windows == 0);
	make(1, 60, 10, 0.3, on_off);
	for (int t = 0; t < 60; t += 7) /* latencies of zero */
		memset(&s.w[t].mean, 0, sizeof(s.w[t].mean));
	np_phase_find(&s, &p);
	T_CHECK(p.kind == NP_PHASE_PHASES);
	make(1, 60, 10, 0.3, steady);
	for (int t = 0; t < 60; t++)
		s.w[t].mean = 0;
	np_phase_find(&s, &p);
	T_CHECK(p.kind == NP_PHASE_UNKNOWN);
}
