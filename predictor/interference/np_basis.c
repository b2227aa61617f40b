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

void np_basis_drop(size_t *list, size_t *n, size_t level)
{
	size_t to = 0;

	for (size_t i = 0; i < *n; i++)
		if (list[i] != level)
			list[to++] = list[i];
	*n = to;
}

static void list_copy(size_t *to, size_t *n_to, const size_t *from, size_t n)
{
	*n_to = n;
	memcpy(to, from, n * sizeof(*to));
}

void np_basis_copy(struct np_basis *to, const struct np_basis *from)
{
	list_copy(to->col, &to->n_col, from->col, from->n_col);
	list_copy(to->row, &to->n_row, from->row, from->n_row);
	list_copy(to->co_col, &to->n_co_col, from->co_col, from->n_co_col);
}

static bool list_equal(const size_t *a, size_t n_a, const size_t *b,
		       size_t n_b)
{
	return n_a == n_b && !memcmp(a, b, n_a * sizeof(*a));
}

bool np_basis_equal(const struct np_basis *a, const struct np_basis *b)
{
	return list_equal(a->col, a->n_col, b->col, b->n_col) &&
	       list_equal(a->row, a->n_row, b->row, b->n_row) &&
	       list_equal(a->co_col, a->n_co_col, b->co_col, b->n_co_col);
}

bool np_basis_mirrored(const struct np_basis *a, const struct np_basis *b)
{
	return list_equal(a->col, a->n_col, b->row, b->n_row) &&
	       list_equal(a->row, a->n_row, b->col, b->n_col);
}

static size_t holes_in_row(const struct table *t, size_t i)
{
	size_t holes = 0;

	for (size_t c = 0; c < t->use->n_col; c++)
		holes += hole(t, i, t->use->col[c]);
	return holes;
}

static size_t holes_in_col(const struct table *t, size_t j)
{
	size_t holes = 0;

	for (size_t r = 0; r < t->use->n_row; r++)
		holes += hole(t, t->use->row[r], j);
	return holes;
}

/* Leave out the row or column with most holes, until there are none. */
static void trim(const struct np_predictor *p, struct np_basis *use)
{
	struct table table = { p->fabric.has_beside, p->n, use,
			       p->m->needs & NP_NEED_OWN_PRESSURE };
	struct table *t = &table;

	if (p->fabric.whole)
		return;
	for (;;) {
		size_t worst = 0, at = 0, holes;
		bool row = true;

		for (size_t r = 0; r < t->use->n_row; r++) {
			holes = holes_in_row(t, t->use->row[r]);
			if (holes > worst) {
				worst = holes;
				at = t->use->row[r];
			}
		}
		if (!worst)
			return;
		for (size_t c = 0; c < t->use->n_col; c++) {
			holes = holes_in_col(t, t->use->col[c]);
			if (holes > worst) {
				worst = holes;
				at = t->use->col[c];
				row = false;
			}
		}
		if (row)
			np_basis_drop(t->use->row, &t->use->n_row, at);
		else
			np_basis_drop(t->use->col, &t->use->n_col, at);
	}
}

static int lack(const char *whose, const char *what, struct np_err *err)
{
	return np_errf(err, -ENODATA, "%s: %s", whose, what);
}

static int check_fabric(const struct np_predictor *p, unsigned needs,
			struct np_err *err)
{
	unsigned has = p->fabric.has;

	if (needs & NP_NEED_IDLE && !(has & NP_NEED_IDLE))
		return lack(p->f->name, "no latency of the idle fabric", err);
	if (needs & NP_NEED_LATENCY && !(has & NP_NEED_LATENCY))
		return lack(p->f->name, "no latency beside any level", err);
	if (needs & NP_NEED_HIST && !(has & NP_NEED_HIST))
		return lack(p->f->name, "no latency histograms of the idle "
			    "fabric and the levels", err);
	if (needs & NP_NEED_BESIDE && !(has & NP_NEED_BESIDE))
		return lack(p->f->name, "slowdown of the levels beside each "
			    "other was not measured", err);
	return 0;
}

