/* Random numbers that are reproducible on every machine. */
#ifndef NP_RNG_H
#define NP_RNG_H

#include <stddef.h>
#include <stdint.h>

/* ---- for the bootstrap, by name ---- */

struct np_rng;

/* An independent stream for each seed and name. NULL: out of memory. */
struct np_rng *np_rng_new(uint64_t seed, const char *name);
void np_rng_free(struct np_rng *r); /* NULL is allowed */

/* A standard normal number. */
double np_rng_normal(struct np_rng *r);

/* A uniformly distributed index below n (> 0). */
size_t np_rng_below(struct np_rng *r, size_t n);

/*
 * Another count that the same cause might have produced: Poisson with mean n.
 */
double np_rng_count(struct np_rng *r, double n);

/* ---- SplitMix64 (Steele, Lea and Flood 2014), without memory ---- */

#define NP_RNG_STEP UINT64_C(0x9e3779b97f4a7c15)

/* Bits that depend on all bits of x, as if they were random. */
static inline uint64_t np_rng_mix(uint64_t x)
{
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

/* The next bits of the stream with this state, which may begin at any value. */
static inline uint64_t np_rng_next(uint64_t *state)
{
	return np_rng_mix(*state += NP_RNG_STEP);
}

/* Bits as a number: 0 <= u < 1. */
static inline double np_rng_unit(uint64_t bits)
{
	return (double)(bits >> 11) * 0x1p-53;
}

#endif
