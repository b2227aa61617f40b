/* The linker puts these in the place of the allocator: see Makefile. */
#include "alloc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local long left = -1; /* until one fails; -1: none does */
static _Thread_local bool failed;

void t_alloc_fail(long nth)
{
	left = nth;
	failed = false;
}

long t_alloc_pause(void)
{
	long was = left;

	left = -1;
	return was;
}

void t_alloc_go_on(long was)
{
	left = was;
}

bool t_alloc_failed(void)
{
	left = -1;
	return failed;
}

static bool fails(void)
{
	if (left < 0 || left-- > 0)
		return false;
	failed = true;
	errno = ENOMEM;
	return true;
}

#define WRAP(result, name, params, args) \
	result __real_##name params; \
	result __wrap_##name params; \
	result __wrap_##name params \
	{ \
		return fails() ? NULL : __real_##name args; \
	}

WRAP(void *, malloc, (size_t size), (size))
WRAP(void *, calloc, (size_t n, size_t size), (n, size))
WRAP(void *, realloc, (void *p, size_t size), (p, size))
WRAP(void *, reallocarray, (void *p, size_t n, size_t size), (p, n, size))
WRAP(char *, strdup, (const char *text), (text))
WRAP(char *, strndup, (const char *text, size_t n), (text, n))
