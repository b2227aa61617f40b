#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_sort.h>

#include "np_ports.h"
#include "np_sharing_impl.h"

#define PARAM_MAX 1e6 /* of a parameter, so that penalties stay finite */

const struct np_sharing_model *np_sharing_find(const char *name,
					       struct np_err *err)
{
	char known[128] = "";
	size_t len = 0;

	for (size_t i = 0; i < np_sharing_n_models; i++) {
		if (!strcmp(np_sharing_models[i].name, name))
			return &np_sharing_models[i];
		len += (size_t)snprintf(known + len, sizeof(known) - len,
					"%s%s", i ? ", " : "",
					np_sharing_models[i].name);
	}
	np_errf(err, -ENOENT, "no model \"%.40s\", expected %s", name, known);
	return NULL;
}

const struct np_sharing_member np_sharing_members[] = {
#define AT(x) offsetof(struct np_sharing_param, x)
	{ "gige", "beta", AT(beta), false, 0.1 },
	{ "gige", "gamma_o", AT(gamma_out), true, 0.05 },
	{ "gige", "gamma_i", AT(gamma_in), true, 0.05 },
	{ "infiniband", "be", AT(ib_in), false, 0.1 },
	{ "infiniband", "bs", AT(ib_out), false, 0.1 },
	{ "infiniband", "gs", AT(ib_many), false, 0.1 },
	{ "", "fabric", AT(fabric), false, 0 },
#undef AT
};
const size_t np_sharing_n_members = NP_ARRAY_SIZE(np_sharing_members);

double *np_sharing_value(struct np_sharing_param *p,
			 const struct np_sharing_member *m)
{
	return (double *)((char *)p + m->at);
}

int np_sharing_check(const struct np_sharing_param *p, struct np_err *err)
{
	struct np_sharing_param own = *p;

	for (size_t i = 0; i < np_sharing_n_members; i++) {
		const struct np_sharing_member *m = &np_sharing_members[i];
		double v = *np_sharing_value(&own, m);

		if (m->below_one ? !(v >= 0 && v < 1) :
				   !(v > 0 && (v <= PARAM_MAX || !*m->model)))
			return np_errf(err, -EINVAL, "%s is %g, expected %s",
				       m->name, v, m->below_one ?
				       "0 to less than 1" : *m->model ?
				       "more than 0, at most 1000000" :
				       "more than 0");
	}
	return 0;
}

int np_sharing_check_comm(const struct np_sharing_param *p, struct np_comm c,
			  size_t n_nodes, struct np_err *err)
{
	if (c.from >= n_nodes || c.to >= n_nodes)
		return np_errf(err, -EINVAL, "node %u: expected 0 to %zu, as "
			       "the cluster has %zu nodes",
			       c.from >= n_nodes ? c.from : c.to,
			       n_nodes ? n_nodes - 1 : 0, n_nodes);
	if (c.from == c.to && !p->local)
		return np_errf(err, -EINVAL, "from node %u to itself: expected "
			       "two nodes", c.from);
	return 0;
}

int np_sharing_ask(const struct np_sharing_model *m,
		   const struct np_sharing_param *p, const struct np_comm *c,
		   size_t n, double *penalty, struct np_err *err)
{
	struct np_ports port = { .n = 0 };
	int rc = m->penalties && n ? np_ports_new(c, n, &port, err) : 0;

	for (size_t i = 0; !m->penalties && i < n; i++)
		penalty[i] = 1;
	if (port.n)
		rc = m->penalties(p, &port, penalty, err);
	np_ports_free(&port);
	for (size_t i = 0; !rc && i < n; i++)
		penalty[i] = fmax(penalty[i], 1);
	return rc;
}

double np_sharing_cut(double fabric, double *rate, size_t n)
{
	double left = fabric, sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += rate[i];
	if (sum <= fabric * (1 + 1e-12))
		return INFINITY;
	gsl_sort(rate, 1, n);
	for (size_t i = 0; i < n; i++) {
		double fair = left / (double)(n - i);

		if (rate[i] >= fair)
			return fair;
		left -= rate[i];
	}
	return INFINITY;
}

/* Applies the limit of the switch to penalties. */
static int limit_all(double fabric, double *penalty, size_t n,
		     struct np_err *err)
{
	double *rate, most;

	if (!isfinite(fabric) || !n)
		return 0;
	rate = calloc(n, sizeof(*rate));
	if (!rate)
		return np_errf(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < n; i++)
		rate[i] = 1 / penalty[i];
	most = np_sharing_cut(fabric, rate, n);
	for (size_t i = 0; i < n; i++)
		penalty[i] = fmax(penalty[i], 1 / most);
	free(rate);
	return 0;
}

/* Selects the communications between different nodes; at[]: their indices. */
static size_t select_remote(const struct np_comm *c, size_t n,
			    struct np_comm *out, uint32_t *at)
{
	size_t m = 0;

	for (size_t i = 0; i < n; i++)
		if (c[i].from != c[i].to) {
			at[m] = (uint32_t)i;
			out[m++] = c[i];
		}
	return m;
}

static int check_all(const struct np_sharing_param *p, const struct np_comm *c,
		     size_t n, size_t n_nodes, struct np_err *err)
{
	int rc = np_sharing_check(p, err);

	for (size_t i = 0; !rc && i < n; i++)
		rc = np_sharing_check_comm(p, c[i], n_nodes, err);
	return rc;
}

int np_sharing_static(const struct np_sharing_model *m,
		      const struct np_sharing_param *p,
		      const struct np_comm *c, size_t n, size_t n_nodes,
		      double *penalty, struct np_err *err)
{
	struct np_comm *sub = calloc(n + 1, sizeof(*sub));
	uint32_t *at = calloc(n + 1, sizeof(*at));
	double *got = calloc(n + 1, sizeof(*got));
	size_t n_sub = 0;
	int rc = sub && at && got ? check_all(p, c, n, n_nodes, err) :
		 np_errf(err, -ENOMEM, "out of memory");

	if (!rc) {
		n_sub = select_remote(c, n, sub, at);
		rc = np_sharing_ask(m, p, sub, n_sub, got, err);
	}
	if (!rc)
		rc = limit_all(p->fabric, got, n_sub, err);
	for (size_t i = 0; !rc && i < n; i++)
		penalty[i] = 1;
	for (size_t i = 0; !rc && i < n_sub; i++)
		penalty[at[i]] = got[i];
	free(sub);
	free(at);
	free(got);
	return rc;
}
