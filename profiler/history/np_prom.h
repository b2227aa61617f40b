/*
 * What a metrics server knows about nodes, by the HTTP API of Prometheus: one
 * query per signal and leaf switch, one value per node and step. Answers are
 * hostile input.
 */
#ifndef NP_PROM_H
#define NP_PROM_H

#include <stddef.h>

#include "np_conf.h"
#include "np_err.h"

#define NP_HTTP_MAX ((size_t)16 << 20) /* bytes of an answer */

/* n_steps points in time; with step_sec 0, the one that window_sec ends at. */
struct np_prom_range {
	double start, step_sec, window_sec;
	size_t n_steps;
};

/*
 * The query in PromQL, with $nodes, $label and $window replaced; names that no
 * host can have are left out. free() it; NULL: out of memory, or no name is
 * left.
 */
char *np_prom_query(const struct np_metrics_conf *c, const char *expression,
		    char *const *node, size_t n, double window_sec);

/*
 * Parse an answer. value: n nodes times n_steps, NaN where the answer has no
 * value; where: for messages. *other: a label that is none of the nodes, or
 * "". Returns 0, -EFBIG, -ENOMEM, or -EINVAL with err (not such an answer, or
 * the server reports an error in the query).
 */
int np_prom_parse(const char *text, size_t len, const char *where,
		  const char *label, char *const *node, size_t n,
		  const struct np_prom_range *r, double *value,
		  char other[NP_METRICS_LABEL], struct np_err *err);

/* ---- requests, with libcurl ---- */

struct np_http; /* an open connection */

/*
 * Token and certificates come from c, which is borrowed until np_http_free().
 * Returns 0, or with err -ENOSYS (built without libcurl) or another -errno.
 */
int np_http_new(const struct np_metrics_conf *c, struct np_http **out,
		struct np_err *err);
void np_http_free(struct np_http *h); /* NULL is allowed */

/*
 * Query one expression (np_conf.h) for n nodes. value and other: as
 * for np_prom_parse(). Returns 0, also with NaN only and without a request if
 * np_prom_query() returns NULL; or with err -ETIMEDOUT, -EFBIG, -EACCES (401,
 * 403), -ENOENT (404), -EINVAL (not a valid answer), -EIO, -ENOMEM or -ENOSYS
 * (built without libcurl).
 */
int np_http_query(struct np_http *h, const char *expression, char *const *node,
		  size_t n, const struct np_prom_range *r, double *value,
		  char other[NP_METRICS_LABEL], struct np_err *err);

#endif
