#include <errno.h>
#include <string.h>

#include "np_predict_impl.h"

/* Rows and columns of what the levels do to each other, being trimmed. */
struct table {
	const bool *known; /* n x n */
	size_t n;
	struct np_basis *use;
	bool mutual; /* it is asked both ways */
};

static bool hole(const struct table *t, size_t i, size_t j)
{
	return !t->known[i * t->n + j] ||
	       (t->mutual && !t->known[j * t->n + i]);
}

void np_levels_drop(struct np_levels *l, size_t level)
{
	size_t to = 0;

	for (size_t i = 0; i < l->n; i++)
		if (l->at[i] != level)
			l->at[to++] = l->at[i];
	l->n = to;
}

static void add(struct np_levels *l, size_t level)
{
	l->at[l->n++] = (uint16_t)level;
}

bool np_levels_equal(const struct np_levels *a, const struct np_levels *b)
{
	return a->n == b->n && !memcmp(a->at, b->at, a->n * sizeof(*a->at));
}

bool np_basis_equal(const struct np_basis *a, const struct np_basis *b)
{
	return np_levels_equal(&a->col, &b->col) &&
	       np_levels_equal(&a->row, &b->row) &&
	       np_levels_equal(&a->co_col, &b->co_col);
}

/* Those of level k, as a row of the columns in use or the other way. */
static size_t holes(const struct table *t, size_t k, bool is_row)
{
	const struct np_levels *l = is_row ? &t->use->col : &t->use->row;
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++)
		n += is_row ? hole(t, k, l->at[i]) : hole(t, l->at[i], k);
	return n;
}

/* Leave out the row or column with most holes, until there are none. */
static void trim(const struct np_predictor *p, struct np_basis *use)
{
	const struct table t = { p->fabric.has_beside, p->n, use,
				 p->m->needs & NP_NEED_OWN_PRESSURE };
	struct np_levels *from;

	if (p->fabric.whole)
		return;
	do {
		size_t worst = 0, at = 0;

		from = NULL;
		for (int is_row = 1; is_row >= 0; is_row--) {
			struct np_levels *l = is_row ? &use->row : &use->col;

			for (size_t i = 0; i < l->n; i++) {
				size_t n = holes(&t, l->at[i], is_row);

				if (n <= worst)
					continue;
				worst = n;
				at = l->at[i];
				from = l;
			}
		}
		if (from)
			np_levels_drop(from, at);
	} while (from);
}

enum whose { VICTIM, CO_RUNNER, FABRIC };

/* What a model may need, what somebody has then, and what is said if not. */
static const struct {
	unsigned need;
	enum whose whose;
	unsigned has;
	const char *what;
} lacks[] = {
	{ NP_NEED_CURVE, VICTIM, NP_NEED_CURVE,
	  "no slowdown beside any level" },
	{ NP_NEED_TRACE, VICTIM, NP_NEED_TRACE, "no trace" },
	{ NP_NEED_OWN_PRESSURE, VICTIM, NP_NEED_PRESSURE,
	  "how much it slows the levels was not measured" },
	{ NP_NEED_LATENCY, CO_RUNNER, NP_NEED_LATENCY, "no probe latencies" },
	{ NP_NEED_HIST, CO_RUNNER, NP_NEED_HIST, "no latency histogram" },
	{ NP_NEED_PRESSURE, CO_RUNNER, NP_NEED_PRESSURE,
	  "how much it slows the levels was not measured" },
	{ NP_NEED_CO_CURVE, CO_RUNNER, NP_NEED_CURVE,
	  "no slowdown beside any level" },
	{ NP_NEED_IDLE, FABRIC, NP_NEED_IDLE,
	  "no latency of the idle fabric" },
	{ NP_NEED_LATENCY, FABRIC, NP_NEED_LATENCY,
	  "no latency beside any level" },
	{ NP_NEED_HIST, FABRIC, NP_NEED_HIST,
	  "no latency histograms of the idle fabric and the levels" },
	{ NP_NEED_BESIDE, FABRIC, NP_NEED_BESIDE,
	  "slowdown of the levels beside each other was not measured" },
};

