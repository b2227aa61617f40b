/*
 * Open classes together with closed ones: E. Lazowska et al., Quantitative
 * System Performance, 1984, chapter 7; exact in product-form networks.
 *
 * The time that open classes occupy a server is lost to closed ones, so that
 * service takes 1 / (1 - that share) times as long. An arriving open customer
 * sees the mean number of closed customers.
 */
#include "np_qn.h"

#include <errno.h>
#include <stdlib.h>

/* Whether class c is open. */
static bool is_open(const struct np_qn *net, size_t c)
{
	return net->class[c].arrivals_per_sec > 0;
}

/* The utilisation of a station by open classes. */
static int open_share(const struct np_qn *net, size_t k, double *share,
		      struct np_err *err)
{
	const struct np_qn_station *st = &net->station[k];

	*share = 0;
	for (size_t c = 0; c < net->n_classes; c++)
		if (is_open(net, c))
			*share += net->class[c].arrivals_per_sec *
				  np_qn_demand(net, c, k);
	if (*share > 0 && st->kind != NP_QN_DELAY &&
	    (st->kind == NP_QN_LOADED || st->servers > 1))
		return np_errf(err, -ENOTSUP, "%.64s: open classes visit it, "
			       "expected a queue of one server or a delay",
			       st->name);
	if (*share >= 1 && st->kind != NP_QN_DELAY)
		return np_errf(err, -EINVAL, "%.64s: open classes keep it busy "
			       "for %.4g of the time, expected less than 1",
			       st->name, *share);
	if (st->kind == NP_QN_DELAY)
		*share = 0;
	return 0;
}

/* Solves the closed classes with correspondingly slower stations. */
static int solve_closed(const struct np_qn *net, const double *share,
			np_qn_method *solve, const struct np_qn_cost *max,
			struct np_qn_solution *out, struct np_err *err)
{
	size_t n = net->n_classes, all = n * net->n_stations;
	struct np_qn_station *st = calloc(net->n_stations + 1, sizeof(*st));
	double *service = calloc(all + 1, sizeof(*service));
	struct np_qn slower = *net;
	int rc = -ENOMEM;

	slower.station = st;
	for (size_t k = 0; st && service && k < net->n_stations; k++) {
		st[k] = net->station[k];
		st[k].service_sec = service + n * k;
		for (size_t c = 0; c < n; c++)
			service[n * k + c] = net->station[k].service_sec[c] /
					     (1 - share[k]);
	}
	if (st && service)
		rc = solve(&slower, max, out, err);
	else
		np_errf(err, rc, "no memory");
	free(st);
	free(service);
	return rc;
}

/*
 * Fills in an open class: service is slowed by open customers, and the queue
 * contains the closed ones.
 */
static void fill_open(const struct np_qn *net, const double *share,
		      const double *closed, size_t c, struct np_qn_solution *s)
{
	double x = net->class[c].arrivals_per_sec;

	s->x_per_sec[c] = x;
	s->response_sec[c] = 0;
	for (size_t k = 0; k < net->n_stations; k++) {
		size_t i = c * net->n_stations + k;
		double d = np_qn_demand(net, c, k);
		double sec = net->station[k].kind == NP_QN_DELAY ? d :
			     d * (1 + closed[k]) / (1 - share[k]);

		s->residence_sec[i] = sec;
		s->response_sec[c] += sec;
		s->present[i] = x * sec;
		s->utilisation[i] = x * d;
	}
}

/*
 * Corrects the closed classes for the slower stations, and fills in the open
 * ones.
 */
static void fill_solution(const struct np_qn *net, const double *share,
			  double *closed, struct np_qn_solution *s)
{
	for (size_t k = 0; k < net->n_stations; k++) {
		closed[k] = 0;
		for (size_t c = 0; c < net->n_classes; c++) {
			size_t i = c * net->n_stations + k;

			if (is_open(net, c))
				continue;
			closed[k] += s->present[i];
			s->utilisation[i] *= 1 - share[k];
		}
	}
	for (size_t c = 0; c < net->n_classes; c++)
		if (is_open(net, c))
			fill_open(net, share, closed, c, s);
}

int np_qn_mixed(np_qn_method *solve, const struct np_qn *net,
		const struct np_qn_cost *max, struct np_qn_solution *out,
		struct np_err *err)
{
	double *share = calloc(2 * net->n_stations + 1, sizeof(*share));
	int rc = share ? np_qn_check(net, err) :
			 np_errf(err, -ENOMEM, "no memory");
	bool open = false;

	for (size_t c = 0; !rc && c < net->n_classes; c++)
		open |= is_open(net, c);
	for (size_t k = 0; !rc && open && k < net->n_stations; k++)
		rc = open_share(net, k, &share[k], err);
	if (!rc)
		rc = open ? solve_closed(net, share, solve, max, out, err) :
			    solve(net, max, out, err);
	if (!rc && open)
		fill_solution(net, share, share + net->n_stations, out);
	free(share);
	return rc;
}
