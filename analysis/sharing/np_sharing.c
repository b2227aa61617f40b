#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_sort.h>

#include "np_matching.h"
#include "np_ports.h"
#include "np_sharing_impl.h"

/* ---- The models; np_sharing.h describes them ---- */

/* At one port: highest load of a remote port, and the number of such ports. */
struct far {
	uint32_t most, n_most;
};

static void add_far(struct far *f, uint32_t load)
{
	if (load > f->most)
		*f = (struct far){ load, 0 };
	f->n_most += load == f->most;
}

/* p_o or p_i: load of this port, and load_far of the port at the other end. */
static double port_penalty(double beta, double gamma, uint32_t load,
			   uint32_t load_far, const struct far *f)
{
	double m = f->n_most;

	if (load == 1)
		return 1;
	if (load_far == f->most)
		return load * beta * (1 + gamma * (load - m));
	return load * beta * (1 - gamma / m);
}

/*
 * Gigabit Ethernet [V]. Of the communications that leave a node, those to the
 * destination with the highest load are slowed down most ("strongly slow"), the
 * others slightly less. The same holds at the destination.
 */
static int gige(const struct np_sharing_param *p, const struct np_ports *port,
		double *penalty, struct np_err *err)
{
	struct far *out = calloc(2 * port->n, sizeof(*out)),
		   *in = out + port->n;

	if (!out)
		return np_errf(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < port->n; i++) {
		add_far(&out[port->out[i]], port->n_of_in[port->in[i]]);
		add_far(&in[port->in[i]], port->n_of_out[port->out[i]]);
	}
	for (size_t i = 0; i < port->n; i++) {
		uint32_t s = port->n_of_out[port->out[i]];
		uint32_t d = port->n_of_in[port->in[i]];

		penalty[i] = fmax(port_penalty(p->beta, p->gamma_out, s, d,
				       &out[port->out[i]]),
				  port_penalty(p->beta, p->gamma_in, d, s,
				       &in[port->in[i]]));
	}
	free(out);
	return 0;
}

/*
 * Myrinet [V]. Stop & Go flow control admits, at any moment, a set of
 * communications without conflict that cannot be extended. All such state sets
 * are equally likely. A node sends at the rate of whichever of its
 * communications is in the fewest of them.
 */
static int myrinet(const struct np_sharing_param *p,
		   const struct np_ports *port, double *penalty,
		   struct np_err *err)
{
	size_t n = port->n;
	double *share = calloc(2 * n, sizeof(*share)), *least = share + n;
	int rc = share ? np_matching_all(port, NP_MATCHING_MAX_STATES, share,
					 NULL, err) :
			 np_errf(err, -ENOMEM, "out of memory");

	(void)p;
	for (size_t s = 0; !rc && s < port->n_out; s++)
		least[s] = INFINITY;
	for (size_t i = 0; !rc && i < n; i++)
		least[port->out[i]] = fmin(least[port->out[i]], share[i]);
	for (size_t i = 0; !rc && i < n; i++)
		penalty[i] = 1 / least[port->out[i]];
	free(share);
	return rc;
}

/*
 * Counts parallel communications of each, and distinct sources of each
 * receiver.
 */
static void count_sources(const struct np_ports *port, uint32_t *order,
		  uint32_t *parallel, uint32_t *sources)
{
	np_ports_sort(port, order);
	for (size_t i = 0, j; i < port->n; i = j) {
		uint32_t s = port->out[order[i]], d = port->in[order[i]];

		for (j = i; j < port->n && port->out[order[j]] == s &&
			    port->in[order[j]] == d; j++)
			;
		for (size_t k = i; k < j; k++)
			parallel[order[k]] = (uint32_t)(j - i);
		sources[d]++;
	}
}

/* The slowest communication that leaves a node slows down all that leave it. */
static void outgoing_penalties(const struct np_sharing_param *p,
		     const struct np_ports *port, double *out)
{
	for (size_t i = 0; i < port->n; i++) {
		uint32_t s = port->out[i], load = port->n_of_out[s];
		double q = load == 1 ? 1 :
			   load * p->ib_out *
			   (port->n_of_in[port->in[i]] > 2 ? p->ib_many : 1);

		out[s] = fmax(out[s], q);
	}
}

/*
 * InfiniBand [VT]. As in the source, incoming load is the number of distinct
 * senders, weighted by the communication's own parallel ones.
 */
