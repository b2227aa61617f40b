#include "np_args.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void np_args_add(struct np_args *a, const char *fmt, ...)
{
	va_list ap;

	if (a->n == NP_ARGS_MAX)
		a->rc = -E2BIG;
	if (a->rc)
		return;
	va_start(ap, fmt);
	if (vasprintf(&a->argv[a->n], fmt, ap) < 0) {
		a->argv[a->n] = NULL;
		a->rc = -ENOMEM;
	} else {
		a->n++;
	}
	va_end(ap);
}

void np_args_free(struct np_args *a)
{
	while (a->n)
		free(a->argv[--a->n]);
	*a = (struct np_args){ .n = 0 };
}
