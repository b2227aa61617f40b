#include <errno.h>
#include <math.h>

#include "np_tolerance.h"

static int one_gap(const struct np_graph *g, const struct np_loggps *net,
		   double gap_times, double *ns, struct np_err *err)
{
	struct np_tolerance_opt opt = { .net = *net, .x = NP_LOGGPS_L };
	double L_ns[NP_RESPONSE_LATENCIES];
	struct np_tolerance *t;
	int rc;

	opt.net.G_ns *= gap_times;
	rc = np_tolerance_new(g, &opt, &t, err);
	if (rc)
		return rc;
	for (size_t i = 0; i < NP_RESPONSE_LATENCIES; i++)
		L_ns[i] = net->L_ns + 1e9 * np_response_added_sec(i);
	np_tolerance_times(t, L_ns, NP_RESPONSE_LATENCIES, ns);
	np_tolerance_free(t);
	return 0;
}

int np_response_make(const struct np_graph *g, const struct np_loggps *net,
		     struct np_response *out, struct np_err *err)
{
	struct np_response r;
	double alone_ns;
	int rc = 0;

	if (np_graph_ops(g) > NP_RESPONSE_MAX_OPS)
		return np_errf(err, -E2BIG, "%zu operations, expected at most "
			       "%zu", np_graph_ops(g), NP_RESPONSE_MAX_OPS);
	for (size_t k = 0; !rc && k < NP_RESPONSE_GAPS; k++)
		rc = one_gap(g, net, np_response_gap[k], r.times[k], err);
	if (rc)
		return rc;
	alone_ns = r.times[0][0];
	if (!(alone_ns > 0))
		return np_errf(err, -EINVAL, "the program takes no time");
	for (size_t k = 0; k < NP_RESPONSE_GAPS; k++)
		for (size_t i = 0; i < NP_RESPONSE_LATENCIES; i++)
			r.times[k][i] /= alone_ns;
	*out = r;
	return 0;
}
