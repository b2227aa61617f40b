/*
 * Queries to a metrics server (np_prom.h) with libcurl: one form is posted, and
 * an answer of limited size is read within limited time.  Redirections are not
 * followed, so the token goes to no other server.
 */
#ifndef NP_HTTP_H
#define NP_HTTP_H

#include <stddef.h>

#include "np_err.h"
#include "np_conf.h"
#include "np_prom.h"

#define NP_HTTP_MAX ((size_t)16 << 20) /* bytes of an answer */

struct np_http; /* an open connection */

/* Token and certificates come from c.  Returns 0, or -errno with err. */
int np_http_new(const struct np_metrics_conf *c, struct np_http **out,
		struct np_err *err);
void np_http_free(struct np_http *h); /* NULL is allowed */

/*
 * Query one expression (np_conf.h) for n nodes.  value and other: as
 * for np_prom_parse().  Returns 0, or with err -ETIMEDOUT, -EFBIG, -EACCES
 * (401, 403), -ENOENT (404), -EINVAL (not a valid answer) or -EIO.
 */
int np_http_ask(struct np_http *h, const char *expression, char *const *node,
		size_t n, const struct np_prom_range *r, double *value,
		char other[NP_METRICS_LABEL], struct np_err *err);

#endif
