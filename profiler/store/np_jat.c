#include "np_jvalue.h"

#include <errno.h>
#include <stdio.h>

struct np_jat np_jat_member(const struct np_jat *at, const char *key)
{
	struct np_jat sub = *at;

	snprintf(sub.at, sizeof(sub.at), "%.32s%.24s.", at->at, key);
	return sub;
}

struct np_jat np_jat_element(const struct np_jat *at, const char *key,
			     size_t i)
{
	struct np_jat sub = *at;

	snprintf(sub.at, sizeof(sub.at), "%.24s%.15s[%zu].", at->at, key, i);
	return sub;
}

int np_jat_refuse(const struct np_jat *at, const char *key,
		  const char *expected)
{
	return np_errf(at->err, -EINVAL, "%s: %s%s: expected %s", at->where,
		       at->at, key, expected);
}

int np_jat_range(const struct np_jat *at, const char *key, double got,
		 double min, double max)
{
	return np_errf(at->err, -EINVAL,
		       "%s: %s%s: got %.6g, expected %.6g to %.6g", at->where,
		       at->at, key, got, min, max);
}