static int infiniband(const struct np_sharing_param *p,
		      const struct np_ports *port, double *penalty,
		      struct np_err *err)
{
	size_t n = port->n;
	uint32_t *order = calloc(3 * n, sizeof(*order));
	uint32_t *parallel = order + n, *sources = parallel + n;
	double *out = calloc(n, sizeof(*out));
	int rc = order && out ? 0 : np_errf(err, -ENOMEM, "out of memory");

	if (!rc) {
		count_sources(port, order, parallel, sources);
		outgoing_penalties(p, port, out);
	}
	for (size_t i = 0; !rc && i < n; i++) {
		uint32_t d = port->in[i];
		double in = port->n_of_in[d] == 1 ? 1 :
			    parallel[i] * p->ib_in * sources[d];

		penalty[i] = fmax(out[port->out[i]], in);
	}
	free(order);
	free(out);
	return rc;
}

struct port {
	double left;	 /* capacity for communications that still grow */
	uint32_t n_grow; /* number of these */
	bool full;
};

/* The rate at which the next port is full. */
static double next_rate(const struct port *port, size_t n)
{
	double rate = INFINITY;

	for (size_t i = 0; i < n; i++)
		if (port[i].n_grow)
			rate = fmin(rate, port[i].left / port[i].n_grow);
	return rate;
}

static void leave(struct port *p, double rate)
{
	p->left -= rate;
	p->n_grow--;
}

/* Fixes the rate of communications at full ports. Returns how many. */
static size_t freeze(const struct np_ports *p, struct port *port, double rate,
		     double *penalty)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n_out + p->n_in; i++)
		port[i].full = port[i].n_grow && port[i].left <=
			       rate * port[i].n_grow * (1 + 1e-12);
	for (size_t i = 0; i < p->n; i++) {
		struct port *out = &port[p->out[i]];
		struct port *in = &port[p->n_out + p->in[i]];

		if (penalty[i] || !(out->full || in->full))
			continue;
		leave(out, rate);
		leave(in, rate);
		penalty[i] = 1 / rate;
		n++;
	}
	return n;
}

/*
 * Max-min fair sharing of unit ports by progressive filling: all rates grow
 * equally until a port is full; its communications then keep their rate.
 */
static int maxmin(const struct np_sharing_param *param,
		  const struct np_ports *p, double *penalty,
		  struct np_err *err)
{
	struct port *port = calloc(2 * p->n, sizeof(*port));

	(void)param;
	if (!port)
		return np_errf(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < p->n; i++) {
		port[p->out[i]] = (struct port){ 1, p->n_of_out[p->out[i]], 0 };
		port[p->n_out + p->in[i]] =
			(struct port){ 1, p->n_of_in[p->in[i]], 0 };
		penalty[i] = 0;
	}
	for (size_t left = p->n; left;)
		left -= freeze(p, port, next_rate(port, p->n_out + p->n_in),
			       penalty);
	free(port);
	return 0;
}

/* Parallel communications conflict at both ends but count once. */
static int conflicts(const struct np_sharing_param *p,
		     const struct np_ports *port, double *penalty,
		     struct np_err *err)
{
	(void)p, (void)err;
	for (size_t i = 0; i < port->n; i++) {
		size_t parallel = 0;

		for (size_t k = 0; k < port->n; k++)
			parallel += port->out[k] == port->out[i] &&
				    port->in[k] == port->in[i];
		penalty[i] = (double)(port->n_of_out[port->out[i]] +
				      port->n_of_in[port->in[i]] - parallel);
	}
	return 0;
}

const struct np_sharing_model np_sharing_models[] = {
	{ "gige", "Gigabit Ethernet", gige, false },
	{ "myrinet", "Myrinet", myrinet, false },
	{ "infiniband", "InfiniBand", infiniband, false },
	{ "maxmin", "max-min fair sharing", maxmin, true },
	{ "conflicts", "number of conflicts", conflicts, false },
	{ "none", "no penalty", NULL, false },
};
const size_t np_sharing_n_models = NP_ARRAY_SIZE(np_sharing_models);

/* ---- Evaluation ---- */

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

int np_sharing_penalties(const struct np_sharing_model *m,
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

double np_sharing_limit_rate(double fabric, double *rate, size_t n)
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
	most = np_sharing_limit_rate(fabric, rate, n);
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
		rc = np_sharing_penalties(m, p, sub, n_sub, got, err);
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
