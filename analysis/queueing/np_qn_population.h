/*
 * Populations of several classes, enumerated with class 0 varying fastest.
 * Populations have consecutive cell numbers, and the cell of N - n is that of N
 * minus that of n.
 */
#ifndef NP_QN_POPULATION_H
#define NP_QN_POPULATION_H

#include "np_qn.h"

struct np_population {
	size_t classes;
	uint64_t n[NP_QN_MAX_CLASSES], all; /* all: their sum */
};

/* Advances to the next population up to top; after top comes the empty one. */
static inline void np_population_next(struct np_population *p,
				      const struct np_population *top)
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

/* Goes back to the previous population; before the empty one comes top. */
static inline void np_population_previous(struct np_population *p,
				     const struct np_population *top)
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

/* The first class with customers; there must be one. */
static inline size_t np_population_class(const struct np_population *p)
{
	size_t c = 0;

	while (!p->n[c])
		c++;
	return c;
}

#endif
