/* Random numbers for the bootstrap: reproducible on every machine, by name. */
#ifndef NP_RNG_H
#define NP_RNG_H

#include <stddef.h>
#include <stdint.h>

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

#endif
