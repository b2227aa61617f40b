#include "np_merge.h"

#include <string.h>

void np_merge_user(const uint64_t *user, const uint64_t *ours,
		   const uint64_t *now, size_t words, uint64_t *out)
{
	for (size_t k = 0; k < words; k++) {
		uint64_t his = user ? user[k] : 0;
		uint64_t only_ours = ours ? ours[k] & ~his : 0;

		out[k] = now[k] & ~only_ours;
	}
}

void np_merge_list(const uint64_t *user, const uint64_t *ours, size_t words,
		   uint64_t *out)
{
	for (size_t k = 0; k < words; k++)
		out[k] = user[k] | (ours ? ours[k] : 0);
}

bool np_merge_differs(const uint64_t *list, const uint64_t *now, size_t words)
{
	return memcmp(list, now, words * sizeof(*list)) != 0;
}
