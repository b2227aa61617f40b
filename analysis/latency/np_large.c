#include "np_large.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "np_array.h"

#define LARGE_PAGE ((size_t)2 << 20)
#define LARGE (LARGE_PAGE / 4) /* bytes from which on such pages save time */

/* Bytes of memory for so many bytes: whole large pages, if these are many. */
static size_t room_for(size_t bytes)
{
	return bytes < LARGE ?
		       bytes :
		       (bytes + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE;
}

void *np_large_alloc(size_t n, size_t size)
{
	size_t bytes = n * size;
	void *array;

	if (n > PTRDIFF_MAX / size)
		return NULL;
	if (bytes < LARGE)
		return malloc(bytes);
	array = aligned_alloc(LARGE_PAGE, room_for(bytes));
	if (array)
		madvise(array, room_for(bytes), MADV_HUGEPAGE);
	return array;
}

int np_large_reserve(void *array, size_t *capacity, size_t n, size_t size)
{
	size_t wanted = 2 * *capacity > n ? 2 * *capacity : n;
	void *old, *larger;

	if (n <= *capacity || wanted < LARGE / size)
		return np_array_reserve(array, capacity, n, size);
	larger = np_large_alloc(wanted, size);
	if (!larger)
		return -ENOMEM;
	memcpy(&old, array, sizeof(old));
	if (old)
		memcpy(larger, old, *capacity * size);
	free(old);
	memcpy(array, &larger, sizeof(larger));
	*capacity = wanted;
	return 0;
}

void *np_large_cut(void *array, size_t n, size_t size)
{
	void *shorter = realloc(array, room_for(n * size));

	return shorter ? shorter : array;
}
