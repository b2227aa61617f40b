#include "np_array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LEAST 16 /* a power of two */

int np_array_resize(void *array, size_t room, size_t size)
{
	void *old, *more;

	memcpy(&old, array, sizeof(old));
	more = reallocarray(old, room, size);
	if (!more)
		return -ENOMEM;
	memcpy(array, &more, sizeof(more));
	return 0;
}

/* It doubles at powers of two, so that nobody has to note its room. */
int np_array_more(void *array, size_t n, size_t size)
{
	if (n & (n - 1) || (n && n < LEAST))
		return 0;
	return np_array_resize(array, n ? 2 * n : LEAST, size);
}

int np_array_room(void *array, size_t *room, size_t n, size_t size)
{
	size_t want = *room ? *room : 64;

	if (n <= *room)
		return 0;
	while (want < n)
		want *= 2;
	if (np_array_resize(array, want, size))
		return -ENOMEM;
	*room = want;
	return 0;
}
