/* Handles of applications by name and user; made by np_catalog.h. */
#ifndef NP_APP_INDEX_H
#define NP_APP_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "np_app.h"

struct np_app_entry {
	char app[NP_APP_MAX + 1];
	bool published;
	uint32_t uid; /* of a user's own; 0 for published ones */
	int32_t profile;
};

/*
 * Immutable, shared by counting references, read by any thread.  entry[] is
 * copied.  unknown: what applications without a profile count as.
 */
struct np_app_index;
int np_app_index_new(const struct np_app_entry *entry, size_t n,
		     int32_t unknown, struct np_app_index **out);
struct np_app_index *np_app_index_ref(struct np_app_index *x);
void np_app_index_unref(struct np_app_index *x); /* NULL is allowed */

/*
 * The published profile of that name, or else the user's own;
 * NP_PROFILE_UNKNOWN: there is none.  No allocation, O(log n).
 */
int32_t np_app_index_find(const struct np_app_index *x, const char *app,
			  uint32_t uid);
int32_t np_app_index_unknown(const struct np_app_index *x);
size_t np_app_index_n(const struct np_app_index *x);

#endif
