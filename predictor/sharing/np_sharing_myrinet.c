/*
 * Myrinet [V].  Its Stop & Go lets through, at any moment, a set of
 * communications that do not conflict and to which none can be added.  All
 * such state sets are alike; a node sends as often as that of its
 * communications which is in the fewest of them.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "np_matching.h"
#include "np_sharing_impl.h"

int np_sharing_myrinet(const struct np_sharing_param *p,
		       const struct np_comm *c, size_t n, double *penalty,
		       struct np_err *err)
{
	double *share = calloc(2 * n, sizeof(*share)), *least = share + n;
	struct np_ports port = { .n = 0 };
	int rc = share ? np_matching_all(c, n, NP_MATCHING_MAX_STATES, share,
					 NULL, err) :
			 np_errf(err, -ENOMEM, "out of memory");

	(void)p;
	if (!rc)
		rc = np_ports_new(c, n, &port, err);
	for (size_t s = 0; s < port.n_out; s++)
		least[s] = INFINITY;
	for (size_t i = 0; !rc && i < n; i++)
		least[port.out[i]] = fmin(least[port.out[i]], share[i]);
	for (size_t i = 0; !rc && i < n; i++)
		penalty[i] = 1 / least[port.out[i]];
	np_ports_free(&port);
	free(share);
	return rc;
}
