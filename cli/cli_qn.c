/* What the pages of netprof qn have in common. */
#include "cli_qn.h"

#include <math.h>

const char *cli_qn_kind(const struct np_qn_station *st)
{
	switch (st->kind) {
	case NP_QN_DELAY: return "delay";
	case NP_QN_LOADED: return "load-dependent";
	default: return st->servers > 1 ? "multi-server" : "queueing";
	}
}

struct cli_qn_class cli_qn_class(const struct cli_qn *q, size_t row, size_t c)
{
	const struct np_qn_class *class = &q->n.net.class[c];
	const struct np_qn_solution *s = &q->row[row].s;

	return (struct cli_qn_class){
		.name = class->name, .think_sec = class->think_sec,
		.customers = c == q->changes ? q->row[row].customers :
					       class->customers,
		.x_per_sec = s->x_per_sec[c],
		.response_sec = s->response_sec[c],
	};
}

struct cli_qn_place cli_qn_place(const struct cli_qn *q, size_t row, size_t c,
				 size_t k)
{
	const struct np_qn_station *st = &q->n.net.station[k];
	const struct np_qn_solution *s = &q->row[row].s;
	size_t i = c * q->n.net.n_stations + k;
	struct cli_qn_place p = {
		.station = st->name, .class = q->n.net.class[c].name,
		.present = s->present[i], .utilisation = s->utilisation[i],
		.x_per_sec = s->x_per_sec[c] * st->visits[c],
		.residence_sec = s->residence_sec[i], .per_visit_sec = NAN,
	};

	if (s->x_per_sec[c] > 0 && st->visits[c] > 0)
		p.per_visit_sec = p.residence_sec / st->visits[c];
	return p;
}

double cli_qn_busy(const struct cli_qn *q, size_t row, size_t k)
{
	double busy = 0;

	for (size_t c = 0; c < q->n.net.n_classes; c++)
		busy += cli_qn_place(q, row, c, k).utilisation;
	return busy;
}

size_t cli_qn_busiest(const struct cli_qn *q, size_t row)
{
	size_t best = q->n.net.n_stations;

	for (size_t k = 0; k < q->n.net.n_stations; k++)
		if (q->n.net.station[k].kind != NP_QN_DELAY &&
		    cli_qn_busy(q, row, k) > 0 &&
		    (best == q->n.net.n_stations ||
		     cli_qn_busy(q, row, k) > cli_qn_busy(q, row, best)))
			best = k;
	return best;
}