static int check_co(const struct np_program *co,
		    const struct np_draw_program *cb, unsigned needs, struct np_err *err)
{
	if (needs & NP_NEED_LATENCY && !(cb->has & NP_NEED_LATENCY))
		return lack(co->name, "no probe latencies", err);
	if (needs & NP_NEED_HIST && !(cb->has & NP_NEED_HIST))
		return lack(co->name, "no latency histogram", err);
	if (needs & NP_NEED_WINDOWS && !(cb->has & NP_NEED_WINDOWS))
		return lack(co->name, "no latencies over time", err);
	if (needs & NP_NEED_PRESSURE && !(cb->has & NP_NEED_PRESSURE))
		return lack(co->name, "how much it slows the levels was not "
			    "measured", err);
	if (needs & NP_NEED_CO_CURVE && !(cb->has & NP_NEED_CURVE))
		return lack(co->name, "no slowdown beside any level", err);
	return 0;
}

static int check_victim(const struct np_program *a,
			const struct np_draw_program *va, unsigned needs, struct np_err *err)
{
	if (needs & NP_NEED_CURVE && !(va->has & NP_NEED_CURVE))
		return lack(a->name, "no slowdown beside any level", err);
	if (needs & NP_NEED_OWN_LATENCY && !(va->has & NP_NEED_LATENCY))
		return lack(a->name, "no probe latencies", err);
	if (needs & NP_NEED_TRACE && !a->response)
		return lack(a->name, a->untraced ? a->untraced : "no trace",
			    err);
	if (needs & NP_NEED_OWN_PRESSURE && !(va->has & NP_NEED_PRESSURE))
		return lack(a->name, "how much it slows the levels was not "
			    "measured", err);
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
	use->n_col = use->n_row = use->n_co_col = 0;
	for (size_t i = 0; i < p->n; i++) {
		if (!level_serves(p, i, needs))
			continue;
		if (needs & NP_NEED_CURVE && serves_victim(va, i, needs))
			use->col[use->n_col++] = i;
		if (needs & NP_NEED_PRESSURE && serves_co(cb, i, needs))
			use->row[use->n_row++] = i;
		if (needs & NP_NEED_CO_CURVE && cb->has_curve[i])
			use->co_col[use->n_co_col++] = i;
	}
	if (needs & NP_NEED_BESIDE)
		trim(p, use);
}

void np_basis_levels(const struct np_predictor *p, struct np_basis *use)
{
	use->n_co_col = 0;
	use->n_col = use->n_row = p->n;
	for (size_t i = 0; i < p->n; i++)
		use->col[i] = use->row[i] = i;
	trim(p, use);
}

int np_basis_choose(const struct np_predictor *p,
		    const struct np_program *victim,
		    const struct np_draw_program *va,
		    const struct np_program *co,
		    const struct np_draw_program *cb, size_t n_co,
		    struct np_basis *use, struct np_err *err)
{
	unsigned needs = p->m->needs;
	int rc;

	if (n_co > 1) /* the fixed point is for two; latencies add over idle */
		needs = (needs & ~(unsigned)NP_NEED_CO_CURVE) |
			(needs & NP_NEED_LATENCY ? NP_NEED_IDLE : 0);
	rc = check_victim(victim, va, needs, err);
	if (!rc)
		rc = check_co(co, cb, needs, err);
	if (!rc)
		rc = check_fabric(p, needs, err);
	if (rc)
		return rc;
	fill(p, va, cb, needs, use);
	if (needs & NP_NEED_CURVE && !use->n_col)
		return np_errf(err, -ENODATA, "%s: no level beside which it "
			       "ran has what model %s needs", victim->name,
			       p->m->name);
	if (needs & NP_NEED_BESIDE && (use->n_col < 2 || use->n_row < 2))
		return np_errf(err, p->n < 2 ? -EDOM : -ENODATA,
			       "%s beside %s: %zu levels with its slowdown, "
			       "%zu with the pressure, expected at least 2 of "
			       "each that were run beside each other",
			       victim->name, co->name, use->n_col, use->n_row);
	return 0;
}

void np_basis_data(const struct np_predictor *p, const struct np_basis *use,
		   size_t replicate, struct np_data *v)
{
	*v = (struct np_data){
		.fabric = &p->fabric.view[replicate],
		.n_co = 1,
		.col = use->col, .n_col = use->n_col,
		.row = use->row, .n_row = use->n_row,
		.co_col = use->co_col, .n_co_col = use->n_co_col,
		.nnls = p->nnls,
		.work = p->work,
		.ensemble = p->ensemble,
	};
}
