/*
 * A cache of results computed from the store, in a file of the calling user:
 * $XDG_CACHE_HOME/netprof or ~/.cache/netprof.
 *
 * A result is found again only if the same program computed it, for the same
 * inputs and from the same state of the directories that it read. The cache is
 * never needed: without its directory, or with a file that is damaged or that
 * another user could have written, everything is computed again.
 */
#ifndef NP_CACHE_H
#define NP_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "np_moments.h"
#include "np_store.h"

#define NP_CACHE_MAX_BYTES (16u << 20) /* size of a cache file */

struct np_cache;

/*
 * what: "list", part of the file's name; one word. inputs: a hash of
 * everything else that all results depend on, apart from the program itself.
 * Reads the existing file. Returns NULL when out of memory; every function
 * below accepts NULL as an empty cache.
 */
struct np_cache *np_cache_open(const struct np_store *store, const char *what,
			       uint64_t inputs);

/* Write new results, if possible, and free everything. */
void np_cache_close(struct np_cache *cache);

/*
 * A hash of the state of directories; seed: hash of any other input. Returns
 * 0, which is never cached, if one of them changed so recently that it may
 * change again without a new time stamp. Compute it before reading the
 * directories' contents.
 */
uint64_t np_cache_state(uint64_t seed, const struct np_store_stamp *stamp,
			size_t n);

/*
 * The checksum that a file stores for its entries. np_hash() goes byte by
 * byte, which is too slow for megabytes. Exported for the tests.
 */
uint64_t np_cache_sum(const char *at, size_t len);

/* The result of that name and state, valid until np_cache_close(); or NULL. */
const char *np_cache_find(struct np_cache *cache, const char *name,
			  uint64_t state, size_t *len);

/*
 * Add a result. data is malloc'ed; cache owns it from now on, until
 * np_cache_close(). A result with state 0 is not written to the file.
 * Returns 0, or -ENOMEM after freeing data.
 */
int np_cache_put(struct np_cache *cache, const char *name, uint64_t state,
		 char *data, size_t len);

/*
 * Serialises the numbers and texts of a result in the byte order of this
 * machine, as the file never leaves it. One function describes a structure for
 * both directions: np_pack_count() and so on write their argument and return
 * it, or read a value and return that.
 */
struct np_pack {
	FILE *f; /* output; the caller checks ferror() and fclose() */
	/* When reading, f is NULL. at, left: the rest of the input; bad: it
	 * ended too early, or a value was impossible. */
	const char *at;
	size_t left;
	bool bad;
};

/*
 * 0 or "" if bad; a count above max is bad; a text is borrowed from the input.
 */
uint64_t np_pack_count(struct np_pack *pack, uint64_t n, uint64_t max);
double np_pack_real(struct np_pack *pack, double x);
struct np_mean np_pack_mean(struct np_pack *pack, struct np_mean mean);
const char *np_pack_text(struct np_pack *pack,
			 const char *text); /* NULL: as "" */

#endif
