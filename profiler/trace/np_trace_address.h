/*
 * Requests of liballprof's text, which names them by where their handles are
 * in the program's memory.  A handle's place is used again and again, each time
 * for another request; and what a call that may leave some undone has done, the
 * text does not say: a request that no MPI_Wait() and no MPI_Waitall() names is
 * taken as done by the last call that names its place.  Private to the readers.
 */
#ifndef NP_TRACE_ADDRESS_H
#define NP_TRACE_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct np_address {
	uint64_t place;
	uint32_t use;	/* the present or the last one */
	bool active, persistent;
	bool sends;	/* of a persistent one */
	uint32_t comm;
	uint64_t bytes;
	uint32_t peer, tag;
};

struct np_addresses {
	struct np_address *address; /* in the order of their first use */
	size_t n, room;
	uint32_t *slot; /* hash of places to address + 1 */
	size_t n_slots;
	uint64_t *done_at; /* of each use the line; 0: never */
	size_t use_room;
	size_t next_use;
	bool known; /* done_at is filled: this is the second pass */
};

/* The one at a place; NULL: there was none. */
struct np_address *np_address_find(const struct np_addresses *a,
				   uint64_t place);
/* The same, made if it is new; NULL: no memory. */
struct np_address *np_address_at(struct np_addresses *a, uint64_t place);

/* A new request is under way there.  Returns 0 or -ENOMEM. */
int np_address_begin(struct np_addresses *a, struct np_address *p);

/*
 * A call in this line names it, which ends it or may end it.  True: it is done
 * now, as far as is known.
 */
bool np_address_ends(struct np_addresses *a, struct np_address *p,
		     uint64_t line, bool surely);

/* From the beginning, with what is known now. */
void np_addresses_again(struct np_addresses *a);
void np_addresses_free(struct np_addresses *a);

#endif