static int check(const struct np_predictor *p, unsigned needs,
		 const struct np_ready *a, const struct np_ready *co,
		 struct np_err *err)
{
	const unsigned has[] = { a->draw.has, co->draw.has, p->fabric.has };
	const char *const name[] = { a->app->name, co->app->name, p->f->name };

	for (size_t i = 0; i < NP_ARRAY_SIZE(lacks); i++) {
		const char *what = lacks[i].what;

		if (!(needs & lacks[i].need) ||
		    has[lacks[i].whose] & lacks[i].has)
			continue;
		if (lacks[i].need == NP_NEED_TRACE && a->app->untraced)
			what = a->app->untraced;
		return np_errf(err, -ENODATA, "%s: %s", name[lacks[i].whose],
			       what);
	}
	return 0;
}

static bool level_serves(const struct np_predictor *p, size_t i,
			 unsigned needs)
{
	return (!(needs & NP_NEED_LATENCY) || p->fabric.has_latency[i]) &&
	       (!(needs & NP_NEED_HIST) || p->fabric.has_hist[i]);
}

/* Is the victim known beside level i, as far as it has to be? */
static bool serves_victim(const struct np_draw_program *va, size_t i,
			  unsigned needs)
{
	return va->has_curve[i] &&
	       (!(needs & NP_NEED_OWN_PRESSURE) || va->has_pressure[i]);
}

static bool serves_co(const struct np_draw_program *cb, size_t i,
		      unsigned needs)
{
	return cb->has_pressure[i] &&
	       (!(needs & NP_NEED_CO_CURVE) || cb->has_curve[i]);
}

static void fill(const struct np_predictor *p, const struct np_draw_program *va,
		 const struct np_draw_program *cb, unsigned needs,
		 struct np_basis *use)
{
	use->col.n = use->row.n = use->co_col.n = 0;
	for (size_t i = 0; i < p->n; i++) {
		if (!level_serves(p, i, needs))
			continue;
		if (needs & NP_NEED_CURVE && serves_victim(va, i, needs))
			add(&use->col, i);
		if (needs & NP_NEED_PRESSURE && serves_co(cb, i, needs))
			add(&use->row, i);
		if (needs & NP_NEED_CO_CURVE && cb->has_curve[i])
			add(&use->co_col, i);
	}
	if (needs & NP_NEED_BESIDE)
		trim(p, use);
}

void np_basis_levels(const struct np_predictor *p, struct np_basis *use)
{
	use->col.n = use->row.n = use->co_col.n = 0;
	for (size_t i = 0; i < p->n; i++) {
		add(&use->col, i);
		add(&use->row, i);
	}
	trim(p, use);
}

int np_basis_choose(const struct np_predictor *p, const struct np_ready *a,
		    const struct np_ready *co, size_t n_co,
		    struct np_basis *use, struct np_err *err)
{
	unsigned needs = p->m->needs;
	int rc;

	if (n_co > 1) /* the fixed point is for two; latencies add over idle */
		needs = (needs & ~(unsigned)NP_NEED_CO_CURVE) |
			(needs & NP_NEED_LATENCY ? NP_NEED_IDLE : 0);
	rc = check(p, needs, a, co, err);
	if (rc)
		return rc;
	fill(p, &a->draw, &co->draw, needs, use);
	if (needs & NP_NEED_CURVE && !use->col.n)
		return np_errf(err, -ENODATA, "%s: no level beside which it "
			       "ran has what model %s needs", a->app->name,
			       p->m->name);
	if (needs & NP_NEED_BESIDE && (use->col.n < 2 || use->row.n < 2))
		return np_errf(err, p->n < 2 ? -EDOM : -ENODATA,
			       "%s beside %s: %zu levels with its slowdown, "
			       "%zu with the pressure, expected at least 2 of "
			       "each that were run beside each other",
			       a->app->name, co->app->name, use->col.n,
			       use->row.n);
	return 0;
}

void np_basis_data(const struct np_predictor *p, const struct np_basis *use,
		   size_t replicate, struct np_data *v)
{
	*v = (struct np_data){
		.model = p->m,
		.fabric = &p->fabric.view[replicate], .n_co = 1,
		.col = &use->col, .row = &use->row, .co_col = &use->co_col,
		.nnls = p->nnls, .work = p->work, .ensemble = p->ensemble,
	};
}
