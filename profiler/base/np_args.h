/* A command line, one argument after the other. */
#ifndef NP_ARGS_H
#define NP_ARGS_H

#include <stddef.h>

#define NP_ARGS_MAX 64

/* Zeroed, it is empty.  Free with np_args_free(). */
struct np_args {
	char *argv[NP_ARGS_MAX + 1]; /* NULL-terminated */
	size_t n;
	int rc; /* -ENOMEM or -E2BIG once an argument is missing */
};

void np_args_add(struct np_args *a, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void np_args_free(struct np_args *a);

#endif
