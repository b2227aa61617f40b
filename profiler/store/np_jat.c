#include "np_jvalue.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int np_jat_take(const struct np_jat *at, size_t n, size_t size, void *out)
{
	void *all;

	if (at->room && n * size > *at->room)
		return np_errf(at->err, -EFBIG, "%s: expected what takes fewer "
			       "bytes of memory", at->where);
	if (at->room)
		*at->room -= n * size;
	all = calloc(n, size);
	if (!all)
		return -ENOMEM;
	memcpy(out, &all, sizeof(all));
	return 0;
}

struct np_jat np_jat_member(const struct np_jat *at, const char *key)
{
	struct np_jat sub = *at;

	snprintf(sub.at, sizeof(sub.at), "%.60s%.64s.", at->at, key);
	return sub;
}

struct np_jat np_jat_element(const struct np_jat *at, const char *key,
			     size_t i)
{
	struct np_jat sub = *at;

	snprintf(sub.at, sizeof(sub.at), "%.60s%.40s[%zu].", at->at, key, i);
	return sub;
}

/* What at ends with: the dot before a member, if there is one. */
static int len_of(const struct np_jat *at, const char *key)
{
	int len = (int)strlen(at->at);

	return *key || !len ? len : len - 1;
}

int np_jat_refuse(const struct np_jat *at, const char *key,
		  const char *expected)
{
	return np_errf(at->err, -EINVAL, "%s: %.*s%s: expected %s", at->where,
		       len_of(at, key), at->at, key, expected);
}

int np_jat_range(const struct np_jat *at, const char *key, double got,
		 double min, double max)
{
	return np_errf(at->err, -EINVAL,
		       "%s: %.*s%s: got %.6g, expected %.6g to %.6g", at->where,
		       len_of(at, key), at->at, key, got, min, max);
}
