#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "np_flows.h"

struct arrival {
	double sec;
	size_t comm;
};

static int by_time(const void *a, const void *b)
{
	const struct arrival *x = a, *y = b;

	if (x->sec != y->sec)
		return x->sec < y->sec ? -1 : 1;
	return (x->comm > y->comm) - (x->comm < y->comm);
}

static int order(const double *start_sec, size_t n, struct arrival *a,
		 struct np_err *err)
{
	for (size_t i = 0; i < n; i++) {
		if (!(start_sec[i] >= 0 && isfinite(start_sec[i])))
			return np_errf(err, -EINVAL, "communication %zu starts "
				       "at %g s, expected 0 or more", i,
				       start_sec[i]);
		a[i] = (struct arrival){ start_sec[i], i };
	}
	qsort(a, n, sizeof(*a), by_time);
	return 0;
}

/* What is played, and how far it is. */
struct play {
	struct np_flows *f;
	const struct np_comm *c;
	const double *alone_sec;
	const struct arrival *a;
	size_t n, next;
	double *end_sec;
};

/* To the next start or end, whichever comes first. */
static int step(struct play *p, struct np_err *err)
{
	struct np_flow_end done;
	double now;
	int rc = np_flows_next(p->f, &now, err);

	if (rc)
		return rc;
	if (p->next < p->n)
		now = fmin(now, p->a[p->next].sec);
	np_flows_advance(p->f, now);
	while (np_flows_ended(p->f, &done))
		p->end_sec[done.id] = now;
	for (; !rc && p->next < p->n && p->a[p->next].sec <= now; p->next++) {
		size_t i = p->a[p->next].comm;

		rc = np_flows_start(p->f, p->c[i], p->alone_sec[i], i, err);
	}
	return rc;
}

int np_sharing_dynamic(const struct np_sharing_model *m,
		       const struct np_sharing_param *p,
		       const struct np_comm *c, const double *start_sec,
		       const double *alone_sec, size_t n, size_t n_nodes,
		       double *end_sec, struct np_err *err)
{
	struct arrival *a = calloc(n + 1, sizeof(*a));
	struct play play = { .c = c, .alone_sec = alone_sec, .a = a, .n = n,
			     .end_sec = end_sec };
	int rc = a ? order(start_sec, n, a, err) :
		     np_errf(err, -ENOMEM, "out of memory");

	if (!rc)
		rc = np_flows_new(m, p, n_nodes, &play.f, err);
	while (!rc && (play.next < n || np_flows_active(play.f)))
		rc = step(&play, err);
	np_flows_free(play.f);
	free(a);
	return rc;
}
