#include "np_place_ranks.h"

#include <errno.h>
#include <stdlib.h>

struct search {
	const struct np_graph *g;
	const struct np_tolerance_opt *opt;
	uint32_t *node, n;
	double best_ns;
	struct np_place_result *r;
	struct np_err *err;
};

static int run_time(const struct search *s, double *ns)
{
	double x = np_loggps_value(&s->opt->net, s->opt->x);
	struct np_tolerance *t;
	int rc = np_tolerance_new(s->g, s->opt, &t, s->err);

	if (rc)
		return rc;
	np_tolerance_times(t, &x, 1, ns);
	np_tolerance_free(t);
	return 0;
}

static void swap(struct search *s, uint32_t a, uint32_t b)
{
	uint32_t node = s->node[a];

	s->node[a] = s->node[b];
	s->node[b] = node;
}

static int try_swap(struct search *s, uint32_t a, uint32_t b)
{
	double ns = s->best_ns;
	int rc;

	swap(s, a, b);
	s->r->trials++;
	rc = run_time(s, &ns);
	/* Less than the sums of floating point numbers may differ by is none. */
	if (!rc && ns < s->best_ns * (1 - 1e-12)) {
		s->best_ns = ns;
		s->r->swaps++;
	} else {
		swap(s, a, b);
	}
	return rc;
}

/*
 * All pairs in turn, again and again, until each was tried since the last that
 * was of use.  Pairs that are near each other in rank come first.
 */
static int search(struct search *s, size_t max_trials)
{
	size_t swaps;
	int rc = 0;

	do {
		swaps = s->r->swaps;
		for (uint32_t apart = 1; apart < s->n; apart++)
			for (uint32_t a = 0; a + apart < s->n; a++) {
				if (s->node[a] == s->node[a + apart])
					continue;
				if (s->r->trials == max_trials)
					return 0;
				rc = try_swap(s, a, a + apart);
				if (rc)
					return rc;
			}
	} while (s->r->swaps > swaps);
	s->r->ended = true;
	return 0;
}

int np_place_ranks(const struct np_graph *g,
		   const struct np_tolerance_opt *opt, uint32_t *node,
		   size_t max_trials, struct np_place_result *out,
		   struct np_err *err)
{
	struct np_place_result r = { .trials = 0 };
	struct search s = { g, opt, node, np_graph_ranks(g), 0, &r, err };
	int rc = run_time(&s, &r.before_ns);

	if (rc)
		return rc;
	s.best_ns = r.before_ns;
	rc = search(&s, max_trials);
	r.after_ns = s.best_ns;
	*out = r;
	return rc;
}
