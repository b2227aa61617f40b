/* Arrays that grow by one element at a time. */
#ifndef NP_ARRAY_H
#define NP_ARRAY_H

#include <stddef.h>

/*
 * Room for one more of size bytes after the n that there are; array: the
 * address of a pointer, NULL for n 0, which nothing else makes longer; free()
 * it.  Returns 0 or -ENOMEM, and then nothing has changed.
 */
int np_array_more(void *array, size_t n, size_t size);

/* The same where *room, at first 0, says how many there is room for: n. */
int np_array_room(void *array, size_t *room, size_t n, size_t size);

/* The same for room elements in all, which may be fewer than there are. */
int np_array_resize(void *array, size_t room, size_t size);

#endif
