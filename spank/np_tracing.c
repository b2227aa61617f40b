#include "np_tracing.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "np_trace_dir.h"

int np_tracing_put(const struct np_tracing *t, char text[NP_TRACING_TEXT],
		   struct np_err *err)
{
	if (strchr(t->library, '\n') || strchr(t->dir, '\n'))
		return np_errf(err, -EINVAL, "%.80s: a path with an end of "
			       "line", strchr(t->dir, '\n') ? t->dir :
			       t->library);
	snprintf(text, NP_TRACING_TEXT, "%s\n%s\n%llu\n%u\n%s", t->library,
		 t->dir, (unsigned long long)t->bytes, t->keep, t->app);
	return 0;
}

/* The next line of *at into buf. */
static int take(const char **at, char *buf, size_t size)
{
	size_t n = *at ? strcspn(*at, "\n") : size;

	if (n >= size)
		return -EINVAL;
	memcpy(buf, *at, n);
	buf[n] = '\0';
	*at = (*at)[n] ? *at + n + 1 : NULL;
	return 0;
}

static int take_number(const char **at, uint64_t max, uint64_t *v)
{
	char text[24], *end;

	if (take(at, text, sizeof(text)))
		return -EINVAL;
	*v = strtoull(text, &end, 10);
	return end == text || *end || *v > max ? -EINVAL : 0;
}

int np_tracing_get(const char *text, struct np_tracing *out)
{
	struct np_tracing t;
	uint64_t keep;

	if (take(&text, t.library, sizeof(t.library)) ||
	    take(&text, t.dir, sizeof(t.dir)) ||
	    take_number(&text, UINT64_MAX, &t.bytes) ||
	    take_number(&text, UINT32_MAX, &keep) ||
	    take(&text, t.app, sizeof(t.app)) || text ||
	    t.library[0] != '/' || !t.dir[0] ||
	    (t.app[0] && np_app_check(t.app, NULL)))
		return -EINVAL;
	t.keep = (uint32_t)keep;
	*out = t;
	return 0;
}

void np_tracing_sub(const struct np_tracing *t, uid_t uid, const char *app,
		    uint32_t job_id, uint32_t step_id, char *buf, size_t len)
{
	snprintf(buf, len, "%u/%s/%u.%u" NP_TRACE_SUFFIX, (unsigned)uid,
		 t->app[0] ? t->app : app, job_id, step_id);
}

int np_tracing_preload(const struct np_tracing *t, const char *was, char *buf,
		       size_t len)
{
	int n = was && *was ? snprintf(buf, len, "%s:%s", t->library, was) :
			      snprintf(buf, len, "%s", t->library);

	return n < 0 || (size_t)n >= len ? -ENAMETOOLONG : 0;
}
