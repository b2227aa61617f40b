/* Messages on their way to one receiver, for np_graph_match*.c. */
#ifndef NP_GRAPH_MATCH_H
#define NP_GRAPH_MATCH_H

#include "np_graph_impl.h"

/* Sends of one sender with one tag, and in np_graph_wild.c a class of them. */
struct np_channel {
	uint32_t peer, tag;
	uint32_t context : 31, used : 1;
	uint32_t head, tail; /* of its sends */
	uint32_t surplus;    /* sends that no receive without NP_ANY needs */
	uint32_t root;	     /* of a class: the heap of its channels */
};

struct np_match {
	struct np_graph *g;
	uint32_t *send;	  /* all sends, by receiver */
	uint32_t *behind; /* of a receiver: where its sends end */
	struct np_channel *channel; /* a hash table */
	size_t size, n_channels;
	uint32_t rank; /* the receiver */
	size_t n_unmatched;
	uint32_t unmatched, receiver; /* the first such operation */
};

/* The channel, or a place for it that is not used. */
struct np_channel *np_match_find(const struct np_match *m, uint32_t peer,
				 uint32_t tag, uint32_t context);

/* Room for n channels; they may move.  Returns 0 or -ENOMEM. */
int np_match_room(struct np_match *m, size_t n);

/* The channel, made if there is none; there must be room. */
struct np_channel *np_match_make(struct np_match *m, uint32_t peer,
				 uint32_t tag, uint32_t context);

/* The first send of a channel that has one meets recv. */
void np_match_meet(struct np_match *m, struct np_channel *c, uint32_t recv);

void np_match_none(struct np_match *m, uint32_t node);

bool np_match_any(const struct np_graph_node *recv);

/*
 * The receives among these nodes, some with NP_ANY: np_graph_wild.c.
 * Returns 0 or -ENOMEM.
 */
int np_match_wild(struct np_match *m, uint32_t first, uint32_t end);

#endif
