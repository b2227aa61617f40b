/*
 * What profiles do to each other, as the decision reads it: np_conflict.h makes
 * it.  Immutable; shared by counting references.  A load is log(1 + slowdown) in units of 1/10000,
 * whole numbers, so that sums do not depend on the order of the summands.
 */
#ifndef NP_PRESS_H
#define NP_PRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NP_PRESS_UNIT 10000.0
#define NP_PRESS_MAX UINT16_MAX /* a slowdown of 700 or more */

/* What a job does that decides where it touches others. */
#define NP_TOUCH_NODE 1u
#define NP_TOUCH_UPLINK 2u
#define NP_N_TOUCH 4

struct np_press_profile {
	uint32_t owner;
	bool trusted;
	bool complete;  /* every pair with it has been asked */
	bool aggressor; /* presses on somebody */
	bool inert; /* neither presses on anybody nor feels anybody */
};

struct np_press {
	int refs;
	size_t n; /* profiles */
	double negligible;
	struct np_press_profile *profile;
	/*
	 * [(a * n + b) * NP_N_TOUCH + touch]: load of a beside b, and load of
	 * b beside a.  Both, so that a row holds all that concerns a.
	 */
	uint16_t *feels, *pushes;
	uint16_t *most; /* largest load of a beside anybody, any touch */
};

static inline const uint16_t *np_press_feels(const struct np_press *t,
					     uint32_t victim)
{
	return t->feels + (size_t)victim * t->n * NP_N_TOUCH;
}

static inline const uint16_t *np_press_pushes(const struct np_press *t,
					      uint32_t co)
{
	return t->pushes + (size_t)co * t->n * NP_N_TOUCH;
}

/* One of such a row. */
static inline uint16_t np_press_at(const uint16_t *row, uint32_t profile,
				   uint32_t touch)
{
	return row[profile * NP_N_TOUCH + touch];
}

/* Load of one job beside another, by profile and touch. */
static inline uint32_t np_press_pair(const struct np_press *t, uint32_t victim,
				     uint32_t victim_touch, uint32_t co,
				     uint32_t co_touch)
{
	return np_press_at(np_press_feels(t, victim), co,
			   victim_touch & co_touch);
}

/* Loads stay far from the end of their type whatever is added. */
static inline uint32_t np_press_clamp(uint64_t load)
{
	return load < 1u << 24 ? (uint32_t)load : 1u << 24;
}

/* Without names, and with nobody slowed by anybody; one reference. */
struct np_press *np_press_new(size_t n);
struct np_press *np_press_ref(struct np_press *t);
void np_press_unref(struct np_press *t); /* NULL is allowed */

/*
 * Predicted slowdown of a victim beside one co-runner, as the decision counts
 * it: the worst of the contacts that both share_nodes and both_span allow.
 */
double np_press_slowdown(const struct np_press *t, uint32_t victim,
			 uint32_t co, bool both_share_nodes, bool both_span);

/* A slowdown as a load: rounded to nearest, gains to 0. */
uint16_t np_press_load(double slowdown);
double np_press_fraction(uint32_t load); /* and back */

/* The largest load whose slowdown does not exceed the limit. */
uint32_t np_press_limit(double max_slowdown);

#endif
