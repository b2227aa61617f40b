/*
 * What was computed from the store, kept for the next time in a file of the
 * reader's own: $XDG_CACHE_HOME/netprof or ~/.cache/netprof.
 *
 * A result is found again only if it was computed by this very program, on the
 * same basis and from the same state of the directories it came from.  What is
 * kept is never needed: without such a directory, with a damaged file or one
 * that somebody else could have written, all is computed anew.
 */
#ifndef NP_KEPT_H
#define NP_KEPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "np_mean.h"
#include "np_store.h"

#define NP_KEPT_MAX_BYTES (16u << 20) /* of a file */

struct np_kept;

/*
 * what: "list", part of the file's name; one word.  basis: a hash of what all
 * results rest on, besides the program.  Reads what there is.  NULL when memory
 * is short, which all functions take for nothing kept.
 */
struct np_kept *np_kept_open(const struct np_store *s, const char *what,
			     uint64_t basis);

/* Writes what is new, if it can be, and frees all. */
void np_kept_close(struct np_kept *k);

/*
 * The state of directories, with seed for whatever else there is; 0, which is
 * never kept, if one was changed so recently that it may change again without
 * another stamp.  To be taken before what it stands for is read.
 */
uint64_t np_kept_state(uint64_t seed, const struct np_store_stamp *stamp,
		       size_t n);

/*
 * What a file says that the bytes of its entries sum up to.  As np_hash(),
 * which takes bytes one by one, and with megabytes of them its time.
 */
uint64_t np_kept_sum(const char *at, size_t len);

/* The result of that name and state, until np_kept_close(); or NULL. */
const char *np_kept_find(struct np_kept *k, const char *name, uint64_t state,
			 size_t *len);

/*
 * Keep a result: data is malloc'ed and k's from now on, until np_kept_close();
 * also with state 0, and then it is not written.  Returns 0 or -ENOMEM, and
 * then data is freed.
 */
int np_kept_put(struct np_kept *k, const char *name, uint64_t state, char *data,
		size_t len);

/*
 * Numbers and texts one behind the other, for results: as this machine has
 * them, as nobody else reads them.  One function says what there is of a
 * structure, for both ways: what it is given is written and returned, or else
 * what was read is.
 */
struct np_pack {
	FILE *f; /* written there; failures are ferror()'s and fclose()'s */
	/* Where f is NULL: what is left to read; bad: it ended too early, or
	 * held what cannot be. */
	const char *at;
	size_t left;
	bool bad;
};

/* 0 where it is bad, as a count above max is; a text is borrowed, else "". */
uint64_t np_pack_count(struct np_pack *p, uint64_t n, uint64_t max);
double np_pack_real(struct np_pack *p, double x);
struct np_mean np_pack_mean(struct np_pack *p, struct np_mean m);
const char *np_pack_text(struct np_pack *p, const char *text); /* NULL as "" */

#endif
