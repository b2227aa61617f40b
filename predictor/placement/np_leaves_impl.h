/*
 * Inside, nodes are renumbered so that a leaf is one range of places: what a
 * set of nodes has on each leaf is then counted in one sweep over its words.
 */
#ifndef NP_LEAVES_IMPL_H
#define NP_LEAVES_IMPL_H

#include "np_leaves.h"

struct np_leaves {
	int refs;
	size_t n, n_nodes;
	size_t largest;	  /* nodes of the largest leaf */
	uint32_t *first;  /* n + 1: places of leaf i are first[i] .. [i+1]-1;
			     nodes without a leaf follow from first[n] */
	uint32_t *node;	  /* place -> node */
	uint32_t *place;  /* node -> place */
	uint32_t *leaf;	  /* node -> leaf or NP_NO_LEAF */
	char **name;
};

#endif
