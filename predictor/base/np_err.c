#include "np_err.h"

#include <stdarg.h>

#include "np_text.h"

int np_errf(struct np_err *err, int rc, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return rc;
	va_start(ap, fmt);
	np_text_print(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	return rc;
}
