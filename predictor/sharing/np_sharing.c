#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "np_ports.h"
#include "np_sharing_impl.h"

static int none(const struct np_sharing_param *p, const struct np_comm *c,
		size_t n, double *penalty, struct np_err *err)
{
	(void)p, (void)c, (void)err;
	for (size_t i = 0; i < n; i++)
		penalty[i] = 1;
	return 0;
}

/* Parallel ones conflict at both ends, and count once. */
static int conflicts(const struct np_sharing_param *p, const struct np_comm *c,
		     size_t n, double *penalty, struct np_err *err)
{
	struct np_ports port;
	int rc = np_ports_new(c, n, &port, err);

	(void)p;
	if (rc)
		return rc;
	for (size_t i = 0; i < n; i++) {
		size_t parallel = 0;

		for (size_t k = 0; k < n; k++)
			parallel += port.out[k] == port.out[i] &&
				    port.in[k] == port.in[i];
		penalty[i] = (double)(port.n_of_out[port.out[i]] +
				      port.n_of_in[port.in[i]] - parallel);
	}
	np_ports_free(&port);
	return 0;
}

const struct np_sharing_model np_sharing_models[] = {
	{ "gige", "Gigabit Ethernet", np_sharing_gige },
	{ "myrinet", "Myrinet", np_sharing_myrinet },
	{ "infiniband", "InfiniBand", np_sharing_infiniband },
	{ "maxmin", "max-min fair sharing", np_sharing_maxmin },
	{ "conflicts", "number of conflicts", conflicts },
	{ "none", "no penalty", none },
};
const size_t np_sharing_n_models = NP_ARRAY_SIZE(np_sharing_models);

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

static int out_of_range(const char *name, double v, const char *expected,
			struct np_err *err)
{
	return np_errf(err, -EINVAL, "%s is %g, expected %s", name, v,
		       expected);
}

int np_sharing_check(const struct np_sharing_param *p, struct np_err *err)
{
	const struct {
		const char *name;
		double value;
		bool below_one; /* [0, 1); > 0 otherwise */
	} row[] = {
		{ "beta", p->beta, false },
		{ "gamma_o", p->gamma_out, true },
		{ "gamma_i", p->gamma_in, true },
		{ "be", p->ib_in, false },
		{ "bs", p->ib_out, false },
		{ "gs", p->ib_many, false },
	};

	for (size_t i = 0; i < NP_ARRAY_SIZE(row); i++) {
		double v = row[i].value;

		if (row[i].below_one && !(v >= 0 && v < 1))
			return out_of_range(row[i].name, v, "0 to less than 1",
					    err);
		if (!row[i].below_one && !(v > 0 && isfinite(v)))
			return out_of_range(row[i].name, v, "more than 0", err);
	}
	return p->fabric > 0 ? 0 : out_of_range("fabric", p->fabric,
						"more than 0", err);
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
	int rc = n ? m->penalties(p, c, n, penalty, err) : 0;

	for (size_t i = 0; !rc && i < n; i++)
		penalty[i] = fmax(penalty[i], 1);
	return rc;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double np_sharing_cut(double fabric, double *rate, size_t n)
{
	double left = fabric, sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += rate[i];
	if (sum <= fabric * (1 + 1e-12))
		return INFINITY;
	qsort(rate, n, sizeof(*rate), by_value);
	for (size_t i = 0; i < n; i++) {
		double fair = left / (double)(n - i);

		if (rate[i] >= fair)
			return fair;
		left -= rate[i];
	}
	return INFINITY;
}

/* The same for penalties. */
static int cut_all(double fabric, double *penalty, size_t n, struct np_err *err)
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

/* Those between two nodes, and where they came from. */
static size_t remote(const struct np_comm *c, size_t n, struct np_comm *out,
		     uint32_t *at)
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
		n_sub = remote(c, n, sub, at);
		rc = np_sharing_ask(m, p, sub, n_sub, got, err);
	}
	if (!rc)
		rc = cut_all(p->fabric, got, n_sub, err);
	for (size_t i = 0; !rc && i < n; i++)
		penalty[i] = 1;
	for (size_t i = 0; !rc && i < n_sub; i++)
		penalty[at[i]] = got[i];
	free(sub);
	free(at);
	free(got);
	return rc;
}
