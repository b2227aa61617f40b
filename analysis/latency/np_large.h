/*
 * Large arrays, on large pages where possible: these save page faults and
 * address translations. Free them with free().
 */
#ifndef NP_LARGE_H
#define NP_LARGE_H

#include <stddef.h>

/* Allocates an array. Returns NULL if memory is short. */
void *np_large_alloc(size_t n, size_t size);

/*
 * As np_array_reserve(). A large array is copied when it grows, because realloc()
 * would move its large pages to where they have to be divided.
 */
int np_large_reserve(void *array, size_t *capacity, size_t n, size_t size);

/* Returns the memory behind the first n elements. */
void *np_large_cut(void *array, size_t n, size_t size);

#endif
