/*
 * Populations of several classes, as cells in the order of their numbers, class
 * 0 first: the cell of N - n is the last one less that of n.
 */
#ifndef NP_QN_PLACE_H
#define NP_QN_PLACE_H

#include "np_qn.h"

struct np_place {
	size_t classes;
	uint64_t n[NP_QN_MAX_CLASSES], all; /* and their sum */
};

/* The next up to top; after that nobody. */
static inline void np_place_next(struct np_place *p, const struct np_place *top)
{
	for (size_t c = 0; c < p->classes; c++) {
		if (p->n[c] < top->n[c]) {
			p->n[c]++;
			p->all++;
			return;
		}
		p->all -= p->n[c];
		p->n[c] = 0;
	}
}

/* The one before; before nobody, top. */
static inline void np_place_previous(struct np_place *p,
				     const struct np_place *top)
{
	for (size_t c = 0; c < p->classes; c++) {
		if (p->n[c]) {
			p->n[c]--;
			p->all--;
			return;
		}
		p->n[c] = top->n[c];
		p->all += p->n[c];
	}
}

/* The first class that is there; somebody is. */
static inline size_t np_place_class(const struct np_place *p)
{
	size_t c = 0;

	while (!p->n[c])
		c++;
	return c;
}

#endif
