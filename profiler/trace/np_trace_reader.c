#include "np_trace_reader.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

int np_trace_wrong(const struct np_trace_reader *r, struct np_err *err,
		   const char *fmt, ...)
{
	char text[NP_ERR_LEN];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return np_errf(err, -EINVAL, "%s:%llu: rank %u: %s", r->in.path,
		       (unsigned long long)r->line, r->rank, text);
}
