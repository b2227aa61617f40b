#include "np_matching.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "np_matching_impl.h"

/* Four ways to go: two sides, which can change places, in two orders. */
#define WAYS (2 * NP_MATCHING_N_ORDERS)

/* All ways are tried up to so many states, then the one that got furthest. */
static const size_t tries[] = { 4096, (size_t)1 << 18 };

struct way {
	struct np_ports p;
	enum np_matching_order order;
};

static struct way way_of(const struct np_ports *p, int number)
{
	const struct np_ports turned = {
		.n = p->n, .n_out = p->n_in, .n_in = p->n_out,
		.out = p->in, .in = p->out,
		.n_of_out = p->n_of_in, .n_of_in = p->n_of_out,
	};
	bool turn = (number % 2 == 0) != (p->n_out >= p->n_in);

	return (struct way){ turn ? turned : *p,
			     (enum np_matching_order)(number / 2) };
}

/* *done: the share of the way that it went. */
static int go(const struct np_ports *p, int number, size_t max_states,
	      double *share, double *ln_sets, double *done)
{
	struct way w = way_of(p, number);
	struct np_matching_plan plan;
	size_t n_done = 0;
	int rc = np_matching_plan(&w.p, w.order, &plan);

	if (rc)
		return rc;
	rc = np_matching_count(&plan, p->n, max_states, share, ln_sets,
			       &n_done);
	*done = (double)n_done / (double)plan.n_steps;
	np_matching_plan_free(&plan);
	return rc;
}

/* Of one connected graph; -E2BIG leaves share undefined. */
static int shares(const struct np_ports *p, size_t max_states, double *share,
		  double *ln_sets)
{
	double done, furthest = -1;
	int best = 0, rc = -E2BIG;

	if (p->n_out == 1 || p->n_in == 1) { /* one at a time */
		for (size_t i = 0; i < p->n; i++)
			share[i] = 1.0 / (double)p->n;
		*ln_sets = log((double)p->n);
		return 0;
	}
	for (size_t t = 0; t < NP_ARRAY_SIZE(tries) * WAYS; t++) {
		if (tries[t / WAYS] > max_states)
			break;
		rc = go(p, (int)(t % WAYS), tries[t / WAYS], share, ln_sets,
			&done);
		if (rc != -E2BIG)
			return rc;
		if (t % WAYS == 0)
			furthest = -1;
		if (done > furthest)
			best = (int)(t % WAYS);
		furthest = fmax(furthest, done);
	}
	return go(p, best, max_states, share, ln_sets, &done);
}

static int one_part(const struct np_comm *c, size_t n, size_t max_states,
		    double *share, double *ln_sets, struct np_err *err)
{
	struct np_ports p;
	int rc = np_ports_new(c, n, &p, err);

	if (rc)
		return rc;
	rc = shares(&p, max_states, share, ln_sets);
	if (rc == -E2BIG)
		np_errf(err, rc, "model myrinet: %zu communications from %zu "
			"nodes to %zu that all depend on each other have more "
			"than %zu states; expected fewer, or another model",
			n, p.n_out, p.n_in, max_states);
	else if (rc)
		np_errf(err, rc, "out of memory");
	np_ports_free(&p);
	return rc;
}

/* Communications by part, each part's together. */
struct sorted {
	struct np_comm *c;
	uint32_t *part, *at;
	double *share;
	size_t *first;
};

static void sorted_free(struct sorted *s)
{
	free(s->c);
	free(s->part);
	free(s->share);
	free(s->first);
}

static int sort(const struct np_ports *p, struct sorted *s, long *n_parts,
		struct np_err *err)
{
	size_t n = p->n;

	*s = (struct sorted){
		.c = calloc(n, sizeof(*s->c)),
		.part = calloc(2 * n, sizeof(*s->part)),
		.share = calloc(n, sizeof(*s->share)),
		.first = calloc(n + 2, sizeof(*s->first)),
	};
	*n_parts = -ENOMEM;
	if (s->c && s->part && s->share && s->first)
		*n_parts = np_ports_parts(p, s->part);
	if (*n_parts < 0) {
		sorted_free(s);
		return np_errf(err, -ENOMEM, "out of memory");
	}
	s->at = s->part + n;
	for (size_t i = 0; i < n; i++)
		s->first[s->part[i] + 2]++;
	for (long k = 0; k < *n_parts; k++)
		s->first[k + 2] += s->first[k + 1];
	for (size_t i = 0; i < n; i++) {
		s->at[i] = (uint32_t)s->first[s->part[i] + 1]++;
		s->c[s->at[i]] = p->c[i];
	}
	return 0;
}

int np_matching_all(const struct np_ports *p, size_t max_states, double *share,
		    double *ln_sets, struct np_err *err)
{
	struct sorted s;
	long n_parts;
	double ln = 0, sum = 0;
	int rc = sort(p, &s, &n_parts, err);

	if (rc)
		return rc;
	for (long k = 0; !rc && k < n_parts; k++) {
		size_t from = s.first[k], to = s.first[k + 1];

		rc = one_part(s.c + from, to - from, max_states,
			      s.share + from, &ln, err);
		sum += ln;
	}
	for (size_t i = 0; !rc && i < p->n; i++)
		share[i] = s.share[s.at[i]];
	if (!rc && ln_sets)
		*ln_sets = sum;
	sorted_free(&s);
	return rc;
}
