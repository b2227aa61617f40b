#include "np_rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_errno.h>
#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>

#include "np_text.h"

/*
 * Above this mean a normal distribution is close enough to Poisson, and faster.
 */
#define POISSON_MAX 20

struct np_rng {
	gsl_rng *gsl;
};

/* GSL's default error handler aborts, which a library must not do. */
__attribute__((constructor)) static void never_abort(void)
{
	gsl_set_error_handler_off();
}

/*
 * Seeds by name, so that a stream does not depend on what was drawn before it.
 */
static uint64_t hash(uint64_t seed, const char *name)
{
	uint64_t h = np_hash(NP_HASH ^ seed, name, strlen(name));

	return h ^ h >> 32;
}

struct np_rng *np_rng_new(uint64_t seed, const char *name)
{
	struct np_rng *r = malloc(sizeof(*r));

	if (!r)
		return NULL;
	r->gsl = gsl_rng_alloc(gsl_rng_taus2);
	if (!r->gsl) {
		free(r);
		return NULL;
	}
	gsl_rng_set(r->gsl, (uint32_t)hash(seed, name));
	return r;
}

void np_rng_free(struct np_rng *r)
{
	if (!r)
		return;
	gsl_rng_free(r->gsl);
	free(r);
}

double np_rng_normal(struct np_rng *r)
{
	return gsl_ran_gaussian_ziggurat(r->gsl, 1);
}

size_t np_rng_below(struct np_rng *r, size_t n)
{
	return (size_t)(gsl_rng_uniform(r->gsl) * (double)n);
}

double np_rng_count(struct np_rng *r, double n)
{
	if (n <= 0)
		return 0;
	if (n < POISSON_MAX)
		return gsl_ran_poisson(r->gsl, n);
	return fmax(0, n + sqrt(n) * np_rng_normal(r));
}
